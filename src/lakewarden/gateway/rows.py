"""Rows of a query, through the client of Spark Connect."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """The error that the server sent instead of rows."""


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query at `sc://HOST:PORT/;token=TOKEN`; raises `Refused`."""
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.session import SparkSession

    session: SparkSession = SparkSession.builder.remote(url).create()
    try:
        return [tuple(row) for row in session.sql(query).collect()]
    except PySparkException as error:
        raise Refused(error.getMessage() or str(error)) from None
    finally:
        session.stop()
