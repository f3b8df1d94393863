"""Attacks by users without permission: all of them fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from pyspark.errors import PySparkException
from pyspark.sql.connect import functions as fn
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.session import SparkSession

from lakewarden.gateway.config_calls import check_config
from lakewarden.gateway.errors import Denied, Malformed
from lakewarden.gateway.inspection import parsed
from tests.gateway import attacks
from tests.gateway.estate import Estate
from tests.gateway.running import Running

SESSION = "00000000-0000-0000-0000-0000000000a1"


def executed(estate: Estate, request: base.ExecutePlanRequest) -> None:
    read = parsed(base.ExecutePlanRequest, request.SerializeToString())
    estate.plans("ana").execute(read)


@pytest.mark.parametrize("name", attacks.PLANS)
def test_plans_are_denied(estate: Estate, name: str) -> None:
    request = base.ExecutePlanRequest()
    attacks.PLANS[name](request)
    with pytest.raises((Denied, Malformed)):
        executed(estate, request)


@pytest.mark.parametrize("text", attacks.SQL)
def test_statements_are_denied(estate: Estate, text: str) -> None:
    request = base.ExecutePlanRequest()
    request.plan.command.sql_command.input.sql.query = text
    with pytest.raises((Denied, Malformed)):
        executed(estate, request)
    relation = base.ExecutePlanRequest()
    relation.plan.root.filter.input.sql.query = text
    relation.plan.root.filter.condition.literal.boolean = True
    with pytest.raises((Denied, Malformed)):
        executed(estate, relation)


@pytest.mark.parametrize("text", attacks.EXPRESSIONS)
def test_expressions_are_denied(estate: Estate, text: str) -> None:
    request = base.ExecutePlanRequest()
    request.plan.root.filter.input.read.named_table.unparsed_identifier = "notes"
    request.plan.root.filter.condition.expression_string.expression = text
    with pytest.raises((Denied, Malformed)):
        executed(estate, request)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("get", ["spark.connect.authenticate.token"]),
        ("get", ["spark.sql.session.timeZone", "spark.hadoop.fs.s3a.secret.key"]),
        ("get_option", ["spark.sql.catalog.x.password"]),
        ("is_modifiable", ["spark.master"]),
        ("unset", ["spark.sql.runSQLOnFiles"]),
    ],
)
def test_settings_are_denied(kind: str, names: list[str]) -> None:
    operation = base.ConfigRequest.Operation()
    getattr(operation, kind).keys.extend(names)
    with pytest.raises(Denied):
        check_config(operation)


@pytest.mark.parametrize(
    "name",
    [
        *("spark.sql.runSQLOnFiles", "spark.sql.optimizer.excludedRules", "spark.sql.ansi.enabled"),
        *("spark.sql.session.timeZone", "spark.sql.caseSensitive", "spark.sql.extensions"),
        *("spark.sql.catalog.x", "spark.sql.variable.substitute", "spark.sql.warehouse.dir"),
    ],
)
def test_no_setting_is_set_that_means_something(name: str) -> None:
    operation = base.ConfigRequest.Operation()
    operation.set.pairs.add(key=name, value="true")
    with pytest.raises(Denied):
        check_config(operation)
    defaults = base.ConfigRequest.Operation()
    defaults.get_all.prefix = "spark."
    with pytest.raises(Denied):
        check_config(defaults)


@pytest.mark.parametrize(
    "kind", ["schema", "explain", "tree_string", "is_local", "semantic_hash", "input_files"]
)
def test_plans_that_may_not_be_executed_are_not_analyzed(estate: Estate, kind: str) -> None:
    request = base.AnalyzePlanRequest()
    getattr(request, kind).plan.root.read.named_table.unparsed_identifier = "hr.people"
    with pytest.raises(Denied):
        estate.plans("ana").analyze(parsed(base.AnalyzePlanRequest, request.SerializeToString()))


def test_a_plan_with_a_filter_is_not_explained(estate: Estate) -> None:
    request = base.AnalyzePlanRequest()
    request.explain.plan.root.read.named_table.unparsed_identifier = "orders"
    with pytest.raises(Denied, match="not shown"):
        estate.plans("ana").analyze(request)
    request.explain.plan.root.read.named_table.unparsed_identifier = "notes"
    estate.plans("ana").analyze(request)


@pytest.fixture(name="stub")
def _stub(gateway: Running) -> Iterator[Any]:
    with gateway.stub() as stub:
        yield stub


def refused(call: Any, request: Any, *metadata: tuple[str, str]) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as error:
        list(call(request, metadata=metadata))
    return error.value


@pytest.mark.spark
def test_nobody_calls_without_a_good_token(gateway: Running, stub: Any) -> None:
    request = base.ConfigRequest(session_id=SESSION)
    request.operation.get.keys.append("spark.sql.session.timeZone")
    good = f"Bearer {gateway.estate.tokens['ana']}"
    for metadata in (
        (),
        (("authorization", "Bearer wrong"),),
        (("authorization", f"{good}x"),),
        (("authorization", good), ("authorization", good)),
        (("authorization", "Basic cm9vdDo="),),
    ):
        assert refused(stub.Config, request, *metadata).code() == grpc.StatusCode.UNAUTHENTICATED
    assert stub.Config(request, metadata=(("authorization", good),)).pairs


@pytest.mark.spark
def test_calls_with_artifacts_and_clones_are_denied(gateway: Running, stub: Any) -> None:
    token = ("authorization", f"Bearer {gateway.estate.tokens['ana']}")
    denied = grpc.StatusCode.PERMISSION_DENIED
    artifacts = iter([base.AddArtifactsRequest(session_id=SESSION)])
    assert refused(stub.AddArtifacts, artifacts, token).code() == denied
    status = base.ArtifactStatusesRequest(session_id=SESSION, names=["x"])
    assert refused(stub.ArtifactStatus, status, token).code() == denied
    clone = base.CloneSessionRequest(session_id=SESSION)
    assert refused(stub.CloneSession, clone, token).code() == denied


@pytest.mark.spark
def test_operations_of_others_are_out_of_reach(gateway: Running, stub: Any) -> None:
    id = "00000000-0000-0000-0000-0000000000b1"
    request = base.ExecutePlanRequest(session_id=SESSION, operation_id=id)
    request.user_context.user_id = "ana"
    request.plan.root.sql.query = "select 1 as one"
    request.request_options.add().reattach_options.reattachable = True
    bo = ("authorization", f"Bearer {gateway.estate.tokens['bo']}")
    ana = ("authorization", f"Bearer {gateway.estate.tokens['ana']}")
    assert list(stub.ExecutePlan(request, metadata=(bo,)))
    again = base.ReattachExecuteRequest(session_id=SESSION, operation_id=id)
    again.user_context.user_id = "bo"
    assert "no such operation" in str(refused(stub.ReattachExecute, again, ana).details())
    assert list(stub.ReattachExecute(again, metadata=(bo,)))
    assert "in use" in str(refused(stub.ExecutePlan, request, bo).details())
    release = base.ReleaseExecuteRequest(session_id=SESSION, operation_id=id)
    assert refused(stub.ReleaseExecute, release, ana).code() == grpc.StatusCode.PERMISSION_DENIED


INTERRUPTS = (
    {"interrupt_type": base.InterruptRequest.INTERRUPT_TYPE_ALL},
    {"interrupt_type": base.InterruptRequest.INTERRUPT_TYPE_TAG, "operation_tag": "long"},
)


@pytest.mark.spark
def test_what_others_run_is_not_interrupted(gateway: Running, stub: Any) -> None:
    id = "00000000-0000-0000-0000-0000000000b3"
    request = base.ExecutePlanRequest(session_id=SESSION, operation_id=id, tags=["long"])
    endless = request.plan.root.filter
    endless.input.range.end, endless.input.range.step = 2**62, 1
    endless.condition.expression_string.expression = "id < 0"
    bo = ("authorization", f"Bearer {gateway.estate.tokens['bo']}")
    ana = ("authorization", f"Bearer {gateway.estate.tokens['ana']}")
    one = {"interrupt_type": base.InterruptRequest.INTERRUPT_TYPE_OPERATION_ID, "operation_id": id}
    with_session(stub, ana)
    with_session(stub, bo)

    def interrupted(token: tuple[str, str], claimed: str, **what: Any) -> list[str]:
        asked = base.InterruptRequest(session_id=SESSION, **what)
        asked.user_context.user_id = claimed
        return list(stub.Interrupt(asked, metadata=(token,)).interrupted_ids)

    answers = stub.ExecutePlan(request, metadata=(bo,))
    try:
        wait_until(lambda: is_running(stub, id, bo))
        assert not is_running(stub, id, ana)
        for what in (one, *INTERRUPTS):
            for claimed in ("", "ana", "bo"):
                assert interrupted(ana, claimed, **what) == []
        assert is_running(stub, id, bo)
        assert interrupted(bo, "ana", **one) == [id]
        with pytest.raises(grpc.RpcError, match="OPERATION_CANCELED"):
            list(answers)
    finally:
        answers.cancel()


def with_session(stub: Any, token: tuple[str, str]) -> None:
    """Makes Spark create this user's session, so a missing one does not cause the refusal."""
    request = base.ConfigRequest(session_id=SESSION)
    request.operation.get.keys.append("spark.sql.session.timeZone")
    assert stub.Config(request, metadata=(token,)).pairs


