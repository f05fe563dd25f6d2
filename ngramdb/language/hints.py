"""Advice on the probable meaning of an invalid statement: small rules, one per kind of mistake."""

from __future__ import annotations

import re
from collections.abc import Callable

from ngramdb.language import guesses, habits, syntax
from ngramdb.language.habits import nearest
from ngramdb.language.parse_failure import CLAUSE_HEADS, MAX_QUOTED, Situation, quote

_QUOTES_RULE = "n-grams take double quotes, values single quotes"

# The text after a field in a comparison.
_COMPARISON = re.compile(r"\s*(?:[=<>!]|(?:IN|LIKE|ILIKE|BETWEEN|IS)\b)", re.IGNORECASE)
_PARENTHESIS = re.compile(r"\s*\(")
# A path or another value without its quotes: many lexemes, but one thing to the one who wrote it.
_BARE_VALUE = re.compile(r"[^\s;,()'\"]+")
_BARE_NAME = re.compile(r"[\w.-]+")
_BOUNDS = re.compile(r"\[\s*(\d+)\s*(?:(?:[-,:]|\.+|to)\s*(\d+)\s*)?\]", re.IGNORECASE)

_TAG = re.compile(r"</?[A-Za-z]\w*>")

_NGRAMS = frozenset({"TEXT_LITERAL", "IDS_LITERAL"})
_NUMBERS = frozenset({"INTEGER_LITERAL", "NUMBER_LITERAL"})
_VALUES = _NUMBERS | frozenset(syntax.STRINGS)
_MODELS = frozenset({"NGRAM", "INFGRAM", "BACKOFF", "KNESER_NEY"})


def hint(situation: Situation) -> str | None:
    """Return the advice of the first rule that applies to the refused lexeme, or None."""
    for rule in _RULES:
        if (advice := rule(situation)) is not None:
            return advice
    return None


def lonely_field(situation: Situation) -> bool:
    """Return True if the word before was read as a field, but no comparison follows.

    The word is the mistake then, not what follows it: `COUNT hello FROM wiki`.
    """
    if situation.previous != "FIELD_NAME" or not situation.may_be("COMPARATOR"):
        return False
    if not situation.written(situation.before[-1]).isidentifier():  # in backquotes: a name without doubt
        return False
    if nearest(situation) is not None:  # a comparison that is misspelt
        return False
    return situation.found.type not in (*_VALUES, "OTHER", "IDS_LITERAL", "LPAR")


def _did_you_mean(situation: Situation) -> str | None:
    keyword = nearest(situation)
    return f"did you mean {situation.spell(keyword)}?" if keyword is not None else None


# ---- conditions


def _field_by_itself(situation: Situation) -> str | None:
    if not (situation.condition_may_start and situation.is_name):
        return None
    if situation.raw.upper() in syntax.syntax().keywords - syntax.CALLED:
        return None
    word = quote(situation.raw)
    return f'n-grams take double quotes: write "{word}"; a field takes a comparison: {word} = …'


def _field_first(situation: Situation) -> str | None:
    if not (situation.condition_may_start and situation.found.type in _VALUES):
        return None
    if _COMPARISON.match(situation.text, situation.found.stop) or situation.found.type in _NUMBERS:
        return f"the field comes first: field = {quote(situation.raw)}"
    return None


def _missing_comparison(situation: Situation) -> str | None:
    if not situation.may_be("COMPARATOR"):
        return None
    if situation.found.type == "IDS_LITERAL" and situation.previous in syntax.NAMES:
        return "join the keys of a path with dots, with backquotes around those that are not words: a.`0`"
    if situation.previous == "RPAR" and situation.at_end and "OVERLAP" not in situation.head:
        return "to test whether a document contains an n-gram at all, write the n-gram alone"
    if situation.found.type in _VALUES and situation.previous in syntax.NAMES:
        field = quote(situation.written(situation.before[-1]))
        return f"an operator is missing: {field} = {quote(situation.raw)}"
    return None


def _in_parentheses(situation: Situation) -> str | None:
    if set(situation.expected) - {"PARAMETER"} != {"LPAR"} or situation.at_end:
        return None
    if situation.previous == "IN":
        return "write the values in parentheses: IN ('a', 'b')"
    if situation.previous == "COUNT":
        return f"within a condition, write the n-gram in parentheses: COUNT({quote(situation.raw)}) >= 1"
    if situation.previous == "OVERLAP":
        return "write OVERLAP(corpus, 13) >= 0.8"
    return None


