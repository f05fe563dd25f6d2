"""Segments with documents that are broken: what is read back, counted, merged and subtracted."""

from itertools import pairwise

import numpy as np
import pytest
from support.indexes import packed

from ngramdb.engine.storage.directory.memory import MemoryDirectory
from ngramdb.errors import FormatVersionError
from ngramdb.segments import far_index
from ngramdb.segments.base import Breaks, Part, breaks_of_parts
from ngramdb.segments.builder import SegmentBuilder
from ngramdb.segments.container import BROKEN_DOCUMENTS, Container, reader
from ngramdb.segments.far_index import BREAKS, KIND
from ngramdb.segments.merging import Means, write_merged, write_removed
from ngramdb.segments.segment import NativeSegment

NAME = "a.segment"
# Documents as lists of pieces.
DOCUMENTS = [[[1, 2], [2, 3, 1], [1]], [[]], [[1, 2, 3]], [[7], [7], [7]], [[2, 3], [1, 2, 3, 1, 2]]]


def breaks_in(documents):
    """Return the breaks of documents; in texts, the bytes before one are ten times its tokens."""
    before, tokens, places = 0, [], []
    for pieces in documents:
        ends = np.cumsum([len(piece) for piece in pieces])
        tokens += (before + ends[:-1]).tolist()
        places += (10 * ends[:-1]).tolist()
        before += int(ends[-1])
    return Breaks(np.array(tokens, dtype=np.int64), np.array(places, dtype=np.int64))


def tokens_of(pieces):
    return [token for piece in pieces for token in piece]


def built(documents, first_doc_id=0, batch=2):
    """The segment of documents, added in batches."""
    builder = SegmentBuilder(first_doc_id)
    for start in range(0, len(documents), batch):
        some = documents[start : start + batch]
        flat, offsets = packed([tokens_of(pieces) for pieces in some])
        builder.add(
            flat.astype(np.uint32), offsets, [None] * len(some), [{}] * len(some), breaks=breaks_in(some)
        )
    directory = MemoryDirectory()
    builder.write(directory.create(NAME))
    return opened(directory)


def opened(directory):
    return NativeSegment(Container.open(directory.open_read(NAME), NAME, KIND), NAME)


def written(write, *arguments):
    directory = MemoryDirectory()
    write(directory.create(NAME), *arguments)
    return opened(directory)


def check_content(segment, documents):
    """Check a segment against its documents."""
    segment.check()
    every = np.arange(len(documents), dtype=np.uint32)
    expected = breaks_in(documents)
    assert segment.breaks_of(every).tokens.tolist() == expected.tokens.tolist()
    flat, offsets = segment.token_ids(every)
    assert [flat[a:b].tolist() for a, b in pairwise(offsets.tolist())] == list(map(tokens_of, documents))
    for i, pieces in enumerate(documents):
        tokens = tokens_of(pieces)
        assert segment.document(i).tolist() == tokens and segment.document_length(i) == len(tokens)
        assert segment.breaks(i).tolist() == breaks_in([pieces]).tokens.tolist()
        assert segment.index.document_tokens(i, 1, 4).tolist() == tokens[1:4]
    pieces = [piece for document in documents for piece in document]
    for n in (1, 2, 3):
        ngrams = {tuple(piece[k : k + n]) for piece in pieces for k in range(len(piece) - n + 1)}
        for ngram in ngrams:
            lo, hi = segment.index.find(ngram)
            wanted = [tuple(p[k : k + n]) == ngram for p in pieces for k in range(len(p) - n + 1)]
            assert hi - lo == sum(wanted)


def test_a_broken_document_is_one_document_without_ngrams_across_its_breaks():
    segment = built(DOCUMENTS)
    check_content(segment, DOCUMENTS)
    assert (segment.n_documents, segment.n_tokens, segment.n_breaks) == (5, 19, 5)
    assert segment.index.find([2, 2]) == segment.index.find([9])  # across a break: nowhere
    assert segment.index.docs_containing([7]).tolist() == [3]
    assert segment.breaks_of(np.array([0, 4], dtype=np.uint32)).bytes.tolist() == [20, 50, 20]


