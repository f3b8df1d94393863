"""The settings: the server's for permitted users, and everybody's own."""

from __future__ import annotations

import pytest

from tests.app.serving import Served
from tests.ui.browser import Visits

pytestmark = pytest.mark.browser


@pytest.mark.nightly
def test_settings_have_meaning_and_source_and_what_weakens_is_on_top(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/settings/server")
        shown = found.text()
        assert shown.index("Protection is weakened") < shown.index("datahub.view")
        row = found.page.get_by_role("row").filter(has_text="datahub.view")
        assert "Whether pages and search hits need View Entity." in row.inner_text()
        assert "LAKEWARDEN_DATAHUB__VIEW" in row.inner_text()
        found.page.get_by_label("Name or meaning contains").fill("web pages")
        found.settle()
        assert found.page.get_by_role("row").filter(has_text="datahub.view").count() == 0
        assert found.page.get_by_role("row").filter(has_text="ui.enabled").count() == 1


@pytest.mark.nightly
def test_the_checks_run_again_and_say_what_to_do(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/settings/health")
        found.page.get_by_text("checks need attention").wait_for()
        assert "To do:" in found.text()
        with found.page.expect_response("**/api/v1/server/doctor") as answer:
            found.page.get_by_role("button", name="Run again").click()
        assert answer.value.status == 200
        found.page.get_by_role("button", name="Run again").wait_for()
        assert "99th percentile" in found.text()


@pytest.mark.nightly
def test_all_that_is_bundled_is_listed_with_its_licence(visit: Visits) -> None:
    with visit("ana") as found:
        found.open("/ui/settings/about")
        shown = found.text()
        for name in ("@fontsource-variable/inter", "@base-ui/react", "react-dom"):
            assert name in shown
        font = found.page.locator("details").filter(has_text="@fontsource-variable/inter")
        font.locator("summary").click()
        assert "SIL OPEN FONT LICENSE" in font.inner_text().upper()


@pytest.mark.nightly
def test_whoever_has_no_right_on_the_server_sees_what_is_their_own(visit: Visits) -> None:
    with visit("ana") as found:
        found.open("/ui/settings")
        found.page.wait_for_url("**/ui/settings/sessions")
        found.settle()
        tabs = found.page.get_by_role("navigation", name="Settings").get_by_role("link")
        assert tabs.all_inner_texts() == ["Sessions", "Tokens", "About"]
        assert found.refused == []
        found.open("/ui/settings/server")
        assert "READ_SERVER" in found.text() or "MANAGE_SERVER" in found.text()


@pytest.mark.nightly
def test_a_token_is_shown_once_and_revoked(visit: Visits, served: Served) -> None:
    with visit("ana") as found:
        page = found.page
        found.open("/ui/settings/tokens")
        page.get_by_label("What the token is for").fill("the nightly load")
        page.get_by_role("button", name="Create token").click()
        page.get_by_text("it is shown this once").wait_for()
        token = page.locator("main").get_by_role("status").locator("code").inner_text()
        assert served.ask("GET", "/api/v1/whoami", token=token).status == 200
        found.open("/ui/settings/tokens")
        assert token not in page.content()
        row = page.get_by_role("row").filter(has_text="the nightly load")
        row.get_by_role("button", name="Revoke").click()
        assert served.ask("GET", "/api/v1/whoami", token=token).status == 200
        with found.expect_message("Token revoked"):
            page.get_by_role("dialog").get_by_role("button", name="Revoke token").click()
        assert served.ask("GET", "/api/v1/whoami", token=token).status == 401
