"""Plan nodes, each of which prints itself.

A tree of *document expressions* (sets of documents) is below a *question* (the answer about them, or about an
n-gram). The binder makes the logical tree, rules rewrite it, and the physical step sets `estimate` and the
order of operands. Nodes are immutable; comparisons ignore estimates.

There are many kinds, and a statement needs few, so a module is imported when a name of it is first used. The
names are in `__init__.pyi`.
"""

from ngramdb.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
