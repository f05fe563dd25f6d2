"""A query for a phrase that finds nothing says so if the corpus contains its text."""

from __future__ import annotations

import re
import warnings
from collections import Counter

import pytest
from support.subwords import write_tokenizer
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import ngramdb
from ngramdb import PhraseWarning, TokenBoundaryWarning

BEHIND_A_BLANK = '" fox", with a blank before it, has other tokens and occurs 3 times'
BOTH = '; "fox" MATCH TEXT finds both'
BY_TEXT = '"fox" occurs 4 times in the texts, parts of words included, 1 of them as these tokens'


@pytest.fixture
def foxes(db, subwords):
    corpus = db.create_corpus("foxes", tokenizer=str(subwords))
    corpus.append(["a fox and a fox", "one fox, two oxen"])
    return corpus


# ---- statements: a note -----------------------------------------------------------------------------------

NOTED = [
    ('COUNT "fox"', BEHIND_A_BLANK + BOTH),
    ('COUNT "fox" MATCH TOKENS', BEHIND_A_BLANK + BOTH),
    ('COUNT "fox" GROUP BY doc_id', BEHIND_A_BLANK + BOTH),
    ('COUNT "a" OR "fox"', BEHIND_A_BLANK + BOTH),
    ('COUNT "a" AND NOT "fox"', BEHIND_A_BLANK + BOTH),
    ('COUNT "a" AND "fox" WITHIN 3 TOKENS', BEHIND_A_BLANK + BOTH),
    ('COUNT "a" [0..2] "fox"', BEHIND_A_BLANK + BOTH),
    ('COUNT "a" WHERE "fox"', BEHIND_A_BLANK + BOTH),
    ('COUNT "fox" SAMPLE 2 SEED 1', BEHIND_A_BLANK + BOTH),
    ('COUNT DOCS WHERE "fox"', BEHIND_A_BLANK + BOTH),
    ('COUNT DOCS WHERE NOT "fox"', BEHIND_A_BLANK + BOTH),
    ('COUNT DOCS WHERE COUNT("fox") > 1', BEHIND_A_BLANK + BOTH),
    ('DOCS WHERE "fox" OR "zzz"', BEHIND_A_BLANK + BOTH),
    ('DOCS WHERE "fox" ORDER BY length SAMPLE 1 SEED 1', BEHIND_A_BLANK + BOTH),
    ('KWIC "fox"', BEHIND_A_BLANK + BOTH),
    ('KWIC "a" WHERE "fox" ORDER BY left', BEHIND_A_BLANK + BOTH),
    ('NGRAMS 2 WHERE "fox" TOP 3', BEHIND_A_BLANK + BOTH),
    ('NGRAMS 2 CONTAINING "fox"', BEHIND_A_BLANK),
    ('NGRAMS 2 STARTING "fox" TOP 3', BEHIND_A_BLANK),
    ('NGRAMS 2 ENDING WITH "fox"', BEHIND_A_BLANK),
    ('TRACE "fox"', BEHIND_A_BLANK),
    ('SCORE "fox"', BEHIND_A_BLANK),
    ('DIST GIVEN "fox"', BEHIND_A_BLANK),
    ('DIST GIVEN "fox" USING INFGRAM', BEHIND_A_BLANK),
    ('GENERATE GIVEN "fox" TOKENS 2', BEHIND_A_BLANK),
    ('PROB "fox" GIVEN ""', BEHIND_A_BLANK),
    ('PROB [44] GIVEN "fox"', BEHIND_A_BLANK),
    ('PROB "fox" GIVEN "one"', '"fox" never follows "one" as these tokens; " fox" follows "one" once'),
    ('PROB "fox" GIVEN "one "', '"fox" never follows "one " as these tokens; " fox" follows "one" once'),
    ('PROB "," GIVEN "fox"', '"," never follows "fox" as these tokens; "," follows " fox" once'),
    ('EXPLAIN COUNT DOCS WHERE "fox"', BEHIND_A_BLANK + BOTH),
    ('COUNT "one "', '"one " ends in a blank, which is part of the token after it; "one" occurs once'),
    (
        'COUNT "one fox "',
        '"one fox " ends in a blank, which is part of the token after it; "one fox" occurs once',
    ),
    ('DIST GIVEN "a fox and a "', '"a fox and a " ends in a blank, which is part of the token after it'),
    (
        'COUNT "a*"',
        '"*" in "a*" is a literal character; "a" PREFIX finds words with this prefix; "a" MATCH TEXT '
        "finds it inside words, too",
    ),
    (
        'COUNT "one * two"',
        '"*" in "one * two" is a literal character; /one/ * /two/ matches any token there; a gap, '
        "[1..3], matches several",
    ),
    (
        'COUNT "*a"',
        '"*" in "*a" is a literal character; /.*a/ matches any letters there; "a" MATCH TEXT finds it '
        "inside words, too",
    ),
    ('COUNT "f*" MATCH TEXT', '"*" in "f*" is a literal character; "f" PREFIX finds words'),
    (
        'COUNT "<s> fox"',
        '"<s> fox" is literal text; <s> and </s>, for the ends of sentences, belong outside the '
        'quotation marks: <s> "fox"',
    ),
    (
        'KWIC "fox </s><s> a" MATCH TEXT',
        '"fox </s><s> a" is literal text; <s> and </s>, for the ends of sentences, belong outside '
        'the quotation marks: "fox" </s> <s> "a"',
    ),
    ('COUNT <s> " fox"', None),
    ('COUNT "*"', '"*" in "*" is a literal character'),
    ('COUNT "fox" MATCH TEXT', None),
    ('COUNT " fox"', None),
    ('PROB " fox" GIVEN "one"', None),
    ('COUNT "fax" OR " fax" OR "" OR "\\tfox"', None),
]


