"""Loads: where segments end, that answers don't depend on it, and that a load is whole or nothing."""

from __future__ import annotations

import random
import threading
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from support.indexes import packed, plain, rows_of
from support.reference import ReferenceIndex

from ngramdb.engine.loading import writer
from ngramdb.engine.storage.store import Store
from ngramdb.errors import BindError, InvalidArgument, LoadError, LockedError, ResourceError, StorageError
from ngramdb.ingest.documents import ErrorLog

TEXTS = [
    "the cat sat on the mat",
    "",
    "  white \t space\n\nkept  ",
    "naïve café — 東京タワー ひらがな ÅÅ",
    "tab\tand\r\nline ends\u2028 and \x00 zero",
    "repeat repeat repeat",
    "e\u0301 combining, zero\u200dwidth joiner, 😀 emoji 👩\u200d👩\u200d👧",
    "   ",
    "the thirty-third thing",
]


def random_documents(seed, n=60, alphabet=9):
    rng = random.Random(seed)
    return [[rng.randrange(alphabet) for _ in range(rng.choice([0, 1, 4, 20]))] for _ in range(n)]


def answers_of(view, documents):
    """An answer of every kind, without arrays; row numbers aside, which depend on the segments."""
    index = view.index
    ngrams = [document[i : i + n] for document in documents for i in (0, 2) for n in (0, 1, 2, 5)] + [[99]]
    found = [
        (segment.first_doc_id + i, segment.document(i).tolist())
        for segment in view.segments
        for i in range(segment.n_documents)
    ]
    containing = [
        [int(i) + one.first_doc_id for one in view.segments for i in one.index.docs_containing(ngram)]
        for ngram in ngrams
    ]
    return {
        "sizes": (view.n_documents, view.n_tokens, index.n_tokens),
        "documents": found,
        "containing": containing,
        "count": index.count_many(*packed(ngrams)).tolist(),
        "prob": [rows_of(index.prob_many(*packed(ngrams), [3] * len(ngrams), i)) for i in (False, True)],
        "dist": [plain(index.dist(ngram, True)) for ngram in ngrams],
        "score": rows_of(index.score(*packed(documents), True)),
    }


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("in_background", [False, True])
def test_answers_over_one_three_and_fifty_segments_are_the_same(database, threads, in_background):
    rng = random.Random(1)
    documents = [[] if i % 11 == 10 else [rng.randrange(4) for _ in range(6)] for i in range(110)]
    documents[22:27] = documents[:5]
    expected = None
    for n_segments, segment_tokens in ((1, 600), (3, 34 * 6), (50, 2 * 6)):
        name = f"c{n_segments}"
        database.create(name)
        outcome = database.load(documents, name, segment_tokens, threads=threads, in_background=in_background)
        view = database.view(name)
        assert (outcome.documents, outcome.tokens, outcome.segments) == (110, 600, n_segments)
        assert len(view.entry.segments) == n_segments
        view.check()
        answers = answers_of(view, documents[:30])
        expected = expected or answers
        assert answers == expected
    oracle = ReferenceIndex(documents)
    assert expected["score"] == rows_of(oracle.score(*packed(documents[:30]), True))


def test_one_document_appends_are_the_same_as_one_load(database):
    documents = random_documents(2, n=25)
    database.create("once")
    database.create("each")
    database.load(documents, "once")
    for one in documents:
        assert database.load([one], "each").segments == 1
    assert len(database.view("each").entry.segments) == 25
    assert answers_of(database.view("each"), documents) == answers_of(database.view("once"), documents)
    assert database.view("each").entry.next_doc_id == 25


def test_appending_a_document_starts_no_thread_and_writes_three_files(faulty_database, monkeypatch):
    database, directory = faulty_database, faulty_database.directory
    database.create(tokenizer="words")
    started = []
    monkeypatch.setattr(threading.Thread, "start", started.append)
    syncs, merges = [], 0
    for i in range(40):
        directory.operations.clear()
        before = len(database.view().segments)
        database.load([f"the number {i}"], auto_compact=True)
        merges += len(database.view().segments) <= before
        syncs.append(sum(operation.startswith("sync ") for operation in directory.operations))
    assert not started
    # The segment, the words and the manifest; also a merged segment and vocabulary, once for every three.
    assert sorted(set(syncs)) == [3, 5] and merges == syncs.count(5) <= 40 / 3


