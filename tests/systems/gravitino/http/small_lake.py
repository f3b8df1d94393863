"""The small lake for most tests, created over the wire by its owner."""

from __future__ import annotations

from tests.systems.gravitino.http.wire import Json, Wire

ML = "metalakes/lk"
REL = f"{ML}/catalogs/rel"
S = f"{REL}/schemas/s"
T = f"{S}/tables/t"

COLUMNS: list[Json] = [
    {"name": "id", "type": "long", "nullable": False},
    {"name": "name", "type": "varchar(20)", "comment": "what it is called"},
]


def fill(wire: Wire) -> None:
    """Metalake `lk` with a catalog of each type and contents in each; users eve and bob."""
    wire.good("POST", "metalakes", {"name": "lk", "comment": "the lake"})
    for name, type, provider in (
        ("rel", "relational", "hive"),
        ("msg", "messaging", "kafka"),
        ("fil", "fileset", None),
        ("mod", "model", None),
    ):
        body = {"name": name, "type": type, "provider": provider, "properties": {"k": "v"}}
        wire.good("POST", f"{ML}/catalogs", body)
        if type != "messaging":
            wire.good("POST", f"{ML}/catalogs/{name}/schemas", {"name": "s", "comment": "a schema"})
    wire.good("POST", f"{S}/tables", {"name": "t", "comment": "a table", "columns": COLUMNS})
    wire.good("POST", f"{ML}/catalogs/msg/schemas/default/topics", {"name": "p"})
    wire.good(
        "POST",
        f"{ML}/catalogs/fil/schemas/s/filesets",
        {"name": "f", "storageLocation": "file:/data/f"},
    )
    wire.good("POST", f"{ML}/catalogs/mod/schemas/s/models", {"name": "m"})
    for name in ("bob", "eve"):
        wire.good("POST", f"{ML}/users", {"name": name})
