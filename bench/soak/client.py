"""Keep-alive connections, and the results of requests by kind and window."""

from __future__ import annotations

import base64
import http.client
import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final

from bench.timing import quantile

IDLE_S: Final = 2.0
"""A connection that was idle for longer is reopened, before its server closes it."""
MOST_WRONG: Final = 50
"""The number of wrong answers that are reported in full."""


GROUPS: Final = {
    **dict.fromkeys(("check", "batch", "explain"), "questions"),
    **dict.fromkeys(("list", "resources", "subjects", "names"), "lists"),
    **dict.fromkeys(("grant", "statement", "import"), "writes"),
    **dict.fromkeys(("gravitino", "datahub", "cdap", "still"), "alone"),
}
"""Kinds whose latencies are also reported together: a p99 needs hundreds per window."""


class Connections:
    """Keep-alive connections to one address; each is accepted by either worker."""

    def __init__(self, address: str, number: int) -> None:
        host = address.removeprefix("http://")
        self._all = [http.client.HTTPConnection(host, timeout=150) for _ in range(number)]
        self._used = [0.0] * number
        self._next = 0
        self.was_stale = False
        """Whether the last answer was marked as stale because the store was unreachable."""

    def ask(self, method: str, path: str, body: Any, user: str) -> tuple[int, bytes, float]:
        """Status, body, and milliseconds of one request; the connections take turns."""
        self._next = (self._next + 1) % len(self._all)
        connection = self._all[self._next]
        word = base64.b64encode(f"{user}:".encode()).decode()
        headers = {"Authorization": f"Basic {word}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        sent = None if body is None else json.dumps(body).encode()
        if time.monotonic() - self._used[self._next] > IDLE_S:
            connection.close()
        begun = time.perf_counter()
        try:
            connection.request(method, path, sent, headers)
            answer = connection.getresponse()
            text = answer.read()
            self.was_stale = answer.getheader("lakewarden-stale") is not None
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        self._used[self._next] = time.monotonic()
        return answer.status, text, (time.perf_counter() - begun) * 1e3


class Tally:
    """Latencies, errors and judged answers of one client, written to a file window by window."""

    def __init__(self, out: Path, begin: float, window: float) -> None:
        self._out, self._begin, self._window = out, begin, window
        self._at = 0
        self._told = 0
        self._clear()

    def _clear(self) -> None:
        self._took: dict[str, list[float]] = defaultdict(list)
        self._together: dict[str, list[float]] = defaultdict(list)
        self._counted: dict[str, Counter[str]] = defaultdict(Counter)

    def move(self, out: Path, begin: float, window: float) -> None:
        """Continues in another file, with its own windows."""
        self._out, self._begin, self._window = out, begin, window
        self._at = 0
        self._clear()

    def took(self, kind: str, milliseconds: float) -> None:
        """Records the latency of a request."""
        self._took[kind].append(milliseconds)
        first, _, last = kind.partition(".")
        group = GROUPS.get(last.rpartition(".")[2])
        if group is not None:
            self._together[f"{first}.{group}"].append(milliseconds)

    def judged(self, kind: str, said: Any, expected: Any, about: Any) -> None:
        """Compares an answer with the truth; a nonempty truth counts as positive."""
        self._counted[kind]["judged"] += 1
        self._counted[kind]["positive" if expected else "negative"] += 1
        if said != expected:
            self._counted[kind]["wrong"] += 1
            if self._told < MOST_WRONG:
                self._told += 1
                self._line({"wrong": kind, "about": about, "said": said, "expected": expected})

    def counted(self, kind: str, what: str) -> None:
        """Counts an event of a request."""
        self._counted[kind][what] += 1

    def failed(self, kind: str, why: str) -> None:
        """Records a failed request."""
        self._counted[kind]["errors"] += 1
        if self._told < MOST_WRONG:
            self._told += 1
            self._line({"error": kind, "why": why[:400]})

    def roll(self, *, last: bool = False) -> None:
        """Writes the current window if it is over."""
        now = int((time.time() - self._begin) / self._window)
        if now == self._at and not last:
            return
        figures = {
            kind: {
                "asked": len(took),
                "p50_ms": quantile(took, 0.5),
                "p99_ms": quantile(took, 0.99),
                **self._counted[kind],
            }
            for kind, took in self._took.items()
        }
        for kind in self._counted.keys() - figures.keys():
            figures[kind] = {"asked": 0, **self._counted[kind]}
        together = {
            group: {
                "asked": len(took),
                "p50_ms": quantile(took, 0.5),
                "p99_ms": quantile(took, 0.99),
                "all_ms": [round(one, 3) for one in took],
            }
            for group, took in self._together.items()
        }
        self._line({"window": self._at, "kinds": figures, "groups": together})
        self._at = now
        self._clear()

    def _line(self, row: Any) -> None:
        with self._out.open("a") as out:
            out.write(json.dumps({"at": round(time.time() - self._begin, 3), **row}) + "\n")
