"""Notes on phrases that find nothing, or too little, although the corpus has their text; and on conditions.

Under sub-word tokenizers a text has other tokens after a blank than at the start of a line, and a blank at
its end does not belong to the word before it. The tokens of `"climate change"` may not occur at all, and
those of `" climate change"` often. The phrases of queries are checked if they do not occur, at the cost of
some counts. Those of statements that remove or copy documents are always checked, by all token sequences that
spell the text. Conditions that no document or every document meets are always noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from ngramdb.errors import (
    ConditionWarning,
    ExecutionError,
    PhraseWarning,
    ResourceError,
    TokenBoundaryWarning,
)
from ngramdb.patterns import (
    Doubt,
    FieldText,
    Gram,
    Noted,
    Phrase,
    Slow,
    show_text,
    spells,
    string_to_ids,
)
from ngramdb.patterns import advice as wildcards
from ngramdb.patterns.nodes import INNER_MARK, LIKE_A_PATTERN, QUOTED, SENTENCE_MARKS, has_wildcard
from ngramdb.planner.parameters import near_value
from ngramdb.planner.plan import Plan, show_value
from ngramdb.registries import FILE_TOKENIZERS
from ngramdb.source import Corpus, IntArray

BLANK = " "


class Caution(NamedTuple):
    """A sentence for the reader, and the class of its Python warning; None if it is only a note."""

    message: str
    category: type[UserWarning] | None = TokenBoundaryWarning


def cautions_of(plan: Plan) -> list[Caution]:
    """Return the notes on a plan's phrases, without repetitions."""
    return list(dict.fromkeys(_cautions(plan.phrases, plan.carries_documents)))


def cautions_of_nothing(plan: Plan) -> list[Caution]:
    """Return the notes on the phrases of a plan that found nothing.

    Each may occur alone but not together with the others: then the intended text is more frequent.
    """
    return cautions_of(plan) or list(dict.fromkeys(_cautions(plan.phrases, acts=False, rarer=True)))


def cautions_of_removed(phrases: Iterable[Noted]) -> list[Caution]:
    """Return the notes on the phrases of a condition that selects documents to remove."""
    return list(dict.fromkeys(_cautions(phrases, acts=True)))


def caution_of_difference(corpus: Corpus) -> Caution | None:
    """Warn about a query of documents on A − B if B is not a subset of A; counts are refused there."""
    lacking = corpus.lacking()
    if lacking is None:
        return None
    return Caution(f"{lacking}; those that it has are left out", ConditionWarning)


def caution_of(phrase: Phrase) -> Caution | None:
    """Return the note on one phrase of a query."""
    return next(_cautions((phrase,), acts=False), None)


def _cautions(phrases: Iterable[Noted], acts: bool, rarer: bool = False) -> Iterator[Caution]:
    for phrase in phrases:
        if isinstance(phrase, Doubt):
            yield Caution(phrase.message, ConditionWarning)
            continue
        if isinstance(phrase, Slow):
            yield Caution(phrase.message, None)
            continue
        if isinstance(phrase, FieldText):
            near = near_value(*phrase)
            if near is not None:
                yield Caution(_of_near_value(phrase, near), ConditionWarning)
            continue
        try:
            found = _of(phrase, acts, rarer)
        except ExecutionError:  # the user did not request these counts, so their failure is ignored
            continue
        if found is not None:
            yield found


def _of_near_value(sought: FieldText, near: str) -> str:
    asked, other = show_value(sought.text), show_value(near)
    return f"no document has {sought.path} = {asked}; did you mean {other}?"


