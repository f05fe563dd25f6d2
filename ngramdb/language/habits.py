"""Habits from other query languages, and their equivalents here: rules for `hints`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from ngramdb.language import syntax
from ngramdb.language.parse_failure import CLAUSE_HEADS, Situation, quote

# `field CONTAINS 'text'`, if the field is the refused word.
_PART_OF_A_STRING = re.compile(
    r"\s+(?P<verb>CONTAINS|INCLUDES|HAS|MATCHES|STARTS\s*WITH|ENDS\s*WITH|PREFIX)\s+'(?P<text>[^']*)'",
    re.IGNORECASE,
)
_LISTS = frozenset({"WORDLIST", "WORDS", "VOCABULARY", "FREQUENCIES", "FREQUENCY", "FREQLIST", "FREQ"})
_CLAUSES_OF_DOCS = frozenset({"WHERE", "ORDER", "LIMIT", "OFFSET", "SAMPLE", "RETURNING"})
_PATTERNS = frozenset({"TEXT_LITERAL", "REGEX_LITERAL", "IDS_LITERAL"})
_SCHEMA = frozenset({"FIELDS", "FIELD", "COLUMNS", "SCHEMA", "METADATA", "STATS", "STATISTICS"})


def _update(situation: Situation) -> str | None:
    if situation.statement_may_start and situation.raw.upper() in ("UPDATE", "MERGE", "REPLACE", "UPSERT"):
        return "documents are not changed in place: DELETE DOCS WHERE … removes them, COPY adds the new ones"
    return None


def _schema(situation: Situation) -> str | None:
    if situation.head == ["SHOW"] and situation.raw.upper() in _SCHEMA:
        return "DESCRIBE corpus lists its fields"
    return None


def _prob_without_context(situation: Situation) -> str | None:
    if situation.head[:1] != ["PROB"] or situation.expected != ["GIVEN"]:
        return None
    if not situation.at_end and situation.raw.upper() not in ("FROM", "USING", "MIN"):
        return None
    literal = situation.before[-1]
    if literal.type != "TEXT_LITERAL":
        return 'GIVEN names the context, GIVEN "" none'
    try:
        words = str(json.loads(situation.written(literal), strict=False)).rsplit(None, 1)
    except ValueError:
        words = []
    if len(words) < 2:
        return 'GIVEN names the context, GIVEN "" none'
    context, word = (json.dumps(part, ensure_ascii=False) for part in words)
    return f'GIVEN names the context: PROB {quote(word)} GIVEN {quote(context)}; GIVEN "" is none'


def _list_of_words(situation: Situation) -> str | None:
    if situation.statement_may_start and situation.raw.upper() in _LISTS:
        return 'did you mean NGRAMS 1, which lists all words by frequency? COUNT "…" counts one'
    return None


def _clause_alone(situation: Situation) -> str | None:
    word = situation.raw.upper()
    if not situation.statement_may_start or word not in CLAUSE_HEADS:
        return None
    rest = quote(situation.text[situation.found.start :].partition(";")[0])
    example = f", as in DOCS {rest}" if word in _CLAUSES_OF_DOCS else ""
    return f"{word} begins a clause of a statement{example}"


def _pattern_alone(situation: Situation) -> str | None:
    if not situation.statement_may_start or situation.found.type not in _PATTERNS:
        return None
    shown = quote(situation.raw)
    return f"COUNT {shown} is the number of its occurrences, KWIC {shown} lists them"


def _keywords_of_one_side(situation: Situation) -> str | None:
    if situation.head[:1] == ["KEYWORDS"] and situation.at_end and situation.may_be("AGAINST"):
        return "AGAINST REST compares with all other documents"
    return None


def _version_without_corpus(situation: Situation) -> str | None:
    if situation.raw.upper() == "AT" and situation.may_be("FROM"):
        return "a version is that of a corpus: FROM corpus AT VERSION n"
    return None


def _part_of_a_string(situation: Situation) -> str | None:
    if not (situation.condition_may_start and situation.is_name):
        return None
    match = _PART_OF_A_STRING.match(situation.text, situation.found.stop)
    if match is None:
        return None
    verb, text = match["verb"].upper(), match["text"]
    template = f"{'' if verb.startswith(('STARTS', 'PREFIX')) else '%'}{text}"
    template += "" if verb.startswith("ENDS") else "%"
    return f"a part of a string is found by LIKE: {quote(situation.raw)} LIKE '{quote(template)}'"


def _count_between(situation: Situation) -> str | None:
    if situation.raw.upper() in ("BETWEEN", "IN") and situation.previous == "RPAR":
        return 'a count is compared: COUNT("x") >= 1 AND COUNT("x") <= 3'
    return None


def _name_of_two_words(situation: Situation) -> str | None:
    if situation.previous != "CORPUS_NAME" or not situation.is_word or situation.head[-2:-1] != ["FROM"]:
        return None
    first = situation.before[-1]
    if situation.found.type in syntax.NAMES or situation.raw.upper() == "CORPUS":
        name = f"{situation.written(first)} {situation.raw}"
        return f"write names that are not plain words in backquotes: FROM `{quote(name)}`"
    return None


# Rules that come before all others, and one for what no other explains.
FIRST: tuple[Callable[[Situation], str | None], ...] = (
    _update,
    _schema,
    _list_of_words,
    _clause_alone,
    _pattern_alone,
    _keywords_of_one_side,
    _prob_without_context,
    _version_without_corpus,
    _part_of_a_string,
    _count_between,
)
LAST: tuple[Callable[[Situation], str | None], ...] = (_name_of_two_words,)


# ---- What a misspelt or borrowed word was meant to be.


# Similarity of a word to a keyword (difflib's ratio) required for "did you mean": one letter wrong, missing,
# doubled or swapped in a word of four letters passes; words of other languages and corpus names rarely do.
_LIKENESS = 0.7

# Constructions known from SQL and elsewhere, and their equivalents; suggested where the latter are allowed.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "LIMIT": ("RETURN",),
    "TOP": ("LIMIT",),
    "IN": ("FROM",),
    "FORM": ("FROM",),
    "OF": ("FROM",),
    "FILTER": ("WHERE",),
    "DESCENDING": ("DESC",),
    "DOWN": ("DESC",),
    "ASCENDING": ("ASC",),
    "TABLE": ("CORPUS",),
    "INDEX": ("CORPUS",),
    "DATABASE": ("CORPUS",),
    "TABLES": ("CORPORA",),
    "DATABASES": ("CORPORA",),
    "CORPUS": ("CORPORA",),
    "CORPUSES": ("CORPORA",),
    "HISTORY": ("VERSIONS",),
    "DELETIONS": ("REMOVALS",),
    "DOCUMENTS": ("DOCS",),
    "DOCUMENT": ("DOCS",),
    "PROBABILITY": ("PROB",),
    "NTD": ("DIST",),
    "SELECT": ("DOCS",),
    "SEARCH": ("DOCS",),
    "CONCORDANCE": ("KWIC",),
    "WORDS": ("TOKENS",),
    "CLUSTERS": ("NGRAMS",),
    "COLLOCATIONS": ("COLLOCATES",),
    "KEYNESS": ("KEYWORDS",),
    "ATTRIBUTE": ("TRACE",),
    "PERPLEXITY": ("SCORE",),
    "LOAD": ("COPY",),
    "INSERT": ("COPY", "ADD"),
    "IMPORT": ("COPY",),
    "EXPORT": ("COPY",),
    "PRAGMA": ("SET",),
    "VERIFY": ("CHECK",),
    "VACUUM": ("COMPACT",),
    "OPTIMIZE": ("COMPACT",),
    "ROLLBACK": ("RESTORE",),
    "UNDO": ("RESTORE",),
    "TAG": ("KEEP",),
    "BOOKMARK": ("KEEP",),
    "REMOVE": ("DELETE", "SUBTRACT"),
    "MINUS": ("SUBTRACT",),
    "EXCEPT": ("SUBTRACT",),
    "DELETE": ("SUBTRACT",),
    "DROP": ("SUBTRACT",),
    "OPEN": ("ATTACH",),
    "MOUNT": ("ATTACH",),
    "CLOSE": ("DETACH",),
    "UNMOUNT": ("DETACH",),
    "PLUS": ("ADD",),
    "UNION": ("ADD",),
    "APPEND": ("ADD",),
    "DESC": ("DESCRIBE",),
    "INTO": ("TO",),
    "IGNORE": ("SKIP",),
    "MODEL": ("USING",),
    "WITH": ("USING", "GIVEN"),
    "AFTER": ("GIVEN",),
    "STUPID": ("BACKOFF",),
    "INFINIGRAM": ("INFGRAM",),
    "KN": ("KNESER_NEY",),
    "KNESER": ("KNESER_NEY",),
    "LENGTH": ("TOKENS", "MIN"),
    "MAX": ("TOKENS",),
    "TOP_K": ("TOP",),
    "TOP_P": ("NUCLEUS",),
    "TEMP": ("TEMPERATURE",),
    "CONTEXT": ("WINDOW", "GIVEN"),
}


def nearest(situation: Situation) -> str | None:
    """Return the keyword that the word was probably meant to be, if one is similar and allowed here."""
    import difflib

    if not situation.is_word:
        return None
    word = situation.raw.upper()
    candidates = [terminal for terminal in situation.expected if terminal in syntax.syntax().keywords]
    for synonym in _SYNONYMS.get(word, ()):
        if synonym in candidates:
            return synonym
    if word in syntax.syntax().keywords:
        return None
    near = difflib.get_close_matches(word, candidates, n=1, cutoff=_LIKENESS)
    return near[0] if near else None
