"""Work that is stopped at any one of its polls ends with the cancellation, and leaves the database whole."""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.polls import is_stopped, n_polls

import ngramdb
from ngramdb.conditions.overlap_field import CHUNK_TOKENS
from ngramdb.errors import TimeoutExceeded

#: Work with more polls than this is stopped at this many of them, evenly spread, the first and last included.
N_STOPS = 40

TEXT = " ".join(f"w{i % 12}" for i in range(60))

READS: dict[str, Callable[[Any, Any, Path], object]] = {
    "count": lambda words, pieces, path: words.count(TEXT, match_text=True, ignore_case=True),
    "counts": lambda words, pieces, path: words.counts(["w1", "w2 w3"]).fetchall(),
    "count_many": lambda words, pieces, path: words.count_many(["w1", "w2 w3"]),
    "prob": lambda words, pieces, path: words.prob("w2", given=TEXT, model="kneser_ney"),
    "prob_many": lambda words, pieces, path: words.prob_many([TEXT] * 3, ["w1"] * 3, model="backoff"),
    "dist_many": lambda words, pieces, path: words.dist_many([TEXT, "w1"]),
    "dist_arrays": lambda words, pieces, path: words.dist_arrays(TEXT),
    "score_many": lambda words, pieces, path: words.score_many([TEXT] * 3, model="kneser_ney"),
    "perplexity": lambda words, pieces, path: pieces.perplexity([TEXT] * 3),
    "agreement": lambda words, pieces, path: words.agreement([TEXT] * 3),
    "generate": lambda words, pieces, path: words.generate("w1", 5, method="sample", seed=1),
    "stream": lambda words, pieces, path: list(words.stream("w1", 5, seed=1)),
    "draft": lambda words, pieces, path: words.draft("w1", 5),
    "matcher": lambda words, pieces, path: words.matcher(TEXT, model="kneser_ney").next(),
    "quotations": lambda words, pieces, path: pieces.quotations("“w1 w2 w3 w4” “w1  w2 w3 w5 w6”"),
    "match_lengths": lambda words, pieces, path: words.match_lengths(TEXT),
    "trace_arrays": lambda words, pieces, path: words.trace_arrays(TEXT),
    "occurrences": lambda words, pieces, path: words.occurrences("w1"),
    "document": lambda words, pieces, path: [words.document(i) for i in (0, 1, 60)],
    "export": lambda words, pieces, path: words.export(path / "words.jsonl"),
    "export of sub-words": lambda words, pieces, path: pieces.export(path / "pieces.jsonl"),
    "export to Parquet": lambda words, pieces, path: pieces.export(path / "pieces.parquet"),
    "export_arpa": lambda words, pieces, path: words.export_arpa(path / "words.arpa", order=2),
    "export_ngrams": lambda words, pieces, path: words.export_ngrams(path / "n.parquet", (1, 3), slots=9),
    "export_infini_gram": lambda words, pieces, path: pieces.export_infini_gram(path / "index"),
    "decontaminate": lambda words, pieces, path: pieces.decontaminate(item(path), n=3, dry_run=True),
}

WRITES: dict[str, Callable[[Any, Path], object]] = {
    "append": lambda words, path: words.append([{"text": TEXT, "n": 1}] * 3),
    "load": lambda words, path: words.load(item(path)),
    "load of bad lines": lambda words, path: words.load(item(path), on_error="skip"),
    "delete": lambda words, path: words.delete('"w2 w3"'),
    "decontaminate": lambda words, path: words.decontaminate(item(path), n=3, threshold=0.1),
    "compact": lambda words, path: words.compact(),
    "analyze": lambda words, path: words.analyze(),
    "restore": lambda words, path: words.restore(2),
}


def item(path: Path) -> Path:
    file = path / "items.jsonl"
    if not file.exists():
        file.write_text('{"text": "w1 w2 w3 w4"}\n{"text": "w5 w6 w7"}\n')
    return file


@pytest.fixture(scope="module")
def damage() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1] / "torture")
        return importlib.import_module("damage")


