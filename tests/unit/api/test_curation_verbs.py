"""Documents and records out of a corpus, by its verbs; and what evaluation sets have in common with it."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from support.connections import connection_of

import ngramdb
from ngramdb.errors import ExecutionError, InvalidArgument, PlanError

LINES = [
    '{"text": "lorem ipsum dolor", "id": "a"}',
    '{"id":"b","text":"a fine page","n":1.0}',
    '{"text": "a fine\\u0020day", "id": "c", "source": "web"}',
]


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "in.jsonl").write_text("\n".join(LINES) + "\n")
    with ngramdb.connect() as db:
        c = db.create_corpus("c")
        c.load(tmp_path / "in.jsonl")
        yield c


def test_export_writes_lines_as_they_came(corpus, tmp_path):
    out = tmp_path / "out.jsonl"
    assert corpus.export(out) == 3
    assert out.read_text().splitlines() == LINES
    assert corpus.export(out, "? AND id = ?", params=["a fine", "c"]) == 1
    assert out.read_text().splitlines() == LINES[2:]
    corpus.delete("id = 'a'")
    assert corpus.export(str(out), format="jsonl") == 2
    assert out.read_text().splitlines() == LINES[1:]


@pytest.mark.filterwarnings("ignore::ngramdb.ExportWarning")
@pytest.mark.parametrize("style", ["regular", "odd blanks"])
def test_the_text_stays_in_its_field_when_a_document_changes(tmp_path, style):
    lines = [
        '{"id": 1, "page": {"body": "one two three", "z": 1}}',
        '{"text": "x", "page": {"body": "a two b"}}',
    ]
    if style == "odd blanks":
        lines = [line.replace(": {", ":  {") for line in lines]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    out = tmp_path / "out.jsonl"

    def written():
        assert db.execute("CHECK").fetchall() == []
        c.export(out)
        return [json.loads(line) for line in out.read_text().splitlines()]

    with ngramdb.connect() as db:
        c = db.create_corpus("c")
        c.load(tmp_path / "in.jsonl", text="page.body")
        c.cut_spans("two")
        expected = [
            {"id": 1, "page": {"body": "one  three", "z": 1}},
            {"text": "x", "page": {"body": "a  b"}},
        ]
        assert written() == expected
        c.update({"k": 5, "page.z": "new"})
        for one in expected:
            one.update(k=5)
            one["page"].update(z="new")
        assert written() == expected
        c.drop_fields("page", "id")
        for one in expected:
            del one["page"]["z"]
            one.pop("id", None)
        assert written() == expected
        c.append(["another"])
        c.delete('"another"')
        c.compact()
        assert written() == expected
        assert db.create_corpus("again").load(out, text="page.body").documents == 2
        c.update({"page.body": "taken"})
        assert written()[0] == {"text": "one  three", "page": {"body": "taken"}, "k": 5}


def test_export_writes_parquet(corpus, tmp_path):
    from pyarrow import parquet

    assert corpus.export(tmp_path / "out.parquet", '"fine"') == 2
    assert parquet.read_table(tmp_path / "out.parquet").column("text").to_pylist() == [
        "a fine page",
        "a fine day",
    ]


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "missing/out.jsonl", "."])
def test_a_file_that_cannot_be_written_is_an_error(corpus, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExecutionError):
        corpus.export(name)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_an_export_in_an_unknown_format_is_refused(corpus, tmp_path):
    with pytest.raises(InvalidArgument, match="jsonl, parquet"):
        corpus.export(tmp_path / "out.xml", format="xml")


def test_an_export_replaces_a_link_and_not_what_it_leads_to(corpus, tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "out.jsonl").symlink_to(tmp_path / "precious")
    corpus.export(tmp_path / "out.jsonl")
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "out.jsonl").is_symlink()


def test_removals_tell_the_setting_by_which_ngrams_were_matched(corpus):
    """Without it the statement would find other documents."""
    execute = connection_of(corpus).execute
    execute("SET match = 'text ignore case'")
    execute('DELETE DOCS WHERE "LOREM IPS"')
    assert corpus.delete("? AND n >= ?", params=["PAGE", 0]) == 1
    execute("SET match = tokens")
    assert corpus.delete('"day"') == 1
    assert [one.statement.partition("DELETE DOCS WHERE ")[2] for one in corpus.removals()] == [
        "\"LOREM IPS\" -- SET match = 'text ignore case'",
        "? AND n >= ? -- SET match = 'text ignore case', parameter 1: 'PAGE', parameter 2: 0",
        '"day"',
    ]


def test_removals_tell_what_was_removed_and_why(corpus, tmp_path):
    assert corpus.removals() == []
    corpus.delete('"lorem ipsum" OR n > ?', params=[0])
    corpus.delete("source = 'web'")
    assert [(one.n_documents, one.n_tokens, one.version) for one in corpus.removals()] == [
        (2, 6, 4),
        (1, 3, 5),
    ]
    first, second, third = corpus.removed_documents()
    assert (first.doc_id, second.doc_id, third.doc_id) == (0, 1, 2)
    assert first.details["id"] == "a"
    assert first.removal.statement == 'DELETE DOCS WHERE "lorem ipsum" OR n > ? -- parameter 1: 0'
    assert first.details["matches"] == [{"ngram": '"lorem ipsum"', "position": 0}]
    assert "matches" not in second.details
    assert (third.details["source"], third.removal.statement) == ("web", "DELETE DOCS WHERE source = 'web'")
    assert corpus.export_removals(tmp_path / "gone.jsonl") == 3
    rows = [json.loads(line) for line in (tmp_path / "gone.jsonl").read_text().splitlines()]
    assert [(row["doc_id"], row["id"], row["removal"]["version"]) for row in rows] == [
        (0, "a", 4),
        (1, "b", 4),
        (2, "c", 5),
    ]
    corpus.compact()
    assert len(list(corpus.removed_documents())) == 3


def test_decontaminate_removes_what_an_evaluation_set_has(corpus, tmp_path):
    (tmp_path / "exam.jsonl").write_text('{"question": "Is it a fine day?"}\n')
    found = corpus.decontaminate(tmp_path / "exam.jsonl", n=2, text="question", dry_run=True)
    assert (found.contaminated, found.removed, corpus.n_documents) == (1, 0, 3)
    report = corpus.decontaminate([tmp_path / "exam.jsonl"], n=2, text="question")
    assert (report.contaminated, report.removed, corpus.n_documents) == (1, 1, 2)
    name = str(tmp_path / "exam.jsonl")
    assert report.table == [(name, "web", 1, 1, 1.0), (name, None, 2, 0, 0.0)]
    assert corpus.count("day") == 0
    with pytest.raises(InvalidArgument, match="no evaluation set"):
        corpus.decontaminate([])


@pytest.mark.parametrize("tokenizer", ["bytes", "tokens"])
def test_overlap_with_a_corpus_of_another_tokenizer_is_refused(corpus, tokenizer):
    db = connection_of(corpus)
    db.create_corpus("other", tokenizer=tokenizer)
    with pytest.raises(ngramdb.errors.PlanError, match="other has another tokenizer"):
        db.execute("COUNT DOCS WHERE OVERLAP(other, 2) > 0 FROM c")


@pytest.mark.parametrize("n", [4, 2**40, 2**63 - 1])
@pytest.mark.parametrize("where", ["", ' WHERE NOT "lorem"'])
def test_ngrams_longer_than_any_document_are_none(corpus, n, where):
    assert connection_of(corpus).execute(f"NGRAMS ?{where} FROM c", [n]).fetchall() == []


@pytest.mark.parametrize(
    "statement",
    [
        "NGRAMS ?",
        "NGRAMS 2 TOP ?",
        "DOCS LIMIT ?",
        "DOCS SAMPLE ?",
        'GENERATE GIVEN "a" TOKENS 2 TEMPERATURE ? METHOD SAMPLE',
    ],
)
@pytest.mark.parametrize("number", [2**63, 10**400])
def test_numbers_that_no_statement_can_hold_are_refused_as_parameters_too(corpus, statement, number):
    with pytest.raises(ngramdb.errors.PlanError):
        connection_of(corpus).execute(statement, [number])


def test_overlap_in_ngrams_longer_than_any_document_is_that_of_whole_documents(corpus):
    db = connection_of(corpus)
    corpus.append(["one two three four five six", "one two three four five seven"])
    db.create_corpus("other").append(["zero one two three four five six"])
    for n in (13, 2**40, 2**63 - 1):
        assert db.execute("COUNT DOCS WHERE OVERLAP(other, ?) >= 0.5 FROM c", [n]).fetchall() == [(1,)]


def test_a_field_that_only_removed_documents_had_can_still_be_asked_for(db):
    # A script that removes by a field must run a second time, whether segments were merged meanwhile or not.
    corpus = db.create_corpus("flags")
    corpus.append(
        [{"text": "a", "toxic": True, "why": {"score": 1.5, "words": ["x"]}}, "b", {"text": "c", "n": 1}]
    )
    assert corpus.delete("toxic = TRUE") == 1
    questions = (
        "COUNT DOCS WHERE why.score > 1 FROM flags",
        'COUNT "b" FROM flags GROUP BY toxic',
        "DOCS FROM flags",
    )
    before = [db.execute(question).fetchall() for question in questions]
    fields = [row for row in db.execute("DESCRIBE flags") if row[0].startswith("field ")]
    for _ in range(2):
        corpus.compact()
        assert [db.execute(question).fetchall() for question in questions] == before
        assert [row for row in db.execute("DESCRIBE flags") if row[0].startswith("field ")] == fields
        assert corpus.delete("toxic = TRUE") == 0
        assert db.execute("CHECK").fetchall() == []


@pytest.mark.parametrize(
    ("where", "params"),
    [
        ('""', None),
        ("?", [""]),
        ("?", [[]]),
        ('"" MATCH TEXT', None),
        ("? IGNORE CASE", [""]),
        ('"fine" OR ?', [""]),
        ('NOT (NOT "")', None),
        ("n = 1 AND :x", {"x": ""}),
        ("COUNT(?) >= 1", [""]),
        ('NOT COUNT("") = 0', None),
        ('"fine" AND ? WITHIN 3 TOKENS', [""]),
        ('? AND "fine" WITHIN 3 TOKENS', [""]),
        ('"fine" AND NOT ? WITHIN 3 TOKENS', [""]),
        ('("fine" OR ?) AND "page" WITHIN SENTENCE', [""]),
    ],
)
def test_an_empty_phrase_removes_nothing(where, params):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([("a fine page", {"n": 1}), ("", {"n": 2}), "other"])
        for delete in (
            lambda: corpus.delete(where, params=params),
            lambda: db.execute(f"DELETE DOCS WHERE {where}", params),
        ):
            with pytest.raises(PlanError, match="the empty n-gram is in every document"):
                delete()
        assert corpus.n_documents == corpus.count_docs('""') == 3  # queries are harmless
        assert corpus.delete("doc_id >= 0") == 3


@pytest.mark.parametrize(
    ("where", "params"),
    [
        ("NOT doc_id IN ?", [[]]),
        ("doc_id NOT IN ?", [()]),
        ("n = 1 OR NOT (n IN :keep AND n > 0)", {"keep": np.array([], dtype=np.int64)}),
        ("NOT n IN ?", [[]]),
    ],
)
def test_an_empty_list_of_what_to_keep_removes_nothing(where, params):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([("a", {"n": 1}), ("b", {"n": 2}), "other"])
        for delete in (
            lambda: corpus.delete(where, params=params),
            lambda: db.execute(f"DELETE DOCS WHERE {where}", params),
        ):
            with pytest.raises(PlanError, match="NOT IN an empty list holds of every document"):
                delete()
        assert corpus.n_documents == 3
        corpus.count_docs(where, params=params)  # queries are harmless
        assert corpus.delete("doc_id IN ?", params=[[]]) == 0


def test_fields_of_a_corpus_without_documents() -> None:
    table = pa.table({"doc_id": [1], "mark": [2]})
    with ngramdb.connect() as db:
        added = db.create_corpus("c").add_fields(table, on="doc_id")
        assert (added.documents, added.unmatched, added.without_row) == (0, 1, 0)
