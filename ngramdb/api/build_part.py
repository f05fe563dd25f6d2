"""Some documents of a corpus with the same verbs: the result of `Corpus.where`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ngramdb.api.corpus_handle import BoundCorpus
from ngramdb.api.session import DatabaseSession
from ngramdb.errors import NotSupportedError
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb.api.snapshot import Snapshot
    from ngramdb.executor import document_subset
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions import docs_plan
else:
    document_subset = lazy_module("ngramdb.executor.document_subset")
    docs_plan = lazy_module("ngramdb.questions.docs_plan")


class BoundPart(BoundCorpus):
    """The documents that meet a condition: of the newest version, searched again for each version."""

    def __init__(self, whole: BoundCorpus, where: str, params: ParameterValues) -> None:
        self._whole = whole
        self._where = where
        self._params = params
        self.conditions = (*whole.conditions, (where, params))
        super().__init__(whole.database, whole.name)

    def opened(self, snapshot: Snapshot) -> Any:
        """Return the part of the corpus at a version."""
        whole = self._whole.opened(snapshot)
        condition, phrases = self._whole.condition(self._where, self._params, whole)
        counting = docs_plan.CountDocuments(whole, condition, phrases=phrases)
        self._whole.number(counting)  # warns of likely mistakes in the condition
        plan = self.optimized(counting)
        assert isinstance(plan, docs_plan.CountDocuments)
        with self.work():
            return document_subset.slice_of(whole, plan.where, plan.costs, self._where)

    def session(self) -> DatabaseSession:
        """Return the database, in which the corpus's name refers to the part."""
        return _PartSession(self)

    def check_whole(self, verb: str) -> NoReturn:
        raise NotSupportedError(
            f"{verb} needs a whole corpus, but this is a part of {self.name}, for reading; "
            f"corpus({self.name!r}) has all of it, and copy(name) makes a corpus of the part"
        )


class _PartSession(DatabaseSession):
    """A database in which a corpus's name refers to a part of it."""

    def __init__(self, part: BoundPart) -> None:
        super().__init__(part.database, part.database.snapshot)
        self._part = part

    def corpus_view(self, name: str, /) -> Any:
        return self._part.view if name == self._part.name else super().corpus_view(name)

    def algebra(self, terms: tuple[tuple[int, str, int | None], ...], /) -> Any:
        return self._part.view if terms == ((1, self._part.name, None),) else super().algebra(terms)
