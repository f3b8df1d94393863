"""Granted privileges, and their reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.systems.datahub.http.graphql.asked import Asked
from tests.systems.datahub.http.graphql.wire import user

REFUSED: Final[Mapping[str, Asked]] = {
    "debugAccess": Asked(
        "access.debug", f'query {{ debugAccess(userUrn: "{user("bob")}") {{ roles }} }}'
    ),
    "getGrantedPrivileges": Asked(
        "privileges.read",
        "query q($i: GetGrantedPrivilegesInput!)"
        " { getGrantedPrivileges(input: $i) { privileges } }",
        {"i": {"actorUrn": user("bob")}},
    ),
}
OPEN: Final = {"me"}
