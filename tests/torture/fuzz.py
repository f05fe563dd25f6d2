"""Runs statements made at random, and looks for what no statement may do.

    python tests/torture/fuzz.py [--statements 1000000] [--seed 1]

A statement must be answered or refused with an error of `ngramdb.errors`, whose message can be shown; no
other exception, no signal, and no longer than its time limit and what it takes to notice it. Every few
hundred statements the database is a new one; they run in a folder of their own.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from children import FAILED, Child, Clock, arguments, warm_up, watch
from statements import Statements

from ngramdb.api.connection import Connection
from ngramdb.api.database import Database
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.store import Store
from ngramdb.errors import NgramdbError, QueryError

BATCH = 5000
PER_DATABASE = 250
LIMIT_S = 1.0
HANG_S = 30
MOST_ROWS = 200
MOST_FAILURES = 40
# A statement and its parameters, as a child that dies leaves them.
LAST_BYTES = 1 << 16


def files() -> dict[str, bytes]:
    """A database with several corpora, segments and removals."""
    directory = MemoryDirectory()
    with Connection(Database(Store.open(directory))) as db:
        db.settings["auto_compact"] = False
        for name, kind in (("c", "words"), ("d", "words"), ("e", "bytes"), ("tok", "tokens")):
            corpus = db.create_corpus(name, tokenizer=kind)
            for k in range(2):
                corpus.append(document(kind, k * 20 + i) for i in range(20))
            corpus.delete("doc_id = 3 OR doc_id = 25")
    return {name: bytes(directory.open_read(name)) for name in directory.list()}


def document(kind: str, i: int) -> Any:
    fields = {"n": i, "source": ("web", "book", None)[i % 3], "deep": {"list": [i, "x"]}, "a b": i / 2}
    if kind == "tokens":
        return {"ids": [(i * k) % 7 for k in range(i % 12)], **fields}
    return {"text": " ".join(f"w{(i * k) % 7}" for k in range(i % 12)), **fields}


def run_batch(seed: int, n: int, content: dict[str, bytes], last: mmap.mmap, say: Any) -> None:
    """Run n statements; report each failure, and at the end the number of answered statements."""
    source, outcomes = Statements(seed), Counter[str]()
    for k in range(n):
        if k % PER_DATABASE == 0:
            db = Connection(Database(Store.open(MemoryDirectory(dict(content)))))
            db.use("c")
            Path("in.jsonl").write_text('{"text": "w1 w2"}\n{"text": 7}\n')
            Path("in.txt").write_text("w1 w2 w3\n")
        text, params = source.one()
        shown = repr((text, params)).encode()[: LAST_BYTES - 1]
        last.seek(0)
        last.write(shown + b"\0")
        watch(HANG_S)
        try:
            outcomes[run_one(db, text, params)] += 1
        except Exception:
            say(["failure", f"{text!r} {params!r}\n{traceback.format_exc(limit=-4)}"])
        watch(0)
    say(["done", dict(outcomes)])


def run_one(db: Connection, text: str, params: Any) -> str:
    """Runs a statement and reads what it gives; what became of it."""
    try:
        result = db.execute(text, params, timeout=LIMIT_S)
        result.fetchmany(MOST_ROWS)
        str(result)
    except NgramdbError as error:
        message = str(error)
        assert message.strip(), f"{type(error).__name__} without a message"
        if isinstance(error, QueryError) and error.start is not None:
            assert 0 <= error.start <= error.stop <= len(error.text or ""), "a place outside of the text"
        return type(error).__name__
    return "answered"


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--statements", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    warm_up()
    clock, outcomes, failures, done, seed = Clock(), Counter[str](), [], 0, given.seed
    last = mmap.mmap(-1, LAST_BYTES)
    with tempfile.TemporaryDirectory() as folder, open(os.devnull) as nothing:
        os.chdir(folder)
        os.dup2(nothing.fileno(), 0)
        maker = Child(lambda say: say({name: data.hex() for name, data in files().items()}))
        content = {name: bytes.fromhex(data) for name, data in next(maker.listen(600)).items()}
        maker.wait()
        while done < given.statements and len(failures) < MOST_FAILURES:
            n = min(BATCH, given.statements - done)
            child = Child(lambda say, n=n, seed=seed: run_batch(seed, n, content, last, say))
            for kind, said in child.listen():
                if kind == "done":
                    outcomes.update(said)
                else:
                    assert kind != FAILED, said
                    failures.append(said)
                    print(said, flush=True)
            status = child.wait()
            if status != 0:
                failures.append(f"signal {-status}: {last[: last.find(bytes(1))].decode()}")
                print(failures[-1], flush=True)
            done, seed = done + n, seed + 1
            clock.tell(f"{done} statements, {len(failures)} failures")
            for path in Path(folder).iterdir():
                if path.is_file():
                    path.unlink()
        os.chdir("/")
    print(
        f"{done} statements in {clock.seconds:.0f} s, seeds {given.seed} to {seed - 1}: "
        f"{len(failures)} failures"
    )
    for outcome, n in outcomes.most_common():
        print(f"{n:9}  {outcome}")
    return min(len(failures), 1)


if __name__ == "__main__":
    sys.exit(main())
