"""Scenario files: a small world and its expected answers, read into a `Scenario`.

A file names a model, describes a world (entities, people, memberships, owners, relations,
statements) and lists cases. A case either *checks*: these users are allowed, those denied;
or *lists*: exactly these entities for each user. A file is refused as a whole if any word in it is
unknown or misplaced, so a misspelt name never counts as a denial.

The fields of a file are those of `tests/scenarios`; its world's statements are read by
`lakewarden.kernel.statement_file`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import ANY, NONE, Attribute, Operation, Source
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.statement_file import read_entity, read_principal, read_statements
from lakewarden.kernel.toml_section import Section
from lakewarden.models import parsed
from lakewarden.service.defaults import built_in, default_statements
from lakewarden.service.scenarios import NOW, Case, Scenario, Value
from lakewarden.service.system import System, load_system

Loader = Callable[[str, Mapping[str, str]], System]
"""Returns the system of a model's name and settings."""


def find(folder: Path) -> list[Path]:
    """The scenario files in the folder and below it, sorted."""
    return sorted(folder.rglob("*.toml"))


def read(path: Path, load: Loader = load_system) -> Scenario:
    """The scenario in the file; `load` returns the system of a model's name and settings.

    Raises `BadInput` with the file and the path of the field for anything malformed.
    """
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise BadInput("not UTF-8", where=str(path)) from None
    return reads(text, path, load)


def reads(text: str, path: Path, load: Loader = load_system) -> Scenario:
    """The scenario in the TOML `text`; `path` names it in refusals (`BadInput`)."""
    file = Section(parsed(text, str(path)), str(path))
    name = file.text("model")
    settings = {key: inner.text(key, "") for key, inner in _keys(file, "settings")}
    system = file.resolved("model", load, name, settings)
    world = _World(Section(file.take("world"), file.at("world")), system)
    cases = [_Cases(system, world).read(section) for section in file.tables("case")]
    if not cases:
        raise BadInput("expected at least one `case`", where=str(path))
    scenario = Scenario(
        model_name=name,
        settings=settings,
        title=file.text("title"),
        source=file.text("source"),
        path=path,
        system=system,
        facts=world.facts,
        cases=tuple(cases),
    )
    file.close()
    return scenario


