"""Questions about occurrences and documents, and their clauses."""

from __future__ import annotations

from ngramdb.language.ast.base import Node
from ngramdb.language.ast.conditions import Condition, InSentence
from ngramdb.language.ast.fields import Field, GroupKey
from ngramdb.language.ast.leaves import Ngram, Scalar
from ngramdb.language.ast.patterns import Pattern
from ngramdb.language.ast.sources import Source
from ngramdb.language.ast.statements import Question
from ngramdb.late_dataclasses import dataclass


@dataclass(frozen=True)
class OrderBy(Node):
    """One key of ORDER BY: a field, or `count`, `left`, `right` where the statement has such."""

    field: GroupKey
    descending: bool = False


@dataclass(frozen=True)
class Sample(Node):
    """SAMPLE k [SEED s]."""

    size: Scalar
    seed: Scalar | None = None


@dataclass(frozen=True)
class Count(Question):
    """COUNT "x", COUNT "x" AND "y" …: occurrences, of all or by groups of documents.

    `others` are those that are counted beside the first; `per_million`: also as a share of all tokens.
    """

    what: Condition
    where: Condition | None = None
    group_by: tuple[GroupKey, ...] = ()
    order_by: tuple[OrderBy, ...] = ()
    top: Scalar | None = None
    sample: Sample | None = None
    source: Source | None = None
    others: tuple[Condition, ...] = ()
    per_million: bool = False


@dataclass(frozen=True)
class CountDocs(Question):
    """COUNT DOCS [WHERE cond] [GROUP BY field, …]: matching documents."""

    where: Condition | None = None
    group_by: tuple[GroupKey, ...] = ()
    order_by: tuple[OrderBy, ...] = ()
    top: Scalar | None = None
    source: Source | None = None


@dataclass(frozen=True)
class Docs(Question):
    """DOCS [WHERE cond] [ORDER BY field, …] [LIMIT k] [OFFSET n] [SAMPLE k [SEED s]] [RETURNING field, …]."""

    where: Condition | None = None
    order_by: tuple[OrderBy, ...] = ()
    limit: Scalar | None = None
    offset: Scalar | None = None
    sample: Sample | None = None
    source: Source | None = None
    returning: tuple[Field, ...] = ()


@dataclass(frozen=True)
class Kwic(Question):
    """KWIC "x" [WHERE cond] [WINDOW n | SENTENCE] and clauses of DOCS; ORDER BY left | right | field, …."""

    what: Condition
    where: Condition | None = None
    window: Scalar | InSentence | None = None
    order_by: tuple[OrderBy, ...] = ()
    limit: Scalar | None = None
    offset: Scalar | None = None
    sample: Sample | None = None
    source: Source | None = None
    returning: tuple[Field, ...] = ()


@dataclass(frozen=True)
class Lengths(Node):
    """`2..5`: lengths of n-grams, both included."""

    low: int
    high: int


@dataclass(frozen=True)
class Ngrams(Question):
    """NGRAMS n | n..m [IGNORE CASE] [WHERE cond] [MIN COUNT k] [CONTAINING "x"] … [WITH DOCS] [TOP k]."""

    n: Scalar | Lengths
    where: Condition | None = None
    top: Scalar | None = None
    source: Source | None = None
    min_count: Scalar | None = None
    containing: Pattern | None = None
    starting: Ngram | None = None
    ending: Ngram | None = None
    ignore_case: bool = False
    with_docs: bool = False


@dataclass(frozen=True)
class Trace(Question):
    """TRACE "long text" [WHERE cond] [MIN LENGTH n] [RETURNING field, …]."""

    ngram: Ngram
    min_length: Scalar | None = None
    source: Source | None = None
    where: Condition | None = None
    returning: tuple[Field, ...] = ()
