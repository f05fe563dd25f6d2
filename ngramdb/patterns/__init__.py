"""N-grams, and patterns that match several of them.

`nodes` has the kinds of patterns that plans hold, `grams` exact n-grams. `text_matching` matches text under
MATCH TEXT and IGNORE CASE; `string_to_ids` finds the token sequences that spell it, with an `automaton` over
bytes, which also compares letters in any case. `token_regex` has regular expressions over tokens, which
`programs` turns into patterns. `advice` is about patterns that find nothing. Expressions are compared with
the words of a vocabulary in `ngramdb.tokenizers.regular`.
"""

from ngramdb.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
