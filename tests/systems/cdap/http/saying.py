"""Helpers for the tests of the checklist and of the conflicts."""

from __future__ import annotations

from typing import Any, Final

from lakewarden.systems.cdap import names as cdap
from tests.systems.cdap.http.wire import ADMIN, BOSS, Json, Wire

SPACE: Final = "namespaces/sales"
AUTHORIZATION: Final = "security/authorization"
GRANT: Final = f"{AUTHORIZATION}/privileges/grant"
REVOKE: Final = f"{AUTHORIZATION}/privileges/revoke"

NOT_ALLOWED: Final = "is not authorized to perform action"
NOT_SHOWN: Final = "does not have privileges to access entity"
NOTHING_IN_NAMESPACE: Final = "since the principal does not have any privilege on this namespace"


def space(wire: Wire, name: str = "sales") -> Wire:
    """The server with a namespace that `BOSS` has created, and in which he may add artifacts."""
    wire.grant(BOSS, f"namespace:{name}", "ADMIN")
    wire.grant(BOSS, "instance:cdap", "WRITE")
    wire.good("PUT", f"namespaces/{name}")
    return wire


def upload(wire: Wire, name: str = "etl", version: str = "1.0", at: str = SPACE, **who: Any) -> int:
    """The status of adding a version of an artifact."""
    headers = {"Artifact-Version": version}
    return wire.status("POST", f"{at}/artifacts/{name}", b"x", headers=headers, **who)


def application(**config: Any) -> Json:
    """The body that deploys an application from `etl`."""
    return {"artifact": {"name": "etl", "version": "1.0"}, "config": config}


def program(type: str, name: str) -> Json:
    """A program, as a configuration declares it."""
    return {"type": type, "name": name}


def revoke_all(wire: Wire, id: str, user: str | None = None) -> None:
    """Revokes everything on an id from a user, or from everybody."""
    body: Json = {"authorizable": cdap.to_authorizable(cdap.parse_pattern_id(id))}
    if user is not None:
        body["principal"] = {"name": user, "type": "USER"}
    wire.good("POST", REVOKE, body, user=ADMIN)


def held(wire: Wire, who: str, kind: str = "user") -> list[str]:
    """A user's listed grants, as `type:name ACTION`."""
    found = wire.good("GET", f"{AUTHORIZATION}/{kind}/{who}/privileges", user=ADMIN)
    return sorted(
        f"{cdap.format_id(cdap.from_authorizable(one['authorizable']))} {one['action']}"
        for one in found
    )


def names(wire: Wire, path: str, user: str) -> list[str]:
    """The names in a user's list at a path."""
    found = wire.good("GET", path, user=user)
    return sorted(found) if isinstance(found, dict) else sorted(one["name"] for one in found)


def refused(wire: Wire, user: str, method: str, path: str, body: object = None, **how: Any) -> str:
    """The error text of a user's denied request; checks that nothing changes."""
    before = wire.service.state.revision
    status, text = wire.ask(method, path, body, user=user, **how)
    assert status == 403, (status, text)
    assert wire.service.state.revision == before
    return str(text)
