from collections.abc import Sequence
from typing import Any, overload

from numpy import bool_, dtype, float64, int64
from numpy.typing import NDArray

Ids = Any  # a sequence or an array of integers

UNKNOWN: int
END: int
BEGIN: int
KINDS: tuple[str, ...]
SCORED: dtype[Any]
FREQUENT_NUMBERS: int

class LanguageIndex:
    segments: tuple[Any, ...]
    separator: int | None
    def __init__(
        self, segments: Sequence[Any], signs: Sequence[int], separator: int | None = None
    ) -> None: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def n_sentences(self) -> int: ...
    def types(self) -> tuple[NDArray[int64], NDArray[int64]]: ...
    def counts_of_counts(
        self, max_length: int, *, share_rows: int | None = None, frequent_from: int | None = None
    ) -> tuple[NDArray[int64], NDArray[int64], NDArray[int64], int, list[tuple[int, ...]]]: ...
    def ngrams(
        self, n: int, n_expected: int = 0
    ) -> tuple[NDArray[int64], NDArray[int64], NDArray[bool_], int]: ...

class Model:
    index: LanguageIndex
    def __init__(
        self,
        index: LanguageIndex,
        kind: str,
        order: int = 0,
        min_count: int = 1,
        weight: float = 0.4,
        levels: Sequence[Sequence[float]] = ...,
        top: Sequence[float] = (),
        by_occurrences: bool = False,
        empty: Any = None,
        n_left_of_end: int = 0,
        frequent: Sequence[Sequence[int]] = (),
    ) -> None: ...
    def score(self, flat: Ids, offsets: Ids, sentences: bool = False) -> NDArray[Any]: ...
    def estimate(
        self, flat: Ids, offsets: Ids, tokens: Ids, begins: Any, token_offsets: Ids | None = None
    ) -> NDArray[Any]: ...
    def distribution(self, context: Ids, begins: bool = False) -> NDArray[float64]: ...
    def shares(
        self, context: Ids, begins: bool = False
    ) -> tuple[NDArray[int64], NDArray[float64], float]: ...
    def unigrams(self) -> NDArray[float64]: ...
    def successors(
        self, context: Ids, begins: bool = False, longest: int = ...
    ) -> tuple[NDArray[int64], NDArray[int64], int, int]: ...

class Ranking:
    def __init__(self, alone: NDArray[float64]) -> None: ...
    def total(self, places: NDArray[int64], probs: NDArray[float64], rest: float) -> float: ...
    def top(
        self, places: NDArray[int64], probs: NDArray[float64], rest: float, k: int
    ) -> tuple[NDArray[int64], NDArray[float64]]: ...
    def draw(
        self,
        places: NDArray[int64],
        probs: NDArray[float64],
        rest: float,
        temperature: float,
        share: float,
        at: float,
    ) -> tuple[int, float]: ...

class LeftOut:
    def __init__(self, model: Model, n_wanted: int) -> None: ...
    def __len__(self) -> int: ...
    def log_likelihood(
        self, levels: Sequence[Sequence[float]], base: float
    ) -> tuple[float, NDArray[float64]]: ...

NOTHING: int
MOST_PLACES: int

class Skips:
    index: LanguageIndex
    n_places: int
    def __init__(
        self,
        index: LanguageIndex,
        n_places: int,
        discounts: Any = None,
        alone: Any = (),
        farthest: float = 1.0,
    ) -> None: ...
    def counts_of_counts(self, first: int, stop: int, n_most: int = ...) -> NDArray[int64]: ...
    def probabilities(self, contexts: NDArray[int64], tokens: Ids) -> NDArray[float64]: ...
    def distribution(self, context: NDArray[int64]) -> NDArray[float64]: ...

class Sampler:
    model: Model
    def __init__(self, model: Model, context: Ids, begins: bool = False) -> None: ...
    def next(self, seed: int) -> tuple[int, float]: ...

class TextState:
    model: Model
    def __init__(self, model: Model, in_sentence: bool = False) -> None: ...
    def begin(self, in_sentence: bool = False) -> None: ...
    def copy(self) -> TextState: ...
    @overload
    def read(self, token: int, /) -> tuple[float, int]: ...
    @overload
    def read(self, origin: TextState, token: int) -> tuple[float, int]: ...
    @property
    def context(self) -> tuple[int, ...]: ...
