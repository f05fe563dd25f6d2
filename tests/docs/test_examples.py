"""The programs in examples/ run, on small data, and print what is right."""

from __future__ import annotations

import io
import json
import re
import runpy
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from support.subwords import write_tokenizer

import ngramdb

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCUMENTS = [
    {"text": "it was the best of times, it was the worst of times", "book": "two cities"},
    {"text": "it was the best of all worlds", "book": "candide"},
    {"text": "it was a dark and stormy night", "year": 1830},
]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("examples") / "books.ngdb"
    with ngramdb.connect(path) as db:
        db.create_corpus("books").append(DOCUMENTS)
    return path


@dataclass
class Done:
    code: int
    out: str
    errors: str


def ran(name: str, *arguments: object) -> Done:
    """Run a program as `python examples/NAME …` does, but in this process, which has its imports already."""
    out, errors = io.StringIO(), io.StringIO()
    code = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        try:
            runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
            errors.write(end.code if isinstance(end.code, str) else "")
    return Done(code, out.getvalue(), errors.getvalue())


def run(name: str, database: Path, *arguments: str) -> list[str]:
    done = ran(name, database, "books", *arguments)
    assert done.code == 0, done.errors
    return done.out.splitlines()


def test_every_example_is_tested() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f'run("{path.name}", ' in source or f'"{path.name}"), str(database)' in source


def test_overlap_tells_known_lines_from_new_ones(database: Path, tmp_path: Path) -> None:
    lines = ["it was the best of", "it was the age of wisdom", "a very new line", "it was"]
    (tmp_path / "lines.txt").write_text("\n".join(lines))
    command = [sys.executable, "-X", "utf8", str(EXAMPLES / "overlap.py"), str(database), "books"]
    command += [str(tmp_path / "lines.txt"), "-n", "3"]
    printed = subprocess.check_output(command, encoding="utf-8", timeout=300)
    assert printed.splitlines() == [
        " share    most  line",
        "100.0%       3  it was the best of",
        " 25.0%       3  it was the age of wisdom",
        "  0.0%       0  a very new line",
        "  0.0%       0  it was",
    ]


def test_curate_removes_what_it_says_and_proves_it(tmp_path: Path) -> None:
    database = tmp_path / "dump.ngdb"
    question = "which of these is the capital of the country that lies between two large seas"
    texts = ["a fine page", "lorem ipsum dolor", f"forum post : {question} ?", "another page", question, "x"]
    texts += ["a fine page", "so a fine page it is"]
    dump, exam = tmp_path / "dump.jsonl", tmp_path / "exam.jsonl"
    lines = [json.dumps({"text": text, "n": n}) for n, text in enumerate(texts)]
    dump.write_text("\n".join(lines) + "\n")
    exam.write_text(json.dumps({"text": question}) + "\n")
    out, report = tmp_path / "clean.jsonl", tmp_path / "report.html"
    wanted = ["--phrase", "lorem ipsum", "--evaluation", str(exam), "--out", str(out)]
    seen = [
        "'lorem ipsum': 1 times",
        "  1: [lorem ipsum] dolor",
        "document 0 is contained in 7 (words)",
        "document 4 is contained in 2 (words)",
        "document 6 is contained in 7 (words)",
        f"{exam}: 1 of 1 items have n-grams in documents",
    ]
    steps = [
        "delete, where = '\"lorem ipsum\" MATCH TEXT': 1 of 8 documents",
        "delete_duplicates: 1 of 7 documents",
        "delete_near_duplicates: 2 of 6 documents",
        f"decontaminate, against = {[str(exam)]}, by = 'palm': 1 of 4 documents",
        f"export, path = {str(out)!r}: 0 of 3 documents",
    ]
    printed = run("curate.py", database, str(dump), *wanted, "--dry-run")
    assert printed == ["loaded 8 documents, 52 tokens", *seen, *steps, "3 documents would be left"]
    assert not out.exists()
    printed = run("curate.py", database, str(dump), *wanted, "--report", str(report))
    assert printed == [
        "loaded 0 documents, 0 tokens",
        *seen,
        *steps,
        "RESTORE CORPUS `books` TO VERSION 3 takes back what this run removed",
        "yes  CHECK finds nothing",
        "yes  no phrase is left",
        "yes  no copy is left",
        "yes  nothing is contaminated",
    ]
    assert out.read_text().splitlines() == [lines[3], lines[5], lines[7]]
    assert "lorem ipsum dolor" in report.read_text()
    again = run("curate.py", database, str(dump), *wanted)
    assert sum(line.endswith(": done before") for line in again) == len(steps)


