"""A corpus: the language's verbs as methods, and array verbs that ask millions of questions at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ngramdb.api.documents import as_documents
from ngramdb.api.loading import LoadReport, ProgressCallback
from ngramdb.api.models import as_model
from ngramdb.api.packing import pack
from ngramdb.api.parsing import parsed_condition
from ngramdb.api.results import DocumentScores, NextTokens, Probability, Scores
from ngramdb.errors import InvalidArgument
from ngramdb.executor.distribution import next_tokens
from ngramdb.executor.probability import chain, chain_many
from ngramdb.executor.result import Result
from ngramdb.executor.scoring import token_scores
from ngramdb.planner.binder import Binder
from ngramdb.planner.grams import bind_gram
from ngramdb.planner.options import LOAD_OPTIONS
from ngramdb.planner.parameters import Parameters, ParameterValues
from ngramdb.planner.plan import CountDocuments, Distribution, DocExpr, Documents, Gram, Load, Plan
from ngramdb.planner.planner import optimize
from ngramdb.planner.source import IntArray

if TYPE_CHECKING:
    from ngramdb.api.connection import Connection
    from ngramdb.api.snapshot import Snapshot
    from ngramdb.engine.view import CorpusView

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Corpus:
    """A corpus of a connection. Made by `Connection.corpus` and `create_corpus`; may be shared by threads.

    It answers from the connection's current version: own commits are seen at once, those of other processes
    after the next statement or `Connection.refresh`. Text and token ids are interchangeable wherever an
    n-gram stands; text is tokenized by the corpus's own tokenizer, and an unknown word occurs nowhere.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._connection = connection
        self._rebind()

    def _rebind(self) -> CorpusView:
        """Goes over to the connection's current version; raises when that is closed or has no such corpus."""
        snapshot = self._connection.snapshot
        view = snapshot.view(self.name)
        self._count: Callable[[Any], int] = view.index.count
        self._prob = view.index.prob
        self._encode = view.tokenizer.encode
        self._view = view
        # Last, since the array verbs take it as the sign that all the others are there.
        self._snapshot: Snapshot | None = snapshot
        return view

    def _current(self) -> CorpusView:
        if self._snapshot is not self._connection._snapshot:
            return self._rebind()
        return self._view

    # ---- properties -------------------------------------------------------------------------------------

    @property
    def n_documents(self) -> int:
        """How many documents there are."""
        return self._current().n_documents

    @property
    def n_tokens(self) -> int:
        """How many tokens there are, separators not counted; the count of the empty n-gram."""
        return self._current().n_tokens

    @property
    def tokenizer(self) -> Any:
        """The corpus's tokenizer, with `encode` and `decode`."""
        return self._current().tokenizer

    def __repr__(self) -> str:
        view = self._current()
        n_segments = len(view.entry.segments)
        return (
            f"<ngramdb.Corpus {self.name}: "
            f"{view.n_documents:,} document{'' if view.n_documents == 1 else 's'}, "
            f"{view.n_tokens:,} token{'' if view.n_tokens == 1 else 's'}, "
            f"{n_segments} segment{'' if n_segments == 1 else 's'}, tokenizer {view.tokenizer.kind}>"
        )

    # ---- adding documents -------------------------------------------------------------------------------

    def append(self, docs: Iterable[Any], progress: ProgressCallback | None = None) -> LoadReport:
        """Adds documents in one commit; on any error none.

        Parameters
        ----------
        docs : an iterable of str, dict (`text` or `ids`, everything else is metadata), or `(ids, metadata)`
        progress : called now and then with how far the load is

        Raises
        ------
        LoadError
            Something that is no document; names its position.
        """
        # Not the corpus's view as questions use it, which opens every segment.
        tokenizer = self._connection.snapshot.view(self.name).tokenizer
        documents = as_documents(docs, tokenizer.kind, tokenizer.n_vocabulary)
        return self._connection.append(self.name, documents, progress)

    def load(
        self,
        paths: Paths,
        text: str | None = None,
        format: str | None = None,
        limit: int | None = None,
        on_error: str = "fail",
        progress: ProgressCallback | None = None,
        **options: Any,
    ) -> LoadReport:
        """Adds the documents of files in one commit: COPY … FROM.

        Parameters
        ----------
        paths : files, globs, folders, or '-' for standard input; .gz and .zst are unpacked
        text : path of the JSON field with a document's text; "text" when not given
        format : 'jsonl' or 'text'; by the files' names when not given
        limit : most documents to read
        on_error : 'fail', or 'skip' to count documents that can't be read and go on
        options : `ids`, `metadata`, `separator`, `max_document_bytes`, as COPY takes them

        Raises
        ------
        LoadError, InvalidArgument
            A file or a document that can't be read (with file and line), or an option that makes no sense.
        """
        if on_error not in ("fail", "skip"):
            raise InvalidArgument(f"on_error is 'fail' or 'skip', not {on_error!r}")
        given = {**options, "text": text, "format": format, "limit": limit}
        checked = {name: _checked(name, value) for name, value in given.items() if value is not None}
        every = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        names = tuple(os.fspath(path) for path in every)
        plan = Load(self.name, names, checked, skip_errors=on_error == "skip")
        return self._connection.load(plan, progress)

    # ---- one question -----------------------------------------------------------------------------------

    def count(self, ngram: Any) -> int:
        """How often the n-gram (text or token ids) occurs; `count([])` is the number of tokens.

        Cost: one search per segment; beyond the kernel's call some 0.1 µs.
        """
        if self._snapshot is not self._connection._snapshot:
            self._rebind()
        kind = type(ngram)
        if kind is str:
            ngram = self._encode(ngram)
        elif kind is bytes:  # a sequence of integers to Python, and never meant as one
            self._refuse(ngram, TypeError("bytes"))
        try:
            return self._count(ngram)
        except (TypeError, OverflowError, ValueError) as error:
            cause = error
        self._refuse(ngram, cause)  # outside of the handler: one error, not two

    def _refuse(self, ngram: Any, cause: Exception) -> NoReturn:
        """Says what is wrong with an n-gram that the kernel would not take."""
        bind_gram(ngram, self._current().tokenizer)
        raise cause

    def prob(self, continuation: Any, given: Any = "", model: Any = "ngram") -> Probability | None:
        """P(continuation | given): a float with the counts behind it, or None where the context is unseen.

        Parameters
        ----------
        continuation : text, token ids, or one token id; several tokens go by the chain rule
        given : the context; empty for a token's share of the corpus
        model : what stands after USING: "ngram", "ngram order 3", "infgram", …
        """
        if self._snapshot is not self._connection._snapshot:
            self._rebind()
        used = as_model(model)
        context = self._encode(given) if type(given) is str else given
        token = continuation if type(continuation) is int else _single(continuation)
        if token is not None and isinstance(context, (list, tuple, np.ndarray)):
            # The usual question goes to the kernel as it is: checks here would cost more than the answer.
            try:
                step = self._prob(context, token, used.infgram, used.order)
                return Probability(step[0] / step[1], step) if step[1] else None
            except (TypeError, OverflowError, ValueError):
                pass  # what is wrong with it is found out, and said, below
        tokens = self._ids(continuation if token is None else (token,))
        if not len(tokens):
            raise InvalidArgument("prob needs a continuation of at least one token")
        found = chain(self._view.index, self._ids(context), tokens, used)
        return None if found.prob is None else Probability(found.prob, found[1:])

    def dist(self, given: Any = "", model: Any = "ngram", top: int | None = None) -> Result:
        """The next-token distribution of a context, most frequent first: DIST.

        Columns `token`, `token_id`, `count`, `prob`; the end of a document is a row with token NULL.
        """
        if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 0):
            raise InvalidArgument(f"top is a whole number of at least 0, not {top!r}")
        view = self._current()
        return self._run(Distribution(view, self._gram(given), as_model(model), top))

    def dist_arrays(self, given: Any = (), model: Any = "ngram") -> NextTokens:
        """The same distribution as arrays, by token id, straight from the kernel."""
        view, used = self._current(), as_model(model)
        context = self._ids(given) if not isinstance(given, (list, tuple)) else given
        try:
            found = next_tokens(view.index, context, used)
        except (TypeError, OverflowError, ValueError) as error:
            cause, found = error, None
        if found is None:
            self._refuse(given, cause)
        return NextTokens(found.ids, found.counts, found.n_end, found.context_count, found.effective_n)

    def docs(
        self,
        where: str | None = None,
        *,
        limit: int | None = None,
        offset: int = 0,
        descending: bool = False,
        params: ParameterValues = None,
    ) -> Result:
        """The documents that meet a condition (all without one), by doc_id: DOCS.

        `where` is what would stand after WHERE, with `?` or `:name` for `params`. The exact total is in
        `summary['total']`, whatever `limit` says.
        """
        for name, value in (("limit", limit), ("offset", offset)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise InvalidArgument(f"{name} is a whole number of at least 0, not {value!r}")
        view = self._current()
        return self._run(Documents(view, self._condition(where, params, view), descending, limit, offset))

    def count_docs(self, where: str | None = None, *, params: ParameterValues = None) -> int:
        """How many documents meet a condition: COUNT DOCS."""
        view = self._current()
        result = self._run(CountDocuments(view, self._condition(where, params, view)))
        row = result.fetchone()
        return int(row[0]) if row else 0

    def _condition(self, where: str | None, params: ParameterValues, view: CorpusView) -> DocExpr:
        trees = () if where is None else (parsed_condition(where),)
        binder = Binder(self._connection.session(), Parameters(trees, params, where), where)
        return binder.condition(trees[0] if trees else None, view)

    def _run(self, logical: Plan) -> Result:
        plan, _ = optimize(logical, self._connection.settings.disabled_rules)
        return self._connection.run_plan(plan)

    # ---- many questions ---------------------------------------------------------------------------------

    def count_many(self, ngrams: Any) -> NDArray[np.int64]:
        """The counts of many n-grams, `(n,) int64`, one kernel call with the GIL released.

        `ngrams` is a list of n-grams, or a pair of arrays `(flat ids, offsets)`.
        """
        view = self._current()
        flat, offsets = pack(ngrams, self._encode)
        counts: NDArray[np.int64] = view.index.count_many(flat, offsets)
        return counts

    def prob_many(self, contexts: Any, continuations: Any, model: Any = "ngram") -> Scores:
        """Many probabilities: entry i is P(continuations[i] | contexts[i]), with its counts.

        Parameters
        ----------
        contexts : a list of n-grams, or a pair of arrays `(flat ids, offsets)`
        continuations : an array of token ids, one per context; or a list of n-grams
        """
        view = self._current()
        flat, offsets = pack(contexts, self._encode)
        tokens, token_offsets = self._continuations(continuations)
        n = len(offsets) - 1
        if len(token_offsets) - 1 != n:
            raise InvalidArgument(f"{n} contexts, but {len(token_offsets) - 1} continuations")
        return Scores.of(chain_many(view.index, (flat, offsets), (tokens, token_offsets), as_model(model)))

    def _continuations(self, given: Any) -> tuple[IntArray, IntArray]:
        if isinstance(given, np.ndarray) or (
            isinstance(given, (list, tuple)) and given and set(map(type, given)) == {int}
        ):
            tokens = self._ids(given)
            return tokens, np.arange(len(tokens) + 1, dtype=np.int64)
        tokens, offsets = pack(given, self._encode)
        if (np.diff(offsets) == 0).any():
            empty = int(np.flatnonzero(np.diff(offsets) == 0)[0])
            raise InvalidArgument(f"continuation {empty} (counted from 0) has no token")
        return tokens, offsets

    def score(self, ngram: Any, model: Any = "ngram") -> Scores:
        """Every token of a text (or of token ids) given those before it: SCORE, as arrays."""
        view = self._current()
        ids = self._ids(ngram)
        offsets = np.array([0, len(ids)], dtype=np.int64)
        return Scores.of(token_scores(view.index, ids, offsets, as_model(model)))

    def score_many(self, docs: Any, model: Any = "ngram") -> DocumentScores:
        """The scores of many documents in one kernel call; item i is what `score(docs[i])` gives."""
        view = self._current()
        flat, offsets = pack(docs, self._encode)
        scores = token_scores(view.index, flat, offsets, as_model(model))
        return DocumentScores(Scores.of(scores), offsets)

    # ---- helpers ----------------------------------------------------------------------------------------

    def _gram(self, ngram: Any) -> Gram:
        return bind_gram(ngram, self._view.tokenizer)

    def _ids(self, ngram: Any) -> IntArray:
        return self._gram(ngram).ids


def _single(continuation: Any) -> int | None:
    """The token of a continuation that is one token id, or a list or tuple with just one; else None."""
    if type(continuation) in (list, tuple) and len(continuation) == 1:
        continuation = continuation[0]
    return continuation if type(continuation) is int else None


def _checked(name: str, value: Any) -> Any:
    if name not in LOAD_OPTIONS:
        raise InvalidArgument(f"no option {name!r}; known: {', '.join(LOAD_OPTIONS)}")
    return LOAD_OPTIONS[name].check(name, value)
