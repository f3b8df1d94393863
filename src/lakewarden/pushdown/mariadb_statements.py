"""The statements of MariaDB for the steps of a plan; similar steps share a statement.

All statements that revoke come before all that grant. Once they are done, everything held is
wanted, and stays so whatever is granted next, in any order. Grants come before members because it
is faster: a grant to a role is evaluated anew for each of its members. A view is dropped, and
created, with its only grant.

All statements are generated before the first one is sent, so a plan can show them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from lakewarden.names.mysql_account import EVERY_HOST, Account, account_of
from lakewarden.pushdown.grants import NESTED_IN, Grant, MaskingView
from lakewarden.pushdown.mariadb_catalog import LOGIN, Catalog, privilege_sql
from lakewarden.pushdown.mariadb_names import RoleNames, grantee, member_of, quoted
from lakewarden.pushdown.mariadb_views import MaskingViews
from lakewarden.pushdown.plan import Act, Step
from lakewarden.pushdown.statement import MARKING, TIDYING, Statement

MOST: Final = 200
"""The most grantees of one statement."""


class Statements:
    """The statements of one push to a server; `names` are those of grantees of others.

    In a server that `marks_itself`, the creator of a role administers it; MySQL needs a grant.
    """

    def __init__(
        self,
        catalog: Catalog,
        marks: RoleNames,
        names: Mapping[str, Account],
        views: MaskingViews,
        *,
        marks_itself: bool = True,
    ) -> None:
        self._catalog, self._marks, self._names = catalog, marks, names
        self._views = views
        self._marks_itself = marks_itself
        self._default_of = "FOR" if marks_itself else "TO"
        self._gone: set[str] = set()

    def of(self, steps: Iterable[Step]) -> Iterator[Statement]:
        """The statements for the steps, and for dropping what is unused after them.

        A role that goes is dropped with all its grants.
        """
        todo = list(steps)
        by_act: dict[Act, list[Step]] = {}
        for step in todo:
            by_act.setdefault(step.act, []).append(step)
        self._gone = {step.role for step in by_act.get(Act.DROP_ROLE, ())}
        for act in (Act.REVOKE_MEMBER, Act.REVOKE):
            if act in by_act:
                by_act[act] = [one for one in by_act[act] if one.role not in self._gone]
        for text in self._make_administrator(sorted(self._catalog.unmarked - self._gone)):
            yield Statement(MARKING, text)
        does: Mapping[Act, Callable[[Sequence[Step]], Iterator[str]]] = {
            Act.REVOKE_MEMBER: self._members_revoked,
            Act.REVOKE: self._grants,
            Act.DROP_VIEW: lambda some: self._views.dropped(map(_view, some)),
            Act.DROP_ROLE: self._dropped,
            Act.CREATE_ROLE: self._created,
            Act.ADD_VIEW: lambda some: self._views.added([*map(_view, some)]),
            Act.GRANT: self._grants,
            Act.ADD_MEMBER: self._members_added,
            Act.REVOKE_FOREIGN: self._grants,
        }
        for act, work in does.items():
            for text in work(by_act.get(act, ())):
                yield Statement(act.value, text)
        for text in self._tidied(todo):
            yield Statement(TIDYING, text)

    def _tidied(self, steps: Iterable[Step]) -> Iterator[str]:
        """Drops users' roles that are empty after the steps, and views that no role has."""
        yield from self._views.cleanup(self._gone)
        yield from self._drop(
            role for role, left in sorted(self._remaining_roles(steps).items()) if not left
        )

    def _remaining_roles(self, steps: Iterable[Step]) -> Mapping[str, set[str]]:
        """The roles that each user's role still has after the steps."""
        kept = (
            role for role in self._personal() - self._gone if not self._has_direct_privileges(role)
        )
        held = {role: self._catalog.edges_from.get(Account(role, ""), ()) for role in kept}
        left = {role: {one.role for one in edges} - self._gone for role, edges in held.items()}
        for step in steps:
            own = left.get(self._member(step.member).user) if step.member else None
            if own is not None and step.act is Act.REVOKE_MEMBER:
                own.discard(step.role)
            elif own is not None and step.act is Act.ADD_MEMBER:
                own.add(step.role)
        return left

    def _has_direct_privileges(self, role: str) -> bool:
        return bool(self._catalog.direct_privileges(Account(role, "")))

    def _personal(self) -> set[str]:
        return {one for one in self._catalog.administered if self._marks.is_personal(one)}

    # --- roles ---

    def _created(self, steps: Sequence[Step]) -> Iterator[str]:
        return self._create(one.role for one in steps)

    def _create(self, roles: Iterable[str]) -> Iterator[str]:
        """Creates roles that the creating account administers."""
        roles = [*roles]
        for start in range(0, len(roles), MOST):
            some = ", ".join(map(quoted, roles[start : start + MOST]))
            yield f"CREATE ROLE {some}"
            yield from self._make_administrator(roles[start : start + MOST])

    def _make_administrator(self, roles: Sequence[str]) -> Iterator[str]:
        """Makes the account the administrator of the roles, if the server does not do so itself."""
        if roles and not self._marks_itself:
            some = ", ".join(map(quoted, roles))
            yield f"GRANT {some} TO {grantee(self._catalog.me)} WITH ADMIN OPTION"

    def _dropped(self, steps: Sequence[Step]) -> Iterator[str]:
        return self._drop(one.role for one in steps)

    def _drop(self, roles: Iterable[str]) -> Iterator[str]:
        """Drops roles, after removing them as defaults: MariaDB would keep the name."""
        gone = dict.fromkeys(roles)
        for account, default in sorted(self._catalog.accounts.items()):
            if default in gone:
                yield f"SET DEFAULT ROLE NONE {self._default_of} {grantee(account)}"
        yield from _each("DROP ROLE", map(quoted, gone))

    # --- members ---

    def _members_added(self, steps: Sequence[Step]) -> Iterator[str]:
        """Grants roles to members through personal roles, which are their default roles."""
        there = self._personal() - self._gone
        personal = {one.member: self._marks.personal(one.member) for one in steps}
        new = sorted(user for user, role in personal.items() if role not in there)
        yield from self._create(personal[user] for user in new)
        for role, alike in groupby(steps, _role):
            whom = (quoted(personal[one.member]) for one in alike)
            yield from _each(f"GRANT {quoted(role)} TO", whom)
        for user in new:
            role, account = quoted(personal[user]), grantee(account_of(user))
            yield f"GRANT {role} TO {account}"
            yield f"SET DEFAULT ROLE {role} {self._default_of} {account}"

    def _members_revoked(self, steps: Sequence[Step]) -> Iterator[str]:
        for role, alike in groupby(steps, _role):
            whom = (grantee(self._member(one.member)) for one in alike)
            yield from _each(f"REVOKE {quoted(role)} FROM", whom)

    def _member(self, name: str) -> Account:
        return member_of(name) or Account(self._marks.personal(name), "")

    # --- privileges ---

    def _grants(self, steps: Sequence[Step]) -> Iterator[str]:
        """Combines all privileges for a grantee on one object, and all grantees that get the same.

        A role is on no object, and MariaDB accepts one at a time.
        """
        by_place: dict[tuple[str, str, str], dict[str, None]] = {}
        for step in sorted(steps, key=_granted):
            if _is_log_in(step):
                continue
            privilege, on = _privilege_sql(_grant(step))
            alone = "" if on else privilege
            by_place.setdefault((on, alone, self._grantee(step)), {})[privilege] = None
        whom: dict[tuple[str, str], list[str]] = {}
        for (on, _, one), privileges in by_place.items():
            whom.setdefault((", ".join(privileges), on), []).append(one)
        yield from self._locked(steps)
        is_given = bool(steps) and steps[0].act is Act.GRANT
        verb, to = ("GRANT", "TO") if is_given else ("REVOKE", "FROM")
        for (said, on), grantees in whom.items():
            yield from _each(f"{verb} {said}{on} {to}", grantees)

    @staticmethod
    def _locked(steps: Iterable[Step]) -> Iterator[str]:
        """Locks these roles, so that nobody can log in as one."""
        for step in filter(_is_log_in, steps):
            yield f"ALTER USER {grantee(Account(step.role, EVERY_HOST))} ACCOUNT LOCK"

    def _grantee(self, step: Step) -> str:
        if step.act is Act.REVOKE_FOREIGN:
            return grantee(self._names[step.role])
        return quoted(step.role)


