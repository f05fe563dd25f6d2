"""Groups of documents and of occurrences by the values of keys, and counts by group.

A document has one value of a field, or, if the field is unnested, one for each element of its list: then it
is several rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.expressions import from_files
from ngramdb.conditions.field_values import Codes, FieldReader, codes_of, elements_of, identity
from ngramdb.conditions.interruptible_sort import (
    BYTES_PER_SEQUENCE,
    numbered,
    numbered_rows,
    numbered_sequences,
)
from ngramdb.conditions.occurrences import Occurrences
from ngramdb.conditions.stored_text import token_places
from ngramdb.executor.per_segment import BYTES_PER_TOKEN, batches_of
from ngramdb.interrupts import checked
from ngramdb.planner.plan import FieldKey, PlaceKey
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray
from ngramdb.types import Docs

# Rows of tokens decoded between two interrupt checks.
CHECK_ROWS = 1024

# If most values of a field are distinct, there are about as many groups as documents, and a table of all
# combinations would be larger than these.
MAX_TABLE = 1 << 22

NULL_KEY = (float("inf"), None)
Identity = tuple[Any, ...]
# The values of each group and a number, by an identity of the values.
Groups = dict[Identity, list[Any]]


def of_documents(
    keys: Sequence[FieldKey], segment: Segment, docs: Docs
) -> tuple[IntArray | None, list[Codes]]:
    """Return the rows of documents (local numbers, ascending), and the keys of the rows.

    A row is an index into `docs`; indices ascend, and are None if each document is one row.
    """
    reader = FieldReader(segment)
    chosen = None if len(docs) == segment.n_documents else docs
    rows: IntArray | None = None
    found: list[Codes] = []
    for key in keys:
        interrupts.check()
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
    """Return the places of all pairs of a number below `n` and an equal owner (ascending)."""
    per_owner = np.bincount(owners, minlength=n)
    first = np.cumsum(per_owner) - per_owner
    repeats = per_owner[numbers]
    left = np.repeat(np.arange(len(numbers)), repeats)
    ordinals = np.arange(len(left)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return left, first[numbers[left]] + ordinals


def of_occurrences(
    keys: Sequence[FieldKey | PlaceKey], corpus: Corpus, segment: Segment, found: Occurrences
) -> tuple[IntArray, list[Codes]]:
    """Return the rows of occurrences, as indices of these, and the keys of the rows.

    Raises ResourceError if the occurrences exceed the memory limit.
    """
    interrupts.require_memory(len(found) * BYTES_PER_SEQUENCE, f"the texts of {len(found):,} occurrences")
    at = segment.index.documents_at(found.starts)
    first, chosen = numbered(at)
    docs = at[first]
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
    """Return the text to the left or right of each occurrence, or its own."""
    if key.name == "form":
        return forms(corpus, segment, found)
    # Documents, and their pieces, are adjacent in the text.
    first, last = (one.astype(np.int64) for one in segment.index.piece_bounds(found.starts))
    if key.name == "left":
        stops = found.starts.astype(np.int64)
        return _texts(corpus, segment, np.maximum(stops - key.n_tokens, first), stops)
    starts = found.stops.astype(np.int64)
    return _texts(corpus, segment, starts, np.minimum(starts + key.n_tokens, last))


def forms(corpus: Corpus, segment: Segment, found: Occurrences) -> Codes:
    """Return each occurrence as it is written: its tokens, or its text if the tokens do not show it.

    To find the text, documents with an occurrence are read once, and, except under `words`, tokenized.
    """
    of_tokens = _texts(corpus, segment, found.starts.astype(np.int64), found.stops.astype(np.int64))
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
    documents, before = segment.index.places_at(found.starts)
    starts, stops = before.tolist(), (before + (found.stops - found.starts)).tolist()
    order = unsure[np.argsort(documents[unsure], kind="stable")]
    bounds = np.flatnonzero(np.diff(documents[order])) + 1
    for some in np.split(order, bounds) if len(order) else []:
        interrupts.check()
        document = int(documents[some[0]])
        content = segment.text(document, tokenizer)
        text = "" if content is None else content.decode("utf-8", "backslashreplace")
        places = None if content is None else token_places(segment, tokenizer, document, text)
        if places is None:  # loaded as ids, or the text has other tokens now: tokens are shown
            continue
        for k in some.tolist():
            if starts[k] < stops[k] <= len(places.stops):
                written = text[int(places.starts[starts[k]]) : int(places.stops[stops[k] - 1])]
                codes[k] = numbers.setdefault(" ".join(written.split()) or written, len(numbers))
    return Codes(codes, list(numbers))


def _is_written_so(text: str) -> bool:
    """Return True if words, joined by blanks, are separated by white space in any text.

    Adjacent letters or digits would be one word, except ideographs and the like, from U+2E80 on.
    """
    return " " not in text or all(one == " " or (one.isalnum() and one < "\u2e80") for one in text)


def _texts(corpus: Corpus, segment: Segment, starts: IntArray, stops: IntArray) -> Codes:
    """Assign a number to the text of each range of tokens [start, stop); an empty range has no text.

    Cost: one read per token of the distinct sequences, and of those with a common prefix. Raises
    ResourceError if the distinct ones exceed the memory limit.
    """
    lengths = np.maximum(stops - starts, 0)

    def tokens_at(places: IntArray) -> IntArray:
        return segment.index.tokens_at(places.astype(np.uint32), 0)

    first, codes = numbered_sequences(lengths, lambda some, depth: tokens_at(starts[some] + depth))
    starts, lengths = starts[first], lengths[first]
    n_tokens = int(lengths.sum())
    interrupts.require_memory(n_tokens * BYTES_PER_TOKEN, f"{len(first):,} forms with {n_tokens:,} tokens")
    shown = [""] * len(first)
    # Sequences of one length are read together.
    by_length = np.argsort(lengths, kind="stable")
    with from_files(corpus.tokenizer, corpus.segments):
        for some in batches_of(lengths[by_length]):
            for length, numbers in _by_length(lengths, by_length[some]):
                places = starts[numbers][:, None] + np.arange(length)
                rows = tokens_at(places.reshape(-1)).reshape(places.shape)
                for number, text in zip(numbers.tolist(), _shown(corpus, rows), strict=True):
                    shown[number] = text
    numbers_of: dict[str, int] = {}
    table = np.full(len(first), -1, dtype=np.int64)
    # A word is the same with and without the blank that subword tokens include; characters are exact.
    is_exact = corpus.tokenizer.kind in ("chars", "bytes")
    for number in np.flatnonzero(lengths).tolist():
        text = shown[number] if is_exact else shown[number].strip(" ") or shown[number]
        table[number] = numbers_of.setdefault(text, len(numbers_of))
    return Codes(table[codes], list(numbers_of))


def _by_length(lengths: IntArray, numbers: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Group numbers, which ascend by length, by that length; skip length 0."""
    cuts = np.flatnonzero(np.diff(lengths[numbers])) + 1
    for some in np.split(numbers, cuts):
        if len(some) and lengths[some[0]]:
            yield int(lengths[some[0]]), some


