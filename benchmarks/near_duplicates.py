"""Near duplicates of web text with planted copies, beside datasketch, rensa and text-dedup.

    python benchmarks/curation.py DATA --near [--documents 2000]

A fifth of the documents are copies of earlier ones: without their beginning and end, or in capitals and with
other punctuation. Printed are processor times, the planted copies that are found, and others. The other
programs list candidates only: pairs with a common band of 26 * 11 minimal hashes of three words; text-dedup
joins these to clusters, and keeps one document of each.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import ngramdb
from ngramdb._cext.corpus.near_duplicates import NearDuplicates
from ngramdb.curation.equal_documents import copies
from ngramdb.curation.keeping import counting

SEED = 7
BANDS, ROWS = 26, 11
CONTAINED = 0.8
# Words of a document that is timed alone, and pairs of them.
PAIR_WORDS, PAIRS = 1000, 1000


class Planted(NamedTuple):
    """Texts, and the numbers of those that are copies, with the number of what each is a copy of."""

    texts: list[str]
    copies: dict[int, int]


def run(data: Path, n: int) -> int:
    """Print all measurements; return the number of faults."""
    planted = _planted(data / "medium.jsonl.gz", n)
    words = sum(len(text.split()) for text in planted.texts)
    print(f"{len(planted.texts):,} documents, {words:,} words, {len(planted.copies):,} planted copies")
    print(f"{'':24} {'s':>7} {'us/word':>8} {'planted':>8} {'others':>7}")
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="words")
        corpus.append(planted.texts)
        for candidates in ("index", "minhash"):
            start = process_time()
            rows = corpus.near_duplicates(contained=CONTAINED, candidates=candidates).fetchall()
            seconds, pairs = process_time() - start, {row[:2] for row in rows}
            _report(f"ngramdb, {candidates}", seconds, words, planted, pairs)
        faults = int(corpus.delete_near_duplicates(contained=1.0) < len(planted.copies) // 2)
        faults += int(corpus.delete_near_duplicates(contained=1.0) > 0)
    for name, by_other in (("datasketch", _by_datasketch), ("rensa", _by_rensa)):
        try:
            start = process_time()
            found = by_other(planted.texts)
        except ImportError:
            print(f"{name:24} is not installed; to compare with it: pip install {name}")
            continue
        _report(name, process_time() - start, words, planted, found)
    _report_text_dedup(planted, words)
    _verified_pairs()
    return faults


def deliveries(sizes: Sequence[int] = (5_000, 20_000, 80_000), n: int = 1_200) -> int:
    """Print what it costs to compare n documents with corpora of these sizes; return the number of faults.

    A twelfth are copies of earlier documents, half of them in capitals, half without their end. The keys of
    the earlier ones are written by the first comparison, and read by the next.
    """
    chance = np.random.default_rng(SEED)
    n_copies, faults = n // 12, 0
    with TemporaryDirectory() as folder, ngramdb.connect(Path(folder) / "c.ngdb") as db:
        db.settings["auto_compact"] = False
        old, texts = db.create_corpus("old", tokenizer="words"), list[str]()
        new = db.create_corpus("new", tokenizer="words")
        for size in sizes:
            more = [" ".join(f"w{word}" for word in row) for row in chance.zipf(1.2, (size - len(texts), 60))]
            old.append(more)
            texts += more
            new.delete("doc_id >= 0")
            copied = [texts[i] for i in chance.integers(0, len(texts), n_copies).tolist()]
            copied = [text[:-20] if i % 2 else text.upper() for i, text in enumerate(copied)]
            own = [" ".join(f"v{word}" for word in row) for row in chance.zipf(1.2, (n - n_copies, 60))]
            new.append(copied + own)
            for name, compare, least in _COMPARISONS:
                times, found = [], 0
                for _ in range(2):
                    begun = process_time()
                    found = compare(new, old)
                    times.append(process_time() - begun)
                faults += int(found < n_copies // least)
                print(f"{name:17} {n:,} beside {size:7,}: {times[0]:5.2f} s of CPU, then {times[1]:5.2f} s")
    return faults


def _near(candidates: str) -> Callable[[ngramdb.Corpus, ngramdb.Corpus], int]:
    def compare(new: ngramdb.Corpus, old: ngramdb.Corpus) -> int:
        return int(new.near_duplicates(against=old, contained=0.9, candidates=candidates).summary["total"])

    return compare


def _equal(new: ngramdb.Corpus, old: ngramdb.Corpus) -> int:
    view, other = new._bound.current(), old._bound.current()
    found = copies(view, counting(view), against=other, normalize=("CASE", "SPACE"))
    return sum(map(len, found.chosen))


_COMPARISONS = (
    ("near, index", _near("index"), 1),
    ("near, minhash", _near("minhash"), 1),
    ("equal, normalized", _equal, 2),
)


def _planted(path: Path, n: int) -> Planted:
    chance = random.Random(SEED)
    texts: list[str] = []
    copies: dict[int, int] = {}
    for text in _texts(path):
        texts.append(text)
        if chance.random() < 0.25:
            of = chance.randrange(len(texts))
            words = texts[of].split()
            if len(words) < 40 or of in copies:
                continue
            copies[len(texts)] = of
            cut = len(words) // 20
            texts.append(
                " ".join(words[cut : len(words) - cut])
                if chance.random() < 0.5
                else " -- ".join(texts[of].upper().split())
            )
        if len(texts) >= n:
            break
    return Planted(texts, copies)


def _texts(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def _report(name: str, seconds: float, words: int, planted: Planted, pairs: set[tuple[int, int]]) -> None:
    # The first text of each group of copies.
    group = planted.copies
    found: set[int] = set()
    others = set()
    for i, k in pairs:
        if group.get(i, i) == group.get(k, k):
            found |= {i, k} & group.keys()
        else:
            others.add(frozenset((i, k)))
    share = len(found) / max(1, len(group))
    print(f"{name:24} {seconds:7.1f} {1e6 * seconds / words:8.2f} {share:8.1%} {len(others):7,}")


def _shingles(text: str) -> list[str]:
    words = re.sub(r"[\W_]+", " ", text.casefold()).split()
    return list({" ".join(words[i : i + 3]) for i in range(max(1, len(words) - 2))})


def _by_datasketch(texts: Sequence[str]) -> set[tuple[int, int]]:
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
    empty = MinHash(num_perm=BANDS * ROWS)

    def sketch(text: str) -> Any:
        made = empty.copy()
        made.update_batch([one.encode() for one in _shingles(text)])
        return made

    return _asked(texts, sketch, index.query, index.insert)


def _by_rensa(texts: Sequence[str]) -> set[tuple[int, int]]:
    from rensa import RMinHash, RMinHashLSH

    # It has bands of equal numbers of rows for all hashes.
    index = RMinHashLSH(threshold=CONTAINED, num_perm=BANDS * ROWS, num_bands=BANDS)

    def sketch(text: str) -> Any:
        made = RMinHash(num_perm=BANDS * ROWS, seed=SEED)
        made.update(_shingles(text))
        return made

    return _asked(texts, sketch, index.query, index.insert)


def _asked(
    texts: Sequence[str],
    sketch: Callable[[str], Any],
    query: Callable[[Any], list[int]],
    insert: Callable[[int, Any], None],
) -> set[tuple[int, int]]:
    pairs: set[tuple[int, int]] = set()
    for i, text in enumerate(texts):
        made = sketch(text)
        pairs.update((i, of) for of in query(made))
        insert(i, made)
    return pairs


def _report_text_dedup(planted: Planted, words: int) -> None:
    """Run text-dedup as its command, and count the planted copies that it removes, and other documents."""
    if find_spec("text_dedup") is None:
        print(f"{'text-dedup':24} is not installed; to compare with it: pip install text-dedup")
        return
    with TemporaryDirectory() as folder:
        given = Path(folder) / "documents.jsonl"
        with given.open("w", encoding="utf-8") as file:
            for i, text in enumerate(planted.texts):
                file.write(json.dumps({"id": i, "text": text}) + "\n")
        words_of = (
            f"--ngram 3 --min_length 1 --num_perm {BANDS * ROWS} --b {BANDS} --r {ROWS} --hash_func xxh3"
        )
        options = f"--path json --data_files {given} --split train --cache_dir {folder}/cache --num_proc 1"
        output = f"--column text --output {folder}/left {words_of}"
        command = [sys.executable, "-m", "text_dedup.minhash", *f"{options} {output}".split()]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            print(f"{'text-dedup':24} failed: {done.stderr.strip()[-200:]}")
            return
        import datasets

        left = set(datasets.load_from_disk(f"{folder}/left")["id"])
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    removed = set(range(len(planted.texts))) - left
    # It may keep the copy, and remove what that is a copy of.
    pairs = {(i, of) for i, of in planted.copies.items() if i in removed or of in removed}
    pairs |= {(i, -1) for i in removed - {one for pair in pairs for one in pair}}
    _report("text-dedup", seconds, words, planted, pairs)


def _verified_pairs() -> None:
    """Print the time per pair that is compared, beyond that of documents without candidates."""
    chance = random.Random(SEED)
    words = [f"v{i}" for i in range(20_000)]
    kept = [" ".join(chance.choices(words, k=PAIR_WORDS)).encode() for _ in range(PAIRS)]
    contained = [b" ".join(text.split()[chance.randrange(100) :]) for text in kept]
    times = []
    for texts in (kept, kept + contained):
        kernel = NearDuplicates(3, CONTAINED, 0.9)
        for text in texts:
            kernel.add(text, False)
        start = process_time()
        kernel.begin()
        kernel.decide(np.arange(len(texts), dtype=np.uint32))
        times.append(process_time() - start)
    print(f"a compared pair of {PAIR_WORDS:,} words each: {1e6 * (times[1] - times[0]) / PAIRS:.0f} us")
