"""infini-gram's protocol, AI2's attribution, OpenAI's completions, and batches."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import numpy as np
import pyarrow
import pyarrow.ipc
import pytest

import ngramdb
from ngramdb.api import Result
from ngramdb.api.verbs import row_formats
from ngramdb.cli.commands.services import ServedCompletion
from ngramdb.compat.infinigram import InfiniGramEngine, documents
from ngramdb.serve.app import Service
from ngramdb.serve.attribution import token_starts
from ngramdb.serve.openapi import description
from ngramdb.serve.problem_details import Limits
from ngramdb.serve.responses import json_of
from ngramdb.tokenizers.words import WordsTokenizer

# Busy machines take their time.
PATIENCE_S = 20.0
STREAM = "application/vnd.apache.arrow.stream"


def infini_gram(client: Any, query_type: str, **fields: Any) -> Any:
    found = client.json("/", "POST", {"index": "sayings", "query_type": query_type, **fields})
    assert found.pop("status") == 200, found
    assert found.pop("latency", 0.0) >= 0
    return found


# ---- infini-gram -----------------------------------------------------------------------------------------


def test_counts_of_infini_gram(client: Any) -> None:
    assert infini_gram(client, "count", query="flies like") == {
        "count": 3,
        "approx": False,
        "token_ids": [1, 2],
        "tokens": ["flies", "like"],
    }
    assert infini_gram(client, "count", query_ids=[1, 2])["count"] == 3
    assert infini_gram(client, "count", query="")["count"] == 22 + 4  # a separator for each document
    assert infini_gram(client, "count", query="never seen")["count"] == 0
    found = infini_gram(client, "count", query="time OR fruit AND an")
    for query in (
        "(time OR fruit) AND an",
        "((time) OR (fruit)) AND (an)",
        "( (time OR fruit) AND (( an )) )",
    ):
        in_parentheses = infini_gram(client, "count", query=query)
        assert (in_parentheses["token_ids"], in_parentheses["count"]) == (found["token_ids"], found["count"])
    apart = infini_gram(client, "count", query="(time) an (fruit) OR an")  # no parentheses around all of it
    assert len(apart["token_ids"]) == 1 and len(apart["token_ids"][0][0]) == 7
    assert found == {
        "count": 2,
        "approx": False,
        "token_ids": [[[0], [5]], [[3]]],
        "tokens": [[["time"], ["fruit"]], [["an"]]],
    }


def test_probabilities_of_infini_gram(client: Any) -> None:
    found = infini_gram(client, "prob", query="flies like an")
    assert (found["prob"], found["prompt_cnt"], found["cont_cnt"]) == (2 / 3, 3, 2)
    assert infini_gram(client, "prob", query="never flies like")["prob"] == -1.0
    found = infini_gram(client, "infgram_prob", query="never flies like an")
    assert (found["prob"], found["suffix_len"], found["longest_suffix"]) == (2 / 3, 2, "flies like")
    found = infini_gram(client, "ntd", query="flies like")
    assert found["result_by_token_id"] == {
        "3": {"cont_cnt": 2, "prob": 2 / 3, "token": "an"},
        "6": {"cont_cnt": 1, "prob": 1 / 3, "token": "a"},
    }
    assert (found["prompt_cnt"], found["approx"]) == (3, False)
    found = infini_gram(client, "infgram_ntd", query="never flies like", max_support=10)
    assert (found["prompt_cnt"], found["suffix_len"], found["longest_suffix"]) == (3, 2, "flies like")
    found = infini_gram(client, "infgram_ntd", query="never")
    assert (found["suffix_len"], found["longest_suffix"]) == (0, "")


def test_documents_of_infini_gram(client: Any) -> None:
    found = infini_gram(client, "find", query="an apple")
    assert found["cnt"] == 1
    (start, stop), rest = found["segment_by_shard"][0], found["segment_by_shard"][1:]
    assert (stop - start, rest) == (1, [])
    document = infini_gram(client, "get_doc_by_rank", query="an apple", s=0, rank=start)
    assert (document["doc_ix"], document["doc_len"], document["disp_len"]) == (3, 5, 5)
    assert [text for text, label in document["spans"] if label == "0"] == ["an apple"]
    assert "metadata" in document
    found = infini_gram(client, "find_cnf", query="time AND book")
    pointer = found["ptrs_by_shard"][0][0]
    document = infini_gram(client, "get_doc_by_ptr", query="time AND book", s=0, ptr=pointer, max_disp_len=20)
    assert {(text, label) for text, label in document["spans"] if label} == {("time", "0"), ("book", "1")}
    found = infini_gram(client, "search_docs", query="fruit", maxnum=2)
    assert (
        found["message"] == f"2 occurrences found. Displaying the documents of occurrences #{found['idxs']}"
    )
    assert sorted(one["doc_ix"] for one in found["documents"]) == [1, 3]
    assert infini_gram(client, "search_docs", query="never")["message"] == "0 occurrences found"


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"query_type": "count", "query": "a"}, 400, "Missing required field: 'index'"),
        ({"index": "sayings", "query": "a"}, 400, "Missing required field: 'query_type'"),
        ({"index": "x", "query_type": "count", "query": "a"}, 400, "Invalid index: x"),
        ({"index": "sayings", "query_type": "x", "query": "a"}, 400, "Invalid query_type: x"),
        ({"index": "sayings", "query_type": "close", "query": "a"}, 400, "Invalid query_type: close"),
        ({"index": "sayings", "query_type": "count"}, 400, "Exactly one of query and query_ids"),
        ({"index": "sayings", "query_type": "count", "query": "a", "query_ids": [1]}, 400, "Exactly one of"),
        ({"index": "sayings", "query_type": "count", "query_ids": ["a"]}, 200, "must be a list of integers"),
        ({"index": "sayings", "query_type": "count", "query_ids": [-1]}, 200, "out-of-range"),
        ({"index": "sayings", "query_type": "count", "query_ids": [2**40]}, 200, "out-of-range"),
        ({"index": "sayings", "query_type": "count", "query": 5}, 200, "query must be a string"),
        ({"index": "sayings", "query_type": "prob", "query": ""}, 200, "non-empty query"),
        (
            {"index": "sayings", "query_type": "ntd", "query": "a", "max_support": 0},
            200,
            "max_support must be",
        ),
        ({"index": "sayings", "query_type": "find", "query": "a", "rank": 0}, 200, "does not take"),
        ({"index": "sayings", "query_type": "get_doc_by_rank", "query": "a"}, 200, "does not take"),
        (
            {"index": "sayings", "query_type": "get_doc_by_rank", "query": "a", "s": 9, "rank": 0},
            200,
            "s must be",
        ),
    ],
)
def test_errors_of_infini_gram(client: Any, body: Any, status: int, error: str) -> None:
    found = client.json("/", "POST", body)
    assert found["status"] == status
    assert error in found["error"]


# ---- attribution -----------------------------------------------------------------------------------------


def test_attribution(client: Any) -> None:
    body = {"response": "I say fruit flies like a bird", "maximumSpanDensity": 1, "minimumSpanLength": 2}
    found = client.json("/sayings/attribution", "POST", body)
    assert found["inputTokens"] == ["I", "say", "fruit", "flies", "like", "a", "bird"]
    (span,) = found["spans"]
    assert (span["left"], span["right"], span["length"], span["count"]) == (2, 6, 4, 1)
    assert (span["text"], span["tokenIds"]) == ("fruit flies like a", [5, 1, 2, 6])
    assert span["unigramLogprobSum"] == pytest.approx(sum(math.log(n / 26) for n in (2, 4, 3, 2)), abs=1e-9)
    (document,) = span["documents"]
    assert (document["documentIndex"], document["documentLength"], document["needleOffset"]) == (1, 5, 0)
    assert document["text"] == document["textSnippet"] == "fruit flies like a banana"
    assert document["metadata"]["metadata"] == {"kind": "joke", "year": 1966, "day": "1966-01-02"}


def test_attribution_encodes_its_text_once(client: Any, monkeypatch: Any) -> None:
    body = {"response": "time flies like a bird"}
    first = client.json("/sayings/attribution", "POST", body)
    encoded = []
    encode = WordsTokenizer.encode
    monkeypatch.setattr(
        WordsTokenizer, "encode", lambda self, text: encoded.append(text) or encode(self, text)
    )
    known = "time flies like an arrow"
    assert client.json("/sayings/attribution", "POST", {"response": known})["inputTokens"] == known.split()
    assert encoded == [known]
    # A word that the vocabulary lacks is shown as it is.
    assert client.json("/sayings/attribution", "POST", body) == first
    assert first["inputTokens"] == ["time", "flies", "like", "a", "bird"]


def test_attribution_reads_all_documents_together(client: Any, folder: Any, monkeypatch: Any) -> None:
    body = {"response": "a fruit flies like an apple , time flies", "maximumSpanDensity": 1}
    body |= {"maximumContextLength": 2, "maximumContextLengthLong": 1, "maximumContextLengthSnippet": 1}
    with ngramdb.connect(folder, read_only=True) as db:
        engine, tokenizer = InfiniGramEngine.over(db.snapshot.view("sayings")), db.corpus("sayings").tokenizer
        ids = tokenizer.encode(body["response"])
        spans = engine.attribute(np.where(ids < 0, 99, ids).tolist(), [], 1, 10, False)["spans"]
        expected = [
            [
                (found["doc_ix"], found["token_ids"], found["needle_offset"], json.loads(found["metadata"]))
                for found in (
                    engine.get_doc_by_ptr_2(d["s"], d["ptr"], span["length"], 2) for d in span["docs"]
                )
            ]
            for span in spans
        ]
        texts = [[tokenizer.decode(one[1]) for one in some] for some in expected]
    # A call for each text, and metadata as JSON text, took a third of the time.
    monkeypatch.setattr(WordsTokenizer, "decode", lambda self, ids: pytest.fail("decoded one by one"))
    monkeypatch.setattr(documents, "metadata_line", lambda *of: pytest.fail("written as JSON to be read"))
    found = client.json("/sayings/attribution", "POST", body)["spans"]
    names = ("documentIndex", "tokenIds", "needleOffset", "metadata")
    assert len(found) > 2
    assert [[tuple(d[name] for name in names) for d in span["documents"]] for span in found] == expected
    assert [[d["text"] for d in span["documents"]] for span in found] == texts
    for span in found:
        for one in span["documents"]:
            at, stop = one["needleOffset"], one["needleOffset"] + span["length"]
            cut = one["tokenIds"][max(0, at - 1) : stop + 1]
            assert one["displayLengthLong"] == one["displayOffsetSnippet"] == len(cut)
            assert one["textLong"] == one["textSnippet"] and one["textLong"] in one["text"]


def test_integers_are_written_as_lists() -> None:
    arrays = {
        "a": np.arange(3, dtype=np.uint32),
        "b": [np.arange(4)[::-2]],
        "c": np.array([], dtype=np.uint64),
    }
    others = {"d": np.array([1.5]), "e": np.array([[1, 2]]), "f": np.array([True]), "g": 'a "text"'}
    lists = {"a": [0, 1, 2], "b": [[3, 1]], "c": [], "d": [1.5], "e": [[1, 2]], "f": [True], "g": 'a "text"'}
    assert json_of({**arrays, **others}) == json.dumps(lists).encode()
    assert (
        json_of({**arrays, "x": math.inf}) == json.dumps({k: lists[k] for k in "abc"} | {"x": None}).encode()
    )


def test_rows_are_copied_only_if_they_have_numbers_outside_json() -> None:
    rows = [(1.5, ["é", None]), (math.inf, [math.nan, 2])]
    copied: list[Any] = []
    lines = row_formats.json_lines(
        Result.of_rows(("a", "b"), rows), lambda value: copied.append(value) or row_formats.finite(value)
    )
    assert list(lines) == ['{"a": 1.5, "b": ["é", null]}'.encode(), b'{"a": null, "b": [null, 2]}']
    assert copied == [*rows[1]]


def test_numbers_that_json_lacks_are_null_and_others_are_not_looked_through(monkeypatch: Any) -> None:
    value = {"a": [1.5, float("inf"), {"b": float("nan")}], "c": np.float64(2), "d": np.arange(2)}
    assert json.loads(json_of(value)) == {"a": [1.5, None, {"b": None}], "c": 2.0, "d": [0, 1]}
    monkeypatch.setattr(row_formats, "finite", lambda value: pytest.fail("looked through"))
    assert json.loads(json_of({"a": [1.5, (2, 3)]})) == {"a": [1.5, [2, 3]]}


@pytest.mark.parametrize("method", ["length", "unigram_logprob_sum"])
def test_attribution_to_an_empty_corpus(served: Any, tmp_path: Any, method: str) -> None:
    with ngramdb.connect(tmp_path / "empty.ngdb") as db:
        db.create_corpus("empty")
    body = {"response": "time flies", "spanRankingMethod": method}
    found = served(Limits(time_limit=PATIENCE_S), tmp_path / "empty.ngdb").json(
        "/empty/attribution", "POST", body
    )
    assert (found["status"], found["spans"], found["inputTokens"]) == (200, [], ["time", "flies"])


def test_attribution_keeps_the_longest_spans(client: Any) -> None:
    body = {"response": "an apple , time flies like a book", "maximumSpanDensity": 0.1}
    spans = client.json("/sayings/attribution", "POST", body)["spans"]
    assert [span["text"] for span in spans] == ["time flies like"]
    body["delimiters"] = ["flies"]
    assert [s["text"] for s in client.json("/sayings/attribution", "POST", body)["spans"]] != [
        "time flies like"
    ]
    for wrong in ({}, {"response": 5}, {"response": "a", "maximumFrequency": 0}, {"response": "a", "x": 1}):
        assert client.json("/sayings/attribution", "POST", wrong)["status"] == 400


# ---- completions -----------------------------------------------------------------------------------------


def test_completions(client: Any) -> None:
    body = {"model": "sayings", "prompt": "fruit", "max_tokens": 2, "temperature": 0, "logprobs": 1}
    found = client.json("/v1/completions", "POST", body)
    (choice,) = found["choices"]
    assert (choice["text"], choice["finish_reason"], choice["index"]) == (" flies like", "length", 0)
    assert choice["logprobs"]["tokens"] == ["flies", "like"]
    assert choice["logprobs"]["text_offset"] == [6, 12]
    assert choice["logprobs"]["token_logprobs"] == pytest.approx([0.0, 0.0])
    assert choice["logprobs"]["top_logprobs"] == [{"flies": 0.0}, {"like": 0.0}]
    assert found["usage"] == {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    assert found["model"] == "sayings:infgram"


def test_a_text_is_scored_by_echo(client: Any, folder: Any) -> None:
    """Like evaluation harnesses: the prompt's own probabilities, and nothing generated."""
    body = {
        "model": "sayings:kneser_ney",
        "prompt": ["time flies", [5, 1]],
        "max_tokens": 0,
        "echo": True,
        "logprobs": 2,
    }
    found = client.json("/v1/completions", "POST", body)
    assert [choice["text"] for choice in found["choices"]] == ["time flies", "fruit flies"]
    first = found["choices"][0]["logprobs"]
    with ngramdb.connect(folder) as db:
        expected = db.corpus("sayings").score("time flies", model="kneser_ney").logprob
    assert first["token_logprobs"] == [None, pytest.approx(expected[1])]
    assert (first["tokens"], first["text_offset"][0]) == (["time", "flies"], 0)
    assert first["top_logprobs"][0] is None and len(first["top_logprobs"][1]) == 2


