"""Running plans: one file per family of operators, and the result they stream into.

Operators know plan nodes and what a corpus answers, never files, formats of output or the network. Every
answer about documents is put together from answers of the segments.
"""
