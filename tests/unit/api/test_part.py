"""`Corpus.where`: query verbs answer like a corpus of just these documents; the other verbs refuse."""

from __future__ import annotations

import inspect
import math
import pickle
import shutil
import warnings

import numpy as np
import pytest

import ngramdb
from ngramdb.engine.corpus import slice as slices
from ngramdb.errors import BindError, InvalidArgument, NotSupportedError, ParseError, ResourceError

TEXTS = [
    ("time flies like an arrow", 1930),
    ("fruit flies like a banana", 1950),
    ("when you read a paper , time flies", 1960),
    ("fruit flies like an apple", 1970),
    ("an apple a day", 1980),
]


def documents(least=0):
    return [{"text": text, "year": year} for text, year in TEXTS if year >= least]


@pytest.fixture
def db(tmp_path):
    with ngramdb.connect(tmp_path / "d.ngdb") as db:
        corpus = db.create_corpus("c", tokenizer="words")
        corpus.append(documents()[:2])
        corpus.append(documents()[2:])
        # Ids of words are in order of first appearance: the same in both corpora.
        other = db.create_corpus("later", tokenizer="words")
        other.append(documents())
        other.delete("year < 1950")
        yield db


@pytest.fixture
def part(db):
    return db.corpus("c").where("year >= ?", params=[1950])


@pytest.fixture
def alone(db):
    return db.corpus("later")


def test_sizes_and_documents_are_those_of_the_part(part, alone):
    assert (part.n_documents, part.n_tokens) == (alone.n_documents, alone.n_tokens) == (4, alone.count([]))
    assert part.count_docs('"flies"') == 3
    assert part.count_docs() == 4
    assert [row[0] for row in part.docs('"time"')] == [2]
    assert repr(part).startswith("<ngramdb.Corpus c where year >= ?: 4 documents")


def _same(mine, theirs):
    """Return True if two answers of a verb are equal; Perplexity and Scores hold arrays."""
    if hasattr(mine, "fetchall"):
        return mine.fetchall() == theirs.fetchall()
    if hasattr(mine, "prob") and not isinstance(mine, float):
        return np.array_equal(mine.prob, theirs.prob, equal_nan=True)
    return (
        (mine.perplexity, mine.n_tokens) == (theirs.perplexity, theirs.n_tokens)
        if hasattr(mine, "perplexity")
        else mine == theirs
    )


@pytest.mark.parametrize(
    ("verb", "arguments", "named"),
    [
        ("count", ("flies like",), {}),
        ("count", ("FLIES", False, True), {}),
        ("prob", ("an", "flies like"), {}),
        ("prob", ("an", "flies like"), {"model": "kneser_ney order 3"}),
        ("prob", ("arrow",), {}),
        ("dist", ("flies like",), {"top": 3}),
        ("dist", ("flies like",), {"model": "kneser_ney"}),
        ("score", ("time flies like an arrow",), {"model": "infgram"}),
        ("generate", ("fruit",), {"tokens": 3, "seed": 1, "temperature": 1.0, "n": 3}),
        ("trace", ("time flies like an apple",), {"min_length": 2}),
        ("perplexity", (["fruit flies"],), {}),
        ("agreement", (["fruit flies like an arrow"],), {}),
    ],
)
def test_a_verb_with_a_condition_answers_as_the_part(db, alone, verb, arguments, named):
    """In cases in which the whole corpus answers differently: the years separate them."""
    whole = db.corpus("c")
    asked = getattr(whole, verb)(*arguments, **named, where="year >= ?", params=[1950])
    if verb == "generate":
        assert [one.token_ids for one in asked] == [
            one.token_ids for one in getattr(alone, verb)(*arguments, **named)
        ]
    elif verb == "trace":  # documents have other ids there
        assert [row[:4] for row in asked] == [row[:4] for row in getattr(alone, verb)(*arguments, **named)]
    elif verb == "agreement":
        expected = getattr(alone, verb)(*arguments, **named)
        assert (asked.share, asked.n_tokens.tolist()) == (expected.share, expected.n_tokens.tolist())
    else:
        assert _same(asked, getattr(alone, verb)(*arguments, **named))


