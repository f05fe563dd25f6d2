"""A database at one snapshot, for planning and running statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ngramdb.api.database import Database
from ngramdb.api.settings import SETTINGS
from ngramdb.api.snapshot import Snapshot
from ngramdb.engine.corpus.view import CorpusView, open_segment
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.store import Store
from ngramdb.errors import NgramdbError, QueryCancelled, StorageError
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb.api.verbs import contamination, corpora, decontaminating, evaluation, exporting, range_files
    from ngramdb.api.verbs import corpora as analyzing
    from ngramdb.engine.changes import audit, compaction, removals
    from ngramdb.engine.changes import change as changes
    from ngramdb.engine.changes.audit import Removal
    from ngramdb.engine.changes.change import Change, ChangeOutcome
    from ngramdb.engine.changes.joining import AddedFields
    from ngramdb.engine.changes.removals import RestoreOutcome
    from ngramdb.engine.corpus import attached
    from ngramdb.engine.corpus.algebra import AlgebraView
    from ngramdb.engine.loading import loads
    from ngramdb.engine.loading import request as loading
    from ngramdb.engine.loading.loads import LoadReport
    from ngramdb.engine.storage.manifest import Manifest, SegmentEntry
    from ngramdb.executor.result import Result
    from ngramdb.ingest import documents
    from ngramdb.planner import cautions, planner
    from ngramdb.planner import plan as plans
    from ngramdb.planner.plan import FieldKey
    from ngramdb.questions import docs
    from ngramdb.questions.plans import BindCondition, BindPlan, Written
    from ngramdb.source import Corpus
    from ngramdb.types import Docs
else:
    analyzing = lazy_module("ngramdb.api.verbs.corpora")
    corpora = lazy_module("ngramdb.api.verbs.corpora")
    attached = lazy_module("ngramdb.engine.corpus.attached")
    contamination = lazy_module("ngramdb.api.verbs.contamination")
    decontaminating = lazy_module("ngramdb.api.verbs.decontaminating")
    evaluation = lazy_module("ngramdb.api.verbs.evaluation")
    audit = lazy_module("ngramdb.engine.changes.audit")
    changes = lazy_module("ngramdb.engine.changes.change")
    compaction = lazy_module("ngramdb.engine.changes.compaction")
    removals = lazy_module("ngramdb.engine.changes.removals")
    exporting = lazy_module("ngramdb.api.verbs.exporting")
    range_files = lazy_module("ngramdb.api.verbs.range_files")
    loading = lazy_module("ngramdb.engine.loading.request")
    loads = lazy_module("ngramdb.engine.loading.loads")
    documents = lazy_module("ngramdb.ingest.documents")
    planner = lazy_module("ngramdb.planner.planner")
    plans = lazy_module("ngramdb.planner.plan")
    docs = lazy_module("ngramdb.questions.docs")


class DatabaseSession:
    """A database at one snapshot: the catalog for planning, and everything else that statements need."""

    def __init__(self, database: Database, snapshot: Snapshot, current: str | None = None) -> None:
        """Use `current` as the default corpus without FROM; None for that of the database."""
        self._database = database
        self._snapshot = snapshot
        self._current = current

    # ---- names and their meanings -----------------------------------------------------------------------

    @property
    def current(self) -> str | None:
        return self._database.current if self._current is None else self._current

    @property
    def threads(self) -> int:
        return self._database.settings.threads

    def corpus_names(self) -> list[str]:
        return self._snapshot.names()

    def corpus_view(self, name: str, /) -> CorpusView:
        return self._snapshot.view(name)

    def own_corpus_names(self) -> list[str]:
        return sorted(self.manifest.corpora)

    def compaction(self, name: str, /) -> Sequence[str]:
        """Return what COMPACT would rewrite in a corpus, one line per segment that it would write."""
        limits = self._database.write_options().limits_of(self.manifest.corpora[name])
        return list(map(str, compaction.rewrites(self._snapshot.view(name), limits)))

    def algebra(self, terms: tuple[tuple[int, str, int | None], ...], /) -> CorpusView | AlgebraView:
        return self._snapshot.algebra(terms)

    def version_number(self, name: str, /) -> int:
        """Return the number of the version that is kept under a name, or raise BindError."""
        return self.manifest.number_of(name)

    def setting_names(self) -> list[str]:
        return list(SETTINGS)

    def check_setting(self, name: str, value: Any, /) -> Any:
        return SETTINGS[name].check(name, value)

    def disabled_rules(self) -> frozenset[str]:
        return self._database.settings.disabled_rules

    def match(self) -> str:
        return self._database.settings.match

    def texts_of_file(self, path: str, options: Mapping[str, Any], takes_ids: bool, /) -> Iterable[Any]:
        """Return the documents of files, as texts or as token ids."""
        return evaluation.documents_of_files([path], takes_ids=takes_ids, **options)

    # ---- what tables show -------------------------------------------------------------------------------

    @property
    def manifest(self) -> Manifest:
        return self._snapshot.manifest

    @property
    def entries(self) -> Mapping[str, Any]:
        """The catalog entries of all corpora, including attached ones."""
        return self._snapshot.entries

    def versions(self) -> Sequence[Manifest]:
        return sorted(self._database.store.versions(), key=lambda manifest: manifest.version)

    def removals(self, name: str, /) -> Iterator[tuple[Removal, int]]:
        """Yield the audit records of a corpus, oldest first, with the number of documents that are back."""
        audits = self.entries[name].audits
        return audit.removals_restored(self._database.store, audits, self._snapshot.view(name).n_kept_of)

    def resident_bytes(self, segment: SegmentEntry, /) -> int | None:
        """Return how many bytes of a segment's file are in memory; None if the file cannot be opened."""
        for view in self._snapshot.attached.values():
            if segment in view.entry.segments:
                return view.segments[view.entry.segments.index(segment)].resident_bytes()
        try:
            return open_segment(self._database.store, segment).resident_bytes()
        except StorageError:
            return None

    def tokenizer_title(self, name: str, /) -> str:
        """Return the display name of a corpus's tokenizer."""
        return self.corpus_view(name).tokenizer_title

    def setting_rows(self) -> list[tuple[Any, ...]]:
        return self._database.settings.rows()

    def findings(self, names: Sequence[str], /) -> Iterator[tuple[str | None, str, int | None, str]]:
        """Yield all problems of these corpora: damaged files first, then parts that contradict each other."""
        return find_problems(self._database.store, self._snapshot, names)

    def cautions(self) -> Sequence[cautions.Caution]:
        """Return the warnings about versions that the commit did not keep."""
        return self._database.cautions()

    # ---- what statements change -------------------------------------------------------------------------

    def run_create(
        self, name: str, tokenizer: Any, if_not_exists: bool, options: Mapping[str, Any], /
    ) -> int | None:
        return corpora.create_corpus(self._database, name, tokenizer, if_not_exists, options)

    def run_copy(
        self, name: str, source: Corpus, chosen: Sequence[Docs], if_not_exists: bool, /
    ) -> ChangeOutcome | None:
        return corpora.copy_documents(self._database, name, source, chosen, if_not_exists)

    def run_drop(self, name: str, if_exists: bool, /) -> int | None:
        return corpora.drop_corpus(self._database, name, if_exists)

    def run_load(
        self, name: str, paths: tuple[str, ...], options: Mapping[str, Any], skip_errors: bool, /
    ) -> LoadReport:
        return corpora.load_files(self._database, name, loading.LoadRequest(paths, skip_errors, **options))

    def change(self, name: str, action: str, /) -> AbstractContextManager[Change]:
        return self._database.change(name, action)

    def planned(
        self, condition: BindCondition, corpus: Corpus, /
    ) -> tuple[plans.DocExpr, plans.Costs | None]:
        """Bind and optimize a condition on the newest version, which is that of a change under way."""
        plan = self.prepared(lambda newest, view: docs.CountDocuments(view, condition(newest, view)), corpus)
        assert isinstance(plan, docs.CountDocuments)
        return plan.where, plan.costs

    def prepared(self, bind: BindPlan, corpus: Corpus, /) -> plans.Plan:
        """Bind and optimize a plan on the newest version, likewise."""
        store = self._database.store
        newest = DatabaseSession(self._database, Snapshot(store, store.manifest))
        return planner.optimize(bind(newest, corpus), self.disabled_rules())[0]

    def scratch(self, text: str, like: Corpus, /) -> Corpus:
        assert isinstance(like, CorpusView)
        document = documents.Document(text.encode(), None, {}, "a text")
        return loads.scratch_corpus(MemoryDirectory(), iter([document]), like)

    def run_restore(self, name: str, version: int, /) -> RestoreOutcome:
        self._database.require_own(name)
        with self._database.writing() as timeout_s:
            return removals.restore_corpus(self._database.store, name, version, timeout_s)

    def run_keep(self, name: str, version: int | None, /) -> tuple[int, int]:
        with self._database.writing() as timeout_s:
            return removals.keep_version(self._database.store, name, version, timeout_s)

    def run_drop_version(self, name: str, /) -> tuple[int, int]:
        with self._database.writing() as timeout_s:
            return removals.drop_version(self._database.store, name, timeout_s)

    def run_alter(
        self, name: str, other: str, sign: int, version: int | None, statement: str, /
    ) -> ChangeOutcome:
        self._database.require_own(other)
        if sign > 0:
            with self.change(name, f"add {other} to {name}") as change:
                return changes.add_corpus(change, other, version)
        with self.change(name, f"subtract {other} from {name}") as change:
            return changes.subtract_corpus(change, other, version, statement)

    def run_add_fields(
        self,
        name: str,
        table: Any,
        key: Callable[[Corpus], FieldKey],
        column: str,
        names: Sequence[str] | None,
        replaces: bool,
        /,
    ) -> AddedFields:
        return corpora.add_fields(self._database, name, table, key, column, names, replaces)

    def run_decontaminate(
        self,
        name: str,
        path: str,
        measure: Mapping[str, Any],
        options: Mapping[str, Any],
        choose: Callable[[Corpus], list[Docs]] | None,
        deletes: bool,
        statement: str,
        /,
    ) -> tuple[Sequence[Mapping[str, Any]], Mapping[str, Any]]:
        self._database.require_own(name)
        return decontaminating.listed_items(
            self._database,
            name,
            path,
            contamination.Criterion.of(**measure),
            contamination.Reading(**options),
            decontaminating.Where(choose),
            statement if deletes else None,
        )

    def contaminated(
        self,
        corpus: Corpus,
        path: str,
        measure: Mapping[str, Any],
        options: Mapping[str, Any],
        choose: Callable[[Corpus], list[Docs]] | None,
        /,
    ) -> list[Docs]:
        assert isinstance(corpus, CorpusView)
        criterion, reading = contamination.Criterion.of(**measure), contamination.Reading(**options)
        return decontaminating.contaminated(corpus, path, criterion, reading, decontaminating.Where(choose))

    def run_export_rows(self, rows: Result, path: str, options: Mapping[str, Any], /) -> Written:
        return exporting.export_rows(rows, path, **options)

    def run_export_marks(
        self, corpus: Corpus, marks: Sequence[Any], key: FieldKey, path: str, options: Mapping[str, Any], /
    ) -> Written:
        return range_files.export_marks(corpus, marks, key, path, **options)

    def run_export(self, documents: plans.Plan, path: str, options: Mapping[str, Any], /) -> Written:
        assert isinstance(documents, docs.Documents)
        return exporting.export_documents(documents, path, **options)

    def run_analyze(self, name: str, order: int | None, /) -> analyzing.AnalysisReport:
        return analyzing.analyze(self._database, name, order)

    def run_attach(self, path: str, name: str, options: Mapping[str, Any], /) -> None:
        self._database.attach(attached.attachment_of(path, name, options))

    def run_detach(self, name: str, /) -> None:
        self._database.detach(name)

    def run_use(self, name: str, /) -> None:
        self._database.current = self._database.corpus_name(name)

    def run_setting(self, name: str, value: Any, reset: bool, /) -> Any:
        settings = self._database.settings
        if reset:
            settings.reset(name)
        else:
            settings[name] = value
        return settings[name]


