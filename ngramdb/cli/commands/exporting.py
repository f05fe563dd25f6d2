"""`export` and `decontaminate`: documents out of a corpus, into a file or for good."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence

from ngramdb.api import Corpus, Result, connect
from ngramdb.api.verbs.decontaminating import (
    DecontaminationReport,
    SetOverlap,
)
from ngramdb.cli.common import (
    Command,
    UsageError,
    add_database,
    add_format,
    add_lock_timeout,
    positive,
    say,
    say_notes,
    utf8,
    writing,
)
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.progress import Waiting
from ngramdb.cli.terminal.screen import detect, render
from ngramdb.formats import ARPA_SYMBOLS, ID_TYPES, OF_IDS, READ, WRITTEN, written_format
from ngramdb.registries import CONTAMINATION_NAMES, DEFAULT_CONTAMINATION, contamination_measure

_EXPORT = """\
Write the documents of a corpus into a file, text and metadata exactly as loaded. The file appears under
its name when it is complete.
"""
_OUT = """\
OUT is JSON lines (.jsonl, .ndjson, .json, or no ending), compressed if .gz, .zst, .bz2 or .xz follows,
or Parquet (.parquet), or the rows of DOCS as Arrow, CSV or TSV (.arrow, .csv, .tsv); another ending is
an error unless --format is given, which overrides the name. --format megatron and nanogpt write token ids
for training, of a corpus whose tokenizer has fixed ids: OUT.bin with OUT.idx, and OUT.bin alone.
An existing file is replaced.
"""
INFINI_GRAM = "infini-gram"


def _export_flags(parser: argparse.ArgumentParser) -> None:
    add_database(parser)
    parser.add_argument("out", metavar="OUT", help="the file to write")
    parser.add_argument(
        "--where",
        metavar="CONDITION",
        type=utf8,
        help="only the documents that meet it, as after WHERE in DOCS",
    )
    parser.add_argument(
        "--format",
        choices=(*WRITTEN, *OF_IDS, "arpa", INFINI_GRAM),
        help="the format to write; megatron and nanogpt are token ids for training, arpa a Kneser-Ney model "
        "for other programs, and infini-gram a folder with an index that infini-gram reads",
    )
    parser.add_argument(
        "--separator",
        metavar="ID",
        type=int,
        help="of megatron and nanogpt: the token id after each document",
    )
    parser.add_argument(
        "--dtype",
        choices=ID_TYPES,
        help="of megatron and nanogpt: the type of ids; by the vocabulary when not given",
    )
    parser.add_argument(
        "--removals",
        action="store_true",
        help="write no documents, but the records of those that were removed: which, when, by whom and why",
    )
    parser.add_argument(
        "--shards",
        metavar="N",
        type=positive,
        help="deal the documents of an index over N shards",
    )
    parser.add_argument(
        "--index-version",
        type=int,
        choices=(4, 5),
        help="of the index; in 5 documents are reversed",
    )
    parser.add_argument("--order", metavar="N", type=positive, help="the order of an arpa model")
    parser.add_argument(
        "--min-count",
        metavar="N,N",
        type=_counts,
        help="of an arpa model: the least occurrences of n-grams of length 1, 2, …, such as 1,1,2",
    )
    parser.add_argument(
        "--prune",
        metavar="entropy:X",
        help="of an arpa model: leave out n-grams if perplexity grows by less than this share without them",
    )
    parser.add_argument(
        "--symbols",
        choices=ARPA_SYMBOLS,
        help="of an arpa model: tokens as text, or as NVIDIA NeMo writes their ids",
    )


def _counts(text: str) -> tuple[int, ...]:
    return tuple(map(positive, text.split(",")))


def _export(options: argparse.Namespace) -> None:
    if (options.format == "arpa") != (options.order is not None):
        raise UsageError("--order requires --format arpa, and --format arpa requires --order")
    if options.order is None and not (options.min_count is options.prune is options.symbols is None):
        raise UsageError("--min-count, --prune and --symbols apply to --format arpa only")
    if options.format not in OF_IDS and not (options.separator is None and options.dtype is None):
        raise UsageError(f"--separator and --dtype apply to --format {' and '.join(OF_IDS)} only")
    if options.order or options.format == INFINI_GRAM:
        if options.where is not None or options.removals:
            what = "an arpa model" if options.order else "an index"
            raise UsageError(f"{what} covers all documents; leave out --where and --removals")
    else:
        if options.shards is not None or options.index_version is not None:
            raise UsageError(f"--shards and --index-version apply to --format {INFINI_GRAM} only")
        written_format(options.out, options.format, (*WRITTEN, *OF_IDS), "--format is given")
        if options.removals and options.where is not None:
            raise UsageError("--removals writes the records of all removed documents; leave out --where")
    with connect(options.database, read_only=True) as connection:
        corpus = connection.corpus(options.corpus)
        # Warnings of a Python verb become notes, as for a statement.
        with warnings.catch_warnings(record=True) as caught, Waiting(not options.no_progress):
            warnings.simplefilter("always")
            written = _written(corpus, options)
    print(f"{written} written to {options.out}")
    say_notes(str(warning.message) for warning in caught)


def _written(corpus: Corpus, options: argparse.Namespace) -> str:
    """Write the file, and return what it has."""
    if options.order:
        given = {"min_count": options.min_count, "prune": options.prune, "symbols": options.symbols}
        counts = corpus.export_arpa(
            options.out, options.order, **{name: value for name, value in given.items() if value is not None}
        )
        return ", ".join(human.count(count, f"{n}-gram") for n, count in enumerate(counts, start=1))
    if options.format == INFINI_GRAM:
        version, shards = options.index_version or 4, options.shards or 1
        return human.count(corpus.export_infini_gram(options.out, version=version, shards=shards), "document")
    if options.removals:
        return human.count(corpus.export_removals(options.out, format=options.format), "removed document")
    n = corpus.export(
        options.out,
        options.where,
        format=options.format,
        separator=options.separator,
        dtype=options.dtype,
    )
    return human.count(n, "document")


# ---- `ngramdb decontaminate DB CORPUS --against FILE…`: remove what shares too much with evaluation sets.


_DECONTAMINATE = """\
Remove the documents of a corpus that share too many n-grams with an evaluation set. One
commit; the table on standard output has a row for each set and source.
"""
_SETS = """\
Each file is an evaluation set of its own, in any format that ngramdb load reads. A line of a text file is an
item; --input text takes the whole file for one. N-grams are those of the corpus's tokens; with --lower,
--fold-space, --nfc or --fold-quotes they are of words. --report writes what was found as JSON lines: which
documents, how much of each, which spans, and which item of the set has them; named *.html or *.json it is
by item, with every overlap whatever the threshold. The measure bff is the share of a document's n-grams
that the set has; gpt3, llama2, palm and longest are how much of an item a document has; decon of its
question, answer and passage.
"""
COLUMNS = ("against", "source", "documents", "contaminated", "share")


def _decontaminate_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_database(parser)
    add("--against", metavar="FILE", nargs="+", action="extend", required=True, help="the evaluation sets")
    add(
        "--text",
        metavar="FIELD",
        help="the JSON field of an item that is compared; text when not given, with decon question",
    )
    add("--input", choices=READ, help="how the files are read, whatever their names")
    add("--separator", metavar="LINE", help="the line between two items of a text file")
    add(
        "--by",
        choices=CONTAMINATION_NAMES,
        default=DEFAULT_CONTAMINATION,
        help="the measure; bff when not given",
    )
    add("--ngram", metavar="N", type=positive, help="tokens of an n-gram; the measure's when not given")
    add("--threshold", metavar="X", type=_share, help="the share, or the measure's; 0: any")
    add("--strict", action="store_true", help="remove only what is above the share, not what equals it")
    add("--lower", action="store_true", help="letters' case does not matter")
    add("--fold-space", action="store_true", help="white space does not matter")
    add("--nfc", action="store_true", help="equivalent forms of characters do not matter (Unicode's NFC)")
    add("--fold-quotes", action="store_true", help="typographic quotes are plain ones")
    add("--where", metavar="CONDITION", type=utf8, help="only documents that meet this condition")
    add("--source-field", metavar="FIELD", help="the metadata field that the table is by; source otherwise")
    add("--dry-run", action="store_true", help="only find and report")
    add("--report", metavar="OUT", help="a file for what is found: .jsonl, or by item .html, .json")
    add_format(parser, "how the table looks")
    add_lock_timeout(parser)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to 1")
    return value


def _decontaminate(options: argparse.Namespace) -> None:
    with writing(options, read_only=options.dry_run) as connection, Waiting(not options.no_progress):
        report = connection.corpus(options.corpus).decontaminate(
            options.against,
            by=options.by,
            n=options.ngram,
            threshold=options.threshold,
            strict=options.strict,
            lower=options.lower,
            fold_space=options.fold_space,
            nfc=options.nfc,
            fold_quotes=options.fold_quotes,
            text=options.text,
            format=options.input,
            separator=options.separator,
            where=options.where,
            source_field=options.source_field,
            dry_run=options.dry_run,
            report=options.report,
        )
    rows: Sequence[tuple[object, ...]] = report.table
    render(Result.of_rows(COLUMNS, rows), detect(sys.stdout), options.format)
    say(summary(options.corpus, report, options.dry_run))
    measure = contamination_measure(options.by)
    threshold = measure.threshold if options.threshold is None else options.threshold
    for overlap in report.overlaps:
        say(f"  {in_common(overlap)}")
        kept = overlap.documents - sum(row[3] for row in report.table if row[0] == overlap.against)
        if kept:
            say(f"  {below(kept, threshold)}")
        if overlap.items_short and measure.of_items:
            say(f"  note: {human.count(overlap.items_short, 'item')} of too few tokens not compared")
        elif overlap.items_short:
            say(f"  {too_short(overlap, options.ngram or measure.n)}")


def summary(name: str, report: DecontaminationReport, dry_run: bool) -> str:
    """Return the outcome, on one line."""
    of_all = f"{report.contaminated:,} of {human.count(report.documents, 'document')}"
    if dry_run:
        return f"{name}: {of_all} would be removed"
    return f"{name}: {of_all} removed, version {report.version:,}"


def in_common(overlap: SetOverlap) -> str:
    """Return the overlap of a set with the corpus, on one line."""
    if not overlap.documents:
        return f"{overlap.against}: no document has an n-gram of any of {human.count(overlap.items, 'item')}"
    has = "has" if overlap.documents == 1 else "have"
    return (
        f"{overlap.against}: {human.count(overlap.documents, 'document')} {has} n-grams of "
        f"{overlap.items_found:,} of {human.count(overlap.items, 'item')}, "
        f"the largest share is {overlap.largest_share:.3g}"
    )


def below(kept: int, threshold: float) -> str:
    """Say on one line that documents with n-grams of a set are kept, and which option removes them."""
    are = "document with such n-grams is" if kept == 1 else "documents with such n-grams are"
    return (
        f"note: {kept:,} {are} not removed: the share of each is too small for --threshold {threshold:g}; "
        "--threshold 0 removes every document with an n-gram of an item"
    )


def too_short(overlap: SetOverlap, n: int) -> str:
    """Return the number of items of a set without n-grams, on one line."""
    are = "item is" if overlap.items_short == 1 else "items are"
    return (
        f"note: {overlap.items_short:,} {are} shorter than an n-gram of {n} tokens: such items match only "
        "documents that are as short, as a whole; a smaller --ngram compares more"
    )


COMMANDS = {
    "export": Command(_EXPORT, _export_flags, _export, _OUT),
    "decontaminate": Command(_DECONTAMINATE, _decontaminate_flags, _decontaminate, _SETS),
}
