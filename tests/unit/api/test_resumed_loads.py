"""Loads that commit repeatedly, stop, and resume load every document once, wherever they stopped."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import subprocess
import sys
import zlib
from dataclasses import replace

import pytest

import ngramdb
from ngramdb.errors import InvalidArgument, LoadError

N_FILES = 5


@pytest.fixture
def files(tmp_path):
    """Files of every format: JSON lines, compressed, text in one piece, an empty one, JSON lines with blank
    lines.
    """
    folder = tmp_path / "files"
    folder.mkdir()
    lines = [
        [json.dumps({"text": f"document {k} {i}", "n": i}) for i in range(n)]
        for k, n in enumerate((7, 4, 0, 6, 1))
    ]
    (folder / "a.jsonl").write_text("\n".join(lines[0]) + "\n")
    with gzip.open(folder / "b.jsonl.gz", "wt") as file:
        file.write("\n".join(lines[1]))
    (folder / "c.jsonl").write_text("")
    (folder / "d.jsonl").write_text("\ufeff" + "\n\n".join(lines[3]) + "\n\n")
    (folder / "e.jsonl").write_text(lines[4][0])
    return folder


def texts(corpus) -> list[str]:
    view = corpus._bound.current()
    kept = [(segment, i) for segment in view.segments for i in range(segment.n_documents)]
    return [segment.text(i, view.tokenizer).decode() for segment, i in kept]


def all_texts(folder, **options) -> list[str]:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.load(folder, **options)
        return texts(corpus)


class Stop(Exception):
    """Ends a load from its progress callback."""


def stopper(n_reports: int):
    left = [n_reports]

    def stop(progress):
        left[0] -= 1
        if left[0] < 0:
            raise Stop

    return stop


@pytest.mark.parametrize("every", [1, 2, 3, 5, 18, 100])
def test_a_load_in_parts_is_the_load_at_once(db, files, every):
    corpus = db.create_corpus("c")
    before = db.version
    report = corpus.load(files, commit_every=every)
    assert texts(corpus) == all_texts(files) and report.documents == 18
    assert report.tokens == corpus.n_tokens and report.version == db.version
    assert db.version - before == -(-18 // every)
    assert db.execute("CHECK").fetchall() == []


@pytest.mark.parametrize("seed", range(12))
def test_a_load_that_is_stopped_again_and_again_has_every_document_once(db, files, seed):
    rng = random.Random(seed)
    corpus = db.create_corpus("c")
    ended, added = False, 0
    for _ in range(60):
        before = corpus.n_documents
        try:
            corpus.load(
                files, commit_every=rng.choice([1, 2, 3, 7]), resume=True, progress=stopper(rng.randrange(12))
            )
            ended = True
        except Stop:
            pass
        added += corpus.n_documents - before
        assert texts(corpus) == all_texts(files)[: corpus.n_documents]
        if ended:
            break
    assert ended and added == 18
    report = corpus.load(files, resume=True)
    assert report.documents == 0 and corpus.n_documents == 18
    assert "nothing was left to load" in report.notes[0]


@pytest.mark.parametrize(
    "options", [{"format": "text", "separator": "---"}, {"format": "lines"}, {"format": "text"}]
)
@pytest.mark.parametrize("every", [1, 2, 3])
def test_text_goes_on_where_it_stopped(db, tmp_path, options, every):
    folder = tmp_path / "texts"
    folder.mkdir()
    for k in range(3):
        (folder / f"{k}.txt").write_text("---\n".join(f"piece {k} {i}\nand more\n" for i in range(3)))
    corpus = db.create_corpus("c")
    expected = all_texts(folder, **options)
    n_stops = 0
    for _ in range(len(expected) // every):
        before = corpus.n_documents
        with contextlib.suppress(Stop):
            corpus.load(folder, commit_every=every, resume=True, progress=stop_after(every), **options)
            n_stops -= 1
        n_stops += 1
        assert corpus.n_documents > before or before == len(expected)
        assert texts(corpus) == expected[: corpus.n_documents]
    assert n_stops > 0 or len(expected) == every
    corpus.load(folder, commit_every=every, resume=True, **options)
    assert texts(corpus) == expected


def stop_after(n_documents: int):
    """Stop at the first report after that many documents, or at the sixth if they are all of them."""
    reports = []

    def stop(progress):
        reports.append(progress.documents)
        if progress.documents > n_documents or len(reports) > 5:
            raise Stop

    return stop


def test_a_document_at_fault_can_be_mended_or_skipped_and_the_load_goes_on(db, files):
    expected = all_texts(files)
    good = (files / "d.jsonl").read_text()
    (files / "d.jsonl").write_text(good.replace("document 3 4", "\\ud800"))
    corpus = db.create_corpus("c")
    with pytest.raises(LoadError, match=r"d\.jsonl, line 9"):
        corpus.load(files, commit_every=2, resume=True)
    assert texts(corpus) == expected[:14]
    skipping = db.create_corpus("s")
    with pytest.raises(LoadError):
        skipping.load(files, commit_every=2, resume=True)
    report = skipping.load(files, commit_every=2, resume=True, on_error="skip")
    assert (report.documents, report.skipped) == (3, 1)
    (files / "d.jsonl").write_text(good)
    assert corpus.load(files, commit_every=2, resume=True).documents == 4
    assert texts(corpus) == expected
    assert texts(skipping) == [text for text in expected if text != "document 3 4"]


def test_what_was_skipped_before_is_not_counted_again(db, tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text('{"text": "a"}\nbad\n{"text": "b"}\nworse\n{"text": "c"}\n')
    corpus = db.create_corpus("c")
    with pytest.raises(Stop):
        corpus.load(path, commit_every=2, resume=True, on_error="skip", progress=stop_after(2))
    assert texts(corpus) == ["a", "b"]
    report = corpus.load(path, resume=True, on_error="skip")
    assert (report.documents, report.skipped) == (1, 1) and "line 4" in report.reasons[0]


def test_a_limit_is_that_of_all_parts(db, files):
    corpus = db.create_corpus("c")
    corpus.load(files, limit=5, commit_every=2, resume=True)
    assert corpus.n_documents == 5
    assert corpus.load(files, limit=5, resume=True).documents == 0
    corpus.load(files, limit=9, resume=True)
    assert texts(corpus) == all_texts(files)[:9]


def test_files_that_come_later_are_loaded_and_changed_ones_are_an_error(db, files):
    corpus = db.create_corpus("c")
    corpus.load(files, resume=True)
    (files / "f.jsonl").write_text('{"text": "late"}\n')
    assert corpus.load(files, resume=True).documents == 1
    assert texts(corpus)[-1] == "late" and corpus.n_documents == 19
    (files / "b2.jsonl").write_text('{"text": "in between"}\n')
    with pytest.raises(InvalidArgument, match="are not those that it has loaded"):
        corpus.load(files, resume=True)
    (files / "b2.jsonl").unlink()
    (files / "a.jsonl").write_text('{"text": "another"}\n')
    with pytest.raises(InvalidArgument, match="are not those that it has loaded"):
        corpus.load(files, resume=True)
    assert corpus.n_documents == 19


def test_other_options_are_an_error_and_other_paths_another_load(db, files):
    corpus = db.create_corpus("c")
    corpus.load(files, limit=3, resume=True)
    with pytest.raises(InvalidArgument, match="it began with other options"):
        corpus.load(files, resume=True, metadata=())
    assert corpus.load(files / "e.jsonl", resume=True).documents == 1
    with pytest.raises(InvalidArgument, match=r"e\.jsonl was loaded before, .* take that out of"):
        corpus.load(files, resume=True)
    (files / "e.jsonl").rename(files.parent / "e.jsonl")
    assert corpus.load(files, resume=True).documents == 14
    assert corpus.n_documents == 18
    (files.parent / "e.jsonl").rename(files / "e.jsonl")
    # Without resume everything is loaded as it always was.
    assert corpus.load(files / "e.jsonl").documents == 1


@pytest.mark.parametrize("is_stopped", [False, True])
@pytest.mark.parametrize("has_names", [True, False])
def test_a_list_of_files_that_has_grown_goes_on(db, files, is_stopped, has_names):
    """As a shell writes a glob out."""
    corpus, paths = db.create_corpus("c"), sorted(files.iterdir())
    corpus.load(paths[:2], resume=True, commit_every=2, limit=3 if is_stopped else None)
    if not has_names:  # as earlier versions left it
        with db._database.change("c", "as it was") as change:
            [record] = change.before.loads
            change.entry = replace(change.before, loads=(record._replace(names=None),))
            change.commit()
    for n in (3, len(paths), len(paths)):
        corpus.load(paths[:n], resume=True)
    with ngramdb.connect() as other:
        whole = other.create_corpus("c")
        whole.load(paths)
        assert texts(corpus) == texts(whole)
    assert len(db._database.snapshot.manifest.corpora["c"].loads) == 1


@pytest.mark.parametrize("is_stopped", [False, True])
def test_files_of_another_load_are_refused_after_those_of_this_one(db, files, is_stopped):
    corpus, paths = db.create_corpus("c"), sorted(files.iterdir())
    corpus.load(paths[:1], resume=True)
    corpus.load(paths[2:4], resume=True, commit_every=1, limit=1 if is_stopped else None)
    before = texts(corpus)
    for _ in range(2):  # the second time in a resumed load
        with pytest.raises(InvalidArgument, match="loaded before, by a load of other paths"):
            corpus.load(paths, resume=True)
        assert texts(corpus) == before
        corpus.load(paths[:2], resume=True)
        before = texts(corpus)


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_list_with_files_that_were_loaded_is_refused_where_they_are_not_the_first(db, files, is_stopped):
    corpus, paths = db.create_corpus("c"), sorted(files.iterdir())
    corpus.load(paths[1:4], resume=True, commit_every=2, limit=3 if is_stopped else None)
    before = texts(corpus)
    for given in (paths, paths[2:] if not is_stopped else paths[:2], [paths[0], *paths[1:4]]):
        with pytest.raises(InvalidArgument, match="loaded before, by a load of other paths"):
            corpus.load(given, resume=True)
    assert texts(corpus) == before
    paths[1].rename(files / "renamed.jsonl")
    if not is_stopped:
        with pytest.raises(InvalidArgument, match=r"c\.jsonl and 1 more of its files were"):
            corpus.load([files / "renamed.jsonl", *paths[2:4]], resume=True)
    assert corpus.load(paths[4:], resume=True).documents > 0  # others are another load
    assert (
        corpus.load(paths[2:], commit_every=5).documents > 0
    )  # without resuming, exactly the given paths are loaded


def test_a_path_means_the_same_wherever_it_is_named_from(db, files, monkeypatch):
    corpus = db.create_corpus("c")
    corpus.load(files, resume=True)
    monkeypatch.chdir(files.parent)
    assert corpus.load("files", resume=True).documents == 0
    assert corpus.load(os.path.join(".", "files"), resume=True).documents == 0


def test_standard_input_cannot_go_on_but_may_commit_on_its_way(db, monkeypatch):
    corpus = db.create_corpus("c")
    with pytest.raises(InvalidArgument, match="standard input cannot be read again"):
        corpus.load("-", resume=True)
    for option, value in (("resume", 1), ("commit_every", 0), ("commit_every", "x")):
        with pytest.raises(InvalidArgument, match=option):
            corpus.load("-", **{option: value})


def test_a_version_that_is_restored_goes_on_from_there(db, files):
    corpus = db.create_corpus("c")
    corpus.load(files, commit_every=4, resume=True, limit=8)
    version = db.version
    corpus.load(files, commit_every=4, resume=True)
    corpus.restore(version)
    assert corpus.n_documents == 8
    corpus.load(files, commit_every=4, resume=True)
    assert texts(corpus) == all_texts(files)


def test_statements_have_the_options_and_progress_adds_up(db, files):
    corpus = db.create_corpus("c")
    seen = []
    db.progress = lambda progress: seen.append((progress.documents, progress.tokens))
    db.execute(f"COPY c FROM '{files}' (commit_every 4, resume TRUE)")
    assert corpus.n_documents == 18
    documents = [n for n, _ in seen]
    assert documents == sorted(documents) and seen[-1] == (18, corpus.n_tokens)
    assert db.execute(f"COPY c FROM '{files}' (resume TRUE)").fetchone()[0] == 0


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_loaded(db, tmp_path, monkeypatch):
    for k in range(30):
        (tmp_path / f"{k:02}.jsonl").write_text(f'{{"text": "document {k}"}}\nbad\n')
    corpus = db.create_corpus("c")
    from ngramdb.ingest import streams

    opened = streams.open_named

    def fails(path):
        if path.endswith(("17.jsonl", "23.jsonl")):
            raise PermissionError(13, "Permission denied")
        return opened(path)

    monkeypatch.setattr(streams, "open_named", fails)
    with pytest.raises(LoadError, match=r"17\.jsonl: cannot be read: Permission denied|17\.jsonl"):
        corpus.load(tmp_path / "17.jsonl", on_error="skip")
    report = corpus.load(tmp_path, on_error="skip")
    assert (report.documents, report.skipped) == (28, 30)
    assert [reason.split("/")[-1][:8] for reason in report.reasons[:2]] == ["17.jsonl", "23.jsonl"]
    assert len(report.reasons) == 7


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs limits of a process")
def test_thousands_of_files_need_a_handful_of_descriptors(tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for k in range(1500):
        (folder / f"{k:04}.jsonl").write_text(f'{{"text": "document {k}"}}\n')
    script = f"""
