"""Damage every file of a small database in every way, and run every kind of question on it.

    python tests/torture/damage.py [--flips 5000] [--others 500] [--sealed 5000] [--seed 1]

Every byte of every header and footer is flipped (one bit, and all eight); then come random flips, truncated
and grown files, zeroed and copied pages, swapped and missing files. Each answer must be the right one or a
StorageError: no other exception, no signal, no hang. CHECK must notice every damage to a file that the newest
version needs. Every fourth database is also compacted and loaded into, and asked again.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from children import FAILED, Child, Clock, arguments, warm_up, watch

import ngramdb
from ngramdb.errors import NgramdbError, StorageError

sys.path.insert(0, str(Path(__file__).parent.parent))
from support.resealing import damaged

BATCH = 40
MOST_FAILURES = 30
# Longer than a database of this size takes by a factor of some hundred.
HANG_S = 60
PAGE = 512

QUESTIONS = [
    'COUNT "w1 w2"',
    'COUNT "" FROM pieces',
    'COUNT ("w1" OR "w2 w3") AND NOT "w4" GROUP BY source',
    'COUNT "w1" [0..2] "w2"',
    'COUNT "w1" AND "w2" WITHIN 3 TOKENS',
    'COUNT /w[0-4]+/ *{0,2} ("w2" | "w3" "w4"){1,2}',
    'KWIC * "w2" LIMIT 5 FROM pieces',
    'COUNT DOCS WHERE "w1" PREFIX * "w2" IGNORE DIACRITICS FROM words',
    'COUNT "W3" IGNORE CASE',
    'COUNT "1 w" MATCH TEXT FROM pieces',
    'COUNT DOCS WHERE COUNT("w3") >= 2 GROUP BY source',
    "COUNT DOCS WHERE n BETWEEN 3 AND 40 OR source IS NULL",
    'DOCS WHERE "w5" ORDER BY n DESC LIMIT 7',
    'DOCS FROM pieces WHERE "w5"',
    "DOCS WHERE OVERLAP(pieces, 2) >= 0.5 FROM pieces",
    "DOCS SAMPLE 3 SEED 1",
    'KWIC "w2" LIMIT 5 ORDER BY right',
    'KWIC "w2" FROM pieces',
    'COLLOCATES OF "w2" TOP 5',
    'COLLOCATES OF "w2" WHERE n > 3 BY LL FROM words',
    "KEYWORDS OF WHERE n > 5 AGAINST REST TOP 5 FROM words",
    "KEYWORDS OF words WHERE n > 5 AGAINST words WHERE n < 3 NGRAMS 2 TOP 5",
    'DISPERSION OF "w2"',
    'DISPERSION OF "w2" BY source FROM words',
    'DIST BEFORE "w2"',
    "DUPLICATES LENGTH >= 2 LIMIT 5",
    "DUPLICATES LENGTH >= 4 BYTES BY DOCUMENTS WHERE n > 3 LIMIT 5 FROM words",
    "NGRAMS 2 TOP 5",
    'NGRAMS 1..2 CONTAINING "w2" MIN COUNT 2 WITH DOCS TOP 5',
    'NGRAMS 2 IGNORE CASE STARTING "w2" WHERE n > 3 TOP 5 FROM words',
    "NGRAMS 1 WHERE source = 'web' TOP 3",
    'TRACE "w1 w2 w3 w4 w5 w6" MIN LENGTH 2',
    "NEAR DUPLICATES CONTAINED >= 0.5 NGRAM 1 WORDS KEEP BY n DESC FROM words",
    'PROB "w2" GIVEN "w1"',
    'PROB "w2" GIVEN "w1" USING BACKOFF',
    'PROB "w2" GIVEN "w9 w1" USING KNESER_NEY ORDER 3',
    'PROB "w2" GIVEN "w9 w1" USING WITTEN_BELL',
    'PROB "w2" GIVEN "w9 w1" USING PITMAN_YOR',
    'PROB "w2" GIVEN "w9 w1" USING KATZ',
    'PROB "w2" GIVEN "w9 w1" USING SKIP_KNESER_NEY',
    'DIST GIVEN "w1"',
    'DIST GIVEN "w1" FROM pieces TOP 4',
    'SCORE "w1 w2 w3" USING INFGRAM',
    'GENERATE GIVEN "w1" TOKENS 5 METHOD SAMPLE SEED 3',
    "PERPLEXITY OF pieces USING KNESER_NEY ORDER 3, INFGRAM BY source FROM words",
    "AGREEMENT OF pieces BY LENGTH WITH ARGMAX FROM words",
    "NOVELTY OF pieces NGRAMS 1..4 FROM words",
    "TRACE OF pieces MIN LENGTH 2 FROM words",
    'CONTINUATIONS OF "w2" FROM words',
    'COUNT "w1" FROM words AT VERSION 5 - words AT VERSION 4',
    'COUNT "w7" FROM words AT VERSION 4',
    "DESCRIBE words",
    "SHOW CORPORA",
    "SHOW SEGMENTS",
    "SHOW VERSIONS",
    "SHOW REMOVALS",
    "EXPLAIN ANALYZE COUNT DOCS WHERE \"w1\" AND source = 'web'",
]
WRITES = [
    "COMPACT words",
    "DELETE DOCS WHERE doc_id = 1000000 FROM words",
    "COMPACT pieces",
]
#: These change answers.
MORE_WRITES = [
    'DELETE DOCS WHERE "w2 w3" FROM words',
    "DELETE DUPLICATES FROM words",
    "DELETE NEAR DUPLICATES CONTAINED >= 0.9 NGRAM 2 WORDS AGAINST pieces FROM words",
    "CREATE CORPUS sum",
    "ALTER CORPUS sum ADD CORPUS words",
    "ALTER CORPUS sum SUBTRACT CORPUS words",
    "ANALYZE words",
]
#: Labels of exceptions of ours other than StorageError, and of any others.
OURS, RAW = "an error of ours:", "a raw exception:"
# Figures of times and costs are not the same twice.
UNSTEADY = {QUESTIONS[-1], "SHOW SEGMENTS"}


def make(path: Path) -> None:
    """A database with several segments, removals, records, statistics, two tokenizers, forms of lines."""
    rng = random.Random(1)
    lines = path.with_name("lines.jsonl")
    with ngramdb.connect(path) as db:
        db.settings["auto_compact"] = False
        words = db.create_corpus("words")
        words.append(document(rng, i) for i in range(60))
        words.append(document(rng, i) for i in range(40))
        lines.write_text("".join(json.dumps(document(rng, i), indent=None) + "\n" for i in range(30)))
        words.load(lines)
        words.delete('"w7 w8" OR doc_id = 3')
        words.delete("doc_id = 70")
        pieces = db.create_corpus("pieces", tokenizer=str(tokenizer(path.with_name("tokenizer.json"))))
        pieces.append(document(rng, i) for i in range(40))
        words.analyze()
        db.use("words")


def document(rng: random.Random, i: int) -> dict[str, Any]:
    text = " ".join(f"w{rng.randrange(12)}" for _ in range(rng.randrange(40)))
    return {"text": text, "source": rng.choice(["web", "book", None]), "n": i, "deep": {"list": [i, 1.5]}}


def tokenizer(path: Path) -> Path:
    """A small tokenizer.json."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE(unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["?"], show_progress=False)
    made.train_from_iterator([" ".join(f"w{i}" for i in range(12))], trainer)
    made.save(str(path))
    return path


