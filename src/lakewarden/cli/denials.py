"""`lakewarden denials`: what engines denied a principal, and a denial explained by its id."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from cyclopts import Parameter
from msgspec import to_builtins

from lakewarden.cli.admin_target import NOWHERE, At, RealmName, done, opened, operator
from lakewarden.cli.moment import shown
from lakewarden.cli.outcome import YES, note, show_json, show_table
from lakewarden.cli.question import As

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakewarden.service.actor import Actor
    from lakewarden.service.decision_service import DecisionService
    from lakewarden.service.system import System

Whom = Annotated[
    str | None,
    Parameter(help="A user's name, or `kind:name`; default: yourself, on a server."),
]


def denials(
    principal: Whom = None,
    /,
    *,
    realm: RealmName,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Lists the latest denials that engines showed PRINCIPAL, each with its id.

    Trino shows no id, so that its users look here for it. `lakewarden explain --decision ID` says
    why a decision was a denial, and what would change it.

    For example:

        lakewarden denials ana --realm lake --database sqlite:///estate.db
    """
    remote = at.remote()
    if remote is None:
        rows = _of_database(at, realm, principal)
    else:
        path = f"/realms/{quote(realm, safe='')}/denials"
        named = "" if principal is None else f"?principal={quote(principal, safe='')}"
        rows = remote.ask("GET", path + named)["denials"]
    if format == "json":
        show_json({"denials": rows})
        return YES
    if rows:
        show_table(
            ("decision", "at", "operation", "on"),
            [(row["decision"], row["at"], row["operation"], row["entity"] or "") for row in rows],
        )
    else:
        note("no denials were shown lately")
    return YES


@contextmanager
def operated(at: At) -> Iterator[tuple[DecisionService, Actor]]:
    """The service of a database, and the actor."""
    with opened(at.database) as service:
        service.catch_up()
        yield service, operator(service)


def _of_database(at: At, realm: str, principal: str | None) -> list[dict[str, Any]]:
    from lakewarden.service import decisions

    with operated(at) as (service, actor), service.reading() as reading:
        state, now = service.state, service.clock()
        found = done(decisions.latest(reading, state, actor, realm, principal, now))
    return [as_json(one) for one in found]


def answer_of(at: At, realm: str, id: str) -> tuple[Any, System]:
    """A denial and its explanation in the format of the API, and the realm's system."""
    remote = at.remote()
    if remote is not None:
        from lakewarden.cli.remote import RemoteRealm

        asked = RemoteRealm(remote, realm)
        return remote.ask("GET", f"{asked.path}/decisions/{quote(id, safe='')}"), asked.system
    from lakewarden.http.admin.decisions import decision_response
    from lakewarden.service import decisions

    with operated(at) as (service, actor), service.reading() as reading:
        state, now = service.state, service.clock()
        denial, question = done(decisions.find(reading, state, actor, realm, id, now))
        answer = to_builtins(decision_response(state, actor, denial, question))
        return answer, question.realm.system


def as_json(denial: Any) -> dict[str, Any]:
    """A denial in the format of the API."""
    decision = denial.decision
    return {
        "decision": decision.id,
        "at": shown(denial.time),
        "revision": denial.revision,
        "principal": decision.principal,
        "operation": decision.operation,
        "entity": decision.entity or None,
        "reason": denial.said,
        "wire": denial.wire,
    }