@pytest.mark.parametrize(
    ("tokenizer", "text", "starts"),
    [
        ("words", "we don't  know?", [0, 3, 6, 7, 10, 14]),
        ("words", "unheard thereof the cat", [0, 8, 16, 20]),
        ("words(lower)", "“YES,” İ said", [0, 1, 4, 5, 7, 9]),
        ("chars", "é “", [0, 1, 2]),
        ("bytes", "é “", [0, 0, 1, 2, 2, 2]),
    ],
)
def test_offsets_are_where_tokens_begin_in_the_text(tokenizer: str, text: str, starts: list[int]) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=tokenizer)
        corpus.append(["we don't know? “yes,” said the cat é"])
        found = token_starts(corpus.tokenizer, text, corpus.tokenizer.encode(text).tolist())
    assert found == starts


def test_completions_are_drawn_and_stopped(client: Any) -> None:
    body = {"model": "sayings", "prompt": "time", "max_tokens": 9, "n": 3, "seed": 4}
    found = client.json("/v1/completions", "POST", body)
    assert [choice["index"] for choice in found["choices"]] == [0, 1, 2]
    assert found["choices"] == client.json("/v1/completions", "POST", body)["choices"]
    body |= {"temperature": 0, "n": 1, "stop": ["like"], "prompt": "fruit"}
    (choice,) = client.json("/v1/completions", "POST", body)["choices"]
    assert (choice["text"], choice["finish_reason"]) == (" flies ", "stop")


