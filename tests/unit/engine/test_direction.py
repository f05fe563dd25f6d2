"""The direction of an attached index's documents, detected with the tokenizer."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from support.trained import word_pieces
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from ngramdb.engine.corpus.attached import check_direction
from ngramdb.errors import InvalidArgument
from ngramdb.tokenizers.registry import create_tokenizer

PIECES = Path(__file__).parents[2] / "language" / "data" / "pieces.tokenizer.json"
SENTENCE = (
    "time flies like an arrow and fruit flies like bananas ; however , unpredictable retransmission of the "
    "naïve café's undersecretary's 😀 reinterpretation : 日本語の文 12345 Σίσυφος don't"
)


class Documents:
    """The part of a segment's interface that is used."""

    path = "an index"

    def __init__(self, documents):
        self.documents = [np.array(ids, dtype=np.uint32) for ids in documents]
        self.n_documents = len(documents)

    def document_length(self, i):
        return len(self.documents[i])

    def passage(self, i, start, stop):
        return self.documents[i][start:stop]


def texts(n_texts, n_words):
    rng = random.Random(n_texts)
    return [" ".join(rng.choices(SENTENCE.split(), k=rng.randint(1, n_words))) for _ in range(n_texts)]


def word_pieces_with_decoder(texts):
    made = word_pieces(texts)
    made.decoder = decoders.WordPiece()
    return made


def unigram(texts):
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    options = {"unk_token": "<unk>", "special_tokens": ["<unk>"], "show_progress": False}
    made.train_from_iterator(texts, trainers.UnigramTrainer(vocab_size=200, **options))
    return made


def bytes_of_words(texts):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(texts, trainer)
    return made


def like_llama(texts):
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    special = ["<unk>", *(f"<0x{i:02X}>" for i in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=special, show_progress=False)
    made.train_from_iterator([text.replace(" ", "▁") for text in texts], trainer)
    return made


TOKENIZERS = {
    "pieces": lambda texts: str(PIECES),
    "bytes of words": bytes_of_words,
    "bytes": lambda texts: "bytes",
    "llama": like_llama,
    "unigram": unigram,
    "WordPiece": word_pieces_with_decoder,
    "WordPiece without a decoder": word_pieces,
}
# The decoded pieces are not pieces again, in either direction.
SILENT = {"WordPiece without a decoder"}


@pytest.fixture(params=TOKENIZERS)
def tokenizer(request):
    return create_tokenizer(TOKENIZERS[request.param](texts(300, 20))), request.param not in SILENT


@pytest.mark.parametrize("shape", [(1, 1), (3, 9), (1, 9000), (20, 60), (400, 30), (5, 2000)], ids=str)
@pytest.mark.parametrize("n_shards", [1, 3])
def test_the_right_direction_is_taken_and_the_wrong_one_refused(tokenizer, shape, n_shards):
    tokenizer, can_tell = tokenizer
    documents = [tokenizer.encode(text) for text in texts(*shape)]
    right = [Documents(documents[shard::n_shards]) for shard in range(n_shards)]
    wrong = [Documents([ids[::-1] for ids in documents[shard::n_shards]]) for shard in range(n_shards)]
    check_direction(right, tokenizer, None)
    check_direction(right, tokenizer, 5)
    if not can_tell or shape[0] * shape[1] < 100:
        check_direction(wrong, tokenizer, None)
        return
    with pytest.raises(InvalidArgument, match=r"are reversed, as in version 5: of \d+ passages.*VERSION 5"):
        check_direction(wrong, tokenizer, None)
    with pytest.raises(InvalidArgument, match=r"are not reversed.*; leave VERSION out"):
        check_direction(wrong, tokenizer, 5)


def test_nothing_is_said_of_words_that_are_tokens(tokenizer):
    tokenizer, _ = tokenizer
    documents = [[id_] * 200 for id_ in range(40)]
    check_direction([Documents(documents)], tokenizer, None)
    check_direction([], tokenizer, None)
    check_direction([Documents([])], tokenizer, None)


def test_ids_of_another_tokenizer_have_no_direction(tokenizer):
    tokenizer, _ = tokenizer
    rng = np.random.default_rng(2)
    for most in (60, 200, 70000):
        check_direction([Documents(rng.integers(0, most, (100, 150)))], tokenizer, None)
