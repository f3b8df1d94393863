"""The example of Gravitino's access control page, its 13 steps with the PyPI client.

    python walkthrough.py http://127.0.0.1:8787 admin

Run by the client's own Python against an empty server whose service admin is the second
argument. Stops at the first unexpected response.
SOURCE: Apache Gravitino 1.1.0, access control page, Example.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

os.environ.setdefault("GRAVITINO_USER", "admin")

from gravitino import (  # type: ignore[import-not-found]
    Catalog,
    GravitinoAdminClient,
    GravitinoClient,
    NameIdentifier,
)
from gravitino.api.authorization.owner import Owner  # type: ignore[import-not-found]
from gravitino.api.authorization.privileges import (  # type: ignore[import-not-found]
    Privileges,
)
from gravitino.api.authorization.securable_objects import (  # type: ignore[import-not-found]
    SecurableObjects,
)
from gravitino.api.metadata_object import MetadataObject  # type: ignore[import-not-found]
from gravitino.api.metadata_objects import MetadataObjects  # type: ignore[import-not-found]
from gravitino.api.rel.column import Column  # type: ignore[import-not-found]
from gravitino.api.rel.types.types import Types  # type: ignore[import-not-found]
from gravitino.auth.simple_auth_provider import (  # type: ignore[import-not-found]
    SimpleAuthProvider,
)
from gravitino.exceptions import base as errors  # type: ignore[import-not-found]

LAKE = "test"


def provider(user: str) -> SimpleAuthProvider:
    """Credentials of a user, in the client's form."""
    os.environ["GRAVITINO_USER"] = user
    return SimpleAuthProvider()


def client(url: str, user: str) -> GravitinoClient:
    """A client of the metalake for one of its users."""
    return GravitinoClient(url, LAKE, auth_data_provider=provider(user))


@contextmanager
def refused() -> Iterator[None]:
    """Expects that the block is forbidden."""
    try:
        yield
    except errors.ForbiddenException:
        return
    raise AssertionError("expected a refusal")


def is_closed(url: str, user: str) -> bool:
    """Whether the metalake is closed to the user: a new client loads it."""
    try:
        client(url, user).close()
    except errors.ForbiddenException:
        return True
    return False


def table(catalog: Catalog, schema: str, name: str) -> NameIdentifier:
    """Creates a schema with a table."""
    catalog.as_schemas().create_schema(schema, "a schema", {})
    at = NameIdentifier.of(schema, name)
    columns = [Column.of("id", Types.LongType.get(), "the key")]
    assert catalog.as_table_catalog().create_table(at, columns, "a table", {}).name() == name
    return at


def prepare(url: str, admin: str) -> tuple[GravitinoClient, GravitinoClient]:
    """Steps 1 to 4: a metalake, its owner, and another user; returns clients of admin and owner."""
    # 1. The service admin makes a metalake.
    setup = GravitinoAdminClient(url, auth_data_provider=provider(admin))
    assert setup.create_metalake(LAKE, "the example", {}).name() == LAKE
    setup.close()
    service = client(url, admin)
    assert is_closed(url, "Manager")

    # 2., 3. The service admin adds Manager, and makes Manager the owner.
    assert service.add_user("Manager").name() == "Manager"
    lake = MetadataObjects.of([LAKE], MetadataObject.Type.METALAKE)
    assert service.get_owner(lake).name() == admin
    service.set_owner(lake, "Manager", Owner.Type.USER)
    assert service.get_owner(lake).name() == "Manager"
    with refused():
        service.add_user("Nobody")

    # 4. Manager adds Staff.
    manager = client(url, "Manager")
    assert manager.add_user("Staff").roles() == []
    return service, manager


def build(staff: GravitinoClient) -> dict[str, NameIdentifier]:
    """Steps 7 to 12: Staff's catalogs, each with a schema and a table; returns the tables."""
    # 7. to 9. A Hive catalog.
    hive = staff.create_catalog(
        "hive_catalog", Catalog.Type.RELATIONAL, "hive", "", {"metastore.uris": "thrift://h:9083"}
    )
    # 10. to 12. A MySQL catalog.
    mysql = staff.create_catalog(
        "mysql_catalog",
        Catalog.Type.RELATIONAL,
        "jdbc-mysql",
        "",
        {"jdbc-url": "jdbc:mysql://h:3306", "jdbc-user": "u", "jdbc-password": "p"},
    )
    assert "jdbc-password" not in mysql.properties()
    return {
        "hive_catalog": table(hive, "hive_db", "hive_table"),
        "mysql_catalog": table(mysql, "mysql_db", "mysql_table"),
    }


def main(url: str, admin: str) -> None:
    """The steps, as numbered on the page."""
    service, manager = prepare(url, admin)
    staff = client(url, "Staff")
    with refused():
        staff.create_catalog("early", Catalog.Type.RELATIONAL, "hive", "", {})

    # 5., 6. Manager makes the role, and hands it to Staff.
    create = Privileges.allow("CREATE_CATALOG")
    held = [SecurableObjects.of_metalake(LAKE, [create])]
    role = manager.create_role("catalog_manager", {}, held)
    assert [one.name() for one in role.securable_objects()[0].privileges()] == [create.name()]
    assert manager.grant_roles_to_user(["catalog_manager"], "Staff").roles() == ["catalog_manager"]

    tables = build(staff)

    # 13. Staff may read both, and so may Manager, who owns the metalake; nobody else may.
    for user in (staff, manager):
        assert user.list_catalogs() == sorted(tables)
        for catalog, at in tables.items():
            found = user.load_catalog(catalog).as_table_catalog().load_table(at)
            assert found.name() == at.name()
    on_table = ["hive_catalog", "hive_db", "hive_table"]
    owner = staff.get_owner(MetadataObjects.of(on_table, MetadataObject.Type.TABLE))
    assert (owner.name(), owner.type()) == ("Staff", Owner.Type.USER)
    assert service.list_catalogs() == []
    assert is_closed(url, "Stranger")
    for one in (service, manager, staff):
        one.close()
    print("all: ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
