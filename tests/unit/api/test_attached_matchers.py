"""Matchers, guards and drafts over infini-gram's indexes, beside a corpus of the same documents."""

from __future__ import annotations

import numpy as np
import pytest
from support.foreign_indexes import write_infini_gram

import ngramdb
from ngramdb.lm import Drafter, Guard


@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize("model", [None, "kneser_ney order 3"])
def test_an_attached_index_answers_as_a_corpus(tmp_path, version, model):
    rng = np.random.default_rng(version)
    documents = [rng.integers(0, 5, rng.integers(1, 30)).tolist() for _ in range(40)]
    write_infini_gram(tmp_path / "index", documents, np.uint16, 2, version=version)
    text = rng.integers(0, 6, 120).tolist()
    with ngramdb.connect() as db:
        db.execute(f"ATTACH '{tmp_path / 'index'}' AS pile (TYPE infini_gram, VERSION {version})")
        own = db.create_corpus("own", "tokens")
        own.append([{"ids": document} for document in documents[:20]])
        own.append([{"ids": document} for document in documents[20:]])
        pile = db.corpus("pile")
        matchers = [corpus.matcher(model=model) for corpus in (pile, own)]
        guards = [Guard(corpus, longest=3) for corpus in (pile, own)]
        drafters = [Drafter(corpus) for corpus in (pile, own)]
        for drafter in drafters:
            drafter.start(1)
        for token in text:
            states = []
            for matcher, guard, drafter in zip(matchers, guards, drafters, strict=True):
                prob = matcher.prob(token)
                matcher.append(token)
                guard.append(token)
                drafter.append(1, token)
                after = matcher.next()
                state = [matcher.length, matcher.count, after.ids.tolist(), after.probs.tolist(), guard.runs]
                states.append([prob, *state, guard.forbidden().tolist(), drafter.propose(1, 12)])
            assert states[0] == states[1]
        assert guards[0].runs
