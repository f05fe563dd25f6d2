"""Translate the Cython modules of a folder to C++: one process for all of them, and only what is out of date.

CMake runs this. Starting Cython takes longer than translating most modules.

Half of what the compiler gets is code that Cython writes around the kernels and that runs once a call. GCC is
told to optimize it less than the kernels, which halves the time that it takes to compile.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import Cython
from Cython.Build.SharedModule import generate_shared_module
from Cython.Compiler.Main import CompilationOptions, compile_single


def dependencies(depfile: Path) -> list[str]:
    """The files that Cython read for a module, as it wrote them down."""
    listed = depfile.read_text().split(":", 1)[1].replace("\\\n", " ")
    return [path.replace("\0", " ") for path in listed.replace("\\ ", "\0").split()]


# Cython writes this line after the headers that a module includes, which have the kernels.
BORDER = "/* #### Code section: filename_table ### */\n"
BEGIN = """#if defined(__OPTIMIZE__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("Og")
#endif
"""
END = """#if defined(__OPTIMIZE__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
"""


def optimize_less(output: Path) -> None:
    """Mark everything in a translation but the headers that it includes as code to be optimized less."""
    headers, border, glue = output.read_text().partition(BORDER)
    output.write_text(headers + BEGIN + border + glue + END if border else headers)


def is_current(output: Path, depfile: Path) -> bool:
    """Whether a translation is newer than everything that it was made of."""
    if not output.exists() or not depfile.exists():
        return False
    made = output.stat().st_mtime_ns
    read = [*dependencies(depfile), __file__, Cython.__file__]
    return all(os.path.exists(path) and os.stat(path).st_mtime_ns <= made for path in read)


def translate(source: Path, output: Path, name: str, shared: str) -> bool:
    """Translate one module, and list beside it what it depends on. Return whether it had no errors."""
    options = CompilationOptions(
        cplus=True,
        language_level=3,
        depfile=True,
        shared_utility_qualified_name=shared,
        output_file=str(output),
    )
    return compile_single(str(source), options, full_module_name=name).num_errors == 0


def main() -> int:
    """Translate what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="folder of the package's folders of .pyx files")
    parser.add_argument("build", type=Path, help="where C++ files go, in the same folders")
    parser.add_argument("depfile", type=Path, help="takes what all modules depend on, for the build tool")
    parser.add_argument("package", help="dotted name of the root")
    parser.add_argument(
        "shared", help="dotted name, below the package, of the module for code that all share"
    )
    parser.add_argument("modules", nargs="+", help="modules as folder/name")
    parser.add_argument(
        "--loops", nargs="*", default=[], help="those of them whose Cython has loops that must be fast"
    )
    arguments = parser.parse_args()
    shared = f"{arguments.package}.{arguments.shared}"
    shared_file = arguments.build / (arguments.shared.replace(".", "/") + ".cpp")
    read = {str(Path(__file__).resolve())}
    if not shared_file.exists() or shared_file.stat().st_mtime_ns < os.stat(Cython.__file__).st_mtime_ns:
        generate_shared_module(
            CompilationOptions(cplus=True, language_level=3, shared_c_file_path=str(shared_file))
        )
        optimize_less(shared_file)
    for module in arguments.modules:
        source, output = arguments.root / f"{module}.pyx", arguments.build / f"{module}.cpp"
        depfile = Path(f"{output}.dep")
        if not is_current(output, depfile):
            name = f"{arguments.package}.{module.replace('/', '.')}"
            if not translate(source, output, name, shared):
                output.unlink(missing_ok=True)
                return 1
            if module not in arguments.loops:
                optimize_less(output)
        read.update(dependencies(depfile))
    target, *listed = (path.replace(" ", "\\ ") for path in (str(shared_file), *sorted(read)))
    arguments.depfile.write_text(f"{target}: \\\n  " + " \\\n  ".join(listed) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
