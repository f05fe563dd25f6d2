"""The jobs that ask questions of warm indexes, beside the peers, and of cold ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from cold import cold_count, infinigram_of, questions
from peerbench.builds import run_build
from peerbench.checks import check, failures
from peerbench.corpus import write_peer_files
from peerbench.figures import INFINIGRAM, OURS, TOKENGRAMS, Figure, all_figures
from peerbench.queries import Queries, generator
from peerbench.run import fault_in, measure
from peerbench.systems import InfiniGram, Ngramdb, System, Tokengrams
from requests_counted import cold_counts

from scalebench import page_cache
from scalebench.place import Figures, Place

# Titles of peerbench's figures that are asked here.
QUESTIONS = (
    "one count, n = 1",
    "one count, n = 3",
    "one count, n = 5",
    "one count, n = 10",
    "one count, n = 100",
    "counts in a batch, per query, n ≤ 8",
    "P(w∣ctx), n = 5",
    "∞-gram probability, 100-token context, contexts from the corpus",
    "exact next-token distribution, 4-token contexts",
    "AND of two 2-grams, exact documents",
)
# The largest corpora, in tokens, that each peer is built of in some minutes.
PEERS = {INFINIGRAM: 100_000_000, TOKENGRAMS: 300_000_000}
ROUNDS = 3
# Questions of each kind that are compared with a scan, at 30 M tokens; fewer of larger corpora.
CHECKED = 30
COLD_COUNTS = 200
# … and of those with far indexes.
FAR_COUNTS = 50

Keep = Callable[[str, Figures], None]


def build_tokengrams(place: Place) -> Figures:
    """tokengrams' index of the same ids."""
    layout = place.layout
    write_peer_files(place.corpus(), layout.peers)
    arguments = {"token_file": str(layout.token_file), "index_file": str(layout.tokengrams_index)}
    page_cache.fill(place.scratch)
    build = run_build(TOKENGRAMS, arguments, [layout.token_file, layout.tokengrams_index])
    return {"wall_s": build.wall_s, "cpu_s": build.cpu_s, "bytes": build.index_bytes}


def build_infinigram(place: Place) -> Figures:
    """infini-gram's."""
    layout = place.layout
    write_peer_files(place.corpus(), layout.peers)
    layout.infinigram_table.unlink(missing_ok=True)  # it would keep a finished table
    for parts in layout.peers.glob("parts-*"):  # and what a build left that was ended
        shutil.rmtree(parts)
    files = [layout.token_file, layout.document_offsets, layout.infinigram_table]
    page_cache.fill(place.scratch)
    build = run_build(INFINIGRAM, {"folder": str(layout.peers), "cpus": 2}, files)
    return {"wall_s": build.wall_s, "cpu_s": build.cpu_s, "bytes": build.index_bytes}


def ask(place: Place, titles: list[str], keep: Keep) -> None:
    """Medians of the figures, in ns, for all systems whose indexes are there; each kept at once."""
    corpus = place.corpus()
    queries = Queries(corpus)
    systems = _systems(place)
    fault_in(systems, queries, 1)
    size = max(2, CHECKED * 30_000_000 // corpus.n_tokens)
    wrong = failures(check(systems, queries, generator(1, "check"), size))
    if wrong:
        raise AssertionError("; ".join(wrong))
    for figure in all_figures(1.0):
        if figure.title in titles:
            keep(figure.title, _timed(figure, systems, queries))


def _timed(figure: Figure, systems: list[System], queries: Queries) -> Figures:
    timings = measure(figure, systems, queries, seed=1, rounds=ROUNDS)
    found = {name: timing.p50 for name, timing in timings.items()}
    return {**found, "cpu": timings[OURS].cpu}


def _systems(place: Place) -> list[System]:
    layout, systems = place.layout, list[System]()
    systems.append(Ngramdb({1: place.database("bench")}))
    if layout.infinigram_table.exists():
        systems.append(InfiniGram(layout.peers, place.corpus()))
    if layout.tokengrams_index.exists():
        systems.append(Tokengrams(layout.token_file, layout.tokengrams_index))
    return systems


def cold(place: Place) -> Figures:
    """A count after opening, nothing of the index in memory: medians of bytes read and time."""
    import ngramdb

    def opened() -> Callable[[list[int]], int]:
        count: Callable[[list[int]], int] = corpora(read_only=True).corpus("bench").count
        return count

    database = place.database("bench")
    corpora = partial(ngramdb.connect, database)
    with corpora(read_only=True) as db:
        n_segments = len(db.execute("SHOW SEGMENTS FROM bench").fetchall())
    figures: Figures = {"segments": n_segments, **_cold(opened, database, place, "")}
    if place.layout.infinigram_table.exists():
        corpus = place.corpus()
        peer = infinigram_of(place.layout.peers, corpus)
        if peer is not None:
            figures |= _cold(peer, place.layout.peers, place, "infinigram_")
    return figures


def far(place: Place) -> Figures:
    """The same of segments with far indexes: requests, as an object store gets them, of each count."""
    import ngramdb

    path = place.copy("bench", "far")
    with ngramdb.connect(path) as db:
        db.settings["far_index"] = True
        db.corpus("bench").compact()
        segments = db.execute("SHOW SEGMENTS FROM bench").to_dicts()
    samples = list(cold_counts(path, "bench", list(questions(place.corpus(), 5, FAR_COUNTS, 1))))
    place.remove("far")
    if not all(sample.is_right for sample in samples):
        raise AssertionError("counts by far indexes differ")
    requests = [sample.to_count / len(segments) for sample in samples]
    return {
        "requests": float(np.median(requests)),
        "most_requests": max(requests),
        "fetched": float(np.median([sample.n_bytes for sample in samples])) / len(segments),
        "bytes": sum(segment["bytes"] for segment in segments),
    }


def _cold(
    opened: Callable[[], Callable[[list[int]], int]], folder: Path, place: Place, prefix: str
) -> Figures:
    opened()([0])  # libraries are loaded
    asked = questions(place.corpus(), 5, COLD_COUNTS, 1)
    samples = [cold_count(opened, folder, ids) for ids in asked]
    return {
        f"{prefix}bytes": float(np.median([sample.n_bytes for sample in samples])),
        f"{prefix}count_ms": float(np.median([sample.count_ms for sample in samples])),
        f"{prefix}open_ms": float(np.median([sample.open_ms for sample in samples])),
    }
