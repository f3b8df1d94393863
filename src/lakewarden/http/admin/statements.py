"""The statements of a realm; in the realm `_server`, rights over lakewarden."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import inf
from typing import Any

import msgspec
from msgspec import structs

from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.http.admin.bodies import (
    LastChange,
    StatementReachResponse,
    StatementRequest,
    StatementResponse,
    StatementRow,
    Statements,
)
from lakewarden.http.admin.endpoint import (
    PAGED,
    Endpoint,
    HandlerResult,
    Parameter,
    cut_of,
    moment,
    moment_or_none,
    seconds,
    some_of,
    words_of,
)
from lakewarden.http.admin.field_types import ENTITY
from lakewarden.http.admin.problem import written
from lakewarden.http.admin.sentences import sentence_parts
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.statement import On, Statement
from lakewarden.kernel.statement_file import write_statement
from lakewarden.service import history, statement_reach, statements
from lakewarden.service.control import Denied
from lakewarden.service.policy import IMMUTABLE_BECAUSE, immutable_ids
from lakewarden.service.sentence import Sentences
from lakewarden.service.statement_reach import ApplicableStatement, StatementReach
from lakewarden.service.system import System

_TO = Parameter("to", "only statements that name this principal, `kind:name`")
_PRIVILEGE = Parameter("privilege", "only statements of this privilege")
_Q = Parameter("q", "only statements whose title or id contains this text, case-insensitive")
_FILTERS = (
    _TO,
    _PRIVILEGE,
    _Q,
    Parameter("id_prefix", "only statements whose id begins with this text"),
    Parameter(
        "scope",
        "only statements about entities, or about the system as a whole",
        choices=("entities", "system"),
    ),
    Parameter("on", "only statements on exactly this entity", pattern=ENTITY),
    Parameter("effect", "only ALLOWs, or only DENYs", choices=("allow", "deny")),
    Parameter("active", "only active statements, or inactive ones", choices=("true", "false")),
    Parameter("editable", "only editable statements, or immutable ones", choices=("true", "false")),
    Parameter("ends_before", "only statements that expire before this time (RFC 3339)"),
    Parameter("mark", "only statements with this mark; empty: without a mark"),
    Parameter("reaching", "only statements in effect that apply to this entity", pattern=ENTITY),
)
_SORT = Parameter("sort", "the order of the rows", choices=("id", "-id", "title", "-title"))
_FIELDS = frozenset({"reach", "changed"})
_MORE = some_of("fields", "additional members of each row", _FIELDS)
_MARK = Parameter("mark", "the mark of the statement, if it has one")


def listed(exchange: Exchange) -> HandlerResult:
    """The statements of a realm: by id, or by title."""
    name = exchange.params["realm"]
    near: dict[str, ApplicableStatement] = {}
    if exchange.one("reaching"):
        bearing = _reaching(exchange, name)
        if isinstance(bearing, Denied):
            return bearing
        near = {one.statement.id: one for one in bearing}
        found = [one.statement for one in bearing]
    else:
        listed = statements.listed(exchange.state, exchange.actor, name, exchange.now)
        if isinstance(listed, Denied):
            return listed
        found = listed
    asked = {one.name: exchange.one(one.name) for one in _FILTERS}
    chosen = _chosen(exchange, name, found, asked, near)
    by = exchange.one("sort")
    if by.endswith("title"):
        chosen.sort(key=_by_title)
    if by.startswith("-"):
        chosen.reverse()
    places = {one.id: f"{place:09d}" for place, one in enumerate(chosen)}
    shown, page = cut_of(exchange, chosen, lambda one: places[one.id], by, *asked.values())
    return Statements(statements=_rows(exchange, shown, near), total=len(chosen), page=page)


def _by_title(one: Statement) -> tuple[str, str]:
    return (one.title or one.id).casefold(), one.id


def _reaching(exchange: Exchange, realm: str) -> list[ApplicableStatement] | Denied:
    text, now = exchange.one("reaching"), exchange.now
    return statement_reach.reaching(exchange.state, exchange.actor, realm, text, now)


def _is_whole(near: Mapping[str, ApplicableStatement]) -> bool:
    """Whether the caller is told everything about statements, and not its own part alone."""
    return not any(one.is_own for one in near.values())


def _chosen(
    exchange: Exchange,
    realm: str,
    found: Sequence[Statement],
    asked: Mapping[str, str],
    near: Mapping[str, ApplicableStatement],
) -> list[Statement]:
    """Those of the statements that the query's filters keep."""
    state = exchange.state.realm(realm)
    system = state.system
    keeps: list[Callable[[Statement], bool]] = []
    if asked["to"]:
        person = system.principal(asked["to"])
        keeps.append(lambda one: person in one.principals)
    if asked["privilege"]:
        word = system.model.privilege(asked["privilege"]).name
        keeps.append(lambda one: word in {system.model.privilege(p).name for p in one.privileges})
    if asked["q"]:
        wanted = asked["q"].casefold()
        keeps.append(lambda one: wanted in f"{one.title} {one.id}".casefold())
    if asked["id_prefix"]:
        keeps.append(lambda one: one.id.startswith(asked["id_prefix"]))
    if asked["scope"]:
        keeps.append(lambda one: _is_about_entities(one, system) is (asked["scope"] == "entities"))
    if asked["on"]:
        entity = system.entity(asked["on"])
        keeps.append(lambda one: isinstance(one.scope, On) and one.scope.entity == entity)
    if asked["effect"]:
        keeps.append(lambda one: one.effect.value == asked["effect"])
    if asked["active"]:
        keeps.append(lambda one: one.active is (asked["active"] == "true"))
    if asked["editable"]:
        unchangeable = immutable_ids(system)
        keeps.append(lambda one: (one.id not in unchangeable) is (asked["editable"] == "true"))
    if asked["ends_before"]:
        end = seconds(exchange, "ends_before", inf)
        keeps.append(lambda one: one.valid_until is not None and one.valid_until < end)
    if "mark" in exchange.query:
        ids = [one.id for one in found] if _is_whole(near) else []
        marks = _marks(exchange, realm, ids)
        keeps.append(lambda one: marks.get(one.id, "") == asked["mark"])
    return [one for one in found if all(keep(one) for keep in keeps)]


