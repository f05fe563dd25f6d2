"""Parse tables are kept between processes, and made anew whenever what is kept will not do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ngramdb.language import tables

GRAMMAR = 'start: "COUNT" WORD\nWORD: /[a-z]+/\n%ignore " "\n'
OPTIONS = {"parser": "lalr", "lexer": "basic"}


@pytest.fixture(autouse=True)
def _keeps_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)


def _parser(folder: Path, grammar: str = GRAMMAR):
    return tables.kept_parser(grammar, folder / "a.lark", None, OPTIONS)


def _kept(folder: Path) -> list[Path]:
    return list((folder / "__pycache__").iterdir())


def _making_is_a_mistake(*_: object, **__: object) -> None:
    raise AssertionError("made anew")


def test_tables_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _parser(tmp_path)
    monkeypatch.setattr(tables.Lark, "__init__", _making_is_a_mistake)
    read = _parser(tmp_path)
    assert read.parse("COUNT a") == made.parse("COUNT a")
    assert [t.name for t in read.terminals] == [t.name for t in made.terminals]
    assert [path.suffix for path in _kept(tmp_path)] == [".tables"]


def test_another_grammar_makes_tables_anew(tmp_path: Path) -> None:
    _parser(tmp_path)
    other = _parser(tmp_path, GRAMMAR.replace("COUNT", "TELL"))
    assert other.parse("TELL a").children == ["a"]
    assert len(_kept(tmp_path)) == 1


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text"])
def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: str) -> None:
    _parser(tmp_path)
    [path] = _kept(tmp_path)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    path.write_bytes({"cut": whole[:-9], "flip": bytes(flipped), "empty": b"", "text": b"no tables"}[damage])
    assert _parser(tmp_path).parse("COUNT a").children == ["a"]
    assert len(path.read_bytes()) == len(whole)


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").write_text("in the way")
    assert _parser(tmp_path).parse("COUNT a").children == ["a"]


def test_nothing_is_written_where_no_bytecode_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    _parser(tmp_path)
    assert not (tmp_path / "__pycache__").exists()


def test_a_grammar_that_is_no_file_has_no_tables_kept() -> None:
    parser = tables.kept_parser(GRAMMAR, "a.lark in an archive", None, OPTIONS)
    assert parser.parse("COUNT a").children == ["a"]
