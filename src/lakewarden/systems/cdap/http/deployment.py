"""The contents of an application: read from its configuration, authorized, and created.

    {"programs": [{"type": "workflow", "name": "nightly"}],
     "datasets": ["t1", {"name": "t2", "type": "com.acme.Cube"}],
     "streams": ["s1"],
     "modules": [{"name": "cubes", "className": "com.acme.Cube"}]}

Datasets, streams, modules and types that do not exist yet are created by the deployment, and each
creation is authorized. Programs belong to their application.
SOURCE: cdap reference 2.4, 3.4, 4.10 (P2, P8), K11, K21.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.http import strict_json
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import creating, object_store, owners, scheduled
from lakewarden.systems.cdap.http.authorization import (
    Requirement,
    contents,
    is_stored,
    visible,
)
from lakewarden.systems.cdap.http.bodies import Body, Json, convert
from lakewarden.systems.cdap.http.creating import BUILT_IN_TYPES, TABLE, NewDataSettings
from lakewarden.systems.cdap.http.errors import conflict, not_found
from lakewarden.systems.cdap.http.ids import SYSTEM, inside, namespace_of, of_application
from lakewarden.systems.cdap.http.running import running, shown_ids

CONTENTS: Final = "application.deploy_contents"


class ProgramSpec(Body):
    """A program in a configuration."""

    type: str
    name: str
    description: str | None = None


class DatasetSpec(Body):
    """A dataset with a given type."""

    name: str
    type: str = TABLE


class ModuleSpec(Body, rename="camel"):
    """A dataset module; its only type is named after its class."""

    name: str
    class_name: str


class Config(Body):
    """The part of a configuration that declares the contents of an application."""

    name: str | None = None
    programs: list[ProgramSpec] | None = None
    datasets: list[str | DatasetSpec] | None = None
    streams: list[str] | None = None
    modules: list[ModuleSpec] | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of an application: entities, and their settings."""

    programs: dict[Entity, str | None]
    datasets: dict[Entity, str]
    streams: tuple[Entity, ...]
    modules: dict[Entity, str]


def text_of_config(config: object) -> str:
    """A configuration in the text form of replies: objects are serialized."""
    if config is None:
        return ""
    return config if isinstance(config, str) else json.dumps(config, separators=(",", ":"))


def read_config(config: str) -> Config:
    """Parses a configuration's text; raises `Failure` 400, or `BadInput`, if it is invalid."""
    value = strict_json.read(config.encode("utf-8", "surrogatepass")) if config.strip() else {}
    return convert(value, Config, "config")


def read_contents(application: Entity, config: str) -> Contents:
    """The contents of an application with this configuration. Raises as `read_config`."""
    parsed = read_config(config)
    space = namespace_of(application)
    datasets = [
        DatasetSpec(dataset) if isinstance(dataset, str) else dataset
        for dataset in parsed.datasets or ()
    ]
    return Contents(
        programs={
            of_application(application, program.type, program.name): program.description
            for program in parsed.programs or ()
        },
        datasets={inside(space, "dataset", dataset.name): dataset.type for dataset in datasets},
        streams=tuple(
            dict.fromkeys(inside(space, "stream", stream) for stream in parsed.streams or ())
        ),
        modules={
            inside(space, "dataset_module", m.name): m.class_name for m in parsed.modules or ()
        },
    )


def shown_config(exchange: Exchange, application: Entity, config: str) -> str:
    """The configuration, with only those declared objects that lists show to the caller.

    The text is unchanged if all are visible.
    """
    if not config.strip():
        return config
    value = convert(strict_json.read(config.encode("utf-8", "surrogatepass")), Json, "config")
    shown_value = dict(value)
    for member, type in _DECLARED.items():
        items = value.get(member)
        if isinstance(items, list):
            entities = [_declared_entity(application, type, item) for item in items]
            seen = set(visible(exchange, f"{type}.list", entities))
            pairs = zip(items, entities, strict=True)
            shown_value[member] = [item for item, entity in pairs if entity in seen]
    return config if shown_value == value else text_of_config(shown_value)


_DECLARED: Final = {
    "programs": "program",
    "datasets": "dataset",
    "streams": "stream",
    "modules": "dataset_module",
}
"""The declared objects of a configuration, by member."""


def _declared_entity(application: Entity, type: str, item: str | Mapping[str, str]) -> Entity:
    name = item if isinstance(item, str) else item["name"]
    if type == "program" and not isinstance(item, str):
        return of_application(application, item["type"], name)
    return inside(namespace_of(application), type, name)


