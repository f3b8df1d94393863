"""Access tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.systems.datahub.http.graphql.asked import Asked
from tests.systems.datahub.http.graphql.wire import user

REFUSED: Final[Mapping[str, Asked]] = {
    "createAccessToken": Asked(
        "token.create_personal",
        "mutation m($i: CreateAccessTokenInput!) { createAccessToken(input: $i) { accessToken } }",
        {"i": {"type": "PERSONAL", "actorUrn": user("bob"), "duration": "ONE_DAY", "name": "x"}},
    ),
    "getAccessTokenMetadata": Asked(
        "token.metadata", 'query { getAccessTokenMetadata(token: "lw_x") { id } }'
    ),
    "listAccessTokens": Asked(
        "token.list",
        "query q($i: ListAccessTokenInput!) { listAccessTokens(input: $i) { total } }",
        {"i": {}},
    ),
    "revokeAccessToken": Asked("token.revoke", 'mutation { revokeAccessToken(tokenId: "t0") }'),
}
OPEN: Final[set[str]] = set()
