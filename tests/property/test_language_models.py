"""Language models of sums, of differences, and after deletions: the same as of a corpus made of what is
left.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.errors import ExecutionError
from ngramdb.lm import END, Interpolation
from ngramdb.lm.neural import ForestWeights
from ngramdb.questions import prob

# The first three are counts divided by counts, for which only the index is used.
MODELS = [
    "ngram",
    "ngram order 2",
    "infgram",
    "ngram order 3 min count 2",
    "infgram min count 2",
    "infgram order 3",
    "backoff",
    "backoff(0.3) order 3",
    "backoff min count 2",
    "kneser_ney",
    "kneser_ney order 1",
    "kneser_ney order 2",
    "kneser_ney order 3",
    "kneser_ney min count 2",
    "kneser_ney order 3 min count 2",
    "witten_bell",
    "pitman_yor",
    "katz",
    "skip_kneser_ney",
]
SUMS_TO_ONE = [model for model in MODELS if "backoff" not in model and not model.startswith("ngram")]
DOCUMENTS = st.lists(st.text("abc", min_size=0, max_size=7), max_size=7)
CONTEXTS = ["", "a", "ab", "cab", "abcabc", "zz", "az"]
TEXTS = ["abcab", "cz", "zab", "", "bbbbbb"]


def corpus_of(connection, name, documents, n_segments=1):
    """Create a corpus of these texts in that many segments (fewer if there are fewer documents)."""
    connection.settings["auto_compact"] = False
    made = connection.create_corpus(name, tokenizer="bytes")
    for i in range(n_segments):
        part = documents[i::n_segments]
        if part:
            made.append([{"text": text, "n": i} for text in part])
    return made


def answers(connection, source, model):
    """Return the model's answers to all statements that accept one."""
    found = []
    for context in CONTEXTS:
        rows = connection.execute(f"DIST GIVEN ? USING {model} FROM {source}", [context]).fetchall()
        found.append(sorted((row[1] is None, row[0] or "", row[2], row[3]) for row in rows))
        for token in ("a", "c", "z", "ba"):
            found += connection.execute(
                f"PROB ? GIVEN ? USING {model} FROM {source}", [token, context]
            ).fetchall()
    for text in TEXTS:
        for sentence in ("", "SENTENCE"):
            found.append(
                connection.execute(f"SCORE ? USING {model} {sentence} FROM {source}", [text]).fetchall()
            )
    return found


def same(found, expected):
    """Compare up to the last bits of floats, which depend on the order of additions."""
    if isinstance(found, (list, tuple)):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, float) and isinstance(expected, float):
        return found == expected or abs(found - expected) <= 1e-12 * max(abs(found), abs(expected))
    return found == expected


@settings(max_examples=12, deadline=None, derandomize=True)
@given(DOCUMENTS, DOCUMENTS, st.sampled_from(MODELS), st.sampled_from([1, 3, 7]))
def test_models_after_deletions_are_those_of_what_is_left(kept, removed, model, n_segments):
    with ngramdb.connect() as connection:
        documents = [*kept, *removed]
        corpus = corpus_of(connection, "cut", [], 1)
        for i in range(n_segments):
            part = list(enumerate(documents))[i::n_segments]
            if part:
                corpus.append([{"text": text, "gone": k >= len(kept)} for k, text in part])
        if removed:
            assert corpus.delete("gone = TRUE") == len(removed)
        corpus_of(connection, "anew", kept)
        assert same(answers(connection, "cut", model), answers(connection, "anew", model))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(DOCUMENTS, DOCUMENTS, DOCUMENTS, st.sampled_from(MODELS), st.sampled_from([1, 3, 7]))
def test_models_of_sums_and_differences_are_those_of_what_is_left(a, b, c, model, n_segments):
    with ngramdb.connect() as connection:
        corpus_of(connection, "a", a, n_segments)
        corpus_of(connection, "bc", [*b, *c], n_segments)
        corpus_of(connection, "c", c, 2)
        corpus_of(connection, "anew", [*a, *b])
        assert same(answers(connection, "a + bc - c", model), answers(connection, "anew", model))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(DOCUMENTS, st.sampled_from(MODELS), st.sampled_from([1, 3, 7]), st.booleans())
