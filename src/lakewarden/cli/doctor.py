"""`lakewarden doctor`: is everything there, and as it should be?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from lakewarden import __version__
from lakewarden.cli.admin_target import NOWHERE, At, url_of
from lakewarden.cli.outcome import COULD_NOT_TELL, NO, YES, show, show_json
from lakewarden.cli.question import As
from lakewarden.kernel.errors import BadInput, Unavailable, WardenError

if TYPE_CHECKING:
    from lakewarden.cli.remote import Server
    from lakewarden.service.audit_seal import Seals
    from lakewarden.service.decision_service import DecisionService
    from lakewarden.store import SqlStore

Finding = Literal["ok", "bad", "unreachable", "not there"]


@dataclass(slots=True)
class Report:
    """What was found, check by check."""

    lines: list[dict[str, str]] = field(default_factory=list)

    def add(self, check: str, finding: Finding, said: str) -> None:
        """One finding."""
        self.lines.append({"check": check, "finding": finding, "says": said})

    @contextmanager
    def checking(self, check: str) -> Iterator[None]:
        """Whatever goes wrong inside is a finding."""
        try:
            yield
        except Unavailable as error:
            self.add(check, "unreachable", str(error))
        except WardenError as error:
            self.add(check, "bad", str(error))

    @property
    def code(self) -> int:
        """The exit code: what could not be found out weighs more than what is wrong."""
        findings = {line["finding"] for line in self.lines}
        if "unreachable" in findings:
            return COULD_NOT_TELL
        return NO if "bad" in findings else YES


def doctor(
    *,
    config: Annotated[
        Path | None, Parameter(help="With a database: TOML file with settings.")
    ] = None,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Checks systems, settings, database, audit trail, change feed and Spark's needs; or a server.

    Of a server: whether it answers and is ready, its release and revision, what is switched off
    there, and for whom it takes you. Changes nothing. Exit code 1 when something is wrong, 3 when
    the database or the server cannot be asked. What is not there and only some verbs need is
    told, and is nothing wrong.

    For example:

        lakewarden doctor --database sqlite:///estate.db
    """
    report = Report()
    remote = at.remote()
    if remote is not None:
        if config is not None:
            raise BadInput("a server has its own settings; give --config with --database")
        with report.checking("server"):
            _server(report, remote)
    else:
        url = url_of(at.database)
        _systems(report)
        with report.checking("settings"):
            _settings(report, config, url)
        with report.checking("database"):
            _database(report, url)
        _spark(report)
    if format == "json":
        show_json(report.lines)
    else:
        width = max(len(line["check"]) for line in report.lines)
        for line in report.lines:
            show(f"{line['finding']:<11}  {line['check']:<{width}}  {line['says']}")
    return report.code


def _systems(report: Report) -> None:
    from lakewarden.registry import registry

    known = registry()
    known.check()
    for name, why in sorted(known.problems.items()):
        report.add("systems", "bad", f"{name} is left out: {why}")
    if not known.problems:
        report.add("systems", "ok", ", ".join(known.systems))


def _server(report: Report, server: Server) -> None:
    live = server.look("/healthz", as_anybody=True)
    if live.status != 200 or not isinstance(live.body, dict) or "status" not in live.body:
        raise Unavailable(f"no lakewarden server answers at `{server.address}`")
    report.add("server", "ok", f"answers at `{server.address}`")
    for weakness in live.body.get("warnings", ()):
        report.add("server", "ok", f"mind that {weakness}")
    ready = server.look("/readyz", as_anybody=True)
    if ready.status != 200:
        report.add("readiness", "bad", f"it is not ready: {ready.body.get('status', 'not ready')}")
        return
    report.add("readiness", "ok", "has loaded its state, and its store answers")
    about = server.look("/openapi.json", as_anybody=True)
    if about.status != 200:
        raise Unavailable(f"`{server.address}` does not say what its API is")
    release = about.body["info"]["version"]
    other = "" if release == __version__ else f"; this command is of {__version__}"
    report.add("release", "ok", f"{release}{other}")
    report.add("revision", "ok", about.revision)
    _caller(report, server)


