"""Making and dropping corpora: one commit each."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from ngramdb.api.database import Database
from ngramdb.engine.changes import copying
from ngramdb.engine.changes.change import ChangeOutcome
from ngramdb.engine.storage.files import write_content
from ngramdb.engine.storage.manifest import CorpusEntry, TokenizerEntry
from ngramdb.errors import BindError, NotSupportedError
from ngramdb.lm import sentences
from ngramdb.planner.plan import CopyDocuments, CreateCorpus, DropCorpus
from ngramdb.tokenizers import Tokenizer
from ngramdb.tokenizers.registry import create_tokenizer
from ngramdb.types import Docs


def create_corpus(database: Database, plan: CreateCorpus) -> int | None:
    """Run CREATE CORPUS; returns the version with the new corpus, None if IF NOT EXISTS found one.

    Raises
    ------
    BindError
        There is a corpus of that name.
    InvalidArgument
        No such tokenizer, or a separator of sentences that is not one of its tokens.
    """
    database.refresh()
    database.require_own(plan.name)
    if plan.if_not_exists and plan.name in database.snapshot.manifest.corpora:
        return None
    made = checked_tokenizer(plan.tokenizer, plan.options)
    database.make()
    with database.writing() as timeout_s, database.store.begin(timeout_s) as transaction:
        corpora = dict(transaction.manifest.corpora)
        if plan.name in corpora:
            if plan.if_not_exists:
                return None
            raise BindError(
                f"corpus {plan.name} exists already; CREATE CORPUS IF NOT EXISTS leaves it as it is"
            )
        definition = made.definition()
        file = (
            None if definition is None else write_content(transaction, "tokenizers", "tokenizer", definition)
        )
        entry = TokenizerEntry(made.kind, file, (), made.n_vocabulary)
        corpora[plan.name] = CorpusEntry(plan.name, uuid.uuid4().hex, entry, (), 0, dict(plan.options))
        return transaction.commit(corpora, f"create corpus {plan.name}").version


def copy_documents(database: Database, plan: CopyDocuments, chosen: Sequence[Docs]) -> ChangeOutcome | None:
    """Run CREATE CORPUS … AS; returns what was copied, None if IF NOT EXISTS found a corpus.

    Raises
    ------
    BindError
        There is a corpus of that name.
    NotSupportedError
        The documents are those of an attached index, or of a sum.
    """
    database.refresh()
    database.require_own(plan.name)
    view: Any = plan.documents.corpus
    source = getattr(view, "whole_entry", view.entry)
    if not isinstance(source, CorpusEntry) or source.name in database.snapshot.attached:
        raise NotSupportedError(
            f"the documents of {source.name} cannot be copied within this database, which lacks its "
            "tokenizer; COPY (DOCS …) TO a file, and load that"
        )
    with database.writing() as timeout_s, database.store.begin(timeout_s) as transaction:
        if plan.name in transaction.manifest.corpora:
            if plan.if_not_exists:
                return None
            raise BindError(f"corpus {plan.name} exists already; DROP CORPUS removes it")
        return copying.copy_documents(
            database.store,
            transaction,
            plan.name,
            source,
            list(zip(view.segments, chosen, strict=True)),
            database.write_options(timeout_s),
        )


def checked_tokenizer(tokenizer: Any, options: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer of a corpus that is to be made. Raises InvalidArgument, as `create_corpus` does."""
    made = create_tokenizer(tokenizer)
    if sentences.OPTION in options:
        sentences.token_of(options[sentences.OPTION], made)
    return made


def drop_corpus(database: Database, plan: DropCorpus, if_empty: bool = False) -> int | None:
    """Run DROP CORPUS; returns the version without the corpus, None if IF EXISTS found none.

    With `if_empty` also None where it has documents at the version that the commit would succeed.
    """
    database.refresh()
    database.require_own(plan.name)
    if plan.if_exists and plan.name not in database.snapshot.manifest.corpora:
        return None
    with database.writing() as timeout_s, database.store.begin(timeout_s) as transaction:
        corpora = dict(transaction.manifest.corpora)
        if plan.name not in corpora:
            if plan.if_exists:
                return None
            raise BindError(f"no corpus {plan.name!r}")
        if if_empty and corpora[plan.name].n_documents:
            return None
        del corpora[plan.name]
        return transaction.commit(corpora, f"drop corpus {plan.name}").version
