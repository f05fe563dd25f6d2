"""Removing documents, going back, compacting: the corpus is then as if it had been loaded without them."""

from __future__ import annotations

import random
from itertools import chain

import numpy as np
import pytest
from support.changes import compact, delete_documents
from support.indexes import packed, plain, rows_of
from support.reference import ReferenceIndex

from ngramdb.engine.changes.audit import removals, removed_documents
from ngramdb.engine.changes.removals import restore_corpus
from ngramdb.engine.changes.sizing import FAN_IN
from ngramdb.errors import BindError, CorruptionError, LockedError

BIG = 10**6


def numbers(*values):
    return np.array(sorted(values), dtype=np.uint32)


def random_documents(seed, n=60, alphabet=6):
    rng = random.Random(seed)
    return [[rng.randrange(alphabet) for _ in range(rng.choice([0, 1, 3, 12]))] for _ in range(n)]


def remove(database, doc_ids, name="c", **options):
    """Removes documents by their ids."""
    wanted = np.array(sorted(doc_ids), dtype=np.int64)

    def choose(view):
        return [segment.locals_of(wanted) for segment in view.segments]

    return delete_documents(database.store, name, choose, segment_tokens=BIG, **options)


def listed(view):
    """Every document that counts: its id, tokens, stored text and metadata."""
    return [
        (segment.doc_id(i), segment.document(i).tolist(), segment.stored_text(i), segment.metadata.row(i))
        for k, segment in enumerate(view.segments)
        for i in view.kept(k).tolist()
    ]


def check_answers(view, documents):
    """Counts, probabilities and distributions are those of brute force over the documents."""
    oracle = ReferenceIndex(documents)
    ngrams = [d[i : i + n] for d in documents for i in (0, 1) for n in (1, 2, 4)] + [[], [99], [1, 1, 1]]
    assert (view.n_documents, view.n_tokens) == (len(documents), oracle.n_tokens)
    assert view.index.count_many(*packed(ngrams)).tolist() == [oracle.count(ngram) for ngram in ngrams]
    for ngram in ngrams[::5]:
        for infgram in (False, True):
            assert plain(view.index.dist(ngram, infgram)) == plain(oracle.dist(ngram, infgram))
    some = documents[:6]
    assert rows_of(view.index.score(*packed(some), True)) == rows_of(oracle.score(*packed(some), True))


def same_arrays(one, other):
    """Return True if two segments are bit-identical, except their documents' ids."""
    names = one._container.sections.keys() - {"documents.ids"}
    assert names == other._container.sections.keys() - {"documents.ids"}
    return all(bytes(one._container.section(name)) == bytes(other._container.section(name)) for name in names)


@pytest.mark.parametrize("n_segments", [1, 3, 20])
@pytest.mark.parametrize("auto_compact", [False, True])
def test_removed_documents_no_longer_count(database, n_segments, auto_compact):
    documents = random_documents(n_segments)
    database.create()
    size = len(documents) // n_segments
    for start in range(0, len(documents), size):
        database.load(documents[start : start + size])
    rng = random.Random(5)
    left = dict(enumerate(documents))
    for _ in range(6):
        gone = rng.sample(sorted(left), 5)
        n_tokens = sum(len(left.pop(i)) for i in gone)
        outcome = remove(database, gone, auto_compact=auto_compact)
        assert (outcome.documents, outcome.tokens) == (5, n_tokens)
        view = database.view()
        view.check()
        check_answers(view, list(left.values()))
        assert [(i, ids) for i, ids, _, _ in listed(view)] == list(left.items())
    n_subtracted = len(database.view().entry.subtracted)
    assert n_subtracted < FAN_IN if auto_compact else n_subtracted == 6
    assert [removal.n_documents for removal in removals(database.store, view.entry.audits)] == [5] * 6


