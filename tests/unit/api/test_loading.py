"""Loads: how far they are, and whether they wait for each other."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import ngramdb


@pytest.fixture
def files(tmp_path):
    """Two files of the same documents, one of them compressed: 2,000 documents of 20 words each."""
    lines = "".join(f'{{"text": "{" ".join(str(k + i) for i in range(20))}"}}\n' for k in range(2000))
    (tmp_path / "a.jsonl").write_text(lines)
    with gzip.open(tmp_path / "b.jsonl.gz", "wt") as file:
        file.write(lines)
    return [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]


def test_progress_tells_the_bytes_that_are_read_and_all_there_are(db, files, monkeypatch):
    monkeypatch.setattr("ngramdb.engine.loading.encoding.BATCH_DOCUMENTS", 100)
    told = []
    db.create_corpus("c").load(files, progress=told.append)
    total = sum(file.stat().st_size for file in files)
    assert {state.total_bytes for state in told} == {total}
    read = [state.read_bytes for state in told if state.read_bytes is not None]
    assert read == sorted(read) and read[0] < total / 2 and read[-1] == total
    assert told[0].documents == 0 and told[-1].documents == 4000
    # Data read ahead do not count: the documents are those of the bytes.
    half = next(state for state in told if state.documents >= 2000)
    assert half.read_bytes >= files[0].stat().st_size - (1 << 16)


def test_progress_knows_no_total_for_standard_input_and_no_bytes_for_an_append(db, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b'{"text": "a b"}\n'))
    monkeypatch.setattr(sys, "stdin", stdin)
    corpus, told = db.create_corpus("c"), []
    corpus.load("-", progress=told.append)
    assert told[-1].read_bytes == 16 and told[-1].total_bytes is None
    told.clear()
    corpus.append(["a"], progress=told.append)
    assert told[-1].read_bytes is None and told[-1].total_bytes is None


class Slow:
    """Documents that wait in the middle, so that their append holds the writer's lock."""

    def __init__(self):
        self.writing = threading.Event()
        self.go_on = threading.Event()

    def __iter__(self):
        yield "first"
        self.writing.set()
        assert self.go_on.wait(30)
        yield "second"


def test_a_writer_waits_for_another_as_long_as_lock_timeout_says(tmp_path):
    path = tmp_path / "db"
    with ngramdb.connect(path) as one, ngramdb.connect(path) as other, ThreadPoolExecutor() as pool:
        one.create_corpus("c")
        slow = Slow()
        first = pool.submit(one.corpus("c").append, slow)
        assert slow.writing.wait(30)
        corpus = other.corpus("c")
        for write in (
            lambda: corpus.append(["third"]),
            lambda: other.create_corpus("d"),
            lambda: other.drop_corpus("c"),
            lambda: other.execute("CREATE CORPUS d"),
        ):
            with pytest.raises(ngramdb.LockedError, match=r"SET lock_timeout"):
                write()
        other.execute("SET lock_timeout = 0.05")
        with pytest.raises(ngramdb.LockedError, match=r"after waiting 0\.05 s"):
            corpus.append(["third"])
        other.settings["lock_timeout"] = 30
        second = pool.submit(corpus.append, ["third"])
        slow.go_on.set()
        assert (first.result(30).version, second.result(30).version) == (3, 4)
        assert [row[-1] for row in corpus.docs()] == ["first", "second", "third"]


def test_documents_whose_making_writes_do_not_wait_for_themselves(tmp_path):
    with ngramdb.connect(tmp_path / "db") as db:
        db.settings["lock_timeout"] = 3600
        corpus = db.create_corpus("c")

        def documents():
            yield "a"
            corpus.append(["b"])

        with pytest.raises(ngramdb.LockedError):
            corpus.append(documents())
        assert corpus.n_documents == 0
        corpus.append(["c"])
        assert corpus.n_documents == 1


def test_a_load_whose_connection_is_closed_meanwhile_is_committed(tmp_path):
    path = tmp_path / "db"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("c")

        def documents():
            yield "a"
            db.close()
            yield "b"

        assert corpus.append(documents()).version == 3
        with pytest.raises(ngramdb.ExecutionError, match="closed"):
            corpus.count("a")
    with ngramdb.connect(path) as db:
        assert db.corpus("c").count("a") == 1


@pytest.mark.slow
def test_hundreds_of_appends_need_few_file_descriptors(tmp_path):
    resource = pytest.importorskip("resource")
    free = [os.open(os.devnull, os.O_RDONLY) for _ in range(20)]
    for descriptor in free:
        os.close(descriptor)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ngramdb.connect(tmp_path / "db") as db:
        corpus = db.create_corpus("c")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(free) + 1, hard))
        try:
            for k in range(60):
                corpus.append([f"word{k} and others"])
            assert corpus.count("and others") == 60 == corpus.n_documents
            assert [row[0] for row in corpus.docs('"word7" OR "word59"')] == [7, 59]
            with ngramdb.connect(tmp_path / "db", read_only=True) as other:
                assert other.corpus("c").count("and") == 60
                assert other.execute("CHECK").fetchall() == []
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_separator_for_json_lines_is_refused(db, files, monkeypatch):
    corpus = db.create_corpus("c")
    with pytest.raises(
        ngramdb.InvalidArgument, match=r"a\.jsonl is read as JSON lines, which have no separator"
    ):
        corpus.load(files, separator="---")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n---\nb\n")))
    with pytest.raises(ngramdb.InvalidArgument, match="standard input is read as JSON lines"):
        corpus.load("-", separator="---")
    assert corpus.load("-", separator="---", format="text").documents == 2


def test_a_separator_that_no_line_is_gives_a_note(db, tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("one\n---\ntwo\n")
    path = str(tmp_path / "a.txt")
    corpus = db.create_corpus("c")
    report = corpus.load(path, separator="--")
    assert report.documents == 1
    assert report.notes == (f"no line of {path} is the SEPARATOR '--': it is one document",)
    assert corpus.load(path, separator="---").notes == ()
    # Some of many files may well be one document each.
    assert corpus.load(tmp_path, separator="--").notes == ()


def test_a_note_says_why_a_load_was_slow_to_statements_and_on_the_command_line(tmp_path, monkeypatch, capsys):
    from support.subwords import write_tokenizer

    from ngramdb.cli.main import main
    from ngramdb.tokenizers import fast

    monkeypatch.setattr(fast, "WORTHWHILE_BYTES", 0)
    monkeypatch.setitem(sys.modules, "fastokens", None)
    tokenizer = str(write_tokenizer(tmp_path / "tokenizer.json"))
    (tmp_path / "docs.jsonl").write_text('{"text": "the fox"}\n')
    command = ["load", str(tmp_path / "db"), "c", str(tmp_path / "docs.jsonl"), "--tokenizer", tokenizer]
    assert main(command) == 0
    assert capsys.readouterr().err == f"note: {fast.NOT_INSTALLED}\n"
    assert main([*command, "--no-fast-tokenizer"]) == 0
    assert capsys.readouterr().err == ""
    with ngramdb.connect(tmp_path / "db") as db:
        copy = f"COPY c FROM '{tmp_path / 'docs.jsonl'}'"
        assert db.execute(copy).notes == (fast.NOT_INSTALLED,)
        db.execute("SET fast_tokenizer = off")
        assert db.execute(copy).notes == ()
        assert db.corpus("c").append(["the fox"]).notes == ()
