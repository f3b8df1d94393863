"""Real Chromium before the pages of a real server, and what every page has to keep to."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

from lakewarden.http.admin import openapi
from lakewarden.http.admin.dialect import ENDPOINTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")
AXE: Final = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")

_WATCH: Final = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`);
});
"""

_DESCRIBED: Final = [
    re.compile("^" + re.sub(r"\{[^/]+\}", "[^/]+", path) + "$")
    for path in openapi.document(ENDPOINTS, "0")["paths"]
]
_BESIDE: Final = re.compile(r"^/(ui(/|$)|r/[^/]+/|openapi\.json$|readyz$)")


def chromium() -> str | None:
    """The browser of this machine."""
    return next((found for name in CHROMIUM if (found := shutil.which(name))), None)


@dataclass
class Tab:
    """A page of the browser, and what it should not have done so far."""

    page: Page
    address: str
    faults: list[str] = field(default_factory=list)
    pending: set[Request] = field(default_factory=set)

    def open(self, path: str, **search: str) -> None:
        """Goes to a page, and waits for what it asks the server for."""
        query = f"?{urlencode(search)}" if search else ""
        self.page.goto(f"{self.address}{path}{query}")
        self.settle()

    def settle(self) -> None:
        """Waits until nothing is under way."""
        self.page.locator("main h1").first.wait_for()
        still = 0
        while still < 3:
            self.page.wait_for_timeout(30)
            still = 0 if self.pending else still + 1

    def sign_in(self, user: str, to: str = "/ui/") -> None:
        """As who needs a name only."""
        self.page.goto(f"{self.address}/ui/login?{urlencode({'to': to})}")
        self.page.fill("input[name=user]", user)
        self.page.locator("form:has(input[name=user]) button").first.click()
        self.settle()

    def text(self) -> str:
        """What the page says."""
        return self.page.locator("main").inner_text()

    def check(self) -> None:
        """Nothing against the content policy, no error, no call that is not described."""
        violations = self.page.evaluate("window.violations")
        assert violations == []
        assert self.faults == []

    def barriers(self) -> list[str]:
        """What axe finds that shuts somebody out."""
        self.page.evaluate(AXE.read_text("utf-8"))
        options = json.dumps({"runOnly": {"type": "tag", "values": RULES}})
        found: dict[str, Any] = self.page.evaluate(f"axe.run(document, {options})")
        return [
            f"{one['id']}: {node['html'][:200]} {node['failureSummary'][:200]}"
            for one in found["violations"]
            for node in one["nodes"]
        ]

    def _asked(self, request: Request) -> None:
        self.pending.add(request)
        path = urlsplit(request.url).path
        is_ours = request.url.startswith(self.address)
        is_described = _BESIDE.match(path) or any(one.match(path) for one in _DESCRIBED)
        if not (request.url.startswith("data:") or (is_ours and is_described)):
            self.faults.append(f"asks {request.url}")

    def _answered(self, request: Request) -> None:
        self.pending.discard(request)

    def _said(self, message: ConsoleMessage) -> None:
        # A refusal is an answer of the server that the page shows; the browser lists it too.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.faults.append(f"says {message.text}")


@contextmanager
def tab(browser: Browser, address: str, **context: Any) -> Iterator[Tab]:
    """A fresh browser context with one page."""
    with browser.new_context(reduced_motion="reduce", **context) as made:
        page = made.new_page()
        page.set_default_timeout(15_000)
        found = Tab(page, address)
        page.add_init_script(_WATCH)
        page.on("request", found._asked)
        page.on("requestfinished", found._answered)
        page.on("requestfailed", found._answered)
        page.on("console", found._said)
        page.on("pageerror", lambda error: found.faults.append(f"fails with {error}"))
        page.on("dialog", lambda dialog: found.faults.append(f"opens {dialog.message}"))
        yield found


def pages() -> Sequence[tuple[str, dict[str, str]]]:
    """Every route with something of the sample estate on it."""
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
        ("/ui/playground", {}),
        ("/ui/settings", {}),
        ("/ui/nowhere", {}),
    )
