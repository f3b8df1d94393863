"""HTTP's lists equal the oracle's visible entities, under random grants made over HTTP.

Grants go to users, to a stored group, to a group in the request, and to a role; on existing
entities, on some missing ones, and on patterns. The oracle reads the rows that the server has
stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.change import MembershipChanged, PrincipalChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.request import Request
from lakewarden.service.actor import SYSTEM
from tests.agreement.conftest import a_share_of_the_examples
from tests.oracle.oracle import Oracle
from tests.systems.cdap.http.wire import ADMIN, BOSS, REALM, Wire

SYSTEMS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "cdap": ("cdap", {}),
    "parent-write": ("cdap_parent_write", {}),
    "parent-write, propagated": ("cdap_parent_write", {"propagate_privileges": "on"}),
}

SPACES: Final = ("sales", "hr")

LISTS: Final[Mapping[str, tuple[str, str]]] = {
    "artifact.list": ("artifact", "artifacts?scope=USER"),
    "application.list": ("application", "apps"),
    "program.list": ("program", "workflows"),
    "secure_key.list": ("securekey", "securekeys"),
    "stream.list": ("stream", "streams"),
    "dataset.list": ("dataset", "data/datasets"),
    "dataset_module.list": ("dataset_module", "data/modules"),
    "dataset_type.list": ("dataset_type", "data/types"),
}
"""The type that an operation lists, and its path below a namespace."""

MODULES: Final = {"cubes": "com.acme.Cube", "graphs": "com.acme.Graph"}
CONTENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "artifact": ("etl", "join"),
    "application": ("shop", "till"),
    "program": ("shop.workflow.w1", "till.workflow.w2"),
    "securekey": ("k1", "k2"),
    "stream": ("s1", "s2"),
    "dataset": ("t1", "com.acme.T2"),
    "dataset_module": tuple(MODULES),
    "dataset_type": tuple(MODULES.values()),
}
"""The contents of both namespaces."""

PATTERNS: Final[Mapping[str, tuple[str, ...]]] = {
    "artifact": ("e*", "??il", "*n"),
    "application": ("sh?p", "t*", "*l*"),
    "program": ("*.*", "sh*.workflow.*", "till.*.*2"),
    "securekey": ("k?", "*2", "k*"),
    "stream": ("s?", "*1", "??"),
    "dataset": ("?1", "com.*", "*.T?"),
    "dataset_module": ("c*", "*s", "gr?phs"),
    "dataset_type": ("com.acme.*", "*Cube", "com.*.G*"),
}
"""Patterns that match some of them."""

PROGRAMS: Final = (*CONTENTS["program"], *PATTERNS["program"], "shop.*", "*.*", "never.*")
ACTIONS: Final = ("READ", "WRITE", "EXECUTE", "ADMIN")


class Asker(NamedTuple):
    """A caller, and the groups in the request."""

    name: str
    groups: tuple[str, ...] = ()


ASKERS: Final = (
    Asker("ana"),
    Asker("ana", ("guests",)),
    Asker("bob"),
    Asker("bob", ("guests", "staff")),
    Asker("eve"),
    Asker("eve", ("guests",)),
)
"""`ana` is in the group `staff`, which has the role `readers`; `bob` has the role himself."""


class Grant(NamedTuple):
    """One request of the authorization admin."""

    kind: str
    name: str
    id: str
    actions: tuple[str, ...]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Wire]]:
    """A server for each system, with the same two namespaces."""
    with ExitStack() as stack:
        servers: dict[str, Wire] = {}
        for name, (profile, knobs) in SYSTEMS.items():
            folder = tmp_path_factory.mktemp("served")
            servers[name] = stack.enter_context(Wire(folder, profile=profile, settings=knobs))
            fill(servers[name])
        yield servers


def fill(wire: Wire) -> None:
    """Creates the namespaces with all their contents, the people, and the role."""
    wire.grant(BOSS, "instance:cdap", "WRITE")
    wire.grant(BOSS, "namespace:*", "ADMIN")
    for type in ("artifact", "application", "securekey", "stream", "dataset", "dataset_module"):
        wire.grant(BOSS, f"{type}:*.*", "READ", "WRITE", "ADMIN")
    for space in SPACES:
        at = f"namespaces/{space}"
        wire.good("PUT", at)
        for name in CONTENTS["artifact"]:
            wire.good("POST", f"{at}/artifacts/{name}", b"x", headers={"Artifact-Version": "1"})
        for program in CONTENTS["program"]:
            app, _, name = program.split(".")
            config = {"programs": [{"type": "workflow", "name": name}]}
            made_of = {"name": "etl", "version": "1", "scope": "USER"}
            wire.good("PUT", f"{at}/apps/{app}", {"artifact": made_of, "config": config})
        for name in CONTENTS["securekey"]:
            wire.good("PUT", f"{at}/securekeys/{name}", {"description": "", "data": "x"})
        for name in CONTENTS["stream"]:
            wire.good("PUT", f"{at}/streams/{name}")
        for name in CONTENTS["dataset"]:
            wire.good("PUT", f"{at}/data/datasets/{name}", {"typeName": "table"})
        for name, class_name in MODULES.items():
            headers = {"X-Class-Name": class_name}
            wire.good("PUT", f"{at}/data/modules/{name}", b"x", headers=headers)
    ana, staff = Principal(USER, "ana"), Principal(GROUP, "staff")
    effects = (
        PrincipalChanged(ana, True),
        PrincipalChanged(staff, True),
        MembershipChanged(MembershipRow(ana, staff), True),
    )
    wire.service.write(SYSTEM, lambda transaction: transaction.change(REALM, *effects))
    roles = "security/authorization"
    wire.good("PUT", f"{roles}/roles/readers", user=ADMIN)
    wire.good("PUT", f"{roles}/group/staff/roles/readers", user=ADMIN)
    wire.good("PUT", f"{roles}/user/bob/roles/readers", user=ADMIN)


@st.composite
def ids(draw: st.DrawFn) -> str:
    """An id, or a pattern of ids; some name missing entities."""
    space = draw(st.sampled_from([*SPACES, "*", "s*", "?r", "none"]))
    type = draw(st.sampled_from([*CONTENTS] * 3 + ["namespace", "instance"]))
    match type:
        case "instance":
            return "instance:cdap"
        case "namespace":
            return f"namespace:{space}"
        case "program":
            return f"program:{space}.{draw(st.sampled_from(PROGRAMS))}"
        case _:
            names = [*CONTENTS[type], *PATTERNS[type], "*", "never"]
            return f"{type}:{space}.{draw(st.sampled_from(names))}"


grants = st.lists(
    st.builds(
        lambda who, id, actions: Grant(who[0], who[1], id, tuple(sorted(actions))),
        st.sampled_from(
            [
                *(("USER", "ana"), ("USER", "bob"), ("USER", "ghost")),
                *(("GROUP", "staff"), ("GROUP", "guests"), ("ROLE", "readers")),
            ]
        ),
        ids(),
        st.sets(st.sampled_from(ACTIONS), min_size=1, max_size=2),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("system", SYSTEMS)
@a_share_of_the_examples(4, by_day=3)
@given(made=grants)
def test_what_is_listed_is_what_the_oracle_says_is_visible(
    served: Mapping[str, Wire], system: str, made: list[Grant]
) -> None:
    wire = served[system]
    try:
        for one in made:
            wire.grant(one.name, one.id, *one.actions, kind=one.kind)
        assert answered(wire) == expected(wire)
    finally:
        for one in made:
            wire.revoke(one.name, one.id, kind=one.kind)


Shown = dict[tuple[Asker, str, str], Any]
"""By caller, operation and namespace: the listed names, or 403."""


def answered(wire: Wire) -> Shown:
    """The server's responses."""
    found: Shown = {}
    for asker in ASKERS:
        _, spaces = wire.ask("GET", "namespaces", user=asker.name, groups=asker.groups)
        found[asker, "", "namespace.list"] = [one for one in SPACES if one in _names(spaces)]
        for space in SPACES:
            for operation, (_, below) in LISTS.items():
                path = f"namespaces/{space}/{below}"
                who: dict[str, Any] = {"user": asker.name, "groups": asker.groups}
                status, body = wire.ask("GET", path, **who)
                found[asker, space, operation] = _names(body) if status == 200 else status
    return found


