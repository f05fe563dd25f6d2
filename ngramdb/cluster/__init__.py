"""Corpora on a cluster of Ray: built by its tasks, merged by them, and asked over its actors.

    import ngramdb.cluster

    ngramdb.cluster.load("/shared/corpora.ngdb", "wiki", "/shared/data", address="auto")
    db = ngramdb.cluster.connect("/shared/corpora.ngdb", address="auto")

`loading` builds in parts as tasks of Ray, and compacts. `asking` connects to actors, which answer for
corpora: a `crew` knows which of them holds which segment, `worker_state` is what each has.

Needs `pip install 'ngramdb[ray]'`, and folders that all machines see under the same paths.
"""

from ngramdb.cluster.asking import ClusterConnection, connect
from ngramdb.cluster.loading import ClusterProgress, compact, load

__all__ = ["ClusterConnection", "ClusterProgress", "compact", "connect", "load"]
