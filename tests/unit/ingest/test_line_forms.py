"""Lines of JSON come back byte for byte from what is stored of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.ingest.readers.lines import FormFinder, line_of

LINES = [
    '{"text": "a b", "id": 1}',
    '{"id": 1, "text": "a b"}',
    '{"id":1,"text":"naïve"}',
    '{"id": 1, "text": "na\\u00efve"}',
    '{"id": 1, "text": "naïve"}',
    '{ "id" : 1.50, "text" : "a" }',
    '{"text": "a", "n": null, "m": {"x": null, "y": {}}}',
    '{"text": "a", "n": 1e3}',
    '{"text": "a", "n": 1.0, "k": -0.0, "big": 123456789012345678901234567890}',
    '{"text": "a", "list": [1, null, {"b": null, "a": 2.5}], "flag": true}',
    '{"text": "a", "a.b": {"c\\\\d": 1}}',
    '{"text": "", "x": 5}',
    '{"text": "x", "x": "x", "y":"x"}',
    '{"x": "the", "text":"the\\u2028end" , "x": 2}',
    '{"text": "slash \\/ here"}',
    '{"text": "a", "text": "b"}',
    '{"text": "a\\\\", "text": "b"}',
    '{"text": "quotes \\" and \\\\ and \\n \\t \\\\n"}',
    '{"text": "a\\u000a"}',
    '{"text": "\\u00E9"}',
    '{"text": "\\u0001 x"}',
    '{"m": "ngramdb: the text", "text": "ngramdb: the text"}',
    '{"text": "ends in a backslash \\\\"}',
    '{"text": "\\\\/"}',
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_comes_back_from_its_form(line):
    record = json.loads(line)
    form = FormFinder().find(line.encode(), record, ("text",), False)
    metadata = {key: value for key, value in record.items() if key != "text"}
    assert line_of(form, metadata, record["text"], None) == line.encode()


@pytest.mark.parametrize("separators", [None, (",", ":")])
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_a_line_with_any_character_in_its_text_comes_back(ensure_ascii, separators):
    """Also one that it must escape: as JSON has it, or as a program that escapes other characters has it."""
    finder = FormFinder()
    for code in (*range(0x20, 0x300), 0x2028, 0x2029, 0xFEFF, 0xFFFF, 0x1F600):
        if chr(code) in '"\\':
            continue
        for text in (f"a{chr(code)}b", f"a\\u{code:04x}b"):
            around = json.dumps({"text": "T", "k": 1}, ensure_ascii=ensure_ascii, separators=separators)
            line = around.replace("T", text).encode()
            record = json.loads(line)
            form = finder.find(line, record, ("text",), False)
            assert line_of(form, {"k": 1}, record["text"], None) == line


def test_usual_lines_have_forms_without_values():
    finder = FormFinder()
    forms = {finder.find(line.encode(), json.loads(line), ("text",), False) for line in LINES[:1] * 3}
    assert forms == {b'A{"text":1,"id":0}'}


def test_a_text_deep_inside_and_token_ids_have_forms():
    line = '{"a":{"t":"x","b":2},"c":null}'
    record = json.loads(line)
    form = FormFinder().find(line.encode(), record, ("a", "t"), False)
    assert form == b'C{"a":{"t":1,"b":0},"c":null}'
    assert line_of(form, {"a": {"b": 2}}, "x", None) == line.encode()
    line = '{"ids":[1,2],"c":5}'
    form = FormFinder().find(line.encode(), json.loads(line), ("ids",), True)
    assert line_of(form, {"c": 5}, None, [1, 2]) == line.encode()


def test_lines_come_back_from_a_corpus_after_removal_and_compaction(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(line + "\n" for line in LINES), encoding="utf-8")
    with ngramdb.connect() as db:
        c = db.create_corpus("c")
        for _ in range(3):
            c.load(path)
        c.delete("doc_id = 0")
        c.compact()
        view = db.snapshot.view("c")
        (segment,) = view.segments
        lines = [
            line_of(segment.form(i), segment.metadata.row(i), segment.text(i, view.tokenizer).decode(), None)
            for i in range(segment.n_documents)
        ]
        assert lines == [line.encode() for line in (LINES * 3)[1:]]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=4), min_size=1, max_size=6), st.data())
def test_any_lines_come_back_from_a_corpus(tmp_path_factory, records, data):
    style = st.fixed_dictionaries(
        {"ensure_ascii": st.booleans(), "separators": st.sampled_from([None, (",", ":"), (" ,", " : ")])}
    )
    lines = []
    for record in records:
        whole = {**record, "text": data.draw(st.text(max_size=6))}
        lines.append(json.dumps(whole, **data.draw(style)).encode("utf-8", "surrogatepass"))
    if any(b"\\ud" in line or b"\xed\xa0" in line for line in lines):
        return
    path = tmp_path_factory.mktemp("lines") / "lines.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    with ngramdb.connect() as db:
        c = db.create_corpus("c")
        c.load(path)
        view = db.snapshot.view("c")
        (segment,) = view.segments
        found = [
            line_of(segment.form(i), segment.metadata.row(i), segment.text(i, view.tokenizer).decode(), None)
            for i in range(segment.n_documents)
        ]
        assert found == lines
