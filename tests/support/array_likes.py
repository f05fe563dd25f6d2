"""Flat integers in every kind of array that a caller may hold."""

from __future__ import annotations

import array
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


class Exchanged:
    """An array that offers nothing but DLPack, as those of some GPU libraries do."""

    def __init__(self, values: list[int]) -> None:
        self._values = np.array(values, dtype=np.int64)

    def __dlpack__(self, **options: Any) -> Any:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


class Wrapped:
    """An array that offers nothing but `__array__`."""

    def __init__(self, values: list[int]) -> None:
        self._values = np.array(values, dtype=np.int64)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._values, dtype=dtype)


def _numpy(dtype: str) -> Callable[[list[int]], Any]:
    return lambda values: np.array(values, dtype=dtype)


def _torch(dtype: str) -> Callable[[list[int]], Any]:
    def made(values: list[int]) -> Any:
        torch = pytest.importorskip("torch")
        return torch.tensor(values, dtype=getattr(torch, dtype))

    return made


def _arrow(values: list[int]) -> Any:
    return pytest.importorskip("pyarrow").array(values, type="int64")


def _chunked(values: list[int]) -> Any:
    return pytest.importorskip("pyarrow").chunked_array([values[:1], values[1:]], type="int64")


def _strided(values: list[int]) -> Any:
    return np.repeat(np.array(values, dtype=np.int64), 2)[::2]


#: Everything that is an array of integers, made of a list of small ones.
ARRAYS: dict[str, Callable[[list[int]], Any]] = {
    **{name: _numpy(name) for name in ("int8", "uint8", "int16", "uint32", "int64", "uint64", ">i4")},
    "numpy, strided": _strided,
    "numpy, read-only": lambda values: np.frombuffer(np.array(values, dtype=np.int64).tobytes(), np.int64),
    "torch int32": _torch("int32"),
    "torch int64": _torch("int64"),
    "pyarrow Array": _arrow,
    "pyarrow ChunkedArray": _chunked,
    "polars": lambda values: pytest.importorskip("polars").Series(
        values, dtype=pytest.importorskip("polars").Int64
    ),
    "pandas": lambda values: pytest.importorskip("pandas").Series(values, dtype="int64"),
    "pandas Index": lambda values: pytest.importorskip("pandas").Index(values, dtype="int64"),
    "pandas Int64": lambda values: pytest.importorskip("pandas").Series(values, dtype="Int64"),
    "pandas, of Arrow": lambda values: pytest.importorskip("pandas").Series(values, dtype="int64[pyarrow]"),
    "array.array": lambda values: array.array("q", values),
    "array.array of bytes": lambda values: array.array("B", values),
    "memoryview": lambda values: memoryview(array.array("q", values)),
    "memoryview of bytes": lambda values: memoryview(bytes(values)),
    "__array__": Wrapped,
    "DLPack": Exchanged,
}
#: Sequences of integers that are not arrays.
SEQUENCES: dict[str, Callable[[list[int]], Any]] = {"list": list, "tuple": tuple, "deque": deque}
