"""Policy as code: plans the changes from a realm to policy files, and applies them.

The keeper of the files has a name, and applied objects are marked with it: statements in their
documents, roles and memberships in the keeper's own document. Objects with no mark or another one
are left alone. A plan is for a revision; it is applied only while the realm and its people are
unchanged since, and only as shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from lakewarden.analysis.access import Access, access
from lakewarden.expressions.lookup import LookupTable, types_of
from lakewarden.kernel.change import (
    Change,
    EntityAdded,
    EntityDropped,
    MembershipChanged,
    PrincipalChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, LimitExceeded
from lakewarden.kernel.implied import IMPLIED_ID
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.principal import IMPLIED, ROLE, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import principal_text
from lakewarden.names.canonical import check_text
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.defaults import with_deletions
from lakewarden.service.effect import (
    About,
    Document,
    DocumentChanged,
    Effect,
    RealmChanged,
)
from lakewarden.service.lookup_tables import check_lookups
from lakewarden.service.obligation_check import newly_broken
from lakewarden.service.plan_result import Edit, LookupEdit, Plan
from lakewarden.service.policy import Part, Policy, read
from lakewarden.service.ports import FeedTruncated, Reading
from lakewarden.service.realm import CONTROL, people_of
from lakewarden.service.state import RealmState
from lakewarden.service.statements import MARK, stored
from lakewarden.service.write_transaction import WriteTransaction

KEEPER: Final = "policy"
"""The default name of the keeper."""

MAX_KEEPER: Final = 200
"""The most characters of a keeper's name."""

_BESIDE: Final = frozenset({"document", "link", "secret", "token", "value"})
"""Kinds of changes that do not affect access."""


class AppliedPlan(NamedTuple):
    """The applied plan, and its revision; for an empty plan, the previous revision."""

    plan: Plan
    revision: int


def plan(
    service: DecisionService,
    actor: Actor,
    realm: str,
    parts: Sequence[Part],
    *,
    keeper: str = KEEPER,
    adopts: bool = False,
) -> Plan | Denied:
    """The changes that applying the files would make now.

    `adopts`: takes over statements, roles and memberships without a mark. Raises `Unknown` for a
    realm that does not exist, `BadInput` for a malformed file, `Conflict` for a statement of
    another keeper.
    """
    state = service.catch_up()
    now = service.clock()
    refused = control.denied_in(state, actor, "realm.plan", realm, now)
    if refused is not None:
        return refused
    with service.reading() as reading:
        if reading.revision != state.revision:
            state = service.catch_up(reading.revision)
        realm_state = state.realm(realm)
        new_policy = read(parts, realm_state, reading)
        new_plan, _ = _planned(
            realm_state, reading, new_policy, state.revision, now, keeper=keeper, adopts=adopts
        )
        return new_plan


def apply_plan(  # noqa: PLR0913 — the plan, the realm and the caller
    service: DecisionService,
    actor: Actor,
    realm: str,
    parts: Sequence[Part],
    *,
    revision: int,
    digest: str,
    keeper: str = KEEPER,
    adopts: bool = False,
) -> AppliedPlan | Denied:
    """Applies exactly the plan of that revision and digest.

    Raises `Conflict` if the realm or its people have changed since, or if the files now differ from
    the plan; also raises the errors of `plan`.
    """

    def apply(transaction: WriteTransaction) -> AppliedPlan | Denied:
        details = {"keeper": keeper, "plan": digest}
        refused = control.authorize_in_realm(transaction, "realm.apply", realm, **details)
        if refused is not None:
            return refused
        realm_state = transaction.realm(realm)
        if is_changed_since(transaction.store, realm_state, revision):
            raise Conflict(
                f"realm `{realm}` or its directory has changed since revision {revision}, for which"
                " the plan was made; plan again"
            )
        policy = read(parts, realm_state, transaction.store)
        before = control.administrators(transaction.state, transaction.now)
        newest = transaction.store.revision
        current, pending = _planned(
            realm_state,
            transaction.store,
            policy,
            newest,
            transaction.now,
            keeper=keeper,
            adopts=adopts,
        )
        if current.digest_at(revision) != digest:
            raise Conflict("the files have changed since the plan; plan again")
        for effects in _split_at_drop(pending):
            transaction.change(realm, *effects)
        if realm == CONTROL:
            control.require_administrator(transaction, before)
        return AppliedPlan(current, transaction.state.revision)

    return service.write(actor, apply, large=True)


