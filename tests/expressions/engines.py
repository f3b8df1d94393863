"""The engines for tests: each evaluates many expressions over one table at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from lakewarden.expressions.checker import Table
from lakewarden.expressions.renderer import User, Values
from lakewarden.expressions.types import Type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakewarden.testing.trino import TrinoServer
    from tests.expressions.hive import Hive

NAME: Final = "lw_expressions"

TYPES: Final = {
    "s": Type.STRING,
    "t": Type.STRING,
    "n": Type.INTEGER,
    "m": Type.INTEGER,
    "p": Type.DECIMAL,
    "f": Type.DOUBLE,
    "b": Type.BOOLEAN,
    "d": Type.DATE,
    "ts": Type.TIMESTAMP,
    "z": Type.INSTANT,
}
TABLE: Final = Table(TYPES, {"pairs": (Type.STRING, Type.STRING), "numbers": (Type.INTEGER,)})
USER: Final = User(
    "eu",
    frozenset({"eu", "o'hara", 'q"uote\\'}),
    {"region": "EU", "level": "2", "since": "2024-01-01"},
)
LOOKUPS: Final[dict[str, list[Values]]] = {
    "pairs": [("eu", "us"), ("EU", None), ("Zürich", "Zürich"), ("us", "eu")],
    "numbers": [(1,), (None,), (7,)],
}

STRINGS: Final = [
    *("eu", "EU", "us", "", " eu", "eu ", "Zürich", "ZÜRICH", "ß", "100%", "a_b", "ab", "o'hara"),
    *("中文", "é", "é", "e!", "\\", "tab\there", "😀x", None, "Straße", "a#_c", "eu\n"),
    "😀😀secret😀1",
    "😀😀secret😀1",
]
NUMBERS: Final = [0, 1, -1, 7, 2, None, -3, 1_000_000_007, -2_147_483_649, 10]
DECIMALS: Final = ["1.500", "-0.500", "2.250", "0.001", None, "999999999.999", "-7.000", "0.000"]
DOUBLES: Final = [0.0, 1.5, -2.25, 7.0, None, 1024.0]
BOOLEANS: Final = [True, False, None]
DATES: Final = [
    "2024-01-01",
    "2023-12-31",
    "2024-02-29",
    "1999-12-31",
    None,
    "2000-01-01",
    "1970-01-01",
]
TIMESTAMPS: Final = [
    *("2024-01-01 00:00:00", "2023-12-31 23:59:59.999999", "1969-12-31 23:59:59.5", None),
    *("2024-02-29 12:30:00", "2000-01-01 00:00:00"),
]
INSTANTS: Final = [
    *("2024-01-01 00:00:00+00:00", "2024-01-01 00:00:00+02:00", "2023-12-31 19:00:00-05:00", None),
    "2024-01-01 00:00:01+00:00",
]


def rows() -> list[tuple[Any, ...]]:
    """Forty rows; every column cycles through its values at its own pace."""

    def at(values: Sequence[Any], place: int) -> Any:
        return values[place % len(values)]

    return [
        (
            id,
            at(STRINGS, id),
            at(STRINGS, id * 5 // 3),
            at(NUMBERS, id),
            at(NUMBERS, id * 3 // 2),
            None if at(DECIMALS, id) is None else Decimal(at(DECIMALS, id)),
            at(DOUBLES, id),
            at(BOOLEANS, id),
            None if at(DATES, id) is None else date.fromisoformat(at(DATES, id)),
            None if at(TIMESTAMPS, id) is None else datetime.fromisoformat(at(TIMESTAMPS, id)),
            None if at(INSTANTS, id) is None else datetime.fromisoformat(at(INSTANTS, id)),
        )
        for id in range(40)
    ]


Evaluate = Callable[[Sequence[str]], list[tuple[Any, ...]]]
"""A function from expressions to rows of their values, in order of `id`."""


def query(expressions: Sequence[str]) -> str:
    """A query for the values of expressions."""
    values = ", ".join(f"({text}) AS e{place}" for place, text in enumerate(expressions))
    return f"SELECT {values} FROM {NAME} ORDER BY id"


def duckdb_engine() -> Evaluate:
    import duckdb

    connection = duckdb.connect()
    connection.execute(
        f"CREATE TABLE {NAME} (id INT, s VARCHAR, t VARCHAR, n BIGINT, m BIGINT, p DECIMAL(12, 3),"
        " f DOUBLE, b BOOLEAN, d DATE, ts TIMESTAMP, z TIMESTAMPTZ)"
    )
    connection.executemany(f"INSERT INTO {NAME} VALUES ({', '.join('?' * 11)})", rows())
    return lambda expressions: connection.execute(query(expressions)).fetchall()


def sql_engine(
    url: str, columns: str, lacks: int = 0, settings: Sequence[str] = ()
) -> Iterator[Evaluate]:
    """PostgreSQL or MariaDB, without the last `lacks` columns, in a session with these settings."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        for setting in settings:
            connection.exec_driver_sql(f"SET {setting}")
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {NAME}")
        connection.exec_driver_sql(f"CREATE TABLE {NAME} ({columns})")
        given = [row[: len(row) - lacks] for row in rows()]
        places = ", ".join(["%s"] * len(given[0]))
        connection.exec_driver_sql(f"INSERT INTO {NAME} VALUES ({places})", given)

        def evaluate(expressions: Sequence[str]) -> list[tuple[Any, ...]]:
            text = query(expressions).replace("%", "%%")
            return [tuple(row) for row in connection.exec_driver_sql(text)]

        yield evaluate
        connection.exec_driver_sql(f"DROP TABLE {NAME}")
    engine.dispose()


