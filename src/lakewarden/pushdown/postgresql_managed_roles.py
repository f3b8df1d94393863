"""Our roles in a PostgreSQL: with members, grants, row policies and masking views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from lakewarden.pushdown.address import Address
from lakewarden.pushdown.grants import NESTED_IN, Grant, KnownRoles, Path, Role, Roles, RowPolicy
from lakewarden.pushdown.masking_views import ALTERED
from lakewarden.pushdown.postgresql_grants import HeldGrant, held_grants
from lakewarden.pushdown.postgresql_powers import Rows
from lakewarden.pushdown.postgresql_statements import LOGIN, ODD_MEMBER, OWNS
from lakewarden.pushdown.postgresql_views import MaskingViews

_ROLES: Final = """
SELECT oid, rolname, shobj_description(oid, 'pg_authid') = %(mark)s FROM pg_roles
WHERE shobj_description(oid, 'pg_authid') = %(mark)s
   OR shobj_description(oid, 'pg_authid') = %(old)s AND rolname = ANY(%(known)s)
"""
"""Our roles, and whether each has our current mark; known roles may have an old one."""

_LOGINS: Final = """
SELECT r.rolname FROM pg_roles r JOIN pg_roles me ON me.rolname = current_user
WHERE r.oid = ANY(%s) AND r.rolcanlogin AND (me.rolsuper OR NOT r.rolsuper)
"""
"""Roles that can log in; only others can revoke that from superusers."""

_OWNERS: Final = """
SELECT DISTINCT r.rolname FROM pg_shdepend d
JOIN pg_roles r ON r.oid = d.refobjid
JOIN pg_database here ON here.oid = d.dbid AND here.datname = current_database()
WHERE d.refclassid = 'pg_authid'::regclass AND d.refobjid = ANY(%s) AND d.deptype = 'o'
  AND d.classid NOT IN ('pg_default_acl'::regclass, 'pg_user_mapping'::regclass)
"""
"""Roles that own something here that can be reassigned."""

_MEMBERS: Final = """
SELECT of.rolname, member.rolname, m.roleid = ANY(%(ids)s),
       concat_ws(', ', CASE WHEN m.admin_option THEN 'ADMIN' END,
         CASE WHEN m.set_option THEN 'SET' END,
         CASE WHEN NOT m.inherit_option THEN 'NO INHERIT' END,
         CASE WHEN m.roleid = ANY(%(ids)s) AND m.grantor <> 10 AND grantor.rolname <> current_user
           THEN 'GRANTED BY ' || grantor.rolname END)
FROM pg_auth_members m
JOIN pg_roles of ON of.oid = m.roleid
JOIN pg_roles member ON member.oid = m.member
JOIN pg_roles grantor ON grantor.oid = m.grantor
WHERE (m.roleid = ANY(%(ids)s) OR m.member = ANY(%(ids)s)) AND member.rolname <> current_user
"""
"""Without the account that pushes: it becomes an administrator of the roles that it creates.

If an administrator set by hand goes, its grants go, too; 10 is the grantor for superusers."""

_STUCK: Final = """
SELECT of.rolname, member.rolname
FROM pg_auth_members m
JOIN pg_roles of ON of.oid = m.roleid
JOIN pg_roles member ON member.oid = m.member
WHERE (m.roleid = ANY(%(ids)s) OR m.member = ANY(%(ids)s)) AND member.rolname <> current_user
  AND NOT (pg_has_role(m.roleid, 'MEMBER WITH ADMIN OPTION') AND pg_has_role(m.grantor, 'USAGE'))
"""
"""Memberships that the account cannot revoke: it needs the rights of their grantor."""

_POLICIES: Final = """
SELECT n.nspname, c.relname, p.polname, p.polpermissive,
       c.relrowsecurity AND p.polcmd = '*' AND pg_get_expr(p.polwithcheck, p.polrelid) = 'true',
       r.rolname, pg_get_expr(p.polqual, p.polrelid), obj_description(p.oid, 'pg_policy')
