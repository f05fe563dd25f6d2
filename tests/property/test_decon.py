"""The measure `decon` against its formula, computed one n-gram at a time."""

from __future__ import annotations

import json
import random
from collections import Counter
from math import log

import pytest
from support.subwords import write_tokenizer

import ngramdb
from ngramdb.curation import items as curation_items


def ngrams(tokens, n):
    size = min(n, len(tokens))
    return [tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)] if tokens else []


class Weighted:
    """Weights of the n-grams of texts, as in `calculate_question_idf_overlap`."""

    def __init__(self, texts, n, n_items):
        self.found = Counter(ngram for text in texts for ngram in set(ngrams(text, n)))
        self.n, self.n_items = n, n_items

    def share(self, text, seen):
        own = set(ngrams(text, self.n))
        weights = {ngram: log(self.n_items / self.found[ngram]) for ngram in own}
        if sum(weights.values()) < 1e-9:
            weights = dict.fromkeys(own, 1.0)
        return sum(weights[ngram] for ngram in own & set(seen)) / sum(weights.values())


def required(length, threshold):
    if length <= 20:
        return 1.0
    return threshold if length >= 50 else 1 - (1 - threshold) * (length - 20) / 30


class Formula:
    def __init__(self, items, threshold):
        n = len(items)
        self.items, self.threshold = items, threshold
        self.questions = Weighted([question for question, _, _ in items], 5, n)
        self.answers = Weighted([answer for _, answer, _ in items], 3, n)
        self.passages = Weighted([passage for _, _, passage in items], 4, n)

    def value(self, k, document):
        """The score of item k in a document given as pieces between breaks; None without any n-gram of it."""
        question = self.items[k][0]
        if len(question) < 5:
            return None
        known = set(ngrams(question, 5))
        hits = [i for i in range(len(document) - 4) if tuple(document[i : i + 5]) in known]
        clusters = []
        for i in hits:
            if clusters and i - clusters[-1][-1] <= 11:
                clusters[-1].append(i)
            else:
                clusters.append([i])
        return max((self.score(k, document, cluster) for cluster in clusters), default=None)

    def score(self, k, document, cluster):
        question, answer, passage = self.items[k]
        share = self.questions.share(question, [tuple(document[i : i + 5]) for i in cluster])
        weights = self.weights(len(set(ngrams(question, 5))), len(set(answer)), passage)
        if self.threshold:
            least = required(len(question), max((self.threshold - 0.3) / 0.7, 0))
            if share < least - 1e-9:
                return min(weights[0] * share, self.threshold * share / least)
        start, stop = cluster[0], cluster[-1] + 5
        stop -= max(stop - start - len(question), 0)
        score = weights[0] * share
        if answer:
            score += weights[1] * self.answered(answer, document[stop:])
        if passage:
            score += weights[2] * self.preceded(passage, document[:start])
        if score > 1 - 1e-9:
            return 1.0
        if not self.threshold:
            return score
        return (
            score * self.threshold / required(len(question) + len(set(answer)) + len(passage), self.threshold)
        )

    def weights(self, n_ngrams, n_answer, passage):
        sure = 1.0 if n_ngrams >= 20 else 0.5 + 0.5 * n_ngrams / 20
        if n_answer and passage:
            sure_answer = 1.0 if n_answer >= 4 else 0.5 + 0.5 * n_answer / 4
            lost = 0.7 * (1 - sure)
            answer, passages = 0.2 + lost / 2, 0.1 + lost / 2
            return 0.7 * sure, answer * sure_answer, passages + answer * (1 - sure_answer)
        if n_answer:
            return 0.75 * sure, 0.25 + 0.75 * (1 - sure), 0
        return (0.85 * sure, 0, 0.15 + 0.85 * (1 - sure)) if passage else (1.0, 0, 0)

    def answered(self, answer, after):
        if len(answer) <= 3:
            return float(any(after[i : i + len(answer)] == answer for i in range(min(50, len(after)))))
        return self.answers.share(answer, ngrams(after[: max(100, 2 * len(answer))], 3))

    def preceded(self, passage, before):
        before = before[max(len(before) - max(100, 2 * len(passage)), 0) :]
        known = set(ngrams(passage, 4))
        seen, misses = set(), 0
        for i in range(len(before) - min(4, len(passage)), -1, -1):
            ngram = tuple(before[i : i + min(4, len(passage))])
            if ngram in known:
                seen.add(ngram)
                misses = 0
            elif seen:
                misses += 1
                if misses > 2:
                    break
        return self.passages.share(passage, seen)


