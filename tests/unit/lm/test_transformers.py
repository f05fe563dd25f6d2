"""A model of transformers itself, created and trained for a moment here; skipped if that library is
not installed.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

import ngramdb
from ngramdb.errors import InvalidArgument
from ngramdb.lm import CorpusLogits, Interpolation, interpolate, neural_probabilities

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

WINDOW = 16


@pytest.fixture(scope="module")
def corpus():
    made = ngramdb.connect().create_corpus("w")
    rng = np.random.default_rng(3)
    parts = (
        ["the cat", "a dog", "the old man"],
        ["saw", "heard", "met"],
        ["us .", "them .", "a bird ."],
    )
    made.append([" ".join(rng.choice(words) for words in parts) for _ in range(60)])
    return made


@pytest.fixture(scope="module")
def bos(corpus):
    return corpus.tokenizer.n_vocabulary


@pytest.fixture(scope="module")
def causal(corpus, bos):
    torch.manual_seed(0)
    shape = transformers.GPT2Config(
        vocab_size=bos + 1,
        n_positions=WINDOW,
        n_embd=16,
        n_layer=1,
        n_head=2,
        bos_token_id=bos,
        eos_token_id=bos,
    )
    model = transformers.GPT2LMHeadModel(shape)
    steps = torch.optim.Adam(model.parameters(), lr=0.01)
    for row in corpus.docs(limit=30).to_dicts():
        batch = torch.tensor([[bos, *corpus.tokenizer.encode(row["text"]).tolist()]])
        steps.zero_grad()
        model(input_ids=batch, labels=batch).loss.backward()
        steps.step()
    return model  # in training still, as its maker may leave it


def held_out(corpus):
    return np.concatenate(
        [corpus.tokenizer.encode(f"the cat {verb} them .") for verb in ("met", "saw", "heard")]
    )


def test_probabilities_are_the_models_own(corpus, causal, bos):
    ids = held_out(corpus)
    own = copy.deepcopy(causal).eval()
    with torch.no_grad():
        logits = own(input_ids=torch.tensor([[bos, *ids.tolist()]])).logits[0].double()
    expected = torch.softmax(logits, -1)[torch.arange(len(ids)), torch.tensor(ids.tolist())].numpy()
    assert len(ids) < WINDOW
    assert neural_probabilities(causal, ids, bos=bos) == pytest.approx(expected, rel=1e-5)
    assert causal.training  # as it was
    long = np.tile(ids, 4)  # more than the model reads at a time
    probs = neural_probabilities(causal, long, bos=bos)
    first = neural_probabilities(causal, long[: WINDOW - 1], bos=bos)
    assert probs[: WINDOW - 1] == pytest.approx(first)
    assert ((probs > 0) & (probs < 1)).all()
    with pytest.raises(InvalidArgument, match=f"ids 0 to {bos}, but not {bos + 5}"):
        neural_probabilities(causal, [bos + 5], bos=bos)


def test_the_mixture_is_better_than_the_neural_model(corpus, causal, bos):
    ids = held_out(corpus)
    scores = corpus.language_model("infgram").score(ids)
    neural = neural_probabilities(causal, ids, bos=bos)
    mixture = interpolate(scores, neural)
    assert mixture.perplexity(scores, neural) < np.exp(-np.log(neural).mean())


def test_generation_follows_the_corpus_where_its_weight_is_one(corpus, causal, bos):
    model = copy.deepcopy(causal).eval()
    processor = CorpusLogits(
        corpus.language_model("infgram"), Interpolation(1.0, 1.0), eos=bos, prompt=(bos,)
    )
    prompts = torch.tensor([[bos, *corpus.tokenizer.encode(text).tolist()] for text in ("the cat", "a dog")])
    made = model.generate(
        prompts,
        attention_mask=torch.ones_like(prompts),
        max_new_tokens=8,
        do_sample=True,
        pad_token_id=bos,
        logits_processor=transformers.LogitsProcessorList([processor]),
    )
    known = {row["text"] for row in corpus.docs(limit=60).to_dicts()}
    for row in made.tolist():
        assert corpus.tokenizer.decode([token for token in row if token != bos]) in known


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_scores_stay_tensors_of_their_type(corpus, bos, dtype):
    ids = torch.tensor([corpus.tokenizer.encode("the cat").tolist()])
    scores = torch.zeros((1, bos + 1), dtype=dtype)
    mixed = CorpusLogits(corpus.language_model("kneser_ney"))(ids, scores)
    assert mixed.dtype == dtype and mixed.shape == scores.shape
    assert float(mixed.float().exp().sum()) == pytest.approx(1, rel=0.02)
