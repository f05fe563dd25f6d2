"""The oracle of conditions and counts: trees of tuples, written as statements and answered by brute force.

    pattern     ("gram", ids) | ("gaps", [ids, …], [(low, high), …])
    condition   ("has", pattern) | ("times", pattern, operator, n) | ("near", [condition, …], tokens)
                ("is", field, operator, value) | ("between", field, low, high) | ("in", field, values)
                ("like", field, template, ignore_case) | ("null", field)
                ("and" | "or", [condition, …]) | ("not", condition)

A document is (token ids, metadata, doc_id). Truth is True, False or None (unknown), as in SQL.
"""

from __future__ import annotations

import itertools
import operator
import re

OPERATORS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
SIGNS = {"%": ".*", "_": "."}


# ---- as statements ----------------------------------------------------------------------------------------


def literal(ids):
    return "[" + ", ".join(map(str, ids)) + "]"


def pattern_text(pattern):
    if pattern[0] == "gram":
        return literal(pattern[1])
    _, parts, gaps = pattern
    pieces = [literal(parts[0])]
    for (low, high), part in zip(gaps, parts[1:], strict=True):
        pieces += [f"[{low}..{high}]", literal(part)]
    return " ".join(pieces)


def text_of(node, parameters):
    """The condition in the language; metadata values become parameters."""
    kind, *rest = node
    if kind == "has":
        return pattern_text(rest[0])
    if kind == "times":
        return f"COUNT({pattern_text(rest[0])}) {rest[1]} {rest[2]}"
    if kind == "near":
        return (
            "(" + " AND ".join(text_of(item, parameters) for item in rest[0]) + f" WITHIN {rest[1]} TOKENS)"
        )
    if kind in ("and", "or"):
        return "(" + f" {kind.upper()} ".join(text_of(item, parameters) for item in rest[0]) + ")"
    if kind == "not":
        return f"NOT ({text_of(rest[0], parameters)})"
    if kind == "null":
        return f"{rest[0]} IS NULL"
    field, *values = rest
    if kind == "is":
        parameters.append(values[1])
        return f"{field} {values[0]} ?"
    if kind == "between":
        parameters += values
        return f"{field} BETWEEN ? AND ?"
    if kind == "in":
        parameters += values[0]
        return f"{field} IN ({', '.join('?' * len(values[0]))})"
    parameters.append(values[0])
    return f"{field} {'ILIKE' if values[1] else 'LIKE'} ?"


# ---- truth ------------------------------------------------------------------------------------------------


def truth(node, document):
    """Return True if a condition holds for a document."""
    kind, *rest = node
    ids, metadata, doc_id = document
    if kind == "has":
        return bool(starts(node, document)) or rest[0] == ("gram", [])
    if kind == "times":
        return OPERATORS[rest[1]](len(starts(("has", rest[0]), document)), rest[2])
    if kind == "near":
        return together(rest[0], rest[1], document)
    if kind == "and":
        return conjunction([truth(item, document) for item in rest[0]])
    if kind == "or":
        return inverse(conjunction([inverse(truth(item, document)) for item in rest[0]]))
    if kind == "not":
        return inverse(truth(rest[0], document))
    value = {"doc_id": doc_id, "length": len(ids)}.get(rest[0], metadata.get(rest[0]))
    if kind == "null":
        return value is None
    return None if value is None else of_value(kind, value, rest[1:])


def conjunction(values):
    if False in values:
        return False
    return None if None in values else True


def inverse(value):
    return None if value is None else not value


def of_value(kind, value, rest):
    """Evaluate a condition on a value that isn't NULL."""
    if kind == "is":
        sign, other = rest
        if other is None:
            return None
        if sign == "!=":
            return inverse(of_value("is", value, ("=", other)))
    if kind == "in":
        found = any(of_value("is", value, ("=", other)) for other in rest[0] if other is not None)
        return None if not found and None in rest[0] else found
    if kind == "between" and rest[0] is None and rest[1] is None:
        return None
    if isinstance(value, list):
        # There is an element of which it is true: false of none, and unknown before it is false.
        each = [inverse(of_value(kind, item, rest)) for item in value if item is not None]
        return inverse(conjunction(each))
    if kind == "is":
        if family(value) != family(other):
            return False if sign == "=" else None
        return OPERATORS[sign](value, other)
    if kind == "between":
        return conjunction([of_value("is", value, (">=", rest[0])), of_value("is", value, ("<=", rest[1]))])
    template, ignore_case = rest
    expression = "".join(SIGNS.get(c, re.escape(c)) for c in template)
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    return isinstance(value, str) and re.fullmatch(expression, value, flags) is not None


