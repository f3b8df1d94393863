"""The Helm chart, and the manifest of the pipeline.

By day, tests check its values and their schema; nightly, they compare a real Helm's output with the
schemas of Kubernetes.
"""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
import yaml

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "deploy/helm"
PIPELINE: Final = ROOT / "deploy/kubernetes/pipeline.yaml"
DEFAULTS: Final[dict[str, Any]] = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
SCHEMA: Final = json.loads((CHART / "values.schema.json").read_text("utf-8"))
GIVEN: Final = ("--set", "secret.name=lakewarden")
KUBERNETES: Final = ("--kube-version", "1.33.0")
"""A Helm built by Go reports version 1.20."""

CERTAIN: Final = {"LAKEWARDEN_DATABASE", "LAKEWARDEN_SECRET_KEYS"}

Document = dict[str, Any]
Command = list[str | Path]


def values(**changes: Any) -> Document:
    """The defaults with a secret, and changes by path: `secret__name`."""
    made = copy.deepcopy(DEFAULTS)
    for path, value in {"secret__name": "lakewarden", **changes}.items():
        *above, last = path.split("__")
        inner = made
        for key in above:
            inner = inner[key]
        inner[last] = value
    return made


def paths(mapping: Document, above: str = "") -> set[str]:
    """The values that the chart declares: leaves, and mappings with free keys."""
    found: set[str] = set()
    for key, value in mapping.items():
        is_free = key in {"resources", "settings", "nodeSelector"}
        inner = isinstance(value, dict) and not is_free
        found |= paths(value, f"{above}{key}.") if inner else {above + key}
    return found


def test_the_schema_takes_the_defaults_with_a_secret_and_nothing_else_is_missing() -> None:
    assert jsonschema_rs.is_valid(SCHEMA, values())
    assert not jsonschema_rs.is_valid(SCHEMA, DEFAULTS)


