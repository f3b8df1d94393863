"""Replies of CDAP's REST API, stored in files (see `lakewarden.pipeline.ingest.exchange`).

Reads namespaces, artifacts, applications with their programs, datasets, modules, types, streams,
secure keys and profiles, the roles, their members, and the grants of each user, group and role;
members of groups come from the identity provider's replies.

AMBIGUOUS: the list of a user's or group's privileges includes those of its roles, and nothing
distinguishes them. A privilege that one of its roles holds counts as the role's alone, which can
only narrow when the role is removed later. SOURCE: cdap reference 1.2, 4.3 to 4.8.
when the role is removed later. SOURCE: cdap reference 1.2, 4.3 to 4.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.statement_file import principal_text
from lakewarden.kernel.toml_section import Section
from lakewarden.names.canonical import lower_word, quoted
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest import exchange as exchanges
from lakewarden.pipeline.ingest.exchange import IGNORED, Exchange
from lakewarden.pipeline.ingest.files import Batches
from lakewarden.pipeline.ingest.opener import Opener
from lakewarden.pipeline.ingest.row import SPARK_SCHEMA, batches
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location, location
from lakewarden.service.source_row import (
    BAD_NAME,
    BAD_STATEMENT,
    Row,
    entity_row,
    membership_row,
    placement_row,
    principal_row,
    relation_row,
    statement_row,
)
from lakewarden.service.system import System
from lakewarden.systems.cdap import names as cdap

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PRIVILEGES: Final = "privileges"
"""The table of single privileges: holder (kind, name), scope (key, text), action."""

_ACTIONS: Final = ("READ", "WRITE", "EXECUTE", "ADMIN")
_ALL: Final = "ALL"

_PROGRAM_WORDS: Final = {
    "flows": "flow",
    "mapreduce": "mapreduce",
    "services": "service",
    "spark": "spark",
    "workers": "worker",
    "workflows": "workflow",
}
"""Path words of programs, and their types in names."""

_LISTED: Final[Mapping[tuple[str, ...], str]] = {
    ("apps",): "application",
    ("data", "datasets"): "dataset",
    ("data", "modules"): "dataset_module",
    ("data", "types"): "dataset_type",
    ("profiles",): "profile",
    ("streams",): "stream",
}
"""The kinds of objects listed in a namespace: end of the path → type."""

_MEANINGLESS: Final = frozenset({"metadata", "preferences", "schedules", "versions"})
"""Path words of replies that do not matter for authorization."""

_KINDS: Final = (USER, GROUP, ROLE)

_SYSTEM: Final = "system"


@dataclass(frozen=True, slots=True)
class CdapFile:
    """The replies in the files at a path; `model` is `cdap` or `cdap_parent_write`."""

    kind: ClassVar[str] = "cdap-file"
    options: ClassVar[Mapping[str, str]] = {}
    path: Location
    model: str = "cdap"

    def inputs(self) -> Sequence[Input]:
        """See `Source`."""
        return exchanges.inputs(self.path)

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`. Single privileges become statements at the end."""
        read = exchanges.read(self.path, rows, spark, system, scratch, progress)
        if isinstance(read, exchanges.Few):
            return replace(read.reading, rows=list(_few_with_statements(read.rows)))
        return replace(read.reading, rows=_with_statements(read.rows))


def _with_statements(rows: DataFrame) -> DataFrame:
    """The rows, with single privileges combined: one statement for each holder and scope."""
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    others = rows.filter(F.col("table") != _PRIVILEGES)
    single = rows.filter((F.col("table") == _PRIVILEGES) & F.col("reason").isNull())
    rejected = rows.filter((F.col("table") == _PRIVILEGES) & F.col("reason").isNotNull())
    roles = rows.filter("table = 'memberships' and c2 = 'role' and reason is null")
    held = roles.select(
        F.col("c0").alias("kind"), F.col("c1").alias("name"), F.col("c3").alias("role")
    )
    through = (
        single.filter(F.col("c0") == ROLE)
        .join(held, F.col("c1") == F.col("role"))
        .select(F.col("kind").alias("c0"), F.col("name").alias("c1"), "c2", "c3", "c4")
    )
    keys = ("c0", "c1", "c2", "c3")
    own = single.join(through.distinct(), [*keys, "c4"], "left_anti")
    grouped = own.groupBy(*keys).agg(
        F.sort_array(F.collect_set("c4")).alias("actions"), F.min("place").alias("place")
    )
    statements = grouped.select(*keys, "actions", "place").mapInArrow(_statement_rows, SPARK_SCHEMA)
    set_aside = rejected.select(
        F.lit("statements").alias("table"),
        F.concat_ws("/", F.concat_ws(":", "c0", "c1"), "c3").alias("c0"),
        F.concat_ws(" ", "c4", "c3").alias("c1"),
        *(F.lit(None).cast("string").alias(name) for name in ("c2", "c3", "c4")),
        "place",
        "reason",
        "detail",
    )
    return exchanges.union(exchanges.union(others, statements), set_aside)


