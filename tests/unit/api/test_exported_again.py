"""What is exported can be loaded again, and gives the same corpus; where it cannot, the export says so."""

from __future__ import annotations

import json
import warnings

import pytest
from subwords import word_level, write_tokenizer

import ngramdb
from ngramdb import ExportWarning
from ngramdb.cli.main import main


@pytest.fixture
def db(tmp_path):
    with ngramdb.connect(tmp_path / "db.ngdb") as db:
        yield db


def spec_of(kind, tmp_path):
    if kind == "sub-words":
        return str(write_tokenizer(tmp_path / "tokenizer.json"))
    return str(word_level(tmp_path / "words.json", ["a", "b"])) if kind == "word level" else kind


def contents(corpus):
    rows = corpus.docs().to_dicts()
    return [(row["text"], row.get("n")) for row in rows], corpus.n_tokens, corpus.ngrams(2).fetchall()


@pytest.mark.parametrize("kind", ["words", "chars", "bytes", "sub-words", "word level"])
@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_documents_of_ids_and_of_texts_are_loaded_again(db, tmp_path, kind, ending):
    corpus = db.create_corpus("c", spec_of(kind, tmp_path))
    corpus.append(["a b", "b a b"])
    ids = corpus.tokenizer.encode("b a").tolist()
    corpus.append([(ids, {"n": 1}), {"ids": ids}, ids, [], "a", ("b", {"n": 2})])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert corpus.export(tmp_path / f"out.{ending}") == 8
    again = db.create_corpus("again", spec_of(kind, tmp_path))
    again.load(tmp_path / f"out.{ending}")
    assert contents(again) == contents(corpus)


def test_ids_that_spell_no_text_are_written_as_ids_and_that_is_said(db, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    for kind, ids in (("bytes", [255, 65]), ("chars", [0xD800])):
        corpus = db.create_corpus(kind, kind)
        corpus.append(["b", ids])
        with pytest.warns(ExportWarning, match="1 document was written as token ids"):
            assert corpus.export(out) == 2
        assert json.loads(out.read_text().splitlines()[1]) == {"ids": ids}
        statement = f"COPY (DOCS FROM {corpus.name}) TO '{out}'"
        assert "1 document was written as token ids" in db.execute(statement).notes[0]
        assert main(["export", str(tmp_path / "db.ngdb"), corpus.name, str(out)]) == 0
        assert "note: 1 document was written as token ids" in capsys.readouterr().err
        if kind != "chars":
            db.execute(f"COPY {corpus.name} FROM '{out}' (IDS 'ids') ON ERROR SKIP")
            assert corpus.count(ids) == 2


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "parquet"])
def test_ids_that_are_not_the_text_s_own_tokens_are_said(db, tmp_path, ending):
    corpus = db.create_corpus("c", spec_of("sub-words", tmp_path))
    own = corpus.tokenizer.encode("a fox").tolist()
    letters = [corpus.tokenizer.encode(letter).tolist()[0] for letter in "a fox"]
    assert corpus.tokenizer.decode(letters) == "a fox" and letters != own
    out = tmp_path / f"out.{ending}"
    corpus.append([own, "a fox"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corpus.export(out)
    corpus.append([letters, {"ids": letters, "n": 1}])
    said = "2 documents were written as text that has other tokens when it is loaded again"
    with pytest.warns(ExportWarning, match=said) as caught:
        assert corpus.export(out) == 4
    assert len(caught) == 1
    assert said in db.execute(f"COPY (DOCS FROM c) TO '{out}'").notes[0]


@pytest.mark.parametrize("kind", ["words", "sub-words"])
def test_lines_that_came_with_ids_go_as_they_came(db, tmp_path, kind):
    corpus = db.create_corpus("c", spec_of(kind, tmp_path))
    corpus.append(["a b"])
    ids = corpus.tokenizer.encode("b a").tolist()
    lines = [json.dumps({"n": 3, "ids": ids}), json.dumps({"ids": ids[:1], "k": ":2"})]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    db.execute(f"COPY c FROM '{tmp_path / 'in.jsonl'}' (IDS 'ids')")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        corpus.export(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text().splitlines()[1:] == lines
    assert [warning.category for warning in caught] == ([ExportWarning] if kind == "words" else [])


def test_metadata_that_the_text_displaces_are_named(db, tmp_path):
    corpus = db.create_corpus("c")
    corpus.append([("a b", {"text": "x", "n": 1}), "c"])
    with pytest.warns(ExportWarning, match="1 document was written without the metadata field 'text'"):
        corpus.export(tmp_path / "out.jsonl")
    ids = db.create_corpus("ids", "tokens")
    ids.append([([1, 2], {"text": "x"}), ([1], {"ids": "y"})])
    with pytest.warns(ExportWarning, match="1 document was written without the metadata field 'ids'"):
        ids.export(tmp_path / "ids.jsonl")
