"""Small policies of Ranger in the form of its API, and a `Warden` over them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lakewarden.service.source_row import Row
from lakewarden.service.system import load_system
from lakewarden.service.warden import Warden
from lakewarden.systems.gravitino.ingest.ranger_file import RangerFile
from lakewarden.systems.gravitino.ingest.ranger_policy import Ranger
from tests.pipeline.ingest.believed import warden_of

SYSTEM = load_system("gravitino")
NOW = 1_780_000_000.0

Policy = dict[str, Any]


def item(*accesses: str, **who: Any) -> Policy:
    """An item: `users`, `groups`, `roles` and other members."""
    return {"accesses": [{"type": one, "isAllowed": True} for one in accesses], **who}


def policy(name: str, *values: str, **more: Any) -> Policy:
    """A policy of the Hive service about one database, table and column."""
    levels = zip(("database", "table", "column"), values, strict=False)
    resources = {level: {"values": [value]} for level, value in levels}
    found = {"service": "hive1", "serviceType": "hive", "name": name, "resources": resources}
    return {**found, **more}


def users(**groups: Sequence[str]) -> Policy:
    listed = [{"name": user, "groupNameList": list(found)} for user, found in groups.items()]
    return {"vXUsers": listed}


def meant(*found: object, now: float = NOW, **options: Any) -> tuple[Warden, list[Row]]:
    """A `Warden` over these records, and all rows."""
    ranger = Ranger()
    for number, value in enumerate(found):
        ranger.add_record(value, f"[{number}]")
    source = RangerFile(Path("policies"), "lk", **options)
    rows = list(source.meaning(ranger).rows())
    assert not [row for row in rows if row.reason]
    return warden_of(rows, SYSTEM, now), rows
