"""The meaning of another catalog's privileges in Gravitino: one validated file for each source.

Every privilege of the source is named once, with its meaning by type of entity, or with `never` and
the reason; so is every kind of object, and every feature without a counterpart.

    [source]        name, title, documents; `opens`: a grant on a container or inside it includes
                    using the container; `one_catalog`: names have no catalog, an option gives it;
                    `single_role`: a user acts as one role at a time, with the roles it inherits;
                    `not_read`: data that may restrict access and is in no export
    [kinds.WORD]    `type`, or `never`; `words`: further words for it. `rest` is for all others
    [principals.WORD]  `kind` (user, group, role) or `never`; `pattern`: names that are of that kind
                    if the source does not tell; `everybody`: those that all users are in;
                    `listed`: principals missing from the export's list do not exist, with `always`
                    also if there is no list; `in_people`: principals missing from the people of
                    inventories, if these have any, do not exist; `qualified`: names are those in
                    one container
    [privileges.WORD]  the meaning by type, or `never`; `needs`: privileges that the grantee must
                    also have there; `all`: everything that other privileges mean
    [[together]]    `privileges` that together on one entity mean more than each alone
    [owner]         by type: what an owner may do; `owner = true` if a user is owner here as well,
                    `users = true` if only users own anything
    [inside]        `privileges`; a role needs one of them on every container of its objects
    [features.NAME] `title`, `never`
    [tables.NAME]   how a table of an export is read, see `table_spec`
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import GROUP, ROLE, USER
from lakewarden.kernel.toml_section import Section
from lakewarden.systems.gravitino.ingest.catalogs.table_spec import TableSpec, read_table

NAMES: Final = (
    "unity-catalog",
    "unity-server",
    "snowflake",
    "glue",
    "bigquery",
    "hive",
    "iceberg",
    "people",
)
"""All sources, by the names of their files."""

PACKAGE: Final = "lakewarden.systems.gravitino"

Meaning = Mapping[str, tuple[str, ...]]
"""Privileges of the model, by the type of entity on which they are granted."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object of the source: its `type` here, or the reason why it is `never` here."""

    type: str
    never: str


@dataclass(frozen=True, slots=True)
class PrincipalKind:
    """A kind of principal of the source: user, group or role, or the reason why it is `never` here.

    `everybody` are the names of this kind that all users are in. With `is_listed`, a principal
    missing from a list of the export does not exist; with `is_always_listed`, also without a list.
    With `is_in_people`, one missing from the people of inventories does not exist. With
    `is_qualified`, the container is part of the name.
    """

    kind: str
    never: str
    pattern: re.Pattern[str] | None
    everybody: frozenset[str] = frozenset()
    is_listed: bool = False
    is_always_listed: bool = False
    is_in_people: bool = False
    is_qualified: bool = False


@dataclass(frozen=True, slots=True)
class Privilege:
    """A privilege of the source.

    `means` is empty if `never` says why it does not carry over. `needs` are privileges all of which
    the grantee must have, on the entity or above it. `is_all`: the meaning of all others, and
    `means`.
    """

    means: Meaning
    never: str
    needs: tuple[str, ...]
    is_all: bool
    note: str