def _split_at_drop(effects: Sequence[Effect]) -> Iterator[Sequence[Effect]]:
    """The effects, split before the first drop, whose consequences depend on earlier effects."""
    first = next((i for i, e in enumerate(effects) if isinstance(e, EntityDropped)), len(effects))
    yield from filter(None, (effects[:first], effects[first:]))


def is_changed_since(reading: Reading, realm: RealmState, revision: int) -> bool:
    """Whether anything that affects a realm's decisions has changed since a revision.

    True also if that revision does not exist yet, or is too old to tell.
    """
    if revision > reading.revision:
        return True
    scopes = {realm.realm.name, people_of(realm.realm.directory)}
    try:
        rows = reading.feed(revision)
    except FeedTruncated:
        return True
    return any(row.scope in scopes and row.kind not in _BESIDE for row in rows)


def _planned(
    realm: RealmState,
    reading: Reading,
    new_policy: Policy,
    revision: int,
    now: float,
    *,
    keeper: str,
    adopts: bool,
) -> tuple[Plan, Sequence[Effect]]:
    """The plan, and its effects."""
    check_text(keeper, "the keeper's name")
    if len(keeper) > MAX_KEEPER:
        raise LimitExceeded(f"the keeper's name has more than {MAX_KEEPER} characters")
    statements_by_id = stored(realm)
    documents = reading.documents(realm.realm.name, sorted(statements_by_id))
    marks = {str(id): str(body.get(MARK, "")) for id, body in documents.items()}
    note = _KeeperRecord.read(reading, realm.realm.name, keeper)
    edits = tuple(_edits(new_policy, statements_by_id, marks, keeper, adopts))
    people = _people(realm, new_policy, note, adopts)
    lookups = tuple(_lookup_edits(realm, new_policy, note, adopts))
    _check_lookups(realm, lookups, edits)
    effects = [
        *_statement_effects(edits, keeper, documents),
        *_realm_effects(realm, edits, lookups),
        *_people_effects(realm, people),
    ]
    renewed = note.after(people, _managed_lookups(realm, new_policy, note, adopts))
    if renewed != note:
        effects.append(DocumentChanged(_note_id(keeper), renewed.document(keeper)))
    _check_removed_roles(realm, people.gone_roles, edits)
    new_plan = Plan(
        realm=realm.realm.name,
        keeper=keeper,
        adopts=adopts,
        revision=revision,
        edits=edits,
        new_roles=people.new_roles,
        gone_roles=people.gone_roles,
        new_members=people.new_members,
        gone_members=people.gone_members,
        foreign=sum(
            marks.get(id) != keeper for id in statements_by_id if id not in new_policy.statements
        ),
        is_empty=not effects,
        access=_access(realm, effects, now),
        lookups=lookups,
    )
    return new_plan, effects


def _access(realm: RealmState, effects: Sequence[Effect], now: float) -> Access:
    beside = (DocumentChanged, RealmChanged)
    # An effect is one of these two or a change; a type checker cannot derive this from a tuple.
    changes: list[Change] = [e for e in effects if not isinstance(e, beside)]  # type: ignore[misc]
    before = realm.matrix
    after = apply(before, changes, now=now, revision=before.revision + 1) if changes else before
    return access(before, after, now)


# Statements


def _edits(
    new_policy: Policy,
    statements_by_id: Mapping[str, Statement],
    marks: Mapping[str, str],
    keeper: str,
    adopts: bool,
) -> Iterator[Edit]:
    for id in sorted(
        {*new_policy.statements, *(id for id in statements_by_id if marks.get(id) == keeper)}
    ):
        was, now = statements_by_id.get(id), new_policy.statements.get(id)
        mark = marks.get(id, "")
        if was == now and not mark and not adopts:
            continue  # equal to an export: nothing is pending, and nobody keeps it
        if was is not None and mark != keeper and (mark or not adopts):
            owner = (
                f"has the mark `{mark}`: plan it under that name, or leave it out"
                if mark
                else "has no mark: adopt it, or rename your statement"
            )
            raise Conflict(f"statement `{id}` already exists and {owner}")
        if was != now or mark != keeper:
            yield Edit(id, was, now)


