"""Web archives that warcio writes: texts are documents, all else is passed over."""

from __future__ import annotations

import gzip
import io

import pytest

from ngramdb.errors import LoadError, ResourceError
from ngramdb.ingest.documents import ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import expand
from ngramdb.ingest.streams import Limits

warcio = pytest.importorskip("warcio")
from warcio.statusandheaders import StatusAndHeaders  # noqa: E402
from warcio.warcwriter import WARCWriter  # noqa: E402

PAGE = "https://a.example/{}"


def archive(records, compressed=True):
    """An archive of (kind, content, content type)."""
    sink = io.BytesIO()
    writer = WARCWriter(sink, gzip=compressed)
    writer.write_record(writer.create_warcinfo_record("x.warc.gz", {"software": "test"}))
    for number, (kind, content, content_type) in enumerate(records):
        http = None
        if kind == "response":
            http = StatusAndHeaders("200 OK", [("Content-Type", content_type)], protocol="HTTP/1.0")
        record = writer.create_warc_record(
            PAGE.format(number),
            kind,
            payload=io.BytesIO(content),
            warc_content_type=content_type,
            http_headers=http,
            warc_headers_dict={"WARC-Identified-Content-Language": "eng"},
        )
        writer.write_record(record)
    return sink.getvalue()


RECORDS = [
    ("conversion", "first ünï\ntext".encode(), "text/plain"),
    ("response", b"<p>html</p>", "text/html"),
    ("response", b"plain page", "text/plain; charset=utf-8"),
    ("conversion", b"", "text/plain"),
    ("resource", b"robots", "text/plain"),
    ("conversion", b"bad \xff", "text/plain"),
]


def documents(path, **options):
    errors = ErrorLog()
    found = list(read_documents(expand(path), ReadOptions(**options), errors))
    return [(one.text, one.metadata["url"], one.line) for one in found], errors


@pytest.mark.parametrize("name", ["a.warc.wet.gz", "a.warc", "a.wet.gz"])
def test_texts_are_documents_with_url_and_date(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(archive(RECORDS, compressed=name.endswith(".gz")))
    expected = [
        ("first ünï\ntext".encode(), PAGE.format(0), 2),
        (b"plain page", PAGE.format(2), 4),
        (b"", PAGE.format(3), 5),
        (b"robots", PAGE.format(4), 6),
    ]
    assert documents(path, limit=4)[0] == expected
    with pytest.raises(LoadError, match=rf"{name}, record 7: invalid UTF-8: byte 0xff at offset 4"):
        documents(path)
    found, errors = documents(path, on_error="skip")
    assert found == expected and errors.count == 1
    (first, *_) = read_documents(expand(path), ReadOptions(limit=1))
    assert set(first.metadata) == {"url", "date", "record_id", "language"}
    (first, *_) = read_documents(expand(path), ReadOptions(limit=1, metadata=("date",)))
    assert set(first.metadata) == {"date"}


def test_a_document_that_is_too_long_is_named(tmp_path):
    (tmp_path / "a.wet").write_bytes(archive(RECORDS[:1], compressed=False))
    with pytest.raises(ResourceError, match="record 2: longer than 8 bytes"):
        documents(tmp_path / "a.wet", limits=Limits(document_bytes=8))
    (tmp_path / "a.wet").write_bytes(archive([RECORDS[0], RECORDS[4]], compressed=False))
    found, errors = documents(tmp_path / "a.wet", limits=Limits(document_bytes=8), on_error="skip")
    assert [one[0] for one in found] == [b"robots"] and errors.count == 1


@pytest.mark.parametrize("compressed", [True, False])
def test_files_cut_short_are_errors(tmp_path, compressed):
    path = tmp_path / ("a.wet.gz" if compressed else "a.wet")
    whole = archive([("conversion", b"word " * 300, "text/plain")], compressed)
    for n in (0, 30, len(whole) // 2, len(whole) - 700 if not compressed else len(whole) - 9, len(whole) - 3):
        path.write_bytes(whole[:n])
        with pytest.raises(LoadError, match=r"a\.wet"):
            documents(path)


def test_what_is_no_archive_or_has_no_text_is_an_error(tmp_path):
    (tmp_path / "a.wet").write_bytes(archive(RECORDS[1:2], compressed=False))
    with pytest.raises(LoadError, match="none of its 2 records contains text; convert pages in HTML"):
        documents(tmp_path / "a.wet")
    (tmp_path / "a.wet.gz").write_bytes(gzip.compress(b'{"text": "a"}\n' * 50))
    with pytest.raises(LoadError, match=r"a\.wet\.gz"):
        documents(tmp_path / "a.wet.gz")


def test_an_empty_file_was_cut_short(tmp_path):
    (tmp_path / "a.warc").write_bytes(b"")
    with pytest.raises(LoadError, match=r"a\.warc: is empty, which a web archive never is"):
        list(read_documents(expand(tmp_path / "a.warc")))
