"""A reader that is added to the registry of formats is chosen by it, and refused what it does not have."""

from __future__ import annotations

import pytest

from ngramdb import formats
from ngramdb.errors import InvalidArgument
from ngramdb.ingest import reader
from ngramdb.ingest.documents import Document
from ngramdb.ingest.options import check_options, have_fields
from ngramdb.ingest.sources import expand


@pytest.fixture
def rows(monkeypatch):
    """A format of a reader that does not exist."""
    made = formats.Format("rows", (".rows", ".rws"), is_read=True, title="rows", has_fields=True)
    monkeypatch.setattr(formats, "REGISTRY", (*formats.REGISTRY, made))


def formats_of(path):
    return {source.name: source.format for source in expand(path)}


def test_it_is_chosen_by_the_endings_of_files_folders_and_globs(rows, tmp_path):
    (tmp_path / "deep").mkdir()
    for name in ("a.rows", "deep/b.RWS.gz"):
        (tmp_path / name).write_text("x")
    assert formats_of(tmp_path / "a.rows") == {"a.rows": "rows"}
    assert formats_of(tmp_path) == {"a.rows": "rows", "deep/b.RWS.gz": "rows"}
    (tmp_path / "c.txt").write_text("x")
    assert formats_of(tmp_path / "*.*") == {"a.rows": "rows", "c.txt": "text"}
    assert set(formats_of(tmp_path).values()) == {"text"}


def test_what_it_has_decides_which_options_it_takes(rows, tmp_path):
    (tmp_path / "a.rows").write_text("x")
    (tmp_path / "b.txt").write_text("x")
    sources = expand([tmp_path / "a.rows"])
    assert have_fields(sources) and not have_fields(expand([tmp_path / "a.rows", tmp_path / "b.txt"]))
    with pytest.raises(InvalidArgument, match=r"a\.rows is read as rows, which have no separator"):
        check_options({"separator": "---"}, sources)
    check_options({"separator": "---"}, expand([tmp_path / "a.rows", tmp_path / "b.txt"]))


@pytest.mark.parametrize("lines", [(1, 1), (3, 2), (0, 1)])
def test_documents_whose_lines_do_not_ascend_are_noticed(monkeypatch, tmp_path, lines):
    def read(source, options, errors, meter):
        yield from (Document(b"a", None, {}, source.label, line) for line in lines)

    monkeypatch.setitem(reader.READERS, "lines", read)
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    with pytest.raises(RuntimeError, match=r"a\.txt, line \d: the document before is of line \d"):
        list(reader.read_documents(expand(path, "lines")))
