"""Quotes in tables as text, which Arrow's parser takes as they come: it reads `"a"b` as `ab`.

A field that begins with a quote ends at the next one that is not doubled. Where something stands between that
and the next delimiter, the quote was no such sign but part of the text, and the parser has taken whatever
followed, delimiters and line ends among it, for the same field: documents would be missing without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ngramdb import interrupts
from ngramdb.errors import LoadError

_WHOLE = re.compile(rb'"[^"]*(?:""[^"]*)*"')


def checked(chunks: Iterator[bytes], delimiter: str, label: str, most_bytes: int) -> Iterator[bytes]:
    """The same pieces, each after its quotes were looked at.

    most_bytes : of a quoted field; a longer one is left to the parser, which refuses it.

    Raises LoadError, with the number of the line, where a quoted field goes on behind its last quote, or has
    none.
    Cost: 0.4 µs a quoted field, nothing for pieces without a quote.
    """
    sign = re.escape(delimiter).encode()
    # It fits at every quote that begins a field, so that it never begins within one: up to the quote that
    # ends it, and what stands there, or to the end of what was read.
    field = re.compile(rb'"(?<=[' + sign + rb'\r\n]")[^"]*(?:""[^"]*)*(?:"([^"' + sign + rb"\r\n]?)|\Z)")
    rest, line = b"\n", 0  # the first field of all is behind a line end, too
    for chunk in chunks:
        if len(rest) > most_bytes:
            yield chunk
            continue
        interrupts.check()
        text = rest + chunk
        open_from = len(text)
        if b'"' in text:
            for found in field.finditer(text):
                if found[1]:
                    line += text.count(b"\n", 0, found.end())
                    raise LoadError(
                        f"line {line}: more follows the quote that ends a field, where a delimiter or the "
                        "line's end should stand; a text that begins with a quote stands in quotes, and "
                        "each quote in it is doubled; in a file that has no quotes around fields they are "
                        "characters like others by QUOTES FALSE (--no-quotes)",
                        source=label,
                    )
                if found.end() == len(text):  # perhaps a half of a doubled quote
                    open_from = found.start()
        kept = open_from - 1  # what stands before the next field tells where it begins
        line += text.count(b"\n", 0, kept)
        rest = text[kept:]
        yield chunk
    if rest[1:2] == b'"' and len(rest) <= most_bytes and not _WHOLE.fullmatch(rest, 1):
        line += rest.startswith(b"\n")
        raise LoadError(
            f"line {line}: the quote that begins a field here never ends, so that all that follows would be "
            "one; was the file cut short?",
            source=label,
        )
