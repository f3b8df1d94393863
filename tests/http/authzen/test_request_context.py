"""The context of a question."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden import models
from lakewarden.http.authzen.discovery import EVALUATION
from lakewarden.kernel.principal import ROLE, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.service.system import of_model
from tests.http.authzen.small import Asking, facts, question, realm, records, state
from tests.kernel.small import LAKE


def lake() -> Any:
    """The kernel tests' lake, in which ana reads by a role and may apply one tag."""
    system = of_model(models.loads(LAKE, "lake.toml"))
    rows = facts(
        system,
        [
            *("metalake:m", "catalog:m:c", "schema:m:c.s", "schema:m:c.z"),
            *("table:m:c.s.t", "tag:m:pii", "tag:m:hot"),
        ],
        [
            {
                "id": "use",
                "privileges": ["USE"],
                "to": ["user:ana", "user:zoe"],
                "on": "schema:m:c.s",
            },
            {
                "id": "read",
                "privileges": ["READ"],
                "to": ["role:m:readers", "group:staff"],
                "on": "schema:m:c.s",
            },
            {"id": "tag", "privileges": ["APPLY"], "to": ["user:ana"], "on": "tag:m:pii"},
        ],
        users=["ana", "zoe"],
        members=[
            ("user:ana", "members:m"),
            ("user:zoe", "members:m"),
            ("user:ana", "role:m:readers"),
        ],
    )
    named = {name: getattr(rows, name) for name in Facts.__dataclass_fields__}
    named["principals"] = [*rows.principals, Principal(ROLE, "m:readers")]
    return realm("lake", system, Facts(**named))


WORLD = state(lake(), records())
GATE = Asking(WORLD)
TABLE = "table/m:c.s.t"
PII, HOT = {"type": "tag", "id": "m:pii"}, {"type": "tag", "id": "m:hot"}


def _decides(action: str, context: dict[str, Any], who: str = "ana", by: Asking = GATE) -> bool:
    return by.decides(question(who, action, TABLE, context=context))


@pytest.mark.parametrize(
    ("tags", "decision"),
    [([PII], True), (["tag:m:pii"], True), ([PII, HOT], False), ([], False), (None, False)],
)
def test_lists_come_with_the_context(tags: object, decision: bool) -> None:
    assert _decides("put_tags", {"lists": {"tags": tags}}) is decision


@pytest.mark.parametrize(("schema", "decision"), [("m:c.s", True), ("m:c.z", False)])
def test_further_targets_come_with_the_context(schema: str, decision: bool) -> None:
    context = {"targets": {"to": {"type": "schema", "id": schema}}}
    assert _decides("copy", context) is decision


def test_without_its_targets_an_operation_is_denied() -> None:
    assert not _decides("copy", {})
    assert not _decides("copy", {"targets": {}})


def test_active_roles_narrow_what_is_allowed() -> None:
    assert _decides("load", {})
    assert _decides("load", {"active_roles": ["m:readers"]})
    assert not _decides("load", {"active_roles": []})
    found = GATE.evaluation(question("ana", "load", TABLE, context={"active_roles": ["m:x"]}))
    assert found["context"]["reason"] == "role not held"


def test_groups_of_the_context_count_if_an_enforcement_point_sends_them() -> None:
    context = {"groups": ["staff"]}
    assert not _decides("load", {}, "zoe")
    assert _decides("load", context, "zoe")
    assert not _decides("load", context, "zoe", by=GATE.as_("zoe"))


def test_the_time_is_not_the_callers() -> None:
    assert _decides("load", {"time": "1970-01-01T00:00:00Z", "now": 0})


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"lists": 5}, "context.lists: expected an object"),
        ({"lists": {"tags": 5}}, "context.lists.tags: expected an array"),
        ({"lists": {"tags": [5]}}, "context.lists.tags[0]: expected an object or a name"),
        ({"lists": {"tags": [{"type": "tag"}]}}, "context.lists.tags[0].id: missing"),
        ({"targets": []}, "context.targets: expected an object"),
        ({"targets": {"to": {}}}, "context.targets.to.type: missing"),
        ({"subResources": {}}, "context.subResources: expected an array"),
        ({"active_roles": "m:readers"}, "context.active_roles: expected an array"),
        ({"active_roles": [5]}, "context.active_roles: expected strings"),
        ({"groups": [""]}, "context.groups: expected strings"),
        ({"groups": ["x"] * 101}, "context.groups: at most 100 are allowed"),
        ({"lists": {"tags": [PII] * 1_001}}, "context.lists.tags: at most 1000 are allowed"),
    ],
)
def test_a_context_that_cannot_be_read_is_a_bad_request(context: dict[str, Any], said: str) -> None:
    found = GATE.post(EVALUATION, question("ana", "put_tags", TABLE, context=context))
    assert found == (400, said)


def test_an_entity_that_cannot_be_one_is_unknown() -> None:
    for context in ({"lists": {"tags": ["tag:pii"]}}, {"lists": {"tags": ["robot:x"]}}):
        found = GATE.evaluation(question("ana", "put_tags", TABLE, context=context))
        assert found["context"]["reason"] == "unknown"


def test_at_the_limits_a_context_is_read() -> None:
    assert _decides("put_tags", {"lists": {"tags": [PII] * 1_000}})
    assert _decides("load", {"groups": ["x"] * 100})


@pytest.mark.parametrize("status", [5, True, ["active"], {"a": 1}, None])
def test_a_value_of_another_type_says_nothing(status: object) -> None:
    on = {"type": "record", "id": "record-1", "properties": {"status": status}}
    assert GATE.decides(question("alice", "write", "record/record-1", resource=on))


@pytest.mark.parametrize("soft", ["true", 1, None, [True]])
def test_only_true_is_true(soft: object) -> None:
    asked = question("alice", "delete", "record/record-1")
    asked["action"]["properties"] = {"soft": soft}
    assert not GATE.decides(asked)


def test_subresources_come_with_the_context() -> None:
    """A system without constraints decides them as if there were none."""
    assert _decides("load", {"subResources": [PII, "tag:m:hot"]})
