"""The view and the record of one write: the newest state with its own changes, and its effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from lakewarden.kernel.cascade import drops, steps
from lakewarden.kernel.change import EntityDropped, EntityRenamed, StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.request import Decision, Request
from lakewarden.kernel.statement import check_size
from lakewarden.service.actor import Actor
from lakewarden.service.audit import AuditEvent
from lakewarden.service.cancellation import check
from lakewarden.service.effect import Effect
from lakewarden.service.nesting import check_nesting
from lakewarden.service.ports import Writing
from lakewarden.service.realm import Realm
from lakewarden.service.state import RealmState, State
from lakewarden.service.state_builder import Scoped, after_effects


class WriteTransaction:
    """One write in progress. Its changes are invisible elsewhere before the commit.

    `state` is the newest committed state with this write's own changes; in a late-locking write, it
    is without them. `store` reads stored data that is not part of the state. A write whose request
    was cancelled stops with `Cancelled`.
    """

    def __init__(
        self,
        actor: Actor,
        state: State,
        store: Writing,
        now: float,
        *,
        late: bool = False,
    ) -> None:
        self.actor = actor
        self.state = state
        self.store = store
        self.now = now
        self.events: list[AuditEvent] = []
        self.effects: list[Scoped] = []
        self._late = late
        self._failed: Exception | None = None

    def realm(self, name: str) -> RealmState:
        """The realm after the changes so far; raises `Unknown`."""
        return self.state.realm(name)

    def change(self, scope: str, *effects: Effect) -> None:
        """Adds the effects to the write, with their consequences.

        Raises the errors of `kernel.incremental_compile.apply`; the caller should then abandon the
        write.
        """
        together: list[Effect] = []
        for are_drops, run in groupby(effects, lambda effect: isinstance(effect, EntityDropped)):
            # The consequences of drops depend on the changes before them.
            if are_drops and together:
                self._apply_effects(scope, together)
                together = []
            together += self._steps(scope, list(run))
        self._apply_effects(scope, together)

    def _apply_effects(self, scope: str, effects: Sequence[Effect]) -> None:
        try:
            check()
            self._apply(scope, effects)
        except Exception as error:
            self._failed = error
            raise

    def raise_failure(self) -> None:
        """Raises the error of a failed change: such a write must not be committed."""
        if self._failed is not None:
            raise self._failed

    def _apply(self, scope: str, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, StatementAdded):
                check_size(effect.statement)
        scoped: Sequence[Scoped] = [(scope, effect) for effect in effects]
        self.store.apply(scope, effects)
        self.effects += scoped
        if not self._late:
            before, revision = self.state, self.store.revision + 1
            self.state = after_effects(before, scoped, self.store.facts, self.now, revision)
            self._check_nesting(before)

    def _check_nesting(self, before: State) -> None:
        for name, realm in self.state.realms.items():
            realm_state = before.realms.get(name)
            if realm is not realm_state:
                was = None if realm_state is None else realm_state.matrix.snapshot.coded
                check_nesting(was, realm.matrix.snapshot.coded)

    def _steps(self, scope: str, effects: Sequence[Effect]) -> Iterator[Effect]:
        """The effects, which must be all drops or no drops, with their consequences."""
        realm = self.state.realms.get(scope)
        if realm is None or self._late:
            yield from effects
            return
        snapshot = realm.matrix.snapshot
        yield from drops(snapshot, (e for e in effects if isinstance(e, EntityDropped)))
        for effect in effects:
            if not isinstance(effect, EntityDropped):
                yield from (
                    steps(snapshot, effect) if isinstance(effect, EntityRenamed) else (effect,)
                )

    def decide(self, realm: str, request: Request) -> Decision:
        """The decision on the state of this write."""
        check()
        return self.realm(realm).matrix.decide(request)

    def allowed(self, realm: str, request: Request, **details: object) -> bool:
        """Decides, and records the decision as an act of this write."""
        decision = self.decide(realm, request)
        outcome = "allow" if decision.allow else "deny"
        reason = decision.reason.value
        self.audit(request.operation, request.target, outcome, reason, realm, details)
        return decision.allow

    def audit(
        self,
        operation: str,
        target: Entity | str,
        outcome: str,
        reason: str,
        realm: str,
        details: Mapping[str, object] | None = None,
    ) -> None:
        """Records an act of the actor; see `Actor.event`."""
        self.record(
            self.actor.event(
                operation, target, outcome, reason, now=self.now, realm=realm, details=details
            )
        )

    def record(self, event: AuditEvent) -> None:
        """Adds the event to the audit trail, in the write's own transaction."""
        self.events.append(event)

    def settings(self, realm: str) -> Realm:
        """The realm's declaration."""
        return self.realm(realm).realm
