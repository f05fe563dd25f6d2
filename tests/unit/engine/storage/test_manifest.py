"""The manifest's JSON form: what was written comes back, and nonsense does not come in."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from ngramdb.engine.storage.manifest import (
    CorpusEntry,
    FileRef,
    LoadRecord,
    Manifest,
    SegmentEntry,
    StatisticsEntry,
    TokenizerEntry,
)
from ngramdb.errors import CorruptionError


def ref(folder="segments", suffix="segment", digit="a"):
    return FileRef(f"{folder}/{digit * 32}.{suffix}", 1234, 2**32 - 1)


SEGMENT = SegmentEntry(ref(), 1, 1000, 10, 0, 2)
MANIFEST = Manifest(
    version=3,
    created=1700000000.25,
    action="load wiki",
    corpora={
        "wiki": CorpusEntry(
            name="wiki",
            id="0123456789abcdef" * 2,
            tokenizer=TokenizerEntry("words", None, (ref("vocabularies", "vocabulary"),), 77),
            segments=(SEGMENT, replace(SEGMENT, sign=-1, file=ref(digit="b"))),
            next_doc_id=10,
            options={"text": True, "order": 5, "weight": 0.4, "name": "größe ✓"},
            statistics=StatisticsEntry(
                1700000001.5,
                "c" * 64,
                990,
                9,
                5,
                (70, 900),
                ((9, 3, 2, 1),) * 2,
                ((8, 3, 2, 0),) * 2,
                ((40, 9, 30, 2, 1, 7, 1, 1, 8, 5), (20, 3, 6, 4, 1, 0, 3, 1, 1, 5, 76)),
            ),
            loads=(
                LoadRecord("1" * 64, "2" * 64, "3" * 64, 4, 0, 5),
                LoadRecord("6" * 64, "2" * 64, "7" * 64, 0, 8, 9),
            ),
        ),
        "empty": CorpusEntry("empty", "f" * 32, TokenizerEntry("bytes", None, (), 256), (), 0, {}),
        "sub words": CorpusEntry(
            "sub words",
            "e" * 32,
            TokenizerEntry("json", ref("tokenizers", "tokenizer"), (), 50257),
            (),
            0,
            {},
        ),
    },
)

DROPPED = replace(MANIFEST.corpora["wiki"].without_documents(), id="d" * 32)
MANIFEST = replace(
    MANIFEST,
    kept={"before": Manifest(2, 1700000000.0, "create", {"empty": MANIFEST.corpora["empty"]})},
    dropped={DROPPED.id: DROPPED},
)


def test_a_manifest_comes_back_from_its_json_form():
    back = Manifest.from_json(MANIFEST.to_json(), "m")
    assert back == MANIFEST
    assert list(back.corpora) == ["wiki", "empty", "sub words"]
    assert type(back.corpora["wiki"].options["text"]) is bool
    MANIFEST.check()


def test_files_lists_every_file_once():
    assert set(MANIFEST.files()) == {
        "segments/" + "a" * 32 + ".segment",
        "segments/" + "b" * 32 + ".segment",
        "vocabularies/" + "a" * 32 + ".vocabulary",
        "tokenizers/" + "a" * 32 + ".tokenizer",
    }


def test_keys_of_later_versions_are_skipped():
    value = json.loads(MANIFEST.to_json())
    value["who"] = "me"
    value["corpora"][0]["removed"] = {"x": []}
    assert Manifest.from_json(json.dumps(value).encode(), "m") == MANIFEST


def places(value, path=()):
    """The path of every value within a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    result = copy.copy(value)
    result[path[0]] = replaced(value[path[0]], path[1:], new)
    return result


VALUE = json.loads(MANIFEST.to_json())
# Files of the first release have manifests without these keys.
ADDED_LATER = {"dropped", "by", "audits", "doc_id_offset", "statistics", "loads", "frequent", "kept"}
PLACES = [path for path in places(VALUE) if "options" not in path[:-1]]


