"""Corpora in other programs' files: opened in place, read-only, for the lifetime of a connection.

An attachment is not part of any version of the database: its files belong to another program, which may move
or replace them, and a read-only database can have attachments, too. It has an entry like those of corpora in
the catalog, so that queries and tables need not tell them apart.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.segment.kinds import TableIndex
from ngramdb.engine.corpus import caches
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.directory.local_files import map_file
from ngramdb.engine.storage.manifest import CorpusEntry, FileRef, SegmentEntry, TokenizerEntry
from ngramdb.engine.storage.store import Store
from ngramdb.errors import (
    BindError,
    InvalidArgument,
    NgramdbError,
    QueryCancelled,
    StorageError,
)
from ngramdb.fork_safety import cached_property
from ngramdb.lazy import lazy_module
from ngramdb.registries import GROWING_TOKENIZERS
from ngramdb.segments.attached import AttachedSegment, TableFiles, files_of, shards_of
from ngramdb.segments.base import Segment
from ngramdb.strict_reading import open_regular
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.chars import TokensTokenizer
from ngramdb.tokenizers.registry import create_tokenizer, tokenizer_of_json, unopened

if TYPE_CHECKING:
    import hashlib

else:
    hashlib = lazy_module("hashlib")


DEFAULT_TYPE = "infini_gram"
#: The default tokenizer: documents are token ids.
NO_TOKENIZER = "tokens"


@dataclass(frozen=True)
class Attachment:
    """The options of ATTACH: path and format of the files, and the name of the corpus while attached."""

    path: str
    name: str
    type: str = DEFAULT_TYPE
    tokenizer: Any = NO_TOKENIZER  # as `create_tokenizer` accepts it
    dtype: str | None = None
    version: int | None = None
    index: str | None = None
    separator: int | None = None


def attachment_of(path: str, name: str, options: Mapping[str, Any]) -> Attachment:
    """Return the requested attachment; relative paths are resolved now, against the current folder."""
    for given in (path, options.get("index", "")):
        if "\0" in given:
            raise InvalidArgument(f"{given!r} cannot be a path: there is a null character in it")
    paths = {key: os.path.abspath(options[key]) for key in ("index",) if key in options}
    tokenizer = options.get("tokenizer")
    if isinstance(tokenizer, str) and os.path.exists(tokenizer):
        paths["tokenizer"] = os.path.abspath(tokenizer)
    return Attachment(os.path.abspath(path), name, **{**options, **paths})


class AttachedView(CorpusView):
    """The files of another program as a corpus. Immutable; safe to share between threads.

    Opening a tokenizer.json takes longer than all else: ATTACH only checks that the file looks like one, and
    the first query opens it. The same query compares the tokenizer with the documents.
    """

    def __init__(
        self,
        store: Store,
        entry: CorpusEntry,
        attachment: Attachment,
        definition: bytes | None,
        tokenizer: Tokenizer | None,
        segments: Sequence[AttachedSegment],
    ) -> None:
        super().__init__(store, entry)
        self.attachment = attachment
        self.subtracted = ()
        self._definition = definition
        self._segments = tuple(segments)
        if tokenizer is not None:
            self.tokenizer = self._compared(tokenizer)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer. Raises InvalidArgument if it is invalid, or documents have the wrong direction."""
        assert self._definition is not None
        return self._compared(tokenizer_of_json(self._definition, os.fspath(self.attachment.tokenizer)))

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments. Raises InvalidArgument, as `tokenizer` does."""
        assert self.tokenizer is not None
        return self._segments

    def definition(self) -> bytes | None:
        """Return the tokenizer.json of the corpus, byte for byte; None for other kinds of tokenizers."""
        return self._definition

    def _compared(self, tokenizer: Tokenizer) -> Tokenizer:
        if self.attachment.type == DEFAULT_TYPE:
            check_direction(self._segments, tokenizer, self.attachment.version)
        return tokenizer


def attach(store: Store, attachment: Attachment) -> AttachedView:
    """Open the corpus of an attachment.

    Cost: opening the files and a few reads in each, whatever their size; the first query reads about 65,000
    rows of each shard, unless that was done before (`key_cache`).

    Raises
    ------
    InvalidArgument
        The files do not exist, or the tokenizer is invalid.
    CorruptionError
        Files are missing or contradict each other.
    StorageError
        A file cannot be read.
    """
    definition = unopened(attachment.tokenizer)
    tokenizer = create_tokenizer(attachment.tokenizer) if definition is None else None
    if tokenizer is not None and tokenizer.kind in GROWING_TOKENIZERS:
        raise InvalidArgument(
            f"the ids of {tokenizer.kind!r} belong to one corpus, and no other program has them; name the "
            "tokenizer.json that the index was made with, or leave TOKENIZER out and query by token ids"
        )
    files = _files_of(attachment)
    keys_of = _sampler(store)
    segments: list[AttachedSegment] = []
    first = 0
    for shard in files:
        segments.append(AttachedSegment(shard, shard.index(), first, keys_of))
        first += segments[-1].n_documents
    if tokenizer is not None and (content := tokenizer.definition()) is not None:
        definition = bytes(content.sections["tokenizer"])
    described = _described("json" if tokenizer is None else tokenizer.kind, definition)
    entry = CorpusEntry(
        attachment.name,
        attachment.path,
        described,
        tuple(map(_entry_of, segments)),
        first,
        {},
    )
    return AttachedView(store, entry, attachment, definition, tokenizer, segments)


def read_only(name: str) -> BindError:
    """Return the error for an attempt to change an attached corpus."""
    return BindError(
        f"{name} is attached: its files belong to another program and are read-only (DETACH ends the "
        f"attachment); COPY (DOCS FROM {name}) TO 'documents.jsonl' exports its documents for loading"
    )


def _files_of(attachment: Attachment) -> list[TableFiles]:
    path, index, separator = attachment.path, attachment.index, attachment.separator
    for given in (path, index or ""):
        try:
            os.fsencode(given)
        except UnicodeEncodeError as error:
            raise InvalidArgument(f"{given!r} cannot be the name of a file: {error.reason}") from error
    if attachment.type == "tokengrams":
        if attachment.version is not None:
            raise InvalidArgument("VERSION is for indexes of infini-gram; tokengrams' files have one layout")
        return files_of(path, index, attachment.dtype, separator, _open, caches.identity_of)
    for option, value in (("INDEX", index), ("SEPARATOR", separator)):
        if value is not None:
            raise InvalidArgument(f"{option} is for files of tokengrams; infini-gram's files determine it")
    return shards_of(path, attachment.dtype, attachment.version, _open, caches.identity_of)


def _open(path: str) -> memoryview:
    """Map the file. Raises FileNotFoundError; StorageError for one that cannot be opened."""
    try:
        fd = open_regular(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"cannot open {path}: {error.strerror}", path=path) from error
    try:
        size = os.fstat(fd).st_size
        return map_file(fd, size) if size else memoryview(b"")
    except OSError as error:
        raise StorageError(f"cannot map {path}: {error.strerror}", path=path) from error
    finally:
        os.close(fd)


def _entry_of(segment: AttachedSegment) -> SegmentEntry:
    file = FileRef(segment.path, segment.size_bytes, 0)
    return SegmentEntry(file, 1, segment.n_tokens, segment.n_documents, segment.first_doc_id, 0)


def _described(kind: str, definition: bytes | None) -> TokenizerEntry:
    """Return the entry without the vocabulary's size, which is not needed before the file is opened."""
    file = None
    if definition is not None:
        file = FileRef(hashlib.sha256(definition).hexdigest(), len(definition), 0)
    return TokenizerEntry(kind, file, (), 0)


