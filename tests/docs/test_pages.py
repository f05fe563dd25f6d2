"""README.md and docs/: every example runs as printed; nothing public and no keyword is left out."""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from pathlib import Path

import pytest
from support.foreign_indexes import write_example
from support.pages import Story, all_examples, blocks
from support.registered import plans, statements

import ngramdb
from ngramdb.api.settings import SETTINGS
from ngramdb.cli.shell import examples
from ngramdb.errors import ParseError
from ngramdb.language import ast
from ngramdb.language.parser import keywords, parse
from ngramdb.planner.parameters import CORPUS_OPTIONS, LOAD_OPTIONS
from ngramdb.planner.planner import rule_names
from ngramdb.questions import next_tokens
from ngramdb.questions.plans import Query
from ngramdb.questions.verbs import VERBS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
LANGUAGE = ROOT / "docs" / "language.md"
# The pages of the language are one story, in this order: some examples use a corpus or a version that an
# earlier page has made.
STATEMENTS = """
    use count patterns count-docs prob using dist score generate docs conditions document-functions raw-text
    kwic collocates keywords dispersion duplicates ngrams near-duplicates trace perplexity agreement
    novelty continuations sample explain create-corpus
    copy-from drop-corpus attach show check set
    delete-docs delete-duplicates decontaminate cut-duplicates cut-spans sums-and-differences alter-corpus
    restore-corpus keep-version compact copy-to analyze delete-near-duplicates update
"""
STORY = [
    ROOT / "docs" / "semantics.md",
    *(ROOT / "docs" / "statements" / f"{name}.md" for name in STATEMENTS.split()),
]
PYTHON = ROOT / "docs" / "python.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
# Pages without examples that run.
OTHERS = [page for page in sorted(ROOT.glob("*.md")) if page != README]
# Its examples have a test of their own, with the files that they need.
CLI = ROOT / "docs" / "cli.md"
COMING_FROM = ROOT / "docs" / "coming-from.md"

# Lines of text are no longer than this; tables, code and output are as they are.
LONGEST_LINE = 118


def name_of(page: Path) -> str:
    return page.name


def statement_kinds(texts: list[str]) -> set[type]:
    """Return the kinds of statements among texts, except for invalid ones, which show mistakes."""
    kinds: set[type] = set()
    for text in texts:
        try:
            statements = parse(text)
        except ParseError:
            continue
        for statement in statements:
            kinds.add(type(statement))
            if isinstance(statement, ast.Explain):
                kinds.add(type(statement.statement))
    return kinds


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are for bash")


@needs_bash
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in (CLI, README, LANGUAGE, *STORY)], ids=name_of
)
def test_every_example_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_example(tmp_path / "pile")
    Story(page, tmp_path, monkeypatch).run()


@needs_bash
def test_the_language_pages_print_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_example(tmp_path / "pile")
    Story(LANGUAGE, tmp_path, monkeypatch).run(*STORY)


def test_the_language_page_lists_every_page_of_a_statement() -> None:
    folder = ROOT / "docs" / "statements"
    assert {page for page in STORY if page.parent == folder} == set(folder.glob("*.md"))
    linked = re.findall(r"\]\(([\w/-]+\.md)", LANGUAGE.read_text(encoding="utf-8"))
    assert {page.relative_to(ROOT / "docs").as_posix() for page in STORY} <= set(linked)


@needs_bash
def test_the_readme_prints_what_it_says_and_the_table_of_statements_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_example(tmp_path / "pile")
    Story(README, tmp_path, monkeypatch).run()
    table = LANGUAGE.read_text(encoding="utf-8").partition("\n## Statements\n")[2].partition("\n## ")[0]
    examples = re.findall(r"^\|.*\| `([^`]+)` \|$", table, re.MULTILINE)
    with ngramdb.connect("sayings.ngdb") as db:
        for example in examples:
            db.execute(example).fetchall()
    assert statement_kinds(examples) == statements()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_are_of_kinds_that_are_run(page: Path) -> None:
    every = blocks(page)
    for block, before in zip(every, [None, *every][:-1], strict=True):
        where = f"{page.name}, line {block.line}"
        if block.kind == "text":
            assert before is not None and before.kind == "python", f"{where}: what prints this?"
        elif block.kind == "sh":
            # The two set-up lines: .ci/run runs them literally.
            assert page == README and len(block.lines) == 1, where
        else:
            assert block.kind in ("python", "console"), f"{where}: nobody runs {block.kind!r}"


