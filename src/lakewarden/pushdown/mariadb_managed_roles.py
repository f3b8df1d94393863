"""Our roles in a MariaDB or MySQL, from its own tables, and the grants of others beside them.

A role of one user is not listed while it is as a push left it: its user counts as a member of the
roles that it was granted. Otherwise it is listed as a role, with all its grants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product

from lakewarden.names.mysql_account import Account, user_name
from lakewarden.pushdown.drift import ON_PATTERN, PROXY_OF
from lakewarden.pushdown.grants import NESTED_IN, TABLE_DEPTH, Grant, KnownRoles, Role, Roles
from lakewarden.pushdown.mariadb_catalog import (
    EVERYONE,
    GRANT_OPTION,
    LOGIN,
    ON_ROUTINE,
    Catalog,
)
from lakewarden.pushdown.mariadb_names import RoleNames, may_match_host, member, member_of


class ManagedRoles:
    """Our roles in a catalog, and the roles of others.

    Our roles are those with a name of ours that the account administers, and the known roles of a
    style.
    """

    def __init__(self, catalog: Catalog, marks: RoleNames, known: KnownRoles) -> None:
        self._catalog, self._marks, self._known = catalog, marks, known

    @cached_property
    def shared(self) -> frozenset[str]:
        """Our roles that several users may have."""
        administered = self._catalog.administered
        named = self._known.roles & administered
        return named.union(filter(self._marks.is_shared, administered))

    @cached_property
    def personal(self) -> frozenset[str]:
        """Our roles of one user each."""
        return frozenset(filter(self._marks.is_personal, self._catalog.administered))

    @cached_property
    def all(self) -> frozenset[str]:
        """The names of all our roles."""
        return self.shared | self.personal

    def roles(self) -> dict[str, Role]:
        """Our roles in their current state, with all changes by others, by name."""
        users = self._unaltered_personal_roles()
        broken = self.personal - users.keys()
        return {
            **{name: self._role(name, users, broken) for name in self.shared},
            **{name: self._role(name, {}, frozenset()) for name in broken},
        }

    def _role(self, name: str, users: Mapping[str, str], broken: frozenset[str]) -> Role:
        catalog, account = self._catalog, Account(name, "")
        members = {
            users[edge.grantee.user] if _is_of(edge.grantee, users) else member(edge.grantee)
            for edge in catalog.edges_of.get(name, ())
            if not _is_of(edge.grantee, broken)
        }
        nested = (Grant((), NESTED_IN + one.role) for one in catalog.edges_from.get(account, ()))
        return Role(frozenset(members), catalog.direct_privileges(account) | frozenset(nested))

    def _unaltered_personal_roles(self) -> dict[str, str]:
        """The users of the personal roles that are as a push left them, by role."""
        return {name: user for name in self.personal for user in self._user_of(name)}

    def _user_of(self, role: str) -> Iterator[str]:
        """The role's only user, if it is the default and contains only our roles."""
        catalog, own = self._catalog, Account(role, "")
        nested = catalog.edges_from.get(own, ())
        edges = catalog.edges_of.get(role, ())
        if catalog.direct_privileges(own) or len(edges) != 1 or edges[0].is_admin or not nested:
            return
        account = edges[0].grantee
        name = user_name(account)
        if (
            catalog.accounts.get(account) == role
            and self._marks.personal(name) == role
            and all(one.role in self.shared and not one.is_admin for one in nested)
        ):
            yield name

    def refused_users(self) -> dict[str, str]:
        """Users who cannot be given roles, with the reason."""
        refused, catalog = {}, self._catalog
        for account, default in catalog.accounts.items():
            name = user_name(account)
            own = self._marks.personal(name)
            if account in catalog.lent:
                refused[name] = "the account was granted to others, who would get its rights too"
            elif account == catalog.me:
                refused[name] = "it is the target's own account, whose rights cannot be limited"
            elif account in catalog.unlimited:
                refused[name] = "the account has SUPER, so its rights cannot be limited"
            elif default in catalog.roles - {own}:
                refused[name] = "the account has another default role, and can have only one"
            elif own in catalog.roles - catalog.administered:
                refused[name] = "another account administers the role for the user"
            elif not account.host or member_of(name) is not None:
                refused[name] = "a grant cannot name the account exactly"
        return refused

    def irrevocable(self, held: Roles) -> Roles:
        """The grants of our roles that the account cannot revoke; it can remove all members."""
        found = {
            name: Role(frozenset(), frozenset(irrevocable))
            for name, role in held.roles.items()
            if (irrevocable := [one for one in role.grants if not self._may_revoke(one)])
        }
        return Roles(found)

    def _may_revoke(self, grant: Grant) -> bool:
        """Whether the account holds the privilege with grant option, there or on a level above."""
        catalog = self._catalog
        if grant == Grant((), LOGIN):
            return True  # the creator of a role may lock it
        if grant.privilege.startswith(NESTED_IN):
            return grant.privilege.removeprefix(NESTED_IN) in catalog.administered
        given = catalog.direct_privileges(catalog.me)
        needed = {grant.privilege.removesuffix(ON_PATTERN).partition(ON_ROUTINE)[0], GRANT_OPTION}
        around = (grant.path[:depth] for depth in range(TABLE_DEPTH + 1))
        return any(needed <= {one.privilege for one in given if one.path == at} for at in around)

    @cached_property
    def grantees(self) -> Mapping[Account, str]:
        """A unique name for each account and role that is not ours."""
        catalog = self._catalog
        names = {one: _called(one) for one in catalog.accounts if one.host}
        taken = {*names.values()}
        for role in catalog.roles - self.all:
            account = Account(role, "")
            names[account] = member(account) if role in taken else role
        names[EVERYONE] = EVERYONE.user
        return names

    def members_of_others(self) -> dict[str, frozenset[str]]:
        """The direct members of each role that is not ours.

        An account without a user name can be used by everyone.
        """
        names, members = self.grantees, dict[str, set[str]]()
        for account in self._catalog.accounts:
            if not account.user and account in names:
                members[names[account]] = {EVERYONE.user}
        for edge in self._catalog.edges:
            if edge.role not in self.all and edge.grantee in names:
                members.setdefault(names[Account(edge.role, "")], set()).add(names[edge.grantee])
        return {of: frozenset(those) for of, those in members.items()}

    def granted_by_host(self) -> frozenset[tuple[str, Grant, str]]:
        """Grants that accounts have through another account of the same user with a wider host.

        Each comes with that account. For rights on databases, and on objects in them, the server
        checks the host that a user connects from, whichever account they logged in as.
        """
        names, of_users = self.grantees, dict[str, list[Account]]()
        for account in self._catalog.accounts.keys() & names.keys():
            of_users.setdefault(account.user, []).append(account)
        return frozenset(
            (names[other], grant, names[account])
            for alike in of_users.values()
            for account, other in product(alike, alike)
            if other != account and may_match_host(other.host, account.host)
            for grant in self._catalog.direct_privileges(account)
            - self._catalog.direct_privileges(other)
            if grant.path
        )

    def granted_to_others(self) -> Iterator[tuple[str, Grant]]:
        """The grants of accounts and roles of others, and whom they may act as."""
        names = self.grantees
        for account, grants in self._catalog.grants.items():
            if account in names:
                yield from ((names[account], grant) for grant in grants)
        for whose, as_whom in self._catalog.proxies:
            if whose in names:
                as_name = user_name(as_whom) if as_whom.user else "any account"
                yield names[whose], Grant((), PROXY_OF + as_name)


def _called(account: Account) -> str:
    """The name of a user; for an account without a user, as in statements."""
    return user_name(account) if account.user else f"''@'{account.host}'"


def _is_of(account: Account, roles: Iterable[str]) -> bool:
    return not account.host and account.user in roles
