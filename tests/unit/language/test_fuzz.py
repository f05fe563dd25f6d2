"""Random texts: the parser answers with a tree or with ParseError, never with anything else."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ngramdb.errors import ParseError
from ngramdb.language import parser
from ngramdb.language.parser import parse, parse_condition, parse_model

words = st.sampled_from(sorted(parser.keywords()))
whole = [
    "wiki",
    "`a b`",
    '"a"',
    '"\\u0041\\n"',
    "[1, 2]",
    "[]",
    "'x'",
    "7",
    "-1.5e3",
    "?",
    ":p",
    "é",
    "“",
    "@",
]
broken = [
    ";",
    ",",
    "(",
    ")",
    "=",
    '"',
    "'",
    "`",
    "[",
    "/*",
    "*/",
    "--",
    "\n",
    "\\",
    "\x00",
    "1x",
    "..",
    "\ud800",
]
tokens = st.sampled_from([*whole, *broken])
separators = st.sampled_from([" ", " ", " ", "", "\n", "/**/"])
programs = st.lists(st.tuples(words | tokens, separators).map("".join), max_size=30).map("".join)


def check(text: str) -> None:
    for function in (parse, parse_condition, parse_model):
        try:
            function(text)
        except ParseError as error:
            assert error.message
            assert error.start is not None
            assert error.stop is not None
            assert 0 <= error.start <= error.stop <= len(text)
            assert error.message in str(error)
            assert "\n" not in error.message


@settings(max_examples=400)
@given(st.text())
@example("\r")
@example("\u2028COUNT\x0b")
def test_any_text_is_parsed_or_refused(text: str) -> None:
    check(text)


@settings(max_examples=600)
@given(programs)
def test_any_row_of_tokens_is_parsed_or_refused(text: str) -> None:
    check(text)


# ---- statements made by the grammar itself

names = st.sampled_from(["wiki", "limit", "`my docs`", "docs", "_x1"])
ngrams = st.sampled_from(['"a b"', '""', "[1, 2]", "[]", "?", ":p"])
strings = st.sampled_from(["'x'", "'it''s'", "?"])
amounts = st.sampled_from(["0", "5", "?", ":k"])
values = strings | amounts | st.sampled_from(["-1", "2.5", "TRUE", "null", "jsonl"])
conditions = st.recursive(
    ngrams,
    lambda inner: (
        inner.map("NOT ({})".format)
        | st.lists(inner, min_size=2, max_size=4).map(lambda parts: f"({' AND '.join(parts)})")
        | st.lists(inner, min_size=2, max_size=4).map(lambda parts: f"({' OR '.join(parts)})")
    ),
)
models = st.just("INFGRAM") | st.just("NGRAM") | amounts.map("NGRAM ORDER {}".format)
options = st.lists(st.tuples(st.sampled_from([" ", "="]), values), max_size=4).map(
    lambda items: "(" + ", ".join(f"o{i}{sign}{value}" for i, (sign, value) in enumerate(items)) + ")"
)


def statement(head: st.SearchStrategy[str], **clauses: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """The head, then any of the clauses, each at most once, in any order."""
    parts = [argument.map(f"{label.replace('_', ' ')} {{}}".format) for label, argument in clauses.items()]
    chosen = st.permutations(parts).flatmap(
        lambda order: st.integers(0, len(order)).flatmap(lambda n: st.tuples(*order[:n]))
    )
    return st.tuples(head, chosen.map(" ".join)).map(" ".join)


questions = st.one_of(
    statement(ngrams.map("COUNT {}".format), FROM=names),
    statement(st.just("COUNT DOCS"), FROM=names, WHERE=conditions),
    statement(st.tuples(ngrams, ngrams).map(lambda p: f"PROB {p[0]} GIVEN {p[1]}"), FROM=names, USING=models),
    statement(ngrams.map("DIST GIVEN {}".format), FROM=names, USING=models, TOP=amounts),
    statement(ngrams.map("SCORE {}".format), FROM=names, USING=models),
    statement(
        st.just("DOCS"),
        FROM=names,
        WHERE=conditions,
        LIMIT=amounts,
        OFFSET=amounts,
        ORDER_BY=st.just("doc_id"),
    ),
)
data = st.one_of(
    statement(names.map("CREATE CORPUS {}".format), TOKENIZER=strings, WITH=options),
    statement(
        st.tuples(names, strings, options).map(lambda p: f"COPY {p[0]} FROM {p[1]} {p[2]}"),
        ON_ERROR=st.sampled_from(["SKIP", "FAIL"]),
    ),
    st.tuples(names, values).map(lambda p: f"SET {p[0]} = {p[1]}"),
    statement(st.sampled_from(["SHOW CORPORA", "SHOW SEGMENTS"]), FROM=names),
)
statements = questions | data | (questions | data).map("EXPLAIN {}".format)


@given(st.lists(statements, max_size=4))
def test_every_statement_of_the_grammar_is_parsed(texts: list[str]) -> None:
    assert len(parse(";".join(texts))) == len(texts)


@given(statements, st.data())
def test_mutilated_statement_is_parsed_or_refused(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(cut, len(text)))
    check(text[:cut] + data.draw(tokens | st.just("")) + text[stop:])
