"""Interrupts, checksums, memory pages, and arguments from Python."""
