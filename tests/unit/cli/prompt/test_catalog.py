"""The next words of an n-gram being typed, for tokenizers of every kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.polls import until
from support.subwords import write_tokenizer

import ngramdb
from ngramdb.cli.shell.catalog import MOST_WORDS, Ask, Catalog, Count, next_words


def texts(kind: str, known: dict[str, list[tuple[str, int]]], context: str) -> list[str]:
    def ask(asked: str) -> Sequence[tuple[str, int]]:
        return known.get(asked, [])

    def count(text: str) -> int:
        found = [n for key in known for token, n in known[key] if (key + token).startswith(text)]
        return max(found, default=0)

    return [word.text for word in next_words(ask, count, kind, context)]


def test_a_word_that_was_begun_is_looked_for_behind_shorter_contexts_too() -> None:
    known = {
        "the big red": [("car", 1)],
        "big red": [("house", 2), ("horse", 3)],
        "red": [("hat", 4)],
        "": [("hut", 1)],
    }
    assert texts("words", known, "the big red h") == ["house", "horse", "hat", "hut"]
    assert texts("words", known, "the big red ") == ["car"]


def test_pieces_of_words_are_joined_to_words() -> None:
    known = {
        "natural": [(" lang", 9), ("ly", 4), (" selection", 3), (" la", 1)],
        "natural lang": [("uage", 9)],
        "natural la": [("va", 1)],
        "natural language": [(" model", 5)],
    }
    assert texts("json", known, "natural ") == ["language", "selection", "lava"]
    assert texts("json", known, "natural la") == ["language", "lava"]
    assert texts("json", known, "natural") == ["naturally"]


def test_characters_are_joined_to_words() -> None:
    text = "catalog cat "
    known = {text[:i]: [(text[i], 1)] for i in range(1, len(text))}
    known["ca"] = [("t", 2), ("r", 1)]
    known["car"] = [(" ", 1)]
    assert texts("chars", known, "ca") == ["catalog", "car"]


def test_texts_of_token_ids_are_not_completed() -> None:
    assert texts("tokens", {"": [("1", 5)]}, "") == []


@pytest.mark.parametrize("kind", ["words", "chars", "bytes"])
def test_an_index_knows_what_comes_next(kind: str) -> None:
    with ngramdb.connect() as connection:
        corpus = connection.create_corpus("wiki", tokenizer=kind)
        corpus.append(["natural language processing"] * 3 + ["natural laws", "the end"])
        catalog = Catalog(lambda: connection, patience_s=10)

        words = next_words(*questions(catalog), catalog.tokenizer(()), "natural la")
        assert [word.text for word in words] == ["language", "laws"]
        assert [word.n_typed for word in words] == [2, 2]


def questions(catalog: Catalog) -> tuple[Ask, Count]:
    return (lambda context: catalog.next_tokens((), context)), (lambda text: catalog.count((), text))


@pytest.mark.parametrize("kind", ["words", "chars", "bytes", "sub-words"])
def test_what_is_offered_occurs_so_often_or_is_set_apart(kind: str, tmp_path: Path) -> None:
    tokenizer = str(write_tokenizer(tmp_path / "tokenizer.json")) if kind == "sub-words" else kind
    texts = ["a fox and a fox", "one fox, two oxen", "an old ox and one oxcart", "foxes are no oxen", "two"]
    with ngramdb.connect() as connection:
        corpus = connection.create_corpus("c", tokenizer=tokenizer)
        corpus.append(texts)
        catalog = Catalog(lambda: connection, patience_s=10)
        offered = Counter[str]()
        for text in [*texts, "never fox and", "two old oxen an", " fo", "o", "zzz "]:
            for typed in (text[:i] for i in range(len(text) + 1)):
                for word in next_words(*questions(catalog), catalog.tokenizer(()), typed):
                    whole = typed[: len(typed) - word.n_typed] + word.text
                    n = connection.execute("COUNT ?", [whole]).fetchall()[0][0]
                    assert (n == word.count and n > 0) if word.after is None else n == 0, (typed, word)
                    offered["follows" if word.after is None else "set apart"] += 1
        assert offered["follows"] > 50 and offered["set apart"] > 0


def test_a_catalog_answers_from_memory_until_there_is_a_new_version() -> None:
    with ngramdb.connect() as connection:
        connection.create_corpus("wiki").append([{"text": "a b", "year": 1}])
        catalog = Catalog(lambda: connection, patience_s=10)
        before = catalog.next_tokens((), "a")
        assert catalog.next_tokens((), "a") is before
        assert catalog.fields(()) == ["year"]
        connection.corpus("wiki").append([{"text": "a c", "lang": "en"}])
        assert sorted(catalog.next_tokens((), "a")) == [("b", 1), ("c", 1)]
        assert catalog.fields(()) == ["year", "lang"]


def test_a_catalog_has_nothing_to_say_of_what_is_not_there() -> None:
    with ngramdb.connect() as connection:
        catalog = Catalog(lambda: connection, patience_s=10)
        assert list(catalog.corpora()) == []
        assert list(catalog.fields(())) == list(catalog.values((), "x")) == []
        assert catalog.next_tokens(("missing",), "a") is None
        assert catalog.tokenizer(()) == ""
        catalog.warm()


def test_no_more_words_are_offered_than_can_be_looked_through() -> None:
    known = {"": [(f"w{i}", 1000 - i) for i in range(1000)]}
    assert len(texts("words", known, "w")) == MOST_WORDS


def test_paths_are_those_of_the_file_system(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "data").mkdir()
    (tmp_path / "data.txt").touch()
    (tmp_path / ".hidden").touch()
    with ngramdb.connect() as connection:
        catalog = Catalog(lambda: connection, patience_s=10)
        assert catalog.paths(f"{tmp_path}/") == [f"{tmp_path}/data.txt", f"{tmp_path}/data/"]
        assert catalog.paths(f"{tmp_path}/.h") == [f"{tmp_path}/.hidden"]
        assert catalog.paths(f"{tmp_path}/missing/") == []


def test_an_answer_that_is_late_is_there_for_a_later_key() -> None:
    with ngramdb.connect() as connection:
        connection.create_corpus("wiki").append(["a b c"])
        catalog = Catalog(lambda: connection, patience_s=1e-9)
        assert catalog.next_tokens((), "a") is None
        until(lambda: catalog.next_tokens((), "a"))
        assert catalog.next_tokens((), "a") == [("b", 1)]
