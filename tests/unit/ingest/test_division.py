"""Files divided among n workers: every line once, in order, for any n; the same for every worker."""

from __future__ import annotations

import gzip
import io
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ngramdb.errors import InvalidArgument
from ngramdb.ingest.documents import ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import Source, expand
from ngramdb.ingest.streams import Meter
from ngramdb.ingest.work_splitting import content_digest, divided, is_cut, list_digest


def read(sources, **options):
    documents = read_documents(sources, ReadOptions(**options), ErrorLog(), Meter())
    return [(document.text, dict(document.metadata)) for document in documents]


def divide(folder, n, format=None):
    sources = expand(folder, format)
    return sources, [divided(sources, part, n) for part in range(n)]


def read_parts(parts):
    return [document for pieces in parts for document in read([piece.source for piece in pieces])]


LINES = st.lists(st.sampled_from(["", "x", "a longer line", "BZh91AY&SY", "\x1f\x8b", "y" * 70]), max_size=12)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(LINES, st.booleans(), st.booleans()), min_size=1, max_size=4), st.integers(1, 9))
def test_the_parts_one_after_the_other_are_all_lines(files, n):
    with tempfile.TemporaryDirectory() as folder:
        for i, (lines, is_ended, is_packed) in enumerate(files):
            # Lines beyond the first may begin as compressed data do.
            content = "\n".join(["first", *lines]).encode() + (b"\n" if is_ended else b"")
            path = f"{folder}/{i}.txt.gz" if is_packed else f"{folder}/{i}.txt"
            with open(path, "wb") as file:
                file.write(gzip.compress(content, 1) if is_packed else content)
        sources = expand(folder, "lines")
        assert [is_cut(source) for source in sources] == [not is_packed for _, _, is_packed in files]
        parts = [divided(sources, part, n) for part in range(n)]
        assert read_parts(parts) == read(sources)
        at = [0] * len(sources)
        for piece in (piece for pieces in parts for piece in pieces):
            assert piece.start == at[piece.file] and piece.stop >= piece.start
            at[piece.file] = piece.stop
        assert at == [source.n_bytes for source in sources]


def test_parts_of_one_large_file_are_of_about_equal_size(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"text": "line {i}"}}\n' for i in range(1000)))
    sources, parts = divide(path, 7)
    sizes = [sum(piece.stop - piece.start for piece in pieces) for pieces in parts]
    assert sum(sizes) == sources[0].n_bytes and max(sizes) - min(sizes) < 50
    assert [text for text, _ in read_parts(parts)] == [f"line {i}".encode() for i in range(1000)]


def test_a_file_that_is_not_cut_belongs_to_the_part_that_has_its_middle(tmp_path):
    for name, size in (("a.txt", 60), ("b.txt", 30), ("c.txt", 10), ("d.txt", 0)):
        (tmp_path / name).write_bytes(b"x" * size)
    _, parts = divide(tmp_path, 2)
    assert [[piece.file for piece in pieces] for pieces in parts] == [[0], [1, 2, 3]]
    _, parts = divide(tmp_path, 5)
    assert [[piece.file for piece in pieces] for pieces in parts] == [[], [0], [], [1], [2, 3]]


def test_more_parts_than_lines_leave_some_without_any(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}')
    _, parts = divide(tmp_path, 50)
    assert sum(map(len, parts)) == 2 and [text for text, _ in read_parts(parts)] == [b"one", b"two"]


def test_lines_keep_their_numbers_and_errors_say_where_lines_are_counted_from(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"line {i}\n" for i in range(1, 21)))
    _, parts = divide(tmp_path, 3, "lines")
    assert [metadata["line"] for _, metadata in read_parts(parts)] == list(range(1, 21))
    path = tmp_path / "b.jsonl"
    path.write_text('{"text": "a good line"}\n' * 6 + "no json\n" * 4 + '{"text": "a good line"}\n' * 6)
    sources = expand(path)
    pieces = divided(sources, 1, 2)
    with pytest.raises(Exception, match=r"b\.jsonl from byte 160 on, line 1: "):
        read([piece.source for piece in pieces])


def test_a_byte_order_mark_belongs_to_the_first_line_only(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "one"}\n' + b'\xef\xbb\xbf{"text": "two"}\n')
    sources = expand(path)
    assert read([divided(sources, 0, 2)[0].source])[0][0] == b"one"
    with pytest.raises(Exception, match="line 1"):
        read([divided(sources, 1, 2)[0].source])


def test_a_file_that_has_become_shorter_is_an_error(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one"}\n{"text": "two"}\n')
    pieces = divided(expand(path), 0, 2)
    path.write_text("")
    with pytest.raises(Exception, match="shorter than it was"):
        read([piece.source for piece in pieces])


def test_digests_are_of_names_sizes_and_contents(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    assert list_digest(expand(one)) == list_digest(expand(other))
    pieces = [divided(expand(folder), 1, 2)[0] for folder in (one, other)]
    assert content_digest(pieces[0]) == content_digest(pieces[1])
    assert content_digest(pieces[0]) != content_digest(divided(expand(one), 0, 2)[0])
    (other / "a.jsonl").write_text('{"text": "ones"}\n')
    assert list_digest(expand(one)) != list_digest(expand(other))


def test_what_cannot_be_read_again_is_refused(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(InvalidArgument, match="standard input cannot be read again"):
        divided(expand("-"), 0, 2)
    with pytest.raises(
        InvalidArgument, match="its size, by which files are divided among workers, is unknown"
    ):
        divided([Source("memory://x/a.jsonl", "a.jsonl", "jsonl")], 0, 2)
