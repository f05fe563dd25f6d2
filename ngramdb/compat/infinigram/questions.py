"""Questions about token ids that may include the separator of documents, and methods that give documents.

The separator is not a token here: at an n-gram's start it is a document's beginning, at its end a document's
end. Elsewhere it would join two documents that happened to be written one after the other, which is refused.
The empty n-gram counts each document's separator, as in the peer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from ngramdb.compat.infinigram import opening
from ngramdb.compat.infinigram.documents import Documents, kept, matches
from ngramdb.compat.infinigram.opening import (
    CountAnswer,
    DocAnswer,
    FindCnfAnswer,
    Refused,
    SearchAnswer,
    answers_errors,
)
from ngramdb.fork_safety import cached_property
from ngramdb.lm import BEGIN, END, InfGram, LanguageModel, NGram, make


class Questions:
    """Queries on a corpus by ids. `separator` is the id between documents, `eos` that of a document's end."""

    def __init__(self, view: Any, separator: int, eos: int) -> None:
        self._view = view
        self._index = view.index
        self._separator = separator
        self._eos = eos

    @cached_property
    def n_separators(self) -> int:
        """The number of documents; broken ones count once per piece."""
        broken = [(s, segment) for s, segment in enumerate(self._view.segments) if segment.n_breaks]
        n_breaks = sum(len(segment.breaks_of(self._view.kept(s)).tokens) for s, segment in broken)
        return int(self._view.n_documents + n_breaks)

    @property
    def n_stream(self) -> int:
        """Tokens, and a separator for each document."""
        return int(self._view.n_tokens + self.n_separators)

    def count(self, ids: list[int]) -> int:
        """Return the number of the n-gram's occurrences."""
        if not ids:
            return self.n_stream
        if self._separator not in ids:
            return int(self._index.count(ids))
        if ids == [self._separator]:
            return self.n_separators
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
        ends = self.n_separators if token in (self._separator, self._eos) else 0
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
            n_context, n_end = self.n_stream, self.n_separators
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


# ---- The methods of the engine that give documents.


Ids = list[int]
Cnf = list[list[list[int]]]


