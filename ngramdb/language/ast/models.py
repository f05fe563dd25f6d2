"""Questions to language models, and their clauses."""

from __future__ import annotations

from ngramdb.language.ast.base import Node
from ngramdb.language.ast.conditions import Condition
from ngramdb.language.ast.leaves import Name, Ngram, Scalar
from ngramdb.language.ast.sources import Source
from ngramdb.language.ast.statements import Question
from ngramdb.late_dataclasses import dataclass


@dataclass(frozen=True)
class ModelClause(Node):
    """What stands after USING. `kind` is 'ngram', 'infgram', 'backoff' or 'kneser_ney'.

    `order` limits the n-gram's length; n-grams that occur less than `min_count` times count as unseen.
    """

    kind: str = "ngram"
    order: Scalar | None = None
    weight: Scalar | None = None
    min_count: Scalar | None = None


@dataclass(frozen=True)
class Prob(Question):
    """PROB "w" GIVEN "ctx" [USING model] [WHERE cond]."""

    continuation: Ngram
    context: Ngram
    model: ModelClause | None = None
    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class Dist(Question):
    """DIST GIVEN "ctx" [USING model] [WHERE cond] [TOP k]."""

    context: Ngram
    model: ModelClause | None = None
    top: Scalar | None = None
    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class DistBefore(Question):
    """DIST BEFORE "x" [WHERE cond] [TOP k]: the tokens before an n-gram."""

    ngram: Ngram
    top: Scalar | None = None
    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class Score(Question):
    """SCORE "text" [USING model] [WHERE cond] [SENTENCE | DOCUMENT].

    `unit`, 'sentence' or 'document', is what the text consists of: each is scored between <s> and </s>.
    """

    ngram: Ngram
    model: ModelClause | None = None
    unit: Name | None = None
    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class Method(Node):
    """METHOD greedy | sample | beam(b). `kind` is lower case."""

    kind: str
    width: Scalar | None = None


@dataclass(frozen=True)
class Generate(Question):
    """GENERATE GIVEN "ctx" TOKENS n [USING model] [WHERE cond], and how.

    The latter: METHOD, TEMPERATURE, TOP, NUCLEUS, DIVERSITY, SEED, RETURN.
    """

    context: Ngram
    tokens: Scalar
    model: ModelClause | None = None
    method: Method | None = None
    temperature: Scalar | None = None
    top: Scalar | None = None
    nucleus: Scalar | None = None
    diversity: Scalar | None = None
    seed: Scalar | None = None
    n_returned: Scalar | None = None
    source: Source | None = None
    where: Condition | None = None
