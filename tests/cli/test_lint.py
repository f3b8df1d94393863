"""`lakewarden lint`: findings as text, JSON and SARIF, of directories, databases and servers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import lakewarden.sample
from lakewarden.analysis.lint.catalogue import RULES
from lakewarden.cli.outcome import NO, YES
from lakewarden.client.server import Server
from lakewarden.kernel.errors import Unavailable
from tests.app.threaded import threaded
from tests.cli.policies import furnish, write
from tests.cli.realms import Cli, write_realm
from tests.cli.stores import Admin

README: Final = Path(lakewarden.sample.__file__).with_name("README.md")
POLICY: Final = "statement:urn:li:dataHubPolicy:"

PLANTED: Final[dict[tuple[str, str], set[tuple[str, str]]]] = {
    ("gravitino", "archivist"): {("unheld-role", "role:quillmere:archivist")},
    ("gravitino", "no_payroll"): {
        ("idle-deny", "statement:quillmere:no_payroll/table:lake.people.salaries/deny")
    },
    ("gravitino", "marts_only"): {
        ("denied-owner", "statement:quillmere:marts_only/schema:lake.sales/deny")
    },
    ("gravitino", "campaign_writer"): {
        (rule, "statement:quillmere:campaign_writer/table:lake.customers.contacts/deny")
        for rule in ("bypassed-deny", "idle-deny")
    },
    ("gravitino", "budget_viewer"): {
        (
            "unreachable-privilege",
            "statement:quillmere:budget_viewer/table:lake.finance.budgets/allow",
        )
    },
    ("gravitino", "intern"): {("empty-group", "role:quillmere:intern")},
    ("gravitino", "reporting"): {
        ("broad-grant", "statement:quillmere:reporting/metalake:quillmere/allow")
    },
    ("gravitino", "delegate"): {
        ("may-grant", "statement:quillmere:delegate/metalake:quillmere/allow")
    },
    ("gravitino", "lake.scratch"): {("unowned-container", "schema:quillmere:lake.scratch")},
    ("datahub", "not-people"): {("not-equals-only", f"{POLICY}not-people")},
    ("datahub", "custodians-edit"): {("empty-statement", f"{POLICY}custodians-edit")},
    ("datahub", "milo-1"): {
        ("urn-policies", f"{POLICY}milo-1"),
        *(("per-user-policy", f"{POLICY}milo-{number}") for number in (1, 2, 3)),
    },
    ("datahub", "interns-read"): {("empty-group", "group:urn:li:corpGroup:interns")},
    ("datahub", "read-logistics"): {("dangling-entity", f"{POLICY}read-logistics")},
    ("datahub", "read-finance-again"): {
        (rule, f"{POLICY}read-finance-again")
        for rule in ("shadowed-statement", "overlapping-domains")
    },
    ("datahub", "finance-terms"): {
        ("editable-criterion", f"{POLICY}{name}")
        for name in ("finance-terms", "read-finance", "read-finance-again")
    },
    ("datahub", "edda-policies"): {
        (rule, f"{POLICY}edda-policies") for rule in ("may-grant", "per-user-policy")
    },
    ("datahub", "stewards-describe"): {("view-by-type", f"{POLICY}stewards-describe")},
    ("datahub", "old-web"): {
        ("inactive-leftover", f"{POLICY}{name}") for name in ("old-web", "half-written")
    },
    ("datahub", "science"): {("role-overrides-views", "role:urn:li:dataHubRole:Reader")},
    ("datahub", "scratch.…"): {("homeless-entity", "type:dataset")},
    ("datahub", "scratch.salaries_copy"): {
        ("set-aside", "row:datahub.json: line 2023: [2021].aspect.json")
    },
    ("cdap", "auditor"): {
        ("broad-grant", f"statement:role:auditor/{name}:*.*") for name in ("dataset", "securekey")
    },
    ("cdap", "namespace_admin"): {
        ("not-inherited", "statement:role:namespace_admin/namespace:supply")
    },
    ("cdap", "night_watch"): {
        ("broad-grant", "statement:role:night_watch/program:*.*.*"),
        ("unheld-role", "role:night_watch"),
    },
    ("cdap", "intern"): {("empty-group", "role:intern")},
    ("cdap", "milo"): {("dangling-entity", "statement:user:milo/dataset:sales.ordres")},
    ("cdap", "hugo"): {("dangling-entity", "statement:user:hugo/dataset:sales.orders_2019")},
    ("cdap", "zeno"): {("shadowed-statement", "statement:user:zeno/dataset:science.*")},
}
"""By realm and name in the sample's README: the findings for each planted mistake."""


