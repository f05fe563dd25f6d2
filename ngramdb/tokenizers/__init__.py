"""Tokenizers: text to token ids and back, with their vocabularies.

`create_tokenizer` makes one for a new corpus, `open_tokenizer` opens that of an existing corpus from its
files. The library `tokenizers` is imported only when a `tokenizer.json` is used.

`base` is the interface, `registry` selects a tokenizer. `words`, `chars`, `bytes` and `tokens` are built in;
`huggingface` runs `tokenizer.json` files (`fast` is a faster library, used as far as its results have been
compared; `json_definitions` converts files of tiktoken and Mistral to them), `sentence_piece` models,
`callables` Python functions. `vocabulary` also finds the words of texts whose tokens are pieces of words.
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
