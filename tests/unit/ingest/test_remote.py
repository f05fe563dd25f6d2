"""Files by URL are read as the same files are by path: fsspec's memory and local file systems."""

from __future__ import annotations

import gzip
import json
import sys

import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

import ngramdb
from ngramdb.errors import LoadError

fsspec = pytest.importorskip("fsspec")

TABLE = pyarrow.table({"text": [f"document {k}" for k in range(50)], "n": list(range(50))})
LINES = "".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()).encode()


@pytest.fixture(params=["memory", "file"])
def base(request, tmp_path):
    """A folder with the same documents in several formats, by its URL."""
    (tmp_path / "in").mkdir()
    pyarrow.parquet.write_table(TABLE, tmp_path / "in" / "a.parquet", row_group_size=9)
    pyarrow.feather.write_feather(TABLE, tmp_path / "in" / "a.feather")
    (tmp_path / "in" / "a.jsonl.gz").write_bytes(gzip.compress(LINES))
    (tmp_path / "in" / "a.csv").write_bytes(
        b"text,n\n" + b"".join(b"document %d,%d\n" % (k, k) for k in range(50))
    )
    (tmp_path / "in" / "deep").mkdir()
    (tmp_path / "in" / "deep" / "b.txt").write_text("one text")
    if request.param == "file":
        return f"file://{tmp_path}/in"
    url = f"memory://{tmp_path.name}"
    system = fsspec.filesystem("memory")
    for path in (tmp_path / "in").rglob("*.*"):
        system.pipe(f"/{tmp_path.name}/{path.relative_to(tmp_path / 'in')}", path.read_bytes())
    return url


def rows(corpus):
    return [(row["text"], row["n"]) for row in corpus.docs().to_dicts()]


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.jsonl.gz", "a.csv", "*.parquet"])
def test_a_file_or_a_glob_is_read(base, name):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        seen = []
        corpus.load(f"{base}/{name}", progress=seen.append)
        assert rows(corpus) == [(f"document {k}", k) for k in range(50)]
        assert seen[-1].read_bytes == seen[-1].total_bytes > 0


def test_a_folder_is_read_in_its_format_and_goes_on(base):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        assert corpus.load(f"{base}/deep").documents == 1
        assert corpus.docs().to_dicts()[0]["path"] == "b.txt"
        with pytest.raises(LoadError, match="files of several formats"):
            corpus.load(base)
        for n in (20, 40, 60):
            corpus.load(base, format="parquet", limit=n, commit_every=20, resume=True)
        assert corpus.n_documents == 51


BAD = {
    "absent": ("{base}/none.jsonl", "no such file or folder"),
    "no match": ("{base}/*.xyz", "there are no files"),
    "protocol": ("nosuch://x/y", "cannot be read: .*nosuch"),
    "ids": ("{base}/t.bin", "token ids are memory-mapped"),
}


@pytest.mark.parametrize("url, message", BAD.values(), ids=BAD)
def test_what_cannot_be_opened_is_an_error(base, url, message):
    with fsspec.open(f"{base}/t.bin", "wb") as file:
        file.write(bytes(8))
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="tokens")
        with pytest.raises(LoadError, match=message):
            corpus.load(url.format(base=base))
        assert corpus.n_documents == 0


def test_an_error_while_reading_is_a_load_error(monkeypatch):
    system = fsspec.filesystem("memory")
    system.pipe("/gone.jsonl", LINES)

    def fail(*_):
        raise RuntimeError("the network is gone")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFile.read", fail)
    with (
        ngramdb.connect() as db,
        pytest.raises(LoadError, match=r"memory://gone\.jsonl.*: the network is gone"),
    ):
        db.create_corpus("c").load("memory://gone.jsonl")


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    monkeypatch.setattr("ngramdb.ingest.remote.core", ngramdb.ingest.remote.lazy_module("fsspec.core"))
    with ngramdb.connect() as db, pytest.raises(LoadError, match="not installed"):
        db.create_corpus("c").load("memory://x.jsonl")
