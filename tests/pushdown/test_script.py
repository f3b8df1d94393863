"""The script of a plan is what is sent, word for word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.grants import known_roles
from lakewarden.pushdown.plan import Act
from lakewarden.pushdown.push import PushPlan
from lakewarden.pushdown.ranger.marks import Marks
from lakewarden.pushdown.ranger.order import RangerAct, RangerStep
from lakewarden.pushdown.ranger.state import Held
from lakewarden.pushdown.ranger.writer import RequestRecorder, Writer
from lakewarden.pushdown.statement import TIDYING
from lakewarden.service.push_target import PushTarget
from lakewarden.service.state import RealmState
from lakewarden.testing.world_draft import NOW
from tests.pushdown import mariadb_estate, postgresql_estate
from tests.pushdown.estate import SMALL, TargetEstate, altered, facts_of
from tests.pushdown.limits import limited
from tests.pushdown.ranger.admin_server import Ranger, serving
from tests.pushdown.ranger.test_push import CHANGES, COLUMN, EU, MASK, US
from tests.pushdown.ranger.test_tags import NOTE, PII, SECRET, tagged_realm, with_tags
from tests.pushdown.ranger.worlds import linked, ranger_of, told
from tests.pushdown.relay import relay, said_to_postgresql

SEED = 3
READING = ("SELECT", "SHOW", "WITH", "BEGIN", "COMMIT", "SET SESSION", "SET NAMES", "SET AUTO")
"""The beginnings of statements that change nothing in a target."""


@contextmanager
def estate_of(server: str, engine: str) -> Iterator[TargetEstate]:
    facts = limited(facts_of(SEED, SMALL), SEED)
    module = postgresql_estate if engine == "postgresql" else mariadb_estate
    with module.estate(server, facts) as made:
        yield made


@pytest.fixture(params=["postgresql", "mariadb", pytest.param("mysql", marks=pytest.mark.nightly)])
def made(request: pytest.FixtureRequest) -> Iterator[TargetEstate]:
    """A database before any push."""
    fixture = {"postgresql": "postgres_url", "mariadb": "mariadb_url", "mysql": "mysql_url"}
    server = request.getfixturevalue(fixture[request.param])
    with estate_of(server, request.param) as one:
        yield one


@contextmanager
def listening(made: TargetEstate) -> Iterator[tuple[TargetEstate, Callable[[], list[str]]]]:
    """The target, and the statements sent to it: as sent, or from the server's log."""
    if made.kind == "postgresql":
        with relay(made.address.url) as tap:
            own = tapped(made, tap.port)
            yield own, lambda: [*said_to_postgresql(bytes(tap.heard[-1]))]
        return
    with mariadb_estate.administrator(made.address.url) as admin:
        mariadb_estate.execute(admin, "SET GLOBAL log_output = 'TABLE'")
        mariadb_estate.execute(admin, "TRUNCATE mysql.general_log")
        mariadb_estate.execute(admin, "SET GLOBAL general_log = 1")
        try:
            yield made, partial(logged, admin)
        finally:
            mariadb_estate.execute(admin, "SET GLOBAL general_log = 0")


def logged(admin: mariadb_estate.Connection) -> list[str]:
    """The statements of all accounts except the administrator."""
    query = "SELECT argument FROM mysql.general_log WHERE command_type = 'Query'"
    rows = mariadb_estate.execute(admin, f"{query} AND thread_id <> CONNECTION_ID()")
    return [text.decode() if isinstance(text, bytes) else text for (text,) in rows]


def tapped(made: TargetEstate, port: int) -> TargetEstate:
    """The same target through that port, without encryption."""
    at = sa.make_url(made.address.url).set(host="127.0.0.1", port=port)
    at = at.set(query={"sslmode": "disable", "gssencmode": "disable"})
    address = Address(at.render_as_string(hide_password=False), made.address.target)
    return replace(made, address=address)


Makes = Callable[[push.Database, PushTarget], PushPlan]


def sent(made: TargetEstate, target: PushTarget, make: Makes) -> tuple[PushPlan, list[str]]:
    """A reviewed plan, and the statements sent when it was applied later."""
    with made.connected() as database:
        database.claim(known_roles(target.pushed))
        shown = make(database, target)
    with listening(made) as (own, said), own.connected() as database:
        database.lock()
        database.claim(known_roles(target.pushed))
        agreed = make(database, target)
        assert agreed.digest == shown.digest
        push.apply(database, agreed)
        whole = said()
    return shown, [one for one in whole if not one.lstrip().startswith(READING)]


