"""Scenario cases with an operation that no path of CDAP checks alone.

Some operations are checked together with another one: naming an owner principal is part of creating
something. Such a question is *carried*: its caller gets all other permissions that the request
needs, so this operation alone decides. Data writes, and the core rules of types without paths, are
checked by programs and other services: over AuthZEN, by the question's own user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from lakewarden.kernel.change import EntityAdded, StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import SYSTEM
from lakewarden.service.effect import DocumentChanged
from lakewarden.service.scenarios import Case, Question, Scenario
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http.creating import BUILT_IN_TYPES
from tests.http.authzen.small import Asking, state
from tests.http.authzen.small import question as evaluation
from tests.systems.cdap.http.calls import Call, path
from tests.systems.cdap.http.test_scenarios import RESERVED, Trial, effects
from tests.systems.cdap.http.wire import REALM, Wire

NAME: Final = "carrier"
"""The name of the additional objects in the requests: an application, an artifact, and so on."""

PASSED: Final = {200, 404}


class Errand(NamedTuple):
    """A request that checks the question, and the caller's other required actions, by id.

    `by`: the caller, if it is not the question's user; `own` are the actions that the user needs in
    that case.
    """

    call: Call
    needs: Mapping[str, str]
    by: str | None = None
    own: Mapping[str, str] = {}


class World(NamedTuple):
    """The context of an errand: the profile, and the stored entities."""

    profile: str
    entities: frozenset[Entity]

    @property
    def spaces(self) -> list[str]:
        """The namespaces in which objects can be created, by name."""
        found = (one.name for one in self.entities if one.type == "namespace")
        return sorted(name for name in found if name not in RESERVED)

    def below(self, space: Entity) -> list[Entity]:
        """Everything in a namespace."""
        return [one for one in self.entities if one != space and _space(one) == space]


Make = Callable[[World, Question], Iterator[Errand]]


def _space(entity: Entity) -> Entity:
    return Entity("namespace", cdap.parts(entity)[0])


def _from_artifact(more: Mapping[str, Any]) -> dict[str, Any]:
    return {"artifact": {"name": NAME, "version": "1.0"}, **more}


def _deployment(space: str, name: str) -> dict[str, str]:
    """The actions required to deploy an application from the artifact, in either profile."""
    return {
        f"application:{space}.{name}": "ADMIN",
        f"artifact:{space}.{NAME}": "READ",
    }


def deploying(world: World, question: Question) -> Iterator[Errand]:
    """A deployment that creates only the entity; also with an owner, if owners are checked."""
    entity, space = question.entity, _space(question.entity).name
    name = cdap.parts(entity)[1]
    module, type = f"dataset_module:{space}.{NAME}", f"dataset_type:{space}.{NAME}"
    config, more = {
        "dataset": ({"datasets": [name]}, {}),
        "stream": ({"streams": [name]}, {}),
        "dataset_module": ({"modules": [{"name": name, "className": NAME}]}, {type: "ADMIN"}),
        "dataset_type": ({"modules": [{"name": NAME, "className": name}]}, {module: "ADMIN"}),
    }[entity.type]
    body = _from_artifact({"config": config})
    over = f"namespaces/{space}/apps/{NAME}"
    yield Errand(Call("PUT", over, body), {**_deployment(space, NAME), **more})
    if world.profile == "cdap":
        owner = f"{question.principal.name}@CORP"
        needs = {**_deployment(space, "owned"), f"kerberosprincipal:{owner}": "ADMIN"}
        owned = Call("PUT", f"namespaces/{space}/apps/owned", {**body, "principal": owner})
        yield Errand(owned, needs, by=NAME, own=more)


def using_a_principal(world: World, question: Question) -> Iterator[Errand]:
    """A namespace, a dataset, a stream and an application, each with the owner principal."""
    owner = question.entity.name
    made = {"config": {"principal": owner, "keytabURI": "file:///keytab"}}
    needs = {f"namespace:{NAME}": "ADMIN", "instance:cdap": "WRITE"}
    yield Errand(Call("PUT", f"namespaces/{NAME}", made), needs)
    for space in world.spaces[:1]:
        above, at = {f"namespace:{space}": "WRITE"}, f"namespaces/{space}"
        dataset, stream = f"dataset:{space}.{NAME}", f"stream:{space}.{NAME}"
        body = {"typeName": "table", "principal": owner}
        yield Errand(Call("PUT", f"{at}/data/datasets/{NAME}", body), {**above, dataset: "ADMIN"})
        own = {"principal": owner}
        yield Errand(Call("PUT", f"{at}/streams/{NAME}", own), {**above, stream: "ADMIN"})
        owned = {**above, **_deployment(space, "owned")}
        yield Errand(Call("PUT", f"{at}/apps/owned", _from_artifact(own)), owned)


def using_a_type(world: World, question: Question) -> Iterator[Errand]:
    """Creates a dataset of the type, in the type's namespace, or anywhere if the type is shared."""
    space, type = cdap.parts(question.entity)
    if space in RESERVED:
        space = world.spaces[0]
    needs = {f"namespace:{space}": "WRITE", f"dataset:{space}.{NAME}": "ADMIN"}
    call = Call("PUT", f"namespaces/{space}/data/datasets/{NAME}", {"typeName": type})
    yield Errand(call, needs)


