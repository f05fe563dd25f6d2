"""Limits that several packages share. A limit of a single module is defined there, with its reason."""

from __future__ import annotations

# Token ids are unsigned 32-bit numbers.
MAX_TOKEN_ID = 2**32 - 1

# Ends a sentence and begins the next one in texts that are scored by a model of sentences: the largest id
# that models accept. No corpus with known sentences has it, since these have tokens of texts.
SENTENCE_BREAK = MAX_TOKEN_ID - 1

# Integers have 64 bits everywhere: options, limits, metadata, the manifest.
MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1

# No document has more tokens; a larger number in WINDOW has the same effect.
WHOLE_DOCUMENT = 2**32 - 1

# The maximum gap of a pattern, in tokens: as a distance between positions, it has to fit 32 bits.
MAX_GAP = 2**31 - 1

# A metadata value with deeper nesting could not be written as JSON within Python's recursion limit.
MAX_VALUE_DEPTH = 100
