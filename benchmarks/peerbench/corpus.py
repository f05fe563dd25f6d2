"""The benchmark's corpus as arrays of GPT-2 token ids, tokenized once and kept in the scratch folder.

All systems are built from these ids, so that they index exactly the same tokens. Ids fit 16 bits and
65535 is free; the peers' files use it as the separator in front of every document.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from peerbench.layout import Layout

SEPARATOR = 65535
N_VOCABULARY = 50257
END_OF_TEXT = 50256

# Documents per call of the tokenizer: enough work for all cores, little text in memory.
DOCUMENTS_PER_BATCH = 256


@dataclass(frozen=True)
class TokenCorpus:
    """Token ids of all documents, end to end.

    ids : (n_tokens,) uint16; no separators.
    offsets : (n_documents + 1,) int64; document i is `ids[offsets[i]:offsets[i + 1]]`.
    """

    ids: np.ndarray
    offsets: np.ndarray

    @property
    def n_tokens(self) -> int:
        return len(self.ids)

    @property
    def n_documents(self) -> int:
        return len(self.offsets) - 1

    def document(self, number: int) -> np.ndarray:
        """Token ids of one document: a view, uint16."""
        return self.ids[self.offsets[number] : self.offsets[number + 1]]

    def documents(self) -> Iterator[np.ndarray]:
        """All documents in load order, each a view."""
        return (self.document(number) for number in range(self.n_documents))


def load_tokens(jsonl: Path, tokenizer: Path, layout: Layout) -> TokenCorpus:
    """The tokens of a `.jsonl.gz` file, from the scratch folder when an earlier run left them there."""
    if not (layout.ids.exists() and layout.offsets.exists()):
        ids, offsets = tokenize(jsonl, tokenizer)
        np.save(layout.ids, ids)
        np.save(layout.offsets, offsets)
    return TokenCorpus(np.load(layout.ids), np.load(layout.offsets))


def tokenize(jsonl: Path, tokenizer: Path) -> tuple[np.ndarray, np.ndarray]:
    """(ids uint16, offsets int64) of the field `text` of every line, with Hugging Face's `tokenizers`."""
    from tokenizers import Tokenizer

    encoder = Tokenizer.from_file(str(tokenizer))
    parts: list[np.ndarray] = []
    for texts in _batches(jsonl):
        encodings = encoder.encode_batch(texts, add_special_tokens=False)
        parts.extend(np.array(encoding.ids, dtype=np.uint16) for encoding in encodings)
    offsets = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    ids = np.concatenate(parts)
    if len(ids) and int(ids.max()) >= SEPARATOR:
        raise ValueError(f"{jsonl.name}: token id {int(ids.max())} does not fit the peers' 16-bit files")
    return ids, offsets


def _batches(jsonl: Path) -> Iterator[list[str]]:
    batch: list[str] = []
    with gzip.open(jsonl, "rt", encoding="utf-8") as lines:
        for line in lines:
            batch.append(json.loads(line)["text"])
            if len(batch) == DOCUMENTS_PER_BATCH:
                yield batch
                batch = []
    if batch:
        yield batch


def write_peer_files(corpus: TokenCorpus, folder: Path) -> Path:
    """The token file both peers read, and infini-gram's document offsets; the path of the token file.

    `tokenized.0` is, for every document, the separator and then its tokens (uint16, little-endian);
    `offset.0` is each separator's byte offset (uint64). This bypasses infini-gram's own tokenization,
    which would want a download; its suffix-array steps read nothing else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    at_separator = corpus.offsets[:-1] + np.arange(corpus.n_documents)
    stream = np.empty(corpus.n_tokens + corpus.n_documents, dtype="<u2")
    is_token = np.ones(len(stream), dtype=bool)
    is_token[at_separator] = False
    stream[at_separator] = SEPARATOR
    stream[is_token] = corpus.ids
    token_file = folder / "tokenized.0"
    stream.tofile(token_file)
    (at_separator * 2).astype("<u8").tofile(folder / "offset.0")
    return token_file
