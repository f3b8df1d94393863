"""A server that starts from an index answers like one that starts from all rows, or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.app.build import Application
from lakewarden.app.first_start import first_start
from lakewarden.app.indexed import compiled
from lakewarden.app.open_store import opened_service
from lakewarden.app.preflight import Preflight, preflight
from lakewarden.config.settings import Settings
from lakewarden.kernel.change import EntityAdded, StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pipeline.index.run import make_index
from lakewarden.pipeline.ingest.run import ingest
from lakewarden.pipeline.ingest.stored import Stored, snapshot
from lakewarden.pipeline.version_folder import MANIFEST
from lakewarden.service import state_builder as states
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.index_catch_up import history_mark
from lakewarden.service.load import LoadResult, load_rows
from lakewarden.service.realm import people_of
from lakewarden.service.state import People
from lakewarden.service.system import System
from lakewarden.store import SqlStore, open_store
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import make
from tests.app.forked import Forked
from tests.app.serving import START_SECONDS, Served, server
from tests.pipeline.index import worlds
from tests.service.test_state import same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REALM = "gravitino"
NEW = Entity("table", "lk:c.s.new")


@dataclass(frozen=True)
class Lake:
    """A store, and an older index of its realm `gravitino`."""

    url: str
    index: Path

    def settings(self, *folders: Path) -> Settings:
        found = {"database": self.url, "admin": "ana", "port": 0}
        return Settings(**found, indexes=tuple(map(str, folders or (self.index,))))

    @contextmanager
    def service(self) -> Iterator[DecisionService]:
        with opened_service(self.url) as service:
            yield service

    @contextmanager
    def store(self) -> Iterator[SqlStore]:
        with open_store(self.url) as store:
            yield store

    def told(self, **facts: object) -> None:
        """Changes facts in the manifest of the index."""
        file = self.index / MANIFEST
        data = json.loads(file.read_text("utf-8"))
        data["facts"].update(facts)
        file.write_text(json.dumps(data), "utf-8")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake of some size, with new rows since it was indexed."""
    found = Lake(f"sqlite:///{tmp_path}/store.db", tmp_path / "index")
    with found.service() as service:
        first_start(service, Settings(admin="ana"))
        system = service.state.realm(REALM).system
        actor = Actor("ana", credential="test")
        assert isinstance(load_rows(service, actor, REALM, system, _facts(system)), LoadResult)
        _index(service, found.index)
        _add(service, NEW)
    return found


def _facts(system: System) -> Facts:
    """The facts of the first world that can be loaded."""
    for seed in range(100):
        facts = worlds.possible(system, make(system, seed).facts)
        coded = compile(facts, system.model, system.spelling, now=NOW).coded
        if worlds.is_plain(coded) and not coded.memberships.inert:
            return facts
    raise AssertionError


def _index(service: DecisionService, out: Path) -> None:
    """An index of the realm's current state, with the people of its directory."""
    system = service.state.realm(REALM).system
    with service.reading() as reading:
        facts = reading.facts(REALM, system)
        shared = reading.people(people_of("main"))
        own = People(frozenset(facts.principals), frozenset(facts.memberships))
        everyone = own | People(frozenset(shared.principals), frozenset(shared.memberships))
        together = replace(
            facts, principals=[*everyone.principals], memberships=[*everyone.memberships]
        )
        whole = compile(together, system.model, system.spelling, now=service.clock())
        told = {"realm": REALM, "revision": reading.revision, "store": history_mark(reading)}
    worlds.index(out, whole, system, facts.statements, facts=told)


def _add(service: DecisionService, table: Entity) -> None:
    """Adds a table, and a user with a permission on it."""
    parts = [Entity("metalake", "lk"), Entity("catalog", "lk:c"), Entity("schema", "lk:c.s"), table]
    above = [None, *parts]
    known = service.state.realm(REALM).matrix.snapshot.coded.is_known
    added = [EntityAdded(e, p) for e, p in zip(parts, above, strict=False) if not known(e)]
    users = frozenset({Principal(USER, "eve")})
    select = Statement("new", Effect.ALLOW, frozenset({"SELECT_TABLE"}), On(table), users)
    service.write(
        SYSTEM, lambda transaction: transaction.change(REALM, *added, StatementAdded(select))
    )


@contextmanager
def opened(settings: Settings) -> Iterator[Application]:
    application = Application(settings)
    try:
        application.open()
        yield application
    finally:
        application.close()


