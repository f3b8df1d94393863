"""The statements of PostgreSQL for the steps of a plan; similar steps share a statement.

All statements are generated before the first one is sent, so a plan can show them. Information that
only PostgreSQL has, such as its own text of a condition, is queried within a statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Any, Final

import msgspec
from psycopg import sql
from psycopg.abc import AdaptContext

from lakewarden.pushdown.address import Address
from lakewarden.pushdown.grants import (
    GRANTABLE,
    NESTED_IN,
    Grant,
    MaskingView,
    Path,
    RowPolicy,
)
from lakewarden.pushdown.plan import Act, Step
from lakewarden.pushdown.postgresql_grants import HeldGrant
from lakewarden.pushdown.postgresql_views import (
    MAX_NAME_BYTES,
    ViewsFound,
    ViewStatements,
    block,
    commenting,
)
from lakewarden.pushdown.statement import MARKING, TIDYING, Statement

MEMBER: Final = "MEMBER "
"""The prefix of each grant that stands for a membership: `NESTED_IN`, and `ODD_MEMBER`."""

ODD_MEMBER: Final = f"{MEMBER}WITH "
"""Represents a membership in our role with other options than a push sets, as a grant on the role
and the member."""

LOGIN: Final = "LOGIN"
"""Represents the ability to log in as our role, as a grant on the database."""

OWNS: Final = "OWNER"
"""Represents the ownership of objects in the database by our role, as a grant on the database: its
members have the rights of an owner."""

_LEFT_BYTES: Final = 10
"""The bytes reserved for the suffix of the name of a role that stays."""

_SECURED: Final = "secured"
"""The key in a policy's note if the table had row security before ours."""

_KINDS: Final = ("DATABASE", "SCHEMA", "TABLE", "TABLE")


@dataclass(frozen=True, slots=True)
class TargetState:
    """The state that statements depend on, apart from our roles.

    `unmarked` roles of ours have a mark from before marks had a store id. `grantors` are those
    of memberships, by role and member; `policies` are the names of all row policies of a table,
    by any creator. The `secured` tables had row security before ours, so it stays. Roles
    `used_elsewhere` have dependent objects that remain when the role is dropped, such as those
    in another database. `not_plain` are grants of our roles, by role and grant, that take more
    than a plain REVOKE.
    """

    database: str
    roles: frozenset[str] = frozenset()
    unmarked: Sequence[str] = ()
    grantors: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    policies: Mapping[Path, frozenset[str]] = field(default_factory=dict)
    secured: frozenset[Path] = frozenset()
    used_elsewhere: frozenset[str] = frozenset()
    not_plain: Mapping[tuple[str, Grant], HeldGrant] = field(default_factory=dict)
    views: ViewsFound = field(default_factory=ViewsFound)


