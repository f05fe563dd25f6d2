"""Running plans: what operators share, and the result they stream into.

Plans in the package `questions` answer themselves. `result` is the table that is returned, `display` shows
it, and `dataframes` gives its form for other libraries. `per_segment` queries each segment by itself, and has
what statements that return many n-grams share; `measures` has association measures.

Operators depend on plan nodes and on the interface of a corpus, never on files, output formats or the
network. Answers about documents are merged from those of the segments.
"""
