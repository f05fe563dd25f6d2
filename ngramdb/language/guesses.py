"""First guesses of newcomers from SQL, CQL and other programs, and the statement that each means."""

from __future__ import annotations

import re
from collections.abc import Callable

from ngramdb.language.parse_failure import Situation

_FINDING = 'KWIC "…" lists occurrences, COUNT "…" counts them, DOCS WHERE "…" lists documents'
_NEXT = 'DIST GIVEN "…" lists the next tokens, GENERATE GIVEN "…" TOKENS 20 continues the text'
_PROB = 'a probability is PROB "word" GIVEN "context" (USING INFGRAM: after its longest suffix that occurs)'
_LOADING = "COPY corpus FROM 'path' adds the documents of a file"
_SELECT = "DOCS WHERE … RETURNING field lists documents, COUNT DOCS WHERE … GROUP BY field counts them"
_COMMIT = "each statement that writes is its own commit"
_PROMPT = "the prompt has .help and .quit"

# First words of statements that do not exist here.
_STATEMENTS: dict[str, str] = {
    **dict.fromkeys(("SELECT", "FETCH"), _SELECT),
    **dict.fromkeys(("FIND", "SEARCH", "LOOKUP", "GREP", "CONC", "MATCH", "GET", "QUERY"), _FINDING),
    **dict.fromkeys(("NEXT", "PREDICT", "COMPLETE", "CONTINUE"), _NEXT),
    **dict.fromkeys(("P", "INFGRAM", "INFGRAM_PROB", "INFGRAM_NTD"), _PROB),
    **dict.fromkeys(("NGRAM", "BIGRAM", "BIGRAMS", "TRIGRAM", "TRIGRAMS"), "NGRAMS 2 lists pairs of tokens"),
    **dict.fromkeys(("LOAD", "IMPORT", "INSERT", "READ"), _LOADING),
    **dict.fromkeys(
        ("EXPORT", "SAVE", "WRITE", "DUMP"), "COPY (DOCS FROM corpus) TO 'path' writes documents"
    ),
    **dict.fromkeys(("DOC", "DOCUMENT"), "DOCS WHERE doc_id = 1 is one document"),
    **dict.fromkeys(("DISTINCT", "UNIQUE", "VALUES"), "COUNT DOCS GROUP BY field lists a field's values"),
    **dict.fromkeys(("ENTROPY", "SURPRISAL"), 'SCORE "…" has the probability of each token'),
    **dict.fromkeys(("RANDOM", "SHUFFLE"), "DOCS SAMPLE 5 draws documents at random"),
    **dict.fromkeys(("STATS", "STATISTICS", "INFO", "STATUS"), "DESCRIBE corpus lists its properties"),
    **dict.fromkeys(("VERSION", "VERSIONS", "LOG"), "SHOW VERSIONS lists the versions"),
    **dict.fromkeys(("BEGIN", "COMMIT", "START", "TRANSACTION"), _COMMIT),
    **dict.fromkeys(("HELP", "QUIT", "EXIT"), _PROMPT),
    "COMPARE": "KEYWORDS OF one AGAINST another compares corpora",
    "ROLLBACK": "RESTORE CORPUS corpus TO VERSION n makes an earlier version current",
}
_IN_TEXT = re.compile(r"\s+text\b", re.IGNORECASE)
_INSIDE = frozenset({"WITH", "CONTAINING", "CONTAINS", "ABOUT", "HAVING", "HAS", "MATCHING"})
_RANKED = frozenset({"NGRAMS", "COLLOCATES", "KEYWORDS", "DIST"})


def _first_word(situation: Situation) -> str | None:
    return _STATEMENTS.get(situation.raw.upper()) if situation.statement_may_start else None


