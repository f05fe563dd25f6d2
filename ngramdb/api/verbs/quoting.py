"""Checking the quotations in a text: found, in another document than cited, patched together, or absent.

A quotation is searched in the stored texts, as an expression in which case, white space, quotation marks and
dashes are folded. So it is found however the corpus is tokenized.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument, PhraseWarning

# Quotation marks in pairs. An apostrophe within a word does not end a quotation.
_QUOTED = re.compile(
    r"“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|「([^「」]+)」|\"([^\"]+)\"|(?<!\w)‘((?:[^‘’]|’(?=\w))+)’(?!\w)"
)
_SINGLE, _DOUBLE, _DASHES = "'‘’‚‛ʼ`´′", '"“”„‟«»″', "-‐‑‒–—―−"
# A dash between words, with or without spaces, apart from a hyphen within a word.
_DASH = re.compile(rf"\s*(?:[‒–—―]|--+)\s*|\s+[{_DASHES}]\s+")
_ANY_DASH = rf"\s*[{_DASHES}]+\s*"
# Left out by the author of the answer.
_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:…|\.\.\.)\s*\]|…|\.\.\.)\s*")
# Punctuation at a quotation's end may belong to the sentence around it.
_EDGE = " \t\r\n,.;:!?…"

FOUND, ELSEWHERE, PATCHED, ABSENT = "found", "elsewhere", "patched", "absent"
# Words of a piece of a quotation that is patched together.
PIECE = 4
# Words that are looked up by their tokens, where white space or case may differ elsewhere in a quotation; how
# many such runs, the rarest ones; occurrences, above which a run is too frequent; and documents that are read
# for each.
RUN, RUNS, MOST_OCCURRENCES, MOST_READ = 4, 3, 64, 8


class Quotation(NamedTuple):
    """A quotation in a text, its characters [start, stop), and the documents that have it.

    Attributes
    ----------
    text : without quotation marks
    status : 'found'; 'elsewhere', in another document than the cited one; 'patched', only in pieces; 'absent'
    documents : documents that have it
    pieces : of one that is patched together, each piece and the first documents that have it
    """

    start: int
    stop: int
    text: str
    status: str
    documents: tuple[int, ...]
    pieces: tuple[tuple[str, tuple[int, ...]], ...]


class _Search:
    """Searches for quotations in a corpus."""

    def __init__(self, corpus: Any, n_documents: int, is_broken: bool) -> None:
        self.corpus = corpus
        self.n_documents = n_documents
        # Texts of documents that something was cut out of do not show where: no match may cross a cut.
        self.reads_texts = not is_broken

    def cited(self, parts: Sequence[str], document: int) -> tuple[int, ...]:
        """Return the document if it has all parts, else nothing."""
        if not self.reads_texts:
            return self._matching(parts, document)
        return (document,) if self._has(document, [expression(part) for part in parts]) else ()

    def documents(self, parts: Sequence[str]) -> tuple[int, ...]:
        """Return documents that have all parts, only ones with some of the same tokens if there are any."""
        if self.reads_texts and self.corpus.tokenizer.kind != "tokens":
            expressions = [expression(part) for part in parts]
            found = [document for document in self._with_tokens(parts[0]) if self._has(document, expressions)]
            if found:
                return tuple(sorted(found)[: self.n_documents])
        return self._matching(parts, None)

    def _with_tokens(self, text: str) -> list[int]:
        """Return documents that have the tokens of a text, or else those of words within it."""
        whole = [ids for ids in map(self.corpus.tokenizer.encode, (text, " " + text)) if len(ids)]
        for ids in whole:
            if self.corpus.count(ids):
                return self._first_documents(ids, self.n_documents)
        words = text.split()
        runs = [" ".join(["", *words[i : i + RUN]]) for i in range(1, len(words) - RUN, 2)]
        encoded = [self.corpus.tokenizer.encode(run) for run in runs]
        counts = [self.corpus.count(ids) for ids in encoded]
        rare = sorted((n, i) for i, n in enumerate(counts) if 0 < n <= MOST_OCCURRENCES)[:RUNS]
        found = [document for _, i in rare for document in self._first_documents(encoded[i], MOST_READ)]
        return list(dict.fromkeys(found))

    def _first_documents(self, ids: Any, most: int) -> list[int]:
        rows = self.corpus.trace(ids, min_length=len(ids), docs=most).fetchall()
        return [document for row in rows for document in row[-1]]

    def _has(self, document: int, expressions: Sequence[str]) -> bool:
        try:
            text = self.corpus.document(document).text
        except InvalidArgument:  # an answer may cite what does not exist
            return False
        return all(re.search(wanted, text, re.IGNORECASE) for wanted in expressions)

    def _matching(self, parts: Sequence[str], document: int | None) -> tuple[int, ...]:
        expressions = [expression(part) for part in parts]
        conditions = ["TEXT ~ ? IGNORE CASE"] * len(expressions)
        values: list[Any] = list(expressions)
        if document is not None:
            conditions.append("doc_id = ?")
            values.append(document)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PhraseWarning)  # of quotations without a rare word
            rows = self.corpus.docs(
                " AND ".join(conditions), params=values, returning=["doc_id"], limit=self.n_documents
            )
            return tuple(row[0] for row in rows.fetchall())


def check(corpus: Any, text: str, document: int | None, n_documents: int, is_broken: bool) -> list[Quotation]:
    """Implement `Corpus.quotations`; is_broken: whether something was cut out of a document."""
    search = _Search(corpus, n_documents, is_broken)
    return [_checked(search, *found, document) for found in quoted(text)]


def quoted(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the quotations of a text: their characters [start, stop), and their text without edges."""
    for match in _QUOTED.finditer(text):
        content = match.group(match.lastindex or 0)
        if re.search(r"\w", content):
            yield match.start(), match.end(), content.strip(_EDGE)


