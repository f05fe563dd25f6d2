"""Loads that are stopped report that, wherever it happens: never an invalid document."""

from __future__ import annotations

import io
import json
import os
import sys

import pytest
from support.connections import connection_of
from support.polls import repeated

import ngramdb
from ngramdb.errors import Interrupted, LoadError, QueryCancelled, TimeoutExceeded

HUGE = "time flies like an arrow " * 100_000


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("huge") / "huge.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in ("a", HUGE, "b")))
    return path


def library_tokenizer(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({"time": 0, "?": 1}, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    return str(tmp_path / "tokenizer.json")


LOADS = {
    "append": lambda c, file: c.append(["a", HUGE, "b"]),
    "load, fail": lambda c, file: c.load(file),
    "load, skip": lambda c, file: c.load(file, on_error="skip"),
    "COPY, fail": lambda c, file: connection_of(c).execute(f"COPY c FROM '{file}' ON ERROR FAIL"),
    "COPY, skip": lambda c, file: connection_of(c).execute(f"COPY c FROM '{file}' ON ERROR SKIP"),
}


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("kind", ["words", "chars", "bytes", "library"])
@pytest.mark.parametrize("seconds", [0.002, 0.05])
def test_a_timeout_is_a_timeout(db, file, tmp_path, load, kind, seconds):
    corpus = db.create_corpus("c", tokenizer=library_tokenizer(tmp_path) if kind == "library" else kind)
    version = db.version
    db.settings["timeout"] = seconds
    try:
        LOADS[load](corpus, file)
    except QueryCancelled as error:
        assert isinstance(error, TimeoutExceeded) and not isinstance(error, LoadError)
        assert db.version == version and corpus.n_documents == 0
    else:
        assert corpus.n_documents == 3  # it was fast enough


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_what_stops_in_tokenizing_is_no_fault_of_the_document(db, file, monkeypatch, on_error):
    corpus = db.create_corpus("c")
    calls = []

    def stopped(self, texts):
        calls.append(len(texts))
        raise Interrupted

    monkeypatch.setattr("ngramdb.tokenizers.words.WordsTokenizer.encode_batch", stopped)
    with pytest.raises(Interrupted):
        corpus.load(file, on_error=on_error)
    assert len(calls) == 1


def test_what_stops_while_one_document_is_tried_is_no_fault_of_it(db, file, monkeypatch):
    corpus = db.create_corpus("c")

    def refused(self, texts):
        raise Interrupted if len(texts) == 1 else ngramdb.ExecutionError("the tokenizer cannot")

    monkeypatch.setattr("ngramdb.tokenizers.words.WordsTokenizer.encode_batch", refused)
    with pytest.raises(Interrupted):
        corpus.append(["a", "b"])


def test_waiting_for_input_is_stopped_as_well(db, monkeypatch):
    corpus = db.create_corpus("c")
    reading, writing = os.pipe()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(open(reading, "rb")))  # noqa: SIM115
    db.settings["timeout"] = 0.1
    try:
        with pytest.raises(TimeoutExceeded):
            corpus.load("-")
        db.settings["timeout"] = 600
        with repeated(db.interrupt), pytest.raises(Interrupted):
            corpus.load("-")
    finally:
        os.close(writing)
