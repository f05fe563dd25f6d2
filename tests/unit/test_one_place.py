"""Facts that several packages use are defined in one place."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import ngramdb
from ngramdb import limits, registries
from ngramdb._cext.lm import models as kernel
from ngramdb.errors import InvalidArgument
from ngramdb.language.parser import parse_model
from ngramdb.lm import making
from ngramdb.lm.spec import ModelSpec
from ngramdb.tokenizers import registry

PACKAGE = Path(ngramdb.__file__).parent
TESTS = Path(__file__).parents[1]
SHARED = {
    **{name: "limits.py" for name in vars(limits) if name.isupper()},
    **{name: "registries.py" for name in vars(registries) if name.isupper()},
    "Docs": "types.py",
}


@cache
def trees():
    """Every module of the package by its path, parsed."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in paths}


@cache
def assigned():
    """The names that each module assigns outside of functions."""
    found = {}
    for path, tree in trees().items():
        names = found[path] = set()
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            items = (item for target in targets if target for item in ast.walk(target))
            names.update(item.id for item in items if isinstance(item, ast.Name))
    return found


@pytest.mark.parametrize("name", SHARED)
def test_shared_names_are_defined_once(name):
    assert [path for path, names in assigned().items() if name in names] == [SHARED[name]]


def test_every_named_tokenizer_is_built_in():
    assert tuple(registry._BUILT_IN) == registries.NAMED_TOKENIZERS
    assert [cls.kind for cls in registry._BUILT_IN.values()] == list(registries.NAMED_TOKENIZERS)
    assert registries.DEFAULT_TOKENIZER in registries.NAMED_TOKENIZERS


def test_every_kind_of_model_is_known_to_grammar_kernel_and_messages():
    assert set(making.CLASSES) == set(registries.MODELS) and kernel.KINDS[-1] == "interpolated"
    for kind in registries.MODELS:
        assert parse_model(kind).kind == parse_model(kind.upper()).kind == ModelSpec(kind).kind == kind
        with pytest.raises(InvalidArgument, match=kind):
            ModelSpec("bigram")


@pytest.mark.parametrize(
    "names",
    [
        *(registries.TOKENIZER_KINDS, registries.NAMED_TOKENIZERS, tuple(registries.MODELS)),
        *(registries.ASSOCIATION_MEASURES, registries.KEYNESS_MEASURES),
    ],
)
def test_lists_of_kinds_are_not_written_again(names):
    for path, tree in trees().items():
        if path == "registries.py":
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
                values = {item.value for item in node.elts if isinstance(item, ast.Constant)}
                assert not values >= set(names), f"{path}:{node.lineno}"


# A list in the tests that has these has all models.
COMPLETE = frozenset({"ngram", "infgram", "backoff", "kneser_ney"})


def lists_of_models(tree):
    """The lines of lists of texts that name all of COMPLETE, and the models that they name."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            texts = " ".join(str(item.value) for item in node.elts if isinstance(item, ast.Constant)).lower()
            named = {kind for kind in registries.MODELS if re.search(rf"\b{kind}\b", texts)}
            if named >= COMPLETE:
                yield node.lineno, named


def test_lists_of_models_in_tests_leave_out_none():
    lacking, n_lists = [], 0
    texts = {path: path.read_text("utf-8") for path in sorted(TESTS.rglob("*.py"))}
    for path, text in texts.items():
        if any(kind not in text.lower() for kind in COMPLETE):  # parsing all takes seconds
            continue
        for line, named in lists_of_models(ast.parse(text)):
            n_lists += 1
            if path != Path(__file__) and named != set(registries.MODELS):
                lacking.append(f"{path.relative_to(TESTS)}, line {line}: {set(registries.MODELS) - named}")
    assert lacking == [] and n_lists > 5


def test_a_list_without_a_new_model_is_seen(monkeypatch):
    monkeypatch.setitem(registries.MODELS, "absolute", registries.ModelKind("absolute"))
    tree = ast.parse(f"x = {[*registries.MODELS][:-1]}\ny = ['ngram']")
    [(line, named)] = lists_of_models(tree)
    assert line == 1 and set(registries.MODELS) - named == {"absolute"}
