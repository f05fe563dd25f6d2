"""ARPA files as models, in every variant of the format; damage is reported with its line."""

from __future__ import annotations

import gzip
import io
import math
from pathlib import Path

import numpy as np
import pytest
from support.language_corpora import model_of

from ngramdb.errors import InvalidArgument, LoadError, NotSupportedError, QueryCancelled, StorageError
from ngramdb.interrupts import Interrupt
from ngramdb.lm import BEGIN, END, UNKNOWN, KneserNey, perplexity, read_arpa, write_arpa

SMALL = """
\\data\\
ngram 1=5
ngram 2=4
ngram 3=1

\\1-grams:
-1.5\t<unk>\t0
0\t<s>\t-0.3
-0.6\t</s>\t0
-0.5\ta\t-0.2
-0.7\tb\t-0.4

\\2-grams:
-0.2\t<s> a\t-0.1
-0.25\ta b\t-0.15
-0.35\tb a\t-0.05
-0.45\tb </s>\t0

\\3-grams:
-0.11\t<s> a b

\\end\\
"""

# As SRILM writes: other blanks, missing weights, <s> with -99, no <unk>, a suffix ("b c") pruned.
SRILM = """

\\data\\
ngram  1=6
ngram  2=3
ngram  3=1

\\1-grams:
-0.6\t</s>
-99\t<s>\t-0.3
-0.5\ta\t-0.2
-0.7\tb\t0.1
-0.9  c
-2e-1\td\t-.5

\\2-grams:
-0.2\ta b\t-0.1
-0.3\t<s> a
-0.4 c d

\\3-grams:
-0.05\ta b c

\\end\\

"""


def written(tmp_path: Path, text: str, name: str = "lm.arpa") -> Path:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def logs_of(model, words: list[str], *, document: bool = False) -> list[float]:
    scores = model.score(model.encode(" ".join(words)), document=document)
    return [round(log, 5) for log in (scores.logprob / math.log(10)).tolist()]


@pytest.mark.parametrize("name", ["lm.arpa", "lm.arpa.gz", "any name"])
def test_probabilities_are_those_of_the_file(tmp_path, name):
    model = read_arpa(written(tmp_path, SMALL, name))
    assert (model.spec.order, model.sizes, model.words) == (3, (5, 4, 1), ("a", "b"))
    assert str(model.spec) == "ARPA ORDER 3"
    assert logs_of(model, ["a", "b", "a", "z"], document=True) == [
        *(-0.2, -0.11),
        round(-0.15 - 0.35, 5),  # a b a backs off from "a b"
        round(-0.05 - 0.2 - 1.5, 5),
        -0.6,
    ]
    scores = model.score(model.encode("a b a z"), document=True)
    assert scores.effective_n.tolist() == [2, 3, 2, 1, 1]
    assert scores.suffix_n.tolist() == [2, 3, 3, 3, 1]
    assert scores.count.tolist() == [-1] * 5 and not scores.sparse.any()
    assert "3 in a table: 5, 4, 1 n-grams" in repr(model)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_file_as_srilm_writes_it(tmp_path, ending):
    model = read_arpa(written(tmp_path, SRILM.replace("\n", ending)))
    assert model.sizes == (6, 3, 1)
    assert logs_of(model, ["a", "b", "c"], document=False) == [-0.5, -0.2, -0.05]
    assert logs_of(model, ["b", "c", "d"]) == [-0.7, round(0.1 - 0.9, 5), -0.4]
    assert logs_of(model, ["z", "a"]) == [-100.0, -0.5]
    assert model.score([0], document=True).effective_n.tolist() == [2, 1]


def test_the_suffix_that_a_pruned_file_lacks_has_the_probability_of_backing_off(tmp_path):
    model = read_arpa(written(tmp_path, SRILM))
    # "b c" was pruned, and is p(c) times the weight of b. KenLM finds it by its length, too.
    scores = model.score(model.encode("b c"))
    assert scores.effective_n.tolist() == [1, 2]
    assert scores.logprob[1] / math.log(10) == pytest.approx(0.1 - 0.9)


