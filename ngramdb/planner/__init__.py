"""From a syntax tree to a plan: names are bound, rules rewrite it, exact counts decide.

`scope` and the modules `bind_…` bind the parts of statements, with the values of their `parameters`, to
nodes of `plan/`, each of which prints itself; `questions.binder` calls them. `planner` applies
`rewrite_rules`.
`choices` decides the order and the method of document conditions by exact counts: EXPLAIN (`estimates`) and
the executor call the same functions. `cautions` has notes on phrases. Nothing here runs a plan; the executor
does, and imports only `plan` and `choices` of this package.
"""
