"""The authenticated caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.service.audit import AuditEvent
from lakewarden.service.realm import DIRECTORY, Realm
from lakewarden.service.system import System

ANONYMOUS = "anonymous"
"""The user without credentials, if a system allows one."""


class Actor(msgspec.Struct, frozen=True):
    """A caller: a person of a directory, by their name there.

    COST: created for every request, so not a frozen dataclass, which takes 1 µs more.

    `realm`: the only realm in which the credential is valid; None: all realms of the directory.
    `groups` are names that the identity provider asserts in this request. `credential` is how the
    caller was authenticated (`simple`, `root`, `token:ID`, `session:ID`, `oidc`, `anonymous`),
    `wire` and `request_id` are the protocol and the id of the request. `unproven` is set if callers
    need not prove who they are: `simple` (the mode of authentication), `open` (a dialect whose
    authentication is off); tokens that such a caller creates inherit it. `account` is the real
    actor, for the audit trail, if the caller acts with the rights of `user`.
    """

    user: str
    directory: str = DIRECTORY
    realm: str | None = None
    groups: tuple[str, ...] = ()
    credential: str = ""
    request_id: str = ""
    wire: str = ""
    unproven: str = ""
    account: str = ""

    @property
    def recorded(self) -> str:
        """The name of the actor in the audit trail."""
        return self.account or self.user

    @property
    def proof(self) -> dict[str, str]:
        """How the actor got these rights, for the audit trail."""
        proof = {"credential": self.credential}
        return {**proof, "rights_of": self.user} if self.account else proof

    def event(
        self,
        operation: str,
        target: Entity | str,
        outcome: str,
        reason: str,
        *,
        now: float,
        realm: str = "",
        details: Mapping[str, object] | None = None,
    ) -> AuditEvent:
        """The audit event of an act of this actor; `details` are added to the proof of its rights.

        Members as in `AuditEvent`. `target` is an entity or its text; of a type alone, the type.
        """
        return AuditEvent(
            time=now,
            actor=self.recorded,
            operation=operation,
            target=_audited(target),
            outcome=outcome,
            reason=reason,
            realm=realm,
            wire=self.wire,
            request_id=self.request_id,
            details={**self.proof, **(details or {})},
        )

    def is_valid_in(self, realm: Realm) -> bool:
        """Whether the credential is valid in the realm."""
        return self.directory == realm.directory and self.realm in (None, realm.name)

    def principal(self, realm: Realm, system: System) -> Principal:
        """The caller in the realm's spelling."""
        name = realm.spellings.get(self.user, self.user)
        return system.spelled(Principal(USER, name))

    def request(
        self,
        realm: Realm,
        system: System,
        operation: str,
        target: Entity = NO_RESOURCE,
        *,
        now: float,
    ) -> Request:
        """The caller's own request, with the groups that came with it."""
        groups = tuple(system.spelled(Principal(GROUP, name)) for name in self.groups)
        question_request = Request(self.principal(realm, system), operation, target, now)
        return replace(question_request, groups=groups) if groups else question_request


def _audited(target: Entity | str) -> str:
    return target.type if isinstance(target, Entity) and not target.name else str(target)


SYSTEM = Actor("system", credential="system")
"""The actor when there is no caller: first start, moves in time. It asks nothing, is audited."""
