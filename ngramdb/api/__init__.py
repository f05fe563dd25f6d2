"""The Python interface: connections, corpora and what they answer with.

The command line and the REPL stand on this package and on nothing below it. It is the one place that wires
language, planner, executor and engine together.
"""

from __future__ import annotations

from ngramdb.api.connection import Connection, connect
from ngramdb.api.corpus import Corpus
from ngramdb.api.loading import LoadReport
from ngramdb.api.results import DocumentScores, Probability, Scores
from ngramdb.api.settings import Settings
from ngramdb.engine.writer import LoadProgress
from ngramdb.executor.result import Result

__all__ = [
    "Connection",
    "Corpus",
    "DocumentScores",
    "LoadProgress",
    "LoadReport",
    "Probability",
    "Result",
    "Scores",
    "Settings",
    "connect",
]
