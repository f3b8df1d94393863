"""`lakewarden import`: our own server plays each system, and the copy gives the same decisions."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from lakewarden import sample
from lakewarden.cli import main
from lakewarden.cli.admin_target import opened, operator
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
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service import realms
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect
from lakewarden.service.state import RealmState
from lakewarden.systems.datahub import extract as datahub
from tests.app.threaded import threaded
from tests.sample.estate import estate

__all__ = ["estate"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unstarted")]

WALKER = "walker"
PER_TYPE = 4
USERS = 16

IDENTITY = {"gravitino": sample.path("gravitino"), "cdap": sample.path("cdap")}

PATTERNS = (
    *("namespace:*", "artifact:*.*", "application:*.*", "program:*.*.*", "dataset:*.*"),
    *("dataset_module:*.*", "dataset_type:*.*", "stream:*.*", "securekey:*.*"),
)


def seeing(name: str, state: RealmState) -> Iterator[Effect]:
    """Grants that allow the crawler to see everything in a realm."""
    walker = state.system.spelled(Principal(USER, WALKER))
    yield PrincipalChanged(walker, True)
    if name == "datahub":
        admin = Principal(ROLE, "urn:li:dataHubRole:Admin")
        yield MembershipChanged(MembershipRow(walker, admin), True)
    if name == "cdap":
        admins = Principal(IMPLIED, "service-admins")
        yield MembershipChanged(MembershipRow(walker, admins), True)
        table = {"id": "walker", "privileges": ["READ"], "to": [f"user:{WALKER}"]}
        tables = [{**table, "id": f"walker/{one}", "matching": one} for one in PATTERNS]
        model, spelling = state.system.model, state.system.spelling
        yield from map(StatementAdded, read_statements(tables, model, spelling, "test"))
    if name == "gravitino":
        for lake, owner in (("quillmere", "kai"), ("lab", "xenia")):
            metalake = Entity("metalake", lake)
            yield EntityAdded(Entity("user", f"{lake}:{WALKER}"), metalake)
            yield MembershipChanged(MembershipRow(walker, members_of(lake)), True)
            yield OwnerChanged(OwnerRow(metalake, Principal(USER, owner), ""), False)
            yield OwnerChanged(OwnerRow(metalake, walker, ""), True)


def bring(service: DecisionService, name: str) -> None:
    effects = list(seeing(name, service.state.realm(name)))
    service.write(SYSTEM, lambda transaction: transaction.change(name, *effects))


@pytest.fixture(scope="module")
def store(estate: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sample estate in a store, with a user who sees everything."""
    folder = tmp_path_factory.mktemp("originals")
    for file in estate.glob("lakewarden.db*"):
        shutil.copy(file, folder)
    url = f"sqlite:///{folder / 'lakewarden.db'}"
    with opened(url) as service:
        for name in ("gravitino", "datahub", "cdap"):
            bring(service, name)
    return url


def entities(state: RealmState, draw: random.Random) -> Iterator[Entity]:
    """Some of every type that the API shows: not the columns of a table that was only loaded."""
    snapshot = state.matrix.snapshot
    tree = snapshot.coded.tree
    for type in sorted(set(tree.kinds) - {"column"}):
        ids = list(snapshot.of_type(type))
        for id in draw.sample(ids, min(PER_TYPE, len(ids))):
            yield tree.entity(id)


def people(state: RealmState, draw: random.Random) -> list[str]:
    found = sorted(
        p.name for p in state.matrix.snapshot.coded.memberships.principals if p.kind == USER
    )
    return sorted({*draw.sample(found, min(USERS, len(found))), *({"etl"} & set(found))})


def decisions(state: RealmState, asked: Iterable[tuple[str, str, Entity]]) -> list[bool]:
    return [
        state.matrix.decide(Request(Principal(USER, user), operation, entity, 0.0)).allow
        for user, operation, entity in asked
    ]


