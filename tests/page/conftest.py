"""A database that is served, and a browser: one of each for the tests of a module.

The browser is Debian's Chromium, driven by Playwright; without one the tests are skipped. A picture of each
view is kept in `build/page/` of the checkout (or in `$NGRAMDB_PICTURES`), for people to look at.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.subwords import word_level, write_tokenizer

import ngramdb

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PICTURES = Path(os.environ.get("NGRAMDB_PICTURES") or Path(__file__).parents[2] / "build" / "page")
#: Time limit of all operations on the page, in milliseconds.
PATIENCE_MS = 60_000
HOSTILE = '<img src=x onerror="document.title=\'owned\'"> <script>document.title="owned"</script>'

#: The same words repeat, so that several matches have the same context.
SONG = (
    "𝄞 oh when the saints go marching in, i want to be in that number, oh when the saints go marching in. "
    * 4
)

SENTENCES = (
    "the climate of the city is mild in spring",
    "climate change is a matter of policy",
    "the policy of the city is to plant trees",
    "trees grow in spring when rain falls on the city",
    "climate change brings rain in spring",
    "a mild spring brings trees to flower",
)


def documents() -> Iterator[dict[str, Any]]:
    """120 short texts of 2001 to 2020, of three sources, and one that is hostile."""
    for i in range(120):
        text = ". ".join(SENTENCES[(i * 7 + k * k) % len(SENTENCES)] for k in range(2 + i % 4))
        yield {
            "text": text,
            "title": f"Report {i}",
            "year": 2001 + i % 20,
            "source": ("news", "web", "letters")[i % 3],
        }
    yield {"text": f"climate {HOSTILE} change", "title": HOSTILE, "year": 2020, "source": "web"}


@pytest.fixture
def song() -> str:
    """The one text of the corpus `songs`."""
    return SONG


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with corpora of words, sub-words and whole words; a document of the first was removed."""
    path = tmp_path_factory.mktemp("served") / "texts.ngdb"
    with ngramdb.connect(path) as connection:
        reports = connection.create_corpus("reports")
        reports.append(list(documents()))
        reports.delete("title = 'Report 3'", reason="asked for by its author")
        small = connection.create_corpus("small corpus")
        small.append([{"text": "climate change and other weather", "year": 1999}])
        connection.create_corpus("songs").append([{"text": SONG}])
        tokenizer = write_tokenizer(path.parent / "tokenizer.json")
        pieces = connection.create_corpus("pieces", tokenizer=tokenizer)
        pieces.append(
            [{"text": "fox and the fox", "date": "2019-03-01"}, {"text": "the foxes", "date": "2020-05-06"}]
        )
        whole = word_level(path.parent / "words.json", ["fox", "The", "the", "foxes", "and"])
        connection.create_corpus("whole", tokenizer=whole).append([{"text": "The fox and the foxes"}])
    return path


@pytest.fixture(scope="module")
def address(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address at which the database is served."""
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    command = [sys.executable, "-m", "ngramdb", "serve", str(database), "--port", "0"]
    log = tmp_path_factory.mktemp("service") / "log"
    # The log goes to a file: a pipe that nobody reads would be full after some hundred requests.
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as service,
    ):
        try:
            assert service.stdout is not None
            found = re.search(r"http://\S+?:\d+/", service.stdout.readline())
            assert found, log.read_text()
            yield found[0]
        finally:
            service.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, once for a module: its loop would be in the way of other tests that have one."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield started
        started.close()


@dataclass
class Visitor:
    """A person at the page: goes to views, and has seen what went wrong."""

    page: Any
    address: str
    errors: list[str] = field(default_factory=list)

    def open(self, query: str = "") -> Any:
        """Go to a view, and wait until all of it has its answers."""
        self.page.goto(self.address + query)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until nothing is being asked."""
        self.page.wait_for_selector("main:not(:empty):not([aria-busy]):not(:has([aria-busy]))")

    def picture(self, name: str) -> None:
        """Keep a picture of the whole page."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)

    def text(self) -> str:
        """Return the text of the main part."""
        return str(self.page.inner_text("main"))


def visitor_of(browser: Any, address: str, **context: Any) -> Iterator[Visitor]:
    """A visitor in a context of its own; whatever the browser complains of fails the test."""
    context.setdefault("viewport", {"width": 1200, "height": 800})
    own = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **context)
    page = own.new_page()
    page.set_default_timeout(PATIENCE_MS)
    visitor = Visitor(page, address)
    page.on("pageerror", lambda error: visitor.errors.append(f"error: {error}"))
    page.on("console", lambda said: visitor.errors.append(said.text) if said.type == "error" else None)
    yield visitor
    own.close()
    assert visitor.errors == []


@pytest.fixture
def visitor(browser: Any, address: str) -> Iterator[Visitor]:
    """A person at a wide screen, with a light theme."""
    yield from visitor_of(browser, address, color_scheme="light")


@pytest.fixture
def on_a_phone(browser: Any, address: str) -> Iterator[Visitor]:
    """A person with a phone, at night."""
    yield from visitor_of(
        browser, address, viewport={"width": 390, "height": 800}, color_scheme="dark", has_touch=True
    )
