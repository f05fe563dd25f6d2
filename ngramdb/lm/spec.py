"""Models without a corpus: the specification that follows USING, and the separator of sentences.

The separator is an optional token at which models cut documents: both `</s>` and `<s>`, and not part of any
n-gram. A corpus that was created WITH (sentence_separator = '…') has one, and so does a corpus of sentences,
for texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, Protocol

from ngramdb.errors import InvalidArgument
from ngramdb.fork_safety import cached_property
from ngramdb.lazy import dataclass
from ngramdb.limits import MAX_TOKEN_ID
from ngramdb.registries import MODELS, ModelKind

# The weight of stupid backoff that its authors recommend: Brants et al. 2007, section 4.
BACKOFF_WEIGHT = 0.4

# Orders are 32-bit in the kernels.
MAX_ORDER = 2**31 - 1

# Lengths up to which discounts may be counted: a model needs two, and the kernel keeps a table of this size.
MIN_ANALYZED_ORDER, MAX_ANALYZED_ORDER = 2, 1000

# No n-gram can be this frequent.
MAX_MIN_COUNT = 2**62 - 1


@dataclass(frozen=True, eq=False)
class ModelSpec:
    """A kind of model and its parameters.

    kind : one of `ngramdb.registries.MODELS`, such as 'kneser_ney'
    order : most tokens in an n-gram; None for no limit, or the kind's default if it must have one
    weight : the weight of stupid backoff
    min_count : less frequent n-grams count as unseen (for the ∞-gram: the least count of a context)

    Raises
    ------
    InvalidArgument
        no such kind, or a parameter out of range
    """

    kind: str = "ngram"
    order: int | None = None
    weight: float = BACKOFF_WEIGHT
    min_count: int = 1

    def __post_init__(self) -> None:
        if self.kind not in MODELS:
            *others, last = MODELS
            raise InvalidArgument(f"no model {self.kind!r}; there are {', '.join(others)} and {last}")
        if self.order is not None and not (is_whole(self.order) and 1 <= self.order <= MAX_ORDER):
            raise InvalidArgument(
                f"the order of a model must be a whole number of at least 1, not {self.order!r}"
            )
        if not (is_whole(self.min_count) and 1 <= self.min_count <= MAX_MIN_COUNT):
            raise InvalidArgument(
                f"the least count of a model must be a whole number of at least 1, not {self.min_count!r}"
            )
        self._check_bounds(MODELS[self.kind])
        for name in ("order", "min_count"):
            if isinstance(value := getattr(self, name), Integral):  # convert numpy's types, too
                object.__setattr__(self, name, int(value))
        if not (is_real(self.weight) and 0.0 < self.weight <= 1.0):
            raise InvalidArgument(
                f"the weight of stupid backoff must be above 0 and at most 1, not {self.weight!r}"
            )

    def _check_bounds(self, kind: ModelKind) -> None:
        name = self.kind.upper()
        if self.order is None:
            object.__setattr__(self, "order", kind.default_order)
        elif kind.max_order is not None and self.order > kind.max_order:
            raise InvalidArgument(f"the order of {name} is at most {kind.max_order}, not {self.order}")
        if self.min_count != 1 and not kind.has_min_count:
            raise InvalidArgument(f"{name} has no MIN COUNT")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelSpec) and self._values == other._values

    def __hash__(self) -> int:
        return hash(self._values)

    # Cached: verbs that answer in a microsecond use these.
    @cached_property
    def _values(self) -> tuple[str, int | None, float, int]:
        return self.kind, self.order, self.weight, self.min_count

    @cached_property
    def limit(self) -> int:
        """The order as passed to kernels: 0 for no limit."""
        return self.order or 0

    @cached_property
    def infgram(self) -> bool:
        """True if the longest suffix of the context that occurs is used in place of the context."""
        return self.kind == "infgram"

    @cached_property
    def counted(self) -> bool:
        """True if an answer is a count divided by a count, which the index gives directly."""
        return MODELS[self.kind].is_relative and self.min_count == 1

    @property
    def needs_statistics(self) -> bool:
        """True if the model is made from what ANALYZE counts."""
        return MODELS[self.kind].needs_statistics

    @property
    def is_probability(self) -> bool:
        """True if distributions sum to 1: scores of stupid backoff do not."""
        return MODELS[self.kind].is_probability

    def __str__(self) -> str:
        """Return the specification as written after USING."""
        words = [self.kind.upper()]
        if self.kind == "backoff":
            words[0] += f"({self.weight:g})"
        if self.order is not None:
            words.append(f"ORDER {self.order}")
        if self.min_count > 1:
            words.append(f"MIN COUNT {self.min_count}")
        return " ".join(words)


def is_whole(value: object) -> bool:
    """Return True for an integer, including numpy's types, that is not a boolean."""
    return isinstance(value, (int, Integral)) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """Return True for a real number, including numpy's types, that is not a boolean."""
    return isinstance(value, (float, Real)) and not isinstance(value, bool)


