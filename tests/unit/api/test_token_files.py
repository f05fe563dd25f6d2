"""Files of token ids, written by the layouts of OLMo, Megatron, datatrove, nanoGPT and llm.c."""

from __future__ import annotations

import csv
import gzip
import io
import struct

import numpy as np
import pytest

from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.readers import token_files

EOS = 9
DOCUMENTS = [[1, 2, 3], [4], [], [5, 1, 2], [300, 65535]] * 7


def flat(documents, dtype, end=()):
    return np.array([token for one in documents for token in (*one, *end)], dtype)


def ends_of(documents):
    return np.cumsum([len(one) for one in documents])


def olmo(path, dtype):
    flat(DOCUMENTS, dtype, [EOS]).tofile(path / "part-0.npy")
    ends = ends_of([[*one, EOS] for one in DOCUMENTS])
    rows = [
        f"{end - len(one) - 1},{end},doc-{k},s3://src/{k % 3}.gz,{k}"
        for k, (one, end) in enumerate(zip(DOCUMENTS, ends, strict=True))
    ]
    (path / "part-0.csv.gz").write_bytes(gzip.compress("\n".join([*rows, ""]).encode()))
    return path / "part-0.npy", {"dtype": np.dtype(dtype).name, "separator": str(EOS)}


def megatron(path, dtype):
    code = {"uint16": 8, "int32": 4, "int64": 5, "uint32": 4}[np.dtype(dtype).name]
    written = {8: "<u2", 4: "<i4", 5: "<i8"}[code]
    # A document of several sequences now and then.
    sequences = [part for one in DOCUMENTS for part in ([one[:1], one[1:]] if len(one) == 3 else [one])]
    firsts = np.cumsum([0, *(2 if len(one) == 3 else 1 for one in DOCUMENTS)])
    flat(sequences, written).tofile(path / "x_text_document.bin")
    lengths = np.array([len(one) for one in sequences], "<i4")
    offsets = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype("<i8") * np.dtype(written).itemsize
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(sequences), len(firsts))
    content = head + lengths.tobytes() + offsets.tobytes() + firsts.astype("<i8").tobytes()
    (path / "x_text_document.idx").write_bytes(content)
    return path / "x_text_document.bin", {}


def datatrove(path, dtype):
    flat(DOCUMENTS, dtype, [EOS]).tofile(path / "0.ds")
    ends_of([[*one, EOS] for one in DOCUMENTS]).astype("<u8").tofile(path / "0.ds.index")
    (path / "0.ds.metadata").write_text(f"gpt2|{np.dtype(dtype).itemsize}\n72\n72 T")
    return path / "0.ds", {"separator": str(EOS)}


def nanogpt(path, dtype):
    flat(DOCUMENTS, dtype, [EOS]).tofile(path / "train.bin")
    return path / "train.bin", {"dtype": np.dtype(dtype).name, "separator": str(EOS)}


def numpy_array(path, dtype):
    np.save(path / "a.npy", flat(DOCUMENTS, dtype, [EOS]))
    return path / "a.npy", {"separator": str(EOS)}


def llm_c(path, dtype):
    tokens = np.array([token for one in DOCUMENTS for token in (EOS, *one)], dtype)
    header = np.zeros(256, "<i4")
    header[:3] = (20240520, 1, len(tokens)) if tokens.itemsize == 2 else (20240801, 7, len(tokens))
    (path / "shard.bin").write_bytes(header.tobytes() + tokens.tobytes())
    return path / "shard.bin", {"separator": str(EOS)}


WRITERS = [olmo, megatron, datatrove, nanogpt, numpy_array, llm_c]


def ids_of(corpus):
    view = corpus._bound.current()
    return [segment.document(i).tolist() for segment in view.segments for i in range(segment.n_documents)]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
