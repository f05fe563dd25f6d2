"""Documents as lines and texts that can be loaded again, and what is to be said of those that cannot be.

A line is the very one that a document came in (`ngramdb.ingest.readers.line_forms`). Other documents get a
line of their own: with their text; of a document that came as token ids, a text that has just these tokens.
Ids mean nothing without the vocabulary, so they are written only where they are all that there is, and that
is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ngramdb.errors import CorruptionError, ExportWarning, NgramdbError, QueryCancelled
from ngramdb.executor.questions.document_columns import document_text
from ngramdb.ingest.readers.line_forms import line_of, plain_line
from ngramdb.kinds import FILE_TOKENIZERS
from ngramdb.planner.cautions import Caution
from ngramdb.planner.source import IntArray, Segment, Tokenizer

# In the form of a line that had token ids.
IDS_IN_FORM = b":2"


class DocumentLines:
    """The lines of documents, made one at a time; `cautions` has afterwards what there is to say of them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._takes_ids = tokenizer.kind == "tokens"
        self._n_as_ids = 0
        self._n_left_out = 0
        self._texts = Retokenized(tokenizer)

    def of(self, documents: Iterable[tuple[Segment, int]]) -> Iterator[bytes]:
        """The line of each document.

        Raises
        ------
        CorruptionError
            What a segment stores of a line does not fit its document.
        """
        for segment, i in documents:
            yield self._line(segment, i)

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
                f"{segment.path}: what is stored of the line of document {segment.doc_id(i)} does not fit "
                f"it: {error!r}; run CHECK, and restore the file from a backup",
                path=segment.path,
            ) from error
        self._n_as_ids += text is None and not self._takes_ids
        return line

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What there is to say of the lines that were made."""
        said = []
        if self._n_as_ids:
            said.append(
                f"{_documents(self._n_as_ids)} written as token ids, as given: no text stands for them. They "
                "mean tokens of this corpus's vocabulary; only a corpus that has it can load them (IDS 'ids')"
            )
        if self._n_left_out:
            name = "ids" if self._takes_ids else "text"
            said.append(
                f"{_documents(self._n_left_out)} written without the metadata field {name!r}: what "
                "they consist of has that name in the file; Parquet has room for both"
            )
        return (*(Caution(message, ExportWarning) for message in said), *self._texts.cautions)


class ShownTexts:
    """The texts of documents for files whose rows have one each; `cautions` has what there is to say of them.

    A document of token ids that no text stands for is there as the text that shows the ids.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._n_shown = 0
        self._retokenized = Retokenized(tokenizer)

    def of(self, segment: Segment, i: int) -> str:
        """The text of a document."""
        text = stored_text(segment, i, self._tokenizer)
        if text is None and self._has_none(segment, i):
            self._n_shown += 1
        else:
            self._retokenized.add(segment, i, text)
        return document_text(segment, i, self._tokenizer) if text is None else text

    def seen(self, documents: Iterable[tuple[Segment, int]]) -> Iterator[tuple[Segment, int]]:
        """The same documents, whose texts are written elsewhere."""
        for segment, i in documents:
            self.of(segment, i)
            yield segment, i

    def _has_none(self, segment: Segment, i: int) -> bool:
        return spelled(segment.document(i), self._tokenizer) is None

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What there is to say of them."""
        if not self._n_shown:
            return self._retokenized.cautions
        has_ids = "JSON lines and Parquet have" if self._tokenizer.kind == "tokens" else "JSON lines have"
        message = (
            f"{_documents(self._n_shown)} written as a text that shows token ids, which cannot be loaded "
            f"again as they are: no text stands for them; {has_ids} the ids"
        )
        return (Caution(message, ExportWarning), *self._retokenized.cautions)


class Retokenized:
    """Counts documents whose text, when it is loaded again, has other tokens than the ones they came with.

    Such are documents that came as token ids under sub-words, of which many sequences spell one text. A line
    of JSON with a text was tokenized from it, so that only documents without a line are tokenized here.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._n = 0

    def add(self, segment: Segment, i: int, text: str | None) -> None:
        """Look at a document. Cost: that of tokenizing it, under sub-words."""
        if text is None or self._tokenizer.kind not in FILE_TOKENIZERS or segment.form(i) is not None:
            return
        try:
            found: IntArray = self._tokenizer.encode(text)
        except QueryCancelled:
            raise
        except NgramdbError:
            found = np.empty(0, dtype=np.int64)
        self._n += not np.array_equal(found, segment.document(i))

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What there is to say of them."""
        if not self._n:
            return ()
        message = (
            f"{_documents(self._n)} written as text that has other tokens when it is loaded again: the ids "
            "that were appended are not those that the tokenizer gives"
        )
        return (Caution(message, ExportWarning),)


def stored_text(segment: Segment, i: int, tokenizer: Tokenizer) -> str | None:
    """The document's text; None where it came as ids, and those spell no text that a file could have."""
    found = segment.text(i, tokenizer)
    try:
        return None if found is None else found.decode("utf-8")
    except UnicodeDecodeError:
        return None


def spelled(ids: Any, tokenizer: Tokenizer) -> str | None:
    """A text that has just these tokens under the corpus's tokenizer, None where there is none."""
    if tokenizer.kind == "tokens":
        return None
    try:
        text = tokenizer.decode(ids)
        found: IntArray = tokenizer.encode(text)
    except QueryCancelled:
        raise
    except NgramdbError:  # an id without a text; or a text that the tokenizer does not take
        return None
    return text if found.tolist() == ids.tolist() else None


def _documents(n: int) -> str:
    return f"{n:,} document{' was' if n == 1 else 's were'}"
