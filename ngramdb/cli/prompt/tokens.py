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
from dataclasses import dataclass, replace

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout.screen import Char
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from ngramdb.language.highlight import lex
from ngramdb.language.live_check import first_mistake
from ngramdb.registries import GROWING_TOKENIZERS
from ngramdb.terminal_escapes import STEERING_CHARACTERS, written_out

Ask = Callable[[str], Sequence[tuple[str, int]]]
Count = Callable[[str], int]

# As many words are offered as can be looked through at a glance.
MOST_WORDS = 12
# For characters and bytes, this many of the likeliest next ones are continued to whole words, …
MOST_BRANCHES = 6
# … each by at most this many tokens.
MOST_STEPS = 24
# An answer must arrive before the next key, in seconds.
BUDGET_S = 0.05

_TYPED = re.compile(r"\w*$")


@dataclass(frozen=True)
class Word:
    """A word to type next: all its `text`, of which `n_typed` characters are there, and its `count`.

    `after` is None if the word follows all of the text before it: the count is then the n-gram's. Else it is
    the shorter text that the word follows (`""`: none), and the longer text does not occur with the word.
    """

    text: str
    n_typed: int
    count: int
    after: str | None = None


def next_words(ask: Ask, count: Count, kind: str, context: str) -> list[Word]:
    """Return the likeliest words at the end of `context`, or continuations of an unfinished word there.

    Parameters
    ----------
    ask : returns the likeliest next tokens of a context with their counts
    count : how often a text occurs as an n-gram
    kind : the tokenizer's: one of words, 'chars', 'bytes' or 'json'; other kinds are not completed

    Cost: a few calls of `ask`, and a count for each candidate; for characters, bytes and parts
    of words no more than BUDGET_S.
    """
    typed = _TYPED.search(context)
    begun = typed[0] if typed else ""
    if kind in GROWING_TOKENIZERS:
        before = context[: len(context) - len(begun)].rstrip()
        return list(itertools.islice(_whole_words(ask, count, before, begun), MOST_WORDS))
    if kind in ("json", "chars", "bytes"):
        return _joined(ask, count, context, begun, is_pieces=kind == "json")
    return []


def _whole_words(ask: Ask, count: Count, before: str, begun: str) -> Iterator[Word]:
    """Words that the tokens are, after the longest context that occurs.

    The contexts become shorter and shorter.
    """
    seen = {begun}
    for context in _shorter(before):
        if context and not count(context):
            continue  # the answer would be that of a shorter one
        for token, n in ask(context):
            if token.startswith(begun) and token not in seen:
                seen.add(token)
                yield Word(token, len(begun), n, None if context == before else context)
        if not begun:
            return


def _shorter(context: str) -> Iterator[str]:
    """Yield the context, its last two words, its last word, and nothing."""
    yield context
    words = context.split()
    for n_words in (2, 1):
        if len(words) > n_words:
            yield " ".join(words[-n_words:])
    if words:
        yield ""


def _joined(ask: Ask, count: Count, context: str, begun: str, is_pieces: bool) -> list[Word]:
    """Words put together out of tokens, after the longest context with which they occur."""
    deadline = time.perf_counter() + BUDGET_S
    whole = context[: len(context) - len(begun)]
    blank = whole[len(whole.rstrip()) :]
    for shorter in _shorter(whole.rstrip()):
        before = whole if shorter == whole.rstrip() else f" {shorter}{blank}" if shorter else blank
        found = _occurring(ask, count, before, begun, is_pieces, deadline)
        if found:
            after = None if before == whole else shorter
            return [replace(word, after=after) for word in found]
    return []


