"""Memory: the effect of a limit on segments and threads, and the errors when memory runs out."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import ngramdb
from ngramdb.engine.changes.sizing import BASE_BYTES, BYTES_PER_TOKEN, DocumentLimits, bounded
from ngramdb.engine.loading import writer
from ngramdb.errors import ResourceError


def test_without_a_limit_nothing_changes():
    assert bounded(1 << 26, 8, 0) == (1 << 26, 8)


@pytest.mark.parametrize("limit", [BASE_BYTES + (1 << 20), 1 << 28, 1 << 30, 1 << 36])
@pytest.mark.parametrize("threads", [1, 2, 64])
@pytest.mark.parametrize("segment_tokens", [1024, 1 << 20, 1 << 26])
def test_what_is_built_at_a_time_keeps_within_the_limit(limit, threads, segment_tokens):
    tokens, n = bounded(segment_tokens, threads, limit)
    least = max(limit // 2, BASE_BYTES + (1 << 20))
    assert bounded(segment_tokens, threads, limit, limit - least) == bounded(segment_tokens, threads, least)
    assert 1 <= n <= threads
    assert 1024 <= tokens <= segment_tokens
    assert BASE_BYTES + (n + 1) * tokens * BYTES_PER_TOKEN <= limit


def test_a_limit_without_room_for_anything_is_an_error():
    with pytest.raises(ResourceError, match="raise it") as caught:
        bounded(1 << 20, 1, 1 << 20)
    assert caught.value.limit == 1 << 20


def test_a_limit_sorts_less_at_a_time_and_makes_the_same_segment(database):
    database.create()
    documents = [[i % 7, 1, 2] * 33 for i in range(100)]
    reports = []
    limit = BASE_BYTES + 4096 * BYTES_PER_TOKEN
    assert database.load(documents, memory_limit=limit, progress=reports.append).segments == 1
    (merged,) = database.view().segments
    merged.check()
    # Five were sorted, and then merged.
    assert max(report.segments for report in reports) == 5
    shares = [report.merged for report in reports if report.merged is not None]
    assert shares[0] == 0
    assert shares[-1] > 0.9
    database.load(documents)
    at_once = database.view().segments[1]
    assert merged.rows.tobytes() == at_once.rows.tobytes()
    assert merged.symbols.tobytes() == at_once.symbols.tobytes()


def test_a_limit_leaves_segments_as_large_as_they_may_be(database):
    database.create()
    database.load([[1] * 99] * 100, memory_limit=BASE_BYTES + 4096 * BYTES_PER_TOKEN, segment_tokens=6000)
    assert [segment.n_documents for segment in database.view().segments] == [60, 40]


def test_memory_that_runs_out_is_an_error_that_says_so(database, monkeypatch):
    database.create()
    database.load([[1]])
    files = database.files()

    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(writer.SegmentBuilder, "write", fail)
    with pytest.raises(ResourceError, match="memory ran out in a load; nothing has been changed"):
        database.load([[2]])
    assert database.files() == files


def test_a_limit_has_room_for_documents_of_a_size():
    assert DocumentLimits.of(0).refusal(1 << 40, 1 << 40) is None
    some = DocumentLimits.of(BASE_BYTES + (2 << 20), 1, 1 << 20)
    assert (some.n_bytes, some.n_tokens) == (1 << 17, 1 << 15)
    limits = DocumentLimits.of(BASE_BYTES + (1 << 20), threads=1)
    assert (limits.n_bytes, limits.n_tokens) == (1 << 17, 1 << 15)
    assert limits.refusal(1 << 17, 1 << 15) is None
    assert "131,073 bytes, and memory_limit = " in str(limits.refusal((1 << 17) + 1, 0))
    assert "32,769 tokens" in str(limits.refusal(0, (1 << 15) + 1))


# Documents for which no limit below about 128 MB has room: long, and short with many tokens.
LARGE = {"long": "word " * 40_000, "many tokens": ". " * 40_000}


@pytest.mark.parametrize("large", LARGE.values(), ids=LARGE)
@pytest.mark.parametrize("ending", ["jsonl", "txt", "lines"])
def test_documents_that_a_limit_has_no_room_for_are_refused_or_skipped(tmp_path, large, ending):
    texts = ["a", large, "b"]
    path = tmp_path / f"d.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    else:
        path.write_text(("\n---\n" if ending == "txt" else "\n").join(texts))
    options = {"jsonl": {}, "txt": {"separator": "---"}, "lines": {"format": "lines"}}[ending]
    with ngramdb.connect() as db:
        db.settings["memory_limit"], db.settings["threads"] = BASE_BYTES + (1 << 20), 1
        corpus = db.create_corpus("c")
        for load in (lambda: corpus.load(path, **options), lambda: corpus.append(texts)):
            with pytest.raises(ResourceError, match=r"memory_limit = 135,266,304 has room for") as caught:
                load()
            assert caught.value.limit is not None and "raise it" in str(caught.value)
            assert corpus.n_documents == 0
        report = corpus.load(path, on_error="skip", **options)
        assert (report.documents, report.skipped, len(report.reasons)) == (2, 1, 1)
        assert "memory_limit" in report.reasons[0]
        assert db.execute("CHECK").fetchall() == []
        db.settings["memory_limit"] = 0
        assert corpus.load(path, **options).documents == 3


def test_only_documents_that_are_too_large_make_an_empty_load(tmp_path):
    (tmp_path / "d.jsonl").write_text(json.dumps({"text": LARGE["many tokens"]}) + "\n")
    with ngramdb.connect() as db:
        db.settings["memory_limit"] = BASE_BYTES + (1 << 20)
        report = db.create_corpus("c").load(tmp_path / "d.jsonl", on_error="skip")
        assert (report.documents, report.skipped) == (0, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_one_huge_document_does_not_take_more_than_the_limit(tmp_path):
    """The peak of a process of its own, in KiB (not `ru_maxrss`, which begins with the parent's)."""
    path = tmp_path / "huge.jsonl"
    with path.open("w") as file:
        file.write('{"text": "')
        for _ in range(250):
            file.write("time flies like an arrow " * 40_000)
        file.write('"}\n')
    script = (
        "import ngramdb\n"
        "db = ngramdb.connect(); db.settings['memory_limit'] = '200MB'\n"
        f"report = db.create_corpus('c').load({str(path)!r}, on_error='skip')\n"
        "assert report.skipped == 1, report\n"
        "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200 << 10


@pytest.mark.parametrize("kind", ["words", "chars", "tokens"])
def test_nothing_is_compacted_within_any_limit(kind):
    """A corpus without documents: refused once, for the memory that a segment would have taken."""
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=kind)
        db.settings["memory_limit"] = 50_000_000
        assert corpus.compact().segments_after == 0
        assert db.execute("COMPACT").fetchall() == [("c", 0, 0, 0, 0, 0, db.version)]