def family(value):
    return bool if isinstance(value, bool) else float if isinstance(value, (int, float)) else type(value)


# ---- occurrences ------------------------------------------------------------------------------------------


def has_places(node):
    """Return True if a condition refers to places in documents."""
    if node[0] in ("and", "near"):
        return any(map(has_places, node[1]))
    return node[0] == "has" or (node[0] == "or" and all(map(has_places, node[1])))


def spans(node, document, possible=False):
    """The occurrences that a condition means in a document: (start, stop), ascending, each once.

    With `possible`, those that it may mean, whatever the values are that the document does not have.
    """
    kind, *rest = node
    ids = document[0]
    if kind == "has":
        found = ((i, stop(rest[0], ids, i)) for i in range(len(ids)))
        return [span for span in found if span[1] is not None]
    if kind == "or":
        return sorted({span for item in rest[0] for span in spans(item, document, possible)})
    first, *others = sorted(rest[0], key=lambda item: not has_places(item))
    found = spans(first, document, possible)
    met = (True, None) if possible else (True,)
    if kind == "and":
        return found if all(truth(item, document) in met for item in others) else []
    for item in others:
        if has_places(item):
            near = starts(item, document, possible)
            found = [span for span in found if any(abs(span[0] - j) <= rest[1] for j in near)]
        elif item[0] == "not" and has_places(item[1]):
            near = starts(item[1], document, not possible)
            found = [span for span in found if not any(abs(span[0] - j) <= rest[1] for j in near)]
        elif truth(item, document) not in met:
            found = []
    return found


def starts(node, document, possible=False):
    """Return the starts of the occurrences of a condition in a document, certain or possible ones."""
    return [start for start, _ in spans(node, document, possible)]


def stop(pattern, ids, i):
    """Return the first end of a pattern that begins at a token; None if it does not begin there."""
    if pattern[0] == "gram":
        return i + len(pattern[1]) if ids[i : i + len(pattern[1])] == pattern[1] else None
    _, parts, gaps = pattern
    end = stop(("gram", parts[0]), ids, i)
    if end is None or not gaps:
        return end
    low, high = gaps[0]
    following = ("gaps", parts[1:], gaps[1:])
    ends = (stop(following, ids, j) for j in range(end + low, min(end + high, len(ids) - 1) + 1))
    return min((end for end in ends if end is not None), default=None)


def together(items, tokens, document):
    """Evaluate WITHIN as a condition: an occurrence of each is within that many tokens of all others.

    For the first one, this is an occurrence without any of those after NOT as near.
    """
    near = [item for item in items if has_places(item)]
    apart = [item for item in items if item[0] == "not" and has_places(item[1])]
    others = [truth(item, document) for item in items if item not in near + apart]

    def holds(possible):
        places = [starts(item, document, possible) for item in near]
        places[0] = starts(("near", [near[0], *apart], tokens), document, possible)
        return any(max(choice) - min(choice) <= tokens for choice in itertools.product(*places))

    known = True if holds(possible=False) else None if holds(possible=True) else False
    return conjunction([known, *others])


def count_of(node, documents):
    """COUNT of an expression."""
    return sum(len(starts(node, document)) for document in documents)


def text_places(string, text, ignore_case=False):
    """Return the places of a string in a text, (start, stop) in characters, including overlapping ones."""
    n = len(string)
    if ignore_case:  # character by character, by full case folding
        string, text = ([c.casefold() for c in whole] for whole in (string, text))
    return [(start, start + n) for start in range(len(text) - n + 1) if text[start : start + n] == string]


def text_count(text, documents, ignore_case=False):
    """In how many places of the texts a string begins."""
    expression = re.compile(f"(?=({re.escape(text)}))", re.IGNORECASE if ignore_case else 0)
    return sum(len(expression.findall(document)) for document in documents)
