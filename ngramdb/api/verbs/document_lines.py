"""Documents as lines and texts that can be loaded again, with notes on those that cannot be.

A line is the original line of a document (`ngramdb.ingest.readers.lines`). Other documents get a
new line: with their text; for a document that came as token ids, with a text that has exactly these tokens.
Ids are meaningless without the vocabulary, so they are written only if nothing else exists, with a
note.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ngramdb.errors import CorruptionError, ExportWarning, NgramdbError, QueryCancelled
from ngramdb.ingest.readers.lines import line_of, plain_line
from ngramdb.planner.cautions import Caution
from ngramdb.questions.document_columns import document_text
from ngramdb.registries import FILE_TOKENIZERS
from ngramdb.segments.base import Segment
from ngramdb.source import IntArray
from ngramdb.tokenizers.base import Encoder, Ids, Tokenizer

# Marks the form of a line that had token ids.
IDS_IN_FORM = b":2"
# Size of the texts that are tokenized together, and kept in memory until then.
BATCH_BYTES = 1 << 22


class DocumentLines:
    """The lines of documents, made one at a time; afterwards `cautions` has the notes on them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._takes_ids = tokenizer.kind == "tokens"
        self._n_as_ids = 0
        self._n_left_out = 0
        self._texts = Retokenized(tokenizer)

    def of(self, documents: Iterable[tuple[Segment, int]]) -> Iterator[bytes]:
        """Yield the line of each document.

        Raises
        ------
        CorruptionError
            The stored data of a line does not fit its document.
        """
        for segment, i in documents:
            yield self._line(segment, i)
        self._texts.end()

    def _line(self, segment: Segment, i: int) -> bytes:
        metadata, form = segment.metadata.row(i), segment.form(i)
        text = stored_text(segment, i, self._tokenizer)
        if text is None and form is None:
            text = spelled(segment.document(i), self._tokenizer)
        elif form is None:
            self._texts.add(segment, i, text)
        came_as_ids = form is not None and IDS_IN_FORM in form
        ids = segment.document(i).tolist() if text is None or came_as_ids else None
        try:
            if form is not None:
                line = line_of(form, metadata, text, ids)
            else:
                line = plain_line(metadata, text, ids)
                self._n_left_out += ("ids" if text is None else "text") in metadata
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise CorruptionError(
                f"{segment.path}: the stored line of document {segment.doc_id(i)} does not fit "
                f"it: {error!r}; run CHECK, and restore the file from a backup",
                path=segment.path,
            ) from error
        self._n_as_ids += text is None and not self._takes_ids
        return line

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """The notes on the lines that were made."""
        said = []
        if self._n_as_ids:
            said.append(
                f"{_documents(self._n_as_ids)} written as token ids, as given: no text stands for them. They "
                "mean tokens of this corpus's vocabulary; only a corpus that has it can load them (IDS 'ids')"
            )
        if self._n_left_out:
            name = "ids" if self._takes_ids else "text"
            said.append(
                f"{_documents(self._n_left_out)} written without the metadata field {name!r}: their "
                "content has that name in the file; Parquet has room for both"
            )
        return (*(Caution(message, ExportWarning) for message in said), *self._texts.cautions)