@pytest.mark.parametrize("batch_documents", [1, 2, 8192])
@pytest.mark.parametrize(
    ("lengths", "segment_tokens", "expected"),
    [
        ([5, 5, 5, 5], 10, [[5, 5], [5, 5]]),  # a segment is exactly full
        ([5, 5, 5, 5], 9, [[5], [5], [5], [5]]),  # one token below two documents
        ([5, 5, 5, 5], 11, [[5, 5], [5, 5]]),  # one token above
        ([10, 1], 10, [[10], [1]]),
        ([3, 50, 3], 10, [[3], [50], [3]]),  # a document longer than a segment is one by itself
        ([50, 50], 10, [[50], [50]]),
        ([50], 10, [[50]]),
        ([10, 0, 0, 1], 10, [[10, 0, 0], [1]]),  # empty documents always fit
        ([0, 0, 50, 0], 10, [[0, 0], [50, 0]]),
        ([0, 0, 0], 1, [[0, 0, 0]]),
        ([1, 1, 1], 1, [[1], [1], [1]]),
    ],
)
def test_segments_end_where_they_are_full(
    database, monkeypatch, lengths, segment_tokens, expected, batch_documents
):
    monkeypatch.setattr("ngramdb.engine.loading.encoding.BATCH_DOCUMENTS", batch_documents)
    documents = [[i] * n for i, n in enumerate(lengths)]
    database.create()
    outcome = database.load(documents, segment_tokens=segment_tokens)
    view = database.view()
    shapes = [[segment.document_length(i) for i in range(segment.n_documents)] for segment in view.segments]
    assert shapes == expected and outcome.segments == len(expected)
    assert [segment.first_doc_id for segment in view.segments] == [
        sum(map(len, expected[:k])) for k in range(len(expected))
    ]
    found = [segment.document(i).tolist() for segment in view.segments for i in range(segment.n_documents)]
    assert found == documents


def test_separators_count_towards_the_kernels_range(database, monkeypatch):
    monkeypatch.setattr(writer, "MAX_SYMBOLS", 20)
    monkeypatch.setattr("ngramdb.segments.builder.MAX_SYMBOLS", 20)
    database.create()
    documents = [[7]] * 35 + [[]] * 25
    database.load(documents, segment_tokens=10**6)
    view = database.view()
    assert [segment.n_tokens + segment.n_documents for segment in view.segments] == [20, 20, 20, 20, 15]
    assert view.index.count([7]) == 35 and view.n_documents == 60
    with pytest.raises(ResourceError) as caught:
        database.load([[1] * 20])
    assert caught.value.limit == 20 and caught.value.asked == 21


def test_no_documents_commit_nothing(database):
    database.create()
    before, files = database.store.manifest.version, database.files()
    outcome = database.load([])
    assert (outcome.documents, outcome.tokens, outcome.segments, outcome.version) == (0, 0, 0, before)
    assert database.store.manifest.version == before and database.files() == files
    view = database.view()
    assert view.segments == () and view.index.count([1]) == view.n_tokens == view.n_documents == 0
    view.check()


def test_documents_without_tokens_are_documents(database):
    database.create(tokenizer="words")
    outcome = database.load(["", "   ", "\n"])
    assert (outcome.documents, outcome.tokens, outcome.segments) == (3, 0, 1)
    view = database.view()
    assert view.n_documents == 3 and view.index.count([]) == 0
    assert [view.segments[0].text(i, view.tokenizer) for i in range(3)] == [b"", b"   ", b"\n"]
    view.check()


@pytest.mark.parametrize("tokenizer", ["words", "chars", "bytes", "json"])
@pytest.mark.parametrize("segment_tokens", [1, 30, 10**6])
def test_texts_come_back_byte_for_byte(database, tokenizer_json, tokenizer, segment_tokens):
    database.create(tokenizer=tokenizer_json if tokenizer == "json" else tokenizer)
    texts = [text.encode() for text in TEXTS * 3]
    database.load(texts[:10], segment_tokens=segment_tokens)
    database.load(texts[10:], segment_tokens=segment_tokens, threads=2)
    for view in (database.view(), reopened(database)):
        found = [
            segment.text(i, view.tokenizer) for segment in view.segments for i in range(segment.n_documents)
        ]
        assert found == texts
        view.check()


def reopened(database, name="c"):
    database.store = Store.open(database.directory)
    return database.view(name)


def test_documents_that_came_as_ids_have_no_text(database):
    database.create()
    database.load([[1, 2], []])
    view = database.view()
    assert view.segments[0].text(0, view.tokenizer) is None


