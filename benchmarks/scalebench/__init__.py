"""Parts of `benchmarks/scale.py`: corpora, jobs, what is kept of them, rows, report. Linux only."""
