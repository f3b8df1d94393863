"""Trino's requests on a real server: permitted callers, responses, and bad input."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.change import StatementAdded
from lakewarden.kernel.principal import Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service import realms, token
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.load import LoadResult, load_rows
from lakewarden.service.realm import CONTROL, DIRECTORY, Realm
from lakewarden.service.system import load_system
from lakewarden.service.token import Issued, Terms
from lakewarden.store import open_store
from tests.administrators import make_administrator
from tests.app.serving import Answer, Served, server
from tests.app.threaded import threaded

ROOT = "root-token-of-the-tests-0123456789abcdef"
RECORDED = Path(__file__).parent / "recorded.json"
"""Requests of a real Trino 476 by operation, each shape once; long lists are cut to six entries."""
SETTINGS = dict.fromkeys(("trino", "polaris", "hive", "kafka", "hdfs"), "on")
LOOPBACK = 'engine_loopback = "trino"\n'
CONFIGURATION = """
[trino.gravitino]
metalake = "lk"
catalogs = { memory = "lake" }

[polaris.gravitino]
metalake = "lk"
catalogs = { prod = "lake" }
"""
ENTITIES = (
    *("metalake:lk", "catalog:lk:lake", "catalog:lk:other"),
    *("schema:lk:lake.sales", "schema:lk:lake.hr"),
    *("table:lk:lake.sales.orders", "table:lk:lake.sales.clients", "table:lk:lake.hr.people"),
    *("view:lk:lake.sales.totals", "view:lk:lake.sales.all_clients"),
)
GRANTS = (
    ("USE_CATALOG", "catalog:lk:lake", "reader"),
    ("USE_SCHEMA", "schema:lk:lake.sales", "reader"),
    ("SELECT_TABLE", "schema:lk:lake.sales", "reader"),
    ("INSERT_ROWS", "schema:lk:lake.sales", "writer"),
)
COLUMNS = (
    "table:lk:lake.sales.ledger",
    "column:lk:lake.sales.ledger.id",
    "column:lk:lake.sales.ledger.day",
)
"""A table, and the columns of it that `cora` may read."""
OF_CORA = (
    ("USE_CATALOG", "catalog:lk:lake"),
    ("USE_SCHEMA", "schema:lk:lake.sales"),
    *(("SELECT_COLUMN", column) for column in COLUMNS[1:]),
)
STATEMENTS = [
    {"id": privilege, "privileges": [privilege], "on": on, "to": [f"role:lk:{role}"]}
    for privilege, on, role in GRANTS
]
OWN_STATEMENTS = [
    {"id": f"cora-{n}", "privileges": [privilege], "on": on, "to": ["user:cora"]}
    for n, (privilege, on) in enumerate(OF_CORA)
]


class Trino:
    """A server with a realm for Trino, and tokens for it."""

    def __init__(self, served: Served, engine: str, plain: str, stranger: str) -> None:
        self.served = served
        self.engine, self.plain, self.stranger = engine, plain, stranger

    def post(self, path: str, body: object, query: str = "", *, token: str | None = None) -> Answer:
        where = f"/r/gravitino/opa/v1/{path}{query or f'?token={self.engine}'}"
        return self.served.ask("POST", where, body, token=token)

    def result(
        self, path: str, user: str, action: dict[str, Any], groups: Sequence[str] = ()
    ) -> Any:
        identity = {"user": user, "groups": list(groups)}
        body = {"input": {"context": {"identity": identity}, "action": action}}
        answer = self.post(path, body)
        assert answer.status == 200, answer.body
        value = answer.json()
        assert isinstance(value, dict)
        return value["result"]

    def allows(self, asker: str, operation: str, **resource: object) -> bool:
        action = (
            {"operation": operation, "resource": resource} if resource else {"operation": operation}
        )
        answer = self.result("allow", asker, action)
        assert isinstance(answer, bool)
        return answer


def refusal(answer: Answer) -> tuple[int, Any]:
    """The status and body of an error on which Trino must fail without revealing its address."""
    assert answer.status == 200
    value: Any = answer.json()
    assert value["result"] == "refused"
    return value["error"]["status"], json.loads(value["error"]["body"])


def table(name: str, catalog: str = "memory", **more: object) -> dict[str, object]:
    schema, _, own = name.partition(".")
    return {"catalogName": catalog, "schemaName": schema, "tableName": own, **more}


def facts_of(more: Sequence[str] = ()) -> Facts:
    """The facts of the Trino tests; `cora` may read columns if these are among `more` entities."""
    stated = STATEMENTS + (OWN_STATEMENTS if more else [])
    system = load_system("gravitino", SETTINGS)
    entities = [system.entity(text) for text in (*ENTITIES, *more)]
    users = {name: system.principal(name) for name in ("ana", "bo", "olga", "cora", "gone")}
    lake = members_of("lk")
    roles = {name: Principal("role", f"lk:{name}") for name in ("reader", "writer")}
    memberships = [MembershipRow(users[name], lake) for name in ("ana", "bo", "olga", "cora")]
    memberships += [MembershipRow(users["ana"], roles["reader"])]
    memberships += [MembershipRow(users["bo"], role) for role in roles.values()]
    return Facts(
        entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
        owners=[OwnerRow(entities[0], users["olga"])],
        principals=[*users.values(), *roles.values()],
        memberships=memberships,
        statements=read_statements(stated, system.model, system.spelling, "statements"),
    )


def furnish(service: DecisionService, facts: Facts | None = None) -> tuple[str, str, str]:
    """Fills a store; returns tokens of an engine, of its account for all paths, of a stranger."""
    service.open()
    service.write(SYSTEM, realms.establish_control)
    service.write(SYSTEM, lambda d: make_administrator(d, "root", DIRECTORY))
    service.write(
        SYSTEM, lambda d: realms.establish(d, Realm("gravitino", "gravitino", settings=SETTINGS))
    )
    service.write(SYSTEM, lambda d: realms.establish(d, Realm("silent", "gravitino")))
    control = load_system("control")
    asking = [
        {"id": "ask", "privileges": ["ASK"], "to": ["user:trino"], "on": f"realm:{name}"}
        for name in ("gravitino", "silent")
    ]
    asking = [{**one, "id": f"ask-{n}"} for n, one in enumerate(asking)]
    statements = read_statements(asking, control.model, control.spelling, "statements")
    service.write(SYSTEM, lambda d: d.change(CONTROL, *(StatementAdded(one) for one in statements)))
    root = Actor("root", credential="test")
    assert isinstance(
        load_rows(
            service, root, "gravitino", load_system("gravitino", SETTINGS), facts or facts_of()
        ),
        LoadResult,
    )
    texts = []
    for user, engine in (("trino", True), ("trino", False), ("ana", True)):
        made = service.write(root, partial(token.create, user=user, terms=Terms(engine=engine)))
        assert isinstance(made, Issued)
        texts.append(made.text)
    return texts[0], texts[1], texts[2]


@pytest.fixture(name="trino", scope="module")
def _trino(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    folder = tmp_path_factory.mktemp("opa")
    yield from served_realm(folder, facts_of(COLUMNS), LOOPBACK + CONFIGURATION)


def served_realm(
    folder: Path,
    facts: Facts | None = None,
    configuration: str = CONFIGURATION,
    *,
    apart: bool = False,
) -> Generator[Trino]:
    """A server in the folder, while the generator runs.

    With `apart`, it is a separate process, which has its own counters.
    """
    with open_store(f"sqlite:///{folder}/store.db") as store:
        tokens = furnish(DecisionService(store), facts)
    file = folder / "lakewarden.toml"
    file.write_text(configuration)
    if apart:
        words = ("--auth", "token", "--admin", "root", "--config", str(file))
        running = server(folder, *words, environment={"LAKEWARDEN_ROOT_TOKEN": ROOT})
    else:
        running = threaded(folder, config=file, auth="token", admin="root", root_token=ROOT)
    with running as served:
        yield Trino(served, *tokens)


def recorded() -> dict[str, list[dict[str, Any]]]:
    """Recorded requests by operation."""
    found: dict[str, list[dict[str, Any]]] = json.loads(RECORDED.read_text("utf-8"))
    return found


ENDPOINTS = {
    "/allow": "allow",
    "/batch": "batch",
    "/row-filters": "row-filters",
    "/column-mask": "column-masks",
    "/batch-column-masks": "batch-column-masks",
}
"""The recorded addresses of the stub, and the realm's."""


