"""Every line of JSON is a document or an error that names the problem, its place and its reason."""

from __future__ import annotations

import gzip
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb.errors import InvalidArgument, LoadError, ResourceError
from ngramdb.ingest.documents import ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.readers.jsonl import LineParser
from ngramdb.ingest.sources import expand
from ngramdb.ingest.streams import Limits, Meter


def documents(tmp_path, data, errors=None, **options):
    path = tmp_path / "docs.jsonl"
    path.write_bytes(data)
    return list(read_documents(expand(path), ReadOptions(**options), errors))


def parsed(line, **options):
    return LineParser(ReadOptions(**options)).parse(line, "x", 1)


def refused(line, **options):
    with pytest.raises(LoadError) as caught:
        parsed(line, **options)
    return caught.value.message


def test_text_and_metadata_come_as_they_are(tmp_path):
    data = '{"text": "Grüße\\u0000\\n", "id": 7, "meta": {"lang": "de", "x": null}}\n'.encode()
    (document,) = documents(tmp_path, data)
    assert document.text == "Grüße\0\n".encode()
    assert document.ids is None
    assert document.metadata == {"id": 7, "meta": {"lang": "de", "x": None}}
    assert (document.source, document.line) == (str(tmp_path / "docs.jsonl"), 1)


def test_blank_lines_a_byte_order_mark_and_carriage_returns_are_passed_over(tmp_path):
    data = b'\xef\xbb\xbf{"text": "a"}\r\n\n  \t\r\n{"text": ""}\n{"text": "c"}'
    found = documents(tmp_path, data)
    assert [(d.text, d.line) for d in found] == [(b"a", 1), (b"", 4), (b"c", 5)]


def test_a_file_that_begins_with_a_mark_alone_is_empty(tmp_path):
    assert documents(tmp_path, b"\xef\xbb\xbf\n") == []
    assert documents(tmp_path, b"") == []


def test_the_text_may_lie_deeper(tmp_path):
    data = b'{"article": {"body": "x", "title": "t"}, "a.b": "literal", "only": {"in": 1}}\n'
    (document,) = documents(tmp_path, data, text_field="article.body")
    assert document.text == b"x"
    assert document.metadata == {"article": {"title": "t"}, "a.b": "literal", "only": {"in": 1}}
    (document,) = documents(tmp_path, data, text_field="a\\.b", metadata=())
    assert (document.text, document.metadata) == (b"literal", {})
    assert documents(tmp_path, b'{"a": {"b": "x"}}', text_field="a.b")[0].metadata == {}


def test_only_the_metadata_asked_for_are_kept():
    line = b'{"text": "x", "a": 1, "b": {"c": 2, "d": 3}, "e": 4}'
    assert parsed(line).metadata == {"a": 1, "b": {"c": 2, "d": 3}, "e": 4}
    assert parsed(line, metadata=()).metadata == {}
    assert parsed(line, metadata=("b.c", "e", "missing", "a.x")).metadata == {"b": {"c": 2}, "e": 4}
    assert parsed(line, metadata=("b", "b.d")).metadata == {"b": {"c": 2, "d": 3}}


def test_of_a_key_that_comes_twice_the_last_counts():
    document = parsed(b'{"text": "a", "n": 1, "text": "b", "n": 2}')
    assert (document.text, document.metadata) == (b"b", {"n": 2})


@given(
    st.dictionaries(
        st.text(),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=6,
        ),
    ),
    st.text(),
    st.booleans(),
)
def test_any_json_object_with_a_text_is_a_document(metadata, text, ascii_only):
    metadata.pop("text", None)
    line = json.dumps({**metadata, "text": text}, ensure_ascii=ascii_only).encode()
    document = parsed(line)
    assert document.text == text.encode()
    assert document.metadata == metadata