import resource
import ngramdb
with ngramdb.connect({str(tmp_path / "db.ngdb")!r}) as db:
    corpus = db.create_corpus("c")
    corpus.append(["whatever is imported later is by now"])
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
    assert corpus.load({str(folder)!r}, commit_every=500, resume=True).documents == 1500
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


@pytest.mark.parametrize("n", [6, 7])
def test_a_file_that_was_loaded_whole_and_has_others_now_is_an_error(db, tmp_path, n):
    """Also if the last part was a full one, so that reading had not seen the end."""
    path = tmp_path / "p.jsonl"
    path.write_text("".join(f'{{"text": "old {i}"}}\n' for i in range(n)))
    db.create_corpus("c").load(path, commit_every=2, resume=True)
    path.write_text("".join(f'{{"text": "new {i}"}}\n' for i in range(12)))
    with pytest.raises(InvalidArgument, match="not those"):
        db.corpus("c").load(path, commit_every=2, resume=True)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["new 0", "new 1", "new 2", "new 3", "new 4"], "first line"),
        (["old 0", "old 1"], "fewer now"),
    ],
)
def test_a_begun_file_that_is_another_one_now_is_an_error(db, tmp_path, lines, message):
    path = tmp_path / "p.jsonl"
    good = "".join(f'{{"text": "old {i}"}}\n' for i in range(6))
    path.write_text(good + "broken\n")
    corpus = db.create_corpus("c")
    with pytest.raises(LoadError):
        corpus.load(path, commit_every=4, resume=True)
    assert corpus.n_documents == 4
    path.write_text("".join(f'{{"text": "{text}"}}\n' for text in lines))
    with pytest.raises(InvalidArgument, match=message):
        corpus.load(path, commit_every=4, resume=True)
    assert corpus.n_documents == 4


