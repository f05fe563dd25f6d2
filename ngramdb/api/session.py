"""A connection on one snapshot, as running statements see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ngramdb.api.catalog import SnapshotCatalog
from ngramdb.api.checking import find_problems
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb.api import analyzing, curation, exporting
    from ngramdb.api.loading import LoadReport
    from ngramdb.engine import audit
    from ngramdb.engine.audit import Removal
    from ngramdb.engine.combining import CombiningOutcome
    from ngramdb.engine.compaction import CompactionOutcome
    from ngramdb.engine.restoring import RestoreOutcome
    from ngramdb.planner.plan import (
        AlterCorpus,
        AnalyzeCorpus,
        ChangeSetting,
        CreateCorpus,
        DeleteDocuments,
        DropCorpus,
        ExportDocuments,
        Load,
        RestoreCorpus,
    )
else:
    analyzing = lazy_module("ngramdb.api.analyzing")
    audit = lazy_module("ngramdb.engine.audit")
    curation = lazy_module("ngramdb.api.curation")
    exporting = lazy_module("ngramdb.api.exporting")


class Session(SnapshotCatalog):
    """The catalog, and what running statements needs besides."""

    @property
    def manifest(self) -> Any:
        return self._snapshot.manifest

    def versions(self) -> Sequence[Any]:
        return sorted(self._connection._store.versions(), key=lambda manifest: manifest.version)

    def removals(self, name: str, /) -> Iterator[Removal]:
        """The audit records of a corpus, oldest first."""
        return audit.removals(self._connection._store, self.manifest.corpora[name].audits)

    def tokenizer_title(self, name: str, /) -> str:
        """What a person calls a corpus's tokenizer."""
        return self.corpus_view(name).tokenizer_title

    def setting_rows(self) -> list[tuple[Any, ...]]:
        return self._connection.settings.rows()

    def findings(self, names: Sequence[str], /) -> Iterator[tuple[str | None, str, int | None, str]]:
        """Every problem of these corpora: damaged files first, then parts that contradict each other."""
        return find_problems(self._connection._store, self._snapshot, names)

    def run_create(self, plan: CreateCorpus, /) -> int | None:
        return self._connection._create(plan)

    def run_drop(self, plan: DropCorpus, /) -> int | None:
        return self._connection._drop(plan)

    def run_load(self, plan: Load, /) -> LoadReport:
        return self._connection._load(plan)

    def run_delete(self, plan: DeleteDocuments, /) -> curation.DeletionReport:
        return curation.delete(self._connection, plan.corpus.entry.name, plan.condition, plan.statement)

    def run_restore(self, plan: RestoreCorpus, /) -> RestoreOutcome:
        return curation.restore(self._connection, plan.name, plan.version)

    def run_compact(self, name: str, /) -> CompactionOutcome:
        return curation.compact(self._connection, name)

    def run_alter(self, plan: AlterCorpus, /) -> CombiningOutcome:
        return curation.alter(
            self._connection, plan.name, plan.other, plan.sign, plan.version, plan.statement
        )

    def run_export(self, plan: ExportDocuments, /) -> int:
        return exporting.export_documents(plan.documents, plan.path, plan.options.get("format"))

    def run_analyze(self, plan: AnalyzeCorpus, /) -> analyzing.AnalysisReport:
        return analyzing.analyze(self._connection, plan.name, plan.order)

    def run_use(self, name: str, /) -> None:
        self._connection.use(name)

    def run_setting(self, plan: ChangeSetting, /) -> Any:
        settings = self._connection.settings
        if plan.reset:
            settings.reset(plan.name)
        else:
            settings[plan.name] = plan.value
        return settings[plan.name]
