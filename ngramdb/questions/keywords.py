"""KEYWORDS: the n-grams that are more frequent in some documents than in others.

Tokens are counted in the documents themselves; if two parts make up the corpus, only in the smaller one.
Longer n-grams come from one pass over the rows of the index, which distinguishes documents only for
n-grams that are frequent enough to be among the best.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.top_ngrams import NgramScan
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.evaluation import Evaluator
from ngramdb.conditions.expressions import from_files
from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.executor.measures import KEYNESS, Floats, Table, simple
from ngramdb.executor.per_segment import (
    Ids,
    Side,
    Subcorpus,
    all_are_shorter,
    batches_of,
    each_segment,
    require_table,
    side_of,
)
from ngramdb.executor.result import Result, Row
from ngramdb.interrupts import require_memory
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.lm.spec import MAX_MIN_COUNT
from ngramdb.planner.bind_conditions import condition
from ngramdb.planner.parameters import default_corpus
from ngramdb.planner.plan import Contrast, Costs, DocExpr, Plan, PlanMeter
from ngramdb.planner.scope import Range, Scope
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help
from ngramdb.questions.plans import Query
from ngramdb.questions.requests import MIN_COUNT, WHERE, Number, Parameter, Spelling, Statement
from ngramdb.questions.verbs import Asking, Bound
from ngramdb.registries import KEYNESS_MEASURES
from ngramdb.source import Corpus as CorpusView
from ngramdb.source import IntArray

if TYPE_CHECKING:
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.verbs import Asking as Corpus

# The measure's own column follows: counts in both parts, and tokens of both.
COLUMNS = ("ngram", "token_ids", "f1", "N1", "f2", "N2")
TYPES = (str, list, int, int, int, int, float)

POSITIVE = Range("above 0", lambda x: 0 < x < float("inf"))

# N-grams whose measures are computed together: a few megabytes.
CHUNK_NGRAMS = 1 << 17
# Memory per n-gram: its place, counts, measure and order.
BYTES_PER_NGRAM = 96

# Returns the tokens, (k, n), of n-grams by their keys.
ReadIds = Callable[[IntArray], Ids]


class Documents(Spelling):
    """The condition on the first documents, or all of them."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (WHERE,)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.where(arguments[name] or "length >= 0")


class Against(Spelling):
    """The condition on the documents to compare with, or the rest."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", self.about),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name]:
            statement.add("AGAINST").where(arguments[name])
        else:
            statement.add("AGAINST REST")


class Measure(Spelling):
    """The measure, and `smoothing` for `simple`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (
            Parameter(name, "text", self.about, default, choices=KEYNESS_MEASURES),
            Parameter("smoothing", "number", "a number that simple adds to both frequencies; 1 by default"),
        )

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        by, smoothing = arguments[name], arguments["smoothing"]
        if smoothing is not None and by != "simple":
            raise InvalidArgument("smoothing applies to by=simple only")
        statement.add(f"BY {by.upper()}" + ("" if smoothing is None else f"({smoothing!r})"))


