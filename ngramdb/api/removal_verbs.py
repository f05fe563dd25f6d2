"""The verbs of a corpus that remove documents, or cut their text, and list what was removed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ngramdb.api.corpus_handle import CorpusVerbs, chosen_by, commits
from ngramdb.errors import InvalidArgument
from ngramdb.interrupts import under
from ngramdb.lazy import lazy_module
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb.api import conversion
    from ngramdb.api.verbs import contamination, corpora, decontaminating, exporting
    from ngramdb.api.verbs.corpora import Removals
    from ngramdb.api.verbs.decontaminating import DecontaminationReport
    from ngramdb.curation.cutting import CutReport
    from ngramdb.engine.changes import audit
    from ngramdb.engine.changes.audit import RemovedDocument
    from ngramdb.planner import cautions, parameters
    from ngramdb.planner import parameters as load_options
    from ngramdb.planner import plan as plans
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions import (
        binder,
        cuts,
        decontamination,
        duplicates,
        maintenance,
        parsing,
        to_ast,
        token_sampling,
    )
    from ngramdb.questions import near_duplicates as near
    from ngramdb.questions import verbs as python_warnings
    from ngramdb.questions.parsing import Pattern
    from ngramdb.questions.signatures import Ngram
    from ngramdb.questions.token_sampling import KeptSample
    from ngramdb.questions.verbs import Asking as Corpus
else:
    corpora = lazy_module("ngramdb.api.verbs.corpora")
    audit = lazy_module("ngramdb.engine.changes.audit")
    binder = lazy_module("ngramdb.questions.binder")
    cuts = lazy_module("ngramdb.questions.cuts")
    decontamination = lazy_module("ngramdb.questions.decontamination")
    duplicates = lazy_module("ngramdb.questions.duplicates")
    plans = lazy_module("ngramdb.planner.plan")
    maintenance = lazy_module("ngramdb.questions.maintenance")
    near = lazy_module("ngramdb.questions.near_duplicates")
    cautions = lazy_module("ngramdb.planner.cautions")
    contamination = lazy_module("ngramdb.api.verbs.contamination")
    decontaminating = lazy_module("ngramdb.api.verbs.decontaminating")
    exporting = lazy_module("ngramdb.api.verbs.exporting")
    conversion = lazy_module("ngramdb.api.conversion")
    load_options = lazy_module("ngramdb.planner.parameters")
    parameters = lazy_module("ngramdb.planner.parameters")
    parsing = lazy_module("ngramdb.questions.parsing")
    python_warnings = lazy_module("ngramdb.questions.verbs")
    to_ast = lazy_module("ngramdb.questions.to_ast")
    token_sampling = lazy_module("ngramdb.questions.token_sampling")

Path = str | os.PathLike[str]


class RemovalVerbs(CorpusVerbs):
    """A base of `ngramdb.Corpus`."""

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
        tree, values, bind = chosen_by(where, params, removes=True)
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
        normalize : differences that are ignored: "case", "space" (white space), "nfc" (equivalent
            characters), "quotes" (typographic quotes)
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
        against: str | Corpus | None = None,
        on: str = "characters",
        gap_share: float | None = None,
        min_rest: float | None = None,
        max_pieces: int | None = None,
        replacement: str | None = None,
        params: ParameterValues = None,
        reason: str = "",
    ) -> CutReport:
        """Cut repeated text out of documents, in one commit: CUT DUPLICATES.

        One copy of repeated text stays. A document keeps its id and its metadata, and no n-gram
        crosses a cut. Documents of which nothing is left are removed.

        Parameters
        ----------
        where, params : a condition as after WHERE; only documents that meet it are compared and cut
        length, unit : the least length of repeated text, in "tokens" or "bytes"
        min_count : how often it must occur
        keep : "first", the copy in the document with the smallest id, or "none"
        keep_by, descending : fields; the copy in the document that is first in their order is kept
        against : another corpus of the database, or its name; text that it has is cut here
        on : where cuts begin and end: "characters", "words" or "lines"; they shrink to whole words or lines
        gap_share : the least share of cut tokens at which all from one cut to another is cut
        min_rest : the least share of a document's tokens that must be left, or it is removed
        max_pieces : the most pieces that a document may consist of, or it is removed
        replacement : a text that replaces each cut, with breaks before and after it
        reason : the reason, for the audit record

        Returns
        -------
        `documents` that were cut, `removed`, those of them of which nothing was left, `tokens` that were cut,
        `pieces` that the cut documents now consist of, and `version`, the new version.

        Raises
        ------
        InvalidArgument
            An invalid value of an argument; a length in bytes, or lines, of token ids without texts; a
            replacement that is repeated text itself.
        ExecutionError
            The text of a document has other tokens than those stored.

        Notes
        -----
        Cost: 2 to 60 ns per token to find duplicates; about 80 ns per token of each segment with a cut.
        """
        self._bound.check_whole("cut_duplicates")
        _check_reason(reason)
        text = cuts.duplicates_statement(
            self.name,
            where,
            length=length,
            unit=unit,
            min_count=min_count,
            kept=duplicates.kept_copy(keep, keep_by, descending),
            against=to_ast.corpus_name(self._bound, "against", against),
            rule=cuts.rule_of(on, gap_share, min_rest, max_pieces, replacement),
        )
        return self._cut(text, params, reason)

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
        replacement: str | None = None,
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
        on, gap_share, min_rest, max_pieces, replacement : as of `cut_duplicates`
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; by default, the setting `match` applies
        reason : the reason, for the audit record

        Returns
        -------
        As of `cut_duplicates`.

        Raises
        ------
        InvalidArgument
            An invalid value of an argument; a replacement that the pattern matches.
        ExecutionError
            The text of a document has other tokens than those stored.

        Notes
        -----
        Cost: that of finding the occurrences; about 80 ns per token of each segment with a cut.
        """
        self._bound.check_whole("cut_spans")
        _check_reason(reason)
        text = cuts.spans_statement(
            self.name,
            where,
            spans=to_ast.written(pattern, match_text, ignore_case),
            context=context,
            rule=cuts.rule_of(on, gap_share, min_rest, max_pieces, replacement),
        )
        return self._cut(text, params, reason)

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
        tokens: int | str,
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
        tokens : whole documents are drawn until they have so many; also as `'1B'` (K, M, B)
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
        nfc: bool = False,
        fold_quotes: bool = False,
        text: str | None = None,
        format: str | None = None,
        separator: str | None = None,
        where: str | None = None,
        params: ParameterValues = None,
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
            tokens (10, 0.8); "palm", of its n-grams (8, 0.7); "longest", of its longest piece (8, 0.5);
            "decon", of its fields `question`, `answer`, `passage` near each other (5, 0.8)
        n, threshold : tokens of an n-gram, and the share, from 0 (any overlap) to 1; those of the measure if
            not given
        strict : remove documents above the share only, not those that equal it
        lower, fold_space, nfc, fold_quotes : ignore letters' case, white space, equivalent forms of
            characters (Unicode's NFC), typographic quotes; n-grams are then of words
        text : the JSON field of an item that is compared; `text` if not given, with "decon" `question`
        format, separator : how the files are read, as by `load`: "text" for a file that is one item, or has
            the separator's line between two
        where, params : a condition as after WHERE; only documents that meet it are compared
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
        folds = {"lower": lower, "fold_space": fold_space, "nfc": nfc, "fold_quotes": fold_quotes}
        tree, values, bind = chosen_by(where, params)
        with self._bound.work():
            session = self._bound.session()
            told = "" if where is None else ", where " + values.told(where, tree, session.match())
            choose = None if where is None else partial(decontamination.compared, session, bind)
            return decontaminating.decontaminate(
                self._bound.database,
                self.name,
                against,
                contamination.Criterion.of(by, n, threshold, strict, **folds),
                reading=contamination.Reading(**given),
                where=decontaminating.Where(choose, told),
                source_field=source_field,
                dry_run=dry_run,
                report=None if report is None else conversion.as_path(report),
            )

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


def _check_reason(reason: str) -> None:
    """Raise InvalidArgument for a reason that an audit record cannot have."""
    if not isinstance(reason, str):
        raise InvalidArgument(f"a reason must be a str, not {type(reason).__name__}")
    try:
        reason.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"the reason is not valid Unicode at position {error.start}") from error