class _World:
    """The world of a file, as facts, and the names that cases may use."""

    def __init__(self, section: Section, system: System) -> None:
        self._section = section
        self._system = system
        self._model = system.model
        self.entities = frozenset(self._entities("entities"))
        stored = self._rows()
        principals = tuple(self._principals())
        members = tuple(self._memberships())
        relations = tuple(self._relations())
        attributes = tuple(self._attributes())
        owners = tuple(self._owners())
        raw = section.take("statement")
        tables = [] if raw is None else raw
        if not isinstance(tables, list):
            raise BadInput("expected a list of tables", where=section.at("statement"))
        written = read_statements(tables, self._model, system.spelling, section.where)
        shipped = default_statements(system) if section.flag("defaults") else built_in(system)
        statements = (*shipped, *written)
        section.close()
        roles = {row.of for row in members if row.of.kind == ROLE}
        self.facts = Facts(
            entities=stored,
            relations=relations,
            attributes=attributes,
            owners=owners,
            principals=tuple(dict.fromkeys((*principals, *sorted(roles)))),
            memberships=members,
            statements=statements,
        )
        self._mentioned = {
            *self.facts.principals,
            *(row.member for row in members),
            *(row.owner for row in owners),
            *(actor for statement in statements for actor in statement.principals),
        }
        people = [t for t in self._model.types.values() if t.principal == USER]
        self._strangers = not people or any(t.judged for t in people)

    def entity(self, text: str, section: Section, key: str) -> Entity:
        """The entity of the text `type:name`, stored or not; `type:` is the type alone."""
        type, colon, name = text.partition(":")
        if type and colon and not name:
            section.resolved(key, self._model.check_type, type)
            return Entity(type, "")
        return section.resolved(key, read_entity, text, self._model, self._system.spelling)

    def known(self, text: str, section: Section, key: str) -> Entity:
        """The entity, which must be stored unless the model judges names of its type."""
        entity = self.entity(text, section, key)
        if entity not in self.entities and not self._model.judged(entity.type):
            raise BadInput(f"`{text}` is not defined in the scenario", where=section.at(key))
        return entity

    def stored(self, text: str, section: Section, key: str) -> Entity:
        """The entity, which must be stored."""
        entity = self.entity(text, section, key)
        if entity not in self.entities:
            raise BadInput(f"`{text}` is not defined in the scenario", where=section.at(key))
        return entity

    def asker(self, text: str, section: Section, key: str) -> Principal:
        """A user by the bare name, or any principal by `kind:name`; it must exist in this world."""
        if not text:
            raise BadInput("expected a name", where=section.at(key))
        principal = section.resolved(key, self._system.principal, text)
        if principal not in self._mentioned and not self._strangers:
            raise BadInput(f"`{text}` is not defined in the scenario", where=section.at(key))
        return principal

    def _entities(self, key: str) -> list[Entity]:
        texts = self._section.texts(key)
        if len(set(texts)) < len(texts):
            twice = next(text for text in texts if texts.count(text) > 1)
            raise BadInput(f"`{twice}` occurs twice", where=self._section.at(key))
        return [self.entity(text, self._section, key) for text in texts]

    def _rows(self) -> tuple[EntityRow, ...]:
        placed: dict[Entity, Entity] = {}
        for text, section in _keys(self._section, "placed"):
            child = self.stored(text, section, text)
            placed[child] = self.known(section.text(text), section, text)
        rows: list[EntityRow] = []
        for entity in sorted(self.entities):
            parent = placed.get(entity) or self._system.spelling.parent(entity)
            if parent and parent not in self.entities and not self._model.judged(parent.type):
                message = f"`{parent}`, above `{entity.name}`, is missing"
                raise BadInput(message, where=self._section.at("entities"))
            rows.append(EntityRow(entity, parent))
        return tuple(rows)

    def _principals(self) -> Iterator[Principal]:
        """The listed principals, and those that a stored entity also is."""
        for key, kind in (("users", USER), ("groups", GROUP)):
            for name in self._section.texts(key):
                if not name:
                    raise BadInput("expected a name", where=self._section.at(key))
                yield Principal(kind, name)
        for entity in sorted(self.entities):
            principal = self._model.principal_kind(entity)
            if principal is not None:
                yield Principal(*principal)

    def _memberships(self) -> Iterator[MembershipRow]:
        for text, section in _keys(self._section, "members"):
            of = section.resolved(text, read_principal, text)
            for name in section.texts(text):
                member = section.resolved(text, read_principal, name)
                yield MembershipRow(member, of)

    def _owners(self) -> Iterator[OwnerRow]:
        for text, section in _keys(self._section, "owners"):
            entity = self.known(text, section, text)
            declared = self._model.types.get(entity.type)
            if declared is not None and not declared.owned:
                raise BadInput(f"a `{entity.type}` has no owner", where=section.at(text))
            for owner in section.texts(text):
                name, _, ownership = owner.partition("=")
                principal = section.resolved(text, read_principal, name)
                yield OwnerRow(entity, principal, ownership)

    def _relations(self) -> Iterator[RelationRow]:
        for kind, section in _keys(self._section, "relations"):
            declared = self._model.relations.get(kind)
            if declared is None:
                raise BadInput(f"unknown relation `{kind}`", where=section.where)
            for text, inner in _keys(section, kind):
                source = self.known(text, inner, text)
                _check_type(source, declared.sources, inner, text)
                for other in inner.texts(text):
                    target = self.entity(other, inner, text)
                    _check_type(target, declared.targets, inner, text)
                    yield RelationRow(kind, source, target)

    def _attributes(self) -> Iterator[AttributeRow]:
        free = any("attribute" in f.origin for f in self._model.fields.values())
        for text, section in _keys(self._section, "attributes"):
            entity = self.known(text, section, text)
            for name, inner in _keys(section, text):
                declared = self._model.attributes.get(name)
                if not free and (declared is None or declared.source is Source.REQUEST):
                    raise BadInput(f"no stored attribute `{name}`", where=inner.at(name))
                for value in inner.texts(name):
                    yield AttributeRow(entity, name, value)


