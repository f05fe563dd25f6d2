"""Jobs that make and merge segments: one load, a load that merges nothing, merging, copied documents."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from loading import in_a_process
from peerbench.builders import import_everything, read_documents
from peerbench.corpus import TokenCorpus
from peerbench.indexes import segment_tokens

from scalebench import page_cache
from scalebench.memory import Watch
from scalebench.place import BASE, Figures, Place, read

MEMORY_LIMIT = 4 << 30
# As many as 1 G tokens make at the 60 M that are sorted at a time; other sizes have as many.
SEGMENTS = 17
# Of the figure with copied documents: tokens of the corpus, and which part of them a copied document has.
AMONG = 60_000_000
COPIED_SHARE = 1 / 60
COPIED_SEGMENTS = 4
# Values of the metadata field that GROUP BY counts.
GROUPS = 100
# Documents, of so many tokens at most, of the corpus that OVERLAP compares with.
EXAM = 100
EXAM_TOKENS = 200


def texts(place: Place) -> Figures:
    """Loading texts, and ids beside the bare construction, of the corpus that all sizes are drawn from."""
    options = Namespace(data=place.data, corpus=f"{BASE}.jsonl.gz")
    figures: Figures = {}
    for name in ("gpt2, tokenizers alone", "gpt2", "words", "ids", "kernel"):
        found = in_a_process(name, options, place.scratch)
        figures |= {f"{name}, {key}": value for key, value in found.items()}
    return figures


def load(place: Place) -> Figures:
    """One load of ids into one database, as a user makes it: defaults, but a memory limit."""
    corpus = place.corpus()
    with _connected(place.remove("bench"), MEMORY_LIMIT) as db:
        made = db.create_corpus("bench", tokenizer="tokens")
        page_cache.fill(place.scratch)
        with Watch() as watch:
            report = made.append(_documents(place))
        figures = {**watch.figures(), "tokens": report.tokens, "segments": report.segments}
        figures["bytes"] = _size(place.database("bench"))
        rng = np.random.default_rng(2)
        chosen = rng.integers(0, corpus.n_documents, EXAM).tolist()
        exam = db.create_corpus("exam", tokenizer="tokens")
        exam.append([corpus.document(number)[:EXAM_TOKENS] for number in chosen])
    return figures


def split(place: Place) -> Figures:
    """The same documents in so many segments, none of them merged."""
    with _connected(place.remove("split"), MEMORY_LIMIT) as db:
        db.settings["segment_tokens"] = segment_tokens(place.corpus(), SEGMENTS)
        made = db.create_corpus("bench", tokenizer="tokens")
        page_cache.fill(place.scratch)
        with Watch() as watch:
            report = made.append(_documents(place))
    return {**watch.figures(), "segments": report.segments}


def merge(place: Place, threads: int) -> Figures:
    """These segments made one, on so many cores."""
    page_cache.fill(place.scratch)
    figures = _compacted(place.copy("split", "merged"), threads)
    place.remove("merged")
    return figures


def merge_one(place: Place) -> Figures:
    return merge(place, 1)


def merge_two(place: Place) -> Figures:
    return merge(place, 2)


def copies(place: Place) -> Figures:
    """Merging on one core, with and without two copies of a long document in different segments."""
    corpus = place.corpus()
    n_tokens = min(corpus.n_tokens, AMONG)
    n_documents = int(np.searchsorted(corpus.offsets, n_tokens, side="right")) - 1
    half = n_documents // 2
    copied = np.array(corpus.ids[: int(n_tokens * COPIED_SHARE)])
    figures: Figures = {"tokens": n_tokens, "copied": len(copied)}
    for name, inserted in (("without", []), ("with", [copied])):
        documents = _joined(corpus, half, n_documents, inserted)
        with _connected(place.remove("copies")) as db:
            db.settings["segment_tokens"] = n_tokens // COPIED_SEGMENTS + len(copied)
            report = db.create_corpus("bench", tokenizer="tokens").append(documents)
        found = _compacted(place.database("copies"), 1)
        figures |= {f"{name}_{key}": value for key, value in found.items()}
        figures[f"{name}_tokens"] = report.tokens
    place.remove("copies")
    return figures


def _joined(
    corpus: TokenCorpus, half: int, n_documents: int, inserted: list[np.ndarray]
) -> Iterator[np.ndarray]:
    """The first documents, with others after each half of them."""
    for start, stop in ((0, half), (half, n_documents)):
        yield from (corpus.document(number) for number in range(start, stop))
        yield from inserted


def _compacted(database: Path, threads: int) -> Figures:
    read(database)
    with _connected(database, MEMORY_LIMIT) as db:
        db.settings["threads"] = threads
        corpus = db.corpus("bench")
        with Watch() as watch:
            outcome = corpus.compact()
    return {**watch.figures(), "before": outcome.segments_before, "segments": outcome.segments_after}


def _documents(place: Place) -> Iterable[tuple[np.ndarray, dict[str, Any]]]:
    """All documents from the file, a little at a time, each with a field of metadata."""
    lengths = np.diff(place.corpus().offsets).tolist()
    documents = read_documents(str(place.layout.ids), lengths)
    return ((ids, {"part": number % GROUPS}) for number, ids in enumerate(documents))


def _connected(database: Path, memory_limit: int | None = None) -> Any:
    import ngramdb

    import_everything()
    connection = ngramdb.connect(database)
    if memory_limit is not None:
        connection.settings["memory_limit"] = memory_limit
    return connection


def _size(database: Path) -> int:
    return sum(path.stat().st_size for path in database.rglob("*") if path.is_file())
