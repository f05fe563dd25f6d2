"""The measure `decon`: how much of an item's question, answer and passage a document has, each in its place.

The formula and its numbers are those of allenai/decon (commit e1bcb80: `src/detect/scoring.rs`, `cluster.rs`,
`answer_boundary.rs`, `passage_boundary.rs`, `config/default.yaml`):

- A *cluster* is a part of a document with n-grams of a question, with fewer than 11 n-grams of others between
  two of them. Its overlap is the share of the question's distinct n-grams, each weighted with ln(N / df): N
  items in the set, df of them with the n-gram in their question.
- An answer of up to 3 tokens counts if it begins within 50 tokens after the cluster; of a longer one the
  weighted share of its 3-grams counts that are within 100 tokens, or twice its length. Of a passage it is the
  weighted share of its 4-grams, as far before the cluster.
- The score is their weighted sum; a question of fewer than 20 n-grams and an answer of fewer than 4 tokens
  count less, and the other parts more. The question's own share must also reach what the other parts leave.
- Items of up to 20 tokens in all must be complete; up to 50 tokens the threshold falls to the one given.

Unlike decon, which samples every tenth token for the first n-gram, this compares every n-gram. Items of fewer
than 20 tokens, which decon skips, are compared. If all items of a set share all n-grams, as in a set of one
item, each n-gram counts 1 instead of ln(1) = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.curation.items import Matches, Pairs, batches

Ints = NDArray[np.int64]
Shares = NDArray[np.float64]

# Names of the fields of an item.
QUESTION, ANSWER, PASSAGE = "question", "answer", "passage"
# N-grams of others that end a cluster.
MISSES = 11
# The greatest number of tokens of items that must be complete, and the number from which the threshold holds.
COMPLETE, FULL = 20, 50
SHORT_ANSWER, SHORT_WINDOW = 3, 50
ANSWER_N, PASSAGE_N, LEAST_WINDOW = 3, 4, 100
# N-grams of others within a passage.
PASSAGE_MISSES = 2
INFORMATIVE_NGRAMS, INFORMATIVE_TOKENS = 20, 4
# Sums of shares this close to 1 are 1.
ALMOST = 1e-9
# N-grams that are compared at a time.
CHUNK = 1 << 22


class Texts(NamedTuple):
    """Token ids of texts: those of text k are flat[offsets[k] : offsets[k + 1]]."""

    flat: Ints
    offsets: Ints

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]]) -> Texts:
        """Return texts given one by one."""
        flat = np.array([token for text in texts for token in text], dtype=np.int64)
        return cls(flat, np.cumsum([0, *map(len, texts)], dtype=np.int64))

    @property
    def lengths(self) -> Ints:
        """Numbers of tokens: (k,) int64."""
        return np.diff(self.offsets)

    def text(self, k: int) -> list[int]:
        """Return the ids of one text."""
        ids: list[int] = self.flat[self.offsets[k] : self.offsets[k + 1]].tolist()
        return ids


class Weights:
    """The weight of each n-gram of some texts, by rarity; a text that is shorter than n is one n-gram.

    at : by place in `texts.flat` the weight of the n-gram that begins there; 0 if it is not its text's first
        of its kind
    totals, counts : the sum of weights, and the number of distinct n-grams, of each text

    Cost: sorting the tokens log2(n) times.
    """

    def __init__(self, texts: Texts, n: int, n_items: int) -> None:
        self.texts, self._n = texts, n
        lengths = texts.lengths
        n_windows = np.where(lengths > 0, np.maximum(lengths - n + 1, 1), 0)
        owners = np.repeat(np.arange(len(lengths)), n_windows)
        before = np.cumsum(n_windows) - n_windows
        starts = np.arange(len(owners)) + np.repeat(texts.offsets[:-1] - before, n_windows)
        kinds = self._kinds()[starts]
        n_kinds = int(kinds.max(initial=-1)) + 1
        _, first = np.unique(owners * max(n_kinds, 1) + kinds, return_index=True)
        idf: Shares = np.log(n_items / np.maximum(np.bincount(kinds[first], minlength=n_kinds), 1))
        owners, weights = owners[first], idf[kinds[first]]
        totals = np.bincount(owners, weights=weights, minlength=len(lengths))
        weights[totals[owners] <= ALMOST] = 1.0
        self.at = np.zeros(len(texts.flat))
        self.at[starts[first]] = weights
        self.totals = np.bincount(owners, weights=weights, minlength=len(lengths))
        self.counts = np.bincount(owners, minlength=len(lengths))

    def _kinds(self) -> Ints:
        """Return a number for the n-gram at each token, the same one for equal n-grams; texts end them.

        Numbers of n-grams are made of those of two shorter ones.
        """
        flat, offsets = self.texts
        ends = np.repeat(offsets[1:], self.texts.lengths)
        kinds, length = np.unique(flat, return_inverse=True)[1].reshape(-1) + 1, 1
        while length < self._n:
            interrupts.check()
            step = min(length, self._n - length)
            places = np.arange(len(flat)) + step
            behind = np.zeros(len(flat), dtype=np.int64)
            inside = places < ends
            behind[inside] = kinds[places[inside]]
            pairs = kinds * (kinds.max(initial=0) + 1) + behind
            kinds = np.unique(pairs, return_inverse=True)[1].reshape(-1) + 1
            length += step
        return kinds

    def ngrams(self, k: int) -> dict[tuple[int, ...], int]:
        """Return the distinct n-grams of a text, each with its first place in the text."""
        text = self.texts.text(k)
        size = min(self._n, len(text))
        found = {tuple(text[i : i + size]): i for i in range(len(text) - size, -1, -1)}
        return found if text else {}

    def share(self, k: int, seen: Sequence[int]) -> float:
        """Return the share of a text whose n-grams at these places of it were seen."""
        weights = self.at[self.texts.offsets[k] + np.unique(np.array(seen, dtype=np.int64))]
        return float(weights.sum() / self.totals[k])


@dataclass(frozen=True)
class Items:
    """The items of a set, as token ids of the documents' tokenizer.

    answers : spellings of answers; those of item k are the numbers in `answers_of[k]`
    passages : of each item; an empty text if it lacks one
    """

    questions: Texts
    answers: Texts
    answers_of: Sequence[Sequence[int]]
    passages: Texts


class _Rule(NamedTuple):
    """Weights of an item's parts, the least share of its question, and the factor of its score."""

    question: float
    answer: float
    passage: float
    required: float
    factor: float