def begun(corpus, path, lines, **options):
    """A load of `lines`, one of which is at fault, of which the first four are in the corpus."""
    path.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(LoadError):
        corpus.load(path, commit_every=4, resume=True, **options)
    assert corpus.n_documents == 4


LINES = [f'{{"text": "document {i}"}}' for i in range(8)]


@pytest.mark.parametrize(
    "changed",
    [
        [*LINES[:2], *LINES[3:]],
        [*LINES[:3], '{"text": "inserted"}', *LINES[3:]],
        [LINES[0], "", *LINES[1:]],
        [*LINES[:3], '{"text": "changed"}', *LINES[4:]],
    ],
    ids=["a line deleted", "a line inserted", "a blank line inserted", "the last line changed"],
)
def test_a_line_that_is_missing_or_new_before_the_place_is_noticed(db, tmp_path, changed):
    path = tmp_path / "p.jsonl"
    corpus = db.create_corpus("c")
    begun(corpus, path, [*LINES[:5], "broken", *LINES[5:]])
    path.write_text("".join(f"{line}\n" for line in changed))
    with pytest.raises(InvalidArgument, match=r"line 4 of .*p\.jsonl, the last one that it has read, has"):
        corpus.load(path, commit_every=4, resume=True)
    assert corpus.n_documents == 4
    path.write_text("".join(f"{line}\n" for line in LINES))
    corpus.load(path, commit_every=4, resume=True)
    assert texts(corpus) == [f"document {i}" for i in range(8)]


