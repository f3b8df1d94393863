"""This release opens the previous release's files, and their meaning is unchanged.

README.md says how they were made. `answers.json` holds the answers of that release.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from lakewarden.app import build
from lakewarden.cli import main
from lakewarden.config.settings import load
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.index_catch_up import Compiled
from tests.app.asgi import AppClient, close

HERE = Path(__file__).parent
RECORDED: Mapping[str, Any] = json.loads((HERE / "answers.json").read_text("utf-8"))
PLANS = ("plan.json", "again.json")
REALMS = sorted(RECORDED["exports"])


@dataclass(frozen=True)
class Outcome:
    """The result of a command."""

    code: int
    out: str
    err: str


Verb = Callable[..., Outcome]


def known(before: Any, now: Any) -> Any:
    """The part of an answer that the previous release could give: new members are removed."""
    if isinstance(before, dict) and isinstance(now, dict):
        return {name: known(before[name], now[name]) for name in now if name in before}
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [known(*pair) for pair in zip(before, now, strict=True)]
    return now


def bearer(token: str) -> list[tuple[str, str]]:
    """The headers with a recorded token; none without a token."""
    return [("Authorization", f"Bearer {RECORDED['tokens'][token]}")] if token else []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """All files, unpacked: `store.db` with its key, `directory` and `index`."""
    (tmp_path / "store.db").write_bytes(gzip.decompress((HERE / "store.db.gz").read_bytes()))
    for name in ("plan.json", "next.toml"):
        shutil.copy(HERE / name, tmp_path)
    shutil.copy(HERE / "key", tmp_path / "store.db-key")
    (tmp_path / "store.db-key").chmod(0o600)
    for name in ("directory", "index"):
        with tarfile.open(HERE / f"{name}.tar.gz") as packed:
            packed.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def database(folder: Path) -> str:
    return f"sqlite:///{folder}/store.db"


@pytest.fixture
def verb(capsys: pytest.CaptureFixture[str]) -> Verb:
    """The command line, run in this process."""

    def call(*words: str) -> Outcome:
        code = main(words)
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    return call


@pytest.fixture(params=[False, True], ids=["rows", "index"])
def served(
    request: pytest.FixtureRequest, folder: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AppClient]:
    """A server of this release over the store, with a clock shortly after its creation.

    The index was made with an earlier edition of the model, so it is refused.
    """
    defaults = DecisionService.__init__.__kwdefaults__ or {}
    monkeypatch.setitem(defaults, "clock", lambda: RECORDED["made"] + 60)
    given = {"database": database, "auth": "token"}
    if request.param:
        given["indexes"] = str(folder / "index")
    from_index: list[Compiled] = []
    monkeypatch.setattr(build, "_started", from_index.append)
    application = build.Application(load(None, given, {}))
    with capture_logs() as logs:
        application.open()
    assert from_index == []
    refused = [one for one in logs if one["event"] == "not started from an index"]
    assert ["another version of the model" in one["why"] for one in refused] == (
        [True] if request.param else []
    )
    client = AppClient(application, asyncio.new_event_loop())
    yield client
    close(client)


def test_questions_to_a_store_are_answered_as_before(verb: Verb, database: str) -> None:
    for question in RECORDED["questions"]:
        outcome = verb(*question["words"], "--format", "json", "--database", database)
        answer = known(question["answer"], json.loads(outcome.out))
        assert {**question, "code": outcome.code, "answer": answer} == question


def test_the_audit_trail_is_whole_and_reads_as_before(
    verb: Verb, database: str, folder: Path
) -> None:
    anchor = {name: RECORDED["trail"][-1][name] for name in ("seq", "digest", "seal")}
    anchors = folder / "anchors.jsonl"
    anchors.write_text(json.dumps({"time": RECORDED["made"], **anchor}) + "\n", "utf-8")
    verified = verb("audit", "verify", "--against", str(anchors), "--database", database)
    rows = len(RECORDED["trail"])
    assert (verified.code, verified.out.split(";")[0].strip()) == (0, f"valid: {rows} rows")
    assert "key" not in verified.err
    exported = verb("audit", "export", "--database", database)
    assert [json.loads(line) for line in exported.out.splitlines()] == RECORDED["trail"]


@pytest.mark.parametrize("realm", REALMS)
def test_an_export_reads_as_before_and_plans_nothing(
    verb: Verb, database: str, folder: Path, realm: str
) -> None:
    options = ("--realm", realm, "--database", database)
    assert verb("export", *options).out == RECORDED["exports"][realm]
    policy = folder / "before.toml"
    policy.write_text(RECORDED["exports"][realm], "utf-8")
    planned = verb("plan", str(policy), *options)
    assert (planned.code, planned.err) == (0, "")


def test_secrets_are_opened_with_their_key(verb: Verb, database: str) -> None:
    sealed_anew = verb("secrets", "rotate", "--format", "json", "--database", database)
    assert (sealed_anew.code, json.loads(sealed_anew.out)["secrets"]) == (0, 1)


def test_a_plan_is_applied_and_does_what_it_showed(
    verb: Verb, database: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    options = ("--realm", "gravitino", "--database", database)
    assert verb("plan", "next.toml", "--out", "again.json", *options).code == 1
    before, now = (json.loads((folder / name).read_text("utf-8")) for name in PLANS)
    assert known({**before, "files": []}, {**now, "files": []}) == {**before, "files": []}
    question = ("check", "eve", "table.load", "table:lk:c.s.orders", "--realm", "gravitino")
    assert verb(*question, "--database", database).code == 1
    applied = verb("apply", str(folder / "plan.json"), "--database", database)
    assert (applied.code, applied.err) == (0, "")
    assert verb(*question, "--database", database).code == 0


def test_a_plan_is_refused_when_its_realm_has_changed(
    verb: Verb, database: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    policy = folder / "other.toml"
    policy.write_text('roles = ["lk:auditors"]\n', "utf-8")
    plan = folder / "other.json"
    options = ("--realm", "gravitino", "--name", "others", "--database", database)
    assert verb("plan", str(policy), "--out", str(plan), *options).code == 1
    assert verb("apply", str(plan), "--database", database).code == 0
    refused = verb("apply", str(folder / "plan.json"), "--database", database)
    assert (refused.code, refused.out) == (2, "")
    assert "changed" in refused.err


def test_tokens_authenticate_and_requests_are_answered_as_before(served: AppClient) -> None:
    for one in RECORDED["requests"]:
        body = b"" if one["body"] is None else json.dumps(one["body"]).encode()
        method = "POST" if body else "GET"
        answer = served.ask(method, one["path"], body, bearer(one["token"]), user=None)
        json_of = known(one["answer"], json.loads(answer.body or b"null"))
        assert {**one, "status": answer.status, "answer": json_of} == one


def test_a_token_that_nobody_made_is_refused(served: AppClient) -> None:
    ((name, value),) = bearer("admin")
    headers = [(name, f"{value[:-1]}_")]
    assert served.ask("GET", "/api/v1/realms", headers=headers, user=None).status == 401


def test_questions_to_a_directory_are_answered_as_before(verb: Verb, folder: Path) -> None:
    for question in RECORDED["questions_to_directory"]:
        words = (*question["words"], "--from", str(folder / "directory"), "--format", "json")
        outcome = verb(*words)
        answer = known(question["answer"], json.loads(outcome.out))
        assert {**question, "code": outcome.code, "answer": answer} == question
