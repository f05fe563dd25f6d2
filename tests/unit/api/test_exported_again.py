"""Exported documents can be loaded again, with the same corpus; if they cannot, the export reports it."""

from __future__ import annotations

import json
import warnings

import pytest
import tokenizers
from support.subwords import word_level, write_tokenizer

import ngramdb
from ngramdb import ExportWarning
from ngramdb.api.verbs import document_lines
from ngramdb.cli.main import main
from ngramdb.tokenizers.base import Encoder
from ngramdb.tokenizers.huggingface import HuggingFaceTokenizer


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


@pytest.mark.parametrize("kind, ids", [("bytes", [255, 254]), ("chars", [0xD800, 97])])
@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "arrow"])
def test_texts_that_only_show_ids_are_said(db, tmp_path, capsys, kind, ids, ending):
    corpus = db.create_corpus("c", kind)
    out = str(tmp_path / f"out.{ending}")
    corpus.append(["b", corpus.tokenizer.encode("a").tolist()])
    assert db.execute(f"COPY (DOCS FROM c) TO '{out}'").notes == ()
    corpus.append([ids])
    said = "1 document was written as a text that shows token ids"
    assert said in db.execute(f"COPY (DOCS FROM c) TO '{out}'").notes[0]
    assert db.execute(f"COPY (DOCS FROM c LIMIT 2) TO '{out}'").notes == ()
    if ending == "parquet":
        with pytest.warns(ExportWarning, match=said):
            assert corpus.export(out) == 3
        assert main(["export", str(tmp_path / "db.ngdb"), "c", out]) == 0
        assert f"note: {said}" in capsys.readouterr().err


def test_documents_of_ids_are_a_column_of_ids_in_parquet(db, tmp_path):
    corpus = db.create_corpus("c", "tokens")
    corpus.append([[1, 2], ([2**32 - 2], {"n": 1, "ids": "x", "text": "y"}), []])
    with pytest.warns(ExportWarning, match="^text: in columns"):  # the field, not the tokens
        assert corpus.export(tmp_path / "out.parquet") == 3
    again = db.create_corpus("again", "tokens")
    again.load(tmp_path / "out.parquet", metadata=["n", "metadata\\.ids", "metadata\\.text"])
    assert contents(again) == contents(corpus)
    rows = [
        {name: row[name] for name in row if "ids" in name or "text" in name}
        for row in again.docs().to_dicts()
    ]
    assert rows[1] == {"metadata\\.ids": "x", "metadata\\.text": "y", "text": str(2**32 - 2)}
    said = db.execute(f"COPY (DOCS FROM c) TO '{tmp_path / 'out.csv'}'").notes[0]
    assert "3 documents were written as a text" in said and "Parquet have the ids" in said


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "parquet", "csv"])
def test_ids_that_are_not_the_text_s_own_tokens_are_said(db, tmp_path, ending):
    corpus = db.create_corpus("c", spec_of("sub-words", tmp_path))
    own = corpus.tokenizer.encode("a fox").tolist()
    letters = [corpus.tokenizer.encode(letter).tolist()[0] for letter in "a fox"]
    assert corpus.tokenizer.decode(letters) == "a fox" and letters != own
    out = tmp_path / f"out.{ending}"
    corpus.append([own, "a fox"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if ending != "csv":
            corpus.export(out)
    corpus.append([letters, {"ids": letters, "n": 1}])
    said = "2 documents were written as text that has other tokens when it is loaded again"
    if ending != "csv":
        with pytest.warns(ExportWarning, match=said) as caught:
            assert corpus.export(out) == 4
        assert len(caught) == 1
    assert said in db.execute(f"COPY (DOCS FROM c) TO '{out}'").notes[0]


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
def test_other_tokens_around_a_cut_are_no_surprise(db, tmp_path, ending):
    corpus = db.create_corpus("c", spec_of("sub-words", tmp_path))
    corpus.append(["a fxxox", "a fox"])
    letters = [corpus.tokenizer.encode(letter).tolist()[0] for letter in "a fox"]
    db.execute("CUT SPANS WHERE TEXT ~ /xx/ ON CHARACTERS FROM c")
    tokens = [corpus.document(i).ids.tolist() for i in range(2)]
    assert [row["text"] for row in corpus.docs().to_dicts()] == ["a fox"] * 2 and tokens[0] != tokens[1]
    out = tmp_path / f"out.{ending}"
    assert db.execute(f"COPY (DOCS FROM c) TO '{out}'").notes == ()
    corpus.append([letters])
    (note,) = db.execute(f"COPY (DOCS FROM c) TO '{out}'").notes
    assert note.startswith("1 document was written as text that has other tokens")


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
def test_texts_are_compared_with_their_tokens_in_batches(db, tmp_path, monkeypatch, ending):
    """Tokenizing texts one by one takes thirty times as long."""
    sizes = []

    class Counted(Encoder):
        def encode_batch(self, texts):
            sizes.append(len(texts))
            return super().encode_batch(texts)

    corpus = db.create_corpus("c", spec_of("sub-words", tmp_path))
    corpus.append(["a fox"] * 100)
    monkeypatch.setattr(HuggingFaceTokenizer, "encoder", lambda self, fast=True: Counted(self))
    monkeypatch.setattr(HuggingFaceTokenizer, "encode", None)
    for n_bytes, batches in ((1 << 22, [100]), (len("a fox") * 60, [60, 40])):
        monkeypatch.setattr(document_lines, "BATCH_BYTES", n_bytes)
        sizes.clear()
        assert db.execute(f"COPY (DOCS FROM c) TO '{tmp_path / f'out.{ending}'}'").notes == ()
        assert sizes == batches


@pytest.mark.parametrize("n_bytes", [1, 8, 1 << 22])
def test_texts_that_the_tokenizer_refuses_are_counted(db, tmp_path, monkeypatch, n_bytes):
    """Ids can spell a word that the vocabulary lacks."""
    monkeypatch.setattr(document_lines, "BATCH_BYTES", n_bytes)
    library = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1}))  # without an unknown token
    library.decoder = tokenizers.decoders.ByteLevel()
    library.save(str(tmp_path / "words.json"))
    corpus = db.create_corpus("c", str(tmp_path / "words.json"))
    corpus.append(["a", [0, 0], [1], [1, 0, 1], "b"])
    assert [row[0] for row in corpus.docs(returning=["text"])] == ["a", "aa", "b", "bab", "b"]
    (note,) = db.execute(f"COPY (DOCS FROM c) TO '{tmp_path / 'out.jsonl'}'").notes
    assert "2 documents were written as text that has other tokens" in note


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


