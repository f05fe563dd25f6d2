"""Arguments of verbs: what they are in Python, and what they become in a syntax tree, a plan or a text."""
