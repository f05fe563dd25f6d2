"""The verbs of a corpus: documents in, answers out."""

from __future__ import annotations

import copy
import datetime
import gc
import gzip
import math
import pickle
import traceback

import numpy as np
import pytest

import ngramdb
from ngramdb import BindError, ExecutionError, InvalidArgument, LoadError, ParseError, PlanError, Probability
from ngramdb import registries as kinds
from ngramdb.questions.to_ast import as_model


def test_append_takes_text_dicts_and_pairs(db):
    words = db.create_corpus("words")
    report = words.append(iter(["a b", {"text": "b", "year": 1}, ("c", {"year": 2}), b"d", ""]))
    assert (report.documents, report.tokens, report.segments, report.skipped) == (5, 5, 1, 0)
    assert report.version == db.version and report.elapsed > 0 and report.bytes == 6
    assert words.docs().fetchall() == [
        (0, None, 2, "a b"),
        (1, 1, 1, "b"),
        (2, 2, 1, "c"),
        (3, None, 1, "d"),
        (4, None, 0, ""),
    ]
    ids = db.create_corpus("ids", tokenizer="tokens")
    ids.append(
        [([1, 2], {"x": True}), np.array([2**32 - 1], dtype=np.uint32), [0], {"ids": (7,), "x": False}]
    )
    assert ids.docs().fetchall() == [
        (0, True, 2, "1 2"),
        (1, None, 1, "4294967295"),
        (2, None, 1, "0"),
        (3, False, 1, "7"),
    ]  # fmt: skip


def test_arrays_of_ids_may_have_any_layout_and_are_taken_as_they_are_when_they_come(db):
    ids = db.create_corpus("ids", tokenizer="tokens")
    kinds = ["u1", "<u2", ">u2", ">u4", "u4", "i1", "i8", "u8"]
    frozen = np.arange(3, dtype=np.uint16)
    frozen.flags.writeable = False

    def documents():
        buffer = np.zeros(3, dtype=np.uint16)
        for k in range(3):
            buffer[:] = (k, k + 1, 300 * k)
            yield buffer
        for kind in kinds:
            yield np.arange(8, dtype=kind)[::-3]
        yield from (frozen, np.empty(0), np.array([2**32 - 1, 1], dtype=np.uint64))

    ids.append(documents())
    texts = [row[-1] for row in ids.docs()]
    assert texts == ["0 1 0", "1 2 300", "2 3 600", *["7 4 1"] * len(kinds), "0 1 2", "", "4294967295 1"]
    assert [ids.count([7, 4, 1]), ids.count([2**32 - 1, 1]), ids.count([1])] == [len(kinds), 1, 12]


def test_lists_of_ids_may_hold_numpys_integers(db):
    ids = db.create_corpus("ids", tokenizer="tokens")
    ids.append([[np.int64(5), 6], [np.uint8(7)], list(np.arange(2))])
    assert [row[-1] for row in ids.docs()] == ["5 6", "7", "0 1"]
    for bad in ([np.int64(-1)], [np.float64(1)], [np.bool_(True)], [True]):
        with pytest.raises(LoadError, match="item 0"):
            ids.append([bad])


@pytest.mark.parametrize(
    "value",
    [-math.inf, np.float32("inf"), [1.0, [math.nan, math.inf]], {"a": math.inf}, np.array([math.inf])],
)
def test_numbers_that_json_lacks_are_refused_as_in_a_load(wiki, value):
    with pytest.raises(LoadError, match="document 2: metadata field 'x' has an infinite number"):
        wiki.append([{"text": "a", "x": 1.5}, {"text": "b", "x": value}])


@pytest.mark.parametrize("paths", [None, 5, [None], ["a.jsonl", 3]])
def test_what_is_no_path_is_an_invalid_argument(wiki, paths):
    with pytest.raises(InvalidArgument, match="load takes a path, a list of paths or a table"):
        wiki.load(paths)
    with pytest.raises(LoadError, match="an empty path"):
        wiki.load("")


