"""Known entities: stored ones, principals of the directory, and shipped roles."""

from __future__ import annotations

from collections.abc import Mapping

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.service.state import People, RealmState, State
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.use_cases import aspects


def is_known(state: RealmState, entity: Entity) -> bool:
    """Whether the entity is stored, a principal of the directory, or a shipped role."""
    coded = state.matrix.snapshot.coded
    if aspects.exists(entity, state.matrix.snapshot):
        return True
    principal_key = coded.model.principal_kind(entity)
    id = None if principal_key is None else coded.memberships.ids.get(Principal(*principal_key))
    return id in coded.memberships.stored or entity.name in coded.model.role_names


def is_of_directory(state: State, realm_state: RealmState, entity: Entity) -> bool:
    """Whether the directory of the realm has the user or the group."""
    kind = realm_state.system.model.principal_kind(entity)
    people = state.people.get(realm_state.realm.directory, People())
    names = () if kind is None else (datahub.key_parts(entity.name)[0], entity.name)
    return kind is not None and any(Principal(kind[0], n) in people.principals for n in names)


def people(state: RealmState, type: str) -> list[Entity]:
    """All entities of a type of principals: stored ones, and those of the directory."""
    snapshot = state.matrix.snapshot
    coded = snapshot.coded
    entities = {coded.tree.entity(id) for id in snapshot.of_type(type)}
    entities = {entity for entity in entities if coded.is_known(entity)}
    for id in coded.memberships.stored:
        name = coded.memberships.principals[id].name
        if name.startswith(f"urn:li:{type}:"):
            entities.add(Entity(type, name))
    if type == "dataHubRole":
        entities |= {Entity(type, name) for name in coded.model.role_names}
    return sorted(entities)


def role_info(call: Call, entity: Entity) -> Mapping[str, str]:
    """A role's name and description: as written, or as shipped."""
    value = call.aspect(entity, "dataHubRoleInfo")
    shipped = [r for r in call.state.system.model.roles if r["name"] == entity.name]
    title = str(shipped[0]["title"]) if shipped else _key(entity)
    note = str(shipped[0].get("description", "")) if shipped else ""
    name, description = value.get("name") or title, value.get("description") or note
    return {"name": str(name), "description": str(description)}


def _key(entity: Entity) -> str:
    return datahub.key_parts(entity.name)[-1]
