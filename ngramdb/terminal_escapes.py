r"""Text for a terminal: characters that would control it are escaped as \n, \xNN or \uNNNN.

Everything that users see at a terminal passes through `visible`: names of corpora, fields and files
as well as texts may contain escape sequences, and overrides of the direction of the following text.
"""

from __future__ import annotations

import codecs
import json
import re

# Control characters of ASCII and Latin-1, which begin escape sequences (ESC and U+009B), ring, erase or move
# back; Unicode's line and paragraph separators; embeddings, overrides and isolates of bidirectional text.
_SPANS = ((0x00, 0x1F), (0x7F, 0x9F), (0x2028, 0x2029), (0x202A, 0x202E), (0x2066, 0x2069))
STEERING_CHARACTERS = tuple(chr(code) for first, last in _SPANS for code in range(first, last + 1))
_STEERING = re.compile("[" + "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in _SPANS) + "]")
# The same characters without those of which lines of text consist.
_STEERING_IN_LINES = re.compile(rf"(?![\n\t]){_STEERING.pattern}")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def visible(text: str, lines: bool = False) -> str:
    r"""Escape characters that control the terminal; with `lines`, line feeds and tabs stay.

    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    pattern = _STEERING_IN_LINES if lines else _STEERING
    return pattern.sub(lambda match: written_out(match[0]), text)


def written_out(character: str) -> str:
    """Return the escape for one such character."""
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def visible_json(text: str) -> str:
    """Return JSON with the same characters in JSON's own escapes, so that it decodes to the same value."""
    return _STEERING_IN_LINES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def encodable_json(text: str, encoding: str) -> str:
    r"""Return JSON for a stream with this encoding: unless it is UTF-8, all but ASCII is escaped.

    JSON is UTF-8 (RFC 8259, section 8.1), and any other encoding lacks characters or is misread.

    >>> encodable_json('["é"]', "cp1252"), encodable_json('["é"]', "UTF-8")
    ('["\\u00e9"]', '["é"]')
    """
    if text.isascii() or codecs.lookup(encoding).name == "utf-8":
        return text
    return _BEYOND_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], text)