def test_the_vocabulary_of_words_grows_from_load_to_load(database):
    database.create(tokenizer="words")
    sizes = []
    for texts in (["a b a"], ["b c"], ["a b"], ["d", "e d"], [""]):
        database.load(texts)
        view = database.view()
        sizes.append((view.tokenizer.n_vocabulary, len(view.entry.tokenizer.vocabulary)))
    assert sizes == [(2, 1), (3, 2), (3, 2), (5, 3), (5, 3)]
    for view in (database.view(), reopened(database)):
        ids = [view.tokenizer.encode(word).tolist() for word in ("a", "b", "c", "d", "e", "f")]
        assert ids == [[0], [1], [2], [3], [4], [-1]]
        assert [view.index.count(view.tokenizer.encode(word)) for word in "abcdef"] == [3, 3, 1, 2, 1, 0]
        assert view.index.count(view.tokenizer.encode("a b")) == 2


def test_an_older_view_does_not_see_later_loads(database):
    database.create(tokenizer="words")
    database.load(["a b"])
    old = database.view()
    assert old.index.count(old.tokenizer.encode("b")) == 1
    database.load(["b c", "c"])
    assert (old.n_documents, old.tokenizer.n_vocabulary, len(old.segments)) == (1, 2, 1)
    assert old.tokenizer.encode("c").tolist() == [-1]
    assert old.index.count(old.tokenizer.encode("b")) == 1
    new = database.view()
    assert new.tokenizer.encode("c").tolist() == [2] and new.index.count([2]) == 2


class Broken(Exception):
    """Raised by a source of documents."""