@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)) or "top")
def test_a_value_of_the_wrong_type_is_corruption_wherever_it_stands(path):
    right = VALUE
    for key in path:
        right = right[key]
    for value in ({"x": 0}, [3], "x", -5, True):
        if type(value) is type(right):
            continue
        with pytest.raises(CorruptionError) as caught:
            Manifest.from_json(json.dumps(replaced(VALUE, path, value)).encode(), "m")
        assert caught.value.path == "m"
    if path and isinstance(path[-1], str) and path[-1] not in ADDED_LATER:
        without = copy.deepcopy(VALUE)
        parent = without
        for key in path[:-1]:
            parent = parent[key]
        del parent[path[-1]]
        with pytest.raises(CorruptionError):
            Manifest.from_json(json.dumps(without).encode(), "m")


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        (("corpora", 0, "statistics", "segments"), "c" * 63, "statistics.segments"),
        (("corpora", 0, "statistics", "n_types"), [7], "two lengths"),
        (("corpora", 0, "statistics", "n_types"), [7, -1], "array of integers"),
        (("corpora", 0, "statistics", "raw"), [[1, 2, 3, 4]], "2 rows of four integers"),
        (("corpora", 0, "statistics", "continuation"), [[1, 2, 3, 4], [1, 2, 3]], "2 rows of four"),
        (("corpora", 0, "statistics", "frequent"), {}, "an array"),
        (("corpora", 0, "statistics", "frequent"), [[5, 1, 2, 1, 0, 0, 1, 0, 0]], "and its tokens"),
        (("corpora", 0, "statistics", "frequent"), [[5, 1, 2, 1, 0, 0, 1, 0, 0, "5"]], "and its tokens"),
        (("corpora", 0, "statistics", "frequent"), [[5, 6, 2, 1, 0, 0, 1, 0, 0, 5]], "possible counts"),
        (("corpora", 0, "statistics", "frequent"), [[5, 1, 2, 1, 0, 0, 2, 0, 0, 5]], "possible counts"),
        (("corpora", 0, "statistics", "continuation"), [[1, 2, 3, 4], [1, 2, 3, True]], "2 rows of four"),
        (("corpora", 0, "loads", 0, "paths"), "6" * 64, "records of different paths"),
        (("corpora", 0, "loads", 0, "files"), "g" * 64, "loads\\[0\\].files"),
        (("corpora", 0, "loads", 1, "n_lines"), -1, "loads\\[1\\].n_lines"),
        (("version",), 0, "integer from 1"),
        (("created",), -0.5, "a number from 0"),
        (("created",), 10**400, "a number from 0"),
        (("created",), float("inf"), "not a JSON number"),
        (("version",), 10**40, "integer from 1"),
        (("action",), "", "a text"),
        (("version",), 1, "no newer than the version"),
        (("corpora", 0, "segments", 0, "sign"), 0, "1 or -1"),
        (("corpora", 0, "segments", 0, "sign"), 2, "integer from -1 to 1"),
        (("corpora", 0, "segments", 0, "file", "name"), "segments/../../etc/passwd", "a text like"),
        (("corpora", 0, "segments", 0, "file", "name"), "manifests/" + "a" * 32 + ".manifest", "a text like"),
        (("corpora", 0, "segments", 0, "file", "name"), "segments/" + "a" * 32 + ".segment\n", "a text like"),
        (("corpora", 0, "segments", 0, "file", "crc"), 2**32, "integer from 0"),
        (("corpora", 0, "segments", 0, "file", "size"), 0, "integer from 1"),
        (("corpora", 0, "next_doc_id"), 9, "above every document's id"),
        (("corpora", 0, "tokenizer", "kind"), "pickle", "one of words"),
        (("corpora", 1, "name"), "wiki", "names that differ"),
        (("corpora", 0, "options"), {"a": None}, "a boolean"),
        (("corpora", 0, "options"), {"a": {"b": 1}}, "a boolean"),
    ],
)
def test_values_that_cannot_be_are_corruption(path, value, match):
    with pytest.raises(CorruptionError, match=match):
        Manifest.from_json(json.dumps(replaced(VALUE, path, value)).encode(), "m")


@pytest.mark.parametrize(
    "text", [b"", b"{", b"null", b"[]", b"\xff", b'{"version":1,"version":2}', b"[" * 10**5]
)
def test_text_that_is_no_manifest_is_corruption(text):
    with pytest.raises(CorruptionError):
        Manifest.from_json(text, "m")


@pytest.mark.parametrize(
    "bad",
    [
        replace(MANIFEST, created=float("nan")),
        replace(MANIFEST, action="\ud800"),
        replace(MANIFEST, action=""),
        replace(MANIFEST, corpora={"other": MANIFEST.corpora["empty"]}),
        replace(MANIFEST, corpora={"empty": replace(MANIFEST.corpora["empty"], options={"a": object()})}),
        replace(MANIFEST, corpora={"empty": replace(MANIFEST.corpora["empty"], segments=[])}),
    ],
)
def test_a_manifest_that_would_not_come_back_is_found_before_it_is_written(bad):
    with pytest.raises((ValueError, TypeError)):
        bad.check()