def test_a_distribution_is_the_probability_token_by_token(documents, model, n_segments, begins):
    with ngramdb.connect() as connection:
        corpus = corpus_of(connection, "a", documents, n_segments)
        used = corpus.language_model(model)
        for context in CONTEXTS:
            ids = [*([ngramdb.lm.BEGIN] if begins else []), *context.encode()]
            found = used.dist(ids)
            expected = [used.prob(ids, int(token)).prob for token in found.ids]
            assert found.probs == pytest.approx([prob or 0.0 for prob in expected], rel=1e-12, abs=0)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(DOCUMENTS.filter(any), st.sampled_from(SUMS_TO_ONE), st.sampled_from([1, 3, 7]), st.booleans())
def test_distributions_sum_to_one(documents, model, n_segments, begins):
    with ngramdb.connect() as connection:
        used = corpus_of(connection, "a", documents, n_segments).language_model(model)
        for context in CONTEXTS:
            ids = [*([ngramdb.lm.BEGIN] if begins else []), *context.encode()]
            assert used.dist(ids).probs.sum() == pytest.approx(1, abs=1e-9)


LONG_REPEATS = st.builds(
    lambda left, unit, n, right: left + unit * n + right,
    st.sampled_from("abcd"),
    st.sampled_from(["a", "ab", "abc", "aab"]),
    st.integers(60, 300),
    st.sampled_from(["", "a", "c", "d", "ba"]),
)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    st.lists(LONG_REPEATS, min_size=12, max_size=24),
    LONG_REPEATS,
    st.sampled_from(
        ["kneser_ney", "kneser_ney min count 2", "kneser_ney order 60", "witten_bell", "witten_bell order 60"]
    ),
    st.sampled_from([1, 3]),
    st.booleans(),
)
def test_long_contexts_that_are_frequent(documents, text, model, n_segments, deletes):
    # Their left neighbours are reused from context to context; distributions count them again.
    with ngramdb.connect() as connection:
        corpus = corpus_of(connection, "a", documents, n_segments)
        if deletes:
            corpus.delete("n = 0")
        used = corpus.language_model(model)
        ids = np.frombuffer(text.encode(), np.uint8).astype(np.int64)
        scores = used.score(ids)
        for at in range(30, len(ids), max(1, len(ids) // 6)):
            found = used.dist(ids[:at])
            assert found.probs.sum() == pytest.approx(1, abs=1e-9)
            assert scores.prob[at] == pytest.approx(
                found.probs[found.ids == ids[at]].sum() or scores.prob[at]
            )
            assert scores.prob[at] == pytest.approx(used.prob(ids[:at], int(ids[at])).prob, rel=1e-12)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(DOCUMENTS, st.sampled_from(["ngram", "ngram order 3", "infgram"]), st.sampled_from([1, 3, 7]))
def test_the_fast_path_of_counts_is_the_general_path(documents, model, n_segments):
    with ngramdb.connect() as connection:
        corpus = corpus_of(connection, "a", documents, n_segments)
        used = corpus.language_model(model)
        for text in TEXTS:
            fast, general = corpus.score(text, model), used.score(list(text.encode()))
            assert np.array_equal(fast.prob, general.prob, equal_nan=True)
            assert fast.count.tolist() == general.count.tolist()
            assert fast.effective_n.tolist() == general.effective_n.tolist()
            assert fast.sparse.tolist() == general.sparse.tolist()
        for context in CONTEXTS:
            rows = corpus.dist(context, model).fetchall()
            found = used.dist(list(context.encode()))
            assert {(END if row[1] is None else row[1]): row[3] for row in rows} == dict(
                zip(found.ids.tolist(), found.probs.tolist(), strict=True)
            )


@settings(max_examples=15, deadline=None, derandomize=True)
@given(DOCUMENTS, DOCUMENTS.filter(any), st.sampled_from(MODELS[3:]))
def test_there_is_no_model_of_a_difference_with_what_was_never_there(documents, others, model):
    with ngramdb.connect() as connection:
        corpus_of(connection, "a", documents)
        corpus_of(connection, "b", [*documents, *others])
        with pytest.raises(ExecutionError, match="b is not part of the rest, which lacks its document"):
            connection.execute(f'SCORE "abc" USING {model} FROM a - b')


def successors(documents, context):
    """Count the letters, or the document's end (None), after a context, if it ends with a letter."""
    found = Counter()
    for text in documents:
        for at in range(len(text) - len(context) + 1):
            if text.startswith(context, at):
                found[text[at + len(context) :][:1] or None] += 1
    if not context:
        del found[None]
    return found


def repeated(alphabet):
    return st.builds(lambda text, n: text * n, st.text(alphabet, max_size=5), st.integers(1, 4))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(DOCUMENTS, repeated("abcz"), st.sampled_from([1, 2, 3]), st.sampled_from([1, 3]))
def test_drafts_are_the_most_frequent_continuations(documents, context, least_count, n_segments):
    with ngramdb.connect() as db:
        draft = corpus_of(db, "a", documents, n_segments).draft(context, 4, least_count=least_count)
    ids, probs, lengths = (values.tolist() for values in (draft.ids, draft.probs, draft.effective_n))
    text = context
    for at in range(4):
        suffixes = (text[start:] for start in range(len(text) + 1))
        found = next(s for s in suffixes if not s or successors(documents, s).total() >= least_count)
        counts = successors(documents, found)
        # Among those with the same count, the end comes first, then the smallest id.
        best = max(counts, key=lambda token: (counts[token], -ord(token or "\0")), default=None)
        if best is None:
            assert len(ids) == at
            return
        assert (ids[at], lengths[at]) == (ord(best), len(found) + 1)
        assert probs[at] == counts[best] / counts.total()
        text += best
    assert len(ids) == 4


class HashedFeatures:
    """A replacement for a forest: predictions differ whenever features do."""

    def predict(self, rows):
        return np.array([hash(tuple(row)) % 97 / 97 for row in rows.tolist()])


@settings(max_examples=30, deadline=None, derandomize=True)
@given(DOCUMENTS, st.sampled_from(SUMS_TO_ONE), st.sampled_from([1, 3]), st.booleans())
def test_a_mixture_with_a_weight_per_token_sums_to_one(documents, model, n_segments, deletes):
    weights = ForestWeights(HashedFeatures(), np.linspace(0.1, 0.9, 8), np.linspace(0, 1, 9))
    mixture = Interpolation(0.3, 0.7, weights)
    with ngramdb.connect() as connection:
        corpus = corpus_of(connection, "a", [*documents, "cab", "bcc"], n_segments)
        if deletes:
            corpus.delete('"b" AND "c"')
        used = corpus.language_model(model)
        for context in CONTEXTS:
            ids = list(context.encode())
            found = used.dist(ids)
            n = len(found)
            scores = used.scores_of(ids * n, np.arange(n + 1) * len(ids), found.ids)
            assert set(scores.suffix_n.tolist()) <= {found.effective_n}
            assert set(scores.suffix_count.tolist()) <= {found.context_count}
            assert set(scores.sparse.tolist()) <= {found.sparse}
            if n:
                assert mixture.mix(scores, np.full(n, 1 / n)).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    st.lists(repeated("ab"), min_size=1, max_size=4),
    st.lists(st.tuples(repeated("abz"), st.text("ab", min_size=1, max_size=6)), min_size=1, max_size=4),
    st.sampled_from([1, 9, 1 << 22]),
)
def test_batches_of_steps_are_single_steps(model, documents, pairs, batch_tokens):
    with ngramdb.connect() as db, pytest.MonkeyPatch.context() as patch:
        patch.setattr(prob, "BATCH_TOKENS", batch_tokens)
        corpus = corpus_of(db, "a", documents)
        found = corpus.prob_many([pair[0] for pair in pairs], [pair[1] for pair in pairs], model).prob
        for i, (context, continuation) in enumerate(pairs):
            product = 1.0
            for k, token in enumerate(continuation):
                step = corpus.prob(token, context + continuation[:k], model)
                product = np.nan if step is None else product * step.prob
                if step is None or not step.prob:
                    break
            assert found[i] == pytest.approx(product, rel=1e-12, nan_ok=True)