@pytest.mark.parametrize("chunk", [2, 1 << 14])
def test_documents_come_as_they_were_written(db, tmp_path, monkeypatch, writer, dtype, chunk):
    monkeypatch.setattr(token_files, "CHUNK_DOCUMENTS", chunk)
    monkeypatch.setattr(token_files, "CHUNK_TOKENS", chunk)
    path, options = writer(tmp_path, dtype)
    corpus = db.create_corpus("c", tokenizer="tokens")
    report = corpus.load(path, **options)
    assert ids_of(corpus) == DOCUMENTS and report.tokens == sum(map(len, DOCUMENTS))
    if writer is olmo:
        rows = corpus.docs().to_dicts()
        assert [(row["id"], row["src"], row["loc"]) for row in rows[:2]] == [
            ("doc-0", "s3://src/0.gz", 0),
            ("doc-1", "s3://src/1.gz", 1),
        ]
    # As a folder, the files beside them left aside.
    report = db.create_corpus("f", tokenizer="tokens").load(tmp_path, **options)
    assert (report.documents, report.notes) == (len(DOCUMENTS), ())
    (tmp_path / "other.metadata").write_text("of none of them")
    report = db.create_corpus("other", tokenizer="tokens").load(tmp_path, **options)
    assert len(report.notes) == 1 and "1 file was left out" in report.notes[0]
    assert "other.metadata" in report.notes[0]
    if writer in (olmo, megatron, datatrove):
        options.pop("separator", None)
        kept = db.create_corpus("kept", tokenizer="tokens")
        kept.load(path, **options)
        assert ids_of(kept)[0] == ([1, 2, 3] if writer is megatron else [1, 2, 3, EOS])


@pytest.mark.parametrize(
    "names", [['a, "b" and c', "x,y.gz"], ["two\nlines, one", "x.gz"], ["", ""], ["7", "12"]]
)
def test_names_of_dolma_come_as_they_were_written(db, tmp_path, names):
    path, options = olmo(tmp_path, "uint16")
    content = io.StringIO(newline="")
    ends = ends_of([[*one, EOS] for one in DOCUMENTS])
    for one, end in zip(DOCUMENTS, ends, strict=True):
        csv.writer(content).writerow([end - len(one) - 1, end, *names, 3])
    (tmp_path / "part-0.csv.gz").write_bytes(gzip.compress(content.getvalue().encode()))
    corpus = db.create_corpus("c", tokenizer="tokens")
    corpus.load(path, **options)
    assert ids_of(corpus) == DOCUMENTS
    rows = {(row["id"], row["src"], row["loc"]) for row in corpus.docs().to_dicts()}
    assert rows == {(*names, 3)}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_load_goes_on_where_it_stopped(db, tmp_path, writer):
    path, options = writer(tmp_path, "uint16")
    corpus = db.create_corpus("c", tokenizer="tokens")
    for n in range(4, 40, 4):
        corpus.load(path, commit_every=4, limit=n, resume=True, **options)
    assert ids_of(corpus) == DOCUMENTS