@pytest.mark.parametrize("logprobs", [None, 0, 1])
@pytest.mark.parametrize("corpus", ["sayings", "letters"])
def test_completions_are_streamed(client: Any, corpus: str, logprobs: int | None) -> None:
    """The events, put together, are the answer."""
    prompt = {"sayings": ["fruit", "an"], "letters": ["bra"]}[corpus]
    body = {"model": corpus, "prompt": prompt, "max_tokens": 5, "n": 2, "seed": 1, "logprobs": logprobs}
    whole = client.json("/v1/completions", "POST", body)
    asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
    answer = client.ask("/v1/completions", "POST", asked)
    assert answer.headers["content-type"].startswith("text/event-stream")
    *events, end, rest = answer.body.decode().split("\n\n")
    assert (end, rest) == ("data: [DONE]", "")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert chunks.pop()["usage"] == whole["usage"]
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert len(chunks) > len(whole["choices"]) or corpus == "letters"
    for choice in whole["choices"]:
        parts = [part for chunk in chunks for part in chunk["choices"] if part["index"] == choice["index"]]
        assert "".join(part["text"] for part in parts) == choice["text"]
        assert [part["finish_reason"] for part in parts] == [None] * (len(parts) - 1) + [
            choice["finish_reason"]
        ]
        if logprobs is not None:
            for name, values in choice["logprobs"].items():
                given = [part["logprobs"][name] for part in parts if part["logprobs"]]
                assert [one for some in given for one in some or ()] == (values or [])
            assert [part["text"].strip() for part in parts if part["text"]] == choice["logprobs"]["tokens"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "nothing", "prompt": "a"},
        {"model": "sayings:gpt", "prompt": "a"},
        {"model": "sayings", "prompt": 5},
        {"model": "sayings", "prompt": "a", "stream": "perhaps"},
        {"model": "sayings", "prompt": "a", "stop": [5]},
        {"model": "sayings", "prompt": "a", "n": 10**6},
        {"model": "sayings", "prompt": "a", "temperature": "warm"},
        {"model": "sayings", "prompt": [[1, 2**40]]},
    ],
)
def test_wrong_completions(client: Any, wrong: Any) -> None:
    found = client.json("/v1/completions", "POST", wrong)
    assert found["status"] in (400, 404)
    assert found["error"]["message"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("suffix", "the end"),
        ("best_of", 3),
        ("best_of", True),
        ("presence_penalty", 0.5),
        ("frequency_penalty", -1),
        ("logit_bias", {"50256": -100}),
    ],
)
def test_what_completions_cannot_do_is_refused(client: Any, name: str, value: Any) -> None:
    body = {"model": "sayings", "prompt": "fruit", "max_tokens": 1, "temperature": 0}
    found = client.json("/v1/completions", "POST", {**body, name: value})
    assert found["status"] == 400
    assert found["error"] == {
        "message": f"{name} is not supported; omit it",
        "type": "invalid_request_error",
        "param": name,
        "code": None,
    }


