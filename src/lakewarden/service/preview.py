"""Previews the effect of a draft of statements, memberships and owners, without storing it.

A draft is applied to the realm's matrix, and the two are compared like the two sides of a plan.
Marks do not matter here, since nothing is written. Reasons to refuse the write are reported, not
raised, so the effect is shown anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from lakewarden.analysis.access import Access, access
from lakewarden.analysis.limit_reach import LimitChange, limit_changes
from lakewarden.analysis.lint.catalogue import RULES
from lakewarden.analysis.lint.finding import Finding
from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.run import lint
from lakewarden.expressions.lookup import LookupTable
from lakewarden.kernel.change import (
    Change,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Conflict, Unknown
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import IMPLIED, USER, Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Statement
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.grant import changes_without
from lakewarden.service.lint import lint_context
from lakewarden.service.people import ownership_removals
from lakewarden.service.plan import is_changed_since
from lakewarden.service.plan_result import Edit
from lakewarden.service.ports import Reading
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import RealmState
from lakewarden.service.statement_reach import Audience, StatementReach
from lakewarden.service.statements import stored

DAYS: Final = 30
"""The number of days of usage to check, including today; the same as in the usage report."""

MOST_USED: Final = 20_000
"""The most different acts that are tested; if there are more, the newest ones."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The draft. Its statements replace those with the same ids."""

    put: Sequence[Statement] = ()
    removed: Sequence[str] = ()
    joined: Sequence[MembershipRow] = ()
    left: Sequence[MembershipRow] = ()
    owned: Sequence[OwnerRow] = ()
    disowned: Sequence[OwnerRow] = ()
    gone: Sequence[Principal] = ()
    lookups: Mapping[str, LookupTable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LostUsage:
    """Operations of the last `days` that the draft would deny, and their users.

    `is_whole` False: there were more acts than are tested here.
    """

    acts: int
    people: tuple[str, ...]
    days: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Preview:
    """The changes of a draft at a revision.

    `reach` is the reach of each edited statement before and after. `refused` are the reasons why a
    write of the draft would be refused. `limits` are the changes by its filters and masks.
    """

    revision: int
    edits: tuple[Edit, ...]
    reach: Mapping[str, tuple[Audience, Audience]]
    access: Access = field(repr=False)
    limits: tuple[LimitChange, ...]
    used: LostUsage
    new_findings: tuple[Finding, ...]
    gone_findings: tuple[Finding, ...]
    refused: tuple[str, ...]


def preview(
    service: DecisionService,
    actor: Actor,
    realm: str,
    drafted: Callable[[RealmState], Draft],
    *,
    at_revision: int | None = None,
) -> Preview | Denied:
    """The changes that a draft would make in the current realm; `drafted` parses it for that realm.

    Raises `Unknown` for a realm or an object that does not exist, `Conflict` if the realm has
    changed since `at_revision`, and the errors of `kernel.incremental_compile.apply` for invalid
    changes.
    """
    state = service.catch_up()
    now = service.clock()
    refused = control.denied_in(state, actor, "realm.plan", realm, now)
    if refused is not None:
        return refused
    realm_state = state.realm(realm)
    draft = drafted(realm_state)
    with service.reading() as reading:
        check_unchanged(reading, realm_state, at_revision)
        before, after = realm_state.matrix, matrix_with_draft(realm_state, draft, now)
        used = _lost_usage(reading, realm, before, after, now)
    contexts = (
        lint_context(realm_state),
        lint_context(realm_state, after, draft.lookups),
    )
    old_findings, new_findings = (_findings(realm, context) for context in contexts)
    edits = tuple(_edits(realm_state, draft))
    return Preview(
        revision=state.revision,
        edits=edits,
        reach=_reach(edits, *map(StatementReach, contexts)),
        access=access(before, after, now),
        limits=tuple(
            change
            for edit in edits
            if any(one is not None and one.obliges for one in (edit.was, edit.now))
            for change in limit_changes(_limiting(edit.was), _limiting(edit.now), *contexts)
        ),
        used=used,
        new_findings=tuple(
            finding for key, finding in new_findings.items() if key not in old_findings
        ),
        gone_findings=tuple(
            finding for key, finding in old_findings.items() if key not in new_findings
        ),
        refused=tuple(_refusal_reason(realm_state, draft, after, now)),
    )


def check_unchanged(reading: Reading, realm: RealmState, at_revision: int | None) -> None:
    """Raises `Conflict` if the realm has changed since a revision; None: no check."""
    if at_revision is not None and is_changed_since(reading, realm, at_revision):
        raise Conflict(
            f"realm `{realm.realm.name}` has changed since revision {at_revision}; reload it"
        )


def matrix_with_draft(realm: RealmState, draft: Draft, now: float) -> Matrix:
    """The realm's matrix with the draft applied; the same object if nothing differs."""
    changes = list(_changes(realm, draft))
    if not changes:
        return realm.matrix
    return apply(realm.matrix, changes, now=now, revision=realm.matrix.revision + 1)


def _changes(realm_state: RealmState, draft: Draft) -> Iterator[Change]:
    """The draft as changes of the matrix, without those that have no effect."""
    for edit in _edits(realm_state, draft):
        yield StatementRemoved(edit.id) if edit.now is None else StatementAdded(edit.now)
    coded = realm_state.matrix.snapshot.coded
    known_principals = {coded.memberships.principals[id] for id in coded.memberships.stored}
    for row in draft.left:
        yield MembershipChanged(row, False)
    for row in draft.joined:
        for principal in row:
            if principal not in known_principals and principal.kind != IMPLIED:
                known_principals.add(principal)
                yield PrincipalChanged(principal, True)
        yield MembershipChanged(row, True)
    for owner in draft.disowned:
        yield OwnerChanged(owner, False)
    for owner in draft.owned:
        yield OwnerChanged(owner, True)
    for principal in draft.gone:
        yield from _principal_removal(realm_state, principal)


def _principal_removal(realm_state: RealmState, principal: Principal) -> Iterator[Change]:
    """The removal of a principal, with its memberships and ownership; see `_edits`."""
    coded = realm_state.matrix.snapshot.coded
    memberships = coded.memberships
    id = memberships.ids.get(principal)
    if id is None or id not in memberships.stored:
        raise Unknown(principal.kind, principal.name)
    for of in memberships.of.get(id, ()):
        yield MembershipChanged(MembershipRow(principal, memberships.principals[of]), False)
    for member, groups in memberships.of.items():
        if id in groups:
            yield MembershipChanged(MembershipRow(memberships.principals[member], principal), False)
    for entity in realm_state.matrix.snapshot.owned_by.get(id, ()):
        for owner, label in coded.owners.of(entity):
            if owner == id:
                row = OwnerRow(coded.tree.entity(entity), principal, coded.ownerships[label])
                yield OwnerChanged(row, False)
    yield PrincipalChanged(principal, False)


def _edits(realm_state: RealmState, draft: Draft) -> Iterator[Edit]:
    """The changed statements, including those changed by the removal of principals, by id."""
    statements_by_id = stored(realm_state)
    after = dict(statements_by_id)
    for id in dict.fromkeys(draft.removed):
        if after.pop(id, None) is None:
            raise Unknown("statement", id)
    after |= {statement.id: statement for statement in draft.put}
    for change in list(changes_without(after.values(), frozenset(draft.gone))):
        if isinstance(change, StatementAdded):
            after[change.statement.id] = change.statement
        else:
            del after[change.id]
    for id in sorted(statements_by_id.keys() | after.keys()):
        was, now = statements_by_id.get(id), after.get(id)
        if was != now:
            yield Edit(id, was, now)


def _refusal_reason(
    realm_state: RealmState, draft: Draft, after: Matrix, now: float
) -> Iterator[str]:
    """Why a write of the draft would be refused, ignoring marks."""
    unchangeable = realm_state.system.model.immutable_ids
    drafted = {*draft.removed, *(statement.id for statement in draft.put)}
    for edit in _edits(realm_state, draft):
        if edit.id in unchangeable & drafted:
            yield f"the default statement `{edit.id}` cannot be changed or deleted"
        if edit.was is not None and edit.now is not None and edit.was.obliges != edit.now.obliges:
            yield f"`{edit.id}` is a statement with the effect {edit.was.effect.value}"
    for principal in draft.gone:
        try:
            list(ownership_removals(realm_state, principal))
        except Conflict as conflict:
            if not draft.owned:
                yield str(conflict)
    if realm_state.realm.name == CONTROL:
        had = control.administrators_of(realm_state.matrix, now)
        if had and not control.administrators_of(after, now):
            yield "this would leave no user who may grant privileges on lakewarden"


def _lost_usage(
    reading: Reading, realm: str, before: Matrix, after: Matrix, now: float
) -> LostUsage:
    since = (datetime.fromtimestamp(now, UTC) - timedelta(days=DAYS - 1)).date().isoformat()
    acts: dict[tuple[str, str, Entity], int] = {}
    rows = list(reading.usage(realm, since)) if before is not after else []
    for _, user, operation, entity, count in reversed(rows):
        key = (user, operation, entity)
        if key in acts or len(acts) < MOST_USED:
            acts[key] = acts.get(key, 0) + count
    lost = {
        key: count
        for key, count in acts.items()
        if _is_allowed(before, key, now) and not _is_allowed(after, key, now)
    }
    people = tuple(sorted({user for user, _, _ in lost}))
    is_whole = len(acts) < MOST_USED
    return LostUsage(acts=sum(lost.values()), people=people, days=DAYS, is_whole=is_whole)


def _is_allowed(matrix: Matrix, act: tuple[str, str, Entity], now: float) -> bool:
    user, operation, entity = act
    if operation not in matrix.snapshot.model.operations:
        return False
    return matrix.decide(Request(Principal(USER, user), operation, entity, now)).allow


def _limiting(statement: Statement | None) -> Statement | None:
    """The statement, if it is a filter or a mask."""
    return statement if statement is not None and statement.obliges else None


def _reach(
    edits: Sequence[Edit], before: StatementReach, after: StatementReach
) -> dict[str, tuple[Audience, Audience]]:
    return {
        edit.id: (
            Audience(0, 0) if edit.was is None else before.of(edit.was),
            Audience(0, 0) if edit.now is None else after.of(edit.now),
        )
        for edit in edits
    }


def _findings(realm: str, context: LintContext) -> dict[str, Finding]:
    findings = lint(realm, context, tuple(RULES.values()))
    return {finding.fingerprint: finding for finding in findings}