class Retrieval:
    """Retrieval of documents by the n-grams that they contain, by rows, pointers and numbers."""

    _view: Any
    _documents: Documents
    _random: random.Random
    token_id_max: int
    token_bytes: int
    max_clause_freq: int
    max_diff_tokens: int
    maxnum: int
    max_disp_len: int

    @answers_errors
    def find_cnf(
        self, cnf: Cnf, max_clause_freq: int | None = None, max_diff_tokens: int | None = None
    ) -> FindCnfAnswer:
        """Occurrences of the rarest clause that have one of every other clause near them, by shard."""
        found = self._matches(cnf, max_clause_freq, max_diff_tokens)
        pointers = [(self.token_bytes * positions).tolist() for positions in found]
        return {"cnt": sum(map(len, pointers)), "approx": False, "ptrs_by_shard": pointers}

    @answers_errors
    def count_cnf(
        self, cnf: Cnf, max_clause_freq: int | None = None, max_diff_tokens: int | None = None
    ) -> CountAnswer:
        """Return the number of those documents."""
        found = self._matches(cnf, max_clause_freq, max_diff_tokens)
        return {"count": sum(map(len, found)), "approx": False}

    @answers_errors
    def search_docs(
        self, input_ids: Ids, maxnum: int | None = None, max_disp_len: int | None = None
    ) -> SearchAnswer:
        """Return a random sample of an n-gram's occurrences, with their documents."""
        n = opening.positive("maxnum", maxnum, self.maxnum)
        length = opening.positive("max_disp_len", max_disp_len, self.max_disp_len)
        opening.check_ids("input_ids", input_ids, self.token_id_max)
        found: list[Any] = []
        for s, segment in enumerate(self._view.segments):
            lo, hi = segment.index.find(input_ids)
            if not len(self._view.removed(s)):
                found.append(_Rows(segment.index, lo, hi))
            else:
                found.append(kept(self._view, s, np.sort(segment.index.positions(lo, hi)).astype(np.int64)))
        return self._drawn(found, n, length)

    @answers_errors
    def search_docs_cnf(
        self,
        cnf: Cnf,
        maxnum: int | None = None,
        max_disp_len: int | None = None,
        max_clause_freq: int | None = None,
        max_diff_tokens: int | None = None,
    ) -> SearchAnswer:
        """Return a random sample of the results of `find_cnf`, with their documents."""
        n = opening.positive("maxnum", maxnum, self.maxnum)
        length = opening.positive("max_disp_len", max_disp_len, self.max_disp_len)
        return self._drawn(self._matches(cnf, max_clause_freq, max_diff_tokens), n, length)

    def _drawn(self, found: Sequence[Any], n: int, length: int) -> SearchAnswer:
        total = sum(map(len, found))
        chosen = sorted(self._random.sample(range(total), min(n, total)))
        documents, s, first = [], 0, 0
        for number in chosen:
            while number - first >= len(found[s]):
                first += len(found[s])
                s += 1
            documents.append(self._around(s, int(found[s][number - first]), length))
        return {"cnt": total, "approx": False, "idxs": chosen, "documents": documents}

    def _around(self, s: int, position: int, length: int) -> DocAnswer:
        return self._documents.at(s, position, length // 2, length - length // 2)

    @answers_errors
    def get_doc_by_rank(self, s: int, rank: int, max_disp_len: int | None = None) -> DocAnswer:
        """Return the document of a shard's row, at most `max_disp_len` tokens around it."""
        length = opening.positive("max_disp_len", max_disp_len, self.max_disp_len)
        self._check_rank(s, rank)
        return self._documents.at_rank(s, rank, length // 2, length - length // 2)

    @answers_errors
    def get_docs_by_ranks(
        self, list_of_s_and_rank: list[tuple[int, int]], max_disp_len: int | None = None
    ) -> list[DocAnswer]:
        """Return the documents of several requests, each as by `get_doc_by_rank`."""
        length = opening.positive("max_disp_len", max_disp_len, self.max_disp_len)
        for s, rank in list_of_s_and_rank:
            self._check_rank(s, rank)
        return [
            self._documents.at_rank(s, rank, length // 2, length - length // 2)
            for s, rank in list_of_s_and_rank
        ]

    @answers_errors
    def get_doc_by_ptr(self, s: int, ptr: int, max_disp_len: int | None = None) -> DocAnswer:
        """Return the document of a shard's pointer, at most `max_disp_len` tokens around it."""
        length = opening.positive("max_disp_len", max_disp_len, self.max_disp_len)
        self._check_pointer(s, ptr)
        return self._around(s, ptr // self.token_bytes, length)

    @answers_errors
    def get_docs_by_ptrs(
        self, list_of_s_and_ptr: list[tuple[int, int]], max_disp_len: int | None = None
    ) -> list[DocAnswer]:
        """Return the documents of several requests, each as by `get_doc_by_ptr`."""
        length = opening.positive("max_disp_len", max_disp_len, self.max_disp_len)
        for s, ptr in list_of_s_and_ptr:
            self._check_pointer(s, ptr)
        return [self._around(s, ptr // self.token_bytes, length) for s, ptr in list_of_s_and_ptr]

    @answers_errors
    def get_doc_by_ix(self, doc_ix: int, max_disp_len: int | None = None) -> DocAnswer:
        """Return the first tokens of a document by its number."""
        length = opening.positive("max_disp_len", max_disp_len, self.max_disp_len)
        self._check_document(doc_ix)
        return self._documents.by_number(doc_ix, length)

    @answers_errors
    def get_docs_by_ixs(self, list_of_doc_ix: list[int], max_disp_len: int | None = None) -> list[DocAnswer]:
        """Return the documents of several requests, each as by `get_doc_by_ix`."""
        length = opening.positive("max_disp_len", max_disp_len, self.max_disp_len)
        for doc_ix in list_of_doc_ix:
            self._check_document(doc_ix)
        return [self._documents.by_number(doc_ix, length) for doc_ix in list_of_doc_ix]

    @answers_errors
    def get_doc_by_rank_2(self, s: int, rank: int, needle_len: int, max_ctx_len: int) -> DocAnswer:
        """Return the document of a shard's row: `needle_len` tokens, and `max_ctx_len` on either side."""
        return self._by_ranks([(s, rank, needle_len, max_ctx_len)])[0]

    @answers_errors
    def get_docs_by_ranks_2(self, requests: list[tuple[int, int, int, int]]) -> list[DocAnswer]:
        """Return the documents of several requests, each as by `get_doc_by_rank_2`."""
        return self._by_ranks(requests)

    def _by_ranks(self, requests: list[tuple[int, int, int, int]]) -> list[DocAnswer]:
        for s, rank, needle_len, max_ctx_len in requests:
            opening.check_not_negative(needle_len=needle_len, max_ctx_len=max_ctx_len)
            self._check_rank(s, rank)
        return [
            self._documents.at_rank(s, rank, context, needle + context)
            for s, rank, needle, context in requests
        ]

    @answers_errors
    def get_doc_by_ptr_2(self, s: int, ptr: int, needle_len: int, max_ctx_len: int) -> DocAnswer:
        """Return the same for a shard's pointer."""
        return self._by_pointers([(s, ptr, needle_len, max_ctx_len)])[0]

    @answers_errors
    def get_docs_by_ptrs_2(self, requests: list[tuple[int, int, int, int]]) -> list[DocAnswer]:
        """Return the documents of several requests, each as by `get_doc_by_ptr_2`."""
        return self._by_pointers(requests)

    def _by_pointers(self, requests: list[tuple[int, int, int, int]]) -> list[DocAnswer]:
        for s, ptr, needle_len, max_ctx_len in requests:
            opening.check_not_negative(needle_len=needle_len, max_ctx_len=max_ctx_len)
            self._check_pointer(s, ptr)
        return [
            self._documents.at(s, ptr // self.token_bytes, context, needle + context)
            for s, ptr, needle, context in requests
        ]

    @answers_errors
    def get_doc_by_ix_2(self, doc_ix: int, max_ctx_len: int) -> DocAnswer:
        """Return the first `max_ctx_len` tokens of a document by its number."""
        return self._by_numbers([(doc_ix, max_ctx_len)])[0]

    @answers_errors
    def get_docs_by_ixs_2(self, requests: list[tuple[int, int]]) -> list[DocAnswer]:
        """Return the documents of several requests, each as by `get_doc_by_ix_2`."""
        return self._by_numbers(requests)

    def _by_numbers(self, requests: list[tuple[int, int]]) -> list[DocAnswer]:
        for doc_ix, max_ctx_len in requests:
            opening.check_not_negative(max_ctx_len=max_ctx_len)
            self._check_document(doc_ix)
        return [self._documents.by_number(doc_ix, length) for doc_ix, length in requests]

    def get_total_doc_cnt(self) -> int:
        """Return the number of document numbers, including those of removed documents."""
        return self._documents.n_documents

    def compute_unigram_counts(self, s: int) -> dict[int, int]:
        """Count each token id in the documents of a shard, including the separator."""
        index, kept = self._check_shard(s), self._view.kept(s)
        documents = [index.document(i) for i in kept.tolist()]
        n_separators = len(kept) + len(self._view.segments[s].breaks_of(kept).tokens)
        tokens, counts = np.unique(np.concatenate([np.empty(0, np.uint32), *documents]), return_counts=True)
        n_listed = self._view.tokenizer.n_vocabulary
        if (
            self._view.tokenizer.kind == "tokens"
        ):  # ids may be any numbers: the largest one that occurs is the last
            n_listed = int(tokens.max()) + 1 if len(tokens) else 0
        found = dict.fromkeys(range(n_listed), 0)
        found |= dict(zip(tokens.tolist(), counts.tolist(), strict=True))
        return {**found, self.token_id_max: n_separators}

    def _check_shard(self, s: int) -> Any:
        opening.check_below("s", s, len(self._view.segments))
        return self._view.segments[s].index

    def _check_rank(self, s: int, rank: int) -> None:
        index = self._check_shard(s)
        if index.is_nested:
            opening.check_below("rank", rank, index.n_tokens)
            return
        try:
            index.positions(rank, rank + 1)
        except (IndexError, TypeError, OverflowError) as error:
            raise opening.Refused("rank must be one that find gave, where documents are reversed") from error

    def _check_pointer(self, s: int, ptr: int) -> None:
        limit = self.token_bytes * self._check_shard(s).n_positions
        opening.check_below("ptr", ptr, limit, self.token_bytes)

    def _check_document(self, doc_ix: int) -> None:
        opening.check_below("doc_ix", doc_ix, self._documents.n_documents)

    def _matches(self, cnf: Cnf, max_clause_freq: int | None, max_diff_tokens: int | None) -> list[Any]:
        opening.positive("max_clause_freq", max_clause_freq, self.max_clause_freq)
        distance = opening.positive("max_diff_tokens", max_diff_tokens, self.max_diff_tokens)
        opening.check_cnf(cnf, self.token_id_max)
        return matches(self._view, cnf, distance)


class GroupedRetrieval(Retrieval):
    """Additional methods of an engine of differences."""

    @answers_errors
    def get_docs_by_ptrs_2_grouped(self, requests: list[dict[str, Any]]) -> list[list[DocAnswer]]:
        """Documents of several spans: `docs` (of `s` and `ptr`), `needle_len` and `max_ctx_len` of each."""
        groups = [
            [(doc["s"], doc["ptr"], one["needle_len"], one["max_ctx_len"]) for doc in one["docs"]]
            for one in requests
        ]
        return [self._by_pointers(group) for group in groups]


class _Rows:
    """Positions of rows, located on demand."""

    def __init__(self, index: Any, lo: int, hi: int) -> None:
        self._index, self._lo, self._hi = index, lo, hi

    def __len__(self) -> int:
        return self._hi - self._lo

    def __getitem__(self, i: int) -> int:
        return int(self._index.positions(self._lo + i, self._lo + i + 1)[0])