def _is_about_entities(one: Statement, system: System) -> bool:
    return any(system.model.privilege(name).on for name in one.privileges)


def _marks(exchange: Exchange, realm: str, ids: Sequence[str]) -> dict[str, str]:
    with exchange.service.reading() as reading:
        documents = reading.documents(realm, ids)
    return {str(id): str(body.get(statements.MARK, "")) for id, body in documents.items()}


def load(exchange: Exchange) -> HandlerResult:
    """One statement."""
    name, id = exchange.params["realm"], exchange.params["id"]
    found = statements.listed(exchange.state, exchange.actor, name, exchange.now)
    if isinstance(found, Denied):
        return found
    for one in found:
        if one.id == id:
            return _rows(exchange, [one], {})[0]
    raise Unknown("statement", id)


def put(exchange: Exchange, body: StatementRequest) -> HandlerResult:
    """Stores a statement; it takes the place of the one with its id."""
    name, id = exchange.params["realm"], exchange.params["id"]
    table = {"id": id, **statement_table(body)}
    statement = exchange.write(
        lambda transaction: statements.put(transaction, name, table, body.mark)
    )
    return statement if isinstance(statement, Denied) else statement_response(statement)


def statement_table(body: StatementRequest) -> dict[str, Any]:
    """The statement as a statement file writes it."""
    table: dict[str, Any] = msgspec.to_builtins(body, builtin_types=(type(body.valid_from),))
    table.pop("mark", None)
    table.pop("id", None)
    for key in ("valid_from", "valid_until"):
        if table.get(key) is not None:
            table[key] = getattr(body, key).timestamp()
    return {key: value for key, value in table.items() if value is not None}


def remove(exchange: Exchange) -> HandlerResult:
    """Takes a statement away."""
    name, id, mark = exchange.params["realm"], exchange.params["id"], exchange.one("mark")
    return exchange.write(lambda transaction: statements.remove(transaction, name, id, mark))


def _rows(
    exchange: Exchange, shown: Sequence[Statement], near: Mapping[str, ApplicableStatement]
) -> list[StatementRow]:
    """The statements with all that the API tells the caller of them."""
    realm = exchange.params["realm"]
    realm_state = exchange.state.realm(realm)
    fields = words_of(exchange, "fields", _FIELDS)
    sentences, unchangeable = Sentences(realm_state), immutable_ids(realm_state.system)
    if not _is_whole(near):
        fields = frozenset()
    marks = _marks(exchange, realm, [one.id for one in shown]) if _is_whole(near) else {}
    reach = None
    if "reach" in fields:
        reach = StatementReach(LintContext(realm_state.matrix.snapshot))
    changed = _changed(exchange, realm, shown) if "changed" in fields else {}
    rows: list[StatementRow] = []
    for one in shown:
        row = StatementRow(
            **structs.asdict(statement_response(one)),
            words=sentence_parts(sentences.statement(one)),
            mark=marks.get(one.id, ""),
            editable=one.id not in unchangeable,
            immutable_because=IMMUTABLE_BECAUSE if one.id in unchangeable else "",
            reach=None if reach is None else StatementReachResponse(**asdict(reach.of(one))),
            changed=changed.get(one.id),
        )
        bearing = near.get(one.id)
        if bearing is not None:
            row.source = None if bearing.source is None else written(bearing.source)
            row.direct, row.beaten_by = bearing.is_direct, list(bearing.beaten_by)
        rows.append(row)
    return rows


def _changed(exchange: Exchange, realm: str, shown: Sequence[Statement]) -> dict[str, LastChange]:
    with exchange.service.reading() as reading:
        last = history.last_changes(reading, realm, [one.id for one in shown])
    return {
        id: LastChange(at=moment(one.at), by=one.by, revision=one.revision)
        for id, one in last.items()
    }


def statement_response(statement: Statement) -> StatementResponse:
    """The statement as the API shows it."""
    table = write_statement(statement)
    for key in ("valid_from", "valid_until"):
        if key in table:
            table[key] = moment_or_none(getattr(statement, key))
    return msgspec.convert(table, StatementResponse)


_STATEMENT = "/realms/{realm}/statements/{id}"

ENDPOINTS = (
    Endpoint(
        "GET",
        "/realms/{realm}/statements",
        "statement.list",
        listed,
        "list statements",
        response=Statements,
        query=(*_FILTERS, _SORT, _MORE, *PAGED),
    ),
    Endpoint(
        "GET",
        _STATEMENT,
        "statement.list",
        load,
        "read a statement",
        response=StatementRow,
        query=(_MORE,),
        encoded_slash=True,
    ),
    Endpoint(
        "PUT",
        _STATEMENT,
        "statement.put",
        put,
        "store a statement",
        request=StatementRequest,
        response=StatementResponse,
        encoded_slash=True,
    ),
    Endpoint(
        "DELETE",
        _STATEMENT,
        "statement.remove",
        remove,
        "delete a statement",
        query=(_MARK,),
        encoded_slash=True,
    ),
)
