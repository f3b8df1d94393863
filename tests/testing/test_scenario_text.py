"""A random world written as a scenario file is read back as the same world."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.principal import GROUP, USER
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.statement import Owners
from lakewarden.service.defaults import built_in
from lakewarden.service.scenario_file import reads
from lakewarden.service.scenario_target import request_of
from lakewarden.service.scenarios import question
from lakewarden.testing.questions import ask
from lakewarden.testing.scenario_text import scenario_text
from lakewarden.testing.worlds import make
from tests.agreement import harness
from tests.agreement.test_scenarios import load
from tests.oracle.oracle import Oracle

SYSTEMS = ["gravitino_next", "datahub", "cdap", "cdap_parent_write_propagated", "everything"]


def rows(facts: Facts) -> list[object]:
    people = {p for p in facts.principals if p.kind in (USER, GROUP)}
    return [
        sorted(facts.entities),
        sorted(facts.relations),
        sorted(facts.attributes),
        sorted(facts.owners),
        sorted(facts.memberships),
        {statement.id: statement for statement in facts.statements},
        people,
    ]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_world_and_its_question_come_back_as_they_were(name: str) -> None:
    system = harness.system(name)
    read = 0
    for seed in range(12):
        world = make(system, seed, harness.SMALL)
        kept = [s for s in world.facts.statements if s.owners != Owners(frozenset())]
        grantable = {p.name for p in system.model.privileges.values() if p.grantable}
        named = system.model.privilege
        shipped = built_in(system)
        kept = [
            s
            for s in kept
            if s in shipped or {named(word).name for word in s.privileges} <= grantable
        ]
        facts = Facts(
            entities=world.facts.entities,
            relations=world.facts.relations,
            attributes=world.facts.attributes,
            owners=world.facts.owners,
            principals=world.facts.principals,
            memberships=world.facts.memberships,
            statements=kept,
        )
        oracle = Oracle(facts, system.model, system.spelling)
        for asked in ask(world, seed, 12):
            request = replace(asked, groups=tuple(sorted(asked.groups)))
            if request.principal not in world.facts.principals or request.target.name == "":
                continue
            try:
                allowed = oracle.check(request)
                text = scenario_text(system, facts, request, allowed=allowed, title="a title")
                scenario = reads(text, Path("it.toml"), load)
            except WardenError:
                continue
            read += 1
            (case,) = scenario.cases
            assert request_of(question(case, request.principal)) == request
            assert rows(scenario.facts) == rows(facts)
            assert scenario.system.model.settings == system.model.settings
            assert bool(case.allow) is allowed
    assert read > 20
