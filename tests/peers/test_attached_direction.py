"""English under GPT-2's tokenizer, attached in both directions: most words are single tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.foreign_indexes import write_infini_gram

import ngramdb
from ngramdb.errors import InvalidArgument
from ngramdb.tokenizers.registry import create_tokenizer


@pytest.mark.parametrize(("n_documents", "n_characters"), [(40, 100), (40, 2000), (1, 20000), (300, 300)])
def test_the_wrong_direction_is_refused(
    tmp_path: Path,
    documents: list[dict[str, Any]],
    tokenizer_file: Path,
    n_documents: int,
    n_characters: int,
) -> None:
    tokenizer = create_tokenizer(tokenizer_file)
    texts = [document["text"][:n_characters] for document in documents[:n_documents]]
    ids = [tokenizer.encode(text).tolist() for text in texts]
    for version, other, advice in ((4, 5, "leave VERSION out"), (5, 4, "use VERSION 5")):
        folder = write_infini_gram(tmp_path / str(version), ids, version=version)
        with ngramdb.connect() as db:
            right = db.attach(folder, "right", tokenizer=tokenizer_file, version=version)
            assert right.document(0).text == texts[0]
            wrong = db.attach(folder, "wrong", tokenizer=tokenizer_file, version=other)
            with pytest.raises(InvalidArgument, match=advice):
                wrong.count(" the")
