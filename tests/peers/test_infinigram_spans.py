"""infini-gram's `creativity` and `attribute` on `small.jsonl`: longest matches, and maximal spans.

Its positions count tokens in a stream with a separator before every document.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def test_longest_matches_at_every_token(corpus: Any, peer: dict[str, Any]) -> None:
    assert len(peer["creativity"]) == 38
    for entry in peer["creativity"]:
        lengths = corpus.match_lengths(entry["tokens"])
        assert (lengths + np.arange(len(lengths))).tolist() == entry["rs"]


def test_maximal_spans_and_where_they_stand(corpus: Any, connection: Any, peer: dict[str, Any]) -> None:
    lengths = [row[-2] for row in corpus.docs()]
    first = np.cumsum([1, *(length + 1 for length in lengths)])
    for entry in peer["attribute"]:
        expected = [(span["l"], span["r"] - span["l"], span["count"]) for span in entry["spans"]]
        rows = connection.execute(f"TRACE ? MIN LENGTH {entry['min_len']}", [entry["tokens"]]).fetchall()
        assert [(start, length, count) for start, length, _, count, _ in rows] == expected
        arrays = corpus.trace_arrays(entry["tokens"], entry["min_len"])
        assert list(zip(*(array.tolist() for array in arrays), strict=True)) == expected
        for span in entry["spans"]:
            lines = corpus.kwic(entry["tokens"][span["l"] : span["r"]], window=0)
            assert [first[line[0]] + line[1] for line in lines] == sorted(span["positions"])
    assert len(peer["attribute"]) == 25


def test_documents_of_spans_are_those_that_contain_them(corpus: Any, peer: dict[str, Any]) -> None:
    for entry in peer["attribute"]:
        for start, length, _, count, doc_ids in corpus.trace(entry["tokens"], entry["min_len"], docs=None):
            ids = entry["tokens"][start : start + length]
            assert doc_ids == [row[0] for row in corpus.docs("?", params=[ids])]
            assert len(doc_ids) <= count
