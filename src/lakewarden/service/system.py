"""A system as the use cases see it: its declared model together with its spelling of names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lakewarden import models
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
from lakewarden.names import cdap, control, datahub, gravitino, plain

_URN = "urn:li:"
_IMPLIED = {ALL_USERS.name, ANY_GROUP.name, SERVICE_ADMINS.name, MASTER.name}

_SPELLINGS: dict[str, Spelling] = {
    "cdap": cdap,
    "control": control,
    "datahub": datahub,
    "gravitino": gravitino,
    "plain": plain,
}


@dataclass(frozen=True, slots=True)
class System:
    """A model and the spelling that its names follow; `text` is that of a model of one's own."""

    model: Model
    spelling: Spelling
    text: ModelText | None = None

    def entity(self, text: str | None) -> Entity:
        """The entity that people write `type:name`, or by its URN alone where it has one.

        None is the request without a resource. Raises `BadInput` or `Unknown`.
        """
        if text is None:
            return NO_RESOURCE
        if self.spelling is datahub and text.startswith(_URN):
            return datahub.parse("", text)
        return read_entity(text, self.model, self.spelling)

    def principal(self, text: str) -> Principal:
        """The principal that people write `kind:name`; a bare name, or a URN, is a user's.

        >>> load_system("gravitino").principal("ana")
        Principal(kind='user', name='ana')
        """
        kind = text.partition(":")[0]
        if self.spelling is datahub and text.startswith(_URN):
            return datahub.actor(text)
        if kind in (USER, GROUP, ROLE, "members") or text in _IMPLIED:
            return read_principal(text)
        return Principal(USER, datahub.user_urn(text) if self.spelling is datahub else text)

    def spelled(self, person: Principal) -> Principal:
        """A person or group of a directory, as this system spells it.

        >>> load_system("datahub").spelled(Principal("group", "staff"))
        Principal(kind='group', name='urn:li:corpGroup:staff')
        """
        if self.spelling is control and person.kind in (USER, GROUP):
            return Principal(person.kind, control.person(control.HOME, person.name))
        if self.spelling is not datahub or person.name.startswith(_URN):
            return person
        match person.kind:
            case "user":
                return Principal(USER, datahub.user_urn(person.name))
            case "group":
                return Principal(GROUP, datahub.group_urn(person.name))
            case _:
                return person


def load_system(
    name: str, settings: Mapping[str, str] | None = None, text: ModelText | None = None
) -> System:
    """The system of the model `name`: a shipped one, or the one that `text` declares.

    Raises `Unknown` or `BadInput` as `models.load` and `models.own.read` do.
    """
    if text is None:
        return of_model(models.load(name, settings))
    model = own.read(text, settings, name)
    if model.name != name:
        raise BadInput(f"expected the model `{name}`, got `{model.name}`")
    return replace(of_model(model), text=text)


def of_model(model: Model) -> System:
    """The system of an already loaded model; `BadInput` when its spelling is not known."""
    spelling = _SPELLINGS.get(model.spelling)
    if spelling is None:
        expected = ", ".join(sorted(_SPELLINGS))
        raise BadInput(f"unknown spelling `{model.spelling}`; expected one of: {expected}")
    return System(model, spelling)
