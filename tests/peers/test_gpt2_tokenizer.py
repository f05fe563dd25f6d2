"""GPT-2's tokenizer on real text: the library's ids, whatever the batches and cuts, and every byte back."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path

import pytest

from ngramdb.tokenizers import create_tokenizer

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
TOKENIZER = DATA / "gpt2.tokenizer.json"
CORPUS = DATA / "small.jsonl.gz"

pytestmark = pytest.mark.skipif(not CORPUS.exists() or not TOKENIZER.exists(), reason="needs the shared data")


@pytest.fixture(scope="module")
def texts() -> list[str]:
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in itertools.islice(lines, 300)]


def test_real_documents_come_back_byte_for_byte(texts: list[str]) -> None:
    tokenizer = create_tokenizer(TOKENIZER)
    documents = [text.encode() for text in texts]
    ids, offsets = tokenizer.encode_batch(documents)
    assert tokenizer.lossless and tokenizer.n_vocabulary == 50257
    assert tokenizer.reproduces(documents, ids, offsets).all()
    assert tokenizer.decode_exact(ids) == b"".join(documents)


def test_the_ids_are_the_librarys_even_of_a_text_that_is_cut(texts: list[str]) -> None:
    from tokenizers import Tokenizer

    library = Tokenizer.from_file(str(TOKENIZER))
    whole = "\n".join(texts)[:400_000]
    ids, offsets = create_tokenizer(TOKENIZER).encode_batch(
        [*(text.encode() for text in texts[:50]), whole.encode()]
    )
    for k, text in enumerate([*texts[:50], whole]):
        assert ids[offsets[k] : offsets[k + 1]].tolist() == library.encode(text).ids


def test_known_ids() -> None:
    tokenizer = create_tokenizer(TOKENIZER)
    assert tokenizer.encode(" natural language").tolist() == [3288, 3303]
    assert tokenizer.token_text(3288) == " natural"
    some = [3288, 0, 50256, 220]
    assert tokenizer.token_texts(some) == [tokenizer.token_text(token_id) for token_id in some]
    assert tokenizer.decode([3288, 3303]) == " natural language"


def test_the_fast_way_gives_the_same_ids_and_stays_open(
    texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastokens")
    monkeypatch.setattr("ngramdb.tokenizers.fast.WORTHWHILE_BYTES", 0)
    tokenizer = create_tokenizer(TOKENIZER)
    documents = [text.encode() for text in [*texts, "\n".join(texts)[:400_000]]]
    encoder = tokenizer.encoder()
    found, expected = encoder.encode_batch(documents), tokenizer.encode_batch(documents)
    assert all((one == other).all() for one, other in zip(found, expected, strict=True))
    assert (encoder.note, encoder.in_doubt) == (None, False)
