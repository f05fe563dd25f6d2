"""No option of a load is ignored in silence: it has an effect on files of a format, or is refused there."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pyarrow
import pytest
from pyarrow import feather, parquet

import ngramdb
from ngramdb.api.verbs.evaluation import documents_of_files
from ngramdb.cli.main import main
from ngramdb.errors import InvalidArgument, LoadError, NgramdbError
from ngramdb.formats import OF_SOME, READ, REGISTRY
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import expand
from ngramdb.ingest.work_splitting import has_lines
from ngramdb.planner.parameters import LOAD_OPTIONS

ROWS = [{"text": "a b", "ids": [1, 2], "other": "c", "year": 1}, {"text": "c d", "ids": [3], "other": "e"}]
TABLE = pyarrow.Table.from_pylist(ROWS)
DELIMITED = 'text,other,year\na b,"c",1\nc d,e,\n'
PLAIN = "a b\n---\nc d\n"
RECORD = (
    "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: https://a.example\r\nContent-Length: 3\r\n\r\n"
    "a b\r\n\r\n"
)
CONTENTS = {
    "jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    "text": PLAIN,
    "lines": PLAIN,
    "csv": DELIMITED,
    "tsv": DELIMITED.replace(",", "\t"),
    "vrt": '<text id="1">\na\nb\n</text>\n<text id="2">\nc\n</text>\n',
    "warc": RECORD * 2,
}
# A value of each option that would make a difference wherever the option has one.
VALUES = {
    "format": "lines",
    "text": "other",
    "ids": "ids",
    "metadata": (),
    "limit": 1,
    "separator": "---",
    "dtype": "uint8",
    "quotes": False,
    "max_document_bytes": 2,
    "commit_every": 1,
    "resume": True,
    "key": "missing",
    "on_conflict": "skip",
}


def written(folder, name):
    """A file of two documents, and what is needed to load it."""
    path = folder / f"file.{name}"
    if name == "tokens":
        path = folder / "file.npy"
        np.array([1, 2, 9, 3, 9], np.uint16).tofile(path)
        (folder / "file.csv.gz").write_bytes(gzip.compress(b"0,3,a,s,0\n3,5,b,s,1\n"))
        return path, {"dtype": "uint16", "format": "tokens"}
    if name == "parquet":
        parquet.write_table(TABLE, path)
    elif name == "arrow":
        feather.write_feather(TABLE, str(path))
    else:
        path.write_text(CONTENTS[name], newline="")
    return path, {"format": name, "separator": "---"} if name == "text" else {"format": name}


def outcome(path, name, options, n_loads):
    """The documents and versions that loads make, or their error."""
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="tokens" if name == "tokens" else "words")
        try:
            reports = [corpus.load(path, **options) for _ in range(n_loads)]
        except NgramdbError as error:
            return error
        return corpus.docs().to_dicts(), reports[-1].version


def test_each_option_and_each_format_is_tried():
    assert VALUES.keys() == LOAD_OPTIONS.keys()
    assert OF_SOME.keys() <= LOAD_OPTIONS.keys()
    assert {name for one in REGISTRY for name in one.options} == OF_SOME.keys()


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("option", VALUES)
def test_an_option_has_an_effect_or_is_refused(tmp_path, name, option):
    path, needed = written(tmp_path, name)
    value = VALUES[option]
    if (name, option) == ("tokens", "separator"):
        value = "9"
    elif (name, option) == ("text", "separator"):
        value = "c d"
    elif (name, option) == ("lines", "format"):
        value = "text"
    n_loads = 2 if option == "resume" else 1
    without = outcome(path, name, needed, n_loads)
    assert not isinstance(without, NgramdbError)
    found = outcome(path, name, {**needed, option: value}, n_loads)
    takes = option not in OF_SOME or option in next(one for one in REGISTRY if one.name == name).options
    if takes:
        assert str(found) != str(without)
    else:
        assert isinstance(found, InvalidArgument)
        message = str(found)  # of a folder, one of its files is named
        assert str(path) in message and " is read as " in message
        assert f"; {option} applies to the formats " in message


@pytest.mark.parametrize("name", READ)
def test_reading_goes_on_after_each_document(tmp_path, name):
    path, needed = written(tmp_path, name)
    options = ReadOptions(separator=needed.get("separator"), dtype=needed.get("dtype"))
    sources = expand(path, needed["format"])
    given = [[one.line for one in read_documents([source], options)] for source in sources]
    assert sum(map(len, given)) >= 2
    for source, numbers in zip(sources, given, strict=True):
        if numbers == [None]:  # a file that is one document: a load continues after it
            continue
        assert numbers == sorted(set(numbers)) and has_lines(source, numbers[-1])
        for k, number in enumerate(numbers):
            left = read_documents([replace(source, after_line=number)], options)
            assert [one.line for one in left] == numbers[k + 1 :]


def test_of_files_of_several_formats_one_needs_to_take_an_option(db, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"body": "x"}\n')
    (tmp_path / "b.txt").write_text("y\n")
    corpus = db.create_corpus("c")
    assert corpus.load([tmp_path / "b.txt", tmp_path / "a.jsonl"], text="body").documents == 2
    with pytest.raises(
        InvalidArgument, match=r"b\.txt is read as text, which has no field that holds the te"
    ):
        corpus.load(tmp_path / "b.txt", text="body")
    with pytest.raises(InvalidArgument, match="text applies to the formats jsonl, parquet"):
        documents_of_files([str(tmp_path / "b.txt")], text="body")
    with pytest.raises(InvalidArgument, match="dtype applies to files"):
        corpus.load(TABLE, dtype="uint16")


@pytest.mark.parametrize("name", READ)
def test_a_field_that_no_document_has_is_named(tmp_path, name):
    path, needed = written(tmp_path, name)
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="tokens" if name == "tokens" else "words")
        if name in ("parquet", "arrow", "csv", "tsv"):
            with pytest.raises(
                LoadError, match=r"no column 'yaer' \(did you mean 'year'\?\); the columns are"
            ):
                corpus.load(path, metadata=["yaer"], **needed)
            files = [path, path]
        else:
            files = [path]
        known = {"text": "path", "lines": "line", "tokens": "id", "vrt": "id", "warc": "url"}.get(
            name, "year"
        )
        report = corpus.load(files, metadata=["yaer", known], **needed)
        said = [note for note in report.notes if "more than once" not in note]
        assert len(said) == (2 if name == "vrt" else 1)  # of vertical text one is on what is not loaded
        assert said[0].startswith("no loaded document has the metadata field 'yaer'")
        report = corpus.load(files, metadata=[known], **needed)
        assert not [note for note in report.notes if "has the metadata field" in note]


def test_the_note_on_a_field_comes_through_all_faces(db, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"text": "x", "m": {"n": 1}}\n{"text": "y", "year": 1}\n')
    said = "no loaded document has the metadata field 'yaer'; the fields of the first are 'text', 'm.n'"
    corpus = db.create_corpus("c")
    assert corpus.load("a.jsonl", metadata=["yaer", "year", "m.n", "m", "text"]).notes == (said,)
    assert said in db.execute("COPY c FROM 'a.jsonl' (METADATA ('yaer'))").notes
    assert main(["load", "db", "c", "a.jsonl", "--metadata", "yaer"]) == 0
    assert f"note: {said}\n" in capsys.readouterr().err
    assert ngramdb.build("parts", "a.jsonl", (0, 1), metadata=["yaer"]).notes == (said,)
    assert corpus.load("a.jsonl", metadata=["yaer"], limit=0).notes == ()
    many = corpus.load("a.jsonl", metadata=[f"no{k}" for k in range(9)]).notes
    assert len(many) == 4 and many[-1] == "6 more metadata fields are in no loaded document"


def test_of_several_tables_one_needs_to_have_a_column(db, tmp_path):
    for k, table in enumerate((TABLE, TABLE.drop_columns(["year"]))):
        parquet.write_table(table, tmp_path / f"{k}.parquet")
    corpus = db.create_corpus("c")
    assert corpus.load(tmp_path, metadata=["year"]).notes == ()
    assert corpus.docs().to_dicts()[0]["year"] == 1
    with pytest.raises(LoadError, match=r"1\.parquet: no column 'year'; the columns are 'text'"):
        corpus.load(tmp_path / "1.parquet", metadata=["year"])
    with pytest.raises(InvalidArgument, match="no column 'nope'"):
        corpus.load(TABLE, metadata=["nope"])


@pytest.mark.parametrize("name", ["jsonl", "lines", "csv", "tsv", "vrt", "warc", "parquet", "arrow"])
def test_the_limit_on_documents_is_one_on_their_texts(tmp_path, name):
    """Other fields of a line and the markup around a text do not count."""
    path, needed = written(tmp_path, name)
    for on_error in ("fail", "skip"):
        with ngramdb.connect() as db:
            corpus = db.create_corpus("c")
            report = corpus.load(path, **needed, max_document_bytes=3, on_error=on_error)
            assert report.documents >= 2 and not report.skipped
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        with pytest.raises(ngramdb.ResourceError, match=r"(line|row|record) [12]: longer than 2 bytes"):
            corpus.load(path, **needed, max_document_bytes=2)
        report = corpus.load(path, **needed, max_document_bytes=2, on_error="skip")
        assert report.skipped >= 1 and "longer than 2 bytes" in report.reasons[0]
