"""A corpus like a crawl, with planted faults, and scans for them that know nothing of ngramdb."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

EMAIL = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")


@dataclass
class Crawl:
    """Documents with metadata; evaluation items; labels by url; urls of documents that must be kept."""

    documents: list[dict[str, Any]] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    labels: list[dict[str, Any]] = field(default_factory=list)
    good: list[str] = field(default_factory=list)


def made_up_texts(n: int, seed: int, n_types: int = 4000) -> list[str]:
    """Return texts of 8 to 20 sentences over invented words, whose frequencies follow Zipf's law."""
    draw = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "ä", "é")]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(n_types)]
    weights = [1 / (rank + 3) for rank in range(n_types)]

    def sentence() -> str:
        chosen = draw.choices(words, weights, k=draw.randint(6, 18))
        return " ".join(chosen).capitalize() + "."

    def text() -> str:
        return "\n".join(
            " ".join(sentence() for _ in range(draw.randint(2, 4))) for _ in range(draw.randint(4, 6))
        )

    return [text() for _ in range(n)]


def planted(texts: Sequence[str], seed: int) -> Crawl:
    """Return a crawl made of distinct texts: two thirds are good, and the rest material for faults."""
    draw = random.Random(seed)
    crawl = Crawl()
    n_good = 2 * len(texts) // 3
    good, spare = texts[:n_good], list(texts[n_good:])
    for text in good:
        crawl.good.append(_add(crawl, text, "good"))
    boilerplate = _words(spare.pop(), 60)
    for text in draw.sample(good, n_good // 10):
        _add(crawl, text, "copy")
        _add(crawl, text.upper(), "copy in capitals")
        _add(crawl, text.replace(" ", "\n"), "copy with other lines")
        _add(crawl, _words(text, 3 * len(text.split()) // 4), "beginning of another")
    for document in draw.sample(crawl.documents[:n_good], n_good // 5):
        document["text"] += f"\n{boilerplate}"
    for k in range(n_good // 20):
        _add(crawl, f"{_words(spare[k % len(spare)], 12)}\n" * 40, "loop")
    for k in range(n_good // 20):
        item = _words(spare[-1 - k % (len(spare) // 2)], 30 + k % 5)
        crawl.items.append(item)
        _add(crawl, f"{_words(good[k], 5)} {k} {item} {k + 1}", "contaminated")
    for k, document in enumerate(draw.sample(crawl.documents[:n_good], n_good // 10)):
        head, _, rest = document["text"].partition(" ")
        document["text"] = f"{head} write.to{k}@example{k % 7}.org {rest}"
    for k in range(n_good // 20):
        _add(crawl, f"{spare[k % len(spare)]} {k}", "low")
    draw.shuffle(crawl.documents)
    crawl.labels = [
        {"url": document["url"], "score": 0.1 if document["fault"] == "low" else 0.5 + draw.random() / 2}
        for document in crawl.documents
    ]
    return crawl


def _add(crawl: Crawl, text: str, fault: str) -> str:
    url = f"http://site{len(crawl.documents) % 13}.org/{len(crawl.documents)}"
    source = ("web", "wiki", "book")[len(crawl.documents) % 3]
    crawl.documents.append({"text": text, "url": url, "source": source, "fault": fault})
    return url


def _words(text: str, n: int) -> str:
    return " ".join(text.split()[:n])


def windows_twice(units: Iterable[Sequence[str]], n: int) -> int:
    """Return the number of windows of n units that occur more than once in all documents."""
    counts = Counter(
        hash(tuple(document[i : i + n])) for document in units for i in range(len(document) - n + 1)
    )
    return sum(count > 1 for count in counts.values())


def ngrams_of_items(texts: Iterable[str], items: Iterable[str], n: int) -> set[tuple[str, ...]]:
    """Return the n-grams of words, without case, that texts and items share."""
    return {*_ngrams(texts, n)} & {*_ngrams(items, n)}


def _ngrams(texts: Iterable[str], n: int) -> Iterator[tuple[str, ...]]:
    for text in texts:
        words = re.findall(r"\w+", text.casefold())
        yield from zip(*(words[k:] for k in range(n)), strict=False)
