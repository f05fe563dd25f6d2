"""infini-gram's interface over corpora of several segments, with removed documents, sums and differences.

The peer's own answers are compared in tests/peers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.foreign_indexes import write_infini_gram

import ngramdb
from ngramdb.compat.infinigram import InfiniGramEngine, InfiniGramEngineDiff
from ngramdb.errors import InvalidArgument, NgramdbError

DOCUMENTS = [[1, 2, 3, 1, 2], [2, 3], [], [3, 1, 2, 3], [7, 7, 7], [1, 2, 3, 1, 2], [2, 1, 2]]
REMOVED = {2, 5}
KEPT = [document for i, document in enumerate(DOCUMENTS) if i not in REMOVED]
SEPARATOR, EOS = 65535, 9


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compat") / "ids.ngdb"
    with ngramdb.connect(path) as db:
        made = db.create_corpus("a", "tokens")
        for part in (DOCUMENTS[:3], DOCUMENTS[3:6], DOCUMENTS[6:]):
            made.append([(ids, {"first": ids[:1]}) for ids in part])
        made.delete("doc_id IN (2, 5)")
        db.create_corpus("b", "tokens").append([(KEPT[0], {}), (KEPT[3], {})])
        db.create_corpus("big", "tokens").append([([70000, 1], {})])
    return path


@pytest.fixture(scope="module")
def engine(database: Path) -> InfiniGramEngine:
    return InfiniGramEngine(f"{database}?corpus=a", EOS, token_dtype="u16")


def count(documents: list[list[int]], ids: list[int]) -> int:
    """Brute force: each document between two separators."""
    texts = [[SEPARATOR, *document, SEPARATOR] for document in documents]
    return sum(text[i : i + len(ids)] == ids for text in texts for i in range(len(text) - len(ids) + 1))


NGRAMS = [[1], [2], [1, 2], [2, 3, 1], [7, 7], [8], [1, 7], [1, 2, 3, 1, 2], [3, 1, 2, 3]]


@pytest.mark.parametrize("ids", NGRAMS, ids=str)
def test_counts_probabilities_and_distributions(engine: InfiniGramEngine, ids: list[int]) -> None:
    n = count(KEPT, ids)
    assert engine.count(ids) == {"count": n, "approx": False}
    assert engine.find(ids)["cnt"] == n
    for form in ([SEPARATOR, *ids], [*ids, SEPARATOR], [SEPARATOR, *ids, SEPARATOR]):
        assert engine.count(form)["count"] == count(KEPT, form)
    after = {token: count(KEPT, [*ids, token]) for token in (1, 2, 3, 7)}
    after[EOS] = count(KEPT, [*ids, SEPARATOR])
    expected = {token: {"cont_cnt": k, "prob": k / n} for token, k in after.items() if k}
    assert engine.ntd(ids) == {"prompt_cnt": n, "result_by_token_id": expected, "approx": False}
    for token, k in after.items():
        assert engine.prob(ids, token) == {"prompt_cnt": n, "cont_cnt": k, "prob": k / n if n else -1.0}
    start = engine.ntd([SEPARATOR, *ids])
    assert start["prompt_cnt"] == count(KEPT, [SEPARATOR, *ids])
    for token, one in start["result_by_token_id"].items():
        form = [SEPARATOR, *ids, SEPARATOR if token == EOS else token]
        assert one["cont_cnt"] == count(KEPT, form) == engine.prob(form[:-1], token)["cont_cnt"]


def test_the_empty_ngram_has_separators(engine: InfiniGramEngine) -> None:
    n_stream = sum(map(len, KEPT)) + len(KEPT)
    assert engine.count([])["count"] == n_stream
    assert engine.count([SEPARATOR])["count"] == len(KEPT)
    assert engine.prob([], 1) == {"prompt_cnt": n_stream, "cont_cnt": 4, "prob": 4 / n_stream}
    for answer in (engine.ntd([]), engine.infgram_ntd([8])):
        assert answer["prompt_cnt"] == n_stream
        assert sum(one["cont_cnt"] for one in answer["result_by_token_id"].values()) == n_stream
        assert answer["result_by_token_id"][EOS]["cont_cnt"] == len(KEPT)
    assert engine.infgram_prob([8], EOS)["cont_cnt"] == len(KEPT)


def test_the_longest_suffix_takes_a_contexts_place(engine: InfiniGramEngine) -> None:
    assert engine.infgram_prob([7, 1, 2], 3) == {
        "prompt_cnt": count(KEPT, [1, 2]),
        "cont_cnt": count(KEPT, [1, 2, 3]),
        "prob": count(KEPT, [1, 2, 3]) / count(KEPT, [1, 2]),
        "suffix_len": 2,
    }
    assert engine.infgram_prob([5, SEPARATOR, 1, 2], 3)["suffix_len"] == 3
    assert engine.infgram_ntd([5, SEPARATOR, 7])["result_by_token_id"] == {7: {"cont_cnt": 1, "prob": 1.0}}


@pytest.mark.parametrize("ids", [[1, SEPARATOR, 2], [SEPARATOR, SEPARATOR, 1]])
def test_ngrams_across_documents_are_refused(engine: InfiniGramEngine, ids: list[int]) -> None:
    for answer in (engine.count(ids), engine.prob(ids, 1), engine.ntd(ids)):
        assert "from one document into another" in answer["error"]
    assert "use count" in engine.find(ids)["error"]


def test_documents(engine: InfiniGramEngine) -> None:
    assert engine.get_total_doc_cnt() == len(DOCUMENTS)
    for number, document in enumerate(DOCUMENTS):
        found = engine.get_doc_by_ix(number, max_disp_len=3)
        if number in REMOVED:
            assert (found["blocked"], found["token_ids"], found["metadata"]) == (True, [], "")
            continue
        assert found["token_ids"] == document[:3] and not found["blocked"]
        assert (found["doc_ix"], found["doc_len"], found["disp_len"]) == (
            number,
            len(document),
            len(document[:3]),
        )
        assert json.loads(found["metadata"]) == {
            "path": "a",
            "linenum": number,
            "metadata": {"first": document[:1]},
        }


def test_rows_and_pointers_lead_to_documents(engine: InfiniGramEngine) -> None:
    for s, (lo, hi) in enumerate(engine.find([1, 2])["segment_by_shard"]):
        for rank in range(lo, hi):
            found = engine.get_doc_by_rank_2(s, rank, 2, 1)
            if found["blocked"]:
                continue
            at = found["needle_offset"]
            assert found["token_ids"][at : at + 2] == [1, 2] and len(found["token_ids"]) <= 4
            assert engine.get_docs_by_ranks([(s, rank)], max_disp_len=2) == [
                engine.get_doc_by_rank(s, rank, max_disp_len=2)
            ]
    (span,) = engine.attribute([7, 7], [], 1, 10, False)["spans"]
    documents = [engine.get_doc_by_ptr(doc["s"], doc["ptr"], 100) for doc in span["docs"]]
    assert [(one["token_ids"], one["needle_offset"]) for one in documents] == [([7, 7, 7], 0), ([7, 7, 7], 1)]


def test_draws_leave_removed_documents_out(engine: InfiniGramEngine) -> None:
    found = engine.search_docs([1, 2], maxnum=100)
    assert found["cnt"] == len(found["documents"]) == count(KEPT, [1, 2])
    assert found["idxs"] == list(range(found["cnt"]))
    assert REMOVED.isdisjoint(one["doc_ix"] for one in found["documents"])
    assert engine.search_docs([8]) == {"cnt": 0, "approx": False, "idxs": [], "documents": []}
    assert engine.search_docs([], maxnum=100)["cnt"] == sum(map(len, KEPT))


def places_of(ids: list[int]) -> set[tuple[int, int]]:
    """Documents and places of an n-gram."""
    n = len(ids)
    return {(i, at) for i, text in enumerate(KEPT) for at in range(len(text)) if text[at : at + n] == ids}


@pytest.mark.parametrize(
    ("cnf", "distance"),
    [
        ([[[3]], [[1]]], 1),
        ([[[3]], [[2]]], 1),
        ([[[1], [7]]], 5),
        ([[[1]], [[2]], [[3, 1]]], 2),
        ([[[7]], [[1]]], 100),
        ([[[2], [2]]], 1),
    ],
)
def test_clauses(engine: InfiniGramEngine, cnf: Any, distance: int) -> None:
    found = engine.find_cnf(cnf, max_diff_tokens=distance)
    assert found["cnt"] == engine.count_cnf(cnf, 1, distance)["count"]
    assert len(engine.search_docs_cnf(cnf, 100, max_diff_tokens=distance)["documents"]) == found["cnt"]
    places = [{place for ids in clause for place in places_of(ids)} for clause in cnf]
    counts = [sum(count(KEPT, ids) for ids in clause) for clause in cnf]
    first = places[counts.index(min(counts))]
    near = [
        (i, at)
        for i, at in first
        if all(any((i, at + d) in other for d in range(-distance, distance + 1)) for other in places)
    ]
    assert found["cnt"] == len(near)


def test_sums_and_differences(database: Path) -> None:
    both = InfiniGramEngine([f"{database}?corpus=a", f"{database}?corpus=b"], EOS, token_dtype="u16")
    rest = InfiniGramEngineDiff(f"{database}?corpus=a", f"{database}?corpus=b", EOS, token_dtype="u16")
    left = [KEPT[1], KEPT[2], KEPT[4]]
    for ids in NGRAMS:
        assert both.count(ids)["count"] == count([*KEPT, KEPT[0], KEPT[3]], ids)
        assert rest.count(ids)["count"] == count(left, ids)
        assert rest.search_docs(ids, 100)["cnt"] == count(left, ids)
    assert rest.creativity([7, 1, 2])["rs"] == [0, 3, 3]
    request = {"docs": [{"s": 0, "ptr": 0}], "span_ids": [1], "needle_len": 1, "max_ctx_len": 9}
    assert rest.get_docs_by_ptrs_2_grouped([request])[0][0]["blocked"]


def test_words_and_delimiters_bound_spans(database: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("1\n")
    words = InfiniGramEngine(
        f"{database}?corpus=a",
        EOS,
        token_dtype="u16",
        bow_ids_path=str(tmp_path / "words.txt"),
        precompute_unigram_logprobs=True,
        load_to_ram=True,
    )

    def spans(delimiters: list[int], bow: bool) -> list[tuple[int, int]]:
        found = words.attribute([1, 2, 3, 1, 2, 3], delimiters, 1, 100, bow)["spans"]
        assert all(one["unigram_logprob_sum"] < 0 for one in found)
        return [(one["l"], one["r"]) for one in found]

    assert spans([], False) == [(0, 5), (2, 6)]
    assert spans([2], False) == [(0, 2), (2, 5), (5, 6)]
    assert spans([], True) == [(0, 3), (3, 6)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"index_dir": "ids.ngdb?corpus=none"}, "no corpus 'none'"),
        ({"index_dir": "other.ngdb"}, "other.ngdb"),
        ({"index_dir": []}, "a path or a list of paths"),
        ({"index_dir": ["ids.ngdb?corpus=a", "x.ngdb"]}, "in one database; these are in 2"),
        ({"index_dir": "ids.ngdb?name=a"}, "corpus=…"),
        ({"token_dtype": "u64"}, "u8, u16 or u32, not 'u64'"),
        ({"eos_token_id": 70000, "token_dtype": "u16"}, "a token id up to 65535, not 70000"),
        ({"maxnum": 0}, "maxnum must be a whole number of at least 1, not 0"),
        ({"bow_ids_path": "words.txt"}, "one per line"),
    ],
)
def test_engines_that_make_no_sense(database: Path, options: dict[str, Any], message: str) -> None:
    (database.parent / "words.txt").write_text("one\n")
    given = {"index_dir": "ids.ngdb?corpus=a", "eos_token_id": EOS, **options}
    for name in ("index_dir", "bow_ids_path"):
        if isinstance(given.get(name), str):
            given[name] = str(database.parent / given[name])
    if isinstance(given["index_dir"], list):
        given["index_dir"] = [str(database.parent / one) for one in given["index_dir"]]
    with pytest.raises((NgramdbError, InvalidArgument), match=message):
        InfiniGramEngine(**given)


def test_large_ids_take_32_bits(database: Path) -> None:
    engine = InfiniGramEngine(f"{database}?corpus=big", EOS, token_dtype="u32")
    assert (engine.token_id_max, engine.count([70000, 1])["count"]) == (2**32 - 1, 1)
    assert engine.count([1, 2**32 - 1])["count"] == 1
    engine.close()


# ---- over the peer's own files ----


@pytest.mark.parametrize(
    ("version", "dtype"), [(4, np.uint16), (4, np.uint8), (5, np.uint16), (6, np.uint32)]
)
def test_folders_of_the_peer_are_opened_as_they_are(tmp_path: Path, version: int, dtype: Any) -> None:
    metadata = [{"n": i} for i in range(len(KEPT))]
    folder = str(write_infini_gram(tmp_path / "index", KEPT, dtype, 1, metadata, version))
    engine = InfiniGramEngine(index_dir=folder, eos_token_id=EOS, version=version)
    width = np.dtype(dtype).itemsize
    assert (engine.token_bytes, engine.token_id_max) == (width, 2 ** (8 * width) - 1)
    for ids in NGRAMS:
        n = count(KEPT, ids)
        assert engine.count(ids)["count"] == n
        counts = {token: one["cont_cnt"] for token, one in engine.ntd(ids)["result_by_token_id"].items()}
        after = {token: count(KEPT, [*ids, token]) for token in (1, 2, 3, 7)}
        after[EOS] = count(KEPT, [*ids, SEPARATOR])
        assert counts == {token: k for token, k in after.items() if k}
        assert len(engine.find_cnf([[ids]])["ptrs_by_shard"][0]) == n
    for number, document in enumerate(KEPT):
        found = engine.get_doc_by_ix(number)
        assert found["token_ids"] == document
        assert json.loads(found["metadata"]) == {
            "path": "0.jsonl",
            "linenum": number,
            "metadata": {"n": number},
        }
    for pointer in engine.find_cnf([[[7, 7]]])["ptrs_by_shard"][0]:
        assert engine.get_doc_by_ptr(0, pointer)["token_ids"] == [7, 7, 7]
    assert engine.get_doc_by_ptr(0, 0)["token_ids"] == KEPT[0]
    assert "error" in engine.get_doc_by_ptr(0, 3) or width == 1
    lo, hi = engine.find([7, 7])["segment_by_shard"][0]
    assert {engine.get_doc_by_rank(0, rank)["doc_ix"] for rank in range(lo, hi)} == {3}
    assert "error" in engine.get_doc_by_rank(0, 10**6) and "error" in engine.get_doc_by_rank(0, -1)
    assert engine.creativity([1, 2, 3, 9, 7])["rs"] == [3, 3, 3, 3, 5]
    spans = engine.attribute([1, 2, 3, 9, 7], [], 2, 100, False)["spans"]
    assert [(span["l"], span["r"], span["count"]) for span in spans] == [(0, 3, count(KEPT, [1, 2, 3]))]
    counts = engine.compute_unigram_counts(0)
    assert counts[7] == 3 and counts[engine.token_id_max] == len(KEPT)
    engine.close()


def test_counts_of_single_tokens_are_those_of_documents_that_are_left(tmp_path: Path) -> None:
    with ngramdb.connect(tmp_path / "c.ngdb") as db:
        corpus = db.create_corpus("c", tokenizer="tokens")
        corpus.append([([1, 2], {"x": 0}), ([3] * 50, {"x": 1}), ([1, 1, 1, 2], {"x": 0})])
        corpus.delete("x = 1")
        for _ in range(2):
            engine = InfiniGramEngine(str(tmp_path / "c.ngdb"), 9, token_dtype="u16")
            counts = engine.compute_unigram_counts(0)
            assert {token: n for token, n in counts.items() if n} == {1: 4, 2: 2, engine.token_id_max: 2}
            assert engine.count([3])["count"] == 0
            engine.close()
            corpus.compact()
        corpus.delete("doc_id >= 0")
        engine = InfiniGramEngine(str(tmp_path / "c.ngdb"), 9, token_dtype="u16")
        assert not any(engine.compute_unigram_counts(0).values())
        engine.close()


def test_several_folders_of_the_peer_are_a_sum_and_a_difference(tmp_path: Path) -> None:
    whole = str(write_infini_gram(tmp_path / "whole", KEPT))
    part = str(write_infini_gram(tmp_path / "part", KEPT[:2]))
    wide = str(write_infini_gram(tmp_path / "wide", KEPT, np.uint32))
    both = InfiniGramEngine([whole, part], EOS)
    less = InfiniGramEngineDiff(whole, part, EOS)
    for ids in NGRAMS:
        assert both.count(ids)["count"] == count([*KEPT, *KEPT[:2]], ids)
        assert less.count(ids)["count"] == count(KEPT[2:], ids)
    with pytest.raises(InvalidArgument, match=r"tokens of one width; these have \[2, 4\] bytes"):
        InfiniGramEngine([whole, wide], EOS)
    with pytest.raises(NgramdbError, match="its tokens are u16 by the size of its table, not u32"):
        InfiniGramEngine(whole, EOS, token_dtype="u32")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "x").write_text("")
    with pytest.raises(NgramdbError, match="is not an infini-gram index"):
        InfiniGramEngine(str(tmp_path / "empty"), EOS)
