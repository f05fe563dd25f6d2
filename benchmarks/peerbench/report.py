"""Results as tables: one row per figure, ratios against each peer, target, and whether it is met."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from peerbench.builds import Build
from peerbench.checks import Agreement
from peerbench.figures import INFINIGRAM, OURS, TOKENGRAMS, Figure
from peerbench.timing import Timing

PEERS = (INFINIGRAM, TOKENGRAMS)
SYSTEMS = (OURS, *PEERS)

# Upper limits of our peak memory of a build as a share of each peer's.
MEMORY_LIMITS = {INFINIGRAM: 0.45, TOKENGRAMS: 0.7}

HEADINGS = ("figure", "ours", INFINIGRAM, TOKENGRAMS, f"÷ {INFINIGRAM}", f"÷ {TOKENGRAMS}", "target", "met?")


@dataclass(frozen=True)
class Row:
    """One line of a table, all cells as text. `met` is None where there is no target."""

    figure: str
    values: dict[str, str]
    ratios: dict[str, str]
    target: str = ""
    met: bool | None = None

    def cells(self) -> list[str]:
        met = "" if self.met is None else ("yes" if self.met else "**no**")
        values = [self.values.get(system, "") for system in SYSTEMS]
        return [self.figure, *values, *(self.ratios.get(peer, "") for peer in PEERS), self.target, met]


def duration(nanoseconds: float) -> str:
    """Three significant digits with the unit that suits."""
    units = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
    divisor, unit = next(((size, name) for size, name in units if nanoseconds >= size), (1.0, "ns"))
    return f"{significant(nanoseconds / divisor)} {unit}"


def significant(value: float) -> str:
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{decimals}f}"


def _times(value: float) -> str:
    return f"{significant(value)}×"


def speed_row(figure: Figure, timings: dict[str, Timing], statistic: str = "p50") -> Row:
    """A figure's row: `p50` or `mean` of every system, and how many times as fast as each peer we are."""
    numbers = {system: getattr(timing, statistic) for system, timing in timings.items()}
    values = {system: duration(number) for system, number in numbers.items()}
    return _faster_row(figure.title, numbers, values, figure.targets)


def _faster_row(
    title: str, numbers: dict[str, float], values: dict[str, str], targets: dict[str, float]
) -> Row:
    ratios = {peer: numbers[peer] / numbers[OURS] for peer in PEERS if {peer, OURS} <= numbers.keys()}
    measured = {peer: target for peer, target in targets.items() if peer in ratios}
    return Row(
        title,
        values,
        {peer: _times(ratio) for peer, ratio in ratios.items()},
        " / ".join(f"{target:g}×" for target in targets.values()),
        all(ratios[peer] >= target for peer, target in measured.items()) if measured else None,
    )


def build_rows(
    label: str, ours: Build, peers: dict[str, Build], n_tokens: int, targets: dict[str, float]
) -> list[Row]:
    """Wall, CPU and memory of a build; the memory's targets are upper limits on ours ÷ theirs."""
    builds = {OURS: ours, **peers}
    wall = {system: build.wall_s for system, build in builds.items()}
    cpu = {system: build.cpu_s for system, build in builds.items()}
    memory = {system: build.memory_bytes / n_tokens for system, build in builds.items()}
    limits = MEMORY_LIMITS if targets else {}
    shares = {peer: memory[OURS] / memory[peer] for peer in peers}
    return [
        _faster_row(f"build, wall, {label}", wall, _seconds(wall), targets),
        _faster_row(f"build, CPU, {label}", cpu, _seconds(cpu), {}),
        Row(
            f"build, peak memory per token, {label}",
            {name: f"{value:.2f} B" for name, value in memory.items()},
            {peer: _times(share) for peer, share in shares.items()},
            " / ".join(f"≤ {limit:g}×" for limit in limits.values()),
            all(shares[peer] <= limits[peer] for peer in peers) if limits and peers else None,
        ),
    ]


def _seconds(values: dict[str, float]) -> dict[str, str]:
    return {name: f"{value:.2f} s" for name, value in values.items()}


def size_row(label: str, ours: Build, peers: dict[str, Build], n_tokens: int, limit: float) -> Row:
    """Bytes of index per token."""
    sizes = {system: build.index_bytes / n_tokens for system, build in {OURS: ours, **peers}.items()}
    return Row(
        f"index size per token, {label}",
        {system: f"{size:.2f} B" for system, size in sizes.items()},
        {peer: _times(sizes[OURS] / sizes[peer]) for peer in peers},
        f"≤ {limit:g} B",
        sizes[OURS] <= limit,
    )


def limit_row(title: str, ours_ns: float, limit_ns: float) -> Row:
    """A figure of ours alone, with an absolute limit."""
    return Row(title, {OURS: duration(ours_ns)}, {}, f"≤ {duration(limit_ns)}", ours_ns <= limit_ns)


def share_row(title: str, share: float, limit: float) -> Row:
    """A figure of ours against another one of ours, with a limit."""
    return Row(title, {OURS: _times(share)}, {}, f"≤ {limit:g}×", share <= limit)


def seconds_row(title: str, seconds: float) -> Row:
    """A time of ours, for information."""
    return Row(title, {OURS: duration(1e9 * seconds)}, {})


def table(rows: list[Row]) -> str:
    """A Markdown table, columns padded so that it reads well as text too."""
    lines = [list(HEADINGS), *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    lines.insert(1, ["-" * (widths[0])] + ["-" * (width - 1) + ":" for width in widths[1:]])
    return "\n".join(f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines)


def detail_table(figures: list[tuple[Figure, dict[str, Timing]]]) -> str:
    """p50, p90, mean wall and mean CPU time of every figure and system."""
    lines = ["| figure | system | p50 | p90 | mean | CPU | operations |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|")
    for figure, timings in figures:
        for system, timing in timings.items():
            spans = (timing.p50, timing.p90, timing.mean, timing.cpu)
            cells = [figure.title, system, *map(duration, spans), f"{timing.n_operations:,}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def agreement_table(agreements: list[Agreement]) -> str:
    """How many answers of each system to each kind of question were right."""
    lines = ["| question | system | asked | equal |", "|---|---|---:|---:|"]
    lines += [f"| {each.question} | {each.system} | {each.n_asked} | {each.n_equal} |" for each in agreements]
    return "\n".join(lines)


def today() -> str:
    """The date of the run, ISO 8601."""
    return datetime.date.today().isoformat()
