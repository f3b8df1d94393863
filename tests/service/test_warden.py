"""The embedded engine: writes are atomic and immediately visible."""

from __future__ import annotations

import pytest

from lakewarden import Warden
from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.errors import Conflict, Unknown
from lakewarden.kernel.principal import Principal

TABLE = "table:lake:sales.raw.orders"


def lake() -> Warden:
    w = Warden("gravitino")
    w.add_entities("metalake:lake", "catalog:lake:sales", "schema:lake:sales.raw", TABLE)
    w.add_members("members:lake", "ana", "ben")
    return w


def test_a_grant_is_visible_to_the_next_question() -> None:
    w = lake()
    assert not w.check("ana", "table.load", TABLE).allow
    for privilege in ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"):
        w.state(id=privilege, to="user:ana", privileges=[privilege], on="metalake:lake")
    assert w.check("ana", "table.load", TABLE).allow
    assert w.list("ana", "table.load", within="schema:lake:sales.raw") == (TABLE,)
    assert w.filter("ana", "table.load", [TABLE]) == (TABLE,)
    assert w.who("table.load", TABLE) == ("ana",)
    assert "SELECT_TABLE" in w.privileges("ana", TABLE)
    w.retract("SELECT_TABLE")
    assert not w.check("ana", "table.load", TABLE).allow


def test_many_questions_are_answered_as_one_by_one() -> None:
    w = lake()
    w.set_owner("catalog:lake:sales", "ben")
    asked: list[tuple[str, str, str | None]] = [
        (user, operation, on)
        for user in ("ana", "ben", "nobody")
        for operation in ("table.load", "table.drop", "SELECT_TABLE")
        for on in (TABLE, "table:lake:sales.raw.none")
    ]
    asked += [("ben", "catalog.load", "catalog:lake:sales"), ("ben", "CREATE_CATALOG", None)]
    answered = w.check_many(iter(asked))
    assert answered == tuple(w.check(*each).allow for each in asked)
    assert set(answered) == {True, False}
    assert w.check_many([]) == ()
    with pytest.raises(Unknown, match="nothing_known"):
        w.check_many([asked[0], ("ana", "nothing_known", TABLE)])


def test_every_write_raises_the_revision_that_decisions_carry() -> None:
    w = lake()
    before = w.revision
    w.set_owner(TABLE, "ana")
    assert w.revision == before + 1
    assert w.check("ana", "table.load", TABLE).revision == w.revision


def test_an_owner_takes_the_place_of_the_last() -> None:
    w = lake()
    w.set_owner("catalog:lake:sales", "ana")
    w.set_owner("catalog:lake:sales", "ana")
    assert w.check("ana", "table.drop", TABLE).allow
    w.set_owner("catalog:lake:sales", "ben")
    assert not w.check("ana", "table.drop", TABLE).allow
    assert w.check("ben", "table.drop", TABLE).allow
    with pytest.raises(Unknown):
        w.set_owner("catalog:lake:none", "ben")


def test_members_leave_and_entities_go() -> None:
    w = lake()
    w.set_owner("metalake:lake", "ana")
    assert w.check("ana", "table.load", TABLE).allow
    w.remove_member("members:lake", "ana")
    assert not w.check("ana", "table.load", TABLE).allow
    w.drop("schema:lake:sales.raw")
    assert w.list("ben", "object.access") == ("metalake:lake",)


def test_a_write_that_does_not_hold_together_changes_nothing() -> None:
    w = lake()
    before = w.revision
    with pytest.raises(Conflict):
        w.add_entities("table:lake:sales.raw.new", TABLE)
    assert w.revision == before
    with pytest.raises(Unknown):
        w.check("ana", "table.fly", TABLE)


def test_windows_open_by_the_clock() -> None:
    now = [0.0]
    w = Warden("cdap", clock=lambda: now[0])
    w.add_entities("namespace:sales")
    w.state(id="soon", to="user:ana", privileges=["READ"], on="dataset:sales.t", valid_from=10)
    assert not w.check("ana", "dataset.read", "dataset:sales.t").allow
    now[0] = 10.0
    assert w.check("ana", "dataset.read", "dataset:sales.t").allow


def test_things_whose_place_is_data_are_placed() -> None:
    w = Warden("datahub")
    dataset = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)"
    w.place("container:urn:li:container:outer", None)
    w.place(dataset, "container:urn:li:container:outer")
    inside = [{"field": "CONTAINER", "values": ["urn:li:container:outer"]}]
    w.state(id="p", to="user:urn:li:corpuser:ana", privileges=["EDIT_ENTITY_TAGS"], where=inside)
    assert w.check("ana", "tags.edit", dataset.partition(":")[2]).allow
    assert not w.check("ben", "tags.edit", dataset).allow


def test_what_is_built_in_is_there_from_the_start() -> None:
    w = Warden("cdap")
    assert w.check("anybody", "artifact.get", "artifact:system.wrangler").allow


def test_names_are_written_the_way_people_write_them() -> None:
    w = Warden("datahub")
    assert w.request("ana", "x").principal == Principal("user", "urn:li:corpuser:ana")
    assert w.request("urn:li:corpGroup:staff", "x").principal.kind == "group"
    assert w.request("ana", "x").target == NO_RESOURCE
    cdap = Warden("cdap")
    assert cdap.request("service-admins", "x").principal.kind == "implied"
    assert cdap.request("role:eng", "x").principal == Principal("role", "eng")


def test_a_no_is_not_true_wherever_it_is_answered() -> None:
    w = lake()
    w.state(id="owns", to="user:ana", privileges=["USE_CATALOG"], on="metalake:lake")
    for operation, allowed in (("catalog.load", True), ("catalog.drop", False)):
        decision = w.check("ana", operation, "catalog:lake:sales")
        explained = w.explain("ana", operation, "catalog:lake:sales")
        assert bool(decision) is decision.allow is allowed
        assert bool(explained) is explained.decision.allow is allowed
        assert explained.rule is not None
        assert bool(explained.rule) is explained.rule.holds is allowed
