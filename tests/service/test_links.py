"""Links through the service: who may create them, their entities, and their keepers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from lakewarden.kernel.change import EntityAdded, EntityDropped, EntityRenamed
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown
from lakewarden.service import links, realms, statements
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect
from lakewarden.service.link import MAX_CLASS, Asset, Link, link
from lakewarden.service.links import LinkList, LinkLoadResult
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.testing.world_draft import NOW
from tests.service.opened_services import ADMIN, EVE, LAKE, furnish, opened

T, U = "table:lk:c.s.t", "table:lk:c.s.u"
DATASET = "dataset:s.t"
LAKE_T, LAKE_U, APP_T = (LAKE, T), (LAKE, U), ("app", DATASET)
MINE = link(Asset("app", Entity("dataset", "s.t")), Asset(LAKE, Entity("table", "lk:c.s.t")))
STEWARD = Actor("steward", credential="test")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    """`steward` manages the realms `lake` and `app`; `other` belongs to another directory."""
    with opened(tmp_path) as service:
        furnish(service)
        for name, model, home in (("app", "cdap", "main"), ("other", "cdap", "elsewhere")):
            realm = Realm(name, model, home)
            service.write(ADMIN, lambda transaction, realm=realm: realms.create(transaction, realm))  # type: ignore[misc]
        table = {
            "privileges": ["MANAGE_REALM", "READ_REALM"],
            "to": ["user:steward"],
        }
        for name in (LAKE, "app"):
            given = {**table, "id": name, "on": f"realm:{name}"}
            service.write(ADMIN, lambda t, given=given: statements.put(t, CONTROL, given))  # type: ignore[misc]
        yield service


def put(
    service: DecisionService,
    one: tuple[str, str] = LAKE_T,
    other: tuple[str, str] = APP_T,
    keeper: str = "",
    actor: Actor = STEWARD,
) -> Link | Denied:
    return service.write(actor, lambda transaction: links.put(transaction, one, other, keeper))


def remove(service: DecisionService, actor: Actor = STEWARD) -> Denied | None:
    return service.write(actor, lambda transaction: links.remove(transaction, APP_T, LAKE_T))


def bring(
    service: DecisionService, *rows: tuple[tuple[str, str], tuple[str, str]], prune: bool = False
) -> LinkLoadResult:
    found = service.write(
        STEWARD, lambda transaction: links.load_links(transaction, rows, "rules", prune=prune)
    )
    assert isinstance(found, LinkLoadResult)
    return found


def stored(service: DecisionService) -> dict[Link, str]:
    """The links of this process, after a comparison with those that another one would load."""
    other = DecisionService(service.store, clock=lambda: NOW)
    other.open()
    assert dict(other.state.links.all()) == dict(service.state.links.all())
    return dict(service.state.links.all())


def test_a_link_is_the_same_whichever_end_is_named_first(service: DecisionService) -> None:
    assert put(service) == MINE
    assert put(service, APP_T, LAKE_T) == MINE
    assert stored(service) == {MINE: ""}


def test_what_changes_nothing_makes_no_revision(service: DecisionService) -> None:
    put(service)
    before = service.state.revision
    put(service, APP_T, LAKE_T)
    assert service.state.revision == before
    assert remove(service) is None
    assert service.state.revision == before + 1
    assert remove(service) is None
    assert service.state.revision == before + 1
    assert stored(service) == {}


def test_only_who_manages_both_realms_links_them(service: DecisionService) -> None:
    refused = put(service, actor=EVE)
    assert isinstance(refused, Denied)
    table = {"id": "eve", "privileges": ["MANAGE_REALM"], "to": ["user:eve"], "on": "realm:app"}
    service.write(ADMIN, lambda transaction: statements.put(transaction, CONTROL, table))
    refused = put(service, actor=EVE)
    assert isinstance(refused, Denied)
    assert refused.object == Entity("realm", LAKE)
    put(service)
    assert isinstance(remove(service, EVE), Denied)
    found = service.write(
        EVE, lambda transaction: links.load_links(transaction, [(LAKE_T, APP_T)], "rules")
    )
    assert isinstance(found, Denied)
    assert stored(service) == {MINE: ""}


def test_a_no_is_told_alike_for_a_realm_that_is_not_there(service: DecisionService) -> None:
    for realm in ("other", "moon"):
        refused = put(service, other=(realm, DATASET))
        assert isinstance(refused, Denied)
        assert (refused.operation, refused.object) == ("link.put", Entity("realm", realm))


def test_every_try_is_in_the_audit_trail(service: DecisionService) -> None:
    put(service)
    put(service, actor=EVE)
    with service.reading() as reading:
        events = [row.body for row in reading.audit() if '"link.put"' in row.body]
    assert ['"allow"' in body for body in events] == [True, True, False]
    assert all("table:lk:c.s.t" in body for body in events)


def test_realms_of_different_directories_never_meet(service: DecisionService) -> None:
    with pytest.raises(BadInput, match="linked: `lake` is in `main`, `other` in `elsewhere`"):
        put(service, other=("other", DATASET), actor=ADMIN)
    with pytest.raises(BadInput, match="cannot be linked"):
        service.write(
            ADMIN,
            lambda transaction: links.load_links(transaction, [(LAKE_T, ("other", DATASET))], "r"),
        )
    with pytest.raises(BadInput, match="are not assets"):
        put(service, other=(CONTROL, "realm:lake"), actor=ADMIN)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (LAKE_T, "is linked to itself"),
        ((LAKE, "table:lk:c.s.none"), "is not stored"),
        (("app", "dataset:"), "expected|empty|does not name an entity"),
    ],
)
def test_what_is_no_asset_is_refused(
    service: DecisionService, other: tuple[str, str], expected: str
) -> None:
    with pytest.raises((BadInput, Unknown), match=expected):
        put(service, other=other)
    assert stored(service) == {}


def test_a_name_that_its_system_judges_need_not_be_stored(service: DecisionService) -> None:
    assert not service.state.realm("app").matrix.snapshot.coded.is_known(Entity("dataset", "s.t"))
    assert put(service) == MINE


def test_an_unknown_realm_is_told_to_who_may_know(service: DecisionService) -> None:
    with pytest.raises(Unknown, match="moon"):
        put(service, other=("moon", DATASET), actor=ADMIN)


def test_the_number_of_entities_of_one_asset_is_limited(service: DecisionService) -> None:
    names = [("app", f"dataset:s.t{number}") for number in range(MAX_CLASS)]
    for one, other in pairwise(names[:-1]):
        put(service, one, other)
    put(service, names[0], names[-1])
    with pytest.raises(LimitExceeded, match="65 entities would be one asset, at most 64"):
        put(service, LAKE_T, names[5])
    with pytest.raises(LimitExceeded, match="65 entities"):
        bring(service, (LAKE_T, names[5]))
    assert put(service, names[3], names[40]) is not None  # closes a cycle, and adds no entity


def effect(service: DecisionService, realm: str, *effects: Effect) -> None:
    service.write(SYSTEM, lambda transaction: transaction.change(realm, *effects))


def test_a_link_follows_the_name_of_its_entity_and_goes_with_it(service: DecisionService) -> None:
    put(service)
    put(service, LAKE_T, LAKE_U, "rules")
    table, new = Entity("table", "lk:c.s.t"), Entity("table", "lk:c.s.z")
    effect(service, LAKE, EntityRenamed(table, new.name))
    mine, theirs = (
        link(Asset("app", Entity("dataset", "s.t")), Asset(LAKE, new)),
        link(Asset(LAKE, new), Asset(LAKE, Entity("table", "lk:c.s.u"))),
    )
    assert stored(service) == {mine: "", theirs: "rules"}
    # The ends are in another order now than when they were stored.
    assert put(service, (LAKE, "table:lk:c.s.z"), LAKE_U) == theirs
    assert stored(service) == {mine: "", theirs: ""}
    effect(service, LAKE, EntityDropped(new))
    assert stored(service) == {}
    effect(service, LAKE, EntityAdded(table, Entity("schema", "lk:c.s")))
    assert stored(service) == {}


def test_a_link_goes_with_a_container_of_its_entity_and_with_its_realm(
    service: DecisionService,
) -> None:
    put(service)
    put(service, ("app", "dataset:p.x"), (LAKE, "table:lk:c.p.secret"))
    effect(service, LAKE, EntityDropped(Entity("schema", "lk:c.s")))
    assert [one.other.entity.name for one in stored(service)] == ["lk:c.p.secret"]
    service.write(ADMIN, lambda transaction: realms.drop(transaction, "app"))
    assert stored(service) == {}


def test_other_processes_catch_up_with_links(service: DecisionService) -> None:
    other = DecisionService(service.store, clock=lambda: NOW)
    other.open()
    put(service)
    bring(service, (LAKE_U, APP_T))
    assert dict(other.catch_up().links.all()) == stored(service)
    remove(service)
    effect(service, LAKE, EntityRenamed(Entity("table", "lk:c.s.u"), "lk:c.s.z"))
    assert dict(other.catch_up().links.all()) == stored(service)


def test_a_load_adds_and_on_request_takes_away_and_leaves_what_others_keep(
    service: DecisionService,
) -> None:
    put(service)
    assert bring(service, (LAKE_T, APP_T), (LAKE_U, APP_T)) == LinkLoadResult(1, 0, 1, False)
    before = service.state.revision
    assert bring(service, (APP_T, LAKE_U), (LAKE_T, APP_T)) == LinkLoadResult(0, 0, 1, False)
    assert bring(service) == LinkLoadResult(0, 1, 0, False)
    assert service.state.revision == before
    assert len(stored(service)) == 2
    assert bring(service, prune=True) == LinkLoadResult(0, 1, 0, True)
    assert stored(service) == {MINE: ""}
    assert service.state.revision == before + 1


def test_who_takes_over_a_link_keeps_it(service: DecisionService) -> None:
    bring(service, (LAKE_T, APP_T))
    assert stored(service) == {MINE: "rules"}
    put(service)
    assert bring(service, prune=True) == LinkLoadResult(0, 0, 0, True)
    assert stored(service) == {MINE: ""}


def test_a_load_needs_a_keeper(service: DecisionService) -> None:
    with pytest.raises(BadInput, match="require a keeper"):
        service.write(STEWARD, lambda transaction: links.load_links(transaction, [], ""))
    with pytest.raises(LimitExceeded, match="65 characters, at most 64"):
        put(service, keeper="x" * 65)


def seen(service: DecisionService, actor: Actor, *of: str) -> LinkList | Denied:
    return links.listed(service.state, actor, NOW, *of)


def test_links_are_shown_between_realms_that_the_caller_may_see(service: DecisionService) -> None:
    put(service)
    put(service, LAKE_T, LAKE_U)
    inner = link(Asset(LAKE, Entity("table", "lk:c.s.t")), Asset(LAKE, Entity("table", "lk:c.s.u")))
    assert seen(service, STEWARD) == LinkList(((MINE, ""), (inner, "")), ())
    assert seen(service, STEWARD, "app") == LinkList(((MINE, ""),), ())
    assert seen(service, STEWARD, LAKE, U) == LinkList(((inner, ""),), ())
    reads = {"id": "eve", "privileges": ["READ_REALM"], "to": ["user:eve"], "on": "realm:lake"}
    service.write(ADMIN, lambda transaction: statements.put(transaction, CONTROL, reads))
    assert seen(service, EVE) == LinkList(((inner, ""),), ("app",))
    assert seen(service, EVE, LAKE) == LinkList(((inner, ""),), ("app",))
    assert isinstance(seen(service, EVE, "app"), Denied)
    assert isinstance(seen(service, Actor("zoe")), Denied)
