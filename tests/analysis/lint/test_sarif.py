"""Findings as SARIF: the parts that readers of the format rely on."""

from __future__ import annotations

from typing import Any

from lakewarden.analysis.lint.catalogue import RULES, rule
from lakewarden.analysis.lint.finding import Finding
from lakewarden.analysis.lint.run import lint
from lakewarden.analysis.lint.sarif import FINGERPRINT, SCHEMA, sarif
from tests.analysis.lint.worlds import context, example

LEVELS = {"none", "note", "warning", "error"}


def findings(id: str) -> tuple[Finding, ...]:
    return lint("realm", context(example(id, "violating")), [rule(id)])


def log(id: str, **files: str) -> dict[str, Any]:
    written = sarif(findings(id), [rule(id)], "1.2.3", files)
    assert written["version"] == "2.1.0"
    assert written["$schema"] == SCHEMA
    runs = written["runs"]
    assert isinstance(runs, list)
    (run,) = runs
    assert isinstance(run, dict)
    return run


def test_every_rule_has_what_the_format_asks_for() -> None:
    driver = sarif([], list(RULES.values()), "1.2.3")["runs"][0]["tool"]["driver"]  # type: ignore[index]
    assert (driver["name"], driver["semanticVersion"]) == ("lakewarden", "1.2.3")
    assert len({one["id"] for one in driver["rules"]}) == len(RULES)
    for one in driver["rules"]:
        assert one["defaultConfiguration"]["level"] in LEVELS
        for part in ("shortDescription", "fullDescription", "help"):
            assert one[part]["text"].endswith(".")


def test_a_result_says_what_is_wrong_where_and_what_mends_it() -> None:
    run = log("may-grant", realm="shop/manifest.json")
    (result,) = run["results"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("may-grant", 0, "warning")
    assert result["message"]["text"] == (
        "statement:delegate allows MANAGE_GRANTS: `ana` may grant anything to any principal,"
        " including themselves. grant it to owners and administrators only."
    )
    (location,) = result["locations"]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "shop/manifest.json"}}
    assert location["logicalLocations"] == [
        {
            "name": "delegate",
            "fullyQualifiedName": "realm/statement:delegate",
            "kind": "resource",
        }
    ]


def test_a_path_is_written_as_an_address() -> None:
    (result,) = log("may-grant", realm="our shop/größe.json")["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "our%20shop/gr%C3%B6%C3%9Fe.json"


def test_without_a_file_there_is_no_physical_location() -> None:
    (result,) = log("may-grant")["results"]
    assert "physicalLocation" not in result["locations"][0]


def test_a_finding_is_known_again_by_its_rule_and_place() -> None:
    (first,), (again,) = log("may-grant")["results"], log("may-grant")["results"]
    assert first["partialFingerprints"] == again["partialFingerprints"]
    (other,) = log("broad-grant")["results"]
    assert other["partialFingerprints"][FINGERPRINT] != first["partialFingerprints"][FINGERPRINT]
    assert len(first["partialFingerprints"][FINGERPRINT]) == 64
