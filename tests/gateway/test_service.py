"""The running gateway: its requests to the server, its records, and its behaviour on errors."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from pyspark.errors import PySparkException
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import base_pb2_grpc as stubs

from lakewarden.gateway import permitted
from lakewarden.gateway.backend import SERVICE, Address, Backend
from lakewarden.gateway.errors import TooManyCalls
from lakewarden.gateway.running_calls import MAX_CALLS_OF_USER, RunningCalls
from lakewarden.gateway.server import Listening, Server
from lakewarden.gateway.service import Gateway
from lakewarden.kernel.change import StatementRemoved
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.service import decisions, questions
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.control import Denied
from tests.app.otlp_collector import collector
from tests.app.test_tls import Authority
from tests.gateway import spark_server
from tests.gateway.estate import REALM, Estate
from tests.gateway.running import Running, served

pytestmark = pytest.mark.spark


def test_a_server_without_the_settings_is_refused(
    spark_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    required = {**permitted.load().required, "spark.sql.shuffle.partitions": "7"}
    monkeypatch.setattr(permitted, "load", lambda: replace(lists, required=required))
    with pytest.raises(BadInput, match=r"must have `spark\.sql\.shuffle\.partitions` = `7`"):
        Backend(Address(f"127.0.0.1:{spark_port}"), spark_server.TOKEN).check()


lists = permitted.load()


def test_a_server_that_does_not_answer_is_refused(spark_port: int) -> None:
    for target, token in ((f"127.0.0.1:{spark_port}", "wrong"), ("127.0.0.1:1", "x")):
        with pytest.raises(Unavailable, match="does not answer"):
            Backend(Address(target), token).check()


@pytest.mark.parametrize("url", ["http://x", "sc://", "sc://x:y", "sc://x:1/;token=y", "x:1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="expected `sc://HOST:PORT`"):
        Address.read(url)


def test_a_denial_is_audited_once_a_minute(
    estate: Estate, spark_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = estate.service.clock()
    monkeypatch.setattr(estate.service, "clock", lambda: now)  # both in one minute
    before = audited(estate, "bo")
    with served(estate, spark_port) as running:  # it has counted no denials of other tests
        for _ in range(2):
            with pytest.raises(PySparkException):
                running.session("bo").table("hr.people").collect()
    rows = audited(estate, "bo")[len(before) :]
    (row,) = (row for row in rows if '"spark.SelectFromTable"' in row)
    assert '"outcome":"deny"' in row
    assert '"target":"table:lk:lake.hr.people"' in row


def test_a_denial_is_explained_by_its_id(gateway: Running) -> None:
    with pytest.raises(PySparkException, match=r"; decision d[0-9a-f]{16}") as error:
        gateway.session("ana").table("lake.hr.absent").collect()
    match = re.search("; decision (d[0-9a-f]{16})", str(error.value))
    assert match is not None
    service = gateway.estate.service
    with service.reading() as reading:
        ana = Actor("ana", credential="test")
        found = decisions.find(reading, service.state, ana, REALM, match[1], service.clock())
    assert not isinstance(found, Denied)
    denial, asked = found
    assert denial.wire == "spark"
    assert not questions.check(asked).allow


def audited(estate: Estate, user: str) -> list[str]:
    with estate.service.reading() as reading:
        return [row.body for row in reading.audit() if f'"actor":"{user}"' in row.body]


def used(running: Running, user: str) -> dict[tuple[str, str], int]:
    """The number of uses by the user, by operation and entity."""
    running.gateway.write_usage()
    found: dict[tuple[str, str], int] = {}
    with running.estate.service.reading() as reading:
        for _, name, operation, on, count in reading.usage(REALM, ""):
            if name == user:
                key = operation, f"{on.type}:{on.name}"
                found[key] = found.get(key, 0) + count
    return found


def test_reads_are_counted_and_writes_are_audited(gateway: Running) -> None:
    bo = gateway.session("bo")
    read = ("spark.SelectFromTable", "table:lk:lake.sales.orders")
    write = ("spark.InsertIntoTable", "table:lk:lake.sales.notes")
    before, trail = used(gateway, "bo"), audited(gateway.estate, "bo")
    bo.sql("select count(*) from orders").collect()
    bo.sql("insert into notes select id, region from orders where id > 1000").collect()
    after = used(gateway, "bo")
    assert after[read] == before.get(read, 0) + 2
    assert after[write] == before.get(write, 0) + 1
    rows = audited(gateway.estate, "bo")[len(trail) :]
    (row,) = (row for row in rows if '"outcome":"allow"' in row)
    for part in ('"operation":"spark.InsertIntoTable"', '"target":"table:lk:lake.sales.notes"'):
        assert part in row
    assert '"wire":"spark"' in row


def test_a_write_that_cannot_be_audited_is_not_done(
    gateway: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    bo = gateway.session("bo")
    count = bo.table("notes").count()

    def away(*_: object, **__: object) -> None:
        raise Unavailable("the store cannot be written")

    with monkeypatch.context() as patch:
        patch.setattr(gateway.estate.service, "write", away)
        with pytest.raises(PySparkException, match="cannot be decided now"):
            bo.sql("insert into notes values (8, 'x')").collect()
    assert bo.table("notes").count() == count


def test_a_grant_that_is_revoked_is_gone_at_the_next_call(spark_port: int, tmp_path: Path) -> None:
    estate = Estate(tmp_path)
    with served(estate, spark_port) as running:
        spark = running.session("bo")
        notes = spark.table("notes")
        notes.createOrReplaceTempView("kept")
        assert notes.count() == 2
        estate.service.write(SYSTEM, lambda d: d.change(REALM, StatementRemoved("SELECT_TABLE")))
        for read in (
            notes.collect,
            lambda: spark.table("kept").collect(),
            lambda: spark.sql("select * from kept").collect(),
        ):
            with pytest.raises(PySparkException, match="not allowed: read a table"):
                read()
    estate.store.close()


def test_everything_is_denied_while_the_store_is_away(
    gateway: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = gateway.session("bo").table("notes")

    def away(at_least: int = 0) -> None:
        raise Unavailable("the store cannot be reached")

    monkeypatch.setattr(gateway.estate.service, "catch_up", away)
    with pytest.raises(
        PySparkException, match="cannot be decided now: the store cannot be reached"
    ):
        notes.collect()

    def broken(at_least: int = 0) -> None:
        raise KeyError("a secret")

    monkeypatch.setattr(gateway.estate.service, "catch_up", broken)
    with pytest.raises(PySparkException, match="internal error") as error:
        notes.collect()
    assert "secret" not in str(error.value)


def test_tables_are_written_by_who_may(gateway: Running) -> None:
    bo = gateway.session("bo")
    row = bo.createDataFrame([(9, "ninth")], "id long, text string")
    row.write.insertInto("notes")
    assert bo.table("notes").count() == 3
    bo.createDataFrame([(1, "first"), (3, "third")], "id long, text string").write.insertInto(
        "notes", overwrite=True
    )
    assert bo.table("notes").count() == 2
    row.write.saveAsTable("sales.fresh")
    with pytest.raises(PySparkException, match="not allowed"):
        row.write.mode("overwrite").saveAsTable("sales.fresh")
    with pytest.raises(PySparkException, match="not allowed: add rows to a table"):
        gateway.session("ana").table("notes").write.insertInto("notes")
    gateway.end_sessions()


def test_the_command_serves_by_a_database(estate: Estate, spark_port: int, tmp_path: Path) -> None:
    (tmp_path / "lakewarden.toml").write_text(
        '[spark.lake]\nmetalake = "lk"\ncatalogs = { spark_catalog = "lake" }\ndatabase = "sales"\n'
    )
    command = [sys.executable, "-m", "lakewarden.cli", "gateway", "--realm", REALM]
    command += ["--backend", f"sc://127.0.0.1:{spark_port}", "--listen", "127.0.0.1:0"]
    command += ["--database", f"sqlite:///{estate.folder}/store.db", "--config", "lakewarden.toml"]
    environment = {"LAKEWARDEN_SPARK_TOKEN": spark_server.TOKEN}
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=tmp_path, env=environment
        ) as process,
    ):
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split("sc://")[1].strip()
            request = base.AnalyzePlanRequest(session_id="00000000-0000-0000-0000-0000000000c1")
            request.schema.plan.root.read.named_table.unparsed_identifier = "customers"
            token = (("authorization", f"Bearer {estate.tokens['ana']}"),)
            with grpc.insecure_channel(address) as channel:
                stub = stubs.SparkConnectServiceStub(channel)  # type: ignore[no-untyped-call]  # generated
                answer = stub.AnalyzePlan(request, metadata=token)
                request.schema.plan.root.read.named_table.unparsed_identifier = "hr.people"
                with pytest.raises(grpc.RpcError):
                    stub.AnalyzePlan(request, metadata=token)
            assert len(answer.schema.schema.struct.fields) == 4
        finally:
            process.terminate()
    written = (tmp_path / "log").read_text()
    assert estate.tokens["ana"] not in written
    assert spark_server.TOKEN not in written


@pytest.mark.usefixtures("logs_as_before")
def test_no_token_is_in_the_log_or_the_traces(
    estate: Estate,
    spark_port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """For successful, denied and malformed calls, and for one that hits a defect."""
    from lakewarden.cli import gateway as verb
    from lakewarden.cli import main

    token = estate.tokens["ana"]
    called: list[grpc.StatusCode] = []

    def call_and_stop(calls: Gateway, _: object) -> None:
        server = Server(calls, Listening("127.0.0.1", 0))
        try:
            with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
                called.extend(status_of(channel, *one) for one in calls_with(token))

                monkeypatch.setattr(calls, "_authenticator", Defective())
                called.append(status_of(channel, "Config", config(), f"Bearer {token}"))
        finally:
            server.stop()

    monkeypatch.setattr(verb, "_run", call_and_stop)
    monkeypatch.setenv("LAKEWARDEN_SPARK_TOKEN", spark_server.TOKEN)
    monkeypatch.setenv("LAKEWARDEN_LOG_LEVEL", "debug")
    (tmp_path / "lakewarden.toml").write_text(
        '[spark.lake]\nmetalake = "lk"\ncatalogs = { spark_catalog = "lake" }\ndatabase = "sales"\n'
    )
    command = ["gateway", "--realm", REALM, "--backend", f"sc://127.0.0.1:{spark_port}"]
    command += ["--database", f"sqlite:///{estate.folder}/store.db"]
    command += ["--config", str(tmp_path / "lakewarden.toml")]
    with collector() as collected:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collected.address)
        assert main(command) == 0
    assert {one["service.name"] for one in collected.resources()} == {"lakewarden-gateway"}
    traces = b"".join(collected.bodies)
    code = grpc.StatusCode
    assert called[:2] == [code.OK, code.UNAUTHENTICATED]
    assert code.OK not in called[1:]
    assert called[-1] == code.PERMISSION_DENIED
    written = "".join(capfd.readouterr())
    lines = [json.loads(line) for line in written.splitlines() if line.startswith("{")]
    (failed,) = (one for one in lines if one["event"].startswith("unexpected error"))
    assert "KeyError" in failed["exception"]
    for secret in (token, token[1:], spark_server.TOKEN):
        assert secret not in written
        assert secret.encode() not in traces


class Defective:
    """A defective authenticator, whose error contains the credential."""

    def authenticate(self, sent: object, *_: object, **__: object) -> None:
        raise KeyError(sent)


def config() -> bytes:
    request = base.ConfigRequest(session_id="00000000-0000-0000-0000-0000000000e1")
    request.operation.get.keys.append("spark.sql.session.timeZone")
    data: bytes = request.SerializeToString()
    return data


def calls_with(token: str) -> list[tuple[str, bytes, str]]:
    """Calls by method, request and credential: a valid one, followed by failing ones."""
    good = f"Bearer {token}"
    named = base.ExecutePlanRequest(session_id=token, operation_id=token, client_type=token)
    named.user_context.user_id, named.user_context.user_name = token, token
    named.tags.append(token)
    named.plan.root.read.named_table.unparsed_identifier = token
    text = base.ExecutePlanRequest(session_id="00000000-0000-0000-0000-0000000000e1")
    text.plan.root.sql.query = f"select '{token}' from hr.people where name = {token}"
    statement = named.SerializeToString(), text.SerializeToString()
    return [
        ("Config", config(), good),
        ("Config", config(), f"Bearer {token}x"),
        ("Config", config(), token),
        ("Config", config(), f"Basic {token}"),
        ("Config", b"\xff" + token.encode(), good),
        ("AddArtifacts", token.encode(), good),
        (f"New{token}", config(), good),
        *(("ExecutePlan", one, credential) for one in statement for credential in (good, token)),
    ]


def status_of(channel: grpc.Channel, method: str, data: bytes, credential: str) -> grpc.StatusCode:
    """The status with which a call ends."""
    call = channel.unary_stream(f"/{SERVICE}/{method}")
    try:
        list(call(data, metadata=(("authorization", credential),)))
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


def test_the_command_serves_no_plain_text_to_other_machines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from lakewarden.cli import main

    command = ["gateway", "--realm", REALM, "--backend", "sc://127.0.0.1"]
    assert main([*command, "--listen", "0.0.0.0:0"]) == 2
    assert "give `--tls-cert`" in capsys.readouterr().err
    assert main([*command, "--listen", "nowhere"]) == 2
    assert "expected `HOST:PORT`" in capsys.readouterr().err


def test_a_user_has_a_limited_number_of_plans_at_a_time() -> None:
    calls = RunningCalls()
    with ExitStack() as running:
        for _ in range(MAX_CALLS_OF_USER):
            running.enter_context(calls.counted("ana"))
        with pytest.raises(TooManyCalls), calls.counted("ana"):
            pass
        with calls.counted("bo"):
            pass
    with calls.counted("ana"):
        pass


def test_tokens_are_sent_by_tls(gateway: Running, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    file = authority.issue("gateway", x509.DNSName("localhost"))
    request = base.ConfigRequest(session_id="00000000-0000-0000-0000-0000000000d1")
    request.operation.get.keys.append("spark.sql.session.timeZone")
    token = (("authorization", f"Bearer {gateway.estate.tokens['ana']}"),)
    server = Server(gateway.gateway, Listening("127.0.0.1", 0, file))
    roots = grpc.ssl_channel_credentials(authority.path.read_bytes())
    with grpc.secure_channel(f"localhost:{server.port}", roots) as channel:
        stub = stubs.SparkConnectServiceStub(channel)  # type: ignore[no-untyped-call]  # generated
        assert stub.Config(request, metadata=token).pairs
    server.stop()
    authority.path.write_text("no certificate")
    with pytest.raises(BadInput, match="certificate"):
        Server(gateway.gateway, Listening("127.0.0.1", 0, authority.path))
