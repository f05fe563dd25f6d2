"""The overlap of a corpus with an evaluation set: how much, where, and with which items.

An evaluation set is opened as a corpus in memory, with the corpus's own tokenizer or, if letters' case or
white space are ignored, as words of the folded texts. Shares are those of OVERLAP
(`ngramdb.conditions.overlap_field`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.conditions.overlap_field import (
    Overlap,
    SharedNgrams,
    Span,
    first_document,
    marked_ngrams,
    marked_places,
    marks_of_ngrams,
    n_documents_with,
    n_windows,
    spans_of,
    token_chunks,
)
from ngramdb.conditions.stored_text import word_places
from ngramdb.curation.decon import QUESTION, Texts
from ngramdb.curation.equal_documents import plain_quotes
from ngramdb.curation.items import ItemNgrams, Matches, inverted, item_lengths, n_least
from ngramdb.engine.changes.audit import origin
from ngramdb.engine.corpus.view import CorpusView, Segment
from ngramdb.engine.loading.loads import scratch_corpus
from ngramdb.engine.loading.request import LoadRequest
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.errors import InvalidArgument
from ngramdb.formats import OTHERWISE
from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.ingest.options import check_options, have_fields
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import Source, expand
from ngramdb.ingest.streams import Meter
from ngramdb.questions.kwic_text import Display, Line, contexts_of
from ngramdb.registries import DEFAULT_CONTAMINATION, GROWING_TOKENIZERS, contamination_measure
from ngramdb.tokenizers import Tokenizer
from ngramdb.types import Docs

Shares = NDArray[np.float64]
Fold = Callable[[str], str]

# Default format of a set of plain text: one item per line, so that no n-gram spans two items.
ITEMS_OF_TEXT = "lines"


# The differences that may be ignored.
FOLDS = ("lower", "fold_space", "nfc", "fold_quotes")


@dataclass(frozen=True)
class Criterion:
    """The criterion of contamination: a share of at least `threshold`; with `strict`, above it.

    A share of 0 never counts, so a threshold of 0 means any overlap. With one of FOLDS, letters' case, white
    space, equivalent forms of characters or typographic quotes are ignored, and n-grams consist of words.
    `by` names the measure.
    """

    n: int
    threshold: float
    strict: bool
    lower: bool = False
    fold_space: bool = False
    nfc: bool = False
    fold_quotes: bool = False
    by: str = DEFAULT_CONTAMINATION

    @classmethod
    def of(cls, by: str, n: int | None, threshold: float | None, strict: bool, **folds: bool) -> Criterion:
        """Return the criterion of a measure; None stands for the measure's own number."""
        measure = contamination_measure(by)
        n = measure.n if n is None else n
        threshold = measure.threshold if threshold is None else threshold
        return cls(n, threshold, strict, by=by, **folds)

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 1:
            raise InvalidArgument(f"n must be a whole number of at least 1, not {self.n!r}")
        is_number = isinstance(self.threshold, (int, float)) and not isinstance(self.threshold, bool)
        if not is_number or not 0 <= self.threshold <= 1:
            raise InvalidArgument(f"a threshold must be a share from 0 to 1, not {self.threshold!r}")

    def holds(self, shares: Shares) -> NDArray[np.bool_]:
        """Return which of these shares are too large."""
        if self.threshold == 0 or self.strict:
            return shares > self.threshold
        return shares >= self.threshold

    def __str__(self) -> str:
        comparison = ">" if self.threshold == 0 or self.strict else ">="
        flags = [name for name in FOLDS if getattr(self, name)]
        by = [] if self.by == DEFAULT_CONTAMINATION else [self.by]
        return ", ".join([*by, f"n = {self.n}", *flags, f"share {comparison} {self.threshold:g}"])

    @property
    def folds(self) -> bool:
        """True if texts are changed before they are compared."""
        return any(getattr(self, name) for name in FOLDS)

    def fold(self, text: str) -> str:
        """Return the text in the form that is compared."""
        if self.nfc:
            text = unicodedata.normalize("NFC", text)
        if self.lower:
            text = text.lower()
            text = unicodedata.normalize("NFC", text) if self.nfc else text
        if self.fold_quotes:
            text = plain_quotes(text)
        return " ".join(text.split()) if self.fold_space else text


