"""What a plan's nodes are expected to cost and give, and what they did cost and give."""

from __future__ import annotations

from dataclasses import field

from ngramdb.late_dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """What the choice of a method weighs, in nanoseconds. Only the ratio matters."""

    # Locating one occurrence: a suffix-array entry, its document, a bit in a map. Measured 4.2–5.5 over 4 M
    # GPT-2 tokens.
    locate_ns: float = 5.0
    # Scanning one token of a candidate document: sequential, a vector at a time. Measured 0.25–0.28 where the
    # n-gram is mostly absent; less where it is found early, which is not known beforehand.
    scan_ns: float = 0.25
    # Locating one occurrence among few candidates: rows that stand elsewhere, most of them, are passed over.
    sift_ns: float = 1.25
    # Sorting one position, so that occurrences ascend; and going to a part of the text that is to be scanned.
    sort_ns: float = 6.0
    window_ns: float = 60.0


#: Those that plans are made with.
COSTS = Costs()


@dataclass(frozen=True)
class Estimate:
    """What is known before running: `count` is exact (None for compound nodes), `rows` is a guess.

    `method` is the access path; `order` is in which order children are evaluated, and so printed.
    """

    rows: float
    count: int | None = None
    method: str | None = None
    # What the rows are; an exact count of occurrences is enough.
    unit: str = "docs"
    order: tuple[int, ...] | None = None

    def label(self) -> str:
        parts = [] if self.count is None else [f"count {self.count:,}"]
        if self.count is None or self.unit == "docs":
            parts.append(f"~{round(self.rows):,} {self.unit}")
        if self.method:
            parts.append(self.method)
        return ", ".join(parts)


@dataclass()
class Actual:
    """What one node did, summed over the segments: `calls` is in how many it was evaluated.

    Times include those of operands; `probes` are searches in an index; `methods` and `orders` count the
    segments that used an access path, and an order of operands.
    """

    calls: int = 0
    rows: int = 0
    seconds: float = 0.0
    probes: int = 0
    methods: dict[str, int] = field(default_factory=dict)
    orders: dict[tuple[int, ...], int] = field(default_factory=dict)

    def label(self, unit: str = "docs") -> str:
        """As EXPLAIN ANALYZE prints it; `unit` is what the rows are."""
        if not self.calls:
            return "never reached"
        parts = [f"actual {self.rows:,} {unit}", f"{self.seconds * 1e3:.3f} ms"]
        if self.probes:
            parts.append(f"{self.probes:,} probe{'' if self.probes == 1 else 's'}")
        parts.extend(f"{name} in {n:,} segment{'' if n == 1 else 's'}" for name, n in self.methods.items())
        return ", ".join(parts)
