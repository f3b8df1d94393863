"""The work for a caller without permissions is at most linear in the size of the request.

Work is counted, not timed: Python's calls, including those of C functions. The work inside one C
call (`json`, `msgspec`, a regular expression) is not visible here: the decoders read a body once,
and no regular expression of a parser has a repetition within a repetition over the same
characters.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

import pytest
from graphql.validation.rules import overlapping_fields_can_be_merged as overlapping

from lakewarden.app import http_head
from lakewarden.app.routing import RouteMatch, Table
from lakewarden.http import strict_json
from lakewarden.http.admin.dialect import Admin
from lakewarden.http.authzen.dialect import AuthZen
from lakewarden.http.exchange import Exchange, Services
from lakewarden.http.opa import polaris_question
from lakewarden.http.opa import question as opa_question
from lakewarden.http.ranger import audits
from lakewarden.kernel.errors import WardenError
from lakewarden.names.canonical import split_path
from lakewarden.service.actor import Actor
from lakewarden.service.realm import CONTROL
from lakewarden.systems.datahub.http.graphql import valid_documents
from tests.http.admin.api import Api
from tests.http.admin.conftest import fill as fill_lake
from tests.systems.cdap.http.estate import build
from tests.systems.cdap.http.wire import Wire as CdapWire
from tests.systems.datahub.http.wire import Wire as DataHubWire
from tests.systems.datahub.http.wire import proposal
from tests.systems.gravitino.http.small_lake import ML, S, fill
from tests.systems.gravitino.http.wire import Wire as GravitinoWire

SIZE: Final = 60
SLACK: Final = 600
"""Additional calls that a request may make regardless of its size, for example for a new cache."""

NOBODY: Final = "zed"

Json = Any


def work(action: Callable[[], object]) -> int:
    """The number of calls of an action, which may raise its expected errors."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        with suppress(WardenError):
            action()
    finally:
        sys.setprofile(before)
    return calls


def check_linear(action_of: Callable[[int], Callable[[], object]], size: int = SIZE) -> None:
    """Twice the size takes at most about twice the calls, and four times the size four times."""
    with suppress(WardenError):
        action_of(size)()  # loads and caches
    once, twice, fourfold = (work(action_of(size * factor)) for factor in (1, 2, 4))
    assert twice <= 2.1 * once + SLACK, (once, twice, fourfold)
    assert fourfold <= 4.2 * once + SLACK, (once, twice, fourfold)


def numbered(count: int, form: str = "n{}") -> list[str]:
    return [form.format(number) for number in range(count)]


def test_what_is_not_linear_is_noticed() -> None:
    def pairs(count: int) -> Callable[[], object]:
        return lambda: [abs(one) for one in range(count) for _ in range(count)]

    with pytest.raises(AssertionError):
        check_linear(pairs)


# parsers


def nested(count: int) -> bytes:
    return b"[" * count + b"]" * count


def members(count: int, name: str = "n{}") -> bytes:
    inner = ",".join(f'"{one}":{{"a":[1.5,"\\u00e9"]}}' for one in numbered(count, name))
    return b"{" + inner.encode() + b"}"


OPA_TABLE: Final = {"catalogName": "c", "schemaName": "s", "tableName": "t"}


def opa_body(count: int) -> bytes:
    resources = [{"table": {**OPA_TABLE, "columns": ["a"] * 3}}] * count
    action = {"operation": "FilterTables", "filterResources": resources}
    context = {"identity": {"user": "zed", "groups": numbered(count)}}
    return json.dumps({"input": {"context": context, "action": action}}).encode()


def polaris_body(count: int) -> bytes:
    name = {"type": "TABLE", "name": "t", "parents": [{"type": "X", "name": "x"}] * count}
    actor = {"principal": "zed", "roles": numbered(count)}
    resource = {"targets": [name] * 3, "secondaries": []}
    return json.dumps(
        {"input": {"actor": actor, "action": "LOAD_TABLE", "resource": resource}}
    ).encode()


