"""A string as an automaton over bytes, and the tokens of a vocabulary that are run through it.

Case is folded character by character, as IGNORE CASE applies it: two characters are equal if they have the
same full case folding (Unicode, CaseFolding.txt; Python's `str.casefold`), so that `ß` equals `ẞ`, but not
`ss`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.fork_safety import cached_property
from ngramdb.source import IntArray

# Characters of a string that are processed between two interrupt checks.
CHECK_CHARACTERS = 1 << 12

# Number of first bytes of a token by which candidates for the next token are found.
KEY_BYTES = 3

# The dead state: the input is not part of the string.
DEAD = -1


class Automaton:
    """Reads a string byte by byte: state 0 is its beginning, `accepting` its end.

    A byte leads at most a few states ahead, and most states are alike: a state stores the number of a row
    that has, for each byte, the number of states to advance, 0 for none. Memory: four bytes per state.
    """

    def __init__(self, text: str, ignore_case: bool) -> None:
        rows: dict[tuple[tuple[int, int], ...], int] = {}
        blocks: dict[str, list[int]] = {}
        states: list[int] = []
        for n, character in enumerate(text):
            if n % CHECK_CHARACTERS == 0:
                interrupts.check()
            block = blocks.get(character)
            if block is None:
                steps = _steps_of(same_letters(character) if ignore_case else character)
                block = blocks[character] = [rows.setdefault(step, len(rows)) for step in steps]
            states.extend(block)
        self.accepting = len(states)
        states.append(rows.setdefault((), len(rows)))
        self._row_of = np.array(states, dtype=np.int32)
        self._rows = np.zeros((len(rows), 256), dtype=np.uint8)
        for edges, row in rows.items():
            for byte, step in edges:
                self._rows[row, byte] = step

    def read(self, states: NDArray[np.int32], read: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the state to which a byte leads from each state, or DEAD."""
        steps = self._rows[self._row_of[states], read]
        return np.where(steps > 0, states + steps, np.int32(DEAD))

    def leading(self, state: int) -> list[tuple[int, int]]:
        """Return the bytes that can be read in a state, each with the next state."""
        row = self._rows[self._row_of[state]]
        return [(byte, state + int(row[byte])) for byte in np.flatnonzero(row).tolist()]


def _steps_of(choices: Iterable[str]) -> list[tuple[tuple[int, int], ...]]:
    """Return the states of one character, any of the choices: for each, its bytes and how far they lead."""
    states: list[dict[int, int]] = [{}]
    last = []
    for choice in choices:
        state, encoded = 0, choice.encode()
        for byte in encoded[:-1]:
            if byte not in states[state]:
                states[state][byte] = len(states)
                states.append({})
            state = states[state][byte]
        last.append((state, encoded[-1]))
    for state, byte in last:
        states[state][byte] = len(states)
    return [tuple((byte, to - n) for byte, to in sorted(edges.items())) for n, edges in enumerate(states)]


@dataclass(frozen=True)
class Steps:
    """Tokens that can be read in a state: those that complete the string; others, with the next state."""

    complete: NDArray[np.int64]
    partial: NDArray[np.int64]
    states: NDArray[np.int32]

    @cached_property
    def tokens(self) -> NDArray[np.int64]:
        """The tokens of both kinds, ascending and unique."""
        return np.union1d(self.complete, self.partial)


