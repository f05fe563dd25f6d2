"""A connection on one snapshot, as running statements see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ngramdb.api.catalog import SnapshotCatalog
from ngramdb.api.checking import find_problems
from ngramdb.api.snapshot import Snapshot
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb.api import analyzing, exporting
    from ngramdb.api.loading import LoadReport
    from ngramdb.engine import audit, combining, restoring
    from ngramdb.engine.audit import Removal
    from ngramdb.engine.change import Change, ChangeOutcome
    from ngramdb.engine.restoring import RestoreOutcome
    from ngramdb.planner import plan as plans
    from ngramdb.planner import planner
    from ngramdb.planner.plan import (
        AlterCorpus,
        AnalyzeCorpus,
        BindCondition,
        ChangeSetting,
        CountDocuments,
        CreateCorpus,
        DropCorpus,
        ExportDocuments,
        Load,
        RestoreCorpus,
    )
    from ngramdb.planner.source import Corpus
else:
    analyzing = lazy_module("ngramdb.api.analyzing")
    audit = lazy_module("ngramdb.engine.audit")
    combining = lazy_module("ngramdb.engine.combining")
    exporting = lazy_module("ngramdb.api.exporting")
    planner = lazy_module("ngramdb.planner.planner")
    plans = lazy_module("ngramdb.planner.plan")
    restoring = lazy_module("ngramdb.engine.restoring")


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

    def change(self, name: str, action: str, /) -> AbstractContextManager[Change]:
        return self._connection._change(name, action)

    def planned(self, condition: BindCondition, corpus: Corpus, /) -> CountDocuments:
        """The condition bound and planned on the newest version, which is that of a change under way."""
        store = self._connection._store
        newest = Session(self._connection, Snapshot(store, store.snapshot().manifest))
        plan, _ = planner.optimize(
            plans.CountDocuments(corpus, condition(newest, corpus)), self.disabled_rules()
        )
        assert isinstance(plan, plans.CountDocuments)
        return plan

    def run_restore(self, plan: RestoreCorpus, /) -> RestoreOutcome:
        with self._connection._writing() as timeout_s:
            return restoring.restore_corpus(self._connection._store, plan.name, plan.version, timeout_s)

    def run_alter(self, plan: AlterCorpus, /) -> ChangeOutcome:
        if plan.sign > 0:
            with self.change(plan.name, f"add {plan.other} to {plan.name}") as change:
                return combining.add_corpus(change, plan.other, plan.version)
        with self.change(plan.name, f"subtract {plan.other} from {plan.name}") as change:
            return combining.subtract_corpus(change, plan.other, plan.version, plan.statement)

    def run_export(self, plan: ExportDocuments, /) -> tuple[int, dict[str, int]]:
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
