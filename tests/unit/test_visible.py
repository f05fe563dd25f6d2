"""Text for a terminal: what is written out, and what stays."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import ngramdb
from ngramdb.display import visible, visible_json

EVERY = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF)
# The classes of bidirectional text that turn the text after them, and those that end lines.
TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
STEERING = {
    c
    for c in EVERY
    if unicodedata.category(c) in ("Cc", "Zl", "Zp") or unicodedata.bidirectional(c) in TURNING
}


def test_no_character_of_unicode_that_steers_is_left() -> None:
    assert len(STEERING) > 70
    for shown in (visible(EVERY), visible(EVERY, lines=True), visible_json(EVERY)):
        assert STEERING.intersection(shown) <= {"\n", "\t"}


def test_everything_else_is_as_it_was() -> None:
    kept = "".join(c for c in EVERY if c not in STEERING)
    assert visible(kept) == visible(kept, lines=True) == visible_json(kept) == kept


def test_what_is_written_out_can_be_read() -> None:
    assert visible("a\nb\tc\rd\x1b[0m\x9b\u202e") == "a\\nb\\tc\\rd\\x1b[0m\\x9b\\u202e"
    assert visible("a\nb\tc\r", lines=True) == "a\nb\tc\\r"
    written = json.dumps({EVERY: EVERY}, ensure_ascii=False)
    assert json.loads(visible_json(written)) == {EVERY: EVERY}


def test_objects_are_shown_without_control_characters(tmp_path: Path) -> None:
    name = "esc\x1b[2J\u202ename"
    with ngramdb.connect(tmp_path / "a\x1b[2Jb") as db:
        corpus = db.create_corpus(name)
        corpus.append(["a b"])
        shown = [db, corpus, corpus.where('"a"'), db.settings, db.execute("SHOW CORPORA"), corpus.kwic("a")]
        db.drop_corpus(name)
        shown += [corpus]
        for one in shown:
            assert visible(repr(one), lines=True) == repr(one)
    for one in (db, corpus):
        assert visible(repr(one)) == repr(one)
