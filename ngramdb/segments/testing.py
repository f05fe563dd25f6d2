"""The test kit of kinds of segments: what the index of every kind must answer.

The tests of a kind index some documents and call `check_index`. It runs every query that the rest of
the program makes on a segment's index and compares the answers with those of the plainest kind of the same
documents, and with the defaults of the kind's own primitives. Nothing here knows pytest; what is wrong is an
AssertionError that names the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.corpus.joins import sentences_at
from ngramdb._cext.corpus.token_counts import TokenCounts, WindowCounts, tokens_after
from ngramdb._cext.corpus.token_patterns import PATTERN_CODES, Matcher
from ngramdb._cext.corpus.top_ngrams import NgramBlocks, NgramScan
from ngramdb._cext.lm.models import KINDS, LanguageIndex, Model
from ngramdb._cext.segment.kinds import DefaultIndex, PlainIndex
from ngramdb._cext.segment.segment_index import SegmentIndex

__all__ = ["check_index", "check_same", "packed", "plain_index"]

Ids = Sequence[int]
Answers: TypeAlias = "Iterator[tuple[str, Any]]"

# Codes of a condition (ngramdb/_cext/include/ngramdb/corpus/conditions.hpp).
GRAM, NOT, AND_ORDERED, OR = 0, 1, 3, 4


def packed(documents: Sequence[Ids]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return documents in the form of the kernels: all ids in a row, and the offset of each document."""
    offsets = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    ids = [token for document in documents for token in document]
    return np.array(ids, dtype=np.int64), offsets


def plain_index(documents: Sequence[Ids], first: int = 0) -> PlainIndex:
    """Return the documents as the simplest segment; `first` is the position of the first token."""
    return PlainIndex(*packed(documents), first)


def check_index(index: SegmentIndex, documents: Sequence[Ids], ngrams: Sequence[Ids]) -> None:
    """Check every answer of a kind's index of these documents, for these n-grams.

    Raises AssertionError naming the question whose answer is wrong.
    """
    assert index.n_documents == len(documents), "n_documents"
    assert index.n_tokens == sum(map(len, documents)), "n_tokens"
    for i, document in enumerate(documents):
        assert index.document(i).tolist() == list(document), f"document({i})"
    check_same(index, plain_index(documents), ngrams, index.in_token_order)
    if index.is_nested:  # the defaults of searching need it
        check_same(index, DefaultIndex(index), ngrams)


def check_same(
    index: SegmentIndex, other: SegmentIndex, ngrams: Sequence[Ids], same_rows: bool = True
) -> None:
    """Check that two indexes of the same documents answer alike. Raises AssertionError.

    Without `same_rows` their rows may be in different orders: answers by row are compared sorted.
    """
    for ask in (partial(_documents, same_rows=same_rows), _ngram_lists, _models):
        _compare("", ask, index, other)
    # Bits for each position of 64 bits would not fit in memory.
    narrow = index.position_type == other.position_type == np.uint32
    for ngram in ngrams:
        ask = partial(_ngram, ngram=ngram, same_rows=same_rows, sentences=narrow)
        _compare(f" about {list(ngram)}", ask, index, other)


def _compare(about: str, ask: Callable[[SegmentIndex], Answers], *pair: SegmentIndex) -> None:
    for (name, answer), (_, expected) in zip(*map(ask, pair), strict=True):
        assert answer == expected, f"{name}{about}: {answer!r:.500} is not {expected!r:.500}"


def _places(index: SegmentIndex, positions: NDArray[Any]) -> list[tuple[int, int]]:
    """Positions as documents and tokens before: they may be numbered otherwise elsewhere."""
    documents = index.documents_at(positions)
    starts, stops = index.document_bounds(documents)
    assert positions.dtype == starts.dtype == stops.dtype == index.position_type, "the width of positions"
    assert ((starts <= positions) & (positions <= stops)).all(), "a position outside of its document"
    return list(zip(documents.tolist(), (positions - starts).tolist(), strict=True))


