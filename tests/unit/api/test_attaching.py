"""ATTACH and DETACH: infini-gram's indexes as corpora of a connection."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.foreign_indexes import tokengrams_arrays, write_infini_gram
from tokenizers import Tokenizer

import ngramdb
from ngramdb.engine.corpus import caches
from ngramdb.errors import BindError, CorruptionError, InvalidArgument, NgramdbError, StorageError
from ngramdb.segments.attached import AttachedSegment
from ngramdb.tokenizers.registry import create_tokenizer

PIECES = Path(__file__).parents[2] / "language" / "data" / "pieces.tokenizer.json"
DTYPES = (np.uint8, np.uint16, np.uint32)

SAYINGS = [json.loads(line)["text"] for line in (PIECES.parent / "sayings.jsonl").read_text().splitlines()]

# Asked of both; {} is the corpus. Placeholders are n-grams of the documents.
QUESTIONS = (
    "COUNT ? FROM {}",
    "COUNT ? [0..2] ? FROM {}",
    "COUNT ? AND NOT ? FROM {}",
    "COUNT ? FROM {} WHERE ?",
    "COUNT DOCS WHERE ? OR ? FROM {}",
    "DOCS FROM {} WHERE ? AND ? WITHIN 4 TOKENS",
    "DOCS FROM {} WHERE COUNT(?) > 1 ORDER BY length DESC",
    "DOCS FROM {} SAMPLE 3 SEED 4",
    "KWIC ? FROM {} WINDOW 3",
    "KWIC ? FROM {} ORDER BY right",
    "KWIC ? FROM {} SAMPLE 3 SEED 4",
    "NGRAMS 1 FROM {}",
    "NGRAMS 2 FROM {} TOP 7",
    "NGRAMS 3 FROM {} WHERE ?",
    "TRACE ? FROM {}",
    "DIST GIVEN ? FROM {}",
    "DIST BEFORE ? FROM {}",
    "DIST GIVEN ? FROM {} USING INFGRAM",
    "DIST GIVEN ? FROM {} USING KNESER_NEY",
    "DIST GIVEN ? FROM {} USING BACKOFF ORDER 3",
    "PROB ? GIVEN ? FROM {}",
    "PROB ? GIVEN ? FROM {} USING KNESER_NEY",
    "SCORE ? FROM {} USING INFGRAM",
    "SCORE ? FROM {} USING KNESER_NEY ORDER 3",
    "GENERATE GIVEN ? FROM {} TOKENS 5 SEED 3",
    "GENERATE GIVEN ? FROM {} USING KNESER_NEY TOKENS 5 SEED 3",
    "COUNT ? FROM {} + own",
    "NGRAMS 2 FROM {} + own TOP 9",
    "DIST GIVEN ? FROM own + {}",
    "COUNT ? FROM {} - own",
    "DOCS FROM {} - own",
    "CHECK {}",
)


def documents_of(rng, dtype):
    """Documents that repeat themselves and each other; ids whose bytes are in another order than they are."""
    most = 200 if dtype is np.uint8 else 60000
    ids = rng.choice(most, 12, replace=False)
    documents = [rng.choice(ids, rng.integers(0, 15)).tolist() for _ in range(14)]
    return [*documents, documents[0], documents[3] * 2, documents[1][1:], documents[0]]


def dealt(documents, shards):
    """The documents in the order that an index of several shards lists them."""
    return [document for shard in range(shards) for document in documents[shard::shards]]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize(("shards", "version"), [(1, 4), (4, 4), (1, 5), (3, 5), (1, 6), (3, 6)])
def test_an_attached_index_answers_as_the_same_documents_loaded(tmp_path, dtype, shards, version):
    rng = np.random.default_rng(shards)
    documents = documents_of(rng, dtype)
    write_infini_gram(tmp_path / "index", documents, dtype, shards, version=version)
    with ngramdb.connect() as db:
        for name in ("native", "own"):
            db.create_corpus(name, "tokens").append(dealt(documents, shards))
        db.execute(f"ATTACH '{tmp_path / 'index'}' AS pile (TYPE infini_gram, VERSION {version})")
        asked = [document for document in documents if len(document) > 4]
        for question in QUESTIONS:
            for document in asked[:6]:
                n = question.count("?")
                grams = [document[i : i + 1 + i % 3] for i in range(n)]
                answers = [answer_of(db, question.format(name), grams) for name in ("pile", "native")]
                assert answers[0] == answers[1], (question, grams)


def answer_of(db, statement, params):
    return [tuple(row) for row in db.execute(statement, params).fetchall()]


@pytest.fixture
def index(tmp_path):
    documents = [[1, 2, 3], [2, 3], [], [1, 2, 4, 256, 1, 2]]
    metadata = [{"year": 2000 + i} for i in range(len(documents))]
    return write_infini_gram(tmp_path / "index", documents, np.uint16, 2, metadata)


def test_an_attachment_is_a_corpus_of_the_connection(index, tmp_path):
    with ngramdb.connect(tmp_path / "db") as db:
        pile = db.attach(index, "pile")
        assert db.corpora() == ["pile"] and db.corpus("pile").count([1, 2]) == pile.count([1, 2]) == 3
        assert db.execute("COUNT [1, 2]").fetchone() == (3,)
        db.create_corpus("own", "tokens").append([[1, 2]])
        assert pile.count([1, 2]) == 3
        db.use("pile")
        assert db.execute("COUNT [1, 2]").fetchone() == (3,)
        shown = db.execute("SHOW CORPORA").fetchall()
        assert shown == [("own", False, "tokens", 1, 2, 1), ("pile", True, "tokens", 4, 11, 2)]
        with ngramdb.connect(tmp_path / "db") as other:
            assert other.corpora() == ["own"]
        db.detach("pile")
        assert db.corpora() == ["own"] and db.current_corpus is None
        with pytest.raises(BindError, match="the current corpus, 'pile', no longer exists"):
            db.execute("COUNT [1, 2]")
        with pytest.raises(BindError, match="no corpus 'pile'"):
            pile.count([1, 2])
    with ngramdb.connect(tmp_path / "db", read_only=True) as db:
        assert db.attach(index, "pile").count([256]) == 1


def test_names_are_given_once(index):
    with ngramdb.connect() as db:
        db.create_corpus("own")
        with pytest.raises(BindError, match="there is a corpus 'own'; attach the index AS another name"):
            db.attach(index, "own")
        db.attach(index, "pile")
        with pytest.raises(BindError, match="there is a corpus 'pile'"):
            db.execute("ATTACH ? AS pile", [str(index)])
        with pytest.raises(BindError, match="own is a corpus of the database, and not attached; DROP CORPUS"):
            db.execute("DETACH own")
        with pytest.raises(BindError, match="no corpus 'nothing'"):
            db.detach("nothing")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE DOCS FROM pile WHERE [1]",
        "COPY pile FROM 'x.jsonl'",
        "COMPACT pile",
        "ANALYZE pile",
        "DROP CORPUS pile",
        "DROP CORPUS IF EXISTS pile",
        "CREATE CORPUS pile",
        "CREATE CORPUS IF NOT EXISTS pile",
        "ALTER CORPUS own ADD CORPUS pile",
        "ALTER CORPUS own SUBTRACT CORPUS pile",
        "ALTER CORPUS pile ADD CORPUS own",
        "RESTORE CORPUS pile TO VERSION 1",
    ],
)
def test_nothing_is_written_to_an_attachment(index, tmp_path, monkeypatch, statement):
    monkeypatch.chdir(tmp_path)
    Path("x.jsonl").write_text('{"ids": [1]}\n')
    before = {file.name: file.read_bytes() for file in index.iterdir()}
    with ngramdb.connect() as db:
        db.create_corpus("own", "tokens")
        db.attach(index, "pile")
        version = db.version
        with pytest.raises(BindError, match="pile is attached: its files belong to another program"):
            db.execute(statement)
        assert db.version == version
        db.execute("COMPACT")
    assert {file.name: file.read_bytes() for file in index.iterdir()} == before


def test_versions_are_those_of_the_database(index):
    with ngramdb.connect() as db:
        db.attach(index, "pile")
        with pytest.raises(BindError, match="pile is attached and has no versions"):
            db.execute("COUNT [1] FROM pile AT VERSION 1")


def test_metadata_is_one_field_with_json_text(index):
    with ngramdb.connect() as db:
        db.attach(index, "pile")
        found = db.execute("""DOCS FROM pile WHERE metadata LIKE '%"year": 2003%'""").fetchall()
        assert [row[0] for row in found] == [3]
        assert ("field metadata", "string") in db.execute("DESCRIBE pile").fetchall()
        first = db.execute("DOCS FROM pile LIMIT 1")
        found = dict(zip(first.columns, first.fetchone(), strict=True))["metadata"]
        assert json.loads(found) == {"path": "0.jsonl", "linenum": 0, "metadata": {"year": 2000}}


def test_texts_need_the_tokenizer(tmp_path):
    with ngramdb.connect() as db:
        texts = ["a stitch in time", "time and tide", "in time"]
        own = db.create_corpus("own", PIECES)
        own.append(texts)
        ids = [create_tokenizer(PIECES).encode(text).tolist() for text in texts]
        folder = write_infini_gram(tmp_path / "index", ids)
        pile = db.attach(folder, "pile", tokenizer=PIECES)
        assert pile.count("in time") == own.count("in time") == 2
        assert db.execute('COUNT "in time" FROM own + pile').fetchone() == (4,)
        assert [row[-1] for row in db.execute("DOCS FROM pile").fetchall()] == texts
        with pytest.raises(InvalidArgument, match="the ids of 'words' belong to one corpus"):
            db.attach(folder, "again", tokenizer="words")
        db.attach(folder, "bare")
        with pytest.raises(BindError, match="different tokenizers"):
            db.execute("COUNT [1] FROM own + bare")


def test_documents_in_the_other_direction_are_noticed_by_their_tokenizer(tmp_path):
    texts = [f"{text} it is a matter of time and of stitches, number {i}" for i, text in enumerate(SAYINGS)]
    ids = [create_tokenizer(PIECES).encode(text).tolist() for text in texts]
    as_read = write_infini_gram(tmp_path / "4", ids)
    reverse = write_infini_gram(tmp_path / "5", ids, version=5)
    with ngramdb.connect() as db:
        pile = db.attach(reverse, "pile", tokenizer=PIECES, version=5)
        assert [row[-1] for row in db.execute("DOCS FROM pile").fetchall()] == texts
        assert pile.count("it is a matter") == len(texts)
        # Every query first opens and compares the file of the tokenizer.
        for ask in (
            lambda found: found.count([1]),
            lambda found: found.count("time"),
            lambda found: found.kwic([1]),
        ):
            with pytest.raises(InvalidArgument, match=r"are reversed, as in version 5.*; use VERSION 5"):
                ask(db.attach(reverse, "again", tokenizer=PIECES))
            db.detach("again")
            with pytest.raises(InvalidArgument, match=r"are not reversed.*leave VERSION out"):
                ask(db.attach(as_read, "again", tokenizer=PIECES, version=5))
            db.detach("again")
        # An object of the library is open already.
        with pytest.raises(InvalidArgument, match=r"; use VERSION 5"):
            db.attach(reverse, "again", tokenizer=Tokenizer.from_file(str(PIECES)))
        db.attach(as_read, "again", tokenizer=PIECES)
        db.attach(reverse, "ids")  # undetectable without a tokenizer


ATTACHING = """
import sys, ngramdb
db = ngramdb.connect()
found = db.attach(sys.argv[1], "pile", tokenizer=sys.argv[2])
print(db.execute("SHOW CORPORA").fetchall()[0][2], "tokenizers" in sys.modules)
print(found.count("time") > 0, "tokenizers" in sys.modules)
"""


def test_the_library_of_the_tokenizer_is_opened_by_the_first_question(tmp_path):
    tokenizer = create_tokenizer(PIECES)
    folder = write_infini_gram(tmp_path / "i", [tokenizer.encode(text).tolist() for text in SAYINGS])
    command = [sys.executable, "-c", ATTACHING, str(folder), str(PIECES)]
    first, second = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert re.fullmatch(r"json \(BPE, [0-9a-f]{8}\) False", first) and second == "True True"
    with ngramdb.connect() as db:
        own = db.create_corpus("own", PIECES)
        own.append(SAYINGS)
        db.attach(folder, "pile", tokenizer=PIECES)
        assert db.execute('COUNT "time" FROM own + pile').fetchall() == [(2 * own.count("time"),)]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"model": {}}', '{"model": {"vocab": 3}}', '{"model": {"vocab": {"a": 0'],
)
def test_a_file_that_is_no_tokenizer_is_refused_by_attach(index, tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_text(content)
    with ngramdb.connect() as db:
        with pytest.raises(InvalidArgument, match=r"broken\.json is not a tokenizer"):
            db.attach(index, "pile", tokenizer=path)
        with pytest.raises(InvalidArgument, match="no such file"):
            db.attach(index, "pile", tokenizer=tmp_path / "none.json")


@pytest.mark.parametrize(
    "content",
    [
        '{"version": "1.0", "added_tokens": [], "model": {"type": "New", "vocab": {"a": 0}}}',
        '{"model": {"type": "BPE", "vocab": {"a": "b"}}}',
        '{"model": {"type": "BPE", "vocab": {"a": 0 }',
    ],
)
def test_a_tokenizer_that_the_library_refuses_is_an_error_of_the_first_question(index, tmp_path, content):
    path = tmp_path / "new.json"
    path.write_text(content)
    with ngramdb.connect() as db:
        pile = db.attach(index, "pile", tokenizer=path)
        for _ in range(2):
            with pytest.raises(InvalidArgument, match=r"new\.json is not a tokenizer.json that `tokenizers`"):
                pile.count([1])


def test_an_option_that_is_none_is_not_given(index):
    with ngramdb.connect() as db:
        found = db.attach(index, "pile", tokenizer=None, dtype=None, version=None, index=None, separator=None)
        assert found.n_documents == db.attach(index, "same").n_documents > 0
        made = db.create_corpus("c", segment_tokens=None, sentences=None, sentence_separator=None)
        assert made.append(["a b"]).documents == 1


def test_versions_are_those_of_the_files(index, tmp_path):
    write_infini_gram(tmp_path / "6", [[1, 2]], version=6)
    with ngramdb.connect() as db:
        with pytest.raises(InvalidArgument, match=r"tokenized\.0 is named as in version 4, not 6"):
            db.attach(index, "pile", version=6)
        with pytest.raises(InvalidArgument, match="is named as in version 6, not 4"):
            db.attach(tmp_path / "6", "pile", version=4)
        with pytest.raises(InvalidArgument, match="version must be from 4 to 6, not 3"):
            db.attach(index, "pile", version=3)
        assert db.attach(tmp_path / "6", "pile", version=5).count([2, 1]) == 1


def test_pickled_connections_attach_again(index, tmp_path):
    with ngramdb.connect(tmp_path / "db") as db:
        pile = db.attach(index, "pile")
        copy = pickle.loads(pickle.dumps(pile))
        assert copy.count([1, 2]) == 3


# ---- what is wrong with the files ----


def cut(path, n):
    path.write_bytes(path.read_bytes()[:n])


def damage(folder):
    """Return the possible defects of an index of two shards: the damage, and the expected error."""
    big = folder / "tokenized.0"
    return {
        "cut text": (lambda: cut(big, 8), "do not belong to one index"),
        "odd text": (lambda: cut(big, 7), "do not belong to one index"),
        "empty text": (lambda: cut(big, 0), "it is empty"),
        "cut table": (
            lambda: cut(folder / "table.1", 5),
            "do not belong to one index|not that of a separator",
        ),
        "empty table": (lambda: cut(folder / "table.0", 0), "do not belong to one index"),
        "cut offsets": (lambda: cut(folder / "offset.1", 8), "2 entries for 1 documents"),
        "odd offsets": (lambda: cut(folder / "offset.0", 9), "not a multiple of 8"),
        "no offsets": (lambda: cut(folder / "offset.0", 0), "do not ascend from 0"),
        "cut metaoff": (lambda: cut(folder / "metaoff.0", 8), "1 entries for 2 documents"),
        "cut metadata": (
            lambda: cut(folder / "metadata.1", -8),
            "metadata.1: it ends in the middle of a line",
        ),
        "half the metadata": (lambda: cut(folder / "metadata.0", 9), "has 9 bytes, and its last line begins"),
        "no metadata": (lambda: (folder / "metadata.0").unlink(), "metadata.0 is missing"),
        "no metaoff": (lambda: (folder / "metaoff.1").unlink(), "metaoff.1 is missing"),
        "no text": (lambda: big.unlink(), "tokenized.0 is missing"),
        "no table": (lambda: (folder / "table.1").unlink(), "table.1 is missing"),
        "no offset": (lambda: (folder / "offset.0").unlink(), "offset.0 is missing"),
        "no shard": (
            lambda: [(folder / f"{name}.0").unlink() for name in ("tokenized", "table", "offset")],
            "shard 0 is missing",
        ),
        "other text": (
            lambda: shutil.copy(folder / "tokenized.1", big),
            "do not belong to one index|not that of a separator",
        ),
        "zeros": (lambda: big.write_bytes(bytes(big.stat().st_size)), "an offset is not that of a separator"),
        "cut offsets, no metadata": (
            lambda: (
                cut(folder / "offset.1", 8),
                (folder / "metaoff.1").unlink(),
                (folder / "metadata.1").unlink(),
            ),
            "its table has 2 separators, and its offsets 1 documents",
        ),
        "a folder": (lambda: (big.unlink(), big.mkdir()), "it is a folder"),
    }


@pytest.mark.parametrize("kind", list(damage(Path())))
def test_damaged_indexes_are_refused(index, kind):
    spoil, message = damage(index)[kind]
    spoil()
    with ngramdb.connect() as db:
        with pytest.raises(StorageError, match=message):
            db.attach(index, "pile")
        assert db.corpora() == []


def test_pointers_are_checked_when_they_are_followed(index):
    table = index / "table.1"
    table.write_bytes(b"\xff" * table.stat().st_size)
    with ngramdb.connect() as db, pytest.raises(CorruptionError):
        db.attach(index, "pile").count([1])


def test_tables_of_another_index_of_the_same_size_are_noticed(tmp_path):
    rng = np.random.default_rng(0)
    documents = [rng.integers(0, 500, 60).tolist() for _ in range(40)]
    other = [rng.permutation(document).tolist() for document in documents]
    one = write_infini_gram(tmp_path / "one", documents)
    two = write_infini_gram(tmp_path / "two", other)
    os.replace(two / "table.0", one / "table.0")
    with ngramdb.connect() as db, pytest.raises(CorruptionError):
        db.attach(one, "pile").count([1])


@pytest.mark.slow
@pytest.mark.parametrize("version", [4, 5])
def test_flipped_bytes_are_an_answer_or_an_error(tmp_path, version):
    rng = np.random.default_rng(1)
    documents = [rng.integers(0, 9, 8).tolist() for _ in range(6)]
    metadata = [{"a": i} for i in range(6)]
    folder = write_infini_gram(tmp_path / "index", documents, metadata=metadata, version=version)
    questions = (
        "COUNT [1, 2]",
        "DOCS WHERE [1] AND [2]",
        "KWIC [1]",
        "NGRAMS 2",
        "DIST GIVEN [1] USING KNESER_NEY",
        "SCORE [1, 2, 3] USING INFGRAM",
        "TRACE [1, 2, 3]",
        "CHECK",
    )
    for file in sorted(folder.iterdir()):
        whole = file.read_bytes()
        for at in range(0, len(whole), 3):
            spoilt = bytearray(whole)
            spoilt[at] ^= int(rng.choice([1, 2, 128, 255]))
            file.write_bytes(spoilt)
            with ngramdb.connect() as db:
                try:
                    db.attach(folder, "pile", version=version)
                except NgramdbError:
                    continue
                for question in questions:
                    with contextlib.suppress(NgramdbError):
                        db.execute(question).fetchall()
        file.write_bytes(whole)


def test_the_type_of_tokens_is_found_by_the_sizes(index):
    with ngramdb.connect() as db:
        assert db.attach(index, "a", dtype="u16").count([1, 2]) == 3
        with pytest.raises(CorruptionError, match="its tokens are u16 by the size of its table, not u32"):
            db.attach(index, "b", dtype="u32")
        with pytest.raises(InvalidArgument, match="dtype must be one of u8, u16, u32"):
            db.attach(index, "b", dtype="u64")
        with pytest.raises(InvalidArgument, match="no option 'kind'"):
            db.attach(index, "b", kind="x")


def test_folders_without_an_index_are_refused(tmp_path):
    with ngramdb.connect() as db:
        with pytest.raises(InvalidArgument, match="is not an infini-gram index"):
            db.attach(tmp_path, "pile")
        with pytest.raises(InvalidArgument, match="cannot read the folder"):
            db.attach(tmp_path / "nothing", "pile")
        with pytest.raises(ngramdb.QueryError, match="cannot read the folder") as raised:
            db.execute("ATTACH 'no such folder' AS pile")
        assert raised.value.column == 8


# ---- the cache ----


def test_sampled_keys_are_kept_beside_the_database(index, tmp_path, monkeypatch):
    monkeypatch.setattr(caches, "FEWEST_ROWS", 1)
    for _ in range(2):
        with ngramdb.connect(tmp_path / "db") as db:
            assert db.attach(index, "pile").count([1, 2]) == 3
        kept = sorted((tmp_path / "db" / "cache").iterdir())
        assert len(kept) == 2 and {file.suffix for file in kept} == {".keys"}
    written = [file.stat().st_ino for file in kept]
    kept[0].write_bytes(kept[0].read_bytes()[:-80] + bytes(80))
    with ngramdb.connect(tmp_path / "db") as db:
        db.create_corpus("own", "tokens")
        assert db.attach(index, "pile").count([1, 2]) == 3
        assert db.execute("CHECK").fetchall() == []
    assert [file.stat().st_ino for file in kept][1] == written[1]
    assert not list((tmp_path / "db" / "cache").glob("*.tmp"))
    # Files that change are other files.
    os.utime(index / "table.0", ns=(1, 1))
    with ngramdb.connect(tmp_path / "db") as db:
        assert db.attach(index, "pile").count([1, 2]) == 3
    assert len(list((tmp_path / "db" / "cache").iterdir())) == 3


def test_attaching_samples_no_keys_and_the_first_question_does(tmp_path, monkeypatch):
    pieces = create_tokenizer(PIECES)
    documents = [pieces.encode(text).tolist() for text in SAYINGS]
    index = write_infini_gram(tmp_path / "index", documents, np.uint16, 2)
    sampled = []
    keys_of = caches.keys_of
    monkeypatch.setattr(caches, "keys_of", lambda *given: sampled.append(given) or keys_of(*given))
    with ngramdb.connect() as db:
        pile = db.attach(index, "pile", tokenizer=os.fspath(PIECES))
        db.execute(f"ATTACH '{index}' AS again (TOKENIZER '{PIECES}')")
        db.create_corpus("own", "tokens").append(
            [[1, 2]]
        )  # another version, which the corpus does not follow yet
        assert not sampled
        assert pile.count(documents[0][:2]) >= 1
        assert len(sampled) == 2  # one for each shard


def mapped_bytes(path):
    """Bytes of a file that count as this process's memory."""
    is_its, total = False, 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0]:
            is_its = words[-1] == str(path)
        elif is_its and words[0] == "Rss:":
            total += int(words[1]) * 1024
    return total


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux reports the pages of maps")
@pytest.mark.parametrize(
    "read", [lambda segment: segment.index, AttachedSegment.check, AttachedSegment.largest_id]
)
def test_whole_passes_leave_no_pages_of_the_files(tmp_path, read):
    tokens = np.random.default_rng(1).integers(0, 1000, 500_000, dtype=np.uint32)
    with ngramdb.connect() as db:
        db.create_corpus("own", "tokens").append([tokens])
        db.corpus("own").export_infini_gram(tmp_path / "index")
    files = [(tmp_path / "index" / name).resolve() for name in ("table.0", "tokenized.0")]
    with ngramdb.connect() as db:
        db.attach(tmp_path / "index", "pile")
        (segment,) = db.snapshot.view("pile").segments
        read(segment)
        for file in files:
            assert mapped_bytes(file) <= mmap.PAGESIZE < file.stat().st_size  # of the last page


