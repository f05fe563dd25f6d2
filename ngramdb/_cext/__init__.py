"""Compiled kernels: arrays and integers in, arrays and integers out; no Python class of the project's own.

Thin, checked Cython over C++: headers in `include/ngramdb/`, and in `src/` what is compiled once, apart from
Cython. All have the same folders: `base/` (interrupts, threads, memory, checksums), `sort/` (suffix
arrays, sorted and merged), `segment/` (one segment: `segment.hpp` has six primitives, and functions with
defaults in their terms), `corpus/` (sums over segments, conditions, joins, n-gram lists), `lm/` (models),
`text/` (words, pieces).
"""
