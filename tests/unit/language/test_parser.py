"""The parser: each construct's tree, spans, and the limits of size, depth and time."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator

import pytest
from support.nested_patterns import LEVELS
from support.polls import cpu_below, n_calls

from ngramdb.errors import ParseError
from ngramdb.language import ast, parser, syntax
from ngramdb.language.ast import (
    And,
    Between,
    Comparison,
    Contains,
    CountIs,
    Field,
    Gap,
    Gapped,
    InList,
    IsNull,
    Like,
    Matching,
    Name,
    Not,
    Option,
    Or,
    OrderBy,
    Overlap,
    Parameter,
    SourceTerm,
    Text,
    TokenIds,
    Value,
    Within,
)
from ngramdb.language.editing import lex
from ngramdb.language.parser import parse, parse_condition, parse_model, parse_pattern, parse_statement
from ngramdb.language.parts import MAX_DEPTH
from ngramdb.language.scanner import scan


def source(name: str) -> ast.Source:
    return ast.Source((ast.SourceTerm(Name(name)),))


def gapped(low: int, high: int) -> Gapped:
    return Gapped((Text("a"), Parameter(index=0)), (Gap(low, high),))


A, B, C = (Contains(Text(letter)) for letter in "abc")

STATEMENTS: list[tuple[str, ast.Statement]] = [
    ('COUNT "the end"', ast.Count(Contains(Text("the end")))),
    ('count ""', ast.Count(Contains(Text("")))),
    ("Count [5613, 4086] From wiki", ast.Count(Contains(TokenIds((5613, 4086))), source=source("wiki"))),
    ("COUNT []", ast.Count(Contains(TokenIds(())))),
    (
        'COUNT "a" OR "b", "c" PER MILLION GROUP BY year / 10 * ?, MONTH(d.e), FORM ORDER BY LEFT 2 DESC',
        ast.Count(
            ast.Or((A, B)),
            others=(C,),
            per_million=True,
            group_by=(
                ast.Divided(Field(("year",)), Value(10), Parameter(index=0)),
                ast.DatePart(Field(("d", "e")), "month"),
                ast.Form(),
            ),
            order_by=(OrderBy(ast.Beside("left", Value(2)), True),),
        ),
    ),
    (
        "DOCS WHERE dup_line_share() > 1 ORDER BY TOP_NGRAM_SHARE(2) "
        "RETURNING x, Dup_Ngram_Share(? AS DataMap)",
        ast.Docs(
            where=Comparison(ast.Called(ast.Name("dup_line_share")), ">", Value(1)),
            order_by=(OrderBy(ast.Called(ast.Name("top_ngram_share"), (Value(2),))),),
            returning=(
                Field(("x",)),
                ast.Called(ast.Name("dup_ngram_share"), (Parameter(index=0),), ast.Name("datamap")),
            ),
        ),
    ),
    (
        "DOCS ORDER BY perplexity(kneser_ney order 5 from wiki)",
        ast.Docs(
            order_by=(
                OrderBy(
                    ast.Called(
                        ast.Name("perplexity"),
                        model=ast.ModelClause("kneser_ney", Value(5)),
                        source=source("wiki"),
                    )
                ),
            ),
        ),
    ),
    (
        'COUNT "a" GROUP BY FLOOR(YEAR(d) / 10) * 10, UNNEST(tags), year, left, form.x, unnest',
        ast.Count(
            A,
            group_by=(
                ast.Divided(ast.DatePart(Field(("d",)), "year"), Value(10), Value(10)),
                ast.Unnested(Field(("tags",))),
                *(Field((name,)) for name in ("year", "left")),
                Field(("form", "x")),
                Field(("unnest",)),
            ),
        ),
    ),
    (
        "CREATE CORPUS a AS (DOCS WHERE year > 1950 LIMIT 5)",
        ast.CreateCorpus(
            ast.Name("a"),
            documents=ast.Docs(where=ast.Comparison(Field(("year",)), ">", Value(1950)), limit=Value(5)),
        ),
    ),
    ("COUNT ?", ast.Count(Contains(Parameter(index=0)))),
    ("COUNT :ngram", ast.Count(Contains(Parameter(name="ngram")))),
    ('COUNT ("a" OR "b") AND "c"', ast.Count(And((Or((A, B)), C)))),
    ('COUNT "a" AND "b" WITHIN 100 TOKENS', ast.Count(Within((A, B), Value(100)))),
    ('COUNT NOT "a"', ast.Count(Not(A))),
    (
        'COUNT "a" TOP 5 SAMPLE 100 SEED ? GROUP BY year, meta.lang'
        ' ORDER BY count DESC, year WHERE "b" FROM wiki',
        ast.Count(
            A,
            where=B,
            group_by=(Field(("year",)), Field(("meta", "lang"))),
            order_by=(OrderBy(Field(("count",)), True), OrderBy(Field(("year",)))),
            top=Value(5),
            sample=ast.Sample(Value(100), Parameter(index=0)),
            source=source("wiki"),
        ),
    ),
    ("COUNT DOCS", ast.CountDocs()),
    ('COUNT DOCS WHERE "a" FROM wiki', ast.CountDocs(A, source=source("wiki"))),
    ('COUNT DOCS FROM wiki WHERE "a"', ast.CountDocs(A, source=source("wiki"))),
    (
        "COUNT DOCS GROUP BY source ORDER BY source ASC TOP ?",
        ast.CountDocs(
            group_by=(Field(("source",)),), order_by=(OrderBy(Field(("source",))),), top=Parameter(index=0)
        ),
    ),
    ('PROB "w" GIVEN "x"', ast.Prob(Text("w"), Text("x"))),
    (
        "PROB [1] GIVEN [2] USING INFGRAM",
        ast.Prob(TokenIds((1,)), TokenIds((2,)), ast.ModelClause("infgram")),
    ),
    (
        "PROB ? GIVEN ? FROM wiki USING NGRAM ORDER 5",
        ast.Prob(Parameter(index=0), Parameter(index=1), ast.ModelClause("ngram", Value(5)), source("wiki")),
    ),
    ('DIST GIVEN "x"', ast.Dist(Text("x"))),
    (
        'DIST GIVEN "x" TOP 10 FROM wiki USING ngram order ?',
        ast.Dist(Text("x"), ast.ModelClause("ngram", Parameter(index=0)), Value(10), source("wiki")),
    ),
    ("SCORE :text USING INFGRAM", ast.Score(Parameter(name="text"), ast.ModelClause("infgram"))),
    (
        'SCORE "a" SENTENCE USING KNESER_NEY',
        ast.Score(Text("a"), ast.ModelClause("kneser_ney"), Name("sentence")),
    ),
    ('SCORE "a" DOCUMENT', ast.Score(Text("a"), unit=Name("document"))),
    ("DOCS", ast.Docs()),
    (
        'DOCS LIMIT 5 OFFSET ? ORDER BY doc_id DESC WHERE "a" FROM wiki',
        ast.Docs(
            A, (OrderBy(Field(("doc_id",)), True),), Value(5), Parameter(index=0), source=source("wiki")
        ),
    ),
    ("DOCS ORDER BY doc_id ASC", ast.Docs(order_by=(OrderBy(Field(("doc_id",))),))),
    (
        "DOCS ORDER BY year DESC, length SAMPLE 10 SEED 3",
        ast.Docs(
            order_by=(OrderBy(Field(("year",)), True), OrderBy(Field(("length",)))),
            sample=ast.Sample(Value(10), Value(3)),
        ),
    ),
    ("DOCS SAMPLE ?", ast.Docs(sample=ast.Sample(Parameter(index=0)))),
    ("DOCS SAMPLE 1e9 TOKENS", ast.Docs(sample=ast.TokenSample(Value(1e9)))),
    (
        "DOCS SAMPLE 9 TOKENS BY YEAR(day) WEIGHTS (2020: 1.5, NULL: ?) SEED 3",
        ast.Docs(
            sample=ast.TokenSample(
                Value(9),
                Value(3),
                ast.DatePart(Field(("day",)), "year"),
                (ast.Weighted(Value(2020), Value(1.5)), ast.Weighted(Value(None), Parameter(index=0))),
            )
        ),
    ),
    (
        "DOCS FROM pile + c4 AT VERSION 3 - takedown AT VERSION ?",
        ast.Docs(
            source=ast.Source(
                (
                    SourceTerm(Name("pile")),
                    SourceTerm(Name("c4"), version=Value(3)),
                    SourceTerm(Name("takedown"), -1, Parameter(index=0)),
                )
            )
        ),
    ),
    ('KWIC "a"', ast.Kwic(Contains(Text("a")))),
    (
        'KWIC "a" [1..3] "b" WINDOW 8 ORDER BY right, doc_id DESC LIMIT 5 OFFSET 2'
        ' SAMPLE 9 SEED 1 WHERE "b" FROM c',
        ast.Kwic(
            Contains(Gapped((Text("a"), Text("b")), (Gap(1, 3),))),
            where=B,
            window=Value(8),
            order_by=(OrderBy(Field(("right",))), OrderBy(Field(("doc_id",)), True)),
            limit=Value(5),
            offset=Value(2),
            sample=ast.Sample(Value(9), Value(1)),
            source=source("c"),
        ),
    ),
    ("NGRAMS 3", ast.Ngrams(Value(3))),
    ('NGRAMS ? TOP 10 WHERE "a" FROM c', ast.Ngrams(Parameter(index=0), A, Value(10), source("c"))),
    ("TRACE ?", ast.Trace(Parameter(index=0))),
    ('TRACE "a" FROM c MIN LENGTH 4', ast.Trace(Text("a"), Value(4), source("c"))),
    ('GENERATE GIVEN "a" TOKENS 20', ast.Generate(Text("a"), Value(20))),
    (
        "GENERATE GIVEN [1] RETURN 2 SEED 7 DIVERSITY 0.5 NUCLEUS 0.9 TOP 40 TEMPERATURE 1"
        " METHOD beam(4) TOKENS ? USING BACKOFF FROM c",
        ast.Generate(
            TokenIds((1,)),
            Parameter(index=0),
            model=ast.ModelClause("backoff"),
            method=ast.Method("beam", Value(4)),
            temperature=Value(1),
            top=Value(40),
            nucleus=Value(0.9),
            diversity=Value(0.5),
            seed=Value(7),
            n_returned=Value(2),
            source=source("c"),
        ),
    ),
    *(
        (
            text,
            ast.Generate(
                Text("a"),
                Value(1),
                model=ast.ModelClause("ngram", Value(2)),
                top=Value(3),
                min_prob=Value(0.1),
                stop=(Text("."), TokenIds((1, 2))),
            ),
        )
        for text in (
            'GENERATE "a" TOKENS 1 USING NGRAM ORDER 2 MIN PROB 0.1 TOP 3 STOP ".", [1, 2]',
            'GENERATE "a" TOKENS 1 STOP ".", [1, 2] USING NGRAM MIN PROB 0.1 ORDER 2 TOP 3',
            'GENERATE "a" TOKENS 1 USING NGRAM ORDER 2 TOP 3 MIN PROB 0.1 STOP ".", [1, 2]',
            'GENERATE "a" TOKENS 1 MIN PROB 0.1 TOP 3 USING NGRAM ORDER 2 STOP ".", [1, 2]',
        )
    ),
    (
        'GENERATE GIVEN "a" TOKENS 1 METHOD GREEDY',
        ast.Generate(Text("a"), Value(1), method=ast.Method("greedy")),
    ),
    (
        'GENERATE GIVEN "a" TOKENS 1 METHOD sample',
        ast.Generate(Text("a"), Value(1), method=ast.Method("sample")),
    ),
    ('GENERATE GIVEN "a" TOKENS 1 METHOD beam', ast.Generate(Text("a"), Value(1), method=ast.Method("beam"))),
    ('EXPLAIN COUNT "a"', ast.Explain(ast.Count(A))),
    ("EXPLAIN ANALYZE DOCS", ast.Explain(ast.Docs(), analyze=True)),
    ("EXPLAIN CHECK", ast.Explain(ast.Check())),
    ("EXPLAIN ANALYZE wiki", ast.Explain(ast.Analyze(Name("wiki")))),
    ("EXPLAIN ANALYZE ANALYZE wiki", ast.Explain(ast.Analyze(Name("wiki")), analyze=True)),
    ("ANALYZE wiki", ast.Analyze(Name("wiki"))),
    ("ANALYZE wiki ORDER 12", ast.Analyze(Name("wiki"), Value(12))),
    ("EXPLAIN ANALYZE wiki ORDER 12", ast.Explain(ast.Analyze(Name("wiki"), Value(12)))),
    ('DELETE DOCS WHERE "a"', ast.Delete(A)),
    (
        'DELETE DOCS FROM wiki RETURNING doc_id, meta.url WHERE "a"',
        ast.Delete(A, (Field(("doc_id",)), Field(("meta", "url"))), source("wiki")),
    ),
    ("DELETE DUPLICATES", ast.DeleteDuplicates()),
    (
        "DELETE DUPLICATES KEEP BY n DESC AGAINST wiki NORMALIZE case, nfc",
        ast.DeleteDuplicates(
            normalize=("CASE", "NFC"),
            keep=ast.Keep((ast.OrderBy(Field(("n",)), True),)),
            against=source("wiki"),
        ),
    ),
    (
        "DECONTAMINATE AGAINST 'x' BY Palm(?) > 0.5 NORMALIZE space WHERE n > 1 DELETE FROM wiki",
        ast.Decontaminate(
            Value("x"),
            by=ast.ByContamination(Name("palm"), Parameter(index=0), ">", Value(0.5)),
            normalize=("SPACE",),
            where=Comparison(Field(("n",)), ">", Value(1)),
            delete=True,
            source=source("wiki"),
        ),
    ),
    (
        "DECONTAMINATE AGAINST ? BY gpt3",
        ast.Decontaminate(Parameter(index=0), by=ast.ByContamination(Name("gpt3"))),
    ),
    ("DELETE DUPLICATES KEEP NONE", ast.DeleteDuplicates(keep=ast.Keep(keeps_one=False))),
    (
        "CUT DUPLICATES LENGTH >= 5 TOKENS KEEP NONE MIN COUNT 3",
        ast.CutDuplicates(length=ast.Length(Value(5)), min_count=Value(3), keep=ast.Keep(keeps_one=False)),
    ),
    (
        "CUT DUPLICATES LENGTH 500 BYTES ON LINES GAP SHARE 0.9 MIN REST 0.1 MAX PIECES 5 AGAINST wiki",
        ast.CutDuplicates(
            length=ast.Length(Value(500), "bytes"),
            on="lines",
            gap_share=Value(0.9),
            min_rest=Value(0.1),
            max_pieces=Value(5),
            against=source("wiki"),
        ),
    ),
    ("NEAR DUPLICATES CANDIDATES INDEX", ast.NearDuplicates()),
    (
        "NEAR DUPLICATES WITH REJECTED AGAINST wiki",
        ast.NearDuplicates(against=source("wiki"), with_rejected=True),
    ),
    (
        "NEAR DUPLICATES CONTAINED >= 0.9 NGRAM 2 WORDS CANDIDATES MINHASH 4*5 KEEP LONGEST LIMIT 3",
        ast.NearDuplicates(
            contained=Value(0.9),
            n=Value(2),
            candidates=ast.MinHash(Value(4), Value(5)),
            keep=ast.Keep(longest=True),
            limit=Value(3),
        ),
    ),
    (
        "DELETE NEAR DUPLICATES CANDIDATES MINHASH KEEP BY n",
        ast.DeleteNearDuplicates(candidates=ast.MinHash(), keep=ast.Keep((ast.OrderBy(Field(("n",))),))),
    ),
    ('CUT SPANS WHERE "a" CONTEXT 2', ast.CutSpans(A, context=Value(2))),
    ("RESTORE CORPUS wiki TO VERSION 4", ast.Restore(Name("wiki"), Value(4))),
    ("RESTORE CORPUS wiki TO VERSION 'a'", ast.Restore(Name("wiki"), Value("a"))),
    ("KEEP VERSION 4 AS 'a'", ast.KeepVersion(Value("a"), Value(4))),
    ("KEEP VERSION AS ?", ast.KeepVersion(Parameter(index=0))),
    ("DROP VERSION 'a'", ast.DropVersion(Value("a"))),
    ("ATTACH 'x' AS pile", ast.Attach(Value("x"), Name("pile"))),
    (
        "ATTACH ? AS `a b` (TYPE infini_gram, TOKENIZER = 'y')",
        ast.Attach(
            Parameter(index=0),
            Name("a b"),
            (Option(Name("type"), Name("infini_gram")), Option(Name("tokenizer"), Value("y"))),
        ),
    ),
    ("DETACH pile", ast.Detach(Name("pile"))),
    ("COMPACT", ast.Compact()),
    ("COMPACT wiki", ast.Compact(Name("wiki"))),
    ("ALTER CORPUS wiki ADD CORPUS news", ast.Alter(Name("wiki"), SourceTerm(Name("news")))),
    (
        "ALTER CORPUS wiki SUBTRACT CORPUS spam AT VERSION 2",
        ast.Alter(Name("wiki"), SourceTerm(Name("spam"), -1, Value(2))),
    ),
    (
        "ALTER CORPUS a DROP FIELD b, c.d",
        ast.DropFields(Name("a"), (Field(("b",)), Field(("c", "d")))),
    ),
    ("ALTER CORPUS a ADD FIELDS FROM ? ON id", ast.AddFields(Name("a"), Parameter(index=0), Field(("id",)))),
    (
        "ALTER CORPUS a ADD FIELDS FROM 'x' ON m.id (b, c) REPLACE",
        ast.AddFields(Name("a"), Value("x"), Field(("m", "id")), (Field(("b",)), Field(("c",))), True),
    ),
    (
        'UPDATE a SET b.c = d / 10, set = NULL WHERE "a"',
        ast.Update(
            Name("a"),
            (
                ast.Assignment(Field(("b", "c")), ast.Divided(Field(("d",)), Value(10))),
                ast.Assignment(Field(("set",)), Value(None)),
            ),
            A,
        ),
    ),
    (
        "COPY (DOCS WHERE \"a\" FROM wiki LIMIT 5) TO 'x.jsonl.zst' (FORMAT jsonl)",
        ast.CopyTo(
            ast.Docs(A, limit=Value(5), source=source("wiki")),
            Value("x.jsonl.zst"),
            (Option(Name("format"), Name("jsonl")),),
        ),
    ),
    ("COPY (DOCS) TO ?", ast.CopyTo(ast.Docs(), Parameter(index=0))),
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
    ("SHOW REMOVALS FROM wiki", ast.Show("removals", source("wiki"))),
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
    spans = [span for span in lex(text) if span[2] != "space"]
    words = [text[a:b].swapcase() if kind == "keyword" else text[a:b] for a, b, kind in spans]
    assert parse('/* ; " */\n\t' + " -- '\r\n".join(words) + " ;--end") == parse(text)


@pytest.mark.parametrize("text", ["", " \n", ";", ";;", "-- nothing\n", "/* nothing */ ; \ufeff"])
def test_text_without_statements_gives_none(text: str) -> None:
    assert parse(text) == ()


def test_semicolon_is_optional_for_the_last_statement_only() -> None:
    two = (ast.Count(A), ast.Check())
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


YEAR, LANG = Field(("year",)), Field(("lang",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("year = 2019", Comparison(YEAR, "=", Value(2019))),
        ("year != 2019", Comparison(YEAR, "!=", Value(2019))),
        ("year <> 2019", Comparison(YEAR, "!=", Value(2019))),
        ("year<-2019", Comparison(YEAR, "<", Value(-2019))),
        ("year <= ?", Comparison(YEAR, "<=", Parameter(index=0))),
        ("year > 1.5", Comparison(YEAR, ">", Value(1.5))),
        ("lang>='it''s'", Comparison(LANG, ">=", Value("it's"))),
        ("open = TRUE", Comparison(Field(("open",)), "=", Value(True))),
        ("`my year` = 1", Comparison(Field(("my year",)), "=", Value(1))),
        ("meta.`a.b`.year = 1", Comparison(Field(("meta", "a.b", "year")), "=", Value(1))),
        ("meta . year = 1", Comparison(Field(("meta", "year")), "=", Value(1))),
        ("count > 3", Comparison(Field(("count",)), ">", Value(3))),
        ("count /* ( */ -- (\n > 3", Comparison(Field(("count",)), ">", Value(3))),
        ("count.docs IS NULL", IsNull(Field(("count", "docs")))),
        ("overlap IN (1)", InList(Field(("overlap",)), (Value(1),))),
        ("year BETWEEN 2019 AND 2021", Between(YEAR, Value(2019), Value(2021))),
        ("year NOT BETWEEN ? AND ?", Not(Between(YEAR, Parameter(index=0), Parameter(index=1)))),
        ('year BETWEEN 1 AND 2 AND "a"', And((Between(YEAR, Value(1), Value(2)), A))),
        (
            "lang IN ('en', ?, NULL, 3)",
            InList(LANG, (Value("en"), Parameter(index=0), Value(None), Value(3))),
        ),
        ("lang NOT IN ('en')", Not(InList(LANG, (Value("en"),)))),
        ("lang LIKE 'e%'", Like(LANG, Value("e%"))),
        ("lang ILIKE 'e%'", Like(LANG, Value("e%"), True)),
        ("lang NOT LIKE 'e%'", Not(Like(LANG, Value("e%")))),
        ("lang NOT ILIKE :x", Not(Like(LANG, Parameter(name="x"), True))),
        ("lang IS NULL", IsNull(LANG)),
        ("lang IS NOT NULL", Not(IsNull(LANG))),
        ("NOT lang IS NOT NULL", Not(Not(IsNull(LANG)))),
        ('COUNT("a") >= 3', CountIs(Text("a"), ">=", Value(3))),
        ('COUNT ("a" [0..2] ?) <> ?', CountIs(gapped(0, 2), "!=", Parameter(index=1))),
        ('COUNT("a" IGNORE CASE) = 1', CountIs(Matching(Text("a"), None, True), "=", Value(1))),
        (
            "OVERLAP(eval + dev AT VERSION 2, 13) >= 0.8",
            Overlap(
                ast.Source((SourceTerm(Name("eval")), SourceTerm(Name("dev"), version=Value(2)))),
                Value(13),
                ">=",
                Value(0.8),
            ),
        ),
        ("text ~ /12 a/", Contains(ast.RawText(ast.Regex("12 a")))),
        ("TEXT ~ Email", Contains(ast.RawText(Name("Email")))),
        ("TEXT ~ ? IGNORE CASE", Contains(ast.RawText(Parameter(index=0), ignore_case=True))),
        ("text = 'a'", Comparison(Field(("text",)), "=", Value("a"))),
        ('"a" AND lang = \'x\' OR "b"', Or((And((A, Comparison(LANG, "=", Value("x")))), B))),
    ],
)
def test_condition_on_a_field_gives_its_tree(text: str, expected: ast.Condition) -> None:
    assert parse_condition(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a" AND "b" WITHIN 5 TOKENS', Within((A, B), Value(5))),
        ('"a" AND "b" AND "c" WITHIN ? TOKENS', Within((A, B, C), Parameter(index=0))),
        ('("a" AND "b") WITHIN 5 TOKENS', Within((A, B), Value(5))),
        ('(("a" AND "b" WITHIN 5 TOKENS))', Within((A, B), Value(5))),
        ('"a" AND NOT "b" WITHIN 5 TOKENS', Within((A, Not(B)), Value(5))),
        ('"a" AND "b" WITHIN 5 TOKENS AND "c"', And((Within((A, B), Value(5)), C))),
        ('"c" AND ("a" AND "b" WITHIN 5 TOKENS)', And((C, Within((A, B), Value(5))))),
        ('"c" OR "a" AND "b" WITHIN 5 TOKENS', Or((C, Within((A, B), Value(5))))),
        ('NOT ("a" AND "b" WITHIN 5 TOKENS)', Not(Within((A, B), Value(5)))),
        (
            '"a" AND "b" WITHIN 5 TOKENS AND "c" WITHIN 9 TOKENS',
            Within((Within((A, B), Value(5)), C), Value(9)),
        ),
    ],
)
def test_within_belongs_to_the_conjunction_before_it(text: str, expected: ast.Condition) -> None:
    assert parse_condition(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a" MATCH TEXT', Matching(Text("a"), text=True)),
        ('"a" match tokens', Matching(Text("a"), text=False)),
        ('"a" IGNORE CASE', Matching(Text("a"), ignore_case=True)),
        ('"a" IGNORE CASE MATCH TEXT', Matching(Text("a"), text=True, ignore_case=True)),
        ("[1] IGNORE CASE", Matching(TokenIds((1,)), ignore_case=True)),
        ("? MATCH TEXT", Matching(Parameter(index=0), text=True)),
        ('"a" [1..3] ?', gapped(1, 3)),
        ('"a" [ 0 .. 0 ] ?', gapped(0, 0)),
        (
            '"a" IGNORE CASE [1..2] "b" [3..4] [7]',
            Gapped(
                (Matching(Text("a"), ignore_case=True), Text("b"), TokenIds((7,))),
                (Gap(1, 2), Gap(3, 4)),
            ),
        ),
    ],
)
def test_pattern_gives_its_tree(text: str, expected: ast.Pattern) -> None:
    assert parse_condition(text) == Contains(expected)
    assert parse_statement(f"KWIC {text} WINDOW 3") == ast.Kwic(Contains(expected), window=Value(3))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("infgram", ast.ModelClause("infgram")),
        ("NGRAM", ast.ModelClause("ngram")),
        ("ngram order 5", ast.ModelClause("ngram", Value(5))),
        ("NGRAM MIN COUNT 2 ORDER 5", ast.ModelClause("ngram", Value(5), min_count=Value(2))),
        ("INFGRAM ORDER 5", ast.ModelClause("infgram", order=Value(5))),
        ("INFGRAM MIN COUNT ?", ast.ModelClause("infgram", min_count=Parameter(index=0))),
        ("backoff(0.4)", ast.ModelClause("backoff", weight=Value(0.4))),
        (
            "BACKOFF (?) ORDER 3 MIN COUNT 4",
            ast.ModelClause("backoff", Value(3), Parameter(index=0), Value(4)),
        ),
        ("BACKOFF ORDER 3", ast.ModelClause("backoff", Value(3))),
        ("kneser_ney order 5", ast.ModelClause("kneser_ney", Value(5))),
        ("Kneser_Ney", ast.ModelClause("kneser_ney")),
    ],
)
def test_model_stands_alone(text: str, expected: ast.ModelClause) -> None:
    assert parse_model(text) == expected
    assert parse_statement(f'SCORE "a" USING {text} FROM c') == ast.Score(
        Text("a"), expected, source=source("c")
    )


@pytest.mark.parametrize("text", ["", "DOCS", '"a";', '"a" LIMIT 5', '"a" AND'])
def test_text_around_a_condition_is_refused(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_condition(text)
    assert "statement" not in caught.value.message


def test_unfinished_condition_says_what_could_follow() -> None:
    with pytest.raises(ParseError) as caught:
        parse_condition('"a" FROM')
    assert caught.value.expected == ("AND", "OR", "WITHIN SENTENCE", "the end of the condition")


def test_one_statement_means_exactly_one() -> None:
    for text in ("", "CHECK; CHECK"):
        with pytest.raises(ParseError):
            parse_statement(text)
    assert parse_statement(";CHECK;;") == ast.Check()


@pytest.mark.parametrize("word", sorted(parser.keywords()))
def test_every_keyword_can_be_a_name(word: str) -> None:
    assert parse_statement(f"USE {word}") == ast.Use(Name(word))
    assert parse_statement(f"CHECK {word};") == ast.Check(Name(word))
    assert parse_statement(f'COUNT "a" FROM {word.lower()}') == ast.Count(A, source=source(word.lower()))
    copy = parse_statement(f"COPY {word} FROM 'x' ({word} 1)")
    assert copy == ast.CopyFrom(Name(word), Value("x"), (Option(Name(word.lower()), Value(1)),))


def test_question_marks_are_numbered_through_the_whole_text() -> None:
    first, second = parse("PROB ? GIVEN :x USING NGRAM ORDER ?; COUNT ?")
    assert first == ast.Prob(
        Parameter(index=0), Parameter(name="x"), ast.ModelClause("ngram", Parameter(index=1))
    )
    assert second == ast.Count(Contains(Parameter(index=2)))


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
        parse('COUNT "a";\nCOUNT "b" OFFSET 5')
    error = caught.value
    assert (error.line, error.column) == (2, 11)
    assert error.text is not None
    assert error.text[error.start : error.stop] == "OFFSET"
    assert error.expected == (
        *("AND", "OR", "WITHIN SENTENCE", "FROM", "WHERE", "GROUP BY", "PER MILLION", "ORDER BY"),
        *("TOP", "LIMIT", "SAMPLE", "','", "the end of the statement"),
    )


def test_clause_given_before_is_not_expected_again() -> None:
    with pytest.raises(ParseError) as caught:
        parse("DIST GIVEN ? TOP 5 FROM wiki OFFSET")
    assert caught.value.expected == ("AT VERSION", "WHERE", "USING", "the end of the statement")


def test_first_mistake_is_the_one_reported() -> None:
    with pytest.raises(ParseError) as caught:
        parse('COUNT "\\q" FORM "open')
    assert caught.value.column == 8


# ---- size, depth, time


def test_literals_of_a_megabyte_are_fine() -> None:
    body = "a b " * 250_000
    assert parse_statement(f'COUNT "{body}"') == ast.Count(Contains(Text(body)))
    escaped = "\\n" * 500_000
    assert parse_statement(f'COUNT "{escaped}"') == ast.Count(Contains(Text("\n" * 500_000)))
    ids = tuple(range(150_000))
    assert parse_statement(f"COUNT {list(ids)}") == ast.Count(Contains(TokenIds(ids)))


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
    condition = parse_condition("NOT " * MAX_DEPTH + '"a"')
    assert sum(isinstance(node, Not) for node in nodes(condition)) == MAX_DEPTH
    with pytest.raises(ParseError):
        parse_condition("NOT " * (MAX_DEPTH + 1) + '"a"')


@pytest.mark.parametrize(("opening", "closing", "size"), LEVELS)
def test_patterns_may_be_nested_up_to_the_limit(opening: str, closing: str, size: int) -> None:
    def nested(n: int) -> str:
        return opening * n + '"a"' + closing * n

    assert parse_pattern(nested(MAX_DEPTH // size)).depth in range(MAX_DEPTH - size, MAX_DEPTH + 1)
    for n in (MAX_DEPTH + 1, 3000):
        with pytest.raises(ParseError, match="the pattern is nested too deeply: at most 100"):
            parse_pattern(nested(n))


@pytest.mark.parametrize("text", ["(" * 10_000, "(" * 10_000 + '"a"', "NOT " * 10_000, ")" * 10_000])
def test_unbalanced_nesting_is_an_ordinary_error(text: str) -> None:
    with pytest.raises(ParseError):
        parse(f"DOCS WHERE {text}")


@pytest.mark.parametrize(
    "piece", ['"', "'", "`", "[", "/*", "*/", "--", "\\", '"\\', "'''", "1e", "-", "é", "[1,", ":"]
)
def test_time_is_linear_in_the_text_whatever_it_is(piece: str) -> None:
    with cpu_below(60):  # a second; quadratic time would be hours
        assert list(scan(piece * 400_000))


def test_short_statement_takes_few_calls() -> None:
    text = 'PROB "language" GIVEN "natural" USING NGRAM ORDER 5 FROM wiki'
    parse(text)
    assert n_calls(lambda: parse(text)) < 1200


def test_automaton_is_built_once_and_shared_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    build = syntax._build

    def counted() -> object:
        built.append(1)
        return build()

    monkeypatch.setattr(syntax, "_built", None)
    monkeypatch.setattr(syntax, "_build", counted)
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