def test_a_file_that_is_mended_before_the_place_or_compressed_anew_goes_on(db, tmp_path):
    path = tmp_path / "p.jsonl"
    corpus = db.create_corpus("c")
    begun(corpus, path, [*LINES[:5], "broken", *LINES[5:]])
    mended = [LINES[0], '{"text": "mended"}', *LINES[2:]]
    path.write_bytes(gzip.compress("\n".join(mended).encode(), compresslevel=1))
    assert corpus.load(path, commit_every=2, limit=6, resume=True).documents == 2
    path.write_bytes(gzip.compress("\n".join(mended).encode(), compresslevel=9))
    assert corpus.load(path, resume=True).documents == 2
    assert texts(corpus) == [f"document {i}" for i in range(8)]


@pytest.mark.parametrize(
    ("options", "lines", "line"),
    [
        ({"format": "lines"}, [f"document {i}" for i in range(8)], 4),
        ({"format": "text", "separator": "--"}, [f"document {i}\n--" for i in range(8)], 7),
        ({"format": "vrt"}, [f'<text n="{i}">\ndocument\n{i}\n</text>' for i in range(8)], 13),
    ],
    ids=["lines", "text", "vertical text"],
)
def test_other_formats_of_lines_notice_it_too(db, tmp_path, options, lines, line):
    path = tmp_path / "p.txt"
    corpus = db.create_corpus("c")
    path.write_text("".join(f"{one}\n" for one in lines))
    corpus.load(path, limit=4, resume=True, **options)
    path.write_text("".join(f"{one}\n" for one in [*lines[:2], *lines[3:]]))
    with pytest.raises(InvalidArgument, match=f"line {line} of .*has changed"):
        corpus.load(path, resume=True, **options)
    path.write_text("".join(f"{one}\n" for one in lines))
    assert corpus.load(path, resume=True, **options).documents == 4
    assert len(set(texts(corpus))) == 8


