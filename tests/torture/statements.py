"""Statements made at random: by the grammar, from the grammar's with mistakes put in, and from nothing."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

from ngramdb.api.settings import SETTINGS
from ngramdb.language.syntax import REGISTERED, syntax
from ngramdb.planner.parameters import ATTACH_OPTIONS, CORPUS_OPTIONS, LOAD_OPTIONS

# The depth of a derivation from which on it takes the shortest way out.
DEPTH = 28
WORDS = [
    "w0",
    "w1",
    "w2 w3",
    "w1 w1 w1",
    "W1",
    "zz",
    "",
    " ",
    "é",
    "w1\\n",
    '\\"',
    "\\\\",
    "<s>",
    "漢字",
    "\U0001f600",
    "w" * 300,
]
WHOLE = [0, 1, 1, 2, 2, 3, 5, 10, 100, 4096, 10**6, 2**31 - 1, 2**32, 2**63 - 1, 2**64, 10**30]
NUMBERS = ["0.5", "1.5", "0.0", "-0.5", "-1", "1e300", "1e-300", "-1e9", "123456789.25"]
# Nothing here leads out of the folder that the fuzzer runs in.
PATHS = ["in.jsonl", "in.txt", "out.jsonl", "out.parquet", "out.jsonl.gz", "missing.jsonl", "*.jsonl", "."]
VALUES = ["web", "book", "", "w%", "%", "_", "x'", "2020-01-01", "é"]
CHARACTERS = "abcwDOCSx01 9.,;:?()[]{}\"'`\\=<>!+-*&|^%$#@_\n\t\0é漢\u200d\ud800\U0001f600"

# Values of placeholders, valid and invalid.
PARAMETERS = [
    *(1, 2, 0, -1, 10**30, 0.5, float("nan"), float("inf"), None, True),
    *("w1", "w1 w2", "web", "out.jsonl", "", "\ud800", "a\0b", b"w1"),
    *([1, 2], [], [-1], [1.5], [2**64], ["w1"], {"a": 1}, object()),
]

SPELLINGS = {
    "CORPUS_NAME": ["c", "c", "d", "tok", "e", "`odd name`", "missing", "C"],
    "NEW_NAME": ["new1", "new2", "c", "`odd name`"],
    "FIELD_NAME": [
        "source",
        "n",
        "length",
        "doc_id",
        "text",
        "deep",
        "count",
        "left",
        "right",
        "missing",
        "`a b`",
    ],
    "KEY_NAME": ["list", "x", "`y z`"],
    "SETTING_NAME": [*SETTINGS, "nonsense"],
    "OPTION_NAME": [*LOAD_OPTIONS, *CORPUS_OPTIONS, *ATTACH_OPTIONS, "nonsense"],
    **{terminal: [*names, "nonsense"] for terminal, names in REGISTERED.items()},
    "BARE_WORD": ["on", "off", "text", "jsonl", "parquet", "nonsense", "default"],
    "TOKENIZER_LITERAL": ["'words'", "'chars'", "'bytes'", "'tokens'", "'in.jsonl'", "'nonsense'"],
    "COMPARATOR": ["<", "<=", ">", ">=", "!=", "<>"],
    "NUMBER_LITERAL": NUMBERS,
    "SCALED_LITERAL": ["1K", "2.5M", "1b", "0K", "-1B", "1.0001K"],
    "PARAMETER": ["?", "?", ":a"],
    "REGEX_LITERAL": [
        "/a.*/",
        "/[^a]+|b/",
        "/\\w{2,3}/",
        "/(a|b)*c?/",
        "/(/",
        "/(?=a)/",
        "/(a+)+$/",
        "/é/",
        "/[a-z]{1,99}{2}/",
    ],
    "REPETITION_LITERAL": ["{1,3}", "{2}", "{0,1}", "{1,}", "{0}", "{3,1}", "{99999}", "{,}"],
}


class Statements:
    """A source of statements; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        known = syntax()
        self._spelling = dict(known.tables.spelling)
        self._rules: dict[str, list[list[str]]] = defaultdict(list)
        for rule in known.tables.rules:
            self._rules[rule.symbol].append(list(rule.expansion))
        self._words = [word for word in self._spelling.values() if word.isalpha()]
        self._depths = _depths(self._rules)

    def one(self) -> tuple[str, Any]:
        """A text and its parameters."""
        kind = self.random.random()
        if kind < 0.1:
            text = self._noise()
        else:
            text = self._written("explain" if kind < 0.15 else "runnable")
            if kind > 0.6:
                for _ in range(self.random.choice((1, 1, 2, 5))):
                    text = self._mistaken(text)
        return text, self._parameters(text)

    def _written(self, start: str) -> str:
        symbols, words = [(start, DEPTH)], []
        while symbols:
            name, depth = symbols.pop()
            if name not in self._rules:
                words.append(self._terminal(name))
                continue
            rules = self._rules[name]
            if depth <= 0:
                rules = [min(rules, key=lambda rule: max((self._depths[one] for one in rule), default=0))]
            symbols += [(one, depth - 1) for one in reversed(self.random.choice(rules))]
        return " ".join(words)

    def _terminal(self, name: str) -> str:
        choose = self.random.choice
        if name in self._spelling:
            word = self._spelling[name]
            return word.lower() if self.random.random() < 0.2 else word
        if name in SPELLINGS:
            return choose(SPELLINGS[name])
        if name == "TEXT_LITERAL":
            return '"' + " ".join(choose(WORDS) for _ in range(choose((1, 1, 1, 2, 4)))) + '"'
        if name == "IDS_LITERAL":
            return "[" + ", ".join(str(self._whole()) for _ in range(choose((0, 1, 2, 3)))) + "]"
        if name == "GAP_LITERAL":
            return f"[{self._whole()}..{self._whole()}]"
        if name == "INTEGER_LITERAL":
            return str(self._whole())
        return "'" + choose(PATHS if name == "PATH_LITERAL" else VALUES).replace("'", "''") + "'"

    def _whole(self) -> int:
        return self.random.choice(WHOLE[: self.random.choice((8, 8, 8, len(WHOLE)))])

    def _mistaken(self, text: str) -> str:
        """The text with one thing wrong."""
        draw, words = self.random, text.split(" ")
        at, kind = draw.randrange(len(words)), draw.randrange(7)
        if kind == 0:
            del words[at]
        elif kind == 1:
            words.insert(at, words[draw.randrange(len(words))])
        elif kind == 2:
            words[at] = draw.choice(self._words)
        elif kind == 3:
            words = words[:at]
        elif kind == 4:
            words[at:at] = ["; "[draw.randrange(2)], self._written("runnable")]
        else:
            place = draw.randrange(len(text) + 1)
            return text[:place] + draw.choice(CHARACTERS) + text[place + (kind == 5) :]
        return " ".join(words)

    def _noise(self) -> str:
        draw = self.random
        if draw.random() < 0.5:
            return "".join(draw.choice(CHARACTERS) for _ in range(draw.randrange(60)))
        names = sorted(
            [*self._spelling, *SPELLINGS, "TEXT_LITERAL", "IDS_LITERAL", "GAP_LITERAL", "INTEGER_LITERAL"]
        )
        return " ".join(self._terminal(draw.choice(names)) for _ in range(draw.randrange(20)))

    def _parameters(self, text: str) -> Any:
        if ":a" in text:
            return {"a": self._value()}
        n = text.count("?")
        return [self._value() for _ in range(n)] if n else None

    def _value(self) -> Any:
        return self.random.choice(PARAMETERS)


def _depths(rules: dict[str, list[list[str]]]) -> dict[str, float]:
    """Return the depth of the shallowest derivation of each symbol."""
    depths: dict[str, float] = defaultdict(int, dict.fromkeys(rules, float("inf")))
    changed = True
    while changed:
        changed = False
        for name, alternatives in rules.items():
            best = 1 + min(max((depths[one] for one in rule), default=0) for rule in alternatives)
            if best < depths[name]:
                depths[name], changed = best, True
    return depths
