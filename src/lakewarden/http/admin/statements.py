"""The statements of a realm; in the realm `_server`, rights over lakewarden."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import structs

from lakewarden.http.admin.bodies import StatementGiven, StatementRow, Statements, StatementSent
from lakewarden.http.admin.endpoint import (
    PAGED,
    Answered,
    Endpoint,
    Parameter,
    cut_of,
    moment_or_none,
)
from lakewarden.http.admin.sentences import words_given
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import write_statement
from lakewarden.service import statements
from lakewarden.service.control import Denied
from lakewarden.service.sentence import Sentences

_TO = Parameter("to", "only statements that name this principal, `kind:name`")
_PRIVILEGE = Parameter("privilege", "only statements of this privilege")
_Q = Parameter("q", "only statements whose title or id holds this text, in any case")
_MARK = Parameter("mark", "who keeps the statement, where somebody does")


def listed(exchange: Exchange) -> Answered:
    """The statements of a realm, by id."""
    name = exchange.params["realm"]
    found = statements.listed(exchange.state, exchange.actor, name, exchange.now)
    if isinstance(found, Denied):
        return found
    to, privilege = exchange.one("to"), exchange.one("privilege")
    wanted = exchange.one("q").casefold()
    system = exchange.state.realm(name).system
    person = system.principal(to) if to else None
    word = system.model.privilege(privilege).name if privilege else None
    chosen = [
        one
        for one in found
        if (person is None or person in one.principals)
        and wanted in f"{one.title} {one.id}".casefold()
        and (word is None or word in {system.model.privilege(p).name for p in one.privileges})
    ]
    shown, page = cut_of(exchange, chosen, lambda one: one.id, to, privilege, wanted)
    rows = [_row(exchange, one) for one in shown]
    return Statements(statements=rows, total=len(chosen), page=page)


def load(exchange: Exchange) -> Answered:
    """One statement."""
    name, id = exchange.params["realm"], exchange.params["id"]
    found = statements.listed(exchange.state, exchange.actor, name, exchange.now)
    if isinstance(found, Denied):
        return found
    for one in found:
        if one.id == id:
            return _row(exchange, one)
    raise Unknown("statement", id)


def put(exchange: Exchange, body: StatementSent) -> Answered:
    """Stores a statement; it takes the place of the one with its id."""
    name, id = exchange.params["realm"], exchange.params["id"]
    table = {"id": id, **_table(body)}
    made = exchange.write(lambda transaction: statements.put(transaction, name, table, body.mark))
    return made if isinstance(made, Denied) else given(made)


def _table(body: StatementSent) -> dict[str, Any]:
    """The statement as a statement file writes it."""
    table: dict[str, Any] = msgspec.to_builtins(body, builtin_types=(type(body.valid_from),))
    table.pop("mark", None)
    for key in ("valid_from", "valid_until"):
        if table.get(key) is not None:
            table[key] = getattr(body, key).timestamp()
    return {key: value for key, value in table.items() if value is not None}


def remove(exchange: Exchange) -> Answered:
    """Takes a statement away."""
    name, id, mark = exchange.params["realm"], exchange.params["id"], exchange.one("mark")
    return exchange.write(lambda transaction: statements.remove(transaction, name, id, mark))


def _row(exchange: Exchange, statement: Statement) -> StatementRow:
    sentences = Sentences(exchange.state.realm(exchange.params["realm"]))
    words = words_given(sentences.statement(statement))
    return StatementRow(**structs.asdict(given(statement)), words=words)


def given(statement: Statement) -> StatementGiven:
    """The statement as the API shows it."""
    table = write_statement(statement)
    for key in ("valid_from", "valid_until"):
        if key in table:
            table[key] = moment_or_none(getattr(statement, key))
    return msgspec.convert(table, StatementGiven)


_STATEMENT = "/realms/{realm}/statements/{id}"

ENDPOINTS = (
    Endpoint(
        "GET",
        "/realms/{realm}/statements",
        "statement.list",
        listed,
        "list statements",
        gives=Statements,
        query=(_TO, _PRIVILEGE, _Q, *PAGED),
    ),
    Endpoint(
        "GET",
        _STATEMENT,
        "statement.list",
        load,
        "look at a statement",
        gives=StatementRow,
        encoded_slash=True,
    ),
    Endpoint(
        "PUT",
        _STATEMENT,
        "statement.put",
        put,
        "store a statement",
        takes=StatementSent,
        gives=StatementGiven,
        encoded_slash=True,
    ),
    Endpoint(
        "DELETE",
        _STATEMENT,
        "statement.remove",
        remove,
        "take a statement away",
        query=(_MARK,),
        encoded_slash=True,
    ),
)