def _rows(index: SegmentIndex, ngram: Ids) -> tuple[int, int]:
    lo, hi = index.find(ngram)
    return (lo, hi) if lo < hi else (0, 0)


def _ngram(index: SegmentIndex, ngram: Ids, same_rows: bool, sentences: bool) -> Answers:
    """Return the answers about one n-gram."""
    lo, hi = _rows(index, ngram)
    yield "find", (lo, hi) if same_rows else hi - lo
    positions = index.positions(lo, hi)
    if not same_rows:
        positions.sort()
    yield "positions", _places(index, positions)
    ending = np.sort(index.positions(*index.find_ends(ngram)))
    yield "find_ends", _places(index, ending) if ngram else len(ending)
    yield "docs_of", index.docs_of(lo, hi).tolist()
    yield "docs_containing", index.docs_containing(ngram).tolist()
    for most in (0, 1, 2, 5):
        yield f"the first {most}", index.first_docs_containing(ngram, most).tolist()
    yield "count_by_document", _plain(index.count_by_document(lo, hi))
    every = np.arange(index.n_documents, dtype=np.uint32)
    yield "filter_docs", index.filter_docs(every[::2], ngram).tolist()
    both = [ngram, ngram[:1], ngram[-1:]]
    for scan in (0.1, float("inf")):
        costs = (1.0, scan, 0.5, 2)
        yield "docs_where", _plain(index.docs_where([AND_ORDERED, 2, GRAM, GRAM], both[:2], costs))
        code = [OR, 2, AND_ORDERED, 2, GRAM, NOT, GRAM, GRAM]
        yield "docs_where", _plain(index.docs_where(code, both, costs))
    for ahead in {-1, 0, len(ngram)}:
        yield f"tokens_at {ahead}", index.tokens_at(positions, ahead).tolist()
    before, around = TokenCounts(), WindowCounts()
    before.add_before(index, lo, hi)
    yield "tokens before", (before.n_starts, _plain(before.found()))
    bitmap = np.packbits(every % 3 != 1, bitorder="little")
    yield "tokens_after", _plain(tokens_after(index, lo, hi, len(ngram), bitmap))
    ascending = np.sort(positions)
    ends = ascending + index.position_type(len(ngram))
    for left, right in ((0, 1), (2, 3), (2**40, 0)):
        around.add(index, ascending, ends, left, right)
        yield "tokens around", _plain(around.found())
    if ngram:
        if sentences:
            yield from _sentences(index, ascending, ends)
        yield "places", _places(index, index.places(*packed([ngram, ngram[:1]])))
        starts, stops = index.document_bounds(every)
        yield "scan", _places(index, index.scan(starts, stops, ngram))
    yield from _sums(index, ngram)


def _sentences(index: SegmentIndex, starts: NDArray[Any], stops: NDArray[Any]) -> Answers:
    """Return the answers about the sentences of occurrences: here every third token begins a sentence."""
    bits = _marked(index)
    lo, hi = sentences_at(bits, starts)
    yield "sentences_at", list(zip(_places(index, lo), _places(index, hi), strict=True))
    around = WindowCounts()
    around.add(index, starts, stops, 2, 5, bits)
    yield "tokens around within sentences", _plain(around.found())
    for at in ("BEGIN", "END"):
        # The beginning or end of a sentence, and then any two tokens.
        steps = [[PATTERN_CODES[name], 0, 0] for name in (at, "ANY", "ANY", "DONE")]
        matcher = Matcher(np.array(steps, dtype=np.int64), np.zeros((0, 0), dtype=np.uint8))
        for within in (False, True):
            matching = matcher.ends(index, starts, bits, within) > 0
            yield f"matches from the {at} of sentences", matching.tolist()


def _marked(index: SegmentIndex) -> NDArray[np.uint8]:
    """Mark sentences of three tokens: a bit per position, set for beginnings and separators."""
    flags = np.zeros(index.n_positions, dtype=np.bool_)
    starts, stops = index.document_bounds(np.arange(index.n_documents, dtype=np.uint32))
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        flags[start:stop:3] = True
        flags[stop : stop + 1] = True
    return np.packbits(flags, bitorder="little")


