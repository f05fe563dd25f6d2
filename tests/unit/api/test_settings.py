"""Settings have names, types and ranges."""

from __future__ import annotations

import numpy as np
import pytest

import ngramdb
from ngramdb import InvalidArgument, Settings


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("thread", 1, "no setting 'thread'; did you mean threads?"),
        (
            "zzz",
            1,
            "no setting 'zzz'; known: ",
        ),
        ("threads", 0, "threads must be from 1 to 1,024, not 0"),
        ("threads", True, "threads must be a whole number, not True"),
        ("threads", "2", "threads must be a whole number, not '2'"),
        ("lock_timeout", -1, "lock_timeout must be from 0 to 31,536,000 seconds, not -1"),
        ("lock_timeout", float("nan"), "lock_timeout must be from 0 to 31,536,000 seconds, not nan"),
        ("lock_timeout", "1 s", "lock_timeout must be a number of seconds, not '1 s'"),
        ("lock_timeout", True, "lock_timeout must be a number of seconds, not True"),
        ("prewarm", "always", "prewarm must be one of auto, on, off, not 'always'"),
        ("prewarm", True, "prewarm must be "),
        ("progress", 1, "progress must be TRUE or FALSE, not 1"),
        ("progress", "maybe", "progress must be TRUE or FALSE, not 'maybe'"),
        ("segment_tokens", 10, "segment_tokens must be from 1,024 to 4,294,967,295, not 10"),
        ("disabled_rules", 3, "disabled_rules must be a string of rules separated by commas, not 3"),
        ("disabled_rules", "fold", "no rule 'fold'; known: "),
    ],
)
def test_wrong_settings_are_refused_and_nothing_changes(name, value, message):
    settings = Settings()
    before = settings.rows()
    with pytest.raises(InvalidArgument) as caught:
        settings[name] = value
    assert str(caught.value).startswith(message) and settings.rows() == before


def test_settings_are_set_and_reset_in_any_case():
    settings = Settings()
    settings["THREADS"] = 7
    assert settings.threads == settings["Threads"] == 7
    settings.reset("threads")
    assert settings.threads == int({row[0]: row[2] for row in settings.rows()}["threads"])
    settings["progress"] = "Off"
    assert settings.progress is False
    assert {"disabled_rules", "lock_timeout", "progress", "segment_tokens", "threads"} < set(settings)


def test_scalars_of_numpy_are_taken_as_those_of_python(db, tmp_path):
    given = {
        "segment_tokens": np.int64(5000),
        "timeout": np.float32(1.5),
        "progress": np.False_,
        "memory_limit": np.uint64(1 << 30),
    }
    for name, value in given.items():
        db.settings[name] = value
    assert repr([db.settings[name] for name in given]) == "[5000, 1.5, False, 1073741824]"
    with pytest.raises(InvalidArgument, match="segment_tokens must be from 1,024"):
        db.settings["segment_tokens"] = np.int64(5)
    (tmp_path / "x.jsonl").write_text('{"text": "a b"}\n' * 4)
    numbers = db.create_corpus("numbers", segment_tokens=np.int32(2000))
    assert numbers.load(tmp_path / "x.jsonl", commit_every=np.int16(2)).documents == 4


def test_no_rule_is_disabled_by_the_empty_list():
    settings = Settings()
    settings["disabled_rules"] = " , "
    assert settings.disabled_rules == frozenset()


def test_a_timeout_is_shown_in_seconds_as_it_is_set():
    settings = Settings()
    shown = {name: value for name, value, *_ in settings.rows()}
    assert shown["lock_timeout"] == "0"
    settings["timeout"] = 1
    assert settings.timeout == 1.0
    for value, expected in ((2, "2"), (0.25, "0.25")):
        settings["lock_timeout"] = value
        assert settings.lock_timeout == value
        assert {row[0]: row[1] for row in settings.rows()}["lock_timeout"] == expected


def test_attributes_are_settings_or_refused(db):
    db.settings.threads = 3
    assert db.settings["threads"] == 3
    with pytest.raises(ngramdb.InvalidArgument, match=r"no setting 'thread'; did you mean threads\?"):
        db.settings.thread = 3
    with pytest.raises(ngramdb.InvalidArgument, match="whole number"):
        db.settings.threads = "many"
    assert not hasattr(db.settings, "thread")


def test_settings_are_a_mapping(db):
    everything = dict(db.settings)
    assert everything == {name: db.settings[name] for name in db.settings}
    assert len(everything) == len(db.settings) and {**db.settings} == everything
    assert "threads" in db.settings and "THREADS" in db.settings
    assert "thread" not in db.settings and 3 not in db.settings
    assert "threads=" in repr(db.settings)


def test_the_module_shows_its_public_names_only():
    assert dir(ngramdb) == sorted(ngramdb.__all__)
    assert "Any" not in dir(ngramdb) and "connect" in dir(ngramdb)


def test_advice_on_a_corpus_that_exists_is_for_the_face_it_was_made_from(db):
    db.create_corpus("c")
    with pytest.raises(ngramdb.BindError, match="if_not_exists=True") as caught:
        db.create_corpus("c")
    assert "CREATE CORPUS" not in str(caught.value)
    with pytest.raises(ngramdb.BindError, match="CREATE CORPUS IF NOT EXISTS"):
        db.execute("CREATE CORPUS c")