# ---- questions ------------------------------------------------------------------------------------------


def ask(db: Any, question: str) -> str:
    """The answer in text; "detected", or what else went wrong."""
    try:
        rows = db.execute(question).fetchall()
    except StorageError:
        return "detected"
    except Exception as error:
        return _described(error)
    return "some rows" if question in UNSTEADY else repr(rows)


def answers(path: Path) -> list[str]:
    """Return the answers to all questions, and to two invalid statements."""
    try:
        with ngramdb.connect(path, read_only=True) as db:
            db.use("words")
            found = [ask(db, question) for question in QUESTIONS]
            found.append(_asked(lambda: db.corpus("words").count_many(["w1", "w2 w3"]).tolist()))
            found.append(_asked(lambda: _exported(db, path.with_name("out.jsonl"))))
    except StorageError:
        return ["detected"] * (len(QUESTIONS) + 2)
    return found


def _asked(verb: Any) -> str:
    try:
        return repr(verb())
    except StorageError:
        return "detected"
    except Exception as error:
        return _described(error)


def _described(error: Exception) -> str:
    """Describe an unexpected error and where it came from; one of ours, only the error."""
    if isinstance(error, NgramdbError):
        return f"{OURS} {error}"
    places = [
        f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
    ]
    return f"{RAW} {type(error).__name__}: {error} ({' '.join(places[-4:])})"