def test_token_ids_are_read_from_their_field():
    document = parsed(b'{"ids": [0, 5, 4294967295], "text": "kept", "n": 1}', ids_field="ids")
    assert document.text is None
    assert document.ids.dtype == np.uint32
    assert document.ids.tolist() == [0, 5, 2**32 - 1]
    assert document.metadata == {"text": "kept", "n": 1}
    assert parsed(b'{"t": {"ids": []}}', ids_field="t.ids").ids.tolist() == []


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ("[1, -1]", "item 1 (from 0): -1; a token id must be an integer from 0 to 4294967295"),
        ("[4294967296]", "item 0 (from 0): 4294967296;"),
        ("[1, 2, 1.0]", "item 2 (from 0): the number 1.0;"),
        ("[true]", "item 0 (from 0): true;"),
        ('[1, "2"]', "item 1 (from 0): the string '2';"),
        ("[[1]]", "item 0 (from 0): an array of 1 item;"),
        ('"1 2"', "holds the string '1 2', not a list of token ids"),
        ("null", "holds null, not a list of token ids"),
        ("1" + "0" * 100, "holds the number 10000"),
    ],
)
def test_what_is_no_list_of_token_ids_is_refused(ids, message):
    assert message in refused(b'{"ids": %s}' % ids.encode(), ids_field="ids")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"text": "a" "b": 1}', "column 14: expecting ',' delimiter, near '{\"text\": \"a\" \"b\": 1}'"),
        (b'{"text": "a"', "malformed JSON at column 13: expecting ',' delimiter, near"),
        (b'{"text": "a"} x', "malformed JSON at column 15: extra data, near"),
        (b"{'text': 'a'}", "malformed JSON at column 2: expecting property name"),
        (b'{"text": "tab\there"}', "malformed JSON at column 14: invalid control character"),
        (b'{"text": "a\xff"}', "invalid UTF-8: byte 0xff at offset 11 of the line (invalid start byte)"),
        (b'{"text": "a", "x": "\xed\xa0\x80"}', "invalid UTF-8: byte 0xed at offset 20"),
        (b'["text"]', "expected a JSON object with a field for the text, found an array of 1 item"),
        (b'"text"', "found the string 'text'"),
        (b"12.5", "found the number 12.5"),
        (b"null", "found null"),
        (b"{}", "no field 'text': the object is empty"),
        (b'{"txt": "a", "meta": {"id": 3}}', "(did you mean 'txt'?); the fields are 'txt', 'meta.id'"),
        (b'{"text": null}', "field 'text' holds null, not a string"),
        (b'{"text": 3}', "field 'text' holds the number 3, not a string"),
        (b'{"text": ["a", "b"]}', "field 'text' holds an array of 2 items, not a string"),
        (b'{"text": {"a": 1}}', "field 'text' holds an object, not a string"),
        (b'{"text": "a", "x": NaN}', "NaN is not a JSON value"),
        (b'{"text": "a", "x": [-Infinity]}', "-Infinity is not a JSON value"),
        (b'{"text": "a", "x": 1e999}', "the number 1e999 is beyond the range of a 64-bit float"),
        (b'{"text": "ab\\ud800"}', "field 'text' has an unpaired surrogate \\ud800 at character 2"),
        (b'{"text": "a", "x": {"y": ["\\uDFFFz"]}}', "'x' has an unpaired surrogate \\udfff at character 0"),
        (b'{"text": "a", "\\ud912": 1}', "has an unpaired surrogate \\ud912"),
        (b'{"text": "a", "x": ' + b"[" * 150 + b"]" * 150 + b"}", "field 'x' is nested more than 100 levels"),
        (b'{"text": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"text": "a", "x": ' + b"9" * 5000 + b"}", "a number with too many digits"),
    ],
)  # fmt: skip
def test_what_is_no_document_is_refused_with_the_reason(line, message):
    assert message in refused(line)


def test_an_array_of_documents_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(LoadError, match=r"line 1: .*an array of 1 item; `jq -c '\.\[\]'` writes each item"):
        documents(tmp_path, b'[{"text": "a"}]')


