"""REPLACE of CUT DUPLICATES and CUT SPANS: a text replaces each cut, as a piece of its own."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.broken import connected
from support.cut_texts import SENTENCES, TOKENIZERS

from ngramdb.errors import InvalidArgument, PlanError

# All tokenizers know its letters.
TEXT = "dada"


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request):
    make = TOKENIZERS[request.param]
    return request.param if make is None else make(pytest.importorskip("tokenizers"))


def documents_of(db):
    """The text and the pieces of tokens of each document, by its id."""
    view = db.snapshot.view("c")
    found = {}
    for k, segment in enumerate(view.segments):
        for i in set(range(segment.n_documents)) - set(view.removed(k).tolist()):
            pieces = np.split(segment.document(i), segment.breaks(i))
            content = segment.text(i, view.tokenizer)
            texts = [piece.content for piece in segment.text_pieces(i, content)]
            assert len(texts) == len(pieces) and b"".join(texts) == content
            for ids, text in zip(pieces, texts, strict=True):
                again, _ = view.tokenizer.fork().encode_batch([text])
                assert view.tokenizer.has_own_words or again.tolist() == ids.tolist()
            words = [tuple(view.tokenizer.decode([one]) for one in ids.tolist()) for ids in pieces]
            found[segment.doc_id(i)] = (content.decode(), words)
    return found


def without_blanks(text):
    return "".join(text.split())


@settings(deadline=None, max_examples=12)
@given(
    st.lists(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3), min_size=1, max_size=5),
    st.integers(0, 3),
    st.sampled_from(
        [
            "CUT DUPLICATES LENGTH >= {} KEEP FIRST",
            "CUT DUPLICATES LENGTH >= {} KEEP NONE GAP SHARE 0.6 ON WORDS",
            'CUT SPANS WHERE "banana" OR "day"',
            'CUT SPANS WHERE "like" AND doc_id >= 0 CONTEXT 1 MAX PIECES 3',
            "CUT SPANS WHERE TEXT ~ /a[pr]\\w+/",
        ]
    ),
)
def test_a_replacement_is_a_piece_of_its_own(tmp_path_factory, tokenizer, texts, split, statement):
    length = 5 if isinstance(tokenizer, str) and tokenizer == "words" else 12
    statement, path = statement.format(length), tmp_path_factory.mktemp("files") / "cuts"
    with connected(tokenizer) as db:
        corpus = db.corpus("c")
        for some in (texts[:split], texts[split:]):
            if some:
                corpus.append([" ".join(one) for one in some])
        before, version = documents_of(db), db.version
        db.execute(f"COPY ({statement}) TO ? (FORMAT dolma, ATTRIBUTE a)", [str(path)])
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        ranges = {int(row["id"]): [span[:2] for span in row["attributes"]["a"]] for row in rows}
        with db.trial() as trial:
            plain = trial.execute(statement).to_dicts()[0]
            cut = documents_of(trial)
        done = db.execute(f"{statement} REPLACE '{TEXT}'").to_dicts()[0]
        after = documents_of(db)
        assert [done[name] for name in ("documents", "removed", "tokens")] == [
            plain[name] for name in ("documents", "removed", "tokens")
        ]
        assert after.keys() == cut.keys()
        for doc_id, (text, pieces) in after.items():
            expected, _ = before[doc_id]
            for start, stop in reversed(ranges[doc_id]):
                expected = expected[:start] + TEXT + expected[stop:]
            if tokenizer in ("words", "chars", "bytes"):
                assert text == expected
            assert without_blanks(text) == without_blanks(expected)
            inserted = [piece for piece in pieces if "".join(piece).strip().replace(" ", "") == TEXT]
            assert len(inserted) == len(ranges[doc_id])
            assert [one for one in pieces if one not in inserted] == [one for one in cut[doc_id][1] if one]
        assert db.execute(f"{statement} REPLACE '{TEXT}'").to_dicts()[0]["documents"] == 0
        assert db.execute("CHECK c").fetchall() == []
        removed = list(corpus.removed_documents())
        assert sum(one.details["tokens_cut"] for one in removed) == done["tokens"]
        db.execute(f"RESTORE CORPUS c TO VERSION {version}")
        assert documents_of(db) == before


def test_what_would_be_cut_again_is_refused():
    with connected("words") as db:
        corpus = db.corpus("c")
        corpus.append(["write to a@b.org now", "write to a@b.org", "it's x"])
        for statement, message in (
            (
                "CUT DUPLICATES LENGTH >= 3 REPLACE 'a b c'",
                "has 3 tokens, so that it is repeated",
            ),
            ("CUT DUPLICATES LENGTH >= 3 BYTES REPLACE 'abc'", "has 3 bytes"),
            ("CUT SPANS WHERE TEXT ~ EMAIL REPLACE 'x@y.org'", "also matches the text of REPLACE, 'x@y.org'"),
            ('CUT SPANS WHERE "x" AND NOT "write" REPLACE \'a x\'', "also matches"),
            ('CUT SPANS WHERE "it" OR "x" REPLACE \'x\'', "also matches"),
        ):
            version = db.version
            with pytest.raises(PlanError, match=message):
                db.execute(statement)
            assert db.version == version
        with pytest.raises(InvalidArgument, match="also matches"):
            corpus.cut_spans("write", replacement="write")
        with pytest.raises(InvalidArgument, match="must be a text"):
            corpus.cut_spans("write", replacement=3)
        assert corpus.cut_spans("x", replacement="it's").documents == 1
        assert corpus.cut_duplicates(length=3, replacement="…").documents == 2
        assert [row[0] for row in db.execute("DOCS RETURNING text").fetchall()] == [
            "write to a@b.org now",
            "it's …",
        ]
        assert db.execute('COUNT "s …"').fetchall() == [(0,)]
        ids = db.create_corpus("ids", tokenizer="tokens")
        ids.append([[1, 2, 3]])
        with pytest.raises(PlanError, match="token ids without texts"):
            db.execute("CUT SPANS WHERE [2] FROM ids REPLACE 'x'")