def requirements(
    state: RealmState, new_contents: Contents, owner: str | None
) -> Sequence[Requirement]:
    """The requirements for the objects that the deployment would create.

    They apply to the effective owner, as whom the objects are created; to the caller if there is
    none, or if the operation gives created objects to their creator.
    """
    gives = object_store.HOLDS in state.matrix.operation(CONTENTS).effects
    owner_principal = None if gives else owners.person(state, owner)
    new = [
        Requirement(CONTENTS, entity, who=owner_principal) for entity in _new(state, new_contents)
    ]
    return [*new, *_types_in_use(state, new_contents, owner_principal)]


def _new(state: RealmState, new_contents: Contents) -> Iterator[Entity]:
    """The objects that the deployment would create, except programs."""
    modules = _new_modules(state, new_contents)
    types = (creating.type_of_module(module, name) for module, name in modules.items())
    for entity in (*modules, *types, *new_contents.datasets, *new_contents.streams):
        if not is_stored(state, entity):
            yield entity


def _new_modules(state: RealmState, new_contents: Contents) -> dict[Entity, str]:
    """The modules that the deployment would create.

    An existing module adds no type, regardless of its class in the configuration.
    """
    modules = new_contents.modules.items()
    return {module: name for module, name in modules if not is_stored(state, module)}


def _types_in_use(
    state: RealmState, new_contents: Contents, owner_principal: Principal | None
) -> Iterator[Requirement]:
    """The requirements for custom types of new datasets, except types that are created as well."""
    brought = set(_new_modules(state, new_contents).values())
    for dataset, type in new_contents.datasets.items():
        if not is_stored(state, dataset) and type not in brought and type not in BUILT_IN_TYPES:
            yield Requirement(
                "dataset_type.use", type_entity(state, dataset, type), who=owner_principal
            )


def type_entity(state: RealmState, dataset: Entity, type: str) -> Entity:
    """The type of that name: of the dataset's namespace, else of the platform."""
    own = inside(namespace_of(dataset), "dataset_type", type)
    shared = inside(SYSTEM, "dataset_type", type)
    return shared if is_stored(state, shared) and not is_stored(state, own) else own


def create_contents(
    exchange: Exchange,
    transaction: WriteTransaction,
    application: Entity,
    new_contents: Contents,
    principal: str | None,
) -> None:
    """Creates missing objects, and removes programs that are no longer declared.

    `principal` is the given owner; only this one is stored with data. The namespace's owner owns
    objects without an owner of their own, and need not be repeated.

    Raises `Failure` 403 for an existing object with another owner, 404 for a type that does not
    exist, 409 for a built-in type, and for a running program that would be removed.
    SOURCE: cdapio/cdap, CreateStreamsStage and CreateDatasetInstancesStage at v5.1.2.
    """
    owner = owners.effective(transaction.realm(exchange.realm), application, principal)
    _check_owners(exchange, transaction, new_contents, owner)
    settings = NewDataSettings(principal=principal)
    for module, class_name in new_contents.modules.items():
        if not is_stored(transaction.realm(exchange.realm), module):
            creating.put_module(exchange, transaction, CONTENTS, module, class_name)
    for dataset, type in new_contents.datasets.items():
        state = transaction.realm(exchange.realm)
        if not is_stored(state, dataset):
            kind = type_entity(state, dataset, type)
            if type not in BUILT_IN_TYPES and not is_stored(state, kind):
                raise not_found(kind)
            creating.put_dataset(exchange, transaction, CONTENTS, dataset, type, settings)
    for stream in new_contents.streams:
        if not is_stored(transaction.realm(exchange.realm), stream):
            creating.put_stream(exchange, transaction, CONTENTS, stream, settings)
    _settle_programs(exchange, transaction, application, new_contents)


def _check_owners(
    exchange: Exchange, transaction: WriteTransaction, new_contents: Contents, owner: str | None
) -> None:
    """SOURCE: cdapio/cdap, ApplicationVerificationStage at v5.1.2."""
    state = transaction.realm(exchange.realm)
    used = (*new_contents.datasets, *new_contents.streams)
    stored = [entity for entity in used if is_stored(state, entity)]
    bodies = object_store.documents_in(transaction.store, exchange.realm, stored)
    for entity, body in zip(stored, bodies, strict=True):
        owners.check_same(state, CONTENTS, entity, body, owner)


def _settle_programs(
    exchange: Exchange, transaction: WriteTransaction, application: Entity, new_contents: Contents
) -> None:
    stored = contents(transaction.realm(exchange.realm), application, ["program"])
    still = set(running(transaction, exchange.realm, application))
    removed = [program for program in stored if program not in new_contents.programs]
    if still.intersection(removed):
        ids = [program for program in removed if program in still]
        names = shown_ids(exchange, transaction, "program.list", ids)
        raise conflict(f"these programs are still running: {names}")
    if removed:
        object_store.drop(exchange, transaction, "application.delete", *removed)
        scheduled.delete_orphans(transaction, exchange.realm, application, removed)
    for program, description in new_contents.programs.items():
        if program not in stored:
            creating.put_program(exchange, transaction, program, description)
