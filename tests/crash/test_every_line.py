"""Ctrl-C at any line of a writer is raised, leaves a whole version, and bars nobody from writing."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import ngramdb
from ngramdb.engine.storage.directory import local_files

#: Parts of ngramdb whose lines are interrupted: those that hold locks, descriptors and new files.
PLACES = tuple(
    str(Path(ngramdb.__file__).parent / name)
    for name in ("engine/storage", "engine/changes", "api", "interrupts.py", "strict_reading.py")
)
#: Lines that are interrupted of each write, evenly spread, the first and last included. A large number
#: in the environment has all of them interrupted, which takes minutes.
N_LINES = int(os.environ.get("LINES_OF_WRITES", "20"))

Run = Callable[[Any, Path], object]

WRITES: dict[str, Run] = {
    "append": lambda db, path: db.corpus("c").append(["a b c", "a b"]),
    "delete": lambda db, path: db.corpus("c").delete("n = 1"),
    "load": lambda db, path: db.corpus("c").load(path / "lines.jsonl"),
    "create corpus": lambda db, path: db.create_corpus("new"),
    "drop corpus": lambda db, path: db.drop_corpus("other"),
    "compact": lambda db, path: db.corpus("c").compact(),
    "keep version": lambda db, path: db.execute("KEEP VERSION 2 AS 'two'").fetchall(),
    "restore": lambda db, path: db.corpus("c").restore(3),
    "export": lambda db, path: db.corpus("c").export(path / "out.jsonl"),
    "connect": lambda db, path: ngramdb.connect(path / "new").close(),
}


class Tracer:
    """Sends SIGINT at the first visit of the line number `at` in the order of first visits."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.seen: dict[tuple[str, int, str], None] = {}

    def __call__(self, frame: FrameType, event: str, argument: object) -> Tracer | None:
        name = frame.f_code.co_filename
        if not name.startswith(PLACES):
            return None
        place = name, frame.f_lineno, event
        if event in ("line", "call") and place not in self.seen:
            self.seen[place] = None
            if len(self.seen) - 1 == self.at:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return self

    def run(self, work: Callable[[], object]) -> KeyboardInterrupt | None:
        """Return the interrupt, with all that its frames refer to."""
        sys.settrace(self)
        try:
            work()
        except KeyboardInterrupt as interrupt:
            return interrupt
        finally:
            sys.settrace(None)
        return None

    @property
    def place(self) -> str:
        name, line, event = list(self.seen)[-1]
        return f"{event} {name}:{line}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lines")
    (path / "lines.jsonl").write_text('{"text": "x y", "n": 1}\n{"text": "z"}\n')
    with ngramdb.connect(path / "db") as db:
        db.settings["auto_compact"] = False
        corpus = db.create_corpus("c")
        for n in range(3):
            corpus.append([{"text": "a b c", "n": n}])
        db.create_corpus("other")
    return path


def state(path: Path) -> object:
    """Return the content of the newest version, and its defects."""
    with ngramdb.connect(path, read_only=True) as db:
        kept = [row[0] for row in db.execute("SHOW VERSIONS").fetchall()]
        corpora = {name: db.corpus(name).n_documents for name in sorted(db.corpora())}
        return corpora, kept[-1:], db.execute("CHECK").fetchall()


def test_the_handler_of_the_user_is_back_after_every_write(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "db", tmp_path / "db")
    before = signal.getsignal(signal.SIGINT)
    with ngramdb.connect(tmp_path / "db") as db:
        db.corpus("c").append(["a"])
        with pytest.raises(ngramdb.NgramdbError):
            db.corpus("c").delete("missing = 1")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("step", ["_try_lock", "_leave_note"])
def test_an_interrupt_while_the_lock_is_taken(
    step: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder / "db", tmp_path / "db")
    do = getattr(local_files, step)

    def do_and_interrupt(argument: Any) -> object:
        done = do(argument)
        signal.raise_signal(signal.SIGINT)
        return done

    with ngramdb.connect(tmp_path / "db") as db:
        monkeypatch.setattr(local_files, step, do_and_interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            db.corpus("c").append(["a"])
        monkeypatch.undo()
        assert caught.tb  # its frames keep what they had taken
        db.corpus("c").append(["a"])


@pytest.mark.parametrize("name", WRITES)
def test_an_interrupt_at_any_line(name: str, folder: Path, tmp_path: Path) -> None:
    path, run = tmp_path / "db", WRITES[name]

    def fresh() -> Any:
        for left in ("db", "new", "out.jsonl"):
            if (tmp_path / left).is_dir():
                shutil.rmtree(tmp_path / left)
        shutil.copytree(folder / "db", path)
        shutil.copy(folder / "lines.jsonl", tmp_path)
        return ngramdb.connect(path)

    plain = Tracer()
    with fresh() as db:
        run(db, tmp_path)  # imports
    with fresh() as db:
        old = state(path)
        plain.run(lambda: run(db, tmp_path))
    new = state(path)
    handler = signal.getsignal(signal.SIGINT)
    wrong = []
    n = len(plain.seen)
    for k in sorted({round(i * (n - 1) / (N_LINES - 1)) for i in range(N_LINES)}):
        tracer = Tracer(at=k)
        with fresh() as db:
            interrupt = tracer.run(lambda db=db: run(db, tmp_path))
            if len(tracer.seen) <= k:
                continue
            found = []
            if interrupt is None:
                found.append("no KeyboardInterrupt was raised")
            if signal.getsignal(signal.SIGINT) is not handler:
                found.append("the handler is another one")
                signal.signal(signal.SIGINT, handler)
            if state(path) not in (old, new):
                found.append(f"state {state(path)}")
            for who in ("the same connection", "another connection"):
                try:
                    with ngramdb.connect(path) as other:
                        (db if who == "the same connection" else other).corpus("c").append(["w"])
                except ngramdb.NgramdbError as error:
                    found.append(f"{who}: {error}")
            if found:
                wrong.append((tracer.place, found))
        del interrupt
    assert not wrong, "\n".join(f"{place}: {found}" for place, found in wrong)
