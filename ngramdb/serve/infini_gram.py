"""infini-gram's protocol, `POST /`: the fields and the errors of its API, with our engine.

Every answer is exact: `approx` is always false, and sampling limits are accepted but not needed.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.compat.infinigram import InfiniGramEngine
from ngramdb.compat.infinigram.documents import Documents
from ngramdb.errors import BindError, InvalidArgument
from ngramdb.interrupts import Interrupt, check
from ngramdb.serve.database_pool import Library, Named
from ngramdb.serve.problem_details import Problem

#: Fields of requests that the original API reads or ignores, besides the arguments of its methods.
IGNORED = ("engine", "source", "timestamp")
ARGUMENTS = (
    "max_clause_freq",
    "max_diff_tokens",
    "max_support",
    "maxnum",
    "max_disp_len",
    "s",
    "rank",
    "ptr",
)
QUERY_TYPES = (
    *("count", "prob", "ntd", "infgram_prob", "infgram_ntd"),
    *("find", "find_cnf", "count_cnf", "search_docs", "search_docs_cnf", "get_doc_by_rank", "get_doc_by_ptr"),
)
#: End-of-text tokens in the spelling of common tokenizers.
ENDS = ("<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>", "<|im_end|>", "[SEP]")
#: The number of cached engines; each keeps counts of its corpus.
MOST_ENGINES = 16

Fields = dict[str, Any]


class Opened:
    """A version of a corpus as infini-gram presents it: its engine, and conversions between text and ids."""

    def __init__(self, view: Any) -> None:
        self.view = view
        self.tokenizer: Any = view.tokenizer
        self.engine: Any = InfiniGramEngine.over(view, _end_of(self.tokenizer))
        self.documents = Documents(view)
        # infini-gram inserts a space before the text if the tokenizer's words begin with one.
        self._prefix = " " if _has_blanks_within(self.tokenizer) else ""
        # Results of `word_starts` by token: looking up a token's spelling takes a microsecond.
        self._begins_word: dict[int, bool] = {}

    def word_starts(self, ids: list[int]) -> frozenset[int] | None:
        """Return those of the tokens that may begin a word; None if every token may, or if that is unknown.

        These are tokens that begin with a space, and tokens that do not begin with a letter or a digit.
        """
        if self.tokenizer.kind != "json":
            return None
        begins = self._begins_word
        new = [token for token in set(ids) if token not in begins]
        for token, piece in zip(new, self.pieces(new), strict=True):
            begins[token] = not piece[:1].isalnum() or piece[0] in "Ġ▁"
        return frozenset(token for token in set(ids) if begins[token])

    def encoded(self, text: str) -> list[int]:
        """Return the ids of a query's text; an unknown word gets an id that occurs nowhere."""
        return self.ids(self._prefix + text if text else "")

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text as it is; unknown words get an id that occurs nowhere."""
        values = self.tokenizer.encode(text)
        ids: list[int] = np.where(values < 0, self.tokenizer.n_vocabulary, values).tolist()
        return ids

    def pieces(self, ids: list[int]) -> list[str]:
        """Return the tokens in the spelling of the vocabulary, with "" for ids outside it."""
        n = self.tokenizer.n_vocabulary
        known = np.array([one if 0 <= one < n else 0 for one in ids], dtype=np.uint32)
        found = self.tokenizer.pieces(known) if n and len(ids) else [""] * len(ids)
        return [piece if 0 <= one < n else "" for one, piece in zip(ids, found, strict=True)]

    def decoded(self, ids: list[int]) -> str:
        """Return the text of ids, without those of unknown words."""
        text: str = self.tokenizer.decode(self.known(ids))
        return text

    def known(self, ids: list[int]) -> NDArray[np.uint32]:
        """Return those of the ids that the vocabulary contains."""
        if not ids or 0 <= min(ids) <= max(ids) < self.tokenizer.n_vocabulary:
            return np.array(ids, dtype=np.uint32)
        values = np.array(ids, dtype=np.int64)
        known = (values >= 0) & (values < int(self.tokenizer.n_vocabulary))
        return values[known].astype(np.uint32)

    def decoded_each(self, parts: list[NDArray[np.uint32]]) -> list[str]:
        """Return the texts of several lists of ids, all in the vocabulary."""
        ids = np.concatenate([np.empty(0, dtype=np.uint32), *parts])
        texts: list[str] = self.tokenizer.decode_each(ids, np.cumsum([0, *map(len, parts)]))
        return texts

    def ids_and_pieces(self, text: str) -> tuple[list[int], list[str]]:
        """Return the `ids` of a text, and its tokens in their spelling in the text."""
        ids = self.ids(text)
        values = np.array(ids, dtype=np.int64)
        if values.max(initial=0) < self.tokenizer.n_vocabulary:  # no unknown word
            return ids, self.tokenizer.token_texts(values.astype(np.uint32))
        return ids, self.tokenizer.split(text)


class Engines:
    """The engines of a library's corpora, each at the version of the last query."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], Opened] = {}

    def opened(self, name: str) -> Opened:
        """Return a corpus by its name. Raises BindError."""
        return self.of(self._library.corpus(name))

    def of(self, named: Named) -> Opened:
        """Return the newest version of the corpus."""
        view = named.hosted.connection.snapshot.view(named.corpus)
        key = (named.hosted.name, named.corpus)
        with self._lock:
            found = self._kept.get(key)
            if found is None or found.view is not view:
                while len(self._kept) >= MOST_ENGINES:
                    self._kept.pop(next(iter(self._kept)))
                found = self._kept[key] = Opened(view)
        return found


