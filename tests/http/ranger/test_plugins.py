"""Ranger's own plugin code for Hive, Kafka and HDFS: it polls a real server, and obeys it.

It is the code that all engines' plugins share, with its own client, cache and policy engine. The
tests make an engine's requests.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import pytest

from lakewarden.kernel.entity import Entity
from tests.http.opa.test_served import ROOT, Trino, facts_of, served_realm
from tests.http.ranger.judge import judge_home
from tests.http.ranger.test_served import CONFIGURATION, document, drop, put
from tests.http.ranger.typed_masks import with_columns

pytestmark = pytest.mark.nightly

SERVICES: Final[Mapping[str, str]] = {"hive": "sql", "kafka": "stream", "hdfs": "files"}
POLL_MS: Final = 500
PATIENCE_SECONDS: Final = 120.0
TABLES: Final = "/r/gravitino/api/metalakes/lk/catalogs/lake/schemas/sales/tables"
VISITS: Final = "/wh/sales.db/visits"
ORDERS: Final = {"database": "sales", "table": "orders", "column": "id"}
EVENTS: Final = {"topic": "events"}
Question = tuple[str, str, str, Mapping[str, str]]

OUTCOMES: Final[Mapping[bool, list[Question]]] = {
    True: [
        ("hive", "ana", "select", ORDERS),
        ("hive", "olga", "update", ORDERS),
        ("kafka", "ana", "consume", EVENTS),
        ("kafka", "olga", "publish", EVENTS),
        ("hdfs", "ana", "read", {"path": f"{VISITS}/part-0"}),
        ("hdfs", "olga", "execute", {"path": VISITS}),
    ],
    False: [
        ("hive", "gone", "select", ORDERS),
        ("hive", "ana", "update", ORDERS),
        ("hive", "bo", "update", ORDERS),
        ("hive", "ana", "select", {**ORDERS, "database": "hr", "table": "people"}),
        ("hive", "olga", "select", {**ORDERS, "table": "absent"}),
        ("kafka", "ana", "publish", EVENTS),
        ("kafka", "gone", "consume", EVENTS),
        ("kafka", "olga", "consume", {"topic": "events2"}),
        ("hdfs", "olga", "write", {"path": f"{VISITS}/part-0"}),
        ("hdfs", "gone", "read", {"path": VISITS}),
        ("hdfs", "ana", "read", {"path": "/wh/sales.db"}),
    ],
}


class Plugins:
    """The plugins in a separate process, which accepts one request per line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def allow(self, question: Question) -> bool:
        type, user, access, resource = question
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"type": type, "user": user, "access": access, "resource": resource}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("answer "):
                return line.split()[1] == "true"
        raise AssertionError("the plugins have ended")

    def settle(self, question: Question, expected: bool) -> None:
        """Waits until that is the answer, because plugins poll."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self.allow(question) is not expected:
            assert time.monotonic() < end, (question, expected)
            time.sleep(POLL_MS / 1000)


@pytest.fixture(name="plugin", scope="module")
def _plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    """A realm with a table whose files are on HDFS, and a topic."""
    topic = "topic:lk:lake.sales.events"
    facts = with_columns(facts_of((topic,)), Entity("table", "lk:lake.sales.orders"), {"id": "int"})
    for plugin in served_realm(
        tmp_path_factory.mktemp("plugins"), facts, CONFIGURATION, apart=True
    ):
        token = plugin.served.ask("POST", "/api/v1/tokens", {"user": "olga"}, token=ROOT).json()
        assert isinstance(token, dict)
        columns = [{"name": "iban", "type": "string", "nullable": True}]
        location = {"location": f"hdfs://nn:8020{VISITS}"}
        body = {"name": "visits", "columns": columns, "properties": location}
        answer = plugin.served.ask("POST", TABLES, body, token=token["token"])
        assert answer.status == 200, answer.body
        put(plugin, "statement", "consume", privileges=["CONSUME_TOPIC"],
            on="schema:lk:lake.sales", to=["role:lk:reader"])  # fmt: skip
        yield plugin


@pytest.fixture(name="plugins", scope="module")
def _plugins(plugin: Trino, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugins]:
    javac, java, jars = shutil.which("javac"), shutil.which("java"), judge_home() / "lib"
    if not javac or not java or not list(jars.glob("ranger-plugins-common-*.jar")):
        pytest.skip("Ranger's plugin code, or a compiler for Java, is not installed")
    folder = tmp_path_factory.mktemp("java")
    source = Path(__file__).with_name("RangerPlugins.java")
    command = [javac, "-nowarn", "-d", str(folder), "-cp", f"{jars}/*", str(source)]
    subprocess.run(command, check=True, timeout=600)
    for type, service in SERVICES.items():
        _configure(folder, type, service, plugin)
    running = [java, "-cp", f"{folder}:{jars}/*", "RangerPlugins", *SERVICES]
    with (folder / "log").open("w") as log, subprocess.Popen(
        running, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder
    ) as process:  # fmt: skip
        try:
            yield Plugins(process)
        finally:
            process.kill()


def _configure(folder: Path, type: str, service: str, plugin: Trino) -> None:
    own = f"ranger.plugin.{type}"
    (folder / f"cache-{type}").mkdir()
    security = {
        f"{own}.service.name": service,
        f"{own}.policy.source.impl": "org.apache.ranger.admin.client.RangerAdminRESTClient",
        f"{own}.policy.rest.url": f"{plugin.served.address}/r/gravitino/ranger",
        f"{own}.policy.rest.client.username": type,
        f"{own}.policy.rest.client.password": plugin.engine,
        f"{own}.policy.pollIntervalMs": str(POLL_MS),
        f"{own}.policy.cache.dir": str(folder / f"cache-{type}"),
        f"{own}.supports.policy.deltas": "true",
    }
    _write(folder / f"ranger-{type}-security.xml", security)
    _write(folder / f"ranger-{type}-audit.xml", {"xasecure.audit.is.enabled": "false"})


def _write(file: Path, properties: Mapping[str, str]) -> None:
    rows = (
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in properties.items()
    )
    file.write_text(f"<configuration>{''.join(rows)}</configuration>")


def test_plugins_go_by_the_documents_that_they_poll(plugin: Trino, plugins: Plugins) -> None:
    for expected, questions in OUTCOMES.items():
        for question in questions:
            plugins.settle(question, expected)
    for expected, questions in OUTCOMES.items():
        assert [plugins.allow(one) for one in questions] == [expected] * len(questions)
    listed = document(plugin, "plugins")["plugins"]
    assert {one["service"] for one in listed} >= {*SERVICES.values()}


def test_a_change_acts_with_a_poll(plugin: Trino, plugins: Plugins) -> None:
    consuming: Question = ("kafka", "ana", "consume", EVENTS)
    reading: Question = ("hive", "ana", "select", ORDERS)
    of_files: Question = ("hdfs", "ana", "read", {"path": f"{VISITS}/part-0"})
    for question in (consuming, reading, of_files):
        plugins.settle(question, True)
    put(plugin, "mask", "hidden", on="column:lk:lake.sales.visits.iban", expression="null")
    plugins.settle(of_files, False)
    put(plugin, "statement", "none", effect="deny", privileges=["SELECT_TABLE", "CONSUME_TOPIC"],
        on="schema:lk:lake.sales", to=["user:ana"])  # fmt: skip
    plugins.settle(consuming, False)
    plugins.settle(reading, False)
    for id in ("hidden", "none"):
        drop(plugin, id)
    for question in (consuming, reading, of_files):
        plugins.settle(question, True)
