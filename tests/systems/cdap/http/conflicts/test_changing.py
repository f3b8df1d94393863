"""K8, K11 to K15, K18 to K22, K24 and K25: creations, deletions, and their consequences.

One test for each conflict, named after it; for both profiles if the decision differs.
SOURCE: cdap reference 2.12; CDAP design page, both copies; CDAP authorization reference.
"""

from __future__ import annotations

from typing import Final

from lakewarden import models
from tests.systems.cdap.http.estate import CLICKS, NIGHTLY, ORDERS, SHOP, SPACE, give, lets
from tests.systems.cdap.http.saying import application, held, names, program, refused, upload
from tests.systems.cdap.http.wire import ADMIN, BOSS, RUNNER, Wire

WORKFLOW: Final = "program:sales.shop.workflow.nightly"
ANYBODY: Final = {"reader", "writer", "runner", "keeper"}
EVERY: Final = ("ADMIN", "EXECUTE", "READ", "WRITE")


def all_on(id: str) -> set[str]:
    """All four actions on an id, in the format of `held`."""
    return {f"{id} {action}" for action in EVERY}


def test_k08_creating_a_namespace_takes_write_on_the_instance_or_admin_by_a_setting(
    older: Wire, knobs: Wire
) -> None:
    for wire, who in ((older, "writer"), (knobs, "keeper")):
        give(wire, "instance:cdap")
        assert lets(wire, "PUT", "namespaces/lab") == {who}


def test_k11_whoever_deploys_holds_all_that_came_of_it_in_the_older_profile_alone(
    new: Wire, older: Wire
) -> None:
    for wire in (new, older):
        for id in ("application:sales.fair", "dataset:sales.stalls", "stream:sales.steps"):
            wire.grant("dana", id, "ADMIN")
        wire.grant("dana", "artifact:sales.etl", "READ")
        wire.grant("dana", "namespace:sales", "READ", "WRITE")
        config = application(
            programs=[program("service", "gate")], datasets=["stalls"], streams=["steps"]
        )
        before = set(held(wire, "dana"))
        wire.good("PUT", f"{SPACE}/apps/fair", config, user="dana")
        start = wire.status("POST", f"{SPACE}/apps/fair/services/gate/start", user="dana")
        made = ("program:sales.fair.service.gate", "dataset:sales.stalls", "stream:sales.steps")
        everything = set().union(*map(all_on, (*made, "application:sales.fair")))
        given = everything if wire is older else set()
        assert set(held(wire, "dana")) == before | given
        assert start == (200 if wire is older else 403)


def test_k12_privileges_go_with_what_is_deleted_in_the_older_profile_and_else_stay(
    new: Wire, older: Wire
) -> None:
    ids = ("namespace:sales", "dataset:sales.orders", WORKFLOW, "stream:sales.never")
    for wire in (new, older):
        for id in ids:
            wire.grant("dana", id, "READ")
        wire.grant("dana", "namespace:lab", "READ")
        assert wire.status("DELETE", f"unrecoverable/{SPACE}") == 200
        kept = {"namespace:lab", *(ids if wire is new else ())}
        assert set(held(wire, "dana")) == {f"{id} READ" for id in kept}


def test_k13_nothing_comes_down_unless_a_setting_says_so_and_then_not_in_lists(
    estate: Wire, knobs: Wire
) -> None:
    estate.grant("dana", "namespace:sales", *EVERY)
    estate.grant("dana", "instance:cdap", *EVERY)
    for path in (ORDERS, SHOP, CLICKS):
        refused(estate, "dana", "GET", path)
    knobs.grant("dana", "namespace:sales", "READ")
    for path in (ORDERS, SHOP, CLICKS, NIGHTLY):
        assert knobs.status("GET", path, user="dana") == 200
    assert names(knobs, f"{SPACE}/data/datasets", "dana") == []
    knobs.grant("bob", "instance:cdap", *EVERY)
    refused(knobs, "bob", "GET", SPACE)


def test_k14_emitting_takes_write_on_the_namespace_in_the_older_profile(
    new: Wire, older: Wire
) -> None:
    for wire, on_program, on_space in ((new, {"writer"}, 403), (older, set[str](), 200)):
        give(wire, WORKFLOW)
        wire.grant("above", "namespace:sales", "WRITE")
        wire.grant("beside", "namespace:sales", "READ", "EXECUTE", "ADMIN")
        for path, body in ((f"{NIGHTLY}/logs", b"a line"), (f"{NIGHTLY}/metrics", {"rows": 1})):
            assert lets(wire, "POST", path, body) == on_program
            assert wire.status("POST", path, body, user="above") == on_space
            refused(wire, "beside", "POST", path, body)
    for kind in ("logs", "metrics"):
        declared = models.load("cdap_parent_write").operation(f"program.emit_{kind}")
        assert declared.note.startswith("unsettled")


def test_k15_system_services_are_seen_by_all_and_changed_by_admin_there_or_on_the_instance(
    either: Wire,
) -> None:
    service = "system/services/appfabric"
    give(either, "system_service:appfabric")
    everybody = {*ANYBODY, "stranger"}
    assert lets(either, "GET", f"{service}/status") == everybody
    assert lets(either, "PUT", f"{service}/instances", {"instances": 1}) == {"keeper"}
    either.grant("stranger", "instance:cdap", "ADMIN")
    changing = lets(either, "PUT", f"{service}/instances", {"instances": 1})
    assert changing == {"keeper", "stranger"}


def test_k18_creating_in_a_namespace_that_one_cannot_see_is_refused_as_creating_is(
    estate: Wire,
) -> None:
    for place in (SPACE, "namespaces/none"):
        text = refused(estate, "stranger", "PUT", f"{place}/streams/fresh")
        assert "is not authorized to perform actions" in text