def _few_with_statements(all_rows: Sequence[Row]) -> Iterator[Row]:
    """As `_with_statements`."""
    held: dict[str, list[tuple[str, ...]]] = {}
    for row in all_rows:
        if row.table == "memberships" and row.cells[2] == ROLE and not row.reason:
            held.setdefault(row.cells[3], []).append(row.cells[:2])
    single = [row for row in all_rows if row.table == _PRIVILEGES and not row.reason]
    through = {
        (*holder, *row.cells[2:])
        for row in single
        if row.cells[0] == ROLE
        for holder in held.get(row.cells[1], ())
    }
    grouped: dict[tuple[str, ...], list[Row]] = {}
    for row in all_rows:
        if row.table != _PRIVILEGES:
            yield row
        elif row.reason:
            kind, name, _, text, action = row.cells
            cells = (f"{kind}:{name}/{text}", f"{action} {text}")
            yield row._replace(table="statements", cells=cells)
        elif row.cells not in through:
            grouped.setdefault(row.cells[:4], []).append(row)
    for (kind, name, key, text), rows in grouped.items():
        actions = sorted({row.cells[4] for row in rows})
        yield _statement(kind, name, key, text, actions, min(row.place for row in rows))


def _statement_rows(groups: Batches) -> Batches:
    """Statements of grouped privileges; it runs in tasks."""
    for batch in groups:
        yield from batches(_statement(*cells) for cells in _row_values(batch))


def _row_values(batch: Any) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _statement(kind: str, name: str, key: str, text: str, actions: list[str], place: str) -> Row:
    table: dict[str, object] = {
        "id": f"{kind}:{name}/{text}",
        "effect": "allow",
        "privileges": actions,
        "to": [principal_text(Principal(kind, name))],
        key: text,
    }
    return statement_row(table, place)


def rows(exchange: Exchange, _: System) -> Iterator[Row]:
    """The rows of one reply. Raises `BadInput` for a malformed reply and an unknown path."""
    match exchange.segments:
        case ("v3", "namespaces"):
            for item in exchange.objects():
                yield from _namespace(item.text("name"), item)
        case ("v3", "namespaces", name):
            yield from _namespace(name, exchange.section())
        case ("v3", "namespaces", namespace, *inside):
            yield from _inside(exchange, namespace, tuple(inside))
        case ("v3", "security", "authorization", *inside):
            yield from _security(exchange, tuple(inside))
        case ("v3", "version" | "system" | "config" | "preferences" as kind, *_):
            yield _ignored_kind(kind)
        case _:
            raise exchanges.unknown(exchange)


def _ignored_kind(kind: str) -> Row:
    return Row(IGNORED, (f"replies about {kind}",))


def _placed_entity(type: str, name: str) -> Iterator[Row]:
    """An entity and its parent."""
    try:
        entity = cdap.parse(type, name)
    except BadInput as error:
        yield Row("entities", (type, name)).rejected(BAD_NAME, error.message)
        return
    yield entity_row(entity, "")
    parent = cdap.parent(entity)
    if parent is not None:
        yield placement_row(entity, parent, "")


def _namespace(name: str, item: Section) -> Iterator[Row]:
    yield from _placed_entity("namespace", name)
    config = item.take("config")
    if config is None:
        return
    principal = Section(config, item.at("config")).text("principal", "")
    if principal:
        owner = Entity("kerberosprincipal", principal)
        yield from _placed_entity(*owner)
        yield relation_row("owner_principal", Entity("namespace", name), owner, "")


def _inside(exchange: Exchange, namespace: str, inside: tuple[str, ...]) -> Iterator[Row]:
    if inside in _LISTED:
        for item in exchange.objects():
            yield from _placed_entity(_LISTED[inside], f"{namespace}.{item.text('name')}")
        return
    match inside:
        case ("artifacts", *_):
            yield from _artifacts(exchange, namespace)
        case ("apps", app):
            yield from _application(namespace, app, exchange.section())
        case (*above, name) if tuple(above) in _LISTED:
            exchange.section()
            yield from _placed_entity(_LISTED[tuple(above)], f"{namespace}.{name}")
        case ("securekeys",):
            for name in _key_names(exchange):
                yield from _placed_entity("securekey", f"{namespace}.{name}")
        case (segment,) if segment in _PROGRAM_WORDS:
            for item in exchange.objects():
                program = f"{_PROGRAM_WORDS[segment]}.{item.text('name')}"
                yield from _placed_entity("program", f"{namespace}.{item.text('app')}.{program}")
        case _ if _MEANINGLESS & set(inside):
            yield _ignored_kind(next(segment for segment in inside if segment in _MEANINGLESS))
        case _:
            raise exchanges.unknown(exchange)


