"""Paths, globs and folders stand for the files a user would expect, in a fixed order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import ngramdb
from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.sources import expand, total_size


@pytest.fixture
def folder(tmp_path):
    names = ["b.jsonl", "a.jsonl.gz", "c.json", "sub/d.ndjson.zst", "sub/e.txt", "README", ".hidden.jsonl"]
    for name in [*names, ".git/f.jsonl"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    return tmp_path


def names(sources):
    return [source.name for source in sources]


def test_a_file_is_itself_and_its_ending_tells_the_format(folder):
    for name, format in [
        ("b.jsonl", "jsonl"),
        ("a.jsonl.gz", "jsonl"),
        ("c.json", "jsonl"),
        ("sub/d.ndjson.zst", "jsonl"),
        ("sub/e.txt", "text"),
        ("README", "text"),
    ]:
        (source,) = expand(folder / name)
        assert (source.path, source.format) == (str(folder / name), format)
        assert source.name == os.path.basename(name)
        assert source.n_bytes == 0


def test_a_given_format_wins_over_the_ending(folder):
    assert expand(folder / "b.jsonl", "text")[0].format == "text"
    assert expand(folder / "README", "jsonl")[0].format == "jsonl"


def test_a_folder_is_read_recursively_in_order_without_hidden_files(folder):
    assert names(expand(folder, "text")) == [
        "README", "a.jsonl.gz", "b.jsonl", "c.json", "sub/d.ndjson.zst", "sub/e.txt",
    ]  # fmt: skip
    assert names(expand(str(folder), "jsonl")) == ["a.jsonl.gz", "b.jsonl", "c.json", "sub/d.ndjson.zst"]


def test_a_folder_with_json_lines_is_taken_for_such(folder):
    sources = expand(folder)
    assert names(sources) == ["a.jsonl.gz", "b.jsonl", "sub/d.ndjson.zst"]
    assert {source.format for source in sources} == {"jsonl"}


def test_a_folder_of_text_with_a_json_file_in_it_is_text(tmp_path):
    for name in ("main.py", "package.json"):
        (tmp_path / name).write_text("x")
    assert [(s.name, s.format) for s in expand(tmp_path)] == [("main.py", "text"), ("package.json", "text")]
    (tmp_path / "main.py").unlink()
    assert [(s.name, s.format) for s in expand(tmp_path)] == [("package.json", "jsonl")]


def test_a_glob_matches_files_in_order(folder):
    assert names(expand(f"{folder}/*.jsonl*")) == ["a.jsonl.gz", "b.jsonl"]
    assert names(expand(f"{folder}/**/*.txt")) == ["sub/e.txt"]
    assert [s.format for s in expand(f"{folder}/*")] == ["text", "jsonl", "jsonl", "jsonl"]


def test_a_glob_of_any_depth_passes_a_link_to_a_folder_above_it(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "f.txt").write_text("x")
    (elsewhere / "back").symlink_to(folder)
    (folder / "sub" / "up").symlink_to(folder)
    (folder / "sub" / "own").symlink_to(folder / "sub")
    (folder / "sub" / "far").symlink_to(elsewhere)
    assert names(expand(f"{folder}/**/*.txt")) == ["sub/e.txt", "sub/far/f.txt"]
    assert names(expand(f"{folder}/s*/**/?.txt")) == ["sub/e.txt", "sub/far/f.txt"]
    assert names(expand(f"{folder}/sub/**")) == ["d.ndjson.zst", "e.txt", "far/f.txt"]
    assert names(expand(f"{folder}/**/**/f.txt")) == ["sub/far/f.txt"]
    with pytest.raises(LoadError, match="matches only folders"):
        expand(f"{folder}/**/")


def test_a_file_with_brackets_in_its_name_is_a_file(tmp_path):
    (tmp_path / "a[1].txt").write_text("x")
    assert names(expand(tmp_path / "a[1].txt")) == ["a[1].txt"]


def test_relative_globs_and_files_are_named_from_where_they_are(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert names(expand("*.jsonl")) == ["b.jsonl"]
    assert names(expand("sub/*")) == ["d.ndjson.zst", "e.txt"]
    assert names(expand(["README", Path("b.jsonl"), "-"])) == ["README", "b.jsonl", "-"]


def test_standard_input_is_json_lines_unless_told_otherwise():
    (source,) = expand("-")
    assert (source.format, source.is_stdin, source.n_bytes, source.label) == (
        "jsonl",
        True,
        None,
        "standard input",
    )
    assert expand("-", "text")[0].format == "text"


def test_a_linked_folder_below_is_left_aside_and_a_linked_file_read(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("x")
    (tmp_path / "data" / "loop").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "b.txt").symlink_to(tmp_path / "data" / "a.txt")
    assert names(expand(tmp_path / "data")) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("path", ["", "data", "data/*"])
def test_a_link_that_leads_nowhere_is_an_error_in_a_folder_too(tmp_path, path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("x")
    (tmp_path / "data" / "b.txt").symlink_to(tmp_path / "gone")
    with ngramdb.connect() as db, pytest.raises(LoadError, match=r"b\.txt.*: cannot be read"):
        db.create_corpus("c").load(tmp_path / path)


def test_a_name_that_is_no_utf8_can_be_stored(tmp_path):
    raw = os.fsencode(tmp_path) + b"/\xff.txt"
    try:
        Path(os.fsdecode(raw)).write_text("x")
    except OSError:
        pytest.skip("this file system has UTF-8 names only")
    (source,) = expand(tmp_path)
    assert source.name == "\\xff.txt"
    assert source.n_bytes == 1


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none.jsonl", "no such file or folder$"),
        ("no/where/x.txt", "nor is there a folder"),
        ("*.csv", "the glob matches no file"),
        ("su?", "matches only folders"),
        ("empty", "the folder is empty"),
        ("dangling", "dangling symbolic link"),
    ],
)
def test_what_leads_to_no_file_is_an_error_that_names_it(folder, path, message):
    (folder / "empty").mkdir()
    (folder / "dangling").symlink_to(folder / "gone")
    with pytest.raises(LoadError, match=message) as caught:
        expand([folder / "b.jsonl", folder / path])
    assert caught.value.source == str(folder / path)


def test_a_folder_without_a_file_of_the_format_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(LoadError, match="none of the folder's 1 files ends in"):
        expand(tmp_path, "jsonl")


@pytest.mark.parametrize(("paths", "format"), [([], None), (["-", "-"], None), ("-", "word")])
def test_wrong_arguments_are_refused(paths, format):
    with pytest.raises(InvalidArgument):
        expand(paths, format)


def test_the_total_size_is_known_if_that_of_every_file_is(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"12345")
    (tmp_path / "b.txt").write_bytes(b"123")
    sources = expand(tmp_path)
    assert total_size(sources) == 8
    assert total_size([*sources, *expand("-")]) is None
    (tmp_path / "b.txt").unlink()
    assert total_size(sources) is None
    assert total_size([]) == 0


def test_a_database_is_no_folder_of_documents(tmp_path):
    with ngramdb.connect(tmp_path / "some.ngdb") as db:
        db.create_corpus("c").append(["a b"])
        with pytest.raises(LoadError, match=r"some\.ngdb: the folder is a database, not documents"):
            db.corpus("c").load(tmp_path / "some.ngdb")


def test_files_of_one_name_in_two_folders_get_names_of_their_own(tmp_path, monkeypatch):
    for name in ("a/ls.txt", "a/b/one.txt", "b/ls.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    monkeypatch.chdir(tmp_path)

    def names(*paths):
        return [source.name for source in expand(paths)]

    assert names("a", "b") == ["a/b/one.txt", "a/ls.txt", "b/ls.txt"]
    assert names("a/ls.txt", str(tmp_path / "b/*.txt")) == ["a/ls.txt", "b/ls.txt"]
    assert names("a", "b", "-") == ["a/b/one.txt", "a/ls.txt", "b/ls.txt", "-"]
    assert names("a/b", "b") == ["one.txt", "ls.txt"]
    assert names("a", "a") == ["b/one.txt", "ls.txt"] * 2


def test_endings_that_files_have_by_chance_decide_nothing(tmp_path):
    (tmp_path / "inputrc.arrows").write_text("set editing-mode vi")
    (tmp_path / "notes.parquet").write_text("not a table")
    assert {source.format for source in expand(tmp_path)} == {"text"}
    (tmp_path / "ids.bin").write_bytes(b"\0\0")
    assert [(source.name, source.format) for source in expand(tmp_path)] == [("ids.bin", "tokens")]
    (tmp_path / "real.arrow").write_bytes(b"ARROW1\0\0")
    with pytest.raises(LoadError, match=r"several formats \(arrow: .*inputrc.arrows, tokens: .*ids.bin\)"):
        expand(tmp_path)