@pytest.mark.parametrize("writer", WRITERS)
def test_what_was_cut_short_is_an_error(db, tmp_path, writer):
    path, options = writer(tmp_path, "uint16")
    corpus = db.create_corpus("c", tokenizer="tokens")
    for file in tmp_path.iterdir():
        whole = file.read_bytes()
        if file.name.endswith(".metadata"):
            continue
        for n in (0, 1, len(whole) // 2 + 1, len(whole) - 1):
            file.write_bytes(whole[:n])
            with pytest.raises(LoadError, match=tmp_path.name):
                corpus.load(path, **options)
        file.write_bytes(whole)
    assert corpus.n_documents == 0
    assert corpus.load(path, **options).documents == len(DOCUMENTS)


def test_ids_beyond_the_vocabulary_are_named_and_skipped(db, tmp_path):
    path, options = nanogpt(tmp_path, "uint16")
    few = db.create_corpus("few", tokenizer="bytes")
    with pytest.raises(LoadError, match=r"train\.bin, document 5: .*token id 300 is not below the vocab"):
        few.load(path, **options)
    report = few.load(path, on_error="skip", **options)
    assert (report.documents, report.skipped) == (28, 7)


def test_what_a_file_does_not_say_is_asked_for(db, tmp_path):
    path, _ = nanogpt(tmp_path, "uint16")
    corpus = db.create_corpus("c", tokenizer="tokens")
    with pytest.raises(LoadError, match="give DTYPE"):
        corpus.load(path, separator="9")
    with pytest.raises(LoadError, match="as SEPARATOR"):
        corpus.load(path, dtype="uint16")
    with pytest.raises(LoadError, match="SEPARATOR must be an id, not '---'"):
        corpus.load(path, dtype="uint16", separator="---")
    with pytest.raises(InvalidArgument, match="dtype must be one of uint8, uint16"):
        corpus.load(path, dtype="float32", separator="9")
    np.save(tmp_path / "f.npy", np.zeros((2, 2)))
    with pytest.raises(LoadError, match=r"f\.npy: is an array of shape \(2, 2\) and type float64"):
        corpus.load(tmp_path / "f.npy", separator="9")


@pytest.mark.parametrize("writer", [megatron, datatrove, numpy_array, llm_c])
def test_a_type_that_the_file_contradicts_is_refused(db, tmp_path, writer):
    path, options = writer(tmp_path, "uint16")
    corpus = db.create_corpus("c", tokenizer="tokens")
    for dtype in ("uint8", "uint32", "int64"):
        with pytest.raises(LoadError, match=rf"{path.name}: its ids .* not {dtype}; leave DTYPE out"):
            corpus.load(path, **options, dtype=dtype)
    assert corpus.n_documents == 0
    assert corpus.load(path, **options, dtype="uint16").documents == len(DOCUMENTS)


def test_dolma_arrays_may_have_a_header(db, tmp_path):
    path, options = olmo(tmp_path, "uint16")
    np.save(path, np.fromfile(path, "uint16"))
    corpus = db.create_corpus("c", tokenizer="tokens")
    corpus.load(path, separator=options["separator"])
    assert ids_of(corpus) == DOCUMENTS
    with pytest.raises(LoadError, match="its ids are uint16 by its header, and not uint32"):
        corpus.load(path, dtype="uint32")


@pytest.mark.parametrize(
    ("tokens", "documents"),
    [
        ([9, 1, 2, 9, 3], [[1, 2], [3]]),
        ([1, 2, 9, 3, 9], [[1, 2], [3]]),
        ([9, 9, 1, 9, 9, 2, 9, 9], [[], [1], [], [2], []]),
        ([9], []),
        ([1], [[1]]),
    ],
)
@pytest.mark.parametrize("chunk", [2, 1 << 20])
def test_an_id_between_documents_may_stand_before_or_after_each(
    db, tmp_path, monkeypatch, tokens, documents, chunk
):
    monkeypatch.setattr(token_files, "CHUNK_TOKENS", chunk)
    np.array(tokens, np.uint16).tofile(tmp_path / "a.bin")
    corpus = db.create_corpus("c", tokenizer="tokens")
    report = corpus.load(tmp_path / "a.bin", separator="9", dtype="uint16")
    assert ids_of(corpus) == documents
    note = f"{tmp_path / 'a.bin'} does not contain 9, the SEPARATOR: it is one document"
    assert report.notes == (() if 9 in tokens else (note,))


def test_a_separator_that_is_no_id_of_the_file_is_refused(db, tmp_path):
    path, _ = nanogpt(tmp_path, "uint16")
    corpus = db.create_corpus("c", tokenizer="tokens")
    with pytest.raises(LoadError, match=r"its ids are uint16, too narrow for SEPARATOR 65536"):
        corpus.load(path, dtype="uint16", separator="65536")
