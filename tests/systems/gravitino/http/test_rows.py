"""Every row of the page's table of required conditions, over the wire.

For each operation of a row: a user with exactly the row's privileges succeeds, and so does the
owner of the metalake; a user of the metalake without them, or (if every user may) a caller who is
not a user, is denied with 403. The register of the rows is `tests/register/gravitino.toml`.
SOURCE: Apache Gravitino 1.1.0, access control page, API required conditions.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from lakewarden.app.routing import RouteMatch
from lakewarden.names.canonical import split_path
from tests.systems.gravitino.http.court import FORBIDDEN, ML, PERMISSIONS, allow, hold, on
from tests.systems.gravitino.http.small_lake import COLUMNS, REL, S, T, fill
from tests.systems.gravitino.http.wire import ADMIN, Json, Wire

REGISTER = Path(__file__).parents[3] / "register" / "gravitino.toml"

BY_FILTER: Final = {"object.access": "what lists of a tag's or a policy's objects ask of each"}
"""Operations without their own route."""

C = f"{ML}/catalogs"
TOPICS = f"{C}/msg/schemas/default/topics"
FILESETS = f"{C}/fil/schemas/s/filesets"
MODELS = f"{C}/mod/schemas/s/models"
VERSIONS = f"{MODELS}/m/versions"
STATISTICS = f"{ML}/objects/table/rel.s.t/statistics"
TABLE_TAGS = f"{ML}/objects/table/rel.s.t/tags"
TABLE_POLICIES = f"{ML}/objects/table/rel.s.t/policies"
CONTENT: Json = {"supportedObjectTypes": ["TABLE"]}
TEMPLATE: Json = {"name": "new", "jobType": "shell", "executable": "x.sh"}
COMMENT: Json = {"updates": [{"@type": "updateComment", "newComment": "new"}]}
PROPERTY: Json = {"updates": [{"@type": "setProperty", "property": "a", "value": "b"}]}

Given = tuple[Json, ...]


def uses(catalog: str) -> Given:
    return (on("catalog", catalog, allow("USE_CATALOG", "USE_SCHEMA")),)


def on_leaf(type: str, name: str, *privileges: str) -> Given:
    """The use of the containers, and these privileges on a table, topic, fileset or model."""
    return (*uses(name.partition(".")[0]), on(type, name, allow(*privileges)))


def on_lake(*privileges: str) -> Given:
    return (on("metalake", "lk", allow(*privileges)),)


@dataclass(frozen=True)
class Case:
    """One request and its requirements: privileges (`given`), owned objects (`owns`).

    `everybody`: every user of the metalake may. `by` and `against` replace the caller and the
    denied caller.
    """

    method: str
    path: str
    body: object = None
    given: Given = ()
    owns: tuple[str, ...] = ()
    everybody: bool = False
    by: str = "may"
    against: str = ""

    @property
    def denied(self) -> str:
        return self.against or ("out" if self.everybody else "none")


def listing(path: str, *given: Json) -> Case:
    return Case("GET", path, given=given, everybody=True)


READS_T = on_leaf("table", "rel.s.t", "SELECT_TABLE")
WRITES_T = on_leaf("table", "rel.s.t", "MODIFY_TABLE")
READS_M = on_leaf("model", "mod.s.m", "USE_MODEL")
OWNS_M = ("model/mod.s.m",)

CASES: Final[dict[str, Case]] = {
    "metalake.create": Case("POST", "metalakes", {"name": "new"}, by=ADMIN),
    "metalake.load": listing(ML),
    "metalake.alter": Case("PUT", ML, COMMENT, owns=("metalake/lk",)),
    "metalake.drop": Case("DELETE", f"{ML}?force=true", owns=("metalake/lk",)),
    "catalog.create": Case(
        "POST", C, {"name": "new", "type": "fileset"}, given=on_lake("CREATE_CATALOG")
    ),
    "catalog.alter": Case("PUT", REL, COMMENT, owns=("catalog/rel",)),
    "catalog.drop": Case("DELETE", f"{REL}?force=true", owns=("catalog/rel",)),
    "catalog.list": listing(C),
    "catalog.load": Case("GET", REL, given=(on("catalog", "rel", allow("USE_CATALOG")),)),
    "schema.create": Case(
        "POST",
        f"{REL}/schemas",
        {"name": "new"},
        given=(on("catalog", "rel", allow("USE_CATALOG", "CREATE_SCHEMA")),),
    ),
    "schema.alter": Case("PUT", S, PROPERTY, given=uses("rel"), owns=("schema/rel.s",)),
    "schema.drop": Case("DELETE", f"{S}?cascade=true", given=uses("rel"), owns=("schema/rel.s",)),
    "schema.list": Case(
        "GET", f"{REL}/schemas", given=(on("catalog", "rel", allow("USE_CATALOG")),)
    ),
    "schema.load": Case("GET", S, given=uses("rel")),
    "table.create": Case(
        "POST",
        f"{S}/tables",
        {"name": "new", "columns": COLUMNS},
        given=(*uses("rel"), on("schema", "rel.s", allow("CREATE_TABLE"))),
    ),
    "table.alter": Case("PUT", T, COMMENT, given=WRITES_T),
    "table.statistics.update": Case(
        "PUT", STATISTICS, {"updates": {"custom-a": 1}}, given=WRITES_T
    ),
    "table.statistics.drop": Case("POST", STATISTICS, {"names": ["custom-a"]}, given=WRITES_T),
    "table.partition_statistics.update": Case(
        "PUT",
        f"{STATISTICS}/partitions",
        {"updates": [{"partitionName": "p", "statistics": {"custom-a": 1}}]},
        given=WRITES_T,
    ),
    "table.partition_statistics.drop": Case(
        "POST",
        f"{STATISTICS}/partitions",
        {"drops": [{"partitionName": "p", "statisticNames": ["custom-a"]}]},
        given=WRITES_T,
    ),
    "table.drop": Case("DELETE", T, given=uses("rel"), owns=("table/rel.s.t",)),
    "table.list": Case("GET", f"{S}/tables", given=uses("rel")),
    "table.load": Case("GET", T, given=READS_T),
    "table.statistics.list": Case("GET", STATISTICS, given=READS_T),
    "table.partition_statistics.list": Case(
        "GET", f"{STATISTICS}/partitions?from=a&to=z", given=READS_T
    ),
    "topic.create": Case(
        "POST",
        TOPICS,
        {"name": "new"},
        given=(*uses("msg"), on("schema", "msg.default", allow("CREATE_TOPIC"))),
    ),
    "topic.alter": Case(
        "PUT", f"{TOPICS}/p", COMMENT, given=on_leaf("topic", "msg.default.p", "PRODUCE_TOPIC")
    ),
    "topic.drop": Case("DELETE", f"{TOPICS}/p", given=uses("msg"), owns=("topic/msg.default.p",)),
    "topic.list": Case("GET", TOPICS, given=uses("msg")),
    "topic.load": Case(
        "GET", f"{TOPICS}/p", given=on_leaf("topic", "msg.default.p", "CONSUME_TOPIC")
    ),
    "fileset.create": Case(
        "POST",
        FILESETS,
        {"name": "new", "storageLocation": "file:/data/new"},
        given=(*uses("fil"), on("schema", "fil.s", allow("CREATE_FILESET"))),
    ),
    "fileset.alter": Case(
        "PUT", f"{FILESETS}/f", COMMENT, given=on_leaf("fileset", "fil.s.f", "WRITE_FILESET")
    ),
    "fileset.drop": Case("DELETE", f"{FILESETS}/f", given=uses("fil"), owns=("fileset/fil.s.f",)),
    "fileset.list": Case("GET", FILESETS, given=uses("fil")),
    "fileset.load": Case(
        "GET", f"{FILESETS}/f", given=on_leaf("fileset", "fil.s.f", "READ_FILESET")
    ),
    "fileset.files.list": Case(
        "GET", f"{FILESETS}/f/files", given=on_leaf("fileset", "fil.s.f", "READ_FILESET")
    ),
    "fileset.location": Case(
        "GET",
        f"{FILESETS}/f/location?sub_path=x",
        given=on_leaf("fileset", "fil.s.f", "READ_FILESET"),
    ),
    "model.register": Case(
        "POST",
        MODELS,
        {"name": "new"},
        given=(*uses("mod"), on("schema", "mod.s", allow("REGISTER_MODEL"))),
    ),
    "model_version.link": Case(
        "POST",
        VERSIONS,
        {"uri": "s3://m/new"},
        given=on_leaf("model", "mod.s.m", "USE_MODEL", "LINK_MODEL_VERSION"),
    ),
    "model.alter": Case("PUT", f"{MODELS}/m", COMMENT, given=uses("mod"), owns=OWNS_M),
    "model.drop": Case("DELETE", f"{MODELS}/m", given=uses("mod"), owns=OWNS_M),
    "model.list": Case("GET", MODELS, given=uses("mod")),
    "model.load": Case("GET", f"{MODELS}/m", given=READS_M),
    "model_version.list": Case("GET", VERSIONS, given=READS_M),
    "model_version.load": Case("GET", f"{VERSIONS}/0", given=READS_M),
    "model_version.uri": Case("GET", f"{VERSIONS}/0/uri", given=READS_M),
    "model_version.load_by_alias": Case("GET", f"{MODELS}/m/aliases/live", given=READS_M),
    "model_version.delete": Case("DELETE", f"{VERSIONS}/0", given=uses("mod"), owns=OWNS_M),
    "model_version.alter": Case("PUT", f"{VERSIONS}/0", COMMENT, given=uses("mod"), owns=OWNS_M),
    "model_alias.delete": Case(
        "DELETE", f"{MODELS}/m/aliases/live", given=uses("mod"), owns=OWNS_M
    ),
    "user.add": Case("POST", f"{ML}/users", {"name": "new"}, given=on_lake("MANAGE_USERS")),
    "user.remove": Case("DELETE", f"{ML}/users/bob", given=on_lake("MANAGE_USERS")),
    "user.load": Case("GET", f"{ML}/users/may"),
    "user.list": listing(f"{ML}/users"),
    "group.add": Case("POST", f"{ML}/groups", {"name": "new"}, given=on_lake("MANAGE_GROUPS")),
    "group.remove": Case("DELETE", f"{ML}/groups/staff", given=on_lake("MANAGE_GROUPS")),
    "group.load": Case("GET", f"{ML}/groups/staff", given=on_lake("MANAGE_GROUPS")),
    "group.list": listing(f"{ML}/groups"),
    "role.create": Case(
        "POST",
        f"{ML}/roles",
        {"name": "new", "securableObjects": []},
        given=on_lake("CREATE_ROLE"),
    ),
    "role.drop": Case("DELETE", f"{ML}/roles/idle", owns=("role/idle",)),
    "role.load": Case("GET", f"{ML}/roles/idle", given=on_lake("MANAGE_GRANTS")),
    "role.list": listing(f"{ML}/roles"),
    "role.grant": Case(
        "PUT",
        f"{PERMISSIONS}/users/bob/grant",
        {"roleNames": ["idle"]},
        given=on_lake("MANAGE_GRANTS"),
    ),
    "role.revoke": Case(
        "PUT",
        f"{PERMISSIONS}/groups/staff/revoke",
        {"roleNames": ["idle"]},
        given=on_lake("MANAGE_GRANTS"),
    ),
    "privilege.grant": Case(
        "PUT",
        f"{PERMISSIONS}/roles/idle/table/rel.s.t/grant",
        {"privileges": allow("SELECT_TABLE")},
        given=uses("rel"),
        owns=("table/rel.s.t",),
    ),
    "privilege.revoke": Case(
        "PUT",
        f"{PERMISSIONS}/roles/idle/table/rel.s.t/revoke",
        {"privileges": allow("SELECT_TABLE")},
        given=on_lake("MANAGE_GRANTS"),
    ),
    "owner.set": Case(
        "PUT",
        f"{ML}/owners/table/rel.s.t",
        {"name": "bob", "type": "USER"},
        given=uses("rel"),
        owns=("table/rel.s.t",),
    ),
    "tag.list": listing(f"{ML}/tags"),
    "tag.create": Case("POST", f"{ML}/tags", {"name": "new"}, given=on_lake("CREATE_TAG")),
    "tag.load": Case("GET", f"{ML}/tags/pii", given=(on("tag", "pii", allow("APPLY_TAG")),)),
    "tag.alter": Case("PUT", f"{ML}/tags/pii", COMMENT, owns=("tag/pii",)),
    "tag.drop": Case("DELETE", f"{ML}/tags/pii", owns=("tag/pii",)),
    "tag.objects.list": Case(
        "GET", f"{ML}/tags/pii/objects", given=(on("tag", "pii", allow("APPLY_TAG")),)
    ),
    "object.tags.list": Case("GET", TABLE_TAGS, given=READS_T),
    "object.tags.load": Case(
        "GET", f"{TABLE_TAGS}/pii", given=(*READS_T, on("tag", "pii", allow("APPLY_TAG")))
    ),
    "object.tags.associate": Case(
        "POST",
        TABLE_TAGS,
        {"tagsToAdd": [], "tagsToRemove": ["pii"]},
        given=(*READS_T, on("tag", "pii", allow("APPLY_TAG"))),
    ),
    "policy.list": listing(f"{ML}/policies"),
    "policy.create": Case(
        "POST",
        f"{ML}/policies",
        {"name": "new", "policyType": "custom", "content": CONTENT},
        given=on_lake("CREATE_POLICY"),
    ),
    "policy.load": Case(
        "GET", f"{ML}/policies/keep", given=(on("policy", "keep", allow("APPLY_POLICY")),)
    ),
    "policy.alter": Case("PUT", f"{ML}/policies/keep", COMMENT, owns=("policy/keep",)),
    "policy.set": Case("PATCH", f"{ML}/policies/keep", {"enable": False}, owns=("policy/keep",)),
    "policy.drop": Case("DELETE", f"{ML}/policies/keep", owns=("policy/keep",)),
    "policy.objects.list": Case(
        "GET", f"{ML}/policies/keep/objects", given=(on("policy", "keep", allow("APPLY_POLICY")),)
    ),
    "object.policies.associate": Case(
        "POST",
        TABLE_POLICIES,
        {"policiesToAdd": [], "policiesToRemove": ["keep"]},
        given=(*READS_T, on("policy", "keep", allow("APPLY_POLICY"))),
    ),
    "object.policies.list": Case("GET", TABLE_POLICIES, given=READS_T),
    "object.policies.load": Case(
        "GET",
        f"{TABLE_POLICIES}/keep",
        given=(*READS_T, on("policy", "keep", allow("APPLY_POLICY"))),
    ),
    "job_template.list": listing(f"{ML}/jobs/templates"),
    "job_template.register": Case(
        "POST",
        f"{ML}/jobs/templates",
        {"jobTemplate": TEMPLATE},
        given=on_lake("REGISTER_JOB_TEMPLATE"),
    ),
    "job_template.load": Case(
        "GET",
        f"{ML}/jobs/templates/run",
        given=(on("job_template", "run", allow("USE_JOB_TEMPLATE")),),
    ),
    "job_template.drop": Case(
        "DELETE", f"{ML}/jobs/templates/unused", owns=("job_template/unused",)
    ),
    "job_template.alter": Case(
        "PUT", f"{ML}/jobs/templates/run", COMMENT, owns=("job_template/run",)
    ),
    "job.list": listing(f"{ML}/jobs/runs"),
    "job.run": Case(
        "POST",
        f"{ML}/jobs/runs",
        {"jobTemplateName": "run"},
        given=(
            *on_lake("RUN_JOB"),
            on("job_template", "run", allow("USE_JOB_TEMPLATE")),
        ),
    ),
    "job.load": Case("GET", f"{ML}/jobs/runs/JOB", owns=("job/JOB",)),
    "job.cancel": Case("POST", f"{ML}/jobs/runs/JOB", owns=("job/JOB",)),
    "credential.load": Case(
        "GET",
        f"{ML}/objects/catalog/rel/credentials",
        given=(on("catalog", "rel", allow("USE_CATALOG")),),
    ),
}
"""The request of each operation; `JOB` stands for the existing job."""


def rows() -> list[tuple[str, str]]:
    """The rows' ids with each of their operations."""
    found = tomllib.loads(REGISTER.read_text(encoding="utf-8"))["row"]
    return [
        (row["id"], operation)
        for row in found
        if row["id"].startswith("GRA-API-")
        for operation in row["operations"]
    ]