class _Clusters(NamedTuple):
    """Parts of documents with n-grams of a question: the pair, tokens [start, stop), the question's share."""

    pairs: Ints
    starts: Ints
    stops: Ints
    shares: Shares


class Document(NamedTuple):
    """The tokens of a document, and before which of them it is broken."""

    tokens: list[int]
    breaks: list[int]


class Decon:
    """Scores of items in documents."""

    def __init__(self, items: Items, n: int, threshold: float) -> None:
        self._items, self._n, self._threshold = items, n, threshold
        self._lengths, self._of_passages = items.questions.lengths, items.passages.lengths
        n_items = len(self._lengths)
        self._questions = Weights(items.questions, n, n_items)
        self._answers = Weights(items.answers, ANSWER_N, max(n_items, len(items.answers.lengths)))
        self._passages = Weights(items.passages, PASSAGE_N, n_items)
        self._rules = np.array([self._rule(k) for k in range(n_items)]).reshape(n_items, 5)

    def _rule(self, k: int) -> _Rule:
        n_passage = int(self._of_passages[k])
        answer = next(iter(self._items.answers_of[k]), None)
        n_answer = 0 if answer is None else len(set(self._items.answers.text(answer)))
        n_question = int(self._lengths[k])
        parts = weights_of(int(self._questions.counts[k]), n_answer, n_passage > 0)
        threshold = self._threshold
        if not threshold:
            return _Rule(*parts, 0.0, 1.0)
        # The share that the question must reach if all other parts are complete.
        least = max((threshold - 0.3) / 0.7, 0.0)
        full = required_of(n_question + n_answer + n_passage, threshold)
        return _Rule(*parts, required_of(n_question, least), threshold / full)

    def values(
        self,
        found: Matches,
        pairs: Pairs,
        document: Callable[[int], Document],
        frequent: Mapping[int, Ints],
    ) -> Shares:
        """Return the score of each pair: that of the best cluster.

        Parameters
        ----------
        found, pairs : all n-grams of questions that documents have, and the pairs made of them
        document : returns the tokens of a document, by number
        frequent : of each question with n-grams that are too frequent to be in `found`, their places
        """
        values = np.zeros(len(pairs.items))
        for owners, ngrams, places in self._hits(found, pairs):
            more = self._more_hits(owners, ngrams, pairs, document, frequent)
            owners, ngrams, places = (
                np.concatenate(both) for both in zip((owners, ngrams, places), more, strict=True)
            )
            clusters = self._clusters(owners, ngrams, places, pairs)
            scores = self._scores(clusters, pairs, document)
            np.maximum.at(values, clusters.pairs, scores)
        return values

    # ---- clusters

    def _hits(self, found: Matches, pairs: Pairs) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield n-grams that items and documents share, all of a pair at once: pair, n-gram, place."""
        width = int(pairs.docs.max(initial=0)) + 1
        owners = np.searchsorted(pairs.items * width + pairs.docs, found.items * width + found.docs)
        sizes = np.maximum(found.stops - self._n + 1 - found.starts, 1)
        order = np.argsort(owners, kind="stable")
        bounds = np.searchsorted(owners[order], np.arange(len(pairs.items) + 1))
        per_pair = np.bincount(owners, weights=sizes, minlength=len(pairs.items)).astype(np.int64)
        for first, last in batches(per_pair, CHUNK):
            some = order[bounds[first] : bounds[last]]
            counts = sizes[some]
            steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            each = np.repeat(some, counts)
            yield owners[each], found.starts[each] + steps, found.places[each] + steps

    def _more_hits(
        self,
        owners: Ints,
        ngrams: Ints,
        pairs: Pairs,
        document: Callable[[int], Document],
        frequent: Mapping[int, Ints],
    ) -> tuple[Ints, Ints, Ints]:
        """Return the hits of n-grams that are too frequent to be listed, of items that may need them."""
        found: list[tuple[int, int, int]] = []
        doubtful = np.isin(pairs.items[owners], np.array(list(frequent), dtype=np.int64))
        owners, ngrams = owners[doubtful], ngrams[doubtful]
        sums = self._sums(owners, ngrams, pairs)
        for pair in np.unique(owners).tolist():
            interrupts.check()
            item = int(pairs.items[pair])
            start = self._items.questions.offsets[item]
            possible = sums[pair] + self._questions.at[start + frequent[item]].sum()
            if possible < (self._rules[item, 3] - ALMOST) * self._questions.totals[item]:
                continue
            known = self._questions.ngrams(item)
            found += [(pair, k, place) for k, place in _places(document(int(pairs.docs[pair])), known)]
        columns = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return columns[0], columns[1], columns[2]

    def _sums(self, owners: Ints, ngrams: Ints, pairs: Pairs) -> Shares:
        """Return, of each pair, the weights of the distinct n-grams that are shared."""
        width = int(ngrams.max(initial=0)) + 1
        distinct = np.unique(owners * width + ngrams)
        pair, ngram = distinct // width, distinct % width
        weights = self._questions.at[self._items.questions.offsets[pairs.items[pair]] + ngram]
        sums: Shares = np.bincount(pair, weights=weights, minlength=len(pairs.items)).astype(np.float64)
        return sums

    def _clusters(self, owners: Ints, ngrams: Ints, places: Ints, pairs: Pairs) -> _Clusters:
        order = np.lexsort((places, owners))
        owners, ngrams, places = owners[order], ngrams[order], places[order]
        new = np.ones(len(owners), dtype=np.bool_)
        new[1:] = (np.diff(owners) != 0) | (np.diff(places) > MISSES)
        heads = np.flatnonzero(new)
        tails = np.append(heads[1:], len(owners)) - 1 if len(heads) else heads
        items = pairs.items[owners[heads]]
        numbers, width = np.cumsum(new) - 1, int(ngrams.max(initial=0)) + 1
        distinct = np.unique(numbers * width + ngrams)
        number, ngram = distinct // width, distinct % width
        weights = self._questions.at[self._items.questions.offsets[items[number]] + ngram]
        sums = np.bincount(number, weights=weights, minlength=len(heads))
        lengths = self._lengths[items]
        return _Clusters(
            owners[heads],
            places[heads],
            places[tails] + np.minimum(lengths, self._n),
            sums / self._questions.totals[items],
        )

    # ---- scores

    def _scores(self, found: _Clusters, pairs: Pairs, document: Callable[[int], Document]) -> Shares:
        items, docs = pairs.items[found.pairs], pairs.docs[found.pairs]
        question, answer, passage, required, factor = self._rules[items].T
        scores: Shares = question * found.shares
        enough = found.shares >= required - ALMOST
        low = ~enough
        scores[low] = np.minimum(scores[low], self._threshold * found.shares[low] / required[low])
        for k in np.flatnonzero(enough & ((answer > 0) | (passage > 0))).tolist():
            interrupts.check()
            start, stop = int(found.starts[k]), int(found.stops[k])
            one, item = document(int(docs[k])), int(items[k])
            scores[k] += answer[k] * self._answer_share(item, one, start, stop)
            scores[k] += passage[k] * self._passage_share(item, one, start)
        complete = enough & (scores > 1 - ALMOST)
        scores[enough] *= factor[enough]
        scores[complete] = 1.0
        return scores

    def _answer_share(self, item: int, document: Document, start: int, stop: int) -> float:
        """Return the share of the item's answer after tokens [start, stop), the largest of its spellings."""
        # A match longer than the question ends with a chance n-gram, which may belong to the answer.
        stop -= max(stop - start - int(self._lengths[item]), 0)
        tokens, place = _with_breaks(document, stop)
        shares = (self._share_after(k, tokens, place) for k in self._items.answers_of[item])
        return max(shares, default=0.0)

    def _share_after(self, k: int, tokens: list[int], place: int) -> float:
        answer = self._items.answers.text(k)
        size = len(answer)
        if size <= SHORT_ANSWER:
            starts = range(place, min(place + SHORT_WINDOW, len(tokens) - size + 1))
            return float(any(tokens[i : i + size] == answer for i in starts))
        window = tokens[place : place + max(LEAST_WINDOW, 2 * size)]
        return self._answers.share(k, [k for k, _ in _ngrams_at(window, self._answers.ngrams(k), ANSWER_N)])

    def _passage_share(self, item: int, document: Document, start: int) -> float:
        """Return the share of the item's passage before a token: of the n-grams nearest to it."""
        size = int(self._of_passages[item])
        if not size:
            return 0.0
        tokens, place = _with_breaks(document, start)
        window = tokens[max(place - max(LEAST_WINDOW, 2 * size), 0) : place]
        found = list(_ngrams_at(window, self._passages.ngrams(item), PASSAGE_N))
        last = len(found) - 1
        while last > 0 and found[last][1] - found[last - 1][1] <= PASSAGE_MISSES + 1:
            last -= 1
        return self._passages.share(item, [k for k, _ in found[max(last, 0) :]])


