"""Some documents of a corpus as a corpus: models with conditions are answered over it.

Counts come from an index of just these documents, or, if nearly all are chosen, from that of the
corpus with the others subtracted. The index is made in memory, once for a set of documents. Documents keep
their places, numbers and ids; those left out count as removed.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.sort.construction import CoreBudget
from ngramdb.engine.storage.directory.memory import MemoryDirectory
from ngramdb.errors import ResourceError
from ngramdb.fork_safety import cached_property
from ngramdb.limits import SENTENCE_BREAK
from ngramdb.segments.base import Part, Segment, chunks
from ngramdb.segments.builder import SegmentContent, SortedArrays, write_segment
from ngramdb.segments.container import Container
from ngramdb.segments.container.layout import SymbolBuilder
from ngramdb.segments.far_index import KIND
from ngramdb.segments.merging import write_merged
from ngramdb.segments.segment import NativeSegment
from ngramdb.segments.text import token_flags
from ngramdb.source import Corpus
from ngramdb.tokenizers.sentences import sentence_starts
from ngramdb.types import Docs

if TYPE_CHECKING:
    from ngramdb.tokenizers.base import Tokenizer


# Most tokens that are indexed for a condition: about fifteen seconds and 1.3 GB.
MAX_INDEXED = 200_000_000
# The chosen tokens must be this many times as many as the others for the others to be indexed instead.
# Continuations of a context are counted far faster in one index than in a difference of two: 0.3 and 3.3 ms.
DIFFERENCE_COSTS = 3
# Cached slices of a corpus: scripts alternate between a few, and so does a prompt.
KEPT = 4


@dataclass(frozen=True)
class SliceEntry:
    """The entry of a slice, for plans and models. `options` are the corpus's own."""

    name: str
    options: dict[str, Any]
    segments: tuple[Any, ...] = ()


class SliceView:
    """The chosen documents of a corpus. Immutable; safe to share between threads.

    Parameters
    ----------
    corpus : a corpus at one version, or a sum
    chosen : per segment the local numbers of its documents, ascending, none of them removed
    shown : the condition, for plans and messages

    Raises
    ------
    ExecutionError
        A sum subtracts documents that are not part of the rest.
    """

    def __init__(self, corpus: Corpus, chosen: Sequence[Docs], shown: str) -> None:
        corpus.check_difference()
        self._corpus = corpus
        self._chosen = tuple(chosen)
        options = getattr(corpus.entry, "options", None) or {}
        self.entry = SliceEntry(f"{corpus.entry.name} where {shown}", options)
        terms = getattr(corpus, "terms", None)
        if terms is not None:
            self.terms = terms

    @property
    def whole_entry(self) -> Any:
        """The entry of the undivided corpus, even for a slice of a slice."""
        return getattr(self._corpus, "whole_entry", self._corpus.entry)

    @property
    def tokenizer(self) -> Tokenizer:
        return self._corpus.tokenizer

    @property
    def tokenizer_title(self) -> str:
        title: str = self._corpus.tokenizer_title  # type: ignore[attr-defined]
        return title

    @property
    def n_added(self) -> int:
        return self._corpus.n_added

    @property
    def segments(self) -> Sequence[Segment]:
        """The corpus's segments, of each of which the `kept` documents count."""
        return self._corpus.segments

    @property
    def identity(self) -> str:
        """A digest of the chosen documents: models' statistics are valid for just them."""
        return f"slice:{_digest(self._chosen).hex()}"

    def corpus_of(self, i: int, /) -> str:
        return self._corpus.corpus_of(i)

    def lacking(self) -> None:
        """Return None: the corpus was checked."""

    def check_difference(self) -> None:
        """Do nothing, as `lacking`."""

    def kept(self, i: int, /) -> Docs:
        """Return local numbers of the chosen documents of segment i: (k,) uint32, ascending."""
        return self._chosen[i]

    def removed(self, i: int, /) -> Docs:
        """Return local numbers of all other documents of segment i: (k,) uint32, ascending."""
        return self._removed[i]

    @cached_property
    def n_documents(self) -> int:
        return sum(len(docs) for docs in self._chosen)

    @cached_property
    def n_tokens(self) -> int:
        return sum(
            int(segment.lengths(docs).sum())
            for segment, docs in zip(self.segments, self._chosen, strict=True)
            if len(docs)
        )

    @cached_property
    def index(self) -> Index:
        """Counts over the chosen documents.

        Raises
        ------
        ResourceError
            The smaller set, of chosen or of other documents, has too many tokens to be indexed for a
            condition.
        """
        base = self._corpus
        left_out = base.n_tokens - self.n_tokens
        if min(left_out, self.n_tokens) > MAX_INDEXED:
            raise ResourceError(
                f"{self.entry.name}: {self.n_tokens:,} of {base.n_tokens:,} tokens would have to be indexed "
                f"for this condition (at most {MAX_INDEXED:,}, of those that meet it or of the others); "
                "CREATE CORPUS … AS (DOCS WHERE …) makes a corpus of them",
                limit=MAX_INDEXED,
                asked=min(left_out, self.n_tokens),
            )
        if DIFFERENCE_COSTS * left_out < self.n_tokens or self.n_tokens > MAX_INDEXED:
            others = [
                np.setdiff1d(removed, base.removed(i), assume_unique=True)
                for i, removed in enumerate(self._removed)
            ]
            made = _indexed(self.segments, others)
            signs = [*base.index.signs, *[-1] * len(made)]
            return Index([*base.index.segments, *(segment.index for segment in made)], signs)
        made = _indexed(self.segments, self._chosen)
        return Index([segment.index for segment in made], [1] * len(made))

    def sliced(self, chosen: Sequence[Docs], shown: str, /) -> SliceView:
        """Return some of these documents, which are documents of the corpus as well."""
        return slice_of(self, chosen, shown)

    def prefers_slice(self, chosen: Sequence[Docs], work: int, worth: int, /) -> bool:
        """Return True if the slice of these documents should answer (`Slices.prefers`)."""
        return prefers_slice(self, chosen, work, worth)

    def in_sentences(self) -> SentenceView:
        """Return the sentences as a corpus, one document per sentence (`SentenceView`)."""
        return in_sentences(self)

    @cached_property
    def _removed(self) -> tuple[Docs, ...]:
        return tuple(
            np.delete(np.arange(segment.n_documents, dtype=np.uint32), docs)
            for segment, docs in zip(self.segments, self._chosen, strict=True)
        )


