"""Real Chromium on the pages of a real server, and the rules for every page."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

from lakewarden.http.admin import openapi
from lakewarden.http.admin.dialect import ENDPOINTS

if TYPE_CHECKING:
    from playwright.sync_api import (
        Browser,
        BrowserContext,
        ConsoleMessage,
        Page,
        Playwright,
        Request,
        Response,
    )

CHROMIUM: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WITH_WINDOWS: Final = CHROMIUM[1:]
"""The browsers that can show windows render text like users see it; the headless shell does not."""
AXE: Final = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")

_WATCH: Final = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`);
});
"""

# Navigates like the router's own links.
_FOLLOW: Final = """
(address) => {
  history.pushState({}, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}
"""

# A message stays for ten seconds: old messages are marked, to distinguish the next one.
_MARK_OLD: Final = """
document.querySelectorAll("[data-message]").forEach((one) => { one.dataset.old = ""; });
"""

_DESCRIBED: Final = [
    re.compile("^" + re.sub(r"\{[^/]+\}", "[^/]+", path) + "$")
    for path in openapi.document(ENDPOINTS, "0")["paths"]
]
_BESIDE: Final = re.compile(r"^/(ui(/|$)|r/[^/]+/|openapi\.json$|readyz$)")


def chromium(names: Sequence[str] = CHROMIUM) -> str | None:
    """The path of the browser on this machine."""
    return next((found for name in names if (found := shutil.which(name))), None)


VIEWS: Final[dict[str, dict[str, Any]]] = {
    "wide": {"viewport": {"width": 1440, "height": 900}},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 390, "height": 844}},
}

# Waits usually take milliseconds; on a busy machine they may take much longer.
PATIENCE_MS: Final = 90_000


@dataclass
class Tab:
    """A page of the browser, and its violations so far."""

    page: Page
    address: str
    faults: list[str] = field(default_factory=list)
    pending: set[Request] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)

    def open(self, path: str, **search: str) -> None:
        """Opens a page by its address, and waits for its requests."""
        self.page.goto(self.address + _with(path, search))
        self.settle()

    def go(self, path: str, **search: str) -> None:
        """Navigates to a page like a link on a page, without a reload."""
        if not self.page.url.startswith(f"{self.address}/ui/"):
            return self.open(path, **search)
        self.page.evaluate(_FOLLOW, _with(path, search))
        return self.settle()

    def settle(self) -> None:
        """Waits until no request is in flight or about to start: a response may cause a request."""
        self.page.locator("main h1").first.wait_for()
        still = 0
        while still < 3:
            self.page.wait_for_timeout(25)
            is_busy = bool(self.pending) or self.page.locator("main [aria-busy=true]").count() > 0
            still = 0 if is_busy else still + 1

    @contextmanager
    def expect_message(self, message: str) -> Iterator[None]:
        """Expects the block to make the page show this message; earlier messages do not count."""
        self.page.evaluate(_MARK_OLD)
        yield
        self.page.locator("[data-message]:not([data-old])", has_text=message).wait_for()
        self.settle()

    def sign_in(self, user: str, to: str = "/ui/") -> None:
        """Signs in as a user who only needs a name."""
        self.page.goto(f"{self.address}/ui/login?{urlencode({'to': to})}")
        self.page.fill("input[name=user]", user)
        self.page.locator("form:has(input[name=user]) button").first.click()
        self.settle()

    def text(self) -> str:
        """The text of the page."""
        return self.page.locator("main").inner_text()

    def check(self) -> None:
        """Checks for no violation of the content policy, no error, and no undocumented call."""
        if self.page.url.startswith(self.address):
            assert self.page.evaluate("window.violations") == []
        assert self.faults == []

    def barriers(self, part: str = "main") -> list[str]:
        """The accessibility violations that axe finds in a part of the page (`html`: all of it)."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text("utf-8"))
        options = json.dumps({"runOnly": {"type": "tag", "values": RULES}})
        report: dict[str, Any] = self.page.evaluate(f"axe.run({part!r}, {options})")
        return [
            f"{one['id']}: {node['html'][:200]} {node['failureSummary'][:200]}"
            for one in report["violations"]
            for node in one["nodes"]
        ]

    def overflow(self) -> int:
        """The number of pixels by which the page is wider than the window."""
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(self.page.evaluate(wider))

    def _sent(self, request: Request) -> None:
        self.pending.add(request)
        path = urlsplit(request.url).path
        is_ours = request.url.startswith(self.address)
        is_described = _BESIDE.match(path) or any(one.match(path) for one in _DESCRIBED)
        if not (request.url.startswith("data:") or (is_ours and is_described)):
            self.faults.append(f"asks {request.url}")

    def _over(self, request: Request) -> None:
        self.pending.discard(request)

    def _answered(self, response: Response) -> None:
        if response.status == HTTPStatus.FORBIDDEN:
            self.refused.append(f"{response.request.method} {response.url}")

    def _logged(self, message: ConsoleMessage) -> None:
        # The page shows a server's error response; the browser logs it too.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.faults.append(f"says {message.text}")


def _with(path: str, search: dict[str, str]) -> str:
    return f"{path}?{urlencode(search)}" if search else path


def _tab(context: BrowserContext, address: str) -> Tab:
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    made = Tab(page, address)
    page.add_init_script(_WATCH)
    page.on("request", made._sent)
    page.on("requestfinished", made._over)
    page.on("requestfailed", made._over)
    page.on("response", made._answered)
    page.on("console", made._logged)
    page.on("pageerror", lambda error: made.faults.append(f"fails with {error}"))
    page.on("dialog", lambda dialog: made.faults.append(f"opens {dialog.message}"))
    return made


@contextmanager
def tab(browser: Browser, address: str, **context: Any) -> Iterator[Tab]:
    """A fresh browser context with one page, without a session."""
    with browser.new_context(**_PLAIN, **context) as made:
        one = _tab(made, address)
        yield one
        one.check()


@dataclass
class Visits:
    """Visits of users to the pages: each signs in once and keeps the browser's cache."""

    browser: Browser
    address: str
    _contexts: dict[tuple[str, str], BrowserContext] = field(default_factory=dict)

    @contextmanager
    def __call__(self, user: str, view: str = "wide") -> Iterator[Tab]:
        """A fresh tab with the user's session; at its end it must have no violations."""
        context = self._contexts.get((user, view))
        is_new = context is None
        if context is None:
            context = self.browser.new_context(**_PLAIN, **VIEWS[view])
            self._contexts[user, view] = context
        one = _tab(context, self.address)
        try:
            if is_new:
                one.sign_in(user)
            yield one
            one.check()
        finally:
            one.page.close()

    def forget(self) -> None:
        """Clears the data that pages stored in the browser; the sessions stay."""
        kept = {"origin": self.address, "storageTypes": "local_storage,session_storage"}
        for context in self._contexts.values():
            page = context.new_page()
            context.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
            page.close()

    def close(self) -> None:
        """Ends the sessions."""
        for context in self._contexts.values():
            context.close()
        self._contexts.clear()


