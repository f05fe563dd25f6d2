"""What stands to the left and to the right of a match, and the match itself, as the document's text has them.

`left + match + right` is a piece of the text: where tokens spell it, their bytes; where it is known which
characters of the stored text each token stands for, a slice of that; else what the tokenizer shows for the
ids.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb.conditions.stored_text import solid, token_places
from ngramdb.conditions.text_search import Sought, places_in_tokens
from ngramdb.diacritics import first_cut, last_cut
from ngramdb.executor.kwic.sort_keys import ShownPlaces
from ngramdb.executor.questions.document_columns import document_text
from ngramdb.patterns import Pattern, StoredText, Variants
from ngramdb.segments.base import Segment
from ngramdb.tokenizers.base import Tokenizer

# Documents whose words are kept, and how many words of them together (some 24 bytes each).
MOST_RECENT = 4096
MOST_RECENT_TOKENS = 1 << 20
# Tokens next to a window that complete a letter at its edge: an emoji of four people has 25 bytes.
AROUND = 32
BEYOND_ASCII = b"\x80"


class Line(NamedTuple):
    """Where a match stands: tokens [start, stop) of a document; the `nth` of those that begin at `start`.

    `before` and `after` are how many tokens are shown on either side, as far as the document has them.

    Matches that begin in one token are numbered in the order of the text. Those of several strings have
    `cuts` instead, how much of the first and of the last token is not the match's (`Occurrences.cuts`).
    """

    document: int
    start: int
    stop: int
    nth: int
    before: int
    after: int
    cuts: tuple[int, int] | None = None


class Shown(NamedTuple):
    """The three texts of a line of KWIC; joined, a piece of the document."""

    left: str
    match: str
    right: str


def sought_text(pattern: Pattern | None) -> Sought | None:
    """What finds the matches of a pattern that may begin or end within a token; None where tokens match."""
    sought = pattern.sought if isinstance(pattern, Variants) else pattern
    return Sought(sought) if isinstance(sought, StoredText) else None


class Display:
    """How the lines of a statement are shown: with nothing beside matches where `bare`."""

    def __init__(self, tokenizer: Tokenizer, bare: bool, pattern: Pattern | None) -> None:
        self.tokenizer = tokenizer
        self.bare = bare
        self.sought = sought_text(pattern)


class Contexts(ABC):
    """Shows the lines of one segment."""

    def __init__(self, segment: Segment, display: Display) -> None:
        self._segment = segment
        self._display = display
        self._tokenizer = display.tokenizer
        self._bare = display.bare
        self._sought = display.sought

    @abstractmethod
    def show(self, line: Line) -> Shown:
        """The three pieces of text."""

    @abstractmethod
    def place(self, line: Line) -> tuple[int, int] | None:
        """Return the match's characters [start, stop) in the document's text as DOCS shows it.

        The result is None if the text now has other tokens than when it was loaded. Callers pass lines in the
        order of the text. Cost: a pass over the text for each document.
        """

    def _ids(self, line: Line, n_around: int = 0) -> tuple[NDArray[np.uint32], int, int]:
        """The tokens of match and contexts, and where among them the match starts and stops.

        `n_around` : the number of further tokens read on either side, fewer at the document's ends
        """
        first = max(0, line.start - line.before - n_around)
        ids = self._segment.index.document_tokens(line.document, first, line.stop + line.after + n_around)
        return ids, line.start - first, line.stop - first


def contexts_of(segment: Segment, display: Display) -> Contexts:
    """The way to show lines of a segment that its tokenizer allows."""
    tokenizer = display.tokenizer
    if tokenizer.token_bytes is not None or tokenizer.kind == "chars":
        return SpelledContexts(segment, display)
    if tokenizer.spellings is not None or tokenizer.has_places:
        return StoredContexts(segment, display)
    return DecodedContexts(segment, display)


class DecodedContexts(Contexts):
    """Tokens as the tokenizer shows them: token ids, or a tokenizer that changes what it reads."""

    def __init__(self, segment: Segment, display: Display) -> None:
        super().__init__(segment, display)
        self._text: tuple[int, str] = (-1, "")

    def place(self, line: Line) -> tuple[int, int] | None:
        """Return the match's characters; the cost is that of decoding everything before the match."""
        if self._text[0] != line.document:
            shown = document_text(self._segment, line.document, self._tokenizer)
            self._text = (line.document, shown)
        left, match, _ = self.show(line._replace(before=line.start, after=0))
        start, stop = len(left), len(left) + len(match)
        return (start, stop) if self._text[1][start:stop] == match else None

    def show(self, line: Line) -> Shown:
        ids, start, stop = self._ids(line)
        whole = self._tokenizer.decode(ids)
        match = self._tokenizer.decode(ids[start:stop])
        left, right = self._tokenizer.decode(ids[:start]), self._tokenizer.decode(ids[stop:])
        # What stands between two tokens belongs to the context.
        if whole.startswith(left) and whole.endswith(right):
            middle = whole[len(left) : len(whole) - len(right)]
            before, found, behind = middle.partition(match) if match else (middle, "", "")
            if found:
                return Shown(left + before, match, behind + right)
        return Shown(left, match, right)


