"""Near duplicates against a comparison of all pairs of documents with sets of words in Python."""

from __future__ import annotations

import random
import re
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.broken import append_broken, connected
from support.near import planted

from ngramdb.curation import near_duplicates
from ngramdb.curation.keeping import counting
from ngramdb.curation.near_duplicates import Rule


def grams(pieces, n):
    """The kind of a document, and its n-grams, by the definition."""
    words = [re.findall(r"[^\W_]+", piece.casefold()) for piece in pieces]
    found = {tuple(some[i : i + n]) for some in words for i in range(len(some) - n + 1)}
    text = "\n".join(" ".join(some) for some in words)
    if found and sum("\u4e00" <= c <= "\u9fff" for c in text) * 2 <= len(text):
        return "words", found
    texts = [" ".join(some) for some in words]
    if not any(texts):
        texts = [" ".join(piece.split()) for piece in pieces]
    short = {text for text in texts if text and len(text) < 5}
    return "characters", ({t[i : i + 5] for t in texts for i in range(len(t) - 4)} | short) or {""}


def expected(documents, order, rule, n_given=0):
    """{document: kept document} by comparing each document with all kept ones, in order."""
    sets = [grams(pieces, rule.n) for pieces in documents]
    kept, removed = [], {}
    for place, i in enumerate(order):
        kind, own = sets[i]
        if place < n_given:
            kept.append(i)
            continue
        least = rule.contained if kind == "words" else near_duplicates.CHARACTERS_CONTAINED
        for k in kept:
            if sets[k][0] == kind and len(own & sets[k][1]) >= least * len(own) - 1e-9:
                removed[i] = (
                    k,
                    len(own & sets[k][1]) / len(own),
                    len(own & sets[k][1]) / len(own | sets[k][1]),
                )
                break
        else:
            kept.append(i)
    return removed


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    seed=st.integers(0, 2**32),
    contained=st.sampled_from([0.5, 0.8, 0.9, 1.0]),
    n=st.integers(1, 4),
    keep=st.sampled_from(["longest", "first", "by"]),
    tokenizer=st.sampled_from(["words", "bytes"]),
)
def test_equal_to_a_comparison_of_all_pairs(seed, contained, n, keep, tokenizer):
    rng, rule = random.Random(seed), Rule(contained, n)
    documents = planted(rng)
    with connected(tokenizer) as db:
        cuts = sorted(rng.sample(range(len(documents) + 1), 2))
        for part in (documents[: cuts[0]], documents[cuts[0] : cuts[1]], documents[cuts[1] :]):
            if part:
                append_broken(db, [(pieces, {}) for pieces in part])
        gone = rng.sample(range(len(documents)), 2)
        db.corpus("c").delete(f"doc_id IN ({gone[0]}, {gone[1]})")
        view = db.corpus("c")._bound.current()
        places = [(s, int(i)) for s, docs in enumerate(counting(view)) for i in docs]
        ids = [view.segments[s].doc_id(i) for s, i in places]
        rest = [documents[i] for i in ids]
        order = list(range(len(rest)))
        by = None
        if keep == "longest":
            order.sort(key=lambda k: -view.segments[places[k][0]].document_length(places[k][1]))
        elif keep == "by":
            rng.shuffle(order)
            by = tuple(np.array([places[k][side] for k in order]) for side in (0, 1))
        found = near_duplicates.near_duplicates(view, rule, keeps_longest=keep == "longest", order=by)
        answer = {
            places.index(one.document): (places.index(one.kept), one.contained, one.jaccard)
            for one in found.pairs
        }
        wanted = expected(rest, order, rule)
        assert answer.keys() == wanted.keys()
        assert all(answer[i] == pytest.approx(wanted[i]) for i in wanted)
        assert not found.n_bounded


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    seed=st.integers(0, 2**32),
    contained=st.sampled_from([0.5, 0.8, 1.0]),
    keep=st.sampled_from(["longest", "first"]),
)
def test_a_delivery_is_compared_with_everything_before(seed, contained, keep):
    """As all documents at once would be, if the earlier ones came first."""
    rng, rule = random.Random(seed), Rule(contained, 2)
    documents = planted(rng)
    n = rng.randrange(len(documents))
    with connected("words") as db:
        db.create_corpus("old", tokenizer="bytes").append([" ".join(pieces) for pieces in documents[:n]])
        db.corpus("old").append(["gone", *[" ".join(pieces) for pieces in documents[:3]]])
        db.corpus("old").delete(f"doc_id >= {n}")
        whole = [[" ".join(pieces)] for pieces in documents]
        if n < len(whole):
            append_broken(db, [(pieces, {}) for pieces in whole[n:]])
        view, old = (db.corpus(name)._bound.current() for name in ("c", "old"))
        own = list(range(n, len(whole)))
        if keep == "longest":
            own.sort(key=lambda k: -view.segments[0].document_length(k - n))
        found = near_duplicates.near_duplicates(
            view, rule, keeps_longest=keep == "longest", against=old, rejects=True
        )
        answer = {
            one.document[1] + n: (
                old.segments[one.kept[0]].doc_id(one.kept[1]) if one.is_given else one.kept[1] + n,
                one.contained,
                one.jaccard,
            )
            for one in found.pairs
        }
        wanted = expected(whole, [*range(n), *own], rule, n)
        assert answer.keys() == wanted.keys()
        assert all(answer[i] == pytest.approx(wanted[i]) for i in wanted)
        sets = [grams(pieces, 2) for pieces in whole]
        assert not answer.keys() & {one.document[1] + n for one in found.rejected}
        for one in found.rejected:
            kind, grams_of = sets[one.document[1] + n]
            _, other = sets[one.kept[1] if one.is_given else one.kept[1] + n]
            assert one.contained == pytest.approx(len(grams_of & other) / len(grams_of))
            assert one.contained < (contained if kind == "words" else 0.9)
            assert one.reason == f"too few {kind}"