def test_what_asks_for_nothing_special_is_taken(client: Any) -> None:
    body = {"model": "sayings", "prompt": "fruit", "max_tokens": 1, "temperature": 0}
    plain = {"suffix": None, "best_of": 1, "presence_penalty": 0, "frequency_penalty": 0.0, "logit_bias": {}}
    found = client.json("/v1/completions", "POST", {**body, **plain, "user": "me"})
    assert found["choices"] == client.json("/v1/completions", "POST", body)["choices"]


def test_models_are_listed(client: Any) -> None:
    assert [one["id"] for one in client.json("/v1/models")["data"]] == ["letters", "sayings"]


def test_a_model_is_described_and_an_unknown_one_is_not_found(client: Any) -> None:
    assert client.json("/v1/models/sayings")["id"] == "sayings"
    assert client.json("/v1/models/sayings:kneser_ney")["id"] == "sayings:kneser_ney"
    unknown = [client.ask("/v1/models/saying")]
    unknown += [client.ask("/v1/completions", "POST", {"model": "saying", "prompt": "a"})]
    for answer in unknown:
        error = json.loads(answer.body)["error"]
        assert (answer.status, error["code"], error["param"]) == (404, "model_not_found", "model")


# ---- batches ---------------------------------------------------------------------------------------------


