"""The questions of a review: chosen by name, grouped by rule."""

from __future__ import annotations

import pytest

from lakewarden import models
from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.model import WAYS
from lakewarden.pipeline.review.question import (
    OPERATION,
    PRIVILEGE,
    Chosen,
    attribute_comparisons,
    chosen,
)
from tests.agreement import harness

GRAVITINO = models.load("gravitino")
EVERYTHING = harness.system("everything").model


def names(asked: Chosen, type: str) -> set[str]:
    matters = asked.agenda(GRAVITINO, type).matters
    return {question.name for matter in matters for question in matter.questions}


def test_everything_that_can_be_asked_of_a_type_is_asked() -> None:
    asked = names(Chosen(), "table")
    operations = {o.name for o in GRAVITINO.operations.values() if o.rule_or_none("table")}
    assert operations < asked
    assert {"SELECT_TABLE", "USE_CATALOG"} < asked
    assert "CONSUME_TOPIC" not in asked
    assert "metalake.create" in names(Chosen(), "")


def test_names_choose_and_none_leaves_a_kind_out() -> None:
    one = chosen(GRAVITINO, ["SELECT_TABLE"], ["none"])
    assert names(one, "table") == {"SELECT_TABLE"}
    other = chosen(GRAVITINO, ["none"], ["table.load", "schema.load"])
    assert names(other, "table") == {"table.load"}
    assert names(other, "topic") == set()


@pytest.mark.parametrize(("privileges", "operations"), [(["NOPE"], None), (None, ["nope.do"])])
def test_an_unknown_name_is_refused(
    privileges: list[str] | None, operations: list[str] | None
) -> None:
    with pytest.raises(Unknown, match=r"(?i)unknown (privilege|operation) `nope"):
        chosen(GRAVITINO, privileges, operations)


def test_ways_are_asked_even_where_nobody_chose_them() -> None:
    agenda = chosen(GRAVITINO, ["none"], ["none"]).agenda(GRAVITINO, "table")
    assert all(not matter.questions for matter in agenda.matters)
    assert len(agenda.ways) == len(WAYS)
    assert None not in agenda.ways


def test_questions_with_the_same_rule_are_one_matter() -> None:
    agenda = Chosen().agenda(GRAVITINO, "table")
    rules = [matter.rule for matter in agenda.matters]
    assert len(set(rules)) == len(rules)
    assert any(len(matter.questions) > 1 for matter in agenda.matters)


def test_what_depends_on_the_request_is_marked() -> None:
    agenda = Chosen().agenda(EVERYTHING, "thing")
    asked = {q.name: q for matter in agenda.matters for q in matter.questions}
    marked = {name for name, question in asked.items() if question.request}
    assert {"thing.link", "thing.apply", "thing.soft", "thing.level", "thing.closed"} <= marked
    assert not marked & {"thing.read", "thing.tags", "thing.status", "thing.team", "READ"}
    assert {question.kind for question in asked.values()} == {PRIVILEGE, OPERATION}


def test_comparisons_with_attributes_of_users_are_known_beforehand() -> None:
    assert [one.attribute for one in attribute_comparisons(EVERYTHING)] == ["subject.team"]
    assert attribute_comparisons(GRAVITINO) == ()
