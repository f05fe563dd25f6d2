"""What a misspelt or borrowed word was meant to be."""

from __future__ import annotations

from ngramdb.language import syntax
from ngramdb.language.situation import Situation

# How alike a word and a keyword must be (difflib's ratio) for "did you mean": one letter wrong, missing,
# doubled or swapped in a word of four letters passes; words of other languages and corpus names rarely do.
_LIKENESS = 0.7

# What people bring along from SQL and from elsewhere, and what they are after here; told where the latter may
# stand.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "LIMIT": ("RETURN",),
    "TOP": ("LIMIT",),
    "IN": ("FROM",),
    "FORM": ("FROM",),
    "OF": ("FROM",),
    "FILTER": ("WHERE",),
    "DESCENDING": ("DESC",),
    "DOWN": ("DESC",),
    "ASCENDING": ("ASC",),
    "TABLE": ("CORPUS",),
    "INDEX": ("CORPUS",),
    "DATABASE": ("CORPUS",),
    "TABLES": ("CORPORA",),
    "DATABASES": ("CORPORA",),
    "CORPUS": ("CORPORA",),
    "CORPUSES": ("CORPORA",),
    "HISTORY": ("VERSIONS",),
    "DELETIONS": ("REMOVALS",),
    "DOCUMENTS": ("DOCS",),
    "DOCUMENT": ("DOCS",),
    "PROBABILITY": ("PROB",),
    "NTD": ("DIST",),
    "SELECT": ("DOCS",),
    "SEARCH": ("DOCS",),
    "CONCORDANCE": ("KWIC",),
    "WORDS": ("TOKENS",),
    "CLUSTERS": ("NGRAMS",),
    "COLLOCATIONS": ("COLLOCATES",),
    "KEYNESS": ("KEYWORDS",),
    "ATTRIBUTE": ("TRACE",),
    "PERPLEXITY": ("SCORE",),
    "LOAD": ("COPY",),
    "INSERT": ("COPY", "ADD"),
    "IMPORT": ("COPY",),
    "EXPORT": ("COPY",),
    "PRAGMA": ("SET",),
    "VERIFY": ("CHECK",),
    "VACUUM": ("COMPACT",),
    "OPTIMIZE": ("COMPACT",),
    "ROLLBACK": ("RESTORE",),
    "UNDO": ("RESTORE",),
    "TAG": ("KEEP",),
    "BOOKMARK": ("KEEP",),
    "REMOVE": ("DELETE", "SUBTRACT"),
    "MINUS": ("SUBTRACT",),
    "EXCEPT": ("SUBTRACT",),
    "DELETE": ("SUBTRACT",),
    "DROP": ("SUBTRACT",),
    "OPEN": ("ATTACH",),
    "MOUNT": ("ATTACH",),
    "CLOSE": ("DETACH",),
    "UNMOUNT": ("DETACH",),
    "PLUS": ("ADD",),
    "UNION": ("ADD",),
    "APPEND": ("ADD",),
    "DESC": ("DESCRIBE",),
    "INTO": ("TO",),
    "IGNORE": ("SKIP",),
    "MODEL": ("USING",),
    "WITH": ("USING", "GIVEN"),
    "AFTER": ("GIVEN",),
    "STUPID": ("BACKOFF",),
    "INFINIGRAM": ("INFGRAM",),
    "KN": ("KNESER_NEY",),
    "KNESER": ("KNESER_NEY",),
    "LENGTH": ("TOKENS", "MIN"),
    "MAX": ("TOKENS",),
    "TOP_K": ("TOP",),
    "TOP_P": ("NUCLEUS",),
    "TEMP": ("TEMPERATURE",),
    "CONTEXT": ("WINDOW", "GIVEN"),
}


def nearest(situation: Situation) -> str | None:
    """The keyword that the word was meant to be, if it can stand here and one is near."""
    import difflib

    if not situation.is_word:
        return None
    word = situation.raw.upper()
    candidates = [terminal for terminal in situation.expected if terminal in syntax.syntax().keywords]
    for synonym in _SYNONYMS.get(word, ()):
        if synonym in candidates:
            return synonym
    if word in syntax.syntax().keywords:
        return None
    near = difflib.get_close_matches(word, candidates, n=1, cutoff=_LIKENESS)
    return near[0] if near else None
