"""KWIC's lines ordered by the texts that they show, of which mostly the edges next to the match are read.

Lines whose matches may begin or end within a token are in this order: right contexts are compared as text,
left contexts by words, and matches as text, all without case and with equal white space. Making these texts
takes some 50 µs per line. Making an edge, the part of a context next to the match, takes some 5 µs. The texts
are made only of requested lines that cannot be ordered by their edges.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.questions.kwic_order import Key
from ngramdb.source import IntArray
from ngramdb.tokenizers.base import Tokenizer

# Length of edges: tokens, or characters of stored texts.
EDGE_TOKENS = 6
EDGE_CHARACTERS = 32
# Shorter edges, of white space as a rule, would leave many lines together: characters, or words on the left.
SHORT_EDGE = 8
# Requested lines are sorted in pieces: the first one of at least this many, each of some times as many.
FIRST_PIECE = 64
GROWTH = 4
CHECK_LINES = 1024


@dataclass(frozen=True)
class Side:
    """The texts that lines are ordered by: left contexts, right contexts, or, if neither, matches.

    `depth` : the number of words compared, or None for all
    """

    left: bool
    right: bool
    depth: int | None

    def key(self, text: str, whole: bool = True) -> tuple[Key, bool]:
        """Return the sort key of a text, and whether it is that of all of it.

        If it is not `whole`, the key is the beginning of that of the whole text.
        """
        words = text.casefold().split()
        if not self.left:
            n = len(words) if self.depth is None or not self.right else self.depth
            return " ".join(words[:n]), whole or len(words) > n
        if words and not whole and not text[0].isspace():
            del words[0]  # its beginning may be further to the left
        words.reverse()
        n = len(words) if self.depth is None else self.depth
        return tuple(words[:n]), whole or (self.depth is not None and len(words) >= n)


class Edges(NamedTuple):
    """Texts next to the matches of lines, and whether they are the whole texts that are compared."""

    texts: list[str]
    whole: list[bool]


@dataclass(frozen=True)
class LinePlaces:
    """The places of lines, in the order of the text, as arrays.

    starts, stops : (n,) positions of their matches in the segment
    first : (n,) int64, their first tokens in their documents
    documents, nths, before, after, cuts : as in `kwic_text.Line`; `cuts` may be None
    """

    starts: NDArray[np.uint32]
    stops: NDArray[np.uint32]
    documents: NDArray[np.uint32]
    first: IntArray
    nths: IntArray
    before: IntArray
    after: IntArray
    cuts: NDArray[np.int64] | None

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def last(self) -> IntArray:
        """The tokens of their documents behind their matches."""
        return self.first + (self.stops.astype(np.int64) - self.starts)

    def between(self, start: int, stop: int) -> LinePlaces:
        """Return lines `start … stop`."""
        some: dict[str, Any] = {}
        for field in fields(self):
            values = getattr(self, field.name)
            some[field.name] = None if values is None else values[start:stop]
        return LinePlaces(**some)


def ordered_by_edges(
    lines: IntArray,
    edges: Callable[[IntArray], Edges],
    texts: Callable[[IntArray], Sequence[str]],
    side: Side,
    descending: bool,
) -> Iterator[IntArray]:
    """Yield lines (ascending) in the order of their texts; equal ones are in the order of their numbers.

    `edges` and `texts` return the edges and the texts of lines.
    """
    keys: list[Key] = []
    whole: list[bool] = []
    for i, (text, is_whole) in enumerate(zip(*edges(lines), strict=True)):
        if i % CHECK_LINES == 0:
            interrupts.check()
        key, is_all = side.key(text, is_whole)
        keys.append(key)
        whole.append(is_all)

    def complete(some: list[int]) -> None:
        for i, text in zip(some, texts(lines[some]) if some else (), strict=True):
            keys[i], whole[i] = side.key(text)

    least = 1 if side.left else SHORT_EDGE
    complete([i for i, key in enumerate(keys) if not whole[i] and len(key) < least])
    interrupts.check()
    order = sorted(range(len(keys)), key=keys.__getitem__)
    clusters = _clusters(order, keys, whole)
    for some in _pieces(reversed(list(clusters)) if descending else clusters):
        # Texts are needed of lines that may be equal, or one of which may be the beginning of another.
        complete(sorted(i for cluster in some if len(cluster) > 1 for i in cluster if not whole[i]))
        piece = sorted(chain.from_iterable(some))
        piece.sort(key=keys.__getitem__, reverse=descending)  # this keeps the order of equal keys
        yield lines[piece]


def _clusters(order: list[int], keys: Sequence[Key], whole: Sequence[bool]) -> Iterator[list[int]]:
    """Yield lines in the order of their keys, those together that cannot be ordered by them."""
    stop = 0
    while stop < len(order):
        start, key, is_sure = stop, keys[order[stop]], True
        while stop < len(order) and keys[order[stop]] == key:
            is_sure = is_sure and whole[order[stop]]
            stop += 1
        while not is_sure and stop < len(order) and keys[order[stop]][: len(key)] == key:
            stop += 1
        yield order[start:stop]


def _pieces(clusters: Iterable[list[int]]) -> Iterator[list[list[int]]]:
    """Yield clusters together: of few lines at first, then of more."""
    size, n, waiting = FIRST_PIECE, 0, []
    for cluster in clusters:
        waiting.append(cluster)
        n += len(cluster)
        if n >= size:
            interrupts.check()
            yield waiting
            size, n, waiting = size * GROWTH, 0, []
    if waiting:
        yield waiting


# ---- Edges of texts that tokens spell.


def variants_of(index: SegmentIndex, places: LinePlaces) -> tuple[IntArray, IntArray]:
    """Return a line of each distinct match and its tokens, and for each line which of these is its."""
    columns = [places.nths, *([] if places.cuts is None else places.cuts.T)]
    lengths = places.stops.astype(np.int64) - places.starts
    codes = np.zeros(len(places), dtype=np.int64)
    for column in columns:
        codes = _joined(codes, column)
    for depth in range(int(lengths.max(initial=0))):
        interrupts.check()
        open_ = depth < lengths
        tokens = np.full(len(places), -1, dtype=np.int64)
        tokens[open_] = index.tokens_at(places.starts[open_], depth)
        codes = _joined(codes, tokens)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    return first, codes


def _joined(codes: IntArray, values: IntArray) -> IntArray:
    """Return numbers of the pairs of a code and a value."""
    numbers = np.unique(values, return_inverse=True)[1]
    pairs = codes * (int(numbers.max(initial=0)) + 1) + numbers
    joined: IntArray = np.unique(pairs, return_inverse=True)[1]
    return joined


def tokens_beside(
    index: SegmentIndex, places: LinePlaces, to_left: bool
) -> tuple[IntArray, NDArray[np.bool_], IntArray]:
    """Return up to EDGE_TOKENS shown tokens beside each match, in the order of the text.

    Returns
    -------
    tokens : (n, EDGE_TOKENS) int64, -1 for none
    whole : (n,) bool, whether these are all that are shown
    beyond : (n,) int64, the token after all that are shown, -1 for none
    """
    at, shown = (places.starts, places.before) if to_left else (places.stops, places.after)
    found = np.full((len(places), EDGE_TOKENS), -1, dtype=np.int64)
    beyond = np.full(len(places), -1, dtype=np.int64)
    open_ = np.arange(len(places))
    for depth in range(EDGE_TOKENS + 1):
        interrupts.check()
        tokens = index.tokens_at(at[open_], -1 - depth if to_left else depth)
        is_shown = (depth < shown[open_]) & (tokens >= 0)
        beyond[open_[~is_shown]] = tokens[~is_shown]
        open_, tokens = open_[is_shown], tokens[is_shown]
        if depth < EDGE_TOKENS:
            found[open_, -1 - depth if to_left else depth] = tokens
    whole = np.ones(len(places), dtype=np.bool_)
    whole[open_] = False
    return found, whole, beyond


def spelled_rows(tokens: IntArray, tokenizer: Tokenizer) -> list[bytes] | None:
    """Return the bytes of each row of tokens, ignoring -1; None if tokens do not spell texts one by one."""
    is_token = tokens >= 0
    flat = tokens[is_token]
    content = tokenizer.decode_exact(flat.astype(np.uint32))
    each, numbers = np.unique(flat, return_inverse=True)
    pieces = [tokenizer.decode_exact(np.array([token], dtype=np.uint32)) for token in each.tolist()]
    if content is None or any(piece is None for piece in pieces):
        return None
    lengths = np.zeros(tokens.shape, dtype=np.int64)
    lengths[is_token] = np.array([len(piece or b"") for piece in pieces], dtype=np.int64)[numbers]
    ends = np.cumsum(lengths.sum(axis=1)).tolist()
    if len(content) != (ends[-1] if ends else 0):
        return None
    return [content[start:stop] for start, stop in zip([0, *ends[:-1]], ends, strict=True)]


def beginning(content: bytes) -> str:
    """Return the text of bytes that others follow, without the beginning of a character at the end."""
    return codecs.utf_8_decode(content, "backslashreplace", False)[0]
