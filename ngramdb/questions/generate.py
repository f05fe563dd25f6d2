"""GENERATE: continuations of a context, as rows, or piece by piece while they are made."""

from __future__ import annotations

import codecs
import secrets
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.interrupts import under
from ngramdb.language import ast
from ngramdb.lazy import dataclass, lazy_module
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help
from ngramdb.questions.plans import SliceQuery
from ngramdb.questions.requests import (
    Condition,
    Given,
    Model,
    Number,
    Parameter,
    Passage,
    Spelling,
    Statement,
)
from ngramdb.questions.verbs import Asking

if TYPE_CHECKING:
    from ngramdb.executor import result
    from ngramdb.executor.result import Result, Row
    from ngramdb.lm import generation, of_corpora, values
    from ngramdb.lm.generation import Continuation
    from ngramdb.lm.spec import ModelSpec
    from ngramdb.patterns import Gram
    from ngramdb.planner import cautions
    from ngramdb.planner import scope as scopes
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.scope import Scope
    from ngramdb.questions import results, verbs
    from ngramdb.questions.results import Generated
    from ngramdb.questions.signatures import ModelLike, Ngram
    from ngramdb.questions.verbs import Bound
    from ngramdb.source import Corpus
    from ngramdb.tokenizers.base import Tokenizer
else:
    result = lazy_module("ngramdb.executor.result")
    generation = lazy_module("ngramdb.lm.generation")
    values = lazy_module("ngramdb.lm.values")
    cautions = lazy_module("ngramdb.planner.cautions")
    scopes = lazy_module("ngramdb.planner.scope")
    of_corpora = lazy_module("ngramdb.lm.of_corpora")
    verbs = lazy_module("ngramdb.questions.verbs")
    results = lazy_module("ngramdb.questions.results")

COLUMNS = ("rank", "text", "logprob")
# Random seeds are below this, short enough to type again.
SEEDS = 2**32
METHODS = ("greedy", "sample", "beam")


class StopWords(Spelling):
    """N-grams that end a text: STOP. A request has one."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", self.about),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        for i, ngram in enumerate(_stop_ngrams(arguments[name])):
            if i > 0:
                statement.text += ","
                statement.shown += ","
            statement.ngram(ngram, "STOP" if i == 0 else "")


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
        min_prob: float | None = None,
        stop: Ngram | Sequence[Ngram] | None = None,
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
        min_prob : tokens that are less probable are not chosen; a text ends if all of them are
        stop : an n-gram after which a text ends, or several
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
        used = to_ast.as_model(model)
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
            min_prob=to_ast.real("min_prob", min_prob),
            stop=_stop_trees(stop),
        )
        plan = _planned(bound, tree)
        tokenizer = plan.corpus.tokenizer
        with bound.work():
            found = Run(plan).continuations()
        return [
            results.Generated(_text_of(item, tokenizer), item.ids, item.logprob, item.ended) for item in found
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
        min_prob: float | None = None,
        stop: Ngram | Sequence[Ngram] | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Iterator[str]:
        """Generate one continuation, and yield its text piece by piece while it is made.

        Parameters
        ----------
        given, tokens, model, method, temperature, top, nucleus, seed, min_prob, stop : as `generate` takes
            them
        where, params : as `prob` takes them

        Returns
        -------
        An iterator of str; joined, they are the text that `generate` returns.
        """
        used = to_ast.as_model(model)
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
            min_prob=to_ast.real("min_prob", min_prob),
            stop=_stop_trees(stop),
        )
        plan = _planned(bound, tree)
        work = bound.work()
        with work:
            run = Run(plan)
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
        "min_prob": Number("the least probability of a token; a text ends if none has it", kind="number"),
        "stop": StopWords("an n-gram after which a text ends"),
    },
    is_drawn=_is_drawn,
    help=Help(
        "GENERATE [GIVEN] ngram TOKENS n [USING model] [WHERE condition] "
        "[METHOD GREEDY | SAMPLE | BEAM(width)]\n"
        "  [TEMPERATURE t] [TOP k] [NUCLEUS p] [MIN PROB p] [DIVERSITY d] [SEED s] [STOP ngram {, ngram}]\n"
        "  [RETURN k] [FROM source]",
        ('GENERATE GIVEN "once upon a" TOKENS 20 METHOD SAMPLE', "a continuation, drawn at random"),
    ),
)


def _method(method: Any, beams: int | None) -> ast.Method | None:
    """Return the method of a verb's arguments. Raises InvalidArgument."""
    if method is not None and (not isinstance(method, str) or method not in METHODS):
        raise InvalidArgument(f"method must be 'greedy', 'sample' or 'beam', not {method!r}")
    if beams is not None and method is None:
        method = "beam"
    if beams is not None and method != "beam":
        raise InvalidArgument(f"beams requires method 'beam', not {method!r}")
    return None if method is None else ast.Method(method, to_ast.number(1, "beams", beams))


