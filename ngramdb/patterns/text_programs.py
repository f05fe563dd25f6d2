r"""Regular expressions of Python's `re`, compiled for a search in time linear in the text.

`re` backtracks: `(a+)+b` takes exponential time, `\w+@` quadratic time in a long word, and neither can be
interrupted. RE2 has other classes (its `\w` and `\b` know ASCII alone) and is a further dependency. So the
tree that `re` itself parses is translated into a program of `_cext/include/ngramdb/text/expressions.hpp`, and
sets of characters are taken from `re`: what matches is the same by construction. References to groups, and
lookahead or lookbehind of more than one character, cannot be translated and are refused. So is a repetition
of a part that can match no character: its order of alternatives in `re` depends on how a position was
reached.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument

# The parser of `re` is a part of it since Python 3.11. Its interface is private: tests compare with `re`.
_NEW = sys.version_info >= (3, 11)
sre: Any = import_module("re._constants" if _NEW else "sre_constants")
sre_parse: Any = import_module("re._parser" if _NEW else "sre_parse")
sre_compile: Any = import_module("re._compiler" if _NEW else "sre_compile")

# The codes of steps and tests, as in `expressions.hpp`; a test compares them.
SET, RUN, SPLIT, JUMP, ASSERT, DONE = range(6)
TEXT_BEGIN, LINE_BEGIN, TEXT_END, LINE_END, TEXT_END_OR_FINAL_LINE, BORDER, NO_BORDER = range(7)
BEFORE, NOT_BEFORE, AFTER, NOT_AFTER = range(7, 11)

# Limit of steps: only repetitions with large bounds need more.
MAX_STEPS = 20_000
LAST_CODE_POINT = 0x10FFFF
# Letters with case are below.
LAST_CASED = 0x1F000

_TESTS = {
    sre.AT_BEGINNING: TEXT_BEGIN,
    sre.AT_BEGINNING_STRING: TEXT_BEGIN,
    sre.AT_END: TEXT_END_OR_FINAL_LINE,
    sre.AT_END_STRING: TEXT_END,
    sre.AT_BOUNDARY: BORDER,
    sre.AT_NON_BOUNDARY: NO_BORDER,
}
_IN_LINES = {sre.AT_BEGINNING: LINE_BEGIN, sre.AT_END: LINE_END}
_TYPES = sre.SRE_FLAG_ASCII | sre.SRE_FLAG_LOCALE | sre.SRE_FLAG_UNICODE

# Code points [first, last], ascending and apart.
Ranges = tuple[tuple[int, int], ...]
Node = tuple[Any, Any]


class Program(NamedTuple):
    """A program, as `TextProgram` takes it."""

    steps: NDArray[np.int32]
    ranges: NDArray[np.uint32]
    n_sets: int
    first: NDArray[np.uint32]
    prefix: bytes
    empty_inside: bool

    @property
    def matches_anywhere(self) -> bool:
        """True if it matches, without a character, at each position of every text."""
        seen: set[int] = set()
        open_ = [0]
        while open_:
            at = open_.pop()
            if at in seen:
                continue
            seen.add(at)
            code, a, b = self.steps[at].tolist()
            if code == DONE:
                return True
            open_ += {RUN: [at + 1], SPLIT: [a, b], JUMP: [a]}.get(code, [])
        return False


def parsed(expression: str, flags: int) -> Any:
    """Return the tree that `re` makes of an expression."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what may mean something else in a later Python
        return sre_parse.parse(expression, flags)


@lru_cache(maxsize=64)
def compiled(expression: str, flags: int) -> Program:
    """Return the program of an expression.

    Raises InvalidArgument for an expression that is not supported.
    Cost: some milliseconds, and a hundred the first time that all code points are tested.
    """
    return _Compiler(parsed(expression, flags)).program()


