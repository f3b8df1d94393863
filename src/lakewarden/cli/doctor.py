"""`lakewarden doctor`: is everything installed and configured correctly?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lakewarden import __version__
from lakewarden.cli.admin_target import NOWHERE, At, check_there, url_of
from lakewarden.cli.outcome import COULD_NOT_TELL, NO, YES, show, show_json
from lakewarden.cli.question import As
from lakewarden.kernel.errors import BadInput, Unavailable, WardenError

if TYPE_CHECKING:
    from lakewarden.client.server import Server
    from lakewarden.config.settings import Settings
    from lakewarden.service.doctor import Check, State


@dataclass(slots=True)
class Report:
    """The completed checks, in order."""

    checks: list[Check] = field(default_factory=list)

    def add(self, name: str, state: State, says: str, fix: str = "") -> None:
        """Adds one check."""
        from lakewarden.service.doctor import Check

        self.checks.append(Check(name, state, says, fix))

    @contextmanager
    def checking(self, name: str) -> Iterator[None]:
        """An error inside the block becomes the result of the check."""
        try:
            yield
        except Unavailable as error:
            self.add(name, "unreachable", str(error))
        except WardenError as error:
            self.add(name, "bad", str(error))

    @property
    def code(self) -> int:
        """The exit code: a check that could not run outweighs one that failed."""
        states = {check.state for check in self.checks}
        if "unreachable" in states:
            return COULD_NOT_TELL
        return NO if "bad" in states else YES


def doctor(
    *,
    config: Annotated[
        Path | None, Parameter(help="With a database: TOML file with settings.")
    ] = None,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Checks systems, settings, database, audit trail, change feed and Spark; or a server.

    For a server: whether it answers and is ready, its release and revision, which protections are
    off, as whom it authenticates you and, with READ_SERVER, its own checks. Changes nothing. Exit
    code 1 if something is wrong, 3 if the database or the server is unavailable. A missing
    requirement of only some commands is reported and is not an error.

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
        _local(report, config, url_of(at.database))
    if format == "json":
        show_json([asdict(check) for check in report.checks])
    else:
        _show(report)
    return report.code


def _show(report: Report) -> None:
    width = max(len(check.name) for check in report.checks)
    for check in report.checks:
        fix = f"; {check.fix}" if check.fix and check.state != "ok" else ""
        show(f"{check.state:<11}  {check.name:<{width}}  {check.says}{fix}")


def _server(report: Report, server: Server) -> None:
    live = server.look("/healthz", as_anybody=True)
    if live.status != 200 or not isinstance(live.body, dict) or "status" not in live.body:
        raise Unavailable(f"no lakewarden server answers at `{server.address}`")
    report.add("server", "ok", f"answers at `{server.address}`")
    for weakness in live.body.get("warnings", ()):
        report.add("server", "warning", weakness)
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
    if _caller(report, server):
        _server_checks(report, server)


def _caller(report: Report, server: Server) -> bool:
    """Whether the server authenticates the caller."""
    answer = server.look("/api/v1/whoami")
    if answer.status == 200:
        rank = ", who administers it" if answer.body["administrator"] else ""
        report.add("caller", "ok", f"takes you for `{answer.body['user']}`{rank}")
        return True
    if server.has_credential:
        report.add("caller", "bad", str(answer.body.get("detail", answer.status)))
    else:
        report.add("caller", "absent", "no credential was given", "see --token-file")
    return False


def _server_checks(report: Report, server: Server) -> None:
    """The server's own checks, for callers with that privilege."""
    try:
        answer = server.ask("POST", "/server/doctor")
    except BadInput as error:
        report.add("checks", "absent", f"the server's own checks are not for you: {error}")
        return
    for check in answer["checks"]:
        report.add(check["name"], check["state"], check["says"], check["fix"])


def _local(report: Report, config: Path | None, url: str) -> None:
    settings = None
    with report.checking("settings"):
        settings = _settings(config, url)
    with report.checking("database"):
        _database(report, url, settings)
        _files(report, url)
    _spark(report)


def _settings(config: Path | None, url: str) -> Settings:
    from lakewarden.config.settings import load

    return load(config, {"database": url})


def _database(report: Report, url: str, settings: Settings | None) -> None:
    from lakewarden.app.keys import keys_of
    from lakewarden.service.audit_seal import Seals
    from lakewarden.service.decision_service import DecisionService
    from lakewarden.service.doctor import Subject, examine
    from lakewarden.store import open_store

    check_there(url)
    with open_store(url, upgrade=False) as store:
        report.add("database", "ok", "has a schema that this release can use")
        service = DecisionService(store)
        service.open()
        report.checks += examine(
            Subject(
                service,
                Seals(keys_of(url)),
                () if settings is None else settings.weakened,
                () if settings is None else settings.without_effect,
            )
        )


def _files(report: Report, url: str) -> None:
    """Whether only the owner can read the files of an SQLite database."""
    from lakewarden.app.shared_revision import sqlite_file

    database = sqlite_file(url)
    if database is None:
        return
    for file in (database, database.with_name(f"{database.name}-key")):
        if file.exists() and file.stat().st_mode & 0o077:
            report.add("files", "warning", f"other users can read `{file}`", f"chmod 600 {file}")


def _spark(report: Report) -> None:
    if find_spec("pyspark") is None:
        fix = "`lakewarden pipeline` needs it: pip install 'lakewarden[spark]'"
        report.add("spark", "absent", "PySpark is not installed", fix)
        return
    from lakewarden.pipeline.java import ensure_java

    if ensure_java() is None:
        fix = "`lakewarden pipeline` needs Java 17 or later"
        report.add("spark", "absent", "there is no Java for PySpark", fix)
    else:
        report.add("spark", "ok", "PySpark and a Java for it are there")
