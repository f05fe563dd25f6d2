"""Paths name fields inside nested objects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb.ingest.documents import field_paths, missing_field, select, take
from ngramdb.segments.metadata_columns import path_of, split_path


@given(st.lists(st.text(alphabet="a.\\b", max_size=4), min_size=1, max_size=4))
def test_a_path_splits_into_the_keys_it_was_joined_from(keys):
    assert split_path(path_of(keys)) == tuple(keys)


def test_a_backslash_before_another_character_stands_for_itself():
    assert split_path(r"a\b.c") == (r"a\b", "c")


def test_taking_a_field_out_removes_objects_that_become_empty():
    record = {"a": {"b": {"c": 1}}, "d": {"e": 2, "f": 3}}
    assert take(record, ("a", "b", "c")) == 1
    assert take(record, ("d", "e")) == 2
    assert record == {"d": {"f": 3}}


@pytest.mark.parametrize("path", [("x",), ("d", "x"), ("n", "x"), ("d", "e", "x")])
def test_taking_what_is_not_there_changes_nothing(path):
    record = {"d": {"e": 2}, "n": None}
    with pytest.raises(KeyError):
        take(record, path)
    assert record == {"d": {"e": 2}, "n": None}


def test_selected_fields_keep_their_place():
    record = {"a": {"b": 1, "c": 2}, "d": 3, "e": {"f": {"g": 4}}}
    assert select(record, [("a", "b"), ("d",), ("e", "f"), ("no",), ("d", "no")]) == {
        "a": {"b": 1},
        "d": 3,
        "e": {"f": {"g": 4}},
    }
    assert select(record, [("a",), ("a", "b")]) == {"a": {"b": 1, "c": 2}}
    assert select(record, [("a", "b"), ("a",)]) == {"a": {"b": 1, "c": 2}}
    assert record["a"] == {"b": 1, "c": 2}


def test_a_missing_field_is_named_with_the_nearest_and_all_others():
    record = {"Text": "x", "meta": {"a.b": 1}}
    message = missing_field("text", tuple(field_paths(record)))
    assert message == r"no field 'text' (did you mean 'Text'?); the fields are 'Text', 'meta.a\\.b'"
    assert missing_field("text", ()) == "no field 'text': the object is empty"
    many = tuple(f"field{i}" for i in range(40))
    assert missing_field("zzz", many).endswith("'field11' and 28 more")
