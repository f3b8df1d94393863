"""The statements of a realm; in the realm `_server`, rights over lakewarden."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import inf
from typing import Any

import msgspec
from msgspec import structs

from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.http.admin.bodies.statement import (
    DocumentResponse,
    LastChange,
    ObligationRequest,
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
    values_of,
)
from lakewarden.http.admin.field_types import ENTITY
from lakewarden.http.admin.sentences import sentence_parts
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.kernel.statement_file import write_statement
from lakewarden.names.identities import entity_text
from lakewarden.registry import registry
from lakewarden.service import history, statement_reach, statements
from lakewarden.service.control import Denied
from lakewarden.service.policy import IMMUTABLE_BECAUSE
from lakewarden.service.sentence import Sentences
from lakewarden.service.state import RealmState
from lakewarden.service.statement_document import (
    StatementDocuments,
    described_ids,
    statement_document,
)
from lakewarden.service.statement_reach import ApplicableStatement, StatementReach
from lakewarden.service.system import System

_TO = Parameter("to", "only statements that name this principal, `kind:name`")
_PRIVILEGE = Parameter("privilege", "only statements of this privilege")
_Q = Parameter(
    "q", "only statements whose title, id or description contains this text, case-insensitive"
)
EFFECTS = tuple(effect.value for effect in Effect)
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
    Parameter("effect", "only statements of this effect", choices=EFFECTS),
    Parameter("active", "only active statements, or inactive ones", choices=("true", "false")),
    Parameter("editable", "only editable statements, or immutable ones", choices=("true", "false")),
    Parameter("ends_before", "only statements that expire before this time (RFC 3339)"),
    Parameter("mark", "only statements with this mark; empty: without a mark"),
    Parameter("reaching", "only statements in effect that apply to this entity", pattern=ENTITY),
)
_SORT = Parameter("sort", "the order of the rows", choices=("id", "-id", "title", "-title"))
_SORTED = 200
"""The number of characters of a title in the sort key, which page tokens contain."""
_FIELDS = frozenset({"reach", "changed"})
_MORE = some_of("fields", "additional members of each row", _FIELDS)
_MARK = Parameter("mark", "the mark of the statement, if it has one")


def listed(exchange: Exchange) -> HandlerResult:
    """The statements of a realm, by id or by title."""
    name = exchange.params["realm"]
    near: dict[str, ApplicableStatement] = {}
    if exchange.one("reaching"):
        bearing = _reaching(exchange, name)
        if isinstance(bearing, Denied):
            return bearing
        near = {applicable.statement.id: applicable for applicable in bearing}
        stored = [applicable.statement for applicable in bearing]
    else:
        listed = statements.listed(exchange.state, exchange.actor, name, exchange.now)
        if isinstance(listed, Denied):
            return listed
        stored = listed
    filters = {parameter.name: exchange.one(parameter.name) for parameter in _FILTERS}
    chosen = _chosen(exchange, name, stored, filters, near)
    by = exchange.one("sort")
    key, descends = _title_key if by.endswith("title") else _id_key, by.startswith("-")
    chosen.sort(key=key, reverse=descends)
    on_page, page = cut_of(exchange, chosen, key, by, *filters.values(), descends=descends)
    return Statements(statements=_rows(exchange, on_page, near), total=len(chosen), page=page)


def _title_key(statement: Statement) -> str:
    """The sort key by the beginning of the title, then by id."""
    return f"{(statement.title or statement.id).casefold()[:_SORTED]}\0{statement.id}"


def _id_key(statement: Statement) -> str:
    return statement.id


def _reaching(exchange: Exchange, realm: str) -> list[ApplicableStatement] | Denied:
    text, now = exchange.one("reaching"), exchange.now
    return statement_reach.reaching(exchange.state, exchange.actor, realm, text, now)


def _is_whole(near: Mapping[str, ApplicableStatement]) -> bool:
    """Whether the caller sees statements in full, not only its own part of them."""
    return not any(applicable.is_own for applicable in near.values())


def _chosen(
    exchange: Exchange,
    realm: str,
    stored: Sequence[Statement],
    filters: Mapping[str, str],
    near: Mapping[str, ApplicableStatement],
) -> list[Statement]:
    """The statements that match the filters of the query."""
    state = exchange.state.realm(realm)
    system = state.system
    keeps: list[Callable[[Statement], bool]] = []
    if filters["to"]:
        person = system.principal(filters["to"])
        keeps.append(lambda statement: person in statement.principals)
    if filters["privilege"]:
        privilege = system.model.privilege(filters["privilege"]).name
        keeps.append(
            lambda statement: (
                privilege in {system.model.privilege(p).name for p in statement.privileges}
            )
        )
    if filters["q"]:
        matching = _containing(exchange, state, stored, filters["q"], is_whole=_is_whole(near))
        keeps.append(lambda statement: statement.id in matching)
    if filters["id_prefix"]:
        keeps.append(lambda statement: statement.id.startswith(filters["id_prefix"]))
    if filters["scope"]:
        keeps.append(
            lambda statement: (
                _is_about_entities(statement, system) is (filters["scope"] == "entities")
            )
        )
    if filters["on"]:
        entity = system.entity(filters["on"])
        keeps.append(
            lambda statement: isinstance(statement.scope, On) and statement.scope.entity == entity
        )
    if filters["effect"]:
        keeps.append(lambda statement: statement.effect.value == filters["effect"])
    if filters["active"]:
        keeps.append(lambda statement: statement.active is (filters["active"] == "true"))
    if filters["editable"]:
        unchangeable = system.model.immutable_ids
        keeps.append(
            lambda statement: (statement.id not in unchangeable) is (filters["editable"] == "true")
        )
    if filters["ends_before"]:
        end = seconds(exchange, "ends_before", inf)
        keeps.append(
            lambda statement: statement.valid_until is not None and statement.valid_until < end
        )
    if "mark" in exchange.query:
        ids = [statement.id for statement in stored] if _is_whole(near) else []
        marks = _marks(exchange, realm, ids)
        keeps.append(lambda statement: marks.get(statement.id, "") == filters["mark"])
    return [statement for statement in stored if all(keep(statement) for keep in keeps)]


def _containing(
    exchange: Exchange,
    realm_state: RealmState,
    stored: Sequence[Statement],
    text: str,
    *,
    is_whole: bool,
) -> frozenset[str]:
    """The ids of statements whose title, id or description contains the text.

    Descriptions are for those who see statements in full (`is_whole`).
    """
    fragment = text.casefold()
    named = frozenset(
        statement.id
        for statement in stored
        if fragment in f"{statement.title} {statement.id}".casefold()
    )
    documents = _documents(realm_state) if is_whole else None
    if documents is None:
        return named
    others = [statement.id for statement in stored if statement.id not in named]
    with exchange.service.reading() as reading:
        return named | described_ids(reading, realm_state, others, text, documents)


def _is_about_entities(statement: Statement, system: System) -> bool:
    return statement.obliges or any(
        system.model.privilege(name).on for name in statement.privileges
    )


def _marks(exchange: Exchange, realm: str, ids: Sequence[str]) -> dict[str, str]:
    with exchange.service.reading() as reading:
        documents = reading.documents(realm, ids)
    return {str(id): str(body.get(statements.MARK, "")) for id, body in documents.items()}


def load(exchange: Exchange) -> HandlerResult:
    """One statement."""
    name, id = exchange.params["realm"], exchange.params["id"]
    stored = statements.listed(exchange.state, exchange.actor, name, exchange.now)
    if isinstance(stored, Denied):
        return stored
    for statement in stored:
        if statement.id == id:
            return _rows(exchange, [statement], {})[0]
    raise Unknown("statement", id)


def put(exchange: Exchange, body: StatementRequest) -> HandlerResult:
    """Stores a statement; replaces the one with its id."""
    return _put(exchange, statement_table(body), body.mark)


def _put(exchange: Exchange, table: Mapping[str, Any], mark: str) -> HandlerResult:
    name, id = exchange.params["realm"], exchange.params["id"]
    statement = exchange.write(
        lambda transaction: statements.put(transaction, name, {**table, "id": id}, mark)
    )
    return statement if isinstance(statement, Denied) else statement_response(statement)


def statement_table(body: StatementRequest | ObligationRequest) -> dict[str, Any]:
    """The statement in the format of a statement file."""
    table: dict[str, Any] = msgspec.to_builtins(body, builtin_types=(type(body.valid_from),))
    table.pop("mark", None)
    table.pop("id", None)
    for key in ("valid_from", "valid_until"):
        if table.get(key) is not None:
            table[key] = getattr(body, key).timestamp()
    return {key: value for key, value in table.items() if value is not None}


def put_filter(exchange: Exchange, body: ObligationRequest) -> HandlerResult:
    """Stores a row filter; replaces the one with its id."""
    return _put(exchange, {**statement_table(body), "effect": Effect.FILTER.value}, body.mark)


def put_mask(exchange: Exchange, body: ObligationRequest) -> HandlerResult:
    """Stores a column mask; replaces the one with its id."""
    return _put(exchange, {**statement_table(body), "effect": Effect.MASK.value}, body.mark)


def remove(exchange: Exchange) -> HandlerResult:
    """Removes a statement."""
    name, id, mark = exchange.params["realm"], exchange.params["id"], exchange.one("mark")
    return exchange.write(lambda transaction: statements.remove(transaction, name, id, mark))


def _rows(
    exchange: Exchange, on_page: Sequence[Statement], near: Mapping[str, ApplicableStatement]
) -> list[StatementRow]:
    """The response rows of statements."""
    realm = exchange.params["realm"]
    realm_state = exchange.state.realm(realm)
    fields = values_of(exchange, "fields", _FIELDS)
    sentences, unchangeable = Sentences(realm_state), realm_state.system.model.immutable_ids
    if not _is_whole(near):
        fields = frozenset()
    marks = (
        _marks(exchange, realm, [statement.id for statement in on_page]) if _is_whole(near) else {}
    )
    reach = None
    if "reach" in fields:
        reach = StatementReach(LintContext(realm_state.matrix.snapshot))
    changed = _changed(exchange, realm, on_page) if "changed" in fields else {}
    rows: list[StatementRow] = []
    for statement in on_page:
        row = StatementRow(
            **structs.asdict(statement_response(statement)),
            words=sentence_parts(sentences.statement(statement)),
            mark=marks.get(statement.id, ""),
            editable=statement.id not in unchangeable,
            immutable_because=IMMUTABLE_BECAUSE if statement.id in unchangeable else "",
            reach=None if reach is None else StatementReachResponse(**asdict(reach.of(statement))),
            changed=changed.get(statement.id),
        )
        bearing = near.get(statement.id)
        if bearing is not None:
            row.source = None if bearing.source is None else entity_text(bearing.source)
            row.direct, row.beaten_by = bearing.is_direct, list(bearing.beaten_by)
        rows.append(row)
    return rows


def _changed(exchange: Exchange, realm: str, on_page: Sequence[Statement]) -> dict[str, LastChange]:
    with exchange.service.reading() as reading:
        last = history.last_changes(reading, realm, [statement.id for statement in on_page])
    return {
        id: LastChange(at=moment(change.at), by=change.by, revision=change.revision)
        for id, change in last.items()
    }


def statement_response(statement: Statement) -> StatementResponse:
    """The response body of a statement."""
    table = {"privileges": [], **write_statement(statement)}
    for key in ("valid_from", "valid_until"):
        if key in table:
            table[key] = moment_or_none(getattr(statement, key))
    return msgspec.convert(table, StatementResponse)


def document(exchange: Exchange) -> HandlerResult:
    """The document of a statement in its own system."""
    realm, id = exchange.params["realm"], exchange.params["id"]
    realm_state = exchange.state.realms.get(realm)
    documents = None if realm_state is None else _documents(realm_state)
    with exchange.service.reading() as reading:
        content = statement_document(
            reading, exchange.state, exchange.actor, realm, id, exchange.now, documents
        )
    if isinstance(content, Denied):
        return content
    return DocumentResponse(id=id, value=dict(content.value), version=content.version)


def _documents(realm_state: RealmState) -> StatementDocuments | None:
    """How the realm's system writes statements; None if it has no form of its own."""
    system = registry().shipper_of(realm_state.realm.model)
    return system.load(system.documents) if system is not None and system.documents else None


_STATEMENT = "/realms/{realm}/statements/{id}"

_STATES = (("filter", put_filter, "a row filter"), ("mask", put_mask, "a column mask"))

ENDPOINTS = (
    *(
        Endpoint(
            "PUT",
            f"/realms/{{realm}}/{kind}s/{{id}}",
            "statement.put",
            handler,
            f"store {what}",
            request=ObligationRequest,
            response=StatementResponse,
            encoded_slash=True,
        )
        for kind, handler, what in _STATES
    ),
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
        "GET",
        _STATEMENT + "/document",
        "statement.list",
        document,
        "read a statement as its own system writes it",
        response=DocumentResponse,
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
