"""Questions that make text."""

from __future__ import annotations

from ngramdb.late_dataclasses import dataclass
from ngramdb.lm.spec import ModelSpec
from ngramdb.patterns.grams import Gram
from ngramdb.planner.plan.base import SliceQuestion

GENERATION_COLUMNS = ("rank", "text", "logprob")


@dataclass(frozen=True)
class Generation(SliceQuestion):
    """GENERATE. `method` is 'greedy', 'sample' or 'beam'; what does not belong to it is None."""

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

    def label(self) -> str:
        named = (
            ("beams", self.beams),
            ("temperature", self.temperature),
            ("top", self.top_k),
            ("nucleus", self.top_p),
            ("diversity", self.diversity),
            ("seed", self.seed),
        )
        how = "".join(f", {name} {value}" for name, value in named if value is not None)
        many = f", {self.n_returned} continuations" if self.n_returned > 1 else ""
        return (
            f"generate {self.n_tokens:,} tokens given {self.context.shown}, {self.method}{how}, "
            f"{self.model}{many}"
        )
