"""Questions about occurrences and documents, and their clauses."""

from __future__ import annotations

from ngramdb.language.ast.nodes import (
    Called,
    Condition,
    Field,
    GroupKey,
    InSentence,
    ModelClause,
    Name,
    Ngram,
    Node,
    Pattern,
    Question,
    Scalar,
    Source,
    Tested,
)
from ngramdb.lazy import dataclass


@dataclass(frozen=True)
class OrderBy(Node):
    """One key of ORDER BY: a field, or `count`, `left`, `right` in statements that have them."""

    field: GroupKey
    descending: bool = False


@dataclass(frozen=True)
class Sample(Node):
    """SAMPLE k [SEED s]."""

    size: Scalar
    seed: Scalar | None = None


@dataclass(frozen=True)
class Weighted(Node):
    """A value of a field, and its weight: `value: weight`."""

    value: Scalar
    weight: Scalar


@dataclass(frozen=True)
class TokenSample(Node):
    """SAMPLE n TOKENS [BY field [WEIGHTS (value: weight, …)]] [SEED s]."""

    tokens: Scalar
    seed: Scalar | None = None
    by: Tested | None = None
    weights: tuple[Weighted, ...] = ()


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
    sample: Sample | TokenSample | None = None
    source: Source | None = None
    returning: tuple[Field | Called, ...] = ()


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
    returning: tuple[Field | Called, ...] = ()


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
    returning: tuple[Field | Called, ...] = ()


# ---- Questions about words: collocates, keywords, dispersion, and their clauses.


@dataclass(frozen=True)
class Around(Node):
    """WINDOW n, WINDOW n LEFT m RIGHT: tokens before and after an occurrence; None: all of its sentence.

    `sentence`, WITHIN SENTENCE: those of its sentence only.
    """

    left: Scalar | None
    right: Scalar | None
    sentence: InSentence | None = None


@dataclass(frozen=True)
class Measure(Node):
    """BY logdice, BY simple(1), …: the name in lower case, and the value in parentheses."""

    name: str
    parameter: Scalar | None = None


@dataclass(frozen=True)
class Collocates(Question):
    """COLLOCATES OF "x" [WHERE cond] [WINDOW …] [BY measure] [MIN COUNT k] [TOP k]."""

    what: Condition
    where: Condition | None = None
    window: Around | None = None
    by: Measure | None = None
    min_count: Scalar | None = None
    top: Scalar | None = None
    source: Source | None = None


@dataclass(frozen=True)
class DocumentsOf(Node):
    """`corpus`, `corpus WHERE cond` or `WHERE cond`: documents that are compared with others."""

    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class Keywords(Question):
    """KEYWORDS OF a AGAINST b [NGRAMS n] [BY measure] [MIN COUNT k] [TOP k]: `against` is None for REST."""

    what: DocumentsOf
    against: DocumentsOf | None
    ngrams: Scalar | None = None
    by: Measure | None = None
    min_count: Scalar | None = None
    top: Scalar | None = None
    source: Source | None = None


@dataclass(frozen=True)
class Dispersion(Question):
    """DISPERSION OF "x" [WHERE cond] [BY DOCUMENTS | group]: `by` is None for documents."""

    what: Condition
    where: Condition | None = None
    by: GroupKey | None = None
    source: Source | None = None


@dataclass(frozen=True)
class Length(Node):
    """LENGTH >= n [TOKENS | BYTES]."""

    amount: Scalar
    unit: str = "tokens"


@dataclass(frozen=True)
class Duplicates(Question):
    """DUPLICATES [LENGTH >= n] [MIN COUNT k] [AGAINST corpus] [WHERE cond] [BY what] [ORDER BY …].

    `by` is 'documents', 'length' or 'count'; None for texts.
    """

    where: Condition | None = None
    length: Length | None = None
    min_count: Scalar | None = None
    against: Source | None = None
    by: str | None = None
    order_by: tuple[OrderBy, ...] = ()
    limit: Scalar | None = None
    offset: Scalar | None = None
    source: Source | None = None


# ---- Questions to language models, and their clauses.


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

    The latter: METHOD, TEMPERATURE, TOP, NUCLEUS, MIN PROB, DIVERSITY, SEED, STOP, RETURN.
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
    min_prob: Scalar | None = None
    stop: tuple[Ngram, ...] = ()
