"""Run by an interpreter that has only the wheel: does the installed package stand on its own?

Usage: python smoke.py PATH-OF-A-NEW-DATABASE. Exits with an AssertionError when something is missing.
"""

import subprocess
import sys
from importlib import resources
from pathlib import Path

import ngramdb


def main(path: str) -> None:
    package = Path(ngramdb.__file__).parent
    assert "site-packages" in str(package), f"not the installed package: {package}"
    assert (package / "py.typed").exists()
    assert (package / "planner" / "plan" / "__init__.pyi").exists(), (
        "stubs, from which names are imported, are missing"
    )
    assert not list(package.rglob("*.pyx")), "sources of kernels are in the wheel"
    assert resources.files("ngramdb.grammar").joinpath("ngramdb.lark").is_file()
    page = package / "serve" / "static"
    assert (page / "index.html").exists() and (page / "views" / "search.js").exists(), "the page is missing"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("small")
        corpus.append(["a rose is a rose is a rose", {"text": "the end", "year": 1913}])
        assert corpus.count("a rose") == 3
        assert db.execute('COUNT DOCS WHERE "the end"').fetchall() == [(1,)]
    command = [sys.executable, "-m", "ngramdb", path, "-c", 'COUNT "is a"', "--format", "tsv"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert printed == "count\n2\n", printed
    print(f"the wheel of ngramdb {ngramdb.__version__} works from {package.name}/ away from the tree")


if __name__ == "__main__":
    main(sys.argv[1])
