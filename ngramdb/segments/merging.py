"""A segment made of documents of others: without the removed ones, or of several segments.

Tokens, texts and metadata are carried over, nothing is tokenized again. The suffix array is the old one
filtered if the documents come from one segment, else the old ones are merged, or suffixes are sorted again.
Either way the segment equals the one that loading these documents would have made, except for their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.sort.construction import CoreBudget
from ngramdb._cext.sort.row_merging import filter_rows
from ngramdb.interrupts import Interrupt
from ngramdb.segments.base import Part, Segment, breaks_of_parts, chunks, rows_of_documents
from ngramdb.segments.builder import (
    SegmentArrays,
    SegmentContent,
    SortedArrays,
    positions,
    write_segment,
)
from ngramdb.segments.container import Sink
from ngramdb.segments.container.layout import WIDTHS, SymbolBuilder, SymbolStream
from ngramdb.segments.far_index import FORM, SegmentSummary
from ngramdb.segments.merged_arrays import MergedArrays, can_be_merged, positions_of_breaks
from ngramdb.segments.metadata_builder import merged_metadata
from ngramdb.segments.segment import NativeSegment
from ngramdb.segments.text import Marker, SentenceStream, TextStream

# Filtering reads every row of the segment, about 4 ns each; sorting takes about 80 ns per remaining token.
SORTING_COSTS = 20


@dataclass(frozen=True)
class Means:
    """The way to make one segment of others: merging their suffix arrays if `merges`, else sorting.

    Merging needs little memory; the bytes that are written are the same. `threads` work at a time; `on_rows`
    is called with the number of rows merged since its last call. `marker` finds the sentences of documents
    whose segment lacks them; without, they stay unknown. Texts of up to `most_held` bytes are copied into
    memory to be merged, in a quarter less time.
    """

    merges: bool = False
    threads: int = 1
    on_rows: Callable[[int], None] | None = None
    marker: Marker | None = None
    most_held: int = 0


def write_merged(
    file: Sink,
    parts: Sequence[Part],
    with_content: bool = True,
    stop: Interrupt | None = None,
    means: Means = Means(),
) -> SegmentSummary:
    """Write the documents of all parts, in this order, as one segment; ids must ascend.

    Parameters
    ----------
    with_content : carry texts, metadata and sentences over; without, the segment has tokens only
    stop : for kernels, when this runs in another thread than the work's own
    means : segments that are not in our own format are sorted in any case, as are those with new token ids

    Raises
    ------
    CorruptionError
        a part's file is damaged
    Interrupted
        the work was interrupted

    Cost
        O(n) time besides texts and metadata: 30 to 130 ns per token to merge 2 to 17 segments, 80 ns
        to sort, 5 ns per row to filter one segment. Memory: half a byte per token, some chunks of rows
        and the held texts to merge, else 7 bytes per token at the peak (u16 tokens); and metadata.
    """
    ids = np.concatenate([part.segment.doc_ids(part.numbers) for part in parts])
    has_gaps = len(ids) > 0 and int(ids[-1]) - int(ids[0]) + 1 != len(ids)
    content = SegmentContent(_arrays(parts, means, stop))
    if with_content:
        content.text = TextStream(_values(parts, lambda segment: segment.stored_text))
        content.forms = TextStream(_values(parts, lambda segment: segment.form), FORM)
        content.metadata = merged_metadata(parts)
        content.sentences = SentenceStream(parts, means.marker)
        content.break_bytes = breaks_of_parts(parts).bytes
    first_doc_id = int(ids[0]) if len(ids) else 0
    cores = CoreBudget(means.threads)
    with cores:
        return write_segment(file, content, first_doc_id, ids if has_gaps else None, stop, cores)


def _arrays(parts: Sequence[Part], means: Means, stop: Interrupt | None) -> SegmentArrays:
    if means.merges and can_be_merged(parts):
        return MergedArrays(parts, means.threads, stop, means.on_rows, means.most_held)
    made = _symbols(parts)
    return SortedArrays.of(made, *_filtered(parts, made))


def write_removed(file: Sink, parts: Sequence[Part], stop: Interrupt | None = None) -> SegmentSummary:
    """Write the documents of all parts as one segment of tokens only, sorted by their ids.

    Cost: about 100 ns per token of these documents, independent of the size of their segments.
    """
    ids = np.concatenate([part.segment.doc_ids(part.numbers) for part in parts])
    if len(parts) == 1 or (np.diff(ids) > 0).all():
        return write_merged(file, parts, with_content=False, stop=stop)
    taken = [part.segment.token_ids(part.numbers) for part in parts]
    flat = np.concatenate([tokens for tokens, _ in taken])
    lengths = np.concatenate([np.diff(offsets) for _, offsets in taken])
    order = np.argsort(ids, kind="stable")
    builder = SymbolBuilder(len(flat) + len(ids))
    builder.add(*_reordered(flat, lengths, breaks_of_parts(parts).tokens, order))
    ids = ids[order]
    has_gaps = int(ids[-1]) - int(ids[0]) + 1 != len(ids)
    content = SegmentContent(SortedArrays.of(builder.finish()))
    return write_segment(file, content, int(ids[0]), ids if has_gaps else None, stop)


def _reordered(
    flat: NDArray[np.uint32],
    lengths: NDArray[np.int64],
    breaks: NDArray[np.int64],
    order: NDArray[np.int64],
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """Documents of these lengths in another order: flat ids, offsets and breaks."""
    starts = np.cumsum(lengths) - lengths
    offsets = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(lengths[order], out=offsets[1:])
    places = np.repeat(starts[order] - offsets[:-1], lengths[order]) + np.arange(len(flat))
    moved = np.empty_like(places)
    moved[places] = np.arange(len(flat))
    return flat[places], offsets, np.sort(moved[breaks])


def _symbols(parts: Sequence[Part]) -> SymbolStream:
    """Return the stream of the documents of all parts."""
    carried = _carried_symbols(parts)
    if carried is not None:
        return carried
    builder = SymbolBuilder(max(sum(part.n_symbols for part in parts), 1))
    for part in parts:
        for numbers in chunks(part):
            ids, offsets = part.segment.token_ids(numbers)
            breaks = part.segment.breaks_of(numbers).tokens
            builder.add(ids if part.new_ids is None else part.new_ids[ids], offsets, breaks)
    return builder.finish()


def _carried_symbols(parts: Sequence[Part]) -> SymbolStream | None:
    """Do the same by copying stored symbols, if all parts write ids alike, and as the builder would."""
    native = [(part, part.segment) for part in parts if isinstance(part.segment, NativeSegment)]
    if len(native) < len(parts) or any(part.new_ids is not None for part in parts):
        return None
    width = native[0][1].symbols.dtype
    gap = int(np.iinfo(width).max)
    if any(segment.symbols.dtype != width or segment.gap != gap for _, segment in native):
        return None
    lengths = np.concatenate([np.zeros(1, dtype=np.int64), *(part.lengths for part in parts)])
    starts = np.cumsum(lengths)
    stream = np.empty(int(starts[-1]), dtype=width)
    at = 0
    for part, segment in native:
        for numbers in chunks(part):
            for start, stop in segment.symbol_ranges(numbers):
                stream[at : at + stop - start] = segment.symbols[start:stop]
                at += stop - start
    narrower = WIDTHS[WIDTHS.index(width) - 1] if width != WIDTHS[0] else None
    # With one symbol more than the narrower width has, a gap might make room: the builder finds out.
    if narrower is not None and (not len(stream) or int(stream.max()) <= np.iinfo(narrower).max + 1):
        return None
    return SymbolStream(stream, starts.astype(np.uint32), gap, positions_of_breaks(parts))


def _filtered(parts: Sequence[Part], made: SymbolStream) -> tuple[NDArray[np.uint32] | None, int]:
    """Return the suffix array of the documents of one segment, and the width of its LCPs.

    None if there are several, or if sorting costs less than filtering.
    """
    if len(parts) != 1 or parts[0].new_ids is not None:
        return None, 0
    part = parts[0]
    segment = part.segment
    if not isinstance(segment, NativeSegment) or SORTING_COSTS * part.n_symbols < segment.n_tokens:
        return None, 0
    segment.verify_rows()
    rows, width = segment.rows, segment.lcp_width
    if made.symbols.dtype != segment.symbols.dtype or made.gap != segment.gap:
        # Other symbols have other bits in common.
        rows, width = positions(rows, width), 0
    if part.is_whole:
        return rows, width
    kept = np.zeros(segment.n_documents, dtype=np.uint8)
    kept[part.numbers] = 1
    with rows_of_documents(parts):
        return filter_rows(rows, segment.starts, kept, width, segment.break_positions), width


def _values(
    parts: Sequence[Part], of: Callable[[Segment], Callable[[int], bytes | None]]
) -> Iterator[list[bytes | None]]:
    """Yield a column of bytes of all documents, in lists; `of` returns that of a document of a segment."""
    for part in parts:
        value_of = of(part.segment)
        for numbers in chunks(part):
            yield list(map(value_of, numbers.tolist()))
