"""Plans of curation: steps run once each, continue after an interruption, and are reported."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from inspect import signature

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ngramdb
from ngramdb.api.verbs import curating
from ngramdb.api.verbs.curating import curate
from ngramdb.curation.plans import KINDS
from ngramdb.errors import InvalidArgument


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "exam.txt").write_text("what is the capital of this country\n")
    (tmp_path / "scores.jsonl").write_text('{"id": 1, "edu": 5}\n{"id": 2, "edu": 1}\n')
    return {
        "corpus": "c",
        "steps": [
            {"fields": {"table": str(tmp_path / "scores.jsonl"), "on": "id"}},
            {"delete": "edu < 3"},
            {"decontaminate": {"against": str(tmp_path / "exam.txt"), "by": "gpt3", "n": 5}},
            {"statement": 'DELETE DOCS WHERE "spam"'},
            {"export": {"path": str(tmp_path / "out.jsonl")}},
        ],
    }


@pytest.fixture
def db():
    with ngramdb.connect() as db:
        db.create_corpus("c").append(
            [
                {"text": "one two", "id": 1},
                {"text": "three", "id": 2},
                {"text": "Q: what is the capital of this country", "id": 3},
                {"text": "some spam", "id": 4},
            ]
        )
        yield db


def test_steps_run_once_and_are_reported(db, plan, tmp_path):
    told = curate(db, plan, sample=2, report=tmp_path / "r.json")
    assert [step["removed_documents"] for step in told["steps"]] == [0, 1, 1, 1, 0]
    assert [len(step["examples"]) for step in told["steps"]] == [0, 1, 1, 1, 0]
    assert json.loads((tmp_path / "out.jsonl").read_text())["id"] == 1
    assert len(json.loads((tmp_path / "r.json").read_text())["steps"]) == 5
    version = db.version
    again = curate(db, plan, report=tmp_path / "r.html")
    assert all(step["done_before"] for step in again["steps"]) and db.version == version
    assert "Curation of c" in (tmp_path / "r.html").read_text()


def test_an_interrupted_plan_continues(db, plan, monkeypatch):
    def stop(connection, corpus, arguments):
        if corpus.n_documents:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setitem(curating._RUNS, "decontaminate", stop)
        with pytest.raises(KeyboardInterrupt):
            curate(db, plan)
    told = curate(db, plan)
    assert [step["done_before"] for step in told["steps"]] == [True, True, False, False, False]
    assert db.corpus("c").count_docs() == 1


def test_a_dry_run_changes_nothing_and_tells_what_the_run_does(db, plan, tmp_path):
    db.corpus("c").append([{"text": "one two", "id": 5}, {"text": "Yes: one two", "id": 6}])
    steps = [*plan["steps"], "delete_duplicates", {"delete_near_duplicates": {"n": 1}}]
    steps.append({"statement": f"COPY (DOCS) TO '{tmp_path / 'copied.jsonl'}'"})
    wanted = {"corpus": "c", "steps": steps}
    version, seen = db.version, []
    dry = ngramdb.curate(db, wanted, dry_run=True, sample=1, progress=seen.append)
    assert seen == dry["steps"] and dry["steps"][4]["outcome"] == {"would_write": 3}
    assert db.version == version and db.corpus("c").n_documents == 6
    assert not (tmp_path / "out.jsonl").exists() and not (tmp_path / "copied.jsonl").exists()
    told = ngramdb.curate(db, wanted, sample=1)
    assert (told["documents"], told["tokens"]) == (dry["documents"], dry["tokens"])
    for one, other in zip(told["steps"], dry["steps"], strict=True):
        assert one["removed_documents"] == other["removed_documents"] and one["examples"] == other["examples"]
    assert [step["removed_documents"] for step in told["steps"]] == [0, 1, 1, 1, 0, 1, 1, 0]
    assert told["steps"][5]["examples"] == [{"doc_id": 4, "id": 5, "kept": 0, "text": "one two"}]


def test_all_steps_run_again_on_documents_that_came_later(db):
    wanted = {"corpus": "c", "steps": [{"delete": '"spam"'}, "delete_duplicates"]}
    start = db.version
    ngramdb.curate(db, wanted)
    db.corpus("c").append(["more spam", "one two"])
    told = ngramdb.curate(db, wanted)
    assert [step["removed_documents"] for step in told["steps"]] == [1, 1]
    db.corpus("c").restore(start)
    assert [step["removed_documents"] for step in ngramdb.curate(db, wanted)["steps"]] == [1, 0]
    assert all(step["done_before"] for step in ngramdb.curate(db, wanted)["steps"])


def test_what_failed_is_in_the_report(db, tmp_path):
    (tmp_path / "two.jsonl").write_text('{"id": 1, "edu": 5}\n{"id": 1, "edu": 1}\n')
    steps = [{"delete": '"spam"'}, {"fields": str(tmp_path / "two.jsonl")}, "delete_duplicates"]
    with pytest.raises(InvalidArgument, match="different values"):
        curate(db, {"corpus": "c", "steps": steps}, report=tmp_path / "r.json")
    told = json.loads((tmp_path / "r.json").read_text())
    assert [step.get("removed_documents") for step in told["steps"]] == [1, None]
    assert "different values" in told["steps"][1]["error"]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"delete": "yeer > 3"}, "yeer"),
        ({"delete": "id >"}, "id >"),
        ({"delete_duplicates": {"where": "id = '1'"}}, "id is a number"),
        ({"delete_duplicates": {"keep": "newest"}}, "newest"),
        ({"delete_duplicates": {"against": "nowhere"}}, "nowhere"),
        ({"delete_near_duplicates": {"keep_by": ["idd"]}}, "idd"),
        ({"delete_near_duplicates": {"contained": 7}}, "7"),
        ({"cut_duplicates": {"length": 0}}, "0"),
        ({"cut_duplicates": {"length": 5, "gap_share": 2}}, "2"),
        ({"cut_spans": "TEXT ~ /(/"}, "unterminated"),
        ({"cut_spans": {"pattern": '"spam"', "on": "pages"}}, "pages"),
        ({"fields": "missing.jsonl"}, "missing"),
        ({"fields": {"table": "scores.parquet", "fields": "education"}}, "education"),
        ({"update": "edu = year + 1"}, "year"),
        ({"update": {"fields": {"edu": 3}, "where": "yeer = 1"}}, "yeer"),
        ({"quality": {"reference": "nowhere"}}, "nowhere"),
        ({"quality": {"reference": "c", "by": "language"}}, "language"),
        ({"decontaminate": {"against": "missing.txt"}}, "missing"),
        ({"decontaminate": {"against": "scores.jsonl", "by": "gpt5"}}, "gpt5"),
        ({"sample": {"tokens": "many"}}, "many"),
        ({"sample": {"tokens": 5, "by": "sauce"}}, "sauce"),
        ({"export": {"path": "x.jsonl", "format": "odt"}}, "odt"),
        ({"export": {"path": "x.jsonl", "where": "yeer = 1"}}, "yeer"),
        ({"statement": "DELETE DOCS WHERE"}, "not complete"),
        ({"statement": 'USE c; DELETE DOCS WHERE "a" FROM nowhere'}, "nowhere"),
        ({"statement": "COPY (DOCS) TO 'x.jsonl' (FORMAT odt)"}, "odt"),
    ],
)
def test_all_steps_are_checked_before_the_first_one_runs(db, tmp_path, monkeypatch, step, message):
    (tmp_path / "scores.jsonl").write_text('{"id": 1, "edu": 5}\n')
    pq.write_table(pa.table({"id": [1], "edu": [5]}), tmp_path / "scores.parquet")
    monkeypatch.chdir(tmp_path)
    version = db.version
    with pytest.raises(ngramdb.NgramdbError, match=message) as caught:
        curate(db, {"corpus": "c", "steps": [{"delete": '"spam"'}, step]}, report="r.json")
    assert db.version == version and db.corpus("c").n_documents == 4
    assert not (tmp_path / "x.jsonl").exists()
    told = json.loads((tmp_path / "r.json").read_text())
    assert [set(one) for one in told["steps"]] == [{"step", "error"}]
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__[-1].startswith("in step 2 of the plan")


def test_fields_that_a_step_makes_are_known_to_later_ones(db, tmp_path):
    pq.write_table(pa.table({"id": [1, 2], "edu": [5, 1]}), tmp_path / "scores.parquet")
    steps = [
        {"fields": str(tmp_path / "scores.parquet")},
        {"update": "half = edu / 2"},
        {"delete": "edu < 3 AND half < 2"},
        {"delete_duplicates": {"keep": "first", "where": "half IS NOT NULL"}},
        {"sample": {"tokens": 100, "by": "edu"}},
    ]
    wrong = [*steps, {"delete": "eedu = 3"}]
    version = db.version
    with pytest.raises(ngramdb.errors.BindError, match="eedu"):
        curate(db, {"corpus": "c", "steps": wrong})
    assert db.version == version
    told = curate(db, {"corpus": "c", "steps": steps})
    assert [step["removed_documents"] for step in told["steps"][:3]] == [0, 0, 1]


def test_a_step_may_read_what_an_earlier_one_writes(db, tmp_path):
    path = str(tmp_path / "out.jsonl")
    steps = [
        {"export": {"path": path, "where": '"spam"'}},
        {"decontaminate": {"against": path, "by": "gpt3", "n": 2}},
    ]
    told = curate(db, {"corpus": "c", "steps": steps})
    assert [step["removed_documents"] for step in told["steps"]] == [0, 1]


def test_checking_gives_no_warnings_and_does_not_load_what_a_statement_loads(db, tmp_path, recwarn):
    (tmp_path / "more.txt").write_text("four\nfive\n")
    sql = f"COPY c FROM '{tmp_path / 'more.txt'}'; COPY (DOCS) TO '{tmp_path / 'all.jsonl'}'"
    steps = [{"delete": '"Spam, spam"'}, {"statement": sql}]
    told = curate(db, {"corpus": "c", "steps": steps}, dry_run=True)
    assert told["documents"] == 5 and not (tmp_path / "all.jsonl").exists()
    assert db.corpus("c").n_documents == 4
    assert not [one for one in recwarn if "Spam" in str(one.message)][1:]


def test_arguments_of_a_step_are_those_of_its_verb():
    for kind, arguments in KINDS.items():
        if kind != "sample" and hasattr(ngramdb.Corpus, kind):
            assert set(arguments.names) <= set(signature(getattr(ngramdb.Corpus, kind)).parameters)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.json", '{"corpus": "c", "steps": [{"delete": "id = 1"}]}'),
        ("p.toml", 'corpus = "c"\n[[steps]]\ndelete = "id = 1"\n'),
        ("p.yaml", "corpus: c\nsteps:\n- delete: id = 1\n"),
    ],
)
def test_files(db, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    needed = {"p.json": "json", "p.toml": "tomllib", "p.yaml": "yaml"}[name]
    if find_spec(needed) is None:
        with pytest.raises(InvalidArgument, match=r"needs Py"):
            curate(db, tmp_path / name)
    else:
        assert curate(db, tmp_path / name)["steps"][0]["removed_documents"] == 1


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "at least one step"),
        ([{"deleet": "x"}], "unknown kind 'deleet'"),
        ([{"delete": {"were": "x"}}], "no argument 'were'"),
        ([{"fields": {"on": "id"}}], "needs the argument table"),
        ([{"delete": "x", "export": "y"}], "must have one key"),
        (["delete"], "needs the argument where"),
        ([{"delete_duplicates": "x"}], "takes its arguments by name"),
    ],
)
def test_wrong_plans(db, steps, message):
    with pytest.raises(InvalidArgument, match=message):
        curate(db, {"corpus": "c", "steps": steps})


def test_a_sample_is_a_step(db):
    db.corpus("c").append([{"text": "a b c", "source": source} for source in ("x", "y") * 9])
    step = {"sample": {"tokens": "0.03K", "by": "source", "weights": {"x": 2, "y": 1}}}
    told = ngramdb.curate(db, {"corpus": "c", "steps": [step]})
    outcome = told["steps"][0]["outcome"]
    assert (outcome["documents"], outcome["tokens"], outcome["removed"]) == (11, 33, 11)
    assert (told["documents"], told["tokens"]) == (11, 33)


def test_token_ids_are_exported(db, tmp_path):
    corpus = db.create_corpus("ids", tokenizer="tokens")
    corpus.append([[1, 2], [3]])
    export = {"path": str(tmp_path / "x.bin"), "format": "nanogpt", "separator": 0, "dtype": "uint16"}
    told = curate(db, {"corpus": "ids", "steps": [{"export": export}]})
    assert told["steps"][0]["outcome"] == {"written": 2}
    assert np.fromfile(tmp_path / "x.bin", "<u2").tolist() == [1, 2, 0, 3, 0]


@pytest.mark.parametrize("plan", [None, 5, [], ["delete"]])
def test_what_is_no_plan_is_refused(db, plan):
    with pytest.raises(ngramdb.errors.InvalidArgument, match="the path of a file or a dictionary"):
        curate(db, plan)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "p.json",
            '{"corpus": "c", "steps": ["delete_duplicates"], "corpus": "d"}',
            "the key 'corpus' twice",
        ),
        (
            "p.json",
            '{"corpus": "c", "steps": [{"cut_duplicates": {"length": 8, "length": 3}}]}',
            "'length' twice",
        ),
        (
            "p.yaml",
            "corpus: c\nsteps:\n- cut_duplicates: {length: 8, length: 3}\n",
            "'length' is given twice",
        ),
        ("p.yaml", "corpus: c\ncorpus: d\nsteps: [delete_duplicates]\n", "'corpus' is given twice"),
        ("p.json", '{"corpus": "c", "steps": ' + "[" * 100_000, "brackets"),
        ("p.yaml", "[" * 5_000, "brackets"),
    ],
)
def test_plans_with_repeated_keys_or_endless_brackets_are_refused(db, tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    if name.endswith(".yaml"):
        pytest.importorskip("yaml")
    with pytest.raises(ngramdb.errors.InvalidArgument, match=message):
        curate(db, tmp_path / name)


def test_keys_in_yaml_may_be_merged(db, tmp_path):
    pytest.importorskip("yaml")
    text = (
        "corpus: c\nsteps: [cut_duplicates: &a {length: 8, keep: none}, cut_duplicates: {<<: *a, length: 5}]"
    )
    (tmp_path / "p.yaml").write_text(text)
    told = curate(db, tmp_path / "p.yaml")
    assert told["steps"][1]["step"] == "cut_duplicates, length = 5, keep = 'none'"


def test_a_sample_without_any_document_is_refused(db):
    for arguments in ({"by": "id", "weights": {99: 1}}, {"where": "id = 99"}):
        with pytest.raises(ngramdb.errors.ExecutionError, match="the sample is empty"):
            curate(db, {"corpus": "c", "steps": [{"sample": {"tokens": 5, **arguments}}]})
    assert db.corpus("c").n_documents == 4
    assert db.corpus("c").keep_sample(1e9, seed=1).removed == 0


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes from Python 3.11 on")
def test_an_error_names_its_step() -> None:
    with ngramdb.connect() as db:
        db.create_corpus("c").append(["a b"])
        plan = {"corpus": "c", "steps": [{"delete": "x = 1"}]}
        with pytest.raises(ngramdb.NgramdbError) as caught:
            ngramdb.curate(db, plan)
        assert caught.value.__notes__ == ["in step 1 of the plan: delete, where = 'x = 1'"]
