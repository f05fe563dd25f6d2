"""The interface of a corpus and of a catalog, as planning and execution use them.

An answer over a corpus is merged from those of its segments: counts and distributions are added with the
segment's sign, sorted documents are concatenated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ngramdb.types import Docs

if TYPE_CHECKING:
    from ngramdb._cext.corpus.index import Index
    from ngramdb.segments.base import Segment
    from ngramdb.tokenizers.base import Tokenizer

IntArray = NDArray[np.int64]
TokenIds = Sequence[int] | NDArray[np.integer[Any]]
# Concatenated words and the offset at which each begins: uint8 and (n + 1,) uint64.
WordList = tuple[NDArray[np.uint8], NDArray[np.uint64]]

# The type of a column of JSON in `MetadataReader.fields`.
PARSED_TYPE = "json"


class ConditionCode(IntEnum):
    """The operators of `SegmentIndex.docs_where`, in prefix order.

    AND and OR are followed by the number of their operands.
    `_cext/include/ngramdb/corpus/conditions.hpp` has the same codes; a test compares them.
    """

    GRAM = 0
    NOT = 1
    AND = 2
    AND_ORDERED = 3
    OR = 4
    EVERY = 5


class Entry(Protocol):
    """The catalog's entry of a corpus, as plans print it."""

    @property
    def name(self) -> str: ...
    @property
    def segments(self) -> Sequence[object]: ...


class Corpus(Protocol):
    """A corpus at one version, or a sum of corpora with signs (`FROM a + b - c`).

    `segments` are the added ones, in the order in which documents are listed; `index` counts over all
    segments with their signs. `removed(i)` are the documents of segment i that do not count, because they
    were deleted or occur in a subtracted corpus: ascending local numbers. The counts of `index` exclude them;
    code that reads single documents or occurrences must skip them.

    `corpus_of(i)` is the name of the corpus of segment i, `n_added` the number of corpora in the sum. If a
    subtracted document is not among the others, `lacking` returns a message, and `check_difference` raises
    ExecutionError.

    `sliced` returns some documents as a corpus: the local numbers per segment, none of them removed, and the
    condition as plans and messages print it. `in_sentences` returns the sentences as a corpus for models, one
    document per sentence, if those of all documents are known; its `cut(ids, text)` inserts the separator of
    these models between the sentences of a text.
    """

    @property
    def entry(self) -> Entry: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    @property
    def index(self) -> Index: ...
    @property
    def segments(self) -> Sequence[Segment]: ...
    @property
    def n_added(self) -> int: ...
    def removed(self, i: int, /) -> Docs: ...
    def corpus_of(self, i: int, /) -> str: ...
    def lacking(self) -> str | None: ...
    def check_difference(self) -> None: ...
    def sliced(self, chosen: Sequence[Docs], shown: str, /) -> Corpus: ...
    def in_sentences(self) -> Any: ...
    def prefers_slice(self, chosen: Sequence[Docs], work: int, worth: int, /) -> bool: ...
    @property
    def n_documents(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...


class Catalog(Protocol):
    """The names of a version: its corpora, the current one, and settings."""

    @property
    def current(self) -> str | None: ...
    def corpus_names(self) -> list[str]: ...
    def own_corpus_names(self) -> list[str]: ...
    def compaction(self, name: str, /) -> Sequence[str]: ...
    def corpus_view(self, name: str, /) -> Corpus: ...
    def algebra(self, terms: tuple[tuple[int, str, int | None], ...], /) -> Corpus: ...
    def version_number(self, name: str, /) -> int: ...
    def setting_names(self) -> list[str]: ...
    def check_setting(self, name: str, value: Any, /) -> Any: ...
    def disabled_rules(self) -> frozenset[str]: ...
    def match(self) -> str: ...
    def texts_of_file(self, path: str, options: Mapping[str, Any], takes_ids: bool, /) -> Iterable[Any]: ...
