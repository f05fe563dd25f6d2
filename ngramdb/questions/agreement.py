"""AGREEMENT: how often models assign the next token of a text more than half of their probability.

Source: Liu et al. 2024 ("Infini-gram"), section 4: by effective n, by the count of the context, and by the
probability that a neural model gives the token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.executor.result import Result, Row
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.lm.evaluation import ScoredBatch, middle, score_batch
from ngramdb.lm.group_measures import AgreementTable, bit_lengths, most_probable
from ngramdb.lm.models import LanguageModel
from ngramdb.lm.of_corpora import language_model
from ngramdb.lm.spec import ModelSpec
from ngramdb.planner.plan import Plan
from ngramdb.planner.scope import Scope
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help
from ngramdb.questions.measured import By, Measured, Texts, bind_measured, tree_of, unit_tree
from ngramdb.questions.perplexity import (
    Groups,
    ModelOrders,
    Models,
    batches_of,
    bound_models,
    models_tree,
    named,
    notes_of,
    or_none,
    orders_tree,
)
from ngramdb.questions.plans import SliceQuery
from ngramdb.questions.requests import Condition, Number, Switch
from ngramdb.questions.verbs import Asking
from ngramdb.source import IntArray
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.perplexity import Orders
    from ngramdb.questions.signatures import ModelLike, Ngram
    from ngramdb.questions.verbs import Asking as Corpus

# Groups of tokens, in place of groups of texts.
OF_TOKENS = ("length", "count")
# The columns after model, order and group, and their types.
COLUMNS = {
    "tokens": int,
    "agreeing": int,
    "share": float,
    "sparse_tokens": int,
    "sparse_agreeing": int,
    "sparse_share": float,
}
WITH_ARGMAX = {"most_probable": int, "most_probable_share": float}
MIDDLES = {"mean_effective_n": float, "median_effective_n": float}
# Ranges of a neural model's probability.
N_RANGES = 10


class Verbs(Asking):
    """Verbs of a corpus."""

    @checked_flags
    def agreement_table(
        self,
        of: Ngram | Corpus,
        models: ModelLike | Sequence[ModelLike] = "infgram",
        orders: Orders = None,
        *,
        by: str | None = None,
        skip: int = 0,
        with_argmax: bool = False,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Count the tokens of texts that models expect, several models in one table: AGREEMENT.

        A model agrees with a token if it gives it more than half of its probability. `agreement` takes any
        documents, and one model; the numbers are the same.

        Parameters
        ----------
        of, models, orders, where, params : as `perplexity_table` takes them
        by : 'length' (effective n), 'count' (of the context), 'documents', 'lines' or a field of the texts'
            corpus: a row for each value
        skip : the number of tokens at the start of each document or line that are context only
        with_argmax : count the tokens that are the most probable ones, too (n-gram and ∞-gram models)

        Returns
        -------
        A row per model, order and group: `model`, `order` (None without a limit), the group; `tokens`,
        `agreeing`, `share`; the same of sparse estimates, whose contexts have a single continuation; with
        `with_argmax` `most_probable` and its share; without `by` mean and median of effective n.

        Raises
        ------
        InvalidArgument
            An invalid model or order, or a number out of range.
        """
        unit = ast.Name(by) if isinstance(by, str) and by in OF_TOKENS else unit_tree(by)
        tree = ast.Agreement(
            tree_of(self._bound, of),
            models_tree(models),
            orders_tree(orders),
            unit,
            to_ast.number(0, "skip", skip),
            with_argmax,
        )
        return self._bound.ask(tree, where, params)


DEFINITION = Definition(
    Verbs,
    "agreement_table",
    "AGREEMENT",
    "How often models expect the tokens of texts: AGREEMENT.",
    {
        "of": Texts(),
        "where": Condition(),
        "models": Models(),
        "orders": ModelOrders(),
        "by": By("length (effective n), count (of the context), documents, lines, or a field"),
        "skip": Number("tokens at the start of each text that are context only", implied=True),
        "with_argmax": Switch("count the most probable tokens, too"),
    },
    help=Help(
        "AGREEMENT OF texts [FROM source [WHERE condition]] [USING model {, model}] [ORDERS …]\n"
        "  [BY LENGTH | COUNT | 'probabilities.npy' | DOCUMENTS | LINES | group] [SKIP n] [WITH ARGMAX]",
        ("AGREEMENT OF test BY LENGTH FROM train", "how often the ∞-gram expects the next token"),
    ),
)


