"""The parser: each construct's tree, spans, and the limits of size, depth and time."""

from __future__ import annotations

import dataclasses
import threading
import timeit
from collections.abc import Iterator

import pytest

from ngramdb.errors import ParseError
from ngramdb.language import ast, parser
from ngramdb.language.ast import And, Contains, Name, Not, Option, Or, Parameter, Text, TokenIds, Value
from ngramdb.language.parser import parse, parse_condition, parse_model, parse_statement
from ngramdb.language.scanner import scan
from ngramdb.language.transformer import MAX_CONDITION_DEPTH


def source(name: str) -> ast.Source:
    return ast.Source((ast.SourceTerm(Name(name)),))


A, B, C = (Contains(Text(letter)) for letter in "abc")

STATEMENTS: list[tuple[str, ast.Statement]] = [
    ('COUNT "the end"', ast.Count(Text("the end"))),
    ('count ""', ast.Count(Text(""))),
    ("Count [5613, 4086] From wiki", ast.Count(TokenIds((5613, 4086)), source("wiki"))),
    ("COUNT []", ast.Count(TokenIds(()))),
    ("COUNT ?", ast.Count(Parameter(index=0))),
    ("COUNT :ngram", ast.Count(Parameter(name="ngram"))),
    ("COUNT DOCS", ast.CountDocs()),
    ('COUNT DOCS WHERE "a" FROM wiki', ast.CountDocs(A, source("wiki"))),
    ('COUNT DOCS FROM wiki WHERE "a"', ast.CountDocs(A, source("wiki"))),
    ('PROB "w" GIVEN "x"', ast.Prob(Text("w"), Text("x"))),
    ("PROB [1] GIVEN [2] USING INFGRAM", ast.Prob(TokenIds((1,)), TokenIds((2,)), ast.Model("infgram"))),
    (
        "PROB ? GIVEN ? FROM wiki USING NGRAM ORDER 5",
        ast.Prob(Parameter(index=0), Parameter(index=1), ast.Model("ngram", Value(5)), source("wiki")),
    ),
    ('DIST GIVEN "x"', ast.Dist(Text("x"))),
    (
        'DIST GIVEN "x" TOP 10 FROM wiki USING ngram order ?',
        ast.Dist(Text("x"), ast.Model("ngram", Parameter(index=0)), Value(10), source("wiki")),
    ),
    ("SCORE :text USING INFGRAM", ast.Score(Parameter(name="text"), ast.Model("infgram"))),
    ("DOCS", ast.Docs()),
    (
        'DOCS LIMIT 5 OFFSET ? ORDER BY doc_id DESC WHERE "a" FROM wiki',
        ast.Docs(A, ast.OrderBy(Name("doc_id"), True), Value(5), Parameter(index=0), source("wiki")),
    ),
    ("DOCS ORDER BY doc_id ASC", ast.Docs(order_by=ast.OrderBy(Name("doc_id")))),
    ('EXPLAIN COUNT "a"', ast.Explain(ast.Count(Text("a")))),
    ("EXPLAIN ANALYZE DOCS", ast.Explain(ast.Docs(), analyze=True)),
    ("EXPLAIN CHECK", ast.Explain(ast.Check())),
    ("CREATE CORPUS wiki", ast.CreateCorpus(Name("wiki"))),
    ("CREATE CORPUS IF NOT EXISTS wiki", ast.CreateCorpus(Name("wiki"), if_not_exists=True)),
    ("CREATE CORPUS wiki IF NOT EXISTS", ast.CreateCorpus(Name("wiki"), if_not_exists=True)),
    (
        "CREATE CORPUS wiki WITH (Sentences = TRUE, sep '</s>') TOKENIZER 'bytes'",
        ast.CreateCorpus(
            Name("wiki"),
            tokenizer=Value("bytes"),
            options=(Option(Name("sentences"), Value(True)), Option(Name("sep"), Value("</s>"))),
        ),
    ),
    ("COPY wiki FROM 'a.jsonl'", ast.CopyFrom(Name("wiki"), Value("a.jsonl"))),
    ("COPY wiki FROM ? ON ERROR SKIP", ast.CopyFrom(Name("wiki"), Parameter(index=0), skip_errors=True)),
    ("COPY wiki FROM ? ON ERROR FAIL ()", ast.CopyFrom(Name("wiki"), Parameter(index=0))),
    (
        "COPY c FROM 'x' (FORMAT jsonl, TEXT = 'text', META (a, 'b', 3), LIMIT ?, SEP NULL) ON ERROR SKIP",
        ast.CopyFrom(
            Name("c"),
            Value("x"),
            (
                Option(Name("format"), Name("jsonl")),
                Option(Name("text"), Value("text")),
                Option(Name("meta"), (Name("a"), Value("b"), Value(3))),
                Option(Name("limit"), Parameter(index=0)),
                Option(Name("sep"), Value(None)),
            ),
            skip_errors=True,
        ),
    ),
    ("DROP CORPUS wiki", ast.DropCorpus(Name("wiki"))),
    ("DROP CORPUS IF EXISTS wiki", ast.DropCorpus(Name("wiki"), True)),
    ("DROP CORPUS wiki IF EXISTS", ast.DropCorpus(Name("wiki"), True)),
    ("USE `my ``wiki``; 'x'`", ast.Use(Name("my `wiki`; 'x'"))),
    ("DESCRIBE wiki", ast.Describe(Name("wiki"))),
    ("SHOW CORPORA", ast.Show("corpora")),
    ("SHOW SEGMENTS FROM wiki", ast.Show("segments", source("wiki"))),
    ("SHOW versions", ast.Show("versions")),
    ("SHOW SETTINGS", ast.Show("settings")),
    ("CHECK", ast.Check()),
    ("CHECK wiki", ast.Check(Name("wiki"))),
    ("SET threads = 2", ast.SetSetting(Name("threads"), Value(2))),
    ("SET Progress = off", ast.SetSetting(Name("progress"), Name("off"))),
    ("SET memory_limit = '4 GiB'", ast.SetSetting(Name("memory_limit"), Value("4 GiB"))),
    ("RESET Threads", ast.ResetSetting(Name("threads"))),
]


