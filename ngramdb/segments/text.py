"""Original text of the documents that decoding their tokens does not give back, compressed.

All stored texts in a row make one stream of bytes, cut into frames of FRAME_BYTES and compressed each by
itself, so that one document costs the frames it lies in. Four sections, absent when no document needs its
text stored:

    text.frames         u1  the Zstandard frames (with content size and checksum), one after the other
    text.frame_offsets  u8  the offset of each frame in text.frames, and the end of the last one
    text.offsets        u8  the offset of each document's text in the stream, and the end of the last one
    text.stored         u1  bitmap, least significant bit first: document i has stored text (it may be empty)

Invariant: every frame but the last holds FRAME_BYTES; a document without stored text has length zero.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import CorruptionError
from ngramdb.fork_safety import cached_property
from ngramdb.segments.base import Numbers, Part, Segment, chunks, runs
from ngramdb.segments.container.layout import piece_offsets
from ngramdb.segments.recent import Recent

if TYPE_CHECKING:
    from zstandard import ZstdCompressor


# Uncompressed bytes of a frame. 64 KiB made the column 3 % larger; 1 MiB made it 7 % smaller, and reading one
# short document 2.5 times slower.
FRAME_BYTES = 1 << 18
# The library's default; level 9 took 5 times as long to save 9 %.
ZSTD_LEVEL = 3

# Bytes of frames that are kept for all readers: a statement may need the text of a match several times, and
# the next one may need it, too.
KEPT_BYTES = 1 << 24

#: The sections of a column, and the types of their entries.
_TYPES = {"frames": "<u1", "frame_offsets": "<u8", "offsets": "<u8", "stored": "<u1"}

Sections = dict[str, tuple[NDArray[Any], str]]


class SectionSource(Protocol):
    """The part of a container that a reader uses."""

    def has(self, name: str, /) -> bool: ...

    def array(self, name: str, /) -> NDArray[Any]: ...

    def sliced(self, name: str, /) -> NDArray[Any]: ...

    def verify_part(self, name: str, start: int, stop: int, /) -> None: ...


class SectionWriter(Protocol):
    """The part of a container that a writer uses."""

    def begin(self, name: str, dtype: str = ..., /) -> None: ...

    def write(self, chunk: bytes, /) -> None: ...

    def end(self) -> None: ...

    def add(self, name: str, data: NDArray[Any], dtype: str, /) -> None: ...


class TextBuilder:
    """Collects the texts of a segment's documents; keeps them compressed only.

    Cost: memory of the compressed text, 8 bytes per document, and one frame.
    """

    def __init__(self, prefix: str = "text", on_frame: Callable[[bytes], None] | None = None) -> None:
        """`prefix` is that of the sections' names: other columns of bytes are stored in the same way.

        Frames are passed to `on_frame`, if given, and not kept.
        """
        self.prefix = prefix
        self._on_frame = on_frame
        self._frames = bytearray()
        self._frame_offsets = array("Q", [0])
        self._pending = bytearray()
        self._offsets = array("Q", [0])
        self._stored = bytearray()

    @property
    def n_bytes(self) -> int:
        """Bytes of memory held, about."""
        return len(self._frames) + len(self._pending) + 8 * len(self._offsets)

    def add(self, text: bytes | None) -> None:
        """Add the next document; None means that its text need not be stored."""
        self._stored.append(text is not None)
        if text:
            self._append(text)
        self._offsets.append(self._offsets[-1] + len(text or b""))

    def extend(self, texts: Sequence[bytes | None]) -> None:
        """Add the next documents, one after the other."""
        if texts.count(None) == len(texts):  # as a rule, where ids give texts back
            self._stored += bytes(len(texts))
            self._offsets.extend([self._offsets[-1]] * len(texts))
            return
        for text in texts:
            self.add(text)

    def sections(self) -> Sections:
        """Return the sections to write and their types; none when no text was stored. Ends the building.

        The array of frames is empty if `on_frame` received them.
        """
        if not any(self._stored):
            return {}
        if self._pending:
            self._compress(bytes(self._pending))
            self._pending.clear()
        stored = np.packbits(np.frombuffer(self._stored, dtype=np.uint8), bitorder="little")
        return {
            f"{self.prefix}.frames": (np.frombuffer(self._frames, dtype=np.uint8), "u1"),
            f"{self.prefix}.frame_offsets": (np.array(self._frame_offsets, dtype="<u8"), "u8"),
            f"{self.prefix}.offsets": (np.array(self._offsets, dtype="<u8"), "u8"),
            f"{self.prefix}.stored": (stored, "u1"),
        }

    def write(self, writer: SectionWriter) -> None:
        """Write the sections, if there are any. Ends the building."""
        for name, (data, dtype) in self.sections().items():
            writer.add(name, data, dtype)

    def _append(self, text: bytes) -> None:
        # Slices of a view: a document of a gigabyte is not copied whole.
        view = memoryview(text)
        start = 0
        while len(self._pending) + len(view) - start >= FRAME_BYTES:
            stop = start + FRAME_BYTES - len(self._pending)
            if self._pending:
                self._pending += view[start:stop]
                self._compress(self._pending)
                self._pending = bytearray()
            else:
                self._compress(view[start:stop])
            start = stop
        self._pending += view[start:]

    @cached_property
    def _compressor(self) -> ZstdCompressor:
        # Imported when texts are stored, not when a segment is opened.
        import zstandard

        return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True)

    def _compress(self, content: bytes | bytearray | memoryview) -> None:
        frame = self._compressor.compress(content)
        if self._on_frame is None:
            self._frames += frame
        else:
            self._on_frame(frame)
        self._frame_offsets.append(self._frame_offsets[-1] + len(frame))


class TextStream:
    """A column that is written while its texts come: the sections of a TextBuilder in the memory of a frame.

    Cost: 8 more bytes per document.
    """

    def __init__(self, texts: Iterable[Sequence[bytes | None]], prefix: str = "text") -> None:
        """Take lists with each document's text, or None if it is not stored; read once, when written."""
        self._texts = texts
        self._prefix = prefix

    def write(self, writer: SectionWriter) -> None:
        """Write the sections, if there is any text."""
        frames = f"{self._prefix}.frames"
        has_begun = False

        def put(frame: bytes) -> None:
            nonlocal has_begun
            if not has_begun:
                writer.begin(frames, "u1")
                has_begun = True
            writer.write(frame)

        builder = TextBuilder(self._prefix, put)
        for texts in self._texts:
            builder.extend(texts)
        sections = builder.sections()
        if has_begun:
            writer.end()
            del sections[frames]
        for name, (data, dtype) in sections.items():
            writer.add(name, data, dtype)


