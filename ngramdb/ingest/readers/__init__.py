"""Readers of single formats: a file to documents, or to record batches."""
