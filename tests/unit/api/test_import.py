"""Importing is light: heavy libraries come with what needs them."""

from __future__ import annotations

import subprocess
import sys

import ngramdb

HEAVY = ("numpy", "pyarrow", "lark", "tokenizers", "zstandard", "rich", "prompt_toolkit", "pandas")


def loaded_after(code):
    program = f"import sys\n{code}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return out.stdout.split()


def test_the_package_itself_imports_nothing_heavy():
    assert loaded_after("import ngramdb") == []


def test_questions_need_neither_arrow_nor_faces():
    code = (
        "import ngramdb; db = ngramdb.connect(); db.create_corpus('c'); db.execute('COUNT \"a\"').fetchall()"
    )
    assert set(loaded_after(code)) <= {"numpy", "lark", "zstandard"}


def test_verbs_that_name_a_model_only_do_not_read_the_grammar():
    code = (
        "import ngramdb; c = ngramdb.connect().create_corpus('c'); c.append(['a b']); c.prob('b', given='a');"
        "c.dist_arrays('a', model='INFGRAM'); c.prob_many([[0]], [1], model='kneser_ney')"
    )
    assert "lark" not in loaded_after(code)


def test_a_language_model_is_exported_without_arrow(tmp_path):
    code = (
        "import ngramdb; c = ngramdb.connect().create_corpus('c'); c.append(['a b']);"
        f"c.export_arpa({str(tmp_path / 'c.arpa')!r}, 2)"
    )
    assert set(loaded_after(code)) <= {"numpy", "zstandard"}


def test_every_public_name_is_there():
    for name in ngramdb.__all__:
        assert getattr(ngramdb, name) is not None
    assert set(ngramdb.__all__) <= set(dir(ngramdb))
    assert ngramdb.Error is ngramdb.NgramdbError and ngramdb.apilevel == "2.0"
    try:
        _ = ngramdb.nonsense
    except AttributeError as error:
        assert "nonsense" in str(error)
    else:
        raise AssertionError("a name that does not exist was found")