def planted() -> Iterator[tuple[str, str]]:
    """The rows of the README's table: the realm, and the first name in each row."""
    rows = README.read_text("utf-8").partition("## What is wrong here")[2].splitlines()
    for row in rows:
        match = re.match(r"\| (gravitino|datahub|cdap) \| [^`|]*`([^`]+)`", row)
        if match:
            yield match[1], match[2]


def found_in(answer: dict[str, Any], *severities: str) -> set[tuple[str, str, str]]:
    return {
        (one["realm"], one["rule"], f"{one['place']['kind']}:{one['place']['name']}")
        for one in answer["findings"]
        if one["severity"] in severities
    }


def test_the_readme_of_the_sample_tells_of_the_mistakes_that_are_expected() -> None:
    named = {
        {"Reader": "science"}.get(name, name) if realm == "datahub" else name
        for realm, name in planted()
    }
    assert named == {name for _, name in PLANTED}
    assert len(list(planted())) == len(PLANTED)


def test_every_mistake_of_the_sample_is_found_and_nothing_else(cli: Cli, estate: Path) -> None:
    folders = [word for name in ("gravitino", "datahub", "cdap") for word in ("--from", name)]
    words = [str(estate / w) if w != "--from" else w for w in folders]
    answer = cli("lint", *words, "--format", "json")
    assert answer.code == NO
    expected = {(realm, *one) for (realm, _), all in PLANTED.items() for one in all}
    assert found_in(answer.json, "warning", "error") == expected


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small realm with a user who may grant, and with a statement that names a user directly."""
    return write_realm(
        tmp_path / "shop",
        "cdap",
        entities=["namespace:sales", "dataset:sales.orders"],
        principals=["ana", "ben", "role:reader"],
        members={"role:reader": ["ana"]},
        statements=[
            {"id": "all", "privileges": ["READ"], "to": "role:reader", "matching": "dataset:*.*"},
            {"id": "own", "privileges": ["WRITE"], "to": "user:ben", "on": "dataset:sales.orders"},
        ],
    )


def test_findings_are_told_with_what_mends_them(cli: Cli, folder: Path) -> None:
    answer = cli("lint", "--from", str(folder))
    assert answer.code == NO
    assert answer.lines == [
        "warning: broad-grant: statement:all",
        "    allows READ on every dataset of every container",
        "    fix: name the containers: `dataset:NAME.*`",
        "note: per-user-policy: statement:own",
        "    applies to individual users: `ben`",
        "    fix: create a group for their task, and grant to that group",
        "0 errors, 1 warning, 1 note",
    ]


def test_notes_alone_are_nothing_to_report(cli: Cli, folder: Path) -> None:
    answer = cli("lint", "--from", str(folder), "--ignore", "broad-grant")
    assert (answer.code, answer.lines[-1]) == (YES, "0 errors, 0 warnings, 1 note")


def test_rules_are_asked_and_left_out_by_name(cli: Cli, folder: Path) -> None:
    only = cli("lint", "--from", str(folder), "--rule", "broad-grant", "--rule", "may-grant")
    assert only.lines[-1] == "0 errors, 1 warning, 0 notes"
    none = cli("lint", "--from", str(folder), "--rule", "broad-grant", "--ignore", "broad-grant")
    assert (none.code, none.lines) == (YES, ["0 errors, 0 warnings, 0 notes"])


def test_what_is_less_bad_is_left_out(cli: Cli, folder: Path) -> None:
    warnings = cli("lint", "--from", str(folder), "--severity", "warning")
    assert (warnings.code, warnings.lines[-1]) == (NO, "0 errors, 1 warning, 0 notes")
    errors = cli("lint", "--from", str(folder), "--severity", "error")
    assert (errors.code, errors.lines) == (YES, ["0 errors, 0 warnings, 0 notes"])


def test_several_realms_are_told_apart(cli: Cli, folder: Path) -> None:
    answer = cli("lint", "--from", str(folder), "--from", str(folder), "--severity", "warning")
    heads = [line for line in answer.lines if line.startswith("warning")]
    assert heads == [
        "warning: broad-grant: cdap: statement:all",
        f"warning: broad-grant: {folder}: statement:all",
    ]


def test_json_has_every_finding_with_its_parts(cli: Cli, folder: Path) -> None:
    answer = cli("lint", "--from", str(folder), "--severity", "warning", "--format", "json").json
    assert answer == {
        "realms": ["cdap"],
        "findings": [
            {
                "realm": "cdap",
                "rule": "broad-grant",
                "severity": "warning",
                "place": {"kind": "statement", "name": "all"},
                "says": "allows READ on every dataset of every container",
                "fix": "name the containers: `dataset:NAME.*`",
            }
        ],
    }


def test_sarif_names_the_directory_and_the_rules(cli: Cli, folder: Path) -> None:
    log: Any = cli("lint", "--from", str(folder), "--format", "sarif").json
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert [one["id"] for one in driver["rules"]] == list(RULES)
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert uri == f"{folder.as_posix()}/manifest.json"
    assert [one["level"] for one in run["results"]] == ["warning", "note"]


def test_what_was_set_aside_is_read(cli: Cli, estate: Path) -> None:
    answer = cli("lint", "--from", str(estate / "datahub"), "--rule", "set-aside")
    assert "bad name" in answer.out
    assert answer.lines[-1] == "0 errors, 1 warning, 0 notes"


@pytest.mark.parametrize("realm", ["gravitino", "datahub", "cdap"])
def test_in_a_fresh_realm_of_a_database_nothing_is_wrong(admin: Admin, realm: str) -> None:
    answer = admin("lint", "--realm", realm)
    assert answer.code == YES
    assert answer.lines[-1].startswith("0 errors, 0 warnings, ")


def test_a_realm_of_a_database_is_looked_at(admin: Admin, tmp_path: Path) -> None:
    furnish(admin)
    policy = """
        [[statement]]
        id = "reports"
        privileges = ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"]
        to = ["role:lk:reports"]
        on = "metalake:lk"
    """
    file = write(tmp_path, f'roles = ["lk:reports"]\n{policy}')
    plan = tmp_path / "plan.json"
    admin("plan", file, "--realm", "gravitino", "--out", str(plan))
    admin("apply", str(plan))
    answer = admin("lint", "--realm", "gravitino")
    assert answer.code == NO
    assert "warning: broad-grant: statement:reports" in answer.lines
    assert "warning: unheld-role: role:lk:reports" in answer.lines
    revision = admin.revision()
    new = admin("lint", "--realm", "gravitino", "--since", str(revision - 1))
    assert "warning: broad-grant: statement:reports" in new.lines
    none = admin("lint", "--realm", "gravitino", "--since", str(revision))
    assert none.lines == ["0 errors, 0 warnings, 0 notes"]


def test_a_realm_that_a_database_does_not_have_is_named(admin: Admin) -> None:
    unknown = admin.ask("lint", "--realm", "nowhere")
    assert (unknown.code, unknown.out) == (2, "")
    assert "nowhere" in unknown.err


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose realm `datahub` allows everybody to edit documentation."""
    with threaded(tmp_path_factory.mktemp("served"), auth="simple") as running:
        statement = {"privileges": ["EDIT_ENTITY_DOCS"], "to": ["all-users"]}
        admin = Server(running.address, user="admin")
        admin.ask("PUT", "/realms/datahub/statements/docs", statement)
        yield running.address


