"""Arguments of the Python verbs: documents, n-grams, models, and trees made of them."""
