"""Language models over a corpus index: n-gram, ∞-gram, stupid backoff, Kneser-Ney of any order.

A model is described by a `ModelSpec` (`NGram`, `InfGram`, `Backoff`, `KneserNey`), and made for a corpus by
`make`:

    model = make(KneserNey(order=5), view, analyze(view))
    model.prob(context, token).prob

No training run and no table of n-grams: probabilities come from the index when they are asked for. What has
to be known beforehand are a few counts of counts, `analyze`. A document is a sentence here: it begins with
`<s>` and ends with `</s>` (the ids BEGIN and END).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ngramdb.lm.agreement import Agreement, measure_agreement
    from ngramdb.lm.arpa import write_arpa
    from ngramdb.lm.drafting import Draft, draft
    from ngramdb.lm.evaluation import Perplexity, perplexity
    from ngramdb.lm.figures import draw_agreement
    from ngramdb.lm.generation import Continuation, Generator, Greedy, Sampling, Search
    from ngramdb.lm.interpolation import Interpolation, interpolate, relative_improvement
    from ngramdb.lm.models import LanguageModel, make
    from ngramdb.lm.neural import CorpusLogits, neural_probabilities
    from ngramdb.lm.sharing import analyze, language_index
    from ngramdb.lm.spec import Backoff, InfGram, KneserNey, ModelSpec, NGram
    from ngramdb.lm.statistics import Statistics, fingerprint
    from ngramdb.lm.values import BEGIN, END, UNKNOWN, Distribution, Probability, Scores

# Where each name is found when it is first asked for: a description of a model needs no kernels.
_HOMES = {
    "BEGIN": "ngramdb.lm.values",
    "END": "ngramdb.lm.values",
    "UNKNOWN": "ngramdb.lm.values",
    "Agreement": "ngramdb.lm.agreement",
    "Backoff": "ngramdb.lm.spec",
    "CorpusLogits": "ngramdb.lm.neural",
    "Continuation": "ngramdb.lm.generation",
    "Distribution": "ngramdb.lm.values",
    "Draft": "ngramdb.lm.drafting",
    "Generator": "ngramdb.lm.generation",
    "Greedy": "ngramdb.lm.generation",
    "InfGram": "ngramdb.lm.spec",
    "Interpolation": "ngramdb.lm.interpolation",
    "KneserNey": "ngramdb.lm.spec",
    "LanguageModel": "ngramdb.lm.models",
    "ModelSpec": "ngramdb.lm.spec",
    "NGram": "ngramdb.lm.spec",
    "Perplexity": "ngramdb.lm.evaluation",
    "Probability": "ngramdb.lm.values",
    "Sampling": "ngramdb.lm.generation",
    "Scores": "ngramdb.lm.values",
    "Search": "ngramdb.lm.generation",
    "Statistics": "ngramdb.lm.statistics",
    "analyze": "ngramdb.lm.sharing",
    "draft": "ngramdb.lm.drafting",
    "draw_agreement": "ngramdb.lm.figures",
    "fingerprint": "ngramdb.lm.statistics",
    "interpolate": "ngramdb.lm.interpolation",
    "language_index": "ngramdb.lm.sharing",
    "make": "ngramdb.lm.models",
    "measure_agreement": "ngramdb.lm.agreement",
    "neural_probabilities": "ngramdb.lm.neural",
    "perplexity": "ngramdb.lm.evaluation",
    "relative_improvement": "ngramdb.lm.interpolation",
    "write_arpa": "ngramdb.lm.arpa",
}

__all__ = [
    "BEGIN",
    "END",
    "UNKNOWN",
    "Agreement",
    "Backoff",
    "Continuation",
    "CorpusLogits",
    "Distribution",
    "Draft",
    "Generator",
    "Greedy",
    "InfGram",
    "Interpolation",
    "KneserNey",
    "LanguageModel",
    "ModelSpec",
    "NGram",
    "Perplexity",
    "Probability",
    "Sampling",
    "Scores",
    "Search",
    "Statistics",
    "analyze",
    "draft",
    "draw_agreement",
    "fingerprint",
    "interpolate",
    "language_index",
    "make",
    "measure_agreement",
    "neural_probabilities",
    "perplexity",
    "relative_improvement",
    "write_arpa",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
