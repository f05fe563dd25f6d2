"""CSV and TSV: files of pandas and of Python's csv are read unchanged, typed if all values have a type."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.readers import delimited

ROWS = [
    {"id": "007", "text": 'say "x", they\nsaid', "n": "12", "f": "0.5", "ok": "true", "none": ""},
    {"id": "8", "text": "ünï\r\ncode", "n": "-3", "f": "1e3", "ok": "False", "none": ""},
    {"id": "x,y", "text": "b", "n": "", "f": "2", "ok": "", "none": ""},
    {"id": "", "text": "a\tb", "n": "0", "f": "", "ok": "true", "none": ""},
] * 5


def write(path, rows, **options):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(
            file, list(rows[0]), delimiter="\t" if ".tsv" in path.name else ",", **options
        )
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC])
def test_rows_are_documents_with_typed_fields(db, tmp_path, name, quoting):
    path = write(tmp_path / name, ROWS, quoting=quoting)
    if quoting == csv.QUOTE_NONNUMERIC:
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    corpus = db.create_corpus("c")
    assert corpus.load(path).documents == len(ROWS)
    found = corpus.docs().to_dicts()
    assert [row["text"] for row in found] == [row["text"] for row in ROWS]
    if quoting == csv.QUOTE_MINIMAL:
        assert [row["n"] for row in found[:4]] == [12, -3, None, 0]
        assert [row["f"] for row in found[:4]] == [0.5, 1000.0, 2.0, None]
        assert [row["ok"] for row in found[:4]] == [True, False, None, True]
        assert [row["id"] for row in found[:4]] == ["007", "8", "x,y", None]
        assert "none" not in found[0]
    path.with_name(f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert corpus.load(f"{path}.gz", text="id", metadata=["n"], limit=2).documents == 2


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_quotes_are_characters_where_a_file_has_none_around_fields(db, tmp_path, name):
    texts = ['"Well" he said', 'he said "no" twice', '"', '""', '"a" b "c', '"whole"']
    path = tmp_path / name
    sign = "\t" if name == "a.tsv" else ","
    path.write_text("".join(f"{text}{sign}{year}\n" for year, text in enumerate(["text", *texts])))
    path.write_text(path.read_text().replace(f"text{sign}0", f'text{sign}"year', 1))
    corpus = db.create_corpus("c", tokenizer="bytes")
    with pytest.raises(LoadError, match="QUOTES FALSE"):
        corpus.load(path)
    assert corpus.load(path, quotes=False).documents == len(texts)
    found = [(row["text"], row['"year']) for row in corpus.docs().to_dicts()]
    assert found == [(text, year) for year, text in enumerate(texts, 1)]
    with pytest.raises(InvalidArgument, match="quotes must be TRUE or FALSE"):
        corpus.load(path, quotes="no")
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InvalidArgument, match="quotes applies to files"):
        corpus.load(pandas.DataFrame({"text": ["a"]}), quotes=False)


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.tsv", "\t"), ("a.csv.gz", ",")])
def test_an_empty_field_is_no_text_and_quotes_are_an_empty_one(db, tmp_path, name, delimiter):
    lines = ["text,y", "a,0", ",1", '"",2', ",3", "b,4", ""]
    content = "\n".join(lines).replace(",", delimiter).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    corpus = db.create_corpus("c")
    version = db.version
    message = f"{name}, row 2: the text in column 'text' is missing: the field is empty; an empty text"
    with pytest.raises(LoadError, match=re.escape(message)):
        corpus.load(path)
    assert db.version == version
    report = corpus.load(path, on_error="skip")
    assert (report.documents, report.skipped) == (3, 2)
    assert [reason.partition("row ")[2][:1] for reason in report.reasons] == ["2", "4"]
    assert [(row["text"], row["y"]) for row in corpus.docs().to_dicts()] == [("a", 0), ("", 2), ("b", 4)]
    assert corpus.load(path, text="y", metadata=["text"]).documents == 5


def test_a_type_holds_for_the_whole_file(db, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,a,b,c\n" + "x,1,1,1\n" * 3000 + "x,z,1.5,99999999999999999999\n")
    corpus = db.create_corpus("c")
    corpus.load(path)
    described = {row[0]: row[1] for row in db.execute("DESCRIBE c")}
    assert [described[f"field {name}"] for name in "abc"] == ["string", "float64", "string"]


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("1e300", "float64"),
        ("-1.5E+95", "float64"),
        ("2e-299", "float64"),
        ("1e308", "float64"),
        ("1e309", "string"),
        ("999999999999999e299", "string"),
        ("1e-400", "string"),
    ],
)
def test_numbers_of_any_size_are_numbers_and_those_beyond_are_texts(db, tmp_path, written, kind):
    path = tmp_path / "a.csv"
    path.write_text(f"text,x\na,1.5\nb,{written}\n")
    corpus = db.create_corpus("c")
    corpus.load(path)
    assert dict(row[:2] for row in db.execute("DESCRIBE c"))["field x"] == kind
    value = corpus.docs().to_dicts()[1]["x"]
    assert value == (float(written) if kind == "float64" else written)


def test_nan_among_numbers_is_no_value_and_among_texts_a_text(db, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,year,x,name,none\na,1990,0.5,nan,NaN\nb,NaN,nan,Ann,\nc,,2,NaN,nan\n")
    corpus = db.create_corpus("c")
    report = corpus.load(path)
    assert corpus.docs(returning=["year", "x", "name", "none"]).fetchall() == [
        (1990, 0.5, "nan", "NaN"),
        (None, None, "Ann", None),
        (None, 2.0, "NaN", "nan"),
    ]
    assert report.notes == tuple(f"NaN in the field {name} was read as NULL" for name in ("year", "x"))


def test_malformed_rows_are_named_and_skipped(db, tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("text,n\na,1\nb\nc,2\nd,3,4\ne,5\n")
    corpus = db.create_corpus("c")
    with pytest.raises(LoadError, match=r"a\.csv, row 2: the row has 1 field, but there are 2 columns"):
        corpus.load(path)
    report = corpus.load(path, on_error="skip")
    assert (report.documents, report.skipped) == (3, 2)
    assert report.reasons == (
        f"{path}, row 2: the row has 1 field, but there are 2 columns",
        f"{path}, row 4: the row has 3 fields, but there are 2 columns",
    )
    path.write_bytes(b"text,n\na,1\nb\nc\xff,2\nd,3\n")
    report = corpus.load(path, on_error="skip")
    assert (report.documents, report.skipped) == (2, 2) and "row 3" in report.reasons[1]


BAD = {
    "no column": (b"body,n\na,1\n", r"no column 'text'; the columns are 'body', 'n'"),
    "semicolons": (b"text;n\na;1\n", r"';' separates no columns here: .* commas .* tabs"),
    "tabs": (b"text\tn\na\t1\n", r"'\\t' separates no columns here"),
    "twice": (b"text,text\na,1\n", r"several columns 'text'"),
    # The csv module of Python 3.10 refuses NUL by itself.
    "no table": (b"\0\1\2\3", r"no column 'text'|cannot be read: line contains NUL"),
    "quote": (b'text,n\n"a,1\n' + b"b,2\n" * 9, r"a\.csv"),
    "gzip": (gzip.compress(b"text\n" + b"a b\n" * 9999)[:-9], r"cut short"),
    "parquet": (b"PAR1text", r"is a Parquet file; give the format parquet"),
}


@pytest.mark.parametrize("content, message", BAD.values(), ids=BAD)
def test_what_is_no_table_is_an_error(db, tmp_path, content, message):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    corpus = db.create_corpus("c")
    version = db.version
    with pytest.raises(LoadError, match=message):
        corpus.load(path)
    assert db.version == version


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.xz"])
def test_long_rows_are_read_wherever_they_lie(db, tmp_path, name):
    texts = ["before", "word " * 40_000, "short", "a" * 131_000, "é" * 1_000_000, "after"] * 2
    content = io.StringIO()
    csv.writer(content).writerows([["text", "n"], *([text, i] for i, text in enumerate(texts))])
    compress = {".csv": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[Path(name).suffix]
    (tmp_path / name).write_bytes(compress(content.getvalue().encode()))
    corpus = db.create_corpus("long")
    assert corpus.load(tmp_path / name).documents == len(texts)
    assert [corpus.document(document).text for document in range(len(texts))] == texts


def test_rows_longer_than_a_block_are_an_error(db, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 100)
    path = tmp_path / "a.csv"
    path.write_text("text,n\n" + f"{'x' * 150},1\n" * 4)
    with pytest.raises(LoadError, match="a row of more than 100 bytes"):
        db.create_corpus("c").load(path)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('id,text\n1,one\n2,"two\n3,three\n4,four\n', 3),
        ('id,text\n1,"cut sh', 2),
        ('id,text\n1,"its last quote is doubled""', 2),
        ('id,text\n1,"', 2),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_quote_that_never_ends_is_an_error(db, tmp_path, name, content, line):
    data = content.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    corpus = db.create_corpus("c")
    with pytest.raises(LoadError, match=f"line {line}: the quote that begins a field here is never closed"):
        corpus.load(tmp_path / name)
    assert corpus.n_documents == 0
    (tmp_path / "b.csv").write_text('id,text\n1,"whole, without ""a"" line end"')
    assert corpus.load(tmp_path / "b.csv").documents == 1


def test_an_empty_table_has_no_documents_and_a_pipe_is_refused(db, tmp_path):
    corpus = db.create_corpus("c")
    for content in ("", "text,n\n"):
        (tmp_path / "a.csv").write_text(content)
        assert corpus.load(tmp_path / "a.csv").documents == 0
    with pytest.raises(LoadError, match=r"standard input: .*read twice"):
        corpus.load("-", format="csv")


@pytest.mark.parametrize("every", [1, 3, 20])
def test_a_load_goes_on_where_it_stopped(db, tmp_path, every):
    path = write(tmp_path / "a.csv", ROWS)
    corpus = db.create_corpus("c")
    for n in range(every, 24, every):
        corpus.load(path, commit_every=every, limit=n, resume=True)
    corpus.load(path, resume=True)
    assert [row["text"] for row in corpus.docs().to_dicts()] == [row["text"] for row in ROWS]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of pyarrow itself
def test_a_row_without_fields_whose_bytes_are_no_text_is_named(db, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("text,year\na,1\ncut in é".encode()[:-1])
    corpus = db.create_corpus("c")
    message = r"a\.csv, row 2: the row has 1 field, but there are 2 columns; it has bytes that are not UTF-8"
    with pytest.raises(LoadError, match=message):
        corpus.load(path)
    assert corpus.n_documents == 0


def test_rows_keep_their_numbers_after_many_malformed_ones(db, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "text,n\n" + "".join("x\n" if k % 3 else f"t{k},{k}\n" for k in range(1, 3000)) + "a\xff,1\n",
        "latin-1",
    )
    report = db.create_corpus("c").load(path, on_error="skip")
    assert (report.documents, report.skipped) == (999, 2001)
    with pytest.raises(LoadError, match="row 1: the row has 1 field"):
        db.corpus("c").load(path)
    path.write_bytes(b"text,n\na,1\nx\nx\nb,1\nx\n\xff,1\nc,1\n")
    report = db.create_corpus("d").load(path, on_error="skip")
    assert [reason.partition("row ")[2][:1] for reason in report.reasons] == ["2", "3", "5", "6"]


def test_no_document_goes_into_the_one_before(db, tmp_path):
    corpus = db.create_corpus("c")
    (tmp_path / "a.tsv").write_text('text\tn\n"Well\t1\nhe said "no" twice\t2\n')
    with pytest.raises(LoadError, match=r"a\.tsv: line 3: a field continues after its closing quote"):
        corpus.load(tmp_path / "a.tsv")
    assert corpus.n_documents == 0
    (tmp_path / "a.tsv").write_text('text\tn\n"""Well"\t1\nhe said "no" twice\t2\n')
    assert corpus.load(tmp_path / "a.tsv").documents == 2
    assert [row[0] for row in corpus.docs(returning="text")] == ['"Well', 'he said "no" twice']
    (tmp_path / "a.tsv").write_text('text\tn\n"Well\t1\nhe said "no" twice\t2\n')
    (tmp_path / "b.tsv").write_text("text\tn\nanother\t3\n")
    report = corpus.load([tmp_path / "a.tsv", tmp_path / "b.tsv"], on_error="skip")
    assert (report.documents, report.skipped_files) == (1, 1)


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("123456789012345.12", "float64"),
        ("0.00012345678901234567", "float64"),  # 20 digits behind the point, 17 of which count
        ("0.012345678901234567", "float64"),
        ("0.017039889787722903", "float64"),
        ("1819671133215071.0", "float64"),
        ("1819671133215071.5", "float64"),
        ("9007199254740993.0", "string"),  # that float is ..992.0
        ("9007199254740993", "string"),
        ("10000000000000000000", "string"),  # an integer beyond 64 bits
        ("5e-324", "float64"),
        ("6e-324", "string"),  # another number than the float that is nearest
        ("1e-400", "string"),
        ("1e400", "string"),
        ("1e22", "float64"),
        ("0.0123456789012345", "float64"),
        ("123456789012345.12345678901234567", "string"),
        ("52.520006599999998712", "string"),
        ("52.5200065999999987", "string"),
        ("-52.520006599999999", "float64"),
        ("1.2345678901234567e-20", "float64"),
        ("1.23456789012345678e3", "string"),
    ],
)
def test_a_column_is_of_numbers_where_floats_hold_all_digits(db, tmp_path, written, kind):
    corpus = db.create_corpus("c")
    (tmp_path / "a.csv").write_text(f"text,n\na,{written}\nb,1.5\n")
    corpus.load(tmp_path / "a.csv")
    found = corpus.docs(returning="n").fetchall()[0][0]
    assert found == (float(written) if kind == "float64" else written)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_floats_as_python_writes_them_come_back(tmp_path_factory, values):
    """As export does, too."""
    folder = tmp_path_factory.mktemp("floats")
    written = "".join(f"a,{value!r}\n" for value in values)
    (folder / "a.csv").write_text(f"text,n\n{written}b,0.5\n")
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.load(folder / "a.csv")
        assert [row[0] for row in corpus.docs(returning="n").fetchall()] == [*values, 0.5]
        corpus.export(folder / "b.csv")
        again = db.create_corpus("again")
        again.load(folder / "b.csv")
        assert again.docs(returning="n").fetchall() == corpus.docs(returning="n").fetchall()


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "rows",
    [
        'text,year\n"a, b",1930\n"c, d",',
        "text,year\na,1930\nc,",
        'text,year\n"a, b",\n"c, d",1930',
        'text,year\n"a",1930\n"b",""',
        "text\na\nb",
        "text,year",
    ],
)
def test_a_last_line_without_an_end_is_a_line_like_others(tmp_path, rows, ending):
    (tmp_path / "as.csv").write_bytes((rows + "\n").encode())
    (tmp_path / "ends.csv").write_bytes((rows + ending).encode())
    with ngramdb.connect() as db:
        found = []
        for name in ("as", "ends"):
            corpus = db.create_corpus(name)
            corpus.load(tmp_path / f"{name}.csv")
            found.append(corpus.docs().to_dicts())
        assert found[0] == found[1] and len(found[0]) == rows.count("\n")


@pytest.mark.parametrize(
    ("written", "is_number"),
    [
        ("1234567890123456789", True),
        ("9223372036854775807", True),
        ("-9223372036854775808", True),
        ("9223372036854775808", False),
        ("-9223372036854775809", False),
        ("0123456789012345678", False),
        ("12345678901234567890", False),
    ],
)
def test_a_column_is_of_integers_where_64_bits_hold_all(db, tmp_path, written, is_number):
    corpus = db.create_corpus("c")
    (tmp_path / "a.csv").write_text(f"text,n\na,{written}\nb,7\nc,\n")
    corpus.load(tmp_path / "a.csv")
    found = [row[0] for row in corpus.docs(returning="n")]
    assert found == ([int(written), 7, None] if is_number else [written, "7", None])
