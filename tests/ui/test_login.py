"""Signing in with a real browser: the offered ways, the errors, and their places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.app.serving import Served, server
from tests.authn.code_provider import Provider, provider
from tests.servers import free_port
from tests.ui.browser import VIEWS, Tab, tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.browser

ROOT = "root-token-of-the-tests-5Vq8Zt2LxW"
PASSWORD = "a long enough password"
NATIVE = "another long password"
WANTED = "/ui/ask/who?realm=gravitino"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server on which `ana` of the directory and the root user of DataHub have passwords."""
    environment = {
        "LAKEWARDEN_AUTH": "token",
        "LAKEWARDEN_ROOT_TOKEN": ROOT,
        "LAKEWARDEN_DATAHUB__ROOT_PASSWORD": NATIVE,
    }
    with server(tmp_path_factory.mktemp("guarded"), environment=environment) as running:
        for path, body in (
            ("/api/v1/directories/main/users/ana", None),
            ("/api/v1/directories/main/users/ana/password", {"password": PASSWORD}),
        ):
            answer = running.ask("PUT", path, body, token=ROOT)
            assert answer.status < 300, answer.body
        yield running


def open_login(found: Tab, to: str = WANTED) -> None:
    found.page.goto(found.address + to)
    found.page.wait_for_url("**/ui/login?**")


def way(found: Tab, title: str) -> Locator:
    """The part of the page with this title, expanded."""
    part = found.page.locator(".way").filter(has_text=title)
    if part.locator("form").is_hidden():
        part.locator("summary").click()
    return part


def is_signed_in(found: Tab, user: str) -> None:
    found.page.wait_for_url(f"**{WANTED}")
    found.settle()
    assert found.page.get_by_role("button", name=f"Account of {user}").count() == 1


def test_a_password_that_is_wrong_is_said_at_its_field(browser: Browser, guarded: Served) -> None:
    with tab(browser, guarded.address) as found:
        open_login(found)
        page = found.page
        form = way(found, "Sign in with a password")
        assert page.evaluate("document.activeElement.name") == "user"
        form.get_by_label("User").fill("ana")
        form.get_by_label("Password").fill("not this one")
        form.get_by_role("button").click()
        form = way(found, "Sign in with a password")
        field = form.get_by_label("Password")
        assert field.get_attribute("aria-invalid") == "true"
        about = page.locator(f"#{field.get_attribute('aria-describedby')}")
        assert about.inner_text() == "The user name or the password is incorrect"
        assert page.evaluate("document.activeElement.name") == "password"
        assert form.get_by_label("User").input_value() == "ana"
        assert field.input_value() == ""
        assert found.barriers("html") == []
        field.fill(PASSWORD)
        field.press("Enter")
        is_signed_in(found, "ana")


@pytest.mark.nightly
def test_a_user_of_datahub_signs_in_to_its_realm(browser: Browser, guarded: Served) -> None:
    with tab(browser, guarded.address) as found:
        open_login(found)
        form = way(found, "Sign in with a password")
        form.get_by_label("Where").select_option("realm:datahub")
        form.get_by_label("User").fill("datahub")
        form.get_by_label("Password").fill("not this one")
        form.get_by_role("button").click()
        form = way(found, "Sign in with a password")
        assert form.get_by_label("Where").input_value() == "realm:datahub"
        form.get_by_label("Password").fill(NATIVE)
        form.get_by_role("button").click()
        is_signed_in(found, "datahub")


@pytest.mark.nightly  # by day with a wrong password
def test_a_token_is_exchanged_and_a_wrong_one_told(browser: Browser, guarded: Served) -> None:
    with tab(browser, guarded.address) as found:
        open_login(found)
        form = way(found, "Sign in with a token")
        form.get_by_label("Token").fill("lw_wrong")
        form.get_by_role("button").click()
        # The submitted part is expanded again.
        form = found.page.locator(".way").filter(has_text="Sign in with a token")
        assert form.get_by_text("The token is not valid").is_visible()
        form.get_by_label("Token").fill(ROOT)
        form.get_by_role("button").click()
        is_signed_in(found, "admin")