def _between(situation: Situation) -> str | None:
    if situation.expected == ["AND"] and not situation.at_end:
        return "BETWEEN goes with AND: BETWEEN 1 AND 3"
    if situation.found.type == "COMMA" and situation.previous in _NUMBERS and situation.may_be("AND"):
        return "write numbers without separators; several values go into IN (…)"
    return None


def _quote_within(situation: Situation) -> str | None:
    closed = situation.previous in syntax.STRINGS and situation.before[-1].stop == situation.found.start
    if closed and not situation.at_end:
        return "a quote inside a value is doubled: 'it''s'"
    return None


def _is_value(situation: Situation) -> str | None:
    if situation.previous == "IS" and situation.may_be("NULL"):
        return "IS is allowed before NULL only; compare a value with ="
    if situation.previous == "NOT" and situation.may_be("NULL") and not situation.may_be("STRING_LITERAL"):
        return "IS NOT is allowed before NULL only; compare a value with !="
    return None


def _overlap_length(situation: Situation) -> str | None:
    if situation.head[-3:-1] == ["OVERLAP", "LPAR"] and situation.found.type == "RPAR":
        return "the length of the n-grams is missing: OVERLAP(corpus, 13)"
    return None


def _within(situation: Situation) -> str | None:
    alone = situation.previous == "WITHIN" and not situation.may_be("INTEGER_LITERAL")
    near = situation.raw.upper() == "NEAR" and situation.may_be("AND")
    if situation.found.type == "WITHIN" or alone or near:
        negated = '; write NOT ("a" WITHIN SENTENCE) to negate it' if "NOT" in situation.head else ""
        return (
            f'WITHIN follows n-grams joined by AND: "a" AND "b" WITHIN 5 TOKENS, or WITHIN SENTENCE{negated}'
        )
    return None


def _gap(situation: Situation) -> str | None:
    if situation.found.type == "GAP_LITERAL" and situation.may_be("TEXT_LITERAL"):
        return "a gap must be between two n-grams"
    if not (situation.may_be("GAP_LITERAL") and situation.raw.startswith("[")):
        return None
    if situation.raw.replace(" ", "") == "[]":
        return "any token is written *, and a repetition of it *{0,3}"
    bounds = _BOUNDS.fullmatch(situation.raw)
    low, high = (bounds[1], bounds[2] or bounds[1]) if bounds else ("1", "3")
    return f"a gap of {_tokens(low, high)} is written [{low}..{high}]"


def _pattern(situation: Situation) -> str | None:
    if situation.raw == "{" and situation.may_be("REPETITION_LITERAL"):
        return "a repetition is written {2}, {1,3} or {2,}"
    if situation.raw == "/" and (situation.may_be("GAP_LITERAL") or situation.may_be("REGEX_LITERAL")):
        return _slash(situation)
    if situation.previous == "REGEX_LITERAL" and situation.raw.lower() == "i":
        return "letters' case is ignored by IGNORE CASE"
    if situation.raw in ("+", "?") and situation.may_be("REPETITION_LITERAL"):
        return "a repetition is written {1,3}, one without limit {1,}"
    if situation.found.type == "OR" and situation.may_be("VBAR"):
        return "within a pattern alternatives are separated by |"
    if situation.found.type == "VBAR" and situation.may_be("OR"):
        return 'write alternatives in parentheses: ("a" | "b")'
    return None


def _slash(situation: Situation) -> str:
    """Why a slash begins no regular expression."""
    line = situation.text[situation.found.stop :].partition("\n")[0]
    inner, closing, _ = line.partition("/")
    if not inner or not closing:
        return "write a regular expression between two slashes: /wom[ae]n/"
    if situation.before and situation.before[-1].stop == situation.found.start:
        return "a slash directly after a word or parenthesis divides: write a blank before the expression"
    shown = inner if inner.isprintable() and len(inner) <= MAX_QUOTED else "…"
    return f"a slash before a number divides: put the expression in a group, /({shown})/"


def _tokens(low: str, high: str) -> str:
    return f"{low} token{'' if low == '1' else 's'}" if low == high else f"{low} to {high} tokens"


def _count_of_documents(situation: Situation) -> str | None:
    if situation.head[:1] != ["COUNT"] or "DOCS" in situation.head:
        return None
    if situation.head == ["COUNT", "LPAR"] and situation.raw == "*":
        return 'COUNT "" is the number of tokens, COUNT DOCS the number of documents'
    if situation.found.type in ("EQUAL", "COMPARATOR") and "WHERE" not in situation.head:
        # The left side is an n-gram: a field would have been continued.
        return f'to count documents by occurrences, write COUNT DOCS WHERE COUNT("…") {situation.raw} …'
    return None