def is_running(stub: Any, id: str, token: tuple[str, str]) -> bool:
    """Whether the operation runs, according to the response to the user."""
    request = base.GetStatusRequest(session_id=SESSION)
    request.operation_status.operation_ids.append(id)
    running = base.GetStatusResponse.OperationStatus.OPERATION_STATE_RUNNING
    answer = stub.GetStatus(request, metadata=(token,))
    return any(one.state == running for one in answer.operation_statuses)


def wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.spark
@pytest.mark.parametrize("claimed", ["", "bo"])
def test_errors_of_others_are_told_to_nobody_else(
    gateway: Running, stub: Any, claimed: str
) -> None:
    request = base.ExecutePlanRequest(session_id=SESSION)
    request.plan.root.sql.query = "select raise_absent from notes"
    bo = ("authorization", f"Bearer {gateway.estate.tokens['bo']}")
    ana = ("authorization", f"Bearer {gateway.estate.tokens['ana']}")
    with_session(stub, ana)
    failed = refused(stub.ExecutePlan, request, bo)
    sent = dict(failed.trailing_metadata())
    (detail,) = status_pb2.Status.FromString(sent["grpc-status-details-bin"]).details
    info = error_details_pb2.ErrorInfo()
    assert detail.Unpack(info)
    asked = base.FetchErrorDetailsRequest(session_id=SESSION, error_id=info.metadata["errorId"])
    asked.user_context.user_id = claimed
    assert not stub.FetchErrorDetails(asked, metadata=(ana,)).errors
    told = stub.FetchErrorDetails(asked, metadata=(bo,))
    assert "raise_absent" in told.errors[told.root_error_idx].message


