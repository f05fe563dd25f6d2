"""Evaluation of WHERE: which documents of a segment, or which of its occurrences, meet a condition."""