class ShownTexts:
    """The texts of documents for files whose rows have one each; `cautions` has the notes on them.

    If no text has a document's token ids, its text displays the ids.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._n_shown = 0
        self._retokenized = Retokenized(tokenizer)

    def of(self, segment: Segment, i: int) -> str:
        """Return the text of a document."""
        text = stored_text(segment, i, self._tokenizer)
        if text is None and self._has_none(segment, i):
            self._n_shown += 1
        else:
            self._retokenized.add(segment, i, text)
        return document_text(segment, i, self._tokenizer) if text is None else text

    def seen(self, documents: Iterable[tuple[Segment, int]]) -> Iterator[tuple[Segment, int]]:
        """Pass on the same documents, whose texts are written elsewhere."""
        for segment, i in documents:
            self.of(segment, i)
            yield segment, i
        self.end()

    def end(self) -> None:
        """Finish the comparison of texts with tokens; `cautions` is complete after that."""
        self._retokenized.end()

    def _has_none(self, segment: Segment, i: int) -> bool:
        return spelled(segment.document(i), self._tokenizer) is None

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """The notes on the texts."""
        if not self._n_shown:
            return self._retokenized.cautions
        has_ids = "JSON lines and Parquet have" if self._tokenizer.kind == "tokens" else "JSON lines have"
        message = (
            f"{_documents(self._n_shown)} written as a text that shows token ids, which cannot be loaded "
            f"again as they are: no text stands for them; {has_ids} the ids"
        )
        return (Caution(message, ExportWarning), *self._retokenized.cautions)


class Retokenized:
    """A count of the documents whose text, if loaded again, gets other tokens than they came with.

    These are documents that came as token ids of sub-words, of which many sequences spell one text. A line
    of JSON with a text was tokenized from it, so only documents without a line are tokenized here: in
    batches, as in a load. The pieces of a document that was cut are compared one by one: other tokens
    around its cuts are due to these.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._encoder: Encoder | None = None
        self._texts: list[bytes] = []
        self._ids: list[Ids] = []
        # The document of each text, counted from 0.
        self._owners: list[int] = []
        self._n_added = 0
        self._n_bytes = 0
        self._n = 0

    def add(self, segment: Segment, i: int, text: str | None) -> None:
        """Add a document. Cost: that of tokenizing it, with sub-words; each full batch is tokenized."""
        if text is None or self._tokenizer.kind not in FILE_TOKENIZERS or segment.form(i) is not None:
            return
        encoded = text.encode()
        self._texts += [piece.content for piece in segment.text_pieces(i, encoded)]
        self._ids += segment.pieces(i)
        self._owners += [self._n_added] * (len(self._texts) - len(self._owners))
        self._n_added += 1
        self._n_bytes += len(encoded)
        if self._n_bytes >= BATCH_BYTES:
            self._compare()

    def end(self) -> None:
        """Compare the documents of the last, unfinished batch; `cautions` is complete after that."""
        if self._texts:
            self._compare()
        if self._encoder is not None:
            self._encoder.end()

    def _compare(self) -> None:
        if self._encoder is None:
            self._encoder = self._tokenizer.encoder()
        texts, ids = self._texts, self._ids
        differ = _differing(self._encoder, texts, ids)
        if differ:  # verified by the tokenizer itself: the encoder may be a faster one
            exact = self._tokenizer.encoder(fast=False)
            differ = _differing(exact, [texts[k] for k in differ], [ids[k] for k in differ])
        self._n += len({self._owners[k] for k in differ})
        self._texts, self._ids, self._owners, self._n_bytes = [], [], [], 0

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """The notes on the documents."""
        if not self._n:
            return ()
        message = (
            f"{_documents(self._n)} written as text that has other tokens when it is loaded again: the "
            "appended ids are not those that the tokenizer produces"
        )
        return (Caution(message, ExportWarning),)


def _differing(encoder: Encoder, texts: Sequence[bytes], ids: Sequence[Ids]) -> list[int]:
    """Return the numbers of the texts that have other ids than these, or that cannot be tokenized."""
    try:
        found, offsets = encoder.encode_batch(texts)
    except QueryCancelled:
        raise
    except NgramdbError:
        if len(texts) == 1:
            return [0]
        return [k for k in range(len(texts)) if _differing(encoder, [texts[k]], [ids[k]])]
    bounds = pairwise(offsets.tolist())
    return [
        k
        for k, ((start, stop), own) in enumerate(zip(bounds, ids, strict=True))
        if not np.array_equal(found[start:stop], own)
    ]


def stored_text(segment: Segment, i: int, tokenizer: Tokenizer) -> str | None:
    """Return the document's text; None if it came as ids that spell no text valid in a file."""
    found = segment.text(i, tokenizer)
    try:
        return None if found is None else found.decode("utf-8")
    except UnicodeDecodeError:
        return None


def spelled(ids: Any, tokenizer: Tokenizer) -> str | None:
    """Return a text with exactly these tokens under the corpus's tokenizer, or None."""
    if tokenizer.kind == "tokens":
        return None
    try:
        text = tokenizer.decode(ids)
        found: IntArray = tokenizer.encode(text)
    except QueryCancelled:
        raise
    except NgramdbError:  # an id without a text; or a text that the tokenizer rejects
        return None
    return text if found.tolist() == ids.tolist() else None


def _documents(n: int) -> str:
    return f"{n:,} document{' was' if n == 1 else 's were'}"
