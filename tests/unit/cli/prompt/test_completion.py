"""Completion, as a table: a text with a mark at the cursor, and what is offered there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from ngramdb.cli.shell.completion import OPTIONS, Candidate, complete, keys_of


class Shelf:
    """A catalog with little in it."""

    def corpora(self) -> Sequence[str]:
        return ["news", "wiki", "wiki-en"]

    def versions(self) -> Sequence[str]:
        return ["before", "it's"]

    def fields(self, corpora: tuple[str, ...]) -> Sequence[str]:
        if corpora == ("news",):
            return ["lang"]
        return ["source", "year", "meta.url", "meta.site name", "a\\.b", "has space"]

    def values(self, corpora: tuple[str, ...], field: str) -> Sequence[tuple[object, int]]:
        known: dict[str, list[tuple[object, int]]] = {
            "source": [("web", 900), ("it's", 30), ("book", 2)],
            "year": [(2020, 5), (2019, 4), (1999, 1)],
            "meta.`site name`": [("home", 3)],
            "lang": [("de", 7)],
        }
        return known.get(field, [])

    def settings(self) -> Mapping[str, Sequence[str]]:
        return {
            "match": ("tokens", "text", "text ignore case"),
            "disabled_rules": ("flatten", "fold_constants"),
            "progress": ("TRUE", "FALSE"),
            "threads": ("4",),
        }

    def tokenizer(self, corpora: tuple[str, ...]) -> str:
        return "words"

    def next_tokens(self, corpora: tuple[str, ...], context: str) -> Sequence[tuple[str, int]]:
        known = {
            "": [("the", 90), ("natural", 20), ("thus", 3), ('"', 2)],
            "natural": [("language", 9), ("lake", 2), ("selection", 5)],
            "the natural": [("language", 4)],
        }
        return known.get(context, [("end", 1)])

    def count(self, corpora: tuple[str, ...], text: str) -> int:
        return 1

    def paths(self, beginning: str) -> Sequence[str]:
        known = ["data/", "data/a.jsonl", "data/b c.json", "d.ngql", "it's.txt", "tokenizer.json"]
        return [path for path in known if path.startswith(beginning) and path != beginning]


def at(marked: str) -> list[Candidate]:
    """Return the candidates at the `|` of a text."""
    assert marked.count("|") == 1
    return complete(marked.replace("|", ""), marked.index("|"), Shelf())


def texts(marked: str) -> list[str]:
    return [candidate.text for candidate in at(marked)]


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        # keywords, in the letters that were begun
        ("COUN|", ["COUNT"]),
        ("coun|", ["count"]),
        (
            'DIST GIVEN "a" USING |',
            [
                "NGRAM",
                "INFGRAM",
                "BACKOFF",
                "KNESER_NEY",
                "WITTEN_BELL",
                "PITMAN_YOR",
                "KATZ",
                "SKIP_KNESER_NEY",
            ],
        ),
        ('DIST GIVEN "a" USING inf|', ["infgram"]),
        ('COLLOCATES OF "a" WINDOW |', ["SENTENCE"]),
        ('COLLOCATES OF "a" WINDOW sen|', ["sentence"]),
        ('COLLOCATES OF "a" WINDOW 5 WI|', ["WITHIN SENTENCE"]),
        ('COLLOCATES OF "a" WINDOW 3 LEFT 2 RIGHT wit|', ["within sentence"]),
        ('COLLOCATES OF "a" WINDOW 5 WITHIN |', ["SENTENCE"]),
        ('COLLOCATES OF "a" WINDOW SENTENCE WI|', []),
        ("SHOW SE|", ["SEGMENTS", "SETTINGS"]),
        ('COUNT "a" ; USE w|', ["wiki", "`wiki-en`"]),
        # corpora; names that are not plain words in backquotes
        ("USE |", ["news", "wiki", "`wiki-en`"]),
        ("USE `wiki|", ["wiki`", "wiki-en`"]),
        ('COUNT "a" FROM ne|', ["news"]),
        ("DROP CORPUS W|", ["wiki", "`wiki-en`"]),
        # fields of the statement's corpora
        ('DOCS WHERE "a" AND so|', ["source"]),
        ("DOCS WHERE ye| FROM wiki", ["year", "year("]),
        ("DOCS FROM news WHERE la|", ["lang"]),
        ("DOCS WHERE meta.|", ["url", "`site name`"]),
        ("DOCS WHERE meta.u|", ["url"]),
        ("DOCS WHERE meta|", ["meta.url", "meta.`site name`"]),
        ("DOCS WHERE ha|", ["`has space`"]),
        ("DOCS WHERE do|", ["doc_id"]),
        ("DOCS ORDER BY len|", ["length"]),
        # values, quoted as the language wants it
        ("DOCS WHERE source = |", ["'web'", "'it''s'", "'book'"]),
        ("DOCS WHERE source = 'w|", ["web'"]),
        ("DOCS WHERE source = 'i|", ["it''s'"]),
        ("DOCS WHERE source IN ('web', 'b|", ["book'"]),
        ("DOCS WHERE year = 20|", ["2020", "2019"]),
        ("DOCS WHERE year BETWEEN 19|", ["1999"]),
        ("DOCS WHERE meta.`site name` = '|", ["home'"]),
        ("DOCS WHERE lang = '| FROM news", ["de'"]),
        # settings
        ("SET |", ["match", "disabled_rules", "progress", "threads"]),
        ("SET pro|", ["progress"]),
        ("RESET th|", ["threads"]),
        ("SET progress = |", ["TRUE", "FALSE"]),
        ("SET match = 'text|", ["text'", "text ignore case'"]),
        ("SET threads = |", ["4"]),
        ("SET disabled_rules = 'fl|", ["flatten'"]),
        ("SET disabled_rules = 'flatten, fo|", ["fold_constants'"]),
        ("SET disabled_rules = fo|", ["fold_constants"]),
        # paths and tokenizers
        ("COPY wiki FROM |", ["'"]),
        (
            "COPY wiki FROM '|",
            ["data/", "data/a.jsonl'", "data/b c.json'", "d.ngql'", "it''s.txt'", "tokenizer.json'"],
        ),
        ("COPY wiki FROM 'data/a|", ["data/a.jsonl'"]),
        ("COPY wiki FROM 'it|", ["it''s.txt'"]),
        (
            "CREATE CORPUS x TOKENIZER 'w|",
            ["words'", "words(lower)'", "words(nfc)'", "words(lower, nfc)'"],
        ),
        ("CREATE CORPUS x TOKENIZER 't|", ["tokens'", "tokenizer.json'"]),
        ("COPY wiki FROM 'x' (for|", ["format"]),
        ("COPY wiki FROM 'x' (format j|", ["jsonl"]),
        ("COPY (DOCS) TO 'x' (|", ["format", "separator", "dtype"]),
        ("COPY (DOCS) TO 'x' (FORMAT |", ["jsonl", "parquet", "arrow", "csv", "tsv", "megatron", "nanogpt"]),
        ("COPY (DOCS) TO 'x' (FORMAT me|", ["megatron"]),
        ("COPY (DOCS) TO 'x' (FORMAT nanogpt, DTYPE uint1|", ["uint16"]),
        ("COPY (CUT DUPLICATES) TO 'x' (FORMAT b|", ["bsade"]),
        ("EXPLAIN COPY (DELETE DOCS WHERE lang = 'de') TO 'x' (|", ["format", "id", "attribute"]),
        ("COPY (DELETE DUPLICATES) TO 'x' (FORMAT n|", []),
        ("CREATE CORPUS x WITH (|", ["segment_tokens", "sentence_separator", "sentences"]),
        # the next tokens, out of the index
        ('COUNT "natural |', ["language", "lake", "selection"]),
        ('COUNT "natural la|', ["language", "lake"]),
        ('COUNT "the natural la|', ["language", "lake"]),
        ('COUNT "th|', ["the", "thus"]),
        ('COUNT "|', ["the", "natural", "thus", '\\"']),
        ('PROB "x" GIVEN "nat|" USING INFGRAM', ["natural"]),
        # dot commands
        (".mo|", ["mode"]),
        (".mode j|", ["json", "jsonl"]),
        (".m j|", ["json", "jsonl"]),
        (".timer |", ["on", "off"]),
        (".read d.|", ["d.ngql"]),
        (".read data/b|", ["'data/b c.json'"]),
        (".read 'data/b|", ["'data/b c.json'"]),
        (".help ti|", ["timer"]),
        (".watch 2 SHOW VER|", ["VERSIONS"]),
        (".once |", ["data/", "data/a.jsonl", "'data/b c.json'", "d.ngql", "'it's.txt'", "tokenizer.json"]),
        (".once | wc", None),
        # no candidates if nothing is known
        ('COUNT "a" NONSENSE |', []),
        ("CREATE CORPUS |", ["IF NOT EXISTS"]),
        (".nothing |", []),
        ("-- a comment |", []),
    ],
)
def test_what_is_offered(marked: str, expected: list[str] | None) -> None:
    if expected is None:  # the mark itself stands for a pipe here
        assert complete(".once | wc", len(".once | wc"), Shelf()) == []
    else:
        assert texts(marked) == expected


def test_an_ngram_is_offered_before_keywords_where_it_may_begin() -> None:
    first, *others = at("COUNT |")
    assert (first.text, first.shown, first.about) == ('"', '"…"', "an n-gram")
    assert "DOCS" in [candidate.text for candidate in others]


def test_clauses_that_are_there_already_are_not_offered_again() -> None:
    assert "FROM" in texts('COUNT "a" |')
    assert "FROM" not in texts('COUNT "a" FROM wiki |')


def test_candidates_replace_what_was_typed_of_them() -> None:
    for marked, typed in (("USE wi|", "wi"), ('COUNT "natural la|', "la"), ("DOCS WHERE source = 'w|", "w")):
        cursor = marked.index("|")
        for candidate in at(marked):
            assert marked[candidate.start : cursor] == typed


def test_candidates_say_how_often_they_are() -> None:
    assert [candidate.about for candidate in at('COUNT "natural l|')] == ["9", "2"]
    assert at("DOCS WHERE source = 'w|")[0].about == "900 documents"


def test_what_is_completed_is_in_the_language() -> None:
    from ngramdb.language.parser import parse
    from ngramdb.registries import DOCUMENT_FUNCTIONS

    # The rest of a call: a number, a field, or a field and what divides it.
    rests = {"FLOOR(": "year / 10)", **{f"{name.upper()}(": "2)" for name in DOCUMENT_FUNCTIONS}}
    for marked in (
        "DOCS WHERE source = |",
        "USE |",
        "DOCS ORDER BY |",
        "SET match = '|",
        "DOCS ORDER BY meta.|",
    ):
        text, cursor = marked.replace("|", ""), marked.index("|")
        for candidate in at(marked):
            rest = rests.get(candidate.text, "date)" if "(" in candidate.text else "")
            assert parse(text[: candidate.start] + candidate.text + rest + text[cursor:])


def test_completion_never_fails_whatever_is_typed() -> None:
    text = 'DOCS WHERE ("a\\u12" AND year >= [3..]) OR `x` = \'y\'; .mode -- /* SET x = "'
    for start in range(0, len(text), 7):
        for cursor in range(start, len(text) + 1):
            complete(text[start:], cursor - start, Shelf())


def test_the_options_offered_are_those_of_the_planner() -> None:
    from ngramdb.planner.parameters import (
        ATTACH_OPTIONS,
        CORPUS_OPTIONS,
        EXPORT_OPTIONS,
        LOAD_OPTIONS,
        REMOVAL_OPTIONS,
    )

    for known, offered in (
        (EXPORT_OPTIONS, OPTIONS["COPY ANSWER"]),
        (REMOVAL_OPTIONS, OPTIONS["COPY REMOVAL"]),
        (LOAD_OPTIONS, OPTIONS["COPY"]),
        (CORPUS_OPTIONS, OPTIONS["CREATE"]),
        (ATTACH_OPTIONS, OPTIONS["ATTACH"]),
    ):
        assert {name: option.choices for name, option in known.items()} == dict(offered)


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("year", ("year",)),
        ("meta.year", ("meta", "year")),
        ("a\\.b.c", ("a.b", "c")),
        ("a\\\\.b", ("a\\", "b")),
    ],
)
def test_paths_are_cut_at_their_dots(path: str, keys: tuple[str, ...]) -> None:
    assert keys_of(path) == keys


def test_nothing_is_offered_while_a_count_is_not_known() -> None:
    """A count that is late is not 0: the words of a shorter context would be offered instead."""

    class Late(Shelf):
        def count(self, corpora: tuple[str, ...], text: str) -> None:
            return None

    marked = 'COUNT "the '
    assert texts(marked + "|")
    assert not list(complete(marked, len(marked), Late()))
