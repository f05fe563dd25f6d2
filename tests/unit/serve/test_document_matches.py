"""The places of a document's matches, compared with a search of its text."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from support.subwords import write_tokenizer

import ngramdb

pytest.importorskip("starlette")

from ngramdb.serve.app import Access, Service
from ngramdb.serve.database_pool import open_library
from ngramdb.serve.problem_details import Limits
from ngramdb.serve.running import ask

CORPORA = {"w": "words", "l": "words(lower)", "c": "chars", "b": "bytes", "s": "", "n": "words(nfc)"}
LINES = (
    "oh when the saints go marching in , oh when the saints go marching in , ",
    "na na na na  na na ,\n",
    "ababa aba ab ",
    "Größe größe \U0001d11e grö e\u0301a ",
    "i want to be in that number ",
)
QUERIES = (
    "saints",
    "in",
    "na na",
    "aba",
    "größe",
    "number",
    "\U0001d11e",
    "oh when the saints go marching in",
)


def texts() -> list[str]:
    """Songs of few lines that are repeated often."""
    drawn = random.Random(7)
    return ["".join(drawn.choice(LINES) * drawn.randrange(1, 4) for _ in range(8)) for _ in range(2)]


@pytest.fixture(scope="module")
def songs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("songs")
    tokenizer = write_tokenizer(folder / "tokenizer.json", ("Ġ s", "Ġs a", "i n", "Ġ n", "Ġn a", "a b"))
    with ngramdb.connect(folder / "songs.ngdb") as db:
        for name, kind in CORPORA.items():
            db.create_corpus(name, kind or tokenizer).append([{"text": text} for text in texts()])
    return folder / "songs.ngdb"


@pytest.fixture(scope="module")
def service(songs: Path) -> Iterator[Service]:
    limits = Limits(time_limit=20.0)
    opened = Service(open_library([str(songs)], limits, {}), limits, Access())
    yield opened
    opened.workers.close()
    opened.library.close()


def answered(service: Service, corpus: str, number: int, **given: str) -> dict[str, Any]:
    found = ask(service, f"/{corpus}/documents/{number}.json?{urlencode(given)}", "GET", {}, b"")
    assert found.status == 200, found
    answer: dict[str, Any] = json.loads(found.body)
    return answer


def matches_in(text: str, query: str, as_words: bool, ignore_case: bool) -> list[list[int]]:
    """Return the spans of a string in a text, overlapping ones too; of words, those with space around."""
    sought = r"\s+".join(map(re.escape, query.split(" "))) if as_words else re.escape(query)
    around = rf"(?<!\S)(?=({sought})(?!\S))" if as_words else f"(?=({sought}))"
    flags = re.IGNORECASE if ignore_case else 0
    return [list(found.span(1)) for found in re.finditer(around, text, flags)]


#: Sub-words of a query differ from those of the text, so that only MATCH TEXT finds every place.
ASKED = [
    (corpus, match_text) for corpus in CORPORA for match_text in (False, True) if match_text or corpus != "s"
]


@pytest.mark.parametrize("ignore_case", [False, True])
@pytest.mark.parametrize(("corpus", "match_text"), ASKED)
def test_matches_are_all_places_of_the_text(
    service: Service, corpus: str, match_text: bool, ignore_case: bool
) -> None:
    as_words = not match_text and corpus in "wln"
    flags = {"match_text": ""} if match_text else {}
    flags |= {"ignore_case": ""} if ignore_case else {}
    n_found = 0
    for number, text in enumerate(texts()):
        for query in QUERIES:
            found = answered(service, corpus, number, q=query, **flags)
            every_case = ignore_case or (corpus == "l" and not match_text)
            assert found["matches"] == matches_in(text, query, as_words, every_case), (number, query)
            assert len(found["positions"]) == len(found["matches"])
            n_found += len(found["matches"])
    assert n_found > 30


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("pattern", ['"saints" [0..3] "in"', '"i" ("want" | "wants")', '"in" ","{1,2}'])
def test_matches_of_patterns_are_what_the_concordance_shows(
    service: Service, songs: Path, corpus: str, pattern: str
) -> None:
    with ngramdb.connect(songs, read_only=True) as db:
        for number, text in enumerate(texts()):
            lines = db.execute(
                f"KWIC {pattern} WHERE doc_id = {number} WINDOW 1000000 FROM {corpus}"
            ).fetchall()
            expected = [[len(left), len(left) + len(match)] for _, _, left, match, _ in lines]
            found = answered(service, corpus, number, pattern=pattern)
            assert found["matches"] == expected
            assert found["positions"] == [line[1] for line in lines]
            assert [text[start:stop] for start, stop in found["matches"]] == [line[3] for line in lines]


@pytest.mark.parametrize("corpus", ["b", "s"])
def test_a_match_of_a_part_of_a_character_is_at_all_of_it(service: Service, songs: Path, corpus: str) -> None:
    with ngramdb.connect(songs, read_only=True) as db:
        last_byte = db.corpus(corpus).tokenizer.encode("\U0001d11e").tolist()[-1]
    for number, text in enumerate(texts()):
        found = answered(service, corpus, number, ids=f"[{last_byte}]")
        assert [text[start:stop] for start, stop in found["matches"]] == ["\U0001d11e"] * text.count(
            "\U0001d11e"
        )
