"""How fast a service answers: its start, counts by one client and by many, batches, a trace, the first page.

    python benchmarks/serve.py web.ngdb web [--seconds 5] [--connections 16]

Starts `ngramdb serve` on the database, and asks it over TCP as a client would, without a library: requests
are written to a socket, and the answer is read to its end. Needs `pip install 'ngramdb[serve]'`. Client and
server share the machine; the n-grams are drawn from the corpus with seed 1. The page is opened by Chromium
and Playwright, each time in a new tab without a cache; without them it is left out.
"""

from __future__ import annotations

import argparse
import io
import random
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from urllib.parse import quote

import numpy as np
import pyarrow
import pyarrow.ipc

import ngramdb

BATCH_NGRAMS = 1_000_000
TRACED_TOKENS = 450
WARM_REQUESTS = 50


class Client:
    """A connection that is kept, over which one request is asked after the other."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, target: str, body: bytes = b"") -> bytes:
        head = f"{'POST' if body else 'GET'} {target} HTTP/1.1\r\nHost: localhost\r\n"
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        self._socket.sendall(f"{head}{length}\r\n".encode() + body)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._socket.recv(1 << 16)
        header, _, rest = answer.partition(b"\r\n\r\n")
        assert b" 200 " in header[:20], answer[:500]
        size = int(header.lower().partition(b"content-length:")[2].split()[0])
        parts = [rest]
        left = size - len(rest)
        while left:
            parts.append(self._socket.recv(1 << 20))
            left -= len(parts[-1])
        return b"".join(parts)


def targets(path: str, corpus: str) -> tuple[list[str], str, bytes]:
    """Addresses of counts, that of a traced text, and a batch as a stream of Arrow."""
    rng = np.random.default_rng(1)
    with ngramdb.connect(path, read_only=True) as db:
        asked = db.corpus(corpus)
        lines = asked.sample(200, seed=1).fetchall()
        columns = asked.docs(limit=0).columns
        texts = [dict(zip(columns, line, strict=True))["text"] for line in lines]
        encode = asked.tokenizer.encode
        ids = np.concatenate([encode(text) for text in texts])
        decode = asked.tokenizer.decode
    starts = rng.integers(0, len(ids) - 3, 1000)
    counts = [f"/{corpus}/count.json?q={quote(decode(ids[at : at + 3]))}" for at in starts.tolist()]
    traced = f"/{corpus}/trace.json?min_length=3&q={quote(decode(ids[:TRACED_TOKENS]))}"
    starts = rng.integers(0, len(ids) - 3, BATCH_NGRAMS)
    flat = ids[(starts[:, None] + np.arange(3)).ravel()].astype(np.uint32)
    offsets = np.arange(0, 3 * BATCH_NGRAMS + 1, 3, dtype=np.int32)
    column = pyarrow.ListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(flat))
    file = io.BytesIO()
    table = pyarrow.table({"ngram": column})
    with pyarrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return counts, traced, file.getvalue()


def rate(port: int, counts: list[str], connections: int, seconds: float) -> tuple[float, float, float]:
    """Requests a second, and the median and the 99th percentile of their times in ms."""
    times: list[float] = []
    stop = time.perf_counter() + seconds

    def work(seed: int) -> None:
        client, own, chance = Client(port), [], random.Random(seed)
        for _ in range(WARM_REQUESTS):
            client.ask(chance.choice(counts))
        while (before := time.perf_counter()) < stop:
            client.ask(chance.choice(counts))
            own.append(time.perf_counter() - before)
        times.extend(own)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(connections)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - started
    times.sort()
    return len(times) / took, 1e3 * statistics.median(times), 1e3 * times[int(0.99 * len(times))]


def best(repeat: int, client: Client, target: str, body: bytes = b"") -> float:
    """The least time of several requests, in seconds."""
    took = []
    for _ in range(repeat):
        before = time.perf_counter()
        client.ask(target, body)
        took.append(time.perf_counter() - before)
    return min(took)


def page(address: str, repeat: int = 5) -> tuple[int, float, float] | None:
    """The first page of a tab: bytes over the network, and seconds until its view is shown.

    These are the median and the worst of several tabs. None without a browser.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None or find_spec("playwright") is None:
        return None
    from playwright.sync_api import sync_playwright

    took, n_bytes = [], 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
        for _ in range(repeat):
            context = browser.new_context()
            tab = context.new_page()
            network = context.new_cdp_session(tab)
            network.send("Network.enable")
            sizes: list[float] = []
            network.on(
                "Network.loadingFinished", lambda said, sizes=sizes: sizes.append(said["encodedDataLength"])
            )
            begun = time.perf_counter()
            tab.goto(address)
            tab.wait_for_selector("main[aria-busy=false] input, main:not([aria-busy]) input")
            took.append(time.perf_counter() - begun)
            tab.wait_for_load_state("networkidle")
            n_bytes = max(n_bytes, int(sum(sizes)))
            context.close()
        browser.close()
    return n_bytes, statistics.median(took), max(took)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("corpus")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--connections", type=int, default=16)
    options = parser.parse_args()
    counts, traced, batch = targets(options.database, options.corpus)
    command = [sys.executable, "-m", "ngramdb", "serve", options.database, "--port", "0"]
    begun = time.perf_counter()
    server = subprocess.Popen(
        [*command, "--setting", "time_limit", "30"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline().strip().rstrip("/").rpartition(":")[2])
        print(f"start, to the address: {1e3 * (time.perf_counter() - begun):.0f} ms")
        client = Client(port)
        client.ask(counts[0])
        print(f"start, to the first count: {1e3 * (time.perf_counter() - begun):.0f} ms")
        for connections in (1, options.connections):
            each, median, late = rate(port, counts, connections, options.seconds)
            shown = f"{each:,.0f} a second, median {median:.2f} ms, 99 % within {late:.2f} ms"
            print(f"counts, {connections} connection{'s' if connections > 1 else ''}: {shown}")
        client = Client(port)
        seconds = best(3, client, f"/{options.corpus}/batch", batch)
        print(
            f"batch of {BATCH_NGRAMS:,} n-grams as Arrow: "
            f"{BATCH_NGRAMS / seconds / 1e6:.2f} M counts a second"
        )
        print(f"trace of {TRACED_TOKENS} tokens: {1e3 * best(5, client, traced):.1f} ms")
        opened = page(f"http://127.0.0.1:{port}/")
        if opened is not None:
            n_bytes, median, worst = opened
            shown = f"{n_bytes / 1e3:.0f} kB, shown after {1e3 * median:.0f} ms (worst {1e3 * worst:.0f} ms)"
            print(f"first page: {shown}")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