def questions(state: RealmState) -> list[tuple[str, str, Entity]]:
    draw = random.Random(7)
    users, found = people(state, draw), list(entities(state, draw))
    operations = state.system.model.operations
    return [
        (user, name, entity)
        for name, operation in sorted(operations.items())
        for entity in found
        if entity.type in operation.rules
        for user in users
    ]


def arguments(name: str, address: str, folder: Path) -> list[str]:
    """The arguments for the original; CDAP and Gravitino do not know the members of groups."""
    given = ["import", name, address, "--to", name, "--source-user", WALKER]
    if name in IDENTITY:
        given += ["--identity", str(IDENTITY[name] / "identity.json")]
    if name == "cdap":
        # He is in no group, so the identity provider does not know him.
        file = folder / "principals"
        file.write_text("# who loads the data\nuser:etl\n", "utf-8")
        given += ["--principals", str(file)]
    return given


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("name", "is_older"),
    [
        ("gravitino", False),
        ("cdap", False),
        ("datahub", False),
        pytest.param("datahub", True, marks=pytest.mark.nightly),
    ],
    ids=["gravitino", "cdap", "datahub", "an older datahub"],
)
def test_the_copy_decides_as_the_original(
    name: str,
    is_older: bool,
    store: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if is_older:
        monkeypatch.setattr(datahub, "_has_openapi_v3", lambda _: False)
    target = f"sqlite:///{tmp_path / 'copy.db'}"
    kept = tmp_path / "kept"
    at = ("--database", target, "--format", "json")
    with threaded(
        tmp_path / "original", auth="simple", admin="admin", add_admin=True, database=store
    ) as served:
        given = arguments(name, f"{served.address}/r/{name}", tmp_path)
        capfd.readouterr()
        assert main([*given, *at, "--keep", str(kept)]) == 0
    report = json.loads(capfd.readouterr().out)
    with opened(store) as original, opened(target) as copy:
        before = original.state.realm(name)
        # DataHub does not reveal its visibility settings: they are set on both sides.
        settings = before.realm.settings
        copy.write(
            operator(copy), lambda transaction: realms.alter(transaction, name, settings=settings)
        )
        after = copy.state.realm(name)
        asked = questions(before)
        was = decisions(before, asked)
        assert True in was
        assert False in was
        now = decisions(after, asked)
        pairs = zip(asked, was, now, strict=True)
        assert [(one, a, b) for one, a, b in pairs if a is not b] == []
    assert report["loaded"]["new"] is True
    rows = report["ingested"]["rows"].values()
    assert all(one["in"] == one["out"] + one["quarantined"] for one in rows)
    assert len(report["set_aside"]) == sum(one["quarantined"] for one in rows)
    assert all(one["path"] and one["status"] for one in report["not_shown"])
    assert report["not_carried"]
    assert kept.stat().st_mode & 0o077 == 0
    # The saved export imports the same, so nothing changes.
    assert main(["import", name, str(kept), "--to", name, *at]) == 0
    assert json.loads(capfd.readouterr().out)["loaded"]["new"] is False


@pytest.mark.parametrize("name", ["gravitino"])
def test_a_dry_run_changes_nothing_and_names_what_is_not_carried(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "copy.db"
    asked = ["import", name, str(sample.path("gravitino")), "--to", name]
    assert main([*asked, "--database", f"sqlite:///{target}", "--dry-run"]) == 0
    told = capfd.readouterr()
    assert "nothing was changed" in told.err
    assert "statements" in told.out
    assert not target.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gravitino", "nowhere"), "no such file or folder"),
        (("gravitino", "ftp://example"), "no such file or folder"),
        (
            ("datahub", "http://a.example", "--identity", "x"),
            "provides the members of groups itself",
        ),
        (("gravitino", "http://a.example", "--principals", "x"), "takes principals"),
        (("cdap", ".", "--keep", "x"), "needs a running system as source"),
        (("cdap", "http://eve:x@a.example"), "does not belong into the address"),
    ],
)
def test_what_does_not_go_together_is_refused(
    words: tuple[str, ...], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", *words, "--to", "copy", "--database", "sqlite:///none.db"]) == 2
    assert message in capfd.readouterr().err
