"""The routes of GraphQL: the paths of DataHub's metadata service and of its frontend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.http.exchange import Route
from lakewarden.systems.datahub.http.graphql.transport import serve, unauthenticated

PATHS: Final = (
    "/api/graphql",
    "/api/v2/graphql",
    "/api/gms/api/graphql",
    "/api/gms/api/v2/graphql",
)

_WHY: Final = "each field of the document asks for its own operation"


def routes() -> Sequence[Route]:
    """The routes; documents are guarded field by field."""
    return tuple(
        Route("POST", path, "", serve, why=_WHY, session=True, unauthenticated=unauthenticated)
        for path in PATHS
    )