def _counted(situation: Situation) -> str | None:
    if situation.head != ["COUNT"]:
        return None
    if situation.raw.upper() in ("TOKENS", "WORDS"):
        return 'COUNT "" is the number of tokens'
    if situation.raw.upper() in ("DISTINCT", "UNIQUE"):
        return "COUNT DOCS GROUP BY field lists a field's values"
    return None


def _documents(situation: Situation) -> str | None:
    word = situation.raw.upper()
    if situation.head[:1] == ["DOCS"] and len(situation.head) <= 2 and situation.may_be("WHERE"):
        if word in _INSIDE:
            return 'documents with an n-gram are DOCS WHERE "…"'
        if situation.found.type == "INTEGER_LITERAL":
            return f"one document is DOCS WHERE doc_id = {situation.raw}"
    if word == "TEXT" and situation.condition_may_start:
        return (
            'texts are searched by the n-gram alone: WHERE "…", or WHERE "…" MATCH TEXT for a part of a word'
        )
    if word == "IN" and situation.may_be("AND") and _IN_TEXT.match(situation.text, situation.found.stop):
        return "an n-gram is always searched for in the text: leave IN text out"
    return None


def _clauses(situation: Situation) -> str | None:
    word = situation.raw.upper()
    if word == "BY" and situation.may_be("GROUP"):
        return "groups follow GROUP BY: GROUP BY year"
    if word == "SORT" and situation.may_be("ORDER"):
        return "rows are sorted by ORDER BY"
    if word == "ORDER" and _RANKED.intersection(situation.head[:1]) and situation.previous != "INFGRAM":
        return "the first rows are the greatest; TOP 20 limits them"
    if word == "HAVING":
        few = "MIN COUNT 2 leaves out rare ones" if situation.may_be("MIN") else "TOP 20 keeps the greatest"
        return f"HAVING is not supported; {few}"
    if word in ("SPAN", "LEFT", "RIGHT") and situation.may_be("WINDOW"):
        return "the number of tokens beside a match is WINDOW 5"
    if situation.head[-2:-1] == ["WINDOW"] and situation.found.type in ("COMMA", "INTEGER_LITERAL"):
        return "WINDOW takes one number of tokens, for both sides"
    return None


def _sides(situation: Situation) -> str | None:
    compares = situation.found.type in ("COMPARATOR", "EQUAL")
    if compares and situation.head[:1] == ["KEYWORDS"] and situation.may_be("AGAINST", "WHERE"):
        return "a condition follows WHERE: KEYWORDS OF WHERE year > 2000 AGAINST REST"
    if situation.raw == "|" and situation.head[:1] == ["PROB"] and situation.may_be("GIVEN"):
        return 'a context follows GIVEN: PROB "word" GIVEN "context"'
    if situation.raw.upper() == "LIKE" and situation.head[:1] == ["NGRAMS"] and situation.may_be("STARTING"):
        return 'n-grams are chosen by CONTAINING "…", STARTING WITH "…" or ENDING WITH "…"'
    if situation.head == ["NGRAMS"] and situation.at_end:
        return "NGRAMS 2 lists pairs of tokens"
    return None


def _patterns(situation: Situation) -> str | None:
    after_text = situation.previous == "TEXT_LITERAL" and situation.may_be("GAP_LITERAL")
    if after_text and situation.raw.lower() in ("i", "%"):
        return "letters' case is ignored by IGNORE CASE"
    if after_text and situation.raw == ".":
        return 'tokens between two n-grams are a gap: "a" [0..5] "b"'
    if after_text and re.fullmatch(r"W|ADJ|PRE|NEXT", situation.raw, re.IGNORECASE):
        return '"a" [0..3] "b" has up to three tokens between, and "a" AND "b" WITHIN 5 TOKENS any order'
    return None


RULES: tuple[Callable[[Situation], str | None], ...] = (
    _first_word,
    _counted,
    _documents,
    _clauses,
    _sides,
    _patterns,
)

_CQL = re.compile(r"\[\s*(?P<name>\w+)\s*!?=\s*$")


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