@pytest.mark.parametrize(("text", "expected"), STATEMENTS, ids=[text for text, _ in STATEMENTS])
def test_statement_gives_its_tree(text: str, expected: ast.Statement) -> None:
    assert parse_statement(text) == expected


@pytest.mark.parametrize("text", [text for text, _ in STATEMENTS])
def test_layout_comments_and_the_case_of_keywords_do_not_matter(text: str) -> None:
    pieces = [text[start:stop] for kind, start, stop in scan(text) if kind != "SPACE"]
    words = [piece.swapcase() if piece.upper() in parser.keywords() else piece for piece in pieces]
    assert parse('/* ; " */\n\t' + " -- '\r\n".join(words) + " ;--end") == parse(text)


@pytest.mark.parametrize("text", ["", " \n", ";", ";;", "-- nothing\n", "/* nothing */ ; \ufeff"])
def test_text_without_statements_gives_none(text: str) -> None:
    assert parse(text) == ()


def test_semicolon_is_optional_for_the_last_statement_only() -> None:
    two = (ast.Count(Text("a")), ast.Check())
    assert parse('COUNT "a"; CHECK') == two
    assert parse(';COUNT "a";; CHECK;') == two
    with pytest.raises(ParseError):
        parse('COUNT "a" CHECK')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a"', A),
        ("?", Contains(Parameter(index=0))),
        ('"a" AND "b" AND "c"', And((A, B, C))),
        ('"a" OR "b" OR "c"', Or((A, B, C))),
        ('"a" OR "b" AND "c"', Or((A, And((B, C))))),
        ('"a" AND "b" OR "c"', Or((And((A, B)), C))),
        ('("a" OR "b") AND "c"', And((Or((A, B)), C))),
        ('NOT "a" AND "b"', And((Not(A), B))),
        ('NOT ("a" AND "b")', Not(And((A, B)))),
        ('NOT NOT "a"', Not(Not(A))),
        ('"a" AND NOT "b" OR NOT "c"', Or((And((A, Not(B))), Not(C)))),
        ('((("a")))', A),
        ('("a" AND "b") AND "c"', And((A, B, C))),
        ('"a" OR ("b" OR "c")', Or((A, B, C))),
    ],
)
def test_condition_gives_its_tree(text: str, expected: ast.Condition) -> None:
    assert parse_condition(text) == expected
    assert parse_statement(f"DOCS WHERE {text}") == ast.Docs(where=expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("infgram", ast.Model("infgram")),
        ("NGRAM", ast.Model("ngram")),
        ("ngram order 5", ast.Model("ngram", Value(5))),
    ],
)
def test_model_stands_alone(text: str, expected: ast.Model) -> None:
    assert parse_model(text) == expected