@pytest.mark.parametrize(("statement", "note"), NOTED)
def test_statements_say_so(db, foxes, statement, note):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = db.execute(statement).summary.get("note")
    assert found == note or (found or "").startswith(note or " "), found
    with_ids = db.execute("COUNT ? OR ?", [foxes.tokenizer.encode("fox"), foxes.tokenizer.encode("fax")])
    assert "note" not in with_ids.summary


def test_what_acts_on_documents_says_so_even_where_some_are_found(db, foxes, tmp_path):
    foxes.append(["fox"])
    for statement in (
        'EXPLAIN DELETE DOCS WHERE "fox"',
        f"COPY (DOCS WHERE NOT \"fox\") TO '{tmp_path / 'x.jsonl'}'",
        'DELETE DOCS WHERE "fox"',
    ):
        assert db.execute(statement).summary["note"] == f'{BY_TEXT}; "fox" MATCH TEXT finds all', statement
    assert foxes.n_documents == 2
    note = '"fox" occurs 3 times in the texts, parts of words included, never as these tokens; '
    assert db.execute('DELETE DOCS WHERE "fox" OR " fax"').summary["note"].startswith(note)
    assert "note" not in db.execute('DELETE DOCS WHERE "fox" MATCH TEXT').summary
    assert foxes.n_documents == 0


@pytest.mark.parametrize(
    "statement",
    [
        'COUNT "a" [0..2] "fox"',
        'KWIC "a" [0..2] "fox"',
        'COUNT "and" AND "fox" WITHIN 2 TOKENS',
        'COUNT DOCS WHERE "a" AND "fox"',
        'DOCS WHERE "a" [0..2] "fox"',
    ],
)
def test_parts_that_occur_apart_and_not_together_have_a_note(db, subwords, statement):
    corpus = db.create_corpus("foxes", tokenizer=str(subwords))
    corpus.append(["a fox and a fox", "fox x"])
    said = db.execute(statement).summary["note"]
    assert '" fox", with a blank before it, has other tokens and occurs 2 times' in said


def test_parts_as_frequent_as_they_can_be_have_no_note(db, subwords):
    corpus = db.create_corpus("foxes", tokenizer=str(subwords))
    corpus.append(["a fox", "fox x", "fox y"])
    assert "note" not in db.execute('COUNT "a" [0..2] "fox"').summary


def test_two_phrases_have_a_note_each_and_a_repeated_one_has_one(db, foxes):
    note = db.execute('COUNT "fox" OR "fox," OR "fox"').summary["note"]
    second = '" fox,", with a blank before it, has other tokens and occurs once; "fox," MATCH TEXT finds both'
    assert note == f"{BEHIND_A_BLANK}{BOTH}; {second}"


def test_a_note_of_the_model_stays(db, foxes):
    note = db.execute('DIST GIVEN "fox" USING KNESER_NEY TOP 1').summary["note"]
    assert note.startswith("the corpus is too small") and note.endswith(BEHIND_A_BLANK)


def test_the_note_of_a_statement_that_others_follow_is_a_warning(db, foxes):
    with pytest.warns(TokenBoundaryWarning, match="never as these tokens") as caught:
        assert db.execute('DELETE DOCS WHERE "fox"; COUNT " fox"').fetchall() == [(3,)]
    assert caught[0].filename == __file__


