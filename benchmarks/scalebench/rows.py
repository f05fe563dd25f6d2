"""The table's rows: how each is made of what the jobs measured, how it is shown, and its bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from peerbench.figures import INFINIGRAM, OURS, TOKENGRAMS

from scalebench.jobs import QUESTION
from scalebench.place import Figures

# What all jobs of one size measured.
Results = dict[str, Figures]
Value = Callable[[Results], "float | None"]

BILLION = 1_000_000_000
SMALLEST = 30_000_000
# Figures that are to be five times as fast as tokengrams at 300 M tokens.
LEAST_OF_TOKENGRAMS = tuple(f"one count, n = {n}" for n in (3, 5, 10))


@dataclass(frozen=True)
class Bar:
    """What a row is to keep to: its value at the largest size, or how it grows from the smallest to that.

    `at` is the size that it is set for; measured up to another one only, that is judged.
    """

    limit: float
    at_least: bool = False
    of_growth: bool = False
    at: int = BILLION

    def met(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True)
class Row:
    """A line of the table. `per_token`: growth is told of the value for each token of the corpus."""

    title: str
    value: Value
    unit: str
    bar: Bar | None = None
    per_token: bool = False


def figure(job: str, name: str, factor: float = 1.0) -> Value:
    """One figure of one job."""

    def found(results: Results) -> float | None:
        value = results.get(job, {}).get(name)
        return None if value is None else value * factor

    return found


def quotient(above: Value, below: Value) -> Value:
    def found(results: Results) -> float | None:
        values = above(results), below(results)
        return None if values[0] is None or not values[1] else values[0] / values[1]

    return found


def difference(first: Value, second: Value) -> Value:
    def found(results: Results) -> float | None:
        values = first(results), second(results)
        return None if values[0] is None or values[1] is None else values[0] - values[1]

    return found


TOKENS = figure("corpus", "tokens")


def rows() -> list[tuple[str, list[Row]]]:
    """All rows, under their headings."""
    return [
        ("Questions, index in memory", _questions()),
        ("Building and merging", _building()),
        ("Loading `medium.jsonl.gz` (the same at any size)", _texts()),
        ("Index on disk, nothing in memory", _cold()),
        ("Language models and lists", _models()),
        ("Reading and changing", _working()),
    ]


def _questions() -> list[Row]:
    made = []
    grows = Bar(1.7, of_growth=True)
    for title, bar in (
        ("one count, n = 1", grows),
        ("one count, n = 3", None),
        ("one count, n = 5", grows),
        ("one count, n = 10", None),
        ("one count, n = 100", grows),
        ("P(w∣ctx), n = 5", grows),
        ("∞-gram probability, 100-token context, contexts from the corpus", grows),
        ("exact next-token distribution, 4-token contexts", grows),
        ("counts in a batch, per query, n ≤ 8", Bar(700)),
        ("AND of two 2-grams, exact documents", None),
    ):
        ours = figure(QUESTION + title, OURS)
        made.append(Row(title, ours, "ns", bar, per_token=title.startswith("AND")))
        for peer in (TOKENGRAMS, INFINIGRAM):
            at_300 = Bar(5, at_least=True, at=300_000_000)
            least = at_300 if peer == TOKENGRAMS and title in LEAST_OF_TOKENGRAMS else None
            made.append(Row(f"… {peer} ÷ ours", quotient(figure(QUESTION + title, peer), ours), "×", least))
    return made


def _building() -> list[Row]:
    made = [
        Row(
            "one load of ids, memory_limit = 4 GB: segments at the end",
            figure("load", "segments"),
            "",
            Bar(2),
        ),
        Row("… wall", figure("load", "wall_s"), "s", per_token=True),
        Row("… CPU", figure("load", "cpu_s"), "s", per_token=True),
        Row(
            "… wall, against 17 segments that are not merged",
            quotient(figure("load", "wall_s"), figure("split", "wall_s")),
            "×",
            Bar(1.5),
        ),
        Row("… peak memory of its own", figure("load", "own", 1e-9), "GB", Bar(4.4)),
        Row("… peak, mapped pages included", figure("load", "resident", 1e-9), "GB"),
        # Above 134 M tokens with an LCP of a byte beside each row; without, 6.4.
        Row("… index size per token", quotient(figure("load", "bytes"), TOKENS), "B", Bar(7.3)),
    ]
    for peer in (TOKENGRAMS, INFINIGRAM):
        built = quotient(figure(f"build {peer}", "wall_s"), figure("load", "wall_s"))
        made.append(Row(f"… wall, {peer} ÷ ours", built, "×"))
    one, two = (f"merge on {cores}" for cores in ("one core", "two cores"))

    def per_token(job: str, name: str, factor: float = 1.0) -> Value:
        return quotient(figure(job, name, factor), TOKENS)

    def beyond(job: str, name: str) -> Value:
        return quotient(difference(figure(job, name), figure(job, "own_before")), TOKENS)

    copied = (
        quotient(figure("merge copied documents", f"{name}_cpu_s"), figure("merge copied documents", tokens))
        for name, tokens in (("with", "with_tokens"), ("without", "without_tokens"))
    )
    return [
        *made,
        Row("merging 17 segments, one core, wall per token", per_token(one, "wall_s", 1e9), "ns", Bar(100)),
        Row("… CPU per token", per_token(one, "cpu_s", 1e9), "ns"),
        Row(
            "… two cores, times as fast",
            quotient(figure(one, "wall_s"), figure(two, "wall_s")),
            "×",
            Bar(1.7, at_least=True),
        ),
        Row("… peak per token beyond mapped files", beyond(two, "own"), "B", Bar(3)),
        Row("… peak per token, mapped pages included", beyond(two, "resident"), "B"),
        Row(
            "… two copies of a long document, CPU per token, against without",
            quotient(*copied),
            "×",
            Bar(1.5, at=100_000_000),
        ),
    ]


def _texts() -> list[Row]:
    job = "load texts"

    def seconds(name: str, clock: str) -> Value:
        return figure(job, f"{name}, {clock}")

    alone = "gpt2, tokenizers alone"
    per_core = quotient(figure(job, "words, tokens", 1e-6), seconds("words", "cpu"))
    return [
        Row(
            "GPT-2, times as fast as by `tokenizers` alone, wall",
            quotient(seconds(alone, "wall"), seconds("gpt2", "wall")),
            "×",
            Bar(4, at_least=True, at=SMALLEST),
        ),
        Row("… CPU", quotient(seconds(alone, "cpu"), seconds("gpt2", "cpu")), "×"),
        Row(
            "ids, speed of the bare construction, wall",
            quotient(seconds("kernel", "wall"), seconds("ids", "wall")),
            "×",
            Bar(0.6, at_least=True, at=SMALLEST),
        ),
        Row("… CPU", quotient(seconds("kernel", "cpu"), seconds("ids", "cpu")), "×"),
        Row("`words`, M tokens a second and core", per_core, "M", Bar(3, at_least=True, at=SMALLEST)),
    ]


def _cold() -> list[Row]:
    job = "cold count"
    return [
        Row(
            "count, n = 5, MB read a segment",
            quotient(figure(job, "bytes", 1e-6), figure(job, "segments")),
            "MB",
            Bar(0.25),
        ),
        Row("… infini-gram", figure(job, "infinigram_bytes", 1e-6), "MB"),
        Row("… time", figure(job, "count_ms", 1e6), "ns"),
        Row(
            "… time, infini-gram ÷ ours",
            quotient(figure(job, "infinigram_count_ms"), figure(job, "count_ms")),
            "×",
            Bar(1, at_least=True, at=100_000_000),
        ),
        Row("opening", figure(job, "open_ms", 1e6), "ns", Bar(50e6)),
        Row("first TRACE of 450 tokens", figure("trace", "cold_s"), "s", Bar(0.5)),
        Row("with far indexes: requests a segment, median", figure("far index", "requests"), "", Bar(4)),
        Row("… at most", figure("far index", "most_requests"), "", Bar(4)),
        Row(
            "… MB fetched a segment, its directory with the first", figure("far index", "fetched", 1e-6), "MB"
        ),
        Row("… segments' size per token", quotient(figure("far index", "bytes"), TOKENS), "B", Bar(7.3)),
    ]


def _models() -> list[Row]:
    return [
        Row("ANALYZE", figure("analyze", "wall_s"), "s", per_token=True),
        Row("… CPU", figure("analyze", "cpu_s"), "s", per_token=True),
        Row(
            "… wall, against the load",
            quotient(figure("analyze", "wall_s"), figure("load", "wall_s")),
            "×",
            Bar(0.7),
        ),
        Row("… peak memory of its own", figure("analyze", "own", 1e-9), "GB"),
        Row(
            "first score under Kneser-Ney after reopening, 450 tokens",
            figure("score", "first_s"),
            "s",
            Bar(0.5),
        ),
        Row("… later ones", figure("score", "usual_s"), "s"),
        Row("TRACE of 450 tokens", figure("trace", "usual_s"), "s", Bar(0.02)),
        Row("… the first one", figure("trace", "first_s"), "s"),
        Row("NGRAMS 3 TOP 10", figure("ngrams", "wall_s"), "s", Bar(5), per_token=True),
        Row("… CPU", figure("ngrams", "cpu_s"), "s", per_token=True),
    ]


def _working() -> list[Row]:
    made = [
        Row("DELETE of 1 % of the documents", figure("delete", "wall_s"), "s", Bar(2), per_token=True),
        Row("… peak memory of its own", figure("delete", "own", 1e-9), "GB", Bar(1)),
    ]
    for job, title in (
        ("compact", "COMPACT after that"),
        ("check", "CHECK"),
        ("kwic", "KWIC of the most frequent token, ORDER BY left LIMIT 20"),
        ("group", "COUNT of the most frequent token GROUP BY a field"),
        ("overlap", "COUNT DOCS WHERE OVERLAP(100 documents, 13) >= 0.5"),
    ):
        made.append(Row(title, figure(job, "wall_s"), "s", per_token=True))
        made.append(Row("… peak memory of its own", figure(job, "own", 1e-9), "GB"))
    rate = quotient(figure("export", "wall_s", 1e9), figure("export", "tokens"))
    return [*made, Row("export of 20 M tokens, per token", rate, "ns")]
