"""Statements of curation on corpora of nothing but repetitions: no quadratic time, and an end on request."""

from __future__ import annotations

import pytest
from support.polls import cpu_below, is_stopped, n_polls

import ngramdb

PERIOD = "one two three four five six seven "
N = 150_000
#: Each has up to 200,000 tokens: a cost that grows with the square of their number takes minutes.
CORPORA = {
    "equal documents": [" ".join(f"w{i}" for i in range(60))] * 1000,
    "one token": ["a " * N, "a " * (N // 3)],
    "equal lines": ["the same line\n" * (N // 2), "the same line\n" * 1000],
    "a period": [PERIOD * (N // 7), PERIOD * 1000],
}
SEARCHES = [
    "DUPLICATES",
    "DUPLICATES LENGTH >= 50 BYTES BY DOCUMENTS",
    "DUPLICATES LENGTH >= 3 MIN COUNT 3 WHERE doc_id >= 0 BY LENGTH",
    "DUPLICATES AGAINST other ORDER BY count LIMIT 3",
    "NEAR DUPLICATES",
    "NEAR DUPLICATES CONTAINED >= 0.5 NGRAM 2 WORDS CANDIDATES MINHASH AGAINST other WITH REJECTED",
    "COUNT DOCS WHERE DUP_NGRAM_SHARE(5) > 0.9 OR DUP_NGRAM_SHARE(5 AS datatrove) > 0.9",
    "COUNT DOCS WHERE TOP_NGRAM_SHARE(2) > 0.99 OR TOP_NGRAM_SHARE(2 AS datatrove) > 0.99",
    "COUNT DOCS WHERE DUP_LINE_SHARE() > 0.99 OR DUP_LINE_SHARE(AS datatrove) > 0.99",
    "COUNT DOCS WHERE LOOP_SHARE(13) > 2 OR SHARE_SEEN(13, 2) > 2 OR LONGEST_SEEN() < 2",
    r"COUNT TEXT ~ /(a|a|e)*b/",
    r"COUNT TEXT ~ /(?s).*e.*e.*a.*q/",
    r"COUNT TEXT ~ /((\w| |\w\s){1,9}){1,9}!/",
    r"COUNT TEXT ~ /(\w+\s?)+$/",
    r"COUNT DOCS WHERE TEXT ~ EMAIL OR TEXT ~ PHONE",
]
CHANGES = [
    "DELETE DUPLICATES",
    "DELETE DUPLICATES NORMALIZE CASE, SPACE, NFC AGAINST other",
    "DELETE NEAR DUPLICATES",
    "CUT DUPLICATES",
    "CUT DUPLICATES LENGTH >= 5 KEEP NONE",
    "CUT DUPLICATES LENGTH >= 100 BYTES GAP SHARE 0.9 ON WORDS",
    "CUT DUPLICATES MIN COUNT 3 KEEP BY doc_id DESC AGAINST other ON LINES MIN REST 0.2 MAX PIECES 9",
    r"CUT SPANS WHERE TEXT ~ /a|e/",
    r'CUT SPANS WHERE "a" OR "the" OR "one" CONTEXT 1',
]


@pytest.fixture(scope="module", params=CORPORA)
def start(request, tmp_path_factory):
    """A database whose corpus `c` has two segments."""
    texts = CORPORA[request.param]
    with ngramdb.connect() as db:
        db.settings["auto_compact"] = False
        corpus = db.create_corpus("c")
        for part in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
            corpus.append(part)
        db.create_corpus("other").append(texts[-1:])
        db.execute("USE c")
        yield db


@pytest.mark.parametrize("statement", SEARCHES)
def test_a_search_takes_linear_time_and_stops(start, statement):
    def run():
        start.execute(statement).fetchall()

    with cpu_below(20):
        n = n_polls(run)
    assert all(is_stopped(run, polls) for polls in (1, n // 2))


@pytest.mark.parametrize("statement", CHANGES)
def test_a_change_takes_linear_time_and_stops(start, statement):
    before, version = start.execute("COUNT DOCS").fetchone(), start.version

    def run():
        start.execute(statement).fetchall()

    with cpu_below(20):
        n = n_polls(run)
    changed = start.version
    if changed != version:
        start.corpus("c").restore(version)
        assert start.execute("COUNT DOCS").fetchone() == before
    version = start.version
    assert all(is_stopped(run, polls) for polls in (1, n // 2))
    assert start.version == version
