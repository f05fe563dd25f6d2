"""Questions that measure texts by a corpus: perplexity, agreement, novelty, continuations."""

from __future__ import annotations

from ngramdb.language.ast.data import Option
from ngramdb.language.ast.nodes import (
    Condition,
    GroupKey,
    ModelClause,
    Name,
    Ngram,
    Node,
    Question,
    Scalar,
    Source,
)
from ngramdb.language.ast.questions import DocumentsOf, Lengths
from ngramdb.lazy import dataclass


@dataclass(frozen=True)
class Measured(Node):
    """OF "text" | 'file' [(options)] | corpus [WHERE cond] | WHERE cond: what is measured."""

    ngram: Ngram | None = None
    path: Name | Scalar | None = None
    options: tuple[Option, ...] = ()
    documents: DocumentsOf | None = None


@dataclass(frozen=True)
class Perplexity(Question):
    """PERPLEXITY OF texts [FROM corpus [WHERE cond]] [USING model, …] [ORDERS n, n..m, INF] [BY unit].

    `orders` has None for INF. `by` is the name 'documents' or 'lines', or a key of documents.
    """

    of: Measured
    model: tuple[ModelClause, ...] = ()
    orders: tuple[Scalar | Lengths | None, ...] = ()
    by: Name | GroupKey | None = None
    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class Agreement(Question):
    """AGREEMENT OF texts, with the clauses of PERPLEXITY, [SKIP n] [WITH ARGMAX].

    `by` may also be the name 'length' (effective n) or 'count' (of the context), or the path of a file with
    probabilities.
    """

    of: Measured
    model: tuple[ModelClause, ...] = ()
    orders: tuple[Scalar | Lengths | None, ...] = ()
    by: Name | Scalar | GroupKey | None = None
    skip: Scalar | None = None
    with_argmax: bool = False
    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class Novelty(Question):
    """NOVELTY OF texts [FROM corpus [WHERE cond]] [NGRAMS n | n..m] [BY unit].

    `by` may also be the name 'tokens'.
    """

    of: Measured
    ngrams: Scalar | Lengths | None = None
    by: Name | GroupKey | None = None
    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class Continuations(Question):
    """CONTINUATIONS OF "x" [WHERE cond]: the numbers of different neighbours."""

    ngram: Ngram
    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class TraceTexts(Question):
    """TRACE OF texts [FROM corpus [WHERE cond]] [MIN LENGTH n]."""

    of: Measured
    min_length: Scalar | None = None
    source: Source | None = None
    where: Condition | None = None
