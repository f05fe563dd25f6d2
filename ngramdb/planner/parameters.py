"""Names, values of placeholders (`?` by position, `:name` by name), and tables of options in parentheses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ngramdb.errors import BindError, InvalidArgument, PlanError
from ngramdb.formats import ID_TYPES, OF_IDS, OF_RANGES, READ, WRITTEN
from ngramdb.language import ast
from ngramdb.registries import ATTACHED, DEFAULT_MATCH, DTYPE_BYTES, INFINI_GRAM_VERSIONS, ON_CONFLICT
from ngramdb.source import Corpus
from ngramdb.types import plain


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name in `known` most like `name`, ignoring case, or None if no name is near."""
    import difflib

    by_folded = {candidate.casefold(): candidate for candidate in known}
    # 0.6 is where difflib's ratio separates one or two slips in a short word from another word.
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def listing(names: Iterable[str], limit: int = 10) -> str:
    """Join names as a sentence lists them; cut long lists."""
    every = sorted(names)
    shown = ", ".join(every[:limit])
    return f"{shown}, … ({len(every)} in all)" if len(every) > limit else shown


def default_corpus(current: str | None, names: Sequence[str]) -> str:
    """Return the corpus of a query without FROM: the current one (USE), else the only one of `names`.

    Raises
    ------
    BindError
        No corpus exists; several exist and none is current; or the current one no longer exists.
    """
    if current is not None and current in names:
        return current
    if not names:
        raise BindError("no corpus exists yet: create one with CREATE CORPUS name")
    if current is not None:
        raise BindError(
            f"the current corpus, {current!r}, no longer exists. Write FROM name, or USE name once; known: "
            f"{listing(names)}"
        )
    if len(names) == 1:
        return names[0]
    raise BindError(f"which corpus? Write FROM name, or USE name once; known: {listing(names)}")


# ---- values of a field that are similar to the one that a statement compares it with


# Limits of the values of a segment that are compared one by one, and of those searched for similar spelling.
MAX_VALUES = 1 << 17
MAX_SIMILAR = 1000


def near_value(corpus: Corpus, path: str, text: str) -> str | None:
    """Return the value of a field that is most like `text`, or None if the field has `text` itself.

    A value is near if it differs in case or in surrounding blanks. A value that documents share is also near
    if its spelling is similar.

    Notes
    -----
    Cost: that of reading the different values of a dictionary, or of a column of at most MAX_VALUES texts.
    """
    shared: dict[str, None] = {}
    near: str | None = None
    folded = text.strip().casefold()
    for segment in corpus.segments:
        type_name = segment.metadata.fields().get(path)
        if type_name not in (None, "string", "list<string>") or segment.metadata.rest_has(path):
            return None
        if type_name is None:
            continue
        for values, is_shared in _values(segment.metadata.column(path), type_name):
            if len(values) > MAX_VALUES or values.index(text).as_py() >= 0:
                return None
            known = [value for value in values.to_pylist() if value is not None]
            near = near or next((value for value in known if value.strip().casefold() == folded), None)
            if is_shared and len(shared) + len(known) <= MAX_SIMILAR:
                shared.update(dict.fromkeys(known))
    return near or nearest(text, shared)


def _values(column: Any, type_name: str) -> Iterator[tuple[Any, bool]]:
    """Yield arrays with all values of a column, and whether documents share them."""
    last = None
    for chunk in getattr(column, "chunks", [column]):
        strings = chunk.flatten() if type_name.startswith("list<") else chunk
        if not hasattr(strings, "dictionary"):
            yield strings, False
        elif last is None or not strings.dictionary.equals(last):
            last = strings.dictionary
            yield last, True


# ---- Values of placeholders.


ParameterValues = Sequence[Any] | Mapping[str, Any] | None


def placeholders(node: object) -> Iterator[ast.Parameter]:
    """Yield every placeholder of a syntax tree, in the order of its fields."""
    if isinstance(node, ast.Parameter):
        yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from placeholders(item)
    elif isinstance(node, ast.Node):
        for item in dataclasses.fields(node):
            if item.name != "span":
                yield from placeholders(getattr(node, item.name))


class Placeholders:
    """The placeholders of a text, found once, since texts are run repeatedly with other values."""

    def __init__(self, trees: Sequence[ast.Node]) -> None:
        found = [p for tree in trees for p in placeholders(tree)]
        self.positions = [p for p in found if p.index is not None]
        self.names = [p for p in found if p.index is None]
        self.n_wanted = 1 + max((int(p.index or 0) for p in self.positions), default=-1)


# The characters at the end of a part of a pattern.
_ENDS_OF_PARTS = frozenset('"/*)]?')


