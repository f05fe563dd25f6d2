"""Functions of documents against their definitions, on several segments of broken documents."""

from __future__ import annotations

import re
from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.broken import append_broken, connected

from ngramdb.conditions import document_functions

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)

words = st.lists(st.sampled_from(["a", "b", "cé", "ddd", "ab"]), max_size=14)
pieces = st.lists(words.filter(bool), min_size=1, max_size=3)
documents = st.lists(pieces, min_size=1, max_size=7)


def places(document: list[list[str]], n: int) -> list[tuple[int, tuple[str, ...]]]:
    """The n-grams of a document, each with its place; none crosses a break."""
    found, before = [], 0
    for piece in document:
        found += [(before + i, tuple(piece[i : i + n])) for i in range(len(piece) - n + 1)]
        before += len(piece)
    return found


def covered(starts: list[int], n: int) -> set[int]:
    return {start + k for start in starts for k in range(n)}


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def size(tokens: list[str], marked: set[int]) -> int:
    return sum(len(tokens[i].encode()) for i in marked)


def dup_ngrams(document, n):
    ngrams = places(document, n)
    later = [start for k, (start, ngram) in enumerate(ngrams) if ngram in [one for _, one in ngrams[:k]]]
    return share(len(covered(later, n)), sum(map(len, document)))


def dup_ngrams_of_datatrove(document, n):
    characters, seen, free_from = 0, set(), 0
    for start, ngram in places(document, n):
        if start < free_from:
            continue
        text = "".join(ngram)
        if text in seen:
            characters += len(text)
            free_from = start + n
        seen.add(text)
    return share(characters, sum(len(" ".join(piece)) for piece in document))


def dup_ngrams_of_datamap(document, n):
    tokens = [word for piece in document for word in piece]
    counts = Counter(ngram for _, ngram in places(document, n))
    starts = [start for start, ngram in places(document, n) if counts[ngram] > 1]
    return share(size(tokens, covered(starts, n)), size(tokens, set(range(len(tokens)))))


def top_ngrams(document, n):
    counts = Counter(ngram for _, ngram in places(document, n))
    marked = [
        len(covered([start for start, one in places(document, n) if one == ngram], n))
        for ngram, count in counts.items()
        if count > 1
    ]
    return share(max(marked, default=0), sum(map(len, document)))


def top_ngrams_of_datatrove(document, n):
    counts = Counter(ngram for _, ngram in places(document, n))
    most = max(counts.values(), default=0)
    top = next((ngram for ngram, count in counts.items() if count == most), ())
    return share(len(" ".join(top)) * most, sum(len(" ".join(piece)) for piece in document))


def top_ngrams_of_datamap(document, n):
    tokens = [word for piece in document for word in piece]
    counts = Counter(ngram for _, ngram in places(document, n))
    several = [ngram for ngram, count in counts.items() if count > 1]
    top = max(several, key=lambda one: (counts[one], len("".join(one).encode())), default=())
    starts = [start for start, one in places(document, n) if one == top]
    return share(size(tokens, covered(starts, n)), size(tokens, set(range(len(tokens)))))


def loops(document, n):
    marked, before = set(), 0
    for piece in document:
        for period in range(1, n + 1):
            for i in range(len(piece) - 2 * period + 1):
                if piece[i : i + period] == piece[i + period : i + 2 * period]:
                    marked |= covered([before + i], 2 * period)
        before += len(piece)
    return share(len(marked), before)


REFERENCES = {
    "LOOP_SHARE({})": loops,
    "DUP_NGRAM_SHARE({})": dup_ngrams,
    "DUP_NGRAM_SHARE({} AS datatrove)": dup_ngrams_of_datatrove,
    "DUP_NGRAM_SHARE({} AS datamap)": dup_ngrams_of_datamap,
    "TOP_NGRAM_SHARE({})": top_ngrams,
    "TOP_NGRAM_SHARE({} AS datatrove)": top_ngrams_of_datatrove,
    "TOP_NGRAM_SHARE({} AS datamap)": top_ngrams_of_datamap,
}


@EXAMPLES
@given(documents=documents, n=st.integers(1, 5), cut=st.integers(0, 7), removed=st.integers(0, 9))
def test_shares_of_ngrams_are_those_of_the_definitions(documents, n, cut, removed):
    with connected("words") as db:
        for part in (documents[:cut], documents[cut:]):
            append_broken(db, [([" ".join(piece) for piece in one], {}) for one in part])
        db.execute("DELETE DOCS FROM c WHERE doc_id = ?", [removed])
        kept = [i for i in range(len(documents)) if i != removed]
        for call, reference in REFERENCES.items():
            function = call.format(n)
            expected = {i: reference(documents[i], n) for i in kept}
            rows = db.execute(f"DOCS FROM c RETURNING doc_id, {function}").fetchall()
            assert dict(rows) == pytest.approx(expected), function
            high = db.execute(f"DOCS FROM c WHERE {function} > 0.4 RETURNING doc_id").fetchall()
            found = dict(rows)
            assert [i for (i,) in high] == [i for i in kept if found[i] > 0.4]
            ordered = db.execute(f"DOCS FROM c ORDER BY {function} DESC RETURNING doc_id").fetchall()
            assert [i for (i,) in ordered] == sorted(kept, key=lambda i: -found[i])
            groups = db.execute(f"COUNT DOCS FROM c GROUP BY {function}").fetchall()
            assert dict(groups) == Counter(found.values())
        counts = Counter(ngram for i in kept for _, ngram in places(documents[i], n))
        seen = {
            i: covered([start for start, ngram in places(documents[i], n) if counts[ngram] >= 2], n)
            for i in kept
        }
        for counted in (0, 64):  # by longest matches, and one by one
            with patch.object(document_functions, "LONGEST_COUNTED", counted):
                rows = db.execute(f"DOCS FROM c RETURNING doc_id, SHARE_SEEN({n}, 2)").fetchall()
            assert dict(rows) == pytest.approx({i: len(seen[i]) / sum(map(len, documents[i])) for i in kept})