def _shown(corpus: Corpus, rows: IntArray) -> Iterator[str]:
    """Yield the text of each row of tokens. Many are looked up together, in a fraction of the time."""
    if rows.shape[1] == 1:
        yield from corpus.tokenizer.token_texts(rows[:, 0])
        return
    for start in range(0, len(rows), CHECK_ROWS):
        interrupts.check()
        yield from corpus.tokenizer.decode_rows(rows[start : start + CHECK_ROWS].astype(np.uint32))


# ---- Counts by group.


def add_groups(groups: Groups, others: Groups) -> None:
    """Add the counts of other groups to these."""
    for key, values in others.items():
        if key in groups:
            _add(groups[key], values[:-1], values[-1])
        else:
            groups[key] = values


def _add(group: list[Any], values: Sequence[Any], count: int) -> None:
    """Add a count to a group with equal values; of equal numbers 1 and 1.0, the integer is shown."""
    group[-1] += count
    for place, value in enumerate(values):
        if type(value) is int:
            group[place] = value


def add_to_groups(
    groups: Groups,
    keys: Sequence[FieldKey],
    segment: Segment,
    docs: Docs,
    counts: NDArray[np.int64],
) -> None:
    """Add a segment's documents to the groups: [values…, count] by the values' identities."""
    rows, fields = of_documents(keys, segment, docs)
    add_rows(groups, fields, counts if rows is None else counts[rows])


def add_rows(groups: Groups, fields: Sequence[Codes], counts: NDArray[np.int64]) -> None:
    """Add rows, each with numbered values and a count, to the groups."""
    columns, totals = _combinations(fields, counts)
    identities, values = [], []
    for field, column in zip(fields, columns, strict=True):
        of_number = {n: None if n < 0 else field.values[n] for n in np.unique(column).tolist()}
        known = {n: NULL_KEY if value is None else identity(value) for n, value in of_number.items()}
        identities.append(map(known.__getitem__, column.tolist()))
        values.append(map(of_number.__getitem__, column.tolist()))
    rows = zip(zip(*identities, strict=True), zip(*values, strict=True), totals.tolist(), strict=True)
    for group, shown, count in checked(rows):
        if group in groups:
            _add(groups[group], shown, count)
        else:
            groups[group] = [*shown, count]


def _combinations(
    fields: Sequence[Codes], counts: NDArray[np.int64]
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Return the combinations of codes that occur, a column for each field, and their total counts."""
    sizes = [len(field.values) + 1 for field in fields]
    combined = np.zeros(len(counts), dtype=np.int64)
    for field, size in zip(fields, sizes, strict=True):
        if int(combined.max(initial=0)) >= 2**62 // size:
            return _by_rows(fields, counts)
        combined = combined * size + (field.codes + 1)
    n_table = int(combined.max(initial=-1)) + 1
    if n_table <= MAX_TABLE:
        totals = _sums(combined, counts, n_table)
        found = np.flatnonzero(np.bincount(combined, minlength=n_table))
        totals = totals[found]
    else:
        first, places = numbered(combined)
        found, totals = combined[first], _sums(places, counts, len(first))
    columns = []
    for size in reversed(sizes):
        columns.append(found % size - 1)
        found = found // size
    return columns[::-1], totals


def _by_rows(
    fields: Sequence[Codes], counts: NDArray[np.int64]
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Do the same for so many values that a combination exceeds 64 bits."""
    table = np.stack([field.codes for field in fields], axis=1)
    first, places = numbered_rows(table)
    return list(table[first].T), _sums(places, counts, len(first))


def _sums(places: NDArray[np.int64], counts: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Add counts by place. Floats are exact, since a segment has less than 2**32 tokens."""
    return np.bincount(places, weights=counts, minlength=n).astype(np.int64)
