"""Roles, owners and grants in PostgreSQL's catalog, which any user may read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from lakewarden.systems.gravitino.ingest.postgres_grants import (
    Item,
    Membership,
    Postgres,
    Relation,
    Role,
    Schema,
)

Query = Callable[[str], Sequence[Mapping[str, Any]]]
"""Queries the database and returns the rows by column."""

_DATABASE: Final = """
select pg_get_userbyid(d.datdba) as owner from pg_database d where d.datname = current_database()
"""
_DATABASE_ITEMS: Final = """
select 0 as key, coalesce(g.rolname, '') as grantee, a.privilege_type, a.is_grantable
from pg_database d
cross join aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
left join pg_roles g on g.oid = a.grantee
where d.datname = current_database() and (a.grantee = 0 or g.oid is not null)
"""
_ROLES: Final = "select rolname, rolcanlogin, rolsuper from pg_roles"
_MEMBERSHIPS: Final = """
select m.*, member.rolname as member_name, of.rolname as role_name, member.rolinherit
from pg_auth_members m
join pg_roles member on member.oid = m.member
join pg_roles of on of.oid = m.roleid
"""
_SCHEMAS: Final = """
select n.nspname, pg_get_userbyid(n.nspowner) as owner
from pg_namespace n
where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
"""
_SCHEMA_ITEMS: Final = """
select n.nspname as key, coalesce(g.rolname, '') as grantee, a.privilege_type, a.is_grantable
from pg_namespace n
cross join aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
left join pg_roles g on g.oid = a.grantee
where (a.grantee = 0 or g.oid is not null)
  and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
"""
_RELATIONS: Final = """
select c.oid, n.nspname, c.relname, cast(c.relkind as text) as relkind, c.relrowsecurity,
       pg_get_userbyid(c.relowner) as owner
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
"""
_RELATION_ITEMS: Final = """
select c.oid as key, coalesce(g.rolname, '') as grantee, a.privilege_type, a.is_grantable
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
cross join aclexplode(c.relacl) a
left join pg_roles g on g.oid = a.grantee
where (a.grantee = 0 or g.oid is not null)
  and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
"""
_COLUMN_ITEMS: Final = """
select c.oid, t.attname, coalesce(g.rolname, '') as grantee, a.privilege_type, a.is_grantable
from pg_attribute t
join pg_class c on c.oid = t.attrelid
join pg_namespace n on n.oid = c.relnamespace
cross join aclexplode(t.attacl) a
left join pg_roles g on g.oid = a.grantee
where (a.grantee = 0 or g.oid is not null)
  and not t.attisdropped
  and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
"""
# Objects with a lower number exist in every new database.
_OTHERS: Final = """
select 'functions' as what, count(proacl) as found from pg_proc where oid >= 16384
union all
select 'types', count(typacl) from pg_type where oid >= 16384
union all
select 'languages', count(lanacl) from pg_language where oid >= 16384
union all
select 'foreign servers', count(srvacl) from pg_foreign_server
union all
select 'foreign data wrappers', count(fdwacl) from pg_foreign_data_wrapper
union all
select 'large objects', count(lomacl) from pg_largeobject_metadata
union all
select 'what will be created', count(*) from pg_default_acl
"""


def read(ask: Query, name: str) -> Postgres:
    """The roles, owners and grants of the database behind `ask`; notes call it `name`."""
    (items,) = _items(ask, _DATABASE_ITEMS).values()
    on_schemas = _items(ask, _SCHEMA_ITEMS)
    on_relations = _items(ask, _RELATION_ITEMS)
    on_columns: dict[Any, dict[str, list[Item]]] = {}
    for row in ask(_COLUMN_ITEMS):
        of = on_columns.setdefault(row["oid"], {})
        of.setdefault(row["attname"], []).append(_item(row))
    return Postgres(
        owner=ask(_DATABASE)[0]["owner"],
        items=items,
        roles=[Role(r["rolname"], r["rolcanlogin"], r["rolsuper"]) for r in ask(_ROLES)],
        memberships=[_membership(row) for row in ask(_MEMBERSHIPS)],
        schemas=[
            Schema(row["nspname"], row["owner"], on_schemas.get(row["nspname"], ()))
            for row in ask(_SCHEMAS)
        ],
        relations=[
            Relation(
                schema=row["nspname"],
                name=row["relname"],
                kind=row["relkind"],
                owner=row["owner"],
                items=on_relations.get(row["oid"], ()),
                has_row_security=row["relrowsecurity"],
                columns=on_columns.get(row["oid"], {}),
            )
            for row in ask(_RELATIONS)
        ],
        notes=list(_notes(ask, name)),
    )


def _items(ask: Query, question: str) -> dict[Any, list[Item]]:
    items_by_key: dict[Any, list[Item]] = {}
    for row in ask(question):
        items_by_key.setdefault(row["key"], []).append(_item(row))
    return items_by_key


def _item(row: Mapping[str, Any]) -> Item:
    return Item(row["grantee"], row["privilege_type"], row["is_grantable"])


def _membership(row: Mapping[str, Any]) -> Membership:
    """Since PostgreSQL 16 each membership has its own inherit option."""
    inherits = row.get("inherit_option", row["rolinherit"])
    return Membership(row["member_name"], row["role_name"], bool(inherits))


def _notes(ask: Query, name: str) -> Iterator[tuple[str, str]]:
    for row in ask(_OTHERS):
        if row["found"]:
            yield name, f"grants on {row['what']}: {row['found']}"
