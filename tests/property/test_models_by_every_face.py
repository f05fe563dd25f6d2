"""A question to a model has one answer: with and without rewrite rules, by verbs, by arrays, over HTTP.

Corpora have a sentence separator or none, several versions, removed documents; contexts have unknown words.
Sentences are scored as documents of a corpus that has a document per sentence.
"""

from __future__ import annotations

import json
import math
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.planner.planner import rule_names

pytest.importorskip("starlette")

from ngramdb.serve.app import Access, Service
from ngramdb.serve.database_pool import open_library
from ngramdb.serve.problem_details import Limits
from ngramdb.serve.running import ask

MODELS = (
    "ngram",
    "ngram order 1",
    "ngram order 2",
    "ngram order 3 min count 2",
    "infgram",
    "infgram min count 2",
    "infgram order 2",
    "infgram order 3 min count 2",
    "backoff",
    "backoff order 2",
    "kneser_ney",
    "kneser_ney order 2",
    "witten_bell",
    "pitman_yor",
    "katz",
    "skip_kneser_ney",
)
# Without shrinking: an example takes a tenth of a second.
PHASES = (Phase.explicit, Phase.generate)
WORDS = ("a", "b", "c", ".")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
CONTEXTS = st.lists(st.sampled_from((*WORDS, "zebra")), max_size=5).map(" ".join)
WITH_TOKENS = st.lists(st.sampled_from((*WORDS, "zebra")), min_size=1, max_size=3).map(" ".join)


@contextmanager
def database(documents, others, removed, separator):
    """Corpora c, of three versions with documents removed in the last one, and d."""
    options = {} if separator is None else {"sentence_separator": separator}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.ngdb"
        with ngramdb.connect(path) as db:
            c, d = db.create_corpus("c", **options), db.create_corpus("d", **options)
            half = len(documents) // 2
            for part in (documents[:half], documents[half:]):
                c.append([(text, {"k": len(text) % 2}) for text in part])
            d.append([(text, {"k": len(text) % 2}) for text in others])
            version = db.version
            c.delete(f"doc_id = {removed}")
            yield db, path, version


def sources(db, version):
    """Each source of a statement with the corpus whose verbs answer it."""
    c = db.corpus("c")
    yield "c", c
    yield "c WHERE k = 1", c.where("k = 1")
    yield f"c AT VERSION {version}", None
    yield "c + d", None


def clauses(source):
    name, _, condition = source.partition(" WHERE ")
    return f"{'WHERE ' + condition if condition else ''} FROM {name}"


def plain(value):
    """An answer for comparisons: floats rounded, NaN as None."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value == "-Infinity":
        return "-inf"
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 9) if math.isfinite(value) else str(value)
    return value


def answer(db, statement, rules):
    db.settings["disabled_rules"] = "" if rules else ",".join(rule_names())
    result = db.execute(statement)
    return plain(result.fetchall()), {k: plain(v) for k, v in result.summary.items() if k != "note"}


def by_verbs(corpus, context, continuation, model):
    """Return the answers of PROB, DIST and SCORE, from the verbs that return one answer."""
    prob = corpus.prob(continuation, context, model)
    dist = corpus.dist(context, model)
    return None if prob is None else plain(float(prob)), plain(dist.fetchall()), corpus.score(context, model)


def check_arrays(corpus, context, continuation, model, prob, dist):
    many = corpus.prob_many([context], [continuation], model)
    assert plain(many.prob.tolist()) == [prob]
    used = corpus.language_model(model)
    if model in ("ngram", "infgram", "ngram order 2"):
        for arrays in (corpus.dist_arrays(context, model), corpus.dist_many([context], model)):
            shown = dict(zip(arrays.token_ids.tolist(), arrays.counts.tolist(), strict=True))
            assert shown == {row[1]: row[2] for row in dist if row[1] is not None}
    found = used.dist(corpus.tokenizer.encode(context))
    assert sorted(plain(found.probs.tolist())) == sorted(row[3] for row in dist)


def check_source(db, service, source, corpus, context, continuation, model):
    end = f"USING {model} {clauses(source)}"
    statements = {
        "prob": f'PROB "{continuation}" GIVEN "{context}" {end}',
        "dist": f'DIST GIVEN "{context}" {end}',
        "score": f'SCORE "{context}" {end}',
    }
    rows = {}
    for name, statement in statements.items():
        rows[name], summary = answer(db, statement, rules=True)
        assert (rows[name], summary) == answer(db, statement, rules=False), statement
        served = json.loads(ask(service, f"/query.json?q={quote(statement)}").body)
        assert plain([[row[c] for c in served["columns"]] for row in served["rows"]]) == rows[name], statement
    if corpus is None:
        return
    prob, dist, scores = by_verbs(corpus, context, continuation, model)
    assert (prob, dist) == (rows["prob"][0][0], rows["dist"]), source
    assert plain(scores.prob.tolist()) == [row[6] for row in rows["score"]]
    assert np.array_equal(corpus.score_many([context], model)[0].prob, scores.prob, equal_nan=True)
    check_arrays(corpus, context, continuation, model, prob, dist)


@settings(max_examples=25, deadline=None, derandomize=True, phases=PHASES)
@given(
    st.lists(TEXTS, min_size=2, max_size=5),
    st.lists(TEXTS, min_size=1, max_size=2),
    st.sampled_from([None, ".", "stop"]),
    CONTEXTS,
    WITH_TOKENS,
    st.lists(st.sampled_from(MODELS), min_size=2, max_size=4, unique=True),
)
def test_a_question_has_one_answer(documents, others, separator, context, continuation, models):
    if separator == "stop":  # which no document has
        context, continuation = context.replace(".", "stop"), continuation.replace(".", "stop")
    with database(documents, others, len(documents) - 1, separator) as (db, path, version):
        limits = Limits(time_limit=60.0)
        with closing(open_library([str(path)], limits, {})) as library:
            service = Service(library, limits, Access())
            with closing(service.workers):
                for source, corpus in sources(db, version):
                    for model in models:
                        check_source(db, service, source, corpus, context, continuation, model)


# In these texts a sentence ends after a full stop that a capital letter follows (UAX #29, rules SB8 to SB11).
CAPITAL = "A"
SENTENCES = st.lists(st.sampled_from((CAPITAL, "b", "c", ".", ".")), max_size=12).map(" ".join)
SCORED = st.lists(st.sampled_from((CAPITAL, "b", ".", ".", "zebra")), max_size=8).map(" ".join)


def sentences_of(text):
    """The sentences of a text, none of them empty."""
    words, found = text.split(), []
    for i, word in enumerate(words):
        if i == 0 or (word == CAPITAL and words[i - 1] == "."):
            found.append([])
        found[-1].append(word)
    return [" ".join(sentence) for sentence in found]


def kept_documents(documents, others, source):
    """The texts of a source of `sources`."""
    c = documents if "VERSION" in source else documents[:-1]
    if "WHERE" in source:
        c = [text for text in c if len(text) % 2 == 1]
    return c + others if "+" in source else c


def scored_apart(sentences, text, model):
    """The rows of SCORE of each of a text's sentences, in a corpus with a document per sentence."""
    with ngramdb.connect() as db:
        db.create_corpus("apart").append(sentences)
        parts = [
            db.execute(f'SCORE "{part}" USING {model} DOCUMENT').fetchall()
            for part in sentences_of(text) or [""]
        ]
    return plain([row for rows in parts for row in rows])


