"""Argument types of the Python verbs, for type checkers, editors and readers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Union

import numpy as np
from numpy.typing import NDArray

from ngramdb.lm.spec import ModelSpec

if TYPE_CHECKING:
    from typing import TypeAlias

    from typing_extensions import Unpack

    __all__ = [
        "AttachOptions",
        "BuildOptions",
        "CorpusOptions",
        "Documents",
        "LoadOptions",
        "ModelLike",
        "Ngram",
        "Ngrams",
        "Table",
        "TokenizerLike",
        "Unpack",
    ]


Ids: TypeAlias = Union[Sequence[int], NDArray[np.integer[Any]]]  # noqa: UP007 - evaluated on Python 3.10
# Text or token ids, for every n-gram argument.
Ngram: TypeAlias = Union[str, Ids]  # noqa: UP007
# Several n-grams, or all token ids one after the other and the offsets at which n-grams begin.
Ngrams: TypeAlias = Union[Iterable[Ngram], tuple[NDArray[Any], NDArray[Any]]]  # noqa: UP007
# The text that would follow USING, or an object of `ngramdb.lm`.
ModelLike: TypeAlias = Union[str, ModelSpec]  # noqa: UP007


class Table(Protocol):
    """An object that offers its rows by Arrow's stream protocol, like frames of pandas and polars."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Document: TypeAlias = Union[str, Mapping[str, Any], Ids, tuple[Union[str, Ids], Mapping[str, Any]]]  # noqa: UP007
Documents: TypeAlias = Union[Iterable[Document], Table]  # noqa: UP007


class LoadOptions(TypedDict, total=False):
    """Further options of `load`, as in COPY."""

    ids: str | None
    metadata: str | Sequence[str] | None
    separator: str | None
    dtype: str | None
    quotes: bool | None
    max_document_bytes: int | None
    commit_every: int | None
    resume: bool | None
    key: str | None
    on_conflict: str | None


class BuildOptions(TypedDict, total=False):
    """Further options of a build in parts, as in `load`."""

    text: str | None
    format: str | None
    ids: str | None
    metadata: str | Sequence[str] | None
    separator: str | None
    dtype: str | None
    quotes: bool | None
    max_document_bytes: int | None


class StoredTokenizer(Protocol):
    """An object that serializes itself as a tokenizer.json: a `tokenizers.Tokenizer`."""

    def to_str(self, pretty: bool = False) -> str: ...


class FastTokenizer(Protocol):
    """A fast tokenizer of `transformers`."""

    @property
    def backend_tokenizer(self) -> Any: ...


TokenizerLike: TypeAlias = Union[str, os.PathLike[str], StoredTokenizer, FastTokenizer]  # noqa: UP007


class AttachOptions(TypedDict, total=False):
    """Options of an attachment, as in ATTACH."""

    type: str
    tokenizer: TokenizerLike
    dtype: str
    version: int
    index: str | os.PathLike[str]
    separator: int


class CorpusOptions(TypedDict, total=False):
    """Options of a new corpus."""

    segment_tokens: int
    sentence_separator: str
    sentences: bool


# ---- Values of parameters as text: on command lines, and in addresses.


Value = int | float | bool | str | list[Any] | None

# Python refuses to convert thousands of digits to a number; anything longer than this stays a text.
MOST_DIGITS = 400
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
# As in the language and JSON; the language allows either case.
_WORDS = {"null": None, "true": True, "false": False}


def parse_value(text: str) -> Value:
    """Parse a number, `true`, `false`, `null`, text in double quotes or a list (JSON); else return `text`.

    A list is token ids `[5613, 4086]`, or the values of IN `["a", "b"]`.
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
