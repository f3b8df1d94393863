"""Small states for requests, and the dialect as the server calls it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lakewarden import models
from lakewarden.http.authzen import discovery
from lakewarden.http.authzen.dialect import AuthZen
from lakewarden.http.exchange import Exchange, Reply, Services
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import ROLE, SERVICE_ADMINS, USER, Principal
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
)
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.defaults import built_in
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.service.state import People, RealmState, State
from lakewarden.service.system import System, load_system, of_model

NOW = 1_000.0
REVISION = 7

RECORDS = Path(__file__).with_name("records.toml").read_text("utf-8")

ASK = {"id": "ask", "privileges": ["ASK"], "to": ["user:gate"], "on": "server:lakewarden"}

Body = Mapping[str, Any]


def realm(
    name: str,
    system: System,
    facts: Facts,
    *,
    directory: str = "main",
    spellings: Mapping[str, str] | None = None,
) -> RealmState:
    """One compiled realm."""
    declared = Realm(name, system.model.name, directory, spellings=spellings or {})
    snapshot = compile(facts, system.model, system.spelling, now=NOW, revision=REVISION)
    return RealmState(declared, system, Matrix(snapshot), People())


def control(*statements: Mapping[str, object]) -> RealmState:
    """The control realm, with the administrator `admin`, and further statements."""
    system = load_system("control")
    given = read_statements(statements or [ASK], system.model, system.spelling, "statement")
    rows = Facts(
        principals=[Principal(USER, "admin")],
        memberships=[MembershipRow(Principal(USER, "admin"), SERVICE_ADMINS)],
        statements=(*built_in(system), *given),
    )
    return realm(CONTROL, system, rows)


def state(*realms: RealmState, revision: int = REVISION) -> State:
    """A state of these realms; adds a control realm if there is none."""
    named = {found.realm.name: found for found in realms}
    named.setdefault(CONTROL, control())
    return State(revision=revision, realms=named)


def facts(
    system: System,
    entities: Iterable[str],
    statements: Iterable[Mapping[str, object]],
    *,
    users: Iterable[str] = (),
    members: Iterable[tuple[str, str]] = (),
    owners: Iterable[tuple[str, str]] = (),
    attributes: Iterable[tuple[str, str, str]] = (),
) -> Facts:
    """Rows, from texts."""
    found = [system.entity(text) for text in entities]
    return Facts(
        entities=[EntityRow(entity, system.spelling.parent(entity)) for entity in found],
        principals=[Principal(USER, name) for name in users],
        memberships=[MembershipRow(system.principal(m), system.principal(of)) for m, of in members],
        owners=[OwnerRow(system.entity(e), system.principal(who), "") for e, who in owners],
        attributes=[AttributeRow(system.entity(e), name, value) for e, name, value in attributes],
        statements=read_statements(statements, system.model, system.spelling, "statement"),
    )


def records() -> RealmState:
    """The world of the certification scenario."""
    system = of_model(models.loads(RECORDS, "records.toml"))
    rows = facts(
        system,
        ["record:record-1", "record:record-2", "user:alice", "user:bob"],
        [
            {"id": "readers", "privileges": ["READ"], "to": ["user:alice", "user:bob"]},
            {"id": "writers", "privileges": ["WRITE"], "to": ["user:alice"]},
        ],
        users=["alice", "bob"],
        attributes=[
            ("record:record-1", "status", "active"),
            ("record:record-2", "status", "archived"),
            ("user:bob", "role", "admin"),
        ],
    )
    return realm("records", system, rows)


def lake(name: str = "gravitino", *, metalake: str = "lk") -> RealmState:
    """A lake with two tables: ana reads one by a role, ben owns the other, eve is denied."""
    system = load_system("gravitino")
    schema = f"{metalake}:c.s"
    entities = [
        f"metalake:{metalake}",
        f"catalog:{metalake}:c",
        f"schema:{schema}",
        f"table:{schema}.t",
        f"table:{schema}.own",
    ]
    users = ["ana", "ben", "eve", "gate"]
    rows = facts(
        system,
        entities,
        [
            {
                "id": "use",
                "privileges": ["USE_CATALOG", "USE_SCHEMA"],
                "to": [f"role:{metalake}:readers", "user:ben", "user:eve"],
                "on": f"catalog:{metalake}:c",
            },
            {
                "id": "read",
                "privileges": ["SELECT_TABLE"],
                "to": [f"role:{metalake}:readers", "user:eve"],
                "on": f"schema:{schema}",
            },
            {
                "id": "not-eve",
                "effect": "deny",
                "privileges": ["SELECT_TABLE"],
                "to": ["user:eve"],
                "on": f"table:{schema}.t",
            },
        ],
        users=users,
        members=[
            *((f"user:{user}", f"members:{metalake}") for user in users),
            ("user:ana", f"role:{metalake}:readers"),
            ("group:staff", f"role:{metalake}:readers"),
        ],
        owners=[(f"table:{schema}.own", "ben")],
    )
    stored = [*rows.principals, Principal(ROLE, f"{metalake}:readers"), Principal("group", "staff")]
    return realm(name, system, Facts(**{**_rows(rows), "principals": stored}))


def _rows(rows: Facts) -> dict[str, Any]:
    return {name: getattr(rows, name) for name in Facts.__dataclass_fields__}


class Asking:
    """The dialect over one state, called like the server calls it."""

    def __init__(self, state: State, user: str = "gate", **actor: Any) -> None:
        self.state = state
        self.actor = Actor(user, **{"credential": "token:1", **actor})
        self.services = Services(public_url="https://pdp.test")
        self.dialect = AuthZen()

    def as_(self, user: str, **actor: Any) -> Asking:
        """The same dialect, called by another user."""
        other = Asking(self.state, user, **actor)
        other.dialect = self.dialect
        return other

    def exchange(
        self, body: bytes = b"", *, realm: str = CONTROL, params: Mapping[str, str] | None = None
    ) -> Exchange:
        """The request in the form that a handler receives."""
        return Exchange(
            method="POST",
            path="",
            params=params or {},
            query={},
            headers={},
            body=body,
            actor=self.actor,
            realm=realm,
            state=self.state,
            now=NOW,
            service=_no_plane(),
            services=self.services,
        )

    def sent(self, path: str, body: bytes, *, realm: str = CONTROL) -> Reply:
        """The reply to a body of bytes; errors become replies as in the server."""
        exchange = self.exchange(body, realm=realm)
        try:
            return self._handler(path)(exchange)
        except Exception as error:  # noqa: BLE001 — as the server does
            return self.dialect.failed(exchange, error)

    def _handler(self, path: str) -> Callable[[Exchange], Reply]:
        return next(route.handler for route in self.dialect.routes() if route.path == path)

    def post(self, path: str, body: Body, *, realm: str = CONTROL) -> tuple[int, Any]:
        """Status and document of the reply."""
        reply = self.sent(path, json.dumps(body).encode(), realm=realm)
        return reply.status, json.loads(reply.body)

    def evaluation(self, body: Body, *, realm: str = CONTROL) -> Any:
        """The document of a successful evaluation."""
        status, found = self.post(discovery.EVALUATION, body, realm=realm)
        assert status == 200, found
        return found

    def decides(self, body: Body, *, realm: str = CONTROL) -> bool:
        """The decision of an evaluation."""
        found = self.evaluation(body, realm=realm)["decision"]
        assert isinstance(found, bool)
        return found

    def evaluations(self, body: Body, *, realm: str = CONTROL) -> list[Any]:
        """The answers of an evaluations body."""
        status, found = self.post(discovery.EVALUATIONS, body, realm=realm)
        assert status == 200, found
        assert set(found) == {"evaluations"}
        answers: list[Any] = found["evaluations"]
        return answers

    def search(self, what: str, body: Body, *, realm: str = CONTROL) -> Any:
        """The document of a successful search."""
        status, found = self.post(f"/access/v1/search/{what}", body, realm=realm)
        assert status == 200, found
        return found


def _no_plane() -> DecisionService:
    """Returns None: no handler writes, or reads the store unless it accepted a stale state."""
    return None  # type: ignore[return-value]


def question(who: str, action: str, on: str, /, **more: Any) -> dict[str, Any]:
    """An evaluation of a user's question about `type/id`; `more` are further members."""
    type, _, id = on.partition("/")
    return {
        "subject": {"type": "user", "id": who},
        "action": {"name": action},
        "resource": {"type": type, "id": id},
        **more,
    }


def ids(found: Any) -> Sequence[str]:
    """The ids, or names, of a search's results."""
    return [one.get("id", one.get("name")) for one in found["results"]]