class _Cases:
    """Reads the cases of a file over its world."""

    def __init__(self, system: System, world: _World) -> None:
        self._model = system.model
        self._world = world

    def read(self, section: Section) -> Case:
        """The case of one table."""
        operation, privilege = self._act(section)
        checks = {key: self._askers(section, key) for key in ("allow", "deny")}
        is_check = bool(checks["allow"] or checks["deny"])
        title = section.text("title", "")
        rows = section.texts("rows")
        on = self._target(section, operation, is_check=is_check)
        case = Case(
            title=title or f"{operation.name if operation else privilege} in {section.where}",
            rows=rows,
            operation=operation.name if operation else None,
            privilege=privilege,
            on=on,
            allow=checks["allow"],
            deny=checks["deny"],
            within=None if is_check else self._within(section),
            lists=None if is_check else self._lists(section, operation),
            targets=self._targets(section, operation),
            lists_sent=self._lists_sent(section, operation) if is_check else {},
            attributes=self._attributes(section),
            subresources=tuple(
                self._world.entity(text, section, "subresources")
                for text in section.texts("subresources")
            ),
            groups=frozenset(self._groups(section)),
            roles=self._roles(section),
            now=self._now(section),
        )
        section.close()
        if not is_check and (case.targets or case.attributes or case.subresources):
            message = "a listing has no targets, attributes or subresources"
            raise BadInput(message, where=section.where)
        both = set(case.allow) & set(case.deny)
        if both:
            raise BadInput(f"`{min(both).name}` is both allowed and denied", where=section.where)
        return case

    def _act(self, section: Section) -> tuple[Operation | None, str | None]:
        name, privilege = section.text("operation", ""), section.text("privilege", "")
        if bool(name) == bool(privilege):
            raise BadInput("expected one of `operation` and `privilege`", where=section.where)
        if privilege:
            section.resolved("privilege", self._model.privilege, privilege)
            return None, privilege
        return section.resolved("operation", self._model.operation, name), None

    def _askers(self, section: Section, key: str) -> tuple[Principal, ...]:
        return tuple(self._world.asker(text, section, key) for text in section.texts(key))

    def _target(self, section: Section, operation: Operation | None, *, is_check: bool) -> Entity:
        text = section.text("on", "")
        if not is_check and text:
            raise BadInput(
                "a listing specifies its container with `within`", where=section.at("on")
            )
        entity = self._world.entity(text, section, "on") if text else NO_RESOURCE
        if is_check and operation is not None:
            section.resolved("on", operation.rule, entity.type or NONE)
        return entity

    def _within(self, section: Section) -> Entity | None:
        text = section.text("within", "")
        return self._world.entity(text, section, "within") if text else None

    def _lists(
        self, section: Section, operation: Operation | None
    ) -> dict[Principal, frozenset[Entity]]:
        lists = {
            self._world.asker(user, inner, user): frozenset(
                self._world.stored(text, inner, user) for text in inner.texts(user)
            )
            for user, inner in _keys(section, "lists")
        }
        if operation is None or not lists:
            message = "expected `allow` or `deny`, or `lists` of an operation"
            raise BadInput(message, where=section.where)
        return lists

    def _targets(self, section: Section, operation: Operation | None) -> dict[str, Entity]:
        declared = operation.targets if operation else {}
        targets: dict[str, Entity] = {}
        for name, inner in _keys(section, "targets"):
            if name not in declared:
                raise BadInput(f"the operation has no target `{name}`", where=inner.at(name))
            targets[name] = self._world.entity(inner.text(name), inner, name)
            _check_type(targets[name], declared[name], inner, name)
        return targets

    def _lists_sent(
        self, section: Section, operation: Operation | None
    ) -> dict[str, tuple[Entity, ...]]:
        declared = operation.lists if operation else {}
        lists: dict[str, tuple[Entity, ...]] = {}
        for name, inner in _keys(section, "lists"):
            if name not in declared:
                raise BadInput(f"the operation takes no list `{name}`", where=inner.at(name))
            lists[name] = tuple(self._world.entity(t, inner, name) for t in inner.texts(name))
            for entity in lists[name]:
                _check_type(entity, declared[name], inner, name)
        return lists

    def _attributes(self, section: Section) -> dict[str, Value]:
        attributes: dict[str, Value] = {}
        for name, inner in _keys(section, "attributes"):
            declared = self._model.attributes.get(name)
            if declared is None or declared.source is Source.STORED:
                raise BadInput(f"requests have no attribute `{name}`", where=inner.at(name))
            attributes[name] = _value(declared, inner)
        return attributes

    def _groups(self, section: Section) -> Iterator[Principal]:
        for text in section.texts("groups"):
            name = text.removeprefix(f"{GROUP}:")
            yield section.resolved("groups", read_principal, f"group:{name}")

    def _roles(self, section: Section) -> frozenset[Principal] | None:
        raw = section.take("roles")
        if raw is None:
            return None
        texts = Section({"roles": raw}, section.where).texts("roles")
        roles = {section.resolved("roles", read_principal, text) for text in texts}
        if any(role.kind != ROLE for role in roles):
            raise BadInput("expected `role:NAME`", where=section.at("roles"))
        return frozenset(roles)

    def _now(self, section: Section) -> float:
        """Seconds since the epoch, or a date-time with an offset."""
        value = section.take("now")
        if isinstance(value, datetime) and value.tzinfo is not None:
            return value.timestamp()
        now = None if value is None else Section({"now": value}, section.where).number("now")
        return NOW if now is None else now


def _value(declared: Attribute, section: Section) -> Value:
    value: Value | None
    if declared.type is bool:
        value = section.flag(declared.name)
    elif declared.type is float:
        value = section.number(declared.name)
    else:
        value = section.text(declared.name)
    if value is None:
        raise BadInput("expected a number", where=section.at(declared.name))
    return value


def _check_type(entity: Entity, allowed: frozenset[str], section: Section, key: str) -> None:
    if allowed and not {entity.type, ANY} & allowed:
        expected = ", ".join(sorted(allowed))
        message = f"expected one of: {expected}; got a `{entity.type}`"
        raise BadInput(message, where=section.at(key))


def _keys(section: Section, key: str) -> list[tuple[str, Section]]:
    """The keys of the inner table `key`, each with a section from which to take it."""
    value = section.take(key)
    if value is None:
        return []
    if not isinstance(value, Mapping):
        raise BadInput("expected a table", where=section.at(key))
    inner = Section(value, section.at(key))
    return [(str(name), inner) for name in value]
