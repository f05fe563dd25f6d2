"""One definition of log-probability and perplexity, through all faces: statement, verbs, models, command."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math

import pytest
from support.connections import connection_of

import ngramdb
from ngramdb.cli.main import main
from ngramdb.errors import InvalidArgument
from ngramdb.lm import interpolate

TRAINED = ["a b a c", "a b b a", "c a b", "b c"]
TEXTS = ["a b a", "a b zebra", "c c c a b", "zebra", "zebra zebra", "b c a b a c", "a"]
MODELS = [
    "ngram",
    "ngram order 2",
    "infgram",
    "ngram min count 2",
    "backoff",
    "kneser_ney",
    "witten_bell",
    "pitman_yor",
    "katz",
    "skip_kneser_ney",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("measures") / "db.ngdb"
    with ngramdb.connect(path) as db:
        db.create_corpus("c").append(TRAINED)
    return path


@pytest.fixture
def corpus(folder):
    with ngramdb.connect(folder, read_only=True) as db:
        yield db.corpus("c")


def by_hand(probs):
    """Compute perplexity by its definition, skipping None."""
    answered = [prob for prob in probs if prob is not None and not math.isnan(prob)]
    if not answered:
        return math.nan
    if not min(answered):
        return math.inf
    return math.exp(-sum(map(math.log, answered)) / len(answered))


def same(found, expected):
    return (math.isnan(expected) and (found is None or math.isnan(found))) or found == pytest.approx(expected)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("unit", [None, "document", "sentence"])
def test_every_face_gives_the_same_perplexity(corpus, folder, tmp_path, model, text, unit):
    statement = f'SCORE "{text}" USING {model.upper()}{" " + unit.upper() if unit else ""}'
    chosen = {unit: True} if unit else {}
    result = connection_of(corpus).execute(statement)
    expected = by_hand([row[6] for row in result])
    nonzero = by_hand([row[6] for row in connection_of(corpus).execute(statement) if row[6]])
    assert same(result.summary["perplexity"], expected)
    assert ("perplexity_nonzero" in result.summary) == bool(result.summary["zero_probabilities"])
    if result.summary["zero_probabilities"]:
        assert same(result.summary["perplexity_nonzero"], nonzero)
    assert same(corpus.score(text, model, **chosen).perplexity, expected)
    assert same(corpus.score_many([text, "a"], model, **chosen)[0].perplexity, expected)
    ids = corpus.tokenizer.encode(text)
    scores = corpus.language_model(model, sentences=unit == "sentence").score(ids, document=unit is not None)
    assert same(scores.perplexity, expected)
    measured = corpus.perplexity([text], model, **(chosen or {"document": False}))
    assert same(measured.perplexity, expected) and same(measured.per_document[0], expected)
    assert same(measured.perplexity_nonzero, nonzero)
    assert same(measured.logprob, result.summary["logprob"]) and same(scores.total_logprob, measured.logprob)
    assert measured.n_zero == result.summary["zero_probabilities"]
    assert measured.n_unanswered == result.summary["unseen_contexts"]
    held_out = tmp_path / "held.jsonl"
    held_out.write_text(json.dumps({"text": text}) + "\n")
    flag = {None: ["--no-document"], "document": [], "sentence": ["--sentence"]}[unit]
    flags = ["--format", "csv", "--model", model, *flag]
    with contextlib.redirect_stdout(io.StringIO()) as written:
        assert main(["perplexity", str(folder), "c", str(held_out), *flags]) == 0
    row = next(csv.DictReader(io.StringIO(written.getvalue())))
    assert same(float(row["perplexity"] or "nan"), expected)
    assert same(float(row["perplexity_nonzero"] or "nan"), nonzero)


def test_scores_that_are_no_distribution_are_refused_or_noted(corpus):
    for scores in (
        corpus.score("a b c", "backoff"),
        corpus.language_model("backoff").score([0, 1, 2]),
        corpus.score_many(["a b c"], "backoff")[0],
        corpus.prob_many([[0]] * 3, [0, 1, 2], "backoff"),
    ):
        assert not scores.is_probability
        with pytest.raises(InvalidArgument, match="a mixture needs probabilities"):
            interpolate(scores, [0.1, 0.2, 0.3])
        mixed = interpolate(corpus.score("a b c", "infgram"), [0.1, 0.2, 0.3])
        with pytest.raises(InvalidArgument, match="a mixture needs probabilities"):
            mixed.mix(scores, [0.1, 0.2, 0.3])
    measured = corpus.perplexity(["a b"], "backoff")
    assert not measured.is_probability and "do not sum to 1" in measured.note
    assert "is_probability=False" in repr(measured)
    assert corpus.perplexity(["a b"]).note is None


def test_what_measures_something_shows_it_in_a_line(corpus):
    measured = corpus.perplexity(["a b zebra"] * 500, "infgram")
    for value in (
        measured,
        corpus.score("a b zebra"),
        corpus.score_many(["a b"] * 50),
        corpus.language_model().score([0, 1]),
        corpus.language_model().dist([0]),
        corpus.language_model("backoff"),
        corpus.agreement(["a b"] * 50),
        corpus.draft("a b", 3),
        interpolate(corpus.score("a b c", "infgram"), [0.1, 0.2, 0.3]),
    ):
        shown = repr(value)
        assert "\n" not in shown and len(shown) < 300 and " at 0x" not in shown, shown
    assert "perplexity=inf" in repr(measured) and "n_zero=500" in repr(measured)
    assert "perplexity" in repr(corpus.score("a b"))
