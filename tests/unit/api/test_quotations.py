"""Quotations of a text: planted, altered, patched together and cited wrongly, under several tokenizers."""

from __future__ import annotations

import random
import re

import pytest

import ngramdb
from ngramdb.api.verbs.quoting import PIECE, quoted
from ngramdb.errors import InvalidArgument, PlanError

WORDS = (
    *(
        "the",
        "a",
        "of",
        "river",
        "water",
        "heron",
        "wades",
        "waits",
        "fish",
        "bank",
        "nest",
        "bird",
        "branch",
    ),
    *(
        "don't",
        "well-known",
        "“old”",
        "stone,",
        "flood;",
        "Heron",
        "Δ",
        "naïve",
        "is",
        "light",
        "wind",
        "reed",
    ),
)
MARKS = ("“%s”", "„%s“", "«%s»", '"%s"')


def documents(rng):
    made = []
    for _ in range(30):
        words = [rng.choice(WORDS) for _ in range(60)]
        words[20] = "—"
        words[40] += "—" + words.pop(41)
        made.append(" ".join(words))
    return made


def varied(rng, text):
    """Return the text with other case, white space, quotation marks and dashes."""
    text = rng.choice([str, str.upper, str.lower, str.title])(text)
    text = re.sub(r"\s+", lambda _: rng.choice([" ", "  ", "\n", "\t "]), text)
    text = text.translate({ord("’"): "'", ord("'"): rng.choice("'’")})
    text = re.sub("[“”]", lambda mark: rng.choice(["″", mark[0]]), text)
    return re.sub(r"\s*—\s*", lambda _: rng.choice(["—", " – ", " -- ", " - "]), text)


@pytest.mark.parametrize("tokenizer", ["words", "words(lower)", "chars", "bytes"])
def test_planted_and_altered_quotations(tokenizer):
    rng = random.Random(7)
    texts = documents(rng)
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=tokenizer)
        corpus.append(texts[:15])
        corpus.append(texts[15:])
        wrong = []
        for i in range(80):
            doc_id = rng.randrange(30)
            words = texts[doc_id].split()
            start = rng.randrange(len(words) - 12)
            part = words[start : start + rng.randrange(6, 12)]
            if set("“”") & set(part[0] + part[-1]):
                continue
            planted = varied(rng, " ".join(part))
            part[rng.randrange(len(part))] = "kingfisher"
            altered = varied(rng, " ".join(part))
            mark = "«%s»" if set("“”") & set(planted + altered) else MARKS[i % 4]
            answer = f"They say {mark % planted}, and {mark % altered}."
            found, other = corpus.quotations(answer, document=doc_id)
            if (found.status, other.status) != ("found", "absent") or found.documents != (doc_id,):
                wrong.append((answer, found, other))
        assert not wrong, wrong[0]


@pytest.fixture
def corpus():
    with ngramdb.connect() as db:
        made = db.create_corpus("c")
        made.append(
            [
                {"text": "The heron wades in the shallow water and waits for a fish.", "year": 1990},
                {
                    "text": "A kingfisher dives from a branch above the “old” river — it seldom misses.",
                    "year": 2001,
                },
            ]
        )
        yield made


def test_where_a_quotation_is(corpus):
    answer = (
        'Birds: “wades in the shallow water” and ‘a branch above the "old" river - it seldom misses.’ But '
        "not “waits for a frog”, nor «the heron wades in the shallow water and waits for a fish above it»."
    )
    assert [(one.status, one.documents) for one in corpus.quotations(answer)] == [
        ("found", (0,)),
        ("found", (1,)),
        ("absent", ()),
        ("absent", ()),
    ]
    assert [one.status for one in corpus.quotations(answer, document=1)] == [
        "elsewhere",
        "found",
        "absent",
        "absent",
    ]
    assert [one.status for one in corpus.quotations(answer, where="year < 2000")][:2] == ["found", "absent"]
    first = corpus.quotations(answer)[0]
    assert answer[first.start : first.stop] == "“wades in the shallow water”"


def test_patched_quotations_have_pieces(corpus):
    (one,) = corpus.quotations('"The heron wades in the shallow dives from a branch above"')
    assert one.status == "patched"
    assert one.pieces == (("The heron wades in the shallow", (0,)), ("dives from a branch above", (1,)))
    (one,) = corpus.quotations('"The heron wades in the water"')
    assert one.status == "absent"  # "water" is in no piece of four words
    assert PIECE == 4


def test_an_ellipsis_leaves_words_out(corpus):
    statuses = [
        corpus.quotations(f'"{text}"')[0].status
        for text in (
            "the heron … waits for a fish",
            "heron [...] a fish",
            "heron ... a branch",
            "A heron wades …",
        )
    ]
    assert statuses == ["found", "found", "absent", "absent"]


def test_what_is_a_quotation():
    def texts(text):
        return [content for _, _, content in quoted(text)]

    assert texts("It's the boys’ “own ‘little’ book,” he wrote; ‘don’t go’.") == [
        "own ‘little’ book",
        "don’t go",
    ]
    assert texts('"one" and "two", «drei», „vier“, 「五」 and "..."') == ["one", "two", "drei", "vier", "五"]
    assert texts("no quotation") == []


def test_nothing_matches_across_a_cut(corpus):
    corpus.cut_spans("shallow")
    for document in (None, 0):
        first, second = corpus.quotations(
            "“wades in the water and” “The heron wades in the”", document=document
        )
        assert (first.status, second.status) == ("absent", "found")


def test_a_citation_of_no_document(corpus):
    (one,) = corpus.quotations("“waits for a fish”", document=99)
    assert (one.status, one.documents) == ("elsewhere", (0,))


def test_errors(corpus):
    with pytest.raises(InvalidArgument, match="docs must be"):
        corpus.quotations("“a”", docs=0)
    with pytest.raises(InvalidArgument, match="not of list"):
        corpus.quotations([1])
    with ngramdb.connect() as db:
        ids = db.create_corpus("ids", tokenizer="tokens")
        ids.append([{"ids": [1, 2]}])
        with pytest.raises(PlanError, match="token ids"):
            ids.quotations("“a b”")
