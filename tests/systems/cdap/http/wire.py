"""A CDAP server without a socket: real routes, real decision service, real store in a file.

Every request passes through the server's own routing; only HTTP itself and authentication are
left out: tests pass the caller. Grants are made over the wire too, by the authorization admin.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from lakewarden.app.routing import RouteMatch, Table
from lakewarden.http.exchange import Exchange, Reply, Services
from lakewarden.kernel.change import MembershipChanged, PrincipalChanged
from lakewarden.kernel.principal import MASTER, SERVICE_ADMINS, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.names.canonical import split_path
from lakewarden.service import realms
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store
from lakewarden.store.secrets import Keys, new_key
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import Cdap
from lakewarden.systems.cdap.settings import (
    CdapAuthorization,
    CdapLimits,
    CdapSecurity,
    CdapSettings,
)
from tests.http.prepared import prepared, served

REALM: Final = "cdap"

ADMIN: Final = "admin"
"""The authorization admin, who manages grants and roles, and has no other permissions."""

BOSS: Final = "boss"
"""The user with all permissions that the tests need."""

RUNNER: Final = "platform"
"""The master user."""

POWERS: Final = ((ADMIN, SERVICE_ADMINS), (RUNNER, MASTER))

Json = dict[str, Any]


@cache
def _table() -> Table:
    """The routes of the dialect, which is stateless."""
    return Table([Cdap()])


class Wire:
    """The server; `ask` sends one request and returns status and body.

    An existing store in the folder is served as it is. `profile` is the realm's model,
    `settings` are its settings; `bare`: it has neither admin nor master.
    """

    def __init__(
        self,
        folder: Path,
        *,
        profile: str = "cdap",
        settings: Mapping[str, str] | None = None,
        options: CdapSettings | None = None,
        keys: Iterable[str] | None = None,
        bare: bool = False,
    ) -> None:
        self._stack = ExitStack()
        self._folder, self._profile, self._settings = folder, profile, dict(settings or {})
        if not (folder / "store").exists():
            known = dict(settings or {})
            realm, powers = Realm(REALM, profile, settings=known), () if bare else POWERS
            kind = (__name__, profile, *sorted(known.items()), bare)
            prepared(folder, kind, lambda fresh: _make(fresh, realm, powers))
        self._open()
        self.table = _table()
        (self.dialect,) = self.table.dialects
        sealing = Keys([new_key()] if keys is None else list(keys))
        self.services = Services(sealing=sealing, systems={"cdap": options or CdapSettings()})

    def _open(self) -> None:
        self.store, self.service = served(self._folder)
        self._stack.enter_context(self.store)

    def built(self, build: Callable[[Wire], object]) -> Wire:
        """The server with the results of `build`: created once per process, and then copied.

        Only for a server without earlier requests, and with an unchanged service.
        """

        def make(fresh: Path) -> None:
            with Wire(fresh, profile=self._profile, settings=self._settings) as one:
                build(one)

        known = (self._profile, *sorted(self._settings.items()))
        self._stack.close()
        prepared(self._folder, (build.__module__, build.__qualname__, known), make)
        self._open()
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        user: str = BOSS,
        groups: tuple[str, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request with a raw body; `path` is below `/v3` unless it begins with `/`."""
        parts = urlsplit(path if path.startswith("/") else f"/v3/{path}")
        exchange: Exchange | None = None
        try:
            segments = split_path(parts.path, encoded_slash=True)
            found = self.table.find(method, segments, self.service.state)
            if not isinstance(found, RouteMatch):
                return self.dialect.missing(method, parts.path, found.allowed)
            query = parse_qs(parts.query, keep_blank_values=True)
            exchange = Exchange(
                method=method,
                path=parts.path,
                params=found.params,
                query={name: tuple(values) for name, values in query.items()},
                headers={name.lower(): value for name, value in (headers or {}).items()},
                body=body,
                actor=Actor(user, groups=groups, credential="simple", wire="cdap"),
                realm=REALM,
                state=self.service.state,
                now=self.service.clock(),
                service=self.service,
                services=self.services,
            )
            return found.route.handler(exchange)
        except Exception as error:  # noqa: BLE001 — like the server
            return self.dialect.failed(exchange, error)

    def ask(self, method: str, path: str, body: object = None, **who: Any) -> tuple[int, Any]:
        """One request; the status, and the body: parsed if it is JSON, otherwise as text.

        A body in bytes is sent unchanged.
        """
        sent = b"" if body is None else body if isinstance(body, bytes) else _json(body)
        reply = self.send(method, path, sent, **who)
        if reply.content_type == "application/json":
            return reply.status, json.loads(reply.body)
        return reply.status, reply.body.decode()

    def good(self, method: str, path: str, body: object = None, **who: Any) -> Any:
        """One successful request; returns its body."""
        status, answer = self.ask(method, path, body, **who)
        assert status == 200, (status, answer)
        return answer

    def status(self, method: str, path: str, body: object = None, **who: Any) -> int:
        """The status of one request."""
        return self.ask(method, path, body, **who)[0]

    def grant(self, user: str, id: str, *actions: str, kind: str = "USER") -> None:
        """Grants a user actions on an id, which may have wildcards; all four by default."""
        body = _privileges(user, id, actions or ("READ", "WRITE", "EXECUTE", "ADMIN"), kind)
        self.good("POST", "security/authorization/privileges/grant", body, user=ADMIN)

    def revoke(self, user: str, id: str, *actions: str, kind: str = "USER") -> None:
        """Revokes a user's actions on an id; all four by default."""
        body = _privileges(user, id, actions or ("READ", "WRITE", "EXECUTE", "ADMIN"), kind)
        self.good("POST", "security/authorization/privileges/revoke", body, user=ADMIN)

    def reopened(self) -> None:
        """From here on, another process responds, which has loaded everything from the store."""
        self.service = DecisionService(self.store)
        self.service.open()


def limit(wire: Wire, limits: CdapLimits) -> None:
    """Sets the limits of requests and of stored data."""
    options = wire.services.of(CdapSettings).model_copy(update={"limits": limits})
    wire.services = replace(wire.services, systems={"cdap": options})


def switched(*, security: bool = True, authorization: bool = True) -> CdapSettings:
    """The settings with a switch off."""
    own = CdapAuthorization(enabled=authorization)
    return CdapSettings(security=CdapSecurity(enabled=security, authorization=own))


def _json(body: object) -> bytes:
    return json.dumps(body).encode()


def _privileges(user: str, id: str, actions: Iterable[str], kind: str) -> Json:
    return {
        "authorizable": cdap.to_authorizable(cdap.parse_pattern_id(id)),
        "principal": {"name": user, "type": kind},
        "actions": list(actions),
    }


def _make(folder: Path, realm: Realm, powers: Iterable[tuple[str, Principal]]) -> None:
    with open_store(f"sqlite:///{folder}/store") as store:
        service = DecisionService(store)
        service.open()
        service.write(SYSTEM, lambda transaction: _found(transaction, realm, powers))


def _found(
    transaction: WriteTransaction, realm: Realm, powers: Iterable[tuple[str, Principal]]
) -> None:
    realms.establish(transaction, realm)
    for name, power in powers:
        person = Principal(USER, name)
        row = MembershipRow(person, power)
        transaction.change(REALM, PrincipalChanged(person, True), MembershipChanged(row, True))