def test_other_tokenizers_say_nothing_of_blanks(db):
    for kind in ("words", "chars", "bytes"):
        corpus = db.create_corpus(kind, tokenizer=kind)
        corpus.append(["a fox and a fox", "one fox, two oxen"])
        for text in ("fox and a fox and", " one", "one fax ", "fo*"):
            found = db.execute(f"COUNT ? FROM {kind}", [text]).summary.get("note", '"*"')
            assert found.startswith('"*"')


def test_no_second_look_where_something_was_found(db, foxes, monkeypatch):
    asked = Counter()
    words = db.create_corpus("words")
    words.append(["a fox"])

    class Counting:
        def __init__(self, index):
            self._index = index

        def __getattr__(self, name):
            return getattr(self._index, name)

        def count(self, ids):
            asked[len(ids)] += 1
            return self._index.count(ids)

    for corpus in (foxes, words):
        view = corpus._bound.current()
        monkeypatch.setattr(view, "index", Counting(view.index))
    for statement, n in (
        ('COUNT " fox" FROM foxes', 1),
        ('COUNT "a fox" FROM words', 1),
        ('COUNT "fox a" FROM words', 1),
        ('COUNT "fox" FROM foxes', 3),
    ):
        asked.clear()
        db.execute(statement)
        assert asked.total() == n, statement


def test_a_note_that_cannot_be_counted_is_left_out(db, foxes, subwords):
    more = db.create_corpus("more", tokenizer=str(subwords))
    more.append(["a fox, a fox, a fox, a fox"])
    assert db.execute('COUNT "fox" FROM foxes - more').summary == {}
    with pytest.raises(ngramdb.ExecutionError, match="would occur -1 times"):
        db.execute('COUNT " fox" FROM foxes - more')


# ---- verbs: a warning -------------------------------------------------------------------------------------

