"""A push: plans the changes in a target, and makes exactly these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, Protocol

import msgspec

from lakewarden.engines.mapping import EngineMapping, of_model
from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.kernel.principal import USER
from lakewarden.pushdown import mariadb, postgresql
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.adopt import (
    Adoption,
    GrantedByOthers,
    adoption,
    redundant,
    with_gained_access,
)
from lakewarden.pushdown.desired_state import desired_roles, stored_paths
from lakewarden.pushdown.division import divide_roles
from lakewarden.pushdown.drift import Difference, ForeignGrant, Holdings, differences, foreign
from lakewarden.pushdown.grants import (
    Grant,
    KnownRoles,
    Path,
    Roles,
    as_data,
    from_data,
    known_roles,
)
from lakewarden.pushdown.plan import (
    NOTHING,
    AccessChange,
    Act,
    Step,
    access_changes,
    counted,
    named,
    plan_table,
    replaced,
    steps,
)
from lakewarden.pushdown.statement import Statement
from lakewarden.pushdown.style import style_of
from lakewarden.pushdown.target_objects import Scope, TargetObjects
from lakewarden.service.ports import ServerAccount
from lakewarden.service.preview import matrix_with_draft
from lakewarden.service.push_target import PushTarget
from lakewarden.service.push_target_check import switched_off
from lakewarden.service.residue import Residues
from lakewarden.service.state import RealmState


class Database(Protocol):
    """A connected target of any kind.

    In an `is_transactional` target, all changes are committed when the connection ends without an
    error; otherwise each statement takes effect on its own.
    """

    @property
    def is_transactional(self) -> bool: ...

    @property
    def has_expensive_members(self) -> bool:
        """Whether a membership is more expensive for it than some grants."""
        ...

    @property
    def prefix(self) -> str:
        """The prefix of the names of our roles."""
        ...

    def lock(self) -> None:
        """Locks out other pushes to the target until the end; raises `Busy` during another push."""
        ...

    def require_free(self) -> None:
        """Raises `Busy` while a push holds the lock; does not acquire it."""
        ...

    def begin_snapshot(self) -> None:
        """Reads everything from now on from one snapshot, if the target has snapshots."""
        ...

    @property
    def tag(self) -> str:
        """The tag behind the prefix in the names of new roles, if it distinguishes their owner."""
        ...

    def claim(self, known_roles: KnownRoles) -> None:
        """Claims what the store knows to be ours, if no mark in the target says whose it is.

        That is the case if the target has no marks for roles, or if a mark has no store id yet.
        """
        ...

    def objects(self) -> TargetObjects: ...

    def managed_roles(self) -> Roles:
        """Our roles in their current state, with all changes by others."""
        ...

    def irrevocable(self, held: Roles, /) -> Roles:
        """The parts of our roles that the account cannot revoke."""
        ...

    def holdings(self) -> Holdings:
        """The grants of accounts and roles other than ours."""
        ...

    def missing_rights(self, paths: Collection[Path], /) -> list[str]:
        """The rights that a push to these paths needs and the account lacks, with the remedies."""
        ...

    def warnings(self) -> list[str]:
        """The excessive rights of the account that pushes."""
        ...

    def acts_as(self, account: ServerAccount, /) -> bool:
        """Whether the account that pushes is this one, or may act as it."""
        ...

    def statements(self, steps: Iterable[Step], /) -> Sequence[Statement]:
        """The statements for the steps, in the current state; sends nothing."""
        ...

    def execute(self, statements: Iterable[Statement], /) -> None:
        """Sends the statements."""
        ...


CONNECT: Final[Mapping[str, Callable[[Address], AbstractContextManager[Database]]]] = {
    mariadb.ENGINE: mariadb.connected,
    postgresql.ENGINE: postgresql.connected,
}
"""The connect function of each kind of target."""


@dataclass(frozen=True, slots=True)
class PushPlan:
    """The current state of a target, the wanted state, and the steps between.

    `statements` are sent to execute the steps. `adopted` are grants of others that are revoked,
    because ours replace them. Roles in `recreated` are dropped first, because nothing else revokes
    what they hold. `digest` is the same only for the same statements from the same state. The
    steps of an `is_journalled` plan take effect in the target one by one, so the plan is recorded
    before the push begins.
    """

    target: PushTarget
    held: Roles
    desired: Roles
    residues: Residues
    revision: int
    adopted: tuple[tuple[str, Grant], ...] = ()
    is_journalled: bool = False
    recreated: Roles = NOTHING
    statements: Sequence[Statement] = ()

    @property
    def steps(self) -> Sequence[Step]:
        """The steps in their order."""
        revoked = (Step(Act.REVOKE_FOREIGN, role, grant=grant) for role, grant in self.adopted)
        return [*steps(self.held, self.desired, self.recreated), *revoked]

    @property
    def is_pending(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.adopted or self.target.journal) or self.held != self.desired

    @property
    def access(self) -> Sequence[AccessChange]:
        """The effect on users."""
        return access_changes(self.held, self.desired)

    @property
    def digest(self) -> str:
        """The digest that identifies this plan."""
        own = [self.target.realm, self.target.name, as_data(self.held), as_data(self.desired)]
        parts = [*own, self.adopted, [one.table() for one in self.statements]]
        return sha256(msgspec.json.encode(parts)).hexdigest()

    def target_during_push(self) -> PushTarget | None:
        """The target during the push, with the journal; None if the target is transactional.

        A push that continues keeps the digest of the plan that it began with.
        """
        if not self.is_journalled:
            return None
        first = str(self.target.journal.get("digest", ""))
        digest = first if self.resumes(first) else self.digest
        return replace(self.target, journal={"digest": digest, "wanted": as_data(self.desired)})

    def resumes(self, digest: str) -> bool:
        """Whether it is the rest of the plan with that digest, whose push was begun."""
        journal = self.target.journal
        is_begun = bool(journal) and journal["digest"] == digest
        return is_begun and from_data(journal["wanted"]) == self.desired

    def target_after_push(self) -> PushTarget:
        """The target after the push."""
        pushed = as_data(self.desired)
        return replace(self.target, pushed=pushed, revision=self.revision, journal={})

    def table(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return plan_table(self, (step.act for step in self.steps), self.adopted)


def plan(database: Database, realm: RealmState, target: PushTarget, now: float) -> PushPlan:
    """The plan of a push at this time. Raises `StaleSnapshot` as `desired_roles` does."""
    return _with_statements(database, _plan(database, realm, target, now, database.objects()))


def _with_statements(database: Database, made: PushPlan) -> PushPlan:
    """The plan with its statements. Raises `Conflict` if a required name belongs to others."""
    return replace(made, statements=database.statements(made.steps))


def _plan(
    database: Database, realm: RealmState, target: PushTarget, now: float, objects: TargetObjects
) -> PushPlan:
    mapping = _mapping(realm, target)
    scope = Scope(target.metalake, target.catalog)
    desired = desired_roles(realm, mapping, scope, objects, now)
    style = style_of(realm.realm.model, target.kind, target.style)
    if style is not None:
        desired = style(realm, scope, desired, objects)
    if database.has_expensive_members:
        desired = divide_roles(realm, desired)
    held, pushed = database.managed_roles(), from_data({**target.pushed, **_pending_roles(target)})
    fixed, others = desired.named, objects.roles
    whole = named(desired.roles, held, pushed, database.prefix, fixed, others, database.tag)
    return PushPlan(
        target,
        held,
        whole,
        desired.residues,
        realm.matrix.revision,
        is_journalled=not database.is_transactional,
        recreated=replaced(database.irrevocable(held), whole),
    )


def _mapping(realm: RealmState, target: PushTarget) -> EngineMapping:
    """The rules of the realm for the target; raises `BadInput` if their setting is off."""
    why = switched_off(target, realm)
    if why:
        raise BadInput(f"{why}; a reset of `{target.name}` removes what was pushed")
    return of_model(realm.realm.model)[target.kind]


def _pending_roles(target: PushTarget) -> Mapping[str, Any]:
    """The roles that result from an unfinished push, as data."""
    coming: Mapping[str, Any] = target.journal.get("wanted", {})
    return coming


def adoption_plan(database: Database, made: PushPlan) -> PushPlan:
    """The plan, plus the revocation of the grants of others that it replaces."""
    holdings, allowed = database.holdings(), made.desired.holders()
    names = frozenset(user for users in allowed.values() for user in users)
    others = foreign(holdings, names, allowed, ())
    adopted = tuple(sorted({*redundant(holdings, others, allowed)}))
    return _with_statements(database, replace(made, adopted=adopted)) if adopted else made


def reset_plan(database: Database, target: PushTarget) -> PushPlan:
    """The plan that removes everything that is ours."""
    journalled = not database.is_transactional
    held, nothing = database.managed_roles(), Roles()
    recreated = replaced(database.irrevocable(held), nothing)
    made = PushPlan(
        target, held, nothing, Residues(), 0, is_journalled=journalled, recreated=recreated
    )
    return _with_statements(database, made)


def apply(database: Database, agreed: PushPlan) -> int:
    """Sends the statements of the plan, and returns their number.

    Raises `Conflict` if the target did not reach the planned state: then a target with
    transactions rolls back.
    """
    database.claim(KnownRoles(frozenset(agreed.desired.roles)))
    database.execute(agreed.statements)
    left = {*database.holdings().grants} & {*agreed.adopted} if agreed.adopted else set()
    if left or database.managed_roles() != agreed.desired:
        kept = "the journal is kept" if agreed.is_journalled else "nothing was changed"
        message = f"the target did not reach the planned state; {kept}"
        raise Conflict(f"{message}; check the rights of the target's account, and plan again")
    return len(agreed.statements)


@dataclass(frozen=True, slots=True)
class Drift:
    """What others changed since the last push, and what users of the realm hold beside our roles.

    `pending` counts the steps for the realm's own changes since then, `residue` what is left out.
    During an `unfinished` push, changes that it may have made itself are not differences.
    `access` is the effect of the differences on users, if they do not show it themselves.
    """

    differences: Sequence[Difference]
    foreign: Sequence[ForeignGrant]
    pending: Mapping[str, int]
    residue: int = 0
    unfinished: bool = False
    access: Sequence[AccessChange] = ()

    def table(self) -> dict[str, Any]:
        """The drift as JSON values."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data