def _statement_effects(
    edits: Sequence[Edit], keeper: str, documents: Mapping[About, Document]
) -> Iterator[Effect]:
    for edit in edits:
        if edit.now is None:
            yield StatementRemoved(edit.id)
        else:
            if edit.now != edit.was:
                yield StatementAdded(edit.now)
            yield DocumentChanged(edit.id, {**documents.get(edit.id, {}), MARK: keeper})


def _realm_effects(
    realm: RealmState, edits: Sequence[Edit], lookups: Sequence[LookupEdit]
) -> Iterator[Effect]:
    """The plan's changes to the realm's declaration."""
    removed = {edit.id for edit in edits if edit.now is None}
    put = {edit.id for edit in edits if edit.now is not None}
    declared = with_deletions(realm.realm, realm.system, removed=removed, put=put)
    declared = replace(declared, lookups=_lookups_after(realm, lookups))
    if declared != realm.realm:
        yield RealmChanged(realm.realm.name, declared)


# Lookup tables


def _lookup_edits(
    realm: RealmState, new_policy: Policy, note: _KeeperRecord, adopts: bool
) -> Iterator[LookupEdit]:
    declared = realm.realm.lookups
    for name in sorted({*new_policy.lookups, *(declared.keys() & note.lookups)}):
        was, now = declared.get(name), new_policy.lookups.get(name)
        if was == now:
            continue
        if was is not None and name not in note.lookups and not adopts:
            problem = "already exists, and these files do not keep it"
            raise Conflict(f"lookup table `{name}` {problem}: adopt it, or rename yours")
        yield LookupEdit(name, was, now)


def _managed_lookups(
    realm: RealmState, new_policy: Policy, note: _KeeperRecord, adopts: bool
) -> frozenset[str]:
    """The lookup tables that the keeper keeps afterwards, without existing ones of others."""
    foreign = frozenset() if adopts else realm.realm.lookups.keys() - note.lookups
    return frozenset(new_policy.lookups) - foreign


def _lookups_after(realm: RealmState, edits: Sequence[LookupEdit]) -> Mapping[str, LookupTable]:
    lookups = dict(realm.realm.lookups)
    for edit in edits:
        if edit.now is None:
            del lookups[edit.name]
        else:
            lookups[edit.name] = edit.now
    return lookups


def _check_lookups(realm: RealmState, lookups: Sequence[LookupEdit], edits: Sequence[Edit]) -> None:
    """Refuses changes after which a remaining filter or mask could not use its lookup table."""
    after = _lookups_after(realm, lookups)
    check_lookups(realm.system, after)
    statements = {**stored(realm), **{edit.id: edit.now for edit in edits}}
    remaining = [one for one in statements.values() if one is not None]
    broken = newly_broken(remaining, types_of(realm.realm.lookups), types_of(after))
    if broken:
        names = ", ".join(f"`{edit.name}`" for edit in lookups)
        raise Conflict(f"lookup tables cannot be changed ({names}): `{broken[0]}` uses one of them")


# Roles and memberships


def _note_id(keeper: str) -> str:
    """The subject of a keeper's document. No statement's id begins like this."""
    return f"{IMPLIED_ID}kept:{keeper}"


@dataclass(frozen=True, slots=True)
class _People:
    new_roles: tuple[Principal, ...]
    gone_roles: tuple[Principal, ...]
    new_members: tuple[MembershipRow, ...]
    gone_members: tuple[MembershipRow, ...]
    roles: frozenset[Principal]
    members: frozenset[MembershipRow]


