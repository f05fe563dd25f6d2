"""Names and files to tokenizers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ngramdb.errors import CorruptionError, InvalidArgument
from ngramdb.registries import NAMED_TOKENIZERS, TOKENIZER_KINDS
from ngramdb.tokenizers import create_tokenizer, open_tokenizer
from ngramdb.tokenizers.registry import title_of


@pytest.mark.parametrize("kind", NAMED_TOKENIZERS)
def test_a_built_in_kind_is_made_and_opened_by_its_name(kind: str) -> None:
    assert create_tokenizer(kind).kind == open_tokenizer(kind).kind == kind
    assert kind in TOKENIZER_KINDS


def test_a_tokenizer_json_is_found_by_path_or_folder(tmp_path: Path, byte_level_json: bytes) -> None:
    (tmp_path / "tokenizer.json").write_bytes(byte_level_json)
    for spec in (tmp_path, tmp_path / "tokenizer.json", str(tmp_path / "tokenizer.json")):
        assert create_tokenizer(spec).kind == "json"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "wrods",
            r"unknown tokenizer 'wrods' \(did you mean 'words'\?\); choose 'words', 'words\(lower\)', ",
        ),
        ("gpt2", "unknown tokenizer 'gpt2'; choose"),
        ("", "unknown tokenizer ''"),
        ("absent/tokenizer.json", "no such file 'absent/tokenizer.json'"),
        (None, "not NoneType"),
        (17, "not int"),
    ],
)
def test_what_names_no_tokenizer_is_refused_with_the_choices(spec: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        create_tokenizer(spec)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"model": {}}', b"\xff\xfe", b"PK\x03\x04"])
def test_a_file_that_is_no_tokenizer_is_refused_by_path(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(InvalidArgument, match=r"tokenizer\.json is not a tokenizer\.json"):
        create_tokenizer(path)


def test_a_stored_corpus_with_an_impossible_tokenizer_is_corrupt(
    as_file: Callable[[Any], Any], byte_level_json: bytes, tmp_path: Path
) -> None:
    (tmp_path / "t.json").write_bytes(byte_level_json)
    content = create_tokenizer(tmp_path / "t.json").definition()
    assert content is not None
    for kind, damage in (("json", "cut"), ("json", "empty"), ("json", "none"), ("morphemes", "none")):
        file = as_file(content)
        if damage == "cut":
            file.sections["tokenizer"] = file.sections["tokenizer"][:100]
        if damage == "empty":
            file.sections.clear()
        with pytest.raises(CorruptionError):
            open_tokenizer(kind, None if damage == "none" else file)


def test_the_heavy_library_is_imported_only_when_it_is_used() -> None:
    script = (
        "import sys, ngramdb.tokenizers as t; t.create_tokenizer('words').encode('a'); "
        "sys.exit('tokenizers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_two_files_of_one_kind_have_titles_of_their_own(
    byte_level_json: bytes, word_piece_json: bytes
) -> None:
    assert title_of("words", None) == "words"
    assert re.fullmatch(r"json \(BPE, [0-9a-f]{8}\)", title_of("json", byte_level_json))
    assert re.fullmatch(r"json \(WordPiece, [0-9a-f]{8}\)", title_of("json", word_piece_json))
    assert title_of("json", byte_level_json) != title_of("json", byte_level_json + b" ")
    assert re.fullmatch(r"json \([0-9a-f]{8}\)", title_of("json", b"no json"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_named_pipe_is_refused_as_what_it_is_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    os.mkfifo(path)
    for spec in (path, tmp_path):
        with pytest.raises(InvalidArgument, match=r"tokenizer\.json: it is a named pipe"):
            create_tokenizer(spec)
