"""The operations that show each kind of data: every switch on and off, every list of types."""

from __future__ import annotations

from typing import Any

import pytest
from pyroaring import BitMap

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import Entity
from lakewarden.service.actor import Actor
from lakewarden.systems.datahub.http import view_authorization
from tests.systems.datahub.http.views import configure
from tests.systems.datahub.http.wire import REALM, Wire

DATASET = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)")
BOX, TAG = Entity("container", "urn:li:container:box"), Entity("tag", "urn:li:tag:x")
USER = Entity("corpuser", "urn:li:corpuser:ana")
EVERYTHING = [BOX, USER, DATASET, TAG]


@pytest.fixture
def hub(wire: Wire) -> Wire:
    """A server with one entity of some types; eve may read only the container."""
    for entity in EVERYTHING:
        wire.put((entity.name, f"{entity.type}Key", {}))
    wire.grant("eve", "VIEW_ENTITY_PAGE", to="eve", URN=[BOX.name])
    wire.grant("finds", "VIEW_ENTITY", to="eve", URN=[TAG.name])
    return wire


USUAL: dict[str, Any] = {
    "view": False,
    "search_access": False,
    "unrestricted": (),
    "unrestricted_add": (),
    "unrestricted_remove": (),
}


def exchange(hub: Wire, user: str = "eve", **options: Any) -> Exchange:
    services = configure(hub.service, REALM, hub.services, {**USUAL, **options})
    return Exchange(
        method="GET",
        path="/",
        params={},
        query={},
        headers={},
        body=b"",
        actor=Actor(user, credential="simple", wire="datahub"),
        realm=REALM,
        state=hub.service.state,
        now=hub.service.clock(),
        service=hub.service,
        services=services,
    )


def pages(asked: Exchange) -> list[Entity]:
    """The visible entities; the same by ids."""
    tree = asked.realm_state.matrix.snapshot.coded.tree
    shown = view_authorization.visible(asked, EVERYTHING)
    ids = BitMap([id for id in map(tree.find, EVERYTHING) if id is not None])
    assert {tree.entity(id) for id in view_authorization.visible_ids(asked, ids)} == set(shown)
    return shown


def hits(asked: Exchange) -> list[Entity]:
    tree = asked.realm_state.matrix.snapshot.coded.tree
    found = BitMap.union(*(view_authorization.hits(asked, entity.type) for entity in EVERYTHING))
    return [entity for entity in EVERYTHING if entity in {tree.entity(id) for id in found}]


def test_without_a_switch_everybody_is_shown_everything(hub: Wire) -> None:
    asked = exchange(hub)
    assert pages(asked) == hits(asked) == EVERYTHING
    assert not view_authorization.is_guarded(asked)


def test_view_authorization_guards_pages_and_hits(hub: Wire) -> None:
    asked = exchange(hub, view=True)
    assert pages(asked) == hits(asked) == [BOX, USER]
    stranger = exchange(hub, "stranger", view=True)
    assert pages(stranger) == hits(stranger) == [BOX, USER]  # unrestricted by default


def test_search_access_controls_guard_hits_alone(hub: Wire) -> None:
    asked = exchange(hub, search_access=True)
    assert pages(asked) == EVERYTHING
    assert hits(asked) == [BOX, USER, TAG]
    both = exchange(hub, view=True, search_access=True)
    assert pages(both) == [BOX, USER]
    assert hits(both) == [BOX, USER, TAG]


@pytest.mark.parametrize("options", [{"view": True}, {"search_access": True}])
def test_with_policies_off_no_switch_counts(hub: Wire, options: dict[str, Any]) -> None:
    asked = exchange(hub, policies=False, **options)
    assert pages(asked) == hits(asked) == EVERYTHING


@pytest.mark.parametrize("switch", ["view", "search_access"])
def test_a_type_that_is_added_is_open(hub: Wire, switch: str) -> None:
    asked = exchange(hub, "stranger", **{switch: True}, unrestricted_add=("DataSet",))
    assert DATASET in hits(asked)
    assert TAG not in hits(asked)
    assert DATASET in pages(asked)


@pytest.mark.parametrize("switch", ["view", "search_access"])
def test_a_type_that_is_taken_out_is_restricted(hub: Wire, switch: str) -> None:
    options: dict[str, Any] = {switch: True, "unrestricted_remove": ("container", "corpuser")}
    assert hits(exchange(hub, "stranger", **options)) == []
    assert BOX in hits(exchange(hub, **options))
    assert USER not in hits(exchange(hub, **options))


@pytest.mark.parametrize("switch", ["view", "search_access"])
def test_a_list_stands_in_place_of_the_usual_one(hub: Wire, switch: str) -> None:
    options: dict[str, Any] = {switch: True, "unrestricted": ("tag",)}
    assert hits(exchange(hub, "stranger", **options)) == [TAG]
    more = {**options, "unrestricted_add": ("dataset",), "unrestricted_remove": ("tag",)}
    assert hits(exchange(hub, "stranger", **more)) == [DATASET]


def test_the_lists_open_nothing_to_whom_policies_are_off_for_rest(hub: Wire) -> None:
    asked = exchange(hub, "stranger", unrestricted=("dataset",), view=True)
    assert (
        len(view_authorization.rest_hits(asked, "dataset"))
        == len(view_authorization.rest_readable(asked, "dataset"))
        == 0
    )
    off = exchange(hub, "stranger", rest=False)
    assert (
        len(view_authorization.rest_hits(off, "dataset"))
        == len(view_authorization.rest_readable(off, "dataset"))
        == 1
    )
