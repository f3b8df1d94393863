"""A plan for an index gives the same result as compiling all the rows afterwards."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakewarden.kernel import cascade
from lakewarden.kernel.change import (
    Change,
    EntityAdded,
    EntityDropped,
    EntityMoved,
    EntityRenamed,
    MembershipChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.principal import GROUP, Principal
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.pipeline.index.index import BLOCKS, MATCHES, STATEMENTS, Index
from lakewarden.pipeline.stream import affected_blocks
from lakewarden.pipeline.stream import plan as planning
from lakewarden.pipeline.stream.events import Event, EventRange
from lakewarden.pipeline.stream.plan import Plan, plan
from lakewarden.pipeline.stream.policy import Policy, text_of
from lakewarden.service.system import System
from lakewarden.testing.changes import after, change
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make
from tests.agreement import harness
from tests.agreement.conftest import a_share_of_the_examples
from tests.agreement.test_obligations import drawn as with_obligations
from tests.agreement.test_obligations import more as more_obligations
from tests.pipeline.index.worlds import possible
from tests.pipeline.stream import offline

SIZE = Size(entities=40, users=6, groups=3, roles=3, statements=12, goals=5)
BITS = 3
seeds = st.integers(0, 2**32 - 1)
few = a_share_of_the_examples(10)


def happened(system: System, facts: Facts, seed: int, count: int) -> tuple[list[Event], Facts]:
    """Some changes with all their consequences, and the facts afterwards."""
    events: list[Event] = []
    for step in range(count):
        made, later = change(system, facts, seed + step)
        if not _may_be(system, made):
            continue
        snapshot = compile(facts, system.model, system.spelling, now=NOW)
        for effect in cascade.steps(snapshot, made):
            events.append(Event(step + 2, len(events), effect, f"step {step}"))
        facts = later
    return events, facts


def _may_be(system: System, made: Change) -> bool:
    """Whether a server permits it: not if it cannot be granted, or is a permanent default."""
    match made:
        case StatementAdded(statement):
            granted = possible(system, replace(Facts(), statements=[statement])).statements
            return bool(granted) and statement.id not in fixed(system)
        case StatementRemoved(id):
            return id not in fixed(system)
        case _:
            return True


def fixed(system: System) -> set[str]:
    """The default statements that cannot be changed."""
    return {str(t["id"]) for t in system.model.defaults if not t.get("editable", False)}


def at(revision: int) -> dict[str, object]:
    """An index's facts about a revision."""
    return {"revision": revision, "store": f"{revision}:"}


def planned(index: Index, events: list[Event], until: int) -> Plan:
    """The plan, with names looked up in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "blocks_of", lambda *_: None)
        patch.setattr(planning, "_names_of", lambda _, wanted, __: offline.names(index, wanted))
        patch.setattr(planning, "_before", lambda _, *told: offline.before(index, *told[:3]))
        event_range = EventRange(1, until, f"{until}:", tuple(events), "")
        return plan(index, [event_range], None, NOW)  # type: ignore[arg-type]  # nothing asks it


def wrong(index: Index, made: Plan, expected: Index) -> list[str]:
    """The differences between a plan's result and the expected one."""
    rows = sorted(offline.table(expected, BLOCKS), key=repr)
    found = {(scope, block): b for scope, block, _, b in offline.table(expected, MATCHES)}
    stated = expected.folder / STATEMENTS
    pairs: dict[str, tuple[Any, Any]] = {
        "facts": (dict(made.facts), dict(expected.manifest.facts)),
        "rows": (offline.rows(index, made), rows),
        "matches": (offline.matches(index, made), found),
        "statements": (told(text_of(made.policy.stated())), told(stated.read_text("utf-8"))),
        "people": (made.context.memberships, expected.memberships()),
    }
    return [name for name, (ours, theirs) in pairs.items() if ours != theirs]


def told(text: str) -> list[Any]:
    """The contents of JSON lines."""
    return [json.loads(line) for line in text.split("\n")[:-1]]