def test_a_corpus_of_ids_takes_them_from_a_document_that_has_text_as_well(db):
    ids = db.create_corpus("ids", tokenizer="tokens")
    ids.append([{"text": "one two", "ids": [1, 2]}])
    assert ids.docs().to_dicts() == [{"doc_id": 0, "metadata.text": "one two", "length": 2, "text": "1 2"}]


def test_metadata_that_cannot_be_stored_name_their_document(wiki, db):
    before = db.version
    with pytest.raises(LoadError, match="append: document 2: metadata field 'when' holds a datetime"):
        wiki.append(["fine", {"text": "x", "when": datetime.datetime(2020, 1, 1)}])
    assert db.version == before


def test_fields_beyond_the_first_256_are_in_a_column_of_their_own_whatever_the_segments(db):
    documents = [{"text": "x", **{f"f{10 * i + k}": k for k in range(20)}, "empty": {}} for i in range(30)]
    for name, per_load in (("once", 30), ("thrice", 10), ("each", 1)):
        corpus = db.create_corpus(name)
        for start in range(0, 30, per_load):
            corpus.append([dict(document) for document in documents[start : start + per_load]])
        columns = corpus.docs().columns
        assert columns == ("doc_id", *(f"f{k}" for k in range(256)), "metadata.rest", "length", "text")
        found = corpus.docs().to_dicts()
        assert found[24]["f255"] == 15
        assert [row["metadata.rest"] for row in found[:25]] == [None] * 24 + [
            {f"f{240 + k}": k for k in (16, 17, 18, 19)}
        ]
        assert found[29]["metadata.rest"] == {f"f{290 + k}": k for k in range(20)}
        described = dict(db.execute(f"DESCRIBE {name}").fetchall())
        assert described["field f255"] == "int64" and described["field metadata.rest"] == "json"
        assert "field f256" not in described


def test_an_append_of_nothing_commits_nothing(db):
    corpus = db.create_corpus("c")
    before = db.version
    report = corpus.append([])
    assert (report.documents, report.segments, report.version, db.version) == (0, 0, before, before)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (3, "document 2: a document must be text, a dict, or a pair of ids and metadata, not int"),
        (None, "document 2: a document must be text, a dict, or a pair of ids and metadata, not NoneType"),
        ({"txt": "x"}, "document 2: a dict needs 'text' or 'ids'; this one has txt"),
        ({"text": 3}, "document 2: the text must be a string, not int"),
        ({"text": "x", 3: 4}, "document 2: the names of metadata fields must be strings"),
        ("\ud800", "document 2: the text is not valid Unicode at position 0"),
        (b"a\xff", "document 2: the text is not valid Unicode at position 1"),
        (([1.5], {}), "document 2: field 'ids', item 0"),
        ([2**32], "document 2: field 'ids', item 0"),
        ([99], "document 2: token id 99 is not below the vocabulary's size"),
    ],
)
def test_a_bad_document_is_named_and_nothing_is_committed(wiki, db, bad, message):
    before = db.version
    with pytest.raises(LoadError) as caught:
        wiki.append(["fine", bad, "never read"])
    assert caught.value.message.startswith(message) and caught.value.source == "append"
    assert db.version == before and wiki.n_documents == 3 and wiki.count("fine") == 0


def test_an_error_of_the_callers_own_iterator_passes_through(wiki, db):
    before = db.version

    def documents():
        yield "fine"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        wiki.append(documents())
    assert db.version == before and wiki.count("fine") == 0


def test_one_document_is_no_list_of_documents(wiki):
    for one in ("text", b"text", {"text": "x"}, 3):
        with pytest.raises(InvalidArgument, match="put one document in a list"):
            wiki.append(one)


