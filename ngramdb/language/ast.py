"""The abstract syntax: frozen dataclasses, one per construct, each with the span of text it came from.

Nothing here knows corpora, tokenizers or files. Spans are half-open character ranges of the statement's
text and take no part in comparisons, so that trees made by hand equal trees made by the parser.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Span:
    """Half-open range of characters in the text that was parsed."""

    start: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class Node:
    """What every construct has in common."""

    span: Span | None = field(default=None, compare=False, repr=False)


# ---- leaves ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Name(Node):
    """An identifier, its backquotes taken off."""

    value: str


@dataclass(frozen=True)
class Value(Node):
    """A SQL value: a string in single quotes, a number, TRUE, FALSE or NULL."""

    value: str | int | float | bool | None


@dataclass(frozen=True)
class Parameter(Node):
    """A placeholder: `?` has an index (counted from 0), `:name` a name."""

    index: int | None = None
    name: str | None = None


@dataclass(frozen=True)
class Text(Node):
    """An n-gram literal in double quotes, its escapes resolved; tokenized when names are bound."""

    value: str


@dataclass(frozen=True)
class TokenIds(Node):
    """An n-gram literal as token ids, `[5613, 4086]`."""

    ids: tuple[int, ...]


Ngram = Text | TokenIds | Parameter
Scalar = Value | Parameter


@dataclass(frozen=True)
class Field(Node):
    """A metadata field, as the keys that lead to it; or one of `doc_id` and `length`."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class DatePart(Node):
    """`YEAR(field)`, `MONTH(field)` or `DAY(field)`: `part` is the name in small letters."""

    field: Field
    part: str


@dataclass(frozen=True)
class Divided(Node):
    """`field / n` and `field / n * m`: how many whole times n is in a value, times m."""

    what: Field | DatePart
    divisor: Scalar
    factor: Scalar | None = None


@dataclass(frozen=True)
class Unnested(Node):
    """`UNNEST(field)`: the elements of a list."""

    field: Field


@dataclass(frozen=True)
class Beside(Node):
    """`LEFT n`, `RIGHT n`: the tokens that stand next to an occurrence; `side` is 'left' or 'right'."""

    side: str
    tokens: Scalar


@dataclass(frozen=True)
class Form(Node):
    """`FORM`: an occurrence as it is written."""


# What a condition tests, and what rows are grouped and ordered by.
Tested = Field | DatePart
GroupKey = Field | DatePart | Divided | Unnested | Beside | Form


# ---- patterns: what may stand where occurrences are looked for -------------------------------------------


@dataclass(frozen=True)
class Regex(Node):
    """`/wom[ae]n/`: a token that matches a regular expression as a whole."""

    expression: str


@dataclass(frozen=True)
class AnyToken(Node):
    """`*`: any one token."""


@dataclass(frozen=True)
class SentenceEdge(Node):
    """`<s>` and `</s>` (`ends`): the place where a sentence begins, or ends; no token."""

    ends: bool


@dataclass(frozen=True)
class Group(Node):
    """`("a" | "b")`: one of several patterns; a single one in parentheses, too."""

    alternatives: tuple[Pattern, ...]


@dataclass(frozen=True)
class Matching(Node):
    """A part of a pattern and how it is matched.

    MATCH TEXT (`text`), MATCH TOKENS (`text` False) or neither (None); IGNORE CASE or DIACRITICS; PREFIX.
    """

    ngram: Ngram | Regex | AnyToken | SentenceEdge | Group | Matching
    text: bool | None = None
    ignore_case: bool = False
    ignore_diacritics: bool = False
    prefix: bool = False


@dataclass(frozen=True)
class Bounds(Node):
    """`{low,high}`: how often something stands one after the other; `high` None is any number."""

    low: int
    high: int | None


@dataclass(frozen=True)
class Repeated(Node):
    """`"very"{1,3}`: a part, several times one after the other."""

    part: Part
    times: Bounds


@dataclass(frozen=True)
class Gap(Node):
    """`[low..high]`: that many tokens stand in between."""

    low: int
    high: int


@dataclass(frozen=True)
class Gapped(Node):
    """`"a" [1..3] "b"`: n-grams with gaps between them, one gap fewer than n-grams."""

    parts: tuple[Ngram | Matching, ...]
    gaps: tuple[Gap, ...]


@dataclass(frozen=True)
class Sequence(Node):
    """`"a" * /b+/ [1..3] "c"`: parts one after the other, or with a gap; one gap fewer than parts."""

    parts: tuple[Element, ...]
    gaps: tuple[Gap | None, ...]


Part = Text | TokenIds | Parameter | Regex | AnyToken | SentenceEdge | Group | Matching
Element = Part | Repeated
Pattern = Element | Gapped | Sequence


# ---- sources and models ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class SourceTerm(Node):
    """One corpus of a source, added (sign +1) or subtracted (sign -1), now or AT VERSION n."""

    corpus: Name
    sign: int = 1
    version: Scalar | None = None


@dataclass(frozen=True)
class Source(Node):
    """What stands after FROM."""

    terms: tuple[SourceTerm, ...]


