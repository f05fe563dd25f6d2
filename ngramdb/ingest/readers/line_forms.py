"""How a document stood in its line of JSON, so that the line can be written again byte for byte.

Metadata are stored as typed columns, which keep values and not the way they were written: the order of
fields, nulls, blanks, escapes. A *form* keeps just that; most lines of a file have the same few, which
compress to nearly nothing. A form is bytes:

    A, B, C or D, then a JSON object  the line is what Python's json.dumps writes (see STYLES) of that object
    with
                                     stored values in the place of 0, the text for 1, the token ids for 2
    T or U, n, ":", bytes            the line itself (n bytes before the text and the bytes after), with the
    text as a
                                     JSON string of style A or B
    L, bytes                         the line itself

The main invariant, verified for every line: `line_of(form, …)` is the line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ngramdb.ingest.fields import Path

# What json.dumps is told: escapes for all but ASCII or not, blanks after separators or not.
STYLES: dict[bytes, dict[str, Any]] = {
    b"A": {"ensure_ascii": True},
    b"B": {"ensure_ascii": False},
    b"C": {"ensure_ascii": True, "separators": (",", ":")},
    b"D": {"ensure_ascii": False, "separators": (",", ":")},
}
_QUOTED = {b"T": b"A", b"U": b"B"}
# Objects below so many levels are stored as one value.
MAX_OBJECT_DEPTH = 16

# Stands for a text. (Where a record has it, too, lines are compared as a whole.)
_MARK = "ngramdb: the text"
_QUOTED_MARK = b'"ngramdb: the text"'
_VALUE, _TEXT, _IDS = 0, 1, 2


class FormFinder:
    """Finds the forms of lines; remembers what the last lines were like, since others will be like them."""

    def __init__(self) -> None:
        self._styles = list(STYLES)
        self._known: dict[bytes, bytes] = {}

    def find(self, line: bytes, record: Mapping[str, Any], path: Path, has_ids: bool) -> bytes:
        """The form of a line that holds `record`, with the text (or token ids) at `path`.

        Cost: writing its metadata once, as a rule, and some looks at the text.
        """
        text = _at(record, path)
        for k, style in enumerate(self._styles):
            quick = _is_written_so(line, record, path, style) if type(text) is str else None
            if quick or (quick is None and _dumps(record, style) == line):
                if k:
                    self._styles.insert(0, self._styles.pop(k))
                return style + _dumps(_skeleton(record, path, _IDS if has_ids else _TEXT), b"D")
        return _literal(line, text)


def line_of(form: bytes, metadata: Mapping[str, Any], text: str | None, ids: Sequence[int] | None) -> bytes:
    """The line of a document: bytes without a line end.

    Raises ValueError, KeyError or TypeError for a form that does not belong to the document.
    """
    kind, rest = form[:1], form[1:]
    if kind == b"L":
        return rest
    if kind in _QUOTED:
        head, _, content = rest.partition(b":")
        n = int(head)
        return content[:n] + _dumps(text, _QUOTED[kind]) + content[n:]
    return _dumps(_filled(json.loads(rest), metadata, text, ids), kind)


def plain_line(metadata: Mapping[str, Any], text: str | None, ids: Sequence[int] | None) -> bytes:
    """The line of a document that did not come from one: text or ids first, then its metadata."""
    content: dict[str, Any] = {"ids": ids} if text is None else {"text": text}
    return _dumps({**content, **{key: value for key, value in metadata.items() if key not in content}}, b"B")


def _dumps(value: Any, style: bytes) -> bytes:
    return json.dumps(value, **STYLES[style]).encode("utf-8", "surrogatepass")


def _is_written_so(line: bytes, record: Mapping[str, Any], path: Path, style: bytes) -> bool | None:
    r"""Whether the line is the record in this style, without writing its text; None where that does not tell.

    What stands before and after the text is compared. Its own JSON string is the one that json.dumps writes
    when all escapes are short ones: JSON has no others but \u and \/, and what must be escaped is. That the
    string ends where it seems to is told by its length, which grows with every character and every escape.
    """
    around = _dumps(_with_mark(record, path), style)
    if around.count(_QUOTED_MARK) != 1:
        return None
    before, _, behind = around.partition(_QUOTED_MARK)
    if not (line.startswith(before) and line.endswith(behind) and len(line) > len(before) + len(behind) + 1):
        return False
    inner = line[len(before) + 1 : len(line) - len(behind) - 1]
    if b"\\u" in inner or b"\\/" in inner:
        return None
    # The styles that escape all but ASCII escape U+007F, too.
    if STYLES[style]["ensure_ascii"] and not (inner.isascii() and b"\x7f" not in inner):
        return None
    text = _at(record, path)
    n_bytes = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    n_escapes = inner.count(b"\\") - inner.count(b"\\\\")
    quotes = line[len(before) : len(before) + 1], line[len(line) - len(behind) - 1 :][:1]
    return True if quotes == (b'"', b'"') and len(inner) - n_escapes == n_bytes else None


def _with_mark(record: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The record with a mark in the place of its text."""
    rest = path[1:]
    return {**record, path[0]: _with_mark(record[path[0]], rest) if rest else _MARK}


def _at(record: Mapping[str, Any], path: Path) -> Any:
    for key in path:
        record = record[key]
    return record


def _literal(line: bytes, text: Any) -> bytes:
    """The form of a line that nothing but itself tells."""
    if isinstance(text, str):
        for kind, style in _QUOTED.items():
            quoted = _dumps(text, style)
            if len(quoted) > 2 and line.count(quoted) == 1:
                n = line.index(quoted)
                return b"%c%d:" % (ord(kind), n) + line[:n] + line[n + len(quoted) :]
    return b"L" + line


def _skeleton(record: Mapping[str, Any], path: Path | None, content: int, depth: int = 1) -> dict[str, Any]:
    """The record with numbers in the place of values."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        inner = path[1:] if path is not None and path[0] == key else None
        if inner == ():
            found[key] = content
        elif type(value) is dict and (inner is not None or depth < MAX_OBJECT_DEPTH):
            found[key] = _skeleton(value, inner, content, depth + 1)
        else:
            found[key] = None if value is None else _VALUE
    return found


def _filled(
    skeleton: Mapping[str, Any], metadata: Any, text: str | None, ids: Sequence[int] | None
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, place in skeleton.items():
        if isinstance(place, dict):
            inner = metadata.get(key) if isinstance(metadata, dict) else None
            found[key] = _filled(place, inner, text, ids)
        elif place is None:
            found[key] = None
        else:
            found[key] = text if place == _TEXT else ids if place == _IDS else metadata[key]
    return found