VERBS = {
    "count": lambda c, fox: c.count(fox),
    "count_many": lambda c, fox: c.count_many(["a", fox, fox]),
    "count_docs": lambda c, fox: c.count_docs("?", params=[fox]),
    "count_docs of two": lambda c, fox: c.count_docs("? OR NOT ?", params=[[1], fox]),
    "docs": lambda c, fox: c.docs("?", params=[fox]),
    "docs in order": lambda c, fox: c.docs("?", params=[fox], order_by="length"),
    "sample": lambda c, fox: c.sample(1, "?", params=[fox]),
    "kwic": lambda c, fox: c.kwic(fox),
    "kwic of others": lambda c, fox: c.kwic("a", "?", params=[fox]),
    "ngrams": lambda c, fox: c.ngrams(1, "?", params=[fox]),
    "ngrams containing": lambda c, fox: c.ngrams(2, containing=fox),
    "occurrences": lambda c, fox: c.occurrences(fox),
    "trace": lambda c, fox: c.trace(fox),
    "trace_arrays": lambda c, fox: c.trace_arrays(fox),
    "match_lengths": lambda c, fox: c.match_lengths(fox),
    "prob": lambda c, fox: c.prob(fox, "one"),
    "prob of a token": lambda c, fox: c.prob(44, fox),
    "prob of a model": lambda c, fox: c.prob(44, fox, "backoff(0.4)"),
    "prob_many": lambda c, fox: c.prob_many(["a", "one"], [" fox", fox]),
    "prob_many of tokens": lambda c, fox: c.prob_many([fox], [44]),
    "dist": lambda c, fox: c.dist(fox),
    "dist_arrays": lambda c, fox: c.dist_arrays(fox),
    "dist_many": lambda c, fox: c.dist_many(["a", fox]),
    "score": lambda c, fox: c.score(fox),
    "generate": lambda c, fox: c.generate(fox, 2),
    "stream": lambda c, fox: list(c.stream(fox, 2)),
    "draft": lambda c, fox: c.draft(fox, 2),
    "delete": lambda c, fox: c.delete("?", params=[fox]),
}


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_warn_where_they_are_called(foxes, verb):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        VERBS[verb](foxes, "fox")
    assert [(w.category, w.filename) for w in caught] == [(TokenBoundaryWarning, __file__)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VERBS[verb](foxes, foxes.tokenizer.encode("fox"))
        if "one" not in verb:
            VERBS[verb](foxes, " fox")


def test_export_warns_too(foxes, tmp_path):
    with pytest.warns(TokenBoundaryWarning, match='"fox" MATCH TEXT finds all'):
        foxes.export(tmp_path / "x.jsonl", '"fox"')


@pytest.mark.parametrize("by", ["statement", "verb"])
def test_copies_of_documents_warn_too(db, foxes, by):
    if by == "verb":
        with pytest.warns(TokenBoundaryWarning, match='"fox" MATCH TEXT finds both'):
            foxes.where('"fox"').copy("chosen")
        return
    (note,) = db.execute('CREATE CORPUS chosen AS (DOCS WHERE "fox" FROM foxes)').notes
    assert '"fox" MATCH TEXT finds all' in note


def test_a_warning_comes_once_for_each_ngram_and_place(foxes):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            foxes.count("fox")
            foxes.count("fox,")
        foxes.count("fox")
    assert len(caught) == 3


def test_where_warnings_are_errors_nothing_is_removed(foxes):
    foxes.append(["fox"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", PhraseWarning)
        with pytest.raises(TokenBoundaryWarning):
            foxes.delete('"fox"')
    assert foxes.n_documents == 3


def test_a_star_is_warned_of_under_any_tokenizer(db):
    for kind in ("words", "chars", "bytes"):
        corpus = db.create_corpus(kind, tokenizer=kind)
        corpus.append(["climate", "2 * 3"])
        for ask, part in (
            (corpus.count, '"clim" MATCH TEXT finds it'),
            (corpus.kwic, '"clim" MATCH TEXT finds it'),
            (lambda text, c=corpus: c.count_many([text]), "patterns are not allowed here"),
        ):
            with pytest.warns(PhraseWarning, match=part) as caught:
                ask("clim*")
            assert caught[0].category is PhraseWarning
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert corpus.count("2 * 3") == 1


@pytest.mark.parametrize("kind", ["words", "words(lower)", "pieces", "WordPiece", "chars", "bytes"])
def test_a_star_at_the_end_is_answered_by_prefix_where_there_are_words(db, subwords, tmp_path, kind):
    path = subwords if kind == "pieces" else tmp_path / "tokenizer.json"
    texts = ["climate, and climbing", "acclimatize"]
    if kind == "WordPiece":
        made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.pre_tokenizer = pre_tokenizers.Whitespace()
        trainer = trainers.WordPieceTrainer(vocab_size=40, special_tokens=["[UNK]"], show_progress=False)
        made.train_from_iterator([*texts, "2 * 3"], trainer)
        made.save(str(path))
    corpus = db.create_corpus("c", tokenizer=str(path) if kind in ("pieces", "WordPiece") else kind)
    corpus.append(texts)
    note = db.execute('COUNT "clim*"').summary["note"]
    if kind in ("chars", "bytes"):
        assert "PREFIX" not in note
        with pytest.raises(ngramdb.PlanError, match="PREFIX needs"):
            db.execute('COUNT "clim" PREFIX')
        return
    assert '; "clim" PREFIX finds words with this prefix; "clim" MATCH TEXT finds it' in note
    assert db.execute('COUNT "clim" PREFIX').fetchall() == [(2,)]
    assert db.execute('COUNT "clim" MATCH TEXT').fetchall() == [(3,)]


@pytest.mark.parametrize("kind", ["words", "chars", "bytes"])
@pytest.mark.parametrize("text", ['"a" [0..2] "b"', ' "a" match text', '"a" OR "b"'])
def test_what_reads_as_a_pattern_is_warned_of(db, kind, text):
    corpus = db.create_corpus("c", tokenizer=kind)
    corpus.append(["a b", 'he said "a" and "b"'])
    for ask in (corpus.count, corpus.kwic):
        with pytest.warns(PhraseWarning, match="is one n-gram, its quotation marks included"):
            ask(text)
    assert db.execute("COUNT ?", [text]).summary["note"].endswith(f"such as KWIC {text.strip()}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert corpus.count('"a" and "b"') == corpus.count('said "a"') == 1


@pytest.mark.parametrize("kind", ["words", "chars", "bytes"])
def test_an_ngram_in_quotation_marks_is_warned_of_where_it_occurs_without(db, kind):
    corpus = db.create_corpus("c", tokenizer=kind)
    corpus.append(["flies like", 'the "doctor" said'])
    for ask in (corpus.count, corpus.kwic, lambda text: corpus.ngrams(2, containing=text)):
        with pytest.warns(PhraseWarning, match='without them, "flies" occurs once'):
            ask('"flies"')
    assert "without them" in db.execute("DIST GIVEN ?", ['"flies"']).summary["note"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert corpus.count('"doctor"') == 1
        assert corpus.count('"zebra"') == 0


# ---- advice -----------------------------------------------------------------------------------------------

PLACES = (
    "COUNT {}",
    "COUNT {} GROUP BY doc_id",
    'COUNT {} "x"',
    'COUNT "x" [0..2] {}',
    "COUNT (b | {})".replace("b", '"b"'),
    'COUNT {} AND "x" WITHIN 3 TOKENS',
    "COUNT DOCS WHERE {}",
    "DOCS WHERE NOT {}",
    "KWIC {}",
    "COLLOCATES {}",
    "DISPERSION {}",
    "NGRAMS 2 CONTAINING {}",
    "NGRAMS 2 STARTING {}",
    "DIST GIVEN {}",
    "DIST BEFORE {}",
    'PROB {} GIVEN "x"',
    "TRACE {}",
    "SCORE {}",
    "GENERATE GIVEN {} TOKENS 1",
)
WILD = {
    "gov*": '"gov" PREFIX',
    "gov.*": "/gov.*/",
    ".*ing": "/.*ing/",
    "*ing": "/.*ing/",
    "the .* of": '"the" * "of"',
    "the * of": '"the" * "of"',
    "the ? of": '"the" * "of"',
    "the *": '"the" *',
    "the gov* of": '"the" "gov" PREFIX "of"',
    "U.S.*": '"U.S." PREFIX',
    "wom[ae]n": "/wom[ae]n/",
    "wom?n": "/wom.n/",
    "good|bad": "/good|bad/",
    "gov.+": "/gov.+/",
    r"\\w+ing": r"/\w+ing/",
    "?ing": "/.ing/",
    "govern%": '"govern" PREFIX',
    "*-known": '/.*/ "-" "known"',
    "in/out*": '"in/out" PREFIX',
    "*/out": None,
    "a movie": None,
    "good": None,
}
ADVICE = re.compile(r"(?:; |write )(.+?),? (?:finds|looks for|matches any|is matched as one|without)\b")


@pytest.mark.parametrize("kind", ["words", "words(lower)", "chars", "pieces"])
def test_the_advice_of_a_note_runs_in_its_statement(db, tmp_path, kind):
    made = write_tokenizer(tmp_path / "tokenizer.json", ["n g", "o v"])
    db.create_corpus("c", tokenizer=str(made) if kind == "pieces" else kind).append(
        ["x the state of good government, a U.S. woman aa ing", "a movie. a good movie"]
    )
    n_advised = 0
    for statement in PLACES:
        for text in WILD:
            note = db.execute(statement.format(f'"{text}"')).summary.get("note", "")
            for advice in ADVICE.findall(note):
                db.execute(statement.format(advice)).fetchall()
                n_advised += 1
            if statement.startswith(("TRACE", "SCORE", "DIST", "PROB", "GEN")) or "STARTING" in statement:
                assert not re.search("PREFIX|MATCH TEXT|/", note.replace(text, "")), (statement, note)
    assert n_advised > 20


def test_wildcards_of_other_programs_are_advised_as_what_they_mean(db):
    db.create_corpus("c").append(["x the state of good government, a woman"])
    for text, advice in WILD.items():
        note = db.execute(f'COUNT "{text}"').summary.get("note")
        if advice is None:
            assert note is None or text == "*/out"
        else:
            assert f"; {advice} " in (note or ""), (text, note)


@pytest.mark.parametrize("text", ["He said *no* to it", "**bold** words", "* one", "a *b* c *d*"])
def test_stars_of_markdown_in_texts_that_are_read_are_not_noted(db, text):
    db.create_corpus("c").append(["He said no to it"])
    for statement in ("TRACE ?", "SCORE ?", "GENERATE GIVEN ? TOKENS 1"):
        assert '"*"' not in db.execute(statement, [text]).summary.get("note", ""), statement


@pytest.mark.parametrize(
    "statement",
    [
        'COUNT "a" "fox"',
        'COUNT ("one" | "big") "fox"',
        'COUNT "fox"{2}',
        'COUNT /a/ "fox"',
        'COUNT "a" "fox" WHERE doc_id >= 0',
        'COUNT "a" "fox" GROUP BY doc_id',
        'COUNT "a" "fox" SAMPLE 2 SEED 1',
        'COUNT "a" "fox" PER MILLION',
        'KWIC "a" "fox"',
        'COUNT DOCS WHERE "a" "fox"',
        'NGRAMS 3 CONTAINING "a" "fox"',
        'NGRAMS 3 WHERE "a" "fox"',
        'KEYWORDS WHERE "a" "fox" AGAINST REST',
        'DISPERSION "a" "fox"',
    ],
)
def test_patterns_that_find_nothing_are_noted_in_every_statement(db, subwords, statement):
    """The parts occur, never beside each other; some of these counts are 0 without a look at the index."""
    db.create_corpus("foxes", tokenizer=str(subwords)).append(["a fox and a fox", "fox x", "a y"])
    note = db.execute(statement).summary.get("note", "")
    assert '" fox", with a blank before it, has other tokens and occurs 2 times' in note
