"""`lakewarden secrets`: the encrypted secrets of a store."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lakewarden.cli.admin_target import opened, operator, url_of
from lakewarden.cli.outcome import YES, show, show_json
from lakewarden.cli.question import As
from lakewarden.cli.question_target import Url
from lakewarden.service.realm import CONTROL

if TYPE_CHECKING:
    from lakewarden.service.actor import Actor
    from lakewarden.store import SqlStore
    from lakewarden.store.secrets import Keys


def rotate(*, database: Url = None, format: As = "table") -> int:
    """Encrypts every stored secret again with the first of the configured keys.

    To change a key while servers run: add the new key after the old one everywhere, move it before
    the old one everywhere, run this, and remove the old key. The keys are in the variable
    LAKEWARDEN_SECRET_KEYS, or in the key file next to an SQLite database. If none of the keys
    decrypts a secret, nothing is changed. From then on the first key also seals the audit trail.
    Works on a database only.

    For example:

        lakewarden secrets rotate --database sqlite:///estate.db
    """
    from lakewarden.app.keys import secret_keys
    from lakewarden.config.settings import load
    from lakewarden.service.audit_seal import Seals
    from lakewarden.store import open_store
    from lakewarden.store.secrets import Keys

    url = url_of(database)
    configured = secret_keys(load(None, {"database": url}))
    keys = Keys(configured)
    with opened(url) as service:
        actor = operator(service)
    with open_store(url) as store:
        store.seals = Seals(configured)
        revision, count = _rotated(store, keys, actor)
    if format == "json":
        show_json({"secrets": count, "revision": revision})
    else:
        show(f"{count:,} secrets are encrypted with the first key")
    return YES


def _rotated(store: SqlStore, keys: Keys, actor: Actor) -> tuple[int, int]:
    """The revision of the write that encrypted everything again, and the number of secrets."""
    from lakewarden.service.control import SERVER
    from lakewarden.store.secrets import rewrap

    with store.writing() as writing:
        count = rewrap(writing, keys)
        event = actor.event(
            "secrets.rotate",
            SERVER,
            "allow",
            "command line",
            now=time.time(),
            realm=CONTROL,
            details={"secrets": str(count)},
        )
        return writing.commit([event]), count
