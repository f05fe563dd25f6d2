"""Running plans: what operators share, and the result they stream into.

Plans in the package `questions` answer themselves. `result` is the table that is returned, `display` shows
it, and `dataframes` gives its form for other libraries. `per_segment` queries each segment by itself, and has
what statements that return many n-grams share; `measures` has association measures.

Operators know plan nodes and what a corpus answers, never files, formats of output or the network. Every
answer about documents is put together from answers of the segments.
"""
