"""Statements that act on the catalog or the session, or show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.plan.base import Plan, Question

ANALYZE_COLUMNS = ("length", "ngrams", "d1", "d2", "d3", "fallback")


@dataclass(frozen=True)
class CreateCorpus(Plan):
    """CREATE CORPUS."""

    name: str
    tokenizer: Any  # a name or path, or an object that has a tokenizer.json
    if_not_exists: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def label(self) -> str:
        return f"create corpus {self.name}, tokenizer {self._shown}"

    @property
    def _shown(self) -> str:
        return self.tokenizer if isinstance(self.tokenizer, str) else type(self.tokenizer).__name__


@dataclass(frozen=True)
class DropCorpus(Plan):
    """DROP CORPUS."""

    name: str
    if_exists: bool = False

    def label(self) -> str:
        return f"drop corpus {self.name}"


@dataclass(frozen=True)
class Load(Plan):
    """COPY … FROM and `Corpus.load`. `options` are those of `LOAD_OPTIONS`."""

    name: str
    paths: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    skip_errors: bool = False

    def label(self) -> str:
        return f"load into {self.name} from {', '.join(self.paths)}"

    def details(self) -> tuple[str, ...]:
        shown = tuple(f"{name} {value!r}" for name, value in self.options.items())
        return (*shown, "on error " + ("skip" if self.skip_errors else "fail"))


@dataclass(frozen=True)
class AttachIndex(Plan):
    """ATTACH. `options` are those of `ATTACH_OPTIONS`."""

    path: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def label(self) -> str:
        return f"attach {self.path} as {self.name}"

    def details(self) -> tuple[str, ...]:
        return tuple(f"{name} {value!r}" for name, value in self.options.items())


@dataclass(frozen=True)
class DetachIndex(Plan):
    """DETACH."""

    name: str

    def label(self) -> str:
        return f"detach {self.name}"


@dataclass(frozen=True)
class UseCorpus(Plan):
    """USE: the session's current corpus."""

    name: str

    def label(self) -> str:
        return f"use {self.name}"


@dataclass(frozen=True)
class DescribeCorpus(Question):
    """DESCRIBE: the properties of a corpus."""

    def label(self) -> str:
        return "describe"


@dataclass(frozen=True)
class AnalyzeCorpus(Plan):
    """ANALYZE: the statistics of Kneser-Ney models, kept with the corpus.

    order : the greatest length of n-grams that is counted; None: what suits the tokenizer
    """

    name: str
    order: int | None = None

    def label(self) -> str:
        return f"analyze {self.name}" + ("" if self.order is None else f" order {self.order}")


@dataclass(frozen=True)
class ShowTable(Plan):
    """SHOW corpora, segments, versions or settings; `name` limits it to one corpus."""

    what: str
    name: str | None = None

    def label(self) -> str:
        return f"show {self.what}" + (f" of {self.name}" if self.name else "")


@dataclass(frozen=True)
class CheckCorpora(Plan):
    """CHECK: the problems of corpora, one per row."""

    names: tuple[str, ...]

    def label(self) -> str:
        return "check " + (", ".join(self.names) if self.names else "(no corpora)")


@dataclass(frozen=True)
class ChangeSetting(Plan):
    """SET; `value` None with `reset` puts the default back."""

    name: str
    value: str | int | float | bool | None = None
    reset: bool = False

    def label(self) -> str:
        return f"reset {self.name}" if self.reset else f"set {self.name} to {self.value!r}"