@dataclass(frozen=True, slots=True)
class PrivilegeCombination:
    """Privileges that mean more if a grantee has all of them on one entity."""

    privileges: frozenset[str]
    means: Meaning


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of the source without a counterpart, and the reason."""

    title: str
    never: str


@dataclass(frozen=True, slots=True)
class Ownership:
    """The rights of an owner: `is_owner` if a user owns the entity here as well, and privileges.

    `of_users`: only users own anything.
    """

    is_owner: bool
    means: tuple[str, ...]
    of_users: bool


@dataclass(frozen=True, eq=False)
class SourceMapping:
    """The mapping of one source, see the module."""

    name: str
    title: str
    documents: str
    opens: bool
    one_catalog: bool
    single_role: bool
    not_read: tuple[str, ...]
    kinds: Mapping[str, Kind]
    rest: str
    principals: Mapping[str, PrincipalKind]
    privileges: Mapping[str, Privilege]
    together: tuple[PrivilegeCombination, ...]
    owner: Mapping[str, Ownership]
    inside: tuple[str, ...]
    features: Mapping[str, Feature]
    tables: Mapping[str, TableSpec]

    def word(self, text: str) -> str:
        """A privilege in the mapping's spelling."""
        return _word(text)

    def kind(self, word: str) -> Kind:
        """The kind of a word of the source; unknown words are `rest`."""
        return self.kinds.get(_word(word)) or Kind("", self.rest or "unknown kind of object")

    def privilege(self, word: str) -> Privilege:
        """The privilege of a word of the source; an unknown one has no meaning."""
        return self.privileges.get(_word(word)) or _UNKNOWN

    def meaning(self, word: str, type: str) -> tuple[str, ...]:
        """The meaning of a source's privilege on an entity of the type."""
        privilege = self.privilege(word)
        if not privilege.is_all:
            return privilege.means.get(type, ())
        each = [p.means.get(type, ()) for p in self.privileges.values()]
        return tuple(sorted({name for names in each for name in names}))

    def principal_kind(self, word: str, name: str) -> tuple[PrincipalKind, str]:
        """The kind and the name of a principal, by the source's word or the first matching pattern.

        The name is the group of the pattern, if it has one.
        """
        unknown = PrincipalKind("", "unknown principal", None)
        if word:
            return self.principals.get(_word(word), unknown), name
        for kind in self.principals.values():
            match = kind.pattern.fullmatch(name) if kind.pattern is not None else None
            if match is not None:
                return kind, match.groupdict().get("name", name)
        return unknown, name


_UNKNOWN: Final = Privilege({}, "unknown privilege", (), False, "")


def _word(text: str) -> str:
    """A word of a source: some exports use blanks, others underscores."""
    return text.upper().replace(" ", "_")


@cache
def load(name: str) -> str:
    """The text of the mapping file of a source. Raises `Unknown`."""
    if name not in NAMES:
        raise Unknown("source", name, f"expected one of: {', '.join(NAMES)}")
    return resources.files(PACKAGE).joinpath(f"sources/{name}.toml").read_text("utf-8")


def mapping(name: str, model: Model) -> SourceMapping:
    """The mapping of a source, validated against the model. Raises `BadInput` and `Unknown`."""
    return read(load(name), f"gravitino/sources/{name}.toml", model)


def read(text: str, where: str, model: Model) -> SourceMapping:
    """The mapping in the TOML `text`; `BadInput` names the file and the field."""
    try:
        file = Section(tomllib.loads(text), where)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(error).lower(), where=where) from None
    head = Section(file.take("source"), file.at("source"))
    kinds, rest = _kinds(file, model)
    privileges = {
        name: _privilege(section, model) for name, section in file.named("privileges").items()
    }
    _check_needs(privileges, file.at("privileges"))
    inside = Section(file.take("inside") or {}, file.at("inside"))
    principals = {name: _principal(section) for name, section in file.named("principals").items()}
    features = {
        name: Feature(section.text("title"), section.text("never"))
        for name, section in file.named("features").items()
    }
    made = SourceMapping(
        name=head.text("name"),
        title=head.text("title"),
        documents=head.text("documents"),
        opens=head.flag("opens"),
        one_catalog=head.flag("one_catalog"),
        single_role=head.flag("single_role"),
        not_read=head.texts("not_read"),
        kinds=kinds,
        rest=rest,
        principals=principals,
        privileges=privileges,
        together=tuple(_combination(s, privileges, model) for s in file.tables("together")),
        owner={type: _owner(type, s, model) for type, s in file.named("owner").items()},
        inside=inside.choices("privileges", privileges.keys(), required=False),
        features=features,
        tables={
            name: read_table(name, section, kinds, principals, features)
            for name, section in file.named("tables").items()
        },
    )
    for section in (inside, head, file):
        section.close()
    return made