def test_surrogate_pairs_and_escaped_backslashes_are_text():
    document = parsed(b'{"text": "\\ud83d\\ude00", "x": "\\\\ud800"}')
    assert (document.text, document.metadata) == ("😀".encode(), {"x": "\\ud800"})


def test_brackets_in_the_text_are_no_nesting():
    line = json.dumps({"text": "[{" * 500, "x": [1]}).encode()
    assert parsed(line).metadata == {"x": [1]}


def test_the_message_stays_short_whatever_the_line():
    assert len(refused(b'{"text": "' + b"x" * 100_000)) < 200
    assert len(refused(json.dumps("x" * 100_000).encode())) < 200


def test_an_error_names_file_and_line_and_nothing_behind_it_is_read(tmp_path):
    data = b'{"text": "a"}\n\n{"text": 1}\n{"text": "b"}\n'
    stream = read_documents(expand(_written(tmp_path, data)))
    assert next(stream).text == b"a"
    with pytest.raises(LoadError) as caught:
        next(stream)
    assert (caught.value.source, caught.value.line) == (str(tmp_path / "docs.jsonl"), 3)
    assert (
        str(caught.value) == f"{tmp_path}/docs.jsonl, line 3: field 'text' holds the number 1, not a string"
    )


def _written(tmp_path, data, name="docs.jsonl"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"text": "a"}\n{"text": "b', "line 2: the file ends in the middle of this line: malformed JSON"),
        ('{"text": "é'.encode()[:-1], "line 1: the file ends in the middle of this line: invalid UTF-8"),
        # Old Macintosh line ends, or two objects on a line: no more text could mend that.
        (b'{"text": "a"}\r{"text": "b"}\r', "line 1: malformed JSON at column 15: extra data"),
        (b"[\n", "line 1: the JSON value continues on the next line"),
        (b'{\n  "text": "a"\n}', "line 1: the JSON value continues on the next line"),
        ('{"text": "a"}\n'.encode("utf-16"), "line 1: is encoded in UTF-16"),
    ],
)
def test_what_is_wrong_with_the_whole_file_is_said(tmp_path, data, message):
    with pytest.raises(LoadError) as caught:
        documents(tmp_path, data)
    assert message in str(caught.value)


def test_skipped_lines_are_counted_and_the_first_reasons_kept(tmp_path):
    good, bad = b'{"text": "a"}\n', b'{"text": 1}\n'
    errors = ErrorLog()
    found = documents(tmp_path, (good + bad) * 7 + b'{"text": "cut', errors, on_error="skip")
    assert [d.line for d in found] == [1, 3, 5, 7, 9, 11, 13]
    assert errors.count == 8
    assert len(errors.reasons) == 5
    assert (
        errors.reasons[1] == f"{tmp_path}/docs.jsonl, line 4: field 'text' holds the number 1, not a string"
    )


def test_damaged_compressed_data_end_a_file_and_with_skip_not_the_load(tmp_path):
    lines = b"".join(b'{"text": "line %d"}\n' % i for i in range(3000))
    cut = _written(tmp_path, gzip.compress(lines)[:-1000], "a.jsonl.gz")
    whole = _written(tmp_path, b'{"text": "last"}\n', "b.jsonl")
    with pytest.raises(LoadError, match=r"a\.jsonl\.gz, line .*cut short"):
        list(read_documents(expand([cut, whole])))
    errors = ErrorLog()
    found = list(read_documents(expand([cut, whole]), ReadOptions(on_error="skip"), errors))
    assert found[-1].text == b"last"
    assert 0 < len(found) < 3001
    assert all(d.text == b"line %d" % i for i, d in enumerate(found[:-1]))
    assert errors.count == 1


def test_a_missing_file_ends_the_load_even_with_skip(tmp_path):
    sources = expand(_written(tmp_path, b""))
    (tmp_path / "docs.jsonl").unlink()
    with pytest.raises(LoadError, match="cannot be read"):
        list(read_documents(sources, ReadOptions(on_error="skip")))


