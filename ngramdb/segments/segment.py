"""Reading one segment: its index, its documents' tokens, texts and metadata, straight from the mapped file.

Opening costs the same whatever the segment's size: arrays are views of the file. Sizes, types and widths are
checked when a segment is opened, where documents start before that is first used; invariants that need a pass
over the tokens are verified by `check`, and before tokens are carried into another file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.base.interrupt import check
from ngramdb._cext.segment.segment_index import SuffixIndex
from ngramdb._cext.sort.construction import first_wrong_row, key_directory
from ngramdb.errors import CorruptionError, FormatVersionError
from ngramdb.fork_safety import cached_property
from ngramdb.segments import far_index
from ngramdb.segments.base import NONE_BROKEN, Breaks, Numbers, Segment, runs
from ngramdb.segments.container import NATIVE, Container, Section, Sink, item_size
from ngramdb.segments.far_index import BREAK_BYTES, BREAKS, DOC_IDS, FORM, KIND, SegmentSummary
from ngramdb.segments.text import SENTENCES, TextReader, are_known, flags_of, wrong_document

#: Documents whose starts are checked before the first question; of more, and of files that lie elsewhere, the
#: kernels check what they use.
CHECKED_AT_USE = 1 << 13
#: Bytes that are read ahead at a time, between two interrupt checks.
PIECE = 1 << 25
#: Bits of a row that its LCP may take (kMostLcpWidth of rows.hpp).
MOST_LCP_WIDTH = 7


class NativeSegment(Segment):
    """A segment in our own format. `doc_id_offset` is added to all ids that its file has."""

    def __init__(self, container: Container, path: str, doc_id_offset: int = 0) -> None:
        self._container = container
        self.path = path
        numbers = (self._number(name) for name in ("n_tokens", "n_documents", "first_doc_id"))
        n_tokens, n_documents, first_doc_id = numbers
        super().__init__(path, n_tokens, n_documents, first_doc_id + doc_id_offset)
        self._offset = doc_id_offset
        self.n_breaks = self._number("n_breaks") if container.has(BREAKS) else 0
        # Until it has been read as a whole.
        self._is_read_along = False
        self._check_sizes()

    @cached_property
    def index(self) -> SuffixIndex:
        """The kernel's view of the segment. Raises CorruptionError when its sections do not fit together."""
        few = self.n_documents <= CHECKED_AT_USE and not self._container.is_remote
        array = self._container.unverified
        try:
            far = far_index.arrays_of(self._container, with_keys=self._container.is_remote)
            if far is None or far[0] is None:
                # Every question needs parts of both.
                self._container.bring("directory.tree", "directory.rest")
            return SuffixIndex(
                array("tokens"),
                array("suffix_array"),
                array("directory.tree"),
                array("directory.rest"),
                self.starts if few else array("documents.starts"),
                self._number("gap"),
                self.path,
                self.lcp_width,
                self._container.checksums,
                self._container.most_verified,
                far,
                self.break_positions if self.n_breaks else None,
            )
        except (ValueError, KeyError, OverflowError) as error:
            raise self._corruption(f"its sections do not fit together: {error}") from error

    @property
    def has_far_index(self) -> bool:
        """True if the file has the sections for remote queries (`far_index`)."""
        return self._container.has(far_index.KEYS)

    def write_with_far_index(self, file: Sink, threads: int) -> SegmentSummary:
        """Copy the segment's file, with a far index: `far_index.write_with_far_index`."""
        summary = SegmentSummary(
            self._container.info, self.n_tokens, self.n_documents, self.first_doc_id - self._offset
        )
        return far_index.write_with_far_index(file, self._container, summary, self.lcp_width, threads)

    @property
    def own_metadata(self) -> memoryview | bytes:
        return self._container.section("metadata")

    @property
    def stores_texts(self) -> bool:
        return self._container.has("text.stored")

    @cached_property
    def _texts(self) -> TextReader:
        return TextReader(self._container, self.n_documents, self.path)

    @cached_property
    def _forms(self) -> TextReader:
        return TextReader(self._container, self.n_documents, self.path, FORM)

    def own_form(self, i: int) -> bytes | None:
        return self._forms.text(i)

    @property
    def has_sentences(self) -> bool:
        return self._container.has(SENTENCES)

    @cached_property
    def sentences(self) -> NDArray[np.uint8] | None:
        if not self.n_documents:
            return np.empty(0, dtype=np.uint8)
        known = self.has_sentences and are_known(self._sentence_bits, self.starts[:-1])
        return self._sentence_bits if known else None

    @cached_property
    def _sentence_bits(self) -> NDArray[np.uint8]:
        bits: NDArray[np.uint8] = self._container.array(SENTENCES)
        if bits.dtype != np.uint8 or len(bits) != (self._n_symbols + 7) // 8:
            raise self._corruption(f"its section {SENTENCES} does not have a bit for each symbol")
        return bits

    def sentence_flags(self, numbers: Numbers) -> NDArray[np.bool_]:
        place = self._place(SENTENCES)
        ranges = [(int(self.starts[first]), int(self.starts[last + 1])) for first, last in runs(numbers)]
        for start, stop in ranges:
            self._container.verify_range(place.offset + start // 8, place.offset + (stop + 7) // 8)
        return flags_of(self._sentence_bits, ranges)

    @cached_property
    def ids(self) -> NDArray[np.int64] | None:
        """The documents' ids, ascending, if they have gaps; else None."""
        if not self._container.has(DOC_IDS):
            return None
        ids = self._container.array(DOC_IDS)
        first = self.first_doc_id - self._offset
        if ids.dtype != np.uint64 or len(ids) != self.n_documents or (len(ids) and ids[0] != first):
            raise self._corruption(f"its section {DOC_IDS} does not have the ids of its documents")
        if (ids[1:] <= ids[:-1]).any() or (len(ids) and int(ids[-1]) + self._offset >= 2**63):
            raise self._corruption(f"the ids in its section {DOC_IDS} do not ascend to at most 2**63 - 1")
        return ids.astype(np.int64) + self._offset

    @property
    def _n_symbols(self) -> int:
        return self.n_tokens + self.n_documents + self.n_breaks

    @cached_property
    def break_positions(self) -> NDArray[np.uint32]:
        """The positions in `symbols` of separators within documents: (n_breaks,) uint32, ascending."""
        if not self.n_breaks:
            return np.empty(0, dtype=np.uint32)
        breaks: NDArray[np.uint32] = self._container.array(BREAKS)
        # None is at a document's beginning, before its end, or beside another one.
        starts = self._container.array("documents.starts")
        after = np.searchsorted(starts, breaks, side="right")
        if (np.diff(breaks.astype(np.int64)) < 2).any() or not 0 < after[0] <= after[-1] < len(starts):
            raise self._corruption(f"its section {BREAKS} does not ascend within its documents")
        if (starts[after - 1] == breaks).any() or (starts[after] - breaks < 3).any():
            raise self._corruption(f"its section {BREAKS} has a break without a token on either side")
        return breaks

    @cached_property
    def _break_bytes(self) -> NDArray[np.int64]:
        if not self._container.has(BREAK_BYTES):
            return np.zeros(self.n_breaks, dtype=np.int64)
        places = self._container.array(BREAK_BYTES)
        if places.dtype != np.uint64 or len(places) != self.n_breaks or (places >= 2**63).any():
            raise self._corruption(f"its section {BREAK_BYTES} does not have a place for each break")
        return places.astype(np.int64)

    @property
    def symbols(self) -> NDArray[Any]:
        """The stored symbols, each document followed by a separator (0): `Container.sliced`.

        A document also has a separator at each of its breaks.
        """
        return self._container.sliced("tokens")

    @cached_property
    def starts(self) -> NDArray[np.uint32]:
        """The offset of each document in `symbols`: (n_documents + 1,), ascending.

        Raises CorruptionError when they do not. Cost: a pass over them, once.
        """
        starts: NDArray[np.uint32] = self._container.array("documents.starts")
        n_symbols = self._n_symbols  # the symbols themselves would be read to be verified
        if starts[0] != 0 or starts[-1] != n_symbols:
            raise self._corruption(f"its documents' starts do not span its {n_symbols} symbols")
        wrong = np.flatnonzero(starts[1:] <= starts[:-1])
        if len(wrong):
            raise self._corruption(f"document {wrong[0]} ends before it starts")
        return starts

    @property
    def rows(self) -> NDArray[np.uint32]:
        """The suffix array, `Container.sliced`; the upper `lcp_width` bits of a row are its LCP."""
        rows: NDArray[np.uint32] = self._container.sliced("suffix_array")
        return rows

    @property
    def lcps(self) -> NDArray[np.uint8] | None:
        """The far LCPs of rows without bits for LCPs, `Container.sliced`; None without far LCPs."""
        if self.lcp_width != 0 or not self._container.has(far_index.LCPS):
            return None
        lcps: NDArray[np.uint8] = self._container.sliced(far_index.LCPS)
        if lcps.dtype != np.uint8 or len(lcps) != self.n_tokens:
            raise self._corruption(
                f"it has {len(lcps)} far LCPs of type {lcps.dtype}, not {self.n_tokens} bytes"
            )
        return lcps

    @property
    def lcp_width(self) -> int:
        """Number of bits of a row that hold its LCP with the row before (FORMAT.md, "Suffix array")."""
        width = self._number("lcp_width") if "lcp_width" in self._container.properties else 0
        if width > MOST_LCP_WIDTH or self._n_symbols > 1 << (32 - width):
            raise self._corruption(f"its LCPs are {width} bits wide, which its positions leave no room for")
        return width

    @property
    def gap(self) -> int:
        """The id that no document here has (FORMAT.md, "Tokens")."""
        return self._number("gap")

    def stored_text(self, i: int) -> bytes | None:
        """Return the stored text of document i; None if its ids decode to it, or without a text."""
        return self._texts.text(i)

    def verify_documents(self, first: int, last: int) -> None:
        """Check the symbols of documents [first, last] before they are copied.

        Their separators are at their ends and breaks; checksums are verified. Raises CorruptionError.
        Cost: a pass over the symbols.
        """
        symbols, starts = self.symbols, self.starts
        start, stop = int(starts[first]), int(starts[last + 1])
        self._container.verify_part("tokens", start, stop)
        separators = np.flatnonzero(symbols[start:stop] == 0) + start
        ends = starts[first + 1 : last + 2].astype(np.int64) - 1
        if self.n_breaks:
            lo, hi = np.searchsorted(self.break_positions, [start, stop])
            ends = np.sort(np.concatenate([ends, self.break_positions[lo:hi].astype(np.int64)]))
        if not np.array_equal(separators, ends):
            raise self._corruption(
                f"one of documents {first} to {last} does not end in a separator, or contains one"
            )

    def lengths(self, numbers: Numbers) -> NDArray[np.int64]:
        """Numbers of tokens of documents: (n,) int64."""
        lengths = self.n_symbols(numbers) - 1
        if self.n_breaks:
            first, stop = self._breaks_within(numbers)
            lengths -= stop - first
        return lengths

    def n_symbols(self, numbers: Numbers) -> NDArray[np.int64]:
        starts = self.starts.astype(np.int64)
        found: NDArray[np.int64] = starts[numbers + np.int64(1)] - starts[numbers]
        return found

    def _breaks_within(self, numbers: Numbers) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers [first, stop) of the breaks of each document: (n,) int64 each."""
        bounds = (self.starts[numbers], self.starts[numbers + np.int64(1)])
        first, stop = (np.searchsorted(self.break_positions, places) for places in bounds)
        return first, stop

    def breaks_of(self, numbers: Numbers) -> Breaks:
        if not self.n_breaks:
            return NONE_BROKEN
        first, stop = self._breaks_within(numbers)
        counts = stop - first
        rank = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        which = rank + np.repeat(first, counts)
        lengths = self.lengths(numbers)
        before = np.cumsum(lengths) - lengths - self.starts[numbers]
        tokens = self.break_positions[which] - rank + np.repeat(before, counts)
        return Breaks(tokens, self._break_bytes[which])

    def symbol_ranges(self, numbers: Numbers) -> Iterator[tuple[int, int]]:
        """Ranges of symbols of documents (ascending), neighbours joined, each verified."""
        for first, last in runs(numbers):
            self.verify_documents(first, last)
            yield int(self.starts[first]), int(self.starts[last + 1])

    def token_ids(self, numbers: Numbers) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        ranges = self.symbol_ranges(numbers)
        symbols = np.concatenate([self.symbols[:0], *(self.symbols[a:b] for a, b in ranges)])
        offsets = np.zeros(len(numbers) + 1, dtype=np.int64)
        np.cumsum(self.lengths(numbers), out=offsets[1:])
        symbols = symbols[symbols != 0]
        ids = symbols.astype(np.uint32)
        ids -= symbols <= self.gap
        return ids, offsets

    def largest_id(self) -> int:
        """Return the largest token id, or -1 without tokens. Cost: a pass over the symbols."""
        largest = int(self._container.array("tokens").max()) if self.n_tokens else 0
        return largest - (largest <= self.gap)

    def verify_rows_of(self, start: int, stop: int) -> None:
        """Check the checksums of rows [start, stop) of the suffix array. Raises CorruptionError."""
        self._container.verify_part("suffix_array", start, stop)
        if self.lcps is not None:
            self._container.verify_part(far_index.LCPS, start, stop)

    def done_with_rows(self, start: int, stop: int) -> None:
        """Let rows [start, stop) no longer count as this process's memory, once a pass has come by them."""
        place = self._place("suffix_array")
        self._container.done_with(place.offset + 4 * start, place.offset + 4 * stop)
        if self.lcps is not None:
            place = self._place(far_index.LCPS)
            self._container.done_with(place.offset + start, place.offset + stop)

    def prepare_pass(self) -> None:
        """Say that the file will be read from one end to the other, and its text at many places."""
        self._container.prefer_large_pages()

    def verify_rows(self) -> None:
        """Check the checksums of the suffix array. Raises CorruptionError."""
        self._verify_section("suffix_array")

    def verify_metadata(self) -> None:
        """Check the checksums of the metadata. Raises CorruptionError."""
        self._verify_section("metadata")
        if self.changes is not None:
            self.changes.verify()

    def _verify_section(self, name: str) -> None:
        place = self._place(name)
        self._container.verify_range(place.offset, place.offset + place.length)

    @property
    def size_bytes(self) -> int:
        return self._container.info.size

    def read_along(self, wanted: bool) -> None:
        self._is_read_along = wanted
        self._container.read_along(wanted)

    def read_for_pass(self) -> None:
        wanted, self._is_read_along = self._is_read_along, False
        if wanted:
            self._container.prefer_large_pages()
            for start in range(0, self.size_bytes, PIECE):
                check()
                self._container.read_ahead(start, min(start + PIECE, self.size_bytes))

    def parts_to_read(self, room: int) -> list[tuple[int, int]]:
        if room >= self.size_bytes:
            self._container.prefer_large_pages()
            return [(0, self.size_bytes)]
        parts = []
        for name in ("directory.tree", "directory.rest", "documents.starts", "suffix_array", "tokens"):
            place = self._place(name)
            length = min(place.length, room)
            parts.append((place.offset, place.offset + length))
            room -= length
        return parts

    def read_part(self, start: int, stop: int) -> None:
        self._container.read_ahead(start, stop)
        self._container.verify_beforehand(start, stop)

    def resident_bytes(self) -> int:
        return self._container.resident_bytes()

    def check(self) -> None:
        """Verify checksums and every invariant of the arrays. Raises CorruptionError naming what is wrong.

        Cost: a pass over the whole file, and a random read of the text per token, on all free cores. Memory:
        16 bytes per document.
        """
        self._container.verify()
        tokens = self._container.array("tokens")
        starts = self._container.array("documents.starts")
        if self.index.n_tokens != self.n_tokens or self.index.n_documents != self.n_documents:
            raise self._corruption("its numbers of tokens and documents are not those of its sections")
        ends = starts[1:].astype(np.int64) - 1
        if (np.diff(starts.astype(np.int64)) < 1).any() or (tokens[ends] != 0).any():
            raise self._corruption("a document does not end in a separator before the next one starts")
        n_separators = len(tokens) - int(np.count_nonzero(tokens))
        if n_separators != self.n_documents + self.n_breaks or (tokens[self.break_positions] != 0).any():
            raise self._corruption("a document contains a separator that is not one of its breaks")
        self._check_break_bytes()
        lcps = None if self.has_far_index else self.lcps
        wrong = first_wrong_row(tokens, self.rows, self.lcp_width, lcps)
        if wrong is not None:
            raise self._corruption(f"row {wrong} of its suffix array is out of order, or has a wrong LCP")
        self._check_directory(tokens)
        try:
            is_right = far_index.is_right(self._container, self.lcp_width)
        except ValueError as error:
            raise self._corruption(f"its sections do not fit together: {error}") from error
        if not is_right:
            raise self._corruption("its far index does not match its suffix array")
        if self.ids is not None and (np.diff(self.ids) <= 0).any():
            raise self._corruption("its documents' ids do not ascend")
        self.metadata.check()
        self._texts.check()
        self._forms.check()
        wrong_one = wrong_document(self._sentence_bits, starts) if self.has_sentences else None
        if wrong_one is not None:
            raise self._corruption(f"the sentences of document {wrong_one} do not span it")

    def _check_break_bytes(self) -> None:
        """Raise CorruptionError unless the places of breaks in texts ascend in each document."""
        starts = self.starts[1:]
        documents = np.searchsorted(starts, self.break_positions, side="right")
        if ((np.diff(self._break_bytes) < 0) & (np.diff(documents) == 0)).any():
            raise self._corruption(f"its section {BREAK_BYTES} does not ascend within a document")

    def _check_directory(self, tokens: NDArray[Any]) -> None:
        tree, rest = key_directory(tokens, self.rows, lcp_width=self.lcp_width)
        same = np.array_equal(tree, self._container.array("directory.tree")) and np.array_equal(
            rest, self._container.array("directory.rest")
        )
        if not same:
            raise self._corruption("its directory does not match its suffix array")

    def _check_sizes(self) -> None:
        """Raise CorruptionError unless sections have the types and lengths that the counts imply."""
        for name, types, n in (
            ("tokens", ("u1", "u2", "u4"), self._n_symbols),
            ("suffix_array", ("u4",), self.n_tokens),
            ("documents.starts", ("u4",), self.n_documents + 1),
            (BREAKS, ("u4",), self.n_breaks),
        ):
            if name == BREAKS and not self._container.has(BREAKS):
                continue
            place = self._place(name)
            found = place.length // item_size(place.dtype)
            if place.dtype not in types or found != n:
                expected = f"{n} of type {' or '.join(types)}"
                raise self._corruption(
                    f"section {name} has {found} values of type {place.dtype}, not {expected}"
                )
        if not 0 <= self.first_doc_id <= 2**63 - 1 - self.n_documents:
            raise self._corruption(f"its first document's id is {self.first_doc_id}")

    def _place(self, name: str) -> Section:
        place = self._container.sections.get(name)
        if place is None:
            raise self._corruption(f"section {name} is missing")
        return place

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


# ---- How much of this process's memory is in large pages.


# The sums over all of the process's memory; Linux only.
_SUMS = "/proc/self/smaps_rollup"


def bytes_in_large_pages() -> int | None:
    """Return the bytes that the system holds in pages of megabytes; None if it does not report them.

    The system uses such pages for arrays while it has some left. Cost: milliseconds per gigabyte of memory.
    """
    try:
        with open(_SUMS, encoding="ascii") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name == "AnonHugePages":
            return int(value.removesuffix("kB")) * 1024
    return None


# ---- The kinds of segments: how the segment that a manifest entry names is opened.
#
# An entry's file is a container of the database, whatever the kind; a kind whose data lies elsewhere keeps
# there what it needs to find it.


class Kind(NamedTuple):
    """A kind of segments.

    `name` is the one in manifests: small letters, digits and hyphens; `container` the four letters of its
    files. `open(container, path, doc_id_offset)` makes the segment, whose ids include the offset; it may
    raise CorruptionError.
    """

    name: str
    container: str
    open: Callable[[Container, str, int], Segment]


_KINDS = {NATIVE: Kind(NATIVE, KIND, NativeSegment)}


def register(kind: Kind) -> None:
    """Make a kind known to this process. Raises ValueError when another one has its name."""
    if _KINDS.setdefault(kind.name, kind) != kind:
        raise ValueError(f"another kind of segment is named {kind.name!r}")


def kind_named(name: str, path: str) -> Kind:
    """Return the kind of the segment at `path`. Raises FormatVersionError if it is unknown."""
    kind = _KINDS.get(name)
    if kind is None:
        known = ", ".join(sorted(_KINDS))
        raise FormatVersionError(
            f"{path}: unknown kind of segment {name!r}; this ngramdb supports {known}; "
            "use a version that supports it",
            path=path,
            found=name,
            supported=tuple(sorted(_KINDS)),
        )
    return kind
