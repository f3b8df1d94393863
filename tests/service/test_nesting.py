"""The maximum nesting of people and entities, for all kinds of writes (R-17)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from lakewarden.kernel.change import EntityAdded, MembershipChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.hierarchy import MAX_LEVELS
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.request import Reason, Request
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service import entities, people, state_builder
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect
from lakewarden.service.load import LoadResult, load_rows
from lakewarden.testing.world_draft import NOW
from tests.service.opened_services import ADMIN, LAKE, opened

ANA = Principal(USER, "ana")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path, "datahub") as service:
        yield service


def group(number: int) -> Principal:
    return Principal(GROUP, f"g{number:02}")


def box(number: int) -> Entity:
    return Entity("container", f"urn:li:container:{number:02}")


def text(entity: Entity) -> str:
    return f"{entity.type}:{entity.name}"


def groups(count: int) -> list[MembershipRow]:
    """Ana in the first of `count` groups, each of them in the next."""
    chain = [ANA, *map(group, range(count))]
    return [MembershipRow(*pair) for pair in pairwise(chain)]


def boxes(count: int) -> list[EntityRow]:
    """`count` containers, each in the previous one."""
    return [EntityRow(box(n), box(n - 1) if n else None) for n in range(count)]


def spelled(service: DecisionService, rows: list[MembershipRow]) -> list[MembershipRow]:
    system = service.state.realm(LAKE).system
    return [MembershipRow(*map(system.spelled, row)) for row in rows]


def test_64_groups_follow_on_one_another_and_no_65th(service: DecisionService) -> None:
    for row in groups(MAX_LEVELS):
        service.write(
            ADMIN, partial(people.add_member, directory="main", member=row.member, group=row.of)
        )
    newcomer = Principal(GROUP, "below")
    service.write(ADMIN, lambda d: people.add_member(d, "main", ANA, newcomer))
    revision = service.state.revision
    last = groups(MAX_LEVELS + 1)[-1]
    with pytest.raises(LimitExceeded, match="more than 64 memberships"):
        service.write(ADMIN, lambda d: people.add_member(d, "main", *last))
    with pytest.raises(LimitExceeded):
        service.write(ADMIN, lambda d: people.add_member(d, "main", newcomer, group(0)))
    of = "group:urn:li:corpGroup:above"
    member = f"group:urn:li:corpGroup:{group(MAX_LEVELS - 1).name}"
    with pytest.raises(LimitExceeded):
        service.write(ADMIN, lambda d: people.add_realm_member(d, LAKE, member, of))
    assert service.state.revision == revision


def test_what_a_realm_adds_closes_no_circle_with_its_directory(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: people.add_member(d, "main", group(0), group(1)))
    one, other = (f"group:urn:li:corpGroup:{group(n).name}" for n in (0, 1))
    with pytest.raises(BadInput, match="would be a member of itself"):
        service.write(ADMIN, lambda d: people.add_realm_member(d, LAKE, other, one))
    service.write(
        ADMIN, lambda d: people.add_realm_member(d, LAKE, one, "group:urn:li:corpGroup:z")
    )
    with pytest.raises(BadInput, match="would be a member of itself"):
        service.write(
            ADMIN, lambda d: people.add_member(d, "main", Principal(GROUP, "z"), group(0))
        )


def test_64_levels_lie_above_an_entity_and_no_65th(service: DecisionService) -> None:
    for row in boxes(MAX_LEVELS + 1):
        parent = None if row.parent is None else text(row.parent)
        service.write(
            ADMIN, partial(entities.put, realm=LAKE, text=text(row.entity), parent=parent)
        )
    revision = service.state.revision
    deeper = partial(entities.put, realm=LAKE, text=text(box(65)), parent=text(box(MAX_LEVELS)))
    with pytest.raises(LimitExceeded, match="more than 64 levels above it"):
        service.write(ADMIN, deeper)
    service.write(ADMIN, lambda d: entities.put(d, LAKE, text(box(99))))
    with pytest.raises(LimitExceeded):
        service.write(ADMIN, lambda d: entities.put(d, LAKE, text(box(0)), parent=text(box(99))))
    with pytest.raises(BadInput, match="would lie below itself"):
        service.write(ADMIN, lambda d: entities.put(d, LAKE, text(box(0)), parent=text(box(7))))
    assert service.state.revision == revision + 1


@pytest.mark.parametrize("bulk", [state_builder.BULK, 0], ids=["one by one", "compiled afresh"])
def test_many_changes_at_once_are_held_to_the_same(
    service: DecisionService, bulk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_builder, "BULK", bulk)
    ring = [*groups(2), MembershipRow(group(1), group(0))]
    wrong: list[tuple[list[Effect], type[Exception]]] = [
        ([EntityAdded(*row) for row in boxes(MAX_LEVELS + 2)], LimitExceeded),
        ([MembershipChanged(row, True) for row in groups(MAX_LEVELS + 1)], LimitExceeded),
        ([MembershipChanged(row, True) for row in ring], BadInput),
    ]
    for effects, error in wrong:
        with pytest.raises(error):
            service.write(ADMIN, lambda d, found=effects: d.change(LAKE, *found))  # type: ignore[misc]
    service.write(ADMIN, lambda d: d.change(LAKE, *(EntityAdded(*r) for r in boxes(65))))


def test_a_load_is_held_to_the_same(service: DecisionService) -> None:
    system, revision = service.state.realm(LAKE).system, service.state.revision
    ring = [*groups(2), MembershipRow(group(1), group(0))]
    for facts, error in (
        (Facts(entities=boxes(MAX_LEVELS + 2)), LimitExceeded),
        (Facts(memberships=spelled(service, groups(MAX_LEVELS + 1))), LimitExceeded),
        (Facts(memberships=spelled(service, ring)), BadInput),
    ):
        with pytest.raises(error):
            load_rows(service, ADMIN, LAKE, system, facts)
    assert service.state.revision == revision
    good = Facts(entities=boxes(MAX_LEVELS + 1), memberships=spelled(service, groups(MAX_LEVELS)))
    assert isinstance(load_rows(service, ADMIN, LAKE, system, good), LoadResult)


@pytest.mark.parametrize(("criteria", "values"), [(64, 1), (65, 1), (1, 1_000), (1, 1_001)])
def test_a_load_brings_no_statement_of_more_criteria_or_values_than_are_allowed(
    service: DecisionService, criteria: int, values: int
) -> None:
    system = service.state.realm(LAKE).system
    criterion = {"field": "TAG", "values": [f"urn:li:tag:{n}" for n in range(values)]}
    table = {"id": "x", "privileges": ["VIEW_ENTITY_PAGE"], "to": ["all-users"]}
    said = [{**table, "where": [criterion] * criteria}]
    facts = Facts(statements=read_statements(said, system.model, system.spelling, "test"))
    if criteria > 64 or values > 1_000:
        with pytest.raises(LimitExceeded, match="at most"):
            load_rows(service, ADMIN, LAKE, system, facts)
    else:
        assert isinstance(load_rows(service, ADMIN, LAKE, system, facts), LoadResult)


def test_a_load_closes_no_circle_with_what_is_stored(service: DecisionService) -> None:
    system = service.state.realm(LAKE).system
    first = Facts(
        entities=[EntityRow(box(0)), EntityRow(box(1), box(0))],
        memberships=spelled(service, [MembershipRow(group(0), group(1))]),
    )
    load_rows(service, ADMIN, LAKE, system, first)
    revision = service.state.revision
    for facts, match in (
        (Facts(entities=[EntityRow(box(0), box(1))]), "are below themselves"),
        (
            Facts(memberships=spelled(service, [MembershipRow(group(1), group(0))])),
            "would be members of themselves",
        ),
    ):
        with pytest.raises(BadInput, match=match):
            load_rows(service, ADMIN, LAKE, system, facts)
    assert service.catch_up().revision == revision
    shallow = Facts(entities=[EntityRow(box(0), box(2)), EntityRow(box(2))])
    assert isinstance(load_rows(service, ADMIN, LAKE, system, shallow), LoadResult)


def test_what_is_stored_in_a_circle_all_the_same_is_served_and_can_be_mended(
    service: DecisionService,
) -> None:
    other = DecisionService(service.store, clock=service.clock)
    other.open()
    with service.store.writing() as writing:  # like an older release, or a manual change
        writing.apply(LAKE, [EntityAdded(box(0)), EntityAdded(box(1), box(0))])
        writing.commit(())
    service.catch_up()
    with service.store.writing() as writing:
        writing.apply(LAKE, [EntityAdded(box(2), box(1)), *_ring()])
        writing.commit(())
    for seen in (service, other):
        coded = seen.catch_up().realm(LAKE).matrix.snapshot.coded
        assert len(coded.memberships.inert) == 2
    service.write(ADMIN, lambda d: people.remove_realm_member(d, LAKE, *_texts()))
    assert not service.state.realm(LAKE).matrix.snapshot.coded.memberships.inert


def _ring() -> list[Effect]:
    one, two = (Principal(GROUP, f"urn:li:corpGroup:{name}") for name in "ab")
    return [
        MembershipChanged(MembershipRow(one, two), True),
        MembershipChanged(MembershipRow(two, one), True),
    ]


def _texts() -> tuple[str, str]:
    return "group:urn:li:corpGroup:a", "group:urn:li:corpGroup:b"


def test_who_is_nested_too_deep_in_the_store_is_denied(service: DecisionService) -> None:
    rows = spelled(service, groups(MAX_LEVELS + 1))
    with service.store.writing() as writing:
        writing.apply(LAKE, [MembershipChanged(row, True) for row in rows])
        writing.commit(())
    asked = Request(rows[0].member, "entity.view_profile", box(0), NOW)
    model = service.state.realm(LAKE).system.model
    asked = Request(rows[0].member, next(iter(model.privileges)), box(0), NOW)
    assert service.catch_up().realm(LAKE).matrix.decide(asked).reason is Reason.ERROR