def test_a_batch_of_texts_and_ids(client: Any) -> None:
    found = client.json(
        "/batch", "POST", {"corpus": "sayings", "ngrams": ["flies", [1, 2], "never seen", ""]}
    )
    assert found["counts"] == [4, 3, 0, 22]
    assert client.json("/sayings/batch.json", "POST", {"ngrams": [[1]]})["counts"] == [4]
    assert client.json("/sayings/@2/batch", "POST", {"ngrams": [[1]]})["counts"] == [0]
    body = {"contexts": ["flies like", "never"], "continuations": ["an", "a"]}
    found = client.json("/sayings/batch", "POST", body)
    assert (found["prob"], found["cont_count"], found["context_count"]) == ([2 / 3, None], [2, 0], [3, 0])


def test_a_batch_notes_what_python_would_warn_of(client: Any) -> None:
    texts = ["flies", "fli*", [1], "nothing"]
    found = client.json("/sayings/batch", "POST", {"ngrams": texts})
    assert found["counts"] == [4, 0, 4, 0]
    (note,) = found["notes"]
    assert note.startswith(
        'n-gram 1 (counted from 0), perhaps among others: "*" in "fli*" is a literal character'
    )
    body = table(ngram=pyarrow.array(["flies", "fli*"]))
    for target in ("/sayings/batch", "/sayings/@3/batch"):
        assert json.loads(client.ask(target, "POST", body).headers["x-notes"]) == [note]
    asked = {"contexts": ["flies like", "time"], "continuations": ["an", "fli*"]}
    found = client.json("/sayings/batch", "POST", asked)
    assert found["cont_count"] == [2, 0] and '"*" in "fli*"' in found["notes"][0]
    assert client.json("/sayings/batch", "POST", {"ngrams": ["flies", [99]]})["notes"] == []


