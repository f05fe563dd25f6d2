"""The state of the parser at a refused lexeme, from which messages and hints are made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ngramdb.language import syntax
from ngramdb.language.parts import Lexeme
from ngramdb.language.syntax import State

# Longer pieces of a statement are cut when a message quotes them, in characters.
MAX_QUOTED = 40
# Terminals that begin a clause, each allowed once in a statement.
CLAUSE_HEADS = frozenset(
    {
        *("FROM", "WHERE", "GROUP", "ORDER", "TOP", "LIMIT", "OFFSET", "SAMPLE", "WINDOW", "MIN", "USING"),
        *("SENTENCE", "DOCUMENT", "TOKENS", "METHOD", "TEMPERATURE", "NUCLEUS", "DIVERSITY", "SEED"),
        *("RETURN", "RETURNING", "TOKENIZER", "WITH", "ON", "IF", "CONTAINING", "STARTING", "ENDING"),
        *("PER", "AS", "REPLACE", "NORMALIZE", "KEEP", "AGAINST", "LENGTH"),
        *("CONTAINED", "CANDIDATES", "CONTEXT", "GAP", "MAX", "ORDERS", "SKIP", "STOP"),
    }
)
# Clauses that a statement cannot do without.
_REQUIRED = {"CUT": "WHERE", "DELETE": "WHERE", "GENERATE": "TOKENS"}
# Statements with texts after OF.
_MEASURES = (["PERPLEXITY"], ["AGREEMENT"], ["NOVELTY"])
_OF_TEXTS = (*_MEASURES, ["TRACE"])
# Modifiers allowed once after an n-gram.
_MODIFIERS = frozenset({"MATCH", "IGNORE", "PREFIX"})
# Terminals that begin another part of a pattern.
_PARTS = frozenset({"TEXT_LITERAL", "IDS_LITERAL", "PARAMETER", "REGEX_LITERAL", "STAR", "LPAR"})
_NGRAMS = frozenset({"TEXT_LITERAL", "IDS_LITERAL", "PARAMETER"})


class Situation:
    """All that is known when a lexeme is refused.

    Parameters
    ----------
    found : the lexeme
    before : the lexemes that were accepted
    state : the parser's state before it
    whole : what the text was read as: 'statement', 'condition' or 'model'
    """

    def __init__(
        self,
        text: str,
        found: Lexeme,
        before: Sequence[Lexeme],
        state: State,
        whole: str = "statement",
    ) -> None:
        self.text = text
        self.found = found
        self.before = before
        self.state = state
        self.whole = whole
        self.head = _types_since_semicolon(before)
        self.expected = without_new_parts(expected_terminals(state, self.head))

    @property
    def raw(self) -> str:
        """The lexeme as it is written."""
        return self.text[self.found.start : self.found.stop]

    @property
    def word(self) -> str:
        """The lexeme in capitals."""
        return self.raw.upper()

    @property
    def kind(self) -> str:
        """The lexeme's terminal."""
        return self.found.type

    @property
    def at_end(self) -> bool:
        """True if the text ends before it is complete."""
        return self.found.type == "$END" or (self.found.type == "SEMICOLON" and self.whole == "statement")

    @property
    def is_word(self) -> bool:
        """True if the lexeme is a bare word, keyword or name."""
        return self.raw[:1].isalpha() or self.raw[:1] == "_"

    @property
    def is_name(self) -> bool:
        """True if the lexeme was read as a name."""
        return self.found.type in syntax.NAMES

    @property
    def is_string(self) -> bool:
        """True if the lexeme is a value in single quotes."""
        return self.found.type in syntax.STRINGS

    @property
    def previous(self) -> str:
        """The terminal before the lexeme, or ''."""
        return self.before[-1].type if self.before else ""

    @property
    def statement_may_start(self) -> bool:
        return "COPY" not in self.head and self.may_be("COUNT") and self.may_be("SHOW")

    @property
    def condition_may_start(self) -> bool:
        return self.may_be("FIELD_NAME") and self.may_be("TEXT_LITERAL")

    def may_be(self, *terminals: str) -> bool:
        """Return True if one of the terminals was expected."""
        return not set(terminals).isdisjoint(self.expected)

    def spell(self, keyword: str) -> str:
        """Return an expected keyword with the ones that must follow it."""
        return keyword if self.statement_may_start else syntax.phrase(self.state, keyword)

    def written(self, lexeme: Lexeme) -> str:
        """Return a lexeme as written."""
        return self.text[lexeme.start : lexeme.stop]

    def one_back(self) -> Situation:
        """Return the situation as if the lexeme before had been refused."""
        before = self.before[:-1]
        start_rule = "script" if self.whole == "statement" else self.whole
        state = syntax.after(start_rule, (lexeme.type for lexeme in before))
        return Situation(self.text, self.before[-1], before, state, self.whole)