class _Compiler:
    """Makes the steps of one tree."""

    def __init__(self, tree: Any) -> None:
        self._steps: list[tuple[int, int, int]] = []
        self._sets: dict[Ranges, int] = {}
        self._emit(tree, tree.state.flags)
        self._add(DONE)

    def program(self) -> Program:
        ranges = [(number, *some) for one, number in self._sets.items() for some in one]
        return Program(
            np.array(self._steps, dtype=np.int32),
            np.array(ranges, dtype=np.uint32).reshape(-1, 3),
            len(self._sets),
            np.array(self._first(), dtype=np.uint32),
            self._prefix(),
            re.search(r"\B", "") is not None,
        )

    def _add(self, code: int, a: int = 0, b: int = 0) -> int:
        if len(self._steps) >= MAX_STEPS:
            raise InvalidArgument(
                f"the expression repeats parts too often: it has more than {MAX_STEPS:,} steps; give smaller "
                "bounds, or none: {3,}"
            )
        self._steps.append((code, a, b))
        return len(self._steps) - 1

    def _number(self, ranges: Ranges) -> int:
        return self._sets.setdefault(ranges, len(self._sets))

    def _emit(self, nodes: Sequence[Node], flags: int) -> None:
        for node in nodes:
            op, argument = node
            ranges = ranges_of(node, flags)
            if ranges is not None:
                self._add(SET, self._number(ranges))
            elif op is sre.SUBPATTERN:
                self._emit(argument[3], within_group(flags, argument[1], argument[2]))
            elif op is sre.BRANCH:
                self._branch(argument[1], flags)
            elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
                low, high, part = argument
                self._repeat(low, high, part, op is sre.MAX_REPEAT, flags)
            elif op is sre.AT:
                self._at(argument, flags)
            elif op in (sre.ASSERT, sre.ASSERT_NOT):
                direction, part = argument
                self._look(direction, part, op is sre.ASSERT_NOT, flags)
            else:
                raise InvalidArgument(_unsupported(op))

    def _branch(self, alternatives: Sequence[Any], flags: int) -> None:
        ends = []
        for part in alternatives[:-1]:
            split = self._add(SPLIT)
            self._emit(part, flags)
            ends.append(self._add(JUMP))
            self._steps[split] = (SPLIT, split + 1, len(self._steps))
        self._emit(alternatives[-1], flags)
        for end in ends:
            self._steps[end] = (JUMP, len(self._steps), 0)

    def _repeat(self, low: int, high: Any, part: Any, greedy: bool, flags: int) -> None:
        ranges = ranges_of(part[0], flags) if len(part) == 1 else None
        if high != low and high != 1 and part.getwidth()[0] == 0:
            raise InvalidArgument(
                "the expression repeats a part that can match no character, as in (a*)*; write the part so "
                "that it has one: (a+)*"
            )
        for _ in range(low):
            self._emit(part, flags)
        if high is sre.MAXREPEAT:
            if ranges is not None and greedy:
                self._add(RUN, self._number(ranges))
                return
            split = self._add(SPLIT)
            self._emit(part, flags)
            self._add(JUMP, split)
            self._split(split, greedy)
            return
        splits = []
        for _ in range(low, high):
            splits.append(self._add(SPLIT))
            self._emit(part, flags)
        for split in splits:
            self._split(split, greedy)

    def _split(self, at: int, greedy: bool) -> None:
        """Split into the part, which begins after the split, and the steps after it."""
        inside, past = at + 1, len(self._steps)
        self._steps[at] = (SPLIT, inside, past) if greedy else (SPLIT, past, inside)

    def _at(self, code: Any, flags: int) -> None:
        test = _TESTS[code]
        if flags & sre.SRE_FLAG_MULTILINE:
            test = _IN_LINES.get(code, test)
        words = 0
        if test in (BORDER, NO_BORDER):
            found = ranges_of((sre.IN, [(sre.CATEGORY, sre.CATEGORY_WORD)]), flags)
            words = self._number(found or ())
        self._add(ASSERT, test, words)

    def _look(self, direction: int, part: Any, negated: bool, flags: int) -> None:
        if not len(part):  # of nothing: it always holds, or never
            if negated:
                self._add(SET, self._number(()))
            return
        ranges = _single(part, flags)
        if ranges is None:
            raise InvalidArgument(_unsupported(sre.ASSERT))
        tests = (BEFORE, NOT_BEFORE) if direction < 0 else (AFTER, NOT_AFTER)
        self._add(ASSERT, tests[negated], self._number(ranges))

    # ---- where matches begin

    def _first(self) -> list[int]:
        """Return the sets that have the first character of a match; none if it can be any, or missing."""
        found: set[int] = set()
        seen: set[int] = set()
        open_ = [0]
        while open_:
            at = open_.pop()
            if at in seen:
                continue
            seen.add(at)
            code, a, b = self._steps[at]
            if code == DONE:
                return []
            if code in (SET, RUN):
                found.add(a)
            if code in (RUN, ASSERT):
                open_.append(at + 1)
            elif code == SPLIT:
                open_ += (a, b)
            elif code == JUMP:
                open_.append(a)
        return sorted(found)

    def _prefix(self) -> bytes:
        """Return the bytes with which each match begins."""
        sets, prefix = list(self._sets), ""
        for code, a, _ in self._steps:
            if code != SET or len(sets[a]) != 1 or sets[a][0][0] != sets[a][0][1]:
                break
            prefix += chr(sets[a][0][0])
        return prefix.encode() if is_encodable(prefix) else b""


