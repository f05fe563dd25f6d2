"""The three systems behind one face: what is timed (`operations`) and how its answer reads (`answer`).

Operations are each system's own public Python calls, wrapped only where a wrapper is needed to ask the same
question. Names of operations, their arguments, and what `answer` makes of the result:

    count           (ngram)                 number of occurrences
    prob            (context, token)        (count of context + token, count of context)
    infgram_prob    (context, token)        the same, and the length of the suffix that was used
    distribution    (context)               {token: count}, a document's end under `END`
    documents       (ngram, ngram)          sorted document numbers that contain both
    documents rows  (ngram, ngram)          ten of these documents with their texts
    count_cnf       (ngram, ngram)          how many documents contain both; of infini-gram, occurrences
    search_docs_cnf (ngram, ngram)          the documents; of infini-gram, a token of one that is drawn
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from peerbench.corpus import END_OF_TEXT, SEPARATOR, TokenCorpus

# The key under which `answer` gives the number of times that a context ends its document.
END = -1

# Above any support or clause frequency of the corpus: turns infini-gram's sampling off.
NO_LIMIT = 10**9


Operations = dict[str, Callable[..., Any]]


class System(Protocol):
    """One index, opened."""

    name: str
    version: str
    operations: Operations

    def answer(self, operation: str, *call: Any) -> Any:
        """The operation's result in the common form of this module's docstring."""
        ...


class InfiniGram:
    """infini-gram, all prefetch depths 0 (its fastest setting on local files), all sampling turned off."""

    name = "infini-gram"

    def __init__(self, folder: Path, corpus: TokenCorpus) -> None:
        from importlib.metadata import version

        from infini_gram.engine import InfiniGramEngine

        self.version = version("infini-gram")
        self._engine: Any = InfiniGramEngine(
            index_dir=str(folder),
            eos_token_id=END_OF_TEXT,
            vocab_size=SEPARATOR,
            version=4,
            token_dtype="u16",
            ds_prefetch_depth=0,
            sa_prefetch_depth=0,
            od_prefetch_depth=0,
            max_support=NO_LIMIT,
            max_clause_freq=NO_LIMIT,
            max_diff_tokens=int(np.diff(corpus.offsets).max(initial=1)),
        )
        # Byte offset of each document's separator, to turn the pointers of a CNF query into documents.
        self._separators = 2 * (corpus.offsets[:-1] + np.arange(corpus.n_documents))
        self.operations: Operations = {
            "count": self._engine.count,
            "prob": self._engine.prob,
            "infgram_prob": self._engine.infgram_prob,
            "distribution": self._engine.ntd,
            "documents": self._documents,
            "count_cnf": lambda first, second: self._engine.count_cnf([[first], [second]]),
            "search_docs_cnf": self._one_document,
        }

    def _one_document(self, first: list[int], second: list[int]) -> Any:
        """The least that can be asked for: what is shown of documents is not what is compared."""
        return self._engine.search_docs_cnf([[first], [second]], maxnum=1, max_disp_len=1)

    def _documents(self, first: list[int], second: list[int]) -> list[int]:
        """`find_cnf` gives every occurrence; `search_docs_cnf` only draws documents with replacement."""
        (pointers,) = self._engine.find_cnf([[first], [second]])["ptrs_by_shard"]
        numbers = np.searchsorted(self._separators, pointers, side="right") - 1
        return np.unique(numbers).tolist()  # type: ignore[no-any-return]

    def answer(self, operation: str, *call: Any) -> Any:
        result = self.operations[operation](*call)
        if operation == "count":
            return result["count"]
        if operation == "prob":
            return result["cont_cnt"], result["prompt_cnt"]
        if operation == "infgram_prob":
            return result["cont_cnt"], result["prompt_cnt"], result["suffix_len"]
        if operation == "distribution":
            counts = {token: entry["cont_cnt"] for token, entry in result["result_by_token_id"].items()}
            # It reports a document's end as the end-of-text token, which this corpus does not contain.
            return {END if token == END_OF_TEXT else token: count for token, count in counts.items()}
        return result


class Tokengrams:
    """tokengrams' `MemmapIndex`: counts and dense next-token counts; it knows no documents."""

    name = "tokengrams"

    def __init__(self, token_file: Path, index_file: Path) -> None:
        from importlib.metadata import version

        from tokengrams import MemmapIndex

        self.version = version("tokengrams")
        index = MemmapIndex(str(token_file), str(index_file))
        self.operations: Operations = {"count": index.count, "distribution": index.count_next}

    def answer(self, operation: str, *call: Any) -> Any:
        result = self.operations[operation](*call)
        if operation == "count":
            return result
        counts = {token: count for token, count in enumerate(result) if count}
        return {END if token == SEPARATOR else token: count for token, count in counts.items()}


class Ngramdb:
    """ngramdb's Python API over a `tokens` corpus of one segment, and over the same corpus in several."""

    name = "ngramdb"

    def __init__(self, databases: dict[int, Path]) -> None:
        """`databases`: by number of segments; the one with one segment answers, unless the operation says."""
        import ngramdb

        self.version = ngramdb.__version__
        connections = {n: ngramdb.connect(path, read_only=True) for n, path in databases.items()}
        corpora = {n: connection.corpus("bench") for n, connection in connections.items()}
        for every in corpora.values():  # else the first questions verify what they read
            every.warm()
        corpus = corpora[1]
        self.operations: Operations = {
            "count": corpus.count,
            "count_many": lambda flat, offsets: corpus.count_many((flat, offsets)),
            "count_many lists": corpus.count_many,
            "prob": lambda context, token: corpus.prob(token, given=context),
            "infgram_prob": lambda context, token: corpus.prob(token, given=context, model="infgram"),
            "score": lambda text: corpus.score(text, model="infgram"),
            "distribution": corpus.dist_arrays,
            "distribution many": lambda flat, offsets: corpus.dist_many((flat, offsets)),
            "distribution rows": lambda context: corpus.dist(context).fetchall(),
            "documents": lambda first, second: corpus.docs("? AND ?", params=[first, second]),
            "count_cnf": lambda first, second: corpus.count_docs("? AND ?", params=[first, second]),
            "search_docs_cnf": lambda first, second: corpus.docs("? AND ?", params=[first, second]),
            "documents rows": lambda first, second: _ten_rows(corpus, first, second),
        }
        for n, other in corpora.items():
            self.operations[f"count, {n} segments"] = other.count

    def answer(self, operation: str, *call: Any) -> Any:
        result = self.operations[operation](*call)
        if operation == "prob":
            return result.cont_count, result.context_count
        if operation == "infgram_prob":
            return result.cont_count, result.context_count, result.effective_n - 1
        if operation == "distribution":
            counts = dict(zip(result.token_ids.tolist(), result.counts.tolist(), strict=True))
            return counts | {END: result.n_end} if result.n_end else counts
        if operation == "distribution rows":
            return {END if token is None else token: count for _, token, count, _ in result}
        if operation == "documents":
            return [row[0] for row in result.fetchall()]
        return result


def _ten_rows(corpus: Any, first: list[int], second: list[int]) -> list[Any]:
    rows: list[Any] = corpus.docs("? AND ?", params=[first, second], limit=10).fetchall()
    return rows