READERS: Final[dict[str, Callable[[int], Callable[[], object]]]] = {
    "JSON that nests": lambda n: lambda: strict_json.read(nested(n)),
    "JSON with many members": lambda n: lambda: strict_json.read(members(n)),
    "JSON with one member": lambda n: lambda: strict_json.read(members(n, "one")),
    "numbers": lambda n: lambda: strict_json.read(json.dumps([2**60] * n).encode()),
    "query": lambda n: lambda: http_head.query_of(b"&".join([b"a=1"] * min(n, 200))),
    "headers": lambda n: lambda: http_head.read([(b"accept", b"*/*")] * n, 2**20),
    "OPA": lambda n: lambda: opa_question.read(opa_body(n)),
    "Polaris": lambda n: lambda: polaris_question.read(polaris_body(n)),
    "Ranger": lambda n: (
        lambda: list(
            audits.read_events(
                b"\n".join([b'{"repo":"s","reqUser":"zed","access":"read","result":1}'] * n), "s"
            )
        )
    ),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_readers_of_all_dialects_are_linear(reader: Callable[[int], Callable[[], object]]) -> None:
    check_linear(reader, 50)


# whole requests


class Case(NamedTuple):
    """A request with a growing body."""

    method: str
    path: str
    body: Callable[[int], Json]
    status: int = 403


def check_requests(wire: Any, case: Case) -> None:
    """Like `check_linear`, for all work of the dialect until it refuses."""
    statuses = set()

    def request(count: int) -> Callable[[], object]:
        body = json.dumps(case.body(count)).encode()

        def send() -> None:
            statuses.add(wire.send(case.method, case.path, body, user=NOBODY).status)

        return send

    check_linear(request)
    assert statuses == {case.status}, statuses


def privilege(name: str) -> Json:
    return {"name": name, "condition": "ALLOW"}


def securable(name: str) -> Json:
    return {"fullName": name, "type": "CATALOG", "privileges": [privilege("USE_CATALOG")]}


GRAVITINO: Final = {
    "properties": Case(
        "POST",
        "metalakes",
        lambda n: {"name": "m", "properties": dict.fromkeys(numbered(n), "v")},
    ),
    "columns": Case(
        "POST",
        f"{S}/tables",
        lambda n: {"name": "x", "columns": [{"name": c, "type": "long"} for c in numbered(n)]},
    ),
    "updates": Case(
        "PUT",
        f"{S}/tables/t",
        lambda n: {
            "updates": [
                {"@type": "setProperty", "property": one, "value": "v"} for one in numbered(n)
            ]
        },
    ),
    "role": Case(
        "POST",
        f"{ML}/roles",
        lambda n: {"name": "r", "securableObjects": [securable(one) for one in numbered(n)]},
    ),
    "grants": Case(
        "PUT",
        f"{ML}/permissions/users/eve/grant",
        lambda n: {"roleNames": numbered(n)},
    ),
    "tags": Case(
        "POST",
        f"{ML}/objects/catalog/rel/tags",
        lambda n: {"tagsToAdd": numbered(n), "tagsToRemove": numbered(n, "m{}")},
    ),
}

PROGRAM: Final = {"appId": "shop", "programType": "service", "programId": "api"}
SPACE: Final = "namespaces/sales"

CDAP: Final = {
    "privileges": Case(
        "POST",
        "security/authorization/privileges/grant",
        lambda n: {
            "authorizable": {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": "sales"}},
            "principal": {"name": "eve", "type": "USER"},
            "actions": ["READ", "WRITE"] * n,
        },
    ),
    "programs": Case("POST", f"{SPACE}/start", lambda n: [PROGRAM] * n),
    "status": Case("POST", f"{SPACE}/runs", lambda n: [PROGRAM] * n, 200),
    "preferences": Case("PUT", f"{SPACE}/preferences", lambda n: dict.fromkeys(numbered(n), "v")),
    "namespace": Case(
        "PUT", "namespaces/new", lambda n: {"config": dict.fromkeys(numbered(n), "v")}
    ),
    "tags": Case("POST", f"{SPACE}/metadata/tags", numbered),
    "metrics": Case(
        "POST",
        "metrics/query",
        lambda n: {
            one: {"tags": {"namespace": "sales"}, "metrics": ["a"]} for one in numbered(min(n, 100))
        },
        200,
    ),
}

URN: Final = "urn:li:dataset:(urn:li:dataPlatform:hive,{},PROD)"


def tags(count: int) -> Json:
    return {"tags": [{"tag": tag} for tag in numbered(count, "urn:li:tag:t{}")]}


DATAHUB: Final = {
    "proposal": Case(
        "POST",
        "/aspects?action=ingestProposal",
        lambda n: {"proposal": proposal(URN, "globalTags", tags(n))},
    ),
    "batch": Case(
        "POST",
        "/aspects?action=ingestProposalBatch",
        lambda n: {"proposals": [proposal(urn, "globalTags", tags(1)) for urn in numbered(n, URN)]},
    ),
    "snapshots": Case(
        "POST",
        "/entities?action=batchIngest",
        lambda n: {
            "entities": [
                {
                    "value": {
                        "com.linkedin.metadata.snapshot.DatasetSnapshot": {
                            "urn": urn,
                            "aspects": [{"com.linkedin.common.Status": {"removed": False}}],
                        }
                    }
                }
                for urn in numbered(n, URN)
            ]
        },
    ),
    "open": Case(
        "POST",
        "/openapi/v3/entity/dataset",
        lambda n: [{"urn": urn, "status": {"value": {}}} for urn in numbered(n, URN)],
    ),
    "read": Case(
        "POST",
        "/openapi/v3/entity/dataset/batchGet",
        lambda n: [{"urn": urn} for urn in numbered(n, URN)],
    ),
}


@pytest.fixture(scope="module")
def gravitino(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GravitinoWire]:
    with GravitinoWire(tmp_path_factory.mktemp("lake")) as wire:
        fill(wire)
        yield wire


@pytest.fixture(scope="module")
def cdap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CdapWire]:
    with CdapWire(tmp_path_factory.mktemp("cdap")) as wire:
        build(wire)
        yield wire


@pytest.fixture(scope="module")
def datahub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataHubWire]:
    with DataHubWire(tmp_path_factory.mktemp("hub")) as wire:
        yield wire


