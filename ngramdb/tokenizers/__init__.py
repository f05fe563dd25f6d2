"""Tokenizers: text to token ids and back, and the vocabulary that goes with them.

`create_tokenizer` makes one for a new corpus, `open_tokenizer` the one of an existing corpus from its files.
The library `tokenizers` is imported only when a `tokenizer.json` is used.
"""

from ngramdb.tokenizers.base import FileContent, Sections, Tokenizer, as_ids
from ngramdb.tokenizers.registry import create_tokenizer, open_tokenizer
from ngramdb.types import UNKNOWN

__all__ = [
    "UNKNOWN",
    "FileContent",
    "Sections",
    "Tokenizer",
    "as_ids",
    "create_tokenizer",
    "open_tokenizer",
]