@pytest.mark.parametrize(
    "changes",
    [
        {"replica": 2},
        {"replicas": "2"},
        {"secret__keys": ["LAKEWARDEN_DATABASE"]},
        {"secret__keys": ["LAKEWARDEN_SECRET_KEYS"]},
        {"secret__name": "Not a name"},
        {"settings": {"LAKEWARDEN_DATABASE": "postgresql://user:password@host/database"}},
        {"settings": {"LAKEWARDEN_ROOT_TOKEN": "x" * 64}},
        {"settings": {"LAKEWARDEN_AUTH": "simple"}},
        {"settings": {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=x"}},
        {"settings": {"PATH": "/"}},
        {"settings": {"LAKEWARDEN_LIMITS__PAGE_ROWS": 10}},
        {"image__pullPolicy": "Sometimes"},
        {"service__port": 0},
        {"networkPolicy__clients": [{}]},
        {"networkPolicy__clients": [{"podselector": {}}]},
        {"autoscaling__cpuPercent": 0},
        {"updateStrategy": "Sometimes"},
    ],
    ids=str,
)
def test_the_schema_refuses_what_would_be_wrong_later(changes: Document) -> None:
    assert not jsonschema_rs.is_valid(SCHEMA, values(**changes))


def test_every_value_has_a_comment_and_is_used_and_every_used_one_is_there() -> None:
    templates = "".join(path.read_text("utf-8") for path in (CHART / "templates").iterdir())
    used = set(re.findall(r"\.Values\.([A-Za-z.]+)", templates))
    assert used == paths(DEFAULTS)
    above = ""
    for line in (CHART / "values.yaml").read_text("utf-8").splitlines():
        if re.match(r" *[a-zA-Z]+:.+", line):
            assert above.startswith(("#", "resources:", "  requests")), line
        above = line.strip() if line.strip().startswith("#") else line


def test_the_chart_has_the_version_of_the_project() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    (version,) = re.findall(
        r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE
    )
    assert chart["version"] == chart["appVersion"] == version
    assert f"lakewarden-spark:{version}" in PIPELINE.read_text("utf-8")


def pods(documents: list[Document]) -> list[Document]:
    """The specifications of pods."""
    found = []
    for one in documents:
        spec = one["spec"].get("jobTemplate", one)["spec"]
        found += [spec["template"]["spec"]] if "template" in spec else []
    return found


def assert_locked_in(pod: Document) -> None:
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    (container,) = pod["containers"]
    limited = container["securityContext"]
    assert limited["readOnlyRootFilesystem"]
    assert limited["allowPrivilegeEscalation"] is False
    assert limited["capabilities"] == {"drop": ["ALL"]}
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {"/tmp", "/var/lib/lakewarden"} <= mounted


def test_the_pod_of_the_pipeline_is_locked_in_and_runs_a_verb_that_there_is() -> None:
    documents = [*yaml.safe_load_all(PIPELINE.read_text("utf-8"))]
    (pod,) = pods(documents)
    assert_locked_in(pod)
    verb = pod["containers"][0]["args"][:2]
    command = [sys.executable, "-m", "lakewarden.cli", *verb, "--help"]
    assert "TOML" in subprocess.run(command, check=True, capture_output=True, text=True).stdout


@cache
def helm() -> str:
    done = subprocess.run(
        [ROOT / "scripts/helm.sh"], capture_output=True, text=True, check=False, timeout=900
    )
    if done.returncode:
        pytest.skip(f"helm could not be installed: {done.stderr[-200:]}")
    return done.stdout.strip()


@cache
def validator() -> Path:
    environment = {**os.environ, "PYTHON": sys.executable}
    script = ROOT / "scripts/client-environment.sh"
    command: Command = [script, "kubernetes-validate", "1.37.0", "kubernetes-validate"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=600
    )
    if done.returncode:
        pytest.skip(f"kubernetes-validate could not be installed: {done.stderr[-200:]}")
    return Path(done.stdout.strip()).parent / "kubernetes-validate"


def assert_valid(path: Path) -> None:
    command: Command = [validator(), "--strict", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def rendered(*options: str) -> list[Document]:
    command: Command = [helm(), "template", "here", CHART, *KUBERNETES, *GIVEN, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def of_kind(documents: list[Document], kind: str) -> Document:
    (found,) = (one for one in documents if one["kind"] == kind)
    return found


ALL_ON: Final = """
settings: {LAKEWARDEN_PUBLIC_URL: "https://warden.example", LAKEWARDEN_OPEN_METRICS: "true"}
image: {pullSecrets: [registry]}
migration: {onUpgrade: true}
autoscaling: {enabled: true, requestsPerSecond: 500}
networkPolicy:
  clients: [{namespaceSelector: {matchLabels: {team: data}}}]
  database: [{ipBlock: {cidr: 10.0.0.5/32}}]
  egress: [{ports: [{protocol: TCP, port: 443}]}]
nodeSelector: {disk: fast}
tolerations: [{key: reserved, operator: Exists}]
"""


@pytest.fixture(name="all_on")
def _all_on(tmp_path: Path) -> list[Document]:
    path = tmp_path / "values.yaml"
    path.write_text(ALL_ON, "utf-8")
    return rendered("--values", str(path))


@pytest.mark.nightly
def test_helm_finds_no_fault_and_refuses_values_without_a_secret() -> None:
    lint: Command = [helm(), "lint", "--strict", *KUBERNETES, CHART]
    subprocess.run([*lint, *GIVEN], check=True, capture_output=True, timeout=120)
    refused = subprocess.run(lint, check=False, capture_output=True, text=True, timeout=120)
    assert refused.returncode
    assert "secret" in refused.stdout + refused.stderr


@pytest.mark.nightly
def test_kubernetes_takes_what_is_rendered(tmp_path: Path, all_on: list[Document]) -> None:
    path = tmp_path / "documents.yaml"
    path.write_text(yaml.safe_dump_all([*rendered(), *all_on]), "utf-8")
    assert_valid(path)
    assert_valid(PIPELINE)
    wrong = copy.deepcopy(of_kind(all_on, "Deployment"))
    wrong["spec"]["strategy"] = "Recreate"
    path.write_text(yaml.safe_dump(wrong), "utf-8")
    with pytest.raises(AssertionError):
        assert_valid(path)


@pytest.mark.nightly
def test_servers_and_migration_are_locked_in_and_get_secrets_by_reference(
    all_on: list[Document],
) -> None:
    for documents in (rendered(), all_on):
        assert len(pods(documents)) == 2
        for pod in pods(documents):
            assert_locked_in(pod)
            environment = {one["name"]: one for one in pod["containers"][0]["env"]}
            assert environment.keys() >= CERTAIN
            for name in CERTAIN:
                reference = environment[name]["valueFrom"]["secretKeyRef"]
                assert reference == {"name": "lakewarden", "key": name}
        assert not any(one["kind"] == "Secret" for one in documents)


@pytest.mark.nightly
def test_two_versions_never_serve_at_once(all_on: list[Document]) -> None:
    for documents, hook in ((rendered(), "pre-install"), (all_on, "pre-install,pre-upgrade")):
        assert of_kind(documents, "Deployment")["spec"]["strategy"] == {"type": "Recreate"}
        job = of_kind(documents, "Job")
        assert job["metadata"]["annotations"]["helm.sh/hook"] == hook


@pytest.mark.nightly
def test_selectors_find_the_servers_and_not_the_migration(all_on: list[Document]) -> None:
    labels = of_kind(all_on, "Deployment")["spec"]["template"]["metadata"]["labels"]
    others = of_kind(all_on, "Job")["spec"]["template"]["metadata"]["labels"]
    budget = of_kind(all_on, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"]
    for chosen in (of_kind(all_on, "Service")["spec"]["selector"], budget):
        assert chosen.items() <= labels.items()
        assert not chosen.items() <= others.items()
    network = of_kind(all_on, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"]
    assert network.items() <= labels.items()
    assert network.items() <= others.items()


@pytest.mark.nightly
def test_the_network_is_closed_but_for_what_is_said(all_on: list[Document]) -> None:
    closed = of_kind(rendered(), "NetworkPolicy")["spec"]
    assert closed["ingress"][0]["from"] == [{"podSelector": {}}]
    assert [rule["ports"][0]["port"] for rule in closed["egress"]] == [53, 5432]
    opened = of_kind(all_on, "NetworkPolicy")["spec"]
    assert opened["ingress"][0]["from"] == [
        {"namespaceSelector": {"matchLabels": {"team": "data"}}}
    ]
    assert opened["egress"][1]["to"] == [{"ipBlock": {"cidr": "10.0.0.5/32"}}]
    assert opened["egress"][2]["ports"][0]["port"] == 443


@pytest.mark.nightly
def test_the_autoscaler_sets_the_number_alone(all_on: list[Document]) -> None:
    assert "replicas" not in of_kind(all_on, "Deployment")["spec"]
    scaled = of_kind(all_on, "HorizontalPodAutoscaler")["spec"]
    assert scaled["scaleTargetRef"]["name"] == of_kind(all_on, "Deployment")["metadata"]["name"]
    assert [one["type"] for one in scaled["metrics"]] == ["Resource", "Pods"]
    assert not any(one["kind"] == "HorizontalPodAutoscaler" for one in rendered())


@pytest.mark.nightly
def test_the_start_may_take_the_time_that_is_said() -> None:
    (server, _) = sorted(pods(rendered()), key=lambda pod: pod["containers"][0]["name"])
    probe = server["containers"][0]["startupProbe"]
    assert probe["failureThreshold"] * probe["periodSeconds"] == 600