def _tag(situation: Situation) -> str | None:
    """Explain `<p>`: sentences alone have marks in patterns."""
    tag = _TAG.match(situation.text, situation.found.start)
    if tag is None or situation.head[:1] == ["DOCS"] or "WHERE" in situation.head:
        return None
    return f"<s> and </s> mark the beginning and the end of a sentence; {tag[0]} is not supported"


def _missing_where(situation: Situation) -> str | None:
    if not situation.may_be("WHERE"):
        return None
    if len(situation.head) == 2 and situation.head[0] == "KWIC" and situation.found.type in _NGRAMS:
        return "join two n-grams by AND or OR; conditions on the documents follow WHERE"
    if situation.found.type in (*_NGRAMS, "NOT", "LPAR") and not situation.may_be("AND"):
        return "a condition follows WHERE"
    if situation.is_name and _COMPARISON.match(situation.text, situation.found.stop):
        return "a condition follows WHERE"
    return None


def _missing_operator(situation: Situation) -> str | None:
    if not situation.may_be("AND"):
        return None
    condition = situation.found.type in (*_NGRAMS, "NOT", "LPAR")
    if situation.is_name:
        condition = _COMPARISON.match(situation.text, situation.found.stop) is not None
    elif situation.found.type in ("COUNT", "OVERLAP"):
        condition = _PARENTHESIS.match(situation.text, situation.found.stop) is not None
    return "join two conditions by AND or OR" if condition else None


# ---- clauses, models, sources


def _clause(situation: Situation) -> str | None:
    head, found = situation.head[:1], situation.found.type
    if found == "SEED" and situation.may_be("SAMPLE"):
        return "SEED stands after SAMPLE k"
    if found == "GROUP" and head == ["DOCS"]:
        return "to count documents by groups, write COUNT DOCS … GROUP BY …"
    if situation.raw == "%" and situation.head[-2:-1] == ["SAMPLE"]:
        return "a sample is a number, not a share"
    if head == ["NGRAMS"] and len(situation.head) == 1 and found in _NGRAMS:
        return "NGRAMS takes a length, NGRAMS 3; one n-gram is counted by COUNT"
    within_count = (
        situation.may_be("GAP_LITERAL") and situation.may_be("RPAR") and not situation.may_be("AND")
    )
    if found in ("AND", "OR") and within_count:
        return "within a condition COUNT takes one pattern"
    if head == ["SET"] and situation.previous == "BARE_WORD" and situation.is_word:
        return "a value of several words takes single quotes"
    return None


def _separator(situation: Situation) -> str | None:
    if situation.previous not in syntax.NAMES or not situation.is_name:
        return None
    before = situation.written(situation.before[-1])
    if situation.may_be("COMMA") and situation.may_be("$END") and situation.raw.upper() != "HAVING":
        return "fields are separated by commas"
    if before.upper() == "CORPUS":
        verb = situation.head[0] if situation.head else ""
        return f"{before} was read as the name: write {verb} {quote(situation.raw)}"
    return None


def _parameter(situation: Situation) -> str | None:
    if situation.raw == ":" and situation.may_be("PARAMETER"):
        return "a parameter is written :name, without a blank"
    return None


def _model(situation: Situation) -> str | None:
    model = next((terminal for terminal in situation.head if terminal in _MODELS), "")
    if situation.may_be("KNESER_NEY") and (situation.is_string or situation.found.type == "TEXT_LITERAL"):
        return f"the name of a model takes no quotes: write {quote(situation.raw[1:-1])}"
    if model == "BACKOFF" and situation.found.type in _NUMBERS and situation.previous == "BACKOFF":
        return f"write the weight in parentheses: BACKOFF({situation.raw})"
    if model == "INFGRAM" and situation.found.type == "ORDER":
        return "INFGRAM has no order: it uses the longest suffix of the context that occurs"
    if situation.found.type in _NUMBERS and situation.may_be("ORDER") and situation.previous in _MODELS:
        return f"write {situation.previous} ORDER {situation.raw}"
    if situation.may_be("USING") and situation.raw.upper() in _MODELS:
        return "a model follows USING"
    return None


def _method(situation: Situation) -> str | None:
    if situation.previous == "BEAM" and situation.found.type == "INTEGER_LITERAL":
        return f"write the width in parentheses: BEAM({situation.raw})"
    return None


