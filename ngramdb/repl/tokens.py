"""The next words of an n-gram that is being typed, out of the index.

Asked is always for the distribution of the next token (after the longest suffix of the context that occurs),
which the catalog knows; here is decided what the context is, which tokens fit what has been typed of a word,
and how tokens that are parts of words are put together.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Ask = Callable[[str], Sequence[tuple[str, int]]]

# As many words are offered as can be looked through at a glance.
MOST_WORDS = 12
# Of characters or bytes, so many likeliest first ones are continued to whole words, …
MOST_BRANCHES = 6
# … each by so many tokens at most.
MOST_STEPS = 24
# An answer shall be there before the next key, in seconds.
BUDGET_S = 0.05

_TYPED = re.compile(r"\w*$")


@dataclass(frozen=True)
class Word:
    """A word to type next: all its `text`, of which `n_typed` characters are there, and its `count`."""

    text: str
    n_typed: int
    count: int


def next_words(ask: Ask, kind: str, context: str) -> list[Word]:
    """The likeliest words at the end of `context`, or for the word that has been begun there.

    Parameters
    ----------
    ask : gives the likeliest next tokens of a context with their counts
    kind : the tokenizer's: 'words', 'chars', 'bytes' or 'json'; others have no text to complete

    Cost - a few questions to `ask`; for characters, bytes and parts of words no more than BUDGET_S.
    """
    typed = _TYPED.search(context)
    begun = typed[0] if typed else ""
    if kind == "words":
        return list(
            itertools.islice(_whole_words(ask, context[: len(context) - len(begun)], begun), MOST_WORDS)
        )
    if kind in ("json", "chars", "bytes"):
        return _joined(ask, context, begun, is_pieces=kind == "json")
    return []


def _whole_words(ask: Ask, before: str, begun: str) -> Iterator[Word]:
    """Words that the tokens are; with a beginning, also those that follow shorter and shorter contexts."""
    seen = {begun}
    for context in _shorter(before.rstrip()) if begun else [before.rstrip()]:
        for token, count in ask(context):
            if token.startswith(begun) and token not in seen:
                seen.add(token)
                yield Word(token, len(begun), count)


def _shorter(context: str) -> Iterator[str]:
    """The context, its last two words, its last word, nothing."""
    yield context
    words = context.split()
    for n_words in (2, 1):
        if len(words) > n_words:
            yield " ".join(words[-n_words:])
    if words:
        yield ""


def _joined(ask: Ask, context: str, begun: str, is_pieces: bool) -> list[Word]:
    """Words put together out of the likeliest tokens, until one begins another word."""
    deadline = time.perf_counter() + BUDGET_S
    words: dict[str, Word] = {}
    for start, lead in _starts(context, begun, is_pieces):
        fitting = [(token, count) for token, count in ask(start) if _fits(token, lead, is_pieces)]
        for token, count in fitting[: MOST_WORDS if is_pieces else MOST_BRANCHES]:
            tail = _continued(ask, start + token, deadline)
            text = (token + tail).removeprefix(" ") if lead else begun + token + tail
            if text != begun and text.startswith(begun) and text not in words:
                words[text] = Word(text, len(begun), count)
    return sorted(words.values(), key=lambda word: -word.count)[:MOST_WORDS]


def _starts(context: str, begun: str, is_pieces: bool) -> Iterator[tuple[str, str]]:
    """Contexts to ask for, each with how the next token has to begin."""
    if is_pieces and (begun or context[-1:].isspace()):
        # A blank belongs to the token behind it.
        before = context[: len(context) - len(begun)]
        yield before.rstrip(), (" " if before[-1:].isspace() else "") + begun
    if begun or not is_pieces or not context[-1:].isspace():
        yield context, ""


def _fits(token: str, lead: str, is_pieces: bool) -> bool:
    if lead:
        return token.startswith(lead)
    # Within a word only what goes on with it; what cannot be seen cannot be chosen either.
    return token.isprintable() and (not is_pieces or not token[:1].isspace())


def _continued(ask: Ask, context: str, deadline: float) -> str:
    """The rest of the word whose beginning ends the context: the likeliest tokens, one after the other."""
    tail = ""
    if not context[-1:].isalnum():
        return tail
    for _ in range(MOST_STEPS):
        if time.perf_counter() > deadline:
            break
        likeliest = next(iter(ask(context + tail)), None)
        if likeliest is None or not likeliest[0].isalnum():
            break
        tail += likeliest[0]
    return tail
