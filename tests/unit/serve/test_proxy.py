"""Behind nginx with the configuration of docs/serve.md: all links stay below the base."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")
NGINX = shutil.which("nginx")
PAGE = Path(__file__).parents[3] / "docs" / "serve.md"
PATIENCE_S = 60


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def got(port: int, target: str, accept: str = "*/*") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", target, headers={"Host": "example.org", "Accept": accept})
    answer = connection.getresponse()
    return answer.status, answer.read()


@pytest.mark.skipif(NGINX is None, reason="nginx is not here")
@pytest.mark.parametrize("takes_off", [False, True], ids=["the whole path", "its own part taken off"])
def test_behind_nginx(folder: Path, tmp_path: Path, takes_off: bool) -> None:
    location = re.search(
        r"^(    location .*?^    \}\n)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert location is not None
    inside, outside = free_port(), free_port()
    lines = location[1].replace(
        "http://127.0.0.1:8765;", f"http://127.0.0.1:{inside}{'/' if takes_off else ''};"
    )
    paths = "".join(
        f"{name}_temp_path {tmp_path}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/errors; events {{}}\n"
        f"http {{ access_log off; {paths} server {{ listen 127.0.0.1:{outside};\n{lines} }} }}\n"
    )
    base = "https://example.org/corpora/"
    command = [
        sys.executable,
        "-m",
        "ngramdb",
        "serve",
        str(folder),
        "--port",
        str(inside),
        "--base-url",
        base,
    ]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    proxy = subprocess.Popen(
        [str(NGINX), "-p", str(tmp_path), "-c", str(configuration)], stderr=subprocess.DEVNULL
    )
    try:
        assert service.stdout is not None and service.stdout.readline()
        stop = time.monotonic() + PATIENCE_S
        while time.monotonic() < stop:
            try:
                status, body = got(outside, "/corpora/sayings/documents.json?limit=1&timeout=1")
                if status == 200:
                    break
            except OSError:
                pass
            time.sleep(0.1)
        found = json.loads(body)
        version = found["version"]
        assert found["next"] == f"/corpora/sayings/@{version}/documents.json?limit=1&timeout=1&offset=1"
        assert json.loads(got(outside, found["next"])[1])["rows"][0]["doc_id"] == 1
        status, page = got(outside, "/corpora/", "text/html")
        assert status == 200
        for link in re.findall(rb'(?:src|href)="(/[^"?]*)', page):
            assert link.startswith(b"/corpora/")
            assert got(outside, link.decode())[0] == 200
    finally:
        for process in (proxy, service):
            process.terminate()
            process.wait(PATIENCE_S)
