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
    ExecutionError,
    FormatVersionError,
    InvalidArgument,
    LoadError,
    LockedError,
    NgramdbError,
    NotADatabase,
    ParseError,
    PlanError,
    QueryCancelled,
    QueryError,
    ReadOnlyError,
    ResourceError,
    StorageError,
)

if TYPE_CHECKING:
    from ngramdb.api import Corpus, DocumentScores, LoadReport, Probability, Result, Scores

__version__ = "0.1.0"

# PEP 249: threads may share the module and connections; placeholders are `?` (and `:name`).
apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"
# PEP 249's name for the root of all errors.
Error = NgramdbError

__all__ = [
    "BindError",
    "Connection",
    "Corpus",
    "CorruptionError",
    "DocumentScores",
    "Error",
    "ExecutionError",
    "FormatVersionError",
    "InvalidArgument",
    "LoadError",
    "LoadReport",
    "LockedError",
    "NgramdbError",
    "NotADatabase",
    "ParseError",
    "PlanError",
    "Probability",
    "QueryCancelled",
    "QueryError",
    "ReadOnlyError",
    "ResourceError",
    "Result",
    "Scores",
    "Settings",
    "StorageError",
    "__version__",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

_LAZY = frozenset(("Corpus", "DocumentScores", "LoadReport", "Probability", "Result", "Scores"))


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'ngramdb' has no attribute {name!r}")
    value = getattr(import_module("ngramdb.api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
