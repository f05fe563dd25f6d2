"""Regular expressions over the words of a vocabulary: parsed by Python's `re`, run as a finite automaton.

`re` parses the expression, so that its syntax and the meaning of every class of characters are Python's; the
characters of the vocabulary in each class are determined by `re` itself. An automaton then reads each word
once, whatever the expression is: no expression takes more than linear time. Expressions that need
backtracking (back references, looking ahead and behind) are rejected.

Some expressions can match no word, whatever the documents are. To find them, the deterministic automaton is
run beside one of words: a run of letters, marks, numbers and connectors, or one other character that is not
white space (FORMAT.md has the rule in full; this one accepts slightly more); an ideograph or Hiragana letter
is a word of its own. No word matches if the pair never accepts.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.text.words import SymbolWords
from ngramdb.diacritics import JOINERS, SINGLE, Spelling
from ngramdb.errors import InvalidArgument, ResourceError

# The parser of `re` by its name since Python 3.11, or the one before.
parser: Any = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

# Steps of an automaton before it is made deterministic, and states after: nested repetitions need more.
MAX_STEPS = 5_000
MAX_STATES = 5_000

# Steps in all states together: a second of work.
MAX_WORK = 1_000_000

# States of the deterministic automaton: the dead one and the first one.
DEAD, FIRST = 0, 1

_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
_AT_BEGIN = frozenset({"AT_BEGINNING", "AT_BEGINNING_STRING"})
_AT_END = frozenset({"AT_END", "AT_END_STRING"})
_REFUSED = {
    "ASSERT": "looking ahead or behind, (?=…) or (?<=…),",
    "ASSERT_NOT": "looking ahead or behind, (?!…) or (?<!…),",
    "GROUPREF": "a reference back to a group",
    "GROUPREF_EXISTS": "a condition on a group",
    "POSSESSIVE_REPEAT": "a possessive repetition",
    "ATOMIC_GROUP": "an atomic group",
}


class Words:
    """Words as symbols: the numbers of their characters in `alphabet`, all characters that occur."""

    def __init__(self, texts: str, lengths: NDArray[np.int64]) -> None:
        points = np.frombuffer(texts.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        number_of = np.zeros(int(points.max(initial=0)) + 1, dtype=np.uint32)
        number_of[points] = 1
        characters = np.flatnonzero(number_of)
        number_of[characters] = np.arange(len(characters), dtype=np.uint32)
        self.alphabet = "".join(map(chr, characters.tolist()))
        self._offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        self._symbols = number_of[points]
        self._words = SymbolWords(self._symbols, self._offsets, len(characters))

    def matching(self, expression: str, ignore_case: bool = False) -> NDArray[np.int64]:
        """Return the numbers of the words that match an expression from their first to their last character.

        Raises
        ------
        InvalidArgument
            The expression is invalid, or needs more than an automaton.
        ResourceError
            It has too many states.

        Cost: that of the expression's automaton, then 2-3 ns per character, up to the one that decides.
        """
        table = compiled(expression, self.alphabet, ignore_case)
        return np.flatnonzero(self._words.accepted(table.class_of, table.next, table.accepting))

    def spelled(self, spelling: Spelling) -> NDArray[np.int64]:
        """Return the numbers of the words with a spelling, in ascending order.

        Cost: about 10 ns per word, and 10 ns per further character of words that agree up to it.
        """
        lengths, n = np.diff(self._offsets), len(spelling.choices)
        found = np.flatnonzero(lengths >= n if spelling.is_prefix else lengths == n)
        for place, choice in enumerate(spelling.choices):
            interrupts.check()
            numbers = [self.alphabet.find(character) for character in choice]
            found = found[np.isin(self._symbols[self._offsets[found] + place], numbers)]
            if not len(found):
                break
        return found


@dataclass(frozen=True)
class Table:
    """A deterministic automaton: `next[state, class]`, classes of characters, and accepting states."""

    class_of: NDArray[np.uint32]
    next: NDArray[np.uint32]
    accepting: NDArray[np.uint8]


def parsed(expression: str, flags: int = 0) -> Any:
    """Return the tree of an expression. Raises `re.error`; warnings for programmers are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parser.parse(expression, flags)


def compiled(expression: str, alphabet: str, ignore_case: bool = False) -> Table:
    """Return the automaton of an expression over an alphabet. Raises as `Words.matching`."""
    flags = re.IGNORECASE if ignore_case else re.RegexFlag(0)
    try:
        tree = parsed(expression, flags)
        steps = _Steps(alphabet)
        start = steps.add()
        end = steps.series(tree, int(tree.state.flags), start)
    except re.error as error:
        raise InvalidArgument(f"invalid regular expression /{expression}/: {error}") from None
    except (OverflowError, RecursionError) as error:
        raise _too_large(expression) from error
    except _TooManySteps:
        raise _too_large(expression) from None
    return _deterministic(steps, start, end, expression)


