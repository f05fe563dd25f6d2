"""Models of SentencePiece, trained on the spot."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
from support.foreign_indexes import write_infini_gram

import ngramdb
from ngramdb.errors import BindError, InvalidArgument
from ngramdb.tokenizers.registry import create_tokenizer

sentencepiece = pytest.importorskip("sentencepiece")

TEXTS = [
    "time flies like an arrow",
    "fruit flies like  a banana",
    "Ａ café, naïve; 😀 \n the end </s>",
    "",
    " a ",
]


def trained(vocab_size, model_type="unigram"):
    """A model's file."""
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS[:2] * 50),
        model_writer=made,
        vocab_size=vocab_size,
        model_type=model_type,
        byte_fallback=True,
        minloglevel=2,
    )
    return made.getvalue()


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def model(request):
    """A model's file, and the library's processor of it."""
    content = trained(278, request.param)
    return content, sentencepiece.SentencePieceProcessor(model_proto=content)


def test_ids_are_those_of_the_library_without_beginnings_and_ends(model, tmp_path):
    content, library = model
    (tmp_path / "tokenizer.model").write_bytes(content)
    for given in (tmp_path / "tokenizer.model", library):
        tokenizer = create_tokenizer(given)
        ids, offsets = tokenizer.encode_batch([text.encode() for text in TEXTS])
        for k, text in enumerate(TEXTS):
            expected = library.encode(text)
            assert ids[offsets[k] : offsets[k + 1]].tolist() == tokenizer.encode(text).tolist() == expected
            assert not {library.bos_id(), library.eos_id()} & set(expected)
    assert tokenizer.n_vocabulary == 278
    assert pickle.loads(pickle.dumps(tokenizer)).encode(TEXTS[0]).tolist() == library.encode(TEXTS[0])
    assert tokenizer.token_text(library.encode("time")[0]).startswith(" ")


def test_a_corpus_keeps_its_model_and_gives_its_texts_back(model, tmp_path):
    content, library = model
    (tmp_path / "m.model").write_bytes(content)
    with ngramdb.connect(tmp_path / "db") as db:
        db.execute(f"CREATE CORPUS a TOKENIZER '{tmp_path / 'm.model'}'")
        db.corpus("a").append(TEXTS)
    (tmp_path / "m.model").unlink()
    with ngramdb.connect(tmp_path / "db") as db:
        corpus = db.corpus("a")
        assert [row[-1] for row in db.execute("DOCS").fetchall()] == TEXTS
        assert corpus.count("flies like") == corpus.count(library.encode("flies like")) == 2
        assert [row["match"] for row in db.execute('KWIC "flies like"').to_dicts()] == ["flies like"] * 2
        assert "sentencepiece (" in str(db.execute("DESCRIBE a").fetchall())
        db.create_corpus("b", library).append(TEXTS[:1])
        assert db.execute('COUNT "flies like" FROM a + b').fetchone() == (3,)
        assert db.execute("CHECK").fetchall() == []
        pile = db.attach(
            write_infini_gram(tmp_path / "index", [library.encode(TEXTS[0])]), "pile", tokenizer=library
        )
        assert pile.count("flies like") == 1


def test_other_models_are_refused(model, tmp_path):
    content, _ = model
    (tmp_path / "wrong.model").write_bytes(content[: len(content) // 2])
    with pytest.raises(InvalidArgument, match=r"wrong\.model is not a SentencePiece model"):
        create_tokenizer(tmp_path / "wrong.model")
    with ngramdb.connect() as db:
        for name, made in (("a", content), ("b", trained(276))):
            (tmp_path / f"{name}.model").write_bytes(made)
            db.create_corpus(name, tmp_path / f"{name}.model").append([TEXTS[0]])
        with pytest.raises(BindError, match="different tokenizers"):
            db.execute('COUNT "time" FROM a + b')


def test_many_texts_take_some_calls(model, monkeypatch):
    _, library = model
    monkeypatch.setattr("ngramdb.tokenizers.sentence_piece.BATCH_CHARS", 30)
    tokenizer = create_tokenizer(library)
    _, offsets = tokenizer.encode_batch([text.encode() for text in TEXTS * 3])
    assert np.diff(offsets).tolist() == [len(library.encode(text)) for text in TEXTS * 3]
    with pytest.raises(InvalidArgument, match="out of range"):
        tokenizer.decode([278])