def some(chosen, words, low, high):
    return [chosen.choice(words) for _ in range(chosen.randint(low, high))]


def planted(chosen, item, words):
    """A document with parts of an item, changed here and there."""
    question, answer, passage = (list(part) for part in item)
    for part in (question, passage):
        if part and chosen.random() < 0.5:
            del part[chosen.randrange(len(part)) :][: chosen.randint(0, 9)]
        if part and chosen.random() < 0.3:
            part[chosen.randrange(len(part))] = "other"
    between = some(chosen, words, 0, chosen.choice([3, 60, 130]))
    return [*some(chosen, words, 0, 9), *passage, *between[:2], *question, *between, *answer, "end"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("folded", "frequent"), [(False, 10_000), (True, 10_000), (False, 3)])
def test_the_score_is_that_of_the_formula(tmp_path, monkeypatch, seed, folded, frequent):
    monkeypatch.setattr(curation_items, "FREQUENT", frequent)
    chosen = random.Random(seed)
    words = ["ab", "cd", "ef"] if seed % 3 == 0 else [f"w{i}" for i in range(400)]
    shared = some(chosen, words, 5, 9)
    items = [
        (
            some(chosen, words, 0, 8) + shared * (k % 2) + some(chosen, words, 0, chosen.choice([8, 50])),
            some(chosen, [*words, "odd"], 0, chosen.choice([3, 9])),
            some(chosen, words, 0, chosen.choice([0, 30])),
        )
        for k in range(1 if seed == 1 else 9)
    ]
    items = [(question or ["no"], answer, passage) for question, answer, passage in items]
    documents = [planted(chosen, chosen.choice(items), words) for _ in range(20)] + [shared, ["no"]]
    path, report = tmp_path / "items.jsonl", tmp_path / "report.json"
    change = str.upper if folded else str
    path.write_text(
        "".join(
            json.dumps(
                {
                    "question": change("  ".join(question)),
                    **({"answer": change(" ".join(answer))} if answer else {}),
                    **({"passage": change(" ".join(passage))} if passage else {}),
                }
            )
            + "\n"
            for question, answer, passage in items
        )
    )
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        for first in range(0, len(documents), 7):
            corpus.append([" ".join(one) for one in documents[first : first + 7]])
        corpus.delete("doc_id = 4")
        for threshold in (0.8, 0.5, 0.0):
            formula = Formula(items, threshold)
            found = corpus.decontaminate(
                path, by="decon", threshold=threshold, lower=folded, dry_run=True, report=report
            )
            told = json.loads(report.read_text())
            values = {
                (item["item"], one["doc_id"]): item["value"]
                for one in told["documents"]
                for item in one["items"]
            }
            expected = {
                (k, i): value
                for k in range(len(items))
                for i, one in enumerate(documents)
                if i != 4 and (value := formula.value(k, one)) is not None
            }
            if frequent > 10:
                assert set(values) <= set(expected)
                for row in told["items"]:
                    assert row["documents"] == sum(k == row["item"] for k, _ in expected)
            for pair, value in values.items():
                # A question whose n-grams are all too frequent is known in part only.
                if not (frequent == 3 and expected[pair] < (threshold or 2)):
                    assert value == pytest.approx(expected[pair], abs=1e-5)
            hits = {i for (_, i), value in expected.items() if value and value >= threshold}
            if frequent > 10:
                assert found.contaminated == len(hits)


def test_questions_alone_are_compared_in_plain_text(tmp_path):
    path = tmp_path / "items.txt"
    question = " ".join(f"word{i}" for i in range(60))
    path.write_text(f"{question}\nnothing of this is in it at all\n")
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([f"Asked: {question} indeed.", f"Asked: {question[:300]}.", "nothing"])
        found = db.execute("DECONTAMINATE AGAINST ? BY decon", [str(path)])
        assert found.fetchall()[0][4:8] == (1.0, 60, 2, 1)


def test_answers_are_found_within_words_of_a_line(tmp_path):
    """A sub-word tokenizer spells a text differently behind a blank."""
    path = tmp_path / "items.jsonl"
    items = [
        {"question": "Which of these birds dives from a branch above the river?", "answer": "kingfisher"},
        {"question": "What colour is the sky above the river in the summer?", "answer": ["blue", "azure"]},
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in items))
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=write_tokenizer(tmp_path / "tokenizer.json"))
        corpus.append([f"Q: {items[0]['question']} A: kingfisher.", f"Q: {items[1]['question']}\nazure"])
        assert corpus.decontaminate(path, by="decon").removed == 2
