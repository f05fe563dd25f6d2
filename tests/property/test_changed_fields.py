"""Fields that changed after loading, through everything that reads or copies documents."""

from __future__ import annotations

import asyncio
import copy
import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import ngramdb
from ngramdb.serve.app import Access, Service
from ngramdb.serve.database_pool import open_library
from ngramdb.serve.problem_details import Limits
from ngramdb.serve.server import Place, listening

Record = dict[str, Any]

N_ROUNDS = 8
TEXTS = ["a b", "b c d", "a", "e e e", "a b c d e"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ngramdb.connect(tmp_path / "d.ngdb") as db:
        db.create_corpus("c", tokenizer="words")
        db.execute("SET auto_compact = FALSE")
    return tmp_path


@pytest.fixture
def remote(folder: Path) -> Iterator[ngramdb.Connection]:
    """A connection to a server of this process."""
    uvicorn = pytest.importorskip("uvicorn")
    limits = Limits(time_limit=20.0)
    service = Service(open_library([str(folder / "d.ngdb")], limits, {}), limits, Access())
    server = uvicorn.Server(uvicorn.Config(service, log_level="critical", lifespan="off", ws="none"))
    with listening(Place(port=0)) as (listener, shown):
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()
        with ngramdb.connect(shown) as db:
            yield db
        server.should_exit = True
        thread.join(60)
    service.workers.close()
    service.library.close()


class Model:
    """A corpus, and the documents that it should have, by id."""

    def __init__(self, db: Any, rng: random.Random) -> None:
        self.db = db
        self.corpus = db.corpus("c")
        self.rng = rng
        self.n_documents = 0
        self.documents: dict[int, Record] = {}
        self.versions: dict[int, dict[int, Record]] = {}

    def change(self) -> None:
        steps = [self.append, self.set_fields, self.set_fields, self.join, self.join]
        steps += [self.drop, self.delete, self.compact, self.restore]
        if not self.documents:
            steps = [self.append]
        self.rng.choice(steps)()
        self.versions[self.db.version] = copy.deepcopy(self.documents)

    def append(self) -> None:
        given = [self._document() for _ in range(self.rng.randint(1, 6))]
        self.corpus.append(given)
        for document in given:
            self.documents[self.n_documents] = copy.deepcopy(document)
            self.n_documents += 1

    def _document(self) -> Record:
        choices = {
            "n": [1, 2, 40],
            "lang": ["en", "de"],
            "meta": [{"a": 1}, {"a": 2, "b": "x"}],
            "tags": [["p", "q"]],
        }
        made: Record = {
            "text": self.rng.choice(TEXTS),
            "id": f"k{self.n_documents + self.rng.randint(0, 99)}",
        }
        return made | {name: self.rng.choice(of) for name, of in choices.items() if self.rng.random() < 0.6}

    def set_fields(self) -> None:
        fields = self.rng.choice([{"n": 7}, {"score": 0.5, "lang": "ü"}, {"meta.c": True}])
        word = self.rng.choice(["a", "e", "d"])
        met = [doc for doc, one in self.documents.items() if word in one["text"].split()]
        assert self.corpus.update(fields, f'"{word}"') == len(met)
        for doc in met:
            for path, value in fields.items():
                *outer, last = path.split(".")
                inner = self.documents[doc]
                for key in outer:
                    inner = inner.setdefault(key, {})
                inner[last] = value

    def join(self) -> None:
        """Add fields by the documents' own ids."""
        docs = self.rng.sample(sorted(self.documents), self.rng.randint(1, len(self.documents)))
        name = self.rng.choice(["edu", "lang", "day"])
        values = [self.rng.choice([0.25, 2.5]) if name == "edu" else self.rng.choice("xyz") for _ in docs]
        table = pa.table({"doc_id": docs, name: values})
        assert self.corpus.add_fields(table, "doc_id", [name], replace=True).documents == len(docs)
        for doc, value in zip(docs, values, strict=True):
            self.documents[doc][name] = value

    def drop(self) -> None:
        name = self.rng.choice(["n", "meta", "edu", "score"])
        if any(name in one for one in self.documents.values()):
            self.corpus.drop_fields(name)
            for one in self.documents.values():
                one.pop(name, None)

    def delete(self) -> None:
        self.corpus.delete('"c"')
        self.documents = {d: one for d, one in self.documents.items() if "c" not in one["text"].split()}

    def compact(self) -> None:
        self.corpus.compact()

    def restore(self) -> None:
        version = self.rng.choice(sorted(self.versions))
        self.corpus.restore(version)
        self.documents = copy.deepcopy(self.versions[version])


def plain(documents: Any) -> list[str]:
    return [json.dumps(one, sort_keys=True) for one in documents]


def flat(document: str) -> str:
    """Return a document as columns have it: fields of objects are named by their paths."""
    found = json.loads(document)
    inner = {f"meta.{key}": value for key, value in found.pop("meta", {}).items()}
    return json.dumps({**found, **inner}, sort_keys=True)


def documents_of(corpus: Any, ids: Any) -> list[str]:
    found = ((corpus.document(doc).text, corpus.document(doc).metadata) for doc in ids)
    return plain({"text": text, **metadata} for text, metadata in found)


@pytest.mark.filterwarnings("ignore::ngramdb.ExportWarning")  # of nested fields in Parquet
@pytest.mark.parametrize("seed", range(2))
def test_changed_fields_are_read_and_copied_like_loaded_ones(folder: Path, remote: Any, seed: int) -> None:
    with ngramdb.connect(folder / "d.ngdb") as db:
        model = Model(db, random.Random(seed))
        for i in range(N_ROUNDS):
            model.change()
            if model.documents:
                check(model, folder, remote, i)
        assert db.execute("CHECK").fetchall() == []


def check(model: Model, folder: Path, remote: Any, i: int) -> None:
    db, corpus = model.db, model.corpus
    ids, expected = sorted(model.documents), plain(one for _, one in sorted(model.documents.items()))
    assert documents_of(corpus, ids) == expected
    assert documents_of(remote.corpus("c"), ids) == expected
    with ngramdb.connect(folder / "d.ngdb") as other:
        assert documents_of(other.corpus("c"), ids) == expected
    # Other corpora of the database.
    db.execute("CREATE CORPUS copied AS (DOCS FROM c)")
    assert documents_of(db.corpus("copied"), ids) == expected
    into = db.create_corpus("into", tokenizer="words")
    into.append([{"text": "x", "n": "of another type"}])
    db.execute("ALTER CORPUS into ADD CORPUS c")
    assert documents_of(into, [doc + 1 for doc in ids]) == expected
    # A part, by one of the changed fields.
    with_lang = [doc for doc in ids if model.documents[doc].get("lang") in ("ü", "x", "en")]
    if with_lang:
        part = corpus.where("lang IN ('ü', 'x', 'en')")
        assert [row[0] for row in part.docs(returning="doc_id").fetchall()] == with_lang
    # Files, and what is loaded from them.
    for form in ("jsonl", "parquet"):
        path = folder / f"{i}.{form}"
        corpus.export(path)
        again = db.create_corpus(f"again_{form}", tokenizer="words")
        again.load(path)
        assert documents_of(again, range(len(ids))) == (
            expected if form == "jsonl" else list(map(flat, expected))
        )
        db.drop_corpus(f"again_{form}")
    if any("lang" in one for one in model.documents.values()):
        db.execute("COPY (DOCS FROM c RETURNING doc_id, lang) TO ?", [str(folder / f"{i}-lang.parquet")])
        table = pa.parquet.read_table(folder / f"{i}-lang.parquet")
        langs = [model.documents[doc].get("lang") for doc in ids]
        assert (table["doc_id"].to_pylist(), table["lang"].to_pylist()) == (ids, langs)
    corpus.export_infini_gram(folder / f"{i}")
    attached = db.attach(folder / f"{i}", "attached")
    found = [json.loads(attached.document(i).metadata["metadata"])["metadata"] for i in range(len(ids))]
    without_text = [{k: v for k, v in json.loads(one).items() if k != "text"} for one in expected]
    assert plain(found) == plain(without_text)
    db.detach("attached")
    for name in ("copied", "into"):
        db.drop_corpus(name)