def test_ids_of_a_vocabulary(tmp_path):
    model = read_arpa(written(tmp_path, SMALL), {"b": 7, "a": 4_000_000_000, "c": 3})
    assert model.words == ("b", "a")
    assert model.index.types()[0].tolist() == [7, 4_000_000_000]
    assert logs_of(model, ["a", "b"], document=True)[:2] == [-0.2, -0.11]
    assert model.prob([BEGIN], 4_000_000_000).prob == pytest.approx(10**-0.2)
    assert model.prob([], 3).prob == model.prob([], UNKNOWN).prob == pytest.approx(10**-1.5)
    with pytest.raises(InvalidArgument, match="same id"):
        read_arpa(written(tmp_path, SMALL), {"b": 7, "a": 7})


def test_a_file_answers_as_the_model_that_it_was_written_from(documents, tmp_path):
    model = model_of(documents, KneserNey(order=4))
    file = io.StringIO()
    write_arpa(model, file, lambda token: f"w{token}")
    ids = {f"w{token}": token for token in model.index.types()[0].tolist()}
    read = read_arpa(written(tmp_path, file.getvalue()), ids)
    texts = [[0, 1, 2, 3], [2, 2, 99, 1, 2], [], [8, 8, END, 1, BEGIN, 0, 1], *documents]
    flat = [token for text in texts for token in text]
    offsets = np.cumsum([0, *map(len, texts)])
    for document in (False, True):
        expected = model.score_many(flat, offsets, document=document)
        found = read.score_many(flat, offsets, document=document)
        np.testing.assert_allclose(found.prob, expected.prob, rtol=2e-6)
        assert found.effective_n.tolist() == expected.effective_n.tolist()
        assert (read.logs(flat, offsets, document=document) <= 0).all()
    contexts = [[0, 1], [BEGIN], [1, 99, 2], [], [3, END], [4, 5, 6, 7, 0, 1]]
    flat = [token for context in contexts for token in context]
    offsets = np.cumsum([0, *map(len, contexts)])
    tokens = [2, 0, END, 1, 1, 2]
    expected = model.prob_many(flat, offsets, tokens)
    np.testing.assert_allclose(read.prob_many(flat, offsets, tokens).prob, expected.prob, rtol=2e-6)
    chained = read.chain_scores_of(flat, offsets, [2, 0, 1, 1, 1, END, 0], [0, 1, 2, 3, 4, 5, 7])
    expected = model.chain_scores_of(flat, offsets, [2, 0, 1, 1, 1, END, 0], [0, 1, 2, 3, 4, 5, 7])
    np.testing.assert_allclose(chained.prob, expected.prob, rtol=2e-6)
    for context in contexts:
        found, expected = read.dist(context), model.dist(context)
        assert found.ids.tolist() == expected.ids.tolist()
        np.testing.assert_allclose(found.probs, expected.probs, rtol=2e-6)
        assert found.probs.sum() == pytest.approx(1.0, abs=1e-6)
    assert perplexity(read, documents).perplexity == pytest.approx(perplexity(model, documents).perplexity)
    assert perplexity(read, [[99]]).n_unknown == 1


def test_pieces_of_long_documents_know_their_context(documents, tmp_path):
    model = model_of(documents, KneserNey(order=4))
    file = io.StringIO()
    write_arpa(model, file, lambda token: f"w{token}")
    read = read_arpa(
        written(tmp_path, file.getvalue()), {f"w{token}": token for token in model.index.types()[0].tolist()}
    )
    text = np.random.default_rng(5).integers(0, 9, 20_000)
    offsets = [0, 3, 3, 9_000, 9_000, 20_000, 20_000]
    expected = model.score_many(text, offsets, document=True)
    found = read.score_many(text, offsets, document=True)
    np.testing.assert_allclose(found.prob, expected.prob, rtol=2e-6)
    assert (found.effective_n == expected.effective_n).all()
    assert (found.suffix_n == np.minimum(expected.suffix_n, 4)).all()
    state = read.state()
    by_state = [state.read(token) for token in text[:3].tolist()] + [state.read(END)]
    assert [prob for prob, _ in by_state] == pytest.approx(found.prob[:4].tolist())


def test_states_of_texts(tmp_path):
    model = read_arpa(written(tmp_path, SMALL))
    begin = model.state(document=True)
    assert begin.context == (BEGIN,)
    after = begin.copy()
    assert after.read(begin, 0) == (pytest.approx(10**-0.2), 2)
    assert after.context == (BEGIN, 0) and begin.context == (BEGIN,)
    assert after.read_log(1) == (pytest.approx(-0.11), 3)
    assert after.context == (0, 1)
    assert after.read(END)[1] == 2 and after.context == ()
    assert after.read(BEGIN) == (1.0, 1) and after.context == (BEGIN,)
    other = read_arpa(written(tmp_path, SMALL)).state()
    with pytest.raises(InvalidArgument, match="another model"):
        other.read(begin, 0)
    for odd in (True, 1.5, 2**32, -4):
        with pytest.raises(InvalidArgument, match="token id"):
            begin.read(odd)
    with pytest.raises(NotSupportedError, match="no counts"):
        model.successors([0])


