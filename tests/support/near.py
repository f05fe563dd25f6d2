"""Documents with near duplicates."""

from __future__ import annotations

WORDS = [f"w{i}" for i in range(12)]


def planted(rng):
    """Documents, some of which are made of others."""
    documents = [[" ".join(rng.choices(WORDS, k=rng.randrange(14)))]]
    while len(documents) < 14:
        words = " ".join(rng.choice(documents)).split()
        how = rng.randrange(6)
        if how == 0:
            words = rng.choices(WORDS, k=rng.randrange(20))
        elif how == 1 and words:
            words[rng.randrange(len(words))] = "new"
        elif how == 2:
            words = words + rng.choices(WORDS, k=3)
        elif how == 3:
            words = words[: rng.randrange(len(words) + 1)]
        elif how == 4:
            words = [word.upper() + "," for word in words]
        text = rng.choice(["", "…", "机器学习的模型", "模型"]) if rng.randrange(8) == 0 else " ".join(words)
        cut = rng.randrange(len(words) + 1)
        is_broken = text == " ".join(words) and 0 < cut < len(words) and rng.randrange(5) == 0
        documents.append([" ".join(words[:cut]), " ".join(words[cut:])] if is_broken else [text])
    return documents