def answer(engines: Engines, data: Fields, work: Interrupt) -> Fields:
    """Return the answer to a request.

    Raises
    ------
    Problem
        400, with the message of the original API.
    """
    fields = {name: value for name, value in data.items() if name not in IGNORED}
    for name in ("query_type", "index"):
        if name not in fields and not (name == "index" and "corpus" in fields):
            raise Problem(400, f"[Flask] Missing required field: '{name}'")
    query_type, index = fields.pop("query_type"), fields.pop("index", None)
    index = fields.pop("corpus", index)
    if ("query" in fields) == ("query_ids" in fields):
        raise Problem(400, "[Flask] Exactly one of query and query_ids must be present!")
    try:
        opened = engines.opened(index if isinstance(index, str) else "")
    except BindError:
        raise Problem(400, f"[Flask] Invalid index: {str(index)[:100]}") from None
    if query_type not in QUERY_TYPES:
        raise Problem(400, f"[Flask] Invalid query_type: {str(query_type)[:100]}")
    query, ids = fields.pop("query", None), fields.pop("query_ids", None)
    unknown = fields.keys() - set(ARGUMENTS)
    if unknown:
        raise Problem(400, f"[Flask] Invalid field: {sorted(unknown)[0][:100]}")
    with work:
        return _processed(opened, query_type, query, ids, fields)


def _processed(opened: Opened, query_type: str, query: Any, ids: Any, arguments: Fields) -> Fields:
    if ids is None:
        if not isinstance(query, str):
            return {"error": "query must be a string!"}
        ids = _ids_of_text(opened, query)
    is_cnf = not _is_ngram(ids)
    if is_cnf and not _is_cnf(ids):
        return {"error": "query_ids must be a list of integers, or a triply-nested list of integers!"}
    largest = opened.engine.token_id_max
    clauses = ids if is_cnf else [[ids]]
    if any(not 0 <= one <= largest for clause in clauses for term in clause for one in term):
        return {"error": "Some item(s) in your query_ids are out-of-range!"}
    started = time.perf_counter()
    result = _asked(opened, query_type, ids, clauses, is_cnf, arguments)
    if "error" in result:
        return result
    result["latency"] = (time.perf_counter() - started) * 1e3
    shown: Any = [[opened.pieces(term) for term in clause] for clause in clauses]
    result["tokens"] = shown if is_cnf else shown[0][0]
    if "token_ids" not in result:  # those of a document are its own
        result["token_ids"] = ids
    return result


def _ids_of_text(opened: Opened, query: str) -> Any:
    """Return the ids of a text, or of its terms by clause if it contains AND or OR."""
    try:
        if " AND " not in query and " OR " not in query:
            return opened.encoded(query)
        clauses = map(_without_parentheses, _without_parentheses(query).split(" AND "))
        terms = (map(_without_parentheses, clause.split(" OR ")) for clause in clauses)
        return [[opened.encoded(term) for term in clause] for clause in terms]
    except InvalidArgument as error:
        raise Problem(400, str(error)) from None


def _without_parentheses(text: str) -> str:
    """Return a part of a CNF without the parentheses around it, which infini-gram's paper writes."""
    inner = text.strip()
    if not _is_enclosed(inner):
        return text
    while _is_enclosed(inner):
        inner = inner[1:-1].strip()
    return inner


