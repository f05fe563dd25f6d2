"""Batches in every kind of array, through every verb that takes many n-grams or documents."""

from __future__ import annotations

import array
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.array_likes import ARRAYS, SEQUENCES

import ngramdb
from ngramdb.errors import InvalidArgument, PhraseWarning

NGRAMS = [[0, 1], [1, 2], [0]]
IDS, OFFSETS = [0, 1, 1, 2, 0], [0, 2, 4, 5]

#: Verbs that take ids and offsets.
BATCHES: dict[str, Callable[[Any, Any], Any]] = {
    "count_many": lambda c, given: c.count_many(given).tolist(),
    "dist_many": lambda c, given: [found.tolist() for found in c.dist_many(given)[:3]],
    "prob_many": lambda c, given: c.prob_many(given, [1, 1, 1]).count.tolist(),
    "prob_many, kneser_ney": lambda c, given: c.prob_many(given, [1, 1, 1], "kneser_ney").prob.tolist(),
    "prob_many, continuations": lambda c, given: c.prob_many([[0], [1], [1]], given).count.tolist(),
    "score_many": lambda c, given: c.score_many(given).all.count.tolist(),
}
#: Verbs that take a list of n-grams or documents only.
LISTS: dict[str, Callable[[Any, Any], Any]] = {
    "counts": lambda c, given: c.counts(given).fetchall(),
    "perplexity": lambda c, given: c.perplexity(given).per_document.tolist(),
    "agreement": lambda c, given: c.agreement(given).n_tokens.tolist(),
}
#: Columns of n-grams.
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "deque": deque,
    "iterator": iter,
    "pyarrow Array": lambda values: pytest.importorskip("pyarrow").array(values),
    "pyarrow ChunkedArray": lambda values: pytest.importorskip("pyarrow").chunked_array(
        [values[:1], values[1:]]
    ),
    "pandas": lambda values: pytest.importorskip("pandas").Series(values),
    "polars": lambda values: pytest.importorskip("polars").Series(values),
}


@pytest.fixture(scope="module")
def corpus() -> Iterator[Any]:
    with ngramdb.connect() as db:
        made = db.create_corpus("c", tokenizer="tokens")
        made.append([[0, 1, 1, 2], [0, 1, 0, 1]])
        yield made


@pytest.fixture(scope="module")
def of_texts() -> Iterator[Any]:
    with ngramdb.connect() as db:
        made = db.create_corpus("c")
        made.append(["a b b c", "a b a b"])
        yield made


@pytest.mark.parametrize("of_ids", [*ARRAYS, *SEQUENCES])
def test_a_pair_of_any_arrays_is_ids_and_offsets(corpus: Any, of_ids: str) -> None:
    every = {**ARRAYS, **SEQUENCES}
    expected = {verb: call(corpus, NGRAMS) for verb, call in BATCHES.items()}
    for of_offsets in every:
        given = every[of_ids](IDS), every[of_offsets](OFFSETS)
        is_pair = (of_ids in ARRAYS or of_offsets in ARRAYS) and "deque" not in (of_ids, of_offsets)
        for verb, call in BATCHES.items():
            if is_pair:
                assert call(corpus, given) == expected[verb], (verb, of_offsets)
            else:
                with pytest.raises(InvalidArgument, match="ids and offsets as a pair of arrays"):
                    call(corpus, given)
        for call in LISTS.values():
            with pytest.raises(InvalidArgument, match="offsets"):
                call(corpus, given)


@pytest.mark.parametrize("kind", [*ARRAYS, *SEQUENCES])
def test_each_ngram_of_a_list_is_any_array(corpus: Any, kind: str) -> None:
    made = {**ARRAYS, **SEQUENCES}[kind]
    for verb, call in {**BATCHES, **LISTS}.items():
        assert call(corpus, [made(ngram) for ngram in NGRAMS]) == call(corpus, NGRAMS), verb