def _of(phrase: Phrase, acts: bool, rarer: bool) -> Caution | None:
    text, corpus = phrase.gram.text, phrase.corpus
    if not text or (phrase.is_stored and not rarer):
        return None
    if not phrase.as_text and corpus.tokenizer.kind in FILE_TOKENIZERS:
        said = _of_spellings(phrase) if acts else None
        said = said or (_of_continuation(phrase) if phrase.before else _of_blanks(phrase, rarer))
        if said is None and INNER_MARK.search(text) and not phrase.before:
            said = None if corpus.index.count(phrase.gram.ids) else _of_spellings(phrase)
        if said is not None:
            return Caution(said)
    is_pattern = LIKE_A_PATTERN.match(text) is not None
    quoted = QUOTED.match(text)
    is_sought = phrase.matched is not None or phrase.as_text
    has_marks = SENTENCE_MARKS.search(text) is not None
    is_wildcard = wildcards.reads_as_wildcard(text) and not (is_pattern or quoted)
    in_words = is_sought and corpus.tokenizer.has_own_words and INNER_MARK.search(text) is not None
    if not (is_pattern or quoted or has_marks or is_wildcard or in_words):
        return None
    sought = phrase.gram
    if has_marks and not is_sought:  # a whole passage hardly ever occurs
        sought = _tokens(corpus, SENTENCE_MARKS.findall(text)[0])
    if not has_wildcard(text) and int(corpus.index.count(sought.ids)):
        return None
    if is_pattern:
        return Caution(_of_pattern(text), PhraseWarning)
    if has_marks:
        return Caution(_of_sentence_marks(text, is_sought), PhraseWarning)
    said = _of_marks(phrase.gram, quoted[1], corpus) if quoted else None
    if is_wildcard:
        said = wildcards.note(phrase)
    if said is None and in_words and not phrase.as_text:
        said = _of_parts_of_words(phrase)
    return None if said is None else Caution(said, PhraseWarning)


def _of_spellings(phrase: Phrase) -> str | None:
    """Note a text some of whose occurrences have other tokens."""
    corpus, gram = phrase.corpus, phrase.gram
    if phrase.matched is None or not spells(corpus):
        return None
    try:
        spelled = string_to_ids.spelled_variants(gram.text or "", False, corpus)
    except ResourceError:
        return None
    pairs = zip(spelled.counts, spelled.weights, strict=True)
    total, n = sum(count * weight for count, weight in pairs), int(corpus.index.count(gram.ids))
    if total <= n:
        return None
    share = f"{n:,} of them" if n else "never"
    times = f"{_times(total)} in the texts, parts of words included"
    return f"{gram.shown} occurs {times}, {share} as these tokens; {phrase.matched} finds all"


def _of_blanks(phrase: Phrase, rarer: bool = False) -> str | None:
    """Note a text that occurs only with a blank before it, or without the blank at its end.

    `rarer`: also one that occurs less often as written, or only in other documents than the selected ones.
    """
    corpus, gram = phrase.corpus, phrase.gram
    n_as_written = int(corpus.index.count(gram.ids))
    if n_as_written and not rarer:
        return None
    text = gram.text or ""
    found = _most_frequent(corpus, gram, _other_blanks(text))
    if found is None or (found[1] <= n_as_written and not phrase.narrowed):
        return None
    other, times = found[0], _times(found[1]) + _where(phrase)
    does = "looks for" if phrase.narrowed else "finds"
    advice = f"; {phrase.matched} {does} both" if phrase.matched else ""
    if text.endswith(BLANK):
        return (
            f"{gram.shown} ends in a blank, which is part of the token after it; "
            f"{show_text(other)} occurs {times}"
        )
    return f"{show_text(other)}, with a blank before it, has other tokens and occurs {times}{advice}"


def _of_continuation(phrase: Phrase) -> str | None:
    """Note a continuation that follows its context only with other blanks."""
    corpus, before, gram = phrase.corpus, phrase.before, phrase.gram
    assert before is not None
    if not len(before):
        return _of_blanks(phrase)
    if corpus.index.count([*before.key, *gram.key]):
        return None
    contexts = [before, *(_tokens(corpus, text) for text in _other_blanks(before.text or ""))]
    continuations = [gram, *(_tokens(corpus, text) for text in _other_blanks(gram.text or ""))]
    for context, continuation in product(contexts, continuations):
        n = int(corpus.index.count([*context.key, *continuation.key]))
        if n:
            return (
                f"{gram.shown} never follows {before.shown} as these tokens; {continuation.shown} follows "
                f"{context.shown} {_times(n)}{_where(phrase)}"
            )
    return _of_blanks(phrase._replace(gram=before, before=None)) if before.text else None


