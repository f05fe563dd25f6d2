"""One corpus at one version: its segments as one index, its tokenizer, and sums of corpora."""
