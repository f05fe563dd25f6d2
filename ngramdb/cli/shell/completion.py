"""Possible continuations of a text, as a pure function of the text, the cursor and a catalog.

The grammar defines what kind of thing may come (`ngramdb.language.editing`). The things of each kind
are looked up here and written as the language wants them: names in backquotes where needed, values and paths
in quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ngramdb.cli.shell.catalog import Catalog, next_words
from ngramdb.cli.shell.dot import COMMANDS
from ngramdb.cli.terminal import human
from ngramdb.formats import ID_TYPES, OF_IDS, OF_RANGES, READ, WRITTEN
from ngramdb.language.editing import Expected, expected
from ngramdb.registries import ATTACHED, DTYPE_BYTES, NAMED_TOKENIZERS, ON_CONFLICT

Value = TypeVar("Value")

# Fields of every document besides its metadata, for conditions and ORDER BY.
OWN_FIELDS = ("doc_id", "length")
_CONSTANTS = frozenset({"TRUE", "FALSE", "NULL"})

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DOT_COMMAND = re.compile(r"\s*\.(?P<name>\w*)(?P<rest>\s.*)?", re.DOTALL)
_ESCAPED_DOT = re.compile(r"\\(.)|(\.)")


@dataclass(frozen=True)
class Candidate:
    """A candidate: `text` replaces the text from `start` to the cursor; `kind` determines its style.

    `shown` is what a menu shows for it, and `about` the text beside it.
    """

    text: str
    start: int
    kind: str
    shown: str = ""
    about: str = ""


def complete(text: str, cursor: int, catalog: Catalog) -> list[Candidate]:
    """Return everything that may be typed at the cursor to continue the text before it.

    Cost: a fraction of a millisecond, and what the catalog takes.
    """
    command = _DOT_COMMAND.fullmatch(text[:cursor])
    if command is not None:
        return list(_dot(command, cursor, catalog))
    there = expected(text, cursor)
    candidates = [
        candidate
        for kind, make in _MAKERS.items()
        if kind in there.kinds
        for candidate in make(there, cursor, catalog)
    ]
    candidates.extend(_keywords(there, catalog))
    return list({(candidate.start, candidate.text): candidate for candidate in candidates}.values())


def _keywords(there: Expected, catalog: Catalog) -> Iterator[Candidate]:
    wants_value = bool(there.setting or there.option or (there.field and "value" in there.kinds))
    known = _known_words(there, catalog) if wants_value else None
    for keyword in there.keywords:
        # A setting takes few of the values that the grammar has, and a field's values are known.
        if known is None or keyword not in _CONSTANTS or keyword in known:
            text = keyword.lower() if there.partial.islower() else keyword
            yield Candidate(text, there.start, "keyword")


# ---- names ------------------------------------------------------------------------------------------------


def _corpora(there: Expected, cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    yield from _names(there, "corpus", catalog.corpora())


def _fields(there: Expected, cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    paths = [*catalog.fields(there.corpora), *OWN_FIELDS]
    if there.quote:
        yield from _names(there, "field", [keys_of(path)[0] for path in paths])
        return
    for path in paths:
        written = ".".join(_name(key) for key in keys_of(path))
        if _begins(path, there.partial) or _begins(written, there.partial):
            yield Candidate(written, there.start, "field")


def _keys(there: Expected, cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    before = tuple(there.field)
    every = (keys_of(path) for path in catalog.fields(there.corpora))
    behind = [
        keys[len(before)] for keys in every if keys[: len(before)] == before and len(keys) > len(before)
    ]
    yield from _names(there, "field", behind)


def _settings(there: Expected, cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    yield from _names(there, "setting", catalog.settings())


def _options(there: Expected, cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    yield from _names(there, "option", _options_of(there.head))


def _options_of(head: str) -> Mapping[str, tuple[str, ...]]:
    """Return the options of a statement, with their words."""
    return OPTIONS.get(head) or OPTIONS.get(head.partition(" ")[0], {})


def _words(there: Expected, cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    for word in _known_words(there, catalog):
        if not there.quote and word not in _CONSTANTS and _is_plain(word) and _begins(word, there.partial):
            yield Candidate(word, there.start, "value")


def _known_words(there: Expected, catalog: Catalog) -> Sequence[str]:
    """Return the possible words of the setting or the option."""
    if there.setting:
        return catalog.settings().get(there.setting, ())
    return _options_of(there.head).get(there.option, ())


def _is_plain(word: str) -> bool:
    return _PLAIN_NAME.fullmatch(word) is not None


def _names(there: Expected, kind: str, names: Iterable[str]) -> Iterator[Candidate]:
    for name in dict.fromkeys(names):
        if _begins(name, there.partial):
            text = name.replace("`", "``") + "`" if there.quote else _name(name)
            yield Candidate(text, there.start, kind, shown=name)


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def keys_of(path: str) -> tuple[str, ...]:
    r"""Return the keys of a metadata path as DESCRIBE lists it; a dot within a key follows a backslash.

    >>> keys_of("meta.year"), keys_of("a\\.b")
    (('meta', 'year'), ('a.b',))
    """
    separated = _ESCAPED_DOT.sub(lambda match: match[1] if match[1] else "\x00", path)
    return tuple(separated.split("\x00"))


# ---- values -----------------------------------------------------------------------------------------------


def _values(there: Expected, cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    if there.setting or there.option:
        if there.quote:
            there = _last_of_list(there)
        for word in _known_words(there, catalog):
            if (there.quote or not (_is_plain(word) or word.isdecimal())) and _begins(word, there.partial):
                yield _string(word, there, "value")
        return
    if not there.field:
        return
    path = ".".join(_name(key) for key in there.field)
    for value, count in catalog.values(there.corpora, path):
        about = human.count(count, "document")
        if isinstance(value, str):
            if _begins(value, there.partial):
                yield _string(value, there, "value", about)
        elif not there.quote:
            written = str(value).upper() if isinstance(value, bool) else json.dumps(value)
            if _begins(written, there.partial):
                yield Candidate(written, there.start, "value", about=about)


def _last_of_list(there: Expected) -> Expected:
    """Return the place after the last comma of a string, and the spaces there: settings may be lists."""
    last = there.partial.rpartition(",")[2].lstrip()
    return replace(there, start=there.start + len(there.partial) - len(last), partial=last)


def _numbers(there: Expected, cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    if there.setting and not there.quote:
        for word in catalog.settings().get(there.setting, ()):
            if word.isdecimal() and word.startswith(there.partial):
                yield Candidate(word, there.start, "value")


def _paths(there: Expected, cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    if not there.quote:
        yield Candidate("'", cursor, "path", shown="'…'", about="a path")
        return
    for path in catalog.paths(there.partial):
        is_folder = path.endswith("/")
        yield _string(path, there, "path", open_end=is_folder)


def _tokenizers(there: Expected, cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    for name in NAMED_TOKENIZERS:
        if _begins(name, there.partial):
            yield _string(name, there, "tokenizer")
    if there.quote and there.partial:
        for path in catalog.paths(there.partial):
            if path.endswith(("/", ".json")):
                yield _string(path, there, "path", open_end=path.endswith("/"))


def _versions(there: Expected, cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    if there.head != "KEEP VERSION":  # which takes a new name
        for name in catalog.versions():
            if _begins(name, there.partial):
                yield _string(name, there, "value", about="version")


def _string(value: str, there: Expected, kind: str, about: str = "", open_end: bool = False) -> Candidate:
    """Return a value in single quotes, or the rest of one that is already open."""
    written = value.replace("'", "''") + ("" if open_end else "'")
    return Candidate(written if there.quote else f"'{written}", there.start, kind, shown=value, about=about)


# ---- n-grams ----------------------------------------------------------------------------------------------


def _ngram(there: Expected, cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    if not there.quote:
        if not there.partial:
            yield Candidate('"', cursor, "ngram", shown='"…"', about="an n-gram")
        return

    def ask(context: str) -> list[tuple[str, int]]:
        return [(str(token), count) for token, count in _known(catalog.next_tokens(there.corpora, context))]

    def count(text: str) -> int:
        return _known(catalog.count(there.corpora, text))

    try:
        words = next_words(ask, count, catalog.tokenizer(there.corpora), there.context)
    except _LateError:  # a count that is not known is not 0: the words would be those of another context
        return
    for word in words:
        # The typed beginning of a word consists of letters and digits, which need no escapes.
        start = cursor - word.n_typed
        written = json.dumps(word.text, ensure_ascii=False)[1:-1]
        about = human.short(word.count)
        if word.after is not None:  # not the n-gram's count, which is 0
            about += f" after {word.after}" if word.after else " in all"
        yield Candidate(written, start, "token", shown=word.text, about=about)


def _known(answer: Value | None) -> Value:
    """Return an answer of the catalog, unless it is not there yet."""
    if answer is None:
        raise _LateError
    return answer


class _LateError(Exception):
    """The catalog's answer comes later; the candidates are asked for again then."""


