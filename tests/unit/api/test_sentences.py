"""A corpus WITH (sentence_separator = …) answers as one with a document per sentence, by each statement."""

from __future__ import annotations

import numpy as np
import pytest
from support.connections import connection_of

import ngramdb
from ngramdb.engine.corpus import slice
from ngramdb.errors import InvalidArgument, NgramdbError, PlanError, ResourceError, TimeoutExceeded
from ngramdb.interrupts import Interrupt

LINES = ["the cat sat", "the dog sat", "a dog ran", "the cat ran away", "a cat sat on the dog"]

MODELS = [
    "ngram",
    "ngram order 3",
    "infgram",
    "infgram min count 2",
    "backoff",
    "kneser_ney",
    "kneser_ney order 3",
    "witten_bell",
    "pitman_yor",
    "katz",
    "skip_kneser_ney",
]


def filled(db, name, tokenizer, documents, **options):
    corpus = db.create_corpus(name, tokenizer, **options)
    corpus.append(documents)
    return corpus


@pytest.fixture(params=["words", "chars", "bytes"])
def corpora(request):
    """With a document a line, and with one document for all of them."""
    separator, mark = (" ¶ ", "¶") if request.param == "words" else ("\n", r"\n")
    with ngramdb.connect() as db:
        apart = filled(db, "apart", request.param, LINES)
        whole = filled(
            db, "whole", request.param, [separator.join(LINES[:3]), separator.join(LINES[3:])],
            sentence_separator=mark,
        )  # fmt: skip
        yield apart, whole, separator.strip(" ")


@pytest.mark.parametrize("model", MODELS)
def test_statements_answer_as_with_a_document_per_sentence(corpora, model):
    db = connection_of(corpora[0])

    def rows(question):
        """Return the rows of either corpus. Ids are left out: with word tokens, the separator has one too."""
        found = []
        for name in ("apart", "whole"):
            result = db.execute(question.format(f"USING {model}", name))
            ids = [i for i, column in enumerate(result.columns) if column == "token_id"]
            found.append([tuple(v for i, v in enumerate(row) if i not in ids) for row in result])
        return found

    for question in (
        'PROB "dog" GIVEN "the" {} FROM {}',
        'SCORE "a cat ran" {} DOCUMENT FROM {}',
        'GENERATE GIVEN "the" TOKENS 6 {} FROM {}',
        'DIST GIVEN "sat" {} FROM {}',
    ):
        apart, whole = rows(question)
        assert apart and sorted(map(str, apart)) == sorted(map(str, whole)), question


def test_verbs_answer_as_with_a_document_per_sentence(corpora):
    apart, whole, _ = corpora
    for model in ("ngram", "infgram", "kneser_ney"):
        assert apart.prob("cat", given="the", model=model) == whole.prob("cat", given="the", model=model)
    given = apart.dist_arrays("sat", "infgram"), whole.dist_arrays("sat", "infgram")
    assert given[0].n_end == given[1].n_end > 0
    assert given[0].counts.sum() == given[1].counts.sum()
    many = apart.dist_many(["sat", "the", "no"], "infgram")
    assert (many.n_end[0], many.counts[: many.offsets[1]].tolist()) == (
        given[0].n_end,
        given[0].counts.tolist(),
    )
    assert apart.score("the cat", "ngram").prob.tolist() == whole.score("the cat", "ngram").prob.tolist()


def test_analyze_counts_sentences(corpora):
    apart, whole, _ = corpora
    db = connection_of(apart)
    db.execute("ANALYZE apart")
    db.execute("ANALYZE whole")
    apart, whole = (db.snapshot.view(name).entry.statistics for name in ("apart", "whole"))
    assert whole.n_documents == len(LINES)
    assert (whole.n_types, whole.continuation, whole.raw) == (apart.n_types, apart.continuation, apart.raw)


def test_counts_know_nothing_of_sentences(corpora):
    _, whole, separator = corpora
    assert whole.count(separator) == 3


@pytest.mark.parametrize(
    ("tokenizer", "text"), [("words", "<eos>"), ("chars", "ab"), ("bytes", "ä"), ("chars", "")]
)
def test_a_separator_is_one_token(tokenizer, text):
    with ngramdb.connect() as db:
        with pytest.raises(InvalidArgument, match="sentence_separator is one token"):
            db.create_corpus("c", tokenizer, sentence_separator=text)
        assert db.corpora() == []


def test_a_separator_of_ids_is_a_number():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("ids", "tokens", sentence_separator="0")
        corpus.append([{"ids": [1, 2, 0, 1, 3]}])
        assert corpus.score([1, 2], "infgram", document=True).prob.tolist() == [1.0, 0.5, 1.0]
        with pytest.raises(InvalidArgument, match="a token id from '0'"):
            db.create_corpus("other", "tokens", sentence_separator="zero")


