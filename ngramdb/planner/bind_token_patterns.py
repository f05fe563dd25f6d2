"""Binding patterns over tokens: `"the" * /wom[ae]n/`, `("big" | "large"){1,2} "house"`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ngramdb import interrupts
from ngramdb.diacritics import JOINERS, Spelling, unmarked
from ngramdb.errors import InvalidArgument, PlanError, ResourceError
from ngramdb.fork_safety import cached_property
from ngramdb.language import ast
from ngramdb.patterns import (
    SINGLE,
    Gram,
    Noted,
    Pattern,
    Phrase,
    Simple,
    StoredText,
    StoredWords,
    TokenPattern,
    Variants,
    gives_pieces,
    programs,
    same_letters,
    show_ids,
    show_text,
    token_regex,
)
from ngramdb.patterns.advice import Compared, after_prefix, in_words, of_expression
from ngramdb.planner.scope import Scope, require_sentences
from ngramdb.source import Corpus, IntArray

_NGRAMS = (ast.Text, ast.TokenIds, ast.Parameter)

# Binds a single n-gram. A parameter, since its module calls this one.
NgramBinder = Callable[[Scope, Any, Corpus], Simple]


@dataclass(frozen=True)
class Manner:
    """The matching of the n-grams and expressions of a part."""

    text: bool | None = None
    ignore_case: bool = False
    ignore_diacritics: bool = False


def is_ngram(node: ast.Matching) -> bool:
    """Return True if it is an n-gram that is matched like a single n-gram."""
    return isinstance(node.ngram, _NGRAMS) and not (node.prefix or node.ignore_diacritics)


def token_pattern(scope: Scope, node: ast.Pattern, corpus: Corpus, ngram: NgramBinder) -> Pattern:
    """Return a pattern bound to a corpus: one or several n-grams, if that is possible, else a program.

    Raises
    ------
    PlanError
        A part that the corpus's tokenizer does not support; a pattern that matches without any token.
    """
    binding = _Binding(scope, corpus, ngram, node)
    shape = binding.whole(node, Manner())
    written = binding.written(node)
    if not token_regex.can_occur(shape):
        return Variants(written, (), ())
    if binding.letters is not None:
        return programs.of_words(shape, written, binding.letters, binding.notes, corpus)
    listed = token_regex.listed(shape, programs.MAX_LISTED)
    if listed is not None:
        return programs.of_ngrams(listed, written, corpus)
    return programs.of_tokens(shape, written, binding.notes, corpus)


def program(
    scope: Scope, node: ast.Pattern, corpus: Corpus, ngram: NgramBinder, ignore_case: bool
) -> StoredWords | TokenPattern:
    """Return a pattern as a program, even if it is a plain n-gram; n-grams of any origin can be matched."""
    binding = _Binding(scope, corpus, ngram, node)
    shape = binding.whole(node, Manner(ignore_case=ignore_case))
    if token_regex.has_edges(shape):
        scope.fail(PlanError, "n-grams in isolation have no sentences: omit <s> and </s>", node)
    written = binding.written(node)
    if binding.letters is not None:
        return programs.of_words(shape, written, binding.letters, binding.notes, corpus)
    return programs.of_tokens(shape, written, binding.notes, corpus)


class _Binding:
    """One pattern, bound to a corpus; `notes` are about its expressions.

    If it has parts that match words, and tokens do not spell the text, all of it is about words of stored
    texts: `letters`, whose numbers replace token ids in its shape. Otherwise `letters` is None.
    """

    def __init__(self, scope: Scope, corpus: Corpus, ngram: NgramBinder, node: ast.Pattern) -> None:
        self._scope = scope
        self._corpus = corpus
        self._ngram = ngram
        self.notes: list[str] = []
        self.letters: programs.Letters | None = None
        self._is_alone = isinstance(node.ngram if isinstance(node, ast.Matching) else node, _NGRAMS)
        tokenizer = corpus.tokenizer
        if gives_pieces(tokenizer) and tokenizer.token_bytes is None and _speaks_of_words(node):
            self.letters = programs.Letters()
            if not tokenizer.lossless and not all(segment.has_texts for segment in corpus.segments):
                name = corpus.entry.name
                what = f"{self.written(node)} needs the texts of the documents, and {name} has only token ids"
                scope.fail(PlanError, what, node)

    def whole(self, node: ast.Pattern, manner: Manner) -> token_regex.Shape:
        """Return the shape of a whole pattern, which must take at least one token."""
        shape = self.shape(node, manner)
        if token_regex.widths(shape)[0] == 0:
            what = "this pattern can match without any token: one of its parts must occur at least once"
            self._scope.fail(PlanError, what, node)
        if token_regex.size(shape) > token_regex.MAX_STEPS:
            what = f"this pattern is too long: at most {token_regex.MAX_STEPS:,} tokens and repetitions"
            self._scope.refuse(what, node)
        return shape

    def shape(self, node: ast.Pattern, manner: Manner) -> token_regex.Shape:
        """Return the regular expression over token ids for a part of the language."""
        interrupts.check()
        if isinstance(node, ast.Matching):
            return self._matching(node, manner)
        if isinstance(node, ast.Repeated):
            part = self.shape(node.part, manner)
            is_gap = isinstance(node.part, ast.AnyToken)
            return token_regex.Times(part, node.times.low, node.times.high, greedy=not is_gap)
        if isinstance(node, ast.Group):
            self._doubt_case(node.alternatives, manner)
            return token_regex.choice([self.shape(item, manner) for item in node.alternatives])
        if isinstance(node, (ast.Sequence, ast.Gapped)):
            return self._series(node, manner)
        if isinstance(node, ast.AnyToken):
            return token_regex.OneOf(None)
        if isinstance(node, ast.RawText):
            what = "TEXT ~ is searched for in texts, not in tokens: it stands alone, without MATCH TEXT"
            self._scope.fail(PlanError, f"{what} or IGNORE CASE; write (?i) in the expression", node)
        if isinstance(node, ast.SentenceEdge):
            require_sentences(self._scope, node, self._corpus)
            return token_regex.Edge(node.ends)
        if isinstance(node, ast.Regex):
            return self._expression(node, manner)
        return self._of_ngram(node, manner)

    def _matching(self, node: ast.Matching, manner: Manner) -> token_regex.Shape:
        inner = Manner(
            manner.text if node.text is None else node.text,
            manner.ignore_case or node.ignore_case,
            manner.ignore_diacritics or node.ignore_diacritics,
        )
        is_text = isinstance(node.ngram, _NGRAMS)
        if isinstance(node.ngram, ast.AnyToken):
            self._scope.fail(PlanError, "* matches any token in any spelling: omit this", node)
        if isinstance(node.ngram, ast.SentenceEdge):
            self._scope.fail(PlanError, "this is a position between tokens, not a token: omit this", node)
        if node.prefix:
            if not is_text:
                self._scope.fail(PlanError, 'PREFIX must follow an n-gram: "clim" PREFIX', node)
            return self._words(node.ngram, inner, node, prefix=True)
        return self.shape(node.ngram, inner)

    def _series(self, node: ast.Sequence | ast.Gapped, manner: Manner) -> token_regex.Shape:
        self._doubt_case(node.parts, manner)
        parts = [self.shape(node.parts[0], manner)]
        for gap, part in zip(node.gaps, node.parts[1:], strict=True):
            if gap is not None:
                parts.append(token_regex.Times(token_regex.OneOf(None), gap.low, gap.high, greedy=False))
            parts.append(self.shape(part, manner))
        return token_regex.series(parts)

    def _doubt_case(self, items: Sequence[ast.Node], manner: Manner) -> None:
        if not manner.ignore_case:
            self._scope.doubt_case(items, self._corpus)

    # ---- leaves

    def _of_ngram(self, node: ast.Ngram, manner: Manner) -> token_regex.Shape:
        if manner.ignore_diacritics or self.letters is not None:
            return self._words(node, manner, node, prefix=False)
        plain = manner.text is None and not manner.ignore_case
        asked = node if plain else ast.Matching(node, manner.text, manner.ignore_case, span=node.span)
        phrases = self._scope.phrases
        n_before = len(phrases)
        found = self._ngram(self._scope, asked, self._corpus)
        phrases[n_before:] = map(self._joined, phrases[n_before:])
        if isinstance(found, Gram):
            if not len(found):
                self._scope.fail(
                    PlanError, "a part of a pattern needs at least one token; write * for any token", node
                )
            return programs.as_shape(found)
        if isinstance(found, StoredText) or set(found.weights) - {1}:
            tokenizer = self._corpus.tokenizer
            joins = tokenizer.has_own_words or tokenizer.token_bytes is not None
            why = (
                "MATCH TEXT finds pieces of words here, and this needs whole tokens"
                if self._is_alone
                else "MATCH TEXT finds pieces of words here, which cannot be joined with other parts"
            )
            advice = "write MATCH TOKENS" + (", or a regular expression such as /.*ing/" if joins else "")
            self._scope.fail(PlanError, f"{why}: {advice}", node)
        if not found.grams:
            return token_regex.OneOf(np.empty(0, dtype=np.int64))
        return token_regex.choice(list(map(programs.as_shape, found.grams)))

    def _joined(self, phrase: Noted) -> Noted:
        """Return a phrase with words that match it beside other parts, since MATCH TEXT is rejected there."""
        if not isinstance(phrase, Phrase) or phrase.matched is None:
            return phrase
        tokenizer, text = self._corpus.tokenizer, phrase.gram.text or ""
        words = in_words(text, tokenizer) if gives_pieces(tokenizer) else None
        return phrase._replace(matched=words or None)

    def _words(self, node: Any, manner: Manner, whole: ast.Node, prefix: bool) -> token_regex.Shape:
        """Match an n-gram by words, ignoring case or diacritics; with `prefix`, the last word is a prefix."""
        tokenizer = self._corpus.tokenizer
        kind = tokenizer.kind
        by_tokens = self._by_tokens(manner, whole)
        value = self._scope.value_of(node)
        what = "an n-gram beside words of the text"
        if prefix or manner.ignore_diacritics:
            what = "PREFIX" if prefix else "IGNORE DIACRITICS"
        if not isinstance(value, str):
            self._scope.fail(PlanError, f"{what} takes text, not token ids", whole)
        by_text = gives_pieces(tokenizer) and not by_tokens
        by_pieces = by_tokens and not tokenizer.has_own_words and kind not in SINGLE
        by_words = tokenizer.has_own_words or by_text or by_pieces
        self._require_letters(manner, whole)
        if not by_words and (prefix or kind not in SINGLE):
            text = f"{what} needs the tokenizer `words`; {self._corpus.entry.name} has {_others(kind)}"
            self._scope.fail(PlanError, text, whole)
        if manner.text:
            self._scope.fail(
                PlanError, f"{what} applies to whole words, and MATCH TEXT to parts of them", whole
            )
        if manner.text is None:  # of the setting only this has a meaning for whole words
            manner = replace(manner, ignore_case=manner.ignore_case or self._scope.matching().ignore_case)
        self._scope.check_unicode(value, node)
        if prefix:
            self._scope.doubt(after_prefix(value))
        split = tokenizer.split_unfinished if prefix else tokenizer.split
        if by_pieces:
            pieces = self._compared_texts(value, manner, whole, prefix)
        else:
            pieces = tokenizer.words_of(value) if by_text else split(value)
        if not pieces:
            self._scope.fail(
                PlanError, "a part of a pattern needs at least one token; write * for any token", node
            )
        if (
            prefix
            and len(pieces) > 1
            and JOINERS.issuperset(pieces[-1])
            and value.endswith("".join(pieces[-2:]))
        ):
            # A joiner belongs to the word before it only if letters follow.
            pieces[-2:] = ["".join(pieces[-2:])]
        if self.letters is not None and not (prefix or manner.ignore_case or manner.ignore_diacritics):
            return token_regex.series([self.letters.one_of([piece.encode()]) for piece in pieces])
        if manner.ignore_diacritics:
            pieces = [unmarked(piece) for piece in pieces]
            if kind == "chars":  # without combining marks, unless there are no letters
                pieces = list(filter(None, pieces)) or pieces[:1]
        spellings = [_spelling(piece, manner.ignore_case) for piece in pieces]
        spellings[-1] = spellings[-1]._replace(is_prefix=prefix)
        exactly = replace(manner, ignore_case=False)
        if by_text:
            written = self.written(node) + (" PREFIX" if prefix else "") + _modifiers(manner)
            return self._text_words(spellings, exactly, whole, written)
        found = [self._set(spelling, exactly, whole) for spelling in spellings]
        self._note(self.written(node) + (" PREFIX" if prefix else "") + _modifiers(manner), found[-1])
        return token_regex.series([self._with_marks(one, manner) for one in found])

    def _require_letters(self, manner: Manner, node: ast.Node) -> None:
        if manner.ignore_diacritics and self._corpus.tokenizer.kind == "bytes":
            text = (
                f"IGNORE DIACRITICS compares letters, and the tokens of {self._corpus.entry.name} are bytes: "
                "load it with the tokenizer `words` or `chars`"
            )
            self._scope.fail(PlanError, text, node)

    def _with_marks(self, letter: token_regex.OneOf, manner: Manner) -> token_regex.Shape:
        """Return a token, followed by combining marks if these are ignored and are tokens themselves."""
        if not manner.ignore_diacritics or self._corpus.tokenizer.kind != "chars" or not len(self._marks):
            return letter
        marks = token_regex.Times(token_regex.OneOf(self._marks), 0, None, greedy=True)
        return token_regex.series([letter, marks])

    @cached_property
    def _marks(self) -> IntArray:
        """The combining marks that occur in the corpus; its tokens are characters."""
        marks = self._corpus.tokenizer.matching(Spelling(()), False, True)
        counts = self._corpus.index.count_many(marks, np.arange(len(marks) + 1))
        return marks[counts > 0]

    def _by_tokens(self, manner: Manner, node: ast.Node) -> bool:
        """Return True under MATCH TOKENS; reject it if other parts are about words of the text."""
        by_tokens = manner.text is False and self._corpus.tokenizer.kind != "tokens"
        if by_tokens and self.letters is not None:
            what = "MATCH TOKENS is about tokens, and other parts of the pattern are about words"
            self._scope.fail(
                PlanError,
                f"{what}: write MATCH TOKENS after each expression, PREFIX and IGNORE DIACRITICS",
                node,
            )
        return by_tokens

    def _compared_texts(self, value: str, manner: Manner, node: ast.Node, prefix: bool) -> list[str]:
        """Return the texts of an n-gram's tokens; with `prefix`, joined into one that begins a token."""
        from ngramdb.patterns import string_to_ids

        tokenizer = self._corpus.tokenizer
        texts = string_to_ids.compared_texts(value, tokenizer)
        if not prefix or len(texts) < 2:
            return texts
        spelled = "".join(texts).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        sought = unmarked(spelled) if manner.ignore_diacritics else spelled
        beginning = _spelling(sought, manner.ignore_case)._replace(is_prefix=True)
        if not len(tokenizer.matching(beginning, False, manner.ignore_diacritics)):
            shown = " ".join(map(show_text, tokenizer.token_texts(tokenizer.encode(value))))
            what = (
                f"no token of the vocabulary begins with {show_text(value)}, which is {shown}: PREFIX "
                "MATCH TOKENS takes the beginning of one token; leave MATCH TOKENS out for that of a word"
            )
            self._scope.fail(PlanError, what, node)
        return [spelled]

    def _expression(self, node: ast.Regex, manner: Manner) -> token_regex.Shape:
        tokenizer = self._corpus.tokenizer
        kind = tokenizer.kind
        by_tokens = self._by_tokens(manner, node)
        by_text = gives_pieces(tokenizer) and not by_tokens
        if not tokenizer.has_own_words and kind not in SINGLE and not by_text and not by_tokens:
            text = (
                f"a regular expression is matched against whole words, and {self._corpus.entry.name} has "
                f"{_others(kind)}: load it with the tokenizer `words`"
            )
            self._scope.fail(PlanError, text, node)
        if manner.text:
            self._scope.fail(PlanError, "a regular expression is matched against whole tokens", node)
        self._require_letters(manner, node)
        written = self.written(node) + _modifiers(manner)
        if by_text:
            words = self._text_words([node.expression], manner, node, written)
            self._doubt(node.expression, manner, own_tokens=False)
            return words
        found = self._set(node.expression, manner, node)
        self._note(written, found)
        self._doubt(
            node.expression, manner, own_tokens=True, occurs=found.ids is not None and len(found.ids) > 0
        )
        return self._with_marks(found, manner)

    def _doubt(self, expression: str, manner: Manner, own_tokens: bool, occurs: bool = False) -> None:
        """Warn that an expression, or one of its alternatives, matches nothing in any corpus."""
        compared = Compared(self._corpus.tokenizer, own_tokens, manner.ignore_case)
        said = of_expression(
            unmarked(expression) if manner.ignore_diacritics else expression, compared, occurs
        )
        if said is not None and not own_tokens:
            said += "; MATCH TOKENS after it compares it with the corpus's own tokens"
        self._scope.doubt(said)

    def _set(self, expression: str | Spelling, manner: Manner, node: ast.Node) -> token_regex.OneOf:
        try:
            return token_regex.OneOf(
                self._corpus.tokenizer.matching(expression, manner.ignore_case, manner.ignore_diacritics)
            )
        except (InvalidArgument, ResourceError) as error:
            self._scope.refuse(str(error), node, error)

    def _text_words(
        self, expressions: Sequence[str | Spelling], manner: Manner, node: ast.Node, written: str
    ) -> token_regex.Shape:
        """Match consecutive words of the text with one expression each."""
        tokenizer, segments = self._corpus.tokenizer, self._corpus.segments
        try:
            found = [
                tokenizer.words_matching(segments, expression, manner.ignore_case, manner.ignore_diacritics)
                for expression in expressions
            ]
        except (InvalidArgument, ResourceError) as error:
            self._scope.refuse(str(error), node, error)
        lists = tuple(some.words for some in found)
        self.notes.append(f"{written}: {programs.counted_words(lists[-1])}")
        if self.letters is not None:
            return token_regex.series([self.letters.one_of(programs.split(words)) for words in lists])
        return token_regex.Words(lists, *found[0].sequences)

    def _note(self, written: str, found: token_regex.OneOf) -> None:
        assert found.ids is not None
        n = len(found.ids)
        texts = map(show_text, self._corpus.tokenizer.token_texts(found.ids[: programs.SHOWN_TOKENS]))
        shown = ", ".join(texts) + (", …" if n > programs.SHOWN_TOKENS else "")
        self.notes.append(f"{written}: {n:,} token{'' if n == 1 else 's'}" + (f" ({shown})" if n else ""))

    # ---- as it is written

    def written(self, node: ast.Pattern) -> str:
        """Return the pattern as the language writes it, with the values of its parameters."""
        if isinstance(node, ast.Matching):
            manner = Manner(node.text, node.ignore_case, node.ignore_diacritics)
            return self.written(node.ngram) + (" PREFIX" if node.prefix else "") + _modifiers(manner)
        if isinstance(node, ast.Repeated):
            low, high = node.times.low, node.times.high
            times = f"{low}" if low == high else f"{low},{'' if high is None else high}"
            return f"{self.written(node.part)}{{{times}}}"
        if isinstance(node, ast.Group):
            return f"({' | '.join(map(self.written, node.alternatives))})"
        if isinstance(node, (ast.Sequence, ast.Gapped)):
            pieces = [self.written(node.parts[0])]
            for gap, part in zip(node.gaps, node.parts[1:], strict=True):
                pieces += [] if gap is None else [f"[{gap.low}..{gap.high}]"]
                pieces.append(self.written(part))
            return " ".join(pieces)
        if isinstance(node, ast.AnyToken):
            return "*"
        if isinstance(node, ast.SentenceEdge):
            return "</s>" if node.ends else "<s>"
        if isinstance(node, ast.Regex):
            return f"/{node.expression}/"
        assert not isinstance(node, ast.RawText), "no part of a pattern has one"
        value = self._scope.value_of(node)
        return show_text(value) if isinstance(value, str) else show_ids(np.asarray(value))


