"""Changes of a corpus: loading, removing, restoring, merging, adding, subtracting; and audit records."""