@pytest.mark.parametrize("case", GRAVITINO.values(), ids=GRAVITINO)
def test_requests_of_gravitino_are_linear(gravitino: GravitinoWire, case: Case) -> None:
    check_requests(gravitino, case)


@pytest.mark.parametrize("case", CDAP.values(), ids=CDAP)
def test_requests_of_cdap_are_linear(cdap: CdapWire, case: Case) -> None:
    check_requests(cdap, case)


@pytest.mark.parametrize("case", DATAHUB.values(), ids=DATAHUB)
def test_requests_of_datahub_are_linear(datahub: DataHubWire, case: Case) -> None:
    check_requests(datahub, case)


class Wire:
    """The dialects of all realms, in front of a whole server."""

    def __init__(self, api: Api) -> None:
        self._service = api.service
        self._table = Table([AuthZen(), Admin()])

    def send(self, method: str, path: str, body: bytes, *, user: str) -> Any:
        """Like the systems' own."""
        state = self._service.state
        found = self._table.find(method, split_path(path, encoded_slash=True), state)
        assert isinstance(found, RouteMatch)
        exchange = Exchange(
            method=method,
            path=path,
            params=found.params,
            query={},
            headers={},
            body=body,
            actor=Actor(user, credential="simple", wire=found.dialect.name),
            realm=CONTROL,
            state=state,
            now=self._service.clock(),
            service=self._service,
            services=Services(),
        )
        try:
            return found.route.handler(exchange)
        except WardenError as error:
            return found.dialect.failed(exchange, error)


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with Api(tmp_path_factory.mktemp("core")) as api:
        fill_lake(api)
        yield Wire(api)


def question(name: str, **more: Json) -> Json:
    resource = {"type": "table", "id": f"lk:sales.raw.{name}"}
    return {
        "subject": {"type": "user", "id": NOBODY},
        "action": {"name": "table.load"},
        "resource": {**resource, "properties": {"realm": "gravitino"}},
        **more,
    }


