"""The texts of KWIC's lines: a match, and its left and right context, as slices of the document's text.

`left + match + right` is a slice of the text: the bytes of its tokens if these spell the text, a slice of the
stored text if the characters of each token are known, and the output of the tokenizer's decoder otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.stored_text import Sought, places_in_tokens, solid, token_places
from ngramdb.diacritics import first_cut, last_cut
from ngramdb.patterns import Pattern, StoredText, Variants
from ngramdb.questions.document_columns import document_text
from ngramdb.questions.kwic_edges import (
    EDGE_CHARACTERS,
    Edges,
    LinePlaces,
    Side,
    beginning,
    spelled_rows,
    tokens_beside,
    variants_of,
)
from ngramdb.segments.base import Segment
from ngramdb.source import IntArray
from ngramdb.tokenizers.base import Tokenizer

# Limits of the cache of documents' words: documents, and words of all of them (some 24 bytes each).
MOST_RECENT = 4096
MOST_RECENT_TOKENS = 1 << 20
# Tokens next to a window that complete a letter at its edge: an emoji of four people has 25 bytes.
AROUND = 32
BEYOND_ASCII = b"\x80"
# Matches of more tokens are compared by their shown texts at once, this many between two interrupt checks.
MOST_IN_EDGES = 64
CHECK_LINES = 256


class Line(NamedTuple):
    """The place of a match: tokens [start, stop) of a document; the `nth` match that begins at `start`.

    `before` and `after` are the numbers of tokens shown on either side, fewer at the document's ends. They
    do not reach beyond a break.

    Matches that begin in the same token are numbered in the order of the text. If the pattern is of several
    strings, `cuts` are the lengths of the parts of the first and of the last token outside the match
    (`Occurrences.cuts`).
    """

    document: int
    start: int
    stop: int
    nth: int
    before: int
    after: int
    cuts: tuple[int, int] | None = None


# Returns the lines of these numbers.
Lines = Callable[[IntArray], list[Line]]


class Shown(NamedTuple):
    """The three texts of a line of KWIC; joined, a slice of the document."""

    left: str
    match: str
    right: str

    def at(self, side: Side) -> str:
        """Return the text that lines are compared by."""
        return self.left if side.left else self.right if side.right else self.match


def sought_text(pattern: Pattern | None) -> Sought | None:
    """Return the search for a pattern whose matches may begin or end within a token, or None for others."""
    sought = pattern.sought if isinstance(pattern, Variants) else pattern
    return Sought(sought) if isinstance(sought, StoredText) else None


class Display:
    """The way in which the lines of a statement are shown; `bare` omits both contexts."""

    def __init__(self, tokenizer: Tokenizer, bare: bool, pattern: Pattern | None) -> None:
        self.tokenizer = tokenizer
        self.bare = bare
        self.sought = sought_text(pattern)


class Contexts(ABC):
    """The texts of the lines of one segment."""

    def __init__(self, segment: Segment, display: Display) -> None:
        self._segment = segment
        self._display = display
        self._tokenizer = display.tokenizer
        self._bare = display.bare
        self._sought = display.sought

    @abstractmethod
    def show(self, line: Line) -> Shown:
        """Return the texts of a line."""

    @abstractmethod
    def place(self, line: Line) -> tuple[int, int] | None:
        """Return the match's characters [start, stop) in the document's text as DOCS shows it.

        The result is None if the text now has other tokens than when it was loaded. Callers pass lines in the
        order of the text. Cost: a pass over the text for each document.
        """

    def edges(self, places: LinePlaces, lines: Lines, side: Side) -> Edges:
        """Return the texts next to the matches of lines, in the order of the text."""
        found = []
        for start in range(0, len(places), CHECK_LINES):
            interrupts.check()
            found += lines(np.arange(start, min(start + CHECK_LINES, len(places))))
        return Edges([self.show(line).at(side) for line in found], [True] * len(found))

    def _ids(self, line: Line, n_around: int = 0) -> tuple[NDArray[np.uint32], int, int]:
        """Return the tokens of a line, and the match's start and stop among them.

        `n_around` : the number of further tokens read on either side, fewer at the document's ends
        """
        first = max(0, line.start - line.before - n_around)
        ids = self._segment.index.document_tokens(line.document, first, line.stop + line.after + n_around)
        return ids, line.start - first, line.stop - first


def contexts_of(segment: Segment, display: Display) -> Contexts:
    """Return the texts of a segment's lines, by the method that suits its tokenizer."""
    tokenizer = display.tokenizer
    if tokenizer.token_bytes is not None or tokenizer.kind == "chars":
        return SpelledContexts(segment, display)
    if tokenizer.spellings is not None or tokenizer.has_places:
        return StoredContexts(segment, display)
    return DecodedContexts(segment, display)


