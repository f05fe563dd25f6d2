"""Notes on texts with tags, wrapped lines or invisible characters."""

from __future__ import annotations

from pathlib import Path

import pytest

import ngramdb

WRAPPED = "\n".join(
    ["It was a fine day, and everybody in the house had", "gone out to see the garden behind the church."]
    * 30
)
HTML = "<!DOCTYPE html><html><body>" + "<p class='a'>A word</p>\n" * 20
TEXTS = {
    "tags of HTML": HTML,
    "tags of HTML or XML": "<text>" + "<w pos='N'>time</w>" * 20 + "</text>",
    "line breaks within sentences": WRAPPED,
    "soft hyphens": "co\u00adoperate",
    "zero-width spaces": "a\u200bb",
    "byte order marks": "one\ufefftwo",
}
PLAIN = [
    "if a <b and b> c then 1 < 2",
    "def f(a: list[int]) -> Vec<T>:\n    return a\n" * 40,
    "One sentence is in each of these lines, and every one ends.\n" * 40,
    "one sentence is in each of these lines , and every one ends .\n" * 40,
    "word\nanother\nthird\n" * 100,
    "Shall I compare thee to a summer's day, and more,\nThou art more lovely and more temperate,\n" * 40,
    "A paragraph is one long line without a break within its sentences\n\n" * 40,
    "naïve λόγος 自然語言",
]


@pytest.mark.parametrize("way", ["append", "file", "table"])
@pytest.mark.parametrize("said, text", TEXTS.items())
def test_peculiar_texts_are_noted(said: str, text: str, way: str, tmp_path: Path) -> None:
    with ngramdb.connect() as connection:
        corpus = connection.create_corpus("c")
        if way == "append":
            report = corpus.append([text])
        elif way == "file":
            (tmp_path / "a.txt").write_text(text)
            report = corpus.load(tmp_path / "a.txt")
        else:
            report = corpus.load(pytest.importorskip("pyarrow").table({"text": [text]}))
        assert [said in note for note in report.notes] == [True], report.notes
        if way == "file":
            connection.create_corpus("d")
            assert said in connection.execute(f"COPY d FROM '{tmp_path / 'a.txt'}'").summary["note"]


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_are_not(text: str) -> None:
    with ngramdb.connect() as connection:
        assert connection.create_corpus("c").append([text]).notes == ()


def test_notes_depend_on_what_the_corpus_does_with_the_texts() -> None:
    with ngramdb.connect() as connection:
        assert connection.create_corpus("a", sentences=False).append([WRAPPED]).notes == ()
        assert connection.create_corpus("b", tokenizer="chars").append(["co\u00adop"]).notes == ()


def test_later_documents_are_sampled() -> None:
    with ngramdb.connect() as connection:
        corpus = connection.create_corpus("c")
        assert "tags" in corpus.append(["plain"] * 200 + [HTML] * 200).notes[0]
