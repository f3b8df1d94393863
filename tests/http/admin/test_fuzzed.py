"""Our own API against its description: requests drawn from `openapi.json`, and hostile ones.

A separate process serves a small lake; schemathesis draws requests for each kind of caller. The
administrator's credential is the root token, which no request of the run can revoke. Source:
security reference, T-50.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from lakewarden.http.admin.dialect import ENDPOINTS
from lakewarden.http.admin.endpoint import PREFIX
from tests.app.serving import Served, server
from tests.http.admin.conftest import HIDDEN, TABLE

ROOT = "root-token-of-the-tests-5Vq8Zt2LxW"
ADMINISTRATOR, PLAIN, NOBODY = "administrator", "plain user", "no credential"

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "use_after_free",
    "ensure_resource_availability",
    "ignored_auth",
    "negative_data_rejection",
    "positive_data_acceptance",
)

UNDESCRIBED = {
    "the words of the realm's model, and how its system spells names": (
        "POST /realms",
        "PATCH /realms/{realm}",
        "GET /realms/{realm}/statements",
        "PUT /realms/{realm}/statements/{id}",
        "PUT /realms/{realm}/filters/{id}",
        "PUT /realms/{realm}/masks/{id}",
        "GET /realms/{realm}/entities",
        "GET /realms/{realm}/entity",
        "GET /realms/{realm}/children",
        "PUT /realms/{realm}/entity",
        "DELETE /realms/{realm}/entity",
        "PUT /realms/{realm}/principals",
        "DELETE /realms/{realm}/principals",
        "PUT /realms/{realm}/memberships",
        "DELETE /realms/{realm}/memberships",
        "POST /realms/{realm}/check",
        "POST /realms/{realm}/list",
        "POST /realms/{realm}/who",
        "POST /realms/{realm}/privileges",
        "POST /realms/{realm}/see",
        "POST /realms/{realm}/unmasked",
        "POST /realms/{realm}/access",
        "POST /realms/{realm}/explain",
        "GET /realms/{realm}/denials",
        "GET /realms/{realm}/plugins",
        "POST /realms/{realm}/load",
        "POST /realms/{realm}/matrix",
        "POST /realms/{realm}/compare",
        "GET /realms/{realm}/principal",
        "POST /realms/{realm}/preview",
        "POST /realms/{realm}/lint",
        "GET /realms/{realm}/usage",
        "GET /links",
        "GET /links/suggestions",
        "PUT /links",
        "DELETE /links",
        "POST /links/load",
        "POST /estate/who",
        "POST /estate/list",
        "POST /estate/explain",
        "POST /estate/access",
        "POST /estate/access/table",
    ),
    "what Unicode says of a new name's characters": (
        "PUT /directories/{directory}/users/{name}",
        "PUT /directories/{directory}/groups/{name}",
        "PUT /directories/{directory}/memberships",
        "DELETE /directories/{directory}/memberships",
        "POST /tokens",
    ),
    "where targets may be, and of what": ("PUT /realms/{realm}/targets/{target}",),
    "that a value is of the type of its column": ("PUT /realms/{realm}/lookups/{name}",),
    "which passwords are easily guessed": ("PUT /directories/{directory}/users/{name}/password",),
    "that a rule is one there is": ("GET /realms/{realm}/lint",),
    "which moments there are, and which are to come": (
        "GET /audit",
        "PUT /realms/{realm}/lint/dismissals/{fingerprint}",
    ),
    "that just one of three is named": ("GET /realms/{realm}/history",),
    "what a policy file holds": ("POST /realms/{realm}/plan", "POST /realms/{realm}/apply"),
}
"""Constraints beyond JSON schema, with the routes that refuse schema-valid requests for them."""

NAMES = f"""
[dictionaries.realms]
values = ["gravitino", "datahub", "cdap", "_server", "nowhere"]

[dictionaries.entities]
values = ["metalake:lk", "catalog:lk:sales", "{TABLE}", "{HIDDEN}", "namespace:sales"]

[dictionaries.principals]
values = ["user:ana", "user:zoe", "role:lk:readers", "group:staff", "members:lk", "all-users"]

[dictionaries.operations]
values = ["table.load", "table.list", "metalake.create", "table.create"]

[dictionaries.words]
values = ["{TABLE}", "user:ana", "role:lk:readers", "SELECT_TABLE", "table.load", "main", "use"]

[generation.dictionaries]
string = {{ dictionary = "words", probability = 0.3 }}

