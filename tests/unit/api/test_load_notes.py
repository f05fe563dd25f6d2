"""Notes of a load on files that it left out, read twice, lost, or did not resume."""

from __future__ import annotations

import gzip
import json
import os

import pytest

from ngramdb.cli.main import main


def lines(n: int, k: int = 0) -> str:
    return "".join(json.dumps({"text": f"text {k} {i}"}) + "\n" for i in range(n))


def noted(db, corpus, paths, **options):
    """The report of a load, whose notes are the same from the verb and, of one path, from the statement."""
    report = corpus.load(paths, **options)
    if not isinstance(paths, (str, os.PathLike)):  # COPY takes one
        return report
    db.create_corpus("other")
    skip = " ON ERROR SKIP" if options.pop("on_error", "fail") == "skip" else ""
    clause = f" ({', '.join(f'{name} {value!r}' for name, value in options.items())})" if options else ""
    result = db.execute(f"COPY other FROM '{paths}'{clause}{skip}")
    db.drop_corpus("other")
    assert "; ".join(report.notes) == "; ".join(result.notes)
    return report


def test_files_of_a_folder_that_are_left_out_are_named(db, tmp_path):
    corpus = db.create_corpus("c")
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.jsonl").write_text(lines(2))
    (folder / "deep" / "b.ndjson").write_text(lines(1))
    assert noted(db, corpus, folder).notes == ()
    for name in ("README.md", "deep/notes.txt", "x.json", "y.csv", ".hidden"):
        (folder / name).write_text("text")
    report = noted(db, corpus, folder)
    assert report.documents == 3
    assert "4 files" in report.notes[0] and "README.md" in report.notes[0] and "1 more" in report.notes[0]
    assert ".hidden" not in report.notes[0] and "jsonl" in report.notes[0]
    report = noted(db, corpus, folder, format="jsonl", limit=3)
    assert "3 files" in report.notes[0] and "x.json" not in report.notes[0]
    assert corpus.load(folder, format="text").notes == ()
    assert corpus.load([folder / "a.jsonl", str(folder / "*.md")]).notes == ()


