"""A service type of Apache Ranger: its accesses, and the acts of an engine that each one opens.

Every access of the type is listed once in its file, with acts or with `never` and the reason. The
acts are those of an engine here; their requirements are in the mapping of that engine alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Final

from lakewarden.engines import engine as engines
from lakewarden.engines.engine import Engine
from lakewarden.engines.mapping import PARTS
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.toml_section import Section

TYPES: Final = ("hdfs", "hive", "kafka", "trino")
"""The known service types."""

ANY: Final = "_any"
"""Ranger's word for any access."""

CATALOG: Final = "catalog"
FILE_SYSTEM: Final = "file system"
"""What a service governs, unless that is all catalogs of the engine."""

_SUFFIX: Final = ".toml"


@dataclass(frozen=True, slots=True)
class Level:
    """What policies name: objects of the engine, or things that belong to none of them.

    `part` is the part of a name that it adds to the level `within`; without it the level has
    no object. `named` is Ranger's name of the part; policies do not name a `hidden` one.
    `rest` are levels of Ranger that a policy covers whole, except for `excludes`. Any access also
    allows the acts `any`; `unseen` is the reason why these alone are not given, where no access
    corresponds to them. A `located` level is named by file paths, and covers everything below.
    """

    name: str
    part: str
    named: str
    within: str
    rest: tuple[str, ...]
    any: tuple[str, ...]
    hidden: bool = False
    located: bool = False
    unseen: str = ""
    excludes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """One access: the acts that it `opens` by level, or why it is `never` given.

    Acts `within` apply to the container of the level's object, as creating it does: the access is
    given on what is stored there. `left` is why it is not given everywhere the acts may apply.
    `changes` are acts on existing rows, which append-only tables do not have.
    `reads` is the level at which row filters and column masks bind it.
    """

    name: str
    opens: Mapping[str, tuple[str, ...]]
    reads: str
    never: str
    within: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left: str = ""
    changes: frozenset[str] = frozenset()

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels on which it may be given."""
        return tuple(dict.fromkeys((*self.opens, *self.within)))

    @property
    def acts(self) -> frozenset[str]:
        """The acts that it opens somewhere."""
        return frozenset().union(*self.opens.values())


@dataclass(frozen=True, slots=True)
class RangerService:
    """A service type. `own` is a level of Ranger and the access that everybody has on themselves.

    `governs` is what one service stands for: a catalog, a file system, or "" for all catalogs.
    `folds`: the engine ignores the case of names. `wildcards`: filters and
    masks may name columns by wildcards. `types` are the engine's names for types of catalogs, with
    parameters where `(…)` is in the engine's name.
    """

    type: str
    title: str
    source: str
    engine: Engine
    levels: Mapping[str, Level]
    accesses: Mapping[str, Access]
    own: tuple[str, str] | None
    governs: str
    folds: bool
    wildcards: bool
    types: Mapping[str, str]

    @property
    def reading(self) -> Access | None:
        """The access that row filters and column masks bind; None if there is none."""
        return next((access for access in self.accesses.values() if access.reads), None)

    def takes_whole(self, acts: Iterable[str]) -> bool:
        """Whether one of these acts exposes all rows and values of a table, like reading its files.

        >>> load("hdfs").takes_whole(["ReadFiles"]), load("hdfs").takes_whole(["ReadTableFiles"])
        (False, True)
        """
        return any(self.engine.acts[act].whole for act in acts)

    def type_of(self, type: str) -> str | None:
        """The engine's name for a type of a catalog; None if that is not certain.

        >>> load("trino").type_of("string"), load("trino").type_of("Decimal(10, 2)")
        ('varchar', 'decimal(10,2)')
        """
        name, bracket, parameters = "".join(type.lower().split()).partition("(")
        form = self.types.get(f"{name}(…)" if bracket else name)
        is_whole = not bracket or re.fullmatch(r"\d{1,4}(,\d{1,4})?\)", parameters)
        if form is None or not is_whole:
            return None
        return form.replace("(…)", f"({parameters}")

    def path(self, level: Level) -> tuple[Level, ...]:
        """The level and its containing levels, from the outermost.

        >>> trino = load("trino")
        >>> [level.name for level in trino.path(trino.levels["table"])]
        ['catalog', 'schema', 'table']
        """
        above = self.path(self.levels[level.within]) if level.within else ()
        return (*above, level)


@cache
def load(type: str) -> RangerService:
    """The service type of that name; raises `Unknown`, and `BadInput` for a malformed file."""
    if type not in TYPES:
        raise Unknown("service type", type, f"expected one of: {', '.join(TYPES)}")
    file = f"ranger-{type}{_SUFFIX}"
    return read(resources.files("lakewarden.engines").joinpath(file).read_text("utf-8"), file)


def read(text: str, where: str) -> RangerService:
    """The service type that TOML `text` declares; `BadInput` names the file and the field."""
    try:
        file = Section(tomllib.loads(text), where)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(error).lower(), where=where) from None
    head = Section(file.take("service"), file.at("service"))
    engine = engines.load(head.choice("engine", dict.fromkeys(engines.NAMES)))
    names = head.texts("accesses")
    levels = {name: _level(name, one, engine) for name, one in file.named("levels").items()}
    for level in levels.values():
        if level.within and level.within not in levels:
            at = f"{where}.levels.{level.name}.within"
            raise BadInput(f"unknown level `{level.within}`", where=at)
    sections = file.named("accesses")
    _check_complete(names, sections, file.at("accesses"))
    service = RangerService(
        type=head.text("type"),
        title=head.text("title"),
        source=head.text("source"),
        engine=engine,
        levels=levels,
        accesses={name: _access(name, one, levels, engine) for name, one in sections.items()},
        own=_own(head),
        governs=head.choice("governs", dict.fromkeys(("", CATALOG, FILE_SYSTEM)), ""),
        folds=head.flag("folds", default=True),
        wildcards=head.flag("wildcards", default=True),
        types=_types(file),
    )
    for section in (head, file):
        section.close()
    return service


def _types(file: Section) -> Mapping[str, str]:
    given = Section(file.take("types") or {}, file.at("types"))
    types = {name: given.text(name) for name in given.names()}
    given.close()
    return types


def _own(head: Section) -> tuple[str, str] | None:
    given = head.take("own")
    if given is None:
        return None
    section = Section(given, head.at("own"))
    own = section.text("resource"), section.text("access")
    section.close()
    return own


def _check_complete(names: tuple[str, ...], given: Mapping[str, object], where: str) -> None:
    unknown, missing = sorted({*given} - {*names}), sorted({*names} - {*given})
    if unknown:
        raise BadInput(f"`{unknown[0]}` is no access of the service type", where=where)
    if missing:
        raise BadInput(f"nothing said of `{missing[0]}`", where=where)


def _level(name: str, section: Section, engine: Engine) -> Level:
    part = section.choice("part", {"": "", **dict.fromkeys(sorted(PARTS))}, "")
    level = Level(
        name=name,
        part=part,
        named=section.text("named", part),
        within=section.text("within", ""),
        rest=section.texts("rest"),
        any=section.choices("any", engine.acts, required=False),
        hidden=section.flag("hidden"),
        located=section.flag("located"),
        unseen=section.text("unseen", ""),
        excludes=section.texts("excludes"),
    )
    section.close()
    return level


def _access(name: str, section: Section, levels: Mapping[str, Level], engine: Engine) -> Access:
    opens, within = (
        _acts(section, "opens", levels, engine),
        _acts(section, "within", levels, engine),
    )
    access = Access(
        name=name,
        opens=opens,
        within=within,
        changes=frozenset(section.choices("changes", engine.acts, required=False)),
        left=section.text("left", ""),
        reads=section.choice("reads", {"": "", **levels}, ""),
        never=section.text("never", ""),
    )
    section.text("note", "")
    if bool(access.levels) == bool(access.never):
        raise BadInput("expected either `opens` or `never`", where=section.at("opens"))
    section.close()
    return access


def _acts(
    section: Section, key: str, levels: Mapping[str, Level], engine: Engine
) -> Mapping[str, tuple[str, ...]]:
    """Acts of the engine by level."""
    given = Section(section.take(key) or {}, section.at(key))
    for level in given.names():
        if level not in levels:
            raise BadInput(f"unknown level `{level}`", where=given.at(level))
    acts = {level: given.choices(level, engine.acts) for level in given.names()}
    given.close()
    return acts