_FRAMES: Recent[bytes] = Recent(KEPT_BYTES)
_READERS = count()


class TextReader:
    """Gives back the stored texts of a segment. Opening costs nothing that grows with the segment.

    Threads may share a reader.
    """

    def __init__(
        self, sections: SectionSource, n_documents: int, path: str = "", prefix: str = "text"
    ) -> None:
        """Read from a container's sections whose names begin with `prefix`; `path` names the file in errors.

        Raises CorruptionError when the sections do not fit each other or the number of documents.
        """
        self._path = path
        self._n_documents = n_documents
        self._has_text = sections.has(f"{prefix}.offsets")
        # The last frame used and its number: listing documents in order decompresses every frame once.
        self._last: tuple[int, bytes] = (-1, b"")
        self._number = next(_READERS)
        if not self._has_text:
            return
        # The frames in use are verified one by one.
        arrays = {
            name: (sections.sliced if name == "frames" else sections.array)(f"{prefix}.{name}")
            for name in _TYPES
        }
        self._verify = partial(sections.verify_part, f"{prefix}.frames")
        for name, dtype in _TYPES.items():
            self._expect(f"the type of {prefix}.{name}", np.dtype(dtype), arrays[name].dtype)
        self._frames, self._frame_offsets = arrays["frames"], arrays["frame_offsets"]
        self._offsets, self._stored = arrays["offsets"], arrays["stored"]
        self._expect("entries in text.offsets", n_documents + 1, len(self._offsets))
        self._expect("bytes in text.stored", (n_documents + 7) // 8, len(self._stored))
        self._n_bytes = int(self._offsets[-1])
        n_frames = -(-self._n_bytes // FRAME_BYTES)
        self._expect("entries in text.frame_offsets", n_frames + 1, len(self._frame_offsets))
        self._expect("the end of the last frame", len(self._frames), int(self._frame_offsets[-1]))

    def has_text(self, i: int) -> bool:
        """Return whether document i (from 0 in its segment) has stored text."""
        if not 0 <= i < self._n_documents:
            raise IndexError(f"document {i} of a segment of {self._n_documents}")
        return self._has_text and bool(self._stored[i >> 3] >> (i & 7) & 1)

    def text(self, i: int) -> bytes | None:
        """Return document i's text as it came, or None when it is not stored.

        Raises CorruptionError if the file is damaged; IndexError if document i does not exist.
        Cost: decompressing the frames that the text lies in, each 256 KiB (0.4 ms), unless they were used
        recently.
        """
        if not self.has_text(i):
            return None
        start, stop = int(self._offsets[i]), int(self._offsets[i + 1])
        if not start <= stop <= self._n_bytes:
            raise self._corruption(
                f"the text of document {i}", f"within {self._n_bytes} bytes", (start, stop)
            )
        pieces = []
        for k in range(start // FRAME_BYTES, -(-stop // FRAME_BYTES)):
            base = k * FRAME_BYTES
            pieces.append(self._frame(k)[max(start - base, 0) : stop - base])
        return b"".join(pieces) if stop > start else b""

    def check(self) -> None:
        """Verify every invariant and every frame; raises CorruptionError at the first that does not hold.

        Cost: decompresses everything.
        """
        if not self._has_text:
            return
        for name, offsets in (("text.offsets", self._offsets), ("text.frame_offsets", self._frame_offsets)):
            self._expect(f"the first entry of {name}", 0, int(offsets[0]))
            if np.any(offsets[1:] < offsets[:-1]):
                raise self._corruption(name, "ascending offsets", "a step backwards")
        stored = np.unpackbits(self._stored, bitorder="little", count=self._n_documents).astype(bool)
        if np.any(np.diff(self._offsets)[~stored]):
            raise self._corruption(
                "text.offsets", "length zero for a document without stored text", "a length above zero"
            )
        for k in range(len(self._frame_offsets) - 1):
            self._decompress(k)

    def _frame(self, k: int) -> bytes:
        number, content = self._last
        if number != k:
            kept = _FRAMES.get((self._number, k))
            content = self._decompress(k) if kept is None else kept
            _FRAMES.keep((self._number, k), content, len(content))
            self._last = (k, content)
        return content

    def _decompress(self, k: int) -> bytes:
        import zstandard

        start, stop = int(self._frame_offsets[k]), int(self._frame_offsets[k + 1])
        if not start <= stop <= len(self._frames):
            raise self._corruption(f"text frame {k}", f"within {len(self._frames)} bytes", (start, stop))
        self._verify(start, stop)
        frame = self._frames[start:stop].data
        n_bytes = min(FRAME_BYTES, self._n_bytes - k * FRAME_BYTES)
        try:
            # The library would allocate whatever size the frame claims.
            self._expect(f"bytes in text frame {k}", n_bytes, zstandard.frame_content_size(frame))
            # A decompressor of its own: threads may not share one.
            content = zstandard.ZstdDecompressor().decompress(frame)
        except zstandard.ZstdError as error:
            raise self._corruption(f"text frame {k}", "a Zstandard frame", str(error)) from error
        self._expect(f"bytes in text frame {k}", n_bytes, len(content))
        return content

    def _expect(self, what: str, expected: object, found: object) -> None:
        if expected != found:
            raise self._corruption(what, expected, found)

    def _corruption(self, what: str, expected: object, found: object) -> CorruptionError:
        return CorruptionError(
            f"{self._path or 'segment'}: damaged text column, {what}: expected {expected}, found {found}",
            path=self._path or None,
            expected=expected,
            found=found,
        )


# ---- Beginnings of sentences in a segment: a bit for each of its symbols, in the section `sentences`.
#
# Bit p, the least significant of a byte first, is set if a sentence begins with the token at p, and for the
# separators after a document and at its breaks. A document's first token begins one; so a document whose
# first bit is clear is one whose sentences are not known, and none of its bits is set.


SENTENCES = "sentences"

Flags = NDArray[np.bool_]
Bits = NDArray[np.uint8]

#: Symbols that are unpacked at a time.
PIECE = 1 << 22

#: Which tokens of documents (ascending numbers) of a segment begin a sentence: (m,) bool; None: not known.
Marker = Callable[[Segment, Numbers], Flags | None]


def with_separators(flags: Flags, offsets: NDArray[np.int64]) -> Flags:
    """Return the flags of the tokens of n pieces with those of the separator after each: (m + n,) bool.

    The first token of each piece begins a sentence.
    """
    n = len(offsets) - 1
    whole = np.ones(len(flags) + n, dtype=np.bool_)
    separators = offsets[1:] + np.arange(n)
    of_tokens = np.ones(len(whole), dtype=np.bool_)
    of_tokens[separators] = False
    whole[of_tokens] = flags
    whole[1:] |= ~of_tokens[:-1]
    return whole


class SentenceBuilder:
    """Collects the sentences of documents: a bit for each symbol, nothing as long as none are known."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._rest: Flags = np.empty(0, dtype=np.bool_)
        self._known = False
        self._n_unknown = 0  # symbols before the first sentence that is known

    def add(self, flags: Flags | None, offsets: NDArray[np.int64]) -> None:
        """Add pieces of documents.

        Token flags offsets[k]:offsets[k + 1] are those of piece k; None: not known.
        """
        n_symbols = int(offsets[-1]) + len(offsets) - 1
        if flags is not None:
            self.add_symbols(with_separators(flags, offsets))
        elif self._known:
            self.add_symbols(np.zeros(n_symbols, dtype=np.bool_))
        else:
            self._n_unknown += n_symbols

    def add_symbols(self, flags: Flags) -> None:
        """Add the flags of the next symbols, those of separators among them."""
        if not self._known:
            if not flags.any():
                self._n_unknown += len(flags)
                return
            self._known = True
            self._bytes = bytearray(self._n_unknown // 8)
            self._rest = np.zeros(self._n_unknown % 8, dtype=np.bool_)
        flags = np.concatenate([self._rest, flags])
        whole = len(flags) & ~7
        self._bytes += np.packbits(flags[:whole], bitorder="little").tobytes()
        self._rest = flags[whole:]

    def write(self, writer: SectionWriter) -> None:
        """Write the section, if the sentences of any document are known."""
        if self._known:
            self._bytes += np.packbits(self._rest, bitorder="little").tobytes()
            writer.add(SENTENCES, np.frombuffer(self._bytes, dtype=np.uint8), "u1")


class SentenceStream:
    """The sentences of documents that are carried over; `marker` finds those that no segment stores.

    Cost: a nanosecond per symbol, and the time of the marker. Memory: a bit per symbol.
    """

    def __init__(self, parts: Sequence[Part], marker: Marker | None) -> None:
        self._parts = parts
        self._marker = marker

    def write(self, writer: SectionWriter) -> None:
        """Write the section, if the sentences of any document are known."""
        if self._marker is None and not any(part.segment.has_sentences for part in self._parts):
            return
        builder = SentenceBuilder()
        for part in self._parts:
            for numbers in chunks(part):
                for flags in self._flags(part.segment, numbers):
                    builder.add_symbols(flags)
        builder.write(writer)

    def _flags(self, segment: Segment, numbers: Numbers) -> Iterator[Flags]:
        """Yield the flags of the symbols of documents, in pieces."""
        if segment.has_sentences and (self._marker is None or segment.sentences is not None):
            yield segment.sentence_flags(numbers)
            return
        flags = None if self._marker is None else self._marker(segment, numbers)
        if flags is not None:
            yield with_separators(flags, pieces_of(segment, numbers))
        elif segment.has_sentences:
            yield segment.sentence_flags(numbers)
        else:
            yield np.zeros(int(segment.n_symbols(numbers).sum()), dtype=np.bool_)


def flags_of(bits: Bits, ranges: Sequence[tuple[int, int]]) -> Flags:
    """Return the flags of ranges of symbols, one after the other."""
    found = [np.empty(0, dtype=np.bool_)]
    for start, stop in ranges:
        piece = np.unpackbits(bits[start // 8 : (stop + 7) // 8], bitorder="little").view(np.bool_)
        found.append(piece[start % 8 : start % 8 + stop - start])
    return np.concatenate(found)


def token_flags(segment: Segment, numbers: Numbers) -> Flags:
    """Return which tokens of documents (ascending numbers, sentences known) begin a sentence: (m,) bool."""
    bits = segment.sentences
    assert bits is not None, "callers check that the sentences of all documents are known"
    firsts, lasts = np.array(list(runs(numbers)), dtype=np.uint32).reshape(-1, 2).T
    starts = segment.index.document_bounds(np.ascontiguousarray(firsts))[0]
    stops = segment.index.document_bounds(np.ascontiguousarray(lasts))[1]
    flags = flags_of(bits, [(a, b + 1) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)])
    pieces = pieces_of(segment, numbers)
    return np.delete(flags, pieces[1:] + np.arange(len(pieces) - 1))


def pieces_of(segment: Segment, numbers: Numbers) -> NDArray[np.int64]:
    """Return the offsets of documents' pieces in their concatenated tokens: (n + 1,) int64.

    numbers : the documents, ascending
    """
    offsets = np.concatenate([[0], np.cumsum(segment.lengths(numbers))]).astype(np.int64)
    return piece_offsets(offsets, segment.breaks_of(numbers).tokens)


def are_known(bits: Bits, starts: NDArray[Any]) -> bool:
    """Return True if the sentences of all documents, which begin at `starts`, are known."""
    places = starts.astype(np.int64)
    return bool(((bits[places // 8] >> (places % 8).astype(np.uint8)) & 1).all())


def wrong_document(bits: Bits, starts: NDArray[Any]) -> int | None:
    """Return the first document whose bits violate the invariant above, or None.

    `starts` has one more entry, the number of symbols. Cost: a pass over the bits.
    """
    first = 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, int(starts[first]) + PIECE, side="right")) - 1
        last = min(max(last, first + 1), len(starts) - 1)
        begin = int(starts[first])
        flags = flags_of(bits, [(begin, int(starts[last]))])
        places = starts[first : last + 1].astype(np.int64) - begin
        known = flags[places[:-1]]
        n_set = np.add.reduceat(flags, places[:-1], dtype=np.int64)
        wrong = np.where(known, ~flags[places[1:] - 1], n_set > 0)
        if wrong.any():
            return first + int(np.argmax(wrong))
        first = last
    return None
