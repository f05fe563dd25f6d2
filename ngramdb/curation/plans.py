"""Plans of curation: a list of steps for a corpus, read from a file of JSON, TOML or YAML."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module

yaml: Any = lazy_module("yaml")
tomllib: Any = lazy_module("tomllib")


class Arguments(NamedTuple):
    """The arguments of a kind of step: the one that must be given and may stand alone, and the others."""

    required: str | None
    others: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return self.others if self.required is None else (self.required, *self.others)


_KEEP = ("keep", "keep_by", "descending")
_CUT = ("on", "gap_share", "min_rest", "max_pieces", "replacement")
KINDS: dict[str, Arguments] = {
    "delete": Arguments("where"),
    "delete_duplicates": Arguments(None, ("where", "normalize", *_KEEP, "against")),
    "delete_near_duplicates": Arguments(None, ("where", "contained", "n", *_KEEP, "candidates", "against")),
    "cut_duplicates": Arguments(None, ("where", "length", "unit", "min_count", *_KEEP, "against", *_CUT)),
    "cut_spans": Arguments("pattern", ("where", "context", "match_text", "ignore_case", *_CUT)),
    "fields": Arguments("table", ("on", "fields", "replace")),
    "update": Arguments("fields", ("where",)),
    "quality": Arguments(
        "reference", ("by", "at", "unit", "model", "normalize", "field", "score_field", "where")
    ),
    "decontaminate": Arguments(
        "against",
        (
            *("where", "by", "n", "threshold", "strict", "lower", "fold_space", "nfc", "fold_quotes"),
            *("text", "format", "separator"),
        ),
    ),
    "sample": Arguments("tokens", ("where", "by", "weights", "seed")),
    "export": Arguments("path", ("where", "format", "separator", "dtype")),
    "statement": Arguments("sql"),
}
KEYS = ("corpus", "steps")


@dataclass(frozen=True)
class Step:
    """A step: its kind, its arguments, and the name of the version that it makes.

    The name depends on the corpus and on all steps up to this one, so that a changed plan runs again from the
    first step that changed.
    """

    kind: str
    arguments: Mapping[str, Any]
    version: str

    def __str__(self) -> str:
        return ", ".join([self.kind, *(f"{key} = {value!r}" for key, value in self.arguments.items())])


@dataclass(frozen=True)
class CurationPlan:
    """The corpus and the steps."""

    corpus: str
    steps: tuple[Step, ...]


def read_plan(source: str | os.PathLike[str] | Mapping[str, Any]) -> CurationPlan:
    """Read a plan from a file, or from the same data as a dictionary.

    Raises
    ------
    InvalidArgument
        The file cannot be read, or is not a plan; the message names the file and the step.
    """
    if isinstance(source, Mapping):
        return _plan(source, "the plan")
    if not isinstance(source, (str, os.PathLike)):
        raise InvalidArgument(f"a plan must be the path of a file or a dictionary, not {source!r}")
    path = os.fspath(source)
    try:
        with open(path, encoding="utf-8") as file:
            content = _parsed(path, file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{path}: cannot be read: {error}") from error
    return _plan(content, path)


def _parsed(path: str, text: str) -> Any:
    ending = os.path.splitext(path)[1].lower()
    if ending == ".json":
        return _loaded(path, lambda: json.loads(text, object_pairs_hook=_with_unique_keys), ValueError)
    if ending == ".toml":
        try:
            error = tomllib.TOMLDecodeError
        except ImportError as missing:
            raise InvalidArgument(f"{path}: TOML needs Python 3.11; write the plan as JSON") from missing
        return _loaded(path, lambda: tomllib.loads(text), error)
    if ending in (".yaml", ".yml"):
        try:
            error = yaml.YAMLError
        except ImportError as missing:
            raise InvalidArgument(
                f"{path}: YAML needs PyYAML: pip install 'ngramdb[yaml]'; or write the plan as JSON or TOML"
            ) from missing
        return _loaded(path, lambda: _of_yaml(text), error)
    raise InvalidArgument(f"{path}: the name of a plan must end in .json, .toml, .yaml or .yml")


def _loaded(path: str, load: Any, error: type[Exception]) -> Any:
    try:
        return load()
    except error as wrong:
        raise InvalidArgument(f"{path}: {wrong}") from wrong
    except RecursionError as deep:
        raise InvalidArgument(f"{path}: has too many brackets inside one another") from deep


def _with_unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"has the key {next(key for key in keys if keys.count(key) > 1)!r} twice")
    return found


def _of_yaml(text: str) -> Any:
    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Refuses keys that are given twice, of which PyYAML takes the last."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: list[str] = []
            for key, _ in node.value:
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} is given twice", key.start_mark
                    )
                seen.append(key.value)
            return super().construct_mapping(node, deep)

    return yaml.load(text, Loader)  # a kind of safe_load


def _plan(content: Any, where: str) -> CurationPlan:
    if not isinstance(content, Mapping) or set(content) != set(KEYS):
        raise InvalidArgument(f"{where}: must have the keys corpus and steps, and no other")
    corpus, steps = content["corpus"], content["steps"]
    if not isinstance(corpus, str) or not isinstance(steps, list) or not steps:
        raise InvalidArgument(f"{where}: corpus must be a name, and steps a list of at least one step")
    digest = hashlib.sha256(corpus.encode())
    found = []
    for k, step in enumerate(steps, start=1):
        kind, arguments = _step(step, f"{where}: step {k}")
        digest.update(json.dumps([kind, arguments], sort_keys=True, default=str).encode())
        found.append(Step(kind, arguments, f"curate {digest.hexdigest()[:12]} step {k}"))
    return CurationPlan(corpus, tuple(found))


def _step(step: Any, where: str) -> tuple[str, Mapping[str, Any]]:
    if isinstance(step, str):  # a kind alone
        step = {step: None}
    if not isinstance(step, Mapping) or len(step) != 1:
        raise InvalidArgument(f"{where}: must have one key, its kind: {', '.join(KINDS)}")
    ((kind, given),) = step.items()
    if kind not in KINDS:
        raise InvalidArgument(f"{where}: unknown kind {kind!r}; known: {', '.join(KINDS)}")
    known = KINDS[kind]
    arguments = {} if given is None else given
    if not isinstance(arguments, Mapping):
        if known.required is None:
            raise InvalidArgument(f"{where}: {kind} takes its arguments by name: {', '.join(known.names)}")
        # One argument may stand alone: `delete: year < 2000`.
        arguments = {known.required: given}
    for name in arguments:
        if name not in known.names:
            raise InvalidArgument(
                f"{where}: {kind} has no argument {name!r}; known: {', '.join(known.names)}"
            )
    if known.required is not None and known.required not in arguments:
        raise InvalidArgument(f"{where}: {kind} needs the argument {known.required}")
    return kind, arguments