@dataclass(frozen=True, slots=True)
class _KeeperRecord:
    """The roles, memberships and lookup tables that come from a keeper's files."""

    roles: frozenset[str] = frozenset()
    members: frozenset[tuple[str, str]] = frozenset()
    lookups: frozenset[str] = frozenset()

    @staticmethod
    def read(reading: Reading, realm: str, keeper: str) -> _KeeperRecord:
        id = _note_id(keeper)
        body = reading.documents(realm, [id]).get(id, {})
        lists: list[Any] = [body.get(key, []) for key in ("roles", "members", "lookups")]
        if not all(isinstance(one, list) for one in lists):
            raise BadInput(f"the stored state of `{keeper}` is damaged")
        roles, members, lookups = lists
        pairs = frozenset((str(member), str(of)) for member, of in members)
        return _KeeperRecord(frozenset(map(str, roles)), pairs, frozenset(map(str, lookups)))

    def after(self, people: _People, lookups: frozenset[str]) -> _KeeperRecord:
        """The record after changes of people and lookup tables."""
        pairs = ((principal_text(row.member), principal_text(row.of)) for row in people.members)
        roles = frozenset(role.name for role in people.roles)
        return _KeeperRecord(roles, frozenset(pairs), lookups)

    def document(self, keeper: str) -> Document | None:
        """The stored form."""
        if not self.roles and not self.members and not self.lookups:
            return None
        members = [list(pair) for pair in sorted(self.members)]
        document = {MARK: keeper, "roles": sorted(self.roles), "members": members}
        return {**document, "lookups": sorted(self.lookups)} if self.lookups else document


def _people(realm: RealmState, new_policy: Policy, note: _KeeperRecord, adopts: bool) -> _People:
    """The added and removed roles and memberships, and those that the keeper keeps afterwards."""
    roles, members = realm.own.principals, realm.own.memberships
    texts = {row: (principal_text(row.member), principal_text(row.of)) for row in members}
    return _People(
        new_roles=tuple(sorted(new_policy.roles - roles)),
        gone_roles=tuple(
            sorted(p for p in roles - new_policy.roles if p.kind == ROLE and p.name in note.roles)
        ),
        new_members=tuple(sorted(new_policy.members - members)),
        gone_members=tuple(
            sorted(row for row in members - new_policy.members if texts[row] in note.members)
        ),
        roles=frozenset(
            p for p in new_policy.roles if p not in roles or p.name in note.roles or adopts
        ),
        members=frozenset(
            row
            for row in new_policy.members
            if row not in members or texts[row] in note.members or adopts
        ),
    )


def _people_effects(realm: RealmState, people: _People) -> Iterator[Effect]:
    for row in people.gone_members:
        yield MembershipChanged(row, False)
    for role in people.gone_roles:
        for row in sorted(realm.own.memberships - set(people.gone_members)):
            if role in row:
                yield MembershipChanged(row, False)
        entity = _role_entity(realm, role)
        if entity is not None and realm.matrix.snapshot.coded.is_known(entity):
            yield EntityDropped(entity)
        yield PrincipalChanged(role, False)
    for role in people.new_roles:
        entity = _role_entity(realm, role)
        if entity is not None and not realm.matrix.snapshot.coded.is_known(entity):
            yield EntityAdded(entity, realm.system.spelling.parent(entity))
        yield PrincipalChanged(role, True)
    own = realm.own.principals
    named = {p for row in people.new_members for p in row if p.kind not in (IMPLIED, ROLE)}
    memberships = realm.matrix.snapshot.coded.memberships
    stored_principals = {memberships.principals[id] for id in memberships.stored} | own
    for principal in sorted(named - stored_principals):
        yield PrincipalChanged(principal, True)
    for row in people.new_members:
        if (
            row.of.kind == ROLE
            and row.of not in stored_principals
            and row.of not in people.new_roles
        ):
            raise BadInput(f"role `{row.of.name}` is not stored; name it among the `roles`")
        yield MembershipChanged(row, True)


def _role_entity(realm: RealmState, role: Principal) -> Entity | None:
    """The entity of a role, in a system whose roles are entities too."""
    for type in realm.system.model.types.values():
        if type.principal == ROLE:
            return realm.system.spelling.parse(type.name, role.name)
    return None


def _check_removed_roles(
    realm: RealmState, roles: Sequence[Principal], edits: Sequence[Edit]
) -> None:
    """Refuses to remove a role that a remaining statement names."""
    after = {**stored(realm), **{edit.id: edit.now for edit in edits}}
    for role in roles:
        for id, statement in sorted(after.items()):
            if statement is not None and role in statement.named:
                raise Conflict(f"role `{role.name}` cannot be removed: statement `{id}` names it")
