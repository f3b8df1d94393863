"""Statements of a realm: read, stored and removed, each with its keeper's mark.

A statement may have a mark (`git:policies`), set by the keeper who maintains it elsewhere. Only
callers that pass the same mark can change it. In the control realm statements are rights over
lakewarden.
"""

from __future__ import annotations

from collections.abc import Mapping

from lakewarden.expressions.lookup import types_of
from lakewarden.kernel.change import StatementAdded, StatementRemoved
from lakewarden.kernel.errors import BadInput, Conflict, LimitExceeded
from lakewarden.kernel.implied import IMPLIED_ID, is_implied, is_reserved
from lakewarden.kernel.statement import OBLIGING, Statement, check_size
from lakewarden.kernel.statement_file import read_statement
from lakewarden.names.canonical import check_text
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.defaults import default_statements, deletions, with_deletions
from lakewarden.service.effect import DocumentChanged, Effect, RealmChanged
from lakewarden.service.obligation_check import check_in_realm, check_obligation
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import RealmState, State
from lakewarden.service.write_transaction import WriteTransaction

MARK = "mark"
"""The member of a statement's document that names its keeper."""

MAX_ID = 256
_AUDITED = 1_000
"""The most characters of an expression in the audit trail."""

_OBLIGING = frozenset(effect.value for effect in OBLIGING)


def listed(state: State, actor: Actor, realm: str, now: float) -> list[Statement] | Denied:
    """The stored statements of a realm, by id."""
    refused = control.denied_in(state, actor, "statement.list", realm, now)
    if refused is not None:
        return refused
    statements_by_id = stored(state.realm(realm))
    return [statements_by_id[id] for id in sorted(statements_by_id)]


def stored(realm: RealmState) -> Mapping[str, Statement]:
    """The statements of a realm by id, without those implied by its entities."""
    table = realm.matrix.snapshot.table.statements
    return {id: statement for id, statement in table.items() if not is_implied(statement)}


def put(
    transaction: WriteTransaction, realm: str, table: Mapping[str, object], mark: str = ""
) -> Statement | Denied:
    """Stores a statement in the form of a statement file; replaces the one with its id.

    Raises `BadInput` for a malformed statement, and `Conflict` for an id that the system reserves,
    for one that another keeper maintains, and for removing the last administrator's rights.
    """
    id = str(table.get("id", ""))
    refused = control.authorize_in_realm(
        transaction, "statement.put", realm, statement=id, **_recorded_table(table)
    )
    if refused is not None:
        return refused
    realm_state = transaction.realm(realm)
    system = realm_state.system
    statement = read_statement(table, system.model, system.spelling, "body")
    _check(statement)
    _check_default(realm_state, statement.id)
    _check_kind(realm_state, statement)
    lookups = types_of(realm_state.realm.lookups)
    check_in_realm(statement, realm_state, lookups, "body", transaction.store)
    effects = _marked(transaction, realm, statement.id, mark)
    before = control.administrators(transaction.state, transaction.now)
    if stored(realm_state).get(statement.id) != statement:
        effects.insert(0, StatementAdded(statement))
    declared = with_deletions(realm_state.realm, system, put={statement.id})
    if declared != realm_state.realm:
        effects.append(RealmChanged(realm, declared))
    transaction.change(realm, *effects)
    if realm == CONTROL:
        control.require_administrator(transaction, before)
    return statement


def remove(transaction: WriteTransaction, realm: str, id: str, mark: str = "") -> Denied | None:
    """Removes a statement, if it exists.

    A removed default statement does not return. Raises `Conflict` for a statement that the system
    needs, for one that another keeper maintains, and for removing the last administrator's rights.
    """
    details = _recorded(transaction.state, realm, id)
    refused = control.authorize_in_realm(
        transaction, "statement.remove", realm, statement=id, **details
    )
    if refused is not None:
        return refused
    realm_state = transaction.realm(realm)
    if id not in stored(realm_state):
        return None
    _check_default(realm_state, id)
    _check_mark(transaction, realm, id, mark)
    before = control.administrators(transaction.state, transaction.now)
    removal = StatementRemoved(id)
    deleted = deletions(realm_state.realm, realm_state.system, [removal])
    transaction.change(realm, removal, *deleted)
    if realm == CONTROL:
        control.require_administrator(transaction, before)
    return None


def mark_of(transaction: WriteTransaction, realm: str, id: str) -> str:
    """The mark of the statement's keeper; empty if there is none."""
    document = transaction.store.documents(realm, [id]).get(id, {})
    return str(document.get(MARK, ""))


def _recorded_table(table: Mapping[str, object]) -> dict[str, str]:
    """The audit details of a statement besides its id: effect and expression of a filter or mask.

    The table need not be well-formed: refused writes are audited too.
    """
    effect, expression = table.get("effect"), table.get("expression")
    if effect not in _OBLIGING or not isinstance(expression, str):
        return {}
    return {"effect": str(effect), "expression": expression[:_AUDITED]}


def _recorded(state: State, realm: str, id: str) -> dict[str, str]:
    """The same for a stored statement; empty if there is none."""
    realm_state = state.realms.get(realm)
    statement = None if realm_state is None else stored(realm_state).get(id)
    if statement is None:
        return {}
    return _recorded_table({"effect": statement.effect.value, "expression": statement.expression})


def _check_kind(realm_state: RealmState, statement: Statement) -> None:
    """Refuses to turn a grant into a filter or a mask: a DENY would be lost."""
    existing = stored(realm_state).get(statement.id)
    if existing is not None and existing.obliges != statement.obliges:
        raise Conflict(f"`{statement.id}` is a statement with the effect {existing.effect.value}")


def check_storable(statement: Statement, where: str) -> None:
    """Refuses what no realm may store from any source: a reserved id, an invalid expression.

    `where` is the place of the statement. Raises `BadInput`.
    """
    check_text(statement.id, "the id")
    if is_reserved(statement.id):
        raise BadInput(f"an id must not start with `{IMPLIED_ID}`", where=where)
    check_obligation(statement, where)


def _check(statement: Statement) -> None:
    check_storable(statement, "body")
    if len(statement.id) > MAX_ID:
        raise LimitExceeded(f"the id has {len(statement.id)} characters, at most {MAX_ID}")
    check_size(statement)
    if statement.obliges:
        return
    if not statement.privileges:
        raise BadInput("expected at least one privilege", where="body.privileges")
    if not statement.principals and statement.owners is None:
        raise BadInput("expected at least one principal", where="body.to")


def _check_default(realm_state: RealmState, id: str) -> None:
    for default in default_statements(realm_state.system, realm_state.realm.deleted):
        if default.id == id and id in realm_state.system.model.immutable_ids:
            raise Conflict(f"the default statement `{id}` cannot be changed or deleted")


def _check_mark(transaction: WriteTransaction, realm: str, id: str, mark: str) -> None:
    keeper = mark_of(transaction, realm, id)
    if keeper != mark and (keeper or id in stored(transaction.realm(realm))):
        current = f"has the mark `{keeper}`" if keeper else "has no mark"
        raise Conflict(f"statement `{id}` {current}; specify its mark to change it")


def _marked(transaction: WriteTransaction, realm: str, id: str, mark: str) -> list[Effect]:
    _check_mark(transaction, realm, id, mark)
    if mark and mark_of(transaction, realm, id) != mark:
        check_text(mark, "the mark")
        return [DocumentChanged(id, {MARK: mark})]
    return []
