"""The checks of `lakewarden doctor`: whether a store and its contents are in order.

| state         | means                                                      |
|---------------|------------------------------------------------------------|
| `ok`          | in order                                                   |
| `warning`     | works, but with reduced protection                         |
| `bad`         | wrong                                                      |
| `unreachable` | does not answer                                            |
| `unknown`     | was not fully checked: that would take longer than allowed |
| `absent`      | not there; only some verbs need it                         |

Nothing is changed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from lakewarden.kernel.errors import Unavailable, WardenError
from lakewarden.registry import registry
from lakewarden.service import control, replay
from lakewarden.service.audit_check import examine as examine_trail
from lakewarden.service.audit_seal import UNSEALED, Seals
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.ports import FeedTruncated, Reading
from lakewarden.service.realm import CONTROL

State = Literal["ok", "warning", "bad", "unreachable", "unknown", "absent"]

T = TypeVar("T")

_CLOCK_SECONDS: Final = 5.0
"""How far the clock of another writer may be ahead of ours."""

OFFLINE: Final = "run `lakewarden doctor --database URL` on the server's host"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check; `fix` is empty if there is nothing to do."""

    name: str
    state: State
    says: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """The time limit for reading the audit trail, in seconds, and the most changes to compare."""

    seconds: float
    changes: int


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of the checks. `weakened` and `without_effect` are sentences about the settings.

    Without a budget everything is read completely.
    """

    service: DecisionService
    seals: Seals = UNSEALED
    weakened: tuple[str, ...] = ()
    without_effect: tuple[str, ...] = ()
    budget: Budget | None = None


class _OverBudget(Exception):
    """A check would take longer than allowed."""


def examine(subject: Subject) -> list[Check]:
    """Runs every check on an open service, in the order of display."""
    checks: list[Check] = []
    for name, check in _CHECKS.items():
        try:
            checks += check(subject)
        except _OverBudget:
            result = "incomplete: the check exceeds the time limit of a request"
            checks.append(Check(name, "unknown", result, OFFLINE))
        except Unavailable as error:
            checks.append(Check(name, "unreachable", str(error)))
        except WardenError as error:
            checks.append(Check(name, "bad", str(error)))
    return checks


def systems() -> Iterator[Check]:
    """Checks whether the definition of every installed system is usable."""
    systems_registry = registry()
    systems_registry.check()
    for name, why in sorted(systems_registry.problems.items()):
        fix = f"repair or remove the package that provides `{name}`"
        yield Check("systems", "bad", f"{name} is not loaded: {why}", fix)
    if not systems_registry.problems:
        yield Check("systems", "ok", ", ".join(systems_registry.systems))


def settings(weakened: Iterable[str], without_effect: Iterable[str]) -> Iterator[Check]:
    """Reports protections that are switched off, and settings without effect."""
    for sentence in weakened:
        yield Check("settings", "warning", sentence, "see docs/security.md")
    for sentence in without_effect:
        yield Check("settings", "warning", sentence, "remove the setting")


def _settings(subject: Subject) -> Iterator[Check]:
    checks = list(settings(subject.weakened, subject.without_effect))
    yield from checks or [Check("settings", "ok", "all protections are on")]


def _store(subject: Subject) -> Iterator[Check]:
    began = time.perf_counter()
    revision = subject.service.store.revision()
    milliseconds = (time.perf_counter() - began) * 1_000
    yield Check("store", "ok", f"answers in {milliseconds:.0f} ms, at revision {revision}")
    fault = subject.service.store.write_health.fault
    if fault:
        fix = "free space, or make the database writable; the server retries every few seconds"
        yield Check("store", "bad", f"writes fail: {fault}", fix)


def _realms(subject: Subject) -> Iterator[Check]:
    state = subject.service.state
    if CONTROL not in state.realms:
        yield Check("realms", "bad", "there are none", "`lakewarden init` creates them")
        return
    for name, realm in sorted(state.realms.items()):
        entities = len(realm.matrix.snapshot.coded.tree.stored)
        yield Check("realms", "ok", f"{name}: {realm.system.model.title}, {entities:,} entities")
        for sentence in realm.system.model.weakened:
            fix = f"change the settings of the realm: `PATCH /api/v1/realms/{name}` of a server"
            yield Check("realms", "warning", f"{name}: {sentence}", fix)
    for name, closed in sorted(state.closed.items()):
        digest = "" if closed.realm.text is None else f" with the digest {closed.realm.text.digest}"
        fix = f"restore the text{digest} of its model, or a backup"
        yield Check("realms", "bad", f"{name} is closed: {closed.reason}", fix)
    if not control.administrators(state, subject.service.clock()):
        fix = "`lakewarden init --admin NAME` names one"
        yield Check("realms", "bad", "lakewarden has no administrator", fix)


def _audit_trail(subject: Subject) -> Iterator[Check]:
    with subject.service.reading() as reading:
        rows = _limited_rows(subject.budget, reading.audit())
        report = examine_trail(rows, reading.audit_head, subject.seals)
    if report.fault is None:
        yield Check("audit trail", "ok", f"complete: {report.rows:,} rows")
    else:
        fix = "compare it with a backup and with anchors: `lakewarden audit verify`"
        result = f"row {report.fault.seq} {report.fault.reason}"
        yield Check("audit trail", "bad", result, fix)


def _clock(subject: Subject) -> Iterator[Check]:
    with subject.service.reading() as reading:
        head = reading.audit_head
        last = next(iter(reading.audit(head.seq - 1, 1)), None) if head.seq else None
    written = None if last is None else json.loads(last.body).get("time")
    ahead = written - subject.service.clock() if isinstance(written, (int, float)) else 0.0
    if ahead > _CLOCK_SECONDS:
        result = f"{ahead:,.0f} s behind the last row of the audit trail"
        yield Check("clock", "bad", result, "synchronize the clocks of all hosts, with NTP")
    else:
        yield Check("clock", "ok", "not behind the last write")


def _change_feed(subject: Subject) -> Iterator[Check]:
    try:
        with subject.service.reading() as reading:
            differing, revision = _compared(reading, subject.budget), reading.revision
    except FeedTruncated:
        result = "does not reach back to the first revision; not compared"
        yield Check("change feed", "ok", result)
        return
    for scope, rows in differing:
        counts = ", ".join(f"{count:,} of {table}" for table, count in rows.items())
        result = f"{scope}: rows that differ between change feed and tables: {counts}"
        yield Check(
            "change feed",
            "bad",
            result,
            "the database was modified outside lakewarden: restore a backup",
        )
    if not differing:
        result = f"matches the tables, at revision {revision}"
        yield Check("change feed", "ok", result)


def _compared(reading: Reading, budget: Budget | None) -> list[replay.Disagreement]:
    if budget is not None and len(reading.feed(0, budget.changes + 1)) > budget.changes:
        raise _OverBudget
    return replay.compare(reading)


def _documents(subject: Subject) -> Iterator[Check]:
    with subject.service.reading() as reading:
        for name in sorted(subject.service.state.realms):
            documents, size = reading.document_totals(name)
            result = f"{documents:,} documents and values in time, {size:,} bytes"
            yield Check("documents", "ok", f"{name}: {result}")


def _limited_rows(budget: Budget | None, rows: Iterable[T]) -> Iterator[T]:
    """Yields the rows; raises `_OverBudget` when reading them takes too long."""
    end = None if budget is None else time.monotonic() + budget.seconds
    for row in rows:
        if end is not None and time.monotonic() > end:
            raise _OverBudget
        yield row


_CHECKS: Final[Mapping[str, Callable[[Subject], Iterable[Check]]]] = {
    "systems": lambda _: systems(),
    "settings": _settings,
    "store": _store,
    "realms": _realms,
    "audit trail": _audit_trail,
    "clock": _clock,
    "change feed": _change_feed,
    "documents": _documents,
}
