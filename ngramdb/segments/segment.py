"""Reading one segment: its index, its documents' tokens, texts and metadata, straight from the mapped file.

Opening costs the same whatever the segment's size: arrays are views of the file. Invariants that need a pass
over the data are verified by `check`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.construction import first_wrong_row, key_directory, mark_lcps
from ngramdb._cext.index import SegmentIndex
from ngramdb.errors import CorruptionError
from ngramdb.segments.builder import DOC_IDS, FORM, positions
from ngramdb.segments.container import Container
from ngramdb.segments.metadata import MetadataReader
from ngramdb.segments.text import TextReader


class Decoder(Protocol):
    """What is asked of a tokenizer: the text that ids spell."""

    def decode_exact(self, ids: Any, /) -> bytes | None: ...


class Segment:
    """One immutable segment.

    Document i has the id `first_doc_id + i`, or, where ids have gaps, the one that the section documents.ids
    tells; `doc_id_offset` is added to all of them.
    """

    def __init__(self, container: Container, path: str, doc_id_offset: int = 0) -> None:
        self._container = container
        self.path = path
        self.n_tokens = self._number("n_tokens")
        self.n_documents = self._number("n_documents")
        self.first_doc_id = self._number("first_doc_id") + doc_id_offset
        self._offset = doc_id_offset

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
                self.lcp_width,
            )
        except (ValueError, KeyError) as error:
            raise self._corruption(f"its sections do not fit together: {error}") from error

    @cached_property
    def metadata(self) -> MetadataReader:
        return MetadataReader(self._container.section("metadata"), self.n_documents, self.path)

    @cached_property
    def _texts(self) -> TextReader:
        return TextReader(self._container, self.n_documents, self.path)

    @cached_property
    def _forms(self) -> TextReader:
        return TextReader(self._container, self.n_documents, self.path, FORM)

    def column(self, prefix: str) -> TextReader:
        """The stored texts, or the forms of documents' lines, by the prefix of their sections' names."""
        return self._forms if prefix == FORM else self._texts

    def form(self, i: int) -> bytes | None:
        """How document i stood in its line of JSON (`ngramdb.ingest.line_forms`), None where that is not
        known."""
        return self._forms.text(i)

    @cached_property
    def _ids(self) -> NDArray[np.int64] | None:
        """The documents' ids where they have gaps, ascending; else None."""
        if not self._container.has(DOC_IDS):
            return None
        ids = self._container.array(DOC_IDS)
        first = self.first_doc_id - self._offset
        if ids.dtype != np.uint64 or len(ids) != self.n_documents or (len(ids) and ids[0] != first):
            raise self._corruption(f"its section {DOC_IDS} does not have the ids of its documents")
        return ids.astype(np.int64) + self._offset

    def doc_id(self, i: int) -> int:
        """The id of document i."""
        return self.first_doc_id + i if self._ids is None else int(self._ids[i])

    def doc_ids(self, numbers: NDArray[Any] | None = None) -> NDArray[np.int64]:
        """The ids of these documents (local numbers), of all in order without any: (n,) int64."""
        if numbers is None:
            numbers = np.arange(self.n_documents)
        if self._ids is None:
            return np.asarray(numbers).astype(np.int64) + self.first_doc_id
        return self._ids[numbers]

    def local_of(self, doc_id: int) -> int | None:
        """The local number of the document with this id, None when it isn't here."""
        if self._ids is None:
            i = doc_id - self.first_doc_id
            return i if 0 <= i < self.n_documents else None
        i = int(np.searchsorted(self._ids, doc_id))
        return i if i < len(self._ids) and self._ids[i] == doc_id else None

    def locals_of(self, doc_ids: NDArray[np.int64]) -> NDArray[np.uint32]:
        """The local numbers of those of the ids (ascending) that are here: (k,) uint32, ascending.

        Cost: k binary searches, whatever the number of documents.
        """
        if self._ids is None:
            start, stop = np.searchsorted(doc_ids, [self.first_doc_id, self.first_doc_id + self.n_documents])
            return (doc_ids[start:stop] - self.first_doc_id).astype(np.uint32)
        places = np.searchsorted(self._ids, doc_ids)
        inside = places < len(self._ids)
        places, wanted = places[inside], doc_ids[inside]
        numbers: NDArray[np.uint32] = places[self._ids[places] == wanted].astype(np.uint32)
        return numbers

    @property
    def symbols(self) -> NDArray[Any]:
        """The stored symbols, each document followed by a separator (0)."""
        return self._container.array("tokens")

    @property
    def starts(self) -> NDArray[np.uint32]:
        """Where documents start in `symbols`: (n_documents + 1,)."""
        starts: NDArray[np.uint32] = self._container.array("documents.starts")
        return starts

    @property
    def rows(self) -> NDArray[np.uint32]:
        """The suffix array; the upper `lcp_width` bits of a row are its LCP."""
        rows: NDArray[np.uint32] = self._container.array("suffix_array")
        return rows

    @property
    def lcp_width(self) -> int:
        """How many bits of a row hold its LCP with the row before (FORMAT.md, "Suffix array")."""
        return self._number("lcp_width") if "lcp_width" in self._container.properties else 0

    @property
    def gap(self) -> int:
        """The id that no document here has (FORMAT.md, "Tokens")."""
        return self._number("gap")

    def stored_text(self, i: int) -> bytes | None:
        """What is stored of document i's text; None where its ids give it back, or where it has none."""
        return self._texts.text(i)

    def verify_symbols(self, start: int, stop: int) -> None:
        """Checks the checksums of symbols [start, stop) before they are copied. Raises CorruptionError."""
        place = self._container.sections["tokens"]
        width = self.symbols.dtype.itemsize
        self._container.verify_range(place.offset + width * start, place.offset + width * stop)

    def verify_rows(self) -> None:
        """Checks the checksums of the suffix array. Raises CorruptionError."""
        self._verify_section("suffix_array")

    def verify_metadata(self) -> None:
        """Checks the checksums of the metadata. Raises CorruptionError."""
        self._verify_section("metadata")

    def _verify_section(self, name: str) -> None:
        place = self._container.sections[name]
        self._container.verify_range(place.offset, place.offset + place.length)

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
        rows = positions(self.rows, self.lcp_width)
        wrong = first_wrong_row(tokens, rows)
        if wrong is not None:
            raise self._corruption(f"row {wrong} of its suffix array is out of order")
        mark_lcps(tokens, rows, self.lcp_width)
        wrong_lcps = np.flatnonzero(rows != self.rows)
        if len(wrong_lcps):
            raise self._corruption(f"row {wrong_lcps[0]} of its suffix array has a wrong LCP")
        self._check_directory(tokens)
        if self._ids is not None and (np.diff(self._ids) <= 0).any():
            raise self._corruption("its documents' ids do not ascend")
        self.metadata.check()
        self._texts.check()
        self._forms.check()

    def _check_directory(self, tokens: NDArray[Any]) -> None:
        tree, rest = key_directory(tokens, self.rows, lcp_width=self.lcp_width)
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
