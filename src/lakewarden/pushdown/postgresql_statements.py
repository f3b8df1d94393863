"""The statements of PostgreSQL for the steps of a plan, alike ones together.

They are made from what was found before the first one is sent, so that a plan shows them. What
PostgreSQL alone can say, such as its own text of a condition, a statement asks it for.
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
"""Begins each grant that stands for a membership: `NESTED_IN`, and `ODD_MEMBER`."""

ODD_MEMBER: Final = f"{MEMBER}WITH "
"""A membership in a role of ours with other options than a push gives it is a grant of this, on
the role and the member."""

LOGIN: Final = "LOGIN"
"""That somebody may log in as a role of ours is a grant of this, on the database."""

OWNS: Final = "OWNER"
"""That a role of ours owns something in the database is a grant of this, on the database: its
members have the rights of an owner."""

_LEFT_BYTES: Final = 10
"""So many bytes are for what ends the name of a role that stays."""

_SECURED: Final = "secured"
"""What the note on a policy has where row security of the table was there before."""

_KINDS: Final = ("DATABASE", "SCHEMA", "TABLE", "TABLE")


@dataclass(frozen=True, slots=True)
class TargetState:
    """What statements depend on beside what our roles hold.

    Roles of ours that are `unmarked` have a mark as it was before marks had a store.
    `grantors` are those of memberships, by the role and the member; `policies` the names of all
    row policies of a table, whoever made them. Row security was there before ours on the `secured`
    tables, so it stays. Roles `used_elsewhere` have something that goes
    with no role, such as what is in another database. `not_plain` are grants of ours, by role and
    name, that take more than a REVOKE of that name.
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
    """The statements of one push, which keep account of what those before them did."""

    def __init__(self, found: TargetState, address: Address, context: AdaptContext | None) -> None:
        self._found, self._address, self._context = found, address, context
        self._roles = {*found.roles}
        self._quoted: dict[Path, str] = {}
        self._grantors = dict(found.grantors)
        self._made: frozenset[str] = frozenset()
        self._policies = {path: {*names} for path, names in found.policies.items()}
        self._views = ViewStatements(found.views, address, context)

    def of(self, steps: Iterable[Step]) -> Iterator[Statement]:
        """What does the steps, and drops what nobody needs after them."""
        todo = list(steps)
        self._made = frozenset(step.role for step in todo if step.act is Act.CREATE_ROLE)
        for name in self._found.unmarked:
            yield Statement(MARKING, self._marking(name).as_string(self._context))
        for _, alike in groupby(todo, _alike):
            some = [*alike]
            for statement in self._for(some):
                yield Statement(some[0].act.value, statement.as_string(self._context))
        for statement in self._views.tidied(self._roles):
            yield Statement(TIDYING, statement.as_string(self._context))

    def _for(self, alike: Sequence[Step]) -> Iterator[sql.Composed]:
        """What does some steps that differ by member or object alone."""
        step = alike[0]
        match step:
            case Step(act=Act.CREATE_ROLE):
                yield from self._create_role(step.role)
            case Step(act=Act.DROP_ROLE):
                yield from self._drop_role(step.role)
            case Step(act=Act.ADD_MEMBER):
                members = self._names((one.member,) for one in alike)
                # With SET a member could own things as the role, and hand on what it has.
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
        """Names in a statement, each of which is quoted once: many statements have the same."""
        for path in (several := list(of)):
            if path not in self._quoted:
                self._quoted[path] = sql.Identifier(*path).as_string(self._context)
        return sql.SQL(", ".join(self._quoted[path] for path in several))

    # --- roles ---

    def _create_role(self, name: str) -> Iterator[sql.Composed]:
        self._roles.add(name)
        yield sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(name))
        yield self._marking(name)

    def _marking(self, name: str) -> sql.Composed:
        role, mark = sql.Identifier(name), sql.Literal(self._address.mark)
        return sql.SQL("COMMENT ON ROLE {} IS {}").format(role, mark)

    def _drop_role(self, name: str) -> Iterator[sql.Composed]:
        """Drops a role with what others gave it that no grant of ours is; it may own things, too.

        Nobody is to keep a right because something hangs on its role. What does so in another
        database leaves a role that has nothing here, and is not ours any more.
        """
        role = sql.Identifier(name)
        yield from self._take_over(name)
        yield sql.SQL("DROP OWNED BY {}").format(role)
        if name in self._found.used_elsewhere:
            yield sql.SQL("REVOKE {} FROM CURRENT_USER").format(role)
            yield sql.SQL("COMMENT ON ROLE {} IS NULL").format(role)
            if name in self._made:
                left = self._name_left(name)
                yield sql.SQL("ALTER ROLE {} RENAME TO {}").format(role, sql.Identifier(left))
            return
        self._roles.discard(name)
        yield sql.SQL("DROP ROLE {}").format(role)

    def _take_over(self, name: str) -> Iterator[sql.Composed]:
        """Has the account own what the role owns."""
        role = sql.Identifier(name)
        # Whoever made a role may become a member of it, and has to be one for this.
        yield sql.SQL("GRANT {} TO CURRENT_USER WITH INHERIT TRUE, SET TRUE").format(role)
        yield sql.SQL("REASSIGN OWNED BY {} TO CURRENT_USER").format(role)

    def _name_left(self, name: str) -> str:
        """A free name for a role that stays, so that another one can have its own."""
        stem = name.encode()[: MAX_NAME_BYTES - _LEFT_BYTES].decode(errors="ignore")
        left = next(one for one in (f"{stem}_left{n}" for n in count(1)) if one not in self._roles)
        self._roles.add(left)
        return left

    def _revoke_membership(self, of: str, member: str) -> Iterator[sql.Composed]:
        """Takes the membership away, whoever granted it, and what the member made of it."""
        for grantor in self._grantors.pop((of, member), ()):
            yield sql.SQL("REVOKE {} FROM {} GRANTED BY {} CASCADE").format(
                sql.Identifier(of), sql.Identifier(member), sql.Identifier(grantor)
            )

    # --- privileges ---

    def _revoke(self, grants: Sequence[Grant], role: str) -> Iterator[sql.Composed]:
        """Takes away memberships of a kind, the log-in, or one privilege; see `_alike`."""
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
        """One privilege on several objects of a kind, given or taken away.

        What a role of ours loses is lost by whoever its members handed it on to.
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
        """Two policies: one lets the role in, the other one restricts it, whatever others add.

        Both have the condition: PostgreSQL drops a policy with a column that it names (`DROP COLUMN
        … CASCADE`), and one without any would stay and show every row.
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
        """Our own text of the condition, and what PostgreSQL made of it: it tells alterations.

        It says where row security was there before, too.
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
            yield self._unlimit(sql.Identifier(*policy.path))

    def _unlimit(self, table: sql.Identifier) -> sql.Composed:
        """Nothing limits the rows any more, unless somebody, such as another target, says so now.

        Others wait for the lock, and then enable row security themselves.
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
            # It is gone where it went with its role.
            yield sql.SQL("DROP POLICY IF EXISTS {} ON {}").format(
                sql.Identifier(name), sql.Identifier(*policy.path)
            )