class NGram(ModelSpec):
    """P(w | h) = count(h w) / count(h), h the last order - 1 tokens; no answer if h does not occur.

    With `min_count`, n-grams below it have probability 0, and distributions sum to less than 1.
    """

    def __init__(self, order: int | None = None, min_count: int = 1) -> None:
        super().__init__("ngram", order, min_count=min_count)


class InfGram(ModelSpec):
    """The same with the longest suffix h of the context that occurs (Liu et al. 2024, section 2)."""

    def __init__(self, order: int | None = None, min_count: int = 1) -> None:
        super().__init__("infgram", order, min_count=min_count)


class Backoff(ModelSpec):
    """Stupid backoff, a score: a shorter context costs the weight (Brants et al. 2007, equation 5)."""

    def __init__(self, weight: float = BACKOFF_WEIGHT, order: int | None = None, min_count: int = 1) -> None:
        super().__init__("backoff", order, weight, min_count)


class KneserNey(ModelSpec):
    """Interpolated modified Kneser-Ney (Chen & Goodman 1999); no order: unlimited (Shareghi et al. 2016).

    With `min_count`, n-grams below it yield their mass to shorter contexts, as in KenLM's pruning; sums are
    unchanged, and distributions sum to 1.
    """

    def __init__(self, order: int | None = None, min_count: int = 1) -> None:
        super().__init__("kneser_ney", order, min_count=min_count)


class WittenBell(ModelSpec):
    """Interpolated Witten-Bell (Witten & Bell 1991, method C); no order: unlimited.

    It has nothing to estimate, so that it works in the smallest corpora. With `min_count`, n-grams below it
    yield their mass to shorter contexts.
    """

    def __init__(self, order: int | None = None, min_count: int = 1) -> None:
        super().__init__("witten_bell", order, min_count=min_count)


class PitmanYor(ModelSpec):
    """A hierarchical Pitman-Yor process, approximated (Teh 2006); no order: unlimited (Wood et al. 2009).

    Its parameters are fitted to the corpus when it is made. `min_count` as in Kneser-Ney.
    """

    def __init__(self, order: int | None = None, min_count: int = 1) -> None:
        super().__init__("pitman_yor", order, min_count=min_count)


class Katz(ModelSpec):
    """Katz backoff with Good-Turing discounts (Katz 1987), up to order 10; no order: 5."""

    def __init__(self, order: int | None = None) -> None:
        super().__init__("katz", order)


class SkipKneserNey(ModelSpec):
    """Kneser-Ney whose contexts may have gaps (Pickhardt et al. 2014), up to order 8; no order: 5."""

    def __init__(self, order: int | None = None) -> None:
        super().__init__("skip_kneser_ney", order)


# ---- The separator of sentences.


# The option of a corpus that names the separator, as text.
OPTION = "sentence_separator"

# The largest id that models support: their codes are ids plus one.
MAX_ID = MAX_TOKEN_ID - 1


class View(Protocol):
    """The interface that models need of a corpus.

    Its catalog entry (`view.entry`) is used for fingerprints and for the separator, if it has one; a sum of
    corpora has `view.terms`, and a corpus of sentences has its separator as `view.separator`.
    """

    @property
    def index(self) -> Any: ...
    @property
    def tokenizer(self) -> Any: ...


def separator_of(view: View) -> int | None:
    """Return the token at which models of a corpus cut documents; None if they do not, or it never occurs.

    Raises
    ------
    InvalidArgument
        a sum of corpora whose separators differ; a text that is not one token
    """
    own: int | None = getattr(view, "separator", None)
    if own is not None:
        return own
    texts = set(_texts(view))
    if len(texts) > 1:
        listed = " and ".join(sorted("none" if text is None else repr(text) for text in texts))
        raise InvalidArgument(f"models over a sum need corpora with the same {OPTION}; these have {listed}")
    text = next(iter(texts))
    return None if text is None else token_of(text, view.tokenizer)


def is_cut(view: Any) -> bool:
    """Return True if models cut documents at a separator. Cost: well below a microsecond."""
    terms = getattr(view, "terms", None)
    if terms is not None:
        return any(is_cut(term.view) for term in terms)
    return hasattr(view, "separator") or OPTION in view.entry.options


def _texts(view: Any) -> Iterator[str | None]:
    terms = getattr(view, "terms", None)
    if terms is not None:
        for term in terms:
            yield from _texts(term.view)
        return
    options = getattr(getattr(view, "entry", None), "options", None) or {}
    yield options.get(OPTION)


def token_of(text: str, tokenizer: Any) -> int | None:
    """Return the single token of a separator's text.

    None for a word that no document contains yet. If documents come as ids, the text is a number.

    Raises
    ------
    InvalidArgument
        the text is not exactly one token
    """
    if tokenizer.kind == "tokens":
        if not (text.isascii() and text.isdigit() and int(text) <= MAX_ID):
            raise InvalidArgument(f"{OPTION} must be a token id from '0' to '{MAX_ID}' here, not {text!r}")
        return int(text)
    ids = tokenizer.encode(text).tolist()
    if len(ids) != 1:
        raise InvalidArgument(
            f"{OPTION} is one token, but {text!r} is {len(ids)} tokens of this tokenizer ({tokenizer.kind})"
        )
    return None if ids[0] < 0 else int(ids[0])
