"""The groups that documents, and occurrences in them, belong to: the values of keys by numbers.

A document has one value of a field, and as many as it has elements of a list that is unnested: then it is
several rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.executor.conditions.computed_values import codes_of, elements_of
from ngramdb.executor.conditions.field_values import Codes, FieldReader
from ngramdb.executor.conditions.known_tokens import from_files
from ngramdb.executor.conditions.occurrences import Occurrences
from ngramdb.executor.conditions.stored_text import token_places
from ngramdb.executor.distinct import numbered, numbered_columns, numbered_rows
from ngramdb.planner.plan import FieldKey, PlaceKey
from ngramdb.planner.source import Corpus, IntArray, Segment
from ngramdb.types import Docs

# Rows of tokens made text between two interrupt checks.
CHECK_ROWS = 1024


def of_documents(
    keys: Sequence[FieldKey], segment: Segment, docs: Docs
) -> tuple[IntArray | None, list[Codes]]:
    """The keys of documents (local numbers, ascending).

    Returns which of `docs` each row is, ascending (None: one row for each), and the keys of the rows.
    """
    reader = FieldReader(segment)
    chosen = None if len(docs) == segment.n_documents else docs
    rows: IntArray | None = None
    found: list[Codes] = []
    for key in keys:
        if not key.unnested:
            codes = codes_of(key, reader, chosen)
            found.append(codes if rows is None else replace(codes, codes=codes.codes[rows]))
            continue
        owners, codes = elements_of(key, reader, chosen)
        if rows is None:
            rows = np.arange(len(docs))
        old, new = joined(rows, owners, len(docs))
        found = [replace(other, codes=other.codes[old]) for other in found]
        found.append(replace(codes, codes=codes.codes[new]))
        rows = rows[old]
    return rows, found


def joined(numbers: IntArray, owners: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Every pair of a number below `n` and an owner (ascending) that equal each other, by their places."""
    per_owner = np.bincount(owners, minlength=n)
    first = np.cumsum(per_owner) - per_owner
    repeats = per_owner[numbers]
    left = np.repeat(np.arange(len(numbers)), repeats)
    ordinals = np.arange(len(left)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return left, first[numbers[left]] + ordinals


def of_occurrences(
    keys: Sequence[FieldKey | PlaceKey], corpus: Corpus, segment: Segment, found: Occurrences
) -> tuple[IntArray, list[Codes]]:
    """The keys of occurrences: which of them each row is, and the keys of the rows."""
    at = segment.index.documents_at(found.starts)
    stands, chosen = numbered(at)
    docs = at[stands]
    fields = [key for key in keys if isinstance(key, FieldKey)]
    owners, of_fields = of_documents(fields, segment, docs)
    rows: IntArray = np.arange(len(found))
    if owners is not None:
        rows, chosen = joined(chosen, owners, len(docs))
    by_field = iter(of_fields)
    codes: list[Codes] = []
    for key in keys:
        if isinstance(key, FieldKey):
            of_key = next(by_field)
            codes.append(replace(of_key, codes=of_key.codes[chosen]))
        else:
            of_place = _texts_beside(key, corpus, segment, found)
            codes.append(replace(of_place, codes=of_place.codes[rows]))
    return rows, codes


def _texts_beside(key: PlaceKey, corpus: Corpus, segment: Segment, found: Occurrences) -> Codes:
    """The text left or right of each occurrence, or its own."""
    if key.name == "form":
        return _forms(corpus, segment, found)
    to_left = key.name == "left"
    places = found.starts if to_left else found.stops
    columns: list[IntArray] = []
    inside: NDArray[np.bool_] = np.ones(len(found), dtype=np.bool_)
    for depth in range(key.n_tokens):
        interrupts.check()
        column = np.full(len(found), -1, dtype=np.int64)
        # Beyond the end of a document is another one.
        column[inside] = segment.index.tokens_at(places[inside], -1 - depth if to_left else depth)
        inside = column >= 0
        columns.append(column)
        if not inside.any():
            break
    if to_left:
        columns.reverse()
    table = np.stack(columns, axis=1)
    first, codes = numbered_rows(table)
    return _texts(corpus, table[first], codes)


def _forms(corpus: Corpus, segment: Segment, found: Occurrences) -> Codes:
    """Return how each occurrence is written: its tokens, or the text if these do not show it.

    Cost of the latter: documents with an occurrence are read once, and tokenized, but not under `words`.
    """
    chosen, numbers_of = numbered_columns(_token_columns(segment, found))
    of_tokens = _texts(corpus, _tokens(segment, found[chosen]), numbers_of)
    tokenizer = corpus.tokenizer
    if tokenizer.has_places:
        unsure = np.arange(len(found))
    elif tokenizer.kind == "words":
        in_doubt = np.array([not _is_written_so(text) for text in of_tokens.values], dtype=np.bool_)
        unsure = np.flatnonzero(in_doubt[of_tokens.codes])
    else:
        return of_tokens
    numbers = {text: number for number, text in enumerate(of_tokens.values)}
    codes = of_tokens.codes.copy()
    documents = segment.index.documents_at(found.starts)
    first, _ = segment.index.document_bounds(documents)
    starts = (found.starts.astype(np.int64) - first).tolist()
    stops = (found.stops.astype(np.int64) - first).tolist()
    order = unsure[np.argsort(documents[unsure], kind="stable")]
    bounds = np.flatnonzero(np.diff(documents[order])) + 1
    for some in np.split(order, bounds) if len(order) else []:
        interrupts.check()
        document = int(documents[some[0]])
        content = segment.text(document, tokenizer)
        text = "" if content is None else content.decode("utf-8", "backslashreplace")
        places = None if content is None else token_places(segment, tokenizer, document, text)
        if places is None:  # the ids were given, and are not those of a text: they are shown
            continue
        for k in some.tolist():
            if starts[k] < stops[k] <= len(places.stops):
                written = text[int(places.starts[starts[k]]) : int(places.stops[stops[k] - 1])]
                codes[k] = numbers.setdefault(" ".join(written.split()) or written, len(numbers))
    return Codes(codes, list(numbers))


def _is_written_so(text: str) -> bool:
    """Return True if words, joined by blanks, are written with white space between them in any text.

    Two letters or digits in a row would be one word, except ideographs and the like, from U+2E80 on.
    """
    return " " not in text or all(one == " " or (one.isalnum() and one < "\u2e80") for one in text)


def _tokens(segment: Segment, found: Occurrences) -> IntArray:
    """The tokens that occurrences take up, a row for each; -1 after the last one."""
    n_columns = int((found.stops - found.starts).max(initial=1))
    what = f"the tokens of {len(found):,} forms, the longest of {n_columns:,},"
    interrupts.require_memory(len(found) * n_columns * 8, what)
    table = np.empty((len(found), n_columns), dtype=np.int64)
    for depth, column in enumerate(_token_columns(segment, found)):
        table[:, depth] = column
    return table


def _token_columns(segment: Segment, found: Occurrences) -> Iterator[IntArray]:
    """The columns of the table of tokens, each made when it is read; at least one."""
    lengths = found.stops.astype(np.int64) - found.starts
    for depth in range(int(lengths.max(initial=1))):
        interrupts.check()
        column = np.full(len(found), -1, dtype=np.int64)
        some = lengths > depth
        column[some] = segment.index.tokens_at(found.starts[some], depth)
        yield column


def _texts(corpus: Corpus, rows: IntArray, codes: IntArray) -> Codes:
    """The texts of rows of tokens, -1 left out, by numbers; a row without any has none.

    `codes` are numbers of rows, of which several may have the same text.
    """
    numbers: dict[str, int] = {}
    table_of = np.full(len(rows), -1, dtype=np.int64)
    some = np.flatnonzero((rows >= 0).any(axis=1))
    # A word is the same with the blank that sub-word tokens have before it; characters are what they are.
    is_exact = corpus.tokenizer.kind in ("chars", "bytes")
    for place, text in zip(some.tolist(), _shown(corpus, rows[some]), strict=True):
        shown = text if is_exact else text.strip(" ") or text
        table_of[place] = numbers.setdefault(shown, len(numbers))
    return Codes(table_of[codes], list(numbers))


def _shown(corpus: Corpus, rows: IntArray) -> Iterator[str]:
    """The text of each row of tokens. Single ones are looked up together, in a fraction of the time."""
    with from_files(corpus.tokenizer, corpus.segments):
        if rows.shape[1] == 1:
            yield from corpus.tokenizer.token_texts(rows[:, 0])
            return
        for number, row in enumerate(rows):
            if number % CHECK_ROWS == 0:
                interrupts.check()
            yield corpus.tokenizer.decode(row[row >= 0])
