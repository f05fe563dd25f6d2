"""The verbs and statements of language models: what they answer with, what they keep, and what they
refuse.
"""

from __future__ import annotations

import gzip
import json
import math
import pickle
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from pyarrow import parquet

import ngramdb
from ngramdb import lm
from ngramdb.api.verbs.evaluation import agreement_panels, documents_of_files
from ngramdb.errors import (
    ExecutionError,
    InvalidArgument,
    LoadError,
    PlanError,
    QueryCancelled,
    ReadOnlyError,
)

TEXTS = [
    "the cat sat on the mat",
    "the dog sat on the cat",
    "a dog and a cat",
    "the cat and the dog sat",
    "a cat ran",
]
MODELS = [
    "ngram",
    "ngram order 2",
    "infgram min count 2",
    "backoff",
    "kneser_ney",
    "kneser_ney order 3",
    "witten_bell",
    "pitman_yor",
    "katz",
    "skip_kneser_ney",
]


@pytest.fixture
def db():
    with ngramdb.connect() as connection:
        yield connection


@pytest.fixture
def corpus(db):
    made = db.create_corpus("pets")
    made.append(TEXTS)
    return made


# ---- models as text and as objects, one answer everywhere -------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_verbs_statements_and_batches_give_the_same_probabilities(db, corpus, model):
    contexts, tokens = ["the", "the cat", "a zebra", "sat on the"], ["cat", "sat", "dog and", "zebra"]
    many = corpus.prob_many(contexts, tokens, model)
    for i, (context, token) in enumerate(zip(contexts, tokens, strict=True)):
        one = corpus.prob(token, context, model)
        row = db.execute(f"PROB ? GIVEN ? USING {model}", [token, context]).fetchone()
        assert row[0] == one
        assert np.array_equal(many.prob[i], math.nan if one is None else one.prob, equal_nan=True)
        if one is not None:
            assert row[1:] == (one.cont_count, one.context_count, one.effective_n, one.sparse)
            assert (many.count[i], many.effective_n[i]) == (one.cont_count, one.effective_n)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("whole", [False, True])
def test_scores_of_one_text_of_many_and_of_a_statement_agree(db, corpus, model, whole):
    texts = ["the cat sat", "", "a zebra ran"]
    every = corpus.score_many(texts, model, document=whole)
    assert len(every) == 3 and len(every.all) == sum(map(len, every))
    for text, scores in zip(texts, every, strict=True):
        one = corpus.score(text, model, document=whole)
        assert len(one) == len(text.split()) + whole
        assert np.array_equal(one.prob, scores.prob, equal_nan=True)
        rows = db.execute(f"SCORE ? USING {model} {'DOCUMENT' if whole else ''}", [text]).fetchall()
        assert [row[6] for row in rows] == [None if math.isnan(p) else p for p in one.prob]
        assert [row[3] for row in rows] == one.effective_n.tolist()
    if whole:
        assert rows[-1][1:3] == ("</s>", None)


def test_a_model_is_text_or_an_object(corpus):
    pairs = {
        "ngram order 2": lm.NGram(2),
        "infgram min count 2": lm.InfGram(min_count=2),
        "backoff(0.3) order 3": lm.Backoff(0.3, 3),
        "kneser_ney order 2 min count 2": lm.KneserNey(2, 2),
        "kneser_ney": lm.KneserNey(),
    }
    for text, model in pairs.items():
        assert corpus.prob("cat", "on the", text) == corpus.prob("cat", "on the", model)
    # Not expressible in a statement: an ∞-gram of limited order.
    assert corpus.prob("cat", "sat on the", lm.InfGram(2)).effective_n == 2
    with pytest.raises(PlanError, match="weight of stupid backoff"):
        corpus.prob("cat", model="backoff(2)")


@pytest.mark.parametrize("model", [*MODELS, "backoff order 2", "infgram"])
def test_rules_do_not_change_what_models_say_of_unknown_words(db, corpus, model):
    statements = [
        f"{head} USING {model}"
        for context in ("zebra", "the zebra", "zebra the", "the cat zebra dog", "sat on the")
        for head in (
            f'PROB "cat" GIVEN "{context}"',
            f'PROB "zebra" GIVEN "{context}"',
            f'DIST GIVEN "{context}"',
        )
    ]
    expected = [db.execute(statement).fetchall() for statement in statements]
    db.settings["disabled_rules"] = "fold_unknown_words, cut_context"
    assert [db.execute(statement).fetchall() for statement in statements] == expected
    if "kneser_ney" in model or model == "backoff":
        assert expected[0][0][0] is not None  # an unknown word does not make everything unknown


