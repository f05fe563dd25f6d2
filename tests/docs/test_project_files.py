"""The facts in the files at the top of the tree agree with the project."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

import ngramdb

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

# LICENSE-2.0.txt as https://www.apache.org/licenses/ publishes it.
APACHE_2_SHA256 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"


def field(name: str) -> str:
    """Return the value of a one-line field of CITATION.cff."""
    found = re.search(rf"^{name}: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, name
    return found[1].strip('"')


def packages(table: str) -> set[str]:
    """The names of the packages in a list of pyproject.toml, with those of the extras that it names."""
    found = re.search(rf"^{table} = \[(.*?)\]$", PYPROJECT, re.MULTILINE | re.DOTALL)
    assert found is not None, table
    extras = re.findall(r'"ngramdb\[(.*?)\]"', found[1])
    inner = (packages(extra) for names in extras for extra in names.split(","))
    return set(re.findall(r'"([A-Za-z_]+)', found[1])).union(*inner)


def test_the_license_is_the_apache_license_word_for_word() -> None:
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2_SHA256


def test_the_package_states_its_license_and_its_authors() -> None:
    installed = metadata.metadata("ngramdb")
    assert installed["License-Expression"] == field("license") == "Apache-2.0"
    assert installed["Author"] == "The ngramdb authors"
    assert '  - name: "The ngramdb authors"' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    names = [file.name for file in metadata.files("ngramdb") or () if "dist-info" in str(file)]
    assert "LICENSE" in names


def test_no_address_is_published_before_it_is_filled_in() -> None:
    urls = metadata.metadata("ngramdb").get_all("Project-URL") or []
    assert [url for url in urls if "…" in url or "example" in url] == []


def test_every_file_names_the_same_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changes, re.MULTILINE)
    assert newest is not None
    assert {ngramdb.__version__, field("version"), newest[1]} == {metadata.version("ngramdb")}


def imported(path: Path) -> set[str]:
    """The packages that a file imports at its top, and so cannot do without."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module.partition(".")[0])
    return found


# tests/peers skip themselves where what they compare with is missing.
@pytest.mark.parametrize(
    "folder", sorted(p.name for p in TESTS.iterdir() if p.is_dir() and p.name != "peers")
)
def test_the_extra_has_what_tests_import(folder: str) -> None:
    ours = {path.stem for path in TESTS.rglob("*.py")} | {"ngramdb", "support", "tools"}
    here = packages("dependencies") | packages("test") | set(sys.stdlib_module_names) | ours
    for path in (TESTS / folder).rglob("*.py"):
        assert imported(path) - here == set(), path


def of_the_project(folder: Path = ROOT) -> Iterator[Path]:
    """The files of the tree, without what tools, builds and hidden folders put there."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            is_hidden = path.name.startswith(".") and path.name not in (".ci", ".github")
            if not is_hidden and path.name not in ("build", "dist", "__pycache__"):
                yield from of_the_project(path)
        else:
            yield path


def conflicts(text: bytes) -> list[int]:
    """The lines in which a merge left its marks, from 1."""
    marks = re.compile(rb"(<{7}|>{7}|\|{7})( |$)")
    return [number for number, line in enumerate(text.splitlines(), start=1) if marks.match(line)]


def test_no_file_has_marks_of_a_conflict() -> None:
    files = list(of_the_project())
    assert ROOT / "CONTRIBUTING.md" in files and Path(__file__) in files and len(files) > 500
    found = {str(path.relative_to(ROOT)): conflicts(path.read_bytes()) for path in files}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_marks_of_a_conflict_are_seen() -> None:
    ours, theirs = b"<" * 7 + b" HEAD", b">" * 7 + b" 1234567 (Subject)"
    assert conflicts(b"\n".join((b"a", ours, b"b", b"=" * 7, b"c", theirs, b"<<<<<<", b"d"))) == [2, 6]
