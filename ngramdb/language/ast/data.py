"""Statements that make, change and describe corpora, and settings."""

from __future__ import annotations

from ngramdb.language.ast.nodes import (
    Called,
    Condition,
    Divided,
    Field,
    Name,
    Node,
    Question,
    Scalar,
    Source,
    SourceTerm,
    Statement,
    Tested,
)
from ngramdb.language.ast.questions import Docs, Length, OrderBy
from ngramdb.lazy import dataclass


@dataclass(frozen=True)
class Option(Node):
    """`NAME value` or `NAME = value` in a parenthesis; a list value is a tuple. Names are lower case."""

    name: Name
    value: Scalar | Name | tuple[Scalar | Name, ...]


@dataclass(frozen=True)
class CreateCorpus(Statement):
    """CREATE CORPUS [IF NOT EXISTS] name [IF NOT EXISTS] [TOKENIZER '…'] [WITH (…)] [AS (DOCS …)]."""

    name: Name
    if_not_exists: bool = False
    tokenizer: Scalar | None = None
    options: tuple[Option, ...] = ()
    documents: Docs | None = None


@dataclass(frozen=True)
class CopyFrom(Statement):
    """COPY name FROM 'path or glob' (options) [ON ERROR SKIP]."""

    corpus: Name
    path: Scalar
    options: tuple[Option, ...] = ()
    skip_errors: bool = False


@dataclass(frozen=True)
class CopyTo(Statement):
    """COPY (question) TO 'path' (options)."""

    question: Statement
    path: Scalar
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class Delete(Statement):
    """DELETE DOCS WHERE cond [RETURNING field, …]."""

    where: Condition
    returning: tuple[Field | Called, ...] = ()
    source: Source | None = None


@dataclass(frozen=True)
class Keep(Node):
    """KEEP FIRST | LONGEST | NONE | BY field [ASC | DESC], …: which of several copies stays."""

    order: tuple[OrderBy, ...] = ()
    keeps_one: bool = True
    longest: bool = False


@dataclass(frozen=True)
class DeleteDuplicates(Statement):
    """DELETE DUPLICATES [NORMALIZE CASE, SPACE, …] [KEEP …] [AGAINST corpus] [WHERE cond]."""

    source: Source | None = None
    where: Condition | None = None
    normalize: tuple[str, ...] = ()
    keep: Keep | None = None
    against: Source | None = None


@dataclass(frozen=True, kw_only=True)
class Cut(Statement):
    """The clauses of all statements that cut.

    [ON WORDS | …] [GAP SHARE s] [MIN REST s] [MAX PIECES n] [REPLACE 'text']
    """

    source: Source | None = None
    on: str = "characters"
    gap_share: Scalar | None = None
    min_rest: Scalar | None = None
    max_pieces: Scalar | None = None
    replace: Scalar | None = None


@dataclass(frozen=True)
class CutDuplicates(Cut):
    """CUT DUPLICATES [LENGTH >= n TOKENS | BYTES] [MIN COUNT k] [KEEP …] [AGAINST corpus] [WHERE cond]."""

    where: Condition | None = None
    length: Length | None = None
    min_count: Scalar | None = None
    keep: Keep | None = None
    against: Source | None = None


@dataclass(frozen=True)
class MinHash(Node):
    """CANDIDATES MINHASH [bands * rows]."""

    bands: Scalar | None = None
    rows: Scalar | None = None


@dataclass(frozen=True)
class NearClauses(Statement):
    """[CONTAINED >= s] [NGRAM n WORDS] [CANDIDATES …] [KEEP …] [AGAINST corpus] [WHERE cond]."""

    source: Source | None = None
    where: Condition | None = None
    contained: Scalar | None = None
    n: Scalar | None = None
    candidates: MinHash | None = None
    keep: Keep | None = None
    against: Source | None = None


@dataclass(frozen=True)
class NearDuplicates(NearClauses, Question):
    """NEAR DUPLICATES …, with WITH REJECTED and LIMIT."""

    with_rejected: bool = False
    limit: Scalar | None = None


