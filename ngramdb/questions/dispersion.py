"""DISPERSION: how evenly occurrences are spread over the parts of a corpus.

The parts are documents, or the sets of documents with the same value of a field, or of what GROUP BY computes
from one; parts without tokens are
ignored. Part i has the share s_i of all tokens and v_i of all occurrences.

- range: the number of parts with an occurrence.
- DP = ½ Σ |s_i - v_i| (Gries 2008, "Dispersions and adjusted frequencies in corpora"): 0 if occurrences are
  spread as tokens are; DPnorm = DP / (1 - min s_i) (Lijffijt & Gries 2012), at most 1.
- DKL = Σ v_i log2(v_i / s_i), the divergence of v from s in bits (Gries 2020, "Analyzing dispersion").
- ARF, the average reduced frequency (Savický & Hlaváčová 2002, "Measures of word commonness"): for f
  occurrences among N tokens, v = N / f, and distances d_i from each to the next, from the last to the first
  around the end, Σ min(d_i, v) / v. Documents follow each other in the order of DOCS.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass as standard_dataclass
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from ngramdb.conditions.expressions import united
from ngramdb.errors import BindError, InvalidArgument, PlanError
from ngramdb.executor.per_segment import each_segment, evaluator_of
from ngramdb.executor.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.bind_conditions import in_part
from ngramdb.planner.bind_fields import DOC_ID, bound_key
from ngramdb.planner.parameters import listing
from ngramdb.planner.plan import (
    Actual,
    Costs,
    DocExpr,
    FieldKey,
    InPart,
    Node,
    Occurring,
    Plan,
    PlanMeter,
    changed,
)
from ngramdb.planner.scope import Scope
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help
from ngramdb.questions.groups import Groups, add_groups, add_to_groups
from ngramdb.questions.plans import Query
from ngramdb.questions.requests import Condition, Parameter, Spelling, Statement
from ngramdb.questions.requests import Occurring as OccurringText
from ngramdb.questions.verbs import Asking
from ngramdb.source import Corpus, IntArray
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.parsing import Pattern
    from ngramdb.questions.signatures import Ngram

COLUMNS = ("count", "range", "parts", "dp", "dp_norm", "dkl", "arf")
TYPES = (int, int, int, float, float, float, float)


class FieldName(Spelling):
    """The field whose values are the parts."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", self.about),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name]:
            statement.add(f"BY {arguments[name]}")


