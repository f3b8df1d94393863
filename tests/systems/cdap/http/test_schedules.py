"""Schedules over the wire: added and deleted with the application, resumed with the program."""

from __future__ import annotations

import pytest

from tests.systems.cdap.http.shop import APP, NIGHTLY, PEOPLE, REQUEST, SPACE, is_old, lets
from tests.systems.cdap.http.wire import BOSS, Json, Wire

PATH = f"{APP}/schedules"
DAILY = f"{PATH}/daily"
BODY: Json = {
    "name": "daily",
    "description": "once a day",
    "program": {"programName": "nightly", "programType": "WORKFLOW"},
    "properties": {"a": "1"},
    "trigger": {"type": "TIME", "cronExpression": "0 4 * * *"},
    "constraints": [],
}


def status(wire: Wire, user: str = "reader") -> str:
    return str(wire.good("GET", f"{DAILY}/status", user=user)["status"])


def names(wire: Wire, user: str, path: str = PATH) -> list[str]:
    return [one["name"] for one in wire.good("GET", path, user=user)]


@pytest.fixture
def daily(shop: Wire) -> Wire:
    """A server of the later profile with a schedule."""
    shop.good("PUT", DAILY, BODY)
    return shop


@pytest.fixture
def either_daily(either_shop: Wire) -> Wire:
    """A server of either profile with a schedule."""
    either_shop.good("PUT", DAILY, BODY)
    return either_shop


def test_a_new_schedule_is_suspended_and_told_as_it_was_made(daily: Wire) -> None:
    assert daily.good("GET", DAILY, user="reader") == {
        **BODY,
        "namespace": "sales",
        "application": "shop",
        "applicationVersion": "-SNAPSHOT",
        "timeoutMillis": 86_400_000,
        "status": "SUSPENDED",
    }


def test_without_a_privilege_there_is_no_status(either_daily: Wire) -> None:
    expected = {"reader"} if is_old(either_daily) else set(PEOPLE)
    for below in ("", "/status"):
        assert lets(either_daily, "GET", f"{DAILY}{below}") == expected


def test_read_shows_a_schedule_and_does_not_resume_it(daily: Wire) -> None:
    assert status(daily, "reader") == "SUSPENDED"
    answer, text = daily.ask("POST", f"{DAILY}/resume", user="reader")
    id = "program:sales.shop.workflow.nightly"
    assert (answer, f"actions '[EXECUTE]' on entity '{id}'" in text) == (403, True)


@pytest.mark.parametrize(("up", "down"), [("resume", "suspend"), ("enable", "disable")])
def test_execute_on_the_program_resumes_and_suspends(daily: Wire, up: str, down: str) -> None:
    assert daily.good("POST", f"{DAILY}/{up}", user="runner") == "OK"
    assert status(daily) == "SCHEDULED"
    assert daily.status("POST", f"{DAILY}/{up}", user="runner") == 409
    assert daily.good("POST", f"{DAILY}/{down}", user="runner") == "OK"
    assert status(daily) == "SUSPENDED"
    assert daily.status("POST", f"{DAILY}/{down}", user="runner") == 409


@pytest.mark.parametrize("verb", ["resume", "suspend", "enable", "disable"])
def test_nothing_but_execute_on_the_program_does(daily: Wire, verb: str) -> None:
    assert lets(daily, "POST", f"{DAILY}/{verb}") == {"runner"}
    for action in ("READ", "WRITE", "EXECUTE", "ADMIN"):
        daily.grant("above", "application:sales.shop", action)
        daily.grant("above", "namespace:sales", action)
    assert daily.status("POST", f"{DAILY}/{verb}", user="above") == 403


def test_in_the_older_profile_resuming_takes_read_on_the_namespace_too(old_shop: Wire) -> None:
    old_shop.good("PUT", DAILY, BODY)
    assert lets(old_shop, "POST", f"{DAILY}/resume") == set()
    old_shop.grant("runner", "namespace:sales", "READ")
    assert lets(old_shop, "POST", f"{DAILY}/resume") == {"runner"}


