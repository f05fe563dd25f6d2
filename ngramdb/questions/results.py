"""The results of the Python verbs, besides plain numbers and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ngramdb import display
from ngramdb.interrupts import memory_errors
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, unused-ignore]

    from ngramdb.executor import dataframes, result
    from ngramdb.lm import values
else:
    dataframes = lazy_module("ngramdb.executor.dataframes")
    result = lazy_module("ngramdb.executor.result")
    values = lazy_module("ngramdb.lm.values")


# Rows of arrays that notebooks display, as for results.
SHOWN_ROWS = 20


class Probability(float):
    """A probability with its counts: a float with attributes.

    For a continuation of several tokens, the number is the product over its tokens; the attributes are those
    of the last step that was taken.
    """

    # One attribute instead of four: making the object costs as much as computing the numbers.
    __slots__ = ("_counts",)

    _counts: tuple[int, int, int, bool]

    def __new__(cls, prob: float, counts: tuple[int, int, int, bool]) -> Probability:
        """Make a probability; `counts` are cont_count, context_count, effective_n and sparse."""
        self = float.__new__(cls, prob)
        self._counts = counts
        return self

    def __getnewargs__(self) -> tuple[float, tuple[int, int, int, bool]]:  # type: ignore[override]
        return float(self), self._counts

    @property
    def cont_count(self) -> int:
        """Net occurrences of the context followed by the continuation."""
        return self._counts[0]

    @property
    def context_count(self) -> int:
        """Net occurrences of the context that was used, including those at a document's end."""
        return self._counts[1]

    @property
    def effective_n(self) -> int:
        """Length of the context that was used, plus one."""
        return self._counts[2]

    @property
    def sparse(self) -> bool:
        """True if a single token follows the context, with probability 1."""
        return self._counts[3]

    @property
    def prob(self) -> float:
        """The probability as a plain float."""
        return float(self)

    @property
    def logprob(self) -> float:
        """The natural logarithm; -inf for 0."""
        return math.log(self) if self else -math.inf

    def __repr__(self) -> str:
        return (
            f"Probability({float(self)!r}, cont_count={self.cont_count}, context_count={self.context_count}, "
            f"effective_n={self.effective_n}, sparse={self.sparse})"
        )


class Generated(str):
    """A generated continuation: its text, with its tokens and their probability.

    Attributes
    ----------
    token_ids : tuple of int
    logprob : natural logarithm of its probability under the model, including its end if it has ended
    ended : True if it ends like a document; False if it reached the greatest number of tokens
    """

    __slots__ = ("ended", "logprob", "token_ids")

    token_ids: tuple[int, ...]
    logprob: float
    ended: bool

    def __new__(cls, text: str, token_ids: tuple[int, ...], logprob: float, ended: bool) -> Generated:
        self = str.__new__(cls, text)
        self.token_ids = token_ids
        self.logprob = logprob
        self.ended = ended
        return self

    def __getnewargs__(self) -> tuple[str, tuple[int, ...], float, bool]:  # type: ignore[override]
        return str(self), self.token_ids, self.logprob, self.ended


def _html(**columns: NDArray[Any]) -> str:
    """Return the first rows of arrays of equal lengths as HTML, NaN as NULL."""
    n_rows = min(map(len, columns.values()))
    size = f"{n_rows:,} row{'' if n_rows == 1 else 's'}"
    first = [array[:SHOWN_ROWS].tolist() for array in columns.values()]
    rows = [[item if item == item else None for item in row] for row in zip(*first, strict=True)]
    below = f"({size})" if n_rows <= SHOWN_ROWS else f"({size}, {SHOWN_ROWS} shown)"
    return display.table(tuple(columns), rows, [below])


@memory_errors()
def _frame(**columns: NDArray[Any]) -> pandas.DataFrame:
    frame: pandas.DataFrame = dataframes.column_frame(columns)
    return frame