# ---- CHECK: every checksum of every file, and every invariant of every segment.


Problem = tuple[str | None, str, int | None, str]


def find_problems(store: Store, snapshot: Snapshot, names: Sequence[str]) -> Iterator[Problem]:
    """Yield problems as (corpus, file, offset in bytes, message), skipping the inside of damaged corpora.

    If every corpus is named, files that belong to none (the manifest, the database's marker) are checked,
    too.
    """
    own = [name for name in names if name not in snapshot.attached]
    owners = {ref.name: name for name in own for ref in snapshot.manifest.corpora[name].files()}
    every = set(names) == set(snapshot.names())
    damaged: set[str] = set()
    for finding in store.check():
        owner = owners.get(finding.file)
        if owner is None and not every:
            continue
        if owner is not None:
            damaged.add(owner)
        yield owner, finding.file, finding.offset, finding.message
    for name in names:
        if name not in damaged:
            yield from _contradictions(snapshot, name)


def _contradictions(snapshot: Snapshot, name: str) -> Iterator[Problem]:
    view = snapshot.view(name)
    try:
        parts = [(segment.path, segment.check) for segment in (*view.segments, *view.subtracted)]
        parts.append((name, view.check_documents))
        parts.append((name, view.check_tokens))
        parts.append((name, view.check_audits))
        parts.append((name, view.tokenizer.check))
    except QueryCancelled:
        raise
    except NgramdbError as error:
        yield _problem(name, name, error)
        return
    for file, check in parts:
        try:
            check()
        except QueryCancelled:
            raise
        except NgramdbError as error:
            yield _problem(name, file, error)


def _problem(name: str, file: str, error: NgramdbError) -> Problem:
    path = getattr(error, "path", None) or file
    return name, path, getattr(error, "offset", None), str(error)
