"""The tokens of several segments and their suffix arrays merged, in the memory of what is being written.

Rows stay in the mapped files that they are in; what is written passes by in chunks. The sections are those
that sorting all the documents would make, byte for byte. Symbols are copied into memory if they fit
(`most_held`), else mapped, too; those of a segment that writes its ids in another way than the merged one
does (FORMAT.md, "Tokens") are held in memory in any case, in the new way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.sort.construction import CoreBudget, lcp_width_for
from ngramdb._cext.sort.row_merging import MergeSource, RowMerge, filter_rows
from ngramdb.interrupts import Interrupt
from ngramdb.segments import far_index
from ngramdb.segments.base import CHUNK_SYMBOLS, Part, breaks_of_parts, chunks, rows_of_documents, runs
from ngramdb.segments.builder import positions
from ngramdb.segments.container import AheadSection, ContainerWriter
from ngramdb.segments.container.layout import Symbols, break_positions, narrowest, recoded
from ngramdb.segments.segment import NativeSegment, bytes_in_large_pages

# Rows that are merged at a time by a thread: 4 MB, some 60 ms.
CHUNK_ROWS = 1 << 20
# Bytes of texts that are worth being held: more than processors have in their caches.
HELD_FROM = 1 << 25

Made = TypeVar("Made")


def can_be_merged(parts: Sequence[Part]) -> bool:
    """Return True if the parts have suffix arrays to merge: native segments with unchanged token ids."""
    return all(isinstance(part.segment, NativeSegment) and part.new_ids is None for part in parts)


def positions_of_breaks(parts: Sequence[Part]) -> NDArray[np.uint32]:
    """Return the positions of breaks among the symbols of all parts, one after the other."""
    breaks = breaks_of_parts(parts).tokens
    if not len(breaks):
        return np.empty(0, dtype=np.uint32)
    lengths = [part.segment.lengths(part.numbers) for part in parts]
    offsets = np.cumsum(np.concatenate([np.zeros(1, dtype=np.int64), *lengths]))
    return break_positions(offsets, breaks).astype(np.uint32)


class MergedArrays:
    """The content of a merged segment (`builder.SegmentArrays`); all parts are in the native format.

    Parameters
    ----------
    threads : as many chunks are merged at a time
    on_rows : called with the number of rows written since its last call
    most_held : bytes of symbols that may be copied into memory. Large arrays are there in pages of megabytes,
        so that the kernel can prefetch from them: a quarter less time

    Raises
    ------
    CorruptionError
        tokens that would be carried over are damaged; or, when they are written, rows
    """

    def __init__(
        self,
        parts: Sequence[Part],
        threads: int = 1,
        stop: Interrupt | None = None,
        on_rows: Callable[[int], None] | None = None,
        most_held: int = 0,
    ) -> None:
        self._parts = [_NativePart(part) for part in parts]
        self._threads = threads
        self._on_rows = on_rows
        self._most_held = most_held
        verified = in_order(lambda i, token: self._parts[i].verify(token), len(parts), threads, stop)
        largest = max(verified, default=-1)
        lengths = np.concatenate([np.zeros(1, dtype=np.int64), *(part.lengths for part in parts)])
        self.n_symbols = int(lengths.sum())
        self.starts = np.cumsum(lengths).astype(np.uint32)
        self.breaks = positions_of_breaks(parts)
        self._dtype, self.gap = narrowest(largest, self._smallest_absent)

    def write(self, writer: ContainerWriter, stop: Interrupt | None, cores: CoreBudget | None) -> None:
        """Merge the rows, and write the sections."""
        sources = []
        held, are_large = self._held(stop)
        for part, symbols in zip(self._parts, held, strict=True):
            with rows_of_documents([part.part]):
                sources.append(part.source(self._dtype, self.gap, symbols, are_large))
        with rows_of_documents([part.part for part in self._parts]):
            merge = RowMerge(sources, lcp_width_for(self.n_symbols))
            n_chunks = merge.plan(CHUNK_ROWS, stop)
        for _ in in_order(merge.count, n_chunks, self._threads, stop):
            pass
        with rows_of_documents([part.part for part in self._parts]):
            merge.begin()
        bounds = [merge.bounds(chunk) for chunk in range(n_chunks + 1)]

        def merged(
            chunk: int, token: Interrupt | None
        ) -> tuple[NDArray[np.uint32], NDArray[np.uint8] | None]:
            for part, start, end in zip(self._parts, bounds[chunk], bounds[chunk + 1], strict=True):
                part.verify_rows(start, end)
            return merge.merge(chunk, token)

        writer.begin("suffix_array", "u4")
        place = writer.following(4 * merge.n_rows)
        beside = None
        if merge.lcp_width == 0:
            beside = writer.ahead(far_index.LCPS, "u1", place) or writer.later(far_index.LCPS)
            place = writer.following(merge.n_rows, place)
        for directory in (merge.tree, merge.rest):
            place = writer.following(directory.nbytes, place)
        with self._writing_tokens(writer, place, stop) as add_tokens:
            for chunk, (rows, lcps) in enumerate(in_order(merged, n_chunks, self._threads, stop)):
                merge.join(chunk, rows, lcps)
                writer.write(rows)
                if beside is not None and lcps is not None:
                    beside.write(lcps)
                for part, start, end in zip(self._parts, bounds[chunk], bounds[chunk + 1], strict=True):
                    part.done_with_rows(start, end)
                if self._on_rows is not None:
                    self._on_rows(len(rows))
            writer.end()
            if beside is not None:
                beside.add()
            tree, rest = merge.finish()
            writer.add("directory.tree", tree)
            writer.add("directory.rest", rest)
            add_tokens()

    @contextmanager
    def _writing_tokens(
        self, writer: ContainerWriter, place: int, stop: Interrupt | None
    ) -> Iterator[Callable[[], None]]:
        """Yield the function that completes the section of tokens; one of several threads may write it.

        place : the offset of the section
        """
        dtype = f"u{self._dtype.itemsize}"
        ahead = writer.ahead("tokens", dtype, place) if self._threads > 1 else None
        if ahead is None:

            def write() -> None:
                writer.begin("tokens", dtype)
                self._write_tokens(writer, stop)
                writer.end()

            yield write
            return
        token = Interrupt(parent=stop if stop is not None else interrupts.current())
        with ThreadPoolExecutor(1, thread_name_prefix="ngramdb-tokens") as pool:
            writing = pool.submit(self._write_tokens, ahead, token)

            def end() -> None:
                interrupts.result_of(writing)
                ahead.add()

            try:
                yield end
            finally:
                token.set()

    def _write_tokens(self, section: ContainerWriter | AheadSection, token: Interrupt | None) -> None:
        for part in self._parts:
            pieces = part.symbols(self._dtype, self.gap)
            for symbols in pieces if token is None else interrupts.under(token, pieces):
                interrupts.check()
                section.write(symbols)

    def _held(self, stop: Interrupt | None) -> tuple[Sequence[Symbols | None], bool]:
        """Return the symbols of each part in memory, and whether that is in large pages.

        None for each that is not copied. Memory that other threads take meanwhile also reduces the pages'
        number, which affects speed only.
        """
        ends = np.cumsum([part.n_held(self._dtype, self.gap) for part in self._parts])
        n_bytes = int(ends[-1]) * self._dtype.itemsize
        is_filtered = len(self._parts) == 1
        if is_filtered or not HELD_FROM <= n_bytes <= self._most_held:
            return [None] * len(self._parts), False
        before = bytes_in_large_pages()
        rooms = np.split(np.empty(int(ends[-1]), dtype=self._dtype), ends[:-1])

        def copied(i: int, token: Interrupt | None) -> Symbols:
            self._parts[i].copy(rooms[i], self._dtype, self.gap, token)
            return rooms[i]

        held = list(in_order(copied, len(rooms), self._threads, stop))
        after = bytes_in_large_pages()
        return held, before is None or after is None or 2 * (after - before) >= n_bytes

    def _smallest_absent(self, last: int) -> int | None:
        """Return the smallest id in 0..last that no document has."""
        # Either one of these n ids is absent, or every possible id is present.
        n = min(last + 1, self._n_tokens() + 1)
        present = np.zeros(n, dtype=np.bool_)
        for part in self._parts:
            for ids in part.ids():
                present[ids[ids < n]] = True
        absent = np.flatnonzero(~present)
        return int(absent[0]) if len(absent) else None

    def _n_tokens(self) -> int:
        return self.n_symbols - len(self.starts) + 1 - len(self.breaks)


class _NativePart:
    """A part of the native format."""

    def __init__(self, part: Part) -> None:
        assert isinstance(part.segment, NativeSegment)
        self.part = part
        self._segment = part.segment

    def verify(self, token: Interrupt | None) -> int:
        """Check the checksums and separators of what is carried over; the largest id, -1 without tokens."""
        self._segment.prepare_pass()
        largest = 0
        for numbers in self._chunks(token):
            for start, stop in self._segment.symbol_ranges(numbers):
                largest = max(largest, int(self._segment.symbols[start:stop].max()))
        return largest - 1 if largest <= self._segment.gap else largest

    def verify_rows(self, start: int, stop: int) -> None:
        """Check the checksums of rows. The kernel takes damaged ones for others, and that does no harm."""
        self._segment.verify_rows_of(start, stop)

    def done_with_rows(self, start: int, stop: int) -> None:
        """Give back the memory of rows that have been merged."""
        self._segment.done_with_rows(start, stop)

    def n_held(self, dtype: np.dtype[Any], gap: int) -> int:
        """Return the number of symbols that `copy` writes: all of the segment's if they are written alike."""
        return len(self._segment.symbols) if self._is_written_as(dtype, gap) else self.part.n_symbols

    def copy(self, room: Symbols, dtype: np.dtype[Any], gap: int, token: Interrupt | None) -> None:
        """Copy symbols into an array: `n_held` of them."""
        symbols = self._segment.symbols
        at = 0
        pieces: Iterable[Symbols] = self.symbols(dtype, gap)
        if self._is_written_as(dtype, gap):
            pieces = (symbols[i : i + CHUNK_SYMBOLS] for i in range(0, len(symbols), CHUNK_SYMBOLS))
        for piece in pieces if token is None else interrupts.under(token, pieces):
            room[at : at + len(piece)] = piece
            at += len(piece)

    def source(
        self, dtype: np.dtype[Any], gap: int, held: Symbols | None = None, large: bool = False
    ) -> MergeSource:
        """Return the source to merge, over held symbols (in large pages or not) or over the mapped file."""
        segment, part = self._segment, self.part
        kept = None
        if not part.is_whole:
            kept = np.zeros(segment.n_documents, dtype=np.uint8)
            kept[part.numbers] = 1
        rows, width, starts = segment.rows, segment.lcp_width, segment.starts
        if self._is_written_as(dtype, gap):
            symbols = segment.symbols if held is None else held
            return MergeSource(
                symbols,
                rows,
                width,
                starts,
                kept,
                segment.path,
                lcps=segment.lcps,
                in_large_pages=large,
                breaks=segment.break_positions,
            )
        # The ids of dropped documents need not fit the new width: they must not be compared.
        if held is None:
            held = np.concatenate([np.empty(0, dtype=dtype), *self.symbols(dtype, gap)])
        breaks = positions_of_breaks([part])
        if kept is not None:
            rows = filter_rows(positions(rows, width), starts, kept, breaks=segment.break_positions)
            width = 0
            starts = np.concatenate([[0], np.cumsum(part.lengths)]).astype(np.uint32)
        return MergeSource(
            held,
            rows,
            width,
            starts,
            None,
            segment.path,
            has_lcps=False,
            in_large_pages=large,
            breaks=breaks,
        )

    def symbols(self, dtype: np.dtype[Any], gap: int) -> Iterator[Symbols]:
        """Yield the symbols of its documents in pieces, as the merged segment writes them."""
        as_it_is, starts = self._is_written_as(dtype, gap), self._segment.starts
        for numbers in self._chunks(None):
            for first, last in runs(numbers):
                symbols = self._segment.symbols[int(starts[first]) : int(starts[last + 1])]
                yield symbols if as_it_is else recoded(symbols, self._segment.gap, dtype, gap)

    def ids(self) -> Iterator[NDArray[np.uint32]]:
        """Yield the token ids of its documents, in pieces."""
        for numbers in self._chunks(None):
            yield self._segment.token_ids(numbers)[0]

    def _is_written_as(self, dtype: np.dtype[Any], gap: int) -> bool:
        return bool(self._segment.symbols.dtype == dtype) and self._segment.gap == gap

    def _chunks(self, token: Interrupt | None) -> Iterable[NDArray[np.uint32]]:
        found = chunks(self.part)
        return found if token is None else interrupts.under(token, found)


def in_order(
    work: Callable[[int, Interrupt | None], Made], n: int, threads: int, stop: Interrupt | None
) -> Iterator[Made]:
    """Yield work(0, token), work(1, token), … in that order, made a little ahead by this many threads.

    Without other threads the token is `stop`; else one that `stop`, the current work's end, or an error sets.
    """
    if threads == 1 or n == 1:
        for i in range(n):
            yield work(i, stop)
        return
    token = Interrupt(parent=stop if stop is not None else interrupts.current())
    pool = ThreadPoolExecutor(threads, thread_name_prefix="ngramdb-merge")
    waiting: deque[Future[Made]] = deque()
    try:
        for i in range(n):
            waiting.append(pool.submit(work, i, token))
            if len(waiting) > threads:
                yield interrupts.result_of(waiting.popleft())
        while waiting:
            yield interrupts.result_of(waiting.popleft())
    finally:
        token.set()
        pool.shutdown(wait=True, cancel_futures=True)
