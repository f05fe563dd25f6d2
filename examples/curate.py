"""Clean a corpus and verify the result: load, inspect, remove, export, check.

    python curate.py DATABASE CORPUS dump/*.jsonl --phrase "lorem ipsum" --phrase "click here" \\
        --evaluation exam.jsonl --out clean.jsonl.zst --record removed.jsonl

Documents that share too much with one of the evaluation sets (JSON lines, or text with one item per line) are
removed, then those whose text contains one of the phrases, letter for letter. Phrases are matched as text
(MATCH TEXT), whatever their tokens: `grep` finds none in the rest. The remaining documents are written
to `--out` in their original form, and the record of removals (which, when, by whom and why) to `--record`. At
the end all results are verified; the exit status is 1 if a check fails.

With `--dry-run` nothing is removed or written: files are loaded into memory, and no database is created. The
same command may be run again, even after it was stopped: no file is loaded twice.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

import ngramdb

SHOWN_LINES = 3


def main() -> int:
    given = arguments()
    try:
        return curate(given)
    except (ngramdb.NgramdbError, OSError) as error:
        print(f"curate.py: {error}", file=sys.stderr)
        return 1


def curate(given: argparse.Namespace) -> int:
    if given.dry_run:
        return foresee(given)
    with ngramdb.connect(given.database) as db:
        if given.files:
            load(db, given)
        corpus = db.corpus(given.corpus)  # raises if it is missing: nothing is cleaned or overwritten
        before = corpus.n_documents
        start = db.version
        look(corpus, given.phrase)
        removed = contaminated(corpus, given)  # first: an error in an evaluation set comes before any removal
        removed += remove(corpus, given.phrase)
        exported = corpus.export(given.out)
        recorded = corpus.export_removals(given.record)
        print(f"{exported:,} documents written to {given.out}, {recorded:,} records to {given.record}")
        print(f"RESTORE CORPUS `{given.corpus}` TO VERSION {start} takes back what this run removed")
        return prove(db, corpus, given, before - removed, exported)


def foresee(given: argparse.Namespace) -> int:
    """Report what would be removed from the corpus, or from files that are loaded only into memory."""
    if given.files:
        refuse_loaded(given)
    with ngramdb.connect() if given.files else ngramdb.connect(given.database, read_only=True) as db:
        if given.files:
            load(db, given)
        corpus = db.corpus(given.corpus)
        look(corpus, given.phrase)
        contaminated(corpus, given, dry_run=True)
    return 0


def load(db: ngramdb.Connection, given: argparse.Namespace) -> None:
    """Load the files; those that an earlier run loaded are not read again (`resume`)."""
    corpus = db.create_corpus(given.corpus, given.tokenizer, if_not_exists=True)
    report = corpus.load(given.files, resume=True)
    print(f"loaded {report.documents:,} documents, {report.tokens:,} tokens")


def refuse_loaded(given: argparse.Namespace) -> None:
    """Raise if the corpus already has documents, which a dry run of files would ignore."""
    if not os.path.exists(given.database):
        return
    with ngramdb.connect(given.database, read_only=True) as db:
        n = db.corpus(given.corpus).n_documents if given.corpus in db.corpora() else 0
    if n:
        raise ngramdb.InvalidArgument(
            f"corpus {given.corpus} has {n:,} documents already; leave the files out, and --dry-run finds "
            "what would be removed of these"
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("corpus")
    parser.add_argument("files", nargs="*", help="files to load first")
    parser.add_argument("--tokenizer", default="words", help="for a new corpus: words, a tokenizer.json")
    parser.add_argument(
        "--phrase", action="append", default=[], type=phrase, help="remove documents that contain it"
    )
    parser.add_argument(
        "--evaluation", action="append", default=[], help="evaluation items: JSON lines, or one per line"
    )
    parser.add_argument(
        "--evaluation-text",
        metavar="FIELD",
        help="the field of an item to compare; text by default",
    )
    parser.add_argument("--ngram", type=int, default=13, help="tokens in a compared n-gram")
    parser.add_argument(
        "--threshold", type=float, default=0.8, help="the share from which a document is removed"
    )
    parser.add_argument("--out", default="clean.jsonl")
    parser.add_argument("--record", default="removed.jsonl")
    parser.add_argument("--dry-run", action="store_true")
    return parser.parse_args()


def phrase(text: str) -> str:
    """Return the phrase. White space alone is an error: it would remove nearly every document."""
    if not text.strip():
        raise argparse.ArgumentTypeError("a phrase has letters or other signs, and this one is empty")
    return text


def look(corpus: ngramdb.Corpus, phrases: list[str]) -> None:
    """Print the number of occurrences of each phrase, and some of them in context."""
    for phrase in phrases:
        n_documents = corpus.count_docs("? MATCH TEXT", params=[phrase])
        n = corpus.count(phrase, match_text=True)
        print(f"{phrase!r}: {n:,} times in {n_documents:,} documents")
        lines = corpus.kwic(phrase, match_text=True, window=4, limit=SHOWN_LINES)
        for doc_id, _, left, match, right in lines:
            print(f"  {doc_id}: {left}[{match}]{right}")


def remove(corpus: ngramdb.Corpus, phrases: list[str]) -> int:
    """Remove the documents with any of the phrases, in one commit.

    A database keeps a limited number of versions, so a commit per phrase could lose the one to restore.
    """
    if not phrases:
        return 0
    n = corpus.delete(" OR ".join(["? MATCH TEXT"] * len(phrases)), params=phrases)
    print(f"removed {n:,} documents with any of {len(phrases):,} phrases")
    return n


def contaminated(corpus: ngramdb.Corpus, given: argparse.Namespace, dry_run: bool = False) -> int:
    """Remove, or only find, documents that share too much with evaluation sets, in one commit."""
    if not given.evaluation:
        return 0
    report = corpus.decontaminate(given.evaluation, **criterion(given), dry_run=dry_run)
    for name, source, documents, hit, share in report.table:
        print(f"{name}, source {source}: {hit:,} of {documents:,} documents ({share:.2%})")
    print(f"{'would remove' if dry_run else 'removed'} {report.contaminated:,} contaminated documents")
    return report.removed


def criterion(given: argparse.Namespace) -> dict[str, Any]:
    return {"n": given.ngram, "threshold": given.threshold, "text": given.evaluation_text}


def prove(
    db: ngramdb.Connection, corpus: ngramdb.Corpus, given: argparse.Namespace, left: int, exported: int
) -> int:
    """Verify the files and all results; return 1 if a check fails."""
    facts = {
        "CHECK finds nothing": not db.execute("CHECK").fetchall(),
        f"{left:,} documents are left": corpus.n_documents == left == exported,
        "no phrase occurs any more": not any(
            corpus.count(phrase, match_text=True) for phrase in given.phrase
        ),
    }
    if given.evaluation:
        again = corpus.decontaminate(given.evaluation, **criterion(given), dry_run=True)
        facts["nothing is contaminated any more"] = again.contaminated == 0
    for fact, holds in facts.items():
        print(f"{'yes' if holds else 'NO '}  {fact}")
    return 0 if all(facts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