def _sums(index: SegmentIndex, ngram: Ids) -> Answers:
    """Return the answers of sums of segments, here with one added and equally many subtracted and added."""
    for net in (Index([index], [1]), Index([index] * 3, [1, -1, 1])):
        yield "count", net.count(ngram)
        yield "count_many", net.count_many(*packed([ngram] * 3)).tolist()
        for longest in (False, True):
            yield "dist", _plain(net.dist(ngram, longest))
            yield "dist_many", _plain(net.dist_many(*packed([ngram, ngram[1:]]), longest))
            yield "score", _plain(net.score(*packed([ngram, ngram[::-1]]), longest))
            if ngram:
                yield "prob", net.prob(ngram[:-1], ngram[-1], longest)


def _documents(index: SegmentIndex, same_rows: bool) -> Answers:
    every = np.arange(index.n_documents, dtype=np.uint32)
    starts, stops = index.document_bounds(every)
    yield "document_bounds", (stops - starts).tolist()
    assert (starts <= stops).all() and (stops[:-1] < starts[1:]).all(), "documents do not lie apart"
    for i in range(index.n_documents):
        length = index.document_length(i)
        yield "document_length", length
        yield "document", index.document(i).tolist()
        yield "document_tokens", index.document_tokens(i, length // 3, length - 1).tolist()
    positions = index.positions(0, index.n_tokens)
    if not same_rows:
        positions.sort()
    yield "positions", _places(index, positions)
    counts = TokenCounts()
    counts.add_documents(index, every)
    counts.add_documents(index, every[::2], -1)
    yield "tokens of documents", _plain(counts.found())


def _ngram_lists(index: SegmentIndex) -> Answers:
    """All n-grams by frequency: of all documents, and of every second one."""
    flags = np.zeros(index.n_documents, dtype=np.bool_)
    flags[::2] = True
    bitmap = np.packbits(flags, bitorder="little")
    for n in (1, 2, 3, 9):
        for bitmaps in ([None], [bitmap]):
            blocks = NgramBlocks([index], [1], n, bitmaps)
            yield f"n-grams of {n} tokens", _plain(blocks.next(7))
            yield f"n-grams of {n} tokens", _plain(blocks.next(1000))
            yield f"how many n-grams of {n} tokens", (blocks.distinct, blocks.occurrences)
        if index.n_documents:
            scan = NgramScan([(index, None, (1, None), (1, bitmap))], n)
            for places, counts in (scan.next(3), scan.next(1000, 2)):
                ids = scan.ids(places)
                yield f"n-grams of {n} tokens with two counts", (_plain(ids), _plain(counts))
                yield "their last tokens", (_plain(scan.column(places, n - 1)), _plain(ids[:, -1]))


def _models(index: SegmentIndex) -> Answers:
    """Yield counts of counts, and all kinds of models; sentences are documents, or end in the first token."""
    if not index.n_tokens:
        return
    first = int(
        index.document(int(np.argmax([index.document_length(i) for i in range(index.n_documents)])))[0]
    )
    for separator in (None, first):
        language = LanguageIndex([index], [1], separator)
        yield "types", _plain(language.types())
        yield "counts of counts", _plain(language.counts_of_counts(4))
        for n in (1, 2, 3):
            yield f"n-grams of length {n}", _plain(language.ngrams(n))
        asked = packed([index.document(i).tolist() for i in range(min(index.n_documents, 4))])
        n_types = len(language.types()[0])
        for kind in KINDS:
            for order in (0, 3):
                counts, top = (2 * n_types, n_types, 0, 0), (0.5, 1.0, 1.5)
                model = Model(language, kind, order, empty=counts, top=top)
                # As text, since NaN does not equal NaN.
                yield f"scores of {kind}", str(model.score(*asked, sentences=True).tolist())
                yield f"successors under {kind}", _plain(model.successors(asked[0][:3], True))


def _plain(value: Any) -> Any:
    """Arrays as lists, so that answers can be compared."""
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return value.tolist() if isinstance(value, np.ndarray) else value