# ---- dot commands -----------------------------------------------------------------------------------------


def _dot(command: re.Match[str], cursor: int, catalog: Catalog) -> Iterator[Candidate]:
    name, rest = command["name"], command["rest"]
    if rest is None:
        start = cursor - len(name)
        for known in COMMANDS.values():
            if known.name.startswith(name.lower()):
                yield Candidate(known.name, start, "command", shown=f".{known.name}", about=known.purpose)
        return
    found = [known for known in COMMANDS.values() if name and known.name.startswith(name.lower())]
    exact = [known for known in found if known.name == name.lower()] or found
    if len(exact) != 1:
        return
    typed = rest.lstrip()
    start = cursor - len(typed)
    if exact[0].name == "help":
        choices: tuple[str, ...] = tuple(COMMANDS)
    elif exact[0].name == "watch":
        statement = re.sub(r"^[\d.\s]*", "", typed)
        shift = cursor - len(statement)
        for candidate in complete(statement, len(statement), catalog):
            yield Candidate(
                candidate.text, candidate.start + shift, candidate.kind, candidate.shown, candidate.about
            )
        return
    else:
        choices = exact[0].choices
    yield from (Candidate(word, start, "value") for word in choices if word.startswith(typed))
    if exact[0].takes_file and not typed.startswith("|"):
        opened = typed[:1] if typed[:1] in ("'", '"') else ""
        for path in catalog.paths(typed.removeprefix(opened)):
            needs_quotes = not re.fullmatch(r"[\w./~+@%,:=-]+", path)
            mark = opened or ("'" if needs_quotes else "")
            end = "" if path.endswith("/") else mark
            yield Candidate(f"{mark}{path}{end}", start, "path", shown=path)