@pytest.mark.parametrize("n_segments", [1, 4])
def test_compaction_makes_the_very_segment_that_a_load_would_have_made(database, make_document, n_segments):
    documents = random_documents(9, n=80, alphabet=300)
    everything = [
        make_document(ids, number=i, odd=i % 2 == 1, **({"late": {"x": 1.5}} if i > 70 else {}))
        for i, ids in enumerate(documents)
    ]
    database.create()
    for start in range(0, 80, 80 // n_segments):
        database.load(everything[start : start + 80 // n_segments])
    gone = random.Random(3).sample(range(80), 30)
    remove(database, gone, auto_compact=False)
    before = listed(database.view())
    outcome = compact(database.store, "c", segment_tokens=BIG)
    assert (outcome.documents_dropped, outcome.segments_after) == (30, 1)
    view = database.view()
    view.check()
    assert listed(view) == before
    assert view.entry.subtracted == ()
    database.create("rebuilt")
    database.load([everything[i] for i in range(80) if i not in gone], "rebuilt")
    assert same_arrays(view.segments[0], database.view("rebuilt").segments[0])
    assert view.entry.next_doc_id == 80


def test_symbols_get_narrower_when_large_ids_are_gone(database):
    database.create()
    database.load([[1, 2], [70_000], [300, 5], [1, 2, 3]])
    for gone, width in ((1, 2), (2, 1)):
        remove(database, [gone])
        compact(database.store, "c", segment_tokens=BIG)
        segment = database.view().segments[0]
        assert segment.symbols.itemsize == width
    database.view().check()
    check_answers(database.view(), [[1, 2], [1, 2, 3]])


def test_texts_and_metadata_of_documents_that_stay_are_theirs(database, make_document):
    texts = ["the cat", "", "  spaces  kept ", "naïve café", "the cat"]
    database.create(tokenizer="words")
    for i, text in enumerate(texts):
        database.load([make_document(text, n=i, tag={"a": [i, None]})])
    remove(database, [1, 3])
    before = listed(database.view())
    compact(database.store, "c", segment_tokens=BIG)
    view = database.view()
    assert len(view.segments) == 1
    assert listed(view) == before
    assert [view.segments[0].text(i, view.tokenizer).decode() for i in range(3)] == [
        texts[i] for i in (0, 2, 4)
    ]


def test_removing_everything_leaves_an_empty_corpus_that_goes_on(database):
    database.create()
    database.load([[1, 2], []])
    remove(database, [0, 1])
    check_answers(database.view(), [])
    compact(database.store, "c", segment_tokens=BIG)
    assert database.view().entry.segments == ()
    database.load([[7]])
    assert listed(database.view()) == [(2, [7], None, {})]


def test_removing_nothing_or_removed_documents_makes_no_version(database):
    database.create()
    database.load([[1], [2]])
    remove(database, [0])
    version = database.store.manifest.version
    for gone in ([], [0], [77]):
        outcome = remove(database, gone)
        assert (outcome.documents, outcome.version) == (0, version)
    assert database.store.manifest.version == version


def test_the_cost_of_removing_grows_with_what_is_removed(database):
    database.create()
    database.load([[i % 7] * 50 for i in range(2000)])
    remove(database, [3, 1999])
    entry = database.view().entry
    assert entry.subtracted[0].n_tokens == 100
    assert entry.subtracted[0].file.size < entry.added[0].file.size / 50


def test_an_audit_record_tells_what_went_and_why(database):
    database.create()
    database.load([[1], [2], [3], [4]])
    remove(database, [2], statement="DELETE DOCS WHERE …", notes=lambda view, chosen: [{"id": "x"}])
    remove(database, [0, 3])
    found = list(removed_documents(database.store, database.view().entry.audits))
    assert [one.doc_id for one in found] == [2, 0, 3]
    assert found[0].details == {"id": "x"}
    assert found[1].details == {}
    assert found[0].removal.statement == "DELETE DOCS WHERE …"
    assert [one.removal.version for one in found] == [4, 5, 5]
    compact(database.store, "c", segment_tokens=BIG)
    assert list(removed_documents(database.store, database.view().entry.audits)) == found


def test_many_removals_leave_few_files(database):
    database.create()
    database.load([[i] for i in range(200)])
    for i in range(100):
        remove(database, [i])
    entry = database.view().entry
    assert len(entry.subtracted) <= 2
    assert len(entry.audits) <= 8
    assert [one.doc_id for one in removed_documents(database.store, entry.audits)] == list(range(100))


def test_restoring_brings_removed_documents_back_and_gives_no_id_twice(database):
    documents = random_documents(4, n=20)
    database.create()
    database.load(documents)
    version = database.store.manifest.version
    remove(database, [3, 4])
    database.load([[9]])
    compact(database.store, "c", segment_tokens=BIG)
    outcome = restore_corpus(database.store, "c", version)
    assert (outcome.documents_before, outcome.documents) == (19, 20)
    view = database.view()
    view.check()
    assert [ids for _, ids, _, _ in listed(view)] == documents
    assert view.entry.next_doc_id == 21
    assert len(list(removals(database.store, view.entry.audits))) == 1
    database.load([[8]])
    assert listed(database.view())[-1][0] == 21


def test_a_dropped_corpus_can_be_restored(database):
    database.create()
    database.load([[1, 2]])
    version = database.store.manifest.version
    with database.store.begin() as transaction:
        transaction.commit({}, "drop corpus c")
    restore_corpus(database.store, "c", version)
    assert listed(database.view()) == [(0, [1, 2], None, {})]


def test_a_corpus_of_the_same_name_is_not_replaced_by_restoring_an_earlier_one(database):
    """Its records of removals would silently be lost."""
    database.create()
    database.load([[1, 2]])
    version = database.store.manifest.version
    with database.store.begin() as transaction:
        transaction.commit({}, "drop corpus c")
    database.create()
    database.load([[3], [4]])
    remove(database, [0])
    with pytest.raises(
        BindError, match=f"the corpus c of version {version} was dropped, and c is a new corpus"
    ):
        restore_corpus(database.store, "c", version)
    assert len(list(removals(database.store, database.view().entry.audits))) == 1
    with database.store.begin() as transaction:
        transaction.commit({}, "drop corpus c")
    restore_corpus(database.store, "c", version)
    assert listed(database.view()) == [(0, [1, 2], None, {})]


def test_what_cannot_be_restored_is_an_error_that_says_what_is_kept(database):
    database.create()
    with pytest.raises(BindError, match="version 9 is not kept; kept versions: 1 to 2"):
        restore_corpus(database.store, "c", 9)
    with pytest.raises(BindError, match="no corpus 'c' in version 1"):
        restore_corpus(database.store, "c", 1)
    with pytest.raises(BindError, match="no corpus 'x'"):
        remove(database, [0], "x")
    with pytest.raises(BindError, match="no corpus 'x'"):
        compact(database.store, "x", segment_tokens=BIG)


def test_the_choice_is_made_with_the_lock_held(database):
    database.create()
    database.load([[1], [2]])

    def choose(view):
        with pytest.raises(LockedError):
            database.load([[3]])
        return [numbers(0)]

    assert delete_documents(database.store, "c", choose, segment_tokens=BIG).documents == 1


def test_a_choice_that_fails_changes_nothing(database):
    database.create()
    database.load([[1], [2]])
    files = database.files()

    def choose(view):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        delete_documents(database.store, "c", choose, segment_tokens=BIG)
    assert database.files() == files


def test_old_readers_keep_their_version(database):
    documents = random_documents(8)
    database.create()
    database.load(documents)
    old = database.view()
    database.store.keep_versions = 1
    remove(database, range(0, 60, 2))
    compact(database.store, "c", segment_tokens=BIG)
    # Opened before its files went.
    late = database.view()
    assert len(old.segments) == 1
    check_answers(late, documents[1::2])


def test_versions_beyond_those_to_keep_go_with_their_files(database):
    database.create()
    database.store.keep_versions = 3
    for i in range(10):
        database.load([[i] * 5], auto_compact=True)
    kept = [manifest.version for manifest in database.store.versions()]
    assert kept == [10, 11, 12]
    needed = {name for manifest in database.store.versions() for name in manifest.files()}
    assert {name for name in database.files() if "/" in name} == needed
    assert list(database.store.check()) == []
    check_answers(database.view(), [[i] * 5 for i in range(10)])


def test_automatic_compaction_keeps_answers_and_few_files(database, make_document):
    rng = random.Random(2)
    texts = [" ".join(rng.choice("abcdefgh") + str(i % 40) for _ in range(20)) for i in range(150)]
    for name, auto_compact in (("merged", True), ("apart", False)):
        database.create(name, "words")
        for text in texts:
            database.load([make_document(text, n=len(text))], name, auto_compact=auto_compact)
    merged, apart = database.view("merged"), database.view("apart")
    merged.check()
    assert len(merged.segments) <= 3
    assert len(merged.entry.tokenizer.vocabulary) <= 8
    assert len(apart.segments) == 150
    assert listed(merged) == listed(apart)


def test_a_damaged_document_is_not_carried_over(database):
    database.create()
    database.load([[i % 5, i % 3, 7] for i in range(50_000)])
    entry = database.view().entry
    name = entry.segments[0].file.name
    place = database.store.read(entry.segments[0].file, "SEGM").sections["tokens"]
    content = bytearray(database.directory.open_read(name))
    content[place.offset + 4 * 1000] ^= 1
    database.directory.remove(name)
    file = database.directory.create(name)
    file.write(bytes(content))
    file.sync()
    file.close()
    database.store._containers.clear()
    version = database.store.manifest.version
    with pytest.raises(CorruptionError, match="block"):
        remove(database, [1000])
    with pytest.raises(CorruptionError, match="block"):
        compact_after_removing(database)
    assert database.store.manifest.version == version


def compact_after_removing(database):
    """Compaction with something to do."""
    remove(database, range(1000))


def test_check_finds_a_removed_document_that_is_another(database):
    database.create()
    database.load([[1, 2], [3, 4], [5]])
    remove(database, [1])
    database.create("other")
    database.load([[9], [8, 8], [7]], "other")
    remove(database, [1], "other")
    view = database.view()
    wrong = [*view.entry.added, *database.view("other").entry.subtracted]
    broken = type(view)(database.store, type(view.entry)(**{**vars(view.entry), "segments": tuple(wrong)}))
    with pytest.raises(CorruptionError, match="not the one that it removes"):
        broken.check()
    twice = [*view.entry.segments, *view.entry.subtracted]
    broken = type(view)(database.store, type(view.entry)(**{**vars(view.entry), "segments": tuple(twice)}))
    with pytest.raises(CorruptionError, match="removed before"):
        broken.check()


def test_answers_are_right_after_a_long_random_life(database):
    rng = random.Random(11)
    database.create()
    left, next_id = {}, 0
    for step in range(120):
        action = rng.choice(["load", "load", "remove", "compact"] if step % 10 else ["load"])
        if action == "load":
            new = random_documents(1000 + step, n=rng.randrange(1, 6))
            database.load(new, auto_compact=rng.random() < 0.7)
            left.update(enumerate(new, next_id))
            next_id += len(new)
        elif action == "remove" and left:
            gone = rng.sample(sorted(left), min(len(left), rng.randrange(1, 6)))
            remove(database, gone, auto_compact=rng.random() < 0.7)
            for i in gone:
                del left[i]
        else:
            compact(database.store, "c", segment_tokens=rng.choice([40, BIG]))
        view = database.view()
        assert [(i, ids) for i, ids, _, _ in listed(view)] == list(left.items())
        assert view.n_tokens == len(list(chain.from_iterable(left.values())))
    view.check()
    check_answers(view, list(left.values()))
