"""The objects in a PostgreSQL that can be granted, and the users they can be granted to."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Mapping
from typing import Final

from lakewarden.pushdown.address import Address
from lakewarden.pushdown.foreign_keys import ForeignKey, effects
from lakewarden.pushdown.grants import Path
from lakewarden.pushdown.postgresql_powers import LENT, Rows, accounts_granted_as_roles
from lakewarden.pushdown.target_objects import TargetObjects

_OBJECTS: Final = """
SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'), c.relkind = 'f',
       a.attname, format_type(a.atttypid, a.atttypmod)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY n.nspname, c.relname, a.attnum
"""
_DESCENDANTS: Final = """
WITH RECURSIVE below (top, id) AS (
  SELECT inhparent, inhrelid FROM pg_inherits
  UNION SELECT below.top, i.inhrelid FROM below JOIN pg_inherits i ON i.inhparent = below.id
)
SELECT top_schema.nspname, top.relname, n.nspname, c.relname
FROM below
JOIN pg_class top ON top.oid = below.top AND top.relkind IN ('r', 'p', 'f')
JOIN pg_namespace top_schema ON top_schema.oid = top.relnamespace
JOIN pg_class c ON c.oid = below.id
JOIN pg_namespace n ON n.oid = c.relnamespace
"""
"""Tables, and those that inherit from them at any depth, as partitions do.

Only the rights and row policies of the top table apply when the others are accessed through it.
"""

_FOREIGN_KEYS: Final = """
SELECT key.conname, n.nspname, c.relname, parent_schema.nspname, parent.relname,
       CASE key.confdeltype WHEN 'c' THEN 'DELETE' WHEN 'n' THEN 'UPDATE' WHEN 'd' THEN 'UPDATE'
            ELSE '' END,
       CASE WHEN key.confupdtype IN ('c', 'n', 'd') THEN 'UPDATE' ELSE '' END
FROM pg_constraint key
JOIN pg_class c ON c.oid = key.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class parent ON parent.oid = key.confrelid
JOIN pg_namespace parent_schema ON parent_schema.oid = parent.relnamespace
WHERE key.contype = 'f'
  AND (key.confdeltype IN ('c', 'n', 'd') OR key.confupdtype IN ('c', 'n', 'd'))
"""
"""Foreign keys that change the referencing table, with the privileges that this would take."""

_SCHEMAS: Final = """
SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
"""
_USERS: Final = """
SELECT rolname, rolsuper OR rolbypassrls OR rolname = current_user FROM pg_roles WHERE rolcanlogin
"""
"""Users, and whether nothing limits them: the account that pushes has the rights of the owners."""

_ALL_ROLES: Final = "SELECT rolname FROM pg_roles"
_ENCODING: Final = "SELECT current_setting('server_encoding')"
_CODECS: Final = {"SQL_ASCII": "ascii", "KOI8R": "koi8-r", "KOI8U": "koi8-u", "EUC_CN": "gb2312"}
"""Encodings with other names in Python, and the one that leaves its characters undefined."""


def found_objects(
    rows: Rows, address: Address, ours: Collection[str], no_views: str
) -> TargetObjects:
    """The current objects: users, schemas, tables and views with their columns."""
    columns: dict[Path, dict[str, str]] = {}
    views: set[Path] = set()
    foreign: set[Path] = set()
    below = descendants(rows)
    schemas = {name for (name,) in rows(_SCHEMAS)} - {address.view_schema}
    users = rows(_USERS)
    for schema, name, is_view, is_foreign, column, type in rows(_OBJECTS):
        if schema not in schemas:
            continue
        own = columns.setdefault((schema, name), {})
        if column is not None:
            own[column] = type
        if is_view:
            views.add((schema, name))
        if is_foreign:
            foreign.add((schema, name))
    return TargetObjects(
        users=frozenset(name for name, is_unlimited in users if not is_unlimited),
        unlimited=frozenset(name for name, is_unlimited in users if is_unlimited),
        refused_users={of: LENT for of, _ in accounts_granted_as_roles(rows)},
        schemas=frozenset(schemas),
        columns=columns,
        views=frozenset(views),
        without_policies=frozenset(foreign),
        descendants=below,
        effects=effects(foreign_keys(rows), below),
        roles=role_names(rows) - {*ours},
        no_views=no_views,
        mark=address.mark,
        encoding=codec_of(rows(_ENCODING)[0][0]),
    )


def descendants(rows: Rows) -> Mapping[Path, frozenset[Path]]:
    """The tables that inherit from each table at any depth, as its partitions do."""
    found: dict[Path, set[Path]] = {}
    for top_schema, top, schema, name in rows(_DESCENDANTS):
        found.setdefault((top_schema, top), set()).add((schema, name))
    return {path: frozenset(paths) for path, paths in found.items()}


def foreign_keys(rows: Rows) -> list[ForeignKey]:
    """The foreign keys that change the referencing table."""
    return [
        ForeignKey(name, (schema, child), (parent_schema, parent), on_delete, on_update)
        for name, schema, child, parent_schema, parent, on_delete, on_update in rows(_FOREIGN_KEYS)
    ]


def role_names(rows: Rows) -> frozenset[str]:
    """The names of all roles of the server."""
    return frozenset(name for (name,) in rows(_ALL_ROLES))


def codec_of(encoding: str) -> str:
    """Python's name of an encoding of PostgreSQL; ASCII if Python lacks the encoding.

    >>> [codec_of(one) for one in ("UTF8", "LATIN9", "WIN1252", "EUC_TW")]
    ['utf-8', 'iso8859-15', 'cp1252', 'ascii']
    """
    name = _CODECS.get(encoding, encoding.replace("WIN", "cp"))
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "ascii"
