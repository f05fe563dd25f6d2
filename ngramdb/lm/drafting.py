"""Drafts for speculative decoding: trees of likely continuations, which a larger model checks in one step.

They come from a corpus and from the text of a request itself. REST (He et al. 2024) drafts from a suffix
array in this way, and SuffixDecoding (Oliaro et al. 2025) from the request's own text; here both are one
tree, the more confident of them first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ngramdb._cext.corpus.drafts import DraftState
from ngramdb.errors import InvalidArgument, NotSupportedError
from ngramdb.lm.guarding import checked_corpus
from ngramdb.lm.values import UNKNOWN
from ngramdb.types import token_ids

# On text that is new, 16 tokens at most: 10 are proposed and 0.53 of them right; with 0.1, 2 and 0.34.
LEAST_PROB = 0.02
# A draft has at most as many tokens.
MOST_TOKENS = 1 << 16


class DraftTree(NamedTuple):
    """A tree of tokens, parents before their children.

    Attributes
    ----------
    ids : token ids
    parents : of each token the place of the token before it, \N{MINUS SIGN}1 for the text's end
    probs : estimates of the probability that the token and all before it are right
    score : their sum, the expected number of right tokens if one path is followed
    match_length : tokens of the longest suffix of the text that occurs, in the corpus or earlier in the text
    """

    ids: list[int]
    parents: list[int]
    probs: list[float]
    score: float
    match_length: int

    def line(self) -> list[int]:
        """Return the most probable continuation, for decoders that check no trees."""
        path: list[int] = []
        place = -1
        for i, (token, parent) in enumerate(zip(self.ids, self.parents, strict=True)):
            if parent == place:  # children come in the order of their probabilities
                path.append(token)
                place = i
        return path


class Drafter:
    """Drafts continuations of texts that grow, one for each request to a server.

        drafter = Drafter(corpus)
        drafter.start("a", prompt_ids)
        tree = drafter.propose("a", n=16)
        drafter.append("a", accepted_ids)
        drafter.finish("a")

    A token that follows c of n occurrences of a suffix of k tokens is expected with the probability c / (n +
    8 / 2^(k/3)). Equal texts have equal drafts. It stays at the version of the corpus that was current when
    it was made. Threads may work on different requests at the same time.

    Parameters
    ----------
    corpus : an `ngramdb.Corpus` with the token ids of the larger model
    where, params : draft from the documents that meet this condition, as `Corpus.where`
    prompt : draft from the text of the request, too
    least_prob : the least probability of a draft's tokens, counted from the text's end
    least_count : drafts use n-grams of the corpus that occur this often

    Notes
    -----
    Cost: microseconds per proposed token; memory for a request grows with its tokens, some 120 bytes each.
    """

    def __init__(
        self,
        corpus: Any,
        where: str | None = None,
        prompt: bool = True,
        least_prob: float = LEAST_PROB,
        least_count: int = 1,
        *,
        params: Any = None,
    ) -> None:
        is_number = isinstance(least_prob, (int, float)) and not isinstance(least_prob, bool)
        if not (is_number and 0 <= least_prob <= 1):
            raise InvalidArgument(f"least_prob must be a number from 0 to 1, not {least_prob!r}")
        matcher = checked_corpus(corpus).matcher(least_count=least_count, where=where, params=params)
        self._index = matcher.index
        self.prompt = bool(prompt)
        self.least_prob = float(least_prob)
        self.least_count = matcher.least_count
        self._states: dict[Any, DraftState] = {}

    def start(self, request: Any, prompt_ids: ArrayLike = ()) -> None:
        """Begin a request, or begin it again.

        Parameters
        ----------
        request : its name, anything that can be a key of a dict
        prompt_ids : the token ids of its prompt
        """
        state = DraftState(self._index, self.prompt, self.least_count)
        _append(state, prompt_ids)
        self._states[request] = state

    def append(self, request: Any, ids: ArrayLike) -> None:
        """Append token ids to the text of a request."""
        _append(self._state(request), ids)

    def propose(self, request: Any, n: int = 16) -> DraftTree:
        """Return a draft of at most n tokens for a request, none if nothing is likely enough."""
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise InvalidArgument(f"n must be a whole number of at least 0, not {n!r}")
        most = min(int(n), MOST_TOKENS)
        ids, parents, probs, of_corpus, of_text = self._state(request).propose(most, self.least_prob)
        return DraftTree(ids, parents, probs, sum(probs), max(of_corpus, of_text))

    def n_tokens(self, request: Any) -> int:
        """Return the number of tokens of a request's text."""
        return self._state(request).match.n_tokens

    def finish(self, request: Any) -> None:
        """Forget a request; one that is not known is ignored."""
        self._states.pop(request, None)

    def __len__(self) -> int:
        return len(self._states)

    def __repr__(self) -> str:
        return f"<Drafter for {len(self):,} requests>"

    def __reduce__(self) -> Any:
        raise NotSupportedError("a drafter reads its corpus's files and cannot be pickled; make one there")

    def _state(self, request: Any) -> DraftState:
        state = self._states.get(request)
        if state is None:
            raise InvalidArgument(f"request {request!r} has not been started, or is finished")
        return state


def _append(state: DraftState, ids: ArrayLike) -> None:
    try:
        state.append(ids)
    except (TypeError, ValueError):
        token_ids(ids, UNKNOWN)  # names the invalid token
        raise
