"""Live systems as sources: our own server plays each, and the directory decides like it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.cli.admin_target import opened
from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import IMPLIED, ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.kernel.statement_file import read_statements
from lakewarden.pipeline.directory import load
from lakewarden.service.actor import SYSTEM
from lakewarden.service.effect import Effect
from lakewarden.service.state import RealmState
from lakewarden.service.warden import Warden
from tests.app.threaded import threaded
from tests.cli.realms import DATASET, OTHER, Cli
from tests.cli.stores import Admin

WALKER = "walker"

ASKED = {
    "gravitino": [
        (user, operation, f"table:lk:c.s.{table}")
        for user in ("ana", "ben", "eve")
        for operation in ("table.load", "table.drop")
        for table in "tu"
    ],
    "datahub": [
        (user, privilege, dataset)
        for user in ("ana", "ben")
        for privilege in ("EDIT_ENTITY_TAGS", "EDIT_ENTITY", "VIEW_ENTITY_PAGE")
        for dataset in (DATASET, OTHER)
    ],
    "cdap": [
        (user, privilege, on)
        for user in ("ana", "ben")
        for privilege in ("READ", "ADMIN")
        for on in ("dataset:sales.t1", "application:sales.load")
    ],
}

IDENTITY = [
    {
        "path": "/scim/v2/Users",
        "reply": {"totalResults": 1, "Resources": [{"id": "1", "userName": "ana"}]},
    },
    {
        "path": "/scim/v2/Groups",
        "reply": {
            "totalResults": 1,
            "Resources": [{"id": "2", "displayName": "staff", "members": [{"value": "1"}]}],
        },
    },
]


def seeing(name: str, state: RealmState) -> Iterator[Effect]:
    """Grants that allow the crawler to see everything in a realm."""
    walker = state.system.spelled(Principal(USER, WALKER))
    yield PrincipalChanged(walker, True)
    if name == "datahub":
        admin = Principal(ROLE, "urn:li:dataHubRole:Admin")
        yield MembershipChanged(MembershipRow(walker, admin), True)
        for urn in ("corpuser:ana", "corpuser:ben", "corpGroup:staff"):
            yield EntityAdded(Entity(urn.partition(":")[0], f"urn:li:{urn}"), None)
    elif name == "gravitino":
        lake = Entity("metalake", "lk")
        yield EntityAdded(Entity("user", f"lk:{WALKER}"), lake)
        yield EntityAdded(Entity("group", "lk:staff"), lake)
        for user in ("ana", "ben"):
            yield EntityAdded(Entity("user", f"lk:{user}"), lake)
        yield MembershipChanged(MembershipRow(walker, members_of("lk")), True)
        yield OwnerChanged(OwnerRow(lake, walker, ""), True)
    else:
        admins = Principal(IMPLIED, "service-admins")
        yield MembershipChanged(MembershipRow(walker, admins), True)
        sees = {"id": "walker", "privileges": ["READ"], "to": [f"user:{WALKER}"]}
        tables = [
            {**sees, "id": f"walker/{pattern}", "matching": pattern}
            for pattern in ("namespace:*", "dataset:*.*", "application:*.*")
        ]
        model, spelling = state.system.model, state.system.spelling
        yield from map(StatementAdded, read_statements(tables, model, spelling, "test"))


@pytest.fixture
def original(request: pytest.FixtureRequest, admin: Admin) -> str:
    """A store with the small realm `name`, and a user who sees everything."""
    name: str = request.node.callspec.params["name"]
    admin("load", str(admin.cli.folders[name]), "--realm", name)
    with opened(admin.url) as service:
        effects = list(seeing(name, service.state.realm(name)))
        service.write(SYSTEM, lambda transaction: transaction.change(name, *effects))
    return admin.url


def decisions(warden: Warden, asked: list[tuple[str, str, str]]) -> list[bool]:
    return [warden.check(*one).allow for one in asked]


SELDOM = [pytest.param(name, marks=pytest.mark.nightly) for name in ("datahub", "cdap")]


@pytest.mark.slow
@pytest.mark.usefixtures("unstarted")
@pytest.mark.parametrize("name", ["gravitino", *SELDOM])
def test_what_is_read_from_a_running_system_decides_as_it_does(
    name: str, cli: Cli, original: str, tmp_path: Path
) -> None:
    people = tmp_path / "people.json"
    people.write_text(json.dumps(IDENTITY), "utf-8")
    named = tmp_path / "principals"
    named.write_text("user:ana\nuser:ben\n", "utf-8")
    more = {
        "gravitino": ("--identity", str(people)),
        "datahub": (),
        "cdap": ("--principals", str(named)),
    }
    with threaded(tmp_path / "original", auth="simple", database=original) as served:
        out = tmp_path / name
        words = (
            *("pipeline", "ingest", f"{served.address}/r/{name}", "--source", name),
            *("--out", str(out), "--source-user", WALKER, "--format", "json", *more[name]),
        )
        report = cli(*words).json
        assert (report["new"], report["source"]) == (True, name)
        assert report["not_read"]
        was = load(cli.folders[name])
        now = load(out)
        found = decisions(Warden(now.system, now.facts), ASKED[name])
        assert found == decisions(Warden(was.system, was.facts), ASKED[name])
        assert len(set(found)) == 2
        assert cli(*words).json["new"] is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("x", "--source", "gravitino"), "expected http://HOST:PORT or https://HOST:PORT"),
        (("pg://u:s3cret@h", "--source", "gravitino"), "h: expected http://HOST:PORT or"),
        (("http://u:s3cret@h?x", "--source", "gravitino"), "a credential does not belong into"),
        ((".", "--source", "gravitino"), "an export in files is `--source gravitino-file`"),
        (("http://a", "--source", "gravitino", "--catalog", "c"), "not `--source gravitino`"),
        (("http://a", "--source", "datahub", "--identity", "x"), "DataHub provides the members"),
        (("http://a", "--source", "gravitino", "--principals", "x"), "a running CDAP"),
        (("http://a", "--source", "cdap", "--model", "datahub"), "takes one of: cdap, cdap_parent"),
        ((".", "--source", "datahub-file", "--source-user", "x"), "only for a running system"),
    ],
)
def test_what_does_not_go_together_is_refused(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    found = cli("pipeline", "ingest", *words, "--out", str(tmp_path / "out"))
    assert (found.code, found.out) == (2, "")
    assert message in found.err
    assert "s3cret" not in found.err
