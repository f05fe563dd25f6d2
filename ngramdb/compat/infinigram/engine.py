"""`InfiniGramEngine`: the peer's methods, over a view of a corpus."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from inspect import Signature, signature
from typing import Any

import numpy as np

from ngramdb.compat.infinigram import opening
from ngramdb.compat.infinigram.documents import Documents, chosen_spans, span_record
from ngramdb.compat.infinigram.opening import (
    LARGEST_IDS,
    AttributionAnswer,
    CountAnswer,
    CreativityAnswer,
    DistAnswer,
    FindAnswer,
    InfgramDistAnswer,
    InfgramProbAnswer,
    ProbAnswer,
    answers_errors,
    opened,
    paths_of,
)
from ngramdb.compat.infinigram.questions import GroupedRetrieval, Ids, Questions, Retrieval
from ngramdb.errors import InvalidArgument
from ngramdb.fork_safety import cached_property
from ngramdb.registries import DTYPE_BYTES


class InfiniGramEngine(Retrieval):
    """infini-gram's engine over a corpus of ours, at the version that it has now.

    Parameters
    ----------
    index_dir : the database's folder, with the corpus's name if there are several:
        `web.ngdb?corpus=pile`. A list adds up corpora of one database. Or a folder of the peer's, which is
        attached; a list adds up several
    eos_token_id : the id that represents a document's end in distributions
    version : of the peer's files: 5 if documents are stored in reverse; otherwise derived from their names
    token_dtype : 'u8', 'u16' or 'u32', which ids are taken; by the peer's files, and by the vocabulary of a
        corpus of ours, when not given
    max_diff_tokens, maxnum, max_disp_len : defaults of the methods' arguments of that name
    bow_ids_path : a file of token ids, one per line, that begin a word: for `attribute`
    precompute_unigram_logprobs : whether `attribute` sums up the logarithms of tokens' shares
    vocab_size, max_support, … : there for scripts; of no effect, since nothing is sampled

    Raises
    ------
    StorageError, BindError
        The database or corpus does not exist.
    InvalidArgument
        An argument that makes no sense, or several databases.
    CorruptionError
        Files of the peer's are missing, or contradict each other.

    Notes
    -----
    Differences: `prob` counts a document's end for `eos_token_id`, as its `ntd` does. `find_cnf`
    compares starts within one document, regardless of others. `search_docs` draws without replacement.
    An n-gram with the separator (the largest id of `token_dtype`) may begin or end a document, but not reach
    into the next one. Shards are segments; documents that were removed keep their numbers, and are `blocked`.
    Rows (`segment_by_shard`, `rank`) are those of the index here: the peer has n-grams at the end of a shard
    in another order, so that rows kept from it may be other occurrences of the n-gram.
    """

    # Corpora or folders whose documents do not count.
    _subtracted: Sequence[str] = ()

    def __init__(
        self,
        index_dir: str | Iterable[str],
        eos_token_id: int,
        vocab_size: int = 65535,
        version: int = 4,
        token_dtype: str | None = None,
        load_to_ram: bool = False,
        ds_prefetch_depth: int = 1,
        sa_prefetch_depth: int = 3,
        od_prefetch_depth: int = 3,
        bow_ids_path: str | None = None,
        attribution_block_size: int = 512,
        precompute_unigram_logprobs: bool = False,
        prev_shards_by_index_dir: Any = None,
        max_support: int = 1000,
        max_clause_freq: int = 50000,
        max_diff_tokens: int = 100,
        maxnum: int = 1,
        max_disp_len: int = 1000,
    ) -> None:
        added, subtracted = paths_of(index_dir), self._subtracted
        self._connection, self._view, dtype = opened(added, subtracted, version, token_dtype)
        if subtracted:
            self._view.check_difference()
        self._prepare(eos_token_id, dtype, bow_ids_path, precompute_unigram_logprobs)
        self._set_defaults(max_support, max_clause_freq, max_diff_tokens, maxnum, max_disp_len)
        if load_to_ram:
            self._view.warm()

    @classmethod
    def over(cls, view: Any, eos_token_id: int | None = None) -> InfiniGramEngine:
        """Create the engine over an open corpus: `connection.snapshot.view(name)`.

        Without an `eos_token_id` the separator, the largest id, stands for a document's end.
        """
        engine = object.__new__(cls)
        engine._view = view
        n_vocabulary = view.tokenizer.n_vocabulary
        dtype = "u16" if n_vocabulary < 2**16 and view.tokenizer.kind != "tokens" else "u32"
        engine._prepare(LARGEST_IDS[dtype] if eos_token_id is None else eos_token_id, dtype, None, True)
        engine._set_defaults(1000, 50000, 100, 1, 1000)
        return engine

    def _prepare(
        self, eos_token_id: int, token_dtype: str, bow_ids_path: str | None, has_shares: bool
    ) -> None:
        self.token_id_max = LARGEST_IDS[token_dtype]
        self.token_bytes = DTYPE_BYTES[token_dtype]
        if not opening.is_id(eos_token_id, self.token_id_max):
            raise InvalidArgument(
                f"eos_token_id must be a token id up to {self.token_id_max}, not {eos_token_id!r}"
            )
        self._word_starts = None if bow_ids_path is None else _ids_of_file(bow_ids_path)
        self._has_shares = has_shares
        self._questions = Questions(self._view, self.token_id_max, eos_token_id)
        self._documents = Documents(self._view)
        self._random = random.Random()

    def _set_defaults(
        self, max_support: int, max_clause_freq: int, max_diff_tokens: int, maxnum: int, max_disp_len: int
    ) -> None:
        self.max_support = max_support
        self.max_clause_freq = max_clause_freq
        self.max_diff_tokens = max_diff_tokens
        self.maxnum = maxnum
        self.max_disp_len = max_disp_len
        for name in ("max_support", "max_clause_freq", "max_diff_tokens", "maxnum", "max_disp_len"):
            value = getattr(self, name)
            if type(value) is not int or value <= 0:
                raise InvalidArgument(f"{name} must be a whole number of at least 1, not {value!r}")

    def close(self) -> None:
        """Close the database; later queries are refused. The peer has no such method."""
        self._connection.close()

    # ---- counts -----------------------------------------------------------------------------------------

    @answers_errors
    def find(self, input_ids: Ids) -> FindAnswer:
        """Return the count of an n-gram, and the rows [lo, hi) of each shard that begin with it."""
        opening.check_ids("input_ids", input_ids, self.token_id_max)
        if self.token_id_max in input_ids:
            raise opening.Refused("an n-gram with separators has no rows here; use count")
        rows = [tuple(segment.index.find(input_ids)) for segment in self._view.segments]
        return {"cnt": self._view.index.count(input_ids), "segment_by_shard": rows}

    @answers_errors
    def count(self, input_ids: Ids) -> CountAnswer:
        """Count an n-gram's occurrences; the empty one counts all tokens and a separator per document."""
        opening.check_ids("input_ids", input_ids, self.token_id_max)
        return {"count": self._questions.count(input_ids), "approx": False}

    # ---- probabilities ----------------------------------------------------------------------------------

    @answers_errors
    def prob(self, prompt_ids: Ids, cont_id: int) -> ProbAnswer:
        """Return P(cont_id | prompt_ids), or -1.0 if the prompt does not occur."""
        answer: ProbAnswer = self._prob(prompt_ids, cont_id, infgram=False)
        return answer

    @answers_errors
    def infgram_prob(self, prompt_ids: Ids, cont_id: int) -> InfgramProbAnswer:
        """Return the same after the longest suffix of the prompt that occurs."""
        answer: InfgramProbAnswer = self._prob(prompt_ids, cont_id, infgram=True)
        return answer

    def _prob(self, prompt_ids: Ids, cont_id: int, *, infgram: bool) -> Any:
        opening.check_ids("prompt_ids", prompt_ids, self.token_id_max)
        opening.check_id("cont_id", cont_id, self.token_id_max)
        n_prompt, n_both, used = self._questions.after(prompt_ids, cont_id, infgram=infgram)
        prob = n_both / n_prompt if n_prompt else -1.0
        answer = {"prompt_cnt": n_prompt, "cont_cnt": n_both, "prob": prob}
        return {**answer, "suffix_len": used} if infgram else answer

    @answers_errors
    def ntd(self, prompt_ids: Ids, max_support: int | None = None) -> DistAnswer:
        """Every next token of a prompt with its count and probability; a document's end is `eos_token_id`."""
        answer: DistAnswer = self._ntd(prompt_ids, max_support, infgram=False)
        return answer

    @answers_errors
    def infgram_ntd(self, prompt_ids: Ids, max_support: int | None = None) -> InfgramDistAnswer:
        """Return the same after the longest suffix of the prompt that occurs."""
        answer: InfgramDistAnswer = self._ntd(prompt_ids, max_support, infgram=True)
        return answer

    def _ntd(self, prompt_ids: Ids, max_support: int | None, *, infgram: bool) -> Any:
        opening.positive("max_support", max_support, self.max_support)
        opening.check_ids("prompt_ids", prompt_ids, self.token_id_max)
        n_prompt, counts, used = self._questions.next_tokens(prompt_ids, infgram=infgram)
        results = {token: {"cont_cnt": n, "prob": n / n_prompt} for token, n in counts.items()}
        answer = {"prompt_cnt": n_prompt, "result_by_token_id": results, "approx": False}
        return {**answer, "suffix_len": used} if infgram else answer

    # ---- texts that are traced --------------------------------------------------------------------------

    @answers_errors
    def creativity(self, input_ids: Ids) -> CreativityAnswer:
        """For each position, the end of the longest n-gram from there on that occurs."""
        opening.check_ids("input_ids", input_ids, self.token_id_max)
        return {"rs": self._ends(input_ids).tolist()}

    @answers_errors
    def attribute(
        self, input_ids: Ids, delim_ids: Ids, min_len: int, max_cnt: int, enforce_bow: bool
    ) -> AttributionAnswer:
        """Return the maximal spans of a text that occur, with all positions of their occurrences.

        A span ends with the first of `delim_ids` in it; with `enforce_bow` it is one of whole words.
        """
        for name, ids in (("input_ids", input_ids), ("delim_ids", delim_ids)):
            opening.check_ids(name, ids, self.token_id_max)
        opening.check_not_negative(min_len=min_len)
        opening.positive("max_cnt", max_cnt, None)
        if type(enforce_bow) is not bool:
            raise opening.Refused("enforce_bow must be a boolean")
        word_starts = (self._word_starts or frozenset()) if enforce_bow else None
        spans = chosen_spans(input_ids, self._ends(input_ids), frozenset(delim_ids), word_starts)
        counted = [(span, self._view.index.count(input_ids[slice(*span)])) for span in spans]
        return {
            "spans": [
                span_record(
                    self._view,
                    input_ids,
                    span,
                    count,
                    self.shares if self._has_shares else None,
                    self.token_bytes,
                )
                for span, count in counted
                if span[1] - span[0] >= min_len and count <= max_cnt
            ]
        }

    def _ends(self, ids: Ids) -> Any:
        """Return the longest match from each position on, found by those that end at each position."""
        n = len(ids)
        offsets = np.array([0, n + 1], dtype=np.int64)
        _, _, effective_n, _ = self._view.index.score(np.array([*ids, -1], dtype=np.int64), offsets, True, 0)
        starts = np.arange(n + 1) - (effective_n.astype(np.int64) - 1)
        return np.searchsorted(starts, np.arange(n), side="right").astype(np.int64) - 1

    @cached_property
    def shares(self) -> dict[int, float]:
        """The logarithm of each token's share of the corpus."""
        ids, counts, _, _, _ = self._view.index.dist([], False, 0)
        total = math.log(self._questions.n_stream or 1)  # an empty corpus has an empty sum
        return {
            token: math.log(count) - total for token, count in zip(ids.tolist(), counts.tolist(), strict=True)
        }

    def get_new_shards_by_index_dir(self) -> dict[str, list[Any]]:
        """Nothing: what the peer hands on to an engine that is made next, here a database keeps open."""
        return {}


class InfiniGramEngineDiff(GroupedRetrieval, InfiniGramEngine):
    """The same over a corpus without the documents of another one, which is a part of it.

    Every answer is about what remains; the peer subtracts in `creativity` and `attribute` alone.

    Parameters
    ----------
    index_dir, index_dir_diff : corpora of the same database, or folders of the peer's
    """

    def __init__(
        self,
        index_dir: str | Iterable[str],
        index_dir_diff: str | Iterable[str],
        eos_token_id: int,
        *options: Any,
        **named: Any,
    ) -> None:
        self._subtracted = paths_of(index_dir_diff)
        super().__init__(index_dir, eos_token_id, *options, **named)


_own, _index_dir, *_others = signature(InfiniGramEngine.__init__).parameters.values()
InfiniGramEngineDiff.__init__.__signature__ = Signature(  # type: ignore[attr-defined]
    [_own, _index_dir, _index_dir.replace(name="index_dir_diff"), *_others], return_annotation="None"
)


def _ids_of_file(path: str) -> frozenset[int]:
    with open(path, encoding="utf-8") as file:
        try:
            return frozenset(int(line) for line in file if line.strip())
        except ValueError as error:
            raise InvalidArgument(f"{path} is a file of token ids, one per line: {error}") from error