class SpelledContexts(Contexts):
    """Tokens whose bytes, one after the other, are the text."""

    def __init__(self, segment: Segment, display: Display) -> None:
        super().__init__(segment, display)
        self._joining: dict[int, bool] = {}
        # The document of the last place, a token of it, and the bytes before that.
        self._document, self._token, self._n_bytes = -1, 0, 0
        self._places = ShownPlaces(b"")

    def place(self, line: Line) -> tuple[int, int]:
        """Return the match's characters."""
        ids = self._segment.document(line.document)
        if self._document != line.document:
            self._places = ShownPlaces(self._spelled(ids))
            self._document, self._token, self._n_bytes = line.document, 0, 0
        self._n_bytes += len(self._spelled(ids[self._token : line.start]))
        self._token = line.start
        tokens = ids[line.start : line.stop]
        match = self._spelled(tokens)
        within = self._within(line, match, tokens)
        return self._places.of_bytes(self._n_bytes + within.start, self._n_bytes + within.stop)

    def show(self, line: Line) -> Shown:
        ids, start, stop = self._ids(line, AROUND)
        first, last = max(0, start - line.before), stop + line.after
        left, match, right = map(self._spelled, (ids[first:start], ids[start:stop], ids[stop:last]))
        place = self._within(line, match, ids[start:stop])
        left, match, right = left + match[: place.start], match[place], match[place.stop :] + right
        # Read only if a letter may be cut: spelling takes most of the time of a line.
        ahead = self._spelled(ids[:first]) if left >= BEYOND_ASCII else b""
        behind = self._spelled(ids[last:]) if right and self._may_join(ids[last : last + 1]) else b""
        return Shown(_completed_left(ahead, left), _text(match), _completed_right(right, behind))

    def _within(self, line: Line, content: bytes, ids: NDArray[np.uint32]) -> slice:
        """Return the part of its tokens' bytes that is the match."""
        if self._sought is not None:
            # The string begins in the first token. Of the places that do, some may end before the last one:
            # those of the lines before this one.
            first_ends = len(self._spelled(ids[:1]))
            places = places_in_tokens(self._sought, content, first_ends, 0)
            return next(islice(places, line.nth, None), slice(0, len(content)))
        before, after = line.cuts or (0, 0)
        return slice(before, len(content) - after)

    def _may_join(self, token: NDArray[np.uint32]) -> bool:
        """Return False for a token that begins with an ASCII character, and for none."""
        for one in token.tolist():
            if one not in self._joining:
                self._joining[one] = self._spelled(token) >= BEYOND_ASCII
            return self._joining[one]
        return False

    def _spelled(self, ids: NDArray[np.uint32]) -> bytes:
        content = self._tokenizer.decode_exact(ids)
        return self._tokenizer.decode(ids).encode() if content is None else content


class Words(NamedTuple):
    """Where the words of a document stand in its text, in characters.

    starts, stops : (n,) int64, of each token
    matches : (m,) int64, where the sought string begins
    first : (len(matches),) int64, the token in which each match begins
    """

    text: str
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    matches: NDArray[np.int64]
    first: NDArray[np.int64]


