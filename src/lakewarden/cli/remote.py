"""A realm of a server, queried over its API."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Final
from urllib.parse import quote

from lakewarden.cli.status_line import working
from lakewarden.client.server import Json, Server
from lakewarden.kernel.advice import Need, Way
from lakewarden.kernel.explain import Explanation, Step
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Decision, Reason
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_principal, read_statements
from lakewarden.models.own import ModelText
from lakewarden.service.page_size import MAX_PAGE
from lakewarden.service.system import System, load_system

PAGE: Final = MAX_PAGE
"""Rows per page."""


def waiting(address: str) -> AbstractContextManager[object]:
    """Shows that a request to the server is running, if it takes long."""
    return working(address, ("ask",))


def system_of(realm: Mapping[str, Any]) -> System:
    """The system of a realm in the server's answer for that realm, with the text of its model."""
    text, digest = realm.get("model_text"), realm.get("model_digest")
    own = None if text is None or digest is None else ModelText(text, digest)
    return load_system(realm["model"], realm["settings"], own)


def without_absent(question: Mapping[str, object]) -> dict[str, object]:
    """The question without absent members. An empty text is kept: the server rejects it.

    >>> without_absent({"principal": "", "entity": None, "roles": []})
    {'principal': ''}
    """
    return {key: value for key, value in question.items() if value or value == ""}


class RemoteRealm:
    """One realm of a server. Answers have the format of the API; errors are those of `Server`."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name
        self.path = f"/realms/{quote(name, safe='')}"
        self._system: System | None = None

    @property
    def system(self) -> System:
        """The realm's system, with its settings."""
        if self._system is None:
            realm = self.server.ask("GET", self.path)
            self._system = system_of(realm)
        return self._system

    def model(self) -> Model:
        """The model of the realm's system."""
        return self.system.model

    def ask(self, verb: str, question: Mapping[str, object]) -> Json:
        """The answer to one question."""
        return self.server.ask("POST", f"{self.path}/{verb}", without_absent(question))

    def listing(
        self, question: Mapping[str, object], within: str | None, after: str | None, limit: int
    ) -> Json:
        """Up to `limit` entities, in as many pages as needed."""
        entities: list[Json] = []
        while True:
            size = min(PAGE, limit - len(entities))
            page = {"limit": size}
            body = {**question, "within": within, "after": after, "page": page}
            answer = self.ask("list", body)
            entities += answer["entities"]
            after = answer["after"]
            if after is None or len(entities) >= limit:
                return {**answer, "entities": entities}

    def users(self, path: str, question: Mapping[str, object]) -> Json:
        """All users that a question lists, in as many pages as needed."""
        users: list[str] = []
        token = ""
        while True:
            page = {"limit": PAGE, "token": token}
            answer = self.ask(path, {**question, "page": page})
            users += answer["users"]
            token = answer["page"]["next_token"]
            if not token:
                return {**answer, "users": users}


def statements(explained: Json, system: System, realm: str) -> dict[str, Statement]:
    """The statements in a realm's explanation, by id."""
    tables = [_table(table) for table in explained["named"]]
    read = read_statements(tables, system.model, system.spelling, realm, builtin=True)
    return {statement.id: statement for statement in read}


_MOMENTS = ("valid_from", "valid_until")


def _table(statement: Json) -> Json:
    """A statement of the API in the format of statement files."""
    from datetime import datetime

    moments = {k: datetime.fromisoformat(statement[k]) for k in _MOMENTS if statement.get(k)}
    given_values = {key: value for key, value in statement.items() if value is not None}
    return {**given_values, **moments}


def chains(explained: Json) -> dict[str, tuple[Principal, ...]]:
    """By statement, the chain of memberships over which it reaches the asker."""
    return {
        path["statement"]: tuple(read_principal(text) for text in path["over"])
        for path in explained["reaching"]
    }


def explanation(answer: Json, system: System) -> Explanation:
    """The explanation in an answer."""
    reason = Reason(answer["reason"])
    return Explanation(
        Decision(answer["allow"], reason, answer["revision"]),
        None if answer["rule"] is None else _step(answer["rule"], system),
        tuple(answer["statements"]),
        tuple(_way(way, system) for way in answer["ways"]),
    )


def _step(step: Json, system: System) -> Step:
    text = step["entity"]
    return Step(
        step["says"],
        step["holds"],
        None if text is None else system.entity(None if text == ":" else text),
        tuple(step["allowed_by"]),
        tuple(step["denied_by"]),
        tuple(_step(inner, system) for inner in step["steps"]),
    )


def _way(way: Json, system: System) -> Way:
    needs = tuple(Need(need["privilege"], system.entity(need["on"])) for need in way["allow"])
    grantors = tuple(_grantors(need["can_be_granted_by"]) for need in way["allow"])
    joins = tuple(read_principal(text) for text in way["join"])
    opens = tuple(way["opens"])
    return Way(
        needs,
        tuple(denial["statement"] for denial in way["lift"]),
        grantors,
        joins,
        opens,
        way["others"],
    )


def _grantors(names: list[str] | None) -> tuple[Principal, ...] | None:
    return None if names is None else tuple(Principal(USER, name) for name in names)
