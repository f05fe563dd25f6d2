"""Building one segment: documents in, the sections of its file out.

The order of the work keeps memory low: while suffixes are sorted there are the stream (1, 2 or 4 bytes a
symbol), the suffix array (4 bytes) and little else; each part is written and dropped as soon as it is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.construction import MAX_SYMBOLS, StopToken, key_directory, suffix_array
from ngramdb.errors import ResourceError
from ngramdb.segments.container import ContainerWriter, FileInfo
from ngramdb.segments.metadata import MetadataBuilder
from ngramdb.segments.symbols import SymbolBuilder, dense_ranks
from ngramdb.segments.text import TextBuilder

KIND = "SEGM"

# Symbols that a builder has room for, whatever is expected.
MIN_CAPACITY = 1 << 12


@dataclass(frozen=True)
class SegmentSummary:
    """What a written segment is: its file's size and checksum, and its numbers."""

    file: FileInfo
    n_tokens: int
    n_documents: int
    first_doc_id: int


class SegmentBuilder:
    """A segment in the making. Documents are added in batches, then written once.

    `expected_tokens` reserves room; more is found when it is needed.
    """

    def __init__(self, first_doc_id: int, expected_tokens: int = 0) -> None:
        self.first_doc_id = first_doc_id
        # One separator to sixteen tokens: documents are longer as a rule.
        self._symbols = SymbolBuilder(expected_tokens + expected_tokens // 16 + MIN_CAPACITY)
        self._text = TextBuilder()
        self._metadata = MetadataBuilder()

    @property
    def n_tokens(self) -> int:
        return self._symbols.n_tokens

    @property
    def n_documents(self) -> int:
        return self._symbols.n_documents

    def add(
        self,
        ids: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        texts: Sequence[bytes | None],
        metadata: Iterable[Mapping[str, Any]],
    ) -> None:
        """Adds n documents.

        Parameters
            ids, offsets : (m,) uint32 and (n + 1,) int64: document k has ids[offsets[k]:offsets[k + 1]]
            texts : what must be stored of each document's text, None where its ids give it back
            metadata : one mapping a document; an iterator is asked for the next when the last one is stored

        Raises
            ResourceError : the segment would hold more than 2**32 - 2 tokens and separators
        """
        n_symbols = self.n_tokens + self.n_documents + len(ids) + len(offsets) - 1
        if n_symbols > MAX_SYMBOLS:
            raise ResourceError(
                f"a segment holds at most {MAX_SYMBOLS:,} tokens, but one document has {len(ids):,}",
                limit=MAX_SYMBOLS,
                asked=n_symbols,
            )
        self._symbols.add(ids, offsets)
        for text in texts:
            self._text.add(text)
        for fields in metadata:
            self._metadata.add(dict(fields))

    def write(self, writer: ContainerWriter, stop: StopToken | None = None) -> SegmentSummary:
        """Sorts, writes and syncs the segment; the builder is of no use afterwards.

        Raises
            QueryCancelled : the stop token was set
        Cost
            O(n) time; about 7 bytes a token at the peak (u16 tokens).
        """
        n_tokens, n_documents = self.n_tokens, self.n_documents
        stream, starts, gap = self._symbols.finish()
        writer.add("tokens", stream)
        writer.add("documents.starts", starts)
        self._write_suffixes(writer, stream, stop)
        for name, (data, dtype) in self._text.sections().items():
            writer.add(name, data, dtype)
        writer.add("metadata", self._metadata.finish())
        info = writer.finish(
            {
                "n_tokens": n_tokens,
                "n_documents": n_documents,
                "first_doc_id": self.first_doc_id,
                "gap": gap,
            }
        )
        return SegmentSummary(info, n_tokens, n_documents, self.first_doc_id)

    @staticmethod
    def _write_suffixes(writer: ContainerWriter, stream: NDArray[Any], stop: StopToken | None) -> None:
        ranks, n_symbols = dense_ranks(stream)
        rows = suffix_array(ranks, n_symbols, stop)
        writer.add("suffix_array", rows)
        tree, rest = key_directory(stream, rows)
        writer.add("directory.tree", tree)
        writer.add("directory.rest", rest)
