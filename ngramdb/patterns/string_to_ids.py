"""Exact n-grams that spell a string, whatever its token boundaries or the case of its letters.

If a text is the concatenation of its tokens' bytes, a string begins inside some token, continues over whole
tokens and ends inside the last one. The string becomes an automaton over bytes (with IGNORE CASE, one that
accepts either case). Every token of the vocabulary is run through it, and sequences of tokens are extended as
long as they occur in the corpus. The result is complete: the variants have all occurrences of the string.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.errors import ResourceError
from ngramdb.patterns.automaton import Automaton, Pieces, same_letters
from ngramdb.patterns.grams import Gram, show_text
from ngramdb.patterns.nodes import StoredText, Variants
from ngramdb.source import Corpus, IntArray
from ngramdb.tokenizers.base import Tokenizer

# Limit of variants: more make a plan too long to read, and other ways to count are faster.
MAX_VARIANTS = 20_000

# Number of tokens of a variant that plans print.
SHOWN_TOKENS = 100

# Expressions whose words are kept, and the most words of each: the next statements often have the same ones.
KEPT, MAX_KEPT = 64, 1 << 12

# Bytes of a vocabulary that are searched between two interrupt checks.
CHECK_BYTES = 1 << 20


def spelled_variants(text: str, ignore_case: bool, corpus: Corpus) -> Variants:
    """Return the token sequences that spell a non-empty string, in a corpus whose tokens spell its texts.

    Raises
    ------
    ResourceError
        There are more than MAX_VARIANTS.

    Cost: a few passes over the vocabulary's bytes, and a count per sequence that is extended.
    """
    pieces = corpus.tokenizer.spellings
    assert pieces is not None
    found: Counter[tuple[int, ...]] = Counter()
    counts: dict[tuple[int, ...], int] = {}
    paths = Paths(corpus)
    vocabulary = Pieces(pieces[0], pieces[1], Automaton(text, ignore_case))
    begun = vocabulary.beginnings()

    def complete(path: Path, weight: int) -> None:
        count = paths.count(path)
        if count:
            ids = tuple(paths.ids(path).tolist())
            found[ids] += weight
            counts[ids] = count
            _limit(len(found), text)

    tokens, weights = np.unique(begun.complete, return_counts=True)
    weight_of = dict(zip(tokens.tolist(), weights.tolist(), strict=True))
    for token, path in paths.following([ROOT], tokens):
        complete(path, weight_of[token])
    level: dict[int, list[Path]] = {}
    for state in np.unique(begun.states).tolist():
        level[state] = [path for _, path in paths.following([ROOT], begun.partial[begun.states == state])]
    length = 1
    while level:
        vocabulary.forget(min(level))
        longer: dict[int, list[Path]] = {}
        length += 1
        for state, begun_paths in level.items():
            steps = vocabulary.steps(state)
            completing = set(steps.complete.tolist())
            leads_to = dict(zip(steps.partial.tolist(), steps.states.tolist(), strict=True))
            for token, path in paths.following(begun_paths, steps.tokens):
                if token in completing:
                    # Once per position in its first token at which the string begins.
                    complete(path, 1)
                else:
                    longer.setdefault(leads_to[token], []).append(path)
        level = {state: some for state, all_ in longer.items() if (some := paths.occurring(all_, length))}
    return _variants(
        {ids: (weight, counts[ids]) for ids, weight in found.items()},
        text,
        ignore_case,
        corpus.tokenizer,
        exact=False,
    )


def sole_variant(text: str, corpus: Corpus, exact: bool) -> Variants:
    """Return the tokens of a text that can be spelled in one way only; no variant if it does not occur."""
    ids = corpus.tokenizer.encode(text)
    count = int(corpus.index.count(ids))
    found = {tuple(ids.tolist()): (1, count)} if count else {}
    return _variants(found, text, False, corpus.tokenizer, exact)


def compared_texts(text: str, tokenizer: Tokenizer) -> list[str]:
    """Return the tokens of a text as `Tokenizer.matching` compares them, unknown words included."""
    if tokenizer.has_own_words:
        return tokenizer.split(text)
    return tokenizer.compared_texts(tokenizer.encode(text))


def case_variants(
    text: str, choices: Iterable[IntArray], corpus: Corpus, by_tokens: bool = False
) -> Variants:
    """Return the n-grams that occur and whose token i is one of choices[i]: IGNORE CASE token by token.

    `by_tokens` : print MATCH TOKENS in plans, without which text would be compared
    """
    paths = Paths(corpus)
    found = [ROOT]
    for n, tokens in enumerate(choices):
        found = paths.occurring([path for _, path in paths.following(found, tokens)], n + 1)
        if len(found) > MAX_VARIANTS:
            found = [path for path in found if paths.count(path)]
            _limit(len(found), text)
        if not found:
            break
    pairs = [(tuple(paths.ids(path).tolist()), paths.count(path)) for path in found]
    variants = {ids: (1, count) for ids, count in pairs if count}
    return _variants(variants, text, True, corpus.tokenizer, exact=True, by_tokens=by_tokens)


def _limit(n: int, text: str) -> None:
    if n > MAX_VARIANTS:
        raise ResourceError(
            f"{show_text(text)} is spelled in more than {MAX_VARIANTS:,} ways; give a longer string",
            limit=MAX_VARIANTS,
            asked=n,
        )


def _variants(
    found: dict[tuple[int, ...], tuple[int, int]],
    text: str,
    ignore_case: bool,
    tokenizer: Tokenizer,
    exact: bool,
    by_tokens: bool = False,
) -> Variants:
    """Make variants from {ids: (weight, count)}; `exact`: tokens were compared, not text."""
    ordered = sorted(found.items())
    grams = tuple(Gram(np.array(ids, dtype=np.int64), _shown_tokens(ids, tokenizer)) for ids, _ in ordered)
    shown = show_text(text) + (" MATCH TOKENS" if by_tokens else "" if exact else " MATCH TEXT")
    shown += " IGNORE CASE" if ignore_case else ""
    return Variants(
        shown,
        grams,
        tuple(weight for _, (weight, _) in ordered),
        tuple(count for _, (_, count) in ordered),
        None if exact else StoredText(shown, text, ignore_case),
    )


def _shown_tokens(ids: tuple[int, ...], tokenizer: Tokenizer) -> str:
    shown = [show_text(tokenizer.token_text(i)) for i in ids[:SHOWN_TOKENS]]
    return " ".join(shown if len(ids) <= SHOWN_TOKENS else [*shown, "…"])


# ---- vocabularies of words --------------------------------------------------------------------------------


class VocabularyText:
    """A vocabulary as one string of bytes, a line per word, for regular expressions."""

    def __init__(self, flat: NDArray[np.uint8], offsets: IntArray) -> None:
        self.n_words = len(offsets) - 1
        # A line end before the first word, too: a word begins behind one.
        content = np.insert(flat, offsets, ord("\n"))
        self._content = content.tobytes()
        self._ends = np.flatnonzero(content == ord("\n"))
        self._recent: dict[bytes, IntArray] = {}

    def matching(self, expression: bytes) -> IntArray:
        """Return the ids of the words that match an expression, which must not match line ends: ascending."""
        found = self._recent.get(expression)
        if found is None:
            found = self._matching(expression)
            if len(found) <= MAX_KEPT:
                if len(self._recent) >= KEPT:
                    self._recent.clear()
                self._recent[expression] = found
        ids: IntArray = found.copy()
        return ids

    def _matching(self, expression: bytes) -> IntArray:
        # Python searches for a string at once, and tries `^` at each place.
        begins = expression.startswith(b"^")
        compiled = re.compile(b"\n" + expression[1:] if begins else expression, re.MULTILINE)
        places: list[int] = []
        start = 0
        while start < len(self._content) - 1:
            interrupts.check()
            last = int(np.searchsorted(self._ends, min(start + CHECK_BYTES, len(self._content) - 1)))
            stop = int(self._ends[last])
            places.extend(match.start() for match in compiled.finditer(self._content, start, stop))
            start = stop
        found = np.array(places, dtype=np.int64) + begins
        ids: IntArray = np.unique(np.searchsorted(self._ends, found) - 1)
        return ids


_VOCABULARIES: WeakKeyDictionary[Tokenizer, VocabularyText] = WeakKeyDictionary()


def word_list(tokenizer: Tokenizer) -> VocabularyText:
    """Return the tokenizer's words. Cost: a pass over the vocabulary whenever it has grown."""
    found = _VOCABULARIES.get(tokenizer)
    if found is None or found.n_words != tokenizer.n_vocabulary:
        pieces = tokenizer.spellings
        if pieces is None:  # the tokenizer changes texts
            texts = [text.encode() for text in tokenizer.all_texts()]
            offsets = np.cumsum([0, *map(len, texts)])
            pieces = np.frombuffer(b"".join(texts), dtype=np.uint8), offsets
        found = _VOCABULARIES[tokenizer] = VocabularyText(*pieces)
    return found


