"""The verbs of a corpus that change it or write its documents to files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ngramdb.api.corpus_handle import BoundCorpus
from ngramdb.api.database import letting_go
from ngramdb.errors import InvalidArgument
from ngramdb.interrupts import under
from ngramdb.lazy import lazy_module
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb.api import conversion
    from ngramdb.api.verbs import contamination, corpora, decontaminating, exporting
    from ngramdb.api.verbs import quality as bucketing
    from ngramdb.api.verbs.corpora import AnalysisReport, Removals
    from ngramdb.api.verbs.decontaminating import DecontaminationReport
    from ngramdb.api.verbs.quality import QualityReport
    from ngramdb.curation.cutting import CutReport
    from ngramdb.engine.changes import audit
    from ngramdb.engine.changes.audit import RemovedDocument
    from ngramdb.engine.changes.compaction import CompactionOutcome
    from ngramdb.engine.changes.joining import AddedFields
    from ngramdb.engine.changes.removals import RestoreOutcome
    from ngramdb.engine.corpus import infini_gram_files
    from ngramdb.engine.corpus.grouped import WarmedIndex
    from ngramdb.engine.loading import loads
    from ngramdb.engine.loading import request as loading
    from ngramdb.engine.loading.loads import LoadReport
    from ngramdb.engine.loading.writer import LoadCallback
    from ngramdb.ingest.readers import arrow_data
    from ngramdb.interrupts import ProgressCallback
    from ngramdb.planner import cautions, parameters
    from ngramdb.planner import parameters as load_options
    from ngramdb.planner import plan as plans
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import DocExpr
    from ngramdb.questions import (
        binder,
        cuts,
        duplicates,
        maintenance,
        parsing,
        to_ast,
        token_sampling,
    )
    from ngramdb.questions import corpora as copying
    from ngramdb.questions import docs as document_queries
    from ngramdb.questions import fields as field_statements
    from ngramdb.questions import near_duplicates as near
    from ngramdb.questions import update as updating
    from ngramdb.questions import verbs as python_warnings
    from ngramdb.questions.parsing import Pattern
    from ngramdb.questions.signatures import (
        Documents,
        LoadOptions,
        ModelLike,
        Ngram,
        Table,
        Unpack,
    )
    from ngramdb.questions.token_sampling import KeptSample
    from ngramdb.questions.verbs import Asking as Corpus
    from ngramdb.source import Catalog
    from ngramdb.source import Corpus as CorpusView
else:
    bucketing = lazy_module("ngramdb.api.verbs.quality")
    corpora = lazy_module("ngramdb.api.verbs.corpora")
    audit = lazy_module("ngramdb.engine.changes.audit")
    binder = lazy_module("ngramdb.questions.binder")
    cuts = lazy_module("ngramdb.questions.cuts")
    duplicates = lazy_module("ngramdb.questions.duplicates")
    plans = lazy_module("ngramdb.planner.plan")
    copying = lazy_module("ngramdb.questions.corpora")
    maintenance = lazy_module("ngramdb.questions.maintenance")
    document_queries = lazy_module("ngramdb.questions.docs")
    field_statements = lazy_module("ngramdb.questions.fields")
    near = lazy_module("ngramdb.questions.near_duplicates")
    updating = lazy_module("ngramdb.questions.update")
    cautions = lazy_module("ngramdb.planner.cautions")
    contamination = lazy_module("ngramdb.api.verbs.contamination")
    decontaminating = lazy_module("ngramdb.api.verbs.decontaminating")
    exporting = lazy_module("ngramdb.api.verbs.exporting")
    infini_gram_files = lazy_module("ngramdb.engine.corpus.infini_gram_files")
    conversion = lazy_module("ngramdb.api.conversion")
    arrow_data = lazy_module("ngramdb.ingest.readers.arrow_data")
    loads = lazy_module("ngramdb.engine.loading.loads")
    loading = lazy_module("ngramdb.engine.loading.request")
    load_options = lazy_module("ngramdb.planner.parameters")
    parameters = lazy_module("ngramdb.planner.parameters")
    parsing = lazy_module("ngramdb.questions.parsing")
    python_warnings = lazy_module("ngramdb.questions.verbs")
    to_ast = lazy_module("ngramdb.questions.to_ast")
    token_sampling = lazy_module("ngramdb.questions.token_sampling")

Path = str | os.PathLike[str]
Paths = Path | Sequence[Path]


# Decorates verbs that commit.
commits = letting_go(lambda verbs: verbs._bound.database)


class DataVerbs:
    """A base of `ngramdb.Corpus`."""

    name: str
    _bound: BoundCorpus

    # ---- adding documents

    @commits
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
        progress : called at most ten times per second with the progress of the load
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
        keys = loading.DocumentKeys.of(key, on_conflict)
        # Not the corpus's view as questions use it, which opens every segment.
        database = self._bound.database
        tokenizer = database.snapshot.view(self.name).tokenizer
        documents, errors = conversion.as_documents(docs, tokenizer.kind, tokenizer.n_vocabulary)
        stream = loads.Stream(documents, errors, keys)
        with self._bound.work(), database.change(self.name, f"append to {self.name}") as change:
            return loads.load_stream(change, stream, progress)

    @commits
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
        on_error : 'fail', or 'skip' to count documents and files that cannot be read, and continue
        progress : called at most ten times per second with the progress of the load
        options : `ids`, `metadata`, `separator`, `dtype`, `quotes`, `max_document_bytes`, `commit_every`,
            `resume`, `key` and `on_conflict`, as COPY takes them

        Raises
        ------
        LoadError, InvalidArgument
            A file or a document that cannot be read (with file and line), or an invalid option.
        """
        self._bound.check_whole("load")
        if not isinstance(on_error, str) or on_error not in ("fail", "skip"):
            raise InvalidArgument(f"on_error must be 'fail' or 'skip', not {on_error!r}")
        given = {**options, "text": text, "format": format, "limit": limit}
        checked = load_options.checked_options(given, load_options.LOAD_OPTIONS)
        database, skip = self._bound.database, on_error == "skip"
        if arrow_data.is_table(paths):
            request = loading.LoadRequest((), skip, **checked)
            with self._bound.work():
                return corpora.load_table(database, self.name, request, paths, progress)
        names = conversion.as_paths(
            paths, "load takes a path, a list of paths or a table (append takes documents)"
        )
        request = loading.LoadRequest(tuple(names), skip, **checked)
        with self._bound.work():
            return corpora.load_files(database, self.name, request, progress)

    # ---- fields

    @commits
    @checked_flags
    def add_fields(
        self,
        table: Paths | Table,
        on: str = "id",
        fields: str | Sequence[str] | None = None,
        *,
        replace: bool = False,
    ) -> AddedFields:
        """Add the columns of a table as metadata fields of existing documents: ALTER CORPUS … ADD FIELDS.

        A document gets the values of the row with its key; no text is loaded again. One commit.

        Parameters
        ----------
        table : files, globs or folders of Parquet, Arrow, CSV, TSV or JSON lines; or a table: a frame of
            pandas or polars, or any object with `__arrow_c_stream__`
        on : path of the key, a string or an integer, in the documents and in the table; `doc_id` for the
            corpus's own ids
        fields : columns to add; all but the key if not given
        replace : replace the values of fields that exist already; documents without a row keep theirs

        Returns
        -------
        The numbers of rows and documents that were matched and not matched, with the first few, and the new
        version.

        Raises
        ------
        InvalidArgument
            A field exists already, or two rows of a document differ.
        BindError
            No document has the key.
        LoadError
            The table cannot be read; nothing has changed.

        Notes
        -----
        Cost: about 1 µs per row and field of a table or Parquet file, 3 µs per line of JSON.
        """
        self._bound.check_whole("add_fields")
        names = None if fields is None else tuple(to_ast.names("fields", fields))
        node = to_ast.key(on)
        source = (
            table
            if arrow_data.is_table(table)
            else tuple(conversion.as_paths(table, "add_fields takes a path, a list of paths or a table"))
        )
        with self._bound.work():
            scope = self._bound.scope()
            return corpora.add_fields(
                self._bound.database,
                self.name,
                source,
                lambda view: field_statements.key_of(scope, node, view),
                on,
                names,
                replace,
            )

    @commits
    def drop_fields(self, *fields: str) -> int:
        """Drop metadata fields, with all fields inside them: ALTER CORPUS … DROP FIELD. One commit.

        Parameters
        ----------
        fields : paths as DESCRIBE shows them, or of objects

        Returns
        -------
        The number of the new version.

        Raises
        ------
        BindError
            No document has such a field.
        """
        self._bound.check_whole("drop_fields")
        nodes = to_ast.fields("fields", fields)
        with self._bound.work():
            plan = field_statements.dropped(self._bound.scope(), self.name, nodes)
            return int(plan.act(self._bound.session()).summary["version"])

    @commits
    def update(
        self,
        fields: str | Mapping[str, Any],
        where: str | None = None,
        *,
        params: ParameterValues = None,
    ) -> int:
        """Set metadata fields of documents, in one commit: UPDATE.

        Parameters
        ----------
        fields : assignments as after SET, `"decade = year / 10 * 10, source = 'web'"`; or a dict of values by
            the paths of fields, `{"source": "web", "checked": True}`, in which None removes the field
        where : a condition as after WHERE; all documents without one
        params : the values of parameters in `fields` and `where`, in this order

        Returns
        -------
        The number of documents whose fields were set.

        Raises
        ------
        BindError
            An assignment from a field that no document has, or of NULL to one.
        InvalidArgument
            A value that is not a str, a number, a bool or None, or a field inside one that is not an object.

        Notes
        -----
        Cost: that of finding the documents, about 3 µs per document and field, and what is computed.
        """
        self._bound.check_whole("update")
        text = updating.statement_of(self.name, fields, where)
        with self._bound.work():
            plan = self._bound.bind_text(text, params)
            assert isinstance(plan, updating.Update)
            if plan.phrases:
                python_warnings.warn(cautions.cautions_of(plan))
            return int(plan.act(self._bound.session()).summary["documents"])

    @commits
    @checked_flags
    def quality(
        self,
        reference: str,
        *,
        by: str | None = None,
        at: Sequence[float] = (30, 60),
        unit: str = "lines",
        model: ModelLike = "kneser_ney order 5",
        normalize: bool = True,
        field: str = "bucket",
        score_field: str | None = "perplexity",
        replace: bool = False,
        where: str | None = None,
        params: ParameterValues = None,
        dry_run: bool = False,
    ) -> QualityReport:
        """Divide documents into buckets by their perplexity under a model of a reference, as CCNet does.

        A document's bucket is head, middle or tail: below the 30th percentile of perplexity, below the 60th,
        or above. Buckets and perplexities become metadata fields, in one commit.

        Parameters
        ----------
        reference : the name of the corpus whose model scores the documents
        by : a field; percentiles are those of the documents with the same value, such as a language
        at : the percentiles, ascending
        unit : what is scored from `<s>` to `</s>`: each line of the text that is not empty ("lines"); the
            whole text as one line, rounded to one decimal, as CCNet's program does ("ccnet"); or the tokens
            of the document, as PERPLEXITY does ("document")
        model : as `prob` takes it
        normalize : score lines in lower case, without accents, with 0 for digits and punctuation in ASCII;
            the reference should have texts of the same form
        field, score_field : the fields of the bucket and of the perplexity; None not to store the latter
        replace : overwrite these fields if they exist
        where, params : a condition; other documents keep their fields
        dry_run : report, without writing fields

        Returns
        -------
        An object with `documents`, `without` (documents without a line), `table` (a row per group and bucket)
        and `version`.

        Raises
        ------
        InvalidArgument
            An invalid argument, a field that exists already, or lines of documents that are token ids.
        BindError
            No such reference or field.

        Notes
        -----
        Cost: that of `score`, of splitting the text into tokens, and about 0.1 µs per character.
        """
        self._bound.check_whole("quality")
        _, _, condition = _chosen_by(where, params)
        with self._bound.work():
            session, scope = self._bound.session(), self._bound.scope()
            request = bucketing.Request(
                bucketing.Perplexity.of(scope, reference, to_ast.as_model(model), unit, normalize, by),
                lambda view: session.planned(condition, view),
                bucketing.checked_percentiles(at),
                field,
                score_field,
                replace,
            )
            return bucketing.quality(self._bound.database, self.name, request, dry_run)

    # ---- removing documents

    @commits
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
        _check_reason(reason)
        tree, values, bind = _chosen_by(where, params, removes=True)
        with self._bound.work():
            session = self._bound.session()
            statement = values.told(f"DELETE DOCS WHERE {where}", tree, session.match())
            return maintenance.remove(session, self.name, bind, statement, reason).documents

    @commits
    def delete_near_duplicates(
        self,
        where: str | None = None,
        *,
        contained: float = 1.0,
        n: int = 3,
        keep: str = "longest",
        keep_by: str | Sequence[str] | None = None,
        descending: bool = False,
        candidates: str | tuple[int, int] = "index",
        against: str | Corpus | None = None,
        params: ParameterValues = None,
        reason: str = "",
    ) -> int:
        """Remove the documents that `near_duplicates` returns, in one commit: DELETE NEAR DUPLICATES.

        The audit record of each names the document that contains it. Earlier versions keep the documents.

        Parameters
        ----------
        where, params, contained, n, keep, keep_by, descending, candidates, against : as of `near_duplicates`
        reason : the reason, for the audit record

        Returns
        -------
        The number of documents that were removed.

        Raises
        ------
        InvalidArgument
            A value that is invalid, or a reason that is not a str.
        ResourceError
            The n-grams do not fit `memory_limit`.
        """
        self._bound.check_whole("delete_near_duplicates")
        rule = near.rule_of(contained, n, candidates)
        other = to_ast.corpus_name(self._bound, "against", against)
        text = near.statement_of(self.name, where, rule, keep, keep_by, descending, other)
        return self._removed_duplicates(text, params, reason)

    @commits
    @checked_flags
    def delete_duplicates(
        self,
        where: str | None = None,
        *,
        normalize: str | Sequence[str] = (),
        keep: str = "first",
        keep_by: str | Sequence[str] | None = None,
        descending: bool = False,
        against: str | Corpus | None = None,
        params: ParameterValues = None,
        reason: str = "",
    ) -> int:
        """Remove copies of documents, in one commit: DELETE DUPLICATES.

        Documents are equal if they have the same tokens, or the same text with `normalize`. The audit record
        names the document that is kept for each removed one.

        Parameters
        ----------
        where, params : a condition as after WHERE; only documents that meet it are compared
        normalize : differences that are ignored: "case", "space" (white space), "nfc" (equivalent characters)
        keep : "first", the copy with the smallest id, or "none"
        keep_by, descending : fields; the copy that is first in their order is kept
        against : another corpus of the database, or its name; documents that it has are removed here
        reason : the reason, for the audit record

        Returns
        -------
        The number of documents that were removed.

        Raises
        ------
        InvalidArgument
            An unknown value of `normalize` or `keep`, or a document without a text that would be normalized.

        Notes
        -----
        Cost: about 10 µs per document, and that of removing the copies.
        """
        self._bound.check_whole("delete_duplicates")
        other = to_ast.corpus_name(self._bound, "against", against)
        text = duplicates.statement_of(self.name, where, normalize, keep, keep_by, descending, other)
        return self._removed_duplicates(text, params, reason)

    def _removed_duplicates(self, text: str, params: ParameterValues, reason: str) -> int:
        """Run a statement that removes duplicates, for the number of documents that it removed."""
        _check_reason(reason)
        with self._bound.work():
            plan = self._bound.bind_text(text, params)
            assert isinstance(plan, (duplicates.DeleteDuplicates, near.DeleteNearDuplicates))
            if plan.phrases:
                python_warnings.warn(cautions.cautions_of_removed(plan.phrases))
            done = plans.changed(plan, reason=reason).act(self._bound.session())
            return int(done.summary["documents"])

    @commits
    @checked_flags
    def cut_duplicates(
        self,
        where: str | None = None,
        *,
        length: int = 50,
        unit: str = "tokens",
        min_count: int = 2,
        keep: str = "first",
        keep_by: str | Sequence[str] | None = None,
        descending: bool = False,
        against: str | None = None,
        on: str = "characters",
        gap_share: float | None = None,
        min_rest: float | None = None,
        max_pieces: int | None = None,
        params: ParameterValues = None,
        reason: str = "",
    ) -> CutReport:
        """Cut repeated text out of documents, in one commit: CUT DUPLICATES.

        Of text that is repeated, one copy stays. A document keeps its id and its metadata, and no n-gram
        crosses a cut. Documents of which nothing is left are removed.

        Parameters
        ----------
        where, params : a condition as after WHERE; only documents that meet it are compared and cut
        length, unit : the least length of repeated text, in "tokens" or "bytes"
        min_count : how often it must occur
        keep : "first", the copy in the document with the smallest id, or "none"
        keep_by, descending : fields; the copy in the document that is first in their order is kept
        against : another corpus of the database; text that it has is cut here
        on : where cuts begin and end: "characters", "words" or "lines"; they shrink to whole words or lines
        gap_share : the least share of cut tokens at which all from one cut to another is cut
        min_rest : the least share of a document's tokens that must be left, or it is removed
        max_pieces : the most pieces that a document may consist of, or it is removed
        reason : the reason, for the audit record

        Returns
        -------
        `documents` that were cut, `removed`, those of them of which nothing was left, `tokens` that were cut,
        `pieces` that the cut documents now consist of, and `version`, the new version.

        Raises
        ------
        InvalidArgument
            An invalid value of an argument; a length in bytes, or lines, of token ids without texts.
        ExecutionError
            The text of a document has other tokens than those stored.

        Notes
        -----
        Cost: 2 to 60 ns per token to find duplicates; about 80 ns per token of each segment with a cut.
        """
        arguments = locals()
        self._bound.check_whole("cut_duplicates")
        _check_reason(reason)
        return self._cut(cuts.duplicates_statement(self.name, arguments), params, reason)

    @commits
    @checked_flags
    def cut_spans(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        context: int = 0,
        on: str = "characters",
        gap_share: float | None = None,
        min_rest: float | None = None,
        max_pieces: int | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
        reason: str = "",
    ) -> CutReport:
        """Cut the occurrences of an n-gram or a pattern out of documents, in one commit: CUT SPANS.

        A document keeps its id and its metadata, and no n-gram crosses a cut. Documents of which nothing is
        left are removed.

        Parameters
        ----------
        pattern : text or token ids, or a pattern (`ngramdb.pattern`)
        where, params : condition on documents, as after WHERE
        context : number of tokens on either side that are cut with each occurrence, as far as a cut
        on, gap_share, min_rest, max_pieces : as of `cut_duplicates`
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; by default, the setting `match` applies
        reason : the reason, for the audit record

        Returns
        -------
        As of `cut_duplicates`.

        Raises
        ------
        ExecutionError
            The text of a document has other tokens than those stored.

        Notes
        -----
        Cost: that of finding the occurrences; about 80 ns per token of each segment with a cut.
        """
        arguments = locals()
        self._bound.check_whole("cut_spans")
        _check_reason(reason)
        return self._cut(cuts.spans_statement(self.name, arguments), params, reason)

    def _cut(self, text: str, params: ParameterValues, reason: str) -> CutReport:
        with self._bound.work():
            plan = self._bound.bind_text(text, params)
            assert isinstance(plan, (cuts.CutDuplicates, cuts.CutSpans))
            if plan.phrases:
                python_warnings.warn(cautions.cautions_of_removed(plan.phrases))
            return plans.changed(plan, reason=reason).cut(self._bound.session())

    @commits
    def keep_sample(
        self,
        tokens: int,
        where: str | None = None,
        *,
        by: str | None = None,
        weights: Mapping[Any, float] | None = None,
        seed: int | None = None,
        params: ParameterValues = None,
        reason: str = "",
    ) -> KeptSample:
        """Remove all documents outside a random sample of a number of tokens, in one commit.

        The sample is that of DOCS … SAMPLE n TOKENS, which CREATE CORPUS … AS copies and COPY … TO exports.

        Parameters
        ----------
        tokens : whole documents are drawn until they have so many
        where, params : a condition as after WHERE; documents that do not meet it are removed
        by : a field; each of its values gets the same number of tokens, or
        weights : a number of tokens in proportion to its weight; documents with other values are removed
        seed : equal seeds draw equal documents; by default, a seed is drawn
        reason : the reason, for the audit record

        Returns
        -------
        The numbers of `documents` and `tokens` that are left and of documents `removed`, the `seed`, a `note`
        on what was missing, and the new `version`.

        Raises
        ------
        InvalidArgument
            A number or a weight out of range.
        BindError
            No document has the field.
        ExecutionError
            More than 1,000 values, without weights.

        Notes
        -----
        Cost: about 30 ns per document, and that of removing the others.
        """
        self._bound.check_whole("keep_sample")
        _check_reason(reason)
        node = token_sampling.node_of(tokens, by, weights, seed)
        tree, placeholders = (None, ()) if where is None else parsing.parsed_condition(where)[:2]
        values = parameters.Parameters(placeholders, params, where)
        with self._bound.work():
            session, scope = self._bound.session(), self._bound.scope()
            plan = token_sampling.KeepSample(
                self.name,
                lambda catalog, view: binder.Binder(catalog, values, where).condition(tree, view),
                lambda view: token_sampling.bind_token_sample(scope, node, view),
                "" if tree is None else values.told(f" WHERE {where}", tree, session.match()),
                reason,
            )
            return token_sampling.KeptSample(*plan.act(session).fetchall()[0])

    def removals(self) -> Removals:
        """Return the removals so far, oldest first: SHOW REMOVALS.

        Returns
        -------
        A list, printed as a table, of objects with `version`, `created` (seconds since 1970, UTC), `by`,
        `statement`, `reason` (as given to `delete`, otherwise ""), `n_documents`, `n_tokens`.
        """
        self._bound.check_whole("removals")
        view = self._bound.current()
        with self._bound.work():
            return corpora.Removals(audit.removals(self._bound.database.store, view.entry.audits))

    def removed_documents(self) -> Iterator[RemovedDocument]:
        """Return every removed document, oldest removal first.

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
            A file that cannot be written, of which nothing remains, or an unknown format.
        """
        self._bound.check_whole("export_removals")
        with self._bound.work():
            name = conversion.as_path(path)
            return exporting.export_removals(self.removed_documents(), name, format)

    @commits
    @checked_flags
    def decontaminate(
        self,
        against: Path | Sequence[Path],
        *,
        by: str = "bff",
        n: int | None = None,
        threshold: float | None = None,
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
        """Remove documents that share too many n-grams with an evaluation set, in one commit.

        The report's `table` has a row for each set and source: set, source, documents, contaminated ones,
        their share; `overlaps` has for each set everything that it shares with the corpus.

        Parameters
        ----------
        against : files of any format that `load` reads, an evaluation set each; a line of text is an item
        by : the measure. "bff": the share of the document's n-grams that the set has (n is 13, the threshold
            0.8). How much of an item a document has: "gpt3", any n-gram (13, 0); "llama2", the share of its
            tokens (10, 0.8); "palm", of its n-grams (8, 0.7); "longest", of its longest piece (8, 0.5)
        n, threshold : tokens of an n-gram, and the share, from 0 (any overlap) to 1; those of the measure if
            not given
        strict : remove documents above the share only, not those that equal it
        lower, fold_space : ignore letters' case, ignore white space; n-grams are then of words
        text : the JSON field of an item that is compared
        format, separator : how the files are read, as by `load`: "text" for a file that is one item, or has
            the separator's line between two
        source_field : the metadata field by which the table is grouped; without it, `source`
        dry_run : find and report, without removing
        report : a file to write: JSON lines by document (shares, spans, items), or, named *.html or *.json, a
            report by item, which has every overlap, whatever the threshold

        Raises
        ------
        InvalidArgument
            A number out of range, or a missing file.
        LoadError, ExecutionError
            A set that cannot be read, or a report that cannot be written; nothing is removed.
        """
        self._bound.check_whole("decontaminate")
        options = {"text": text, "format": format, "separator": separator}
        given = load_options.checked_options(options, load_options.LOAD_OPTIONS)
        if source_field is not None and not isinstance(source_field, str):
            raise InvalidArgument(f"source_field must be the path of a field, not {source_field!r}")
        with self._bound.work():
            return decontaminating.decontaminate(
                self._bound.database,
                self.name,
                against,
                contamination.Criterion.of(by, n, threshold, strict, lower, fold_space),
                reading=contamination.Reading(**given),
                source_field=source_field,
                dry_run=dry_run,
                report=None if report is None else conversion.as_path(report),
            )

    # ---- changing the corpus

    @commits
    def compact(self) -> CompactionOutcome:
        """Merge small segments and drop removed documents; answers stay the same: COMPACT.

        Returns
        -------
        The numbers of segments and bytes before and after, and the new version.

        Notes
        -----
        Cost: 30 to 130 ns per token of the segments that are merged; 5 ns per row if one is filtered.
        """
        self._bound.check_whole("compact")
        bound = self._bound
        with bound.work(), bound.database.change(self.name, f"compact {self.name}") as change:
            return change.compact()

    def warm(self, progress: ProgressCallback | None = None) -> WarmedIndex:
        """Read as much of the index as fits into memory, so that queries need not wait for the disk.

        Checksums are verified, too. Other processes benefit as well, but verify for themselves.
        `SET prewarm = 'on'` does the same at the first query.

        Parameters
        ----------
        progress : callable, optional
            Called at most ten times per second with the work, whose `fraction` is the part that is done.

        Raises
        ------
        QueryCancelled
            Interrupted; the part that has been read stays in memory.
        """
        self._bound.check_whole("warm")
        with self._bound.database.work(progress=progress):
            return self._bound.current().warm()

    @commits
    def restore(self, version: int | str) -> RestoreOutcome:
        """Return to the documents of an earlier version, in one commit: RESTORE CORPUS … TO VERSION.

        Parameters
        ----------
        version : a version that is still kept, by its number or the name that `Connection.keep_version` gave
            it; `SHOW VERSIONS` lists them

        Raises
        ------
        BindError
            The version is not kept, or lacks the corpus.
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

    @commits
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

    # ---- files

    def export(
        self,
        path: Path,
        where: str | None = None,
        *,
        format: str | None = None,
        separator: int | None = None,
        dtype: str | None = None,
        params: ParameterValues = None,
    ) -> int:
        """Write the documents that meet a condition (all without one) to a file: COPY (DOCS …) TO.

        Text and metadata are those that were loaded. The file appears under its name when it is complete.

        Parameters
        ----------
        path : the file
        where, params : a condition as after WHERE
        format : 'jsonl' (compressed if the name ends in .gz, .zst, .bz2 or .xz) or 'parquet'; by
            default from the name. 'megatron' and 'nanogpt' are files of token ids for training: `x.bin` with
            `x.idx`, and `x.bin` alone; only for tokenizers with fixed ids, so not for 'words' and 'chars'
        separator : files of token ids: the id after each document, which nanogpt needs
        dtype : files of token ids: 'uint16', 'uint32' or 'int32'; by the vocabulary when not given

        Returns
        -------
        The number of documents.

        Raises
        ------
        ExecutionError, InvalidArgument
            A file that cannot be written, of which nothing remains, or an unknown format.
        """
        view = self._bound.current()
        found, phrases = self._bound.condition(where, params, view)
        documents = document_queries.Documents(view, found)
        given = {"format": format, "separator": separator, "dtype": dtype}
        options = parameters.checked_options(given, parameters.EXPORT_OPTIONS)
        name = conversion.as_path(path)
        return self._bound.number(copying.ExportDocuments(documents, name, options, phrases=phrases))

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
        shards : the number of shards, which get documents in turn
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
            return infini_gram_files.write_index(self._bound.current(), conversion.as_path(folder), layout)


def _chosen_by(
    where: str | None, params: ParameterValues, removes: bool = False
) -> tuple[Any, parameters.Parameters, Callable[[Catalog, CorpusView], DocExpr]]:
    """Return the tree of a condition, its parameters, and a function that binds it to change documents."""
    tree, placeholders = (None, ()) if where is None else parsing.parsed_condition(where)[:2]
    values = parameters.Parameters(placeholders, params, where)

    def bind(catalog: Catalog, corpus: CorpusView) -> DocExpr:
        bound = binder.Binder(catalog, values, where)
        bound.removes = removes
        found = bound.condition(tree, corpus)
        if bound.phrases:  # before anything is removed: a filter may make an error of a warning
            python_warnings.warn(cautions.cautions_of_removed(bound.phrases))
        return found

    return tree, values, bind


def _check_reason(reason: str) -> None:
    """Raise InvalidArgument for a reason that an audit record cannot have."""
    if not isinstance(reason, str):
        raise InvalidArgument(f"a reason must be a str, not {type(reason).__name__}")
    try:
        reason.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"the reason is not valid Unicode at position {error.start}") from error
