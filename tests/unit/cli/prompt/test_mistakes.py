"""The mark at the first mistake while a statement is being typed."""

from __future__ import annotations

import pytest

from ngramdb.cli.prompt.editing import styled_lines
from ngramdb.language.editing import first_mistake


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", None),
        ("COU", None),
        ("COUX", "COUX"),
        ("COUNT", None),
        ("COUNT 'a", None),
        ("COUNT 'a'", "'a'"),
        ('COUNT "a', None),
        ('COUNT "a" FRO', None),
        ('COUNT "a" FROX', "FROX"),
        ('COUNT "a" FROX wiki', "FROX"),
        ('COUNT "a" FROM wiki;', None),
        ("COUNT;", ";"),
        ('COUNT "a"; SHOW', None),
        ('COUNT "a"; SHOX;', "SHOX"),
        ('COUNT "a" [1..', None),
        ("DOCS WHERE x >", None),
        ("DOCS LIMIT 5.", None),
        ("DOCS LIMIT abc", "abc"),
        ("/* open", None),
    ],
)
def test_only_what_typing_on_cannot_mend_is_a_mistake(text: str, mistake: str | None) -> None:
    found = first_mistake(text)
    assert (None if found is None else text[found[0] : found[1]]) == mistake


def test_no_beginning_of_a_right_statement_has_a_mistake() -> None:
    for text in (
        'COUNT "natural" [1..3] "language" IGNORE CASE FROM wiki AT VERSION 3 + `a b`;',
        "DOCS WHERE meta.`site name` >= 2.5 AND (source IN ('it''s', 'b') OR NOT x IS NOT NULL) LIMIT 10;",
        "COPY wiki FROM 'data/*.jsonl' (FORMAT jsonl, METADATA (a, b)) ON ERROR SKIP;",
        'DIST GIVEN [5613, 4086] USING KNESER_NEY ORDER 5 MIN COUNT 2 TOP :k; -- "done"',
    ):
        for stop in range(len(text) + 1):
            assert first_mistake(text[:stop]) is None, text[:stop]


def test_the_mark_is_a_style_on_top_of_the_colour() -> None:
    (line,) = styled_lines('COUNT "a" FROX x')
    assert [piece for style, piece in line if "mistake" in style] == ["FROX"]
    assert "".join(piece for _, piece, *_ in line) == 'COUNT "a" FROX x'
