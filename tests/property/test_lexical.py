"""COLLOCATES, KEYWORDS, NGRAMS, DISPERSION and DIST BEFORE equal brute force over segments."""

from __future__ import annotations

import itertools
import math
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference_measures import ASSOCIATION, KEYNESS
from support.small_corpora import IDS, corpora, loaded, places

from ngramdb.api.statements import execute_all

EXAMPLES = settings(max_examples=80, deadline=None, derandomize=True)
NGRAMS = st.lists(st.sampled_from(IDS[:4]), min_size=1, max_size=3)
SIDES = st.sampled_from([0, 1, 2, 5, 2**32])
# A condition, and which documents it leaves.
CONDITIONS = st.sampled_from([None, 0, 1, 3])


def chosen(documents, least):
    """Return the queried documents, and the condition that selects them."""
    if least is None:
        return documents, ""
    return {i: document for i, document in documents.items() if i >= least}, f" WHERE doc_id >= {least}"


def close(found, expected):
    return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)


def windows(document, starts, n, left, right):
    """The positions left, and those right of occurrences."""
    lefts = {i for start in starts for i in range(max(0, start - left), start)}
    rights = {i for start in starts for i in range(start + n, min(len(document), start + n + right))}
    return lefts, rights


@EXAMPLES
@given(corpora(), NGRAMS, SIDES, SIDES, CONDITIONS, st.sampled_from(sorted(ASSOCIATION)), st.integers(1, 3))
def test_collocates(corpus, ngram, left, right, least, measure, min_count):
    if not left and not right:
        right = 1
    with loaded(corpus) as (c, documents):
        documents, where = chosen(documents, least)
        counts, every = Counter(), Counter(token for document in documents.values() for token in document)
        at = places(documents, ngram)
        n_window = 0
        for i, document in documents.items():
            starts = [position for doc_id, position in at if doc_id == i]
            lefts, rights = windows(document, starts, len(ngram), left, right)
            n_window += len(lefts | rights)
            counts.update(("f", document[k]) for k in lefts | rights)
            counts.update(("left", document[k]) for k in lefts)
            counts.update(("right", document[k]) for k in rights)
        n = sum(every.values())
        expected = []
        for token in every:
            f = counts["f", token]
            if f >= min_count:
                score = ASSOCIATION[measure](f, n_window, every[token], n, len(at))
                sides = counts["left", token], counts["right", token]
                expected.append((str(token), token, f, *sides, n_window, every[token], n, score))
        result = c.collocates(
            ngram,
            where.removeprefix(" WHERE ") or None,
            window=(left, right),
            by=measure,
            min_count=min_count,
        )
        assert result.summary == {"total": len(expected), "occurrences": len(at)}
        rows = result.fetchall()
        assert sorted(row[:-1] for row in rows) == sorted(row[:-1] for row in expected)
        scores = {row[1]: row[-1] for row in expected}
        assert all(close(row[-1], scores[row[1]]) for row in rows)
        assert [row[1] for row in rows] == [
            row[1] for row in sorted(rows, key=lambda row: (-row[-1], -row[2], row[1]))
        ]


def reduced_frequency(at, n):
    """ARF (Savický & Hlaváčová 2002): over all cyclic distances, at most the mean one."""
    mean = n / len(at)
    distances = [b - a for a, b in itertools.pairwise(at)] + [at[0] + n - at[-1]]
    return sum(min(distance, mean) for distance in distances) / mean