ROWS = rows()


def test_every_row_is_walked() -> None:
    assert len({id for id, _ in ROWS}) == 94
    assert {operation for _, operation in ROWS} == {*CASES, *BY_FILTER}


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store that `furnish` has filled."""
    folder = tmp_path_factory.mktemp("rows")
    with Wire(folder) as wire:
        furnish(wire)
    return folder


@pytest.fixture
def everything(furnished: Path, tmp_path: Path) -> Iterator[Wire]:
    """A server over a copy of that store."""
    folder = tmp_path / "copy"
    shutil.copytree(furnished, folder)
    with Wire(folder) as wire:
        yield wire


def furnish(wire: Wire) -> None:
    """The small lake of `boss`, with the rows' other objects; `may` and `none` are users."""
    fill(wire)
    for user in ("may", "none", "boss"):
        wire.good("POST", f"{ML}/users", {"name": user})
    wire.good("POST", f"{ML}/groups", {"name": "staff"})
    wire.good("POST", f"{ML}/roles", {"name": "idle", "securableObjects": []})
    wire.good("POST", VERSIONS, {"uri": "s3://m/0", "aliases": ["live"]})
    wire.good("POST", f"{ML}/tags", {"name": "pii"})
    wire.good("POST", TABLE_TAGS, {"tagsToAdd": ["pii"]})
    policy = {"name": "keep", "policyType": "custom", "content": CONTENT}
    wire.good("POST", f"{ML}/policies", policy)
    wire.good("POST", TABLE_POLICIES, {"policiesToAdd": ["keep"]})
    for name in ("run", "unused"):
        wire.good("POST", f"{ML}/jobs/templates", {"jobTemplate": {**TEMPLATE, "name": name}})
    wire.good("PUT", f"{ML}/owners/metalake/lk", {"name": "boss", "type": "USER"})