@dataclass(frozen=True)
class DeleteNearDuplicates(NearClauses):
    """DELETE NEAR DUPLICATES …."""


@dataclass(frozen=True)
class CutSpans(Cut):
    """CUT SPANS WHERE cond [CONTEXT n]: the occurrences of the condition."""

    where: Condition
    context: Scalar | None = None


@dataclass(frozen=True)
class Restore(Statement):
    """RESTORE CORPUS name TO VERSION n | 'name'."""

    name: Name
    version: Scalar


@dataclass(frozen=True)
class KeepVersion(Statement):
    """KEEP VERSION [n] AS 'name': the newest version if no number is given."""

    name: Scalar
    version: Scalar | None = None


@dataclass(frozen=True)
class DropVersion(Statement):
    """DROP VERSION 'name'."""

    name: Scalar


@dataclass(frozen=True)
class Compact(Statement):
    """COMPACT [name]."""

    name: Name | None = None


@dataclass(frozen=True)
class Alter(Statement):
    """ALTER CORPUS name ADD | SUBTRACT CORPUS other [AT VERSION n | 'name']."""

    name: Name
    term: SourceTerm


@dataclass(frozen=True)
class ByContamination(Node):
    """BY measure [(n)] [>= | > threshold]. `name` is lower case."""

    name: Name
    n: Scalar | None = None
    operator: str = ">="
    threshold: Scalar | None = None


@dataclass(frozen=True)
class Decontaminate(Statement):
    """DECONTAMINATE AGAINST 'path' [(options)] [BY measure …] [NORMALIZE CASE] [WHERE cond] [DELETE]."""

    path: Scalar
    source: Source | None = None
    by: ByContamination | None = None
    normalize: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    where: Condition | None = None
    delete: bool = False


@dataclass(frozen=True)
class AddFields(Statement):
    """ALTER CORPUS name ADD FIELDS FROM 'path or glob' ON key [(field, …)] [REPLACE]."""

    name: Name
    path: Scalar
    key: Field
    fields: tuple[Field, ...] = ()
    replace: bool = False


@dataclass(frozen=True)
class DropFields(Statement):
    """ALTER CORPUS name DROP FIELD field, …."""

    name: Name
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Assignment(Node):
    """`field = value`: another field, a value computed from one, or a SQL value."""

    field: Field
    value: Tested | Divided | Scalar


@dataclass(frozen=True)
class Update(Statement):
    """UPDATE name SET field = value, … [WHERE cond]."""

    name: Name
    assignments: tuple[Assignment, ...]
    where: Condition | None = None


@dataclass(frozen=True)
class Analyze(Statement):
    """ANALYZE name [ORDER n]: the discounts of Kneser-Ney models."""

    name: Name
    order: Scalar | None = None


@dataclass(frozen=True)
class DropCorpus(Statement):
    """DROP CORPUS [IF EXISTS] name."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class Attach(Statement):
    """ATTACH 'path' AS name [(options)]: another program's index as a corpus."""

    path: Scalar
    name: Name
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class Detach(Statement):
    """DETACH name."""

    name: Name


@dataclass(frozen=True)
class Use(Statement):
    """USE name."""

    name: Name


@dataclass(frozen=True)
class Describe(Statement):
    """DESCRIBE [name]."""

    name: Name | None = None


@dataclass(frozen=True)
class Show(Statement):
    """SHOW CORPORA | SEGMENTS | VERSIONS | SETTINGS [FROM corpus]. `what` is lower case."""

    what: str
    source: Source | None = None


@dataclass(frozen=True)
class Check(Statement):
    """CHECK [name]: verifies every checksum and invariant."""

    name: Name | None = None


@dataclass(frozen=True)
class SetSetting(Statement):
    """SET name = value. The name is lower case."""

    name: Name
    value: Scalar | Name


@dataclass(frozen=True)
class ResetSetting(Statement):
    """RESET name. The name is lower case."""

    name: Name