@pytest.mark.parametrize("in_background", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("after", [0, 1, 30, 59])
def test_an_error_in_the_middle_leaves_everything_as_it_was(database, after, threads, in_background):
    database.create(tokenizer="words")
    database.load(["first words"])
    manifest, files = database.store.manifest, database.files()

    def documents():
        for i in range(60):
            if i == after:
                raise Broken
            yield f"new words number {i}"

    with pytest.raises(Broken):
        database.load(documents(), segment_tokens=20, threads=threads, in_background=in_background)
    assert database.store.manifest == manifest and database.files() == files
    view = database.view()
    assert view.tokenizer.n_vocabulary == 2 and view.tokenizer.encode("new").tolist() == [-1]
    # The next load begins as if nothing had been.
    database.load(["new words"])
    assert database.view().tokenizer.encode("first words new").tolist() == [0, 1, 2]
    assert [segment.first_doc_id for segment in database.view().segments] == [0, 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_while_a_segment_is_written_leaves_everything_as_it_was(database, monkeypatch, threads):
    database.create(tokenizer="words")
    database.load(["first"])
    manifest, files = database.store.manifest, database.files()
    create = database.directory.create
    made = []

    def failing(name):
        file = create(name)
        made.append(name)
        if len(made) == 3:

            def write(data):
                raise OSError(28, "No space left on device")

            file.write = write
        return file

    monkeypatch.setattr(database.directory, "create", failing)
    with pytest.raises(StorageError, match=r"(?i)space"):
        database.load(["some more words"] * 50, segment_tokens=10, threads=threads)
    monkeypatch.undo()
    assert len(made) >= 3
    assert database.store.manifest == manifest and database.files() == files
    assert database.view().tokenizer.n_vocabulary == 1


def test_a_document_without_text_and_ids_fails_the_load(database, make_document):
    database.create()
    bad = make_document([1])
    bad.ids = None
    files = database.files()
    with pytest.raises(LoadError, match="neither"):
        database.load([[1], bad])
    assert database.files() == files


def test_text_for_a_corpus_of_token_ids_fails_the_load(database):
    database.create(tokenizer="tokens")
    with pytest.raises((InvalidArgument, LoadError)):
        database.load(["text"])
    assert database.view().segments == ()


def test_documents_of_ids_and_of_text_may_alternate(database):
    database.create(tokenizer="bytes")
    database.load([b"ab", [97, 98], [97], b"", b"b"])
    view = database.view()
    assert [view.segments[0].document(i).tolist() for i in range(5)] == [[97, 98], [97, 98], [97], [], [98]]
    assert view.index.count([97, 98]) == 2


def test_corpora_that_are_not_there_and_impossible_sizes_are_refused(database):
    database.create()
    with pytest.raises(BindError, match="nowhere"):
        database.load([[1]], "nowhere")
    for options in ({"segment_tokens": 0}, {"segment_tokens": -1}, {"threads": 0}):
        with pytest.raises(InvalidArgument):
            database.load([[1]], **options)
    database.load([[1]])  # the lock has been given back


def test_a_load_holds_the_writers_lock(database):
    database.create()

    def documents():
        yield [1]
        with pytest.raises(LockedError), Store.open(database.directory).begin():
            pass
        yield [2]

    assert database.load(documents()).documents == 2


def test_progress_ends_with_the_whole_load(database):
    database.create(tokenizer="words")
    seen = []
    texts = [f"word{i} and more" for i in range(40)]
    database.load(texts, segment_tokens=30, threads=2, progress=seen.append)
    assert (seen[-1].documents, seen[-1].tokens, seen[-1].segments) == (40, 120, 4)
    assert seen[-1].text_bytes == sum(map(len, texts))
    for earlier, later in pairwise(seen):
        assert earlier.documents <= later.documents and earlier.segments <= later.segments
        assert earlier.elapsed <= later.elapsed


def test_an_error_of_the_progress_report_ends_the_load(database):
    database.create()

    def report(state):
        raise Broken

    with pytest.raises(Broken):
        database.load([[1]], progress=report)
    assert database.view().segments == () and database.store.manifest.version == 2


def test_metadata_stays_with_its_document(database, make_document):
    database.create()
    documents = [make_document([i] * (i % 4), number=i, nested={"half": i / 2}) for i in range(30)]
    database.load(documents, segment_tokens=7)
    found = [
        (segment.first_doc_id + i, segment.metadata.row(i))
        for segment in database.view().segments
        for i in range(segment.n_documents)
    ]
    assert found == [(i, {"number": i, "nested": {"half": i / 2}}) for i in range(30)]


def test_no_thread_is_left_behind(database):
    database.create()
    before = threading.enumerate()

    def documents():
        yield [1]
        raise Broken

    for in_background in (False, True):
        database.load([[1], [2]], segment_tokens=1, threads=2, in_background=in_background)
        with pytest.raises(Broken):
            database.load(documents(), threads=2, in_background=in_background)
    for thread in {*threading.enumerate()} - {*before}:
        thread.join(timeout=60)
    assert {*threading.enumerate()} <= {*before}


def test_memory_is_bounded_by_the_segments_not_by_the_input(database, monkeypatch):
    # Files are counted out: in memory they are the database itself.
    monkeypatch.setattr("ngramdb.engine.loading.encoding.BATCH_ID_BYTES", 1 << 16)

    class Nowhere:
        def __init__(self, file):
            self.file = file

        def write(self, data):
            self.file.size = getattr(self.file, "size", 0) + len(bytes(data))

        def sync(self):
            pass

        def close(self):
            pass

    def peak_of(n_documents):
        database.create(f"c{n_documents}")
        create = database.directory.create

        def discarding(name):
            return Nowhere(create(name)) if name.startswith("segments/") else create(name)

        monkeypatch.setattr(database.directory, "create", discarding)
        rng = np.random.default_rng(0)
        documents = (rng.integers(0, 1000, 1000).tolist() for _ in range(n_documents))
        tracemalloc.start()
        try:
            # The files have no content, which the commit detects; by then all segments have been built.
            with pytest.raises((InvalidArgument, StorageError)):
                database.load(documents, f"c{n_documents}", segment_tokens=50_000)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            monkeypatch.setattr(database.directory, "create", create)

    assert peak_of(600) < 1.3 * peak_of(150)


def test_a_document_that_cannot_be_tokenized_is_named(database, make_document, narrow_tokenizer):
    database.create(tokenizer=narrow_tokenizer)
    files = database.files()
    documents = [make_document(text) for text in ("a b", "a", "a c", "b", "d")]
    for line, document in enumerate(documents, start=1):
        document.line = line
    with pytest.raises(LoadError, match="test, line 3: the tokenizer cannot tokenize the text") as caught:
        database.load(documents)
    assert (caught.value.source, caught.value.line) == ("test", 3) and database.files() == files
    skipped = ErrorLog()
    outcome = database.load(documents, skipped=skipped)
    assert (outcome.documents, outcome.tokens, skipped.count) == (3, 4, 2)
    assert [reason.partition(":")[0] for reason in skipped.reasons] == ["test, line 3", "test, line 5"]
    view = database.view()
    assert [view.segments[0].text(i, view.tokenizer) for i in range(3)] == [b"a b", b"a", b"b"]
    view.check()


def test_a_batch_of_nothing_that_can_be_tokenized_loads_nothing(database, narrow_tokenizer):
    database.create(tokenizer=narrow_tokenizer)
    skipped = ErrorLog()
    before = database.store.manifest.version
    assert database.load(["c", "d"], skipped=skipped).documents == 0 and skipped.count == 2
    assert database.store.manifest.version == before


def test_metadata_that_cannot_be_stored_name_their_document(database, make_document):
    database.create()
    files = database.files()
    documents = [make_document([k], x=1 if k != 4 else {1, 2}) for k in range(6)]
    for line, document in enumerate(documents, start=1):
        document.line = line
    for segment_tokens in (1, 3, 100):
        with pytest.raises(LoadError, match="test, line 5: metadata field 'x' holds a set"):
            database.load(documents, segment_tokens=segment_tokens)
        assert database.files() == files