def without_ids(rows):
    """Rows of SCORE without positions and token ids, which are of one corpus."""
    return [[row[1], *row[3:]] for row in rows]


def check_sentences(db, service, source, corpus, documents, text, model):
    sentences = [part for document in documents for part in sentences_of(document)]
    expected = scored_apart(sentences, text, model)
    statement = f'SCORE "{text}" USING {model} SENTENCE {clauses(source)}'
    rows, summary = answer(db, statement, rules=True)
    assert without_ids(rows) == without_ids(expected), statement
    assert (rows, summary) == answer(db, statement, rules=False), statement
    served = json.loads(ask(service, f"/query.json?q={quote(statement)}").body)
    assert plain([[row[c] for c in served["columns"]] for row in served["rows"]]) == rows, statement
    if corpus is None:
        return
    begun = [part.split()[0] for part in sentences]
    assert corpus.count(ngramdb.pattern("<s> *")) == len(sentences)
    if model == "ngram" and text.startswith(CAPITAL) and sentences:
        assert rows[0][4:6] == [begun.count(CAPITAL), len(sentences)]
        assert corpus.count(ngramdb.pattern('<s> "A"')) == begun.count(CAPITAL)
    probs = [row[6] for row in rows]
    scores = corpus.score(text, model, sentence=True)
    assert plain(scores.prob.tolist()) == probs
    two = corpus.score_many([text, "b . A"], model, sentence=True)
    assert np.array_equal(two[0].prob, scores.prob, equal_nan=True)
    assert np.array_equal(two[1].prob, corpus.score("b . A", model, sentence=True).prob, equal_nan=True)
    measured = corpus.perplexity([text], model, sentence=True)
    assert plain(measured.logprob) == summary["logprob"] and measured.n_unknown == summary["unknown_words"]
    assert corpus.agreement([text], model, sentence=True).total == len(rows)
    model_of_sentences = corpus.language_model(model, sentences=True)
    parts = [corpus.tokenizer.encode(part) for part in sentences_of(text) or [""]]
    alone = [model_of_sentences.score(ids, document=True).prob for ids in parts]
    assert plain(np.concatenate(alone).tolist()) == probs


@settings(max_examples=25, deadline=None, derandomize=True, phases=PHASES)
@given(
    st.lists(SENTENCES, min_size=2, max_size=5),
    st.lists(SENTENCES, min_size=1, max_size=2),
    SCORED,
    st.lists(st.sampled_from(MODELS), min_size=2, max_size=4, unique=True),
)
def test_sentences_are_scored_as_documents_of_a_corpus_of_sentences(documents, others, text, models):
    with database(documents, others, len(documents) - 1, None) as (db, path, version):
        limits = Limits(time_limit=60.0)
        with closing(open_library([str(path)], limits, {})) as library:
            service = Service(library, limits, Access())
            with closing(service.workers):
                for source, corpus in sources(db, version):
                    kept = kept_documents(documents, others, source)
                    for model in models:
                        check_sentences(db, service, source, corpus, kept, text, model)