def is_encodable(text: str) -> bool:
    """Return True if a text does not have half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def within_group(flags: int, added: int, removed: int) -> int:
    """Return the flags within a group."""
    if added & _TYPES:
        flags &= ~_TYPES
    return (flags | added) & ~removed


def _single(part: Any, flags: int) -> Ranges | None:
    """Return the characters of a part that is one character, in groups or not; None for others."""
    while len(part) == 1 and part[0][0] is sre.SUBPATTERN:
        _, added, removed, part = part[0][1]
        flags = within_group(flags, added, removed)
    return ranges_of(part[0], flags) if len(part) == 1 else None


def _unsupported(op: Any) -> str:
    what = {
        sre.GROUPREF: "references to groups, as in \\1",
        sre.GROUPREF_EXISTS: "conditions on groups, as in (?(1)a|b)",
        sre.ASSERT: "lookahead and lookbehind of more than one character, as in (?=ab)",
    }.get(op, "possessive repetitions and atomic groups, as in a++ and (?>a)")
    return f"TEXT ~ searches in time linear in the text, and so does not support {what}"


# ---- sets of characters


def ranges_of(node: Node, flags: int) -> Ranges | None:
    """Return the characters that a node matches; None if it is not exactly one character."""
    op, argument = node
    if op is sre.ANY:
        after = ord("\n") + 1
        both = ((0, after - 2), (after, LAST_CODE_POINT))
        return ((0, LAST_CODE_POINT),) if flags & sre.SRE_FLAG_DOTALL else both
    if op is sre.IN:
        parts = tuple((kind, value) for kind, value in argument)
        return _matching(((op, parts),), flags & (_TYPES | sre.SRE_FLAG_IGNORECASE))
    if op not in (sre.LITERAL, sre.NOT_LITERAL):
        return None
    found: Ranges = ((argument, argument),)
    if flags & sre.SRE_FLAG_IGNORECASE:
        kept = flags & (_TYPES | sre.SRE_FLAG_IGNORECASE)
        found = _in_any_case(argument, kept)
    return found if op is sre.LITERAL else _others(found)


def _others(ranges: Ranges) -> Ranges:
    """Return all code points beside the ranges."""
    edges = [0, *(edge for first, last in ranges for edge in (first, last + 1)), LAST_CODE_POINT + 1]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple((first, stop - 1) for first, stop in pairs if first < stop)


@cache
def _cased() -> str:
    """Return all characters that have another case."""
    every = map(chr, range(LAST_CASED))
    return "".join(one for one in every if one.lower() != one or one.upper() != one)


@lru_cache(maxsize=4096)
def _in_any_case(code: int, flags: int) -> Ranges:
    """Return the characters that a character matches under IGNORECASE."""
    matcher = _matcher(((sre.LITERAL, code),), flags)
    codes = {code, *(ord(one) for one in _cased() if matcher.match(one))}
    return _runs(sorted(codes))


@lru_cache(maxsize=256)
def _matching(nodes: tuple[Node, ...], flags: int) -> Ranges:
    """Return the characters that a set matches, of all code points, by `re` itself."""
    ((_, parts),) = nodes
    plain = all(kind in (sre.LITERAL, sre.RANGE, sre.NEGATE) for kind, _ in parts)
    if plain and not flags & sre.SRE_FLAG_IGNORECASE:
        values = [(v, v) if kind is sre.LITERAL else v for kind, v in parts if kind is not sre.NEGATE]
        joined = _united(values)
        return _others(joined) if parts[0][0] is sre.NEGATE else joined
    matcher = _matcher(((sre.IN, list(parts)),), flags)
    interrupts.check()
    return tuple((match.start(), match.end() - 1) for match in matcher.finditer(_every_character()))


def _matcher(nodes: Sequence[Node], flags: int) -> re.Pattern[str]:
    """Return a pattern of `re` for runs of one node's characters."""
    state = sre_parse.State()
    state.flags = flags
    state.str = ""
    inner = sre_parse.SubPattern(state, list(nodes))
    whole = sre_parse.SubPattern(state, [(sre.MAX_REPEAT, (1, sre.MAXREPEAT, inner))])
    found: re.Pattern[str] = sre_compile.compile(whole, flags)
    return found


@cache
def _every_character() -> str:
    codes = np.arange(LAST_CODE_POINT + 1, dtype="<u4")
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


def _united(ranges: Sequence[tuple[int, int]]) -> Ranges:
    """Return ranges in order, those that overlap or touch as one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def _runs(codes: Sequence[int]) -> Ranges:
    return _united([(code, code) for code in codes])
