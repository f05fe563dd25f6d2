"""Suggestions at a cursor: exactly what the parser accepts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.polls import n_calls

from ngramdb.language import scanner, syntax
from ngramdb.language.editing import Expected, expected, lex
from ngramdb.language.parser import Walk
from ngramdb.registries import DOCUMENT_FUNCTIONS


def at(marked: str) -> Expected:
    """Return the expected tokens at the mark `^`."""
    cursor = marked.index("^")
    return expected(marked.replace("^", "", 1), cursor)


FUNCTIONS = tuple(f"{name.upper()}(" for name in DOCUMENT_FUNCTIONS)
CLAUSES_OF_COUNT = ("FROM", "WHERE", "PER MILLION", "GROUP BY", "ORDER BY", "TOP", "LIMIT", "SAMPLE")


@pytest.mark.parametrize(
    ("marked", "keywords"),
    [
        ("CO^", ("COLLOCATES", "CONTINUATIONS", "COUNT", "COPY", "COMPACT")),
        ("co^", ("COLLOCATES", "CONTINUATIONS", "COUNT", "COPY", "COMPACT")),
        ("COUNT^", ("COUNT",)),
        ("CHECK; KW^", ("KWIC",)),
        ("COUNT ^", ("COUNT", "DOCS", "NOT", "OVERLAP", "TEXT ~", "YEAR(", "MONTH(", "DAY(", *FUNCTIONS)),
        ('COUNT "a" ^', ("AND", "OR", "WITHIN SENTENCE", "MATCH", "IGNORE", "PREFIX", *CLAUSES_OF_COUNT)),
        (
            'COUNT "a" MATCH TEXT ^ FROM x',
            ("AND", "OR", "WITHIN SENTENCE", "IGNORE", "PREFIX", *CLAUSES_OF_COUNT),
        ),
        ('COUNT "a" AND "b" W^', ("WITHIN", "WHERE")),
        ('COUNT "a" AND "b" WITHIN 5 ^', ("TOKENS",)),
        ('COUNT "a" WITHIN ^', ("SENTENCE",)),
        ('COUNT "a" AND "b" WITHIN ^', ("SENTENCE",)),
        ('COLLOCATES OF "a" WINDOW ^', ("SENTENCE",)),
        (
            'COLLOCATES OF "a" WINDOW 5 ^',
            ("BY", "LEFT", "RIGHT", "WITHIN SENTENCE", "FROM", "WHERE", "TOP", "LIMIT", "MIN COUNT"),
        ),
        ('COLLOCATES OF "a" WINDOW 5 LEFT W^', ("WITHIN SENTENCE", "WHERE")),
        ('COLLOCATES OF "a" WINDOW 5 RIGHT WITHIN ^', ("SENTENCE",)),
        (
            'COLLOCATES OF "a" WINDOW SENTENCE ^',
            ("BY", "FROM", "WHERE", "TOP", "LIMIT", "MIN COUNT"),
        ),
        ("DOCS WHERE year ^", ("NOT", "BETWEEN", "IN", "LIKE", "ILIKE", "IS")),
        ("DOCS WHERE year IS ^", ("NOT NULL", "NULL")),
        ("DOCS WHERE year = 3 LIMIT 5 ^", ("FROM", "ORDER BY", "OFFSET", "SAMPLE", "RETURNING")),
        (
            "DOCS SAMPLE 5 TOKENS ^",
            ("BY", "SEED", "FROM", "WHERE", "ORDER BY", "LIMIT", "OFFSET", "RETURNING"),
        ),
        (
            "DOCS SAMPLE 5 TOKENS BY a ^",
            ("WEIGHTS", "SEED", "FROM", "WHERE", "ORDER BY", "LIMIT", "OFFSET", "RETURNING"),
        ),
        ("DOCS SAMPLE 5 ^", ("TOKENS", "SEED", "FROM", "WHERE", "ORDER BY", "LIMIT", "OFFSET", "RETURNING")),
        ("COPY (DOCS LIMIT 5 ^", ("FROM", "WHERE", "ORDER BY", "OFFSET", "SAMPLE", "RETURNING")),
        ("COPY (DOCS) ^", ("TO",)),
        ("COPY a FROM 'x' ^", ("ON ERROR",)),
        (
            'DIST GIVEN "x" USING ^',
            (
                "NGRAM",
                "INFGRAM",
                "BACKOFF",
                "KNESER_NEY",
                "WITTEN_BELL",
                "PITMAN_YOR",
                "KATZ",
                "SKIP_KNESER_NEY",
            ),
        ),
        ('DIST GIVEN "x" USING INFGRAM ^', ("FROM", "WHERE", "TOP", "LIMIT", "ORDER", "MIN COUNT")),
        ("CREATE CORPUS ^", ("IF NOT EXISTS",)),
        ("CREATE CORPUS IF ^", ("NOT EXISTS",)),
        ("SHOW ^", ("CORPORA", "SEGMENTS", "VERSIONS", "REMOVALS", "SETTINGS")),
        ("ALTER CORPUS a ^", ("ADD", "SUBTRACT CORPUS", "DROP FIELD")),
        ("ALTER CORPUS a ADD ^", ("CORPUS", "FIELDS FROM")),
        ("ALTER CORPUS a ADD FIELDS FROM 'x' ON y ^", ("REPLACE",)),
        ("ALTER CORPUS a ADD FIELDS FROM 'x' ON y (z) REPLACE ^", ()),
        ('DELETE DOCS WHERE "a" R^', ("RETURNING",)),
        ("UPDATE a ^", ("SET",)),
        ("UPDATE a SET b = 1 ^", ("WHERE",)),
        ("UPDATE a SET b = 1 WHERE c = 2 ^", ("AND", "OR")),
    ],
)
def test_keywords_that_may_come_next(marked: str, keywords: tuple[str, ...]) -> None:
    assert set(at(marked).keywords) == set(keywords)
    assert len(at(marked).keywords) == len(keywords)


def test_what_goes_on_with_the_last_part_comes_before_new_clauses() -> None:
    assert at('COUNT "a" ^').keywords[:2] == ("AND", "OR")


@pytest.mark.parametrize(
    ("marked", "kinds"),
    [
        ("USE ^", ["corpus"]),
        ("USE wi^", ["corpus"]),
        ("COUNT ? FROM a + ^", ["corpus"]),
        ("CREATE CORPUS ^", ["new_corpus"]),
        ("COUNT ^", ["field", "ngram", "token_ids", "regex", "parameter"]),
        ("KWIC ^", ["field", "ngram", "token_ids", "regex", "parameter"]),
        ('COUNT "a" ^', ["gap", "repetition"]),
        ("DOCS LIMIT ^", ["number", "parameter"]),
        ("COPY a FROM ^", ["path", "parameter"]),
        ("COPY (DOCS) TO ^", ["path", "parameter"]),
        ("CREATE CORPUS a TOKENIZER ^", ["tokenizer", "parameter"]),
        ("DROP VERSION ^", ["version", "parameter"]),
        ("DOCS FROM a AT VERSION ^", ["version", "number", "parameter"]),
        ("SET ^", ["setting"]),
        ("RESET ^", ["setting"]),
        ("COPY a FROM 'x' (^", ["option"]),
        ("COUNT DOCS GROUP BY ^", ["field"]),
        ("DOCS WHERE meta.^", ["key"]),
        ("CREATE CORPUS a ^", []),
        ("COUNT COUNT ^ FROM wiki", []),
        ("COUNT @ ^", []),
        ("COUNT -- ^", []),
        ("COUNT /* ^", []),
        ("COUNT /* */ ^", ["field", "ngram", "token_ids", "regex", "parameter"]),
    ],
)
def test_kinds_that_may_come_next(marked: str, kinds: list[str]) -> None:
    assert list(at(marked).kinds) == kinds


@pytest.mark.parametrize(
    ("marked", "quote", "kinds", "partial"),
    [
        ('COUNT "na^', '"', ("ngram",), "na"),
        ('COUNT "na^tural" FROM wiki', '"', ("ngram",), "na"),
        ("COPY a FROM 'da''^", "'", ("path",), "da'"),
        ("DOCS WHERE x = '^", "'", ("value",), ""),
        ("USE `my ^", "`", ("corpus",), "my "),
        ("COUNT [12, ^", "[", ("token_ids",), "12, "),
        ('COUNT "a" [1..^', "[", ("gap",), "1.."),
        ('USE "wi^', '"', (), "wi"),
    ],
)
def test_open_literal_is_what_it_can_become(
    marked: str, quote: str, kinds: tuple[str, ...], partial: str
) -> None:
    there = at(marked)
    assert (there.quote, there.kinds, there.partial, there.keywords) == (quote, kinds, partial, ())


@pytest.mark.parametrize(
    ("marked", "context", "partial", "typed"),
    [
        ('COUNT "natural lang^', "natural lang", "lang", "lang"),
        ('COUNT "natural ^', "natural ", "", ""),
        ('COUNT "^', "", "", ""),
        (r'COUNT "a\nb^', "a\nb", "b", "b"),
        (r'COUNT "a\tb\"c^', 'a\tb"c', 'b"c', r"b\"c"),
        (r'COUNT "é \u00e9^', "é é", "é", r"\u00e9"),
        (r'COUNT "a\u00^', "a", "a", r"a\u00"),
        ('COUNT "a\\^', "a", "a", "a\\"),
        (r'COUNT "\ud83d\ude00x^', "\U0001f600x", "\U0001f600x", r"\ud83d\ude00x"),
    ],
)
def test_open_ngram_gives_the_context_and_the_word_being_typed(
    marked: str, context: str, partial: str, typed: str
) -> None:
    there = at(marked)
    assert (there.context, there.partial) == (context, partial)
    assert marked[there.start : marked.index("^")] == typed


@pytest.mark.parametrize(
    ("marked", "field"),
    [
        ("DOCS WHERE lang = ^", ("lang",)),
        ("DOCS WHERE year = 3 AND lang <> '^", ("lang",)),
        ("DOCS WHERE meta.`a b` = ^", ("meta", "a b")),
        ("DOCS WHERE lang IN (^", ("lang",)),
        ("DOCS WHERE lang NOT IN ('en', '^", ("lang",)),
        ("DOCS WHERE year BETWEEN 3 AND ^", ("year",)),
        ("DOCS WHERE lang LIKE ^", ("lang",)),
        ("DOCS WHERE meta.au^", ("meta",)),
        ("DOCS ORDER BY meta.a.^", ("meta", "a")),
        ("DOCS WHERE lang = 'x' AND COUNT(\"a\") > ^", ()),
        ("DOCS WHERE lang = 'x' AND ^", ()),
    ],
)
def test_field_whose_value_or_key_is_wanted(marked: str, field: tuple[str, ...]) -> None:
    assert at(marked).field == field


def test_setting_and_option_whose_value_is_wanted() -> None:
    assert at("SET Progress = ^").setting == "progress"
    assert at("SET threads^").setting == ""
    assert at("COPY a FROM 'x' (FORMAT jsonl, Text = '^").option == "text"
    assert at("COPY a FROM 'x' (METADATA (a, ^").option == "metadata"


@pytest.mark.parametrize(
    ("marked", "corpora"),
    [
        ('COUNT "a^" FROM wiki', ("wiki",)),
        ('COUNT "a^" FROM wiki + `my docs` AT VERSION 3 - x WHERE lang = "en"', ("wiki", "my docs", "x")),
        ('COUNT "b" FROM other; COUNT "a^"; COUNT "c" FROM other', ()),
        ("COPY wiki FROM 'x^'", ()),
        ('DOCS FROM wiki WHERE "^', ("wiki",)),
        ("KEYWORDS OF wiki WHERE ^", ("wiki",)),
        ("COPY (KEYWORDS OF wiki AT VERSION 3 - `my docs` WHERE ^", ("wiki", "my docs")),
        ("KEYWORDS OF wiki WHERE ^ AGAINST other", ("wiki",)),
        ("KEYWORDS OF wiki WHERE year = 3 AGAINST other WHERE ^", ("other",)),
        ("KEYWORDS OF of WHERE year > 3 AGAINST against + b WHERE ^", ("against", "b")),
        ("KEYWORDS OF wiki WHERE ^ AGAINST REST FROM other", ("wiki",)),
        ("KEYWORDS OF WHERE ^ AGAINST other", ()),
        ("KEYWORDS OF WHERE ^ AGAINST REST FROM wiki", ("wiki",)),
        ("KEYWORDS OF WHERE OVERLAP(other, 2) > 3 AND ^ AGAINST REST FROM wiki", ("wiki",)),
        ("KEYWORDS ^", ()),
    ],
)
def test_corpora_of_the_statement_on_both_sides_of_the_cursor(marked: str, corpora: tuple[str, ...]) -> None:
    assert at(marked).corpora == corpora


@pytest.mark.parametrize(
    ("marked", "head"),
    [
        ("^", ""),
        ("COUNT ^", "COUNT"),
        ("count docs ^", "COUNT DOCS"),
        ("EXPLAIN ANALYZE DOCS ^", "DOCS"),
        ("EXPLAIN ^", "EXPLAIN"),
        ("DELETE DOCS WHERE ^", "DELETE DOCS"),
        ("CREATE CORPUS ^", "CREATE CORPUS"),
    ],
)
def test_head_tells_the_statement(marked: str, head: str) -> None:
    assert at(marked).head == head


# ---- the parser is the judge

STATEMENTS = [
    'COUNT ("a" OR [1, 2]) AND "c" MATCH TEXT IGNORE CASE WITHIN 100 TOKENS FROM a + b - c AT VERSION 3 WHERE'
    " year NOT BETWEEN 1 AND 2 GROUP BY lang, meta.x ORDER BY count DESC TOP 5 SAMPLE 9 SEED ?",
    'DOCS WHERE COUNT("a" [1..3] "b") >= 3 OR OVERLAP(eval, 13) > 0.8 AND x IS NOT NULL LIMIT 5 OFFSET 3',
    "DOCS SAMPLE 5 TOKENS BY YEAR(x) WEIGHTS ('a': 1, NULL: 2.5) SEED 3 LIMIT 5",
    'KWIC "a" WINDOW 5 ORDER BY right',
    'COLLOCATES OF "a" OR "b" WINDOW 3 LEFT 2 RIGHT BY LOGDICE MIN COUNT 2 WHERE x = 1 TOP 5',
    'COLLOCATES OF "a" WINDOW 3 LEFT 2 RIGHT WITHIN SENTENCE BY LL MIN COUNT 2 WHERE x = 1 TOP 5',
    'COLLOCATES OF "a" WINDOW SENTENCE BY LL FROM b',
    "KEYWORDS OF a WHERE x = 1 AGAINST b WHERE y = 2 NGRAMS 2 BY SIMPLE(1) MIN COUNT 2 LIMIT 5",
    "KEYWORDS OF WHERE x = 1 AGAINST REST TOP 5 FROM b",
    'DISPERSION OF "a" BY DOCUMENTS WHERE x = 1',
    "DUPLICATES LENGTH >= 5 BYTES MIN COUNT 3 AGAINST b WHERE x = 1 ORDER BY waste DESC LIMIT 5 OFFSET 2",
    "DUPLICATES LENGTH 5 TOKENS BY DOCUMENTS ORDER BY share",
    "DUPLICATES ORDER BY least BY LENGTH LENGTH >= 5",
    "DUPLICATES LENGTH >= 5 BY COUNT",
    "PERPLEXITY OF a WHERE x = 1 FROM b WHERE y = 2 USING NGRAM ORDER 2, BACKOFF(0.4) BY x / 10",
    "PERPLEXITY OF 'x' (FORMAT lines) USING INFGRAM ORDERS 1..5, 9, INF BY LINES",
    "AGREEMENT OF a FROM b SKIP 5 WITH ARGMAX BY LENGTH USING INFGRAM",
    "AGREEMENT OF WHERE x = 1 BY 'p.npy'",
    'NOVELTY OF "a" NGRAMS 1..20 BY DOCUMENTS FROM b',
    'CONTINUATIONS OF "a" WHERE x = 1 FROM b',
    "TRACE OF a WHERE x = 1 MIN LENGTH 3 FROM b WHERE y = 2",
    'DIST BEFORE "a" FROM b WHERE x = 1 LIMIT 5',
    'NGRAMS 2..3 IGNORE CASE MIN COUNT 2 CONTAINING "a" STARTING WITH "b" ENDING "c" WITH DOCS TOP 3',
    "NGRAMS 3 TOP 5 WHERE lang IN ('en', NULL) AND title NOT ILIKE 'a%' AND open = TRUE",
    'TRACE "a" MIN LENGTH 3',
    'PROB "a" GIVEN "b" USING BACKOFF(0.4) ORDER 3 MIN COUNT 2',
    'GENERATE GIVEN "a" TOKENS 5 METHOD BEAM(4) TEMPERATURE 1.5 TOP 3 NUCLEUS 0.9'
    " DIVERSITY 1 SEED 2 RETURN 3",
    'GENERATE GIVEN "a" TOKENS 5 USING NGRAM ORDER 3 MIN COUNT 2 MIN PROB 0.1 STOP "a", [1] SEED 2',
    "CREATE CORPUS IF NOT EXISTS a TOKENIZER 'words' WITH (x = 1)",
    "CREATE CORPUS a AS (DOCS FROM b WHERE YEAR(date) = 2001 LIMIT 5)",
    'COUNT "a", "b" OR "c" PER MILLION GROUP BY x / 10 * 10, MONTH(y) / 3, UNNEST(z), FLOOR(x / 2), FORM',
    "COPY a FROM 'x' (FORMAT jsonl, METADATA (a, 'b')) ON ERROR SKIP",
    "COPY (DOCS LIMIT 5) TO 'x' (FORMAT jsonl)",
    'DELETE DOCS FROM a WHERE "x" RETURNING doc_id, url',
    'DELETE DUPLICATES NORMALIZE CASE, NFC KEEP BY x DESC AGAINST b WHERE "x" FROM a',
    "DELETE DUPLICATES KEEP NONE NORMALIZE SPACE",
    "DECONTAMINATE AGAINST 'x' (TEXT q) BY PALM(8) >= 0.5 WHERE n > 1 NORMALIZE CASE, SPACE DELETE FROM a",
    "DELETE DUPLICATES KEEP FIRST",
    'CUT DUPLICATES LENGTH >= 5 TOKENS MIN COUNT 3 KEEP BY x DESC AGAINST b WHERE "x" FROM a',
    "CUT DUPLICATES LENGTH 5 BYTES ON WORDS GAP SHARE 0.9 MIN REST 0.1 MAX PIECES 5 MIN COUNT 2",
    "CUT DUPLICATES KEEP NONE",
    "NEAR DUPLICATES CONTAINED >= 0.9 NGRAM 3 WORDS CANDIDATES MINHASH 2*9 KEEP LONGEST",
    'NEAR DUPLICATES WHERE "x" LIMIT 5 FROM a',
    "NEAR DUPLICATES CANDIDATES INDEX KEEP BY x DESC, y AGAINST b WITH REJECTED",
    'DELETE NEAR DUPLICATES CONTAINED >= ? NGRAM ? WORDS AGAINST b KEEP FIRST WHERE "x" FROM a',
    'CUT SPANS WHERE "x" AND n > 1 CONTEXT 2 FROM a',
    'CUT SPANS WHERE "x" ON LINES GAP SHARE 0.9 MIN REST 0.1 MAX PIECES 5',
    "RESTORE CORPUS a TO VERSION 3",
    "RESTORE CORPUS a TO VERSION 'x'",
    "KEEP VERSION 3 AS 'x'",
    "DROP VERSION 'x'",
    "ALTER CORPUS a SUBTRACT CORPUS b AT VERSION 2",
    "ALTER CORPUS a DROP FIELD b, c.d",
    "ALTER CORPUS a ADD FIELDS FROM 'x' ON y.z (b, c) REPLACE",
    "UPDATE a SET b = 'x', c.d = YEAR(e) / 10 * 10, f = NULL, g = DUP_NGRAM_SHARE(5) WHERE h > 1",
    'EXPLAIN ANALYZE SCORE "a" SENTENCE USING KNESER_NEY',
    'SCORE "a" USING WITTEN_BELL ORDER 2',
    'PROB "a" GIVEN "b" USING PITMAN_YOR MIN COUNT 2',
    'PROB "a" GIVEN "b" USING KATZ ORDER 3',
    'PROB "a" GIVEN "b" USING SKIP_KNESER_NEY ORDER 3',
    "ATTACH 'x' AS a (TYPE infini_gram, TOKENIZER 'y')",
    "DETACH a",
    "SHOW REMOVALS FROM a",
    "SET match = text",
]
KIND_OF_PIECE = {
    scanner.TEXT: {"ngram"},
    scanner.TOKEN_IDS: {"token_ids"},
    scanner.GAP: {"gap"},
    scanner.PARAMETER: {"parameter"},
    scanner.NUMBER: {"number"},
    scanner.RANGE: {"range"},
    scanner.STRING: {"value", "path", "tokenizer", "version"},
}
NAMES = {"corpus", "new_corpus", "field", "key", "setting", "option", "word"}


@pytest.mark.parametrize("text", STATEMENTS)
def test_all_that_the_parser_takes_is_expected(text: str) -> None:
    for (kind, start, stop), (_, _, colour) in zip(scanner.scan(text), lex(text), strict=True):
        there = expected(text, start)
        if colour == "keyword":
            assert text[start:stop] in {phrase.split()[0].rstrip("(") for phrase in there.keywords}
            assert expected(text, stop).partial == text[start:stop]
        elif colour == "name":
            assert NAMES & set(there.kinds)
        elif kind in KIND_OF_PIECE:
            assert KIND_OF_PIECE[kind] & set(there.kinds)


@pytest.mark.parametrize("text", STATEMENTS)
def test_all_that_is_expected_is_taken_by_the_parser(text: str) -> None:
    places = {start for _, start, _ in scanner.scan(text)} | {len(text)}
    for cursor in sorted(places):
        there = expected(text, cursor)
        for phrase in there.keywords:
            walk = Walk(so_far := f"{text[: there.start]} {phrase} ")
            for kind, start, stop in scanner.scan(so_far):
                if kind not in scanner.BLANK:
                    walk.take(kind, start, stop)
            marked = phrase.replace("(", " LPAR").replace(" 1", " INTEGER_LITERAL")
            terminals = marked.replace("~", syntax.syntax().punctuation["~"]).split()
            taken = [lexeme.type for lexeme in walk.lexemes][-len(terminals) :]
            assert taken == terminals or phrase.rstrip("(").lower() in syntax.REGISTERED[taken[0]]


fragments = st.lists(
    st.sampled_from(
        [
            "COUNT ",
            "docs ",
            '"',
            "'",
            "`",
            "[",
            "]",
            "/*",
            "*/",
            "--",
            "\n",
            " ",
            ";",
            "1",
            ".",
            "\\",
            "(",
            "FROM a ",
        ]
    )
).map("".join)


@given(st.text() | fragments, st.integers(-2, 40))
def test_any_text_and_any_cursor_have_an_answer(text: str, cursor: int) -> None:
    there = expected(text, cursor)
    assert 0 <= there.start <= max(0, min(cursor, len(text)))


def test_answer_comes_after_few_calls() -> None:
    text = "DOCS WHERE \"a\" AND year BETWEEN 2019 AND 2021 AND NOT lang = 'en' ORDER BY "
    expected(text, len(text))
    assert n_calls(lambda: expected(text, len(text))) < 4000
