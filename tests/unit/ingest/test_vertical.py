"""Vertical text: words and structures, as CWB and Sketch Engine write them."""

from __future__ import annotations

import pytest

from ngramdb.errors import LoadError, ResourceError
from ngramdb.ingest.documents import ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import expand
from ngramdb.ingest.streams import Limits

TEXT = """<?xml version="1.0" encoding="UTF-8"?>
<corpus name="x">
<text id="a" year="1930" title="&quot;A&quot; &amp; B">
<p>
<s n="1">
Time\tNN\ttime
flies\tVBZ\tfly
<g/>
.\tSENT\t.
</s>
<s>
A\tDT\ta
&lt;\tSYM\t<
<\tSYM\t<
</s>
</p>
</text>
<text id='b'>
ünï\tX\tx
</text>

<text>
</text>
</corpus>
"""


def documents(tmp_path, text, **options):
    path = tmp_path / "a.vrt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    errors = ErrorLog()
    found = list(read_documents(expand(path), ReadOptions(**options), errors))
    return [(one.text.decode(), one.metadata, one.line) for one in found], errors


def test_structures_are_documents_and_their_attributes_metadata(tmp_path):
    for text in (TEXT, TEXT.replace("\n", "\r\n")):
        found, _ = documents(tmp_path, text)
        assert found == [
            ("Time flies.\nA < <", {"id": "a", "year": 1930, "title": '"A" & B'}, 3),
            ("ünï", {"id": "b"}, 18),
            ("", {}, 22),
        ]
    assert [one[1] for one in documents(tmp_path, TEXT, metadata=("id",))[0]] == [
        {"id": "a"},
        {"id": "b"},
        {},
    ]
    renamed = TEXT.replace("<text", "<doc").replace("</text", "</doc")
    assert documents(tmp_path, renamed)[0] == documents(tmp_path, TEXT)[0]


BAD = {
    "outside": ("word\tX\n<text>\na\n</text>\n", 1, "the word 'word' is outside any structure"),
    "no end": ("<text>\na\n</text>\n<text>\nb\n", 4, "missing end of <text>: the file was cut short"),
    "bytes": (b"<text>\na\n\xff\n</text>\n<text>\na\n</text>\n", 3, "invalid UTF-8"),
}


@pytest.mark.parametrize("text, line, message", BAD.values(), ids=BAD)
def test_what_is_no_vertical_text_is_named_or_skipped(tmp_path, text, line, message):
    with pytest.raises(LoadError, match=rf"a\.vrt, line {line}: {message}"):
        documents(tmp_path, text)
    found, errors = documents(tmp_path, text, on_error="skip")
    assert [one[0] for one in found] == ["a"] and errors.count == 1


def test_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "a.vrt"
    path.write_bytes(b'\xef\xbb\xbf<text id="1">\nfoo\n</text>\n')
    (document,) = read_documents(expand([path]), ReadOptions(), ErrorLog())
    assert (document.text, document.metadata["id"]) == (b"foo", 1)


def test_a_document_that_is_too_long_is_refused_or_skipped(tmp_path):
    limits = Limits(document_bytes=8)
    text = "<text>\n" + "word\n" * 9 + "</text>\n<text>\nb\n</text>\n"
    with pytest.raises(ResourceError, match="line 1: longer than 8 bytes"):
        documents(tmp_path, text, limits=limits)
    found, errors = documents(tmp_path, text, limits=limits, on_error="skip")
    assert [one[0] for one in found] == ["b"] and errors.count == 1


@pytest.mark.parametrize("tag", ["<text a=b>", '<text a="1" b>', "<text a='1\">", '<text a="1"" b="2">'])
def test_attributes_that_are_not_in_quotes_are_errors_and_none_is_left_out(tmp_path, tag):
    text = f'<text id="0">\nx\n</text>\n{tag}\ny\n</text>\n<text id="2">\nz\n</text>\n'
    with pytest.raises(LoadError, match=r"line 4: .* is not an attribute; write name=\"value\""):
        documents(tmp_path, text)
    found, errors = documents(tmp_path, text, on_error="skip")
    assert [(one[0], one[1]) for one in found] == [("x", {"id": 0}), ("z", {"id": 2})]
    assert errors.count == 1


@pytest.mark.parametrize(
    "tag", ['<s title="1 > 0">', "<err sic='<3'>", '<corr orig="->" n="1">', "<s a='\"'>"]
)
def test_values_in_quotes_may_have_what_tags_are_made_of(tmp_path, tag):
    text = f'<text t="a > b">\nx\n{tag}\ny\n</{tag[1:].split()[0]}>\n</text>\n'
    found, _ = documents(tmp_path, text)
    assert found == [("x\ny", {"t": "a > b"}, 1)]


def test_an_empty_tag_is_a_document_where_it_is_known_to_be_one(tmp_path):
    text = '<text id="1">\nx\n</text>\n<pb n="2"/>\n<text id="2"/>\n<text id="3">\n</text>\n'
    found, _ = documents(tmp_path, text)
    assert found == [("x", {"id": 1}, 1), ("", {"id": 2}, 5), ("", {"id": 3}, 6)]
    found, _ = documents(tmp_path, '<pb/>\n<text id="3">\nx\n</text>\n')
    assert [one[0] for one in found] == ["x"]


def test_an_empty_tag_before_it_is_known_what_documents_are_is_an_error_if_it_was_one(tmp_path):
    text = '<pb/>\n<text id="2"/>\n<text id="3">\nx\n</text>\n<text id="4"/>\n'
    with pytest.raises(LoadError, match="line 2: <text/> is a document without words"):
        documents(tmp_path, text)
    found, errors = documents(tmp_path, text, on_error="skip")
    assert [(one[0], one[1]["id"]) for one in found] == [("x", 3), ("", 4)] and errors.count == 1


def test_attributes_have_types_if_all_documents_have_values_of_these(tmp_path):
    rows = [
        {"n": "1961", "x": "1.5", "b": "true", "code": "007", "mixed": "1", "gap": ""},
        {"n": "-2", "x": "NaN", "b": "False", "code": "8", "mixed": "a", "gap": "3"},
    ]
    tags = ["<text " + " ".join(f'{key}="{value}"' for key, value in row.items()) + ">" for row in rows]
    text = "".join(f'{tag}\n<s n="x">\n<text n="inner">\na\n</text>\n</s>\n</text>\n' for tag in tags)
    found, errors = documents(tmp_path, text)
    assert [one[1] for one in found] == [
        {"n": 1961, "x": 1.5, "b": True, "code": "007", "mixed": "1", "gap": None},
        {"n": -2, "x": None, "b": False, "code": "8", "mixed": "a", "gap": 3},
    ]
    assert [type(value) for value in found[0][1].values()] == [int, float, bool, str, str, type(None)]
    assert ["first column" in remark for remark in errors.remarks] == [True]


def test_the_limit_counts_the_text_and_not_the_other_columns(tmp_path):
    text = "<text>\nword\tlemma\ttag\nword\tlemma\ttag\n</text>\n"
    assert documents(tmp_path, text, limits=Limits(document_bytes=9))[0][0][0] == "word word"
    with pytest.raises(ResourceError, match="line 1: longer than 8 bytes"):
        documents(tmp_path, text, limits=Limits(document_bytes=8))