def _role(step: Step) -> str:
    return step.role


def _view(step: Step) -> tuple[str, MaskingView]:
    """The view of a step; raises `ValueError` for a step that has none."""
    if step.view is None:
        raise ValueError(f"a step `{step.act}` of `{step.role}` without a view")
    return step.role, step.view


def _grant(step: Step) -> Grant:
    """The grant of a step; raises `ValueError` for a step that has none."""
    if step.grant is None:
        raise ValueError(f"a step `{step.act}` of `{step.role}` without a grant")
    return step.grant


def _is_log_in(step: Step) -> bool:
    return step.act is Act.REVOKE and step.grant == Grant((), LOGIN)


def _granted(step: Step) -> tuple[str, Grant]:
    return step.act.value, _grant(step)


def _each(statement: str, grantees: Iterable[str]) -> Iterator[str]:
    """The statement for all grantees, in batches."""
    whole = list(grantees)
    for start in range(0, len(whole), MOST):
        yield f"{statement} {', '.join(whole[start : start + MOST])}"


def _privilege_sql(grant: Grant) -> tuple[str, str]:
    """The privilege in the syntax of statements, and its object; a role has no object."""
    if grant.privilege.startswith(NESTED_IN):
        return quoted(grant.privilege.removeprefix(NESTED_IN)), ""
    return privilege_sql(grant)