class Statements:
    """The statements of one push, which keep track of the effects of those before them."""

    def __init__(self, found: TargetState, address: Address, context: AdaptContext | None) -> None:
        self._found, self._address, self._context = found, address, context
        self._roles = {*found.roles}
        self._quoted: dict[Path, str] = {}
        self._grantors = dict(found.grantors)
        self._made: frozenset[str] = frozenset()
        self._policies = {path: {*names} for path, names in found.policies.items()}
        self._views = ViewStatements(found.views, address, context)

    def of(self, steps: Iterable[Step]) -> Iterator[Statement]:
        """The statements for the steps, and for dropping what is unused after them."""
        todo = list(steps)
        self._made = frozenset(step.role for step in todo if step.act is Act.CREATE_ROLE)
        for name in self._found.unmarked:
            yield Statement(MARKING, self._mark_comment(name).as_string(self._context))
        for _, alike in groupby(todo, _batch_key):
            some = [*alike]
            for statement in self._for(some):
                yield Statement(some[0].act.value, statement.as_string(self._context))
        for statement in self._views.cleanup(self._roles):
            yield Statement(TIDYING, statement.as_string(self._context))

    def _for(self, alike: Sequence[Step]) -> Iterator[sql.Composed]:
        """The statements for steps that differ only by member or object."""
        step = alike[0]
        match step:
            case Step(act=Act.CREATE_ROLE):
                yield from self._create_role(step.role)
            case Step(act=Act.DROP_ROLE):
                yield from self._drop_role(step.role)
            case Step(act=Act.ADD_MEMBER):
                members = self._names((one.member,) for one in alike)
                # With SET a member could own objects as the role, and pass on its rights.
                options = sql.SQL("ADMIN FALSE, INHERIT TRUE, SET FALSE")
                role = sql.Identifier(step.role)
                yield sql.SQL("GRANT {} TO {} WITH {}").format(role, members, options)
            case Step(act=Act.REVOKE_MEMBER):
                for one in alike:
                    yield from self._revoke_membership(step.role, one.member)
            case Step(act=Act.GRANT | Act.REVOKE | Act.REVOKE_FOREIGN as act):
                grants = [one.grant for one in alike if one.grant is not None]
                if act is Act.REVOKE:
                    yield from self._revoke(grants, step.role)
                else:
                    yield self._grant(grants, step.role, act)
            case Step(act=Act.ADD_POLICY, policy=RowPolicy() as policy):
                yield from self._add_policy(policy, step.role)
            case Step(act=Act.DROP_POLICY, policy=RowPolicy() as policy):
                yield from self._drop_policy(policy, step.role)
            case Step(act=Act.ADD_VIEW, view=MaskingView() as view):
                yield from self._views.add(view, step.role)
            case Step(act=Act.DROP_VIEW, view=MaskingView() as view):
                yield from self._views.drop(view.path, step.role)

    def _names(self, of: Iterable[Path]) -> sql.SQL:
        """Names for a statement; each is quoted once, because many statements share them."""
        for path in (several := list(of)):
            if path not in self._quoted:
                self._quoted[path] = sql.Identifier(*path).as_string(self._context)
        return sql.SQL(", ".join(self._quoted[path] for path in several))

    # --- roles ---

    def _create_role(self, name: str) -> Iterator[sql.Composed]:
        self._roles.add(name)
        yield sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(name))
        yield self._mark_comment(name)

    def _mark_comment(self, name: str) -> sql.Composed:
        role, mark = sql.Identifier(name), sql.Literal(self._address.mark)
        return sql.SQL("COMMENT ON ROLE {} IS {}").format(role, mark)

    def _drop_role(self, name: str) -> Iterator[sql.Composed]:
        """Drops a role, with all rights that others gave it, and objects that it owns reassigned.

        No member may keep a right because an object depends on the role. If such an object is in
        another database, the role stays with no rights here, and is no longer ours.
        """
        role = sql.Identifier(name)
        yield from self._take_over(name)
        yield sql.SQL("DROP OWNED BY {}").format(role)
        if name in self._found.used_elsewhere:
            yield sql.SQL("REVOKE {} FROM CURRENT_USER").format(role)
            yield sql.SQL("COMMENT ON ROLE {} IS NULL").format(role)
            if name in self._made:
                left = self._leftover_name(name)
                yield sql.SQL("ALTER ROLE {} RENAME TO {}").format(role, sql.Identifier(left))
            return
        self._roles.discard(name)
        yield sql.SQL("DROP ROLE {}").format(role)

    def _take_over(self, name: str) -> Iterator[sql.Composed]:
        """Reassigns the objects of the role to the account."""
        role = sql.Identifier(name)
        # The creator of a role may become a member of it, and must be one to do this.
        yield sql.SQL("GRANT {} TO CURRENT_USER WITH INHERIT TRUE, SET TRUE").format(role)
        yield sql.SQL("REASSIGN OWNED BY {} TO CURRENT_USER").format(role)

    def _leftover_name(self, name: str) -> str:
        """A free name for a role that stays, so that another role can have the original name."""
        stem = name.encode()[: MAX_NAME_BYTES - _LEFT_BYTES].decode(errors="ignore")
        left = next(one for one in (f"{stem}_left{n}" for n in count(1)) if one not in self._roles)
        self._roles.add(left)
        return left

    def _revoke_membership(self, of: str, member: str) -> Iterator[sql.Composed]:
        """Revokes the membership by any grantor, and all that the member granted from it."""
        for grantor in self._grantors.pop((of, member), ()):
            yield sql.SQL("REVOKE {} FROM {} GRANTED BY {} CASCADE").format(
                sql.Identifier(of), sql.Identifier(member), sql.Identifier(grantor)
            )

    # --- privileges ---

    def _revoke(self, grants: Sequence[Grant], role: str) -> Iterator[sql.Composed]:
        """Revokes memberships of a kind, the login, or one privilege; see `_batch_key`."""
        privilege = grants[0].privilege
        if privilege.startswith(NESTED_IN):
            yield from self._revoke_membership(privilege.removeprefix(NESTED_IN), role)
            return
        if privilege.startswith(ODD_MEMBER):
            yield from self._revoke_membership(*grants[0].path)
            return
        if privilege == LOGIN:
            yield sql.SQL("ALTER ROLE {} NOLOGIN").format(sql.Identifier(role))
            return
        if privilege == OWNS:
            yield from self._take_over(role)
            yield sql.SQL("REVOKE {} FROM CURRENT_USER").format(sql.Identifier(role))
            return
        plain = []
        for one in grants:
            other = self._found.not_plain.get((role, one))
            if other is None:
                plain.append(one)
            else:
                yield from other.revoking()
        if plain:
            yield self._grant(plain, role, Act.REVOKE)

    def _grant(self, grants: Sequence[Grant], role: str, act: Act) -> sql.Composed:
        """Grants or revokes one privilege on several objects of a kind.

        If our role loses a privilege, the grantees of its members lose it, too.
        """
        privilege, depth = grants[0].privilege, len(grants[0].path)
        column: sql.Composable = sql.SQL("")
        if depth == len(_KINDS) - 1:
            column = sql.SQL(" ({})").format(sql.Identifier(grants[0].path[-1]))
        objects = self._names(one.path[:2] or (self._found.database,) for one in grants)
        return sql.SQL("{} {}{} ON {} {} {} {}{}").format(
            sql.SQL("GRANT" if act is Act.GRANT else "REVOKE"),
            sql.SQL(privilege.removesuffix(GRANTABLE)),
            column,
            sql.SQL(_KINDS[depth]),
            objects,
            sql.SQL("TO" if act is Act.GRANT else "FROM"),
            sql.Identifier(role),
            sql.SQL(" CASCADE" if act is Act.REVOKE else ""),
        )

    # --- row policies ---

    def _add_policy(self, policy: RowPolicy, role: str) -> Iterator[sql.Composed]:
        """Two policies: one admits the role, the other one restricts it, whatever others add.

        Both have the condition: PostgreSQL drops a policy with a column that it names (`DROP COLUMN
        … CASCADE`), and a policy without the condition would stay and show every row.
        """
        table = sql.Identifier(*policy.path)
        yield from self._drop_names(policy, role)
        yield sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(table)
        condition = sql.SQL(policy.condition)
        for name, kind in (
            (f"{_stem(role)}all", "PERMISSIVE"),
            (f"{_stem(role)}rows", "RESTRICTIVE"),
        ):
            self._policies.setdefault(policy.path, set()).add(name)
            yield sql.SQL(
                "CREATE POLICY {} ON {} AS {} FOR ALL TO {} USING ({}) WITH CHECK (true)"
            ).format(sql.Identifier(name), table, sql.SQL(kind), sql.Identifier(role), condition)
            yield self._comment(policy, name)

    def _comment(self, policy: RowPolicy, name: str) -> sql.Composed:
        """Our own text of the condition, and PostgreSQL's version of it, which reveals alterations.

        It also notes whether the table had row security before.
        """
        table = sql.Identifier(*policy.path)
        more = sql.SQL(f", '{_SECURED}', true" if policy.path in self._found.secured else "")
        note = sql.SQL(
            "SELECT json_build_object('condition', {}::text,"
            " 'is', pg_get_expr(polqual, polrelid){})"
            "::text FROM pg_policy WHERE polname = {} AND polrelid = {}::regclass"
        ).format(
            sql.Literal(policy.condition),
            more,
            sql.Literal(name),
            sql.Literal(table.as_string(self._context)),
        )
        what = sql.SQL("POLICY {} ON {}").format(sql.Identifier(name), table)
        return commenting(what, note, self._context)

    def _drop_policy(self, policy: RowPolicy, role: str) -> Iterator[sql.Composed]:
        yield from self._drop_names(policy, role)
        if not self._policies.get(policy.path) and policy.path not in self._found.secured:
            yield self._disable_row_security(sql.Identifier(*policy.path))

    def _disable_row_security(self, table: sql.Identifier) -> sql.Composed:
        """Disables row security, unless there are policies again, such as of another target.

        Concurrent pushes wait for the lock, and then enable row security themselves.
        """
        text = sql.SQL(
            " BEGIN LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE;"
            " IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = {name}::regclass)"
            " THEN ALTER TABLE {table} DISABLE ROW LEVEL SECURITY; END IF; END "
        )
        return block(
            text.format(table=table, name=sql.Literal(table.as_string(self._context))),
            self._context,
        )

    def _drop_names(self, policy: RowPolicy, role: str) -> Iterator[sql.Composed]:
        there = self._policies.get(policy.path, set())
        for name in sorted(one for one in there if one.startswith(_stem(role))):
            there.discard(name)
            # It is already gone if it went with its role.
            yield sql.SQL("DROP POLICY IF EXISTS {} ON {}").format(
                sql.Identifier(name), sql.Identifier(*policy.path)
            )


