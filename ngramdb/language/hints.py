"""What the author of a wrong statement probably meant: small rules, each for one kind of mistake."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

from ngramdb.language.situation import Situation, quote

# How alike a word and a keyword must be (difflib's ratio) for "did you mean": one letter wrong, missing,
# doubled or swapped in a word of four letters passes; words of other languages and corpus names rarely do.
_LIKENESS = 0.7

_QUOTES_RULE = "n-grams take double quotes, values single quotes"

# What people bring along from SQL, and what they are after here; told where the latter may stand.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "LIMIT": ("TOP",),
    "TOP": ("LIMIT",),
    "IN": ("FROM",),
    "OF": ("FROM",),
    "TABLE": ("CORPUS",),
    "INDEX": ("CORPUS",),
    "DATABASE": ("CORPUS",),
    "TABLES": ("CORPORA",),
    "CORPUS": ("CORPORA",),
    "CORPUSES": ("CORPORA",),
    "DOCUMENTS": ("DOCS",),
    "DOCUMENT": ("DOCS",),
    "PROBABILITY": ("PROB",),
    "NTD": ("DIST",),
    "SELECT": ("DOCS",),
    "SEARCH": ("DOCS",),
    "LOAD": ("COPY",),
    "INSERT": ("COPY",),
    "IMPORT": ("COPY",),
    "PRAGMA": ("SET",),
    "VERIFY": ("CHECK",),
    "DESC": ("DESCRIBE",),
    "IGNORE": ("SKIP",),
    "MODEL": ("USING",),
    "WITH": ("USING", "GIVEN"),
    "AFTER": ("GIVEN",),
    "INFINIGRAM": ("INFGRAM",),
}

# What follows a field in a comparison.
_COMPARISON = re.compile(r"[\w.]*\s*(?:[=<>!]|(?:IN|LIKE|BETWEEN|IS)\b)", re.IGNORECASE)
# A path or another value without its quotes: many lexemes, but one thing to the one who wrote it.
_BARE_VALUE = re.compile(r"[^\s;,()'\"]+")
_STAR = re.compile(r"\(\s*\*\s*\)")

_QUESTION_HEADS = frozenset({"COUNT", "PROB", "DIST", "SCORE", "DOCS", "EXPLAIN"})
_DATA_HEADS = frozenset({"CREATE", "COPY", "DROP", "USE", "DESCRIBE", "SHOW", "CHECK", "SET", "RESET"})
_STATEMENT_HEADS = _QUESTION_HEADS | _DATA_HEADS


def hint(situation: Situation) -> str | None:
    """A word of advice on the refused lexeme, or None: that of the first rule which has something to say."""
    for rule in _RULES:
        if (advice := rule(situation)) is not None:
            return advice
    return None


def nearest(situation: Situation) -> str | None:
    """The keyword that the word was meant to be, if it can stand here and one is near."""
    if not situation.is_word:
        return None
    word = situation.raw.upper()
    candidates = [terminal for terminal in situation.expected if terminal in situation.keywords]
    for synonym in _SYNONYMS.get(word, ()):
        if synonym in candidates:
            return synonym
    if word in situation.keywords:
        return None
    near = difflib.get_close_matches(word, candidates, n=1, cutoff=_LIKENESS)
    return near[0] if near else None


def _did_you_mean(situation: Situation) -> str | None:
    keyword = nearest(situation)
    return f"did you mean {keyword}?" if keyword is not None else None


def _field_condition(situation: Situation) -> str | None:
    if not (situation.is_word and situation.may_be("TEXT_LITERAL") and "WHERE" in situation.head):
        return None
    if not _COMPARISON.match(situation.text, situation.found.stop):
        return None
    return "conditions are made of n-grams, AND, OR and NOT; there are none on fields yet"


def _count_of_condition(situation: Situation) -> str | None:
    if situation.head[:1] != ["COUNT"] or "DOCS" in situation.head or "WHERE" in situation.head:
        return None
    if _STAR.match(situation.text, situation.found.start):
        return 'COUNT "" is the number of tokens, COUNT DOCS the number of documents'
    if situation.found.type in ("AND", "OR", "NOT", "LPAR", "WHERE"):
        return "to count the documents that meet a condition, write COUNT DOCS WHERE …"
    return None


def _missing_where(situation: Situation) -> str | None:
    if situation.may_be("WHERE") and situation.found.type in ("TEXT_LITERAL", "IDS_LITERAL", "NOT", "LPAR"):
        return "a condition stands after WHERE"
    return None


def _missing_operator(situation: Situation) -> str | None:
    if situation.may_be("AND") and situation.found.type in ("TEXT_LITERAL", "IDS_LITERAL", "NOT", "LPAR"):
        return "AND or OR stands between two conditions"
    return None


def _parameter(situation: Situation) -> str | None:
    if situation.raw == ":" and situation.may_be("PARAMETER"):
        return "a parameter is written :name, without a blank"
    return None


def _ngram_quotes(situation: Situation) -> str | None:
    if not situation.may_be("TEXT_LITERAL"):
        return None
    if situation.found.type == "STRING_LITERAL":
        return f'{_QUOTES_RULE}: write "{quote(situation.raw[1:-1])}"'
    if situation.found.type == "IDENTIFIER":
        return f'n-grams take double quotes: write "{quote(situation.raw)}"'
    return None


def _value_quotes(situation: Situation) -> str | None:
    if not situation.may_be("STRING_LITERAL"):
        return None
    if situation.found.type == "TEXT_LITERAL":
        return f"{_QUOTES_RULE}: write '{quote(situation.raw[1:-1])}'"
    bare = _BARE_VALUE.match(situation.text, situation.found.start)
    if bare is not None and (situation.is_word or situation.found.type == "OTHER"):
        return f"values take single quotes: write '{quote(bare[0])}'"
    return None


def _name_quotes(situation: Situation) -> str | None:
    if not situation.may_be("IDENTIFIER"):
        return None
    if situation.found.type in ("INTEGER_LITERAL", "NUMBER_LITERAL"):
        return f"names that are no plain words take backquotes: write `{quote(situation.raw)}`"
    if situation.found.type in ("TEXT_LITERAL", "STRING_LITERAL"):
        name = quote(situation.raw[1:-1])
        plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
        return f"names take no quotes: write {name}" if plain else f"names take backquotes: write `{name}`"
    return None


def _option_parenthesis(situation: Situation) -> str | None:
    if situation.head[:1] == ["COPY"] and situation.may_be("LPAR") and situation.may_be("$END"):
        return "options stand in parentheses" if situation.found.type == "IDENTIFIER" else None
    return None


def _missing_semicolon(situation: Situation) -> str | None:
    if situation.may_be("SEMICOLON") and situation.found.type in _STATEMENT_HEADS:
        return "a ';' stands between two statements"
    return None


_RULES: tuple[Callable[[Situation], str | None], ...] = (
    _did_you_mean,
    _field_condition,
    _count_of_condition,
    _missing_where,
    _missing_operator,
    _parameter,
    _ngram_quotes,
    _value_quotes,
    _name_quotes,
    _option_parenthesis,
    _missing_semicolon,
)
