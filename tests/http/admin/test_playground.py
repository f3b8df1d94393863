"""Any signed-in user may run a scenario: cases, explanations, errors with their place, limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lakewarden.service.playground import MAX_CHARACTERS, MAX_ENTITIES
from tests.http.admin.api import Api
from tests.own_model import TEXT

SCENARIO = """
model = "gravitino"
title = "two tables"
source = "made here"

[world]
entities = ["metalake:lk", "catalog:lk:c", "schema:lk:c.s", "table:lk:c.s.t"]
users = ["ana", "ben"]

[world.members]
"members:lk" = ["user:ana", "user:ben"]

[[world.statement]]
id = "use"
privileges = ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"]
to = ["user:ana"]
on = "catalog:lk:c"

[[case]]
title = "ana reads"
operation = "table.load"
on = "table:lk:c.s.t"
allow = ["ana"]
deny = ["ben"]
"""


def run(api: Api, scenario: str, user: str = "ana", **rest: str) -> Any:
    return api.must("POST", "/playground/run", {"scenario": scenario, **rest}, user=user)


def test_a_scenario_is_run_and_says_why(api: Api) -> None:
    before = api.service.state.revision
    found = run(api, SCENARIO)
    assert (found["title"], found["errors"]) == ("two tables", [])
    ana, ben = found["cases"]
    assert (ana["user"], ana["ok"], ana["expected"], ana["got"]) == (
        "user:ana",
        True,
        "allow",
        "allow",
    )
    assert ana["explanation"]["allow"] is True
    assert "use" in ana["explanation"]["statements"]
    assert (ben["ok"], ben["explanation"]["allow"]) == (True, False)
    assert api.service.state.revision == before


def test_a_wrong_expectation_is_told(api: Api) -> None:
    found = run(
        api, SCENARIO.replace('deny = ["ben"]', 'allow = ["ben"]').replace('allow = ["ana"]\n', "")
    )
    (ben,) = found["cases"]
    assert (ben["ok"], ben["expected"], ben["got"]) == (False, "allow", "deny")
    assert "".join(word["text"] for word in ben["explanation"]["summary"]).startswith("ben may not")


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ('title = "two tables"', 'title = "two', 3),
        ('operation = "table.load"', 'operation = "table.lod"', 21),
        ('privileges = ["USE_CATALOG"', 'privileges = ["USE_ALL"', 15),
        ('model = "gravitino"', 'model = "gravitono"', 2),
    ],
)
def test_a_mistake_has_its_line(api: Api, before: str, after: str, line: int) -> None:
    found = run(api, SCENARIO.replace(before, after))
    assert found["cases"] == []
    (mistake,) = found["errors"]
    assert mistake["says"]
    assert mistake["line"] in (line, 0), mistake


def test_a_model_of_one_s_own_is_taken(api: Api) -> None:
    found = run(api, SCENARIO, model=TEXT)
    assert found["errors"], "the scenario is of another model"
    assert run(api, SCENARIO, model="nonsense")["errors"]


def test_limits_are_kept(api: Api) -> None:
    many = ", ".join(f'"metalake:m{i}"' for i in range(MAX_ENTITIES + 1))
    wide = SCENARIO.replace("entities = [", f"entities = [{many}, ")
    for text in ("#" * (MAX_CHARACTERS + 1), wide):
        answer = api.ask("POST", "/playground/run", {"scenario": text})
        assert answer.status in (400, 413), answer


def test_the_playground_needs_a_session_and_can_be_disabled(tmp_path: Path) -> None:
    with Api(tmp_path, ui={"playground": False}) as api:
        answer = api.ask("POST", "/playground/run", {"scenario": SCENARIO})
        assert answer.status == 409
        assert "ui.playground" in answer.body["detail"]
