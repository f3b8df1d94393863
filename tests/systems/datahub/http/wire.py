"""A DataHub server without a socket: real routes, real decision service, real store in a file.

Every request passes through the server's own routing; only HTTP itself and authentication are
left out: tests pass the caller.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, quote, urlsplit

from lakewarden.app.routing import RouteMatch, Table
from lakewarden.http.exchange import Exchange, Reply, Services
from lakewarden.kernel.change import MembershipChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import ROLE, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.names.canonical import split_path
from lakewarden.service import realms
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.audit import AuditRow
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http import DataHub
from lakewarden.systems.datahub.settings import DataHubSettings
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Write
from tests.http.prepared import prepared, served

REALM = "datahub"
ADMIN = "admin"
CLOSED = "closed"


@cache
def _table() -> Table:
    """The routes of the dialect, which is stateless."""
    return Table([DataHub()])


class Wire:
    """The server; `ask` sends one request and returns status and body.

    The realm starts with the policies of `bootstrap`; closed: only ADMIN has permissions.
    """

    def __init__(
        self,
        folder: Path,
        *,
        options: DataHubSettings | None = None,
        bootstrap: str = CLOSED,
        existence: bool = False,
    ) -> None:
        self._stack = ExitStack()
        if not (folder / "store").exists():
            prepared(folder, (__name__, bootstrap), lambda fresh: _create_realm(fresh, bootstrap))
        self.store, self.service = served(folder)
        self._stack.enter_context(self.store)
        self.table = _table()
        (self.dialect,) = self.table.dialects
        self.services = Services(systems={"datahub": options or DataHubSettings()})
        self.existence = existence

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
        user: str = ADMIN,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request with a raw body; returns the raw reply."""
        parts = urlsplit(path)
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
                headers=dict(headers or {}),
                body=body,
                actor=Actor(user, credential="simple", wire="datahub"),
                realm=REALM,
                state=self.service.state,
                now=self.service.clock(),
                service=self.service,
                # Every caller in a test exists: it need not be stored first.
                services=replace(
                    self.services,
                    systems={
                        "datahub": self.services.of(DataHubSettings).model_copy(
                            update={"existence": self.existence}
                        )
                    },
                ),
            )
            return found.route.handler(exchange)
        except Exception as error:  # noqa: BLE001 — like the server
            return self.dialect.failed(exchange, error)

    def ask(
        self, method: str, path: str, body: object = None, user: str = ADMIN
    ) -> tuple[int, Any]:
        """One request; status and body."""
        sent = b"" if body is None else json.dumps(body).encode()
        reply = self.send(method, path, sent, user=user)
        return reply.status, json.loads(reply.body) if reply.body else None

    def good(self, method: str, path: str, body: object = None, user: str = ADMIN) -> Any:
        """One successful request; returns its body."""
        status, answer = self.ask(method, path, body, user)
        assert status in (200, 204), answer
        return answer

    def bad(self, method: str, path: str, body: object = None, user: str = ADMIN) -> int:
        """One failed request; returns its status. Checks that the body reveals nothing."""
        status, answer = self.ask(method, path, body, user)
        assert status >= 400, answer
        assert set(answer) == {"exceptionClass", "message", "status"}
        assert answer["status"] == status
        return status

    def put(self, *writes: tuple[str, str, dict[str, Any]]) -> None:
        """Writes aspects without authorization: URN, name, value."""
        told = [Write(_entity(urn), name, value) for urn, name, value in writes]
        self.service.write(
            SYSTEM,
            lambda transaction: aspects.write(transaction, REALM, told, "urn:li:corpuser:system"),
        )

    def grant(self, id: str, *privileges: str, to: str, **criteria: list[str]) -> None:
        """A metadata policy for one user, with criteria by field."""
        filter = [{"field": f, "condition": "EQUALS", "values": v} for f, v in criteria.items()]
        value: dict[str, Any] = {
            "displayName": id,
            "description": "",
            "type": "METADATA",
            "state": "ACTIVE",
            "privileges": list(privileges),
            "actors": {"users": [f"urn:li:corpuser:{to}"], "resourceOwners": False},
            "editable": True,
        }
        if filter:
            value["resources"] = {"filter": {"criteria": filter}}
        self.put((f"urn:li:dataHubPolicy:{id}", "dataHubPolicyInfo", value))

    def aspects(self, urn: str) -> dict[str, Any]:
        """The aspects of an entity, as the administrator reads them."""
        body = self.good("GET", f"/entitiesV2/{quote(urn, safe='')}")
        return {name: one["value"] for name, one in body["aspects"].items()}

    def audit(self) -> list[AuditRow]:
        """The audit trail so far."""
        with self.service.reading() as reading:
            return list(reading.audit())


def proposal(urn: str, aspect: str, value: object, change: str = "UPSERT") -> dict[str, Any]:
    """A change proposal in the clients' format."""
    kind = "application/json-patch+json" if change == "PATCH" else "application/json"
    return {
        "entityType": urn.split(":")[2],
        "entityUrn": urn,
        "changeType": change,
        "aspectName": aspect,
        "aspect": {"contentType": kind, "value": json.dumps(value)},
        "systemMetadata": {"lastObserved": 7, "runId": "r1"},
    }


def _entity(urn: str) -> Entity:
    return datahub.parse("", urn)


def _create_realm(folder: Path, bootstrap: str) -> None:
    with open_store(f"sqlite:///{folder}/store") as store:
        service = DecisionService(store)
        service.open()
        service.write(SYSTEM, lambda transaction: _found(transaction, bootstrap))


def _found(transaction: WriteTransaction, bootstrap: str) -> None:
    realms.establish(transaction, Realm(REALM, "datahub", settings={"bootstrap": bootstrap}))
    admin = Principal(USER, f"urn:li:corpuser:{ADMIN}")
    role = Principal(ROLE, "urn:li:dataHubRole:Admin")
    transaction.change(REALM, MembershipChanged(MembershipRow(admin, role), True))