def weights_of(n_ngrams: int, n_answer: int, has_passage: bool) -> tuple[float, float, float]:
    """Return the weights of question, answer and passage (`calculate_combined_contamination_score`).

    n_ngrams, n_answer : distinct n-grams of the question and tokens of the answer; 0 for no answer
    """
    sure = min(0.5 + 0.5 * n_ngrams / INFORMATIVE_NGRAMS, 1.0)
    if n_answer and has_passage:
        sure_answer = min(0.5 + 0.5 * n_answer / INFORMATIVE_TOKENS, 1.0)
        left = 0.7 * (1 - sure) / 2
        answer, passage = 0.2 + left, 0.1 + left
        return 0.7 * sure, answer * sure_answer, passage + answer * (1 - sure_answer)
    if n_answer:
        return 0.75 * sure, 1 - 0.75 * sure, 0.0
    return (0.85 * sure, 0.0, 1 - 0.85 * sure) if has_passage else (1.0, 0.0, 0.0)


def required_of(n_tokens: int, threshold: float) -> float:
    """Return the share of its tokens that a text must reach: 1 up to COMPLETE, `threshold` from FULL on."""
    past = (n_tokens - COMPLETE) / (FULL - COMPLETE)
    return 1 - (1 - threshold) * min(max(past, 0.0), 1.0)


def _with_breaks(document: Document, place: int) -> tuple[list[int], int]:
    """Return tokens with -1 at each break, and the token's place among them."""
    tokens, breaks = document
    if not breaks:
        return tokens, place
    bounds = [0, *breaks, len(tokens)]
    parts = [[-1, *tokens[start:stop]] for start, stop in pairwise(bounds)]
    return [token for part in parts for token in part][1:], place + sum(one < place for one in breaks)


def _places(document: Document, known: dict[tuple[int, ...], int]) -> Iterator[tuple[int, int]]:
    """Yield where n-grams of a text are in a document: the place in the text, and in the document."""
    size = len(next(iter(known), ()))
    bounds = [0, *document.breaks, len(document.tokens)]
    for start, stop in pairwise(bounds):
        for k, place in _ngrams_at(document.tokens[start:stop], known, size):
            yield k, place + start


def _ngrams_at(tokens: list[int], known: dict[tuple[int, ...], int], n: int) -> Iterator[tuple[int, int]]:
    size = min(n, len(next(iter(known), ())))
    for i in range(len(tokens) - size + 1 if size else 0):
        k = known.get(tuple(tokens[i : i + size]))
        if k is not None:
            yield k, i
