"""Corpora for others: an HTTP service that only reads, over `api`."""
