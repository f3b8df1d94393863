"""Objects of others in a PostgreSQL that work with the rights of their owner.

For views and rules, the tables that they refer to are known. Bodies of functions are not read: a
function may do whatever its owner may, so it opens every table that its owner reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from lakewarden.pushdown.grants import READ, Grant, Path
from lakewarden.pushdown.owners_rights import Way
from lakewarden.pushdown.postgresql_powers import Rows

_ACTS: Final = (READ, "INSERT", "UPDATE", "DELETE")
_EVENTS: Final = {"2": "UPDATE", "3": "INSERT", "4": "DELETE"}
"""The events that trigger rules of these kinds."""

_FIRED_BY: Final = {4: "INSERT", 8: "DELETE", 16: "UPDATE", 32: "TRUNCATE"}
"""The bits of a trigger's type."""

_VIEWS: Final = "vm"
_COPY: Final = "m"
"""Kinds of relations: views, and materialized views, which store what they read."""

MOST_TABLES: Final = 50
"""If an owner reads more tables than this of a schema, the schema is listed as a whole."""

_RULES: Final = """
SELECT DISTINCT n.nspname, c.relname, c.relkind::text, pg_get_userbyid(c.relowner),
       r.rulename, r.ev_type::text,
       EXISTS (SELECT FROM pg_options_to_table(c.reloptions)
               WHERE option_name = 'security_invoker' AND option_value::boolean),
       CASE WHEN c.relkind = 'v' THEN pg_relation_is_updatable(c.oid, false) ELSE 0 END,
       at.nspname, d.relname, d.relkind::text,
       ARRAY(SELECT act FROM unnest(%(acts)s::text[]) act
             WHERE CASE act WHEN 'DELETE' THEN has_table_privilege(c.relowner, d.oid, act)
                   ELSE has_any_column_privilege(c.relowner, d.oid, act) END)
FROM pg_rewrite r
JOIN pg_class c ON c.oid = r.ev_class
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_depend x ON x.classid = 'pg_rewrite'::regclass AND x.objid = r.oid
  AND x.refclassid = 'pg_class'::regclass AND x.refobjid <> c.oid
JOIN pg_class d ON d.oid = x.refobjid AND d.relkind IN ('r', 'p', 'f', 'v', 'm')
JOIN pg_namespace at ON at.oid = d.relnamespace
WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND at.nspname !~ '^pg_' AND at.nspname <> 'information_schema'
"""
"""Rules, the tables or views that they refer to, and the rights of the rule's owner there."""

_FUNCTIONS: Final = """
SELECT p.oid::regprocedure::text, p.prokind = 'p', pg_get_userbyid(p.proowner),
       array_agg(CASE WHEN acl.grantee = 0 THEN %(everyone)s
                      ELSE pg_get_userbyid(acl.grantee) END)
FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) acl
WHERE p.prosecdef AND acl.grantee <> p.proowner
GROUP BY p.oid
"""
_TRIGGERS: Final = """
SELECT n.nspname, c.relname, c.relkind IN ('r', 'p', 'f'), t.tgname, t.tgtype, p.prosecdef,
       pg_get_userbyid(c.relowner), pg_get_userbyid(p.proowner)
FROM pg_trigger t
JOIN pg_class c ON c.oid = t.tgrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_proc p ON p.oid = t.tgfoid
WHERE NOT t.tgisinternal AND t.tgenabled <> 'D' AND (p.prosecdef OR p.proowner <> c.relowner)
  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
"""
_SERVERS: Final = """
SELECT m.srvname, array_agg(DISTINCT r.rolname)
FROM pg_user_mappings m JOIN pg_roles r ON m.umuser IN (0, r.oid)
WHERE r.rolcanlogin AND NOT r.rolsuper AND has_server_privilege(r.oid, m.srvid, 'USAGE')
GROUP BY m.srvname
"""
"""Foreign servers, and the users who may query each through a user mapping."""

_READABLE: Final = """
SELECT owner, schema, bool_and(may_read), array_agg(name) FILTER (WHERE may_read) FROM (
  SELECT r.rolname AS owner, n.nspname AS schema, c.relname::text AS name,
         has_any_column_privilege(r.oid, c.oid, 'SELECT') AS may_read
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_roles r ON r.rolname = ANY(%s)
  WHERE c.relkind IN ('r', 'p', 'f', 'm')
    AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
) each GROUP BY owner, schema
"""


