"""Corpora on a cluster of Ray: built and merged by its tasks, and queried through its actors.

    import ngramdb.cluster

    ngramdb.cluster.load("/shared/corpora.ngdb", "wiki", "/shared/data", address="auto")
    db = ngramdb.cluster.connect("/shared/corpora.ngdb", address="auto")

`loading` builds in parts as tasks of Ray, and compacts. `asking` connects to actors, which answer for
corpora: a `crew` records which of them holds which segment.

Requires `pip install 'ngramdb[ray]'`, and folders with the same paths on all machines.
"""

from ngramdb.cluster.asking import ClusterConnection, connect
from ngramdb.cluster.loading import ClusterProgress, compact, load

__all__ = ["ClusterConnection", "ClusterProgress", "compact", "connect", "load"]
