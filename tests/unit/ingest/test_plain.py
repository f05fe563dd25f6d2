"""Plain text is kept byte for byte, a document a file or between separators."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb.errors import LoadError, ResourceError
from ngramdb.ingest.documents import ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import expand
from ngramdb.ingest.streams import Limits


def documents(tmp_path, data, errors=None, **options):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    return list(read_documents(expand(path), ReadOptions(**options), errors))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plain")


def texts(tmp_path, data, separator="<doc>"):
    return [d.text for d in documents(tmp_path, data, separator=separator)]


@pytest.mark.parametrize("data", [b"", b"a\r\nb", b"\na\n\n", "Grüße \0\n".encode()])
def test_a_file_is_a_document_byte_for_byte(tmp_path, data):
    (document,) = documents(tmp_path, data)
    assert document.text == data
    assert document.metadata == {"path": "a.txt", "size": len(data)}
    assert (document.source, document.line) == (str(tmp_path / "a.txt"), None)


def test_files_of_a_folder_are_named_from_the_folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.txt.gz").write_bytes(gzip.compress(b"hello"))
    (tmp_path / "a.txt").write_bytes(b"x")
    found = list(read_documents(expand(tmp_path)))
    assert [d.metadata for d in found] == [
        {"path": "a.txt", "size": 1},
        {"path": "sub/b.txt.gz", "size": 5},
    ]


def test_only_the_metadata_asked_for_are_kept(tmp_path):
    assert documents(tmp_path, b"x", metadata=())[0].metadata == {}
    assert documents(tmp_path, b"x", metadata=("size", "no"))[0].metadata == {"size": 1}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a\nb\n", [b"a\nb\n"]),
        (b"a\n<doc>\nb\n", [b"a\n", b"b\n"]),
        (b"a\n<doc>\nb", [b"a\n", b"b"]),
        (b"<doc>\na\n<doc>\nb\n<doc>\n", [b"a\n", b"b\n"]),
        (b"<doc>\na\n<doc>", [b"a\n"]),
        (b"a\n<doc>\n<doc>\nb\n", [b"a\n", b"", b"b\n"]),
        (b"<doc>\n<doc>\n", [b""]),
        (b"<doc>", []),
        (b"a\r\n<doc>\r\nb\r\n", [b"a\r\n", b"b\r\n"]),
        (b"a <doc>\n<doc> \n<DOC>\n", [b"a <doc>\n<doc> \n<DOC>\n"]),
        (b"\n\n<doc>\n\n", [b"\n\n", b"\n"]),
    ],
)
def test_documents_stand_between_separator_lines(tmp_path, data, expected):
    assert texts(tmp_path, data) == expected


def test_a_byte_order_mark_is_no_part_of_a_line(tmp_path):
    assert texts(tmp_path, b"\xef\xbb\xbf<doc>\na\n<doc>\nb\n") == [b"a\n", b"b\n"]
    assert texts(tmp_path, b"\xef\xbb\xbfa\n<doc>\nb\n") == [b"a\n", b"b\n"]
    assert documents(tmp_path, b"\xef\xbb\xbfa")[0].text == b"a"


def test_an_empty_line_may_be_the_separator(tmp_path):
    assert texts(tmp_path, b"a\nb\n\nc\r\n\r\nd\n", separator="") == [b"a\nb\n", b"c\r\n", b"d\n"]


@given(
    st.lists(st.sampled_from([b"a\n", b"\n", b"b\r\n", b"xx\n"]), max_size=12),
    st.sampled_from([b"", b"tail"]),
)
def test_separators_and_documents_make_up_the_file(folder, lines, tail):
    data = b"".join(lines) + tail
    found = documents(folder, data, separator="xx")
    inner = data.removeprefix(b"xx\n")
    if data != b"xx\n":
        inner = inner.removesuffix(b"xx\n")
    assert b"xx\n".join(d.text for d in found) == inner
    for document in found:
        if document.text:
            assert document.text.split(b"\n")[0] == data.split(b"\n")[document.line - 1]


@pytest.mark.parametrize("separator", [None, "<doc>"])
def test_invalid_utf8_is_an_error_with_line_and_offset(tmp_path, separator):
    with pytest.raises(LoadError, match="invalid UTF-8: byte 0xff at offset 2 of the line") as caught:
        documents(tmp_path, b"a\n<doc>\nb\nab\xff\n", separator=separator)
    assert caught.value.line == 4


def test_a_document_that_is_no_utf8_can_be_skipped(tmp_path):
    errors = ErrorLog()
    found = documents(tmp_path, b"a\n<d>\n\xff\n<d>\nc\n", errors, separator="<d>", on_error="skip")
    assert [(d.text, d.line) for d in found] == [(b"a\n", 1), (b"c\n", 5)]
    assert errors.count == 1
    assert "a.txt, line 3: invalid UTF-8" in errors.reasons[0]


def test_damaged_compressed_data_can_be_skipped(tmp_path):
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"hello" * 99)[:-3])
    (tmp_path / "b.txt").write_bytes(b"whole")
    with pytest.raises(LoadError, match="cut short"):
        list(read_documents(expand(tmp_path)))
    errors = ErrorLog()
    found = list(read_documents(expand(tmp_path), ReadOptions(on_error="skip"), errors))
    assert [d.text for d in found] == [b"whole"]
    assert errors.count == 1


@pytest.mark.parametrize("separator", [None, "<doc>"])
def test_a_document_of_many_lines_beyond_the_limit_is_stopped(tmp_path, separator):
    limits = Limits(document_bytes=100)
    assert documents(tmp_path, b"123456789\n" * 10, separator=separator, limits=limits)[0].text
    with pytest.raises(ResourceError, match="a document of more than 100 bytes"):
        documents(tmp_path, b"123456789\n" * 11, separator=separator, limits=limits)


@pytest.mark.parametrize("n_bytes", [101, 1 << 18, 3 << 18])
@pytest.mark.parametrize("ends", [b"", b"\n", b"\n<doc>", b"\n<doc>\n"])
def test_documents_beyond_the_limit_are_skipped_whole(tmp_path, n_bytes, ends):
    options = ReadOptions(on_error="skip", separator="<doc>", limits=Limits(document_bytes=100))
    monster = b"before\n" + b"x" * n_bytes + b"\nbehind"
    many = b"123456789\n" * 11
    path = tmp_path / "a.txt"
    path.write_bytes(
        b"one\n<doc>\n" + monster + b"\n<doc>\ntwo\n<doc>\n" + many + b"<doc>\n" + monster + ends
    )
    errors = ErrorLog()
    found = list(read_documents(expand(path), options, errors))
    assert [(d.text, d.line) for d in found] == [(b"one\n", 1), (b"two\n", 7)]
    assert errors.count == 3
    assert [reason.split(": ")[0].split()[-1] for reason in errors.reasons] == ["3", "9", "21"]
    path.write_bytes(b"x" * n_bytes)
    assert not list(read_documents(expand(path), ReadOptions(on_error="skip", limits=options.limits), errors))
    assert errors.count == 4


def lines(tmp_path, data, **options):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    return list(read_documents(expand(path, "lines"), ReadOptions(**options)))


def test_a_line_is_a_document_without_its_end_and_blank_ones_are_passed_over(tmp_path):
    found = lines(tmp_path, b"one\n\n two \r\n \t\nthree")
    assert [(d.text, d.line, d.metadata) for d in found] == [
        (b"one", 1, {"path": "a.txt", "line": 1}),
        (b" two ", 3, {"path": "a.txt", "line": 3}),
        (b"three", 5, {"path": "a.txt", "line": 5}),
    ]
    assert [d.text for d in lines(tmp_path, b"a\nb\nc\n", limit=2)] == [b"a", b"b"]
    with pytest.raises(LoadError, match=r"a\.txt, line 2: invalid UTF-8"):
        lines(tmp_path, b"a\n\xff\n")
