"""The Python interface: connections, corpora and what they answer with.

The command line and the REPL stand on this package; of what is below it they know only how the text of
statements is split and coloured. It is the one place that wires language, planner, executor and engine
together.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ngramdb.api.connection import Connection, commit, connect
from ngramdb.api.settings import Settings

if TYPE_CHECKING:
    from ngramdb.api.corpus import Corpus
    from ngramdb.api.cursor import Cursor
    from ngramdb.api.parts import PartReport
    from ngramdb.api.results import DocumentScores, Probability, Scores
    from ngramdb.api.verbs.building import build, missing
    from ngramdb.api.verbs.committing import CommitReport, collected
    from ngramdb.api.verbs.loading import LoadReport
    from ngramdb.engine.changes.writer import LoadProgress
    from ngramdb.executor.results.result import Result

__all__ = [
    "CommitReport",
    "Connection",
    "Corpus",
    "Cursor",
    "DocumentScores",
    "LoadProgress",
    "LoadReport",
    "PartReport",
    "Probability",
    "Result",
    "Scores",
    "Settings",
    "build",
    "collected",
    "commit",
    "connect",
    "missing",
]

_LAZY = {
    "CommitReport": "ngramdb.api.verbs.committing",
    "Corpus": "ngramdb.api.corpus",
    "Cursor": "ngramdb.api.cursor",
    "DocumentScores": "ngramdb.api.results",
    "LoadProgress": "ngramdb.engine.changes.writer",
    "LoadReport": "ngramdb.api.verbs.loading",
    "PartReport": "ngramdb.api.parts",
    "Probability": "ngramdb.api.results",
    "Result": "ngramdb.executor.results.result",
    "Scores": "ngramdb.api.results",
    "build": "ngramdb.api.verbs.building",
    "collected": "ngramdb.api.verbs.committing",
    "missing": "ngramdb.api.verbs.building",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value
