"""Corpora of any size from a small one: documents of fragments of its text, drawn at random.

Documents of geometrically many fragments, eight on average, of 20 to 200 tokens each; 3 % of the tokens are
replaced by draws from all of them. So short n-grams are as frequent as in the text, long ones recur as often
as their fragments are drawn, and there are new ones however much has been drawn.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from peerbench.corpus import TokenCorpus

FRAGMENT = (20, 200)
FRAGMENTS_PER_DOCUMENT = 8
REPLACED = 0.03
# Tokens that are drawn at a time: some 200 MB of memory.
PIECE = 10_000_000


def pieces(base: TokenCorpus, n_tokens: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """About so many tokens of whole documents, in pieces: their ids, and the documents' lengths."""
    rng = np.random.default_rng(seed)
    left = n_tokens
    while left > 0:
        n_fragments = max(min(left, PIECE) * 2 // sum(FRAGMENT), 1)
        sizes = rng.integers(*FRAGMENT, n_fragments, endpoint=True)
        starts = rng.integers(0, base.n_tokens - FRAGMENT[1], n_fragments)
        ends = np.cumsum(sizes)
        piece = base.ids[np.repeat(starts - (ends - sizes), sizes) + np.arange(ends[-1])]
        replaced = rng.random(len(piece)) < REPLACED
        piece[replaced] = base.ids[rng.integers(0, base.n_tokens, int(replaced.sum()))]
        cuts = np.flatnonzero(rng.random(n_fragments - 1) < 1 / FRAGMENTS_PER_DOCUMENT)
        yield piece, np.diff(ends[cuts], prepend=0, append=ends[-1])
        left -= PIECE


def bootstrap(base: TokenCorpus, n_tokens: int, seed: int) -> TokenCorpus:
    """About so many tokens, in memory."""
    ids, lengths = zip(*pieces(base, n_tokens, seed), strict=True)
    return TokenCorpus(np.concatenate(ids), np.concatenate([[0], np.cumsum(np.concatenate(lengths))]))


def write_bootstrap(base: TokenCorpus, n_tokens: int, seed: int, ids: Path, offsets: Path) -> None:
    """The same into two .npy files, whatever the size. A file that is there is complete."""
    lengths, total = [], 0
    unfinished = ids.with_suffix(".unfinished")
    with open(unfinished, "wb") as file:
        file.write(_header(0))
        for piece, piece_lengths in pieces(base, n_tokens, seed):
            piece.astype("<u2", copy=False).tofile(file)
            lengths.append(piece_lengths)
            total += len(piece)
        file.seek(0)
        file.write(_header(total))
    np.save(offsets, np.concatenate([[0], np.cumsum(np.concatenate(lengths))]))
    unfinished.rename(ids)


def _header(n: int) -> bytes:
    """The head of an .npy file (version 1.0) of so many u16, 128 bytes whatever the number."""
    text = f"{{'descr': '<u2', 'fortran_order': False, 'shape': ({n},), }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.ljust(117) + b"\n"
