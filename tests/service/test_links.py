"""Links through the service: who may put them, what they hold on to, and who keeps them."""

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
from lakewarden.service.effect import Effect
from lakewarden.service.link import MAX_CLASS, Asset, Link, link
from lakewarden.service.links import Gap, Listed
from lakewarden.service.plane import Plane
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.testing.draft import NOW
from tests.service.planes import ADMIN, EVE, LAKE, furnish, opened

T, U = "table:lk:c.s.t", "table:lk:c.s.u"
DATASET = "dataset:s.t"
LAKE_T, LAKE_U, APP_T = (LAKE, T), (LAKE, U), ("app", DATASET)
MINE = link(Asset("app", Entity("dataset", "s.t")), Asset(LAKE, Entity("table", "lk:c.s.t")))
STEWARD = Actor("steward", credential="test")


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    """`steward` manages the realms `lake` and `app`; `other` is of another directory."""
    with opened(tmp_path) as plane:
        furnish(plane)
        for name, model, home in (("app", "cdap", "main"), ("other", "cdap", "elsewhere")):
            realm = Realm(name, model, home)
            plane.write(ADMIN, lambda desk, realm=realm: realms.create(desk, realm))  # type: ignore[misc]
        table = {
            "privileges": ["MANAGE_REALM", "READ_REALM"],
            "to": ["user:steward"],
        }
        for name in (LAKE, "app"):
            given = {**table, "id": name, "on": f"realm:{name}"}
            plane.write(ADMIN, lambda desk, given=given: statements.put(desk, CONTROL, given))  # type: ignore[misc]
        yield plane


def put(
    plane: Plane,
    one: tuple[str, str] = LAKE_T,
    other: tuple[str, str] = APP_T,
    keeper: str = "",
    actor: Actor = STEWARD,
) -> Link | Denied:
    return plane.write(actor, lambda desk: links.put(desk, one, other, keeper))


def remove(plane: Plane, actor: Actor = STEWARD) -> Denied | None:
    return plane.write(actor, lambda desk: links.remove(desk, APP_T, LAKE_T))


def bring(plane: Plane, *rows: tuple[tuple[str, str], tuple[str, str]], prune: bool = False) -> Gap:
    found = plane.write(STEWARD, lambda desk: links.bring(desk, rows, "rules", prune=prune))
    assert isinstance(found, Gap)
    return found


def stored(plane: Plane) -> dict[Link, str]:
    """The links as this process has them, found to be those that another one would load."""
    other = Plane(plane.store, clock=lambda: NOW)
    other.open()
    assert dict(other.state.links.all()) == dict(plane.state.links.all())
    return dict(plane.state.links.all())


def test_a_link_is_the_same_whichever_end_is_named_first(plane: Plane) -> None:
    assert put(plane) == MINE
    assert put(plane, APP_T, LAKE_T) == MINE
    assert stored(plane) == {MINE: ""}


def test_what_changes_nothing_makes_no_revision(plane: Plane) -> None:
    put(plane)
    before = plane.state.revision
    put(plane, APP_T, LAKE_T)
    assert plane.state.revision == before
    assert remove(plane) is None
    assert plane.state.revision == before + 1
    assert remove(plane) is None
    assert plane.state.revision == before + 1
    assert stored(plane) == {}


def test_only_who_manages_both_realms_links_them(plane: Plane) -> None:
    refused = put(plane, actor=EVE)
    assert isinstance(refused, Denied)
    table = {"id": "eve", "privileges": ["MANAGE_REALM"], "to": ["user:eve"], "on": "realm:app"}
    plane.write(ADMIN, lambda desk: statements.put(desk, CONTROL, table))
    refused = put(plane, actor=EVE)
    assert isinstance(refused, Denied)
    assert refused.object == Entity("realm", LAKE)
    put(plane)
    assert isinstance(remove(plane, EVE), Denied)
    found = plane.write(EVE, lambda desk: links.bring(desk, [(LAKE_T, APP_T)], "rules"))
    assert isinstance(found, Denied)
    assert stored(plane) == {MINE: ""}