def test_an_empty_document_between_separators_goes_on(db, tmp_path):
    path = tmp_path / "p.txt"
    path.write_text("one\n--\n--\n--\nfour\n--\nfive\n")
    corpus = db.create_corpus("c")
    for n in range(1, 6):
        corpus.load(path, format="text", separator="--", limit=n, resume=True)
        assert corpus.n_documents == n
    assert texts(corpus) == ["one\n", "", "", "four\n", "five\n"]


def test_a_record_without_a_mark_goes_on_as_it_always_did(db, tmp_path):
    """Records of earlier versions have no mark."""
    path = tmp_path / "p.jsonl"
    path.write_text("".join(f"{line}\n" for line in LINES))
    corpus = db.create_corpus("c")
    corpus.load(path, limit=4, resume=True)
    [record] = db._database.snapshot.manifest.corpora["c"].loads
    assert record.mark == zlib.crc32(LINES[3].encode())
    with db._database.change("c", "as it was") as change:
        change.entry = replace(change.before, loads=(record._replace(mark=None),))
        change.commit()
    assert corpus.load(path, resume=True).documents == 4


def test_a_begun_file_that_is_renamed_is_another_one(db, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    corpus = db.create_corpus("c")
    begun(corpus, folder / "a.jsonl", [*LINES[:5], "broken"])
    (folder / "a.jsonl").rename(folder / "b.jsonl")
    with pytest.raises(LoadError, match="no such file"):
        corpus.load(folder / "a.jsonl", resume=True)
    assert corpus.load(folder / "b.jsonl", resume=True, limit=5).documents == 5  # another load


def test_a_pipe_of_a_shell_is_read_once_and_cannot_go_on(db):
    reading, writing = os.pipe()
    os.write(writing, b"".join(b'{"text": "document %d"}\n' % i for i in range(7)))
    os.close(writing)
    corpus, path = db.create_corpus("c"), f"/dev/fd/{reading}"
    try:
        assert corpus.load(path, format="jsonl", commit_every=2).documents == 7
        assert texts(corpus) == [f"document {i}" for i in range(7)]
        with pytest.raises(InvalidArgument, match=f"{path} cannot be read again"):
            corpus.load(path, format="jsonl", commit_every=2, resume=True)
    finally:
        os.close(reading)