def _after_tokenizer(tokenizer: Tokenizer, fold: Fold) -> Fold:
    """Return a folding of texts as the tokenizer reads them, so that what is equal to it stays equal."""
    return lambda text: fold(tokenizer.normalized(text))


@dataclass(frozen=True)
class Reading:
    """Options for reading the files of evaluation sets, as in a load; None if not given.

    In plain text each line is an item, unless a format or the line between two items is given.
    """

    text: str | None = None
    format: str | None = None
    separator: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that are given."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def __str__(self) -> str:
        return "".join(f", {name} = {value!r}" for name, value in self.options.items())

    def sources(self, path: str) -> list[Source]:
        """Return the files of a path.

        Raises
        ------
        LoadError, InvalidArgument
            No file exists, or the format is unknown.
        """
        found = expand([path], self.format)
        if self.format is not None or self.separator is not None:
            return found
        return [replace(one, format=ITEMS_OF_TEXT) if one.format == OTHERWISE else one for one in found]


def evaluation_sets(
    corpus: CorpusView, paths: Sequence[str], reading: Reading, by: Criterion
) -> list[EvaluationSet]:
    """Open a set for each path.

    Raises
    ------
    InvalidArgument
        An option that applies to none of the files' formats; before one is read.
    LoadError
        A file that cannot be read.
    """
    found = [reading.sources(path) for path in paths]
    check_options(reading.options, [source for sources in found for source in sources])
    return [
        EvaluationSet(corpus, path, sources, _of_question(reading, sources, by), by)
        for path, sources in zip(paths, found, strict=True)
    ]


def _of_question(reading: Reading, sources: Sequence[Source], by: Criterion) -> Reading:
    """Return the reading of a set: the measure `decon` compares questions, if items have fields."""
    if by.by != "decon" or reading.text is not None or not have_fields(sources):
        return reading
    return replace(reading, text=QUESTION)


