"""Google Cloud Storage as a process for tests: fake-gcs-server behind Google's XML API.

obstore and delta-rs use the XML API, for which fake-gcs-server lacks puts and conditions. So a door
translates each request to the JSON API: objects, generations, conditions and pages are the
server's. The door itself authenticates requests, compares the ETag of a conditional read, and
stores the parts of a multipart upload.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

import httpx
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.servers import free_port, wait_for

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakewarden"
PAGE: Final = 3
"""Names per page of a list, so each list has several pages."""

_PASSED_ON: Final = ("ETag", "X-Goog-Generation", "Last-Modified", "Content-Range")
_CONDITION: Final = "x-goog-if-generation-match"


@dataclass(frozen=True, slots=True)
class GoogleStorage:
    """A running server: its door, the server behind it, and a file of credentials for the door."""

    endpoint: str
    behind: str
    account: Path

    def create_bucket(self, name: str) -> None:
        """Makes a bucket."""
        made = httpx.post(f"{self.behind}/storage/v1/b", json={"name": name}, timeout=30)
        made.raise_for_status()


@contextmanager
def google_storage(folder: Path) -> Iterator[GoogleStorage]:
    """A running server; skips the test if it is not installed."""
    found = sorted(CACHE.glob("fake-gcs-server-*/fake-gcs-server"))
    if not found:
        pytest.skip("fake-gcs-server is not installed (scripts/install-fake-gcs-server.sh)")
    port = free_port()
    command = [str(found[-1]), "-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
    command += ["-backend", "memory", "-log-level", "error"]
    log = folder / "fake-gcs-server.log"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        wait_for(port, process, log)
        key = rsa.generate_private_key(65537, 2048)
        behind = f"http://127.0.0.1:{port}"
        with (
            httpx.Client(
                base_url=behind, timeout=30, headers={"Accept-Encoding": "identity"}
            ) as client,
            ThreadingHTTPServer(
                ("127.0.0.1", 0), partial(_Door, _State(client, key.public_key()))
            ) as door,
        ):
            Thread(target=door.serve_forever, args=(0.02,), daemon=True).start()
            account = folder / "account.json"
            account.write_text(json.dumps(credentials(key)), "utf-8")
            yield GoogleStorage(f"http://127.0.0.1:{door.server_port}", behind, account)
            door.shutdown()
    finally:
        process.kill()
        process.wait(20)


def credentials(key: rsa.RSAPrivateKey | None = None) -> dict[str, str]:
    """The contents of a service account file; without a key, of a new one."""
    pem = (key or rsa.generate_private_key(65537, 2048)).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return {
        "type": "service_account",
        "client_email": "lake@project.example",
        "private_key_id": "1",
        "private_key": pem.decode(),
    }


@dataclass(slots=True)
class _State:
    """The state shared by the requests of a door."""

    client: httpx.Client
    key: rsa.RSAPublicKey
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))


class _Door(BaseHTTPRequestHandler):
    """A request of the XML API (https://cloud.google.com/storage/docs/xml-api/reference-methods)."""

    protocol_version = "HTTP/1.1"

    def __init__(self, state: _State, *about: Any) -> None:
        self._state = state
        super().__init__(*about)  # this responds

    def _answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not _is_signed(self.headers.get("Authorization", ""), self._state.key):
            self._fail(401, "AuthenticationRequired")
            return
        address = urlsplit(self.path)
        bucket, _, key = map(unquote, address.path.lstrip("/").partition("/"))
        query = {k: v[0] for k, v in parse_qs(address.query, keep_blank_values=True).items()}
        if not key:
            self._list(bucket, query)
        elif self.command in ("GET", "HEAD"):
            self._download(bucket, key)
        elif "uploads" in query or "uploadId" in query:
            self._put_parts(bucket, key, query, content)
        elif self.command == "DELETE":
            self._reply(self._ask("DELETE", _object(bucket, key)))
        elif source := self.headers.get("x-goog-copy-source"):
            whence = _object(*map(unquote, source.lstrip("/").split("/", 1)))
            whither = _object(bucket, key).removeprefix("/storage/v1")
            self._reply(self._ask("POST", f"{whence}/rewriteTo{whither}"))
        else:
            self._put(bucket, key, content)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 — required by http.server

    def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self._state.client.request(method, path, **more)

    def _list(self, bucket: str, query: dict[str, str]) -> None:
        asked = _given(
            prefix=query.get("prefix"),
            maxResults=str(PAGE),
            delimiter=query.get("delimiter"),
            pageToken=query.get("continuation-token"),
        )
        found = self._ask("GET", f"/storage/v1/b/{quote(bucket, safe='')}/o", params=asked)
        if found.status_code != 200:
            self._fail(found.status_code, "NoSuchBucket")
            return
        page = found.json()
        objects = "".join(
            f"<Contents><Key>{escape(one['name'])}</Key><Size>{one['size']}</Size>"
            f"<Generation>{one['generation']}</Generation><LastModified>{one['updated']}"
            f"</LastModified><ETag>&quot;{escape(one['etag'])}&quot;</ETag></Contents>"
            for one in page.get("items", ())
        )
        folders = "".join(
            f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>"
            for one in page.get("prefixes", ())
        )
        token = page.get("nextPageToken", "")
        more = f"<NextContinuationToken>{escape(token)}</NextContinuationToken>" if token else ""
        truncated = f"<IsTruncated>{str(bool(token)).lower()}</IsTruncated>"
        name = f"<Name>{escape(bucket)}</Name>"
        text = f"<ListBucketResult>{name}{truncated}{more}{objects}{folders}</ListBucketResult>"
        self._send(200, {"Content-Type": "application/xml"}, text.encode())

    def _download(self, bucket: str, key: str) -> None:
        told = _given(Range=self.headers.get("Range"))
        found = self._ask(self.command, f"/download{_object(bucket, key)}", headers=told)
        wanted = self.headers.get("If-Match")
        if found.status_code == 404:
            self._fail(404, "NoSuchKey")
        elif wanted is not None and wanted != found.headers["ETag"]:
            self._fail(412, "PreconditionFailed")
        else:
            told = {name: found.headers[name] for name in _PASSED_ON if name in found.headers}
            if self.command == "HEAD":
                told["Content-Length"] = found.headers["Content-Length"]
            self._send(found.status_code, told, found.content)

    def _put(self, bucket: str, key: str, content: bytes) -> None:
        condition = self.headers.get(_CONDITION)
        asked = _given(uploadType="media", name=key, ifGenerationMatch=condition)
        path = f"/upload/storage/v1/b/{quote(bucket, safe='')}/o"
        self._reply(self._ask("POST", path, params=asked, content=content))

    def _put_parts(self, bucket: str, key: str, query: dict[str, str], content: bytes) -> None:
        uploads = self._state.uploads
        if "uploads" in query:
            name = str(next(self._state.numbers))
            uploads[name] = {}
            text = f"<InitiateMultipartUploadResult><Bucket>{escape(bucket)}</Bucket><Key>"
            text += f"{escape(key)}</Key><UploadId>{name}</UploadId>"
            self._send(200, {}, f"{text}</InitiateMultipartUploadResult>".encode())
        elif self.command == "PUT":
            number = query["partNumber"]
            uploads[query["uploadId"]][int(number)] = content
            self._send(200, {"ETag": f'"{number}"'}, b"")
        elif self.command == "POST":
            parts = uploads.pop(query["uploadId"])
            self._put(bucket, key, b"".join(parts[number] for number in sorted(parts)))
        else:
            uploads.pop(query["uploadId"], None)
            self._send(204, {}, b"")

    def _reply(self, answer: httpx.Response) -> None:
        """Sends the JSON API's response to a write."""
        if answer.is_error:
            codes = {404: "NoSuchKey", 412: "PreconditionFailed"}
            self._fail(answer.status_code, codes.get(answer.status_code, "InternalError"))
            return
        found = (answer.json() if answer.content else None) or {}
        found = found.get("resource", found)
        told = {}
        if "etag" in found:
            told = {"ETag": f'"{found["etag"]}"', "X-Goog-Generation": found["generation"]}
        body = ""
        if self.command == "POST":
            tag = f"<ETag>{escape(told['ETag'])}</ETag>"
            body = f"<CompleteMultipartUploadResult>{tag}</CompleteMultipartUploadResult>"
        self._send(answer.status_code, told, body.encode())

    def _fail(self, status: int, code: str) -> None:
        self._send(status, {}, f"<Error><Code>{code}</Code></Error>".encode())

    def _send(self, status: int, told: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in (
            {} if status == 204 else {"Content-Length": str(len(content))} | told
        ).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _given(**named: str | None) -> dict[str, str]:
    """The arguments that are not None."""
    return {name: value for name, value in named.items() if value}


def _object(bucket: str, key: str) -> str:
    return f"/storage/v1/b/{quote(bucket, safe='')}/o/{quote(key, safe='')}"


def _is_signed(authorization: str, key: rsa.RSAPublicKey) -> bool:
    """Whether the token is signed by the service account."""
    signed, _, signature = authorization.removeprefix("Bearer ").rpartition(".")
    padded = f"{signature}{'=' * (-len(signature) % 4)}"
    try:
        sign = base64.urlsafe_b64decode(padded)
        key.verify(sign, signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    except (InvalidSignature, ValueError):
        return False
    return True