def test_a_condition_makes_a_difference(db):
    corpus = db.corpus("c")
    assert corpus.count("time flies") == 2
    assert corpus.count("time flies", where="year >= 1950") == 1
    assert corpus.prob("arrow", given="an") == 1 / 3
    assert corpus.prob("arrow", given="an", where="year >= 1950") == 0
    assert "".join(corpus.stream("like an", 1, where="year < 1950")).strip() == "arrow"


@pytest.mark.parametrize("verb", ["prob", "dist", "score", "generate", "perplexity"])
def test_values_without_a_condition_are_refused(db, verb):
    with pytest.raises(InvalidArgument, match="params needs a condition"):
        getattr(db.corpus("c"), verb)("flies", params=[1950])


def test_every_verb_that_asks_answers_alike(part, alone):
    text = "time flies like an arrow"
    assert part.count("flies like") == alone.count("flies like") == 2
    assert part.count("arrow") == 0
    assert part.count_many(["an", "flies like"]).tolist() == [2, 2]
    for model in (
        "ngram",
        "infgram",
        "backoff",
        "kneser_ney order 3",
        "kneser_ney",
        "witten_bell",
        "pitman_yor",
        "katz",
        "skip_kneser_ney",
    ):
        assert part.prob("an", given="flies like", model=model) == alone.prob(
            "an", given="flies like", model=model
        )
        assert (
            part.dist("flies like", model=model).fetchall()
            == alone.dist("flies like", model=model).fetchall()
        )
        mine, theirs = part.score(text, model), alone.score(text, model)
        assert np.array_equal(mine.prob, theirs.prob, equal_nan=True)
        assert math.isclose(
            part.language_model(model).prob([1, 2], 3)[0] or 0,
            alone.language_model(model).prob([1, 2], 3)[0] or 0,
        )
    assert part.dist_arrays("like").counts.tolist() == alone.dist_arrays("like").counts.tolist()
    assert part.perplexity(["fruit flies"]).perplexity == alone.perplexity(["fruit flies"]).perplexity
    assert part.generate("time", tokens=3) == alone.generate("time", tokens=3)
    assert part.trace(text).fetchall() == alone.trace(text).fetchall()
    assert part.kwic("flies").fetchall() == alone.kwic("flies").fetchall()
    assert part.ngrams(2, top=3).fetchall() == alone.ngrams(2, top=3).fetchall()


def test_a_part_of_a_part(part):
    inner = part.where('"flies"')
    assert inner.n_documents == 3
    assert inner.count("an") == 1
    assert part.n_documents == 4


def test_it_follows_the_corpus(db, part):
    db.corpus("c").append([{"text": "flies again", "year": 1999}, {"text": "flies before", "year": 1900}])
    assert part.count("flies") == 4
    assert part.n_documents == 5


def test_conditions_of_verbs_narrow_it(part):
    assert part.count_docs("year > 1960") == 2
    assert [row[0] for row in part.docs('year > 1960 AND "an"').fetchall()] == [3, 4]


@pytest.mark.parametrize(
    "verb",
    [
        lambda part: part.append(["x"]),
        lambda part: part.load("x.jsonl"),
        lambda part: part.delete('"x"'),
        lambda part: part.compact(),
        lambda part: part.warm(),
        lambda part: part.restore(1),
        lambda part: part.add("later"),
        lambda part: part.subtract("later"),
        lambda part: part.decontaminate("x.txt"),
        lambda part: part.analyze(),
        lambda part: part.removals(),
        lambda part: list(part.removed_documents()),
        lambda part: part.export_removals("x.jsonl"),
        lambda part: part.keywords(against=part),
        lambda part: part.keywords(against=ngramdb.connect().create_corpus("c")),
    ],
)
def test_verbs_for_whole_corpora_refuse(part, verb):
    with pytest.raises(NotSupportedError, match=r"needs a whole corpus, but this is a part of c"):
        verb(part)


