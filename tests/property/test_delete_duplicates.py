"""DELETE DUPLICATES against brute force: segments, removed and broken documents, all clauses."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.broken import append_broken, connected

import ngramdb
from ngramdb.curation import document_keys, equal_documents
from ngramdb.errors import InvalidArgument, PlanError

# A bar is a break of the document.
TEXTS = ["a b", "a  b", "A b", "b", "b ", "", "a b c", "a |b", "a| b", "a |b |c", "a b |c"]
documents = st.lists(st.tuples(st.sampled_from(TEXTS), st.integers(0, 3)), max_size=6)


def expected(rows, keep, against, is_text, least):
    """The documents that are left, and for each removed one the kept document; rows are (id, text, n)."""

    def key(text):
        if is_text:
            return " ".join(text.replace("|", "").lower().split())
        return tuple(tuple(piece.split()) for piece in text.split("|"))

    counted = [row for row in rows if row[2] >= least]
    if keep == "n":
        counted.sort(key=lambda row: -row[2])
    there = {}
    for number, text in enumerate(against or []):
        there.setdefault(key(text), number)
    removed = {}
    for one in counted:
        same = [row for row in counted if key(row[1]) == key(one[1])]
        if key(one[1]) in there:
            removed[one[0]] = {"kept": there[key(one[1])], "kept_in": "other"}
        elif len(same) > 1 and (keep == "none" or same[0] is not one):
            removed[one[0]] = {} if keep == "none" else {"kept": same[0][0]}
    return [row[0] for row in rows if row[0] not in removed], removed


@settings(deadline=None, max_examples=40)
@given(
    st.lists(documents, min_size=1, max_size=3) | st.lists(documents, min_size=9, max_size=16),
    st.sets(st.integers(0, 20)),
    st.sampled_from(["first", "none", "n"]),
    st.none() | st.lists(st.sampled_from(TEXTS), max_size=4),
    st.booleans(),
    st.integers(0, 1),
    st.integers(1, 4),
)
def test_equal_documents_are_removed(pieces, gone, keep, against, is_text, least, threads):
    with connected("words") as db:
        db.settings["threads"] = threads
        corpus = db.corpus("c")
        for piece in pieces:
            append_broken(db, [(text.split("|"), {"n": n}) for text, n in piece])
        rows = [(i, *one) for i, one in enumerate(one for piece in pieces for one in piece)]
        if not rows:
            return
        if gone:
            corpus.delete("doc_id IN :gone", params={"gone": sorted(gone)})
        n_before = len(list(corpus.removed_documents()))
        rows = [row for row in rows if row[0] not in gone]
        if against is not None:
            # The other corpus has other ids for the same words, and a removed document.
            other = db.create_corpus("other", "words")
            append_broken(db, [(text.split("|"), {}) for text in [*against, "a b c"]], "other")
            other.delete(f"doc_id = {len(against)}")
        left, removed = expected(rows, keep, against, is_text, least)
        n = corpus.delete_duplicates(
            f"n >= {least}",
            normalize=("case", "space") if is_text else (),
            keep="none" if keep == "none" else "first",
            keep_by="n" if keep == "n" else None,
            descending=keep == "n",
            against=None if against is None else "other",
        )
        assert n == len(removed)
        assert [row["doc_id"] for row in corpus.docs().to_dicts()] == left
        record = {one.doc_id: one.details for one in list(corpus.removed_documents())[n_before:]}
        assert record == removed


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5), min_size=1, max_size=4), st.booleans()
)
def test_deliveries_one_by_one_end_as_all_at_once(deliveries, is_text):
    normalize = ("case", "space") if is_text else ()
    with connected("words") as db:
        every, kept = db.corpus("c"), db.create_corpus("kept", "words")
        for number, texts in enumerate(deliveries):
            rows = [(text.split("|"), {"n": f"{number}.{i}"}) for i, text in enumerate(texts)]
            append_broken(db, rows)
            name = f"delivery {number}"
            delivery = db.create_corpus(name, "words")
            append_broken(db, rows, name)
            delivery.delete_duplicates(against=kept, normalize=normalize)
            kept.add(delivery)
        every.delete_duplicates(normalize=normalize)
        found = [[row["n"] for row in corpus.docs().to_dicts()] for corpus in (every, kept)]
        assert found[0] == found[1]
        assert (
            every.delete_duplicates(normalize=normalize) == kept.delete_duplicates(normalize=normalize) == 0
        )


@pytest.mark.parametrize("seed", range(5))
def test_keys_of_another_corpus_are_kept(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(document_keys, "FEWEST_TOKENS", 1)
    chance = random.Random(seed)
    with ngramdb.connect(tmp_path / "c.ngdb") as db:
        db.settings["auto_compact"] = False
        old = db.create_corpus("old", "words")
        for _ in range(3):
            old.append([chance.choice(TEXTS) for _ in range(4)])
        old.delete("doc_id IN (0, 5)")
        texts = [row["text"] for row in old.docs().to_dicts()]
        read = []
        whole = equal_documents._normalized_text
        for normalize in (("case", "space"), ("case", "nfc", "space"), ("space",)):
            new = db.create_corpus(f"new {normalize}", "words")
            new.append([text.swapcase() if "case" in normalize else f" {text} " for text in TEXTS])
            with monkeypatch.context() as without:
                read.clear()
                without.setattr(
                    equal_documents, "_normalized_text", lambda *args: read.append(args) or whole(*args)
                )
                first = new.delete_duplicates(against=old, keep="none", normalize=normalize)
                new.restore(db.version - 1)
                n_first = len(read)
                assert new.delete_duplicates(against=old, keep="none", normalize=normalize) == first
                assert len(read) - n_first < n_first
            with monkeypatch.context() as without:
                without.setattr(document_keys, "FEWEST_TOKENS", 1 << 40)
                new.restore(db.version - 1)
                assert new.delete_duplicates(against=old, keep="none", normalize=normalize) == first
            folded = {equal_documents.normalized(text, [n.upper() for n in normalize]) for text in texts}
            assert first >= sum(text in folded for text in TEXTS)
        assert len(list((tmp_path / "c.ngdb" / "cache").glob("*.text-*"))) == 9


def test_colliding_hashes_remove_nothing_else(monkeypatch):
    monkeypatch.setattr(equal_documents, "_hash", lambda content: bytes(16))
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", "words")
        corpus.append(["a", "b", "a", "c", "b"])
        assert corpus.delete_duplicates() == 2
        assert [row["text"] for row in corpus.docs().to_dicts()] == ["a", "b", "c"]


def test_ten_thousand_equal_documents_take_linear_time():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", "words")
        corpus.append(["the same words"] * 10_000)
        before = time.process_time()
        assert corpus.delete_duplicates() == 9_999
        assert time.process_time() - before < 20
        assert corpus.delete_duplicates() == 0


def test_what_cannot_be_compared_is_refused():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", "words")
        corpus.append(["a", "a"])
        db.create_corpus("letters", "chars").append(["a"])
        with pytest.raises(PlanError, match="equals itself"):
            corpus.delete_duplicates(against="c")
        with pytest.raises(PlanError, match="another tokenizer"):
            corpus.delete_duplicates(against="letters")
        with pytest.raises(InvalidArgument, match="normalize takes case, space, nfc"):
            corpus.delete_duplicates(normalize="punctuation")
        with pytest.raises(InvalidArgument, match="'first' or 'none'"):
            corpus.delete_duplicates(keep="last")
        with pytest.raises(InvalidArgument, match="must be a corpus or the name of one"):
            corpus.delete_duplicates(against=3)
        with ngramdb.connect() as another, pytest.raises(InvalidArgument, match="of the same database"):
            corpus.delete_duplicates(against=another.create_corpus("c", "words"))
        assert corpus.delete_duplicates(against=db.corpus("letters"), normalize="nfc") == 2
