"""Changes of a database by statements and verbs: CREATE, COPY … FROM, DROP, ANALYZE."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ngramdb.api.database import Database
from ngramdb.engine.changes import change as changes
from ngramdb.engine.changes.change import ChangeOutcome
from ngramdb.engine.changes.joining import AddedFields
from ngramdb.engine.loading import loads
from ngramdb.engine.loading.loads import LoadReport
from ngramdb.engine.loading.request import LoadRequest
from ngramdb.engine.loading.writer import LoadCallback
from ngramdb.engine.storage.files import now
from ngramdb.engine.storage.manifest import CorpusEntry, StatisticsEntry, TokenizerEntry
from ngramdb.engine.storage.transaction import write_content
from ngramdb.errors import BindError, InvalidArgument, NotSupportedError
from ngramdb.executor.result import Result
from ngramdb.ingest import labels
from ngramdb.ingest.documents import ErrorLog
from ngramdb.ingest.sources import expand
from ngramdb.lm import spec
from ngramdb.lm import statistics as index_cache
from ngramdb.lm.of_corpora import digest, statistics_of, stored_statistics
from ngramdb.lm.spec import MAX_ANALYZED_ORDER, MIN_ANALYZED_ORDER, is_whole
from ngramdb.lm.statistics import Statistics
from ngramdb.planner.plan import FieldKey
from ngramdb.questions.results import SHOWN_ROWS
from ngramdb.source import Corpus
from ngramdb.tokenizers import Tokenizer
from ngramdb.tokenizers.registry import create_tokenizer
from ngramdb.types import Docs

if TYPE_CHECKING:
    from ngramdb.engine.changes.audit import Removal


def create_corpus(
    database: Database,
    name: str,
    tokenizer: Any,
    if_not_exists: bool = False,
    options: Mapping[str, Any] | None = None,
) -> int | None:
    """Run CREATE CORPUS; return the version with the new corpus, None if IF NOT EXISTS found one.

    Raises
    ------
    BindError
        A corpus of that name exists.
    InvalidArgument
        No such tokenizer, or a separator of sentences that is not one of its tokens.
    """
    database.refresh()
    database.require_own(name)
    if if_not_exists and name in database.snapshot.manifest.corpora:
        return None
    options = dict(options or {})
    made = checked_tokenizer(tokenizer, options)
    database.make()
    with database.writing() as timeout_s, database.store.begin(timeout_s) as transaction:
        corpora = dict(transaction.manifest.corpora)
        if name in corpora:
            if if_not_exists:
                return None
            raise BindError(f"corpus {name} exists already; CREATE CORPUS IF NOT EXISTS leaves it as it is")
        definition = made.definition()
        file = (
            None if definition is None else write_content(transaction, "tokenizers", "tokenizer", definition)
        )
        entry = TokenizerEntry(made.kind, file, (), made.n_vocabulary)
        corpora[name] = CorpusEntry(name, uuid.uuid4().hex, entry, (), 0, options)
        return transaction.commit(corpora, f"create corpus {name}").version


def copy_documents(
    database: Database, name: str, view: Corpus, chosen: Sequence[Docs], if_not_exists: bool = False
) -> ChangeOutcome | None:
    """Run CREATE CORPUS … AS; return the outcome, None if IF NOT EXISTS found a corpus.

    Raises
    ------
    BindError
        A corpus of that name exists.
    NotSupportedError
        The documents are those of an attached index, or of a sum.
    """
    database.refresh()
    database.require_own(name)
    # Documents of a difference have the numbers that they have in the corpus that others are subtracted from.
    added = [term.view for term in getattr(view, "terms", ()) if term.sign > 0]
    whole: Any = added[0] if len(added) == 1 else view
    source: Any = getattr(whole, "whole_entry", whole.entry)
    if not isinstance(source, CorpusEntry) or source.name in database.snapshot.attached:
        raise NotSupportedError(
            f"the documents of {source.name} cannot be copied within this database, which lacks its "
            "tokenizer; COPY (DOCS …) TO a file, and load that"
        )
    with database.writing() as timeout_s, database.store.begin(timeout_s) as transaction:
        if name in transaction.manifest.corpora:
            if if_not_exists:
                return None
            raise BindError(f"corpus {name} exists already; DROP CORPUS removes it")
        return changes.copy_documents(
            database.store,
            transaction,
            name,
            source,
            list(zip(whole.segments, chosen, strict=True)),
            database.write_options(timeout_s),
        )


def checked_tokenizer(tokenizer: Any, options: Mapping[str, Any]) -> Tokenizer:
    """Return the tokenizer of a corpus to be created. Raises InvalidArgument, as `create_corpus` does."""
    made = create_tokenizer(tokenizer)
    if spec.OPTION in options:
        spec.token_of(options[spec.OPTION], made)
    return made


def drop_corpus(database: Database, name: str, if_exists: bool = False, if_empty: bool = False) -> int | None:
    """Run DROP CORPUS; return the version without the corpus, None if IF EXISTS found none.

    With `if_empty`, also None if it has documents at the version that the commit would succeed.
    """
    database.refresh()
    database.require_own(name)
    if if_exists and name not in database.snapshot.manifest.corpora:
        return None
    with database.writing() as timeout_s, database.store.begin(timeout_s) as transaction:
        corpora = dict(transaction.manifest.corpora)
        if name not in corpora:
            if if_exists:
                return None
            raise BindError(f"no corpus {name!r}")
        if if_empty and corpora[name].n_documents:
            return None
        del corpora[name]
        return transaction.commit(corpora, f"drop corpus {name}").version


# ---- Loads


def load_files(
    database: Database, name: str, request: LoadRequest, progress: LoadCallback | None = None
) -> LoadReport:
    """Run COPY … FROM; `progress` None means the database's own callback, if enabled."""
    if progress is None and database.settings.progress:
        progress = database.progress
    files = loads.Files.find(request, database.snapshot.view(name).entry, database.settings.memory_limit)
    with database.change(name, f"load {name}") as change:
        return loads.load_files(change, files, progress)