def test_text_for_a_corpus_of_ids_is_refused(db, tmp_path):
    ids = db.create_corpus("ids", tokenizer="tokens")
    with pytest.raises(LoadError, match="takes token ids"):
        ids.append(["text"])
    (tmp_path / "x.txt").write_text("text")
    with pytest.raises(InvalidArgument, match="which text files do not have"):
        ids.load(tmp_path / "x.txt")
    (tmp_path / "x.idx").write_bytes(b"MMIDIDX\0\0")
    with pytest.raises(InvalidArgument, match=r"x\.idx belongs to a file of ids, which should be loaded"):
        ids.load(tmp_path / "x.idx")
    with pytest.raises(PlanError, match=r"write them as \[1, 2\]"):
        db.execute('COUNT "text"')
    (tmp_path / "x.jsonl").write_text('{"ids": [1, 2], "n": 1}\n{"ids": [], "n": 2}\n')
    assert ids.load(tmp_path / "x.jsonl").tokens == 2
    assert ids.docs().fetchall() == [(0, 1, 2, "1 2"), (1, 2, 0, "")]


def test_token_ids_are_read_from_the_field_that_is_named_or_from_ids_or_text(db, tmp_path):
    (tmp_path / "x.jsonl").write_text(
        '{"ids": [1, 2], "text": [7], "t": {"x": [8, 9]}}\n{"text": [3], "t": {"x": []}}\n'
    )
    for options, expected in (
        ({}, [[1, 2], [3]]),
        ({"text": "text"}, [[7], [3]]),
        ({"text": "t.x"}, [[8, 9], []]),
        ({"ids": "t.x"}, [[8, 9], []]),
    ):
        ids = db.create_corpus("ids", tokenizer="tokens")
        ids.load(tmp_path / "x.jsonl", metadata=(), **options)
        assert [row[-1] for row in ids.docs()] == [" ".join(map(str, one)) for one in expected]
        db.drop_corpus("ids")
    ids = db.create_corpus("ids", tokenizer="tokens")
    with pytest.raises(InvalidArgument, match=r"the documents' content, 't\.x', and so does TEXT, 'text'"):
        ids.load(tmp_path / "x.jsonl", ids="t.x", text="text")
    (tmp_path / "y.jsonl").write_text('{"text": "a b"}\n{"body": [1]}\n')
    with pytest.raises(LoadError, match=r"line 1: field 'text' holds the string 'a b', not a list"):
        ids.load(tmp_path / "y.jsonl")
    with pytest.raises(LoadError, match=r"line 1: no field 'ids'"):
        ids.load(tmp_path / "y.jsonl", ids="ids")
    report = ids.load(tmp_path / "y.jsonl", on_error="skip")
    assert report.skipped == 2 and "no field 'ids'" in report.reasons[1]


@pytest.mark.parametrize(
    ("tokenizer", "known", "unknown"), [("words", 1, 2), ("bytes", 255, 256), ("chars", 0xD800, 0x110000)]
)
def test_ids_beyond_the_vocabulary_are_refused_and_known_ones_can_be_shown(
    db, tmp_path, tokenizer, known, unknown
):
    corpus = db.create_corpus("c", tokenizer=tokenizer)
    corpus.append(["a b"])
    before = db.version
    (tmp_path / "x.jsonl").write_text(f'{{"ids": [0]}}\n{{"ids": [0, {unknown}]}}\n{{"ids": [{known}]}}\n')
    message = f"token id {unknown} is not below the vocabulary's size, {corpus.tokenizer.n_vocabulary}"
    with pytest.raises(LoadError, match=f"line 2: .*{message}"):
        corpus.load(tmp_path / "x.jsonl", ids="ids")
    with pytest.raises(LoadError, match=f"document 1: .*{message}"):
        corpus.append([([unknown], {})])
    assert db.version == before
    report = corpus.load(tmp_path / "x.jsonl", ids="ids", on_error="skip")
    assert (report.documents, report.skipped) == (2, 1)
    assert len(corpus.docs().fetchall()) == 3