POSTGRESQL: Final = (
    "id int, s text, t varchar(40), n bigint, m bigint, p decimal(12, 3), f double precision,"
    " b boolean, d date, ts timestamp, z timestamptz"
)
MARIADB: Final = (
    "id int, s varchar(40) character set utf8mb4 collate utf8mb4_general_ci,"
    " t text character set utf8mb4 collate utf8mb4_unicode_ci, n bigint, m bigint,"
    " p decimal(12, 3), f double, b boolean, d date, ts datetime(6)"
)


def spark_engine(spark: SparkSession) -> Evaluate:
    schema = (
        "id int, s string, t string, n bigint, m bigint, p decimal(12, 3), f double, b boolean,"
        " d date, ts timestamp_ntz, z timestamp"
    )
    spark.createDataFrame(rows(), schema).coalesce(1).createOrReplaceTempView(NAME)
    return lambda expressions: [tuple(row) for row in spark.sql(query(expressions)).collect()]


AT_ONCE: Final = 25
"""The number of expressions per statement for Trino and Hive, which compile each statement."""


def trino_engine(trino: TrinoServer) -> Evaluate:
    """Trino with its connector `memory`; values that its client returns as text are converted."""
    columns = (
        "id integer, s varchar, t varchar(40), n bigint, m bigint, p decimal(12, 3), f double,"
        " b boolean, d date, ts timestamp(6), z timestamp(6) with time zone"
    )
    name = f"memory.default.{NAME}"
    types = [Type.INTEGER, *TYPES.values()]
    values = ", ".join(f"({', '.join(map(_of_trino, row, types))})" for row in rows())
    trino.rows("test", f"CREATE TABLE {name} ({columns})")
    trino.rows("test", f"INSERT INTO {name} VALUES {values}")

    def evaluate(expressions: Sequence[str]) -> list[tuple[Any, ...]]:
        chunks = [expressions[at : at + AT_ONCE] for at in range(0, len(expressions), AT_ONCE)]
        parts = [trino.rows("test", query(chunk).replace(NAME, name)) for chunk in chunks]
        return [tuple(cell for part in row for cell in part) for row in zip(*parts, strict=True)]

    return evaluate


def hive_engine(run: Hive) -> Evaluate:
    """Hive, which has no timestamps with a time zone and returns rows in any order."""
    columns = (
        "id int, s string, t varchar(40), n bigint, m bigint, p decimal(12, 3), f double,"
        " b boolean, d date, ts timestamp"
    )
    types = [Type.INTEGER, *TYPES.values()][:-1]
    selects = (", ".join(map(_of_hive, row[:-1], types)) for row in rows())
    # ORC adds a second to times before 1970, and a text format cannot hold newlines.
    serde = "org.apache.hadoop.hive.serde2.lazybinary.LazyBinarySerDe"
    run(f"CREATE TABLE {NAME} ({columns}) ROW FORMAT SERDE '{serde}' STORED AS SEQUENCEFILE")
    run(f"INSERT INTO {NAME} " + " UNION ALL ".join(f"SELECT {values}" for values in selects))

    def evaluate(expressions: Sequence[str]) -> list[tuple[Any, ...]]:
        found = []
        for at in range(0, len(expressions), AT_ONCE):
            chunk = ["id", *expressions[at : at + AT_ONCE]]
            by_id = sorted(run(query(chunk).replace(" ORDER BY id", "")), key=lambda r: int(r[0]))
            found.append([row[1:] for row in by_id])
        return [tuple(cell for part in row for cell in part) for row in zip(*found, strict=True)]

    return evaluate


def _of_hive(value: Any, type: Type) -> str:
    """A value as a Hive constant, with characters as code points."""
    if value is None:
        name = "BIGINT" if type is Type.INTEGER else type.upper()
        return f"CAST(NULL AS {name})"
    match type:
        case Type.STRING:
            units = value.encode("utf-16-be")
            pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
            escaped = "".join(f"\\u{pair}" for pair in pairs)
            return f"'{escaped}'"
        case Type.DECIMAL:
            return f"CAST('{value}' AS DECIMAL(12, 3))"
        case Type.DATE | Type.TIMESTAMP:
            return f"{type.upper()} '{value}'"
        case Type.DOUBLE:
            return f"CAST({value} AS DOUBLE)"
        case _:
            return str(value)


def _of_trino(value: Any, type: Type) -> str:
    """A value as a Trino constant."""
    if value is None:
        return "NULL"
    match type:
        case Type.STRING:
            quoted = value.replace("'", "''")
            return f"'{quoted}'"
        case Type.DECIMAL | Type.DATE:
            return f"{type.upper()} '{value}'"
        case Type.TIMESTAMP:
            return f"TIMESTAMP '{value}'"
        case Type.INSTANT:
            return f"TIMESTAMP '{value.strftime('%Y-%m-%d %H:%M:%S.%f %z')[:-2]}:00'"
        case Type.DOUBLE:
            return f"DOUBLE '{value}'"
        case _:
            return str(value)


def plain(value: Any, type: Type) -> Any:
    """A value in a form that is comparable between the engines' drivers."""
    if value is None or type is Type.NULL:
        return None
    match type:
        case Type.BOOLEAN:
            return bool(value)
        case Type.INTEGER | Type.DECIMAL:
            return Decimal(str(value)).normalize()
        case Type.DOUBLE:
            return float(value)
        case Type.INSTANT:
            return _moment(value).astimezone(UTC)
        case Type.DATE:
            return value if isinstance(value, str) else value.isoformat()[:10]
        case Type.TIMESTAMP:
            return _moment(value).isoformat()
        case _:
            return str(value)


def _moment(value: Any) -> datetime:
    """A time, also from text such as `2024-01-01 00:00:00.000 UTC`."""
    if isinstance(value, datetime):
        return value
    return datetime.fromisoformat(value.replace(" UTC", "+00:00"))
