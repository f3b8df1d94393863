"""`lakewarden lookup`: the tables of values that row filters and column masks compare with."""

from __future__ import annotations

import csv
import io
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from cyclopts import Parameter

from lakewarden.cli import admin_target
from lakewarden.cli.admin_target import NOWHERE, At, RealmName, done, opened, operator
from lakewarden.cli.outcome import NO, YES, show_json, show_table
from lakewarden.cli.question import As, Texts, pair
from lakewarden.cli.text_file import read_text
from lakewarden.expressions.lookup import read_lookup, write_lookup
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section

Name = Annotated[str, Parameter(help="Name of the lookup table.")]
Force = Annotated[
    bool,
    Parameter("--force", help="Even if a filter or a mask uses it.", show_default=False),
]


def put(
    name: Name,
    file: Annotated[Path, Parameter(help="CSV file; its first line names the columns.")],
    /,
    *,
    realm: RealmName,
    type: Annotated[
        Texts,
        Parameter("--type", help="Type of a column, `COLUMN=TYPE`; repeatable.", negative=""),
    ] = (),
    force: Force = False,
    at: At = NOWHERE,
) -> int:
    """Declares a lookup table, or replaces it.

    Columns are strings, unless `--type` says `integer`, `decimal`, `boolean`, `date` or
    `timestamp`.

    For example:

        lakewarden lookup put managers managers.csv --realm gravitino --database sqlite:///estate.db
    """
    table = _read(file, dict(pair(text, "--type") for text in type))
    remote = at.remote()
    if remote is not None:
        remote.ask("PUT", _path(realm, name), {**table, "force": force})
        return YES
    from lakewarden.service import lookup_tables

    write = partial(lookup_tables.put, realm=realm, name=name, table=table, force=force)
    with opened(at.database) as service:
        done(service.write(operator(service), write))
    return YES


def remove(name: Name, /, *, realm: RealmName, force: Force = False, at: At = NOWHERE) -> int:
    """Removes a lookup table. Rejected while a filter or a mask uses it, unless `--force` is given.

    For example:

        lakewarden lookup remove managers --realm gravitino --database sqlite:///estate.db
    """
    remote = at.remote()
    if remote is not None:
        query = {"force": "true"} if force else {}
        remote.ask("DELETE", _path(realm, name), query=query)
        return YES
    from lakewarden.service import lookup_tables

    remove_table = partial(lookup_tables.remove, realm=realm, name=name, force=force)
    with opened(at.database) as service:
        admin_target.remove(service, remove_table, f"lookup table `{name}`")
    return YES


def show(name: Name, /, *, realm: RealmName, at: At = NOWHERE, format: As = "table") -> int:
    """Prints the rows of a lookup table.

    For example:

        lakewarden lookup show managers --realm gravitino --database sqlite:///estate.db
    """
    remote = at.remote()
    if remote is not None:
        table = remote.ask("GET", _path(realm, name))
        table.pop("name")
    else:
        from lakewarden.service import lookup_tables

        with opened(at.database) as service:
            actor, now = operator(service), service.clock()
            loaded = done(lookup_tables.load(service.state, actor, realm, name, now))
            table = write_lookup(loaded)
    if format == "json":
        show_json(table)
        return YES
    headings = tuple(column["name"] for column in table["columns"])
    show_table(headings, [tuple(map(_text, row)) for row in table["rows"]])
    return YES


def listed(*, realm: RealmName, at: At = NOWHERE, format: As = "table") -> int:
    """Lists the lookup tables of a realm. Exit code 1 if there are none.

    For example:

        lakewarden lookup list --realm gravitino --database sqlite:///estate.db
    """
    remote = at.remote()
    tables = _stored(at, realm) if remote is None else remote.ask("GET", _path(realm))["lookups"]
    if format == "json":
        show_json(tables)
    elif tables:
        show_table(("name", "columns", "rows", "used by"), map(_row, tables))
    return YES if tables else NO


def _stored(at: At, realm: str) -> list[dict[str, Any]]:
    from lakewarden.service import lookup_tables

    with opened(at.database) as service:
        tables = done(
            lookup_tables.listed(service.state, operator(service), realm, service.clock())
        )
        state = service.state.realm(realm)
        return [
            {
                "name": name,
                "columns": write_lookup(table)["columns"],
                "rows": len(table.rows),
                "used_by": lookup_tables.users_of(state, name),
            }
            for name, table in tables.items()
        ]


def _row(table: dict[str, Any]) -> tuple[str, ...]:
    columns = ", ".join(f"{column['name']} {column['type']}" for column in table["columns"])
    return table["name"], columns, f"{table['rows']:,}", ", ".join(table["used_by"])


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(file: Path, types: dict[str, str]) -> dict[str, object]:
    """The lookup table of a CSV file. Raises `BadInput`."""
    reader = csv.reader(io.StringIO(read_text(file).removeprefix("\ufeff"), newline=""))
    rows: list[list[str]] = []
    try:
        names = next(reader, [])
        for row in reader:
            if row and len(row) != len(names):
                expected = f"expected {len(names)} values, got {len(row)}"
                raise BadInput(expected, where=f"{file}, line {reader.line_num}")
            rows += [row] if row else []
    except csv.Error as error:
        raise BadInput(str(error), where=f"{file}, line {reader.line_num}") from None
    unknown = sorted(types.keys() - set(names))
    if unknown:
        raise BadInput(f"the file has no column `{unknown[0]}`", where="--type")
    columns = [{"name": name, "type": types.get(name, "string")} for name in names]
    table: dict[str, object] = {"columns": columns, "rows": rows}
    read_lookup(Section(table, str(file)))
    return table


def _path(realm: str, name: str | None = None) -> str:
    path = f"/realms/{quote(realm, safe='')}/lookups"
    return path if name is None else f"{path}/{quote(name, safe='')}"