def table(**columns: Any) -> bytes:
    file = io.BytesIO()
    made = pyarrow.table(columns)
    with pyarrow.ipc.new_stream(file, made.schema) as writer:
        writer.write_table(made, max_chunksize=2)
    return file.getvalue()


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array(["flies", "flies like", "never", ""]),
        pyarrow.array([[1], [1, 2], [99], []], pyarrow.list_(pyarrow.uint32())),
        pyarrow.array([[0], [1], [1, 2], [99], []], pyarrow.large_list(pyarrow.int64()))[1:],
    ],
    ids=["texts", "ids", "a slice of ids"],
)
def test_a_batch_as_a_table(client: Any, column: Any) -> None:
    answer = client.ask("/sayings/batch", "POST", table(ngram=column), content_type=STREAM)
    assert answer.headers["content-type"] == STREAM
    found = pyarrow.ipc.open_stream(io.BytesIO(answer.body)).read_all()
    assert found.to_pydict() == {"count": [4, 3, 0, 22]}


def test_a_batch_of_probabilities_as_a_table(client: Any) -> None:
    body = table(context=pyarrow.array(["flies like", "never"]), continuation=pyarrow.array(["an", "a"]))
    found = client.json("/sayings/batch.json", "POST", body)
    assert found["prob"] == [2 / 3, None]
    assert np.isnan([]).size == 0


def test_the_address_of_a_batch_has_a_model_and_that_of_other_bodies_nothing(client: Any) -> None:
    body = table(context=pyarrow.array(["never like"]), continuation=pyarrow.array(["an"]))
    whole = {"contexts": ["never like"], "continuations": ["an"], "model": "infgram"}
    expected = client.json("/sayings/batch.json", "POST", whole)["prob"]
    assert expected != client.json("/sayings/batch.json", "POST", body)["prob"] == [None]
    assert client.json("/sayings/batch.json?model=infgram", "POST", body)["prob"] == expected
    for target, data in (
        ("/sayings/batch.json?model=infgram", whole),
        ("/sayings/batch.json?model=none_such", body),
        ("/sayings/batch.json?more=1", {"ngrams": ["a"]}),
        ("/sayings/batch", {"ngrams": ["a"], "corpus": "letters"}),
        ("/sayings/verbs/count?where=kind+IS+NULL", {"arguments": {"ngram": "a"}}),
        ("/sayings/attribution?x=1", {"response": "time flies"}),
    ):
        assert client.json(target, "POST", data)["status"] == 400
    asked = {"model": "sayings", "prompt": "time", "max_tokens": 1}
    assert "error" in client.json("/v1/completions?temperature=0", "POST", asked)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"ngrams": "a"},
        {"ngrams": [None]},
        {"ngrams": [[0.5]]},
        {"ngrams": [[[1]]]},
        {"ngrams": [{"a": 1}]},
        {"ngrams": [[2**70]]},
        {"ngrams": ["a", " "]},
        {"contexts": [" "], "continuations": ["a"]},
        {"contexts": ["a"], "continuations": [""]},
        {"ngrams": ["a"], "contexts": []},
        {"ngrams": ["a"], "more": 1},
        {"contexts": ["a"], "continuations": []},
        {"contexts": ["a"], "continuations": ["a"], "model": 5},
        {"ngrams": ["a"], "corpus": 5},
        [1],
        b"\xff\xff\xff\xff garbage",
        b"ARROW1 garbage",
        b"{",
        b"[" * 100_000,
    ],
    ids=lambda body: str(body)[:30],
)
def test_wrong_batches(client: Any, body: Any) -> None:
    target = "/batch" if isinstance(body, dict) and "corpus" in body else "/sayings/batch"
    found = client.json(target, "POST", body)
    assert (found["ok"], found["status"]) == (False, 400)