def test_distributions_have_a_row_for_every_token_and_one_for_all_others(db, corpus):
    rows = db.execute('DIST GIVEN "the" USING KNESER_NEY').fetchall()
    assert len(rows) == 9 + 2 and [row[3] for row in rows] == sorted((row[3] for row in rows), reverse=True)
    assert sum(row[3] for row in rows) == pytest.approx(1)
    assert {row[0]: row[2] for row in rows}["cat"] == 3
    unknown = next(row for row in rows if row[0] == "<unk>")
    assert unknown[1:3] == (None, 0)
    assert unknown[3] == corpus.prob("zebra", "the", "kneser_ney")
    end = next(row for row in rows if row[0] is None)
    assert end[1] is None and end[3] > 0
    first = db.execute('DIST GIVEN "the" USING KNESER_NEY TOP 1')
    assert first.fetchall() == rows[:1] and first.summary["total"] == 11
    assert corpus.dist("the", lm.KneserNey(), top=1).fetchall() == rows[:1]


def test_counts_as_arrays_are_of_models_that_are_counts(corpus):
    with pytest.raises(InvalidArgument, match=r"BACKOFF\(0\.4\) has no distribution of counts"):
        corpus.dist_arrays("the", "backoff")
    with pytest.raises(InvalidArgument, match="MIN COUNT 2 has no distribution"):
        corpus.dist_arrays("the", "infgram min count 2")
    found = corpus.language_model("backoff").dist(corpus.tokenizer.encode("the"))
    assert found.probs.max() == corpus.prob("cat", "the", "backoff")


def test_summaries_say_what_to_know_of_a_model(db, corpus):
    for head in ('PROB "a" GIVEN "b"', 'DIST GIVEN "a"', 'SCORE "a"', 'GENERATE GIVEN "a" TOKENS 1'):
        assert "scores, not probabilities" in db.execute(f"{head} USING BACKOFF").summary["note"]
        assert "0.5, 1 and 1.5 stand in" in db.execute(f"{head} USING KNESER_NEY").summary["note"]
        assert "note" not in db.execute(f"{head} USING INFGRAM").summary
    assert "note: stupid backoff" in repr(db.execute('SCORE "a" USING BACKOFF'))


# ---- ANALYZE ----------------------------------------------------------------------------------------------


def test_analyze_keeps_statistics_until_the_corpus_changes(tmp_path):
    path = tmp_path / "a.ngdb"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("pets")
        corpus.append(TEXTS)
        before = corpus.prob("cat", "the", "kneser_ney")
        report = corpus.analyze()
        assert report.changed and report.version == db.version
        assert corpus.prob("cat", "the", "kneser_ney") == before
        again = corpus.analyze()
        assert (again.changed, again.version) == (False, report.version)
        rows = db.execute("ANALYZE pets").fetchall()
        assert [row[0] for row in rows] == list(range(1, 11))
        fallen_back = 1 in report.statistics.fallbacks()
        assert rows[0] == (1, report.statistics.n_types[0], *report.statistics.discount(1), fallen_back)
        assert [row[5] for row in rows].count(True) == len(report.statistics.fallbacks())
    with ngramdb.connect(path, read_only=True) as db:
        corpus = db.corpus("pets")
        kept = db.snapshot.view("pets").entry.statistics
        assert (
            kept.n_types == report.statistics.n_types and kept.continuation == report.statistics.continuation
        )
        assert corpus.prob("cat", "the", "kneser_ney") == before
        described = dict(db.execute("DESCRIBE pets").fetchall())
        assert described["statistics"].startswith("taken 2") and "UTC" in described["statistics"]
        assert described["discounts 10"].startswith("0.5, 1, 1.5 (fallback")
        with pytest.raises(ReadOnlyError):
            corpus.analyze()
    with ngramdb.connect(path) as db:
        corpus = db.corpus("pets")
        corpus.append(["the cat slept"])
        described = dict(db.execute("DESCRIBE pets").fetchall())
        assert "out of date" in described["statistics"] and "discounts 1" not in described
        anew = ngramdb.connect().create_corpus("pets")
        anew.append([*TEXTS, "the cat slept"])
        assert corpus.prob("cat", "the", "kneser_ney") == anew.prob("cat", "the", "kneser_ney")
        assert corpus.analyze().changed
        db.execute("RESTORE CORPUS pets TO VERSION 3")
        assert "statistics" not in dict(db.execute("DESCRIBE pets").fetchall())


