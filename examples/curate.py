"""Find documents and list them for a person to look at: first steps of curating a corpus.

    python curate.py DATABASE CORPUS '"lorem ipsum" OR ("click here" AND NOT "wiki")' [--limit 20]

Prints how many documents meet the condition, then the first of them: id, metadata, and the beginning of the
text. With `--ids FILE` the ids of all of them are written to a file, one a line.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import ngramdb

SHOWN_CHARACTERS = 70


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("corpus")
    parser.add_argument("condition", help="what would stand after WHERE")
    parser.add_argument("--limit", type=int, default=20, help="documents to show")
    parser.add_argument("--ids", type=Path, help="write the ids of all documents to this file")
    given = parser.parse_args()
    with ngramdb.connect(given.database, read_only=True) as db:
        corpus = db.corpus(given.corpus)
        # Rows are made while they are read: LIMIT costs nothing for documents that are not shown.
        found = corpus.docs(given.condition, limit=given.limit)
        print(f"{found.summary['total']:,} of {corpus.n_documents:,} documents")
        for document in found.to_dicts():
            number, text = document.pop("doc_id"), " ".join(document.pop("text").split())
            facts = ", ".join(f"{name} {value}" for name, value in document.items() if value is not None)
            print(f"\n{number}: {facts}\n  {text[:SHOWN_CHARACTERS]}")
        if given.ids is not None:
            with given.ids.open("w", encoding="utf-8") as file:
                file.writelines(f"{row[0]}\n" for row in corpus.docs(given.condition))


if __name__ == "__main__":
    main()