def _begins(name: str, partial: str) -> bool:
    return name.casefold().startswith(partial.casefold())


_Maker = Callable[[Expected, int, Catalog], Iterator[Candidate]]
# In the order in which they are offered; what only a person can fill in is left out.
_MAKERS: dict[str, _Maker] = {
    "ngram": _ngram,
    "corpus": _corpora,
    "field": _fields,
    "key": _keys,
    "setting": _settings,
    "option": _options,
    "word": _words,
    "value": _values,
    "number": _numbers,
    "path": _paths,
    "tokenizer": _tokenizers,
    "version": _versions,
}


# ---- The options that statements take in parentheses, with the words that some of them may be.


# By the head of the statement, or its first keyword.
OPTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "COPY": {
        "format": READ,
        "text": (),
        "ids": (),
        "metadata": (),
        "limit": (),
        "separator": (),
        "dtype": ID_TYPES,
        "quotes": (),
        "max_document_bytes": (),
        "commit_every": (),
        "resume": (),
        "key": (),
        "on_conflict": ON_CONFLICT,
    },
    "COPY ANSWER": {"format": (*WRITTEN, *OF_IDS), "separator": (), "dtype": ID_TYPES},
    "COPY REMOVAL": {"format": (*WRITTEN, *OF_RANGES), "id": (), "attribute": ()},
    "ATTACH": {
        "type": ATTACHED,
        "tokenizer": (),
        "dtype": tuple(DTYPE_BYTES),
        "version": (),
        "index": (),
        "separator": (),
    },
    "CREATE": {"segment_tokens": (), "sentence_separator": (), "sentences": ()},
}
