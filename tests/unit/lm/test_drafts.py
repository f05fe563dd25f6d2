"""Drafts: trees against brute force, requests, and the interfaces of inference engines."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.errors import InvalidArgument, NotSupportedError
from ngramdb.lm import DraftCandidates, DraftCorpus, Drafter, DraftProposer


@pytest.fixture
def corpus():
    with ngramdb.connect() as db:
        made = db.create_corpus("c")
        made.append(["the cat sat on the mat", "the cat sat on the rug", "a dog sat in the sun"])
        yield made


def brute_tree(documents, text, n, least_prob, least_count, prompt):
    """Build the tree by counting substrings: letters and all paths."""

    def of_corpus(context):
        for length in range(len(context), 0, -1):
            suffix = context[len(context) - length :]
            if occurrences(documents, suffix) >= least_count:
                return length
        return 0

    length = of_corpus(text)
    own = max((k for k in range(len(text)) if text[len(text) - k :] in text[:-1]), default=0) if prompt else 0
    nodes, frontier = [], [("", 1.0, -1)]
    while True:
        path, prob, place = frontier.pop(0)
        for letter in "abcd":
            share = 0.0
            if length:
                before = text[len(text) - length :] + path
                n_before, n_after = occurrences(documents, before), occurrences(documents, before + letter)
                if n_before >= least_count and n_after >= least_count:
                    k = length + len(path)
                    share = n_after / (n_before + 8 * 2 ** (-k / 3))
            if own:
                before = text[len(text) - own :] + path
                # Occurrences may end with the text, but its last tokens do not count as one.
                ends = [i for i in range(len(text) + bool(path)) if text[:i].endswith(before)]
                if ends:
                    k = own + len(path)
                    n_after = sum(text[i : i + 1] == letter for i in ends)
                    share = max(share, n_after / (len(ends) + 8 * 2 ** (-k / 3)))
            if prob * share >= least_prob and share > 0:
                frontier.append((path + letter, prob * share, place))
        if not frontier or len(nodes) == n:
            return nodes
        frontier.sort(key=lambda item: -item[1])
        best = frontier[0]
        nodes.append((best[0], best[1]))
        frontier[0] = (best[0], best[1], len(nodes) - 1)
        if len(nodes) == n:
            return nodes


def occurrences(documents, part):
    return sum(document[i:].startswith(part) for document in documents for i in range(len(document)))


def paths(tree):
    found = []
    for token, parent, prob in zip(tree.ids, tree.parents, tree.probs, strict=True):
        found.append(((found[parent][0] if parent >= 0 else "") + chr(token), prob))
    return found


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.text("abcd", min_size=1, max_size=12), min_size=1, max_size=6),
    st.text("abcd", min_size=1, max_size=14),
    st.sampled_from([0.05, 0.1, 0.3]),
    st.integers(1, 2),
    st.booleans(),
)
def test_trees_are_those_of_brute_force(documents, text, least_prob, least_count, prompt):
    with ngramdb.connect() as db:
        db.settings["auto_compact"] = False
        corpus = db.create_corpus("a", tokenizer="bytes")
        corpus.append([{"text": document, "kept": True} for document in documents[::2]])
        corpus.append([{"text": "abcdabcd", "kept": False}])
        corpus.append([{"text": document, "kept": True} for document in documents[1::2]])
        corpus.delete("kept = false")
        drafter = Drafter(corpus, prompt=prompt, least_prob=least_prob, least_count=least_count)
        drafter.start("x", list(text.encode()))
        tree = drafter.propose("x", 200)
        expected = brute_tree(documents, text, 200, least_prob, least_count, prompt)
        found = paths(tree)
        assert sorted(path for path, _ in found) == sorted(path for path, _ in expected)
        assert np.allclose(sorted(prob for _, prob in found), sorted(prob for _, prob in expected))
        assert tree.probs == sorted(tree.probs, reverse=True)
        assert abs(tree.score - sum(tree.probs)) < 1e-9
        few = drafter.propose("x", 3)
        assert (few.ids, few.parents) == (tree.ids[:3], tree.parents[:3])


def words(corpus, ids):
    return corpus.tokenizer.decode(np.array(ids, dtype=np.int64))


def test_a_draft_of_the_corpus_and_of_the_text(corpus):
    drafter = Drafter(corpus)
    drafter.start(1, corpus.tokenizer.encode("the cat sat"))
    tree = drafter.propose(1, 8)
    assert [words(corpus, [token]) for token in tree.ids] == ["on", "the", "mat", "rug"]
    assert (tree.parents, tree.match_length) == ([-1, 0, 1, 1], 3)
    assert words(corpus, tree.line()) == "on the mat"
    drafter.start(2, corpus.tokenizer.encode("on the sun on the"))
    assert words(corpus, drafter.propose(2).line()[:1]) == "sun"
    drafter.append(2, int(corpus.tokenizer.encode("rug")[0]))
    assert drafter.n_tokens(2) == 6
    assert Drafter(corpus, prompt=False, least_prob=1).least_prob == 1.0
    assert len(drafter) == 2
    drafter.finish(2)
    for call in (lambda: drafter.propose(2), lambda: drafter.append(2, [1]), lambda: drafter.propose(1, -1)):
        with pytest.raises(InvalidArgument):
            call()
    with pytest.raises(InvalidArgument, match="least_prob"):
        Drafter(corpus, least_prob=2)


def test_drafts_of_some_documents(corpus):
    drafter = Drafter(corpus, where="doc_id > 1")
    drafter.start(1, corpus.tokenizer.encode("the cat sat"))
    assert words(corpus, drafter.propose(1).line()) == "in the"


class Tensor(np.ndarray):
    """As much of a tensor as the adapter uses."""

    def new_empty(self, shape):
        return np.empty(shape, dtype=self.dtype).view(Tensor)

    def new_tensor(self, values):
        return np.array(values, dtype=self.dtype).view(Tensor)


def test_candidates_for_transformers(corpus):
    candidates = DraftCandidates(Drafter(corpus), n=3, eos=int(corpus.tokenizer.encode("mat")[0]))
    ids = np.array([corpus.tokenizer.encode("the cat sat")]).view(Tensor)
    found, logits = candidates.get_candidates(ids)
    assert (words(corpus, found[0]), logits, found.dtype) == ("the cat sat on the", None, ids.dtype)
    candidates.update_candidate_strategy(found, None, 2)
    longer = np.array([[*found[0], corpus.tokenizer.encode("x")[0]]]).view(Tensor)
    assert candidates.get_candidates(longer)[0] is longer
    with pytest.raises(InvalidArgument, match="one text at a time"):
        candidates.get_candidates(np.zeros((2, 3), dtype=np.int64).view(Tensor))


def test_a_model_of_transformers_uses_candidates_for_a_while(corpus):
    class Model:
        generation_config = SimpleNamespace(prompt_lookup_num_tokens=None)

        def _get_candidate_generator(self, generation_config):
            return generation_config

    model, candidates = Model(), DraftCandidates(Drafter(corpus), n=3)
    with candidates.used_by(model):
        assert model._get_candidate_generator(generation_config=1) is candidates
        assert model.generation_config.prompt_lookup_num_tokens == 3
    assert model._get_candidate_generator(generation_config=1) == 1
    assert model.generation_config.prompt_lookup_num_tokens is None


def test_a_proposer_for_vllm(corpus):
    proposer = DraftProposer(Drafter(corpus), 2)
    rows = np.zeros((2, 10), dtype=np.int32)
    texts = ["a dog", "the cat"]
    for row, text in enumerate(texts):
        rows[row, :2] = corpus.tokenizer.encode(text)
    found = proposer.propose([[rows[0, 1]], []], np.array([2, 2]), rows)
    assert ([words(corpus, line) for line in found], found[1]) == (["sat in", ""], [])
    rows[0, 2:4] = found[0]
    rows = rows[::-1].copy()  # the engine moves rows
    found = proposer.propose([[1], [1, 2]], np.array([2, 4]), rows)
    assert [words(corpus, line) for line in found] == ["sat on", "the sun"]


def test_trees_for_sglang(corpus):
    n = 6
    trees = DraftCorpus(Drafter(corpus), n)
    text = corpus.tokenizer.encode("the cat sat").tolist()
    for _ in range(2):  # once new, once known
        ids, masks, lengths = trees.batch_get(["a", "b"], [text, [text[0]]], [3, 1])
        ids, masks = ids.reshape(2, n), masks.reshape(2, n, n)
        assert [words(corpus, [token]) for token in ids[0, :5]] == ["sat", "on", "the", "mat", "rug"]
        assert masks[0].tolist() == [
            [1, 0, 0, 0, 0, 0],
            [1, 1, 0, 0, 0, 0],
            [1, 1, 1, 0, 0, 0],
            [1, 1, 1, 1, 0, 0],
            [1, 1, 1, 0, 1, 0],
            [1, 0, 0, 0, 0, 1],  # padding: the token 0 after the text
        ]
        assert lengths.tolist() == [3, 1]
    on, the = ids[0, 1:3].tolist()
    ids, _, lengths = trees.batch_get(["a"], [[*text, on, the][-2:]], [5])
    assert (lengths.tolist(), words(corpus, ids[1:3])) == ([5], "mat rug")
    trees.batch_put([[1]])
    trees.synchronize()
    trees.reset()
    assert len(trees.drafter) == 0


def test_arguments_of_drafters_are_checked(corpus):
    drafter = Drafter(corpus, least_count=10**30)
    assert repr(drafter) == "<Drafter for 0 requests>"
    for ids in ([-5], [2**32], "text", None, [1.5]):
        with pytest.raises(InvalidArgument):
            drafter.start("a", ids)
    drafter.start("a", [1])
    assert drafter.propose("a", 10**30).ids == []
    with pytest.raises(InvalidArgument, match=r"must be an ngramdb\.Corpus, not NoneType"):
        Drafter(None)
    with pytest.raises(NotSupportedError):
        pickle.dumps(drafter)