def users_of(realm: RealmState) -> frozenset[str]:
    """The names of the stored users, whatever their rights."""
    memberships, identities = realm.matrix.snapshot.coded.memberships, realm.system.identities
    stored = (memberships.principals[id] for id in memberships.stored)
    return frozenset(identities.person(one) for one in stored if one.kind == USER)


def drift(database: Database, realm: RealmState, target: PushTarget, now: float) -> Drift:
    """Compares three states: pushed last, found in the target, and wanted now."""
    objects = database.objects()
    current = _plan(database, realm, target, now, objects)
    pushed = from_data(target.pushed)
    users = (objects.users | objects.unlimited) & users_of(realm)
    acts = _mapping(realm, target).engine.acts
    allowed, limited = current.desired.holders(), current.desired.limited()
    others = foreign(database.holdings(), users, allowed, acts, limited)
    return Drift(
        differences=list(
            differences(
                pushed, current.held, from_data(_pending_roles(target)) if target.journal else None
            )
        ),
        foreign=sorted(others, key=lambda one: (not one.denied, one.grantee, one.grant)),
        pending=counted(step.act for step in steps(pushed, current.desired)),
        residue=current.residues.count,
        unfinished=bool(target.journal),
    )


def proposal(database: Database, realm: RealmState, target: PushTarget, now: float) -> Adoption:
    """The proposal for the grants of others, and what users would gain from it."""
    objects = database.objects()
    found, before = (
        drift(database, realm, target, now),
        _plan(database, realm, target, now, objects),
    )
    mapping, everyone = _mapping(realm, target), database.holdings().everyone
    scope = Scope(target.metalake, target.catalog)
    others = GrantedByOthers(found.foreign, everyone)
    made = adoption(realm, mapping, scope, target.name, others, now)
    after = replace(realm, matrix=matrix_with_draft(realm, made.draft, now))
    allowed = _plan(database, after, target, now, objects).desired.holders()
    return with_gained_access(made, before.desired.holders(), allowed, found.foreign)


