"""Corpora built in parts: equal to one load of all files, whoever builds, how often, in whatever order."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
from pathlib import Path

import pytest
from support.builds import answers, loaded, write_files, write_tables

import ngramdb
from ngramdb.engine.loading import parts
from ngramdb.errors import BindError, CorruptionError, InvalidArgument, LoadError, LockedError


@pytest.fixture
def files(tmp_path):
    return write_files(tmp_path / "files")


def build_all(out, files, n, order=None, **options):
    return [ngramdb.build(out, files, (part, n), **options) for part in order or range(n)]


def listing(out):
    return sorted(os.listdir(out))


@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("tokenizer", ["words", "words(lower, nfc)", "bytes"])
def test_the_parts_together_are_one_load(tmp_path, files, n, tokenizer):
    order = random.Random(n).sample(range(n), n)
    reports = build_all(tmp_path / "parts", files, n, order, tokenizer=tokenizer)
    assert sum(report.documents for report in reports) == 60
    with ngramdb.connect(tmp_path / "db") as db:
        report = db.commit_parts("c", tmp_path / "parts")
        assert (report.parts, report.documents, report.version) == (n, 60, db.version)
        assert report.tokens == db.corpus("c").n_tokens
        assert answers(db, "c") == loaded(files, tokenizer)
        assert db.execute("CHECK").fetchall() == []
        db.execute("COMPACT c")
        assert answers(db, "c") == loaded(files, tokenizer)


def test_a_tokenizer_json_is_taken_over_and_nothing_is_written_anew(tmp_path, files, subwords):
    build_all(tmp_path / "parts", files, 3, tokenizer=subwords)
    report = ngramdb.commit(tmp_path / "db", "c", tmp_path / "parts")
    shutil.rmtree(tmp_path / "parts")
    assert not any("anew" in note for note in report.notes)
    with ngramdb.connect(tmp_path / "db") as db:
        assert answers(db, "c") == loaded(files, subwords)
        assert db.execute("CHECK").fetchall() == []


def test_tables_and_lines_are_divided_too(tmp_path):
    tables = write_tables(tmp_path / "tables")
    build_all(tmp_path / "parts", tables, 2)
    ngramdb.commit(tmp_path / "db", "c", tmp_path / "parts")
    (tmp_path / "a.txt").write_text("".join(f"line {i}\n" for i in range(40)))
    build_all(tmp_path / "others", tmp_path / "a.txt", 4, format="lines")
    ngramdb.commit(tmp_path / "db", "lines", tmp_path / "others")
    with ngramdb.connect(tmp_path / "db") as db:
        questions = ("DOCS", 'COUNT "line"', "NGRAMS 2 TOP 100")
        assert answers(db, "c", questions) == loaded(tables, "words", questions)
        assert answers(db, "lines", questions) == loaded(
            tmp_path / "a.txt", "words", questions, format="lines"
        )


def test_groups_of_parts_have_the_integers_of_one_load(tmp_path):
    """An integer beside floats, and with a text elsewhere: whatever the part, it is an integer in files."""
    values = ["x", 1, 2.5, True, 1.0, 7, 7.0, [1, 2.5]]
    lines = "".join(json.dumps({"text": f"a {i}", "k": value}) + "\n" for i, value in enumerate(values * 5))
    (tmp_path / "a.jsonl").write_text(lines)
    build_all(tmp_path / "parts", tmp_path / "a.jsonl", 5)

    def files_of(db):
        contents = []
        for question in ("COUNT DOCS GROUP BY k", "COUNT DOCS GROUP BY UNNEST(k)"):
            for name in ("groups.csv", "groups.jsonl"):
                db.execute(f"COPY ({question} FROM c) TO '{tmp_path / name}'")
                contents.append((tmp_path / name).read_text())
        return contents

    with ngramdb.connect(tmp_path / "db") as db, ngramdb.connect() as other:
        db.commit_parts("c", tmp_path / "parts")
        other.create_corpus("c").load(tmp_path / "a.jsonl")
        expected = files_of(other)
        assert "\n1,10\n" in expected[0]
        assert files_of(db) == expected
        db.execute("COMPACT c")
        assert files_of(db) == expected


def test_parts_come_after_what_the_corpus_has(tmp_path, files):
    build_all(tmp_path / "parts", files, 4)
    with ngramdb.connect(tmp_path / "db") as db, ngramdb.connect() as other:
        for corpus in (db.create_corpus("c"), other.create_corpus("c")):
            corpus.append(["mat dog unheard", "of late"])
            corpus.delete('"late"')
        db.commit_parts("c", tmp_path / "parts")
        other.corpus("c").load(files)
        assert answers(db, "c") == answers(other, "c")
        assert db.execute("CHECK").fetchall() == []
        assert db.corpus("c").append(["one more"]).documents == 1


def test_a_part_that_is_there_is_left_as_it_is(tmp_path, files):
    out = tmp_path / "parts"
    first = ngramdb.build(out, files, "1/4")
    before = listing(out)
    again = ngramdb.build(out, files, (1, 4))
    assert again == first and listing(out) == before
    assert again.notes == ("part 1 of 4 was there already; nothing was built",)
    with pytest.raises(InvalidArgument, match="built differently: tokenizer 'words' and 'bytes'"):
        ngramdb.build(out, files, (1, 4), tokenizer="bytes")
    with pytest.raises(InvalidArgument, match="built differently: text None and 'kind'"):
        ngramdb.build(out, files, (1, 4), text="kind")
    (files / "f.jsonl").write_text('{"text": "new"}\n')
    with pytest.raises(InvalidArgument, match="built differently: the files have other names or sizes"):
        ngramdb.build(out, files, (1, 4))


def test_missing_parts_are_listed(tmp_path, files):
    assert ngramdb.missing(tmp_path / "parts", 3) == [0, 1, 2]
    ngramdb.build(tmp_path / "parts", files, (1, 3))
    ngramdb.build(tmp_path / "others", files, (0, 3))
    assert ngramdb.missing(tmp_path / "parts", 3) == [0, 2]
    assert ngramdb.missing(tmp_path / "parts", 5) == [0, 1, 2, 3, 4]
    assert ngramdb.missing([tmp_path / "parts", tmp_path / "others"], 3) == [2]
    with pytest.raises(InvalidArgument, match="2 of 3 parts are missing \\(0, 2\\)"):
        ngramdb.commit(tmp_path / "db", "c", tmp_path / "parts")
    assert not (tmp_path / "db").exists()


def test_parts_may_lie_in_several_folders_but_only_once(tmp_path, files):
    for part, out in enumerate("aba"):
        ngramdb.build(tmp_path / out, files, (part, 3))
    folders = [tmp_path / "a", tmp_path / "b"]
    ngramdb.build(tmp_path / "b", files, (0, 3))
    with pytest.raises(InvalidArgument, match="part 0 of 3 exists twice"):
        ngramdb.commit(tmp_path / "db", "c", folders)
    (tmp_path / "b" / "part-00000-of-00003.json").unlink()
    assert ngramdb.commit(tmp_path / "db", "c", [*folders, tmp_path / "a"]).documents == 60


def test_parts_of_different_builds_are_refused(tmp_path, files):
    out = tmp_path / "parts"
    ngramdb.build(out, files, (0, 2))
    with pytest.raises(InvalidArgument, match="contains parts of 2 and of 3"):
        ngramdb.build(out, files, (0, 3))
        ngramdb.commit(tmp_path / "db", "c", out)
    (out / "part-00000-of-00003.json").unlink()
    ngramdb.build(tmp_path / "others", files, (1, 2), metadata=["n"])
    with pytest.raises(InvalidArgument, match="different builds: metadata None and \\['n'\\]"):
        ngramdb.commit(tmp_path / "db", "c", [out, tmp_path / "others"])


def test_parts_are_committed_once(tmp_path, files):
    build_all(tmp_path / "parts", files, 2)
    with ngramdb.connect(tmp_path / "db") as db:
        db.commit_parts("c", tmp_path / "parts")
        version = db.version
        with pytest.raises(InvalidArgument, match="in the corpus c already"):
            db.commit_parts("c", tmp_path / "parts")
        db.corpus("c").compact()
        with pytest.raises(InvalidArgument, match="in the corpus c already"):
            db.commit_parts("c", tmp_path / "parts")
        assert db.version == version + 1 and db.corpus("c").n_documents == 60
        assert db.commit_parts("another", tmp_path / "parts").documents == 60


def test_of_two_committers_one_wins_and_the_other_is_told(tmp_path, files):
    build_all(tmp_path / "parts", files, 3)
    ngramdb.connect(tmp_path / "db").close()
    said = []

    def work():
        try:
            ngramdb.commit(tmp_path / "db", "c", tmp_path / "parts")
            said.append("done")
        except (LockedError, InvalidArgument) as error:
            said.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said.count("done") == 1
    assert all(one == "done" or "already" in one or "is being written by" in one for one in said)
    with ngramdb.connect(tmp_path / "db") as db:
        assert db.corpus("c").n_documents == 60


def test_workers_that_build_the_same_part_at_once_leave_one(tmp_path, files):
    reports = []
    work = [
        threading.Thread(target=lambda: reports.append(ngramdb.build(tmp_path / "parts", files, (0, 1))))
        for _ in range(3)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert len(reports) == 3 and len({report.folder for report in reports}) == 1
    assert listing(tmp_path / "parts") == sorted(["part-00000-of-00001.json", reports[0].folder])


def test_a_worker_that_fails_leaves_nothing(tmp_path, files):
    (files / "f.jsonl").write_text("no json\n")
    with pytest.raises(LoadError, match=r"f\.jsonl, line 1"):
        ngramdb.build(tmp_path / "parts", files, (0, 1))
    assert listing(tmp_path / "parts") == []
    report = ngramdb.build(tmp_path / "parts", files, (0, 1), on_error="skip")
    assert (report.documents, report.skipped) == (60, 1) and "f.jsonl, line 1" in report.reasons[0]
    (note,) = ngramdb.commit(tmp_path / "db", "c", tmp_path / "parts").notes[:1]
    assert note.startswith("1 documents or files were skipped") and "f.jsonl" in note


def test_a_damaged_file_is_skipped_as_by_one_load(tmp_path, files):
    (files / "f.jsonl.gz").write_bytes(b"\x1f\x8b not gzip, though it begins so")
    build_all(tmp_path / "parts", files, 5, on_error="skip")
    ngramdb.commit(tmp_path / "db", "c", tmp_path / "parts")
    with ngramdb.connect(tmp_path / "db") as db:
        assert answers(db, "c") == loaded(files, on_error="skip")


def test_leftovers_go_with_the_next_worker_and_with_the_commit(tmp_path, files):
    out = tmp_path / "parts"
    ngramdb.build(out, files, (0, 2))
    kept = listing(out)
    for stem in ("part-00000-of-00002", "part-00001-of-00002"):
        run = f"{stem}.0123456789abcdef"
        ngramdb.connect(out / f"{run}.ngdb").close()
        (out / f"{run}.lock").write_text("1 somewhere\n")
        (out / f"{run}.tmp").write_text("{")
    (out / "notes.txt").write_text("not ours")
    ngramdb.build(out, files, (1, 2))
    assert not any(name.startswith("part-00001-of-00002.0123") for name in listing(out))
    assert any(name.startswith("part-00000-of-00002.0123") for name in listing(out))
    ngramdb.commit(tmp_path / "db", "c", out)
    left = [name for name in listing(out) if not name.startswith("part-00001")]
    assert left == sorted([*kept, "notes.txt"])


def test_leftovers_of_a_worker_that_lives_stay(tmp_path, files):
    out = tmp_path / "parts"
    out.mkdir()
    with parts.running(str(out), "part-00000-of-00002", "0123456789abcdef") as path:
        ngramdb.connect(path).close()
        assert parts.remove_leftovers(str(out)) == 0 and os.path.exists(path)
    assert listing(out) == []


def test_a_part_that_was_changed_since_is_refused(tmp_path, files):
    build_all(tmp_path / "parts", files, 2)
    report = ngramdb.build(tmp_path / "parts", files, (1, 2))
    with ngramdb.connect(report.database_path) as db:
        db.corpus("part").delete("doc_id = 0")
    with pytest.raises(CorruptionError, match="not what the report of part 1 of 2 describes"):
        ngramdb.commit(tmp_path / "db", "c", tmp_path / "parts")
    with ngramdb.connect(tmp_path / "db") as db:
        assert db.corpora() == []
    assert os.listdir(tmp_path / "db" / "segments") == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda value: value.clear(),
        lambda value: value.update(report=2),
        lambda value: value.update(folder="../elsewhere.ngdb"),
        lambda value: value.update(part=1),
        lambda value: value.update(documents=-1),
        lambda value: value.update(documents="many"),
        lambda value: value.update(inputs=[{}]),
        lambda value: value.update(inputs=5),
        lambda value: value.update(build={}),
        lambda value: value.update(surplus=1),
    ],
)
def test_a_damaged_report_is_an_error_that_names_it(tmp_path, files, damage):
    report = ngramdb.build(tmp_path / "parts", files, (0, 1))
    value = json.loads(Path(report.path).read_text())
    damage(value)
    Path(report.path).write_text(json.dumps(value))
    with pytest.raises(
        CorruptionError, match=r"part-00000-of-00001\.json: .*report.*; remove it and build the part again"
    ):
        ngramdb.commit(tmp_path / "db", "c", tmp_path / "parts")
    with pytest.raises(CorruptionError):
        ngramdb.missing(tmp_path / "parts", 1)


def test_inputs_must_be_complete_and_disjoint(tmp_path, files):
    reports = build_all(tmp_path / "parts", files, 4)
    path = next(report.path for report in reports[1:] if report.inputs)
    value = json.loads(Path(path).read_text())
    value["inputs"][0]["start"] += 1
    Path(path).write_text(json.dumps(value))
    with pytest.raises(InvalidArgument, match="the files have changed while parts were built"):
        ngramdb.commit(tmp_path / "db", "c", tmp_path / "parts")


def test_a_report_says_what_was_read(tmp_path, files):
    reports = build_all(tmp_path / "parts", files, 3)
    value = json.loads(Path(reports[0].path).read_text())
    assert (value["report"], value["part"], value["of"], value["build"]["n_files"]) == (1, 0, 3, 5)
    assert value["build"]["ngramdb"] == ngramdb.__version__ and value["inputs"][0]["sha256"]
    inputs = [one for report in reports for one in report.inputs]
    assert sum(one.stop - one.start for one in inputs) == sum(path.stat().st_size for path in files.iterdir())


def test_a_file_that_is_written_to_meanwhile_is_an_error(tmp_path, files):
    def write(progress):
        with open(files / "a.jsonl", "a") as file:
            file.write("\n")

    with pytest.raises(LoadError, match=r"a\.jsonl: was written to while it was read"):
        ngramdb.build(tmp_path / "parts", files, (0, 1), progress=write)
    assert listing(tmp_path / "parts") == []


def test_parts_on_either_side_of_a_change_of_the_files_are_refused(tmp_path, files):
    n_bytes = sum(path.stat().st_size for path in files.iterdir())

    def write(progress):
        (files / "f.jsonl").write_text('{"text": "late"}\n')
        with open(files / "e.jsonl", "a") as file:
            file.write("\n")

    first = ngramdb.build(tmp_path / "parts", files, (0, 9), progress=write)
    assert first.build["n_bytes"] == n_bytes
    for part in range(1, 9):
        ngramdb.build(tmp_path / "parts", files, (part, 9))
    with pytest.raises(InvalidArgument, match="different builds: the files have other names or sizes"):
        ngramdb.commit(tmp_path / "db", "c", tmp_path / "parts")


@pytest.mark.parametrize("shard", ["3/3", "-1/3", "a/b", "3", (1,), (1, 0), 5, (0, 100_000)])
def test_shards_that_are_none_are_refused(tmp_path, files, shard):
    with pytest.raises(InvalidArgument, match=r"shard|number of parts"):
        ngramdb.build(tmp_path / "parts", files, shard)
    assert not (tmp_path / "parts").exists()


@pytest.mark.parametrize("option", ["limit", "commit_every", "resume", "nonsense"])
def test_options_of_one_load_are_refused(tmp_path, files, option):
    with pytest.raises(InvalidArgument, match=option):
        ngramdb.build(tmp_path / "parts", files, (0, 1), **{option: 1})


def test_a_corpus_with_another_tokenizer_takes_no_parts(tmp_path, files):
    build_all(tmp_path / "parts", files, 2)
    with ngramdb.connect(tmp_path / "db") as db:
        db.create_corpus("c", tokenizer="bytes")
        with pytest.raises(BindError, match="c and part 0 of 2 have different tokenizers"):
            db.commit_parts("c", tmp_path / "parts")
        assert db.corpus("c").n_documents == 0


def test_a_database_is_no_folder_of_parts(tmp_path, files):
    ngramdb.connect(tmp_path / "db").close()
    for call in (
        lambda: ngramdb.build(tmp_path / "db", files, (0, 1)),
        lambda: ngramdb.missing(tmp_path / "db", 1),
        lambda: ngramdb.commit(tmp_path / "other", "c", tmp_path / "db"),
    ):
        with pytest.raises(InvalidArgument, match="is a database"):
            call()
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidArgument, match="no parts found"):
        ngramdb.commit(tmp_path / "other", "c", tmp_path / "empty")


def test_the_parts_files_are_linked_not_copied(tmp_path, files):
    (report,) = build_all(tmp_path / "parts", files, 1)
    ngramdb.commit(tmp_path / "db", "c", tmp_path / "parts")
    (segment,) = (tmp_path / "db" / "segments").iterdir()
    assert segment.stat().st_nlink == 2
    (original,) = os.listdir(f"{report.database_path}/segments")
    assert os.path.samefile(segment, f"{report.database_path}/segments/{original}")
