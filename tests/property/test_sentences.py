"""Questions about sentences equal brute force over split texts, in segments of any number, after removals."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_corpora import load

import ngramdb

EXAMPLES = settings(max_examples=50, deadline=None, derandomize=True)

# Sentences are written one after the other with a blank between: each ends in a full stop, and begins with a
# capital, so that all of them, and no others, are found.
WORDS = st.sampled_from(["a", "b", "c", "a", "b"])
SENTENCES = st.builds(
    lambda first, words: (first, *words, "."), st.sampled_from("AB"), st.lists(WORDS, max_size=4)
)
DOCUMENTS = st.lists(SENTENCES, max_size=4)
TOKENIZERS = ("words", "chars")


@st.composite
def corpora(draw):
    """Documents as lists of sentences, where segments end, and which documents are deleted afterwards."""
    documents = draw(st.lists(DOCUMENTS, min_size=1, max_size=7))
    deleted = draw(st.sets(st.integers(0, len(documents) - 1), max_size=2))
    return documents, draw(st.sampled_from([1, 3, 99])), deleted


def written(sentences):
    return " ".join(" ".join(sentence[:-1]) + "." for sentence in sentences)


def places(documents, words):
    """(doc_id, number of the sentence, place within it) of each occurrence that lies in one sentence."""
    n = len(words)
    return [
        (doc_id, k, i)
        for doc_id, sentences in documents.items()
        for k, sentence in enumerate(sentences)
        for i in range(len(sentence) - n + 1)
        if sentence[i : i + n] == words
    ]


def count(db, statement):
    [(found,)] = db.execute(statement)
    return found


def check(db, documents, first, second, tokenizer):
    """Compare what is answered of the documents that are left."""
    x, y = (" ".join(words).replace(" .", ".") for words in (first, second))
    if tokenizer == "chars":  # tokens are characters, and any place in a word is one
        return check_characters(db, documents)
    xs, ys = places(documents, first), places(documents, second)
    having_x, having_y = ({(doc_id, k) for doc_id, k, _ in some} for some in (xs, ys))
    assert count(db, f'COUNT "{x}" WITHIN SENTENCE') == len(xs)
    near = [place for place in xs if place[:2] in having_y]
    assert count(db, f'COUNT "{x}" AND "{y}" WITHIN SENTENCE') == len(near)
    apart = [place for place in xs if place[:2] not in having_y]
    assert count(db, f'COUNT "{x}" AND NOT "{y}" WITHIN SENTENCE') == len(apart)
    rows = list(db.execute(f'DOCS WHERE "{x}" AND "{y}" WITHIN SENTENCE'))
    assert [row[0] for row in rows] == sorted({doc_id for doc_id, _ in having_x & having_y})
    n = len(first)
    begin = [place for place in xs if place[2] == 0]
    assert count(db, f'COUNT <s> "{x}"') == len(begin)
    end = [(d, k, i) for d, k, i in xs if i + n == len(documents[d][k])]
    assert count(db, f'COUNT "{x}" </s>') == len(end)
    # The longest pattern between two places that stays within the sentence.
    longest = 0
    for sentences in documents.values():
        for sentence in sentences:
            codes = "".join(sentence)
            longest += len(re.findall(r"(?=(?:a|b)[abcAB]*\.?)", codes))
    assert count(db, 'COUNT ("a" | "b") *{0,} WITHIN SENTENCE') == longest
    spans = [row[3] for row in list(db.execute("KWIC <s> *{1,} </s> WITHIN SENTENCE"))]
    assert spans == [written([sentence]) for sentences in documents.values() for sentence in sentences]


def check_characters(db, documents):
    whole = [written([sentence]) for sentences in documents.values() for sentence in sentences]
    assert count(db, "COUNT <s> *") == len(whole)
    spans = [row[3].strip() for row in list(db.execute("KWIC <s> *{1,} </s> WITHIN SENTENCE"))]
    assert spans == whole
    assert count(db, 'COUNT "a" AND "b" WITHIN SENTENCE') == sum(
        text.count("a") for text in whole if "b" in text
    )


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@EXAMPLES
@given(
    corpus=corpora(),
    first=st.lists(WORDS, min_size=1, max_size=2),
    second=st.lists(WORDS, min_size=1, max_size=1),
)
def test_answers_equal_brute_force(tokenizer, corpus, first, second):
    documents, n_segments, deleted = corpus
    with ngramdb.connect() as db:
        texts = list(map(written, documents))
        c, left = load(db, (texts, n_segments, deleted), tokenizer)
        kept = {doc_id: documents[doc_id] for doc_id in left}
        check(db, kept, tuple(first), tuple(second), tokenizer)
        c.compact()
        db.execute("CHECK c")
        check(db, kept, tuple(first), tuple(second), tokenizer)


@EXAMPLES
@given(corpus=corpora())
def test_merged_segments_have_the_sentences_of_a_load(corpus):
    documents, n_segments, _ = corpus
    texts = list(map(written, documents))
    with ngramdb.connect() as db:
        merged, _ = load(db, (texts, n_segments, set()), "words")
        merged.compact()
        db.create_corpus("at_once").append(texts)
        flags = []
        for name in ("c", "at_once"):
            (segment,) = db._database.snapshot.view(name).segments
            flags.append(segment.sentences.tolist())
        assert flags[0] == flags[1]
        assert count(db, "COUNT <s> * FROM c") == sum(map(len, documents))


def collocates_of(documents, words, left, right):
    """For each token f, left and right, as COLLOCATES counts them within sentences."""
    n, found = len(words), {}
    for sentences in documents.values():
        at = 0
        tokens = [token for sentence in sentences for token in sentence]
        lefts, rights = set(), set()
        for sentence in sentences:
            for i in range(len(tokens)):  # a match may go beyond the sentence that it begins in
                if at <= i < at + len(sentence) and tokens[i : i + n] == words:
                    lefts |= set(range(max(at, i - left), i))
            ends = range(at, at + len(sentence))
            for i in range(len(tokens)):
                if i + n - 1 in ends and tokens[i : i + n] == words:
                    rights |= set(range(i + n, min(at + len(sentence), i + n + right)))
            at += len(sentence)
        for place in lefts | rights:
            f = found.setdefault(tokens[place], [0, 0, 0])
            f[0] += 1
            f[1] += place in lefts
            f[2] += place in rights
    return {token: tuple(counts) for token, counts in found.items()}


@EXAMPLES
@given(
    corpora(),
    st.lists(st.sampled_from(["a", "b", ".", "A"]), min_size=1, max_size=2),
    st.sampled_from([(0, 1), (1, 0), (2, 2), (9, 9), None]),
)
def test_collocates_within_sentences(corpus, words, window):
    documents, n_segments, deleted = corpus
    with ngramdb.connect() as db:
        c, left = load(db, (list(map(written, documents)), n_segments, deleted), "words")
        ngram = " ".join(words)
        expected = collocates_of({i: documents[i] for i in left}, words, *(window or (99, 99)))
        clause = "SENTENCE" if window is None else f"{window[0]} LEFT {window[1]} RIGHT WITHIN SENTENCE"
        rows = db.execute(f'COLLOCATES OF "{ngram}" WINDOW {clause}').fetchall()
        assert {row[0]: row[2:5] for row in rows} == expected
        options = {"window": "sentence"} if window is None else {"window": window, "within_sentence": True}
        assert c.collocates(ngram, **options).fetchall() == rows
