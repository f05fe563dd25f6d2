"""How long one read at a random place of memory takes, by the size of what is read: what bounds every search.

    python benchmarks/random_reads.py [MEGABYTES …]

A search is a chain of reads, each of whose places depends on what the one before has read. Such a chain, with
nothing else to do, is timed here in pages of 4 KB and of 2 MB (by a few lines of C, which `cc` compiles;
mapped files have the former, or the latter where the file system knows them): what it takes more in a large
index than in a small one, every search takes more for each of its reads, whatever it does. The default sizes
are those of indexes of 30 M, 100 M, 300 M and 1 G tokens.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

MEGABYTES = (188, 629, 1887, 6290)
CHAIN = r"""
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

/* Nanoseconds of CPU a read: the least of 7 chains of 300,000 reads of lines of 64 bytes, in random order. */
double chain(uint64_t n_lines, int is_large) {
  const uint64_t page = 2 << 20, bytes = (n_lines * 64 + 2 * page - 1) / page * page, reads = 300000;
  char *all = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return -1;
  madvise(all, bytes, is_large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  uint64_t *next = (uint64_t *)(((uint64_t)all + page - 1) / page * page);
  uint64_t random = 88172645463325252u, at = 0;
  double least = 1e9;
  for (uint64_t i = 0; i < n_lines; ++i) next[8 * i] = i;
  for (uint64_t i = n_lines - 1; i > 0; --i) { /* one cycle through all (Sattolo) */
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    const uint64_t j = random % i, kept = next[8 * i];
    next[8 * i] = next[8 * j], next[8 * j] = kept;
  }
  for (int round = 0; round < 7; ++round) {
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (uint64_t i = 0; i < reads; ++i) at = next[8 * at];
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    const double took = ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / reads;
    if (took < least) least = took;
  }
  munmap(all, bytes);
  return at < n_lines ? least : -1;
}
"""


def main(sizes: list[int]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "chain.c"), Path(folder, "chain.so")
        source.write_text(CHAIN)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        chain = ctypes.CDLL(str(library)).chain
        chain.restype, chain.argtypes = ctypes.c_double, [ctypes.c_uint64, ctypes.c_int]
        for pages, is_large in (("4 KB", 0), ("2 MB", 1)):
            first = 0.0
            for size in sizes:
                took = chain(size * 1_000_000 // 64, is_large)
                first = first or took
                place = f"{size:>6,} MB in pages of {pages}"
                print(f"{place}: {took:4.0f} ns a read, {took / first:.2f}×", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main([int(one) for one in sys.argv[1:]] or list(MEGABYTES)))
