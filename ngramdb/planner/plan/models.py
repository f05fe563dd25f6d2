"""Language models as statements name them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ngramdb.kinds import MODELS
from ngramdb.lm.spec import BACKOFF_WEIGHT, ModelSpec
from ngramdb.planner.plan.grams import Gram


@dataclass(frozen=True)
class Model:
    """A language model: `kind` as `ngramdb.lm.ModelSpec` has it; `order` 0 means no limit."""

    kind: str = "ngram"
    order: int = 0
    weight: float = BACKOFF_WEIGHT
    min_count: int = 1

    @classmethod
    def of(cls, spec: ModelSpec) -> Model:
        """The model of a description."""
        return cls(spec.kind, spec.order or 0, spec.weight, spec.min_count)

    @cached_property
    def spec(self) -> ModelSpec:
        """The same, as models are made from. Raises InvalidArgument when a parameter is out of range."""
        return ModelSpec(self.kind, self.order or None, self.weight, self.min_count)

    # Kept once found: verbs that answer in a microsecond ask for both.
    @cached_property
    def infgram(self) -> bool:
        """Whether the longest suffix of the context that occurs takes its place."""
        return self.kind == "infgram"

    @cached_property
    def counted(self) -> bool:
        """Whether an answer is a count divided by a count, which the index gives by itself."""
        return MODELS[self.kind].is_relative and self.min_count == 1

    def label(self) -> str:
        return str(self.spec)

    def context(self, gram: Gram) -> Gram:
        """The part of a context that the model looks at: its last `order - 1` tokens."""
        return gram.last(self.order - 1) if self.order else gram
