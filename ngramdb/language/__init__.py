"""From the text of a statement to its abstract syntax, and what else reads statements as text.

`scanner` cuts a text into pieces, `parser` takes them through the tables of the grammar (`syntax`), and
`transformer` makes the tree (`ast/`) with the methods of `parts`. `diagnostics` reports a refused text
(`parse_failure`), and `advice` guesses what it was meant to be. `editing` is for texts that are being typed:
completion, highlighting, mistakes.
"""
