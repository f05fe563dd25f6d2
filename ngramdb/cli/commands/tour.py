"""The guided tour over the demonstration corpus: one statement of each kind, and a line on what it shows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """A statement and the sentence that is shown above it."""

    says: str
    statement: str


STEPS: tuple[Step, ...] = (
    Step("How often does this sequence of tokens occur?", 'COUNT "for i in range"'),
    Step("And in how many files?", 'COUNT DOCS WHERE "for i in range"'),
    Step("How likely is one continuation?", 'PROB "len" GIVEN "for i in range("'),
    Step(
        "A context that occurs nowhere has no probability; INFGRAM takes its longest suffix that does occur.",
        'PROB "len" GIVEN "the snake counted for i in range(" USING INFGRAM',
    ),
    Step("What do the authors raise?", 'DIST GIVEN "raise" TOP 8'),
    Step(
        "Token by token: which part of a line is surprising?",
        "SCORE \"if __name__ == '__main__':\" USING INFGRAM",
    ),
    Step(
        "Any mix of AND, OR and NOT finds files, with their metadata.",
        'DOCS WHERE ("import asyncio" OR "import threading") AND NOT "import socket" LIMIT 5',
    ),
    Step(
        "Files that define a main function, the last ones first.",
        'DOCS WHERE "def main(" ORDER BY doc_id DESC LIMIT 3',
    ),
    Step(
        "How is such a question answered?",
        'EXPLAIN ANALYZE DOCS WHERE "import threading" AND "import socket" AND NOT "import ssl"',
    ),
    Step("What is on the disk?", "SHOW SEGMENTS"),
)
