"""Results of statements: the table, its display, and its conversion for other libraries."""
