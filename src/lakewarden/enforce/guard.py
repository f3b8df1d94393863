"""Tables and queries for users, limited to what a realm allows them to read."""

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
    """What a user sees, in the requested form."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def arrow(self) -> pa.Table:
        """An Arrow table."""
        return self._table

    def duckdb(self) -> duckdb.DuckDBPyRelation:
        """A DuckDB relation, in a connection without any other access."""
        return locked({"rows": self._table}).table("rows")

    def pandas(self) -> Any:
        """A pandas data frame."""
        return self._table.to_pandas()

    def polars(self) -> Any:
        """A polars data frame."""
        return import_module("polars").from_arrow(self._table)


class Guard:
    """Reads tables for users within the limits of a realm; decides again for each read.

    The guard limits only its own results. Code in the same process that has access to the sources
    is not limited.
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
        """A guard that decides in this process, from a store.

        Args:
            store: The address of the database, such as `sqlite:///estate.db`.
            realm: The deciding realm of that store.
            sources: The rows by entity, such as `table:lake:sales.eu.orders`: a
                DuckDB relation, the path of a Parquet file, or an Arrow, pandas or polars table.

        Raises:
            BadInput: The address is invalid, or two sources have the same name.
            Unavailable: The store cannot be opened.
        """
        with ExitStack() as stack:
            service = stack.enter_context(opened_service(store, makes=False))
            return cls(StoredRealm(service, realm), sources, stack.pop_all().close)

    @classmethod
    def connect(cls, url: str, *, token: str, realm: str, sources: Mapping[str, Source]) -> Self:
        """A guard that sends a request to a server for each read.

        Args:
            url: The address of the server.
            token: A token of a principal who may ask about other users there.
            realm: The deciding realm of that server.
            sources: As for `open`.

        Raises:
            BadInput: The address is invalid, or two sources have the same name.
        """
        return cls(ServedRealm(Server(url, token=token), realm), sources)

    def table(self, name: str, *, user: str) -> Rows:
        """What the user sees of a table, with all its columns.

        Args:
            name: A registered entity; `table:` may be omitted.
            user: The user's name.

        Raises:
            ReadDenied: The user may not read it.
            Unknown: No such table is registered.
            BadInput: Its filters and masks do not fit its rows.
            Unavailable: The decision could not be obtained.
        """
        entity = name if name in self._sources else f"table:{name}"
        if entity not in self._sources:
            raise Unknown("table", name)
        return Rows(self._read(entity, user, None))

    def sql(self, user: str, text: str) -> Rows:
        """The result of a query over what the user sees.

        Args:
            user: The user's name.
            text: A DuckDB SELECT over registered tables, by their names without the part
                before the colon: `sales.eu.orders`.

        Raises:
            ReadDenied: The user may not read one of the tables.
            BadInput: The query has a part that is not known to be harmless, or fails.
            Unavailable: The decision could not be obtained.
        """
        query = read_query(text, "duckdb")
        tables = {
            name: self._read(self._entity(name), user, query.columns) for name in query.tables
        }
        return Rows(run(query, tables))

    def close(self) -> None:
        """Closes the store; no reads are possible afterwards."""
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
        # `count(*)` reads no column, only the rows.
        return limited_rows(rows, read, chosen or frozenset(rows.columns[:1]))


_Wanted = Callable[[list[str]], frozenset[str]]


def _sql_name(entity: str) -> Name:
    """The name of an entity in queries: the parts of what follows its last colon."""
    return tuple(entity.rpartition(":")[2].split("."))
