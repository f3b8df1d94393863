"""The policies of a document by their ids, and the changes between two versions.

The id of a policy is derived from its content (`service.ranger.number`).
Source: apache/ranger, `agents-common/src/main/java/org/apache/ranger/plugin/model/
RangerPolicyDelta.java` and `plugin/util/RangerPolicyDeltaUtil.java` at 8e7716cd3c36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import msgspec

CREATED: Final = 0
UPDATED: Final = 1
DELETED: Final = 2

_DIGEST_BYTES: Final = 16

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PolicyDigest:
    """The recorded data of a policy: its type in Ranger, and a digest of its content."""

    type: int
    digest: bytes


def policy_digests(policies: Iterable[Json]) -> Mapping[int, PolicyDigest]:
    """The recorded data of a document's policies."""
    return {
        policy["id"]: PolicyDigest(policy["policyType"], _digest(policy)) for policy in policies
    }


def _digest(policy: Json) -> bytes:
    return blake2b(msgspec.json.encode(policy), digest_size=_DIGEST_BYTES).digest()


def changes(
    old: Mapping[int, PolicyDigest],
    new: Mapping[int, PolicyDigest],
    policies: Mapping[int, msgspec.Raw],
    type: str,
    version: int,
) -> list[Json]:
    """The changes from the old policies to the new ones, in a service of that type.

    `policies` are the new ones as they are sent.
    """
    gone = [
        _delta(DELETED, version, {"id": id, "serviceType": type, "policyType": old[id].type})
        for id in sorted(old.keys() - new.keys())
    ]
    changed = [id for id in sorted(new) if old.get(id) != new[id]]
    return gone + [
        _delta(UPDATED if id in old else CREATED, version, policies[id]) for id in changed
    ]


def _delta(change: int, version: int, policy: object) -> Json:
    return {"changeType": change, "policiesVersion": version, "policy": policy}
