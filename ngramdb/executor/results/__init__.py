"""What a statement returns: the table, how it is displayed, and its form for other libraries."""