def test_texts_are_normalized_alike_in_parts(monkeypatch):
    rng = random.Random(1)
    letters = "ab A.\n_ \u00e9e\u0301\u0327\u0345\u1100\u1161\u6a21\u3099\u304b\u3001\u00df\u03a3 "
    texts = ["".join(rng.choices(letters, k=rng.randrange(60))) for _ in range(3000)]
    whole = [near_duplicates.words_of(text) for text in texts]
    lacking = [near_duplicates._lacks_blanks(text) for text in texts]
    monkeypatch.setattr(near_duplicates, "SLICE", 7)
    assert [near_duplicates.words_of(text) for text in texts] == whole
    assert [near_duplicates._lacks_blanks(text) for text in texts] == lacking


def test_one_long_document_takes_linear_time():
    text = " ".join(f"word{i}" for i in range(300_000))
    with connected("words") as db:
        append_broken(db, [([text], {}), (["word5 word6 word7 word8"], {})])
        view = db.corpus("c")._bound.current()
        before = time.process_time()
        assert len(near_duplicates.near_duplicates(view).pairs) == 1
        assert len(near_duplicates.near_duplicates(view, against=view).pairs) == 2
        assert time.process_time() - before < 10


def test_sketches_find_all_equal_documents_and_only_contained_ones():
    rng = random.Random(7)
    documents = planted(rng) * 2 + planted(rng)
    with connected("words") as db:
        append_broken(db, [(pieces, {}) for pieces in documents])
        view = db.corpus("c")._bound.current()
        every = near_duplicates.near_duplicates(view, Rule(0.8), keeps_longest=False)
        some = near_duplicates.near_duplicates(view, Rule(0.8, 3, 26, 11), keeps_longest=False)
    sets = [grams(pieces, 3) for pieces in documents]
    for one in some.pairs:
        own, other = sets[one.document[1]][1], sets[one.kept[1]][1]
        assert len(own & other) == pytest.approx(one.contained * len(own))
    gone = {one.document[1] for one in some.pairs}
    assert gone >= set(range(14, 28))  # the copies
    assert len(every.pairs) >= len(some.pairs) - 1


def test_templates_that_differ_in_arguments_stay():
    filler = " ".join(f"template{i}" for i in range(30))
    texts = [f"{filler} order {i} {i + 1} {i + 2} {filler}" for i in range(300)]
    texts += [texts[5], filler, texts[7] + " more"]
    with connected("words") as db:
        append_broken(db, [([text], {}) for text in texts])
        view = db.corpus("c")._bound.current()
        found = near_duplicates.near_duplicates(view)
        assert {(one.document[1], one.reason) for one in found.pairs} == {
            (300, "equal"),
            (301, "words"),
            (7, "words"),
        }
        assert not found.n_bounded
        bounded = near_duplicates.near_duplicates(view, Rule(0.7))
        assert len(bounded.pairs) == 302
        with pytest.raises(ValueError, match="shares"):
            near_duplicates.near_duplicates(view, Rule(0.0))


def test_memory_is_limited(tmp_path):
    from ngramdb.errors import ResourceError
    from ngramdb.interrupts import Work

    with connected("words") as db:
        append_broken(db, [([" ".join(f"{i}-{k}" for k in range(50))], {}) for i in range(20)])
        view = db.corpus("c")._bound.current()
        work = Work()
        work.memory_limit = 10_000
        with work, pytest.raises(ResourceError, match="n-grams of the documents take"):
            near_duplicates.near_duplicates(view)
