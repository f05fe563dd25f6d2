"""The parts of `benchmarks/versus_kenlm.py`."""
