"""Tokenizers that tests train on a few texts."""

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers


def word_pieces(texts):
    """Pieces of a normalized text, which do not spell it."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=120, special_tokens=["[UNK]"], show_progress=False)
    made.train_from_iterator(texts, trainer)
    return made
