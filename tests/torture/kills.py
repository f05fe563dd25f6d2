"""Kills a writer at random moments, again and again, and looks at what it left behind.

    python tests/torture/kills.py [--kills 500] [--seed 1]

The writer loads, appends, removes, cuts, compacts, restores, adds, subtracts, names versions and adds fields
without a pause.
It reports what it begins and what has returned. After each kill the database must hold what it held after
the last statement that returned, or after the one that was under way: every document with its id and text,
every count, every record of a removal, every name of a version. CHECK must find nothing, and the next writer
must clear away what was left over.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from children import FAILED, Child, Clock, arguments, warm_up

import ngramdb
from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.store import Store
from ngramdb.errors import BindError, ExecutionError

N_WORDS = 7
KEPT_VERSIONS = 12
MOST_DOCUMENTS = 6000
KINDS = [
    "load",
    "append",
    "append",
    "delete",
    "delete",
    "duplicates",
    "near",
    "cut duplicates",
    "cut spans",
    "fields",
    "compact",
    "restore",
    "add",
    "subtract",
]
KINDS += ["keep"]
# Versions that are kept by name, at most.
MOST_NAMES = 3
Operation = list[Any]


def texts_of(operation: Operation) -> list[str]:
    """The documents that an operation adds."""
    kind, tag, size = operation
    return [f"w{(tag + i) % N_WORDS} {kind} tag{tag} number{i} w{(tag * i) % N_WORDS}" for i in range(size)]


# ---- the writer -----------------------------------------------------------------------------------------


def write(path: Path, seed: int, say: Any) -> None:
    """Work until killed: send an operation before it begins, and the version when it has returned."""
    rng = random.Random(seed)
    with ngramdb.connect(path) as db:
        db.settings["keep_versions"] = KEPT_VERSIONS
        db.settings["segment_tokens"] = 4096
        # Larger loads are sorted in pieces and merged.
        db.settings["sort_tokens"] = 1024
        corpus = db.corpus("c")
        say("ready")
        while True:
            operation = choose(rng, db)
            say(operation)
            run(db, corpus, operation, path)
            say(db.version)


def choose(rng: random.Random, db: Any) -> Operation:
    """Choose the next operation."""
    n_documents, tag = db.corpus("c").n_documents, rng.randrange(10**6)
    if n_documents > MOST_DOCUMENTS:
        return ["trim", db.execute("DOCS FROM c ORDER BY doc_id DESC LIMIT 1").fetchone()[0] - 500]
    kind = rng.choice(KINDS)
    if kind == "load":
        return [kind, tag, rng.randrange(200, 1500)]
    if kind == "append":
        return [kind, tag, rng.randrange(1, 4)]
    if kind == "delete":
        return [kind, f"w{rng.randrange(N_WORDS)} {rng.choice(['load', 'append', 'w0'])}"]
    if kind == "restore":
        versions = [row[0] for row in db.execute("SHOW VERSIONS FROM c").fetchall()]
        return [kind, rng.choice(versions)]
    if kind == "cut spans":
        return [kind, f"w{rng.randrange(3, N_WORDS)}"]
    if kind == "fields":
        return [kind, tag]
    if kind == "keep":
        names = sorted(db.snapshot.manifest.kept)
        return [kind, f"name {tag}"] if len(names) < MOST_NAMES else ["drop", rng.choice(names)]
    return [kind]


def run(db: Any, corpus: Any, operation: Operation, path: Path) -> None:
    """Run it, with a statement if there is one."""
    kind = operation[0]
    if kind == "load":
        file = path.with_name("documents.jsonl")
        file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts_of(operation)))
        db.execute("COPY c FROM ?", [str(file)])
    elif kind == "append":
        corpus.append(texts_of(operation))
    elif kind == "delete":
        db.execute("DELETE DOCS WHERE ? AND NOT ? FROM c", operation[1].split())
    elif kind == "trim":
        db.execute("DELETE DOCS WHERE doc_id < ? FROM c", [operation[1]])
    elif kind == "duplicates":
        db.execute("DELETE DUPLICATES FROM c")
    elif kind == "near":
        db.execute("DELETE NEAR DUPLICATES KEEP FIRST FROM c")
    elif kind == "cut duplicates":
        db.execute(f"CUT DUPLICATES LENGTH >= {REPEATED} FROM c")
    elif kind == "cut spans":
        db.execute("CUT SPANS WHERE ? FROM c", [operation[1]])
    elif kind == "fields":
        ids = [row[0] for row in db.execute("DOCS FROM c RETURNING doc_id").fetchall()]
        table = pa.table({"doc_id": ids, "mark": pa.array([i + operation[1] for i in ids], pa.int64())})
        corpus.add_fields(table, on="doc_id", replace=True)
    elif kind == "compact":
        db.execute("COMPACT c")
    elif kind == "restore":
        db.execute(f"RESTORE CORPUS c TO VERSION {operation[1]}")
    elif kind == "keep":
        db.keep_version(operation[1])
    elif kind == "drop":
        db.drop_version(operation[1])
    else:
        with contextlib.suppress(ExecutionError):  # there may be nothing equal to subtract
            db.execute(f"ALTER CORPUS c {kind} CORPUS few")


# ---- what must be there ---------------------------------------------------------------------------------

FEW = ["w0 a few", "w1 documents", "w2 of another corpus"]
# Length, in words, of a repetition that is cut.
REPEATED = 3
# The replacement of a cut.
CUT = "|"
WORD = re.compile(r"[^ |]+")


class Document(NamedTuple):
    """A document of the corpus: its text, and the field `mark`."""

    text: str
    mark: int | None = None

    def words(self) -> list[str]:
        return WORD.findall(self.text)

    def without(self, numbers: set[int]) -> Document:
        """Return the document without some of its words; those in a row are cut with what is between them."""
        text, end = "", 0
        last: int | None = None
        for number, word in enumerate(WORD.finditer(self.text)):
            between = self.text[end : word.start()]
            if number not in numbers:
                text += between + word.group()
            elif last != number - 1 or CUT in between:
                text += between + CUT
            if number in numbers:
                last = number
            end = word.end()
        return self._replace(text=text + self.text[end:])


def repeated_words(documents: dict[int, Document]) -> dict[int, set[int]]:
    """Return the numbers of the words to cut, by document: of all copies of REPEATED words but the first."""
    first: dict[tuple[str, ...], tuple[int, int]] = {}
    found: dict[int, set[int]] = {}
    for i, document in sorted(documents.items()):
        before = 0
        for piece in document.text.split(CUT):
            words = WORD.findall(piece)
            for k in range(len(words) - REPEATED + 1):
                kept = first.setdefault(tuple(words[k : k + REPEATED]), (i, before + k))
                if kept != (i, before + k):
                    own = set(range(kept[1], kept[1] + REPEATED)) if kept[0] == i else set()
                    found.setdefault(i, set()).update({*range(before + k, before + k + REPEATED)} - own)
            before += len(words)
    return found


class Model:
    """The content of the database: documents by id, the next id, removed documents on record."""

    def __init__(self) -> None:
        self.documents: dict[int, Document] = {}
        self.next_id = 0
        self.removed = 0
        # Documents by version; a corpus that is restored has those.
        self.versions: dict[int, dict[int, Document]] = {}
        # The versions that are kept, by name.
        self.names: dict[str, int] = {}

    def after(self, operation: Operation) -> Model:
        """The model when the operation has been done."""
        new = Model()
        new.documents, new.next_id, new.removed = dict(self.documents), self.next_id, self.removed
        new.versions, new.names = self.versions, dict(self.names)
        kind = operation[0]
        if kind in ("load", "append"):
            new._add(texts_of(operation))
        elif kind == "add":
            new._add(FEW)
        elif kind == "delete":
            new._delete(*operation[1].split())
        elif kind == "trim":
            new._remove([i for i in self.documents if i < operation[1]])
        elif kind in ("duplicates", "near"):  # only equal texts contain one another
            firsts = {one.text: i for i, one in sorted(self.documents.items(), reverse=True)}
            new._remove([i for i, one in self.documents.items() if firsts[one.text] != i])
        elif kind == "cut duplicates":
            new._cut(repeated_words(self.documents))
        elif kind == "cut spans":
            places = {
                i: {k for k, word in enumerate(one.words()) if word == operation[1]}
                for i, one in self.documents.items()
            }
            new._cut({i: numbers for i, numbers in places.items() if numbers})
        elif kind == "fields":
            new.documents = {i: one._replace(mark=i + operation[1]) for i, one in self.documents.items()}
        elif kind == "restore":
            new.documents = dict(self.versions[operation[1]])
        elif kind == "keep":
            new.names[operation[1]] = max(self.versions)
        elif kind == "drop":
            del new.names[operation[1]]
        elif kind == "subtract":
            gone = [self._first(text) for text in FEW]
            if None not in gone:
                new._remove(gone)
        return new

    def _add(self, texts: list[str]) -> None:
        self.documents.update(enumerate(map(Document, texts), self.next_id))
        self.next_id += len(texts)

    def _delete(self, word: str, other: str) -> None:
        texts = {i: one.words() for i, one in self.documents.items()}
        self._remove([i for i, words in texts.items() if word in words and other not in words])

    def _cut(self, words: dict[int, set[int]]) -> None:
        for i, numbers in words.items():
            self.documents[i] = self.documents[i].without(numbers)
            if not self.documents[i].words():
                del self.documents[i]
        self.removed += len(words)

    def _remove(self, ids: list[Any]) -> None:
        for i in ids:
            del self.documents[i]
        self.removed += len(ids)

    def _first(self, text: str) -> int | None:
        return min((i for i, one in self.documents.items() if one.text == text), default=None)

    def digest(self) -> list[Any]:
        rows = [(i, one.mark, one.text.replace(CUT, "")) for i, one in self.documents.items()]
        return digest(rows, self.removed, self.names)


def digest(documents: Any, removed: int, names: dict[str, int]) -> list[Any]:
    """Documents (id, mark, text) in a few bytes, the count of each word, and the names of versions."""
    rows = sorted(map(list, documents))
    words = Counter(word for *_, text in rows for word in text.split())
    listed = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    return [
        len(rows),
        listed,
        [words[f"w{i}"] for i in range(N_WORDS)],
        removed,
        sorted(map(list, names.items())),
    ]


def look(path: Path, say: Any) -> None:
    """Says the version, what is there, what CHECK finds, and which files nobody needs after a writer came."""
    with ngramdb.connect(path, read_only=True) as db:
        try:
            rows = db.execute("DOCS FROM c RETURNING doc_id, mark, text").fetchall()
        except BindError:  # no document has the field
            rows = [(row[0], None, row[-1]) for row in db.execute("DOCS FROM c").fetchall()]
        removed = sum(row[4] for row in db.execute("SHOW REMOVALS FROM c").fetchall())
        names = {name: one.version for name, one in db.snapshot.manifest.kept.items()}
        found = digest(rows, removed, names)
        found[2] = [db.corpus("c").count(f"w{i}") for i in range(N_WORDS)]
        problems = [str(row) for row in db.execute("CHECK").fetchall()]
        version = db.version
    store = Store.open(RealDirectory(path))
    with store.begin(timeout_s=60):
        needed = {name for manifest in store.versions() for name in manifest.files()}
        left = [
            name
            for name in store.directory.list()
            if name not in needed and not name.startswith("manifests/0") and name not in ("NGRAMDB", "LOCK")
        ]
    store.close()
    say([version, found, problems, left])


# ---- one kill after the other ---------------------------------------------------------------------------


def kill_one(path: Path, model: Model, rng: random.Random) -> tuple[Model, str]:
    """Runs a writer, kills it, compares; the new model, and what was under way and what became of it."""
    seed = rng.randrange(2**32)
    writer = Child(lambda say: write(path, seed, say))
    n_operations, pause_s = rng.randrange(1, 8), rng.choice([0.002, 0.01, 0.05, 0.2]) * rng.random()
    pending: Operation | None = None
    said = writer.listen(600)
    for value in said:
        if isinstance(value, list):
            assert value[0] != FAILED, value[1]
            pending, n_operations = value, n_operations - 1
            if n_operations == 0:
                break
        elif isinstance(value, int):
            model, pending = _done(model, pending, value), None
    time.sleep(pause_s)
    writer.kill()
    for value in said:
        if isinstance(value, list):
            assert value[0] != FAILED, value[1]
            pending = value
        elif isinstance(value, int):
            model, pending = _done(model, pending, value), None
    assert writer.wait() == -9
    return _compared(path, model, pending)


def _done(model: Model, operation: Operation | None, version: int) -> Model:
    assert operation is not None
    new = model.after(operation)
    new.versions[version] = new.documents
    for old in {*sorted(new.versions)[: -4 * KEPT_VERSIONS]} - {*new.names.values()}:
        del new.versions[old]
    return new


def _compared(path: Path, model: Model, pending: Operation | None) -> tuple[Model, str]:
    looker = Child(lambda say: look(path, say))
    said = list(looker.listen(600))
    assert looker.wait() == 0, said
    version, found, problems, left = said[0]
    assert problems == [], problems
    assert left == [], left
    if found == model.digest():
        # Also for commits without visible changes, such as a compaction.
        model.versions[version] = model.documents
        return model, f"{pending[0]}: the old version" if pending else "between two: all of it"
    assert pending is not None, f"version {version}: {found}, not {model.digest()}"
    new = model.after(pending)
    assert found == new.digest(), (
        f"version {version}, {pending}: {found}, not {model.digest()}, {new.digest()}"
    )
    return _done(model, pending, version), f"{pending[0]}: the new version"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    warm_up()
    rng, clock, outcomes = random.Random(given.seed), Clock(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db"
        model = Model()
        Child(lambda say: make(path)).wait()
        model.versions[4] = {}  # as `make` leaves it
        for k in range(given.kills):
            model, outcome = kill_one(path, model, rng)
            outcomes[outcome] += 1
            clock.tell(f"{k + 1} kills, {len(model.documents)} documents")
        versions = max(model.versions)
    print(
        f"{given.kills} kills in {clock.seconds:.0f} s, {versions} versions: nothing lost, nothing half there"
    )
    for outcome, n in sorted(outcomes.items()):
        print(f"{n:6}  {outcome}")


def make(path: Path) -> None:
    with ngramdb.connect(path) as db:
        db.create_corpus("few").append(FEW)
        db.create_corpus("c")


if __name__ == "__main__":
    sys.exit(main())
