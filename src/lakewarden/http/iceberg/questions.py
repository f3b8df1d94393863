"""The questions of a request to a realm: one act or several, on names in its path and body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lakewarden.engines.engine import Act, Engine
from lakewarden.http.engine_access import Names
from lakewarden.http.iceberg import json_body
from lakewarden.http.iceberg.json_body import Json
from lakewarden.kernel.errors import BadInput

_UPDATES: Final = "updates"


@dataclass(frozen=True, slots=True)
class TargetedAct:
    """An act, and the names of its resource."""

    act: Act
    names: Names


@dataclass(frozen=True, slots=True)
class Questions:
    """All acts that must be allowed, and what the catalog creates, drops or renames by them.

    `created`, `dropped` are a type of resource with its names; `renamed` has the old and the new
    names.
    """

    asked: Sequence[TargetedAct]
    created: Sequence[tuple[str, Names]] = ()
    dropped: Sequence[tuple[str, Names]] = ()
    renamed: Sequence[tuple[str, Names, Names]] = ()


@dataclass(frozen=True, slots=True)
class Requested:
    """The relevant parts of a request: its act, the names in its path, its query and body."""

    engine: Engine
    act: Act
    names: Names
    query: Mapping[str, str] = field(default_factory=dict)
    body: Json = field(default_factory=dict)

    @property
    def catalog(self) -> Names:
        """The name of the catalog alone."""
        return {"catalog": self.names["catalog"]}

    def asks(self, act: str, names: Names) -> TargetedAct:
        """A question with another act of the engine."""
        return TargetedAct(self.engine.acts[act], names)


def questions(requested: Requested) -> Questions:
    """The questions of the request; raises `BadInput` that names the member of the body."""
    reader = _READERS.get(requested.act.name)
    if reader is not None:
        return reader(requested)
    act, names = requested.act, requested.names
    gone = ((act.resource, names),) if act.does == "drop" else ()
    return Questions((TargetedAct(act, names),), dropped=gone)


def _of_new_namespace(requested: Requested) -> Questions:
    act, body = requested.act, requested.body
    made = {**requested.catalog, "schema": json_body.namespace(body)}
    chooses = _sets_location(requested, json_body.member(body, "properties"))
    placing = (requested.asks("chooseLocation", requested.catalog),) if chooses else ()
    return Questions((TargetedAct(act, requested.names), *placing), created=(("namespace", made),))


def _of_properties(requested: Requested) -> Questions:
    body = requested.body
    touched = {*json_body.member(body, _UPDATES), *json_body.texts(body, "removals")}
    placing = _placing(requested, requested.names, is_chosen=_sets_location(requested, touched))
    return Questions((TargetedAct(requested.act, requested.names), *placing))


def _of_new(requested: Requested) -> Questions:
    """For a table or view that is created, prepared or registered."""
    act, body = requested.act, requested.body
    made = {**requested.names, act.makes: json_body.text(body, "name")}
    is_chosen = body.get("location") is not None or _sets_location(
        requested, json_body.member(body, "properties")
    )
    placing = _placing(requested, requested.names, is_chosen=is_chosen)
    is_staged = body.get("stage-create", False)
    if not isinstance(is_staged, bool):
        raise BadInput("expected true or false", where="body.stage-create")
    return Questions(
        (TargetedAct(act, requested.names), *placing),
        created=() if is_staged else ((act.makes, made),),
    )


def _of_commit(requested: Requested) -> Questions:
    if requested.body.get("identifier") is not None:
        kind = requested.act.resource
        if _identifier(requested, requested.body, "identifier", kind) != requested.names:
            raise BadInput("expected what the path names", where="body.identifier")
    return _of_change(requested, requested.names, requested.body, "body")


def _of_transaction(requested: Requested) -> Questions:
    changes = json_body.objects(requested.body, "table-changes")
    if not changes:
        raise BadInput("expected at least one change", where="body.table-changes")
    asked: list[TargetedAct] = []
    made: list[tuple[str, Names]] = []
    for number, change in enumerate(changes):
        where = f"body.table-changes[{number}]"
        names = _identifier(requested, change, "identifier", "table", where)
        one = _of_change(requested, names, change, where)
        asked += one.asked
        made += one.created
    return Questions(asked, created=made)


def _of_change(requested: Requested, names: Names, change: Json, where: str) -> Questions:
    """For one commit; one that requires that the table does not exist creates it."""
    requirements = json_body.objects(change, "requirements", where)
    types = [json_body.text(one, "type", f"{where}.requirements") for one in requirements]
    is_chosen = False
    for update in json_body.objects(change, _UPDATES, where):
        action = json_body.text(update, "action", f"{where}.updates")
        if not requested.engine.matches(_UPDATES, action):
            raise BadInput(f"unknown action `{action[:100]}`", where=f"{where}.updates")
        touched = {
            *json_body.member(update, _UPDATES, where),
            *json_body.texts(update, "removals", where),
        }
        is_chosen |= action == "set-location" or _sets_location(requested, touched)
    if "assert-create" in types and requested.act.resource == "table":
        container = {key: names[key] for key in ("catalog", "schema")}
        placing = _placing(requested, container, is_chosen=is_chosen)
        asked = (requested.asks("createTable", container), *placing)
        return Questions(asked, created=(("table", names),))
    placing = _placing(requested, names, is_chosen=is_chosen)
    return Questions((TargetedAct(requested.act, names), *placing))


def _of_rename(requested: Requested) -> Questions:
    kind = requested.act.resource
    source = _identifier(requested, requested.body, "source", kind)
    target = _identifier(requested, requested.body, "destination", kind)
    container = {key: target[key] for key in ("catalog", "schema")}
    asked = (TargetedAct(requested.act, source), requested.asks(requested.act.enters, container))
    return Questions(asked, renamed=((kind, source, target),))


def _of_drop(requested: Requested) -> Questions:
    act, names = requested.act, requested.names
    keeps = requested.query.get("purgeRequested", "false").lower() == "false"
    asked = TargetedAct(act, names) if keeps else requested.asks("purgeTable", names)
    return Questions((asked,), dropped=((act.resource, names),))


def _identifier(
    requested: Requested, value: Mapping[str, Any], name: str, kind: str, where: str = "body"
) -> Names:
    """The names of a table or view in a body."""
    at = f"{where}.{name}"
    found = json_body.member(value, name, where)
    return {
        **requested.catalog,
        "schema": json_body.namespace(found, where=at),
        kind: json_body.text(found, "name", at),
    }


def _placing(requested: Requested, names: Names, *, is_chosen: bool) -> Sequence[TargetedAct]:
    return (requested.asks("chooseLocation", names),) if is_chosen else ()


def _sets_location(requested: Requested, properties: Mapping[str, Any] | set[str]) -> bool:
    """Whether one of the properties sets the location of files."""
    return any(requested.engine.matches("locations", key) for key in properties)


_READERS: Final[Mapping[str, Callable[[Requested], Questions]]] = {
    "createNamespace": _of_new_namespace,
    "updateProperties": _of_properties,
    **dict.fromkeys(("createTable", "registerTable", "createView", "registerView"), _of_new),
    "updateTable": _of_commit,
    "replaceView": _of_commit,
    "commitTransaction": _of_transaction,
    "renameTable": _of_rename,
    "renameView": _of_rename,
    "dropTable": _of_drop,
}