@dataclass(frozen=True)
class ModelClause(Node):
    """What stands after USING. `kind` is 'ngram', 'infgram', 'backoff' or 'kneser_ney'.

    `order` limits the n-gram's length; n-grams that occur less than `min_count` times count as unseen.
    """

    kind: str = "ngram"
    order: Scalar | None = None
    weight: Scalar | None = None
    min_count: Scalar | None = None


# ---- conditions on documents ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Contains(Node):
    """The document contains the pattern."""

    pattern: Pattern


@dataclass(frozen=True)
class CountIs(Node):
    """COUNT("x") >= 3: how often the pattern occurs within the document."""

    pattern: Pattern
    operator: str
    value: Scalar


@dataclass(frozen=True)
class Comparison(Node):
    """`field = value` and the like. `operator` is one of = != < <= > >=."""

    field: Tested
    operator: str
    value: Scalar


@dataclass(frozen=True)
class Between(Node):
    """`field BETWEEN low AND high`, both included."""

    field: Tested
    low: Scalar
    high: Scalar


@dataclass(frozen=True)
class InList(Node):
    """`field IN (value, …)`, or `field IN ?`; a placeholder may stand for a list of values."""

    field: Tested
    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class Like(Node):
    """`field LIKE 'A%'`; ILIKE with `ignore_case`."""

    field: Tested
    template: Scalar
    ignore_case: bool = False


@dataclass(frozen=True)
class IsNull(Node):
    """`field IS NULL`."""

    field: Tested


@dataclass(frozen=True)
class Overlap(Node):
    """OVERLAP(corpus, n) >= 0.8: the share of the document's n-grams that occur in another corpus."""

    corpus: Source
    n: Scalar
    operator: str
    value: Scalar


@dataclass(frozen=True)
class And(Node):
    """`x AND y`: all operands hold."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True)
class InSentence(Node):
    """SENTENCE, where a number of tokens may stand, too."""


@dataclass(frozen=True)
class Within(Node):
    """`x AND y WITHIN k TOKENS`: occurrences of all operands near each other.

    WITHIN SENTENCE: all in one sentence; of a single operand, each by itself.
    """

    operands: tuple[Condition, ...]
    tokens: Scalar | InSentence


@dataclass(frozen=True)
class Or(Node):
    """`x OR y`: some operand holds."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True)
class Not(Node):
    """`NOT x`: the operand does not hold."""

    operand: Condition


Condition = (
    Contains | CountIs | Comparison | Between | InList | Like | IsNull | Overlap | And | Within | Or | Not
)


# ---- questions ------------------------------------------------------------------------------------------


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
class Count(Node):
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
class CountDocs(Node):
    """COUNT DOCS [WHERE cond] [GROUP BY field, …]: matching documents."""

    where: Condition | None = None
    group_by: tuple[GroupKey, ...] = ()
    order_by: tuple[OrderBy, ...] = ()
    top: Scalar | None = None
    source: Source | None = None


@dataclass(frozen=True)
class Prob(Node):
    """PROB "w" GIVEN "ctx" [USING model] [WHERE cond]."""

    continuation: Ngram
    context: Ngram
    model: ModelClause | None = None
    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class Dist(Node):
    """DIST GIVEN "ctx" [USING model] [WHERE cond] [TOP k]."""

    context: Ngram
    model: ModelClause | None = None
    top: Scalar | None = None
    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class DistBefore(Node):
    """DIST BEFORE "x" [WHERE cond] [TOP k]: the tokens before an n-gram."""

    ngram: Ngram
    top: Scalar | None = None
    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class Score(Node):
    """SCORE "text" [USING model] [WHERE cond] [SENTENCE]: `sentence` scores the text between <s> and </s>."""

    ngram: Ngram
    model: ModelClause | None = None
    sentence: bool = False
    source: Source | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class Docs(Node):
    """DOCS [WHERE cond] [ORDER BY field, …] [LIMIT k] [OFFSET n] [SAMPLE k [SEED s]] [RETURNING field, …]."""

    where: Condition | None = None
    order_by: tuple[OrderBy, ...] = ()
    limit: Scalar | None = None
    offset: Scalar | None = None
    sample: Sample | None = None
    source: Source | None = None
    returning: tuple[Field, ...] = ()


@dataclass(frozen=True)
class Kwic(Node):
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
class Around(Node):
    """WINDOW n, WINDOW n LEFT m RIGHT: tokens before and after an occurrence; None: all of its sentence.

    `sentence`, WITHIN SENTENCE: those of its sentence only.
    """

    left: Scalar | None
    right: Scalar | None
    sentence: InSentence | None = None


@dataclass(frozen=True)
class Measure(Node):
    """BY logdice, BY simple(1), …: the name in small letters, and what stands in parentheses."""

    name: str
    parameter: Scalar | None = None