@EXAMPLES
@given(corpora(), NGRAMS, CONDITIONS, st.sampled_from([None, "doc_id", "doc_id / 2 * 2"]))
def test_dispersion(corpus, ngram, least, by):
    with loaded(corpus) as (c, documents):
        documents, where = chosen(documents, least)
        at = places(documents, ngram)
        per_part = 2 if by == "doc_id / 2 * 2" else 1
        parts = Counter()
        for i, document in documents.items():
            if document:
                parts[i // per_part] += len(document)
        f, n = len(at), sum(parts.values())
        counts = Counter(doc_id // per_part for doc_id, _ in at)
        row = c.dispersion(ngram, where.removeprefix(" WHERE ") or None, by=by).fetchone()
        assert row[:3] == (f, len(counts), len(parts))
        if not f:
            assert row[3:] == (None,) * 4
            return
        share = {i: size / n for i, size in parts.items()}
        dp = sum(abs(share[i] - counts[i] / f) for i in parts) / 2
        dkl = sum(counts[i] / f * math.log2(counts[i] / f / share[i]) for i in counts)
        starts, total = {}, 0
        for i, document in documents.items():
            starts[i] = total
            total += len(document)
        arf = reduced_frequency([starts[i] + position for i, position in at], n)
        assert close(row[3], dp) and close(row[5], dkl) and close(row[6], arf)
        norm = 1 - min(share.values())
        assert row[4] is None if len(parts) == 1 else close(row[4], dp / norm)


@EXAMPLES
@given(corpora(), st.lists(st.sampled_from(IDS[:4]), max_size=3))
def test_the_tokens_before_an_ngram(corpus, ngram):
    with loaded(corpus) as (c, documents):
        every = [(i, k) for i, document in documents.items() for k in range(len(document))]
        at = places(documents, ngram) if ngram else every
        expected = Counter(documents[i][k - 1] if k else None for i, k in at)
        found = c.dist_before(ngram)
        assert found.summary["context_count"] == len(at)
        rows = found.fetchall()
        assert {row[1]: row[2] for row in rows} == dict(expected)
        assert all(close(row[3], row[2] / len(at)) for row in rows)
        assert [row[2] for row in rows] == sorted(expected.values(), reverse=True)


@EXAMPLES
@given(
    corpora(), st.lists(st.sampled_from(IDS[:4]), min_size=1, max_size=2), st.integers(0, 4), st.booleans()
)
def test_the_tokens_beside_an_ngram_in_some_documents(corpus, ngram, least, before):
    with loaded(corpus) as (c, documents):
        documents, where = chosen(documents, least)
        at = places(documents, ngram)
        expected = Counter()
        for i, k in at:
            beside = documents[i][k - 1 : k] if before else documents[i][k + len(ngram) :][:1]
            expected[beside[0] if beside and (k or not before) else None] += 1
        literal = f"{'BEFORE' if before else 'GIVEN'} [{', '.join(map(str, ngram))}]"
        # Once from the places of the n-gram, then from an index of these documents.
        for _ in range(2):
            found = execute_all(c._bound.database, f"DIST {literal}{where}", None)
            assert (found.summary["context_count"], found.summary["total"]) == (len(at), len(expected))
            rows = found.fetchall()
            assert {row[1]: row[2] for row in rows} == dict(expected)
            assert [row[2] for row in rows] == sorted(expected.values(), reverse=True)
            assert all(close(row[3], row[2] / len(at)) for row in rows)
            c.where(where.removeprefix(" WHERE ")).count(ngram)


def ngrams_of(documents, n):
    """Count each n-gram."""
    return Counter(tuple(document[i : i + n]) for document in documents for i in range(len(document) - n + 1))


def parts_of(documents, low, high):
    """The documents below `low`, and those from `high` on; None: all others."""
    first = [document for i, document in documents.items() if i < low]
    second = [document for i, document in documents.items() if (i >= low if high is None else i >= high)]
    return first, second


@EXAMPLES
@given(
    corpora(),
    st.integers(1, 3),
    st.integers(0, 5),
    st.none() | st.integers(0, 5),
    st.sampled_from(sorted(KEYNESS)),
    st.integers(1, 3),
    st.none() | st.integers(0, 4),
)
def test_keywords(corpus, n, low, high, measure, min_count, top):
    with loaded(corpus) as (c, documents):
        parts = parts_of(documents, low, high)
        n1, n2 = (sum(map(len, part)) for part in parts)
        first, second = (ngrams_of(part, n) for part in parts)
        expected = {}
        for ngram in first.keys() | second.keys() if n1 and n2 else ():
            f1, f2 = first[ngram], second[ngram]
            if f1 + f2 >= min_count:
                expected[ngram] = f1, n1, f2, n2, KEYNESS[measure](f1, n1, f2, n2)
        against = None if high is None else f"doc_id >= {high}"
        found = c.keywords(f"doc_id < {low}", against, n=n, by=measure, min_count=min_count, top=top)
        assert found.summary.get("total", len(expected)) == len(expected)
        rows = found.fetchall()
        every = c.keywords(f"doc_id < {low}", against, n=n, by=measure, min_count=min_count).fetchall()
        assert rows == every[:top]
        assert {tuple(row[1]): row[2:6] for row in every} == {k: v[:4] for k, v in expected.items()}
        assert all(close(row[6], expected[tuple(row[1])][4]) for row in every)
        assert every == sorted(every, key=lambda row: (-row[6], row[1]))


PARTS = st.none() | st.lists(st.sampled_from(IDS[:4]), min_size=1, max_size=2)


@EXAMPLES
@given(
    corpora(),
    st.integers(1, 3),
    st.integers(0, 2),
    CONDITIONS,
    PARTS,
    PARTS,
    PARTS,
    st.integers(1, 3),
    st.none() | st.integers(0, 4),
)
def test_selected_ngrams(corpus, n, more, least, containing, starting, ending, min_count, top):
    with loaded(corpus) as (c, documents):
        documents, where = chosen(documents, least)
        expected = []
        for length in range(n, n + more + 1):
            for ngram, count in ngrams_of(documents.values(), length).items():
                holds = (
                    starting is None or list(ngram[: len(starting)]) == starting,
                    ending is None or list(ngram[-len(ending) :]) == ending,
                    containing is None or places({0: ngram}, containing),
                )
                if count >= min_count and all(holds):
                    docs = sum(bool(places({0: document}, ngram)) for document in documents.values())
                    expected.append((list(ngram), count, docs))
        expected.sort(key=lambda row: (-row[1], len(row[0]), row[0]))
        found = c.ngrams(
            (n, n + more),
            where.removeprefix(" WHERE ") or None,
            top=top,
            min_count=min_count,
            containing=containing,
            starting=starting,
            ending=ending,
            with_docs=True,
        )
        assert found.summary == {"total": len(expected)}
        assert [row[1:] for row in found] == expected[:top]


WORDS = st.sampled_from(["a", "A", "b", "B", "ß", "ẞ", "c"])


@EXAMPLES
@given(
    st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=6),
    st.integers(1, 2),
    st.integers(1, 2),
    st.sampled_from([None, "containing", "starting", "ending"]),
    st.lists(WORDS | st.sampled_from(["C", "d", "SS"]), min_size=1, max_size=2),
)
def test_ngrams_of_one_case(texts, n, min_count, option, part):
    sought = tuple(word.casefold() for word in part)
    m = len(sought)
    holds = {
        None: lambda key: True,
        "containing": lambda key: any(key[i : i + m] == sought for i in range(len(key) - m + 1)),
        "starting": lambda key: key[:m] == sought,
        "ending": lambda key: key[-m:] == sought and len(key) >= m,
    }[option]
    options = {} if option is None else {option: " ".join(part)}
    with loaded((texts, 3, set()), "words") as (c, documents):
        expected, forms, docs = Counter(), {}, {}
        for i, text in documents.items():
            words = text.split()
            for k in range(len(words) - n + 1):
                form = tuple(words[k : k + n])
                key = tuple(word.casefold() for word in form)
                expected[key] += 1
                forms.setdefault(key, Counter())[form] += 1
                docs.setdefault(key, set()).add(i)
        rows = c.ngrams(n, ignore_case=True, min_count=min_count, with_docs=True, **options).fetchall()
        found = {tuple(word.casefold() for word in row[0].split()): row for row in rows}
        assert len(found) == len(rows)
        wanted = {key: count for key, count in expected.items() if count >= min_count and holds(key)}
        assert {key: (row[2], row[3]) for key, row in found.items()} == {
            key: (count, len(docs[key])) for key, count in wanted.items()
        }
        assert all(
            forms[key][tuple(row[0].split())] == max(forms[key].values()) for key, row in found.items()
        )
