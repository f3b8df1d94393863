"""A Gravitino server without a socket: real routes, real decision service, real store in a file.

Every request passes through the server's own routing; only HTTP itself and authentication are
left out: tests pass the caller.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from lakewarden.app.routing import RouteMatch, Table
from lakewarden.http.exchange import Exchange, Reply, Services
from lakewarden.kernel.change import MembershipChanged, PrincipalChanged
from lakewarden.kernel.principal import SERVICE_ADMINS, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.names.canonical import split_path
from lakewarden.service import realms
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store
from lakewarden.store.secrets import Keys, new_key
from lakewarden.systems.gravitino.http import Gravitino
from lakewarden.systems.gravitino.settings import GravitinoSettings
from tests.http.prepared import prepared, served

REALM = "gravitino"
ADMIN = "admin"

Json = dict[str, Any]


@cache
def _table() -> Table:
    """The routes of the dialect, which is stateless."""
    return Table([Gravitino()])


class Wire:
    """The server; `ask` sends one request and returns status and body.

    An existing store in the folder is served as it is.
    """

    def __init__(
        self,
        folder: Path,
        *,
        mode: str = "seed",
        options: GravitinoSettings | None = None,
        url: str = "",
    ) -> None:
        self._stack = ExitStack()
        self._folder, self._mode = folder, mode
        self.url = url or f"sqlite:///{folder}/store"
        if not url and not (folder / "store").exists():
            prepared(folder, (__name__, mode), lambda fresh: _make(fresh, mode))
        self._open(url)
        if REALM not in self.service.state.realms:
            self.service.write(SYSTEM, lambda transaction: _found(transaction, mode))
        self.table = _table()
        (self.dialect,) = self.table.dialects
        self.services = Services(
            sealing=Keys([new_key()]), systems={"gravitino": options or GravitinoSettings()}
        )

    def _open(self, url: str = "") -> None:
        self.store, self.service = served(self._folder, url)
        self._stack.enter_context(self.store)

    def built(self, build: Callable[[Wire], object]) -> Wire:
        """The server with the results of `build`: created once per process, and then copied.

        Only for a server over a file, with the usual options and without earlier requests.
        """

        def make(fresh: Path) -> None:
            with Wire(fresh, mode=self._mode) as one:
                build(one)

        self._stack.close()
        prepared(self._folder, (build.__module__, build.__qualname__, self._mode), make)
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

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        user: str = ADMIN,
        groups: tuple[str, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Json]:
        """One request; `path` is below `/api` unless it begins with a slash."""
        sent = b"" if body is None else json.dumps(body).encode()
        reply = self.send(method, path, sent, user=user, groups=groups, headers=headers)
        return reply.status, json.loads(reply.body) if reply.body else {}

    def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        user: str = ADMIN,
        groups: tuple[str, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request with a raw body; returns the raw reply."""
        parts = urlsplit(path if path.startswith("/") else f"/api/{path}")
        exchange: Exchange | None = None
        try:
            segments = split_path(parts.path, encoded_slash=True)
            found = self.table.find(method, segments, self.service.state)
            if not isinstance(found, RouteMatch):
                return self.dialect.missing(method, parts.path, found.allowed)
            actor = Actor(user, groups=groups, credential="simple", wire="gravitino")
            query = parse_qs(parts.query, keep_blank_values=True)
            exchange = Exchange(
                method=method,
                path=parts.path,
                params=found.params,
                query={name: tuple(values) for name, values in query.items()},
                headers=dict(headers or {}),
                body=body,
                actor=actor,
                realm=REALM,
                state=self.service.state,
                now=self.service.clock(),
                service=self.service,
                services=self.services,
            )
            return found.route.handler(exchange)
        except Exception as error:  # noqa: BLE001 — like the server
            return self.dialect.failed(exchange, error)

    def good(self, method: str, path: str, body: object = None, **who: Any) -> Json:
        """One successful request; returns its body."""
        status, answer = self.ask(method, path, body, **who)
        assert status == 200, answer
        assert answer["code"] == 0, answer
        return answer

    def bad(self, method: str, path: str, body: object = None, **who: Any) -> tuple[int, int, str]:
        """One failed request: status, code and type."""
        status, answer = self.ask(method, path, body, **who)
        assert answer["code"] != 0, answer
        assert set(answer) == {"code", "type", "message"}
        return status, answer["code"], answer["type"]


def _make(folder: Path, mode: str) -> None:
    with open_store(f"sqlite:///{folder}/store") as store:
        service = DecisionService(store)
        service.open()
        service.write(SYSTEM, lambda transaction: _found(transaction, mode))


def _found(transaction: WriteTransaction, mode: str) -> None:
    realms.establish(transaction, Realm(REALM, "gravitino", settings={"mode": mode}))
    admin = Principal(USER, ADMIN)
    row = MembershipRow(admin, SERVICE_ADMINS)
    transaction.change(REALM, PrincipalChanged(admin, True), MembershipChanged(row, True))
