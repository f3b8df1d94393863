"""A system in the use cases: its declared model together with its spelling of names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lakewarden import models
from lakewarden.engines import mapping
from lakewarden.engines.mapping import EngineMapping
from lakewarden.kernel.entity import NO_RESOURCE, Entity, Spelling
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import (
    ALL_USERS,
    ANY_GROUP,
    GROUP,
    MASTER,
    ROLE,
    SERVICE_ADMINS,
    USER,
    Principal,
)
from lakewarden.kernel.statement_file import read_entity, read_principal
from lakewarden.models import own
from lakewarden.models.own import ModelText
from lakewarden.names import control, plain
from lakewarden.names.identities import BY_NAME, Identities
from lakewarden.registry import registry

_IMPLIED = {ALL_USERS.name, ANY_GROUP.name, SERVICE_ADMINS.name, MASTER.name}

_OWN_SPELLINGS: dict[str, Spelling] = {"control": control, "plain": plain}
"""The spellings that belong to no governed system."""


@dataclass(frozen=True, slots=True)
class System:
    """A model and the spelling of its names; `text` is that of a custom model."""

    model: Model
    spelling: Spelling
    text: ModelText | None = None

    @property
    def identities(self) -> Identities:
        """The system's names of users and groups."""
        identities: Identities = getattr(self.spelling, "IDENTITIES", BY_NAME)
        return identities

    @property
    def switches(self) -> Mapping[str, str]:
        """By type, the attribute that tells whether an entity and its contents are in use."""
        switches: Mapping[str, str] = getattr(self.spelling, "SWITCHES", {})
        return switches

    @property
    def engines(self) -> Mapping[str, EngineMapping]:
        """By engine, the model's requirements for acts of the engine."""
        if self.text is None:
            return mapping.of_model(self.model.name)
        return own.engines(self.text)

    def entity(self, text: str | None) -> Entity:
        """The entity of a text `type:name`, or of a URN alone if it has one.

        None is the request without a resource. Raises `BadInput` or `Unknown`.
        """
        if text is None:
            return NO_RESOURCE
        return self.identities.entity(text) or read_entity(text, self.model, self.spelling)

    def check_parent(self, entity: Entity, parent: Entity) -> None:
        """Raises `BadInput` if the entity, by its name, belongs to another parent.

        >>> lake = load_system("gravitino")
        >>> lake.check_parent(Entity("schema", "lk:c.s"), Entity("catalog", "lk:c"))
        """
        spelled = self.spelling.parent(entity)
        if spelled not in (None, parent):
            raise BadInput(
                f"`{entity}` does not lie in `{parent}`, by its name",
                where="parent",
            )

    def principal(self, text: str) -> Principal:
        """The principal of a text `kind:name`; a bare name, or a URN, is a user's.

        >>> load_system("gravitino").principal("ana")
        Principal(kind='user', name='ana')
        >>> load_system("datahub").principal("group:staff")
        Principal(kind='group', name='urn:li:corpGroup:staff')
        """
        named = self.identities.principal(text)
        if named is not None:
            return named
        kind = text.partition(":")[0]
        if kind in (USER, GROUP, ROLE, "members") or text in _IMPLIED:
            return self.identities.spelled(read_principal(text))
        return self.identities.user(text)

    def spelled(self, person: Principal) -> Principal:
        """A person or group of a directory, in the spelling of this system.

        >>> load_system("datahub").spelled(Principal("group", "staff"))
        Principal(kind='group', name='urn:li:corpGroup:staff')
        """
        return self.identities.spelled(person)


def load_system(
    name: str, settings: Mapping[str, str] | None = None, text: ModelText | None = None
) -> System:
    """The system of the model `name`: a shipped one, or the one that `text` declares.

    Raises `Unknown` or `BadInput` like `models.load` and `models.own.read`.
    """
    if text is None:
        return of_model(models.load(name, settings))
    model = own.read(text, settings, name)
    if model.name != name:
        raise BadInput(f"expected the model `{name}`, got `{model.name}`")
    return replace(of_model(model), text=text)


def of_model(model: Model) -> System:
    """The system of an already loaded model; raises `BadInput` if its spelling is unknown."""
    spelling = _OWN_SPELLINGS.get(model.spelling) or registry().spelling(model.spelling)
    if spelling is None:
        expected = ", ".join(sorted((*_OWN_SPELLINGS, *registry().spellings())))
        raise BadInput(f"unknown spelling `{model.spelling}`; expected one of: {expected}")
    return System(model, spelling)