@pytest.mark.spark
def test_what_was_denied_is_released_by_whom_it_was_denied(gateway: Running, stub: Any) -> None:
    id = "00000000-0000-0000-0000-0000000000b2"
    request = base.ExecutePlanRequest(session_id=SESSION, operation_id=id)
    request.plan.root.sql.query = "select * from hr.people"
    bo = ("authorization", f"Bearer {gateway.estate.tokens['bo']}")
    ana = ("authorization", f"Bearer {gateway.estate.tokens['ana']}")
    assert refused(stub.ExecutePlan, request, bo).code() == grpc.StatusCode.PERMISSION_DENIED
    release = base.ReleaseExecuteRequest(session_id=SESSION, operation_id=id)
    release.release_all.SetInParent()
    assert stub.ReleaseExecute(release, metadata=(bo,)).operation_id == id
    assert "no such operation" in str(refused(stub.ReleaseExecute, release, ana).details())
    again = base.ReattachExecuteRequest(session_id=SESSION, operation_id=id)
    assert "no such operation" in str(refused(stub.ReattachExecute, again, bo).details())


@pytest.mark.spark
def test_bytes_that_are_no_message_get_a_status(gateway: Running) -> None:
    token = (("authorization", f"Bearer {gateway.estate.tokens['ana']}"),)
    with grpc.insecure_channel(f"127.0.0.1:{gateway.port}") as channel:
        for method, code in (
            ("spark.connect.SparkConnectService/Config", grpc.StatusCode.INVALID_ARGUMENT),
            ("spark.connect.SparkConnectService/NewCall", grpc.StatusCode.UNIMPLEMENTED),
            ("spark.connect.OtherService/Config", grpc.StatusCode.UNIMPLEMENTED),
        ):
            call = channel.unary_unary(f"/{method}")
            with pytest.raises(grpc.RpcError) as error:
                call(b"\xff\xff", metadata=token)
            assert error.value.code() == code