class Slices:
    """The most recently used slices of one corpus, by their documents."""

    def __init__(self) -> None:
        self._made: OrderedDict[bytes, SliceView] = OrderedDict()
        # Work of queries that were answered without the slice of these documents, in arbitrary units.
        self._spent: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, corpus: Corpus, chosen: Sequence[Docs], shown: str) -> SliceView:
        """Return the slice of these documents. Cost: a pass over their numbers if it is cached."""
        key = _digest(chosen)
        with self._lock:
            found = self._made.get(key)
            if found is None:
                found = self._made[key] = SliceView(corpus, chosen, shown)
                if len(self._made) > KEPT:
                    self._made.popitem(last=False)
            else:
                self._made.move_to_end(key)
        return found

    def made(self) -> list[SliceView]:
        """Return the cached slices."""
        with self._lock:
            return list(self._made.values())

    def prefers(self, chosen: Sequence[Docs], work: int, worth: int) -> bool:
        """Return True to query the slice of these documents, False to do the work of a query without it.

        It is used if it is cached and indexed, and otherwise once such queries would have taken more work
        than indexing it is worth: in total at most twice the work of knowing the number of queries ahead of
        time.
        """
        key = _digest(chosen)
        with self._lock:
            found = self._made.get(key)
            if found is not None and "index" in found.__dict__:
                return True
            spent = self._spent[key] = self._spent.pop(key, 0) + work
            if len(self._spent) > 8 * KEPT:
                self._spent.popitem(last=False)
            return spent > worth


def slice_of(corpus: Corpus, chosen: Sequence[Docs], shown: str) -> SliceView:
    """Return the chosen documents of a corpus as a corpus; cached with it (`Slices`)."""
    return _slices_of(corpus).get(corpus, chosen, shown)


def forget_slices(corpus: Corpus) -> None:
    """Release the slices that are cached with a corpus, each of which refers to it."""
    kept: Slices | None = corpus.__dict__.pop("_slices", None)
    for made in () if kept is None else kept.made():
        forget_slices(made)


def prefers_slice(corpus: Corpus, chosen: Sequence[Docs], work: int, worth: int) -> bool:
    """Return True if the slice of the chosen documents of a corpus should answer (`Slices.prefers`)."""
    return _slices_of(corpus).prefers(chosen, work, worth)


def _slices_of(corpus: Corpus) -> Slices:
    found: Slices | None = corpus.__dict__.get("_slices")
    return corpus.__dict__.setdefault("_slices", Slices()) if found is None else found