@pytest.fixture
def from_rows(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The realms that were compiled from all their rows."""
    seen: list[str] = []
    compile_rows = states.from_rows

    def noted(*given: object) -> object:
        seen.append(getattr(given[1], "name"))  # noqa: B009 — any argument
        return compile_rows(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(states, "from_rows", noted)
    return seen


def test_the_realm_of_an_index_starts_from_it_and_is_what_the_store_says(
    lake: Lake, from_rows: list[str]
) -> None:
    with opened(lake.settings()) as application:
        service = application.parts.service
        assert sorted(from_rows) == ["_server", "cdap", "datahub"]
        with lake.service() as other:
            assert same(service.state, other.state)
            assert service.state.revision == other.state.revision
        assert service.state.realm(REALM).matrix.snapshot.coded.is_known(NEW)
        _add(service, Entity("table", "lk:c.s.newer"))
        with lake.service() as other:
            assert same(service.state, other.state)


def about_index(found: Preflight) -> list[str]:
    """The remarks about an index."""
    return [said for said in found.remarks if "index" in said]


def test_an_index_that_was_good_when_the_server_started_only_costs_time_when_it_is_no_more(
    lake: Lake, from_rows: list[str]
) -> None:
    assert about_index(preflight(lake.settings())) == []
    with lake.store() as store:
        store.prune(store.revision() + 1)
    with opened(lake.settings()) as application:
        assert REALM in from_rows
        with lake.service() as other:
            assert same(application.parts.service.state, other.state)


def _damaged(lake: Lake) -> None:
    file = min((lake.index / "versions" / "1" / "blocks").iterdir())
    file.write_bytes(file.read_bytes()[:-4])


def _pruned(lake: Lake) -> None:
    with lake.store() as store:
        store.prune(store.revision() + 1)


def _taken_back(lake: Lake) -> None:
    lake.told(revision=1_000)


def _of_another_store(lake: Lake) -> None:
    lake.told(store=f"1:{'0' * 64}")


@pytest.mark.by_day(4)
@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (_damaged, "is not as it was written; make the version anew"),
        (lambda lake: lake.told(digest="0" * 64), "under another version of the model `gravitino`"),
        (lambda lake: lake.told(revision=None), "create it with the source `store`"),
        (lambda lake: lake.told(differs=["a", "b"]), "differs from the database by a, b; ingest"),
        (lambda lake: lake.told(realm="sea"), "the store has no realm `sea`; there are: _server"),
        (lambda lake: lake.told(realm="cdap"), "with another model, or other settings, than"),
        (_pruned, "which the change feed no longer contains; rebuild the index"),
        (_taken_back, "if the store was restored from a backup, rebuild the index"),
        (_of_another_store, "was built from another store"),
    ],
)
def test_an_index_that_the_store_cannot_go_on_from_is_refused_before_the_server_starts(
    lake: Lake, harm: Callable[[Lake], None], message: str
) -> None:
    assert about_index(preflight(lake.settings())) == []
    harm(lake)
    with pytest.raises(BadInput, match=message) as caught:
        preflight(lake.settings())
    assert str(lake.index) in str(caught.value)


def test_two_indexes_of_one_realm_and_a_folder_without_one_are_refused(
    lake: Lake, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=f"is an index of the realm `{REALM}`, and so is `.*index`"):
        preflight(lake.settings(lake.index, lake.index))
    with pytest.raises(BadInput, match="no index: `manifest.json` is missing".replace(".", r"\.")):
        preflight(lake.settings(tmp_path / "nowhere"))


def test_without_what_reads_indexes_one_learns_what_to_install(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lakewarden.pipeline.index.index", None)
    with pytest.raises(Unavailable, match=r"pip install 'lakewarden"):
        compiled([str(lake.index)])
    assert compiled([]) == {}


def test_reading_an_index_takes_no_spark(lake: Lake) -> None:
    text = (
        "import sys; from lakewarden.app.indexed import compiled;"
        "from lakewarden.service.state import People;"
        f"one = compiled([{str(lake.index)!r}])[{REALM!r}];"
        "one.snapshot(People());"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in ('pyspark', 'pandas')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.slow
def test_the_command_refuses_a_bad_index_in_one_line(lake: Lake, tmp_path: Path) -> None:
    lake.told(revision=1_000)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LAKEWARDEN_")}
    # A slow machine would make it print its progress.
    words = ["--quiet", "serve", "--port", "0", "--database", lake.url, "--index", str(lake.index)]
    log = tmp_path / "log"
    refused = Forked(words, tmp_path, log, clean)
    try:
        assert (refused.wait(60), refused.stdout.read()) == (2, "")
    finally:
        refused.close()
    assert log.read_text().startswith(f"lakewarden: {lake.index}: has revision 1000")
    assert log.read_text().count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_every_worker_of_a_real_server_starts_from_it(
    lake: Lake, tmp_path: Path, workers: int
) -> None:
    arguments = ("--index", str(lake.index), "--workers", str(workers), "--admin", "ana")
    with server(tmp_path / "served", *arguments, database=lake.url) as served:
        metalakes = served.ask("GET", "/api/metalakes", user="ana")
        assert metalakes.status == 200
        end = time.monotonic() + START_SECONDS
        while len(_started(served)) < workers and time.monotonic() < end:
            time.sleep(0.1)
        assert _started(served) == [REALM] * workers


def _started(served: Served) -> list[object]:
    """The realms that a worker reported."""
    lines = served.lines()
    return [line["realm"] for line in lines if line["event"] == "started from an index"]


@pytest.mark.nightly
@pytest.mark.slow
def test_the_whole_way_leads_from_a_store_over_spark_to_a_server(
    lake: Lake, tmp_path: Path, spark: SparkSession, from_rows: list[str]
) -> None:
    with lake.store() as store, store.reading() as reading:
        source = Stored("the store", snapshot(reading, REALM))
    ingest(source, tmp_path / "lake", spark=spark)
    made = make_index(tmp_path / "lake", tmp_path / "made", spark=spark, bits=worlds.BITS)
    facts = made.manifest.facts
    assert (facts["realm"], facts["revision"]) == (REALM, source.snapshot.revision)
    with lake.service() as service:
        _add(service, Entity("table", "lk:c.s.newer"))
    settings = lake.settings(tmp_path / "made")
    assert about_index(preflight(settings)) == []
    from_rows.clear()
    with opened(settings) as application, lake.service() as other:
        assert from_rows.count(REALM) == 1, "only the other decision service reads the realm's rows"
        assert same(application.parts.service.state, other.state)
