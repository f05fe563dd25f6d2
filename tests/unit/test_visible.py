"""Text for a terminal: what is written out, and what stays."""

from __future__ import annotations

import json
import unicodedata

from ngramdb.visible import visible, visible_json

EVERY = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF)
# The classes of bidirectional text that turn what stands after them, and those that end lines.
TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def test_no_character_of_unicode_that_steers_is_left() -> None:
    for shown in (visible(EVERY), visible(EVERY, lines=True), visible_json(EVERY)):
        left = {c for c in set(shown) if unicodedata.category(c) in ("Cc", "Zl", "Zp")}
        assert left <= {"\n", "\t"}
        assert not any(unicodedata.bidirectional(c) in TURNING for c in set(shown))


def test_everything_else_is_as_it_was() -> None:
    kept = "".join(
        c
        for c in EVERY
        if unicodedata.category(c) not in ("Cc", "Zl", "Zp") and unicodedata.bidirectional(c) not in TURNING
    )
    assert visible(kept) == visible(kept, lines=True) == visible_json(kept) == kept


def test_what_is_written_out_can_be_read() -> None:
    assert visible("a\nb\tc\rd\x1b[0m\x9b\u202e") == "a\\nb\\tc\\rd\\x1b[0m\\x9b\\u202e"
    assert visible("a\nb\tc\r", lines=True) == "a\nb\tc\\r"
    written = json.dumps({EVERY: EVERY}, ensure_ascii=False)
    assert json.loads(visible_json(written)) == {EVERY: EVERY}
