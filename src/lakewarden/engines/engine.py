"""An engine as its own file declares it: its acts, and what it reads outside of all realms."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Final

from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.toml_section import Section

NAMES: Final = (
    "hdfs",
    "hive",
    "iceberg",
    "kafka",
    "mysql",
    "polaris",
    "postgresql",
    "spark",
    "trino",
)
"""The known engines."""

_SUFFIX: Final = ".toml"


@dataclass(frozen=True, slots=True)
class Act:
    """One operation of an engine.

    `resources` are what it may be about, in the engine's own words, and `second` is the other thing
    that a request names. `enters` is the act that must be allowed on the second: the new place of
    something moved, or what something is attached to; by default the act itself. An `own` act is
    allowed to everybody on themselves. `whole`: it exposes all rows and values of a table, like
    reading its files, or it renames columns. `values`: it reads or writes values of columns.
    `renames`: it removes the name of a table or of its columns. `replaces`: the act that drops
    what it replaces; if the name exists already, an act that drops it must be allowed, too.
    `declared`: it may be done to what the engine declares. `silent`: a denial removes an entry from
    a list without a message. `recorded`: it was seen in requests of a real engine.

    For a guarded protocol, `endpoint` is the method and path of its requests, `lists` the
    act that is checked for each entry of a returned list, `makes` what it creates, and
    `does` what it does to an existing object: `drop` or `rename`.
    """

    name: str
    title: str
    resources: tuple[str, ...]
    second: tuple[str, ...] = ()
    own: bool = False
    whole: bool = False
    values: bool = False
    renames: bool = False
    declared: bool = False
    silent: bool = False
    recorded: bool = True
    enters: str = ""
    replaces: str = ""
    endpoint: str = ""
    lists: str = ""
    makes: str = ""
    does: str = ""

    @property
    def resource(self) -> str:
        """The resource of an act that has only one kind of resource."""
        return self.resources[0]

    @property
    def takes_values(self) -> bool:
        """Whether it uses values of columns, which makes a DENY on one of them relevant."""
        return self.values or self.whole


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine, its acts by name, and what every client of it reads although no realm holds it.

    These are schemas (`schemas`) of every catalog, readable for everybody who may use the catalog,
    and tables of certain catalogs (`catalogs`: wildcards of `schema.table`), readable for all.
    `recorded`: its acts were seen in requests of a real engine, unless an act says otherwise.
    `addresses` are the schemes of an engine's addresses if grants are pushed to it, see
    `pushed_engines`; empty if it requests decisions. `config` are wildcards of keys of a guarded
    protocol, by kind. If a request names something in `guarded`, wildcards by kind, the act
    `guarding` must be allowed, too.
    """

    name: str
    title: str
    version: str
    source: str
    recorded: bool
    acts: Mapping[str, Act]
    addresses: tuple[str, ...]
    schemas: frozenset[str]
    catalogs: Mapping[str, tuple[str, ...]]
    config: Mapping[str, tuple[str, ...]]
    guarded: Mapping[str, tuple[str, ...]]
    guarding: str

    def closing(self, act: Act) -> Sequence[Act]:
        """The acts that must not be closed inside the target of this one.

        This is the act itself if it uses values, and all acts that use values if it removes the
        name of a table or of its columns.

        >>> [one.name for one in load("spark").closing(load("spark").acts["DropTable"])]
        []
        """
        acts = [one for one in self.acts.values() if one.values] if act.renames else []
        return [act, *acts] if act.takes_values else acts

    def guards(self, kind: str, name: str) -> bool:
        """Whether a name of that kind requires the act `guarding`, too; ignores case.

        >>> load("trino").guards("table_properties", "external_location")
        True
        """
        return any(fnmatchcase(name.lower(), one) for one in self.guarded.get(kind, ()))

    def matches(self, kind: str, key: str) -> bool:
        """Whether the key is of that kind.

        >>> load("iceberg").matches("credentials", "s3.session-token")
        True
        """
        return any(fnmatchcase(key, pattern) for pattern in self.config.get(kind, ()))

    def declares(self, catalog: str, schema: str = "", table: str = "") -> bool:
        """Whether the catalog, the schema in it or the table is readable for everybody.

        >>> load("trino").declares("system", "runtime", "queries")
        True
        >>> load("trino").declares("system", "runtime", "nodes")
        False
        """
        patterns = self.catalogs.get(catalog, ())
        if not schema:
            return bool(patterns)
        if not table:
            return any(fnmatchcase(schema, pattern.partition(".")[0]) for pattern in patterns)
        return any(fnmatchcase(f"{schema}.{table}", pattern) for pattern in patterns)


