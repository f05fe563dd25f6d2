"""Statements as `.help` shows them: their syntax and examples."""

from __future__ import annotations

import re
from functools import cache

from ngramdb.questions.definition import Help, request_named
from ngramdb.registries import ASSOCIATION_MEASURES, KEYNESS_MEASURES

# Addresses of questions, in the order of the grammar and in that of the examples.
_IN_GRAMMAR = (
    *("count", "documents", "concordance", "collocates", "keywords", "dispersion", "ngrams", "trace"),
    *("probability", "next", "before", "score", "generate"),
)
_IN_EXAMPLES = (
    *("count", "concordance", "collocates", "keywords", "dispersion", "ngrams", "documents", "probability"),
    *("next", "before", "score", "generate", "trace"),
)
# Examples of other statements.
_STATEMENTS: tuple[tuple[str, str], ...] = (
    ('EXPLAIN COUNT "of the"', "the plan of a question"),
    ("CREATE CORPUS wiki TOKENIZER 'words'", "a new, empty corpus"),
    ("CREATE CORPUS late AS (DOCS WHERE year > 2000)", "some documents as a corpus of their own"),
    ("COPY wiki FROM 'data/*.jsonl.gz' (FORMAT jsonl)", "documents into it"),
    ("USE wiki", "questions without FROM go to this corpus"),
    ("ATTACH '/data/pile' AS pile (TYPE infini_gram)", "an index of infini-gram's as a corpus"),
    ("DESCRIBE wiki", "its size and its metadata fields"),
    ("ANALYZE wiki", "takes what Kneser-Ney's discounts come from"),
    ("KEEP VERSION AS 'raw'", "the database as it is now, to RESTORE or read AT VERSION 'raw'"),
    ("CHECK wiki", "whether every file of it is sound"),
    ("SHOW CORPORA", "all corpora; also SEGMENTS, VERSIONS, SETTINGS"),
    ("SET threads = 2", "changes a setting"),
)

# Terms of the field that are not keywords: the keyword or part whose syntax `.help` shows in their place, and
# how it is done here.
TOPICS: dict[str, tuple[str, str]] = {
    word: (about, told)
    for words, about, told in (
        ("regex regexp expression", "unit", "/wom[ae]n/ matches one token as a whole, as Python's re does"),
        (
            "wildcard wildcards glob",
            "unit",
            '"clim" PREFIX, /.*ing/, * (any token); * in quotes is a literal',
        ),
        (
            "lemma lemmas stem",
            "unit",
            'list forms as ("go" | "went"), or find them: "walk" PREFIX, /walk(s|ed)?/',
        ),
        ("frequency frequencies freq", "count", 'COUNT "word" counts one word, NGRAMS 1 lists all of them'),
        ("wordlist vocabulary words", "ngrams", "NGRAMS 1 lists all words by frequency"),
        ("concordance concordances", "kwic", "KWIC lists occurrences with their contexts"),
        ("collocation collocations", "collocates", "COLLOCATES lists the words near a pattern"),
        ("keyness", "keywords", "KEYWORDS lists the words that are typical of some documents"),
        ("perplexity", "score", "SCORE gives the probability of a text token by token"),
        ("attribution", "trace", "TRACE lists the parts of a text that occur in the corpus"),
    )
    for word in words.split()
}

