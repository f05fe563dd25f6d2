"""Drafts for inference engines: the interfaces of transformers, vLLM and SGLang, over `Drafter`.

None of them is imported here. Each class names the version of the interface that it was written against.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import InvalidArgument
from ngramdb.lm.drafting import Drafter

# The method of a model of transformers that returns the generator of candidates.
_GENERATOR = "_get_candidate_generator"


class _Texts:
    """Keeps the texts of requests in step with what an engine shows of them."""

    def __init__(self, drafter: Drafter) -> None:
        self.drafter = drafter
        self._known: dict[Any, list[int]] = {}

    def follow(self, request: Any, ids: list[int]) -> None:
        """Make this the text of a request: read what is new, or all if it is another text."""
        known = self._known.get(request)
        if known is None or ids[: len(known)] != known:
            self.drafter.start(request, ids)
        else:
            self.drafter.append(request, ids[len(known) :])
        self._known[request] = ids

    def forget(self, requests: Sequence[Any]) -> None:
        for request in requests:
            self.drafter.finish(request)
            self._known.pop(request, None)


class DraftCandidates:
    """A `CandidateGenerator` of transformers (5.24), for assisted generation.

        candidates = DraftCandidates(Drafter(corpus), n=16, eos=tokenizer.eos_token_id)
        with candidates.used_by(model):
            model.generate(**inputs, do_sample=False)

    Transformers checks one line at a time and not a tree, so that the most probable path is proposed.

    Parameters
    ----------
    drafter : over a corpus with the model's token ids
    n : the greatest number of tokens of a draft
    eos : a token at which a draft ends, before it
    """

    requires_model_outputs = False

    def __init__(self, drafter: Drafter, n: int = 16, eos: int | None = None) -> None:
        self.n = n
        self.eos = eos
        self._texts = _Texts(drafter)

    def get_candidates(self, input_ids: Any, **_: Any) -> tuple[Any, None]:
        """Return ids of (1, length) with a draft behind them, and no logits."""
        if input_ids.shape[0] != 1:
            raise InvalidArgument(f"assisted generation has one text at a time, not {input_ids.shape[0]}")
        ids = input_ids[0].tolist()
        self._texts.follow(self, ids)
        line = self._texts.drafter.propose(self, self.n).line()
        if self.eos in line:
            line = line[: line.index(self.eos)]
        if not line:
            return input_ids, None
        longer = input_ids.new_empty((1, len(ids) + len(line)))
        longer[0, : len(ids)] = input_ids[0]
        longer[0, len(ids) :] = input_ids.new_tensor(line)
        return longer, None

    def update_candidate_strategy(self, input_ids: Any, scores: Any, num_matches: int) -> None:
        """Do nothing: drafts do not depend on how many tokens were right before."""

    @contextmanager
    def used_by(self, model: Any) -> Iterator[DraftCandidates]:
        """Make `model.generate` use these candidates within a `with` block.

        It sets `prompt_lookup_num_tokens`, which selects assisted generation, and replaces the generator of
        that mode.
        """
        config = model.generation_config
        before = config.prompt_lookup_num_tokens
        config.prompt_lookup_num_tokens = self.n
        setattr(model, _GENERATOR, lambda *_, **__: self)
        try:
            yield self
        finally:
            delattr(model, _GENERATOR)
            config.prompt_lookup_num_tokens = before
            self._texts.forget([self])


class DraftProposer:
    """A proposer for vLLM's `method="custom_class"` (vllm-project/vllm#39487, experimental; V1 model runner).

    A class of yours, which vLLM finds by its import path, opens the corpus:

        class Proposer(DraftProposer):
            def __init__(self, vllm_config):
                corpus = ngramdb.connect("web.ngdb", read_only=True).corpus("web")
                super().__init__(Drafter(corpus), vllm_config.speculative_config.num_speculative_tokens)

    `speculative_config={"method": "custom_class", "custom_proposer_backend": "mine.Proposer",
    "num_speculative_tokens": 8}` selects it. vLLM passes rows of a batch without names of requests: a row
    whose text is not a continuation of the one before is read from its beginning, at a microsecond or two per
    token.
    """

    def __init__(self, drafter: Drafter, n: int) -> None:
        self.n = n
        self._texts = _Texts(drafter)

    def propose(
        self,
        sampled_token_ids: Sequence[Sequence[int]],
        num_tokens_no_spec: Any,
        token_ids_cpu: Any,
        slot_mappings: Any = None,
    ) -> list[list[int]]:
        """Return a line of at most n tokens for each request, none for one without a sampled token."""
        found: list[list[int]] = []
        for row, sampled in enumerate(sampled_token_ids):
            if not len(sampled):  # its prompt is not read completely yet
                found.append([])
                continue
            self._texts.follow(row, np.asarray(token_ids_cpu[row, : int(num_tokens_no_spec[row])]).tolist())
            found.append(self._texts.drafter.propose(row, self.n).line())
        return found

    def load_model(self, *_: Any, **__: Any) -> None:
        """Do nothing: the index is mapped into memory when it is first used."""


class DraftCorpus:
    """The drafts of SGLang's algorithm NGRAM from a corpus: stands in for its `NgramCorpus`.

    Written against `NgramCorpus` of sgl-project/sglang at 02a3cd95 (`batch_get` with ids of requests). A
    worker that is registered by `SpeculativeAlgorithm.register` with a `CustomSpecAlgo` whose `is_ngram()` is
    true inherits from `NGRAMWorker`, and sets `self.ngram_corpus = DraftCorpus(drafter,
    self.draft_token_num)`.

    Parameters
    ----------
    drafter : over a corpus with the model's token ids
    draft_token_num : tokens of a tree, the last token of the text included
    """

    def __init__(self, drafter: Drafter, draft_token_num: int) -> None:
        self.drafter = drafter
        self.draft_token_num = draft_token_num
        self._n_known: dict[str, int] = {}

    def batch_get(
        self, req_ids: Sequence[str], batch_tokens: Sequence[Sequence[int]], total_lens: Sequence[int]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
        """Return trees for texts of which the last tokens are given.

        Returns
        -------
        ids : (k * draft_token_num,) : of each tree, the text's last token first, padded with 0
        masks : (k * draft_token_num ** 2,) : for each token, 1 for itself and those before it in the tree
        lengths : (k,) : of the longest match in the corpus or the text
        """
        n = self.draft_token_num
        ids = np.zeros((len(req_ids), n), dtype=np.int64)
        masks = np.zeros((len(req_ids), n, n), dtype=np.uint8)
        lengths = np.zeros(len(req_ids), dtype=np.int64)
        for i, (request, tokens, total) in enumerate(zip(req_ids, batch_tokens, total_lens, strict=True)):
            self._follow(request, tokens, total)
            tree = self.drafter.propose(request, n - 1)
            ids[i, 0], lengths[i] = tokens[-1], tree.match_length
            ids[i, 1 : 1 + len(tree.ids)] = tree.ids
            masks[i, :, 0] = 1
            masks[i, range(n), range(n)] = 1
            for place, parent in enumerate(tree.parents, start=1):
                masks[i, place] |= masks[i, parent + 1]
        return ids.ravel(), masks.ravel(), lengths

    def _follow(self, request: str, tokens: Sequence[int], total: int) -> None:
        n_new = total - self._n_known.get(request, total + 1)
        if 0 <= n_new <= len(tokens):
            self.drafter.append(request, list(tokens[len(tokens) - n_new :]))
        else:  # new, or more than was shown: the last tokens are what is known
            self.drafter.start(request, list(tokens))
        self._n_known[request] = total

    def batch_put(self, batch_tokens: Sequence[Sequence[int]]) -> None:
        """Do nothing: the corpus does not change, and the texts of requests are read in `batch_get`."""

    def synchronize(self) -> None:
        """Do nothing."""

    def erase_match_state(self, req_ids: Sequence[str]) -> None:
        """Forget requests."""
        for request in req_ids:
            self.drafter.finish(request)
            self._n_known.pop(request, None)

    def reset(self) -> None:
        """Forget all requests."""
        self.erase_match_state(list(self._n_known))
