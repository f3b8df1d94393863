"""Fields that filters and masks use instead of another one, and relations for these."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakewarden.kernel import snapshot as snapshots
from lakewarden.kernel.change import RelationChanged
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.relations import RelationRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect
from lakewarden.kernel.statement_file import read_statements
from tests.kernel.small import LAKE, binding, matrix, system, user, world

_FIELD = """
[fields.TAG]
origin = "tagged"
"""
_LIMITING = """
[relations.noted]
from = ["table"]
to = "tag"
grants = false

[fields.NOTED]
origin = ["tagged", "noted"]
every = true
grants = false
"""
TEXT = LAKE + _FIELD + 'limits = "NOTED"\n' + _LIMITING
SYSTEM = binding(system(TEXT), rows="table")
ORDERS, PEOPLE, PII, OTHER = "table:m:c.s.orders", "table:m:c.s.people", "tag:m:pii", "tag:m:other"
ENTITIES = ["metalake:m", "catalog:m:c", "schema:m:c.s", ORDERS, PEOPLE, PII, OTHER]


@pytest.fixture(params=[16_384, 0], ids=["classes", "bitmaps"], autouse=True)
def forms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms of the matrix."""
    monkeypatch.setattr(snapshots, "CLASS_LIMIT", request.param)


def made(*edges: tuple[str, str, str], condition: str = "EQUALS", field: str = "TAG") -> Matrix:
    """A lake with a filter on entities with the tag `pii`, and a grant on them."""
    criteria = [{"field": field, "condition": condition, "values": ["m:pii"]}]
    tables: list[dict[str, object]] = [
        {"id": "f", "effect": "filter", "where": criteria, "expression": "e"}
    ]
    if field == "TAG":
        tables.append({"id": "g", "privileges": ["READ"], "to": ["user:ana"], "where": criteria})
    facts = world(SYSTEM, ENTITIES, relations=list(edges))
    statements = read_statements(tables, SYSTEM.model, SYSTEM.spelling, "test")
    return matrix(SYSTEM, replace(facts, statements=statements))


def bound(m: Matrix, on: str) -> bool:
    return bool(obligations(m, Request(user("ana"), "", SYSTEM.entity(on)), Effect.FILTER))


def granted(m: Matrix, on: str) -> bool:
    (grant,) = (one for one in m.snapshot.table.allows("READ").every if one.statement.id == "g")
    id = m.snapshot.coded.tree.find(SYSTEM.entity(on))
    return id is not None and id in m.snapshot.bitmaps[grant.scope]


def test_filters_look_at_more_than_grants() -> None:
    m = made(("noted", ORDERS, PII), ("tagged", PEOPLE, PII))
    assert (bound(m, ORDERS), bound(m, PEOPLE)) == (True, True)
    assert (granted(m, ORDERS), granted(m, PEOPLE)) == (False, True)


def test_all_origins_count_and_not_the_first_alone() -> None:
    m = made(("tagged", ORDERS, OTHER), ("noted", ORDERS, PII))
    assert bound(m, ORDERS)
    assert not bound(made(("tagged", ORDERS, OTHER), ("noted", ORDERS, OTHER)), ORDERS)


def test_what_must_not_be_there_is_looked_for_in_all_of_them() -> None:
    m = made(("tagged", ORDERS, OTHER), ("noted", ORDERS, PII), condition="NOT_EQUALS")
    assert (bound(m, ORDERS), bound(m, PEOPLE)) == (False, True)


def test_the_field_may_be_named_by_itself() -> None:
    assert bound(made(("noted", ORDERS, PII), field="NOTED"), ORDERS)


def test_a_change_of_such_a_relation_is_seen() -> None:
    m = made()
    assert not bound(m, ORDERS)
    row = RelationRow("noted", SYSTEM.entity(ORDERS), SYSTEM.entity(PII))
    m = apply(m, [RelationChanged(row, True)], now=0.0, revision=2)
    assert bound(m, ORDERS)
    assert not bound(apply(m, [RelationChanged(row, False)], now=0.0, revision=3), ORDERS)


def test_limiting_fields_are_not_part_of_the_digest() -> None:
    assert SYSTEM.model.digest == system(LAKE + _FIELD).model.digest


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (LAKE + _FIELD + 'limits = "NONE"\n', "`NONE` is no field for filters and masks alone"),
        (LAKE + _FIELD + 'limits = "TAG"\n', "`TAG` is no field for filters and masks alone"),
        (
            LAKE + _LIMITING.replace("grants = false\n\n[fields", "\n[fields", 1).replace(
                "every = true\ngrants = false", "every = true"
            ).replace('to = "tag"\n', 'to = "tag"\ngrants = false\n'),
            "`noted` is for filters and masks alone",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        system(text)


def test_no_rule_looks_at_such_a_relation() -> None:
    rule = 'rule = "some(noted, READ)"'
    text = TEXT + f'\n[operations."table.odd"]\non = "table"\n{rule}\ntitle = "t"\nsource = "s"\n'
    with pytest.raises(BadInput, match="unknown relation or request list `noted`"):
        system(text)
