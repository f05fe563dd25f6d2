"""ANALYZE: counts of counts of a corpus, taken once and kept in the catalog."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from ngramdb.api.database import Database
from ngramdb.engine.storage.manifest import StatisticsEntry
from ngramdb.errors import InvalidArgument
from ngramdb.executor.questions.models import digest, statistics_of, stored_statistics
from ngramdb.lm import index_cache
from ngramdb.lm.spec import MAX_ANALYZED_ORDER, MIN_ANALYZED_ORDER, is_whole
from ngramdb.lm.statistics import Statistics


@dataclass(frozen=True)
class AnalysisReport:
    """What ANALYZE did.

    `statistics` are the counts of counts (`ngramdb.lm.Statistics`), kept from `version` on; `changed` is
    False where they had been kept before.
    """

    statistics: Statistics
    version: int
    changed: bool


def analyze(database: Database, name: str, order: int | None = None) -> AnalysisReport:
    """Run ANALYZE: one commit, none where the statistics kept are those of the corpus up to that length.

    order : the greatest length of n-grams that is counted. None: that of the statistics that are kept, where
    they are those of the corpus as it is, else what suits the tokenizer.

    Taken under the writer's lock, so that nothing comes between the count and the commit; readers do not
    wait.

    Raises
    ------
    InvalidArgument
        an order that is not a whole number from 2 to 1,000
    """
    if order is not None and not (is_whole(order) and MIN_ANALYZED_ORDER <= order <= MAX_ANALYZED_ORDER):
        raise InvalidArgument(
            f"the order of analyze is a whole number from {MIN_ANALYZED_ORDER} to {MAX_ANALYZED_ORDER:,}, "
            f"not {order!r}"
        )
    database.refresh()
    with database.change(name, f"analyze {name}") as change:
        view = database.snapshot.view(name)
        if view.entry != change.before:
            view = change.view
        stored = stored_statistics(view)
        if stored is not None and order in (None, stored.max_length):
            return AnalysisReport(stored, change.commit().version, False)
        statistics = statistics_of(view) if order is None else index_cache.analyze(view, order)
        change.entry = replace(change.before, statistics=entry_of(statistics))
        version = change.commit().version
    # The same documents: what questions have made of them stays good.
    index_cache.carry_over(view, database.snapshot.view(name))
    return AnalysisReport(statistics, version, True)


def entry_of(statistics: Statistics) -> StatisticsEntry:
    """Statistics as the catalog keeps them."""
    return StatisticsEntry(
        created=time.time(),
        segments=digest(statistics.segments),
        n_tokens=statistics.n_tokens,
        n_documents=statistics.n_documents,
        n_left_of_end=statistics.n_left_of_end,
        n_types=statistics.n_types,
        continuation=statistics.continuation,
        raw=statistics.raw,
        frequent=statistics.frequent,
    )
