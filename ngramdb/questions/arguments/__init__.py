"""Arguments of verbs in Python, and their conversion to syntax trees, plans and statements as text."""