def _names(body: Any) -> list[str]:
    """The listed names; those of programs with their application and type."""
    if isinstance(body, dict):
        return sorted(body)
    programs = [one for one in body if "app" in one]
    if programs:
        return sorted(f"{one['app']}.{one['type'].lower()}.{one['name']}" for one in programs)
    return sorted({one["name"] for one in body})


def expected(wire: Wire) -> Shown:
    """The oracle's results for the stored rows."""
    state = wire.service.state.realm(REALM)
    model, now = state.system.model, wire.service.clock()
    with wire.service.reading() as reading:
        facts = reading.facts(REALM, state.system)
    oracle = Oracle(facts, model, state.system.spelling)
    found: Shown = {}
    for asker in ASKERS:
        principal = Principal(USER, asker.name)
        groups = tuple(Principal(GROUP, name) for name in asker.groups)
        filter = model.operation("namespace.list").filter or ""
        found[asker, "", "namespace.list"] = [
            space
            for space in SPACES
            if oracle.check(
                Request(principal, filter, Entity("namespace", space), now, groups=groups)
            )
        ]
        for space in SPACES:
            within = Entity("namespace", space)
            for operation in LISTS:
                asked = Request(principal, operation, within, now, groups=groups)
                if not oracle.check(asked):
                    found[asker, space, operation] = 403
                    continue
                filter = model.operation(operation).filter or ""
                listed = Request(principal, filter, now=now, groups=groups)
                type = LISTS[operation][0]
                names = (
                    one.name.partition(".")[2]
                    for one in oracle.listing(listed, within)
                    if one.type == type
                )
                found[asker, space, operation] = sorted(names)
    return found


def test_the_worlds_show_something_and_refuse_something(served: Mapping[str, Wire]) -> None:
    wire = served["cdap"]
    made = Grant("ROLE", "readers", "dataset:s*.*1", ("EXECUTE",))
    wire.grant(made.name, made.id, *made.actions, kind=made.kind)
    found = answered(wire)
    wire.revoke(made.name, made.id, kind=made.kind)
    for asker in (Asker("ana"), Asker("bob"), Asker("eve", ("guests",))):
        listed = ["t1"] if asker.name != "eve" else 403
        assert found[asker, "sales", "dataset.list"] == listed
        assert found[asker, "hr", "dataset.list"] == 403
