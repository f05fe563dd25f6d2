"""Limits of cuts by the clauses of CUT: borders of words and lines, gaps, and documents with little left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb.conditions.byte_places import bytes_before
from ngramdb.conditions.stored_text import solid
from ngramdb.curation.windows import Ranges, texts, united
from ngramdb.segments.base import Segment

Places = NDArray[np.int64]
Marks = NDArray[np.bool_]

#: Borders that cuts may be limited to, beside characters (ON).
BORDERS = ("characters", "words", "lines")

_NEWLINE = 10
# A difference of shares of tokens below this is a rounding error.
_ROUNDING = 1e-7


class CutRule(NamedTuple):
    """The limits of the cuts of a document.

    on : the borders at which cuts begin and end, of BORDERS
    gap_share : a stretch that begins and ends with a cut is cut as a whole if at least this share of its
        tokens is; None for no such stretches
    min_rest : the least share of a document's tokens that must be left, or it is cut as a whole
    max_pieces : the most pieces that a document may consist of, or it is cut as a whole; None for any number
    replacement : the text that replaces each cut, as a piece of its own; None for no text
    """

    on: str = "characters"
    gap_share: float | None = None
    min_rest: float = 0.0
    max_pieces: int | None = None
    replacement: str | None = None

    def label(self) -> str:
        """Return the clauses as in a statement, without those that are not given."""
        given = (
            (f"on {self.on}", self.on != "characters"),
            (f"gap share {self.gap_share}", self.gap_share is not None),
            (f"min rest {self.min_rest}", self.min_rest > 0),
            (f"max pieces {self.max_pieces}", self.max_pieces is not None),
            (f"replace {self.replacement!r}", self.replacement is not None),
        )
        return "".join(f"; {clause}" for clause, is_given in given if is_given)

    def takes_all(self, n_tokens: int, n_cut: int, n_pieces: int) -> bool:
        """Return True if a document of `n_tokens` with these cuts is cut as a whole."""
        if n_tokens - n_cut < self.min_rest * n_tokens - _ROUNDING:
            return True
        return self.max_pieces is not None and n_pieces > self.max_pieces


ON_CHARACTERS = CutRule()


class TextCuts(NamedTuple):
    """The text of a document, and the first byte and the end of each of its tokens: (n,) int64 each."""

    content: bytes
    begins: Places
    ends: Places


def on_borders(starts: Places, stops: Places, text: TextCuts, on: str) -> tuple[Places, Places]:
    """Return cuts (ascending, disjoint) that begin and end on borders.

    They grow to whole characters, but shrink to whole words and lines; those without a whole word or line
    are dropped. Words are what is between white space; the one before a cut and the one after it stay apart.
    A line ends after its newline, or before it if that is not cut.
    """
    if on == "characters":
        return _grown(starts, stops, _between_characters(text))
    if on == "words":
        clean = _between_words(text)
        return words_apart(*_shrunk(starts, stops, clean, clean), text)
    return _shrunk(starts, stops, *_between_lines(text))


def words_apart(starts: Places, stops: Places, text: TextCuts) -> tuple[Places, Places]:
    """Return cuts that leave white space between the words around them, and have a word.

    starts, stops : between words

    A cut with the white space on both sides gives up one of them, and as few tokens as that takes.
    """
    n = len(text.begins)
    blank = _blank(text)
    before, behind = np.ones(n + 1, dtype=np.bool_), np.ones(n + 1, dtype=np.bool_)
    before[1:-1], behind[1:] = blank[text.begins[1:] - 1], blank[text.ends]
    clean = _between_words(text)
    is_joined = ~before[starts] & ~behind[stops]
    begins, ends = np.flatnonzero(clean & before), np.flatnonzero(clean & behind)
    later = np.append(begins, n)[np.searchsorted(begins, starts, side="left")]
    earlier = np.insert(ends, 0, 0)[np.searchsorted(ends, stops, side="right")]
    is_later = is_joined & (stops - later > earlier - starts)
    starts, stops = np.where(is_later, later, starts), np.where(is_joined & ~is_later, earlier, stops)
    some = starts < stops
    starts, stops = starts[some], stops[some]
    n_solid = np.concatenate([[0], np.cumsum(~blank)])
    some = n_solid[text.ends[stops - 1]] > n_solid[text.begins[starts]]
    return starts[some], stops[some]


def _shrunk(starts: Places, stops: Places, opening: Marks, closing: Marks) -> tuple[Places, Places]:
    begins, ends = np.flatnonzero(opening), np.flatnonzero(closing)
    starts = np.append(begins, len(opening))[np.searchsorted(begins, starts, side="left")]
    stops = np.insert(ends, 0, 0)[np.searchsorted(ends, stops, side="right")]
    some = starts < stops
    return starts[some], stops[some]


def _grown(starts: Places, stops: Places, clean: Marks) -> tuple[Places, Places]:
    whole = np.flatnonzero(clean)
    starts = whole[np.searchsorted(whole, starts, side="right") - 1]
    stops = whole[np.searchsorted(whole, stops, side="left")]
    if not len(starts):
        return starts, stops
    first = np.append(True, starts[1:] > stops[:-1])
    return starts[first], stops[np.append(first[1:], True)]


def _between_characters(text: TextCuts) -> Marks:
    """Return whether the text may be cut before each token, and at its end: (n + 1,) bool."""
    data = np.frombuffer(text.content + b" ", dtype=np.uint8)
    clean = np.ones(len(text.begins) + 1, dtype=np.bool_)
    clean[:-1] = (data[text.begins] & 0xC0) != 0x80
    clean[1:] &= (data[text.ends] & 0xC0) != 0x80
    clean[1:-1] &= text.ends[:-1] <= text.begins[1:]
    return clean


def _blank(text: TextCuts) -> Marks:
    """Return whether each byte is white space, or the end of the text: (n bytes + 1,) bool."""
    decoded = text.content.decode("utf-8", "surrogateescape")
    return np.append(np.repeat(~solid(decoded), np.diff(bytes_before(decoded))), True)


def _between_words(text: TextCuts) -> Marks:
    """Return whether a cut may begin or end before each token, and at the end."""
    blank, clean = _blank(text), _between_characters(text)
    begins, ends = text.begins[1:], text.ends[:-1]
    clean[1:-1] &= blank[begins] | blank[begins - 1] | blank[ends]
    return clean


def _between_lines(text: TextCuts) -> tuple[Marks, Marks]:
    """Return the tokens before which a cut may begin, and those before which it may end."""
    is_end = np.frombuffer(text.content + b"\n", dtype=np.uint8) == _NEWLINE
    before = np.concatenate([[0], np.cumsum(is_end)])
    opening = _between_characters(text)
    closing = opening.copy()
    begins, ends = text.begins[1:], text.ends[:-1]
    after = before[begins] > before[np.maximum(ends - 1, 0)]
    opening[1:-1] &= after
    closing[1:-1] &= after | is_end[ends]
    return opening, closing


def bridged(starts: Places, stops: Places, share: float) -> tuple[Places, Places]:
    """Return cuts with each stretch from one to another as one if at least `share` of it is cut.

    starts, stops : ascending, disjoint

    Cost: O(n log n).
    """
    if not len(starts):
        return starts, stops
    before = np.concatenate([[0], np.cumsum(stops - starts)])
    # A stretch from cut i to cut j qualifies if at_stops[j] >= at_starts[i].
    at_starts = before[:-1] - share * starts - _ROUNDING
    at_stops = before[1:] - share * stops
    best_after = np.maximum.accumulate(at_stops[::-1])[::-1]
    lasts = np.searchsorted(-best_after, -at_starts, side="right") - 1
    reach = np.maximum.accumulate(np.maximum(lasts, np.arange(len(starts))))
    first = np.append(True, np.arange(1, len(starts)) > reach[:-1])
    return starts[first], stops[reach[np.append(first[1:], True)]]


def with_context(segment: Segment, spans: Ranges, n: int) -> Ranges:
    """Return the union of spans with `n` tokens on either side of each, within its piece of the document.

    spans : ascending by start; they may overlap
    """
    some = spans.stops > spans.starts
    spans = Ranges(spans.starts[some], spans.stops[some])
    if not n or not len(spans.starts):
        return united(spans)
    docs = np.unique(segment.index.documents_at(spans.starts)).astype(np.uint32)
    pieces = [(places, places + np.diff(offsets)) for _, offsets, places in texts(segment, docs)]
    firsts, lasts = (np.concatenate(column) for column in zip(*pieces, strict=True))
    starts, stops = spans.starts.astype(np.int64), spans.stops.astype(np.int64)
    owners = np.searchsorted(firsts, starts, side="right") - 1
    starts, stops = np.maximum(starts - n, firsts[owners]), np.minimum(stops + n, lasts[owners])
    return united(Ranges(starts.astype(np.uint32), stops.astype(np.uint32)))