@dataclass(frozen=True)
class Collocates(Node):
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
class Keywords(Node):
    """KEYWORDS OF a AGAINST b [NGRAMS n] [BY measure] [MIN COUNT k] [TOP k]: `against` is None for REST."""

    what: DocumentsOf
    against: DocumentsOf | None
    ngrams: Scalar | None = None
    by: Measure | None = None
    min_count: Scalar | None = None
    top: Scalar | None = None
    source: Source | None = None


@dataclass(frozen=True)
class Dispersion(Node):
    """DISPERSION OF "x" [WHERE cond] [BY DOCUMENTS | field]: `by` is None for documents."""

    what: Condition
    where: Condition | None = None
    by: Field | None = None
    source: Source | None = None


@dataclass(frozen=True)
class Lengths(Node):
    """`2..5`: lengths of n-grams, both included."""

    low: int
    high: int


@dataclass(frozen=True)
class Ngrams(Node):
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
class Trace(Node):
    """TRACE "long text" [WHERE cond] [MIN LENGTH n] [RETURNING field, …]."""

    ngram: Ngram
    min_length: Scalar | None = None
    source: Source | None = None
    where: Condition | None = None
    returning: tuple[Field, ...] = ()


@dataclass(frozen=True)
class Method(Node):
    """METHOD greedy | sample | beam(b). `kind` is lower case."""

    kind: str
    width: Scalar | None = None


@dataclass(frozen=True)
class Generate(Node):
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


@dataclass(frozen=True)
class Explain(Node):
    """EXPLAIN [ANALYZE] statement."""

    statement: Statement
    analyze: bool = False


# ---- data -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option(Node):
    """`NAME value` or `NAME = value` in a parenthesis; a list value is a tuple. Names are lower case."""

    name: Name
    value: Scalar | Name | tuple[Scalar | Name, ...]


@dataclass(frozen=True)
class CreateCorpus(Node):
    """CREATE CORPUS [IF NOT EXISTS] name [IF NOT EXISTS] [TOKENIZER '…'] [WITH (…)] [AS (DOCS …)]."""

    name: Name
    if_not_exists: bool = False
    tokenizer: Scalar | None = None
    options: tuple[Option, ...] = ()
    documents: Docs | None = None


@dataclass(frozen=True)
class CopyFrom(Node):
    """COPY name FROM 'path or glob' (options) [ON ERROR SKIP]."""

    corpus: Name
    path: Scalar
    options: tuple[Option, ...] = ()
    skip_errors: bool = False


@dataclass(frozen=True)
class CopyTo(Node):
    """COPY (question) TO 'path' (options)."""

    question: Question | Describe | Show | Check | Explain
    path: Scalar
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class Delete(Node):
    """DELETE DOCS WHERE cond [RETURNING field, …]."""

    where: Condition
    returning: tuple[Field, ...] = ()
    source: Source | None = None


@dataclass(frozen=True)
class Restore(Node):
    """RESTORE CORPUS name TO VERSION n."""

    name: Name
    version: Scalar


@dataclass(frozen=True)
class Compact(Node):
    """COMPACT [name]."""

    name: Name | None = None


@dataclass(frozen=True)
class Alter(Node):
    """ALTER CORPUS name ADD | SUBTRACT CORPUS other [AT VERSION n]."""

    name: Name
    term: SourceTerm


@dataclass(frozen=True)
class Analyze(Node):
    """ANALYZE name [ORDER n]: the discounts of Kneser-Ney models."""

    name: Name
    order: Scalar | None = None


@dataclass(frozen=True)
class DropCorpus(Node):
    """DROP CORPUS [IF EXISTS] name."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class Attach(Node):
    """ATTACH 'path' AS name [(options)]: another program's index as a corpus."""

    path: Scalar
    name: Name
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class Detach(Node):
    """DETACH name."""

    name: Name


@dataclass(frozen=True)
class Use(Node):
    """USE name."""

    name: Name


@dataclass(frozen=True)
class Describe(Node):
    """DESCRIBE name."""

    name: Name


@dataclass(frozen=True)
class Show(Node):
    """SHOW CORPORA | SEGMENTS | VERSIONS | SETTINGS [FROM corpus]. `what` is lower case."""

    what: str
    source: Source | None = None


@dataclass(frozen=True)
class Check(Node):
    """CHECK [name]: verifies every checksum and invariant."""

    name: Name | None = None


@dataclass(frozen=True)
class SetSetting(Node):
    """SET name = value. The name is lower case."""

    name: Name
    value: Scalar | Name


@dataclass(frozen=True)
class ResetSetting(Node):
    """RESET name. The name is lower case."""

    name: Name


Question = (
    Count
    | CountDocs
    | Prob
    | Dist
    | DistBefore
    | Score
    | Docs
    | Kwic
    | Collocates
    | Keywords
    | Dispersion
    | Ngrams
    | Trace
    | Generate
)
Statement = (
    Question
    | Explain
    | CreateCorpus
    | CopyFrom
    | CopyTo
    | Delete
    | Restore
    | Compact
    | Alter
    | Analyze
    | DropCorpus
    | Attach
    | Detach
    | Use
    | Describe
    | Show
    | Check
    | SetSetting
    | ResetSetting
)
