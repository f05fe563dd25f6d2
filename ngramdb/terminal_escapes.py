r"""Text for a terminal: characters that would steer it are written out, as \n, \xNN or \uNNNN.

Everything that a person is shown at a terminal goes through `visible`: names of corpora, fields and files
as well as texts may hold escape sequences, and overrides that turn the direction of what stands after them.
"""

from __future__ import annotations

import codecs
import json
import re

# Control characters of ASCII and Latin-1, which begin escape sequences (ESC and U+009B), ring, erase or go
# back; Unicode's line and paragraph separators; embeddings, overrides and isolates of bidirectional text.
_SPANS = ((0x00, 0x1F), (0x7F, 0x9F), (0x2028, 0x2029), (0x202A, 0x202E), (0x2066, 0x2069))
STEERING_CHARACTERS = tuple(chr(code) for first, last in _SPANS for code in range(first, last + 1))
_STEERING = re.compile("[" + "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in _SPANS) + "]")
# Such characters, without those that lines of text are made of.
_STEERING_IN_LINES = re.compile(rf"(?![\n\t]){_STEERING.pattern}")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def visible(text: str, lines: bool = False) -> str:
    r"""The text with what steers a terminal written out; with `lines`, line feeds and tabs stay.

    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    pattern = _STEERING_IN_LINES if lines else _STEERING
    return pattern.sub(lambda match: written_out(match[0]), text)


def written_out(character: str) -> str:
    """One such character as it is shown."""
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def visible_json(text: str) -> str:
    """JSON with the same characters as JSON's own escapes, so that it is read as what it was."""
    return _STEERING_IN_LINES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def encodable_json(text: str, encoding: str) -> str:
    r"""Return JSON for a stream with this encoding: unless that is UTF-8, all but ASCII as JSON's escapes.

    JSON is UTF-8 (RFC 8259, section 8.1), and any other encoding lacks characters or is read as another one.

    >>> encodable_json('["é"]', "cp1252"), encodable_json('["é"]', "UTF-8")
    ('["\\u00e9"]', '["é"]')
    """
    if text.isascii() or codecs.lookup(encoding).name == "utf-8":
        return text
    return _BEYOND_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], text)