def ways(rows: Rows, everyone: str, own: Collection[Path]) -> Iterator[Way]:
    """All ways except those through our `own` views."""
    rules = [_Rule(*row) for row in rows(_RULES, {"acts": list(_ACTS)})]
    yield from _Rules(rules).ways(frozenset(own))
    functions, triggers = rows(_FUNCTIONS, {"everyone": everyone}), rows(_TRIGGERS)
    owners = {owner for _, _, owner, _ in functions} | {row[-1] for row in triggers if row[5]}
    readable = _readable(rows, owners)
    for name, is_procedure, owner, users in functions:
        kind = "PROCEDURE" if is_procedure else "FUNCTION"
        if readable[owner]:
            yield Way(f"{kind} {name}", owner, frozenset(), readable[owner], frozenset(users))
    for schema, table, is_table, name, type, is_definer, _, owner in triggers:
        path, text = (schema, table), f"TRIGGER {schema}.{table}.{name}"
        fired = frozenset(Grant(path, act) for bit, act in _FIRED_BY.items() if type & bit)
        if is_definer and readable[owner]:
            yield Way(text, owner, fired, readable[owner])
        if is_table:
            # The author of the function sees the rows that others write to the owner's table.
            yield Way(text, "", frozenset(), frozenset({Grant(path, READ)}), frozenset({owner}))
    for name, users in rows(_SERVERS):
        # What the account of the mapping may read is unknown; the server may be this one.
        opens = frozenset({Grant((), READ)})
        yield Way(f"SERVER {name}", "", frozenset(), opens, frozenset(users))


def _readable(rows: Rows, owners: Iterable[str]) -> Mapping[str, frozenset[Grant]]:
    """The objects that each owner reads: the database, schemas, or single tables of a schema."""
    whose = sorted(owners)
    found: dict[str, set[Path]] = {name: set() for name in whose}
    partly: set[str] = set()
    for owner, schema, is_whole, tables in rows(_READABLE, [whose]) if whose else ():
        names = tables or ()
        is_said = is_whole or len(names) > MOST_TABLES
        paths: set[Path] = {(schema,)} if is_said else {(schema, one) for one in names}
        found[owner] |= paths
        if not is_whole:
            partly.add(owner)
    return {
        owner: frozenset(Grant(path, READ) for path in (paths if owner in partly else {()}))
        if paths
        else frozenset()
        for owner, paths in found.items()
    }


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule of a table or view, and one table or view that it refers to.

    `acts` are the acts that the owner of the first may do on the second.
    """

    schema: str
    relation: str
    kind: str
    owner: str
    name: str
    event: str
    is_invoker: bool
    updatable: int
    about_schema: str
    about_relation: str
    about_kind: str
    acts: tuple[str, ...]

    @property
    def path(self) -> Path:
        return self.schema, self.relation

    @property
    def about(self) -> Path:
        return self.about_schema, self.about_relation


class _Rules:
    """The rules of a database: the ones that define views, and others."""

    def __init__(self, rules: Iterable[_Rule]) -> None:
        self._reads: dict[Path, list[_Rule]] = {}
        self._others: dict[tuple[Path, str], list[_Rule]] = {}
        for rule in rules:
            if rule.event in _EVENTS:
                self._others.setdefault((rule.path, rule.name), []).append(rule)
            else:
                self._reads.setdefault(rule.path, []).append(rule)

    def ways(self, own: frozenset[Path]) -> Iterator[Way]:
        """All ways except those through our `own` views."""
        for path, rules in sorted(self._reads.items()):
            first = rules[0]
            if not (first.is_invoker or path in own):
                for act in _acts(first):
                    opens = frozenset(Grant(one, act) for one in self._reached(path, act, set()))
                    uses = frozenset({Grant(path, act)})
                    yield Way(f"VIEW {'.'.join(path)}", first.owner, uses, opens)
        for (path, name), rules in sorted(self._others.items()):
            yield from _ways_of_rule(path, name, rules)

    def _reached(self, path: Path, act: str, seen: set[Path]) -> Iterator[Path]:
        """The tables that an act on a view reaches with the rights of owners.

        The contents of a materialized view were read earlier, whatever its owner may do now.
        """
        seen.add(path)
        for rule in self._reads.get(path, ()):
            is_copied = rule.kind == _COPY
            if not (is_copied or act in rule.acts):
                continue
            if rule.about_kind != "v":
                yield rule.about
            inner = self._reads.get(rule.about, [])
            is_open = is_copied or not any(one.is_invoker for one in inner)
            if rule.about_kind in _VIEWS and is_open and rule.about not in seen:
                yield from self._reached(rule.about, act, seen)


def _acts(view: _Rule) -> Iterator[str]:
    yield READ
    for number, act in _EVENTS.items():
        if view.updatable & (1 << int(number)):
            yield act


def _ways_of_rule(path: Path, name: str, rules: Iterable[_Rule]) -> Iterator[Way]:
    """The ways of one rule: its action reads or writes the tables that it refers to."""
    rules = list(rules)
    text, owner, act = f"RULE {'.'.join(path)}.{name}", rules[0].owner, _EVENTS[rules[0].event]
    about = frozenset(Grant(one.about, READ) for one in rules if READ in one.acts)
    if about:
        yield Way(text, owner, frozenset({Grant(path, act)}), about)
    if rules[0].kind not in _VIEWS:
        # The table's rows may be copied to where others read them.
        into = frozenset(Grant(one.about, READ) for one in rules)
        yield Way(text, owner, into, frozenset({Grant(path, READ)}))
