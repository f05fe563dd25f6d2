"""The demonstration, over a small library in place of Python's own."""

from __future__ import annotations

from pathlib import Path

import pytest

import ngramdb
from ngramdb.cli.commands import demo
from ngramdb.cli.commands.demo import FIELDS, STEPS
from ngramdb.cli.main import main
from ngramdb.language.parser import parse_statement

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library of three modules, with other files among them; the working folder is beside it."""
    root = tmp_path / "lib"
    for name, content in {
        "json/__init__.py": b"import ssl\nfor i in range(len(x)):\n    raise ValueError\n",
        "json/decoder.py": b"def main():\n    pass\n",
        "os.py": b"if __name__ == '__main__':\n    main()\n",
        "latin.py": "# -*- coding: latin-1 -*-\nname = 'é'\n".encode("latin-1"),
        "broken.py": b"# \xff\xfe not text\n",
        "site-packages/other.py": b"other\n",
        "json/__pycache__/decoder.py": b"cached\n",
        "notes.txt": b"not a module\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    monkeypatch.setattr(demo, "folder", lambda: root)
    monkeypatch.chdir(tmp_path)
    return root


def test_documents_are_the_librarys_own_modules(library: Path) -> None:
    files = demo.source_files(library)
    documents = {document["module"]: document for document in demo.documents(library, files)}
    assert sorted(documents) == ["json", "json.decoder", "latin", "os"]
    assert set(documents["json"]) == {"text", *FIELDS}
    assert documents["json.decoder"]["package"] == "json"
    assert documents["json.decoder"]["lines"] == 2
    assert documents["latin"]["text"].endswith("'é'\n")
    assert documents["latin"]["size"] == 37


def test_the_running_python_has_a_library() -> None:
    assert any(path.name == "abc.py" for path in demo.source_files(demo.folder()))


def test_demo_tours_every_kind_of_question(library: Path, capsys: Captured) -> None:
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    for number, step in enumerate(STEPS, start=1):
        assert f"\n{number}. {step.says}\nstdlib> {step.statement};\n" in text
    assert "4 documents" in text
    assert text.endswith("  ngramdb python-stdlib.ngdb\n")


def test_the_tour_has_each_kind_of_question() -> None:
    kinds = {type(parse_statement(step.statement)).__name__ for step in STEPS}
    assert kinds == {"Count", "CountDocs", "Prob", "Dist", "Score", "Docs", "Explain", "Show"}


def test_demo_uses_a_demonstration_that_is_there(library: Path, capsys: Captured) -> None:
    assert main(["demo", "my demo.ngdb"]) == 0
    (library / "new.py").write_text("more\n")
    capsys.readouterr()
    assert main(["demo", "my demo.ngdb"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("my demo.ngdb holds the demonstration already")
    assert text.endswith("  ngramdb 'my demo.ngdb'\n")
    with ngramdb.connect("my demo.ngdb") as connection:
        assert connection.corpus("stdlib").n_documents == 4


def test_demo_finishes_what_was_interrupted(library: Path, capsys: Captured) -> None:
    with ngramdb.connect("python-stdlib.ngdb") as connection:
        connection.create_corpus("stdlib")
    assert main(["demo"]) == 0
    assert "4 documents" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["wiki", "stdlib"])
def test_demo_leaves_other_databases_alone(library: Path, capsys: Captured, name: str) -> None:
    with ngramdb.connect("python-stdlib.ngdb") as connection:
        connection.create_corpus(name).append([{"text": "mine", "module": "x"}])
    assert main(["demo"]) == 1
    assert f"not the demonstration: it holds {name}" in capsys.readouterr().err
    with ngramdb.connect("python-stdlib.ngdb") as connection:
        assert connection.corpora() == [name]
        assert connection.corpus(name).n_documents == 1


def test_demo_leaves_other_folders_alone(library: Path, capsys: Captured) -> None:
    assert main(["demo", "lib"]) == 1
    assert "Name another place: ngramdb demo PATH" in capsys.readouterr().err
    assert sorted(path.name for path in library.iterdir())[0] == "broken.py"