@pytest.mark.nightly  # by day without a server: test_statements_are_denied
@pytest.mark.spark
def test_the_real_client_gets_no_statement_through(gateway: Running) -> None:
    spark = gateway.session("ana")
    for text in attacks.SQL:
        with pytest.raises(PySparkException):
            spark.sql(text).collect()


@pytest.mark.spark
def test_an_error_does_not_tell_the_filter(gateway: Running) -> None:
    orders = gateway.session("ana").table("orders")
    with pytest.raises(PySparkException) as error:
        orders.select("absent").collect()
    assert "absent" in str(error.value)
    assert "Filter" not in str(error.value)
    assert "'eu'" not in str(error.value)


RAW = "DE00123456789999"
REACHING: Mapping[str, Callable[[SparkSession, Any], Any]] = {
    "by the table's name below an alias": lambda s, c: c.alias("x").filter(
        f"customers.iban = '{RAW}'"
    ),
    "by the whole name below an alias": lambda s, c: c.alias("x").filter(
        fn.col("spark_catalog.sales.customers.iban") == RAW
    ),
    "by a column that was not selected": lambda s, c: c.select("name").filter(c.iban == RAW),
    "by a name that was not selected": lambda s, c: c.select("name").filter(f"iban = '{RAW}'"),
    "by a column of a renamed one": lambda s, c: c.withColumnRenamed("iban", "x").filter(
        f"customers.iban = '{RAW}'"
    ),
    "by a dropped column": lambda s, c: c.drop("iban").filter(c.iban == RAW),
    "by an aggregate": lambda s, c: (
        c.groupBy("name").agg(fn.max("iban").alias("m")).filter(f"m = '{RAW}'")
    ),
    "by a join with itself": lambda s, c: (
        c.alias("a").join(c.alias("b"), fn.col("a.iban") == fn.lit(RAW)).select("a.name")
    ),
    "by a pivot": lambda s, c: c.groupBy("name").pivot("iban", [RAW]).count().filter(f"{RAW} > 0"),
    "by a view": lambda s, c: s.sql(f"select * from reached where iban = '{RAW}'"),
    "by the query of a view": lambda s, c: s.sql(
        f"select name from reached r where exists (select 1 from customers where iban = '{RAW}')"
    ),
    "by a hidden row": lambda s, c: c.filter("region = 'apac'"),
    "by the order": lambda s, c: c.select("name").orderBy("customers.iban").filter("name = 'Ian'"),
    "by a window": lambda s, c: c.selectExpr("iban as i").filter(f"i = '{RAW}'"),
}


@pytest.mark.spark
@pytest.mark.by_day(5)
@pytest.mark.parametrize("way", REACHING)
def test_what_is_hidden_is_not_reached(gateway: Running, way: str) -> None:
    spark = gateway.session("ana")
    customers = spark.table("customers")
    customers.createOrReplaceTempView("reached")
    try:
        rows = REACHING[way](spark, customers).collect()
    except PySparkException:
        return
    assert rows == []