def test_who_may_see_and_read_what(trino: Trino) -> None:
    orders, people_table = table("sales.orders"), table("hr.people")
    for operation in ("SelectFromColumns", "FilterTables", "ShowColumns", "ShowCreateTable"):
        assert trino.allows("ana", operation, table={**orders, "columns": ["id"]})
        assert not trino.allows("ana", operation, table=people_table)
        assert not trino.allows("eve", operation, table=orders)
        assert trino.allows("olga", operation, table=people_table)
    assert trino.allows("ana", "SelectFromColumns", table={**orders, "columns": []})
    assert not trino.allows("ana", "SelectFromColumns", table={**people_table, "columns": []})
    assert not trino.allows("ana", "InsertIntoTable", table=orders)
    assert trino.allows("bo", "InsertIntoTable", table=orders)
    assert not trino.allows("bo", "DeleteFromTable", table=orders)
    assert trino.allows("olga", "FilterTables", table=table("sales.totals"))
    assert not trino.allows("ana", "FilterTables", table=table("sales.totals"))


def test_what_is_created_is_asked_about_on_its_container(trino: Trino) -> None:
    for operation in ("CreateTable", "CreateView"):
        assert trino.allows("olga", operation, table=table("sales.new", properties={}))
        assert not trino.allows("bo", operation, table=table("sales.new", properties={}))
    schema = {"catalogName": "memory", "schemaName": "new", "properties": {}}
    assert trino.allows("olga", "CreateSchema", schema=schema)
    assert not trino.allows("ana", "CreateSchema", schema=schema)


