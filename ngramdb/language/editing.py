"""For texts that are being typed: what may come next, kinds of characters, and the first mistake.

Completion walks the parser up to the cursor, so that nothing is offered that the parser would refuse.
The caller looks up the existing names and values (corpora, fields, files, tokens); this module reports their
kinds.

For highlighting, a word is a keyword if the grammar reads it as one; after the first mistake of a statement,
and in words that no keyword can be, the spelling alone decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ngramdb.errors import ParseError
from ngramdb.language import ast, scanner, syntax
from ngramdb.language.parse_failure import CLAUSE_HEADS, expected_terminals, without_new_parts
from ngramdb.language.parser import Walk, keywords
from ngramdb.language.parts import Lexeme
from ngramdb.language.scanner import Fault, read_text
from ngramdb.language.syntax import NAMES, REGISTERED, State
from ngramdb.registries import DOCUMENT_FUNCTIONS

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
    "SCALED_LITERAL": "number",
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
    {
        "DOCS",
        "DUPLICATES",
        "SPANS",
        "CORPUS",
        "CORPORA",
        "SEGMENTS",
        "VERSION",
        "VERSIONS",
        "REMOVALS",
        "SETTINGS",
    }
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
    head : the keywords that the statement begins with: 'COUNT', 'COUNT DOCS', 'CREATE CORPUS'; for COPY … TO
        'COPY ANSWER' or 'COPY REMOVAL', by what is written
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
    corpora = (_of_head(walk.lexemes) if walk else ()) or _corpora(text, statement)
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
        marks = {
            **dict.fromkeys(syntax.CALLED, "("),
            **dict.fromkeys(syntax.COUNTED, " 1"),
            **dict.fromkeys(syntax.SOUGHT, " ~"),
        }
    registered = (
        name.upper() + ("(" if t == "FUNCTION_NAME" else "")
        for t in terminals
        for name in syntax.REGISTERED.get(t, ())
    )
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
    froms = list(_froms(words))
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


def _froms(words: Sequence[tuple[str, str]]) -> Iterator[int]:
    """Yield the places of the word FROM, except for those in calls of document functions."""
    called: list[str] = []
    for i, (kind, raw) in enumerate(words):
        if raw == "(":
            called.append(words[i - 1][1].lower() if i else "")
        elif raw == ")" and called:
            called.pop()
        elif called and called[-1] in DOCUMENT_FUNCTIONS:
            continue
        elif kind == scanner.WORD and raw.upper() == "FROM":
            yield i


def _of_head(lexemes: Sequence[Lexeme]) -> tuple[str, ...]:
    """Return the corpora that are named before the cursor, other than after FROM.

    In KEYWORDS, those after the last OF or AGAINST.
    """
    types = [lexeme.type for lexeme in lexemes]
    if types[:1] == ["UPDATE"] or (types[:1] == ["ALTER"] and not {"FIELD", "FIELDS"}.isdisjoint(types)):
        return _last_name(lexemes, "CORPUS_NAME")
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
    if words[:2] == ["COPY", "LPAR"]:
        return "COPY REMOVAL" if words[2:3] and words[2] in ("CUT", "DELETE") else "COPY ANSWER"
    return " ".join(words[: 2 if words[1:2] and words[1] in _SECOND_WORDS else 1])


# ---- Kinds of characters for syntax highlighting: every character of a text, finished or not, has one.


# Kinds that `lex` gives, for those who assign styles.
KINDS = (
    "keyword",
    "ngram",
    "token_ids",
    "value",
    "number",
    "comment",
    "name",
    "operator",
    "parameter",
    "error",
    "space",
)

# A literal that is not closed yet keeps its colour: it is being typed.
_KIND_OF_PIECE = {
    scanner.SPACE: "space",
    scanner.COMMENT: "comment",
    scanner.OPEN_COMMENT: "comment",
    scanner.TEXT: "ngram",
    scanner.OPEN_TEXT: "ngram",
    scanner.STRING: "value",
    scanner.OPEN_STRING: "value",
    scanner.QUOTED_NAME: "name",
    scanner.OPEN_NAME: "name",
    scanner.TOKEN_IDS: "token_ids",
    scanner.OPEN_IDS: "token_ids",
    scanner.GAP: "operator",
    scanner.REGEX: "ngram",
    scanner.REPETITION: "operator",
    scanner.RANGE: "number",
    scanner.NUMBER: "number",
    scanner.PARAMETER: "parameter",
    scanner.PUNCTUATION: "operator",
    scanner.DIVISION: "operator",
    scanner.MARK: "operator",
    scanner.COMPARATOR: "operator",
    scanner.BAD_OPERATOR: "error",
    scanner.BAD_NUMBER: "error",
    scanner.CURLY_QUOTE: "error",
}
# Characters that are operators or begin one, and are not mistakes by themselves.
_OPERATORS = frozenset("{/:")


def lex(text: str) -> list[tuple[int, int, str]]:
    """Half-open ranges with their kinds (see KINDS), in order; they cover `text` without gaps or overlaps.

    Never raises, whatever the text is.

    >>> lex('USE limit')
    [(0, 3, 'keyword'), (3, 4, 'space'), (4, 9, 'name')]

    Cost: linear; about 0.1 ms for a short statement.
    """
    spans: list[tuple[int, int, str]] = []
    walk: Walk | None = Walk(text)
    for kind, start, stop in scanner.scan(text):
        raw = text[start:stop]
        terminal = ""
        if raw == ";":
            walk = Walk(text)  # statements are independent: a mistake in one does not affect the next
        elif walk is not None and kind not in scanner.BLANK:
            try:
                terminal = walk.take(kind, start, stop).type
            except ParseError:
                walk = None
        spans.append((start, stop, _kind(kind, raw, terminal)))
    return spans


def _kind(piece: str, raw: str, terminal: str) -> str:
    if piece == scanner.WORD:
        if terminal in REGISTERED:
            return "keyword" if raw.lower() in REGISTERED[terminal] else "name"
        is_name = terminal in NAMES or raw.upper() not in keywords()
        return "name" if is_name else "keyword"
    if piece == scanner.OTHER:
        return "operator" if raw in _OPERATORS else "error"
    if terminal == "SCALED_LITERAL":
        return "number"
    return _KIND_OF_PIECE[piece]


# ---- The position of the first mistake in a text while it is being typed.


def first_mistake(text: str) -> tuple[int, int] | None:
    """Return the half-open range of the first piece that no continuation of the text can correct, or None.

    The last piece may still change: a word that a keyword begins with, an open literal.

    >>> first_mistake("COUNT 'a' FROM"), first_mistake('COUNT "a" FRO')
    ((6, 9), None)

    Never raises. Cost: linear; about 0.1 ms for a short statement.
    """
    walk = Walk(text)
    for kind, start, stop in scanner.scan(text):
        if kind in scanner.BLANK:
            continue
        try:
            walk.take(kind, start, stop)
        except ParseError as error:
            if stop == len(text) and _may_become_right(text, kind):
                return None
            begin = start if error.start is None else error.start
            return begin, max(begin + 1, stop if error.stop is None else error.stop)
    return None


def _may_become_right(text: str, kind: str) -> bool:
    """Return True if the last piece, which is refused, can become another one by more typing."""
    if kind in scanner.OPEN or kind == scanner.OPEN_IDS:
        return True
    if kind == scanner.WORD:
        return bool(expected(text, len(text)).keywords)
    if kind == scanner.BAD_OPERATOR:
        return text.endswith("!")  # of !=
    # Half of a number, of an operator, of a comment's mark, of a parameter.
    return (kind in (scanner.BAD_NUMBER, scanner.OTHER) and not text[-1].isalnum()) or text[-1] in "-/:"