@pytest.mark.parametrize("text", ["", "DOCS", '"a";', '"a" LIMIT 5', '"a" AND'])
def test_text_around_a_condition_is_refused(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_condition(text)
    assert "statement" not in caught.value.message


def test_unfinished_condition_says_what_could_follow() -> None:
    with pytest.raises(ParseError) as caught:
        parse_condition('"a" "b"')
    assert caught.value.expected == ("AND", "OR", "the end of the condition")


def test_one_statement_means_exactly_one() -> None:
    for text in ("", "CHECK; CHECK"):
        with pytest.raises(ParseError):
            parse_statement(text)
    assert parse_statement(";CHECK;;") == ast.Check()


@pytest.mark.parametrize("word", sorted(parser.keywords()))
def test_every_keyword_can_be_a_name(word: str) -> None:
    assert parse_statement(f"USE {word}") == ast.Use(Name(word))
    assert parse_statement(f"CHECK {word};") == ast.Check(Name(word))
    assert parse_statement(f'COUNT "a" FROM {word.lower()}') == ast.Count(Text("a"), source(word.lower()))
    copy = parse_statement(f"COPY {word} FROM 'x' ({word} 1)")
    assert copy == ast.CopyFrom(Name(word), Value("x"), (Option(Name(word.lower()), Value(1)),))


def test_question_marks_are_numbered_through_the_whole_text() -> None:
    first, second = parse("PROB ? GIVEN :x USING NGRAM ORDER ?; COUNT ?")
    assert first == ast.Prob(Parameter(index=0), Parameter(name="x"), ast.Model("ngram", Parameter(index=1)))
    assert second == ast.Count(Parameter(index=2))


def nodes(value: object) -> Iterator[ast.Node]:
    if isinstance(value, tuple):
        for item in value:
            yield from nodes(item)
    elif isinstance(value, ast.Node):
        yield value
        for field in dataclasses.fields(value):
            yield from nodes(getattr(value, field.name))


@pytest.mark.parametrize("text", [text for text, _ in STATEMENTS])
def test_every_node_has_a_span_inside_its_parent(text: str) -> None:
    (statement,) = parse(f"  {text} ;")
    assert statement.span == ast.Span(2, 2 + len(text))
    for parent in nodes(statement):
        assert parent.span is not None
        for child in nodes(tuple(getattr(parent, field.name) for field in dataclasses.fields(parent))):
            assert child.span is not None
            assert parent.span.start <= child.span.start < child.span.stop <= parent.span.stop


def test_spans_mark_the_text_of_their_node() -> None:
    text = 'DOCS WHERE ("a" OR NOT "b") AND "c" LIMIT 5'
    (statement,) = parse(text)
    marked = {
        type(node).__name__: text[node.span.start : node.span.stop] for node in nodes(statement) if node.span
    }
    assert marked["And"] == '("a" OR NOT "b") AND "c"'
    assert marked["Or"] == '"a" OR NOT "b"'
    assert marked["Not"] == 'NOT "b"'
    assert marked["Value"] == "5"


def test_errors_carry_their_place_and_what_was_expected() -> None:
    with pytest.raises(ParseError) as caught:
        parse('COUNT "a";\nCOUNT "b" LIMIT 5')
    error = caught.value
    assert (error.line, error.column) == (2, 11)
    assert error.text is not None
    assert error.text[error.start : error.stop] == "LIMIT"
    assert error.expected == ("FROM", "the end of the statement")


def test_clause_given_before_is_not_expected_again() -> None:
    with pytest.raises(ParseError) as caught:
        parse("DIST GIVEN ? TOP 5 FROM wiki LIMIT")
    assert caught.value.expected == ("USING", "the end of the statement")


def test_first_mistake_is_the_one_reported() -> None:
    with pytest.raises(ParseError) as caught:
        parse('COUNT "\\q" FORM "open')
    assert caught.value.column == 8


# ---- size, depth, time


def test_literals_of_a_megabyte_are_fine() -> None:
    body = "a b " * 250_000
    assert parse_statement(f'COUNT "{body}"') == ast.Count(Text(body))
    escaped = "\\n" * 500_000
    assert parse_statement(f'COUNT "{escaped}"') == ast.Count(Text("\n" * 500_000))
    ids = tuple(range(150_000))
    assert parse_statement(f"COUNT {list(ids)}") == ast.Count(TokenIds(ids))


def test_many_operands_and_statements_are_fine() -> None:
    condition = parse_condition(" OR ".join(['"a"'] * 20_000))
    assert isinstance(condition, Or)
    assert len(condition.operands) == 20_000
    assert len(parse('COUNT "a";' * 10_000)) == 10_000


def test_parentheses_alone_may_be_nested_at_will() -> None:
    assert parse_condition("(" * 10_000 + '"a"' + ")" * 10_000) == A
    chain = parse_condition("(" * 2_000 + '"a"' + ' AND "b")' * 2_000)
    assert chain == And((A, *[B] * 2_000))


@pytest.mark.parametrize(
    "text",
    [
        "NOT " * 10_000 + '"a"',
        "NOT (" * 10_000 + '"a"' + ")" * 10_000,
        "(" * 10_000 + '"a"' + ' AND "b" OR "c")' * 10_000,
    ],
    ids=["NOT", "NOT (", "AND in OR"],
)
def test_operators_nested_too_deeply_are_refused_by_name(text: str) -> None:
    with pytest.raises(ParseError, match="nested too deeply"):
        parse_condition(text)


def test_operators_may_be_nested_up_to_the_limit() -> None:
    condition = parse_condition("NOT " * MAX_CONDITION_DEPTH + '"a"')
    assert sum(isinstance(node, Not) for node in nodes(condition)) == MAX_CONDITION_DEPTH
    with pytest.raises(ParseError):
        parse_condition("NOT " * (MAX_CONDITION_DEPTH + 1) + '"a"')


@pytest.mark.parametrize("text", ["(" * 10_000, "(" * 10_000 + '"a"', "NOT " * 10_000, ")" * 10_000])
def test_unbalanced_nesting_is_an_ordinary_error(text: str) -> None:
    with pytest.raises(ParseError):
        parse(f"DOCS WHERE {text}")


@pytest.mark.parametrize(
    "piece", ['"', "'", "`", "[", "/*", "*/", "--", "\\", '"\\', "'''", "1e", "-", "é", "[1,", ":"]
)
def test_time_is_linear_in_the_text_whatever_it_is(piece: str) -> None:
    def seconds(n: int) -> float:
        text = piece * n
        return min(timeit.repeat(lambda: list(scan(text)), number=1, repeat=3))

    # Quadratic time would make 16 times the text 256 times as slow; a quarter of that is allowed for noise.
    assert seconds(64_000) < 64 * max(seconds(4_000), 0.001)


def test_short_statement_takes_a_fraction_of_a_millisecond() -> None:
    text = 'PROB "language" GIVEN "natural" USING NGRAM ORDER 5 FROM wiki'
    parse(text)
    assert min(timeit.repeat(lambda: parse(text), number=20, repeat=20)) / 20 < 0.0003


def test_automaton_is_built_once_and_shared_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    build = parser._build

    def counted() -> object:
        built.append(1)
        return build()

    monkeypatch.setattr(parser, "_built", None)
    monkeypatch.setattr(parser, "_build", counted)
    results: list[tuple[ast.Statement, ...]] = []
    barrier = threading.Barrier(8)

    def run(k: int) -> None:
        barrier.wait()
        for _ in range(20):
            results.append(parse(f'PROB ? GIVEN "{k}" FROM c{k}'))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    expected = [(ast.Prob(Parameter(index=0), Text(str(k)), None, source(f"c{k}")),) for k in range(8)]
    assert [results.count(statements) for statements in expected] == [20] * 8
