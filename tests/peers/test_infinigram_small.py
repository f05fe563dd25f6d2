"""infini-gram's answers on `small.jsonl`, every entry of every field that brute force confirmed.

Intended differences: it counts the separators between documents, we do not (so queries that contain one
have no counterpart here); it reports a document's end as the end-of-text token, we as a row without a token;
its documents are numbered in load order, and so are ours.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

# Its code for the separator, and for a document's end, among token ids.
SEPARATOR = 65535
END_OF_TEXT = 50256


def literal(ids: list[int]) -> str:
    """The token-id literal of the language."""
    return "[" + ", ".join(map(str, ids)) + "]"


def without_separators(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if SEPARATOR not in entry["q"]]


def differences(pairs: list[tuple[Any, Any]]) -> list[tuple[int, Any, Any]]:
    """(number, found, expected) of every pair that differs; there must be pairs."""
    assert pairs
    return [(number, *pair) for number, pair in enumerate(pairs) if pair[0] != pair[1]]


def flattened(sequences: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0] + [len(sequence) for sequence in sequences])
    return np.array([token for sequence in sequences for token in sequence], dtype=np.int64), offsets


def expected_distribution(entry: dict[str, Any]) -> dict[int | None, int]:
    return {None if token == END_OF_TEXT else token: count for token, count in entry["dist"]}


@pytest.fixture(scope="module")
def text_of(tokenizer_file: Any) -> Any:
    """Return a function from ids to a text that the tokenizer cuts into exactly these ids, or None."""
    tokenizer = Tokenizer.from_file(str(tokenizer_file))

    def text(ids: list[int]) -> str | None:
        decoded: str = tokenizer.decode(ids, skip_special_tokens=False)
        return decoded if tokenizer.encode(decoded, add_special_tokens=False).ids == ids else None

    return text


# -- the corpus ---------------------------------------------------------------------------------------


def test_documents_and_tokens_are_as_many(corpus: Any, peer: dict[str, Any]) -> None:
    assert corpus.n_documents == peer["n_docs"]
    assert corpus.count([]) == peer["stream_tokens"] - peer["n_docs"]


def test_answers_come_from_several_segments(connection: Any) -> None:
    assert len(connection.execute("SHOW SEGMENTS").fetchall()) >= 3


def test_every_document_comes_back_as_it_went_in(corpus: Any, documents: list[dict[str, Any]]) -> None:
    result = corpus.docs()
    fields = result.columns[1:-2]
    assert result.columns == ("doc_id", *fields, "length", "text")
    pairs = []
    for number, (doc_id, *values, _, text) in enumerate(result):
        metadata = {name: value for name, value in zip(fields, values, strict=True) if value is not None}
        pairs.append(((doc_id, {"text": text, **metadata}), (number, documents[number])))
    assert len(pairs) == len(documents)
    assert not differences(pairs)


def test_documents_have_the_peers_tokens_and_metadata(
    connection: Any, corpus: Any, peer: dict[str, Any]
) -> None:
    pairs = []
    for entry in peer["docs"]:
        page = f'DOCS WHERE "" ORDER BY doc_id LIMIT 1 OFFSET {entry["doc_ix"]}'
        (row,) = connection.execute(page).to_dicts()
        metadata = json.loads(entry["metadata"])["metadata"]
        pairs.append(((row["doc_id"], row["length"]), (entry["doc_ix"], entry["doc_len"])))
        pairs.append(({name: row[name] for name in metadata}, metadata))
        ids = corpus.tokenizer.encode(row["text"])
        pairs.append((ids[: len(entry["first"])].tolist(), entry["first"]))
    assert not differences(pairs)


# -- counts -------------------------------------------------------------------------------------------


def expected_count(entry: dict[str, Any], peer: dict[str, Any]) -> int:
    """Its count of the empty n-gram has one separator per document in it."""
    return int(entry["true"]) if entry["q"] else peer["stream_tokens"] - peer["n_docs"]


def test_counts_by_ids(corpus: Any, peer: dict[str, Any]) -> None:
    entries = without_separators(peer["count"])
    assert len(entries) == len(peer["count"]) - 6
    assert not differences([(corpus.count(entry["q"]), expected_count(entry, peer)) for entry in entries])


def test_counts_in_a_batch(corpus: Any, peer: dict[str, Any]) -> None:
    entries = without_separators(peer["count"])
    expected = [expected_count(entry, peer) for entry in entries]
    ngrams = [entry["q"] for entry in entries]
    assert corpus.count_many(ngrams).tolist() == expected
    assert corpus.count_many(flattened(ngrams)).tolist() == expected


def test_counts_by_statement(connection: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in without_separators(peer["count"]):
        expected = [(expected_count(entry, peer),)]
        pairs.append((connection.execute(f"COUNT {literal(entry['q'])}").fetchall(), expected))
        pairs.append((connection.execute("COUNT ?", [entry["q"]]).fetchall(), expected))
    assert not differences(pairs)


def test_counts_by_text(connection: Any, corpus: Any, peer: dict[str, Any], text_of: Any) -> None:
    pairs = []
    for entry in without_separators(peer["count"]):
        if (text := text_of(entry["q"])) is not None:
            expected = expected_count(entry, peer)
            pairs.append((corpus.count(text), expected))
            pairs.append((connection.execute("COUNT ?", [text]).fetchone(), (expected,)))
    assert len(pairs) > 200
    assert not differences(pairs)


# -- probabilities ------------------------------------------------------------------------------------


def test_ngram_probabilities(corpus: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in peer["prob"]:
        found = corpus.prob([entry["cont"]], given=entry["prompt"])
        pairs.append(((found.cont_count, found.context_count), (entry["cont_cnt"], entry["prompt_cnt"])))
        pairs.append((float(found), entry["cont_cnt"] / entry["prompt_cnt"]))
    assert not differences(pairs)


def test_ngram_probabilities_by_statement(connection: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in peer["prob"]:
        statement = f"PROB {literal([entry['cont']])} GIVEN {literal(entry['prompt'])}"
        result = connection.execute(statement)
        assert result.columns == ("prob", "cont_count", "context_count", "effective_n", "sparse")
        prob, cont_count, context_count, effective_n, _ = result.fetchone()
        expected = entry["cont_cnt"] / entry["prompt_cnt"], entry["cont_cnt"], entry["prompt_cnt"]
        pairs.append(((prob, cont_count, context_count), expected))
        pairs.append((effective_n, len(entry["prompt"]) + 1))
    assert not differences(pairs)


def test_infgram_probabilities(corpus: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in peer["infgram_prob"]:
        found = corpus.prob([entry["cont"]], given=entry["prompt"], model="infgram")
        pairs.append((observed(found), expected_infgram(entry)))
    assert not differences(pairs)


def test_infgram_probabilities_by_statement(connection: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in peer["infgram_prob"]:
        given = [[entry["cont"]], entry["prompt"]]
        prob, *counts = connection.execute("PROB ? GIVEN ? USING INFGRAM", given).fetchone()[:4]
        pairs.append((tuple(counts), expected_infgram(entry)))
        pairs.append((prob, entry["cont_cnt"] / entry["prompt_cnt"]))
    assert not differences(pairs)


def test_infgram_probabilities_in_a_batch(corpus: Any, peer: dict[str, Any]) -> None:
    entries = peer["infgram_prob"]
    contexts = [entry["prompt"] for entry in entries]
    found = corpus.prob_many(contexts, [entry["cont"] for entry in entries], model="infgram")
    columns = (found.count, found.context_count, found.effective_n)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert rows == [expected_infgram(entry) for entry in entries]


def test_scores_end_in_the_infgram_probability_of_the_last_token(corpus: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in peer["infgram_prob"]:
        scores = corpus.score([*entry["prompt"], entry["cont"]], model="infgram")
        last = int(scores.count[-1]), int(scores.context_count[-1]), int(scores.effective_n[-1])
        pairs.append((last, expected_infgram(entry)))
    assert not differences(pairs)


def observed(found: Any) -> tuple[int, int, int]:
    return found.cont_count, found.context_count, found.effective_n


def expected_infgram(entry: dict[str, Any]) -> tuple[int, int, int]:
    return entry["cont_cnt"], entry["prompt_cnt"], entry["suffix_len"] + 1


# -- next-token distributions -------------------------------------------------------------------------


def distribution(result: Any) -> dict[int | None, int]:
    """{token id: count}; the document's end under None. Checks that the probabilities sum to 1 on the way."""
    assert result.columns == ("token", "token_id", "count", "prob")
    rows = result.fetchall()
    assert not rows or sum(row[3] for row in rows) == pytest.approx(1)
    counts = {row[1]: row[2] for row in rows}
    assert len(counts) == len(rows)
    return counts


