"""Token sequences that are followed for as long as they occur in a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ngramdb import interrupts
from ngramdb.errors import ResourceError
from ngramdb.planner.source import Corpus, IntArray

# Below so many tokens that may follow, each is counted; above, all that do follow are listed.
COUNTED_TOKENS = 256

# N-grams that are counted in one call.
COUNTED_AT_ONCE = 1 << 14

# Tokens at a sequence's end that are counted as it grows. The whole is counted when its length doubled and
# when it is complete: so the work grows with the length, not with its square.
WINDOW = 32

# Sequences that are followed at the same time.
MAX_PATHS = 1 << 20


class Path(NamedTuple):
    """A sequence: its node in the tree of all, its last tokens, and how often these occur."""

    node: int
    window: tuple[int, ...]
    n: int


ROOT = Path(-1, (), 0)


class Paths:
    """The tree of the sequences that are followed in a corpus."""

    def __init__(self, corpus: Corpus) -> None:
        self._index = corpus.index
        self._tokens: list[int] = []
        self._parents: list[int] = []

    def following(self, paths: Sequence[Path], tokens: IntArray) -> Iterator[tuple[int, Path]]:
        """What follows paths of one length, out of some tokens, which ascend after a path that is not ROOT.

        The last WINDOW tokens of what comes out do occur.
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
        """Those of some paths of this length that may go on: where it has doubled, those that occur."""
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
        """How often the whole sequence occurs."""
        if len(path.window) < WINDOW:
            return path.n
        interrupts.check()
        return int(self._index.count(self.ids(path)))

    def ids(self, path: Path) -> IntArray:
        """The sequence."""
        if len(path.window) < WINDOW:
            return np.array(path.window, dtype=np.int64)
        found = []
        node = path.node
        while node >= 0:
            found.append(self._tokens[node])
            node = self._parents[node]
        return np.array(found[::-1], dtype=np.int64)

    def _listed(self, path: Path, tokens: IntArray) -> Iterator[tuple[int, Path]]:
        """The same for one path and many tokens, from all that follow its end."""
        following, n_following, *_ = self._index.dist(list(path.window[1 - WINDOW :]), False, 0)
        chosen = np.flatnonzero(np.isin(following, tokens) & (n_following > 0))
        for token, count in zip(following[chosen].tolist(), n_following[chosen].tolist(), strict=True):
            yield token, self._longer(path, token, count)

    def _longer(self, path: Path, token: int, count: int) -> Path:
        self._tokens.append(token)
        self._parents.append(path.node)
        return Path(len(self._tokens) - 1, (*path.window[1 - WINDOW :], token), count)
