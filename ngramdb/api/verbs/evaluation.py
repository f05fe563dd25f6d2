"""Evaluating the language models of a corpus on documents, and other outputs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TextIO

import numpy as np

from ngramdb.api.conversion import each_of
from ngramdb.api.verbs.exporting import write_text
from ngramdb.engine.loading.resuming import of_sources
from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.ingest.options import ReadOptions, check_options, have_fields
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import expand, total_size
from ngramdb.ingest.streams import Meter
from ngramdb.lm import arpa, generation
from ngramdb.lm import evaluation as agreeing
from ngramdb.lm import evaluation as agreement_plot
from ngramdb.lm import evaluation as evaluating
from ngramdb.lm.models import LanguageModel
from ngramdb.lm.of_corpora import language_model
from ngramdb.lm.pruning import Pruning
from ngramdb.lm.spec import InfGram, KneserNey
from ngramdb.questions import packing, to_ast
from ngramdb.questions.packing import Unit
from ngramdb.questions.to_ast import as_model
from ngramdb.source import Corpus, IntArray
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import token_ids

# Converts the ids of a document and its text or ids to the ids that models read.
Cut = Callable[[IntArray, Any], IntArray]
# The method `Corpus.agreement` of a corpus.
Measure = Callable[..., agreeing.Agreement]


def perplexity(
    model: LanguageModel,
    view: Corpus,
    docs: Any,
    unit: Unit | None,
    progress: evaluating.Progress | None,
) -> evaluating.Perplexity:
    """Implement `Corpus.perplexity` for a model over `view` (`units.corpus_for`)."""
    size = TextSize(view.tokenizer)
    documents = token_ids_of(docs, view.tokenizer, size, partial(packing.cut, view, unit))
    found = evaluating.perplexity(model, documents, document=unit is not None, progress=progress)
    if not size.is_known:
        return found
    return replace(found, n_bytes=size.n_bytes, n_characters=size.n_characters)


def agreement(
    model: LanguageModel,
    view: Corpus,
    docs: Any,
    unit: Unit | None,
    skip: int,
    progress: evaluating.Progress | None,
) -> agreeing.Agreement:
    """Implement `Corpus.agreement` for a model over `view` (`units.corpus_for`)."""
    documents = token_ids_of(docs, view.tokenizer, cut=partial(packing.cut, view, unit))
    between = unit is not None
    return agreeing.measure_agreement(model, documents, document=between, skip=skip, progress=progress)


def agreement_panels(
    measure: Measure,
    docs: Sequence[Any],
    order: int,
    progress: evaluating.Progress | None = None,
    skip: int = 0,
) -> dict[str, agreeing.Agreement]:
    """Measure agreement as in the paper's figure: for the n-gram model of an order, and the ∞-gram.

    The n-gram model backs off to a shorter context if the longer one is unseen, as the ∞-gram does. For
    `progress` a document is half done after the first of the two.
    """
    models = {f"{order}-gram": InfGram(order), "∞-gram": InfGram()}
    panels: dict[str, agreeing.Agreement] = {}
    n_tokens = 0

    def report(documents: int, tokens: int) -> None:
        if progress is not None:
            progress((len(panels) * len(docs) + documents) // 2, (n_tokens + tokens) // 2)

    for name, model in models.items():
        panels[name] = measure(docs, model, skip=skip, progress=report)
        n_tokens = panels[name].total
    return panels


def draw_agreement(panels: dict[str, agreeing.Agreement], path: str) -> None:
    """Draw the figure; the suffix of the path selects PNG, SVG or PDF."""
    agreement_plot.draw_agreement(panels, path, sparse="sparse ∞-gram")


def draft(view: Corpus, ids: IntArray, n: int, least_prob: float, least_count: int) -> generation.Draft:
    """Implement `Corpus.draft`."""
    n = to_ast.whole(0, "n", n)
    least = _probability("least_prob", least_prob)
    model = language_model(view, as_model(InfGram(min_count=least_count)))
    return generation.draft(model, ids, n, least_prob=least)


def _probability(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0 <= value <= 1:
        raise InvalidArgument(f"{name} must be a number from 0 to 1, not {value!r}")
    return float(value)


def export_arpa(
    view: Corpus, path: str, order: int, *, min_count: Any, prune: str | None, symbols: str
) -> list[int]:
    """Implement `Corpus.export_arpa`."""
    arpa.check_order(order)  # before the work
    arpa.check_symbols(symbols)
    Pruning.of(min_count, prune)
    options: dict[str, Any] = {"min_count": min_count, "prune": prune, "symbols": symbols}
    model = language_model(view, as_model(KneserNey(order)))
    tokenizer = view.tokenizer
    sizes: list[int] = []

    def write(file: TextIO) -> int:
        sizes.extend(arpa.write_arpa(model, file, tokenizer.token_text, **options))
        return sum(sizes)

    write_text(path, write)
    return sizes


class TextSize:
    """The bytes and characters of documents; unknown once one of them was token ids that spell no text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.is_known = True
        self.n_bytes = self.n_characters = 0

    def add(self, item: Any) -> None:
        """Count a document's text, or the text of its token ids."""
        if not isinstance(item, str):
            content = self._tokenizer.decode_exact(token_ids(item))
            if content is None:
                self.is_known = False
                return
            item = content.decode("utf-8", "surrogateescape")
        self.n_bytes += len(item.encode("utf-8", "surrogatepass"))
        self.n_characters += len(item)