def test_load_is_copy(db, tmp_path):
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as file:
        file.write('{"body": "a b", "m": {"year": 3}, "x": 1}\n{"body": "c", "x": 2}\n')
    corpus = db.create_corpus("c")
    told = []
    report = corpus.load([tmp_path / "a.jsonl.gz"], text="body", metadata=["m.year"], progress=told.append)
    assert (report.documents, report.tokens) == (2, 3) and told[-1].documents == 2
    assert corpus.docs().to_dicts()[0] == {"doc_id": 0, "m.year": 3, "length": 2, "text": "a b"}
    assert corpus.load(tmp_path / "*.gz", text="body", limit=1).documents == 1
    for bad in ({"on_error": "ignore"}, {"format": "xml"}, {"limit": -1}, {"colour": 1}, {"separator": 3}):
        with pytest.raises(InvalidArgument):
            corpus.load(tmp_path / "a.jsonl.gz", **bad)
    with pytest.raises(LoadError):
        corpus.load(tmp_path / "missing.jsonl")


def test_segments_hold_no_more_than_they_are_told(db):
    corpus = db.create_corpus("c", tokenizer="tokens", segment_tokens=1024)
    report = corpus.append([([1] * 600, {})] * 5)
    assert report.segments == 5 and corpus.count([1]) == 3000


def test_count_takes_text_and_any_ids(wiki):
    assert wiki.count("natural language") == wiki.count([0, 1]) == wiki.count((0, 1)) == 2
    assert wiki.count(np.array([0, 1])) == wiki.count(np.array([0, 1], dtype=np.uint32)) == 2
    assert wiki.count([]) == wiki.count("") == wiki.n_tokens == 8
    assert wiki.count("natural xyzzy") == wiki.count([5000]) == wiki.count([2**32 - 1]) == 0
    assert type(wiki.count([0])) is int
    assert wiki.count([np.int64(0)]) == 2


@pytest.mark.parametrize(
    "bad", [3, None, 1.5, [1.5], ["a"], [None], [2**70], [[1], [2]], np.array([0.5]), b"a"]
)
def test_what_is_no_ngram_is_an_invalid_argument(wiki, bad):
    for verb in (wiki.count, wiki.dist, wiki.dist_arrays, wiki.score, lambda x: wiki.prob("natural", x)):
        with pytest.raises(InvalidArgument):
            verb(bad)
    with pytest.raises(InvalidArgument, match="n-gram 1"):
        wiki.count_many([[0], bad])


def test_prob_is_a_float_with_its_counts(wiki):
    answer = wiki.prob("processing", given="natural language")
    assert answer == 0.5 and isinstance(answer, float) and answer.logprob == math.log(0.5)
    assert (answer.prob, answer.cont_count, answer.context_count, answer.effective_n, answer.sparse) == (
        0.5,
        1,
        2,
        3,
        False,
    )
    for again in (copy.copy(answer), pickle.loads(pickle.dumps(answer))):
        assert isinstance(again, Probability) and repr(again) == repr(answer)
    assert wiki.prob([0]) == wiki.prob(0) == wiki.prob("natural") == 2 / 8
    assert wiki.prob("language processing", "natural") == 0.5
    assert wiki.prob("end", "processing the") is None
    assert wiki.prob("end", "processing the", model="infgram").effective_n == 2
    assert wiki.prob("end", "processing the", model="NGRAM ORDER 2") == 1
    assert wiki.prob("xyzzy", "natural") == 0 and wiki.prob("xyzzy", "natural").logprob == -math.inf
    with pytest.raises(InvalidArgument, match="at least one token"):
        wiki.prob("", "natural")


@pytest.mark.parametrize("name", kinds.MODELS)
def test_a_models_bare_name_means_what_it_means_with_a_blank(name):
    # The blank sends it through the grammar.
    assert as_model(name) == as_model(name.upper()) == as_model(f" {name}")


def test_models_are_named_as_after_using(wiki):
    with pytest.raises(ParseError):
        wiki.prob("natural", model="kneser")
    with pytest.raises(PlanError, match="ORDER must be a whole number of at least 1"):
        wiki.prob("natural", model="ngram order 0")
    with pytest.raises(
        InvalidArgument, match=r"a model must be text such as 'infgram', or an object .* not int"
    ):
        wiki.score("natural", model=3)


