"""Patterns that match nothing in any corpus get a note in every statement; others get none."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from support.subwords import write_tokenizer

import ngramdb
from ngramdb.patterns.advice import Compared, of_expression
from ngramdb.tokenizers.registry import create_tokenizer

WORDS = Compared(create_tokenizer("words"), own_tokens=True, ignore_case=False)

IMPOSSIBLE = {
    r"[a-z.]+@[a-z.]+": '/[a-z.]+/ "@" /[a-z.]+/',
    r"\d{3}-\d{4}": r'/\d{3}/ "-" /\d{4}/',
    "time flies": '"time" "flies"',
    ".*n't": """/.*n/ "'" "t\"""",
    "well-.*": None,
    r"e\.g": '"e" "." "g"',
    "(a b|c d)": None,
    "a{2} b{2}": "/a{2}/ /b{2}/",
    "x y|z": '"x" "y"',
    "(?:z|x-y)": '"x" "-" "y"',
    "北京": '"北京"',
    "行きました": '"行きました"',
    "[一-龥]{2}": "/[一-龥]/{2}",
    "北京|上海": '("北京" | "上海")',
}
POSSIBLE = [
    "wom[ae]n",
    "a-?b",
    "-",
    "-.*",
    "a*-",
    r"\.",
    "(a|b)c",
    r"[^\w]+x",  # a mark at the beginning of a word
    "[\u4e00-\u9fff]+",
    "\\u2e80?[\\u2e81-\\u2e99]",
    "(?i)A",
    "[^\x00-\x7f]{2}",
    "x{1,3}y",
    "[a b]+",
    "^-$",
    "(?x)a b",
    "(?x)a | b",
    "[a|b]",
    r"a\|?",
    "北",
    "の",
    "[一-龥]",
    "カタカナ",
    "한국어",
]
STATEMENTS = (
    "COUNT {}",
    "COUNT DOCS WHERE {}",
    "DOCS WHERE NOT {}",
    "DELETE DOCS WHERE {}",
    "KWIC {}",
    "COLLOCATES {}",
    "DISPERSION {}",
    "NGRAMS 2 CONTAINING {}",
    'COUNT "a" WHERE {}',
    'COUNT ("a" | {})',
    "COUNT {} GROUP BY n PER MILLION",
    'COUNT "a", {}',
    "KEYWORDS WHERE {} AGAINST WHERE n = 2",
    "NGRAMS 2 WHERE {}",
    'DIST GIVEN "a" WHERE {}',
    "COPY (DOCS WHERE {}) TO 'out.jsonl'",
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_expressions_that_no_token_matches_are_noted(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ngramdb.connect() as connection:
        connection.create_corpus("c").append(
            [{"text": "time flies, don't it? a well-known fact", "n": 1}, {"text": "a b", "n": 2}]
        )
        for expression in IMPOSSIBLE:
            result = connection.execute(statement.format(f"/{expression}/"))
            assert "one token at a time" in result.summary.get("note", ""), expression


def test_advice_is_the_pattern_that_matches() -> None:
    for expression, pattern in IMPOSSIBLE.items():
        said = of_expression(expression, WORDS)
        assert said is not None and (pattern is None or said.endswith(f"write {pattern}")), expression


def test_expressions_that_may_match_get_no_note() -> None:
    assert [expression for expression in POSSIBLE if of_expression(expression, WORDS)] == []


def test_python_warns_too() -> None:
    with ngramdb.connect() as connection:
        corpus = connection.create_corpus("c")
        corpus.append(["time flies"])
        with pytest.warns(ngramdb.ConditionWarning, match="one token at a time"):
            assert corpus.count_docs("/time flies/") == 0


def test_case_that_is_ignored_of_the_last_n_gram_only_is_noted() -> None:
    with ngramdb.connect() as connection:
        connection.create_corpus("c").append(["A b"])
        for statement in ('COUNT "a" OR "b" IGNORE CASE', 'COUNT DOCS WHERE "a" OR "b" IGNORE CASE'):
            assert "the last n-gram only" in connection.execute(statement).summary["note"]
        for statement in (
            'COUNT "A" "b" IGNORE CASE',
            'KWIC "A" * "b" IGNORE CASE',
            'COUNT "A" [0..2] "b" IGNORE CASE',
            'COUNT ("A" | "b" IGNORE CASE)',
            'DOCS WHERE "A" "b" IGNORE CASE',
            'COUNT "A" AND "b" IGNORE CASE WITHIN 3 TOKENS',
        ):
            assert "the last n-gram only" in connection.execute(statement).summary["note"]
        for statement in ('COUNT ("A" "b") IGNORE CASE', 'COUNT "1" "b" IGNORE CASE'):
            assert "note" not in connection.execute(statement).summary
        for statement in ('COUNT "a" IGNORE CASE OR "b" IGNORE CASE', 'COUNT "a" IGNORE CASE OR "b"'):
            assert "note" not in connection.execute(statement).summary


NOTED = {
    "words": {
        'COUNT "go*"': '"go" PREFIX',
        'COUNT "wom?n"': "/wom.n/",
        'COUNT "w*n"': "/w.*n/",
        'COUNT "*ing"': "/.*ing/",
        'KWIC "go*"': '"go" PREFIX',
        'DOCS WHERE "wom?n"': "/wom.n/",
        'COUNT "n\'t"': '"don\'t"; "n\'t" MATCH TEXT finds those',
        'KWIC "n\'t"': '"don\'t"',
        'DELETE DOCS WHERE "n\'t"': '"don\'t"',
        'COLLOCATES "n\'t"': '"don\'t"',
        'COUNT "I" [0..2] "n\'t"': '"don\'t"',
        'COUNT "go"': None,
        'COUNT "why?"': None,
        'COUNT "don\'t"': None,
        'COUNT "x-y"': None,
        'COUNT "2*3"': None,
        'COUNT "http://a.b?c=d"': None,
        'COUNT "*"': None,
        'COUNT "a wom?n"': '"a" /wom.n/ matches any letter',
        'COUNT "go*" MATCH TEXT': None,
        'COUNT "goi*" MATCH TEXT': '"goi" PREFIX',
        'KWIC "wo?an" MATCH TEXT': "/wo.an/",
        'COUNT "goi*" PREFIX': '"goi" PREFIX',
        'COUNT DOCS WHERE "goi%" PREFIX': '"goi" PREFIX',
        'COUNT "goi" MATCH TEXT': None,
        'COUNT "the" "goi*" PREFIX': '"goi" PREFIX',
        'COUNT "<s> I"': '<s> "I"',
        'DIST GIVEN "<s>"': "sentences begin and end without tokens",
        'SCORE "<s> I go"': "sentences begin and end without tokens",
        'TRACE "I go </s>"': "</s> in",
        'NGRAMS 2 CONTAINING "<s> I"': "sentences begin and end without tokens",
    },
    "words(lower)": {
        "COUNT /Go/": "words(lower) replaces with another one: it matches nothing; write /Go/ IGNORE CASE",
        "KWIC /[A-Z].*/": "IGNORE CASE",
        "NGRAMS 2 CONTAINING /Go/": "IGNORE CASE",
        "COUNT DOCS WHERE /go|Don/": "the alternative /Don/",
        "COUNT /Go/ IGNORE CASE": None,
        "COUNT /[A-Za-z]+/": None,
        'COUNT "Go" "on" IGNORE CASE': None,
        "COUNT /go on/": 'write "go" "on"',
        'COUNT "N\'T"': '"don\'t"',
    },
    "chars": {
        "COUNT /go/": 'a character here: it matches nothing; write "go"',
        "COUNT /[a-z]{2}/": "/[a-z]/ /[a-z]/",
        "DOCS WHERE /x|go/": "the alternative /go/",
        "COUNT /[a-z]/": None,
    },
    "bytes": {"COUNT /go/": 'a byte here: it matches nothing; write "go"', "COUNT /g/": None},
}


@pytest.mark.parametrize("tokenizer", NOTED)
def test_notes_under_each_tokenizer(tokenizer: str) -> None:
    with ngramdb.connect() as connection:
        corpus = connection.create_corpus("c", tokenizer=tokenizer)
        corpus.append(["I go go going go* woman wom?n why? w*n *ing, 2*3 http://a.b?c=d * I don't"])
        for statement, part in NOTED[tokenizer].items():
            note = connection.execute(statement).summary.get("note")
            assert (note is None) if part is None else (part in (note or "")), (statement, note)


def test_a_part_of_words_is_noted_under_sub_words(tmp_path: Path) -> None:
    with ngramdb.connect() as connection:
        made = write_tokenizer(tmp_path / "tokenizer.json", ["n '", "o n"])
        connection.create_corpus("c", tokenizer=made).append(["I don't"])
        note = connection.execute('COUNT "n\'t"').summary.get("note", "")
        assert "MATCH TEXT finds all" in note


@pytest.mark.parametrize(
    "statement",
    [
        "COUNT DOCS WHERE source = 'Brown'",
        "DOCS WHERE source != ' brown'",
        "DELETE DOCS WHERE source = 'Brown'",
        "COUNT \"a\" WHERE source IN ('abc', 'BROWN')",
        "KWIC \"a\" WHERE NOT source = 'browm'",
        "NGRAMS 1 WHERE tags = 'X'",
        "COUNT \"a\" WHERE title = 'the END' GROUP BY source",
    ],
)
def test_a_value_in_another_spelling_is_noted(statement: str) -> None:
    with ngramdb.connect() as connection:
        documents = [
            {"text": "a b", "source": source, "tags": ["x", "y"], "title": f"The end {i}"[: 7 + 2 * (i > 0)]}
            for i, source in enumerate(["brown", "abc"] * 50)
        ]
        connection.create_corpus("c").append(documents)
        note = connection.execute(statement).summary["note"]
        assert note.startswith("no document has") and any(
            near in note for near in ("mean 'brown'?", "mean 'x'?", "mean 'The end'?")
        )


def test_a_star_in_a_template_of_like_is_noted() -> None:
    with ngramdb.connect() as connection:
        connection.create_corpus("c").append(
            [{"text": "a", "source": "brown"}, {"text": "a", "source": "x_y"}]
        )
        for condition, advice in {
            "source LIKE 'bro*'": "LIKE 'bro%'",
            "NOT source LIKE '*row*'": "LIKE '%row%'",
            "source LIKE 'bro%'": None,
            "source LIKE '*r_w*'": None,
            "source LIKE 'brown'": None,
        }.items():
            note = connection.execute(f"COUNT DOCS WHERE {condition}").summary.get("note")
            assert note is None if advice is None else f"; {advice} matches any text there" in note, condition
            if advice is not None:
                assert connection.execute(f"COUNT DOCS WHERE source {advice}").fetchall() == [(1,)]


def test_a_value_that_some_document_has_gets_no_note() -> None:
    with ngramdb.connect() as connection:
        corpus = connection.create_corpus("c")
        corpus.append([{"text": "a", "source": "brown", "n": 1}] * 20)
        corpus.append([{"text": "a", "source": ["Brown", 1]}, {"text": "b", "source": "zzz"}])
        for condition in ("source = 'brown'", "source = 'Brown'", "source = 'xylo'", "doc_id = 3", "n = 7"):
            assert "note" not in connection.execute(f"COUNT DOCS WHERE {condition}").summary, condition


def test_python_warns_of_wildcards_and_values_too() -> None:
    with ngramdb.connect() as connection:
        corpus = connection.create_corpus("c")
        corpus.append([{"text": "go* going", "source": "brown"}])
        with pytest.warns(ngramdb.PhraseWarning, match='"go" PREFIX'):
            assert corpus.count("go*") == 1
        with pytest.warns(ngramdb.ConditionWarning, match="did you mean 'brown'"):
            assert corpus.count_docs("source = 'Brown'") == 0
        with pytest.warns(ngramdb.ConditionWarning, match="did you mean 'brown'"):
            assert corpus.delete("source = 'Brown'") == 0


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("[[:upper:]]+", "/[A-Z]+/"),
        ("x[a[:digit:]]", "/[0-9]+/"),
        (r"\p{Lu}.*", "/[A-Z]+/"),
        (r"\pL+", r"/[^\W\d_]+/"),
        ("[[:^alpha:]]", r"/[^\W\d_]+/"),
    ],
)
def test_classes_of_other_programs_are_errors_with_a_set_that_runs(expression: str, advice: str) -> None:
    with ngramdb.connect() as connection, warnings.catch_warnings():
        warnings.simplefilter("error")
        connection.create_corpus("c").append(["A b"])
        with pytest.raises(ngramdb.ParseError, match="is not supported in regular expressions") as caught:
            connection.execute(f"COUNT /{expression}/")
        assert advice in caught.value.message
        connection.execute(f"COUNT {advice}")


@pytest.mark.parametrize("expression", ["[[a]+", "[a&&b]+", "[a||b]+", "[a~~b]", "[[:b]", r"\\p"])
def test_sets_that_python_warns_of_do_not_warn(expression: str) -> None:
    with ngramdb.connect() as connection, warnings.catch_warnings():
        warnings.simplefilter("error")
        connection.create_corpus("c").append(["A b"])
        connection.execute(f"COUNT /{expression}/")
