"""GENERATE: continuations of a context."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ngramdb.errors import InvalidArgument
from ngramdb.interrupts import under
from ngramdb.language import ast
from ngramdb.lazy import lazy_module
from ngramdb.questions.arguments import to_ast
from ngramdb.questions.arguments.texts import Statement
from ngramdb.questions.definition import Definition, Help
from ngramdb.questions.requests import Given, Parameter
from ngramdb.questions.spelling import Condition, Model, Number, Passage, Spelling
from ngramdb.questions.verbs import Asking

if TYPE_CHECKING:
    from ngramdb.executor.questions import generating
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions import model_queries, results
    from ngramdb.questions.arguments import models
    from ngramdb.questions.arguments.signatures import ModelLike, Ngram
    from ngramdb.questions.results import Generated
else:
    generating = lazy_module("ngramdb.executor.questions.generating")
    model_queries = lazy_module("ngramdb.questions.model_queries")
    models = lazy_module("ngramdb.questions.arguments.models")
    results = lazy_module("ngramdb.questions.results")

METHODS = ("greedy", "sample", "beam")


class Method(Spelling):
    """How tokens are chosen; and `beams`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (
            Parameter(name, "text", self.about, choices=METHODS),
            Parameter("beams", "integer", "beams of `beam`", least=1),
        )

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name]:
            beams = "" if arguments["beams"] is None else f" ({arguments['beams']})"
            statement.add(f"METHOD {arguments[name].upper()}{beams}")


def _is_drawn(given: Given) -> bool:
    drawing = ("temperature", "top", "nucleus")
    return given["seed"] is None and (
        given["method"] == "sample" or any(given[name] is not None for name in drawing)
    )


class Verbs(Asking):
    """Verbs of a corpus."""

    def generate(
        self,
        given: Ngram = "",
        tokens: int = 20,
        model: ModelLike = "infgram",
        *,
        method: str | None = None,
        beams: int | None = None,
        temperature: float | None = None,
        top: int | None = None,
        nucleus: float | None = None,
        diversity: float | None = None,
        seed: int | None = None,
        n: int = 1,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> list[Generated]:
        """Generate continuations of a context, the most probable first: GENERATE.

        Parameters
        ----------
        given : the context, text or token ids
        tokens : the greatest number of tokens of each; it ends earlier where a document would end
        model : as `prob` takes it
        method : 'greedy', 'sample' or 'beam'; by default the one to which the other parameters belong, or
            greedy
        temperature, top, nucleus : for 'sample': above 1 is flatter; draw from this many of the most probable
            tokens; draw from the fewest tokens whose probabilities sum to this
        beams, diversity : for 'beam': their number; the penalty of a token for each earlier beam that has it
            at the same place
        seed : the same seed gives the same continuations
        n : the number of continuations
        where, params : as `prob` takes them

        Returns
        -------
        A list of str objects with `token_ids`, `logprob` and `ended`; fewer than `n` if a search finds fewer
        different ones.

        Raises
        ------
        InvalidArgument, PlanError
            Parameters of different methods, or a number out of range.

        Notes
        -----
        Diverse beams: Vijayakumar et al. 2018. Nucleus: Holtzman et al. 2020.
        """
        used = models.as_model(model)
        bound = self._among(where, params)._bound
        tree = ast.Generate(
            to_ast.ngram(given),
            to_ast.required(0, "tokens", tokens),
            to_ast.model(used),
            _method(method, beams),
            to_ast.real("temperature", temperature),
            to_ast.number(1, "top", top),
            to_ast.real("nucleus", nucleus),
            to_ast.real("diversity", diversity),
            to_ast.number(0, "seed", seed),
            to_ast.required(1, "n", n),
        )
        plan = model_queries.generation(bound, tree)
        tokenizer = plan.corpus.tokenizer
        with bound.work():
            found = generating.Run(plan).continuations()
        return [
            results.Generated(generating.text_of(item, tokenizer), item.ids, item.logprob, item.ended)
            for item in found
        ]

    def stream(
        self,
        given: Ngram = "",
        tokens: int = 20,
        model: ModelLike = "infgram",
        *,
        method: str | None = None,
        temperature: float | None = None,
        top: int | None = None,
        nucleus: float | None = None,
        seed: int | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Iterator[str]:
        """Generate one continuation, and yield its text piece by piece while it is made.

        Parameters
        ----------
        given, tokens, model, method, temperature, top, nucleus, seed : as `generate` takes them
        where, params : as `prob` takes them

        Returns
        -------
        An iterator of str; joined, they are the text that `generate` returns.
        """
        used = models.as_model(model)
        bound = self._among(where, params)._bound
        tree = ast.Generate(
            to_ast.ngram(given),
            to_ast.required(0, "tokens", tokens),
            to_ast.model(used),
            _method(method, None),
            to_ast.real("temperature", temperature),
            to_ast.number(1, "top", top),
            to_ast.real("nucleus", nucleus),
            seed=to_ast.number(0, "seed", seed),
        )
        plan = model_queries.generation(bound, tree)
        work = bound.work()
        with work:
            run = generating.Run(plan)
        return under(work, run.pieces())


DEFINITION = Definition(
    Verbs,
    "generate",
    "GENERATE",
    "How it might go on: GENERATE.",
    {
        "given": Passage("the context; without it, a text from its beginning", "GIVEN", False),
        "where": Condition(),
        "model": Model(),
        "tokens": Number("the greatest number of tokens"),
        "method": Method("how tokens are chosen"),
        "temperature": Number("of `sample`: above 1 is flatter", kind="number"),
        "top": Number("of `sample`: from so many of the most probable tokens", least=1),
        "nucleus": Number("of `sample`: from the fewest tokens of this probability together", kind="number"),
        "diversity": Number("of `beam`: the penalty of tokens that other beams have", kind="number"),
        "seed": Number("the same seed draws the same rows"),
        "n": Number("the number of continuations", least=1, after="RETURN"),
    },
    is_drawn=_is_drawn,
    help=Help(
        "GENERATE [GIVEN] ngram TOKENS n [USING model] [WHERE condition] "
        "[METHOD GREEDY | SAMPLE | BEAM(width)]\n"
        "  [TEMPERATURE t] [TOP k] [NUCLEUS p] [DIVERSITY d] [SEED s] [RETURN k] [FROM source]",
        ('GENERATE GIVEN "once upon a" TOKENS 20 METHOD SAMPLE', "a continuation, drawn at random"),
    ),
)


def _method(method: Any, beams: int | None) -> ast.Method | None:
    """Return the method of a verb's arguments. Raises InvalidArgument."""
    if method is not None and (not isinstance(method, str) or method not in METHODS):
        raise InvalidArgument(f"method is 'greedy', 'sample' or 'beam', not {method!r}")
    if beams is not None and method is None:
        method = "beam"
    if beams is not None and method != "beam":
        raise InvalidArgument(f"beams belongs to method 'beam', not to {method!r}")
    return None if method is None else ast.Method(method, to_ast.number(1, "beams", beams))