def test_k19_whoever_runs_the_programs_is_given_nothing_by_a_creation(old: Wire) -> None:
    old.grant(BOSS, "instance:cdap", "WRITE")
    config = {"principal": "svc@CORP", "keytabURI": "file:///keytab"}
    old.good("PUT", SPACE, {"config": config})
    old.good("PUT", f"{SPACE}/data/datasets/t1", {"typeName": "table"})
    assert set(held(old, BOSS)) > all_on("dataset:sales.t1")
    for name in ("svc", RUNNER, ADMIN):
        assert not [one for one in held(old, name) if "sales" in one]


def test_k20_deleting_a_namespace_takes_admin_on_it_and_in_the_later_profile_on_all_in_it(
    new: Wire, older: Wire
) -> None:
    gone = f"unrecoverable/{SPACE}"
    types = ("artifact", "application", "program", "dataset", "stream")
    for wire in (new, older):
        for type in types:
            wire.grant("inside", f"{type}:sales.{'*.*' if type == 'program' else '*'}", "ADMIN")
        wire.grant("keeper", "namespace:sales", "ADMIN")
        refused(wire, "inside", "DELETE", gone)
    refused(new, "keeper", "DELETE", gone)
    new.grant("inside", "namespace:sales", "ADMIN")
    assert new.status("DELETE", gone, user="inside") == 200
    assert older.status("DELETE", gone, user="keeper") == 200


def test_k21_a_dataset_of_a_type_that_is_there_takes_any_privilege_on_the_type(new: Wire) -> None:
    cube, header = f"{SPACE}/data/modules/cubes", {"X-Class-Name": "com.acme.Cube"}
    new.grant(BOSS, "dataset_module:sales.cubes", "ADMIN")
    new.good("PUT", cube, b"x", headers=header)
    new.grant("dana", "dataset:sales.c1", "ADMIN")
    body = {"typeName": "com.acme.Cube"}
    refused(new, "dana", "PUT", f"{SPACE}/data/datasets/c1", body)
    new.grant("dana", "dataset_type:sales.com.acme.Cube", "EXECUTE")
    assert new.status("PUT", f"{SPACE}/data/datasets/c1", body, user="dana") == 200


def test_k21_the_older_profile_asks_nothing_of_a_type(older: Wire) -> None:
    cube, header = f"{SPACE}/data/modules/cubes", {"X-Class-Name": "com.acme.Cube"}
    older.grant("dana", "namespace:sales", "WRITE")
    older.good("PUT", cube, b"x", headers=header)
    body = {"typeName": "com.acme.Cube"}
    assert older.status("PUT", f"{SPACE}/data/datasets/c1", body, user="dana") == 200


def test_k21_a_deployment_that_brings_the_module_takes_admin_on_it_and_on_its_type(
    new: Wire,
) -> None:
    for id in ("application:sales.fair", "artifact:sales.etl", "dataset:sales.g1"):
        new.grant("dana", id, "ADMIN")
    config = application(
        modules=[{"name": "graphs", "className": "com.acme.Graph"}],
        datasets=[{"name": "g1", "type": "com.acme.Graph"}],
    )
    for id in ("dataset_module:sales.graphs", "dataset_type:sales.com.acme.Graph"):
        new.grant("dana", id, "READ", "WRITE", "EXECUTE")
        text = refused(new, "dana", "PUT", f"{SPACE}/apps/fair", config)
        assert f"'[ADMIN]' on entity '{id}'" in text
        new.grant("dana", id, "ADMIN")
    assert new.status("PUT", f"{SPACE}/apps/fair", config, user="dana") == 200


def test_k22_admin_on_the_application_alone_adds_a_schedule(estate: Wire) -> None:
    body = {
        "program": {"programName": "nightly", "programType": "WORKFLOW"},
        "trigger": {"type": "TIME", "cronExpression": "0 4 * * *"},
    }
    give(estate, WORKFLOW)
    assert lets(estate, "PUT", f"{SHOP}/schedules/daily", body) == set()
    estate.grant("dana", "application:sales.shop", "ADMIN")
    refused(estate, "dana", "GET", NIGHTLY)
    assert estate.status("PUT", f"{SHOP}/schedules/daily", body, user="dana") == 200


def test_k24_what_was_granted_ahead_stays_when_the_entity_is_created(estate: Wire) -> None:
    estate.grant("eve", "dataset:sales.fresh", "READ")
    estate.good("PUT", f"{SPACE}/data/datasets/fresh", {"typeName": "table"})
    assert held(estate, "eve") == ["dataset:sales.fresh READ"]


def test_k25_only_a_new_entity_is_given_to_whoever_creates_it(older: Wire) -> None:
    older.grant("dana", "namespace:sales", "WRITE")
    older.grant("dana", "instance:cdap", "WRITE")
    older.grant("dana", "artifact:sales.etl", "READ")
    before = held(older, "dana")
    more = application(programs=[program("worker", "scribe"), program("flow", "visits")])
    text = refused(older, "dana", "PUT", f"{SPACE}/apps/aside", more)
    assert "'[ADMIN]' on entity 'application:sales.aside'" in text
    assert upload(older, version="2.0", user="dana") == 200
    for path in (CLICKS, SPACE):
        assert older.status("PUT", path, user="dana") == 200
    assert held(older, "dana") == before
    older.grant("dana", "application:sales.aside", "ADMIN")
    older.good("PUT", f"{SPACE}/apps/aside", more, user="dana")
    gained = set(held(older, "dana")) - set(before)
    assert gained == {
        "application:sales.aside ADMIN",
        *all_on("program:sales.aside.flow.visits"),
    }
