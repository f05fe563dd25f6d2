"""Loading documents: files or Python objects, batches, segments; resumed loads; corpora built in parts."""
