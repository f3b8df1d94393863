"""A catalog that declares a real PostgreSQL as its authorization plugin, over the real dialect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa

from lakewarden.app.push_connection import connect_target
from lakewarden.service import push_outbox, push_target
from lakewarden.service.actor import SYSTEM
from lakewarden.service.effect import RealmChanged
from lakewarden.service.push_delivery import Delivery
from lakewarden.service.push_outbox import Pending
from lakewarden.service.push_target import PushTarget
from tests.pushdown.relay import Relay, columns, relay
from tests.servers import fresh_database
from tests.systems.gravitino.http.wire import REALM, Wire

PASSWORD = "s3cret of the keeper"
LAKE = "metalakes/lk"
CATALOG = f"{LAKE}/catalogs/pg"
GRANT = {"roleNames": ["readers"]}
READ = ("use_catalog", "use_schema", "select_table")


@dataclass
class Hooked:
    """The server, its database, and a frozen clock."""

    wire: Wire
    relay: Relay
    database: Any
    name: str
    now: float = 1_800_000_000.0
    told: list[tuple[str, int, str]] = field(default_factory=list)

    def delivery(self) -> Delivery:
        """The delivery of one process."""
        return Delivery(
            self.wire.service,
            self.wire.services.sealing,
            connect_target,
            ("127.0.0.1",),
            lambda target, count, error: self.told.append((target.name, count, error)),
        )

    def properties(self, **others: str) -> dict[str, str]:
        return {
            "authorization-provider": "jdbc",
            "authorization.jdbc.url": f"jdbc:postgresql://127.0.0.1:{self.relay.port}/{self.name}",
            "authorization.jdbc.username": "postgres",
            "authorization.jdbc.password": PASSWORD,
            "authorization.jdbc.driver": "org.postgresql.Driver",
            **others,
        }

    def create(self, properties: Mapping[str, str], name: str = "pg") -> tuple[int, Any]:
        body = {"name": name, "type": "relational", "provider": "jdbc-postgresql"}
        return self.wire.ask("POST", f"{LAKE}/catalogs", {**body, "properties": dict(properties)})

    def furnish(self) -> None:
        """Creates the catalog with a table, and a role that may read it and has no members yet."""
        assert self.create(self.properties())[0] == 200
        self.wire.good("POST", f"{CATALOG}/schemas", {"name": "raw"})
        table = {"name": "orders", "columns": columns("a")}
        self.wire.good("POST", f"{CATALOG}/schemas/raw/tables", table)
        privileges = [{"name": name, "condition": "allow"} for name in READ]
        role = {"fullName": "pg", "type": "catalog", "privileges": privileges}
        self.wire.good("POST", f"{LAKE}/roles", {"name": "readers", "securableObjects": [role]})

    def grant(self, verb: str = "grant") -> None:
        self.wire.good("PUT", f"{LAKE}/permissions/users/ana/{verb}", GRANT)

    def may(self, privilege: str = "SELECT", user: str = "ana") -> bool:
        query = "SELECT has_table_privilege(%s, 'raw.orders', %s)"
        ((found,),) = self.database.execute(query, [user, privilege]).fetchall()
        return bool(found)

    def roles(self) -> set[str]:
        """The roles in the database that are ours, from any target."""
        query = "SELECT rolname FROM pg_roles WHERE shobj_description(oid, 'pg_authid') IS NOT NULL"
        rows = self.database.execute(query).fetchall()
        return {name for (name,) in rows if not name.startswith("pg_")}

    def targets(self) -> list[tuple[PushTarget, Pending | None]]:
        with self.wire.service.reading() as reading:
            found = list(push_target.targets(reading, (REALM,)))
            entries = push_outbox.pending(reading, found)
        return [(one, entries.get(one.name)) for one in found]


@contextmanager
def hooked(folder: Path, postgres_url: str, *, on: bool = True) -> Iterator[Hooked]:
    """The server with the metalake and user `ana`, and a database with the table and the user."""
    with (
        Wire(folder) as wire,
        fresh_database(postgres_url) as url,
        relay(postgres_url) as port,
    ):
        address = sa.make_url(url).set(drivername="postgresql")
        text = address.render_as_string(hide_password=False)
        with psycopg.connect(text, autocommit=True) as own:
            made = Hooked(wire, port, own, str(address.database))
            wire.service.clock = lambda: made.now
            if on:
                switch_on(wire)
            own.execute("CREATE SCHEMA raw; CREATE TABLE raw.orders (a int)")
            own.execute("CREATE ROLE ana LOGIN")
            wire.good("POST", "metalakes", {"name": "lk"})
            wire.good("POST", f"{LAKE}/users", {"name": "ana"})
            try:
                yield made
            finally:
                for role in (*made.roles(), "ana"):
                    own.execute(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"')


def switch(wire: Wire, value: str, kind: str = "postgresql") -> None:
    """The realm's setting for targets of that kind, `on` or `off`."""

    def write(transaction: Any) -> None:
        before = transaction.realm(REALM).realm
        settings = {**before.settings, kind: value}
        transaction.change(REALM, RealmChanged(REALM, replace(before, settings=settings)))

    wire.service.write(SYSTEM, write)


def switch_on(wire: Wire, kind: str = "postgresql") -> None:
    """Turns on targets of the kind for the realm."""
    switch(wire, "on", kind)
