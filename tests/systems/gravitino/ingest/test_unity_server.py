"""Unity Catalog's open-source server: a scripted one, with the formats of its API."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.extract.original import Credential
from lakewarden.pipeline.ingest.opener import opener_of
from lakewarden.pipeline.ingest.run import Result, ingest
from lakewarden.service.warden import Warden
from tests.pipeline.extract.scripted import Answer, Script, scripted
from tests.systems.gravitino.ingest.test_catalog_exports import allowed, notes
from tests.systems.gravitino.ingest.test_catalog_random import GRAVITINO, facts_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = "/api/2.1/unity-catalog"
USERS = "/api/1.0/unity-control/scim2/Users"
ANA, BEN, CLEO, DORA, EVE = (f"{name}@corp.test" for name in ("ana", "ben", "cleo", "dora", "eve"))
EARLY, MADE, LATE = "2026-01-01T00:00:00.000+00:00", 1_780_000_000_000, "2026-12-01T00:00:00Z"


def ingested(address: str, out: Path, spark: SparkSession, token: str) -> tuple[Warden, Result]:
    options = {"metalake": "lk", "credential": Credential(token)}
    source = opener_of("unity-catalog").open(address, "gravitino", options)
    result = ingest(source, out, spark=spark)
    loaded = load(out)
    return Warden(loaded.system, loaded.facts), result


def paged(key: str, *items: Mapping[str, object]) -> Callable[[Mapping[str, Any], Any], Answer]:
    """A list with one item per page, by token."""

    def told(query: Mapping[str, Sequence[str]], _: object) -> Answer:
        at = int(query.get("page_token", ["0"])[0])
        more = {"next_page_token": str(at + 1)} if at + 1 < len(items) else {}
        return 200, {key: list(items[at : at + 1]), **more}

    return told


def users(*found: tuple[str, bool, str]) -> Callable[[Mapping[str, Any], Any], Answer]:
    """The users, two per page and without a total, like in the server."""

    def told(query: Mapping[str, Sequence[str]], _: object) -> Answer:
        start = int(query["startIndex"][0]) - 1
        return 200, {
            "Resources": [
                {"userName": name, "active": is_active, "meta": {"created": made}}
                for name, is_active, made in found[start : start + 2]
            ]
        }

    return told


def table(name: str, kind: str = "EXTERNAL", owner: str = "", **more: object) -> dict[str, object]:
    columns = [{"name": "id"}, {"name": "card"}]
    made = {"created_at": MADE, "owner": owner} if owner else {}
    return {"name": name, "table_type": kind, "columns": columns, **made, **more}


def grants(**privileges: str) -> Answer:
    assignments = [
        {"principal": f"{name}@corp.test", "privileges": words.split(", ")}
        for name, words in privileges.items()
    ]
    return 200, {"privilege_assignments": assignments}


SERVER: Script = {
    f"{DATA}/catalogs": paged("catalogs", {"name": "main", "owner": ANA, "created_at": MADE}),
    f"{DATA}/schemas": paged("schemas", {"name": "shop", "owner": ANA, "created_at": MADE}),
    f"{DATA}/tables": paged(
        "tables",
        table("orders", owner=DORA),
        table("people", owner=EVE),
        table("totals", "VIEW", owner="gone@corp.test"),
    ),
    f"{DATA}/volumes": paged("volumes", {"name": "files"}),
    f"{DATA}/functions": paged("functions", {"name": "tax"}),
    f"{DATA}/models": paged("registered_models", {"name": "churn"}),
    f"{DATA}/permissions/catalog/main": grants(
        ana="USE CATALOG, SELECT", ben="USE CATALOG", cleo="USE CATALOG", dora="USE CATALOG"
    ),
    f"{DATA}/permissions/schema/main.shop": grants(
        ana="USE SCHEMA",
        ben="USE SCHEMA, MODIFY, EXECUTE, READ VOLUME",
        cleo="USE SCHEMA",
        dora="USE SCHEMA, CREATE TABLE",
    ),
    f"{DATA}/permissions/table/main.shop.orders": grants(
        ben="SELECT, MODIFY", cleo="SELECT", gone="SELECT"
    ),
    f"{DATA}/permissions/table/main.shop.people": grants(),
    f"{DATA}/permissions/table/main.shop.totals": (404, {"message": "not there"}),
    f"{DATA}/permissions/volume/main.shop.files": grants(),
    f"{DATA}/permissions/function/main.shop.tax": grants(),
    f"{DATA}/permissions/registered_model/main.shop.churn": grants(ana="EXECUTE"),
    USERS: users(
        (ANA, True, EARLY),
        (BEN, True, EARLY),
        (CLEO, False, EARLY),
        (DORA, True, EARLY),
        (EVE, True, LATE),
        ("fay@corp.test", True, "some day"),
    ),
}


def test_a_server_as_catalogs(unstarted: SparkSession, tmp_path: Path) -> None:
    with scripted(SERVER) as server:
        warden, result = ingested(server.address, tmp_path / "out", unstarted, "secret")
        assert not ingested(server.address, tmp_path / "out", unstarted, "secret")[1].is_new
        assert set(server.headers) == {"Bearer secret"}
    # cleo is disabled; dora created orders, and a later eve did not create people.
    orders, people, totals = (f"main.shop.{name}" for name in ("orders", "people", "totals"))
    assert allowed(warden, "table.load", orders, people) == {
        orders: {ANA, BEN, DORA},
        people: {ANA},
    }
    assert allowed(warden, "table.write", orders, people) == {orders: {BEN, DORA}, people: set()}
    assert allowed(warden, "table.drop", orders, people) == {orders: {DORA}, people: set()}
    assert allowed(warden, "view.load", totals) == {totals: {ANA}}
    assert allowed(warden, "column.read", f"{orders}.card") == {f"{orders}.card": {ANA, BEN, DORA}}
    assert allowed(warden, "model.load", "main.shop.churn") == {"main.shop.churn": {ANA, BEN}}
    assert allowed(warden, "fileset.load", "main.shop.files") == {"main.shop.files": {BEN}}
    assert warden.check(DORA, "table.create", "schema:lk:main.shop").allow
    assert not warden.check(ANA, "schema.drop", "schema:lk:main.shop").allow
    later = "the user of this name is newer than the object, so another user created it"
    assert notes(result) >= {
        f"external main.shop.people of {EVE}: owner newer than the object: {later}",
        "view main.shop.totals of gone@corp.test: unknown user: the server has no user of"
        " this name",
        "SELECT of gone@corp.test on external main.shop.orders: unknown user: the server has no"
        " user of this name",
        f"schema:lk:main.shop: MODIFY to {BEN}: it lacks SELECT",
        f"schema:lk:main.shop: the owner {ANA}: who owns a schema owns nothing in it",
        f"{CLEO}: not active: no user here",
    }
    hidden = [text for text in result.report.not_read if "totals" in text]
    assert hidden == [f"{DATA}/permissions/table/main.shop.totals (404): not there"]


@pytest.mark.parametrize(
    ("path", "answer", "message"),
    [
        (USERS, (403, {"message": "no"}), "the users are not shown, and so not who is disabled"),
        (USERS, (200, {"Resources": [{"active": True}]}), "expected a non-empty string"),
        (f"{DATA}/tables", (200, {"tables": [{"name": "x", "columns": {}}]}), "expected a list"),
        (f"{DATA}/catalogs", (200, {"next_page_token": "x"}), "for the second time"),
        (f"{DATA}/schemas", (401, {}), "refuses the credential"),
    ],
)
def test_what_is_half_read_is_refused(
    unstarted: SparkSession, tmp_path: Path, path: str, answer: Answer, message: str
) -> None:
    with (
        scripted({**SERVER, path: answer}) as server,
        pytest.raises(BadInput, match=message),
    ):
        ingested(server.address, tmp_path / "out", unstarted, "secret")
    assert not (tmp_path / "out" / "manifest.json").exists()


# Random grants, by an independent reading of the server's rules (AuthorizeExpressions).

NAMES = ("ana", "ben", "cleo", "dora")
TABLES = [("main", schema, name) for schema, name in itertools.product(("s", "t"), ("a", "b"))]
EVERYWHERE = [("main",), ("main", "s"), ("main", "t"), *TABLES]
WORDS = {
    1: ("USE CATALOG", "USE SCHEMA", "SELECT", "MODIFY", "CREATE SCHEMA"),
    2: ("USE SCHEMA", "USE SCHEMA", "SELECT", "MODIFY", "CREATE TABLE"),
    3: ("SELECT", "SELECT", "MODIFY"),
}
KINDS = {1: "catalog", 2: "schema", 3: "table"}
Grant = tuple[str, str, tuple[str, ...]]
"""A user, a privilege, and its object."""


@dataclass
class World:
    """The contents of a server: grants, creators of tables, disabled and late users."""

    grants: set[Grant]
    owners: dict[tuple[str, ...], str]
    disabled: str
    late: str

    def has(self, user: str, word: str, on: tuple[str, ...]) -> bool:
        """A privilege on an object, or on its containers, like `g2` of the server's matcher."""
        above = [on[:length] for length in range(1, len(on) + 1)]
        return any((user, word, one) in self.grants for one in above)

    def vends(self, user: str, table: tuple[str, ...], operation: str) -> bool:
        """Whether the server issues credentials for the table's files."""
        if user == self.disabled:
            return False
        if not self.has(user, "USE SCHEMA", table[:2]):
            return False
        if not self.has(user, "USE CATALOG", table[:1]):
            return False
        owns = self.owners.get(table) == user and user != self.late
        reads = self.has(user, "SELECT", table)
        if operation == "READ":
            return owns or reads
        return owns or (reads and self.has(user, "MODIFY", table))

    def script(self) -> Script:
        """The server's responses."""

        def grants_on(on: tuple[str, ...]) -> Answer:
            words: dict[str, list[str]] = {}
            for name, word, at in sorted(self.grants):
                if at == on:
                    words.setdefault(name, []).append(word)
            return grants(**{name: ", ".join(said) for name, said in words.items()})

        def listed(query: Mapping[str, Sequence[str]], _: object) -> Answer:
            schema = query["schema_name"][0]
            owners = {one: f"{name}@corp.test" for one, name in self.owners.items()}
            found = [table(t[2], owner=owners.get(t, "")) for t in TABLES if t[1] == schema]
            return 200, {"tables": found}

        everybody = (
            (f"{name}@corp.test", name != self.disabled, LATE if name == self.late else EARLY)
            for name in NAMES
        )
        none: Answer = (200, {})
        return {
            f"{DATA}/catalogs": paged("catalogs", {"name": "main"}),
            f"{DATA}/schemas": paged("schemas", {"name": "s"}, {"name": "t"}),
            f"{DATA}/tables": listed,
            **{f"{DATA}/{name}": none for name in ("volumes", "functions", "models")},
            **{
                f"{DATA}/permissions/{KINDS[len(on)]}/{'.'.join(on)}": grants_on(on)
                for on in EVERYWHERE
            },
            USERS: users(*everybody),
        }


