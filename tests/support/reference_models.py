"""The oracle of language models: every formula evaluated over plain dictionaries of n-grams.

A sentence is BEGIN, its tokens, END. Nothing here is fast or clever.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

UNKNOWN, END, BEGIN = -1, -2, -3


class ReferenceCounts:
    """All n-grams of some sentences: the count of each, and the tokens that precede it."""

    def __init__(self, documents):
        self.count = Counter()
        self.lefts = defaultdict(set)
        self.nexts = defaultdict(set)
        self.n_documents = len(documents)
        for document in documents:
            sentence = (BEGIN, *document, END)
            for start in range(len(sentence)):
                for stop in range(start + 1, len(sentence) + 1):
                    ngram = sentence[start:stop]
                    self.count[ngram] += 1
                    if start > 0:
                        self.lefts[ngram].add(sentence[start - 1])
                    self.nexts[ngram[:-1]].add(ngram[-1])
        self.nexts[()].discard(BEGIN)
        self.types = sorted(token for token in self.nexts[()] if token >= 0)
        self.n_tokens = sum(map(len, documents))
        # Sentences' ends are tokens, their beginnings are not.
        self.count[()] = self.n_tokens + self.n_documents


def discounts(t1, t2, t3, t4):
    """Return Chen & Goodman's D1, D2, D3+, or None if they cannot be estimated."""
    if t1 == 0 or t2 == 0 or t3 == 0:
        return None
    y = t1 / (t1 + 2 * t2)
    found = (1 - 2 * y * t2 / t1, 2 - 3 * y * t3 / t2, 3 - 4 * y * t4 / t3)
    return found if all(0 <= d <= k for k, d in enumerate(found, start=1)) else None


class ReferenceKneserNey:
    """Interpolated modified Kneser-Ney, level by level."""

    def __init__(self, documents, order=None, max_length=10, min_count=1):
        self.c = ReferenceCounts(documents)
        self.order, self.max_length, self.min_count = order, max_length, min_count
        self.v = len(self.c.types) + 2

    def adjusted(self, ngram):
        if ngram == (BEGIN,):
            return 0
        if ngram[0] == BEGIN or len(ngram) == self.order:
            return self.c.count[ngram]
        return len(self.c.lefts[ngram])

    def counts_of_counts(self, length, raw=False):
        t = [0, 0, 0, 0]
        for ngram in list(self.c.count):
            if len(ngram) == length and ngram != (BEGIN,):
                # Without a limit on order, and below the limit, n-grams of the length have left neighbours.
                number = self.c.count[ngram] if raw or ngram[0] == BEGIN else len(self.c.lefts[ngram])
                if 1 <= number <= 4:
                    t[number - 1] += 1
        return t

    def discounts(self, length):
        """Return 0.5, 1, 1.5 if they cannot be estimated; beyond max_length the last estimated ones."""
        raw = length == self.order
        lengths = [length] if length <= self.max_length else range(self.max_length, 0, -1)
        found = (discounts(*self.counts_of_counts(n, raw=raw)) for n in lengths)
        return next((estimated for estimated in found if estimated is not None), (0.5, 1.0, 1.5))

    def p(self, token, context):
        """P(token | context), a tuple."""
        if self.order is not None:
            context = context[len(context) - min(len(context), self.order - 1) :]
        shorter = 1 / self.v if not context else self.p(token, context[1:])
        if context and self.c.count[context] < self.min_count:
            return shorter
        successors = {w: self.adjusted((*context, w)) for w in self.c.nexts[context]}
        total = sum(successors.values())
        if total == 0:
            return shorter
        d = self.discounts(len(context) + 1)
        here = rest = 0.0
        for w, number in successors.items():
            discount = d[min(number, 3) - 1] if self.kept((*context, w)) else number
            rest += discount
            if w == token:
                here = number - discount
        return here / total + rest / total * shorter

    def kept(self, ngram):
        return self.c.count[ngram] >= self.min_count

    def matched(self, token, context):
        """Return the length of the longest n-gram that ends with the token, at least 1."""
        longest = len(context) if self.order is None else min(len(context), self.order - 1)
        for length in range(longest, 0, -1):
            if self.kept((*context[len(context) - length :], token)):
                return length + 1
        return 1


class ReferenceWittenBell(ReferenceKneserNey):
    """Interpolated Witten-Bell, level by level, by occurrences."""

    def p(self, token, context):
        if self.order is not None:
            context = context[len(context) - min(len(context), self.order - 1) :]
        shorter = 1 / self.v if not context else self.p(token, context[1:])
        if context and self.c.count[context] < self.min_count:
            return shorter
        successors = {w: self.c.count[(*context, w)] for w in self.c.nexts[context]}
        kept = {w: count for w, count in successors.items() if self.kept((*context, w))}
        pruned = sum(successors.values()) - sum(kept.values())
        total = sum(successors.values()) + len(kept)
        return (kept.get(token, 0) + (len(kept) + pruned) * shorter) / total if total else shorter


class ReferencePitmanYor(ReferenceKneserNey):
    """The same with concentrations. levels: discounts and concentrations, as the kernel takes them."""

    def __init__(self, documents, order, levels, min_count=1):
        super().__init__(documents, order, min_count=min_count)
        self.levels = levels

    def p(self, token, context):
        if self.order is not None:
            context = context[len(context) - min(len(context), self.order - 1) :]
        shorter = 1 / self.v if not context else self.p(token, context[1:])
        if context and self.c.count[context] < self.min_count:
            return shorter
        successors = {w: self.adjusted((*context, w)) for w in self.c.nexts[context]}
        total = sum(successors.values())
        if total == 0:
            return shorter
        kept = [w for w, number in successors.items() if number and self.kept((*context, w))]
        level = self.levels[min(len(context) + 1, len(self.levels)) - 1]
        *d, concentration, _ = level[:5] if len(kept) == 1 else level[5:]
        here, rest = 0.0, concentration
        for w, number in successors.items():
            discount = d[min(number, 3) - 1] if w in kept else number
            rest += discount
            if w == token:
                here = number - discount
        return (here + rest * shorter) / (total + concentration)


