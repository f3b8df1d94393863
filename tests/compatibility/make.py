"""Creates the files of this folder with the release on the path; see README.md.

Only the command line and HTTP are used, so the same script works with any release.
"""

from __future__ import annotations

import gzip
import http.client
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

NOW = 1_800_000_000
ROOT_TOKEN = "q7Vw2ZkR9tBxN4mLs8HdYcJ3fGpA6uEo"
PASSWORD = "correct horse battery staple"
TABLES = {
    "entities.csv": """type,name,parent_type,parent_name
metalake,lk,,
catalog,lk:c,,
schema,lk:c.s,,
schema,lk:c.raw,,
table,lk:c.s.orders,,
table,lk:c.s.returns,,
table,lk:c.raw.events,,
role,lk:readers,,
role,lk:blocked,,
""",
    "principals.csv": """kind,name
user,ana
user,ben
user,eve
group,staff
role,lk:readers
role,lk:blocked
""",
    "memberships.csv": """member_kind,member_name,of_kind,of_name
user,ana,group,staff
group,staff,role,lk:readers
user,ben,role,lk:readers
user,ben,role,lk:blocked
user,ana,implied,members:lk
user,ben,implied,members:lk
""",
    "owners.csv": """type,name,owner_kind,owner_name,ownership
table,lk:c.s.returns,user,ben,
""",
}
STATEMENTS = [
    {
        "id": "read",
        "privileges": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"],
        "to": "role:lk:readers",
        "on": "catalog:lk:c",
    },
    {
        "id": "block",
        "effect": "deny",
        "privileges": ["SELECT_TABLE"],
        "to": "role:lk:blocked",
        "on": "schema:lk:c.raw",
        "title": "no raw data",
    },
]
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
POLICIES = {
    "datahub": f"""
[members]
"group:urn:li:corpGroup:staff" = ["user:ana"]

[[statement]]
id = "urn:li:dataHubPolicy:tags"
title = "Tags of the season"
privileges = ["EDIT_ENTITY_TAGS"]
to = ["group:urn:li:corpGroup:staff"]
where = [{{ field = "TYPE", values = ["dataset"] }}]
constraint = [{{ field = "URN", values = ["urn:li:tag:spring"] }}]

[[statement]]
id = "urn:li:dataHubPolicy:docs"
privileges = ["EDIT_ENTITY_DOCS"]
to = ["user:ben"]
where = [{{ field = "URN", values = ["{ORDERS}"] }}]
""",
    "cdap": """
[[statement]]
id = "sales"
privileges = ["READ"]
to = ["user:ana"]
on = "namespace:sales"

[[statement]]
id = "datasets"
privileges = ["READ", "WRITE"]
to = ["user:ben"]
matching = "dataset:sales.*"
""",
}
NEXT_POLICY = """
[[statement]]
id = "eve-reads"
privileges = ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"]
to = ["user:eve"]
on = "catalog:lk:c"

[members]
"members:lk" = ["user:eve"]
"""
TOKEN = """mutation c($input: CreateAccessTokenInput!) {
  createAccessToken(input: $input) { accessToken }
}"""


