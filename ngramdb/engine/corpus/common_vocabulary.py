"""One tokenizer for several corpora: checking that they agree, and translating ids if vocabularies differ.

Corpora of the kind `words` assign ids by first appearance, each separately. The common vocabulary is that of
the largest corpus, followed by the words that only others have; if a corpus's ids differ from the common
ones, its segments are translated and sorted again, in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.directory.memory import MemoryDirectory
from ngramdb.engine.storage.manifest import TokenizerEntry
from ngramdb.errors import BindError, ResourceError
from ngramdb.registries import FILE_TOKENIZERS, GROWING_TOKENIZERS
from ngramdb.segments.base import Segment
from ngramdb.segments.container import Container
from ngramdb.segments.far_index import KIND
from ngramdb.segments.merging import write_merged
from ngramdb.segments.parts import Part
from ngramdb.segments.segment import NativeSegment
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.words import WordsTokenizer

# new_ids[id] is the common tokenizer's id; None where ids are the same.
IdMap = NDArray[np.uint32]

# Most tokens that are translated for a query: about ten seconds and a gigabyte.
MAX_TRANSLATED = 1 << 26


def common_tokenizer(corpora: Sequence[tuple[str, CorpusView]]) -> tuple[Tokenizer, list[IdMap | None]]:
    """Return the tokenizer of all these corpora, and for each the map of its ids, or None.

    Raises
    ------
    BindError
        two corpora have tokenizers of different kinds, or different tokenizer files
    ResourceError
        too much would have to be translated
    """
    name, first = corpora[0]
    for other_name, other in corpora[1:]:
        require_same_kind(name, first, other_name, other)
    if first.entry.tokenizer.kind not in GROWING_TOKENIZERS:
        return first.tokenizer, [None] * len(corpora)
    largest = max((view for _, view in corpora), key=lambda view: view.n_tokens)
    entries = [view.entry.tokenizer for _, view in corpora]
    widest = max(entries, key=lambda entry: entry.n_vocabulary)
    if all(_is_beginning(entry, widest) for entry in entries):
        return corpora[entries.index(widest)][1].tokenizer, [None] * len(corpora)
    common = largest.tokenizer.fork()
    maps = [_id_map(view, largest, common) for _, view in corpora]
    n_translated = sum(
        entry.n_tokens
        for (_, view), ids in zip(corpora, maps, strict=True)
        if ids is not None
        for entry in view.entry.segments
    )
    if n_translated > MAX_TRANSLATED:
        raise ResourceError(
            f"the vocabularies of {' and '.join(name for name, _ in corpora)} differ, and {n_translated:,} "
            f"tokens would have to be translated for each question (at most {MAX_TRANSLATED:,}); join the "
            "corpora for good with ALTER CORPUS, or load them with a tokenizer.json",
            limit=MAX_TRANSLATED,
            asked=n_translated,
        )
    return common, maps


def id_map_onto(
    base: tuple[str, CorpusView], other: tuple[str, CorpusView]
) -> tuple[Tokenizer, IdMap | None]:
    """Return a tokenizer that extends the base corpus's by the other's words, and the map of the other's ids.

    Raises BindError if the tokenizers differ in anything but their words.
    """
    require_same_kind(*base, *other)
    (_, view), (_, added) = base, other
    grows = view.entry.tokenizer.kind in GROWING_TOKENIZERS
    if not grows or _is_beginning(added.entry.tokenizer, view.entry.tokenizer):
        return view.tokenizer, None
    if _is_beginning(view.entry.tokenizer, added.entry.tokenizer):
        return added.tokenizer, None
    common = view.tokenizer.fork()
    return common, id_map(added.tokenizer, common)


def translated(segments: Sequence[Segment], new_ids: IdMap | None) -> list[Segment]:
    """Return the segments with other token ids, in memory; without a map, the segments themselves."""
    return list(segments) if new_ids is None else [_translated(segment, new_ids) for segment in segments]


def id_map(tokenizer: Tokenizer, common: Tokenizer) -> IdMap:
    """Return the ids in the `common` vocabulary, which learns the words that it lacks."""
    assert isinstance(tokenizer, WordsTokenizer)
    ids, _ = common.encode_batch(tokenizer.entries())
    if len(ids) != tokenizer.n_vocabulary:
        raise AssertionError("a word of the vocabulary is not one token")
    return ids


def _id_map(view: CorpusView, largest: CorpusView, common: Tokenizer) -> IdMap | None:
    if view is largest:
        return None
    ids = id_map(view.tokenizer, common)
    return None if np.array_equal(ids, np.arange(len(ids))) else ids


def _translated(segment: Segment, new_ids: IdMap) -> Segment:
    directory = MemoryDirectory()
    file = directory.create("translated")
    write_merged(file, [Part(segment, np.arange(segment.n_documents, dtype=np.uint32), new_ids)])
    container = Container.open(directory.open_read("translated"), segment.path, KIND)
    # The merged segment's own ids include the offset that the first one had.
    return NativeSegment(container, segment.path)


def require_same_kind(name: str, view: CorpusView, other_name: str, other: CorpusView) -> None:
    """Raise BindError if two corpora's tokenizers differ in anything but their words."""
    a, b = view.entry.tokenizer, other.entry.tokenizer
    is_same = a.kind == b.kind and (
        a.kind not in FILE_TOKENIZERS or a.file == b.file or view.definition() == other.definition()
    )
    if not is_same:
        raise BindError(
            f"{name} and {other_name} have different tokenizers, {view.tokenizer_title} and "
            f"{other.tokenizer_title}: their n-grams cannot be counted together"
        )


def _is_beginning(entry: TokenizerEntry, widest: TokenizerEntry) -> bool:
    """Return True if the vocabulary is surely a prefix of the other: it has the same files."""
    return entry.vocabulary == widest.vocabulary[: len(entry.vocabulary)]