@pytest.mark.by_day(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["gravitino", "datahub", "cdap"])
@few
@given(seed=seeds, count=st.integers(1, 6))
@example(seed=1130761, count=1)  # everything left is in one block
def test_a_plan_gives_what_compiling_everything_gives(name: str, seed: int, count: int) -> None:
    system = harness.system(name)
    facts = possible(system, make(system, seed, SIZE).facts)
    try:
        offline.compiled(system, facts)
        events, later = happened(system, facts, seed, count)
        for one in (facts, later):
            edges = {(row.member, row.of) for row in one.memberships}
            Policy(system, {}, set(one.principals), edges, set()).closed_memberships(())
    except WardenError:
        return  # a world with a cycle, or a refused change
    with TemporaryDirectory() as folder:
        index = offline.indexed(Path(folder) / "before", system, facts, at(1), BITS)
        expected = offline.indexed(Path(folder) / "after", system, later, at(count + 1), BITS)
        made = planned(index, events, count + 1)
        assert wrong(index, made, expected) == []


@pytest.mark.by_day(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["gravitino", "datahub"])
@few
@given(seed=seeds)
def test_filters_and_masks_that_come_and_go_are_followed(name: str, seed: int) -> None:
    system = harness.system(name)
    _, drawn, draft = with_obligations(name, seed)
    facts = possible(system, drawn)
    old = [one.id for one in facts.statements if one.obliges]
    new = [replace(one, id=f"new {one.id}") for one in more_obligations(draft, 6)]
    changes: list[Change] = [*map(StatementAdded, new), *map(StatementRemoved, old[:2])]
    later = facts
    events: list[Event] = []
    for step, made in enumerate(changes):
        events.append(Event(step + 2, step, made, f"step {step}"))
        later = after(system, later, made)
    try:
        offline.compiled(system, facts)
        edges = {(row.member, row.of) for row in facts.memberships}
        Policy(system, {}, set(facts.principals), edges, set()).closed_memberships(())
    except WardenError:
        return  # a world with a cycle
    until = len(changes) + 1
    with TemporaryDirectory() as folder:
        index = offline.indexed(Path(folder) / "before", system, facts, at(1), BITS)
        expected = offline.indexed(Path(folder) / "after", system, later, at(until), BITS)
        assert wrong(index, planned(index, events, until), expected) == []


def test_a_filter_and_a_mask_outlive_what_they_lie_on(tmp_path: Path) -> None:
    system = harness.system("gravitino")
    texts = ["metalake:lk", "catalog:lk:c", "schema:lk:c.s", "table:lk:c.s.t", "column:lk:c.s.t.a"]
    made = [system.entity(text) for text in texts]
    tables = [
        {"id": "filter", "effect": "filter", "on": texts[3], "expression": "a = 1"},
        {"id": "mask", "effect": "mask", "on": texts[4], "expression": "null"},
        {"id": "read", "privileges": ["SELECT_TABLE"], "to": ["user:ana"], "on": texts[3]},
    ]
    facts = Facts(
        entities=[EntityRow(entity, system.spelling.parent(entity)) for entity in made],
        statements=read_statements(tables, system.model, system.spelling, "test"),
    )
    facts = possible(system, facts)
    table, column = made[3], made[4]
    added = [EntityAdded(table, made[2]), EntityAdded(column, table)]
    changes: list[list[Change]] = [[EntityDropped(table)], [*added]]
    index = offline.indexed(tmp_path / "0", system, facts, at(1), BITS)
    for step, batch in enumerate(changes, 1):
        events: list[Event] = []
        for one in batch:
            snapshot = compile(facts, system.model, system.spelling, now=NOW)
            for effect in cascade.steps(snapshot, one):
                events.append(Event(step + 1, len(events), effect, f"step {step}"))
            facts = after(system, facts, one)
        expected = offline.indexed(tmp_path / str(step), system, facts, at(step + 1), BITS)
        assert wrong(index, planned(index, events, step + 1), expected) == []
        index = expected
    assert {"filter", "mask"} <= {one.id for one in index.statements()}
    assert "read" not in {one.id for one in index.statements()}


