"""Sums and differences of corpora equal brute force over their documents; what cannot be subtracted is an
error."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support.changes import add_corpus, compact, delete_documents, subtract_corpus
from support.indexes import packed, plain, rows_of
from support.reference import ReferenceIndex
from support.subwords import write_tokenizer

import ngramdb
from ngramdb.engine.corpus import common
from ngramdb.engine.corpus.algebra import AlgebraView, Term
from ngramdb.engine.corpus.common import equal_documents
from ngramdb.errors import BindError, ExecutionError, ResourceError

BIG = 10**6


def random_documents(seed, n, alphabet=4):
    rng = random.Random(seed)
    return [[rng.randrange(alphabet) for _ in range(rng.choice([0, 1, 2, 6]))] for _ in range(n)]


def load(database, name, documents, pieces=2, tokenizer="tokens"):
    database.create(name, tokenizer)
    size = max(1, -(-len(documents) // pieces))
    for start in range(0, len(documents), size):
        database.load(documents[start : start + size], name)


def algebra(database, text):
    """The view of `a + b - c`."""
    words = ["+", *text.split()]
    pairs = zip(words[::2], words[1::2], strict=True)
    return AlgebraView([Term(1 if sign == "+" else -1, database.view(name)) for sign, name in pairs])


def listed(view):
    """The documents that count: corpus and tokens."""
    return [
        (view.corpus_of(k), segment.document(i).tolist())
        for k, segment in enumerate(view.segments)
        for i in np.delete(np.arange(segment.n_documents), view.removed(k)).tolist()
    ]


def check_answers(view, added, removed=()):
    oracle = ReferenceIndex(added, removed)
    ngrams = [d[i : i + n] for d in added for i in (0, 1) for n in (1, 2, 3)] + [[], [99]]
    assert view.n_tokens == view.index.n_tokens == oracle.n_tokens
    assert view.index.count_many(*packed(ngrams)).tolist() == [oracle.count(ngram) for ngram in ngrams]
    assert [view.index.count(ngram) for ngram in ngrams[:9]] == [oracle.count(ngram) for ngram in ngrams[:9]]
    for infgram in (False, True):
        for ngram in ngrams[::4]:
            assert plain(view.index.dist(ngram, infgram)) == plain(oracle.dist(ngram, infgram))
        starts, ids, counts, *numbers = view.index.dist_many(*packed(ngrams), infgram)
        for i, ngram in enumerate(ngrams):
            own = slice(starts[i], starts[i + 1])
            found = ids[own], counts[own], *(column[i] for column in numbers)
            assert plain(found) == plain(oracle.dist(ngram, infgram))
            assert view.index.prob(ngram, 1, infgram) == oracle.prob(ngram, 1, infgram)
    some = added[:5]
    for infgram in (False, True):
        assert rows_of(view.index.score(*packed(some), infgram)) == rows_of(
            oracle.score(*packed(some), infgram)
        )
        tokens = [1] * len(some)
        found = view.index.prob_many(*packed(some), tokens, infgram)
        assert rows_of(found) == rows_of(oracle.prob_many(*packed(some), tokens, infgram))


def remaining(rest, gone):
    """Takes for each document that is gone the first equal one."""
    left = list(rest)
    for document in gone:
        left.remove(next(one for one in left if one[1] == document))
    return left


@pytest.mark.parametrize("seed", range(4))
def test_sums_and_differences_equal_brute_force(database, seed):
    a, b = random_documents(seed, 25), random_documents(seed + 50, 15)
    gone = random.Random(seed).sample(a + b, 12)
    for name, documents in (("a", a), ("b", b), ("gone", gone)):
        load(database, name, documents, pieces=3)
    everything = [("a", one) for one in a] + [("b", one) for one in b]
    total = algebra(database, "a + b")
    assert (total.entry.name, total.n_added, total.n_documents) == ("a + b", 2, 40)
    assert listed(total) == everything
    check_answers(total, a + b)
    for text in ("a + b - gone", "a - gone + b"):
        view = algebra(database, text)
        assert view.n_added == 2
        assert sorted(one for _, one in listed(view)) == sorted(one for _, one in remaining(everything, gone))
        assert view.n_documents == 28
        check_answers(view, a + b, gone)


@pytest.mark.parametrize("n_words", [3, 35, 200, 400])
def test_vocabularies_of_any_size_are_translated_on_disk(tmp_path, n_words):
    """The ids of the smaller corpus take more bytes once they are those of the larger one: its translation
    is longer than its file."""
    words = [f"w{i}" for i in range(700)]
    texts = {"big": words, "small": words[-n_words:], "others": ["x", *words[-n_words:]]}
    with ngramdb.connect(str(tmp_path / "corpora.ngdb")) as db:
        for name, known in texts.items():
            db.create_corpus(name)
            db.corpus(name).append([" ".join(known)])
        db.corpus("big").append([" ".join(words[-n_words:])])
        last = f'"{words[-1]}"'
        for reopened in (False, True):
            with ngramdb.connect(str(tmp_path / "corpora.ngdb"), read_only=reopened) as asked:
                counts = {"big + small": 3, "small + big": 3, "big + others": 3, "big - small": 1}
                for terms, n in counts.items():
                    assert asked.execute(f"COUNT {last} FROM {terms}").fetchone() == (n,), terms
                assert asked.execute(f"COUNT DOCS WHERE {last} FROM big - small").fetchone() == (1,)
                assert asked.execute(f"KWIC {last} FROM big + others").fetchall()[-1]
        db.execute("ALTER CORPUS big SUBTRACT CORPUS small")
        assert db.corpus("big").count(words[-1]) == 1


def test_the_first_equal_document_is_left_out(database):
    load(database, "a", [[1], [2], [1], [1], []], pieces=1)
    load(database, "b", [[1], [1], [2]], pieces=1)
    load(database, "gone", [[1], [], [1]], pieces=1)
    view = algebra(database, "a + b - gone")
    assert [view.removed(k).tolist() for k in range(2)] == [[0, 2, 4], []]
    assert listed(view) == [("a", [2]), ("a", [1]), ("b", [1]), ("b", [1]), ("b", [2])]


@pytest.mark.parametrize("seed", range(4))
def test_how_documents_are_spread_over_segments_does_not_choose_among_equal_ones(seed):
    """Also where segments are those of the subtracted corpus, and where versions differ in them."""
    rng = random.Random(seed)

    def some(n):
        return [([rng.randrange(2) for _ in range(rng.randrange(3))], {}) for _ in range(n)]

    with ngramdb.connect() as db:
        db.execute("SET auto_compact = FALSE")
        for name, n in (("c", 30), ("b", 12)):
            db.create_corpus(name, tokenizer="tokens").append(some(n))
        then = db.version
        db.execute("ALTER CORPUS c ADD CORPUS b")
        db.corpus("c").append(some(5))
        left = []
        for spread in ("as added", "compacted"):
            if spread == "compacted":
                db.corpus("c").compact()
            left.append(
                [
                    [row[0] for row in db.execute(f"DOCS RETURNING doc_id FROM {terms}").fetchall()]
                    for terms in ("c - b", f"c - c AT VERSION {then}", "c + b - b")
                ]
            )
        assert left[0] == left[1]
        assert left[0][1] == list(range(30, 47))
        db.execute("ALTER CORPUS c SUBTRACT CORPUS b")
        assert [row[0] for row in db.execute("DOCS RETURNING doc_id FROM c").fetchall()] == left[0][0]


def test_removed_documents_of_any_term_count_for_nothing(database):
    load(database, "a", [[1, 2], [3], [1, 2], [4]], pieces=1)
    load(database, "gone", [[3], [4]], pieces=1)
    for name, number in (("a", 0), ("gone", 1)):
        delete_documents(
            database.store, name, lambda view, i=number: [np.array([i], dtype=np.uint32)], segment_tokens=BIG
        )
    view = algebra(database, "a - gone")
    assert listed(view) == [("a", [1, 2]), ("a", [4])]
    check_answers(view, [[1, 2], [4]])


def test_a_count_below_zero_is_an_error_that_names_the_ngram(database):
    load(database, "a", [[1, 2, 3], [5]])
    load(database, "gone", [[1, 2], [9, 9]])
    view = algebra(database, "a - gone")
    index = view.index
    assert index.count([1, 2]) == 0
    assert listed(view) == [("a", [1, 2, 3]), ("a", [5])]
    message = r'"9 9" would occur -1 times in a - gone: gone is not part of the rest'
    with pytest.raises(ExecutionError, match=message):
        index.count([9, 9])
    with pytest.raises(ExecutionError, match=message):
        index.count_many(*packed([[1], [9, 9]]))
    with pytest.raises(ExecutionError, match=r'"9" would occur -2 times'):
        index.prob([9], 9)
    with pytest.raises(ExecutionError, match=r'"9" would occur -2 times'):
        index.prob_many(*packed([[1], [9]]), [1, 1])
    with pytest.raises(ExecutionError, match=r'"9" would occur -2 times'):
        index.score(*packed([[5, 9]]), False, 1)
    with pytest.raises(ExecutionError, match=r'"9" would occur -2 times'):
        index.dist([])
    with pytest.raises(ExecutionError, match=r'"9" would occur -2 times'):
        index.dist([9])
    for context in ([], [9]):  # a next token below zero, and the context itself
        with pytest.raises(ExecutionError, match=r'"9" would occur -2 times'):
            index.dist_many(*packed([[1], context, [2]]))


def test_a_difference_answers_what_a_sum_does_about_frequent_contexts(database):
    load(database, "a", [[1, 2], [1, 3], [1, 2]], 1)
    load(database, "b", [[1, 2]], 1)
    both, rest = algebra(database, "a + b").index, algebra(database, "a - b").index
    for index, n in ((both, 4), (rest, 2)):
        assert index.dist([1], False, 0, n - 1) is None
        assert index.dist([1], most=n)[3] == index.dist([1])[3] == n


@pytest.mark.parametrize("infgram", [False, True])
def test_an_ngram_that_occurs_more_often_than_its_context_is_an_error(database, infgram):
    """No count that is used is below zero; something else that follows the context is."""
    load(database, "a", [[1, 2, 3], [1, 2, 3], [4, 5]])
    load(database, "gone", [[1, 2]])
    index = algebra(database, "a - gone").index
    message = "would occur -1 times in a - gone: gone is not part of the rest"
    with pytest.raises(ExecutionError, match=message):
        index.prob([2], 3, infgram)
    with pytest.raises(ExecutionError, match=message):
        index.prob_many(*packed([[1], [1, 2]]), [2, 3], infgram)
    with pytest.raises(ExecutionError, match=message):
        index.score(*packed([[4, 5], [1, 2, 3]]), infgram)
    assert index.prob([1], 2, infgram)[:2] == (1, 1)
    whole = algebra(database, "a + gone - gone").index
    assert whole.prob([2], 3, infgram)[:2] == (2, 2)


def test_two_versions_of_a_corpus_differ_by_what_was_added(database):
    load(database, "a", [[1, 2], [3]], pieces=1)
    before = database.view("a")
    database.load([[1, 2], [7, 8]], "a")
    view = AlgebraView([Term(1, database.view("a")), Term(-1, before, 3)])
    assert view.entry.name == "a - a AT VERSION 3"
    assert [one for _, one in listed(view)] == [[1, 2], [7, 8]]
    check_answers(view, [[1, 2], [7, 8]])


def test_words_are_matched_by_their_text(database, make_document):
    a, b = ["the cat sat", "a dog ran", "on the mat"], ["dog the on mat cat", "new words here"]
    for name, texts in (("a", a), ("b", b), ("gone", ["mat", "on the mat", "new words here"][1:])):
        load(database, name, [make_document(text, n=len(text)) for text in texts], 1, "words")
    view = algebra(database, "a + b - gone")
    tokenizer = view.tokenizer
    for text, count in (("the", 2), ("cat", 2), ("on the mat", 0), ("words here", 0), ("dog the", 1)):
        assert view.index.count(tokenizer.encode(text)) == count
    kept = [
        (segment.text(i, tokenizer).decode(), segment.metadata.row(i)["n"], segment.doc_id(i))
        for k, segment in enumerate(view.segments)
        for i in np.delete(np.arange(segment.n_documents), view.removed(k)).tolist()
    ]
    assert kept == [("the cat sat", 11, 0), ("a dog ran", 9, 1), ("dog the on mat cat", 18, 0)]


def test_tokenizers_must_be_the_same(database, tokenizer_json, monkeypatch):
    for name, kind in (
        ("w", "words"),
        ("b", "bytes"),
        ("j", tokenizer_json),
        ("k", tokenizer_json),
        ("v", "words"),
    ):
        load(database, name, ["th a" + name], 1, kind)
    with pytest.raises(BindError, match="w and b have different tokenizers, words and bytes"):
        algebra(database, "w + b")
    assert algebra(database, "j + k").index.count([256]) == 2
    monkeypatch.setattr(common, "MAX_TRANSLATED", 1)
    with pytest.raises(ResourceError, match="vocabularies of w and v differ"):
        algebra(database, "w + v")


def test_equal_documents_are_found_wherever_their_tokens_stand(database):
    documents = random_documents(3, 120, alphabet=2) + [[0] * 6] * 100
    load(database, "a", documents, 1)
    (segment,) = database.view("a").segments
    for wanted in [[], [0], [1, 1], [0] * 6, [0] * 5, [7]]:
        found = equal_documents(segment, np.array(wanted, dtype=np.uint32)).tolist()
        assert found == [i for i, one in enumerate(documents) if one == wanted]


# For good


@pytest.mark.parametrize("auto_compact", [False, True])
def test_a_corpus_is_added_for_good_with_its_removals(database, auto_compact):
    a, b = random_documents(1, 20), random_documents(2, 20)
    load(database, "a", a)
    load(database, "b", b, 3)
    delete_documents(
        database.store,
        "b",
        lambda view: [np.array([0], dtype=np.uint32) for _ in view.segments],
        segment_tokens=BIG,
        auto_compact=False,
    )
    left = [
        segment.document(i).tolist()
        for k, segment in enumerate(database.view("b").segments)
        for i in database.view("b").kept(k).tolist()
    ]
    outcome = add_corpus(database.store, "a", "b", segment_tokens=BIG, auto_compact=auto_compact)
    assert outcome.documents == 17
    view = database.view("a")
    view.check()
    assert [one for _, one in listed(view)] == a + left
    assert view.entry.next_doc_id == 40
    ids = [segment.doc_id(i) for k, segment in enumerate(view.segments) for i in view.kept(k).tolist()]
    assert ids == [*range(20), *(20 + i for i in range(20) if i not in (0, 7, 14))]
    check_answers(view, a + left)
    compact(database.store, "a", segment_tokens=BIG)
    assert [one for _, one in listed(database.view("a"))] == a + left
    database.view("b").check()
    # The files of b are still needed when b is gone.
    with database.store.begin() as transaction:
        transaction.commit({"a": transaction.manifest.corpora["a"]}, "drop corpus b")
    database.view("a").check()


def test_words_of_an_added_corpus_become_the_corpus_s_own(database, make_document):
    load(database, "a", [make_document("the cat sat", n=1)], 1, "words")
    load(
        database,
        "b",
        [make_document("a dog sat", n=2), make_document("gone"), make_document("cat", n=3)],
        1,
        "words",
    )
    delete_documents(database.store, "b", lambda view: [np.array([1], dtype=np.uint32)], segment_tokens=BIG)
    add_corpus(database.store, "a", "b", segment_tokens=BIG)
    view = database.view("a")
    view.check()
    assert view.index.count(view.tokenizer.encode("sat")) == 2
    assert view.index.count(view.tokenizer.encode("a dog")) == 1
    rows = [
        (segment.doc_id(i), segment.text(i, view.tokenizer).decode(), segment.metadata.row(i))
        for k, segment in enumerate(view.segments)
        for i in view.kept(k).tolist()
    ]
    assert rows == [(0, "the cat sat", {"n": 1}), (1, "a dog sat", {"n": 2}), (3, "cat", {"n": 3})]
    database.load(["new dog"], "a")
    view = database.view("a")
    assert view.index.count(view.tokenizer.encode("dog")) == 2


def test_a_corpus_is_subtracted_for_good(database):
    a = random_documents(5, 30)
    gone = random.Random(1).sample(a, 10)
    load(database, "a", a, 4)
    load(database, "gone", gone, 2)
    outcome = subtract_corpus(database.store, "a", "gone", segment_tokens=BIG)
    assert outcome.documents == 10
    view = database.view("a")
    view.check()
    expected = remaining([("a", one) for one in a], gone)
    assert listed(view) == expected
    check_answers(view, [one for _, one in expected])


def test_what_is_no_part_is_not_subtracted(database):
    load(database, "a", [[1, 2], [3]])
    load(database, "other", [[1, 2], [1, 2], [8]])
    version = database.store.manifest.version
    with pytest.raises(
        ExecutionError, match=r'other is not part of a: its document 1 \("1 2"\) has no equal'
    ):
        subtract_corpus(database.store, "a", "other", segment_tokens=BIG)
    assert database.store.manifest.version == version
    with pytest.raises(BindError, match="no corpus 'nowhere'"):
        add_corpus(database.store, "a", "nowhere", segment_tokens=BIG)


@pytest.mark.parametrize("kind", ["words", "chars", "bytes", "parts"])
def test_a_difference_from_what_is_no_part_is_the_same_error_in_all_ways_of_asking(kind, tmp_path):
    """Also if only a sequence's end has a count below zero, and the text before it a count of zero."""
    tokenizer = str(write_tokenizer(tmp_path / "t.json")) if kind == "parts" else kind
    with ngramdb.connect() as db:
        db.create_corpus("a", tokenizer=tokenizer).append(["the fox ran off"])
        db.create_corpus("b", tokenizer=tokenizer).append(["the fox sat"])
        for pattern in (
            '" fox sat"',
            '" fox sat" MATCH TEXT',
            '" fox sat" IGNORE CASE',
            '" fox sat" MATCH TEXT IGNORE CASE',
            '" fox" MATCH TEXT AND " sat"',
            '" fox sat" OR " fox" IGNORE CASE',
            '" fox" [0..3] " sat"',
        ):
            for question in ("COUNT {}", "COUNT {} GROUP BY doc_id", "COUNT {} SAMPLE 5"):
                with pytest.raises(ExecutionError, match="b is not part of the rest"):
                    db.execute(question.format(pattern) + " FROM a - b").fetchall()
        for question in (
            'KWIC " fox"',
            'NGRAMS 1 WHERE " fox"',
            'TRACE "the fox sat"',
            'COUNT " ran" WHERE " fox"',
            'PROB " sat" GIVEN " fox" USING KNESER_NEY',
        ):
            with pytest.raises(ExecutionError, match="b is not part of the rest"):
                db.execute(f"{question} FROM a - b").fetchall()
        # One document is left out per equal one, and the missing one is reported.
        copied = f"COPY (DOCS FROM a - b) TO '{tmp_path / 'a.jsonl'}'"
        for question in ("DOCS FROM a - b", "COUNT DOCS GROUP BY length FROM a - b", copied):
            assert [note[:27] for note in db.execute(question).notes] == ["b is not part of the rest, "]
        assert db.execute("COUNT DOCS FROM a + b - b").notes == ()
        assert db.execute('COUNT DOCS WHERE " fox" FROM a - b').fetchall() == [(1,)]
        assert db.execute('COUNT " fox" OR " FOX" IGNORE CASE FROM a + b - b').fetchall() == [(1,)]
