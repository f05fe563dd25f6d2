"""Statements as `.help` shows them: their syntax and examples."""

from __future__ import annotations

import re
from functools import cache
from textwrap import indent

from ngramdb.lazy import imported
from ngramdb.questions.definition import Help, request_named
from ngramdb.registries import ASSOCIATION_MEASURES, CONTAMINATION_NAMES, KEYNESS_MEASURES, MODELS

# Addresses of questions, in the order of the grammar and in that of the examples.
_IN_GRAMMAR = (
    *("count", "documents", "concordance", "collocates", "keywords", "dispersion", "duplicates", "ngrams"),
    *("trace", "near_duplicates", "probability", "next", "before", "score", "generate"),
    *("perplexity", "agreement", "novelty", "continuations"),
)
_IN_EXAMPLES = (
    *("count", "concordance", "collocates", "keywords", "dispersion", "ngrams", "documents", "probability"),
    *("next", "before", "score", "generate", "trace", "duplicates", "near_duplicates"),
    *("perplexity", "agreement", "novelty", "continuations"),
)
# Other statements, likewise, and the modules that describe them.
_OTHERS_IN_GRAMMAR = (
    *(
        "CREATE CORPUS",
        "COPY",
        "DELETE DOCS",
        "DELETE DUPLICATES",
        "CUT DUPLICATES",
        "DELETE NEAR DUPLICATES",
        "CUT SPANS",
        "DECONTAMINATE",
        "ALTER CORPUS",
        "ADD FIELDS",
        "DROP FIELD",
        "UPDATE",
    ),
    *(
        "RESTORE CORPUS",
        "KEEP VERSION",
        "DROP VERSION",
        "COMPACT",
        "CHECK",
        "ANALYZE",
        "DROP CORPUS",
        "ATTACH",
        "DETACH",
    ),
    *("USE", "DESCRIBE", "SHOW", "SET", "RESET"),
)
_OTHERS_IN_EXAMPLES = (
    *("EXPLAIN", "CREATE CORPUS", "COPY", "USE", "ATTACH", "DESCRIBE", "ANALYZE", "KEEP VERSION", "CHECK"),
    *("SHOW", "SET", "ADD FIELDS", "UPDATE"),
)
_MODULES = (
    *("corpora", "cuts", "decontamination", "duplicates", "fields", "maintenance", "near_duplicates"),
    *("show", "update"),
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
        ("attribution", "trace", "TRACE lists the parts of a text that occur in the corpus"),
    )
    for word in words.split()
}

_ASSOCIATION = " | ".join(ASSOCIATION_MEASURES).upper()
_CONTAMINATION = " | ".join(CONTAMINATION_NAMES).upper()
_KEYNESS = " | ".join(KEYNESS_MEASURES).upper().replace("SIMPLE", "SIMPLE [(number)]")
_EACH_MODEL = [f"{kind.name.upper()} {kind.parameters}" for kind in MODELS.values()]
# Two on a line.
_MODELS = "\n            | ".join(" | ".join(_EACH_MODEL[i : i + 2]) for i in range(0, len(_EACH_MODEL), 2))
_GRAMMAR = (
    """\
source:     corpus [AT VERSION n | 'name'] {+ | - corpus [AT VERSION n | 'name']}
texts:      ngram | 'path' [(options)] | source [WHERE condition] | WHERE condition
keys:       group [ASC | DESC] {, group [ASC | DESC]}
group:      tested [/ number [* number]] | UNNEST(field) | LEFT n | RIGHT n | FORM
fields:     field | function {, field | function} | *
assigned:   tested [/ number [* number]] | value
tested:     field | YEAR(field) | MONTH(field) | DAY(field) | function
function:   DUP_NGRAM_SHARE(n [AS dialect]) | TOP_NGRAM_SHARE(n [AS dialect])
            | DUP_LINE_SHARE([AS dialect]) | DUP_LINE_COUNT_SHARE([AS dialect])
            | DUP_PARAGRAPH_SHARE([AS dialect]) | DUP_PARAGRAPH_COUNT_SHARE([AS dialect])
            | LOOP_SHARE(n) | SHARE_SEEN(n, k) | LONGEST_SEEN()
            | PERPLEXITY(model [FROM source])
dialect:    DATATROVE | DATAMAP
"""
    f"""\
model:      {_MODELS}
association: {_ASSOCIATION}
keyness:    {_KEYNESS}
contamination: {_CONTAMINATION}
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
            | TEXT ~ /expression/ | EMAIL | IP | PHONE | parameter [IGNORE CASE]
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
    helps = [*map(_help_on, _IN_EXAMPLES), *map(_help_on_other, _OTHERS_IN_EXAMPLES)]
    return [one for found in helps for one in found.examples]


@cache
def grammar() -> str:
    """Return "The grammar in one place" of docs/language.md, word for word."""
    parts = {
        "question": map(_help_on, _IN_GRAMMAR),
        "data": map(_help_on_other, _OTHERS_IN_GRAMMAR),
        "any of them": [_help_on_other("EXPLAIN")],
    }
    shapes = {name: "\n".join(one.syntax for one in helps) for name, helps in parts.items()}
    return "".join(f"{name}:\n{indent(shape, '  ')}\n" for name, shape in shapes.items()) + f"\n{_GRAMMAR}"


def _help_on(route: str) -> Help:
    found = request_named(route).help
    assert found is not None
    return found


def _help_on_other(words: str) -> Help:
    helps = (imported(f"ngramdb.questions.{module}").HELP for module in _MODULES)
    return Help(*next(found[words] for found in helps if words in found))


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
