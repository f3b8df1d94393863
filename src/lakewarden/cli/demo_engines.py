"""What users of the sample estate see in engines: DuckDB here; on request, a Trino and a Spark.

All have the same table, filters and masks. Engines that the demo starts end with it.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from lakewarden.cli.demo_server import ENGINE, database, token_of
from lakewarden.cli.outcome import note, show, table_lines
from lakewarden.kernel.errors import Unavailable
from lakewarden.sample.part import EnginePart, SamplePart
from lakewarden.service.toml_text import lines
from lakewarden.testing import trino

_INSTALLER: Final = Path(__file__).parents[3] / "scripts" / "install-trino.sh"
_END_SECONDS: Final = 30.0

Rows = Sequence[Sequence[object]]
Read = Callable[[str], Rows]
"""The rows that a user sees; raises `_Refused`."""


class _Refused(Exception):
    """An engine's error message in place of rows."""


def parts_of(parts: Mapping[str, SamplePart]) -> dict[str, EnginePart]:
    """The tables that engines read, by realm."""
    return {name: part.engines for name, part in parts.items() if part.engines is not None}


def ensure_trino() -> None:
    """Installs Trino if it is missing; raises `Unavailable` if that fails."""
    trino.java()
    if trino.installed() is not None:
        return
    if not _INSTALLER.exists():
        plugins = ", ".join(trino.PLUGINS)
        raise Unavailable(
            f"Trino is not installed: `scripts/install-trino.sh` of the sources downloads it"
            f" (821 MB), or unpack trino-server {trino.VERSION} with the plug-ins {plugins} as"
            f" {trino.CACHE}/trino-server-{trino.VERSION}"
        )
    note("Trino is not installed: 821 MB are downloaded once, of which 286 MB are kept")
    command = ["/bin/sh", str(_INSTALLER)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)  # noqa: S603 — our own
    if done.returncode:
        raise Unavailable("Trino could not be installed")


def show_duckdb(folder: Path, realms: Mapping[str, EnginePart]) -> None:
    """Shows what each reader sees with `lakewarden.enforce`."""
    try:
        import pyarrow as pa

        from lakewarden.enforce import Guard, ReadDenied
    except ImportError:
        note("what engines show needs DuckDB: pip install 'lakewarden[enforce]'")
        return

    for realm, part in realms.items():
        columns = zip(*part.rows, strict=True)
        table = pa.table(
            {name: list(cells) for name, cells in zip(part.columns, columns, strict=True)}
        )
        with Guard.open(store=database(folder), realm=realm, sources={part.entity: table}) as guard:

            def read(user: str, guard: Guard = guard, query: str = _query(part.name)) -> Rows:
                try:
                    return [
                        list(row.values()) for row in guard.sql(user, query).arrow().to_pylist()
                    ]
                except ReadDenied as error:
                    raise _Refused(str(error)) from None

            _show("DuckDB (`lakewarden.enforce`)", part, _query(part.name), read)


@contextmanager
def running_trino(folder: Path, realms: Mapping[str, EnginePart]) -> Iterator[None]:
    """A Trino that queries its own server, and what each reader sees in it."""
    with TemporaryDirectory(prefix="lakewarden-demo-") as place:
        work = Path(place)
        config = _configured(work, realms)
        words = ["serve", "--auth", "token", "--port", "0", "--config", str(config)]
        with _verb(folder, work / "server.log", words) as address:
            for realm, part in realms.items():
                token = token_of(folder, ENGINE, engine=True)
                access = access_control(f"{address}/r/{realm}/opa/v1", token)
                catalogs = {part.name[0]: "memory"}
                with trino.trino_server(work / realm, catalogs, access) as server:
                    _fill(server, part)
                    read = partial(_trino_rows, server, _query(part.name))
                    _show(f"Trino {trino.VERSION}", part, _query(part.name), read)
                    show(f"   Trino listens on {server.address}, for any user name.")
                    yield


