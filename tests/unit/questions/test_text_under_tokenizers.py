"""MATCH TEXT and contexts where tokens do not spell the text: each string, by brute force."""

from __future__ import annotations

import io
import random
from collections import Counter

import pytest
from support.foreign_indexes import write_infini_gram
from support.trained import word_pieces
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import ngramdb
from ngramdb.errors import ExecutionError, InvalidArgument, PlanError
from ngramdb.questions import kwic_plan
from ngramdb.tokenizers.sentence_piece import SentencePieceTokenizer

TEXTS = [
    "time flies like an arrow",
    "fruit flies like  a banana, éa É",
    "Ａ café, naïve; 😀 \n the ﬁ end",
    "",
    " a ",
    "İstanbul ΣΑΣ cafe\u0301 \u0301x e\u0301\u0302 \u1100\u1161\u11a8 각",
    "  flies  flies",
]
STRINGS = sorted({text[i:j] for text in TEXTS for i in range(len(text)) for j in range(i + 1, i + 9)})


def sentence_piece(kind):
    library = pytest.importorskip("sentencepiece")
    made = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS[:2] * 50),
        model_writer=made,
        vocab_size=278,
        model_type=kind,
        byte_fallback=True,
        minloglevel=2,
    )
    return library.SentencePieceProcessor(model_proto=made.getvalue())


def metaspace():
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    options = {"unk_token": "<unk>", "special_tokens": ["<unk>"], "show_progress": False}
    made.train_from_iterator(TEXTS * 3, trainers.UnigramTrainer(vocab_size=60, **options))
    return made


def triples():
    """Return a function that assigns three characters to a token, with the assignment."""

    def cut(text):
        return [(i, min(i + 3, len(text))) for i in range(0, len(text), 3)]

    def encode(texts):
        return [[sum(map(ord, text[i:j])) % 5000 for i, j in cut(text)] for text in texts]

    return ngramdb.CallableTokenizer("triples", encode, 5000, spans=cut)


