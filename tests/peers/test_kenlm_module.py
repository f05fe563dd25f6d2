"""KenLM's interface over our corpora beside KenLM's own module, and beside its recorded answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.kenlm_data import TOLERANCE, TOYS, toy, wikitext_answers, wikitext_sentences
from support.peer_data import data_file

import ngramdb
from ngramdb.compat import kenlm as compat

ORDERS = [3, 5]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The training text, cut at blanks alone: as KenLM has it."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = dict.fromkeys(word for sentence in wikitext_sentences() for word in sentence)
    ids = {word: number for number, word in enumerate([*words, "<UNSEEN>"])}
    folder = tmp_path_factory.mktemp("kenlm")
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="<UNSEEN>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "blanks.json"))
    with ngramdb.connect(folder / "lm.ngdb") as db:
        corpus = db.create_corpus("wt2", folder / "blanks.json")
        corpus.load(data_file("wt2v.train.txt.gz"), format="lines")
        corpus.analyze()
    return folder / "lm.ngdb"


@pytest.mark.parametrize("order", ORDERS)
def test_recorded_answers(database: Path, order: int) -> None:
    model, answers = compat.Model(f"{database}?order={order}"), wikitext_answers()
    for number, sentence in enumerate(answers["sentences"]):
        log10, lengths, _ = zip(*model.full_scores(sentence), strict=True)
        np.testing.assert_allclose(log10, answers["log10"][str(order)][number], rtol=0, atol=TOLERANCE)
        assert list(lengths) == answers["len"][str(order)][number]


@pytest.mark.parametrize("order", [2, 5])
@pytest.mark.parametrize("name", TOYS)
def test_recorded_answers_on_the_toys(name: str, order: int) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("toy")
        corpus.append(toy(name)["corpus"])
        model = compat.Model(corpus, order=order)
        for query in toy(name)["models"][str(order)]["queries"]:
            found = list(model.full_scores(query["text"]))
            log10, lengths, unknown = zip(*query["tokens"], strict=True)
            assert [one[0] for one in found] == pytest.approx(log10, abs=TOLERANCE)
            assert [one[1:] for one in found] == list(zip(lengths, map(bool, unknown), strict=True))


@pytest.fixture(scope="module")
def peer() -> Any:
    return pytest.importorskip("kenlm")


@pytest.fixture(scope="module", params=ORDERS)
def models(request: pytest.FixtureRequest, peer: Any, database: Path) -> tuple[Any, compat.Model]:
    """KenLM's module on the file that is exported, and ours on the database."""
    arpa = database.parent / f"{request.param}.arpa"
    with ngramdb.connect(database) as db:
        db.corpus().export_arpa(arpa, request.param)
    return peer.Model(str(arpa)), compat.Model(f"{database}?order={request.param}")


SENTENCES = ["", "the", "qqq zzz", "the qqq of </s> the", "a <unk> b", "the\tof\u00a0the"]


@pytest.mark.parametrize(("bos", "eos"), [(True, True), (True, False), (False, True), (False, False)])
def test_sentences(models: tuple[Any, compat.Model], bos: bool, eos: bool) -> None:
    theirs, ours = models
    assert theirs.order == ours.order
    for sentence in [*SENTENCES, *wikitext_answers()["sentences"][:60]]:
        expected = list(theirs.full_scores(sentence, bos=bos, eos=eos))
        found = list(ours.full_scores(sentence, bos=bos, eos=eos))
        assert [one[1:] for one in found] == [one[1:] for one in expected], sentence
        assert [one[0] for one in found] == pytest.approx([one[0] for one in expected], abs=TOLERANCE)
        n = max(1, len(expected))
        assert ours.score(sentence, bos, eos) == pytest.approx(
            theirs.score(sentence, bos, eos), abs=n * TOLERANCE
        )
        assert ours.perplexity(sentence) == pytest.approx(theirs.perplexity(sentence), rel=1e-4)


def test_words_by_states(models: tuple[Any, compat.Model], peer: Any) -> None:
    theirs, ours = models
    words = " ".join(wikitext_answers()["sentences"][:40]).split()
    assert [word in ours for word in [*words, "</s>", "<s>", "<unk>", "qqq"]] == [
        word in theirs for word in [*words, "</s>", "<s>", "<unk>", "qqq"]
    ]
    a, b = peer.State(), compat.State()
    theirs.BeginSentenceWrite(a)
    ours.BeginSentenceWrite(b)
    seen: dict[Any, set[Any]] = {}
    for word in words:
        after_a, after_b = peer.State(), compat.State()
        expected, found = theirs.BaseFullScore(a, word, after_a), ours.BaseFullScore(b, word, after_b)
        assert found.log_prob == pytest.approx(expected.log_prob, abs=TOLERANCE)
        assert (found.ngram_length, found.oov) == (expected.ngram_length, expected.oov)
        assert ours.BaseScore(b, word, compat.State()) == found.log_prob
        a, b = after_a, after_b
        seen.setdefault(b, set()).add(hash(a))
    # Each of our states corresponds to one of KenLM.
    assert all(len(states) == 1 for states in seen.values())


def test_names_are_kenlms(peer: Any) -> None:
    for cls in ("Model", "State", "LoadMethod", "ARPALoadComplain", "FullScoreReturn", "LanguageModel"):
        theirs = {name for name in dir(getattr(peer, cls)) if not name.startswith("_")}
        ours = getattr(compat, cls)
        assert theirs - {"path"} <= set(dir(ours))
    assert set(vars(compat.Config())) == {name for name in dir(peer.Config) if not name.startswith("_")}
