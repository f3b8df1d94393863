"""The rules have the same findings if names are only looked up on demand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.analysis.lint.catalogue import RULES
from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.run import lint
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.pipeline.lint.run import findings_of
from lakewarden.pipeline.lint.skeleton import Ids, Names, Register
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make
from tests.agreement import harness
from tests.agreement.conftest import a_share_of_the_examples
from tests.agreement.harness import SYSTEMS
from tests.analysis.lint import worlds

SIZE = Size(entities=30, users=6, groups=4, roles=4, statements=25, goals=4)

every_system = pytest.mark.parametrize("name", SYSTEMS)
few = a_share_of_the_examples(16)


def nameless(snapshot: Snapshot) -> tuple[Snapshot, Register]:
    """The snapshot without its names, and the register that records the looked-up ones."""
    register, tree = Register(), snapshot.coded.tree
    bare = replace(
        tree,
        names=Names(register, len(tree)),
        named={kind: Ids(register, kind) for kind in tree.kinds},
    )
    return replace(snapshot, coded=replace(snapshot.coded, tree=bare), classes=None), register


def check(estate: LintContext) -> int:
    """Runs both ways; returns the number of name lookups."""
    tree = estate.tree
    snapshot, register = nameless(estate.snapshot)
    turns = 0

    def look_up() -> None:
        nonlocal turns
        turns += 1
        ids = {*register.missing_ids, *filter(None, map(tree.find, register.missing_entities))}
        register.learn([(id, tree.entity(id)) for id in ids])

    bare = LintContext(snapshot, set_aside=estate.set_aside, unknown=estate.unknown)
    rules = list(RULES.values())
    assert findings_of("realm", bare, rules, register, look_up) == lint("realm", estate, rules)
    return turns


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_finds_what_it_finds_with_all_names_at_hand(rule: str) -> None:
    for example in ("violating", "clean"):
        check(worlds.context(worlds.example(rule, example)))


@pytest.mark.by_day(3)
@every_system
@few
@given(seed=st.integers(0, 2**32 - 1))
def test_all_rules_find_the_same_in_random_worlds(name: str, seed: int) -> None:
    system = harness.system(name)
    facts = make(system, seed, SIZE).facts
    try:
        snapshot = compile(facts, system.model, system.spelling, now=NOW)
    except WardenError:
        return
    check(LintContext(snapshot))


def test_a_name_that_is_nowhere_is_looked_up_once() -> None:
    register = Register()
    ids = Ids(register, "table")
    assert ids.get("lk:c.s.t") is None
    register.learn([])
    assert ids.get("lk:c.s.t") is None
    assert (register.misses, register.missing_entities) == (1, set())


def test_names_are_known_by_id_and_ids_by_name_once_they_were_found() -> None:
    register = Register()
    names = Names(register, 3)
    assert (len(names), names[1], names[0:2]) == (3, "", ["", ""])
    assert register.missing_ids == {0, 1}
    register.learn([(0, Entity("", "")), (1, Entity("schema", "lk:c.s"))])
    assert names[0:2] == ["", "lk:c.s"]
    assert Ids(register, "schema").get("lk:c.s") == 1