def test_admin_on_the_application_alone_adds_changes_and_deletes(either_shop: Wire) -> None:
    wire = either_shop
    wire.grant("dana", "application:sales.shop", "ADMIN")
    wire.good("PUT", DAILY, BODY, user="dana")
    wire.good("POST", f"{DAILY}/update", {"description": "every day"}, user="dana")
    assert wire.good("GET", DAILY, user="reader")["description"] == "every day"
    wire.good("DELETE", DAILY, user="dana")
    assert names(wire, "reader") == []


def test_nothing_on_the_program_adds_changes_or_deletes(either_daily: Wire) -> None:
    either_daily.grant("above", "namespace:sales")
    either_daily.grant("all", "program:sales.shop.*")
    calls = (("PUT", f"{PATH}/other"), ("POST", f"{DAILY}/update"), ("DELETE", DAILY))
    for method, path in calls:
        assert lets(either_daily, method, path, BODY) == set()
        for user in ("above", "all"):
            status, text = either_daily.ask(method, path, BODY, user=user)
            assert (status, "'application:sales.shop'" in text) == (403, True)


def test_whoever_only_starts_a_program_cannot_schedule_it(shop: Wire) -> None:
    shop.grant("dana", "program:sales.shop.workflow.nightly", "EXECUTE")
    assert shop.status("POST", f"{NIGHTLY}/start", user="dana") == 200
    assert shop.status("PUT", DAILY, BODY, user="dana") == 403


def test_a_schedule_is_added_once(daily: Wire) -> None:
    assert daily.ask("PUT", DAILY, BODY) == (409, "'schedule:sales.shop.daily' already exists.")


def test_a_schedule_starts_a_program_that_is_there(shop: Wire) -> None:
    body = {**BODY, "program": {"programName": "none", "programType": "WORKFLOW"}}
    assert shop.status("PUT", DAILY, body) == 404
    assert shop.status("PUT", DAILY, body, user="reader") == 403


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"program": None},
        {"trigger": None},
        {"trigger": {}},
        {"trigger": {"type": "TIME"}},
        {"trigger": {"type": "TIME", "cronExpression": " "}},
        {"program": {"programName": "api", "programType": "SERVICE"}},
        {"program": {"programName": "nightly", "programType": "workflow"}},
        {"program": {"programName": "a.b", "programType": "WORKFLOW"}},
        {"program": {"programName": "nightly"}},
        {"properties": {"a": 1}},
        {"constraints": ["x"]},
        {"timeoutMillis": -1},
    ],
)
def test_what_is_no_schedule_is_400(shop: Wire, change: Json) -> None:
    assert shop.status("PUT", DAILY, {**BODY, **change}) == 400
    assert shop.status("PUT", DAILY, {**BODY, **change}, user="reader") == 403


@pytest.mark.parametrize("name", ["a.b", "a%20b", "x" * 257])
def test_a_schedule_has_a_name_as_others_have(shop: Wire, name: str) -> None:
    body = {key: value for key, value in BODY.items() if key != "name"}
    assert shop.status("PUT", f"{PATH}/{name}", body) == 400


def test_what_a_change_does_not_say_stays(daily: Wire) -> None:
    daily.good("POST", f"{DAILY}/resume", user="runner")
    trigger = {"type": "TIME", "cronExpression": "5 4 * * *"}
    daily.good("POST", f"{DAILY}/update", {"trigger": trigger})
    after = daily.good("GET", DAILY, user="reader")
    assert (after["trigger"], after["properties"]) == (trigger, {"a": "1"})
    assert after["status"] == "SCHEDULED"


def test_the_program_of_a_schedule_stays(daily: Wire) -> None:
    other = {"program": {"programName": "other", "programType": "WORKFLOW"}}
    assert daily.status("POST", f"{DAILY}/update", other) == 400
    assert daily.status("POST", f"{DAILY}/update", {"program": BODY["program"]}) == 200


@pytest.mark.parametrize(
    ("method", "below"),
    [
        ("GET", ""),
        ("GET", "/status"),
        ("POST", "/update"),
        ("DELETE", ""),
        ("POST", "/resume"),
        ("POST", "/suspend"),
    ],
)
def test_a_schedule_that_is_not_there_is_404(either_daily: Wire, method: str, below: str) -> None:
    assert either_daily.status(method, f"{PATH}/none{below}", {}, user=BOSS) == 404