def test_fields_called_as_the_corpus_s_own_come_back_from_parquet(db, tmp_path):
    """Twice: no field is added or renamed with each round."""
    rows = [{"text": "a b", "doc_id": "x", "length": 7, "n": 1}, {"text": "c", "doc_id": "y", "length": 8}]
    db.create_corpus("c0").append(rows)
    for i in range(2):
        assert not db.execute(f"COPY (DOCS FROM c{i}) TO '{tmp_path / f'{i}.parquet'}'").notes
        db.create_corpus(f"c{i + 1}").load(tmp_path / f"{i}.parquet")
        assert db.corpus(f"c{i + 1}").docs().to_dicts() == db.corpus("c0").docs().to_dicts()
    # Columns that a load names are those of the file.
    corpus = db.create_corpus("named")
    corpus.load(tmp_path / "0.parquet", metadata=["metadata.doc_id", "doc_id"])
    assert [row[1:3] for row in corpus.docs()] == [(0, "x"), (1, "y")]
    db.create_corpus("plain").append([{"text": "a"}, {"text": "b"}])
    db.execute(f"COPY (DOCS FROM plain) TO '{tmp_path / 'plain.parquet'}'")
    corpus = db.create_corpus("plain again")
    assert not corpus.load(tmp_path / "plain.parquet").notes
    assert corpus.docs().columns == ("doc_id", "length", "text")