# ---- the description, and suggestions --------------------------------------------------------------------


def test_the_description_is_valid(client: Any) -> None:
    validator = pytest.importorskip("openapi_spec_validator")
    found = client.json("/openapi.json")
    found.pop("status")
    validator.validate(found)
    assert found == json.loads(json.dumps(description("/")))


def test_what_is_described_is_there(client: Any) -> None:
    for path, methods in description("/")["paths"].items():
        target = path.replace("{corpus}", "sayings").replace("{doc_id}", "0")
        for method in methods:
            assert client.ask(target, method.upper()).status != 404, path


def test_statements_are_completed(client: Any) -> None:
    assert client.json("/complete.json?q=CO")["status"] == 404
    asking = client.service
    client.service = Service(asking.library, asking.limits, asking.access, ServedCompletion(PATIENCE_S))
    found = client.json("/complete.json?q=COUNT+%22a%22+FROM+s")["candidates"]
    assert [(one["text"], one["start"]) for one in found] == [("sayings", 15)]
    found = client.json("/complete.json?q=COUNT+DOCS+WHERE+ki&corpus=sayings")["candidates"]
    assert found[0]["text"] == "kind"
    for text in ("COPY+sayings+FROM+'/et", ".read+/et", "ATTACH+'/et"):
        assert all("/etc" not in one["text"] for one in client.json(f"/complete.json?q={text}")["candidates"])
    client.service.workers.close()


def test_a_batch_of_a_verb(client: Any) -> None:
    asked = {"arguments": {"given": "flies"}, "each": {"continuation": ["like", [-7], "when"]}}
    found = client.json("/sayings/verbs/prob", "POST", asked)
    first, second, third = found["answers"]
    assert found["ok"] and first["ok"] and third["value"]["of"][:1] == [0.25]
    assert (second["ok"], second["status"], second["type"]) == (False, 400, "InvalidArgument")
    whole = client.json(
        "/sayings/verbs/prob", "POST", {"arguments": {"given": "flies", "continuation": "like"}}
    )
    assert {**whole, "status": None} == {**first, "status": None}
    several = {"each": {"continuation": ["like", "an"], "given": ["flies", "like"]}}
    assert len(client.json("/sayings/verbs/prob", "POST", several)["answers"]) == 2
    for each in ([], {}, {"given": "a"}, {"given": ["a"], "continuation": []}, 1):
        assert client.json("/sayings/verbs/prob", "POST", {"each": each})["status"] == 400
    unknown = client.json("/sayings/verbs/prob", "POST", {"each": {"other": [1, 2]}})
    assert [one["status"] for one in unknown["answers"]] == [400, 400]


def test_a_batch_of_a_verb_has_limits(served: Any) -> None:
    asked = {"each": {"ngram": ["flies"] * 3}}
    few = served(Limits(time_limit=20.0, max_batch=2))
    assert few.json("/sayings/verbs/count", "POST", asked)["status"] == 413
    small = served(Limits(time_limit=20.0, max_body=400))
    assert small.json("/sayings/verbs/count", "POST", {"each": {"ngram": ["a"] * 10}})["status"] == 413
    late = served(Limits(time_limit=1e-9))
    assert late.json("/sayings/verbs/count", "POST", asked)["status"] == 408
