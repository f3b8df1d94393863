"""The store of realms: SQLite in a file, or PostgreSQL, with the same behaviour.

>>> from tempfile import TemporaryDirectory
>>> from lakewarden.service.realm import Realm
>>> from lakewarden.service.effect import RealmChanged
>>> with TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/store") as store:
...     with store.writing() as writing:
...         writing.apply("lake", [RealmChanged("lake", Realm("lake", "gravitino"))])
...         writing.commit(())
...     with store.reading() as reading:
...         [realm.name for realm in reading.realms()]
1
['lake']
"""

from __future__ import annotations

from lakewarden.store.backup import restore
from lakewarden.store.limits import StoreLimits
from lakewarden.store.store import SqlStore, open_store
from lakewarden.store.upgrade import migrate

__all__ = ["SqlStore", "StoreLimits", "migrate", "open_store", "restore"]