def test_distributions_as_rows_and_as_arrays(wiki):
    rows = wiki.dist("natural language").fetchall()
    assert rows == [("processing", 2, 1, 0.5), ("understanding", 3, 1, 0.5)]
    found = wiki.dist_arrays("natural language")
    assert (found.token_ids.tolist(), found.counts.tolist()) == ([2, 3], [1, 1])
    assert (found.n_end, found.context_count, found.effective_n) == (0, 2, 3)
    assert wiki.dist_arrays([2]).n_end == 1
    with pytest.raises(InvalidArgument, match="top must be a whole number"):
        wiki.dist("natural", top=-1)


@pytest.mark.parametrize("model", ["ngram", "infgram", "ngram order 2"])
def test_distributions_of_many_contexts_are_those_of_each(wiki, model):
    contexts = [
        "natural language",
        "",
        "no such",
        [2],
        "natural",
        "language processing",
        [0, 1, 2],
        [],
        "end",
    ]
    for asked in (contexts, contexts[:1], []):
        found = wiki.dist_many(asked, model)
        assert len(found.offsets) == len(asked) + 1 and found.offsets[-1] == len(found.token_ids)
        for i, context in enumerate(asked):
            alone = wiki.dist_arrays(context, model)
            own = slice(found.offsets[i], found.offsets[i + 1])
            assert found.token_ids[own].tolist() == alone.token_ids.tolist()
            assert found.counts[own].tolist() == alone.counts.tolist()
            numbers = found.n_end[i], found.context_count[i], found.effective_n[i]
            assert numbers == (alone.n_end, alone.context_count, alone.effective_n)
    assert found.token_ids.dtype == np.uint32 and found.counts.dtype == found.n_end.dtype == np.int64


def test_distributions_of_many_contexts_need_a_model_of_counts_and_contexts(wiki):
    with pytest.raises(InvalidArgument, match="has no distribution of counts"):
        wiki.dist_many(["natural"], "kneser_ney")
    with pytest.raises(InvalidArgument, match="n-grams must be given as a list"):
        wiki.dist_many("natural")
    with pytest.raises(InvalidArgument, match=r"n-gram 1 \(counted from 0\)"):
        wiki.dist_many(["natural", [-1.5]])


def test_docs_take_a_condition_with_parameters(wiki):
    result = wiki.docs('? AND NOT "processing"', params=["natural"])
    assert result.fetchall() == [(1, 2020, "en", 3, "natural language understanding")]
    assert [row[0] for row in wiki.docs(descending=True, limit=2)] == [2, 1]
    assert wiki.count_docs('"natural" OR "end"') == 3 and wiki.count_docs() == 3
    with pytest.raises(PlanError, match="no value was given for parameter 1 of 1"):
        wiki.docs("?")
    with pytest.raises(ParseError):
        wiki.docs('"natural" AND')
    with pytest.raises(InvalidArgument, match="a condition must be a str"):
        wiki.docs(3)
    for options in ({"limit": -1}, {"offset": "x"}, {"limit": True}):
        with pytest.raises(InvalidArgument):
            wiki.docs(**options)


def test_docs_come_by_fields_those_without_last(wiki):
    wiki.append([{"text": "an end", "year": 2020, "m": {"lang": "de"}, "a.b": 1}])

    def found(*arguments, **options):
        return [row[0] for row in wiki.docs(*arguments, **options)]

    assert found(order_by="year") == [0, 1, 3, 2] and found(order_by="m.lang") == [3, 1, 0, 2]
    assert found(order_by=["year", "m.lang"]) == [0, 3, 1, 2]
    assert found(order_by=("year", "doc_id"), descending=True) == [3, 1, 0, 2]
    assert found("? OR ?", params=["end", "natural"], order_by="year", limit=2, offset=1) == [1, 3]
    assert found(order_by=r"a\.b", limit=1) == [3] and found(order_by=[], descending=True) == [3, 2, 1, 0]
    assert wiki.docs("length < 3", order_by="year", limit=1).summary == {"total": 2}
    with pytest.raises(BindError, match=r"no document has a field 'yaer'; did you mean year?"):
        wiki.docs(order_by="yaer")
    for wrong in (3, [3], {"year"}):
        with pytest.raises(InvalidArgument, match="order_by must be the name of a field, or several"):
            wiki.docs(order_by=wrong)
    for options in ({"limit": -1}, {"offset": "x"}):
        with pytest.raises(InvalidArgument, match="must be a whole number of at least 0"):
            wiki.docs(order_by="year", **options)


