"""The one direction of imports: every arrow between the packages goes down the picture of ARCHITECTURE.md.

Arrows are import statements anywhere (including functions and type-checking blocks), and
names of modules in strings and stubs of packages, since that is how modules are imported lazily.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ngramdb

PACKAGE = "ngramdb"

# Room -> the rooms it may import, all of them below it in the picture, and single modules of other rooms.
FACES = frozenset(
    {
        "api",
        "ngramdb.executor.display",
        "ngramdb.language.editing",
        "ngramdb.language.scanner",
    }
)
# The interfaces of segments and tokenizers, and kernels.
INTERFACES = frozenset({"segments", "ngramdb.tokenizers.base", "_cext"})
BELOW: dict[str, frozenset[str]] = {
    "__main__": frozenset({"cli"}),
    "__init__": frozenset(
        {
            "aio",
            "api",
            "cluster",
            "lm",
            "questions",
            "ngramdb.engine.loading.committing",
            "ngramdb.engine.loading.loads",
            "ngramdb.engine.loading.parts",
            "ngramdb.executor.result",
            "ngramdb.tokenizers.callables",
        }
    ),
    "cli": FACES | {PACKAGE, "cluster", "questions", "serve"},  # the package itself, for its version
    "cluster": frozenset({"api", "ngramdb.questions.signatures", "engine", "_cext"}),
    "serve": frozenset(
        {"api", "questions", "compat", "lm", "ngramdb.patterns.grams", "ngramdb._cext.text.formats", PACKAGE}
    ),
    "aio": frozenset(
        {"api", "ngramdb.executor.result", "ngramdb.planner.cautions", "ngramdb.questions.verbs"}
    ),
    "compat": frozenset({"api", "lm", "ngramdb.engine.corpus.infini_gram_files"}),
    "api": frozenset(
        {
            *(
                "curation",
                "questions",
                "language",
                "planner",
                "patterns",
                "source",
                "executor",
                "conditions",
                "engine",
            ),
            *("ingest", "lm", "ngramdb.segments.base", "ngramdb.segments.metadata_columns", "tokenizers"),
        }
    ),
    # A statement's module has its verb, its binder, its plan and its operator.
    "questions": frozenset(
        {"language", "planner", "patterns", "source", "executor", "conditions", "curation", "lm"} | INTERFACES
    ),
    # The logic of curation over views and segments.
    "curation": frozenset(
        {"engine", "segments", "conditions", "executor", "lm", "tokenizers", "source", "_cext"}
        | {"ngramdb.planner.plan"}
    ),
    # The stages know their predecessor's nodes, and nothing of its insides.
    "executor": frozenset(
        {
            "conditions",
            "patterns",
            "source",
            "ngramdb.planner.plan",
            "ngramdb.planner.choices",
            "lm",
            *INTERFACES,
        }
    ),
    "conditions": frozenset(
        {
            "lm",
            "patterns",
            "source",
            "ngramdb.planner.plan",
            "ngramdb.planner.choices",
            *INTERFACES,
        }
    ),
    "planner": frozenset(
        {
            *("patterns", "source", "segments", "ngramdb.tokenizers.base"),
            *("ngramdb.language.ast", "ngramdb.lm.spec"),
        }
    ),
    # What plans look for: n-grams, and patterns that stand for several.
    "patterns": frozenset({"source", "ngramdb.tokenizers.base"}),
    "source": INTERFACES,
    "language": frozenset(),
    "engine": frozenset({"source", "segments", "tokenizers", "ingest", "_cext"}),
    # Models are made for the corpora of queries (`of_corpora`).
    "lm": frozenset({"source", "_cext"}),
    "segments": frozenset({"_cext"}),
    "tokenizers": frozenset({"_cext"}),
    # Readers of tables make columns of metadata in the form in which segments store them.
    "ingest": frozenset({"tokenizers", "_cext", "ngramdb.segments.metadata_columns"}),
    "_cext": frozenset(),
    "display": frozenset(),
    "errors": frozenset(),
    "fork_safety": frozenset(),
    "formats": frozenset(),
    "interrupts": frozenset({"_cext"}),
    "registries": frozenset(),
    "lazy": frozenset(),
    "limits": frozenset(),
    "diacritics": frozenset(),
    "types": frozenset({"_cext"}),
    "strict_reading": frozenset(),
}
# Leaves that every room may import.
LEAVES = frozenset(
    {
        *(
            "display",
            "errors",
            "fork_safety",
            "formats",
            "interrupts",
            "registries",
            "lazy",
            "limits",
        ),
        *("diacritics", "strict_reading", "types"),
    }
)

MODULE_NAME = re.compile(rf"{PACKAGE}(?:\.\w+)+")


@dataclass(frozen=True)
class Import:
    """An import of `target` (a module's full name) at a line of `module`, and how it is made."""

    module: str
    line: int
    target: str
    in_string: bool = False

    def __str__(self) -> str:
        return f"{self.module}, line {self.line}: {self.target}"


@cache
def modules() -> dict[str, Path]:
    """Every Python module of the package by its full name."""
    root = Path(ngramdb.__file__).parent
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = (PACKAGE, *path.relative_to(root).with_suffix("").parts)
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def room(module: str) -> str:
    """Return the room of a module: the folder below the package, or else the module's own name."""
    parts = module.split(".")
    return "__init__" if len(parts) == 1 else parts[1]


class Walk(ast.NodeVisitor):
    """Collects the imports of one module."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.found: list[Import] = []
        self.relative: list[int] = []

    def _add(self, node: ast.stmt | ast.expr, target: str) -> None:
        in_string = isinstance(node, ast.Constant)
        self.found.append(Import(self.module, node.lineno, target, in_string))

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            self._add(node, name.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or node.module is None:
            self.relative.append(node.lineno)
            return
        for name in node.names:
            inner = f"{node.module}.{name.name}"
            self._add(node, inner if inner in modules() else node.module)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, str) and MODULE_NAME.fullmatch(value) and value in modules():
            self._add(node, value)


@cache
def walked(module: str) -> Walk:
    walk = Walk(module)
    path = modules()[module]
    walk.visit(ast.parse(path.read_text(encoding="utf-8")))
    stub = path.with_suffix(".pyi")
    if path.name == "__init__.py" and stub.exists():  # names of a package
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                names = [node.module] if node.module else [alias.name for alias in node.names]
                targets = [f"{module}.{name}" for name in names]
                walk.found += [Import(module, node.lineno, target, in_string=True) for target in targets]
    return walk


def imports() -> Iterator[Import]:
    for module in modules():
        yield from walked(module).found


def is_ours(target: str) -> bool:
    return target == PACKAGE or target.startswith(f"{PACKAGE}.")


def is_allowed(arrow: Import) -> bool:
    source, target = room(arrow.module), room(arrow.target)
    if arrow.target == PACKAGE:
        return PACKAGE in BELOW[source]
    return source == target or target in LEAVES or bool({target, arrow.target} & BELOW[source])


def test_every_room_has_its_place() -> None:
    # The grammar is a room without Python; an installed package has it beside the others.
    assert {room(module) for module in modules()} - {"grammar"} == set(BELOW)


def test_the_allowed_arrows_make_no_circle() -> None:
    graph = {
        source: {name if "." not in name else name.split(".")[1] for name in below} - {PACKAGE}
        for source, below in BELOW.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_no_arrow_points_up() -> None:
    wrong = [str(arrow) for arrow in imports() if is_ours(arrow.target) and not is_allowed(arrow)]
    assert wrong == []


def test_imports_are_absolute() -> None:
    assert {module: walked(module).relative for module in modules() if walked(module).relative} == {}


def test_modules_do_not_need_each_other() -> None:
    """No circle of modules, nor one that lazy imports, those in functions or for type checkers hide."""
    graph: dict[str, set[str]] = {module: set() for module in modules()}
    for arrow in imports():
        if arrow.target in graph and arrow.target != arrow.module:
            graph[arrow.module].add(arrow.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


# Names that Python itself offers although they are private: methods of named tuples, the errors of all
# threads, and what its own modules do to locks in forked children. (fork_safety.py also uses importlib's
# `_bootstrap`, `_module_locks` and a module's `_initializing`, and does without if they are missing.)
OFFERED = frozenset({"_asdict", "_make", "_replace", "_current_exceptions", "_at_fork_reinit", "_exit"})
# Names for which other libraries have no public equivalent.
FOREIGN = frozenset(
    {
        "argparse._AppendAction",
        "model._get_candidate_generator",
        "os._exit",
        "parser._actions",
        "sys._getframe",
        "zlib._Decompress",
    }
)


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def own_names(tree: ast.Module) -> set[str]:
    """The names that a module's classes and functions define, among them attributes set on `self`."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names |= {node.attr} if ast.unparse(node.value) in ("self", "cls") else set()
    return names


def inherited_names(tree: ast.Module, home: str) -> set[str]:
    """The private names that classes of a room inherit from those of its other modules."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bases = {ast.unparse(base) for node in classes for base in node.bases}
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    sources = [str(node.module) for node in imported if bases & {alias.name for alias in node.names}]
    return {
        name
        for source in sources
        if source in modules() and room(source) == home
        for name in own_names(parsed(source))
    }


def foreign_private_names(
    tree: ast.Module, inherited: frozenset[str] | set[str] = frozenset()
) -> Iterator[tuple[int, str]]:
    """Uses of private names that the module does not define itself: of another module, of another's objects.

    A name of this module reached through an attribute (`self.other._name`) counts, too: it is that of the
    other object, whose class only happens to use the same name.
    """
    own = own_names(tree) | inherited
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            private = [alias.name for alias in node.names if is_private(alias.name)]
            yield from ((node.lineno, name) for name in private if name != "_cext")
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in OFFERED:
            shown = ast.unparse(node)
            is_own = node.attr in own and not isinstance(node.value, ast.Attribute)
            if not is_own and shown not in FOREIGN:
                yield node.lineno, shown


def test_no_module_uses_private_names_of_another() -> None:
    found = []
    for module in modules():
        tree = parsed(module)
        for line, name in foreign_private_names(tree, inherited_names(tree, room(module))):
            found.append(f"{module}, line {line}: {name}")
    assert found == []


def test_uses_of_private_names_are_seen() -> None:
    source = """
from ngramdb.api.connection import _hidden
from ngramdb import _cext
class Mine:
    def __init__(self, other):
        self._snapshot, self.other = other._snapshot, other
        other._store.close()
    def same(self):
        return self._snapshot is not self.other._snapshot and self._inherited
    def fine(self, row, mine):
        return row._replace(a=1), self._fine(), mine._snapshot, sys._getframe(1)
    def _fine(self): ...
"""
    found = sorted(foreign_private_names(ast.parse(source)))
    assert found == [
        (2, "_hidden"),
        (7, "other._store"),
        (9, "self._inherited"),
        (9, "self.other._snapshot"),
    ]


def test_names_of_a_base_class_in_the_same_room_are_the_module_s_own() -> None:
    source = """
from ngramdb.questions.verbs import Asking
class Verbs(Asking):
    def count(self): return self._bound.count
"""
    tree = ast.parse(source)
    assert list(foreign_private_names(tree)) == [(4, "self._bound")]
    assert list(foreign_private_names(tree, inherited_names(tree, "questions"))) == []
    assert inherited_names(tree, "api") == set()


@pytest.mark.parametrize(
    ("module", "target", "fine"),
    [
        ("ngramdb.cli.commands.building", "ngramdb.api", True),
        ("ngramdb.cli.commands.building", "ngramdb.engine.storage.store", False),
        ("ngramdb.cli.shell.prompt", "ngramdb.language.parser", False),
        ("ngramdb.api.corpus", "ngramdb.cli.commands.building", False),
        ("ngramdb.api.corpus", "ngramdb.questions", True),
        ("ngramdb.questions.count", "ngramdb.api.corpus", False),
        ("ngramdb.executor.result", "ngramdb.questions", False),
        ("ngramdb.planner.planner", "ngramdb.language.ast", True),
        ("ngramdb.planner.planner", "ngramdb.language.parser", False),
        ("ngramdb.planner.planner", "ngramdb.patterns", True),
        ("ngramdb.patterns.text_matching", "ngramdb.planner.plan", False),
        ("ngramdb.planner.planner", "ngramdb.executor.result", False),
        ("ngramdb.executor.per_segment", "ngramdb.planner.plan", True),
        ("ngramdb.executor.per_segment", "ngramdb.planner.planner", False),
        ("ngramdb.engine.storage.store", "ngramdb.api.connection", False),
        ("ngramdb.engine.storage.store", "ngramdb", False),
        ("ngramdb.segments.text", "ngramdb.tokenizers.base", False),
        ("ngramdb.segments.text", "ngramdb.engine.storage.store", False),
        ("ngramdb.segments.text", "ngramdb.errors", True),
        ("ngramdb.errors", "ngramdb.lazy", True),
        ("ngramdb.errors", "ngramdb.api", False),
    ],
)
def test_the_rule_itself(module: str, target: str, fine: bool) -> None:
    assert is_allowed(Import(module, 1, target)) is fine


def test_the_walk_sees_every_kind_of_import() -> None:
    walk = Walk("ngramdb.segments.text")
    source = """
import ngramdb.errors
from ngramdb.api import connection, connect
if TYPE_CHECKING:
    from ngramdb.engine.storage.store import Store
else:
    store = lazy_module("ngramdb.engine.storage.store")
def late():
    from ngramdb.cli.commands import building
from . import symbols
"""
    walk.visit(ast.parse(source))
    name = "ngramdb.segments.text"
    assert walk.found == [
        Import(name, 2, "ngramdb.errors"),
        Import(name, 3, "ngramdb.api.connection"),
        Import(name, 3, "ngramdb.api"),
        Import(name, 5, "ngramdb.engine.storage.store"),
        Import(name, 7, "ngramdb.engine.storage.store", in_string=True),
        Import(name, 9, "ngramdb.cli.commands.building"),
    ]
    assert walk.relative == [10]
