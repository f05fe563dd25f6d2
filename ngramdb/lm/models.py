"""Models over a corpus: the interface of all, relative frequencies, and stupid backoff."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngramdb._cext.lm import models as kernel
from ngramdb.errors import NotSupportedError
from ngramdb.fork_safety import cached_property
from ngramdb.lm.shares import Shares, Vocabulary
from ngramdb.lm.spec import ModelSpec
from ngramdb.lm.values import (
    BEGIN,
    END,
    Distribution,
    Integers,
    Probabilities,
    Probability,
    Scores,
)
from ngramdb.types import checked_flags, integers, token_ids

# The least normal double, below which no score of stupid backoff falls: its logarithm is finite.
LEAST_SCORE = float(np.finfo(np.float64).tiny)


def pack(sequences: Iterable[ArrayLike]) -> tuple[Integers, Integers]:
    """Concatenate sequences of ids: (m,) int64, and the start of each, (n + 1,) int64."""
    arrays = [as_ids(ids) for ids in sequences]
    offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(ids) for ids in arrays], out=offsets[1:])
    return (np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64)), offsets


def as_ids(ids: ArrayLike) -> Integers:
    """Return token ids as a contiguous int64 array; UNKNOWN, END and BEGIN are allowed.

    Raises
    ------
    InvalidArgument
        not a flat sequence of integers from BEGIN to 2**32 - 1
    """
    return token_ids(ids, BEGIN)


def after_last_border(context: Integers, separator: int | None = None) -> tuple[Integers, bool]:
    """Return the context after its last END, BEGIN or separator, and True if it then follows `<s>`."""
    is_border = (context == BEGIN) | (context == END)
    if separator is not None:
        is_border |= context == separator
    borders = np.flatnonzero(is_border)
    if borders.size == 0:
        return context, False
    last = int(borders[-1])
    return context[last + 1 :], bool(context[last] != END)


class LanguageModel(ABC):
    """One model over one version of a corpus. Safe to share between threads.

    Contexts are token ids; BEGIN (`<s>`) in a context marks the beginning of a document, and a token may be
    END (`</s>`). The separator inside documents, if there is one, is END as a token, and BEGIN in a context.
    In a model of sentences (`Corpus.language_model`) a document is a sentence.
    """

    # True if the kernel draws tokens without computing the distribution (lm_sampling.hpp).
    has_sampler: ClassVar[bool] = False

    def __init__(self, spec: ModelSpec, index: kernel.LanguageIndex, model: Any) -> None:
        self.spec = spec
        self.index = index
        self._model = model
        # Answers batches like the kernel's model, or divides them among other processes.
        self.batches = model
        # An additional note by the model's creator.
        self.advice: str | None = None

    @property
    def note(self) -> str | None:
        """A remark on the model's numbers for the reader, or None."""
        return None

    def prob(self, context: ArrayLike, token: int) -> Probability:
        """Return P(token | context), with its counts.

        Parameters
        ----------
        context : token ids; BEGIN is the beginning of a document
        token : a token id, or END
        """
        used = as_ids(context)
        row = self._model.estimate(used, [0, len(used)], as_ids([token]), [False])[0]
        prob = float(row["prob"])
        return Probability(
            None if np.isnan(prob) else prob,
            int(row["count"]),
            int(row["context_count"]),
            int(row["effective_n"]),
            bool(row["sparse"]),
        )

    def prob_many(self, flat: ArrayLike, offsets: ArrayLike, tokens: ArrayLike) -> Probabilities:
        """Return P(tokens[i] | flat[offsets[i]:offsets[i + 1]]) for n pairs.

        Parameters
        ----------
        flat : the token ids of all contexts
        offsets : (n + 1,), the start of each context in `flat`
        tokens : (n,) token ids

        Raises
        ------
        ValueError
            Offsets do not ascend, or arrays differ in length.
        """
        found = self.scores_of(flat, offsets, tokens)
        return Probabilities(found.prob, found.count, found.context_count, found.effective_n, found.sparse)

    def scores_of(self, flat: ArrayLike, offsets: ArrayLike, tokens: ArrayLike) -> Scores:
        """Return the probabilities of `prob_many` as scores, for `interpolate`."""
        bounds = integers(offsets, "offsets")
        begins = np.zeros(max(0, len(bounds) - 1), dtype=np.bool_)
        return self._scores(self.batches.estimate(as_ids(flat), bounds, as_ids(tokens), begins))

    def chain_scores_of(
        self, flat: ArrayLike, offsets: ArrayLike, tokens: ArrayLike, token_offsets: ArrayLike
    ) -> Scores:
        """Return the score of every token of continuations, each after its context and the tokens before it.

        Parameters
        ----------
        flat, offsets : as in `prob_many`
        tokens : the token ids of all continuations
        token_offsets : (n + 1,), the start of each continuation in `tokens`

        Notes
        -----
        Cost: one search per context, and a step per token.
        """
        bounds = integers(token_offsets, "token_offsets")
        if (np.diff(bounds) == 1).all():
            return self.scores_of(flat, offsets, tokens)
        begins = np.zeros(max(0, len(bounds) - 1), dtype=np.bool_)
        contexts = as_ids(flat), integers(offsets, "offsets")
        return self._scores(self._model.estimate(*contexts, as_ids(tokens), begins, bounds))

    @checked_flags
    def score(self, ids: ArrayLike, *, document: bool = False) -> Scores:
        """Score every token given the tokens before it.

        Parameters
        ----------
        ids : token ids
        document : the text is a document: begin after `<s>`, and score `</s>` at the end, in one more entry;
            after a text that ends with the separator, `</s>` has probability 1

        Notes
        -----
        Cost: about a microsecond per token, more over many segments; the GIL is released.
        """
        array = as_ids(ids)
        return self._scores(self._model.score(array, [0, len(array)], document))

    @checked_flags
    def score_many(self, flat: ArrayLike, offsets: ArrayLike, *, document: bool = False) -> Scores:
        """Score documents flat[offsets[i]:offsets[i + 1]], one after the other.

        The entries of document i begin at offsets[i] - offsets[0]; with `document` at offsets[i] - offsets[0]
        + i.

        Parameters
        ----------
        flat : the token ids of all documents
        offsets : (n + 1,), the start of each document in `flat`
        document : as in `score`

        Notes
        -----
        Cost: as `score`; from a few thousand tokens on, free cores share the documents.
        """
        return self._scores(self.batches.score(as_ids(flat), integers(offsets, "offsets"), document))

    def _scores(self, scored: NDArray[Any]) -> Scores:
        return Scores.of(scored, self.spec.is_probability)

    def __repr__(self) -> str:
        separator, n_parts = self.index.separator, self.index.n_sentences
        parts = "documents" if separator is None else f"parts of documents, separator {separator}"
        return f"<{self.spec} over {self.index.n_tokens:,} tokens in {n_parts:,} {parts}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise NotSupportedError(
            "a model reads its corpus's files and cannot be pickled; pickle the corpus and the model's "
            "description (its spec), and call language_model(spec) of the corpus there"
        )

    def sampler(self, context: ArrayLike) -> kernel.Sampler | None:
        """Return a sampler of tokens for a context: `next(seed)` returns an id (or END) with its probability.

        None for models without one, whose tokens are drawn from their distributions. Out-of-vocabulary tokens
        are left out, and scores of stupid backoff are divided by their sum.

        Parameters
        ----------
        context : token ids

        Notes
        -----
        Cost: microseconds per token, and once a pass over the occurrences of each frequent suffix.
        """
        if not self.has_sampler:
            return None
        used, begins = self._used(context)
        return kernel.Sampler(self._model, used, begins)

    @checked_flags
    def state(self, *, document: bool = True) -> kernel.TextState:
        """Return the beginning of a text (of a document), for decoders, which read texts token by token.

        `state.read(token)` appends a token to its text, `state.read(origin, token)` one to that of another
        state. Both return the token's probability and effective n. States with equal `state.context` predict
        the same tokens.

        Parameters
        ----------
        document : begin after `<s>`
        """
        return kernel.TextState(self._model, document)

    def _used(self, context: ArrayLike) -> tuple[Integers, bool]:
        return after_last_border(as_ids(context), self.index.separator)

    @abstractmethod
    def dist(self, context: ArrayLike) -> Distribution:
        """Return the distribution of the next token, with the numbers of `prob` for each token.

        Parameters
        ----------
        context : token ids; BEGIN is the beginning of a document
        """

    def successors(
        self, context: ArrayLike, longest: int | None = None
    ) -> tuple[Integers, Integers, int, int]:
        """Return the successors of the longest suffix of a context that occurs often enough for the model.

        Parameters
        ----------
        context : token ids
        longest : the greatest length of the suffix, in tokens

        Returns
        -------
        Ids (k,) and counts (k,), the suffix's count, its number of tokens (BEGIN counts as one).
        """
        used, begins = self._used(context)
        most = 2**31 if longest is None else longest
        ids, counts, context_count, length = self._model.successors(used, begins, most)
        return ids, counts, context_count, length

    def continuations(self, context: ArrayLike) -> tuple[Integers, Integers, int, int]:
        """Return the successors, as in `prob`: after no token, outside of sentences, ends are not tokens."""
        array = as_ids(context)
        ids, counts, context_count, length = self.successors(array)
        if length == 0 and ids.size and ids[0] == END and not self._used(array)[1]:
            ids, counts, context_count = ids[1:], counts[1:], context_count - int(counts[0])
        return ids, counts, context_count, length


