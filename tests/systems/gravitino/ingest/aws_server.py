"""A stand-in for AWS: moto's server, with pages and faults that it does not support itself.

moto returns whole lists. A server in front of it cuts them into pages of the size that a test sets,
with the tokens of the real APIs, and injects faults. It implements searches by LF-tags, of which
moto only stores the assignments, and returns a test's stored response for a path.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final, NamedTuple

import httpx
import pytest

LISTS: Final = ("DatabaseList", "TableList", "PrincipalResourcePermissions")
ACCOUNT: Final = "123456789012"
REGION: Final = "eu-central-1"
SECRET: Final = "not-to-be-shown"
_PASSED_ON: Final = ("authorization", "content-type", "x-amz-date", "x-amz-target")


class Fault(NamedTuple):
    """The response to requests for a page of a list, `times` times."""

    holds: str
    page: int
    code: str
    message: str = ""
    status: int = 400
    times: int = 1_000


@dataclass
class Aws:
    """The server at `endpoint`; `requests` are the requested lists and pages."""

    endpoint: str
    behind: str
    size: int = 1_000
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, int]] = field(default_factory=list)
    stored: dict[str, object] = field(default_factory=dict)

    def tell(self, monkeypatch: pytest.MonkeyPatch, secret: str = SECRET) -> None:
        """Configures AWS's address and credentials like users do: by environment variables."""
        for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("AWS_ENDPOINT_URL", self.endpoint)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
        monkeypatch.setenv("AWS_SESSION_TOKEN", secret)

    def reset(self) -> None:
        """Clears all stored data, and the test's settings."""
        httpx.post(f"{self.behind}/moto-api/reset", timeout=30).raise_for_status()
        self.size = 1_000
        self.faults.clear()
        self.requests.clear()
        self.stored.clear()

    def client(self, service: str) -> Any:
        """A client of a service of the server, for a test's data."""
        from botocore.session import get_session

        return get_session().create_client(
            service,
            region_name=REGION,
            endpoint_url=self.behind,
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )

    def said(self, path: str, asked: dict[str, Any]) -> Any:
        """The response for calls that moto does not support; None for all others."""
        if path == "/SearchDatabasesByLFTags":
            return {"DatabaseList": list(_tagged_databases(asked["Expression"]))}
        if path == "/SearchTablesByLFTags":
            return {"TableList": list(_tagged_tables(asked["Expression"]))}
        return self.stored.get(path)

    def answer(self, status: int, reply: Any, asked: dict[str, Any]) -> tuple[int, Any]:
        """A page of a list, or a fault; other responses unchanged."""
        holds = next((name for name in LISTS if name in reply), "")
        if status != 200 or not holds:
            return status, reply
        page = int(asked.get("NextToken") or 0)
        self.requests.append((holds, page))
        for at, fault in enumerate(self.faults):
            if fault[:2] == (holds, page) and fault.times > 0:
                self.faults[at] = fault._replace(times=fault.times - 1)
                if fault.code == "NextToken":
                    return 200, {holds: [], "NextToken": fault.message}
                return fault.status, {"__type": fault.code, "message": fault.message}
        items = reply[holds]
        end = (page + 1) * self.size
        more = {"NextToken": str(page + 1)} if end < len(items) else {}
        return 200, {holds: items[page * self.size : end], **more}


def _tagged_databases(expression: list[Any]) -> Iterator[object]:
    from moto.lakeformation.models import lakeformation_backends

    for (_, name), tags in lakeformation_backends[ACCOUNT][REGION].lf_database_tags.items():
        if _is_met(expression, tags):
            yield {"Database": {"CatalogId": ACCOUNT, "Name": name}, "LFTags": tags}


def _tagged_tables(expression: list[Any]) -> Iterator[object]:
    """Tables whose tags, or those of their database or of a column, match the expression."""
    from moto.glue.models import glue_backends
    from moto.lakeformation.models import lakeformation_backends

    tags = lakeformation_backends[ACCOUNT][REGION]
    for database in glue_backends[ACCOUNT][REGION].databases.values():
        above = tags.lf_database_tags.get((ACCOUNT, database.name), [])
        for name in database.tables:
            table = (ACCOUNT, database.name, name)
            own = tags.lf_table_tags.get(table, [])
            inside = {key[3]: of for key, of in tags.lf_columns_tags.items() if key[:3] == table}
            if any(_is_met(expression, of) for of in (above, own, *inside.values())):
                yield {
                    "Table": {"CatalogId": ACCOUNT, "DatabaseName": database.name, "Name": name},
                    "LFTagOnDatabase": above,
                    "LFTagsOnTable": own,
                    "LFTagsOnColumns": [{"Name": c, "LFTags": of} for c, of in inside.items()],
                }


def _is_met(expression: list[Any], tags: list[Any]) -> bool:
    values = {tag["TagKey"]: set(tag["TagValues"]) for tag in tags}
    return all(values.get(term["TagKey"], set()) & {*term["TagValues"]} for term in expression)


@contextmanager
def aws_server() -> Iterator[Aws]:
    """Starts both servers."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it logs every request
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    aws = Aws("", f"http://{host}:{port}")

    class Front(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            asked = json.loads(body) if body.startswith(b"{") else {}
            said = aws.said(self.path, asked)
            if said is None:
                status, kind, content = self._passed_on(body)
            else:
                status, kind, content = 200, "application/json", json.dumps(said).encode()
            if content.startswith(b"{"):
                status, reply = aws.answer(status, json.loads(content), asked)
                content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _passed_on(self, body: bytes) -> tuple[int, str, bytes]:
            headers = {n: v for n, v in self.headers.items() if n.lower() in _PASSED_ON}
            found = httpx.post(aws.behind + self.path, content=body, headers=headers, timeout=30)
            return found.status_code, found.headers["content-type"], found.content

        def log_message(self, format: str, *args: object) -> None:
            """Logs nothing."""

    front = ThreadingHTTPServer(("127.0.0.1", 0), Front)
    thread = Thread(target=front.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    aws.endpoint = f"http://127.0.0.1:{front.server_port}"
    try:
        yield aws
    finally:
        front.shutdown()
        front.server_close()
        thread.join()
        moto.stop()
