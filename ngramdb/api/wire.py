"""Arguments and answers of verbs as JSON, and back: the messages of a `RemoteCorpus` and a service.

JSON values are sent unchanged; everything else is an object with its kind: `{"kind": "array", …}`. So is a
mapping itself, which may have any keys.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ngramdb.errors import InvalidArgument, NotSupportedError
from ngramdb.lazy import lazy_module
from ngramdb.lm.spec import ModelSpec
from ngramdb.types import array_of

if TYPE_CHECKING:
    import numpy as np

    from ngramdb.ingest.readers import arrow_data
    from ngramdb.questions import parsing
else:
    np = lazy_module("numpy")
    parsing = lazy_module("ngramdb.questions.parsing")
    arrow_data = lazy_module("ngramdb.ingest.readers.arrow_data")

#: The variable for a token, which keeps it out of the list of processes.
TOKEN_VARIABLE = "NGRAMDB_TOKEN"
#: The verbs of `Corpus` that a service answers.
VERBS = (
    "count",
    "counts",
    "count_many",
    "docs",
    "count_docs",
    "document",
    "sample",
    "kwic",
    "occurrences",
    "collocates",
    "keywords",
    "dispersion",
    "duplicates",
    "ngrams",
    "trace",
    "near_duplicates",
    "trace_arrays",
    "match_lengths",
    "prob",
    "prob_many",
    "dist",
    "dist_before",
    "dist_arrays",
    "dist_many",
    "score",
    "score_many",
    "generate",
    "draft",
    "perplexity",
    "agreement",
    "perplexity_table",
    "agreement_table",
    "novelty",
    "continuations",
)
#: Its properties, which are requested in the same way.
PROPERTIES = ("n_documents", "n_tokens")
#: The types of columns by their names in answers, and numbers that JSON lacks.
TYPES: dict[str | None, Any] = {
    "integer": int,
    "number": float,
    "boolean": bool,
    "string": str,
    "array": list,
    "object": dict,
}
NOT_FINITE = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
#: The modules of the classes of answers. The parts of an answer are the arguments that would copy it.
CLASSES = {
    **dict.fromkeys(
        ("Probability", "Generated", "NextTokens", "NextTokensMany", "Spans", "Places"),
        "ngramdb.questions.results",
    ),
    **dict.fromkeys(("StoredDocument", "Scores", "DocumentScores"), "ngramdb.questions.results"),
    "Perplexity": "ngramdb.lm.evaluation",
    "Agreement": "ngramdb.lm.evaluation",
    "Draft": "ngramdb.lm.generation",
}
#: The attributes of classes that no Python protocol takes apart.
_ATTRIBUTES = {
    "Scores": (
        "prob",
        "count",
        "context_count",
        "effective_n",
        "sparse",
        "is_probability",
        "suffix_n",
        "suffix_count",
    ),
    "DocumentScores": ("all", "offsets"),
}
_PLAIN = frozenset({int, str})
#: Arrays of little-endian numbers; no other type is made of untrusted data.
_DTYPE = re.compile(r"[<|][iuf][1248]|\|b1")


def sent(value: Any) -> Any:
    """Return a value as JSON. Raises NotSupportedError for one that cannot be sent."""
    if type(value) is list and _PLAIN.issuperset(map(type, value)):
        return value
    parts = _parts(value)
    if parts is not None:
        return {"kind": type(value).__name__, "of": [sent(part) for part in parts]}
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"kind": "number", "text": repr(value)}
    if isinstance(value, np.generic):
        return sent(value.item())
    if hasattr(value, "as_py"):  # a scalar of Arrow
        return sent(value.as_py())
    array = array_of(value)
    if array is not None and (array is value or (array.ndim == 1 and array.dtype.kind in "iub")):
        return _sent_array(array)
    if isinstance(value, parsing.Pattern):
        given = {} if value.given is None else {"given": [sent(part) for part in value.given]}
        return {"kind": "pattern", "text": value.text, **given}
    if isinstance(value, ModelSpec):
        return str(value)
    if isinstance(value, tuple):
        return {"kind": "tuple", "of": [sent(item) for item in value]}
    if isinstance(value, Mapping):
        if all(isinstance(name, str) for name in value):
            return {"kind": "object", "of": [[name, sent(item)] for name, item in value.items()]}
        return {"kind": "mapping", "of": [[sent(name), sent(item)] for name, item in value.items()]}
    if arrow_data.is_table(value):
        return [sent(row) for batch in arrow_data.opened_table(value)[1] for row in batch.to_pylist()]
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray, set, frozenset)):
        return [sent(item) for item in value]
    raise NotSupportedError(f"a {type(value).__name__} cannot be sent to a service")


def received(value: Any, corpus_named: Callable[[str], Any] | None = None) -> Any:
    """Restore the value that `sent` converted; `corpus_named` is passed for arguments, not answers.

    Raises
    ------
    InvalidArgument
        The value was not made by `sent`.
    """
    if isinstance(value, list):
        if _PLAIN.issuperset(map(type, value)):  # n-grams, by the million
            return value
        return [received(item, corpus_named) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("kind")
    try:
        if kind == "array":
            return _received_array(value["dtype"], value["base64"])
        if kind == "tuple":
            return tuple(received(item, corpus_named) for item in value["of"])
        if kind == "object":
            return {str(name): received(item, corpus_named) for name, item in value["of"]}
        if kind == "mapping":
            return {received(name): received(item, corpus_named) for name, item in value["of"]}
        if kind == "number":
            return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[value["text"]]
        if corpus_named is not None:
            if kind == "pattern":
                # Older clients send the text alone.
                text, params = received(value.get("given", [value["text"], None]))
                return parsing.pattern(text, params)
            if kind == "corpus" and isinstance(value["name"], str):
                return corpus_named(value["name"])
        elif kind in CLASSES:
            # A newer server may send attributes that this version lacks; they come last.
            parts = value["of"][: len(_ATTRIBUTES[kind])] if kind in _ATTRIBUTES else value["of"]
            return getattr(import_module(CLASSES[kind]), kind)(*map(received, parts))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"the object sent is not a valid {kind}: {error}") from error
    raise InvalidArgument(f"unknown kind of object: {kind!r}")


def _parts(value: Any) -> tuple[Any, ...] | None:
    """Return the parts of an answer; None for any other object."""
    name = type(value).__name__
    if CLASSES.get(name) != type(value).__module__:
        return None
    if name in _ATTRIBUTES:
        return tuple(getattr(value, one) for one in _ATTRIBUTES[name])
    if is_dataclass(value):
        return tuple(getattr(value, one.name) for one in fields(value))
    parts: tuple[Any, ...] = value.__getnewargs__()
    return parts


def _sent_array(array: np.ndarray[Any, Any]) -> Any:
    plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    if plain.ndim != 1 or not _DTYPE.fullmatch(plain.dtype.str):
        return sent(array.tolist())
    return {
        "kind": "array",
        "dtype": plain.dtype.str,
        "base64": base64.b64encode(plain.tobytes()).decode("ascii"),
    }


def _received_array(dtype: str, text: str) -> np.ndarray[Any, Any]:
    if not _DTYPE.fullmatch(dtype):
        raise InvalidArgument(f"arrays must hold numbers, not {dtype!r}")
    try:
        found: np.ndarray[Any, Any] = np.frombuffer(base64.b64decode(text, validate=True), np.dtype(dtype))
    except binascii.Error as error:
        raise InvalidArgument(f"the numbers of an array are not valid base64: {error}") from error
    return found.astype(found.dtype.newbyteorder("="))  # a copy, which may be written to
