"""What is looked at before the server starts, so that a mistake is an error at once."""

from __future__ import annotations

from lakewarden.app.indexed import compiled
from lakewarden.app.tls import context
from lakewarden.config.settings import Settings
from lakewarden.kernel.errors import Unavailable
from lakewarden.service.resume import since
from lakewarden.store import open_store


def preflight(settings: Settings) -> tuple[str, ...]:
    """Brings the store's schema up to date; what the operator should know beside that.

    Raises `BadInput` for certificates that cannot be used, for a store that cannot be one, and
    for an index that the server cannot start from; `Unavailable` where what reads indexes is not
    installed. A store that does not answer is no error: the server starts, denies everything, and
    is ready once the store is there.
    """
    if settings.tls_cert is not None:
        context(settings)
    indexes = compiled(settings.indexes).values()
    try:
        with open_store(settings.database) as store:
            for index in indexes:
                with store.reading() as reading:
                    since(index, reading)
    except Unavailable as error:
        return (*settings.without_effect, f"not ready yet: {error}")
    return settings.without_effect
