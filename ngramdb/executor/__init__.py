"""Running plans: what operators share, and the result they stream into.

Plans in the package `questions` answer themselves. `results/` is the table that is returned, its display and
its form for other libraries. `per_segment` queries each segment by itself, `subcorpus` counts the tokens of
some documents, `measures` has association measures, and `ngram_rows` is shared by statements that return many
n-grams.

Operators know plan nodes and what a corpus answers, never files, formats of output or the network. Every
answer about documents is put together from answers of the segments.
"""
