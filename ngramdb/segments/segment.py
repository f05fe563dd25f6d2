"""Reading one segment: its index, its documents' tokens, texts and metadata, straight from the mapped file.

Opening costs the same whatever the segment's size: arrays are views of the file. Invariants that need a pass
over the data are verified by `check`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.construction import first_wrong_row, key_directory
from ngramdb._cext.index import SegmentIndex
from ngramdb.errors import CorruptionError
from ngramdb.segments.container import Container
from ngramdb.segments.metadata import MetadataReader
from ngramdb.segments.text import TextReader


class Decoder(Protocol):
    """What is asked of a tokenizer: the text that ids spell."""

    def decode_exact(self, ids: Any, /) -> bytes | None: ...


class Segment:
    """One immutable segment. Its documents have the ids first_doc_id + i."""

    def __init__(self, container: Container, path: str) -> None:
        self._container = container
        self.path = path
        self.n_tokens = self._number("n_tokens")
        self.n_documents = self._number("n_documents")
        self.first_doc_id = self._number("first_doc_id")

    @cached_property
    def index(self) -> SegmentIndex:
        """The kernel's view of the segment. Raises CorruptionError when its sections do not fit together."""
        try:
            return SegmentIndex(
                self._container.array("tokens"),
                self._container.array("suffix_array"),
                self._container.array("directory.tree"),
                self._container.array("directory.rest"),
                self._container.array("documents.starts"),
                self._number("gap"),
                self.path,
            )
        except (ValueError, KeyError) as error:
            raise self._corruption(f"its sections do not fit together: {error}") from error

    @cached_property
    def metadata(self) -> MetadataReader:
        return MetadataReader(self._container.section("metadata"), self.n_documents, self.path)

    @cached_property
    def _texts(self) -> TextReader:
        return TextReader(self._container, self.n_documents, self.path)

    @property
    def size_bytes(self) -> int:
        return self._container.info.size

    def document(self, i: int) -> NDArray[np.uint32]:
        """Token ids of document i: (length,) uint32."""
        ids: NDArray[np.uint32] = self.index.document(i)
        return ids

    def document_length(self, i: int) -> int:
        """Number of tokens of document i."""
        return int(self.index.document_length(i))

    def text(self, i: int, tokenizer: Decoder) -> bytes | None:
        """The text of document i, byte for byte as it came; None for documents that came as token ids."""
        stored = self._texts.text(i)
        return stored if stored is not None else tokenizer.decode_exact(self.document(i))

    def check(self) -> None:
        """Verifies checksums and every invariant of the arrays. Raises CorruptionError naming what is wrong.

        Cost: a pass over the whole file; a random read of the text per token and compared symbol.
        """
        self._container.verify()
        tokens = self._container.array("tokens")
        starts = self._container.array("documents.starts")
        if self.index.n_tokens != self.n_tokens or self.index.n_documents != self.n_documents:
            raise self._corruption("its numbers of tokens and documents are not those of its sections")
        ends = starts[1:].astype(np.int64) - 1
        if (np.diff(starts.astype(np.int64)) < 1).any() or (tokens[ends] != 0).any():
            raise self._corruption("a document does not end in a separator where the next one starts")
        if int(np.count_nonzero(tokens == 0)) != self.n_documents:
            raise self._corruption("a separator stands inside a document")
        wrong = first_wrong_row(tokens, self._container.array("suffix_array"))
        if wrong is not None:
            raise self._corruption(f"row {wrong} of its suffix array is out of order")
        self._check_directory(tokens)
        self.metadata.check()
        self._texts.check()

    def _check_directory(self, tokens: NDArray[Any]) -> None:
        tree, rest = key_directory(tokens, self._container.array("suffix_array"))
        same = np.array_equal(tree, self._container.array("directory.tree")) and np.array_equal(
            rest, self._container.array("directory.rest")
        )
        if not same:
            raise self._corruption("its directory is not that of its suffix array")

    def _number(self, name: str) -> int:
        value = self._container.properties.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
            raise self._corruption(f"its property {name} is {value!r}")
        return value

    def _corruption(self, what: str) -> CorruptionError:
        return CorruptionError(
            f"segment {self.path} is damaged: {what}; "
            "restore the file from a backup, or load its documents again",
            path=self.path,
        )