@cache
def load(name: str) -> Engine:
    """The engine of that name; raises `Unknown`, and `BadInput` for a malformed file."""
    if name not in NAMES:
        raise Unknown("engine", name, f"expected one of: {', '.join(NAMES)}")
    text = resources.files("lakewarden.engines").joinpath(name + _SUFFIX).read_text("utf-8")
    return read(text, name + _SUFFIX)


@cache
def pushed_engines() -> Mapping[str, str]:
    """The engines to which grants are pushed, by the schemes of their addresses.

    >>> pushed_engines()["mariadb"]
    'mysql'
    """
    return {scheme: name for name in NAMES for scheme in load(name).addresses}


def read(text: str, where: str) -> Engine:
    """The engine that TOML `text` declares; `BadInput` names the file and the field."""
    try:
        file = Section(tomllib.loads(text), where)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(error).lower(), where=where) from None
    head = Section(file.take("engine"), file.at("engine"))
    declared = Section(file.take("declared") or {}, file.at("declared"))
    catalogs = Section(declared.take("catalogs") or {}, declared.at("catalogs"))
    config = Section(file.take("config") or {}, file.at("config"))
    guarded = Section(file.take("guarded") or {}, file.at("guarded"))
    guarding = guarded.text("act", "")
    resources = frozenset(head.texts("resources"))
    recorded = head.flag("recorded", default=True)
    engine = Engine(
        name=head.text("name"),
        title=head.text("title"),
        version=head.text("version"),
        source=head.text("source"),
        recorded=recorded,
        addresses=head.texts("addresses"),
        acts={
            name: _act(name, section, resources, recorded)
            for name, section in file.named("acts").items()
        },
        schemas=frozenset(declared.texts("schemas")),
        catalogs={name: catalogs.texts(name) for name in catalogs.names()},
        config={name: config.texts(name) for name in config.names()},
        guarded={name: guarded.texts(name) for name in guarded.names() if name != "act"},
        guarding=guarding,
    )
    if guarding and guarding not in engine.acts:
        raise BadInput(f"unknown operation `{guarding}`", where=guarded.at("act"))
    for section in (head, declared, file):
        section.close()
    for act in engine.acts.values():
        named = ("enters", act.enters), ("lists", act.lists), ("replaces", act.replaces)
        for key, other in named:
            if other and other not in engine.acts:
                at = f'{where}.acts."{act.name}".{key}'
                raise BadInput(f"unknown operation `{other}`", where=at)
    return engine


def _act(name: str, section: Section, resources: Collection[str], recorded: bool) -> Act:
    act = Act(
        name=name,
        title=section.text("title"),
        resources=section.choices("resource", resources),
        second=section.choices("second", resources, required=False),
        own=section.flag("own"),
        whole=section.flag("whole"),
        values=section.flag("values"),
        renames=section.flag("renames"),
        declared=section.flag("declared"),
        silent=section.flag("silent"),
        recorded=section.flag("recorded", default=recorded),
        enters=section.text("enters", ""),
        replaces=section.text("replaces", ""),
        endpoint=section.text("endpoint", ""),
        lists=section.text("lists", ""),
        makes=section.text("makes", ""),
        does=section.text("does", ""),
    )
    section.close()
    return act
