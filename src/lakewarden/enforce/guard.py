"""Tables and queries for users, as a realm allows them to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lakewarden.app.open_store import opened_service
from lakewarden.client.server import Server
from lakewarden.enforce.denied import ReadDenied
from lakewarden.enforce.duckdb_sql import column_types, limited_rows, locked, run
from lakewarden.enforce.realms import DecidingRealm, ServedRealm, StoredRealm
from lakewarden.enforce.sources import Source, relation
from lakewarden.expressions.query import Name, read_query
from lakewarden.kernel.errors import BadInput, Unknown

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


class Rows:
    """What a user sees, in the form that is asked for."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def arrow(self) -> pa.Table:
        """A table of Arrow."""
        return self._table

    def duckdb(self) -> duckdb.DuckDBPyRelation:
        """A relation of DuckDB, in a connection that reaches nothing else."""
        return locked({"rows": self._table}).table("rows")

    def pandas(self) -> Any:
        """A frame of pandas."""
        return self._table.to_pandas()

    def polars(self) -> Any:
        """A frame of polars."""
        return import_module("polars").from_arrow(self._table)


class Guard:
    """Reads tables for users as a realm allows, decided anew at each read.

    The guard bounds what it hands out. Code in the same process that has the sources themselves is
    not bounded by it.
    """

    def __init__(
        self,
        realm: DecidingRealm,
        sources: Mapping[str, Source],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._realm = realm
        self._sources = dict(sources)
        self._close = close
        self._names = {_sql_name(entity): entity for entity in self._sources}
        if len(self._names) != len(self._sources):
            raise BadInput("two sources have one name in SQL", where="sources")

    @classmethod
    def open(cls, *, store: str, realm: str, sources: Mapping[str, Source]) -> Self:
        """A guard that decides here, from a store.

        Args:
            store: The address of the database, such as `sqlite:///estate.db`.
            realm: The realm of that store which decides.
            sources: Where the rows are, by entity, such as `table:lake:sales.eu.orders`: a
                relation of DuckDB, the path of a Parquet file, or an Arrow, pandas or polars table.

        Raises:
            BadInput: The address is none, or two sources have one name.
            Unavailable: The store is not there.
        """
        with ExitStack() as stack:
            service = stack.enter_context(opened_service(store, makes=False))
            return cls(StoredRealm(service, realm), sources, stack.pop_all().close)

    @classmethod
    def connect(cls, url: str, *, token: str, realm: str, sources: Mapping[str, Source]) -> Self:
        """A guard that asks a server at each read.

        Args:
            url: The address of the server.
            token: A token of somebody who may ask about other users there.
            realm: The realm of that server which decides.
            sources: As for `open`.

        Raises:
            BadInput: The address is none, or two sources have one name.
        """
        return cls(ServedRealm(Server(url, token=token), realm), sources)

    def table(self, name: str, *, user: str) -> Rows:
        """What the user sees of a table, with all its columns.

        Args:
            name: A registered entity; `table:` may be left out.
            user: The user's name.

        Raises:
            ReadDenied: The user may not read it.
            Unknown: No such table is registered.
            BadInput: Its filters and masks do not fit its rows.
            Unavailable: Who decides could not be asked.
        """
        entity = name if name in self._sources else f"table:{name}"
        if entity not in self._sources:
            raise Unknown("table", name)
        return Rows(self._read(entity, user, None))

    def sql(self, user: str, text: str) -> Rows:
        """The result of a query over what the user sees.

        Args:
            user: The user's name.
            text: A SELECT of DuckDB over registered tables, by their names without the part
                before the colon: `sales.eu.orders`.

        Raises:
            ReadDenied: The user may not read one of the tables.
            BadInput: The query has a part that is not known to be harmless, or fails.
            Unavailable: Who decides could not be asked.
        """
        query = read_query(text, "duckdb")
        tables = {
            name: self._read(self._entity(name), user, query.columns) for name in query.tables
        }
        return Rows(run(query, tables))

    def close(self) -> None:
        """Closes the store; nothing is read afterwards."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _entity(self, name: Name) -> str:
        entity = self._names.get(name)
        if entity is None:
            raise BadInput(f"unknown table `{'.'.join(name)}`")
        return entity

    def _read(self, entity: str, user: str, wanted: _Wanted | None) -> pa.Table:
        if not user:
            raise BadInput("expected the name of a user", where="user")
        rows = relation(self._sources[entity])
        read = self._realm.read(user, entity, column_types(rows))
        if not read.may_read:
            raise ReadDenied(user, read.operation, entity, read.missing)
        chosen = frozenset(rows.columns) if wanted is None else wanted(rows.columns)
        # `count(*)` reads none of them, but the rows.
        return limited_rows(rows, read, chosen or frozenset(rows.columns[:1]))


_Wanted = Callable[[list[str]], frozenset[str]]


def _sql_name(entity: str) -> Name:
    """The name of an entity in queries: what stands behind its last colon, in its parts."""
    return tuple(entity.rpartition(":")[2].split("."))
