"""Items 1 to 4, 23, 24, 27 and 28: privileges, roles, switches, and the grammar of ids.

SOURCE: cdap reference 6; cdapio/cdap at v5.1.2, AuthorizationHandlerTest and AuthorizableTest;
cdapio/cdap-integration-tests, SentryBasicAuthorizationTest and BasicAppAuthorizationTest.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import pytest

from lakewarden.http.exchange import Route
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import privileges, roles
from tests.systems.cdap.http.saying import (
    AUTHORIZATION,
    GRANT,
    SPACE,
    application,
    held,
    refused,
    revoke_all,
    space,
    upload,
)
from tests.systems.cdap.http.wire import ADMIN, BOSS, Json, Wire, switched


def test_01_what_is_granted_counts_until_it_is_revoked(either: Wire) -> None:
    space(either)
    refused(either, "dana", "GET", SPACE)
    either.grant("dana", "namespace:sales", "READ")
    assert either.status("GET", SPACE, user="dana") == 200
    either.revoke("dana", "namespace:sales", "READ")
    refused(either, "dana", "GET", SPACE)


def test_01_revoking_by_entity_and_principal_leaves_other_principals(either: Wire) -> None:
    for user in ("dana", "bob"):
        either.grant(user, "dataset:sales.t1", "READ", "WRITE")
    revoke_all(either, "dataset:sales.t1", "dana")
    assert held(either, "dana") == []
    assert held(either, "bob") == ["dataset:sales.t1 READ", "dataset:sales.t1 WRITE"]


def test_01_revoking_by_entity_clears_all_principals_and_no_other_entity(either: Wire) -> None:
    for user in ("dana", "bob"):
        for dataset in ("t1", "t2"):
            either.grant(user, f"dataset:sales.{dataset}", "READ")
    revoke_all(either, "dataset:sales.t1")
    assert held(either, "dana") == held(either, "bob") == ["dataset:sales.t2 READ"]


def test_02_a_role_is_created_once_and_dropped_once(either: Wire) -> None:
    role = f"{AUTHORIZATION}/roles/eng"
    assert [either.status("PUT", role, user=ADMIN) for _ in range(2)] == [200, 409]
    assert [one["name"] for one in either.good("GET", f"{AUTHORIZATION}/roles", user=ADMIN)] == [
        "eng"
    ]
    assert [either.status("DELETE", role, user=ADMIN) for _ in range(2)] == [200, 404]
    assert either.good("GET", f"{AUTHORIZATION}/roles", user=ADMIN) == []
    assert either.status("PUT", f"{AUTHORIZATION}/user/dana/roles/eng", user=ADMIN) == 404


def test_02_a_membership_gives_what_the_role_holds_and_its_end_takes_it(either: Wire) -> None:
    space(either)
    mine = f"{AUTHORIZATION}/user/dana/roles"
    either.good("PUT", f"{AUTHORIZATION}/roles/eng", user=ADMIN)
    either.grant("eng", "namespace:sales", "READ", kind="ROLE")
    either.good("PUT", f"{mine}/eng", user=ADMIN)
    assert either.status("GET", SPACE, user="dana") == 200
    assert held(either, "dana") == held(either, "eng", "role") == ["namespace:sales READ"]
    assert either.good("GET", mine, user="dana") == [{"name": "eng", "type": "ROLE"}]
    either.good("DELETE", f"{mine}/eng", user=ADMIN)
    refused(either, "dana", "GET", SPACE)
    assert held(either, "dana") == either.good("GET", mine, user="dana") == []


def test_03_grants_run_ahead_of_what_they_are_on_and_revocations_are_quiet(wire: Wire) -> None:
    space(wire)
    wire.grant("dana", "dataset:sales.later", "READ", "ADMIN")
    assert held(wire, "dana") == ["dataset:sales.later ADMIN", "dataset:sales.later READ"]
    revoke_all(wire, "dataset:sales.never")
    wire.revoke("bob", "dataset:sales.later", "READ")
    wire.good("PUT", f"{SPACE}/data/datasets/later", {"typeName": "table"}, user="dana")
    assert wire.status("GET", f"{SPACE}/data/datasets/later", user="dana") == 200


def test_04_wildcards_are_listed_and_revoked_as_they_are_written(wire: Wire) -> None:
    patterns = ("dataset:sa*.t?", "namespace:*", "program:sales.*.workflow.*")
    for pattern in patterns:
        wire.grant("dana", pattern, "READ")
    assert held(wire, "dana") == sorted(f"{pattern} READ" for pattern in patterns)
    revoke_all(wire, "dataset:sales.t1", "dana")
    assert len(held(wire, "dana")) == 3
    for pattern in patterns:
        wire.revoke("dana", pattern, "READ")
    assert held(wire, "dana") == []


def test_23_one_role_runs_another_reads_and_a_third_writes(wire: Wire) -> None:
    space(wire)
    actions = {"runs": "EXECUTE", "reads": "READ", "writes": "WRITE"}
    for role, action in actions.items():
        wire.grant(BOSS, f"stream:sales.{role}", "ADMIN")
        wire.good("PUT", f"{SPACE}/streams/{role}")
        wire.good("PUT", f"{AUTHORIZATION}/roles/{role}", user=ADMIN)
        wire.grant(role, f"stream:sales.{role}", action, kind="ROLE")
        wire.good("PUT", f"{AUTHORIZATION}/user/dana/roles/{role}", user=ADMIN)
    found = wire.good("GET", f"{SPACE}/streams", user="dana")
    assert [one["name"] for one in found] == ["reads", "runs", "writes"]
    for stream in actions:
        at = f"{SPACE}/streams/{stream}"
        reading = wire.status("GET", f"{at}/events", user="dana")
        writing = wire.status("POST", at, b"an event", user="dana")
        assert (reading, writing) == (
            204 if stream == "reads" else 403,
            200 if stream == "writes" else 403,
        )
    wire.good("DELETE", f"{AUTHORIZATION}/user/dana/roles/writes", user=ADMIN)
    refused(wire, "dana", "POST", f"{SPACE}/streams/writes", b"an event")


def test_24_a_privilege_on_an_artifact_is_on_every_version(wire: Wire) -> None:
    space(wire)
    wire.grant(BOSS, "artifact:sales.etl", "ADMIN")
    assert upload(wire) == 200
    wire.grant("dana", "application:sales.shop", "ADMIN")
    refused(wire, "dana", "PUT", f"{SPACE}/apps/shop", application())
    other = {"namespace": "sales", "artifact": "etl", "version": "9.9", "entity": "ARTIFACT"}
    body = {"entity": other, "principal": {"name": "dana", "type": "USER"}, "actions": ["READ"]}
    wire.good("POST", GRANT, body, user=ADMIN)
    assert "artifact:sales.etl READ" in held(wire, "dana")
    assert wire.status("PUT", f"{SPACE}/apps/shop", application(), user="dana") == 200


ENDPOINTS: Final = (*privileges.ROUTES, *roles.ROUTES)


@pytest.mark.parametrize("route", ENDPOINTS, ids=lambda route: f"{route.method} {route.path}")
def test_27_with_a_switch_off_every_endpoint_says_which(either: Wire, route: Route) -> None:
    params = {"kind": "user", "name": "dana", "role": "eng"}
    path = re.sub(r"{(\w+)}", lambda match: params[match[1]], route.path)
    for options, feature, key in (
        (switched(authorization=False), "authorization", "security.authorization.enabled"),
        (switched(security=False), "authentication", "security.enabled"),
        (
            switched(security=False, authorization=False),
            "authentication",
            "security.enabled",
        ),
    ):
        either.services = replace(either.services, systems={"cdap": options})
        status, text = either.ask(route.method, path, {}, user=ADMIN)
        assert status == 501
        assert text == (
            f"Feature '{feature}' is not enabled. Please set '{key}' to 'true' in the"
            " 'cdap-site.xml' to enable this feature."
        )


BAD: Final[dict[str, Json]] = {
    "artifact:art": {"ARTIFACT": "art"},
    "artifact:ns.art.1.0": {"NAMESPACE": "ns", "ARTIFACT": "art.1.0"},
    "namespace:a.b": {"NAMESPACE": "a.b"},
    "program:ns.app": {"NAMESPACE": "ns", "APPLICATION": "app"},
    "stream:ns": {"NAMESPACE": "ns"},
    "stream:ns.s.x": {"NAMESPACE": "ns", "STREAM": "s.x"},
    "dataset:x": {"DATASET": "x"},
}
"""Ids that are refused, and the equivalent parts in a body."""

GOOD: Final = (
    "program:ns.app.*",
    "program:ns.app.workflow.nightly",
    "program:*.a?p.*",
    "dataset:ns.com.acme.Table$1",
    "dataset:*.com.*",
    "artifact:n?.*",
    "namespace:sa*s",
    "kerberosprincipal:eve/h1.corp@CORP",
    "securekey:ns.k",
)


@pytest.mark.parametrize("id", BAD)
def test_28_an_id_with_too_few_or_too_many_parts_is_refused(either: Wire, id: str) -> None:
    with pytest.raises(BadInput):
        cdap.parse_pattern_id(id)
    anchor = {"entityType": id.partition(":")[0].upper(), "entityParts": BAD[id]}
    body = {"authorizable": anchor, "principal": {"name": "dana", "type": "USER"}}
    assert either.status("POST", GRANT, body, user=ADMIN) == 400
    assert held(either, "dana") == []


@pytest.mark.parametrize("id", GOOD)
def test_28_wildcards_are_taken_anywhere_and_principals_are_never_split(
    either: Wire, id: str
) -> None:
    either.grant("dana", id, "READ")
    assert held(either, "dana") == [f"{id} READ"]
