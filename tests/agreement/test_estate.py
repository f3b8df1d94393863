"""On the sample estate, all ways of asking agree, for every user, operation and entity.

A check's decision must agree with `list`, `who` and `explain`, with AuthZEN over HTTP, and with the
objects that a system's own API lets its user load and list. Every operation is tested; by day with
some users and entities of each type, nightly with all of them.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import pytest
from structlog.testing import capture_logs

from lakewarden.app.build import Application
from lakewarden.config.settings import load
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.explain import explain
from lakewarden.kernel.listing import listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.who import who
from lakewarden.service.state import RealmState
from lakewarden.systems.datahub.search.index import Index
from tests.app.asgi import AppClient, close, json_of
from tests.app.serving import PATIENT_LIMITS
from tests.sample import estate as estates

estate = estates.estate

REALMS: Final = ("gravitino", "datahub", "cdap")
ADMIN: Final = "admin"
BATCH: Final = 1_000
URN: Final = "urn:li:corpuser:"


class Share(NamedTuple):
    """The number of users and entities per type, and the frequency of explanations."""

    users: int
    entities: int
    explained: float


SOME: Final = Share(5, 4, 0.02)
ALL: Final = Share(10_000, 10_000, 0.2)
SHARES: Final = [
    pytest.param(SOME, id="some"),
    pytest.param(ALL, id="all", marks=pytest.mark.nightly),
]


@pytest.fixture(scope="module")
def server(estate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppClient]:
    """The demo's store, served like the demo serves it."""
    folder = tmp_path_factory.mktemp("agreed")
    for file in estate.glob("lakewarden.db*"):
        shutil.copy(file, folder)
    own = {"database": f"sqlite:///{folder}/lakewarden.db", "limits": PATIENT_LIMITS}
    application = Application(load(None, own, {}))
    with capture_logs():
        application.open()
        client = AppClient(application, asyncio.new_event_loop())
        yield client
        close(client)


class Question(NamedTuple):
    """A request, and a check's decision."""

    user: Principal
    operation: str
    entity: Entity
    allowed: bool


class Part:
    """Some users and entities of a realm, and the checks' decisions."""

    def __init__(self, state: RealmState, share: Share) -> None:
        self.state, self.share = state, share
        self.matrix: Matrix = state.matrix
        self.draw = random.Random(state.realm.name)
        snapshot = self.matrix.snapshot
        memberships = snapshot.coded.memberships
        stored = [memberships.principals[id] for id in memberships.stored]
        everybody = sorted(one for one in stored if one.kind == USER)
        self.users = self.some(everybody, share.users)
        self.entities: dict[str, list[Entity]] = {}
        for type in snapshot.coded.tree.kinds:
            found = [snapshot.coded.tree.entity(id) for id in snapshot.of_type(type)]
            if found:
                self.entities[type] = self.some(sorted(found), share.entities)

    def some(self, of: list[Any], count: int) -> list[Any]:
        return of if len(of) <= count else self.draw.sample(of, count)

    def questions(self) -> Iterator[tuple[str, str]]:
        """Every operation, with each stored type to which it applies."""
        for name, operation in self.state.system.model.operations.items():
            for type in self.entities:
                if operation.rule_or_none(type) is not None:
                    yield name, type

    def allowed(self, operation: str, type: str) -> dict[Entity, set[Principal]]:
        """By entity: the users whose check allows."""
        return {
            entity: {user for user in self.users if self.may(user, operation, entity)}
            for entity in self.entities[type]
        }

    def id(self, entity: Entity) -> int:
        found = self.matrix.snapshot.coded.tree.find(entity)
        assert found is not None
        return found

    def may(self, user: Principal, operation: str, entity: Entity) -> bool:
        return self.matrix.decide(Request(user, operation, entity, now=0.0)).allow


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("realm", REALMS)
def test_list_who_and_explain_say_what_a_check_decides(
    server: AppClient, realm: str, share: Share
) -> None:
    part = Part(server.service.state.realm(realm), share)
    verdicts = set()
    for operation, type in part.questions():
        allowed = part.allowed(operation, type)
        for user in part.users:
            found = listing(part.matrix, Request(user, operation, now=0.0), type=type)
            listed = {entity for entity in allowed if part.id(entity) in found}
            assert listed == {e for e, users in allowed.items() if user in users}, (user, operation)
        for entity, users in allowed.items():
            client = Request(Principal(USER, ""), operation, entity, now=0.0)
            assert who(part.matrix, client) & set(part.users) == users, (operation, entity)
        for entity in allowed:
            if part.draw.random() >= share.explained:
                continue
            user = part.draw.choice(part.users)
            json_of = explain(part.matrix, Request(user, operation, entity, now=0.0))
            assert bool(json_of) is (user in allowed[entity]), (user, operation, entity)
            verdicts.add(bool(json_of))
    assert verdicts == {True, False}


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("realm", REALMS)
def test_authzen_answers_what_a_check_decides(server: AppClient, realm: str, share: Share) -> None:
    part = Part(server.service.state.realm(realm), share)
    questions = [
        Question(user, operation, entity, user in users)
        for operation, type in part.questions()
        for entity, users in part.allowed(operation, type).items()
        for user in part.some(part.users, 2)
    ]
    for start in range(0, len(questions), BATCH):
        client = questions[start : start + BATCH]
        items = [
            {
                "subject": {"type": "user", "id": one.user.name.removeprefix(URN)},
                "action": {"name": one.operation},
                "resource": {"type": one.entity.type, "id": one.entity.name},
            }
            for one in client
        ]
        body = json.dumps({"evaluations": items}).encode()
        path = f"/r/{realm}/access/v1/evaluations"
        found = json_of(server.ask("POST", path, body, user=ADMIN))["evaluations"]
        pairs = zip(client, found, strict=True)
        assert [(one, f) for one, f in pairs if f["decision"] is not one.allowed] == []
    assert {one.allowed for one in questions} == {True, False}


