"""Searches for strings in texts: their positions, the tokens that contain them, the longest matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count, pairwise
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.index import Index
from ngramdb._cext.corpus.token_patterns import Matcher
from ngramdb._cext.text.words import Vocabulary
from ngramdb.errors import CorruptionError, ExecutionError
from ngramdb.fork_safety import cached_property
from ngramdb.patterns import Gram, StoredText, StoredWords, one_case
from ngramdb.segments.base import Segment
from ngramdb.segments.recent import Recent
from ngramdb.segments.text import token_flags
from ngramdb.source import IntArray
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

# Characters that are searched, or places that are found, between two interrupt checks.
CHECK_CHARACTERS = 1 << 20
CHECK_PLACES = 1 << 14

# For each place in the text of some tokens, how many bytes before it and after it are not the string's.
Cuts = tuple[tuple[int, int], ...]


class Sought:
    """A string to search texts for, exactly or ignoring case."""

    def __init__(self, pattern: StoredText) -> None:
        self._ignore_case = pattern.ignore_case
        self._text = one_case(pattern.text) if pattern.ignore_case else pattern.text
        self.length = len(self._text)

    @cached_property
    def _period(self) -> int:
        """Return the smallest shift at which the string matches itself on the overlap."""
        text, borders, n = self._text, [0] * self.length, 0
        for i in range(1, self.length):  # Knuth, Morris and Pratt's table
            if i % CHECK_CHARACTERS == 0:
                interrupts.check()
            while n and text[i] != text[n]:
                n = borders[n - 1]
            n += text[i] == text[n]
            borders[i] = n
        return self.length - n

    @property
    def overlaps(self) -> bool:
        """True if two occurrences of the string can overlap."""
        return self._period < self.length

    def starts(self, text: str) -> NDArray[np.int64]:
        """Return the positions of the string in the text: (n,) int64, in characters, ascending."""
        return np.fromiter(self._starts(one_case(text) if self._ignore_case else text), dtype=np.int64)

    def spans(self, content: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return starts and ends of the string in a text: (n,) int64 each, in characters, ascending."""
        starts = self.starts(content.decode("utf-8", "surrogateescape"))
        return starts, starts + self.length

    def _starts(self, text: str) -> Iterator[int]:
        return self._overlapping(text) if self.overlaps else self._apart(text)

    def _apart(self, text: str) -> Iterator[int]:
        """Yield the positions of a string that cannot overlap itself, which `split` finds fast."""
        start, step = 0, max(CHECK_CHARACTERS, self.length)
        while start + self.length <= len(text):
            interrupts.check()
            place = start
            for between in text[start : start + step + self.length - 1].split(self._text)[:-1]:
                place += len(between)
                yield place
                place += self.length
            start = max(place, start + step)

    def _overlapping(self, text: str) -> Iterator[int]:
        n_found = 0
        start = self._find(text, 0)
        while start >= 0:
            yield start
            n_found += 1
            if n_found % CHECK_PLACES == 0:
                interrupts.check()
            # The next place is one period on if the text continues so. If it does not, no place that shares a
            # period with this one matches (Fine and Wilf), and the search continues after them.
            period = self._period
            if period < self.length and text.startswith(self._text[-period:], start + self.length):
                start += period
            else:
                start = self._find(text, start + max(period, self.length - period + 1))

    def _find(self, text: str, start: int) -> int:
        step = max(CHECK_CHARACTERS, self.length)
        while start + self.length <= len(text):
            place = text.find(self._text, start, start + step + self.length - 1)
            if place >= 0:
                return place
            interrupts.check()
            start += step
        return -1


def places_in_tokens(sought: Sought, content: bytes, first_ends: int, last_begins: int) -> Iterator[slice]:
    """Yield the places of a string in the bytes of some tokens: from within the first to within the last."""
    text = content.decode("utf-8", "surrogateescape")
    for start in sought.starts(text).tolist():
        begin = len(text[:start].encode("utf-8", "surrogateescape"))
        end = begin + len(text[start : start + sought.length].encode("utf-8", "surrogateescape"))
        if begin < first_ends and end > last_begins:
            yield slice(begin, end)


