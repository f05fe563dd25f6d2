"""A corpus: the language's verbs as methods, and array verbs that ask millions of questions at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.api.curation_verbs import CurationVerbs
from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb.api import cautioning, packing, results, trees
    from ngramdb.api import documents as given_documents
    from ngramdb.api.loading import LoadReport, ProgressCallback
    from ngramdb.api.results import Spans
    from ngramdb.api.signatures import Documents, LoadOptions, Ngram, Ngrams, Unpack
    from ngramdb.executor import trace as spans
    from ngramdb.executor.result import Result
    from ngramdb.planner import grams, options
    from ngramdb.planner import plan as plans
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import Plan
else:
    given_documents = lazy_module("ngramdb.api.documents")
    cautioning = lazy_module("ngramdb.api.cautioning")
    packing = lazy_module("ngramdb.api.packing")
    results = lazy_module("ngramdb.api.results")
    trees = lazy_module("ngramdb.api.trees")
    spans = lazy_module("ngramdb.executor.trace")
    grams = lazy_module("ngramdb.planner.grams")
    options = lazy_module("ngramdb.planner.options")
    plans = lazy_module("ngramdb.planner.plan")

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Corpus(CurationVerbs):
    """A corpus of a connection. Made by `Connection.corpus` and `create_corpus`; may be shared by threads.

    It answers from the connection's current version: own commits are seen at once, those of other processes
    after the next statement or `Connection.refresh`. Text and token ids are interchangeable wherever an
    n-gram stands; text is tokenized by the corpus's own tokenizer, and an unknown word occurs nowhere.
    """

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
            f"{n_segments} segment{'' if n_segments == 1 else 's'}, tokenizer {view.tokenizer_title}>"
        )

    # ---- adding documents -------------------------------------------------------------------------------

    def append(self, docs: Documents, progress: ProgressCallback | None = None) -> LoadReport:
        """Adds documents in one commit; on any error none.

        Parameters
        ----------
        docs : an iterable of str, dict (`text` or `ids`, everything else is metadata), or `(ids, metadata)`;
            or a table with a column `text` (or `ids`), whose rows are documents: a frame of pandas or polars,
            or whatever else has `__arrow_c_stream__`
        progress : called now and then with how far the load is

        Raises
        ------
        LoadError
            Something that is no document; names its position.
        InvalidArgument
            One document, a table without such a column, or what iterates over names.
        """
        # Not the corpus's view as questions use it, which opens every segment.
        tokenizer = self._connection.snapshot.view(self.name).tokenizer
        documents = given_documents.as_documents(docs, tokenizer.kind, tokenizer.n_vocabulary)
        with self._connection._work():
            return self._connection._append(self.name, documents, progress)

    def load(
        self,
        paths: Paths,
        text: str | None = None,
        format: str | None = None,
        limit: int | None = None,
        on_error: str = "fail",
        progress: ProgressCallback | None = None,
        **options: Unpack[LoadOptions],
    ) -> LoadReport:
        """Adds the documents of files in one commit: COPY … FROM.

        Parameters
        ----------
        paths : files, globs, folders, or '-' for standard input; .gz and .zst are unpacked
        text : path of the JSON field with a document's text; "text" when not given
        format : 'jsonl', 'text' or 'lines'; by the files' names when not given
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
        names = given_documents.as_paths(
            paths, "load takes a path, or a list of paths (append takes documents)"
        )
        plan = plans.Load(self.name, tuple(names), checked, skip_errors=on_error == "skip")
        with self._connection._work():
            return self._connection._load(plan, progress)

    # ---- one question -----------------------------------------------------------------------------------

    # Not for keywords only: looking up their defaults takes a tenth of the time of a question in token ids.
    def count(self, ngram: Ngram, match_text: bool = False, ignore_case: bool = False) -> int:
        """How often the n-gram (text or token ids) occurs; `count([])` is the number of tokens.

        `match_text` and `ignore_case` are MATCH TEXT and IGNORE CASE, whatever the setting `match` is.

        Cost: one search per segment; beyond the kernel's call some 0.1 µs.
        """
        if match_text or ignore_case:
            return self._number(self._bind(trees.count(ngram, match_text, ignore_case), None, None))
        if self._snapshot is not self._connection._snapshot:
            self._rebind()
        kind = type(ngram)
        if kind is list:  # the usual question, by the million
            pass
        elif isinstance(ngram, str):
            ids = self._encode(ngram)
            if not len(ids) and ngram:
                raise InvalidArgument(grams.no_token(ngram, self.tokenizer, "match_text=True"))
            n = self._count(ids)
            if not n:
                cautioning.warn_of(self._view, ngram, "match_text=True")
            return n
        elif kind is not tuple and kind is not np.ndarray:
            ngram = self._ids(ngram)
        try:
            return self._count(ngram)
        except (TypeError, OverflowError, ValueError) as error:
            cause = error
        self._refuse(ngram, cause)  # outside of the handler: one error, not two

    def docs(
        self,
        where: str | None = None,
        *,
        order_by: str | Sequence[str] | None = None,
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
        params: ParameterValues = None,
    ) -> Result:
        """The documents that meet a condition (all without one): DOCS.

        The exact total is in `summary['total']`, whatever `limit` says.

        Parameters
        ----------
        where : what would stand after WHERE, with `?` or `:name` for `params`
        order_by : a field, or several; doc_id without one. Documents without the field come last
        """
        if order_by is not None:
            return self._run(self._bind(trees.docs(order_by, descending, limit, offset), where, params))
        for name, value in (("limit", limit), ("offset", offset)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise InvalidArgument(f"{name} is a whole number of at least 0, not {value!r}")
        view = self._current()
        found, phrases = self._documents(where, params, view)
        return self._run(plans.Documents(view, found, descending, limit, offset, phrases=phrases))

    def count_docs(self, where: str | None = None, *, params: ParameterValues = None) -> int:
        """How many documents meet a condition: COUNT DOCS."""
        view = self._current()
        found, phrases = self._documents(where, params, view)
        return self._number(plans.CountDocuments(view, found, phrases=phrases))

    def _number(self, plan: Plan) -> int:
        """The one number that a plan answers with."""
        row = self._run(plan).fetchone()
        return int(row[0]) if row else 0

    # ---- texts around occurrences, n-grams, spans -------------------------------------------------------

    def kwic(
        self,
        pattern: Ngram,
        where: str | None = None,
        *,
        window: int | None = None,
        order_by: str | None = None,
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
        sample: int | None = None,
        seed: int | None = None,
        match_text: bool = False,
        ignore_case: bool = False,
        params: ParameterValues = None,
    ) -> Result:
        """The occurrences of an n-gram, each with what stands to its left and right: KWIC.

        Columns `doc_id`, `position` (in tokens, from 0), `left`, `match`, `right`; `summary['total']` counts
        all occurrences, whatever `limit` and `sample` say.

        Parameters
        ----------
        pattern : text or token ids; patterns with gaps, as in `"a" [0..2] "b"`, stand in the statement KWIC
        where : only in documents that meet this condition, with `?` or `:name` for `params`
        window : tokens on either side
        order_by : 'doc_id' (then by position), 'left' or 'right', the text on that side
        sample, seed : so many lines, drawn at random; the same ones for the same seed
        match_text, ignore_case : MATCH TEXT and IGNORE CASE
        """
        tree = trees.kwic(
            pattern, match_text, ignore_case, window, order_by, descending, limit, offset, sample, seed
        )
        return self._run(self._bind(tree, where, params))

    def ngrams(
        self, n: int, where: str | None = None, *, top: int | None = None, params: ParameterValues = None
    ) -> Result:
        """The n-grams of `n` tokens, the most frequent first: NGRAMS.

        Columns `ngram`, `token_ids`, `count`. Without `top` all of them, made as they are read.
        """
        return self._run(self._bind(trees.ngrams(n, top), where, params))

    def trace(self, text: Ngram, min_length: int = 1, *, docs: int | None = 10) -> Result:
        """The maximal spans of a text (or of token ids) that stand verbatim in the corpus: TRACE.

        Columns `start` and `length` (in tokens), `span`, `count`, `doc_ids`: of each span the first `docs`
        documents, None for all of them.
        """
        trees.at_least(0, "docs", docs)
        plan = self._bind(trees.trace(text, min_length), None, None)
        return self._run(replace(plan, n_documents=docs))

    def trace_arrays(self, text: Ngram, min_length: int = 1) -> Spans:
        """The same spans as arrays, without their documents."""
        trees.at_least(1, "min_length", min_length)
        view = self._current()
        ids = self._passage(text)
        if isinstance(text, str):
            cautioning.warn_of(view, text)
        found = spans.maximal_spans(spans.longest_matches(view.index, ids), min_length)
        return results.Spans(found.starts, found.stops - found.starts, found.counts)

    def match_lengths(self, text: Ngram) -> NDArray[np.int64]:
        """For each token of a text, how long the longest n-gram is that begins there and stands in the
        corpus.

        (n,) int64; 0 where the token itself does not occur. Cost: about a microsecond a token and segment.
        """
        view = self._current()
        ids = self._passage(text)
        if isinstance(text, str):
            cautioning.warn_of(view, text)
        return spans.match_ends(spans.longest_matches(view.index, ids)) - np.arange(len(ids))

    def sample(
        self,
        size: int,
        where: str | None = None,
        *,
        seed: int | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """So many documents, drawn at random from those that meet a condition: DOCS … SAMPLE.

        The same seed draws the same documents; without one a seed is drawn, and `summary['seed']` tells it.
        """
        return self._run(self._bind(trees.sample(size, seed), where, params))

    # ---- many questions ---------------------------------------------------------------------------------

    def count_many(self, ngrams: Ngrams) -> NDArray[np.int64]:
        """The counts of many n-grams, `(n,) int64`, one kernel call with the GIL released.

        `ngrams` is a list of n-grams, or a pair of arrays `(flat ids, offsets)`.
        """
        view = self._current()
        flat, offsets = packing.pack(ngrams, self._encode_ngram)
        with self._connection._work():
            counts: NDArray[np.int64] = view.index.count_many(flat, offsets)
        if isinstance(ngrams, list) and not counts.all():
            cautioning.warn_of_many(view, ngrams, np.flatnonzero(counts == 0))
        return counts


def _checked(name: str, value: Any) -> Any:
    if name not in options.LOAD_OPTIONS:
        raise InvalidArgument(f"no option {name!r}; known: {', '.join(options.LOAD_OPTIONS)}")
    return options.LOAD_OPTIONS[name].check(name, value)
