"""States of several random realms at once, with links and privileges in lakewarden."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lakewarden.kernel.principal import SERVICE_ADMINS, USER, Principal
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import SERVER
from lakewarden.service.defaults import default_statements
from lakewarden.service.link import Asset, Link, link
from lakewarden.service.realm import CONTROL, Realm, Token
from lakewarden.service.state import State
from lakewarden.service.state_builder import load
from lakewarden.service.system import System, load_system
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make

ROOT: Final = Actor("root", credential="test")
ASKER: Final = Actor("asker", credential="test")
MODELS: Final = {"app": "cdap", "hub": "datahub", "lake": "gravitino"}
SMALL: Final = Size(entities=12, users=4, groups=2, roles=2, statements=10, goals=2)


@dataclass
class Kept:
    """A store's contents, as `load` reads them."""

    declared: Sequence[Realm]
    rows: Mapping[str, Facts]
    linked: Sequence[tuple[Link, str]] = ()
    people: Mapping[str, Facts] = field(default_factory=dict)
    revision: int = 1

    def realms(self) -> Sequence[Realm]:
        return self.declared

    def links(self) -> Iterator[tuple[Link, str]]:
        return iter(self.linked)

    def tokens(self) -> Sequence[Token]:
        return ()

    def directories(self) -> Sequence[str]:
        return list(self.people)

    def facts(self, scope: str, system: System | None) -> Facts:
        known = self.people if scope.startswith("@") else self.rows
        return known.get(scope.removeprefix("@"), Facts())


def world(realm: str, seed: int) -> Facts:
    """The rows of one realm; deterministic for a seed."""
    return make(load_system(MODELS[realm]), seed, SMALL).facts


def state(
    rows: Mapping[str, Facts],
    links: Iterable[Link] = (),
    rights: Iterable[tuple[str, str]] = (),
    directories: Mapping[str, str] | None = None,
) -> State:
    """The realms, with these links; `rights` are privileges of `asker`, each in a realm."""
    homes = directories or {}
    realms = [Realm(CONTROL, "control")]
    realms += [Realm(name, MODELS[name], homes.get(name, "main")) for name in sorted(rows)]
    governed = _governed(realms, rights)
    linked = [(one, "") for one in links]
    return load(Kept(realms, {**rows, CONTROL: governed}, linked), NOW)  # type: ignore[arg-type]


def _governed(realms: Sequence[Realm], rights: Iterable[tuple[str, str]]) -> Facts:
    """The rows of the control realm."""
    entities = [EntityRow(SERVER, None)]
    for home in sorted({realm.directory for realm in realms}):
        entities.append(EntityRow(control.directory(home), SERVER))
    for realm in realms[1:]:
        above = control.directory(realm.directory)
        entities.append(EntityRow(control.realm(realm.name), above))
    asker, root = Principal(USER, ASKER.user), Principal(USER, ROOT.user)
    given = [
        Statement(
            f"{realm} {word}",
            Effect.ALLOW,
            frozenset({word}),
            On(control.realm(realm)),
            frozenset({asker}),
        )
        for realm, word in rights
    ]
    system = load_system("control")
    return Facts(
        entities=entities,
        principals=[asker, root],
        memberships=[MembershipRow(root, SERVICE_ADMINS)],
        statements=(*default_statements(system), *given),
    )


def assets(rows: Mapping[str, Facts]) -> list[Asset]:
    """Every entity of every realm."""
    return [Asset(realm, row.entity) for realm in sorted(rows) for row in rows[realm].entities]


def random_links(rows: Mapping[str, Facts], seed: int, many: int = 10) -> list[Link]:
    """Some links, also within a realm."""
    rng, known = random.Random(seed), assets(rows)
    pairs = [rng.sample(known, 2) for _ in range(many)]
    return sorted({link(*pair) for pair in pairs})
