"""Changes of a corpus: removing, restoring, merging, adding, subtracting; and audit records."""