def _nested(*kinds: str) -> Callable[[Entity], str]:
    """The path of a Gravitino object with parents of these kinds."""

    def path(entity: Entity) -> str:
        metalake, _, rest = entity.name.partition(":")
        parts = zip(kinds, rest.split("."), strict=True)
        return f"/api/metalakes/{metalake}" + "".join(f"/{k}/{quote(p)}" for k, p in parts)

    return path


def _urn(entity: Entity) -> str:
    return f"/openapi/v3/entity/{entity.type}/{quote(entity.name, safe='')}"


def _within(kind: str) -> Callable[[Entity], str]:
    """The path of an object in a namespace of CDAP."""

    def path(entity: Entity) -> str:
        namespace, _, name = entity.name.partition(".")
        return f"/v3/namespaces/{namespace}/{kind}/{name}"

    return path


LOADS: Final[Mapping[str, Mapping[tuple[str, str], Callable[[Entity], str]]]] = {
    "gravitino": {
        ("metalake.load", "metalake"): lambda entity: f"/api/metalakes/{entity.name}",
        ("catalog.load", "catalog"): _nested("catalogs"),
        ("schema.load", "schema"): _nested("catalogs", "schemas"),
        ("table.load", "table"): _nested("catalogs", "schemas", "tables"),
        ("fileset.load", "fileset"): _nested("catalogs", "schemas", "filesets"),
        ("topic.load", "topic"): _nested("catalogs", "schemas", "topics"),
        ("model.load", "model"): _nested("catalogs", "schemas", "models"),
        ("tag.load", "tag"): _nested("tags"),
        ("policy.load", "policy"): _nested("policies"),
        ("role.load", "role"): _nested("roles"),
        ("user.load", "user"): _nested("users"),
        ("group.load", "group"): _nested("groups"),
    },
    "datahub": {
        ("entity.read", type): _urn
        for type in ("chart", "container", "corpGroup", "dashboard", "dataset", "domain", "query")
    },
    "cdap": {
        ("dataset.get", "dataset"): _within("data/datasets"),
        ("application.get", "application"): _within("apps"),
        ("stream.get", "stream"): _within("streams"),
    },
}
"""By operation and type: the request that a system's own API answers with 200 if it is allowed."""


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("realm", REALMS)
def test_the_own_api_of_a_system_lets_load_what_a_check_allows(
    server: AppClient, realm: str, share: Share
) -> None:
    part = Part(server.service.state.realm(realm), share)
    seen = set()
    for (operation, type), path in LOADS[realm].items():
        for entity, users in part.allowed(operation, type).items():
            for user in part.users:
                answer = server.ask("GET", path(entity), user=user.name.removeprefix(URN))
                allowed = user in users
                assert answer.status in ((200,) if allowed else (403, 404)), (operation, answer)
                seen.add(allowed)
    assert seen == {True, False}