def _stop_ngrams(stop: Ngram | Sequence[Ngram] | None) -> list[Any]:
    """Return the n-grams of a verb's argument: none, one, or several."""
    if not (stop is None or isinstance(stop, str) or hasattr(stop, "__len__")):
        raise InvalidArgument(f"stop must be an n-gram or several, not {type(stop).__name__}")
    if stop is None or (isinstance(stop, str) and not stop):
        return []
    if isinstance(stop, str) or (len(stop) > 0 and isinstance(stop[0], (int, np.integer))):
        return [stop]
    return list(stop)


def _stop_trees(stop: Ngram | Sequence[Ngram] | None) -> tuple[ast.Ngram, ...]:
    return tuple(map(to_ast.ngram, _stop_ngrams(stop)))


def _planned(bound: Bound, tree: ast.Generate) -> GenerateQuery:
    """Return the plan of a tree; warn of likely mistakes in its context."""
    plan = bound.optimized(bound.bind(tree))
    assert isinstance(plan, GenerateQuery)
    if plan.phrases:
        verbs.warn(cautions.cautions_of(plan))
    return plan


# ---- the statement --------------------------------------------------------------------------------------


def bind(scope: Scope, node: ast.Generate) -> GenerateQuery:
    """Bind GENERATE."""
    corpus = scope.corpus(node.source)
    method = _bound_method(scope, node)
    n_tokens = scope.number(node.tokens, "TOKENS", 0)
    beams = scope.number(node.method.width, "the number of beams", 1) if node.method else None
    n_returned = scope.number(node.n_returned, "RETURN", 1)
    assert n_tokens is not None
    if node.n_returned is not None and n_returned is not None:
        if method == "greedy" and n_returned > 1:
            what = "greedy generation has one continuation; use sample or beam for more"
            scope.refuse(what, node.n_returned)
        if beams is not None and n_returned > beams:
            what = f"a search with {beams} beams cannot return {n_returned} continuations"
            scope.refuse(what, node.n_returned)
    above_zero = scopes.Range("above 0 (METHOD greedy is the limit)", lambda x: x > 0)
    return GenerateQuery(
        corpus,
        scope.context(node.context, corpus),
        n_tokens,
        # INFGRAM equals NGRAM with shorter contexts wherever a long one is unseen.
        to_ast.as_model("infgram") if node.model is None else scope.model(node.model),
        method,
        beams=beams,
        temperature=scope.real(node.temperature, "TEMPERATURE", above_zero),
        top_k=scope.number(node.top, "TOP", 1),
        top_p=scope.real(node.nucleus, "NUCLEUS", scopes.SHARES),
        diversity=scope.real(node.diversity, "DIVERSITY", scopes.Range("0 or more", lambda x: x >= 0)),
        seed=scope.number(node.seed, "SEED", 0),
        n_returned=n_returned or 1,
        least_prob=scope.real(node.min_prob, "MIN PROB", scopes.SHARES),
        stops=tuple(_stop(scope, each, corpus) for each in node.stop),
        where=scope.among(node.where, corpus),
    )


def _stop(scope: Scope, node: ast.Ngram, corpus: Corpus) -> Gram:
    found = scope.context(node, corpus)
    if not found.key:
        scope.refuse("STOP requires a token", node)
    return found


def _bound_method(scope: Scope, node: ast.Generate) -> str:
    """Return the named method, or that of the clauses; check that all clauses belong to it."""
    clauses = {
        "sample": (
            ("TEMPERATURE", node.temperature),
            ("TOP", node.top),
            ("NUCLEUS", node.nucleus),
            ("SEED", node.seed),
        ),
        "beam": (("DIVERSITY", node.diversity),),
    }
    given = [
        (kind, name, value) for kind, pairs in clauses.items() for name, value in pairs if value is not None
    ]
    named = node.method.kind if node.method else given[0][0] if given else "greedy"
    for kind, name, value in given:
        # Scripts give a seed everywhere, and without sampling it changes nothing.
        if kind != named and name != "SEED":
            scope.fail(PlanError, f"{name} belongs to METHOD {kind}, not to METHOD {named}", value)
    return named


