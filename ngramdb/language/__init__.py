"""From the text of a statement to its abstract syntax, and what else reads statements as text.

`scanner` cuts a text into pieces, `parser` takes them through the tables of the grammar (`syntax`), and
`transformer` makes the tree (`ast/`) by the methods of `rules_of_questions`, `rules_of_data` and
`rules_of_conditions`. What a refused text was meant to be: `diagnostics`, `situation`, `hints`, `guesses`,
`habits`, `synonyms`. For texts that are being typed: `expect` (completion), `highlight`, `mistakes`,
`splitter`.
"""