def spelled_cuts(gram: Gram, pattern: StoredText | None, tokenizer: Tokenizer) -> Cuts:
    """Return an n-gram's text before and after a string within it; without a string all of it counts."""
    content = None if pattern is None else tokenizer.decode_exact(gram.ids)
    if pattern is None or content is None:
        return ((0, 0),)
    first_ends = len(tokenizer.decode_exact(gram.ids[:1]) or b"")
    last_begins = len(content) - len(tokenizer.decode_exact(gram.ids[-1:]) or b"")
    places = places_in_tokens(Sought(pattern), content, first_ends, last_begins)
    return tuple((place.start, len(content) - place.stop) for place in places)


def longest_matches(
    index: Index, flat: IntArray, offsets: IntArray, least: int = 1
) -> tuple[IntArray, IntArray]:
    """Return the longest match that ends at each position of texts, given as ids one text after the other.

    least : how often a match must occur

    Returns
    -------
    lengths : (m + k,) int64, in tokens, of k texts with m tokens: n + 1 positions for a text of n tokens
    counts : (m + k,) int64, net counts

    Cost: about a microsecond per token and segment.
    """
    # An unknown token after each text: what the index reports about a token is the context before it.
    longer = np.insert(flat, offsets[1:], -1)
    bounds = offsets + np.arange(len(offsets))
    _, counts, effective_n, _ = index.score(longer, bounds, True, 0, least)
    return effective_n.astype(np.int64) - 1, counts


# ---- Stored texts of documents.


# Those that make no token under `words` (FORMAT.md, rule 1): `str.isspace`, which is the property
# White_Space (Unicode 15.1, PropList.txt) and four controls, U+001C to U+001F.
WHITE_SPACE = "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# Documents read between two interrupt checks.
CHECK_DOCUMENTS = 16


def solid(text: str) -> NDArray[np.bool_]:
    """For each character of a text, whether it is not white space: (len(text),) bool."""
    known = _solid_codes()
    found = np.empty(len(text), dtype=np.bool_)
    for start in range(0, len(text), CHECK_CHARACTERS):
        interrupts.check()
        some = text[start : start + CHECK_CHARACTERS].encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(some, dtype=np.uint32)
        found[start : start + len(codes)] = known[np.minimum(codes, len(known) - 1)]
    return found


@cache
def _solid_codes() -> NDArray[np.bool_]:
    """Return a flag per code point, False for white space; the last one is for all code points beyond."""
    return np.array([re.match(f"[{WHITE_SPACE}]", chr(code)) is None for code in range(0x3002)])


# Per tokenizer; a vocabulary only grows.
_lengths: WeakKeyDictionary[Tokenizer, NDArray[np.int64]] = WeakKeyDictionary()