class DecodedContexts(Contexts):
    """Texts decoded from tokens: token ids, or tokens of a tokenizer that changes its input."""

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
        # Text between two tokens belongs to the context.
        if whole.startswith(left) and whole.endswith(right):
            middle = whole[len(left) : len(whole) - len(right)]
            before, found, behind = middle.partition(match) if match else (middle, "", "")
            if found:
                return Shown(left + before, match, behind + right)
        return Shown(left, match, right)


class SpelledContexts(Contexts):
    """Texts under tokenizers whose tokens, joined, are the bytes of the text."""

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

    def edges(self, places: LinePlaces, lines: Lines, side: Side) -> Edges:
        if not len(places) or (places.stops - places.starts).max() > MOST_IN_EDGES:
            return super().edges(places, lines, side)
        first, variants = variants_of(self._segment.index, places)
        parts = [self._parts(line) for line in lines(first)]
        if not (side.left or side.right):
            texts = [_text(match) for _, match, _ in parts]
            return Edges([texts[i] for i in variants.tolist()], [True] * len(places))
        tokens, is_all, beyond = tokens_beside(self._segment.index, places, side.left)
        rows = spelled_rows(tokens, self._tokenizer)
        if rows is None:
            return super().edges(places, lines, side)
        if not side.left:
            joining = [token for token in np.unique(beyond).tolist() if self._joins(token)]
            is_all &= ~np.isin(beyond, joining)
        columns = zip(rows, variants.tolist(), is_all.tolist(), strict=True)
        if side.left:
            contents = [(row + parts[i][0], whole) for row, i, whole in columns]
            whole = [whole and not content >= BEYOND_ASCII for content, whole in contents]
            return Edges([_text(content) for content, _ in contents], whole)
        contents = [(parts[i][2] + row, whole) for row, i, whole in columns]
        texts = [_text(content) if whole else beginning(content) for content, whole in contents]
        return Edges(texts, is_all.tolist())

    def _joins(self, token: int) -> bool:
        """Return True if a context may be completed beyond its last token, before this one (-1: no token)."""
        if token < 0:
            return self._segment.n_breaks > 0
        return self._may_join(np.array([token], dtype=np.uint32))

    def _parts(self, line: Line) -> tuple[bytes, bytes, bytes]:
        """Return the bytes of a match's tokens before, within and after the match."""
        ids, _, _ = self._ids(line._replace(before=0, after=0))
        content = self._spelled(ids)
        place = self._within(line, content, ids)
        return content[: place.start], content[place], content[place.stop :]

    def _within(self, line: Line, content: bytes, ids: NDArray[np.uint32]) -> slice:
        """Return the slice of the match in the bytes of its tokens."""
        if self._sought is not None:
            # The string begins in the first token. Some of its places there may end before the last token:
            # they are those of earlier lines.
            first_ends = len(self._spelled(ids[:1]))
            places = places_in_tokens(self._sought, content, first_ends, 0)
            return next(islice(places, line.nth, None), slice(0, len(content)))
        before, after = line.cuts or (0, 0)
        return slice(before, len(content) - after)

    def _may_join(self, token: NDArray[np.uint32]) -> bool:
        """Return False for no token, and for one that begins with an ASCII character."""
        for one in token.tolist():
            if one not in self._joining:
                self._joining[one] = self._spelled(token) >= BEYOND_ASCII
            return self._joining[one]
        return False

    def _spelled(self, ids: NDArray[np.uint32]) -> bytes:
        content = self._tokenizer.decode_exact(ids)
        return self._tokenizer.decode(ids).encode() if content is None else content


