"""The store of an address, cached for the lifetime of the process."""

from __future__ import annotations

from functools import lru_cache

from lakewarden.pipeline.storage.cloud_store import cloud_store
from lakewarden.pipeline.storage.hdfs_store import hdfs_store
from lakewarden.pipeline.storage.object_store import HDFS, ObjectStore


@lru_cache(maxsize=16)
def store_of(root: str) -> ObjectStore:
    """The store of a root such as `s3://bucket`. Raises `BadInput` if it cannot be used."""
    return hdfs_store(root) if root.startswith(f"{HDFS}://") else cloud_store(root)