def _too_large(expression: str) -> ResourceError:
    return ResourceError(
        f"/{expression}/ has more than {MAX_STATES:,} states: it is too long, repeats repetitions, or "
        "repeats too often",
        limit=MAX_STATES,
        asked=MAX_STATES + 1,
    )


class _TooManySteps(Exception):
    """The expression has too many steps."""


class _Steps:
    """Thompson's construction: steps that read a class of characters, or continue without reading."""

    def __init__(self, alphabet: str) -> None:
        self.alphabet = alphabet
        self.free: list[list[int]] = []
        self.at_begin: list[list[int]] = []
        self.at_end: list[list[int]] = []
        self.reads: list[tuple[int, int] | None] = []  # the number of a class, and the next step
        self.classes: list[NDArray[np.bool_]] = []
        self._numbers: dict[tuple[str, int], int] = {}

    def add(self) -> int:
        """Add a step and return it."""
        if len(self.free) == MAX_STEPS:
            raise _TooManySteps
        self.free.append([])
        self.at_begin.append([])
        self.at_end.append([])
        self.reads.append(None)
        return len(self.free) - 1

    def series(self, tree: Any, flags: int, at: int) -> int:
        """Add the steps of an expression, after a step. Returns the last one."""
        for code, argument in tree:
            at = self._item(str(code), argument, flags, at)
        return at

    def _item(self, code: str, argument: Any, flags: int, at: int) -> int:
        source = _source_of(code, argument)
        if source is not None:
            return self._read(source, flags, at)
        if code == "SUBPATTERN":
            _, added, removed, inner = argument
            return self.series(inner, (flags | int(added)) & ~int(removed), at)
        if code == "BRANCH":
            last = self.add()
            for branch in argument[1]:
                first = self.add()
                self.free[at].append(first)
                self.free[self.series(branch, flags, first)].append(last)
            return last
        if code in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, inner = argument
            return self._repeat(low, high, inner, flags, at)
        if code == "AT" and str(argument) in _AT_BEGIN | _AT_END:
            last = self.add()
            (self.at_begin if str(argument) in _AT_BEGIN else self.at_end)[at].append(last)
            return last
        what = _REFUSED.get(code, "\\b" if code == "AT" else code)
        raise InvalidArgument(
            f"{what} is not supported in regular expressions over tokens: use characters, classes, groups, "
            "| and repetitions"
        )

    def _repeat(self, low: int, high: Any, inner: Any, flags: int, at: int) -> int:
        for _ in range(low):
            at = self.series(inner, flags, at)
        if high == parser.MAXREPEAT:
            first, last = self.add(), self.add()
            self.free[at] += [first, last]
            self.free[self.series(inner, flags, first)] += [first, last]
            return last
        last = self.add()
        for _ in range(low, high):
            self.free[at].append(last)
            at = self.series(inner, flags, at)
        self.free[at].append(last)
        return last

    def _read(self, source: str, flags: int, at: int) -> int:
        flags &= re.IGNORECASE | re.ASCII | re.DOTALL
        number = self._numbers.get((source, flags))
        if number is None:
            number = self._numbers[source, flags] = len(self.classes)
            members = np.zeros(len(self.alphabet), dtype=np.bool_)
            places = (match.start() for match in re.compile(source, flags).finditer(self.alphabet))
            members[np.fromiter(places, dtype=np.int64)] = True
            self.classes.append(members)
        # A step that reads does nothing else.
        reading, last = self.add(), self.add()
        self.free[at].append(reading)
        self.reads[reading] = (number, last)
        return last

    def reached(self, steps: Sequence[int], begin: bool = False, end: bool = False) -> tuple[int, ...]:
        """Return the steps that are reached without reading: ascending."""
        found, open_ = set(steps), list(steps)
        while open_:
            at = open_.pop()
            more = self.free[at]
            if begin:
                more = more + self.at_begin[at]
            if end:
                more = more + self.at_end[at]
            fresh = [step for step in more if step not in found]
            found.update(fresh)
            open_ += fresh
        return tuple(sorted(found))


def _source_of(code: str, argument: Any) -> str | None:
    """Return an expression for an item that reads one character; None for anything else."""
    if code == "LITERAL":
        return f"[{_point(argument)}]"
    if code == "NOT_LITERAL":
        return f"[^{_point(argument)}]"
    if code == "ANY":
        return "."
    if code != "IN":
        return None
    pieces = []
    for kind, item in argument:
        if str(kind) == "RANGE":
            pieces.append(f"{_point(item[0])}-{_point(item[1])}")
        elif str(kind) == "CATEGORY":
            pieces.append(_CATEGORIES[str(item)])
        else:
            pieces.append("^" if str(kind) == "NEGATE" else _point(item))
    return f"[{''.join(pieces)}]"


def _point(code: int) -> str:
    return f"\\U{code:08x}"