def _combination(
    section: Section, privileges: Collection[str], model: Model
) -> PrivilegeCombination:
    names = section.choices("privileges", privileges)
    return PrivilegeCombination(frozenset(names), _meaning(section, model))


def _kinds(file: Section, model: Model) -> tuple[dict[str, Kind], str]:
    rest = file.text("rest", "")
    kinds: dict[str, Kind] = {}
    for name, section in file.named("kinds").items():
        type, never = section.text("type", ""), section.text("never", "")
        if bool(type) is bool(never):
            raise BadInput("expected `type` or `never`", where=section.where)
        if type and type not in model.types:
            raise BadInput(f"unknown type `{type}`", where=section.at("type"))
        for word in (name, *section.texts("words")):
            if word in kinds:
                raise BadInput(f"`{word}` is named twice", where=section.where)
            kinds[word] = Kind(type, never)
        section.close()
    return kinds, rest


def _principal(section: Section) -> PrincipalKind:
    kind, never = section.text("kind", ""), section.text("never", "")
    if bool(kind) is bool(never):
        raise BadInput("expected `kind` or `never`", where=section.where)
    if kind and kind not in (USER, GROUP, ROLE):
        raise BadInput(f"unknown kind of principal `{kind}`", where=section.at("kind"))
    pattern, everybody = section.text("pattern", ""), frozenset(section.texts("everybody"))
    if everybody and not kind:
        raise BadInput("who is never here is not everybody", where=section.at("everybody"))
    try:
        made = PrincipalKind(
            kind,
            never,
            re.compile(pattern) if pattern else None,
            everybody,
            is_listed=section.flag("listed"),
            is_always_listed=section.flag("always"),
            is_in_people=section.flag("in_people"),
            is_qualified=section.flag("qualified"),
        )
    except re.error as error:
        raise BadInput(str(error), where=section.at("pattern")) from None
    section.close()
    return made


def _privilege(section: Section, model: Model) -> Privilege:
    never, note = section.text("never", ""), section.text("note", "")
    needs, is_all = section.texts("needs"), section.flag("all")
    means = _meaning(section, model)
    if bool(never) is bool(means or is_all):
        raise BadInput("expected what it means by type, or `never`", where=section.where)
    return Privilege(means, never, needs, is_all, note)


def _check_needs(privileges: Mapping[str, Privilege], where: str) -> None:
    for name, privilege in privileges.items():
        for needed in privilege.needs:
            if needed not in privileges:
                raise BadInput(f"unknown privilege `{needed}`", where=f"{where}.{name}.needs")


def _meaning(section: Section, model: Model) -> dict[str, tuple[str, ...]]:
    """The rest of a table: privileges of the model by the type on which they are granted."""
    meaning = {}
    for type in section.names():
        names = section.texts(type)
        _check_privileges(type, names, model, section.at(type))
        meaning[type] = names
    return meaning


def _owner(type: str, section: Section, model: Model) -> Ownership:
    names = section.texts("privileges")
    _check_privileges(type, names, model, section.at("privileges"))
    made = Ownership(section.flag("owner"), names, section.flag("users"))
    if made.is_owner and not model.types[type].owned:
        raise BadInput(f"a `{type}` has no owner", where=section.where)
    section.close()
    return made


def _check_privileges(type: str, names: Iterable[str], model: Model, where: str) -> None:
    if type not in model.types:
        raise BadInput(f"unknown type `{type}`", where=where)
    for name in names:
        try:
            on: Collection[str] = model.privilege(name).on
        except Unknown:
            raise BadInput(f"unknown privilege `{name}`", where=where) from None
        if type not in on:
            raise BadInput(f"`{name}` cannot be granted on a `{type}`", where=where)
