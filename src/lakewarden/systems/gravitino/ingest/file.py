"""Replies of Gravitino's REST API, stored in files (see `lakewarden.pipeline.ingest.exchange`).

Reads the lists and single replies of metalakes, catalogs, schemas and their contents, users,
groups, roles, owners, tags, policies, job templates and jobs; members of groups come from the
identity provider's replies. A reply that is an error makes the file invalid: an incomplete export
is not an export. The same applies to a DENY that cannot be read, since access would be open without
it; an ALLOW that cannot be read is set aside.

SOURCE: gravitino reference 1.1 to 1.3, 3, 4.3, 6.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import COLUMN_TYPE, READS
from lakewarden.kernel.statement import Effect
from lakewarden.kernel.statement_file import principal_text, read_statements
from lakewarden.kernel.toml_section import Section
from lakewarden.names.canonical import quoted
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest import exchange as exchanges
from lakewarden.pipeline.ingest.exchange import IGNORED, Exchange
from lakewarden.pipeline.ingest.opener import Opener
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location, location
from lakewarden.service.sealed_properties import is_secret
from lakewarden.service.source_row import (
    BAD_NAME,
    BAD_STATEMENT,
    STATEMENTS,
    Row,
    attribute_row,
    entity_row,
    membership_row,
    owner_row,
    placement_row,
    principal_row,
    statement_row,
)
from lakewarden.service.system import System
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.use_cases.view_reads import view_reads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOT_STORED: Final = "not stored"
"""The reason for a grant on an object that the export does not contain."""

_LEAVES: Final = {
    "tables": "table",
    "topics": "topic",
    "filesets": "fileset",
    "models": "model",
    "views": "view",
    "functions": "function",
}
"""The contents of a schema: path word → type."""

_OF_QUERY: Final = ("representations", "defaultCatalog", "defaultSchema")
"""The members of a view's reply with its queries."""

_WHOLE: Final = {"tags": "tag", "policies": "policy"}

_MEANINGLESS: Final = frozenset(
    {"credentials", "files", "location", "objects", "partitions", "policies", "roles", "statistics"}
    | {"tags", "uri", "versions"}
)
"""The last or second last words of paths whose replies do not matter for authorization."""


