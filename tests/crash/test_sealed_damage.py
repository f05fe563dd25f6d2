"""Files with other contents and right checksums: an answer or an error of ours that names the file.

`tests/torture/damage.py` does more of it, on disk and to a larger database.
"""

from __future__ import annotations

import json
import random
from functools import cache

import numpy as np
import pytest
from support.resealing import damaged, edited, unsealed
from support.small_databases import files_of, opened, words

from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.store import Store
from ngramdb.errors import CorruptionError, NgramdbError, StorageError

N_DAMAGES = 150

STATEMENTS = [
    'COUNT "w1 w2"',
    'COUNT DOCS WHERE "w3" AND NOT "w4"',
    'COUNT "1 w" MATCH TEXT',
    'DIST GIVEN "w1"',
    'DOCS WHERE "w5"',
    "COUNT DOCS WHERE source = 'web' OR length > 30",
    "COUNT DOCS WHERE mixed LIKE '%1%'",
    'SCORE "w1 w2 w3" USING INFGRAM',
    'PROB "w2" GIVEN "w1" USING KNESER_NEY ORDER 3',
    'GENERATE GIVEN "w1" TOKENS 5 METHOD SAMPLE SEED 3 USING KNESER_NEY',
    'KWIC "w2" LIMIT 5 ORDER BY right',
    'KWIC "2 w" MATCH TEXT LIMIT 5',
    "NGRAMS 2 TOP 3",
    'TRACE "w1 w2 w3 w4"',
    "SHOW REMOVALS",
    "SHOW VERSIONS",
    "CHECK",
    'DELETE DOCS WHERE "w2 w3"',
    "COMPACT c",
    "CREATE CORPUS sum",
    "ALTER CORPUS sum ADD CORPUS c",
    "ANALYZE c",
]


def fill(c, rng):
    """Several segments, removals, records and statistics."""
    for k in range(2):
        c.append(
            {
                # Blanks at the end are stored; the words are not.
                "text": words(rng, 9, 30) + k * " ",
                "source": rng.choice(["web", "book"]),
                "mixed": rng.choice(["w1", 1, 2.5]),
            }
            for _ in range(40)
        )
    c.delete('"w7 w8" OR doc_id = 3')
    c.analyze()


@cache
def sound():
    """The files of a database."""
    return files_of(fill)


def ask(files):
    """Asks everything; returns the errors of ours, and lets any other out."""
    found = []
    try:
        with opened(files) as db:
            for statement in STATEMENTS:
                try:
                    db.use("c")
                    found += [
                        (statement, row) for row in db.execute(statement).fetchall() if statement == "CHECK"
                    ]
                except NgramdbError as error:
                    found.append((statement, error))
    except NgramdbError as error:
        found.append(("open", error))
    return found


def test_the_sound_database_answers_everything():
    assert ask(sound()) == []


@pytest.mark.parametrize("first", range(0, N_DAMAGES, 30))
def test_contents_that_no_writer_wrote_are_answered_or_refused(first):
    for k in range(first, first + 30):
        what, changed = damaged(sound(), random.Random(k))
        try:
            ask({**sound(), **changed})
        except Exception as error:
            raise AssertionError(f"{k}: {what}") from error


def segment():
    return min(name for name in sound() if name.startswith("segments/") and is_first(name))


def is_first(name):
    properties = unsealed(sound()[name]).properties
    return properties["first_doc_id"] == 0 and properties["n_documents"] == 40


def change_entries(section, **changes):
    """Entries of an array by place: `at_3=7`."""

    def change(parts):
        data, dtype = parts.sections[section]
        array = np.frombuffer(data, dtype=f"<{dtype}").copy()
        for place, value in changes.items():
            array[int(place.removeprefix("at_").replace("last", "-1"))] = value
        parts.sections[section] = array.tobytes(), dtype

    return change


def change_property(**values):
    return lambda parts: parts.properties.update(values)


def drop(section):
    return lambda parts: parts.sections.pop(section)


def shorten(section):
    def change(parts):
        data, dtype = parts.sections[section]
        parts.sections[section] = data[: -int(dtype[1:])], dtype

    return change


def retype(section, dtype):
    return lambda parts: parts.sections.update({section: (parts.sections[section][0], dtype)})


AT_ONCE = [
    (change_entries("documents.starts", at_5=2**32 - 1), "document 5 ends before it starts"),
    (change_entries("documents.starts", at_5=0), "ends before it starts"),
    (change_entries("documents.starts", at_0=1), "starts do not span"),
    (change_entries("documents.starts", at_last=7), "starts do not span"),
    (shorten("documents.starts"), "section documents.starts has 40 values of type u4, not 41"),
    (shorten("tokens"), "section tokens has"),
    (shorten("suffix_array"), "section suffix_array has"),
    (retype("documents.starts", "i4"), "of type i4"),
    (retype("tokens", "i1"), "of type i1"),
    (drop("tokens"), "section tokens is missing"),
    (drop("directory.tree"), "no section 'directory.tree'"),
    (change_property(lcp_width=2**32), "LCPs are 4294967296 bits wide"),
    (change_property(lcp_width=31), "LCPs are 31 bits wide"),
    (change_property(gap=2**40), "the gap"),
    (change_property(n_tokens=2**62), "section tokens has .* not 46116860184273"),
]


