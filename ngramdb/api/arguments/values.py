"""Values of parameters as text: on command lines, and in addresses."""

from __future__ import annotations

import json
import re
from typing import Any

Value = int | float | bool | str | list[Any] | None

# Python refuses to make a number of some thousands of digits; what is longer than this is a text.
MOST_DIGITS = 400
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
# As the language and JSON write them; the language in either case.
_WORDS = {"null": None, "true": True, "false": False}


def parse_value(text: str) -> Value:
    """A number, `true`, `false`, `null`, a text in double quotes or a list (JSON), or the text as it is.

    A list is token ids `[5613, 4086]`, or the values of an IN `["a", "b"]`. As a text, what looks like one of
    them would be a value that no document has.
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if len(text) <= MOST_DIGITS and _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    if text[:1] in ("[", '"'):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(value, (str, list)):
            return value
    return text
