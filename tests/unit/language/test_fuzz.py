"""Random texts: the parser answers with a tree or with ParseError, never with anything else."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.registered import STATEMENTS

from ngramdb.errors import ParseError
from ngramdb.language import ast, parser
from ngramdb.language.parser import parse, parse_condition, parse_model, parse_statement
from ngramdb.registries import ASSOCIATION_MEASURES, KEYNESS_MEASURES

words = st.sampled_from(sorted(parser.keywords()))
whole = [
    "wiki",
    "`a b`",
    '"a"',
    '"\\u0041\\n"',
    "[1, 2]",
    "[]",
    "[1..3]",
    "/a+/",
    "{1,3}",
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
    "<",
    ">=",
    "!=",
    ".",
    "+",
    "-",
    "==",
    "&&",
    '"',
    "'",
    "`",
    "[",
    "/",
    "{",
    "|",
    "*",
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


@pytest.mark.slow
@settings(max_examples=600)
@given(programs)
def test_any_row_of_tokens_is_parsed_or_refused(text: str) -> None:
    check(text)


# ---- statements made by the grammar itself

names = st.sampled_from(["wiki", "limit", "`my docs`", "docs", "_x1", "count", "within"])
ngrams = st.sampled_from(['"a b"', '""', "[1, 2]", "[]", "?", ":p"])
strings = st.sampled_from(["'x'", "'it''s'", "?"])
amounts = st.sampled_from(["0", "5", "?", ":k"])
numbers = amounts | st.sampled_from(["-1", "2.5", "1e-3"])
scalars = strings | numbers | st.sampled_from(["TRUE", "false"])
values = scalars | st.sampled_from(["null", "jsonl"])


def listed(items: st.SearchStrategy[str], size: int = 3) -> st.SearchStrategy[str]:
    return st.lists(items, min_size=1, max_size=size).map(", ".join)


def filled(template: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda chosen: template.format(*chosen))


terms = names | filled("{} AT VERSION {}", names, amounts)
sources = st.lists(terms, min_size=1, max_size=3).flatmap(
    lambda chosen: st.sampled_from([" + ", " - ", "+"]).map(lambda sign: sign.join(chosen))
)
# `docs` needs its backquotes behind COUNT.
keys_of_fields = st.sampled_from(["year", "limit", "`my docs`", "`docs`", "count", "within", "overlap"])
fields = st.lists(keys_of_fields, min_size=1, max_size=3).map(".".join)
calls = st.sampled_from(
    [
        "DUP_NGRAM_SHARE(5)",
        "top_ngram_share(? AS DataMap)",
        "Dup_Line_Share()",
        "DUP_LINE_SHARE(AS datatrove)",
        "PERPLEXITY(KNESER_NEY ORDER 5 MIN COUNT ? FROM a + `docs` AT VERSION 2)",
        "perplexity(backoff (0.5))",
    ]
)
dated = fields | calls | filled("{}({})", st.sampled_from(["YEAR", "month", "Day"]), fields)
factors = st.sampled_from(["10", "?", "2.5", ":k"])
divided = dated | filled("{} / {}", dated, factors) | filled("FLOOR({} / {}) * {}", dated, factors, factors)
group_keys = st.one_of(
    divided,
    fields.map("UNNEST({})".format),
    filled("{} {}", st.sampled_from(["LEFT", "right"]), amounts),
    st.just("FORM"),
)
parts = ngrams.flatmap(
    lambda ngram: st.sampled_from(["", " MATCH TEXT", " IGNORE CASE", " MATCH TOKENS IGNORE CASE"]).map(
        ngram.__add__
    )
)
patterns = (
    parts | filled("{} [0..2] {}", parts, parts) | filled("{} [1..1] {} [2..30] {}", parts, parts, parts)
)
operators = st.sampled_from(["=", "!=", "<>", "<", "<=", ">", ">="])
nots = st.sampled_from(["", "NOT "])
simple = st.one_of(
    patterns,
    filled("COUNT({}) {} {}", patterns, operators, amounts),
    filled("{} {} {}", dated, operators, scalars),
    filled("{} {}BETWEEN {} AND {}", fields, nots, scalars, scalars),
    filled("{} {}IN ({})", fields, nots, listed(scalars | st.just("NULL"))),
    filled("{} {}LIKE {}", fields, nots, strings),
    filled("{} IS {}NULL", dated, nots),
    filled("OVERLAP({}, {}) {} {}", sources, amounts, operators, numbers),
    filled(
        "TEXT ~ {}{}",
        st.sampled_from(["/a.*b/", "/12 x/", "?", "email"]),
        st.sampled_from(["", " IGNORE CASE"]),
    ),
)
# A tree of conditions: how its parts are put together, by the number of the shape.
joints = [
    lambda parts: f"NOT ({parts[0]})",
    lambda parts: f"({' AND '.join(parts)})",
    lambda parts: f"({' OR '.join(parts)})",
    lambda parts: f"({' AND '.join(parts)} WITHIN 5 TOKENS)",
    lambda parts: f"(({' AND '.join(parts)}) WITHIN ? TOKENS)",
    lambda parts: f"({' AND '.join(parts)} WITHIN 5 TOKENS AND NOT {parts[0]})",
]
conditions = st.recursive(
    simple,
    lambda inner: st.tuples(st.sampled_from(joints), st.lists(inner, min_size=2, max_size=4)).map(
        lambda chosen: chosen[0](chosen[1])
    ),
    max_leaves=12,
)
keys = listed(filled("{}{}", fields, st.sampled_from(["", " ASC", " DESC"])))
samples = amounts | filled("{} SEED {}", amounts, amounts)
token_samples = st.tuples(
    filled("{} TOKENS", amounts | st.sampled_from(["1e9", "2.5"])),
    st.one_of(
        st.just(""),
        filled(" BY {}", dated),
        filled(" BY {} WEIGHTS ({})", dated, listed(filled("{}: {}", scalars | st.just("NULL"), numbers))),
    ),
    st.just("") | filled(" SEED {}", amounts),
).map("".join)
models = st.one_of(
    st.sampled_from(
        [
            "INFGRAM",
            "NGRAM",
            "BACKOFF",
            "KNESER_NEY",
            "kneser_ney MIN COUNT 2 ORDER ?",
            "witten_bell",
            "pitman_yor",
            "katz",
            "skip_kneser_ney",
        ]
    ),
    amounts.map("NGRAM ORDER {}".format),
    filled("BACKOFF({}) ORDER {}", numbers, amounts),
    amounts.map("INFGRAM MIN COUNT {}".format),
    amounts.map("INFGRAM ORDER {}".format),
)
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


docs = statement(
    st.just("DOCS"),
    FROM=sources,
    WHERE=conditions,
    LIMIT=amounts,
    OFFSET=amounts,
    ORDER_BY=keys,
    SAMPLE=samples | token_samples,
)
compared = st.one_of(sources, conditions.map("WHERE {}".format), filled("{} WHERE {}", sources, conditions))
measured = st.one_of(compared, ngrams, st.sampled_from(["'a.txt'", "'a.txt' (format = 'lines')"]))
sources_where = st.one_of(sources, filled("{} WHERE {}", sources, conditions))
orders = st.one_of(amounts, st.sampled_from(["1..5", "INF"]))
methods = st.sampled_from(["GREEDY", "sample", "BEAM", "beam(4)"])
cut_rules = {
    "ON": st.sampled_from(["CHARACTERS", "WORDS", "LINES"]),
    "GAP_SHARE": st.just("0.5"),
    "MIN_REST": st.just("0.5"),
    "MAX_PIECES": amounts,
}
# By the class of what is parsed.
near_clauses = {
    "FROM": sources,
    "WHERE": conditions,
    "CONTAINED": numbers.map(">= {}".format),
    "NGRAM": amounts.map("{} WORDS".format),
    "CANDIDATES": st.sampled_from(["INDEX", "MINHASH", "MINHASH 26*11", "minhash ? * 2"]),
    "KEEP": st.sampled_from(["FIRST", "LONGEST", "BY year DESC, n"]),
    "AGAINST": sources,
}
shapes: dict[type[ast.Node], st.SearchStrategy[str]] = {
    ast.Docs: docs,
    ast.Count: statement(
        listed(conditions).map("COUNT {}".format),
        FROM=sources,
        WHERE=conditions,
        PER=st.just("MILLION"),
        GROUP_BY=listed(group_keys),
        ORDER_BY=listed(group_keys | group_keys.map("{} DESC".format)),
        TOP=amounts,
        SAMPLE=samples,
    ),
    ast.CountDocs: statement(
        st.just("COUNT DOCS"), FROM=sources, WHERE=conditions, GROUP_BY=listed(group_keys), TOP=amounts
    ),
    ast.Kwic: statement(
        conditions.map("KWIC {}".format),
        FROM=sources,
        WHERE=conditions,
        WINDOW=amounts,
        ORDER_BY=keys,
        LIMIT=amounts,
        OFFSET=amounts,
        SAMPLE=samples,
    ),
    ast.Collocates: statement(
        conditions.map("COLLOCATES OF {}".format),
        FROM=sources,
        WHERE=conditions,
        WINDOW=st.one_of(
            amounts,
            filled("{} {}", amounts, st.sampled_from(["LEFT", "RIGHT"])),
            filled("{} LEFT {} right", amounts, amounts),
        ),
        BY=st.sampled_from([*ASSOCIATION_MEASURES, "LL"]),
        MIN_COUNT=amounts,
        TOP=amounts,
    ),
    ast.Keywords: statement(
        filled("KEYWORDS OF {} AGAINST {}", compared, compared | st.just("REST")),
        FROM=sources,
        NGRAMS=amounts,
        BY=st.sampled_from([*KEYNESS_MEASURES, "SIMPLE(0.5)", "simple(?)"]),
        MIN_COUNT=amounts,
        LIMIT=amounts,
    ),
    ast.Dispersion: statement(
        conditions.map("DISPERSION OF {}".format),
        FROM=sources,
        WHERE=conditions,
        BY=st.just("DOCUMENTS") | fields,
    ),
    ast.Perplexity: statement(
        measured.map("PERPLEXITY OF {}".format),
        FROM=sources_where,
        USING=listed(models),
        ORDERS=listed(orders),
        BY=st.sampled_from(["DOCUMENTS", "lines"]) | fields,
    ),
    ast.Agreement: statement(
        measured.map("AGREEMENT OF {}".format),
        FROM=sources_where,
        USING=listed(models),
        ORDERS=listed(orders),
        BY=st.sampled_from(["LENGTH", "count", "DOCUMENTS", "LINES", "'p.npy'"]) | fields,
        SKIP=amounts,
        WITH_ARGMAX=st.just(""),
    ),
    ast.Novelty: statement(
        measured.map("NOVELTY OF {}".format),
        FROM=sources_where,
        NGRAMS=amounts | st.just("1..20"),
        BY=st.sampled_from(["DOCUMENTS", "lines", "TOKENS"]) | fields,
    ),
    ast.TraceTexts: statement(measured.map("TRACE OF {}".format), FROM=sources_where, MIN_LENGTH=amounts),
    ast.Continuations: statement(ngrams.map("CONTINUATIONS OF {}".format), FROM=sources, WHERE=conditions),
    ast.Duplicates: statement(
        st.just("DUPLICATES"),
        FROM=sources,
        WHERE=conditions,
        LENGTH=filled("{} {}", amounts, st.sampled_from(["", "TOKENS", "bytes"]))
        | amounts.map(">= {}".format),
        MIN_COUNT=amounts,
        AGAINST=sources,
        BY=st.sampled_from(["DOCUMENTS", "LENGTH", "COUNT"]),
        ORDER_BY=st.sampled_from(["waste DESC", "count, length", "share DESC, doc_id"]),
        LIMIT=amounts,
        OFFSET=amounts,
    ),
    ast.DistBefore: statement(
        ngrams.map("DIST BEFORE {}".format), FROM=sources, WHERE=conditions, LIMIT=amounts
    ),
    ast.Ngrams: statement(
        filled("NGRAMS {}", amounts | st.sampled_from(["2..5", "1..3 IGNORE CASE"])),
        FROM=sources,
        WHERE=conditions,
        MIN_COUNT=amounts,
        CONTAINING=ngrams,
        STARTING=ngrams | ngrams.map("WITH {}".format),
        ENDING=ngrams,
        WITH=st.just("DOCS"),
        TOP=amounts,
    ),
    ast.Trace: statement(
        ngrams.map("TRACE {}".format),
        FROM=sources,
        WHERE=conditions,
        MIN_LENGTH=amounts,
        RETURNING=listed(fields | calls),
    ),
    ast.Prob: statement(
        filled("PROB {} GIVEN {}", ngrams, ngrams), FROM=sources, WHERE=conditions, USING=models
    ),
    ast.Dist: statement(
        ngrams.map("DIST GIVEN {}".format), FROM=sources, WHERE=conditions, USING=models, TOP=amounts
    ),
    ast.Score: statement(
        filled("SCORE {}{}", ngrams, st.sampled_from(["", " SENTENCE", " DOCUMENT"])),
        FROM=sources,
        WHERE=conditions,
        USING=models,
    ),
    ast.Generate: statement(
        filled("GENERATE GIVEN {} TOKENS {}", ngrams, amounts),
        FROM=sources,
        WHERE=conditions,
        USING=models,
        METHOD=methods,
        TEMPERATURE=numbers,
        TOP=amounts,
        NUCLEUS=numbers,
        DIVERSITY=numbers,
        MIN_PROB=numbers,
        STOP=st.lists(ngrams, min_size=1, max_size=3).map(", ".join),
        SEED=amounts,
        RETURN=amounts,
    ),
    ast.CreateCorpus: statement(
        names.map("CREATE CORPUS {}".format), TOKENIZER=strings, WITH=options, AS=docs.map("({})".format)
    ),
    ast.CopyFrom: statement(
        filled("COPY {} FROM {} {}", names, strings, options), ON_ERROR=st.sampled_from(["SKIP", "FAIL"])
    ),
    ast.CopyTo: filled("COPY ({}) TO {} {}", docs, strings, options),
    ast.Delete: statement(
        conditions.map("DELETE DOCS WHERE {}".format), FROM=sources, RETURNING=listed(fields | calls)
    ),
    ast.Decontaminate: statement(
        filled("DECONTAMINATE AGAINST {}{}", strings, st.just("") | options.map(" {}".format)),
        FROM=sources,
        BY=st.sampled_from(["palm", "decon", "GPT3(5)", "Longest(?) > 0.5", "llama2 >= :p"]),
        NORMALIZE=st.sampled_from(["CASE", "SPACE, CASE", "QUOTES, NFC"]),
        WHERE=conditions,
        DELETE=st.just(""),
    ),
    ast.DeleteDuplicates: statement(
        st.just("DELETE DUPLICATES"),
        FROM=sources,
        WHERE=conditions,
        NORMALIZE=st.sampled_from(["CASE", "SPACE, NFC"]),
        KEEP=st.sampled_from(["FIRST", "NONE", "BY year DESC, n"]),
        AGAINST=sources,
    ),
    ast.CutDuplicates: statement(
        st.just("CUT DUPLICATES"),
        FROM=sources,
        WHERE=conditions,
        LENGTH=st.sampled_from([">= 3 TOKENS", "9 BYTES", ">= 4"]),
        MIN_COUNT=amounts,
        KEEP=st.sampled_from(["FIRST", "NONE", "BY year DESC, n"]),
        AGAINST=sources,
        **cut_rules,
    ),
    ast.CutSpans: statement(
        conditions.map("CUT SPANS WHERE {}".format), FROM=sources, CONTEXT=amounts, **cut_rules
    ),
    ast.NearDuplicates: statement(
        st.just("NEAR DUPLICATES"), **near_clauses, WITH=st.just("REJECTED"), LIMIT=amounts
    ),
    ast.DeleteNearDuplicates: statement(st.just("DELETE NEAR DUPLICATES"), **near_clauses),
    ast.Restore: filled("RESTORE CORPUS {} TO VERSION {}", names, amounts | strings),
    ast.KeepVersion: filled("KEEP VERSION {} AS {}", amounts | st.just(""), strings),
    ast.DropVersion: filled("DROP VERSION {}", strings),
    ast.Compact: names.map("COMPACT {}".format) | st.just("COMPACT"),
    ast.AddFields: filled(
        "ALTER CORPUS {} ADD FIELDS FROM {} ON {} {} {}",
        names,
        strings,
        fields,
        listed(fields).map("({})".format) | st.just(""),
        st.sampled_from(["", "REPLACE"]),
    ),
    ast.DropFields: filled("ALTER CORPUS {} DROP FIELD {}", names, listed(fields)),
    ast.Update: statement(
        filled(
            "UPDATE {} SET {}",
            names,
            listed(filled("{} = {}", fields, divided | values.filter(lambda value: value != "jsonl"))),
        ),
        WHERE=conditions,
    ),
    ast.Alter: filled("ALTER CORPUS {} {} CORPUS {}", names, st.sampled_from(["ADD", "SUBTRACT"]), terms),
    ast.Analyze: filled("ANALYZE {}{}", names, st.sampled_from(["", " ORDER 3", " ORDER ?"])),
    ast.DropCorpus: filled("DROP CORPUS {}{}", st.sampled_from(["", "IF EXISTS "]), names),
    ast.Attach: filled("ATTACH {} AS {} {}", strings, names, options),
    ast.Detach: names.map("DETACH {}".format),
    ast.Use: names.map("USE {}".format),
    ast.Describe: names.map("DESCRIBE {}".format),
    ast.Show: statement(st.sampled_from(["SHOW CORPORA", "SHOW SEGMENTS", "SHOW REMOVALS"]), FROM=sources),
    ast.Check: names.map("CHECK {}".format) | st.just("CHECK"),
    ast.SetSetting: filled("SET {} = {}", names, values),
    ast.ResetSetting: names.map("RESET {}".format),
}
explainable = st.one_of(*shapes.values())
# EXPLAIN before ANALYZE runs a question and measures it: of a corpus named `count`, half a statement.
statements = explainable | st.one_of(
    *(shape.map("EXPLAIN {}".format) for kind, shape in shapes.items() if kind is not ast.Analyze)
)


def test_every_kind_of_statement_is_drawn() -> None:
    assert set(shapes) == set(STATEMENTS) - {ast.Explain}


@pytest.mark.parametrize("kind", shapes)
def test_a_shape_is_parsed_as_its_kind(kind: type[ast.Node]) -> None:
    @settings(max_examples=20)
    @given(shapes[kind])
    def check_kind(text: str) -> None:
        assert type(parse_statement(text)) is kind

    check_kind()


@given(st.lists(statements, max_size=4))
def test_every_statement_of_the_grammar_is_parsed(texts: list[str]) -> None:
    assert len(parse(";".join(texts))) == len(texts)


@given(statements, st.data())
def test_mutilated_statement_is_parsed_or_refused(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(cut, len(text)))
    check(text[:cut] + data.draw(tokens | st.just("")) + text[stop:])
