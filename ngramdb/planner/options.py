"""The options of statements in parentheses: names, types and ranges, one table per statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ngramdb.errors import InvalidArgument
from ngramdb.formats import ID_TYPES, READ, WRITTEN
from ngramdb.registries import ATTACHED, DTYPE_BYTES, INFINI_GRAM_VERSIONS, ON_CONFLICT
from ngramdb.types import plain

# With smaller segments, a load makes thousands of files.
MIN_SEGMENT_TOKENS = 1024
# Escapes for white space that cannot be typed.
ESCAPES = {r"\n": "\n", r"\r": "\r", r"\t": "\t"}
# A segment's positions are unsigned 32-bit numbers.
MAX_SEGMENT_TOKENS = 2**32 - 1


class OptionType(NamedTuple):
    r"""`kind` is int, bool, str or tuple (of str).

    `choices` and the range limit the value. `escaped`: a string may be `\n`, `\r` or `\t` for the character.
    """

    kind: type
    description: str
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None
    escaped: bool = False

    def check(self, name: str, value: Any) -> Any:
        """Return the value as the option uses it.

        Raises
        ------
        InvalidArgument
            Wrong type, not one of the choices, or out of range; the message names the option.
        """
        value = plain(value)
        if self.kind is int:
            return self._check_int(name, value)
        if self.kind is bool:
            if not isinstance(value, bool):
                raise InvalidArgument(f"{name} is TRUE or FALSE, not {value!r}")
            return value
        if self.kind is tuple:
            items = (value,) if isinstance(value, str) else value
            if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
                raise InvalidArgument(f"{name} is a list of names, not {value!r}")
            return tuple(items)
        if not isinstance(value, str):
            raise InvalidArgument(f"{name} is a string, not {value!r}")
        if self.choices and value.lower() not in self.choices:
            raise InvalidArgument(f"{name} is one of {', '.join(self.choices)}, not {value!r}")
        if self.escaped:
            return ESCAPES.get(value, value)
        return value.lower() if self.choices else value

    def _check_int(self, name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidArgument(f"{name} is a whole number, not {value!r}")
        if value < self.least or (self.most is not None and value > self.most):
            limit = (
                f"at least {self.least:,}" if self.most is None else f"from {self.least:,} to {self.most:,}"
            )
            raise InvalidArgument(f"{name} is {limit}, not {value:,}")
        return value


def checked_options(given: Mapping[str, Any], known: Mapping[str, OptionType]) -> dict[str, Any]:
    """Return the given options, except those that are None, with checked values.

    Raises
    ------
    InvalidArgument
        An unknown option, or an invalid value.
    """
    for name in given:
        if name not in known:
            raise InvalidArgument(f"no option {name!r}; known: {', '.join(known)}")
    return {name: known[name].check(name, value) for name, value in given.items() if value is not None}


CORPUS_OPTIONS: dict[str, OptionType] = {
    "segment_tokens": OptionType(
        int, "most tokens in a segment of this corpus", least=MIN_SEGMENT_TOKENS, most=MAX_SEGMENT_TOKENS
    ),
    "sentence_separator": OptionType(
        str, "the token that ends a sentence and begins the next one, for language models", escaped=True
    ),
    "sentences": OptionType(bool, "whether to store where the sentences of texts begin; TRUE if not given"),
}

ATTACH_OPTIONS: dict[str, OptionType] = {
    "type": OptionType(str, "the program whose index it is", choices=ATTACHED),
    "tokenizer": OptionType(
        str, "the tokenizer.json that the index was made with; 'tokens' (ids) if not given"
    ),
    "dtype": OptionType(
        str, "the type of its tokens; derived from its files' sizes if not given", choices=tuple(DTYPE_BYTES)
    ),
    "version": OptionType(
        int,
        "infini-gram: the version of the index; 5 means that documents are stored in reverse; derived from "
        "the names of its files (4 or 6) if not given",
        least=min(INFINI_GRAM_VERSIONS),
        most=max(INFINI_GRAM_VERSIONS),
    ),
    "index": OptionType(str, "tokengrams: the file of pointers; the file of tokens with .idx if not given"),
    "separator": OptionType(int, "tokengrams: the token that ends a document; one document if not given"),
}

EXPORT_OPTIONS: dict[str, OptionType] = {
    "format": OptionType(str, "the format of the file; derived from its name if not given", choices=WRITTEN),
}

LOAD_OPTIONS: dict[str, OptionType] = {
    "format": OptionType(str, "the format of the files", choices=READ),
    "text": OptionType(str, "the field (column of a table) that holds a document's text"),
    "ids": OptionType(str, "the field (column of a table) that holds a document's token ids"),
    "metadata": OptionType(tuple, "the fields to keep as metadata; all if not given"),
    "limit": OptionType(int, "most documents to read"),
    "separator": OptionType(
        str, "the line between two documents of a text file; one document per file if not given"
    ),
    "dtype": OptionType(str, "the type of ids in files of token ids without a type", choices=ID_TYPES),
    "quotes": OptionType(
        bool, "whether fields of CSV and TSV may be in double quotes; if not, these are literal characters"
    ),
    "max_document_bytes": OptionType(int, "size of the largest document that is accepted", least=1),
    "commit_every": OptionType(
        int, "number of documents per commit; one commit for all if not given", least=1
    ),
    "resume": OptionType(bool, "whether to continue a load of the same files where it stopped"),
    "key": OptionType(str, "the metadata field that identifies a document: strings or integers"),
    "on_conflict": OptionType(
        str, "what to do with a document whose key occurred before; error if not given", choices=ON_CONFLICT
    ),
}