def byte_level(normalizer=None, add_prefix_space=False, added=(), texts=TEXTS[:2]):
    """Tokens that spell a text, which is not always the one that was tokenized."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        texts * 3, trainers.BpeTrainer(vocab_size=290, initial_alphabet=alphabet, show_progress=False)
    )
    if normalizer is not None:
        made.normalizer = normalizer
    made.add_tokens(list(added))
    return made


TOKENIZERS = {
    "callable": triples,
    "bytes, composed": lambda: byte_level(normalizers.NFC()),
    "bytes, blank before": lambda: byte_level(add_prefix_space=True),
    "bytes, added tokens": lambda: byte_level(
        added=[AddedToken("like", lstrip=True), AddedToken("fruit", rstrip=True)]
    ),
    "unigram": lambda: sentence_piece("unigram"),
    "bpe": lambda: sentence_piece("bpe"),
    "WordPiece": lambda: word_pieces(TEXTS),
    "Metaspace": metaspace,
    **{name: (lambda name=name: name) for name in ("words(lower)", "words(nfc)", "words(lower, nfc)")},
}


@pytest.fixture(scope="module", params=TOKENIZERS)
def corpus(request):
    made = ngramdb.connect().create_corpus("a", TOKENIZERS[request.param]())
    made.append(TEXTS)
    return made


def same(a, b, ignore_case):
    return a == b or (ignore_case and a.casefold() == b.casefold())


@pytest.mark.parametrize("ignore_case", [False, True])
def test_every_string_is_found_where_it_stands(corpus, ignore_case):
    for string in random.Random(3).sample(STRINGS, 60):
        n = sum(
            same(text[i : i + len(string)], string, ignore_case) for text in TEXTS for i in range(len(text))
        )
        options = {"match_text": True, "ignore_case": ignore_case}
        assert corpus.count(string, **options) == n, string
        lines = corpus.kwic(string, window=3, **options).to_dicts() if n else []
        assert len(lines) == n, string
        for line in lines:
            assert same(line["match"], string, ignore_case)
            assert line["left"] + line["match"] + line["right"] in TEXTS[line["doc_id"]] + TEXTS[1]


@pytest.mark.parametrize(
    "kind", ["words", "words(lower)", "words(nfc)", "words(lower, nfc)", "WordPiece", "bytes, composed"]
)
def test_forms_are_what_the_text_has(kind):
    texts = ["The US and us", "US troops. Das Café CAFÉ cafe\u0301 Cafe", "in New\n York, new  york", ""]
    kinds = {"WordPiece": lambda: word_pieces(texts), "bytes, composed": TOKENIZERS["bytes, composed"]}
    with ngramdb.connect() as db:
        made = db.create_corpus("c", kinds[kind]() if kind in kinds else kind)
        made.append(texts)
        asked = {"group_by": "FORM", "match_text": True}
        assert made.counts("US", **asked).fetchall() == [("US", 2)]
        assert made.counts("us", ignore_case=True, **asked).fetchall() == [("US", 2), ("us", 1)]
        found = made.counts("café", ignore_case=True, **asked).fetchall()
        assert sorted(found) == [("CAFÉ", 1), ("Café", 1)] or kind != "words"
        assert {form.casefold() for form, _ in found} <= {"café", "cafe\u0301"}
        if kind.startswith("words"):
            found = made.counts("new york", ignore_case=True, group_by="FORM").fetchall()
            assert found == [("New York", 1), ("new york", 1)]


@pytest.mark.parametrize("kind", ["chars", "bytes"])
def test_groups_beside_keep_white_space_where_it_is_a_token(kind):
    with ngramdb.connect() as db:
        made = db.create_corpus("c", kind)
        made.append(["is it. is\nat", "is ", "as is"])
        right = [("s", 1), ("s\n", 1), ("s ", 2), ("t.", 1)]
        assert made.counts("i", group_by="RIGHT 2").fetchall() == right
        left = made.counts("s", group_by="LEFT 2").fetchall()
        assert sorted(left) == [(" i", 2), ("a", 1), ("i", 2)]
        rows = db.execute('COUNT "is" * GROUP BY FORM').fetchall()
        assert rows == [("is\n", 1), ("is ", 2)]


@pytest.mark.parametrize("window", [0, 1, 2])
def test_a_window_that_cuts_a_character_shows_it_whole(window):
    texts = ["naïve ïn n", "日本n語", "éné", "n😀n"]
    with ngramdb.connect() as db:
        # Pieces of a letter and the first byte of the next one, or the last byte of the one before.
        halves = byte_level(texts=["naïnaénaínaó", "ïanéaníanóan"])
        for name, kind in (("a", "bytes"), ("b", halves)):
            made = db.create_corpus(name, kind)
            made.append(texts)
            for string in ("n", "ï", "本n", "é"):
                for line in made.kwic(string, window=window, match_text=True).to_dicts():
                    assert line["match"] == string
                    assert line["left"] + string + line["right"] in texts[line["doc_id"]]
                    assert line["left"] or not window or line["position"] == 0


@pytest.mark.parametrize("n_lines", [2, 500])
@pytest.mark.parametrize("way", ["ASC", "DESC"])
def test_lines_are_in_the_order_of_their_matches(corpus, way, n_lines, monkeypatch):
    monkeypatch.setattr(kwic_plan, "FORM_PIECE", 16)
    lines = corpus.kwic(ngramdb.pattern("*{2}"), window=0).fetchall()
    expected = sorted(lines, key=lambda row: " ".join(row[3].casefold().split()), reverse=way == "DESC")
    found = corpus.kwic(
        ngramdb.pattern("*{2}"), window=0, order_by="form", descending=way == "DESC", limit=n_lines
    ).fetchall()
    assert found == expected[:n_lines]


def test_tokens_stand_where_their_characters_do(corpus):
    tokenizer = corpus.tokenizer
    for text in TEXTS:
        ids, starts, stops = tokenizer.places(text)
        assert ids.tolist() == tokenizer.encode(text).tolist()
        assert all(0 <= a <= b <= len(text) for a, b in zip(starts, stops, strict=True))
        assert sorted(starts) == starts.tolist() and sorted(stops) == stops.tolist()


def test_a_match_of_tokens_has_no_blanks_at_its_ends(corpus):
    if corpus.tokenizer.kind == "callable" or corpus.tokenizer.lossless:
        pytest.skip("its tokens of a text depend on the context")
    lines = corpus.kwic("flies like", window=2).to_dicts()
    assert [line["match"] for line in lines] == ["flies like"] * 2


@pytest.mark.parametrize(
    "pattern",
    [
        "/fl.*/",
        "/.*/",
        "/./",
        "/A.*/ IGNORE CASE",
        "/cafe|naive/ IGNORE DIACRITICS",
        '"an" PREFIX',
        '"flies like" IGNORE DIACRITICS',
        '"e" PREFIX IGNORE CASE IGNORE DIACRITICS',
        "/x{9}/",
    ],
)
def test_words_are_those_of_the_tokenizer_words(corpus, pattern):
    if corpus.tokenizer.kind.startswith("words"):
        pytest.skip("its tokens are words, of a text that was changed")
    plain = ngramdb.connect().create_corpus("w")
    plain.append(TEXTS)
    whole = ngramdb.pattern(pattern)
    assert corpus.count(whole) == plain.count(whole)
    rows = [
        [
            (line["doc_id"], len(line["left"]), line["match"])
            for line in each.kwic(whole, window=99).to_dicts()
        ]
        for each in (corpus, plain)
    ]
    assert sorted(rows[0]) == sorted(rows[1])
    for condition in (pattern, f"NOT {pattern}", f"COUNT({pattern}) > 1", f"{pattern} AND /a.*/"):
        assert corpus.count_docs(condition) == plain.count_docs(condition), condition
    assert corpus.collocates(whole).summary["occurrences"] == plain.count(whole)


def test_patterns_with_words_are_about_words_as_a_whole(corpus):
    if corpus.tokenizer.kind.startswith("words"):
        pytest.skip("its tokens are words, of a text that was changed")
    plain = ngramdb.connect().create_corpus("w")
    plain.append(TEXTS)
    for written in (
        "/fl.*/ *",
        '/.*e/ "flies" "like"',
        '"time" /flies|fly/',
        '("time" | "FRUIT" IGNORE CASE) ("fl" PREFIX)',
        '("fl" PREFIX){2}',
        '"time" *{0,3} /a.+/',
        '"cafe, naive" IGNORE DIACRITICS ";"',
    ):
        pattern = ngramdb.pattern(written)
        assert corpus.count(pattern) == plain.count(pattern) > 0, written
    assert corpus.count(ngramdb.pattern('"an" PREFIX ("nowhere" | /x+/)')) == 0
    with pytest.raises(PlanError, match="an n-gram beside words of the text takes text, not token ids"):
        corpus.count(ngramdb.pattern("/a/ [1, 2]"))
    with pytest.raises(PlanError, match="applies to whole words, and MATCH TEXT to parts of them"):
        corpus.count(ngramdb.pattern('/a/ "an" MATCH TEXT'))
    with pytest.raises(PlanError, match="at least one token"):
        corpus.count(ngramdb.pattern('/a/ " "'))
    with pytest.raises(PlanError, match=r"write MATCH TOKENS$"):
        corpus.count(ngramdb.pattern('"an" MATCH TEXT "arrow"'))


def test_alternatives_and_conditions_take_such_strings(corpus):
    documents = corpus.where('"lies" MATCH TEXT AND NOT "arrow" MATCH TEXT')
    assert [row["doc_id"] for row in documents.docs().to_dicts()] == [1, 6]


def test_an_index_without_texts_refuses_them(tmp_path):
    library = sentence_piece("unigram")
    folder = write_infini_gram(tmp_path / "index", [library.encode(TEXTS[0])])
    pile = ngramdb.connect().attach(folder, "pile", tokenizer=library)
    assert pile.count("flies like") == 1
    with pytest.raises(PlanError, match=r"/fl.\*/ needs the texts of the documents, and pile has"):
        pile.count(ngramdb.pattern("/fl.*/"))
    with pytest.raises(InvalidArgument, match=r"need the texts .* pile has only token ids"):
        pile.count("flies", match_text=True)


def test_texts_that_have_other_tokens_now_are_noticed(monkeypatch):
    corpus = ngramdb.connect().create_corpus("a", sentence_piece("unigram"))
    corpus.append(TEXTS)
    monkeypatch.setattr(SentencePieceTokenizer, "places", in_reverse)
    assert corpus.count("flies", match_text=True) == 4
    with pytest.raises(ExecutionError, match="has other tokens than when it was loaded"):
        corpus.kwic("flies", match_text=True).to_dicts()


def in_reverse(tokenizer, text):
    ids = tokenizer.encode(text)
    return ids[::-1], ids, ids


@pytest.mark.parametrize("kind", ["words", "words(lower)", "words(nfc)", "words(lower, nfc)"])
def test_forms_have_the_blanks_of_the_text(kind):
    texts = [
        "I can't, can 't; can't\ncan ' t",
        "日本 日本日 本",
        "e.g. e .\u00a0g .",
        "so e\u0301 . x",
        "a\u00adb",
    ]
    forms = {
        '"can" "\'" "t"': {"can't": 2, "can 't": 1, "can ' t": 1},
        '"日" "本"': {"日本": 2, "日 本": 1},
        '"e" "." "g" "."': {"e.g.": 1, "e . g .": 1},
        '"so" *': None,
        "*{3} /[a-z]+/": None,
    }
    with ngramdb.connect() as db:
        db.create_corpus("c", kind).append(texts)
        for pattern, expected in forms.items():
            found = dict(db.execute(f"COUNT {pattern} GROUP BY FORM").fetchall())
            lines = db.execute(f"KWIC {pattern}").to_dicts()
            assert found == dict(Counter(" ".join(line["match"].split()) for line in lines))
            assert found == (expected or found)


def test_forms_of_words_alone_read_no_text(monkeypatch):
    with ngramdb.connect() as db:
        db.create_corpus("c").append(["time flies. time  flies, naïve café"])
        monkeypatch.delattr("ngramdb.questions.groups.token_places")
        assert db.execute('COUNT "time" * GROUP BY FORM').fetchall() == [("time flies", 2)]
        assert db.execute("COUNT /n.*/ /c.*/ GROUP BY FORM").fetchall() == [("naïve café", 1)]
