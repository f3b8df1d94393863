"""Trino's requests to realms of DataHub and of a custom model, and to several realms at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from lakewarden.engines import mapping
from lakewarden.kernel.change import StatementAdded
from lakewarden.kernel.principal import Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.statement_file import read_statements
from lakewarden.models import own
from lakewarden.models.own import ModelText
from lakewarden.service import realms, token
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.load import LoadResult, load_rows
from lakewarden.service.realm import CONTROL, DIRECTORY, Realm
from lakewarden.service.system import System, load_system
from lakewarden.service.token import Issued, Terms
from lakewarden.store import open_store
from tests.administrators import make_administrator
from tests.app.serving import Answer, Served
from tests.app.threaded import threaded
from tests.http.opa.test_served import ROOT, refusal, table

ON: Final = {"trino": "on"}
HUB: Final = {
    **ON,
    "view_authorization": "on",
    "bootstrap": "closed",
    "unrestricted": "guide",
}

CONFIGURATION: Final = """
[trino.lake]
metalake = "lk"
realms = ["lake", "hub"]

[trino.lenient]
metalake = "lk"
realms = ["lenient", "lake", "hub"]
require = "any"

[trino.blind]
metalake = "lk"
realms = ["blind", "gone"]

[trino.stranger]
metalake = "lk"
realms = ["stranger", "silent"]

[trino.hub.parts]
environment = "DEV"
"""

SHELF: Final = own.of_text((Path(__file__).parent / "shelf.toml").read_text("utf-8"), "shelf.toml")


def dataset(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:trino,{name},DEV)"


def container(*names: str) -> str:
    """The container of a catalog or a schema, named like in DataHub's ingestion."""
    place = mapping.of_model("datahub")["trino"].places["schema" if names[1:] else "catalog"]
    parts = {"platform": "trino", "environment": "DEV", "instance": "DEV"}
    text = place.text({**parts, **dict(zip(("catalog", "schema"), names, strict=False))})
    assert text is not None
    return text


def test_containers_are_those_of_the_ingestion_of_datahub() -> None:
    """Digests from the tests of datahub-project/datahub, and of a client of it."""
    places = mapping.of_model("datahub")["trino"].places
    parts = {"platform": "postgres", "instance": "DEV", "catalog": "example_db"}
    assert places["catalog"].text(parts) == "urn:li:container:877925964b937b391ead54462bf98b9d"
    named = places["schema"].text({**parts, "schema": "catalog"})
    assert named == "urn:li:container:d30ba0aa3cb3374982ca9a9db3466b5e"


def _lake(system: System) -> Facts:
    """`ana` and `bo` may read all of `c.sales`, and `mia` owns everything."""
    names = ("metalake:lk", "catalog:lk:c", "schema:lk:c.sales", "table:lk:c.sales.orders")
    entities = [system.entity(name) for name in (*names, "table:lk:c.sales.clients")]
    users = [system.principal(name) for name in ("ana", "bo")]
    reader = Principal("role", "lk:reader")
    grants = (("USE_CATALOG", 1), ("USE_SCHEMA", 2), ("SELECT_TABLE", 2), ("INSERT_ROWS", 2))
    stated: list[dict[str, object]] = [
        {"id": privilege, "privileges": [privilege], "on": names[n], "to": ["role:lk:reader"]}
        for privilege, n in grants
    ]
    on = "table:lk:c.sales.orders"
    stated += [
        {"id": "eu", "effect": "filter", "on": on, "expression": "region = 'eu'",
         "except": ["user:mia"]},
        {"id": "l4", "effect": "mask", "on": on, "expression": "last4", "to": ["user:ana"]},
    ]  # fmt: skip
    memberships = [MembershipRow(user, of) for user in users for of in (members_of("lk"), reader)]
    mia = system.principal("mia")
    memberships.append(MembershipRow(mia, members_of("lk")))
    facts = _facts(system, entities, memberships, stated, [*users, mia, reader])
    return replace(facts, owners=[OwnerRow(entities[0], mia)])


