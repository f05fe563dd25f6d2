"""Other programs' Python interfaces over ngramdb: a script needs only one import line changed.

Each module is named for the program whose module it stands for, and has its names: `ngramdb.compat.kenlm`
for `kenlm`; `infinigram/` is infini-gram's engine. They are written over the public Python interface, and
nothing imports them.
"""
