"""Wrote `database.tar.gz` and `answers.json` beside it, once, with the version of ngramdb that made format 1.

    PYTHONPATH=tests python tests/compat/format_1/write.py FOLDER

writes both into a folder, with whatever version is installed. The two files here are never replaced: they
stand for the databases that people have. What a later version writes differently gets a folder of its own.

The database has what the format can hold: a corpus for every tokenizer, segments of every symbol width,
several segments and vocabularies per corpus, removed documents (a segment with sign -1, audits), ids with
gaps (a compacted segment), shifted ids (a corpus that was added), current statistics (with frequent
n-grams and without) and stale ones, metadata of every type, more fields than there are
columns, lines of JSON of every form, a sentence separator, far indexes, a dropped corpus and earlier
versions.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tarfile
from pathlib import Path
from typing import Any

import pyarrow
import tokenizers
from support.compat_questions import ask, exported, fields
from tokenizers import decoders, models, pre_tokenizers, trainers

import ngramdb
from ngramdb.engine.changes import removals
from ngramdb.engine.storage import files, transaction

LINES = [
    '{"text": "time flies like an arrow", "kind": "proverb", "year": 1930, "ok": true, "score": 0.5}',
    '{"text": "fruit flies like a banana", "kind": "joke", "year": 1966, "ok": false, "score": 2}',
    '{"text":"time flies when you read a book","kind":"proverb","tags":["old","new"],"year":null}',
    '{"text":"fruit flies like an apple \\u00e9t\\u00e9","kind":"joke",'
    '"n":[1,2,-3],"f":[0.5,1.0],"b":[true,false]}',
    '{"text": "Ünïcode flies: 東京 👩‍🚀 naïve", "kind": "joke", "deep": {"a": {"b": {"c": 1}}, "e": {}}}',
    '{"kind" :  "spaced",  "text" : "a line with blanks of its own" , "mixed": 1}',
    '{"text": "a \\/ slash that json does not escape", "mixed": "one", "none": [null]}',
    '{"text": "values of several shapes", "mixed": [1, "two", {"three": 3}], '
    '"big": 123456789012345678901234567890}',
    '{"text": "", "kind": "empty", "year": -5}',
    '{"text": "time flies like an arrow", "kind": "twin", "year": 9007199254740993}',
]
MORE = [
    '{"text": "a horse is a horse, of course", "kind": "song", "year": 1961}',
    '{"text": "an apple a day keeps the doctor away", "kind": "proverb", "year": 1913}',
    '{"text": "time and tide wait for no man", "kind": "proverb", "dotted.name": "x", "length": 3}',
]
# More fields than columns: the last ones are stored in the hidden field of the rest.
WIDE = json.dumps({"text": "a wide document flies", **{f"field{i:03}": i for i in range(300)}})
DEEP = json.dumps({"text": "a deep document", "down": json.loads('{"x":' * 20 + "1" + "}" * 20)})
PROSE = (
    "Time flies like an arrow; fruit flies like a banana.\nIt isn't the fly's fault, they'd say — naïve!\n"
)

TEXTS = ("words", "bytes", "chars", "pieces", "twice")
CORPORA = (*TEXTS, "ids", "largest", "wide")
QUESTIONS = [
    'COUNT "flies" FROM {c}',
    'COUNT "" FROM {c}',
    'COUNT "time" [1..9] "an" FROM {c}',
    'COUNT "flies" AND NOT "time" FROM {c}',
    'COUNT "FLIES" IGNORE CASE FROM {c}',
    'COUNT "lie" MATCH TEXT FROM {c}',
    "COUNT DOCS FROM {c}",
    'COUNT DOCS WHERE "time" OR "fruit" AND NOT "banana" FROM {c}',
    'DOCS WHERE "flies" ORDER BY length DESC, doc_id FROM {c}',
    'DOCS WHERE "time" OR "horse" FROM {c}',
    "DOCS WHERE length < 9 FROM {c}",
    'KWIC "flies" WINDOW 6 FROM {c}',
    'KWIC "a" ORDER BY right LIMIT 5 FROM {c}',
    "NGRAMS 1 TOP 12 FROM {c}",
    "NGRAMS 3 TOP 7 FROM {c}",
    'TRACE "they say that fruit flies like an arrow" MIN LENGTH 3 FROM {c}',
    'PROB "flies" GIVEN "time " FROM {c}',
    'DIST GIVEN "flies" FROM {c}',
    'DIST GIVEN "fruit flies like a" USING INFGRAM FROM {c}',
    'SCORE "time flies like a banana" USING KNESER_NEY DOCUMENT FROM {c}',
    'SCORE "fruit flies like an arrow" USING BACKOFF ORDER 3 FROM {c}',
    'GENERATE GIVEN "time" TOKENS 6 FROM {c}',
    "DOCS SAMPLE 3 SEED 2 FROM {c}",
]
# For corpora with known sentences, unlike those that were loaded before sentences were stored.
SENTENCE_QUESTIONS = [
    "COUNT <s> * FROM {c}",
    "KWIC * </s> WINDOW 2 FROM {c}",
    'COUNT "a" AND "flies" WITHIN SENTENCE FROM {c}',
]
ID_QUESTIONS = [
    "COUNT [1, 2] FROM ids",
    "COUNT [] FROM ids",
    "COUNT [4294967294] FROM ids",
    "COUNT [4294967295] FROM largest",
    "DIST GIVEN [4294967294] FROM largest",
    "COUNT [255] FROM ids",
    "COUNT [70000] OR [65535] FROM ids",
    "DOCS WHERE [1] AND NOT [300] FROM ids",
    "DOCS FROM ids",
    "KWIC [2] WINDOW 2 FROM ids",
    "NGRAMS 2 TOP 9 FROM ids",
    "DIST GIVEN [1] FROM ids",
    "SCORE [1, 2, 3, 1] USING KNESER_NEY FROM frequent",
    "DIST GIVEN [2] USING KNESER_NEY ORDER 3 FROM frequent",
    "PROB [3] GIVEN [1, 2] USING KNESER_NEY ORDER 3 FROM ids",
    "SCORE [1, 2, 3, 255] USING INFGRAM FROM ids",
    "TRACE [9, 1, 2, 3, 9] FROM ids",
]
FIELD_QUESTIONS = [
    "DOCS WHERE year > 1950 FROM words",
    "DOCS WHERE year IS NULL FROM words",
    "COUNT DOCS WHERE ok = TRUE OR score >= 2 FROM words",
    "COUNT DOCS WHERE tags = 'new' FROM words",
    "COUNT DOCS WHERE n = -3 OR f = 0.5 OR b = FALSE FROM words",
    "COUNT DOCS WHERE kind LIKE 'p%b' FROM words",
    "COUNT DOCS WHERE deep.a.b.c = 1 FROM words",
    "COUNT DOCS WHERE mixed = 'one' FROM words",
    "COUNT DOCS WHERE field007 = 7 AND field299 = 299 FROM wide",
    "DOCS WHERE year = 1930 FROM wide",
    "COUNT DOCS WHERE `dotted.name` = 'x' FROM words",
    "COUNT DOCS WHERE metadata.length = 3 FROM words",
    'COUNT "a" GROUP BY kind FROM words',
    "COUNT DOCS GROUP BY kind TOP 2 FROM words",
    "COUNT DOCS WHERE OVERLAP(twice, 3) >= 0.5 FROM words",
]
# Questions about several corpora and about versions before the last one, as long as these are kept.
OTHER_QUESTIONS = [
    'COUNT "flies" FROM words - twice + twice',
    'DIST GIVEN "flies" FROM words + twice',
    'COUNT "banana" FROM words AT VERSION {before}',
    "DOCS FROM words - words AT VERSION {before} + words AT VERSION {before}",
    'COUNT "gone" FROM dropped AT VERSION {dropped}',
]
# A version with a name stays readable, whatever is written.
NAMED_QUESTIONS = [
    "COUNT \"banana\" FROM words AT VERSION 'complete'",
    "DOCS FROM pieces AT VERSION 'complete'",
    "DOCS FROM words AT VERSION 'complete' - words",
    "DOCS FROM gone AT VERSION 'complete'",
    "DOCS FROM typed",
]
# Fields with the types of a table's columns.
TYPED = pyarrow.array([-1, 1], pyarrow.int8())
# The layout of the database, which every write changes; only these columns are compared.
LAYOUT_QUESTIONS = {
    "SHOW CORPORA": ("corpus", "documents", "tokens", "segments"),
    "SHOW VERSIONS": ("version", "by", "action", "documents", "tokens", "current"),
    "SHOW REMOVALS FROM words": ("corpus", "version", "by", "documents", "tokens", "statement"),
    "SHOW REMOVALS FROM pieces": ("corpus", "version", "by", "documents", "tokens", "statement"),
    **{
        f"SHOW SEGMENTS FROM {name}": (
            "segment",
            "sign",
            "documents",
            "tokens",
            "first_doc_id",
            "bytes",
            "version",
        )
        for name in CORPORA
    },
}


def byte_level() -> str:
    """A byte-level BPE of 320 tokens, as the text of its tokenizer.json."""
    library = tokenizers.Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, initial_alphabet=alphabet, show_progress=False)
    library.train_from_iterator([PROSE] * 3, trainer)
    return library.to_str()


def load(db: ngramdb.Connection, corpus: str, folder: Path, lines: list[str], options: str = "") -> None:
    """One load, and so one segment, of lines of JSON."""
    path = folder / "lines.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    db.execute(f"COPY {corpus} FROM ? {options}", [str(path)])


def fill_texts(db: ngramdb.Connection, name: str, folder: Path) -> None:
    """Three loads, a removal that is compacted away, one that is not, and statistics between the two."""
    load(db, name, folder, LINES)
    load(db, name, folder, MORE)
    db.execute(f"DELETE DOCS WHERE doc_id IN (7, 12) FROM {name}")
    db.execute(f"COMPACT {name}")
    load(db, name, folder, [DEEP])
    db.corpus(name).append([{"text": "appended by Python", "kind": "call"}, "a bare text"])


def write(folder: Path) -> dict[str, Any]:
    """Create the database in `folder`; return the data that questions need."""
    db = ngramdb.connect(folder)
    db.execute("SET auto_compact = FALSE; SET progress = FALSE")
    scratch = folder.parent
    definition = scratch / "tokenizer.json"
    definition.write_text(byte_level(), encoding="utf-8")
    db.create_corpus("words")
    db.create_corpus("bytes", tokenizer="bytes")
    db.create_corpus("chars", tokenizer="chars", sentence_separator=".")
    db.create_corpus("pieces", tokenizer=str(definition))
    db.create_corpus("ids", tokenizer="tokens", segment_tokens=2048)
    db.create_corpus("dropped").append(["what is gone"])
    dropped = db.version
    db.drop_corpus("dropped")
    for name in ("words", "bytes", "chars", "pieces"):
        fill_texts(db, name, scratch)
    db.create_corpus("wide")
    load(db, "wide", scratch, [WIDE, LINES[0]], "(resume TRUE)")
    ids = db.corpus("ids")
    ids.append([[1, 2, 3, 255], [1, 2, 4], [0, 254, 255]])
    ids.append([[1, 2, 3, 300, 65535], [65534, 70]])
    ids.append([[70000, 1, 2], [], [4294967294, 1]])
    db.create_corpus("largest", tokenizer="tokens").append([[4294967295, 0], [4294967294, 4294967295]])
    db.create_corpus("frequent", tokenizer="tokens").append([[1, 2, 3] * 2 + [1, 2] * 17_000, [2, 3, 1]])
    db.execute("ANALYZE frequent")
    db.create_corpus("gone").append(["time flies", "what is gone"])
    before = db.keep_version("complete")
    db.execute('DELETE DOCS WHERE "gone" FROM gone')
    db.drop_corpus("gone")
    db.execute("ANALYZE words")
    db.execute("ANALYZE chars")
    db.execute("DELETE DOCS WHERE \"banana\" OR kind = 'song' FROM words")
    db.execute('DELETE DOCS WHERE "banana" MATCH TEXT FROM pieces')
    db.execute("DELETE DOCS WHERE [300] FROM ids")
    db.execute("ANALYZE words")
    db.create_corpus("twice")
    load(db, "twice", scratch, LINES[:4])
    db.execute("ALTER CORPUS twice ADD CORPUS words")
    db.create_corpus("typed").append(
        pyarrow.table({"text": ["a", "b"], "day": pyarrow.array([0, 18321], pyarrow.date32()), "n": TYPED})
    )
    db.execute("SET far_index = TRUE")
    for name in ("chars", "ids", "largest"):
        db.execute(f"COMPACT {name}")
    db.close()
    return {"before": before, "dropped": dropped}


def answers(folder: Path, versions: dict[str, Any]) -> dict[str, Any]:
    """All questions with their answers, by whether they hold after the database has been written to."""
    texts = [question.format(c=name) for name in TEXTS for question in QUESTIONS + SENTENCE_QUESTIONS]
    always = [*texts, *ID_QUESTIONS, *FIELD_QUESTIONS, *NAMED_QUESTIONS]
    with ngramdb.connect(folder, read_only=True) as db:
        return {
            "version": ngramdb.__version__,
            "always": [ask(db, statement) for statement in always],
            "while versions are kept": [ask(db, question.format(**versions)) for question in OTHER_QUESTIONS],
            "as laid out": [ask(db, statement, columns) for statement, columns in LAYOUT_QUESTIONS.items()],
            "fields": {name: fields(db, name) for name in CORPORA if name != "wide"},
            "exports": {name: exported(db, name, folder.parent) for name in CORPORA},
        }


def pack(folder: Path, target: Path) -> None:
    """The database as an archive, without dates, owners and whoever wrote last."""
    (folder / "LOCK").write_text("1 example")
    with tarfile.open(target, "w:gz") as archive:
        for path in sorted(folder.rglob("*")):
            info = archive.gettarinfo(str(path), str(path.relative_to(folder)))
            info.uid = info.gid = info.mtime = 0
            info.uname = info.gname = ""
            archive.addfile(info, io.BytesIO(path.read_bytes()) if path.is_file() else None)


def as_json(found: dict[str, Any]) -> str:
    """The answers as JSON, with a line for each."""
    parts = []
    for key, value in found.items():
        if isinstance(value, list):
            items = ",\n".join(json.dumps(item, ensure_ascii=False) for item in value)
            parts.append(f"{json.dumps(key)}: [\n{items}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(target: Path) -> None:
    for module in (files, removals, transaction):
        module.author = lambda: "ann@example"  # type: ignore[attr-defined]
    scratch = target / "scratch"
    folder = scratch / "database"
    scratch.mkdir(parents=True)
    versions = write(folder)
    found = answers(folder, versions)
    (target / "answers.json").write_text(as_json(found), encoding="utf-8")
    pack(folder, target / "database.tar.gz")
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