VERBS = {
    "count": lambda c: c.count([1, 2]),
    "count_many": lambda c: c.count_many([[1, 2], [9]]).tolist(),
    "prob": lambda c: c.prob([2], given=[1]),
    "dist": lambda c: c.dist([1]).fetchall(),
    "dist_arrays": lambda c: [a.tolist() for a in c.dist_arrays([1])[:2]],
    "docs": lambda c: c.docs("[1, 2]").fetchall(),
    "score": lambda c: c.score([1, 2, 4], "ngram").logprob.tolist(),
    "document": lambda c: c.document(3).ids.tolist(),
    "n_tokens": lambda c: c.n_tokens,
    "tokenizer": lambda c: c.tokenizer.kind,
    "repr": repr,
    "where": lambda c: c.where("[1, 2]").count([1, 2]),
    "ngrams": lambda c: c.ngrams(2).fetchall(),
    "generate": lambda c: c.generate([1], tokens=2, seed=1),
}


@pytest.mark.parametrize("verb", VERBS)
def test_whatever_is_asked_first_of_an_attached_index(index, verb):
    with ngramdb.connect() as db:
        assert VERBS[verb](db.attach(index, "pile")) == VERBS[verb](db.corpus("pile"))


def test_an_attached_index_is_read_into_memory_as_prewarm_says(index, monkeypatch):
    read = []
    read_part = AttachedSegment.read_part
    monkeypatch.setattr(
        AttachedSegment, "read_part", lambda *given: read.append(given[1:]) or read_part(*given)
    )
    with ngramdb.connect() as db:
        pile = db.attach(index, "pile")
        db.execute("SET prewarm = 'off'")
        assert pile.count([1, 2]) == 3 and not read
        warmed = pile.warm()
        assert len(read) == 2 and warmed.bytes_in_memory > 0
        db.execute("SET prewarm = 'on'")
        db.attach(index, "again")
        assert len(read) == 2
        assert db.execute("COUNT [1, 2] FROM again").fetchone() == (3,)
        assert len(read) == 4


