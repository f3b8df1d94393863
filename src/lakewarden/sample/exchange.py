"""What a REST export is made of here: replies, each beside the path that was asked."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from lakewarden.sample.company import GROUPS, PEOPLE, members

Record = dict[str, object]

CREATED: Final = "2026-09-21T13:33:20Z"
"""When everything was created."""

_LIST: Final = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
_CORE: Final = "urn:ietf:params:scim:schemas:core:2.0:"


def exchange(path: str, reply: object) -> Record:
    """One reply and its path."""
    return {"path": path, "reply": reply}


def at(*segments: str) -> str:
    """A path of segments, each percent-encoded as clients send it."""
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


def identity() -> list[Record]:
    """What the identity provider answers (SCIM): everybody, and who is in which group."""
    ids = {person.name: f"u{number:03}" for number, person in enumerate(PEOPLE, 1)}
    users: list[Record] = [
        {
            "schemas": [f"{_CORE}User"],
            "id": ids[person.name],
            "userName": person.name,
            "displayName": person.full_name,
            "active": True,
        }
        for person in PEOPLE
    ]
    groups: list[Record] = [
        {
            "schemas": [f"{_CORE}Group"],
            "id": f"g{number:02}",
            "displayName": name,
            "members": [{"value": ids[one], "type": "User"} for one in members(name)],
        }
        for number, name in enumerate(GROUPS, 1)
    ]
    return [_listed("/scim/v2/Users", users), _listed("/scim/v2/Groups", groups)]


def _listed(path: str, resources: list[Record]) -> Record:
    reply = {"schemas": [_LIST], "totalResults": len(resources), "Resources": resources}
    return exchange(path, reply)
