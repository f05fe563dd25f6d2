"""COPY (question) TO: what is in the file is what the question answers, for questions and formats."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import math
from pathlib import Path

import pyarrow
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest

import ngramdb
from ngramdb.api.verbs import row_formats
from ngramdb.cli.terminal.screen import Screen, render
from ngramdb.errors import ExecutionError, PlanError
from ngramdb.formats import WRITTEN
from ngramdb.serve import responses

QUESTIONS = [
    'COUNT "a"',
    'COUNT "a" GROUP BY kind, year',
    'COUNT DOCS WHERE "a"',
    "COUNT DOCS GROUP BY tags",
    'DOCS WHERE "a"',
    'KWIC "a" WINDOW 2',
    'COLLOCATES OF "a"',
    "NGRAMS 2 TOP 5",
    'TRACE "x a b y" MIN LENGTH 1',
    'PROB "b" GIVEN "a"',
    'DIST GIVEN "a"',
    'SCORE "a b c"',
    'GENERATE GIVEN "a" TOKENS 2',
]
ROWS = [
    {"text": 'a "b", c\nd', "kind": "x", "year": 1, "tags": ["p", "q"]},
    {"text": "a\tb", "kind": "", "year": None},
    {"text": "a b a b", "kind": None, "year": 0.5, "tags": []},
]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def corpus(db):
    corpus = db.create_corpus("c")
    corpus.append(ROWS)
    return corpus


def read(path):
    """The rows of a file as dicts."""
    if path.endswith("jsonl"):
        with open(path) as file:
            return [json.loads(line) for line in file]
    if path.endswith("parquet"):
        return pyarrow.parquet.read_table(path).to_pylist()
    if path.endswith("arrows"):
        with open(path, "rb") as file:
            return pyarrow.ipc.open_stream(file).read_all().to_pylist()
    return pyarrow.ipc.open_file(path).read_all().to_pylist()


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet", "out.arrow", "out.arrows"])
def test_the_file_has_the_rows(db, corpus, question, name):
    expected = db.execute(question).arrow().to_pylist()
    result = db.execute(f"COPY ({question}) TO '{name}'")
    is_docs = question.startswith("DOCS")
    of_documents = is_docs and "arrow" not in name
    assert result.columns == ("documents" if is_docs else "rows", "path")
    assert result.fetchall() == [(len(expected), name)]
    if of_documents:
        assert [row["text"] for row in read(name)] == [row["text"] for row in expected]
        return
    found = read(name)
    if name == "out.jsonl":
        found = [
            {
                key: json.dumps(value)
                if isinstance(expected[0][key], str) and not isinstance(value, (str, type(None)))
                else value
                for key, value in row.items()
            }
            for row in found
        ]
        expected = [
            {key: None if value == -math.inf else value for key, value in row.items()} for row in expected
        ]
    assert found == expected


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz"])
def test_delimited_files_can_be_read_again(db, corpus, question, name):
    result = db.execute(question)
    columns, rows = result.columns, result.fetchall()
    db.execute(f"COPY ({question}) TO '{name}'")
    if name.endswith(".gz"):
        with open(name, "rb") as file:
            assert gzip.decompress(file.read()).decode().splitlines()[0] == ",".join(columns)
        return
    parse = pyarrow.csv.ParseOptions(delimiter="\t" if name.endswith("tsv") else ",", newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(
        column_types={column: pyarrow.string() for column in columns},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    found = pyarrow.csv.read_csv(name, parse_options=parse, convert_options=convert).to_pylist()
    assert found == [
        {column: text(value) for column, value in zip(columns, row, strict=True)} for row in rows
    ]


AWKWARD = 'one\r\n"two"\tthree, four\\five\n\nsix\u2028seven'


@pytest.mark.parametrize("question", ["DOCS", 'KWIC "two"', 'COUNT "two"', "NGRAMS 1"])
@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_files_and_the_command_line_and_the_service_have_one_dialect(db, question, kind):
    db.create_corpus("odd").append(
        [{"text": AWKWARD, "empty": "", "none": None}, {"text": "two", "none": 1.5}]
    )
    db.execute(f"COPY ({question}) TO 'out.{kind}'")
    written = Path(f"out.{kind}").read_bytes()
    stream = io.StringIO(newline="")
    render(db.execute(question), Screen(stream, False, None, False, True), kind)
    assert stream.getvalue().encode() == written
    if kind == "csv":
        page = responses.page_of(db.execute(question), 100, 0, 1 << 20)
        assert responses.WRITERS["csv"](page) == written
    delimiter = row_formats.DELIMITERS[kind]
    rows = list(csv.reader(io.StringIO(written.decode(), newline=""), delimiter=delimiter))
    assert {len(row) for row in rows} == {len(rows[0])}
    if question == "DOCS":
        assert rows[1][-1] == AWKWARD


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_a_hit_is_one_line(db, kind, tmp_path):
    db.create_corpus("odd").append([AWKWARD])
    path = tmp_path / f"out.{kind}"
    db.execute(f"""COPY (KWIC "two" RETURNING text) TO '{path}'""")
    head, *rest = path.read_text("utf-8").splitlines()
    assert head.split(row_formats.DELIMITERS[kind])[2:5] == ["left", "match", "right"] and len(rest) == 1


def test_documents_written_by_the_command_line_can_be_loaded(db, tmp_path):
    db.create_corpus("odd").append([AWKWARD, "plain"])
    path = tmp_path / "out.tsv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        render(db.execute("DOCS RETURNING text"), Screen(stream, False, None, False, True), "tsv")
    db.create_corpus("again").load(path)
    texts = [text for (text,) in db.execute("DOCS FROM again RETURNING text")]
    assert texts == [AWKWARD, "plain"]


def text(value):
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def test_conditions_parameters_and_explain_go_through(db, corpus):
    assert db.execute(
        "COPY (COUNT ? WHERE year = :y) TO :p".replace("?", ":x"), {"x": "a", "y": 1, "p": "n.csv"}
    ).fetchall()
    with open("n.csv") as file:
        assert file.read() == "count\n1\n"
    lines = [row[0] for row in db.execute("EXPLAIN COPY (COUNT DOCS WHERE NOT NOT \"a\") TO 'x.csv'")]
    assert lines[0].startswith("write ") and lines[-1] == "rules: double_negation"


@pytest.mark.parametrize(
    "question",
    [
        *QUESTIONS,
        'COUNT "a" SAMPLE 1 SEED 3',
        'DOCS WHERE "a" SAMPLE 2 SEED 3',
        'DOCS WHERE "a" SAMPLE 2 SEED 3 RETURNING year',
        'KWIC "a" SAMPLE 2 SEED 3',
        'GENERATE GIVEN "a" TOKENS 2 SEED 3',
        'PROB "b" GIVEN "a" USING BACKOFF(0.4)',
        'SCORE "a b" USING BACKOFF(0.4)',
        'DIST GIVEN "a" USING BACKOFF(0.4)',
        'GENERATE GIVEN "a" TOKENS 2 SEED 3 USING BACKOFF(0.4)',
    ],
)
@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet", "out.csv"])
def test_what_is_said_beside_the_rows_is_said_of_the_file(db, corpus, question, name):
    asked = db.execute(question)
    asked.fetchall()
    copied = db.execute(f"COPY ({question}) TO '{name}'")
    whole_documents = question.startswith("DOCS") and "RETURNING" not in question
    # The number of all documents is in the row.
    expected = {} if whole_documents and "SEED" not in question else asked.summary
    assert expected.keys() <= copied.summary.keys()
    assert copied.summary["documents" if whole_documents else "rows"] == copied.fetchone()[0]
    assert copied.exact == asked.exact
    if question != 'GENERATE GIVEN "a" TOKENS 2':  # each draws its own
        assert {key: copied.summary[key] for key in expected} == pytest.approx(expected, nan_ok=True)
        assert copied.notes[: len(asked.notes)] == asked.notes


@pytest.mark.parametrize("question", QUESTIONS[:1] + QUESTIONS[4:5])
def test_an_ending_of_no_format_is_an_error_and_nothing_is_written(db, corpus, question, tmp_path):
    for name in ("out.xlsx", "out.parquet.gz", "out.txt"):
        with pytest.raises(PlanError, match=r"unsupported output format|already compressed") as caught:
            db.execute(f"COPY ({question}) TO '{name}'")
        assert caught.value.text[caught.value.start :].startswith(f"'{name}'")
    assert not list(tmp_path.glob("out*"))
    for kind in WRITTEN:
        db.execute(f"COPY ({question}) TO 'out.txt' (FORMAT {kind})")
        assert (tmp_path / "out.txt").stat().st_size > 0


@pytest.mark.parametrize("question", ["DOCS FROM c", 'DIST GIVEN "a" FROM c'])
def test_no_file_is_written_into_a_database_nor_under_the_name_of_standard_output(tmp_path, question):
    with ngramdb.connect(tmp_path / "db") as db:
        db.create_corpus("c").append(["a b"])
        before = sorted((tmp_path / "db").rglob("*"))
        (tmp_path / "link").symlink_to("db/segments")
        places = [
            tmp_path / "db" / "x.jsonl",
            tmp_path / "db" / "segments" / "x.csv",
            tmp_path / "link" / "x.csv",
        ]
        for place in places:
            with pytest.raises(ExecutionError, match=r"within the database .*db; name a place outside"):
                db.execute(f"COPY ({question}) TO '{place}'")
        with pytest.raises(ExecutionError, match="standard output"):
            db.execute(f"COPY ({question}) TO '-' (FORMAT jsonl)")
        assert sorted((tmp_path / "db").rglob("*")) == before and not Path("-").exists()


def test_other_libraries_take_results_as_they_are(db, corpus):
    expected = db.execute("NGRAMS 2").arrow()
    assert pyarrow.table(db.execute("NGRAMS 2")).equals(expected)
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(db.execute("NGRAMS 2")).equals(db.execute("NGRAMS 2").pl())
    pandas = pytest.importorskip("pandas")
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert pandas.DataFrame.from_arrow(db.execute("NGRAMS 2")).shape == (expected.num_rows, 3)
    assert db.create_corpus("again").append(db.execute("DOCS FROM c")).documents == 3
    result = db.execute("NGRAMS 2 FROM c")
    result.fetchall()
    with pytest.raises(ngramdb.ExecutionError, match="have been read"):
        pyarrow.table(result)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize(
    "question", ["SHOW CORPORA", "SHOW SEGMENTS FROM notes", "SHOW SETTINGS", "DESCRIBE notes"]
)
def test_tables_of_the_catalog_are_written(tmp_path, question, suffix):
    with ngramdb.connect(tmp_path / "db") as db:
        db.create_corpus("notes").append([("a b", {"k": 1})])
        expected = db.execute(question)
        rows = expected.fetchall()
        path = tmp_path / f"x.{suffix}"
        assert db.execute(f"COPY ({question}) TO '{path}'").fetchone() == (len(rows), str(path))
        if suffix == "parquet":
            assert pyarrow.parquet.read_table(path).column_names == list(expected.columns)
        if suffix == "jsonl":
            assert [list(json.loads(line)) for line in path.open()] == [list(expected.columns)] * len(rows)
        with pytest.raises(ngramdb.Error):
            db.ask(f"COPY ({question}) TO '{path}'")


@pytest.mark.parametrize("suffix", ["csv", "arrow", "parquet", "jsonl"])
def test_fields_that_columns_change_have_a_note(tmp_path, suffix):
    db = ngramdb.connect()
    c = db.create_corpus("c")
    c.append([("a", {"plain": "x", "tags": ["p"], "m": {"k": 1}, "doc_id": 7}), ("b", {"o": [{"z": 1}]})])
    written = db.execute(f"COPY (DOCS FROM c) TO '{tmp_path / ('x.' + suffix)}'")
    named = written.notes[0].partition(":")[0].split(", ") if written.notes else []
    lists = ["tags"] if suffix == "csv" else []
    own = [] if suffix == "parquet" else ["doc_id"]  # a Parquet file records the name
    assert sorted(named) == ([] if suffix == "jsonl" else sorted(["m.k", "o", *lists, *own]))
    made = db.create_corpus("made")
    made.load(tmp_path / f"x.{suffix}")
    if suffix == "jsonl":
        assert [made.document(i).metadata for i in (0, 1)] == [c.document(i).metadata for i in (0, 1)]
    else:
        assert made.document(0).metadata["m.k"] == 1
        assert made.document(0).metadata["doc_id" if suffix == "parquet" else "metadata.doc_id"] == 7
        assert made.document(0).metadata["plain"] == "x"


# Fields with values of several types: in each segment, and only in different segments; also in lists.
MIXED = [
    [{"text": "a", "m": m, "l": [m]} for m in (1, "1", [1], "[1]", True, "true", {"k": 1}, None)],
    [{"text": "a", "m": 1, "l": [1]}],
    [{"text": "a", "m": "1", "l": ["1", 1]}],
    [{"text": "a", "m": [1], "l": ["1"]}],
]
OF_SEVERAL_TYPES = {
    "DOCS": "m",
    "DOCS RETURNING doc_id, m": "m",
    "DOCS RETURNING l": "l",
    "COUNT DOCS GROUP BY m": "m",
    "COUNT DOCS GROUP BY l": "l",
    "COUNT DOCS GROUP BY UNNEST(l)": "UNNEST(l)",
    'COUNT "a" PER MILLION GROUP BY m': "m",
    'COUNT "a", "b" GROUP BY m': "m",
    'KWIC "a" RETURNING m, doc_id': "m",
    'TRACE "a" MIN LENGTH 1 RETURNING m': "m",
}


@pytest.mark.parametrize("batches", [MIXED[:1], MIXED[1:]], ids=["one segment", "several segments"])
@pytest.mark.parametrize("question", OF_SEVERAL_TYPES)
def test_values_of_several_types_stay_distinct(db, batches, question):
    db.execute("SET auto_compact = off")
    corpus = db.create_corpus("c")
    for batch in batches:
        corpus.append(batch)
    column = OF_SEVERAL_TYPES[question]
    path = column.removeprefix("UNNEST(").rstrip(")")
    answer = db.execute(question)
    place = answer.columns.index(column)
    expected = [row[place] for row in answer]
    for name in ("out.parquet", "out.arrow", "out.arrows"):
        note = db.execute(f"COPY ({question}) TO '{name}'").summary["note"]
        assert path in note.split(": ")[0].split(", ")
        assert "values of several types are JSON" in note
        found = [row[column] for row in read(name)]
        assert found == [None if value is None else json.dumps(value) for value in expected]
    for name in ("out.csv", "out.tsv"):
        note = db.execute(f"COPY ({question}) TO '{name}'").summary["note"]
        assert "values of several types are texts, in which 1 and '1' are the same" in note
    result = db.execute(f"COPY ({question}) TO 'out.jsonl'")
    assert "note" not in result.summary
    if question != "DOCS":
        assert [row[column] for row in read("out.jsonl")] == expected


@pytest.mark.parametrize("question", ["DOCS RETURNING m", "COUNT DOCS GROUP BY m"])
@pytest.mark.parametrize("values", [[1, 2.5], [[1], []], [True, None], ["a", "b"]])
def test_values_of_one_type_have_no_note(db, values, question):
    db.create_corpus("c").append([{"text": "a", "m": value} for value in values])
    for name in ("out.parquet", "out.arrow", "out.csv", "out.jsonl"):
        assert "note" not in db.execute(f"COPY ({question}) TO '{name}'").summary


def test_a_field_that_came_with_several_types_has_the_note_of_its_documents(db):
    corpus = db.create_corpus("c")
    for values in (["2001-01-01"], [datetime.date(2001, 1, 1)]):
        corpus.append(pyarrow.table({"text": ["a"], "x": values}))
    notes = [
        db.execute(f"COPY ({question}) TO 'out.parquet'").summary["note"]
        for question in ("DOCS", "DOCS RETURNING x", "COUNT DOCS GROUP BY x")
    ]
    assert "these fields came with several types" in notes[0]
    assert notes[1:] == notes[:1] * 2