def _caller(report: Report, server: Server) -> None:
    found = server.look("/api/v1/whoami")
    if found.status == 200:
        rank = ", who administers it" if found.body["administrator"] else ""
        report.add("caller", "ok", f"takes you for `{found.body['user']}`{rank}")
    elif server.has_credential:
        report.add("caller", "bad", str(found.body.get("detail", found.status)))
    else:
        report.add("caller", "not there", "no credential was given: see --token-file")


def _settings(report: Report, config: Path | None, url: str) -> None:
    from lakewarden.config.settings import load

    settings = load(config, {"database": url})
    for weakness in settings.weakened:
        report.add("settings", "ok", f"mind that {weakness}")
    for remark in settings.without_effect:
        report.add("settings", "ok", remark)
    report.add(
        "settings", "ok", f"authentication `{settings.auth}`, administrator `{settings.admin}`"
    )


def _database(report: Report, url: str) -> None:
    from lakewarden.app.keys import keys_of
    from lakewarden.service.audit_seal import Seals
    from lakewarden.service.decision_service import DecisionService
    from lakewarden.store import open_store

    file = url.removeprefix("sqlite:///")
    if file != url and not Path(file).exists():
        raise Unavailable(f"there is no database `{file}`; `lakewarden init` makes it")
    with open_store(url, upgrade=False) as store:
        report.add("database", "ok", "answers, and has the schema of this release")
        service = DecisionService(store)
        checks: dict[str, Callable[[Report, DecisionService], None]] = {
            "realms": _realms,
            "audit trail": partial(_audit, Seals(keys_of(url))),
            "change feed": _feed,
            "documents": partial(_documents, store),
        }
        for name, check in checks.items():
            with report.checking(name):
                check(report, service)


def _realms(report: Report, service: DecisionService) -> None:
    from lakewarden.service import control
    from lakewarden.service.realm import CONTROL

    service.open()
    state = service.state
    if CONTROL not in state.realms:
        report.add("realms", "bad", "there are none; `lakewarden init` makes them")
        return
    for name, realm in sorted(state.realms.items()):
        entities = len(realm.matrix.snapshot.coded.tree.stored)
        report.add("realms", "ok", f"{name}: {realm.system.model.title}, {entities:,} entities")
        for weakness in realm.system.model.weakened:
            report.add("realms", "ok", f"mind that in {name} {weakness}")
    for name, closed in sorted(state.closed.items()):
        report.add("realms", "bad", f"{name} is closed: {closed.reason}")
    if not control.administrators(state, service.clock()):
        report.add("realms", "bad", "nobody administers lakewarden; `lakewarden init` names one")


def _audit(seals: Seals, report: Report, service: DecisionService) -> None:
    from lakewarden.service.audit_check import examine

    with service.reading() as reading:
        found = examine(reading.audit(), reading.audit_head(), seals)
    if found.fault is None:
        report.add("audit trail", "ok", f"whole: {found.rows:,} rows")
    else:
        report.add("audit trail", "bad", f"row {found.fault.seq} {found.fault.what}")


def _feed(report: Report, service: DecisionService) -> None:
    from lakewarden.service.ports import FeedGone
    from lakewarden.service.replay import compare

    try:
        with service.reading() as reading:
            found, revision = compare(reading), reading.revision
    except FeedGone:
        report.add("change feed", "ok", "no longer reaches back to the beginning; not compared")
        return
    for scope, rows in found:
        told = ", ".join(f"{count:,} of {table}" for table, count in rows.items())
        report.add("change feed", "bad", f"{scope}: rows that feed and tables do not share: {told}")
    if not found:
        report.add("change feed", "ok", f"adds up to what is stored, at revision {revision}")


def _documents(store: SqlStore, report: Report, service: DecisionService) -> None:
    with store.reading() as reading:
        for name in sorted(service.state.realms):
            kept = reading.document_totals(name)
            said = f"{kept.documents:,} documents and values in time, {kept.bytes:,} bytes"
            report.add("documents", "ok", f"{name}: {said}")


def _spark(report: Report) -> None:
    if find_spec("pyspark") is None:
        report.add("spark", "not there", "`lakewarden pipeline` needs `lakewarden[spark]`")
        return
    from lakewarden.pipeline.java import ensure_java

    java = ensure_java()
    if java is None:
        report.add("spark", "not there", "`lakewarden pipeline` needs Java 17 or later")
    else:
        report.add("spark", "ok", "PySpark and a Java for it are there")
