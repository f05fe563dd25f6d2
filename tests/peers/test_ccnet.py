"""`quality` beside CCNet's formula over KenLM, with the same model, on texts of small.jsonl.

CCNet (cc_net, bda555b): 10 ** (-sum of log10 / sum of pieces), and each line counts one piece more for its
end; rounded to one decimal. Its program normalizes a text before it splits it into lines at line feeds, which
the normalization has deleted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ngramdb
from ngramdb.curation.quality import normalized

kenlm = pytest.importorskip("kenlm")

ORDER, N_REFERENCE, N_DOCUMENTS = 5, 60, 60


@pytest.fixture(scope="module")
def db(documents: list[dict[str, Any]]) -> Any:
    with ngramdb.connect() as opened:
        texts = [one["text"] for one in documents[: N_REFERENCE + N_DOCUMENTS]]
        lines = (normalized(line) for text in texts[:N_REFERENCE] for line in text.split("\n"))
        opened.create_corpus("wiki").append([line for line in lines if line])
        opened.create_corpus("pages").append(texts[N_REFERENCE:])
        yield opened


@pytest.fixture(scope="module")
def model(db: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("ccnet") / "wiki.arpa"
    db.corpus("wiki").export_arpa(str(path), ORDER)
    return kenlm.Model(str(path))


def expected(db: Any, model: Any, lines: list[str]) -> float:
    pieces = [split(db, line) for line in lines]
    log10 = sum(model.score(" ".join(one)) for one in pieces)
    return float(10.0 ** (-log10 / sum(len(one) + 1 for one in pieces)))


def split(db: Any, line: str) -> list[str]:
    """Return the words of a line, in a vocabulary that has them all."""
    tokenizer = db.corpus("wiki").tokenizer.fork()
    ids, _ = tokenizer.encode_batch([line.encode()])
    return [tokenizer.token_text(one) for one in ids.tolist()]


@pytest.mark.parametrize("unit", ["ccnet", "lines"])
def test_perplexities_are_those_of_kenlm(db: Any, model: Any, unit: str) -> None:
    pages = db.corpus("pages")
    pages.quality("wiki", unit=unit, model=f"kneser_ney order {ORDER}", replace=True)
    rows = db.execute("DOCS FROM pages ORDER BY doc_id RETURNING perplexity, text").fetchall()
    for found, text in rows:
        lines = [text] if unit == "ccnet" else text.split("\n")
        value = expected(db, model, [line for line in map(normalized, lines) if line])
        if unit == "ccnet":
            assert found == round(found, 1) and abs(found - value) <= 0.1
        else:
            assert found == pytest.approx(value, rel=1e-4)
