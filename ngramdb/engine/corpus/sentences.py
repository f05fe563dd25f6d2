"""The sentences of a corpus as a corpus, for models of sentences.

Each sentence is a document, so that every model treats the places where patterns match `<s>` and `</s>` as
boundaries, and no n-gram crosses them. The index is made in memory, once for a corpus at a version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.sort.construction import CoreBudget
from ngramdb.engine.storage.directory.memory import MemoryDirectory
from ngramdb.errors import ResourceError
from ngramdb.limits import SENTENCE_BREAK
from ngramdb.segments.builder import SegmentContent, SortedArrays, write_segment
from ngramdb.segments.container import SMALL_BLOCK_SIZE, Container, ContainerWriter
from ngramdb.segments.container.layout import SymbolBuilder
from ngramdb.segments.far_index import KIND
from ngramdb.segments.parts import Part, chunks
from ngramdb.segments.segment import NativeSegment
from ngramdb.segments.sentences import token_flags
from ngramdb.source import Corpus
from ngramdb.tokenizers.sentences import sentence_starts

# Most tokens whose sentences are indexed: about twenty seconds and 2 GB.
MAX_INDEXED = 200_000_000
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
        the corpus has more than `MAX_INDEXED` tokens

    Notes
    -----
    Cost: about 100 ns and 10 bytes of memory per token.
    """

    separator = SENTENCE_BREAK

    def __init__(self, corpus: Corpus) -> None:
        corpus.check_difference()
        name = corpus.entry.name
        if corpus.n_tokens > MAX_INDEXED:
            raise ResourceError(
                f"the sentences of {name} would have to be indexed: {corpus.n_tokens:,} tokens, at most "
                f"{MAX_INDEXED:,}; choose documents with WHERE, or score texts as documents: DOCUMENT "
                "(document=True in Python)",
                limit=MAX_INDEXED,
                asked=corpus.n_tokens,
            )
        self.entry = SentencesEntry(f"sentences of {name}")
        self.tokenizer = corpus.tokenizer
        segment, self.identity = _indexed(corpus)
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


def _indexed(corpus: Corpus) -> tuple[NativeSegment, str]:
    """Return the sentences as a segment in memory, and an identifier."""
    symbols = SymbolBuilder(corpus.n_tokens + corpus.n_tokens // 16 + 1)
    for i, segment in enumerate(corpus.segments):
        every = np.arange(segment.n_documents, dtype=np.uint32)
        for numbers in chunks(Part(segment, np.delete(every, corpus.removed(i))), CHUNK_SYMBOLS):
            ids, _ = segment.token_ids(numbers)
            starts = np.flatnonzero(token_flags(segment, numbers))
            symbols.add(ids, np.append(starts, len(ids)).astype(np.int64))
    directory, name = MemoryDirectory(), "sentences"
    writer = ContainerWriter(directory.create(name), KIND, block_size=SMALL_BLOCK_SIZE)
    cores = CoreBudget(1)
    with cores:
        summary = write_segment(writer, SegmentContent(SortedArrays(*symbols.finish())), 0, cores=cores)
    made = NativeSegment(Container.open(directory.open_read(name), name, KIND), name)
    return made, f"sentences:{summary.file.size}:{summary.file.crc:08x}"
