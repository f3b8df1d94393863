"""Batches: items that differ in any word, each answered as if it were alone."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from lakewarden.http.authzen.discovery import EVALUATION, EVALUATIONS
from tests.http.authzen.small import Asking, lake, question, records, state

TABLE = {"type": "table", "id": "lk:c.s.t"}
OWN = {"type": "table", "id": "lk:c.s.own"}
RECORD = {"type": "record", "id": "record-1"}
LOAD, READ = {"name": "table.load"}, {"name": "read"}
BODY = question("ana", "table.load", "table/lk:c.s.t")

PARTS: dict[str, list[dict[str, Any] | None]] = {
    "subject": [
        None,
        {"type": "user", "id": "eve"},
        {"type": "user", "id": "alice"},
        {"type": "group", "id": "ana"},
        {"type": "user", "id": "nobody"},
    ],
    "action": [None, LOAD, READ, {"name": "SELECT_TABLE"}, {"name": "no.such"}],
    "resource": [
        None,
        TABLE,
        OWN,
        RECORD,
        {**TABLE, "properties": {"realm": "gravitino"}},
        {**TABLE, "properties": {"realm": "records"}},
        {"type": "schema", "id": "lk:c.s"},
        {"type": "table", "id": "lk:c.s.none"},
    ],
}


def _items() -> list[dict[str, Any]]:
    """Every combination of the parts, three times: first no answer is cached, later every one."""
    items = [
        {name: part for name, part in zip(PARTS, parts, strict=True) if part is not None}
        for parts in product(*PARTS.values())
    ]
    return [*items, *items, *reversed(items)]


def _alone(pdp: Asking, body: dict[str, Any]) -> Any:
    status, document = pdp.post(EVALUATION, body)
    if status == 200:
        return document
    return {"decision": False, "error": {"status": status, "message": document}}


@pytest.mark.parametrize("who", ["gate", "admin", "ana"])
@pytest.mark.parametrize("short", [False, True])
def test_each_answer_is_that_of_the_question_alone(who: str, *, short: bool) -> None:
    world = state(records(), lake())
    context = {"context": {"answer": "short"}} if short else {}
    items = _items()
    answers = Asking(world, who).evaluations({**BODY, **context, "evaluations": items})
    alone = Asking(world, who)
    assert len(answers) == len(items)
    for item, answer in zip(items, answers, strict=True):
        expected = _alone(alone, {**BODY, **item})
        if short:
            assert answer == {"decision": expected["decision"]}
        elif "error" in expected:
            assert answer["context"]["error"] == expected["error"]
        else:
            assert answer == expected


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_nobody_names_is_missing(name: str) -> None:
    pdp = Asking(state(records(), lake()))
    body = {key: value for key, value in BODY.items() if key != name}
    items = [{}, {name: BODY[name]}, {}, {name: BODY[name]}]
    answers = pdp.evaluations({**body, "evaluations": items})
    missing = {"status": 400, "message": f"{name}: missing"}
    assert [one["decision"] for one in answers] == [False, True, False, True]
    assert [one["context"].get("error") for one in answers] == [missing, None, missing, None]


@pytest.mark.parametrize("where", range(3))
@pytest.mark.parametrize("twice", ["subject", "action", "resource"])
def test_a_member_that_is_there_twice_is_refused_in_every_item(twice: str, where: int) -> None:
    item = (
        b'{"subject":{"type":"user","id":"ana"},"action":{"name":"table.load"},'
        b'"resource":{"type":"table","id":"lk:c.s.t","properties":{"realm":"gravitino"}}}'
    )
    start = item.index(b'"' + twice.encode() + b'":')
    end = item.index(b"}", start) + (2 if twice == "resource" else 1)
    doubled = item[:-1] + b"," + item[start:end] + b"}"
    items = [item] * 3
    items[where] = doubled
    pdp = Asking(state(records(), lake()))
    whole = b'{"evaluations":[' + b",".join([item] * 3) + b"]}"
    assert pdp.sent(EVALUATIONS, whole).status == 200
    reply = pdp.sent(EVALUATIONS, b'{"evaluations":[' + b",".join(items) + b"]}")
    assert reply.status == 400
