"""From a syntax tree to a plan: names are bound, rules rewrite, exact counts choose.

`binder` turns a statement and its parameters into a logical plan, `rules` rewrite it, `physical` fixes the
order and the method of document conditions from exact counts, `explain` prints what came out. Nothing here
runs a plan; the executor does, and it knows nothing of this package but `planner.plan`.
"""
