"""KenLM's interface over corpora: its rules, and numbers that the ARPA file of the same model has.

KenLM's own numbers are compared in tests/peers.
"""

from __future__ import annotations

import copy
import io
import math
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import ngramdb
from ngramdb.compat import kenlm
from ngramdb.errors import InvalidArgument, StorageError
from ngramdb.lm import write_arpa

SENTENCES = [
    "the cat sat on the mat",
    "the dog sat on the log",
    "a cat and a dog",
    "the cat ate",
    "on the mat the cat sat",
    "dogs eat",
    "the cat sat",
] * 2
ORDERS = [2, 3, 5, "unlimited"]


def same(model: kenlm.Model, table: kenlm.Model) -> None:
    """The models give the same numbers, by sentences and by states."""
    assert table.order == model.order and "cat" in table and "zebra" not in table
    for text in (*SENTENCES, "the zebra sat", "", "<s> cat </s> dog"):
        for borders in (True, False):
            found, expected = (
                list(one.full_scores(text, bos=borders, eos=borders)) for one in (table, model)
            )
            assert [one[1:] for one in found] == [one[1:] for one in expected]
            assert [one[0] for one in found] == pytest.approx([one[0] for one in expected], abs=1e-5)
        assert table.perplexity(text) == pytest.approx(model.perplexity(text), rel=1e-4)
    states = [(one, kenlm.State(), kenlm.State()) for one in (model, table)]
    for one, state, _ in states:
        one.BeginSentenceWrite(state)
    for word in ["the", "cat", "zebra", "sat", "on", "the", "mat"]:
        found = [one.BaseFullScore(state, word, after) for one, state, after in states]
        assert found[0].log_prob == pytest.approx(found[1].log_prob, abs=1e-5)
        assert found[0][1:] == found[1][1:]
        states = [(one, after, state) for one, state, after in states]


def test_tables_and_arpa_files(database: Path, tmp_path: Path) -> None:
    model = kenlm.Model(f"{database}?corpus=pets&order=3")
    with ngramdb.connect(database, read_only=True) as db:
        for name in ("lm.arpa", "lm.arpa.gz"):
            db.corpus("pets").export_arpa(tmp_path / name, order=3)
            same(model, kenlm.Model(tmp_path / name))
    same(model, kenlm.Model(f"{database}?corpus=pets&order=3&table=yes"))
    table = kenlm.Model(database, corpus="pets", order=3, table=True)
    same(model, pickle.loads(pickle.dumps(table)))
    with pytest.raises(InvalidArgument, match="table must be"):
        kenlm.Model(f"{database}?corpus=pets&table=maybe")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("kenlm") / "lm.ngdb"
    with ngramdb.connect(path) as db:
        pets = db.create_corpus("pets")
        for start in range(0, len(SENTENCES), 4):  # several segments
            pets.append(SENTENCES[start : start + 4])
        pets.append(["zebras run"])
        pets.delete('"zebras"')
        db.create_corpus("letters", "chars").append(["ab a", "b\na ", "aab▁"])
    yield path


@pytest.fixture(scope="module", params=ORDERS)
def model(database: Path, request: pytest.FixtureRequest) -> kenlm.Model:
    return kenlm.Model(f"{database}?corpus=pets&order={request.param}")


