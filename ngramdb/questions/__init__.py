"""Statements, one module each: verbs, requests, binding, plans and operators.

A module defines what its statement has of the following: `Verbs`, the methods that `ngramdb.Corpus` gets from
it; `DEFINITION`, how requests, tools and help spell the parameters of the verb; `bind`, which makes a plan of
the syntax node; and the plan's class, which answers itself or acts. Modules are imported on first use.

`binder` calls the `bind` of a statement; `plans` runs a plan, and defines the interface that actions need
from a connection (`Session`). `signatures`, `packing`, `parsing` and `to_ast` check and convert
arguments of verbs.
"""