def anchor(title: str) -> str:
    """Return the anchor of a section, as used in links after `#`."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith("https://"):
            continue
        file, _, section = target.partition("#")
        linked = (page.parent / file).resolve() if file else page
        assert linked.exists(), target
        if section:
            titles = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert section in {anchor(title) for title in titles}


def test_contents_list_every_section() -> None:
    text = re.sub(r"^```.*?^```", "", PYTHON.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    listed = text.partition("**Contents:**")[2].partition("\n\n")[0]
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert len(sections) > 5
    assert [one for one in sections if f"(#{anchor(one)})" not in listed] == []


def test_the_readme_installs_what_the_tests_need() -> None:
    # By the name of what the first line has installed: `-e .[test]` would build the kernels once more.
    assert "\n.venv/bin/pip install 'ngramdb[test]' && .venv/bin/pytest -n logical\n" in README.read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_lines_of_text_are_not_too_long(page: Path) -> None:
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        inside ^= line.startswith("```")
        if not inside and not line.startswith("|"):
            assert len(line) <= LONGEST_LINE, f"{page.name}, line {number}"


def test_statements_beside_what_other_programs_do_can_be_parsed() -> None:
    rows = re.findall(r"^\|.*\|$", COMING_FROM.read_text(encoding="utf-8"), re.MULTILINE)
    # Bars within cells of a table are escaped by a backslash.
    cells = [row.partition(" | ")[2].replace(r"\|", "|") for row in rows]
    here = [code for cell in cells for code in re.findall(r"`([^`]+)`", cell)]
    heads = (
        "COUNT ",
        "KWIC ",
        "DOCS ",
        "DIST ",
        "PROB ",
        "TRACE ",
        "NGRAMS ",
        "COLLOCATES ",
        "COPY ",
        "CUT ",
        "DECONTAMINATE ",
        "DELETE ",
        "DUPLICATES ",
    )
    # An ellipsis in a statement stands for a condition, or for a context; it is one n-gram here.
    statements = [re.sub(r'(?<!")…', '"x"', code) for code in here if code.startswith(heads)]
    assert len(statements) > 25
    for statement in statements:
        assert parse(statement)


def language_pages() -> str:
    """Return the text of all pages of the language."""
    return "\n".join(page.read_text(encoding="utf-8") for page in (LANGUAGE, *STORY))


def test_every_keyword_is_on_a_language_page() -> None:
    page = language_pages()
    assert [word for word in sorted(keywords()) if not re.search(rf"\b{word}\b", page)] == []


def test_every_statement_has_an_example_on_a_language_page() -> None:
    examples = [example for page in (LANGUAGE, *STORY) for example in all_examples(page)]
    typed = [example.command for example in examples if example.prompt is not None]
    assert statement_kinds(typed) == statements()


def test_every_option_setting_rule_and_column_is_on_a_language_page() -> None:
    page = language_pages()
    names = [*CORPUS_OPTIONS, *(name.upper() for name in LOAD_OPTIONS), *SETTINGS, *rule_names()]
    columns = {
        column
        for module in (next_tokens, *(sys.modules[kind.__module__] for kind in plans(Query)))
        for name, value in vars(module).items()
        if name.endswith("COLUMNS") and isinstance(value, (tuple, dict))
        for column in value
    }
    assert columns >= {"count", "prob", "token", "N1", "doc_id"}
    missing = [name for name in [*names, *sorted(columns)] if not re.search(rf"`{name}\b", page)]
    assert missing == []


CLASSES = [
    ngramdb.Connection,
    ngramdb.Corpus,
    ngramdb.Result,
    ngramdb.Probability,
    ngramdb.Scores,
    ngramdb.DocumentScores,
    ngramdb.LoadReport,
    ngramdb.Settings,
]


def members(cls: type) -> list[str]:
    """The public members that a class of ours has, the fields of dataclasses and slots among them."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("ngramdb.")]
    names = {name for base in ours for name in (*vars(base), *vars(base).get("__annotations__", {}))}
    return sorted(name for name in names if not name.startswith("_"))


