"""DataHub's GraphQL without a socket: real routes, real decision service, real store in a file.

Root is `datahub`. Users are ana, bob and cid; the group staff has bob by its native memberships;
eve has no memberships. Callers are named as in the directory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lakewarden.http.exchange import Exchange, Reply, Services
from lakewarden.kernel.change import StatementRemoved
from lakewarden.kernel.entity import Entity
from lakewarden.service import realms
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store
from lakewarden.systems.datahub.http.graphql.routes import routes
from lakewarden.systems.datahub.settings import DataHubSettings
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Write
from tests.http.prepared import prepared, served
from tests.systems.datahub.http.views import configure

REALM = "datahub"
ROOT = "datahub"
DOCUMENTS = Path(__file__).parent / "documents"

Json = dict[str, Any]


def user(name: str) -> str:
    return f"urn:li:corpuser:{name}"


def group(name: str) -> str:
    return f"urn:li:corpGroup:{name}"


def role(name: str) -> str:
    return f"urn:li:dataHubRole:{name}"


class Wire:
    """The server; `ask` sends one document and returns the response."""

    def __init__(self, folder: Path) -> None:
        self._stack, self._folder = ExitStack(), folder
        self._builders: tuple[Callable[[Wire], object], ...] = ()
        if not (folder / "store").exists():
            prepared(folder, __name__, _create_realm)
        self._open()
        self.services = Services(page_rows=100)
        self.existence = False
        self.credential = "simple"
        self.routes = {route.path: route for route in routes()}

    def _open(self) -> None:
        self.store, self.service = served(self._folder)
        self._stack.enter_context(self.store)

    def built(self, build: Callable[[Wire], object]) -> Wire:
        """The server with the results of `build`: created once per process, and then copied.

        Only for a server without other contents, and with an unchanged service.
        """
        self._builders = (*self._builders, build)

        def make(fresh: Path) -> None:
            with Wire(fresh) as one:
                for builder in self._builders:
                    builder(one)

        self._stack.close()
        kind = tuple((each.__module__, each.__qualname__) for each in self._builders)
        prepared(self._folder, kind, make)
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

    def configure(self, **options: bool | str | tuple[str, ...]) -> None:
        """Changes the operator's configuration."""
        self.services = configure(self.service, REALM, self.services, options)

    def close(self) -> None:
        """Removes the grants to everybody from the first start."""
        defaults = self.service.state.realm(REALM).system.model.defaults
        gone = [StatementRemoved(str(one["id"])) for one in defaults if one.get("editable")]
        known = self.service.state.realm(REALM).matrix.snapshot.table.statements
        there = [one for one in gone if one.id in known]
        self.service.write(SYSTEM, lambda transaction: transaction.change(REALM, *there))

    def put(self, type: str, urn: str, aspect: str, value: Json | None) -> None:
        """Writes an aspect without authorization."""

        def task(transaction: WriteTransaction) -> None:
            aspects.write(transaction, REALM, [Write(Entity(type, urn), aspect, value)], user(ROOT))

        self.service.write(SYSTEM, task)

    def aspects(self, type: str, urn: str) -> dict[str, Json]:
        """The aspects of an entity that the other APIs would read."""
        entity = Entity(type, urn)
        with self.service.reading() as reading:
            found = aspects.read(reading, self.service.state.realm(REALM), [entity])
        return {name: aspect.value for name, aspect in found.get(entity, {}).items()}

    def audit_rows(self) -> list[Json]:
        """The audit trail."""
        with self.service.reading() as reading:
            return [json.loads(row.body) for row in reading.audit()]

    def audit(self) -> list[tuple[str, ...]]:
        """The audit trail: actor, action, object, outcome."""
        keys = ("actor", "operation", "target", "outcome")
        return [tuple(row.get(key, "") for key in keys) for row in self.audit_rows()]

    def send(
        self, body: object, by: str = ROOT, path: str = "/api/graphql", groups: tuple[str, ...] = ()
    ) -> Reply:
        """One request with any body; returns the raw reply."""
        exchange = Exchange(
            method="POST",
            path=path,
            params={},
            query={},
            headers={},
            body=body if isinstance(body, bytes) else json.dumps(body).encode(),
            actor=Actor(by, groups=groups, credential=self.credential, wire="datahub"),
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
        return self.routes[path].handler(exchange)

    def ask(self, query: str, by: str = ROOT, **variables: object) -> Json:
        """Sends one document; returns the response."""
        return self.answer({"query": query, "variables": variables}, by)

    def answer(self, body: Json, by: str = ROOT) -> Json:
        """The response to a body with more members than a document and its variables."""
        reply = self.send(body, by)
        assert reply.status == 200, reply.body
        answer: Json = json.loads(reply.body)
        return answer

    def good(self, query: str, by: str = ROOT, **variables: object) -> Any:
        """The value of the one field of a document."""
        answer = self.ask(query, by, **variables)
        assert "errors" not in answer, answer
        (value,) = answer["data"].values()
        return value

    def bad(self, query: str, by: str = ROOT, **variables: object) -> tuple[int, str]:
        """The code and the type of a document's only error."""
        (error,) = self.ask(query, by, **variables)["errors"]
        extensions = error["extensions"]
        assert set(extensions) == {"code", "type", "classification"}
        assert extensions["classification"] == "DataFetchingException", error
        return extensions["code"], extensions["type"]


def _create_realm(folder: Path) -> None:
    """Creates the realm with its people, in its own store."""
    with open_store(f"sqlite:///{folder}/store") as store:
        service = DecisionService(store)
        service.open()
        service.write(
            SYSTEM, lambda transaction: realms.establish(transaction, Realm(REALM, "datahub"))
        )
        service.write(
            SYSTEM, lambda transaction: aspects.write(transaction, REALM, _people(), user(ROOT))
        )


def _people() -> Iterator[Write]:
    for name in ("ana", "bob", "cid", ROOT):
        about = {"active": True, "email": f"{name}@x"}
        yield Write(Entity("corpuser", user(name)), "corpUserInfo", about)
    yield Write(Entity("corpGroup", group("staff")), "corpGroupInfo", {"displayName": "Staff"})
    groups = {"nativeGroups": [group("staff")]}
    yield Write(Entity("corpuser", user("bob")), "nativeGroupMembership", groups)


def document(name: str) -> str:
    """A document of the folder `documents`."""
    return (DOCUMENTS / f"{name}.graphql").read_text(encoding="utf-8")


FORBIDDEN = (403, "UNAUTHORIZED")
NOT_FOUND = (404, "NOT_FOUND")
BAD = (400, "BAD_REQUEST")
CONFLICT = (409, "CONFLICT")
