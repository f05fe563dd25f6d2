"""Files behind a real HTTP server, which knows no ranges of bytes: read once, from the beginning."""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import ngramdb
from ngramdb.errors import LoadError

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("http")
    lines = "".join(json.dumps({"text": f"time flies {i}"}) + "\n" for i in range(500)).encode()
    (folder / "a.jsonl").write_bytes(lines)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines))
    texts = [f"fruit flies {i}" for i in range(500)]
    pyarrow.parquet.write_table(pyarrow.table({"text": texts, "n": range(500)}), folder / "c.parquet")
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("name", "documents"), [("a.jsonl", 500), ("b.jsonl.gz", 500), ("c.parquet", 500), ("*.jsonl*", 1000)]
)
def test_files_are_loaded_by_their_address(address: str, name: str, documents: int) -> None:
    corpus = ngramdb.connect().create_corpus("c")
    assert corpus.load(f"{address}/{name}").documents == documents
    assert corpus.count("flies") == documents


def test_a_file_that_is_not_there_is_an_error(address: str) -> None:
    corpus = ngramdb.connect().create_corpus("c")
    with pytest.raises(LoadError, match=r"missing\.jsonl: no such file or folder"):
        corpus.load(f"{address}/missing.jsonl")
    assert corpus.n_documents == 0
