"""Rules and dashboards pass Prometheus's own checker, and each alert fires on its condition."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "docs" / "monitoring"
RULES = MONITORING / "rules.yml"
TESTS = sorted((Path(__file__).parent / "alerts").glob("*.yml"))


@pytest.fixture(scope="module")
def promtool() -> str:
    found = subprocess.run(
        [ROOT / "scripts" / "promtool.sh", "--installed"],
        check=False,
        capture_output=True,
        text=True,
    )
    if found.returncode:
        pytest.skip("no promtool here; see scripts/promtool.sh")
    return found.stdout.strip()


def _says(promtool: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([promtool, *arguments], check=False, capture_output=True, text=True)


def _tests() -> list[dict[str, Any]]:
    return [
        case
        for path in TESTS
        for group in yaml.safe_load(path.read_text("utf-8"))["tests"]
        for case in group["alert_rule_test"]
    ]


def test_prometheus_takes_the_rules_and_has_nothing_to_say_of_them(promtool: str) -> None:
    checked = _says(promtool, "check", "rules", "--lint-fatal", RULES)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_is_quiet() -> None:
    alerts = {
        rule["alert"]
        for group in yaml.safe_load(RULES.read_text("utf-8"))["groups"]
        for rule in group["rules"]
    }
    assert {case["alertname"] for case in _tests() if case["exp_alerts"]} == alerts
    assert {case["alertname"] for case in _tests() if not case["exp_alerts"]} == alerts


def test_alerts_fire_in_these_cases_and_say_what_is_wrong(promtool: str) -> None:
    tried = _says(promtool, "test", "rules", *TESTS)
    assert tried.returncode == 0, tried.stdout + tried.stderr


def test_a_case_notices_an_alert_that_does_not_fire(promtool: str, tmp_path: Path) -> None:
    rules = RULES.read_text("utf-8").replace("absent(lakewarden_revision)", "vector(0) > 1")
    (tmp_path / "rules.yml").write_text(rules)
    cases = TESTS[-1].read_text("utf-8").replace("../../../docs/monitoring/rules.yml", "rules.yml")
    (tmp_path / "cases.yml").write_text(cases)
    tried = _says(promtool, "test", "rules", tmp_path / "cases.yml")
    assert tried.returncode == 1
    assert "alertname: LakewardenDown" in tried.stderr + tried.stdout


def test_what_dashboards_ask_is_understood(promtool: str, tmp_path: Path) -> None:
    asked = [
        re.sub(r"\$__\w+", "5m", target["expr"])
        for path in sorted(MONITORING.glob("*.json"))
        for panel in json.loads(path.read_text("utf-8"))["panels"]
        for target in panel["targets"]
    ]
    assert len(asked) > 20
    rules = [{"record": f"panel_{number}", "expr": each} for number, each in enumerate(asked)]
    written = tmp_path / "panels.yml"
    written.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    checked = _says(promtool, "check", "rules", written)
    assert checked.returncode == 0, checked.stdout + checked.stderr