@pytest.mark.parametrize("name", ngramdb.__all__)
def test_every_public_name_is_on_the_python_page_and_has_a_docstring(name: str) -> None:
    assert re.search(rf"\b{name}\b", PYTHON.read_text(encoding="utf-8"))
    value = getattr(ngramdb, name)
    assert isinstance(value, (str, int)) or inspect.getdoc(value)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_public_member_is_on_the_python_page_and_has_a_docstring(cls: type) -> None:
    page = PYTHON.read_text(encoding="utf-8")
    assert [name for name in members(cls) if not re.search(rf"\b{name}\b", page)] == []
    for name in members(cls):
        getattr(cls, name, None)  # loads a verb, in place of its stand-in
        value = inspect.getattr_static(cls, name, None)
        if callable(value) or isinstance(value, (property, classmethod, staticmethod)):
            assert inspect.getdoc(getattr(cls, name)), f"{cls.__name__}.{name}"
        else:
            assert name in (cls.__doc__ or ""), f"{cls.__name__}.{name} is not in the class's docstring"


def test_the_tests_that_the_page_on_scale_names_are_there() -> None:
    page = (PYTHON.parent / "scale.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    folder = PYTHON.parent.parent / "tests"
    sources = "\n".join(
        path.read_text(encoding="utf-8")
        for name in ("unit", "crash")
        for path in (folder / name).rglob("test_*.py")
    )
    assert len(named) > 20
    assert {name for name in named if f"def {name}(" not in sources} == set()


def shown_syntax() -> list[str]:
    """Return the syntax of the statements that the pages show, one line each."""
    found = []
    for page in sorted((ROOT / "docs" / "statements").glob("*.md")):
        for block in re.findall(r"(?:^ {4}\S.*\n(?: {6,}\S.*\n)*)+", page.read_text(), re.MULTILINE):
            shapes = re.sub(r"\n {6,}", " ", block).splitlines()
            found += [shape.strip() for shape in shapes if shape.split()[0] in examples.heads()]
    return found


def test_each_statement_is_shown_on_a_page_as_in_help() -> None:
    # Parts of conditions are on a page of their own.
    parts = ("COUNT(pattern)", "OVERLAP(", "NOT ")
    shown = [shape for shape in shown_syntax() if not shape.startswith(parts)]
    assert sorted(shown) == sorted(examples.statements())


# The pages of verbs that are not named like theirs.
PAGES_OF_VERBS = {
    **{"counts": "count", "count_docs": "count-docs", "sample": "docs", "occurrences": "kwic"},
    **{"perplexity_table": "perplexity", "agreement_table": "agreement"},
    **{"dist_before": "dist", "dist_arrays": "dist", "stream": "generate"},
}
# The clauses of parameters that are not named like them.
CLAUSES = {
    "model": "USING",
    "models": "USING",
    "descending": "DESC",
    "size": "SAMPLE",
    "beams": "BEAM(",
    "smoothing": "SIMPLE",
}
# Modifiers are described in patterns.md; the others are n-grams, patterns and texts, after the first words.
ELSEWHERE = frozenset(
    (
        *("self", "params", "match_text", "ignore_case"),
        *("pattern", "ngram", "ngrams", "text", "context", "contexts", "continuation", "continuations"),
    )
)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if not verb.endswith("_many")])
def test_the_page_of_a_statement_names_each_parameter_of_its_verb(verb: str) -> None:
    name = PAGES_OF_VERBS.get(verb, verb.replace("_", "-"))
    page = (ROOT / "docs" / "statements" / f"{name}.md").read_text()
    syntax = "".join(examples.definitions().values()) + page
    names = inspect.signature(getattr(ngramdb.Corpus, verb)).parameters.keys() - ELSEWHERE
    clauses = {name: CLAUSES.get(name, name.upper().replace("_", " ")) for name in names}
    assert [
        name
        for name, clause in clauses.items()
        if not re.search(rf"\b{re.escape(clause)}", syntax) and f"`{name}" not in page
    ] == []
