"""Realms that start from an access index of the pipeline instead of all their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.service.index_catch_up import Compiled
from lakewarden.service.state import People

if TYPE_CHECKING:
    from lakewarden.pipeline.index.index import Index


def compiled(places: Iterable[str], *, check: bool = True) -> dict[str, Compiled]:
    """The realms that have an index at one of these paths or URLs, by name.

    Raises `BadInput` for a place without an index from which a store can continue, for an index
    made under another model than this release has, with `check` for a damaged file, and for two
    indexes of one realm; `Unavailable` if the reader of indexes is not installed.
    """
    places = tuple(places)
    if not places:
        return {}
    try:
        from lakewarden.pipeline.index.index import open_index
        from lakewarden.pipeline.storage.location import location
    except ImportError:
        needed = "an index requires `pyarrow`; run: pip install 'lakewarden[parquet]'"
        raise Unavailable(needed) from None
    by_realm: dict[str, Compiled] = {}
    for place in places:
        index = open_index(location(place), check=check)
        if index.revision is None:
            message = "was not created from a database; create it with the source `store`"
            raise BadInput(message, where=place)
        index.check_is_of_store(place)
        if index.realm in by_realm:
            other = by_realm[index.realm].where
            raise BadInput(
                f"is an index of the realm `{index.realm}`, and so is `{other}`", where=place
            )
        by_realm[index.realm] = Compiled(
            realm=index.realm,
            revision=index.revision,
            history_mark=index.store,
            system=index.system,
            snapshot=_snapshot_of(index),
            where=place,
        )
    return by_realm


def _snapshot_of(index: Index) -> Callable[[People], Snapshot]:
    from lakewarden.pipeline.index.index import snapshot

    return lambda people: snapshot(index, people=people)
