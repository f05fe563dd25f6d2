"""What more than one machine costs, tried on one: parts, tasks and actors of Ray, an object store's requests.

    python benchmarks/cluster.py --scratch /some/folder [--tokens 1G] [--parts 16] [--kills 20] [--only TEXT]

`parts`: a corpus of token ids is built in parts by two workers, of which one is killed at random, again and
again; the parts are committed, and must answer as a load of the same files does. `load`: the same files as
tasks of Ray, beside the plain load. `actors`: batches of 10,000 counts by one actor and by two, and what a
batched call costs besides, with the CPU time of all who work for it. `store`: requests
and bytes of opening and of a cold count, each with an empty cache, by `file://` (what is counted is asked
of fsspec, whatever lies behind it). Ray's figures are left out where Ray is missing. Each figure is printed
with its bar; the exit status is 1 when an answer was wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from requests_counted import cold_counts
from scalebench import process

import ngramdb

UNITS = {"K": 1_000, "M": 1_000_000, "G": 1_000_000_000}
# Documents have some 500 tokens; the id between them.
SEPARATOR, MEAN_LENGTH, N_IDS = 0, 500, 50_000
FORMAT = {"separator": str(SEPARATOR), "dtype": "uint16"}
N_BATCH = 10_000


def size(text: str) -> int:
    """For example 300M or 1G."""
    unit = UNITS.get(text[-1].upper())
    return int(text) if unit is None else int(text[:-1]) * unit


def files_of(folder: Path, n_tokens: int, n_files: int, seed: int) -> list[Path]:
    """Files of token ids, Zipf's law with copied stretches, so that longer n-grams occur again."""
    folder.mkdir(parents=True, exist_ok=True)
    paths, each = [], n_tokens // n_files
    for k in range(n_files):
        path = folder / f"{k:04}-{each}-{seed}.bin"
        paths.append(path)
        if path.exists():
            continue
        rng = np.random.default_rng([seed, k])
        ids = np.minimum(rng.zipf(1.3, each), N_IDS).astype(np.uint16)
        for start in rng.integers(0, max(each - 100, 1), each // 300):
            stretch = ids[start : start + 60]
            at = int(rng.integers(0, max(each - len(stretch), 1)))
            ids[at : at + len(stretch)] = stretch
        ids[rng.integers(0, each, each // MEAN_LENGTH)] = SEPARATOR
        temporary = path.with_suffix(".tmp")
        ids.tofile(temporary)
        temporary.rename(path)
    return paths


def ngrams_of(paths: list[Path], n: int, how_many: int, seed: int) -> list[list[int]]:
    """N-grams at random places of the files, none with a separator."""
    rng = random.Random(seed)
    found: list[list[int]] = []
    while len(found) < how_many:
        ids = np.memmap(rng.choice(paths), dtype=np.uint16, mode="r")
        at = rng.randrange(len(ids) - n)
        gram = ids[at : at + n].tolist()
        if SEPARATOR not in gram:
            found.append(gram)
    return found


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer


class Report:
    """Prints figures as they come; `failed` when an answer was wrong."""

    def __init__(self) -> None:
        self.failed = False

    def figure(self, name: str, value: str, bar: str = "") -> None:
        print(f"| {name} | {value} | {bar} |", flush=True)

    def equal(self, name: str, is_equal: bool) -> None:
        self.failed |= not is_equal
        self.figure(name, "equal" if is_equal else "WRONG", "equal")


class Bench:
    """The files, and the plain load that all else is compared with."""

    def __init__(self, options: argparse.Namespace, report: Report) -> None:
        self.options = options
        self.report = report
        self.folder = options.scratch.resolve()
        self.paths = files_of(self.folder / "ids", options.tokens, 2 * options.parts, options.seed)
        self.grams = [
            gram for n in (1, 2, 3, 5, 10) for gram in ngrams_of(self.paths, n, 200, options.seed + n)
        ]
        self._plain: Path | None = None
        self.plain_s = 0.0

    def plain(self) -> Path:
        """A load on one machine, as many segments as it makes."""
        if self._plain is None:
            path = self.fresh("plain.ngdb")
            with ngramdb.connect(path) as db:
                corpus = db.create_corpus("c", tokenizer="tokens")
                self.plain_s, _ = timed(lambda: corpus.load(self.paths, **FORMAT))
            self.report.figure("load on one machine", f"{self.plain_s:.1f} s")
            self._plain = path
        return self._plain

    def fresh(self, name: str) -> Path:
        path = self.folder / name
        shutil.rmtree(path, ignore_errors=True)
        return path

    def compare(self, name: str, path: Path) -> None:
        """Counts, documents and probabilities as those of the plain load."""
        with (
            ngramdb.connect(self.plain(), read_only=True) as one,
            ngramdb.connect(path, read_only=True) as two,
        ):
            a, b = one.corpus("c"), two.corpus("c")
            same = (a.n_documents, a.n_tokens) == (b.n_documents, b.n_tokens)
            same = same and np.array_equal(a.count_many(self.grams), b.count_many(self.grams))
            for i in np.linspace(0, a.n_documents - 1, 200).astype(int).tolist():
                same = same and np.array_equal(a.document(i).ids, b.document(i).ids)
        self.report.equal(name, same)


def parts(bench: Bench) -> None:
    """Two workers, one of them killed at random times; every part is built in the end."""
    options, n = bench.options, bench.options.parts
    out = bench.fresh("parts")
    rng = random.Random(options.seed)
    running: dict[int, subprocess.Popen[bytes]] = {}
    killed = 0
    # About as long as a part takes, so that the last kill comes before the last part.
    guess_s = max(options.tokens / n * 250e-9, 0.5)
    begun = time.perf_counter()
    next_kill = rng.uniform(0.1, guess_s)
    while True:
        for i in [i for i, worker in running.items() if worker.poll() is not None]:
            if running.pop(i).returncode > 0:
                raise SystemExit(f"part {i} failed; run it by hand")
        left = [i for i in ngramdb.missing(out, n) if i not in running]
        if not left and not running:
            break
        for i in left[: 2 - len(running)]:
            running[i] = subprocess.Popen(worker(out, i, n, bench.paths), stdout=subprocess.DEVNULL)
        if killed < options.kills and running and time.perf_counter() - begun > next_kill:
            running[rng.choice(sorted(running))].kill()
            killed += 1
            next_kill = time.perf_counter() - begun + rng.uniform(0.1, guess_s)
        time.sleep(0.02)
    bench.report.figure(f"{n} parts by 2 workers", f"{time.perf_counter() - begun:.1f} s")
    bench.report.figure("workers killed meanwhile", str(killed), str(options.kills))
    path = bench.fresh("parts.ngdb")
    seconds, _ = timed(lambda: ngramdb.commit(path, "c", out))
    bench.report.figure("commit of the parts", f"{seconds:.2f} s", "≤ 1 s")
    bench.compare("answers and documents of the parts", path)


def worker(out: Path, i: int, n: int, paths: list[Path]) -> list[str]:
    options = ["--tokenizer", "tokens", "--separator", str(SEPARATOR), "--dtype", "uint16"]
    command = [sys.executable, "-m", "ngramdb", "build", str(out), "--shard", f"{i}/{n}"]
    return [*command, *options, *map(str, paths)]


def load(bench: Bench) -> None:
    """The same files as tasks of Ray."""
    import ray

    import ngramdb.cluster

    bench.plain()
    path = bench.fresh("ray.ngdb")

    def loaded() -> float:
        shutil.rmtree(path, ignore_errors=True)
        return timed(lambda: ngramdb.cluster.load(path, "c", bench.paths, tokenizer="tokens", **FORMAT))[0]

    def shown(seconds: float) -> str:
        return f"{seconds:.1f} s, {bench.plain_s / seconds:.2f} × of the plain load's speed"

    bench.report.figure("load by Ray, which is started for it", shown(loaded()), "≥ 0.85 ×")
    bench.compare("answers and documents of Ray's load", path)
    task = ray.remote(num_cpus=1)(lambda: 0)
    begin_s, _ = timed(lambda: ray.init(include_dashboard=False, logging_level="error", log_to_driver=False))
    first_s, _ = timed(lambda: ray.get([task.remote() for _ in range(2)]))
    running_s = loaded()
    end_s, _ = timed(ray.shutdown)
    bench.report.figure("load by a Ray that runs", shown(running_s), "≥ 0.85 ×")
    own = f"{begin_s:.1f} s to begin, {first_s:.1f} s to its first tasks, {end_s:.1f} s to end"
    bench.report.figure("Ray's own time, which the first of these has in it", own)


def actors(bench: Bench) -> None:
    """Batches of counts by one actor and by two; and a batch of one n-gram, which is a call's own cost."""
    import ngramdb.cluster

    batch = ngrams_of(bench.paths, 5, N_BATCH, bench.options.seed)
    path = parted(bench)
    with ngramdb.connect(path, read_only=True) as db:
        corpus = db.corpus("c")
        expected = corpus.count_many(batch)
        alone = median_s(corpus, batch[:1], 200)
    seconds: dict[int, float] = {}
    spent: dict[int, list[float]] = {}
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)  # for `cpu_s` in Ray's processes
    for n in (1, 2):
        with ngramdb.cluster.connect(path, actors=n, read_only=True) as db:
            corpus = db.corpus("c")
            found = corpus.count_many(batch)  # warm
            seconds[n] = median_s(corpus, batch, 9)
            call = median_s(corpus, batch[:1], 200)
            spent[n] = spent_s(bench, db, n, lambda corpus=corpus: corpus.count_many(batch))
            bench.report.equal(f"{N_BATCH:,} counts by {n} actors", np.array_equal(found, expected))
    rate = seconds[1] / seconds[2]
    bench.report.figure("two actors beside one", f"{rate:.2f} ×", "≥ 1.6 ×")
    # One actor and the driver take turns; two and the driver share the cores at best.
    most = sum(spent[1]) / max(*spent[2][1:], sum(spent[2]) / (os.cpu_count() or 1))
    bench.report.figure("… at most, by the CPU time of all on this machine's cores", f"{most:.2f} ×")
    bench.report.figure("a batched call's own cost", f"{1e3 * (call - alone):.2f} ms", "≤ 2 ms")


def spent_s(
    bench: Bench, db: ngramdb.cluster.ClusterConnection, n: int, work: Callable[[], Any], repeat: int = 30
) -> list[float]:
    """The CPU time that the driver and each of the actors spend on a call, in seconds."""
    from ngramdb.cluster.crew import Job

    def spent() -> list[float]:
        actors = [db._crew.ask([Job(member, process.cpu_s, ())])[0] for member in range(n)]
        return [process.cpu_s(), *actors]

    before = spent()
    for _ in range(repeat):
        work()
    driver, *actors = ((b - a) / repeat for a, b in zip(before, spent(), strict=True))
    each = ", ".join(f"{1e3 * one:.1f}" for one in actors)
    bench.report.figure(f"CPU time of a batch, {n} actors", f"{1e3 * driver:.1f} ms driver, {each} ms actors")
    return [driver, *actors]


def median_s(corpus: ngramdb.Corpus, batch: list[list[int]], repeat: int) -> float:
    return statistics.median(timed(lambda: corpus.count_many(batch))[0] for _ in range(repeat))


def parted(bench: Bench) -> Path:
    """The corpus in segments of its parts, which is what several actors can share."""
    path = bench.folder / "segments.ngdb"
    if not path.exists():
        with ngramdb.connect(path) as db:
            db.settings["auto_compact"] = False
            corpus = db.create_corpus("c", tokenizer="tokens")
            step = max(len(bench.paths) // bench.options.parts, 1)
            for i in range(0, len(bench.paths), step):
                corpus.load(bench.paths[i : i + step], **FORMAT)
    return path


def store(bench: Bench) -> None:
    """Opening, and one cold count, in one segment and in those of the parts."""
    for title, path in (("one load", bench.plain()), ("parts", parted(bench))):
        n_segments = len(list((path / "segments").iterdir()))
        samples = list(cold_counts(path, "c", bench.grams[600::20]))
        opening = max(one.to_open for one in samples)
        bench.report.figure(f"{title}: requests to open", str(opening), "≤ 5")
        each = sorted(one.to_count / n_segments for one in samples)
        shown = f"{statistics.median(each):.2f}, at most {each[-1]:.2f}"
        bench.report.figure(f"{title}: requests of a cold count, a segment of {n_segments}", shown, "≤ 4")
        kib = statistics.median(one.n_bytes / n_segments for one in samples) / 1024
        bench.report.figure(f"{title}: … bytes", f"{kib:,.0f} KiB a segment")
        bench.report.equal(f"{title}: counts", all(one.is_right for one in samples))


FIGURES = {"parts": parts, "load": load, "actors": actors, "store": store}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--scratch", type=Path, required=True, help="folder of ids, parts and databases")
    parser.add_argument("--tokens", type=size, default="1G", help="tokens of the corpus (1G)")
    parser.add_argument("--parts", type=int, default=16, help="parts that it is built in (16)")
    parser.add_argument("--kills", type=int, default=20, help="workers that are killed (20)")
    parser.add_argument("--only", choices=FIGURES, help="measure this alone")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    report = Report()
    print(f"{options.tokens:,} tokens, {options.parts} parts\n\n| | measured | bar |\n|---|---|---|")
    bench = Bench(options, report)
    for name, measure in FIGURES.items():
        if options.only in (None, name):
            try:
                measure(bench)
            except ngramdb.NotSupportedError as error:
                if "ngramdb[ray]" not in str(error):
                    raise
                report.figure(name, "left out: no Ray", "")
    return int(report.failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