def test_a_table_that_moves_has_to_be_allowed_in_its_new_schema(trino: Trino) -> None:
    def move(user: str, target: str, catalog: str = "memory") -> bool:
        action = {
            "operation": "RenameTable",
            "resource": {"table": table("sales.orders")},
            "targetResource": {"table": table(target, catalog)},
        }
        allowed = trino.result("allow", user, action)
        return allowed is True

    assert move("olga", "sales.kept")
    assert move("olga", "hr.kept")
    assert not move("olga", "absent.kept")
    assert not move("olga", "sales.kept", "elsewhere")
    assert not move("bo", "sales.kept")


def test_every_member_may_query_and_manage_its_own_queries(trino: Trino) -> None:
    for user, allowed in (("ana", True), ("olga", True), ("gone", False), ("eve", False)):
        assert trino.allows(user, "ExecuteQuery") is allowed
    for operation in ("ViewQueryOwnedBy", "KillQueryOwnedBy"):
        assert trino.allows("ana", operation, user={"user": "ana", "groups": []})
        assert not trino.allows("ana", operation, user={"user": "bo", "groups": []})
        assert trino.allows("olga", operation, user={"user": "bo", "groups": []})
    assert not trino.allows("olga", "ImpersonateUser", user={"user": "bo"})
    assert trino.allows("olga", "ReadSystemInformation")
    assert not trino.allows("ana", "ReadSystemInformation")


def test_what_every_client_reads_is_there_for_whoever_may_use_the_catalog(trino: Trino) -> None:
    schemata = table("information_schema.schemata", columns=["schema_name"])
    assert trino.allows("ana", "SelectFromColumns", table=schemata)
    assert not trino.allows("eve", "SelectFromColumns", table=schemata)
    assert not trino.allows("ana", "DropTable", table=schemata)
    assert not trino.allows(
        "ana", "SelectFromColumns", table=table("information_schema.t", "other")
    )
    assert trino.allows("ana", "AccessCatalog", catalog={"name": "system"})
    assert trino.allows("ana", "SelectFromColumns", table=table("jdbc.tables", "system"))
    assert trino.allows("ana", "SelectFromColumns", table=table("runtime.queries", "system"))
    assert not trino.allows("olga", "SelectFromColumns", table=table("runtime.nodes", "system"))
    assert not trino.allows("olga", "DropCatalog", catalog={"name": "system"})


def test_lists_are_answered_by_index(trino: Trino) -> None:
    names = (
        "hr.people",
        "sales.orders",
        "sales.absent",
        "information_schema.tables",
        "sales.totals",
    )
    action = {
        "operation": "FilterTables",
        "filterResources": [{"table": table(name)} for name in names],
    }
    assert trino.result("batch", "ana", action) == [1, 3]
    assert trino.result("batch", "olga", action) == [0, 1, 3, 4]
    assert trino.result("batch", "eve", action) == []
    catalogs = {
        "operation": "FilterCatalogs",
        "filterResources": [{"catalog": {"name": one}} for one in ("other", "system", "memory")],
    }
    assert trino.result("batch", "ana", catalogs) == [1, 2]
    users = {
        "operation": "FilterViewQueryOwnedBy",
        "filterResources": [{"user": {"user": one, "groups": []}} for one in ("bo", "ana")],
    }
    assert trino.result("batch", "ana", users) == [1]
    assert trino.result("batch", "olga", users) == [0, 1]


def test_columns_are_answered_by_their_index_in_the_table(trino: Trino) -> None:
    def columns(user: str, name: str) -> Any:
        one = {"table": table(name, columns=["a", "b", "c"])}
        return trino.result("batch", user, {"operation": "FilterColumns", "filterResources": [one]})

    assert columns("ana", "sales.orders") == [0, 1, 2]
    assert columns("ana", "hr.people") == []


