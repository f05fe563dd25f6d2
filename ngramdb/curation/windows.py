"""Windows of text that occur several times, as ranges of tokens.

The window of a position begins there and lies within its document: it has L tokens, or it is the shortest
one whose tokens have at least L bytes. Windows with the same tokens are a class. A class whose windows
occur at least `min_count` times in the documents that count is repeated; so is, whatever `min_count` is,
one that occurs in the corpus that this one is compared with (AGAINST).

One copy of a repeated class is kept: the first one in the best document; or none, if KEEP
NONE was given or the other corpus has it. The tokens of all other copies are cut, except for those of the
kept copy that overlap them. Afterwards no window of L units occurs twice.

Classes are runs of neighbours in the suffix array, so that one pass over it finds them all; the suffix
arrays of several segments are merged on the fly, without the rows of windows of which a sample shows that
they occur once (`_cext.corpus.duplicate_windows`). What another corpus has
is searched for in its index, at a cost that depends on the size of this corpus alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.duplicate_windows import LEFT_OUT, DuplicateWindows, ranges_of_bits
from ngramdb._cext.sort.row_merging import MergeSource
from ngramdb.conditions.byte_places import sizes_of
from ngramdb.conditions.interruptible_sort import order_of
from ngramdb.conditions.overlap_field import Ids, ids_onto, marks_of_ngrams, token_chunks
from ngramdb.conditions.stored_text import longest_matches
from ngramdb.curation.keeping import DocumentOrder, counting, ranks
from ngramdb.engine.storage.directory.memory import MemoryDirectory
from ngramdb.errors import InvalidArgument
from ngramdb.segments.base import Part, Segment, chunks, rows_of_documents
from ngramdb.segments.builder import positions
from ngramdb.segments.container import Container
from ngramdb.segments.container.layout import WIDTHS, piece_offsets, recoded
from ngramdb.segments.far_index import KIND
from ngramdb.segments.merged_arrays import in_order
from ngramdb.segments.merging import write_merged
from ngramdb.segments.segment import NativeSegment
from ngramdb.source import Corpus
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

#: Chunks of rows per thread, since some take longer than others.
CHUNKS_PER_THREAD = 8

Positions = NDArray[np.uint32]


class Ranges(NamedTuple):
    """Half-open ranges of positions in a segment's text, within documents; disjoint, and not touching.

    starts, stops : (n,) uint32, ascending
    """

    starts: Positions
    stops: Positions

    @property
    def n_tokens(self) -> int:
        """The number of tokens in the ranges."""
        return int((self.stops.astype(np.int64) - self.starts).sum())


class Window(NamedTuple):
    """The length of windows, in `unit`: tokens or bytes."""

    length: int
    unit: str = "tokens"


def duplicate_ranges(
    corpus: Corpus,
    length: int,
    unit: str = "tokens",
    *,
    min_count: int = 2,
    order: DocumentOrder | None = None,
    keeps_one: bool = True,
    against: Corpus | None = None,
    documents: Sequence[Docs] | None = None,
    threads: int = 1,
) -> list[Ranges]:
    """Return what to cut of each segment, so that no window is left that occurs twice.

    Parameters
    ----------
    length, unit : the length of windows, in tokens or bytes
    min_count : how often a window must occur to be a duplicate: at least 2
    order : the documents, the best one first (KEEP BY); by default, ids ascend (KEEP FIRST)
    keeps_one : keep the best copy; False for KEEP NONE
    against : a corpus whose windows count as copies that are kept
    documents : the documents that count, per segment; by default, all that have not been removed

    Raises
    ------
    InvalidArgument
        tokens are ids without a text, so that bytes cannot be counted
    CorruptionError
        a segment's file is damaged

    Cost: a pass over the suffix array: 2 to 20 ns per token of one segment, 10 to 60 of several, most where
    much is repeated; with `against`, up to a microsecond per token and segment of the other corpus. Memory:
    a bit per token; of several segments an eighth of a bit more, up to 32 MB, and the tokens of those with
    other symbols than the widest (FORMAT.md, "Tokens").
    """
    counted = counting(corpus) if documents is None else documents
    of_segments = ranks(corpus, counted, order)
    window = Window(length, unit)
    found = _marked(corpus, window, of_segments, min_count, False, keeps_one, threads)
    if against is None:
        return found
    there = against_starts(corpus, window, against, counted)
    return [
        united(own, _windows_at(segment, starts, window, corpus.tokenizer))
        for segment, own, starts in zip(corpus.segments, found, there, strict=True)
    ]


def duplicate_starts(
    corpus: Corpus,
    window: Window,
    *,
    min_count: int = 2,
    against: Corpus | None = None,
    documents: Sequence[Docs] | None = None,
    threads: int = 1,
) -> list[Ranges]:
    """Return the positions of each segment at which a duplicate window begins; parameters are those above."""
    counted = counting(corpus) if documents is None else documents
    found = _marked(corpus, window, ranks(corpus, counted), min_count, True, True, threads)
    if against is None:
        return found
    there = against_starts(corpus, window, against, counted)
    return [united(own, starts) for own, starts in zip(found, there, strict=True)]


def _marked(
    corpus: Corpus,
    window: Window,
    of_segments: Sequence[NDArray[np.uint32]],
    min_count: int,
    marks_starts: bool,
    keeps_one: bool,
    threads: int,
) -> list[Ranges]:
    used = [i for i, segment in enumerate(corpus.segments) if segment.n_tokens]
    found = [Ranges(*np.empty((2, 0), dtype=np.uint32)) for _ in corpus.segments]
    if not used:
        return found
    segments = [native(corpus.segments[i]) for i in used]
    for segment in segments:
        verify(segment)
    with rows_of_documents([Part(segment, np.empty(0, dtype=np.uint32)) for segment in segments]):
        sources, gap = _sources(segments)
        kernel = DuplicateWindows(
            sources,
            _ranks_of_pieces(segments, [of_segments[i] for i in used]),
            window.length,
            _weights(corpus.tokenizer, window, gap),
            min_count,
            marks_starts,
            keeps_one,
        )
    for step in (kernel.sample, kernel.choose):
        for _ in in_order(step, kernel.n_sampled, threads, None):
            pass
    n_chunks = kernel.plan(CHUNKS_PER_THREAD * threads if threads > 1 else 1)
    for _ in in_order(kernel.mark, n_chunks, threads, None):
        pass
    for i, marks in zip(used, kernel.marks, strict=True):
        found[i] = Ranges(*ranges_of_bits(marks))
    for i, segment in zip(used, segments, strict=True):
        if segment is not corpus.segments[i]:
            found[i] = _moved(found[i], segment, corpus.segments[i])
    return found


# ---- Segments as the kernel takes them.


def native(segment: Segment) -> NativeSegment:
    """Return the segment, or its tokens sorted in memory if it is of another kind."""
    if isinstance(segment, NativeSegment):
        return segment
    directory, name = MemoryDirectory(), "sorted.segment"
    every = np.arange(segment.n_documents, dtype=np.uint32)
    write_merged(directory.create(name), [Part(segment, every)], with_content=False)
    container = Container.open(directory.open_read(name), segment.path, KIND)
    return NativeSegment(container, segment.path)


def _moved(ranges: Ranges, sorted_one: NativeSegment, segment: Segment) -> Ranges:
    """Return ranges of a segment that was sorted in memory as positions of the segment itself."""
    docs, before = sorted_one.index.places_at(ranges.starts)
    starts = segment.index.document_bounds(docs)[0].astype(np.int64) + before
    stops = starts + (ranges.stops.astype(np.int64) - ranges.starts)
    return Ranges(starts.astype(np.uint32), stops.astype(np.uint32))


def verify(segment: NativeSegment) -> None:
    """Check the tokens and the suffix array of a segment before a pass over them. Raises CorruptionError."""
    segment.prepare_pass()
    segment.verify_rows_of(0, segment.n_tokens)
    for numbers in chunks(Part(segment, np.arange(segment.n_documents, dtype=np.uint32))):
        for _ in segment.symbol_ranges(numbers):
            pass


def _piece_starts(segment: NativeSegment) -> Positions:
    """Return the starts of the segment's pieces, which are documents to the kernel, and the end."""
    if not segment.n_breaks:
        return segment.starts
    return np.union1d(segment.starts, segment.break_positions + np.uint32(1))


