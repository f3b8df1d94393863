"""The settings of the CDAP dialect: its own keys, warnings for disabled protections, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lakewarden.app.build import services
from lakewarden.config.settings import Settings, load
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.cdap.http.namespaces import may_reset
from lakewarden.systems.cdap.settings import CDAP_VARIABLES, CdapLimits, CdapSettings

VALUES: dict[str, tuple[str, Any]] = {
    "CDAP_SECURITY_ENABLED": ("false", False),
    "CDAP_SECURITY_AUTHORIZATION_ENABLED": ("false", False),
    "CDAP_SECURITY_AUTHORIZATION_ADMIN_USERS": ("root, ops", ("root", "ops")),
    "CDAP_SECURITY_AUTHORIZATION_PROPAGATE_PRIVILEGES": ("true", True),
    "CDAP_SECURITY_AUTHORIZATION_CACHE_TTL_SECS": ("300", 300),
    "CDAP_SECURITY_AUTHORIZATION_CACHE_MAX_ENTRIES": ("0", 0),
    "CDAP_SECURITY_AUTH_SERVER_ANNOUNCE_URLS": ("http://a/token", ("http://a/token",)),
    "CDAP_INSTANCE_NAME": ("prod", "prod"),
    "CDAP_MASTER_KERBEROS_PRINCIPAL": ("cdap/h@CORP", "cdap/h@CORP"),
    "CDAP_ENABLE_UNRECOVERABLE_RESET": ("true", True),
}


def set_by(settings: Settings, variable: str) -> object:
    found: object = settings.cdap
    for key in CDAP_VARIABLES[variable]:
        found = getattr(found, key)
    return found


@pytest.mark.parametrize("variable", CDAP_VARIABLES)
def test_cdap_s_own_keys_are_variables_of_the_environment(variable: str) -> None:
    text, value = VALUES[variable]
    assert set_by(load(environment={}), variable) != value
    assert set_by(load(environment={variable: text}), variable) == value


def test_ours_win_over_cdap_s_own_keys() -> None:
    both = {"CDAP_INSTANCE_NAME": "theirs", "LAKEWARDEN_CDAP__INSTANCE_NAME": "ours"}
    assert load(environment=both).cdap.instance_name == "ours"


def test_what_the_dialect_is_told_are_the_settings() -> None:
    told = services(load(environment={name: text for name, (text, _) in VALUES.items()})).of(
        CdapSettings
    )
    assert not told.security.enabled
    assert not told.security.authorization.enabled
    assert told.instance_name == "prod"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, True),
        ({"LAKEWARDEN_AUTH": "token"}, False),
        ({"LAKEWARDEN_AUTH": "token", "CDAP_ENABLE_UNRECOVERABLE_RESET": "true"}, True),
        ({"CDAP_ENABLE_UNRECOVERABLE_RESET": "false"}, False),
    ],
)
def test_namespaces_are_deleted_where_names_are_trusted_unless_it_is_said(
    environment: dict[str, str], expected: bool
) -> None:
    assert may_reset(services(load(environment=environment))) is expected


def test_what_is_switched_off_for_cdap_is_told() -> None:
    def told(**environment: str) -> str:
        return " ".join(load(environment=environment).weakened)

    assert "`cdap.security.enabled` is off" in told(CDAP_SECURITY_ENABLED="false")
    off = told(CDAP_SECURITY_AUTHORIZATION_ENABLED="false")
    assert "`cdap.security.authorization.enabled` is off" in off
    proxies = told(LAKEWARDEN_CDAP__TRUSTED_PROXIES="10.0.0.0/8")
    assert "`cdap.trusted_proxies`" in proxies
    assert "cdap" not in told()


def test_without_security_only_this_machine_is_listened_to() -> None:
    environment = {"LAKEWARDEN_AUTH": "token", "CDAP_SECURITY_ENABLED": "false"}
    with pytest.raises(BadInput, match=r"`cdap\.security\.enabled` is off"):
        load(environment={**environment, "LAKEWARDEN_HOST": "0.0.0.0"})  # noqa: S104
    load(environment=environment)


@pytest.mark.parametrize("network", ["nowhere", "10.0.0.1/8"])
def test_a_proxy_that_is_no_network_is_refused(network: str) -> None:
    with pytest.raises(BadInput, match="trusted_proxies"):
        load(environment={"LAKEWARDEN_CDAP__TRUSTED_PROXIES": network})


LIMITS = list(CdapLimits.model_fields)


@pytest.mark.parametrize("name", LIMITS)
def test_limits_of_kept_and_accepted_data_are_settings(name: str) -> None:
    variable = f"LAKEWARDEN_CDAP__LIMITS__{name.upper()}"
    assert services(load(environment={})).of(CdapSettings).limits == CdapLimits()
    told = services(load(environment={variable: "7"})).of(CdapSettings).limits
    assert told == CdapLimits().model_copy(update={name: 7})
    for value in ("0", "-1", "many"):
        with pytest.raises(BadInput, match=name):
            load(environment={variable: value})


def test_every_limit_is_told_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs/cdap.md").read_text("utf-8")
    for name in LIMITS:
        assert f"| `{name}` | {getattr(CdapLimits(), name):,} |" in page
