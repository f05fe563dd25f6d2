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
from ngramdb.executor.distinct import numbered, numbered_rows
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
        return _texts(corpus, _tokens(segment, found))
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
    return _texts(corpus, np.stack(columns, axis=1))


def _tokens(segment: Segment, found: Occurrences) -> IntArray:
    """The tokens that occurrences take up, a row for each; -1 after the last one."""
    lengths = found.stops.astype(np.int64) - found.starts
    table = np.full((len(found), int(lengths.max(initial=1))), -1, dtype=np.int64)
    for depth in range(table.shape[1]):
        interrupts.check()
        some = lengths > depth
        table[some, depth] = segment.index.tokens_at(found.starts[some], depth)
    return table


def _texts(corpus: Corpus, table: IntArray) -> Codes:
    """The texts of rows of tokens, -1 left out, by numbers; a row without any has none."""
    first, codes = numbered_rows(table)
    rows = table[first]
    numbers: dict[str, int] = {}
    table_of = np.full(len(rows), -1, dtype=np.int64)
    some = np.flatnonzero((rows >= 0).any(axis=1))
    for place, text in zip(some.tolist(), _shown(corpus, rows[some]), strict=True):
        table_of[place] = numbers.setdefault(text.strip() or text, len(numbers))
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
