"""KWIC: the lines of a concordance, their text, and the keys by which they are sorted."""
