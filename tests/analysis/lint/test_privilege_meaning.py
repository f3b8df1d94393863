"""The linter's derivations from the models: the privileges for each operation, and implications."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from lakewarden import models
from lakewarden.analysis.lint.privilege_meaning import Meaning, meaning, not_denied

GRAVITINO = Meaning(models.load("gravitino"))
DATAHUB = Meaning(models.load("datahub"))
CDAP = Meaning(models.load("cdap"))

WAY = {"USE_CATALOG", "USE_SCHEMA"}


def test_a_table_is_loaded_in_two_ways() -> None:
    assert GRAVITINO.ways("table.load", "table") == {
        frozenset({*WAY, "SELECT_TABLE"}),
        frozenset({*WAY, "MODIFY_TABLE"}),
    }


def test_its_owner_needs_only_the_way_there() -> None:
    assert GRAVITINO.ways("table.load", "table", owning=True) == {frozenset(WAY)}
    assert GRAVITINO.ways("table.drop", "table") == frozenset()


def test_an_operation_on_another_type_has_no_way() -> None:
    assert GRAVITINO.ways("table.load", "topic") == frozenset()


def test_what_belongs_to_a_privilege_is_told_by_type() -> None:
    both = {type: {frozenset(WAY)} for type in ("table", "column")}
    assert GRAVITINO.companions("SELECT_TABLE") == both
    assert GRAVITINO.companions("USE_SCHEMA")["schema"] == {frozenset({"USE_CATALOG"})}


def test_writing_stands_in_for_reading_and_not_the_reverse() -> None:
    assert GRAVITINO.stand_ins("SELECT_TABLE") == {"MODIFY_TABLE"}
    assert GRAVITINO.stand_ins("MODIFY_TABLE") == frozenset()
    assert GRAVITINO.stand_ins("CONSUME_TOPIC") == {"PRODUCE_TOPIC"}
    assert "EDIT_ENTITY" in DATAHUB.stand_ins("EDIT_ENTITY_TAGS")


def test_owners_need_the_use_privileges_of_what_lies_above() -> None:
    needs = GRAVITINO.owner_needs
    assert needs["table"] == WAY
    assert needs["schema"] == {"USE_CATALOG"}
    assert "catalog" not in needs
    assert "job_template" not in needs


@pytest.mark.parametrize(
    ("meaning", "changes", "looks"),
    [
        (GRAVITINO, {"MODIFY_TABLE", "CREATE_ROLE", "RUN_JOB"}, {"SELECT_TABLE", *WAY}),
        (DATAHUB, {"EDIT_ENTITY", "DELETE_ENTITY", "MANAGE_TAGS"}, {"VIEW_ENTITY_PAGE"}),
        (CDAP, {"WRITE", "EXECUTE", "ADMIN"}, {"READ"}),
    ],
)
def test_what_changes_is_told_from_what_only_looks(
    meaning: Meaning, changes: set[str], looks: set[str]
) -> None:
    assert changes <= meaning.changing
    assert meaning.changing.isdisjoint(looks)


def test_what_shows_entities_is_a_matter_of_systems_with_views() -> None:
    assert DATAHUB.view_privileges == {"VIEW_ENTITY_PAGE", "GET_ENTITY_PRIVILEGE"}
    cloud = Meaning(models.load("datahub", {"views": "cloud"}))
    assert "VIEW_ENTITY" in cloud.view_privileges
    assert GRAVITINO.view_privileges == frozenset()


def test_who_may_grant() -> None:
    assert GRAVITINO.granting == {"MANAGE_GRANTS"}
    assert DATAHUB.granting == {"MANAGE_POLICIES"}
    assert CDAP.granting == frozenset()


def test_assets_are_what_criteria_choose_among() -> None:
    assert {"dataset", "chart", "dataJob"} <= DATAHUB.assets
    assert DATAHUB.assets.isdisjoint({"domain", "container", "tag", "glossaryTerm", "corpuser"})


def test_levels_are_counted_from_the_top() -> None:
    assert [GRAVITINO.depth(t) for t in ("metalake", "catalog", "schema", "table", "tag")] == [
        *(0, 1, 2, 3, 1)
    ]
    assert DATAHUB.depth("container") == 0
    assert DATAHUB.depth("a type that the model does not list") == 0
    assert GRAVITINO.below("schema") >= {"table", "column", "topic"}


def test_what_operations_name_themselves_leaves_out_what_follows() -> None:
    assert "EXECUTE" in CDAP.asked_for("program")
    assert "EXECUTE" not in CDAP.asked_for("namespace")


def test_some_denies_count_where_nothing_is_allowed() -> None:
    assert not_denied(models.load("gravitino")) == {"USE_CATALOG", "SELECT_COLUMN"}
    assert not_denied(models.load("datahub")) == frozenset()


def test_a_model_is_looked_at_once() -> None:
    model = models.load("gravitino")
    assert meaning(model) is meaning(model)
    copied = replace(model)
    assert meaning(copied).model is copied, "what is another model may say something else"


def test_threads_that_look_at_the_same_time_find_the_same() -> None:
    expected = DATAHUB.changing
    looked = Meaning(models.load("datahub"))
    types = ("", *looked.model.types)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda type: [looked.ways(o, type) for o in looked.model.operations], types))
    assert looked.changing == expected
