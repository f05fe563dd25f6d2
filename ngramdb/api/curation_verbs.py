"""Verbs of a corpus that change which documents it has, and that carry documents and the records of removed
ones out of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ngramdb.api.bound import BoundCorpus
from ngramdb.api.evaluation_verbs import EvaluationVerbs
from ngramdb.errors import InvalidArgument
from ngramdb.interrupts import under
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb.api import cautioning, decontaminating, exporting, parsing
    from ngramdb.api.decontaminating import DecontaminationReport
    from ngramdb.engine import audit
    from ngramdb.engine.audit import Removal, RemovedDocument
    from ngramdb.engine.change import ChangeOutcome
    from ngramdb.engine.compaction import CompactionOutcome
    from ngramdb.engine.restoring import RestoreOutcome
    from ngramdb.executor import changes
    from ngramdb.planner import binder, cautions, parameters
    from ngramdb.planner import plan as plans
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import DocExpr
    from ngramdb.planner.source import Catalog, Corpus
else:
    cautioning = lazy_module("ngramdb.api.cautioning")
    cautions = lazy_module("ngramdb.planner.cautions")
    parsing = lazy_module("ngramdb.api.parsing")
    binder = lazy_module("ngramdb.planner.binder")
    parameters = lazy_module("ngramdb.planner.parameters")
    plans = lazy_module("ngramdb.planner.plan")
    audit = lazy_module("ngramdb.engine.audit")
    changes = lazy_module("ngramdb.executor.changes")
    decontaminating = lazy_module("ngramdb.api.decontaminating")
    exporting = lazy_module("ngramdb.api.exporting")

Path = str | os.PathLike[str]


class CurationVerbs(EvaluationVerbs):
    """DELETE, COMPACT, RESTORE, ALTER CORPUS, COPY … TO, and what has no statement of its own."""

    def delete(self, where: str, *, params: ParameterValues = None, reason: str = "") -> int:
        """Removes the documents that meet a condition, and returns how many: DELETE DOCS.

        One commit; earlier versions keep them. Cost: that of finding them, and some 100 ns for each of their
        tokens.

        Parameters
        ----------
        where : what would stand after WHERE, with `?` or `:name` for `params`
        reason : why, for the audit record
        """
        if not isinstance(reason, str):
            raise InvalidArgument(f"a reason is a str, not {type(reason).__name__}")
        tree, placeholders, _ = parsing.parsed_condition(where)
        values = parameters.Parameters(placeholders, params, where)

        def bind(catalog: Catalog, corpus: Corpus) -> DocExpr:
            bound = binder.Binder(catalog, values, where)
            found = bound.condition(tree, corpus)
            if bound.phrases:  # before anything is removed: a filter may make an error of a warning
                cautioning.warn(cautions.cautions_of_removed(bound.phrases))
            return found

        statement = values.told(f"DELETE DOCS WHERE {where}", tree)
        with self._connection._work():
            session = self._connection._session()
            return changes.remove(session, self.name, bind, statement, reason).documents

    def compact(self) -> CompactionOutcome:
        """Merges small segments and drops what was removed; answers stay the same: COMPACT."""
        connection = self._connection
        with connection._work(), connection._change(self.name, f"compact {self.name}") as change:
            return change.compact()

    def restore(self, version: int) -> RestoreOutcome:
        """Makes the corpus what it was in an earlier version: RESTORE CORPUS … TO VERSION."""
        with self._connection._work():
            return self._connection._session().run_restore(plans.RestoreCorpus(self.name, version))

    def add(self, other: str | BoundCorpus) -> ChangeOutcome:
        """Adds all documents of another corpus, for good: ALTER CORPUS … ADD CORPUS."""
        return self._alter("ADD", other, 1)

    def subtract(self, other: str | BoundCorpus) -> ChangeOutcome:
        """Removes, for each document of another corpus, an equal one: ALTER CORPUS … SUBTRACT CORPUS.

        Raises
        ------
        ExecutionError
            The other corpus has a document that this one lacks; nothing has happened.
        """
        return self._alter("SUBTRACT", other, -1)

    def _alter(self, verb: str, other: str | BoundCorpus, sign: int) -> ChangeOutcome:
        name = other.name if isinstance(other, BoundCorpus) else other
        statement = f"ALTER CORPUS {self.name} {verb} CORPUS {name}"
        with self._connection._work():
            plan = plans.AlterCorpus(self.name, name, sign, None, statement)
            return self._connection._session().run_alter(plan)

    # ---- evaluation sets --------------------------------------------------------------------------------

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
        source_field: str = "source",
        dry_run: bool = False,
        report: Path | None = None,
    ) -> DecontaminationReport:
        """Removes the documents of which at least a share of the n-grams stands in an evaluation set.

        One commit. The report's `table` has a row for each set and source: set, source, documents,
        contaminated ones, their share; `overlaps` says of each set what it shares at all.

        Parameters
        ----------
        against : files of JSON lines or text, each an evaluation set of its own
        n, threshold : tokens of an n-gram, and the share, from 0 (any overlap) to 1
        strict : only what is above the share, not what equals it
        lower, fold_space : letters' case, white space does not matter; n-grams are then of words
        text : the JSON field of an item that is compared
        source_field : the metadata field that the table is by
        dry_run : only find and report
        report : a file of JSON lines for what is found: documents, shares, spans, items

        Raises
        ------
        InvalidArgument
            A number out of range, or no file.
        LoadError, ExecutionError
            A set that can't be read, a report that can't be written; then nothing is removed.
        """
        with self._connection._work():
            return decontaminating.decontaminate(
                self._connection,
                self.name,
                against,
                n=n,
                threshold=threshold,
                strict=strict,
                lower=lower,
                fold_space=fold_space,
                text=text,
                source_field=source_field,
                dry_run=dry_run,
                report=report,
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
        """Writes the documents that meet a condition (all without one) to a file, text and metadata as they
        came in, and returns how many: COPY (DOCS …) TO.

        The file appears under its name when it is complete. `format` is 'jsonl' (compressed where the name
        ends in .gz or .zst) or 'parquet'; by the name when not given.

        Raises
        ------
        ExecutionError, InvalidArgument
            A file that can't be written, of which nothing is left; no such format.
        """
        view = self._current()
        found, phrases = self._condition(where, params, view)
        documents = plans.Documents(view, found, False, None, 0)
        options = {} if format is None else {"format": format}
        row = self._run(
            plans.ExportDocuments(documents, os.fspath(path), options, phrases=phrases)
        ).fetchone()
        return int(row[0]) if row else 0

    def removals(self) -> list[Removal]:
        """What was removed so far, oldest first: SHOW REMOVALS.

        Each has `version`, `created` (seconds since 1970, UTC), `by`, `statement`, `reason` (as it was given
        to `delete`, else ""), `n_documents`, `n_tokens`.
        """
        view = self._current()
        with self._connection._work():
            return list(audit.removals(self._connection._store, view.entry.audits))

    def removed_documents(self) -> Iterator[RemovedDocument]:
        """Every removed document, oldest removal first.

        Each has its `removal`, `doc_id`, and `details`: where known, the document's own `id`, its `source`, a
        `reason` of its own, and `matches` (`ngram` and `position`, in tokens).
        """
        found = audit.removed_documents(self._connection._store, self._current().entry.audits)
        return under(self._connection._work(), found)

    def export_removals(self, path: Path, *, format: str | None = None) -> int:
        """Writes the records of removed documents to a file, and returns how many; as `export`.

        The first document of each removal has its statement, which may be long; the others have its version.
        """
        with self._connection._work():
            return exporting.export_removals(self.removed_documents(), path, format)
