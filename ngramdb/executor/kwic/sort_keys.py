"""Lines of a concordance in the order of what stands to the right of the match, or to the left.

- To the right, what is compared is the text, letters' case aside and every white space the same.
- To the left, words are compared, the one next to the match first; a word is what white space separates.
- Of `words` and `tokens`, it is the tokens that are compared, one after the other (token ids by their
  number).

Lines that agree in that come in the order of their numbers. Only as much is read as the order needs, and only
as many lines are sorted as are asked for: lines are grouped by the token next to the match, groups that share
no beginning are apart, and the tokens further on are read only within a group that is wanted (a radix sort
that begins with the most significant token; Kärkkäinen & Rantala 2008).
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

# Groups of so many lines are sorted at once, by all of their contexts: some 10 µs a line.
SORTED_AT_ONCE = 512

# What a line is compared by: any strings, or tuples of strings. Where one begins with another one, the
# shorter comes first; where a group's key grows with its tokens, the old key is a beginning of the new one.
Key = Any

# The token `depth` tokens away from the match of each line, -1 at the document's end: (lines, depth) ->
# tokens.
TokensAt = Callable[[IntArray, int], IntArray]


class ContextKeys:
    """What contexts are compared by. `tokens` are those next to the match, the nearest one first."""

    def __init__(self, tokenizer: Tokenizer, to_left: bool) -> None:
        self._tokenizer = tokenizer
        self._to_left = to_left
        self._spells = tokenizer.token_bytes is not None or tokenizer.kind == "chars"
        self._texts: dict[int, str] = {}

    def expect(self, tokens: IntArray) -> None:
        """Say which tokens are new in keys to come: many are looked up cheaper together."""
        if self._spells or self._tokenizer.kind == "tokens":
            return
        new = [token for token in tokens.tolist() if token >= 0 and token not in self._texts]
        for token, text in zip(new, self._tokenizer.token_texts(new), strict=True):
            self._texts[token] = text.casefold()

    def key(self, tokens: tuple[int, ...], complete: bool) -> Key:
        """The key of these tokens; not `complete` means that others follow, which may lengthen it."""
        if not self._spells:
            texts = tuple(map(self._text, tokens))
            return texts if self._to_left else " ".join(texts)
        if not self._to_left:
            return " ".join(self._decoded(tokens, complete).casefold().split())
        text = self._decoded(tokens[::-1], True).casefold()
        words = text.split()
        if words and not complete and not text[0].isspace():
            del words[0]  # it may go on further to the left
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
        # A character whose last bytes are in the next token is left to it.
        return codecs.utf_8_decode(content, "backslashreplace", complete)[0]


@dataclass
class Group:
    """Lines (ascending) with the same tokens next to the match; `complete`: there is no more to compare."""

    key: Key
    tokens: tuple[int, ...]
    lines: IntArray
    complete: bool


class ContextOrder:
    """Puts lines in order, piece by piece. `window` is how many tokens are compared."""

    def __init__(self, tokens_at: TokensAt, keys: ContextKeys, window: int, descending: bool) -> None:
        self._tokens_at = tokens_at
        self._keys = keys
        self._window = window
        self._descending = descending

    def ordered(self, lines: IntArray) -> Iterator[IntArray]:
        """These lines (ascending), in order, in arrays of any length."""
        empty = self._keys.key((), self._window == 0)
        return self._merged([Group(empty, (), lines, self._window == 0)])

    def _merged(self, groups: list[Group]) -> Iterator[IntArray]:
        for cluster in self._clusters(groups):
            interrupts.check()
            yield from self._sorted(cluster)

    def _clusters(self, groups: list[Group]) -> Iterator[list[Group]]:
        """Put lines together that begin with the same key, apart from all others, in order."""
        groups.sort(key=lambda group: group.key)
        clusters: list[list[Group]] = []
        for group in groups:
            if clusters and _begins(group.key, clusters[-1][0].key):
                clusters[-1].append(group)
            else:
                clusters.append([group])
        return reversed(clusters) if self._descending else iter(clusters)

    def _sorted(self, cluster: list[Group]) -> Iterator[IntArray]:
        """The lines of groups that all begin with the key of the first one."""
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
            # What may become longer is made longer, until it is apart from the others.
            longer = [group for group in shortest if group.complete]
            for group in shortest:
                if not group.complete:
                    longer.extend(self._split(group))
            yield from self._merged(longer + others)

    def _split(self, group: Group) -> Iterator[Group]:
        """The lines of a group by their next token."""
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
        # `reverse` keeps the order of what is equal.
        order = sorted(range(len(lines)), key=keys.__getitem__, reverse=self._descending)
        return lines[order]


def first_in_order(
    n_lines: int, n_first: int, sort: Callable[[IntArray], Iterator[IntArray]], piece: int
) -> Iterator[IntArray]:
    """The numbers of lines in order, in arrays of any length: at least the `n_first` first ones.

    `sort` puts lines (ascending) in order. Where few of many are asked for, it gets `piece` of them at a
    time, with those of the pieces before that may be among the first: memory is that of one piece.
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
    """What `argsort` with kind "stable" gives for integers from -1 to 2**32 - 1, by counting sorts.

    Cost: some 10 ns each; a comparing sort takes ten times that for millions.
    """
    shifted = (values + 1).astype(np.uint64)
    order = np.argsort((shifted & np.uint64(0xFFFF)).astype(np.uint16), kind="stable")
    for shift in (16, 32):
        digits = (shifted >> np.uint64(shift)).astype(np.uint16)
        if digits.any():
            order = order[np.argsort(digits[order], kind="stable")]
    return order


# ---- Places of a document's stored text, converted to places of the text that is shown.


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
        """The shown characters of the characters [start, stop)."""
        if self._is_ascii:
            return start, stop
        return int(self._shown_before[start]), int(self._shown_before[stop])

    def of_bytes(self, start: int, stop: int) -> tuple[int, int]:
        """The shown characters that the bytes [start, stop) are in, each one in full."""
        if self._is_ascii:
            return start, stop
        first = int(np.searchsorted(self._bytes_before, start, side="right")) - 1
        last = int(np.searchsorted(self._bytes_before, stop, side="left"))
        return self.of_characters(first, last)