class Pieces:
    """The bytes of all tokens, run through an automaton."""

    def __init__(self, flat: NDArray[np.uint8], offsets: IntArray, automaton: Automaton) -> None:
        self._flat = flat
        self._offsets = offsets
        self._automaton = automaton
        self._steps: dict[int, Steps] = {}
        lengths = np.diff(offsets)
        self._empty = np.flatnonzero(lengths == 0)
        keys = np.zeros(len(lengths), dtype=np.uint32)
        for n in range(KEY_BYTES):
            keys <<= np.uint32(8)
            there = np.flatnonzero(lengths > n)
            keys[there] |= flat[offsets[there] + n]
        filled = np.flatnonzero(lengths)
        self._sorted = filled[np.argsort(keys[filled], kind="stable")]
        self._keys = keys[self._sorted]

    @cached_property
    def _token_at(self) -> IntArray:
        return np.repeat(np.arange(len(self._offsets) - 1), np.diff(self._offsets))

    def beginnings(self) -> Steps:
        """Return the tokens that begin the string at any of their bytes, once per such byte."""
        return self._run(np.arange(len(self._flat)), self._token_at, 0)

    def steps(self, state: int) -> Steps:
        """Return the tokens that continue the string from their first byte."""
        found = self._steps.get(state)
        if found is None:
            tokens = self._candidates(state)
            found = self._run(self._offsets[:-1][tokens], tokens, state)
            if len(self._empty):  # they spell nothing and stay in the state
                partial = np.concatenate([found.partial, self._empty])
                states = np.concatenate([found.states, np.full(len(self._empty), state, dtype=np.int32)])
                found = Steps(found.complete, partial, states)
            self._steps[state] = found
        return found

    def forget(self, below: int) -> None:
        """Drop the steps of states that are not needed any more."""
        for state in [state for state in self._steps if state < below]:
            del self._steps[state]

    def _candidates(self, state: int) -> IntArray:
        """Return the tokens whose first bytes can be read in a state, and possibly a few others."""
        ranges: set[tuple[int, int]] = set()
        unread = [(state, 0, 0)]
        while unread:
            at, key, n_read = unread.pop()
            n_bits = 8 * (KEY_BYTES - n_read)
            if n_read == KEY_BYTES or at == self._automaton.accepting:
                ranges.add((key << n_bits, (key + 1 << n_bits) - 1))
                continue
            ranges.add((key << n_bits, key << n_bits))  # a token that ends here
            unread += [(to, key << 8 | byte, n_read + 1) for byte, to in self._automaton.leading(at)]
        bounds = np.array(sorted(ranges), dtype=np.uint32)
        starts = np.searchsorted(self._keys, bounds[:, 0], "left").tolist()
        stops = np.searchsorted(self._keys, bounds[:, 1], "right").tolist()
        return np.concatenate([self._sorted[a:b] for a, b in zip(starts, stops, strict=True)])

    def _run(self, places: IntArray, tokens: IntArray, state: int) -> Steps:
        read, accepting = self._automaton.read, self._automaton.accepting
        complete, partial, partial_states = [], [], []
        states = read(np.full(len(places), state, dtype=np.int32), self._flat[places])
        while True:
            alive = states != DEAD
            places, tokens, states = places[alive] + 1, tokens[alive], states[alive]
            if not len(places):
                break
            done = states == accepting
            complete.append(tokens[done])
            at_end = ~done & (places == self._offsets[tokens + 1])
            partial.append(tokens[at_end])
            partial_states.append(states[at_end])
            open_ = ~(done | at_end)
            places, tokens = places[open_], tokens[open_]
            states = read(states[open_], self._flat[places])
        none = np.empty(0, dtype=np.int64)
        return Steps(
            np.concatenate([none, *complete]),
            np.concatenate([none, *partial]),
            np.concatenate([np.empty(0, dtype=np.int32), *partial_states]),
        )


# ---- Case folding.


# All characters with a case folding are below this one (Unicode 15.1: the last is U+1E921).
LAST_FOLDED = 0x1F000


@cache
def _classes() -> dict[str, str]:
    """Return the characters of each case folding that several share. Cost: about 20 ms, once."""
    found: dict[str, list[str]] = {}
    for code in range(LAST_FOLDED):
        character = chr(code)
        folded = character.casefold()
        if folded != character:
            found.setdefault(folded, [folded] if len(folded) == 1 else []).append(character)
    return {folded: "".join(characters) for folded, characters in found.items()}


def same_letters(character: str) -> str:
    """Return the characters that differ from one in case only, beginning with itself."""
    others = _classes().get(character.casefold(), character)
    return character + others.replace(character, "")


def one_case(text: str) -> str:
    """Replace each letter by one of its case folding; texts that differ in case only become equal."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    table = _one_of_each()
    below = codes < LAST_FOLDED
    found = np.where(below, table[np.where(below, codes, 0)], codes)
    return found.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


@cache
def _one_of_each() -> NDArray[np.uint32]:
    """Return the smallest of the same letters for each code point below LAST_FOLDED."""
    table = np.arange(LAST_FOLDED, dtype=np.uint32)
    for characters in _classes().values():
        codes = [ord(character) for character in characters]
        table[codes] = min(codes)
    return table
