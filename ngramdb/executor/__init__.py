"""Running plans: one folder per family of operators, and the result they stream into.

`questions/` has counts, documents, n-grams, models and samples, `lexical/` collocates, keywords, dispersion
and n-grams by conditions, `kwic/` lines of concordances. `results/` is the table that is returned, its
display and its form for other libraries. `document_subset` answers a question about some documents,
`per_segment` queries each segment by itself. `questions.plans` calls them.

Operators know plan nodes and what a corpus answers, never files, formats of output or the network. Every
answer about documents is put together from answers of the segments.
"""