class NextTokens(NamedTuple):
    """A next-token distribution as arrays; the probability of entry i is counts[i] / context_count.

    token_ids : (k,) uint32, ascending; counts : (k,) int64; n_end : occurrences of the context at a
    document's end, which no token follows; effective_n : length of the context that was used, plus one.
    """

    token_ids: NDArray[np.uint32]
    counts: NDArray[np.int64]
    n_end: int
    context_count: int
    effective_n: int

    def __repr__(self) -> str:
        return values.shown_arrays("NextTokens", **self._asdict())

    def _repr_html_(self) -> str:
        return _html(token_ids=self.token_ids, counts=self.counts)

    def df(self) -> pandas.DataFrame:
        """Return a `pandas.DataFrame` with a row for each token: `token_ids`, `counts`."""
        return _frame(token_ids=self.token_ids, counts=self.counts)


class NextTokensMany(NamedTuple):
    """Next-token distributions of n contexts; that of context i is entries offsets[i] … offsets[i + 1] - 1.

    offsets : (n + 1,) int64; token_ids : (m,) uint32, ascending within a context; counts : (m,) int64; n_end,
    context_count, effective_n : (n,) int64, see `NextTokens`.
    """

    offsets: NDArray[np.int64]
    token_ids: NDArray[np.uint32]
    counts: NDArray[np.int64]
    n_end: NDArray[np.int64]
    context_count: NDArray[np.int64]
    effective_n: NDArray[np.int64]

    def __repr__(self) -> str:
        return values.shown_arrays("NextTokensMany", **self._asdict())

    @classmethod
    def of(cls, each: Sequence[NextTokens]) -> NextTokensMany:
        """Join distributions that were made one by one."""
        offsets = np.zeros(len(each) + 1, dtype=np.int64)
        np.cumsum([len(found.token_ids) for found in each], out=offsets[1:])
        return cls(
            offsets,
            np.concatenate([np.empty(0, np.uint32), *(found.token_ids for found in each)]),
            np.concatenate([np.empty(0, np.int64), *(found.counts for found in each)]),
            np.array([found.n_end for found in each], dtype=np.int64),
            np.array([found.context_count for found in each], dtype=np.int64),
            np.array([found.effective_n for found in each], dtype=np.int64),
        )


