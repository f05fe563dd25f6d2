"""Files of token ids as the libraries that define them write them: datatrove, Dolma, Megatron-core.

A library that is not installed is skipped. Of Dolma and Megatron the writer's module alone is loaded: what
their packages import at the start (fastText, torch) takes no part in writing.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ngramdb

EOS = 1
DOCUMENTS = [[2, 3, 4], [5], [6, 2, 3], [7, 7, 7, 8], [2], [9, 4, 3, 2, 5]] * 5


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Any]:
    with ngramdb.connect(str(tmp_path / "ids.ngdb")) as opened:
        yield opened


def loaded(database: Any, path: Path, **options: Any) -> list[list[int]]:
    """The documents of a new corpus that has loaded a file or folder."""
    name = f"c{len(database.corpora())}"
    corpus = database.create_corpus(name, tokenizer="tokens")
    report = corpus.load(path, **options)
    documents = [[int(token) for token in row["text"].split()] for row in corpus.docs().to_dicts()]
    assert (report.documents, report.tokens) == (len(documents), sum(map(len, documents)))
    return documents


def ended(documents: list[list[int]]) -> list[list[int]]:
    return [[*one, EOS] for one in documents]


# ---- datatrove ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("loss", [False, True])
def test_files_of_datatrove(database: Any, tmp_path: Path, size: int, loss: bool) -> None:
    tokens = pytest.importorskip("datatrove.pipeline.tokens.tokenizer")
    documents = [*DOCUMENTS, [], [65535 if size == 2 else 1 << 20]]
    folder = tmp_path / "plain"
    written = tokens.TokenizedFile(
        str(folder), "0.ds", save_loss_metadata=loss, save_final_metadata=True, token_size=size
    )
    for one in documents:
        written.write(one, np.ones(len(one)) if loss else None)
    written.close()
    assert loaded(database, folder / "0.ds") == documents
    assert loaded(database, folder) == documents


@pytest.mark.parametrize("n_words", [20, 70_000])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("eos", [None, "<eos>"])
def test_what_datatroves_pipeline_writes(
    database: Any, tmp_path: Path, n_words: int, shuffled: bool, eos: str | None
) -> None:
    tokens = pytest.importorskip("datatrove.pipeline.tokens.tokenizer")
    from datatrove.data import Document
    from tokenizers import Tokenizer, models, pre_tokenizers

    names = {"<unk>": 0, "<eos>": EOS, **{f"w{k}": k for k in range(2, n_words)}}
    tokenizer = Tokenizer(models.WordLevel(names, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    documents = [*DOCUMENTS, [n_words - 1, 2]]
    step = tokens.DocumentTokenizer(
        str(tmp_path / "out"),
        str(tmp_path / "tokenizer.json"),
        eos_token=eos,
        shuffle_documents=shuffled,
        save_loss_metadata=True,
        max_tokens_per_file=40 if shuffled else None,
        seed=3,
    )
    texts = (" ".join(f"w{token}" for token in one) for one in documents)
    step.run(Document(text, str(k)) for k, text in enumerate(texts))
    found = loaded(database, tmp_path / "out")
    expected = ended(documents) if eos else documents
    assert found == expected if not shuffled else sorted(found) == sorted(expected)
    if eos:
        without = loaded(database, tmp_path / "out", separator=str(EOS))
        assert without == documents if not shuffled else sorted(without) == sorted(documents)


# ---- Dolma and Megatron ---------------------------------------------------------------------------------


def alone(monkeypatch: pytest.MonkeyPatch, module: str) -> Any:
    """A module of a package, without running what the packages around it run when they are imported."""
    first, *parts = module.split(".")
    if importlib.util.find_spec(first) is None:
        pytest.skip(f"needs {first}")
    before = set(sys.modules)
    name = ""
    for part in (first, *parts[:-1]):
        outer, name = name, f"{name}.{part}".lstrip(".")
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.submodule_search_locations is not None
        bare = types.ModuleType(name)
        bare.__path__ = list(spec.submodule_search_locations)
        monkeypatch.setitem(sys.modules, name, bare)
        if outer:
            setattr(sys.modules[outer], part, bare)
    try:
        return importlib.import_module(module)
    finally:
        for new in set(sys.modules) - before:
            if new.startswith(f"{first}.") and new not in {name, first}:
                monkeypatch.delitem(sys.modules, new)


@pytest.fixture
def dolma(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("smart_open")
    loggers = types.ModuleType("dolma.core.loggers")
    loggers.get_logger = lambda name: types.SimpleNamespace(info=print)  # type: ignore[attr-defined]
    kinds = types.ModuleType("dolma.core.data_types")
    kinds.InputSpec = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dolma.core", types.ModuleType("dolma.core"))
    monkeypatch.setitem(sys.modules, loggers.__name__, loggers)
    monkeypatch.setitem(sys.modules, kinds.__name__, kinds)
    return alone(monkeypatch, "dolma.tokenizer.memmap_writer")


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
@pytest.mark.parametrize(
    "names",
    [
        ["doc-{}", "s3://bucket/{}.jsonl.gz"],
        ["a, b and {}", "a folder, with commas/{}.gz"],
        ['of "{}"', "Größe/{}.gz"],
        ["two\nlines, {}", "file.gz"],
        ["{}", "12"],
        ["", ""],
    ],
)
def test_files_of_dolma(database: Any, tmp_path: Path, dolma: Any, dtype: str, names: list[str]) -> None:
    documents = [*DOCUMENTS, [65535 if dtype == "uint16" else 1 << 20]]
    with dolma.MemmapWriter(str(tmp_path / "part-0-00000"), np.dtype(dtype), 1000) as writer:
        for k, one in enumerate(ended(documents)):
            own = [name.format(k) for name in names]
            assert writer.write(dolma.TokenizerOutput.from_tokens(own[0], own[1], k + 1, one))
    path = tmp_path / "part-0-00000.npy"
    assert loaded(database, path, dtype=dtype) == ended(documents)
    assert loaded(database, path, dtype=dtype, separator=str(EOS)) == documents
    rows = database.corpus("c0").docs().to_dicts()
    for k, row in enumerate(rows):
        assert (row.get("id"), row.get("src"), row["loc"]) == (*(name.format(k) for name in names), k + 1)


@pytest.fixture
def indexed(monkeypatch: pytest.MonkeyPatch) -> Any:
    if importlib.util.find_spec("torch") is None:
        torch: Any = types.ModuleType("torch")
        data = types.SimpleNamespace(Dataset=object)
        torch.Tensor, torch.utils = np.ndarray, types.SimpleNamespace(data=data)
        monkeypatch.setitem(sys.modules, "torch", torch)
    utils = types.ModuleType("megatron.core.utils")
    utils.log_single_rank = lambda *args: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, utils.__name__, utils)
    return alone(monkeypatch, "megatron.core.datasets.indexed_dataset")


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64])
@pytest.mark.parametrize("multimodal", [False, True])
def test_files_of_megatron(database: Any, tmp_path: Path, indexed: Any, dtype: Any, multimodal: bool) -> None:
    documents = [*DOCUMENTS, [], [65535 if dtype is np.uint16 else 1 << 20]]
    prefix = str(tmp_path / "x_text_document")
    builder = indexed.IndexedDatasetBuilder(f"{prefix}.bin", dtype, multimodal)
    for k, one in enumerate(ended(documents)):
        # As a whole, and of two sequences.
        if k % 2:
            builder.add_document(np.array(one), [len(one)], [0])
        else:
            for part in (one[:2], one[2:]):
                builder.add_item(types.SimpleNamespace(numpy=lambda part=part: np.array(part)))
            builder.end_document()
    builder.finalize(f"{prefix}.idx")
    assert loaded(database, Path(f"{prefix}.bin")) == ended(documents)
    assert loaded(database, Path(f"{prefix}.bin"), separator=str(EOS)) == documents
    # Appended to others, as parallel runs of the preprocessing are.
    both = indexed.IndexedDatasetBuilder(str(tmp_path / "both.bin"), dtype, multimodal)
    for _ in range(2):
        both.add_index(prefix)
    both.finalize(str(tmp_path / "both.idx"))
    assert loaded(database, tmp_path / "both.bin") == ended(documents) * 2