def run(*words: str, code: int = 0, env: dict[str, str] | None = None) -> str:
    """The output of a verb."""
    command = [sys.executable, "-m", "lakewarden.cli", *words]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}
    )
    if done.returncode != code:
        raise SystemExit(f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


@contextmanager
def served(database: str, *words: str) -> Iterator[str]:
    """The address of a server of this release."""
    command = [sys.executable, "-m", "lakewarden.cli", "serve", "--port", "0", "--auth", "token"]
    process = subprocess.Popen(
        [*command, "--database", database, *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LAKEWARDEN_ROOT_TOKEN": ROOT_TOKEN},
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait(30)


def ask(address: str, token: str, path: str, body: object = None) -> tuple[int, Any]:
    """One request with a bearer token: the status and the JSON of the response."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    raw = None if body is None else json.dumps(body)
    if raw is not None:
        headers["Content-Type"] = "application/json"
    with closing(http.client.HTTPConnection(address.removeprefix("http://"))) as connection:
        connection.request("GET" if raw is None else "POST", path, raw, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")


def graphql(address: str, token: str, query: str, **variables: object) -> Any:
    """The response to one document of DataHub's GraphQL."""
    status, answer = ask(address, token, "/api/graphql", {"query": query, "variables": variables})
    if status != 200 or answer.get("errors"):
        raise SystemExit(f"{query}: {answer}")
    return answer["data"]


def fill(work: Path, database: str) -> None:
    """Three realms with people, statements, documents and a secret."""
    tables = work / "tables"
    tables.mkdir()
    for name, text in TABLES.items():
        (tables / name).write_text(text, "utf-8")
    lines = "".join(f"{json.dumps(statement)}\n" for statement in STATEMENTS)
    (tables / "statements.jsonl").write_text(lines, "utf-8")
    run("init", "--admin", "root", "--database", database)
    for name in ("ana", "ben"):
        run("user", "add", name, "--database", database)
    ingest = ["pipeline", "ingest", str(tables), "--source", "csv", "--model", "gravitino"]
    run(*ingest, "--out", str(work / "directory"))
    run("load", str(work / "directory"), "--realm", "gravitino", "--database", database)
    for realm, text in POLICIES.items():
        policy, plan = work / f"{realm}.toml", work / f"{realm}.json"
        policy.write_text(text, "utf-8")
        run(
            "plan",
            str(policy),
            "--realm",
            realm,
            "--out",
            str(plan),
            "--database",
            database,
            code=1,
        )
        run("apply", str(plan), "--database", database)
    (work / "password").write_text(f"{PASSWORD}\n", "utf-8")
    password = ["--file", str(work / "password"), "--database", database]
    run("user", "password", "ana", *password)


def tokens(database: str) -> dict[str, str]:
    """Tokens of the administrator, of a user, and a personal one of DataHub; and a secret."""
    create = ["token", "create", "--ttl", "366d", "--new", "--database", database]
    found = {
        name: run(*create, user).strip() for name, user in (("admin", "root"), ("user", "ana"))
    }
    with served(database) as address:
        input = {"type": "PERSONAL", "actorUrn": "urn:li:corpuser:root", "name": "notebook"}
        made = graphql(address, found["admin"], TOKEN, input={**input, "duration": "NO_EXPIRY"})
        found["datahub"] = made["createAccessToken"]["accessToken"]
        secret = "mutation s($input: CreateSecretInput!) { createSecret(input: $input) }"
        graphql(address, found["admin"], secret, input={"name": "warehouse", "value": "hunter2"})
    return found


def questions() -> Iterator[list[str]]:
    """Verbs that query a database, without the option that names it."""
    table = "table:lk:c.{}"
    for user in ("ana", "ben", "eve"):
        for name in ("s.orders", "s.returns", "raw.events"):
            for operation in ("table.load", "table.alter"):
                yield ["check", user, operation, table.format(name), "--realm", "gravitino"]
        yield ["list", user, "table.load", "--realm", "gravitino"]
        yield ["privileges", user, table.format("s.returns"), "--realm", "gravitino"]
        yield ["list", user, "read", "--all-realms"]
        for operation in ("EDIT_ENTITY_DOCS", "VIEW_ENTITY_PAGE"):
            yield ["check", user, operation, ORDERS, "--realm", "datahub"]
        for tag in ("spring", "pii"):
            tagging = ["check", user, "EDIT_ENTITY_TAGS", ORDERS, "--sub", f"urn:li:tag:{tag}"]
            yield [*tagging, "--realm", "datahub"]
        for privilege in ("READ", "WRITE"):
            for entity in ("namespace:sales", "dataset:sales.t1", "dataset:other.t1"):
                yield ["check", user, privilege, entity, "--realm", "cdap"]
    yield ["who", "table.load", table.format("s.orders"), "--realm", "gravitino"]
    yield ["who", "table.load", table.format("raw.events"), "--realm", "gravitino"]
    yield ["user", "list"]


REQUESTS: list[tuple[str, str, object]] = [
    ("admin", "/api/v1/realms/gravitino/statements", None),
    ("admin", "/api/metalakes/lk/catalogs/c/schemas", None),
    ("user", "/api/metalakes/lk/catalogs/c/schemas", None),
    ("user", "/api/metalakes/lk/catalogs/c/schemas/s/tables", None),
    ("datahub", "/api/graphql", {"query": "{ me { corpUser { urn } } }"}),
    ("", "/logIn", {"username": "ana", "password": PASSWORD}),
    ("", "/logIn", {"username": "ana", "password": PASSWORD.upper()}),
]


def questions_to_directory() -> Iterator[list[str]]:
    """Verbs that query the ingested directory, without the option that names it."""
    for user in ("ana", "ben", "eve"):
        yield ["list", user, "table.load"]
    for user, table in (("ben", "s.returns"), ("ben", "raw.events")):
        yield ["check", user, "table.alter", f"table:lk:c.{table}"]
    yield ["who", "table.load", "table:lk:c.raw.events"]


def answered(asked: Iterator[list[str]], *options: str) -> list[dict[str, Any]]:
    """The outputs of verbs."""
    found = []
    for words in asked:
        done = subprocess.run(
            [sys.executable, "-m", "lakewarden.cli", *words, "--format", "json", *options],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            raise SystemExit(f"{words}: {done.stderr}")
        found.append({"words": words, "code": done.returncode, "answer": json.loads(done.stdout)})
    return found


def answers(work: Path, database: str, found: dict[str, str]) -> dict[str, Any]:
    """The answers of this release, for comparison."""
    asked = answered(questions(), "--database", database)
    of_directory = answered(questions_to_directory(), "--from", str(work / "directory"))
    exports = {
        realm: run("export", "--realm", realm, "--database", database)
        for realm in ("gravitino", "datahub", "cdap")
    }
    trail = run("audit", "export", "--database", database).splitlines()
    # Last, because signing in changes the store.
    requests = []
    with served(database) as address:
        for token, path, body in REQUESTS:
            status, answer = ask(address, found.get(token, ""), path, body)
            one = {"token": token, "path": path, "body": body}
            requests.append({**one, "status": status, "answer": answer})
    return {
        "made": time.time(),
        "tokens": found,
        "questions": asked,
        "questions_to_directory": of_directory,
        "requests": requests,
        "exports": exports,
        "trail": [json.loads(line) for line in trail],
    }


def pack(folder: Path, file: Path) -> None:
    """A folder as one file."""
    with tarfile.open(file, "w:gz") as packed:
        packed.add(folder, folder.name)


def main(out: Path) -> None:
    """Writes all files."""
    with TemporaryDirectory() as place:
        work = Path(place)
        database = f"sqlite:///{work}/store.db"
        fill(work, database)
        found = tokens(database)
        stored = ["pipeline", "ingest", database, "--source", "store", "--realm", "gravitino"]
        run(*stored, "--out", str(work / "stored"))
        run(
            "pipeline",
            "index",
            str(work / "stored"),
            "--out",
            str(work / "index"),
            "--now",
            str(NOW),
        )
        (out / "next.toml").write_text(NEXT_POLICY, "utf-8")
        plan = ["plan", str(out / "next.toml"), "--realm", "gravitino"]
        run(*plan, "--out", str(work / "plan.json"), "--database", database, code=1)
        # A plan names its files by absolute paths; here it must work in any checkout.
        text = (
            (work / "plan.json")
            .read_text("utf-8")
            .replace(str((out / "next.toml").resolve()), "next.toml")
        )
        (out / "plan.json").write_text(text, "utf-8")
        with (
            closing(sqlite3.connect(work / "store.db")) as source,
            closing(sqlite3.connect(work / "whole.db")) as copy,
        ):
            source.backup(copy)
        (out / "store.db.gz").write_bytes(gzip.compress((work / "whole.db").read_bytes(), mtime=0))
        text = json.dumps(answers(work, database, found), indent=1, ensure_ascii=False)
        (out / "answers.json").write_text(text + "\n", "utf-8")
        shutil.copy(work / "store.db-key", out / "key")
        for name in ("directory", "index"):
            pack(work / name, out / f"{name}.tar.gz")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
