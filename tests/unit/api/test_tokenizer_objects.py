"""Tokenizers as objects: what a corpus stores of them, and what it leaves out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors

import ngramdb
from ngramdb.errors import BindError, InvalidArgument


@pytest.fixture
def library(subwords: Path) -> Tokenizer:
    return Tokenizer.from_file(str(subwords))


class FastTokenizer:
    """The interface of fast tokenizers in transformers."""

    def __init__(self, backend: Tokenizer) -> None:
        self.backend_tokenizer = backend

    def __len__(self) -> int:
        return 1

    def to_str(self) -> str:
        raise AssertionError("the backend's method must be called")


@pytest.mark.parametrize("wrap", [lambda library: library, FastTokenizer])
def test_an_object_makes_the_corpus_of_its_file(
    tmp_path: Path, library: Tokenizer, subwords: Path, wrap: Any
) -> None:
    with ngramdb.connect(tmp_path / "a.ngdb") as db:
        made = db.create_corpus("made", tokenizer=wrap(library))
        made.append(["the quick fox", "fox"])
        other = db.create_corpus("other", tokenizer=subwords)
        other.append(["the quick fox", "fox"])
        assert made.tokenizer.kind == "json"
        assert made.tokenizer.encode("a fox").tolist() == other.tokenizer.encode("a fox").tolist()
        assert made.count(" fox") == other.count(" fox") == 1
        with pytest.raises(BindError):
            db.create_corpus("made", tokenizer=library)
        assert db.create_corpus("made", library, if_not_exists=True).n_documents == 2
    with ngramdb.connect(tmp_path / "a.ngdb", read_only=True) as db:  # stored, not the object
        assert db.corpus("made").count(" fox") == 1


@pytest.mark.parametrize("fast", ["on", "off"])
def test_a_dropout_of_merges_is_left_out_with_a_note(subwords: Path, fast: str) -> None:
    parts = json.loads(subwords.read_text("utf-8"))
    parts["model"]["dropout"] = 0.5
    with ngramdb.connect() as db:
        db.execute(f"SET fast_tokenizer = {fast}")
        made = db.create_corpus("made", tokenizer=Tokenizer.from_str(json.dumps(parts)))
        report = made.append(["the quick brown fox"] * 20)
        assert made.count("the quick brown fox") == 20
        assert any("BPE dropout of 0.5 is ignored" in note for note in report.notes)


def test_special_tokens_and_limits_of_the_object_are_left_out(library: Tokenizer) -> None:
    plain = library.encode("the fox", add_special_tokens=False).ids
    library.add_special_tokens(["<bos>"])
    bos = library.token_to_id("<bos>")
    library.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", bos)])
    library.enable_truncation(2)
    library.enable_padding(length=50)
    with ngramdb.connect() as db:
        corpus = db.create_corpus("made", tokenizer=library)
        corpus.append(["the fox"])
        assert corpus.tokenizer.encode("the fox").tolist() == plain
        assert corpus.n_tokens == len(plain) and corpus.count([bos]) == 0
        library.normalizer = normalizers.Lowercase()  # later changes of the object are its own
        assert corpus.tokenizer.encode("THE").tolist() != library.encode("THE").ids


def test_what_cannot_be_stored_is_refused(library: Tokenizer) -> None:
    class Cut:
        def pre_tokenize(self, text: Any) -> None:
            raise AssertionError

    library.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Cut())
    with ngramdb.connect() as db:
        with pytest.raises(InvalidArgument, match="cannot be stored as a tokenizer"):
            db.create_corpus("made", tokenizer=library)
        for wrong in (17, None, str.split):
            with pytest.raises(
                InvalidArgument, match=f"a fast tokenizer of transformers, .*, not {type(wrong).__name__}"
            ):
                db.create_corpus("made", tokenizer=wrong)  # type: ignore[arg-type]
        assert db.corpora() == []


def test_transformers_own(library: Tokenizer) -> None:
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=library, bos_token="<bos>")
    with ngramdb.connect() as db:
        corpus = db.create_corpus("made", tokenizer=fast)
        assert corpus.tokenizer.encode("the fox").tolist() == fast.encode("the fox", add_special_tokens=False)
