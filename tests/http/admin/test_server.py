"""The server's own settings, figures and checks over our own API."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.app.build import Application
from lakewarden.config.settings import load
from tests.http.admin.api import Api

ROOT = "root-token-of-the-tests-5Vq8Zt2LxW"
PLACES = [
    ("GET", "/server/settings"),
    ("GET", "/server/health"),
    ("POST", "/server/doctor"),
]


def grant(api: Api, *privileges: str) -> None:
    body = {"privileges": list(privileges), "to": ["user:ana"], "on": "server:lakewarden"}
    api.must("PUT", "/realms/_server/statements/of-ana", body)


def test_settings_say_where_each_value_comes_from(tmp_path: Path) -> None:
    file = tmp_path / "lakewarden.toml"
    file.write_text('[oidc]\nissuer = "https://idp.example"\n', "utf-8")
    variables = {"LAKEWARDEN_ROOT_TOKEN": ROOT, "LAKEWARDEN_UI__PLAYGROUND": "false"}
    database = f"sqlite:///{tmp_path}/store"
    given = load(file, {"database": database, "auth": "token"}, variables)
    with Api(tmp_path, Application(given)) as api:
        answer = api.must("GET", "/server/settings", token=ROOT)
    assert all(row.pop("meaning") for row in answer["settings"])
    rows = {row.pop("name"): row for row in answer["settings"]}
    assert rows["auth"] == {"value": "token", "source": "option", "where": "", "secret": False}
    assert rows["oidc.issuer"] == {
        "value": "https://idp.example",
        "source": "file",
        "where": str(file),
        "secret": False,
    }
    assert rows["root_token"] == {
        "value": "•••",
        "source": "variable",
        "where": "LAKEWARDEN_ROOT_TOKEN",
        "secret": True,
    }
    assert rows["ui.playground"]["value"] is False
    assert rows["port"] == {"value": 8787, "source": "default", "where": "", "secret": False}
    assert ROOT not in str(answer)


def test_what_weakens_protection_is_said(api: Api) -> None:
    answer = api.must("GET", "/server/settings")
    assert answer["weakened"] == list(api.app.settings.weakened)
    assert any("`simple`" in sentence for sentence in answer["weakened"])


def test_figures_count_what_was_answered(lake: Api) -> None:
    lake.must("GET", "/realms")
    answer = lake.must("GET", "/server/health")
    assert answer["status"] == "ready"
    assert answer["revision"] == lake.service.state.revision
    assert answer["realms"] == len(lake.service.state.realms)
    assert answer["entities"] >= 5
    assert answer["store_seconds"] >= 0
    assert answer["processes"] == 1
    assert any("`simple`" in sentence for sentence in answer["warnings"])


def test_the_checks_of_a_server_that_is_well(lake: Api) -> None:
    checks = lake.must("POST", "/server/doctor")["checks"]
    names = list(dict.fromkeys(one["name"] for one in checks))
    assert names == [
        *("systems", "settings", "store", "realms"),
        *("audit trail", "clock", "change feed", "documents"),
    ]
    assert {one["state"] for one in checks} == {"ok", "warning"}
    assert all(one["fix"] for one in checks if one["state"] != "ok")


def test_a_clock_that_is_behind_is_noticed(lake: Api) -> None:
    # The store may be older than the test: an hour ago is before every write.
    now = lake.service.clock()
    lake.service.clock = lambda: now - 3_600.0
    checks = lake.must("POST", "/server/doctor")["checks"]
    (clock,) = [one for one in checks if one["name"] == "clock"]
    assert clock["state"] == "bad"
    assert "behind the last row" in clock["says"]


@pytest.mark.parametrize(("method", "path"), PLACES)
def test_nobody_else_is_told(lake: Api, method: str, path: str) -> None:
    answer = lake.ask(method, path, user="ana")
    assert answer.status == 403
    assert answer.body["object"] == "server:lakewarden"
    assert lake.ask(method, path, user=None, headers={"authorization": "Bearer x"}).status == 401


def test_a_reader_of_the_server_sees_figures_and_checks_but_no_settings(lake: Api) -> None:
    grant(lake, "READ_SERVER")
    statuses = [lake.ask(method, path, user="ana").status for method, path in PLACES]
    assert statuses == [403, 200, 200]
