"""Conversations with the server: each step's request, status and reply, in files.

`GOLDEN=write` rewrites the replies, to be reviewed like code. Times are `TIME`.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.systems.gravitino.http.wire import ADMIN, Wire

FOLDER = Path(__file__).parents[3] / "golden" / "wire" / "gravitino"

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_a_conversation_goes_as_written(path: Path, lake: Wire) -> None:
    conversation = tomllib.loads(path.read_text("utf-8"))
    steps = [_answered(lake, step) for step in conversation["step"]]
    if os.environ.get("GOLDEN") == "write":
        path.write_text(_written(conversation["title"], steps), "utf-8")
    for wanted, got in zip(conversation["step"], steps, strict=True):
        told = {**wanted, "reply": json.loads(wanted.get("reply", "null"))}
        assert told == {**got, "reply": json.loads(got["reply"])}, wanted["title"]


def _answered(lake: Wire, step: dict[str, Any]) -> dict[str, Any]:
    method, _, path = step["send"].partition(" ")
    body = step.get("body", "").encode()
    reply = lake.send(method, path, body, user=step.get("user", ADMIN))
    asked = {key: value for key, value in step.items() if key not in ("status", "reply")}
    return {**asked, "status": reply.status, "reply": _timeless(reply.body)}


def _timeless(body: bytes) -> str:
    text = json.dumps(json.loads(body or b"null"), ensure_ascii=False)
    return _MOMENT.sub("TIME", text)


def _written(title: str, steps: list[dict[str, Any]]) -> str:
    lines = [f"title = {json.dumps(title)}", ""]
    for step in steps:
        lines.append("[[step]]")
        for key, value in step.items():
            is_json = key in ("body", "reply")
            lines.append(f"{key} = '''{value}'''" if is_json else f"{key} = {json.dumps(value)}")
        lines.append("")
    return "\n".join(lines)
