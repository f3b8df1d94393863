"""AWS Glue and Lake Formation, queried over their APIs; moto's server is a stand-in."""

from __future__ import annotations

import itertools
import json
import logging
import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.ingest.opener import opener_of
from lakewarden.pipeline.ingest.run import Result, ingest
from lakewarden.pipeline.ingest.source import Source
from lakewarden.service.warden import Warden
from lakewarden.systems.gravitino.ingest.catalogs import aws_glue
from tests.systems.gravitino.ingest.aws_server import (
    ACCOUNT,
    LISTS,
    REGION,
    SECRET,
    Aws,
    Fault,
    aws_server,
)
from tests.systems.gravitino.ingest.test_catalog_exports import (
    ARN,
    PERMISSIONS,
    glue_table,
    ingested,
    lake_columns,
    notes,
    permission,
    written,
)
from tests.systems.gravitino.ingest.test_catalog_random import GRAVITINO, facts_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADDRESS = f"aws://{REGION}"
OTHER = {"Table": {"CatalogId": "999988887777", "DatabaseName": "shop", "Name": "orders"}}


@pytest.fixture(scope="module")
def server() -> Iterator[Aws]:
    with aws_server() as aws:
        yield aws


@pytest.fixture
def aws(server: Aws, monkeypatch: pytest.MonkeyPatch) -> Aws:
    server.reset()
    server.tell(monkeypatch)
    return server


def stored(aws: Aws, *names: str) -> None:
    """Creates a database with tables, each with one column."""
    glue = aws.client("glue")
    glue.create_database(DatabaseInput={"Name": "shop"})
    for name in names:
        table = {"Name": name, "StorageDescriptor": {"Columns": [{"Name": "id"}]}}
        glue.create_table(DatabaseName="shop", TableInput=table)


def granted(aws: Aws, *permissions: Any) -> None:
    lake = aws.client("lakeformation")
    for one in permissions:
        lake.grant_permissions(**{name: one[name] for name in list(one) if name != "Condition"})


def tag_on(aws: Aws, resource: Any, key: str, value: str) -> None:
    tags: Any = [{"TagKey": key, "TagValues": [value]}]
    aws.client("lakeformation").add_lf_tags_to_resource(Resource=resource, LFTags=tags)


def shop(aws: Aws) -> None:
    """The contents of the sample files, as far as AWS's API permits the grants."""
    stored(aws)
    glue = aws.client("glue")
    for name, columns, kind in (
        ("orders", ["id"], "EXTERNAL_TABLE"),
        ("people", ["name", "card"], "EXTERNAL_TABLE"),
        ("totals", ["n"], "VIRTUAL_VIEW"),
    ):
        table: Any = glue_table(name, *columns, kind=kind)
        kept = {key: table[key] for key in ("Name", "TableType", "PartitionKeys")}
        storage = table["StorageDescriptor"]
        glue.create_table(DatabaseName="shop", TableInput={**kept, "StorageDescriptor": storage})
    text = json.dumps(PERMISSIONS).replace("111122223333", ACCOUNT)
    granted(aws, *(one for one in json.loads(text) if "DataCellsFilter" not in one["Resource"]))
    lake = aws.client("lakeformation")
    for key, values in (("team", ["sales", "hr"]), ("pii", ["yes"])):
        lake.create_lf_tag(TagKey=key, TagValues=values)
    tag_on(aws, {"Database": {"Name": "shop"}}, "team", "sales")
    tag_on(aws, lake_columns("people", ColumnNames=["card"]), "team", "hr")


def opened(address: str = ADDRESS) -> Source:
    return opener_of("glue").open(address, "gravitino", {"metalake": "lk", "catalog": "aws"})


def read(out: Path, spark: SparkSession, address: str = ADDRESS) -> Result:
    return ingest(opened(address), out, spark=spark)


def replies(aws: Aws) -> Mapping[str, str]:
    """The files that the `aws` command would write, from a separate client."""
    glue, lake = aws.client("glue"), aws.client("lakeformation")
    team = [{"TagKey": "team", "TagValues": ["sales", "hr"]}]
    asked = {
        "databases.json": glue.get_databases(),
        "tables.json": glue.get_tables(DatabaseName="shop"),
        "permissions.json": lake.list_permissions(),
        "policies.json": {"RLSPolicyAttachments": []},
        "tags.json": aws.said("/SearchTablesByLFTags", {"Expression": team}),
    }
    return {name: json.dumps(reply, default=str) for name, reply in asked.items()}


