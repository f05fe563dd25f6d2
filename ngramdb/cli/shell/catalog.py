"""The database as completion sees it: names, values, tokens.

Every answer comes within a fraction of a second.

Whatever takes longer than a person's next key is abandoned; answers are cached until the
database has a new version.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ngramdb.api import Connection
from ngramdb.api.settings import rules
from ngramdb.cli.common import quoted
from ngramdb.errors import TimeoutExceeded
from ngramdb.registries import GROWING_TOKENIZERS, MATCHES

Corpora = tuple[str, ...]
Counted = tuple[Any, int]
Value = TypeVar("Value")

# Nobody waits longer for a completion, in seconds.
PATIENCE_S = 0.1
# Time limit of late answers in the background, in seconds.
PATIENCE_IN_BACKGROUND_S = 10.0
# Answers that are kept.
MOST_KEPT = 256
# The commonest values of a field, and the likeliest tokens after a context, that are considered.
MOST_VALUES = 50
MOST_TOKENS = 4000

# Prefix of the rows of DESCRIBE that are metadata fields.
FIELD = "field "


class Catalog:
    """Answers what `complete` asks about a database; `connection` returns the connection to it.

    `corpora` are those of a statement's FROM; `()` means the current one. A query that exceeds `patience_s`
    is repeated in the background, unless `insists` is False; `arrived` is called, in that thread, when the
    answer is there. May be shared by threads.
    """

    def __init__(
        self,
        connection: Callable[[], Connection],
        patience_s: float = PATIENCE_S,
        arrived: Callable[[], None] = lambda: None,
        insists: bool = True,
    ) -> None:
        self._connection = connection
        self._patience_s = patience_s
        self._arrived = arrived
        self._insists = insists
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[object, ...], object] = OrderedDict()

    def corpora(self) -> Sequence[str]:
        return self._connection().corpora()

    def versions(self) -> Sequence[str]:
        """Return the names of kept versions."""
        return sorted(self._connection().snapshot.manifest.kept)

    def fields(self, corpora: Corpora) -> Sequence[str]:
        """Return the paths of metadata fields, `meta.year` for nested ones."""

        def ask(timeout_s: float) -> Sequence[str]:
            found: dict[str, None] = {}
            for name in corpora or (self._connection().corpus().name,):
                for row in self._rows(f"DESCRIBE {quoted(name)}", timeout_s):
                    if str(row[0]).startswith(FIELD):
                        found[str(row[0]).removeprefix(FIELD)] = None
            return list(found)

        return self._answer(("fields", corpora), ask, ())

    def values(self, corpora: Corpora, field: str) -> Sequence[Counted]:
        """Return a field's values and the number of documents with each, the most frequent first."""

        def ask(timeout_s: float) -> Sequence[Counted]:
            grouped = f"GROUP BY {field} ORDER BY count DESC TOP {MOST_VALUES}"
            rows = self._rows(f"COUNT DOCS {grouped}{_from(corpora)}", timeout_s)
            return [(value, count) for value, count in rows if value is not None]

        return self._answer(("values", corpora, field), ask, ())

    def settings(self) -> Mapping[str, Sequence[str]]:
        """Return the settings with the words that each accepts, if they are few."""

        def ask(timeout_s: float) -> Mapping[str, Sequence[str]]:
            rows = self._rows("SHOW SETTINGS", timeout_s)
            kinds = {str(name): _words(str(kind), str(default)) for name, _, default, kind, *_ in rows}
            return {**kinds, "match": MATCHES, "disabled_rules": rules()}

        return self._answer(("settings",), ask, {})

    def tokenizer(self, corpora: Corpora) -> str:
        """Return the kind of the corpora's tokenizer, or '' without one."""

        def ask(timeout_s: float) -> str:
            return str(self._connection().corpus(*corpora[:1]).tokenizer.kind)

        return self._answer(("tokenizer", corpora), ask, "")

    def next_tokens(self, corpora: Corpora, context: str) -> Sequence[Counted] | None:
        """Return the tokens that follow the longest known suffix of the context, the likeliest first.

        None if they are not known in time.
        """

        def ask(timeout_s: float) -> Sequence[Counted] | None:
            statement = f"DIST GIVEN ? USING INFGRAM TOP {MOST_TOKENS}{_from(corpora)}"
            rows = self._rows(statement, timeout_s, [context])
            return [(token, count) for token, _, count, _ in rows if token]

        return self._answer(("next", corpora, context), ask, None)

    def count(self, corpora: Corpora, text: str) -> int | None:
        """Return the occurrences of a text as an n-gram, or None if not known in time."""

        def ask(timeout_s: float) -> int | None:
            return int(self._rows(f"COUNT ? MATCH TOKENS{_from(corpora)}", timeout_s, [text])[0][0])

        return self._answer(("count", corpora, text), ask, None)

    def paths(self, beginning: str) -> Sequence[str]:
        """Return the files and folders whose path begins so, folders with a slash at their end."""
        folder, name = os.path.split(beginning)
        try:
            with os.scandir(os.path.expanduser(folder) or ".") as entries:
                found = [
                    os.path.join(folder, entry.name) + ("/" if entry.is_dir() else "")
                    for entry in entries
                    if entry.name.startswith(name) and (name or not entry.name.startswith("."))
                ]
        except OSError:
            return []
        return sorted(found)

    def warm(self) -> None:
        """Load what the first key would otherwise wait for: names of fields, frequencies of all tokens."""
        self.tokenizer(())
        fields = self.fields(())
        self.next_tokens((), "")
        self.next_tokens((), "a")  # reads the tokenizer, too
        for field in fields[:1]:
            self.values((), field)

    def _rows(self, statement: str, timeout_s: float, parameters: Any = None) -> list[tuple[Any, ...]]:
        with self._connection().execute(statement, parameters, timeout=timeout_s) as result:
            return result.fetchall()

    def _answer(self, question: tuple[object, ...], ask: Callable[[float], Value], nothing: Value) -> Value:
        """Return the cached answer, else a new one; `nothing` if it is not ready in time."""
        try:
            connection = self._connection()
            current = connection.corpus().name if question[1:2] == ((),) else ""
            question = (id(connection), connection.version, current, *question)
            with self._lock:
                if question in self._kept:
                    self._kept.move_to_end(question)
                    return self._kept[question]  # type: ignore[return-value]
            try:
                answer = ask(self._patience_s)
            except TimeoutExceeded:
                if self._insists:
                    self._keep(question, nothing)  # until the answer arrives, no key waits for it again
                    threading.Thread(target=self._ask_again, args=(question, ask), daemon=True).start()
                return nothing
        except Exception:
            # Errors of the database are reported by statements, not while typing.
            return nothing
        self._keep(question, answer)
        return answer

    def _ask_again(self, question: tuple[object, ...], ask: Callable[[float], object]) -> None:
        with suppress(Exception):
            self._keep(question, ask(PATIENCE_IN_BACKGROUND_S))
            self._arrived()

    def _keep(self, question: tuple[object, ...], answer: object) -> None:
        with self._lock:
            self._kept[question] = answer
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)


def _from(corpora: Corpora) -> str:
    return f" FROM {' + '.join(map(quoted, corpora))}" if corpora else ""


def _words(kind: str, default: str) -> Sequence[str]:
    """Return the values of a setting of this kind, if they are a few words."""
    if kind == "boolean":
        return ("TRUE", "FALSE")
    return (default,) if default.isdecimal() else ()


# ---- The next words of an n-gram that is being typed, out of the index.


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