def test_names_reach_into_no_other_entity(trino: Trino) -> None:
    """Separators, wildcards and empty names never match another name of the realm."""
    for name in ("sales.orders", "*", "", "orders.x", "sales:orders", "orders\x00"):
        for schema in ("", "sales", "sales.orders", "lk:lake.sales"):
            if (schema, name) == ("sales", "orders"):
                continue
            resource = {"catalogName": "memory", "schemaName": schema, "tableName": name}
            assert not trino.allows("olga", "SelectFromColumns", table=resource), resource
    split = {"catalogName": "memory.sales", "schemaName": "orders", "tableName": "x"}
    assert not trino.allows("olga", "SelectFromColumns", table=split)


def test_an_operation_that_is_not_known_is_denied(trino: Trino) -> None:
    assert not trino.allows("olga", "ReadMinds", table=table("sales.orders"))
    assert not trino.allows(
        "olga", "SelectFromColumns", schema={"catalogName": "memory", "schemaName": "sales"}
    )
    assert not trino.allows("olga", "DropTable")
    many = {"operation": "FilterMinds", "filterResources": [{"table": table("sales.orders")}]}
    assert trino.result("batch", "olga", many) == []


def test_an_operation_that_is_not_known_is_audited(trino: Trino) -> None:
    assert not trino.allows("olga", "ReadMinds", table=table("sales.orders"))
    answer = trino.served.ask("GET", "/api/v1/audit?operation=trino.unknown", token=ROOT)
    assert answer.status == 200, answer.body
    assert b"ReadMinds" in answer.body
    assert b'"outcome":"deny"' in answer.body.replace(b" ", b"")


def test_every_recorded_request_is_answered_in_the_form_of_its_address(trino: Trino) -> None:
    seen = set()
    for operation, examples in recorded().items():
        for one in examples:
            path = ENDPOINTS[one["endpoint"]]
            answer = trino.post(path, one["request"])
            assert answer.status == 200, (operation, answer.body)
            value = answer.json()
            assert isinstance(value, dict)
            kinds: dict[str, type] = {"allow": bool, "column-masks": type(None)}
            assert isinstance(value["result"], kinds.get(path, list)), operation
            seen.add(path)
    assert seen == set(ENDPOINTS.values())


def test_no_recorded_request_is_allowed_to_who_is_no_user_of_the_metalake(trino: Trino) -> None:
    own = {"ViewQueryOwnedBy", "KillQueryOwnedBy", "FilterViewQueryOwnedBy"}
    opened = set()
    for operation, examples in recorded().items():
        for one in examples:
            path = ENDPOINTS[one["endpoint"]]
            if path not in ("allow", "batch"):
                continue
            one["request"]["input"]["context"]["identity"]["user"] = "eve"
            answer = trino.post(path, one["request"])
            value: Any = answer.json()
            if value["result"] not in (False, []):
                opened.add(operation)
    # Settings of one's own session, and what every client reads of the catalog `system`.
    assert opened - own <= {"SetSystemSessionProperty", "AccessCatalog", "FilterCatalogs"}


def test_a_token_for_engines_is_good_where_engines_ask_and_nowhere_else(trino: Trino) -> None:
    context = {"identity": {"user": "ana"}}
    question = {"input": {"context": context, "action": {"operation": "ExecuteQuery"}}}
    assert trino.post("allow", question).status == 200
    assert trino.post("allow", question, "?", token=trino.engine).status == 200
    assert trino.post("allow", question, "?", token=trino.plain).status == 200
    for query in ("?token=", f"?token={trino.plain}", "?token=lw_x",
                  f"?token={trino.engine}&token={trino.engine}"):  # fmt: skip
        status, body = refusal(trino.post("allow", question, query))
        assert status == 401, query
        assert set(body) == {"code", "message"}
    assert refusal(trino.post("allow", question, f"?token={trino.stranger}"))[0] == 403
    for path in ("/api/v1/whoami", "/api/metalakes", "/access/v1/evaluation"):
        method = "POST" if "access" in path else "GET"
        sent: object = {} if method == "POST" else None
        assert trino.served.ask(method, path, sent, token=trino.engine).status == 401
        assert trino.served.ask(method, f"{path}?token={trino.engine}", sent).status == 401


