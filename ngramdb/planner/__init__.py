"""From a syntax tree to a plan: names are bound, rules rewrite, exact counts choose.

`binding/` turns the parts of a statement and its parameters into a logical plan; `questions.binder` calls it.
The nodes are in `plan/`; each prints itself. `rules/` rewrite them, one per file.
`choices` fixes the order and the method of document conditions from exact counts: the same functions for
EXPLAIN (`physical/`) and the executor. `matching` finds the token sequences of a text, `shapes`
are patterns over tokens, `options` those in parentheses, `templates` conditions planned before their values,
`cautions` notes on phrases. `source` is what is asked of a corpus. Nothing here runs a plan; the executor
does, and it knows of this package `plan`, `source` and `choices`.
"""