FROM pg_policy p
JOIN pg_class c ON c.oid = p.polrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_roles r ON p.polroles = ARRAY[r.oid]
WHERE starts_with(p.polname, %s) AND pg_has_role(c.relowner, 'USAGE')
"""
"""On tables of others, anybody may create a policy that looks like ours; no push could drop it."""


class ManagedRoles:
    """The roles of one target in their current state, with all changes by others."""

    def __init__(
        self, rows: Rows, address: Address, known: KnownRoles, views: MaskingViews
    ) -> None:
        """`known` roles with a mark from before marks had a store id are ours, too."""
        self._rows, self._address, self._known, self._views = rows, address, known, views

    def ids(self) -> Mapping[int, str]:
        """The names of the roles with our mark, by id."""
        return {id: name for id, name, _ in self._marked()}

    def to_mark(self) -> list[str]:
        """The roles that are marked as before marks had a store id."""
        if not (self._address.store and self._known.roles):
            return []
        return sorted(name for _, name, is_marked in self._marked() if not is_marked)

    def _marked(self) -> list[tuple[int, str, bool]]:
        """Our roles with their ids, and whether each has our current mark."""
        about = {"mark": self._address.mark, "old": self._address.old_mark}
        known = sorted(self._known.roles) if self._address.store else []
        return self._rows(_ROLES, {**about, "known": known})

    def roles(self) -> Roles:
        """The roles with all their parts."""
        ours = self.ids()
        members, grants = self._memberships(ours)
        views = self._views.current_views()
        for one in self._granted(ours, is_whole=True):
            grants[one.role].add(one.grant)
        for (name,) in self._rows(_LOGINS, [list(ours)]):
            grants[name].add(Grant((), LOGIN))
        for (name,) in self._rows(_OWNERS, [list(ours)]):
            grants[name].add(Grant((), OWNS))
        policies = self._policies(frozenset(ours.values()))
        return Roles(
            {
                name: Role(
                    frozenset(members[name]),
                    frozenset(grants[name]),
                    frozenset(policies.get(name, ())),
                    frozenset(views.get(name, ())),
                )
                for name in ours.values()
            }
        )

    def _memberships(
        self, ours: Mapping[int, str]
    ) -> tuple[dict[str, set[str]], dict[str, set[Grant]]]:
        """The members of our roles; memberships with other options than a push gives, as grants."""
        members: dict[str, set[str]] = {name: set() for name in ours.values()}
        grants: dict[str, set[Grant]] = {name: set() for name in ours.values()}
        for of, member, is_ours, odd in self._rows(_MEMBERS, {"ids": list(ours)}):
            if member in grants:
                grants[member].add(Grant((), NESTED_IN + of))
            if is_ours and odd:
                grants[of].add(Grant((of, member), ODD_MEMBER + odd))
            elif is_ours:
                members[of].add(member)
        for of, given in grants.items():
            # It is revoked and granted anew, even if another grantor granted it properly.
            members[of] -= {one.path[-1] for one in given if one.privilege.startswith(ODD_MEMBER)}
        return members, grants

    def _granted(self, ours: Mapping[int, str], *, is_whole: bool) -> Iterator[HeldGrant]:
        """Grants of our roles, except those of views; if not `is_whole`, only non-plain ones."""
        own, schema = self._views.names(), self._address.view_schema
        readers = self._views.current_views().keys() if is_whole else ()
        for one in held_grants(self._rows, list(ours), is_whole=is_whole):
            path = one.path or ()
            if path[:1] == (schema,):
                # A role's right on its view, and USAGE on the schema, are part of the view.
                is_way = one.privilege == "USAGE" and one.role in readers
                is_way &= one.is_by_owner and not one.is_grantable
                if path[1] in own if path[1:] else is_way:
                    continue
            yield one

    def not_plain(self) -> Mapping[tuple[str, Grant], HeldGrant]:
        """The grants that take more than a plain REVOKE, by role and grant."""
        return {(one.role, one.grant): one for one in self._granted(self.ids(), is_whole=False)}

    def irrevocable(self, held: Roles) -> Roles:
        """The memberships and grants of our roles that the account cannot revoke."""
        members: dict[str, set[str]] = {name: set() for name in held.roles}
        grants: dict[str, set[Grant]] = {name: set() for name in held.roles}
        for of, member in self._rows(_STUCK, {"ids": list(self.ids())}):
            if of in members:
                members[of].add(member)
                grants[of] |= {one for one in held.roles[of].grants if one.path == (of, member)}
            if member in grants:
                grants[member].add(Grant((), NESTED_IN + of))
        for (name, grant), one in self.not_plain().items():
            if one.is_stuck and name in grants:
                grants[name].add(grant)
        return Roles(
            {
                name: Role(frozenset(members[name]), frozenset(grants[name]))
                for name in held.roles
                if members[name] or grants[name]
            }
        )

    def _policies(self, roles: frozenset[str]) -> Mapping[str, set[RowPolicy]]:
        """The row policies of our roles; an altered one has a condition that says so."""
        found: dict[tuple[str, Path, str], list[tuple[bool, bool, str | None, str | None]]] = {}
        for schema, table, name, permissive, is_as_made, role, using, comment in self._rows(
            _POLICIES, [self._address.prefix]
        ):
            if role in roles:
                key = role, (schema, table), name.rpartition("_")[0]
                found.setdefault(key, []).append((permissive, is_as_made, using, comment))
        policies: dict[str, set[RowPolicy]] = {}
        for (role, path, _), rows in found.items():
            condition = _condition_of(rows)
            if condition is not None:
                policies.setdefault(role, set()).add(RowPolicy(path, condition))
        return policies


def _condition_of(rows: Sequence[tuple[bool, bool, str | None, str | None]]) -> str | None:
    """The condition that the policies of a role set; None if they do not limit it."""
    if len(rows) != 2 or {permissive for permissive, *_ in rows} != {True, False}:
        return None
    made = set()
    for _, is_as_made, using, comment in rows:
        try:
            note = msgspec.json.decode(comment or "")
            said, was = str(note["condition"]), note["is"]
        except (msgspec.DecodeError, TypeError, KeyError):
            return None
        if not is_as_made or using != was:
            return ALTERED + str(using)
        made.add((str(using), said))
    (using, said), *others = sorted(made)
    # A permissive policy without the condition is from before both had it.
    return ALTERED + using if others else said