class EvaluationSet:
    """Items of one or more files, compared with a corpus: `name` is the path, `items` are the documents."""

    def __init__(
        self, corpus: CorpusView, path: str, sources: Sequence[Source], reading: Reading, by: Criterion
    ) -> None:
        self.name = path
        self.files = [source.path for source in sources]
        self.by = by
        # How texts are changed before they are compared; None if they are not.
        self.fold = _after_tokenizer(corpus.tokenizer, by.fold) if by.folds else None
        self.items = _opened(corpus, sources, reading, self.fold)
        # Words never contain white space.
        fold = _after_tokenizer(corpus.tokenizer, replace(by, fold_space=False).fold)
        self._words = FoldedWords(corpus, self.items.tokenizer, fold)
        self._overlaps: dict[Segment, Overlap] = {}
        self._ngrams: ItemNgrams | None = None

    def overlapping(self, corpus: CorpusView, i: int, docs: Docs) -> tuple[Docs, Shares]:
        """Return those of some documents of segment `i` that have any n-gram of the set, and their shares."""
        segment = corpus.segments[i]
        if self.fold is None:
            shares = self._overlap(corpus, segment).shares(docs)
        else:
            shares = np.concatenate([np.empty(0), *self._folded_shares(segment, docs)])
        return docs[shares > 0], shares[shares > 0]

    def n_found(self, corpus: CorpusView, overlapping: list[Docs]) -> int:
        """Count the items with an n-gram that a document of the corpus has.

        `overlapping` are such documents of each segment. Cost: that of finding them again.
        """
        shared = (
            found
            for segment, docs in zip(corpus.segments, overlapping, strict=True)
            for found in self._shared(corpus, segment, docs)
        )
        return n_documents_with(self.items, shared)

    def n_short(self, corpus: CorpusView) -> int:
        """Count the items with fewer than n tokens, alone or as a document of the corpus contains them."""
        short: set[int] = set()
        for one in self.items.segments:
            lengths = one.lengths(np.arange(one.n_documents, dtype=np.uint32))
            short.update(one.doc_ids(np.flatnonzero(lengths < self.by.n)).tolist())
        if self.fold is None:
            short.update(*(self._overlap(corpus, segment).shortened for segment in corpus.segments))
        return len(short)

    def spans(self, corpus: CorpusView, segment: Segment, docs: Docs) -> Iterator[Iterator[dict[str, Any]]]:
        """Yield the spans of each document for the report."""
        if self.fold is None:
            found = self._overlap(corpus, segment).spans(docs)
            contexts = contexts_of(segment, Display(corpus.tokenizer, bare=True, pattern=None))
            for number, spans in zip(docs.tolist(), found, strict=True):
                texts = [contexts.show(Line(number, one.start, one.stop, 0, 0, 0)).match for one in spans]
                yield _told(spans, texts, self.items)
            return
        for number in docs.tolist():
            text = self.fold(text_of(corpus, segment, number))
            known, offsets = self._words.of_texts([text])
            marks = marked_places(known, offsets, self.items, self.by.n)
            spans = spans_of(marks, known, self.by.n, partial(first_document, self.items))
            starts, stops = word_places(text.encode())
            yield _told(spans, [text[starts[one.start] : stops[one.stop - 1]] for one in spans], self.items)

    def matches(self, corpus: CorpusView, i: int, docs: Docs) -> Iterator[Matches]:
        """Yield what some documents of the corpus's segment `i` and the items share: all of a pair at once.

        Cost: a few searches per token of the items; or, if texts are folded, all texts are read.
        """
        segment = corpus.segments[i]
        if self.fold is None:
            counts = np.zeros(segment.n_documents, dtype=np.bool_)
            counts[docs] = True
            for found in self._item_ngrams(corpus).matches(segment):
                yield found.chosen(counts[found.docs])
            return
        lengths = item_lengths(self.items)
        # An item of fewer words than an n-gram is found as a whole.
        short = np.unique(lengths[(lengths < self.by.n) & (lengths >= n_least(self.by.n))]).tolist()
        for chunk, _ in token_chunks(segment, docs):
            ids, offsets = self._words.of_documents(segment, chunk)
            parts = []
            for n in (*short, self.by.n):
                marks = marks_of_ngrams(ids, offsets, self.items, n)
                for found in inverted(self.items, ids, offsets, marks, chunk.astype(np.int64), n):
                    whole = (found.starts == 0) & (found.stops == n) & (lengths[found.items] == n)
                    parts.append(found if n == self.by.n else found.chosen(whole))
            yield Matches.joined(parts)

    def text(self, item: int, start: int, stop: int) -> str:
        """Return the text of tokens [start, stop) of an item, folded if texts are."""
        segment, number = self._place(item)
        return self.items.tokenizer.decode(segment.document(number)[start:stop])

    def item_id(self, item: int) -> Any:
        """Return the item's own id, or None."""
        segment, number = self._place(item)
        return origin(segment.metadata.row(number)).get("id")

    def _place(self, item: int) -> tuple[Segment, int]:
        found = ((one, one.local_of(item)) for one in self.items.segments)
        return next((one, number) for one, number in found if number is not None)

    def marked(self) -> NDArray[np.bool_]:
        """Return, after all `matches`, where n-grams of the items begin that occur too often to be listed."""
        n_tokens = int(item_lengths(self.items).sum())
        return np.zeros(n_tokens, dtype=np.bool_) if self._ngrams is None else self._ngrams.unlisted

    def tokens(self, corpus: CorpusView) -> Texts:
        """Return the tokens of all items as ids of the corpus, or of the set if texts are folded.

        Words that the corpus lacks have ids that it does not use.
        """
        if self.fold is None:
            ngrams = self._item_ngrams(corpus)
            return Texts(ngrams.tokens(corpus.tokenizer.n_vocabulary), ngrams.offsets)
        offsets = np.concatenate([[0], np.cumsum(item_lengths(self.items))]).astype(np.int64)
        numbers = ((one, i) for one in self.items.segments for i in range(one.n_documents))
        parts = [one.document(i).astype(np.int64) for one, i in numbers]
        return Texts(np.concatenate([np.empty(0, dtype=np.int64), *parts]), offsets)

    def frequent_ngrams(self) -> dict[int, NDArray[np.int64]]:
        """Return, for each item in `frequent`, the places of its n-grams that are too frequent."""
        if self._ngrams is None:
            return {}
        bounds, found = self._ngrams.offsets, self._ngrams.unlisted
        return {item: np.flatnonzero(found[bounds[item] : bounds[item + 1]]) for item in self.frequent}

    def _item_ngrams(self, corpus: CorpusView) -> ItemNgrams:
        if self._ngrams is None:
            self._ngrams = ItemNgrams(corpus, self.items, self.by.n)
        return self._ngrams

    @property
    def frequent(self) -> set[int]:
        """Items with n-grams that occur so often that their documents are not listed."""
        return set() if self._ngrams is None else self._ngrams.frequent

    def _overlap(self, corpus: CorpusView, segment: Segment) -> Overlap:
        if segment not in self._overlaps:
            self._overlaps[segment] = Overlap(corpus, segment, self.items, self.by.n)
        return self._overlaps[segment]

    # ---- folded texts -----------------------------------------------------------------------------------

    def _folded_shares(self, segment: Segment, docs: Docs) -> Iterator[Shares]:
        for _, offsets, marks in self._folded_marks(segment, docs):
            sums = np.concatenate([[0], np.cumsum(marks)])
            windows = n_windows(np.diff(offsets), self.by.n)
            counts = sums[offsets[1:]] - sums[offsets[:-1]]
            yield np.divide(counts, windows, out=np.zeros(len(windows)), where=windows > 0)

    def _shared(self, corpus: CorpusView, segment: Segment, docs: Docs) -> Iterator[SharedNgrams]:
        if self.fold is None:
            yield from self._overlap(corpus, segment).shared(docs)
            return
        for ids, offsets, marks in self._folded_marks(segment, docs):
            yield from marked_ngrams(ids, offsets, marks, self.by.n)

    def _folded_marks(
        self, segment: Segment, docs: Docs
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]]:
        """Yield, per batch of documents, ids, offsets, and the tokens at which n-grams of the set begin."""
        for chunk, _ in token_chunks(segment, docs):
            ids, offsets = self._words.of_documents(segment, chunk)
            yield ids, offsets, marked_places(ids, offsets, self.items, self.by.n)


