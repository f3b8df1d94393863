"""Responses of a real server with all variable values fixed, for pictures.

These are times, figures of the process, the paths of its files, and the rows of the audit trail
that the visits of a test add. The clock of the page is frozen as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.app.serving import Served

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

PICTURES: Final = {
    *("overview", "audit", "health", "settings", "realm"),
    *("principal", "policy", "policy-dark"),
}
"""The pages that show any of these values."""

NOW: Final = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)
STEP_SECONDS: Final = 240
FOLDER: Final = "/var/lib/lakewarden"
PORT: Final = "8090"
HEALTH: Final = {
    "revision": 12,
    "started": "2026-05-04T07:30:00Z",
    "resident_bytes": 152 << 20,
    "store_seconds": 0.0004,
    "connections": 1,
    "requests": {"done": 4_218, "denied": 31, "missing": 7},
    "median_seconds": 0.0011,
    "p99_seconds": 0.023,
}
SAID: Final = (
    (r"answers in [0-9.]+ ms", "answers in 0.4 ms"),
    (r"revision \d+", "revision 12"),
    (r"complete: \d+ rows", "complete: 18 rows"),
    (
        r"_server: \d+ documents and values in time, \d+ bytes",
        "_server: 0 documents and values in time, 0 bytes",
    ),
)
MOST_ROWS: Final = 1_000


def freeze(page: Page, served: Served) -> None:
    """Fixes the page's clock and the server's responses from now on."""
    page.clock.set_fixed_time(NOW)
    page.route("**/api/v1/audit?*", _audit)
    page.route("**/api/v1/realms/*/history?*", _changed(_history))
    page.route("**/api/v1/server/health", _changed(lambda body: {**body, **HEALTH}))
    page.route("**/api/v1/server/doctor", _changed(_doctor))
    page.route("**/api/v1/server/settings", _changed(_settings(served)))


def _changed(change: Callable[[Any], Any]) -> Callable[[Route], None]:
    def handle(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=json.dumps(change(response.json())))

    return handle


def _history(body: dict[str, Any]) -> dict[str, Any]:
    """The rows a few minutes apart, newest first."""
    for place, row in enumerate(body["rows"]):
        row["at"] = (NOW - timedelta(seconds=STEP_SECONDS * (place + 1))).isoformat()
    return body


def _doctor(body: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(body)
    for pattern, fixed in SAID:
        text = re.sub(pattern, fixed, text)
    fixed_body: dict[str, Any] = json.loads(text)
    return fixed_body


def _settings(served: Served) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(body).replace(str(served.log.parent), FOLDER)
        fixed_body: dict[str, Any] = json.loads(text)
        for one in fixed_body["settings"]:
            if one["name"] == "port":
                one["value"] = int(PORT)
        return fixed_body

    return change


def _audit(route: Route) -> None:
    """The requested number of rows, without those of visits, a few minutes apart."""
    address = urlsplit(route.request.url)
    asked = {name: values[0] for name, values in parse_qs(address.query).items()}
    size = "last" if "last" in asked else "page.limit"
    url = address._replace(query=urlencode({**asked, size: str(MOST_ROWS)})).geturl()
    response = route.fetch(url=url)
    body = response.json()
    rows = [row for row in body["rows"] if row["event"]["operation"] != "session.create"]
    wanted = int(asked[size])
    body["rows"] = rows[-wanted:] if size == "last" else rows[:wanted]
    for row in body["rows"]:
        row["event"]["time"] = NOW.timestamp() - STEP_SECONDS * (30 - row["seq"])
    route.fulfill(response=response, body=json.dumps(body))