def facts(folder: Path) -> Mapping[str, set[str]]:
    loaded = load(folder).facts
    return {
        name: {repr(row) for row in getattr(loaded, name)}
        for name in ("entities", "owners", "principals", "memberships", "statements")
    }


def test_the_api_says_what_its_pages_in_files_say(
    aws: Aws, unstarted: SparkSession, tmp_path: Path
) -> None:
    shop(aws)
    files = written(tmp_path / "files", replies(aws))
    _, by_file = ingested("glue-file", files, tmp_path / "by-file", unstarted, "aws")
    aws.size = 2
    by_api = read(tmp_path / "by-api", unstarted)
    assert facts(tmp_path / "by-api") == facts(tmp_path / "by-file")
    assert len(facts(tmp_path / "by-api")["statements"]) > 5
    loaded = load(tmp_path / "by-api")
    kim, warden = f"arn:aws:iam::{ACCOUNT}:user/kim", Warden(loaded.system, loaded.facts)
    assert warden.check(kim, "table.load", "table:lk:aws.shop.orders").allow
    assert warden.check(kim, "column.read", "column:lk:aws.shop.people.name").allow
    assert not warden.check(kim, "column.read", "column:lk:aws.shop.people.card").allow
    assert notes(by_api) == notes(by_file)
    asked = {name: max(page for one, page in aws.requests if one == name) for name in LISTS}
    assert asked == {"DatabaseList": 0, "TableList": 1, "PrincipalResourcePermissions": 6}
    # Another order of the responses is the same content, so no new version.
    aws.size = 3
    assert not read(tmp_path / "by-api", unstarted).is_new
    manifest = by_api.manifest
    assert (manifest.source, manifest.inputs[0].name) == ("glue", f"{ADDRESS}/{ACCOUNT}")


def test_what_permissions_name_is_asked(aws: Aws, unstarted: SparkSession, tmp_path: Path) -> None:
    """Filters, stored expressions and row policies, which moto does not support."""
    stored(aws, "orders", "people")
    about = {"TableCatalogId": ACCOUNT, "DatabaseName": "shop", "TableName": "people"}
    wanted = [{"TagKey": "team", "TagValues": ["sales"]}]
    many = [f"team {number}" for number in range(60)]
    aws.client("lakeformation").create_lf_tag(TagKey="team", TagValues=[*many, "sales"])
    tag_on(aws, {"Database": {"Name": "shop"}}, "team", "sales")
    named = {"CatalogId": ACCOUNT, "ResourceType": "TABLE", "ExpressionName": "sales"}
    ana, ben = f"{ARN}:user/ana", f"{ARN}:user/ben"
    granted(
        aws,
        permission(ana, {"DataCellsFilter": {**about, "Name": "ids"}}, "SELECT"),
        permission(ben, {"LFTagPolicy": named}, "SELECT"),
    )
    column = "column:lk:aws.shop"

    def readers() -> list[set[str]]:
        loaded = load(tmp_path / "out")
        warden = Warden(loaded.system, loaded.facts)
        return [
            {who.rpartition("/")[2] for who in warden.who("column.read", f"{column}.{t}.id")}
            for t in ("orders", "people")
        ]

    result = read(tmp_path / "out", unstarted)
    assert readers() == [set(), set()]
    unserved = "`RLSPolicyAttachments`, for which this endpoint has no operation"
    assert unserved in result.report.not_read
    cells = {**about, "Name": "ids", "RowFilter": {"AllRowsWildcard": {}}, "ColumnNames": ["id"]}
    aws.stored["/ListDataCellsFilter"] = {"DataCellsFilters": [cells]}
    expression = {"Name": "sales", "Expression": wanted}
    aws.stored["/ListLFTagExpressions"] = {"LFTagExpressions": [expression]}
    read(tmp_path / "out", unstarted)
    assert readers() == [{"ben"}, {"ana", "ben"}]
    attached = {"PolicyName": "own", "Principal": {}, "Resource": {"LFTagPolicy": named}}
    aws.stored["/ListRLSPolicyAttachments"] = {"RLSPolicyAttachments": [attached]}
    result = read(tmp_path / "out", unstarted)
    assert readers() == [set(), set()]
    assert unserved not in result.report.not_read


