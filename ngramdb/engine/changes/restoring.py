"""Going back to an earlier version of a corpus: a new version whose corpus is as it was then."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ngramdb.engine.storage.manifest import CorpusEntry
from ngramdb.engine.storage.store import Store
from ngramdb.errors import BindError


@dataclass(frozen=True)
class RestoreOutcome:
    """What a restoration did: documents before; documents and tokens after, and the version that has them."""

    documents_before: int
    documents: int
    tokens: int
    version: int


def restore_corpus(store: Store, name: str, version: int, lock_timeout_s: float = 0.0) -> RestoreOutcome:
    """Make a corpus what it was in an earlier version, also one that has been dropped since.

    Other corpora stay.

    Ids of documents and tokens are never assigned twice: `next_doc_id` and the vocabulary stay as they are,
    or were before a drop. Audit records stay, too.

    Raises
    ------
    BindError
        the version is not kept, had no such corpus, or the name is another corpus's by now
    LockedError
        another writer is at work

    Cost: one manifest, and those since a drop; no file of the corpus is touched.
    """
    with store.begin(lock_timeout_s) as transaction:
        then = store.version(version).corpora.get(name)
        if then is None:
            raise BindError(f"there was no corpus {name!r} in version {version}")
        now = transaction.manifest.corpora.get(name)
        if now is not None and now.id != then.id:
            raise BindError(
                f"the corpus {name} of version {version} was dropped, and {name} is another one since: drop "
                "that one, too, then restore the earlier one"
            )
        last = _last_seen(store, name, then) if now is None else now
        # The newest vocabulary extends all earlier ones: the tokens of `then` have the same ids in it.
        then = replace(then, next_doc_id=last.next_doc_id, tokenizer=last.tokenizer, audits=last.audits)
        n_before = 0 if now is None else now.n_documents
        if then == now:
            return RestoreOutcome(n_before, then.n_documents, then.n_tokens, transaction.manifest.version)
        corpora = {**transaction.manifest.corpora, name: then}
        manifest = transaction.commit(corpora, f"restore {name} to version {version}")
        return RestoreOutcome(n_before, then.n_documents, then.n_tokens, manifest.version)


def _last_seen(store: Store, name: str, then: CorpusEntry) -> CorpusEntry:
    """The newest entry of a corpus that has been dropped since: with ids and records of what came after."""
    for manifest in reversed(store.versions()):
        entry = manifest.corpora.get(name)
        if entry is not None and entry.id == then.id:
            return entry
    return then