def load_table(
    database: Database, name: str, request: LoadRequest, table: Any, progress: LoadCallback | None = None
) -> LoadReport:
    """Load the rows of a table in memory."""
    entry = database.snapshot.view(name).entry
    stream = loads.Stream.of_table(request, table, entry, database.settings.memory_limit)
    with database.change(name, f"load {name}") as change:
        return loads.load_stream(change, stream, progress)


# ---- Fields that are added after loading


def add_fields(
    database: Database,
    name: str,
    table: Any,
    key: Callable[[Corpus], FieldKey],
    column: str,
    fields: Sequence[str] | None,
    replaces: bool,
) -> AddedFields:
    """Run ALTER CORPUS … ADD FIELDS: one commit, or none if no document has a row or nothing changes.

    Parameters
    ----------
    table : a tuple of paths, or a table in memory
    key : binds the documents' key to the version that the commit succeeds
    column : the path of the key in the table
    fields : the fields to add, None for all but the key
    """
    errors, names = ErrorLog(), None if fields is None else (column, *fields)
    options = labels.reading(names)
    # Found before the lock is taken; a table is opened for the same reason.
    rows = (
        labels.read_labels(expand(table), options, errors)
        if isinstance(table, tuple)
        else labels.table_labels(table, options, errors)
    )
    with database.change(name, f"add fields to {name}") as change:
        found = key(change.view)
        added = change.add_fields(rows, (found.path, found.own), column, fields, replaces)
        return replace(added, version=change.commit().version, notes=tuple(errors.remarks))


# ---- ANALYZE: counts of counts of a corpus, computed once and stored in the catalog.


@dataclass(frozen=True)
class AnalysisReport:
    """The outcome of ANALYZE.

    `statistics` are the counts of counts (`ngramdb.lm.Statistics`), stored from `version` on; `changed` is
    False if they were stored before.
    """

    statistics: Statistics
    version: int
    changed: bool


def analyze(database: Database, name: str, order: int | None = None) -> AnalysisReport:
    """Run ANALYZE: one commit, or none if the stored statistics are current up to that length.

    order : the greatest length of n-grams that is counted. None: that of the stored statistics, if
    they are current, else a default for the tokenizer.

    Runs under the writer's lock, so that nothing can change between the count and the commit; readers do not
    wait.

    Raises
    ------
    InvalidArgument
        an order that is not a whole number from 2 to 1,000
    """
    if order is not None and not (is_whole(order) and MIN_ANALYZED_ORDER <= order <= MAX_ANALYZED_ORDER):
        raise InvalidArgument(
            f"the order of analyze must be a whole number from {MIN_ANALYZED_ORDER} to "
            f"{MAX_ANALYZED_ORDER:,}, not {order!r}"
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
    # The same documents: data that queries have cached for them stays valid.
    index_cache.carry_over(view, database.snapshot.view(name))
    return AnalysisReport(statistics, version, True)


def entry_of(statistics: Statistics) -> StatisticsEntry:
    """Return statistics in the form that the catalog stores."""
    return StatisticsEntry(
        created=now(),
        segments=digest(statistics.segments),
        n_tokens=statistics.n_tokens,
        n_documents=statistics.n_documents,
        n_left_of_end=statistics.n_left_of_end,
        n_types=statistics.n_types,
        continuation=statistics.continuation,
        raw=statistics.raw,
        frequent=statistics.frequent,
    )


# ---- The list of removals that `Corpus.removals` returns.


class Removals(list["Removal"]):
    """The removals from a corpus, oldest first: a list that is printed as a table of the newest ones."""

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    def _table(self) -> Result:
        names = ("version", "created", "by", "n_documents", "n_tokens", "statement", "reason")
        table = Result.of_rows(names, [self._row(one, names) for one in self[-SHOWN_ROWS:]])
        table.n_rows = len(self)
        return table

    @staticmethod
    def _row(removal: Removal, names: Sequence[str]) -> tuple[Any, ...]:
        at = datetime.fromtimestamp(removal.created, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
        return tuple(at if name == "created" else getattr(removal, name) for name in names)