def takers_of_a_corpus():
    """The verbs of a corpus that take another one, and the parameter's name."""
    for name, verb in inspect.getmembers(ngramdb.Corpus, inspect.isfunction):
        if not name.startswith("_"):
            for parameter in inspect.signature(verb).parameters.values():
                if "Corpus" in str(parameter.annotation):
                    yield name, parameter.name


def test_no_verb_takes_a_part_for_the_whole_nor_a_corpus_for_another_of_its_name(db, part, tmp_path):
    assert sorted(takers_of_a_corpus()) == [
        ("add", "other"),
        ("agreement_table", "of"),
        ("cut_duplicates", "against"),
        ("delete_duplicates", "against"),
        ("delete_near_duplicates", "against"),
        ("duplicates", "against"),
        ("keywords", "against"),
        ("near_duplicates", "against"),
        ("novelty", "of"),
        ("perplexity_table", "of"),
        ("subtract", "other"),
    ]
    copied = tmp_path / "copy.ngdb"
    shutil.copytree(tmp_path / "d.ngdb", copied)
    in_memory = ngramdb.connect()
    in_memory.create_corpus("later").append(documents())
    corpus, version = db.corpus("c"), db.version
    for verb, name in takers_of_a_corpus():
        ask = getattr(corpus, verb)
        for one in (part, db.corpus("later").where("year > 1950")):
            with pytest.raises(NotSupportedError, match="copy\\(name\\) makes a corpus of the part"):
                ask(**{name: one})
        with ngramdb.connect(copied) as other:
            for one in (other.corpus("later"), in_memory.corpus("later")):
                with pytest.raises(InvalidArgument, match="needs a corpus of the same database"):
                    ask(**{name: one})
    assert db.version == version and corpus.n_documents == 5
    with ngramdb.connect(tmp_path / "d.ngdb") as again:  # another connection to the same one
        assert corpus.keywords(against=again.corpus("later")).fetchall() == (
            corpus.keywords(against=db.corpus("later")).fetchall()
        )
        assert corpus.add(again.corpus("later")).documents == 4
        assert corpus.subtract(again.corpus("later")).documents == 4


def test_what_is_wrong_with_a_condition_is_said_at_once(db):
    with pytest.raises(BindError, match="yaer"):
        db.corpus("c").where("yaer = 1")
    with pytest.raises(ParseError):
        db.corpus("c").where("year =")


def test_it_can_be_pickled(part):
    again = pickle.loads(pickle.dumps(part.where('"flies"')))
    assert (again.n_documents, again.count("flies")) == (3, 3)


def test_export_writes_the_part(part, tmp_path):
    assert part.export(tmp_path / "out.jsonl") == 4
    assert (tmp_path / "out.jsonl").read_text().count("\n") == 4


def test_no_document_is_a_part_too(db):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        none = db.corpus("c").where("year = 1")
    assert (none.n_documents, none.n_tokens, none.count("flies"), none.count([])) == (0, 0, 0, 0)
    assert none.dist("flies").fetchall() == []
    assert none.prob("a", given="flies") is None


def test_a_part_that_is_too_large_says_what_to_do(db, monkeypatch):
    monkeypatch.setattr(slices, "MAX_INDEXED", 3)
    with pytest.raises(ResourceError, match=r"10 of 27 tokens would .*\(at most 3.*AS \(DOCS WHERE"):
        db.corpus("c").where("year < 1960")
    with pytest.raises(ResourceError, match="at most 3"):
        db.execute('DIST GIVEN "flies" USING INFGRAM FROM c WHERE year < 1960')