def test_a_realm_of_a_server_is_looked_at_there(cli: Cli, served: str) -> None:
    at = ("--server", served, "--realm", "datahub")
    answer = cli("lint", *at, "--user", "admin", "--severity", "warning")
    assert answer.code == NO
    assert [line for line in answer.lines if line.startswith("warning")] == [
        "warning: everyone-may-write: statement:docs",
        "warning: no-resources: statement:docs",
    ]
    trail = Server(served, user="admin").ask("GET", "/audit", None, {"last": "1"})
    newest = trail["rows"][-1]["revision"]
    assert cli("lint", *at, "--user", "admin", "--since", str(newest)).code == YES
    refused = cli("lint", *at, "--user", "eve")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("lakewarden: ")


GIVEN: Final[dict[str, object]] = {
    "rule": "may-grant",
    "severity": "warning",
    "kind": "statement",
    "name": "delegate",
    "says": "allows MANAGE_GRANTS",
    "fix": "grant it to owners",
}


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """A server's findings, and an address that stands for it."""
    found: list[dict[str, object]] = []

    def ask(self: Server, method: str, path: str, *_: object) -> dict[str, object]:
        assert (method, path) == ("GET", "/realms/lake/lint")
        return {"findings": found, "page": {"next_token": ""}}

    monkeypatch.setattr(Server, "ask", ask)
    return found


