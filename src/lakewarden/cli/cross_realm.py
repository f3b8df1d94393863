"""Questions to several realms at once: of a server, of a database, or of ingested directories.

All three answer in the format of the server's API, so the output does not depend on where the
question was asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

from cyclopts import Parameter

from lakewarden.cli.admin_target import done, opened, operator
from lakewarden.cli.folder import Folder
from lakewarden.cli.outcome import note
from lakewarden.cli.question import Claims, Parts, Texts, question
from lakewarden.cli.question_target import DATABASE, NO_SERVER, SERVER, ServerOptions, Url, Where
from lakewarden.cli.status_line import working
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.pipeline.storage.location import Location, location
from lakewarden.service.question_text import QuestionText

if TYPE_CHECKING:
    from lakewarden.client.server import Server
    from lakewarden.service.actor import Actor
    from lakewarden.service.question_text import QuestionText
    from lakewarden.service.state import State
    from lakewarden.service.system import System

Json = Any

PAGE: Final = 500
"""People per page."""


@Parameter("*")
@dataclass(frozen=True)
class RealmsTarget:
    """One realm or several, in directories, on a server or in a database."""

    from_: Annotated[
        Texts,
        Parameter(
            "--from",
            help="Directory that `lakewarden pipeline ingest` wrote, `DIR` or `REALM=DIR`; repeat"
            " for several realms.",
        ),
    ] = ()
    links: Annotated[
        Folder | None,
        Parameter(help="With --from: directory that `lakewarden pipeline link` wrote."),
    ] = None
    server_options: ServerOptions = NO_SERVER
    database: Url = None
    realm: Annotated[Texts, Parameter(help="The realm; repeat to ask about several.")] = ()
    all_realms: Annotated[
        bool, Parameter(help="Every realm in which you may ask.", show_default=False)
    ] = False

    def is_cross_realm(self, *, needs_one: bool = False) -> bool:
        """Whether the answer has the format for several realms.

        An answer for one realm of `--database` has it too, unless an option requires a single realm
        (`needs_one`).
        """
        names_several = (
            self.all_realms or len(self.realm) > 1 or len(self.from_) > 1 or self.links is not None
        )
        is_stored = self.database is not None
        return names_several or (is_stored and not (needs_one and len(self.realm) == 1))

    def single_realm(self) -> Where:
        """The target of a question to one realm."""
        first = location(self.from_[0]) if self.from_ else None
        realm = self.realm[0] if self.realm else None
        return Where(first, self.server_options, self.database, realm)

    def past(self) -> str:
        """The realm of a database whose past is queried. Raises `BadInput` for other targets."""
        others = self.from_ or self.links or self.all_realms or self.server_options.server
        if others or len(self.realm) != 1:
            raise BadInput("takes one `--realm NAME` with `--database URL`", where="--since")
        return self.realm[0]

    def names(self) -> list[str] | None:
        """The named realms; None for all. Raises `BadInput`."""
        if self.all_realms and self.realm:
            raise BadInput("give either --realm or --all-realms")
        if not self.all_realms and not self.realm and not self.from_:
            raise BadInput("name the realms with --realm, or give --all-realms")
        return list(self.realm) or None

    @contextmanager
    def estate(self) -> Iterator[CrossRealm]:
        """The realms that answer. Raises `BadInput` unless exactly one target is given."""
        places = [self.server_options.server, self.database, self.from_ or None]
        if sum(place is not None for place in places) > 1:
            raise BadInput("give one of --from DIR, --server URL and --database URL")
        if self.links is not None and not self.from_:
            raise BadInput("needs --from", where="--links")
        if self.from_:
            with working("realms", ("read",)):
                local = _of_files(self.from_, self.links)
            yield local
            return
        address = self.server_options.server
        if address is None and self.database is None and not os.environ.get(DATABASE):
            address = os.environ.get(SERVER)
        if address is not None:
            yield Remote(self.server_options.connect(address))
            return
        with opened(self.database) as service:
            with working("realms", ("compile",)):
                state = service.catch_up()
            yield Local(state, operator(service), service.clock())


NOWHERE: Final = RealmsTarget()

Home = Annotated[
    str | None,
    Parameter("--home", help="With several realms: the realm that has ENTITY."),
]


class CrossRealm(Protocol):
    """Realms that answer together; answers have the format of the API."""

    def ask(self, verb: str, asking: dict[str, Any]) -> Json:
        """The answer to `who`, `list`, `explain` or `access`."""
        ...

    def system(self, realm: str) -> System:
        """The system of a realm."""
        ...


class Remote:
    """The realms of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._systems: dict[str, System] = {}

    def ask(self, verb: str, asking: dict[str, Any]) -> Json:
        """See `CrossRealm.ask`."""
        from lakewarden.cli.remote import without_absent

        return self._server.ask("POST", f"/estate/{verb}", without_absent(asking))

    def system(self, realm: str) -> System:
        """See `CrossRealm.system`."""
        from lakewarden.cli.remote import RemoteRealm

        if realm not in self._systems:
            self._systems[realm] = RemoteRealm(self._server, realm).system
        return self._systems[realm]


