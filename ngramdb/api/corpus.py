"""A corpus: the language's verbs as methods, and array verbs that ask millions of questions at once.

A method of more than a few lines calls the module that does its work: `asking` (language models), `bound`
(n-grams and conditions bound to the corpus), `trees`, `exporting`, `decontaminating`, `evaluation`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ngramdb import bool_arguments, notebook
from ngramdb.api.corpus_handle import BoundCorpus
from ngramdb.api.database import Database, letting_go
from ngramdb.api.verbs import model_queries
from ngramdb.errors import InvalidArgument, NgramdbError
from ngramdb.interrupts import under
from ngramdb.lazy import lazy_module
from ngramdb.limits import MAX_INTEGER

if TYPE_CHECKING:
    from ngramdb.api import build_part as parts
    from ngramdb.api import parsing, patterns, results
    from ngramdb.api.arguments import documents as given_documents
    from ngramdb.api.arguments import models, packing, to_ast, units
    from ngramdb.api.arguments import tables as given_tables
    from ngramdb.api.arguments.signatures import (
        Documents,
        Ids,
        LoadOptions,
        ModelLike,
        Ngram,
        Ngrams,
        Table,
        Unpack,
    )
    from ngramdb.api.patterns import Pattern
    from ngramdb.api.results import (
        DocumentScores,
        Generated,
        NextTokens,
        NextTokensMany,
        Places,
        Probability,
        Removals,
        Scores,
        Spans,
        StoredDocument,
    )
    from ngramdb.api.verbs import (
        contamination,
        corpora,
        decontaminating,
        evaluation,
        exporting,
        loading,
        python_warnings,
    )
    from ngramdb.api.verbs.corpora import AnalysisReport
    from ngramdb.api.verbs.decontaminating import DecontaminationReport
    from ngramdb.api.verbs.loading import LoadCallback, LoadReport
    from ngramdb.engine.changes import audit, document_keys
    from ngramdb.engine.changes.audit import RemovedDocument
    from ngramdb.engine.changes.change import ChangeOutcome
    from ngramdb.engine.changes.compaction import CompactionOutcome
    from ngramdb.engine.changes.deletion import RestoreOutcome
    from ngramdb.engine.corpus import infini_gram_files
    from ngramdb.engine.corpus.memory_residency import WarmedIndex
    from ngramdb.executor.questions import generating, scoring
    from ngramdb.executor.questions import models as model_cache
    from ngramdb.executor.questions import trace as spans
    from ngramdb.executor.results.result import Result
    from ngramdb.executor.statements import changes
    from ngramdb.interrupts import ProgressCallback
    from ngramdb.lm.agreement import Agreement
    from ngramdb.lm.evaluation import Perplexity, Progress
    from ngramdb.lm.generation import Draft
    from ngramdb.lm.models import LanguageModel
    from ngramdb.planner import binder, cautions, grams, options, parameters
    from ngramdb.planner import plan as plans
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import DocExpr
    from ngramdb.planner.source import Catalog
    from ngramdb.planner.source import Corpus as CorpusView
else:
    corpora = lazy_module("ngramdb.api.verbs.corpora")
    audit = lazy_module("ngramdb.engine.changes.audit")
    document_keys = lazy_module("ngramdb.engine.changes.document_keys")
    binder = lazy_module("ngramdb.planner.binder")
    python_warnings = lazy_module("ngramdb.api.verbs.python_warnings")
    cautions = lazy_module("ngramdb.planner.cautions")
    changes = lazy_module("ngramdb.executor.statements.changes")
    contamination = lazy_module("ngramdb.api.verbs.contamination")
    decontaminating = lazy_module("ngramdb.api.verbs.decontaminating")
    evaluation = lazy_module("ngramdb.api.verbs.evaluation")
    exporting = lazy_module("ngramdb.api.verbs.exporting")
    infini_gram_files = lazy_module("ngramdb.engine.corpus.infini_gram_files")
    generating = lazy_module("ngramdb.executor.questions.generating")
    given_documents = lazy_module("ngramdb.api.arguments.documents")
    given_tables = lazy_module("ngramdb.api.arguments.tables")
    grams = lazy_module("ngramdb.planner.grams")
    loading = lazy_module("ngramdb.api.verbs.loading")
    model_cache = lazy_module("ngramdb.executor.questions.models")
    models = lazy_module("ngramdb.api.arguments.models")
    options = lazy_module("ngramdb.planner.options")
    packing = lazy_module("ngramdb.api.arguments.packing")
    parameters = lazy_module("ngramdb.planner.parameters")
    parsing = lazy_module("ngramdb.api.parsing")
    patterns = lazy_module("ngramdb.api.patterns")
    parts = lazy_module("ngramdb.api.build_part")
    plans = lazy_module("ngramdb.planner.plan")
    python_warnings = lazy_module("ngramdb.api.verbs.python_warnings")
    results = lazy_module("ngramdb.api.results")
    scoring = lazy_module("ngramdb.executor.questions.scoring")
    spans = lazy_module("ngramdb.executor.questions.trace")
    to_ast = lazy_module("ngramdb.api.arguments.to_ast")
    units = lazy_module("ngramdb.api.arguments.units")

Path = str | os.PathLike[str]
Paths = Path | Sequence[Path]

# Makes a named tuple of a tuple, in half the time that its class takes.
_new = tuple.__new__

_letting_go = letting_go(lambda corpus: corpus._bound.database)


class Corpus:
    """A corpus of a connection. Made by `Connection.corpus` and `create_corpus`; may be shared by threads.

    It answers from the connection's current version: own commits are seen at once, those of other processes
    after the next statement or `Connection.refresh`. Every method that takes an n-gram takes text or token
    ids; text is tokenized by the corpus's own tokenizer, and an out-of-vocabulary word occurs nowhere.

    A condition is text as after WHERE, with `?` or `:name` for the values that are given as `params`. One
    that cannot be parsed or bound raises QueryError, and so does a value that is missing.
    """

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
            described = self._bound.run(plans.DescribeCorpus(view))
        except NgramdbError:
            return notebook.table((), (), [repr(self)])
        return described._repr_html_()

    def where(self, condition: str | None, *, params: ParameterValues = None) -> Corpus:
        """The documents that meet a condition, as a corpus for reading: every verb that asks works on it.

        Answers are those of a corpus into which only these documents were loaded, under every model. It
        follows the database's versions as the corpus does.

        Parameters
        ----------
        condition : str or None
            What would stand after WHERE, with `?` or `:name` for `params`; None for all documents.
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
        with self._bound.work():
            return loading.load(
                database, self.name, documents, f"append to {self.name}", progress, errors, keys
            )

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
        skip = on_error == "skip"
        if given_tables.is_table(paths):
            plan = plans.Load(self.name, (), checked, skip_errors=skip)
            with self._bound.work():
                return loading.load_table(self._bound.database, plan, paths, progress)
        names = given_documents.as_paths(
            paths, "load takes a path, a list of paths or a table (append takes documents)"
        )
        plan = plans.Load(self.name, tuple(names), checked, skip_errors=skip)
        with self._bound.work():
            return loading.load_files(self._bound.database, plan, progress)

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
            return changes.remove(session, self.name, bind, statement, reason).documents

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
            return session.run_restore(plans.RestoreCorpus(self.name, number))

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
            return self._bound.session().run_alter(plans.AlterCorpus(self.name, name, sign, None, statement))

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

    # Not for keywords only: looking up their defaults takes a tenth of the time of a question in token ids.
    def count(
        self,
        ngram: Ngram | Pattern,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> int:
        """The number of occurrences of an n-gram; `count([])` is the number of tokens.

        Parameters
        ----------
        ngram : text or token ids, or a pattern (`ngramdb.pattern`)
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies
        where, params : only in documents that meet this condition

        Raises
        ------
        InvalidArgument
            Something that is neither text nor token ids, or a text without tokens.

        Notes
        -----
        Cost: one search per segment, about a microsecond; some 0.1 µs more than the kernel's call.
        """
        bound = self._bound
        if match_text is not None or ignore_case is not None or where is not None or params is not None:
            match_text = bool_arguments.as_optional_flag("match_text", match_text)
            ignore_case = bool_arguments.as_optional_flag("ignore_case", ignore_case)
            return bound.number(bound.bind(to_ast.count(ngram, match_text, ignore_case), where, params))
        if bound.snapshot.is_past:
            bound.rebind()
        if type(ngram) is list:  # the usual question, by the million
            count = bound.count  # called as a method it would take Python 3.11 longer
            try:
                return count(ngram)
            except (TypeError, OverflowError, ValueError) as error:
                cause = error
            bound.refuse(ngram, cause)  # outside of the handler: one error, not two
        return model_queries.count(bound, ngram)

    @bool_arguments.checked
    def counts(
        self,
        ngrams: Ngram | Pattern | Sequence[Ngram],
        where: str | None = None,
        *,
        group_by: str | Sequence[str] | None = None,
        per_million: bool = False,
        order_by: str | Sequence[str] | None = None,
        descending: bool = False,
        top: int | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The numbers of occurrences of n-grams as a table, also by groups and per million: COUNT … GROUP BY.

        Parameters
        ----------
        ngrams : an n-gram, or a list or column of them: texts or token ids; or a pattern (`ngramdb.pattern`)
        where, params : only in documents that meet this condition
        group_by : the field, or the fields, or what GROUP BY takes: 'year / 10 * 10', 'MONTH(date)',
            'UNNEST(tags)', 'RIGHT 1', 'FORM'
        per_million : also the numbers of tokens, and of occurrences per million of them
        order_by : columns by which rows are ordered
        descending : the reverse order
        top : the greatest number of rows, by count
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies

        Returns
        -------
        Columns `ngram`, where there are several, those of `group_by`, `count`; `tokens` and `per_million`.

        Raises
        ------
        QueryError
            A condition or a group that cannot be parsed or bound, or a value that is missing.
        """
        table = to_ast.TableWanted(group_by, per_million, order_by, descending, top)
        with self._bound.work() as work:
            tree = to_ast.counts(ngrams, match_text, ignore_case, table)
        return self._bound.ask(tree, where, params, work)

    def docs(
        self,
        where: str | None = None,
        *,
        order_by: str | Sequence[str] | None = None,
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
        returning: str | Sequence[str] | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The documents that meet a condition, all without one: DOCS.

        Parameters
        ----------
        where, params : a condition as after WHERE
        order_by : one field or several; doc_id by default. Documents without the field come last
        descending : the reverse order
        limit, offset : the greatest number of rows, and the number of rows to pass over before them
        returning : the column, or the columns, that are wanted: fields, `doc_id`, `length`, `text`

        Returns
        -------
        A row per document; `summary['total']` is the exact number, also with a `limit`.

        Raises
        ------
        InvalidArgument
            A limit or an offset that is not a whole number of at least 0.
        """
        # Asked by the hundred thousand, so that what is usual is not looked at any further.
        if descending is not False:
            descending = bool_arguments.as_flag("descending", descending)
        if order_by is not None or returning is not None:
            tree = to_ast.docs(order_by, descending, limit, offset, returning)
            return self._bound.ask(tree, where, params)
        if limit is not None or type(offset) is not int or offset:
            limit, offset = to_ast.at_least(0, "limit", limit), to_ast.whole(0, "offset", offset)
        view = self._bound.current()
        found, phrases = self._bound.documents(where, params, view)
        return self._bound.run(plans.Documents(view, found, descending, limit, offset, phrases=phrases))

    def count_docs(self, where: str | None = None, *, params: ParameterValues = None) -> int:
        """The number of documents that meet a condition: COUNT DOCS.

        Parameters
        ----------
        where, params : a condition as after WHERE; all documents without one
        """
        view = self._bound.current()
        found, phrases = self._bound.documents(where, params, view)
        return self._bound.number(plans.CountDocuments(view, found, phrases=phrases))

    # ---- texts around occurrences, n-grams, spans -------------------------------------------------------

    @bool_arguments.checked
    def kwic(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        window: int | Literal["sentence"] | None = None,
        order_by: str | Sequence[str] | None = None,
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
        sample: int | None = None,
        seed: int | None = None,
        returning: str | Sequence[str] | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The occurrences of an n-gram with the text to the left and right of each: KWIC.

        Parameters
        ----------
        pattern : text or token ids, or a pattern (`ngramdb.pattern`)
        where, params : only in documents that meet this condition
        window : tokens on either side; 'sentence' for what is in the sentence of the occurrence
        order_by : 'doc_id' (then by position), 'left' or 'right', the text on that side; or the field, or the
            fields, of its document
        descending : the reverse order
        limit, offset : the greatest number of rows, and the number of rows to pass over before them
        sample, seed : the number of rows to draw at random; the same seed draws the same rows
        returning : the field, or the fields, of its document to put beside each line
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies

        Returns
        -------
        Columns `doc_id`, `position` (in tokens, from 0), `left`, `match`, `right`, and those of `returning`;
        `summary['total']` is the number of all occurrences, also with a `limit` or a `sample`.
        """
        lines = to_ast.LinesWanted(window, order_by, descending, limit, offset, sample, seed, returning)
        tree = to_ast.kwic(pattern, match_text, ignore_case, lines)
        return self._bound.ask(tree, where, params)

    @bool_arguments.checked
    def occurrences(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
    ) -> Places:
        """Where a pattern occurs, as arrays: the lines of KWIC without their texts.

        Parameters
        ----------
        pattern : text or token ids, or a pattern (`ngramdb.pattern`)
        where, params : only in documents that meet this condition
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies

        Returns
        -------
        `doc_ids`, `positions` (in tokens, from 0) and `lengths`, (n,) int64 each, by document and position.

        Notes
        -----
        Cost: some 20 ns per occurrence, and 24 bytes.
        """
        bound = self._bound
        tree = to_ast.kwic(pattern, match_text, ignore_case, to_ast.LinesWanted())
        plan = bound.optimized(bound.bind(tree, where, params))
        with bound.work():
            found = python_warnings.occurrences(plan)
        if not len(found.doc_ids) and plan.phrases:
            python_warnings.warn(cautions.cautions_of_nothing(plan))
        return found

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

    @bool_arguments.checked
    def collocates(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        window: int | tuple[int, int] | Literal["sentence"] = 5,
        by: str = "logdice",
        min_count: int = 1,
        top: int | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        within_sentence: bool = False,
        params: ParameterValues = None,
    ) -> Result:
        """The tokens near an n-gram, the most closely associated first: COLLOCATES.

        Parameters
        ----------
        pattern : text or token ids, or a pattern; those near others need the statement COLLOCATES
        where, params : only in documents that meet this condition
        window : tokens on either side, or a pair (left, right); 'sentence' is all of its sentence
        by : 'logdice' (Rychlý 2008), 'll' (log-likelihood over four cells, Dunning 1993), 'mi', 'mi3', 't',
            'z', 'logratio' or 'dice'; the first and the last use the number of occurrences, the others `f1`
        min_count : the least `f` of a token
        top : the greatest number of rows
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies
        within_sentence : whether a window ends with the occurrence's sentence

        Returns
        -------
        Columns `token`, `token_id`; `f`, `left` and `right`, how often it is in a window, and on which side;
        `f1`, `f2` and `N`, the numbers of positions in windows, with the token, and of all; and the measure.

        Raises
        ------
        InvalidArgument
            A number out of range, or a measure that does not exist.
        """
        tree = to_ast.collocates(
            pattern, match_text, ignore_case, window, within_sentence, by, min_count, top
        )
        return self._bound.ask(tree, where, params)

    def keywords(
        self,
        where: str | None = None,
        against: str | Corpus | None = None,
        *,
        n: int = 1,
        by: str = "ll",
        smoothing: float = 1.0,
        min_count: int = 1,
        top: int | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The n-grams of some documents that are more frequent than in others: KEYWORDS.

        Parameters
        ----------
        where : the condition of the documents, with `?` or `:name` for `params`; None for all
        against : the condition of the others, or another corpus of the database, which is compared as a
            whole; None for the rest of this one
        n : tokens of an n-gram
        by : 'll' (log-likelihood of the two counts, Rayson & Garside 2000), 'logratio', 'chi2' or 'simple', a
            ratio of frequencies
        smoothing : what 'simple' adds to both frequencies per million
        min_count : the least number of occurrences in both parts together
        top : the greatest number of rows
        params : the values of the conditions' parameters, those of `where` first

        Returns
        -------
        Columns `ngram`, `token_ids`; the counts in both parts, `f1` and `f2`; the tokens of both, `N1` and
        `N2`; the measure. What is rarer in the documents than in the others comes last.

        Raises
        ------
        InvalidArgument
            A number out of range, a measure that does not exist, or a corpus of another database.
        NotSupportedError
            A part of a corpus, beside another corpus.
        """
        other: str | None = None
        condition: str | None = None
        if isinstance(against, Corpus):
            verb = "keywords against another corpus"
            self._bound.check_whole(verb)
            other = self._bound.name_of(against._bound, verb)
        else:
            condition = against
        text = to_ast.keywords(self.name, where, condition, other, n, by, smoothing, min_count, top)
        return self._bound.run(self._bound.bind_text(text, params))

    @bool_arguments.checked
    def dispersion(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        by: str | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """How evenly an n-gram is spread over the corpus: DISPERSION.

        Parameters
        ----------
        pattern : text or token ids, or a pattern; those near others need the statement DISPERSION
        where, params : only in documents that meet this condition
        by : the field whose values are the parts of the corpus; None for documents
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies

        Returns
        -------
        One row: `count`; `range`, the number of parts with it, of so many `parts`; Gries' deviation of
        proportions `dp` and `dp_norm`, the divergence `dkl` in bits, the average reduced frequency `arf`.

        Raises
        ------
        QueryError
            A condition that cannot be parsed or bound, a field that no document has.
        """
        tree = to_ast.dispersion(pattern, match_text, ignore_case, by)
        return self._bound.ask(tree, where, params)

    @bool_arguments.checked
    def ngrams(
        self,
        n: int | tuple[int, int],
        where: str | None = None,
        *,
        top: int | None = None,
        min_count: int = 1,
        containing: Ngram | Pattern | None = None,
        starting: Ngram | None = None,
        ending: Ngram | None = None,
        ignore_case: bool = False,
        with_docs: bool = False,
        params: ParameterValues = None,
    ) -> Result:
        """The n-grams of `n` tokens, the most frequent first: NGRAMS.

        Parameters
        ----------
        n : tokens of an n-gram, or a pair, the least and the greatest number
        where, params : only in documents that meet this condition
        top : the greatest number of n-grams; without it all of them, made as they are read
        min_count : only n-grams that occur so often
        containing : only n-grams with this n-gram, or this pattern, in them
        starting, ending : only n-grams with this n-gram at their beginning or end
        ignore_case : count n-grams together that differ in letters' case only
        with_docs : in how many documents each occurs, as a column `docs`

        Returns
        -------
        Columns `ngram`, `token_ids`, `count`.
        """
        tree = to_ast.ngrams(n, top, min_count, containing, starting, ending, ignore_case, with_docs)
        return self._bound.ask(tree, where, params)

    def trace(
        self,
        text: Ngram,
        min_length: int = 1,
        *,
        docs: int | None = 10,
        returning: str | Sequence[str] | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The maximal spans of a text (or of token ids) that occur verbatim in the corpus: TRACE.

        Parameters
        ----------
        text : text or token ids
        min_length : the least number of tokens of a span
        docs : the number of documents that are listed for each span; None for all
        returning : the field, or the fields, of each document, which is then a row of its own
        where, params : only in documents that meet this condition

        Returns
        -------
        Columns `start` and `length` (in tokens), `span`, `count`, `doc_ids`; or `doc_id` and fields.

        Raises
        ------
        InvalidArgument
            A number out of range.
        """
        docs = to_ast.at_least(0, "docs", docs)
        plan = self._bound.bind(to_ast.trace(text, min_length, returning), where, params)
        return self._bound.run(replace(plan, n_documents=None if docs is None else min(docs, MAX_INTEGER)))

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
            found = spans.maximal_spans(spans.longest_matches(view.index, ids), min_length)
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
            return spans.match_ends(spans.longest_matches(view.index, ids)) - np.arange(len(ids))

    def sample(
        self,
        size: int,
        where: str | None = None,
        *,
        seed: int | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Draw documents at random from those that meet a condition: DOCS … SAMPLE.

        Parameters
        ----------
        size : the number of documents
        where, params : a condition as after WHERE; all documents without one
        seed : the same seed draws the same documents; without one a seed is drawn, `summary['seed']`
        """
        return self._bound.ask(to_ast.sample(size, seed), where, params)

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

    def prob(
        self,
        continuation: Ngram | int,
        given: Ngram = "",
        model: ModelLike = "ngram",
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Probability | None:
        """P(continuation | given): a float with its counts, or None where the context is unseen.

        Parameters
        ----------
        continuation : text, token ids, or one token id; for several tokens the chain rule is applied
        given : the context; empty for a token's share of the corpus
        model : as after USING: "ngram", "ngram order 3", "infgram", "kneser_ney", "backoff(0.4)", …
            or an object of `ngramdb.lm`
        where, params : as if there were only the documents that meet this condition (`Corpus.where`)

        Raises
        ------
        InvalidArgument
            A continuation without tokens, or an unknown model.

        Notes
        -----
        Cost: about a microsecond for a token id under n-gram and ∞-gram models. The formulas and their
        sources are in docs/models.md.
        """
        if where is not None or params is not None:
            return self._among(where, params).prob(continuation, given, model)
        bound = self._bound
        if bound.snapshot.is_past:
            bound.rebind()
        used = models.as_model(model)
        context = bound.encode_ngram(given) if type(given) is str else given
        token = continuation if type(continuation) is int else model_queries.single_token(continuation)
        if (
            token is not None
            and bound.prob is not None
            and used.counted
            and type(context) in (list, tuple, np.ndarray)
        ):
            # The usual question goes to the kernel as it is: checks here would cost more than the answer.
            try:
                step = bound.prob(context, token, used.infgram, used.limit)
                if not step[0] or (used.infgram and type(given) is str):
                    model_queries.warn_of_unseen(bound, continuation, given)
                return results.Probability(step[0] / step[1], step) if step[1] else None
            except (TypeError, OverflowError, ValueError):
                pass  # what is wrong with it is found out, and said, below
        found = model_queries.probability(bound, continuation if token is None else (token,), context, used)
        model_queries.warn_of_unseen(bound, continuation, given)
        return found

    def dist(
        self,
        given: Ngram = "",
        model: ModelLike = "ngram",
        top: int | None = None,
        *,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The next-token distribution of a context, the most probable token first: DIST.

        Parameters
        ----------
        given : the context, text or token ids
        model : as `prob` takes it
        top : the greatest number of rows
        where, params : as if there were only the documents that meet this condition (`Corpus.where`)

        Returns
        -------
        Columns `token`, `token_id`, `count`, `prob`; the end of a document is a row with token NULL.
        Kneser-Ney has a row `<unk>` for every out-of-vocabulary token. `summary['note']` explains a model.

        Raises
        ------
        InvalidArgument
            A `top` that is not a whole number of at least 0, or an unknown model.
        """
        top = to_ast.at_least(0, "top", top)
        if where is not None or params is not None:
            return self._among(where, params).dist(given, model, top)
        view = self._bound.current()
        context = self._bound.gram(given)
        told = plans.may_mislead(context.text, view.tokenizer.kind)
        phrases = (plans.Phrase(view, context),) if told else ()
        return self._bound.run(
            plans.Distribution(view, context, models.as_model(model), top, phrases=phrases)
        )

    def dist_before(
        self,
        ngram: Ngram,
        top: int | None = None,
        *,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The distribution of the token before an n-gram, the most probable first: DIST BEFORE.

        Parameters
        ----------
        ngram : text or token ids
        top : the greatest number of rows
        where, params : only in documents that meet this condition

        Returns
        -------
        Columns `token`, `token_id`, `count`, `prob`; the beginning of a document is a row with token NULL.

        Raises
        ------
        InvalidArgument
            A `top` that is not a whole number of at least 0.

        Notes
        -----
        Cost: a random read or two for each occurrence.
        """
        return self._bound.ask(to_ast.dist_before(ngram, top), where, params)

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
    def score(
        self,
        ngram: Ngram,
        model: ModelLike = "ngram",
        *,
        document: bool = False,
        sentence: bool = False,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Scores:
        """Score every token of a text (or of token ids) given the tokens before it: SCORE, as arrays.

        Parameters
        ----------
        ngram : text or token ids
        model : as `prob` takes it
        document : score the text as a document of the corpus: `<s>`, the beginning of a document, comes
            before it, and `</s>` is scored after it, as one entry more
        sentence : cut the text into sentences, and score each with its `</s>` as a sentence of the corpus.
            Sentences are those of patterns (`<s>`, WITHIN SENTENCE). The first such question indexes those of
            the corpus (about 100 ns per token).
        where, params : as `prob` takes them

        Raises
        ------
        PlanError
            With `sentence`, the sentences of some document are not known, or the corpus was created with a
            `sentence_separator`, at which its models cut documents: `document` scores texts by these.
        ResourceError
            With `sentence`, the corpus has more than 200 million tokens.
        """
        if where is not None or params is not None:
            part = self._among(where, params)
            return part.score(ngram, model, document=document, sentence=sentence)
        used, unit = models.as_model(model), units.unit_of(document, sentence)
        with self._bound.work():
            view = units.corpus_for(unit, self._bound)
            ids = units.cut(view, unit, self._bound.passage(ngram), ngram)
            offsets = np.array([0, len(ids)], dtype=np.int64)
            found = scoring.token_scores(view, ids, offsets, used, unit is not None)
        return results.Scores.of(found, used.is_probability)

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

    def generate(
        self,
        given: Ngram = "",
        tokens: int = 20,
        model: ModelLike = "infgram",
        *,
        method: str | None = None,
        beams: int | None = None,
        temperature: float | None = None,
        top: int | None = None,
        nucleus: float | None = None,
        diversity: float | None = None,
        seed: int | None = None,
        n: int = 1,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> list[Generated]:
        """Generate continuations of a context, the most probable first: GENERATE.

        Parameters
        ----------
        given : the context, text or token ids
        tokens : the greatest number of tokens of each; it ends earlier where a document would end
        model : as `prob` takes it
        method : 'greedy', 'sample' or 'beam'; by default the one to which the other parameters belong, or
            greedy
        temperature, top, nucleus : for 'sample': above 1 is flatter; draw from this many of the most probable
            tokens; draw from the fewest tokens whose probabilities sum to this
        beams, diversity : for 'beam': their number; the penalty of a token that another beam has at the same
            place
        seed : the same seed gives the same continuations
        n : the number of continuations
        where, params : as `prob` takes them

        Returns
        -------
        A list of str objects with `token_ids`, `logprob` and `ended`.

        Raises
        ------
        InvalidArgument, PlanError
            Parameters of different methods, or a number out of range.

        Notes
        -----
        Diverse beams: Vijayakumar et al. 2018. Nucleus: Holtzman et al. 2020.
        """
        wanted = to_ast.TextWanted(
            tokens, models.as_model(model), method, beams, temperature, top, nucleus, diversity, seed, n
        )
        bound = self._among(where, params)._bound
        plan = model_queries.generation(bound, to_ast.generate(given, wanted))
        tokenizer = plan.corpus.tokenizer
        with bound.work():
            found = generating.Run(plan).continuations()
        return [
            results.Generated(generating.text_of(item, tokenizer), item.ids, item.logprob, item.ended)
            for item in found
        ]

    def stream(
        self,
        given: Ngram = "",
        tokens: int = 20,
        model: ModelLike = "infgram",
        *,
        method: str | None = None,
        temperature: float | None = None,
        top: int | None = None,
        nucleus: float | None = None,
        seed: int | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Iterator[str]:
        """Generate one continuation, and yield its text piece by piece while it is made.

        Parameters
        ----------
        given, tokens, model, method, temperature, top, nucleus, seed : as `generate` takes them
        where, params : as `prob` takes them

        Returns
        -------
        An iterator of str; joined, they are the text that `generate` returns.
        """
        wanted = to_ast.TextWanted(
            tokens, models.as_model(model), method, None, temperature, top, nucleus, seed=seed
        )
        bound = self._among(where, params)._bound
        plan = model_queries.generation(bound, to_ast.generate(given, wanted))
        work = bound.work()
        with work:
            run = generating.Run(plan)
        return under(work, run.pieces())

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
        documents = plans.Documents(view, found, False, None, 0)
        options = {} if format is None else {"format": format}
        name = given_documents.as_path(path)
        return self._bound.number(plans.ExportDocuments(documents, name, options, phrases=phrases))

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
            return results.Removals(audit.removals(self._bound.database.store, view.entry.audits))

    def removed_documents(self) -> Iterator[RemovedDocument]:
        """Every removed document, oldest removal first.

        Returns
        -------
        An iterator of objects with `removal`, `doc_id`, and `details`: as far as known, the document's `id`
        and `source`, the `reason` for this document, and `matches` (`ngram` and `position`, in tokens).
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