_ASSOCIATION = " | ".join(ASSOCIATION_MEASURES).upper()
_KEYNESS = " | ".join(KEYNESS_MEASURES).upper().replace("SIMPLE", "SIMPLE [(number)]")
_GRAMMAR = (
    """\
data:
  CREATE CORPUS [IF NOT EXISTS] name [TOKENIZER 'name or path'] [WITH (options)] [AS (docs)]
  COPY corpus FROM 'path or pattern' [(options)] [ON ERROR SKIP | FAIL]
  COPY (question) TO 'path' [(options)]
  DELETE DOCS WHERE condition [RETURNING fields] [FROM source]
  ALTER CORPUS corpus ADD | SUBTRACT CORPUS corpus [AT VERSION n | 'name']
  RESTORE CORPUS corpus TO VERSION n | 'name'
  KEEP VERSION [n] AS 'name'
  DROP VERSION 'name'
  COMPACT [corpus]
  CHECK [corpus]
  ANALYZE corpus [ORDER n]
  DROP CORPUS [IF EXISTS] corpus
  ATTACH 'path' AS name [(options)]
  DETACH corpus
  USE corpus
  DESCRIBE [corpus]
  SHOW CORPORA | SEGMENTS | VERSIONS | REMOVALS | SETTINGS [FROM source]
  SET name = value
  RESET name
any of them:
  EXPLAIN [ANALYZE] statement

source:     corpus [AT VERSION n | 'name'] {+ | - corpus [AT VERSION n | 'name']}
keys:       group [ASC | DESC] {, group [ASC | DESC]}
group:      tested [/ number [* number]] | UNNEST(field) | LEFT n | RIGHT n | FORM
fields:     field {, field} | *
tested:     field | YEAR(field) | MONTH(field) | DAY(field)
model:      NGRAM [ORDER n] [MIN COUNT k] | INFGRAM [MIN COUNT k]
            | BACKOFF [(weight)] [ORDER n] [MIN COUNT k] | KNESER_NEY [ORDER n] [MIN COUNT k]
"""
    f"""\
association: {_ASSOCIATION}
keyness:    {_KEYNESS}
"""
    """\
documents:  source [WHERE condition] | WHERE condition
condition:  pattern
            | COUNT(pattern) comparison value
            | tested comparison value
            | tested [NOT] BETWEEN value AND value
            | tested [NOT] IN (value {, value})
            | tested [NOT] IN parameter
            | field [NOT] LIKE | ILIKE value
            | tested IS [NOT] NULL
            | OVERLAP(source, n) comparison value
            | condition AND condition {AND condition} [WITHIN k TOKENS | WITHIN SENTENCE]
            | pattern WITHIN SENTENCE
            | condition OR condition
            | NOT condition
            | (condition)
pattern:    part {[[low..high]] part}
part:       unit [MATCH TEXT | MATCH TOKENS] [IGNORE CASE] [IGNORE DIACRITICS] [PREFIX] [{low,high}]
unit:       ngram | /expression/ | * | <s> | </s> | (pattern {'|' pattern})
ngram:      "text" | [id, …] | parameter
value:      'text' | number | TRUE | FALSE | NULL | parameter
comparison: = | != | <> | < | <= | > | >=
"""
)

# Between two lines of one statement.
_BROKEN = re.compile(r"\n {4,}(?=\[)")


def examples() -> list[tuple[str, str]]:
    """Return examples of statements, each with its purpose."""
    return [*(one for route in _IN_EXAMPLES for one in _help_on(route).examples), *_STATEMENTS]


@cache
def grammar() -> str:
    """Return "The grammar in one place" of docs/language.md, word for word."""
    shapes = "\n".join(_help_on(route).syntax for route in _IN_GRAMMAR).replace("\n", "\n  ")
    return f"question:\n  {shapes}\n{_GRAMMAR}"


def _help_on(route: str) -> Help:
    found = request_named(route).help
    assert found is not None
    return found


def statements() -> list[str]:
    """Return the syntax of every statement, one per line."""
    joined = _BROKEN.sub(" ", grammar().partition("\n\n")[0])
    return [line.strip() for line in joined.splitlines() if line.startswith("  ")]


def definitions() -> dict[str, str]:
    """Return the meanings of the words in lower case, by word: the lines to show."""
    found: dict[str, str] = {}
    word = ""
    for line in grammar().splitlines():
        if match := re.match(r"(\w+): +(\S.*)", line):
            word = match[1]
            found[word] = line
        elif word:
            found[word] += f"\n{line}"
    return found


def heads() -> list[str]:
    """Return the distinct first words of statements."""
    return list(dict.fromkeys(shape.split()[0] for shape in statements()))


def about(word: str) -> list[str]:
    """Return the syntax of a statement, of the statements with a clause, or of a part such as `condition`."""
    if word.lower() in definitions():
        return definitions()[word.lower()].splitlines()
    word = word.upper().rstrip(";")
    exact = [shape for shape in statements() if shape.split()[0] == word]
    return exact or [shape for shape in statements() if word in re.findall("[A-Z_]+", shape)]


def examples_of(word: str) -> list[tuple[str, str]]:
    """Return the examples that contain a word."""
    return [(text, purpose) for text, purpose in examples() if word.upper().rstrip(";") in text.split()]
