"""Readers in processes and in threads beside a writer, for minutes.

    python tests/torture/readers.py [--seconds 180] [--readers 8]

Half of the readers are processes, half are threads of the writer's own process. The writer appends, removes,
merges, restores and releases versions without a pause, and records the expected content of each version.
Each reader runs several queries on one version at a time and records the answers; afterwards every record of
every reader must agree with the writer's note of that version.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from children import FAILED, Child, Clock, arguments, warm_up

import ngramdb
from ngramdb.api.connection import Connection

KEPT_VERSIONS = 3
N_WORDS = 5
# A reader's pause between taking a version and asking: now its files may go, if anybody lets them.
PAUSE_S = 0.003
Seen = dict[int, Any]


def look(db: Connection) -> tuple[int, Any]:
    """Return a version and its content: documents, tokens, counts of words, documents with one."""
    snapshot = db.snapshot
    time.sleep(PAUSE_S)
    view = snapshot.view("c")
    words = [view.tokenizer.encode(f"w{i}") for i in range(N_WORDS)]
    counts = [int(view.index.count(word)) for word in words]
    listed = [
        len(set(segment.index.docs_containing(words[0]).tolist()) - set(view.removed(i).tolist()))
        for i, segment in enumerate(view.segments)
    ]
    return snapshot.version, [view.n_documents, int(view.n_tokens), counts, sum(listed)]


def expected(documents: dict[int, str]) -> Any:
    """The same from the documents themselves."""
    texts = [text.split() for text in documents.values()]
    counts = [sum(text.count(f"w{i}") for text in texts) for i in range(N_WORDS)]
    return [len(texts), sum(map(len, texts)), counts, sum("w0" in text for text in texts)]


def read(db: Connection, stop: Any, seen: Seen) -> int:
    """Looks again and again; how often. A version that looks different the second time is an error."""
    n = 0
    while not stop():
        db.refresh()
        version, found = look(db)
        assert seen.setdefault(version, found) == found, f"version {version}: {found}, before {seen[version]}"
        n += 1
    return n


def read_elsewhere(path: Path, seconds: float, say: Any) -> None:
    """Read in another process, which reopens the database occasionally."""
    end, seen, n = time.monotonic() + seconds, dict[int, Any](), 0
    while time.monotonic() < end:
        with ngramdb.connect(path, read_only=True) as db:
            until = min(end, time.monotonic() + 5)
            n += read(db, lambda until=until: time.monotonic() > until, seen)
    say([n, list(seen.items())])


def write(db: Connection, seconds: float) -> Seen:
    """Commits without a pause; what must be found in each version."""
    rng, end = random.Random(1), time.monotonic() + seconds
    db.settings["keep_versions"] = KEPT_VERSIONS
    corpus = db.corpus("c")
    documents: dict[int, str] = {}
    history = {db.version: dict(documents)}
    noted = {db.version: expected(documents)}
    next_id = 0
    while time.monotonic() < end:
        kind = rng.randrange(12)
        if kind < 6:
            texts = [
                " ".join(f"w{rng.randrange(N_WORDS)}" for _ in range(rng.randrange(8))) for _ in range(9)
            ]
            corpus.append(texts)
            documents.update(enumerate(texts, next_id))
            next_id += len(texts)
        elif kind < 9 and documents:
            first, last = sorted(rng.choices(sorted(documents), k=2))
            last = min(last, first + 40)
            corpus.delete("doc_id BETWEEN ? AND ?", params=[first, last])
            documents = {i: text for i, text in documents.items() if not first <= i <= last}
        elif kind == 9:
            corpus.compact()
        elif kind == 10:
            kept = [row[0] for row in db.execute("SHOW VERSIONS").fetchall() if row[0] in history]
            version = rng.choice(kept)
            corpus.restore(version)
            documents = dict(history[version])
        elif len(documents) > 400:
            corpus.delete(f"doc_id < {sorted(documents)[-100]}")
            documents = dict(sorted(documents.items())[-100:])
        history[db.version] = dict(documents)
        noted[db.version] = expected(documents)
        for old in sorted(history)[: -8 * KEPT_VERSIONS]:
            del history[old]
    return noted


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--readers", type=int, default=8)
    given = parser.parse_args()
    warm_up()
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db"
        Child(lambda say: ngramdb.connect(path).create_corpus("c")).wait()
        children = [
            Child(lambda say: read_elsewhere(path, given.seconds, say)) for _ in range(given.readers // 2)
        ]
        problems: list[str] = []
        stop = threading.Event()
        found: list[tuple[int, Seen]] = []
        with ngramdb.connect(path) as db:
            threads = [
                threading.Thread(target=_thread, args=(db, stop, found, problems))
                for _ in range(given.readers - len(children))
            ]
            for thread in threads:
                thread.start()
            noted = write(db, given.seconds)
            stop.set()
            for thread in threads:
                thread.join()
            problems += [str(row) for row in db.execute("CHECK").fetchall()]
        for child in children:
            for said in child.listen(given.seconds + 60):
                if said[0] == FAILED:
                    problems.append(said[1])
                else:
                    found.append((said[0], dict(said[1])))
            child.wait()
    for _, seen in found:
        wrong = [(version, answer) for version, answer in seen.items() if answer != noted.get(version)]
        problems += [f"version {version}: {answer}, not {noted.get(version)}" for version, answer in wrong]
    n_looks = sum(n for n, _ in found)
    versions = len(set().union(*(seen for _, seen in found)))
    print(
        f"{given.readers} readers and a writer for {clock.seconds:.0f} s: {len(noted)} versions, of which "
        f"{versions} were read, {n_looks} times; {len(problems)} problems"
    )
    print("\n".join(problems[:20]))
    return int(bool(problems) or len(found) != given.readers)


def _thread(
    db: Connection, stop: threading.Event, found: list[tuple[int, Seen]], problems: list[str]
) -> None:
    seen: Seen = {}
    try:
        found.append((read(db, stop.is_set, seen), seen))
    except Exception as error:
        problems.append(repr(error))


if __name__ == "__main__":
    sys.exit(main())
