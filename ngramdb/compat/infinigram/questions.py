"""Counts and probabilities of token ids that may include the separator of documents.

The separator is not a token here: at an n-gram's start it is a document's beginning, at its end a document's
end. Elsewhere it would join two documents that happened to be written one after the other, which is refused.
The empty n-gram counts each document's separator, as in the peer.
"""

from __future__ import annotations

from typing import Any

from ngramdb.compat.infinigram.opening import Refused
from ngramdb.fork_safety import cached_property
from ngramdb.lm import BEGIN, END, InfGram, LanguageModel, NGram, make


class Questions:
    """Queries on a corpus by ids. `separator` is the id between documents, `eos` that of a document's end."""

    def __init__(self, view: Any, separator: int, eos: int) -> None:
        self._view = view
        self._index = view.index
        self._separator = separator
        self._eos = eos

    @property
    def n_stream(self) -> int:
        """Tokens, and a separator for each document."""
        return int(self._view.n_tokens + self._view.n_documents)

    def count(self, ids: list[int]) -> int:
        """Return the number of the n-gram's occurrences."""
        if not ids:
            return self.n_stream
        if self._separator not in ids:
            return int(self._index.count(ids))
        if ids == [self._separator]:
            return int(self._view.n_documents)
        tokens = self._between(ids)
        return self._ngram.prob(tokens[:-1], tokens[-1]).cont_count

    def after(self, prompt: list[int], token: int, *, infgram: bool) -> tuple[int, int, int]:
        """Count the context (infgram: its longest suffix that occurs) and both, and return its length."""
        if self._separator in prompt:
            model = self._infgram if infgram else self._ngram
            found = model.prob(self._context(prompt, infgram), END if token == self._separator else token)
            used = found.effective_n - 1
            if token == self._eos:
                ends = model.prob(self._context(prompt, infgram), END)
                return found.context_count, found.cont_count + ends.cont_count, used
            return found.context_count, found.cont_count, used
        n_after, n_context, effective_n, _ = self._index.prob(prompt, token, infgram, 0)
        used = effective_n - 1
        if token in (self._separator, self._eos):
            _, _, n_end, n_context, used = self._index.dist(prompt, infgram, 0)
            n_after += n_end if used else 0
        if used == 0 and (infgram or not prompt):
            return self.n_stream, self._alone(token), 0
        return n_context, n_after, len(prompt) if not infgram else used

    def _alone(self, token: int) -> int:
        ends = self._view.n_documents if token in (self._separator, self._eos) else 0
        return int(ends + (0 if token == self._separator else self._index.count([token])))

    def next_tokens(self, prompt: list[int], *, infgram: bool) -> tuple[int, dict[int, int], int]:
        """Count the context (its longest suffix) and each next token, and return the context's length.

        A document's end is `eos`.
        """
        if self._separator in prompt:
            model = self._infgram if infgram else self._ngram
            found = model.dist(self._context(prompt, infgram))
            counts = [] if found.counts is None else found.counts.tolist()
            pairs = zip(found.ids.tolist(), counts, strict=True)
            n_context, used, n_end = found.context_count, found.effective_n - 1, 0
            by_token = {self._eos if token == END else token: count for token, count in pairs}
            return n_context, dict(sorted(by_token.items())), used
        ids, numbers, n_end, n_context, used = self._index.dist(prompt, infgram, 0)
        if used == 0 and (infgram or not prompt):
            n_context, n_end = self.n_stream, self._view.n_documents
        if not infgram and used < len(prompt):
            return 0, {}, len(prompt)
        by_token = dict(zip(ids.tolist(), numbers.tolist(), strict=True))
        if n_end:
            by_token[self._eos] = by_token.get(self._eos, 0) + int(n_end)
            by_token = dict(sorted(by_token.items()))
        return int(n_context), by_token, int(used)

    # ---- separators -------------------------------------------------------------------------------------

    @cached_property
    def _ngram(self) -> LanguageModel:
        return make(NGram(), self._view)

    @cached_property
    def _infgram(self) -> LanguageModel:
        return make(InfGram(), self._view)

    def _between(self, ids: list[int]) -> list[int]:
        begins, ends = ids[0] == self._separator, ids[-1] == self._separator
        core = ids[int(begins) : len(ids) - int(ends)]
        if self._separator in core:
            raise Refused("an n-gram that reaches from one document into another is not counted")
        return [*([BEGIN] if begins else []), *core, *([END] if ends else [])]

    def _context(self, prompt: list[int], infgram: bool) -> list[int]:
        last = len(prompt) - 1 - prompt[::-1].index(self._separator)
        if last > 0 and not infgram:
            raise Refused("an n-gram that reaches from one document into another is not counted")
        return [BEGIN, *prompt[last + 1 :]]