def test_analyze_counts_up_to_the_order_asked_for(db, corpus):
    assert len(corpus.analyze(4).statistics.n_types) == 4
    assert "ANALYZE … ORDER 6 counts more" in corpus.language_model(lm.KneserNey(order=6)).note
    kept = corpus.analyze()  # no options: the kept statistics are good
    assert not kept.changed and kept.statistics.max_length == 4
    assert [row[0] for row in db.execute("ANALYZE pets ORDER 6").fetchall()] == [1, 2, 3, 4, 5, 6]
    assert "counts more" not in corpus.language_model(lm.KneserNey(order=6)).note
    assert not corpus.analyze(order=6).changed
    (line, *_) = [row[0] for row in db.execute("EXPLAIN ANALYZE pets ORDER ?", [6])]
    assert line == "analyze pets order 6"
    for order in (1, 1001, True, 2.5, "3"):
        with pytest.raises(InvalidArgument, match="from 2 to 1,000"):
            corpus.analyze(order)


def test_statistics_that_are_kept_are_used(db, corpus, monkeypatch):
    corpus.analyze()
    db.refresh()
    # As in another process.
    database = db._database
    database._go_over(type(db.snapshot)(database.store, db.snapshot.manifest))

    def unexpected(*_):
        raise AssertionError("statistics were taken again")

    monkeypatch.setattr("ngramdb.lm.statistics.take_statistics", unexpected)
    assert corpus.prob("cat", "the", "kneser_ney") is not None


def test_analyze_is_interrupted_without_a_trace(db, corpus):
    version = db.version
    with pytest.raises(QueryCancelled):
        db.execute("ANALYZE pets", timeout=1e-9)
    assert db.execute("SHOW VERSIONS").fetchall()[-1][0] == version


def test_discounts_of_characters_go_to_greater_lengths(db):
    letters = db.create_corpus("letters", tokenizer="chars")
    letters.append(TEXTS)
    assert len(db.execute("ANALYZE letters").fetchall()) == 50


# ---- GENERATE ---------------------------------------------------------------------------------------------


def test_generation_by_statement_and_verb(db, corpus):
    (row,) = db.execute('GENERATE GIVEN "the cat sat" TOKENS 3').fetchall()
    (text,) = corpus.generate("the cat sat", 3)
    assert row == (1, text, text.logprob) and text == "on the mat"
    assert text.token_ids == tuple(corpus.tokenizer.encode("on the mat")) and not text.ended
    again = pickle.loads(pickle.dumps(text))
    assert (again, again.token_ids, again.logprob, again.ended) == (text, text.token_ids, text.logprob, False)
    assert corpus.generate("the dog sat", 0)[0] == ""


@pytest.mark.parametrize("model", MODELS)
def test_samples_are_the_same_for_a_seed_and_stream_piece_by_piece(corpus, model):
    options = {"method": "sample", "temperature": 1.5, "top": 5, "nucleus": 0.9, "seed": 11}
    (text,) = corpus.generate("the", 8, model, **options)
    pieces = list(corpus.stream("the", 8, model, **options))
    assert "".join(pieces) == text and len(pieces) == len(text.token_ids)
    three = corpus.generate("the", 8, model, **options, n=3)
    assert text in three and [t.logprob for t in three] == sorted((t.logprob for t in three), reverse=True)


