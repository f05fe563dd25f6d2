"""Patterns: n-grams and what stands for several of them.

`nodes` has the kinds of patterns that plans hold, `grams` exact n-grams. `string_to_ids` finds the sequences
that spell a text, with an `automaton` over bytes; `token_regex` has regular expressions over tokens.
`text_matching` does so for MATCH TEXT and IGNORE CASE, `programs` turns regular expressions into patterns.
`letter_case` compares letters in any case. `phrases` and `advice` are about patterns that find nothing.
`regular` in `ngramdb.tokenizers` compares expressions with the words of a vocabulary.
"""

from ngramdb.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
