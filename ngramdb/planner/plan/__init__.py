"""Plan nodes: what is to be done, each able to print itself.

A tree of *document expressions* (which documents) stands below a *statement* (what to answer about them, or
about an n-gram). The binder makes the logical tree, rules rewrite it, and the physical step fills in
`estimate` and the order of operands. Nodes are immutable; estimates take no part in comparisons.

There are many kinds, and a statement needs few: a module is imported when a name of it is first used. The
names are in `__init__.pyi`.
"""

from ngramdb.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
