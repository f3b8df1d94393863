"""Search, as the schema has it: questions, pages, facets, completion, browsing, lineage."""

from __future__ import annotations

from typing import Final

from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.http.graphql.search import (
    browsing,
    completing,
    counting,
    lineage,
    results,
)

RESOLVERS: Final[Resolvers] = {
    "Query": {
        **results.QUERY,
        **completing.QUERY,
        **counting.QUERY,
        **browsing.QUERY,
        **lineage.QUERY,
    },
}