class Browsers:
    """Browsers that stay open between modules: a start takes longer than many tests.

    They have an event loop in this thread while they are open, so no other loop can run.
    """

    def __init__(self) -> None:
        self._playwright: Playwright | None = None
        self._open: dict[str, Browser] = {}
        self._visits: dict[tuple[Browser, str], Visits] = {}

    def open(self, path: str) -> Browser:
        """The browser with this program, started if necessary."""
        if self._playwright is None:
            from playwright.sync_api import sync_playwright

            self._playwright = sync_playwright().start()
        if path not in self._open:
            chromium = self._playwright.chromium
            self._open[path] = chromium.launch(executable_path=path, args=["--no-sandbox"])
        return self._open[path]

    def visits(self, browser: Browser, address: str) -> Visits:
        """Visits to a server."""
        return self._visits.setdefault((browser, address), Visits(browser, address))

    def close(self) -> None:
        """Closes them all."""
        for browser in self._open.values():
            browser.close()
        if self._playwright is not None:
            self._playwright.stop()
        self._playwright = None
        self._open.clear()
        self._visits.clear()


_PLAIN: Final[dict[str, Any]] = {"reduced_motion": "reduce"}


def pages() -> Sequence[tuple[str, dict[str, str]]]:
    """Every route, with an object of the sample estate."""
    table = "table:quillmere:lake.sales.forecasts"
    return (
        ("/ui/", {}),
        ("/ui/ask", {}),
        ("/ui/ask", {"realm": "gravitino", "who": "user:hugo", "do": "table.alter", "on": table}),
        ("/ui/ask/who", {"realm": "gravitino", "do": "table.load", "on": table}),
        ("/ui/ask/what", {"realm": "gravitino", "who": "user:ana", "do": "table.load"}),
        (
            "/ui/ask/compare",
            {"realm": "gravitino", "a": "user:ana", "b": "user:hugo", "do": "table.load"},
        ),
        ("/ui/ask/denials", {}),
        ("/ui/assets", {}),
        ("/ui/asset", {"realm": "gravitino", "e": "table:quillmere:lake.finance.invoices"}),
        (
            "/ui/asset",
            {"realm": "gravitino", "e": "table:quillmere:lake.finance.invoices", "tab": "rules"},
        ),
        ("/ui/people", {}),
        ("/ui/principal", {"realm": "gravitino", "p": "group:finance"}),
        ("/ui/r/gravitino/statements", {}),
        ("/ui/r/datahub/statements", {}),
        (
            "/ui/r/gravitino/statement",
            {"id": "quillmere:marts_only/schema:lake.sales/deny"},
        ),
        ("/ui/r/gravitino/limit", {"kind": "filter"}),
        ("/ui/r/gravitino/limit", {"kind": "mask"}),
        ("/ui/r/datahub/policies", {}),
        ("/ui/r/datahub/policy", {"urn": "urn:li:dataHubPolicy:custodians-edit"}),
        ("/ui/r/datahub/policy", {"urn": "urn:li:dataHubPolicy:0"}),
        ("/ui/r/datahub/policy/new", {}),
        ("/ui/r/gravitino/roles", {}),
        ("/ui/r/gravitino/role", {"name": "quillmere:marts_only"}),
        ("/ui/r/gravitino/owners", {"e": table}),
        ("/ui/r/cdap/privileges", {}),
        ("/ui/r/gravitino/matrix", {}),
        ("/ui/r/gravitino/plan", {}),
        ("/ui/findings", {}),
        ("/ui/audit", {}),
        ("/ui/realms", {}),
        ("/ui/realm", {"name": "datahub"}),
        ("/ui/realm", {"name": "gravitino", "tab": "operations"}),
        ("/ui/realm", {"name": "gravitino", "tab": "lookups"}),
        ("/ui/realm", {"name": "gravitino", "tab": "privileges"}),
        ("/ui/links", {}),
        ("/ui/links/suggestions", {"realm": "gravitino", "other": "datahub"}),
        ("/ui/targets", {"realm": "gravitino"}),
        ("/ui/target", {"realm": "gravitino", "name": "none"}),
        ("/ui/playground", {}),
        ("/ui/settings/server", {}),
        ("/ui/settings/health", {}),
        ("/ui/settings/sessions", {}),
        ("/ui/settings/tokens", {}),
        ("/ui/settings/about", {}),
        ("/ui/nowhere", {}),
    )
