"""Language models over a corpus index: n-grams, ∞-grams, stupid backoff and smoothed models.

A model is described by a `ModelSpec` (`NGram`, `InfGram`, `Backoff`, `KneserNey`, `WittenBell`,
`PitmanYor`, `Katz`, `SkipKneserNey`), and made for a corpus by `make`:

    model = make(KneserNey(order=5), view, analyze(view))
    model.prob(context, token).prob

There is no training run and no table of n-grams: probabilities are computed from the index on demand. Only
a few counts of counts are computed ahead of time, by `analyze`. Here a document is a sentence: it begins with
`<s>` and ends with `</s>` (the ids BEGIN and END).

The names are in `__init__.pyi`; each is imported on first use: a description of a model needs no kernels.
"""

from ngramdb.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