LISTS: Final = itertools.count()


def new_names(count: int) -> list[str]:
    """Names that no other list has, so no answer is cached."""
    return numbered(count, f"of{next(LISTS)}_{{}}")


STATEMENT: Final = "/api/v1/realms/gravitino/statements/x"


def rows(count: int) -> Json:
    names = numbered(count)
    statement = {"privileges": ["USE_CATALOG"], "to": ["user:n0"], "on": "metalake:n0"}
    return {
        "model": "gravitino",
        "entities": [["metalake", name, None, None] for name in names],
        "principals": [["user", name] for name in names],
        "memberships": [["user", name, "implied", "members:n0"] for name in names],
        "statements": [{"id": name, **statement} for name in names],
    }


CORE: Final = {
    "batch of the usual shape": Case(
        "POST",
        "/access/v1/evaluations",
        lambda n: {"evaluations": [question(name) for name in new_names(n)]},
        200,
    ),
    "batch of any shape": Case(
        "POST",
        "/access/v1/evaluations",
        lambda n: {"evaluations": [question(name, context={"a": 1}) for name in new_names(n)]},
        200,
    ),
    "one question": Case(
        "POST",
        "/access/v1/evaluation",
        lambda n: question("t", context={name: [1] for name in numbered(n)}),
        200,
    ),
    "statement": Case(
        "PUT",
        STATEMENT,
        lambda n: {
            "privileges": ["USE_CATALOG"] * n,
            "to": numbered(n, "user:u{}"),
            "on": "catalog:lk:sales",
        },
    ),
    "criteria": Case(
        "PUT",
        STATEMENT,
        lambda n: {
            "privileges": ["USE_CATALOG"],
            "to": ["user:u"],
            "where": [{"field": "type", "values": numbered(n)}],
        },
    ),
    "rows": Case("POST", "/api/v1/realms/gravitino/load", rows),
}


@pytest.mark.parametrize("case", CORE.values(), ids=CORE)
def test_requests_about_all_realms_are_linear(core: Wire, case: Case) -> None:
    check_requests(core, case)


# GraphQL


def spread(count: int) -> str:
    """Fragments that are spread next to each other."""
    spreads = " ".join(numbered(count, "...f{}"))
    return f"{{{spreads}}}" + " ".join(numbered(count, "fragment f{} on Query {{__typename}}"))


def chain(count: int) -> str:
    """Fragments that are nested."""
    link = "fragment f{} on Query {{ __typename ...f{} }}"
    links = " ".join(link.format(number, number + 1) for number in range(count))
    return f"{{...f0}} {links} fragment f{count} on Query {{ __typename }}"


def listed(count: int) -> str:
    types = "DATASET " * count
    return f'{{searchAcrossEntities(input: {{query: "a", types: [{types}]}}) {{start}}}}'


DOCUMENTS: Final[dict[str, Callable[[int], str]]] = {
    "aliases": lambda n: f"{{{' '.join(numbered(n, 'a{}: __typename'))}}}",
    "one field": lambda n: f"{{{'me { corpUser { urn } } ' * n}}}",
    "fragments": spread,
    "a chain of fragments": chain,
    "variables": lambda n: f"query q({' '.join(numbered(n, '$v{}: String'))}) {{__typename}}",
    "operations": lambda n: " ".join(numbered(n, "query q{} {{__typename}}")),
    "a list": listed,
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_documents_of_graphql_are_linear(
    document: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fields with the same name are compared in pairs: the library limits the number of pairs."""
    monkeypatch.setattr(overlapping, "MAX_COMPLEXITY_BUDGET", 100)
    documents = valid_documents.ValidDocuments(0)

    def read(count: int) -> Callable[[], object]:
        def validate() -> None:
            with suppress(valid_documents.InvalidDocument):
                documents.valid(document(count), introspects=False)

        return validate

    check_linear(read, 30)


def test_pairs_of_fields_are_bounded() -> None:
    assert overlapping.MAX_COMPLEXITY_BUDGET <= 500_000
