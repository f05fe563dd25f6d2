"""Compiled kernels: arrays and integers in, arrays and integers out; no Python class of the project's own."""