def test_a_file_given_twice_is_loaded_twice_and_named(db, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = db.create_corpus("c")
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(lines(2))
    assert noted(db, corpus, ["a.jsonl", "b.jsonl"]).notes == ()
    os.symlink("a.jsonl", "link.jsonl")
    for paths in (["a.jsonl", "a.jsonl"], ["a.jsonl", "./a.jsonl"], ["a.jsonl", tmp_path / "a.jsonl"]):
        report = noted(db, corpus, paths)
        assert report.documents == 4
        assert report.notes == ("1 file was given more than once, and loaded as often: a.jsonl",)
    assert "1 file was given" in noted(db, corpus, ["a.jsonl", "link.jsonl"]).notes[0]
    assert "2 files were given" in noted(db, corpus, [".", "[ab].jsonl"]).notes[0]


@pytest.mark.parametrize("ending, options", [("jsonl", {}), ("txt", {"format": "lines"}), ("txt", {})])
def test_a_file_that_is_cut_short_is_not_one_document(db, tmp_path, monkeypatch, capsys, ending, options):
    monkeypatch.chdir(tmp_path)
    corpus = db.create_corpus("c")
    packed = gzip.compress("".join(lines(1, os.urandom(40).hex()) for _ in range(3000)).encode())
    (tmp_path / f"cut.{ending}.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "bad.jsonl").write_text('{"text": "x"}\n{"no": 1}\n')
    paths = [f"cut.{ending}.gz", "bad.jsonl"] if ending == "jsonl" else [f"cut.{ending}.gz"]
    report = noted(db, corpus, paths, on_error="skip", **options)
    assert report.skipped_files == 1 and report.skipped == len(paths)
    kept = corpus.n_documents - (ending == "jsonl")
    where = f"nothing from line {kept + 1:,} on is loaded" if kept else "none of it is loaded"
    assert report.reasons[0].endswith(where) and "cut short" in report.reasons[0]
    assert report.notes == (
        "1 file was not read, or not to the end: how many documents are missing is not known",
    )
    flags = ["--format", "lines"] if options else []
    assert main(["load", "db", "c", *paths, "--on-error", "skip", *flags]) == 0
    said = capsys.readouterr()
    documents = "1 document and " if ending == "jsonl" else ""
    assert f", {documents}all or the rest of 1 file skipped:\n" in said.out
    assert "note: 1 file was not read" in said.err


def test_a_limit_that_was_reached_is_not_the_end_of_the_files(db, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(lines(5))
    corpus = db.create_corpus("c")
    assert corpus.load(path, limit=3, resume=True).notes == ()
    (said,) = corpus.load(path, limit=3, resume=True).notes
    assert said.startswith("nothing was loaded: the limit of 3 documents counts from the load's beginning")
    assert f"it had reached 3 documents and line 3 of {path}" in said
    report = corpus.load(path, limit=4, resume=True)
    assert report.documents == 1 and "was resumed after 3 documents and line 3" in report.notes[0]
    assert corpus.load(path, resume=True).documents == 1
    (said,) = corpus.load(path, resume=True).notes
    assert said == "nothing was left to load after 5 documents and 1 whole file"
    assert corpus.n_documents == 5


def test_a_load_that_finds_no_record_of_the_one_before_says_so(db, tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(lines(2))
    corpus = db.create_corpus("c")
    assert corpus.load(tmp_path / "a.jsonl", resume=True).notes == ()
    assert corpus.load(tmp_path / "b.jsonl").notes == ()
    report = corpus.load(tmp_path / "b.jsonl", resume=True)
    assert report.documents == 2 and report.notes[0].startswith(
        "the corpus has no record of a load of these paths"
    )
    assert "nothing was left" in corpus.load(tmp_path / "b.jsonl", resume=True).notes[0]


@pytest.mark.parametrize("tokenizer", ["words", "bytes", "tokens"])
def test_a_file_that_was_loaded_before_is_noted(db, tmp_path, tokenizer):
    corpus = db.create_corpus("c", tokenizer=tokenizer)
    rows = [
        {"ids": list(range(k, k + 9))} if tokenizer == "tokens" else {"text": lines(1, k)} for k in range(40)
    ]
    for name, some in (("a", rows[:20]), ("b", rows[20:]), ("c", [*rows[:15], *rows[30:]])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    said = (
        "the first 16 documents are in the corpus already, word for word; if files were loaded twice, their "
        "documents count twice"
    )
    assert corpus.load(tmp_path / "a.jsonl").notes == ()
    assert corpus.load(tmp_path / "b.jsonl").notes == ()
    assert corpus.load(tmp_path / "a.jsonl").notes == (said,)
    assert db.execute(f"COPY c FROM '{tmp_path / 'b.jsonl'}' (COMMIT_EVERY 3)").summary["note"] == said
    assert corpus.load(tmp_path / "a.jsonl", limit=1).notes == () or tokenizer == "bytes"
    db.execute("DELETE DOCS FROM c WHERE length > 0")
    assert corpus.load(tmp_path / "a.jsonl").notes == ()
    assert corpus.load(tmp_path / "c.jsonl").notes == ()


def test_a_long_text_that_was_loaded_before_is_noted(db, tmp_path):
    corpus = db.create_corpus("c")
    (tmp_path / "a.txt").write_text(" ".join(f"w{k}" for k in range(5000)))
    assert corpus.load(tmp_path / "a.txt").notes == ()
    assert "the first document is in the corpus" in corpus.load(tmp_path / "a.txt").notes[0]


def test_places_are_in_the_units_of_the_format(db, tmp_path):
    record = "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 3\r\n\r\na b\r\n\r\n"
    (tmp_path / "a.warc").write_text(record * 2 + record[:-6])
    corpus = db.create_corpus("c")
    report = noted(db, corpus, tmp_path / "a.warc", on_error="skip")
    assert "record 3: " in report.reasons[0]
    assert report.reasons[0].endswith("nothing from record 3 on is loaded")
    (tmp_path / "b.warc").write_text(record * 3)
    (tmp_path / "b.csv").write_text("text\na\nb\nc\n")
    for name, unit in (("b.warc", "record"), ("b.csv", "row")):
        assert corpus.load(tmp_path / name, limit=2, resume=True).documents == 2
        (note,) = corpus.load(tmp_path / name, resume=True).notes
        assert f"resumed after 2 documents and {unit} 2 of" in note
