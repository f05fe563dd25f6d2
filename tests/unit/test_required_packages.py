"""The required packages suffice for the main job, and a first use imports only the modules that it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.subwords import write_tokenizer

import ngramdb
from ngramdb.errors import NotSupportedError

SMOKE = Path(__file__).parents[1] / "install"
# Run before anything else: hides every package that no requirement of ngramdb installs.
HIDE = """
import re, sys
from importlib import metadata

def named(requirement):
    return re.sub(r"[-_.]+", "-", re.match(r"[\\w.-]+", requirement)[0]).lower()

kept, new = set(), {"ngramdb"}
while new:
    kept |= new
    asked = [one for name in new for one in metadata.requires(name) or [] if "extra ==" not in one]
    new = {named(one) for one in asked if "platform" not in one} - kept
found = metadata.packages_distributions()
hidden = {top for top, names in found.items() if not {named(name) for name in names} & kept}
hidden -= {name.partition(".")[0] for name in sys.modules}  # as what makes an editable installation work

class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, *rest):
        return None if name.partition(".")[0] in hidden else self.finder.find_spec(name, *rest)

sys.meta_path[:] = map(Hiding, sys.meta_path)
assert {"tokenizers", "pandas", "mcp", "starlette"} <= hidden, hidden
"""


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="which modules a package has is not known to Python 3.10"
)
def test_the_required_packages_do_the_main_job_and_errors_name_the_extras(tmp_path):
    job = f"""
import pathlib, smoke
folder = pathlib.Path({str(tmp_path)!r})
smoke.check_requirements()
smoke.main_job(str(folder / "db"), folder)
smoke.check_extras(str(folder / "db"), folder)
"""
    command = [sys.executable, "-c", HIDE + job]
    environment = {"PYTHONPATH": str(SMOKE), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_corpus_whose_library_is_missing_is_not_called_damaged(tmp_path, monkeypatch):
    path = write_tokenizer(tmp_path / "tokenizer.json")
    with ngramdb.connect(tmp_path / "x.ngdb") as db:
        db.create_corpus("c", tokenizer=str(path)).append(["a rose"])
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    monkeypatch.delitem(sys.modules, "ngramdb.tokenizers.huggingface")
    with (
        ngramdb.connect(tmp_path / "x.ngdb") as db,
        pytest.raises(NotSupportedError, match=r"pip install 'ngramdb\[tokenizers\]'"),
    ):
        db.corpus("c").count("a rose")


def imported_by(code):
    """The modules that a program has imported when it ends."""
    program = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("start") / "small.ngdb"
    with ngramdb.connect(path) as db:
        db.create_corpus("small").append([{"text": "a rose is a rose", "year": 1913}])
        db.execute("SHOW CORPORA").fetchall()  # the parser's tables are kept from now on
    return path


def test_importing_the_package_imports_two_modules_of_it():
    loaded = imported_by("import ngramdb") - imported_by("import functools, importlib.util")
    assert {name for name in loaded if name.startswith("ngramdb")} == {"ngramdb", "ngramdb.lazy"}
    assert loaded.isdisjoint({"numpy", "typing", "threading", "dataclasses", "ast", "json", "pathlib"})


# A COUNT needs none of these, neither as a statement nor on the command line.
LIBRARIES = frozenset(
    ("pyarrow", "pandas", "polars", "rich", "prompt_toolkit", "tokenizers", "zstandard", "lark", "regex")
)
STANDARD = frozenset(
    (
        *("asyncio", "concurrent.futures", "hashlib", "http", "importlib.metadata", "importlib.resources"),
        *("logging", "pathlib", "pickle", "random", "secrets", "socket", "tempfile", "urllib"),
    )
)


@pytest.mark.skipif(sys.flags.dont_write_bytecode, reason="the parser's tables are not kept")
def test_a_first_count_imports_what_it_uses(database):
    numpy = imported_by("import numpy")
    ask = f"import ngramdb; ngramdb.connect({str(database)!r}).execute('COUNT \"rose\"').fetchall()"
    loaded = imported_by(ask) - numpy
    assert loaded & (LIBRARIES | STANDARD) == set()
    ours = {name for name in loaded if name.startswith("ngramdb")}
    assert "ngramdb.questions.count_plan" in ours
    assert len(ours) < 165  # each costs a quarter of a millisecond


def test_a_first_count_compiles_few_expressions(database):
    """Each takes up to two milliseconds; modules on the path of a COUNT have forty."""
    program = f"""
import re, sys, numpy
compiled, real = [], re.compile
def counted(*arguments):
    caller = sys._getframe(1).f_globals["__name__"]
    compiled.extend([caller] if caller.startswith("ngramdb") else [])
    return real(*arguments)
re.compile = counted
import ngramdb
ngramdb.connect({str(database)!r}).execute('COUNT "rose"').fetchall()
print(len(compiled))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 15


@pytest.mark.skipif(sys.flags.dont_write_bytecode, reason="the parser's tables are not kept")
def test_a_count_on_the_command_line_imports_what_it_uses(database):
    arguments = ["ngramdb", str(database), "-c", 'COUNT "rose"']
    loaded = imported_by(f"import ngramdb.cli.main as cli; sys.argv = {arguments!r}; cli.main()")
    others = {"difflib", "shlex", "subprocess"}
    assert (loaded - imported_by("import numpy")) & (LIBRARIES | STANDARD | others) == set()
