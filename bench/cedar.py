"""The closest in-process rival: Cedar, through cedarpy.

Modelled for speed: one attribute-driven policy, parsed once; one handle of entities, parsed
once; role sets of ALLOWs and DENYs as attributes of the node that they were granted on; groups
and roles as parents of users. Requests are built before the clock starts, as dictionaries,
which cedarpy reads faster than Cedar's own syntax.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bench.timing import median, timed
from lakewarden.testing.workload import GROUPS, PRIVILEGES, ROLES, USERS, Workload, group, user

if TYPE_CHECKING:
    from cedarpy import AuthzResult

ENGINE_MICROS = "authz_duration_micros"
"""cedarpy's counter of the time spent in Cedar itself, in whole microseconds."""

Json = dict[str, Any]


def is_installed() -> bool:
    """Whether cedarpy is installed."""
    return find_spec("cedarpy") is not None


def policy() -> str:
    """The one policy: the load-table rule, each privilege at the levels where it is granted."""
    levels = {
        "metalake": "resource.schema.catalog.metalake",
        "catalog": "resource.schema.catalog",
        "schema": "resource.schema",
        "table": "resource",
    }

    def some(side: str, privilege: str, names: Sequence[str]) -> str:
        tests = []
        for level in names:
            found = f"principal in {levels[level]}.{side}_{privilege}"
            # One table in a hundred has a grant; the others have no empty attributes.
            here = f"(resource has {side}_{privilege} && {found})"
            tests.append(here if level == "table" else found)
        return f"({' || '.join(tests)})"

    def has(privilege: str, *names: str) -> str:
        return f"{some('allow', privilege, names)} && !{some('deny', privilege, names)}"

    def owns(level: str) -> str:
        return f"({levels[level]} has owner && {levels[level]}.owner == principal)"

    above = ("metalake", "catalog", "schema")
    reads = " || ".join(
        f"({has(name, *above, 'table')})" for name in ("SELECT_TABLE", "MODIFY_TABLE")
    )
    return f"""
    permit (principal, action == Action::"load", resource is Table) when {{
      {levels["metalake"]}.owner == principal || {levels["catalog"]}.owner == principal ||
      ({has("USE_CATALOG", "metalake", "catalog")} && (
        {owns("schema")} || ({has("USE_SCHEMA", *above)} && ({owns("table")} || {reads}))
      ))
    }};"""


def entities(workload: Workload) -> Iterator[Json]:
    """Users, groups and roles, then every node with its attributes."""
    yield from (_entity("Role", f"r{r:03d}", {}, []) for r in range(ROLES))
    for g in range(GROUPS):
        yield _entity("Group", group(g).name, {}, _roles(workload.group_roles[g]))
    for u in range(USERS):
        groups = [_uid("Group", group(g).name) for g in workload.groups[u]]
        yield _entity("User", user(u).name, {}, [*groups, *_roles(workload.user_roles[u])])
    granted: dict[tuple[int, str], list[int]] = {}
    for r, grants in enumerate(workload.grants):
        for node, privilege, deny in grants:
            name = f"{'deny' if deny else 'allow'}_{PRIVILEGES[privilege]}"
            granted.setdefault((node, name), []).append(r)
    names = [f"{side}_{privilege}" for side in ("allow", "deny") for privilege in PRIVILEGES]
    for node in range(workload.nodes):
        yield _node(workload, node, {name: granted.get((node, name), []) for name in names})


def _node(workload: Workload, node: int, granted: dict[str, list[int]]) -> Json:
    entity, parent = workload.entity(node), workload.parent(node)
    is_table = node >= workload.first_table
    kept = {name: _roles(roles) for name, roles in granted.items() if roles or not is_table}
    attributes: Json = dict(kept)
    if node in workload.owner:
        attributes["owner"] = _uid("User", user(workload.owner[node]).name)
    if parent is not None:
        above = workload.entity(parent)
        attributes[above.type] = _uid(above.type.title(), above.name)
    return _entity(entity.type.title(), entity.name, attributes, [])


def _entity(type: str, id: str, attributes: Json, parents: list[Json]) -> Json:
    return {"uid": _uid(type, id), "attrs": attributes, "parents": parents}


def _uid(type: str, id: str) -> Json:
    return {"__entity": {"type": type, "id": id}}


def _roles(numbers: Sequence[int]) -> list[Json]:
    return [_uid("Role", f"r{number:03d}") for number in numbers]


@dataclass(frozen=True, slots=True)
class Cedar:
    """Cedar with workload W loaded."""

    arguments: Sequence[tuple[Json, Any, Any]]
    handles: tuple[Any, Any]
    tables: Sequence[Json]
    build_s: float

    @staticmethod
    def load(workload: Workload) -> Cedar:
        """Parses policy and entities; `build_s` is the parsing time."""
        from cedarpy import Entities, PolicySet

        document = json.dumps(list(entities(workload)))
        handles, build_s = timed(
            lambda: (PolicySet.from_str(policy()), Entities.from_json_str(document))
        )
        first = workload.first_table
        tables = [
            {"type": "Table", "id": workload.entity(node).name}
            for node in range(first, workload.nodes)
        ]
        arguments = [
            (_request(user(u).name, tables[t - first]), *handles) for u, t in workload.queries
        ]
        return Cedar(arguments, handles, tables, build_s)

    @property
    def version(self) -> str:
        """The version of cedarpy."""
        return version("cedarpy")

    @staticmethod
    def check(request: Json, policies: Any, entities: Any) -> AuthzResult:
        """One question."""
        from cedarpy import is_authorized

        return is_authorized(request, policies, entities)

    def batch(self) -> list[AuthzResult]:
        """All queries in one call."""
        from cedarpy import is_authorized_batch

        return is_authorized_batch([request for request, *_ in self.arguments], *self.handles)

    def list(self, name: str) -> tuple[list[AuthzResult], float]:
        """All tables of one user, by a batch over every table; and the time in seconds."""
        from cedarpy import is_authorized_batch

        requests = [_request(name, table) for table in self.tables]
        return timed(lambda: is_authorized_batch(requests, *self.handles))


def engine_ns(results: Sequence[AuthzResult]) -> float:
    """The median of the times that Cedar itself reports, without the Python overhead."""
    return median([result.metrics[ENGINE_MICROS] * 1e3 for result in results])


def _request(name: str, table: Json) -> Json:
    return {
        "principal": {"type": "User", "id": name},
        "action": {"type": "Action", "id": "load"},
        "resource": table,
    }