DOTTED = [
    ("x", {"meta.lang": "en", "m": {"k": 1}, "a\\b": 3}),
    ("y", {"meta.lang": "de", "m": {"k": 2}, "a\\b": 4}),
]


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow", "jsonl"])
def test_fields_with_dots_keep_their_names(tmp_path, ending):
    """As pandas.json_normalize names columns."""
    with ngramdb.connect() as db:
        db.create_corpus("c0").append(DOTTED)
        names = []
        for i in range(3):
            result = db.execute(f"COPY (DOCS FROM c{i}) TO '{tmp_path}/{i}.{ending}'")
            assert all("meta.lang" not in note for note in result.notes)
            kept = None if ending == "jsonl" else ["meta.lang", "m.k", "a\\b"]  # and no id, length and text
            db.create_corpus(f"c{i + 1}").load(tmp_path / f"{i}.{ending}", metadata=kept)
            file = (tmp_path / f"{i}.{ending}").read_bytes()
            names.append(db.corpus(f"c{i + 1}").docs().columns)
            assert b"meta.lang" in file and b"meta\\.lang" not in file
        assert names[0] == names[1] == names[2]
        for corpus in (db.corpus("c0"), db.corpus("c3")):
            assert corpus.count_docs("meta.lang = 'en'") == corpus.count_docs("`meta.lang` = 'en'") == 1
            assert corpus.count_docs("m.k > 1") == corpus.count_docs("`a\\b` = 4") == 1
            rows = corpus.docs(order_by=["meta.lang"], returning=["meta.lang", "m.k"])
            assert rows.fetchall() == [("de", 2), ("en", 1)]
            name = corpus.name
            rows = db.execute(f'COUNT "x", "y" FROM {name} GROUP BY meta.lang ORDER BY meta.lang DESC')
            assert rows.columns[1] == "meta\\.lang" and next(row[1] for row in rows) == "en"


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_load_finds_fields_with_dots_whatever_the_form(tmp_path, form):
    line = '{"a.b": "the text", "m.k": "x", "n": 1}\n' if form == "jsonl" else "a.b,m.k,n\nthe text,x,1\n"
    (tmp_path / f"d.{form}").write_text(line)
    with ngramdb.connect() as db:
        for i, names in enumerate((("a.b", "m.k"), ("a\\.b", "m\\.k"))):
            corpus = db.create_corpus(f"c{i}")
            report = corpus.load(tmp_path / f"d.{form}", text=names[0], metadata=[names[1]])
            assert not report.notes
            (document,) = corpus.docs().to_dicts()
            assert (document["text"], document["m\\.k"], "n" in document) == ("the text", "x", False)


def test_fields_that_differ_by_backquotes_alone_are_told_apart(tmp_path):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([("x", {"m.k": 1}), ("y", {"m": {"k": 2}}), ("z", {"a.b": {"c": 3}, "a": {"b.c": 4}})])
        names = {"m\\.k", "m.k", "a\\.b.c", "a.b\\.c"}
        assert names <= set(corpus.docs().columns)
        with pytest.warns(ExportWarning):
            corpus.export(tmp_path / "c.csv")
        assert names <= set((tmp_path / "c.csv").read_text().split("\n")[0].split(","))
        assert corpus.count_docs("`m.k` = 1") == corpus.count_docs("m.k = 2") == 1
        assert corpus.count_docs("`a.b`.c = 3") == corpus.count_docs("a.`b.c` = 4") == 1
        with pytest.raises(ngramdb.BindError, match="no document has a field"):
            corpus.count_docs("a.b.c = 3")


@pytest.mark.parametrize("ending", ["csv", "arrow", "parquet", "jsonl"])
def test_rows_of_a_sum_name_the_corpus_of_each_document(db, tmp_path, ending):
    """Ids are those of each corpus. Lines of JSON are those of the documents, and name none."""
    db.create_corpus("a").append([{"text": "x", "k": 1}])
    db.create_corpus("b").append([{"text": "y", "k": 2, "corpus": "z"}])
    db.execute(f"COPY (DOCS FROM a + b) TO '{tmp_path / f'ab.{ending}'}'")
    again = db.create_corpus("again")
    again.load(tmp_path / f"ab.{ending}")
    rows = [(row.get("corpus"), row.get(r"metadata\.corpus"), row["text"]) for row in again.docs().to_dicts()]
    if ending == "jsonl":
        assert rows == [(None, None, "x"), ("z", None, "y")]
    else:
        assert rows == [("a", None, "x"), ("b", "z", "y")]
