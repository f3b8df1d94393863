"""Measures of the structure: lines, rooms that name a system, the path of one request.

    python -m bench.house

Prints JSON. `way` describes one warm `GET` of a Gravitino table, from the request's head to the
bytes of the response: the rooms that calls enter (a room is a package of `lakewarden`; a system's
folder and its `http` are one each), and how often a call goes up, to a room above its caller's.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import tempfile
import threading
import tokenize
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import httpx

import lakewarden
from lakewarden.app.build import Application
from lakewarden.config.settings import load

SRC: Final = Path(lakewarden.__file__).parent
SYSTEMS: Final = SRC / "systems"
LAYERS: Final = (
    *("kernel", "names", "models", "analysis", "service", "config", "authn", "store", "http"),
    *("app", "use_cases", "systems"),
)
"""From the lowest to the highest, in the order of the import contracts."""

ENTITIES: Final = ("metalake:lk", "catalog:lk:c", "schema:lk:c.s", "table:lk:c.s.t")
TABLE: Final = "/api/metalakes/lk/catalogs/c/schemas/s/tables/t"


class Way(NamedTuple):
    """The rooms that calls entered, and the calls that went up, as `from -> to`."""

    rooms: list[str]
    climbs: list[str]


def lines() -> int:
    """Lines of Python below `src`."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in SRC.rglob("*.py"))


def naming(system: str) -> list[str]:
    """Rooms outside the systems' own that have an identifier with the name of a system in it."""
    rooms = set()
    for path in SRC.rglob("*.py"):
        if SYSTEMS in path.parents:
            continue
        with path.open("rb") as source:
            tokens = tokenize.tokenize(source.readline)
            if any(t.type == tokenize.NAME and system in t.string.lower() for t in tokens):
                rooms.add(path.relative_to(SRC).parts[0])
    return sorted(rooms)


def room(path: str) -> str | None:
    """The room of a source file; None if the file is not ours."""
    if not path.startswith(str(SRC)):
        return None
    parts = Path(path).relative_to(SRC).parts
    if parts[0] == "systems" and len(parts) > 2:
        return "/".join(parts[:3]) if len(parts) > 3 else "/".join(parts[:2])
    return parts[0] if len(parts) > 1 else None


def _height(room: str) -> int:
    parts = room.split("/")
    return LAYERS.index("use_cases" if parts[-1] == "use_cases" else parts[0])


class _Watch:
    """Traces the calls of all threads that start after it, while `is_on`."""

    def __init__(self) -> None:
        self.is_on = False
        self.entered: list[str] = []
        self.climbs: list[str] = []
        threading.setprofile(self._look)
        sys.setprofile(self._look)

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        if not self.is_on or event != "call":
            return
        here, before = room(frame.f_code.co_filename), frame.f_back
        while before is not None and room(before.f_code.co_filename) is None:
            before = before.f_back
        there = None if before is None else room(before.f_code.co_filename)
        if here is None or here == there:
            return
        self.entered.append(here)
        if there is not None and _height(here) > _height(there):
            self.climbs.append(f"{there} -> {here}")

    def stop(self) -> None:
        """Stops tracing."""
        self.is_on = False
        threading.setprofile(None)
        sys.setprofile(None)


def way() -> Way:
    """Traces a warm `GET` of a table."""
    watch = _Watch()
    with tempfile.TemporaryDirectory() as folder:
        application = Application(load(None, {"database": f"sqlite:///{folder}/store"}, {}))
        application.open()
        runner = asyncio.Runner()
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(application), base_url="http://127.0.0.1"
        )
        sent = {"authorization": f"Basic {base64.b64encode(b'admin:').decode()}"}
        for name in ENTITIES:
            body = {"entity": name}
            address = "/api/v1/realms/gravitino/entity"
            runner.run(client.put(address, json=body, headers=sent)).raise_for_status()
        owner = {"member": "user:admin", "of": "members:lk"}
        memberships = "/api/v1/realms/gravitino/memberships"
        runner.run(client.put(memberships, json=owner, headers=sent)).raise_for_status()
        given = {
            "privileges": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"],
            "on": "metalake:lk",
            "to": ["user:admin"],
        }
        statements = "/api/v1/realms/gravitino/statements/reads"
        runner.run(client.put(statements, json=given, headers=sent)).raise_for_status()
        for _ in range(2):
            runner.run(client.get(TABLE, headers=sent)).raise_for_status()
        watch.is_on = True
        runner.run(client.get(TABLE, headers=sent)).raise_for_status()
        watch.stop()
        runner.run(client.aclose())
        runner.close()
        application.close()
    return Way(sorted(set(watch.entered)), watch.climbs)


def measured() -> dict[str, Any]:
    """All measures."""
    found = way()
    return {
        "lines_of_src": lines(),
        "rooms_that_name_datahub": naming("datahub"),
        "way_rooms": found.rooms,
        "way_climbs": found.climbs,
    }


if __name__ == "__main__":
    print(json.dumps(measured(), indent=2))
