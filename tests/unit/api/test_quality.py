"""corpus.quality: buckets by perplexity, compared with their definition."""

from __future__ import annotations

import math
import unicodedata
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.broken import append_broken, connected

import ngramdb
from ngramdb.curation.quality import normalized
from ngramdb.errors import BindError, InvalidArgument

EXAMPLES = settings(max_examples=25, deadline=None, derandomize=True)

REFERENCE = ["the cat sat on the mat", "a dog is a dog", "the dog sat on the cat", "0 cafe , 0"]
lines = st.lists(st.sampled_from(["the", "Cat", "SAT", "döг", "café", "7", "—", "zzz"]), max_size=4).map(
    " ".join
)
texts = st.lists(lines, min_size=1, max_size=3).map("\n".join)
pieces = st.lists(texts.filter(str.strip), min_size=1, max_size=2) | st.lists(texts, min_size=1, max_size=1)
documents = st.lists(st.tuples(pieces, st.sampled_from(["en", "de", None])), min_size=1, max_size=8)


def by_hand(line):
    """CCNet's normalization, character by character."""
    punctuation = {"—": " - ", "…": "...", "«": '"', "»": '"', "’": "'", "（": "(", "．": ". "}
    shown = []
    for one in unicodedata.normalize("NFD", line.strip().lower()):
        if unicodedata.category(one) == "Mn" or ord(one) < 32 or 127 <= ord(one) < 160:
            continue
        shown.append("0" if one.isdecimal() else punctuation.get(one, one))
    return "".join(shown)


@EXAMPLES
@given(st.text("aÀé １७7—…«»’（．\t\n\x85\xa0ßǅ", max_size=12))
def test_lines_are_normalized_as_in_ccnet(text):
    assert normalized(text) == by_hand(text)


def perplexity(reference, texts, model):
    logs = [reference.score(one, model, document=True).logprob for one in texts]
    every = np.concatenate([np.empty(0), *logs])
    return math.exp(-every.mean()) if len(every) else math.nan


def scored(pieces, unit):
    if unit == "document":
        return pieces
    texts = ["".join(pieces)] if unit == "ccnet" else [line for piece in pieces for line in piece.split("\n")]
    return [line for line in map(by_hand, texts) if line]