class Spans(NamedTuple):
    """The maximal spans of a text that occur in a corpus: (k,) int64 each, by start."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __repr__(self) -> str:
        return values.shown_arrays("Spans", **self._asdict())

    def _repr_html_(self) -> str:
        return _html(**self._asdict())

    def df(self) -> pandas.DataFrame:
        """Return a `pandas.DataFrame` with a row for each span."""
        return _frame(**self._asdict())


class Places(NamedTuple):
    """Occurrences by document and position: (n,) int64 each; positions and lengths in tokens."""

    doc_ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def __repr__(self) -> str:
        return values.shown_arrays("Places", **self._asdict())

    def _repr_html_(self) -> str:
        return _html(**self._asdict())

    def df(self) -> pandas.DataFrame:
        """Return a `pandas.DataFrame` with a row for each occurrence."""
        return _frame(**self._asdict())


class StoredDocument(NamedTuple):
    """A document of a corpus: its id, text, metadata and token ids, (n,) int64."""

    doc_id: int
    text: str
    metadata: dict[str, Any]
    ids: NDArray[np.int64]

    def __repr__(self) -> str:
        shown = self.text if len(self.text) <= 60 else self.text[:59] + "…"
        return f"StoredDocument({self.doc_id}, {shown!r}, {self.metadata!r}, {len(self.ids):,} tokens)"


class Scores:
    """Probabilities as arrays, one entry per token (`score`) or per query (`prob_many`).

    Attributes
    ----------
    prob : (n,) float64, NaN if the context has no occurrence (SQL's NULL)
    count, context_count : (n,) int64; `cont_count` is another name of `count`
    effective_n : (n,) int32, length of the context that was used, plus one
    sparse : (n,) bool, whether the context has a single successor
    is_probability : False for scores of stupid backoff, which do not sum to 1
    suffix_n, suffix_count : (n,) int32 and int64, tokens of the longest suffix of the context that the model
        has, plus one, and its occurrences. `lm.interpolate` reads them because they do not depend on the
        token; for n-gram and ∞-gram models they are `effective_n` and `context_count`.
    """

    __slots__ = (
        "context_count",
        "count",
        "effective_n",
        "is_probability",
        "prob",
        "sparse",
        "suffix_count",
        "suffix_n",
    )

    def __init__(
        self,
        prob: NDArray[np.float64],
        count: NDArray[np.int64],
        context_count: NDArray[np.int64],
        effective_n: NDArray[np.int32],
        sparse: NDArray[np.bool_],
        is_probability: bool = True,
        suffix_n: NDArray[np.int32] | None = None,
        suffix_count: NDArray[np.int64] | None = None,
    ) -> None:
        self.suffix_n = effective_n if suffix_n is None else suffix_n
        self.suffix_count = context_count if suffix_count is None else suffix_count
        self.is_probability = is_probability
        self.prob = prob
        self.count = count
        self.context_count = context_count
        self.effective_n = effective_n
        self.sparse = sparse

    @classmethod
    def of(cls, scores: values.Scores) -> Scores:
        """Wrap the scores of a model, whose arrays are shared."""
        counts = (scores.count, scores.context_count, scores.effective_n, scores.sparse)
        return cls(scores.prob, *counts, scores.is_probability, scores.suffix_n, scores.suffix_count)

    @property
    def cont_count(self) -> NDArray[np.int64]:
        """Occurrences of the context followed by the continuation."""
        return self.count

    @property
    def logprob(self) -> NDArray[np.float64]:
        """Natural logarithms: -inf for 0, NaN without a probability."""
        with np.errstate(divide="ignore"):
            return np.log(self.prob)

    @property
    def perplexity(self) -> float:
        """The perplexity of a text's tokens: exp of the mean negative logarithm of their probabilities.

        Tokens without a probability do not count. Infinite if one is 0, NaN if none has a probability. The
        same as in SCORE and `Corpus.perplexity`.
        """
        return values.Measure.of(self.logprob).perplexity

    def __len__(self) -> int:
        return len(self.prob)

    def slice(self, start: int, stop: int) -> Scores:
        """Return entries `start … stop` as views of the same arrays."""
        part = slice(start, stop)
        return Scores(
            self.prob[part],
            self.count[part],
            self.context_count[part],
            self.effective_n[part],
            self.sparse[part],
            self.is_probability,
            self.suffix_n[part],
            self.suffix_count[part],
        )

    def df(self) -> pandas.DataFrame:
        """Return a `pandas.DataFrame` with a row for each entry: its arrays, and `logprob`."""
        return _frame(**_columns_of(self))

    def _repr_html_(self) -> str:
        return display.table((), (), [repr(self)]) + _html(**_columns_of(self))

    def __repr__(self) -> str:
        return values.shown_scores(self, values.Measure.of(self.logprob))


def _columns_of(scores: Scores) -> dict[str, NDArray[Any]]:
    names = ("prob", "logprob", "count", "context_count", "effective_n", "sparse")
    return {name: getattr(scores, name) for name in names}


class DocumentScores(Sequence[Scores]):
    """The scores of several documents: `scores[i]` are those of document i, views of `scores.all`.

    Attributes
    ----------
    all : Scores, the tokens of all documents one after the other
    offsets : (n + 1,) int64, the start of each document's tokens in `all`
    """

    __slots__ = ("all", "offsets")

    def __init__(self, scores: Scores, offsets: NDArray[np.int64]) -> None:
        self.all = scores
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, i: int) -> Scores: ...
    @overload
    def __getitem__(self, i: slice) -> list[Scores]: ...
    def __getitem__(self, i: int | slice) -> Scores | list[Scores]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"document {i} of {n}")
        i %= n
        return self.all.slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def __iter__(self) -> Iterator[Scores]:
        return (self[i] for i in range(len(self)))

    def df(self) -> pandas.DataFrame:
        """Return a `pandas.DataFrame` with a row for each token, as `Scores.df`, and its `document`."""
        frame = self.all.df()
        frame.insert(0, "document", self._numbers())
        return frame

    def _numbers(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def _repr_html_(self) -> str:
        return display.table((), (), [repr(self)]) + _html(document=self._numbers(), **_columns_of(self.all))

    def __repr__(self) -> str:
        return f"<DocumentScores of {len(self):,} documents: {self.all!r}>"
