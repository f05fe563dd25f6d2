"""The optional token at which models cut documents: it is both `</s>` and `<s>`, and not part of any n-gram.

A corpus that was created WITH (sentence_separator = '…') has one, and so does a corpus of sentences, for
texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from ngramdb.errors import InvalidArgument
from ngramdb.limits import MAX_TOKEN_ID

# The option of a corpus that names the separator, as text.
OPTION = "sentence_separator"

# The largest id that models support: their codes are ids plus one.
MAX_ID = MAX_TOKEN_ID - 1


class View(Protocol):
    """The interface that models need of a corpus.

    Its catalog entry (`view.entry`) is used for fingerprints and for the separator, if it has one; a sum of
    corpora has `view.terms`, and a corpus of sentences has its separator as `view.separator`.
    """

    @property
    def index(self) -> Any: ...
    @property
    def tokenizer(self) -> Any: ...


def separator_of(view: View) -> int | None:
    """Return the token at which models of a corpus cut documents; None if they do not, or it never occurs.

    Raises
    ------
    InvalidArgument
        a sum of corpora whose separators differ; a text that is not one token
    """
    own: int | None = getattr(view, "separator", None)
    if own is not None:
        return own
    texts = set(_texts(view))
    if len(texts) > 1:
        listed = " and ".join(sorted("none" if text is None else repr(text) for text in texts))
        raise InvalidArgument(f"models over a sum need corpora with the same {OPTION}; these have {listed}")
    text = next(iter(texts))
    return None if text is None else token_of(text, view.tokenizer)


def is_cut(view: Any) -> bool:
    """Return True if models cut documents at a separator. Cost: well below a microsecond."""
    terms = getattr(view, "terms", None)
    if terms is not None:
        return any(is_cut(term.view) for term in terms)
    return hasattr(view, "separator") or OPTION in view.entry.options


def _texts(view: Any) -> Iterator[str | None]:
    terms = getattr(view, "terms", None)
    if terms is not None:
        for term in terms:
            yield from _texts(term.view)
        return
    options = getattr(getattr(view, "entry", None), "options", None) or {}
    yield options.get(OPTION)


def token_of(text: str, tokenizer: Any) -> int | None:
    """Return the single token of a separator's text.

    None for a word that no document contains yet. If documents come as ids, the text is a number.

    Raises
    ------
    InvalidArgument
        the text is not exactly one token
    """
    if tokenizer.kind == "tokens":
        if not (text.isascii() and text.isdigit() and int(text) <= MAX_ID):
            raise InvalidArgument(f"{OPTION} must be a token id from '0' to '{MAX_ID}' here, not {text!r}")
        return int(text)
    ids = tokenizer.encode(text).tolist()
    if len(ids) != 1:
        raise InvalidArgument(
            f"{OPTION} is one token, but {text!r} is {len(ids)} tokens of this tokenizer ({tokenizer.kind})"
        )
    return None if ids[0] < 0 else int(ids[0])
