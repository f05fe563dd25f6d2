"""Fast loads write the same segments, byte for byte, even if the fast library turns out to differ in the
middle.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from ngramdb.engine.loading import encoding
from ngramdb.errors import LoadError
from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.tokenizers import fast

pytest.importorskip("fastokens")

WORDS = [
    "the",
    "thing",
    "'s",
    "12",
    "é",
    "東京",
    "\n\n",
    "  ",
    "x\u0301",
    "👩\u200d🚀",
    "there,",
    "\t",
    "That",
]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(fast, "WORTHWHILE_BYTES", 0)
    monkeypatch.setattr(encoding, "BATCH_DOCUMENTS", 7)


def random_documents(seed: int, n: int = 60) -> list[Document]:
    """Texts and ids, with metadata of every kind and forms."""
    rng = random.Random(seed)
    documents = []
    for k in range(n):
        fields: dict[str, Any] = {"n": k, "flag": k % 3 == 0}
        if k % 2:
            fields = {"name": f"d{k}", "deep": {"a": [k, None], "b": {}}}
        if k % 5 == 0:
            fields["n"] = k + 0.5
        form = b"A" + str(k).encode() if k % 4 else None
        if rng.random() < 0.2:
            ids = [rng.randrange(257) for _ in range(rng.randrange(5))]
            array = np.array(ids, dtype=rng.choice([np.uint16, np.uint32]))
            documents.append(Document(None, array, fields, "test", k, form))
        else:
            text = " ".join(rng.choices(WORDS, k=rng.randrange(12)))
            documents.append(Document(text.encode(), None, fields, "test", k, form))
    return documents


def segments_of(database, name):
    """Return the content of the segments' files, except the numbers in their names."""
    entries = database.store.manifest.corpora[name].segments
    files = [database.store.read(entry.file, "SEGM") for entry in entries]
    return [
        ({**file.properties, "header": ""}, {part: bytes(file.section(part)) for part in file.sections})
        for file in files
    ]


def load(database, tokenizer_json, name, documents, fast_tokenizer, **options):
    database.create(name, tokenizer_json)
    outcome = database.load(documents, name, fast_tokenizer=fast_tokenizer, **options)
    database.view(name).check()
    return outcome


def lie(monkeypatch, lies) -> None:
    opened = fast._open

    class Lying:
        def __init__(self, *of):
            self._library = opened(*of)

        def encode_batch_flat(self, texts):
            return self._library.encode_batch_flat([lies(text) for text in texts])

    monkeypatch.setattr(fast, "_open", Lying)
    monkeypatch.setattr(fast, "SAMPLE_SHARE", 0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("segment_tokens", [10**6, 100])
def test_segments_are_byte_for_byte_those_of_the_slow_way(database, tokenizer_json, seed, segment_tokens):
    documents = random_documents(seed)
    options = {"segment_tokens": segment_tokens, "threads": 2}
    slow = load(database, tokenizer_json, "slow", documents, False, **options)
    quick = load(database, tokenizer_json, "quick", documents, True, **options)
    assert segments_of(database, "quick") == segments_of(database, "slow")
    assert quick.notes == () and (quick.documents, quick.tokens) == (slow.documents, slow.tokens)


def test_a_load_says_when_it_needs_the_library_no_more(database, tokenizer_json, monkeypatch):
    said = []
    monkeypatch.setattr(fast.FastWay, "rest", lambda way, n_bytes: said.append(n_bytes))
    documents = random_documents(0)
    load(database, tokenizer_json, "quick", documents, True)
    assert said == [sum(len(document.text) for document in documents if document.text is not None)]


@pytest.mark.parametrize("late", [0, 1, 30, 59])
@pytest.mark.parametrize("segment_tokens", [10**6, 100, 10])
def test_a_library_that_is_found_out_late_leaves_nothing_behind(
    database, tokenizer_json, monkeypatch, late, segment_tokens
):
    # It was wrong from the first document on, of which nobody knew; then comes a character that is compared.
    lie(monkeypatch, lambda text: text.replace("thing there", "x").replace("\ua9cf", "y"))
    documents = random_documents(late)
    documents[0] = Document(b"the thing there", None, {"n": 1}, "test", 0)
    documents[late] = Document("thing there \ua9cf".encode(), None, {"odd": True}, "test", late)
    reports: list[tuple[int, int]] = []
    options = {"segment_tokens": segment_tokens, "threads": 2}
    slow = load(database, tokenizer_json, "slow", documents, False, **options)
    before = database.files()
    told = load(
        database,
        tokenizer_json,
        "told",
        documents,
        True,
        **options,
        progress=lambda report: reports.append((report.documents, report.tokens)),
    )
    assert segments_of(database, "told") == segments_of(database, "slow")
    assert (told.documents, told.tokens, told.segments) == (slow.documents, slow.tokens, slow.segments)
    assert reports[-1] == (slow.documents, slow.tokens)
    assert "fastokens returned other ids than tokenizers" in told.notes[0]
    view = database.view("told")
    found = [segment.text(i, view.tokenizer) for segment in view.segments for i in range(segment.n_documents)]
    assert all(text == one.text for text, one in zip(found, documents, strict=True) if one.text is not None)
    # Everything written before is gone: the new corpus has a tokenizer and its segments, like the old one.
    assert len(database.files()) - len(before) == 1 + told.segments


def test_an_error_while_documents_are_encoded_anew_leaves_everything_as_it_was(
    database, tokenizer_json, monkeypatch
):
    lie(monkeypatch, lambda text: text.replace("\ua9cf", "y"))
    documents = random_documents(1)
    documents[40] = Document("\ua9cf".encode(), None, {}, "test", 40)
    database.create("c", tokenizer_json)
    before, version = database.files(), database.store.manifest.version
    calls = []

    def fails(report):
        calls.append(report.documents)
        if len(calls) > 2 and report.documents < calls[-2]:
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        database.load(documents, segment_tokens=50, progress=fails)
    assert database.files() == before and database.store.manifest.version == version


def test_documents_that_are_skipped_stay_skipped(database, tokenizer_json, monkeypatch):
    lie(monkeypatch, lambda text: text.replace("\ua9cf", "y"))
    documents = random_documents(2)
    documents[5] = Document(b"x" * (1 << 21), None, {}, "big.txt", 7)
    documents[40] = Document("\ua9cf".encode(), None, {}, "test", 40)
    errors = ErrorLog()
    limit = (1 << 27) + (1 << 22)
    outcome = load(database, tokenizer_json, "c", documents, True, memory_limit=limit, skipped=errors)
    assert errors.count == 1 and "big.txt" in errors.reasons[0]
    assert outcome.documents == 59
    with pytest.raises(LoadError):
        load(database, tokenizer_json, "d", [Document(None, None, {}, "test", 1)], True)
