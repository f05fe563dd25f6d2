"""`compat.kenlm` in pyctcdecode's decoder, and in transformers' processor: the beams are KenLM's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ngramdb
from ngramdb.compat import kenlm as compat

kenlm = pytest.importorskip("kenlm")
pyctcdecode = pytest.importorskip("pyctcdecode")

SENTENCES = [
    "the cat sat on the mat",
    "the dog sat on the log",
    "a cat and a dog sat",
    "the cat ate the mat",
    "on the mat the cat sat",
    "dogs eat and cats eat",
    "the cats sat on a log",
] * 3
WORDS = sorted({word for sentence in SENTENCES for word in sentence.split()})
LABELS = ["", " ", *"abcdefghijklmnopqrstuvwxyz"]
OPTIONS = {"alpha": 0.7, "beta": 1.2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pyctcdecode")
    with ngramdb.connect(folder / "lm.ngdb") as db:
        corpus = db.create_corpus("pets")
        corpus.append(SENTENCES)
        corpus.export_arpa(folder / "lm.arpa", order=3)
    return folder


def put_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what `sys.modules["kenlm"] = ngramdb.compat.kenlm` does before pyctcdecode is imported."""
    monkeypatch.setattr("pyctcdecode.decoder.kenlm", compat)
    monkeypatch.setattr("pyctcdecode.language_model.kenlm", compat)


def paths_of(folder: Path) -> list[str]:
    database = f"{folder / 'lm.ngdb'}?order=3"
    return [database, f"{database}&table=yes", str(folder / "lm.arpa")]


def spoken(text: str, seed: int) -> Any:
    """Logits of a noisy recording: frames of each letter, between blanks."""
    rng = np.random.default_rng(seed)
    frames = [place for letter in text for place in (LABELS.index(letter), 0)]
    logits = rng.normal(0.0, 1.0, (len(frames), len(LABELS)))
    logits[np.arange(len(frames)), frames] += 2.0
    return np.log(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)).astype(np.float32)


RECORDINGS = [
    spoken(text, seed) for seed, text in enumerate(["the cat sat", "a dog ate the log", "cats and xyz"])
]


def beams_of(decoder: Any, logits: Any) -> list[tuple[Any, ...]]:
    return [(beam[0], beam[2], beam[-2], beam[-1]) for beam in decoder.decode_beams(logits, beam_width=30)]


def assert_same(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    assert len(found) == len(expected) > 5
    assert [one[:2] for one in found] == [one[:2] for one in expected]  # texts and frames, best first
    for k in (2, 3):
        assert [one[k] for one in found] == pytest.approx([one[k] for one in expected], abs=1e-3)


@pytest.mark.parametrize("boundary", [True, False])
def test_the_beams_are_those_of_kenlm(folder: Path, boundary: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {**OPTIONS, "lm_score_boundary": boundary}
    decoder = pyctcdecode.build_ctcdecoder(LABELS, str(folder / "lm.arpa"), WORDS, **options)
    expected = [beams_of(decoder, logits) for logits in RECORDINGS]
    put_in_place(monkeypatch)
    for path in paths_of(folder):
        decoder = pyctcdecode.build_ctcdecoder(LABELS, path, WORDS, **options)
        for logits, beams in zip(RECORDINGS, expected, strict=True):
            assert_same(beams_of(decoder, logits), beams)


def test_the_processor_of_transformers(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    letters = {"|" if label == " " else label or "<pad>": place for place, label in enumerate(LABELS)}
    letters |= {"<s>": 28, "</s>": 29, "<unk>": 30}
    (tmp_path / "vocab.json").write_text(json.dumps(letters))

    def decoded(path: str) -> list[Any]:
        decoder = pyctcdecode.build_ctcdecoder([*LABELS, "<s>", "</s>", "⁇"], path, WORDS, **OPTIONS)
        processor = transformers.Wav2Vec2ProcessorWithLM(
            feature_extractor=transformers.Wav2Vec2FeatureExtractor(),
            tokenizer=transformers.Wav2Vec2CTCTokenizer(str(tmp_path / "vocab.json")),
            decoder=decoder,
        )
        padded = [np.pad(logits, ((0, 0), (0, 3)), constant_values=-20.0) for logits in RECORDINGS]
        return [processor.decode(logits, n_best=5) for logits in padded]

    expected = decoded(str(folder / "lm.arpa"))
    assert expected[0].text[0].startswith("the cat")
    put_in_place(monkeypatch)
    for path in paths_of(folder):
        for found, peer in zip(decoded(path), expected, strict=True):
            assert found.text == peer.text
            assert found.logit_score == pytest.approx(peer.logit_score, abs=1e-3)
            assert found.lm_score == pytest.approx(peer.lm_score, abs=1e-3)
