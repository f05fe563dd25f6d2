"""The engine's methods beside those of infini-gram itself, on an index that its own builder made."""

from __future__ import annotations

import inspect
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.infinigram_files import SEPARATOR, build, write_streams
from tokenizers import Tokenizer

import ngramdb
from ngramdb.compat.infinigram import InfiniGramEngine

N_DOCUMENTS = 240
EOS = 50256


@pytest.fixture(scope="module")
def texts(documents: list[dict[str, Any]], tokenizer_file: Path) -> list[list[int]]:
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    chosen = [document["text"] for document in documents[:N_DOCUMENTS]]
    return [one.ids for one in tokenizer.encode_batch(chosen, add_special_tokens=False)]


@pytest.fixture(scope="module")
def engines(
    documents: list[dict[str, Any]],
    texts: list[list[int]],
    tokenizer_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Any, InfiniGramEngine]:
    """The peer's and ours: one shard, one segment."""
    peer = pytest.importorskip("infini_gram.engine")
    folder = tmp_path_factory.mktemp("infinigram")
    rest = [{k: v for k, v in one.items() if k != "text"} for one in documents[:N_DOCUMENTS]]
    write_streams(folder / "index", texts, rest)
    build(folder / "index")
    with ngramdb.connect(folder / "web.ngdb") as db:
        db.create_corpus("web", tokenizer_file).append(documents[:N_DOCUMENTS])
    words = folder / "words.txt"
    words.write_text("\n".join(map(str, random.Random(1).sample(range(EOS), EOS // 2))))
    options: dict[str, Any] = {
        "eos_token_id": EOS,
        "bow_ids_path": str(words),
        "precompute_unigram_logprobs": True,
    }
    theirs = peer.InfiniGramEngine(index_dir=str(folder / "index"), **options)
    return theirs, InfiniGramEngine(index_dir=str(folder / "web.ngdb"), **options)


@pytest.fixture(scope="module")
def ngrams(texts: list[list[int]]) -> list[list[int]]:
    """Some that occur, at the ends of documents too, and some that do not."""
    chance = random.Random(3)
    found: list[list[int]] = [[], [EOS], [50255, 50255]]
    for _ in range(120):
        text = chance.choice(texts[:-1])
        length = chance.choice([1, 1, 2, 3, 5, 9, 30])
        start = len(text) - length if chance.random() < 0.2 else chance.randrange(len(text) - length)
        found.append(text[max(0, start) : start + length])
        if chance.random() < 0.3:
            found.append([chance.randrange(EOS), *found[-1]])
    return found


def test_counts(
    engines: tuple[Any, InfiniGramEngine], ngrams: list[list[int]], texts: list[list[int]]
) -> None:
    theirs, ours = engines
    begins = [[SEPARATOR], *([SEPARATOR, *text[:n]] for text in texts[:20] for n in (1, 3))]
    ends = [[*text[-2:], SEPARATOR] for text in texts[:20]]
    for ids in [*ngrams, *begins, *ends]:
        assert ours.count(input_ids=ids) == theirs.count(input_ids=ids), ids
    for ids in ngrams[1:]:
        assert ours.find(ids)["cnt"] == theirs.find(ids)["cnt"]
        assert ours.find(ids).keys() == theirs.find(ids).keys()


def test_probabilities(
    engines: tuple[Any, InfiniGramEngine], ngrams: list[list[int]], texts: list[list[int]]
) -> None:
    theirs, ours = engines
    n_left_out = 0
    for ids in ngrams:
        # A document's end: test_a_documents_end_has_one_probability.
        for token in {ids[-1] if ids else 13, 13, SEPARATOR} - {EOS}:
            used = ours.infgram_prob(ids, token)["suffix_len"]
            if token == SEPARATOR and used and texts[-1][-used:] == ids[-used:]:
                n_left_out += 1  # no separator follows the last document of the peer's
                continue
            assert ours.prob(ids, token) == theirs.prob(ids, token), (ids, token)
            assert ours.infgram_prob(ids, token) == theirs.infgram_prob(ids, token), (ids, token)
    assert n_left_out < 20
    for ids in ([SEPARATOR], [SEPARATOR, *ngrams[20]]):
        assert ours.prob(prompt_ids=ids, cont_id=13) == theirs.prob(prompt_ids=ids, cont_id=13)


def test_distributions(engines: tuple[Any, InfiniGramEngine], ngrams: list[list[int]]) -> None:
    theirs, ours = engines
    n = 0
    for ids in ngrams:
        for method in ("ntd", "infgram_ntd"):
            expected = getattr(theirs, method)(ids, max_support=1000)
            found = getattr(ours, method)(ids, max_support=1000)
            assert found.keys() == expected.keys()
            assert {**found, "result_by_token_id": 0, "approx": 0} == {
                **expected,
                "result_by_token_id": 0,
                "approx": 0,
            }
            if not expected["approx"]:
                assert found == expected, ids
                n += 1
    assert n > 100


def test_a_documents_end_has_one_probability(
    engines: tuple[Any, InfiniGramEngine], texts: list[list[int]]
) -> None:
    _, ours = engines
    for text in texts:
        for n in (1, 4):
            distribution = ours.ntd(text[-n:])
            end = distribution["result_by_token_id"][EOS]["cont_cnt"]
            assert ours.prob(text[-n:], EOS)["cont_cnt"] == end > 0
            assert (
                sum(one["cont_cnt"] for one in distribution["result_by_token_id"].values())
                == distribution["prompt_cnt"]
            )


def is_excerpt(found: dict[str, Any], text: list[int], needle: list[int]) -> bool:
    at = found["needle_offset"]
    shown = found["token_ids"]
    positions = [i for i in range(len(text)) if text[i : i + len(shown)] == shown]
    return shown[at : at + len(needle)] == needle[: len(shown) - at] and bool(positions)


def test_documents_by_number(engines: tuple[Any, InfiniGramEngine]) -> None:
    theirs, ours = engines
    assert ours.get_total_doc_cnt() == theirs.get_total_doc_cnt()
    for number in (0, 7, N_DOCUMENTS - 1):
        for found, expected in (
            (ours.get_doc_by_ix(number, max_disp_len=20), theirs.get_doc_by_ix(number, max_disp_len=20)),
            (ours.get_doc_by_ix(doc_ix=number), theirs.get_doc_by_ix(doc_ix=number)),
            (ours.get_doc_by_ix_2(number, 5), theirs.get_doc_by_ix_2(number, 5)),
            (ours.get_docs_by_ixs([number])[0], theirs.get_docs_by_ixs([number])[0]),
            (ours.get_docs_by_ixs_2([(number, 3)])[0], theirs.get_docs_by_ixs_2([(number, 3)])[0]),
        ):
            assert without_path(found) == without_path(expected)


def without_path(document: dict[str, Any]) -> dict[str, Any]:
    record = json.loads(document["metadata"])
    return {**document, "metadata": {**record, "path": ""}}


def test_documents_of_ngrams(
    engines: tuple[Any, InfiniGramEngine], ngrams: list[list[int]], texts: list[list[int]]
) -> None:
    """Excerpts of the same occurrences; which rows and pointers they have is each program's own."""
    theirs, ours = engines
    for ids in [one for one in ngrams if 2 <= len(one) <= 5][:25]:
        expected, found = theirs.find(ids), ours.find(ids)
        documents = [[], []]
        for k, (engine, rows) in enumerate(((theirs, expected), (ours, found))):
            for s, (lo, hi) in enumerate(rows["segment_by_shard"]):
                for rank in range(lo, min(hi, lo + 400)):
                    one = engine.get_doc_by_rank(s=s, rank=rank, max_disp_len=11)
                    two = engine.get_doc_by_rank_2(s=s, rank=rank, needle_len=len(ids), max_ctx_len=3)
                    documents[k].append([str(without_path(one)), str(without_path(two))])
        if expected["cnt"] <= 400:
            assert sorted(documents[0]) == sorted(documents[1])
        drawn = ours.search_docs(ids, maxnum=3, max_disp_len=8)
        assert drawn.keys() == theirs.search_docs(ids, maxnum=3, max_disp_len=8).keys()
        assert drawn["cnt"] == expected["cnt"] and len(drawn["documents"]) == min(3, drawn["cnt"])
        for document in drawn["documents"]:
            assert is_excerpt(document, texts[document["doc_ix"]], ids)
    for ids in ([], [50255, 50255]):
        assert ours.search_docs(ids)["cnt"] == (theirs.search_docs(ids)["cnt"] and ours.find([])["cnt"])


def occurrences(texts: list[list[int]], ids: list[int]) -> set[tuple[int, int]]:
    """Documents and places of an n-gram, by brute force."""
    found = set()
    for i, text in enumerate(texts):
        array = np.array(text)
        fits = np.ones(max(0, len(text) - len(ids) + 1), dtype=bool)
        for k, token in enumerate(ids):
            fits &= array[k : k + len(fits)] == token
        found |= {(i, at) for at in np.flatnonzero(fits).tolist()}
    return found


def near(texts: list[list[int]], cnf: list[list[list[int]]], distance: int) -> set[tuple[int, int]]:
    """Those of the rarest clause that have all others near them, by brute force."""
    each = [[occurrences(texts, ids) for ids in clause] for clause in cnf]
    counts = [sum(map(len, clause)) for clause in each]
    places = [set().union(*clause) for clause in each]
    return {
        (i, at)
        for i, at in places[counts.index(min(counts))]
        if all(any((i, at + d) in other for d in range(-distance, distance + 1)) for other in places)
    }


@pytest.mark.parametrize("distance", [3, 100])
def test_clauses(
    engines: tuple[Any, InfiniGramEngine], ngrams: list[list[int]], texts: list[list[int]], distance: int
) -> None:
    theirs, ours = engines
    chance = random.Random(distance)
    short = [one for one in ngrams if 1 <= len(one) <= 3]
    for _ in range(6):
        cnf = [chance.sample(short, chance.choice([1, 2])) for _ in range(chance.choice([1, 2, 2, 3]))]
        expected = near(texts, cnf, distance)
        found = ours.find_cnf(cnf, max_diff_tokens=distance)
        assert found.keys() == theirs.find_cnf(cnf).keys() and not found["approx"]
        assert found["cnt"] == len(expected)
        assert ours.count_cnf(cnf=cnf, max_diff_tokens=distance) == {"count": len(expected), "approx": False}
        documents = [
            ours.get_doc_by_ptr_2(s, ptr, 1, 0)["doc_ix"]
            for s, row in enumerate(found["ptrs_by_shard"])
            for ptr in row
        ]
        assert sorted(documents) == sorted(i for i, _ in expected)
        drawn = ours.search_docs_cnf(cnf, maxnum=2, max_diff_tokens=distance, max_disp_len=4)
        assert drawn["cnt"] == len(expected) and len(drawn["documents"]) == min(2, len(expected))
        assert {document["doc_ix"] for document in drawn["documents"]} <= set(documents)


def test_texts_are_traced_as_by_the_peer(
    engines: tuple[Any, InfiniGramEngine], texts: list[list[int]]
) -> None:
    theirs, ours = engines
    chance = random.Random(9)
    for number in range(40):
        ids = []
        for _ in range(4):
            text = chance.choice(texts)
            start = chance.randrange(len(text) - 12)
            ids += text[start : start + chance.randrange(1, 12)]
        assert ours.creativity(ids) == theirs.creativity(ids)
        delimiters = chance.sample(ids, 2) if number % 2 else [13, 198]
        options = (delimiters, chance.choice([0, 1, 2, 4]), chance.choice([1, 2, 5, 100]), number % 3 == 0)
        expected, found = theirs.attribute(ids, *options)["spans"], ours.attribute(ids, *options)["spans"]
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert one.keys() == other.keys()
            assert one["unigram_logprob_sum"] == pytest.approx(other["unigram_logprob_sum"])
            assert len(one["docs"]) == len(other["docs"]) == one["count"]
            shared = ("l", "r", "length", "count")
            assert {name: one[name] for name in shared} == {name: other[name] for name in shared}
            mine, yours = (
                sorted(
                    str(without_path(engine.get_doc_by_ptr_2(doc["s"], doc["ptr"], one["length"], 2)))
                    for doc in span["docs"]
                )
                for engine, span in ((ours, one), (theirs, other))
            )
            assert mine == yours


def test_counts_of_single_tokens(engines: tuple[Any, InfiniGramEngine]) -> None:
    theirs, ours = engines
    expected, found = theirs.compute_unigram_counts(0), ours.compute_unigram_counts(0)
    assert {token: n for token, n in found.items() if n} == {token: n for token, n in expected.items() if n}


BAD: list[tuple[str, tuple[Any, ...]]] = [
    ("count", ("x",)),
    ("count", ([70000],)),
    ("find", ([True],)),
    ("find", ((1, 2),)),
    ("prob", ([1], -1)),
    ("prob", ("", 1)),
    ("infgram_prob", ([1], 1.0)),
    ("ntd", ([1], 0)),
    ("infgram_ntd", ([-1],)),
    ("find_cnf", ([],)),
    ("find_cnf", ([[]],)),
    ("count_cnf", ([[[]]],)),
    ("count_cnf", ([[[1]]], 0)),
    ("count_cnf", ([[[1]]], 1, -1)),
    ("search_docs", ([1], 0)),
    ("search_docs", ([1], 1, 0)),
    ("search_docs_cnf", ([[[1]]], 0)),
    ("get_doc_by_ix", (N_DOCUMENTS,)),
    ("get_doc_by_ix", ("0",)),
    ("get_docs_by_ixs", ([0, -1],)),
    ("get_doc_by_rank_2", (1, 0, 1, 1)),
    ("get_doc_by_rank_2", (0, 0, -1, 1)),
    ("get_doc_by_ptr_2", (0, 0, 1, -1)),
    ("get_docs_by_ptrs_2", ([(0, 0, 1, -1)],)),
    ("get_docs_by_ixs_2", ([(0, -1)],)),
    ("creativity", ([70000],)),
    ("attribute", ([1], [], -1, 1, False)),
    ("attribute", ([1], [], 1, 0, False)),
    ("attribute", ([1], [], 1, None, False)),
    ("attribute", ([1], [], 1, 1, 0)),
    ("attribute", ([1], "x", 1, 1, False)),
]


@pytest.mark.parametrize(("method", "arguments"), BAD)
def test_refusals_are_the_peers(
    engines: tuple[Any, InfiniGramEngine], method: str, arguments: tuple[Any, ...]
) -> None:
    theirs, ours = engines
    expected, found = getattr(theirs, method)(*arguments), getattr(ours, method)(*arguments)
    assert found.keys() == {"error"}
    assert found["error"].replace("non-empty list", "list") == expected["error"].replace(
        "non-empty list", "list"
    )


def test_every_public_method_and_argument_is_there(engines: tuple[Any, InfiniGramEngine]) -> None:
    from infini_gram import engine as peer

    from ngramdb.compat import infinigram

    for name in ("InfiniGramEngine", "InfiniGramEngineDiff"):
        theirs, ours = getattr(peer, name), getattr(infinigram, name)
        for method in [one for one in vars(theirs) if not one.startswith("check_")]:
            if callable(getattr(theirs, method)):
                wanted = list(inspect.signature(getattr(theirs, method)).parameters)
                assert list(inspect.signature(getattr(ours, method)).parameters) == wanted, method
    theirs, ours = engines
    assert vars(theirs).keys() - {"engine"} <= set(dir(ours))