class Local:
    """Realms that are loaded in this process."""

    def __init__(self, state: State, actor: Actor, now: float) -> None:
        self._state = state
        self._actor = actor
        self._now = now

    def ask(self, verb: str, asking: dict[str, Any]) -> Json:
        """See `CrossRealm.ask`."""
        import msgspec

        return msgspec.to_builtins(getattr(self, f"_{verb}")(asking))

    def system(self, realm: str) -> System:
        """See `CrossRealm.system`."""
        return self._state.realm(realm).system

    def _who(self, asking: dict[str, Any]) -> object:
        from lakewarden.http.admin.cross_realm import users_response
        from lakewarden.service import cross_realm

        users = cross_realm.who(*self._arguments(asking), asking["realms"], asking["home"])
        return users_response(self._state, done(users))

    def _list(self, asking: dict[str, Any]) -> object:
        from lakewarden.http.admin.cross_realm import listing_response
        from lakewarden.service import cross_realm

        after = asking["after"]
        places = after and {(p["realm"], p["operation"]): p["entity"] for p in after}
        arguments = self._arguments(asking)
        size = asking["limit"]
        entities = cross_realm.listing(*arguments, asking["realms"], size=size, after=places)
        return listing_response(done(entities))

    def _explain(self, asking: dict[str, Any]) -> object:
        from lakewarden.http.admin.cross_realm import explanations_response
        from lakewarden.service import cross_realm

        reasons = cross_realm.explain(*self._arguments(asking), asking["realms"], asking["home"])
        return explanations_response(done(reasons))

    def _access(self, asking: dict[str, Any]) -> object:
        from lakewarden.http.admin.bodies.base import NextPage
        from lakewarden.http.admin.cross_realm import reach_response
        from lakewarden.service.asset_access import asset_access
        from lakewarden.service.asset_paths import AssetQuestion

        parts = (asking[name] for name in ("asset", "realm", "realms", "ways"))
        answer = asset_access(
            self._state,
            self._actor,
            AssetQuestion(*parts),
            self._now,
            size=asking["limit"],
            after=asking["token"] or None,
        )
        access = done(answer)
        return reach_response(access, NextPage(next_token=access.after or ""))

    def _arguments(self, asking: dict[str, Any]) -> tuple[State, Actor, QuestionText, float]:
        text = QuestionText(
            asking.get("principal"),
            asking["operation"],
            asking.get("entity"),
            targets=asking["targets"],
            lists=asking["lists"],
            subresources=asking["subresources"],
            groups=asking.get("groups", ()),
            roles=asking.get("roles", ()),
        )
        return self._state, self._actor, text, self._now


def _of_files(texts: Sequence[str], links: Location | None) -> Local:
    """The realms of ingested directories. Raises `BadInput` for a realm that occurs twice."""
    import time

    from lakewarden.pipeline.directory import load
    from lakewarden.pipeline.link_directory import read
    from lakewarden.service.in_memory import READER, offline

    realms: dict[str, tuple[System, Any]] = {}
    for text in texts:
        name, path = named_directory(text)
        loaded = load(path)
        realm = name or loaded.manifest.realm
        if realm in realms:
            raise BadInput(
                f"two directories have the realm `{realm}`; give `REALM=DIR`", where=text
            )
        realms[realm] = (loaded.system, loaded.facts)
    rows = () if links is None else read(links).links(realms)
    return Local(offline(realms, rows, time.time()), READER, time.time())


def named_directory(text: str) -> tuple[str, Location]:
    """The realm's name, if the text is `REALM=DIR`, and the directory."""
    name, equals, path = text.partition("=")
    if equals and name and "/" not in name and not Path(text).exists():
        return name, location(path)
    return "", location(text)


def cross_realm_question(
    principal: str | None,
    operation: str,
    entity: str | None,
    parts: Parts,
    claims: Claims,
    names: list[str] | None,
) -> dict[str, Any]:
    """The question to several realms; raises `BadInput` for options that only one realm accepts."""

    def no_model() -> Model:
        raise BadInput("attributes need exactly one realm", where="--attribute")

    body = question(no_model, principal, operation, entity, parts, claims)
    del body["attributes"]
    if principal is None:
        for key in ("principal", "groups", "roles"):
            del body[key]
    return {**body, "realms": names}


def note_other_realms(answer: Json) -> None:
    """Prints notes in addition to the answers: realms without an answer, and realms left out."""
    for part in answer.get("realms", ()):
        for text in part["notes"]:
            note(f"{part['realm']}: {text}")
    for realm in answer.get("silent", ()):
        note(f"{realm['realm']}: {realm['why']}")
    if answer["left_out"]:
        note(f"left out, because you may not ask there: {', '.join(answer['left_out'])}")
