"""Crawls of servers that respond in the originals' formats, including their quirks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.pipeline.extract.export import Export
from lakewarden.pipeline.extract.original import Original
from lakewarden.systems.cdap import extract as cdap
from lakewarden.systems.datahub import extract as datahub
from lakewarden.systems.gravitino import extract as gravitino
from tests.pipeline.extract.scripted import Scripted, scripted

ML = "/api/metalakes/lk"


def walked(
    server: Scripted, folder: Path, walk: Callable[[Original, Export], None]
) -> tuple[dict[str, list[Any]], Original]:
    """The records by file, and the original after the crawl."""
    with Original(server.address, pause=lambda _: None) as original, Export(folder) as export:
        walk(original, export)
    read = {file.stem: file.read_text("utf-8").splitlines() for file in folder.iterdir()}
    return {name: [json.loads(line) for line in lines] for name, lines in read.items()}, original


def good(**body: Any) -> tuple[int, Any]:
    return 200, {"code": 0, **body}


def lake() -> dict[str, Any]:
    """A Gravitino with one metalake, a relational catalog and a name that must be escaped."""
    schema = f"{ML}/catalogs/c/schemas/s%2F1"
    names = [{"namespace": ["lk", "c", "s/1"], "name": "t"}]
    unsupported = (405, {"code": 1006, "type": "UnsupportedOperationException", "message": "no"})
    return {
        "/api/metalakes": good(metalakes=[{"name": "lk"}]),
        f"{ML}/users": good(users=[{"name": "ana", "roles": ["r"]}]),
        f"{ML}/groups": good(groups=[]),
        f"{ML}/roles": good(names=["r"]),
        f"{ML}/roles/r": good(role={"name": "r", "securableObjects": []}),
        f"{ML}/catalogs": good(catalogs=[{"name": "c", "type": "RELATIONAL"}]),
        f"{ML}/catalogs/c/schemas": good(identifiers=[{"namespace": ["lk", "c"], "name": "s/1"}]),
        f"{schema}/tables": good(identifiers=names),
        f"{schema}/tables/t": good(table={"name": "t", "columns": [{"name": "id"}]}),
        f"{schema}/topics": unsupported,
        f"{schema}/filesets": unsupported,
        f"{schema}/models": unsupported,
        f"{ML}/owners/table/c.s%2F1.t": good(owner={"name": "ana", "type": "user"}),
        f"{ML}/owners/schema/c.s%2F1": (403, {"code": 1008, "message": "not yours"}),
        f"{ML}/owners/metalake/lk": good(owner=None),
        f"{ML}/tags": good(tags=[{"name": "pii"}]),
        f"{ML}/jobs/runs": (200, {"code": 1002, "message": "broken"}),
    }


def test_gravitino_is_read_and_what_it_withholds_is_named(tmp_path: Path) -> None:
    with scripted(lake()) as server:
        found, original = walked(server, tmp_path / "out", gravitino.walk)
    assert [one["path"] for one in found["tables"]] == [
        f"{ML}/catalogs/c/schemas/s%2F1/tables",
        f"{ML}/catalogs/c/schemas/s%2F1/tables/t",
    ]
    assert [one["path"] for one in found["owners"]] == [
        f"{ML}/owners/metalake/lk",
        f"{ML}/owners/table/c.s%2F1.t",
    ]
    missing = {(one.path.removeprefix(ML), one.status) for one in original.withheld}
    assert missing == {
        # What this catalog type cannot contain is no loss; a missing API is reported.
        ("/catalogs/c/schemas/s%2F1/views", 404),
        ("/catalogs/c/schemas/s%2F1/functions", 404),
        ("/policies?details=true", 404),
        ("/jobs/templates?details=true", 404),
        ("/jobs/runs", 200),
        ("/owners/role/r", 404),
        ("/owners/catalog/c", 404),
        ("/owners/schema/c.s%2F1", 403),
        ("/owners/tag/pii", 404),
    }


@pytest.mark.parametrize("path", ["users", "groups", "roles", "roles/r"])
def test_gravitino_is_not_read_without_what_may_hold_a_deny(path: str, tmp_path: Path) -> None:
    script = {**lake(), f"{ML}/{path}": (403, {"code": 1008, "message": "not yours"})}
    with (
        scripted(script) as server,
        pytest.raises(BadInput, match=r"403\), and a DENY may be in it: not yours"),
    ):
        walked(server, tmp_path / "out", gravitino.walk)


def test_cdap_is_read_in_the_shapes_of_both_families(tmp_path: Path) -> None:
    space, security = "/v3/namespaces/sales", "/v3/security/authorization"
    privilege = {"authorizable": {"entityType": "NAMESPACE"}, "action": "READ"}
    script: dict[str, Any] = {
        "/v3/namespaces": (200, [{"name": "sales", "config": {"principal": "etl/h@R"}}]),
        f"{space}/apps": (200, [{"name": "a", "version": "1"}, {"name": "a", "version": "2"}]),
        f"{space}/apps/a": (200, {"name": "a", "programs": []}),
        f"{space}/securekeys": (200, [{"name": "k", "description": ""}]),
        f"{space}/streams": (403, b"'ana' is not authorized"),
        f"{security}/roles": (200, [{"name": "readers"}]),
        f"{security}/role/readers/privileges": (200, [privilege]),
        f"{security}/user/ana%2Fx/privileges": (200, []),
        f"{security}/user/ana%2Fx/roles": (200, [{"name": "readers"}]),
        f"{security}/user/etl/privileges": (200, [privilege]),
    }
    who = [Principal(USER, "ana/x"), Principal(GROUP, "staff")]
    with scripted(script) as server:
        found, original = walked(
            server, tmp_path / "out", lambda one, export: cdap.walk(one, export, who)
        )
    assert [one["path"] for one in found["applications"]] == [f"{space}/apps", f"{space}/apps/a"]
    assert [one["path"].removeprefix(security) for one in found["privileges"]] == [
        "/role/readers/privileges",
        "/user/ana%2Fx/privileges",
        "/user/etl/privileges",
    ]
    missing = {(one.path, one.status): one.why for one in original.withheld}
    assert missing[f"{space}/streams", 403] == "'ana' is not authorized"
    assert (f"{security}/group/staff/privileges", 404) in missing
    assert (f"{space}/data/datasets", 404) in missing


def test_a_namespace_that_is_listed_by_its_name_alone_is_asked_for(tmp_path: Path) -> None:
    security = "/v3/security/authorization"
    script: dict[str, Any] = {
        "/v3/namespaces": (200, [{"name": "a"}, {"name": "b"}]),
        "/v3/namespaces/a": (200, {"name": "a", "config": {"principal": "etl@R"}}),
        "/v3/namespaces/b": (403, b"not yours"),
    }
    with scripted(script) as server:
        found, original = walked(
            server, tmp_path / "out", lambda one, export: cdap.walk(one, export, ())
        )
        assert f"{security}/user/etl/privileges" in server.asked
    assert [one["path"] for one in found["namespaces"]] == ["/v3/namespaces", "/v3/namespaces/a"]
    assert ("/v3/namespaces/b", 403, "not yours") in original.withheld
    script["/v3/namespaces/a"] = (200, [])
    with scripted(script) as server, pytest.raises(BadInput, match="a: expected an object"):
        walked(server, tmp_path / "more", lambda one, export: cdap.walk(one, export, ()))


def test_principals_are_read_line_by_line() -> None:
    text = "# who works here\nuser:ana\n\n group:staff\n"
    found = cdap.read_principals(text, "file")
    assert found == [Principal(USER, "ana"), Principal(GROUP, "staff")]
    for wrong in ("ana", "user:", "role:x"):
        with pytest.raises(BadInput, match="file: line 1"):
            cdap.read_principals(wrong, "file")


TAGS, POLICIES = "/openapi/v3/entity/tag", "/openapi/v3/entity/dataHubPolicy"


def page(place: str | None, *entities: Any) -> tuple[int, Any]:
    return 200, {"scrollId": place, "entities": list(entities)}


def test_datahub_is_scrolled_to_its_end_and_shipped_policies_that_are_gone_stay_gone(
    tmp_path: Path,
) -> None:
    shipped = "urn:li:dataHubPolicy:view-entity-page-all"
    info = {"value": {"type": "METADATA"}}
    script = {
        TAGS: page("two", {"urn": "urn:li:tag:a", "tagKey": {"value": {"name": "a"}}}),
        f"{TAGS}#two": page(None, {"urn": "urn:li:tag:b", "status": {"value": {"removed": True}}}),
        POLICIES: page(None, {"urn": "urn:li:dataHubPolicy:x", "dataHubPolicyInfo": info}),
    }
    with scripted(script) as server:
        found, original = walked(server, tmp_path / "out", datahub.walk)
        asked = next(one for one in server.asked if one.startswith(TAGS))
    assert "aspects=tagKey" in asked
    assert "includeSoftDelete=true" in asked
    assert [(one["entityUrn"], one["aspectName"]) for one in found["tag"]] == [
        ("urn:li:tag:a", "tagKey"),
        ("urn:li:tag:b", "status"),
    ]
    gone = {one["entityUrn"] for one in found["dataHubPolicy"] if one["changeType"] == "DELETE"}
    assert shipped in gone
    assert "urn:li:dataHubPolicy:x" not in gone
    assert {one.path for one in original.withheld} >= {"/openapi/v3/entity/dataset"}


def endless(query: Mapping[str, Sequence[str]], _: Any) -> tuple[int, Any]:
    """The same tag on every page, always with a next page."""
    before = int(query.get("scrollId", ["0"])[0])
    return page(str(before + 1), {"urn": "urn:li:tag:a"})


CRITERION = {"field": "TAG", "values": ["urn:li:tag:a"], "condition": "NOT_EQUALS"}
EXCLUDING = {
    "urn": "urn:li:dataHubPolicy:x",
    "dataHubPolicyInfo": {"value": {"resources": {"filter": {"criteria": [CRITERION]}}}},
}


@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        ({POLICIES: page(None)}, BadInput, "shows no policy"),
        ({POLICIES: (403, {})}, BadInput, "shows no policy"),
        ({TAGS: page("same"), f"{TAGS}#same": page("same")}, Unavailable, "in a circle"),
        ({TAGS: page("gone")}, Unavailable, "in the middle of a list"),
        ({TAGS: endless}, Unavailable, "100 pages bring nothing new and no end"),
        ({TAGS: (200, [])}, BadInput, "expected a page"),
        ({TAGS: (200, {"entities": [{"urn": 7}]})}, BadInput, "an entity with its `urn`"),
        ({TAGS: (200, {"entities": [], "scrollId": [7]})}, BadInput, "scrollId: expected a text"),
        ({TAGS: page(None, {"urn": "urn:li:tag:a", "status": 7})}, BadInput, "with its `value`"),
        (
            {TAGS: (403, {}), POLICIES: page(None, EXCLUDING)},
            BadInput,
            r"tag: not shown \(403\), and `urn:li:dataHubPolicy:x` holds for what lacks a value",
        ),
    ],
)
def test_datahub_is_not_read_in_part(
    script: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    policy = page(None, {"urn": "urn:li:dataHubPolicy:x"})
    with (
        scripted({POLICIES: policy, **script}) as server,
        pytest.raises(error, match=message),
    ):
        walked(server, tmp_path / "out", datahub.walk)


def test_what_is_withheld_without_a_policy_that_excludes_is_only_named(tmp_path: Path) -> None:
    policy = page(None, {"urn": "urn:li:dataHubPolicy:x"})
    with scripted({POLICIES: policy, TAGS: (403, {"message": "not yours"})}) as server:
        _, original = walked(server, tmp_path / "out", datahub.walk)
    assert (TAGS, 403, "not yours") in original.withheld


def test_an_export_wants_an_empty_folder_that_is_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with Export(folder) as export:
        export.record("a", {})
    assert folder.stat().st_mode & 0o077 == 0
    with pytest.raises(BadInput, match="expected an empty folder"):
        Export(folder).__enter__()