def _artifacts(exchange: Exchange, namespace: str) -> Iterator[Row]:
    """Artifacts of the namespace, and those of the system, which every list shows."""
    single = isinstance(exchange.reply, Mapping)
    for item in [exchange.section()] if single else exchange.objects():
        scope = item.text("scope", "USER")
        if scope not in ("USER", "SYSTEM"):
            raise BadInput("expected `USER` or `SYSTEM`", where=item.at("scope"))
        if scope == "SYSTEM":
            yield from _placed_entity("namespace", _SYSTEM)
        home = _SYSTEM if scope == "SYSTEM" else namespace
        yield from _placed_entity("artifact", f"{home}.{item.text('name')}")


def _application(namespace: str, app: str, detail: Section) -> Iterator[Row]:
    actual = detail.text("name")
    if actual != app:
        message = f"expected {quoted(app)} as in the path, got {quoted(actual)}"
        raise BadInput(message, where=detail.at("name"))
    yield from _placed_entity("application", f"{namespace}.{app}")
    for item in detail.tables("programs"):
        type = lower_word(item.text("type"))
        yield from _placed_entity("program", f"{namespace}.{app}.{type}.{item.text('name')}")
    for key, kind in (("datasets", "dataset"), ("streams", "stream")):
        for item in detail.tables(key):
            yield from _placed_entity(kind, f"{namespace}.{item.text('name')}")


def _key_names(exchange: Exchange) -> Iterator[str]:
    """Names of secure keys: an object of name → description, since 6.x a list of objects."""
    if isinstance(exchange.reply, Mapping):
        yield from exchange.section().names()
    else:
        yield from (item.text("name") for item in exchange.objects())


def _security(exchange: Exchange, inside: tuple[str, ...]) -> Iterator[Row]:
    match inside:
        case ("roles",):
            for item in exchange.objects():
                yield principal_row(Principal(ROLE, item.text("name")), "")
        case (segment, name, "roles" | "privileges" as list):
            holder = _holder(exchange, segment, name)
            yield principal_row(holder, "")
            for item in exchange.objects():
                if list == "privileges":
                    yield from _privilege(holder, item)
                else:
                    yield membership_row(holder, Principal(ROLE, item.text("name")), "")
        case _:
            raise exchanges.unknown(exchange)


def _holder(exchange: Exchange, segment: str, name: str) -> Principal:
    kind = lower_word(segment)
    if kind not in _KINDS:
        raise exchanges.unknown(exchange)
    return Principal(kind, name)


def _privilege(holder: Principal, item: Section) -> Iterator[Row]:
    """One action on one entity or pattern; `ALL`, of release 3.4, stands for the four."""
    action = item.text("action")
    if action not in (*_ACTIONS, _ALL):
        expected = ", ".join(_ACTIONS)
        raise BadInput(f"expected one of: {expected}", where=item.at("action"))
    # Up to release 4.2 a privilege is on an `entity`, since 4.3 on an `authorizable`.
    authorizable = item.take("authorizable")
    if authorizable is None:
        authorizable = item.take("entity")
    if not isinstance(authorizable, Mapping):
        raise BadInput("expected an object", where=item.at("authorizable"))
    try:
        scope = cdap.from_authorizable(authorizable)
    except (BadInput, Unknown) as error:
        parts = ".".join(str(value) for value in authorizable.values())
        row = Row(_PRIVILEGES, (*holder, "on", parts, action), item.where)
        yield row.rejected(BAD_STATEMENT, str(error))
        return
    key = "on" if isinstance(scope, Entity) else "matching"
    if isinstance(scope, Entity) and scope.type == "instance":
        yield from _placed_entity(*scope)
    for granted in _ACTIONS if action == _ALL else (action,):
        yield Row(_PRIVILEGES, (*holder, key, cdap.format_id(scope), granted), item.where)


SOURCE: Final = Opener(
    ("cdap", "cdap_parent_write"), lambda place, model, _: CdapFile(location(place), model)
)
