"""Damage in segments that are verified block by block as they are used: an error, or the right answer.

The segment is so large that a question reads a small part of it, of the directory, too.
"""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from support.small_databases import files_of, opened

from ngramdb.errors import CorruptionError, StorageError
from ngramdb.segments.container import Container

N_TOKENS = 600_000
N_DOCUMENTS = 20_000
SECTIONS = ("directory.tree", "directory.rest", "suffix_array", "tokens", "documents.starts")
FLIPS_PER_SECTION = 12
KINDS = ("count", "count_many", "prob", "infgram", "distribution", "score", "docs", "count_docs", "tokens")


@cache
def sound():
    """The files of a database of one segment, the segment's name, and questions."""
    rng = np.random.default_rng(1)
    ids = (rng.random(N_TOKENS) ** 3 * 3000).astype(np.uint16)
    cuts = np.sort(rng.choice(np.arange(1, N_TOKENS), N_DOCUMENTS - 1, replace=False))
    files = files_of(lambda c, _: c.append(np.split(ids, cuts)), tokenizer="tokens")
    (name,) = (name for name in files if name.startswith("segments/"))
    grams = [ids[at : at + n].tolist() for at in rng.integers(0, N_TOKENS - 9, 40) for n in (1, 2, 3, 5, 9)]
    return files, name, grams


def answer(corpus, kind, grams):
    """The answers to some questions of one kind, in a form that can be compared."""
    if kind == "count":
        return [corpus.count(gram) for gram in grams]
    if kind == "count_many":
        return corpus.count_many(grams).tolist()
    if kind == "prob":
        return [str(corpus.prob(gram[-1], given=gram[:-1])) for gram in grams]
    if kind == "infgram":
        return [str(corpus.prob(gram[-1], given=gram[:-1], model="infgram")) for gram in grams]
    if kind == "distribution":
        return [str(corpus.dist(gram[:2])) for gram in grams if len(gram) > 1]
    if kind == "score":
        return [str(corpus.score(gram)) for gram in grams]
    if kind == "docs":
        return [str(list(corpus.docs(str(gram)))[:3]) for gram in grams if len(gram) > 2]
    if kind == "count_docs":
        return [corpus.count_docs(str(gram)) for gram in grams]
    (segment,) = corpus._bound.current().segments
    return [segment.document(i).tolist() for i in range(0, N_DOCUMENTS, 997)]


@cache
def expected():
    files, _, grams = sound()
    with opened(files, read_only=True) as db:
        return {kind: answer(db.corpus("c"), kind, grams) for kind in KINDS}


def places():
    """Bytes of the segment, some of each section."""
    files, name, _ = sound()
    rng = random.Random(3)
    sections = Container.open(memoryview(files[name]), name).sections
    for section in SECTIONS:
        place = sections[section]
        for _ in range(FLIPS_PER_SECTION):
            yield section, place.offset + rng.randrange(place.length)


def flipped(at):
    files, name, _ = sound()
    content = bytearray(files[name])
    content[at] ^= 1 << at % 8
    return {**files, name: bytes(content)}


def test_a_count_verifies_what_it_reads_and_little_more():
    files, name, grams = sound()
    n_blocks = len(files[name]) // 4096
    most = 0
    for gram in grams[:40]:
        with opened(files, read_only=True) as db:
            corpus = db.corpus("c")
            corpus.count(gram)
            (segment,) = corpus._bound.current().segments
            most = max(most, segment._container.checksums.n_verified)
    assert 4 <= most <= 24 < n_blocks / 20


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_is_verified_first(kind):
    _, _, grams = sound()
    found = dict.fromkeys(SECTIONS, 0)
    for section, at in places():
        with opened(flipped(at), read_only=True) as db:
            try:
                assert answer(db.corpus("c"), kind, grams) == expected()[kind], f"{section}, byte {at}"
            except CorruptionError as error:
                assert error.offset == at // 4096 * 4096
                found[section] += 1
    # Every section that questions read at all is read in many blocks.
    assert sum(found.values()) >= FLIPS_PER_SECTION / 2, found


@pytest.mark.parametrize("section", ["directory.tree", "directory.rest", "suffix_array", "tokens"])
def test_enough_counts_find_every_damage(section):
    """In the directory once half of it has been read; in rows and text once all are needed."""
    files, name, grams = sound()
    place = Container.open(memoryview(files[name]), name).sections[section]
    pairs = np.arange(9_000_000, dtype=np.int64).reshape(-1, 3)
    pairs = np.stack([pairs[:, 0] % 3000, pairs[:, 1] // 3 % 3000], axis=1).reshape(-1)
    for at in range(place.offset, place.offset + place.length, place.length // 3 + 1):
        with opened(flipped(at), read_only=True) as db:
            corpus = db.corpus("c")
            with pytest.raises(CorruptionError, match=f"byte {at // 4096 * 4096} is damaged"):
                corpus.count_many((pairs, np.arange(0, len(pairs) + 1, 2)))
                answer(corpus, "tokens", grams)
                corpus._bound.current().segments[0].index.positions(0, N_TOKENS)


def test_check_finds_every_damage():
    for _, at in places():
        with opened(flipped(at), read_only=True) as db:
            rows = db.execute("CHECK").fetchall()
            assert any(f"at byte {at // 4096 * 4096} is damaged" in str(row) for row in rows)


def test_a_block_that_was_sound_is_not_read_as_sound_elsewhere():
    """Each connection verifies for itself: results for one file say nothing about another one."""
    files, name, grams = sound()
    place = Container.open(memoryview(files[name]), name).sections["directory.tree"]
    with opened(files, read_only=True) as db:
        db.corpus("c").count(grams[0])
    damaged = dict(files)
    content = bytearray(files[name])
    content[place.offset : place.offset + place.length] = bytes(place.length)
    damaged[name] = bytes(content)
    with opened(damaged, read_only=True) as db, pytest.raises(StorageError):
        db.corpus("c").count(grams[0])
