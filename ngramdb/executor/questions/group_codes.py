"""The groups that documents, and occurrences in them, belong to: the values of keys by numbers.

A document has one value of a field, and as many as it has elements of a list that is unnested: then it is
several rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ngramdb import interrupts
from ngramdb.conditions.computed_values import codes_of, elements_of
from ngramdb.conditions.expressions import from_files
from ngramdb.conditions.field_values import Codes, FieldReader
from ngramdb.conditions.occurrences import Occurrences
from ngramdb.conditions.stored_text import token_places
from ngramdb.executor.ngram_rows import BYTES_PER_TOKEN, batches_of
from ngramdb.interruptible_sort import BYTES_PER_SEQUENCE, numbered, numbered_sequences
from ngramdb.planner.plan import FieldKey, PlaceKey
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray
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
    """The keys of occurrences: which of them each row is, and the keys of the rows.

    Raises ResourceError if the occurrences do not fit the memory limit.
    """
    interrupts.require_memory(len(found) * BYTES_PER_SEQUENCE, f"the texts of {len(found):,} occurrences")
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
        return forms(corpus, segment, found)
    # Beyond the end of a document is another one.
    bounds = segment.index.document_bounds(segment.index.documents_at(found.starts))
    first, last = (one.astype(np.int64) for one in bounds)
    if key.name == "left":
        stops = found.starts.astype(np.int64)
        return _texts(corpus, segment, np.maximum(stops - key.n_tokens, first), stops)
    starts = found.stops.astype(np.int64)
    return _texts(corpus, segment, starts, np.minimum(starts + key.n_tokens, last))


def forms(corpus: Corpus, segment: Segment, found: Occurrences) -> Codes:
    """Return how each occurrence is written: its tokens, or the text if these do not show it.

    Cost of the latter: documents with an occurrence are read once, and tokenized, but not under `words`.
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


def _texts(corpus: Corpus, segment: Segment, starts: IntArray, stops: IntArray) -> Codes:
    """Number the texts of the tokens [start, stop); an empty range has no text.

    Cost: a read for each token of those that begin like another one, and of the distinct ones. Raises
    ResourceError if the distinct ones do not fit the memory limit.
    """
    lengths = np.maximum(stops - starts, 0)

    def tokens_at(places: IntArray) -> IntArray:
        return segment.index.tokens_at(places.astype(np.uint32), 0)

    first, codes = numbered_sequences(lengths, lambda some, depth: tokens_at(starts[some] + depth))
    starts, lengths = starts[first], lengths[first]
    n_tokens = int(lengths.sum())
    interrupts.require_memory(n_tokens * BYTES_PER_TOKEN, f"{len(first):,} forms with {n_tokens:,} tokens")
    shown = [""] * len(first)
    # Those of one length are read together.
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
    # A word is the same with the blank that sub-word tokens have before it; characters are what they are.
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
    """The text of each row of tokens. Many are looked up together, in a fraction of the time."""
    if rows.shape[1] == 1:
        yield from corpus.tokenizer.token_texts(rows[:, 0])
        return
    for start in range(0, len(rows), CHECK_ROWS):
        interrupts.check()
        yield from corpus.tokenizer.decode_rows(rows[start : start + CHECK_ROWS].astype(np.uint32))
