"""Patterns over tokens equal Python's `re` over the text, a character per token, over segments."""

from __future__ import annotations

import re
import unicodedata
from unittest.mock import patch

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.small_corpora import load

import ngramdb
from ngramdb.conditions import token_matches

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)

WORDS = ("a", "b", "ab", "Ab", "abb", "é", "É", "e", "ba", "9")
# One character for each word, none of which means anything to `re`.
CHARACTER = {word: chr(0x3B1 + i) for i, word in enumerate(WORDS)}

EXPRESSIONS = (
    "a",
    "a.*",
    ".*b",
    "[ab]+",
    "[^a]*",
    "a|e",
    "(a|b){2}",
    "ab{1,2}",
    "\\w",
    "\\d",
    "[é-ë]",
    "x",
    "a?b?",
    "(?i)AB",
)


# Most documents and patterns have these, so that patterns are found.
COMMON = st.sampled_from(("a", "b", "a", "b", *WORDS))


def unmarked(text):
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


def class_of(words):
    """Return the class that `re` reads for one of the words."""
    members = "".join(CHARACTER[word] for word in words)
    return f"[{members}]" if members else "(?!)"


def expression(source, ignore_case, ignore_diacritics):
    """A regular expression over a token: as it is written, and what `re` reads."""
    written = f"/{source}/" + " IGNORE CASE" * ignore_case + " IGNORE DIACRITICS" * ignore_diacritics
    compiled = re.compile(
        unmarked(source) if ignore_diacritics else source, re.IGNORECASE if ignore_case else 0
    )
    words = [word for word in WORDS if compiled.fullmatch(unmarked(word) if ignore_diacritics else word)]
    return written, class_of(words)


def literal(words, ignore_case, ignore_diacritics):
    """An n-gram, in any case and without diacritics."""

    def alike(a, b):
        if ignore_diacritics:
            a, b = unmarked(a), unmarked(b)
        return a.casefold() == b.casefold() if ignore_case else a == b

    written = f'"{" ".join(words)}"' + " IGNORE CASE" * ignore_case + " IGNORE DIACRITICS" * ignore_diacritics
    return written, "".join(class_of([other for other in WORDS if alike(word, other)]) for word in words)


def prefix(word):
    return f'"{word}" PREFIX', class_of([other for other in WORDS if other.startswith(word)])


UNITS = st.one_of(
    st.builds(
        literal, st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), st.booleans(), st.booleans()
    ),
    st.builds(expression, st.sampled_from(EXPRESSIONS), st.booleans(), st.booleans()),
    st.builds(prefix, st.sampled_from(WORDS)),
    st.just(("*", ".")),
)


def group(parts):
    return f"({' | '.join(written for written, _ in parts)})", f"(?:{'|'.join(read for _, read in parts)})"


def repeated(part, low, more):
    high = "" if more is None else low + more
    if high == 0:
        high = 1
    written = f"{part[0]}{{{low},{high}}}"
    lazy = "?" if part[0].strip("()") == "*" else ""
    return written, f"(?:{part[1]}){{{low},{high}}}{lazy}"


def series(first, others):
    written, read = first
    for gap, (more_written, more_read) in others:
        if gap is not None:
            low, more = gap
            written, read = f"{written} [{low}..{low + more}]", f"{read}.{{{low},{low + more}}}?"
        written, read = f"{written} {more_written}", read + more_read
    return written, read


GAPS = st.none() | st.tuples(st.integers(0, 2), st.integers(0, 2))


def longer(parts):
    some = st.builds(group, st.lists(parts, min_size=1, max_size=3))
    element = some | UNITS
    times = st.builds(repeated, element, st.integers(0, 2), st.none() | st.integers(0, 2))
    element = element | times
    return st.builds(series, element, st.lists(st.tuples(GAPS, element), max_size=3))


PATTERNS = st.recursive(UNITS, longer, max_leaves=6).filter(
    lambda pattern: pattern[0].strip("()") != "*" and not re.compile(pattern[1]).match("")
)


@st.composite
def corpora(draw):
    """Documents of few words, where segments end, and which documents are deleted afterwards."""
    words = draw(st.lists(COMMON, min_size=1, max_size=4, unique=True))
    documents = draw(st.lists(st.lists(st.sampled_from(words), max_size=8), min_size=1, max_size=6))
    deleted = draw(st.sets(st.integers(0, len(documents) - 1), max_size=2)) if documents else set()
    return list(map(" ".join, documents)), draw(st.sampled_from([1, 3, 99])), deleted


def matches(documents, read):
    """(doc_id, start, stop) of the match at each place that has one."""
    compiled = re.compile(read, re.DOTALL)
    found = []
    for doc_id, document in documents.items():
        text = "".join(CHARACTER[word] for word in document.split())
        for start in range(len(text)):
            match = compiled.match(text, start)
            if match:
                found.append((doc_id, start, match.end()))
    return found


# If matches begin and end n-grams, each place is one match.
NESTED = (
    (["a b b ab a a", "b ab ab"], 1, {1}),
    series(literal(["b"], False, False), [(None, repeated(literal(["ab"], False, False), 0, 1))]),
)


@EXAMPLES
@example(*NESTED, None, 0.0)
@example(*NESTED, None, 1e9)
@given(corpora(), PATTERNS, st.sampled_from([None, 1, 3]), st.sampled_from([0.0, 1e9, 1e9]))
def test_matches_are_those_of_re(corpus, pattern, least, trying_work):
    written, read = pattern
    # Every token is tried, or only what the index looks up.
    with ngramdb.connect() as db, patch.object(token_matches, "TRYING_WORK", trying_work):
        _, documents = load(db, corpus, "words")
        where = "" if least is None else f" WHERE doc_id >= {least}"
        chosen = {i: document for i, document in documents.items() if least is None or i >= least}
        expected = matches(chosen, read)

        def ask(statement):
            return db.execute(statement).fetchall()

        assert ask(f"COUNT ({written}){where}") == [(len(expected),)]
        lines = ask(f"KWIC ({written}){where} WINDOW 0")
        shown = [(i, start, " ".join(chosen[i].split()[start:stop])) for i, start, stop in expected]
        assert [(row[0], row[1], row[3]) for row in lines] == shown
        docs = sorted({i for i, _, _ in expected})
        inner = "" if least is None else f" AND doc_id >= {least}"
        assert [row[0] for row in ask(f"DOCS WHERE ({written}){inner}")] == docs
        grouped = ask(f"COUNT ({written}){where} GROUP BY doc_id")
        assert sorted(grouped) == [(i, sum(row[0] == i for row in expected)) for i in docs]
        counted = ask(f"COUNT DOCS WHERE COUNT({written}) >= 2{inner}")
        assert counted == [(sum(sum(row[0] == i for row in expected) >= 2 for i in docs),)]
        near = ask(f'COUNT ({written}) AND "a" WITHIN 2 TOKENS{where}')
        places = [
            (i, k) for i, document in chosen.items() for k, w in enumerate(document.split()) if w == "a"
        ]
        assert near == [(sum(any(i == j and abs(k - s) <= 2 for j, k in places) for i, s, _ in expected),)]
