"""Questions about words: collocates, keywords, dispersion, and their clauses."""

from __future__ import annotations

from ngramdb.language.ast.base import Node
from ngramdb.language.ast.conditions import Condition, InSentence
from ngramdb.language.ast.fields import Field
from ngramdb.language.ast.leaves import Scalar
from ngramdb.language.ast.sources import Source
from ngramdb.language.ast.statements import Question
from ngramdb.late_dataclasses import dataclass


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
    """DISPERSION OF "x" [WHERE cond] [BY DOCUMENTS | field]: `by` is None for documents."""

    what: Condition
    where: Condition | None = None
    by: Field | None = None
    source: Source | None = None
