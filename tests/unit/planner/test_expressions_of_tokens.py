"""`/…/ MATCH TOKENS` is compared with the tokens of the corpus, whatever its tokenizer calls a token."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

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
