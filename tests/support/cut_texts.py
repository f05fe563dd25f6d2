"""Sentences to cut, and tokenizers, some of which divide a part of a text otherwise than the whole."""

from __future__ import annotations

SENTENCES = ["flies like a banana", "an apple, a day", "naïve 漢字 👍🏽", "e\u0301tude\nb", "like a horse "]


def byte_level(tokenizers):
    """Tokens of bytes and of several characters, as GPT-2 has them."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(SENTENCES * 3, trainer)
    return made


def metaspace(tokenizers):
    """Tokens that do not spell their texts, and depend on what is around them."""
    made = tokenizers.Tokenizer(tokenizers.models.Unigram())
    made.normalizer = tokenizers.normalizers.NFKC()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=60, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
    )
    made.train_from_iterator(SENTENCES * 3, trainer)
    return made


TOKENIZERS = {"words": None, "chars": None, "bytes": None, "byte level": byte_level, "metaspace": metaspace}