@pytest.mark.parametrize(
    ("row", "operation"), [(id, name) for id, name in ROWS if name in CASES], ids="-".join
)
def test_a_row_opens_to_whom_it_names_and_to_nobody_else(
    everything: Wire, row: str, operation: str
) -> None:
    case, wire = CASES[operation], everything
    job = wire.good("POST", f"{ML}/jobs/runs", {"jobTemplateName": "run"}, user="boss")["job"]
    path = case.path.replace("JOB", job["jobId"])
    route = wire.table.find(
        case.method, split_path(f"/api/{path}".partition("?")[0]), wire.service.state
    )
    assert isinstance(route, RouteMatch)
    assert route.route.operation == operation
    assert wire.bad(case.method, path, case.body, user=case.denied) == FORBIDDEN
    if case.by == ADMIN:
        assert wire.bad(case.method, path, case.body, user="boss") == FORBIDDEN
    else:
        hold(wire, "may", *case.given)
    for owned in case.owns:
        _give(wire, owned.replace("JOB", job["jobId"]))
    assert wire.good(case.method, path, case.body, user=case.by)


@pytest.mark.parametrize("operation", [name for name, case in CASES.items() if case.by != ADMIN])
def test_the_owner_of_the_metalake_may_do_it_too(everything: Wire, operation: str) -> None:
    case, wire = CASES[operation], everything
    job = wire.good("POST", f"{ML}/jobs/runs", {"jobTemplateName": "run"}, user="boss")["job"]
    path = case.path.replace("JOB", job["jobId"])
    assert wire.good(case.method, path, case.body, user="boss")


def _give(wire: Wire, owned: str) -> None:
    body = {"name": "may", "type": "USER"}
    wire.good("PUT", f"{ML}/owners/{owned}", body, user="boss")
