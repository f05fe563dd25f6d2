"""Connections, corpora and results for asyncio: the same verbs, awaited.

```python
async with ngramdb.aio.connect("corpora.ngdb") as db:
    wiki = await db.corpus("wiki")
    print(await wiki.count("natural language"))
    async for row in await db.execute('KWIC "natural language"'):
        print(row)
```

`verbs` makes them from the synchronous ones; `team` runs each in a thread, and stops it if its task is
cancelled.
"""

from ngramdb.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