def _hub(system: System) -> Facts:
    """`ana` may see and read `c.sales.orders`, `cleo` all of `c.sales`; `mia` may write all."""
    orders, clients = dataset("c.sales.orders"), dataset("c.sales.clients")
    hr = dataset("c.hr.people")
    catalog, schema, other = container("c"), container("c", "sales"), container("c", "hr")
    above = {schema: catalog, other: catalog, orders: schema, clients: schema, hr: other}
    column = f"urn:li:schemaField:({orders},iban)"
    typed = f"urn:li:schemaField:({orders},[version=2.0].[type=struct].[type=string].Mail)"

    def stated(id: str, privileges: list[str], who: str, field: str, *urns: str) -> dict[str, Any]:
        where = [{"field": field, "values": list(urns)}]
        return {"id": id, "privileges": privileges, "to": [f"user:urn:li:corpuser:{who}"],
                "where": where}  # fmt: skip

    urn = "urn:li:dataHubPolicy:{}".format
    everything = ["VIEW_ENTITY_PAGE", "DATA_READ_WRITE", "DATA_MANAGE_TABLES"]
    statements = [
        stated(urn("one"), ["VIEW_ENTITY_PAGE", "DATA_READ_ONLY"], "ana", "URN", orders),
        stated(urn("all"), everything, "cleo", "CONTAINER", schema),
        stated(urn("fill"), [*everything, "DATA_MANAGE_NAMESPACES"], "mia", "CONTAINER", catalog),
        stated(urn("top"), ["DATA_MANAGE_NAMESPACES"], "mia", "URN", catalog),
        {"id": "own", "effect": "filter", "on": f"dataset:{orders}",
         "expression": "buyer = $user.name",
         "except": ["user:urn:li:corpuser:cleo", "user:urn:li:corpuser:mia"]},
        {"id": "iban", "effect": "mask", "on": f"schemaField:{column}", "expression": "null",
         "to": ["user:urn:li:corpuser:ana"]},
        {"id": "mail", "effect": "mask", "on": f"schemaField:{typed}", "expression": "null",
         "to": ["user:urn:li:corpuser:ana"]},
    ]  # fmt: skip
    entities = [system.entity(one) for one in (catalog, *above, column)]
    parents = {system.entity(one): system.entity(of) for one, of in above.items()}
    users = [system.principal(name) for name in ("ana", "cleo", "mia")]
    return _facts(system, entities, [], statements, users, parents)


def _shelf(system: System) -> Facts:
    names = ("shelf:c/sales", "book:c/sales/orders", "book:c/sales/clients", "book:c/s/o/x")
    entities = [system.entity(name) for name in names]
    stated: list[dict[str, object]] = [
        {"id": "r", "privileges": ["READ"], "on": "book:c/sales/orders", "to": ["user:ana"]},
        {"id": "w", "privileges": ["READ", "WRITE"], "on": "shelf:c/sales", "to": ["user:bo"]},
        {"id": "x", "privileges": ["READ"], "on": "book:c/s/o/x", "to": ["user:bo"]},
        {"id": "f", "effect": "filter", "on": "shelf:c/sales", "expression": "n > 1"},
    ]
    parents = dict.fromkeys(entities[1:3], entities[0])
    users = [system.principal(name) for name in ("ana", "bo")]
    return _facts(system, entities, [], stated, users, parents)


def _facts(
    system: System,
    entities: Sequence[Any],
    memberships: Sequence[MembershipRow],
    stated: Sequence[dict[str, Any]],
    principals: Sequence[Principal],
    parents: Any = None,
) -> Facts:
    parent = system.spelling.parent
    above = parents or {}
    return Facts(
        entities=[EntityRow(one, above.get(one) or parent(one)) for one in entities],
        principals=list(principals),
        memberships=list(memberships),
        statements=read_statements(stated, system.model, system.spelling, "statements"),
    )


