"""ARPA files: read back by the format's own rules, they give the model's probabilities."""

from __future__ import annotations

import codecs
import io
import math

import pytest
from support.language_corpora import model_of

from ngramdb.errors import InvalidArgument
from ngramdb.lm import BEGIN, END, UNKNOWN, Backoff, KneserNey, arpa, write_arpa

NAMES = {END: "</s>", BEGIN: "<s>", UNKNOWN: "<unk>"}


def word(token):
    return f"w{token}"


def read(text):
    """Sizes as the header has them, and {words: (log10 p, log10 backoff)}."""
    sizes, table, lengths = [], {}, []
    for line in text.splitlines():
        if line.startswith("ngram "):
            sizes.append(int(line.partition("=")[2]))
        elif line and not line.startswith("\\"):
            fields = line.split("\t")
            words = tuple(fields[1].split(" "))
            table[words] = float(fields[0]), float(fields[2]) if len(fields) > 2 else 0.0
            lengths.append(len(words))
    assert sizes == [lengths.count(n) for n in range(1, len(sizes) + 1)]
    return sizes, table


def log10_of(table, words, order):
    """The probability of the last word, as a reader of the file has it."""
    words = words[-order:]
    if words in table:
        return table[words][0]
    context = words[:-1]
    return (table[context][1] if context in table else 0.0) + log10_of(table, words[1:], order)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_a_file_says_what_the_model_says(documents, order):
    model = model_of(documents, KneserNey(order=order))
    file = io.StringIO()
    sizes = write_arpa(model, file, word)
    read_sizes, table = read(file.getvalue())
    assert sizes == read_sizes
    for text in ([0, 1, 2, 3], [2, 2, 99, 1, 2], [], [8, 8]):
        expected = model.score(text, document=True).logprob / math.log(10)
        words = ["<s>", *(word(token) if token < 9 else "<unk>" for token in text), "</s>"]
        found = [log10_of(table, tuple(words[: i + 2]), order) for i in range(len(text) + 1)]
        assert found == pytest.approx(expected.tolist(), abs=1e-7)


@pytest.mark.parametrize(
    "spec", [KneserNey(), KneserNey(order=1), KneserNey(order=3, min_count=2), Backoff(order=3)]
)
def test_only_models_that_fit_the_format_are_written(documents, spec):
    with pytest.raises(InvalidArgument, match="an ARPA file needs"):
        write_arpa(model_of(documents, spec), io.StringIO(), word)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(("a b", "a▁b"), (" ", "▁"), ("\n", "\\u000a"), ("\u2028x", "\\u2028x"), ("\x1c", "\\u001c")),
        *(("", "id:3"), ("<s>", "id:3"), ("</s>", "id:3"), ("<unk>", "id:3"), ("w0", "id:3")),
    ],
)
def test_what_cannot_stand_in_the_file_is_written_otherwise(documents, text, name):
    model = model_of(documents, KneserNey(order=3))
    plain, escaped = io.StringIO(), io.StringIO()
    write_arpa(model, plain, word)
    write_arpa(model, escaped, lambda token: text if token == 3 else word(token))
    sizes, table = read(escaped.getvalue())
    expected_sizes, expected = read(plain.getvalue())
    assert sizes == expected_sizes
    assert table == {tuple(name if one == "w3" else one for one in words): p for words, p in expected.items()}


def test_a_name_that_looks_like_an_id_is_not_taken_twice(documents):
    file = io.StringIO()
    write_arpa(
        model_of(documents, KneserNey(order=2)),
        file,
        lambda token: {1: "id:3", 3: ""}.get(token, word(token)),
    )
    assert {("id:3",), ("id:id:3",)} <= read(file.getvalue())[1].keys()


def test_texts_that_are_names_are_not_looked_at_one_by_one(monkeypatch):
    looked_at = []
    name_of = arpa.name_of
    monkeypatch.setattr(arpa, "name_of", lambda *given: looked_at.append(given[0]) or name_of(*given))
    assert arpa.names_of([3, 5, 8], ["a", "b", "\u00fc"]) == ["a", "b", "\u00fc"] and not looked_at
    assert arpa.names_of([], []) == []
    for odd, name in (("a", "id:8"), ("", "id:8"), ("<s>", "id:8"), (" ", "▁"), ("c\n", "c\\u000a")):
        assert arpa.names_of([3, 5, 8], ["a", "b", odd]) == ["a", "b", name]
    assert looked_at == [3, 5, 8] * 5
    assert arpa.names_of([1], ["x "]) == ["x▁"]


class Pieces(io.BytesIO):
    """Keeps the sizes of what is written."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def write(self, data):
        self.sizes.append(len(data))
        return super().write(data)


@pytest.mark.parametrize("open_text", [codecs.getwriter("utf-8"), io.TextIOWrapper])
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_a_file_is_written_in_pieces(documents, monkeypatch, open_text, batch):
    model = model_of(documents, KneserNey(order=4))
    whole = io.StringIO()
    write_arpa(model, whole, word)
    monkeypatch.setattr(arpa, "BATCH", batch)
    monkeypatch.setattr(arpa, "PIECE_BYTES", 100)
    sink = Pieces()
    file = open_text(sink)
    file._CHUNK_SIZE = 1  # of a TextIOWrapper, which would gather pieces itself
    write_arpa(model, file, word)
    file.flush()
    assert sink.getvalue().decode() == whole.getvalue()
    longest = max(map(len, whole.getvalue().splitlines(keepends=True)))
    assert max(sink.sizes) < 100 + longest