def test_sentences_of_patterns_are_refused_where_a_separator_cuts_documents(corpora):
    _, whole, _ = corpora
    message = (
        "models of whole split documents at its sentence_separator, not at the sentences that patterns find; "
        r"DOCUMENT \(document=True in Python\) scores a text as a document"
    )
    for question in (
        lambda: connection_of(whole).execute('SCORE "the cat" SENTENCE FROM whole'),
        lambda: connection_of(whole).execute('SCORE "the cat" SENTENCE FROM whole + whole'),
        lambda: whole.score("the cat", sentence=True),
        lambda: whole.where("doc_id = 0").score_many(["the cat"], sentence=True),
        lambda: whole.perplexity(["the cat"], sentence=True),
        lambda: whole.agreement(["the cat"], sentence=True),
        lambda: whole.language_model(sentences=True),
    ):
        with pytest.raises(PlanError, match=message.replace("whole", r"whole[\w =+]*")):
            question()


def test_sentences_that_are_not_known_are_refused():
    with ngramdb.connect() as db:
        filled(db, "bare", "words", LINES, sentences=False)
        ids = filled(db, "ids", "tokens", [[1, 2]])
        with pytest.raises(PlanError, match=r"the sentences of bare are not known.* DOCUMENT"):
            db.execute('SCORE "the cat" SENTENCE FROM bare')
        nothing = db.create_corpus("nothing", "tokens")
        assert nothing.score([1, 2], "infgram", sentence=True).count.tolist() == [0, 0, 0]
        with pytest.raises(PlanError, match=r"the sentences of ids are not known.* DOCUMENT"):
            ids.score([1], sentence=True)


def test_a_corpus_too_large_for_an_index_of_its_sentences_is_refused(monkeypatch):
    monkeypatch.setattr(slice, "MAX_SENTENCE_TOKENS", 4)
    with ngramdb.connect() as db:
        corpus = filled(db, "c", "words", ["the cat", "the dog sat"])
        with pytest.raises(ResourceError, match=r"5 tokens, at most 4; .*WHERE, or .*DOCUMENT"):
            corpus.score("the", sentence=True)
        assert corpus.score("the", sentence=True, where="doc_id = 1").prob.tolist() == [1.0, 0.0]


def test_indexing_sentences_stops():
    with ngramdb.connect() as db:
        corpus = filled(db, "c", "words", LINES)
        with pytest.raises(TimeoutExceeded), Interrupt(timeout=0.0):
            slice.SentenceView(corpus._bound.current())


def test_a_text_is_a_document_or_cut_into_sentences():
    with ngramdb.connect() as db:
        corpus = filled(db, "c", "words", ["He ran. She sat.", "He sat."])
        for verb in (corpus.score, corpus.perplexity):
            with pytest.raises(InvalidArgument, match="either document=True"):
                verb(["He"], document=True, sentence=True)
            with pytest.raises(InvalidArgument, match="sentence must be True or False"):
                verb(["He"], sentence="yes")
        texts = ["He sat. She ran."]
        entries = [corpus.perplexity(texts, **flags).n_tokens for flags in FLAGS]
        assert entries == [7, 7, 8, 6, 6, 8]


# Flags of perplexity; the text has six tokens in two sentences.
FLAGS = (
    {},
    {"document": True},
    {"sentence": True},
    {"document": False},
    {"sentence": False},
    {"document": False, "sentence": True},
)


def test_ids_are_cut_as_their_text_is_unless_one_is_unknown():
    with ngramdb.connect() as db:
        corpus = filled(db, "c", "words", ["He ran. She sat."])
        ids = corpus.tokenizer.encode("He ran. She sat.")
        flat, offsets = np.concatenate([ids, ids[:2]]), [0, len(ids), len(ids) + 2]
        for given in ([ids, ids[:2]], (flat, offsets), ["He ran. She sat.", "He ran"]):
            found = corpus.score_many(given, "kneser_ney", sentence=True)
            assert [len(scores) for scores in found] == [8, 3]
        assert len(corpus.score([*ids[:3], -1, *ids[3:]], sentence=True)) == 8


def test_sums_need_one_separator():
    with ngramdb.connect() as db:
        filled(db, "a", "chars", ["x\ny"], sentence_separator=r"\n")
        filled(db, "b", "chars", ["x\nz"])
        filled(db, "c", "chars", ["x\nz"], sentence_separator="\n")
        assert db.execute('PROB "y" GIVEN "x" USING infgram FROM a + c').fetchall()
        with pytest.raises(NgramdbError, match="same sentence_separator"):
            db.execute('PROB "y" GIVEN "x" USING kneser_ney FROM a + b')