class ReferenceSkipKneserNey(ReferenceKneserNey):
    """Kneser-Ney over contexts with gaps: sets of pairs (distance to the next token, token)."""

    def __init__(self, documents, order, farthest, max_length=10):
        super().__init__(documents, order, max_length)
        self.farthest = farthest
        self.fillings = defaultdict(lambda: defaultdict(set))
        for number, document in enumerate(documents):
            sentence = (BEGIN, *document, END)
            for at in range(1, len(sentence)):
                for kept in self.patterns(range(1, min(at, order - 1) + 1)):
                    context = frozenset((d, sentence[at - d]) for d in kept)
                    self.fillings[context][sentence[at]].add(self.filling(sentence, number, at, kept))

    @staticmethod
    def patterns(distances):
        return [kept for n in range(1, len(distances) + 1) for kept in combinations(distances, n)]

    def filling(self, sentence, number, at, kept):
        begins = sentence[at - kept[-1]] == BEGIN
        if len(kept) == self.order - 1 or (begins and len(kept) == kept[-1]):
            return number, at  # by occurrences
        gaps = tuple(sentence[at - d] for d in range(1, kept[-1]) if d not in kept)
        return gaps if begins else (*gaps, sentence[at - kept[-1] - 1])

    def pattern_discounts(self, kept):
        t = [0, 0, 0, 0]
        for context, successors in self.fillings.items():
            if tuple(sorted(d for d, _ in context)) == kept:
                for found in successors.values():
                    if len(found) <= 4:
                        t[len(found) - 1] += 1
        return discounts(*t) or (0.5, 1.0, 1.5)

    def p(self, token, context):
        """P(token | context), a tuple."""
        kept = {d: symbol for d, symbol in enumerate(reversed(context), 1) if d < self.order}
        if BEGIN in context:
            kept = {d: symbol for d, symbol in kept.items() if BEGIN not in context[len(context) - d + 1 :]}
        return self.after(token, kept)

    def after(self, token, kept):
        if not kept:
            return super().p(token, ())
        shorter = 0.0
        for d in kept:
            share = 1.0 if len(kept) == 1 else 1 / (self.farthest + 1) / (len(kept) - 1)
            if len(kept) > 1 and d == max(kept):
                share = self.farthest / (self.farthest + 1)
            shorter += share * self.after(token, {e: symbol for e, symbol in kept.items() if e != d})
        successors = self.fillings.get(frozenset(kept.items()))
        if not successors:
            return shorter
        of_pattern = self.pattern_discounts(tuple(sorted(kept)))
        numbers = {w: len(found) for w, found in successors.items()}
        total = sum(numbers.values())
        rest = sum(of_pattern[min(number, 3) - 1] for number in numbers.values())
        number = numbers.get(token, 0)
        here = number - of_pattern[min(number, 3) - 1] if number else 0.0
        return here / total + rest / total * shorter


class ReferenceKatz:
    """Katz backoff, level by level."""

    def __init__(self, documents, order, max_length=10):
        self.c, self.order, self.max_length = ReferenceCounts(documents), order, max_length

    def discount(self, count, length):
        length = min(length, self.max_length)
        lengths = (n for ngram, n in self.c.count.items() if len(ngram) == length and ngram != (BEGIN,))
        t = Counter(lengths)
        if count > 3 or t[1] == 0 or 4 * t[4] >= t[1]:
            return 1.0
        x = 4 * t[4] / t[1]
        found = ((count + 1) * t[count + 1] / (count * t[count]) - x) / (1 - x)
        return found if 0 < found <= 1 else 1.0

    def shares(self, context):
        """Return the discounted shares of what follows, and the rest."""
        numbers = {w: self.c.count[(*context, w)] for w in self.c.nexts[context]}
        total = sum(numbers.values())
        kept = {w: n * self.discount(n, len(context) + 1) for w, n in numbers.items()}
        rest = total - sum(kept.values())
        if rest < 1e-9 * max(1, total):
            rest, total = 1, total + 1
        return {w: n / total for w, n in kept.items()}, rest / total

    def p(self, token, context):
        """P(token | context), a tuple."""
        context = context[len(context) - min(len(context), self.order - 1) :]
        if context and not self.c.nexts[context]:
            return self.p(token, context[1:])
        shares, rest = self.shares(context)
        if token in shares:
            return shares[token]
        if not context:
            return rest
        return rest / (1 - sum(self.p(w, context[1:]) for w in shares)) * self.p(token, context[1:])


# For stupid backoff: the smallest normal double.
LEAST_SCORE = 2.0**-1022


def reference_backoff(documents, token, context, order=None, weight=0.4):
    """Stupid backoff; without an order, from the longest suffix of the context that occurs. An unknown word
    has 0.4^100 for its share of the corpus.
    """
    counts = ReferenceCounts(documents)
    if order is not None:
        context = context[len(context) - min(len(context), order - 1) :]
    else:
        while context and not counts.count[context]:
            context = context[1:]
    factor = 1.0
    while context:
        if counts.count[(*context, token)]:
            return max(factor * counts.count[(*context, token)] / counts.count[context], LEAST_SCORE)
        context, factor = context[1:], factor * weight
    if token == BEGIN or not counts.count[(token,)]:
        return max(factor * 0.4**100, LEAST_SCORE)
    return max(factor * counts.count[(token,)] / counts.count[()], LEAST_SCORE)
