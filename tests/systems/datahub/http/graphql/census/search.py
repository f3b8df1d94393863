"""Search: open to everybody, limited to visible entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.systems.datahub.http.graphql.asked import Asked

REFUSED: Final[Mapping[str, Asked]] = {}
OPEN: Final = {
    *("aggregateAcrossEntities", "autoComplete", "autoCompleteForMultiple", "browse", "browseV2"),
    *("scrollAcrossEntities", "scrollAcrossLineage", "search", "searchAcrossEntities"),
    "searchAcrossLineage",
}
