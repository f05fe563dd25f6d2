"""The operators of statements that change the database or list its catalog."""
