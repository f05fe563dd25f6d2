"""Suffix arrays and what belongs to their rows: sorted, and merged."""
