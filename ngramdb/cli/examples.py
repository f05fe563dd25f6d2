"""Statements of each kind as `.help` shows them."""

from __future__ import annotations

# Statement, what it answers or does.
STATEMENTS: tuple[tuple[str, str], ...] = (
    ('COUNT "of the"', "occurrences of an n-gram"),
    ('COUNT "of the" GROUP BY source', "the same per value of a metadata field"),
    ('COUNT DOCS WHERE "good" AND NOT "bad"', "matching documents"),
    ('KWIC "machine learning" WINDOW 8 LIMIT 20', "where it stands, with its neighbours"),
    ("NGRAMS 3 TOP 10", "the most frequent n-grams"),
    ('DOCS WHERE "a b" AND year >= 2020 LIMIT 5', "documents with their metadata and text"),
    ('PROB "language" GIVEN "natural" USING INFGRAM', "P(language | natural)"),
    ('DIST GIVEN "natural language" TOP 10', "what comes next, and how often"),
    ('SCORE "a whole sentence"', "probability token by token"),
    ('GENERATE GIVEN "once upon a" TOKENS 20 METHOD SAMPLE', "a continuation, drawn at random"),
    ('TRACE "a long text"', "which parts of it stand in the corpus"),
    ('EXPLAIN COUNT "of the"', "the plan of a question"),
    ("CREATE CORPUS wiki TOKENIZER 'words'", "a new, empty corpus"),
    ("COPY wiki FROM 'data/*.jsonl.gz' (FORMAT jsonl)", "documents into it"),
    ("USE wiki", "questions without FROM go to this corpus"),
    ("DESCRIBE wiki", "its size and its metadata fields"),
    ("ANALYZE wiki", "takes what Kneser-Ney's discounts come from"),
    ("CHECK wiki", "whether every file of it is sound"),
    ("SHOW CORPORA", "all corpora; also SEGMENTS, VERSIONS, SETTINGS"),
    ("SET threads = 2", "changes a setting"),
)
