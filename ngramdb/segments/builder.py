"""Building one segment: documents in, the sections of its file out.

The order of the work keeps memory low: while suffixes are sorted there are the stream (1, 2 or 4 bytes a
symbol), the suffix array (4 bytes) and little else; each part is written and dropped as soon as it is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.sort.construction import (
    MAX_SYMBOLS,
    CoreBudget,
    key_directory,
    lcp_width_for,
    mark_lcps,
    release,
    suffix_array,
)
from ngramdb.errors import ResourceError
from ngramdb.interrupts import Interrupt
from ngramdb.segments import far_index
from ngramdb.segments.base import NONE_BROKEN, Breaks
from ngramdb.segments.container import ContainerWriter, Sink
from ngramdb.segments.container.layout import (
    SymbolBuilder,
    SymbolStream,
    TokenIds,
    dense_ranks,
    piece_offsets,
)
from ngramdb.segments.far_index import BREAK_BYTES, BREAKS, DOC_IDS, FORM, SegmentSummary, segment_writer
from ngramdb.segments.metadata_builder import MetadataBuilder
from ngramdb.segments.text import SentenceBuilder, TextBuilder

# An array is written in pieces that end at multiples of this many bytes of the file, and released by pieces.
PIECE = 1 << 22

# A mapping for one document, a `pyarrow.RecordBatch` for several.
Metadata: TypeAlias = Mapping[str, Any] | Any

# Symbols that a builder has room for, whatever is expected.
MIN_CAPACITY = 1 << 12


class SegmentBuilder:
    """A segment in the making. Documents are added in batches, then written once.

    `expected_tokens` reserves room; more is found when it is needed.
    """

    def __init__(self, first_doc_id: int, expected_tokens: int = 0) -> None:
        self.first_doc_id = first_doc_id
        # One separator to sixteen tokens: documents are longer as a rule.
        self._symbols = SymbolBuilder(expected_tokens + expected_tokens // 16 + MIN_CAPACITY)
        self._text = TextBuilder()
        self._forms = TextBuilder(FORM)
        self._metadata = MetadataBuilder()
        self._sentences = SentenceBuilder()
        self._break_bytes: list[NDArray[np.int64]] = []

    @property
    def n_tokens(self) -> int:
        return self._symbols.n_tokens

    @property
    def n_documents(self) -> int:
        return self._symbols.n_documents

    def add(
        self,
        ids: TokenIds,
        offsets: NDArray[np.int64],
        texts: Sequence[bytes | None],
        metadata: Iterable[Metadata],
        forms: Iterable[bytes | None] = (),
        sentences: NDArray[np.bool_] | None = None,
        breaks: Breaks = NONE_BROKEN,
    ) -> None:
        """Add n documents.

        Parameters
        ----------
        ids, offsets : (m,) of at most 32 bits and (n + 1,) int64: document k has
            ids[offsets[k]:offsets[k + 1]]
        texts : what must be stored of each document's text, None where its ids give it back
        forms : the documents' original lines (`ngramdb.ingest.readers.lines`), for all n or for none
        metadata : a mapping for a document, a record batch for several of them (as
            `MetadataBuilder.add_columns` takes it), or the number of several without any; an
            iterator advances only after the previous one is stored
        sentences : (m,) whether each token begins a sentence; None if unknown. The first token after a break
            does in any case
        breaks : the places where documents are broken

        Raises
        ------
        ResourceError
            the segment would hold more than 2**32 - 2 tokens and separators
        ValueError
            a break is not between two tokens of one document, or breaks do not ascend
        """
        breaks.check(offsets)
        pieces = piece_offsets(offsets, breaks.tokens)
        n_symbols = self.n_tokens + self.n_documents + self._symbols.n_breaks + len(ids) + len(pieces) - 1
        if n_symbols > MAX_SYMBOLS:
            raise ResourceError(
                f"a segment holds at most {MAX_SYMBOLS:,} tokens, but one document has {len(ids):,}",
                limit=MAX_SYMBOLS,
                asked=n_symbols,
            )
        self._symbols.add(ids, offsets, breaks.tokens)
        self._break_bytes.append(breaks.bytes)
        self._sentences.add(sentences, pieces)
        self._forms.extend(list(forms) or [None] * (len(offsets) - 1))
        self._text.extend(texts)
        for fields in metadata:
            if type(fields) is int:
                self._metadata.add_empty(fields)
            elif type(fields) is dict or isinstance(fields, Mapping):
                self._metadata.add(fields)
            else:
                self._metadata.add_columns(fields)

    def write(
        self, file: Sink, stop: Interrupt | None = None, cores: CoreBudget | None = None
    ) -> SegmentSummary:
        """Sort, write and sync the segment; the builder is of no use afterwards.

        `cores` are those that builds share; the caller has entered them.

        Raises
        ------
        QueryCancelled
            the work was interrupted
        Cost
            O(n) time; about 6.5 bytes per token at the peak (u16 tokens), up to 9 if long passages repeat.
        """
        arrays = SortedArrays.of(self._symbols.finish())
        break_bytes = np.concatenate([NONE_BROKEN.bytes, *self._break_bytes])
        content = SegmentContent(
            arrays, self._text, self._metadata, self._forms, self._sentences, break_bytes
        )
        return write_segment(file, content, self.first_doc_id, stop=stop, cores=cores)


class SegmentArrays(Protocol):
    """The tokens of a segment and their suffix array, and how they are written.

    `starts`, `gap` and `breaks` are those of a `SymbolStream`; there are `n_symbols` tokens and separators.
    """

    @property
    def starts(self) -> NDArray[np.uint32]: ...
    @property
    def gap(self) -> int: ...
    @property
    def breaks(self) -> NDArray[np.uint32]: ...
    @property
    def n_symbols(self) -> int: ...

    def write(self, writer: ContainerWriter, stop: Interrupt | None, cores: CoreBudget | None) -> None:
        """Write the sections `suffix_array`, `directory.tree`, `directory.rest` and `tokens`."""


class Column(Protocol):
    """Something that documents have, and how its sections are written."""

    def write(self, writer: ContainerWriter, /) -> None: ...


@dataclass
class SegmentContent:
    """Everything that a segment is made of.

    Writing it uses it up. Without `text`, `metadata`, `forms` or `sentences` no document has any.
    `break_bytes` are those of `Breaks`, if there are texts.
    """

    arrays: SegmentArrays
    text: Column | None = None
    metadata: MetadataBuilder | None = None
    forms: Column | None = None
    sentences: Column | None = None
    break_bytes: NDArray[np.int64] | None = None


@dataclass
class SortedArrays:
    """Arrays in memory.

    Without `rows`, the suffix array, whose LCPs are `lcp_width` bits wide, suffixes are sorted. Those that
    can be written to lose their content when they are.
    """

    stream: NDArray[Any]
    starts: NDArray[np.uint32]
    gap: int
    breaks: NDArray[np.uint32]
    rows: NDArray[np.uint32] | None = None
    lcp_width: int = 0

    @classmethod
    def of(
        cls, made: SymbolStream, rows: NDArray[np.uint32] | None = None, lcp_width: int = 0
    ) -> SortedArrays:
        """Return the arrays of a stream."""
        return cls(*made, rows, lcp_width)

    @property
    def n_symbols(self) -> int:
        return len(self.stream)

    def write(self, writer: ContainerWriter, stop: Interrupt | None, cores: CoreBudget | None) -> None:
        """Sort suffixes if need be, and write the sections."""
        rows, width = self.rows, lcp_width_for(len(self.stream))
        if rows is None:
            ranks, n_symbols = dense_ranks(self.stream)
            # LCPs are of the symbols that are stored.
            known_width = width if ranks is self.stream else 0
            rows = suffix_array(ranks, n_symbols, stop, cores, known_width)
        else:
            known_width = self.lcp_width
        if known_width != width:
            rows = positions(rows, known_width)
            mark_lcps(self.stream, rows, width, stop, cores)
        self.rows = None
        tree, rest = key_directory(self.stream, rows, stop, width)
        lcps = far_index.lcps_of(self.stream, rows, stop, cores) if width == 0 else None
        _write_out(writer, "suffix_array", rows)
        if lcps is not None:
            _write_out(writer, far_index.LCPS, lcps)
        writer.add("directory.tree", tree)
        writer.add("directory.rest", rest)
        _write_out(writer, "tokens", self.stream)


def write_segment(
    file: Sink,
    content: SegmentContent,
    first_doc_id: int,
    doc_ids: NDArray[np.int64] | None = None,
    stop: Interrupt | None = None,
    cores: CoreBudget | None = None,
) -> SegmentSummary:
    """Write the sections of a segment, in the order of FORMAT.md, and sync it; `content` is used up.

    `doc_ids` are the documents' ids if they have gaps: (n,) ascending from `first_doc_id`.
    """
    arrays = content.arrays
    n_documents, n_breaks = len(arrays.starts) - 1, len(arrays.breaks)
    n_tokens = arrays.n_symbols - n_documents - n_breaks
    writer = segment_writer(file, doc_ids is not None, n_breaks > 0)
    writer.add("documents.starts", arrays.starts)
    if doc_ids is not None:
        writer.add(DOC_IDS, doc_ids.astype(np.uint64))
    if n_breaks:
        writer.add(BREAKS, arrays.breaks)
        if content.break_bytes is not None:
            writer.add(BREAK_BYTES, content.break_bytes.astype(np.uint64))
    arrays.write(writer, stop, cores)
    for column in (content.sentences, content.text, content.forms):
        if column is not None:
            column.write(writer)
    writer.add("metadata", content.metadata.finish() if content.metadata else b"")
    info = writer.finish(
        {
            "n_tokens": n_tokens,
            "n_documents": n_documents,
            "first_doc_id": first_doc_id,
            "gap": arrays.gap,
            **({"n_breaks": n_breaks} if n_breaks else {}),
            "lcp_width": lcp_width_for(arrays.n_symbols),
            "header": writer.header.hex(),
        }
    )
    return SegmentSummary(info, n_tokens, n_documents, first_doc_id)


def positions(rows: NDArray[np.uint32], width: int) -> NDArray[np.uint32]:
    """Return the positions of a suffix array's rows with LCPs of `width` bits: (n,) uint32, a new array."""
    found: NDArray[np.uint32] = rows & np.uint32((1 << (32 - width)) - 1)
    return found


def _write_out(writer: ContainerWriter, name: str, values: NDArray[Any]) -> None:
    """Write an array as a section, and give its memory back on the way.

    The system takes the same pages for the file; others take ten times as long on virtual machines.
    """
    if not values.flags.writeable:  # a map of another segment's file
        writer.add(name, values)
        return
    writer.begin(name, f"{values.dtype.kind}{values.dtype.itemsize}")
    start = 0
    while start < len(values):
        stop = start + (PIECE - writer.offset % PIECE) // values.itemsize
        writer.write(values[start:stop])
        release(values[:stop].view(np.uint8))
        start = stop
    writer.end()
