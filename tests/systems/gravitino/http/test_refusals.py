"""The contents of a denial, by caller, which never reveals hidden facts."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from lakewarden.kernel.advice import Need
from tests.systems.gravitino.http.court import (
    CATALOG,
    ML,
    SCHEMA,
    TABLE,
    TAGS,
    add_table,
    allow,
    deny,
    hold,
    on,
)
from tests.systems.gravitino.http.wire import Wire

ABSENT: Final = f"{SCHEMA}/tables/none"
BEGINNING: Final = "User 'ana' is not authorized to perform operation 'table.load' on metadata "
GRANTOR: Final = "; can be granted by 'boss'"


def told(wire: Wire, method: str, path: str, user: str = "ana", **how: Any) -> str:
    status, answer = wire.ask(method, path, user=user, **how)
    assert status == 403, answer
    return str(answer["message"])


def denials(wire: Wire) -> list[dict[str, Any]]:
    with wire.service.reading() as reading:
        rows = [json.loads(row.body) for row in reading.audit()]
    return [row for row in rows if row["outcome"] == "deny"]


def test_all_that_is_missing_is_named_from_above_with_who_may_grant_it(court: Wire) -> None:
    assert told(court, "GET", TABLE) == (
        f"{BEGINNING}'c.s.t': requires USE_CATALOG on catalog 'c' and USE_SCHEMA on schema 'c.s'"
        f" and MODIFY_TABLE or SELECT_TABLE on table 'c.s.t'{GRANTOR}"
    )


def test_what_is_held_is_not_missing(court: Wire) -> None:
    hold(court, "ana", on("catalog", "c", allow("USE_CATALOG", "USE_SCHEMA")))
    assert told(court, "GET", TABLE) == (
        f"{BEGINNING}'c.s.t': requires MODIFY_TABLE or SELECT_TABLE on table 'c.s.t'{GRANTOR}"
    )


def test_a_deny_in_the_way_is_named(court: Wire) -> None:
    hold(court, "ana", on("metalake", "lk", allow("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")))
    hold(court, "ana", on("schema", "c.s", deny("USE_SCHEMA")), name="not_here")
    assert told(court, "GET", TABLE) == f"{BEGINNING}'c.s.t': requires no DENY of USE_SCHEMA"


def test_where_only_an_owner_may_that_is_said(court: Wire) -> None:
    assert told(court, "DELETE", CATALOG) == (
        "User 'ana' is not authorized to perform operation 'catalog.drop' on metadata 'c':"
        f" requires ownership of metalake or catalog{GRANTOR}"
    )


def test_an_owner_is_named_only_of_what_the_asker_may_load(court: Wire) -> None:
    court.good("PUT", f"{ML}/owners/table/c.s.t", {"name": "bob", "type": "USER"}, user="boss")
    assert "bob" not in told(court, "DELETE", TABLE)
    hold(court, "ana", on("metalake", "lk", allow("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")))
    assert told(court, "PUT", f"{ML}/owners/table/c.s.t", body={"name": "ana", "type": "USER"}) == (
        "User 'ana' is not authorized to perform operation 'owner.set' on metadata 'c.s.t':"
        " requires ownership of metalake or catalog or schema or table; can be granted by 'boss'"
    )
    hold(court, "bob", on("metalake", "lk", allow("USE_CATALOG", "USE_SCHEMA")))
    assert told(court, "DELETE", TABLE).endswith("; can be granted by 'bob' or 'boss'")


@pytest.mark.parametrize("role", ["none", "of the catalog", "of the schema"])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_hidden_table_and_an_absent_one_are_refused_alike(
    court: Wire, role: str, method: str
) -> None:
    """Also if the hidden one has an owner, a tag, and grants to others."""
    add_table(court, "hidden")
    court.good("POST", TAGS, {"name": "pii"}, user="boss")
    court.good("PUT", f"{ML}/owners/table/c.s.hidden", {"name": "bob", "type": "USER"}, user="boss")
    hold(court, "cid", on("table", "c.s.hidden", allow("SELECT_TABLE")))
    if role != "none":
        names = ("USE_CATALOG",) if role == "of the catalog" else ("USE_CATALOG", "USE_SCHEMA")
        hold(court, "ana", on("catalog", "c", allow(*names)))
    hidden = told(court, method, f"{SCHEMA}/tables/hidden")
    assert hidden.replace("hidden", "none") == told(court, method, ABSENT)


def test_a_stranger_is_told_the_same_of_a_metalake_that_is_there_and_of_none(court: Wire) -> None:
    there = told(court, "GET", f"{ML}/catalogs/c", user="eve")
    assert there.endswith("'c': current user 'eve' doesn't exist in the metalake 'lk'")
    assert there.replace("'lk'", "'no'") == told(
        court, "GET", "metalakes/no/catalogs/c", user="eve"
    )


def test_an_active_role_that_is_not_held_is_refused(court: Wire) -> None:
    said = told(court, "GET", TABLE, headers={"x-gravitino-active-roles": "nope"})
    assert said == f"{BEGINNING}'c.s.t': cannot assume active role(s) that are not held"


def test_a_long_name_is_cut(court: Wire) -> None:
    said = told(court, "GET", f"{SCHEMA}/tables/{'n' * 200}")
    assert f"'c.s.{'n' * 76}…'" in said
    assert "n" * 80 not in said


def test_of_many_tags_some_are_named_and_each_is_looked_at_a_few_times(
    court: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    spelled: list[str] = []

    def spell(need: Need) -> str:
        spelled.append(f"{need.privilege} {need.entity.name}")
        return spelled[-1]

    hold(court, "ana", on("metalake", "lk", allow("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")))
    monkeypatch.setattr(Need, "__repr__", spell)
    tags = [f"t{number:02}" for number in range(50)]
    said = told(court, "POST", f"{ML}/objects/table/c.s.t/tags", body={"tagsToAdd": tags})
    assert "requires APPLY_TAG on tag 't00' and APPLY_TAG on tag 't01' and" in said
    assert "on tag 't09' and 40 more; can be granted by 'boss'" in said
    assert len(spelled) < 5 * len(tags)
    hold(court, "ana", on("metalake", "lk", allow("APPLY_TAG")), name="tags")
    said = told(court, "POST", f"{ML}/objects/table/c.s.t/tags", body={"tagsToAdd": tags})
    assert "tag 't09' and 40 more to exist" in said


def test_a_denied_read_is_a_row_of_the_audit_trail_and_the_next_ones_are_counted(
    court: Wire,
) -> None:
    revision = court.service.state.revision
    said = [told(court, "GET", TABLE) for _ in range(3)]
    (row,) = denials(court)
    assert (row["actor"], row["operation"], row["target"]) == (
        "ana",
        "table.load",
        "table:lk:c.s.t",
    )
    assert (row["reason"], row["details"]["reads"]) == (said[0], 1)
    later = court.service.clock() + 61
    court.service.clock = lambda: later
    told(court, "GET", TABLE)
    assert [one["details"]["reads"] for one in denials(court)] == [1, 3]
    assert court.service.state.revision == revision


def test_what_a_list_leaves_out_and_what_is_allowed_leave_no_row(court: Wire) -> None:
    court.good("GET", TABLE, user="boss")
    assert court.good("GET", f"{ML}/catalogs", user="ana")["identifiers"] == []
    assert denials(court) == []


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_tag_that_is_hidden_and_one_that_is_not_there_are_refused_alike(
    court: Wire, everywhere: bool
) -> None:
    court.good("POST", TAGS, {"name": "pii"}, user="boss")
    hold(court, "ana", on("metalake", "lk", allow("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")))
    tags = f"{ML}/objects/table/c.s.t/tags"
    hidden = told(court, "GET", f"{tags}/pii")
    assert hidden.endswith("requires APPLY_TAG on tag 'pii'; can be granted by 'boss'")
    assert hidden.replace("pii", "no") == told(court, "GET", f"{tags}/no")
    if everywhere:
        hold(court, "ana", on("metalake", "lk", allow("APPLY_TAG")), name="tags")
        said = told(court, "GET", f"{tags}/no")
        assert said.endswith("'object.tags.load' on metadata 'c.s.t': requires tag 'no' to exist")