def furnish(service: DecisionService) -> str:
    service.open()
    service.write(SYSTEM, realms.establish_control)
    service.write(SYSTEM, lambda d: make_administrator(d, "root", DIRECTORY))
    filled: list[tuple[str, str, dict[str, str], ModelText | None, Any]] = [
        ("lake", "gravitino", ON, None, _lake),
        ("hub", "datahub", HUB, None, _hub),
        ("shelf", "shelf", ON, SHELF, _shelf),
        ("lenient", "gravitino", ON, None, None),
        ("blind", "gravitino", ON, None, None),
        ("stranger", "gravitino", ON, None, None),
        ("silent", "gravitino", ON, None, None),
    ]
    root = Actor("root", credential="test")
    for name, model, settings, text, facts in filled:
        realm = Realm(name, model, settings=settings, text=text)
        service.write(SYSTEM, partial(realms.establish, realm=realm))
        if facts is not None:
            system = load_system(model, settings, text)
            loaded = load_rows(service, root, name, system, facts(system))
            assert isinstance(loaded, LoadResult), loaded
    control = load_system("control")
    asking = [
        {"id": f"ask-{name}", "privileges": ["ASK"], "to": ["user:trino"], "on": f"realm:{name}"}
        for name, *_ in filled
        if name != "silent"
    ]
    statements = read_statements(asking, control.model, control.spelling, "statements")
    service.write(SYSTEM, lambda d: d.change(CONTROL, *(StatementAdded(one) for one in statements)))
    made = service.write(root, lambda d: token.create(d, "trino", terms=Terms(engine=True)))
    assert isinstance(made, Issued)
    return made.text


class Asking:
    """A server, and an engine's token."""

    def __init__(self, served: Served, token: str) -> None:
        self.served, self._token = served, token

    def ask(self, realm: str, path: str, user: str, action: dict[str, Any]) -> Answer:
        body = {"input": {"context": {"identity": {"user": user}}, "action": action}}
        where = f"/r/{realm}/opa/v1/{path}?token={self._token}"
        return self.served.ask("POST", where, body)

    def result(self, realm: str, path: str, user: str, action: dict[str, Any]) -> Any:
        answer = self.ask(realm, path, user, action)
        assert answer.status == 200, answer.body
        found: Any = answer.json()
        return found["result"]

    def allows(self, realm: str, user: str, operation: str, **resource: object) -> bool:
        found = self.result(realm, "allow", user, {"operation": operation, "resource": resource})
        assert isinstance(found, bool)
        return found

    def tables(self, realm: str, user: str, *names: str, catalog: str = "c") -> list[str]:
        resources = [{"table": table(name, catalog)} for name in names]
        action = {"operation": "FilterTables", "filterResources": resources}
        shown = [names[n] for n in self.result(realm, "batch", user, action)]
        single = [one for one in names if self.allows(realm, user, "FilterTables",
                                                      table=table(one, catalog))]  # fmt: skip
        assert shown == single
        return shown

    def filters(self, realm: str, user: str, name: str) -> list[str]:
        action = {"operation": "GetRowFilters", "resource": {"table": table(name, "c")}}
        return [one["expression"] for one in self.result(realm, "row-filters", user, action)]

    def mask(self, realm: str, user: str, of: str, column: str) -> str | None:
        named = table(of, "c", columnName=column, columnType="varchar")
        action: dict[str, Any] = {"operation": "GetColumnMask", "resource": {"column": named}}
        single = self.result(realm, "column-masks", user, action)
        action = {"operation": "GetColumnMask", "filterResources": [{"column": named}]}
        batch = self.result(realm, "batch-column-masks", user, action)
        assert [one["viewExpression"] for one in batch] == ([] if single is None else [single])
        return None if single is None else str(single["expression"])


@pytest.fixture(name="asking", scope="module")
def _asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    folder = tmp_path_factory.mktemp("realms")
    with open_store(f"sqlite:///{folder}/store.db") as store:
        text = furnish(DecisionService(store))
    (folder / "lakewarden.toml").write_text(CONFIGURATION)
    file = folder / "lakewarden.toml"
    with threaded(folder, config=file, auth="token", admin="root", root_token=ROOT) as served:
        yield Asking(served, text)


