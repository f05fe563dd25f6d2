"""Words and subword pieces: text to token ids and back."""
