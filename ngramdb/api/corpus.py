"""A corpus: the language's verbs as methods, and array verbs that ask millions of questions at once.

A method of more than a few lines calls the module that does its work: `asking` (language models), `bound`
(n-grams and conditions bound to the corpus), `trees`, `exporting`, `decontaminating`, `evaluation`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import bool_arguments, notebook
from ngramdb.api.corpus_handle import BoundCorpus
from ngramdb.api.database import Database, letting_go
from ngramdb.errors import InvalidArgument, NgramdbError
from ngramdb.interrupts import under
from ngramdb.lazy import lazy_module
from ngramdb.questions import model_queries, verbs

if TYPE_CHECKING:
    from ngramdb.api import build_part as parts
    from ngramdb.api import removals
    from ngramdb.api.arguments import documents as given_documents
    from ngramdb.api.removals import Removals
    from ngramdb.api.verbs import contamination, corpora, decontaminating, evaluation, exporting
    from ngramdb.api.verbs.corpora import AnalysisReport
    from ngramdb.api.verbs.decontaminating import DecontaminationReport
    from ngramdb.engine.changes import audit
    from ngramdb.engine.changes.audit import RemovedDocument
    from ngramdb.engine.changes.change import ChangeOutcome
    from ngramdb.engine.changes.compaction import CompactionOutcome
    from ngramdb.engine.changes.deletion import RestoreOutcome
    from ngramdb.engine.corpus import infini_gram_files
    from ngramdb.engine.corpus.memory_residency import WarmedIndex
    from ngramdb.engine.loading import document_keys, loads
    from ngramdb.engine.loading import request as loading
    from ngramdb.engine.loading.loads import LoadReport
    from ngramdb.engine.loading.writer import LoadCallback
    from ngramdb.executor.questions import models as model_cache
    from ngramdb.executor.questions import scoring
    from ngramdb.ingest import arrow_objects
    from ngramdb.interrupts import ProgressCallback
    from ngramdb.lm.agreement import Agreement
    from ngramdb.lm.evaluation import Perplexity, Progress
    from ngramdb.lm.generation import Draft
    from ngramdb.lm.models import LanguageModel
    from ngramdb.planner import cautions, options, parameters
    from ngramdb.planner import plan as plans
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import DocExpr
    from ngramdb.questions import (
        binder,
        collocates,
        count,
        delete,
        describe,
        dispersion,
        dist,
        docs,
        docs_plan,
        generate,
        keywords,
        kwic,
        ngrams,
        prob,
        python_warnings,
        results,
        score,
        trace,
        trace_plan,
    )
    from ngramdb.questions import copy as copying
    from ngramdb.questions.arguments import models, packing, parsing, to_ast, units
    from ngramdb.questions.arguments.signatures import (
        Documents,
        Ids,
        LoadOptions,
        ModelLike,
        Ngram,
        Ngrams,
        Table,
        Unpack,
    )
    from ngramdb.questions.results import (
        DocumentScores,
        NextTokens,
        NextTokensMany,
        Scores,
        Spans,
        StoredDocument,
    )
    from ngramdb.source import Catalog
    from ngramdb.source import Corpus as CorpusView
else:
    corpora = lazy_module("ngramdb.api.verbs.corpora")
    removals = lazy_module("ngramdb.api.removals")
    audit = lazy_module("ngramdb.engine.changes.audit")
    document_keys = lazy_module("ngramdb.engine.loading.document_keys")
    binder = lazy_module("ngramdb.questions.binder")
    copying = lazy_module("ngramdb.questions.copy")
    delete = lazy_module("ngramdb.questions.delete")
    describe = lazy_module("ngramdb.questions.describe")
    docs_plan = lazy_module("ngramdb.questions.docs_plan")
    cautions = lazy_module("ngramdb.planner.cautions")
    contamination = lazy_module("ngramdb.api.verbs.contamination")
    decontaminating = lazy_module("ngramdb.api.verbs.decontaminating")
    evaluation = lazy_module("ngramdb.api.verbs.evaluation")
    exporting = lazy_module("ngramdb.api.verbs.exporting")
    infini_gram_files = lazy_module("ngramdb.engine.corpus.infini_gram_files")
    given_documents = lazy_module("ngramdb.api.arguments.documents")
    arrow_objects = lazy_module("ngramdb.ingest.arrow_objects")
    loads = lazy_module("ngramdb.engine.loading.loads")
    loading = lazy_module("ngramdb.engine.loading.request")
    model_cache = lazy_module("ngramdb.executor.questions.models")
    models = lazy_module("ngramdb.questions.arguments.models")
    options = lazy_module("ngramdb.planner.options")
    packing = lazy_module("ngramdb.questions.arguments.packing")
    parameters = lazy_module("ngramdb.planner.parameters")
    parsing = lazy_module("ngramdb.questions.arguments.parsing")
    parts = lazy_module("ngramdb.api.build_part")
    plans = lazy_module("ngramdb.planner.plan")
    python_warnings = lazy_module("ngramdb.questions.python_warnings")
    results = lazy_module("ngramdb.questions.results")
    scoring = lazy_module("ngramdb.executor.questions.scoring")
    to_ast = lazy_module("ngramdb.questions.arguments.to_ast")
    trace_plan = lazy_module("ngramdb.questions.trace_plan")
    units = lazy_module("ngramdb.questions.arguments.units")

Path = str | os.PathLike[str]
Paths = Path | Sequence[Path]

# Makes a named tuple of a tuple, in half the time that its class takes.
_new = tuple.__new__

_letting_go = letting_go(lambda corpus: corpus._bound.database)


if TYPE_CHECKING:

    class _Verbs(
        collocates.Verbs,
        count.Verbs,
        dispersion.Verbs,
        dist.Verbs,
        docs.Verbs,
        generate.Verbs,
        keywords.Verbs,
        kwic.Verbs,
        ngrams.Verbs,
        prob.Verbs,
        score.Verbs,
        trace.Verbs,
    ): ...
else:
    _Verbs = object


class Corpus(_Verbs):
    """A corpus of a connection. Made by `Connection.corpus` and `create_corpus`; may be shared by threads.

    It answers from the connection's current version: own commits are seen at once, those of other processes
    after the next statement or `Connection.refresh`. Every method that takes an n-gram takes text or token
    ids; text is tokenized by the corpus's own tokenizer, and an out-of-vocabulary word occurs nowhere.

    A condition is text as after WHERE, with `?` or `:name` for the values that are given as `params`. One
    that cannot be parsed or bound raises QueryError, and so does a value that is missing.
    """

    _bound: BoundCorpus

    def __init__(self, database: Database, name: str, at_once: bool = True) -> None:
        """`at_once`: whether the corpus is opened now, or by the first question."""
        self.name = name
        self._bound = BoundCorpus(database, name, at_once)

    def __reduce__(self) -> tuple[Any, ...]:
        """The name and the database, which is opened anew where this is unpickled."""
        return _reopened, (self._bound.database, self.name, self._bound.conditions)

    # ---- properties -------------------------------------------------------------------------------------

    @property
    def n_documents(self) -> int:
        """How many documents there are."""
        return self._bound.current().n_documents

    @property
    def n_tokens(self) -> int:
        """How many tokens there are, separators not counted; the count of the empty n-gram."""
        return self._bound.current().n_tokens

    @property
    def tokenizer(self) -> Any:
        """The corpus's tokenizer, with `encode` and `decode`."""
        return self._bound.current().tokenizer

    def __repr__(self) -> str:
        try:
            view = self._bound.current()
        except NgramdbError as error:  # debuggers and logs show objects whatever their state
            return f"<ngramdb.Corpus {self.name}: {error}>"
        n_segments = len(view.index.signs)
        return (
            f"<ngramdb.Corpus {view.entry.name}: "
            f"{view.n_documents:,} document{'' if view.n_documents == 1 else 's'}, "
            f"{view.n_tokens:,} token{'' if view.n_tokens == 1 else 's'}, "
            f"{n_segments:,} segment{'' if n_segments == 1 else 's'}, tokenizer {view.tokenizer_title}>"
        )

    def _repr_html_(self) -> str:
        """The properties of the corpus, as DESCRIBE lists them."""
        try:
            view = self._bound.current()
            described = self._bound.run(describe.DescribeCorpus(view))
        except NgramdbError:
            return notebook.table((), (), [repr(self)])
        return described._repr_html_()

    def where(self, condition: str, *, params: ParameterValues = None) -> Corpus:
        """The documents that meet a condition, as a corpus for reading: every verb that asks works on it.

        Answers are those of a corpus into which only these documents were loaded, under every model. It
        follows the database's versions as the corpus does.

        Parameters
        ----------
        condition : str
            What would stand after WHERE, with `?` or `:name` for `params`.
        params : sequence or mapping, optional
            Values of the condition's placeholders.

        Returns
        -------
        Corpus
            Verbs that change a corpus raise NotSupportedError on it.

        Raises
        ------
        ResourceError
            More than 200 million tokens would have to be indexed.

        Notes
        -----
        Cost: finding the documents, and some 0.1 µs for each of their tokens or of the others', whichever
        are fewer, once for a condition and version.
        """
        part = object.__new__(Corpus)
        part.name = self.name
        part._bound = parts.BoundPart(self._bound, condition, params)
        return part

    def _among(self, where: str | None, params: ParameterValues) -> Corpus:
        """The corpus, or the part of it that a verb is asked about."""
        if where is not None:
            return self.where(where, params=params)
        if params is not None:
            raise InvalidArgument("params are the values of a condition, and where has none")
        return self

    @_letting_go
    @bool_arguments.checked
    def copy(self, name: str, if_not_exists: bool = False) -> Corpus:
        """Make a corpus of these documents, in one commit: CREATE CORPUS … AS. Of a part, too (`where`).

        Their tokens, texts, metadata and ids are copied, tokenizer, vocabulary and options are the same.

        Parameters
        ----------
        name : any non-empty text; statements need backquotes around names that are not plain words
        if_not_exists : return the existing corpus of that name, whatever its documents

        Raises
        ------
        BindError
            There is a corpus of that name.
        NotSupportedError
            The documents are those of an attached index.

        Notes
        -----
        Cost: as `compact`: 5 to 80 ns per token, and that of texts and metadata.
        """
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"a corpus's name is a non-empty str, not {name!r}")
        self._bound.run(self._bound.copying(name, if_not_exists))
        return Corpus(self._bound.database, name)

    # ---- adding documents -------------------------------------------------------------------------------

    @_letting_go
    def append(
        self,
        docs: Documents,
        progress: LoadCallback | None = None,
        *,
        key: str | None = None,
        on_conflict: str = "error",
    ) -> LoadReport:
        """Add documents in one commit; if any of them fails, none is added.

        Parameters
        ----------
        docs : an iterable of str, dict (`text` or `ids`, everything else is metadata), or `(ids, metadata)`;
            or a table with a column `text` (or `ids`), whose rows are documents: a frame of pandas or polars,
            or any object with `__arrow_c_stream__`; or an iterable of such tables
        progress : called at most ten times a second with the progress of the load
        key : the metadata field, a string or an integer, that identifies a document
        on_conflict : for a document whose key occurred before, in the corpus or in `docs`: 'error'; 'skip'
            leaves it out; 'replace' removes the earlier one in the same commit

        Returns
        -------
        The numbers of documents, tokens and segments that were added, and the new version; with a key also
        those of `duplicates` (left out) and `replaced` documents.

        Raises
        ------
        LoadError
            An item is not a document, or its key is missing, invalid or occurred before; the message has the
            item's position.
        InvalidArgument
            A single document instead of an iterable, a table without such a column, or an iterable of names.
        """
        self._bound.check_whole("append")
        keys = document_keys.DocumentKeys.of(key, on_conflict)
        # Not the corpus's view as questions use it, which opens every segment.
        database = self._bound.database
        tokenizer = database.snapshot.view(self.name).tokenizer
        documents, errors = given_documents.as_documents(docs, tokenizer.kind, tokenizer.n_vocabulary)
        stream = loads.Stream(documents, errors, keys)
        with self._bound.work(), database.change(self.name, f"append to {self.name}") as change:
            return loads.load_stream(change, stream, progress)

    @_letting_go
    def load(
        self,
        paths: Paths | Table,
        text: str | None = None,
        format: str | None = None,
        limit: int | None = None,
        on_error: str = "fail",
        progress: LoadCallback | None = None,
        **options: Unpack[LoadOptions],
    ) -> LoadReport:
        """Add the documents of files in one commit, or in several: COPY … FROM.

        Parameters
        ----------
        paths : files, globs, folders, or '-' for standard input; what gzip, Zstandard, bzip2 or xz has
            compressed is unpacked. Or a table, whose rows are documents: a frame of pandas or polars, or
            whatever else has `__arrow_c_stream__`
        text : path of the JSON field, or the column of a table, with a document's text; "text" when not given
        format : one of `ngramdb.formats.READ` ('jsonl', 'parquet', …); by the files' names and first bytes
            when not given
        limit : the greatest number of documents to read
        on_error : 'fail', or 'skip' to count documents and files that can't be read, and continue
        progress : called at most ten times a second with the progress of the load
        options : `ids`, `metadata`, `separator`, `dtype`, `quotes`, `max_document_bytes`, `commit_every`,
            `resume`, `key` and `on_conflict`, as COPY takes them

        Raises
        ------
        LoadError, InvalidArgument
            A file or a document that can't be read (with file and line), or an invalid option.
        """
        self._bound.check_whole("load")
        if not isinstance(on_error, str) or on_error not in ("fail", "skip"):
            raise InvalidArgument(f"on_error is 'fail' or 'skip', not {on_error!r}")
        given = {**options, "text": text, "format": format, "limit": limit}
        checked = {name: _checked(name, value) for name, value in given.items() if value is not None}
        database, skip = self._bound.database, on_error == "skip"
        if arrow_objects.is_table(paths):
            request = loading.LoadRequest((), skip, **checked)
            with self._bound.work():
                return corpora.load_table(database, self.name, request, paths, progress)
        names = given_documents.as_paths(
            paths, "load takes a path, a list of paths or a table (append takes documents)"
        )
        request = loading.LoadRequest(tuple(names), skip, **checked)
        with self._bound.work():
            return corpora.load_files(database, self.name, request, progress)

    # ---- removing documents, and changing the corpus ---------------------------------------------------

    @_letting_go
    def delete(self, where: str, *, params: ParameterValues = None, reason: str = "") -> int:
        """Remove the documents that meet a condition, in one commit: DELETE DOCS.

        Earlier versions keep the documents.

        Parameters
        ----------
        where, params : a condition as after WHERE
        reason : the reason, for the audit record

        Returns
        -------
        The number of documents that were removed.

        Raises
        ------
        InvalidArgument
            A reason that is not a str.

        Notes
        -----
        Cost: that of finding the documents, and some 100 ns for each of their tokens.
        """
        self._bound.check_whole("delete")
        if not isinstance(reason, str):
            raise InvalidArgument(f"a reason is a str, not {type(reason).__name__}")
        try:
            reason.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgument(f"the reason is not valid Unicode at position {error.start}") from error
        tree, placeholders, _ = parsing.parsed_condition(where)
        values = parameters.Parameters(placeholders, params, where)

        def bind(catalog: Catalog, corpus: CorpusView) -> DocExpr:
            bound = binder.Binder(catalog, values, where)
            bound.removes = True
            found = bound.condition(tree, corpus)
            if bound.phrases:  # before anything is removed: a filter may make an error of a warning
                python_warnings.warn(cautions.cautions_of_removed(bound.phrases))
            return found

        with self._bound.work():
            session = self._bound.session()
            statement = values.told(f"DELETE DOCS WHERE {where}", tree, session.match())
            return delete.remove(session, self.name, bind, statement, reason).documents

    @_letting_go
    def compact(self) -> CompactionOutcome:
        """Merge small segments and drop removed documents; answers stay the same: COMPACT.

        Returns
        -------
        The numbers of segments and bytes before and after, and the new version.

        Notes
        -----
        Cost: 30 to 130 ns per token of the segments that are merged; 5 ns per row where one is filtered.
        """
        self._bound.check_whole("compact")
        bound = self._bound
        with bound.work(), bound.database.change(self.name, f"compact {self.name}") as change:
            return change.compact()

    def warm(self, progress: ProgressCallback | None = None) -> WarmedIndex:
        """Read as much of the index as fits into memory, so that questions need not wait for the disk.

        What is read is verified, too. Other processes benefit as well, save that they verify for themselves.
        `SET prewarm = 'on'` does the same at the first question.

        Parameters
        ----------
        progress : callable, optional
            Called at most ten times a second with the work, whose `fraction` is the part that is done.

        Raises
        ------
        QueryCancelled
            Interrupted; the part that has been read stays in memory.
        """
        self._bound.check_whole("warm")
        with self._bound.database.work(progress=progress):
            return self._bound.current().warm()

    @_letting_go
    def restore(self, version: int | str) -> RestoreOutcome:
        """Return to the documents of an earlier version, in one commit: RESTORE CORPUS … TO VERSION.

        Parameters
        ----------
        version : a version that is still kept, by its number or the name that `Connection.keep_version` gave
            it; `SHOW VERSIONS` lists them

        Raises
        ------
        BindError
            The version is not kept, or has no such corpus.
        InvalidArgument
            The version is neither a whole number nor a str.

        Notes
        -----
        Cost: one manifest; no file of the corpus is touched.
        """
        self._bound.check_whole("restore")
        with self._bound.work():
            session = self._bound.session()
            number = to_ast.version_number(version, session.version_number)
            return session.run_restore(self.name, number)

    @_letting_go
    def add(self, other: str | Corpus) -> ChangeOutcome:
        """Add all documents of another corpus permanently: ALTER CORPUS … ADD CORPUS.

        Parameters
        ----------
        other : a whole corpus of the same database, or its name; vocabularies of `words` may differ

        Raises
        ------
        BindError
            There is no such corpus, or the tokenizers differ.
        InvalidArgument, NotSupportedError
            A corpus of another database, or a part of one.

        Notes
        -----
        Cost: a manifest; with different vocabularies some 100 ns per token of `other`.
        """
        self._bound.check_whole("add")
        return self._combine(1, other)

    @_letting_go
    def subtract(self, other: str | Corpus) -> ChangeOutcome:
        """Remove, for each document of another corpus, an equal one: ALTER CORPUS … SUBTRACT CORPUS.

        Documents with the same tokens are equal. Of several equal ones, the first with the same text and
        metadata is removed, otherwise the first with the same text.

        Parameters
        ----------
        other : a whole corpus of the same database, or its name

        Raises
        ------
        ExecutionError
            The other corpus has a document that does not occur in this one; nothing is removed.
        BindError
            There is no such corpus, or the tokenizers differ.
        InvalidArgument, NotSupportedError
            A corpus of another database, or a part of one.

        Notes
        -----
        Cost: 20 µs per document of `other` and segment, and that of removing the documents.
        """
        self._bound.check_whole("subtract")
        return self._combine(-1, other)

    def _combine(self, sign: int, other: str | Corpus) -> ChangeOutcome:
        verb = "ADD" if sign > 0 else "SUBTRACT"
        name = self._bound.name_of(other._bound, verb.lower()) if isinstance(other, Corpus) else other
        if not isinstance(name, str):
            raise InvalidArgument(f"the other corpus is a Corpus or its name, not {type(name).__name__}")
        statement = f"ALTER CORPUS {self.name} {verb} CORPUS {name}"
        with self._bound.work():
            return self._bound.session().run_alter(self.name, name, sign, None, statement)

    # ---- evaluation sets --------------------------------------------------------------------------------

    @_letting_go
    @bool_arguments.checked
    def decontaminate(
        self,
        against: Path | Sequence[Path],
        *,
        n: int = 13,
        threshold: float = 0.8,
        strict: bool = False,
        lower: bool = False,
        fold_space: bool = False,
        text: str | None = None,
        format: str | None = None,
        separator: str | None = None,
        source_field: str | None = None,
        dry_run: bool = False,
        report: Path | None = None,
    ) -> DecontaminationReport:
        """Remove documents at least a share of whose n-grams occurs in an evaluation set, in one commit.

        The report's `table` has a row for each set and source: set, source, documents, contaminated ones,
        their share; `overlaps` has for each set everything that it shares with the corpus.

        Parameters
        ----------
        against : files of any format that `load` reads, an evaluation set each; a line of text is an item
        n, threshold : tokens of an n-gram, and the share, from 0 (any overlap) to 1
        strict : remove documents above the share only, not those that equal it
        lower, fold_space : ignore letters' case, ignore white space; n-grams are then of words
        text : the JSON field of an item that is compared
        format, separator : how the files are read, as by `load`: "text" for a file that is one item, or has
            the separator's line between two
        source_field : the metadata field by which the table is grouped; without it, `source`
        dry_run : find and report, without removing
        report : a file of JSON lines to write: documents, shares, spans, items

        Raises
        ------
        InvalidArgument
            A number out of range, or a missing file.
        LoadError, ExecutionError
            A set that can't be read, or a report that can't be written; nothing is removed.
        """
        self._bound.check_whole("decontaminate")
        options = {"text": text, "format": format, "separator": separator}
        given = {name: _checked(name, value) for name, value in options.items() if value is not None}
        if source_field is not None and not isinstance(source_field, str):
            raise InvalidArgument(f"source_field is the path of a field, not {source_field!r}")
        with self._bound.work():
            return decontaminating.decontaminate(
                self._bound.database,
                self.name,
                against,
                contamination.Criterion(n, threshold, strict, lower, fold_space),
                reading=contamination.Reading(**given),
                source_field=source_field,
                dry_run=dry_run,
                report=None if report is None else given_documents.as_path(report),
            )

    # ---- one question -----------------------------------------------------------------------------------

    # ---- texts around occurrences, n-grams, spans -------------------------------------------------------

    def document(self, doc_id: int) -> StoredDocument:
        """Read one document: its text, metadata and token ids.

        Parameters
        ----------
        doc_id : its id, as tables show it

        Raises
        ------
        InvalidArgument
            The corpus has no such document.
        """
        with self._bound.work():
            return python_warnings.document(self._bound.current(), doc_id)

    def trace_arrays(self, text: Ngram, min_length: int = 1) -> Spans:
        """The spans of `trace` as arrays, without their documents.

        Parameters
        ----------
        text : text or token ids
        min_length : the least number of tokens of a span

        Returns
        -------
        `starts`, `lengths` and `counts`, (k,) int64 each.
        """
        min_length = to_ast.whole(1, "min_length", min_length)
        view = self._bound.current()
        with self._bound.work():
            ids = self._bound.passage(text)
            found = trace_plan.maximal_spans(trace_plan.longest_matches(view.index, ids), min_length)
        return results.Spans(found.starts, found.stops - found.starts, found.counts)

    def match_lengths(self, text: Ngram) -> NDArray[np.int64]:
        """Measure, for each token of a text, the longest n-gram of the corpus that begins there.

        Parameters
        ----------
        text : text or token ids

        Returns
        -------
        (n,) int64 : lengths in tokens; 0 where the token itself does not occur

        Notes
        -----
        Cost: about a microsecond per token and segment.
        """
        view = self._bound.current()
        with self._bound.work():
            ids = self._bound.passage(text)
            return trace_plan.match_ends(trace_plan.longest_matches(view.index, ids)) - np.arange(len(ids))

    # ---- many questions ---------------------------------------------------------------------------------

    def count_many(self, ngrams: Ngrams) -> NDArray[np.int64]:
        """The counts of many n-grams, in one kernel call with the GIL released.

        Parameters
        ----------
        ngrams : a list of n-grams, or a pair `(flat ids, offsets)` of arrays; the setting `match` applies
            to texts

        Returns
        -------
        (n,) int64

        Raises
        ------
        InvalidArgument
            Offsets that do not rise from 0 to the number of ids, or an invalid n-gram; the message has its
            position.

        Notes
        -----
        Cost: about 0.1 to 0.3 µs per n-gram and segment; large batches use all free cores. If the setting
        `match` is not `tokens`, a list with texts costs one COUNT for each n-gram.
        """
        view = self._bound.current()
        ngrams = packing.listed(ngrams)
        matched = self._bound.database.settings.match != "tokens"
        if matched and isinstance(ngrams, list) and any(isinstance(ngram, str) for ngram in ngrams):
            return model_queries.count_as_set(self._bound, ngrams)
        with self._bound.work():
            flat, offsets = packing.pack(ngrams, self._bound.encode_ngram, packing.unchecked_ids)
            try:
                counts: NDArray[np.int64] = view.index.count_many(flat, offsets)
            except ValueError:
                packing.pack(ngrams, self._bound.encode_ngram)  # names the first id that is none
                raise
        if isinstance(ngrams, list) and not counts.all():
            python_warnings.warn_of_many(view, ngrams, np.flatnonzero(counts == 0))
        return counts

    # ---- language models: a model is what stands after USING, or an object of `ngramdb.lm` --------------

    def dist_arrays(self, given: Ngram = (), model: ModelLike = "ngram") -> NextTokens:
        """The distribution of `dist` as arrays, by token id, straight from the kernel.

        Parameters
        ----------
        given : the context, text or token ids
        model : a model whose probabilities are ratios of counts: n-gram or ∞-gram, without MIN COUNT; for
            others `language_model(model).dist(ids)` returns arrays of probabilities

        Raises
        ------
        InvalidArgument
            Any other model.

        Notes
        -----
        Cost: one read per different successor, and a pass over the occurrences; microseconds for contexts
        that occur up to thousands of times.
        """
        bound = self._bound
        if bound.snapshot.is_past:
            bound.rebind()
        if type(model) is str and model == "ngram" and type(given) is list and bound.prob is not None:
            # The usual question goes to the kernel as it is, as in `count`.
            dist = bound.dist
            try:
                found = dist(given, False, 0, model_queries.FEW)
            except (TypeError, OverflowError, ValueError):
                found = None  # what is wrong with it is found out, and said, below
            if found is not None:
                ids, counts, n_end, context_count, n = found
                return _new(results.NextTokens, (ids, counts, n_end, context_count, n + 1))
        return model_queries.next_tokens(bound, given, model_queries.counted(model))

    def dist_many(self, contexts: Ngrams, model: ModelLike = "ngram") -> NextTokensMany:
        """The distributions of many contexts as arrays, in one kernel call.

        Parameters
        ----------
        contexts : a list of n-grams, or a pair `(flat ids, offsets)` of arrays
        model : as `dist_arrays` takes it
        """
        return model_queries.next_tokens_many(self._bound, contexts, model_queries.counted(model))

    def prob_many(self, contexts: Ngrams, continuations: Ngrams | Ids, model: ModelLike = "ngram") -> Scores:
        """Many probabilities in one kernel call: entry i is P(continuations[i] | contexts[i]), with counts.

        Parameters
        ----------
        contexts : a list of n-grams, or a pair `(flat ids, offsets)` of arrays
        continuations : an array of token ids, one per context; or a list of n-grams
        model : as `prob` takes it

        Raises
        ------
        InvalidArgument
            Numbers of contexts and continuations that differ, or a continuation without tokens.
        """
        return model_queries.probabilities(self._bound, contexts, continuations, models.as_model(model))

    @bool_arguments.checked
    def score_many(
        self, docs: Ngrams, model: ModelLike = "ngram", *, document: bool = False, sentence: bool = False
    ) -> DocumentScores:
        """The scores of many documents in one kernel call; item i equals `score(docs[i])`.

        Parameters
        ----------
        docs : a list of texts or of token ids, or a pair of arrays `(flat ids, offsets)`
        model, document, sentence : as `score` takes them
        """
        used, unit = models.as_model(model), units.unit_of(document, sentence)
        with self._bound.work():
            view = units.corpus_for(unit, self._bound)
            flat, offsets = units.packed(view, unit, docs, self._bound.encode)
            scores = scoring.token_scores(view, flat, offsets, used, unit is not None)
        bounds = offsets if unit is None else offsets + np.arange(len(offsets))
        return results.DocumentScores(results.Scores.of(scores, used.is_probability), bounds)

    @_letting_go
    def analyze(self, order: int | None = None) -> AnalysisReport:
        """Count the counts of counts that Kneser-Ney's discounts are estimated from, and store them: ANALYZE.

        One commit; a no-op if the corpus has not changed since, and no other order is given. Without it they
        are counted in memory when they are first needed.

        Parameters
        ----------
        order : the greatest length of n-grams with separate discounts, 2 to 1,000; by default 10, or 50
            where tokens are characters or bytes. Longer n-grams reuse the last that could be estimated.

        Raises
        ------
        InvalidArgument
            An order that is not a whole number from 2 to 1,000.

        Notes
        -----
        Cost: a pass over the index, less than building it. Source: Chen & Goodman 1999, section 3.
        """
        self._bound.check_whole("analyze")
        with self._bound.work():
            return corpora.analyze(self._bound.database, self.name, order)

    @bool_arguments.checked
    def language_model(self, model: ModelLike = "kneser_ney", *, sentences: bool = False) -> LanguageModel:
        """The model over the corpus's current version, as `ngramdb.lm.make` makes it.

        Its methods take and return token ids and arrays, including `<s>` and `</s>` (`ngramdb.lm.BEGIN` and
        `END`). It stays at this version, also after later commits.

        Parameters
        ----------
        model : as `prob` takes it
        sentences : make a model of the corpus whose documents are the sentences of this one, as `score` with
            `sentence` uses it; its `index.separator` ends sentences inside texts

        Raises
        ------
        InvalidArgument
            An unknown model.
        PlanError, ResourceError
            As `score` raises them with `sentence`.
        """
        with self._bound.work():
            view = units.corpus_for("sentence" if sentences else None, self._bound)
            return model_cache.language_model(view, models.as_model(model))

    # ---- making text ------------------------------------------------------------------------------------

    def draft(self, given: Ngram, n: int, *, least_prob: float = 0.0, least_count: int = 1) -> Draft:
        """The most frequent continuation in the corpus, for a larger model to check (speculative decoding).

        Each token is the most frequent one after the longest suffix of the context that occurs.

        Parameters
        ----------
        given : the context, text or token ids
        n : the greatest number of tokens
        least_prob : stop before a token that is less probable
        least_count : use shorter suffixes until one occurs this often; a suffix that occurs once predicts its
            successor with probability 1

        Returns
        -------
        `ids`, `probs` and `effective_n` are arrays, `confidence` is the product of the probabilities.
        """
        view = self._bound.current()
        if isinstance(given, str):
            python_warnings.warn_of(view, given)
        with self._bound.work():
            return evaluation.draft(view, self._bound.ids(given), n, least_prob, least_count)

    # ---- evaluation -------------------------------------------------------------------------------------

    @bool_arguments.checked
    def perplexity(
        self,
        docs: Documents,
        model: ModelLike = "kneser_ney",
        *,
        document: bool | None = None,
        sentence: bool | None = None,
        progress: Progress | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Perplexity:
        """The perplexity of documents under a model of the corpus, with out-of-vocabulary words and without.

        Parameters
        ----------
        docs : texts, sequences of token ids, dicts with `text` or `ids`
        model : as `prob` takes it
        document, sentence : as `score` takes them; documents if neither is given
        progress : called after each batch with the numbers of documents and tokens so far
        where, params : the model is of the documents that meet this condition, as `prob` takes them

        Returns
        -------
        An object with `perplexity`, `perplexity_known` (known words only), `per_document`, `n_tokens`,
        `n_unknown`, `n_zero`, `bits_per_byte`, `bits_per_character`, …: `ngramdb.lm.Perplexity`.
        """
        unit = units.unit_of(document, sentence, "document")
        bound = self._among(where, params)._bound
        with bound.work():
            view = units.corpus_for(unit, bound)
            used = model_cache.language_model(view, models.as_model(model))
            return evaluation.perplexity(used, view, docs, unit, progress)

    @bool_arguments.checked
    def agreement(
        self,
        docs: Documents,
        model: ModelLike = "infgram",
        *,
        document: bool = False,
        sentence: bool = False,
        skip: int = 0,
        progress: Progress | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Agreement:
        """Count the tokens of documents that a model gives a probability above one half, by effective n.

        Parameters
        ----------
        docs, model, progress, where, params : as `perplexity` takes them
        document, sentence : as `score` takes them
        skip : the number of tokens at the start of each document, a prompt for example, that are context only

        Returns
        -------
        An `ngramdb.lm.Agreement`: `share` of all tokens, `n_tokens` and `n_agreeing` by effective n, and the
        same for sparse estimates alone.

        Notes
        -----
        Source: Liu et al. 2024, section 4.
        """
        unit = units.unit_of(document, sentence)
        bound = self._among(where, params)._bound
        with bound.work():
            view = units.corpus_for(unit, bound)
            used = model_cache.language_model(view, models.as_model(model))
            return evaluation.agreement(used, view, docs, unit, skip, progress)

    def export_arpa(self, path: str | os.PathLike[str], order: int) -> list[int]:
        r"""Write the Kneser-Ney model of an order as an ARPA file.

        The file appears under its name when it is complete; it is compressed if the name ends in .gz, .zst,
        .bz2 or .xz.

        Parameters
        ----------
        path : the file
        order : the greatest length of n-grams, at least 2

        Returns
        -------
        The numbers of n-grams of each length.

        Raises
        ------
        InvalidArgument
            An order below 2.

        Notes
        -----
        A blank in a token is written as `▁`, other white space as `\u000a`; a token without text, or with the
        text of another one or of `<s>`, `</s>` and `<unk>`, as its id: `id:17`.

        Cost: about half a microsecond and 25 bytes of memory per n-gram; the file is written in pieces.
        """
        view = self._bound.current()
        with self._bound.work():
            return evaluation.export_arpa(view, given_documents.as_path(path), order)

    def export_infini_gram(
        self,
        folder: Path,
        *,
        version: int = 4,
        shards: int = 1,
        token_dtype: str | None = None,
    ) -> int:
        """Write the corpus as an index that infini-gram reads; the number of documents.

        The folder is made, with everything in it or not at all.

        Parameters
        ----------
        version : 4, or 5, whose documents are reversed
        shards : documents are dealt over so many
        token_dtype : 'u8', 'u16' or 'u32'; by the largest token id when not given

        Raises
        ------
        InvalidArgument
            The folder is there already, token ids do not fit, or an argument that makes no sense.
        ExecutionError
            The files cannot be written.

        Notes
        -----
        Cost: that of building an index; about 20 bytes of memory a token of a shard.
        """
        layout = infini_gram_files.Layout(version, shards, token_dtype)
        with self._bound.work():
            return infini_gram_files.write_index(
                self._bound.current(), given_documents.as_path(folder), layout
            )

    # ---- files ------------------------------------------------------------------------------------------

    def export(
        self,
        path: Path,
        where: str | None = None,
        *,
        format: str | None = None,
        params: ParameterValues = None,
    ) -> int:
        """Write the documents that meet a condition (all without one) to a file: COPY (DOCS …) TO.

        Text and metadata are those that were loaded. The file appears under its name when it is complete.

        Parameters
        ----------
        path : the file
        where, params : a condition as after WHERE
        format : 'jsonl' (compressed if the name ends in .gz, .zst, .bz2 or .xz) or 'parquet'; by
            default from the name

        Returns
        -------
        The number of documents.

        Raises
        ------
        ExecutionError, InvalidArgument
            A file that can't be written, of which nothing remains, or an unknown format.
        """
        view = self._bound.current()
        found, phrases = self._bound.condition(where, params, view)
        documents = docs_plan.Documents(view, found)
        options = {} if format is None else {"format": format}
        name = given_documents.as_path(path)
        return self._bound.number(copying.ExportDocuments(documents, name, options, phrases=phrases))

    def removals(self) -> Removals:
        """The removals so far, oldest first: SHOW REMOVALS.

        Returns
        -------
        A list, printed as a table, of objects with `version`, `created` (seconds since 1970, UTC), `by`,
        `statement`, `reason` (as given to `delete`, otherwise ""), `n_documents`, `n_tokens`.
        """
        self._bound.check_whole("removals")
        view = self._bound.current()
        with self._bound.work():
            return removals.Removals(audit.removals(self._bound.database.store, view.entry.audits))

    def removed_documents(self) -> Iterator[RemovedDocument]:
        """Every removed document, oldest removal first.

        Returns
        -------
        An iterator of objects with `removal`, `doc_id`, and `details`: as far as known, the document's `id`
        and `source`, the `reason` for this document, its `key` if a load replaced it, and `matches` (`ngram`
        and `position`, in tokens).
        """
        self._bound.check_whole("removed_documents")
        found = audit.removed_documents(self._bound.database.store, self._bound.current().entry.audits)
        return under(self._bound.work(), found)

    def export_removals(self, path: Path, *, format: str | None = None) -> int:
        """Write the records of removed documents to a file.

        The first document of each removal has its statement, which may be long; the others have its version.

        Parameters
        ----------
        path, format : as `export` takes them

        Returns
        -------
        The number of records.

        Raises
        ------
        ExecutionError, InvalidArgument
            A file that can't be written, of which nothing remains, or an unknown format.
        """
        self._bound.check_whole("export_removals")
        with self._bound.work():
            name = given_documents.as_path(path)
            return exporting.export_removals(self.removed_documents(), name, format)


verbs.attach(Corpus)


def _checked(name: str, value: Any) -> Any:
    if name not in options.LOAD_OPTIONS:
        raise InvalidArgument(f"no option {name!r}; known: {', '.join(options.LOAD_OPTIONS)}")
    return options.LOAD_OPTIONS[name].check(name, value)


def _reopened(database: Database, name: str, conditions: Sequence[tuple[str, ParameterValues]]) -> Corpus:
    """A corpus, or a part of one, of a database that was opened anew."""
    corpus = Corpus(database, name)
    for condition, params in conditions:
        corpus = corpus.where(condition, params=params)
    return corpus
