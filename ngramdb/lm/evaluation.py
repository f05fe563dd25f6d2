"""The quality of models: perplexity of documents, with and without unknown words, and agreement.

Agreement is how often a model assigns the next token of human text more than half of its probability. Source:
Liu et al. 2024 (infini-gram), section 4: token-wise agreement, by effective n; sparse ∞-gram estimates are
reported separately.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngramdb import display
from ngramdb.errors import InvalidArgument
from ngramdb.lm.models import LanguageModel, as_ids, pack
from ngramdb.lm.spec import is_whole
from ngramdb.lm.values import BEGIN, END, Floats, Integers, Measure, Scores, shown, shown_arrays
from ngramdb.types import checked_flags

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
        return display.table(("Perplexity", ""), self._figures().items(), note)

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


@checked_flags
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


def perplexities(model: LanguageModel, documents: Iterable[Iterable[ArrayLike]]) -> Floats:
    """Compute the perplexity of each document, given in pieces that are scored as documents: (n,) float64.

    It is that of `perplexity` for documents of one piece, and NaN without an answer. Cost: that of scoring.
    """
    n_pieces: list[int] = []

    def pieces() -> Iterator[ArrayLike]:
        for document in documents:
            n_pieces.append(0)
            for piece in document:
                n_pieces[-1] += 1
                yield piece

    batches = (score_batch(model, batch, document=True) for batch in batches_of(pieces()))
    of_batches = [sums_by_document(batch.scores.logprob, batch.bounds) for batch in batches]
    sums = np.concatenate([np.empty(0), *(sums for sums, _ in of_batches)])
    lengths = np.concatenate([np.empty(0), *(lengths for _, lengths in of_batches)])
    owners = np.repeat(np.arange(len(n_pieces)), n_pieces)
    n = len(n_pieces)
    return _perplexity_of(np.bincount(owners, sums, n), np.bincount(owners, lengths, n))


def sums_by_document(logprob: Floats, bounds: Integers) -> tuple[Floats, Integers]:
    """Return the sums of the logarithms that are answers, and how many are, of documents from `bounds`."""
    n, answered = len(bounds) - 1, ~np.isnan(logprob)
    of_document = np.repeat(np.arange(n), np.diff(bounds))
    sums = np.bincount(of_document, np.where(answered, logprob, 0.0), minlength=n)
    counts = np.bincount(of_document, answered, minlength=n)
    return sums.astype(np.float64), counts.astype(np.int64)


def _perplexity_of(sums: NDArray[Any], lengths: NDArray[Any]) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found: Floats = np.exp(-sums / lengths)
    return found


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
        sums, lengths = sums_by_document(logprob, bounds)
        self._sums.append(sums)
        self._lengths.append(lengths)
        self.n_documents += len(bounds) - 1

    def result(self, is_probability: bool) -> Perplexity:
        sums = np.concatenate([*self._sums, np.empty(0)])
        lengths = np.concatenate([*self._lengths, np.empty(0, dtype=np.int64)])
        return Perplexity(
            perplexity=self._all.perplexity,
            perplexity_known=self._known.perplexity,
            perplexity_nonzero=self._all.perplexity_nonzero,
            logprob=self._all.logprob,
            n_tokens=self._all.n_tokens,
            n_unknown=self.n_unknown,
            n_unanswered=self._all.n_unanswered,
            n_zero=self._all.n_zero,
            per_document=_perplexity_of(sums, lengths),
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


# ---- Agreement.


# A token agrees if its probability is above this: it is then the most probable one.
AGREES_ABOVE = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Agreement:
    """Agreement by effective n. Entry i of every array is effective n = i + 1.

    n_tokens : (m,) int64, tokens predicted with that effective n: the histogram
    n_agreeing : (m,) int64, those to which the model assigned more than one half
    n_sparse, n_sparse_agreeing : the same for estimates whose context has a single continuation
    share, sparse_share : the agreeing fraction of all tokens, and of those with a sparse estimate
    """

    n_tokens: Integers
    n_agreeing: Integers
    n_sparse: Integers
    n_sparse_agreeing: Integers
    mean_effective_n: float
    median_effective_n: float

    def __repr__(self) -> str:
        return shown_arrays(
            "Agreement",
            share=self.share,
            total=self.total,
            sparse_share=self.sparse_share,
            mean_effective_n=self.mean_effective_n,
            n_tokens=self.n_tokens,
            n_agreeing=self.n_agreeing,
        )

    @property
    def total(self) -> int:
        return int(self.n_tokens.sum())

    @property
    def share(self) -> float:
        """The agreeing fraction of all tokens."""
        return _share(self.n_agreeing.sum(), self.n_tokens.sum())

    @property
    def sparse_share(self) -> float:
        """The agreeing fraction of the tokens with a sparse estimate."""
        return _share(self.n_sparse_agreeing.sum(), self.n_sparse.sum())

    @property
    def by_effective_n(self) -> NDArray[np.float64]:
        """The agreeing fraction for each effective n: (m,) float64, NaN if no token has that effective n."""
        with np.errstate(invalid="ignore"):
            return self.n_agreeing / self.n_tokens


@checked_flags
def measure_agreement(
    model: LanguageModel,
    documents: Iterable[ArrayLike],
    *,
    document: bool = False,
    skip: int = 0,
    progress: Progress | None = None,
) -> Agreement:
    """Measure the token-wise agreement of a model with documents of token ids.

    Tokens without an answer (n-gram models after an unseen context) do not agree. The n-gram model of the
    paper is InfGram(order=n), which backs off to shorter contexts, so that its effective n varies up to n.

    Parameters
    ----------
    model : any model
    documents : sequences of token ids
    document : each begins after `<s>`, and its `</s>` is predicted
    skip : the number of tokens at the start of each document, a prompt for example, that are context only
    progress : called after each batch

    Raises
    ------
    InvalidArgument
        `skip` is not a whole number of at least 0.

    Notes
    -----
    Cost: that of scoring. Source: Liu et al. 2024, section 4.
    """
    if not is_whole(skip) or skip < 0:
        raise InvalidArgument(f"skip must be a whole number of at least 0, not {skip!r}")
    tables = np.zeros((4, 1), dtype=np.int64)
    n_documents = 0
    for batch in batches_of(documents):
        scored = score_batch(model, batch, document=document)
        scores = scored.scores
        if skip:
            places = np.arange(len(scores)) - np.repeat(scored.bounds[:-1], np.diff(scored.bounds))
            scores = scores[places >= skip]
        n_documents += len(batch)
        with np.errstate(invalid="ignore"):
            agrees = scores.prob > AGREES_ABOVE
        highest = int(scores.effective_n.max(initial=0))
        if highest >= tables.shape[1]:
            tables = np.pad(tables, ((0, 0), (0, highest + 1 - tables.shape[1])))
        kinds = (np.ones_like(agrees), agrees, scores.sparse, scores.sparse & agrees)
        for table, chosen in zip(tables, kinds, strict=True):
            counted = np.bincount(scores.effective_n[chosen], minlength=len(table))
            table += counted.astype(np.int64)
        if progress is not None:
            progress(n_documents, int(tables[0].sum()))
    mean, median = middle(tables[0, 1:])
    n_tokens, n_agreeing, n_sparse, n_sparse_agreeing = tables[:, 1:]
    return Agreement(n_tokens, n_agreeing, n_sparse, n_sparse_agreeing, mean, median)


def _share(part: np.int64, whole: np.int64) -> float:
    return float(part / whole) if whole else float("nan")


def middle(histogram: Integers) -> tuple[float, float]:
    """Return mean and median of effective n."""
    total = int(histogram.sum())
    if total == 0:
        return float("nan"), float("nan")
    values = np.arange(1, len(histogram) + 1)
    reached = np.cumsum(histogram)
    low = values[np.searchsorted(reached, (total - 1) // 2, side="right")]
    high = values[np.searchsorted(reached, total // 2, side="right")]
    return float((values * histogram).sum() / total), float(low + high) / 2


# ---- The figure of agreement with a text, as in Liu et al. 2024 (figures 4 and 5). Needs matplotlib.


# Above this effective n there is one bar for all: long verbatim passages would leave the axis mostly empty.
LAST_BAR = 32
# Inches.
PANEL_WIDTH, HEIGHT = 4.0, 3.2
LIGHT, DARK, LINE = "#c9d6e8", "#33578a", "#b5482a"


def draw_agreement(panels: Mapping[str, Agreement], path: str, *, sparse: str = "sparse") -> None:
    """Draw a panel per model, and one for the sparse estimates of the last, to a file.

    Bars are tokens by effective n, the dark part of a bar the agreeing ones; the line is their share.

    Parameters
    ----------
    panels : the result of `measure_agreement` by the model's name
    path : the file; its suffix selects PNG, SVG or PDF
    sparse : the title of the panel of sparse estimates

    Raises
    ------
    InvalidArgument
        No panel, a suffix that matplotlib does not support, or matplotlib is not installed.
    """
    if not panels:
        raise InvalidArgument("a figure of agreement needs at least one model")
    try:
        figures = import_module("matplotlib.figure")
    except ImportError as error:
        raise InvalidArgument("figures need matplotlib: pip install matplotlib") from error
    drawn = [(name, found.n_tokens, found.n_agreeing) for name, found in panels.items()]
    last = list(panels.values())[-1]
    drawn.append((sparse, last.n_sparse, last.n_sparse_agreeing))
    figure = figures.Figure(figsize=(PANEL_WIDTH * len(drawn), HEIGHT), layout="constrained")
    for axes, (name, n_tokens, n_agreeing) in zip(
        figure.subplots(1, len(drawn), squeeze=False)[0], drawn, strict=True
    ):
        _panel(axes, name, _binned(n_tokens), _binned(n_agreeing))
    try:
        figure.savefig(path)
    except ValueError as error:
        raise InvalidArgument(f"{path}: {error}") from error


def _binned(histogram: Integers) -> Integers:
    """Return the histogram up to LAST_BAR; its last bar includes all from there on."""
    if len(histogram) <= LAST_BAR:
        return histogram
    return np.append(histogram[: LAST_BAR - 1], histogram[LAST_BAR - 1 :].sum())


def _panel(axes: Any, name: str, n_tokens: Integers, n_agreeing: Integers) -> None:
    total = int(n_tokens.sum())
    share = f", {n_agreeing.sum() / total:.0%} agree" if total else ""
    axes.set_title(f"{name}: {total:,} tokens{share}", fontsize=10)
    axes.set_xlabel("effective n")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("tokens")
    lengths = np.arange(1, len(n_tokens) + 1)
    axes.bar(lengths, n_tokens, color=LIGHT, width=0.9)
    axes.bar(lengths, n_agreeing, color=DARK, width=0.9)
    right = axes.twinx()
    right.set_ylim(0, 1.02)
    right.set_ylabel("share that agrees")
    with np.errstate(invalid="ignore"):
        right.plot(lengths, n_agreeing / n_tokens, color=LINE, marker=".", linewidth=1)