def _ranks_of_pieces(
    segments: Sequence[NativeSegment], of_documents: Sequence[NDArray[np.uint32]]
) -> list[NDArray[np.uint32]]:
    """Return the ranks of the pieces of documents: in the order of documents, then of positions."""
    if not any(segment.n_breaks for segment in segments):
        return list(of_documents)
    starts = [_piece_starts(segment)[:-1] for segment in segments]
    owners = [
        of_segment[np.searchsorted(segment.starts, places, side="right") - 1]
        for segment, of_segment, places in zip(segments, of_documents, starts, strict=True)
    ]
    every = np.concatenate(owners)
    found = np.empty(len(every), dtype=np.uint32)
    found[np.argsort(every, kind="stable")] = np.arange(len(every))
    found[every == LEFT_OUT] = LEFT_OUT
    return np.split(found, np.cumsum([len(places) for places in starts])[:-1])


def _sources(segments: Sequence[NativeSegment]) -> tuple[list[MergeSource], int]:
    """Return the segments with the same symbols for the same tokens, and the gap of those symbols."""
    dtype = max((segment.symbols.dtype for segment in segments), key=lambda one: one.itemsize)
    gaps = {segment.gap for segment in segments if segment.symbols.dtype == dtype}
    most = int(np.iinfo(dtype).max)
    if len(segments) > 1 and gaps != {most} and (len(gaps) > 1 or len(segments) > len(_of(segments, dtype))):
        dtype = WIDTHS[WIDTHS.index(dtype) + 1]
        gaps = {int(np.iinfo(dtype).max)}
    (gap,) = gaps
    sources = []
    for segment in segments:
        rows, width, lcps = segment.rows, segment.lcp_width, segment.lcps
        symbols, starts = segment.symbols, _piece_starts(segment)
        is_same = symbols.dtype == dtype and segment.gap == gap
        if not is_same:
            symbols, rows, width, lcps = (
                recoded(symbols, segment.gap, dtype, gap),
                positions(rows, width),
                0,
                None,
            )
        sources.append(MergeSource(symbols, rows, width, starts, None, segment.path, is_same, lcps))
    return sources, gap