@contextmanager
def running_spark(folder: Path, realms: Mapping[str, EnginePart]) -> Iterator[None]:
    """A gateway in front of a Spark Connect server, and what each reader sees through it."""
    from lakewarden.gateway import local_spark

    ((realm, part),) = realms.items()
    secret = secrets.token_urlsafe()
    with TemporaryDirectory(prefix="lakewarden-demo-") as place:
        work = Path(place)
        config = _configured(work, realms)
        _, schema, table = part.name
        made = [f"CREATE DATABASE {schema}"]
        made.append(f"CREATE TABLE {schema}.{table} USING parquet AS {_values(part)}")
        with local_spark.running(work, secret, made) as port:
            words = ["gateway", "--realm", realm, "--listen", "127.0.0.1:0"]
            words += ["--backend", f"sc://127.0.0.1:{port}", "--config", str(config)]
            environment = {local_spark.TOKEN: secret}
            with _verb(folder, work / "gateway.log", words, environment) as address:
                at = f"sc://localhost:{address.rpartition(':')[2]}/;token="
                tokens = {user: token_of(folder, user) for user, _ in part.readers}
                query = _query((schema, table))
                read = partial(
                    _spark_rows, {user: at + text for user, text in tokens.items()}, query
                )
                _show("Spark, behind `lakewarden gateway`", part, query, read)
                user = part.readers[0][0]
                show(
                    f"   As {user}, with pyspark:",
                    f'   SparkSession.builder.remote("{at}{tokens[user]}").getOrCreate()',
                )
                yield


def _show(engine: str, part: EnginePart, query: str, read: Read) -> None:
    show("", f"{engine}: {query}")
    for user, remark in part.readers:
        try:
            rows = read(user)
        except _Refused as refused:
            show(f"   {user}: {refused}")
        else:
            show(f"   {user}:", *(f"      {line}" for line in _table(list(part.columns), rows)))
        show(f"   → {remark}")
    sys.stdout.flush()


def _table(headings: Sequence[str], rows: Rows) -> Iterator[str]:
    return table_lines(headings, ([str(cell) for cell in row] for row in rows))


def _query(name: Sequence[str]) -> str:
    return f"SELECT * FROM {'.'.join(name)} ORDER BY 1"  # noqa: S608 — the sample's own name


def _values(part: EnginePart) -> str:
    """A query that returns the rows of the part."""
    rows = ", ".join(f"({', '.join(map(_literal, row))})" for row in part.rows)
    names = ", ".join(part.columns)
    return f"SELECT * FROM (VALUES {rows}) AS t({names})"  # noqa: S608 — the sample's own rows


def _literal(cell: str) -> str:
    return f"'{cell}'"


def _fill(server: trino.TrinoServer, part: EnginePart) -> None:
    """Creates the table as its owner: users with masks may not insert."""
    catalog, schema, table = part.name
    server.rows(part.owner, f"CREATE SCHEMA {catalog}.{schema}")
    made = f"CREATE TABLE {catalog}.{schema}.{table} AS {_values(part)}"
    server.rows(part.owner, made)


def _trino_rows(server: trino.TrinoServer, query: str, user: str) -> Rows:
    try:
        return server.rows(user, query)
    except trino.Refused as error:
        raise _Refused(str(error)) from None


def _spark_rows(urls: Mapping[str, str], query: str, user: str) -> Rows:
    from lakewarden.gateway import rows

    try:
        return rows.rows(urls[user], query)
    except rows.Refused as error:
        raise _Refused(str(error)) from None


def access_control(at: str, token: str) -> dict[str, str]:
    """Trino's access control, configured as in docs/engines.md."""
    return {
        "access-control.name": "opa",
        "opa.policy.uri": f"{at}/allow?token={token}",
        "opa.policy.batched-uri": f"{at}/batch?token={token}",
        "opa.policy.row-filters-uri": f"{at}/row-filters?token={token}",
        "opa.policy.batch-column-masking-uri": f"{at}/batch-column-masks?token={token}",
    }


def _configured(work: Path, realms: Mapping[str, EnginePart]) -> Path:
    """A configuration file that maps the engines' names to those of the realms."""
    sections: dict[str, Any] = {}
    for realm, part in realms.items():
        for engine, names in part.names.items():
            sections.setdefault(engine, {})[realm] = names
    file = work / "engines.toml"
    file.write_text("".join(lines(sections)), "utf-8")
    return file


@contextmanager
def _verb(
    folder: Path, log: Path, words: Sequence[str], environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Runs a verb that serves the demo's store in its own process; returns its address."""
    command = [sys.executable, "-m", "lakewarden.cli", *words, "--database", database(folder)]
    with (
        log.open("w") as errors,
        subprocess.Popen(  # noqa: S603 — this very program
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **(environment or {})},
        ) as process,
    ):
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line.startswith("lakewarden listens on "):
                raise Unavailable(f"`lakewarden {words[0]}` did not start: {log.read_text()}")
            yield line.split()[-1]
        finally:
            process.terminate()
            process.wait(_END_SECONDS)
