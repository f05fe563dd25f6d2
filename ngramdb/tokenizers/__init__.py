"""Tokenizers: text to token ids and back, and the vocabulary that goes with them.

`create_tokenizer` makes one for a new corpus, `open_tokenizer` the one of an existing corpus from its files.
The library `tokenizers` is imported only when a `tokenizer.json` is used.

`base` is the interface, `registry` chooses. `words`, `chars`, `bytes` and `tokens` are built in;
`huggingface` runs `tokenizer.json` files (`fast` is a faster library, used as far as its results are
compared; `byte_pairs` makes such files of tiktoken's and Mistral's), `sentence_piece` models, `callables`
functions in Python. `word_forms` finds the words of texts whose tokens are pieces of words.
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
