"""What the verbs of Python take: documents, n-grams, models, and trees made of them."""