def test_a_no_is_told_alike_for_a_realm_that_is_not_there(plane: Plane) -> None:
    for realm in ("other", "moon"):
        refused = put(plane, other=(realm, DATASET))
        assert isinstance(refused, Denied)
        assert (refused.operation, refused.object) == ("link.put", Entity("realm", realm))


def test_every_try_is_in_the_audit_trail(plane: Plane) -> None:
    put(plane)
    put(plane, actor=EVE)
    with plane.reading() as reading:
        events = [row.body for row in reading.audit() if '"link.put"' in row.body]
    assert ['"allow"' in body for body in events] == [True, True, False]
    assert all("table:lk:c.s.t" in body for body in events)


def test_realms_of_different_directories_never_meet(plane: Plane) -> None:
    with pytest.raises(BadInput, match="never meet: `lake` is in `main`, `other` in `elsewhere`"):
        put(plane, other=("other", DATASET), actor=ADMIN)
    with pytest.raises(BadInput, match="never meet"):
        plane.write(ADMIN, lambda desk: links.bring(desk, [(LAKE_T, ("other", DATASET))], "r"))
    with pytest.raises(BadInput, match="holds are no assets"):
        put(plane, other=(CONTROL, "realm:lake"), actor=ADMIN)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (LAKE_T, "is linked to itself"),
        ((LAKE, "table:lk:c.s.none"), "is not stored"),
        (("app", "dataset:"), "expected|empty|names no entity"),
    ],
)
def test_what_is_no_asset_is_refused(plane: Plane, other: tuple[str, str], expected: str) -> None:
    with pytest.raises((BadInput, Unknown), match=expected):
        put(plane, other=other)
    assert stored(plane) == {}


def test_a_name_that_its_system_judges_need_not_be_stored(plane: Plane) -> None:
    assert not plane.state.realm("app").matrix.snapshot.coded.is_known(Entity("dataset", "s.t"))
    assert put(plane) == MINE


def test_an_unknown_realm_is_told_to_who_may_know(plane: Plane) -> None:
    with pytest.raises(Unknown, match="moon"):
        put(plane, other=("moon", DATASET), actor=ADMIN)


def test_so_many_entities_are_one_asset_and_no_more(plane: Plane) -> None:
    names = [("app", f"dataset:s.t{number}") for number in range(MAX_CLASS)]
    for one, other in pairwise(names[:-1]):
        put(plane, one, other)
    put(plane, names[0], names[-1])
    with pytest.raises(LimitExceeded, match="65 entities would be one asset, at most 64"):
        put(plane, LAKE_T, names[5])
    with pytest.raises(LimitExceeded, match="65 entities"):
        bring(plane, (LAKE_T, names[5]))
    assert put(plane, names[3], names[40]) is not None  # closes a circle, and adds nobody


def effect(plane: Plane, realm: str, *effects: Effect) -> None:
    plane.write(SYSTEM, lambda desk: desk.change(realm, *effects))


def test_a_link_follows_the_name_of_its_entity_and_goes_with_it(plane: Plane) -> None:
    put(plane)
    put(plane, LAKE_T, LAKE_U, "rules")
    table, new = Entity("table", "lk:c.s.t"), Entity("table", "lk:c.s.z")
    effect(plane, LAKE, EntityRenamed(table, new.name))
    mine, theirs = (
        link(Asset("app", Entity("dataset", "s.t")), Asset(LAKE, new)),
        link(Asset(LAKE, new), Asset(LAKE, Entity("table", "lk:c.s.u"))),
    )
    assert stored(plane) == {mine: "", theirs: "rules"}
    # The ends are in another order now than when they were stored.
    assert put(plane, (LAKE, "table:lk:c.s.z"), LAKE_U) == theirs
    assert stored(plane) == {mine: "", theirs: ""}
    effect(plane, LAKE, EntityDropped(new))
    assert stored(plane) == {}
    effect(plane, LAKE, EntityAdded(table, Entity("schema", "lk:c.s")))
    assert stored(plane) == {}


