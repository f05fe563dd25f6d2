"""Parts of `benchmarks/peers.py`: corpus, query sets, systems, builds, timing, figures, report.

Nothing here is installed with ngramdb. Everything runs on Linux only (the peers' wheels, `/proc`).
"""
