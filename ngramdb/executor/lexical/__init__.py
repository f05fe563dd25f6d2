"""How words are used: what they stand with."""