def word_lengths(tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return the number of characters of each word of the vocabulary.

    Cost: a pass over the vocabulary, again when it has grown.
    """
    lengths = _lengths.get(tokenizer)
    if lengths is None or len(lengths) < tokenizer.n_vocabulary:
        spelled, offsets = tokenizer.spellings or (np.empty(0, np.uint8), np.zeros(1, np.int64))
        # The bytes of UTF-8 that don't continue a character.
        before = np.concatenate(([0], np.cumsum((spelled & 0xC0) != 0x80)))
        lengths = _lengths[tokenizer] = np.diff(before[offsets])
    return lengths


def token_lengths(segment: Segment, tokenizer: Tokenizer, i: int) -> NDArray[np.int64]:
    """Return the number of characters of each token of document i.

    Raises CorruptionError when the vocabulary lacks one of them.
    """
    lengths, ids = word_lengths(tokenizer), segment.document(i)
    if len(ids) and int(ids.max()) >= len(lengths):
        raise CorruptionError(
            f"segment {segment.path} is damaged: document {i} has the token id {ids.max()}, and the "
            f"vocabulary {len(lengths)} words; restore the file from a backup, or load its documents again",
            path=segment.path,
            expected=f"an id below {len(lengths)}",
            found=int(ids.max()),
        )
    return lengths[ids]


class TokenPlaces(NamedTuple):
    """The characters [start, stop) of a text that each token stands for, both ascending: (n,) int64 each."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


def token_places(segment: Segment, tokenizer: Tokenizer, i: int, text: str) -> TokenPlaces | None:
    """Return the places of document i's tokens in its text; None if they are not the text's tokens.

    Cost: a pass over the text, which is tokenized again but under `words`; nothing for those used last.
    """
    key = _NUMBERS.setdefault(segment, next(_COUNTER)), i
    found = _PLACES.get(key)
    if found is None:
        found = _places_in(segment, tokenizer, i, text)
    if found is not None:
        _PLACES.keep(key, found, found.starts.nbytes + found.stops.nbytes)
    return found


# A statement finds matches by the places of tokens, and then shows them.
_PLACES: Recent[TokenPlaces] = Recent(1 << 24)
_NUMBERS: WeakKeyDictionary[Segment, int] = WeakKeyDictionary()
_COUNTER = count()


def _places_in(segment: Segment, tokenizer: Tokenizer, i: int, text: str) -> TokenPlaces | None:
    if tokenizer.has_places:
        return _placed_again(segment, tokenizer, i, text)
    characters = np.flatnonzero(solid(text))
    interrupts.check()
    lengths = token_lengths(segment, tokenizer, i)
    ends = np.cumsum(lengths)
    interrupts.check()
    if len(ends) and ends[-1] != len(characters):
        return None
    return TokenPlaces(characters[ends - lengths], characters[ends - 1] + 1)


def _placed_again(segment: Segment, tokenizer: Tokenizer, i: int, text: str) -> TokenPlaces | None:
    """Return the same by tokenizing each piece of the text."""
    ids, starts, stops = [], [], []
    for content, n_characters, _ in segment.text_pieces(i, text.encode("utf-8", "surrogateescape")):
        placed = tokenizer.places(content.decode("utf-8", "surrogateescape"))
        if placed is None:
            return None
        ids.append(placed[0])
        starts.append(placed[1] + n_characters)
        stops.append(placed[2] + n_characters)
    if not np.array_equal(np.concatenate(ids), segment.document(i)):
        return None
    return TokenPlaces(np.concatenate(starts), np.concatenate(stops))


def word_places(content: bytes) -> TokenPlaces:
    """Return the places of a text's words, as `words` finds them. Cost: a pass over the text."""
    vocabulary = Vocabulary()
    ids, _ = vocabulary.encode_batch([content])
    entries, offsets = vocabulary.export(0)
    # The bytes of UTF-8 that don't continue a character.
    before = np.concatenate(([0], np.cumsum((entries & 0xC0) != 0x80)))
    lengths = np.diff(before[offsets])[ids]
    characters, ends = np.flatnonzero(solid(content.decode("utf-8", "surrogateescape"))), np.cumsum(lengths)
    return TokenPlaces(characters[ends - lengths], characters[ends - 1] + 1)


# Characters [start, stop) of a text: (n,) int64 each.
Spans = tuple[NDArray[np.int64], NDArray[np.int64]]
BeginsOf = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]


class Places(NamedTuple):
    """Places of a string in a segment's texts.

    starts, stops : (n,) uint32, its tokens
    cuts : (n, 2) int64, how many characters of the first and of the last one are not the string's; of a
        string that begins or ends with white space, how many characters that is, below zero
    """

    starts: NDArray[np.uint32]
    stops: NDArray[np.uint32]
    cuts: NDArray[np.int64]


def _white_space_around(text: str) -> tuple[int, int]:
    """Return the number of white-space characters at a text's beginning and end."""
    inner = np.flatnonzero(solid(text))
    if not len(inner):
        return len(text), len(text)
    return int(inner[0]), len(text) - 1 - int(inner[-1])


