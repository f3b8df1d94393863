"""DataHub's client and pages: write throughput, visibility of writes, and cost of pages.

    python -m bench.datahub [--datasets N] [--rounds N] [--save [FILE]]

*Ingest*: `datahub ingest` of a file of datasets with seven aspects each into servers over SQLite
and PostgreSQL, compared with the same client against a server that answers every call with a
constant. Reports records per second, absolute and as a share of the constant server's. *Visible*:
a policy is created and deleted on one of two workers over PostgreSQL, while eight connections
query a dataset until all of them see the change. Reports milliseconds from the response, and the
number of stale answers (must be 0). *Pages*: root's granted privileges on a dataset, and a page of
100 datasets with the caller's permissions on each, compared with the same page without them.
Needs the client's environment (`scripts/datahub-client.sh`), which the first run creates.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from bench.http import served
from bench.result import kept, machine, rounded
from bench.text import say
from bench.timing import interleaved, median, quantile, ratio
from tests.servers import fresh_database, postgres

ROOT: Final = Path(__file__).parents[1]
CONNECTIONS: Final = 8
MOST_OLD: Final = 10_000
"""The bench aborts after this many stale answers."""

PAGE: Final = 100
PREFIX: Final = "/r/datahub"
READER: Final = "ana"
"""The user who reads by the policy that is created and deleted; no other policy applies to her."""

ROOT_USER: Final = "datahub"
OPEN_TO_ALL: Final = "urn:li:dataHubPolicy:view-entity-page-all"
"""A policy from the first start that allows everybody to read everything."""

MAKE: Final = "mutation m($i: PolicyUpdateInput!) { createPolicy(input: $i) }"
DROP: Final = "mutation m($urn: String!) { deletePolicy(urn: $urn) }"
GRANTED: Final = """
query q($i: GetGrantedPrivilegesInput!) { getGrantedPrivileges(input: $i) { privileges } }
"""
ABOUT: Final = (
    "urn type ... on Dataset { name ownership { owners { owner { ... on CorpUser { urn } } } } }"
)
"""The timed documents, and the fields of each dataset of a page."""


def basic(user: str) -> str:
    """The credential of a user, for a server that trusts names."""
    return "Basic " + base64.b64encode(f"{user}:".encode()).decode()


def dataset(number: int) -> str:
    """The URN of one of the datasets."""
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,bench.t{number:06},PROD)"


def proposals(number: int) -> Iterator[dict[str, Any]]:
    """The change proposals of one dataset, as the client's file source reads them."""
    columns = [
        {
            "fieldPath": f"column_{place}",
            "type": {"type": {"com.linkedin.schema.StringType": {}}},
            "nativeDataType": "string",
            "nullable": True,
            "description": f"column {place} of table {number}",
        }
        for place in range(20)
    ]
    stamp = {"time": 0, "actor": "urn:li:corpuser:unknown"}
    owner = {"owner": f"urn:li:corpuser:u{number % 50}", "type": "TECHNICAL_OWNER"}
    aspects: Mapping[str, Any] = {
        "datasetProperties": {"name": f"t{number:06}", "description": f"table {number}"},
        "ownership": {"owners": [owner], "lastModified": stamp},
        "globalTags": {"tags": [{"tag": f"urn:li:tag:t{number % 20}"}]},
        "glossaryTerms": {
            "terms": [{"urn": f"urn:li:glossaryTerm:g{number % 20}"}],
            "auditStamp": stamp,
        },
        "domains": {"domains": [f"urn:li:domain:d{number % 10}"]},
        "status": {"removed": False},
        "schemaMetadata": {
            "schemaName": f"t{number:06}",
            "platform": "urn:li:dataPlatform:hive",
            "version": 0,
            "hash": "",
            "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
            "fields": columns,
            "created": stamp,
            "lastModified": stamp,
        },
    }
    for name, value in aspects.items():
        yield {
            "entityType": "dataset",
            "entityUrn": dataset(number),
            "changeType": "UPSERT",
            "aspectName": name,
            "aspect": {"json": value},
        }