class StoredContexts(Contexts):
    """Tokens, and the places in the stored text that they were made of."""

    def __init__(self, segment: Segment, display: Display) -> None:
        super().__init__(segment, display)
        self._decoded = DecodedContexts(segment, display)
        # The documents read last, since lines sorted by their contexts come back to the same ones.
        self._recent: OrderedDict[int, Words | None] = OrderedDict()
        self._n_recent_tokens = 0
        # The document of the last place, and the places in it.
        self._placed: tuple[int, ShownPlaces] = (-1, ShownPlaces(b""))

    def show(self, line: Line) -> Shown:
        words = self._words(line.document)
        if words is None:
            return self._decoded.show(line)
        text, (begin, start, stop, end) = words.text, self._bounds(line, words)
        return Shown(*(_shown(part) for part in (text[begin:start], text[start:stop], text[stop:end])))

    def place(self, line: Line) -> tuple[int, int] | None:
        """Return the match's characters."""
        words = self._words(line.document)
        if words is None:
            return self._decoded.place(line)
        if self._placed[0] != line.document:
            content = words.text.encode("utf-8", "surrogateescape")
            self._placed = (line.document, ShownPlaces(content))
        _, start, stop, _ = self._bounds(line, words)
        return self._placed[1].of_characters(start, stop)

    def _bounds(self, line: Line, words: Words) -> tuple[int, int, int, int]:
        """Return the places in the stored text that bound a line and its match: begin, start, stop, end."""
        text = words.text
        if not len(
            words.starts
        ):  # white space alone, or nothing that the tokenizer keeps: none are beside it
            if self._sought is None and line.cuts is not None:
                start, stop = line.cuts[0], len(text) - line.cuts[1]
            else:
                start, stop = self._match(words, min(line.nth, len(words.matches) - 1))
            return 0, start, stop, len(text)
        start, stop = int(words.starts[line.start]), int(words.stops[line.stop - 1])
        if self._sought is not None:
            first, last = np.searchsorted(words.first, [line.start, line.start + 1]).tolist()
            if line.nth < last - first:
                start, stop = self._match(words, first + line.nth)
        elif line.cuts is not None:
            start, stop = start + line.cuts[0], stop - line.cuts[1]
        elif self._tokenizer.has_places and start < stop:
            # A token may have the blank before it: that belongs to the context.
            inner = np.flatnonzero(solid(text[start:stop]))
            if len(inner):
                start, stop = start + int(inner[0]), start + int(inner[-1]) + 1
        first, last = line.start - line.before, line.stop + line.after
        begin = 0 if first <= 0 else int(words.starts[first])
        end = len(text) if last >= len(words.starts) else int(words.stops[last - 1])
        if self._bare:
            return start, start, stop, stop
        begin = last_cut(text, begin) if begin < start else start
        end = first_cut(text, end) if stop < end else stop
        return begin, start, stop, end

    def _match(self, words: Words, number: int) -> tuple[int, int]:
        """The characters of a match, if there is one."""
        if number < 0 or self._sought is None:
            return 0, 0
        start = int(words.matches[number])
        return start, start + self._sought.length

    def _words(self, document: int) -> Words | None:
        if document in self._recent:
            self._recent.move_to_end(document)
            return self._recent[document]
        words = self._recent[document] = self._read(document)
        self._n_recent_tokens += _n_tokens(words)
        while len(self._recent) > MOST_RECENT or (
            self._n_recent_tokens > MOST_RECENT_TOKENS and len(self._recent) > 1
        ):
            self._n_recent_tokens -= _n_tokens(self._recent.popitem(last=False)[1])
        return words

    def _read(self, document: int) -> Words | None:
        """The words of a document, None where they cannot be found. Cost: a pass over its characters."""
        content = self._segment.text(document, self._tokenizer)
        if content is None:
            return None
        text = content.decode("utf-8", "surrogateescape")
        places = token_places(self._segment, self._tokenizer, document, text)
        if places is None:
            return None  # not the text of these tokens; they are shown themselves
        starts, stops = places
        matches = np.empty(0, dtype=np.int64)
        first = np.empty(0, dtype=np.int64)
        if self._sought is not None:
            matches = self._sought.starts(text)
            first = np.minimum(np.searchsorted(stops, matches, side="right"), max(len(starts) - 1, 0))
        return Words(text, starts, stops, matches, first)


def _n_tokens(words: Words | None) -> int:
    return 0 if words is None else len(words.starts)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")


def _shown(text: str) -> str:
    """A slice of text whose bytes that are not UTF-8 were kept as surrogates."""
    return (
        text
        if text.isascii()
        else text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    )


def _completed_left(ahead: bytes, content: bytes) -> str:
    """Return a left context, with the part of its first character or letter that is before it in `ahead`."""
    joined, start = ahead + content, len(ahead)
    while start > max(0, len(ahead) - 3) and joined[start] & 0xC0 == 0x80:
        start -= 1
    # Without the part of a character at its beginning.
    before, text = joined[:start].decode("utf-8", "ignore"), _text(joined[start:])
    return (before + text)[last_cut(before + text, len(before)) :]


def _completed_right(content: bytes, behind: bytes) -> str:
    """Return a right context, with the part of its last character or letter that is after it in `behind`."""
    joined, stop = content + behind, len(content)
    while stop < min(len(joined), len(content) + 3) and joined[stop] & 0xC0 == 0x80:
        stop += 1
    text, after = _text(joined[:stop]), _text(joined[stop:])
    return (text + after)[: first_cut(text + after, len(text))]