def _speaks_of_words(node: ast.Pattern, by_tokens: bool = False) -> bool:
    """Return True if a pattern has PREFIX, IGNORE DIACRITICS or an expression without MATCH TOKENS."""
    if isinstance(node, ast.Matching):
        by_tokens = by_tokens if node.text is None else not node.text
        by_word = (node.prefix or node.ignore_diacritics) and not by_tokens
        return by_word or _speaks_of_words(node.ngram, by_tokens)
    if isinstance(node, ast.Repeated):
        return _speaks_of_words(node.part, by_tokens)
    if isinstance(node, ast.Group):
        return any(_speaks_of_words(item, by_tokens) for item in node.alternatives)
    if isinstance(node, (ast.Sequence, ast.Gapped)):
        return any(_speaks_of_words(item, by_tokens) for item in node.parts)
    return isinstance(node, ast.Regex) and not by_tokens


def _spelling(word: str, ignore_case: bool) -> Spelling:
    return Spelling(tuple(map(same_letters, word)) if ignore_case else tuple(word))


def _modifiers(manner: Manner) -> str:
    text = "" if manner.text is None else " MATCH TEXT" if manner.text else " MATCH TOKENS"
    case = " IGNORE CASE" if manner.ignore_case else ""
    return text + case + (" IGNORE DIACRITICS" if manner.ignore_diacritics else "")


def _others(kind: str) -> str:
    """Return the kind of a tokenizer's tokens, other than words."""
    return {"chars": "characters", "bytes": "bytes", "tokens": "token ids without a text"}.get(
        kind, "pieces of words"
    )