def test_positions_are_symbols_and_offsets_are_tokens():
    index = built(DOCUMENTS).index
    places = np.sort(index.positions(*index.find([1])))
    documents, before = index.places_at(places)
    assert list(zip(documents.tolist(), before.tolist(), strict=True)) == [
        (0, 0), (0, 4), (0, 5), (2, 0), (4, 2), (4, 5)
    ]  # fmt: skip
    lo, hi = index.piece_bounds(places)
    assert (hi - lo).tolist() == [2, 3, 1, 3, 5, 5]
    assert index.tokens_at(places, -1).tolist() == [-1, 3, -1, -1, -1, 3]


@pytest.mark.parametrize("merges", [False, True])
@pytest.mark.parametrize("kept", [[0, 1, 2, 3, 4], [0, 3], [2, 4], [1]])
def test_breaks_are_carried_into_merged_segments(merges, kept):
    wide = [[[300], [301, 300]], [[1, 2]]]
    numbers = np.array(kept, dtype=np.uint32)
    parts = [Part(built(DOCUMENTS), numbers), Part(built(wide, 5), np.arange(2, dtype=np.uint32))]
    documents = [DOCUMENTS[i] for i in kept]
    for some, expected in ((parts, documents + wide), (parts[:1], documents)):
        means = Means(merges=merges)
        segment = written(lambda file, some=some, means=means: write_merged(file, some, means=means))
        check_content(segment, expected)
        every = np.arange(len(expected), dtype=np.uint32)
        assert segment.breaks_of(every).bytes.tolist() == breaks_in(expected).bytes.tolist()


def test_removed_documents_keep_their_breaks_in_the_order_of_ids():
    two = np.array([0, 3], dtype=np.uint32)
    parts = [Part(built(DOCUMENTS, 10), two), Part(built(DOCUMENTS[::-1], 0), two)]
    segment = written(write_removed, parts)
    check_content(segment, [DOCUMENTS[4], DOCUMENTS[1], DOCUMENTS[0], DOCUMENTS[3]])
    assert segment.doc_ids().tolist() == [0, 3, 10, 13]
    assert breaks_of_parts([Part(segment, two)]).bytes.tolist() == [0, 0, 0]


def test_a_segment_without_breaks_has_no_trace_of_them():
    segment = built([[[1, 2]], [[3]]])
    container = segment._container
    assert not container.has(BREAKS) and "n_breaks" not in container.properties
    segment.check()


def test_the_far_index_keeps_breaks():
    segment = built(DOCUMENTS)
    check_content(written(segment.write_with_far_index, 1), DOCUMENTS)
    assert far_index.BREAKS in segment._container.sections


def test_a_program_that_does_not_know_breaks_refuses_the_segment(monkeypatch):
    monkeypatch.setattr(reader, "KNOWN_READER_FLAGS", reader.KNOWN_READER_FLAGS & ~BROKEN_DOCUMENTS)
    with pytest.raises(FormatVersionError, match="feature bits 8 "):
        built(DOCUMENTS)


@pytest.mark.parametrize("breaks", [[0], [2], [3, 3], [4, 3], [6], [5, 7], [-1]])
def test_breaks_must_be_between_two_tokens_of_a_document(breaks):
    places = np.array(breaks, dtype=np.int64)
    builder = SegmentBuilder(0)
    with pytest.raises(ValueError, match="breaks must ascend, each between two tokens of one document"):
        builder.add(
            np.arange(6, dtype=np.uint32), np.array([0, 2, 6]), [None] * 2, [2], breaks=Breaks(places, places)
        )
    with pytest.raises(ValueError, match="1 breaks have 0 places in texts"):
        Breaks(np.array([1]), np.array([], dtype=np.int64)).check(np.array([0, 2]))