class Verbs(Asking):
    """Verbs of a corpus."""

    def keywords(
        self,
        where: str | None = None,
        against: str | Corpus | None = None,
        *,
        n: int = 1,
        by: str = "ll",
        smoothing: float = 1.0,
        min_count: int = 1,
        top: int | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Return the n-grams that are more frequent in some documents than in others: KEYWORDS.

        Parameters
        ----------
        where : condition on the documents, with `?` or `:name` for `params`; None for all
        against : condition on the other documents, or another corpus of the database as a whole; None for the
            rest of this corpus
        n : tokens of an n-gram
        by : 'll' (log-likelihood of the two counts, Rayson & Garside 2000), 'logratio', 'chi2' or 'simple', a
            ratio of frequencies
        smoothing : a number that 'simple' adds to both frequencies per million
        min_count : the least number of occurrences in both parts together
        top : maximum number of rows
        params : values of the conditions' parameters, those of `where` first

        Returns
        -------
        Columns `ngram`, `token_ids`; the counts in both parts, `f1` and `f2`; the tokens of both, `N1` and
        `N2`; the measure. N-grams that are rarer in the documents than in the others come last.

        Raises
        ------
        InvalidArgument
            A number is out of range, the measure does not exist, or the corpus is in another database.
        NotSupportedError
            The corpus is a part of a corpus and is compared with another corpus.
        """
        other: str | None = None
        theirs: Bound | None = getattr(against, "_bound", None)
        if theirs is not None:
            verb = "keywords against another corpus"
            self._bound.check_whole(verb)
            other = self._bound.name_of(theirs, verb)
        if not isinstance(by, str) or by not in KEYNESS_MEASURES:
            raise InvalidArgument(f"by must be one of {', '.join(KEYNESS_MEASURES)}, not {by!r}")
        if where is None and against is None:
            raise InvalidArgument("keywords needs a condition (where) or another corpus (against)")
        for name, given, least in (("n", n, 1), ("min_count", min_count, 1), ("top", top, 0)):
            to_ast.at_least(least, name, given)
        if isinstance(smoothing, bool) or not isinstance(smoothing, (int, float)) or not 0 < smoothing < 1e12:
            raise InvalidArgument(f"smoothing must be a number above 0, not {smoothing!r}")
        name = f"`{self.name.replace('`', '``')}`"
        first = name if where is None else f"{name} WHERE {where}\n"
        if other is not None:
            second = f"`{other.replace('`', '``')}`"
        else:
            second = "REST" if against is None else f"{name} WHERE {against}\n"
        measure = f"simple({smoothing!r})" if by == "simple" else by
        limit = "" if top is None else f" TOP {top}"
        text = f"KEYWORDS OF {first} AGAINST {second} NGRAMS {n} BY {measure} MIN COUNT {min_count}{limit}"
        return self._bound.run(self._bound.bind_text(text, params))


DEFINITION = Definition(
    Verbs,
    "keywords",
    "KEYWORDS OF",
    "The n-grams that are more frequent in some documents than in others: KEYWORDS.",
    {
        "where": Documents(),
        "against": Against("the condition of the others; without it, the rest"),
        "n": Number("tokens of an n-gram", least=1, after="NGRAMS"),
        "by": Measure("the measure"),
        "min_count": MIN_COUNT,
    },
    before_from=2,
    page="TOP",
    help=Help(
        "KEYWORDS [OF] documents AGAINST documents | REST [NGRAMS n] [BY keyness] "
        "[MIN COUNT k] [TOP k] [FROM source]",
        ("KEYWORDS OF WHERE year < 1950 AGAINST REST TOP 20", "n-grams that are typical of some documents"),
    ),
)


def bind(scope: Scope, node: ast.Keywords) -> Plan:
    """Bind KEYWORDS."""
    corpus, documents = _compared(scope, node)
    by = scope.measure(node.by, KEYNESS_MEASURES)
    smoothing = None if node.by is None else scope.real(node.by.parameter, "what SIMPLE adds", POSITIVE)
    if node.by is not None and node.by.parameter is not None and by != "simple":
        scope.fail(PlanError, f"{by.upper()} takes no number; SIMPLE(n) adds n to both frequencies", node.by)
    return Keyness(
        corpus,
        documents,
        scope.number(node.ngrams, "the length of NGRAMS", 1) or 1,
        by,
        1.0 if smoothing is None else smoothing,
        scope.number(node.min_count, "MIN COUNT", 1, MAX_MIN_COUNT) or 1,
        scope.number(node.top, "TOP", 0),
    )


def _compared(scope: Scope, node: ast.Keywords) -> tuple[CorpusView, Contrast]:
    """Return one corpus with both parts, and which documents are in which."""
    what, against = node.what, node.against
    source = what.source or node.source
    first = scope.corpus(source)
    if against is None:
        if what.where is None:
            scope.fail(PlanError, "REST needs a condition: KEYWORDS OF WHERE … AGAINST REST", what)
        return first, Contrast(condition(scope, what.where, first))
    other = against.source or node.source
    if other == source:
        return first, _contrast(scope, what, against, first)
    terms = [term for one in (source, other) for term in _terms(scope, one, node)]
    both = scope.corpus(ast.Source(tuple(terms), span=node.span))
    # Conditions refer to tokens of the common vocabulary, which the segments use.
    return both, dataclasses.replace(_contrast(scope, what, against, both), n_first=len(first.segments))


def _contrast(scope: Scope, what: ast.DocumentsOf, against: ast.DocumentsOf, corpus: CorpusView) -> Contrast:
    return Contrast(condition(scope, what.where, corpus), condition(scope, against.where, corpus))


def _terms(scope: Scope, source: ast.Source | None, node: ast.Keywords) -> tuple[ast.SourceTerm, ...]:
    """Return the corpora of a source; without one, FROM or the current corpus."""
    if source is None:
        name = default_corpus(scope.catalog.current, scope.catalog.corpus_names())
        return (ast.SourceTerm(ast.Name(name)),)
    for term in source.terms:
        if term.sign < 0:
            message = "KEYWORDS compares sums of corpora; exclude documents by a condition"
            scope.fail(PlanError, message, term)
    return source.terms


@dataclass(frozen=True)
class Keyness(Query):
    """KEYWORDS: the n-grams of some documents that are more frequent than in others, by a measure.

    The measure `simple` adds `smoothing`.
    """

    where: Contrast
    n: int
    measure: str
    smoothing: float = 1.0
    min_count: int = 1
    top: int | None = None
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        parts = [f"{self.n}-grams", f"by {self.measure}"]
        if self.measure == "simple":
            parts[-1] += f"({self.smoothing:g})"
        if self.min_count > 1:
            parts.append(f"min count {self.min_count:,}")
        if self.top is not None:
            parts.append(f"top {self.top:,}")
        return f"keywords ({', '.join(parts)})"

    def where_clause(self) -> DocExpr | None:
        return self.where

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return a row per n-gram, by the measure, then by token ids; nothing if a part is empty.

        In the summary, `total` is the number of n-grams, if all of them were read.
        """
        self.corpus.check_difference()
        pair = _parts(self, meter)
        total: int | None = 0
        found = _none()
        read: ReadIds = _of_one_token
        if pair.first.n_tokens and pair.second.n_tokens:
            found, total, read = _of_tokens(self, pair) if self.n == 1 else _of_ngrams(self, pair)
        require_table(np.full(len(found.scores), self.n))
        summary: dict[str, Any] = {} if total is None else {"total": total}
        if pair.n_common:
            summary["note"] = _overlap_note(pair.n_common)
        columns = (*COLUMNS, self.measure)
        batches = _batches(self, pair, found, read)
        return Result(columns, batches, summary=summary, n_rows=len(found.scores), types=TYPES)


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two parts of a corpus; `is_whole`: every document is in one of them; `n_common` are in both."""

    first: Subcorpus
    second: Subcorpus
    is_whole: bool
    n_common: int


@dataclasses.dataclass
class Scored:
    """N-grams with both counts and their measure: (m, k) int64 keys to read their ids, (m,) the others."""

    keys: IntArray
    f1: IntArray
    f2: IntArray
    scores: Floats

    def best(self, top: int | None) -> Scored:
        """Return the best in order; equal ones keep their order."""
        order = np.argsort(-self.scores, kind="stable")[:top]
        return Scored(self.keys[order], self.f1[order], self.f2[order], self.scores[order])


def _batches(plan: Keyness, pair: Pair, found: Scored, read: ReadIds) -> Iterator[list[Row]]:
    n1, n2 = pair.first.n_tokens, pair.second.n_tokens
    with from_files(plan.corpus.tokenizer, plan.corpus.segments):
        for part in batches_of(np.full(len(found.scores), plan.n)):
            every = read(found.keys[part])
            texts = plan.corpus.tokenizer.decode_rows(every)
            columns = (column[part].tolist() for column in (found.f1, found.f2, found.scores))
            yield [
                (text, ids, f1, n1, f2, n2, score)
                for text, ids, f1, f2, score in zip(texts, every.tolist(), *columns, strict=True)
            ]


def _overlap_note(n: int) -> str:
    found = (
        "1 document is in both parts and counts" if n == 1 else f"{n:,} documents are in both parts and count"
    )
    return f"{found} on both sides; AND NOT in a condition, or AGAINST REST, keeps the parts apart"


def _parts(plan: Keyness, meter: PlanMeter | None) -> Pair:
    """Return the documents of both parts."""
    first: list[DocSet] = []
    second: list[DocSet] = []
    is_whole, n_common = plan.where.n_first is None, 0
    for chosen, n_kept in each_segment(plan.corpus, sides_in, plan.where, plan.costs, meter=meter):
        common = len(chosen[0] & chosen[1])
        n_common += common
        is_whole = is_whole and not common and len(chosen[0]) + len(chosen[1]) == n_kept
        first.append(chosen[0])
        second.append(chosen[1])
    return Pair(Subcorpus(plan.corpus, first), Subcorpus(plan.corpus, second), is_whole, n_common)


def sides_in(
    corpus: CorpusView, i: int, where: Contrast, costs: Costs | None, meter: PlanMeter | None = None
) -> tuple[tuple[DocSet, DocSet], int]:
    """Return the documents of segment i in each part, and the number of its documents."""
    evaluator = Evaluator(corpus, corpus.segments[i], costs, meter)
    kept = DocSet(corpus.removed(i), evaluator.n_documents, negated=True)
    return _chosen(where, i, evaluator, kept), len(kept)


def _chosen(where: Contrast, i: int, evaluator: Evaluator, kept: DocSet) -> tuple[DocSet, DocSet]:
    none = DocSet.none(evaluator.n_documents)

    def meeting(condition: DocExpr) -> DocSet:
        return evaluator.evaluate(condition) & kept

    if where.n_first is not None and where.second is not None:
        return (meeting(where.first), none) if i < where.n_first else (none, meeting(where.second))
    first = meeting(where.first)
    return first, kept & ~first if where.second is None else meeting(where.second)


def _of_tokens(plan: Keyness, pair: Pair) -> tuple[Scored, int, ReadIds]:
    if pair.is_whole:
        ids, every, *_ = plan.corpus.index.dist([], False, 0)
        swapped = pair.first.n_tokens > pair.second.n_tokens
        f1 = (pair.second if swapped else pair.first).counts_of(ids)
        f1, f2 = (every - f1, f1) if swapped else (f1, every - f1)
    else:
        (own, counts), (others, other_counts) = pair.first.token_counts(), pair.second.token_counts()
        ids = np.union1d(own, others)
        f1, f2 = np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids), dtype=np.int64)
        f1[np.searchsorted(ids, own)] = counts
        f2[np.searchsorted(ids, others)] = other_counts
    kept = f1 + f2 >= plan.min_count
    ids, f1, f2 = ids[kept], f1[kept], f2[kept]
    scores = _measure(plan, pair)(f1, f2)
    return Scored(ids.astype(np.int64)[:, None], f1, f2, scores).best(plan.top), len(ids), _of_one_token


def _of_one_token(ids: IntArray) -> Ids:
    return ids.astype(np.uint32)


def _measure(plan: Keyness, pair: Pair) -> Callable[[IntArray, IntArray], Floats]:
    n1, n2 = pair.first.n_tokens, pair.second.n_tokens

    def measured(f1: IntArray, f2: IntArray) -> Floats:
        table = Table.of(f1, n1, f1 + f2, n1 + n2)
        return simple(table, plan.smoothing) if plan.measure == "simple" else KEYNESS[plan.measure](table)

    return measured


def _of_ngrams(plan: Keyness, pair: Pair) -> tuple[Scored, int | None, ReadIds]:
    """Read longer n-grams in a pass over the rows; their number is known if none was skipped."""
    if all_are_shorter(plan.corpus.segments, plan.n):
        return _none(), 0, _of_one_token
    measure = _measure(plan, pair)
    scan = NgramScan(_sources(plan, pair), plan.n)
    # A row in both parts counts twice.
    least = all_rows = (plan.min_count + 1) // 2 if pair.n_common else plan.min_count
    found, total = [_none()], 0
    while True:
        places, counts = scan.next(CHUNK_NGRAMS, least)
        if not len(places):
            return _joined(found).best(plan.top), total if least == all_rows else None, scan.ids
        f1, f2 = counts[:, 0], counts[:, 1]
        if pair.is_whole:  # the second count is that of all documents
            f2 = f2 - f1
        kept = f1 + f2 >= plan.min_count
        places, f1, f2 = places[kept], f1[kept], f2[kept]
        total += len(places)
        found.append(Scored(places, f1, f2, measure(f1, f2)))
        n_kept = sum(len(one.scores) for one in found)
        require_memory(n_kept * BYTES_PER_NGRAM, f"{n_kept:,} n-grams of {plan.n:,} tokens")
        if plan.top is not None:
            found = [_joined(found).best(plan.top)]
            if len(found[0].scores) == plan.top:
                bar = float(found[0].scores[-1]) if plan.top else float("inf")
                least = max(least, _least_rows(measure, bar, pair.first.n_tokens))


def _least_rows(measure: Callable[[IntArray, IntArray], Floats], bar: float, most: int) -> int:
    """Return the least count with which an n-gram's measure can exceed a bar, all in the first part."""
    low, high = 1, most + 1
    while low < high:
        middle = (low + high) // 2
        if measure(np.array([middle]), np.array([0]))[0] > bar:
            high = middle
        else:
            low = middle + 1
    return low


def _sources(plan: Keyness, pair: Pair) -> list[tuple[object, None, Side | None, Side | None]]:
    """Return the segments with the documents of both parts, or of the first one and all."""
    sources: list[tuple[object, None, Side | None, Side | None]] = []
    assert pair.first.documents is not None and pair.second.documents is not None
    for i, segment in enumerate(plan.corpus.segments):
        first, second = pair.first.documents[i], pair.second.documents[i]
        sides = side_of(first), side_of(first | second if pair.is_whole else second)
        if any(sides):
            sources.append((segment.index, None, *sides))
    return sources


def _none() -> Scored:
    counts = np.empty(0, dtype=np.int64)
    return Scored(np.empty((0, 2), dtype=np.int64), counts, counts, np.empty(0))


def _joined(parts: Sequence[Scored]) -> Scored:
    columns: Sequence[tuple[NDArray[np.generic], ...]] = [(p.keys, p.f1, p.f2, p.scores) for p in parts]
    return Scored(*(np.concatenate(column) for column in zip(*columns, strict=True)))