def test_batches_take_lists_and_packed_arrays(wiki):
    expected = [2, 8, 0, 2]
    ngrams = [[0, 1], [], [99], "natural"]
    assert wiki.count_many(ngrams).tolist() == expected
    flat, offsets = np.array([0, 1, 99, 0]), np.array([0, 2, 2, 3, 4])
    assert wiki.count_many((flat, offsets)).tolist() == expected
    assert wiki.count_many([]).tolist() == [] and wiki.count_many(["natural"]).dtype == np.int64
    for bad in (
        (flat, offsets[1:]),
        (flat, offsets[::-1].copy()),
        (flat, np.array([0, 9])),
        (flat, np.array([0.0, 4.0])),
    ):
        with pytest.raises(InvalidArgument, match="offsets"):
            wiki.count_many(bad)
    for bad in ("natural", 3, None):
        with pytest.raises(InvalidArgument, match="n-grams must be given as a list"):
            wiki.count_many(bad)


def test_prob_many_equals_prob(wiki):
    contexts = ["natural language", "natural", "xyzzy", ""]
    words = ["processing", "language understanding", "natural", "the end"]
    for model in ("ngram", "infgram"):
        many = wiki.prob_many(contexts, words, model=model)
        for i, (context, word) in enumerate(zip(contexts, words, strict=True)):
            one = wiki.prob(word, context, model=model)
            assert math.isnan(many.prob[i]) if one is None else many.prob[i] == one
            if one is not None:
                assert (many.cont_count[i], many.context_count[i]) == (one.cont_count, one.context_count)
    single = wiki.prob_many([[0], [0]], np.array([1, 2]))
    assert single.prob.tolist() == [1.0, 0.0] and single.logprob.tolist() == [0.0, -math.inf]
    assert wiki.prob_many([[0], [0]], [1, 2]).prob.tolist() == [1.0, 0.0]
    assert len(wiki.prob_many([], [])) == 0
    with pytest.raises(InvalidArgument, match="2 contexts, but 1 continuations"):
        wiki.prob_many([[0], [0]], [1])
    with pytest.raises(InvalidArgument, match="continuation 1"):
        wiki.prob_many([[0], [0]], [[1], []])


def test_score_gives_arrays_per_token(wiki):
    scores = wiki.score("natural language xyzzy")
    assert scores.prob.tolist() == [0.25, 1.0, 0.0] and len(scores) == 3
    assert scores.count.tolist() == [2, 2, 0] and scores.context_count.tolist() == [8, 2, 2]
    assert scores.effective_n.tolist() == [1, 2, 3] and scores.sparse.tolist() == [False, True, False]
    many = wiki.score_many(["natural language xyzzy", "", [0]])
    assert len(many) == 3 and [len(one) for one in many] == [3, 0, 1]
    assert many[0].prob.tolist() == scores.prob.tolist() and many[-1].prob.tolist() == [0.25]
    assert [len(one) for one in many[1:]] == [0, 1] and len(many.all) == 4
    with pytest.raises(IndexError):
        many[3]


def test_a_corpus_that_does_not_exist_names_the_nearest(wiki, db):
    with pytest.raises(BindError, match="did you mean wiki") as caught:
        db.corpus("wikki")
    assert caught.value.nearest == "wiki"


def test_a_corpus_that_is_made_anew_is_found_again(wiki, db):
    db.execute("DROP CORPUS wiki; CREATE CORPUS wiki TOKENIZER 'chars'")
    wiki.append(["aa"])
    assert wiki.count("a") == 2 and wiki.tokenizer.kind == "chars"


