"""Random realms pushed to a stand-in for Ranger's admin, like the use cases push them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lakewarden.engines import ranger_service
from lakewarden.kernel.entity import Entity
from lakewarden.pushdown.adopt import Adoption
from lakewarden.pushdown.push import Drift
from lakewarden.pushdown.ranger.address import read_address
from lakewarden.pushdown.ranger.admin import Admin
from lakewarden.pushdown.ranger.plan import RangerPlan
from lakewarden.pushdown.ranger.session import RangerSession
from lakewarden.service.push_target import PushTarget
from lakewarden.service.ranger.definition import definition
from lakewarden.service.state import RealmState
from lakewarden.testing.world_draft import NOW
from tests.http.ranger.judge import judge_home
from tests.pushdown.estate import STORE
from tests.pushdown.ranger.admin_server import Ranger


def shipped(type: str) -> dict[str, Any]:
    """Ranger's own definition of a service type, from its engine's installation."""
    jars = list(judge_home().glob("lib/ranger-plugins-common-*.jar"))
    if not jars:
        pytest.skip("Ranger's policy engine is not installed")
    with zipfile.ZipFile(jars[0]) as jar:
        found: dict[str, Any] = json.loads(jar.read(f"service-defs/ranger-servicedef-{type}.json"))
    return found


def ranger_of(type: str) -> Ranger:
    """An admin with a service of the type, with our documents' definition."""
    return Ranger(type, definition(ranger_service.load(type)))


TAG_SERVICE = "cl_tag"


def linked(ranger: Ranger) -> Ranger:
    """The same admin, with its service linked with a tag service."""
    ranger.tag_service = TAG_SERVICE
    ranger.tag_definition = tag_definition(ranger.definition)
    return ranger


def tag_definition(of: dict[str, Any]) -> dict[str, Any]:
    """The type of tag services, as Ranger completes it with the accesses and masks of a type."""
    resource = {
        "itemId": 1, "name": "tag", "type": "string", "level": 1, "parent": "", "mandatory": True,
        "matcher": "org.apache.ranger.plugin.resourcematcher.RangerDefaultResourceMatcher",
        "matcherOptions": {"wildCard": "false", "ignoreCase": "false"}, "label": "TAG",
    }  # fmt: skip

    def prefixed(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        own = f"{of['name']}:"
        return [
            {"itemId": number, "name": own + one["name"], "label": one["name"],
             "impliedGrants": [own + each for each in one.get("impliedGrants") or ()]}
            for number, one in enumerate(rows, 1000)
        ]  # fmt: skip

    masks = of.get("dataMaskDef") or {}
    return {
        "id": 100,
        "name": "tag",
        "implClass": "",
        "label": "tag",
        "resources": [resource],
        "accessTypes": prefixed(of["accessTypes"]),
        "dataMaskDef": {
            "accessTypes": prefixed(masks.get("accessTypes", ())),
            "maskTypes": prefixed(masks.get("maskTypes", ())),
            "resources": [resource],
        },
        "contextEnrichers": [
            {"itemId": 1, "name": "TagEnricher", "enricherOptions": {},
             "enricher": "org.apache.ranger.plugin.contextenricher.RangerTagEnricher"}
        ],
    }  # fmt: skip


Located = Sequence[tuple[Entity, Sequence[str]]]


def _documents_of(located: Located, type: str) -> Iterator[tuple[Entity, dict[str, Any]]]:
    """The documents of filesets and tables, with the locations of their files."""
    for entity, addresses in located:
        if entity.type == type == "table":
            yield entity, {"properties": {"location": addresses[0]}}
        elif entity.type == type:
            yield entity, {"storageLocations": {f"l{n}": one for n, one in enumerate(addresses)}}


@dataclass
class Told:
    """A target, pushed like `service.push` does: the journal is stored before the first request."""

    ranger: Ranger
    target: PushTarget
    slept: float = 0.0
    located: Located = ()
    file_system: str = ""
    zone: str = ""
    tags: str = ""
    beside: Sequence[Told] = ()
    store: str = STORE

    @contextmanager
    def session(self, realm: RealmState | None = None) -> Iterator[RangerSession]:
        """A session whose store has this realm."""
        address = read_address(self.ranger.address)
        address = replace(address, file_system=self.file_system, zone=self.zone, tags=self.tags)
        admin = Admin(address, self._sleep)
        try:
            yield RangerSession(admin, self.target, self.store, partial(self._stored, realm))
        finally:
            admin.close()

    @contextmanager
    def _stored(self, realm: RealmState | None, name: str) -> Iterator[Any]:
        """A store without other documents: columns have the types from the facts."""
        assert realm is not None
        assert realm.realm.name == name
        others = [one.target for one in self.beside]
        kept: dict[Entity, dict[str, Any]] = {
            Entity("push-target", self.target.name): asdict(replace(self.target, pushed={})),
            **{Entity("push-roles", one.name): {"roles": one.pushed} for one in others},
        }

        def documents_of(realm: str, type: str) -> Iterator[tuple[Entity, dict[str, Any]]]:
            if type == "push-target":
                for one in others:
                    yield Entity(type, one.name), asdict(replace(one, pushed={}))
            yield from _documents_of(self.located, type)

        def documents(realm: str, entities: Sequence[Entity]) -> dict[Entity, dict[str, Any]]:
            return {one: kept[one] for one in entities if one in kept}

        yield realm, SimpleNamespace(documents=documents, documents_of=documents_of)

    def _sleep(self, seconds: float) -> None:
        self.slept += seconds

    def plan(self, realm: RealmState, now: float = NOW) -> RangerPlan:
        with self.session(realm) as session:
            return session.plan(realm, now)

    def push(self, realm: RealmState, now: float = NOW) -> int:
        """Plans and applies."""
        with self.session(realm) as session:
            return self._apply(session, session.plan(realm, now))

    def reset(self) -> int:
        with self.session() as session:
            return self._apply(session, session.reset_plan())

    def _apply(self, session: RangerSession, made: RangerPlan) -> int:
        begun = made.target_during_push()
        assert begun is not None
        self.target = stored(begun)
        count = session.apply(made)
        self.target = stored(made.target_after_push())
        return count

    def adoption_plan(self, realm: RealmState, now: float = NOW) -> RangerPlan:
        """The plan that also replaces policies of others."""
        with self.session(realm) as session:
            return session.adoption_plan(session.plan(realm, now))

    def adopt(self, realm: RealmState, now: float = NOW) -> int:
        """Plans and applies, with replaced policies."""
        with self.session(realm) as session:
            return self._apply(session, session.adoption_plan(session.plan(realm, now)))

    def adoption(self, realm: RealmState, now: float = NOW) -> Adoption:
        with self.session(realm) as session:
            return session.adoption(realm, now)

    def drift(self, realm: RealmState, now: float = NOW) -> Drift:
        with self.session(realm) as session:
            return session.drift(realm, now)


def stored(target: PushTarget) -> PushTarget:
    """The target as read from a store."""
    pushed, journal = (json.loads(json.dumps(one)) for one in (target.pushed, target.journal))
    return replace(target, pushed=pushed, journal=journal)


def told(
    ranger: Ranger, metalake: str, catalog: str = "", style: str = "", name: str = "rg"
) -> Told:
    return Told(ranger, PushTarget(name, "lake", "ranger", metalake, catalog, style=style))


def folder_of(path: Path, name: str) -> Path:
    folder = path / name
    folder.mkdir()
    return folder