@pytest.mark.parametrize("tokenizer", ["words", "chars", "bytes", "sub-words"])
def test_curate_leaves_no_phrase_that_grep_finds(tmp_path: Path, tokenizer: str) -> None:
    if tokenizer == "sub-words":
        tokenizer = str(write_tokenizer(tmp_path / "tokenizer.json"))
    lines = ["a fox", "fox and", "the (fox)", "firefoxes", "a  fox", "f ox", "Fox", "a fo", ". fox.", "x"]
    dump, out = tmp_path / "dump.jsonl", tmp_path / "clean.jsonl"
    dump.write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    phrases = ["fox", "a ", "."]
    wanted = ["--tokenizer", tokenizer, *(part for phrase in phrases for part in ("--phrase", phrase))]
    printed = run("curate.py", tmp_path / "dump.ngdb", str(dump), *wanted, "--out", str(out))
    assert printed[-3:] == ["yes  CHECK finds nothing", "yes  no phrase is left", "yes  no copy is left"]
    left = out.read_text()
    assert not any(phrase in json.loads(line)["text"] for line in left.splitlines() for phrase in phrases)
    assert [json.loads(line)["text"] for line in left.splitlines()] == ["f ox", "Fox", "x"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--phrase", ""], "this one is empty"),
        (["--phrase", "x"], "no corpus 'dump'"),
        (["nowhere.jsonl", "--phrase", "x"], "nowhere.jsonl"),
    ],
)
def test_curate_writes_nothing_where_it_is_asked_for_nothing(
    tmp_path: Path, given: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "clean.jsonl"
    out.write_text("precious")
    monkeypatch.chdir(tmp_path)
    done = ran("curate.py", tmp_path / "new.ngdb", "dump", *given, "--out", out)
    assert done.code in (1, 2) and said in done.errors
    assert out.read_text() == "precious"


def test_next_words_suggests_what_the_corpus_goes_on_with(database: Path) -> None:
    assert run("next_words.py", database, "they say it was the best of") == [
        "after 'it was the best of':",
        " 50.0%  1 of 2  times , it was the worst of times",
        " 50.0%  1 of 2  all worlds",
    ]
    assert run("next_words.py", database, "of times", "-k", "1") == [
        "after 'of times':",
        " 50.0%  1 of 2  , it was the worst of times",
    ]
    assert run("next_words.py", database, "stormy night") == [
        "after 'stormy night':",
        "100.0%  1 of 1  (the document ends)",
    ]


SUBJECTS = ["the old man", "a young girl", "the grey cat", "my brother", "the king", "a poor farmer"]
VERBS = ["goes to", "looks at", "dreams of", "walks around", "comes from"]
PLACES = ["the market", "the house on the hill", "a dark forest", "the sea", "the old mill by the river"]
ENDS = ["every day", "when the sun goes down", "and never comes back", "with a heavy heart"]


def sentences(seed: int, n: int) -> list[str]:
    """Sentences that repeat each other's phrases; as a rule the subject decides how one ends."""
    random = Random(seed)
    made = []
    for _ in range(n):
        subject, verb, place = map(random.choice, (SUBJECTS, VERBS, PLACES))
        own = ENDS[SUBJECTS.index(subject) % len(ENDS)]
        made.append(" ".join([subject, verb, place, own if random.random() < 0.9 else random.choice(ENDS)]))
    return made


@pytest.fixture(scope="module")
def tales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tales") / "tales.ngdb"
    with ngramdb.connect(path) as db:
        db.create_corpus("books").append(sentences(1, 400))
    return path


@pytest.fixture
def held_out(tmp_path: Path) -> Path:
    path = tmp_path / "held-out.txt"
    path.write_text("\n".join([*sentences(2, 60), "the zebra goes to the market every day"]))
    return path


def test_the_fluent_translation_comes_first(tales: Path) -> None:
    database = tales
    candidates = [
        "old the man the market goes to every day",
        "the old man goes to the market every day",
        "the old man goes at the market day every",
    ]
    for model in ("kneser_ney", "backoff order 3", "kneser_ney order 3"):
        printed = run("rank_translations.py", database, *candidates, "--model", model)
        assert printed[0] == "per token    total  candidate"
        order = [line.split(None, 2)[2] for line in printed[1:]]
        assert order == [candidates[1], candidates[2], candidates[0]]


def test_more_context_is_better_than_less(tales: Path, held_out: Path) -> None:
    database = tales
    printed = run("perplexity_by_order.py", database, str(held_out))
    assert [line.split()[0] for line in printed[1:-1]] == ["2", "3", "5", "7", "10", "∞"]
    values = [float(line.split()[1]) for line in printed[1:-1]]
    assert values[0] > values[1] > values[2] > values[3]
    assert all(float(line.split()[2]) < float(line.split()[1]) for line in printed[1:-1])
    assert printed[-1].endswith("1 of them unknown words")


def test_a_text_is_continued_by_every_method(tales: Path) -> None:
    database = tales
    printed = run("write_on.py", database, "the old man goes", "--tokens", "5")
    assert [line[:15].strip() for line in printed] == [
        *("greedy", "sample", "nucleus 0.8", "temperature 0.5"),
        *("beam", "beam", "diverse beam", "diverse beam"),
    ]
    assert all("the old man goes | to" in line for line in printed[:5])
    again = run("write_on.py", database, "the old man goes", "--tokens", "5", "--seed", "1")
    assert printed == again


def test_the_figure_of_agreement_is_drawn_and_told(tales: Path, held_out: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    database, figure = tales, tmp_path / "agreement.svg"
    printed = run("agreement_figure.py", database, str(held_out), "--figure", str(figure))
    assert figure.read_text(encoding="utf-8").count("<svg") == 1
    assert printed[3] == "n  tokens  agree"
    tokens = sum(int(line.split()[1]) for line in printed[4:])
    assert printed[0].endswith(f"of {tokens:,} tokens agree")


def test_a_neural_model_gains_by_the_infgram(tales: Path, held_out: Path) -> None:
    database = tales
    printed = run("mix_with_neural.py", database, str(held_out))
    found = re.fullmatch(
        r"perplexity of the neural model alone ([\d.]+), of the mixture ([\d.]+)", printed[2]
    )
    assert found is not None
    alone, mixed = map(float, found.groups())
    assert 1 < mixed < alone < 10
    assert float(printed[3].split()[-1].rstrip("%")) > 3