def test_a_result_streams_its_only_continuation_and_does_not_draw_it_again(db, corpus):
    result = db.execute('GENERATE GIVEN "the" TOKENS 9 METHOD SAMPLE')
    streamed = "".join(result.pieces)
    (row,) = result.fetchall()
    assert row[1] == streamed
    seed = result.summary["seed"]
    assert db.execute(f'GENERATE GIVEN "the" TOKENS 9 METHOD SAMPLE SEED {seed}').fetchall() == [row]
    assert db.execute('GENERATE GIVEN "the" TOKENS 9 METHOD BEAM').pieces is None
    assert db.execute('GENERATE GIVEN "the" TOKENS 9 METHOD SAMPLE RETURN 2').pieces is None
    assert db.execute('COUNT "the"').pieces is None


def test_generation_ends_at_stop_ngrams_and_below_the_least_probability(db):
    corpus = db.create_corpus("flies")
    corpus.append(["time flies like an arrow .", "fruit flies like an apple ."])
    [whole] = corpus.generate("time", 6)
    ids, words = whole.token_ids, whole.split()
    for stop in (words[1], [words[1]], [ids[1]], [[ids[1]], "zebra"], " ".join(words[:2])):
        [found] = corpus.generate("time", 6, stop=stop)
        assert found.token_ids == ids[:2]
        assert not found.ended
        assert "".join(corpus.stream("time", 6, stop=stop)) == found
    assert corpus.generate("time", 6, stop=["zebra"]) == corpus.generate("the", 6, stop="") == [whole]
    first = math.exp(corpus.generate("flies like an", 1)[0].logprob)
    assert corpus.generate("flies like an", 1, min_prob=first) == corpus.generate("flies like an", 1)
    assert corpus.generate("flies like an", 1, min_prob=min(1.0, first + 1e-6)) == [""]
    for odd in (0, 1.5, "1"):
        with pytest.raises(ngramdb.Error, match=r"(?i)min.prob"):
            corpus.generate("flies like an", 1, min_prob=odd)
    with pytest.raises(ngramdb.Error, match="STOP requires a token"):
        corpus.generate("flies like an", 1, stop=["a", ""])


def test_beams_and_diversity(db, corpus):
    rows = db.execute('GENERATE GIVEN "the" TOKENS 3 METHOD BEAM(4) RETURN 3').fetchall()
    assert [row[0] for row in rows] == [1, 2, 3] and len({row[1] for row in rows}) == 3
    assert [text.logprob for text in corpus.generate("the", 3, beams=4, n=3)] == [row[2] for row in rows]
    diverse = corpus.generate("the", 1, beams=3, diversity=20, n=3)
    assert len({text.split()[0] for text in diverse}) == 3
    assert len(corpus.generate("", 2, method="beam", n=7)) == 7  # the requested number of beams


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("METHOD GREEDY TEMPERATURE 2", "TEMPERATURE belongs to METHOD sample, not to METHOD greedy"),
        ("METHOD BEAM(2) NUCLEUS 0.5", "NUCLEUS belongs to METHOD sample, not to METHOD beam"),
        ("METHOD SAMPLE DIVERSITY 1", "DIVERSITY belongs to METHOD beam, not to METHOD sample"),
        ("TOP 3 DIVERSITY 1", "DIVERSITY belongs to METHOD beam, not to METHOD sample"),
        ("METHOD BEAM(0)", "the number of beams must be a whole number of at least 1, not 0"),
        ("TEMPERATURE 0", "TEMPERATURE must be above 0 (METHOD greedy is the limit), not 0"),
        ("TEMPERATURE -0.5", "TEMPERATURE must be above 0 (METHOD greedy is the limit), not -0.5"),
        ("NUCLEUS 0", "NUCLEUS must be above 0 and at most 1, not 0"),
        ("NUCLEUS 1.5", "NUCLEUS must be above 0 and at most 1, not 1.5"),
        ("TOP 0", "TOP must be a whole number of at least 1, not 0"),
        ("RETURN 0", "RETURN must be a whole number of at least 1, not 0"),
        ("RETURN 2", "greedy generation has one continuation; use sample or beam for more"),
        ("METHOD BEAM(2) RETURN 3", "a search with 2 beams cannot return 3 continuations"),
        ("DIVERSITY -1", "DIVERSITY must be 0 or more, not -1"),
        ("USING BACKOFF(0)", "the weight of stupid backoff must be above 0 and at most 1, not 0"),
        ("USING BACKOFF(1.5)", "the weight of stupid backoff must be above 0 and at most 1, not 1.5"),
        ("USING KNESER_NEY ORDER 0", "ORDER must be a whole number of at least 1, not 0"),
        ("USING NGRAM ORDER 3000000000", "ORDER must be at most 2,147,483,647, not 3,000,000,000"),
        ("USING INFGRAM MIN COUNT 0", "MIN COUNT must be a whole number of at least 1, not 0"),
    ],
)
def test_clauses_that_do_not_fit_are_refused_with_the_place_of_the_value(db, corpus, clauses, message):
    with pytest.raises(PlanError) as caught:
        db.execute(f'GENERATE GIVEN "the" TOKENS 2 {clauses}')
    error = caught.value
    assert error.message == message
    value = clauses.rstrip(")").replace("(", " ").split()[-1]
    assert error.text[error.start : error.stop] == value