def deleting_a_namespace(world: World, question: Question) -> Iterator[Errand]:
    """The deletion, by a user who may delete all of the namespace except the question's entity."""
    space = _space(question.entity)
    kept = {question.entity, _judged_by(world, question.entity)}
    needs = {
        cdap.format_id(one): "ADMIN" for one in (space, *world.below(space)) if one not in kept
    }
    yield Errand(Call("DELETE", f"unrecoverable/{path(space)}"), needs)


def _judged_by(world: World, entity: Entity) -> Entity:
    """The entity whose ADMIN action permits deletion together with the namespace."""
    if world.profile == "cdap_parent_write" or entity.type == "dataset_type":
        return _space(entity)
    return cdap.parent(entity) or entity if entity.type == "program" else entity


def _metadata(method: str, below: str, body: object = None) -> Make:
    def make(_: World, question: Question) -> Iterator[Errand]:
        yield Errand(Call(method, f"{path(question.entity)}/metadata{below}", body), {})

    return make


CARRIED: Final[Mapping[str, Make]] = {
    "application.deploy_contents": deploying,
    "principal.use": using_a_principal,
    "dataset_type.use": using_a_type,
    "namespace.delete": deleting_a_namespace,
    "namespace.delete.contents": deleting_a_namespace,
    "core.add_metadata": _metadata("POST", "/properties", {}),
    "core.get_metadata": _metadata("GET", ""),
}
"""Operations that a request checks together with others."""

OVER_AUTHZEN: Final = ("core.", "dataset.write")
"""Prefixes of operations that no path of CDAP checks, or only for namespaces."""


def is_carried(scenario: Scenario, case: Case) -> bool:
    """Whether a request can check the case's question together with others."""
    operation, on = case.operation or "", case.on
    if operation not in CARRIED or case.lists is not None or case.targets:
        return False
    stored = {row.entity for row in scenario.facts.entities}
    match operation:
        case "core.add_metadata" | "core.get_metadata":
            return on.type == "namespace" and on in stored
        case "application.deploy_contents":
            return on not in stored and _space(on) in stored
        case "namespace.delete":
            return on in stored and on.name not in RESERVED
        case "namespace.delete.contents":
            return on in stored and on.type != "namespace"
        case "dataset_type.use":
            return cdap.parts(on)[1] not in BUILT_IN_TYPES and _can_be_named(on, stored)
    return True


def _can_be_named(type: Entity, stored: set[Entity]) -> bool:
    """Whether a dataset of the type can be created: a shared type must be stored."""
    return type in stored if _space(type).name in RESERVED else _space(type) in stored


def is_over_authzen(case: Case) -> bool:
    """Whether only other services check the case's question."""
    return (case.operation or "").startswith(OVER_AUTHZEN) and case.lists is None


