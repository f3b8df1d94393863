"""Masking views of PostgreSQL: in a schema of their own, for one role each.

A view belongs to the account that pushes and reads its table with the rights of that account, so
row security of the table does not apply to it; its own condition does. It is a security barrier:
functions of its readers see no row that it filters out. All names in it are resolved when it is
created. Its columns are listed, so columns that are added to the table later are not in it.

The comment of a view is the note on it. Its state is PostgreSQL's definition of it, its owner,
options and grants.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.abc import AdaptContext

from lakewarden.kernel.errors import Conflict
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.grants import MaskingView, Path
from lakewarden.pushdown.masking_views import (
    NAME_DIGITS,
    Note,
    note_on,
    read_note,
    view_names,
    view_query,
)

MAX_NAME_BYTES: Final = 63
"""PostgreSQL truncates longer names, so they would be different names."""

_SCHEMA_MARK: Final = """
SELECT obj_description(n.oid, 'pg_namespace'),
       n.nspowner = me.oid OR owner.rolsuper
         OR NOT me.rolsuper AND pg_has_role(n.nspowner, 'USAGE')
FROM pg_namespace n JOIN pg_roles owner ON owner.oid = n.nspowner
JOIN pg_roles me ON me.rolname = current_user
WHERE n.nspname = %s
"""
"""The mark of a schema, and whether it belongs to the account, or to a previous one.

Anybody who may create schemas can mark one."""
_STATE: Final = """concat_ws(E'\n',
         pg_get_userbyid(c.relowner), c.reloptions::text, c.relkind::text,
         (SELECT string_agg(one::text, ',' ORDER BY one::text) FROM unnest(c.relacl) one),
         (SELECT string_agg(a.attname || a.attacl::text, ',' ORDER BY a.attnum)
          FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL),
         (SELECT string_agg(pg_get_ruledef(r.oid), E'\n' ORDER BY r.rulename)
          FROM pg_rewrite r WHERE r.ev_class = c.oid),
         (SELECT string_agg(pg_get_triggerdef(t.oid), E'\n' ORDER BY t.tgname)
          FROM pg_trigger t WHERE t.tgrelid = c.oid))"""
"""PostgreSQL's definition of a view, with its owner, options and grants."""

_GIVEN: Final = """ARRAY(
  SELECT concat_ws(' ', pg_get_userbyid(grantee), privilege_type, is_grantable)
  FROM aclexplode(c.relacl) WHERE grantee <> c.relowner)"""
_FROM: Final = "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
_VIEWS: Final = f"""
SELECT c.relname, obj_description(c.oid, 'pg_class'), {_STATE}, {_GIVEN},
       pg_has_role(c.relowner, 'USAGE') OR pg_has_role(n.nspowner, 'USAGE')
{_FROM} WHERE n.nspname = %s AND c.relkind IN ('r', 'p', 'f', 'v', 'm') ORDER BY c.relname
"""
_NOTE: Final = f"""
SELECT {{}} || to_json({_STATE})::text || {{}}
{_FROM} WHERE n.nspname = {{}} AND c.relname = {{}}
"""
_DEFAULT_GRANTEES: Final = """
SELECT DISTINCT acl.grantee = 0, pg_get_userbyid(acl.grantee)
FROM pg_default_acl d JOIN pg_roles me ON me.oid = d.defaclrole AND me.rolname = current_user,
     aclexplode(d.defaclacl) acl
WHERE d.defaclobjtype = 'r' AND acl.grantee <> d.defaclrole
  AND d.defaclnamespace IN (0, coalesce(to_regnamespace(quote_ident(%s))::oid, 0)) ORDER BY 1, 2
"""
"""The grantees of the account's default privileges; whether a grantee is PUBLIC."""

_MAY_USE: Final = """
SELECT DISTINCT pg_get_userbyid(acl.grantee) FROM pg_namespace n, aclexplode(n.nspacl) acl
WHERE n.nspname = %s AND acl.privilege_type = 'USAGE' AND acl.grantee <> 0
  AND acl.grantor = n.nspowner AND NOT acl.is_grantable
"""
"""Only by grants of ours: rights through others, such as `pg_read_all_data`, may go."""

_NEEDED: Final = """
SELECT v.relname, ARRAY(
  SELECT DISTINCT pg_get_userbyid(acl.grantee) FROM (
    SELECT v.relacl UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = v.oid
  ) held (acls), aclexplode(acls) acl WHERE acl.grantee NOT IN (0, v.relowner) ORDER BY 1)
FROM pg_class v JOIN pg_namespace n ON n.oid = v.relnamespace
JOIN pg_type row_type ON row_type.oid = v.reltype
WHERE n.nspname = %s AND EXISTS (
  SELECT FROM pg_depend d
  WHERE d.deptype = 'n' AND (
    d.refclassid = 'pg_class'::regclass AND d.refobjid = v.oid
    OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (row_type.oid, row_type.typarray))
  AND NOT (d.classid = 'pg_rewrite'::regclass
    AND d.objid IN (SELECT oid FROM pg_rewrite WHERE ev_class = v.oid)))
"""
"""Views on which objects of others depend, so that a plain DROP fails, with the readers of
each."""

