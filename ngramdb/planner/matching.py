"""Which exact n-grams spell a string, whatever its token boundaries or the case of its letters.

Where a text is the concatenation of its tokens' bytes, a string begins inside some token, goes on over whole
tokens and ends inside the last one. The string is made an automaton over bytes (with IGNORE CASE, one that
takes either case); every token of the vocabulary is run through it, and sequences of tokens are followed as
long as they occur in the corpus. What is found is complete: the string's occurrences are the variants'.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.errors import ResourceError
from ngramdb.planner.plan import Gram, StoredText, Variants, same_letters, show_text
from ngramdb.planner.source import Corpus, IntArray, Tokenizer

# Variants beyond this make a plan that nobody can read, and a count that is cheaper by other means.
MAX_VARIANTS = 20_000

# Below so many tokens that may follow, each is counted; above, all that do follow are listed.
COUNTED_TOKENS = 256

# N-grams that are counted in one call.
COUNTED_AT_ONCE = 1 << 16

# Characters of a string that are worked on between two interrupt checks.
CHECK_CHARACTERS = 1 << 12

# Bytes of a vocabulary that are searched between two interrupt checks.
CHECK_BYTES = 1 << 20

# No state: what was read is no part of the string.
DEAD = -1


class Automaton:
    """Reads a string byte by byte: state 0 is its beginning, `accepting` its end."""

    def __init__(self, text: str, ignore_case: bool) -> None:
        states: list[dict[int, int]] = [{}]
        begin = 0
        for n, character in enumerate(text):
            if n % CHECK_CHARACTERS == 0:
                interrupts.check()
            choices = same_letters(character) if ignore_case else character
            end = len(states)
            states.append({})
            for choice in choices:
                state, encoded = begin, choice.encode()
                for byte in encoded[:-1]:
                    if byte not in states[state]:
                        states[state][byte] = len(states)
                        states.append({})
                    state = states[state][byte]
                states[state][encoded[-1]] = end
            begin = end
        self.accepting = begin
        self.table = np.full((len(states), 256), DEAD, dtype=np.int32)
        for state, edges in enumerate(states):
            if state % CHECK_CHARACTERS == 0:
                interrupts.check()
            for byte, following in edges.items():
                self.table[state, byte] = following


@dataclass(frozen=True)
class Steps:
    """What single tokens do from one state: those that complete the string, those that lead on, and where."""

    complete: NDArray[np.int64]
    partial: NDArray[np.int64]
    states: NDArray[np.int32]

    @cached_property
    def tokens(self) -> NDArray[np.int64]:
        """All of them, ascending, each once."""
        return np.union1d(self.complete, self.partial)


class _Vocabulary:
    """The bytes of all tokens, run through an automaton."""

    def __init__(self, flat: NDArray[np.uint8], offsets: IntArray, automaton: Automaton) -> None:
        self._flat = flat
        self._offsets = offsets
        self._automaton = automaton
        self._steps: dict[int, Steps] = {}

    @cached_property
    def _token_at(self) -> IntArray:
        return np.repeat(np.arange(len(self._offsets) - 1), np.diff(self._offsets))

    def beginnings(self) -> Steps:
        """The string begun at any byte of any token; a token stands once for each place."""
        return self._run(np.arange(len(self._flat)), self._token_at, 0)

    def steps(self, state: int) -> Steps:
        """The string gone on with from the first byte of any token."""
        found = self._steps.get(state)
        if found is None:
            interrupts.check()
            lengths = np.diff(self._offsets)
            tokens = np.flatnonzero(lengths)
            found = self._run(self._offsets[:-1][tokens], tokens, state)
            empty = np.flatnonzero(lengths == 0)
            if len(empty):  # they spell nothing and lead nowhere else
                partial = np.concatenate([found.partial, empty])
                states = np.concatenate([found.states, np.full(len(empty), state, dtype=np.int32)])
                found = Steps(found.complete, partial, states)
            self._steps[state] = found
        return found

    def _run(self, places: IntArray, tokens: IntArray, state: int) -> Steps:
        table, accepting = self._automaton.table, self._automaton.accepting
        complete, partial, partial_states = [], [], []
        states = table[state, self._flat[places]]
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
            states = table[states[open_], self._flat[places]] if len(places) else states[open_]
        none = np.empty(0, dtype=np.int64)
        return Steps(
            np.concatenate([none, *complete]),
            np.concatenate([none, *partial]),
            np.concatenate([np.empty(0, dtype=np.int32), *partial_states]),
        )


def spelled_variants(text: str, ignore_case: bool, corpus: Corpus) -> Variants:
    """The token sequences that spell a string, which is not empty, in a corpus whose tokens spell its texts.

    Raises
    ------
    ResourceError
        There are more than MAX_VARIANTS.

    Cost: some passes over the vocabulary's bytes, and a count for each sequence that is followed.
    """
    pieces = corpus.tokenizer.token_bytes
    assert pieces is not None
    vocabulary = _Vocabulary(pieces[0], pieces[1], Automaton(text, ignore_case))
    begun = vocabulary.beginnings()
    found: Counter[tuple[int, ...]] = Counter()
    counts: dict[tuple[int, ...], int] = {}
    tokens, weights = np.unique(begun.complete, return_counts=True)
    weight_of = dict(zip(tokens.tolist(), weights.tolist(), strict=True))
    for _, ids, count in _following([()], tokens, corpus):
        found[ids], counts[ids] = weight_of[ids[0]], count
    level: dict[int, list[tuple[int, ...]]] = {}
    for state in np.unique(begun.states).tolist():
        level[state] = [ids for _, ids, _ in _following([()], begun.partial[begun.states == state], corpus)]
    while level:
        longer: dict[int, list[tuple[int, ...]]] = {}
        for state, prefixes in level.items():
            steps = vocabulary.steps(state)
            complete = set(steps.complete.tolist())
            leads_to = dict(zip(steps.partial.tolist(), steps.states.tolist(), strict=True))
            for token, ids, count in _following(prefixes, steps.tokens, corpus):
                if token in complete:
                    # Once for every place in its first token where the string begins.
                    found[ids] += 1
                    counts[ids] = count
                else:
                    longer.setdefault(leads_to[token], []).append(ids)
            _limit(len(found), text)
        level = longer
    return _variants(
        {ids: (weight, counts[ids]) for ids, weight in found.items()},
        text,
        ignore_case,
        corpus.tokenizer,
        exact=False,
    )


def case_variants(text: str, choices: Sequence[IntArray], corpus: Corpus) -> Variants:
    """The n-grams whose token i is one of choices[i], as far as they occur: IGNORE CASE token by token."""
    found: dict[tuple[int, ...], int] = {(): 0}
    for tokens in choices:
        interrupts.check()
        found = {ids: count for _, ids, count in _following(list(found), tokens, corpus)}
        _limit(len(found), text)
    variants = {ids: (1, count) for ids, count in found.items()}
    return _variants(variants, text, True, corpus.tokenizer, exact=True)


def _limit(n: int, text: str) -> None:
    if n > MAX_VARIANTS:
        raise ResourceError(
            f"{show_text(text)} is spelled in more than {MAX_VARIANTS:,} ways; give a longer string",
            limit=MAX_VARIANTS,
            asked=n,
        )


def _following(
    prefixes: Sequence[tuple[int, ...]], tokens: IntArray, corpus: Corpus
) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """Which tokens follow which prefixes (all of one length): the token, both together, and how often."""
    if not len(tokens) or not prefixes:
        return
    if len(tokens) > COUNTED_TOKENS and prefixes[0]:
        for ids in prefixes:
            interrupts.check()
            yield from _listed(ids, tokens, corpus)
        return
    n_together = max(1, COUNTED_AT_ONCE // len(tokens))
    length = len(prefixes[0])
    offsets = np.arange(n_together * len(tokens) + 1, dtype=np.int64) * (length + 1)
    for start in range(0, len(prefixes), n_together):
        some = prefixes[start : start + n_together]
        flat = np.empty((len(some), len(tokens), length + 1), dtype=np.int64)
        flat[:, :, :-1] = np.array(some, dtype=np.int64).reshape(len(some), 1, length)
        flat[:, :, -1] = tokens
        counts = corpus.index.count_many(flat.ravel(), offsets[: len(some) * len(tokens) + 1])
        for place in np.flatnonzero(counts > 0).tolist():
            token = int(tokens[place % len(tokens)])
            yield token, (*some[place // len(tokens)], token), int(counts[place])


def _listed(
    ids: tuple[int, ...], tokens: IntArray, corpus: Corpus
) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """The same for one prefix and many tokens (ascending), from all that follow it."""
    following, n_following, *_ = corpus.index.dist(list(ids), False, 0)
    chosen = np.flatnonzero(np.isin(following, tokens) & (n_following > 0))
    for token, count in zip(following[chosen].tolist(), n_following[chosen].tolist(), strict=True):
        yield token, (*ids, token), count


def _variants(
    found: dict[tuple[int, ...], tuple[int, int]],
    text: str,
    ignore_case: bool,
    tokenizer: Tokenizer,
    exact: bool,
) -> Variants:
    """Variants from {ids: (weight, count)}; `exact` says that tokens were compared, not text."""
    ordered = sorted(found.items())
    grams = tuple(
        Gram(np.array(ids, dtype=np.int64), " ".join(show_text(tokenizer.token_text(i)) for i in ids))
        for ids, _ in ordered
    )
    shown = show_text(text) + ("" if exact else " MATCH TEXT") + (" IGNORE CASE" if ignore_case else "")
    return Variants(
        shown,
        grams,
        tuple(weight for _, (weight, _) in ordered),
        tuple(count for _, (_, count) in ordered),
        None if exact else StoredText(shown, text, ignore_case),
    )


# ---- vocabularies of words --------------------------------------------------------------------------------


class WordList:
    """A vocabulary as one string of bytes, a line a word, for regular expressions."""

    def __init__(self, flat: NDArray[np.uint8], offsets: IntArray) -> None:
        self.n_words = len(offsets) - 1
        content = np.insert(flat, offsets[1:], ord("\n"))
        self._content = content.tobytes()
        self._ends = np.flatnonzero(content == ord("\n"))

    def matching(self, expression: bytes) -> IntArray:
        """The ids of the words that match an expression, which must not match line ends: ascending."""
        compiled = re.compile(expression, re.MULTILINE)
        places: list[int] = []
        start = 0
        while start < len(self._content):
            interrupts.check()
            last = int(np.searchsorted(self._ends, min(start + CHECK_BYTES, len(self._content) - 1)))
            stop = int(self._ends[last]) + 1
            places.extend(match.start() for match in compiled.finditer(self._content, start, stop))
            start = stop
        ids: IntArray = np.unique(np.searchsorted(self._ends, np.array(places, dtype=np.int64)))
        return ids


_WORD_LISTS: WeakKeyDictionary[Tokenizer, WordList] = WeakKeyDictionary()


def word_list(tokenizer: Tokenizer) -> WordList:
    """The tokenizer's words. Cost: a pass over the vocabulary, again when it has grown."""
    found = _WORD_LISTS.get(tokenizer)
    if found is None or found.n_words != tokenizer.n_vocabulary:
        pieces = tokenizer.spellings
        assert pieces is not None
        found = _WORD_LISTS[tokenizer] = WordList(*pieces)
    return found


def byte_expression(text: str, ignore_case: bool) -> bytes:
    """A regular expression over bytes that matches the text's UTF-8, in any case or as it stands."""
    if not ignore_case:
        return re.escape(text.encode())
    pieces = []
    for character in text:
        choices = [re.escape(choice.encode()) for choice in same_letters(character)]
        pieces.append(choices[0] if len(choices) == 1 else b"(?:" + b"|".join(choices) + b")")
    return b"".join(pieces)
