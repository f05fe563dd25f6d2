"""Random query sets, drawn from positions of the corpus, and brute-force counts to sort them by frequency.

Every draw comes from a generator seeded by (run's seed, figure, system, round), so no two measurements share
a query set, and all sets of a figure have one distribution. The counts here come from sorting the corpus's
packed n-grams, not from any of the systems: drawing warms none of them, and all can be checked against it.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from peerbench.corpus import TokenCorpus

# Longest n-gram that packs into one 64-bit key of 16-bit ids.
MAX_PACKED = 4

# Half-open frequency classes; the last one has no upper end.
FREQUENCY_CLASSES = ((1, 2), (2, 10), (10, 100), (100, 1_000), (1_000, 10_000), (10_000, 2**62))


def class_name(bounds: tuple[int, int]) -> str:
    """How a frequency class is written in the tables, for example `2–9`."""
    start, stop = bounds
    if stop > 2**32:
        return f"{start // 1000}k+"
    if start >= 1_000:
        return f"{start // 1000}k–{stop // 1000}k"
    return str(start) if stop - start == 1 else f"{start}–{stop - 1}"


def generator(seed: int, *labels: str | int) -> np.random.Generator:
    """A generator of its own for every combination of labels; the same one on every machine."""
    return np.random.default_rng([seed, zlib.crc32("/".join(map(str, labels)).encode())])


@dataclass(frozen=True)
class PackedCounts:
    """Every distinct n-gram of one length and its number of occurrences; `keys` ascending, uint64."""

    n: int
    keys: np.ndarray
    counts: np.ndarray

    def count(self, packed: np.ndarray) -> np.ndarray:
        """Occurrences of each packed n-gram: (m,) int64."""
        if not len(self.keys):
            return np.zeros(len(packed), dtype=np.int64)
        at = np.minimum(np.searchsorted(self.keys, packed), len(self.keys) - 1)
        return np.where(self.keys[at] == packed, self.counts[at], 0)


class Queries:
    """Draws n-grams, contexts and documents from one corpus."""

    def __init__(self, corpus: TokenCorpus) -> None:
        self.corpus = corpus
        self._packed: dict[int, PackedCounts] = {}

    # -- brute force ---------------------------------------------------------------------------------

    def packed_counts(self, n: int) -> PackedCounts:
        """All n-grams of length n <= 4, counted by sorting (some 24 bytes a token meanwhile), and kept."""
        if n not in self._packed:
            keys, counts = np.unique(self._pack(self._starts(n), n), return_counts=True)
            self._packed[n] = PackedCounts(n, keys, counts)
        return self._packed[n]

    def positions(self, ngram: list[int]) -> np.ndarray:
        """Where the n-gram (n >= 1) starts in the corpus, ascending int64: a scan."""
        starts = np.flatnonzero(self.corpus.ids == ngram[0])
        starts = starts[self._room(starts) >= len(ngram)]
        for at, token in enumerate(ngram[1:], start=1):
            starts = starts[self.corpus.ids[starts + at] == token]
        return starts

    def brute_count(self, ngram: list[int]) -> int:
        """Occurrences of one n-gram (n >= 1), by scanning the corpus."""
        return len(self.positions(ngram))

    def documents_with(self, ngram: list[int]) -> np.ndarray:
        """Sorted numbers of the documents that contain the n-gram, by scanning the corpus."""
        return np.unique(np.searchsorted(self.corpus.offsets, self.positions(ngram), side="right") - 1)

    # -- draws ---------------------------------------------------------------------------------------

    def ngrams(self, rng: np.random.Generator, n: int, size: int) -> list[list[int]]:
        """`size` n-grams at uniformly random positions: frequent ones come as often as in the text."""
        return self._windows(self._draw_starts(rng, n, size), n)

    def mixed_ngrams(self, rng: np.random.Generator, max_n: int, size: int) -> list[list[int]]:
        """`size` n-grams whose length is uniform over 1…max_n, in random order."""
        lengths = rng.integers(1, max_n + 1, size)
        starts = self._draw_starts(rng, max_n, size)
        return [
            self.corpus.ids[start : start + n].tolist()
            for start, n in zip(starts.tolist(), lengths.tolist(), strict=True)
        ]

    def by_frequency(
        self,
        rng: np.random.Generator,
        bounds: tuple[int, int],
        size: int,
        lengths: tuple[int, ...] = (1, 2, 3, 4),
    ) -> list[list[int]]:
        """At most `size` n-grams that occur start…stop - 1 times, at random positions, of mixed lengths.

        A rare class of a small corpus gives fewer. The same n-gram may come twice, as in the text.
        """
        share = -(-size // len(lengths))
        found = [ngram for n in lengths for ngram in self._of_class(rng, bounds, n, share)]
        rng.shuffle(found)
        return found[:size]

    def altered(
        self, rng: np.random.Generator, contexts: list[list[int]], nearest: int, farthest: int
    ) -> list[list[int]]:
        """The contexts with one token, `nearest`…`farthest` from the end, replaced by a random one.

        What a model sees in text that is not in the corpus: a suffix of a few tokens matches.
        """
        distances = rng.integers(nearest, farthest + 1, len(contexts))
        replacements = self.corpus.ids[rng.integers(0, self.corpus.n_tokens, len(contexts))]
        for context, distance, token in zip(contexts, distances.tolist(), replacements.tolist(), strict=True):
            context[-distance] = token
        return contexts

    def documents(
        self, rng: np.random.Generator, length: int, size: int, noise: float = 0.0
    ) -> list[list[int]]:
        """`size` beginnings of documents of `length` tokens; a share of the tokens replaced at random."""
        long_enough = np.flatnonzero(np.diff(self.corpus.offsets) >= length)
        starts = self.corpus.offsets[rng.choice(long_enough, size)]
        texts = self.corpus.ids[starts[:, None] + np.arange(length)]
        replaced = rng.random(texts.shape) < noise
        texts[replaced] = self.corpus.ids[rng.integers(0, self.corpus.n_tokens, int(replaced.sum()))]
        return [text.tolist() for text in texts]

    # -- inside --------------------------------------------------------------------------------------

    def _room(self, starts: np.ndarray) -> np.ndarray:
        """Tokens left in the document from each position on: an n-gram starts wherever it is >= n."""
        offsets = self.corpus.offsets
        return offsets[np.searchsorted(offsets, starts, side="right")] - starts

    def _starts(self, n: int) -> np.ndarray:
        return np.flatnonzero(self._room(np.arange(self.corpus.n_tokens)) >= n)

    def _draw_starts(self, rng: np.random.Generator, n: int, size: int) -> np.ndarray:
        starts = np.empty(0, dtype=np.int64)
        while len(starts) < size:
            drawn = rng.integers(0, self.corpus.n_tokens, 2 * size + 100)
            starts = np.concatenate([starts, drawn[self._room(drawn) >= n]])
        return starts[:size]

    def _windows(self, starts: np.ndarray, n: int) -> list[list[int]]:
        return [self.corpus.ids[start : start + n].tolist() for start in starts.tolist()]

    def _pack(self, starts: np.ndarray, n: int) -> np.ndarray:
        packed = np.zeros(len(starts), dtype=np.uint64)
        for at in range(n):
            packed = (packed << np.uint64(16)) | self.corpus.ids[starts + at].astype(np.uint64)
        return packed

    def _of_class(
        self, rng: np.random.Generator, bounds: tuple[int, int], n: int, size: int, max_tries: int = 40
    ) -> list[list[int]]:
        counts = self.packed_counts(n)
        found = np.empty(0, dtype=np.int64)
        for _ in range(max_tries):
            starts = self._draw_starts(rng, n, 4 * size + 1_000)
            occurrences = counts.count(self._pack(starts, n))
            found = np.concatenate([found, starts[(occurrences >= bounds[0]) & (occurrences < bounds[1])]])
            if len(found) >= size:
                break
        return self._windows(found[:size], n)