def _deterministic(steps: _Steps, start: int, end: int, expression: str) -> Table:
    """Return the automaton of sets of steps (Rabin and Scott, 1959), over equivalence classes."""
    class_of = np.zeros(len(steps.alphabet), dtype=np.int64)
    for members in steps.classes:
        interrupts.check()
        split = 2 * class_of + members
        class_of = (np.cumsum(np.bincount(split) > 0) - 1)[split]
    n_classes = int(class_of.max(initial=0)) + 1
    example = np.zeros(n_classes, dtype=np.int64)
    example[class_of] = np.arange(len(class_of))
    # For each class of the expression, the classes of the automaton whose union it is.
    lead = [np.flatnonzero(members[example]).tolist() if len(class_of) else [] for members in steps.classes]
    first = steps.reached([start], begin=True)
    states = {(): DEAD, first: FIRST}
    unread = [first]
    rows: list[list[int]] = [[DEAD] * n_classes]
    work = 0
    while unread:
        interrupts.check()
        targets: dict[int, set[int]] = {}
        for step in unread.pop(0):
            read = steps.reads[step]
            if read is not None:
                for number in lead[read[0]]:
                    targets.setdefault(number, set()).add(read[1])
        row = [DEAD] * n_classes
        known: dict[tuple[int, ...], int] = {}
        for number, to in targets.items():
            key = tuple(sorted(to))
            if key not in known:
                reached = steps.reached(key)
                work += len(reached)
                if reached not in states:
                    if len(states) > MAX_STATES or work > MAX_WORK:
                        raise _too_large(expression)
                    states[reached] = len(states)
                    unread.append(reached)
                known[key] = states[reached]
            row[number] = known[key]
        rows.append(row)
    accepting = [
        end in steps.reached(state, begin=number == FIRST, end=True) for state, number in states.items()
    ]
    return Table(
        class_of.astype(np.uint32),
        np.array(rows, dtype=np.uint32).reshape(len(rows), n_classes),
        np.array(accepting, dtype=np.uint8),
    )


# ---- Expressions that no word can match.


# Characters of each kind that an expression can distinguish, besides ASCII and those it names itself.
_SAMPLE = "\u00a0\u3000\u2028\x85éÉßσΣǅªʰ語あア\u0301\u200c٣²Ⅷ_‿–…€😀"
# Most alphabets, for expressions that match no word over the sample.
_LAST_COMMON = 0x3400
_OTHER_SPACE = frozenset("\t\n\v\f\r\x85")
# Kinds of characters, and states of the automaton of words after one of them.
_START, _IN_RUN, _COMPLETE, _SINGLE, _MARK = range(5)
# The kinds of characters that may follow in a word, by its state.
_FOLLOWING = {
    _START: {_IN_RUN, _COMPLETE, _SINGLE, _MARK},
    _IN_RUN: {_IN_RUN, _MARK},
    _COMPLETE: set(),
    _SINGLE: {_MARK},
}


@lru_cache(1 << 10)
def some_word_matches(
    expression: str, ignore_case: bool, changed: Callable[[str], str] | None = None
) -> bool:
    """Return True if a word may match a valid expression as a whole.

    `changed` is applied to text before it is cut into words: a character that it changes occurs in no word.

    Notes
    -----
    Cost: about a millisecond, and ten if no word matches; cached for repeated calls.
    """
    named = "".join({chr(code) for code in _codes(parsed(expression)) if not 0xD800 <= code < 0xE000})
    own = _SAMPLE + named + named.lower() + named.upper()
    few = map(chr, range(128))
    many = map(chr, range(_LAST_COMMON))
    return any(
        _meet(expression, "".join(sorted({*some, *own})), ignore_case, changed) for some in (few, many)
    )


def _codes(tree: Any) -> Iterator[int]:
    """Yield the code points in the tree of an expression, and perhaps other small numbers."""
    if isinstance(tree, int):
        if 0 <= tree < 0x110000:
            yield int(tree)
    elif isinstance(tree, (list, tuple)) or hasattr(tree, "data"):
        for item in getattr(tree, "data", tree):
            yield from _codes(item)


def _meet(expression: str, alphabet: str, ignore_case: bool, changed: Callable[[str], str] | None) -> bool:
    """Return True if a word over the alphabet matches."""
    table = compiled(expression, alphabet, ignore_case)
    kinds = {
        (number, _kind(character))
        for character, number in zip(alphabet, table.class_of.tolist(), strict=True)
        if changed is None or changed(character) == character
    }
    found, open_ = {(FIRST, _START)}, [(FIRST, _START)]
    while open_:
        state, word = open_.pop()
        if word != _START and table.accepting[state]:
            return True
        for number, kind in kinds:
            if kind not in _FOLLOWING[word]:
                continue
            after = kind if kind != _MARK else word if word != _START else _IN_RUN
            step = int(table.next[state, number]), after
            if step[0] != DEAD and step not in found:
                found.add(step)
                open_.append(step)
    return False


def _kind(character: str) -> int:
    """Return the kind of a character; _START for white space."""
    kind = category(character)
    if kind[0] == "M":
        return _MARK
    if SINGLE.match(character):
        return _SINGLE
    if kind[0] in "LN" or kind == "Pc" or character in JOINERS:
        return _IN_RUN
    return _START if kind[0] == "Z" or character in _OTHER_SPACE else _COMPLETE
