"""The stubs of the kernels have the names of the compiled modules, with the same parameters if known."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import ngramdb._cext as kernels

FOLDERS = [Path(folder) for folder in kernels.__path__]


def named(ending):
    """The files of kernels with this ending, by their modules' names."""
    return {
        ".".join(file.relative_to(folder).with_suffix("").parts): file
        for folder in FOLDERS
        for file in folder.glob(f"*/*{ending}")
    }


STUBS = named(".pyi")
SOURCES = named(".pyx")


def is_public(name):
    return not name.startswith("_")


def stubbed(body):
    """Return the names that a module or a class of a stub defines, with their nodes, but no type aliases."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
    return found


def own(module):
    """Return the names that a module defines itself."""
    return {
        name: value
        for name, value in vars(module).items()
        if is_public(name)
        and not inspect.ismodule(value)
        and getattr(value, "__module__", module.__name__) in (module.__name__, None)
        and (callable(value) or name.isupper())
    }


def parameters(node):
    arguments = node.args
    return [
        one.arg
        for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        if one.arg != "self"
    ]


@pytest.mark.skipif(not SOURCES, reason="the kernels' sources are not here")
def test_every_kernel_has_a_stub():
    assert STUBS.keys() == SOURCES.keys()


@pytest.mark.parametrize(("name", "stub"), sorted(STUBS.items()))
def test_a_stub_has_the_names_of_its_module(name, stub):
    module = importlib.import_module(f"ngramdb._cext.{name}")
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    nodes = stubbed(tree.body)
    assert {one for one in nodes if is_public(one)} == set(own(module))
    for one, node in nodes.items():
        if isinstance(node, ast.ClassDef):
            cls = getattr(module, one)
            declared = {each for each in stubbed(node.body) if is_public(each)}
            missing = {each for each in vars(cls) if is_public(each)} - declared
            assert not missing, f"{one} has {missing}"
            assert all(hasattr(cls, each) or issubclass(cls, Exception) for each in declared)
            pairs = [(getattr(cls, each, None), each_node) for each, each_node in stubbed(node.body).items()]
        else:
            pairs = [(getattr(module, one), node)]
        for function, definition in pairs:
            check_parameters(function, definition)


def check_parameters(function, definition):
    """Compare names of parameters if the compiled function exposes them."""
    if not isinstance(definition, ast.FunctionDef) or definition.name.startswith("_"):
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    # From 3.13 on Python makes up a name, which is then positional only.
    named = (one for one in signature.parameters.values() if one.kind is not one.POSITIONAL_ONLY)
    told = [one.name for one in named if one.name != "self"]
    if told and told != ["args", "kwargs"]:
        assert parameters(definition) == told, definition.name
