"""From the text of a statement to its abstract syntax, and what else reads statements as text."""
