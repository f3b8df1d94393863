"""Fields for frontends: open to everybody, limited to visible entities and one's own settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.systems.datahub.http.graphql.asked import Asked

REFUSED: Final[Mapping[str, Asked]] = {}
OPEN: Final = {
    *("appConfig", "batchGetStepStates", "batchUpdateStepStates", "browsePaths"),
    *("bulkEntityDataProducts", "getEntityCounts", "getQuickFilters", "globalHomePageSettings"),
    *("metric", "searchUsers", "semanticModel", "updateCorpUserLocaleSettings"),
    *("updateUserHomePageSettings", "versionSet"),
}