@dataclass(frozen=True, slots=True)
class GravitinoFile:
    """The replies in the files at a path."""

    kind: ClassVar[str] = "gravitino-file"
    model: ClassVar[str] = "gravitino"
    options: ClassVar[Mapping[str, str]] = {}
    path: Location

    def inputs(self) -> Sequence[Input]:
        """See `Source`."""
        return exchanges.inputs(self.path)

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`. Grants on objects that are not stored are split off at the end."""
        read = exchanges.read(self.path, rows, spark, system, scratch, progress)
        if isinstance(read, exchanges.Few):
            return replace(read.reading, rows=list(_few_on_stored(read.rows)))
        return replace(read.reading, rows=_on_stored(read.rows))


def _on_stored(rows: DataFrame) -> DataFrame:
    """The rows; grants on objects that the export does not contain are rejected."""
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    on = F.when(F.col("table") == STATEMENTS, F.get_json_object("c1", "$.on"))
    named = rows.withColumn("_on", on)
    stored = rows.filter("table = 'entities' and reason is null").select(
        F.concat_ws(":", "c0", "c1").alias("_on"), F.lit(True).alias("_stored")
    )
    joined = named.join(stored.distinct(), "_on", "left")
    lost = F.col("_on").isNotNull() & F.col("_stored").isNull() & F.col("reason").isNull()
    detail = F.concat(F.lit("`"), "_on", F.lit("` is not stored"))
    return joined.withColumns(
        {
            "reason": F.when(lost, F.lit(NOT_STORED)).otherwise(F.col("reason")),
            "detail": F.when(lost, detail).otherwise(F.col("detail")),
        }
    ).select(*rows.columns)


def _few_on_stored(rows: Sequence[Row]) -> Iterator[Row]:
    """As `_on_stored`."""
    stored = {":".join(r.cells[:2]) for r in rows if r.table == "entities" and not r.reason}
    for row in rows:
        on = None
        if row.table == STATEMENTS and not row.reason:
            on = json.loads(row.cells[1]).get("on")
        lost = on is not None and on not in stored
        yield row.rejected(NOT_STORED, f"`{on}` is not stored") if lost else row


def rows(exchange: Exchange, system: System) -> Iterator[Row]:
    """The rows of one reply. Raises `BadInput` for a malformed reply and an unknown path."""
    reply = _successful_reply(exchange)
    match exchange.segments:
        case ("api", "metalakes"):
            for item in reply.tables("metalakes"):
                yield from _metalake(item.text("name"), item)
        case ("api", "metalakes", lake):
            yield from _metalake(lake, _object_named(reply, "metalake", lake))
        case ("api", "metalakes", lake, "catalogs", *inside):
            yield from _catalogs(exchange, reply, lake, tuple(inside))
        case ("api", "metalakes", lake, *inside):
            yield from _in_metalake(exchange, reply, lake, tuple(inside), system)
        case ("api", "version" | "configs" as kind):
            yield _ignored_kind(kind)
        case _:
            raise exchanges.unknown(exchange)


def _successful_reply(exchange: Exchange) -> Section:
    """The reply; raises for an error response of the server."""
    reply = exchange.section()
    code = reply.take("code")
    if isinstance(code, bool) or not isinstance(code, int):
        raise BadInput("expected a number", where=reply.at("code"))
    if code != 0:
        message = reply.text("message", "")
        message_text = f": {quoted(message)}" if message else ""
        raise BadInput(f"expected 0, got the error {code}{message_text}", where=reply.at("code"))
    return reply


def _ignored_kind(kind: str) -> Row:
    return Row(IGNORED, (f"replies about {kind}",))


def _object_named(reply: Section, key: str, name: str) -> Section:
    """The object under `key`, which must have the name in the path."""
    item = Section(reply.take(key), reply.at(key))
    actual = item.text("jobId" if key == "job" else "name")
    if actual != name:
        message = f"expected {quoted(name)} as in the path, got {quoted(actual)}"
        raise BadInput(message, where=item.at("name"))
    return item


def _one(lake: str, type: str, full_name: str) -> Iterator[Row]:
    """The metalake, or an entity below it and its parent; rejected if no request can name it."""
    try:
        entity = gravitino.entity(lake, type, full_name)
    except BadInput as error:
        text = lake if type == "metalake" else f"{lake}:{full_name}"
        yield Row("entities", (type, text)).rejected(BAD_NAME, error.message)
        return
    yield entity_row(entity, "")
    parent = gravitino.parent(entity)
    if parent is not None:
        yield placement_row(entity, parent, "")


def _catalogs(
    exchange: Exchange, reply: Section, lake: str, inside: tuple[str, ...]
) -> Iterator[Row]:
    match inside:
        case ():
            for item in reply.tables("catalogs"):
                yield from _catalog(lake, item.text("name"), item)
            for name in _identifier_names(reply, lake):
                yield from _one(lake, "catalog", name)
        case (catalog,):
            yield from _catalog(lake, catalog, _object_named(reply, "catalog", catalog))
        case (catalog, "schemas"):
            for name in _identifier_names(reply, lake, catalog):
                yield from _one(lake, "schema", f"{catalog}.{name}")
        case (catalog, "schemas", schema):
            _object_named(reply, "schema", schema)
            yield from _one(lake, "schema", f"{catalog}.{schema}")
        case (catalog, "schemas", schema, segment) if segment in _LEAVES:
            for name in _identifier_names(reply, lake, catalog, schema):
                yield from _one(lake, _LEAVES[segment], f"{catalog}.{schema}.{name}")
        case (catalog, "schemas", schema, segment, name) if segment in _LEAVES:
            type = _LEAVES[segment]
            item = _object_named(reply, type, name)
            yield from _leaf(lake, type, f"{catalog}.{schema}.{name}", item)
        case _ if _MEANINGLESS & set(inside[-2:]):
            yield _ignored_kind(next(segment for segment in inside[-2:] if segment in _MEANINGLESS))
        case _:
            raise exchanges.unknown(exchange)


def _leaf(lake: str, type: str, full_name: str, item: Section) -> Iterator[Row]:
    """An object in a schema: a table with its columns, a view with the names that it reads."""
    for row in _one(lake, type, full_name):
        yield row
        if type == "view" and row.table == "entities" and not row.reason:
            view = Entity(type, row.cells[1])
            for text in view_reads(view, {key: item.take(key) for key in _OF_QUERY}):
                yield attribute_row(view, READS, text, "")
    for column in item.tables("columns") if type == "table" else ():
        name, written = column.text("name"), column.take("type")
        for row in _one(lake, "column", f"{full_name}.{name}"):
            yield row
            # Lists and structs have no plain type.
            if row.table == "entities" and not row.reason and isinstance(written, str):
                yield attribute_row(Entity("column", row.cells[1]), COLUMN_TYPE, written, "")


def _metalake(name: str, item: Section) -> Iterator[Row]:
    return _described(name, "metalake", name, item)


def _catalog(lake: str, name: str, item: Section) -> Iterator[Row]:
    return _described(lake, "catalog", name, item)


def _described(lake: str, type: str, name: str, item: Section) -> Iterator[Row]:
    """A metalake or a catalog, with its properties."""
    for row in _one(lake, type, name):
        yield row
        if row.table == "entities" and not row.reason:
            yield from _attributes(gravitino.entity(lake, type, name), item)


def _attributes(entity: Entity, item: Section) -> Iterator[Row]:
    """Type, provider, comment and properties, as attributes; secret properties are left out."""
    for name in gravitino.DESCRIBED:
        value = item.text(name, "")
        if value:
            yield attribute_row(entity, name, value, "")
    properties = item.take("properties") or {}
    if not isinstance(properties, dict):
        raise BadInput("expected an object", where=item.at("properties"))
    for key, value in properties.items():
        if not isinstance(value, str):
            raise BadInput(f"{quoted(key)}: expected a string", where=item.at("properties"))
        if key == gravitino.IN_USE:
            if value.lower() != "true":
                yield attribute_row(entity, key, "false", "")
        elif not is_secret(key, value):
            yield attribute_row(entity, gravitino.PROPERTY + key, value, "")


def _identifier_names(reply: Section, *namespace: str) -> Iterator[str]:
    """The names in a list of identifiers, all of the namespace in the path."""
    for item in reply.tables("identifiers"):
        if item.texts("namespace") != namespace:
            expected = ", ".join(namespace)
            raise BadInput(f"expected {quoted(expected)}", where=item.at("namespace"))
        yield item.text("name")


def _in_metalake(
    exchange: Exchange, reply: Section, lake: str, inside: tuple[str, ...], system: System
) -> Iterator[Row]:
    match inside:
        case ("users" | "groups" as list_name,):
            for name in reply.texts("names"):
                yield from _principal(lake, list_name, name)
            for item in reply.tables(list_name):
                yield from _holder(lake, list_name, item.text("name"), item)
        case ("users" | "groups" as list_name, name):
            yield from _holder(lake, list_name, name, _object_named(reply, list_name[:-1], name))
        case ("roles",):
            for name in reply.texts("names"):
                yield from _role(lake, name)
        case ("roles", name):
            yield from _role(lake, name)
            yield from _grants(lake, name, _object_named(reply, "role", name), system)
        case ("owners", type, full_name):
            yield from _owner(lake, type, full_name, reply, system)
        case ("jobs", *run):
            yield from _jobs(exchange, reply, lake, tuple(run))
        case ("tags" | "policies" as list_name,):
            items = (item.text("name") for item in reply.tables(list_name))
            for name in (*reply.texts("names"), *items):
                yield from _one(lake, _WHOLE[list_name], name)
        case ("tags" | "policies" as list_name, name):
            _object_named(reply, _WHOLE[list_name], name)
            yield from _one(lake, _WHOLE[list_name], name)
        case ("objects", *_) | ("tags" | "policies", _, "objects"):
            yield _ignored_kind("objects")
        case _:
            raise exchanges.unknown(exchange)


def _jobs(exchange: Exchange, reply: Section, lake: str, run: tuple[str, ...]) -> Iterator[Row]:
    match run:
        case ("templates",):
            items = (item.text("name") for item in reply.tables("jobTemplates"))
            for name in (*reply.texts("names"), *items):
                yield from _one(lake, "job_template", name)
        case ("templates", name):
            _object_named(reply, "jobTemplate", name)
            yield from _one(lake, "job_template", name)
        case ("runs",):
            for item in reply.tables("jobs"):
                yield from _one(lake, "job", item.text("jobId"))
        case ("runs", id):
            _object_named(reply, "job", id)
            yield from _one(lake, "job", id)
        case _:
            raise exchanges.unknown(exchange)


def _principal(lake: str, list_name: str, name: str) -> Iterator[Row]:
    """A user or group of the metalake; users are its members."""
    yield from _one(lake, list_name[:-1], name)
    principal = Principal(USER if list_name == "users" else GROUP, name)
    yield principal_row(principal, "")
    if principal.kind == USER:
        yield membership_row(principal, members_of(lake), "")


def _holder(lake: str, list_name: str, name: str, item: Section) -> Iterator[Row]:
    """A user or group with its granted roles."""
    yield from _principal(lake, list_name, name)
    for role in item.texts("roles"):
        holder = Principal(USER if list_name == "users" else GROUP, name)
        yield membership_row(holder, Principal(ROLE, f"{lake}:{role}"), "")


def _role(lake: str, name: str) -> Iterator[Row]:
    yield from _one(lake, "role", name)
    yield principal_row(Principal(ROLE, f"{lake}:{name}"), "")


def _grants(lake: str, name: str, role: Section, system: System) -> Iterator[Row]:
    """The statements of a role: one for each object and condition."""
    for item in role.tables("securableObjects"):
        type, full_name = item.text("type"), item.text("fullName")
        by_effect: dict[Effect, list[str]] = {}
        for privilege in item.tables("privileges"):
            condition = privilege.text("condition").lower()
            if condition not in (Effect.ALLOW.value, Effect.DENY.value):
                raise BadInput("expected `allow` or `deny`", where=privilege.at("condition"))
            by_effect.setdefault(Effect(condition), []).append(privilege.text("name").upper())
        for effect, privileges in by_effect.items():
            try:
                target = gravitino.entity(lake, type, full_name)
            except (BadInput, Unknown) as error:
                raise BadInput(str(error), where=item.at("fullName")) from None
            table: dict[str, object] = {
                "id": f"{lake}:{name}/{target.type}:{full_name}/{effect.value}",
                "effect": effect.value,
                "privileges": sorted(set(privileges)),
                "to": [principal_text(Principal(ROLE, f"{lake}:{name}"))],
                "on": str(target),
                "title": name,
            }
            yield _statement_row(table, effect, item.where, system)


def _statement_row(table: dict[str, object], effect: Effect, where: str, system: System) -> Row:
    """The statement's row; refused or rejected if the model cannot read it."""
    row = statement_row(table, where)
    try:
        read_statements([table], system.model, system.spelling, where)
    except BadInput as error:
        if effect is Effect.DENY:
            raise BadInput(f"a DENY that cannot be read: {error.message}", where=where) from None
        return row.rejected(BAD_STATEMENT, error.message)
    return row


def _owner(lake: str, type: str, full_name: str, reply: Section, system: System) -> Iterator[Row]:
    """The owner, if there is one. In mode `seed`, groups own nothing."""
    value = reply.take("owner")
    if value is None:
        return
    item = Section(value, reply.at("owner"))
    kind = item.text("type").lower()
    if kind not in (USER, GROUP):
        raise BadInput("expected `user` or `group`", where=item.at("type"))
    owner = Principal(kind, item.text("name"))
    try:
        entity = gravitino.entity(lake, type, full_name)
    except (BadInput, Unknown) as error:
        row = owner_row(Entity(type.lower(), f"{lake}:{full_name}"), owner, "", "")
        yield row.rejected(BAD_NAME, str(error))
        return
    row = owner_row(entity, owner, "", "")
    problem = _refused(entity, owner, system)
    yield row.rejected(BAD_NAME, problem) if problem else row


def _refused(entity: Entity, owner: Principal, system: System) -> str:
    if not system.model.types[entity.type].owned:
        return f"a {entity.type} has no owner"
    if owner.kind == GROUP and system.model.settings.get("mode") != "next":
        return "a group owns nothing unless the setting `mode` is `next`"
    return ""


SOURCE: Final = Opener(("gravitino",), lambda place, _, __: GravitinoFile(location(place)))