def bind(scope: Scope, node: ast.Agreement) -> Plan:
    """Bind AGREEMENT."""
    corpus = scope.corpus(node.source)
    by = node.by
    tokens = by.value if isinstance(by, ast.Name) and by.value in OF_TOKENS else None
    probabilities = None
    if isinstance(by, (ast.Value, ast.Parameter)):
        probabilities = scope.path(by, "the path after BY")
    of_texts = None if tokens or probabilities else by
    models = bound_models(scope, node, "infgram")
    if node.with_argmax:
        for spec in models:
            if spec.kind not in ("ngram", "infgram"):
                what = "WITH ARGMAX is for NGRAM and INFGRAM: others give every token a probability"
                scope.fail(PlanError, f"{what}, not for {spec}", node)
    return AgreementQuery(
        corpus,
        bind_measured(scope, node.of, of_texts, corpus),
        models,
        tokens,
        probabilities,
        scope.number(node.skip, "SKIP", 0) or 0,
        node.with_argmax,
        where=scope.among(node.where, corpus),
    )


@dataclass(frozen=True)
class AgreementQuery(SliceQuery):
    """AGREEMENT: texts under models of the corpus.

    by : groups of tokens, by 'length' (effective n) or 'count' (of the context)
    probabilities : a file of NumPy with the probability of each token, whose ranges are the groups
    """

    of: Measured
    models: tuple[ModelSpec, ...]
    by: str | None = None
    probabilities: str | None = None
    skip: int = 0
    with_argmax: bool = False

    @property
    def path(self) -> str | None:
        """The file that is read besides the database."""
        return self.of.path or self.probabilities

    def label(self) -> str:
        parts = [", ".join(map(str, self.models))]
        if self.by or self.probabilities:
            parts.append(f"by {self.by or self.probabilities}")
        if self.skip:
            parts.append(f"skip {self.skip:,}")
        if self.with_argmax:
            parts.append("with argmax")
        return f"agreement of {self.of} ({', '.join(parts)})"

    def answer_whole(self) -> Result:
        """Return a row per model, order and group. Cost: that of SCORE, for each model."""
        groups = Groups()
        neural = _Probabilities(self.probabilities) if self.probabilities else None
        models = [_Model(self, language_model(self.corpus, spec)) for spec in self.models]
        for batch in batches_of(self.of, self.corpus, groups):
            given = None if neural is None else neural.next(sum(map(len, batch.pieces)))
            for model in models:
                model.add(batch.pieces, batch.groups, given)
        if neural is not None:
            neural.check_end()
        rows = [
            (*named(spec), *row)
            for spec, model in zip(self.models, models, strict=True)
            for row in model.rows(groups)
        ]
        columns = dict(COLUMNS) | (WITH_ARGMAX if self.with_argmax else {})
        columns |= MIDDLES if self.is_total else {}
        groups_of, types = self._group_columns()
        return Result(
            ("model", "order", *groups_of, *columns),
            iter([rows]),
            summary=notes_of(self.corpus, self.models),
            n_rows=len(rows),
            types=(str, int, *types, *columns.values()),
        )

    @property
    def is_total(self) -> bool:
        return not (self.by or self.probabilities or self.of.by)

    def _group_columns(self) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        if self.by == "length":
            return ("effective_n",), (int,)
        if self.by == "count":
            return ("least", "most"), (int, int)
        if self.probabilities:
            return ("least", "most"), (float, float)
        return self.of.columns, self.of.types


