"""One request through the guard: checked, forwarded, and its response cut to what may be seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from lakewarden.config.engines import IcebergRealm
from lakewarden.engines.engine import Act, Engine
from lakewarden.http.engine_access import EngineAccess, Names
from lakewarden.http.engine_figures import decided, timed
from lakewarden.http.exchange import Exchange, Reply
from lakewarden.http.iceberg import answers, json_body
from lakewarden.http.iceberg.backend import Backend, BackendAnswer
from lakewarden.http.iceberg.catalog_changes import TYPES, record_changes
from lakewarden.http.iceberg.errors import IcebergError, error_reply, type_of
from lakewarden.http.iceberg.json_body import Json
from lakewarden.http.iceberg.questions import Questions, Requested, TargetedAct, questions
from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.errors import BadInput

ENGINE: Final = "iceberg"

PARTS: Final = {"namespace": "schema", "table": "table", "view": "view", "function": "function"}
"""The names of path parameters in templates of names."""

LIMITED: Final = (
    "a row filter or a column mask binds you on this table, and this takes all its rows and values"
)
DENIED_COLUMN: Final = "a column of this table is denied to you, and its files have all of them"
NO_FILES: Final = "there are no files here"
READS_ONLY: Final = "you may not write this table, and the guard has no credential that only reads"

_DELEGATION: Final = "x-iceberg-access-delegation"
_ENTRIES: Final = {
    "listNamespaces": "namespaces",
    "listTables": "identifiers",
    "listViews": "identifiers",
    "listFunctions": "identifiers",
}
"""The member of each list response that has the entries."""

_HANDS_OUT: Final = frozenset({"loadCredentials", "signRequest"})
"""Acts that only hand out access to files."""


@dataclass(frozen=True, slots=True)
class FileAccess:
    """The credential for file access that is used at the catalog, or why a user gets none."""

    token_file: Path | None
    withheld: str = ""


class Guard:
    """One request of one user to the catalog of a realm."""

    def __init__(
        self,
        exchange: Exchange,
        act: Act,
        access: EngineAccess,
        settings: IcebergRealm,
        backend: Backend,
    ) -> None:
        self._exchange = exchange
        self._act = act
        self._access = access
        self._settings = settings
        self._backend = backend

    def answer(self) -> Reply:
        """The reply to the client. Raises `IcebergError`, and `BadInput` for a malformed body."""
        asked = questions(
            Requested(self._engine, self._act, self._names, self._query, self._body or {})
        )
        with timed(self._engine.name):
            for one in asked.asked:
                self._require(one)
        for kind, names in (*asked.created, *((kind, after) for kind, _, after in asked.renamed)):
            self._check_new_name(kind, names)
        if self._act.name in _HANDS_OUT and self._file_access.withheld:
            raise IcebergError(HTTPStatus.FORBIDDEN, self._file_access.withheld)
        answer = self._send()
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            return self._refusal(answer)
        self._used(asked)
        return self._reply(answer)

    @property
    def _engine(self) -> Engine:
        return self._access.mapping.engine

    @cached_property
    def _names(self) -> Names:
        """The names in the path, with the warehouse as the catalog."""
        params = self._exchange.params
        found = {part: params[name] for name, part in PARTS.items() if name in params}
        return {"catalog": params["prefix"], **found}

    @cached_property
    def _query(self) -> Mapping[str, str]:
        """The fields of the query that are forwarded."""
        fields = self._exchange.query
        for name in fields:
            if self._engine.matches("query", name) and len(fields[name]) > 1:
                raise BadInput("more than one value", where=f"query: {name[:100]}")
        return {
            name: values[0]
            for name, values in fields.items()
            if self._engine.matches("query", name)
        }

    @cached_property
    def _body(self) -> Json | None:
        return json_body.read_object(self._exchange.body) if self._exchange.body else None

    def _require(self, asked: TargetedAct) -> None:
        """Raises `IcebergError` for a denied act, and audits it."""
        act, names = asked.act, asked.names
        if act.name == "chooseLocation" and self._settings.locations == "catalog":
            return
        if not self._is_folded(names) and self._access.decides(act, names):
            decided(self._engine.name, act.name, allowed=1)
            return
        decided(self._engine.name, act.name, denied=1)
        entity = self._access.target(act, names)
        # Only a user who could otherwise do it learns that something is limited.
        is_limited = (
            entity is not None
            and act.whole
            and self._access.is_limited(entity)
            and self._access.decides_on(act, entity)
        )
        reason = LIMITED if is_limited else ""
        message = denial(self._exchange, self._access, asked, reason)
        if self._exchange.method == "HEAD":
            raise IcebergError(HTTPStatus.NOT_FOUND, message, "NoSuchTableException")
        raise IcebergError(HTTPStatus.FORBIDDEN, message)

    def _check_new_name(self, kind: str, names: Names) -> None:
        """Refuses a name that the realm could not distinguish from another one."""
        if self._is_folded(names) or self._access.entity(TYPES[kind], names) is None:
            raise BadInput(f"no {kind} of the realm can have this name", where="body.name")

    def _is_folded(self, names: Names) -> bool:
        """Whether the catalog would read a name as a different one."""
        return self._settings.lower_case and any(
            name != name.lower() for part, name in names.items() if part != "catalog"
        )

    @cached_property
    def _file_access(self) -> FileAccess:
        """The credential for files of the table that the user may have."""
        acts, settings = self._engine.acts, self._settings
        table = {part: self._names[part] for part in ("catalog", "schema") if part in self._names}
        name = self._names.get("table") or (self._body or {}).get("name")
        if not isinstance(name, str) or "schema" not in table:
            return FileAccess(settings.token_file, NO_FILES)
        named = {**table, "table": name}
        entity = self._access.target(acts["loadTable"], named)
        if entity is None or self._access.is_limited(entity):
            return FileAccess(settings.token_file, LIMITED)
        if self._access.is_denied_inside(acts["loadCredentials"], entity):
            return FileAccess(settings.token_file, DENIED_COLUMN)
        # The creator of a table becomes its owner, and so may write its files.
        if self._act.makes == "table" or self._access.decides(acts["writeFiles"], named):
            return FileAccess(settings.token_file)
        if settings.reader_token_file is None:
            return FileAccess(settings.token_file, READS_ONLY)
        return FileAccess(settings.reader_token_file)

    def _send(self) -> BackendAnswer:
        exchange, access = self._exchange, self._file_access
        headers = {
            name: value
            for name, value in exchange.headers.items()
            if self._engine.matches("request_headers", name)
        }
        if _DELEGATION in exchange.headers and not access.withheld:
            headers[_DELEGATION] = exchange.headers[_DELEGATION]
        body = None if self._body is None else json_body.encoded(self._body)
        return self._backend.send(
            exchange.method, self._segments(), self._query, headers, body, access.token_file
        )

    def _segments(self) -> list[str]:
        """The path at the catalog, rebuilt from its parameters."""
        params = {
            **self._exchange.params,
            "prefix": self._settings.prefixes[self._names["catalog"]],
        }
        pieces = self._act.endpoint.partition(" /")[2].split("/")
        filled = [params[one[1:-1]] if one.startswith("{") else one for one in pieces]
        return [segment for segment in filled if segment]

    def _refusal(self, answer: BackendAnswer) -> Reply:
        """The catalog's refusal, without details about the guard, such as a stack trace."""
        status = answer.status
        if status == HTTPStatus.NOT_MODIFIED:
            return Reply(status, headers=self._headers(answer))
        if status < HTTPStatus.BAD_REQUEST or status == HTTPStatus.UNAUTHORIZED:
            raise IcebergError(HTTPStatus.BAD_GATEWAY, "the catalog does not serve the guard")
        if self._exchange.method == "HEAD":
            return Reply(status)
        try:
            error = json_body.member(answers.read(answer.body), "error")
            message = json_body.text(error, "message")
            type = json_body.text(error, "type")
        except (BadInput, IcebergError):
            message, type = "the catalog refused the request", type_of(status)
        return error_reply(status, message, type)

    def _reply(self, answer: BackendAnswer) -> Reply:
        headers = self._headers(answer)
        if not answer.body or self._exchange.method == "HEAD":
            return Reply(answer.status, headers=headers)
        found = answers.read(answer.body)
        entries = _ENTRIES.get(self._act.name)
        if entries is not None:
            shown = self._listed(found, entries)
        else:
            shown = answers.scrubbed(self._engine, found, self._withheld(found))
        return Reply(answer.status, json_body.encoded(shown), headers=headers)

    def _headers(self, answer: BackendAnswer) -> Mapping[str, str]:
        return {
            name: value
            for name, value in answer.headers.items()
            if self._engine.matches("answer_headers", name)
        }

    def _withheld(self, answer: Json) -> str:
        """The reason to withhold the response's credentials; columns in it may be masked, too."""
        access = self._file_access
        if access.withheld or "table" not in self._names or not self._access.limits_anybody:
            return access.withheld
        for column in answers.columns(answer):
            if any(map(self._access.is_limited, self._access.columns(self._names, column))):
                return LIMITED
        return ""

    def _listed(self, answer: Json, member: str) -> Json:
        """The list without entries that may not be seen or have no name in the realm."""
        act, found = self._engine.acts[self._act.lists], answers.entries(answer, member)
        if self._act.name == "listNamespaces":
            shown = [entry for entry in found if self._may_see_namespace(act, entry)]
            return answers.page(answer, member, shown)
        names = [self._name(entry) for entry in found]
        part = PARTS[act.resource]
        allowed = self._access.allowed_names(act, self._names, part, {*names} - {""})
        kept = [entry for entry, name in zip(found, names, strict=True) if name in allowed]
        return answers.page(answer, member, kept)

    def _name(self, entry: Any) -> str:
        """The name of an entry of a list; "" if it is located elsewhere, or would be folded."""
        if isinstance(entry, list):  # a function: namespace levels, then name
            entry = {"namespace": entry[:-1], "name": entry[-1] if entry else ""}
        if not isinstance(entry, dict) or entry.get("namespace") != [self._names["schema"]]:
            return ""
        name = entry.get("name")
        if not isinstance(name, str) or self._is_folded({"name": name}):
            return ""
        return name

    def _may_see_namespace(self, act: Act, entry: Any) -> bool:
        try:
            name = json_body.namespace({"namespace": entry})
        except BadInput:
            return False
        names = {**self._names, "schema": name}
        return not self._is_folded(names) and self._access.listed_or_allowed(act, names)

    def _used(self, asked: Questions) -> None:
        """Counts what was done, and records the resulting entities."""
        for one in asked.asked:
            entity = self._access.target(one.act, one.names)
            if entity is not None:
                operation = self._access.mapping.operation(one.act.name)
                self._exchange.count_use(self._access.request(operation, entity))
        record_changes(self._exchange, self._access, self._act, asked)


def denial(exchange: Exchange, access: EngineAccess, asked: TargetedAct, reason: str = "") -> str:
    """The message for the user about a refused act, which is also audited.

    It names the act, its resource, and what it requires, or the `reason`; and the id by which the
    decision is explained.
    """
    act, where = asked.act, ".".join(asked.names.values())
    if not reason:
        takes = f"{act.name} on `{where}`, which takes {access.requirement(act)}"
        reason = f"{exchange.actor.user} may not {act.title} ({takes})"
    entity = access.target(act, asked.names)
    event = exchange.actor.event(
        access.mapping.operation(act.name),
        entity or NO_RESOURCE,
        "deny",
        reason,
        now=exchange.now,
        realm=exchange.realm,
    )
    id = ""
    if entity is None:
        exchange.denied(event)
    else:
        id = exchange.denied_decision(event, access.denied_decision(act, entity))
    return f"{reason}; {f'decision {id}' if id else f'request {exchange.actor.request_id}'}"