def _exported(db: Any, out: Path) -> bytes:
    db.execute("COPY (DOCS FROM words) TO ?", [str(out)])
    return out.read_bytes()


def noticed(path: Path) -> bool:
    """Return True if CHECK reports something, or the database can't be opened."""
    try:
        with ngramdb.connect(path, read_only=True) as db:
            return bool(db.execute("CHECK").fetchall())
    except StorageError:
        return True


def work_on(path: Path, any_answer: bool) -> None:
    """Writes, as far as that can be done; what changes answers only where any will do."""
    for statement in WRITES + any_answer * MORE_WRITES:
        try:
            with ngramdb.connect(path) as db:
                db.execute(statement)
        except NgramdbError:
            pass


# Answers that a compaction may change: what files, versions and plans look like, and dropped words.
CHANGING = ("SHOW", "DESCRIBE", "EXPLAIN")


# ---- damage ---------------------------------------------------------------------------------------------

Damage = tuple[str, dict[str, bytes | None]]


def damages(files: dict[str, bytes], n_flips: int, n_others: int, seed: int) -> Iterator[Damage]:
    """Yield damages with the new content of files; None for a deleted file."""
    rng, names = random.Random(seed), sorted(files)
    for name in names:
        for place in (*range(64), *range(-64, 0)):
            for mask in (1 << rng.randrange(8), 0xFF):
                yield f"header or footer of {name}", {name: _flipped(files[name], place, mask)}
    for _ in range(n_flips):
        name = rng.choice(names)
        place = rng.randrange(len(files[name]))
        yield f"flip in {name}", {name: _flipped(files[name], place, rng.randrange(1, 256))}
    for kind in ("truncated", "grown", "zeroed", "copied", "swapped", "missing"):
        for _ in range(n_others):
            changed = _changed(kind, files, rng)
            if any(content != files[name] for name, content in changed.items()):
                yield f"{kind}: {', '.join(changed)}", changed


def sealed_damages(files: dict[str, bytes], n: int, seed: int) -> list[Damage]:
    """Other contents, with right checksums."""
    return [damaged(files, random.Random(f"{seed} {k}")) for k in range(n)]


