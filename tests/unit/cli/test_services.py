"""Completion for a service: what the prompt offers for one corpus, and nothing that a service refuses."""

from __future__ import annotations

import pytest

import ngramdb
from ngramdb.cli.commands.services import LONGEST_TEXT, ServedCompletion


@pytest.fixture(scope="module")
def connection() -> ngramdb.Connection:
    made = ngramdb.connect()
    news = made.create_corpus("news")
    news.append([{"text": "climate change and climate policy", "source": "web", "year": 2020}])
    made.create_corpus("other").append([{"text": "climate zones", "lang": "de"}])
    return made


def offered(connection: ngramdb.Connection, text: str, corpus: str | None = "news") -> list[str]:
    return [one["text"] for one in ServedCompletion(patience_s=10)(connection, text, len(text), corpus)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('COUNT "climate ', {"change", "policy"}),
        ('COUNT "climate ch', {"change"}),
        ("COUNT DOCS WHERE so", {"source"}),
        ("COUNT DOCS WHERE source = '", {"web'"}),
        ('COUNT "a" FROM o', {"other"}),
    ],
)
def test_names_values_and_words_are_those_of_the_corpus(
    connection: ngramdb.Connection, text: str, wanted: set[str]
) -> None:
    assert wanted <= set(offered(connection, text))


def test_without_from_another_corpus_is_asked_where_that_is_meant(connection: ngramdb.Connection) -> None:
    assert "zones" in offered(connection, 'COUNT "climate ', "other")
    assert "zones" not in offered(connection, 'COUNT "climate ')
    assert "lang" in offered(connection, "COUNT DOCS FROM other WHERE l")


@pytest.mark.parametrize("text", ["", 'COUNT "a"; ', "DE", "c"])
def test_statements_that_a_service_refuses_are_not_offered(connection: ngramdb.Connection, text: str) -> None:
    words = {word.upper() for word in offered(connection, text)}
    assert words
    assert not words & {"DELETE", "CREATE", "COPY", "DROP", "SET", "CHECK"}


@pytest.mark.parametrize(
    "text", ["SET ", "COPY news FROM '/etc/", ".open ", ".", "ATTACH '/", "x" * (LONGEST_TEXT + 1)]
)
def test_files_settings_and_commands_of_the_prompt_are_no_one_s_business(
    connection: ngramdb.Connection, text: str
) -> None:
    assert offered(connection, text) == []


def test_a_cursor_behind_the_text_is_at_its_end(connection: ngramdb.Connection) -> None:
    assert (
        ServedCompletion(patience_s=10)(connection, 'COUNT "climate ch', 10**9, "news")[0]["text"] == "change"
    )
