"""Questions to sums of segments, sets of documents, joins of positions, lists of n-grams."""