def _flipped(content: bytes, place: int, mask: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= mask
    return bytes(changed)


def _changed(kind: str, files: dict[str, bytes], rng: random.Random) -> dict[str, bytes | None]:
    name = rng.choice(sorted(files))
    content = files[name]
    start = rng.randrange(len(content)) // PAGE * PAGE
    if kind == "truncated":
        return {name: content[: rng.randrange(len(content))]}
    if kind == "grown":
        return {name: content + rng.randbytes(rng.randrange(1, 100))}
    if kind == "zeroed":
        return {name: content[:start] + bytes(len(content[start : start + PAGE])) + content[start + PAGE :]}
    other = rng.choice([one for one in sorted(files) if one != name])
    if kind == "copied":
        page = files[other][:PAGE]
        return {name: (content[:start] + page + content[start + len(page) :])[: len(content)]}
    if kind == "swapped":
        return {name: files[other], other: content}
    # A version without a manifest is one that is not kept, and the newest one that has one is the database.
    return {rng.choice([one for one in sorted(files) if not one.startswith("manifests/")]): None}


def lay_out(files: dict[str, bytes], changed: dict[str, bytes | None], sound: Path, path: Path) -> None:
    """A database of these files, those that are as they were being shared."""
    shutil.rmtree(path, ignore_errors=True)
    for name in files:
        content = changed.get(name, files[name])
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            continue
        if name in changed:
            target.write_bytes(content)
        else:
            os.link(sound / name, target)


# ---- one batch after the other --------------------------------------------------------------------------


class Bench:
    """A sound database, its answers, and a place for damaged ones."""

    def __init__(self, folder: Path) -> None:
        self.sound, self.path = folder / "sound", folder / "damaged" / "db"
        self.path.parent.mkdir()
        Child(lambda say: make(self.sound)).wait()
        found = (one for one in self.sound.rglob("*") if one.is_file() and one.name != "LOCK")
        self.files = {str(one.relative_to(self.sound)): one.read_bytes() for one in found}
        child = Child(lambda say: say(self._first_look()))
        self.expected, self.needed = next(child.listen())
        child.wait()
        assert all(answer.startswith(("[", "b'", "some rows")) for answer in self.expected), self.expected

    def _first_look(self) -> list[Any]:
        with ngramdb.connect(self.sound, read_only=True) as db:
            needed = [*db.snapshot.manifest.files(), max(self.files, key=_version), "NGRAMDB"]
        return [answers(self.sound), needed]

    def try_batch(self, batch: list[Damage], first: int, say: Any) -> None:
        """Says for each damage what became of the questions, or what was wrong."""
        for k, (what, changed) in enumerate(batch):
            watch(HANG_S)
            lay_out(self.files, changed, self.sound, self.path)
            any_answer = is_sealed(what)
            counts, wrong = self._verdicts(answers(self.path), any_answer=any_answer)
            if (
                not noticed(self.path)
                and not is_sealed(what)
                and any(name in self.needed for name in changed)
            ):
                wrong.append("CHECK finds nothing")
            if (first + k) % 4 == 0:
                work_on(self.path, any_answer)
                _, more = self._verdicts(answers(self.path), CHANGING, any_answer)
                wrong += [f"after COMPACT: {one}" for one in more]
            say([what, counts, wrong])

    def _verdicts(
        self, found: list[str], but: tuple[str, ...] = (), any_answer: bool = False
    ) -> tuple[list[int], list[str]]:
        n_right = n_detected = 0
        wrong = []
        asked = [*QUESTIONS, "count_many", "COPY TO"]
        for question, answer, expected in zip(asked, found, self.expected, strict=True):
            if answer == "detected":
                n_detected += 1
            elif (
                answer == expected
                or question.startswith(but or ("\0",))
                or (any_answer and not answer.startswith(RAW))
            ):
                n_right += 1
            else:
                wrong.append(f"{question}: {answer[:300]}, not {expected[:300]}")
        return [n_right, n_detected], wrong


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--flips", type=int, default=5000)
    parser.add_argument("--others", type=int, default=500, help="of each other kind")
    parser.add_argument("--sealed", type=int, default=5000, help="with right checksums")
    parser.add_argument("--stride", type=int, default=1, help="use only every STRIDE-th damage")
    parser.add_argument("--first", type=int, default=0, help="skip that many of them")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    warm_up()
    clock, tried, n_right, n_detected = Clock(), Counter[str](), 0, 0
    failures: list[str] = []
    told = 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        every = list(damages(bench.files, given.flips, given.others, given.seed))[given.first :: given.stride]
        every += sealed_damages(bench.files, given.sealed, given.seed)
        done = 0
        while done < len(every) and len(failures) < MOST_FAILURES:
            first, batch = done, every[done : done + BATCH]
            child = Child(lambda say, batch=batch, first=first: bench.try_batch(batch, first, say))
            for said in child.listen():
                if said[0] == FAILED:
                    failures.append(f"{every[done][0]}: {said[1]}")
                    done += 1
                    continue
                what, (right, detected), wrong = said
                failures += [f"{what}: {one}" for one in wrong]
                tried[kind_of(what)] += 1
                n_right, n_detected, done = n_right + right, n_detected + detected, done + 1
            status = child.wait()
            if status < 0:
                failures.append(f"{every[done][0]}: signal {-status}")
                done += 1
            for failure in failures[told:]:
                print(failure, flush=True)
            told = len(failures)
            clock.tell(f"{done} of {len(every)} damages, {len(failures)} failures")
    print(f"{done} damages to {len(bench.files)} files in {clock.seconds:.0f} s")
    for kind, n in sorted(tried.items()):
        print(f"{n:6}  {kind}")
    print(f"{n_right} right answers, {n_detected} errors that name the damage, {len(failures)} failures")
    return min(len(failures), 1)


def is_sealed(what: str) -> bool:
    return what.startswith("sealed")


def _version(name: str) -> str:
    return name if name.startswith("manifests/") else ""


def kind_of(what: str) -> str:
    return what.split(":")[0].split(" in ")[0].split(" of ")[0]


if __name__ == "__main__":
    sys.exit(main())
