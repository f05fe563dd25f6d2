"""Regular expressions over tokens, whose letters are sets of token ids, and how to run them.

A pattern is run as a list of n-grams, or as a program at the positions at which a match can begin: those of
the rarest part that the index can look up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product

import numpy as np

from ngramdb.patterns.nodes import Anchor
from ngramdb.source import IntArray, WordList

# Limit of steps of a program: only nested repetitions need more.
MAX_STEPS = 20_000

# Limits of the n-grams that a part is expanded into for the index, and of their tokens together.
MAX_GRAMS = 4096
MAX_GRAM_TOKENS = 1 << 16

# Limit of sequences of tokens of words that are looked up: one search each.
MAX_SEQUENCES = 1 << 18

Key = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class OneOf:
    """One token out of `ids`, ascending; None is any token."""

    ids: IntArray | None


@dataclass(frozen=True)
class Edge:
    """The beginning of a sentence, or its end."""

    ends: bool


@dataclass(frozen=True, eq=False)
class Words:
    """Consecutive words of the text, one of each list, and the tokens that contain them.

    `flat` and `offsets` are the sequences of tokens that can contain the first word.
    """

    lists: tuple[WordList, ...]
    flat: IntArray
    offsets: IntArray

    @property
    def n_sequences(self) -> int:
        """The number of sequences."""
        return len(self.offsets) - 1


@dataclass(frozen=True)
class Series:
    """Parts one after the other."""

    parts: tuple[Shape, ...]


@dataclass(frozen=True)
class Choice:
    """One of several parts, the first one that leads to a match."""

    parts: tuple[Shape, ...]


@dataclass(frozen=True)
class Times:
    """A part, repeated as often as possible, or as rarely as possible; without a limit if `high` is None."""

    part: Shape
    low: int
    high: int | None
    greedy: bool


Shape = OneOf | Edge | Words | Series | Choice | Times


def series(parts: Sequence[Shape]) -> Shape:
    """Return parts one after the other, without nested series."""
    flat: list[Shape] = []
    for part in parts:
        flat += part.parts if isinstance(part, Series) else (part,)
    return flat[0] if len(flat) == 1 else Series(tuple(flat))


def choice(parts: Sequence[Shape]) -> Shape:
    """Return one of the parts; single tokens become one set."""
    sets = [part.ids for part in parts if isinstance(part, OneOf) and part.ids is not None]
    if len(sets) == len(parts):
        return OneOf(np.unique(np.concatenate(sets)).astype(np.int64))
    return parts[0] if len(parts) == 1 else Choice(tuple(parts))


def widths(shape: Shape) -> tuple[int, float]:
    """Return the fewest and the most tokens of a match."""
    if isinstance(shape, OneOf):
        return 1, 1
    if isinstance(shape, Edge):
        return 0, 0
    if isinstance(shape, Words):
        if len(shape.lists) > 1 or not shape.n_sequences:  # white space between words may be tokens
            return 1, math.inf
        lengths = np.diff(shape.offsets)
        return int(lengths.min()), int(lengths.max())
    if isinstance(shape, Times):
        least, most = widths(shape.part)
        return least * shape.low, most * (math.inf if shape.high is None else shape.high)
    every = list(map(widths, shape.parts))
    if isinstance(shape, Series):
        return sum(least for least, _ in every), sum(most for _, most in every)
    return min(least for least, _ in every), max(most for _, most in every)


def size(shape: Shape) -> int:
    """Return the approximate number of steps of its program."""
    if isinstance(shape, (OneOf, Edge, Words)):
        return 1
    if isinstance(shape, Times):
        times = shape.low + 1 if shape.high is None else shape.high
        return (size(shape.part) + 1) * times
    return sum(size(part) + 2 for part in shape.parts)


def can_occur(shape: Shape) -> bool:
    """Return True if all parts that a match needs have tokens."""
    if isinstance(shape, OneOf):
        return shape.ids is None or len(shape.ids) > 0
    if isinstance(shape, Edge):
        return True
    if isinstance(shape, Words):
        return shape.n_sequences > 0 and all(len(bounds) > 1 for _, bounds in shape.lists)
    if isinstance(shape, Times):
        return shape.low == 0 or can_occur(shape.part)
    return (all if isinstance(shape, Series) else any)(map(can_occur, shape.parts))


# ---- as n-grams -------------------------------------------------------------------------------------------


def has_edges(shape: Shape) -> bool:
    """Return True if it depends on where sentences begin or end."""
    return _has(shape, Edge)


def needed(shape: Shape) -> list[IntArray]:
    """Return sets of tokens, ascending, each of which has a token of every match."""
    if isinstance(shape, OneOf):
        return [] if shape.ids is None else [shape.ids]
    if isinstance(shape, Times):
        return needed(shape.part) if shape.low else []
    if isinstance(shape, Series):
        return [ids for part in shape.parts for ids in needed(part)]
    if isinstance(shape, Choice):
        each = list(map(needed, shape.parts))
        return [np.unique(np.concatenate([min(sets, key=len) for sets in each]))] if all(each) else []
    return []


def _has(shape: Shape, kind: type) -> bool:
    if isinstance(shape, Times):
        return _has(shape.part, kind)
    if isinstance(shape, (Series, Choice)):
        return any(_has(part, kind) for part in shape.parts)
    return isinstance(shape, kind)


def grams(shape: Shape) -> list[Key] | None:
    """Return all n-grams that match, wherever sentences begin and end, or None if there are too many.

    With words of the text, those that may match.
    """
    found: list[Key] | None
    if isinstance(shape, Words):
        if len(shape.lists) > 1 or shape.n_sequences > MAX_GRAMS:
            return None
        flat, bounds = shape.flat.tolist(), shape.offsets.tolist()
        return [tuple(flat[a:b]) for a, b in pairwise(bounds)]
    if isinstance(shape, Edge):
        return [()]
    if isinstance(shape, OneOf):
        found = (
            None if shape.ids is None or len(shape.ids) > MAX_GRAMS else [(i,) for i in shape.ids.tolist()]
        )
    elif isinstance(shape, Series):
        found = _joined([()], shape.parts)
    elif isinstance(shape, Choice):
        lists = list(map(grams, shape.parts))
        found = None if None in lists else [gram for some in lists for gram in some or ()]
    else:
        found = _repeated(shape)
    return None if found is None or _are_many(found) else found


def _are_many(found: Sequence[Key]) -> bool:
    return len(found) > MAX_GRAMS or sum(map(len, found)) > MAX_GRAM_TOKENS


def _joined(found: list[Key], parts: Sequence[Shape]) -> list[Key] | None:
    for part in parts:
        more = grams(part)
        if more is None or len(found) * len(more) > MAX_GRAMS:
            return None
        found = [a + b for a, b in product(found, more)]
        if _are_many(found):
            return None
    return found


def _repeated(shape: Times) -> list[Key] | None:
    if shape.high is None:
        return None
    found: list[Key] = []
    some: list[Key] | None = [()]
    for n in range(shape.high + 1):
        if n >= shape.low:
            found += some or ()
        if n == shape.high:
            break
        some = _joined(some or [], (shape.part,))
        if some is None or _are_many(found):
            return None
    return found


def listed(shape: Shape, most: int) -> list[Key] | None:
    """Return the n-grams that match if there are at most `most` and none is a prefix of another, else None.

    Then every occurrence of one of them is a match, and there is one match per position.
    """
    found = None if _has(shape, Edge) or _has(shape, Words) else grams(shape)
    if found is None or len(found) > most:
        return None
    ordered = sorted(set(found))
    begins = any(longer[: len(gram)] == gram for gram, longer in pairwise(ordered))
    return None if begins else ordered


# ---- where to look ----------------------------------------------------------------------------------------


def anchors(shape: Shape, least: int = 0, most: float = 0) -> Iterator[Anchor]:
    """Yield n-grams that every match has and the index can look up, with their distance from its beginning.

    `least` and `most` are the numbers of tokens of the match before the shape.
    """
    parts = shape.parts if isinstance(shape, Series) else (shape,)
    for i, part in enumerate(parts):
        if math.isinf(most):
            return
        run: list[Key] = [()]
        for follower in parts[i:]:
            longer = _joined(run, (follower,))
            if longer is None:
                break
            run = longer
        if run and () not in run:
            yield _anchor(run, least, most)
        elif isinstance(part, OneOf) and part.ids is not None:
            yield Anchor(part.ids, np.arange(len(part.ids) + 1), least, int(most))
        elif isinstance(part, Words) and 0 < part.n_sequences <= MAX_SEQUENCES:
            yield Anchor(part.flat, part.offsets, least, int(most))
        elif isinstance(part, Times) and part.low:
            yield from anchors(part.part, least, most)
        elif isinstance(part, Choice):
            yield from _of_each(part, least, most)
        fewer, more = widths(part)
        least, most = least + fewer, most + more


def _of_each(shape: Choice, least: int, most: float) -> Iterator[Anchor]:
    """Yield one for all alternatives together, if each has one."""
    first = [list(islice(anchors(part, least, most), 1)) for part in shape.parts]
    if all(first):
        found = [anchor for some in first for anchor in some]
        lengths = np.concatenate([np.diff(anchor.offsets) for anchor in found])
        yield Anchor(
            np.concatenate([anchor.flat for anchor in found]),
            np.concatenate(([0], np.cumsum(lengths))),
            min(anchor.least_before for anchor in found),
            max(anchor.most_before for anchor in found),
        )


def _anchor(run: Sequence[Key], least: int, most: float) -> Anchor:
    flat = np.array([i for gram in run for i in gram], dtype=np.int64)
    offsets = np.concatenate(([0], np.cumsum(list(map(len, run))))).astype(np.int64)
    return Anchor(flat, offsets, least, int(most))


# ---- as a program -----------------------------------------------------------------------------------------

# The codes of steps, as in `token_patterns.hpp`; a test compares them.
ANY, ONE, SET, SPLIT, JUMP, DONE, BEGIN, END, WORD = range(9)
CODES = {
    **{"ANY": ANY, "ONE": ONE, "SET": SET, "SPLIT": SPLIT, "JUMP": JUMP, "DONE": DONE},
    **{"BEGIN": BEGIN, "END": END, "WORD": WORD},
}


class Program:
    """The steps that `token_patterns.Matcher` runs, (n, 3) int64, and the sets that they read.

    sets : for each its ids, ascending
    words : sets of words of the text
    """

    def __init__(self, shape: Shape) -> None:
        self._steps: list[tuple[int, int, int]] = []
        self.sets: list[IntArray] = []
        self.words: list[WordList] = []
        self._numbers: dict[bytes, int] = {}
        self._emit(shape)
        self._steps.append((DONE, 0, 0))

    @property
    def steps(self) -> IntArray:
        """(n, 3) int64: a code and two arguments per step."""
        return np.array(self._steps, dtype=np.int64)

    @property
    def n_set_bytes(self) -> int:
        """The size of `bits` in bytes."""
        return len(self.sets) * self._row_bytes

    @property
    def _row_bytes(self) -> int:
        return (max((int(ids[-1]) for ids in self.sets if len(ids)), default=-1) + 8) // 8

    @property
    def bits(self) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
        """(n_sets, n_bytes) uint8: one bit per token id, up to the largest, for each set."""
        bits = np.zeros((len(self.sets), self._row_bytes), dtype=np.uint8)
        for row, ids in zip(bits, self.sets, strict=True):
            np.bitwise_or.at(row, ids // 8, (1 << (ids % 8)).astype(np.uint8))
        return bits

    def _emit(self, shape: Shape) -> None:
        if isinstance(shape, OneOf):
            self._steps.append(self._reading(shape))
        elif isinstance(shape, Edge):
            self._steps.append((END if shape.ends else BEGIN, 0, 0))
        elif isinstance(shape, Words):
            self._steps.append((WORD, len(self.words), len(shape.lists)))
            self.words += shape.lists
        elif isinstance(shape, Series):
            for part in shape.parts:
                self._emit(part)
        elif isinstance(shape, Choice):
            self._emit_choice(shape)
        else:
            self._emit_times(shape)

    def _reading(self, shape: OneOf) -> tuple[int, int, int]:
        if shape.ids is None:
            return ANY, 0, 0
        if len(shape.ids) == 1:
            return ONE, int(shape.ids[0]), 0
        key = shape.ids.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.sets)
            self.sets.append(shape.ids)
        return SET, self._numbers[key], 0

    def _emit_choice(self, shape: Choice) -> None:
        ends = []
        for part in shape.parts[:-1]:
            split = self._reserve()
            self._emit(part)
            ends.append(self._reserve())
            self._steps[split] = (SPLIT, split + 1, len(self._steps))
        self._emit(shape.parts[-1])
        for end in ends:
            self._steps[end] = (JUMP, len(self._steps), 0)

    def _emit_times(self, shape: Times) -> None:
        for _ in range(shape.low):
            self._emit(shape.part)
        if shape.high is None:
            split = self._reserve()
            self._emit(shape.part)
            self._steps.append((JUMP, split, 0))
            self._split(split, shape.greedy)
            return
        splits = []
        for _ in range(shape.low, shape.high):
            splits.append(self._reserve())
            self._emit(shape.part)
        for split in splits:
            self._split(split, shape.greedy)

    def _split(self, at: int, greedy: bool) -> None:
        """Split into the part, which begins after the split, and the steps after it."""
        inside, past = at + 1, len(self._steps)
        self._steps[at] = (SPLIT, inside, past) if greedy else (SPLIT, past, inside)

    def _reserve(self) -> int:
        self._steps.append((JUMP, 0, 0))
        return len(self._steps) - 1
