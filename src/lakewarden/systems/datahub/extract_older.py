"""A running DataHub without `/openapi/v3/entity`, read over its Rest.li interface.

`/entities?action=listUrns` names all entities of a type, also softly deleted ones, from the storage
itself; `/entitiesV2` gives the aspects of one. GraphQL is not used: it knows fewer types, reads
from the search index, and does not give whole aspects of every type.

Names come in pages, and a deletion meanwhile could hide one of them: they are read again where the
total changes or does not add up.

SOURCE: datahub reference 6.6, 7.1; datahub-project/datahub:
metadata-service/restli-servlet-impl/src/main/java/com/linkedin/metadata/resources/entity/
EntityResource.java@024d4f72, action listUrns: an unknown type is a 400.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

from lakewarden.kernel.errors import BadInput, LimitExceeded, Unavailable
from lakewarden.pipeline.extract.original import ABSENT, Original

PAGE: Final = 1_000
"""The number of names per request."""

TRIES: Final = 5
"""How many times the names of a type are read if they change meanwhile."""

_FIRST: Final = "dataHubPolicy"
"""The type that is requested first: every DataHub has it."""

_LIST: Final = "/entities?action=listUrns"


def entities(original: Original, type: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """All entities of a type, in the newer interface's format: each with the requested aspects.

    Raises `BadInput` for an address with neither interface, and `Unavailable` if the names keep
    changing while they are read.
    """
    original.add_header("X-RestLi-Protocol-Version", "2.0.0")
    aspects = f"aspects=List({','.join(names)})"
    paths = (f"/entitiesV2/{quote(urn, safe='')}" for urn in _names(original, type))
    for path, reply in original.each(f"{path}?{aspects}" for path in paths):
        yield _entity(reply, path.partition("?")[0])
    original.withheld[:] = [
        reply._replace(path=reply.path.removesuffix(f"?{aspects}")) for reply in original.withheld
    ]


def _names(original: Original, type: str) -> list[str]:
    for _ in range(TRIES):
        names = _stable_names(original, type)
        if names is not None:
            return names
    raise Unavailable(f"{_LIST}: the names of type `{type}` change while they are read; try again")


def _stable_names(original: Original, type: str) -> list[str] | None:
    """The names of a type, none if it is withheld; None if they changed meanwhile."""
    distinct: dict[str, None] = {}
    total = -1
    while len(distinct) < total or total < 0:
        before = len(distinct)
        page = _page(original, type, before)
        if page is None:
            return []
        names, now = page
        distinct.update(dict.fromkeys(names))
        if len(distinct) > original.limit:
            raise LimitExceeded(f"{_LIST}: more than {original.limit:,} names of type `{type}`")
        if total not in (-1, now) or (len(distinct) == before and len(distinct) < now):
            return None
        total = now
    return list(distinct) if len(distinct) == total else None


def _page(original: Original, type: str, start: int) -> tuple[list[str], int] | None:
    """Names from an offset on, and the total; None if the type is withheld."""
    reply = original.post(_LIST, {"entity": type, "start": start, "count": PAGE})
    if reply is None:
        if start:
            raise Unavailable(f"{_LIST}: the original stopped in the middle of type `{type}`")
        _withheld_type(original, type)
        return None
    body = reply.get("value") if isinstance(reply, dict) else None
    names = body.get("entities") if isinstance(body, dict) else None
    total = body.get("total") if isinstance(body, dict) else None
    if (
        not isinstance(names, list)
        or not all(isinstance(name, str) and name for name in names)
        or not isinstance(total, int)
        or total < 0
    ):
        raise BadInput("expected a page of URNs and their `total`", where=f"{_LIST} of `{type}`")
    return names, total


def _withheld_type(original: Original, type: str) -> None:
    """Records the withheld type in the export; rejects an address with neither interface."""
    last = original.withheld.pop()
    if last.status in ABSENT and type == _FIRST:
        message = (
            "neither `/openapi/v3/entity` nor `/entities` answers; give the address of the metadata"
            " service (behind the web client it is https://HOST/api/gms), or write the metadata to"
            " files with the `datahub` command and import these"
        )
        raise BadInput(message, where=original.address)
    original.note(f"{_LIST} of `{type}`", last.status, last.why)


def _entity(reply: Any, path: str) -> dict[str, Any]:
    """An entity with its aspects in the format of the newer interface."""
    urn = reply.get("urn") if isinstance(reply, dict) else None
    aspects = reply.get("aspects") if isinstance(reply, dict) else None
    if not isinstance(urn, str) or not isinstance(aspects, dict):
        raise BadInput("expected an entity with its `urn` and `aspects`", where=path)
    return {**aspects, "urn": urn}
