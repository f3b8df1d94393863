"""Realms and links: suggested links are created, settings changed, a realm exported and dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakewarden.pipeline.link_rules import read
from tests.app.serving import Served
from tests.ui.browser import Visits

pytestmark = pytest.mark.browser

PAIR = {"realm": "gravitino", "other": "datahub"}


def call_api(served: Served, method: str, path: str, body: object = None) -> Any:
    answer = served.ask(method, f"/api/v1{path}", body, user="admin")
    assert answer.status < 300, answer.body
    return answer.json() if answer.body else None


@pytest.mark.nightly
def test_suggested_links_are_made_one_by_one_and_page_by_page(
    own_visit: Visits, own_served: Served
) -> None:
    path = "/links/suggestions?realm=gravitino&other=datahub&page.limit=25"
    before = call_api(own_served, "GET", path)
    links = call_api(own_served, "GET", "/links?page.limit=1")["total"]
    first, *rest = before["suggestions"]
    with own_visit("admin") as found:
        page = found.page
        found.open("/ui/links/suggestions", **PAIR)
        assert f"{before['total']} suggested links" in found.text()
        box = page.get_by_label(f"Choose {first['one']['entity']}", exact=True)
        row = page.get_by_role("row").filter(has=box)
        with found.expect_message("1 link made"):
            row.first.get_by_role("button", name="Link").click()
        page.get_by_text(f"{before['total'] - 1} suggested links").wait_for()
        with found.expect_message("25 links made"):
            page.get_by_role("button", name="Link these 25").click()
    made = call_api(own_served, "GET", "/links?page.limit=1000")
    assert made["total"] == links + 26
    ends = {(one["one"]["entity"], one["other"]["entity"]) for one in made["links"]}
    assert {(one["one"]["entity"], one["other"]["entity"]) for one in (first, *rest)} <= ends


@pytest.mark.nightly
def test_the_rules_that_would_make_them_are_a_file(
    own_visit: Visits, own_served: Served, tmp_path: Path
) -> None:
    rules = call_api(own_served, "GET", "/links/suggestions?realm=gravitino&other=cdap")["rules"]
    with own_visit("admin") as found:
        found.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        found.open("/ui/links/suggestions", realm="gravitino", other="cdap")
        with found.expect_message("Rules copied"):
            found.page.get_by_role("button", name="Copy as file").click()
        text = found.page.evaluate("navigator.clipboard.readText()")
    file = tmp_path / "links.toml"
    file.write_text(text, "utf-8")
    assert [one.name for one in read(file).rules] == [one["name"] for one in rules]


@pytest.mark.nightly
def test_a_link_is_made_by_hand_and_taken_away(own_visit: Visits, own_served: Served) -> None:
    with own_visit("admin") as found:
        page = found.page
        found.open("/ui/links")
        for label, realm, entity in (
            ("One", "gravitino", "schema:quillmere:lake.sales"),
            ("Other", "cdap", "namespace:sales"),
        ):
            page.get_by_label(f"{label}: realm").select_option(realm)
            page.get_by_label(f"{label}: asset").fill(entity)
            page.get_by_label(f"{label}: asset").press("Tab")
        with found.expect_message("Link made"):
            page.get_by_role("button", name="Link", exact=True).click()
        query = "/links?realm=cdap&entity=namespace:sales"
        assert call_api(own_served, "GET", query)["total"] == 1
        found.open("/ui/links", realm="cdap")
        row = page.get_by_role("row").filter(has_text="sales cdap namespace")
        with found.expect_message("Link removed"):
            row.get_by_role("button", name="Remove").click()
        assert call_api(own_served, "GET", query)["total"] == 0


def test_a_setting_says_what_it_leaves_open_before_it_is_saved(
    visit: Visits, served: Served
) -> None:
    realm = "opened"
    call_api(served, "POST", "/realms", {"name": realm, "model": "datahub"})
    call_api(served, "PATCH", f"/realms/{realm}", {"settings": {"view_authorization": "on"}})
    with visit("admin") as found:
        page = found.page
        found.open("/ui/realm", name=realm)
        assert "everybody is shown every page" not in found.text().lower()
        page.get_by_label("view_authorization").select_option("off")
        assert "everybody is shown every page" in found.text().lower()
        with found.expect_message("Settings saved"):
            page.get_by_role("button", name="Save settings").click()
    assert call_api(served, "GET", f"/realms/{realm}")["settings"]["view_authorization"] == "off"
    call_api(served, "DELETE", f"/realms/{realm}")


@pytest.mark.nightly
def test_a_realm_is_exported_and_dropped_by_its_name(own_visit: Visits, own_served: Served) -> None:
    call_api(own_served, "POST", "/realms", {"name": "passing", "model": "gravitino"})
    with own_visit("admin") as found:
        page = found.page
        found.open("/ui/realm", name="passing")
        with page.expect_download() as download:
            page.get_by_role("link", name="Export the policy").click()
        assert download.value.suggested_filename == "passing-policy.json"
        policy = json.loads(download.value.path().read_text("utf-8"))
        assert policy == call_api(own_served, "GET", "/realms/passing/policy")
        page.get_by_role("button", name="Drop…").click()
        drop = page.get_by_role("button", name="Drop the realm")
        assert drop.is_disabled()
        page.get_by_label("Type the name of the realm").fill("pass")
        assert drop.is_disabled()
        page.get_by_label("Type the name of the realm").fill("passing")
        with found.expect_message("Realm passing dropped"):
            drop.click()
        page.wait_for_url("**/ui/realms")
    assert own_served.ask("GET", "/api/v1/realms/passing", user="admin").status == 404


@pytest.mark.nightly
def test_the_model_of_a_realm_is_there_for_everybody(own_visit: Visits) -> None:
    with own_visit("ana") as found:
        found.open("/ui/realm", name="gravitino", tab="operations")
        found.page.get_by_label("Name or title contains").fill("table.alter")
        assert found.page.get_by_role("row").filter(has_text="table.alter").count() == 1
        found.open("/ui/realm", name="gravitino", tab="privileges")
        row = found.page.get_by_role("row").filter(has_text="SELECT_TABLE")
        assert row.get_by_label("grantable").count() == 4
        found.open("/ui/realm", name="gravitino")
        assert found.page.get_by_label("mode").is_disabled()
        assert found.page.locator("main button:enabled").count() == 0
        assert found.refused == []


def test_a_realm_shows_what_was_rejected_before_its_last_load(
    visit: Visits, served: Served
) -> None:
    row = {"table": "entities", "reason": "bad name", "detail": "a.b.c", "place": "lake.csv:7"}
    quarantine = {"total": 23, "first": [row], "directory": "estate/raw"}
    call_api(served, "POST", "/realms", {"name": "raw", "model": "gravitino"})
    body = {"model": "gravitino", "quarantine": quarantine}
    call_api(served, "POST", "/realms/raw/load", body)
    with visit("admin") as found:
        found.open("/ui/realm", name="raw")
        part = found.page.get_by_role("region", name="Quarantine of the last load")
        part.wait_for()
        told = part.inner_text()
        assert "23 rows rejected" in told
        assert "bad name entities a.b.c" in told
        assert "lake.csv:7" in told
        command = part.get_by_role("button", name="As command").get_attribute("data-command")
        assert command == "lakewarden lint --from estate/raw --rule set-aside"
        assert found.barriers() == []
    call_api(served, "DELETE", "/realms/raw")
