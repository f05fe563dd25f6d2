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


# ---- sources and models ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class SourceTerm(Node):
    """One corpus of a source, added (sign +1) or subtracted (sign -1)."""

    corpus: Name
    sign: int = 1


@dataclass(frozen=True)
class Source(Node):
    """What stands after FROM."""

    terms: tuple[SourceTerm, ...]


@dataclass(frozen=True)
class Model(Node):
    """What stands after USING. `kind` is 'ngram' or 'infgram'; `order` limits the n-gram's length."""

    kind: str = "ngram"
    order: Scalar | None = None


# ---- conditions on documents ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Contains(Node):
    """The document contains the n-gram."""

    ngram: Ngram


@dataclass(frozen=True)
class And(Node):
    operands: tuple[Condition, ...]


@dataclass(frozen=True)
class Or(Node):
    operands: tuple[Condition, ...]


@dataclass(frozen=True)
class Not(Node):
    operand: Condition


Condition = Contains | And | Or | Not


# ---- questions ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count(Node):
    """COUNT "x": occurrences of an n-gram."""

    ngram: Ngram
    source: Source | None = None


@dataclass(frozen=True)
class CountDocs(Node):
    """COUNT DOCS [WHERE cond]: matching documents."""

    where: Condition | None = None
    source: Source | None = None


@dataclass(frozen=True)
class Prob(Node):
    """PROB "w" GIVEN "ctx" [USING model]."""

    continuation: Ngram
    context: Ngram
    model: Model | None = None
    source: Source | None = None


@dataclass(frozen=True)
class Dist(Node):
    """DIST GIVEN "ctx" [USING model] [TOP k]."""

    context: Ngram
    model: Model | None = None
    top: Scalar | None = None
    source: Source | None = None


@dataclass(frozen=True)
class Score(Node):
    """SCORE "text" [USING model]."""

    ngram: Ngram
    model: Model | None = None
    source: Source | None = None


@dataclass(frozen=True)
class OrderBy(Node):
    """ORDER BY field [ASC | DESC]."""

    name: Name
    descending: bool = False


@dataclass(frozen=True)
class Docs(Node):
    """DOCS [WHERE cond] [ORDER BY doc_id] [LIMIT k] [OFFSET n]."""

    where: Condition | None = None
    order_by: OrderBy | None = None
    limit: Scalar | None = None
    offset: Scalar | None = None
    source: Source | None = None


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
    """CREATE CORPUS [IF NOT EXISTS] name [IF NOT EXISTS] [TOKENIZER '…'] [WITH (…)]."""

    name: Name
    if_not_exists: bool = False
    tokenizer: Scalar | None = None
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class CopyFrom(Node):
    """COPY name FROM 'path or glob' (options) [ON ERROR SKIP]."""

    corpus: Name
    path: Scalar
    options: tuple[Option, ...] = ()
    skip_errors: bool = False


@dataclass(frozen=True)
class DropCorpus(Node):
    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class Use(Node):
    name: Name


@dataclass(frozen=True)
class Describe(Node):
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


Question = Count | CountDocs | Prob | Dist | Score | Docs
Statement = (
    Count
    | CountDocs
    | Prob
    | Dist
    | Score
    | Docs
    | Explain
    | CreateCorpus
    | CopyFrom
    | DropCorpus
    | Use
    | Describe
    | Show
    | Check
    | SetSetting
    | ResetSetting
)
