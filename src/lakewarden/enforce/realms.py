"""The deciding realm for reads: in a store opened here, or on a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote

from lakewarden.client.server import Server
from lakewarden.kernel.errors import Unavailable
from lakewarden.service import question_text
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.limited_read import LimitedRead, engine_read
from lakewarden.service.question_text import QuestionText

ENGINE = "duckdb"
"""The engine that reads."""


class DecidingRealm(Protocol):
    """Says how a user may read a table, at its newest revision."""

    def read(self, user: str, table: str, columns: Mapping[str, str]) -> LimitedRead:
        """How the user may read the table with these columns and their types."""
        ...


class StoredRealm:
    """A realm of a store: each request is answered from the newest revision."""

    def __init__(self, service: DecisionService, name: str) -> None:
        self._service = service
        self._name = name

    def read(self, user: str, table: str, columns: Mapping[str, str]) -> LimitedRead:
        """How the user may read the table. Raises `BadInput`, `Unknown` and `Unavailable`."""
        realm = self._service.catch_up().realm(self._name)
        text = QuestionText(f"user:{user}", "", table)
        request = question_text.read(text, realm.system, realm.matrix, self._service.clock())
        return engine_read(realm, request, ENGINE, columns)


class ServedRealm:
    """A realm of a server: each read sends it a request."""

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self._path = f"/realms/{quote(name, safe='')}/see"

    def read(self, user: str, table: str, columns: Mapping[str, str]) -> LimitedRead:
        """How the user may read the table. Raises `BadInput` and `Unavailable`."""
        question = {"principal": f"user:{user}", "entity": table, "engine": ENGINE}
        answer = self._server.ask("POST", self._path, {**question, "columns": dict(columns)})
        try:
            return _read(answer, columns)
        except (KeyError, TypeError, AttributeError):
            raise Unavailable("the server's answer is not one about a read") from None


def _read(answer: Any, columns: Mapping[str, str]) -> LimitedRead:
    rendered = answer["rendered"]
    if answer["may_read"] is not True or rendered["may_read"] is not True:
        return LimitedRead(False, str(answer["operation"]), tuple(rendered["missing"]))
    # Raises for a column that is missing in the response.
    masks = {name: rendered["masks"][name] for name in columns}
    filters = tuple(rendered["filters"])
    return LimitedRead(True, str(answer["operation"]), (), filters, masks)