@pytest.mark.nightly  # by day without a browser: ui/src/api/client.test.ts
def test_a_tab_follows_the_login_of_another_tab(browser: Browser, guarded: Served) -> None:
    """Its token is invalid: it uses the new one, and for another user it starts over."""
    question = {"realm": "cdap", "do": "dataset.read"}
    with tab(browser, guarded.address) as found:
        with_token(found)
        page = found.page
        with_token(Tab(page.context.new_page(), found.address))
        found.go("/ui/ask", **question, on="dataset:sales.orders")
        page.get_by_label("Verdict").wait_for()
        page.context.clear_cookies()
        other = Tab(page.context.new_page(), found.address)
        open_login(other, "/ui/playground#s=AAAA")
        form = way(other, "Sign in with a password")
        form.get_by_label("User").fill("ana")
        form.get_by_label("Password").fill(PASSWORD)
        form.get_by_role("button").click()
        # The server never received the fragment; the tab kept it.
        other.page.wait_for_url("**/ui/playground#s=AAAA")
        found.go("/ui/ask", **question, on="dataset:sales.other")
        page.get_by_role("button", name="Account of ana").wait_for()


def with_token(found: Tab) -> None:
    """Signs in as the administrator, after any other user."""
    found.page.goto(f"{found.address}/ui/login?to=/ui/ask")
    form = way(found, "Sign in with a token")
    form.get_by_label("Token").fill(ROOT)
    form.get_by_role("button").click()
    found.page.wait_for_url("**/ui/ask")
    found.page.get_by_role("button", name="Account of admin").wait_for()


@pytest.mark.by_day(1)
@pytest.mark.parametrize("view", VIEWS)
def test_only_what_the_server_offers_is_there(browser: Browser, guarded: Served, view: str) -> None:
    with tab(browser, guarded.address, **VIEWS[view]) as found:
        open_login(found)
        modes = guarded.ask("GET", "/api/v1/session", token=ROOT).json()
        assert isinstance(modes, dict)
        assert sorted(modes["modes"]) == ["password", "token"]
        titles = found.page.locator(".way h2").all_inner_texts()
        assert titles == ["Sign in with a password", "Sign in with a token"]
        assert found.overflow() <= 0
        assert found.barriers("html") == []


@pytest.fixture(scope="module")
def federated(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Served, Provider]]:
    """A server whose people sign in at an identity provider, and the provider."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with provider(f"{address}/ui/login/oidc/callback") as idp:
        settings: dict[str, Any] = {
            "issuer": idp.issuer,
            "audience": "lakewarden",
            "jwks_url": f"{idp.issuer}/jwks",
            "client_id": "pages",
            "client_secret": "a secret of the tests",
            "authorization_url": f"{idp.issuer}/auth",
            "token_url": f"{idp.issuer}/token",
        }
        environment = {f"LAKEWARDEN_OIDC__{key.upper()}": one for key, one in settings.items()}
        environment |= {"LAKEWARDEN_AUTH": "oidc", "LAKEWARDEN_PUBLIC_URL": address}
        folder = tmp_path_factory.mktemp("federated")
        with server(folder, environment=environment, port=port) as running:
            yield running, idp


def at_the_provider(found: Tab, idp: Provider) -> Page:
    """Follows the link to the provider, whose own pages may send any requests."""
    assert found.faults == []
    found.page.route("https://**", lambda route: route.abort())
    found.page.get_by_role("link", name="Log in at the identity provider").click()
    found.page.wait_for_url(f"{idp.issuer}/**")
    return found.page


@pytest.mark.nightly  # by day without a browser: authn/test_code_flow.py
def test_people_log_in_at_the_provider(
    browser: Browser, federated: tuple[Served, Provider]
) -> None:
    running, idp = federated
    with tab(browser, running.address) as found:
        open_login(found)
        page = at_the_provider(found, idp)
        page.fill("input[name=login]", "ana")
        page.fill("input[name=password]", "any")
        page.locator("form button, form input[type=submit]").first.click()
        page.get_by_role("button", name="Continue").click()
        is_signed_in(found, "ana")
        found.faults.clear()
        assert page.evaluate("document.cookie") == ""
        found.open("/ui/settings/sessions")
        assert "Sessions of ana" in found.text()


@pytest.mark.nightly
def test_a_login_that_was_given_up_is_told_beside_the_button(
    browser: Browser, federated: tuple[Served, Provider]
) -> None:
    running, idp = federated
    with tab(browser, running.address) as found:
        open_login(found)
        page = at_the_provider(found, idp)
        page.get_by_role("link", name="Cancel").click()
        page.wait_for_url("**/ui/login/oidc/callback?**")
        found.faults.clear()
        assert page.get_by_role("alert").count() == 1
        assert found.barriers("html") == []
        assert page.get_by_role("link", name="Log in at the identity provider").count() == 1
