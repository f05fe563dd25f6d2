"""The implementation of a corpus's verbs, and of the statements that act on a corpus."""