CATALOG: Final = {"name": "c"}
SALES: Final = {"catalogName": "c", "schemaName": "sales"}
HR: Final = {"catalogName": "c", "schemaName": "hr"}
ORDERS: Final = {**table("sales.orders", "c"), "columns": ["id"]}
CLIENTS: Final = {**table("sales.clients", "c"), "columns": ["id"]}


def test_datahub_reads_by_its_privileges_over_data(asking: Asking) -> None:
    assert asking.allows("hub", "ana", "SelectFromColumns", table=ORDERS)
    assert not asking.allows("hub", "ana", "SelectFromColumns", table=CLIENTS)
    assert not asking.allows("hub", "ana", "InsertIntoTable", table=ORDERS)
    assert asking.allows("hub", "cleo", "InsertIntoTable", table=CLIENTS)
    assert asking.allows("hub", "cleo", "CreateTable", table=table("sales.new", "c"))
    assert asking.allows("hub", "cleo", "DropTable", table=table("sales.orders", "c"))
    assert not asking.allows("hub", "cleo", "CreateView", table=table("sales.new", "c"))
    assert not asking.allows("hub", "cleo", "CreateTable", table=table("hr.new", "c"))
    assert not asking.allows("hub", "ana", "CreateTable", table=table("sales.new", "c"))
    assert not asking.allows("hub", "cleo", "SetTableAuthorization", table=ORDERS)


def test_what_one_sees_in_datahub_shows_what_contains_it(asking: Asking) -> None:
    names = ("sales.orders", "sales.clients", "hr.people", "sales.absent")
    assert asking.tables("hub", "ana", *names) == ["sales.orders"]
    assert asking.tables("hub", "cleo", *names) == ["sales.orders", "sales.clients"]
    for user, seen in (("ana", True), ("cleo", True), ("eve", False)):
        assert asking.allows("hub", user, "AccessCatalog", catalog=CATALOG) is seen
        assert asking.allows("hub", user, "FilterSchemas", schema=SALES) is seen
        assert asking.allows("hub", user, "ShowTables", schema=SALES) is seen
        assert not asking.allows("hub", user, "FilterSchemas", schema=HR)
        assert not asking.allows("hub", user, "AccessCatalog", catalog={"name": "d"})
    action = {
        "operation": "FilterSchemas",
        "filterResources": [{"schema": HR}, {"schema": SALES}],
    }
    assert asking.result("hub", "batch", "ana", action) == [1]


def test_names_of_datahub_reach_into_no_other(asking: Asking) -> None:
    for name in ("orders,DEV)", "x,DEV),orders", "orders,PROD", "(orders", "", "s.orders"):
        resource = {"catalogName": "c", "schemaName": "sales", "tableName": name}
        assert not asking.allows("hub", "cleo", "SelectFromColumns", table=resource), name
    split = {"catalogName": "c.sales", "schemaName": "orders", "tableName": "x"}
    assert not asking.allows("hub", "cleo", "SelectFromColumns", table=split)
    assert asking.tables("hub", "cleo", "sales.orders,DEV)", "sales.orders") == ["sales.orders"]


def test_filters_and_masks_of_datahub_bind(asking: Asking) -> None:
    assert asking.filters("hub", "ana", "sales.orders") == ["\"buyer\" = 'urn:li:corpuser:ana'"]
    assert asking.filters("hub", "cleo", "sales.orders") == []
    assert asking.mask("hub", "ana", "sales.orders", "iban") == "CAST(NULL AS varchar)"
    assert asking.mask("hub", "ana", "sales.orders", "mail") == "CAST(NULL AS varchar)"
    assert asking.mask("hub", "ana", "sales.orders", "id") is None
    assert asking.mask("hub", "cleo", "sales.orders", "iban") is None


