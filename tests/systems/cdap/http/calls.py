"""The HTTP call for each operation: turns a scenario file's question into a request.

`CALLS` has one entry for each operation that a route checks alone; `ASKED_WITH` names the
operations that are only checked together with others; `FILTERS` describes which entities lists
show.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.service.scenarios import Question
from lakewarden.systems.cdap import names as cdap

WORDS: Final = {
    "flow": "flows",
    "mapreduce": "mapreduce",
    "service": "services",
    "spark": "spark",
    "worker": "workers",
    "workflow": "workflows",
}
"""Types of programs, and their words in paths."""

SEARCH: Final = "metadata/search?query=*"
"""The path of a search that finds everything, below that of a namespace or at the top."""

SOMEBODY: Final = "somebody-else"


class Call(NamedTuple):
    """One request; `path` is below `/v3`."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = {}


Make = Callable[[Question], Call]


def space(entity: Entity) -> str:
    """The path of the entity's namespace, or of the entity if it is one."""
    return f"namespaces/{cdap.parts(entity)[0]}"


def path(entity: Entity) -> str:
    """The path of an entity.

    >>> path(Entity("program", "sales.shop.workflow.nightly"))
    'namespaces/sales/apps/shop/workflows/nightly'
    """
    parts = cdap.parts(entity)
    match entity.type:
        case "namespace":
            return space(entity)
        case "program":
            kind, _, name = parts[2].partition(".")
            return f"{space(entity)}/apps/{parts[1]}/{WORDS[kind]}/{name}"
        case _:
            return f"{space(entity)}/{_FOLDERS[entity.type]}/{parts[1]}"


_FOLDERS: Final = {
    "application": "apps",
    "artifact": "artifacts",
    "securekey": "securekeys",
    "stream": "streams",
    "dataset": "data/datasets",
    "dataset_module": "data/modules",
    "dataset_type": "data/types",
}


def at(method: str, below: str = "", body: object = None) -> Make:
    """A call at the path of the question's entity."""
    return lambda question: Call(method, path(question.entity) + below, body)


def _preferences(verb: str) -> Make:
    method = {"get": "GET", "set": "PUT", "delete": "DELETE"}[verb]
    body: object = {} if verb == "set" else None

    def make(question: Question) -> Call:
        entity = question.entity
        below = "" if entity.type == "instance" else f"{path(entity)}/"
        return Call(method, f"{below}preferences", body)

    return make


def _artifact(question: Question) -> dict[str, str]:
    """The question's artifact, in a deployment's notation."""
    found = question.targets["artifact"]
    place, name = cdap.parts(found)
    return {"name": name, "version": "1.0", "scope": "SYSTEM" if place == "system" else "USER"}


def _deploy(question: Question) -> Call:
    return Call("PUT", path(question.entity), {"artifact": _artifact(question)})


def _update(question: Question) -> Call:
    body = {"artifact": _artifact(question)} if question.targets else {}
    return Call("POST", f"{path(question.entity)}/update", body)


def _deploy_with_artifact(question: Question) -> Call:
    name = cdap.parts(question.targets["artifact"])[1]
    config = {"name": cdap.parts(question.entity)[1]}
    headers = {"X-Archive-Name": f"{name}-7.0.jar", "X-App-Config": json.dumps(config)}
    return Call("POST", f"{space(question.entity)}/apps", b"x", headers)


def _privileges(verb: str) -> Make:
    def make(question: Question) -> Call:
        body = {
            "authorizable": cdap.to_authorizable(question.entity),
            "principal": {"name": SOMEBODY, "type": "USER"},
            "actions": ["READ"],
        }
        return Call("POST", f"security/authorization/privileges/{verb}", body)

    return make


def _roles(method: str, below: str) -> Make:
    return lambda _: Call(method, f"security/authorization/{below}")


def _schedule_name(program: Entity) -> str:
    return cdap.parts(program)[2].replace(".", "-")


def schedules_of(programs: Iterable[Entity]) -> dict[str, Any]:
    """One schedule for each program, in the notation of their application's document."""
    return {
        _schedule_name(program): {
            "program": {
                "programName": cdap.parts(program)[2].partition(".")[2],
                "programType": cdap.parts(program)[2].partition(".")[0].upper(),
            },
            "status": "SUSPENDED",
        }
        for program in programs
    }


def _scheduled(method: str, below: str = "") -> Make:
    """A call at the path of the schedule that starts the question's program."""

    def make(question: Question) -> Call:
        program = question.entity
        app = f"{space(program)}/apps/{cdap.parts(program)[1]}"
        return Call(method, f"{app}/schedules/{_schedule_name(program)}{below}")

    return make


_SCHEDULE: Final = {
    "program": {"programName": "none", "programType": "WORKFLOW"},
    "trigger": {"type": "TIME", "cronExpression": "0 * * * *"},
}


def _service(method: str, below: str, body: object = None) -> Make:
    return lambda question: Call(method, f"system/services/{question.entity.name}{below}", body)