def _of_pattern(text: str) -> str:
    said = f"{show_text(text)} is one n-gram, its quotation marks included"
    return f"{said}; for a pattern use ngramdb.pattern(…), or a statement such as KWIC {text.strip()}"


def _of_marks(gram: Gram, inside: str, corpus: Corpus) -> str | None:
    """Note a text in the quotation marks of statements that occurs only without them."""
    found = _most_frequent(corpus, gram, [inside, *_other_blanks(inside)])
    if found is None:
        return None
    plain, n = found
    return f"{gram.shown} has quotation marks in it; without them, {show_text(plain)} occurs {_times(n)}"


def _of_sentence_marks(text: str, is_sought: bool) -> str:
    if not is_sought:
        mark = SENTENCE_MARKS.findall(text)[0]
        return f"{mark} in {show_text(text)} is literal text: sentences begin and end without tokens"
    pieces = [piece for piece in SENTENCE_MARKS.split(text) if piece]
    written = " ".join(piece if SENTENCE_MARKS.fullmatch(piece) else show_text(piece) for piece in pieces)
    said = f"{show_text(text)} is literal text; <s> and </s>, for the ends of sentences,"
    return f"{said} belong outside the quotation marks: {written}"


def _of_parts_of_words(phrase: Phrase) -> str | None:
    """Note a text that occurs only as a part of words, such as `n't` in `don't`."""
    corpus, text = phrase.corpus, phrase.gram.text or ""
    pieces, ids = corpus.tokenizer.split(text), list(phrase.gram.key)
    if phrase.matched is None or len(pieces) != len(ids) or len(pieces) < 2:
        return None
    words = string_to_ids.word_list(corpus.tokenizer)
    ending = words.matching(re.escape(pieces[0].encode()) + b"$").tolist()
    beginning = words.matching(b"^" + re.escape(pieces[-1].encode())).tolist()
    found = [([one, *ids[1:]], one, True) for one in ending] + [
        ([*ids[:-1], one], one, False) for one in beginning
    ]
    flat = np.array([i for key, _, _ in found for i in key], dtype=np.int64)
    counts = corpus.index.count_many(flat, np.arange(len(found) + 1, dtype=np.int64) * len(ids))
    if not counts.any():
        return None
    _, word, is_first = found[int(counts.argmax())]
    plain, whole = corpus.tokenizer.normalized(text).strip(), corpus.tokenizer.token_text(word)
    example = whole + plain[len(pieces[0]) :] if is_first else plain[: len(plain) - len(pieces[-1])] + whole
    return (
        f"{show_text(text)} is matched by whole tokens and does not occur as such, but as a part of words, "
        f"as in {show_text(example)}; {phrase.matched} finds those"
    )


def _other_blanks(text: str) -> list[str]:
    """Return the same text without blanks at its end, and with one before it."""
    plain = text.rstrip(BLANK)
    if not plain:
        return []
    others = [plain] if plain != text else []
    return others if text[0].isspace() else [*others, BLANK + plain]


def _most_frequent(corpus: Corpus, gram: Gram, texts: list[str]) -> tuple[str, int] | None:
    """Return the most frequent of the texts and its count; None if none occurs."""
    best: tuple[str, int] | None = None
    for text in texts:
        ids = _tokens(corpus, text).key
        if ids[-len(gram) :] == gram.key:  # the same, possibly after other tokens
            continue
        n = int(corpus.index.count(ids))
        if n > (best[1] if best else 0):
            best = text, n
    return best


def _tokens(corpus: Corpus, text: str) -> Gram:
    ids: IntArray = corpus.tokenizer.encode(text)
    return Gram(ids, text=text)


def _where(phrase: Phrase) -> str:
    """Return the scope of a count for a note, if the query is limited to a part of the corpus."""
    return " in the whole corpus" if phrase.narrowed else ""


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"
