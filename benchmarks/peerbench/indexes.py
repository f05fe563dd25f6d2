"""Builds every index of the run, some of them several times, and makes their table rows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from peerbench import report
from peerbench.builds import Build, median_build, run_build
from peerbench.corpus import TokenCorpus, write_peer_files
from peerbench.figures import INFINIGRAM, TOKENGRAMS
from peerbench.layout import Layout
from peerbench.progress import say

# Segments that the corpus is built with, one database each; the first one answers the queries.
SEGMENT_COUNTS = (1, 2, 4)

# How many times as fast (wall) as each peer, by number of segments.
BUILD_TARGETS = {1: {INFINIGRAM: 3.5, TOKENGRAMS: 2.0}, 2: {INFINIGRAM: 6.0, TOKENGRAMS: 3.0}}

# Bytes per token of a 16-bit corpus without text and metadata.
SIZE_LIMIT = 6.3


def build_all(
    corpus: TokenCorpus, layout: Layout, jsonl: Path, tokenizer: Path, rounds: int
) -> dict[str, Build]:
    """Every index, `rounds` times in turn; the last ones stay for the queries."""
    shutil.rmtree(layout.folder, ignore_errors=True)
    write_peer_files(corpus, layout.peers)
    builders: dict[str, Callable[[], Build]] = {
        INFINIGRAM: partial(_infinigram, layout),
        TOKENGRAMS: partial(_tokengrams, layout),
    }
    for count in SEGMENT_COUNTS:
        builders[segments_label(count)] = partial(_from_ids, layout, count, segment_tokens(corpus, count))
    runs: dict[str, list[Build]] = {label: [] for label in builders}
    for _ in range(rounds):
        for label, build in builders.items():
            say(f"building {label}")
            runs[label].append(build())
    say("building from text")
    runs["text"] = [_from_text(layout, jsonl, tokenizer)]
    return {label: median_build(repeated) for label, repeated in runs.items()}


def database(layout: Layout) -> Path:
    """The database that answers the timed queries."""
    return layout.database(f"ids-{SEGMENT_COUNTS[0]}")


def segments_label(count: int) -> str:
    return "1 segment" if count == 1 else f"{count} segments"


def segment_tokens(corpus: TokenCorpus, n_segments: int) -> int:
    """The setting that splits the corpus into so many segments: a document is never split."""
    n_symbols = corpus.n_tokens + corpus.n_documents
    if n_segments == 1:
        return n_symbols
    longest = int((corpus.offsets[1:] - corpus.offsets[:-1]).max())
    return n_symbols // n_segments + longest


def rows(built: dict[str, Build], n_tokens: int) -> list[report.Row]:
    """Table rows of all builds; none when indexes were reused."""
    if not built:
        return []
    peers = {peer: built[peer] for peer in (INFINIGRAM, TOKENGRAMS)}
    made = []
    for count in SEGMENT_COUNTS:
        label, targets = segments_label(count), BUILD_TARGETS[min(count, 2)]
        made += report.build_rows(label, built[label], peers, n_tokens, targets)
        made.append(report.size_row(label, built[label], peers, n_tokens, SIZE_LIMIT))
    return made + report.build_rows("from .jsonl.gz, text kept", built["text"], {}, n_tokens, {})


def _infinigram(layout: Layout) -> Build:
    layout.infinigram_table.unlink(missing_ok=True)  # it would keep a finished table
    files = [layout.token_file, layout.document_offsets, layout.infinigram_table]
    cpus = len(os.sched_getaffinity(0))
    return run_build("infini-gram", {"folder": str(layout.peers), "cpus": cpus}, files)


def _tokengrams(layout: Layout) -> Build:
    layout.tokengrams_index.unlink(missing_ok=True)
    arguments = {"token_file": str(layout.token_file), "index_file": str(layout.tokengrams_index)}
    return run_build("tokengrams", arguments, [layout.token_file, layout.tokengrams_index])


def _from_ids(layout: Layout, n_segments: int, tokens_per_segment: int) -> Build:
    made = layout.database(f"ids-{n_segments}")
    shutil.rmtree(made, ignore_errors=True)
    arguments = {
        "database": str(made),
        "ids": str(layout.ids),
        "offsets": str(layout.offsets),
        "segment_tokens": tokens_per_segment,
    }
    return run_build("ngramdb-ids", arguments, [made])


def _from_text(layout: Layout, jsonl: Path, tokenizer: Path) -> Build:
    made = layout.database("text")
    arguments = {"database": str(made), "jsonl": str(jsonl), "tokenizer": str(tokenizer)}
    return run_build("ngramdb-text", arguments, [made])