@pytest.mark.parametrize(
    "path", ["allow", "batch", "row-filters", "column-masks", "batch-column-masks"]
)
def test_a_refusal_has_another_status_only_where_no_token_is_in_the_address(
    trino: Trino, path: str
) -> None:
    for realm, query, status in (
        ("gravitino", trino.engine, 400),
        ("gravitino", "lw_x", 401),
        ("gravitino", trino.stranger, 403),
        ("silent", trino.engine, 404),
        ("absent", trino.engine, 401),
    ):
        where = f"/r/{realm}/opa/v1/{path}"
        answer = trino.served.ask("POST", f"{where}?token={query}", {})
        assert refusal(answer)[0] == status, realm
        assert query not in answer.body.decode()
        plain = trino.served.ask("POST", where, {}, token=query)
        assert plain.status == status, realm
    long = trino.served.ask("POST", f"/r/gravitino/opa/v1/{path}?token=x", b" " * 40_000_000)
    assert long.status == 413 or refusal(long)[0] in (401, 413)


def test_polaris_gets_the_status_of_a_refusal(trino: Trino) -> None:
    where = f"/r/gravitino/opa/v1/polaris?token={trino.engine}"
    assert trino.served.ask("POST", where, {}).status == 400


def test_single_columns_are_read_by_themselves(trino: Trino) -> None:
    ledger = table("sales.ledger")

    def reads(columns: list[str] | None) -> bool:
        resource = {**ledger, "columns": columns} if columns is not None else ledger
        return trino.allows("cora", "SelectFromColumns", table=resource)

    assert reads(["id"])
    assert reads(["id", "day"])
    for columns in (["id", "region"], ["region"], ["absent"], ["id.x"], [], None):
        assert not reads(columns), columns
    assert not trino.allows("cora", "FilterTables", table=ledger)
    assert not trino.allows("cora", "ShowColumns", table={**ledger, "columns": ["id"]})
    named = [{"table": {**ledger, "columns": ["region", "id", "day"]}}]
    action = {"operation": "FilterColumns", "filterResources": named}
    assert trino.result("batch", "cora", action) == [1, 2]
    assert trino.result("batch", "ana", action) == [0, 1, 2]


def test_an_engine_of_this_machine_asks_without_credentials(trino: Trino) -> None:
    body = {"input": {"context": {"identity": {"user": "ana"}},
                      "action": {"operation": "ExecuteQuery"}}}  # fmt: skip

    def status(path: str = "/r/gravitino/opa/v1/allow", **headers: str) -> int:
        return trino.served.ask("POST", path, body, headers).status

    assert status() == 200
    assert status(Host="localhost") == 200
    assert status(Host="lake.example") == 401
    assert status(Host="127.0.0.1.lake.example:80") == 401
    for name in ("X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"):
        assert status(**{name: "127.0.0.1"}) == 401, name
    assert status(Authorization="Bearer lw_x") == 401
    wrong = trino.served.ask("POST", "/r/gravitino/opa/v1/allow?token=lw_x", body)
    assert refusal(wrong)[0] == 401
    for path in ("/access/v1/evaluation", "/r/gravitino/api/metalakes", "/api/v1/tokens"):
        assert status(path) == 401, path


def test_a_realm_that_does_not_serve_trino_says_so(trino: Trino) -> None:
    answer = trino.served.ask("POST", f"/r/silent/opa/v1/allow?token={trino.engine}", {})
    status, body = refusal(answer)
    assert status == 404
    assert "set `trino` to `on`" in body["message"]


def asked(identity: str, action: str) -> bytes:
    """A body with these members in JSON."""
    return f'{{"input": {{"context": {{"identity": {identity}}}, "action": {action}}}}}'.encode()


ANA = '{"user": "ana"}'
QUERY = '{"operation": "ExecuteQuery"}'
NO_TABLE = '{"table": {"catalogName": "memory", "schemaName": "sales"}}'


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"[]", "body"),
        (b"{}", "input"),
        (asked("{}", QUERY), "user"),
        (asked('{"user": 7}', QUERY), "user"),
        (asked('{"user": "a\\nb"}', QUERY), "user"),
        (asked(ANA, "{}"), "operation"),
        (asked(ANA, f'{{"operation": "DropTable", "resource": {NO_TABLE}}}'), "tableName"),
    ],
)
def test_a_malformed_request_is_refused_and_names_the_member(
    trino: Trino, body: bytes, where: str
) -> None:
    status, value = refusal(trino.post("allow", body))
    assert status == 400
    assert value["code"] == "invalid_parameter"
    assert where in value["message"]


def test_the_token_is_in_no_log(trino: Trino) -> None:
    trino.post("allow", b"{")
    trino.post("nowhere", b"{}")
    text = trino.served.log.read_text()
    assert "/opa/v1/" in text
    assert trino.engine not in text
