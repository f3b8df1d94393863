"""What is removed from addresses and settings before they are shown."""

from __future__ import annotations

import pytest

from lakewarden.names.secret import (
    database_address,
    masked,
    masked_command,
    plain_address,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ana:word@db/x", "postgresql://•••@db/x"),
        ("postgresql://ana:wo/rd?#;@db/x", "postgresql://•••@db/x"),
        ("postgresql://ana:wo@rd@db/x", "postgresql://•••@db/x"),
        ("https://word@host", "https://•••@host"),
        ("`https://a:b@h`: refused, `http://c:d@i`", "`https://•••@h`: refused, `http://•••@i`"),
        ("https://host/lists/a@b", "https://host/lists/a@b"),
        ("abfss://box@account.dfs.core.windows.net/x", None),
        ("abfs://box@account.dfs.core.windows.net/x", None),
        ("s3://bucket/folder", None),
        ("user:ana@corp.test may not", None),
        ("sc://h:1/;use_ssl=true;token=word", "sc://h:1/;use_ssl=true;token=•••"),
        ("http://h/x?a=1&X-Amz-Signature=word&b=2", "http://h/x?a=1&X-Amz-Signature=•••&b=2"),
        ("http://h/x?api_key=word", "http://h/x?api_key=•••"),
        ("unknown token `word`", None),
    ],
)
def test_credentials_in_addresses_are_masked(text: str, shown: str | None) -> None:
    assert masked(text) == (text if shown is None else shown)


def test_addresses_are_named_without_who_opens_them() -> None:
    assert plain_address("https://h:1/x?token=word#y") == "https://h:1/x"
    assert plain_address("sc://h:1/;token=word") == "sc://h:1/"
    assert database_address("mysql+pymysql://ana:wo/rd@db:3306/x?ssl=1") == "mysql://db:3306/x"
    assert database_address("sqlite:////data/a@b.db") == "sqlite:////data/a@b.db"


def test_a_command_line_has_no_value_of_a_secret_setting() -> None:
    words = [
        "ingest",
        "postgresql://ana:word@db/x",
        "--spark-conf=spark.hadoop.fs.s3a.secret.key=word",
        "--spark-conf",
        "spark.hadoop.fs.azure.account.key.box=word",
        "--option=kafka.sasl.jaas.config=Login\nrequired password='word';",
        "--spark-conf=spark.sql.shuffle.partitions=4",
        "--source-token-file=token.txt",
    ]
    shown = masked_command(words)
    assert "word" not in shown.replace("password", "")
    for kept in ("ingest", "db/x", "partitions=4", "--source-token-file=token.txt"):
        assert kept in shown