class Session:
    """A connected target, for the use cases of `service.push`."""

    def __init__(self, database: Database, target: PushTarget) -> None:
        self._database, self._target = database, target

    def lock(self) -> None:
        """Locks out other pushes until the end; raises `Busy` during another push."""
        self._database.lock()

    def require_free(self) -> None:
        """Raises `Busy` while a push is under way."""
        self._database.require_free()

    def begin_snapshot(self) -> None:
        """Reads everything from now on from one snapshot, if the target supports it."""
        self._database.begin_snapshot()

    def set_target(self, target: PushTarget) -> None:
        """Sets the target as it is stored, with the roles that were pushed to it."""
        self._target = target
        self._database.claim(known_roles(target.pushed) | known_roles(_pending_roles(target)))

    def plan(self, realm: RealmState, now: float) -> PushPlan:
        """The plan of a push at this time."""
        return plan(self._database, realm, self._target, now)

    def adoption_plan(self, made: PushPlan) -> PushPlan:
        """The plan, plus the revocation of the grants of others that it replaces."""
        return adoption_plan(self._database, made)

    def adoption(self, realm: RealmState, now: float) -> Adoption:
        """The grants of others as statements of the realm."""
        return proposal(self._database, realm, self._target, now)

    def reset_plan(self) -> PushPlan:
        """The plan that removes everything that is ours."""
        return reset_plan(self._database, self._target)

    def apply(self, agreed: PushPlan) -> int:
        """Executes the plan, and returns the number of statements."""
        return apply(self._database, agreed)

    def drift(self, realm: RealmState, now: float) -> Drift:
        """What others changed, and what users hold beside our roles."""
        return drift(self._database, realm, self._target, now)

    def plugin_versions(self) -> list[str]:
        """Nothing is in transit: the database itself decides by what it holds."""
        return []

    def missing_rights(self, realm: RealmState) -> list[str]:
        """The rights that the account that pushes lacks."""
        return self._database.missing_rights(self._paths(realm))

    def warnings(self) -> list[str]:
        """The excessive rights of the account that pushes."""
        return self._database.warnings()

    def acts_as(self, account: ServerAccount) -> bool:
        """Whether the account that pushes is this one, or may act as it."""
        return self._database.acts_as(account)

    def _paths(self, realm: RealmState) -> frozenset[Path]:
        """The paths of the catalog's schemas and tables in the database."""
        target = self._target
        mapping = _mapping(realm, target)
        return stored_paths(realm, mapping, Scope(target.metalake, target.catalog))


@contextmanager
def session(target: PushTarget, url: str, store: str) -> Iterator[Session]:
    """A session with a target of the store with this id; raises `Unavailable`."""
    if target.kind not in CONNECT:
        raise BadInput(f"cannot push to `{target.kind}`; expected one of: {', '.join(CONNECT)}")
    with CONNECT[target.kind](Address(url, target.name, store)) as database:
        yield Session(database, target)