def expected_terminals(state: State, head: Sequence[str]) -> list[str]:
    """Return the terminals that may come next, in the grammar's order, without clauses already given.

    The end is left out if a clause is missing.

    Parameters
    ----------
    state : the parser's state
    head : the terminals of the statement so far
    """
    scope = _scope(head)
    given = CLAUSE_HEADS.intersection(scope)
    last = max((i for i, terminal in enumerate(head) if terminal in _NGRAMS), default=0)
    if head[:1] in (
        ["COLLOCATES"],
        ["KEYWORDS"],
        ["DISPERSION"],
        *_MEASURES,
    ):  # elsewhere BY continues GROUP and ORDER
        given |= {"BY"}.intersection(scope)
    if "NEAR" in head[:2]:  # elsewhere NGRAM is a model
        given |= {"NGRAM"}.intersection(scope)
    if head[:1] == ["DUPLICATES"]:
        given = given - {"LENGTH"} | _given_to_duplicates(head)
    has_texts = head[:1] in _OF_TEXTS and head[1:2] == ["OF"]
    if has_texts and "FROM" in scope and "WHERE" not in scope[scope.index("FROM") :]:
        given -= {"WHERE"}  # each source has a condition of its own
    if head[:1] == ["NOVELTY"]:  # elsewhere NGRAMS is a statement
        given |= {"NGRAMS"}.intersection(scope)
    if head[:1] == ["DECONTAMINATE"]:
        given |= {"BY", "DELETE"}.intersection(scope)
    if head[:1] == ["NGRAMS"] and "DOCS" not in scope:
        given -= {"WITH"}  # STARTING WITH is not the clause WITH
    if not given.isdisjoint(("TOP", "LIMIT")):  # one clause with two names
        given |= {"TOP", "LIMIT"}
    if not given.isdisjoint(("SENTENCE", "DOCUMENT")):  # of which one can be given
        given |= {"SENTENCE", "DOCUMENT"}
    given |= _MODIFIERS.intersection(head[last:])
    if head[:1] in (["COPY"], ["ALTER"]) and "LPAR" in scope and "$END" in state.choices():
        given |= {"LPAR"}  # the list of options, or of fields
    if head[-1:] == ["LENGTH"]:
        given |= {"COMPARATOR"}  # >=, which may be left out
    if head[:2] == ["CUT", "DUPLICATES"] and scope.count("MIN") < 2:
        given -= {"MIN"}  # MIN COUNT and MIN REST
    if head[:1] == ["GENERATE"] and "USING" in scope and scope.count("MIN") < 2:
        given -= {"MIN"}  # MIN COUNT of a model, and MIN PROB
    if head and "DUPLICATES" not in head[1:3] and _REQUIRED.get(head[0], head[0]) not in head:
        given |= {"$END", "SEMICOLON"}
    return [terminal for terminal in syntax.acceptable(state) if terminal not in given]


def _given_to_duplicates(head: Sequence[str]) -> set[str]:
    """Return which of LENGTH and BY were given, which also occur in BY LENGTH and ORDER BY."""
    pairs = set(pairwise(head))
    found = {second for first, second in pairs if second == "LENGTH" and first != "BY"}
    found |= {second for first, second in pairs if second == "BY" and first != "ORDER"}
    return found - {"BY": {"LENGTH"}, "ORDER": {"BY"}}.get(head[-1], set())


def without_new_parts(terminals: Sequence[str]) -> list[str]:
    """Return the terminals without those that begin another part of a pattern, possible after any part."""
    parts = _PARTS if "GAP_LITERAL" in terminals else frozenset()
    return [terminal for terminal in terminals if terminal not in parts]


def _scope(head: Sequence[str]) -> Sequence[str]:
    """Return the part of the statement whose clauses are its own, as in COPY (question) TO."""
    if head[:1] == ["KEYWORDS"] and "AGAINST" in head:
        return head[head.index("AGAINST") :]
    if head[:1] == ["CREATE"] and "AS" in head:
        return head[head.index("AS") :]
    if head[:1] != ["COPY"]:
        return head
    return head[head.index("TO") :] if "TO" in head else head[2:]


