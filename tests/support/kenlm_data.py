"""KenLM's recorded answers, and the texts that they are about."""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any

from support.peer_data import data_file

TOYS = ["kenlm_toy.json", "kenlm_toy_fallback.json"]

# In log10: KenLM computes in 32-bit floats.
TOLERANCE = 1e-5


@cache
def toy(name: str) -> dict[str, Any]:
    """A corpus of 40 sentences, and every entry of KenLM's models of it."""
    answers: dict[str, Any] = json.loads(data_file(name).read_text(encoding="utf-8"))
    return answers


@cache
def wikitext_sentences() -> list[list[str]]:
    """Return the training data of the larger models."""
    with gzip.open(data_file("wt2v.train.txt.gz"), "rt", encoding="utf-8") as file:
        return [line.split() for line in file if line.strip()]


@cache
def wikitext_answers() -> dict[str, Any]:
    """Return the answers of those models."""
    with gzip.open(data_file("kenlm_wt2v.json.gz"), "rt", encoding="utf-8") as file:
        answers: dict[str, Any] = json.load(file)
    return answers
