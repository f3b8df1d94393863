"""Malicious requests, and responses that no catalog should send."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from lakewarden.kernel.change import EntityAdded, StatementAdded, StatementRemoved
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service import decisions, questions
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.control import Denied
from lakewarden.service.system import load_system
from tests.http.iceberg.guarded import NEW_SCHEMA, ROOT, SETTINGS, Guarded, guarded
from tests.http.iceberg.rest_catalog import READER_TOKEN, TOKEN, Json

SCHEMA = pa.schema([("id", pa.int64()), ("iban", pa.string())])
ORDERS = "shop/namespaces/sales/tables/orders"
PEOPLE = "shop/namespaces/hr/tables/people"
HR_TABLE: Json = {"namespace": ["hr"], "name": "people"}
SALES_TABLE: Json = {"namespace": ["sales"], "name": "orders"}
TABLES = "shop/namespaces/sales/tables"
REGISTER = "shop/namespaces/sales/register"
ELSEWHERE = "s3://lake/hr.db/people"
NEW: Json = {"name": "new", "schema": NEW_SCHEMA}


@pytest.fixture(name="guard", scope="module")
def _guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with guarded(tmp_path_factory.mktemp("guard"), reader=True) as guard:
        for namespace, tables in (("sales", ("orders", "kept")), ("hr", ("people",))):
            guard.catalog.tables.create_namespace(namespace)
            for table in tables:
                guard.catalog.tables.create_table((namespace, table), SCHEMA)
        yield guard


def changes(*updates: object, **more: Any) -> Json:
    return {"requirements": [], "updates": list(updates), **more}


def set_properties(**values: str) -> Json:
    return {"action": "set-properties", "updates": values}


MOVING = {"action": "set-location", "location": ELSEWHERE}
UNPLACING = {"action": "remove-properties", "removals": ["write.data.path"]}
CREATING = {"requirements": [{"type": "assert-create"}]}

ATTACKS: list[tuple[str, str, str, object]] = [
    # what the user may not see, load or write, by every endpoint
    ("ana", "GET", "shop/namespaces/hr", None),
    ("ana", "HEAD", "shop/namespaces/hr", None),
    ("ana", "GET", "shop/namespaces/hr/tables", None),
    ("ana", "GET", PEOPLE, None),
    ("ana", "HEAD", PEOPLE, None),
    ("ana", "GET", f"{PEOPLE}/credentials", None),
    ("ana", "POST", f"{PEOPLE}/sign", {"method": "GET", "uri": ELSEWHERE}),
    ("ana", "POST", f"{PEOPLE}/plan", {}),
    ("ana", "GET", f"{PEOPLE}/plan/1", None),
    ("ana", "POST", f"{PEOPLE}/tasks", {"plan-task": "1"}),
    ("ana", "POST", f"{PEOPLE}/metrics", {}),
    ("ana", "POST", f"{PEOPLE}/unregister", {}),
    ("ana", "DELETE", PEOPLE, None),
    ("ana", "DELETE", ORDERS, None),
    ("ana", "DELETE", f"{ORDERS}?purgeRequested=true", None),
    ("wes", "DELETE", f"{ORDERS}?purgeRequested=yes", None),
    ("ana", "POST", ORDERS, changes(set_properties(a="b"))),
    ("wes", "POST", PEOPLE, changes(set_properties(a="b"))),
    ("eve", "GET", ORDERS, None),
    ("eve", "GET", "config", None),
    ("eve", "GET", "shop/namespaces", None),
    ("ana", "POST", "shop/namespaces", {"namespace": ["mine"]}),
    ("ana", "DELETE", "shop/namespaces/sales", None),
    ("ana", "POST", "shop/namespaces/sales/properties", {"removals": [], "updates": {"a": "b"}}),
    ("ana", "POST", TABLES, NEW),
    ("ana", "POST", "shop/namespaces/sales/views", {"name": "v"}),
    # bodies that name another object than the path
    ("wes", "POST", ORDERS, changes(set_properties(a="b"), identifier=HR_TABLE)),
    ("wes", "POST", "shop/transactions/commit", {"table-changes": [changes(identifier=HR_TABLE)]}),
    (
        "wes",
        "POST",
        "shop/transactions/commit",
        {"table-changes": [changes(identifier=SALES_TABLE), changes(identifier=HR_TABLE)]},
    ),
    ("wes", "POST", "shop/transactions/commit", {"table-changes": []}),
    ("wes", "POST", "shop/transactions/commit", {"table-changes": [changes()]}),
    ("wes", "POST", "shop/tables/rename", {"source": HR_TABLE, "destination": SALES_TABLE}),
    ("wes", "POST", "shop/tables/rename", {"source": SALES_TABLE, "destination": HR_TABLE}),
    ("wes", "POST", "shop/views/rename", {"source": HR_TABLE, "destination": SALES_TABLE}),
    ("sam", "POST", TABLES, {**NEW, "name": "hr\x1fpeople"}),
    ("wes", "POST", ORDERS, {**changes(), **CREATING}),
    # files of other tables
    ("sam", "POST", TABLES, {**NEW, "location": ELSEWHERE}),
    ("sam", "POST", TABLES, {**NEW, "properties": {"write.data.path": ELSEWHERE}}),
    ("sam", "POST", REGISTER, {"name": "new", "metadata-location": ELSEWHERE}),
    ("wes", "POST", ORDERS, changes(MOVING)),
    ("wes", "POST", ORDERS, changes(set_properties(**{"write.metadata.path": ELSEWHERE}))),
    ("wes", "POST", ORDERS, changes(UNPLACING)),
    ("wes", "POST", ORDERS, changes({"action": "grant-everything"})),
    ("sam", "POST", f"{TABLES}/new", {**changes(MOVING), **CREATING}),
    # paths that two parsers could interpret differently
    ("ana", "GET", "shop/namespaces/sales%1Forders/tables", None),
    ("ana", "GET", "shop/namespaces/sales%2Ftables%2Forders", None),
    ("ana", "GET", "shop/namespaces/sales/tables/..%2F..%2Fhr%2Ftables%2Fpeople", None),
    ("ana", "GET", "shop/namespaces/sales/../hr/tables/people", None),
    ("ana", "GET", "shop/namespaces/sales/tables/%2e%2e/%2e%2e/hr/tables/people", None),
    ("ana", "GET", "shop/namespaces/./hr/tables/people", None),
    ("ana", "GET", "shop//namespaces/hr/tables/people", None),
    ("ana", "GET", "shop/namespaces/sales/tables/orders;x/../../hr", None),
    ("ana", "GET", "shop/namespaces/sales/tables/orders%00", None),
    ("ana", "GET", "shop/namespaces/sales/tables/orders%0d%0aX:1", None),
    ("ana", "GET", "shop/namespaces/sales/tables/orders%3Fx%3D1", None),
    ("ana", "GET", "shop/namespaces/sales/tables/*", None),
    ("ana", "GET", "shop/namespaces/sales/tables/orders.id", None),
    ("ana", "GET", "shop/namespaces/hr/tables/people%", None),
    ("olga", "GET", "main/namespaces/hr/tables/people", None),
    ("olga", "GET", "other/namespaces/hr/tables/people", None),
    ("olga", "GET", "namespaces/hr/tables/people", None),
    ("olga", "GET", "shop/namespaces/a%1Fb", None),
    ("olga", "POST", "shop/namespaces", {"namespace": ["hr", "inner"]}),
    ("olga", "POST", "shop/namespaces", {"namespace": []}),
    ("olga", "POST", "shop/namespaces", {"namespace": ["a.b"]}),
    ("olga", "GET", "shop/namespaces/hr/tables?pageToken=1&pageToken=2", None),
    # endpoints that do not exist
    ("olga", "GET", "shop/namespaces/hr/tables/people/files", None),
    ("olga", "PUT", PEOPLE, {}),
    ("olga", "PATCH", PEOPLE, {}),
    ("olga", "POST", "shop/admin", {}),
    ("olga", "GET", "shop/namespaces/hr/secrets", None),
    # invalid bodies
    ("wes", "POST", ORDERS, b"{"),
    ("wes", "POST", ORDERS, b"[]"),
    ("wes", "POST", ORDERS, b'{"updates": [], "updates": [{"action": "set-location"}]}'),
    ("wes", "POST", ORDERS, b"[" * 100_000),
    ("wes", "POST", ORDERS, changes(1)),
    ("wes", "POST", ORDERS, changes({"action": 7})),
    ("wes", "POST", ORDERS, b'{"updates": [], "requirements": [], "x": 1e999}'),
    ("wes", "POST", ORDERS, b'{"updates": [], "requirements": [], "x": NaN}'),
    ("wes", "POST", ORDERS, b'{"updates": [], "requirements": [], "x": "\\ud800"}'),
    ("wes", "POST", ORDERS, {"updates": {}, "requirements": []}),
    ("wes", "POST", ORDERS, {"updates": [], "requirements": ["assert-create"]}),
]


def test_no_attack_reaches_the_catalog(guard: Guarded) -> None:
    assert len(ATTACKS) >= 30
    guard.catalog.seen.clear()
    through = []
    for user, method, path, body in ATTACKS:
        answer = guard.ask(user, method, path, body)
        if guard.catalog.seen or not 400 <= answer.status < 500:
            through.append((user, method, path, body, answer.status))
            guard.catalog.seen.clear()
        if method != "HEAD":
            error = json.loads(answer.body).get("error", {})
            assert set(error) == {"message", "type", "code"}, (path, answer.body)
            assert error["code"] == answer.status
    assert through == []


def test_credentials_other_than_a_users_token_are_refused(guard: Guarded) -> None:
    guard.catalog.seen.clear()
    where = "/r/gravitino/iceberg/v1/shop/namespaces"
    for headers in (
        {},
        {"Authorization": "Basic b2xnYTp4"},
        {"Authorization": f"Bearer {TOKEN}"},
        {"Authorization": f"Bearer {guard.tokens['engine']}"},
        {"Authorization": "Bearer "},
        {"X-Forwarded-User": "olga"},
    ):
        assert guard.served.ask("GET", where, None, headers).status == 401, headers
    assert guard.served.ask("GET", f"{where}?token={guard.tokens['olga']}").status == 401
    assert guard.served.ask("GET", where.replace("gravitino", "silent"), token=ROOT).status == 404
    assert guard.served.ask("GET", where.replace("gravitino", "nowhere"), token=ROOT).status == 401
    assert guard.catalog.seen == []


def test_no_token_is_written_down(guard: Guarded) -> None:
    token, where = guard.tokens["olga"], "/r/gravitino/iceberg/v1/shop/namespaces"
    for query in (f"?token={token}", f"?parent=x&token={token}#", f"?token=%6c{token[1:]}"):
        for method in ("GET", "POST", "PATCH"):
            guard.served.ask(method, where + query, {"namespace": [token]})
            guard.served.ask(method, where + query, token=token)
    guard.served.raw(f"GET {where}?token={token} HTTP/9.9\r\n\r\n".encode(), 1.0)
    written = guard.served.log.read_text()
    assert token not in written
    assert token[1:] not in written
    assert TOKEN not in written


def test_the_guard_serves_nothing_else(guard: Guarded) -> None:
    for path in ("/api/v1/whoami", "/api/metalakes", "/ui/", "/access/v1/evaluation"):
        assert guard.served.ask("GET", path, token=ROOT).status in (404, 405), path


def test_headers_that_belong_to_one_connection_stay_there(guard: Guarded) -> None:
    guard.catalog.seen.clear()
    answer = guard.ask(
        "ana", "GET", ORDERS, Connection="keep-alive, X-Secret", X_Secret="1", TE="trailers",
        Cookie="a=b", X_Forwarded_Host="evil", Proxy_Authorization="Basic x", Forwarded="for=x",
        X_Iceberg_Access_Delegation="vended-credentials", If_None_Match='"0"',
    )  # fmt: skip
    assert answer.status == 200
    (seen,) = guard.catalog.seen
    passed = {"if-none-match", "x-iceberg-access-delegation"}
    own = {"host", "user-agent", "accept", "accept-encoding", "connection", "authorization"}
    assert set(seen.headers) - own == passed
    assert seen.headers["connection"] == "keep-alive"
    assert "set-cookie" not in answer.headers
    assert answer.headers["etag"] == '"1"'


def test_the_page_that_follows_is_passed_on(guard: Guarded) -> None:
    first = json.loads(guard.ask("ana", "GET", "shop/namespaces?pageToken=&pageSize=1").body)
    assert first == {"namespaces": [["sales"]]} or first["namespaces"] in ([["sales"]], [])
    page = json.loads(guard.ask("olga", "GET", "shop/namespaces/sales/tables?pageToken=").body)
    assert [one["name"] for one in page["identifiers"]] == ["kept", "orders"]
    for number in range(3):
        guard.catalog.tables.create_table(("sales", f"x{number}"), SCHEMA)
    page = json.loads(guard.ask("olga", "GET", "shop/namespaces/sales/tables?pageToken=").body)
    assert page["next-page-token"] == "2"
    after = json.loads(guard.ask("olga", "GET", "shop/namespaces/sales/tables?pageToken=4").body)
    assert after == {"identifiers": []}
    for number in range(3):
        guard.catalog.tables.drop_table(("sales", f"x{number}"))


def loaded(guard: Guarded, user: str, path: str = ORDERS) -> Json:
    answer = guard.ask(user, "GET", path, X_Iceberg_Access_Delegation="vended-credentials")
    assert answer.status == 200, answer.body
    value = json.loads(answer.body)
    assert isinstance(value, dict)
    return value


def test_who_may_only_read_gets_credentials_of_the_readers_account(guard: Guarded) -> None:
    for user, token in (("ana", READER_TOKEN), ("wes", TOKEN), ("olga", TOKEN)):
        answer = loaded(guard, user)
        assert guard.catalog.seen[-1].headers["authorization"] == f"Bearer {token}"
        assert answer["config"]["s3.access-key-id"] == "vended"
        (one,) = answer["storage-credentials"]
        assert set(one["config"]) == {"s3.access-key-id", "s3.secret-access-key", "s3.endpoint"}
        assert guard.ask(user, "GET", f"{ORDERS}/credentials").status == 200


@contextmanager
def limit(guard: Guarded, **table: Any) -> Iterator[None]:
    """A filter or a mask that binds everybody except `olga`, written by another process."""
    system = load_system("gravitino", SETTINGS)
    spared = {} if "privileges" in table else {"except": ["user:olga"]}
    document = {"id": "limit", **spared, **table}
    (statement,) = read_statements([document], system.model, system.spelling, "test")
    with guard.writing() as service:
        service.write(SYSTEM, lambda d: d.change("gravitino", StatementAdded(statement)))
        yield
        service.write(SYSTEM, lambda d: d.change("gravitino", StatementRemoved("limit")))


@pytest.mark.parametrize(
    ("kind", "on", "expression"),
    [
        ("filter", "schema:lk:lake.sales", "id = 1"),
        ("filter", "table:lk:lake.sales.orders", "id = 1"),
        ("mask", "schema:lk:lake.sales", "null"),
        ("mask", "column:lk:lake.sales.orders.iban", "null"),
    ],
)
def test_whom_a_filter_or_mask_binds_gets_no_files_and_changes_no_columns(
    guard: Guarded, kind: str, on: str, expression: str
) -> None:
    with limit(guard, effect=kind, on=on, expression=expression):
        for user in ("ana", "wes"):
            guard.catalog.seen.clear()
            answer = loaded(guard, user)
            assert "storage-credentials" not in answer
            assert "s3.access-key-id" not in answer["config"]
            assert "binds you" in answer["config"]["lakewarden.credentials-withheld"]
            assert "x-iceberg-access-delegation" not in guard.catalog.seen[0].headers
            guard.catalog.seen.clear()
            for method, below, body in (
                ("GET", "/credentials", None),
                ("POST", "/plan", {}),
                ("POST", "/sign", {"method": "GET", "uri": "s3://lake/x"}),
            ):
                refused = guard.ask(user, method, ORDERS + below, body)
                assert refused.status == 403
                assert b"binds you" in refused.body
            assert guard.ask("wes", "POST", ORDERS, changes(set_properties(a="b"))).status == 403
            assert guard.catalog.seen == []
        assert b"binds you" not in guard.ask("sam", "GET", f"{ORDERS}/credentials").body
        assert loaded(guard, "olga")["config"]["s3.access-key-id"] == "vended"
    assert loaded(guard, "ana")["config"]["s3.access-key-id"] == "vended"


@pytest.mark.parametrize("name", ["id", "not_stored"])
def test_whom_a_deny_on_a_column_binds_gets_no_files(guard: Guarded, name: str) -> None:
    deny = {"effect": "deny", "privileges": ["SELECT_COLUMN"], "to": ["user:ana"]}
    with limit(guard, on=f"column:lk:lake.sales.orders.{name}", **deny):
        answer = loaded(guard, "ana")
        assert "storage-credentials" not in answer
        assert "is denied to you" in answer["config"]["lakewarden.credentials-withheld"]
        guard.catalog.seen.clear()
        for method, below, body in (
            ("GET", "/credentials", None),
            ("POST", "/plan", {}),
            ("POST", "/sign", {"method": "GET", "uri": "s3://lake/x"}),
        ):
            assert guard.ask("ana", method, ORDERS + below, body).status == 403
        assert guard.catalog.seen == []
        assert loaded(guard, "olga")["config"]["s3.access-key-id"] == "vended"
    assert loaded(guard, "ana")["config"]["s3.access-key-id"] == "vended"


def test_a_moved_table_takes_its_masks_and_grants_along(guard: Guarded) -> None:
    def renamed(source: str, target: str) -> int:
        names = [{"namespace": ["sales"], "name": name} for name in (source, target)]
        body = {"source": names[0], "destination": names[1]}
        return guard.ask("olga", "POST", "shop/tables/rename", body).status

    column = "column:lk:lake.sales.kept.iban"
    with limit(guard, effect="mask", on=column, expression="null"):
        assert renamed("kept", "moved") == 204
        assert "binds you" in str(loaded(guard, "wes", "shop/namespaces/sales/tables/moved"))
        assert guard.ask("wes", "GET", "shop/namespaces/sales/tables/kept").status == 403
        assert renamed("moved", "kept") == 204
        assert "binds you" in str(loaded(guard, "wes", "shop/namespaces/sales/tables/kept"))


def test_a_table_that_is_dropped_and_made_again_has_its_masks(guard: Guarded) -> None:
    twice = "shop/namespaces/sales/tables/twice"
    column = "column:lk:lake.sales.twice.iban"
    assert guard.ask("sam", "POST", TABLES, {**NEW, "name": "twice"}).status == 200
    with limit(guard, effect="mask", on=column, expression="null"):
        for _ in range(2):
            assert "binds you" in str(loaded(guard, "sam", twice))
            assert guard.ask("olga", "DELETE", twice).status == 204
            assert guard.ask("sam", "POST", TABLES, {**NEW, "name": "twice"}).status == 200
        assert "binds you" in str(loaded(guard, "sam", twice))
    assert guard.ask("olga", "DELETE", twice).status == 204


def answering(guard: Guarded, status: int, body: Json | bytes, seconds: float = 0.0) -> None:
    def override(method: str, path: str) -> tuple[int, Json | bytes] | None:
        if not path.endswith("/orders"):
            return None
        time.sleep(seconds)
        return status, body

    guard.catalog.override = override


@pytest.fixture(name="odd")
def _odd(guard: Guarded) -> Iterator[Guarded]:
    usual = guard.catalog.override
    yield guard
    guard.catalog.override = usual


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b"{", 502),
        (200, b"[]", 502),
        (200, b"\xff", 502),
        (200, b'{"x": NaN}', 502),
        (200, b'{"x": "' + b"y" * 300_000 + b'"}', 502),
        (302, b"", 502),
        (401, {"error": {"message": "m", "type": "t", "code": 401}}, 502),
        (500, b"<html>trace</html>", 500),
        (404, {"error": {"message": "m", "type": "t", "code": 404, "stack": ["s"]}}, 404),
        (409, {"error": {"message": "m", "type": "CommitFailedException", "code": 409}}, 409),
        (418, {"error": "teapot"}, 418),
    ],
)
def test_answers_that_cannot_be_trusted_are_errors(
    odd: Guarded, status: int, body: Json | bytes, expected: int
) -> None:
    answering(odd, status, body)
    answer = odd.ask("ana", "GET", ORDERS)
    assert answer.status == expected, answer.body
    error = json.loads(answer.body)["error"]
    assert set(error) == {"message", "type", "code"}
    assert "trace" not in error["message"]


def test_a_catalog_that_does_not_answer_in_time_is_an_error(odd: Guarded) -> None:
    answering(odd, 200, {}, seconds=3.0)
    answer = odd.ask("ana", "GET", ORDERS)
    assert answer.status == 504
    assert json.loads(answer.body)["error"]["type"] == "GatewayTimeoutException"


@pytest.mark.parametrize(
    "config", [{"token": "t"}, None, [], {"s3.secret-access-key": 7, "s3.x": "y"}]
)
def test_what_is_not_known_to_be_harmless_is_held_back(odd: Guarded, config: object) -> None:
    lures = {"remote-signing-config": {"headers": {}}, "next": "http://past.the.guard"}
    answering(odd, 200, {"config": config, "storage-credentials": config, **lures})
    answer = json.loads(odd.ask("wes", "GET", ORDERS).body)
    assert answer == {"config": {}, "storage-credentials": []}


def test_what_is_said_twice_is_written_once(odd: Guarded) -> None:
    answering(odd, 200, b'{"config": {"token": "a"}, "config": {"token": "b", "s3.region": "eu"}}')
    assert odd.ask("wes", "GET", ORDERS).body == b'{"config":{"s3.region":"eu"}}'


def test_ids_of_64_bits_are_kept_exactly(odd: Guarded) -> None:
    answering(odd, 200, b'{"metadata": {"current-snapshot-id": 9223372036854775807, "x": 0.1}}')
    body = odd.ask("wes", "GET", ORDERS).body
    assert body == b'{"metadata":{"current-snapshot-id":9223372036854775807,"x":0.1}}'


def test_lists_with_entries_of_elsewhere_lose_them(odd: Guarded) -> None:
    entries = [SALES_TABLE, HR_TABLE, {"namespace": ["sales", "x"], "name": "orders"}, "orders", {}]
    odd.catalog.override = lambda _, path: (
        (200, {"identifiers": entries}) if path.endswith("/tables") else None
    )
    answer = json.loads(odd.ask("ana", "GET", TABLES).body)
    assert answer == {"identifiers": [SALES_TABLE]}


def test_functions_are_listed_by_their_own_rule(odd: Guarded) -> None:
    page = {"identifiers": [["sales", "f"], ["hr", "g"], ["f"], []], "next-page-token": "2"}
    odd.catalog.override = lambda _, path: (200, page) if path.endswith("/functions") else None
    answer = odd.ask("olga", "GET", "shop/namespaces/sales/functions")
    assert json.loads(answer.body) == {"identifiers": [], "next-page-token": "2"}
    with odd.writing() as service:
        function = load_system("gravitino", SETTINGS).entity("function:lk:lake.sales.f")
        parent = load_system("gravitino", SETTINGS).entity("schema:lk:lake.sales")
        service.write(SYSTEM, lambda d: d.change("gravitino", EntityAdded(function, parent)))
    answer = odd.ask("olga", "GET", "shop/namespaces/sales/functions")
    assert json.loads(answer.body)["identifiers"] == [["sales", "f"]]
    answer = odd.ask("ana", "GET", "shop/namespaces/sales/functions")
    assert json.loads(answer.body)["identifiers"] == []


def test_denials_are_audited(guard: Guarded) -> None:
    assert guard.ask("ana", "GET", PEOPLE).status == 403
    with guard.writing() as service, service.store.reading() as reading:
        bodies = [row.body for row in reading.audit(0, 1_000)]
    assert any("iceberg." in body and '"deny"' in body for body in bodies)


def test_a_denial_names_what_it_takes_and_is_explained_by_its_id(guard: Guarded) -> None:
    body = json.loads(guard.ask("ana", "GET", PEOPLE).body)
    message = body["error"]["message"]
    expected = (
        "ana may not load a table (loadTable on `shop.hr.people`, which takes `may(table.load)`)"
    )
    assert message.startswith(expected), message
    id = message.rpartition("; decision ")[2]
    absent = json.loads(guard.ask("ana", "GET", PEOPLE.replace("people", "absent")).body)
    told = absent["error"]["message"].replace("absent", "people").rpartition("; decision ")
    assert told[0] == message.rpartition("; decision ")[0]
    with guard.writing() as service, service.store.reading() as reading:
        state, now = service.catch_up(), service.clock()
        ana = Actor("ana", credential="test")
        found = decisions.find(reading, state, ana, "gravitino", id, now)
    assert not isinstance(found, Denied)
    denial, asked = found
    assert denial.said == expected
    assert not questions.check(asked).allow


def test_the_owner_of_the_catalog_says_where_files_lie(guard: Guarded) -> None:
    body = {**NEW, "name": "placed", "location": f"file://{guard.served.log.parent}/placed"}
    assert guard.ask("sam", "POST", TABLES, body).status == 403
    assert guard.ask("olga", "POST", TABLES, body).status == 200
    assert guard.ask("olga", "DELETE", "shop/namespaces/sales/tables/placed").status == 204


def test_a_staged_table_is_the_creators_once_it_is_committed(odd: Guarded) -> None:
    odd.catalog.override = lambda method, path: (
        (200, {"metadata": {}}) if method == "POST" and "/sales/tables" in path else None
    )
    staged = {**NEW, "name": "staged", "stage-create": True}
    own = "shop/namespaces/sales/tables/staged"
    assert odd.ask("sam", "POST", TABLES, staged).status == 200
    assert odd.ask("sam", "POST", own, changes()).status == 403
    assert odd.ask("ana", "POST", own, {**changes(), **CREATING}).status == 403
    assert odd.ask("sam", "POST", own, {**changes(), **CREATING}).status == 200
    assert odd.ask("sam", "POST", own, changes()).status == 200