def test_a_parameter_out_of_range_says_which_it_is(db, corpus):
    for value, message in (
        (0, "TEMPERATURE must be above 0"),
        (math.nan, "not nan"),
        ("x", "must be a number, not 'x'"),
    ):
        with pytest.raises(PlanError, match=f"^parameter 1: .*{message}"):
            db.execute('GENERATE GIVEN "the" TOKENS 2 TEMPERATURE ?', [value])
    with pytest.raises(
        PlanError, match=r"^:w: the weight of stupid backoff must be above 0 and at most 1, not 2"
    ):
        db.execute('DIST GIVEN "the" USING BACKOFF(:w)', {"w": 2})


def test_the_verb_refuses_what_the_statement_refuses(corpus):
    for options, message in (
        ({"method": "best"}, "method must be 'greedy', 'sample' or 'beam', not 'best'"),
        ({"tokens": -1}, "tokens must be a whole number of at least 0"),
        ({"method": "greedy", "beams": 3}, "beams requires method 'beam'"),
        ({"temperature": "hot"}, "temperature must be a number, not 'hot'"),
        ({"method": "greedy", "nucleus": 0.5}, "NUCLEUS belongs to METHOD sample"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
    ):
        with pytest.raises((PlanError, InvalidArgument), match=message):
            corpus.generate("the", **{"tokens": 2, **options})
    for options in ({"temperature": 0}, {"nucleus": 2}, {"diversity": -1}, {"n": 2}, {"beams": 2, "n": 3}):
        with pytest.raises(InvalidArgument):
            corpus.generate("the", 2, **options)


def test_generation_can_be_stopped(db, corpus):
    with pytest.raises(QueryCancelled):
        db.execute('GENERATE GIVEN "the" TOKENS 3', timeout=1e-9).fetchall()
    db.settings["timeout"] = 1e-9
    with pytest.raises(QueryCancelled):
        list(corpus.stream("the", 3))


# ---- evaluation -------------------------------------------------------------------------------------------


def test_perplexity_of_documents_of_any_form(corpus):
    ids = corpus.tokenizer.encode("a zebra").tolist()
    docs = ["the cat sat", {"text": "a zebra"}, {"ids": ids}, (ids, {"n": 1}), ids]
    seen = []
    found = corpus.perplexity(iter(docs), "kneser_ney", progress=lambda *done: seen.append(done))
    assert found.document_lengths.tolist() == [4, 3, 3, 3, 3] and found.n_unknown == 4
    assert np.ptp(found.per_document[1:]) == 0 and seen[-1] == (5, 16)
    scores = corpus.score("the cat sat", "kneser_ney", document=True)
    assert found.per_document[0] == pytest.approx(np.exp(-scores.logprob.mean()))
    assert found.perplexity_known < found.perplexity
    without = corpus.perplexity(["the cat sat"], "kneser_ney", document=False)
    assert without.n_tokens == 3
    for wrong, message in (("the cat", "an iterable of texts"), ([{"x": 1}], "document 1: a dict needs")):
        with pytest.raises(InvalidArgument, match=message):
            corpus.perplexity(wrong)


def test_agreement_and_drafts(corpus):
    found = corpus.agreement(["the cat sat on the mat"])
    assert found.total == 6 and found.n_agreeing.sum() == 3 and found.mean_effective_n > 1
    draft = corpus.draft("sat on the mat the cat sat", 5)
    assert corpus.tokenizer.decode(draft.ids) == "on the mat" and draft.confidence == 1
    # If the end of the document is as frequent as any token, it wins: nothing is drafted.
    assert len(corpus.draft("the dog sat", 5).ids) == 0
    assert len(corpus.draft("the", 5, least_prob=0.99).ids) == 0
    with pytest.raises(InvalidArgument, match="n must be a whole number"):
        corpus.draft("the", -1)


def test_arpa_files(corpus, tmp_path, db):
    sizes = corpus.export_arpa(tmp_path / "pets.arpa", 3)
    text = (tmp_path / "pets.arpa").read_text()
    counted = "".join(f"ngram {n}={size}\n" for n, size in enumerate(sizes, start=1))
    assert text.startswith(f"\\data\\\n{counted}") and text.endswith("\\end\\\n")
    assert [len(part.strip().split("\n")) for part in text.split("-grams:\n")[1:]][:2] == [
        sizes[0] + 2,  # the heading of the next length, and the empty line before it
        sizes[1] + 2,
    ]
    corpus.export_arpa(tmp_path / "pets.arpa.gz", 3)
    assert gzip.decompress((tmp_path / "pets.arpa.gz").read_bytes()).decode() == text
    with pytest.raises(InvalidArgument, match="an order from 2 on"):
        corpus.export_arpa(tmp_path / "one.arpa", 1)
    with pytest.raises(ExecutionError, match="cannot write the file"):
        corpus.export_arpa(tmp_path / "none" / "x.arpa", 2)
    letters = db.create_corpus("letters", tokenizer="chars")
    letters.append(["a b\n", "b a"])
    letters.export_arpa(tmp_path / "letters.arpa", 2)
    words = {
        line.split("\t")[1] for line in (tmp_path / "letters.arpa").read_text().splitlines() if "\t" in line
    }
    assert {"▁", "\\u000a", "a ▁", "▁ b", "b \\u000a"} <= words
    names = ["letters.arpa", "pets.arpa", "pets.arpa.gz"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_ngrams_of_classes(corpus, tmp_path):
    [about, _] = corpus.export_ngrams(
        tmp_path / "pets.parquet", (2, 3), min_count=2, map=lambda text: text[0], slots=100
    )
    table = parquet.read_table(tmp_path / "pets.parquet").to_pydict()
    counts = Counter((first[0], second[0]) for text in TEXTS for first, second in pairwise(text.split()))
    found = {
        tuple(corpus.tokenizer.token_text(token)[0] for token in classes): count
        for n, classes, count in zip(table["n"], table["classes"], table["count"], strict=True)
        if n == 2
    }
    assert found == {pair: count for pair, count in counts.items() if count > 1}
    assert (about.occurrences, about.distinct, about.written) == (counts.total(), len(counts), len(found))
    assert about.collisions is not None
    for given in (
        {"n": (3, 2)},
        {"n": 0},
        {"n": 2, "min_count": 0},
        {"n": 2, "slots": 0},
        {"n": 2, "map": 5},
    ):
        with pytest.raises(InvalidArgument):
            corpus.export_ngrams(tmp_path / "x.parquet", **given)
    with pytest.raises(InvalidArgument, match=r"end in \.parquet"):
        corpus.export_ngrams(tmp_path / "x.csv", 2)
    assert not (tmp_path / "x.parquet").exists()


def test_pruned_arpa_files(corpus, tmp_path):
    whole = corpus.export_arpa(tmp_path / "pets.arpa", 3)
    sizes = corpus.export_arpa(tmp_path / "pruned.arpa", 3, min_count=(1, 1, 2), symbols="nemo")
    assert sizes[:2] == whole[:2] and sizes[2] < whole[2]
    by_entropy = corpus.export_arpa(tmp_path / "pruned.arpa", 3, prune="entropy:0.01")
    assert sum(by_entropy) < sum(whole)
    for options in ({"min_count": 0}, {"prune": "0.01"}, {"symbols": "x"}):
        with pytest.raises(InvalidArgument):
            corpus.export_arpa(tmp_path / "none" / "x.arpa", 3, **options)


def test_an_order_that_no_arpa_file_has_is_refused_before_the_work(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("ngramdb.api.verbs.evaluation.language_model", lambda *_: pytest.fail("worked"))
    for order in (1, 0, -1, True, 2.0, "3", None):
        with pytest.raises(InvalidArgument, match="an order from 2 on"):
            corpus.export_arpa(tmp_path / "x.arpa", order)


def test_agreement_can_skip_a_prompt(corpus):
    docs = ["the cat sat on the mat", "a dog", "the dog sat on the mat"]
    whole = corpus.agreement(docs)
    prompts = corpus.agreement([" ".join(text.split()[:3]) for text in docs])
    rest = corpus.agreement(docs, skip=3)
    assert rest.total == whole.total - prompts.total == 6
    n = len(prompts.n_tokens)
    assert (rest.n_tokens[:n] == (whole.n_tokens[:n] - prompts.n_tokens)[: len(rest.n_tokens)]).all()
    assert rest.n_agreeing.sum() == whole.n_agreeing.sum() - prompts.n_agreeing.sum()
    assert corpus.agreement(docs, skip=100).total == 0 and corpus.agreement(docs, skip=0).share == whole.share
    for skip in (-1, True, 1.5):
        with pytest.raises(InvalidArgument, match="skip must be a whole number"):
            corpus.agreement(docs, skip=skip)


def test_a_draft_can_rest_on_more_than_one_occurrence(db):
    corpus = db.create_corpus("drafts")
    corpus.append(["x a b c d", "y a b e", "z a b e"])
    assert corpus.tokenizer.decode(corpus.draft("x a b", 1).ids) == "c"
    found = corpus.draft("x a b", 1, least_count=2)
    assert corpus.tokenizer.decode(found.ids) == "e" and found.probs[0] == pytest.approx(2 / 3)
    assert len(corpus.draft("x a b", 1, least_count=2, least_prob=0.9).ids) == 0
    with pytest.raises(InvalidArgument, match="least count"):
        corpus.draft("x a b", 1, least_count=0)


def test_counts_that_took_long_are_worth_keeping_and_a_note_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("ngramdb.lm.of_corpora.NOTED_SECONDS", 0.0)
    with ngramdb.connect(tmp_path / "db") as db:
        db.create_corpus("kept").append(["a b a c", "a b"])
        note = db.execute('PROB "b" GIVEN "a" USING KNESER_NEY').summary["note"]
        assert "ANALYZE kept keeps the counts" in note and "stand in" in note
        # Once: nothing is counted again.
        assert "ANALYZE" not in db.execute('SCORE "a b" USING KNESER_NEY').summary["note"]
        db.execute("ANALYZE kept")
    monkeypatch.undo()
    with ngramdb.connect(tmp_path / "db") as db:
        assert "ANALYZE" not in db.execute('PROB "b" GIVEN "a" USING KNESER_NEY').summary["note"]


def test_the_share_of_files_that_is_read_is_known_where_their_size_is(tmp_path):
    (tmp_path / "a.txt").write_text("one\n" * 50_000)
    documents = documents_of_files([str(tmp_path / "a.txt")], format="lines")
    reading = iter(documents)
    assert documents.share == 0.0
    assert next(reading) == b"one" and 0 < documents.share < 1
    assert len(list(reading)) == 49_999 and documents.share == 1.0
    (tmp_path / "none.txt").write_text("")
    assert documents_of_files([str(tmp_path / "none.txt")]).share is None


def test_the_agreement_of_two_models_reports_the_documents_that_both_have_seen(corpus):
    docs = ["the cat sat on the mat", "a dog", "the zebra"]
    seen = []
    panels = agreement_panels(corpus.agreement, docs, 2, lambda *done: seen.append(done))
    assert seen == [(1, 5), (3, 10)]
    assert panels["∞-gram"].total == panels["2-gram"].total == 10
    assert (
        agreement_panels(corpus.agreement, docs, 2)["∞-gram"].n_tokens.tolist()
        == panels["∞-gram"].n_tokens.tolist()
    )


def test_documents_are_read_from_files_as_a_load_reads_them(tmp_path):
    (tmp_path / "a.txt").write_text("one two\nthree\n")
    (tmp_path / "b.jsonl").write_text('{"text": "four"}\n{"text": "five"}\n')
    (tmp_path / "c.jsonl").write_text('{"ids": [1, 2]}\n{"text": [3]}\n')

    def read(name, **options):
        return list(documents_of_files([str(tmp_path / name)], **options))

    assert read("a.txt") == [b"one two\nthree\n"]
    assert read("a.txt", format="lines") == [b"one two", b"three"]
    assert read("b.jsonl", limit=1) == [b"four"]
    assert [ids.tolist() for ids in read("c.jsonl", takes_ids=True)] == [[1, 2], [3]]
    with pytest.raises(LoadError, match="takes token ids"):
        read("a.txt", takes_ids=True)
    with pytest.raises(InvalidArgument, match="no separator"):
        read("b.jsonl", separator="---")


def test_a_file_of_lines_is_a_corpus_of_sentences(db, tmp_path):
    (tmp_path / "pets.txt").write_text("\n\n".join(TEXTS) + "\n")
    db.execute("CREATE CORPUS lines")
    db.execute(f"COPY lines FROM '{tmp_path / 'pets.txt'}' (FORMAT lines)")
    anew = db.create_corpus("anew")
    anew.append(TEXTS)
    assert db.corpus("lines").n_documents == 5
    scores = [db.corpus(name).score("the cat sat", "kneser_ney", document=True) for name in ("lines", "anew")]
    assert scores[0].prob.tolist() == scores[1].prob.tolist()


def test_plans_of_models_explain_themselves(db, corpus):
    (line, *_) = [row[0] for row in db.execute('EXPLAIN GENERATE GIVEN "the" TOKENS 4 NUCLEUS 0.5 SEED 1')]
    assert line == 'generate 4 tokens given "the", sample, nucleus 0.5, seed 1, INFGRAM'
    (line, *_) = [row[0] for row in db.execute('EXPLAIN SCORE "the" USING KNESER_NEY ORDER 3 DOCUMENT')]
    assert line == "score 1 token, as a document, KNESER_NEY ORDER 3"
    (line, *_) = [row[0] for row in db.execute("EXPLAIN ANALYZE pets")]
    assert line == "analyze pets"


def test_results_of_models_are_json(db, corpus):
    for row in db.execute('SCORE "the zebra" USING KNESER_NEY').to_dicts():
        json.dumps(row, allow_nan=False)


def test_the_program_that_the_format_is_of_scores_the_same(corpus, tmp_path):
    kenlm = pytest.importorskip("kenlm")
    corpus.export_arpa(tmp_path / "pets.arpa", 3)
    other = kenlm.Model(str(tmp_path / "pets.arpa"))
    for text in ("the cat sat on the mat", "a zebra and a dog", "mat", ""):
        found = corpus.score(text, "kneser_ney order 3", document=True)
        expected = [log10 for log10, _, _ in other.full_scores(text)]
        assert found.logprob / math.log(10) == pytest.approx(expected, abs=1e-5)


def test_a_separator_inside_documents_cuts_sentences(db):
    lines = db.create_corpus("lines", sentence_separator="|")
    lines.append([" | ".join(TEXTS)])
    anew = db.create_corpus("anew")
    anew.append(TEXTS)
    for model in MODELS:
        scores = [made.score("the cat sat", model, document=True).prob for made in (lines, anew)]
        assert np.array_equal(*scores, equal_nan=True)
        prob = [made.prob("cat", "the", model) for made in (lines, anew)]
        assert prob[0] == prob[1]


@pytest.mark.parametrize("tokenizer", ["bytes", "chars", "words"])
def test_pieces_have_whole_characters_and_make_the_text(db, tokenizer):
    made = db.create_corpus("größen", tokenizer=tokenizer)
    made.append(["größe ✓ und größer 😀 als groß"])
    for n in range(12):
        pieces = list(made.stream("größ" if tokenizer != "words" else "größe", n))
        (text,) = made.generate("größ" if tokenizer != "words" else "größe", n)
        assert "".join(pieces) == text
        # Only the last piece may end in the middle of a character.
        assert not any("\\x" in piece or "\ufffd" in piece for piece in pieces[:-1])
