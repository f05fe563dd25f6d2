"""infini-gram's Python engine over our corpora.

```python
from ngramdb.compat.infinigram import InfiniGramEngine      # was: from infini_gram.engine import …

engine = InfiniGramEngine(index_dir="web.ngdb?corpus=pile", eos_token_id=50256)
engine.count(input_ids=[3288, 3303])
```

All methods take and return what the peer's do: dicts with its fields, errors as `{"error": …}`. Numbers are
exact where the peer samples or estimates, so `approx` is False. The docstring of `InfiniGramEngine` lists the
differences.
"""

from ngramdb.compat.infinigram.engine import InfiniGramEngine, InfiniGramEngineDiff

__all__ = ["InfiniGramEngine", "InfiniGramEngineDiff"]
