"""Who is calling, once the credentials were believed."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.service.realm import DIRECTORY, Realm
from lakewarden.service.system import System

ANONYMOUS = "anonymous"
"""The user without credentials, where a system lets one in."""


class Actor(msgspec.Struct, frozen=True):
    """A caller: a person of a directory, by the person's name there.

    COST: made anew for every request; so it is not a frozen dataclass, which takes 1 µs more.

    `realm`: the only realm in which the credential is good; None: in every realm of the
    directory. `groups` are names that the identity provider asserts in this request.
    `credential` says how the caller was believed (`simple`, `root`, `token:ID`, `session:ID`,
    `oidc`, `anonymous`), `wire` and `request_id` where and in which request. `unproven` says
    where callers need not prove who they are: `simple` (the mode of authentication), `open` (a
    dialect whose authentication is off); tokens that such a caller makes bear it. `account` is who
    really acts, for the audit trail, where somebody acts with the rights of `user`.
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
        """Who acts, as the audit trail names them."""
        return self.account or self.user

    @property
    def proof(self) -> dict[str, str]:
        """How the actor came by the rights, for the audit trail."""
        proof = {"credential": self.credential}
        return {**proof, "rights_of": self.user} if self.account else proof

    def is_good_in(self, realm: Realm) -> bool:
        """Whether the credential may be used in the realm at all."""
        return self.directory == realm.directory and self.realm in (None, realm.name)

    def principal(self, realm: Realm, system: System) -> Principal:
        """The caller as the realm spells it."""
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
        """The caller's own question, with the groups that came with the request."""
        groups = tuple(system.spelled(Principal(GROUP, name)) for name in self.groups)
        question_request = Request(self.principal(realm, system), operation, target, now)
        return replace(question_request, groups=groups) if groups else question_request


SYSTEM = Actor("system", credential="system")
"""What acts when nobody calls: first start, moves in time. It asks nothing and is audited."""