def _source(situation: Situation) -> str | None:
    if situation.raw == "\u2212" and situation.may_be("MINUS"):
        return "minus is written -"
    if situation.found.type in ("COMMA", "AND") and situation.may_be("PLUS"):
        return "corpora are joined by + and -"
    if situation.found.type in ("VERSION", "INTEGER_LITERAL") and situation.may_be("AT"):
        return "an earlier version is written AT VERSION n, or AT VERSION 'name' if it is kept under a name"
    return None


def _limit_of_two(situation: Situation) -> str | None:
    if situation.found.type == "COMMA" and situation.may_be("OFFSET") and situation.head[-2:-1] == ["LIMIT"]:
        return "the number of rows to skip follows OFFSET"
    return None


# ---- quotes


def _ngram_quotes(situation: Situation) -> str | None:
    if not situation.may_be("TEXT_LITERAL"):
        return None
    if situation.is_string:
        return f'{_QUOTES_RULE}: write "{quote(situation.raw[1:-1])}"'
    if situation.is_name and situation.raw.upper() not in syntax.syntax().keywords - syntax.CALLED:
        return f'n-grams take double quotes: write "{quote(situation.raw)}"'
    return None


def _value_quotes(situation: Situation) -> str | None:
    if not situation.may_be(*syntax.STRINGS):
        return None
    if situation.found.type == "TEXT_LITERAL":
        return f"{_QUOTES_RULE}: write '{quote(situation.raw[1:-1])}'"
    bare = _BARE_VALUE.match(situation.text, situation.found.start)
    if bare is not None and (situation.is_word or situation.found.type in ("OTHER", "REGEX_LITERAL")):
        return f"values take single quotes: write '{quote(bare[0])}'"
    return None


def _name_quotes(situation: Situation) -> str | None:
    if situation.found.type == "MINUS" and situation.previous in syntax.NAMES:
        name = _BARE_NAME.match(situation.text, situation.before[-1].start)
        return f"write names that are not plain words in backquotes: `{quote(name[0])}`" if name else None
    if not situation.may_be(*syntax.NAMES):
        return None
    if situation.found.type in _NUMBERS:
        return f"write names that are not plain words in backquotes: `{quote(situation.raw)}`"
    if situation.found.type == "TEXT_LITERAL" or situation.is_string:
        name_ = quote(situation.raw[1:-1])
        plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name_)
        return f"names take no quotes: write {name_}" if plain else f"names take backquotes: write `{name_}`"
    return None


# ---- statements


def _copy(situation: Situation) -> str | None:
    if situation.head[:1] != ["COPY"]:
        return None
    if situation.expected == ["FROM"] and situation.found.type in (*CLAUSE_HEADS, "TO"):
        return "to write documents to a file, write COPY (DOCS …) TO 'path'"
    if situation.head == ["COPY", "LPAR"]:
        return (
            "what is written to a file is an answer: COPY (DOCS …) TO 'path', COPY (SHOW CORPORA) TO 'path'"
        )
    if situation.may_be("LPAR") and situation.may_be("$END") and situation.is_name:
        return "options stand in parentheses"
    return None


def _delete(situation: Situation) -> str | None:
    if situation.head == ["DELETE"] and situation.found.type in ("FROM", "WHERE"):
        return "documents are removed by DELETE DOCS WHERE …"
    return None


def _statement_heads() -> list[str]:
    """Return the keywords that a statement may begin with."""
    return syntax.acceptable(syntax.after("script", ()))


def _missing_semicolon(situation: Situation) -> str | None:
    if situation.may_be("SEMICOLON") and situation.found.type in _statement_heads():
        return "separate two statements by ';'"
    return None


_RULES: tuple[Callable[[Situation], str | None], ...] = (
    *guesses.RULES,
    *habits.FIRST,
    _copy,
    _delete,
    _did_you_mean,
    _field_by_itself,
    _field_first,
    _missing_comparison,
    _in_parentheses,
    _between,
    _quote_within,
    _is_value,
    _overlap_length,
    _within,
    _gap,
    _pattern,
    _tag,
    _count_of_documents,
    _missing_where,
    _missing_operator,
    _clause,
    _separator,
    _parameter,
    _model,
    _method,
    _source,
    _limit_of_two,
    _ngram_quotes,
    _value_quotes,
    _name_quotes,
    _missing_semicolon,
    *habits.LAST,
)