def had_row_security(comments: Iterable[str | None]) -> bool:
    """Whether a table had row security before ours, by the comments of its policies.

    >>> had_row_security([]), had_row_security(['{"condition": "true", "is": "true"}'])
    (True, False)
    """
    notes = [note for one in comments for note in _policy_note(one)]
    return not notes or any(note.get(_SECURED) for note in notes)


def _policy_note(comment: str | None) -> Iterator[Mapping[str, Any]]:
    """The note in the comment of a policy of ours, of any target and store."""
    with suppress(msgspec.DecodeError):
        note = msgspec.json.decode(comment or "")
        if isinstance(note, dict) and {"condition", "is"} <= note.keys():
            yield note


def role_losing_member(step: Step) -> Iterator[str]:
    """The role from which a step removes a member."""
    if step.act is Act.REVOKE_MEMBER:
        yield step.role
    elif step.grant is not None and step.grant.privilege.startswith(NESTED_IN):
        yield step.grant.privilege.removeprefix(NESTED_IN)
    elif step.grant is not None and step.grant.privilege.startswith(ODD_MEMBER):
        yield step.grant.path[0]


def _stem(role: str) -> str:
    """The prefix of a role's policies: a role has one condition on a table."""
    return f"{role}_"


def _batch_key(step: Step) -> tuple[object, ...]:
    """The key by which consecutive steps are combined into one statement."""
    if step.act in (Act.ADD_MEMBER, Act.REVOKE_MEMBER):
        return step.act, step.role
    if step.grant is not None and not step.grant.privilege.startswith(MEMBER):
        column = step.grant.path[2:]
        return step.act, step.role, step.grant.privilege, len(step.grant.path), column
    return step.act, step.role, step.grant, step.policy, step.view