def changed(old: str, new: str) -> str:
    assert old in SMALL
    return SMALL.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no line"),
        ("hello\nworld\n", 2, "no line"),
        (changed("\\end\\\n", ""), 22, "truncated"),
        (SMALL[:93], 11, "expected a number, found '-'"),
        (changed("ngram 2=4", "ngram 2:4"), 4, "expected 'ngram N=count'"),
        (changed("ngram 2=4", "ngram 3=4"), 4, "number of 2-grams"),
        (changed("ngram 2=4", "ngram 2=5"), 20, "4 2-grams, but announces 5"),
        (changed("ngram 2=4", "ngram 2=3"), 18, "more than the 3 2-grams"),
        (changed("\\2-grams:", "\\3-grams:"), 14, r"expected \\2-grams:"),
        (changed("-0.7\tb", "-0.7\ta"), 12, "listed twice"),
        (changed("-0.7\tb", "0.7\tb"), 12, "above 0"),
        (changed("-0.7\tb", "x\tb"), 12, "expected a number, found 'x'"),
        (changed("-0.7\tb", "nan\tb"), 12, "expected a number"),
        (changed("-0.4\n", "-0.4\tz\n"), 12, "end of the line, found 'z'"),
        (changed("a b\t-0.15", "a z\t-0.15"), 16, "'z' is not among the 1-grams"),
        (changed("a b\t-0.15", "a\t-0.15"), 16, "'-0.15' is not among"),
        (changed("-0.35\tb a\t-0.05", "-0.35\ta b\t-0.05"), 17, "listed twice"),
        (changed("<s> a b", "b b a"), 21, "first 2 words are not among the 2-grams"),
        (changed("<s> a b", "<s> a"), 21, "expected 3 words"),
        (SMALL + "more\n", 24, "text after"),
        (changed("ngram 3=1", "ngram 3=999999999999"), 23, "has 1 3-grams"),
    ],
)
def test_damage_is_reported_with_its_line(tmp_path, text, line, message):
    path = written(tmp_path, text)
    with pytest.raises(LoadError, match=message) as error:
        read_arpa(path)
    assert (error.value.source, error.value.line) == (str(path), line)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(StorageError, match="cannot be read"):
        read_arpa(tmp_path / "missing.arpa")
    whole = gzip.compress(SMALL.encode())
    for damaged in (whole[:-20], whole[:30] + b"xxxx" + whole[34:]):
        (tmp_path / "lm.gz").write_bytes(damaged)
        with pytest.raises(LoadError, match="compressed file"):
            read_arpa(tmp_path / "lm.gz")


def test_reading_and_scoring_stop(tmp_path):
    path = written(tmp_path, SMALL)
    model = read_arpa(path)
    stop = Interrupt()
    stop.set()
    with pytest.raises(QueryCancelled), stop:
        read_arpa(path)
    with pytest.raises(QueryCancelled), stop:
        model.score_many(np.zeros(100_000, dtype=np.int64), [0, 100_000])
    with pytest.raises(QueryCancelled), stop:
        model.prob_many(
            np.zeros(100_000, dtype=np.int64), np.arange(100_001), np.zeros(100_000, dtype=np.int64)
        )


def test_odd_batches(tmp_path):
    model = read_arpa(written(tmp_path, SMALL))
    assert len(model.score([])) == 0
    assert len(model.score_many([], [0, 0, 0], document=True)) == 2
    assert len(model.prob_many([], [0], []).prob) == 0
    for offsets in ([0, 5], [1, 0], []):
        with pytest.raises(ValueError, match="offsets"):
            model.score_many([0, 1], offsets)


def test_a_file_of_single_words(tmp_path):
    text = "\\data\\\nngram 1=2\n\n\\1-grams:\n-1\ta\n-Infinity\tb\n\\end\\"
    model = read_arpa(written(tmp_path, text))
    assert logs_of(model, ["a", "a"]) == [-1, -1]
    assert model.prob([0], 1).prob == 0.0
    state = model.state()
    assert state.read(0)[1] == 1 and state.context == ()