def test_nothing_is_kept_where_nothing_may_be_written(index, tmp_path, monkeypatch):
    monkeypatch.setattr(caches, "FEWEST_ROWS", 1)
    ngramdb.connect(tmp_path / "db").close()
    with ngramdb.connect(tmp_path / "db", read_only=True) as db:
        assert db.attach(index, "pile").count([1, 2]) == 3
    assert not (tmp_path / "db" / "cache").exists()


# ---- tokengrams ----


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32], ids=lambda dtype: dtype.__name__)
def test_an_index_of_tokengrams_answers_as_the_same_documents_loaded(tmp_path, dtype):
    documents = [document for document in documents_of(np.random.default_rng(3), dtype) if document]
    text, table = tokengrams_arrays(documents, dtype, separator=60001)
    (tmp_path / "t.bin").write_bytes(text.tobytes())
    (tmp_path / "t.idx").write_bytes(table.tobytes())
    with ngramdb.connect() as db:
        for name in ("native", "own"):
            db.create_corpus(name, "tokens").append(documents)
        db.attach(tmp_path / "t.bin", "pile", type="tokengrams", separator=60001)
        for question in QUESTIONS:
            for document in [document for document in documents if len(document) > 4][:3]:
                grams = [document[i : i + 1 + i % 3] for i in range(question.count("?"))]
                answers = [answer_of(db, question.format(name), grams) for name in ("pile", "native")]
                assert answers[0] == answers[1], (question, grams)
        whole = db.attach(tmp_path / "t.bin", "whole", type="tokengrams")
        assert (whole.n_documents, whole.n_tokens) == (1, len(text))
        assert whole.count([60001]) == len(documents)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32], ids=lambda dtype: dtype.__name__)
