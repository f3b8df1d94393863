"""Properties of the model of our own API, beyond its scenarios."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from lakewarden import models
from lakewarden.kernel.expression import Anyone
from lakewarden.kernel.model import Reach

MODEL = models.load("control")
SCENARIOS = Path(__file__).parents[1] / "scenarios" / "control"
CASES: list[dict[str, Any]] = [
    case
    for path in sorted(SCENARIOS.glob("*.toml"))
    for case in tomllib.loads(path.read_text("utf-8"))["case"]
]
OPEN = {"server.about", "caller.load", "realm.list", "directory.list"}


def test_what_everybody_may_do_is_a_short_list() -> None:
    rules = {name: set(found.rules.values()) for name, found in MODEL.operations.items()}
    assert {name for name, found in rules.items() if Anyone() in found} == OPEN


@pytest.mark.parametrize("name", sorted(MODEL.operations))
def test_every_operation_is_shown_allowed_and_denied(name: str) -> None:
    about = [case for case in CASES if case["operation"] == name]
    allowed = any(case.get("allow") or any(case.get("lists", {}).values()) for case in about)
    denied = any(case.get("deny") or not all(case.get("lists", {1: 1}).values()) for case in about)
    assert allowed
    assert denied or name in OPEN


@pytest.mark.parametrize("name", sorted(n for n in MODEL.operations if n.endswith("_own")))
def test_what_one_does_about_oneself_needs_a_credential_that_is_good_there(name: str) -> None:
    (text,) = MODEL.operations[name].texts.values()
    assert text == "ASK_OWN and credential.fits"


def test_privileges_reach_below_and_each_is_in_some_role_but_what_everybody_has() -> None:
    assert {found.reach for found in MODEL.privileges.values()} == {Reach.BELOW}
    assert all("server" in found.on for found in MODEL.privileges.values())
    given = {word for role in MODEL.roles for word in words(role["privileges"])}
    assert given == set(MODEL.privileges) - {"ASK_OWN"}


def words(value: object) -> list[str]:
    assert isinstance(value, list)
    return value


def test_only_administrators_hand_out_rights() -> None:
    assert MODEL.granting == "grant.put"
    for name in ("grant.put", "grant.remove", "realm.create", "realm.drop"):
        assert set(MODEL.operations[name].texts.values()) == {"MANAGE_SERVER"}


def test_acts_on_the_powerful_are_acts_on_the_server() -> None:
    powerful = [name for name in MODEL.operations if name.endswith("_powerful")]
    assert len(powerful) == 4
    for name in powerful:
        assert set(MODEL.operations[name].texts.values()) == {"MANAGE_SERVER"}