@dataclass(frozen=True)
class GenerateQuery(SliceQuery):
    """GENERATE. `method` is 'greedy', 'sample' or 'beam'; parameters of the other methods are None."""

    context: Gram
    n_tokens: int
    model: ModelSpec
    method: str = "greedy"
    beams: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    diversity: float | None = None
    seed: int | None = None
    n_returned: int = 1
    least_prob: float | None = None
    stops: tuple[Gram, ...] = ()

    def label(self) -> str:
        named = (
            ("beams", self.beams),
            ("temperature", self.temperature),
            ("top", self.top_k),
            ("nucleus", self.top_p),
            ("least probability", self.least_prob),
            ("diversity", self.diversity),
            ("seed", self.seed),
        )
        how = "".join(f", {name} {value}" for name, value in named if value is not None)
        if self.stops:
            how += ", until " + " or ".join(gram.shown for gram in self.stops)
        many = f", {self.n_returned} continuations" if self.n_returned > 1 else ""
        return (
            f"generate {self.n_tokens:,} tokens given {self.context.shown}, {self.method}{how}, "
            f"{self.model}{many}"
        )

    def answer_whole(self) -> Result:
        """Return a row per continuation, the most probable first.

        A single continuation can be read while it is made, by `Result.pieces`, in place of the row or before
        it, except from a beam search. If tokens are drawn at random, the summary has the seed.
        """
        run = Run(self)
        summary: dict[str, Any] = dict(run.note)
        if self.method == "sample":
            summary["seed"] = run.seed

        def rows() -> Iterator[list[Row]]:
            yield [
                (rank, _text_of(item, self.corpus.tokenizer), item.logprob)
                for rank, item in enumerate(run.continuations(), start=1)
            ]

        made = result.Result(COLUMNS, rows(), summary=summary, types=(int, str, float))
        if self.n_returned == 1 and self.method != "beam":
            made.pieces = run.pieces()
        return made

    def sampler(self) -> generation.Method:
        """Return the method with its parameters. Raises InvalidArgument for one out of range."""
        if self.method == "sample":
            temperature = 1.0 if self.temperature is None else self.temperature
            return generation.Sampling(temperature, self.top_k, self.top_p)
        if self.method == "beam":
            beams = max(generation.BEAMS, self.n_returned) if self.beams is None else self.beams
            return generation.Search(beams, self.diversity or 0.0)
        return generation.Greedy()


class Run:
    """One generation: its parameters and its output so far. `seed` is the plan's, or a random one."""

    def __init__(self, plan: GenerateQuery) -> None:
        self.note = of_corpora.note_of(plan.corpus, plan.model)
        self.seed = secrets.randbelow(SEEDS) if plan.seed is None else plan.seed
        self._plan = plan
        self._method = plan.sampler()
        self._stops = generation.Stops(tuple(gram.key for gram in plan.stops), plan.least_prob or 0.0)
        self._generator = generation.Generator(of_corpora.language_model(plan.corpus, plan.model))
        self._streamed: Continuation | None = None

    def continuations(self) -> list[Continuation]:
        """Return all continuations, the most probable first; one that `pieces` has completed is reused."""
        if self._streamed is not None:
            return [self._streamed]
        plan = self._plan
        return self._generator.generate(
            plan.context.ids,
            plan.n_tokens,
            self._method,
            seed=self.seed,
            n_return=plan.n_returned,
            stops=self._stops,
        )

    def pieces(self) -> Iterator[str]:
        """Yield the text that each token adds to the first continuation."""
        made = generation.Continuation((), 0.0, False)
        plan = self._plan
        tokenizer = plan.corpus.tokenizer
        shown = ""
        for token, logprob in self._generator.stream(
            plan.context.ids, plan.n_tokens, self._method, seed=self.seed, stops=self._stops
        ):
            made = made.extended(token, logprob)
            if token == values.END:
                break
            text = _whole_characters(made, tokenizer)
            if text != shown and text.startswith(shown):
                yield text[len(shown) :]
                shown = text
        text = _text_of(made, tokenizer)
        if text.startswith(shown) and len(text) > len(shown):
            yield text[len(shown) :]
        self._streamed = made


def _text_of(continuation: Continuation, tokenizer: Tokenizer) -> str:
    return tokenizer.decode(np.array(continuation.ids, dtype=np.uint32))


def _whole_characters(continuation: Continuation, tokenizer: Tokenizer) -> str:
    """Return the text without the first bytes of an incomplete character, which the next token may change."""
    exact = tokenizer.decode_exact(np.array(continuation.ids, dtype=np.uint32))
    if exact is None:
        return _text_of(continuation, tokenizer).rstrip("\ufffd")
    return codecs.getincrementaldecoder("utf-8")("backslashreplace").decode(exact)
