"""The verbs of a corpus that set metadata fields of its documents."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ngramdb.api.corpus_handle import CorpusVerbs, chosen_by, commits
from ngramdb.lazy import lazy_module
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb.api import conversion
    from ngramdb.api.verbs import corpora
    from ngramdb.api.verbs import quality as bucketing
    from ngramdb.api.verbs.quality import QualityReport
    from ngramdb.engine.changes.joining import AddedFields
    from ngramdb.ingest.readers import arrow_data
    from ngramdb.planner import cautions
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions import fields as field_statements
    from ngramdb.questions import to_ast
    from ngramdb.questions import update as updating
    from ngramdb.questions import verbs as python_warnings
    from ngramdb.questions.signatures import ModelLike, Table
else:
    bucketing = lazy_module("ngramdb.api.verbs.quality")
    corpora = lazy_module("ngramdb.api.verbs.corpora")
    field_statements = lazy_module("ngramdb.questions.fields")
    updating = lazy_module("ngramdb.questions.update")
    cautions = lazy_module("ngramdb.planner.cautions")
    conversion = lazy_module("ngramdb.api.conversion")
    arrow_data = lazy_module("ngramdb.ingest.readers.arrow_data")
    python_warnings = lazy_module("ngramdb.questions.verbs")
    to_ast = lazy_module("ngramdb.questions.to_ast")

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class FieldVerbs(CorpusVerbs):
    """A base of `ngramdb.Corpus`."""

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
        _, _, condition = chosen_by(where, params)
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