def _of(segments: Sequence[NativeSegment], dtype: np.dtype[Any]) -> list[NativeSegment]:
    return [segment for segment in segments if segment.symbols.dtype == dtype]


def token_bytes(tokenizer: Tokenizer) -> NDArray[np.uint32]:
    """Return the number of bytes of each token's text: (n_vocabulary,) uint32.

    Raises InvalidArgument if tokens are ids without a text.
    """
    if tokenizer.kind == "tokens":
        raise InvalidArgument(
            "a length in BYTES needs tokens with a text, not a corpus of ids; give it in TOKENS"
        )
    if tokenizer.spellings is not None:
        return np.diff(tokenizer.spellings[1]).astype(np.uint32)
    texts = tokenizer.all_texts()
    return np.array([len(text.encode("utf-8", "surrogatepass")) for text in texts], dtype=np.uint32)


def _weights(tokenizer: Tokenizer, window: Window, gap: int) -> NDArray[np.uint32] | None:
    """Return the bytes of each symbol, or None to count tokens."""
    if window.unit == "tokens":
        return None
    by_id = token_bytes(tokenizer)
    weights = np.zeros(len(by_id) + 1, dtype=np.uint32)
    ids = np.arange(len(by_id))
    weights[ids + (ids < gap)] = by_id
    return weights


# ---- Windows that another corpus has.


def against_starts(corpus: Corpus, window: Window, other: Corpus, documents: Sequence[Docs]) -> list[Ranges]:
    """Return the positions of each segment at which a window of these documents begins that `other` has.

    Cost: a fifth of a search per token, with lengths in bytes about one, in each segment of the other corpus.
    """
    ids_there = ids_onto(corpus.tokenizer, other.tokenizer)
    sizes = None if window.unit == "tokens" else token_bytes(corpus.tokenizer).astype(np.int64)
    found = []
    for segment, docs in zip(corpus.segments, documents, strict=True):
        places = [np.empty(0, dtype=np.uint32)]
        for flat, offsets, firsts in texts(segment, docs):
            there = flat if ids_there is None else ids_there[flat]
            ends = window_ends(flat, offsets, window, sizes)
            starts = np.flatnonzero(_occurring(there, offsets, ends, window, other))
            numbers = np.searchsorted(offsets, starts, side="right") - 1
            places.append((starts - offsets[numbers] + firsts[numbers]).astype(np.uint32))
        found.append(_runs(np.concatenate(places)))
    return found