@pytest.mark.parametrize("is_new", [False, True])
def test_the_name_of_what_was_dropped_may_be_given_on_at_once(tmp_path: Path, is_new: bool) -> None:
    system = harness.system("gravitino")
    made = [system.entity(text) for text in TEXTS]
    schema, old, other = made[2], made[3], made[5]
    tables = [
        {"id": of, "privileges": ["SELECT_TABLE"], "to": [f"user:{of}"], "on": text}
        for of, text in (("ana", TEXTS[3]), ("bob", TEXTS[5]))
    ]
    facts = Facts(
        entities=[EntityRow(entity, system.spelling.parent(entity)) for entity in made],
        statements=read_statements(tables, system.model, system.spelling, "test"),
    )
    facts = possible(system, facts)
    dropped = Entity("table", "lk:c.s.new") if is_new else other
    changes: list[Change] = [EntityAdded(dropped, schema)] if is_new else []
    changes += [EntityDropped(dropped), EntityRenamed(old, dropped.name)]
    index = offline.indexed(tmp_path / "before", system, facts, at(1), BITS)
    events: list[Event] = []
    for one in changes:
        snapshot = compile(facts, system.model, system.spelling, now=NOW)
        for effect in cascade.steps(snapshot, one):
            events.append(Event(2, len(events), effect, "line"))
        facts = after(system, facts, one)
    expected = offline.indexed(tmp_path / "after", system, facts, at(2), BITS)
    assert wrong(index, planned(index, events, 2), expected) == []
    taken = Event(3, 0, EntityRenamed(schema, made[6].name), "line")
    with pytest.raises(BadInput, match="has its name already; ingest and index anew"):
        planned(index, [taken], 3)


TEXTS = (
    *("metalake:lk", "catalog:lk:c", "schema:lk:c.s"),
    *("table:lk:c.s.a", "column:lk:c.s.a.x", "table:lk:c.s.b", "schema:lk:c.r"),
)


def test_a_block_that_only_a_guest_reaches_must_not_be_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def own_only(touched: Any, pairs: Any, bones: Any, gone: Any, shift: Any, bits: int) -> Any:
        return frozenset((touched >> bits).tolist())

    system = harness.system("datahub")
    facts = possible(system, make(system, 22, SIZE).facts)
    events, later = happened(system, facts, 22, 6)
    index = offline.indexed(tmp_path / "before", system, facts, at(1), BITS)
    expected = offline.indexed(tmp_path / "after", system, later, at(7), BITS)
    assert wrong(index, planned(index, events, 7), expected) == []
    monkeypatch.setattr(affected_blocks, "affected_blocks", own_only)
    assert wrong(index, planned(index, events, 7), expected) == ["rows"]


CONTAINERS = [Entity("container", f"urn:li:container:{name}") for name in "abc"]


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (EntityDropped(Entity("container", "urn:li:container:x")), "is not stored in the index"),
        (EntityMoved(CONTAINERS[0], CONTAINERS[1]), "would lie below itself"),
        (
            MembershipChanged(MembershipRow(Principal(GROUP, "b"), Principal(GROUP, "a")), True),
            "`group:a` would be a member of itself",
        ),
    ],
)
def test_an_event_that_does_not_fit_is_refused(
    tmp_path: Path, effect: Change, expected: str
) -> None:
    system = harness.system("datahub")
    nested = MembershipRow(Principal(GROUP, "a"), Principal(GROUP, "b"))
    above = (None, *CONTAINERS[:2])
    rows = [EntityRow(*row) for row in zip(CONTAINERS, above, strict=True)]
    facts = Facts(entities=rows, memberships=(nested,))
    index = offline.indexed(tmp_path / "before", system, facts, at(1), BITS)
    with pytest.raises(BadInput, match=f"{expected}.*ingest and index anew"):
        planned(index, [Event(2, 0, effect, "line 1")], 2)
