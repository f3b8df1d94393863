"""The relations of a dbt project, from its `manifest.json`: versions 10 to 12.

It reads sources, models, seeds and snapshots that dbt builds or reads as a table or a view: their
location, tags and columns, the owners that their `meta` and their group name, and the grants that
dbt sets on them. Anything else is counted.

SOURCE: dbt manifest schema v10, v11, v12 (schemas.getdbt.com); dbt documentation, grants,
groups, meta; BigQuery configurations (policy tags), Snowflake configurations (row access
policies), Databricks configurations (row filters, column masks).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.names.canonical import quoted
from lakewarden.pipeline.ingest.json_file import parse
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.toml_file import unreadable

VERSIONS: Final = range(10, 13)
"""Versions of the manifest that are supported."""

RELATIONS: Final = frozenset({"model", "seed", "snapshot", "source"})
"""Types of resources that are a table or a view."""

_VERSION = re.compile(r"/manifest/v(\d+)\.json$")
_EPHEMERAL = "ephemeral"
_LIMITS_OF_COLUMNS = ("policy_tags", "column_mask")
_LIMITS_OF_RELATIONS = ("row_access_policy", "row_filter")
_VIEWS = frozenset({"view", "materialized_view", "materialized view"})


class Owner(NamedTuple):
    """An owner that the project names; `is_group`: a group by its name, not a person."""

    name: str
    is_group: bool


class Column(NamedTuple):
    """A documented column; `type` is empty if the project does not state it.

    `is_limited`: readers may not get its values.
    """

    name: str
    tags: tuple[str, ...]
    type: str = ""
    is_quoted: bool = False
    is_limited: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """One relation. `name` is dbt's name for it, `identifier` the database's.

    `relation` is its full SQL name, with quotes, if the manifest has it. `query` is the SQL that
    dbt compiled, if the manifest has it. `is_limited`: readers may not get all rows or values.
    """

    id: str
    database: str
    schema: str
    name: str
    identifier: str
    is_view: bool = False
    is_described: bool = False
    tags: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    owners: tuple[Owner, ...] = ()
    grants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_limited: bool = False
    query: str = ""
    relation: str = ""
    where: str = ""


@dataclass(slots=True)
class Dbt:
    """A manifest: the adapter's name, the relations, and counts of everything else."""

    adapter: str
    nodes: list[Node]
    ignored: Counter[str]
    notes: list[tuple[str, str]]


def read(file: Location, name: str) -> Dbt:
    """The manifest in a file, called `name` in messages. Raises `BadInput`."""
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError:
        raise BadInput("not UTF-8", where=name) from None
    except OSError as error:
        raise unreadable(error, name) from None
    section = Section(parse(text, name), name)
    metadata = Section(section.take("metadata"), section.at("metadata"))
    _check_version(metadata)
    groups = {id: _group(group) for id, group in section.named("groups").items()}
    project = Dbt(metadata.text("adapter_type"), [], Counter(), [])
    for key in ("nodes", "sources"):
        for id, node in section.named(key).items():
            project.nodes += _nodes(id, node, groups, project)
    for key in ("exposures", "metrics", "semantic_models", "saved_queries", "unit_tests"):
        inner = section.take(key)
        if isinstance(inner, Mapping) and inner:
            project.ignored[key.replace("_", " ")] += len(inner)
    return project


def _check_version(metadata: Section) -> None:
    text = metadata.text("dbt_schema_version")
    match = _VERSION.search(text)
    if match is None or int(match[1]) not in VERSIONS:
        expected = f"expected a manifest of version {VERSIONS[0]} to {VERSIONS[-1]}"
        message = f"{expected}, got {quoted(text)}; build it with dbt 1.6 or later"
        raise BadInput(message, where=metadata.at("dbt_schema_version"))