_SHARED: Final = """
SELECT FROM pg_depend d JOIN pg_namespace n ON n.oid = d.refobjid
LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
WHERE d.refclassid = 'pg_namespace'::regclass AND d.deptype = 'n' AND n.nspname = %s
  AND (c.relkind NOT IN ('r', 'p', 'f', 'v', 'm')) IS NOT FALSE
"""
"""Objects of others in the schema that are no tables or views, such as a function."""


@dataclass(frozen=True, slots=True)
class ViewsFound:
    """The contents of the schema of the views.

    `problem` says why there can be no views, if the schema `is_there`. `own` are our views by
    name, `names` the names of all views and tables there; it `is_shared` if others made other
    objects in it. `needed` are the readers of each view on which objects of others depend. `given`
    are the grantees of the account's default privileges on each new view; None: everybody.
    """

    is_there: bool = False
    problem: str = ""
    own: Mapping[str, Note] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    is_shared: bool = False
    needed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    given: tuple[str | None, ...] = ()


class MaskingViews:
    """The masking views of one target in one database."""

    def __init__(
        self, connection: psycopg.Connection[Any], address: Address, *, has_old: bool = False
    ) -> None:
        """Views and a schema with an old mark are ours if the store `has_old` ones."""
        self._connection, self._schema = connection, address.view_schema
        self._mark = address.mark
        self._marks = {address.mark, address.old_mark} if has_old else {address.mark}

    def current_views(self) -> Mapping[str, set[MaskingView]]:
        """The views by role; one that differs from its note is marked as altered."""
        usable = {name for (name,) in self._rows(_MAY_USE, [self._schema])}
        found: dict[str, set[MaskingView]] = {}
        for _, note, state, given in self._managed_views():
            # The note is accurate, unless more rights were granted just when it was created.
            is_only = given == [f"{note.role} SELECT f"]
            made = note.found(state, is_usable=is_only and note.role in usable)
            found.setdefault(note.role, set()).add(made)
        return found

    def problem(self) -> str:
        """The reason why there can be no views; "" if there can."""
        marked = self._rows(_SCHEMA_MARK, [self._schema])
        if not marked or (marked[0][0] in self._marks and marked[0][1]):
            return ""
        message = f"the schema `{self._schema}` was not created by lakewarden"
        return f"{message}: drop or rename it, or give the target another name"

    def names(self) -> frozenset[str]:
        """The names of the views in their schema."""
        return frozenset(name for name, *_ in self._managed_views())

    def found(self) -> ViewsFound:
        """The state that statements about views depend on."""
        given = self._rows(_DEFAULT_GRANTEES, [self._schema])
        return ViewsFound(
            is_there=bool(self._rows(_SCHEMA_MARK, [self._schema])),
            problem=self.problem(),
            own={name: note for name, note, *_ in self._managed_views()},
            names=frozenset(name for name, *_ in self._rows(_VIEWS, [self._schema])),
            is_shared=bool(self._rows(_SHARED, [self._schema])),
            needed=dict(self._rows(_NEEDED, [self._schema])),
            given=tuple(None if is_all else name for is_all, name in given),
        )

    def _managed_views(self) -> Iterator[tuple[str, Note, str, list[str]]]:
        """The views with our mark, with their notes, current states, and grants.

        Without views of others in a schema of theirs, which only they can drop.
        """
        for name, comment, state, given, is_droppable in self._rows(_VIEWS, [self._schema]):
            note = read_note(comment)
            if note is not None and note.target in self._marks and is_droppable:
                yield name, note, state, given

    def _rows(self, query: str, parameters: list[str] | None = None) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, parameters).fetchall()


