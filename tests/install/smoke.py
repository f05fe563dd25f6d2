"""Try the installed package in an interpreter that has only the wheel and the packages that it requires.

Usage: python smoke.py PATH-OF-A-NEW-DATABASE. Exits with an AssertionError when something is missing.
"""

import contextlib
import gzip
import io
import json
import os
import select
import signal
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import ngramdb
from ngramdb.cli import main as cli

REQUIRED = {"lark", "numpy", "prompt_toolkit", "pyarrow", "rich", "zstandard"}
# Calls that need a library of an extra, by the extra: functions of a database and of a folder for files.
EXTRAS = {
    "df": [
        lambda db, folder: db.execute('KWIC "rose"').df(),
        lambda db, folder: db.execute('KWIC "rose"').pl(),
    ],
    "ray": [lambda db, folder: ngramdb.cluster.load(folder / "db", "c", str(folder / "poems.txt"))],
    "remote": [lambda db, folder: db.corpus("small").load("https://localhost/a.txt")],
    "tokenizers": [
        lambda db, folder: db.create_corpus(
            "t", tokenizer=written(folder / "tokenizer.json", b'{"model": {}}')
        ),
        lambda db, folder: db.create_corpus("t", tokenizer=written(folder / "a.model", b"\n\x0e\n\x05<unk>")),
    ],
}
COMMANDS = {"serve": ["serve"], "mcp": ["mcp"]}


def written(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def check_files() -> None:
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


def check_requirements() -> None:
    required = [one for one in metadata.requires("ngramdb") or [] if "extra ==" not in one]
    names = {one.partition(">")[0].strip() for one in required}
    assert names == REQUIRED, names


def main_job(path: str, folder: Path) -> None:
    """Load files of each kind and search them, with the required packages alone."""
    documents = [{"text": "the rose is red", "year": 1900 + i, "tags": ["a"]} for i in range(5)]
    lines = "".join(json.dumps(document) + "\n" for document in documents).encode()
    sources = [
        written(folder / "poems.txt", b"a rose is a rose is a rose\n"),
        written(folder / "years.jsonl", lines),
        written(folder / "more.jsonl.gz", gzip.compress(lines)),
    ]
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("small")
        corpus.load(sources)
        corpus.append([{"text": "the end", "year": 1913}])
        assert corpus.count("a rose") == 3
        ask = lambda statement: db.execute(statement).fetchall()  # noqa: E731
        assert ask('COUNT DOCS WHERE "the end"') == [(1,)]
        assert ask('COUNT "rose" WHERE year >= 1903') == [(4,)]
        assert len(ask('KWIC "a rose" WINDOW 2')) == 3
        assert len(ask("DOCS WHERE year < 1902 ORDER BY year")) == 4
        assert ask('PROB "rose" GIVEN "a"')[0][0] == 1.0
        assert ask('PROB "rose" GIVEN "a" USING KNESER_NEY')[0][0] > 0
    command = [sys.executable, "-m", "ngramdb", path, "-c", 'COUNT "is a"', "--format"]
    for look, answer in (("tsv", "count\n2\n"), ("table", "│     2 │")):
        printed = subprocess.run([*command, look], check=True, capture_output=True, text=True).stdout
        assert answer in printed, printed


def check_prompt(path: str) -> None:
    """A statement typed at the prompt is answered."""
    import pty
    import termios

    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(sys.executable, [sys.executable, "-m", "ngramdb", path, "--no-config"])
    termios.tcsetwinsize(terminal, (24, 80)) if sys.version_info >= (3, 11) else None
    seen, keys = b"", b'COUNT "a rose";\r.quit\r'
    while select.select([terminal], [], [], 30)[0]:
        try:
            seen += os.read(terminal, 4096)
        except OSError:  # the program has ended
            break
        if keys and b">" in seen:
            os.write(terminal, keys)
            keys = b""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert b"count" in seen and b"3" in seen, seen.decode()


def check_extras(path: str, folder: Path) -> None:
    """The error for a missing library names the extra that installs it."""
    with ngramdb.connect(path) as db:
        for extra, asked in EXTRAS.items():
            for ask in asked:
                try:
                    ask(db, folder)
                except ngramdb.Error as error:
                    assert f"pip install 'ngramdb[{extra}]'" in str(error), error
                else:
                    raise AssertionError(f"{extra} is not missing")
    for extra, arguments in COMMANDS.items():
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            assert cli.main([*arguments, path]) != 0
        assert f"pip install 'ngramdb[{extra}]'" in printed.getvalue(), printed.getvalue()


def main(path: str) -> None:
    check_files()
    check_requirements()
    folder = Path(f"{path}.files")
    folder.mkdir()
    main_job(path, folder)
    if os.name == "posix":
        check_prompt(path)
    check_extras(path, folder)
    print(f"the wheel of ngramdb {ngramdb.__version__} works with what it requires alone, away from the tree")


if __name__ == "__main__":
    main(sys.argv[1])
