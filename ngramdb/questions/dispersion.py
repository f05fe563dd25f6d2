"""DISPERSION: how evenly occurrences are spread over the parts of a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ngramdb import bool_arguments
from ngramdb.errors import InvalidArgument
from ngramdb.language import ast
from ngramdb.questions.arguments import to_ast
from ngramdb.questions.arguments.texts import Statement
from ngramdb.questions.definition import Definition, Help
from ngramdb.questions.requests import Parameter
from ngramdb.questions.spelling import Condition, Occurring, Spelling
from ngramdb.questions.verbs import Asking

if TYPE_CHECKING:
    from ngramdb.executor.results.result import Result
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.arguments.patterns import Pattern
    from ngramdb.questions.arguments.signatures import Ngram


class FieldName(Spelling):
    """The field whose values are the parts."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", self.about),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name]:
            statement.add(f"BY {arguments[name]}")


class Verbs(Asking):
    """Verbs of a corpus."""

    @bool_arguments.checked
    def dispersion(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        by: str | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """How evenly an n-gram is spread over the corpus: DISPERSION.

        Parameters
        ----------
        pattern : text or token ids, or a pattern; those near others need the statement DISPERSION
        where, params : only in documents that meet this condition
        by : the field whose values are the parts of the corpus; None for documents
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies

        Returns
        -------
        One row: `count`; `range`, the number of parts with it, of so many `parts`; Gries' deviation of
        proportions `dp` and `dp_norm`, the divergence `dkl` in bits, the average reduced frequency `arf`.

        Raises
        ------
        QueryError
            A condition that cannot be parsed or bound, a field that no document has.
        """
        if by is not None and not isinstance(by, str):
            raise InvalidArgument(f"by is the name of a field, not {by!r}")
        tree = ast.Dispersion(
            to_ast.occurring(pattern, match_text, ignore_case), by=None if by is None else to_ast.field(by)
        )
        return self._bound.ask(tree, where, params)


DEFINITION = Definition(
    Verbs,
    "dispersion",
    "DISPERSION OF",
    "How evenly it is spread: DISPERSION.",
    {
        "pattern": Occurring(),
        "where": Condition(),
        "by": FieldName("the field whose values are the parts"),
    },
    help=Help(
        "DISPERSION [OF] condition [WHERE condition] [BY DOCUMENTS | field] [FROM source]",
        ('DISPERSION OF "climate" BY source', "how evenly it is spread over documents or sources"),
    ),
)