def buckets(values, at):
    """The number of each value's bucket, from the definition."""
    found = sorted(value for value in values if not math.isnan(value))
    ranks = [-(-p * len(found) // 100) for p in at]
    cutoffs = [found[rank] for rank in ranks if rank < len(found)]
    return [None if math.isnan(value) else sum(value >= cutoff for cutoff in cutoffs) for value in values]


@EXAMPLES
@given(
    documents=documents,
    unit=st.sampled_from(["lines", "ccnet", "document"]),
    at=st.sampled_from([(30, 60), (50,), (10, 20, 90)]),
    cut=st.integers(0, 8),
    removed=st.integers(0, 9),
    by=st.sampled_from([None, "lang"]),
)
def test_buckets_are_those_of_the_definition(documents, unit, at, cut, removed, by):
    with connected("words") as db:
        reference, corpus = db.create_corpus("wiki"), db.corpus("c")
        reference.append(REFERENCE)
        for part in (documents[:cut], documents[cut:]):
            append_broken(
                db, [(pieces, {"x": 1} | ({"lang": lang} if lang else {})) for pieces, lang in part]
            )
        db.execute("DELETE DOCS FROM c WHERE doc_id = ?", [removed])
        kept = [i for i in range(len(documents)) if i != removed]
        report = corpus.quality(
            "wiki", unit=unit, at=at, by="lang" if by and any(x for _, x in documents) else None
        )
        model = "kneser_ney order 5"
        values = {i: perplexity(reference, scored(documents[i][0], unit), model) for i in kept}
        if unit != "lines":
            values = {i: value if unit == "document" else round(value, 1) for i, value in values.items()}
        groups = defaultdict(list)
        for i in kept:
            groups[documents[i][1] if by else None].append(i)
        names = {1: ["head", "tail"], 2: ["head", "middle", "tail"]}.get(
            len(at), ["head", "middle_1", "middle_2", "tail"]
        )
        rows = [(one["doc_id"], one.get("bucket"), one.get("perplexity")) for one in corpus.docs().to_dicts()]
        stored = {i: value for i, _, value in rows}
        assert {i: math.nan if one is None else one for i, one in stored.items()} == pytest.approx(
            values, nan_ok=True
        )
        expected = {}
        for group in groups.values():  # from the stored values, since equal ones are in one bucket
            of_group = [math.nan if stored[i] is None else stored[i] for i in group]
            numbers = buckets(of_group, at)
            expected |= {i: None if k is None else names[k] for i, k in zip(group, numbers, strict=True)}
        assert {i: name for i, name, _ in rows} == expected
        table = {(row.group, row.bucket): row.documents for row in report.table}
        assert sum(table.values()) == report.documents == sum(name is not None for name in expected.values())
        assert report.documents + report.without == len(kept)
        for group, ids in groups.items():
            for name in names:
                assert table[group, name] == sum(expected[i] == name for i in ids)


@pytest.fixture
def corpus():
    with ngramdb.connect() as db:
        db.create_corpus("wiki").append(REFERENCE)
        made = db.create_corpus("pages")
        made.append(
            [{"text": "the cat", "lang": "en"}, {"text": "zzz yyy", "lang": "en"}, {"text": "", "lang": "x"}]
        )
        db.create_corpus("ids", tokenizer="tokens").append([[1, 2], [2, 3]])
        yield made


def test_fields_are_written_once_unless_they_are_replaced(corpus):
    dry = corpus.quality("wiki", at=[50], dry_run=True)
    assert dry.version is None and dry.without == 1 and corpus.count_docs("lang = 'en'") == 2
    report = corpus.quality("wiki", at=[50])
    assert report.table == dry.table and report.version is not None
    with pytest.raises(InvalidArgument, match=r"pages has a field bucket already; replace=True"):
        corpus.quality("wiki")
    corpus.quality("wiki", where="lang = 'x'", replace=True)
    assert corpus.count_docs("bucket = 'head'") == corpus.count_docs("bucket = 'tail'") == 1
    corpus.quality("wiki", field="b", score_field=None)
    assert corpus.count_docs("b = 'head'") == corpus.count_docs("b = 'middle'") == 1
    with ngramdb.connect() as other, pytest.raises(BindError, match="no corpus"):
        other.create_corpus("c").quality("wiki")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"unit": "words"}, "unit must be one of lines, ccnet, document"),
        ({"unit": "ccnet", "normalize": False}, "ccnet normalizes"),
        ({"at": (60, 30)}, "must ascend"),
        ({"at": (0, 30)}, "above 0 and below 100"),
        ({"at": ()}, "above 0 and below 100"),
        ({"field": "text"}, "column of all documents"),
        ({"field": "x", "score_field": "x"}, "need two fields"),
        ({"field": "lang.bucket"}, "lang has values"),
        ({"by": "year"}, "no document has a field 'year'"),
        ({"reference": "wikis"}, "did you mean wiki"),
        ({"reference": "ids"}, "token ids"),
        ({"reference": 1}, "name of a corpus"),
        ({"model": "best"}, "expected NGRAM"),
    ],
)
def test_what_is_refused_changes_nothing(corpus, arguments, message):
    version = corpus.version if hasattr(corpus, "version") else None
    with pytest.raises(ngramdb.Error, match=message):
        corpus.quality(**{"reference": "wiki", **arguments})
    assert version is None or corpus.version == version
    assert corpus.docs().columns == ["doc_id", "lang", "length", "text"] or not corpus.count_docs(
        "lang IS NULL"
    )


def test_token_ids_are_scored_as_documents():
    with ngramdb.connect() as db:
        ids = db.create_corpus("ids", tokenizer="tokens")
        ids.append([[1, 2, 3], [9, 9]])
        db.create_corpus("wiki", tokenizer="tokens").append([[1, 2, 3], [1, 2]])
        with pytest.raises(InvalidArgument, match="have no lines"):
            ids.quality("wiki")
        report = ids.quality("wiki", unit="document", at=[50])
        assert [row.documents for row in report.table] == [1, 1]
        assert ids.docs("bucket = 'head'").to_dicts()[0]["doc_id"] == 0


def test_verbs_take_functions_of_documents_as_fields(corpus):
    function = "PERPLEXITY(KNESER_NEY FROM wiki)"
    rows = corpus.docs(order_by=function, descending=True, returning=["doc_id", function]).fetchall()
    values = [value for _, value in rows]
    assert values == sorted(values, reverse=True) and len(rows) == 3
    assert corpus.kwic("cat", order_by="LONGEST_SEEN()", returning="longest_seen()").fetchall()[0][-1] == 0
    assert corpus.counts("cat", group_by="LOOP_SHARE(2)").fetchall() == [(0.0, 1)]
    for wrong, message in (
        ("DUP_NGRAM_SHARE(0)", "at least 1, not 0"),
        ("PERPLEXITY(KNESER_NEY FROM nowhere)", "no corpus 'nowhere'"),
        ("LONGEST_SEEN(", "not complete"),
    ):
        with pytest.raises(ngramdb.Error, match=message) as raised:
            corpus.docs('"a cat"', returning=[wrong])
        assert '"a cat"' not in str(raised.value)
