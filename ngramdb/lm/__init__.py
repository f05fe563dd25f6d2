"""Language models over a corpus index: n-gram, ∞-gram, stupid backoff, Kneser-Ney of any order.

A model is described by a `ModelSpec` (`NGram`, `InfGram`, `Backoff`, `KneserNey`), and made for a corpus by
`make`:

    model = make(KneserNey(order=5), view, analyze(view))
    model.prob(context, token).prob

No training run and no table of n-grams: probabilities come from the index when they are asked for. What has
to be known beforehand are a few counts of counts, `analyze`. A document is a sentence here: it begins with
`<s>` and ends with `</s>` (the ids BEGIN and END).

The names are in `__init__.pyi`; each is imported at its first use: a description of a model needs no kernels.
"""

from ngramdb.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
