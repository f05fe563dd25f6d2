"""Making and dropping corpora: one commit each."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from ngramdb.engine.files import write_content
from ngramdb.engine.manifest import CorpusEntry, TokenizerEntry
from ngramdb.engine.store import Store
from ngramdb.errors import BindError
from ngramdb.lm import sentences
from ngramdb.tokenizers import Tokenizer
from ngramdb.tokenizers.registry import create_tokenizer


def create_corpus(
    store: Store,
    name: str,
    tokenizer: str,
    if_not_exists: bool,
    options: Mapping[str, Any],
    lock_timeout_s: float = 0.0,
) -> int | None:
    """The version that has the new corpus; None when it existed and that is all right.

    Another writer is waited for `lock_timeout_s` seconds, then there is a LockedError.

    Raises
    ------
    BindError
        There is a corpus of that name.
    InvalidArgument
        No such tokenizer, or a separator of sentences that is not one of its tokens.
    """
    made = checked_tokenizer(tokenizer, options)
    with store.begin(lock_timeout_s) as transaction:
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
        corpora[name] = CorpusEntry(name, uuid.uuid4().hex, entry, (), 0, dict(options))
        return transaction.commit(corpora, f"create corpus {name}").version


def checked_tokenizer(tokenizer: str, options: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer of a corpus that is to be made. Raises InvalidArgument, as `create_corpus` does."""
    made = create_tokenizer(tokenizer)
    if sentences.OPTION in options:
        sentences.token_of(options[sentences.OPTION], made)
    return made


def drop_corpus(store: Store, name: str, if_exists: bool, lock_timeout_s: float = 0.0) -> int | None:
    """The version without the corpus; None when there was none and that is all right.

    Another writer is waited for `lock_timeout_s` seconds, then there is a LockedError.
    """
    with store.begin(lock_timeout_s) as transaction:
        corpora = dict(transaction.manifest.corpora)
        if name not in corpora:
            if if_exists:
                return None
            raise BindError(f"no corpus {name!r}")
        del corpora[name]
        return transaction.commit(corpora, f"drop corpus {name}").version