@EXAMPLES
@given(documents=documents, cut=st.integers(0, 7), removed=st.integers(0, 9))
def test_the_longest_ngram_that_occurs_twice(documents, cut, removed):
    with connected("words") as db:
        for part in (documents[:cut], documents[cut:]):
            append_broken(db, [([" ".join(piece) for piece in one], {}) for one in part])
        db.execute("DELETE DOCS FROM c WHERE doc_id = ?", [removed])
        kept = [i for i in range(len(documents)) if i != removed]
        lengths = range(1, 1 + max(len(piece) for one in documents for piece in one))
        counts = Counter(ngram for n in lengths for i in kept for _, ngram in places(documents[i], n))
        expected = {
            i: max(
                [n for n in lengths for _, ngram in places(documents[i], n) if counts[ngram] > 1], default=0
            )
            for i in kept
        }
        assert dict(db.execute("DOCS FROM c RETURNING doc_id, LONGEST_SEEN()").fetchall()) == expected
        high = db.execute("DOCS FROM c WHERE LONGEST_SEEN() >= 3 RETURNING doc_id").fetchall()
        assert [i for (i,) in high] == [i for i in kept if expected[i] >= 3]
        groups = db.execute("COUNT DOCS FROM c GROUP BY LONGEST_SEEN()").fetchall()
        assert dict(groups) == Counter(expected.values())


MODELS = st.sampled_from(
    [
        "KNESER_NEY",
        "KNESER_NEY ORDER 2",
        "WITTEN_BELL",
        "PITMAN_YOR",
        "KATZ",
        "SKIP_KNESER_NEY",
        "BACKOFF",
        "NGRAM ORDER 2 MIN COUNT 2",
        "INFGRAM",
    ]
)


@EXAMPLES
@given(
    documents=documents,
    others=st.lists(words, min_size=1, max_size=5),
    model=MODELS,
    tokenizers=st.sampled_from(
        [("words", "words"), ("words", "chars"), ("chars", "words"), ("bytes", "bytes")]
    ),
)
def test_perplexity_is_that_of_the_pieces_as_documents(documents, others, model, tokenizers):
    with connected(tokenizers[0]) as db:
        other = db.create_corpus("other", tokenizer=tokenizers[1])
        other.append([" ".join(one) for one in others])
        texts = [[" ".join(piece) for piece in one] for one in documents]
        append_broken(db, [(one, {}) for one in texts])
        expected = {}
        for i, pieces in enumerate(texts):
            logs = np.concatenate([other.score(piece, model, document=True).logprob for piece in pieces])
            found = logs[~np.isnan(logs)]
            with np.errstate(over="ignore"):
                expected[i] = np.exp(-found.sum() / len(found)) if len(found) else np.nan
            if len(pieces) == 1:
                of_verb = other.perplexity(pieces, model).per_document[0]
                assert of_verb == pytest.approx(expected[i], nan_ok=True)
        function = f"PERPLEXITY({model} FROM other)"
        rows = db.execute(
            f"DOCS FROM c WHERE {function} > 0 ORDER BY {function}, doc_id RETURNING doc_id, {function}"
        )
        found = dict(rows.fetchall())
        answered = {i: value for i, value in expected.items() if not np.isnan(value)}
        assert found == pytest.approx(answered)
        assert list(found.values()) == sorted(found.values())
        assert len(db.execute(f"DOCS FROM c WHERE {function} IS NULL").fetchall()) == len(texts) - len(
            answered
        )


def paragraphs_of(text):
    found, lines = [], []
    for line in [*text.split("\n"), ""]:
        if line.strip():
            lines.append(line)
        elif lines:
            found.append("\n".join(lines).strip())
            lines = []
    return found


@EXAMPLES
@given(texts=st.lists(st.text("ab é\n", max_size=20), min_size=1, max_size=6))
def test_shares_of_lines_and_paragraphs_are_those_of_the_definitions(texts):
    def later(lines):
        return sum(len(line) for i, line in enumerate(lines) if line in lines[:i])

    with connected("words") as db:
        db.corpus("c").append(texts)
        functions = "DUP_LINE_SHARE(), DUP_LINE_SHARE(AS datatrove), DUP_LINE_SHARE(AS datamap)"
        rows = db.execute(f"DOCS FROM c RETURNING {functions}").fetchall()
        functions = "DUP_LINE_COUNT_SHARE(), DUP_PARAGRAPH_SHARE(), DUP_PARAGRAPH_COUNT_SHARE()"
        parts = db.execute(f"DOCS FROM c RETURNING {functions}").fetchall()
    for text, row, of_parts in zip(texts, rows, parts, strict=True):
        full = [line.strip() for line in text.split("\n") if line.strip()]
        whole = paragraphs_of(text)
        assert of_parts[0] == pytest.approx(share(len(full) - len(set(full)), len(full)))
        assert of_parts[1] == pytest.approx(share(later(whole), sum(map(len, whole))))
        assert of_parts[2] == pytest.approx(share(len(whole) - len(set(whole)), len(whole)))
        lines = [line.strip() for line in text.split("\n")]
        full = [line.encode() for line in text.split("\n") if line]
        repeated = sum(len(line) for line in full if full.count(line) > 1)
        assert row == pytest.approx(
            (
                share(later(lines), sum(map(len, lines))),
                share(later(re.split("\n+", text)), len(text)),
                share(repeated, sum(map(len, full))) if full else 1.0,
            )
        )
