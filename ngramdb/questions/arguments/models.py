"""Models as arguments in Python: the text that would follow USING, or an object of `ngramdb.lm`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module
from ngramdb.lm.spec import ModelSpec
from ngramdb.registries import MODELS

if TYPE_CHECKING:
    from ngramdb.language import parser
    from ngramdb.planner.binding import scope
    from ngramdb.source import Catalog
else:
    parser = lazy_module("ngramdb.language.parser")
    scope = lazy_module("ngramdb.planner.binding.scope")


def as_model(model: Any) -> ModelSpec:
    """Return a model for its text (`"ngram"`, `"kneser_ney order 5"`) or an `ngramdb.lm.ModelSpec`.

    Raises
    ------
    ParseError
        No such model.
    InvalidArgument
        Neither text nor a model, or a parameter out of range.
    """
    if isinstance(model, str):
        return _parsed(model)
    if isinstance(model, ModelSpec):
        return model
    raise InvalidArgument(
        f"a model is text such as 'infgram', or an object such as ngramdb.lm.KneserNey(), "
        f"not {type(model).__name__}"
    )


@lru_cache(maxsize=256)
def _parsed(text: str) -> ModelSpec:
    kind = text.lower()
    if kind in MODELS:  # reading the grammar takes 3 ms or more
        return ModelSpec(kind)
    # A model refers to nothing in a catalog.
    return scope.Scope(cast("Catalog", None), None, text).model(parser.parse_model(text))
