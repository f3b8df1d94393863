"""T-34: data that is read and written back unchanged changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from lakewarden import sample
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.relations import Facts, MembershipRow
from lakewarden.service.actor import SYSTEM
from lakewarden.systems.datahub.settings import DataHubSettings
from lakewarden.testing.worlds import Size, make
from tests.store.lake import Rows, effects_of, sets
from tests.systems.datahub.http.ways import TYPES, VALUES, urn_of
from tests.systems.datahub.http.wire import REALM, Wire, proposal

ROOT = "__datahub_system"
"""A user who may write everything."""

SMALL = Size(entities=40, users=8, groups=4, roles=2, statements=10, goals=5)
CHUNK = 50


def facts(wire: Wire) -> Rows:
    system = wire.service.state.realm(REALM).system
    with wire.service.reading() as reading:
        return sets(reading.facts(REALM, system))


def entities(wire: Wire) -> Iterator[Entity]:
    snapshot = wire.service.state.realm(REALM).matrix.snapshot
    tree = snapshot.coded.tree
    for kind in tree.kinds:
        yield from (tree.entity(id) for id in tree.ordered(snapshot.of_type(kind)))


def urn_entities(wire: Wire) -> list[Entity]:
    return [one for one in entities(wire) if one.name.startswith("urn:li:")]


def by_open(wire: Wire, found: list[Entity]) -> None:
    for type in sorted({one.type for one in found}):
        own = [{"urn": one.name} for one in found if one.type == type]
        path = f"/openapi/v3/entity/{type}"
        for start in range(0, len(own), CHUNK):
            bodies = wire.good("POST", f"{path}/batchGet", own[start : start + CHUNK], ROOT)
            kept = [one for one in bodies if len(one) > 1]
            if kept:
                wire.good("POST", path, kept, ROOT)


def by_proposals(wire: Wire, found: list[Entity]) -> None:
    items = []
    for one in found:
        body = wire.good("GET", f"/entitiesV2/{quote(one.name, safe='')}", user=ROOT)
        items += [proposal(one.name, name, a["value"]) for name, a in body["aspects"].items()]
    for start in range(0, len(items), CHUNK):
        part = {"proposals": items[start : start + CHUNK]}
        wire.good("POST", "/aspects?action=ingestProposalBatch", part, ROOT)


Way = Callable[[Wire, list[Entity]], None]
WAYS: list[Way] = [by_open, by_proposals]


def check_same(wire: Wire, ways: Sequence[Way] = WAYS) -> None:
    """Each way begins with the others' result, which must be the original."""
    before, found = facts(wire), urn_entities(wire)
    assert found
    for way in ways:
        way(wire, found)
        assert facts(wire) == before, way.__name__


@pytest.mark.nightly
@pytest.mark.slow
def test_of_the_sample_estate(wire: Wire) -> None:
    records: list[Any] = json.loads(sample.path("datahub").read_text("utf-8"))
    refused = 0
    for start in range(0, len(records), 100):
        part = records[start : start + 100]
        if _sent(wire, part) != 200:  # some of the estate's names are deliberately wrong
            refused += sum(_sent(wire, [one]) == 400 for one in part)
    assert 0 < refused < 10
    check_same(wire)


def _sent(wire: Wire, records: list[Any]) -> int:
    body = {"proposals": records}
    return wire.ask("POST", "/aspects?action=ingestProposalBatch", body, ROOT)[0]


def without_cycles(rows: Sequence[MembershipRow]) -> list[MembershipRow]:
    """The rows of a world that a change may add: it may have cycles, which no write may close."""
    kept: list[MembershipRow] = []
    for row in rows:
        above = [row.of]
        for group in above:
            above += [one.of for one in kept if one.member == group and one.of not in above]
        if row.member not in above:
            kept.append(row)
    return kept


@pytest.mark.by_day(4)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_of_a_generated_world(wire: Wire, seed: int, way: Way) -> None:
    system = wire.service.state.realm(REALM).system
    world: Facts = make(system, seed, SMALL).facts
    told = [one for one in world.statements if one.owners is None or one.owners.types is None]
    rows = without_cycles(world.memberships)
    effects = list(effects_of(replace(world, statements=told, memberships=rows)))
    wire.service.write(SYSTEM, lambda transaction: transaction.change(REALM, *effects))
    wire.services = type(wire.services)(
        systems={"datahub": DataHubSettings(rest=False)}
    )  # nobody may write some of them
    check_same(wire, [way])


def test_of_every_type_with_every_aspect_that_means_something(wire: Wire) -> None:
    kept = 0
    for type in TYPES:
        told = [(urn_of(type), name, dict(value)) for name, value in VALUES.items()]
        with suppress(BadInput):  # a relation that does not start at this type
            wire.put(*told)
            kept += len(told)
            continue
        for one in told:
            with suppress(BadInput):
                wire.put(one)
                kept += 1
    assert kept > 10 * len(TYPES)
    check_same(wire)


def test_what_was_refused_before_is_refused_afterwards(wire: Wire) -> None:
    urn = urn_of("dataset")
    wire.put((urn, "ownership", {"owners": []}), (urn, "globalTags", {"tags": []}))
    wire.grant("tags", "EDIT_ENTITY", to="eve", URN=[urn_of("dataset", "other")])
    refused = {"proposal": proposal(urn, "globalTags", {"tags": []})}
    for _ in range(2):
        assert wire.bad("POST", "/aspects?action=ingestProposal", refused, "eve") == 403
        by_open(wire, urn_entities(wire))
        by_proposals(wire, urn_entities(wire))
