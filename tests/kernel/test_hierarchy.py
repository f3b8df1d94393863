"""Too deep nesting is denied in every kind of request; too large statements are refused."""

from __future__ import annotations

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.explain import explain
from lakewarden.kernel.hierarchy import MAX_LEVELS, height
from lakewarden.kernel.listing import listing
from lakewarden.kernel.principal import GROUP, Principal
from lakewarden.kernel.request import Reason
from lakewarden.kernel.statement import (
    MAX_CRITERIA,
    MAX_VALUES,
    Condition,
    Criterion,
    Effect,
    On,
    Statement,
    Where,
    check_size,
)
from lakewarden.kernel.who import who
from tests.kernel.small import LAKE_SYSTEM as LAKE
from tests.kernel.small import matrix, question, state, user, world

T = "table:m:c.s.t"


def nested(depth: int) -> dict[str, list[str]]:
    """Ana in the innermost of `depth` nested groups; bob in the outermost."""
    chain = {f"group:g{at}": [f"group:g{at - 1}"] for at in range(1, depth)}
    chain |= {"group:g0": ["ana"], "members:m": ["ana", "bob"]}
    chain[f"group:g{depth - 1}"] = [*chain.get(f"group:g{depth - 1}", []), "bob"]
    return chain


@pytest.mark.parametrize(("depth", "expected"), [(MAX_LEVELS, True), (MAX_LEVELS + 1, False)])
def test_64_groups_may_be_nested_and_no_65(depth: int, expected: bool) -> None:
    reads = state("s", "USE READ", f"group:g{depth - 1}", on="metalake:m")
    tree = ["metalake:m", "catalog:m:c", "schema:m:c.s", T]
    m = matrix(LAKE, world(LAKE, tree, members=nested(depth), statements=[reads]))
    asked = question(LAKE, "ana", "load", T)
    decision = m.decide(asked)
    assert decision.allow is expected
    assert (decision.reason is Reason.ERROR) is not expected
    assert bool(listing(m, asked)) is expected
    assert (user("ana") in who(m, asked)) is expected
    assert user("bob") in who(m, asked)
    if expected:
        assert explain(m, asked).decision.allow
    else:
        with pytest.raises(LimitExceeded):
            m.subject(asked)


def test_a_height_is_counted_no_further_than_asked() -> None:
    of = {at: [at + 1] for at in range(10)}
    assert height(0, of) == 10
    assert height(0, of, 10) == 10
    assert height(0, of, 9) == 10
    assert height(0, of, 3) == 4


def criteria(count: int, values: int = 1) -> tuple[Criterion, ...]:
    named = tuple(f"v{at}" for at in range(values))
    return tuple(Criterion("TYPE", Condition.EQUALS, named) for _ in range(count))


def statement(scope: On | Where, constraint: tuple[Criterion, ...] | None = None) -> Statement:
    everyone = frozenset({Principal(GROUP, "g")})
    return Statement("s", Effect.ALLOW, frozenset({"X"}), scope, everyone, constraint=constraint)


def test_a_statement_has_at_most_64_criteria() -> None:
    check_size(statement(On(Entity("table", "m:c.s.t"))))
    check_size(statement(Where(criteria(MAX_CRITERIA))))
    check_size(statement(Where(criteria(MAX_CRITERIA - 1)), criteria(1)))
    for more in (
        statement(Where(criteria(MAX_CRITERIA + 1))),
        statement(Where(criteria(MAX_CRITERIA)), criteria(1)),
    ):
        with pytest.raises(LimitExceeded, match="65 criteria"):
            check_size(more)


def test_a_criterion_has_at_most_1000_values() -> None:
    check_size(statement(Where(criteria(1, MAX_VALUES))))
    with pytest.raises(LimitExceeded, match="1001 values of `TYPE`"):
        check_size(statement(Where(criteria(1, MAX_VALUES + 1))))