def _opened(corpus: CorpusView, sources: Sequence[Source], reading: Reading, fold: Fold | None) -> CorpusView:
    """Open the items of a file as a corpus in memory, with the corpus's tokenizer or as folded words."""
    options = LoadRequest(**reading.options).reading(corpus.entry.tokenizer)
    documents = read_documents(sources, options, ErrorLog(), Meter())
    if fold is None:
        return scratch_corpus(MemoryDirectory(), documents, corpus)
    return scratch_corpus(MemoryDirectory(), (_folded(document, fold) for document in documents))


def _folded(document: Document, fold: Fold) -> Document:
    if document.text is None:
        raise InvalidArgument("token ids have no letters or white space to fold")
    text = fold(document.text.decode()).encode()
    return Document(text, None, document.metadata, document.source, document.line, unit=document.unit)


def _told(spans: Sequence[Span], texts: Sequence[str], other: CorpusView) -> Iterator[dict[str, Any]]:
    """Yield spans for the report; `texts` are those of the spans."""
    for span, text in zip(spans, texts, strict=True):
        item = next(
            (
                one.metadata.row(i)
                for one in other.segments
                if (i := one.local_of(span.other_doc_id)) is not None
            ),
            {},
        )
        yield {
            "start": span.start,
            "stop": span.stop,
            "text": text,
            "item": span.other_doc_id,
            "item_id": origin(item).get("id"),
        }


