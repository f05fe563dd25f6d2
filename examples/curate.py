"""The tutorial of curation: load, inspect, clean by a plan, export, and verify.

    python curate.py DATABASE CORPUS dump/*.jsonl --phrase "lorem ipsum" --phrase "click here" \\
        --evaluation exam.jsonl --out clean.jsonl.zst

Removed are documents with a phrase, copies, documents that others contain, and those with too much of an
item of an evaluation set. With `--dry-run` files are loaded, and nothing else changes. The command may be run
again, even after it was killed: no file is loaded twice, and finished steps are skipped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

import ngramdb

SHOWN = 3


def main() -> int:
    given = arguments()
    try:
        with ngramdb.connect(given.database) as db:
            corpus = loaded(db, given)
            inspect(db, corpus, given)
            start = db.version
            told = ngramdb.curate(
                db, plan(given), dry_run=given.dry_run, sample=SHOWN, report=given.report, progress=show
            )
            if given.dry_run:
                print(f"{told['documents']:,} documents would be left")
                return 0
            print(f"RESTORE CORPUS `{given.corpus}` TO VERSION {start} takes back what this run removed")
            return prove(db, corpus, given)
    except (ngramdb.NgramdbError, OSError) as error:
        print(f"curate.py: {error}", file=sys.stderr)
        return 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("corpus")
    parser.add_argument("files", nargs="*", help="files to load first")
    parser.add_argument("--tokenizer", default="words", help="for a new corpus: words, a tokenizer.json")
    parser.add_argument("--phrase", action="append", default=[], type=phrase)
    parser.add_argument("--evaluation", action="append", default=[])
    parser.add_argument("--measure", default="palm", choices=["bff", "gpt3", "llama2", "palm", "longest"])
    parser.add_argument("--out", default="clean.jsonl")
    parser.add_argument("--report", help="what each step removed, with examples: .html or .json")
    parser.add_argument("--dry-run", action="store_true")
    return parser.parse_args()


def phrase(text: str) -> str:
    if not text.strip():  # it would remove nearly every document
        raise argparse.ArgumentTypeError("a phrase has letters or other signs, and this one is empty")
    return text


def loaded(db: ngramdb.Connection, given: argparse.Namespace) -> ngramdb.Corpus:
    if not given.files:
        return db.corpus(given.corpus)
    corpus = db.create_corpus(given.corpus, given.tokenizer, if_not_exists=True)
    report = corpus.load(given.files, resume=True)  # skips files that were loaded before
    print(f"loaded {report.documents:,} documents, {report.tokens:,} tokens")
    return corpus


def inspect(db: ngramdb.Connection, corpus: ngramdb.Corpus, given: argparse.Namespace) -> None:
    for text in given.phrase:
        print(f"{text!r}: {corpus.count(text, match_text=True):,} times")
        for doc_id, _, left, match, right in corpus.kwic(text, match_text=True, window=4, limit=SHOWN):
            print(f"  {doc_id}: {left}[{match}]{right}")
    for row in corpus.near_duplicates(limit=SHOWN).to_dicts():
        print(f"document {row['doc']} is contained in {row['kept_doc']} ({row['reason']})")
    for path in given.evaluation:
        items = db.execute(f"DECONTAMINATE AGAINST ? BY {given.measure} FROM `{given.corpus}`", [path])
        print(f"{path}: {items.n_rows:,} of {items.summary['items']:,} items have n-grams in documents")


def plan(given: argparse.Namespace) -> dict[str, Any]:
    # MATCH TEXT: letter for letter, whatever the tokens, so that `grep` finds none in the rest.
    steps: list[Any] = [{"delete": f"{json.dumps(text)} MATCH TEXT"} for text in given.phrase]
    steps += ["delete_duplicates", "delete_near_duplicates"]
    if given.evaluation:
        steps.append({"decontaminate": {"against": given.evaluation, "by": given.measure}})
    return {"corpus": given.corpus, "steps": [*steps, {"export": given.out}]}


def show(step: Mapping[str, Any]) -> None:
    if step.get("done_before"):
        print(f"{step['step']}: done before")
    elif "error" not in step:
        print(f"{step['step']}: {step['removed_documents']:,} of {step['documents']:,} documents")


def prove(db: ngramdb.Connection, corpus: ngramdb.Corpus, given: argparse.Namespace) -> int:
    facts = {"CHECK finds nothing": not db.execute("CHECK").fetchall()}
    facts["no phrase is left"] = not any(corpus.count(text, match_text=True) for text in given.phrase)
    with db.trial() as trial:
        again = trial.corpus(given.corpus)
        facts["no copy is left"] = not again.delete_duplicates() + again.delete_near_duplicates()
    if given.evaluation:
        left = corpus.decontaminate(given.evaluation, by=given.measure, dry_run=True)
        facts["nothing is contaminated"] = not left.contaminated
    for fact, holds in facts.items():
        print(f"{'yes' if holds else 'NO '}  {fact}")
    return 0 if all(facts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
