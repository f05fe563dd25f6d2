"""Expressions are compared with the corpus's own tokens if these are words, or under MATCH TOKENS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.subwords import word_level, write_tokenizer

import ngramdb

WORD = re.compile(r"#?\w+(?:['’-]\w+)*")
TEXT = "don't they know #tag isn't well-known don't"
VOCABULARY = list(dict.fromkeys(WORD.findall(TEXT)))
OWN = ngramdb.CallableTokenizer(
    "words-with-marks",
    lambda texts: [
        [VOCABULARY.index(word) for word in WORD.findall(text) if word in VOCABULARY] for text in texts
    ],
    len(VOCABULARY),
    decode=lambda ids: " ".join(VOCABULARY[i] for i in ids),
    spans=lambda text: [found.span() for found in WORD.finditer(text)],
    words=False,
)
COUNTS = {
    "/.*n't/ MATCH TOKENS": 3,
    "/.*N'T/ MATCH TOKENS IGNORE CASE": 3,
    "/#.*/ MATCH TOKENS": 1,
    "/.*n/ MATCH TOKENS": 1,
    "/tag/ MATCH TOKENS": 0,
    "/tag/": 1,
    '"they" /.*/ MATCH TOKENS /#.*/ MATCH TOKENS': 1,
    '(/.*n\'t/ | "know") MATCH TOKENS': 4,
}


@pytest.fixture
def connection() -> Iterator[ngramdb.Connection]:
    with ngramdb.connect() as connection:
        connection.create_corpus("c", tokenizer=OWN).append([TEXT])
        yield connection


@pytest.mark.parametrize("pattern, count", COUNTS.items())
def test_expressions_are_compared_with_tokens(
    connection: ngramdb.Connection, pattern: str, count: int
) -> None:
    assert list(connection.execute(f"COUNT {pattern}")) == [(count,)]
    assert len(list(connection.execute(f"KWIC {pattern}"))) == count


def test_the_note_on_words_of_the_text_names_it(connection: ngramdb.Connection) -> None:
    assert "MATCH TOKENS" in connection.execute("COUNT /.*n't/").summary["note"]
    assert "note" not in connection.execute("COUNT /.*n't/ MATCH TOKENS").summary


def test_tokens_and_words_of_the_text_are_not_mixed(connection: ngramdb.Connection) -> None:
    with pytest.raises(ngramdb.PlanError, match="write MATCH TOKENS after each expression"):
        connection.execute('COUNT /.*n\'t/ MATCH TOKENS "kno" PREFIX')


def test_under_words_and_characters_nothing_changes() -> None:
    with ngramdb.connect() as connection:
        for name in ("words", "chars"):
            connection.create_corpus(name, tokenizer=name).append(["time and a half"])
            pattern = f"COUNT /[at].*/{{}} FROM {name}"
            plain, tokens = (list(connection.execute(pattern.format(some))) for some in ("", " MATCH TOKENS"))
            assert plain == tokens != [(0,)]


def makers(path: Path) -> dict[str, Any]:
    spaced = word_level(path / "spaced.json", VOCABULARY)
    marks = path / "marks.json"
    cutters = '[{"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": true}]'
    cutter = f'{{"type": "Sequence", "pretokenizers": {cutters}}}'
    marks.write_text(spaced.read_text().replace('{"type": "WhitespaceSplit"}', cutter))
    joined = replace(OWN, name="joined", words=None, decode=lambda ids: "".join(VOCABULARY[i] for i in ids))
    return {
        "inferred": replace(OWN, name="inferred", words=None),
        "declared": replace(joined, name="declared", words=True),
        "without spans": replace(OWN, name="without-spans", words=None, spans=None),
        "WordLevel": spaced,
        "WordLevel, digits": marks,
        "pieces, inferred": joined,
        "pieces, declared": OWN,
        "sub-words": write_tokenizer(path / "tokenizer.json"),
    }


OWN_WORDS = ["inferred", "declared", "without spans", "WordLevel", "WordLevel, digits"]
OF_TOKENS = {
    "/.*n't/": 3,
    "/.*N'T/ IGNORE CASE": 3,
    "/#.*/": 1,
    "/tag/": 0,
    '"isn\'" PREFIX': 1,
    '"isn" PREFIX': 1,
    '"WELL-" IGNORE CASE PREFIX': 1,
    '"dón\'t" IGNORE DIACRITICS': 2,
    '"KNOW" IGNORE CASE': 1,
    '"KNOW" IGNORE CASE IGNORE DIACRITICS': 1,
    '"THEY KNOW" IGNORE CASE': 1,
    '"THEY" IGNORE CASE [0..1] "KNOW" IGNORE CASE': 1,
    '"THEY" IGNORE CASE *{0,1} "KNOW" IGNORE CASE': 1,
    '"they" * "#" PREFIX': 1,
    '/.*n\'t/ "th" PREFIX': 1,
}
OF_WORDS = {
    "/.*n't/": 0,
    "/tag/": 1,
    "/.*n/": 4,
    '"know" IGNORE CASE': 2,
    '"isn\'" PREFIX': 1,
    '"do" PREFIX': 2,
    "/.*n't/ MATCH TOKENS": 3,
}


@pytest.mark.parametrize("kind", OWN_WORDS)
def test_expressions_are_about_words_of_the_tokenizer(kind: str, tmp_path: Path) -> None:
    with ngramdb.connect() as connection:
        connection.create_corpus("c", tokenizer=makers(tmp_path)[kind]).append([TEXT])
        for pattern, n in OF_TOKENS.items():
            assert connection.execute(f"COUNT {pattern}").fetchall() == [(n,)], pattern
            assert connection.execute(f"KWIC {pattern}").summary["total"] == n
        note = connection.execute("COUNT /they know/").summary["note"]
        assert note.endswith('matches no token of the tokenizer\'s vocabulary; write "they" "know"')


@pytest.mark.parametrize("kind", ["pieces, inferred", "pieces, declared", "sub-words"])
def test_expressions_are_about_words_of_the_text(kind: str, tmp_path: Path) -> None:
    with ngramdb.connect() as connection:
        connection.create_corpus("c", tokenizer=makers(tmp_path)[kind]).append([TEXT])
        for pattern, n in OF_WORDS.items():
            if kind == "sub-words" and "TOKENS" in pattern:
                n = 0
            assert connection.execute(f"COUNT {pattern}").fetchall() == [(n,)], pattern


def test_a_vocabulary_with_holes_has_expressions(tmp_path: Path) -> None:
    path = word_level(tmp_path / "tokenizer.json", ["a", "b"])
    path.write_text(path.read_text().replace('"b": 2', '"b": 7'))
    with ngramdb.connect() as connection:
        connection.create_corpus("c", tokenizer=path).append(["a b a"])
        assert connection.execute("COUNT /[ab]/").fetchall() == [(3,)]


@pytest.mark.parametrize(
    "others, message",
    [({"words": "yes"}, "True, False or None"), ({"words": True, "decode": None}, "needs decode")],
)
def test_words_are_declared_with_a_flag(others: dict[str, Any], message: str) -> None:
    with pytest.raises(ngramdb.InvalidArgument, match=message):
        replace(OWN, **others)


# An n-gram of one token under MATCH TOKENS, and the expression that stands for the same tokens.
ONE_TOKEN = {
    '"{}" MATCH TOKENS': "/{}/ MATCH TOKENS",
    '"{}" MATCH TOKENS IGNORE CASE': "/{}/ MATCH TOKENS IGNORE CASE",
    '"{}" MATCH TOKENS IGNORE DIACRITICS': "/{}/ MATCH TOKENS IGNORE DIACRITICS",
    '"{}" PREFIX MATCH TOKENS': "/{}.*/ MATCH TOKENS",
    '"{}" PREFIX MATCH TOKENS IGNORE CASE': "/{}.*/ MATCH TOKENS IGNORE CASE",
    '("{0}" | "{0}") MATCH TOKENS IGNORE CASE': "/{}/ MATCH TOKENS IGNORE CASE",
}
STATEMENTS = [
    "COUNT {}",
    "KWIC {} WINDOW 2",
    "DOCS WHERE {} RETURNING doc_id",
    "DOCS WHERE COUNT({}) > 1 RETURNING doc_id",
    "NGRAMS 2 CONTAINING {}",
    "COLLOCATES OF {} WINDOW 2",
    "COUNT {} [0..2] /.*/ MATCH TOKENS",
]
TOKENIZERS = ["words", "chars", *OWN_WORDS, "pieces, inferred", "pieces, declared", "sub-words"]


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("pattern", ONE_TOKEN)
def test_match_tokens_after_a_text_compares_tokens(name: str, pattern: str, tmp_path: Path) -> None:
    if name == "chars" and "PREFIX" in pattern:
        pytest.skip("PREFIX needs words or pieces of words")
    token = {"sub-words": " fox", "chars": "t"}.get(name, "they")
    tokenizers = {**makers(tmp_path), "words": "words", "chars": "chars"}
    text = "a fox FOX foxes fóx" if name == "sub-words" else TEXT + " they"
    with ngramdb.connect() as connection:
        connection.create_corpus("c", tokenizer=tokenizers[name]).append([text, "they know"])
        for statement in STATEMENTS:
            by_text, by_expression = (
                list(connection.execute(statement.format(written.format(token))))
                for written in (pattern, ONE_TOKEN[pattern])
            )
            assert by_text == by_expression, statement
            assert by_text, statement


def test_a_beginning_of_several_tokens_is_refused(tmp_path: Path) -> None:
    with ngramdb.connect() as connection:
        connection.create_corpus("c", tokenizer=write_tokenizer(tmp_path / "t.json")).append(["the foxes"])
        assert list(connection.execute('COUNT "foxe" PREFIX')) == [(1,)]
        assert list(connection.execute('COUNT " FO" PREFIX MATCH TOKENS IGNORE CASE')) == [(1,)]
        with pytest.raises(ngramdb.PlanError, match="PREFIX MATCH TOKENS takes the beginning of one token"):
            connection.execute('COUNT "foxe" PREFIX MATCH TOKENS')


def test_match_text_false_is_match_tokens(tmp_path: Path) -> None:
    with ngramdb.connect() as connection:
        corpus = connection.create_corpus("c", tokenizer=write_tokenizer(tmp_path / "t.json"))
        corpus.append(["a fox FOX foxes"])
        for rule in ("tokens", "text", "text ignore case"):
            connection.execute(f"SET match = '{rule}'")
            assert corpus.count(" fox", match_text=False) == 2
            assert corpus.count(" fox", match_text=False, ignore_case=True) == 2
            assert list(connection.execute('COUNT " fox" MATCH TOKENS IGNORE CASE')) == [(2,)]
