"""Functions of documents AS datatrove and AS datamap, on 1,000 documents.

datatrove's numbers (GopherRepetitionFilter of 0.10.1, whose functions are those of a649de79) are recorded as
a digest, and compared one by one if datatrove is installed. Those of datamap-rs (MassiveWebRepetitionFilter,
f771794) follow from its definition of each case, written here from scratch: the program is in Rust. Words are
the corpus's tokens.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import defaultdict
from importlib import import_module, util
from typing import Any

import pytest

import ngramdb

N_DOCUMENTS = 1000
DUP_SIZES, TOP_SIZES = range(5, 11), range(2, 5)
VOCABULARY = ("the", "of", "cat", "naïve", "—", "1,000", "日本", "x", "long-word", "😀", "a", "aa")
FILTER = "datatrove.pipeline.filters.gopher_repetition_filter"
# SHA-256 of datatrove's numbers of characters: per document those of repeated lines, top n-grams, duplicate
# n-grams.
DIGEST = "a0defa6e02f40fc5ea029cd843160a6c6ad1dd9ba8b08d01a1bcb175c2c8895f"


def made_up(rng: random.Random) -> str:
    """Return a text with copies of its own lines and phrases."""
    lines: list[str] = []
    words = rng.sample(VOCABULARY, rng.randint(1, len(VOCABULARY)))
    for _ in range(rng.randint(1, 12)):
        if lines and rng.random() < 0.4:
            lines.append(rng.choice(lines))
        else:
            lines.append(" ".join(rng.choices(words, k=rng.randint(0, 6)) * rng.randint(1, 3)))
    return rng.choice(["\n", "\n\n", " "]).join([*lines, "end"]) + rng.choice(["", "\n"])


@pytest.fixture(scope="module")
def texts() -> list[str]:
    rng = random.Random(5)
    return [made_up(rng) for _ in range(N_DOCUMENTS)]


@pytest.fixture(scope="module")
def db(texts: list[str]) -> Any:
    with ngramdb.connect() as opened:
        opened.create_corpus("c").append(texts)
        yield opened


@pytest.fixture(scope="module")
def words(db: Any, texts: list[str]) -> list[list[str]]:
    tokenizer = db.corpus("c").tokenizer
    return [[tokenizer.token_text(one) for one in tokenizer.encode(text).tolist()] for text in texts]


# SHA-256 of datatrove's numbers of repeated lines and paragraphs, and of characters of the latter.
DIGEST_OF_PARTS = "97695d84cc2de787079deeadc7e2b3286ce2425a2fe98cc48c6b5cfa8c77aee2"
PARTS = ("DUP_LINE_COUNT_SHARE", "DUP_PARAGRAPH_COUNT_SHARE", "DUP_PARAGRAPH_SHARE")


def shares_of_parts(db: Any, dialect: str) -> list[tuple[float, ...]]:
    """Return per document the values of PARTS."""
    calls = ", ".join(f"{name}(AS {dialect})" for name in PARTS)
    return list(db.execute(f"DOCS FROM c ORDER BY doc_id RETURNING {calls}").fetchall())


def values(db: Any, dialect: str) -> list[tuple[float, ...]]:
    """Return per document DUP_LINE_SHARE, TOP_NGRAM_SHARE and DUP_NGRAM_SHARE."""
    calls = [f"DUP_LINE_SHARE(AS {dialect})"]
    calls += [f"TOP_NGRAM_SHARE({n} AS {dialect})" for n in TOP_SIZES]
    calls += [f"DUP_NGRAM_SHARE({n} AS {dialect})" for n in DUP_SIZES]
    found = db.execute(f"DOCS FROM c ORDER BY doc_id RETURNING {', '.join(calls)}").fetchall()
    return [tuple(row) for row in found]


def test_numbers_are_those_of_datatrove(db: Any, texts: list[str], words: list[list[str]]) -> None:
    found = [
        [round(value * len(text)) for value in row]
        for text, row in zip(texts, values(db, "datatrove"), strict=True)
    ]
    if util.find_spec("datatrove") is not None:
        program = import_module(FILTER)
        expected = []
        for text, tokens in zip(texts, words, strict=True):
            ngrams = [program.get_n_grams(tokens, n) for n in TOP_SIZES]
            expected.append(
                [
                    program.find_duplicates(re.split("\n+", text))[1],
                    *(program.find_top_duplicate(some) if some else 0 for some in ngrams),
                    *(program.find_all_duplicate(tokens, n) for n in DUP_SIZES),
                ]
            )
        assert found == expected
    assert hashlib.sha256(repr(found).encode()).hexdigest() == DIGEST


def test_parts_are_those_of_datatrove(db: Any, texts: list[str]) -> None:
    found = []
    for text, (lines, paragraphs, characters) in zip(texts, shares_of_parts(db, "datatrove"), strict=True):
        wholes = len(re.split("\n+", text)), len(re.split(r"\n{2,}", text.strip())), len(text)
        shares = (lines, paragraphs, characters)
        found.append([round(share * whole) for share, whole in zip(shares, wholes, strict=True)])
    if util.find_spec("datatrove") is not None:
        program = import_module(FILTER)
        filtering = program.GopherRepetitionFilter()
        expected = []
        for text in texts:
            paragraphs = program.find_duplicates(filtering.paragraph_exp.split(text.strip()))
            lines = program.find_duplicates(filtering._line_splitter.split(text))
            expected.append([lines[0], *paragraphs])
        assert found == expected
    assert any(row[1] for row in found)
    assert hashlib.sha256(repr(found).encode()).hexdigest() == DIGEST_OF_PARTS


def test_parts_are_those_of_datamap(db: Any, texts: list[str]) -> None:
    for text, row in zip(texts, shares_of_parts(db, "datamap"), strict=True):
        lines = [line for line in text.split("\n") if line]
        paragraphs = [part for part in text.split("\n\n") if part]
        sizes = [len(part.encode()) for part in paragraphs]
        again = [paragraphs.count(part) > 1 for part in paragraphs]
        assert row == pytest.approx(
            (
                sum(lines.count(line) > 1 for line in lines) / len(lines),
                sum(again) / len(paragraphs),
                sum(size for size, is_again in zip(sizes, again, strict=True) if is_again) / sum(sizes),
            )
        )


def n_bytes(elements: list[str]) -> int:
    return sum(len(element.encode()) for element in elements)


def places_of(elements: list[str], n: int) -> dict[tuple[str, ...], list[int]]:
    """Return the places of the n-grams that occur more than once."""
    places = defaultdict(list)
    for i in range(len(elements) - n + 1):
        places[tuple(elements[i : i + n])].append(i)
    return {ngram: found for ngram, found in places.items() if len(found) > 1}


def repeated_lines(text: str) -> float:
    lines = [line for line in text.split("\n") if line]
    found = places_of(lines, 1)
    return sum(n_bytes([line]) * len(places) for (line,), places in found.items()) / n_bytes(lines)


def shares_within(tokens: list[str], n: int, of_top: bool) -> set[float]:
    """Return the share in n-grams; of the top ones, one per n-gram among those that are equally good."""
    found = places_of(tokens, n)
    if of_top and found:
        best = max((len(places), n_bytes(list(ngram))) for ngram, places in found.items())
        chosen = [places for ngram, places in found.items() if (len(places), n_bytes(list(ngram))) == best]
    else:
        chosen = [[place for places in found.values() for place in places]]
    within = ({place + k for place in places for k in range(n)} for places in chosen)
    return {round(n_bytes([tokens[i] for i in some]) / n_bytes(tokens), 9) for some in within}


def test_numbers_are_those_of_datamap(db: Any, texts: list[str], words: list[list[str]]) -> None:
    for text, tokens, row in zip(texts, words, values(db, "datamap"), strict=True):
        assert row[0] == pytest.approx(repeated_lines(text))
        cases = [*((n, True) for n in TOP_SIZES), *((n, False) for n in DUP_SIZES)]
        for (n, of_top), value in zip(cases, row[1:], strict=True):
            assert round(value, 9) in shares_within(tokens, n, of_top), (text, n, of_top)
