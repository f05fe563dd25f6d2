"""Patterns that can be nested inside one another."""

#: Text before and after one more level of a pattern, and the number of nested patterns it adds.
LEVELS = [
    ("(", "){1,1}", 1),
    ("(", '){0,1} "a"', 2),
    ("(", ' | "a")', 1),
    ("(", ' [0..2] "a")', 1),
    ("(", " *)", 1),
    ("(", ") IGNORE CASE", 1),
    ("(", ' "a") IGNORE CASE', 3),
]
