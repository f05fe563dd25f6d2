"""Arguments that are of another type than they should be: an error of ngramdb, which names what is wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ngramdb
from ngramdb.errors import InvalidArgument

NONE, ONE, SEVERAL = np.array([]), np.array(1), np.array([1, 2])


@pytest.fixture
def corpus() -> Any:
    with ngramdb.connect() as db:
        made = db.create_corpus("c")
        made.append([{"text": "a b c a b d", "k": 1}, "a b a"])
        yield made


@pytest.mark.parametrize("array", [NONE, ONE, SEVERAL], ids=["none", "one", "several"])
@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("collocates", {"pattern": "a", "window": ...}),
        ("decontaminate", {"against": "x.jsonl", "format": ...}),
        ("decontaminate", {"against": "x.jsonl", "text": ...}),
        ("decontaminate", {"against": "x.jsonl", "source_field": ...}),
        ("decontaminate", {"against": "x.jsonl", "report": ...}),
        ("dist_arrays", {"given": ["a"], "model": ...}),
        ("export", {"path": "x.jsonl", "format": ...}),
        ("export", {"path": ...}),
        ("export_arpa", {"path": ..., "order": 2}),
        ("export_infini_gram", {"folder": "x", "token_dtype": ...}),
        ("export_infini_gram", {"folder": "x", "version": ...}),
        ("export_infini_gram", {"folder": ...}),
        ("export_ngrams", {"path": "x.parquet", "n": ...}),
        ("export_ngrams", {"path": ..., "n": 2}),
        ("export_removals", {"path": ...}),
        ("generate", {"given": "a", "method": ...}),
        ("keywords", {"where": "k = 1", "by": ...}),
        ("kwic", {"pattern": "a", "window": ...}),
        ("load", {"paths": "x.jsonl", "on_error": ...}),
        ("stream", {"given": "a", "method": ...}),
        ("subtract", {"other": ...}),
        ("trace_arrays", {"text": "a", "min_length": ...}),
    ],
)
def test_an_array_is_no_option(corpus: Any, verb: str, given: dict[str, Any], array: Any) -> None:
    (place,) = [name for name, value in given.items() if value is ...]
    with pytest.raises(InvalidArgument):
        getattr(corpus, verb)(**{**given, place: array})


@pytest.mark.parametrize(
    "verb", ["agreement", "append", "count_many", "dist_many", "load", "perplexity", "score_many"]
)
def test_an_array_without_dimensions_is_no_list(corpus: Any, verb: str) -> None:
    with pytest.raises(InvalidArgument, match="not ndarray"):
        getattr(corpus, verb)(ONE)
    with pytest.raises(InvalidArgument, match="not ndarray"):
        corpus.prob_many(ONE, ["a"])
    with pytest.raises(InvalidArgument, match="not ndarray"):
        corpus.decontaminate(ONE)


@pytest.mark.parametrize("value", ["a", None, [], float("nan"), -0.5, 1.5, True, np.array([0.5])])
def test_the_least_probability_of_a_draft_is_one(corpus: Any, value: Any) -> None:
    with pytest.raises(InvalidArgument, match="least_prob must be a number from 0 to 1"):
        corpus.draft("a", 2, least_prob=value)


def test_the_least_probability_of_a_draft_is_any_number(corpus: Any) -> None:
    found = [len(corpus.draft("a", 2, least_prob=value).ids) for value in (0, 1, 0.5, np.float32(0.25))]
    assert found == [2, 0, 1, 2]


def test_numbers_beyond_64_bits_are_large_numbers(corpus: Any, tmp_path: Any) -> None:
    assert corpus.trace("a b", docs=2**64).fetchall() == corpus.trace("a b", docs=None).fetchall()
    (tmp_path / "x.jsonl").write_text('{"text": "a"}\n')
    assert corpus.load(tmp_path / "x.jsonl", limit=2**64).documents == 1


def test_versions_are_whole_numbers_of_any_kind(corpus: Any) -> None:
    version = int(ngramdb.connect().version)
    assert corpus.restore(np.int64(version + 2)).documents == corpus.restore(np.array(version + 2)).documents
    for value in (NONE, SEVERAL, "1", None, 1.0, True):
        with pytest.raises(InvalidArgument, match="version must be a whole number"):
            corpus.restore(value)


def test_names_of_corpora_are_texts() -> None:
    with ngramdb.connect() as db:
        for verb in (db.describe, db.drop_corpus, db.detach):
            for value in (None, b"c", ["c"], ONE, 1):
                with pytest.raises(InvalidArgument, match="a corpus's name must be a str"):
                    verb(value)
        db.create_corpus("c")
        with pytest.raises(InvalidArgument, match="version must be a whole number"):
            db.describe("c", "1")
        with pytest.raises(InvalidArgument, match="a path must be a str"):
            db.attach(5, "x")


def test_a_reason_that_cannot_be_stored_is_refused(corpus: Any) -> None:
    with pytest.raises(InvalidArgument, match="the reason is not valid Unicode at position 1"):
        corpus.delete("k = 1", reason="a\ud800")
    assert corpus.n_documents == 2


@pytest.mark.parametrize("path", ["a\0b", "\0"])
def test_no_path_has_a_null_character(db, tmp_path, path):
    corpus = db.create_corpus("c")
    for ask in (
        lambda: corpus.load(path),
        lambda: corpus.decontaminate(path),
        lambda: db.attach(path, name="x"),
        lambda: db.commit_parts("c", path),
        lambda: ngramdb.connect(path),
        lambda: ngramdb.build(path, __file__, (0, 2), format="lines"),
        lambda: ngramdb.build(tmp_path / "out", path, (0, 2)),
        lambda: ngramdb.missing(path, 2),
        lambda: ngramdb.commit(tmp_path / "db", "c", path),
    ):
        with pytest.raises(ngramdb.InvalidArgument, match=r"cannot be (a|the) path"):
            ask()


MASKED = np.ma.array([0, 1], mask=[False, True])


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.count(MASKED),
        lambda c: c.count_many([MASKED]),
        lambda c: c.count_many((MASKED, np.array([0, 2]))),
        lambda c: c.count_many((np.array([0]), MASKED)),
        lambda c: c.prob(1, MASKED),
        lambda c: c.prob(MASKED, [1]),
        lambda c: c.prob_many([MASKED], [1]),
        lambda c: c.prob_many([[0], [1]], MASKED),
        lambda c: c.dist(MASKED),
        lambda c: c.dist_arrays(MASKED),
        lambda c: c.score(MASKED),
        lambda c: c.generate(MASKED),
        lambda c: c.kwic(MASKED),
        lambda c: c.trace(MASKED),
        lambda c: c.match_lengths(MASKED),
        lambda c: c.perplexity([MASKED]),
        lambda c: c.append([MASKED]),
        lambda c: c.append([{"ids": MASKED}]),
        lambda c: c.append([(MASKED, {})]),
        lambda c: c.language_model("kneser_ney").score(MASKED),
        lambda c: c.tokenizer.decode(MASKED),
        lambda c: ngramdb.pattern("? *", [MASKED]),
    ],
)
def test_masked_elements_are_not_read(corpus: Any, ask: Any) -> None:
    with pytest.raises((InvalidArgument, ngramdb.LoadError), match=r"masked elements; use array\.compressed"):
        ask(corpus)


def test_a_masked_array_without_masked_elements_is_an_array(corpus: Any) -> None:
    ids = np.ma.array([0, 1], mask=False)
    assert corpus.count(ids) == corpus.count([0, 1]) > 0
    assert corpus.append([(ids, {})]).tokens == 2


def test_a_condition_that_is_none_removes_nothing(corpus: Any) -> None:
    with pytest.raises(InvalidArgument, match="needs a condition"):
        corpus.delete(None)
    assert corpus.count_docs() == 2


@pytest.mark.parametrize("value", [None, 5, 1.5, True, [], b"x", ..., "\ud800", ""])
@pytest.mark.parametrize("argument", ["field", "score_field"])
def test_fields_of_quality_are_names(corpus: Any, argument: str, value: Any) -> None:
    if argument == "score_field" and value is None:
        return
    with pytest.raises(InvalidArgument, match=f"{argument} must be the path of a field"):
        corpus.quality("c", **{argument: value})


@pytest.mark.parametrize("value", [None, 5, True, ..., b"x", [1], "nothing"])
def test_normalizations_are_names(corpus: Any, value: Any) -> None:
    with pytest.raises(InvalidArgument, match="normalize takes"):
        corpus.delete_duplicates(normalize=value)


def test_the_sum_of_weights_is_finite(corpus: Any) -> None:
    with pytest.raises(InvalidArgument, match="the sum of the weights is too large"):
        corpus.keep_sample(5, by="k", weights={1: 1e308, 2: 1e308})