# ---- documents of a corpus as words of an evaluation set that folds case or white space


Ids = NDArray[np.int64]

# The id of words that are not in the set.
NO_WORD = -1
# The id of words whose folded form depends on their neighbours, or is not one word.
BY_TEXT = -2
# Its lower case depends on the letters around it (Unicode, Final_Sigma).
SIGMA = "\u03a3"


class FoldedWords:
    """Texts as ids of the words of a set, `NO_WORD` for words that are not in it.

    `fold` is applied to a text before it is split into words; it keeps white space.
    """

    def __init__(self, corpus: CorpusView, words: Tokenizer, fold: Callable[[str], str]) -> None:
        self._corpus = corpus
        self._words = words
        self._fold = fold
        self._table = np.empty(0, dtype=np.int64)

    def of_texts(self, texts: Sequence[str]) -> tuple[Ids, Ids]:
        """Return the words of texts and the offset of each text. Cost: about 20 ns per byte."""
        return self._encoded([self._fold(text) for text in texts])

    def of_documents(self, segment: Segment, docs: Docs) -> tuple[Ids, Ids]:
        """Return the words of a corpus's documents, whose texts are not read if its tokens are words."""
        tokenizer = self._corpus.tokenizer
        if tokenizer.kind not in GROWING_TOKENIZERS:
            return self.of_texts([text_of(self._corpus, segment, i) for i in docs.tolist()])
        if len(self._table) < tokenizer.n_vocabulary:
            self._table = self._folded_vocabulary(tokenizer)
        documents = [self._table[segment.document(i)] for i in docs.tolist()]
        for k, ids in enumerate(documents):
            if (ids == BY_TEXT).any():
                documents[k], _ = self.of_texts([text_of(self._corpus, segment, int(docs[k]))])
        bounds = np.cumsum([0, *map(len, documents)], dtype=np.int64)
        return np.concatenate([np.empty(0, dtype=np.int64), *documents]), bounds

    def _encoded(self, folded: Sequence[str]) -> tuple[Ids, Ids]:
        # One fork per call: the words that it learns are discarded with it.
        ids, offsets = self._words.fork().encode_batch([text.encode() for text in folded])
        return np.where(ids < self._words.n_vocabulary, ids.astype(np.int64), NO_WORD), offsets

    def _folded_vocabulary(self, tokenizer: Any) -> Ids:
        """Return the id for each word of a vocabulary. Cost: about a microsecond per word."""
        texts = [word.decode("utf-8", "replace") for word in tokenizer.entries()]
        # In one call, since no word contains a line break.
        ids, offsets = self._encoded(self._fold("\n".join(texts)).split("\n") if texts else [])
        return np.array(
            [
                ids[start] if stop - start == 1 and not _depends_on_neighbours(text) else BY_TEXT
                for text, (start, stop) in zip(texts, pairwise(offsets.tolist()), strict=True)
            ],
            dtype=np.int64,
        )


def _depends_on_neighbours(word: str) -> bool:
    """Return True if the folded form of a word may depend on the characters around it."""
    return SIGMA in word or unicodedata.category(word[:1] or " ").startswith("M")


def text_of(view: CorpusView, segment: Segment, i: int) -> str:
    """Return the text of a document; if none is stored, the text that its tokens spell."""
    text = segment.text(i, view.tokenizer)
    return view.tokenizer.decode(segment.document(i)) if text is None else text.decode("utf-8", "replace")