def test_any_name_is_a_name_of_a_corpus(db):
    for name in ("with blank", "ünï", "select", "../x", "a'b\"c`d"):
        db.create_corpus(name).append(["a"])
        assert db.corpus(name).count("a") == 1
    assert len(db.corpora()) == 5


def test_a_corpus_that_is_asked_nothing_keeps_no_old_version(tmp_path):
    with ngramdb.connect(tmp_path / "kept.ngdb") as db:
        db.settings["keep_versions"] = 3
        idle, grown = db.create_corpus("idle"), db.create_corpus("grown")
        for i in range(8):
            grown.append([f"document {i}"])
        assert len(list((tmp_path / "kept.ngdb" / "manifests").iterdir())) == 3
        assert idle.count("document") == 0 and grown.count("document") == 8
        db.drop_corpus("idle")
        grown.append(["one more"])
        assert grown.n_documents == 9


@pytest.mark.parametrize("by_statement", [False, True])
@pytest.mark.parametrize("n", [1, 2])
def test_the_version_before_a_change_is_none_of_those_that_are_kept(tmp_path, n, by_statement):
    with ngramdb.connect(tmp_path / "kept.ngdb") as db:
        corpus = db.create_corpus("t")
        for text in ("secret here", "other text", "more"):
            corpus.append([text])
        corpus.delete('"secret"')
        db.settings["keep_versions"] = n
        if by_statement:
            db.execute("COMPACT t")
        else:
            corpus.compact()
        assert len(list((tmp_path / "kept.ngdb" / "manifests").iterdir())) == n


def _subtract(db):
    other = db.create_corpus("d")
    other.append(["secret1 word"])
    db.corpus("c").subtract(other)


CHANGES = {
    "append": lambda db: db.corpus("c").append(["x"]),
    "delete": lambda db: db.corpus("c").delete('"secret1"'),
    "add": lambda db: db.corpus("c").add("c"),
    "subtract": _subtract,
    "copy": lambda db: db.corpus("c").copy("z"),
    "restore": lambda db: db.corpus("c").restore(2),
    "drop": lambda db: db.drop_corpus("c"),
    "analyze": lambda db: db.corpus("c").analyze(),
    "DELETE": lambda db: db.execute('DELETE DOCS WHERE "secret1"'),
    "RETURNING": lambda db: db.execute('DELETE DOCS WHERE "secret1" RETURNING doc_id').fetchall(),
    "where": lambda db: (db.corpus("c").where('"secret1"').count("word"), db.corpus("c").append(["x"])),
}