@pytest.mark.parametrize("kind", [*ARRAYS, "list", "tuple"])
def test_continuations_are_any_array_of_token_ids(corpus: Any, kind: str) -> None:
    made = {**ARRAYS, **SEQUENCES}[kind]
    found = corpus.prob_many(NGRAMS, made([1, 1, 2]))
    assert found.count.tolist() == corpus.prob_many(NGRAMS, [[1], [1], [2]]).count.tolist()


@pytest.mark.parametrize("kind", [*ARRAYS, *SEQUENCES])
def test_counts_takes_one_ngram_in_any_array(corpus: Any, kind: str) -> None:
    assert corpus.counts({**ARRAYS, **SEQUENCES}[kind]([0, 1])).fetchall() == [(3,)]


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_ngrams_are_lists_of_them(corpus: Any, of_texts: Any, kind: str) -> None:
    for verb, call in {**BATCHES, **LISTS}.items():
        assert call(corpus, COLUMNS[kind](NGRAMS)) == call(corpus, NGRAMS), verb
    texts = ["a b", "b c", "a"]
    for verb in ("count_many", "dist_many", "score_many", "counts", "perplexity"):
        call = {**BATCHES, **LISTS}[verb]
        assert call(of_texts, COLUMNS[kind](texts)) == call(of_texts, texts), verb
    found = of_texts.prob_many(COLUMNS[kind](["a", "b"]), COLUMNS[kind](["b", "c"]))
    assert found.count.tolist() == [3, 1]


@pytest.mark.parametrize("kind", ["tuple", "pandas", "iterator"])
def test_a_column_of_texts_is_warned_of_like_a_list(of_texts: Any, kind: str) -> None:
    with pytest.warns(PhraseWarning, match="n-gram 1"):
        of_texts.count_many(COLUMNS[kind](["a", "b*"]))


@pytest.mark.parametrize(
    ("ids", "offsets", "message"),
    [
        (
            np.array(IDS),
            [0, 2, 4],
            "offsets must rise from 0 to the number of ids, 5; give two n-grams as a list",
        ),
        (IDS, np.array([1, 5]), "offsets must rise from 0"),
        (array.array("q", IDS), memoryview(array.array("q", [0, 4, 2, 5])), "offsets must rise from 0"),
        (np.array(IDS), np.array([0.0, 5.0]), "offsets must be integers, not of type float64"),
        (np.array(IDS), [[0, 5]], "offsets must be a flat sequence, not 2-dimensional"),
        (np.array(IDS), np.array([]), "offsets are empty"),
        ([0, True, 1], np.array([0, 3]), "a token id must be an integer, not bool"),
        (array.array("d", IDS), np.array(OFFSETS), "token ids must be integers, not of type float64"),
    ],
)
def test_a_pair_that_does_not_fit_is_refused(corpus: Any, ids: Any, offsets: Any, message: str) -> None:
    for verb, call in BATCHES.items():
        with pytest.raises(InvalidArgument, match=message):
            call(corpus, (ids, offsets))
            pytest.fail(f"{verb} took them", pytrace=False)


def test_an_array_that_cannot_be_read_is_named(corpus: Any) -> None:
    class OfAGpu:
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            raise TypeError("copy it to the CPU first")

    for given in (OfAGpu(), (OfAGpu(), OfAGpu()), [OfAGpu()]):
        with pytest.raises(InvalidArgument, match=r"OfAGpu as an array: copy it to the CPU first|not OfAGpu"):
            corpus.count_many(given)


def test_two_documents_in_a_tuple_may_not_look_like_offsets() -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="tokens")
        for given in ((np.array(IDS), np.array(OFFSETS)), (IDS, OFFSETS)):
            with pytest.raises(InvalidArgument, match=r"np\.split\(ids, offsets\[1:-1\]\)"):
                corpus.append(given)
        assert corpus.append((np.array([1, 2]), np.array([2, 3, 4]))).documents == 2
        assert corpus.append(np.split(np.array(IDS), OFFSETS[1:-1])).documents == 3
