"""Nodes of the syntax tree that statements share: base classes with spans, patterns, conditions."""

from __future__ import annotations

from dataclasses import field

from ngramdb.lazy import dataclass


@dataclass(frozen=True)
class Span:
    """Half-open range of characters in the text that was parsed."""

    start: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class Node:
    """Base class of all syntax nodes."""

    span: Span | None = field(default=None, compare=False, repr=False)


# ---- Names, values, placeholders and n-gram literals.


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


# ---- The source, after FROM.


@dataclass(frozen=True)
class SourceTerm(Node):
    """One corpus of a source, added (sign +1) or subtracted (sign -1), now or AT VERSION n | 'name'."""

    corpus: Name
    sign: int = 1
    version: Scalar | None = None


@dataclass(frozen=True)
class Source(Node):
    """The source of a statement, after FROM."""

    terms: tuple[SourceTerm, ...]


# ---- What all statements have in common, and the one that shows the plan of another.


class Statement(Node):
    """A statement: the unit that can be run."""


class Question(Statement):
    """A statement that reads and changes nothing."""


@dataclass(frozen=True)
class Explain(Statement):
    """EXPLAIN [ANALYZE] statement."""

    statement: Statement
    analyze: bool = False


# ---- Patterns: everything that occurrences can be searched for.


@dataclass(frozen=True, kw_only=True)
class Compound(Node):
    """A pattern made of others; `depth` of them are inside one another, itself included."""

    depth: int = field(default=1, compare=False, repr=False)


@dataclass(frozen=True)
class Regex(Node):
    """`/wom[ae]n/`: a token that matches a regular expression as a whole."""

    expression: str


@dataclass(frozen=True)
class AnyToken(Node):
    """`*`: any one token."""


@dataclass(frozen=True)
class SentenceEdge(Node):
    """`<s>` and `</s>` (`ends`): the beginning or the end of a sentence, which has no token."""

    ends: bool


@dataclass(frozen=True)
class Group(Compound):
    """`("a" | "b")`: one of several patterns; a single one in parentheses, too."""

    alternatives: tuple[Pattern, ...]


@dataclass(frozen=True)
class Matching(Compound):
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
    """`{low,high}`: the number of repetitions; `high` None is unlimited."""

    low: int
    high: int | None


@dataclass(frozen=True)
class Repeated(Compound):
    """`"very"{1,3}`: a part, several times one after the other."""

    part: Part
    times: Bounds


@dataclass(frozen=True)
class Gap(Node):
    """`[low..high]`: that many tokens in between."""

    low: int
    high: int


@dataclass(frozen=True)
class Gapped(Compound):
    """`"a" [1..3] "b"`: n-grams with gaps between them, one gap fewer than n-grams."""

    parts: tuple[Ngram | Matching, ...]
    gaps: tuple[Gap, ...]


@dataclass(frozen=True)
class Sequence(Compound):
    """`"a" * /b+/ [1..3] "c"`: parts one after the other, or with a gap; one gap fewer than parts."""

    parts: tuple[Element, ...]
    gaps: tuple[Gap | None, ...]


@dataclass(frozen=True)
class RawText(Node):
    """`TEXT ~ /colou?r/`: a regular expression that is searched for in texts, whatever their tokens.

    A name stands for a registered one: `TEXT ~ EMAIL`.
    """

    expression: Regex | Parameter | Name
    ignore_case: bool = False


Part = Text | TokenIds | Parameter | Regex | AnyToken | SentenceEdge | Group | Matching
Element = Part | Repeated
Pattern = Element | Gapped | Sequence | RawText


# ---- Conditions on documents.


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
    """SENTENCE, in place of a number of tokens."""


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


# ---- Metadata fields, and what rows are grouped and ordered by.


# The key of `RETURNING *`.
EVERY_FIELD = "*"


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
class ModelClause(Node):
    """The model after USING. `kind` is a name in `ngramdb.registries.MODELS`.

    `order` limits the n-gram's length; n-grams that occur less than `min_count` times count as unseen.
    """

    kind: str = "ngram"
    order: Scalar | None = None
    weight: Scalar | None = None
    min_count: Scalar | None = None


@dataclass(frozen=True)
class Called(Node):
    """`DUP_NGRAM_SHARE(5 AS datatrove)`, `PERPLEXITY(model FROM source)`: a document's computed value."""

    name: Name
    numbers: tuple[Scalar, ...] = ()
    dialect: Name | None = None
    model: ModelClause | None = None
    source: Source | None = None


@dataclass(frozen=True)
class Divided(Node):
    """`field / n` and `field / n * m`: how many whole times n is in a value, times m."""

    what: Tested
    divisor: Scalar
    factor: Scalar | None = None


@dataclass(frozen=True)
class Unnested(Node):
    """`UNNEST(field)`: the elements of a list."""

    field: Field


@dataclass(frozen=True)
class Beside(Node):
    """`LEFT n`, `RIGHT n`: the tokens next to an occurrence; `side` is 'left' or 'right'."""

    side: str
    tokens: Scalar


@dataclass(frozen=True)
class Form(Node):
    """`FORM`: an occurrence as it is written."""


# The operand that a condition tests, or that groups and orders rows.
Tested = Field | DatePart | Called
GroupKey = Field | DatePart | Called | Divided | Unnested | Beside | Form
