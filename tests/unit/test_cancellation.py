"""A request to stop ends the work: no handler of the package takes it for a failure of what it tried."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import ngramdb
from ngramdb import errors

PACKAGE = Path(ngramdb.__file__).parent
#: Classes whose handlers catch a cancellation, too.
BROAD = {kind.__name__ for kind in errors.QueryCancelled.__mro__} | {"Error"}
BROAD -= {"QueryCancelled", "object"}
#: Handlers that may catch one: module and function, with the reason.
MAY_CATCH = {
    ("api/connection.py", "__repr__"): "shows any error",
    ("api/corpus.py", "__repr__"): "shows any error",
    ("api/database.py", "renew"): "runs in a forked child, outside of any statement",
    ("api/database.py", "writing"): "runs while another error is raised, which is raised again",
    ("cli/shell/catalog.py", "_answer"): "completion has a time limit of its own",
    ("cli/shell/catalog.py", "_ask_again"): "completion has a time limit of its own",
    ("cli/shell/prompt.py", "run"): "an error of a key binding: no statement runs",
    ("cluster/crew.py", "run"): "sends the error to the process that asked",
    ("api/connection.py", "_repr_html_"): "shows the object whatever its state",
    ("api/corpus.py", "_repr_html_"): "shows the object whatever its state",
    ("cluster/crew.py", "begin"): "a call of a library, which polls nothing",
    ("cluster/crew.py", "answer_of"): "sends the error to the process that asked",
    ("engine/loading/encoding.py", "_read"): "hands the error to the thread that reads",
    ("engine/storage/directory/object_store.py", "done"): "calls _is_for_good, which handles cancellations",
    ("interrupts.py", "run"): "hands the error to the thread that waits",
    ("interrupts.py", "waited_for"): "hands the error to the thread that waits",
    ("segments/metadata_columns.py", "import_pandas"): "an import, which polls nothing",
    ("serve/app.py", "__call__"): "answers with the error",
    ("serve/tools.py", "call"): "answers with the error",
    ("serve/routes.py", "_as_openai"): "answers with the error",
    ("tokenizers/callables.py", "_decodes_words"): "calls of a user's function, which polls nothing",
    ("tokenizers/fast.py", "_open"): "a call of a library, which polls nothing",
    ("tokenizers/huggingface.py", "__init__"): "a call of a library, which polls nothing",
    ("tokenizers/registry.py", "_definition_of"): "a call of a library, which polls nothing",
    ("tokenizers/sentence_piece.py", "__init__"): "a call of a library, which polls nothing",
}


def caught(node: ast.expr | None) -> set[str]:
    """Return the names of the classes that a handler, or a call of `suppress`, catches."""
    if node is None:
        return {"BaseException"}
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return {ast.unparse(part).removeprefix("errors.") for part in parts}


def raises_again(body: list[ast.stmt]) -> bool:
    last = body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def broad_handlers(function: ast.AST) -> Iterator[int]:
    """Yield the lines of handlers that would catch a cancellation and continue."""
    for node in ast.walk(function):
        is_suppress = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "suppress"
        if is_suppress and any(caught(argument) & BROAD for argument in node.args):
            yield node.lineno
        if not isinstance(node, ast.Try):
            continue
        for handler in node.handlers:
            found = caught(handler.type)
            if "QueryCancelled" in found and not found & BROAD:
                break
            if found & BROAD and not raises_again(handler.body):
                yield handler.lineno


def test_no_handler_catches_a_cancellation_by_accident() -> None:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for line in broad_handlers(node):
                    found[place, node.name] = f"{place}:{line}"
    assert [found[key] for key in found.keys() - MAY_CATCH.keys()] == []
    assert MAY_CATCH.keys() - found.keys() == set()  # no exception to the rule that has gone


def test_the_rule_finds_handlers_of_every_form() -> None:
    source = """
def one():
    try: work()
    except (ValueError, NgramdbError): pass
    with suppress(Exception): work()
    try: work()
    except: return
def two():
    try: work()
    except QueryCancelled: raise
    except Exception as error: raise LoadError() from error
    try: work()
    except BaseException:
        clean()
        raise
"""
    one, two = ast.parse(source).body
    assert sorted(broad_handlers(one)) == [4, 5, 7]
    assert list(broad_handlers(two)) == []
