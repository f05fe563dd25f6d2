"""Byte-pair tokenizers of tiktoken and mistral-common: their ids are those of the libraries."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

import pytest

import ngramdb
from ngramdb.errors import InvalidArgument
from ngramdb.tokenizers import json_definitions
from ngramdb.tokenizers.fast import hard_texts
from ngramdb.tokenizers.registry import create_tokenizer

tiktoken = pytest.importorskip("tiktoken")

PATTERNS = {
    name: encoding.pattern for name, encoding in json_definitions.ENCODINGS.items() if name != "r50k_base"
}
# As tiktoken 0.14 has them.
POSSESSIVE = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k_base": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
}
TEXT = "the theatre there, the other 1234567 thé, then and then again; aaaa aaab baaa " * 3


def ranks_of(seed, n=300):
    """A vocabulary as training makes it: pairs of tokens, merged one after the other."""
    draw = random.Random(seed)
    tokens = [bytes([byte]) for byte in range(256)]
    known = set(tokens)
    letters = TEXT.encode()
    while len(tokens) < n:
        at = draw.randrange(len(letters) - 8)
        piece = letters[at : at + draw.randint(2, 8)]
        halves = [(piece[:k], piece[k:]) for k in range(1, len(piece))]
        if piece not in known and any(a in known and b in known for a, b in halves):
            tokens.append(piece)
            known.add(piece)
    return {token: rank for rank, token in enumerate(tokens)}


def made(ranks, pattern, special):
    return tiktoken.Encoding("mine", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_ids_are_those_of_tiktoken(name):
    ranks = ranks_of(name)
    special = {"<|endoftext|>": 300, "the": 301}
    theirs = made(ranks, POSSESSIVE.get(name, PATTERNS[name]), special)
    ours = create_tokenizer(theirs)
    draw = random.Random(name)
    blanks = ["".join(draw.choices(" \n\r\t1ab's!\u2003", k=draw.randint(1, 9))) for _ in range(300)]
    texts = [
        *blanks,
        *hard_texts(sorted(special), ["the", " the"], random.Random(1))[:300],
        TEXT,
        "<|endoftext|>",
    ]
    for text in texts:
        expected = theirs.encode_ordinary(text)
        assert ours.encode(text).tolist() == expected, text
        assert ours.decode_exact(expected) == text.encode()
    assert ours.decode([300]) == "<|endoftext|>" and ours.n_vocabulary == 302


def test_files_of_tiktoken_say_their_encoding_by_their_names(tmp_path):
    ranks = ranks_of(1)
    lines = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    (tmp_path / "cl100k_base.tiktoken").write_bytes(lines)
    (tmp_path / "other.tiktoken").write_bytes(lines)
    (tmp_path / "gpt2.tiktoken").write_bytes(lines + b"not base64\n")
    expected = made(ranks, PATTERNS["cl100k_base"], {}).encode_ordinary(TEXT)
    with ngramdb.connect(tmp_path / "db") as db:
        db.execute(f"CREATE CORPUS a TOKENIZER '{tmp_path / 'cl100k_base.tiktoken'}'")
        db.corpus("a").append([TEXT, "<|endoftext|>"])
    with ngramdb.connect(tmp_path / "db") as db:
        corpus = db.corpus("a")
        assert corpus.tokenizer.kind == "json" and corpus.tokenizer.encode(TEXT).tolist() == expected
        assert [row[-1] for row in db.execute("DOCS").fetchall()] == [TEXT, "<|endoftext|>"]
        assert corpus.count([100257]) == 0
        with pytest.raises(InvalidArgument, match=r"other\.tiktoken does not define how its texts are split"):
            db.create_corpus("b", tmp_path / "other.tiktoken")
        with pytest.raises(InvalidArgument, match=r"gpt2\.tiktoken is not a tiktoken file: line 301"):
            db.create_corpus("b", tmp_path / "gpt2.tiktoken")


def tekken(ranks, pattern, n_special=5, **more):
    vocabulary = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for token, rank in ranks.items()
    ]
    config = {
        "pattern": pattern,
        "num_vocab_tokens": len(ranks),
        "default_vocab_size": len(ranks) + n_special,
        "default_num_special_tokens": n_special,
        "version": "v3",
    }
    return json.dumps({"config": config, "vocab": vocabulary, **more}).encode()


def test_ids_of_tekken_come_after_those_of_special_tokens(tmp_path):
    ranks = ranks_of(2)
    pattern = PATTERNS["o200k_base"]
    special = [{"rank": i, "token_str": text} for i, text in enumerate(("<unk>", "<s>", "</s>"))]
    (tmp_path / "tekken.json").write_bytes(tekken(ranks, pattern, special_tokens=special))
    ours = create_tokenizer(tmp_path / "tekken.json")
    expected = [rank + 5 for rank in made(ranks, pattern, {}).encode_ordinary(f"<s>{TEXT}</s>")]
    assert ours.encode(f"<s>{TEXT}</s>").tolist() == expected
    assert (ours.decode([1, 4]), ours.n_vocabulary) == ("<s><SPECIAL_4>", 305)
    (tmp_path / "wrong.json").write_bytes(tekken({b"ab": 0}, pattern))
    with pytest.raises(InvalidArgument, match="lacks a token for the byte 0"):
        create_tokenizer(tmp_path / "wrong.json")
    (tmp_path / "wrong.json").write_bytes(b'{"config": {"num_vocab_tokens": 3}}')
    with pytest.raises(InvalidArgument, match=r"wrong\.json is not a tekken\.json"):
        create_tokenizer(Path(tmp_path / "wrong.json"))


def test_patterns_that_would_be_read_otherwise_are_refused():
    with pytest.raises(InvalidArgument, match=r"lacks possessive \{…\}\+"):
        create_tokenizer(made(ranks_of(3), r"\p{L}{1,3}+\p{N}*|\s", {}))


def test_patterns_are_read_as_tiktoken_reads_them():
    theirs = made(ranks_of(4), r"\p{L}++|\p{N}{1,2}+|\s++$|[\s\S]", {})
    ours = create_tokenizer(theirs)
    for text in (" a\n b \n ", "abc 12345 \n", "\n \n", "a1 b22 c333"):
        assert ours.encode(text).tolist() == theirs.encode_ordinary(text)
