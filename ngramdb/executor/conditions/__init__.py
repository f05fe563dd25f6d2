"""Conditions on documents and patterns of tokens, evaluated on one segment at a time."""