def was_secured(comments: Iterable[str | None]) -> bool:
    """Whether row security of a table was there before ours, by the comments of its policies.

    >>> was_secured([]), was_secured(['{"condition": "true", "is": "true"}'])
    (True, False)
    """
    notes = [note for one in comments for note in _noted(one)]
    return not notes or any(note.get(_SECURED) for note in notes)


def _noted(comment: str | None) -> Iterator[Mapping[str, Any]]:
    """What the comment of a policy of ours says, of whichever target and store."""
    with suppress(msgspec.DecodeError):
        note = msgspec.json.decode(comment or "")
        if isinstance(note, dict) and {"condition", "is"} <= note.keys():
            yield note


def left_by(step: Step) -> Iterator[str]:
    """The role that a step takes a member from."""
    if step.act is Act.REVOKE_MEMBER:
        yield step.role
    elif step.grant is not None and step.grant.privilege.startswith(NESTED_IN):
        yield step.grant.privilege.removeprefix(NESTED_IN)
    elif step.grant is not None and step.grant.privilege.startswith(ODD_MEMBER):
        yield step.grant.path[0]


def _stem(role: str) -> str:
    """A role has one condition on a table, so its name tells its policies."""
    return f"{role}_"


def _alike(step: Step) -> tuple[object, ...]:
    """Steps that follow on one another and agree in this are one statement."""
    if step.act in (Act.ADD_MEMBER, Act.REVOKE_MEMBER):
        return step.act, step.role
    if step.grant is not None and not step.grant.privilege.startswith(MEMBER):
        column = step.grant.path[2:]
        return step.act, step.role, step.grant.privilege, len(step.grant.path), column
    return step.act, step.role, step.grant, step.policy, step.view
