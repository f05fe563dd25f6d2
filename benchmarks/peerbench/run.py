"""The run as a whole: tokens, builds, checks, timings, report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from peerbench import curation, indexes, machine, report, starts
from peerbench.builds import Build
from peerbench.checks import Agreement, check, failures
from peerbench.corpus import TokenCorpus, load_tokens
from peerbench.figures import Figure, all_figures
from peerbench.layout import Layout, warm
from peerbench.progress import say
from peerbench.queries import Queries, generator
from peerbench.systems import InfiniGram, Ngramdb, System, Tokengrams
from peerbench.timing import Stopwatch, Timing, clock_cost_ns

# Questions of each kind that are checked before anything is timed.
CHECK_SIZE = 40

# Random counts that every system answers first, so that its mapped pages are in the process's page tables.
FAULT_IN_QUERIES = 50_000

# The unrecorded round that warms a system up asks this share of a round's queries.
WARM_UP = 0.05

Timed = list[tuple[Figure, dict[str, Timing]]]


@dataclass(frozen=True)
class Settings:
    """What `peers.py` was asked to do; `only` restricts the figures to titles that contain it."""

    jsonl: Path
    tokenizer: Path
    scratch: Path
    seed: int
    rounds: int
    build_rounds: int
    scale: float
    reuse: bool
    only: str

    @property
    def layout(self) -> Layout:
        return Layout(self.scratch, self.jsonl.name.removesuffix(".jsonl.gz"))


@dataclass(frozen=True)
class Outcome:
    """The report as Markdown, and one line for every kind of question that ngramdb answered wrongly."""

    report: str
    failures: list[str]


def run(settings: Settings) -> Outcome:
    """Everything; progress goes to standard error."""
    layout = settings.layout
    say("tokens")
    corpus = load_tokens(settings.jsonl, settings.tokenizer, layout)
    load = machine.ForeignLoad()
    built: dict[str, Build] = {}
    if not settings.reuse:
        built = indexes.build_all(corpus, layout, settings.jsonl, settings.tokenizer, settings.build_rounds)
    warm(layout)
    queries = Queries(corpus)
    systems = open_systems(layout, corpus)
    say("checking answers")
    agreements = check(systems, queries, generator(settings.seed, "check"), CHECK_SIZE)
    fault_in(systems, queries, settings.seed)
    figures = [figure for figure in all_figures(settings.scale) if settings.only in figure.title]
    timed = [
        (figure, measure(figure, systems, queries, settings.seed, settings.rounds)) for figure in figures
    ]
    other_rows = starts.rows(indexes.database(layout)) + indexes.rows(built, corpus.n_tokens)
    other_rows += curation.rows(layout, queries, settings.seed, built.get("text"))
    heading = _heading(settings, corpus, systems, load.share())
    text = _report(heading, timed, other_rows, agreements)
    return Outcome(text, failures(agreements))


def open_systems(layout: Layout, corpus: TokenCorpus) -> list[System]:
    """The three indexes, opened."""
    return [
        Ngramdb({count: layout.database(f"ids-{count}") for count in indexes.SEGMENT_COUNTS}),
        InfiniGram(layout.peers, corpus),
        Tokengrams(layout.token_file, layout.tokengrams_index),
    ]


def fault_in(systems: list[System], queries: Queries, seed: int) -> None:
    """Touch most pages of every index once, by queries that are asked nowhere else."""
    say("mapping pages")
    for system in systems:
        for ngram in queries.ngrams(generator(seed, "fault in", system.name), 5, FAULT_IN_QUERIES):
            system.operations["count"](ngram)


def measure(
    figure: Figure, systems: list[System], queries: Queries, seed: int, rounds: int
) -> dict[str, Timing]:
    """Rounds of all systems in turn, the order moving on by one each round; no query set is used twice."""
    say(figure.title)
    clock_ns = clock_cost_ns()
    taking_part = [system for system in systems if system.name in figure.ways]
    watches = {system.name: Stopwatch(clock_ns) for system in taking_part}
    for number in range(-1, rounds):
        first = number % len(taking_part)
        for system in taking_part[first:] + taking_part[:first]:
            way = figure.ways[system.name]
            is_warm_up = number < 0
            size = max(3, int(way.size * WARM_UP)) if is_warm_up else way.size
            watch = Stopwatch(clock_ns) if is_warm_up else watches[system.name]
            rng = generator(seed, figure.title, system.name, number)
            sets = [way.draw(queries, rng, size) for _ in range(2)]
            watch.round(system.operations[way.operation], sets[0], sets[1], way.per_call)
    return {name: watch.timing() for name, watch in watches.items()}


def _report(heading: str, timed: Timed, other_rows: list[report.Row], agreements: list[Agreement]) -> str:
    targets = [(figure, timings) for figure, timings in timed if figure.group == "target"]
    classes = [(figure, timings) for figure, timings in timed if figure.group == "frequency classes"]
    alone = [(figure, timings) for figure, timings in timed if figure.group == "ours alone"]
    sections = [
        heading,
        report.table([report.speed_row(*entry) for entry in targets] + other_rows),
        "## By mean instead of median",
        report.table([report.speed_row(*entry, statistic="mean") for entry in targets]),
        "## By frequency of the n-gram (medians)",
        report.table([report.speed_row(*entry) for entry in classes]),
        "## Ours alone (medians)",
        report.table([report.speed_row(*entry) for entry in alone]),
        "## Agreement\n\nAnswers equal to a scan of the corpus.",
        report.agreement_table(agreements),
        "## All timings\n\nPer operation: p50, p90 and mean are wall time, CPU is the whole process's mean.",
        report.detail_table(timed),
    ]
    return "\n\n".join(sections) + "\n"


def _heading(settings: Settings, corpus: TokenCorpus, systems: list[System], foreign_share: float) -> str:
    versions = ", ".join(f"{system.name} {system.version}" for system in systems)
    size = f"{corpus.n_documents:,} documents, {corpus.n_tokens:,} tokens"
    return f"""# Beside the peers

{report.today()}; {machine.description()}; {versions}.
Corpus: `{settings.jsonl.name}` under GPT-2 tokens: {size}.
Seed {settings.seed}; {settings.rounds} rounds of fresh queries; every build {settings.build_rounds} times.
{machine.verdict(foreign_share)}

Medians of wall time per operation, warm files, one process. The `÷` columns give the ratio of the peer's time
to ours (for memory and size: ours as a share of theirs). `README.md` describes the measurements."""
