"""Row filters and column masks: stored over the API, sent to Trino as SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lakewarden.engines import engine
from tests.http.opa.test_served import ROOT, Trino, served_realm, table

NOTHING = "CAST(NULL AS VARCHAR)"
COLUMN_TYPES = {"id": "integer", "region": "varchar(20)", "iban": "varchar", "day": "date"}


@pytest.fixture(scope="module")
def trino(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    yield from served_realm(tmp_path_factory.mktemp("limits"))


def put(trino: Trino, kind: str, id: str, **body: Any) -> Any:
    path = f"/api/v1/realms/gravitino/{kind}s/{id}"
    stated = {key: value for key, value in body.items() if value is not None}
    return trino.served.ask("PUT", path, stated, token=ROOT)


def filters(trino: Trino, user: str, name: str = "sales.orders", catalog: str = "memory") -> Any:
    action = {"operation": "GetRowFilters", "resource": {"table": table(name, catalog)}}
    found = trino.result("row-filters", user, action)
    return [one["expression"] for one in found]


def column(name: str, of: str = "sales.orders", catalog: str = "memory") -> dict[str, Any]:
    return {
        "column": table(of, catalog, columnName=name, columnType=COLUMN_TYPES.get(name, "varchar"))
    }


def mask(trino: Trino, user: str, name: str, of: str = "sales.orders") -> Any:
    action = {"operation": "GetColumnMask", "resource": column(name, of)}
    found = trino.result("column-masks", user, action)
    return None if found is None else found["expression"]


@pytest.fixture
def furnished(trino: Trino) -> Iterator[Trino]:
    """The realm with filters and masks, which are removed afterwards."""
    made: list[str] = []

    def state(kind: str, id: str, **body: Any) -> None:
        answer = put(trino, kind, id, **body)
        assert answer.status == 200, answer.body
        made.append(id)

    state(
        "filter",
        "own-region",
        on="table:lk:lake.sales.orders",
        expression="region = $user.name",
        **{"except": ["role:lk:writer"]},
    )
    state(
        "filter",
        "recent",
        on="schema:lk:lake.sales",
        expression="day >= date '2024-01-01'",
        to=["role:lk:reader"],
    )
    state(
        "mask",
        "iban",
        on="column:lk:lake.sales.orders.iban",
        expression="last4",
        **{"except": ["owners"]},
    )
    state(
        "mask", "hidden", on="column:lk:lake.sales.orders.iban", expression="null", to=["user:bo"]
    )
    state("mask", "years", on="schema:lk:lake.sales", expression="year", to=["user:ana"])
    yield trino
    for id in made:
        path = f"/api/v1/realms/gravitino/statements/{id}"
        assert trino.served.ask("DELETE", path, token=ROOT).status < 300


def test_every_filter_that_binds_is_answered(furnished: Trino) -> None:
    recent = "\"day\" >= CAST('2024-01-01' AS DATE)"
    assert filters(furnished, "ana") == ["\"region\" = 'ana'", recent]
    assert filters(furnished, "bo") == [recent]
    assert filters(furnished, "olga") == ["\"region\" = 'olga'"]
    assert filters(furnished, "o'hara") == ["\"region\" = 'o''hara'"]
    assert filters(furnished, "ana", "hr.people") == []
    assert filters(furnished, "ana", "sales.totals") == [recent]
    assert filters(furnished, "ana", "sales.not_stored") == [recent]


def test_of_several_masks_the_strictest_counts(furnished: Trino) -> None:
    assert mask(furnished, "bo", "iban") == "CAST(NULL AS varchar)"
    assert mask(furnished, "eve", "iban").endswith(" AS varchar)")
    assert mask(furnished, "eve", "id") is None
    assert "DATE_TRUNC" in mask(furnished, "ana", "day")


def test_a_mask_that_does_not_fit_a_column_hides_it(furnished: Trino) -> None:
    assert mask(furnished, "ana", "id") == "CAST(NULL AS integer)"
    assert mask(furnished, "ana", "region") == "CAST(NULL AS varchar(20))"


def test_the_owner_of_the_table_is_excepted(furnished: Trino) -> None:
    owned = {"entity": "table:lk:lake.sales.orders", "owners": [{"principal": "user:olga"}]}
    path = "/api/v1/realms/gravitino/entity"
    assert furnished.served.ask("PUT", path, owned, token=ROOT).status < 300
    assert mask(furnished, "olga", "iban") is None
    assert mask(furnished, "eve", "iban") is not None
    owned["owners"] = []
    assert furnished.served.ask("PUT", path, owned, token=ROOT).status < 300
    assert mask(furnished, "olga", "iban") is not None


WHOLE = [name for name, act in engine.load("trino").acts.items() if act.whole]


@pytest.mark.parametrize(
    ("kind", "on", "bound"),
    [
        ("filter", "table:lk:lake.sales.orders", ["table"]),
        ("filter", "view:lk:lake.sales.totals", ["view"]),
        ("filter", "schema:lk:lake.sales", ["table", "view"]),
        ("mask", "column:lk:lake.sales.orders.iban", ["table"]),
        ("mask", "column:lk:lake.sales.orders.not_stored", ["table"]),
    ],
)
def test_whom_a_filter_or_mask_binds_renames_and_empties_nothing(
    trino: Trino, kind: str, on: str, bound: list[str]
) -> None:
    """A filter or a mask applies to names, and Trino does not report that a name has changed."""
    assert {"RenameColumn", "DropColumn", "RenameTable", "RenameView", "TruncateTable"} < {*WHOLE}

    def may(operation: str, name: str) -> bool:
        action: dict[str, Any] = {"operation": operation, "resource": {"table": table(name)}}
        if operation.startswith("Rename") and operation != "RenameColumn":
            action["targetResource"] = {"table": table("sales.other")}
        return trino.result("allow", "olga", action) is True

    named = {act: "sales.totals" if "View" in act else "sales.orders" for act in WHOLE}
    assert all(may(act, name) for act, name in named.items())
    expression = "id = 1" if kind == "filter" else "null"
    assert put(trino, kind, "bound", on=on, expression=expression).status == 200
    try:
        denied = {act for act, name in named.items() if not may(act, name)}
        kinds = {"table": "sales.orders", "view": "sales.totals"}
        assert denied == {act for act in WHOLE if named[act] in [kinds[one] for one in bound]}
        assert may("RenameColumn", "hr.people")
        # Trino limits these to the visible rows, and refuses them if a value is masked.
        assert all(may(act, "sales.orders") for act in ("DeleteFromTable", "InsertIntoTable"))
        spared = {"except": ["user:olga"]}
        assert put(trino, kind, "bound", on=on, expression=expression, **spared).status == 200
        assert all(may(act, name) for act, name in named.items())
    finally:
        path = "/api/v1/realms/gravitino/statements/bound"
        assert trino.served.ask("DELETE", path, token=ROOT).status < 300


def test_masks_of_many_columns_are_answered_by_index(furnished: Trino) -> None:
    names = ["id", "region", "iban", "day"]
    resources = [column(name) for name in names]
    action = {"operation": "GetColumnMask", "filterResources": resources}
    found = furnished.result("batch-column-masks", "bo", action)
    assert [(one["index"], one["viewExpression"]["expression"]) for one in found] == [
        (2, "CAST(NULL AS varchar)")
    ]
    every = furnished.result("batch-column-masks", "ana", action)
    assert [one["index"] for one in every] == [0, 1, 2, 3]


def test_what_the_engine_declares_is_not_limited(furnished: Trino) -> None:
    for name, catalog in (("information_schema.tables", "memory"), ("jdbc.tables", "system")):
        assert filters(furnished, "ana", name, catalog) == []
        action = {"operation": "GetColumnMask", "resource": column("id", name, catalog)}
        assert furnished.result("column-masks", "ana", action) is None


def test_a_question_that_names_nothing_shows_nothing(furnished: Trino) -> None:
    for path, operation, nothing in (
        ("row-filters", "GetRowFilters", [{"expression": "FALSE"}]),
        ("column-masks", "GetColumnMask", {"expression": "NULL"}),
    ):
        assert furnished.result(path, "ana", {"operation": operation}) == nothing
        schema = {"catalogName": "memory", "schemaName": "sales"}
        action = {"operation": operation, "resource": {"schema": schema}}
        assert furnished.result(path, "ana", action) == nothing
        assert furnished.result(path, "ana", {**action, "operation": "Unheard"}) == nothing
    hostile = column("id", "sales.orders.x")
    action = {"operation": "GetColumnMask", "resource": hostile}
    assert furnished.result("column-masks", "ana", action) == {"expression": "NULL"}
    assert filters(furnished, "ana", "sales.orders.x") == ["FALSE"]


@pytest.mark.parametrize(
    ("kind", "body", "problem"),
    [
        ("filter", {"expression": ""}, "expression: expected a non-empty string"),
        ("filter", {"expression": "now() > day"}, "body.expression: `NOW()`: expected one of"),
        ("filter", {"expression": "a in (select 1)"}, "not part of expressions"),
        (
            "filter",
            {"expression": "a in lookup.b"},
            "unknown lookup table `b`; known: none is declared",
        ),
        ("mask", {"expression": "hide"}, "body.expression: `hide`: expected null, redact"),
        ("mask", {"expression": "sql 'rand()'"}, "body.expression: `RAND()`: expected one of"),
        ("filter", {"expression": "a = 1", "on": "role:lk:reader"}, ""),
        ("filter", {"expression": "a = 1", "privileges": ["SELECT_TABLE"]}, "unknown field"),
    ],
)
def test_what_cannot_be_read_is_refused(
    trino: Trino, kind: str, body: dict[str, Any], problem: str
) -> None:
    answer = put(trino, kind, "refused", **{"on": "table:lk:lake.sales.orders", **body})
    assert answer.status == 400, answer.body
    assert problem in answer.json()["detail"] or problem in str(answer.json()["errors"])


def test_a_grant_does_not_become_a_filter(trino: Trino) -> None:
    body = {"on": "table:lk:lake.sales.orders", "expression": "a = 1"}
    assert put(trino, "filter", "USE_CATALOG", **body).status == 409
    answer = put(trino, "filter", "urn:li:dataHubPolicy:x", **body)
    assert answer.status == 400
    assert "must not be a URN" in answer.json()["detail"]


def test_filters_and_masks_are_listed_with_their_descriptions(furnished: Trino) -> None:
    path = "/api/v1/realms/gravitino/statements?effect=mask"
    answer: Any = furnished.served.ask("GET", path, token=ROOT).json()
    rows = {row["id"]: row for row in answer["statements"]}
    assert set(rows) == {"iban", "hidden", "years"}
    assert rows["iban"]["except"] == ["owners"]
    said = "".join(word["text"] for word in rows["iban"]["words"])
    assert (
        said
        == (
            "everybody may see values on column lk:lake.sales.orders.iban only as last4,"
            " except owners of the resource"
        )
        or "only as last4, except owners of the resource" in said
    )
    path = "/api/v1/realms/gravitino/statements/recent"
    one: Any = furnished.served.ask("GET", path, token=ROOT).json()
    assert one["expression"] == "day >= date '2024-01-01'"


def test_whoever_is_removed_is_no_longer_an_exception(trino: Trino) -> None:
    served = trino.served
    path = "/api/v1/directories/main/users/zoe"
    assert served.ask("PUT", path, token=ROOT).status < 300
    body = {"on": "table:lk:lake.sales.orders", "expression": "a = 1", "except": ["user:zoe"]}
    assert put(trino, "filter", "spares-zoe", **body).status == 200
    assert filters(trino, "zoe") == []
    assert served.ask("DELETE", path, token=ROOT).status < 300
    assert filters(trino, "zoe") == ['"a" = 1']
    statement = "/api/v1/realms/gravitino/statements/spares-zoe"
    assert served.ask("DELETE", statement, token=ROOT).status < 300


def test_a_mask_by_tag_meets_columns_below_what_carries_it(trino: Trino) -> None:
    served, entity = trino.served, "/api/v1/realms/gravitino/entity"
    path = "/api/v1/realms/gravitino/statements/personal"

    issued: Any = served.ask("POST", "/api/v1/tokens", {"user": "olga"}, token=ROOT).json()
    olga = issued["token"]

    def tagged(table: str, **change: list[str]) -> None:
        tags = f"/r/gravitino/api/metalakes/lk/objects/table/lake.{table}/tags"
        body = {"tagsToAdd": [], "tagsToRemove": [], **change}
        answer = served.ask("POST", tags, body, token=olga)
        assert answer.status == 200, answer.body

    assert served.ask("PUT", entity, {"entity": "tag:lk:pii"}, token=ROOT).status < 300
    where = [{"field": "TAG", "values": ["lk:pii"]}]
    answer = put(trino, "mask", "personal", on=None, where=where, expression="null")
    assert answer.status == 200, answer.body
    assert mask(trino, "ana", "id") is None
    tagged("sales.orders", tagsToAdd=["pii"])
    assert mask(trino, "ana", "id") == "CAST(NULL AS integer)"
    assert mask(trino, "ana", "id", "hr.people") is None
    tagged("sales.orders", tagsToRemove=["pii"])
    assert mask(trino, "ana", "id") is None
    grant = {"privileges": ["SELECT_TABLE"], "to": ["user:ana"], "where": where}
    refused = served.ask("PUT", path.replace("personal", "by-tag"), grant, token=ROOT)
    assert refused.status == 400
    assert "only filters and masks choose by `TAG`" in str(refused.json())
    assert served.ask("DELETE", path, token=ROOT).status < 300


def test_what_a_directory_knows_of_a_user_is_compared_with(trino: Trino) -> None:
    served, of = trino.served, "/api/v1/directories/main/users"
    name = "own-attribute"
    body = {
        "on": "table:lk:lake.hr.people",
        "expression": "region = $user.region or region is null",
    }
    assert put(trino, "filter", name, **body).status == 200

    def rows() -> list[str]:
        return list(filters(trino, "ina", "hr.people"))

    assert served.ask("PUT", f"{of}/ina", token=ROOT).status < 300
    assert rows() == [f'("region" = {NOTHING}) OR ("region" IS NULL)']
    known = {"attributes": {"region": "o'EU", "level": "3"}}
    assert served.ask("PUT", f"{of}/ina/attributes", known, token=ROOT).status == 204
    assert served.ask("GET", f"{of}/ina/attributes", token=ROOT).json() == known
    assert rows() == ["(\"region\" = 'o''EU') OR (\"region\" IS NULL)"]
    assert served.ask("DELETE", f"{of}/ina", token=ROOT).status < 300
    assert served.ask("PUT", f"{of}/ina", token=ROOT).status < 300
    assert rows() == [f'("region" = {NOTHING}) OR ("region" IS NULL)']
    path = f"/api/v1/realms/gravitino/statements/{name}"
    assert served.ask("DELETE", path, token=ROOT).status < 300


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        ({"name": "x"}, "is known of every user"),
        ({"a b": "x"}, "expected a name of letters, digits and `_`"),
        ({"a": ""}, "expected 1 to 200 characters, got 0"),
        ({"a": "x" * 201}, "expected 1 to 200 characters, got 201"),
        ({"a": "\x07"}, "the value of `a`"),
        ({f"a{n}": "x" for n in range(51)}, "at most 50 are allowed"),
    ],
)
def test_attributes_have_names_and_values(
    trino: Trino, attributes: dict[str, str], problem: str
) -> None:
    path = "/api/v1/directories/main/users/ana/attributes"
    answer = trino.served.ask("PUT", path, {"attributes": attributes}, token=ROOT)
    assert answer.status == 400, answer.body
    assert problem in str(answer.json())


def test_only_users_who_are_stored_have_attributes(trino: Trino) -> None:
    path = "/api/v1/directories/main/users/nobody-knows/attributes"
    for method, body in (("GET", None), ("PUT", {"attributes": {"a": "b"}})):
        answer = trino.served.ask(method, path, body, token=ROOT)
        assert answer.status == 404
        assert "unknown person `nobody-knows`" in str(answer.json())


def test_filters_and_masks_compare_with_the_rows_of_a_lookup_table(trino: Trino) -> None:
    served, realm = trino.served, "/api/v1/realms/gravitino"

    def declare(rows: list[list[str]], *, force: bool = False, columns: int = 2) -> Any:
        named = [{"name": f"c{place}"} for place in range(columns)]
        body = {"columns": named, "rows": rows, "force": force}
        return served.ask("PUT", f"{realm}/lookups/managers", body, token=ROOT)

    assert declare([["eu", "ana"], ["us", "o'hara"]]).status == 200
    on = "table:lk:lake.hr.people"
    condition = "(region, $user.name) in lookup.managers"
    assert put(trino, "filter", "managed", on=on, expression=condition).status == 200
    mask_of = "sql 'case when (iban, ''x'') in lookup.managers then iban end'"
    shown = {"on": f"{on}.iban".replace("table:", "column:"), "expression": mask_of}
    assert put(trino, "mask", "known", **shown).status == 200
    first = "(\"region\" = 'eu') AND ('o''hara' = 'ana')"
    assert filters(trino, "o'hara", "hr.people") == [
        f"(({first}) OR ((\"region\" = 'us') AND ('o''hara' = 'o''hara')))"
    ]
    assert "\"iban\" = 'eu'" in mask(trino, "ana", "iban", "hr.people")
    assert declare([["apac", "zoe"]]).status == 200
    assert filters(trino, "zoe", "hr.people") == ["((\"region\" = 'apac') AND ('zoe' = 'zoe'))"]
    assert "\"iban\" = 'apac'" in mask(trino, "ana", "iban", "hr.people")

    listed: Any = served.ask("GET", f"{realm}/lookups", token=ROOT).json()
    assert listed["lookups"][0]["used_by"] == ["known", "managed"]
    one: Any = served.ask("GET", f"{realm}/lookups/managers", token=ROOT).json()
    assert one["rows"] == [["apac", "zoe"]]
    assert declare([["eu"]], columns=1).status == 409
    gone = f"{realm}/lookups/managers"
    refused: Any = served.ask("DELETE", gone, token=ROOT)
    assert refused.status == 409
    assert "is used by `known`, `managed`" in refused.json()["detail"]
    assert served.ask("DELETE", f"{gone}?force=true", token=ROOT).status < 300
    assert filters(trino, "zoe", "hr.people") == ["FALSE"]
    assert mask(trino, "ana", "iban", "hr.people") == "NULL"
    found: Any = served.ask("GET", f"{realm}/lint?rule=broken-obligation", token=ROOT).json()
    assert {row["name"] for row in found["findings"]} == {"known", "managed"}
    again = put(trino, "filter", "managed", on=on, expression=condition)
    assert again.status == 400
    assert "unknown lookup table `managers`" in again.json()["detail"]
    audited: Any = served.ask("GET", "/api/v1/audit?operation=lookup.remove", token=ROOT).json()
    assert {row["event"]["outcome"] for row in audited["rows"]} == {"allow"}
    for id in ("known", "managed"):
        assert served.ask("DELETE", f"{realm}/statements/{id}", token=ROOT).status < 300


def _typed_table(trino: Trino) -> str:
    """A Gravitino table whose columns have types."""
    issued: Any = trino.served.ask("POST", "/api/v1/tokens", {"user": "olga"}, token=ROOT).json()
    types = {"region": "varchar(20)", "day": "date", "cost": "decimal(10,2)", "at": "timestamp_tz"}
    columns: list[object] = [{"name": name, "type": type} for name, type in types.items()]
    columns += [{"name": "code", "type": "char(3)"}]
    columns += [{"name": "parts", "type": {"type": "list", "elementType": "string"}}]
    path = "/r/gravitino/api/metalakes/lk/catalogs/lake/schemas/sales/tables"
    body = {"name": "typed", "columns": columns}
    answer = trino.served.ask("POST", path, body, token=issued["token"])
    assert answer.status == 200, answer.body
    return "table:lk:lake.sales.typed"


def test_what_does_not_fit_the_type_of_a_stored_column_is_refused(trino: Trino) -> None:
    on = _typed_table(trino)
    refusals = (
        ("filter", on, "region = 5", "got integer and string; use a cast (the column `region` is"),
        ("filter", on, "cost = day", "(the column `day` is date, `cost` is decimal(10,2))"),
        ("filter", on, "cost", "expected a value of type boolean, got decimal (the column `cost`"),
        (
            "mask",
            f"{on}.day",
            "hash",
            "`hash` does not fit a column of type date (the column `day`",
        ),
        ("mask", f"{on}.day", "sql 'region'", "expected a value of type date, got string"),
        ("filter", on, "1 = 'a'", "got integer and string; use a cast"),
    )
    for kind, lies_on, expression, problem in refusals:
        where = lies_on.replace("table:", "column:") if kind == "mask" else lies_on
        answer = put(trino, kind, "typed", on=where, expression=expression)
        assert answer.status == 400, (expression, answer.body)
        assert problem in answer.json()["detail"]
        file = {"id": "typed", "on": where, "expression": expression}
        files = [{"name": "p.toml", "policy": {kind: [file]}}]
        path = "/api/v1/realms/gravitino/plan"
        planned: Any = trino.served.ask("POST", path, {"files": files}, token=ROOT)
        assert planned.status == 400
        assert problem in planned.json()["detail"]
    # An unknown type, or a scope with several tables, is not a reason to refuse an expression.
    accepted = (
        ("filter", on, "code = 'x' and parts is null and region = 'eu' and cost > 1"),
        ("filter", "schema:lk:lake.sales", "region = 5"),
        ("mask", f"{on}.region".replace("table:", "column:"), "first4"),
        ("mask", f"{on}.code".replace("table:", "column:"), "sql 'code'"),
    )
    for place, (kind, where, expression) in enumerate(accepted):
        answer = put(trino, kind, f"typed-{place}", on=where, expression=expression)
        assert answer.status == 200, answer.body
        path = f"/api/v1/realms/gravitino/statements/typed-{place}"
        assert trino.served.ask("DELETE", path, token=ROOT).status < 300


def test_what_an_engine_of_the_realm_cannot_say_is_refused(trino: Trino) -> None:
    served, realm = trino.served, "/api/v1/realms/gravitino"
    loaded: Any = served.ask("GET", realm, token=ROOT).json()
    before = loaded["settings"]

    def listing(engines: str, hive: str = "off") -> Any:
        changed = {"settings": {**before, "hive": hive, "engines": engines}}
        return served.ask("PATCH", realm, changed, token=ROOT)

    text = "at > timestamp with time zone '2024-01-01 00:00:00+00:00'"
    on = "table:lk:lake.hr.people"
    assert listing("", "on").status == 200
    answer = put(trino, "filter", "moment", on=on, expression=text)
    assert answer.status == 400
    assert "hive cannot say `timestamp with time zone`" in answer.json()["detail"]
    assert listing("").status == 200
    assert put(trino, "filter", "moment", on=on, expression=text).status == 200
    assert listing("oracle").status == 400
    assert listing("mysql, duckdb").status == 200
    told: Any = served.ask("GET", realm, token=ROOT).json()
    assert told["settings"]["engines"] == "duckdb, mysql"
    answer = put(trino, "filter", "later", on=on, expression=text)
    assert answer.status == 400
    assert "mysql cannot say `timestamp with time zone`: it has no" in answer.json()["detail"]
    masked = f"sql 'case when {text} then iban end'".replace("'2024", "''2024")
    masked = masked.replace("00:00' then", "00:00'' then")
    column_of = "column:lk:lake.hr.people.iban"
    assert put(trino, "mask", "later", on=column_of, expression=masked).status == 400
    found: Any = served.ask("GET", f"{realm}/lint?rule=broken-obligation", token=ROOT).json()
    (finding,) = found["findings"]
    assert (finding["name"], "mysql cannot say" in finding["says"]) == ("moment", True)
    assert listing("").status == 200
    assert put(trino, "filter", "later", on=on, expression=text).status == 200
    for id in ("moment", "later"):
        assert served.ask("DELETE", f"{realm}/statements/{id}", token=ROOT).status < 300
    assert served.ask("PATCH", realm, {"settings": before}, token=ROOT).status == 200