def test_a_model_of_ones_own_says_what_trino_may(asking: Asking) -> None:
    assert asking.allows("shelf", "ana", "SelectFromColumns", table=ORDERS)
    assert not asking.allows("shelf", "ana", "SelectFromColumns", table=CLIENTS)
    assert not asking.allows("shelf", "ana", "InsertIntoTable", table=ORDERS)
    assert asking.allows("shelf", "bo", "InsertIntoTable", table=CLIENTS)
    assert not asking.allows("shelf", "bo", "DropTable", table=CLIENTS)
    assert asking.allows("shelf", "eve", "ExecuteQuery")
    names = ("sales.orders", "sales.clients", "sales.absent")
    assert asking.tables("shelf", "ana", *names) == ["sales.orders"]
    assert asking.tables("shelf", "bo", *names) == ["sales.orders", "sales.clients"]
    assert asking.tables("shelf", "bo", "o.x", "s.o/x", catalog="c/s") == []
    assert asking.tables("shelf", "bo", "s.o/x") == []
    assert asking.filters("shelf", "ana", "sales.orders") == ['"n" > 1']


def test_all_realms_of_a_table_have_to_allow(asking: Asking) -> None:
    assert asking.allows("lake", "ana", "SelectFromColumns", table=ORDERS)
    assert not asking.allows("lake", "ana", "SelectFromColumns", table=CLIENTS)
    assert not asking.allows("lake", "bo", "SelectFromColumns", table=ORDERS)
    assert not asking.allows("lake", "cleo", "SelectFromColumns", table=ORDERS)
    assert not asking.allows("lake", "ana", "InsertIntoTable", table=ORDERS)
    names = ("sales.orders", "sales.clients", "information_schema.tables")
    assert asking.tables("lake", "ana", *names) == ["sales.orders", "information_schema.tables"]
    assert asking.tables("lake", "bo", *names) == []


def test_one_of_the_realms_of_a_table_is_enough_where_it_says_so(asking: Asking) -> None:
    for user in ("ana", "bo", "cleo"):
        assert asking.allows("lenient", user, "SelectFromColumns", table=ORDERS), user
    assert not asking.allows("lenient", "eve", "SelectFromColumns", table=ORDERS)
    names = ("sales.orders", "sales.clients", "hr.people")
    for user in ("ana", "bo", "cleo"):
        assert asking.tables("lenient", user, *names) == ["sales.orders", "sales.clients"], user


def test_what_a_realm_limits_no_other_lets_be_renamed(asking: Asking) -> None:
    for operation in ("AddColumn", "RenameColumn"):
        assert asking.allows("hub", "cleo", operation, table=ORDERS)
        assert not asking.allows("lenient", "cleo", operation, table=ORDERS)
        assert asking.allows("lenient", "cleo", operation, table=CLIENTS)


@pytest.mark.parametrize("realm", ["lake", "lenient"])
def test_the_filters_of_all_realms_hold_and_the_strictest_mask_counts(
    asking: Asking, realm: str
) -> None:
    both = ["\"region\" = 'eu'", "\"buyer\" = 'urn:li:corpuser:ana'"]
    assert asking.filters(realm, "ana", "sales.orders") == both
    assert asking.mask(realm, "ana", "sales.orders", "iban") == "CAST(NULL AS varchar)"
    assert "****" in str(asking.mask(realm, "ana", "sales.orders", "name"))
    assert asking.filters(realm, "ana", "sales.clients") == []
    # A name that one of the realms cannot express: all must know it, or one.
    hidden = ["FALSE"]
    assert asking.filters(realm, "ana", "sales.a.b") == hidden
    assert asking.filters(realm, "ana", "sales.a)") == ([] if realm == "lenient" else hidden)


@pytest.mark.parametrize(("realm", "status"), [("blind", 403), ("stranger", 403)])
def test_a_realm_that_cannot_be_asked_denies_all(asking: Asking, realm: str, status: int) -> None:
    """One does not exist, in the other the token has no permission."""
    for path in ("allow", "batch", "row-filters", "column-masks", "batch-column-masks"):
        action = {"operation": "ExecuteQuery"}
        assert refusal(asking.ask(realm, path, "ana", action))[0] == status, path
