"""Checks before the server starts, so a mistake fails at once."""

from __future__ import annotations

import time
from typing import NamedTuple

from lakewarden.app.administrator import administrators, is_added, with_stored_administrator
from lakewarden.app.first_start import configured, realms
from lakewarden.app.indexed import compiled
from lakewarden.app.tls import context
from lakewarden.config.settings import Settings
from lakewarden.kernel.errors import Unavailable
from lakewarden.service.index_catch_up import rows_since
from lakewarden.service.realm import CONTROL
from lakewarden.service.realms import weakened
from lakewarden.service.state_builder import load_only, model_fault
from lakewarden.service.system import load_system
from lakewarden.store import open_store


class Preflight(NamedTuple):
    """The settings with the store's administrator, and warnings for the operator."""

    settings: Settings
    remarks: tuple[str, ...]


def preflight(settings: Settings) -> Preflight:
    """Migrates the store's schema, and checks its administrators.

    Raises `BadInput` for unusable certificates, for a database that cannot be a store, for an
    administrator that the store does not have, and for an index that the server cannot start from;
    `Unavailable` if the reader of indexes is not installed. A store that does not answer is no
    error: the server starts, denies everything, and is ready once the store answers.
    """
    if settings.tls_cert is not None:
        context(settings)
    indexes = compiled(settings.indexes).values()
    try:
        with open_store(settings.database) as store:
            for index in indexes:
                with store.reading() as reading:
                    rows_since(index, reading)
            with store.reading() as reading:
                now = time.time()
                state = load_only(reading, CONTROL, now)
                stored = [configured(realm, settings) for realm in reading.realms()]
    except Unavailable as error:
        return Preflight(settings, (*settings.without_effect, f"not ready yet: {error}"))
    settings = with_stored_administrator(state, settings, now)
    added = is_added(state, settings, now) and settings.admin not in administrators(state, now)
    added_note = (f"`{settings.admin}` is now an administrator of this database",) if added else ()
    weak = weakened(
        load_system(r.model, r.settings, r.text).model
        for r in stored or realms(settings)
        if model_fault(r) is None
    )
    return Preflight(settings, (*settings.without_effect, *weak, *added_note))
