"""The rights of a caller to ask, by the control realm.

Everybody may ask about themselves; asking about others takes the enforcement point's right,
and so does searching for subjects. The right is the caller's own: nothing in a body gives it.

| may the caller                      | then it learns                                        |
|-------------------------------------|-------------------------------------------------------|
| not have it explained               | no statements                                         |
| have it explained                   | for an allow, the statements about the target and     |
|                                     | what lies above it                                    |
| and list entities and statements    | all statements that decide, also for a deny           |
| list entities                       | whether the resource is stored                        |
"""

from __future__ import annotations

from enum import IntEnum

from lakewarden.http.authzen.errors import Forbidden
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.names.canonical import quoted
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.service.state import RealmState, State


class Disclosure(IntEnum):
    """Which statements an answer discloses to a caller."""

    NONE = 0
    ALLOWING = 1
    """The statements of an allow, about the target and its ancestors."""
    ALL = 2

    def covers(self, allow: bool) -> bool:
        """Whether the statements of an allow, or of a denial, are disclosed."""
        return self is Disclosure.ALL or (allow and self is Disclosure.ALLOWING)


Rights = dict[tuple[str, str], bool]
"""By operation of the control realm, and realm: whether one caller may."""


def are_alike(first: State, second: State) -> bool:
    """Whether the control realm decides the same at both states, for every caller.

    Compares all inputs of the guard: its compiled state, the people, the realms' declarations.
    """
    controls = first.realms.get(CONTROL), second.realms.get(CONTROL)
    if controls[0] is None or controls[1] is None:
        return False
    same = controls[0].matrix is controls[1].matrix and first.people is second.people
    return same and _declared(first) == _declared(second)


def _declared(state: State) -> dict[str, Realm]:
    return {
        name: state_of_realm.realm
        for realms in (state.realms, state.closed)
        for name, state_of_realm in realms.items()
    }


class Caller:
    """A caller at one state, for all its requests at that state.

    `rights` are decisions of the control realm that are already known; more are added.
    """

    def __init__(self, state: State, actor: Actor, rights: Rights) -> None:
        self._state = state
        self._actor = actor
        self._rights = rights
        self._realms: tuple[RealmState, ...] | None = None
        self.name = (actor.directory, actor.user)
        self.groups = actor.groups

    def may(self, operation: str, realm: str, now: float) -> bool:
        """Whether the caller may, as the control realm decides."""
        key = (operation, realm)
        allowed = self._rights.get(key)
        if allowed is None:
            question = control.scoped(operation, realm)
            allowed = self._rights[key] = control.is_allowed(
                self._state, self._actor, *question, now
            )
        return allowed

    def may_ask(self, realm: str, now: float) -> bool:
        """Whether the caller may ask anything in the realm."""
        operations = ("decision.ask_own", "decision.ask", "subject.search")
        return any(self.may(operation, realm, now) for operation in operations)

    def disclosure(self, realm: str, now: float, *, own: bool) -> Disclosure:
        """The statements disclosed to the caller, in questions about itself or about others."""
        explains = own and self.may("explain.ask_own", realm, now)
        if not explains and not self.may("explain.ask", realm, now):
            return Disclosure.NONE
        sees = self.sees(realm, now) and self.may("statement.list", realm, now)
        return Disclosure.ALL if sees else Disclosure.ALLOWING

    def sees(self, realm: str, now: float) -> bool:
        """Whether the caller may know what is stored in the realm."""
        return self.may("entity.list", realm, now)

    def realms(self, now: float) -> tuple[RealmState, ...]:
        """The realms that are searched for a type and id: those of the caller's directory.

        Realms in which the caller may ask nothing, and the control realm, are found by name only.
        """
        if self._realms is None:
            self._realms = tuple(
                realm
                for name, realm in sorted(self._state.realms.items())
                if name != CONTROL
                and self._actor.is_valid_in(realm.realm)
                and self.may_ask(name, now)
            )
        return self._realms

    def realm(self, name: str, now: float) -> RealmState:
        """The realm of that name; `Forbidden` if it is hidden or does not exist.

        Raises `RealmClosed` for a closed one.
        """
        if self._state.declared(name) is None or not self.may_ask(name, now):
            raise Forbidden(f"there is no realm {quoted(name)} that you may query")
        return self._state.realm(name)

    def own(self, realm: RealmState) -> Principal | None:
        """The caller in the realm's spelling; None if its credential is not valid there."""
        if not self._actor.is_valid_in(realm.realm):
            return None
        return self._actor.principal(realm.realm, realm.system)

    def rights_request(self, request: Request) -> Request:
        """The request for a right of the caller over lakewarden."""
        state, actor = self._state, self._actor
        return control.request(state, actor, request.operation, request.target, request.now)
