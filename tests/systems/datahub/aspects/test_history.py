"""History: additions of every stored aspect that belongs to a category."""

from __future__ import annotations

from lakewarden.systems.datahub.aspects import history
from lakewarden.systems.datahub.aspects.history import LastWrite

URN = "urn:li:dataset:x"


def test_writes_come_in_order_of_time_with_what_they_added() -> None:
    kept = [
        LastWrite("globalTags", {"tags": [{"tag": "urn:li:tag:a"}, 7]}, 20, "ana"),
        LastWrite("ownership", {"owners": [{"owner": "urn:li:corpuser:b"}]}, 10, "bob"),
        LastWrite("status", {"removed": True}, 5, "bob"),
    ]
    first, second = history.transactions(URN, kept, history.CATEGORIES)
    assert (first["timestamp"], first["actor"], second["timestamp"]) == (10, "bob", 20)
    told = [event["modifier"] for event in second["changeEvents"]]
    assert told == ["urn:li:tag:a", "7"]
    assert all(event["operation"] == "ADD" for event in second["changeEvents"])


def test_what_is_of_another_shape_adds_nothing() -> None:
    kept = [
        LastWrite("domains", {"domains": "x"}, 1, "a"),
        LastWrite("datasetProperties", {"description": 7}, 2, "a"),
        LastWrite("institutionalMemory", {}, 3, "a"),
    ]
    found = history.transactions(URN, kept, ("DOMAIN", "DOCUMENTATION"))
    assert [one["changeEvents"] for one in found] == [[], [], []]


def test_a_description_in_avro_s_spelling_is_read() -> None:
    kept = [LastWrite("datasetProperties", {"description": {"string": "x"}}, 1, "a")]
    (one,) = history.transactions(URN, kept, ("DOCUMENTATION",))
    assert one["changeEvents"][0]["parameters"] == {"description": "x"}