class Words(NamedTuple):
    """The places of a document's words in its text, in characters.

    starts, stops : (n,) int64, of each token
    matches : (m,) int64, the beginnings of the sought string
    first : (m,) int64, the token in which each match begins
    """

    text: str
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    matches: NDArray[np.int64]
    first: NDArray[np.int64]


class StoredContexts(Contexts):
    """Texts cut out of the stored text, in which the characters of each token are known."""

    def __init__(self, segment: Segment, display: Display) -> None:
        super().__init__(segment, display)
        self._decoded = DecodedContexts(segment, display)
        # The most recent documents: lines sorted by their contexts return to the same ones.
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
        if not len(words.starts):  # white space, or only characters that the tokenizer drops
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
            # A token may include the blank before it, which belongs to the context.
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

    def edges(self, places: LinePlaces, lines: Lines, side: Side) -> Edges:
        edges = Edges([], [])
        bounds = np.flatnonzero(np.diff(places.documents)) + 1

        def lines_from(start: int, chosen: IntArray) -> list[Line]:
            return lines(chosen + start)

        for start, stop in pairwise([0, *bounds.tolist(), len(places)]):
            interrupts.check()
            some = places.between(start, stop)
            words = self._words(int(some.documents[0])) if len(some) else None
            if words is not None and len(words.starts) and not (self._sought is None and some.cuts is None):
                found = self._edges_in(words, some, side)
            else:
                found = super().edges(some, partial(lines_from, start), side)
            edges.texts.extend(found.texts)
            edges.whole.extend(found.whole)
        return edges

    def _edges_in(self, words: Words, places: LinePlaces, side: Side) -> Edges:
        """Return the edges of lines of one document, by the rules of `_bounds`."""
        text, n = words.text, len(words.starts)
        first, last = places.first, places.last
        starts, stops = words.starts[first], words.stops[last - 1]
        if self._sought is not None:
            numbers = np.searchsorted(words.first, first) + places.nths
            is_match = numbers < np.searchsorted(words.first, first + 1)
            begins = words.matches[numbers[is_match]]
            starts[is_match], stops[is_match] = begins, begins + self._sought.length
        elif places.cuts is not None:
            starts, stops = starts + places.cuts[:, 0], stops - places.cuts[:, 1]
        if not (side.left or side.right):
            slices, whole = zip(starts.tolist(), stops.tolist(), strict=True), [True] * len(places)
        elif self._bare:
            slices, whole = zip(stops.tolist(), stops.tolist(), strict=True), [True] * len(places)
        elif side.left:
            before = first - places.before
            begins = np.minimum(np.where(before <= 0, 0, words.starts[np.maximum(before, 0)]), starts)
            cut = np.maximum(begins, starts - EDGE_CHARACTERS)
            slices = zip(cut.tolist(), starts.tolist(), strict=True)
            whole = [
                begin == at and (begin >= start or text[begin].isascii() or begin == 0)
                for begin, at, start in zip(begins.tolist(), cut.tolist(), starts.tolist(), strict=True)
            ]
        else:
            after = last + places.after
            ends = np.where(after >= n, len(text), words.stops[np.minimum(after, n) - 1])
            ends = np.maximum(ends, stops)
            cut = np.minimum(ends, stops + EDGE_CHARACTERS)
            slices = zip(stops.tolist(), cut.tolist(), strict=True)
            whole = [
                end == at and (end <= stop or end >= len(text) or text[end].isascii())
                for end, at, stop in zip(ends.tolist(), cut.tolist(), stops.tolist(), strict=True)
            ]
        return Edges([_shown(text[start:stop]) for start, stop in slices], whole)

    def _match(self, words: Words, number: int) -> tuple[int, int]:
        """Return the characters of a match, (0, 0) if there is none."""
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
        """Return a document's words, or None if they cannot be found. Cost: a pass over its characters."""
        content = self._segment.text(document, self._tokenizer)
        if content is None:
            return None
        text = content.decode("utf-8", "surrogateescape")
        places = token_places(self._segment, self._tokenizer, document, text)
        if places is None:
            return None  # the text now has other tokens, so the stored ones are decoded
        starts, stops = places
        matches = np.empty(0, dtype=np.int64)
        first = np.empty(0, dtype=np.int64)
        if self._sought is not None:
            pieces = self._segment.text_pieces(document, content)
            matches = np.concatenate(
                [
                    self._sought.starts(piece.content.decode("utf-8", "surrogateescape")) + piece.n_characters
                    for piece in pieces
                ]
            )
            first = np.minimum(np.searchsorted(stops, matches, side="right"), max(len(starts) - 1, 0))
        return Words(text, starts, stops, matches, first)


