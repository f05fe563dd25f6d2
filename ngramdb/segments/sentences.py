"""Beginnings of sentences in a segment: a bit for each of its symbols, in the section `sentences`.

Bit p, the least significant of a byte first, is set if a sentence begins with the token at p, and for the
separator after a document. A document's first token begins one; so a document whose first bit is clear is one
whose sentences are not known, and none of its bits is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.segments.base import Numbers, Segment
from ngramdb.segments.parts import Part, chunks, runs
from ngramdb.segments.text import SectionWriter

SENTENCES = "sentences"

Flags = NDArray[np.bool_]
Bits = NDArray[np.uint8]

#: Symbols that are unpacked at a time.
PIECE = 1 << 22

#: Which tokens of documents (ascending numbers) of a segment begin a sentence: (m,) bool; None: not known.
Marker = Callable[[Segment, Numbers], Flags | None]


def with_separators(flags: Flags, offsets: NDArray[np.int64]) -> Flags:
    """Return the flags of documents' tokens with that of the separator after each: (m + n,) bool."""
    n = len(offsets) - 1
    whole = np.ones(len(flags) + n, dtype=np.bool_)
    separators = offsets[1:] + np.arange(n)
    of_tokens = np.ones(len(whole), dtype=np.bool_)
    of_tokens[separators] = False
    whole[of_tokens] = flags
    return whole


class SentenceBuilder:
    """Collects the sentences of documents: a bit for each symbol, nothing as long as none are known."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._rest: Flags = np.empty(0, dtype=np.bool_)
        self._known = False
        self._n_unknown = 0  # symbols before the first sentence that is known

    def add(self, flags: Flags | None, offsets: NDArray[np.int64]) -> None:
        """Add documents: token flags offsets[k]:offsets[k + 1] are those of document k; None: not known."""
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

    Cost: a nanosecond a symbol, and what the marker takes. Memory: a bit a symbol.
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
        offsets = np.concatenate([[0], np.cumsum(segment.lengths(numbers))]).astype(np.int64)
        flags = None if self._marker is None else self._marker(segment, numbers)
        if flags is not None:
            yield with_separators(flags, offsets)
        elif segment.has_sentences:
            yield segment.sentence_flags(numbers)
        else:
            yield np.zeros(int(offsets[-1]) + len(numbers), dtype=np.bool_)


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
    separators = np.cumsum(segment.lengths(numbers) + 1) - 1
    return np.delete(flags, separators)


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
