"""infini-gram's files as they are written, beside its layout; the peer reads them in tests/peers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.engine.corpus.infini_gram_files import Layout, pointer_width, write_index
from ngramdb.errors import ExecutionError, InvalidArgument

WIDTHS = {"u8": 1, "u16": 2, "u32": 4}


def view_of(documents: list[list[int]], removed: Sequence[int] = ()) -> Any:
    db = ngramdb.connect()
    corpus = db.create_corpus("ids", "tokens")
    for start in range(0, len(documents), 3):
        corpus.append([(ids, {"n": start}) for ids in documents[start : start + 3]])
    if removed:
        corpus.delete("doc_id IN ?", params=[list(removed)])
    return db.snapshot.view("ids")


def check_shard(folder: Path, s: int, documents: list[list[int]], dtype: str, reverse: bool) -> None:
    width = WIDTHS[dtype]
    stream = b""
    starts = []
    for ids in documents:
        starts.append(len(stream))
        tokens = [256**width - 1, *(ids[::-1] if reverse else ids)]
        stream += b"".join(token.to_bytes(width, "little") for token in tokens)
    assert (folder / f"tokenized.{s}").read_bytes() == stream
    assert np.fromfile(folder / f"offset.{s}", dtype="<u8").tolist() == starts
    table = (folder / f"table.{s}").read_bytes()
    n = len(stream) // width
    size = len(table) // max(1, n)
    assert len(table) == n * size and (not n or size == pointer_width(len(stream)))
    rows = [int.from_bytes(table[size * k : size * (k + 1)], "little") for k in range(n)]
    assert rows == sorted(range(0, len(stream), width), key=lambda at: stream[at:])
    lines = (folder / f"metadata.{s}").read_bytes()
    bounds = [*np.fromfile(folder / f"metaoff.{s}", dtype="<u8").tolist(), len(lines)]
    assert len(bounds) == len(documents) + 1
    for start, stop in pairwise(bounds):
        assert json.loads(lines[start:stop]).keys() == {"path", "linenum", "metadata"}
    counted = [line.split() for line in (folder / f"unigram.{s}").read_text().splitlines()]
    tokens = np.frombuffer(stream, dtype=f"<u{width}").tolist()
    assert {int(token): int(count) for token, count in counted} == {one: tokens.count(one) for one in tokens}


@settings(max_examples=40, deadline=None)
@given(
    documents=st.lists(st.lists(st.sampled_from([0, 1, 2, 253, 254]), max_size=8), min_size=3, max_size=8),
    shards=st.integers(1, 3),
    version=st.sampled_from([4, 5]),
    dtype=st.sampled_from(list(WIDTHS)),
    scale=st.sampled_from([1, 257]),
)
def test_every_file_is_as_the_layout_says(
    tmp_path_factory: pytest.TempPathFactory,
    documents: list[list[int]],
    shards: int,
    version: int,
    dtype: str,
    scale: int,
) -> None:
    if dtype != "u8":  # tokens whose bytes are in another order than they are
        documents = [[token * scale for token in ids] for ids in documents]
    folder = tmp_path_factory.mktemp("files") / "index"
    view = view_of(documents)
    assert write_index(view, folder, Layout(version, shards, dtype)) == len(documents)
    assert len(list(folder.iterdir())) == 6 * shards
    for s in range(shards):
        check_shard(folder, s, documents[s::shards], dtype, version == 5)


def test_removed_documents_are_left_out(tmp_path: Path) -> None:
    documents = [[1, 2], [3], [1, 2, 3], [4]]
    assert write_index(view_of(documents, [1, 2]), tmp_path / "index", Layout()) == 2
    check_shard(tmp_path / "index", 0, [documents[0], documents[3]], "u16", False)
    lines = (tmp_path / "index" / "metadata.0").read_text().splitlines()
    assert json.loads(lines[1]) == {"path": "ids", "linenum": 3, "metadata": {"n": 3}}


@pytest.mark.parametrize(
    ("largest", "dtype"), [(254, "u16"), (65534, "u16"), (65535, "u32"), (2**32 - 2, "u32")]
)
def test_the_largest_id_says_how_wide_they_are(tmp_path: Path, largest: int, dtype: str) -> None:
    write_index(view_of([[largest]]), tmp_path / "index", Layout())
    check_shard(tmp_path / "index", 0, [[largest]], dtype, False)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"version": 6}, "version 4 or 5, not 6"),
        ({"shards": 0}, "at least 1, not 0"),
        ({"token_dtype": "u64"}, "not 'u64'"),
        ({"token_dtype": "u8"}, "the token id 255, and u8 has room for ids below 255"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, layout: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        write_index(view_of([[255]]), tmp_path / "index", Layout(**layout))
    assert list(tmp_path.iterdir()) == []


def test_a_shard_without_a_document_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="has 2; write at most 2 shards, not 3"):
        write_index(view_of([[1], [2], [3]], [1]), tmp_path / "index", Layout(shards=3))
    with pytest.raises(InvalidArgument, match=r"the corpus has 0$"):
        write_index(view_of([]), tmp_path / "index", Layout())
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_replaced_and_nothing_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index").mkdir()
    with pytest.raises(InvalidArgument, match="already exists"):
        write_index(view_of([[1]]), tmp_path / "index", Layout())
    with pytest.raises(ExecutionError, match="cannot make"):
        write_index(view_of([[1]]), tmp_path / "no" / "index", Layout())

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ngramdb.engine.corpus.infini_gram_files._write_table", fail)
    with pytest.raises(ExecutionError, match=r"cannot write .*: No space left on device"):
        write_index(view_of([[1]]), tmp_path / "other", Layout())
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
