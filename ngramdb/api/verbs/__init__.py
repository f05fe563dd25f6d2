"""What the verbs of a corpus and the statements that act on one do."""
