"""The kernels under sanitizers: a program of its own, since they must be compiled into everything that runs.

sorting.cpp, curation.cpp, ngrams.cpp, models.cpp, texts.cpp, far.cpp and driver.cpp compare them with brute
force, most of them on damaged arrays too; any report of a sanitizer fails. All but the first two are compiled
as one program, together.cpp, since most of what each would compile is the same kernels.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

HERE = Path(__file__).parent
KERNELS = HERE.parents[1] / "ngramdb" / "_cext" / "include"
SORTING = KERNELS / "ngramdb" / "sort" / "sais.hpp"

# No optimising: it takes three times as long to compile as it saves while running.
# The library's own checks see indexes beyond a vector's end but within its capacity.
FLAGS = (
    *("-std=c++17", "-O0", "-g1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", "-pthread"),
    "-D_GLIBCXX_ASSERTIONS",
)
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_init_order=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}


def compiler():
    """The C++ compiler that the environment names, or the first that is there; None without any."""
    candidates = (os.environ.get("CXX", ""), "g++", "clang++", "c++")
    return next((found for found in map(shutil.which, filter(None, candidates)) if found), None)


def limit_cpu():
    """End the process after 300 s of CPU, so that other programs on the machine do not matter."""
    resource.setrlimit(resource.RLIMIT_CPU, (300, 300))


def run(program, *arguments):
    return subprocess.run(
        [program, *arguments],
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=limit_cpu,
        timeout=3600,  # ends threads that wait for each other
    )


def build(source, target, sanitizers):
    sanitize = f"-fsanitize={sanitizers}"
    return run(compiler(), *FLAGS, sanitize, f"-I{KERNELS}", str(source), "-o", str(target))


@cache
def lacking(sanitizers):
    """Return why programs with these sanitizers can't be compiled, or don't run, here; empty if they can."""
    if compiler() is None:
        return "no C++ compiler is here"
    with TemporaryDirectory() as folder:
        source, probe = Path(folder, "probe.cpp"), Path(folder, "probe")
        source.write_text("int main() { return 0; }\n")
        built = build(source, probe, sanitizers)
        if built.returncode:
            return f"the C++ compiler does not support -fsanitize={sanitizers}: {built.stdout.strip()[:200]}"
        ran = run(probe)
        if ran.returncode or ran.stdout:
            return f"programs with -fsanitize={sanitizers} don't run here: {ran.stdout.strip()[:200]}"
    return ""


def require_sanitizers(sanitizers):
    """Skips unless a program with these sanitizers can be compiled, and runs."""
    if reason := lacking(sanitizers):
        pytest.skip(reason)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Compiles a program when it is first asked for, also if that fails: its path."""
    folder, known = tmp_path_factory.mktemp("programs"), {}

    def compiled(program, sanitizers):
        key = (program, sanitizers)
        if key not in known:
            target = folder / f"{program}-{len(known)}"
            built = build(HERE / f"{program}.cpp", target, sanitizers)
            known[key] = (target, built)
        target, built = known[key]
        assert built.returncode == 0, built.stdout
        return target

    return compiled


@pytest.mark.skipif(not SORTING.is_file(), reason="the kernels' sources are not here")
@pytest.mark.parametrize(
    ("program", "sanitizers", "arguments"),
    [
        ("together", "address,undefined", ("driver",)),
        ("together", "thread", ("driver", "2", "0", "threads")),
        ("together", "address,undefined", ("ngrams",)),
        ("together", "address,undefined", ("models",)),
        ("together", "thread", ("models", "2", "0", "threads")),
        ("together", "address,undefined", ("texts",)),
        ("together", "address,undefined", ("far",)),
        ("together", "thread", ("far", "1", "0", "searches, u8")),
        ("curation", "address,undefined", ()),
        ("curation", "thread", ()),
        ("sorting", "address,undefined", ()),
        ("sorting", "thread", ("1", "0", "by keys, u16")),
        ("sorting", "thread", ("1", "0", "merging, u16")),
        ("sorting", "thread", ("1", "0", "verifying, u16")),
    ],
    ids=[
        "questions",
        "threads",
        "n-grams",
        "models",
        "models on threads",
        "texts",
        "far indexes",
        "far indexes on threads",
        "curation",
        "windows on threads",
        "sorting",
        "sorting on threads",
        "merging on threads",
        "verifying on threads",
    ],
)
def test_the_kernels_are_clean_and_right(program, sanitizers, arguments, programs):
    require_sanitizers(sanitizers)
    ran = run(programs(program, sanitizers), *arguments)
    assert ran.returncode == 0, ran.stdout[-8000:]
    assert "rounds" in ran.stdout and "ERROR" not in ran.stdout


@pytest.mark.skipif(not SORTING.is_file(), reason="the kernels' sources are not here")
@pytest.mark.parametrize(
    ("fault", "report"),
    [
        ("auto* p = new int[4]; return p[argc + 3];", "heap-buffer-overflow"),
        ("auto* p = new int[argc]; p[0] = 1; p = nullptr; return p != nullptr;", "detected memory leaks"),
        ("int largest = 2147483647; largest += argc; return largest == 0;", "signed integer overflow"),
    ],
)
def test_the_sanitizers_would_tell(fault, report, tmp_path):
    require_sanitizers("address,undefined")
    source = tmp_path / "fault.cpp"
    source.write_text(f"int main(int argc, char**) {{ {fault} }}\n")
    assert build(source, tmp_path / "fault", "address,undefined").returncode == 0
    ran = run(tmp_path / "fault")
    assert ran.returncode != 0 and report in ran.stdout