def drawn(chance: random.Random) -> World:
    granted: set[Grant] = set()
    for name in NAMES[:3]:
        granted.add((name, "USE CATALOG", ("main",)))
        granted.add((name, "USE SCHEMA", chance.choice([("main", "s"), ("main", "t"), ("main",)])))
    for _ in range(14):
        on = chance.choice(EVERYWHERE)
        granted.add((chance.choice(NAMES), chance.choice(WORDS[len(on)]), on))
    owners: dict[tuple[str, ...], str] = {
        one: chance.choice(NAMES) for one in chance.sample(TABLES, 3)
    }
    return World(granted, owners, *chance.sample(NAMES, 2))


@pytest.mark.parametrize("seed", range(6))
def test_random_grants(unstarted: SparkSession, tmp_path: Path, seed: int) -> None:
    """Reads are equal; writes and ownership are never more."""
    world = drawn(random.Random(seed))
    options = {"metalake": "lk", "credential": Credential("secret")}
    with scripted(world.script()) as server:
        source = opener_of("unity-catalog").open(server.address, "gravitino", options)
        found = source.read(unstarted, GRAVITINO, tmp_path, lambda *_: None)
    assert isinstance(found.rows, list)
    warden = Warden(GRAVITINO, facts_of(found.rows))
    for name, parts in itertools.product(NAMES, TABLES):
        user, on = f"{name}@corp.test", f"lk:{'.'.join(parts)}"
        reads = world.vends(name, parts, "READ")
        assert warden.check(user, "table.load", f"table:{on}").allow is reads, (name, parts)
        assert warden.check(user, "column.read", f"column:{on}.id").allow is reads, (name, parts)
        writes = world.vends(name, parts, "READ_WRITE")
        assert warden.check(user, "table.write", f"table:{on}").allow <= writes, (name, parts)
        owns = world.owners.get(parts) == name and name not in (world.late, world.disabled)
        assert warden.check(user, "table.drop", f"table:{on}").allow <= owns, (name, parts)