def byte_expression(text: str, ignore_case: bool) -> bytes:
    """Return a regular expression over bytes for the text's UTF-8, in any case or exactly."""
    if not ignore_case:
        return re.escape(text.encode())
    pieces = []
    for character in text:
        choices = [re.escape(choice.encode()) for choice in same_letters(character)]
        pieces.append(choices[0] if len(choices) == 1 else b"(?:" + b"|".join(choices) + b")")
    return b"".join(pieces)


# ---- token sequences that are extended as long as they occur in a corpus


# Up to this many possible next tokens, each is counted; with more, all tokens that follow are listed.
COUNTED_TOKENS = 256

# Number of n-grams that are counted in one call.
COUNTED_AT_ONCE = 1 << 14

# Number of last tokens of a sequence that are counted as it grows. The whole is counted when its length has
# doubled and when it is complete, so that the work grows with the length, not with its square.
WINDOW = 32

# Limit of sequences that are extended at the same time.
MAX_PATHS = 1 << 20


class Path(NamedTuple):
    """A sequence: its node in the tree of all, its last tokens, and the number of occurrences of these."""

    node: int
    window: tuple[int, ...]
    n: int


ROOT = Path(-1, (), 0)


class Paths:
    """The tree of the sequences that are extended in a corpus."""

    def __init__(self, corpus: Corpus) -> None:
        self._index = corpus.index
        self._tokens: list[int] = []
        self._parents: list[int] = []

    def following(self, paths: Sequence[Path], tokens: IntArray) -> Iterator[tuple[int, Path]]:
        """Yield extensions of paths of one length by given tokens, which ascend unless the path is ROOT.

        The last WINDOW tokens of a result occur in the corpus.
        """
        interrupts.check()
        if not len(tokens) or not paths:
            return
        if len(tokens) > COUNTED_TOKENS and paths[0].window:
            for path in paths:
                interrupts.check()
                yield from self._listed(path, tokens)
            return
        n_together = max(1, COUNTED_AT_ONCE // len(tokens))
        kept = min(len(paths[0].window), WINDOW - 1)
        offsets = np.arange(n_together * len(tokens) + 1, dtype=np.int64) * (kept + 1)
        for start in range(0, len(paths), n_together):
            some = paths[start : start + n_together]
            flat = np.empty((len(some), len(tokens), kept + 1), dtype=np.int64)
            ends = [path.window[len(path.window) - kept :] for path in some]
            flat[:, :, :-1] = np.array(ends, dtype=np.int64).reshape(len(some), 1, kept)
            flat[:, :, -1] = tokens
            counts = self._index.count_many(flat.ravel(), offsets[: len(some) * len(tokens) + 1])
            for place in np.flatnonzero(counts > 0).tolist():
                token, path = int(tokens[place % len(tokens)]), some[place // len(tokens)]
                yield token, self._longer(path, token, int(counts[place]))

    def occurring(self, paths: Sequence[Path], length: int) -> list[Path]:
        """Return the paths that may be extended; if the length has doubled, only those that occur.

        Raises ResourceError if there are more than MAX_PATHS.
        """
        if len(paths) > MAX_PATHS:
            raise ResourceError(
                f"more than {MAX_PATHS:,} sequences of tokens may begin the text; give a shorter one",
                limit=MAX_PATHS,
                asked=len(paths),
            )
        if length <= WINDOW or length & (length - 1):
            return list(paths)
        return [path for path in paths if self.count(path)]

    def count(self, path: Path) -> int:
        """Return the number of occurrences of the whole sequence."""
        if len(path.window) < WINDOW:
            return path.n
        interrupts.check()
        return int(self._index.count(self.ids(path)))

    def ids(self, path: Path) -> IntArray:
        """Return the tokens of the sequence."""
        if len(path.window) < WINDOW:
            return np.array(path.window, dtype=np.int64)
        found = []
        node = path.node
        while node >= 0:
            found.append(self._tokens[node])
            node = self._parents[node]
        return np.array(found[::-1], dtype=np.int64)

    def _listed(self, path: Path, tokens: IntArray) -> Iterator[tuple[int, Path]]:
        """Yield extensions of one path by many tokens, out of all that follow its end."""
        following, n_following, *_ = self._index.dist(list(path.window[1 - WINDOW :]), False, 0)
        chosen = np.flatnonzero(np.isin(following, tokens) & (n_following > 0))
        for token, count in zip(following[chosen].tolist(), n_following[chosen].tolist(), strict=True):
            yield token, self._longer(path, token, count)

    def _longer(self, path: Path, token: int, count: int) -> Path:
        self._tokens.append(token)
        self._parents.append(path.node)
        return Path(len(self._tokens) - 1, (*path.window[1 - WINDOW :], token), count)
