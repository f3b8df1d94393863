"""A realm of a store as a source: its current state, an earlier one, and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lakewarden.cli.admin_target import opened
from lakewarden.kernel.change import EntityAdded, EntityDropped, EntityRenamed, MembershipChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts, MembershipRow
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.ingest.stored import Stored, snapshot
from lakewarden.service.actor import SYSTEM
from lakewarden.service.effect import Effect
from lakewarden.service.warden import Warden
from lakewarden.store import open_store
from tests.cli.realms import Cli
from tests.cli.stores import Admin
from tests.pipeline.ingest.believed import believed
from tests.servers import fresh_database

TABLE = "table:lk:c.s.t"


def same(one: Facts, other: Facts) -> bool:
    """Whether both have the same rows, in any order."""
    names = ("entities", "relations", "owners", "principals", "memberships", "attributes")
    alike = (set(getattr(one, name)) == set(getattr(other, name)) for name in names)
    return all(alike) and {s.id: s for s in one.statements} == {s.id: s for s in other.statements}


def change(url: str, realm: str, *effects: Effect) -> None:
    with opened(url) as service:
        service.write(SYSTEM, lambda transaction: transaction.change(realm, *effects))


@pytest.fixture
def lake(admin: Admin) -> Admin:
    """A store whose realm `gravitino` holds the small metalake."""
    admin("load", str(admin.cli.folders["gravitino"]), "--realm", "gravitino")
    return admin


def taken(url: str, realm: str, revision: int | None = None) -> Stored:
    with open_store(url) as store, store.reading() as reading:
        return Stored("store", snapshot(reading, realm, revision))


def test_every_revision_is_what_was_stored_then(lake: Admin) -> None:
    was = {lake.revision(): taken(lake.url, "gravitino").snapshot}
    schema, table = Entity("schema", "lk:c.s"), Entity("table", "lk:c.s.t")
    ana, blocked = Principal("user", "ana"), Principal("role", "lk:blocked")
    steps: list[tuple[Effect, ...]] = [
        (EntityAdded(Entity("table", "lk:c.s.new"), schema),),
        (MembershipChanged(MembershipRow(ana, blocked), True),),
        (EntityRenamed(table, "lk:c.s.renamed"),),
        (EntityDropped(Entity("table", "lk:c.s.u")),),
    ]
    for effects in steps:
        change(lake.url, "gravitino", *effects)
        was[lake.revision()] = taken(lake.url, "gravitino").snapshot
    lake("user", "add", "zoe")
    assert len(was) == len(steps) + 1
    for revision, found in was.items():
        again = taken(lake.url, "gravitino", revision).snapshot
        assert (again.realm, again.revision) == (found.realm, revision)
        assert same(again.facts, found.facts)
        assert Principal("user", "zoe") not in again.facts.principals
    assert Principal("user", "zoe") in taken(lake.url, "gravitino").snapshot.facts.principals


def test_a_revision_that_nobody_knows_is_refused(lake: Admin) -> None:
    newest = lake.revision()
    for revision in (0, newest + 1):
        with pytest.raises(BadInput, match=f"expected a revision from 1 to {newest}"):
            taken(lake.url, "gravitino", revision)
    with pytest.raises(Unknown, match="there are: cdap, datahub, gravitino"):
        taken(lake.url, "nowhere")
    with pytest.raises(BadInput, match="name one of the realms with --realm"):
        taken(lake.url, "")
    with open_store(lake.url) as store:
        store.prune(newest)
    assert taken(lake.url, "gravitino", newest).snapshot.facts.entities
    with pytest.raises(BadInput, match="is not known any more: the change feed was pruned"):
        taken(lake.url, "gravitino", newest - 1)


def test_the_rows_are_those_of_the_realm_without_what_is_built_in(lake: Admin) -> None:
    for realm in ("gravitino", "datahub", "cdap"):
        source = taken(lake.url, realm)
        with opened(lake.url) as service:
            system = service.state.realm(realm).system
        found = believed(source._all(), system)
        facts = source.snapshot.facts
        fixed = {str(t["id"]) for t in system.model.defaults if not t.get("editable")}
        kept = tuple(s for s in facts.statements if s.id not in fixed)
        people = replace(found, principals=facts.principals, memberships=facts.memberships)
        assert same(people, replace(facts, statements=kept))
        assert {system.spelled(p) for p in facts.principals} == set(found.principals)


def test_another_realms_revision_is_no_new_input(lake: Admin) -> None:
    before = taken(lake.url, "gravitino")
    change(lake.url, "cdap", EntityAdded(Entity("namespace", "new"), None))
    after = taken(lake.url, "gravitino")
    assert after.snapshot.revision > before.snapshot.revision
    assert after.inputs() == before.inputs()
    change(lake.url, "gravitino", EntityDropped(Entity("table", "lk:c.s.u")))
    assert taken(lake.url, "gravitino").inputs() != before.inputs()


@pytest.fixture
def there(cli: Cli, postgres_url: str) -> Iterator[Admin]:
    """The same in PostgreSQL."""
    with fresh_database(postgres_url, stores=True) as url:
        admin = Admin(cli, url)
        admin("init", "--admin", "root")
        admin("load", str(cli.folders["gravitino"]), "--realm", "gravitino")
        yield admin


@pytest.mark.usefixtures("unstarted")
def test_a_realm_is_ingested_as_it_is_and_as_it_was(
    there: Admin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE", there.url)
    out, revision = tmp_path / "out", there.revision()
    words = ("pipeline", "ingest", "env:STORE", "--source", "store", "--realm", "gravitino")
    json = ("--format", "json", "--out", str(out))
    assert there.cli(*words, *json).json["new"] is True
    there("user", "add", "zoe")
    change(there.url, "cdap", EntityAdded(Entity("namespace", "new"), None))
    found = there.cli(*words, *json, "--revision", str(revision)).json
    assert (found["new"], found["source"]) == (False, "store")
    change(there.url, "gravitino", EntityDropped(Entity("table", "lk:c.s.u")))
    assert there.cli(*words, *json).json["version"] == 2
    loaded = load(out)
    assert loaded.manifest.realm == "gravitino"
    warden = Warden(loaded.system, loaded.facts)
    assert warden.check("ana", "table.load", TABLE).allow
    assert not warden.check("ben", "table.load", TABLE).allow
    text = (out / "manifest.json").read_text("utf-8")
    assert "postgresql://" in text
    assert "@" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sqlite:///none.db",), "there is no database `none.db`"),
        (("env:NOTHING_HERE",), "`NOTHING_HERE` is not set"),
        (("x", "--setting", "mode=next"), "a stored realm has its own settings"),
        (("x", "--model", "gravitino"), "`--source store` takes no model"),
        (("x", "--metalake", "lk"), "not `--source store`"),
        (("x", "--source-user", "eve"), "only for a running system"),
    ],
)
def test_what_does_not_go_together_is_refused(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    given = ("pipeline", "ingest", *words, "--source", "store", "--out", str(tmp_path / "out"))
    found = cli(*given)
    assert (found.code, found.out) == (2, "")
    assert message in found.err
