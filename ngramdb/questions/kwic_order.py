"""KWIC's lines ordered by their right or left contexts.

- Right contexts are compared as text, without case and with equal white space.
- Left contexts are compared by words, separated by white space, beginning next to the match.
- Under `words` and `tokens`, tokens are compared one by one (token ids by their number).

Lines with equal contexts are in the order of their numbers. Only the tokens that decide the order are read,
and only the requested lines are sorted: lines are grouped by the token next to the match, groups without a
common prefix are separate, and further tokens are read only within a requested group (a radix sort from the
most significant token; Kärkkäinen & Rantala 2008).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ngramdb import interrupts
from ngramdb.source import IntArray
from ngramdb.tokenizers.base import Tokenizer

# Groups up to this size are sorted at once, by complete contexts, at some 10 µs per line.
SORTED_AT_ONCE = 512

# Sort keys of lines: strings, or tuples of strings. A key that is a prefix of another one sorts first, and a
# key of more tokens of a context begins with the key of fewer.
Key = Any

# Returns the token `depth` tokens away from the match of each line, -1 beyond the document: (lines, depth).
TokensAt = Callable[[IntArray, int], IntArray]


class ContextKeys:
    """Sort keys of contexts. `tokens` are those next to the match, the nearest first."""

    def __init__(self, tokenizer: Tokenizer, to_left: bool) -> None:
        self._tokenizer = tokenizer
        self._to_left = to_left
        self._spells = tokenizer.token_bytes is not None or tokenizer.kind == "chars"
        self._texts: dict[int, str] = {}

    def expect(self, tokens: IntArray) -> None:
        """Look up the texts of tokens of later keys: together, they cost less."""
        if self._spells or self._tokenizer.kind == "tokens":
            return
        new = [token for token in tokens.tolist() if token >= 0 and token not in self._texts]
        for token, text in zip(new, self._tokenizer.token_texts(new), strict=True):
            self._texts[token] = text.casefold()

    def key(self, tokens: tuple[int, ...], complete: bool) -> Key:
        """Return the key of these tokens. If not `complete`, others follow, which may lengthen it."""
        if not self._spells:
            texts = tuple(map(self._text, tokens))
            return texts if self._to_left else " ".join(texts)
        if not self._to_left:
            return " ".join(self._decoded(tokens, complete).casefold().split())
        text = self._decoded(tokens[::-1], True).casefold()
        words = text.split()
        if words and not complete and not text[0].isspace():
            del words[0]  # its beginning may be further to the left
        return tuple(reversed(words))

    def _text(self, token: int) -> str:
        found = self._texts.get(token)
        if found is None:
            by_number = self._tokenizer.kind == "tokens"
            found = f"{token:010d}" if by_number else self._tokenizer.token_text(token).casefold()
            self._texts[token] = found
        return found

    def _decoded(self, tokens: tuple[int, ...], complete: bool) -> str:
        content = self._tokenizer.decode_exact(np.array(tokens, dtype=np.uint32))
        if content is None:
            return self._tokenizer.decode(tokens)
        # A character whose last bytes are in the next token is part of that token's key.
        return codecs.utf_8_decode(content, "backslashreplace", complete)[0]


@dataclass
class Group:
    """Lines (ascending) with the same tokens next to the match; `complete` if no others are compared."""

    key: Key
    tokens: tuple[int, ...]
    lines: IntArray
    complete: bool


class ContextOrder:
    """Lines in order, made piece by piece. `window` is the number of tokens compared."""

    def __init__(self, tokens_at: TokensAt, keys: ContextKeys, window: int, descending: bool) -> None:
        self._tokens_at = tokens_at
        self._keys = keys
        self._window = window
        self._descending = descending

    def ordered(self, lines: IntArray) -> Iterator[IntArray]:
        """Yield these lines (ascending) in order, in arrays of any length."""
        empty = self._keys.key((), self._window == 0)
        return self._merged([Group(empty, (), lines, self._window == 0)])

    def _merged(self, groups: list[Group]) -> Iterator[IntArray]:
        for cluster in self._clusters(groups):
            interrupts.check()
            yield from self._sorted(cluster)

    def _clusters(self, groups: list[Group]) -> Iterator[list[Group]]:
        """Return groups that begin with the same key together, in order."""
        groups.sort(key=lambda group: group.key)
        clusters: list[list[Group]] = []
        for group in groups:
            if clusters and _begins(group.key, clusters[-1][0].key):
                clusters[-1].append(group)
            else:
                clusters.append([group])
        return reversed(clusters) if self._descending else iter(clusters)

    def _sorted(self, cluster: list[Group]) -> Iterator[IntArray]:
        """Yield the lines of groups that all begin with the key of the first one."""
        shortest = [group for group in cluster if group.key == cluster[0].key]
        others = cluster[len(shortest) :]
        if all(group.complete for group in shortest):
            same = np.sort(np.concatenate([group.lines for group in shortest]))
            if self._descending:
                yield from self._merged(others)
                yield same
            else:
                yield same
                yield from self._merged(others)
        elif sum(len(group.lines) for group in cluster) <= SORTED_AT_ONCE:
            yield self._sorted_at_once(np.sort(np.concatenate([group.lines for group in cluster])))
        else:
            # Incomplete keys are extended until they differ.
            longer = [group for group in shortest if group.complete]
            for group in shortest:
                if not group.complete:
                    longer.extend(self._split(group))
            yield from self._merged(longer + others)

    def _split(self, group: Group) -> Iterator[Group]:
        """Yield the lines of a group by their next token."""
        tokens = self._tokens_at(group.lines, len(group.tokens))
        order = stable_order(tokens)
        ordered = tokens[order]
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])).tolist()
        stops = [*starts[1:], len(ordered)]
        lines = group.lines[order]
        self._keys.expect(ordered[starts])
        for start, stop, token in zip(starts, stops, ordered[starts].tolist(), strict=True):
            if token < 0:
                yield Group(self._keys.key(group.tokens, True), group.tokens, lines[start:stop], True)
                continue
            following = (*group.tokens, token)
            complete = len(following) == self._window
            yield Group(self._keys.key(following, complete), following, lines[start:stop], complete)

    def _sorted_at_once(self, lines: IntArray) -> IntArray:
        columns = []  # as many as the longest context has tokens
        open_ = np.arange(len(lines))
        for depth in range(self._window):
            tokens = self._tokens_at(lines[open_], depth)
            column = np.full(len(lines), -1, dtype=np.int64)
            column[open_] = tokens
            columns.append(column)
            open_ = open_[tokens >= 0]
            if not len(open_):
                break
        known: dict[tuple[int, ...], Key] = {}
        keys = []
        for row in np.stack(columns, axis=1).tolist():
            context = tuple(row[: row.index(-1)] if -1 in row else row)
            if context not in known:
                known[context] = self._keys.key(context, True)
            keys.append(known[context])
        # `reverse` keeps the order of equal keys.
        order = sorted(range(len(lines)), key=keys.__getitem__, reverse=self._descending)
        return lines[order]


def first_in_order(
    n_lines: int, n_first: int, sort: Callable[[IntArray], Iterator[IntArray]], piece: int
) -> Iterator[IntArray]:
    """Yield the numbers of lines in order, in arrays of any length: at least the first `n_first`.

    `sort` puts lines (ascending) in order. If few of many are requested, it gets `piece` of them at a time,
    with the first ones of earlier pieces: memory is that of one piece.
    """
    if n_lines <= piece or n_first > piece // 8:
        return sort(np.arange(n_lines))
    kept = np.empty(0, dtype=np.int64)
    for start in range(0, n_lines, piece):
        found, n = [kept[:0]], 0
        for some in sort(np.append(kept, np.arange(start, min(start + piece, n_lines)))):
            found.append(some[: n_first - n])
            n += len(found[-1])
            if n >= n_first:
                break
        kept = np.sort(np.concatenate(found))
    return sort(kept)


def _begins(key: Key, beginning: Key) -> bool:
    return bool(key[: len(beginning)] == beginning)


def stable_order(values: IntArray) -> IntArray:
    """Return a stable `argsort` of integers from -1 to 2**32 - 1, by counting sorts.

    Cost: some 10 ns each, a tenth of a comparison sort of millions.
    """
    shifted = (values + 1).astype(np.uint64)
    order = np.argsort((shifted & np.uint64(0xFFFF)).astype(np.uint16), kind="stable")
    for shift in (16, 32):
        digits = (shifted >> np.uint64(shift)).astype(np.uint16)
        if digits.any():
            order = order[np.argsort(digits[order], kind="stable")]
    return order
