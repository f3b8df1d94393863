"""Records in the realm what Spark created, dropped and renamed for a user, if it follows Spark.

This is written once Spark has reported success, before the user gets the response. The creator
becomes the owner. Only proof of a creation counts: a statement that fails if the object exists. If
it cannot be recorded, nobody may do more than before, and the user gets an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql.connect.proto import base_pb2 as base

from lakewarden.gateway.access import Access, Name
from lakewarden.http.catalog_effects import creation, drop, renaming
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.principal import Principal
from lakewarden.service.actor import Actor
from lakewarden.service.audit import AuditEvent
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction

TABLE: Final = "table"
VIEW: Final = "view"
SCHEMA: Final = "schema"

Exists = Callable[[str, Name], bool]
"""Whether Spark has a schema, or a table or view, with a complete name."""

_ACTS: Final = {TABLE: "CreateTable", VIEW: "CreateView", SCHEMA: "CreateSchema"}
_DROPS: Final = {TABLE: "DropTable", VIEW: "DropView", SCHEMA: "DropSchema"}


class NotFollowed(WardenError):
    """Spark has done it, and the realm has not recorded it."""


@dataclass(frozen=True, slots=True)
class CatalogChange:
    """What an operation creates, drops or renames if it succeeds."""

    kind: str
    created: Name = ()
    dropped: Name = ()

    def summary(self) -> str:
        """A short description for logs and messages.

        >>> CatalogChange("table", created=("c", "s", "new"), dropped=("c", "s", "old")).summary()
        'rename table c.s.old to c.s.new'
        """
        new, old = ".".join(self.created), ".".join(self.dropped)
        if self.created and self.dropped:
            return f"rename {self.kind} {old} to {new}"
        return f"create {self.kind} {new}" if self.created else f"drop {self.kind} {old}"


@dataclass(frozen=True, slots=True)
class Following:
    """The effects of a running operation, and its user."""

    actor: Actor
    done: CatalogChange
    access: Access

    def write(self, service: DecisionService, realm: str) -> None:
        """Records the effects; raises `NotFollowed` if that fails."""

        def write(transaction: WriteTransaction) -> None:
            state = transaction.realm(realm)
            owner = self.actor.principal(state.realm, state.system)
            transaction.change(realm, *self._effects(state, owner))
            transaction.record(self._event(realm, service.clock()))

        try:
            service.write(self.actor, write)
        except WardenError as error:
            problem = f"Spark did it ({self.done.summary()}), but the realm could not record it"
            raise NotFollowed(f"{problem}, so nobody may do more than before: {error}") from None

    def _effects(self, state: RealmState, owner: Principal) -> Iterator[Effect]:
        done = self.done
        new, old = self._entity(done.created), self._entity(done.dropped)
        if new is not None and old is not None:
            yield from renaming(state, old, new)
        elif new is not None and not self._has_other(state, done.created):
            yield from creation(state, new, owner)
        elif old is not None:
            yield from drop(state, old)

    def _has_other(self, state: RealmState, name: Name) -> bool:
        """Whether a table or view of that name is stored: its statements then stay in force."""
        others = (self.access.entity(kind, name) for kind in (TABLE, VIEW))
        tree = state.matrix.snapshot.coded.tree
        found = [tree.find(one) for one in others if one is not None]
        return any(id is not None and id in tree.stored for id in found)

    def _entity(self, name: Name) -> Entity | None:
        return self.access.entity(self.done.kind, name) if name else None

    def _event(self, realm: str, now: float) -> AuditEvent:
        done = self.done
        act = (
            "AlterTable"
            if done.created and done.dropped
            else (_ACTS if done.created else _DROPS)[done.kind]
        )
        entity = self._entity(done.created or done.dropped)
        operation = self.access.operation(act)
        return self.actor.event(
            operation, entity or NO_RESOURCE, "allow", "done by Spark", now=now, realm=realm
        )


def is_complete(data: bytes) -> bool:
    """Whether a response reports that the operation is complete."""
    answer = base.ExecutePlanResponse()
    answer.ParseFromString(data)
    return bool(answer.HasField("result_complete"))


def is_reattachable(request: base.ExecutePlanRequest) -> bool:
    """Whether the responses may continue in another stream, so the end of one means nothing."""
    options: Sequence[base.ExecutePlanRequest.RequestOption] = request.request_options
    return any(one.reattach_options.reattachable for one in options)
