"""The application `shop`, deployed by a user without grants on its programs."""

from __future__ import annotations

from typing import Final

from tests.systems.cdap.http.wire import BOSS, Json, Wire

SPACE: Final = "namespaces/sales"
APP: Final = f"{SPACE}/apps/shop"
NIGHTLY: Final = f"{APP}/workflows/nightly"
API: Final = f"{APP}/services/api"
FLOW: Final = f"{APP}/flows/visits"
WORKER: Final = f"{APP}/workers/drone"

PROGRAMS: Final = {
    "workflow.nightly": NIGHTLY,
    "service.api": API,
    "flow.visits": FLOW,
    "worker.drone": WORKER,
}
"""The programs of the application, by the last part of their names."""

REQUEST: Final[Json] = {
    "artifact": {"name": "etl", "version": "1.0"},
    "config": {
        "programs": [
            {"type": type, "name": name, "description": f"a {type}"}
            for type, _, name in (one.partition(".") for one in PROGRAMS)
        ]
    },
}

PEOPLE: Final = {"reader": "READ", "writer": "WRITE", "runner": "EXECUTE", "keeper": "ADMIN"}
"""Users who each have one action on every program, and on nothing else."""


def deploy(wire: Wire) -> Wire:
    """A server on which `BOSS` has deployed `shop`, with the grants of `PEOPLE` on its programs."""
    for id in ("instance:cdap", "namespace:sales", "artifact:sales.etl", "application:sales.shop"):
        wire.grant(BOSS, id)
    wire.good("PUT", SPACE)
    wire.good("POST", f"{SPACE}/artifacts/etl", b"x", headers={"Artifact-Version": "1.0"})
    wire.good("PUT", APP, REQUEST)
    for name, action in PEOPLE.items():
        wire.grant(name, "program:sales.shop.*", action)
    return wire


def is_old(wire: Wire) -> bool:
    """Whether the server uses the older profile."""
    return wire.service.state.realm("cdap").realm.model == "cdap_parent_write"


def lets(wire: Wire, method: str, path: str, body: object = None) -> set[str]:
    """Those of `PEOPLE`, and of a stranger, who are allowed."""
    found = {name: wire.status(method, path, body, user=name) for name in (*PEOPLE, "stranger")}
    return {name for name, status in found.items() if status != 403}