def texts(segment: Segment, docs: Docs) -> Iterator[tuple[Ids, Ids, Ids]]:
    """Yield the tokens of documents, a chunk at a time: ids, and the offset and the position of each piece.

    Broken documents have several pieces, others one. Positions are those in the segment, ascending.
    """
    for chunk, lengths in token_chunks(segment, docs):
        offsets = np.zeros(len(chunk) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        flat = [segment.document(i).astype(np.int64) for i in chunk.tolist()]
        breaks = segment.breaks_of(chunk).tokens
        pieces = piece_offsets(offsets, breaks)
        owners = np.arange(len(chunk))
        if len(breaks):  # an empty document has no place of its own, and needs none
            owners = np.minimum(np.searchsorted(offsets, pieces[:-1], side="right"), len(chunk)) - 1
        firsts, _ = segment.index.document_bounds(chunk)
        # Breaks are positions, too.
        n_before = np.searchsorted(breaks, pieces[:-1], side="right")
        n_before -= np.searchsorted(breaks, offsets[owners])
        places = firsts[owners].astype(np.int64) + pieces[:-1] - offsets[owners] + n_before
        yield np.concatenate([np.empty(0, dtype=np.int64), *flat]), pieces, places


def window_ends(flat: Ids, offsets: Ids, window: Window, sizes: Ids | None) -> Ids:
    """Return the end of the window that begins at each token, or -1 if its document is too short.

    sizes : the bytes of each token id; None to count tokens
    """
    stops = np.repeat(offsets[1:], np.diff(offsets))
    if sizes is None:
        ends = np.arange(len(flat)) + window.length
    else:
        before = np.concatenate([[0], np.cumsum(sizes_of(flat, sizes))])
        ends = np.searchsorted(before, before[:-1] + window.length, side="left")
    return np.where(ends <= stops, ends, -1)


def _occurring(flat: Ids, offsets: Ids, ends: Ids, window: Window, other: Corpus) -> NDArray[np.bool_]:
    if window.unit == "tokens":
        return marks_of_ngrams(flat, offsets, other, window.length) & (ends >= 0)
    lengths, _ = longest_matches(other.index, flat, offsets)
    # There is one more position than tokens in each text.
    places = ends + np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return (ends >= 0) & (lengths[places] >= ends - np.arange(len(flat)))


def _windows_at(segment: Segment, starts: Ranges, window: Window, tokenizer: Tokenizer) -> Ranges:
    """Return the tokens of the windows that begin in these ranges, each of which lies within a document."""
    return united(Ranges(starts.starts, window_stops(segment, starts, window, tokenizer)))


def window_stops(segment: Segment, starts: Ranges, window: Window, tokenizer: Tokenizer) -> Positions:
    """Return the end of the last window that begins in each of these ranges: (n,) uint32."""
    lasts = starts.stops.astype(np.int64) - 1
    if window.unit == "tokens":
        ends: Positions = (lasts + window.length).astype(np.uint32)
        return ends
    sizes = token_bytes(tokenizer).astype(np.int64)
    stops = lasts.copy()
    docs = np.unique(segment.index.documents_at(starts.starts)).astype(np.uint32)
    for flat, offsets, firsts in texts(segment, docs):
        # The end of a document is not in its pieces.
        lo, hi = np.searchsorted(lasts, [firsts[0], firsts[-1] + offsets[-1] - offsets[-2]])
        owners = np.searchsorted(firsts, lasts[lo:hi], side="right") - 1
        moved = offsets[owners] - firsts[owners]
        stops[lo:hi] = window_ends(flat, offsets, window, sizes)[lasts[lo:hi] + moved] - moved
    found: Positions = stops.astype(np.uint32)
    return found


def _runs(places: Positions) -> Ranges:
    """Return ascending positions as ranges."""
    if not len(places):
        return Ranges(places, places)
    breaks = np.flatnonzero(np.diff(places) != 1)
    return Ranges(places[np.append(0, breaks + 1)], places[np.append(breaks, len(places) - 1)] + np.uint32(1))


def united(*parts: Ranges) -> Ranges:
    """Return the union of ranges that may overlap. Cost: sorting them."""
    starts = np.concatenate([part.starts for part in parts])
    stops = np.concatenate([part.stops for part in parts])
    if not len(starts):
        return Ranges(starts, stops)
    order = order_of(starts)
    starts, stops = starts[order], np.maximum.accumulate(stops[order])
    begins = np.append(True, starts[1:] > stops[:-1])
    return Ranges(starts[begins], stops[np.append(np.flatnonzero(begins)[1:] - 1, len(stops) - 1)])
