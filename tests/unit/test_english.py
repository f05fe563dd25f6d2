"""Docstrings, comments, messages and pages are in plain English: a ceiling per folder that only falls."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from support.english import WORD, Prose, advice_on, prose_of

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not (ROOT / "ngramdb").is_dir(), reason="reads the sources, which are not here"
)
SUFFIXES = {".py", ".pyi", ".pyx", ".pxd", ".hpp", ".cpp", ".js", ".md"}
#: Stilted constructions per 1,000 words. A well-written library has 1 to 3.
CEILINGS = {
    "ngramdb": 1.0,
    "ngramdb/_cext": 1.0,
    "ngramdb/aio": 1.0,
    "ngramdb/api": 1.0,
    "ngramdb/cli": 1.0,
    "ngramdb/cluster": 1.0,
    "ngramdb/compat": 1.0,
    "ngramdb/conditions": 1.0,
    "ngramdb/curation": 1.0,
    "ngramdb/engine": 1.0,
    "ngramdb/executor": 1.0,
    "ngramdb/ingest": 1.0,
    "ngramdb/language": 1.0,
    "ngramdb/lm": 1.0,
    "ngramdb/patterns": 1.0,
    "ngramdb/planner": 1.1,
    "ngramdb/questions": 1.6,
    "ngramdb/segments": 1.0,
    "ngramdb/serve": 1.0,
    "ngramdb/tokenizers": 1.0,
    "docs": 1.0,
    "tests": 1.1,
}
#: A ceiling this far above the rate is lowered.
SLACK = 1.0
SHOWN = 12


@cache
def lines_of(folder: str) -> list[Prose]:
    """Return the prose of a folder; of `ngramdb`, that of its own modules only."""
    path = ROOT / folder
    files = path.glob("*") if folder == "ngramdb" else path.rglob("*")
    return [line for file in sorted(files) if file.suffix in SUFFIXES for line in prose_of(file)]


@pytest.mark.parametrize("folder", CEILINGS)
def test_stilted_constructions_become_fewer(folder: str) -> None:
    lines = lines_of(folder)
    n_words = sum(len(WORD.findall(line.text)) for line in lines)
    stilted = [(line, advice) for line in lines for advice in advice_on(line.text)]
    rate = round(1000 * len(stilted) / n_words, 1)
    where = defaultdict(list)
    for line, advice in stilted:
        where[advice].append(f"{line.path.relative_to(ROOT)}:{line.line}: {line.text[:100]}")
    shown = "\n".join(f"{advice}\n    " + "\n    ".join(at[:SHOWN]) for advice, at in where.items())
    assert rate <= CEILINGS[folder], f"{folder} has {rate} stilted constructions per 1,000 words\n{shown}"
    assert rate >= CEILINGS[folder] - SLACK, f"lower the ceiling of {folder} to {rate}"


def test_every_folder_has_a_ceiling() -> None:
    packages = {f"ngramdb/{file.parent.name}" for file in ROOT.glob("ngramdb/*/__init__.py")}
    assert packages | {"ngramdb", "tests", "docs"} == CEILINGS.keys()


@pytest.mark.parametrize(
    "text",
    [
        "What a statement returns, row by row.",
        "Whether the file has been read.",
        "The first part, an empty one where there is none.",
        "the body is no JSON",
        "The separator stands before every document.",
        "The log of the server says more.",
        "Of the documents, those that match are kept.",
        "All of them are read anew after a commit.",
    ],
)
def test_stilted_constructions_are_found(text: str) -> None:
    assert advice_on(text)


@pytest.mark.parametrize(
    "text",
    [
        "Return the rows of the statement.",
        "Return True if the file has been read.",
        "What is the meaning of `as`?",
        "invalid JSON in the request body",
        "The file is no longer there, so the next one is read.",
        "A plan stands for the statement that it answers.",
        "See the log of the server.",
        "Two words",
    ],
)
def test_plain_sentences_are_not_reported(text: str) -> None:
    assert not advice_on(text)


def test_prose_is_read_from_every_language(tmp_path: Path) -> None:
    sources = {
        "a.py": '"""Module."""\n\n# A comment.\nMESSAGE = "a message of five words here"\n',
        "a.pyx": 'cdef int f():\n    """A docstring."""\n    return 1  # A comment.\n',
        "a.hpp": "// A comment.\nint f();  // At the end.\n",
        "a.md": "# Title\n\nA paragraph.\n\n```\ncode\n```\n",
    }
    for name, source in sources.items():
        (tmp_path / name).write_text(source)
    found = {name: [line.text for line in prose_of(tmp_path / name)] for name in sources}
    assert found["a.py"] == ["Module.", "a message of five words here", "A comment."]
    assert found["a.pyx"] == ["A docstring.", "A comment."]
    assert found["a.hpp"] == ["A comment.", "At the end."]
    assert [text for text in found["a.md"] if text] == ["A paragraph."]