def _types_since_semicolon(lexemes: Sequence[Lexeme]) -> list[str]:
    """Return the terminals of the statement that the last lexeme belongs to."""
    types: list[str] = []
    for lexeme in reversed(lexemes):
        if lexeme.type == "SEMICOLON":
            break
        types.append(lexeme.type)
    return types[::-1]


def quote(raw: str) -> str:
    """Return a piece of a statement for messages: on one line, without control characters, shortened."""
    line = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in " ".join(raw[:1000].split()))
    return line if len(line) <= MAX_QUOTED else line[: MAX_QUOTED - 1] + "…"


# ---- What a misspelt or borrowed word was meant to be.


# Similarity of a word to a keyword (difflib's ratio) required for "did you mean": one letter wrong, missing,
# doubled or swapped in a word of four letters passes; words of other languages and corpus names rarely do.
_LIKENESS = 0.7

# Words from SQL and elsewhere for each keyword, suggested where that is allowed; the first keyword counts.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "COPY": ("LOAD", "INSERT", "IMPORT", "EXPORT"),
    "DELETE": ("REMOVE",),
    "USING": ("MODEL", "WITH"),
    "TOKENS": ("WORDS", "LENGTH", "MAX"),
    "WINDOW": ("CONTEXT",),
    "RETURN": ("LIMIT",),
    "LIMIT": ("TOP",),
    "FROM": ("IN", "FORM", "OF"),
    "WHERE": ("FILTER",),
    "DESC": ("DESCENDING", "DOWN"),
    "ASC": ("ASCENDING",),
    "CORPUS": ("TABLE", "INDEX", "DATABASE"),
    "CORPORA": ("TABLES", "DATABASES", "CORPUS", "CORPUSES"),
    "VERSIONS": ("HISTORY",),
    "REMOVALS": ("DELETIONS",),
    "DOCS": ("DOCUMENTS", "DOCUMENT", "SELECT", "SEARCH"),
    "PROB": ("PROBABILITY",),
    "DIST": ("NTD",),
    "KWIC": ("CONCORDANCE",),
    "NGRAMS": ("CLUSTERS",),
    "COLLOCATES": ("COLLOCATIONS",),
    "KEYWORDS": ("KEYNESS",),
    "TRACE": ("ATTRIBUTE",),
    "ADD": ("INSERT", "PLUS", "UNION", "APPEND"),
    "SET": ("PRAGMA",),
    "CHECK": ("VERIFY",),
    "COMPACT": ("VACUUM", "OPTIMIZE"),
    "RESTORE": ("ROLLBACK", "UNDO"),
    "KEEP": ("TAG", "BOOKMARK"),
    "SUBTRACT": ("REMOVE", "MINUS", "EXCEPT", "DELETE", "DROP"),
    "ATTACH": ("OPEN", "MOUNT"),
    "DETACH": ("CLOSE", "UNMOUNT"),
    "DESCRIBE": ("DESC",),
    "TO": ("INTO",),
    "SKIP": ("IGNORE",),
    "GIVEN": ("WITH", "AFTER", "CONTEXT"),
    "BACKOFF": ("STUPID",),
    "INFGRAM": ("INFINIGRAM",),
    "KNESER_NEY": ("KN", "KNESER"),
    "WITTEN_BELL": ("WB", "WITTEN"),
    "PITMAN_YOR": ("HPYLM", "PITMAN"),
    "SKIP_KNESER_NEY": ("GLM", "SKIPGRAM"),
    "MIN": ("LENGTH",),
    "TOP": ("TOP_K",),
    "NUCLEUS": ("TOP_P",),
    "TEMPERATURE": ("TEMP",),
}


def nearest(situation: Situation) -> str | None:
    """Return the keyword that the word was probably meant to be, if one is similar and allowed here."""
    import difflib

    if not situation.is_word:
        return None
    keywords = syntax.syntax().keywords
    candidates = [terminal for terminal in situation.expected if terminal in keywords]
    for keyword, words in _SYNONYMS.items():
        if situation.word in words and keyword in candidates:
            return keyword
    if situation.word in keywords:
        return None
    return next(iter(difflib.get_close_matches(situation.word, candidates, n=1, cutoff=_LIKENESS)), None)
