"""Advice on the probable meaning of an invalid statement: a table of mistakes, in order of trial.

First guesses of newcomers from SQL, CQL and other programs come first, then misspelt keywords, then mistakes
in conditions, patterns, clauses, models, sources and quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from ngramdb.language import syntax
from ngramdb.language.parse_failure import CLAUSE_HEADS, MAX_QUOTED, Situation, nearest, quote
from ngramdb.registries import MODELS

_FINDING = 'KWIC "…" lists occurrences, COUNT "…" counts them, DOCS WHERE "…" lists documents'
_NEXT = 'DIST GIVEN "…" lists the next tokens, GENERATE GIVEN "…" TOKENS 20 continues the text'
_PROB = 'a probability is PROB "word" GIVEN "context" (USING INFGRAM: after its longest suffix that occurs)'
_LOADING = "COPY corpus FROM 'path' adds the documents of a file"
_SELECT = "DOCS WHERE … RETURNING field lists documents, COUNT DOCS WHERE … GROUP BY field counts them"
_COMMIT = "each statement that writes is its own commit"
_PROMPT = "the prompt has .help and .quit"
_FIELD_VALUES = "COUNT DOCS GROUP BY field lists a field's values"
_PAIRS = "NGRAMS 2 lists pairs of tokens"
_WRITING = "COPY (DOCS FROM corpus) TO 'path' writes documents"
_QUOTES_RULE = "n-grams take double quotes, values single quotes"
_IGNORE_CASE = "letters' case is ignored by IGNORE CASE"

# First words of statements that do not exist here.
_STATEMENTS: dict[str, str] = {
    **dict.fromkeys(("SELECT", "FETCH"), _SELECT),
    **dict.fromkeys(("FIND", "SEARCH", "LOOKUP", "GREP", "CONC", "MATCH", "GET", "QUERY"), _FINDING),
    **dict.fromkeys(("NEXT", "PREDICT", "COMPLETE", "CONTINUE"), _NEXT),
    **dict.fromkeys(("P", "INFGRAM", "INFGRAM_PROB", "INFGRAM_NTD"), _PROB),
    **dict.fromkeys(("NGRAM", "BIGRAM", "BIGRAMS", "TRIGRAM", "TRIGRAMS"), _PAIRS),
    **dict.fromkeys(("LOAD", "IMPORT", "INSERT", "READ"), _LOADING),
    **dict.fromkeys(("EXPORT", "SAVE", "WRITE", "DUMP"), _WRITING),
    **dict.fromkeys(("DOC", "DOCUMENT"), "DOCS WHERE doc_id = 1 is one document"),
    **dict.fromkeys(("DISTINCT", "UNIQUE", "VALUES"), _FIELD_VALUES),
    **dict.fromkeys(("ENTROPY", "SURPRISAL"), 'SCORE "…" has the probability of each token'),
    **dict.fromkeys(("RANDOM", "SHUFFLE"), "DOCS SAMPLE 5 draws documents at random"),
    **dict.fromkeys(("STATS", "STATISTICS", "INFO", "STATUS"), "DESCRIBE corpus lists its properties"),
    **dict.fromkeys(("VERSION", "VERSIONS", "LOG"), "SHOW VERSIONS lists the versions"),
    **dict.fromkeys(("BEGIN", "COMMIT", "START", "TRANSACTION"), _COMMIT),
    **dict.fromkeys(("HELP", "QUIT", "EXIT"), _PROMPT),
    "COMPARE": "KEYWORDS OF one AGAINST another compares corpora",
    "ROLLBACK": "RESTORE CORPUS corpus TO VERSION n makes an earlier version current",
}
_UPDATES = frozenset({"MERGE", "REPLACE", "UPSERT"})
_LISTS = frozenset({"WORDLIST", "WORDS", "VOCABULARY", "FREQUENCIES", "FREQUENCY", "FREQLIST", "FREQ"})
_SCHEMA = frozenset({"FIELDS", "FIELD", "COLUMNS", "SCHEMA", "METADATA", "STATS", "STATISTICS"})
_INSIDE = frozenset({"WITH", "CONTAINING", "CONTAINS", "ABOUT", "HAVING", "HAS", "MATCHING"})
_RANKED = frozenset({"NGRAMS", "COLLOCATES", "KEYWORDS", "DIST"})
_CLAUSES_OF_DOCS = frozenset({"WHERE", "ORDER", "LIMIT", "OFFSET", "SAMPLE", "RETURNING"})
_MODELS = frozenset(name.upper() for name in MODELS)

# Terminals.
_NGRAMS = frozenset({"TEXT_LITERAL", "IDS_LITERAL"})
_PATTERNS = _NGRAMS | {"REGEX_LITERAL"}
_NUMBERS = frozenset({"INTEGER_LITERAL", "NUMBER_LITERAL"})
_VALUES = _NUMBERS | frozenset(syntax.STRINGS)
_COMPARATORS = frozenset({"EQUAL", "COMPARATOR"})

# `field CONTAINS 'text'`, if the field is the refused word.
_PART_OF_A_STRING = re.compile(
    r"\s+(?P<verb>CONTAINS|INCLUDES|HAS|MATCHES|STARTS\s*WITH|ENDS\s*WITH|PREFIX)\s+'(?P<text>[^']*)'",
    re.IGNORECASE,
)
_IN_TEXT = re.compile(r"\s+text\b", re.IGNORECASE)
_PROXIMITY = re.compile(r"W|ADJ|PRE|NEXT", re.IGNORECASE)
# The text after a field in a comparison.
_COMPARISON = re.compile(r"\s*(?:[=<>!]|(?:IN|LIKE|ILIKE|BETWEEN|IS)\b)", re.IGNORECASE)
_PARENTHESIS = re.compile(r"\s*\(")
# A path or another value without its quotes: many lexemes, but one thing to the one who wrote it.
_BARE_VALUE = re.compile(r"[^\s;,()'\"]+")
_BARE_NAME = re.compile(r"[\w.-]+")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BOUNDS = re.compile(r"\[\s*(\d+)\s*(?:(?:[-,:]|\.+|to)\s*(\d+)\s*)?\]", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z]\w*>")
_CQL = re.compile(r"\[\s*(?P<name>\w+)\s*!?=\s*$")


class Advice(NamedTuple):
    """A kind of mistake: the rule is true of it, and the message may depend on the situation.

    Without a message, the rule returns it, or None if it does not apply.
    """

    rule: Callable[[Situation], object]
    message: str | Callable[[Situation], str] | None = None


def hint(situation: Situation) -> str | None:
    """Return the advice of the first rule that applies to the refused lexeme, or None."""
    for rule, message in ADVICE:
        found = rule(situation)
        if found:
            return (
                str(found) if message is None else message if isinstance(message, str) else message(situation)
            )
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
    return situation.kind not in (*_VALUES, "OTHER", "IDS_LITERAL", "LPAR")


def of_attributes(text: str, place: int) -> str | None:
    """Return what `[word="x"]` of CQL is here; None unless an attribute precedes the quote at `place`."""
    found = _CQL.search(text, 0, place)
    if found is None:
        return None
    value = re.match(r"[\"']([^\"']*)", text[place:])
    inner = value[1] if value else ""
    if found["name"].lower() not in ("word", "token", "form"):
        return f'tokens have no {found["name"]} here, only their form: "word", or /wor.*/ as an expression'
    written = f"/{inner}/" if re.search(r"[.*+?|\[(\\]", inner) else f'"{inner}"'
    return f"the tokens of CQL's brackets are written without them: {written}"


# ---- Rules of several lines.


def _begins(situation: Situation, *heads: str) -> bool:
    return situation.head[:1] in [[head] for head in heads]


def _is_after_docs(situation: Situation) -> bool:
    return _begins(situation, "DOCS") and len(situation.head) <= 2 and situation.may_be("WHERE")


def _is_after_ngram(situation: Situation) -> bool:
    return situation.previous == "TEXT_LITERAL" and situation.may_be("GAP_LITERAL")


def _is_compared(situation: Situation) -> bool:
    return _COMPARISON.match(situation.text, situation.found.stop) is not None


def _lacks_parenthesis(situation: Situation, after: str) -> bool:
    is_missing = set(situation.expected) - {"PARAMETER"} == {"LPAR"} and not situation.at_end
    return is_missing and situation.previous == after


def _is_plain_word(situation: Situation) -> bool:
    return situation.is_name and situation.word not in syntax.syntax().keywords - syntax.CALLED


def _clause_alone(situation: Situation) -> str | None:
    if not situation.statement_may_start or situation.word not in CLAUSE_HEADS:
        return None
    rest = quote(situation.text[situation.found.start :].partition(";")[0])
    example = f", as in DOCS {rest}" if situation.word in _CLAUSES_OF_DOCS else ""
    return f"{situation.word} begins a clause of a statement{example}"


def _pattern_alone(situation: Situation) -> str:
    shown = quote(situation.raw)
    return f"COUNT {shown} returns the number of its occurrences, KWIC {shown} lists them"


def _prob_without_context(situation: Situation) -> str | None:
    if not _begins(situation, "PROB") or situation.expected != ["GIVEN"]:
        return None
    if not situation.at_end and situation.word not in ("FROM", "USING", "MIN"):
        return None
    words = []
    if situation.previous == "TEXT_LITERAL":
        with suppress(ValueError):
            words = str(json.loads(situation.written(situation.before[-1]), strict=False)).rsplit(None, 1)
    if len(words) < 2:
        return 'GIVEN names the context, GIVEN "" none'
    context, word = (json.dumps(part, ensure_ascii=False) for part in words)
    return f'GIVEN names the context: PROB {quote(word)} GIVEN {quote(context)}; GIVEN "" is none'


def _part_of_a_string(situation: Situation) -> str | None:
    match = _PART_OF_A_STRING.match(situation.text, situation.found.stop)
    if match is None or not (situation.condition_may_start and situation.is_name):
        return None
    verb, text = match["verb"].upper(), match["text"]
    template = f"{'' if verb.startswith(('STARTS', 'PREFIX')) else '%'}{text}"
    template += "" if verb.startswith("ENDS") else "%"
    return f"a part of a string is found by LIKE: {quote(situation.raw)} LIKE '{quote(template)}'"


def _did_you_mean(situation: Situation) -> str | None:
    keyword = nearest(situation)
    return f"did you mean {situation.spell(keyword)}?" if keyword is not None else None


def _is_misplaced_within(situation: Situation) -> bool:
    alone = situation.previous == "WITHIN" and not situation.may_be("INTEGER_LITERAL")
    return situation.kind == "WITHIN" or alone or (situation.word == "NEAR" and situation.may_be("AND"))


def _within(situation: Situation) -> str:
    negated = '; write NOT ("a" WITHIN SENTENCE) to negate it' if "NOT" in situation.head else ""
    return f'WITHIN follows n-grams joined by AND: "a" AND "b" WITHIN 5 TOKENS, or WITHIN SENTENCE{negated}'


def _gap(situation: Situation) -> str | None:
    if not (situation.may_be("GAP_LITERAL") and situation.raw.startswith("[")):
        return None
    if situation.raw.replace(" ", "") == "[]":
        return "any token is written *, and a repetition of it *{0,3}"
    bounds = _BOUNDS.fullmatch(situation.raw)
    low, high = (bounds[1], bounds[2] or bounds[1]) if bounds else ("1", "3")
    tokens = f"{low} token{'' if low == '1' else 's'}" if low == high else f"{low} to {high} tokens"
    return f"a gap of {tokens} is written [{low}..{high}]"


def _slash(situation: Situation) -> str:
    """Return why a slash begins no regular expression."""
    line = situation.text[situation.found.stop :].partition("\n")[0]
    inner, closing, _ = line.partition("/")
    if not inner or not closing:
        return "write a regular expression between two slashes: /wom[ae]n/"
    if situation.before and situation.before[-1].stop == situation.found.start:
        return "a slash directly after a word or parenthesis divides: write a blank before the expression"
    shown = inner if inner.isprintable() and len(inner) <= MAX_QUOTED else "…"
    return f"a slash before a number divides: put the expression in a group, /({shown})/"


def _tag(situation: Situation) -> str | None:
    """Explain `<p>`: sentences alone have marks in patterns."""
    tag = _TAG.match(situation.text, situation.found.start)
    if tag is None or _begins(situation, "DOCS") or "WHERE" in situation.head:
        return None
    return f"<s> and </s> mark the beginning and the end of a sentence; {tag[0]} is not supported"


def _lacks_where(situation: Situation) -> bool:
    if not situation.may_be("WHERE"):
        return False
    is_condition = situation.kind in (*_NGRAMS, "NOT", "LPAR") and not situation.may_be("AND")
    return is_condition or (situation.is_name and _is_compared(situation))


def _lacks_operator(situation: Situation) -> bool:
    if not situation.may_be("AND"):
        return False
    if situation.is_name:
        return _is_compared(situation)
    if situation.kind in ("COUNT", "OVERLAP"):
        return _PARENTHESIS.match(situation.text, situation.found.stop) is not None
    return situation.kind in (*_NGRAMS, "NOT", "LPAR")


def _separator(situation: Situation) -> str | None:
    if situation.previous not in syntax.NAMES or not situation.is_name:
        return None
    before = situation.written(situation.before[-1])
    if situation.may_be("COMMA") and situation.may_be("$END") and situation.word != "HAVING":
        return "fields are separated by commas"
    if before.upper() == "CORPUS":
        verb = situation.head[0] if situation.head else ""
        return f"{before} was read as the name: write {verb} {quote(situation.raw)}"
    return None


def _model(situation: Situation) -> str | None:
    model = next((terminal for terminal in situation.head if terminal in _MODELS), "")
    is_number = situation.kind in _NUMBERS
    if situation.may_be("KNESER_NEY") and (situation.is_string or situation.kind == "TEXT_LITERAL"):
        return f"the name of a model takes no quotes: write {quote(situation.raw[1:-1])}"
    if model == "BACKOFF" and is_number and situation.previous == "BACKOFF":
        return f"write the weight in parentheses: BACKOFF({situation.raw})"
    if is_number and situation.may_be("ORDER") and situation.previous in _MODELS:
        return f"write {situation.previous} ORDER {situation.raw}"
    return None


def _ngram_quotes(situation: Situation) -> str | None:
    if not situation.may_be("TEXT_LITERAL"):
        return None
    if situation.is_string:
        return f'{_QUOTES_RULE}: write "{quote(situation.raw[1:-1])}"'
    return (
        f'n-grams take double quotes: write "{quote(situation.raw)}"' if _is_plain_word(situation) else None
    )


def _value_quotes(situation: Situation) -> str | None:
    if not situation.may_be(*syntax.STRINGS):
        return None
    if situation.kind == "TEXT_LITERAL":
        return f"{_QUOTES_RULE}: write '{quote(situation.raw[1:-1])}'"
    bare = _BARE_VALUE.match(situation.text, situation.found.start)
    if bare is not None and (situation.is_word or situation.kind in ("OTHER", "REGEX_LITERAL")):
        return f"values take single quotes: write '{quote(bare[0])}'"
    return None


def _name_quotes(situation: Situation) -> str | None:
    if situation.kind == "MINUS" and situation.previous in syntax.NAMES:
        name = _BARE_NAME.match(situation.text, situation.before[-1].start)
        return f"write names that are not plain words in backquotes: `{quote(name[0])}`" if name else None
    if not situation.may_be(*syntax.NAMES):
        return None
    if situation.kind in _NUMBERS:
        return f"write names that are not plain words in backquotes: `{quote(situation.raw)}`"
    if situation.kind == "TEXT_LITERAL" or situation.is_string:
        inner = quote(situation.raw[1:-1])
        is_plain = _PLAIN_NAME.fullmatch(inner)
        return (
            f"names take no quotes: write {inner}" if is_plain else f"names take backquotes: write `{inner}`"
        )
    return None


def _name_of_two_words(situation: Situation) -> str | None:
    if situation.previous != "CORPUS_NAME" or not situation.is_word or situation.head[-2:-1] != ["FROM"]:
        return None
    if situation.kind not in syntax.NAMES and situation.word != "CORPUS":
        return None
    name = f"{situation.written(situation.before[-1])} {situation.raw}"
    return f"write names that are not plain words in backquotes: FROM `{quote(name)}`"


def _statement_heads() -> list[str]:
    """Return the keywords that a statement may begin with."""
    return syntax.acceptable(syntax.after("script", ()))


ADVICE: tuple[Advice, ...] = (
    # ---- first guesses
    Advice(lambda s: s.statement_may_start and _STATEMENTS.get(s.word)),
    Advice(
        lambda s: s.head == ["COUNT"] and s.word in ("TOKENS", "WORDS"), 'COUNT "" is the number of tokens'
    ),
    Advice(lambda s: s.head == ["COUNT"] and s.word in ("DISTINCT", "UNIQUE"), _FIELD_VALUES),
    Advice(lambda s: _is_after_docs(s) and s.word in _INSIDE, 'documents with an n-gram are DOCS WHERE "…"'),
    Advice(
        lambda s: _is_after_docs(s) and s.kind == "INTEGER_LITERAL",
        lambda s: f"one document is DOCS WHERE doc_id = {s.raw}",
    ),
    Advice(
        lambda s: s.word == "TEXT" and s.condition_may_start,
        'texts are searched by the n-gram alone: WHERE "…", or WHERE "…" MATCH TEXT for a part of a word',
    ),
    Advice(
        lambda s: s.word == "IN" and s.may_be("AND") and _IN_TEXT.match(s.text, s.found.stop),
        "an n-gram is always searched for in the text: leave IN text out",
    ),
    Advice(lambda s: s.word == "BY" and s.may_be("GROUP"), "groups follow GROUP BY: GROUP BY year"),
    Advice(lambda s: s.word == "SORT" and s.may_be("ORDER"), "rows are sorted by ORDER BY"),
    Advice(
        lambda s: s.word == "ORDER" and _begins(s, *_RANKED),
        "the first rows are the greatest; TOP 20 limits them",
    ),
    Advice(
        lambda s: s.word == "HAVING" and s.may_be("MIN"),
        "HAVING is not supported; MIN COUNT 2 leaves out rare ones",
    ),
    Advice(lambda s: s.word == "HAVING", "HAVING is not supported; TOP 20 keeps the greatest"),
    Advice(
        lambda s: s.word in ("SPAN", "LEFT", "RIGHT") and s.may_be("WINDOW"),
        "the number of tokens beside a match is WINDOW 5",
    ),
    Advice(
        lambda s: s.head[-2:-1] == ["WINDOW"] and s.kind in ("COMMA", "INTEGER_LITERAL"),
        "WINDOW takes one number of tokens, for both sides",
    ),
    Advice(
        lambda s: s.kind in _COMPARATORS and _begins(s, "KEYWORDS") and s.may_be("AGAINST", "WHERE"),
        "a condition follows WHERE: KEYWORDS OF WHERE year > 2000 AGAINST REST",
    ),
    Advice(
        lambda s: s.raw == "|" and _begins(s, "PROB") and s.may_be("GIVEN"),
        'a context follows GIVEN: PROB "word" GIVEN "context"',
    ),
    Advice(
        lambda s: s.word == "LIKE" and _begins(s, "NGRAMS") and s.may_be("STARTING"),
        'n-grams are chosen by CONTAINING "…", STARTING WITH "…" or ENDING WITH "…"',
    ),
    Advice(lambda s: s.head == ["NGRAMS"] and s.at_end, _PAIRS),
    Advice(lambda s: _is_after_ngram(s) and s.raw.lower() in ("i", "%"), _IGNORE_CASE),
    Advice(
        lambda s: _is_after_ngram(s) and s.raw == ".", 'tokens between two n-grams are a gap: "a" [0..5] "b"'
    ),
    Advice(
        lambda s: _is_after_ngram(s) and _PROXIMITY.fullmatch(s.raw),
        '"a" [0..3] "b" has up to three tokens between, and "a" AND "b" WITHIN 5 TOKENS any order',
    ),
    # ---- habits from other query languages
    Advice(
        lambda s: s.statement_may_start and s.word in _UPDATES,
        "COPY … FROM with KEY and ON_CONFLICT replaces documents, UPDATE sets their fields",
    ),
    Advice(lambda s: s.head == ["SHOW"] and s.word in _SCHEMA, "DESCRIBE corpus lists its fields"),
    Advice(
        lambda s: s.statement_may_start and s.word in _LISTS,
        'did you mean NGRAMS 1, which lists all words by frequency? COUNT "…" counts one',
    ),
    Advice(_clause_alone),
    Advice(lambda s: s.statement_may_start and s.kind in _PATTERNS, _pattern_alone),
    Advice(
        lambda s: _begins(s, "KEYWORDS") and s.at_end and s.may_be("AGAINST"),
        "AGAINST REST compares with all other documents",
    ),
    Advice(_prob_without_context),
    Advice(
        lambda s: s.word == "AT" and s.may_be("FROM"),
        "a version is that of a corpus: FROM corpus AT VERSION n",
    ),
    Advice(_part_of_a_string),
    Advice(
        lambda s: s.word in ("BETWEEN", "IN") and s.previous == "RPAR",
        'a count is compared: COUNT("x") >= 1 AND COUNT("x") <= 3',
    ),
    # ---- statements
    Advice(
        lambda s: _begins(s, "COPY") and s.expected == ["FROM"] and s.kind in (*CLAUSE_HEADS, "TO"),
        "to write documents to a file, write COPY (DOCS …) TO 'path'",
    ),
    Advice(
        lambda s: s.head == ["COPY", "LPAR"],
        "what is written to a file is an answer: COPY (DOCS …) TO 'path', COPY (SHOW CORPORA) TO 'path'",
    ),
    Advice(
        lambda s: _begins(s, "COPY") and s.may_be("LPAR") and s.may_be("$END") and s.is_name,
        "options stand in parentheses",
    ),
    Advice(
        lambda s: s.head == ["DELETE"] and s.kind in ("FROM", "WHERE"),
        "documents are removed by DELETE DOCS WHERE …",
    ),
    Advice(_did_you_mean),
    # ---- conditions
    Advice(
        lambda s: s.condition_may_start and _is_plain_word(s),
        lambda s: (
            f'n-grams take double quotes: write "{quote(s.raw)}"; a field takes a comparison: '
            f"{quote(s.raw)} = …"
        ),
    ),
    Advice(
        lambda s: s.condition_may_start and (s.kind in _NUMBERS or (s.kind in _VALUES and _is_compared(s))),
        lambda s: f"the field comes first: field = {quote(s.raw)}",
    ),
    Advice(
        lambda s: s.may_be("COMPARATOR") and s.kind == "IDS_LITERAL" and s.previous in syntax.NAMES,
        "join the keys of a path with dots, with backquotes around those that are not words: a.`0`",
    ),
    Advice(
        lambda s: s.may_be("COMPARATOR") and s.previous == "RPAR" and s.at_end and "OVERLAP" not in s.head,
        "to test whether a document contains an n-gram at all, write the n-gram alone",
    ),
    Advice(
        lambda s: s.may_be("COMPARATOR") and s.kind in _VALUES and s.previous in syntax.NAMES,
        lambda s: f"an operator is missing: {quote(s.written(s.before[-1]))} = {quote(s.raw)}",
    ),
    Advice(lambda s: _lacks_parenthesis(s, "IN"), "write the values in parentheses: IN ('a', 'b')"),
    Advice(
        lambda s: _lacks_parenthesis(s, "COUNT"),
        lambda s: f"within a condition, write the n-gram in parentheses: COUNT({quote(s.raw)}) >= 1",
    ),
    Advice(lambda s: _lacks_parenthesis(s, "OVERLAP"), "write OVERLAP(corpus, 13) >= 0.8"),
    Advice(lambda s: s.expected == ["AND"] and not s.at_end, "BETWEEN goes with AND: BETWEEN 1 AND 3"),
    Advice(
        lambda s: s.kind == "COMMA" and s.previous in _NUMBERS and s.may_be("AND"),
        "write numbers without separators; several values go into IN (…)",
    ),
    Advice(
        lambda s: s.previous in syntax.STRINGS and s.before[-1].stop == s.found.start and not s.at_end,
        "a quote inside a value is doubled: 'it''s'",
    ),
    Advice(
        lambda s: s.previous == "IS" and s.may_be("NULL"),
        "IS is allowed before NULL only; compare a value with =",
    ),
    Advice(
        lambda s: s.previous == "NOT" and s.may_be("NULL") and not s.may_be("STRING_LITERAL"),
        "IS NOT is allowed before NULL only; compare a value with !=",
    ),
    Advice(
        lambda s: s.head[-3:-1] == ["OVERLAP", "LPAR"] and s.kind == "RPAR",
        "the length of the n-grams is missing: OVERLAP(corpus, 13)",
    ),
    Advice(_is_misplaced_within, _within),
    # ---- patterns
    Advice(
        lambda s: s.kind == "GAP_LITERAL" and s.may_be("TEXT_LITERAL"), "a gap must be between two n-grams"
    ),
    Advice(_gap),
    Advice(
        lambda s: s.raw == "{" and s.may_be("REPETITION_LITERAL"),
        "a repetition is written {2}, {1,3} or {2,}",
    ),
    Advice(lambda s: s.raw == "/" and s.may_be("GAP_LITERAL", "REGEX_LITERAL"), _slash),
    Advice(lambda s: s.previous == "REGEX_LITERAL" and s.raw.lower() == "i", _IGNORE_CASE),
    Advice(
        lambda s: s.raw in ("+", "?") and s.may_be("REPETITION_LITERAL"),
        "a repetition is written {1,3}, one without limit {1,}",
    ),
    Advice(lambda s: s.kind == "OR" and s.may_be("VBAR"), "within a pattern alternatives are separated by |"),
    Advice(lambda s: s.kind == "VBAR" and s.may_be("OR"), 'write alternatives in parentheses: ("a" | "b")'),
    Advice(_tag),
    Advice(
        lambda s: s.head == ["COUNT", "LPAR"] and s.raw == "*",
        'COUNT "" is the number of tokens, COUNT DOCS the number of documents',
    ),
    # The left side is an n-gram: a field would have been continued.
    Advice(
        lambda s: _begins(s, "COUNT") and s.kind in _COMPARATORS and {"DOCS", "WHERE"}.isdisjoint(s.head),
        lambda s: f'to count documents by occurrences, write COUNT DOCS WHERE COUNT("…") {s.raw} …',
    ),
    Advice(
        lambda s: s.may_be("WHERE") and len(s.head) == 2 and _begins(s, "KWIC") and s.kind in _NGRAMS,
        "join two n-grams by AND or OR; conditions on the documents follow WHERE",
    ),
    Advice(_lacks_where, "a condition follows WHERE"),
    Advice(_lacks_operator, "join two conditions by AND or OR"),
    # ---- clauses, models, sources
    Advice(lambda s: s.kind == "SEED" and s.may_be("SAMPLE"), "SEED stands after SAMPLE k"),
    Advice(
        lambda s: s.kind == "GROUP" and _begins(s, "DOCS"),
        "to count documents by groups, write COUNT DOCS … GROUP BY …",
    ),
    Advice(lambda s: s.raw == "%" and s.head[-2:-1] == ["SAMPLE"], "a sample is a number, not a share"),
    Advice(
        lambda s: s.head == ["NGRAMS"] and s.kind in _NGRAMS,
        "NGRAMS takes a length, NGRAMS 3; one n-gram is counted by COUNT",
    ),
    Advice(
        lambda s: (
            s.kind in ("AND", "OR") and s.may_be("GAP_LITERAL") and s.may_be("RPAR") and not s.may_be("AND")
        ),
        "within a condition COUNT takes one pattern",
    ),
    Advice(
        lambda s: _begins(s, "SET") and s.previous == "BARE_WORD" and s.is_word,
        "a value of several words takes single quotes",
    ),
    Advice(_separator),
    Advice(lambda s: s.raw == ":" and s.may_be("PARAMETER"), "a parameter is written :name, without a blank"),
    Advice(_model),
    Advice(lambda s: s.may_be("USING") and s.word in _MODELS, "a model follows USING"),
    Advice(
        lambda s: s.previous == "BEAM" and s.kind == "INTEGER_LITERAL",
        lambda s: f"write the width in parentheses: BEAM({s.raw})",
    ),
    Advice(lambda s: s.raw == "\u2212" and s.may_be("MINUS"), "minus is written -"),
    Advice(lambda s: s.kind in ("COMMA", "AND") and s.may_be("PLUS"), "corpora are joined by + and -"),
    Advice(
        lambda s: s.kind in ("VERSION", "INTEGER_LITERAL") and s.may_be("AT"),
        "an earlier version is written AT VERSION n, or AT VERSION 'name' if it is kept under a name",
    ),
    Advice(
        lambda s: s.kind == "COMMA" and s.may_be("OFFSET") and s.head[-2:-1] == ["LIMIT"],
        "the number of rows to skip follows OFFSET",
    ),
    # ---- quotes
    Advice(_ngram_quotes),
    Advice(_value_quotes),
    Advice(_name_quotes),
    Advice(
        lambda s: s.may_be("SEMICOLON") and s.kind in _statement_heads(), "separate two statements by ';'"
    ),
    Advice(_name_of_two_words),
)
