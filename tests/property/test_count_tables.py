"""COUNT of several n-grams, per million, by computed groups and by text around: equal to brute force."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_corpora import IDS, corpora, loaded, places

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
NGRAMS = st.lists(st.lists(st.sampled_from(IDS[:4]), min_size=1, max_size=2), min_size=1, max_size=3)
LEAST = st.sampled_from([None, 0, 2])


def chosen(documents, least):
    """Return the queried documents, and the condition that selects them."""
    if least is None:
        return documents, None
    return {i: document for i, document in documents.items() if i >= least}, f"doc_id >= {least}"


def shown(ngram):
    return f"[{', '.join(map(str, ngram))}]"


@EXAMPLES
@given(corpora(), NGRAMS, LEAST, st.sampled_from([None, 1, 3]), st.booleans())
def test_counts_of_several_by_groups_and_per_million(corpus, ngrams, least, divisor, per_million):
    with loaded(corpus) as (c, documents):
        documents, where = chosen(documents, least)
        group_by = [] if divisor is None else [f"doc_id / {divisor} * 2"]
        keys = {i: () if divisor is None else (i // divisor * 2,) for i in documents}
        tokens = Counter() if divisor else Counter({(): 0})
        for i, document in documents.items():
            tokens[keys[i]] += len(document)
        expected = []
        for ngram in ngrams:
            counts = Counter(keys[i] for i, _ in places(documents, ngram))
            groups = [key for key in tokens if tokens[key]] if per_million and divisor else sorted(counts)
            for key in sorted(groups) if divisor else [()]:
                row = (shown(ngram),) if len(ngrams) > 1 else ()
                row += (*key, counts[key])
                if per_million:
                    rate = counts[key] * 1_000_000 / tokens[key] if tokens[key] else None
                    row += (tokens[key], rate)
                expected.append(row)
        found = c.counts(ngrams, where, group_by=group_by, per_million=per_million)
        names = ["ngram"] * (len(ngrams) > 1) + group_by + ["count"] + ["tokens", "per_million"] * per_million
        assert list(found.columns) == names
        assert found.fetchall() == expected


@EXAMPLES
@given(corpora(), NGRAMS, LEAST, st.integers(1, 3), st.booleans(), st.booleans())
def test_counts_by_the_text_beside(corpus, ngrams, least, n_tokens, to_left, by_id):
    with loaded(corpus) as (c, documents):
        documents, where = chosen(documents, least)
        key = f"{'LEFT' if to_left else 'RIGHT'} {n_tokens}"
        found = c.counts(ngrams, where, group_by=[key, "doc_id"] if by_id else key)
        expected = Counter()
        for number, ngram in enumerate(ngrams):
            for doc_id, start in places(documents, ngram):
                document, stop = documents[doc_id], start + len(ngram)
                beside = (
                    document[max(0, start - n_tokens) : start]
                    if to_left
                    else document[stop : stop + n_tokens]
                )
                text = " ".join(map(str, beside)) or None
                name = (shown(ngrams[number]),) if len(ngrams) > 1 else ()
                expected[(number, *name, text, *([doc_id] if by_id else []))] += 1
        rows = found.fetchall()
        assert sorted(rows, key=repr) == sorted(((*key[1:], n) for key, n in expected.items()), key=repr)
        top = c.counts(ngrams, where, group_by=[key, "doc_id"] if by_id else key, top=2).fetchall()
        assert top == sorted(rows, key=lambda row: -row[-1])[:2]


@EXAMPLES
@given(corpora(), st.lists(st.sampled_from(IDS[:4]), min_size=1, max_size=2))
def test_forms_are_the_tokens_of_occurrences(corpus, ngram):
    with loaded(corpus) as (c, documents):
        at = places(documents, ngram)
        expected = [(" ".join(map(str, ngram)), len(at))] if at else []
        assert c.counts(ngram, group_by="FORM").fetchall() == expected