class Carriers:
    """A server over one scenario's world, queried by `Errand`s or over AuthZEN.

    See `lakewarden.service.scenarios.Target` and `Session`.
    """

    def __init__(self, folder: Path, scenario: Scenario) -> None:
        self._wire = Wire(
            folder, profile=scenario.model_name, settings=dict(scenario.settings), bare=True
        )
        stored = frozenset(row.entity for row in scenario.facts.entities)
        bare = World(scenario.model_name, stored)
        self._made = {one: body for space in bare.spaces for one, body in _made(space)}
        self._world = bare._replace(entities=stored | set(self._made))
        self._count = 0

    def __enter__(self) -> Carriers:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.__exit__(None, None, None)

    def prepare(self, system: object, facts: Facts, now: float) -> Carriers:
        """Creates the world and the additional objects; after that, questions change nothing."""
        more = [
            change
            for one, body in self._made.items()
            for change in (EntityAdded(one, cdap.parent(one)), DocumentChanged(one, body))
        ]
        self._wire.service.write(
            SYSTEM, lambda transaction: transaction.change(REALM, *effects(facts), *more)
        )
        return self

    def check(self, question: Question) -> bool:
        """The answer, on which all errands must agree."""
        operation = question.operation or ""
        if operation not in CARRIED or _is_elsewhere(question):
            return self._evaluated(question)
        errands = list(CARRIED[operation](self._world, question))
        answers = {self._sent(errand, question) for errand in errands}
        if len(answers) != 1:
            raise AssertionError(f"{errands}: {answers}")
        return answers.pop()

    def listing(
        self,
        user: Principal,
        operation: str,
        within: Entity | None,
        *,
        groups: frozenset[Principal] = frozenset(),
        roles: frozenset[Principal] | None = None,
    ) -> frozenset[Entity]:
        """Never called: `is_carried` and `is_over_authzen` exclude lists."""
        raise AssertionError(f"`{operation}` is not listed here")

    def _sent(self, errand: Errand, question: Question) -> bool:
        """Whether the request is allowed; a separate group gives the caller all else."""
        self._count += 1
        group = f"{NAME}-{self._count}"
        self._give(f"group:{group}", errand.needs)
        self._give(f"user:{question.principal.name}", errand.own)
        groups = (group,) if errand.by else (group, *(one.name for one in question.groups))
        service = self._wire.service
        self._wire.service = Trial(service)  # type: ignore[assignment]  # all that a handler uses
        try:
            user = errand.by or question.principal.name
            method, below, body, headers = errand.call
            status, text = self._wire.ask(
                method, below, body, user=user, groups=groups, headers=headers
            )
        finally:
            self._wire.service = service
        if status != 403 and status not in PASSED:
            raise AssertionError(f"{errand}: {status} {text}")
        return status != 403

    def _give(self, to: str, needs: Mapping[str, str]) -> None:
        system = self._wire.service.state.realm(REALM).system
        tables: Sequence[Mapping[str, object]] = [
            {"id": f"{self._count} {to} {id}", "privileges": [action], "to": [to], "on": id}
            for id, action in needs.items()
        ]
        given = read_statements(tables, system.model, system.spelling, NAME)
        changes = [StatementAdded(statement) for statement in given]
        self._wire.service.write(SYSTEM, lambda transaction: transaction.change(REALM, *changes))

    def _evaluated(self, question: Question) -> bool:
        """The answer of AuthZEN, where all users may ask about themselves."""
        assert question.principal.kind == USER
        realm = self._wire.service.state.realm(REALM)
        groups = tuple(group.name for group in question.groups if group.kind == GROUP)
        asking = Asking(state(realm), question.principal.name, groups=groups)
        targets = {
            name: {"type": one.type, "id": one.name} for name, one in question.targets.items()
        }
        on = f"{question.entity.type}/{question.entity.name}"
        body = evaluation(question.principal.name, question.operation or "", on)
        return asking.decides({**body, "context": {"targets": targets}} if targets else body)


def _is_elsewhere(question: Question) -> bool:
    """Whether the question is a core rule for metadata of an entity other than a namespace."""
    return (question.operation or "").startswith("core.") and question.entity.type != "namespace"


def _made(space: str) -> Iterator[tuple[Entity, dict[str, Any]]]:
    """An artifact and an application in a namespace, with their documents."""
    yield Entity("artifact", f"{space}.{NAME}"), {"versions": {"1.0": {}}}
    yield Entity("application", f"{space}.{NAME}"), {"schedules": {}}
