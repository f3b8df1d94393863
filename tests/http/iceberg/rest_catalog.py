"""A small Iceberg REST catalog for tests: the protocol's endpoints over pyiceberg's SQL catalog.

It stores real tables, but trusts everybody who has its token, and its credentials for files are
invalid. It records each request, and its responses contain fields that a guard must remove.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from pyiceberg.catalog.rest import CreateTableRequest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import CommitTableRequest, Table
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

Json = dict[str, Any]

TOKEN: Final = "token-of-the-guard"
READER_TOKEN: Final = "token-of-a-reader"
PREFIX: Final = "main"
LURES: Final = {
    "token": "leads-past-the-guard",
    "uri": "http://past.the.guard",
    "s3.signer.uri": "http://past.the.guard",
    "client.refresh-credentials-endpoint": "v1/past/the/guard",
    "s3.endpoint": "http://storage.example",
}
LEFT_OUT: Final = ("location", "partition-spec", "write-order")
"""The optional fields of a request to create a table."""

PAGE: Final = 2

_NAMESPACES: Final = "/v1/{prefix}/namespaces"
_NAMESPACE: Final = _NAMESPACES + "/{namespace}"
_TABLE: Final = _NAMESPACE + "/tables/{table}"
ENDPOINTS: Final = [
    *(f"{method} {_NAMESPACES}" for method in ("GET", "POST")),
    *(f"{method} {_NAMESPACE}" for method in ("GET", "HEAD", "DELETE")),
    *(f"{method} {_NAMESPACE}/tables" for method in ("GET", "POST")),
    *(f"{method} {_TABLE}" for method in ("GET", "HEAD", "POST", "DELETE")),
    *(f"POST {_NAMESPACE}/{name}" for name in ("properties", "register")),
    *(f"GET {one}" for one in (f"{_NAMESPACE}/views", f"{_TABLE}/credentials")),
    *("POST /v1/{prefix}/tables/rename", "POST /v1/{prefix}/transactions/commit"),
    "GET /v1/past/the/guard",
]

_STATUSES: Final[dict[type[Exception], tuple[int, str]]] = {
    NoSuchNamespaceError: (404, "NoSuchNamespaceException"),
    NoSuchTableError: (404, "NoSuchTableException"),
    NamespaceAlreadyExistsError: (409, "AlreadyExistsException"),
    TableAlreadyExistsError: (409, "AlreadyExistsException"),
    CommitFailedException: (409, "CommitFailedException"),
}


@dataclass
class Seen:
    """One request that reached the catalog."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json


