"""Functions as tokenizers: their identity, and what they must not do."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

import ngramdb
from ngramdb.errors import BindError, CorruptionError, ExecutionError, InvalidArgument, PlanError
from ngramdb.tokenizers import callables, create_tokenizer, open_tokenizer


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callables, "_registered", {})


def lengths(texts: list[str]) -> list[list[int]]:
    """A word's id is its length."""
    return [[min(len(word), 19) for word in text.split()] for text in texts]


def given(**changed: Any) -> ngramdb.CallableTokenizer:
    return ngramdb.CallableTokenizer(**{"name": "lengths", "encode": lengths, "n_vocabulary": 20, **changed})


def test_a_corpus_is_opened_again_where_the_function_is_given_again(tmp_path: Any) -> None:
    texts = ["a bb a", "", "bb a ccc"]
    with ngramdb.connect(tmp_path / "db") as db:
        made = db.create_corpus("c", given())
        made.append(texts)
        assert made.count("x yy") == 1 and made.count("yy x") == 2
        assert "callable (lengths, 1)" in str(db.execute("DESCRIBE c").fetchall())
    callables._registered.clear()
    with ngramdb.connect(tmp_path / "db") as db:
        c = db.corpus("c")
        assert c.count([2, 1]) == 2
        assert [row[-1] for row in db.execute("DOCS").fetchall()] == texts
        assert db.execute("CHECK").fetchall() == []
        for ask in (lambda: c.count("a"), lambda: c.append(["a"]), lambda: db.execute('DIST GIVEN "a"')):
            with pytest.raises(
                (InvalidArgument, PlanError), match=r"version '1', .* which is not registered in this process"
            ):
                ask()
        assert c.n_documents == 3
        ngramdb.register_tokenizer(given())
        assert c.count("a") == 3
        c.append(["dddd a"])
        assert c.count("x") == 4
        db.execute("CREATE CORPUS d TOKENIZER 'lengths'")
        db.corpus("d").append(["q"])
        assert db.execute('COUNT "a" FROM c + d').fetchone() == (5,)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"version": "2"}, "the one registered has version '2'"),
        ({"n_vocabulary": 21}, "and 21 ids"),
        ({"encode": lambda texts: [ids[::-1] for ids in lengths(texts)]}, "returns other ids than that did"),
        ({"name": "others"}, "which is not registered in this process"),
    ],
)
def test_another_function_is_refused(changed: dict[str, Any], message: str) -> None:
    with ngramdb.connect() as db:
        made = db.create_corpus("c", given())
        made.append(["a bb"])
        callables._registered.clear()
        ngramdb.register_tokenizer(given(**changed))
        with pytest.raises(InvalidArgument, match=message):
            made.count("a")
        other = db.create_corpus("d", given(**{"version": "3", **changed}))
        other.append(["a"])
        with pytest.raises(BindError, match="different tokenizers"):
            db.execute("COUNT [1] FROM c + d")


@pytest.mark.parametrize(
    ("encode", "error", "message"),
    [
        (lambda texts: [[1, *ids, 2] for ids in lengths(texts)], InvalidArgument, "for the empty text"),
        (lambda texts: [[20] if text else [] for text in texts], ExecutionError, "the id 20 .* is 20"),
        (
            lambda texts: [[-1] if text else [] for text in texts],
            ExecutionError,
            "did not return token ids for the text",
        ),
        (
            lambda texts: [[1.5] if text else [] for text in texts],
            ExecutionError,
            "did not return token ids for the text",
        ),
        (lambda texts: [], ExecutionError, "ids of 0 texts for 1"),
        (lambda texts: 1 / 0, ExecutionError, "failed: ZeroDivisionError"),
    ],
)
def test_functions_that_are_no_tokenizers(encode: Any, error: type[Exception], message: str) -> None:
    with ngramdb.connect() as db:
        with pytest.raises(error, match=message):
            db.create_corpus("c", given(encode=encode))
        assert db.corpora() == []


def test_a_document_that_the_function_fails_on_is_not_loaded() -> None:
    def fragile(texts: list[str]) -> list[list[int]]:
        assert "boom" not in texts, "no booms"
        return lengths(texts)

    with ngramdb.connect() as db:
        made = db.create_corpus("c", given(encode=fragile))
        with pytest.raises(ngramdb.Error, match="no booms"):
            made.append(["fine", "boom"])
        assert made.n_documents == 0


@pytest.mark.parametrize(
    "wrong",
    [
        *({"name": name} for name in ("a b", "", 3)),
        *({"n_vocabulary": n} for n in (0, 2**33, 1.0)),
        *({"encode": encode} for encode in (None, "x")),
        {"version": 2},
        {"decode": 3},
    ],
)
def test_what_cannot_be_one_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        given(**wrong)


def test_other_objects_are_not_registered() -> None:
    with pytest.raises(InvalidArgument, match="takes a CallableTokenizer, not function"):
        ngramdb.register_tokenizer(lengths)  # type: ignore[arg-type]


def test_batches_arrays_and_pickles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callables, "BATCH_CHARS", 4)
    as_arrays = given(encode=lambda texts: [np.array(ids, dtype=np.int16) for ids in lengths(texts)])
    tokenizer = create_tokenizer(as_arrays)
    ids, offsets = tokenizer.encode_batch([b"a bb", b"", b"ccc", b"d"])
    assert ids.tolist() == [1, 2, 3, 1] and offsets.tolist() == [0, 2, 2, 3, 4]
    assert pickle.loads(pickle.dumps(tokenizer)).encode("a bb").tolist() == [1, 2]
    assert tokenizer.decode([1, 2]) == "1 2" and tokenizer.token_text(3) == "3"
    with pytest.raises(InvalidArgument, match="out of range"):
        tokenizer.decode([20])


def test_decode_and_spans_are_checked() -> None:
    named = given(decode=lambda ids: " ".join("x" * i for i in ids), spans=lambda text: [(0, 99)])
    tokenizer = create_tokenizer(named)
    assert tokenizer.decode([1, 2]) == "x xx"
    with pytest.raises(ExecutionError, match=r"not a pair \(start, stop\) for each of the 2 tokens"):
        tokenizer.places("a bb")
    with pytest.raises(ExecutionError, match=r"not a pair .*: \[0, 2\]"):
        create_tokenizer(given(spans=lambda text: [0, 2])).places("a bb")
    wrong = create_tokenizer(given(decode=lambda ids: ids))
    with pytest.raises(ExecutionError, match="did not return a text"):
        wrong.decode([1])


def test_a_damaged_definition_is_corrupt(as_file: Any) -> None:
    content = create_tokenizer(given()).definition()
    assert content is not None
    kept = json.loads(content.sections["tokenizer"].tobytes())
    for damage in ({"sample": None}, {"n_vocabulary": -1}, {"name": 3}):
        changed = json.dumps({**kept, **damage}).encode()
        content.sections["tokenizer"] = np.frombuffer(changed, dtype=np.uint8)
        with pytest.raises(CorruptionError):
            open_tokenizer("callable", as_file(content))
