"""Contents that corpora have in common: one tokenizer for several corpora, and equal documents.

The tokenizers must agree; if vocabularies differ, ids are translated. Corpora of the kind `words` assign ids
by first appearance, each separately. The common vocabulary is that of the largest corpus, followed by the
words that only others have; if a corpus's ids differ from the common ones, its segments are translated and
sorted again, in memory.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.directory.memory import MemoryDirectory
from ngramdb.engine.storage.manifest import TokenizerEntry
from ngramdb.errors import BindError, ResourceError
from ngramdb.registries import FILE_TOKENIZERS, GROWING_TOKENIZERS
from ngramdb.segments.base import Part, Segment
from ngramdb.segments.container import Container
from ngramdb.segments.container.layout import NO_BREAKS
from ngramdb.segments.far_index import KIND
from ngramdb.segments.merging import write_merged
from ngramdb.segments.segment import NativeSegment
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.words import WordsTokenizer
from ngramdb.types import Docs

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


# ---- Finding documents by their content. Two documents are equal if they have the same tokens and breaks,
# because n-grams are counted. Among several equal ones, one with the same text and metadata is preferred,
# then one with the same text.


@dataclass(frozen=True)
class Listed:
    """Documents `numbers` (ascending) of a segment, and the id of the corpus that has them."""

    segment: Segment
    numbers: Docs
    corpus: str


@dataclass(frozen=True)
class Matches:
    """Documents that equal wanted ones, per segment, and the wanted ones that are left unmatched."""

    found: list[Docs]
    missing: list[Listed]

    @property
    def n_missing(self) -> int:
        return sum(len(one.numbers) for one in self.missing)


def match_documents(rest: Sequence[Listed], wanted: Sequence[Listed]) -> Matches:
    """Match each wanted document with one of the rest that has the same tokens and breaks, no document twice.

    If both have the very same document (same id, in two versions of a corpus), it is that one; else one with
    the same text and metadata, else one with the same text, else any: always the first in order that is not
    yet taken. So the result does not depend on the distribution of documents over segments.

    Cost: about 20 µs per wanted document and segment of the rest, whatever the rest's size; if more documents
    have the same tokens than are wanted, another 20 µs for each of those. Much less for the same ids.
    """
    taken = [np.zeros(listed.segment.n_documents, dtype=np.bool_) for listed in rest]
    kept = [np.zeros(listed.segment.n_documents, dtype=np.bool_) for listed in rest]
    for mask, listed in zip(kept, rest, strict=True):
        mask[listed.numbers] = True
    others = [_same_ids(rest, kept, taken, one) for one in wanted]
    missing = _same_content(rest, kept, taken, others)
    found = [np.flatnonzero(mask).astype(np.uint32) for mask in taken]
    return Matches(found, [one for one in missing if len(one.numbers)])


def equal_documents(segment: Segment, ids: NDArray[np.uint32], breaks: NDArray[np.int64] = NO_BREAKS) -> Docs:
    """Return the documents of a segment with exactly these tokens and breaks: (k,) uint32, ascending."""
    if not len(ids):
        every = np.arange(segment.n_documents, dtype=np.uint32)
        return np.flatnonzero(segment.lengths(every) == 0).astype(np.uint32)
    piece = ids[: breaks[0]] if len(breaks) else ids
    positions = np.sort(segment.index.positions(*segment.index.find_ends(piece)))
    documents = segment.index.documents_at(positions)
    starts, _ = segment.index.document_bounds(documents)
    equal: Docs = documents[starts == positions]
    if not len(breaks) and not segment.n_breaks:
        return equal
    return equal[[_content_of(segment, i) == _content(ids, breaks) for i in equal.tolist()]]


def _content_of(segment: Segment, i: int) -> bytes:
    """Return the tokens and breaks of a document as bytes."""
    return _content(segment.document(i), segment.breaks(i))


def _content(ids: NDArray[np.uint32], breaks: NDArray[np.int64]) -> bytes:
    return b"%d:" % len(ids) + ids.tobytes() + breaks.tobytes()


def _same_ids(
    rest: Sequence[Listed], kept: Sequence[NDArray[np.bool_]], taken: Sequence[NDArray[np.bool_]], one: Listed
) -> Listed:
    """Take documents of the same corpus and id; return the wanted ones that are left."""
    left = one.numbers
    for k, listed in enumerate(rest):
        if listed.corpus != one.corpus or not len(left):
            continue
        ids = one.segment.doc_ids(left)
        places = listed.segment.locals_of(ids)
        numbers = left[np.isin(ids, listed.segment.doc_ids(places))]
        here = kept[k][places] & ~taken[k][places]
        if listed.segment.path != one.segment.path:
            here[here] = _have_same_tokens(listed.segment, places[here], one.segment, numbers[here])
        taken[k][places[here]] = True
        left = np.setdiff1d(left, numbers[here], assume_unique=True)
    return Listed(one.segment, left, one.corpus)


def _have_same_tokens(a: Segment, in_a: Docs, b: Segment, in_b: Docs) -> list[bool]:
    found = []
    for i, j in zip(in_a.tolist(), in_b.tolist(), strict=True):
        interrupts.check()
        found.append(_content_of(a, i) == _content_of(b, j))
    return found


# A document: the index of its segment, and its number there.
_Place = tuple[int, int]
# Digests of its text and of its metadata.
_Content = tuple[bytes, bytes]


def _same_content(
    rest: Sequence[Listed],
    kept: Sequence[NDArray[np.bool_]],
    taken: Sequence[NDArray[np.bool_]],
    wanted: Sequence[Listed],
) -> list[Listed]:
    """Take documents with the same tokens; return the wanted ones without a match."""
    copies: defaultdict[bytes, list[_Place]] = defaultdict(list)
    for k, one in enumerate(wanted):
        for number in one.numbers.tolist():
            copies[_digest(_content_of(one.segment, number))].append((k, number))
    missing: list[list[int]] = [[] for _ in wanted]
    for places in copies.values():
        interrupts.check()
        first, number = wanted[places[0][0]].segment, places[0][1]
        ids, breaks = first.document(number), first.breaks(number)
        free: list[_Place] = []
        for k, listed in enumerate(rest):
            equal = equal_documents(listed.segment, ids, breaks)
            free.extend((k, number) for number in equal[kept[k][equal] & ~taken[k][equal]].tolist())
        if len(free) > len(places):
            free = list(_best(free, rest, places, wanted))
        for k, number in free:
            taken[k][number] = True
        for k, number in places[len(free) :]:
            missing[k].append(number)
    return [
        Listed(one.segment, np.array(sorted(numbers), dtype=np.uint32), one.corpus)
        for one, numbers in zip(wanted, missing, strict=True)
    ]


def _best(
    free: Sequence[_Place], rest: Sequence[Listed], places: Sequence[_Place], wanted: Sequence[Listed]
) -> Iterator[_Place]:
    """Yield as many free documents as are wanted, the most similar ones first."""
    asked = list(_contents(places, wanted))
    offered: Iterable[tuple[_Place, _Content]] = zip(free, _contents(free, rest), strict=True)
    for n_parts in (2, 1, 0):  # text and metadata, the text, only the tokens
        open_asked = Counter(content[:n_parts] for content in asked)
        n_open, left = len(asked), []
        for place, content in offered:
            if open_asked[content[:n_parts]]:
                open_asked[content[:n_parts]] -= 1
                n_open -= 1
                yield place
                if not n_open:  # the remaining ones are not even read
                    return
            else:
                left.append((place, content))
        offered, asked = left, _without_matched(asked, open_asked, n_parts)


def _without_matched(
    asked: Sequence[_Content], n_open: Counter[tuple[bytes, ...]], n_parts: int
) -> list[_Content]:
    """Return the contents that are still unmatched, with their multiplicities."""
    left, n_kept = [], Counter[tuple[bytes, ...]]()
    for content in asked:
        kind = content[:n_parts]
        if n_kept[kind] < n_open[kind]:
            n_kept[kind] += 1
            left.append(content)
    return left


def _contents(places: Sequence[_Place], listed: Sequence[Listed]) -> Iterator[_Content]:
    """Yield digests of the documents' texts and of their metadata; places ascend within a segment."""
    rows: dict[int, Iterator[dict[str, Any]]] = {}
    for k, number in places:
        segment = listed[k].segment
        if k not in rows:
            rows[k] = segment.metadata.rows([i for other, i in places if other == k])
        interrupts.check()
        # A text that is not stored follows from the tokens, which are the same.
        text = segment.stored_text(number)
        metadata = json.dumps(next(rows[k]), sort_keys=True)
        yield b"" if text is None else _digest(text), _digest(metadata.encode("utf-8", "surrogatepass"))


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