def _checked(search: _Search, start: int, stop: int, text: str, document: int | None) -> Quotation:
    interrupts.check()
    parts = [part for part in _ELLIPSIS.split(text) if re.search(r"\w", part)]
    if document is not None:
        cited = search.cited(parts, document)
        if cited:
            return Quotation(start, stop, text, FOUND, cited, ())
    found = search.documents(parts)
    if found:
        status = FOUND if document is None else ELSEWHERE
        return Quotation(start, stop, text, status, found, ())
    pieces = _pieces(search, text)
    return Quotation(start, stop, text, PATCHED if pieces else ABSENT, (), pieces)


def _pieces(search: _Search, text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return pieces of at least PIECE words that cover a quotation, as long as possible; () if none do.

    Neighbours may overlap, so that the last piece is long enough, too.
    """
    words = _ELLIPSIS.sub(" ", text).split()
    pieces: list[tuple[str, tuple[int, ...]]] = []
    covered = 0
    while covered < len(words):
        for start in range(covered, max(-1, covered - PIECE), -1):
            stop = _longest(search, words, start)
            if stop - start >= PIECE and stop > covered:
                break
        else:
            return ()
        piece = " ".join(words[start:stop])
        pieces.append((piece, search.documents([piece])))
        covered = stop
    return tuple(pieces)


def _longest(search: _Search, words: list[str], start: int) -> int:
    """Return the end of the longest piece from a word on that occurs; its start if that is too short."""

    def occurs(stop: int) -> bool:
        interrupts.check()
        return bool(search.documents([" ".join(words[start:stop])]))

    low, step = start + PIECE, PIECE
    if low > len(words) or not occurs(low):
        return start
    high = len(words) + 1  # too long, or not tried
    while low + 1 < high:
        middle = min(low + step, high - 1)
        if occurs(middle):
            low, step = middle, 2 * step
        else:
            high, step = middle, max(1, (middle - low) // 2)
    return low


def expression(text: str) -> str:
    """Return an expression for a quotation: white space, quotation marks and dashes are folded."""
    text = text.strip()
    parts = [
        r"\s+".join(_of_word(word) for word in part.split()) for part in _DASH.split(text) if part.strip()
    ]
    edges = [r"\b" if re.match(r"\w", character) else "" for character in (text[:1], text[-1:])]
    return edges[0] + _ANY_DASH.join(parts) + edges[1]


def _of_word(word: str) -> str:
    folded = []
    for character in word:
        for alike in (_SINGLE, _DOUBLE, _DASHES):
            if character in alike:
                folded.append(f"[{re.escape(alike)}]")
                break
        else:
            folded.append(re.escape(character))
    return "".join(folded)
