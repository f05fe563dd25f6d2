"""Perplexity of documents under a model, with and without unknown words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngramdb import bool_arguments, notebook
from ngramdb.lm.models import LanguageModel, as_ids, pack
from ngramdb.lm.values import BEGIN, END, Floats, Integers, Measure, Scores, shown

# Tokens that are scored together: enough to keep many documents in flight, few enough to report progress.
BATCH_TOKENS = 1 << 16

# The note for models whose scores are not probabilities.
NO_DISTRIBUTION = (
    "stupid backoff gives scores, not probabilities: they do not sum to 1, "
    "and this is not the perplexity of a distribution"
)

# Called with the numbers of documents and tokens that are done.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, repr=False)
class Perplexity:
    """The quality of a model's predictions of documents.

    Perplexities are exp of the mean negative log-probability per token, as `ngramdb.lm.values` defines
    them for all interfaces.

    perplexity : over all tokens with an answer, including unknown words and `</s>`; infinite if one has
    probability 0
    perplexity_known : without unknown words
    perplexity_nonzero : without tokens of probability 0
    logprob : the sum of natural logarithms over the tokens with an answer
    n_tokens, n_unknown : tokens that were scored, and how many of them do not occur in the corpus
    n_unanswered : tokens without an answer (n-gram models after an unseen context), not counted elsewhere
    n_zero : tokens of probability 0
    per_document : (n,) float64, as `perplexity`
    document_lengths : (n,) int64, tokens with an answer
    seconds : the time that scoring took
    is_probability : False for scores of stupid backoff, whose "perplexity" cannot be compared with a model's
    n_bytes, n_characters : sizes of the documents' texts in UTF-8; None if some were token ids without a text
    """

    perplexity: float
    perplexity_known: float
    perplexity_nonzero: float
    logprob: float
    n_tokens: int
    n_unknown: int
    n_unanswered: int
    n_zero: int
    per_document: Floats
    document_lengths: Integers
    seconds: float
    is_probability: bool
    n_bytes: int | None = None
    n_characters: int | None = None

    @property
    def tokens_per_second(self) -> float:
        return self.n_tokens / self.seconds if self.seconds > 0 else float("inf")

    @property
    def bits_per_token(self) -> float:
        return float(np.log2(self.perplexity))

    @property
    def bits_per_byte(self) -> float | None:
        """The information of the text per byte: comparable between tokenizers. None without texts."""
        return self._bits_per(self.n_bytes)

    @property
    def bits_per_character(self) -> float | None:
        """The information of the text per character. None without texts."""
        return self._bits_per(self.n_characters)

    def _bits_per(self, n: int | None) -> float | None:
        return -self.logprob / float(np.log(2)) / n if n else None

    @property
    def note(self) -> str | None:
        """A remark on the numbers for the reader, or None."""
        return None if self.is_probability else NO_DISTRIBUTION

    def __repr__(self) -> str:
        return f"Perplexity({', '.join(f'{name}={value}' for name, value in self._figures().items())})"

    def _repr_html_(self) -> str:
        note = [] if self.note is None else [f"note: {self.note}"]
        return notebook.table(("Perplexity", ""), self._figures().items(), note)

    def _figures(self) -> dict[str, str]:
        return {
            "perplexity": shown(self.perplexity),
            "perplexity_known": shown(self.perplexity_known),
            **({"perplexity_nonzero": shown(self.perplexity_nonzero)} if self.n_zero else {}),
            **({} if self.bits_per_byte is None else {"bits_per_byte": shown(self.bits_per_byte)}),
            "documents": f"{len(self.per_document):,}",
            "n_tokens": f"{self.n_tokens:,}",
            "n_unknown": f"{self.n_unknown:,}",
            **({"n_unanswered": f"{self.n_unanswered:,}"} if self.n_unanswered else {}),
            **({"n_zero": f"{self.n_zero:,}"} if self.n_zero else {}),
            **({} if self.is_probability else {"is_probability": "False"}),
        }


@bool_arguments.checked
def perplexity(
    model: LanguageModel,
    documents: Iterable[ArrayLike],
    *,
    document: bool = True,
    progress: Progress | None = None,
) -> Perplexity:
    """Compute the perplexity of documents under a model, with out-of-vocabulary tokens and without.

    Parameters
    ----------
    model : any model
    documents : sequences of token ids
    document : each begins after `<s>`, and its `</s>` is scored
    progress : called after each batch

    Notes
    -----
    Cost: that of scoring; memory for one batch, and 16 bytes per document.
    """
    types, _ = model.index.types()
    tally = _Tally(types, model.index.separator)
    for batch in batches_of(documents):
        scored = score_batch(model, batch, document=document)
        tally.seconds += scored.seconds
        tally.add(scored.tokens, scored.scores.logprob, scored.bounds)
        if progress is not None:
            progress(tally.n_documents, tally.n_tokens)
    return tally.result(model.spec.is_probability)


class _Tally:
    """Sums over batches."""

    def __init__(self, types: Integers, separator: int | None) -> None:
        self._types = types
        self._separator = separator
        self._sums: list[Floats] = []
        self._lengths: list[Integers] = []
        self._all = Measure()
        self._known = Measure()
        self.n_unknown = 0
        self.seconds = 0.0
        self.n_documents = 0

    @property
    def n_tokens(self) -> int:
        return self._all.n_tokens

    def add(self, tokens: Integers, logprob: Floats, bounds: Integers) -> None:
        known = are_known(tokens, self._types, self._separator)
        self.n_unknown += int((~known).sum())
        self._all += Measure.of(logprob)
        self._known += Measure.of(logprob[known])
        answered = ~np.isnan(logprob)
        of_document = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        sums = np.bincount(of_document, np.where(answered, logprob, 0.0), minlength=len(bounds) - 1)
        self._sums.append(sums.astype(np.float64))
        counts = np.bincount(of_document, answered, minlength=len(bounds) - 1)
        self._lengths.append(counts.astype(np.int64))
        self.n_documents += len(bounds) - 1

    def result(self, is_probability: bool) -> Perplexity:
        sums = np.concatenate([*self._sums, np.empty(0)])
        lengths = np.concatenate([*self._lengths, np.empty(0, dtype=np.int64)])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            per_document = np.exp(-sums / lengths)
        return Perplexity(
            perplexity=self._all.perplexity,
            perplexity_known=self._known.perplexity,
            perplexity_nonzero=self._all.perplexity_nonzero,
            logprob=self._all.logprob,
            n_tokens=self._all.n_tokens,
            n_unknown=self.n_unknown,
            n_unanswered=self._all.n_unanswered,
            n_zero=self._all.n_zero,
            per_document=per_document,
            document_lengths=lengths,
            seconds=self.seconds,
            is_probability=is_probability,
        )


class ScoredBatch(NamedTuple):
    """Documents that were scored: the entries of document i begin at bounds[i]."""

    tokens: Integers
    scores: Scores
    bounds: Integers
    seconds: float


def score_batch(model: LanguageModel, documents: list[Integers], *, document: bool) -> ScoredBatch:
    """Score the predicted tokens of documents.

    `document` adds the `</s>` of each document, unless the separator at its end is one already.
    """
    flat, offsets = pack(documents)
    started = time.perf_counter()
    scores = model.score_many(flat, offsets, document=document)
    seconds = time.perf_counter() - started
    if not document:
        return ScoredBatch(flat, scores, offsets, seconds)
    tokens = np.insert(flat, offsets[1:], END)
    bounds = offsets + np.arange(len(offsets))
    separator = model.index.separator
    if separator is not None:
        is_over = np.array([ids.size > 0 and ids[-1] == separator for ids in documents], dtype=np.bool_)
        kept = np.ones(len(tokens), dtype=np.bool_)
        kept[bounds[1:][is_over] - 1] = False
        tokens, scores = tokens[kept], scores[kept]
        bounds = bounds - np.concatenate([[0], np.cumsum(is_over)])
    return ScoredBatch(tokens, scores, bounds, seconds)


def batches_of(documents: Iterable[ArrayLike]) -> Iterator[list[Integers]]:
    """Yield documents in lists of about BATCH_TOKENS tokens."""
    batch: list[Integers] = []
    n_tokens = 0
    for document in documents:
        ids = as_ids(document)
        batch.append(ids)
        n_tokens += len(ids) + 1
        if n_tokens >= BATCH_TOKENS:
            yield batch
            batch, n_tokens = [], 0
    if batch:
        yield batch


# ---- Unknown words: the one definition, for SCORE's `<unk>`, perplexities and their commands.


def are_known(tokens: Integers, types: Integers, separator: int | None) -> NDArray[np.bool_]:
    """Return True for each known token: one of `types` (ascending), or a sentence boundary. (n,) bool."""
    borders = [END, BEGIN] if separator is None else [END, BEGIN, separator]
    places = np.searchsorted(types, tokens)
    found = places < len(types)
    found[found] = types[places[found]] == tokens[found]
    known: NDArray[np.bool_] = found | np.isin(tokens, borders)
    return known


def types_among(tokens: Integers, index: Any) -> Integers:
    """Return the tokens that occur in an index, ascending. Cost: one count per different token."""
    types = np.unique(tokens[tokens >= 0])
    occurring: Integers = types[index.count_many(types, np.arange(len(types) + 1)) > 0]
    return occurring
