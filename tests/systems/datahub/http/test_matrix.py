"""T-33, generated: every forbidden write is forbidden in every way, and has no effect.

Every entity type, with every aspect that has a meaning or affects permissions, in every way of
writing and deleting: as change proposals, by OpenAPI, and by the mutations of GraphQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.systems.datahub.aspects.meaning import READERS
from lakewarden.systems.datahub.http.graphql.schema import schema
from tests.systems.datahub.http.graphql import wire as graphql
from tests.systems.datahub.http.graphql.census import REFUSED
from tests.systems.datahub.http.ways import (
    EVE,
    MUTATIONS,
    POLICY,
    POWER,
    TAKES,
    TYPES,
    WRITES,
    aspects_of,
    deletions,
    urn_of,
    value_of,
)
from tests.systems.datahub.http.wire import Wire

WAYS = {**WRITES, **TAKES}
CASES = [(type, aspect) for type in TYPES for aspect in aspects_of(type)]
CRUCIAL = {
    *((type, aspect) for type in ("corpuser", "corpGroup") for aspect in ("roleMembership",)),
    *(("corpuser", name) for name in ("groupMembership", "nativeGroupMembership")),
    *(("corpuser", name) for name in ("corpUserCredentials", "corpUserStatus")),
    ("dataHubPolicy", "dataHubPolicyInfo"),
    ("dataHubAccessToken", "dataHubAccessTokenInfo"),
    ("dataHubSecret", "dataHubSecretValue"),
    ("dataset", "ownership"),
    ("dataset", "status"),
}
"""Sent in every way, to a stored or a missing entity; every second one of the others is sent once.

