"""Metadata in any mapping, list or string class are stored as those of dicts, lists and str."""

from __future__ import annotations

import enum
import types
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import ngramdb
from ngramdb.errors import LoadError

pd = pytest.importorskip("pandas")


class OwnDict(dict[str, Any]):
    pass


class OwnMapping(Mapping[str, Any]):
    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


class OwnStr(str):
    pass


class OtherStr(str):
    """Not equal to the same text as a str, so that one dict can have both as keys."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


class OwnList(list[int]):
    pass


class Key(str, enum.Enum):
    X = "x"


Pair = namedtuple("Pair", "first second")

MAPPINGS: list[Callable[[Mapping[Any, Any]], Mapping[Any, Any]]] = [
    dict,
    OrderedDict,
    Counter,
    lambda items: defaultdict(int, items),
    types.MappingProxyType,
    UserDict,
    ChainMap,
    OwnDict,
    OwnMapping,
]
STRINGS: list[Callable[[str], str]] = [str, np.str_, OwnStr, Key]
LISTS = [[1, 2], (1, 2), OwnList([1, 2]), Pair(1, 2), np.array([1, 2])]

# Metadata as the only field, in an object, and in an object in a list.
SHAPES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda made: made,
    "nested": lambda made: {"m": made},
    "deep": lambda made: {"m": OrderedDict(n=made)},
    "listed": lambda made: {"m": [made]},
}
VERBS: dict[str, Callable[[Any, Any], Any]] = {
    "dict": lambda corpus, metadata: corpus.append([{"text": "one", **metadata}]),
    "mapping": lambda corpus, metadata: corpus.append([OwnMapping({"text": "one", **metadata})]),
    "text pair": lambda corpus, metadata: corpus.append([("one", metadata)]),
    "ids pair": lambda corpus, metadata: corpus.append([([0], metadata)]),
    "generator": lambda corpus, metadata: corpus.append(pair for pair in [("one", metadata)]),
}


@pytest.mark.parametrize("make", MAPPINGS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_mapping_and_string_is_stored_as_a_dict_of_str(make: Any, shape: str) -> None:
    """By every verb; each has another kind of string, and every kind occurs with each shape."""
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([{"text": "one", **SHAPES[shape]({"x": 1})}])
        for i, verb in enumerate(VERBS, start=MAPPINGS.index(make)):
            key = STRINGS[i % len(STRINGS)]
            VERBS[verb](corpus, SHAPES[shape](make({key("x"): 1})))
        (first, *others) = corpus.docs().fetchall()
        assert [first[1:]] * len(VERBS) == [other[1:] for other in others]
        if shape != "listed":
            path = {"itself": "x", "nested": "m.x", "deep": "m.n.x"}[shape]
            assert corpus.count_docs(f"{path} = 1") == 1 + len(VERBS)
            assert corpus.delete(f"{path} = 1") == 1 + len(VERBS)


@pytest.mark.parametrize("values", LISTS, ids=lambda values: type(values).__name__)
def test_every_list_and_tuple_is_an_array(values: Any) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([{"text": "one", "v": values}, {"text": "two", "m": {"v": values}}])
        assert corpus.count_docs("v = 2 OR m.v = 2") == 2


@pytest.mark.parametrize("make", STRINGS)
def test_every_string_class_is_a_string_value(make: Any) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([{"text": "one", "v": make("x")}, {"text": "two", "v": [make("x")]}])
        assert corpus.count_docs("v = 'x'") == 2


@pytest.mark.parametrize("missing", [None, float("nan"), np.datetime64("NaT"), pd.NaT, pd.NA], ids=repr)
def test_every_missing_value_is_null(missing: Any) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        fields = {"k": missing, "m": {"k": missing}, "l": [1, missing]}
        corpus.append([{"text": "one", **fields}, {"text": "two", "k": 1, "m": {"k": 1}, "l": [2]}])
        assert corpus.count_docs("k IS NULL AND m.k IS NULL AND l = 1") == 1


TWICE = {"x": 1, OtherStr("x"): 2}


@pytest.mark.parametrize("metadata", [TWICE, {"m": TWICE}, {"l": [TWICE]}])
def test_two_keys_with_one_text_are_refused(metadata: Any) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        with pytest.raises(LoadError, match="metadata key 'x' occurs twice"):
            corpus.append([("one", metadata)])
        assert corpus.n_documents == 0