class Constant(BaseHTTPRequestHandler):
    """Gives the client the responses that it needs to continue, and stores nothing."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._say({"noCode": "true", "versions": {"acryldata/datahub": {"version": "v0.15.0"}}})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._say({"value": ""})

    def _say(self, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


@contextmanager
def constant() -> Iterator[str]:
    """The address of a server that answers with a constant."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Constant) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def ingested(python: Path, address: str, file: Path, folder: Path) -> float:
    """The seconds of `datahub ingest`, without its start-up as far as it reports that."""
    recipe = {
        "source": {"type": "file", "config": {"path": str(file)}},
        "sink": {
            "type": "datahub-rest",
            "config": {"server": address, "extra_headers": {"Authorization": basic(ROOT_USER)}},
        },
    }
    path = folder / "recipe.json"
    path.write_text(json.dumps(recipe))
    begun = time.monotonic()
    done = subprocess.run(
        [str(python.parent / "datahub"), "ingest", "-c", str(path), "--no-default-report"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "DATAHUB_TELEMETRY_ENABLED": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stdout[-2_000:] + done.stderr[-2_000:])
    return time.monotonic() - begun


def ingest(python: Path, datasets: int, folder: Path, url: str) -> dict[str, float]:
    """The figures of the writing client, against each server in turn."""
    records = [one for number in range(datasets) for one in proposals(number)]
    empty, full = folder / "empty.json", folder / "full.json"
    empty.write_text(json.dumps(records[:1]))
    full.write_text(json.dumps(records))
    seconds = {}
    for name, server in (
        ("constant", constant()),
        ("sqlite", served(f"sqlite:///{folder / 'ingest.db'}")),
        ("postgres", served(url)),
    ):
        with server as address:
            at = address if name == "constant" else address + PREFIX
            start = ingested(python, at, empty, folder)
            seconds[name] = max(ingested(python, at, full, folder) - start, 1e-3)
            say(f"ingest into {name}: {seconds[name]:.1f} s")
    return {
        "records": len(records),
        **{f"{name}_per_s": len(records) / took for name, took in seconds.items()},
        **{
            f"{name}_share_of_constant": seconds["constant"] / seconds[name]
            for name in ("sqlite", "postgres")
        },
    }


class Caller:
    """One keep-alive connection, as one user of a server that trusts names."""

    def __init__(self, address: str, user: str) -> None:
        host = address.removeprefix("http://")
        self._connection = http.client.HTTPConnection(host, timeout=60)
        self._headers = {"Authorization": basic(user), "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body of one request."""
        sent = None if body is None else json.dumps(body)
        self._connection.request(method, PREFIX + path, sent, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def graphql(self, query: str, **variables: Any) -> Any:
        """The data of a document; raises if there are errors."""
        status, body = self.ask("POST", "/api/graphql", {"query": query, "variables": variables})
        if status != 200 or body.get("errors"):
            raise ConnectionError(f"the server answered {status}: {body}")
        return body["data"]


def visible(address: str, rounds: int) -> dict[str, float]:
    """Creates and deletes a policy; the time until all connections see the change."""
    admin = Caller(address, ROOT_USER)
    _add_reader(admin)
    admin.graphql(DROP, urn=OPEN_TO_ALL)
    callers = [Caller(address, READER) for _ in range(CONNECTIONS)]
    target = f"/aspects/{quote(dataset(0), safe='')}?aspect=datasetProperties&version=0"
    took, old, made = [], 0, ""
    for number in range(rounds):
        gives = number % 2 == 0
        if gives:
            made = admin.graphql(MAKE, i=_policy())["createPolicy"]
        else:
            admin.graphql(DROP, urn=made)
        begun = time.monotonic()
        for caller in callers:
            while (status := caller.ask("GET", target)[0]) != (200 if gives else 403):
                old += 1
                if old > MOST_OLD:
                    raise ConnectionError(f"the server goes on to answer {status}")
        took.append((time.monotonic() - begun) * 1e3)
    return {
        "all_say_ms_p50": quantile(took, 0.5),
        "all_say_ms_p99": quantile(took, 0.99),
        "old_answers": old,
        "rounds": rounds,
    }


def _add_reader(admin: Caller) -> None:
    proposal = {
        "entityType": "corpuser",
        "entityUrn": f"urn:li:corpuser:{READER}",
        "changeType": "UPSERT",
        "aspectName": "corpUserInfo",
        "aspect": {"contentType": "application/json", "value": '{"active": true}'},
    }
    body = {"proposal": proposal, "async": "false"}
    status, answer = admin.ask("POST", "/aspects?action=ingestProposal", body)
    if status != 200:
        raise ConnectionError(f"the server answered {status}: {answer}")


def _policy() -> dict[str, Any]:
    return {
        "type": "METADATA",
        "name": "bench",
        "state": "ACTIVE",
        "privileges": ["VIEW_ENTITY_PAGE"],
        "actors": {
            "users": [f"urn:li:corpuser:{READER}"],
            "allUsers": False,
            "allGroups": False,
            "resourceOwners": False,
        },
        "resources": {
            "filter": {
                "criteria": [{"field": "TYPE", "values": ["dataset"], "condition": "EQUALS"}]
            }
        },
    }


def pages(address: str, rounds: int) -> dict[str, float]:
    """Root's granted privileges on a dataset, and pages of datasets with and without rights."""
    root = Caller(address, ROOT_USER)
    spec = {"resourceType": "DATASET", "resourceUrn": dataset(1)}
    asked = {"actorUrn": f"urn:li:corpuser:{ROOT_USER}", "resourceSpec": spec}
    urns = [dataset(number) for number in range(PAGE)]
    plain = f"query q($urns: [String!]!) {{ entities(urns: $urns) {{ {ABOUT} }} }}"
    full = plain.replace("... on Dataset {", f"... on Dataset {{ privileges {{ {_members(root)} }}")
    took = interleaved(
        rounds,
        {
            "granted": lambda: _timed(root, GRANTED, i=asked),
            "plain": lambda: _timed(root, plain, urns=urns),
            "with_privileges": lambda: _timed(root, full, urns=urns),
        },
    )
    return {
        **{f"{name}_ms_p50": median(each) for name, each in took.items()},
        "privileges_of_a_page": PAGE * len(_members(root).split()),
        "with_privileges_over_plain": ratio(took["with_privileges"], took["plain"]),
    }


def _members(caller: Caller) -> str:
    """The names of all fields that state the caller's permissions."""
    query = '{ __type(name: "EntityPrivileges") { fields { name } } }'
    return " ".join(one["name"] for one in caller.graphql(query)["__type"]["fields"])


def _timed(caller: Caller, query: str, **variables: Any) -> float:
    begun = time.monotonic()
    caller.graphql(query, **variables)
    return (time.monotonic() - begun) * 1e3


def client() -> Path:
    """The Python of the client's environment."""
    made = subprocess.run(
        [str(ROOT / "scripts" / "datahub-client.sh")],
        cwd=ROOT,
        env={**os.environ, "PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Path(made.stdout.strip())


def measured(datasets: int, rounds: int) -> dict[str, Any]:
    """All figures."""
    python = client()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lakewarden-bench-")))
        server = stack.enter_context(postgres())
        url = stack.enter_context(fresh_database(server))
        written = ingest(python, datasets, folder, url)
        with served(url, LAKEWARDEN_WORKERS="2") as address:
            seen = visible(address, rounds)
        with served(url) as address:
            return {"ingest": written, "visible": seen, "pages": pages(address, rounds)}


def main() -> int:
    """Prints the result as JSON."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--save", nargs="?", const="")
    given = parser.parse_args()
    about = machine()
    result = rounded({**measured(given.datasets, given.rounds), **about})
    print(json.dumps(result, indent=2))
    if given.save is not None:
        kept(result, "datahub", given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
