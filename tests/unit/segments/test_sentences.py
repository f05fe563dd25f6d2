"""The section of sentences: what is added is what is read, carried over and checked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.indexes import packed

from ngramdb._cext.corpus.joins import sentences_at
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.errors import CorruptionError
from ngramdb.interrupts import Interrupt
from ngramdb.segments.base import Part
from ngramdb.segments.builder import SegmentBuilder
from ngramdb.segments.container import Container
from ngramdb.segments.far_index import KIND
from ngramdb.segments.merging import Means, write_merged
from ngramdb.segments.segment import NativeSegment
from ngramdb.segments.text import SENTENCES, SentenceBuilder

# The lengths of the sentences of each document.
documents = st.lists(st.lists(st.integers(1, 12), max_size=5), min_size=1, max_size=6)


def flags_of(lengths):
    return [i == 0 for n in lengths for i in range(n)]


def built(directory, name, documents, first_doc_id=0, known=True, changes=None):
    """A segment of documents, of each sentence the tokens 0, 1, …; `changes` are made to its bits."""
    builder = SegmentBuilder(first_doc_id)
    flat, offsets = packed([[i for n in lengths for i in range(n)] for lengths in documents])
    flags = np.array([flag for lengths in documents for flag in flags_of(lengths)], dtype=np.bool_)
    builder.add(
        flat.astype(np.uint32),
        offsets,
        [None] * len(documents),
        [{}] * len(documents),
        sentences=flags if known else None,
    )
    if changes is not None:
        changes(builder._sentences)
    builder.write(directory.create(name))
    return opened(directory, name)


def opened(directory, name):
    return NativeSegment(Container.open(memoryview(directory.open_read(name)), name, KIND), name)


def all_of(segment):
    return np.arange(segment.n_documents, dtype=np.uint32)


def whole_flags(documents):
    """Return the flags of every symbol, including separators."""
    return [flag for lengths in documents for flag in (*flags_of(lengths), True)]


@settings(max_examples=60, deadline=None)
@given(documents, st.data())
def test_what_is_written_is_read_and_merged(lengths, data):
    directory = MemoryDirectory()
    cut = data.draw(st.integers(0, len(lengths)))
    halves = [half for half in (lengths[:cut], lengths[cut:]) if half]
    segments = []
    for half in halves:
        first = segments[-1].first_doc_id + segments[-1].n_documents if segments else 0
        segments.append(built(directory, f"segments/{len(segments)}.segment", half, first))
        segments[-1].check()
        assert segments[-1].sentence_flags(all_of(segments[-1])).tolist() == whole_flags(half)
    chosen = [
        np.array(sorted(data.draw(st.sets(st.sampled_from(range(len(half)))))), np.uint32) for half in halves
    ]
    parts = [Part(segment, some) for segment, some in zip(segments, chosen, strict=True) if len(some)]
    if not parts:
        return
    left = [half[i] for half, some in zip(halves, chosen, strict=True) for i in some.tolist()]
    for merges in (False, True):
        name = f"segments/merged{merges}.segment"
        write_merged(directory.create(name), parts, means=Means(merges))
        merged = opened(directory, name)
        merged.check()
        assert merged.sentences is not None
        assert merged.sentence_flags(all_of(merged)).tolist() == whole_flags(left)


@given(documents)
def test_a_position_lies_in_its_sentence(lengths):
    flags = np.array(whole_flags(lengths))
    bits = np.packbits(flags, bitorder="little")
    begins = np.flatnonzero(flags)
    every = np.arange(len(flags), dtype=np.uint32)
    lo, hi = sentences_at(bits, every)
    assert lo.tolist() == [int(begins[begins <= p].max()) for p in every]
    for p, stop in zip(every.tolist(), hi.tolist(), strict=True):
        after = begins[begins > p]
        assert stop == (after.min() if len(after) else 8 * len(bits))


def test_positions_that_are_none_have_no_sentence():
    lo, hi = sentences_at(np.array([1], dtype=np.uint8), np.array([8, 4_000_000_000], dtype=np.uint32))
    assert lo.tolist() == hi.tolist() == [0, 0]
    assert len(sentences_at(np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.uint32))[0]) == 0


def test_documents_without_sentences_stay_unknown_until_they_are_found():
    directory = MemoryDirectory()
    known = built(directory, "segments/a.segment", [[2, 1], []])
    unknown = built(directory, "segments/b.segment", [[3]], 2, known=False)
    assert known.sentences is not None and unknown.sentences is None and not unknown.has_sentences
    parts = [Part(segment, all_of(segment)) for segment in (known, unknown)]
    write_merged(directory.create("segments/c.segment"), parts)
    merged = opened(directory, "segments/c.segment")
    merged.check()
    assert merged.has_sentences and merged.sentences is None

    def marker(segment, numbers):
        return np.array([True, False, True])

    again = [Part(merged, np.array([2], dtype=np.uint32))]
    write_merged(directory.create("segments/d.segment"), again, means=Means(marker=marker))
    found = opened(directory, "segments/d.segment")
    found.check()
    assert found.sentence_flags(all_of(found)).tolist() == [True, False, True, True]
    write_merged(directory.create("segments/e.segment"), [Part(unknown, all_of(unknown))])
    assert not opened(directory, "segments/e.segment").has_sentences


def cleared(place):
    def change(builder):
        flags = np.unpackbits(np.frombuffer(bytes(builder._bytes), np.uint8), bitorder="little")
        flags = np.concatenate([flags.astype(np.bool_), builder._rest])
        flags[place] ^= True
        builder._bytes, builder._rest = bytearray(), np.empty(0, dtype=np.bool_)
        builder.add_symbols(flags)

    return change


@pytest.mark.parametrize("place", [0, 3, 4, 12])
def test_check_finds_documents_that_their_sentences_do_not_span(place):
    # Documents of 2 + 1 and 4 + 4 tokens: a first token, a separator, a first token, the last separator.
    segment = built(MemoryDirectory(), "segments/a.segment", [[2, 1], [4, 4]], changes=cleared(place))
    with pytest.raises(CorruptionError, match=r"the sentences of document [01] do not span it"):
        segment.check()


def test_a_section_of_another_length_is_damage():
    directory = MemoryDirectory()

    def cut(builder):
        builder._bytes, builder._rest = bytearray(), np.ones(3, dtype=np.bool_)

    segment = built(directory, "segments/a.segment", [[2, 1], [4, 4]], changes=cut)
    with pytest.raises(CorruptionError, match=f"section {SENTENCES} does not have a bit for each symbol"):
        _ = segment.sentences


class Noted:
    """A recorder of writes."""

    def __init__(self):
        self.sections = {}

    def add(self, name, data, dtype=None):
        self.sections[name] = data


@given(st.lists(st.tuples(st.booleans(), documents), max_size=5))
@settings(derandomize=True, deadline=None)
def test_bits_begin_where_sentences_are_first_known(batches):
    builder, expected, noted = SentenceBuilder(), [], Noted()
    for known, batch in batches:
        lengths = [sum(one) for one in batch]
        flags = np.array([flag for one in batch for flag in flags_of(one)], dtype=np.bool_)
        builder.add(flags if known else None, np.cumsum([0, *lengths]))
        expected += whole_flags(batch) if known else [False] * (sum(lengths) + len(batch))
    builder.write(noted)
    if not any(expected):
        assert not noted.sections
    else:
        bits = np.unpackbits(noted.sections[SENTENCES], bitorder="little")
        assert bits[: len(expected)].tolist() == expected and not bits[len(expected) :].any()


def test_what_is_not_known_takes_no_memory():
    builder = SentenceBuilder()
    builder.add(None, np.array([0, 1_000_000]))
    assert len(builder._bytes) == 0


def polls_of(bits, positions):
    with Interrupt(polls=2**40) as token:
        sentences_at(bits, positions.astype(np.uint32))
        return 2**40 - token.polls_left


def test_positions_in_one_long_sentence_read_it_once_and_polls_count_the_bytes_read():
    bits = np.zeros(2**20, dtype=np.uint8)
    bits[0] = 1
    n_tokens, n_sentences = 8 * len(bits), 16
    # Reading the sentence for each position would need a poll for each.
    assert polls_of(bits, np.arange(0, n_tokens, n_tokens // 2000)) <= 4
    bits[:: len(bits) // n_sentences] = 1
    middles = np.arange(n_sentences) * (n_tokens // n_sentences) + n_tokens // n_sentences // 2
    assert polls_of(bits, middles) >= n_sentences // 2