def _sampler(store: Store) -> Callable[[TableFiles, TableIndex], NDArray[np.uint64]]:
    return lambda files, index: caches.keys_of(store, files.identity, index)


# ---- Checking that documents are read in the right direction. infini-gram's version 5 stores the tokens of
# each document in reverse, but its files do not record this. A tokenizer shows it: encoding the decoded text
# of a document restores the same ids, but other ids if they are reversed, wherever words or characters have
# several tokens. (With GPT-2's tokenizer, every second or third passage of 64 tokens of reversed English
# changes.)


# Most passages that are read, and tokens of each. About 0.4 ms per passage; twenty are enough in most cases.
_PASSAGES = 256
_TOKENS = 64
# Neighbours that are ignored if a passage begins or ends inside a document: it may cut a word.
_CUT = 4
# A direction is wrong if at least this many passages change, and this many times as many as in the other
# direction. (In the right one, passages change if documents were tokenized differently.)
_FEWEST = 8
_TIMES = 5
# Documents are visited in this many rounds, so that the first ones are far apart.
_TURNS = 8


def check_direction(segments: Sequence[AttachedSegment], tokenizer: Tokenizer, version: int | None) -> None:
    """Decode and encode passages of documents again, in both directions, and compare.

    Raises InvalidArgument if documents are certainly in the other direction than `version` implies.
    """
    if isinstance(tokenizer, TokensTokenizer):
        return
    n = as_read = reverse = 0
    for ids, first, last in _passages(segments):
        try:
            others = [
                _becomes_others(tokenizer, *way) for way in ((ids, first, last), (ids[::-1], last, first))
            ]
        except QueryCancelled:
            raise
        except NgramdbError:
            continue  # ids of another tokenizer, or that cannot be spelled: queries raise for them
        n += 1
        as_read += others[0]
        reverse += others[1]
        if reverse >= max(_FEWEST, _TIMES * as_read):
            return
        if as_read >= max(_FEWEST, _TIMES * reverse):
            break
    else:
        return
    measured = (
        f"of {n} passages, re-encoding changes {as_read} as they are read, and {reverse} if they are reversed"
    )
    if version == 5:
        raise InvalidArgument(
            f"the documents of {segments[0].path} are not reversed: read as version 5, {measured}; "
            "leave VERSION out"
        )
    raise InvalidArgument(
        f"the documents of {segments[0].path} are reversed, as in version 5: {measured}; use VERSION 5"
    )


