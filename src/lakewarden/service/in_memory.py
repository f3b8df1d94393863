"""Several realms in memory, without a store: for questions about ingested directories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from lakewarden.kernel.principal import SERVICE_ADMINS, USER, Principal
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import SERVER
from lakewarden.service.defaults import default_statements
from lakewarden.service.link import Link
from lakewarden.service.ports import Reading
from lakewarden.service.realm import CONTROL, DIRECTORY, Realm, Token
from lakewarden.service.state import State
from lakewarden.service.state_builder import load
from lakewarden.service.system import System, load_system

READER = Actor("reader", credential="files")
"""A reader of the files may ask everything about them."""


@dataclass(frozen=True, slots=True)
class _Files:
    """The rows, in the form that `state.load` reads from a store."""

    declared: Sequence[Realm]
    rows: Mapping[str, Facts]
    linked: Sequence[tuple[Link, str]]
    revision: int = 0

    def realms(self) -> Sequence[Realm]:
        return self.declared

    def directories(self) -> Sequence[str]:
        return ()

    def tokens(self) -> Sequence[Token]:
        return ()

    def links(self) -> Iterator[tuple[Link, str]]:
        return iter(self.linked)

    def facts(self, scope: str, system: System | None) -> Facts:
        return self.rows[scope]


def offline(
    realms: Mapping[str, tuple[System, Facts]], links: Iterable[tuple[Link, str]], now: float
) -> State:
    """The realms by name, in one directory; `READER` has all rights to ask.

    Raises the errors of compiling the rows.
    """
    declared = [Realm(CONTROL, "control")]
    for name, (system, _) in sorted(realms.items()):
        settings = dict(system.model.settings)
        declared.append(Realm(name, system.model.name, settings=settings, text=system.text))
    rows = {name: facts for name, (_, facts) in realms.items()}
    files = _Files(declared, {**rows, CONTROL: _rights(sorted(realms))}, tuple(links))
    # `load` reads nothing else from a store.
    return load(cast(Reading, files), now)


def _rights(realms: Iterable[str]) -> Facts:
    home = control.directory(DIRECTORY)
    governed = [EntityRow(control.realm(name), home) for name in realms]
    reader = Principal(USER, READER.user)
    return Facts(
        entities=[EntityRow(SERVER, None), EntityRow(home, SERVER), *governed],
        principals=[reader],
        memberships=[MembershipRow(reader, SERVICE_ADMINS)],
        statements=default_statements(load_system("control")),
    )
