"""ngramdb: an embedded corpus-index database with a SQL-like query language.

```python
import ngramdb

db = ngramdb.connect("corpora.ngdb")
db.create_corpus("wiki").append(["natural language processing", "natural language understanding"])
db.execute('DIST GIVEN "natural language" TOP 10')
```

`import ngramdb` loads what opening a database needs, and nothing heavy; the rest comes when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ngramdb.api.connection import Connection, connect
from ngramdb.api.settings import Settings
from ngramdb.errors import (
    BindError,
    CorruptionError,
    DatabaseError,
    DataError,
    Error,
    ExecutionError,
    FormatVersionError,
    IntegrityError,
    InterfaceError,
    InternalError,
    Interrupted,
    InvalidArgument,
    LoadError,
    LockedError,
    NgramdbError,
    NotADatabase,
    NotSupportedError,
    OperationalError,
    ParseError,
    PhraseWarning,
    PlanError,
    ProgrammingError,
    QueryCancelled,
    QueryError,
    ReadOnlyError,
    ResourceError,
    StorageError,
    TimeoutExceeded,
    TokenBoundaryWarning,
    Warning,
)

if TYPE_CHECKING:
    from ngramdb import lm
    from ngramdb.api import Corpus, Cursor, DocumentScores, LoadReport, Probability, Result, Scores

__version__ = "0.1.0"

# PEP 249: threads may share the module and connections; placeholders are `?`, and `:name` works as well.
apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

__all__ = [
    "BindError",
    "Connection",
    "Corpus",
    "CorruptionError",
    "Cursor",
    "DataError",
    "DatabaseError",
    "DocumentScores",
    "Error",
    "ExecutionError",
    "FormatVersionError",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "Interrupted",
    "InvalidArgument",
    "LoadError",
    "LoadReport",
    "LockedError",
    "NgramdbError",
    "NotADatabase",
    "NotSupportedError",
    "OperationalError",
    "ParseError",
    "PhraseWarning",
    "PlanError",
    "Probability",
    "ProgrammingError",
    "QueryCancelled",
    "QueryError",
    "ReadOnlyError",
    "ResourceError",
    "Result",
    "Scores",
    "Settings",
    "StorageError",
    "TimeoutExceeded",
    "TokenBoundaryWarning",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "lm",
    "paramstyle",
    "threadsafety",
]

_LAZY = frozenset(("Corpus", "Cursor", "DocumentScores", "LoadReport", "Probability", "Result", "Scores"))


def __getattr__(name: str) -> Any:
    if name == "lm":
        return import_module("ngramdb.lm")
    if name not in _LAZY:
        raise AttributeError(f"module 'ngramdb' has no attribute {name!r}")
    value = getattr(import_module("ngramdb.api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
