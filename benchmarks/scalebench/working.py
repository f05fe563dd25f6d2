"""The jobs with statements that read much of a corpus, and those that change it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cold import drop
from peerbench.queries import Queries, generator

from scalebench.building import MEMORY_LIMIT
from scalebench.memory import Watch
from scalebench.place import Figures, Place, read

# Tokens of a text that TRACE and the language model are asked of.
TEXT = 450
TEXTS = 20
REMOVED_SHARE = 0.01
# Tokens of the documents that are exported: the time of each does not depend on the others.
EXPORTED = 20_000_000


def analyze(place: Place) -> Figures:
    """ANALYZE on a copy, which the language models then are asked of."""
    database = place.copy("bench", "analyzed")
    read(database)
    with _connected(database) as db:
        corpus = db.corpus("bench")
        with Watch() as watch:
            corpus.analyze()
    return watch.figures()


def score(place: Place) -> Figures:
    """Scoring a text under Kneser-Ney after opening the analyzed database; the files are in memory."""
    read(place.database("analyzed"))
    texts = _texts(place, "score")
    with _connected(place.database("analyzed"), read_only=True) as db:
        corpus = db.corpus("bench")
        corpus.count([0])
        times = [_timed(lambda text=text: corpus.score(text, model="kneser_ney")) for text in texts]
    return {"first_s": times[0], "usual_s": statistics.median(times[1:])}


def trace(place: Place) -> Figures:
    """TRACE of a text: the first after opening, nothing of the index in memory; then in memory."""
    texts, database = _texts(place, "trace"), place.database("bench")
    with _connected(database, read_only=True) as db:
        db.corpus("exam").trace(texts[0]).fetchall()  # libraries are loaded
    drop(database)
    figures = {}
    with _connected(database, read_only=True) as db:
        figures["cold_s"] = _timed(lambda: db.corpus("bench").trace(texts[1]).fetchall())
    # In a virtual machine, pages that came from the disk cost a fault each when they are first looked at.
    read(database)
    with _connected(database, read_only=True) as db:
        corpus = db.corpus("bench")
        corpus.warm()
        times = [_timed(lambda text=text: corpus.trace(text).fetchall()) for text in texts]
    return {**figures, "first_s": times[0], "usual_s": statistics.median(times[1:])}


def ngrams(place: Place) -> Figures:
    return _reading(place, lambda db: db.corpus("bench").ngrams(3, top=10).fetchall())


def kwic(place: Place) -> Figures:
    """The first of all occurrences of the most frequent token, in order of what stands before them."""
    statement = f"KWIC [{_frequent(place)}] ORDER BY left LIMIT 20 FROM bench"
    return _reading(place, lambda db: db.execute(statement).fetchall())


def group(place: Place) -> Figures:
    """Occurrences of the most frequent token, for each value of a metadata field."""
    statement = f"COUNT [{_frequent(place)}] GROUP BY part FROM bench"
    return _reading(place, lambda db: db.execute(statement).fetchall())


def overlap(place: Place) -> Figures:
    """How many documents have half of their 13-grams in the corpus `exam`."""
    statement = "COUNT DOCS WHERE OVERLAP(exam, 13) >= 0.5 FROM bench"
    return _reading(place, lambda db: db.execute(statement).fetchall())


def check(place: Place) -> Figures:
    return _reading(place, lambda db: _without_problems(db.execute("CHECK bench").fetchall()))


def export(place: Place) -> Figures:
    """The last documents, as many as have EXPORTED tokens, as JSON lines."""
    offsets = place.corpus().offsets
    first = int(np.searchsorted(offsets, offsets[-1] - min(EXPORTED, int(offsets[-1]))))
    target = place.layout.folder / "exported.jsonl"

    def exported(db: Any) -> None:
        db.corpus("bench").export(target, "doc_id >= ?", params=[first])

    figures = _reading(place, exported, warm=False)
    target.unlink()
    return {**figures, "tokens": int(offsets[-1] - offsets[first])}


def delete(place: Place) -> Figures:
    """One document in a hundred, drawn at random, removed by their ids from a copy."""
    n_documents = place.corpus().n_documents
    rng = np.random.default_rng(3)
    chosen = np.sort(rng.choice(n_documents, max(1, int(REMOVED_SHARE * n_documents)), replace=False))
    database = place.copy("bench", "deleted")
    read(database)
    with _connected(database) as db:
        corpus = db.corpus("bench")
        with Watch() as watch:
            n_removed = corpus.delete("doc_id IN ?", params=[chosen])
    return {**watch.figures(), "documents": n_removed}


def compact(place: Place) -> Figures:
    """COMPACT after that: the segments without the removed documents."""
    database = place.database("deleted")
    read(database)
    with _connected(database) as db:
        db.settings["memory_limit"] = MEMORY_LIMIT
        corpus = db.corpus("bench")
        with Watch() as watch:
            corpus.compact()
    place.remove("deleted")
    return watch.figures()


def _reading(place: Place, work: Callable[[Any], Any], warm: bool = True) -> Figures:
    """Work on the database as it was loaded, the first of its kind in a process."""
    with _connected(place.database("bench"), read_only=True) as db:
        if warm:
            db.corpus("bench").warm()
        db.execute("COUNT [0] FROM bench")
        with Watch() as watch:
            work(db)
    return watch.figures()


def _connected(database: Path, read_only: bool = False) -> Any:
    import ngramdb

    return ngramdb.connect(database, read_only=read_only)


def _without_problems(problems: list[Any]) -> None:
    if problems:
        raise AssertionError(f"CHECK found {problems[:3]}")


def _frequent(place: Place) -> int:
    """The most frequent token."""
    return int(np.argmax(np.bincount(place.corpus().ids[: 1 << 22])))


def _texts(place: Place, label: str) -> list[list[int]]:
    """Beginnings of documents, one token in twenty replaced."""
    return Queries(place.corpus()).documents(generator(1, label), TEXT, TEXTS, 0.05)


def _timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