class Parameters:
    """The values of the placeholders of statements or of a condition, given as trees or as placeholders.

    Raises
    ------
    PlanError
        A value is missing or superfluous, or values by position meet placeholders by name; names it.
    """

    def __init__(
        self,
        trees: Sequence[ast.Node] | Placeholders,
        values: ParameterValues,
        text: str | None = None,
    ) -> None:
        self._text = text
        self._values: ParameterValues = values
        wanted = trees if isinstance(trees, Placeholders) else Placeholders(trees)
        if wanted.positions and wanted.names:
            raise self._error("use either ? or :name in one text, not both", wanted.names[0])
        # Lists and tuples first: testing for a Mapping takes longer.
        if type(values) is list or type(values) is tuple or not isinstance(values, Mapping):
            self._check_positions(values, wanted)
        else:
            self._check_names(values, wanted.names, wanted.positions)

    def _check_names(
        self, values: Mapping[str, Any], names: list[ast.Parameter], positions: list[ast.Parameter]
    ) -> None:
        if positions:
            raise self._error(
                "? takes its value by position: give a list or a tuple, not a dict", positions[0]
            )
        for parameter in names:
            if parameter.name not in values:
                raise self._error(f"no value was given for :{parameter.name}", parameter)
        known = {str(p.name) for p in names}
        for key in values:
            if key not in known:
                hint = nearest(str(key), known)
                suffix = f"; did you mean :{hint}?" if hint else ""
                raise PlanError(f"a value was given for :{key}, which is not in the statement{suffix}")

    def _check_positions(self, values: Any, wanted: Placeholders) -> None:
        names, n_wanted = wanted.names, wanted.n_wanted
        is_plain = values is None or type(values) is list or type(values) is tuple
        if not is_plain and (isinstance(values, (str, bytes)) or not isinstance(values, Sequence)):
            raise PlanError(f"parameters must be a list, a tuple or a dict, not {type(values).__name__}")
        if names:
            given = "none were given" if not values else "give a dict"
            raise self._error(f":{names[0].name} takes its value by name: {given}", names[0])
        n_given = 0 if values is None else len(values)
        if n_given < n_wanted:
            first = next(p for p in wanted.positions if (p.index or 0) >= n_given)
            what = f"no value was given for parameter {n_given + 1} of {n_wanted}"
            raise self._error(what + self._if_optional(first), first)
        if n_given > n_wanted:
            raise PlanError(
                f"{n_given} parameter value{'s were' if n_given != 1 else ' was'} given, "
                f"but the statement has {n_wanted or 'no'} placeholder{'' if n_wanted == 1 else 's'}"
            )

    def _if_optional(self, node: ast.Node) -> str:
        """Return advice on a `?` directly after a part of a pattern, "optional" in other languages."""
        before = "" if self._text is None or node.span is None else self._text[: node.span.start]
        if before[-1:] not in _ENDS_OF_PARTS:
            return ""
        return "; ? stands for a parameter: an optional part of a pattern is written {0,1}"

    def _error(self, message: str, node: ast.Node) -> PlanError:
        span = node.span
        return PlanError(
            message, text=self._text, start=span.start if span else None, stop=span.stop if span else None
        )

    def told(self, text: str, node: ast.Node, match: str = DEFAULT_MATCH) -> str:
        """Return the text of a statement or condition with the values of its placeholders, for audit records.

        The setting `match` is included unless it is the default.
        """
        values = [] if match == DEFAULT_MATCH else [f"SET match = '{match}'"]
        for parameter in placeholders(node):
            value = self.value(parameter)
            # All of an array: its own form omits values in the middle.
            shown = value.tolist() if isinstance(value, np.ndarray) else value
            values.append(f"{self.describe(parameter)}: {shown!r}")
        return f"{text} -- {', '.join(values)}" if values else text

    def value(self, parameter: ast.Parameter) -> Any:
        """Return the value of a placeholder, numpy scalars as plain Python ones."""
        values: Any = self._values
        value = values[str(parameter.name) if parameter.index is None else parameter.index]
        return value.item() if isinstance(value, np.generic) else value

    @staticmethod
    def describe(parameter: ast.Parameter) -> str:
        """Return the name of a placeholder for messages."""
        return f":{parameter.name}" if parameter.index is None else f"parameter {parameter.index + 1}"


# ---- options in parentheses


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
                raise InvalidArgument(f"{name} must be TRUE or FALSE, not {value!r}")
            return value
        if self.kind is tuple:
            items = (value,) if isinstance(value, str) else value
            if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
                raise InvalidArgument(f"{name} must be a list of names, not {value!r}")
            return tuple(items)
        if not isinstance(value, str):
            raise InvalidArgument(f"{name} must be a string, not {value!r}")
        if self.choices and value.lower() not in self.choices:
            raise InvalidArgument(f"{name} must be one of {', '.join(self.choices)}, not {value!r}")
        if self.escaped:
            return ESCAPES.get(value, value)
        return value.lower() if self.choices else value

    def _check_int(self, name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidArgument(f"{name} must be a whole number, not {value!r}")
        if value < self.least or (self.most is not None and value > self.most):
            limit = (
                f"at least {self.least:,}" if self.most is None else f"from {self.least:,} to {self.most:,}"
            )
            raise InvalidArgument(f"{name} must be {limit}, not {value:,}")
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
    "format": OptionType(
        str, "the format of the file; derived from its name if not given", choices=(*WRITTEN, *OF_IDS)
    ),
    "separator": OptionType(int, "megatron, nanogpt: the id after each document", least=0),
    "dtype": OptionType(
        str, "megatron, nanogpt: the type of ids; by the vocabulary if not given", choices=ID_TYPES
    ),
}

# Those of COPY of a statement that removes.
REMOVAL_OPTIONS: dict[str, OptionType] = {
    "format": OptionType(
        str, "the format of the file; derived from its name if not given", choices=(*WRITTEN, *OF_RANGES)
    ),
    "id": OptionType(str, "the field that identifies documents; id, or doc_id if there is no such field"),
    "attribute": OptionType(str, "dolma: the name of the attribute; that of the statement if not given"),
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