@dataclass
class RestCatalog:
    """The catalog, its address, and the received requests."""

    tables: SqlCatalog
    address: str = ""
    seen: list[Seen] = field(default_factory=list)
    staged: dict[tuple[str, ...], Table] = field(default_factory=dict)
    override: Callable[[str, str], tuple[int, Json | bytes] | None] = lambda *_: None

    def answer(
        self, method: str, path: str, query: dict[str, list[str]], body: Json
    ) -> Json | None:
        """The catalog's response; None: no content, with 204."""
        rest = [unquote(segment) for segment in path.strip("/").split("/")]
        if rest == ["v1", "config"]:
            return {
                "defaults": dict(LURES),
                "overrides": {"prefix": PREFIX, "token": "t"},
                "endpoints": ENDPOINTS,
            }
        assert rest[:2] == ["v1", PREFIX], path
        if rest[2:3] == ["namespaces"] and len(rest) <= 5 and rest[4:] in ([], ["properties"]):
            return self._namespaces(method, rest[3:], query, body)
        return self._tables(method, rest[2:], query, body)

    def _namespaces(
        self, method: str, rest: list[str], query: dict[str, list[str]], body: Json
    ) -> Json | None:
        match method, ["namespaces", *rest]:
            case "GET", ["namespaces"]:
                return self._page(
                    "namespaces", [list(one) for one in self.tables.list_namespaces()], query
                )
            case "POST", ["namespaces"]:
                self.tables.create_namespace(tuple(body["namespace"]), body.get("properties") or {})
                return {"namespace": body["namespace"], "properties": body.get("properties") or {}}
            case "GET", ["namespaces", name]:
                return {
                    "namespace": [name],
                    "properties": self.tables.load_namespace_properties(name),
                }
            case "HEAD", ["namespaces", name]:
                self.tables.load_namespace_properties(name)
                return None
            case "DELETE", ["namespaces", name]:
                self.tables.drop_namespace(name)
                return None
            case "POST", ["namespaces", name, "properties"]:
                self.tables.update_namespace_properties(
                    name, set(body["removals"]), body["updates"]
                )
                return {
                    "updated": list(body["updates"]),
                    "removed": body["removals"],
                    "missing": [],
                }
        raise NoSuchNamespaceError(f"no endpoint {method}")

    def _tables(
        self, method: str, rest: list[str], query: dict[str, list[str]], body: Json
    ) -> Json | None:
        match method, rest:
            case "GET", ["namespaces", name, "tables"]:
                found = [
                    {"namespace": [name], "name": one[-1]} for one in self.tables.list_tables(name)
                ]
                return self._page("identifiers", found, query)
            case "GET", ["namespaces", _, "views"]:
                return {"identifiers": []}
            case "POST", ["namespaces", name, "tables"]:
                return self._loaded(self._created(name, body))
            case "POST", ["namespaces", name, "register"]:
                return self._loaded(
                    self.tables.register_table((name, body["name"]), body["metadata-location"])
                )
            case "GET", ["namespaces", name, "tables", table]:
                return self._loaded(self.tables.load_table((name, table)))
            case "HEAD", ["namespaces", name, "tables", table]:
                self.tables.load_table((name, table))
                return None
            case "DELETE", ["namespaces", name, "tables", table]:
                self.tables.drop_table((name, table))
                return None
            case "POST", ["namespaces", name, "tables", table]:
                return self._committed({"identifier": {"namespace": [name], "name": table}, **body})
            case "GET", ["namespaces", name, "tables", table, "credentials"]:
                self.tables.load_table((name, table))
                return {"storage-credentials": _credentials()}
            case "POST", ["namespaces", name, "tables", table, "metrics"]:
                self.tables.load_table((name, table))
                return None
            case "POST", ["tables", "rename"]:
                source, target = body["source"], body["destination"]
                self.tables.rename_table(
                    (*source["namespace"], source["name"]), (*target["namespace"], target["name"])
                )
                return None
            case "POST", ["transactions", "commit"]:
                for change in body["table-changes"]:
                    self._committed(change)
                return None
        raise NoSuchTableError(f"no endpoint {method} {rest}")

    def _page(self, name: str, entries: list[Any], query: dict[str, list[str]]) -> Json:
        if "pageToken" not in query:
            return {name: entries}
        start = int(query["pageToken"][0] or 0)
        page: Json = {name: entries[start : start + PAGE]}
        return (
            {**page, "next-page-token": str(start + PAGE)} if start + PAGE < len(entries) else page
        )

    def _created(self, namespace: str, body: Json) -> Table:
        asked = CreateTableRequest.model_validate({**dict.fromkeys(LEFT_OUT), **body})
        create = (
            self.tables._create_staged_table if asked.stage_create else self.tables.create_table
        )
        made = create(
            (namespace, asked.name),
            asked.table_schema,
            asked.location,
            asked.partition_spec or UNPARTITIONED_PARTITION_SPEC,
            asked.write_order or UNSORTED_SORT_ORDER,
            asked.properties,
        )
        if asked.stage_create:
            self.staged[namespace, asked.name] = made
        return made

    def _committed(self, body: Json) -> Json:
        asked = CommitTableRequest.model_validate(body)
        name = (*asked.identifier.namespace.root, asked.identifier.name)
        table = self.staged.pop(name, None) or self.tables.load_table(name)
        done = self.tables.commit_table(table, asked.requirements, asked.updates)
        answer: Json = json.loads(done.model_dump_json(by_alias=True))
        return answer

    def _loaded(self, table: Table) -> Json:
        return {
            "metadata-location": table.metadata_location,
            "metadata": json.loads(table.metadata.model_dump_json(by_alias=True)),
            "config": {
                **LURES,
                "s3.access-key-id": "vended",
                "s3.secret-access-key": "secret-vended",
            },
            "storage-credentials": _credentials(),
        }


def _credentials() -> list[Json]:
    config = {"s3.access-key-id": "vended", "s3.secret-access-key": "secret-vended", **LURES}
    return [{"prefix": "s3://lake", "config": config}]


@contextmanager
def rest_catalog(folder: Path) -> Iterator[RestCatalog]:
    """A running catalog over files in the folder."""
    folder.mkdir()
    sql = SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog = RestCatalog(sql)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(catalog))
    catalog.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield catalog
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        sql.close()


def _handler(catalog: RestCatalog) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body: Json = json.loads(sent) if sent else {}
            headers = {name.lower(): value for name, value in self.headers.items()}
            catalog.seen.append(Seen(self.command, self.path, headers, body))
            status, answer = self._status(body)
            raw = (
                b""
                if answer is None
                else answer
                if isinstance(answer, bytes)
                else json.dumps(answer).encode()
            )
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.send_header("Set-Cookie", "of=the-catalog")
            self.send_header("ETag", '"1"')
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(raw)

        def _status(self, body: Json) -> tuple[int, Json | bytes | None]:
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            if token not in (TOKEN, READER_TOKEN):
                return 401, _error(401, "NotAuthorizedException", "not the guard")
            url = urlsplit(self.path)
            replaced = catalog.override(self.command, url.path)
            if replaced is not None:
                return replaced
            try:
                query = parse_qs(url.query, keep_blank_values=True)
                answer = catalog.answer(self.command, url.path, query, body)
            except tuple(_STATUSES) as error:
                status, type = _STATUSES[type_of(error)]
                return status, _error(status, type, str(error))
            return (204 if answer is None else 200), answer

        def do_GET(self) -> None:
            self._any()

        def do_HEAD(self) -> None:
            self._any()

        def do_POST(self) -> None:
            self._any()

        def do_DELETE(self) -> None:
            self._any()

        def log_message(self, *_: object) -> None:
            """Logs nothing: tests read `seen`."""

    return Handler


def type_of(error: Exception) -> type[Exception]:
    """The known error type that this error belongs to."""
    return next(kind for kind in _STATUSES if isinstance(error, kind))


def _error(status: int, type: str, message: str) -> Json:
    return {
        "error": {"message": message, "type": type, "code": status, "stack": ["at Catalog.java:1"]}
    }