[parameters]
"path.realm" = {{ dictionary = "realms", probability = 0.7 }}
"query.entity" = {{ dictionary = "entities", probability = 0.7 }}
"query.principal" = {{ dictionary = "principals", probability = 0.7 }}
"query.member" = {{ dictionary = "principals", probability = 0.7 }}
"query.of" = {{ dictionary = "principals", probability = 0.7 }}
"body.entity" = {{ dictionary = "entities", probability = 0.7 }}
"body.on" = {{ dictionary = "entities", probability = 0.7 }}
"body.principal" = {{ dictionary = "principals", probability = 0.7 }}
"body.member" = {{ dictionary = "principals", probability = 0.7 }}
"body.of" = {{ dictionary = "principals", probability = 0.7 }}
"body.operation" = {{ dictionary = "operations", probability = 0.7 }}
# Where a page goes on is not to be made up.
"query.page.token" = ""
"""
"""Existing names: requests with only drawn names would seldom get beyond a 404."""


def settings() -> str:
    """The tool's settings: names, checks, and the expected refusals of schema-valid requests."""
    checks = "".join(f"{name}.enabled = true\n" for name in CHECKS)
    excused = "".join(
        f'\n[[operations]]\ninclude-name = "{method} {PREFIX}{path}"\n'
        "checks.positive_data_acceptance.enabled = false\n"
        for routes in UNDESCRIBED.values()
        for method, path in (route.split(" ") for route in routes)
    )
    return f"{NAMES}\n[checks]\nenabled = false\n{checks}{excused}"


def test_every_route_that_is_excused_is_there() -> None:
    there = {f"{one.method} {one.path}" for one in ENDPOINTS}
    assert {route for routes in UNDESCRIBED.values() for route in routes} <= there


@dataclass(frozen=True)
class Fuzzed:
    """The server, and the tokens of its callers."""

    served: Served
    tokens: Mapping[str, str | None]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    environment = {"LAKEWARDEN_ROOT_TOKEN": ROOT}
    with server(
        tmp_path_factory.mktemp("fuzzed"), "--auth", "token", environment=environment
    ) as served:
        yield Fuzzed(served, {ADMINISTRATOR: ROOT, PLAIN: _furnish(served), NOBODY: None})


def _furnish(served: Served) -> str:
    """Loads a small lake; returns a token of `ana`, who may load one of two tables."""

    def must(method: str, path: str, body: object = None) -> object:
        answer = served.ask(method, f"/api/v1{path}", body, token=ROOT)
        assert answer.status < 300, answer
        return answer.json() if answer.body else None

    for user in ("ana", "zoe"):
        must("PUT", f"/directories/main/users/{user}")
    for name in ("metalake:lk", "catalog:lk:sales", "schema:lk:sales.raw", TABLE, HIDDEN):
        must("PUT", "/realms/gravitino/entity", {"entity": name})
    for of in ("members:lk", "role:lk:readers"):
        must("PUT", "/realms/gravitino/memberships", {"member": "user:ana", "of": of})
    use = {"privileges": ["USE_CATALOG", "USE_SCHEMA"], "to": ["role:lk:readers"]}
    must("PUT", "/realms/gravitino/statements/use", {**use, "on": "catalog:lk:sales"})
    read = {"privileges": ["SELECT_TABLE"], "to": ["role:lk:readers"], "on": TABLE}
    must("PUT", "/realms/gravitino/statements/read", read)
    issued = must("POST", "/tokens", {"user": "ana", "directory": "main"})
    assert isinstance(issued, dict)
    return str(issued["token"])


def _revision(fuzzed: Fuzzed) -> int:
    return fuzzed.served.ask("GET", "/api/v1/whoami", token=ROOT).revision


def _run(fuzzed: Fuzzed, caller: str, folder: Path, *arguments: str) -> None:
    """One run of the tool as the caller; fails with its report."""
    (folder / "names.toml").write_text(settings())
    token = fuzzed.tokens[caller]
    credential = () if token is None else ("--header", f"Authorization: Bearer {token}")
    command: Sequence[str] = (
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", "names.toml", "run"),
        f"{fuzzed.served.address}/openapi.json",
        *credential,
        *("--generation-database", "none", "--no-color"),
        *("--warnings", "off", "--continue-on-failure"),
        *arguments,
    )
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    unforeseen = [line for line in fuzzed.served.lines() if line.get("level") == "error"]
    assert not unforeseen, unforeseen[:3]


@pytest.mark.by_day(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("caller", "phases", "examples"),
    [(ADMINISTRATOR, "fuzzing,stateful", 1), (PLAIN, "fuzzing", 2), (NOBODY, "fuzzing", 1)],
    ids=[ADMINISTRATOR, PLAIN, NOBODY],
)
def test_the_server_does_what_its_description_says(
    fuzzed: Fuzzed, caller: str, phases: str, examples: int, tmp_path: Path
) -> None:
    drawn = ("--seed", "1", "--max-examples", str(examples), "--phases", phases)
    before = _revision(fuzzed)
    _run(fuzzed, caller, tmp_path, *drawn)
    # The administrator's requests reach the store, those of strangers do not.
    if caller == ADMINISTRATOR:
        assert _revision(fuzzed) > before
    if caller == NOBODY:
        assert _revision(fuzzed) == before


@pytest.mark.nightly
@pytest.mark.parametrize("caller", [ADMINISTRATOR, PLAIN, NOBODY])
def test_the_server_keeps_to_its_description_in_a_long_run(
    fuzzed: Fuzzed, caller: str, tmp_path: Path
) -> None:
    _run(fuzzed, caller, tmp_path, "--max-examples", "200", "--max-time", "300")
