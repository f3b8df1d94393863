"""All privileges of a user on an entity, and what they allow."""

from __future__ import annotations

from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.privileges import operations_of, privileges_of
from lakewarden.kernel.request import Request
from lakewarden.service.system import load_system
from tests.kernel.small import CATALOG_SYSTEM as CAT
from tests.kernel.small import LAKE_SYSTEM as LAKE
from tests.kernel.small import matrix, question, world
from tests.kernel.test_matrix import CAT_FACTS, DATASET, LAKE_FACTS, T


def test_inherited_and_derived_privileges_are_held_too() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    assert privileges_of(m, question(LAKE, "ana", "", T)) == ("MEMBER", "USE", "READ")
    assert privileges_of(m, question(LAKE, "barred", "", T)) == ("MEMBER", "USE")
    assert privileges_of(m, question(LAKE, "ana", "", "tag:m:pii")) == ("MEMBER", "APPLY")


def test_a_privilege_that_reaches_above_is_looked_at_there() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    assert "SIGHT" in privileges_of(m, question(LAKE, "ana", "", "schema:m:c.s"))
    assert "SIGHT" not in privileges_of(m, question(LAKE, "ana", "", T))
    assert "SIGHT" not in privileges_of(m, question(LAKE, "ana", "", "tag:m:pii"))


def test_where_policies_choose_by_criteria_every_privilege_is_looked_at() -> None:
    m = matrix(CAT, CAT_FACTS)
    assert privileges_of(m, question(CAT, "ana", "", DATASET)) == ("VIEW", "EDIT", "SEARCH")
    assert privileges_of(m, Request(CAT.principal("cid"), "", NO_RESOURCE)) == ("MANAGE",)


def test_visibility_is_looked_at_where_something_may_lie_below() -> None:
    cdap = load_system("cdap")
    granted: dict[str, object] = {
        "id": "x",
        "privileges": ["READ"],
        "to": ["user:ana"],
        "on": "dataset:a.t",
    }
    m = matrix(cdap, world(cdap, ["namespace:a", "dataset:a.t"], statements=[granted]))
    assert privileges_of(m, question(cdap, "ana", "", "namespace:a")) == ("VISIBLE",)
    assert {"READ", "VISIBLE"} <= set(privileges_of(m, question(cdap, "ana", "", "dataset:a.t")))


def test_the_operations_that_they_open() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    assert {"load", "read_some_tag"} <= set(operations_of(m, question(LAKE, "ana", "", T)))
    assert operations_of(m, Request(LAKE.principal("root"), "", NO_RESOURCE)) == ("create",)