def _occurring(
    ask: Ask, count: Count, before: str, begun: str, is_pieces: bool, deadline: float
) -> list[Word]:
    """Words made of the likeliest tokens, until one begins another word, that do occur after a context."""
    words: dict[str, Word] = {}
    for start, lead in _starts(before + begun, begun, is_pieces):
        fitting = [token for token, _ in ask(start) if _fits(token, lead, is_pieces)]
        for token in fitting[: MOST_WORDS if is_pieces else MOST_BRANCHES]:
            for tail in (_continued(ask, start + token, deadline), ""):
                text = (token + tail).removeprefix(" ") if lead else begun + token + tail
                if text == begun or not text.startswith(begun) or text in words:
                    break
                # Tokens are put together by their texts, and contexts may have been cut: neither need occur.
                n = count(before + text)
                if n:
                    words[text] = Word(text, len(begun), n)
                    break
    return sorted(words.values(), key=lambda word: -word.count)[:MOST_WORDS]


def _starts(context: str, begun: str, is_pieces: bool) -> Iterator[tuple[str, str]]:
    """Yield contexts to query, each with the required beginning of the next token."""
    if is_pieces and (begun or context[-1:].isspace()):
        # A blank belongs to the token after it.
        before = context[: len(context) - len(begun)]
        yield before.rstrip(), (" " if before[-1:].isspace() else "") + begun
    if begun or not is_pieces or not context[-1:].isspace():
        yield context, ""


def _fits(token: str, lead: str, is_pieces: bool) -> bool:
    if lead:
        return token.startswith(lead)
    # Within a word only its continuations; invisible characters are never offered.
    return token.isprintable() and (not is_pieces or not token[:1].isspace())


def _continued(ask: Ask, context: str, deadline: float) -> str:
    """Return the rest of the word that begins at the end of the context: its likeliest tokens in turn."""
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


# ---- Colours while typing, by the language's own scanner, and a mark at the first mistake.


# Kinds of `ngramdb.language.highlight` in the sixteen colours that every terminal's theme defines.
STYLE = Style.from_dict(
    {
        "ngramdb.keyword": "bold ansiblue",
        "ngramdb.ngram": "ansigreen",
        "ngramdb.token_ids": "ansigreen",
        "ngramdb.value": "ansiyellow",
        "ngramdb.number": "ansicyan",
        "ngramdb.comment": "italic ansibrightblack",
        "ngramdb.parameter": "ansimagenta",
        "ngramdb.error": "underline ansired",
        "ngramdb.mistake": "underline ansired",
        "ngramdb.command": "bold ansimagenta",
        "auto-suggestion": "ansibrightblack",
        "completion-menu.meta.completion": "italic",
        "prompt": "bold",
        "continuation": "ansibrightblack",
    }
)


def show_what_steers() -> None:
    """Make prompt_toolkit write out, in prompts, menus and what is typed, all that `visible` writes out."""
    for character in STEERING_CHARACTERS:
        Char.display_mappings.setdefault(character, written_out(character))


class StatementLexer(Lexer):
    """Colours a statement by the language's scanner; a dot command by its first word."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Return a function from line number to that line's styled pieces."""
        lines = styled_lines(document.text)
        return lambda number: lines[number] if number < len(lines) else []


def styled_lines(text: str) -> list[StyleAndTextTuples]:
    """Return the text's lines, each a list of (style, piece); the pieces of a line join to the line."""
    lines: list[StyleAndTextTuples] = [[]]
    for style, piece in _styled(text):
        first, *others = piece.split("\n")
        if first:
            lines[-1].append((style, first))
        for part in others:
            lines.append([(style, part)] if part else [])
    return lines


def _styled(text: str) -> list[tuple[str, str]]:
    if text.lstrip().startswith("."):
        name, blank, rest = text.partition(" ")
        return [("class:ngramdb.command", name), ("", blank + rest)]
    mistake = first_mistake(text) or (len(text), len(text))
    pieces: list[tuple[str, str]] = []
    for start, stop, kind in lex(text):
        # The piece before, inside and after the mistake, most of them empty as a rule.
        first, last = max(start, min(mistake[0], stop)), min(stop, max(mistake[1], start))
        pieces.append((f"class:ngramdb.{kind}", text[start:first]))
        pieces.append((f"class:ngramdb.{kind} class:ngramdb.mistake", text[first:last]))
        pieces.append((f"class:ngramdb.{kind}", text[last:stop]))
    return [(style, piece) for style, piece in pieces if piece]
