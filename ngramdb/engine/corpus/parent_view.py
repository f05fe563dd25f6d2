"""The interface of a corpus from which another view is made: a slice, its sentences, files of its index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ngramdb._cext.corpus.index import Index
from ngramdb.segments.base import Segment
from ngramdb.types import Docs

if TYPE_CHECKING:
    from ngramdb.tokenizers.base import Tokenizer


class ParentView(Protocol):
    """A corpus at one version, a sum of corpora, or a slice of these."""

    @property
    def entry(self) -> Any: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    @property
    def index(self) -> Index: ...
    @property
    def segments(self) -> Sequence[Segment]: ...
    @property
    def n_added(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    def removed(self, i: int, /) -> Docs: ...
    def corpus_of(self, i: int, /) -> str: ...
    def check_difference(self) -> None: ...