def _is_enclosed(text: str) -> bool:
    """Return True if the first parenthesis is closed by the last character."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return place == len(text) - 1 and place > 1
    return False


def _asked(
    opened: Opened, query_type: str, ids: Any, clauses: Any, is_cnf: bool, arguments: Fields
) -> Fields:
    engine = opened.engine
    try:
        if query_type in ("prob", "infgram_prob"):
            return _probability(opened, query_type, ids, is_cnf, arguments)
        if query_type in ("ntd", "infgram_ntd"):
            return _distribution(opened, query_type, ids, is_cnf, arguments)
        if query_type.startswith("get_doc"):
            found = getattr(engine, query_type)(**arguments)
            return (
                found if "error" in found else {**found, "spans": _spans(opened, found["token_ids"], clauses)}
            )
        if is_cnf and not query_type.endswith("_cnf"):
            query_type += "_cnf"
        if not is_cnf and not query_type.endswith("_cnf"):
            named = {name: value for name, value in arguments.items() if not name.startswith("max_clause")}
            named.pop("max_diff_tokens", None)
            found = getattr(engine, query_type)(input_ids=ids, **named)
        else:
            found = getattr(engine, query_type)(cnf=clauses, **arguments)
    except TypeError:
        return {"error": f"{query_type} does not take these fields: {', '.join(sorted(arguments)) or 'none'}"}
    return _with_documents(opened, found, clauses) if "documents" in found else dict(found)


def _probability(opened: Opened, query_type: str, ids: Any, is_cnf: bool, arguments: Fields) -> Fields:
    if is_cnf or not ids:
        return {"error": "Please provide a non-empty query!"}
    found: Fields = getattr(opened.engine, query_type)(prompt_ids=ids[:-1], cont_id=ids[-1], **arguments)
    if "suffix_len" in found:
        found["longest_suffix"] = opened.decoded(ids[len(ids) - 1 - found["suffix_len"] : -1])
    return found


def _distribution(opened: Opened, query_type: str, ids: Any, is_cnf: bool, arguments: Fields) -> Fields:
    if is_cnf:
        return {"error": "query_ids must be a list of integers!"}
    found: Fields = getattr(opened.engine, query_type)(prompt_ids=ids, **arguments)
    if "result_by_token_id" in found:
        tokens = list(found["result_by_token_id"])
        pieces = opened.pieces(tokens)
        for token, piece in zip(tokens, pieces, strict=True):
            found["result_by_token_id"][token]["token"] = piece.replace("Ġ", " ")
    if "suffix_len" in found:
        found["longest_suffix"] = opened.decoded(ids[len(ids) - found["suffix_len"] :])
    return found


def _with_documents(opened: Opened, found: Fields, clauses: Any) -> Fields:
    n = found["cnt"]
    shown = f"{n} occurrences found. Displaying the documents of occurrences #{found['idxs']}"
    documents = [{**one, "spans": _spans(opened, one["token_ids"], clauses)} for one in found["documents"]]
    return {**found, "documents": documents, "message": shown if n else "0 occurrences found"}


def _spans(opened: Opened, tokens: list[int], clauses: Any) -> list[tuple[str, str | None]]:
    """Return the text in pieces, each with the number of the clause that it matches."""
    spans: list[tuple[list[int], str | None]] = [(tokens, None)]
    for number, clause in enumerate(clauses):
        for term in clause:
            if term:
                spans = [part for span in spans for part in _marked(span, term, str(number))]
    return [(opened.decoded(ids), label) for ids, label in spans]


def _marked(
    span: tuple[list[int], str | None], term: list[int], label: str
) -> list[tuple[list[int], str | None]]:
    tokens, known = span
    if known is not None:
        return [span]
    check()
    parts: list[tuple[list[int], str | None]] = []
    start, at, n = 0, 0, len(term)
    while at + n <= len(tokens):
        if tokens[at] == term[0] and tokens[at : at + n] == term:
            if at > start:
                parts.append((tokens[start:at], None))
            parts.append((term, label))
            start = at = at + n
        else:
            at += 1
    if start < len(tokens):
        parts.append((tokens[start:], None))
    return parts


def _is_ngram(ids: Any) -> bool:
    return isinstance(ids, list) and all(type(one) is int for one in ids)


def _is_cnf(ids: Any) -> bool:
    return isinstance(ids, list) and all(
        isinstance(clause, list) and all(_is_ngram(term) for term in clause) for clause in ids
    )


def _end_of(tokenizer: Any) -> int | None:
    """Return the id of the end-of-text token, or None."""
    if tokenizer.kind != "json":
        return None
    for name in ENDS:
        ids = tokenizer.encode(name).tolist()
        if len(ids) == 1 and tokenizer.pieces(ids) == [name]:
            return int(ids[0])
    return None


def _has_blanks_within(tokenizer: Any) -> bool:
    if tokenizer.kind != "json":
        return False
    ids = tokenizer.encode(" the").tolist()
    return bool(ids) and tokenizer.pieces(ids[:1])[0].startswith("Ġ")
