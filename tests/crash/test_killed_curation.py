"""A plan of curation that is killed again and again, and run again each time, ends in the same state."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time

import pytest

import ngramdb

CURATE = (
    "import sys; from ngramdb.cli.main import main; print('ready', flush=True); sys.exit(main(sys.argv[1:]))"
)


@pytest.fixture
def start(tmp_path):
    """A database of documents with copies, and a plan that has every kind of step."""
    path = tmp_path / "start.ngdb"
    rng = random.Random(2)
    words = [f"w{i}" for i in range(300)]
    texts = [" ".join(rng.choices(words, k=rng.randint(5, 40))) for _ in range(300)]
    texts += rng.choices(texts, k=60) + [f"{text} {text}" for text in rng.choices(texts, k=30)]
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("c")
        for k in range(0, len(texts), 100):
            corpus.append([{"text": text, "id": k + i} for i, text in enumerate(texts[k : k + 100])])
    (tmp_path / "exam.txt").write_text("\n".join(texts[:9]) + "\n")
    scores = [json.dumps({"id": i, "edu": i % 5}) for i in range(len(texts))]
    (tmp_path / "scores.jsonl").write_text("\n".join(scores) + "\n")
    steps = [
        {"fields": {"table": str(tmp_path / "scores.jsonl"), "on": "id"}},
        {"delete": "edu = 3"},
        {"delete_duplicates": {"keep_by": "edu", "descending": True}},
        "delete_near_duplicates",
        {"decontaminate": {"against": str(tmp_path / "exam.txt"), "by": "palm"}},
        {"statement": 'DELETE DOCS WHERE "w7 w8" OR "w9"'},
        {"export": str(tmp_path / "out.jsonl")},
    ]
    (tmp_path / "plan.json").write_text(json.dumps({"corpus": "c", "steps": steps}))
    return path


def state(path):
    """All documents that are left, those that were removed, and the findings of CHECK."""
    with ngramdb.connect(path, read_only=True) as db:
        assert db.execute("CHECK").fetchall() == []
        corpus = db.corpus("c")
        removed = [(one.doc_id, one.details) for one in corpus.removed_documents()]
        return corpus.docs().fetchall(), removed


def test_a_plan_that_is_killed_ends_as_if_it_had_not_been(tmp_path, start):
    whole, path = tmp_path / "whole.ngdb", tmp_path / "killed.ngdb"
    shutil.copytree(start, whole)
    shutil.copytree(start, path)
    with ngramdb.connect(whole) as db:
        ngramdb.curate(db, tmp_path / "plan.json")
    exported = (tmp_path / "out.jsonl").read_text()
    (tmp_path / "out.jsonl").unlink()
    command = [sys.executable, "-c", CURATE, "curate", str(path), str(tmp_path / "plan.json")]
    rng, seen = random.Random(4), set()
    for _ in range(14):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "ready\n"
        # However long the machine takes: after some of the steps, and a moment.
        n_left = rng.choice((1, 2, 3))
        while n_left and (line := child.stdout.readline()):
            n_left -= '"done_before": false' in line
        time.sleep(rng.uniform(0.0, 0.06))
        if child.poll() is not None:
            break
        child.kill()
        child.communicate()
        seen.add(len(state(path)[0]))
    child.communicate()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr.startswith("c: 7 steps, ")
    assert state(path) == state(whole)
    assert (tmp_path / "out.jsonl").read_text() == exported
    assert len(seen) > 2
