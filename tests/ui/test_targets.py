"""Targets: a database is planned, pushed to after a confirmation, checked for drift, and reset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from lakewarden.cli import main
from tests.app.serving import Served
from tests.servers import fresh_database
from tests.ui.browser import Visits
from tests.ui.test_realms import call_api

pytestmark = pytest.mark.browser

PAGE = {"realm": "gravitino", "name": "pg"}
USERS = ("ana", "jane")


@pytest.fixture(scope="module")
def target(postgres_url: str, own_served: Served) -> Iterator[Any]:
    """A database with one table of the sample estate and two of its users, as a target."""
    settings = call_api(own_served, "GET", "/realms/gravitino")["settings"]
    call_api(
        own_served, "PATCH", "/realms/gravitino", {"settings": {**settings, "postgresql": "on"}}
    )
    with fresh_database(postgres_url) as url:
        text = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(text, autocommit=True) as own:
            own.execute(f"REVOKE ALL ON DATABASE {own.info.dbname} FROM PUBLIC")
            own.execute("CREATE SCHEMA finance; CREATE TABLE finance.invoices (amount int)")
            for user in USERS:
                own.execute(f"CREATE ROLE {user} LOGIN")
            store = f"sqlite:///{own_served.log.parent}/store.db"
            added = main(
                ["push", "target", "add", "pg", "--realm", "gravitino", "--catalog",
                 "quillmere.lake", "--url", text, "--database", store]
            )  # fmt: skip
            assert added == 0
            try:
                yield own
            finally:
                call_api(own_served, "POST", "/realms/gravitino/targets/pg/reset")
                for user in USERS:
                    own.execute(f"DROP OWNED BY {user}; DROP ROLE {user}")


def grants(target: Any) -> int:
    (count,) = target.execute(
        "SELECT count(*) FROM pg_roles WHERE starts_with(rolname, 'lw_pg_')"
    ).fetchone()
    return int(count)


def test_a_target_is_planned_pushed_and_looked_at(own_visit: Visits, target: Any) -> None:
    with own_visit("admin") as found:
        page = found.page
        found.open("/ui/targets", realm="gravitino")
        assert "new" in found.text()
        page.get_by_role("link", name="pg", exact=True).click()
        page.get_by_role("button", name="Plan a push").click()
        page.get_by_role("heading", name="Whose access changes").wait_for()
        assert "create role" in found.text()
        assert "CREATE ROLE" in page.get_by_role("list", name="Statements").inner_text()
        assert "finance.invoices" in page.get_by_role("region", name="Access changes").inner_text()
        page.get_by_role("button", name="Push…").click()
        assert grants(target) == 0
        with found.expect_message("Pushed:"):
            page.get_by_role("button", name="Push", exact=True).click()
        assert grants(target) > 0
        target.execute("GRANT TRUNCATE ON finance.invoices TO jane")
        page.get_by_role("button", name="Look for drift").click()
        held = page.get_by_role("region", name="Held by grants of others")
        assert "jane" in held.get_by_role("row").filter(has_text="TRUNCATE").inner_text()
        found.check()


@pytest.mark.nightly
def test_a_target_is_added_with_its_style_and_followed(
    own_visit: Visits, own_served: Served, target: Any
) -> None:
    """Nobody listens on its port, so the server's push fails, and the page reports it."""
    with own_visit("admin") as found:
        page = found.page
        found.open("/ui/targets", realm="gravitino")
        page.get_by_label("Name").fill("far")
        page.get_by_label("Catalog").fill("quillmere.lake")
        page.get_by_label("Address with the account").fill("postgresql://ops:pw@127.0.0.1:1/d")
        page.get_by_label("Style").select_option(label="as gravitino’s plug-in")
        page.get_by_label("Push each change by itself").check()
        with found.expect_message("Target added; it is pushed to soon"):
            page.get_by_role("button", name="Add target").click()
        page.get_by_role("link", name="far", exact=True).click()
        page.get_by_role("heading", name="This target").wait_for()
        assert "as gravitino’s plug-in" in found.text()
        assert "each change by itself" in found.text()
        found.check()
    call_api(own_served, "DELETE", "/realms/gravitino/targets/far")


@pytest.mark.nightly
def test_the_targets_page_fits_a_phone_in_dark_mode_and_needs_no_mouse(
    own_visit: Visits, target: Any
) -> None:
    target.execute("GRANT TRUNCATE ON finance.invoices TO jane")
    with own_visit("admin", "narrow") as found:
        page = found.page
        page.emulate_media(color_scheme="dark")
        found.open("/ui/target", **PAGE)
        for button in ("Check the account", "Look for drift", "Plan a push"):
            page.get_by_role("button", name=button).focus()
            page.keyboard.press("Enter")
            found.settle()
            assert found.overflow() <= 0
            assert found.barriers() == []
        page.get_by_role("button", name="Take everything back…").focus()
        page.keyboard.press("Enter")
        assert page.get_by_role("dialog").inner_text().startswith("Take everything back from pg?")
        page.keyboard.press("Escape")
        found.open("/ui/targets", realm="gravitino")
        assert found.barriers() == []
        found.check()


@pytest.mark.nightly
def test_what_is_proposed_is_opened_as_a_plan(own_visit: Visits, target: Any) -> None:
    target.execute("GRANT INSERT ON finance.invoices TO jane")
    with own_visit("admin") as found:
        found.open("/ui/target", **PAGE)
        found.page.get_by_role("button", name="Look for drift").click()
        found.page.get_by_role("button", name="Propose statements").click()
        found.page.wait_for_url("**/ui/r/gravitino/plan")
        file = found.page.get_by_label("Policy file: paste it, or drop a file here").input_value()
    assert 'realm = "gravitino"' in file


@pytest.mark.nightly
def test_who_may_not_see_targets_is_told_so(own_visit: Visits, target: Any) -> None:
    with own_visit("hugo") as found:
        found.open("/ui/targets", realm="gravitino")
        assert "You may not see the targets" in found.text()
        assert found.page.get_by_role("button", name="Add target").count() == 0
