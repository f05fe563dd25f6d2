"""Corpora on a cluster of Ray: built by its tasks, merged by them, and asked over its actors.

    import ngramdb.cluster

    ngramdb.cluster.load("/shared/corpora.ngdb", "wiki", "/shared/data", address="auto")
    db = ngramdb.cluster.connect("/shared/corpora.ngdb", address="auto")

`loading` builds in parts as tasks of Ray, `merging` compacts. `asking` connects to actors: a `crew` knows
which of them holds which segment, a `library` is what each has, and `views` are corpora that they answer
for.

Needs `pip install 'ngramdb[ray]'`, and folders that all machines see under the same paths.
"""

from ngramdb.cluster.asking import ClusterConnection, connect
from ngramdb.cluster.loading import ClusterProgress, load
from ngramdb.cluster.merging import compact

__all__ = ["ClusterConnection", "ClusterProgress", "compact", "connect", "load"]