def _digest(chosen: Sequence[Docs]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for docs in chosen:
        digest.update(len(docs).to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(docs).data)
    return digest.digest()


def _indexed(segments: Sequence[Segment], chosen: Sequence[Docs]) -> list[NativeSegment]:
    """Return the chosen documents' tokens as segments in memory."""
    directory = MemoryDirectory()
    made = []
    for number, parts in enumerate(_runs(segments, chosen)):
        name = f"slice-{number}"
        file = directory.create(name)
        write_merged(file, parts, with_content=False)
        container = Container.open(directory.open_read(name), name, KIND)
        made.append(NativeSegment(container, name))
    return made


def _runs(segments: Sequence[Segment], chosen: Sequence[Docs]) -> Iterator[list[Part]]:
    """Yield runs of segments' documents whose ids ascend: those of one corpus. In a sum, ids may restart."""
    run: list[Part] = []
    last = -1
    for segment, docs in zip(segments, chosen, strict=True):
        if not len(docs):
            continue
        if run and segment.doc_id(int(docs[0])) <= last:
            yield run
            run = []
        run.append(Part(segment, docs))
        last = segment.doc_id(int(docs[-1]))
    if run:
        yield run


# ---- The sentences of a corpus as a corpus, for models of sentences.
#
# Each sentence is a document, so that every model treats the places where patterns match `<s>` and `</s>` as
# boundaries, and no n-gram crosses them. The index is made in memory, once for a corpus at a version.


# Most tokens whose sentences are indexed: about twenty seconds and 2 GB.
MAX_SENTENCE_TOKENS = 200_000_000
# Symbols that are read between two interrupt checks: about ten milliseconds.
CHUNK_SYMBOLS = 1 << 18

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class SentencesEntry:
    """The entry of a corpus of sentences, as models read it."""

    name: str
    segments: tuple[Any, ...] = ()


class SentenceView:
    """The sentences of a corpus, one document each. Immutable; safe to share between threads.

    Parameters
    ----------
    corpus : a corpus that knows the sentences of all its documents

    Attributes
    ----------
    separator : a token that no document contains; in texts to be scored it separates sentences (`cut`)
    identity : distinguishes the statistics of models over other sentences

    Raises
    ------
    ExecutionError
        a sum subtracts documents that are not part of the rest
    ResourceError
        the corpus has more than `MAX_SENTENCE_TOKENS` tokens

    Notes
    -----
    Cost: about 100 ns and 10 bytes of memory per token.
    """

    separator = SENTENCE_BREAK

    def __init__(self, corpus: Corpus) -> None:
        corpus.check_difference()
        name = corpus.entry.name
        if corpus.n_tokens > MAX_SENTENCE_TOKENS:
            raise ResourceError(
                f"the sentences of {name} would have to be indexed: {corpus.n_tokens:,} tokens, at most "
                f"{MAX_SENTENCE_TOKENS:,}; choose documents with WHERE, or score texts as documents: "
                "DOCUMENT (document=True in Python)",
                limit=MAX_SENTENCE_TOKENS,
                asked=corpus.n_tokens,
            )
        self.entry = SentencesEntry(f"sentences of {name}")
        self.tokenizer = corpus.tokenizer
        segment, self.identity = _sentence_index(corpus)
        self.segments = (segment,)
        self.n_documents, self.n_tokens = segment.n_documents, segment.n_tokens
        self.index = Index([segment.index], [1])

    def check_difference(self) -> None:
        """Do nothing: the corpus was checked."""

    def cut(self, ids: IntArray, text: str | None = None) -> IntArray:
        """Return the tokens of a text with `separator` between its sentences, which are found as in loading.

        Parameters
        ----------
        ids : (n,) the tokens, -1 for unknown words
        text : the text of the tokens; without it the tokenizer decodes them, and they are one
         sentence if one of them is unknown
        """
        if not len(ids) or (text is None and not 0 <= ids.min() <= ids.max() < self.tokenizer.n_vocabulary):
            return ids
        content = None if text is None else text.encode("utf-8", "surrogatepass")
        offsets = np.array([0, len(ids)], dtype=np.int64)
        starts = sentence_starts(self.tokenizer, [content], ids.astype(np.uint32), offsets)
        if starts is None:  # the tokenizer does not find sentences, and so the corpus has no documents
            return ids
        return np.insert(ids, np.flatnonzero(starts[1:]) + 1, self.separator)


def in_sentences(corpus: Any) -> SentenceView:
    """Return the sentences of a corpus as a corpus, cached with it."""
    found: SentenceView | None = corpus.__dict__.get("_in_sentences")
    return corpus.__dict__.setdefault("_in_sentences", SentenceView(corpus)) if found is None else found


def _sentence_index(corpus: Corpus) -> tuple[NativeSegment, str]:
    """Return the sentences as a segment in memory, and an identifier."""
    symbols = SymbolBuilder(corpus.n_tokens + corpus.n_tokens // 16 + 1)
    for i, segment in enumerate(corpus.segments):
        every = np.arange(segment.n_documents, dtype=np.uint32)
        for numbers in chunks(Part(segment, np.delete(every, corpus.removed(i))), CHUNK_SYMBOLS):
            ids, _ = segment.token_ids(numbers)
            starts = np.flatnonzero(token_flags(segment, numbers))  # a break ends a sentence
            symbols.add(ids, np.append(starts, len(ids)).astype(np.int64))
    directory, name = MemoryDirectory(), "sentences"
    cores = CoreBudget(1)
    with cores:
        content = SegmentContent(SortedArrays.of(symbols.finish()))
        summary = write_segment(directory.create(name), content, 0, cores=cores)
    made = NativeSegment(Container.open(directory.open_read(name), name, KIND), name)
    return made, f"sentences:{summary.file.size}:{summary.file.crc:08x}"
