"""N-grams whose tokens are bound to a corpus, and their form in plans and messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngramdb.errors import InvalidArgument
from ngramdb.source import Corpus, IntArray
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import are_token_ids, token_ids

# Length at which the text of an n-gram is cut in plans, so that a line of EXPLAIN stays a line.
SHOWN_CHARACTERS = 60

# Kinds of tokenizers whose tokens are characters or bytes.
SINGLE = frozenset({"chars", "bytes"})


class Gram:
    """An n-gram whose tokens are bound to a corpus: `ids` is int64, -1 is an unknown word.

    Plans and messages print it as `shown`; by default as its `text`, or as a list of token ids.
    Two n-grams are equal if their ids are.
    """

    # Not a `cached_property`, which takes a lock in some Pythons, a microsecond each. The array or the tuple
    # is given; the other one is made on demand.
    def __init__(
        self, ids: IntArray | tuple[int, ...], shown: str | None = None, text: str | None = None
    ) -> None:
        self._ids: IntArray | None = None
        self._key: tuple[int, ...] | None = None
        if type(ids) is tuple:
            self._key = ids
        else:
            self._ids = ids  # type: ignore[assignment]
        self._shown = shown
        self.text = text

    @property
    def ids(self) -> IntArray:
        """The ids as an int64 array."""
        if self._ids is None:
            self._ids = np.array(self._key, dtype=np.int64)
        return self._ids

    @property
    def given(self) -> IntArray | tuple[int, ...]:
        """The ids in the form in which they were given, which kernels accept without conversion."""
        return self.ids if self._key is None else self._key

    @property
    def shown(self) -> str:
        """The n-gram in plans and messages."""
        if self._shown is None:
            self._shown = show_ids(self.ids) if self.text is None else show_text(self.text)
        return self._shown

    @property
    def key(self) -> tuple[int, ...]:
        """The ids as a tuple."""
        if self._key is None:
            self._key = tuple(self._ids.tolist())  # type: ignore[union-attr]
        return self._key

    @property
    def known(self) -> bool:
        """True if every token is in the vocabulary."""
        return min(self.key, default=0) >= 0

    def __len__(self) -> int:
        return len(self.given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gram) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Gram({self.key}, {self.shown!r})"

    def before(self, order: int | None) -> Gram:
        """Return the part of a context that a model of an order reads: its last `order - 1` tokens."""
        return self.last(order - 1) if order else self

    def last(self, n: int) -> Gram:
        """Return the last `n` tokens; a shorter n-gram is shown as a list of token ids."""
        if n >= len(self.ids):
            return self
        return Gram(self.ids[len(self.ids) - n :])


def show_ids(ids: IntArray) -> str:
    """Format token ids as the language writes them; cut long lists."""
    shown = ", ".join(str(i) for i in ids[:12].tolist())
    return f"[{shown}{', …' if len(ids) > 12 else ''}]"


def show_text(text: str) -> str:
    """Format a text as an n-gram literal on one line; cut long texts."""
    flat = (
        text.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\n", "\\n")
        .replace("\r", "\\r")
        .replace("\t", "\\t")
    )
    return f'"{flat}"' if len(flat) <= SHOWN_CHARACTERS else f'"{flat[: SHOWN_CHARACTERS - 1]}…"'


def takes_text(tokenizer: Tokenizer) -> bool:
    """Return True if MATCH TEXT can be answered under the tokenizer."""
    return tokenizer.kind in ("chars", "words") or tokenizer.token_bytes is not None or tokenizer.has_places


def spells(corpus: Corpus) -> bool:
    """Return True if the tokens of a corpus's documents spell their texts, byte for byte.

    That holds for tokenizers that do not change texts. It holds for others if the tokens restore every text
    of the corpus, so that no text had to be stored.
    """
    tokenizer = corpus.tokenizer
    if tokenizer.token_bytes is not None:
        return True
    return (
        tokenizer.lossless
        and tokenizer.spellings is not None
        and not any(segment.stores_texts for segment in corpus.segments)
    )


def gives_pieces(tokenizer: Tokenizer) -> bool:
    """Return True if tokens are pieces of words, and the words of texts can be found."""
    if tokenizer.kind in SINGLE or tokenizer.has_own_words:
        return False
    return tokenizer.token_bytes is not None or tokenizer.has_places


# ---- binding text or token ids, from a statement or from Python, to the ids of one corpus


def bind_gram(value: Any, tokenizer: Tokenizer) -> Gram:
    """Return the n-gram of a str, tokenized as a document, or of token ids (list, tuple, array of integers).

    Raises
    ------
    InvalidArgument
        Neither text nor a flat sequence of integers; an id outside 0 … 2**32 - 1 (-1: an unknown word); or a
        text without a token, such as a blank under `words` ("" is the empty n-gram).
    """
    found = bind_text(value, tokenizer)
    if isinstance(value, str) and value and not len(found):
        raise InvalidArgument(no_token(value, tokenizer))
    return found


def bind_text(value: Any, tokenizer: Tokenizer) -> Gram:
    """Return the tokens of a text that is read token by token: `bind_gram`, but without tokens is allowed."""
    if isinstance(value, Gram):
        return value
    if isinstance(value, str):
        return Gram(np.asarray(tokenizer.encode(value), dtype=np.int64), text=value)
    if are_token_ids(value):
        return Gram(tuple(value))
    return Gram(token_ids(value))


def no_token(text: str, tokenizer: Tokenizer, matched: str | None = None) -> str:
    """Return the message on a text without a token; `matched` is its form under MATCH TEXT, if allowed."""
    advice = 'the empty n-gram is ""'
    if matched is not None and takes_text(tokenizer):
        advice = f"{matched} finds it in the documents' text"
    return f"{show_text(text)} has no token under the corpus's tokenizer; {advice}"
