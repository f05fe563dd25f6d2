"""ngramdb: an embedded corpus-index database with a SQL-like query language.

```python
import ngramdb

db = ngramdb.connect("corpora.ngdb")
db.create_corpus("wiki").append(["natural language processing", "natural language understanding"])
db.execute('DIST GIVEN "natural language" TOP 10')
```

The public names are in `__init__.pyi`; each is imported at its first use, without the heavy libraries that it
does not need.
"""

from ngramdb.lazy import attach_stub

__getattr__, _, _names = attach_stub(__name__, __file__)

__version__ = "0.1.0"

# PEP 249: threads may share the module and connections; placeholders are `?`, and `:name` works as well.
apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

__all__ = sorted([*_names, "__version__", "apilevel", "paramstyle", "threadsafety"])


def __dir__() -> list[str]:
    return __all__.copy()