class _Model:
    """The counts of one model, by the groups of the plan and by effective n."""

    def __init__(self, plan: AgreementQuery, model: LanguageModel) -> None:
        self._plan = plan
        self._model = model
        self._table = AgreementTable()
        self._lengths = AgreementTable()
        self._best: dict[tuple[int, ...], float] = {}

    def add(self, pieces: list[IntArray], groups: IntArray, neural: NDArray[np.float64] | None) -> None:
        plan = self._plan
        batch = score_batch(self._model, pieces, document=False)
        first = most_probable(self._model, batch, self._best) if plan.with_argmax else None
        numbers = self._numbers(batch, groups, neural)
        sizes = np.diff(batch.bounds)
        kept = np.arange(len(batch.tokens)) - np.repeat(batch.bounds[:-1], sizes) >= plan.skip
        scores = batch.scores[kept]
        first = None if first is None else first[kept]
        self._table.add(scores, numbers[kept], first)
        self._lengths.add(scores, scores.effective_n.astype(np.int64), first)

    def _numbers(self, batch: ScoredBatch, groups: IntArray, neural: NDArray[np.float64] | None) -> IntArray:
        """Return the number of the group of each token."""
        if self._plan.by == "length":
            return batch.scores.effective_n.astype(np.int64)
        if self._plan.by == "count":
            return bit_lengths(batch.scores.suffix_count)
        if neural is not None:
            return np.minimum((neural * N_RANGES).astype(np.int64), N_RANGES - 1)
        return np.repeat(groups, np.diff(batch.bounds))

    def rows(self, groups: Groups) -> list[Row]:
        """Return the groups' values, and their figures."""
        counts = self._table.counts.tolist()
        plan = self._plan
        listed: Any = [(i, self._bounds(i)) for i in range(len(counts))]
        if plan.by is None and plan.probabilities is None:
            listed = groups.listed(plan.of)
        elif counts:
            listed = [(i, values) for i, values in listed if counts[i][0]]
        rows = []
        for number, values in listed:
            row = counts[number] if number < len(counts) else [0] * 5
            rows.append((*values, *self._figures(row)))
        return rows

    def _bounds(self, number: int) -> tuple[Any, ...]:
        if self._plan.by == "length":
            return (number,)
        if self._plan.by == "count":
            return (1 << number) >> 1, (1 << number) - 1
        return number / N_RANGES, (number + 1) / N_RANGES

    def _figures(self, row: Sequence[int]) -> Row:
        tokens, agreeing, sparse, sparse_agreeing, first = row
        figures: list[Any] = [tokens, agreeing, _share(agreeing, tokens)]
        figures += [sparse, sparse_agreeing, _share(sparse_agreeing, sparse)]
        if self._plan.with_argmax:
            figures += [first, _share(first, tokens)]
        if self._plan.is_total:
            figures += map(or_none, middle(self._lengths.counts[1:, 0]))
        return tuple(figures)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


class _Probabilities:
    """A file of NumPy with one probability per token of the texts, in their order."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._values = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InvalidArgument(f"{path}: this is not an array of NumPy (.npy): {error}") from error
        if (
            not isinstance(self._values, np.ndarray)
            or self._values.ndim != 1
            or self._values.dtype.kind != "f"
        ):
            raise InvalidArgument(f"{path} must have one array of floats, the probability of each token")
        self._read = 0

    def next(self, n: int) -> NDArray[np.float64]:
        """Return the probabilities of the next tokens."""
        found = np.asarray(self._values[self._read : self._read + n], dtype=np.float64)
        self._read += n
        if len(found) < n:
            have = f"{self._path} has {len(self._values):,} probabilities"
            raise InvalidArgument(f"{have}; the texts have more tokens")
        if not ((found >= 0) & (found <= 1 + 1e-6)).all():
            raise InvalidArgument(f"{self._path} must have probabilities from 0 to 1, not logarithms")
        return found

    def check_end(self) -> None:
        """Raise InvalidArgument if there are probabilities left."""
        if self._read != len(self._values):
            have = f"{self._path} has {len(self._values):,} probabilities"
            raise InvalidArgument(f"{have}, and the texts have {self._read:,} tokens")