@pytest.fixture(scope="module")
def folder(damage: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("polls")
    damage.make(path / "db")
    return path


def stops(n: int) -> list[int]:
    return sorted({round(k * (n - 1) / (N_STOPS - 1)) for k in range(N_STOPS)} if n > N_STOPS else range(n))


@pytest.mark.parametrize("name", READS)
def test_verbs_that_read(name: str, folder: Path, tmp_path: Path) -> None:
    with ngramdb.connect(folder / "db", read_only=True) as db:
        words, pieces = db.corpus("words"), db.corpus("pieces")

        def run() -> None:
            out = tmp_path / "out"
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            READS[name](words, pieces, out)

        n = n_polls(run)
        for k in stops(n):
            if not is_stopped(run, k):
                continue
            left = {path.name for path in (tmp_path / "out").iterdir()} - {"items.jsonl"}
            assert not left, f"stopped at poll {k + 1} of {n}, {left} was left"


def test_statements_that_read(damage: Any, folder: Path) -> None:
    with ngramdb.connect(folder / "db", read_only=True) as db:
        db.use("words")
        for question in (*damage.QUESTIONS, "CHECK"):

            def run(question: str = question) -> None:
                db.execute(question).fetchall()

            run()
            for k in stops(n_polls(run)):
                is_stopped(run, k)


@pytest.mark.parametrize("name", WRITES)
def test_verbs_that_write(name: str, folder: Path, tmp_path: Path) -> None:
    def fresh() -> Any:
        shutil.rmtree(tmp_path / "db", ignore_errors=True)
        shutil.copytree(folder / "db", tmp_path / "db")
        return ngramdb.connect(tmp_path / "db")

    with fresh() as db:
        words = db.corpus("words")
        n = n_polls(lambda: WRITES[name](words, tmp_path))
    assert n > 0
    for k in stops(n):
        with fresh() as db:
            words, version = db.corpus("words"), db.version
            before = words.n_documents
            is_stopped(lambda words=words: WRITES[name](words, tmp_path), k)
            db.refresh()
            assert words.n_documents == before or db.version > version
            assert words.count_docs() == words.n_documents


#: Verbs that walk through every suffix of a context that occurs: all of them, in a text that repeats itself.
LONG_CONTEXTS: dict[str, Callable[[Any, str, str], object]] = {
    "prob": lambda corpus, text, model: corpus.prob("a", given=text, model=model),
    "prob_many": lambda corpus, text, model: corpus.prob_many([text], ["a"], model=model),
    "score_many": lambda corpus, text, model: corpus.score_many([text], model=model),
    "perplexity": lambda corpus, text, model: corpus.perplexity([text], model=model),
}

#: Each token of a text costs at least 32 units of work, and 2**16 of these a poll.
N_TOKENS = 8000
LEAST_POLLS = N_TOKENS * 32 // 2**16


@pytest.mark.parametrize("model", ["backoff", "kneser_ney"])
@pytest.mark.parametrize("name", LONG_CONTEXTS)
def test_polls_within_a_document(name: str, model: str) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="chars")
        corpus.append(["a" * (N_TOKENS + 10)] * 2)
        text = "a" * N_TOKENS

        def run() -> object:
            return LONG_CONTEXTS[name](corpus, text, model)

        LONG_CONTEXTS[name](corpus, "a", model)  # what is counted once and kept
        n = n_polls(run)
        assert n >= LEAST_POLLS, f"{n} polls do not depend on the work done for {N_TOKENS} tokens"
        for k in (LEAST_POLLS // 4, LEAST_POLLS // 2):
            assert is_stopped(run, k)


def test_polls_while_many_ngrams_are_bound() -> None:
    n_ngrams = 500
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append(["a b c"])
        many = [[i % 3] for i in range(n_ngrams)]
        # Each n-gram has a tree, a pattern, a name, a count and a row.
        assert n_polls(lambda: corpus.counts(many)) >= 5 * n_ngrams
        db.settings["timeout"] = 1e-9
        with pytest.raises(TimeoutExceeded):
            corpus.counts([[0], ["no id"]])  # InvalidArgument without a timeout


def test_polls_while_long_token_ids_are_shown() -> None:
    n_tokens, n_documents = 2000, 50
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="tokens")
        corpus.append([[7] * n_tokens] * n_documents)
        assert n_polls(lambda: corpus.kwic([7] * n_tokens).fetchall()) >= n_documents


def test_polls_while_marks_are_removed_from_a_large_vocabulary() -> None:
    with ngramdb.connect() as db:
        db.create_corpus("c", tokenizer="chars").append(["a"])
        db.use("c")
        # 0x110000 characters, 2**16 between two checks.
        assert n_polls(lambda: db.execute("COUNT /a/ IGNORE DIACRITICS").fetchall()) >= 17


def test_polls_while_long_ngrams_are_compared_with_the_text() -> None:
    n_tokens = 40_000
    with ngramdb.connect() as db:
        db.create_corpus("c", tokenizer="chars").append(["a" * (2 * n_tokens)])
        db.use("c")
        text = "a" * n_tokens
        # Every place is compared: as much as n_tokens / 64 others, and 2**19 of these a poll.
        least = n_tokens * (n_tokens // 64) // 2**19
        n = n_polls(lambda: db.execute("COUNT ? AND NOT ? WITHIN 5 TOKENS", [text, text]).fetchall())
        assert n >= least


def test_polls_while_items_with_long_ngrams_are_counted(tmp_path: Path) -> None:
    n_tokens, n = 6000, 2000
    (tmp_path / "items.jsonl").write_text(json.dumps({"ids": [0] * n_tokens}))
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="tokens")
        corpus.append([[0] * n_tokens])
        run = partial(corpus.decontaminate, tmp_path / "items.jsonl", n=n, dry_run=True)
        assert n_polls(run) >= (n_tokens - n) * n // CHUNK_TOKENS


@pytest.mark.parametrize(
    "statement",
    [
        lambda n: "COUNT (" + " | ".join(['"a"'] * n) + ")",
        lambda n: 'COUNT "a" GROUP BY ' + ", ".join(["k"] * n),
        lambda n: 'COUNT "a" ' + "* " * n,
    ],
    ids=["alternatives", "keys", "parts"],
)
def test_polls_for_each_part_of_a_statement(statement: Callable[[int], str]) -> None:
    with ngramdb.connect() as db:
        db.create_corpus("c").append([{"text": "a", "k": 1}])
        few, many = (n_polls(lambda n=n: db.execute(statement(n)).fetchall()) for n in (1, 500))
        assert many >= few + 499