def resets(database: push.Database, target: PushTarget) -> PushPlan:
    return push.reset_plan(database, target)


def plans(state: RealmState, database: push.Database, target: PushTarget) -> PushPlan:
    return push.plan(database, state, target, NOW)


def test_what_a_plan_shows_is_sent_word_for_word(made: TargetEstate) -> None:
    facts, acts, target = limited(facts_of(SEED, SMALL), SEED), set[str](), made.target
    realms = (facts, altered(facts, SEED), facts_of(SEED, SMALL), facts)
    makes: list[Makes] = [partial(plans, made.with_facts(each).state) for each in realms]
    for number, make in enumerate([*makes, resets]):
        shown, said = sent(made, target, make)
        assert said == [one.text for one in shown.statements], number
        assert shown.table()["script"] == [one.table() for one in shown.statements]
        acts |= {one.step for one in shown.statements}
        target = shown.target_after_push()
    limits = {Act.ADD_POLICY, Act.DROP_POLICY} if made.kind == "postgresql" else set()
    assert acts >= {*limits, Act.ADD_VIEW, Act.DROP_VIEW, Act.CREATE_ROLE, Act.DROP_ROLE, TIDYING}
    assert not made.managed_roles().roles


def test_a_plan_whose_statements_are_others_now_is_another_one(made: TargetEstate) -> None:
    """The sent statements differ, too, if they depend on more than our objects."""
    with made.connected() as database:
        agreed = push.plan(database, made.state, made.target, NOW)
        less = replace(agreed, statements=agreed.statements[1:])
        again = push.plan(database, made.state, made.target, NOW)
    assert less.digest != agreed.digest == again.digest


# --- Ranger ---


def requests_of(ranger: Ranger, done: Callable[[], object]) -> list[tuple[str, Any]]:
    """The requests sent meanwhile that change something."""
    before = len(ranger.sent)
    done()
    return ranger.sent[before:]


def written(ranger: Ranger, script: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """The script with the numbers that Ranger assigned instead of names."""

    def in_path(text: str) -> str:
        return re.sub(r"{id of ([^{}]*)}", lambda one: str(ranger.numbers[one[1]]), text)

    def in_body(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: in_body(one) for key, one in value.items()}
        if isinstance(value, list):
            return [in_body(one) for one in value]
        named = re.fullmatch(r"{(id|guid) of ([^{}]*)}", value) if isinstance(value, str) else None
        if named is None:
            return value
        number = ranger.numbers[named[2]]
        return number if named[1] == "id" else f"guid-{number}"

    return [(in_path(step["text"]), in_body(step.get("body"))) for step in script]


@pytest.mark.parametrize("by_tags", [False, True])
def test_what_a_plan_shows_is_what_ranger_is_asked(by_tags: bool) -> None:
    tags = [(COLUMN, "pii"), (NOTE, "secret")]
    realms = (
        [tagged_realm(PII, SECRET, EU, MASK, tags=tags), tagged_realm(PII, US, tags=tags[:1])]
        if by_tags
        else [*CHANGES["mask for filter"](), *CHANGES["another condition"]()]
    )
    ranger = linked(ranger_of("trino")) if by_tags else ranger_of("trino")
    with serving(ranger):
        one = with_tags(ranger) if by_tags else told(ranger, "lk")
        whole = []
        for realm in realms:
            script = one.plan(realm).table()["script"]
            sent = requests_of(ranger, partial(one.push, realm))
            assert sent == written(ranger, script)
            whole += script
        with one.session() as session:
            script = session.reset_plan().table()["script"]
        assert requests_of(ranger, one.reset) == written(ranger, script)
        verbs = {step["text"].partition(" ")[0] for step in [*whole, *script]}
        assert verbs == {"POST", "PUT", "DELETE"}
        assert "p@ss" not in str(whole)


def test_what_is_made_first_has_its_name_for_an_id() -> None:
    recorder, content = RequestRecorder("cl"), {"users": [["ana", False]]}
    writer = Writer(recorder, Marks("rg"), Held(), "", "ours")
    for act in (RangerAct.CREATE_ROLE, RangerAct.UPDATE_ROLE):
        writer.execute(RangerStep(act, "lw_rg_x", content))
    made, changed = (one.statement("s") for one in recorder.requests)
    assert made.text.startswith("POST /service/public/v2/api/roles?")
    assert changed.text.startswith("PUT /service/public/v2/api/roles/{id of role lw_rg_x}?")
    assert changed.body == {**(made.body or {}), "id": "{id of role lw_rg_x}"}
