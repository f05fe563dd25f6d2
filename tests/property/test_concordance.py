"""KWIC, NGRAMS, TRACE and SAMPLE equal brute force, over 1, 3 and many segments, with documents deleted."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_corpora import IDS, corpora, loaded, places

from ngramdb.api.statements import execute_all
from ngramdb.questions import kwic_order, kwic_plan, ngrams

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)


def pieces(document, position, n, window):
    """Tokens left, in the match, right."""
    left = document[max(0, position - window) : position]
    return left, document[position : position + n], document[position + n : position + n + window]


def in_order(lines, key, descending):
    """Sorted by a key; lines that agree in it as they come."""
    return sorted(lines, key=key, reverse=descending)


NGRAMS = st.lists(st.sampled_from(IDS[:4]), min_size=1, max_size=3)
WINDOWS = st.sampled_from([0, 1, 2, 3, 12])
# Above 1, small groups of lines are sorted by whole contexts at once.
GROUP_SIZES = st.sampled_from([0, 3, 512])
# Below the number of lines, the first ones are kept piece by piece.
PIECES = st.sampled_from([32, 1 << 20])


@EXAMPLES
@given(corpora(), NGRAMS, WINDOWS, st.none() | st.integers(0, 4), st.integers(0, 3))
def test_lines_are_all_occurrences_in_order(corpus, ngram, window, limit, offset):
    with loaded(corpus) as (c, documents):
        result = c.kwic(ngram, window=window, limit=limit, offset=offset)
        expected = []
        for doc_id, position in places(documents, ngram):
            left, match, right = pieces(documents[doc_id], position, len(ngram), window)
            shown = [
                "".join(f"{i} " for i in left),
                " ".join(map(str, match)),
                "".join(f" {i}" for i in right),
            ]
            expected.append((doc_id, position, *shown))
        assert result.summary["total"] == len(expected) == c.count(ngram)
        assert result.fetchall() == expected[offset:][:limit]
        descending = c.kwic(ngram, window=window, limit=limit, offset=offset, descending=True)
        assert descending.fetchall() == in_order(expected, lambda row: row[0], True)[offset:][:limit]


def literal(ngram):
    return f"[{', '.join(map(str, ngram))}]"


@EXAMPLES
@given(
    corpora(),
    NGRAMS,
    NGRAMS,
    st.sampled_from(["or", "and", "and not", "near", "not near"]),
    st.integers(0, 3),
    st.sampled_from([None, 0, 2]),
    st.none() | st.integers(0, 4),
)
def test_lines_of_an_expression_are_the_occurrences_that_count(corpus, first, second, joint, k, least, limit):
    with loaded(corpus) as (c, documents):
        one, other = places(documents, first), places(documents, second)
        having = {doc_id for doc_id, _ in other}
        near = {(i, p) for i, p in one for j, q in other if i == j and abs(p - q) <= k}
        expected = {
            "or": {(*at, len(first)) for at in one} | {(*at, len(second)) for at in other},
            "and": {(*at, len(first)) for at in one if at[0] in having},
            "and not": {(*at, len(first)) for at in one if at[0] not in having},
            "near": {(*at, len(first)) for at in near},
            "not near": {(*at, len(first)) for at in one if at not in near},
        }[joint]
        word = {"or": "OR", "and": "AND", "near": "AND"}.get(joint, "AND NOT")
        text = f"{literal(first)} {word} {literal(second)}" + (
            f" WITHIN {k} TOKENS" if "near" in joint else ""
        )
        where = "" if least is None else f" WHERE doc_id >= {least}"
        lines = sorted(line for line in expected if least is None or line[0] >= least)
        execute = c._bound.database
        found = run(execute, f"KWIC {text}{where} WINDOW 0")
        assert found.summary["total"] == len(lines) == run(execute, f"COUNT {text}{where}").fetchone()[0]
        rows = found.fetchall()
        assert [(row[0], row[1], len(row[3].split())) for row in rows] == lines
        tail = "" if limit is None else f" LIMIT {limit}"
        ordered = run(execute, f"KWIC {text}{where} WINDOW 0 ORDER BY length / 2 DESC, doc_id{tail}")
        by = sorted(rows, key=lambda row: (-(len(documents[row[0]]) // 2), row[0]))
        assert ordered.fetchall() == by[:limit]


def run(database, text):
    return execute_all(database, text, None)


@EXAMPLES
@given(
    corpora(),
    NGRAMS,
    WINDOWS,
    st.booleans(),
    st.booleans(),
    st.none() | st.integers(0, 3),
    GROUP_SIZES,
    PIECES,
)
def test_lines_are_ordered_by_the_tokens_on_either_side(
    corpus, ngram, window, to_left, descending, limit, group_size, piece
):
    def key(place):
        left, _, right = pieces(documents[place[0]], place[1], len(ngram), window)
        return list(reversed(left)) if to_left else list(right)

    with (
        loaded(corpus) as (c, documents),
        patch.object(kwic_order, "SORTED_AT_ONCE", group_size),
        patch.object(kwic_plan, "PIECE", piece),
    ):
        order = "left" if to_left else "right"
        result = c.kwic(ngram, window=window, order_by=order, descending=descending, limit=limit, offset=1)
        expected = in_order(places(documents, ngram), key, descending)[1:][:limit]
        assert [row[:2] for row in result] == expected


TEXTS = st.lists(st.text(alphabet="abAB \n.é", max_size=12), max_size=8)


@EXAMPLES
@given(
    TEXTS,
    st.sampled_from([1, 3, 99]),
    st.text(alphabet="ab ", min_size=1, max_size=2),
    WINDOWS,
    st.booleans(),
    st.booleans(),
    GROUP_SIZES,
    PIECES,
    st.sampled_from(["chars", "bytes"]),
)
def test_contexts_of_spelled_texts_are_compared_as_texts(
    texts, n_segments, sought, window, to_left, descending, group_size, piece, tokenizer
):
    if tokenizer == "bytes":
        texts = [text.replace("é", "e") for text in texts]

    def key(row):
        words = row[2 if to_left else 4].casefold().split()
        return tuple(reversed(words)) if to_left else " ".join(words)

    with (
        loaded((texts, n_segments, set()), tokenizer) as (c, documents),
        patch.object(kwic_order, "SORTED_AT_ONCE", group_size),
        patch.object(kwic_plan, "PIECE", piece),
    ):
        order = "left" if to_left else "right"
        rows = c.kwic(sought, window=window).fetchall()
        assert [row[:2] for row in rows] == places(documents, list(sought))
        for doc_id, position, *shown in rows:
            assert tuple(shown) == pieces(documents[doc_id], position, len(sought), window)
        found = c.kwic(sought, window=window, order_by=order, descending=descending).fetchall()
        assert found == in_order(rows, key, descending)
        few = c.kwic(sought, window=window, order_by=order, descending=descending, limit=2).fetchall()
        assert few == found[:2]


@EXAMPLES
@given(
    st.lists(st.integers(0, 5), max_size=60), st.integers(0, 4), st.sampled_from([8, 16, 64]), st.booleans()
)
def test_the_first_lines_are_those_of_all(keys, n_first, piece, descending):
    def sort(lines):
        ordered = sorted(lines.tolist(), key=keys.__getitem__, reverse=descending)
        return (np.array(ordered[k : k + 3], dtype=np.int64) for k in range(0, len(ordered), 3))

    some = [*kwic_order.first_in_order(len(keys), n_first, sort, piece)]
    every = [*kwic_order.first_in_order(len(keys), len(keys), sort, len(keys) + 1)]
    assert [*np.concatenate([[], *some])][:n_first] == [*np.concatenate([[], *every])][:n_first]


@EXAMPLES
@given(TEXTS, st.text(alphabet="abAB ", min_size=1, max_size=3), WINDOWS, st.booleans())
def test_matched_text_stands_between_the_rest_of_the_text(texts, sought, window, ignore_case):
    fold = str.lower if ignore_case else str
    expected = [
        (doc_id, i)
        for doc_id, text in enumerate(texts)
        for i in range(len(text) - len(sought) + 1)
        if fold(text[i : i + len(sought)]) == fold(sought)
    ]
    for tokenizer in ("words", "chars"):
        with loaded((texts, 1, set()), tokenizer) as (c, _):
            rows = c.kwic(sought, window=99, match_text=True, ignore_case=ignore_case).fetchall()
            if tokenizer == "words":
                assert [(row[0], len(row[2])) for row in rows] == expected
            for doc_id, _, left, match, right in rows:
                assert left + match + right == texts[doc_id]
                assert fold(match) == fold(sought)
            for doc_id, _, left, match, right in c.kwic(
                sought, window=window, match_text=True, ignore_case=ignore_case
            ):
                assert left + match + right in texts[doc_id] and fold(match) == fold(sought)


# ---- n-grams --------------------------------------------------------------------------------------------


def counted(documents, n):
    """All n-grams with their counts, in order."""
    counts = Counter(
        tuple(document[i : i + n]) for document in documents for i in range(len(document) - n + 1)
    )
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


@EXAMPLES
@given(corpora(), st.integers(1, 10), st.none() | st.integers(0, 5), st.sampled_from([1, 3, 2**20]))
def test_ngrams_equal_brute_force(corpus, n, top, block):
    with loaded(corpus) as (c, documents), patch.object(ngrams, "BLOCK_NGRAMS", block):
        rows = c.ngrams(n, top=top).fetchall()
        expected = counted(documents.values(), n)
        assert [(tuple(ids), count) for _, ids, count in rows] == expected[:top]
        assert all(text == " ".join(map(str, ids)) for text, ids, _ in rows)


@EXAMPLES
@given(corpora(), NGRAMS, st.integers(1, 5), st.none() | st.integers(0, 5), st.booleans(), st.booleans())
def test_ngrams_of_some_documents_equal_brute_force(corpus, ngram, n, top, negated, few):
    condition = "NOT ?" if negated else "?"
    with (
        loaded(corpus) as (c, documents),
        patch.object(ngrams, "MAX_COUNTED_TOKENS", 2**24 if few else 0),
    ):
        chosen = [
            document for i, document in documents.items() if bool(places({i: document}, ngram)) != negated
        ]
        rows = c.ngrams(n, condition, top=top, params=[ngram]).fetchall()
        assert [(tuple(ids), count) for _, ids, count in rows] == counted(chosen, n)[:top]


def test_the_most_frequent_ngrams_of_a_sample_of_rows_are_those_of_all_rows():
    rng = np.random.default_rng(1)
    documents = [(rng.zipf(1.3, 2000) % 500).tolist() for _ in range(30)]
    for n_segments in (1, 3, 30):
        with loaded((documents, n_segments, {4, 5})) as (c, left):
            index = c._bound.current().index
            for n in (1, 2, 3):
                expected = counted(left.values(), n)
                for k in (1, 7, 40):
                    found = ngrams.frequent(index, n, k)
                    if n == 1 and k == 7 and n_segments < 30:
                        assert found is not None
                    if found is not None:
                        pairs = zip(map(tuple, found[0].tolist()), found[1].tolist(), strict=True)
                        assert list(pairs) == expected[:k]
                    rows = c.ngrams(n, top=k).fetchall()
                    assert [(tuple(ids), count) for _, ids, count in rows] == expected[:k]


# ---- spans ----------------------------------------------------------------------------------------------


@EXAMPLES
@given(corpora(), st.lists(st.sampled_from([*IDS[:4], -1]), max_size=60), st.integers(1, 3))
def test_spans_equal_brute_force(corpus, text, min_length):
    with loaded(corpus) as (c, documents):
        known = {
            tuple(document[i:j])
            for document in documents.values()
            for i in range(9)
            for j in range(i + 1, 12)
        }
        ends = []
        for i in range(len(text)):
            stop = i
            while stop < len(text) and tuple(text[i : stop + 1]) in known:
                stop += 1
            ends.append(stop)
        assert (c.match_lengths(text) + np.arange(len(text))).tolist() == ends
        expected = []
        for i, stop in enumerate(ends):
            if stop - i >= min_length and (i == 0 or ends[i - 1] < stop):
                found = places(documents, text[i:stop])
                doc_ids = sorted({doc_id for doc_id, _ in found})
                shown = " ".join(map(str, text[i:stop]))
                expected.append((i, stop - i, shown, len(found), doc_ids))
        assert c.trace(text, min_length, docs=None).fetchall() == expected
        assert [row[4] for row in c.trace(text, min_length, docs=1)] == [row[4][:1] for row in expected]
        arrays = c.trace_arrays(text, min_length)
        assert list(zip(*(array.tolist() for array in arrays), strict=True)) == [
            (start, length, count) for start, length, _, count, _ in expected
        ]


# ---- samples --------------------------------------------------------------------------------------------


@EXAMPLES
@given(corpora(), NGRAMS, st.integers(1, 6), st.integers(0, 2**63 - 1))
def test_samples_do_not_depend_on_segments(corpus, ngram, size, seed):
    documents, _, deleted = corpus
    lines, drawn = [], []
    for n_segments in (1, 3, 99):
        with loaded((documents, n_segments, deleted)) as (c, left):
            result = c.kwic(ngram, sample=size, seed=seed)
            lines.append([row[:2] for row in result])
            every = places(left, ngram)
            assert result.summary["total"] == len(every)
            assert len(lines[-1]) == min(size, len(every)) and set(lines[-1]) <= set(every)
            assert lines[-1] == sorted(lines[-1])
            larger = c.kwic(ngram, sample=size + 1, seed=seed).fetchall()
            assert set(lines[-1]) <= {row[:2] for row in larger}
            drawn.append([row[0] for row in c.sample(size, seed=seed)])
            assert len(drawn[-1]) == min(size, len(left)) and set(drawn[-1]) <= set(left)
    assert lines[0] == lines[1] == lines[2] and drawn[0] == drawn[1] == drawn[2]