@pytest.fixture
def without_collection():
    """As in a process in which Python's collector does not come in time."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_change_leaves_behind_is_not_up_to_pythons_collector(tmp_path, change, without_collection):
    path = tmp_path / "kept.ngdb"
    with ngramdb.connect(path) as db:
        first = db.create_corpus("c")
        first.append([f"secret{i} word" for i in range(4)])
    with ngramdb.connect(path) as again:  # the closed connection and its corpus are still there
        again.settings["keep_versions"] = 1
        corpus = again.corpus("c")
        assert corpus.count("word") == 4
        CHANGES[change](again)
        assert len(list((path / "manifests").iterdir())) == 1
        results = again.execute("SHOW CORPORA")
    assert first.name == corpus.name and results.columns
    for closed in (first, corpus):
        with pytest.raises(ExecutionError, match="the connection is closed"):
            closed.count("word")


@pytest.mark.parametrize(
    "end", [lambda rows: rows.fetchall(), lambda rows: rows.close(), lambda rows: rows.df()]
)
def test_rows_of_what_was_removed_keep_their_version_to_their_end(tmp_path, end, without_collection):
    path = tmp_path / "kept.ngdb"
    with ngramdb.connect(path) as db:
        db.settings["keep_versions"] = 1
        db.create_corpus("c").append([f"secret{i} word" for i in range(4)])
        rows = db.execute("DELETE DOCS WHERE doc_id < 2 RETURNING text")
        assert len(list((path / "manifests").iterdir())) == 2
        end(rows)
        assert len(list((path / "manifests").iterdir())) == 1


@pytest.mark.parametrize(
    "slip",
    [
        "DOCS WHERE nix = 1",
        'COUNT "x" FROM nix',
        "DELETE DOCS WHERE nix = 1",
        'KWIC "word" AT VERSION 1',
        "RESTORE CORPUS c TO VERSION 99",
        "NGRAMS 0",
        "COUNT",
        'DOCS WHERE "x" AND (nix = 1 OR "y")',
        'TRACE "x" RETURNING nix',
        "COUNT DOCS GROUP BY nix",
    ],
)
def test_an_error_that_is_kept_keeps_no_version(tmp_path, slip, without_collection):
    path = tmp_path / "kept.ngdb"
    with ngramdb.connect(path) as db:
        db.settings["keep_versions"] = 1
        corpus = db.create_corpus("c")
        corpus.append([f"secret{i} word" for i in range(4)])
        with pytest.raises(ngramdb.NgramdbError) as kept:
            db.execute(slip)
        corpus.delete('"secret1"')
        assert len(list((path / "manifests").iterdir())) == 1
        assert kept.traceback and str(kept.value)


def test_errors_keep_what_the_caller_was_at(tmp_path):
    def fail(name):
        wanted = f"no {name}"
        raise ngramdb.InvalidArgument(wanted)

    with ngramdb.connect(tmp_path / "kept.ngdb") as db:
        with pytest.raises(BindError) as kept:
            try:
                fail("x")
            except ngramdb.InvalidArgument:
                db.execute('COUNT "x" FROM nix')
        (*_, frame) = traceback.walk_tb(kept.value.__context__.__traceback__)
        assert frame[0].f_locals["wanted"] == "no x"


def test_a_closed_connection_reads_no_version(tmp_path, without_collection):
    path = tmp_path / "kept.ngdb"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("c")
        corpus.append(["a b", "a c"])
    with ngramdb.connect(path, read_only=True) as reader:
        asked = [reader.corpus("c"), reader.corpus("c").where('"b"'), reader.corpus("c").docs()]
        assert asked[1].count("a") == 1 and asked[0].prob("b", given="a", model="kneser_ney") > 0
    with ngramdb.connect(path) as writer:
        writer.settings["keep_versions"] = 1
        writer.corpus("c").append(["d"])
        assert len(list((path / "manifests").iterdir())) > 1  # for the rows that are still to be read
        assert len(asked.pop().fetchall()) == 2
        writer.corpus("c").append(["e"])
        assert len(list((path / "manifests").iterdir())) == 1


def test_questions_leave_the_writers_lock_alone_while_others_read_an_old_version(tmp_path, monkeypatch):
    path = tmp_path / "kept.ngdb"
    with ngramdb.connect(path) as db, ngramdb.connect(path, read_only=True) as reader:
        db.settings["keep_versions"] = 1
        corpus = db.create_corpus("t")
        corpus.append(["a b"])
        reader.refresh()
        lines = reader.corpus("t").docs()
        corpus.append(["a c"])
        corpus.append(["a d"])
        assert len(list((path / "manifests").iterdir())) > 1
        directory, taken = db._database.store.directory, []
        lock_writer = directory.lock_writer
        monkeypatch.setattr(directory, "lock_writer", lambda s: taken.append(s) or lock_writer(s))
        for _ in range(5):
            assert db.execute('COUNT "a" FROM t').fetchall() == [(3,)]
        assert not taken  # nobody would find it taken meanwhile
        assert len(lines.fetchall()) == 1


def test_versions_and_offsets_that_are_no_numbers_are_refused(db):
    corpus = db.create_corpus("numbers")
    corpus.append(["a"])
    for version in ("3", 2.0, True, None):
        with pytest.raises(
            InvalidArgument, match="version must be a whole number, or the name of a version, not"
        ):
            corpus.restore(version)
    with pytest.raises(InvalidArgument, match="offset must be a whole number of at least 0, not None"):
        corpus.docs(offset=None)
    assert corpus.restore(np.int64(db.version)).documents == 1