class SoughtWords:
    """A pattern over words that texts are searched for."""

    def __init__(self, pattern: StoredWords) -> None:
        # The pattern's words come first: its program has their numbers.
        self._vocabulary = Vocabulary()
        if len(pattern.words[1]) > 1:
            self._vocabulary.append(*pattern.words)
        self._lengths = np.empty(0, dtype=np.int64)
        self._matcher = Matcher(pattern.steps, pattern.sets)
        self._in_sentence = pattern.in_sentence

    def spans(self, content: bytes, begins: BeginsOf | None = None) -> Spans:
        """Return starts and ends of matches in a text: (n,) int64 each, in characters, ascending by start.

        `begins` marks the words, given as spans, that begin a sentence: (n,) bool.
        """
        ids, _ = self._vocabulary.encode_batch([content])
        places, bits = None, None
        if begins is not None:
            places = self._places(content, ids)
            bits = np.packbits(np.append(begins(*places), True), bitorder="little")
        ends = self._matcher.ends_in(ids, bits, self._in_sentence)
        chosen = np.flatnonzero(ends)
        if not len(chosen):
            return chosen, chosen
        starts, stops = places or self._places(content, ids)
        return starts[chosen], stops[ends[chosen] - 1]

    def _places(self, content: bytes, ids: NDArray[np.uint32]) -> Spans:
        """Return the places of a text's words in it."""
        characters = np.flatnonzero(solid(content.decode("utf-8", "surrogateescape")))
        lengths = self._known_lengths()[ids]
        ends = np.cumsum(lengths)
        return characters[ends - lengths], characters[ends - 1] + 1

    def _known_lengths(self) -> NDArray[np.int64]:
        """Return the number of characters of each word found in texts so far."""
        if len(self._lengths) < len(self._vocabulary):
            entries, offsets = self._vocabulary.export(len(self._lengths))
            content = entries.tobytes()
            added = [
                len(content[start:stop].decode("utf-8", "surrogateescape"))
                for start, stop in pairwise(offsets.tolist())
            ]
            self._lengths = np.concatenate([self._lengths, np.array(added, dtype=np.int64)])
        return self._lengths


def _sought(pattern: StoredText | StoredWords) -> Sought | SoughtWords:
    return SoughtWords(pattern) if isinstance(pattern, StoredWords) else Sought(pattern)