@pytest.mark.parametrize(("change", "what"), AT_ONCE, ids=[what for _, what in AT_ONCE])
def test_what_cannot_be_is_said_before_the_first_answer(change, what):
    files = edited(sound(), segment(), change)
    db = opened(files, read_only=True)
    with db, pytest.raises(CorruptionError, match=what) as caught:
        db.corpus("c").count("w1")
    assert caught.value.path is not None and caught.value.path.endswith(segment())


def join_first_two(parts):
    """Writes a token over the separator between them."""
    end = int(np.frombuffer(parts.sections["documents.starts"][0], dtype="<u4")[1]) - 1
    change_entries("tokens", **{f"at_{end}": 5})(parts)


def change_suffixes(token):
    """Replace the last word by another one, wherever it occurs: all orders remain right."""

    def change(parts):
        data, dtype = parts.sections["tokens"]
        array = np.frombuffer(data, dtype=f"<{dtype}").copy()
        array[array == array.max()] = token
        parts.sections["tokens"] = array.tobytes(), dtype

    return change


WHEN_USED = [
    (drop("metadata"), "COMPACT c", "section '?metadata"),
    (change_entries("tokens", at_3=200), 'KWIC "1 w" MATCH TEXT', "document 0 has the token id"),
    (change_suffixes(200), "NGRAMS 1", "it has the token id 199"),
    (change_suffixes(200), "NGRAMS 1 WHERE doc_id >= 0", "it has the token id 199"),
    (change_suffixes(200), 'DIST GIVEN ""', "it has the token id 199"),
    (change_suffixes(200), 'DIST GIVEN "" USING INFGRAM', "it has the token id 199"),
    (join_first_two, "COMPACT c", "does not end in a separator"),
    (change_entries("tokens", at_3=0), "COMPACT c", "does not end in a separator, or contains one"),
    (retype("text.offsets", "f8"), "DOCS SAMPLE 40 SEED 1", "the type of text.offsets"),
    (change_entries("text.offsets", at_7=2**60), "DOCS SAMPLE 40 SEED 1", "the text of document"),
    (change_entries("text.frame_offsets", at_0=2**60), "DOCS SAMPLE 40 SEED 1", "text frame 0"),
]


@pytest.mark.parametrize(("change", "statement", "what"), WHEN_USED)
def test_other_damage_is_said_when_a_part_is_first_used(change, statement, what):
    name = segment()
    if "text.offsets" not in unsealed(sound()[name]).sections and "SAMPLE" in statement:
        name = next(n for n in sorted(sound()) if n.startswith("segments/") and has_texts(n))
    with opened(edited(sound(), name, change)) as db:
        db.create_corpus("sum")
        db.use("c")
        with pytest.raises(CorruptionError, match=what) as caught:
            db.execute(statement).fetchall()
        assert caught.value.path is not None and caught.value.path.endswith(name)
        assert any(name in str(row) for row in db.execute("CHECK").fetchall())


def test_tokens_that_the_vocabulary_lacks_are_found_by_check_after_compaction_too():
    files = edited(sound(), segment(), change_entries("tokens", at_3=200))
    with opened(files) as db:
        db.use("c")
        for _ in range(2):
            problems = [row[-1] for row in db.execute("CHECK").fetchall()]
            assert any("it has the token id 199, and the vocabulary 9 ids" in one for one in problems)
            db.execute("COMPACT c")


def has_texts(name):
    return "text.offsets" in unsealed(sound()[name]).sections


def change_manifest(edit):
    """Edits the one corpus of the newest manifest."""

    def change(parts):
        value = json.loads(parts.sections["manifest"][0])
        edit(value["corpora"][0])
        parts.sections["manifest"] = json.dumps(value).encode(), "u1"

    return change


def statistic(key, value):
    return change_manifest(lambda corpus: corpus["statistics"].update({key: value}))


def cell(key, value):
    def edit(corpus):
        corpus["statistics"][key][0][0] = value

    return change_manifest(edit)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (statistic("n_types", [5, 5]), "statistics.*continuation"),
        (statistic("n_left_of_end", 2**40), "n_left_of_end"),
        (cell("continuation", 2**40), r"continuation\[0\]"),
        (cell("raw", 2**40), r"raw\[0\]"),
        (statistic("created", 1e18), "created"),
        (change_manifest(lambda corpus: corpus.update(next_doc_id=2**63 - 1)), "next_doc_id"),
        (
            change_manifest(lambda corpus: corpus["segments"][0].update(first_doc_id=2**63 - 1)),
            "first_doc_id",
        ),
    ],
)
def test_statistics_and_numbers_that_cannot_be_are_said_on_opening(change, what):
    newest = max(name for name in sound() if name.startswith("manifests/"))
    with pytest.raises(StorageError, match=what):
        Store.open(MemoryDirectory(edited(sound(), newest, change)))


def test_statistics_that_make_no_probability_are_said_to_be_damaged():
    newest = max(name for name in sound() if name.startswith("manifests/"))

    def edit(corpus):
        statistics = corpus["statistics"]
        counts = statistics["raw"][1], statistics["continuation"][1]
        statistics["n_types"][:2] = [2**50, max(sum(row) for row in counts)]
        statistics["continuation"][0] = [0, 0, 0, 0]

    files = edited(sound(), newest, change_manifest(edit))
    with opened(files) as db:
        db.use("c")
        sql = 'GENERATE GIVEN "w1" TOKENS 20 METHOD SAMPLE SEED 3 USING KNESER_NEY'
        with pytest.raises(CorruptionError, match=r"statistics .* are damaged: a token has the probability"):
            db.execute(sql).fetchall()
