"""Documents as files of token ids for training, read here by the layouts of Megatron and nanoGPT."""

from __future__ import annotations

import random
import struct
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ngramdb
from ngramdb.api.verbs import token_files
from ngramdb.errors import ExecutionError, InvalidArgument, QueryError
from ngramdb.questions import document_tokens

CUT = 7
EOD = 0


def of_megatron(path: Path) -> tuple[list[list[int]], NDArray[Any]]:
    """Return the documents of a pair of files, and their ids, as Megatron-LM's IndexedDataset finds them."""
    index = memoryview(path.with_suffix(".idx").read_bytes())
    assert bytes(index[:9]) == b"MMIDIDX\x00\x00"
    version, code, n_sequences, n_documents = struct.unpack("<QBQQ", index[9:34])
    assert version == 1
    dtype = {8: np.dtype("<u2"), 4: np.dtype("<i4")}[code]
    lengths = np.frombuffer(index, np.int32, n_sequences, 34)
    pointers = np.frombuffer(index, np.int64, n_sequences, 34 + lengths.nbytes)
    firsts = np.frombuffer(index, np.int64, n_documents, 34 + lengths.nbytes + pointers.nbytes)
    assert len(index) == 34 + lengths.nbytes + pointers.nbytes + firsts.nbytes
    assert firsts.tolist() == list(range(n_sequences + 1))
    if not n_sequences:
        assert path.stat().st_size == 0
        return [], np.empty(0, dtype)
    ids = np.memmap(path, dtype, "r")
    found = [
        ids[at // dtype.itemsize : at // dtype.itemsize + n].tolist()
        for at, n in zip(pointers, lengths, strict=True)
    ]
    assert [one for document in found for one in document] == ids.tolist()
    return found, ids


def of_nanogpt(path: Path, dtype: str) -> list[list[int]]:
    ids = np.memmap(path, dtype, "r").tolist() if path.stat().st_size else []
    assert not ids or ids[-1] == EOD
    return [list(run) for is_end, run in groupby(ids, lambda one: one == EOD) if not is_end]


def pieces_of(document: list[int]) -> list[list[int]]:
    """The pieces that are left when token CUT is cut out."""
    return [list(run) for is_cut, run in groupby(document, lambda one: one == CUT) if not is_cut]


@pytest.mark.parametrize("seed", range(6))
def test_the_files_have_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(document_tokens, "BATCH_DOCUMENTS", 3)
    rng = random.Random(seed)
    wide = 70_000 if seed % 2 else 9
    with ngramdb.connect() as db:
        db.execute("SET auto_compact = FALSE")
        corpus = db.create_corpus("c", tokenizer="tokens")
        documents: dict[int, tuple[list[int], int]] = {}
        for _ in range(rng.randint(1, 4)):
            load = []
            for _ in range(rng.randint(1, 9)):
                ids = [rng.choice([1, 2, 3, CUT, wide]) for _ in range(rng.randint(0, 6))]
                load.append((ids, {"n": rng.randint(0, 3)}))
            documents.update(enumerate(((ids, one["n"]) for ids, one in load), start=len(documents)))
            corpus.append(load)
        removed = rng.sample(sorted(documents), rng.randint(0, len(documents) // 2))
        for doc in removed:
            corpus.delete(f"doc_id = {doc}")
            del documents[doc]
        if seed > 1:
            corpus.cut_spans([CUT])
            documents = {doc: one for doc, one in documents.items() if pieces_of(one[0]) or not one[0]}
        if seed > 3:
            corpus.compact()
        cut = pieces_of if seed > 1 else lambda document: [document] * bool(document)
        orders = {
            "": sorted(documents),
            "ORDER BY doc_id DESC": sorted(documents, reverse=True),
            "ORDER BY n": sorted(documents, key=lambda doc: (documents[doc][1], doc)),
            "WHERE n > 1 LIMIT 3": [doc for doc in sorted(documents) if documents[doc][1] > 1][:3],
        }
        for i, (clauses, order) in enumerate(orders.items()):
            expected = [piece for doc in order for piece in cut(documents[doc][0])]
            path = tmp_path / f"{i}.bin"
            result = db.execute(f"COPY (DOCS FROM c {clauses}) TO ? (FORMAT megatron)", [str(path)])
            assert result.fetchall()[0][0] == len(expected)
            assert result.summary["tokens"] == sum(map(len, expected))
            found, ids = of_megatron(path)
            assert found == expected
            assert ids.dtype == "<i4" or not any(wide > 65_535 and wide in one for one in expected)
            options = f"(FORMAT megatron, SEPARATOR {EOD}, DTYPE int32)"
            db.execute(f"COPY (DOCS FROM c {clauses}) TO ? {options}", [str(path)])
            assert of_megatron(path)[0] == [[*one, EOD] for one in expected]
            options = f"(FORMAT nanogpt, SEPARATOR {EOD}, DTYPE uint32)"
            db.execute(f"COPY (DOCS FROM c {clauses}) TO ? {options}", [str(tmp_path / "n.bin")])
            assert of_nanogpt(tmp_path / "n.bin", "<u4") == expected


def test_the_type_of_ids_is_that_of_the_vocabulary(tmp_path: Path) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="bytes")
        corpus.append(["ab", "c"])
        assert corpus.export(tmp_path / "x.bin", format="nanogpt", separator=EOD) == 2
        assert of_nanogpt(tmp_path / "x.bin", "<u2") == [[97, 98], [99]]
        corpus.export(tmp_path / "x.bin", format="nanogpt", separator=100_000)
        assert np.fromfile(tmp_path / "x.bin", "<u4").tolist() == [97, 98, 100_000, 99, 100_000]


def test_what_is_written_can_be_loaded(tmp_path: Path) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="tokens")
        corpus.append([[1, 2], [3], [2, 2]])
        for form, given in (("megatron", {}), ("nanogpt", {"separator": 9, "dtype": "uint32"})):
            corpus.export(tmp_path / f"{form}.bin", format=form, **given)
            again = db.create_corpus(form, tokenizer="tokens")
            options = {"separator": "9", "dtype": "uint32"} if given else {}
            assert again.load(tmp_path / f"{form}.bin", **options).documents == 3
            assert [again.document(i).ids.tolist() for i in range(3)] == [[1, 2], [3], [2, 2]]


def test_an_index_never_stands_beside_other_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the export ends in the middle, there are the old files, or ids without an index."""
    path = tmp_path / "x.bin"
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="tokens")
        corpus.append([[1, 2], [3]])
        corpus.export(path, format="megatron")
        corpus.append([[5]])
        with monkeypatch.context() as patched:
            patched.setattr(document_tokens, "piece_offsets", _failing)
            with pytest.raises(ExecutionError, match="No space left"):
                corpus.export(path, format="megatron")
        assert of_megatron(path)[0] == [[1, 2], [3]]
        with monkeypatch.context() as patched:
            patched.setattr(token_files.struct, "pack", _failing)
            with pytest.raises(ExecutionError, match="No space left"):
                corpus.export(path, format="megatron")
        assert [one.name for one in tmp_path.iterdir()] == ["x.bin"]
        corpus.export(path, format="megatron")
        assert of_megatron(path)[0] == [[1, 2], [3], [5]]
        assert sorted(one.name for one in tmp_path.iterdir()) == ["x.bin", "x.idx"]


def _failing(*_: Any) -> Any:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"format": "nanogpt"}, "need the id that ends a document"),
        (
            {"format": "megatron", "dtype": "uint16"},
            "the token id 70000 does not fit into ids of the type uint16",
        ),
        ({"format": "megatron", "dtype": "uint8"}, "are uint16 or int32, not uint8"),
        ({"format": "nanogpt", "separator": 70_000, "dtype": "uint16"}, "the separator 70000 does not fit"),
        ({"format": "nanogpt", "separator": -1}, "at least 0"),
        ({"format": "parquet", "separator": 1}, "separator is for the formats megatron and nanogpt"),
        ({"format": "jsonl", "dtype": "uint16"}, "dtype is for the formats megatron and nanogpt"),
    ],
)
def test_what_is_refused(tmp_path: Path, given: Any, message: str) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="tokens")
        corpus.append([[70_000]])
        with pytest.raises(InvalidArgument, match=message):
            corpus.export(tmp_path / "x.bin", **given)
        assert list(tmp_path.iterdir()) == []


def test_ids_of_a_corpus_alone_and_other_names_are_refused(tmp_path: Path) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="words")
        corpus.append(["a b"])
        with pytest.raises(InvalidArgument, match="'words', whose ids have no meaning elsewhere"):
            corpus.export(tmp_path / "x.bin", format="megatron")
        tokens = db.create_corpus("t", tokenizer="tokens")
        tokens.append([[1]])
        with pytest.raises(InvalidArgument, match=r"must end in \.bin"):
            tokens.export(tmp_path / "x", format="megatron")
        with pytest.raises(QueryError, match="whole documents"):
            db.execute(f"COPY (DOCS FROM t RETURNING doc_id) TO '{tmp_path}/x.bin' (FORMAT megatron)")
        assert list(tmp_path.iterdir()) == []
