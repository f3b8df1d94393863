"""A DataHub without `/openapi/v3/entity` is read over Rest.li, with the same export."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from lakewarden.kernel.errors import BadInput, LimitExceeded, Unavailable
from lakewarden.pipeline.extract.original import Original
from lakewarden.systems.datahub import extract as datahub
from lakewarden.systems.datahub import extract_older as datahub_older
from tests.pipeline.extract.scripted import Scripted, scripted
from tests.pipeline.extract.test_walks import walked

POLICY = "urn:li:dataHubPolicy:x"
TAGS = [f"urn:li:tag:{letter}" for letter in "abcde"]
ASPECTS: Mapping[str, Mapping[str, Any]] = {
    POLICY: {"dataHubPolicyInfo": {"type": "METADATA"}},
    TAGS[0]: {"tagKey": {"name": "a"}},
    TAGS[1]: {"status": {"removed": True}, "tagProperties": {"name": "b"}},
}

Names = Mapping[str, list[str]]


def listing(names: Names) -> Callable[[Any, Any], tuple[int, Any]]:
    """The response of `listUrns`; an unknown type is a 400."""

    def answer(query: Any, sent: Any) -> tuple[int, Any]:
        assert query["action"] == ["listUrns"]
        if sent["entity"] not in names:
            return 400, {"message": f"Failed to find entity with name {sent['entity']}"}
        found = names[sent["entity"]]
        shown = found[sent["start"] : sent["start"] + sent["count"]]
        body = {"start": sent["start"], "count": len(shown), "total": len(found)}
        return 200, {"value": {**body, "entities": shown}}

    return answer


def older_script(names: Names) -> dict[str, Any]:
    script: dict[str, Any] = {"/entities": listing(names)}
    for urn in [one for found in names.values() for one in found]:
        named = ASPECTS.get(urn, {})
        aspects = {name: {"name": name, "version": 0, "value": v} for name, v in named.items()}
        body = {"urn": urn, "entityName": "x", "aspects": aspects}
        script[f"/entitiesV2/{quote(urn, safe='')}"] = (200, body)
    return script


def newer_script(names: Names) -> dict[str, Any]:
    script = {}
    for type, urns in names.items():
        entities = [
            {"urn": urn, **{name: {"value": v} for name, v in ASPECTS.get(urn, {}).items()}}
            for urn in urns
        ]
        script[f"/openapi/v3/entity/{type}"] = (200, {"scrollId": None, "entities": entities})
    return script


BOTH: Names = {"dataHubPolicy": [POLICY], "tag": TAGS}


@pytest.mark.parametrize("status", [404, 405, 501])
def test_both_interfaces_give_the_same_export(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datahub_older, "PAGE", 2)
    missing = {"/openapi/v3/entity/dataHubPolicy": (status, {"message": "no such path"})}
    with scripted({**older_script(BOTH), **missing}) as server:
        was, original = walked(server, tmp_path / "older", datahub.walk)
        asked = list(server.asked)
    with scripted(newer_script(BOTH)) as server:
        now, _ = walked(server, tmp_path / "newer", datahub.walk)
    assert was == now
    assert [one["entityUrn"] for one in was["tag"]] == TAGS
    # The newer interface is requested once, and its absence is no loss.
    assert sum("/openapi/" in path for path in asked) == 1
    one = next(path for path in asked if path.startswith("/entitiesV2/urn%3Ali%3Atag%3Aa"))
    assert "aspects=List(tagKey," in one
    assert all(lost.path.startswith("/entities?action=listUrns of `") for lost in original.withheld)
    assert {lost.status for lost in original.withheld} == {400}


def test_an_entity_that_is_not_shown_is_named_by_its_path(tmp_path: Path) -> None:
    script = older_script(BOTH)
    script[f"/entitiesV2/{quote(TAGS[2], safe='')}"] = (403, {"message": "not yours"})
    with scripted(script) as server:
        found, original = walked(server, tmp_path / "out", datahub.walk)
    assert ("/entitiesV2/urn%3Ali%3Atag%3Ac", 403, "not yours") in original.withheld
    assert TAGS[2] not in {one["entityUrn"] for one in found["tag"]}


def test_names_that_change_meanwhile_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datahub_older, "PAGE", 2)
    pages: Iterator[tuple[list[str], int]] = iter(
        [
            (TAGS[:2], 5),
            (TAGS[3:], 4),  # the third moved before it was read
            (TAGS[:2], 4),
            (TAGS[3:], 4),
        ]
    )

    def answer(_: Any, sent: Any) -> tuple[int, Any]:
        if sent["entity"] == "dataHubPolicy":
            return 200, {"value": {"entities": [POLICY], "total": 1}}
        names, total = next(pages)
        return 200, {"value": {"entities": names, "total": total}}

    with scripted({"/entities": answer}) as server, open_original(server) as original:
        found = datahub_older.entities(original, "tag", ["tagKey"])
        assert list(found) == []  # none of them is scripted
    gone = [one.path.rpartition("%3A")[2] for one in original.withheld]
    assert sorted(gone) == ["a", "b", "d", "e"]


def test_names_that_always_change_end_the_walk() -> None:
    with (
        scripted({"/entities": (200, {"value": {"entities": [TAGS[0]], "total": 9}})}) as server,
        open_original(server) as original,
        pytest.raises(Unavailable, match="`tag` change while they are read; try again"),
    ):
        list(datahub_older.entities(original, "tag", []))


def test_names_without_end_are_too_many() -> None:
    def more(_: Any, sent: Any) -> tuple[int, Any]:
        return 200, {"value": {"entities": [f"urn:li:tag:{sent['start']}"], "total": 10**9}}

    with (
        scripted({"/entities": more}) as server,
        open_original(server, limit=10) as original,
        pytest.raises(LimitExceeded, match="more than 10"),
    ):
        list(datahub_older.entities(original, "tag", []))


@pytest.mark.parametrize(
    "reply",
    [
        [],
        {"value": []},
        {"value": {"entities": [7], "total": 1}},
        {"value": {"entities": [""], "total": 1}},
        {"value": {"entities": [], "total": "1"}},
        {"value": {"entities": [], "total": -1}},
        {"value": {"entities": []}},
    ],
    ids=str,
)
def test_names_of_another_form_are_refused(reply: Any) -> None:
    with (
        scripted({"/entities": (200, reply)}) as server,
        open_original(server) as original,
        pytest.raises(BadInput, match="of `tag`: expected a page of URNs"),
    ):
        list(datahub_older.entities(original, "tag", []))


@pytest.mark.parametrize("reply", [[], {"urn": TAGS[0]}, {"urn": 7, "aspects": {}}], ids=str)
def test_an_entity_of_another_form_is_refused(reply: Any) -> None:
    script = {
        **older_script({"tag": TAGS[:1]}),
        f"/entitiesV2/{quote(TAGS[0], safe='')}": (200, reply),
    }
    with (
        scripted(script) as server,
        open_original(server) as original,
        pytest.raises(BadInput, match="expected an entity with its `urn` and `aspects`"),
    ):
        list(datahub_older.entities(original, "tag", []))


def test_a_list_that_stops_in_the_middle_ends_the_walk() -> None:
    def once(_: Any, sent: Any) -> tuple[int, Any]:
        body = {"value": {"entities": TAGS, "total": 9}}
        return (403, {}) if sent["start"] else (200, body)

    with (
        scripted({"/entities": once}) as server,
        open_original(server) as original,
        pytest.raises(Unavailable, match="stopped in the middle of type `tag`"),
    ):
        list(datahub_older.entities(original, "tag", []))


def test_an_address_with_neither_interface_is_told_what_to_do(tmp_path: Path) -> None:
    with (
        scripted({}) as server,
        pytest.raises(BadInput, match=r"neither .*; give the address of the metadata service"),
    ):
        walked(server, tmp_path / "out", datahub.walk)


def open_original(server: Scripted, **given: Any) -> Original:
    return Original(server.address, pause=lambda _: None, **given)