def _n_tokens(words: Words | None) -> int:
    return 0 if words is None else len(words.starts)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")


def _shown(text: str) -> str:
    r"""Return a slice of text with its surrogates, for bytes that are not UTF-8, as `\xff`."""
    return text if text.isascii() else _text(text.encode("utf-8", "surrogateescape"))


def _completed_left(ahead: bytes, content: bytes) -> str:
    """Return a left context and the part of its first letter that is before it, in `ahead`."""
    joined, start = ahead + content, len(ahead)
    while start > max(0, len(ahead) - 3) and joined[start] & 0xC0 == 0x80:
        start -= 1
    # Without the part of a character at its beginning.
    before, text = joined[:start].decode("utf-8", "ignore"), _text(joined[start:])
    return (before + text)[last_cut(before + text, len(before)) :]


def _completed_right(content: bytes, behind: bytes) -> str:
    """Return a right context and the part of its last letter that is after it, in `behind`."""
    joined, stop = content + behind, len(content)
    while stop < min(len(joined), len(content) + 3) and joined[stop] & 0xC0 == 0x80:
        stop += 1
    text, after = _text(joined[:stop]), _text(joined[stop:])
    return (text + after)[: first_cut(text + after, len(text))]


# ---- Places in a document's stored text, converted to places in the text that is shown.


# A byte that is not UTF-8 is a surrogate in decoded text (PEP 383), and is shown as `\\xff`.
FIRST_SURROGATE, LAST_SURROGATE = 0xD800, 0xDFFF
SHOWN_BYTE = len(r"\xff")


class ShownPlaces:
    """Converts places in a stored text, given in bytes or in characters.

    Cost: a pass over the text; then a search for each place. Memory: 16 bytes a
    character, unless all are ASCII.
    """

    def __init__(self, content: bytes) -> None:
        self._is_ascii = content.isascii()
        if self._is_ascii:
            return
        text = content.decode("utf-8", "surrogateescape")
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        is_byte = (codes >= FIRST_SURROGATE) & (codes <= LAST_SURROGATE)
        sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
        self._bytes_before = np.append(0, np.cumsum(np.where(is_byte, 1, sizes)))
        self._shown_before = np.append(0, np.cumsum(np.where(is_byte, SHOWN_BYTE, 1)))

    def of_characters(self, start: int, stop: int) -> tuple[int, int]:
        """Return the shown characters of the characters [start, stop)."""
        if self._is_ascii:
            return start, stop
        return int(self._shown_before[start]), int(self._shown_before[stop])

    def of_bytes(self, start: int, stop: int) -> tuple[int, int]:
        """Return the shown characters that contain the bytes [start, stop), each in full."""
        if self._is_ascii:
            return start, stop
        first = int(np.searchsorted(self._bytes_before, start, side="right")) - 1
        last = int(np.searchsorted(self._bytes_before, stop, side="left"))
        return self.of_characters(first, last)