TEXTS = [
    "the cat sat",
    "the unheard cat sat on the mat",
    "",
    "xyzzy",
    "dogs dogs dogs the cat sat on the mat the",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(("bos", "eos"), [(True, True), (True, False), (False, True), (False, False)])
def test_states_give_what_sentences_give(model: kenlm.Model, text: str, bos: bool, eos: bool) -> None:
    state = kenlm.State()
    (model.BeginSentenceWrite if bos else model.NullContextWrite)(state)
    found = []
    for word in [*text.split(), *(["</s>"] if eos else [])]:
        after = kenlm.State()
        full = model.BaseFullScore(state, word, after)
        assert model.BaseScore(state, word, after) == full.log_prob
        assert full.oov == (word not in model)
        found.append(tuple(full))
        state = after
    expected = list(model.full_scores(text, bos=bos, eos=eos))
    assert [one[1:] for one in found] == [one[1:] for one in expected]
    assert [one[0] for one in found] == pytest.approx([one[0] for one in expected], abs=1e-12)
    assert model.score(text, bos=bos, eos=eos) == pytest.approx(sum(one[0] for one in expected))


@pytest.mark.parametrize("text", TEXTS)
def test_a_state_that_is_overwritten_goes_on(model: kenlm.Model, text: str) -> None:
    state = kenlm.State()
    model.BeginSentenceWrite(state)
    found = [model.BaseScore(state, word, state) for word in text.split()]
    assert found == pytest.approx([one[0] for one in model.full_scores(text, eos=False)], abs=1e-12)


def test_the_numbers_are_those_of_the_models_scores(model: kenlm.Model, database: Path) -> None:
    with ngramdb.connect(database) as db:
        spec = "kneser_ney" if model.order == kenlm.UNLIMITED else f"kneser_ney order {model.order}"
        for text in TEXTS:
            expected = db.corpus("pets").score(text, spec, document=True)
            assert model.score(text) == pytest.approx(expected.logprob.sum() / math.log(10))
            assert model.perplexity(text) == pytest.approx(expected.perplexity)


def log10_of(table: dict[tuple[str, ...], tuple[float, float]], words: tuple[str, ...]) -> float:
    """Return the log10 probability of the last word, by the rules of ARPA files."""
    if words in table:
        return table[words][0]
    return table.get(words[:-1], (0.0, 0.0))[1] + log10_of(table, words[1:])


@pytest.mark.parametrize("corpus", ["pets", "letters"])
def test_words_are_those_of_the_arpa_file(database: Path, corpus: str) -> None:
    model = kenlm.Model(database, corpus=corpus, order=3)
    with ngramdb.connect(database) as db:
        file = io.StringIO()
        pets = db.corpus(corpus)
        write_arpa(pets.language_model("kneser_ney order 3"), file, pets.tokenizer.token_text)
    table = {}
    for line in file.getvalue().splitlines():
        fields = line.split("\t")
        if len(fields) > 1:
            table[tuple(fields[1].split(" "))] = float(fields[0]), float((*fields, "0")[2])
    words = sorted(
        ngram[0] for ngram in table if len(ngram) == 1 and ngram[0] not in ("<s>", "</s>", "<unk>")
    )
    assert all(word in model for word in [*words, "<s>", "</s>"])
    assert "<unk>" not in model and "zebras" not in model
    text = ["<s>", *words, words[0], words[0], "</s>"]
    expected = [log10_of(table, tuple(text[max(0, i - 2) : i + 1])) for i in range(1, len(text))]
    found = [one[0] for one in model.full_scores(" ".join(text[1:-1]))]
    assert found == pytest.approx(expected, abs=1e-6)


def test_states_are_equal_where_the_rest_is(model: kenlm.Model) -> None:
    def after(*words: str, bos: bool = True) -> kenlm.State:
        state = kenlm.State()
        (model.BeginSentenceWrite if bos else model.NullContextWrite)(state)
        for word in words:
            model.BaseScore(state, word, state)
        return state

    assert after("xyzzy") == after("plugh") == after(bos=False)
    assert hash(after("xyzzy")) == hash(after("plugh"))
    assert len({after("cat", "xyzzy", "the"), after("dog", "plugh", "the")}) == 1
    assert after("cat") != after("dog") and after() != after(bos=False)
    assert (after("the") == after("the", bos=False)) == (model.order == 2)
    assert after("the") != kenlm.State() == kenlm.State()
    state = after("the", "cat")
    for copied in (copy.copy(state), copy.deepcopy(state)):
        assert copied == state
        model.BaseScore(copied, "sat", copied)
        assert copied != state


def test_text_may_be_bytes_and_anything(model: kenlm.Model) -> None:
    assert model.score(b"the cat") == model.score("the cat") == model.score("\tthe  cat\n")
    # Only ASCII white space parts words, as in KenLM.
    assert [oov for *_, oov in model.full_scores("the\u00a0cat \udcff", eos=False)] == [True, True]
    assert b"cat" in model and "\udcff" not in model
    with pytest.raises(InvalidArgument, match="str or bytes, not list"):
        model.score(["the", "cat"])  # type: ignore[arg-type]


def test_a_model_says_what_it_is(database: Path) -> None:
    model = kenlm.Model(f"{database}?corpus=pets", kenlm.Config())
    assert (model.order, model.path) == (5, f"{database}?corpus=pets")
    assert repr(model) == "<Model from lm.ngdb?corpus=pets>"
    assert kenlm.Model(f"{database}?corpus=letters&order=3", corpus="pets", order=4).order == 4
    assert isinstance(kenlm.LanguageModel(str(database).encode(), corpus="pets"), kenlm.Model)
    again = pickle.loads(pickle.dumps(model))
    assert again.score("the cat sat") == model.score("the cat sat")


def test_a_corpus_at_hand_makes_a_model() -> None:
    with ngramdb.connect() as db:
        model = kenlm.Model(db.create_corpus("empty"), order=2)
        assert model.score("") == pytest.approx(math.log10(0.5))
        assert [oov for *_, oov in model.full_scores("a b")] == [True, True, False]


def test_the_index_can_be_read_into_memory(database: Path) -> None:
    config = kenlm.Config()
    config.load_method = kenlm.LoadMethod.POPULATE_OR_READ
    assert "cat" in kenlm.Model(f"{database}?corpus=pets", config)


def test_states_of_no_text_or_of_other_models_are_refused(database: Path) -> None:
    one, other = (kenlm.Model(database, corpus="pets", order=order) for order in (2, 3))
    state = kenlm.State()
    with pytest.raises(InvalidArgument, match="BeginSentenceWrite or NullContextWrite comes first"):
        one.BaseScore(state, "the", kenlm.State())
    other.BeginSentenceWrite(state)
    with pytest.raises(InvalidArgument, match="of this model"):
        one.BaseScore(state, "the", kenlm.State())


@pytest.mark.parametrize(
    ("what", "kind", "message"),
    [
        ("nothing.ngdb", OSError, "no model can be made of '.*nothing.ngdb': .*"),
        ("nothing.ngdb", StorageError, "nothing.ngdb"),
        ("lm.ngdb", OSError, "letters"),
        ("lm.ngdb?corpus=cats", OSError, "no corpus 'cats'"),
        ("lm.ngdb?corpus=pets&order=x", InvalidArgument, "'unlimited', not 'x'"),
        ("lm.ngdb?corpus=pets&order=0", InvalidArgument, "not 0"),
        ("lm.ngdb?model=5", InvalidArgument, "corpus=…, order=…, table=…, joined by &"),
        ("model.arpa", OSError, "line 2: not a valid ARPA file: the file ends"),
        ("model.binary", OSError, "this is a binary file of KenLM"),
        ("model.txt", OSError, "this is a file, "),
    ],
)
def test_what_is_no_model_says_so(database: Path, what: str, kind: type[Exception], message: str) -> None:
    (database.parent / "model.arpa").write_text("\n\\data\\\n")
    (database.parent / "model.binary").write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0")
    (database.parent / "model.txt").write_text("")
    with pytest.raises(kind, match=message):
        kenlm.Model(str(database.parent / what))