AT = ("--server", "http://127.0.0.1:1", "--realm", "lake")


def test_rules_of_a_later_server_are_left_out(cli: Cli, answering: list[dict[str, object]]) -> None:
    answering.append({**GIVEN, "rule": "of-another-year"})
    assert cli("lint", *AT).lines == ["0 errors, 0 warnings, 0 notes"]


def test_an_answer_that_is_not_understood_is_no_answer(
    cli: Cli, answering: list[dict[str, object]]
) -> None:
    answering.append({"rule": "may-grant"})
    answer = cli("lint", *AT)
    assert (answer.code, answer.out) == (3, "")
    assert "another release" in answer.err


def test_a_server_that_is_not_there_could_not_be_asked(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*_: object) -> None:
        raise Unavailable("no answer")

    monkeypatch.setattr(Server, "ask", ask)
    assert cli("lint", *AT).code == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give --from DIR, or --realm NAME with --server URL or --database URL"),
        (("--from", "x", "--realm", "y"), "give either --from DIR, or --realm NAME"),
        (("--from", "x"), "no ingested directory"),
        (("--from", "x", "--since", "3"), "a directory has no revisions"),
        (("--realm", "y"), "give --database URL, or set"),
        (("--rule", "may-grants", "--from", "x"), "did you mean `may-grant`?"),
        (("--ignore", "xyzzy", "--from", "x"), "`lakewarden lint --list-rules` lists them"),
        (("--explain", "xyzzy"), "unknown rule `xyzzy`"),
        (("--list-rules", "--format", "sarif"), "SARIF is for findings"),
        (("--severity", "bad"), "choose from"),
    ],
)
def test_bad_usage_is_exit_code_2(cli: Cli, words: tuple[str, ...], message: str) -> None:
    answer = cli("lint", *words)
    assert (answer.code, answer.out) == (2, "")
    assert message.casefold() in answer.err.casefold()


def test_the_rules_are_listed(cli: Cli) -> None:
    answer = cli("lint", "--list-rules")
    assert answer.code == YES
    assert [line.split()[0] for line in answer.lines[1:]] == list(RULES)
    table = json.loads(cli("lint", "--list-rules", "--format", "json").out)
    assert [one["rule"] for one in table] == list(RULES)
    assert all(one["why"] and one["mend"] and one["source"] for one in table)
    errors = cli("lint", "--list-rules", "--severity", "error", "--format", "json")
    assert [one["rule"] for one in json.loads(errors.out)] == [
        one["rule"] for one in table if one["severity"] == "error"
    ]


@pytest.mark.parametrize("id", RULES)
def test_every_rule_is_explained(cli: Cli, id: str) -> None:
    answer = cli("lint", "--explain", id)
    assert answer.code == YES
    assert answer.lines[0].startswith(f"{id} (")
    assert answer.lines[-1].startswith("Source: ")
    told = " ".join(answer.out.split())
    assert RULES[id].why in told
    assert RULES[id].mend in told
    assert RULES[id].misses in told


def test_a_rule_is_explained_as_json(cli: Cli) -> None:
    answer = cli("lint", "--explain", "may-grant", "--format", "json").json
    assert (answer["rule"], answer["severity"]) == ("may-grant", "warning")