def _passages(segments: Sequence[AttachedSegment]) -> Iterator[tuple[NDArray[np.uint32], int, int]]:
    """Yield passages, each with how many tokens at its beginning and end may be parts of words."""
    firsts = [0, *accumulate(segment.n_documents for segment in segments)]
    n_chosen = min(_PASSAGES, firsts[-1])
    if n_chosen == 0:
        return
    chosen = np.arange(n_chosen) * firsts[-1] // n_chosen
    for turn in range(_TURNS):
        for number in chosen[turn::_TURNS].tolist():
            shard = int(np.searchsorted(firsts, number, "right")) - 1
            yield from _of_document(segments[shard], number - firsts[shard], _PASSAGES // n_chosen)


def _of_document(
    segment: AttachedSegment, number: int, most: int
) -> Iterator[tuple[NDArray[np.uint32], int, int]]:
    """Yield some passages of one document, evenly spread."""
    length = segment.document_length(number)
    n_passages = min(most, -(-length // _TOKENS))
    for i in range(n_passages):
        start = i * length // n_passages
        stop = min(start + _TOKENS, length)
        yield segment.passage(number, start, stop), _CUT * (start > 0), _CUT * (stop < length)


def _becomes_others(tokenizer: Tokenizer, ids: NDArray[np.uint32], first: int, last: int) -> bool:
    """Return True if re-encoding the text loses a pair of neighbours, ignoring some at either end."""
    again = tokenizer.encode(tokenizer.decode(ids)).tolist()
    found = set(pairwise(again))
    return any(pair not in found for pair in pairwise(ids[first : len(ids) - last].tolist()))
