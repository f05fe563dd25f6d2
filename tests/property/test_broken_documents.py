"""A corpus of broken documents answers like its twin, in which each piece is a document.

N-grams, contexts, windows and sentences are those of the pieces; texts are those of whole documents.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.broken import append_broken, connected
from support.subwords import word_level, write_tokenizer

EXAMPLES = settings(max_examples=25, deadline=None, derandomize=True)
WORDS = ("a", "b", "c", "B", ".")
# Bytes, sub-words that spell their text, words at blanks whose places are known, and words.
TOKENIZERS = ("words", "bytes", "subwords", "word level")

COUNTS = (
    'COUNT "a b"',
    'COUNT "a" MATCH TEXT',
    'COUNT "b c" MATCH TEXT IGNORE CASE',
    'COUNT "a" [0..2] "b"',
    'COUNT "a"{1,3} "b"',
    'COUNT "a" * "b"',
    'COUNT ("a" | "c") "b"{0,1}',
    'COUNT "a" AND "b" WITHIN 2 TOKENS',
    'COUNT "a" AND NOT "b" WITHIN 1 TOKENS',
    'COUNT "a" AND "b" WITHIN SENTENCE',
    'COUNT <s> "a"',
    'COUNT "b" </s>',
    'COUNT "a" WHERE n = 1',
    'COUNT "a" GROUP BY n',
    'COUNT "a" GROUP BY RIGHT 1',
    'COUNT "a" GROUP BY LEFT 2, n',
    "COUNT /[ab]/ GROUP BY FORM",
    'COUNT "a" IGNORE CASE PER MILLION',
    "NGRAMS 1",
    "NGRAMS 2",
    "NGRAMS 2..4 TOP 6",
    "NGRAMS 3 WHERE n = 1",
    'NGRAMS 2 CONTAINING "a"',
    'NGRAMS 3 CONTAINING "a" * TOP 4',
    'COLLOCATES OF "a" WINDOW 2',
    'COLLOCATES OF "a" WINDOW 3 RIGHT WITHIN SENTENCE',
    'COLLOCATES OF "b" WINDOW 2 LEFT WHERE n < 2',
    "KEYWORDS OF WHERE n = 1 AGAINST REST",
    'DIST BEFORE "a"',
    'DIST BEFORE "a" WHERE n = 1',
    'DISPERSION OF "a" BY n',
    'TRACE "a b c a b"',
)
MODELS = (
    "NGRAM",
    "INFGRAM",
    "BACKOFF",
    "KNESER_NEY",
    "KNESER_NEY ORDER 3",
    "WITTEN_BELL",
    "PITMAN_YOR",
    "KATZ",
    "SKIP_KNESER_NEY",
)
MODELLED = (
    'PROB "b" GIVEN "a" USING {}',
    'PROB "a" GIVEN "c b" USING {}',
    'PROB "a" GIVEN "<s>" USING {}',
    'DIST GIVEN "a" USING {}',
    'DIST GIVEN "b a" USING {}',
    'DIST GIVEN "a" USING {} WHERE n = 1',
    'SCORE "a b c a b" USING {}',
    'SCORE "a b c a" USING {} DOCUMENT',
    'SCORE "a b. B c" USING {} SENTENCE',
)
LINES = (
    'KWIC "a" WINDOW 3',
    'KWIC "a b" WINDOW 2',
    'KWIC "a" MATCH TEXT WINDOW 2',
    'KWIC "b" WINDOW 0',
    'KWIC "a" WINDOW SENTENCE',
    'KWIC "a" AND "b" WITHIN 2 TOKENS WINDOW 1',
    'KWIC "a"{2} WINDOW 2',
)
ORDERED = (
    'KWIC "a" WINDOW 4 ORDER BY LEFT',
    'KWIC "a" WINDOW 2 ORDER BY RIGHT',
    'KWIC "a" IGNORE CASE WINDOW 4 ORDER BY FORM',
)
# Conditions that hold for a document if they do for a piece of it.
CONDITIONS = (
    '"a b"',
    '"b" AND "a" WITHIN 2 TOKENS',
    '"a" AND "b" AND "c" WITHIN 3 TOKENS',
    '"a" AND "b" WITHIN SENTENCE',
    '"a" [1..3] "b"',
    '"b a" MATCH TEXT',
    '/[ac]/ "b"',
)


@st.composite
def corpora(draw):
    """Documents as pieces of words, their number of segments, which are deleted, whether all is compacted."""
    words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)
    pieces = st.lists(words, min_size=1, max_size=4)
    documents = draw(st.lists(pieces, min_size=1, max_size=9))
    documents += draw(st.lists(st.sampled_from(documents), max_size=2))
    gone = draw(st.sets(st.integers(0, len(documents) - 1), max_size=2))
    return documents, draw(st.sampled_from([1, 2, 3])), gone, draw(st.booleans())


class Twins:
    """A corpus of broken documents, and one of their pieces; `places` are those of pieces in documents."""

    def __init__(self, stack, corpus, tokenizer):
        documents, n_segments, gone, is_compacted = corpus
        self.documents = [[" ".join(words) for words in pieces] for pieces in documents]
        self.kept = [i for i in range(len(documents)) if i not in gone]
        self.whole, self.pieces = (stack.enter_context(connected(tokenizer)) for _ in range(2))
        rows = [(texts, {"n": i % 3, "y": i}) for i, texts in enumerate(self.documents)]
        size = -(-len(rows) // n_segments)
        for start in range(0, len(rows), size):
            append_broken(self.whole, rows[start : start + size])
        append_broken(self.pieces, [([text], fields) for texts, fields in rows for text in texts])
        for db in (self.whole, self.pieces):
            for i in gone:
                db.execute(f"DELETE DOCS FROM c WHERE y = {i}")
            if is_compacted and db is self.whole:
                db.execute("COMPACT c")
        view = self.pieces.snapshot.view("c")
        lengths = [len(view.tokenizer.encode(text)) for texts in self.documents for text in texts]
        ends = iter(list(accumulate(lengths, initial=0)))
        self.places = []
        for i, texts in enumerate(self.documents):
            starts = [next(ends) for _ in texts]
            self.places += [(i, start - starts[0]) for start in starts]

    def answers(self, statement):
        return [answer(db, statement) for db in (self.whole, self.pieces)]

    def traces(self, found, expected):
        """Rows of TRACE with the documents that both list: ten at most, here of pieces."""
        documents = [sorted({self.places[i][0] for i in pieces}) for *_, pieces in expected]
        cut = [len(few) if len(row[-1]) == 10 else None for few, row in zip(documents, expected, strict=True)]
        return (
            [(*row, docs[:n]) for (*row, docs), n in zip(found, cut, strict=True)],
            [(*row, docs) for (*row, _), docs in zip(expected, documents, strict=True)],
        )


def answer(db, statement):
    """Rows; of floats, so many digits as do not depend on the order of sums."""
    rows = db.execute(statement).fetchall()
    return [tuple(float(f"{v:.9g}") if isinstance(v, float) else v for v in row) for row in rows]


def tokenizers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizers")
    merges = ("Ġ a", "Ġ b", "a b", "Ġa Ġb")
    return {
        "words": "words",
        "bytes": "bytes",
        "subwords": str(write_tokenizer(folder / "subwords.json", merges)),
        "word level": str(word_level(folder / "words.json", WORDS)),
    }


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request, tmp_path_factory):
    return tokenizers(tmp_path_factory)[request.param]


@EXAMPLES
@given(corpora())
def test_ngrams_and_windows_are_those_of_the_pieces(tokenizer, corpus):
    with ExitStack() as stack:
        twins = Twins(stack, corpus, tokenizer)
        for statement in COUNTS:
            found, expected = twins.answers(statement)
            if statement.startswith("TRACE"):
                found, expected = twins.traces(found, expected)
            assert found == expected, statement
        assert answer(twins.whole, "CHECK") == []


@EXAMPLES
@given(corpora(), st.booleans())
def test_models_are_those_of_the_pieces(tokenizer, corpus, is_analyzed):
    with ExitStack() as stack:
        twins = Twins(stack, corpus, tokenizer)
        if is_analyzed:
            found, expected = (db.execute("ANALYZE c").fetchall() for db in (twins.whole, twins.pieces))
            assert found == expected
        for statement in MODELLED:
            for model in MODELS:
                found, expected = twins.answers(statement.format(model))
                assert found == expected, statement.format(model)


@EXAMPLES
@given(corpora())
def test_lines_end_at_breaks_and_positions_are_those_of_tokens(tokenizer, corpus):
    with ExitStack() as stack:
        twins = Twins(stack, corpus, tokenizer)
        for statement in (*LINES, *ORDERED):
            found, expected = twins.answers(statement)
            placed = [
                (twins.places[i][0], twins.places[i][1] + position, *texts)
                for i, position, *texts in expected
            ]
            assert found == placed, statement


@EXAMPLES
@given(corpora())
def test_documents_are_whole(tokenizer, corpus):
    with ExitStack() as stack:
        twins = Twins(stack, corpus, tokenizer)
        for condition in CONDITIONS:
            found, expected = twins.answers(f"DOCS WHERE {condition} RETURNING y")
            assert found == sorted(set(expected)), condition
        encode = twins.whole.snapshot.view("c").tokenizer.encode
        expected_lengths = [(i, sum(len(encode(text)) for text in twins.documents[i])) for i in twins.kept]
        assert answer(twins.whole, "DOCS RETURNING doc_id, length") == expected_lengths
        c = twins.whole.corpus("c")
        for i in twins.kept:
            assert c.document(i).text == "".join(twins.documents[i])
        lines = [json.loads(line) for line in c.lines()] if hasattr(c, "lines") else []
        assert [line["text"] for line in lines] == [
            "".join(twins.documents[i]) for i in twins.kept
        ] or not lines
