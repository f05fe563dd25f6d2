"""The token, if any, at which models cut documents: it is `</s>` and `<s>` at once, and in no n-gram.

A corpus that was created WITH (sentence_separator = '…') has one, and a corpus of sentences, for texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from ngramdb.errors import InvalidArgument
from ngramdb.limits import MAX_TOKEN_ID

# The option of a corpus that names the separator, as text.
OPTION = "sentence_separator"

# The largest id that models know: their codes are ids plus one.
MAX_ID = MAX_TOKEN_ID - 1


class View(Protocol):
    """What is asked of a corpus.

    A catalog entry (`view.entry`) is used for fingerprints and for the separator where there is one; a sum of
    corpora has `view.terms`, and a corpus of sentences has its separator as `view.separator`.
    """

    @property
    def index(self) -> Any: ...
    @property
    def tokenizer(self) -> Any: ...


def separator_of(view: View) -> int | None:
    """Return the token at which models of a corpus cut documents, None if they do not, or no document has it.

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
    """The one token that a separator's text is.

    None for a word that is in no document yet. Where documents come as ids, the text is a number.

    Raises
    ------
    InvalidArgument
        the text is no token, or several
    """
    if tokenizer.kind == "tokens":
        if not (text.isascii() and text.isdigit() and int(text) <= MAX_ID):
            raise InvalidArgument(f"{OPTION} is a token id from '0' to '{MAX_ID}' here, not {text!r}")
        return int(text)
    ids = tokenizer.encode(text).tolist()
    if len(ids) != 1:
        raise InvalidArgument(
            f"{OPTION} is one token, but {text!r} is {len(ids)} tokens of this tokenizer ({tokenizer.kind})"
        )
    return None if ids[0] < 0 else int(ids[0])
