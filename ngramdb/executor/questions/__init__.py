"""The operators of statements that only read: one module per kind of question."""
