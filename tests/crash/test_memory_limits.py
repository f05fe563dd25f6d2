"""Memory of statements at their worst inputs: a small multiple of memory_limit, or a ResourceError."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

LIMIT = 16 << 20
# A token of an answer counts 12 bytes, and takes up to 60 as a Python object and in a text. The allocator
# keeps some memory.
MOST = 10 * LIMIT

CHILD = """
import json, random, resource, sys
import ngramdb
db = ngramdb.connect()
corpus = db.create_corpus("c", tokenizer="bytes")
letters = random.Random(1)
text = "".join(letters.choice("abcdefghij") for _ in range(100_000))
corpus.append([{"text": text, "k": 1}, {"text": "b" * 1000, "k": 2}, {"text": text[:50_000], "k": 3}])
db.execute('COUNT DOCS WHERE "a"').fetchall()
db.execute(f"SET memory_limit = {sys.argv[1]}")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    outcome = len(db.execute(sys.argv[2], json.load(sys.stdin)).fetchall())
except ngramdb.ResourceError as error:
    outcome = type(error).__name__
except MemoryError as error:
    outcome = "a library's error"
print(json.dumps([outcome, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024]))
"""

REFUSED = [
    ("NGRAMS 20000", []),
    ("NGRAMS 20000 WHERE k = 1", []),
    ("NGRAMS 20000 TOP 1000", []),
    ("NGRAMS 1000 WITH DOCS", []),
    ("NGRAMS 1000 IGNORE CASE", []),
    ('NGRAMS 200 CONTAINING "a"', []),
    ("NGRAMS 1..400", []),
    ("KEYWORDS WHERE k = 1 AGAINST REST NGRAMS 1000", []),
    ("COUNT *{50} GROUP BY FORM", []),
    ("COUNT /[a-z]/ GROUP BY FORM", []),
    ("COUNT /[a-z]/ GROUP BY RIGHT 1", []),
    ("COUNT DOCS WHERE k IN ?", [list(range(300_000))]),
]
ANSWERED = [
    ("NGRAMS 20000 TOP 3", [], 3),
    ("NGRAMS 1000 WITH DOCS TOP 3", [], 3),
    ('NGRAMS 200 CONTAINING "a" TOP 3', [], 3),
    ("NGRAMS 1..400 TOP 3", [], 3),
    ("KEYWORDS WHERE k = 1 AGAINST REST NGRAMS 1000 TOP 3", [], 3),
    ("COUNT ? GROUP BY FORM", ["b" * 500], 1),
]


def measured(statement, parameters):
    """Return the number of rows or the name of the error, and the growth of the process in bytes."""
    command = [sys.executable, "-c", CHILD, str(LIMIT), statement]
    child = subprocess.run(
        command, input=json.dumps(parameters), capture_output=True, text=True, timeout=300, check=False
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


@pytest.mark.parametrize(("statement", "parameters"), REFUSED)
def test_an_answer_above_the_limit_is_refused_before_it_takes_memory(statement, parameters):
    outcome, grown = measured(statement, parameters)
    assert (outcome, grown < MOST) == ("ResourceError", True), grown


@pytest.mark.parametrize(("statement", "parameters", "n_rows"), ANSWERED)
def test_a_small_answer_from_large_intermediate_results_stays_within_the_limit(statement, parameters, n_rows):
    outcome, grown = measured(statement, parameters)
    assert (outcome, grown < MOST) == (n_rows, True), grown
