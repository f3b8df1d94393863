"""Waiting times of a user, measured in Chromium in milliseconds."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any, Final

from bench.ui.world import POLICIES, TABLES, WIDE
from tests.ui.browser import Tab, Visits

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Navigates like a link, and waits until an element with the text is painted.
_FOLLOWED: Final = """
async ([address, selector, text]) => {
  const start = performance.now();
  history.pushState({}, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
  await painted(selector, text);
  return performance.now() - start;
}
"""
_PAINTED: Final = """
window.painted = (selector, text) => new Promise((resolve) => {
  const look = () => {
    const found = [...document.querySelectorAll(selector)]
      .some((one) => one.textContent.includes(text));
    requestAnimationFrame(found ? () => setTimeout(resolve) : look);
  };
  look();
});
window.longest = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.longest = Math.max(window.longest, one.duration);
}).observe({ type: "longtask" });
"""
_SCROLLED: Final = """
async (frames) => {
  const at = document.querySelector("[data-windowed]");
  const taken = [];
  let rows = 0;
  let before = await new Promise(requestAnimationFrame);
  for (let frame = 0; frame < frames; frame += 1) {
    at.scrollTop += 120;
    const now = await new Promise(requestAnimationFrame);
    taken.push(now - before);
    before = now;
    rows = Math.max(rows, document.querySelectorAll("tr[data-index]").length);
  }
  return [taken, rows];
}
"""
_JUMPED: Final = """
async ([row, text]) => {
  const at = document.querySelector("[data-windowed]");
  const start = performance.now();
  at.scrollTop = (at.scrollHeight * row) / at.querySelector("table").ariaRowCount;
  await painted("tr[data-index]", text);
  return performance.now() - start;
}
"""
_HOVERED: Final = """
async () => {
  const canvas = document.querySelector("canvas");
  const box = canvas.getBoundingClientRect();
  const taken = [];
  for (let step = 1; step < 40; step += 1) {
    const start = performance.now();
    const place = { clientX: box.left + step * 15, clientY: box.top + step * 3, bubbles: true };
    canvas.dispatchEvent(new MouseEvent("mousemove", place));
    await Promise.resolve();
    await new Promise((resolve) => setTimeout(resolve));
    taken.push(performance.now() - start);
  }
  return taken;
}
"""
_PRESSED: Final = """
async ([key, selector]) => {
  const start = performance.now();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  await painted(selector, "");
  return performance.now() - start;
}
"""


def prepare(tab: Tab) -> Page:
    """The page with the functions that the measures call."""
    tab.page.add_init_script(_PAINTED)
    tab.page.set_default_timeout(20_000)
    tab.open("/ui/")
    return tab.page


def follow(page: Page, address: str, selector: str, text: str) -> float:
    """The time from following a link until the text is painted."""
    return float(page.evaluate(_FOLLOWED, [address, selector, text]))


def first_paint(visit: Visits, user: str) -> dict[str, float]:
    """A cold load of the overview."""
    with visit(user) as tab:
        session = tab.page.context.storage_state()
    with visit.browser.new_context(storage_state=session) as context:
        page = context.new_page()
        page.goto(f"{visit.address}/ui/")
        page.locator("main h1").first.wait_for()
        usable = page.evaluate("performance.now()")
        paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        fonts = (
            "performance.getEntriesByType('resource').filter((one) => one.name.endsWith('.woff2'))"
            ".reduce((sum, one) => sum + one.encodedBodySize, 0)"
        )
        return {
            "first_paint_ms": page.evaluate(paint),
            "usable_ms": usable,
            "fonts_kb": page.evaluate(fonts) / 1_000,
        }


def verdict(visit: Visits, realm: str, on: str, people: list[str]) -> float:
    """The time from a question to the painted verdict: the median over `people`."""
    with visit("admin") as tab:
        page = prepare(tab)
        ask = f"/ui/ask?realm={realm}&do=table.load&on={on}&who=user:"
        follow(page, ask + people[0], "[role=status][data-allow]", people[0])
        taken = [follow(page, ask + one, "[role=status][data-allow]", one) for one in people[1:]]
        return statistics.median(taken)


def scrolling(visit: Visits) -> dict[str, float]:
    """Scrolls the list of all tables of the wide schema."""
    with visit("admin") as tab:
        page = prepare(tab)
        page.goto(f"{visit.address}/ui/asset?realm=gravitino&e={WIDE}&tab=inside")
        page.get_by_text(f"{TABLES:,} in all").wait_for()
        frames, rows = page.evaluate(_SCROLLED, 200)
        frames.sort()
        sent: list[str] = []
        page.on("request", lambda one: sent.append(one.url))
        jumped = page.evaluate(_JUMPED, [90_000, "t0900"])
        return {
            "scroll_p50_ms": statistics.median(frames),
            "scroll_p95_ms": frames[int(len(frames) * 0.95)],
            "rows_in_page": rows,
            "jump_ms": jumped,
            "jump_requests": len(sent),
        }


def matrix(visit: Visits) -> dict[str, float]:
    """400 role sets and 400 classes."""
    with visit("admin") as tab:
        page = prepare(tab)
        address = "/ui/r/gravitino/matrix?ask=table.load&type=table"
        painted = follow(page, address, "canvas", "")
        page.wait_for_timeout(300)
        return {"matrix_ms": painted, "hover_ms": statistics.median(page.evaluate(_HOVERED))}


def policies(visit: Visits) -> dict[str, float]:
    """The list of 10,000 policies, and a search in it."""
    with visit("admin") as tab:
        page = prepare(tab)
        first = follow(page, "/ui/r/datahub/policies?sort=title", "tbody tr", "team ")
        name = f"area {POLICIES - 1:05}"
        search = f"/ui/r/datahub/policies?q={name.replace(' ', '+')}"
        return {"policies_ms": first, "policies_search_ms": follow(page, search, "tbody tr", name)}


def keys(visit: Visits) -> dict[str, float]:
    """The time from a key to its effect, and the longest main thread task meanwhile."""
    with visit("admin") as tab:
        page = prepare(tab)
        page.evaluate("window.longest = 0")
        taken = []
        for _ in range(5):
            taken.append(float(page.evaluate(_PRESSED, ["?", "[role=dialog]"])))
            page.keyboard.press("Escape")
            page.locator("[role=dialog]").wait_for(state="detached")
        return {"key_ms": statistics.median(taken), "long_task_ms": page.evaluate("window.longest")}


def preview(visit: Visits, realm: str, id: str) -> float:
    """The time from requesting a statement's removal until its effects are painted."""
    with visit("admin") as tab:
        page = prepare(tab)
        page.goto(f"{visit.address}/ui/r/{realm}/statement?id={id}")
        act = page.get_by_role("button", name="Remove", exact=True)
        act.wait_for()
        start = time.perf_counter()
        act.click()
        page.get_by_role("button", name="Remove statement").and_(
            page.locator(":enabled")
        ).wait_for()
        return (time.perf_counter() - start) * 1_000


def memory(visit: Visits, realm: str, on: str, people: list[str], minutes: float) -> dict[str, Any]:
    """The heap after questions in a loop: at the end, and its growth since a sixth of the time."""
    with visit("admin") as tab:
        page = prepare(tab)
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.enable")
        ask = f"/ui/ask?realm={realm}&do=table.alter&on={on}&who=user:"
        end = time.monotonic() + minutes * 60
        early, asked = 0.0, 0
        while time.monotonic() < end:
            one = people[asked % len(people)]
            follow(page, ask + one, "[role=status][data-allow]", one)
            asked += 1
            if not early and time.monotonic() > end - minutes * 50:
                early = _heap(session)
        return {"heap_mb": _heap(session), "heap_growth_mb": _heap(session) - early, "asked": asked}


def _heap(session: Any) -> float:
    session.send("HeapProfiler.collectGarbage")
    used: float = session.send("Runtime.getHeapUsage")["usedSize"]
    return used / 1e6
