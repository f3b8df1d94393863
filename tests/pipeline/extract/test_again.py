"""Repeated imports: only changes are transferred, and missing entities are reported."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from lakewarden.cli import main
from lakewarden.cli.admin_target import opened
from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    RelationChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import IMPLIED, ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import SYSTEM
from lakewarden.service.effect import Effect
from lakewarden.service.system import load_system
from lakewarden.systems.cdap import names as cdap
from tests.app.serving import Answer, Served
from tests.app.threaded import threaded
from tests.cli.realms import write_cdap, write_datahub, write_gravitino

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unstarted")]

WALKER = "walker"
PATTERNS = ("namespace:*", "application:*.*", "dataset:*.*", "kerberosprincipal:*")
OWNER = Entity("kerberosprincipal", "eve/h@R")
OWNED = RelationRow("owner_principal", Entity("namespace", "sales"), OWNER)
WRITERS: Mapping[str, Callable[[Path], Path]] = {
    "cdap": write_cdap,
    "datahub": write_datahub,
    "gravitino": write_gravitino,
}


def seeing(name: str) -> Iterator[Effect]:
    """Grants that allow the crawler to see and change everything in a realm."""
    system = load_system(name)
    walker = system.spelled(Principal(USER, WALKER))
    yield PrincipalChanged(walker, True)
    match name:
        case "cdap":
            admins = Principal(IMPLIED, "service-admins")
            yield MembershipChanged(MembershipRow(walker, admins), True)
            own = {"privileges": ["READ", "ADMIN"], "to": [f"user:{WALKER}"]}
            tables = [{**own, "id": one, "matching": one} for one in PATTERNS]
            yield from map(StatementAdded, read_statements(tables, system.model, cdap, "test"))
            yield EntityAdded(OWNER, Entity("instance", "cdap"))
            yield RelationChanged(OWNED, True)
        case "datahub":
            admin = Principal(ROLE, "urn:li:dataHubRole:Admin")
            yield MembershipChanged(MembershipRow(walker, admin), True)
        case _:
            yield MembershipChanged(MembershipRow(walker, members_of("lk")), True)
            yield OwnerChanged(OwnerRow(Entity("metalake", "lk"), walker, ""), True)


@dataclass(frozen=True)
class Pair:
    """Two running servers: one plays the original, the other receives the imports."""

    original: Served
    target: Served
    store: str

    def change(self, method: str, path: str, body: object = None) -> Answer:
        """A change by a user of the original."""
        answer = self.original.ask(method, path, body, user=WALKER)
        assert answer.status < 300, answer.body
        return answer

    def revision(self) -> int:
        with opened(self.store) as service:
            return service.state.revision

    def known(self, realm: str, *texts: str) -> list[bool]:
        """Whether these entities are stored in the target."""
        with opened(self.store) as service:
            state = service.state.realm(realm)
            coded = state.matrix.snapshot.coded
            return [coded.is_known(state.system.entity(text)) for text in texts]


@pytest.fixture
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """The servers of a test with the `name` of a system."""
    name: str = request.node.callspec.params["name"]
    original, target = (f"sqlite:///{tmp_path / name}.db" for name in ("original", "target"))
    for url in (original, target):
        assert main(["init", "--admin", "admin", "--database", url]) == 0
    source = str(WRITERS[name](tmp_path / name))
    assert main(["load", source, "--realm", name, "--database", original]) == 0
    with opened(original) as service:
        effects = list(seeing(name))
        service.write(SYSTEM, lambda transaction: transaction.change(name, *effects))
    with (
        threaded(tmp_path / "original", auth="simple", database=original) as one,
        threaded(tmp_path / "target", auth="simple", database=target) as other,
    ):
        yield Pair(one, other, target)


@pytest.fixture
def carry(
    pair: Pair, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    """Imports a system from one server into the other; returns the report."""
    people = tmp_path / "people"
    people.write_text("user:ana\nuser:ben\n", "utf-8")

    def carry(name: str, *words: str) -> dict[str, Any]:
        given = ["import", name, f"{pair.original.address}/r/{name}", "--to", name]
        given += ["--source-user", WALKER, "--server", pair.target.address, "--user", "admin"]
        given += ["--principals", str(people)] if name == "cdap" else []
        capfd.readouterr()
        code = main([*given, "--format", "json", *words])
        out, err = capfd.readouterr()
        assert code == 0, err
        found: dict[str, Any] = json.loads(out)["loaded"]
        return found

    return carry


def differing(loaded: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """The tables in which a load found a difference."""
    return {
        name: {word: number for word, number in count.items() if number}
        for name, count in loaded["rows"].items()
        if any(count.values())
    }


TAGS = "/openapi/v3/entity/tag"
GRANT = {"authorizable": {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": "sales"}}}


def change_gravitino(pair: Pair) -> None:
    at = "/r/gravitino/api/metalakes/lk"
    pair.change("POST", f"{at}/tags", {"name": "spring", "comment": "", "properties": {}})
    pair.change("DELETE", f"{at}/tags/pii")


def change_cdap(pair: Pair) -> None:
    at, as_ana = "/r/cdap/v3", {"principal": "ana/h@R", "keytabURI": "/keys/ana"}
    pair.change("PUT", f"{at}/namespaces/lab", {"config": as_ana})
    pair.change("DELETE", f"{at}/namespaces/sales/data/datasets/t1")


def change_datahub(pair: Pair) -> None:
    at = "/r/datahub"
    spring = {"urn": "urn:li:tag:summer", "tagProperties": {"value": {"name": "summer"}}}
    pair.change("POST", f"{at}{TAGS}?async=false", [spring])
    pair.change("DELETE", f"{at}{TAGS}/{quote('urn:li:tag:spring', safe='')}")


CHANGES = {
    "gravitino": (change_gravitino, "tag:lk:spring", "tag:lk:pii"),
    "cdap": (change_cdap, "namespace:lab", "dataset:sales.t1"),
    "datahub": (change_datahub, "tag:urn:li:tag:summer", "tag:urn:li:tag:spring"),
}


@pytest.mark.parametrize(
    "name",
    ["cdap", *(pytest.param(n, marks=pytest.mark.nightly) for n in ("datahub", "gravitino"))],
)
def test_only_what_changed_is_carried_and_what_is_gone_is_dropped_on_request(
    name: str, pair: Pair, carry: Callable[..., dict[str, Any]]
) -> None:
    change, new, gone = CHANGES[name]
    first = carry(name)
    assert first["new"] is True
    # The principal of a namespace is transferred, wherever the original stores it.
    assert first["rows"]["relations"]["new"] == (1 if name != "gravitino" else 0)
    before = pair.revision()
    again = carry(name)
    assert (again["new"], again["revision"], pair.revision()) == (False, before, before)
    # The target's administrators are unknown to the original, and keep their DataHub roles.
    assert differing(again) == {}
    change(pair)
    third = carry(name)
    assert (third["new"], third["revision"]) == (True, before + 1)
    assert third["rows"]["relations"]["new"] == (1 if name == "cdap" else 0)
    assert not any(count["changed"] for count in third["rows"].values())
    assert pair.known(name, new, gone) == [True, True]
    pruned = carry(name, "--prune")
    assert differing(pruned)["entities"] == {"gone": 1}
    assert pair.known(name, new, gone) == [True, False]