Nightly, all are sent in all ways.
"""
SHIPPED = "urn:li:dataHubPolicy:admin-platform-policy"


def _open_filled_realm(folder: Path) -> Wire:
    """A realm with one stored entity of every type."""
    wire = Wire(folder)
    wire.put(*((urn_of(type, "there"), "status", {"removed": False}) for type in TYPES))
    wire.put(
        (urn_of("dataHubPolicy", "there"), "dataHubPolicyInfo", dict(POLICY, state="INACTIVE"))
    )
    return wire


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """Eve has no permission at all, so one realm suffices for all her attempts."""
    with _open_filled_realm(tmp_path_factory.mktemp("nothing")) as wire:
        yield wire


@pytest.fixture(scope="module")
def editing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """Eve may edit and create everything that metadata policies can permit."""
    with _open_filled_realm(tmp_path_factory.mktemp("editing")) as wire:
        wire.grant("edits", "EDIT_ENTITY", "CREATE_ENTITY", to=EVE)
        yield wire


def test_the_matrix_is_of_all_types_and_ways() -> None:
    assert len(TYPES) > 70
    assert len(CASES) > 2_000
    assert len(WAYS) == 26


NAMES = ("there", "new")
"""A stored name, and a missing one."""
TRIED = [(way, name) for way in WAYS for name in NAMES]


def _dealt(way: str, name: str) -> list[tuple[str, str]]:
    """Some of the cases for each way and name; together they are the daytime cases."""
    turn, at = NAMES.index(name) + list(WAYS).index(way), TRIED.index((way, name))
    return [*sorted(CRUCIAL)[turn % 2 :: 2], *CASES[2 * at :: 2 * len(TRIED)]]


def _check_refused(wire: Wire, way: str, name: str, cases: list[tuple[str, str]]) -> None:
    revision = wire.service.state.revision
    answered = {
        (type, aspect): WAYS[way](wire, urn_of(type, name), aspect, value_of(aspect))
        for type, aspect in cases
    }
    assert {case: code for case, code in answered.items() if code != 403} == {}
    assert wire.service.state.revision == revision


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", WAYS)
def test_who_has_nothing_is_refused_every_write_in_some_way(
    refusing: Wire, way: str, name: str
) -> None:
    _check_refused(refusing, way, name, _dealt(way, name))


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", WAYS)
def test_who_has_nothing_is_refused_every_write_in_every_way(
    refusing: Wire, way: str, name: str
) -> None:
    _check_refused(refusing, way, name, CASES)


@pytest.mark.parametrize("type", TYPES)
def test_who_has_nothing_is_refused_every_deletion(refusing: Wire, type: str) -> None:
    revision = refusing.service.state.revision
    for method, path, body in deletions(urn_of(type, "there")):
        assert refusing.bad(method, path, body, EVE) == 403, path
    assert refusing.service.state.revision == revision


@pytest.mark.parametrize("type", TYPES)
def test_who_may_edit_everything_may_delete_nothing(editing: Wire, type: str) -> None:
    urn = urn_of(type, "there")
    if type in DELETED_BY_EDITING:
        return
    revision = editing.service.state.revision
    for method, path, body in deletions(urn):
        assert editing.bad(method, path, body, EVE) == 403, path
    for way, send in TAKES.items():
        assert send(editing, urn, "status", {}) == 403, way
    assert editing.service.state.revision == revision


@pytest.mark.parametrize("type", TYPES)
def test_what_may_be_edited_may_be_marked_as_removed(editing: Wire, type: str) -> None:
    """And nothing else: each type in one of the ways."""
    ways = [way for way in WRITES if not _creates(way)]
    send = WRITES[ways[TYPES.index(type) % len(ways)]]
    urn = urn_of(type, "there")
    plain = send(editing, urn, "subTypes", {"typeNames": ["x"]})
    assert plain in (200, 403)
    assert send(editing, urn, "status", {"removed": True}) == plain


def _creates(way: str) -> bool:
    """Whether the way requires an aspect, or an entity, that does not exist yet."""
    return "CREATE" in way or way.endswith("NotExists")


DELETED_BY_EDITING = {"query"}
"""Types whose deletion is a change of their subjects."""

PLATFORM = ("corpGroup", "corpuser", "dataHubPolicy", "dataHubSecret", "globalSettings")
"""Types that no metadata policy permits to write: they have platform privileges."""


@pytest.mark.parametrize("type", PLATFORM)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.nightly)])
def test_what_is_of_the_platform_is_not_written_by_who_edits_everything(
    editing: Wire, type: str, name: str, step: int
) -> None:
    """Every aspect in two ways, others for a new entity; nightly in all."""
    revision = editing.service.state.revision
    for at, aspect in enumerate(aspects_of(type), start=NAMES.index(name)):
        for way in list(WAYS)[at % step :: step]:
            code = WAYS[way](editing, urn_of(type, name), aspect, value_of(aspect))
            assert code == 403, (way, aspect)
    assert editing.service.state.revision == revision


@pytest.mark.parametrize("type", ["corpGroup", "corpuser"])
def test_a_role_is_given_by_who_manages_policies_alone(tmp_path: Path, type: str) -> None:
    """UPDATE_USERS and UPDATE_GROUPS permit every other aspect of users and groups."""
    with _open_filled_realm(tmp_path) as wire:
        wire.grant("edits", "EDIT_ENTITY", "CREATE_ENTITY", "DELETE_ENTITY", to=EVE)
        wire.grant("people", "UPDATE_USERS", "UPDATE_GROUPS", to=EVE)
        urn = urn_of(type, "there")
        reader = {"roles": ["urn:li:dataHubRole:Reader"]}
        wire.put((urn, "roleMembership", reader))
        for way, send in WAYS.items():
            code = send(wire, urn, "roleMembership", value_of("roleMembership"))
            assert code == (400 if _creates(way) else 403), way
        assert wire.aspects(urn)["roleMembership"] == reader
        assert WRITES["OpenAPI"](wire, urn, f"{type}Info", {"active": True}) == 200


def test_what_the_system_ships_is_changed_in_no_way_by_anybody(tmp_path: Path) -> None:
    with Wire(tmp_path) as wire:
        wire.put(
            (
                "urn:li:dataHubPolicy:all",
                "dataHubPolicyInfo",
                dict(POLICY, privileges=["MANAGE_POLICIES"]),
            )
        )
        before = wire.aspects(SHIPPED)
        revision = wire.service.state.revision
        for way, send in WAYS.items():
            code = send(wire, SHIPPED, "dataHubPolicyInfo", POLICY)
            assert code in (400, 403), way
        for method, path, body in deletions(SHIPPED):
            if "deleteReferences" not in path:
                assert wire.bad(method, path, body, EVE) == 403, path
        assert wire.service.state.revision == revision
        assert wire.aspects(SHIPPED) == before


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[graphql.Wire]:
    """GraphQL, without any permission except stated ones."""
    with graphql.Wire(tmp_path) as wire:
        wire.close()
        yield wire


def _check_mutation(wire: graphql.Wire, name: str) -> None:
    revision, asked = wire.service.state.revision, REFUSED[name]
    assert wire.bad(asked.query, EVE, **asked.variables)[0] == 403
    assert wire.service.state.revision == revision
    who, operation, _, outcome = wire.audit()[-1]
    assert (who, operation, outcome) == (EVE, asked.operation, "deny")


def test_every_aspect_of_power_or_meaning_is_accounted_for() -> None:
    assert MUTATIONS.keys() == READERS.keys() | POWER
    mutations = schema().mutation_type
    assert mutations is not None
    assert {name for names in MUTATIONS.values() for name in names} <= mutations.fields.keys()


@pytest.mark.parametrize("name", sorted({name for names in MUTATIONS.values() for name in names}))
def test_who_has_nothing_is_refused_every_mutation(graph: graphql.Wire, name: str) -> None:
    _check_mutation(graph, name)


@pytest.mark.parametrize(
    "name",
    [
        *("batchAssignRole", "createPolicy", "updatePolicy", "deletePolicy", "createSecret"),
        *("batchUpdateSoftDeleted", "updateUserStatus", "createInviteToken", "removeUser"),
        *("removeGroup", "createAccessToken", "updateGlobalSettings", "createDomain"),
    ],
)
def test_who_may_edit_everything_is_refused_what_is_not_an_edit(
    graph: graphql.Wire, name: str
) -> None:
    edits = dict(
        POLICY, type="METADATA", privileges=["EDIT_ENTITY", "CREATE_ENTITY", "VIEW_ENTITY_PAGE"]
    )
    graph.put("dataHubPolicy", "urn:li:dataHubPolicy:edits", "dataHubPolicyInfo", edits)
    _check_mutation(graph, name)