def token_ids_of(
    docs: Any, tokenizer: Tokenizer, size: TextSize | None = None, cut: Cut | None = None
) -> Iterator[IntArray]:
    """Yield each document's token ids; -1 for words that the vocabulary lacks.

    docs : texts, sequences of token ids, dicts with `text` or `ids`, pairs of either and metadata; or a table
    size : counts bytes and characters
    cut : is called with the ids and the text or ids of a document, and returns the ids to yield

    Raises
    ------
    InvalidArgument
        One document instead of several, or an invalid document; the message has its position.
    """
    items = each_of(docs, "documents must be an iterable of texts or token ids", tokenizer.kind)
    for number, item in enumerate(items, start=1):
        try:
            content = _content_of(item)
            if size is not None:
                size.add(content)
            is_text = isinstance(content, str)
            ids = np.asarray(tokenizer.encode(content), dtype=np.int64) if is_text else token_ids(content)
            yield ids if cut is None else cut(ids, content)
        except InvalidArgument as error:
            raise InvalidArgument(f"document {number}: {error}") from error


def _content_of(item: Any) -> Any:
    """Return a document's text, or its token ids."""
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Mapping):
        item = item[0]
    if type(item) is Document:  # a row of a table
        item = item.text if item.ids is None else item.ids
    if isinstance(item, Mapping):
        if not item.keys() & {"text", "ids"}:
            raise InvalidArgument("a dict needs 'text' or 'ids'")
        item = item["text"] if "text" in item else item["ids"]
    if isinstance(item, bytes):
        item = item.decode("utf-8", "replace")
    return item


class FileDocuments:
    """The documents of files, one after the other, with the fraction of the files that is read.

    `notes` are about files that are not read, or are read twice.
    """

    def __init__(self, documents: Iterator[Any], meter: Meter, notes: Iterable[str]) -> None:
        self.notes = tuple(notes)
        self._documents = documents
        self._meter = meter

    def __iter__(self) -> Iterator[Any]:
        return self._documents

    @property
    def share(self) -> float | None:
        """The fraction that is read; None if the size is unknown, such as that of a pipe."""
        total = self._meter.total_bytes
        return min(1.0, self._meter.bytes_read / total) if total else None


def documents_of_files(
    paths: Iterable[str],
    *,
    text: str | None = None,
    format: str | None = None,
    separator: str | None = None,
    limit: int | None = None,
    takes_ids: bool = False,
) -> FileDocuments:
    """Read the documents of files as texts (or token ids), as COPY … FROM does.

    Raises
    ------
    LoadError
        A file or a document that cannot be read (with file and line).
    """
    field = text if text is not None else "ids" if takes_ids else "text"
    options = ReadOptions(
        text_field=field,
        ids_field=field if takes_ids else None,
        ids_instead="text" if takes_ids and text is None else None,
        metadata=(),
        separator=separator,
        limit=limit,
    )
    left_out: list[str] = []
    sources = expand(list(paths), format, left_out)
    check_options({"text": text, "separator": separator}, sources)
    if takes_ids and not have_fields(sources):
        raise LoadError("this corpus takes token ids, which text files do not have")
    meter = Meter(total_bytes=total_size(sources))
    documents = read_documents(sources, options, ErrorLog(), meter)
    contents = (document.ids if document.text is None else document.text for document in documents)
    return FileDocuments(contents, meter, of_sources(sources, left_out))