@pytest.mark.parametrize("below", ["", "/status", "/resume"])
def test_a_stranger_is_told_the_same_of_schedules_that_are_there_and_that_are_not(
    either_daily: Wire, below: str
) -> None:
    wire, method = either_daily, "POST" if below == "/resume" else "GET"
    if is_old(wire):  # an additional grant on its name shows nothing
        wire.grant("eve", "program:sales.shop.workflow.nightly", "EXECUTE")
        wire.grant("eve", "namespace:sales", "WRITE")
    answers = {wire.ask(method, f"{PATH}/{name}{below}", user="eve") for name in ("daily", "none")}
    assert len(answers) == 1
    status, text = answers.pop()
    assert (status, "nightly" in text) == (403, False)
    absent = wire.ask(method, f"{SPACE}/apps/none/schedules/daily{below}", user="eve")
    assert absent == (403, text.replace("sales.shop", "sales.none"))


def test_in_the_older_profile_schedules_do_not_tell_which_applications_there_are(
    old_shop: Wire,
) -> None:
    old_shop.good("PUT", DAILY, BODY)
    for app in ("shop", "none"):
        path = f"{SPACE}/apps/{app}/schedules"
        assert old_shop.ask("GET", path, user="eve") == (200, [])
    old_shop.grant("eve", "application:sales.none", "WRITE")
    assert old_shop.status("GET", f"{SPACE}/apps/none/schedules", user="eve") == 404


def test_lists_show_the_schedules_of_programs_that_are_shown(either_daily: Wire) -> None:
    wire = either_daily
    wire.grant("beside", "program:sales.shop.service.api")
    wire.grant("above", "application:sales.shop", "EXECUTE")
    old = is_old(wire)
    for user in PEOPLE:
        assert names(wire, user) == (["daily"] if user == "reader" or not old else [])
    assert names(wire, "beside") == []
    assert names(wire, "above") == []


def test_who_is_not_shown_an_application_is_refused_its_schedules(daily: Wire) -> None:
    status, text = daily.ask("GET", PATH, user="stranger")
    assert status == 403
    assert "does not have privileges to access entity 'application:sales.shop'" in text


def test_the_schedules_of_one_program_are_listed(either_daily: Wire) -> None:
    expected = {"reader"} if is_old(either_daily) else set(PEOPLE)
    assert lets(either_daily, "GET", f"{NIGHTLY}/schedules") == expected
    assert names(either_daily, "reader", f"{NIGHTLY}/schedules") == ["daily"]
    assert names(either_daily, "reader", f"{APP}/services/api/schedules") == []


def test_a_schedule_goes_with_its_program_and_does_not_come_back(daily: Wire) -> None:
    daily.good("POST", f"{DAILY}/resume", user="runner")
    daily.good("PUT", APP, {**REQUEST, "config": {}})
    assert daily.status("GET", DAILY) == 404
    daily.good("PUT", APP, REQUEST)
    assert daily.status("GET", DAILY) == 404
    daily.good("PUT", DAILY, BODY)
    assert status(daily) == "SUSPENDED"


def test_a_schedule_outlasts_an_update_of_its_application(daily: Wire) -> None:
    daily.good("PUT", APP, REQUEST)
    daily.reopened()
    assert status(daily) == "SUSPENDED"


def test_a_schedule_goes_with_its_application(daily: Wire) -> None:
    daily.good("DELETE", APP)
    daily.good("PUT", APP, REQUEST)
    assert daily.good("GET", PATH, user="reader") == []


def test_an_application_has_no_more_schedules_than_can_be_kept(
    daily: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakewarden.systems.cdap.http.schedules.MOST", 1)
    assert daily.status("PUT", f"{PATH}/other", {**BODY, "name": "other"}) == 400


def test_schedules_of_applications_that_are_not_there_are_404(shop: Wire) -> None:
    shop.grant(BOSS, "application:sales.none")
    path = f"{SPACE}/apps/none/schedules"
    assert shop.status("GET", path) == 404
    assert shop.status("PUT", f"{path}/daily", BODY) == 404
    assert shop.status("PUT", f"{path}/daily", BODY, user="eve") == 403
