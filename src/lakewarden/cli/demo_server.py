"""The sample estate behind a server: loaded into a store, with calls to try."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Final, NamedTuple

from lakewarden.cli.admin_target import done, opened, operator
from lakewarden.cli.link import read_links
from lakewarden.cli.load import quarantine_of
from lakewarden.cli.outcome import note, show
from lakewarden.sample import LINKS, parts
from lakewarden.sample.part import EnginePart, SamplePart
from lakewarden.service.control import Denied
from lakewarden.service.realm import CONTROL

if TYPE_CHECKING:
    from lakewarden.config.settings import Settings
    from lakewarden.service.decision_service import DecisionService
    from lakewarden.service.write_transaction import WriteTransaction

DATABASE: Final = "lakewarden.db"
PEOPLE: Final = ("ana", "admin")
"""The users who get a token: a controller of the sample company, and the server's administrator."""

ENGINE: Final = "trino"
"""The account of an engine that asks about its users."""

MARK: Final = "demo"
"""The keeper of the filters and masks; the exports contain none."""


def _settings(parts: Mapping[str, SamplePart]) -> dict[str, object]:
    """The settings of the demo's server, by system."""
    sections: dict[str, dict[str, object]] = {
        name: dict(part.server_settings) for name, part in parts.items()
    }
    for name, part in parts.items():
        for engine, names in (part.engines.names if part.engines else {}).items():
            sections.setdefault(engine, {})[name] = dict(names)
    return dict(sections)


def database(folder: Path) -> str:
    """The store of the demo in a folder."""
    return f"sqlite:///{folder / DATABASE}"


def load_store(folder: Path, parts: Mapping[str, SamplePart]) -> dict[str, str]:
    """Loads the ingested directories and the links into the store; returns new tokens of `PEOPLE`.

    The tokens are by name. Each realm becomes one revision; an unchanged realm makes none.
    """
    from lakewarden.app.first_start import first_start
    from lakewarden.config.settings import load as configured
    from lakewarden.pipeline.directory import load as read
    from lakewarden.service.load import load_rows as load

    with opened(database(folder), makes=True) as service:
        first_start(service, configured(None, {"database": database(folder), **_settings(parts)}))
        show("", f"The same in a store: {folder / DATABASE}")
        for name in parts:
            loaded = read(folder / name)
            outcome = done(
                load(
                    service,
                    operator(service),
                    name,
                    loaded.system,
                    loaded.facts,
                    prune=True,
                    quarantine=quarantine_of(folder / name, loaded.manifest),
                )
            )
            rows = sum(count.new + count.changed for count in outcome.gap.counts.values())
            summary = f"{rows:,} rows, revision {outcome.revision}" if rows else "as it was"
            show(f"    {name}: {summary}")
            limited = parts[name].engines
            if limited is not None:
                _limit(service, name, limited)
        _load_links(service)
        return {person: _token(service, person) for person in PEOPLE}


def _limit(service: DecisionService, realm: str, part: EnginePart) -> None:
    """Lets engines query the realm, with filters and masks that later loads keep."""
    from lakewarden.service import realms, statements

    asks = {"id": "demo-engine", "privileges": ["ASK"], "to": [f"user:{ENGINE}"]}

    def write(transaction: WriteTransaction) -> Denied | None:
        stored = transaction.realm(realm).realm
        if not part.settings.items() <= stored.settings.items():
            realms.alter(transaction, realm, settings={**stored.settings, **part.settings})
        for limit in part.limits:
            statements.put(transaction, realm, limit, MARK)
        put = statements.put(transaction, CONTROL, {**asks, "on": f"realm:{realm}"}, MARK)
        return put if isinstance(put, Denied) else None

    refused = service.write(operator(service), write)
    if refused is not None:
        done(refused)


def _load_links(service: DecisionService) -> None:
    from lakewarden.service import links

    linked = read_links(LINKS)
    pairs, keeper = [(first, other) for first, other, _ in linked], linked[0][2]
    gap = done(
        service.write(
            operator(service),
            lambda transaction: links.load_links(transaction, pairs, keeper, prune=True),
        )
    )
    show(f"    links: {f'{gap.new:,} new' if gap.new else 'as they were'}")


def _token(service: DecisionService, person: str) -> str:
    from lakewarden.service import token

    created = service.write(
        operator(service),
        lambda transaction: token.create(
            transaction, person, terms=token.Terms(title="demo of the sample estate")
        ),
    )
    return done(created).text


def token_of(folder: Path, user: str, *, engine: bool = False) -> str:
    """A new token; for an engine, valid only for its questions."""
    from lakewarden.service import token

    terms = token.Terms(title="demo of engines", engine=engine)
    with opened(database(folder)) as service:
        created = service.write(
            operator(service), lambda transaction: token.create(transaction, user, terms=terms)
        )
        return done(created).text


class Listening(NamedTuple):
    """The settings of a server to start, and its socket, which is already bound to the port."""

    settings: Settings
    sock: socket


def listen(folder: Path, host: str, port: int) -> Listening:
    """Binds the address of the server, so an address in use is reported immediately.

    Raises `BadInput` for an invalid address, `Unavailable` for one in use.
    """
    from lakewarden.app import server
    from lakewarden.config.settings import load

    options = {"database": database(folder), "host": host, "port": port, "auth": "simple"}
    settings = load(None, {**options, "log_level": "warning", **_settings(parts())})
    sock = server.bind(settings.host, settings.port)
    return Listening(settings.model_copy(update={"port": sock.getsockname()[1]}), sock)


def serve(listening: Listening, tokens: Mapping[str, str]) -> None:
    """Serves the store until it is stopped; first prints the addresses and calls to try."""
    from lakewarden.app import server
    from lakewarden.app.address import address_of
    from lakewarden.app.preflight import preflight
    from lakewarden.ui.built import is_built

    settings, sock = listening
    settings, remarks = preflight(settings)
    for remark in (*settings.weakened, *remarks):
        note(remark)

    def listens() -> None:
        show(*calls(address_of(settings), tokens, has_pages=is_built()))
        sys.stdout.flush()

    server.run(settings, sock, listens)


def calls(base: str, tokens: Mapping[str, str], *, has_pages: bool) -> list[str]:
    """The addresses of the pages and the server, the tokens, and one call for each system."""
    as_ana = "-H 'Authorization: Bearer '$ANA"
    post = f"curl -s {as_ana} -H 'Content-Type: application/json' {base}/access/v1/evaluation -d"
    return [
        "",
        *(
            [f"The pages: {base}/ui/", f"  sign in as {' or '.join(PEOPLE)}", ""]
            if has_pages
            else []
        ),
        f"lakewarden listens on {base}",
        f"  {base}/openapi.json  {base}/.well-known/authzen-configuration  {base}/metrics",
        "Tokens, good for a day:",
        *(f"  {name.upper()}={text}" for name, text in tokens.items()),
        *(
            line
            for part in parts().values()
            for remark, call in part.calls
            for line in (
                remark,
                f"  curl -s {as_ana} {base}{call}"
                if call.startswith("/")
                else f"  {post} '{call}'",
            )
        ),
        "Ctrl-C stops the server.",
    ]
