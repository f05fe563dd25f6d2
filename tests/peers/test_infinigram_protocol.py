"""infini-gram's protocol over HTTP, field by field: what its package answered on the same documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")

from ngramdb.serve.app import Service
from ngramdb.serve.database_pool import Hosted, Library
from ngramdb.serve.problem_details import Limits
from ngramdb.serve.running import ask

MOST = 60


@pytest.fixture(scope="module")
def service(connection: Any) -> Iterator[Service]:
    made = Service(Library([Hosted("peers", lambda: connection)]), Limits(time_limit=60.0))
    yield made
    made.workers.close()


def post(service: Service, **fields: Any) -> Any:
    body = json.dumps({"index": "small", **fields}).encode()
    answer = ask(service, "/", "POST", {"content-length": str(len(body))}, body)
    assert answer.status == 200, answer.body
    found = json.loads(answer.body)
    assert isinstance(found.pop("latency"), float)
    return found


def some(entries: list[Any]) -> list[Any]:
    return entries[:: max(1, len(entries) // MOST)]


def test_counts(service: Service, peer: Any) -> None:
    for one in some(peer["count"]):
        if peer["sep"] in one["q"][1:-1]:
            continue  # a sequence over several documents, which is refused
        found = post(service, query_type="count", query_ids=one["q"])
        assert (found["count"], found["approx"], found["token_ids"]) == (one["true"], False, one["q"])
        assert len(found["tokens"]) == len(one["q"])


def test_probabilities(service: Service, peer: Any) -> None:
    for query_type in ("prob", "infgram_prob"):
        for one in some(peer[query_type]):
            found = post(service, query_type=query_type, query_ids=[*one["prompt"], one["cont"]])
            assert (found["prompt_cnt"], found["cont_cnt"]) == (one["prompt_cnt"], one["cont_cnt"])
            expected = one["cont_cnt"] / one["prompt_cnt"] if one["prompt_cnt"] else -1.0
            assert found["prob"] == expected
            if query_type == "infgram_prob":
                assert found["suffix_len"] == one["suffix_len"]


def test_distributions(service: Service, peer: Any) -> None:
    for query_type in ("ntd", "infgram_ntd"):
        for one in some(peer[query_type]):
            found = post(service, query_type=query_type, query_ids=one["prompt"], max_support=1000)
            counts = {int(token): each["cont_cnt"] for token, each in found["result_by_token_id"].items()}
            assert counts == dict(one["dist"])
            assert found["prompt_cnt"] == one["prompt_cnt"]
            assert all(
                each["prob"] == each["cont_cnt"] / one["prompt_cnt"] and isinstance(each["token"], str)
                for each in found["result_by_token_id"].values()
            )


def test_conjunctions(service: Service, peer: Any) -> None:
    for one in some(peer["cnf"]):
        rarest = min(range(len(one["cnf"])), key=lambda i: one["clause_occurrences"][i])
        cnf = [one["cnf"][rarest], *(clause for i, clause in enumerate(one["cnf"]) if i != rarest)]
        found = post(service, query_type="count", query_ids=cnf, max_diff_tokens=10)
        assert (found["count"], found["approx"]) == (one["diff10"]["near_count"], False)
        places = post(service, query_type="find_cnf", query_ids=cnf, max_diff_tokens=10)
        assert places["cnt"] == sum(map(len, places["ptrs_by_shard"])) == one["diff10"]["near_count"]


def test_texts_are_tokenized_as_the_peers_server_does(
    service: Service, documents: list[dict[str, Any]]
) -> None:
    """With a blank in front, which GPT-2's tokens have; so a phrase is found amid a text."""
    found = post(service, query_type="count", query="United States")
    assert found["tokens"] == ["ĠUnited", "ĠStates"]
    assert found["count"] > 0
    found = post(service, query_type="search_docs", query="United States", maxnum=3, max_disp_len=40)
    for document in found["documents"]:
        assert " United States" in [text for text, label in document["spans"] if label == "0"]
        assert " United States" in documents[document["doc_ix"]]["text"]
