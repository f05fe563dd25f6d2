"""Forms of lines (FORMAT.md) of documents whose metadata changed after loading.

`ngramdb.ingest.readers.lines` finds forms and writes lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ngramdb.segments.metadata_columns import MAX_OBJECT_DEPTH

_VALUE, _TEXT, _IDS = 0, 1, 2
# Placeholder for the text of a form that stores the rest of its line.
_MARK = "ngramdb: the text"
# Their quoting, as the style of an object.
_STYLES = {b"T": b"A", b"U": b"B"}


def changed_form(form: bytes, metadata: Mapping[str, Any]) -> bytes | None:
    """Return a form with other fields, whose text is where it was: new fields follow, and null is left out.

    None if the text is in the field `text`, as in a line without a form, or if its place is not known, or a
    field has it now.
    """
    kind, rest = form[:1], form[1:]
    if kind in _STYLES:
        head, _, content = rest.partition(b":")
        n = int(head)
        line = json.loads(content[:n] + json.dumps(_MARK).encode() + content[n:])
        skeleton, kind = _places(line, _MARK), _STYLES[kind]
    elif kind == b"L":
        return None
    else:
        skeleton = json.loads(rest)
    if skeleton.get("text") == _TEXT:
        return None
    found = _with_fields(skeleton, metadata)
    if found is None:
        return None
    return kind + json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def _with_fields(skeleton: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for key, place in skeleton.items():
        if isinstance(place, dict):
            inner = metadata.get(key, {})
            if not isinstance(inner, Mapping):
                if _has_content(place):
                    return None
                found[key] = _VALUE
                continue
            within = _with_fields(place, inner)
            if within is None:
                return None
            if within or key in metadata:
                found[key] = within
        elif place in (_TEXT, _IDS):
            if key in metadata:
                return None
            found[key] = place
        elif key in metadata:
            found[key] = _places(metadata[key])
    return found | {key: _places(value) for key, value in metadata.items() if key not in found}


def _has_content(skeleton: Mapping[str, Any]) -> bool:
    places = skeleton.values()
    return any(_has_content(place) if isinstance(place, dict) else place in (_TEXT, _IDS) for place in places)


def _places(value: Any, text: str | None = None, depth: int = 0) -> Any:
    """Return numbers in place of values, as forms have them; `text` is that of the document."""
    if isinstance(value, dict) and depth < MAX_OBJECT_DEPTH:
        return {key: _places(one, text, depth + 1) for key, one in value.items()}
    if value is None:
        return None
    return _TEXT if text is not None and value == text else _VALUE
