"""History of entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.systems.datahub.http.graphql.asked import Asked

_DATASET: Final = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"

REFUSED: Final[Mapping[str, Asked]] = {
    "getSchemaBlame": Asked(
        "timeline.read",
        "query q($i: GetSchemaBlameInput!) { getSchemaBlame(input: $i) {"
        " version { semanticVersion } } }",
        {"i": {"datasetUrn": _DATASET}},
    ),
    "getSchemaVersionList": Asked(
        "timeline.read",
        "query q($i: GetSchemaVersionListInput!) { getSchemaVersionList(input: $i) {"
        " version { semanticVersion } } }",
        {"i": {"datasetUrn": _DATASET}},
    ),
    "getTimeline": Asked(
        "timeline.read",
        "query q($i: GetTimelineInput!) { getTimeline(input: $i) {"
        " changeTransactions { versionStamp } } }",
        {"i": {"urn": _DATASET}},
    ),
}
OPEN: Final[set[str]] = set()