def test_a_document_beyond_the_limit_of_bytes_ends_the_load_or_is_skipped(tmp_path):
    lines = [b'{"text": "%s"}' % (b"x" * n) for n in (1, 60, 2, 1 << 18, 1 << 20, 3)]
    data = b"\n".join(lines)
    limits = Limits(document_bytes=50)
    with pytest.raises(ResourceError, match=r"docs\.jsonl, line 2: longer than 50 bytes"):
        documents(tmp_path, data, limits=limits)
    errors = ErrorLog()
    found = list(
        read_documents(expand(_written(tmp_path, data)), ReadOptions(on_error="skip", limits=limits), errors)
    )
    assert [(d.text, d.line) for d in found] == [(b"x", 1), (b"xx", 3), (b"xxx", 6)]
    assert errors.count == 3
    assert [reason.split(": ")[0][-6:] for reason in errors.reasons] == ["line 2", "line 4", "line 5"]


@pytest.mark.parametrize(
    ("limit", "expected"), [(0, []), (2, ["a1", "a2"]), (3, ["a1", "a2", "b1"]), (9, None)]
)
def test_the_limit_counts_documents_over_all_files(tmp_path, limit, expected):
    for name in "ab":
        _written(tmp_path, b'{"text": "%b1"}\n{"text": "%b2"}\n' % ((name.encode(),) * 2), f"{name}.jsonl")
    found = read_documents(expand(tmp_path), ReadOptions(limit=limit))
    assert [d.text.decode() for d in found] == (
        expected if expected is not None else ["a1", "a2", "b1", "b2"]
    )


def test_nothing_behind_the_limit_is_looked_at(tmp_path):
    assert len(documents(tmp_path, b'{"text": "a"}\nnonsense\n', limit=1)) == 1


def test_the_meter_tells_how_much_was_read(tmp_path):
    path = _written(tmp_path, gzip.compress(b'{"text": "a"}\n' * 100))
    meter = Meter()
    sources = expand([path, path])
    list(read_documents(sources, meter=meter))
    assert meter.bytes_read == sum(source.n_bytes for source in sources)


def test_reading_takes_memory_for_a_line_and_not_for_the_file(tmp_path):
    line = json.dumps({"text": "word " * 2000}).encode() + b"\n"
    path = _written(tmp_path, gzip.compress(line * 3000, compresslevel=1), "big.jsonl.gz")
    tracemalloc.start()
    try:
        n_bytes = sum(len(d.text) for d in read_documents(expand(path)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n_bytes == 30_000_000
    assert peak < 2_000_000


def test_a_document_of_fifty_megabytes_is_a_document_like_any_other(tmp_path):
    path = _written(tmp_path, b'{"text": "%b"}\n{"text": "next"}\n' % (b"0123456789" * 5_000_000))
    assert [len(d.text) for d in read_documents(expand(path))] == [50_000_000, 4]


@pytest.mark.parametrize(
    "options",
    [
        {"on_error": "ignore"},
        {"limit": -1},
        {"metadata": "source"},
        {"separator": "a\nb"},
        {"limits": Limits(document_bytes=0)},
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(InvalidArgument):
        ReadOptions(**options)


def test_lines_that_are_too_long_for_memory_are_refused_whatever_their_text(tmp_path):
    data = b'{"text": "a", "other": "%s"}\n{"text": "b"}\n' % (b"x" * 100)
    limits = Limits(document_bytes=10, line_bytes=50)
    with pytest.raises(ResourceError, match=r"docs\.jsonl, line 1: longer than 50 bytes"):
        documents(tmp_path, data, limits=limits)
    errors = ErrorLog()
    assert [d.text for d in documents(tmp_path, data, errors, limits=limits, on_error="skip")] == [b"b"]
    assert errors.count == 1