class TextMatches:
    """Looks for strings in one segment's texts."""

    def __init__(self, segment: Segment, tokenizer: Tokenizer) -> None:
        self._segment = segment
        self._tokenizer = tokenizer
        self._found: dict[tuple[StoredText | StoredWords, bytes], Places] = {}

    def find(self, pattern: StoredText | StoredWords, docs: Docs) -> Places:
        """Return the matches in these documents (ascending).

        A match that holds no token is at the token after it, or at the document's last one.

        Cost: reads the documents' texts.
        """
        key = (pattern, docs.tobytes())
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(pattern, docs)
        return found

    def count(self, pattern: StoredText | StoredWords, docs: Docs) -> int:
        """Count the matches in these documents. Cost: reads the documents' texts only."""
        sought = _sought(pattern)
        in_bytes = None
        if isinstance(pattern, StoredText) and isinstance(sought, Sought):
            plain = not pattern.ignore_case and not sought.overlaps
            in_bytes = pattern.text.encode("utf-8") if plain else None
        total = 0
        for n, i in enumerate(docs.tolist()):
            if n % CHECK_DOCUMENTS == 0:
                interrupts.step(n, len(docs))
            content = self._segment.text(i, self._tokenizer)
            if content is None:
                continue
            if in_bytes is not None:
                pieces = self._segment.text_pieces(i, content)
                total += sum(piece.content.count(in_bytes) for piece in pieces)
            else:
                total += len(self._spans(sought, pattern, content, i)[0])
        return total

    def candidates(self, pattern: StoredWords) -> Docs:
        """Return the documents that can contain words. Cost: reading all texts at the first call."""
        found = self._tokenizer.documents_with_words(self._segment, pattern.needs)
        return np.arange(self._segment.n_documents, dtype=np.uint32) if found is None else found

    def _spans(
        self, sought: Sought | SoughtWords, pattern: StoredText | StoredWords, content: bytes, i: int
    ) -> Spans:
        """Return the starts and ends of matches in the text of document i."""
        found = []
        for piece in self._segment.text_pieces(i, content):
            if isinstance(sought, Sought):
                spans = sought.spans(piece.content)
            else:
                assert isinstance(pattern, StoredWords)
                begins = self._beginner(content, i, piece.n_characters) if pattern.sentences else None
                spans = sought.spans(piece.content, begins)
            found.append(tuple(places + piece.n_characters for places in spans))
        starts, stops = (np.concatenate(places) for places in zip(*found, strict=True))
        return starts, stops

    def _beginner(self, content: bytes, i: int, n_characters: int) -> BeginsOf:
        """Return the function that marks words that begin a sentence, of a piece after n characters."""
        text = content.decode("utf-8", "surrogateescape")
        return lambda starts, stops: self._begins(text, i, starts + n_characters, stops + n_characters)

    def _begins(
        self, text: str, i: int, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Which of a text's words begin a sentence: the first ones of tokens of another sentence.

        A word belongs to the sentence of the token that it begins in.
        """
        flags = token_flags(self._segment, np.array([i], dtype=np.uint32))
        begins = np.zeros(len(starts), dtype=np.bool_)
        if len(flags):
            tokens, _, _ = self._tokens(text, i, starts, stops)
            begins[1:] = np.diff(np.cumsum(flags, dtype=np.int64)[tokens]) != 0
        begins[:1] = True
        return begins

    def _find(self, pattern: StoredText | StoredWords, docs: Docs) -> Places:
        sought = _sought(pattern)
        starts: list[NDArray[np.int64]] = []
        stops: list[NDArray[np.int64]] = []
        cuts: list[NDArray[np.int64]] = []
        bounds = self._segment.index.document_bounds(docs)
        for n, i in enumerate(docs.tolist()):
            if n % CHECK_DOCUMENTS == 0:
                interrupts.step(n, len(docs))
            content = self._segment.text(i, self._tokenizer)
            if content is None:
                continue
            begins, ends = self._spans(sought, pattern, content, i)
            if len(begins):
                text = content.decode("utf-8", "surrogateescape")
                first, last, cut = self._tokens(text, i, begins, ends)
                starts.append(self._position(i, first) + int(bounds[0][n]))
                stops.append(self._position(i, last - 1) + 1 + int(bounds[0][n]))
                cuts.append(cut)
        if not starts:
            none = np.empty(0, dtype=np.uint32)
            return Places(none, none, np.empty((0, 2), dtype=np.int64))
        # Tokens that have places may have white space, which their cuts count.
        around = (0, 0)
        if isinstance(pattern, StoredText) and not self._tokenizer.has_places:
            around = _white_space_around(pattern.text)
        every = np.concatenate(cuts)
        return Places(
            np.concatenate(starts).astype(np.uint32),
            np.concatenate(stops).astype(np.uint32),
            np.where(np.array(around), -np.array(around), every) if any(around) else every,
        )

    def _position(self, i: int, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many positions are before these tokens of document i: tokens and breaks."""
        if not self._segment.n_breaks:
            return tokens
        return tokens + np.searchsorted(self._segment.breaks(i), tokens, side="right")

    def _tokens(
        self, text: str, i: int, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the tokens that overlap characters [start, stop) of documents, at least one each.

        Returns their range [first, last), and how many characters of the first and of the last one are left
        out: (n, 2).
        """
        if self._tokenizer.has_places:
            return self._placed(text, i, starts, stops)
        token_ends = self._token_ends(i)
        n_tokens = len(token_ends)
        before = np.concatenate(([0], np.cumsum(solid(text))))
        first = np.searchsorted(token_ends, before[starts], side="right")
        last = np.searchsorted(token_ends, before[stops], side="left") + 1
        first = np.minimum(first, max(n_tokens - 1, 0))
        last = np.minimum(np.maximum(last, first + 1), max(n_tokens, 1))
        cuts = np.zeros((len(starts), 2), dtype=np.int64)
        if n_tokens:
            begins = np.concatenate(([0], token_ends))
            cuts[:, 0] = before[starts] - begins[first]
            cuts[:, 1] = token_ends[last - 1] - before[stops]
        return first, last, cuts

    def _placed(
        self, text: str, i: int, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Do the same by the tokenizer's places of tokens; a cut before a token is below zero.

        In a text without tokens, how many characters of the text are left out.
        """
        places = token_places(self._segment, self._tokenizer, i, text)
        if places is None:
            raise ExecutionError(
                f"{self._segment.path}: the text of document {i} has other tokens than when it was "
                "loaded: a library of its tokenizer has changed; load it again, or install the "
                "earlier version of the library"
            )
        n = len(places.starts)
        if not n:
            cuts = np.stack([starts, len(text) - stops], axis=1)
            return np.zeros_like(starts), np.ones_like(starts), cuts
        first = np.minimum(np.searchsorted(places.stops, starts, side="right"), n - 1)
        last = np.maximum(np.searchsorted(places.starts, stops, side="left"), first + 1)
        return first, last, np.stack([starts - places.starts[first], places.stops[last - 1] - stops], axis=1)

    def _token_ends(self, i: int) -> NDArray[np.int64]:
        """Return the end of each token of a document, in characters without white space."""
        ends: NDArray[np.int64] = np.cumsum(token_lengths(self._segment, self._tokenizer, i))
        return ends