def _search(question: Question) -> Call:
    place = "" if question.entity == NO_RESOURCE else f"{path(question.entity)}/"
    return Call("GET", f"{place}{SEARCH}")


_UPLOAD: Final = {"Artifact-Version": "7.0"}
_V1: Final = "/versions/1.0"
_LINES: Final = {"Content-Type": "text/plain"}
_CLASS: Final = {"X-Class-Name": "com.acme.Brought"}

CALLS: Final[Mapping[str, Make]] = {
    "namespace.create": at("PUT"),
    "namespace.recreate": at("PUT"),
    "namespace.update": at("PUT", "/properties", {}),
    "namespace.get": at("GET"),
    "namespace.list": lambda _: Call("GET", "namespaces"),
    "namespace.use": at("GET", "/apps"),
    "namespace.delete": lambda q: Call("DELETE", f"unrecoverable/{path(q.entity)}"),
    **{
        f"{type}.{verb}_preference": _preferences(verb)
        for type in ("instance", "namespace", "application", "program", "stream")
        for verb in ("get", "set", "delete")
    },
    "artifact.add": lambda q: Call("POST", path(q.entity), b"x", _UPLOAD),
    "artifact.delete": at("DELETE", _V1),
    "artifact.get": at("GET", _V1),
    "artifact.list": at("GET", "/artifacts"),
    "artifact.write_property": at("PUT", f"{_V1}/properties", {}),
    "artifact.delete_property": at("DELETE", f"{_V1}/properties"),
    "artifact.get_property": at("GET", f"{_V1}/properties"),
    "artifact.refresh_system": at("POST", "/artifacts"),
    "artifact.clear_all": at("DELETE", "/artifacts"),
    "application.deploy": _deploy,
    "application.redeploy": _deploy,
    "application.deploy_with_artifact": _deploy_with_artifact,
    "application.get": at("GET"),
    "application.list": at("GET", "/apps"),
    "application.update": _update,
    "application.delete": at("DELETE"),
    "application.delete_all": at("DELETE", "/apps"),
    "application.versions": at("GET", "/versions"),
    "application.plugins": at("GET", "/plugins"),
    "program.start": at("POST", "/start"),
    "program.stop": at("POST", "/stop"),
    "program.debug": at("POST", "/debug"),
    "program.set_instances": at("PUT", "/instances", {"instances": 2}),
    "program.get_instances": at("GET", "/instances"),
    "program.list": at("GET", "/workflows"),
    "program.set_runtime_args": at("PUT", "/runtimeargs", {}),
    "program.get_runtime_args": at("GET", "/runtimeargs"),
    "program.get_status": at("GET", "/status"),
    "program.get_history": at("GET", "/runs"),
    "program.get_specification": at("GET"),
    "program.set_log_levels": at("PUT", "/runs/none/loglevels", {}),
    "schedule.add": at("PUT", "/schedules/fresh", _SCHEDULE),
    "schedule.update": at("POST", "/schedules/none/update", {}),
    "schedule.delete": at("DELETE", "/schedules/none"),
    "schedule.resume": _scheduled("POST", "/resume"),
    "schedule.suspend": _scheduled("POST", "/suspend"),
    "schedule.get": _scheduled("GET"),
    "schedule.status": _scheduled("GET", "/status"),
    "schedule.list": at("GET", "/schedules"),
    "schedule.list.filter": at("GET", "/schedules"),
    "secure_key.create": at("PUT", "", {"data": "x"}),
    "secure_key.read": at("GET"),
    "secure_key.read_metadata": at("GET", "/metadata"),
    "secure_key.delete": at("DELETE"),
    "secure_key.list": at("GET", "/securekeys"),
    "dataset.drop_all": lambda q: Call("DELETE", f"unrecoverable/{path(q.entity)}/datasets"),
    "stream.create": at("PUT"),
    "stream.update_properties": at("PUT", "/properties", {}),
    "stream.delete": at("DELETE"),
    "stream.drop_all": at("DELETE", "/streams"),
    "stream.truncate": at("POST", "/truncate"),
    "stream.enqueue": at("POST", "", b"x"),
    "stream.async_enqueue": at("POST", "/async", b"x"),
    "stream.batch": lambda q: Call("POST", f"{path(q.entity)}/batch", b"x", _LINES),
    "stream.get": at("GET"),
    "stream.list": at("GET", "/streams"),
    "stream.read_events": at("GET", "/events"),
    "stream_view.create": at("PUT", "/views/lines", {"format": {"name": "text"}}),
    "stream_view.delete": at("DELETE", "/views/lines"),
    "stream_view.list": at("GET", "/views"),
    "stream_view.get": at("GET", "/views/lines"),
    "dataset.create": at("PUT", "", {"typeName": "table"}),
    "dataset.get": at("GET"),
    "dataset.exists": at("POST", "/admin/exists"),
    "dataset.get_properties": at("GET", "/properties"),
    "dataset.list": at("GET", "/data/datasets"),
    "dataset.update": at("PUT", "/properties", {}),
    "dataset.drop": at("DELETE"),
    "dataset.truncate": at("POST", "/admin/truncate"),
    "dataset.upgrade": at("POST", "/admin/upgrade"),
    "dataset.read": at("POST", "/data/get"),
    "dataset_module.deploy": lambda q: Call("PUT", path(q.entity), b"x", _CLASS),
    "dataset_module.delete": at("DELETE"),
    "dataset_module.delete_all": at("DELETE", "/data/modules"),
    "dataset_module.list": at("GET", "/data/modules"),
    "dataset_module.get": at("GET"),
    "dataset_type.list": at("GET", "/data/types"),
    "dataset_type.get": at("GET"),
    "namespace.search": _search,
    **{
        f"{type}.{verb}": at("POST", f"{below}/metadata/properties", {})
        for type, verb, below in (
            ("artifact", "write_metadata", _V1),
            ("application", "add_metadata", ""),
            ("program", "add_metadata", ""),
            ("dataset", "add_metadata", ""),
            ("stream", "add_metadata", ""),
        )
    },
    **{
        f"{type}.{verb}": at("GET", f"{below}/metadata")
        for type, verb, below in (
            ("artifact", "read_metadata", _V1),
            ("application", "get_metadata", ""),
            ("program", "get_metadata", ""),
            ("dataset", "get_metadata", ""),
            ("stream", "get_metadata", ""),
        )
    },
    "dataset.view_lineage": at("GET", "/lineage"),
    "stream.view_lineage": at("GET", "/lineage"),
    "program.emit_logs": at("POST", "/logs", b"a line"),
    "program.view_logs": at("GET", "/logs"),
    **{
        f"{type}.emit_metrics": at("POST", "/metrics", {"rows": 1})
        for type in ("program", "dataset", "stream")
    },
    **{f"{type}.view_metrics": at("GET", "/metrics") for type in ("program", "dataset", "stream")},
    "system_service.view": _service("GET", "/status"),
    "system_service.change": _service("PUT", "/instances", {"instances": 1}),
    "privilege.grant": _privileges("grant"),
    "privilege.revoke": _privileges("revoke"),
    "privilege.list": _roles("GET", f"user/{SOMEBODY}/privileges"),
    "role.create": _roles("PUT", "roles/fresh"),
    "role.drop": _roles("DELETE", "roles/fresh"),
    "role.add": _roles("PUT", f"user/{SOMEBODY}/roles/fresh"),
    "role.remove": _roles("DELETE", f"user/{SOMEBODY}/roles/fresh"),
    "role.list": _roles("GET", "roles"),
}

