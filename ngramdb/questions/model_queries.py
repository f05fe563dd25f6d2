"""COUNT for arguments that the kernel does not take as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module
from ngramdb.questions.verbs import Bound

if TYPE_CHECKING:
    from ngramdb.language import ast
    from ngramdb.patterns import grams
    from ngramdb.questions import parsing, python_warnings, to_ast
else:
    ast = lazy_module("ngramdb.language.ast")
    grams = lazy_module("ngramdb.patterns.grams")
    python_warnings = lazy_module("ngramdb.questions.python_warnings")
    parsing = lazy_module("ngramdb.questions.parsing")
    to_ast = lazy_module("ngramdb.questions.to_ast")


def count(bound: Bound, ngram: Any) -> int:
    """Count anything but a list of token ids: a text, a pattern, a tuple or an array."""
    if isinstance(ngram, str):
        if bound.database.settings.match != "tokens":
            return bound.number(bound.bind(ast.Count(to_ast.occurring(ngram))))
        ids = bound.encode(ngram)
        if not len(ids) and ngram:
            raise InvalidArgument(grams.no_token(ngram, bound.view.tokenizer, "match_text=True"))
        found = bound.count(ids)
        if not found or "*" in ngram or "?" in ngram:
            python_warnings.warn_of(bound.view, ngram, "match_text=True")
        return found
    if type(ngram) is not tuple and type(ngram) is not np.ndarray:
        if isinstance(ngram, parsing.Pattern):
            return bound.number(bound.bind(ast.Count(to_ast.occurring(ngram))))
        ngram = bound.ids(ngram)
    try:
        return bound.count(ngram)
    except (TypeError, OverflowError, ValueError) as error:
        cause = error
    bound.refuse(ngram, cause)  # outside of the handler: one error, not two


def count_as_set(bound: Bound, ngrams: list[Any]) -> NDArray[np.int64]:
    """Count many n-grams in one statement under the setting `match`: (n,) int64."""
    first, *others = to_ast.occurring_each(ngrams)
    found = bound.run(bound.bind(ast.Count(first, others=tuple(others))))
    return np.array([row[-1] for row in found], dtype=np.int64)
