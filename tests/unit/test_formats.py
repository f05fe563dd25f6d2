"""Which format a file is read and written in, by its name; the same through every face."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import ngramdb
from ngramdb.cli.main import command, main
from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.formats import READ, REGISTRY, WRITTEN, endings_of, written_format

WRITES = {
    "out.jsonl": "jsonl",
    "out.NDJSON": "jsonl",
    "a.b/out.json.gz": "jsonl",
    "out.jsonl.zst": "jsonl",
    "out.jsonl.zstd": "jsonl",
    "out.jsonl.bz2": "jsonl",
    "out.jsonl.xz": "jsonl",
    "out": "jsonl",
    "out.gz": "jsonl",
    "/dev/stdout": "jsonl",
    "2024.05/out": "jsonl",
    "out.parquet": "parquet",
    "out.PARQUET": "parquet",
    "out.arrow": "arrow",
    "out.feather": "arrow",
    "out.csv": "csv",
    "out.csv.gz": "csv",
    "out.tsv": "tsv",
}
WRITES_NOT = (
    "out.txt",
    "out.xml.gz",
    "out.arrow.gz",
    "out.parquet.gz",
)


@pytest.mark.parametrize("name", WRITES)
def test_the_ending_of_a_name_says_how_it_is_written(name):
    assert written_format(name) == WRITES[name]


def test_every_ending_of_the_registry_is_written_or_read_as_it_says():
    for one in REGISTRY:
        for ending in one.endings:
            assert endings_of(f"x{ending}.gz") == (ending, ".gz")
            if one.is_written:
                assert written_format(f"x{ending}") == one.name
    assert WRITTEN == ("jsonl", "parquet", "arrow", "csv", "tsv") and READ == (
        "jsonl",
        "text",
        "lines",
        "parquet",
        "arrow",
        "csv",
        "tokens",
        "tsv",
        "vrt",
        "warc",
    )


def test_every_format_is_on_the_page_and_in_the_help():
    page = (Path(__file__).parents[2] / "docs" / "loading.md").read_text(encoding="utf-8")
    help_text = " ".join(command("load").parser("load").format_help().split())
    for one in REGISTRY:
        if one.is_read:
            row = next(line for line in page.splitlines() if line.startswith(f"| `{one.name}` |"))
            assert all(f"`{ending}`" in row for ending in one.endings), one.name
            assert all(ending in help_text for ending in (one.name, *one.endings)), one.name


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    with ngramdb.connect("db") as db:
        corpus = db.create_corpus("c")
        corpus.append(["a b c", "d"])
        corpus.delete('"d"')
    Path("exam.jsonl").write_text('{"text": "a b c"}\n')
    return "db"


@pytest.mark.parametrize("name", WRITES_NOT)
def test_another_ending_is_an_error_everywhere(database, name, capsys):
    with ngramdb.connect(database) as db:
        corpus, version = db.corpus("c"), db.version
        for write in (
            lambda: corpus.export(name),
            lambda: corpus.export_removals(name),
            lambda: corpus.decontaminate("exam.jsonl", n=2, report=name),
        ):
            with pytest.raises(InvalidArgument, match=r"unsupported output format|already compressed"):
                write()
        with pytest.raises(PlanError) as caught:
            db.execute(f"COPY (DOCS) TO '{name}'")
        assert caught.value.column == 16
        assert db.version == version
        assert db.execute(f"COPY (DOCS) TO '{name}' (FORMAT jsonl)").fetchall() == [(1, name)]
        Path(name).unlink()
    for flags in ([], ["--removals"]):
        assert main(["export", database, "c", name, *flags]) == 1
        assert name in capsys.readouterr().err
    assert not Path(name).exists()


def test_a_report_is_json_lines(database):
    with ngramdb.connect(database) as db:
        with pytest.raises(InvalidArgument, match=r"names end in \.jsonl, \.ndjson, \.json"):
            db.corpus("c").decontaminate("exam.jsonl", n=2, report="found.parquet")
        assert db.corpus("c").decontaminate("exam.jsonl", n=2, report="found.ndjson.gz").removed == 1
    with gzip.open("found.ndjson.gz") as file:
        assert file.read().startswith(b'{"doc_id": 0')


@pytest.mark.parametrize(
    "name", ["a.jsonl.zstd", "a.JSON", "a.ndjson.gz", "a.jsonl.bz2", "a.jsonl.xz", "a.parquet"]
)
def test_what_is_written_as_json_lines_is_read_as_such(database, name):
    with ngramdb.connect(database) as db:
        assert db.corpus("c").export(name) == 1
        assert db.create_corpus("again").load(name).documents == 1
        assert [row[-1] for row in db.corpus("again").docs()] == ["a b c"]
