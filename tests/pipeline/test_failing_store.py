"""A store that fails is found in an error of Spark, whichever client reports it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.pipeline.failing_store import of_failing_store
from lakewarden.pipeline.spark_failure import reason_of_failure
from lakewarden.pipeline.spark_session import _GIVES_UP
from lakewarden.pipeline.storage.object_store import CHECK_CREDENTIALS, RUN_AGAIN

CALL = "An error occurred while calling o158.parquet.\n: "
TRACE = (
    "\n\tat org.apache.hadoop.fs.s3a.S3AUtils.translateException(S3AUtils.java:344)\n\t... 20 more"
)


@pytest.mark.parametrize(
    ("java", "said"),
    [
        (
            "org.apache.hadoop.fs.s3a.AWSServiceThrottledException: getFileStatus on s3a://lake/x/y:"
            " software.amazon.awssdk.services.s3.model.S3Exception: Unavailable (Service: S3,"
            " Status Code: 503, Request ID: null):null: Service Unavailable",
            f"`s3a://lake/x/y`: the store is busy (503); {RUN_AGAIN}",
        ),
        (
            "org.apache.spark.SparkException: Job aborted due to stage failure: Lost task 0.0 in"
            " stage 3.0 (TID 6) (192.0.2.2 executor driver): java.net.ConnectException:"
            " getFileStatus on s3a://lake/x/y: software.amazon.awssdk.core.exception"
            ".SdkClientException: Unable to execute HTTP request: Connect to 192.0.2.3:9000"
            " failed: Connection refused",
            f"`s3a://lake/x/y`: the connection is refused; {RUN_AGAIN}",
        ),
        (
            "java.net.SocketTimeoutException: PUT 0-byte object on s3a://lake/x/y/:"
            " software.amazon.awssdk.core.exception.SdkClientException: Unable to execute HTTP"
            " request: Read timed out",
            f"`s3a://lake/x/y/`: there is no response in time; {RUN_AGAIN}",
        ),
        (
            "java.nio.file.AccessDeniedException: s3a://lake/x/y: getFileStatus:"
            " software.amazon.awssdk.services.s3.model.S3Exception: Forbidden (Service: S3, Status"
            " Code: 403, Request ID: null)",
            f"`s3a://lake/x/y`: access is denied; {CHECK_CREDENTIALS}",
        ),
        (
            "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to"
            " gs://lake/x/y. SQLSTATE: 58030\nCaused by: com.google.cloud.hadoop.repackaged.gcs"
            ".com.google.api.client.googleapis.json.GoogleJsonResponseException",
            f"`gs://lake/x/y`: a request failed; {RUN_AGAIN}",
        ),
        (
            "org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while"
            " reading file s3a://lake/x/y.parquet.  SQLSTATE: KD001\nCaused by: java.io"
            ".UncheckedIOException\n\tat software.amazon.s3.analyticsaccelerator.io.physical"
            ".reader.StreamReader.readBlock(StreamReader.java:503)\nCaused by: software.amazon.s3"
            ".shaded.dev.failsafe.FailsafeException: java.io.IOException: closed early",
            f"`s3a://lake/x/y.parquet`: a request failed; {RUN_AGAIN}",
        ),
        (
            "org.apache.spark.SparkException: Exception thrown in awaitResult: \n\tat org.apache"
            ".spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)\nCaused by:"
            " org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while"
            " reading file s3a://lake/x/y.parquet.  SQLSTATE: KD001\nCaused by: org.apache.http"
            ".ConnectionClosedException: Premature end of Content-Length delimited message body"
            " (expected: 867; received: 433)",
            f"`s3a://lake/x/y.parquet`: a response was cut off; {RUN_AGAIN}",
        ),
    ],
)
def test_a_failing_store_is_named_with_what_to_do(java: str, said: str) -> None:
    assert reason_of_failure(RuntimeError(f"{CALL}{java}{TRACE}")) == said


def test_an_error_of_our_own_client_in_a_task_is_passed_on() -> None:
    said = f"`s3://lake/x/y`: Generic S3 error: 503 Service Unavailable; {RUN_AGAIN}"
    text = (
        f"Traceback (most recent call last):\n\tin f\nlakewarden.kernel.errors.Unavailable: {said}"
    )
    assert (
        reason_of_failure(RuntimeError(f"An exception was thrown from the Python worker:\n{text}"))
        == said
    )


def test_other_errors_are_not_those_of_a_store() -> None:
    assert (
        of_failing_store("org.apache.spark.SparkException: [DIVIDE_BY_ZERO] at gs://lake/x") == ""
    )


def test_the_page_has_the_limits_of_retries() -> None:
    page = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text("utf-8")
    assert not [name for name in _GIVES_UP if f"`{name.removeprefix('spark.hadoop.')}`" not in page]