SEARCH: Final = """query ($t: EntityType!) {
  searchAcrossEntities(input: {types: [$t], query: "*", count: 1000}) {
    total searchResults { entity { urn } }
  }
}"""


def _lists_of_gravitino(client: AppClient, user: str) -> Iterator[tuple[str, str, set[str]]]:
    """By operation and type: the catalogs, and their contents, in a user's lists."""
    found = _named(client, "/api/metalakes", user, "metalakes")
    yield "metalake.load", "metalake", set(found)
    shown: dict[str, set[str]] = {type: set() for type in ("catalog", "schema", "table", "topic")}
    for metalake in found:
        top = f"/api/metalakes/{metalake}/catalogs"
        for catalog in _named(client, top, user):
            shown["catalog"].add(f"{metalake}:{catalog}")
            for schema in _named(client, f"{top}/{catalog}/schemas", user):
                shown["schema"].add(f"{metalake}:{catalog}.{schema}")
                for type in ("table", "topic"):
                    path = f"{top}/{catalog}/schemas/{schema}/{type}s"
                    names = _named(client, path, user)
                    shown[type] |= {f"{metalake}:{catalog}.{schema}.{name}" for name in names}
    for type, full in shown.items():
        yield f"{type}.load", type, full


def _named(client: AppClient, path: str, user: str, key: str = "identifiers") -> list[str]:
    answer = client.ask("GET", path, user=user)
    assert answer.status in (200, 403, 404), answer
    return [one["name"] for one in json_of(answer)[key]] if answer.status == 200 else []


def _lists_of_datahub(client: AppClient, user: str) -> Iterator[tuple[str, str, set[str]]]:
    """By operation and type: the hits of a user's search."""
    for type in ("dataset", "chart", "dashboard", "domain", "tag", "container"):
        body = json.dumps({"query": SEARCH, "variables": {"t": type.upper()}}).encode()
        page = json_of(client.ask("POST", "/api/graphql", body, user=user))["data"]
        page = page["searchAcrossEntities"]
        urns = {one["entity"]["urn"] for one in page["searchResults"]}
        assert page["total"] == len(urns)
        yield "entity.search_view", type, urns


def _lists_of_cdap(client: AppClient, user: str) -> Iterator[tuple[str, str, set[str]]]:
    """By operation and type: the namespaces, and their contents, in a user's lists."""
    answer = client.ask("GET", "/v3/namespaces", user=user)
    spaces = [one["name"] for one in json.loads(answer.body)]
    yield "namespace.list.filter", "namespace", set(spaces)
    kinds = (("dataset", "data/datasets"), ("application", "apps"), ("stream", "streams"))
    for type, kind in kinds:
        names = set()
        for space in spaces:
            answer = client.ask("GET", f"/v3/namespaces/{space}/{kind}", user=user)
            assert answer.status in (200, 403, 404), answer
            found = json.loads(answer.body) if answer.status == 200 else []
            names |= {f"{space}.{one['name']}" for one in found}
        yield f"{type}.list.filter", type, names


SHOWN: Final = {
    "gravitino": _lists_of_gravitino,
    "datahub": _lists_of_datahub,
    "cdap": _lists_of_cdap,
}


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("realm", REALMS)
def test_the_own_api_of_a_system_shows_what_list_says(
    server: AppClient, realm: str, share: Share
) -> None:
    part = Part(server.service.state.realm(realm), share)
    snapshot = part.matrix.snapshot
    removed = Index.of(snapshot).removed  # no search finds soft-deleted entities
    for user in part.users:
        for operation, type, names in SHOWN[realm](server, user.name.removeprefix(URN)):
            found = listing(part.matrix, Request(user, operation, now=0.0), type=type) - removed
            assert {snapshot.coded.tree.names[id] for id in found} == names, (user, operation, type)