class RelativeModel(LanguageModel):
    """n-gram and ∞-gram: relative frequencies after the whole context, or its longest suffix that occurs."""

    def __init__(self, spec: ModelSpec, index: kernel.LanguageIndex) -> None:
        super().__init__(spec, index, kernel.Model(index, spec.kind, spec.limit, spec.min_count))

    def dist(self, context: ArrayLike) -> Distribution:
        """Return the distribution. Occurrences at a document's end have the id END.

        Empty after a context that an n-gram model has not seen.
        """
        array = as_ids(context)
        ids, counts, context_count, length = self.continuations(array)
        used, begins = self._used(array)
        wanted = (
            len(used) + begins if self.spec.order is None else min(len(used) + begins, self.spec.order - 1)
        )
        if self.spec.kind == "ngram":
            if length < wanted:
                nothing = np.empty(0, dtype=np.int64)
                return Distribution(nothing, nothing.astype(np.float64), nothing, 0, wanted + 1)
            kept = counts >= self.spec.min_count
            ids, counts = ids[kept], counts[kept]
        return Distribution(ids, counts / max(1, context_count), counts, context_count, length + 1)


class SharingModel(LanguageModel):
    """Models that assign every token a share after every context: interpolated models and stupid backoff."""

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokens in the order of `dist`, without UNKNOWN, with their values without context."""
        types, _ = self.index.types()
        return Vocabulary(np.append(types, END), self._model.unigrams())

    def shares(self, context: ArrayLike) -> Shares:
        """Return the distribution, listing only tokens that follow some suffix of the context.

        Cost: grows with the number of those, not with the vocabulary.
        """
        return Shares(self.vocabulary, *self._model.shares(*self._used(context)))


class BackoffModel(SharingModel):
    """Stupid backoff: scores, not probabilities.

    No score is 0: an unknown word has the share 0.4^100 of the corpus, so that texts with unknown words
    can be ranked.
    """

    has_sampler = True

    def __init__(self, spec: ModelSpec, index: kernel.LanguageIndex) -> None:
        model = kernel.Model(index, "backoff", spec.order or 0, spec.min_count, spec.weight)
        super().__init__(spec, index, model)

    @property
    def note(self) -> str | None:
        return "stupid backoff gives scores, not probabilities: they do not sum to 1"

    @cached_property
    def vocabulary(self) -> Vocabulary:
        types, _ = self.index.types()
        return Vocabulary(np.append(END, types), np.roll(self._model.unigrams(), 1), LEAST_SCORE)

    def shares(self, context: ArrayLike) -> Shares:
        places, probs, rest = self._model.shares(*self._used(context))
        places += 1
        if len(places) and places[-1] == len(self.vocabulary.ids):  # END comes first in these distributions
            places, probs = np.append(0, places[:-1]), np.roll(probs, 1)
        return Shares(self.vocabulary, places, probs, rest)

    def dist(self, context: ArrayLike) -> Distribution:
        """Return every token that occurs (often enough), and END, with its score.

        Unknown words have a score, too, but no entry: `prob` returns it. Cost: a pass over the types, and
        over the successors of the suffixes.
        """
        scores = self.shares(context).all()
        _, _, context_count, longest = self.successors(context)
        frequent = scores > 0.0
        ids = self.vocabulary.ids[frequent]
        return Distribution(ids, scores[frequent], None, context_count, longest + 1)
