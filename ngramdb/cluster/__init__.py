"""Corpora on a cluster of Ray: built by its tasks, merged by them, and asked over its actors.

    import ngramdb.cluster

    ngramdb.cluster.load("/shared/corpora.ngdb", "wiki", "/shared/data", address="auto")
    db = ngramdb.cluster.connect("/shared/corpora.ngdb", address="auto")

Needs `pip install 'ngramdb[ray]'`, and folders that all machines see under the same paths.
"""

from ngramdb.cluster.asking import ClusterConnection, connect
from ngramdb.cluster.loading import ClusterProgress, load
from ngramdb.cluster.merging import compact

__all__ = ["ClusterConnection", "ClusterProgress", "compact", "connect", "load"]
