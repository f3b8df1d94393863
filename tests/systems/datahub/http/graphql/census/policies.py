"""Policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.systems.datahub.http.graphql.asked import Asked

_ACTORS: Final = {"allUsers": False, "allGroups": False, "resourceOwners": False}
_POLICY: Final = {
    "i": {"type": "PLATFORM", "name": "x", "state": "ACTIVE", "privileges": [], "actors": _ACTORS}
}
_URN: Final = '"urn:li:dataHubPolicy:7"'

REFUSED: Final[Mapping[str, Asked]] = {
    "createPolicy": Asked(
        "policy.create",
        "mutation m($i: PolicyUpdateInput!) { createPolicy(input: $i) }",
        _POLICY,
    ),
    "deletePolicy": Asked("policy.delete", f"mutation {{ deletePolicy(urn: {_URN}) }}"),
    "listPolicies": Asked(
        "policy.list",
        "query q($i: ListPoliciesInput!) { listPolicies(input: $i) { total } }",
        {"i": {}},
    ),
    "updatePolicy": Asked(
        "policy.update",
        f"mutation m($i: PolicyUpdateInput!) {{ updatePolicy(urn: {_URN}, input: $i) }}",
        _POLICY,
    ),
}
OPEN: Final[set[str]] = set()