def test_a_text_that_ends_in_the_id_0_does_not_go_on_with_it(tmp_path, dtype):
    tokens = [*np.random.default_rng(1).integers(0, 3, 99).tolist(), 1, 0, 0]
    text, table = tokengrams_arrays([tokens], dtype)
    (tmp_path / "t.bin").write_bytes(text.tobytes())
    (tmp_path / "t.idx").write_bytes(table.tobytes())
    with ngramdb.connect() as db:
        db.create_corpus("native", "tokens").append([tokens])
        db.create_corpus("own", "tokens").append([[0, 0, 0, 1], [1, 0]])
        db.attach(tmp_path / "t.bin", "pile", type="tokengrams")
        for gram in ([0], [0, 0], [1, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0, 0], [0] * 9):
            for question in QUESTIONS:
                grams = [gram] * question.count("?")
                answers = [answer_of(db, question.format(name), grams) for name in ("pile", "native")]
                assert answers[0] == answers[1], (question, grams)


def test_files_that_are_not_of_tokengrams_are_refused(tmp_path):
    text, table = tokengrams_arrays([[1, 2, 3]])
    file, pointers = tmp_path / "t.bin", tmp_path / "t.idx"
    file.write_bytes(text.tobytes())
    with ngramdb.connect() as db:
        with pytest.raises(InvalidArgument, match=r"file not found: .*t\.idx"):
            db.attach(file, "pile", type="tokengrams")
        for wrong in (table.tobytes()[:-1], table.tobytes()[:-8], b"", table.tobytes() * 5):
            pointers.write_bytes(wrong)
            with pytest.raises(CorruptionError, match="do not belong to one index"):
                db.attach(file, "pile", type="tokengrams")
        pointers.write_bytes(table.tobytes())
        with pytest.raises(CorruptionError, match="its tokens have 2 bytes"):
            db.attach(file, "pile", type="tokengrams", dtype="u32")
        with pytest.raises(InvalidArgument, match="SEPARATOR 70000 does not fit the 2-byte tokens"):
            db.attach(file, "pile", type="tokengrams", separator=70000)
        pointers.write_bytes(b"\xff" * len(table))
        with pytest.raises(CorruptionError):
            db.attach(file, "pile", type="tokengrams", separator=2).count([1])


def test_a_path_that_is_no_text_is_refused() -> None:
    with ngramdb.connect() as db, pytest.raises(NgramdbError, match="cannot be the name of a file"):
        db.execute("ATTACH :a AS c", {"a": "\ud800"})
