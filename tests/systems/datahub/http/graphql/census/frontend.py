"""What a frontend asks for: anybody may, and is shown what they may see, or changes their own."""

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