AFTERWARDS: Final[Mapping[str, frozenset[int]]] = {
    "program.stop": frozenset({400}),
}
"""Statuses after a passed check, which count as allowed: a stopped program cannot be stopped."""

ASKED_WITH: Final[Mapping[str, str]] = {
    "namespace.delete.contents": "namespace.delete",
    "application.deploy_contents": "application.deploy",
    "program.create": "application.deploy",
    "dataset_type.create": "application.deploy, dataset_module.deploy",
    "dataset_type.delete": "dataset_module.delete",
    "dataset_type.use": "application.deploy, dataset.create",
    "principal.use": "namespace.create, application.deploy, stream.create, dataset.create",
    "privilege.grant_ahead": "privilege.grant",
}
"""Operations that no route checks alone, with the operations that include their check."""


def _name(row: Any) -> str:
    return str(row["name"])


def _program(row: Any) -> str:
    return f"{row['app']}.{row['type'].lower()}.{row['name']}"


class Shown(NamedTuple):
    """A list over HTTP: its path below a namespace (empty: the list of namespaces).

    `{word}` is replaced by each type of programs; `named` returns the name in a row.
    """

    below: str
    type: str
    named: Callable[[Any], str] = _name


def paths(below: str) -> list[str]:
    """The paths that together list all entities of a type."""
    return [below.replace("{word}", word) for word in WORDS.values()] if "{" in below else [below]


HITS: Final = "namespace.search.filter"
"""The operation that filters the hits of a search, of every type."""

FILTERS: Final[Mapping[str, Shown]] = {
    "namespace.list.filter": Shown("", "namespace"),
    "artifact.list.filter": Shown("/artifacts?scope=user", "artifact"),
    "application.list.filter": Shown("/apps", "application"),
    "program.list.filter": Shown("/{word}", "program", _program),
    HITS: Shown(f"/{SEARCH}", "any"),
    "secure_key.list.filter": Shown("/securekeys", "securekey"),
    "stream.list.filter": Shown("/streams", "stream"),
    "dataset.list.filter": Shown("/data/datasets", "dataset"),
    "dataset_module.list.filter": Shown("/data/modules", "dataset_module"),
    "dataset_type.list.filter": Shown("/data/types", "dataset_type"),
}
"""The lists, by the operation that each of their rows must pass."""

NO_ROUTE: Final[Mapping[str, str]] = {
    "core": "types and acts without a rule of their own: paths lead to namespaces' metadata alone",
    "dataset.write": "data are written by programs: no path of CDAP does",
}
"""Operations, and kinds of them, that no HTTP request checks, with reasons."""
