"""Patterns over the words of stored texts: which texts are read, plans, lists of n-grams."""

from __future__ import annotations

import pytest
from support.polls import is_stopped, n_polls
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import ngramdb
from ngramdb.conditions import stored_text
from ngramdb.tokenizers import vocabulary


def halves():
    """A function that gives half a word, or less, a token."""

    def cut(text):
        return [(i, min(i + 2, len(text))) for i in range(0, len(text), 2)]

    def encode(texts):
        return [[1000 * ord(text[i]) % 9000 + ord(text[j - 1]) % 90 for i, j in cut(text)] for text in texts]

    return ngramdb.CallableTokenizer("halves", encode, 10_000, spans=cut)


TEXTS = [f"common words and rare{n} ones" for n in range(40)] + ["a woman of words", "women, of course"]


@pytest.fixture
def db():
    with ngramdb.connect() as made:
        made.create_corpus("a", halves()).append(TEXTS)
        yield made


@pytest.fixture
def read(monkeypatch):
    """Return the number of documents that were searched."""
    numbers = []
    spans = stored_text.SoughtWords.spans
    monkeypatch.setattr(
        stored_text.SoughtWords, "spans", lambda self, *given: numbers.append(1) or spans(self, *given)
    )
    return numbers


@pytest.mark.parametrize(
    ("pattern", "count", "n_read"),
    [
        ('/wom[ae]n/ "of"', 1, 2),
        ('/wom[ae]n/ *{0,1} "of"', 2, 2),
        ('"rare7" /o.*/', 1, 1),
        ('("rare7" | "rare8" | /rare9/) /o.*/', 3, 3),
        ('"and" (/rare7/){0,1}', 40, 40),
        ('"woman" "rare7" *  /.*/', 0, 0),
        ("/x/{0,1} *", 40 * 5 + 4 + 4, 42),
    ],
)
def test_texts_that_lack_a_word_are_not_read(db, read, pattern, count, n_read):
    assert db.execute(f"COUNT {pattern}").fetchall() == [(count,)]
    assert len(read) == n_read
    (last,) = db.execute(f"EXPLAIN COUNT {pattern}").fetchall()[-1]
    assert f"in the texts of {n_read} document" in last or not n_read


def test_texts_are_read_where_other_conditions_hold_alone(db, read):
    assert db.execute("COUNT DOCS WHERE doc_id = 7 AND /rare.*/ *").fetchall() == [(1,)]
    assert len(read) == 1


def test_without_a_list_of_documents_every_text_is_read(db, read, monkeypatch):
    monkeypatch.setattr(vocabulary, "MAX_LISTED", 50)
    assert db.execute('COUNT /wom[ae]n/ "of"').fetchall() == [(1,)]
    assert len(read) == len(TEXTS)


def word_pieces():
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=60, special_tokens=["[UNK]"], show_progress=False)
    made.train_from_iterator(TEXTS, trainer)
    return made


def test_ngrams_have_words_in_the_text_that_is_shown():
    with ngramdb.connect() as db:
        db.create_corpus("a", word_pieces()).append(["a woman of words and a rare woman"])
        every = [text for text, *_ in db.execute("NGRAMS 6 FROM a").fetchall()]
        found = [text for text, *_ in db.execute("NGRAMS 6 CONTAINING /w[a-z]+/ * FROM a").fetchall()]
        db.create_corpus("w").append(every)
        kept = db.execute("DOCS WHERE /w[a-z]+/ * RETURNING text FROM w").fetchall()
        assert sorted(found) == sorted(text for (text,) in kept)
        assert 0 < len(found) < len(every)


def test_reading_can_be_stopped():
    def fresh():
        db = ngramdb.connect()
        db.create_corpus("big", halves()).append(["words of a text " * 200 for _ in range(400)])
        return lambda: db.execute('COUNT /w.*/ "of" * FROM big').fetchall()

    n = n_polls(fresh())
    assert n > 400  # one a document
    assert is_stopped(fresh(), n // 2)
