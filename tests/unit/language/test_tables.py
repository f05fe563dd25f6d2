"""Parse tables are kept between processes, and rebuilt whenever the kept ones are unusable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ngramdb.language import syntax
from ngramdb.language.syntax import END, State

GRAMMAR = 'start: "COUNT" WORD\nWORD: /[a-z]+/\n%ignore " "\n'


@pytest.fixture(autouse=True)
def _keeps_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)


def _tables(folder: Path, grammar: str = GRAMMAR) -> syntax.Tables:
    (folder / "a.lark").write_text(grammar)
    return syntax.kept_tables(str(folder / "a.lark"), ["start"])


def _kept(folder: Path) -> list[Path]:
    return list((folder / "__pycache__").iterdir())


def _making_is_a_mistake(*_: object, **__: object) -> None:
    raise AssertionError("made anew")


class Builder:
    def start(self, parts: list[str]) -> list[str]:
        return parts


def _read(parse_tables: syntax.Tables, *terminals: str) -> list[str]:
    state = State(parse_tables, "start", Builder())
    for terminal in terminals:
        state.take(terminal, terminal.lower())
    return state.take(END)


def test_tables_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _tables(tmp_path)
    assert _read(made, "COUNT", "WORD") == ["count", "word"]
    monkeypatch.setattr(syntax, "make_tables", _making_is_a_mistake)
    assert _tables(tmp_path) == made
    assert [path.suffix for path in _kept(tmp_path)] == [".tables"]


def test_another_grammar_makes_tables_anew(tmp_path: Path) -> None:
    _tables(tmp_path)
    other = _tables(tmp_path, GRAMMAR.replace("COUNT", "TELL"))
    assert _read(other, "TELL", "WORD") == ["tell", "word"]
    assert len(_kept(tmp_path)) == 1


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text"])
def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: str) -> None:
    _tables(tmp_path)
    [path] = _kept(tmp_path)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    path.write_bytes({"cut": whole[:-9], "flip": bytes(flipped), "empty": b"", "text": b"no tables"}[damage])
    assert _read(_tables(tmp_path), "COUNT", "WORD") == ["count", "word"]
    assert len(path.read_bytes()) == len(whole)


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").write_text("in the way")
    assert _read(_tables(tmp_path), "COUNT", "WORD") == ["count", "word"]


def test_nothing_is_written_where_no_bytecode_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    _tables(tmp_path)
    assert not (tmp_path / "__pycache__").exists()