def test_a_link_goes_with_a_container_of_its_entity_and_with_its_realm(plane: Plane) -> None:
    put(plane)
    put(plane, ("app", "dataset:p.x"), (LAKE, "table:lk:c.p.secret"))
    effect(plane, LAKE, EntityDropped(Entity("schema", "lk:c.s")))
    assert [one.other.entity.name for one in stored(plane)] == ["lk:c.p.secret"]
    plane.write(ADMIN, lambda desk: realms.drop(desk, "app"))
    assert stored(plane) == {}


def test_other_processes_catch_up_with_links(plane: Plane) -> None:
    other = Plane(plane.store, clock=lambda: NOW)
    other.open()
    put(plane)
    bring(plane, (LAKE_U, APP_T))
    assert dict(other.catch_up().links.all()) == stored(plane)
    remove(plane)
    effect(plane, LAKE, EntityRenamed(Entity("table", "lk:c.s.u"), "lk:c.s.z"))
    assert dict(other.catch_up().links.all()) == stored(plane)


def test_a_load_adds_and_on_request_takes_away_and_leaves_what_others_keep(plane: Plane) -> None:
    put(plane)
    assert bring(plane, (LAKE_T, APP_T), (LAKE_U, APP_T)) == Gap(1, 0, 1, False)
    before = plane.state.revision
    assert bring(plane, (APP_T, LAKE_U), (LAKE_T, APP_T)) == Gap(0, 0, 1, False)
    assert bring(plane) == Gap(0, 1, 0, False)
    assert plane.state.revision == before
    assert len(stored(plane)) == 2
    assert bring(plane, prune=True) == Gap(0, 1, 0, True)
    assert stored(plane) == {MINE: ""}
    assert plane.state.revision == before + 1


def test_who_takes_over_a_link_keeps_it(plane: Plane) -> None:
    bring(plane, (LAKE_T, APP_T))
    assert stored(plane) == {MINE: "rules"}
    put(plane)
    assert bring(plane, prune=True) == Gap(0, 0, 0, True)
    assert stored(plane) == {MINE: ""}


def test_a_load_needs_a_keeper(plane: Plane) -> None:
    with pytest.raises(BadInput, match="need a keeper"):
        plane.write(STEWARD, lambda desk: links.bring(desk, [], ""))
    with pytest.raises(LimitExceeded, match="65 characters, at most 64"):
        put(plane, keeper="x" * 65)


def seen(plane: Plane, actor: Actor, *of: str) -> Listed | Denied:
    return links.listed(plane.state, actor, NOW, *of)


def test_links_are_shown_between_realms_that_the_caller_may_see(plane: Plane) -> None:
    put(plane)
    put(plane, LAKE_T, LAKE_U)
    inner = link(Asset(LAKE, Entity("table", "lk:c.s.t")), Asset(LAKE, Entity("table", "lk:c.s.u")))
    assert seen(plane, STEWARD) == Listed(((MINE, ""), (inner, "")), ())
    assert seen(plane, STEWARD, "app") == Listed(((MINE, ""),), ())
    assert seen(plane, STEWARD, LAKE, U) == Listed(((inner, ""),), ())
    reads = {"id": "eve", "privileges": ["READ_REALM"], "to": ["user:eve"], "on": "realm:lake"}
    plane.write(ADMIN, lambda desk: statements.put(desk, CONTROL, reads))
    assert seen(plane, EVE) == Listed(((inner, ""),), ("app",))
    assert seen(plane, EVE, LAKE) == Listed(((inner, ""),), ("app",))
    assert isinstance(seen(plane, EVE, "app"), Denied)
    assert isinstance(seen(plane, Actor("zoe")), Denied)
