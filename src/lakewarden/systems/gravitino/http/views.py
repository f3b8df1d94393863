"""Views: named queries in one or several dialects of SQL.

Only newer releases have views; the rules are those of the Iceberg REST server, see the model.
SOURCE: gravitino reference 3.5; the requests and replies of apache-gravitino 1.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.change import AttributeChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import READS
from lakewarden.names.canonical import lower_word, quoted
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino.http.bodies import Body, Json, present, read
from lakewarden.systems.gravitino.http.errors import illegal
from lakewarden.systems.gravitino.http.kinds import (
    SCHEMA,
    Created,
    Kind,
    described,
    plain,
    routes_of,
)
from lakewarden.systems.gravitino.http.table_columns import Column, columns
from lakewarden.systems.gravitino.http.updates import (
    Draft,
    RemoveProperty,
    Rename,
    SetProperty,
    Update,
    apply_shared,
)
from lakewarden.systems.gravitino.use_cases.view_reads import view_reads


class Representation(Body):
    """The query in one dialect."""

    dialect: str
    sql: str
    type: str = "sql"


class Create(Body):
    """The body of POST …/views."""

    name: str
    representations: list[Representation]
    columns: list[Column] | None = None
    comment: str | None = None
    default_catalog: str | None = None
    default_schema: str | None = None
    properties: dict[str, str] | None = None


class Replace(Update, tag="replaceView"):
    """Replaces the query."""

    representations: list[Representation]
    columns: list[Column] | None = None
    comment: str | None = None
    default_catalog: str | None = None
    default_schema: str | None = None


def _read(exchange: Exchange) -> Created:
    body = read(exchange, Create)
    return body.name, {**described(body.comment, body.properties), **_query(body)}


def _query(body: Create | Replace) -> Json:
    return present(
        columns=columns(body.columns or []),
        representations=_representations(body.representations),
        defaultCatalog=body.default_catalog,
        defaultSchema=body.default_schema,
    )


def _representations(bodies: Sequence[Representation]) -> list[Json]:
    if not bodies:
        raise illegal("body: a view needs at least one representation")
    dialects = {body.dialect for body in bodies}
    if len(dialects) < len(bodies):
        raise illegal("body: two representations are of one dialect")
    for body in bodies:
        if lower_word(body.type) != "sql":
            raise illegal(f"unknown representation {quoted(body.type)}; expected `sql`")
        if not body.dialect.strip() or not body.sql.strip():
            raise illegal("body: a representation has a `dialect` and `sql`")
    return [{"type": "sql", "dialect": body.dialect, "sql": body.sql} for body in bodies]


def _show(name: str, body: Json) -> Json:
    own = present(
        columns=body.get("columns") or [],
        representations=body.get("representations")
        or [{"type": "sql", "dialect": "unknown", "sql": "unknown"}],
        defaultCatalog=body.get("defaultCatalog"),
        defaultSchema=body.get("defaultSchema"),
    )
    return {**plain(name, body), **own}


def _apply(draft: Draft, update: Any) -> None:
    if not isinstance(update, Replace):
        apply_shared(draft, update)
        return
    for key in ("comment", "columns", "representations", "defaultCatalog", "defaultSchema"):
        draft.body.pop(key, None)
    draft.body.update(present(comment=update.comment))
    draft.body.update(_query(update))


def _reads_added(
    exchange: Exchange, transaction: WriteTransaction, view: Entity, body: Json
) -> None:
    """Stores the names that the view reads beside it, for lint."""
    reads = view_reads(view, body)
    if reads:
        transaction.change(exchange.realm, AttributeChanged(view, READS, reads))


def _reads_altered(
    exchange: Exchange, transaction: WriteTransaction, view: Entity, draft: Draft
) -> None:
    reads = view_reads(view, draft.body)
    if set(reads) != set(_stored_reads(transaction.realm(exchange.realm), view)):
        transaction.change(exchange.realm, AttributeChanged(view, READS, reads))


def _stored_reads(state: RealmState, view: Entity) -> Sequence[str]:
    coded = state.matrix.snapshot.coded
    id = coded.tree.find(view)
    return () if id is None else coded.attributes.get(id, {}).get(READS, ())


VIEWS: Final = Kind(
    type="view",
    within="schema",
    path=SCHEMA + "/views",
    read=_read,
    show=_show,
    updates=Rename | SetProperty | RemoveProperty | Replace,
    apply=_apply,
    family="relational",
    added=_reads_added,
    altered=_reads_altered,
)

ROUTES: Final = routes_of(VIEWS)