def test_what_other_accounts_share_is_left_out(
    aws: Aws, unstarted: SparkSession, tmp_path: Path
) -> None:
    stored(aws, "orders")
    own = {"Table": {"CatalogId": ACCOUNT, "DatabaseName": "shop", "Name": "orders"}}
    granted(aws, permission(f"{ARN}:user/ana", OTHER, "SELECT"))
    granted(aws, permission(f"{ARN}:user/ben", own, "SELECT"))
    result = read(tmp_path / "out", unstarted, f"{ADDRESS}/{ACCOUNT}")
    loaded = load(tmp_path / "out")
    readers = Warden(loaded.system, loaded.facts).who("table.load", "table:lk:aws.shop.orders")
    assert list(readers) == [f"{ARN}:user/ben"]
    assert notes(result) == {
        f"permission of {ARN}:user/ana: permission on another catalog: one catalog is read"
    }


def test_a_busy_service_is_asked_again(aws: Aws, unstarted: SparkSession, tmp_path: Path) -> None:
    stored(aws, "orders", "people")
    aws.size = 1
    aws.faults.append(Fault("TableList", 1, "ThrottlingException", "Rate exceeded", times=1))
    read(tmp_path / "out", unstarted)
    assert [page for name, page in aws.requests if name == "TableList"] == [0, 1, 1]
    names = {row.entity.name for row in load(tmp_path / "out").facts.entities}
    assert names >= {"lk:aws.shop.orders", "lk:aws.shop.people"}


FAULTS: list[tuple[Fault, type[Exception], str]] = [
    (
        Fault("TableList", 1, "AccessDeniedException", "ana may not\nglue:GetTables"),
        BadInput,
        "AWS refuses GetTables: AccessDeniedException: ana may not glue:GetTables",
    ),
    (
        Fault("TableList", 1, "EntityNotFoundException", "Database shop not found."),
        Unavailable,
        "the catalog changed while it was read, GetTables: EntityNotFoundException",
    ),
    (
        Fault("PrincipalResourcePermissions", 0, "ThrottledException", "Rate exceeded"),
        Unavailable,
        "AWS cannot answer ListPermissions: ThrottledException: Rate exceeded",
    ),
    (
        Fault("PrincipalResourcePermissions", 0, "InternalServiceException", "", 500),
        Unavailable,
        "AWS cannot answer ListPermissions: InternalServiceException",
    ),
    (
        Fault("DatabaseList", 0, "InvalidSignatureException", f"canonical: {SECRET}"),
        BadInput,
        r"AWS refuses the credentials \(InvalidSignatureException\)$",
    ),
    (Fault("TableList", 1, "NextToken", "1"), BadInput, "a page is given for the second time"),
]


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("fault", "error", "message"), FAULTS)
def test_what_is_half_read_is_refused(
    aws: Aws,
    unstarted: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    error: type[Exception],
    message: str,
) -> None:
    stored(aws, "orders", "people")
    read(tmp_path / "out", unstarted)
    before = facts(tmp_path / "out")
    stored_more = aws.client("glue").create_table
    stored_more(DatabaseName="shop", TableInput={"Name": "more", "StorageDescriptor": {}})
    monkeypatch.setattr(aws_glue, "TRIES", 1)
    aws.size = 1
    aws.faults.append(fault)
    with pytest.raises(error, match=message) as raised:
        read(tmp_path / "out", unstarted)
    assert SECRET not in str(raised.value)
    assert facts(tmp_path / "out") == before


def test_credentials_are_in_nothing_that_is_written(
    aws: Aws, unstarted: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored(aws, "orders")
    caplog.set_level(logging.DEBUG)
    read(tmp_path / "out", unstarted)
    assert SECRET not in caplog.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]
    assert SECRET not in repr(opened())