def _group(section: Section) -> tuple[str, str, tuple[Owner, ...]]:
    """Package and name of a group, and its owner: a mail names a person, a bare name a group."""
    owner = Section(section.take("owner") or {}, section.at("owner"))
    package, name = section.text("package_name", ""), section.text("name")
    for mail in owner.texts("email"):
        return package, name, (Owner(mail, is_group=False),)
    called = owner.text("name", "")
    return package, name, (Owner(called, is_group=True),) if called else ()


def _nodes(
    id: str,
    section: Section,
    groups: Mapping[str, tuple[str, str, tuple[Owner, ...]]],
    project: Dbt,
) -> Iterator[Node]:
    kind = section.text("resource_type")
    config = Section(section.take("config") or {}, section.at("config"))
    materialized = config.text("materialized", "")
    if kind not in RELATIONS:
        project.ignored[f"resource {kind}"] += 1
    elif materialized == _EPHEMERAL:
        project.ignored["ephemeral models"] += 1
    elif config.flag("enabled", default=True):
        yield _node(id, section, config, materialized, groups, project)
    else:
        project.ignored["disabled resources"] += 1


def _node(
    id: str,
    section: Section,
    config: Section,
    materialized: str,
    groups: Mapping[str, tuple[str, str, tuple[Owner, ...]]],
    project: Dbt,
) -> Node:
    name = section.text("name")
    shown = section.text("alias", "") or name
    package = section.text("package_name", "")
    group = section.text("group", "") or config.text("group", "")
    owners = dict.fromkeys(
        owner
        for where, key in ((section, "meta"), (config, "meta"), (section, "source_meta"))
        for owner in _owners(id, where, key, project)
    )
    if group:
        for of, called, named in groups.values():
            if called == group and of in ("", package):
                owners |= dict.fromkeys(named)
    columns = tuple(_columns(section))
    has_row_limit = any(config.take(key) for key in _LIMITS_OF_RELATIONS)
    return Node(
        id=id,
        database=section.text("database", ""),
        schema=section.text("schema"),
        name=shown,
        identifier=section.text("identifier", "") or shown,
        is_view=materialized in _VIEWS,
        is_described=bool(section.text("description", "").strip()),
        tags=_tags(section, config),
        columns=columns,
        owners=tuple(owners),
        grants=_grants(config),
        is_limited=has_row_limit or any(column.is_limited for column in columns),
        query=section.text("compiled_code", ""),
        relation=section.text("relation_name", ""),
        where=section.where,
    )


def _tags(section: Section, config: Section | None = None) -> tuple[str, ...]:
    tags = [*section.texts("tags"), *(() if config is None else config.texts("tags"))]
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def _columns(section: Section) -> Iterator[Column]:
    for key, column in section.named("columns").items():
        config = Section(column.take("config") or {}, column.at("config"))
        name = column.text("name", "") or key
        is_limited = any(s.take(key) for s in (column, config) for key in _LIMITS_OF_COLUMNS)
        type, is_quoted = column.text("data_type", ""), column.flag("quote")
        yield Column(name, _tags(column, config), type, is_quoted, is_limited)


def _owners(id: str, section: Section, key: str, project: Dbt) -> Iterator[Owner]:
    """The owners that a `meta` names: a text or a list of texts under `owner`."""
    meta = section.take(key)
    value = meta.get("owner") if isinstance(meta, Mapping) else None
    listed = value if isinstance(value, list) else [value]
    for owner in listed:
        if isinstance(owner, str) and owner.strip():
            yield Owner(owner.strip(), is_group=False)
        elif owner is not None:
            project.notes.append((id, f"an owner in `{key}` that is no text"))


def _grants(config: Section) -> dict[str, tuple[str, ...]]:
    """Grantees by privilege, from dbt's `grants`."""
    value = config.take("grants")
    if value is None:
        return {}
    grants = Section(value, config.at("grants"))
    return {name.lstrip("+").lower(): grants.texts(name) for name in grants.names()}