class Verbs(Asking):
    """Verbs of a corpus."""

    @checked_flags
    def dispersion(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        by: str | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Return how evenly an n-gram is spread over the corpus: DISPERSION.

        Parameters
        ----------
        pattern : text, token ids, or a pattern; for several patterns use the statement DISPERSION
        where, params : condition on documents, and the values of its parameters
        by : the field, or what GROUP BY takes ('YEAR(date)', 'year / 10 * 10'), whose values are the parts of
            the corpus; None for documents
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies

        Returns
        -------
        One row: `count`; `range`, the number of parts with an occurrence; `parts`, the number of parts;
        Gries' deviation of proportions `dp` and `dp_norm`; the divergence `dkl` in bits; the average reduced
        frequency `arf`.

        Raises
        ------
        QueryError
            The condition is invalid, or no document has the field.
        """
        if by is not None and not isinstance(by, str):
            raise InvalidArgument(f"by must be the name of a field, not {by!r}")
        tree = ast.Dispersion(
            to_ast.occurring(pattern, match_text, ignore_case), by=None if by is None else _group_key(by)
        )
        return self._bound.ask(tree, where, params)


def _group_key(by: str) -> ast.GroupKey:
    """Return the key that a text names. Raises InvalidArgument if it names several."""
    keys = to_ast.group_keys("by", by)
    if len(keys) != 1:
        raise InvalidArgument(f"by must be one field, not {by!r}")
    return keys[0]


DEFINITION = Definition(
    Verbs,
    "dispersion",
    "DISPERSION OF",
    "The dispersion of an n-gram: DISPERSION.",
    {
        "pattern": OccurringText(),
        "where": Condition(),
        "by": FieldName("the field whose values are the parts"),
    },
    help=Help(
        "DISPERSION [OF] condition [WHERE condition] [BY DOCUMENTS | group] [FROM source]",
        ('DISPERSION OF "climate" BY source', "how evenly it is spread over documents or sources"),
    ),
)


def bind(scope: Scope, node: ast.Dispersion) -> Plan:
    """Bind DISPERSION."""
    corpus = scope.corpus(node.source)
    key = None if node.by is None else _parts_by(scope, node.by, corpus)
    if key == FieldKey(DOC_ID, own=True):
        key = None  # each document is a part of its own, also in a sum of corpora
    return Spread(corpus, in_part(scope, "DISPERSION", node.what, node.where, corpus), key)


def _parts_by(scope: Scope, node: ast.GroupKey, corpus: Corpus) -> FieldKey:
    """Return the key whose values are the parts; the error for an unknown field lists the measures."""
    if isinstance(node, (ast.Unnested, ast.Beside)):
        what = "the parts are sets of documents: BY takes DOCUMENTS, a field, YEAR(date) or year / 10 * 10"
        scope.fail(PlanError, what, node)
    try:
        return bound_key(scope, node, corpus)
    except BindError as error:
        if not isinstance(node, ast.Field) or (error.nearest is not None and node.keys[0] not in COLUMNS):
            raise
        measures = listing(COLUMNS[3:])
        what = f"{error.message}; BY takes a field or DOCUMENTS: the measures, {measures}, are columns"
        scope.fail(BindError, what, node, error)


@dataclass(frozen=True)
class Spread(Query):
    """DISPERSION: how evenly occurrences are spread over documents, or over a field's values (`key`)."""

    what: InPart
    key: FieldKey | None = None
    costs: Costs | None = field(default=None, compare=False)

    def label(self) -> str:
        return f"dispersion over {'documents' if self.key is None else self.key.label()}"

    def tree(self) -> Node | None:
        return self.what

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, what=tree)

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return one row; the measures are NULL without occurrences, and DPnorm is NULL for one part.

        Cost: locating the occurrences, and a few ns per document.
        """
        self.corpus.check_difference()
        found = _Parts(self.key is None)
        what = self.what.what if meter is not None else united(self.what.what, self.corpus.tokenizer)
        with nullcontext(Actual()) if meter is None else meter.timed(self.what) as actual:
            asked = what, self.what.docs, self.costs, self.key
            for one in each_segment(self.corpus, spread_in, *asked, meter=meter):
                actual.rows += len(one.places)
                found.add(one)
        sizes, counts = found.sizes_and_counts()
        n = int(counts.sum())
        measures: tuple[float | None, ...] = (None,) * 4
        if n:
            places = np.concatenate(found.places)
            measures = (*_measures(sizes, counts), reduced_frequency(places, int(sizes.sum())))
        row = (n, int(np.count_nonzero(counts)), len(sizes), *measures)
        result = Result.of_rows(COLUMNS, [row])
        result.types = TYPES
        result.found = n > 0
        return result


@standard_dataclass(frozen=True)
class SegmentSpread:
    """Positions of occurrences in a segment, and sizes of its parts.

    n_tokens : the number of tokens in documents that count
    places : positions of occurrences among these tokens, ascending
    sizes, counts : tokens and occurrences of each document, (n_documents,), or of each group of documents
    """

    n_tokens: int
    places: IntArray
    sizes: IntArray | Groups
    counts: IntArray | Groups


def spread_in(
    corpus: Corpus,
    i: int,
    what: Occurring,
    where: DocExpr,
    costs: Costs | None,
    key: FieldKey | None,
    meter: PlanMeter | None = None,
) -> SegmentSpread:
    """Return how occurrences are spread over segment i."""
    evaluator, kept = evaluator_of(corpus, i, costs, meter)
    found = evaluator.evaluate(where)
    found = found if kept is None else found & kept
    starts, docs = evaluator.expressions.occurrences(what, found).starts, found.numbers()
    segment = corpus.segments[i]
    sizes = segment.lengths(docs)
    documents, before = segment.index.places_at(starts)
    numbers = np.searchsorted(docs, documents)
    counts = np.bincount(numbers, minlength=len(docs))
    places = (np.cumsum(sizes) - sizes)[numbers] + before
    n_tokens = int(sizes.sum())
    if key is None:
        return SegmentSpread(n_tokens, places, sizes, counts)
    groups: tuple[Groups, Groups] = ({}, {})
    if len(docs):
        for group, values in zip(groups, (sizes, counts), strict=True):
            add_to_groups(group, (key,), segment, docs, values)
    return SegmentSpread(n_tokens, places, *groups)


class _Parts:
    """Sizes of the parts, occurrences in them, and positions of occurrences among all tokens."""

    def __init__(self, are_documents: bool) -> None:
        self._are_documents = are_documents
        self._n_tokens = 0
        self._sizes: list[IntArray] = []
        self._counts: list[IntArray] = []
        self._groups: tuple[Groups, Groups] = ({}, {})
        self.places: list[IntArray] = []

    def add(self, one: SegmentSpread) -> None:
        """Add the next segment."""
        self.places.append(one.places + self._n_tokens)
        self._n_tokens += one.n_tokens
        if not isinstance(one.sizes, dict) and not isinstance(one.counts, dict):
            self._sizes.append(one.sizes)
            self._counts.append(one.counts)
            return
        for groups, found in zip(self._groups, (one.sizes, one.counts), strict=True):
            assert isinstance(found, dict)
            add_groups(groups, found)

    def sizes_and_counts(self) -> tuple[IntArray, IntArray]:
        """Return the tokens and the occurrences of every part that has tokens."""
        if self._are_documents:
            none = np.empty(0, dtype=np.int64)
            sizes, counts = (np.concatenate((none, *lists)) for lists in (self._sizes, self._counts))
        else:
            every, found = self._groups
            sizes = np.array([group[-1] for group in every.values()], dtype=np.int64)
            counts = np.array([found[key][-1] for key in every], dtype=np.int64)
        return sizes[sizes > 0], counts[sizes > 0]


def _measures(sizes: IntArray, counts: IntArray) -> tuple[float, float | None, float]:
    """Return DP, DPnorm and DKL."""
    expected, observed = sizes / sizes.sum(), counts / counts.sum()
    dp = float(np.abs(expected - observed).sum() / 2)
    most = 1 - float(expected.min())
    some = observed > 0
    dkl = float((observed[some] * np.log2(observed[some] / expected[some])).sum())
    return dp, dp / most if most else None, dkl


def reduced_frequency(places: IntArray, n_tokens: int) -> float:
    """Return the ARF of occurrences at these positions (ascending, at least one) among that many tokens."""
    mean = n_tokens / len(places)
    distances: Any = np.diff(places, append=places[0] + n_tokens)
    return float(np.minimum(distances, mean).sum() / mean)