class ViewStatements:
    """The statements about views of one push, which keep track of the effects of earlier ones."""

    def __init__(self, found: ViewsFound, address: Address, context: AdaptContext | None) -> None:
        self._schema, self._mark = address.view_schema, address.mark
        self._context, self._given = context, found.given
        self._exists, self._problem = found.is_there, found.problem
        self._managed_views, self._names = dict(found.own), {*found.names}
        self._needed, self._is_shared = found.needed, found.is_shared

    def add(self, view: MaskingView, role: str) -> Iterator[sql.Composed]:
        """Creates a view that only the role may read."""
        yield from self.drop(view.path, role)
        yield from self._create_schema()
        names = view_names(view.path, role, _shortened)
        name = next(one for one in names if one not in self._names)
        note = note_on(self._mark, role, view, "")
        self._names.add(name)
        self._managed_views[name] = note
        at, to = sql.Identifier(self._schema, name), sql.Identifier(role)
        text = view_query(view, self._quoted)
        yield sql.SQL("CREATE VIEW {} WITH (security_barrier = true) AS {}").format(
            at, sql.SQL(text)
        )
        for grantee in self._given:
            whom = sql.SQL("PUBLIC") if grantee is None else sql.Identifier(grantee)
            yield sql.SQL("REVOKE ALL ON {} FROM {}").format(at, whom)
        schema = sql.Identifier(self._schema)
        yield sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, to)
        yield sql.SQL("GRANT SELECT ON {} TO {}").format(at, to)
        yield self._note_sql(note, name)

    def drop(self, path: Path, role: str) -> Iterator[sql.Composed]:
        """Drops the role's view of a path; with its last view also its USAGE on the schema."""
        paths = {name: note.path for name, note in self._managed_views.items() if note.role == role}
        for name in sorted(name for name, own in paths.items() if own == path):
            yield from self._drop(name)
        if {*paths.values()} == {path}:
            yield sql.SQL("REVOKE USAGE ON SCHEMA {} FROM {}").format(
                sql.Identifier(self._schema), sql.Identifier(role)
            )

    def cleanup(self, roles: Collection[str]) -> Iterator[sql.Composed]:
        """Drops views whose roles do not exist, and the schema if it is empty."""
        if self._problem or not self._exists:
            return
        for name in sorted(
            name for name, note in self._managed_views.items() if note.role not in roles
        ):
            yield from self._drop(name, roles)
        if not (self._names or self._is_shared):
            yield sql.SQL("DROP SCHEMA {}").format(sql.Identifier(self._schema))

    def _drop(self, name: str, roles: Collection[str] | None = None) -> Iterator[sql.Composed]:
        """Drops a view; if others depend on it, makes it show only what each reader may read.

        `roles` are the roles that still exist.
        """
        at = sql.Identifier(self._schema, name)
        del self._managed_views[name]
        if name not in self._needed:
            self._names.discard(name)
            yield sql.SQL("DROP VIEW {}").format(at)
            return
        yield sql.SQL("ALTER VIEW {} SET (security_invoker = true)").format(at)
        readers = self._needed[name]
        for reader in readers if roles is None else sorted({*readers} & {*roles}):
            whom = sql.Identifier(reader)
            yield sql.SQL("REVOKE ALL ON {} FROM {} CASCADE").format(at, whom)
        yield sql.SQL("COMMENT ON VIEW {} IS NULL").format(at)

    def _create_schema(self) -> Iterator[sql.Composed]:
        schema = sql.Identifier(self._schema)
        if not self._exists:
            self._exists = True
            yield sql.SQL("CREATE SCHEMA {}").format(schema)
            mark = sql.Literal(self._mark)
            yield sql.SQL("COMMENT ON SCHEMA {} IS {}").format(schema, mark)
        elif self._problem:
            raise Conflict(self._problem)

    def _note_sql(self, note: Note, name: str) -> sql.Composed:
        """The note with the state that PostgreSQL computes for the view at that time."""
        before, after = note.around
        parts = (before, after, self._schema, name)
        query = sql.SQL(_NOTE.strip()).format(*map(sql.Literal, parts))
        at = sql.SQL("VIEW {}").format(sql.Identifier(self._schema, name))
        return commenting(at, query, self._context)

    def _quoted(self, name: str) -> str:
        return sql.Identifier(name).as_string(self._context)


def commenting(
    what: sql.Composable, note: sql.Composable, context: AdaptContext | None
) -> sql.Composed:
    """A statement that sets a comment to the result of a query."""
    says = sql.Literal(f"COMMENT ON {what.as_string(context)} IS ")
    return block(
        sql.SQL(" BEGIN EXECUTE {} || quote_literal(({})); END ").format(says, note), context
    )


def block(body: sql.Composable, context: AdaptContext | None) -> sql.Composed:
    """A statement that runs a PL/pgSQL body, quoted with a tag that is not in it."""
    text = body.as_string(context)
    tag = next(tag for tag in (f"$do{number or ''}$" for number in count()) if tag not in text)
    return sql.SQL("DO {}{}{}").format(sql.SQL(tag), sql.SQL(text), sql.SQL(tag))


def _shortened(stem: str) -> str:
    return stem.encode()[: MAX_NAME_BYTES - NAME_DIGITS - 1].decode(errors="ignore")
