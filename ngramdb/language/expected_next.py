"""Everything that may come next at a position in a text: the basis of completion.

The parser is walked up to the cursor, so that nothing is offered that the parser would refuse.
The caller looks up the existing names and values (corpora, fields, files, tokens); this module reports their
kinds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ngramdb.errors import ParseError
from ngramdb.language import ast, scanner, syntax
from ngramdb.language.automaton import State
from ngramdb.language.literals import Fault, read_text
from ngramdb.language.parse_failure import CLAUSE_HEADS, expected_terminals, without_new_parts
from ngramdb.language.parser import Walk
from ngramdb.language.parts import Lexeme

# The kinds of things other than keywords, by terminal.
_KINDS = {
    "CORPUS_NAME": "corpus",
    "NEW_NAME": "new_corpus",
    "FIELD_NAME": "field",
    "KEY_NAME": "key",
    "SETTING_NAME": "setting",
    "OPTION_NAME": "option",
    "BARE_WORD": "word",
    "PATH_LITERAL": "path",
    "TOKENIZER_LITERAL": "tokenizer",
    "VERSION_LITERAL": "version",
    "STRING_LITERAL": "value",
    "INTEGER_LITERAL": "number",
    "NUMBER_LITERAL": "number",
    "TEXT_LITERAL": "ngram",
    "IDS_LITERAL": "token_ids",
    "REGEX_LITERAL": "regex",
    "GAP_LITERAL": "gap",
    "REPETITION_LITERAL": "repetition",
    "RANGE_LITERAL": "range",
    "PARAMETER": "parameter",
}
_STRINGS = frozenset({"path", "tokenizer", "version", "value"})
_NAMES = frozenset({"corpus", "new_corpus", "field", "key", "setting", "option", "word"})
# The possible kinds of an open literal, by its first character.
_IN_QUOTES = {
    '"': frozenset({"ngram"}),
    "'": _STRINGS,
    "`": _NAMES,
    "[": frozenset({"token_ids", "gap"}),
}
# One character of a literal as it is written; an escape that the cursor has cut short is a unit, too.
_UNIT = re.compile(r"\\u[0-9a-fA-F]{0,4}|\\.|\\|[^\\]+", re.DOTALL)
_LAST_BLANK = re.compile(r".*\s", re.DOTALL)
# Pieces that are being typed when the cursor touches their end, and the mark of those that are open.
_TYPED = frozenset({scanner.WORD, scanner.NUMBER, scanner.BAD_NUMBER, scanner.PARAMETER})
_OPEN = {
    scanner.OPEN_TEXT: '"',
    scanner.OPEN_STRING: "'",
    scanner.OPEN_NAME: "`",
    scanner.OPEN_IDS: "[",
}
# Kinds that are somebody's: a field's, a setting's or an option's.
_OWNED = frozenset({"value", "word", "key"})
# Terminals that a source consists of: corpora, their signs and versions.
_OF_SOURCE = frozenset(
    {"CORPUS_NAME", "PLUS", "MINUS", "AT", "VERSION", "INTEGER_LITERAL", "VERSION_LITERAL", "PARAMETER"}
)
_SECOND_WORDS = frozenset(
    {"DOCS", "CORPUS", "CORPORA", "SEGMENTS", "VERSION", "VERSIONS", "REMOVALS", "SETTINGS"}
)

_Piece = tuple[str, int, int]


@dataclass(frozen=True)
class Expected:
    """Everything that may come next at the cursor, and the part of it typed so far.

    Attributes
    ----------
    start : `text[start:cursor]` is what a completion replaces; inside quotes, it is inside them
    partial : that piece as it reads, escapes resolved; '' between words
    quote : the opening mark of the literal that contains the cursor (one of " ' ` [), or ''
    keywords : those that may come next and begin with `partial`, each with the ones that must follow it
        ('ORDER BY'); without clauses that the statement has already
    kinds : what else may come next: 'corpus', 'new_corpus', 'field', 'key', 'setting', 'option', 'word',
        'path', 'tokenizer', 'version', 'value', 'number', 'ngram', 'token_ids', 'regex', 'gap', 'repetition',
        'parameter'
    field : the keys of the field whose value is wanted, or of the unfinished path
    setting, option : whose value is wanted, in lower case
    context : the open n-gram so far, from its quote to the cursor, escapes resolved
    corpora : the corpora that apply at the cursor: those of that side of KEYWORDS, or those
        after FROM, before or after the cursor; () means the current one
    head : the keywords that the statement begins with: 'COUNT', 'COUNT DOCS', 'CREATE CORPUS'
    """

    start: int
    partial: str = ""
    quote: str = ""
    keywords: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    field: tuple[str, ...] = ()
    setting: str = ""
    option: str = ""
    context: str = ""
    corpora: tuple[str, ...] = ()
    head: str = ""


def expected(text: str, cursor: int) -> Expected:
    """Return what may come next at `cursor` (a number of characters). After a mistake nothing is expected.

    Never raises, whatever the text is.

    >>> expected('DOCS WHERE "a" OR', 17).keywords
    ('OR', 'ORDER BY')
    >>> expected("USE wi", 6).kinds
    ('corpus',)

    Cost: linear in the text; about 0.2 ms for a short statement.
    """
    cursor = max(0, min(cursor, len(text)))
    before = _last_statement(scanner.scan(text[:cursor]), text)
    statement = _statement_at(text, before[0][1] if before else cursor)
    typed = (
        before.pop()
        if before and before[-1][0] in _TYPED | _OPEN.keys() and before[-1][2] == cursor
        else None
    )
    quote = _OPEN.get(typed[0], "") if typed else ""
    start = typed[1] + len(quote) if typed else cursor
    walk = _walk(text[:cursor], before)
    corpora = (_of_side(walk.lexemes) if walk else ()) or _corpora(text, statement)
    if walk is None or _in_comment(text[:cursor]):
        return Expected(cursor, corpora=corpora)
    head = [lexeme.type for lexeme in walk.lexemes]
    terminals = expected_terminals(walk.state, head)
    if quote != '"':
        terminals = without_new_parts(terminals)
    kinds = tuple(dict.fromkeys(kind for terminal, kind in _KINDS.items() if terminal in terminals))
    context, partial = "", _read(text[start:cursor], quote)
    if quote:
        kinds = tuple(kind for kind in kinds if kind in _IN_QUOTES[quote])
    if quote == '"':
        context = partial
        start += _after_last_blank(text[start:cursor])
        partial = _read(text[start:cursor], quote)
    field, setting, option = _whose(walk.lexemes, kinds)
    return Expected(
        start=start,
        partial=partial,
        quote=quote,
        keywords=() if quote else _phrases(walk.state, terminals, partial),
        kinds=kinds,
        field=field,
        setting=setting,
        option=option,
        context=context,
        corpora=corpora,
        head=_head(head),
    )


def _last_statement(pieces: Iterable[_Piece], text: str) -> list[_Piece]:
    """Return the pieces after the last semicolon, without white space."""
    last: list[_Piece] = []
    for piece in pieces:
        if text[piece[1]] == ";":
            last = []
        elif piece[0] not in scanner.BLANK:
            last.append(piece)
    return last


def _statement_at(text: str, start: int) -> list[_Piece]:
    """Return all pieces of the statement that starts at `start`, without white space."""
    pieces = []
    for kind, first, stop in scanner.scan(text[start:]):
        if text[start + first] == ";":
            break
        if kind not in scanner.BLANK:
            pieces.append((kind, start + first, start + stop))
    return pieces


def _in_comment(text: str) -> bool:
    """Return True if the text ends within a comment."""
    kind, start = "", 0
    for kind, start, _ in scanner.scan(text):  # noqa: B007 - the last ones are wanted
        pass
    return kind == scanner.OPEN_COMMENT or (kind == scanner.COMMENT and text.startswith("--", start))


def _walk(text: str, pieces: Sequence[_Piece]) -> Walk | None:
    """Return the walk over the pieces; None if they do not begin a statement."""
    walk = Walk(text)
    try:
        for kind, start, stop in pieces:
            walk.take(kind, start, stop)
    except ParseError:
        return None
    return walk


def _phrases(state: State, terminals: Sequence[str], partial: str) -> tuple[str, ...]:
    beginning = partial.upper()
    fitting = [t for t in terminals if t in syntax.syntax().keywords and t.startswith(beginning)]
    fitting.sort(key=lambda t: t in CLAUSE_HEADS)  # continuations of the last part come first
    # By themselves these are names.
    marks: dict[str, str] = {}
    if "FIELD_NAME" in terminals:
        marks = {**dict.fromkeys(syntax.CALLED, "("), **dict.fromkeys(syntax.COUNTED, " 1")}
    registered = (name.upper() for t in terminals for name in syntax.REGISTERED.get(t, ()))
    return (
        *(syntax.phrase(state, keyword) + marks.get(keyword, "") for keyword in fitting),
        *(name for name in registered if name.startswith(beginning)),
    )


def _read(raw: str, quote: str) -> str:
    """Return the content of an open literal so far, without an incomplete escape."""
    if quote in ("'", "`") and quote:
        return raw.replace(quote * 2, quote)
    if quote != '"' or "\\" not in raw:
        return raw
    whole = "".join(unit for unit in _UNIT.findall(raw) if unit[0] != "\\" or _is_whole(unit))
    try:
        return read_text(f'"{whole}"', 0)
    except Fault:
        return raw


def _is_whole(escape: str) -> bool:
    try:
        read_text(f'"{escape}"', 0)
    except Fault:
        return len(escape) == 6  # half of a surrogate pair, which the other half may follow
    return len(escape) > 1


def _after_last_blank(raw: str) -> int:
    """Return the number of characters of the open n-gram before its last word."""
    place = after = 0
    for unit in _UNIT.findall(raw):
        if unit[0] == "\\":
            after = place + len(unit) if _read(unit, '"').isspace() else after
        elif blank := _LAST_BLANK.match(unit):
            after = place + blank.end()
        place += len(unit)
    return after


def _corpora(text: str, pieces: Sequence[_Piece]) -> tuple[str, ...]:
    """Return the names after FROM, up to the first piece that is not a name."""
    words = [(kind, text[start:stop]) for kind, start, stop in pieces]
    froms = [i for i, (kind, raw) in enumerate(words) if kind == scanner.WORD and raw.upper() == "FROM"]
    names: list[str] = []
    for kind, raw in words[froms[-1] + 1 :] if froms else ():
        named = names and names[-1] != ""
        if not named and kind in (scanner.WORD, scanner.QUOTED_NAME):
            names = [*names[:-1], raw[1:-1].replace("``", "`") if raw[0] == "`" else raw]
        elif named and raw in "+-":
            names.append("")
        elif not (
            named and (raw.upper() in ("AT", "VERSION") or kind in (scanner.NUMBER, scanner.PARAMETER))
        ):
            break
    return tuple(name for name in names if name)


def _of_side(lexemes: Sequence[Lexeme]) -> tuple[str, ...]:
    """In KEYWORDS, the corpora that are named after the last OF or AGAINST before the cursor."""
    types = [lexeme.type for lexeme in lexemes]
    if "KEYWORDS" not in types or types[-1] == "KEYWORDS":
        return ()
    side = max(place for place, terminal in enumerate(types) if terminal in ("KEYWORDS", "OF", "AGAINST"))
    source = takewhile(lambda lexeme: lexeme.type in _OF_SOURCE, lexemes[side + 1 :])
    return tuple(lexeme.node.value for lexeme in source if isinstance(lexeme.node, ast.Name))


def _whose(lexemes: Sequence[Lexeme], kinds: Sequence[str]) -> tuple[tuple[str, ...], str, str]:
    """Return the field, setting or option whose value, or whose next key, may come here."""
    if _OWNED.isdisjoint(kinds) or not lexemes:
        return (), "", ""
    types = [lexeme.type for lexeme in lexemes]
    for terminal in ("OPTION_NAME", "SETTING_NAME"):
        if terminal in types:
            name = _last_name(lexemes, terminal)[0].lower()
            return ((), "", name) if terminal == "OPTION_NAME" else ((), name, "")
    if types[-1] in ("EQUAL", "COMPARATOR") and types[-2] == "RPAR":  # COUNT("x") >= …
        return (), "", ""
    return _last_name(lexemes, "FIELD_NAME"), "", ""


def _last_name(lexemes: Sequence[Lexeme], terminal: str) -> tuple[str, ...]:
    """Return the last name of a kind, with the keys that follow it."""
    keys: tuple[str, ...] = ()
    for lexeme in lexemes:
        if lexeme.type == terminal and isinstance(lexeme.node, ast.Name):
            keys = (lexeme.node.value,)
        elif lexeme.type == "KEY_NAME" and isinstance(lexeme.node, ast.Name):
            keys = (*keys, lexeme.node.value)
    return keys


def _head(types: Sequence[str]) -> str:
    words = [*types]
    while (
        words[:1]
        and words[0] in ("EXPLAIN", "ANALYZE")
        and len(words) > 1
        and words[1] in syntax.syntax().keywords
    ):
        words = words[1:]
    return " ".join(words[: 2 if words[1:2] and words[1] in _SECOND_WORDS else 1])