def test_ngram_distributions(connection: Any, corpus: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in peer["ntd"]:
        expected = expected_distribution(entry)
        pairs.append((distribution(corpus.dist(entry["prompt"])), expected))
        pairs.append((distribution(connection.execute("DIST GIVEN ?", [entry["prompt"]])), expected))
    assert not differences(pairs)


def test_distributions_of_contexts_at_a_documents_end_are_among_them(peer: dict[str, Any]) -> None:
    assert any(None in expected_distribution(entry) for entry in peer["ntd"] + peer["infgram_ntd"])


def test_infgram_distributions(connection: Any, corpus: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in peer["infgram_ntd"]:
        expected = expected_distribution(entry)
        pairs.append((distribution(corpus.dist(entry["prompt"], model="infgram")), expected))
        statement = f"DIST GIVEN {literal(entry['prompt'])} USING INFGRAM"
        pairs.append((distribution(connection.execute(statement)), expected))
    assert not differences(pairs)


def test_distributions_as_arrays(corpus: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for model, entries in (("ngram", peer["ntd"]), ("infgram", peer["infgram_ntd"])):
        for entry in entries:
            found = corpus.dist_arrays(entry["prompt"], model=model)
            counts = dict(zip(found.token_ids.tolist(), found.counts.tolist(), strict=True))
            ends = {None: found.n_end} if found.n_end else {}
            pairs.append((counts | ends, expected_distribution(entry)))
            pairs.append((found.context_count, entry["prompt_cnt"]))
            if model == "infgram":
                pairs.append((found.effective_n, entry["suffix_len"] + 1))
    assert not differences(pairs)


def test_top_rows_of_a_distribution_are_the_most_frequent(corpus: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in peer["ntd"]:
        counts = sorted(expected_distribution(entry).values(), reverse=True)
        pairs.append(([row[2] for row in corpus.dist(entry["prompt"], top=5).fetchall()], counts[:5]))
    assert not differences(pairs)


# -- documents ----------------------------------------------------------------------------------------


def condition(cnf: list[list[list[int]]]) -> str:
    """A conjunction of disjunctions as a condition of the language."""
    return " AND ".join("(" + " OR ".join(map(literal, clause)) + ")" for clause in cnf)


def document_ids(result: Any) -> list[int]:
    at = result.columns.index("doc_id")
    return [row[at] for row in result.fetchall()]


def test_documents_of_boolean_conditions(connection: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in peer["cnf"]:
        result = connection.execute(f"DOCS WHERE {condition(entry['cnf'])} ORDER BY doc_id")
        pairs.append((document_ids(result), entry["true_docs"]))
    assert not differences(pairs)


def test_numbers_of_documents_of_boolean_conditions(connection: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in peer["cnf"]:
        result = connection.execute(f"COUNT DOCS WHERE {condition(entry['cnf'])}")
        pairs.append((result.fetchone(), (len(entry["true_docs"]),)))
    assert not differences(pairs)


def test_documents_of_negated_conditions_are_the_others(connection: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in peer["cnf"]:
        result = connection.execute(f"COUNT DOCS WHERE NOT ({condition(entry['cnf'])})")
        pairs.append((result.fetchone(), (peer["n_docs"] - len(entry["true_docs"]),)))
    assert not differences(pairs)


def test_documents_through_python(corpus: Any, peer: dict[str, Any]) -> None:
    pairs = []
    for entry in peer["cnf"]:
        found = document_ids(corpus.docs(condition(entry["cnf"]), limit=10))
        assert set(found) <= set(entry["true_docs"])
        pairs.append((len(set(found)), min(10, len(entry["true_docs"]))))
    assert not differences(pairs)


def test_pages_of_documents_join_to_the_whole(connection: Any, peer: dict[str, Any]) -> None:
    entry = max(peer["cnf"], key=lambda entry: len(entry["true_docs"]))
    pages: list[int] = []
    for offset in range(0, len(entry["true_docs"]), 1000):
        page = f"ORDER BY doc_id LIMIT 1000 OFFSET {offset}"
        pages += document_ids(connection.execute(f"DOCS WHERE {condition(entry['cnf'])} {page}"))
    assert pages == entry["true_docs"]