def test_without_credentials_nothing_is_asked(
    aws: Aws, unstarted: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(BadInput, match=r"no AWS credentials .* \(NoCredentialsError\)"):
        read(tmp_path / "out", unstarted)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setattr(aws_glue, "TRIES", 1)
    with pytest.raises(Unavailable, match="AWS cannot be asked: Could not connect"):
        read(tmp_path / "out", unstarted)


def test_a_missing_library_is_named(
    unstarted: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "botocore.config", None)
    with pytest.raises(Unavailable, match=r"pip install 'lakewarden\[aws\]'"):
        read(tmp_path / "out", unstarted)


def test_a_library_without_an_operation_is_named() -> None:
    with pytest.raises(Unavailable, match="botocore is too old and has no `list_all`"):
        aws_glue._operation(object(), "list_all")


@pytest.mark.parametrize(
    "address", ["eu-central-1", "aws://", "https://glue.host", "aws://A:s3cret@b"]
)
def test_an_address_has_a_region(address: str) -> None:
    with pytest.raises(BadInput, match="expected aws://REGION") as refused:
        opened(address)
    assert "s3cret" not in str(refused.value)


# Random grants, by an independent reading of Lake Formation's rules.

TABLES = list(itertools.product(("s", "t"), ("a", "b")))
COLUMNS = ("x", "y")
WORDS = ("SELECT", "INSERT", "DELETE", "ALTER", "DESCRIBE", "DROP")
Grant = tuple[str, tuple[str, ...], tuple[str, str], frozenset[str]]
"""A user, privileges, a table or `*` for all of its database, and the columns."""


def drawn(chance: random.Random) -> list[Grant]:
    grants: list[Grant] = []
    for _ in range(10):
        database, table = chance.choice(TABLES)
        words = tuple(chance.sample(WORDS, chance.randint(1, 4)))
        columns = frozenset(COLUMNS)
        shape = chance.randrange(4)
        if shape == 0:
            table = "*"
        elif shape == 1:
            words, columns = ("SELECT",), frozenset({chance.choice(COLUMNS)})
        elif shape == 2:
            words = ("ALL",)
        grants.append((f"u{chance.randrange(3)}", words, (database, table), columns))
    return grants


def resource(on: tuple[str, str], columns: frozenset[str], chance: random.Random) -> Any:
    database, table = on
    if table == "*":
        return {"Table": {"DatabaseName": database, "TableWildcard": {}}}
    if len(columns) == len(COLUMNS):
        return {"Table": {"DatabaseName": database, "Name": table}}
    excluded = [name for name in COLUMNS if name not in columns]
    some: Mapping[str, object] = {"ColumnNames": sorted(columns)}
    if chance.random() < 0.5:
        some = {"ColumnWildcard": {"ExcludedColumnNames": excluded}}
    return {"TableWithColumns": {"DatabaseName": database, "Name": table, **some}}


def permits(grants: list[Grant], user: str, word: str, table: tuple[str, str], column: str) -> bool:
    """Whether a grant gives the user the privilege, on the table or all its database's tables."""
    return any(
        user == who and {word, "ALL"} & {*words} and on in (table, (table[0], "*")) and column in of
        for who, words, on, of in grants
    )


@pytest.mark.by_day(1)
@pytest.mark.parametrize("seed", range(6))
def test_random_permissions(aws: Aws, unstarted: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    glue = aws.client("glue")
    for database in ("s", "t"):
        glue.create_database(DatabaseInput={"Name": database})
    for database, name in TABLES:
        fields = [{"Name": column} for column in COLUMNS]
        table = {"Name": name, "StorageDescriptor": {"Columns": fields}}
        glue.create_table(DatabaseName=database, TableInput=table)
    grants = drawn(chance)
    for user, words, on, columns in grants:
        where = resource(on, columns, chance)
        granted(aws, permission(f"{ARN}:user/{user}", where, *words))
    aws.size = 3
    found = opened().read(unstarted, GRAVITINO, tmp_path, lambda *_: None)
    assert isinstance(found.rows, list)
    warden = Warden(GRAVITINO, facts_of(found.rows))
    for user, (database, name) in itertools.product({grant[0] for grant in grants}, TABLES):
        named = f"lk:aws.{database}.{name}"

        def allows(operation: str, entity: str, who: str = f"{ARN}:user/{user}") -> bool:
            return warden.check(who, operation, entity).allow

        def has(
            word: str, column: str, who: str = user, at: tuple[str, str] = (database, name)
        ) -> bool:
            return permits(grants, who, word, at, column)

        for column in COLUMNS:
            reads = has("SELECT", column)
            assert allows("column.read", f"column:{named}.{column}") is reads, (user, named, column)
        assert allows("table.load", f"table:{named}") <= all(has("SELECT", c) for c in COLUMNS)
        assert allows("table.write", f"table:{named}") <= (has("INSERT", "x") or has("DELETE", "x"))
        assert allows("table.alter", f"table:{named}") <= has("ALTER", "x")
        assert not allows("table.drop", f"table:{named}")
