"""Two applications that share a dataset, deployed by `BOSS`, who has all permissions.

`shop` declares the dataset `orders` and the stream `clicks`, `books` the datasets `orders` and
`sums`, and `aside` the dataset `notes`, which is not shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.systems.cdap.http.wire import BOSS, Json, Wire

SPACE: Final = "namespaces/sales"
SHOP: Final = f"{SPACE}/apps/shop"
BOOKS: Final = f"{SPACE}/apps/books"
NIGHTLY: Final = f"{SHOP}/workflows/nightly"
API: Final = f"{SHOP}/services/api"
CLOSING: Final = f"{BOOKS}/spark/closing"
ORDERS: Final = f"{SPACE}/data/datasets/orders"
CLICKS: Final = f"{SPACE}/streams/clicks"
ETL: Final = f"{SPACE}/artifacts/etl/versions/1.0"

CONFIGS: Final[dict[str, Json]] = {
    "shop": {
        "programs": [{"type": "workflow", "name": "nightly"}, {"type": "service", "name": "api"}],
        "datasets": ["orders"],
        "streams": ["clicks"],
    },
    "books": {
        "programs": [{"type": "spark", "name": "closing"}],
        "datasets": ["orders", "sums"],
    },
    "aside": {"programs": [{"type": "worker", "name": "scribe"}], "datasets": ["notes"]},
}

ALL: Final = (
    "instance:cdap",
    "namespace:sales",
    "artifact:sales.*",
    "application:sales.*",
    "program:sales.*.*",
    "dataset:sales.*",
    "stream:sales.*",
)

ACTIONS: Final = {"reader": "READ", "writer": "WRITE", "runner": "EXECUTE", "keeper": "ADMIN"}
"""Users with one action each, for tests that grant one to each."""


class Clock:
    """A clock that tests set."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def build(wire: Wire) -> Wire:
    """A server with the three applications."""
    for id in ALL:
        wire.grant(BOSS, id)
    wire.good("PUT", SPACE, {"description": "what is sold"})
    wire.good("POST", f"{SPACE}/artifacts/etl", b"x", headers={"Artifact-Version": "1.0"})
    for name, config in CONFIGS.items():
        body: Json = {"artifact": {"name": "etl", "version": "1.0"}, "config": config}
        wire.good("PUT", f"{SPACE}/apps/{name}", body)
    return wire


def give(wire: Wire, id: str) -> None:
    """Grants each of `ACTIONS` its action on one entity."""
    for name, action in ACTIONS.items():
        wire.grant(name, id, action)


def lets(wire: Wire, method: str, path: str, body: object = None) -> set[str]:
    """Those of `ACTIONS`, and of a stranger, who are allowed."""
    found = ((name, wire.status(method, path, body, user=name)) for name in (*ACTIONS, "stranger"))
    return set(_passed(found))


def _passed(found: Iterator[tuple[str, int]]) -> Iterator[str]:
    for name, status in found:
        assert status in (200, 403), (name, status)
        if status == 200:
            yield name
