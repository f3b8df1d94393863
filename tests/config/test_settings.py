import base64
import re
from pathlib import Path

import pytest

from lakewarden.app.build import services
from lakewarden.config.effective import effective
from lakewarden.config.settings import Settings, load
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.settings import DATAHUB_VARIABLES, DataHubSettings

KEY = base64.urlsafe_b64encode(bytes(32)).decode()


def _file(folder: Path, text: str) -> Path:
    path = folder / "lakewarden.toml"
    path.write_text(text)
    return path


def test_without_anything_it_is_a_local_server_with_authorization_on() -> None:
    settings = load(environment={})
    assert (settings.host, settings.port, settings.auth) == ("127.0.0.1", 8787, "simple")
    assert settings.gravitino.authorization.enable
    assert settings.root_token is None
    assert settings.secret_keys == ()


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = _file(tmp_path, 'host = "::1"\nport = 1\nworkers = 2\nadmin = "file"\n')
    environment = {"LAKEWARDEN_PORT": "2", "LAKEWARDEN_WORKERS": "3"}
    settings = load(file, {"workers": 4, "admin": None}, environment)
    found = (settings.host, settings.port, settings.workers, settings.admin)
    assert found == ("::1", 2, 4, "file")


def test_sections_are_put_together_key_by_key(tmp_path: Path) -> None:
    file = _file(tmp_path, '[oidc]\nissuer = "https://idp"\naudience = "file"\n')
    settings = load(file, environment={"LAKEWARDEN_OIDC__AUDIENCE": "environment"})
    assert (settings.oidc.issuer, settings.oidc.audience) == ("https://idp", "environment")


def test_lists_are_written_with_commas_in_the_environment() -> None:
    settings = load(
        environment={
            "LAKEWARDEN_GRAVITINO__SERVICE_ADMINS": "ana, bob",
            "LAKEWARDEN_TRUSTED_PROXIES": "10.0.0.0/8",
            "LAKEWARDEN_INDEXES": "lake-index, /srv/hub index",
            "LAKEWARDEN_SECRET_KEYS": f"{KEY},{KEY}",
        }
    )
    assert settings.gravitino.service_admins == ("ana", "bob")
    assert settings.trusted_proxies == ("10.0.0.0/8",)
    assert settings.indexes == ("lake-index", "/srv/hub index")
    assert [key.get_secret_value() for key in settings.secret_keys] == [KEY, KEY]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("prot = 1", "prot"),
        ('[gravitino]\nrelease = "1.3.0"', "gravitino.release"),
        ("[gravitino.authorization]\nenabled = false", "gravitino.authorization.enabled"),
        ("[limits]\nbody = 1", "limits.body"),
    ],
)
def test_an_unknown_key_of_the_file_is_named(tmp_path: Path, text: str, key: str) -> None:
    file = _file(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        load(file, environment={})
    assert str(caught.value) == f"{file}: unknown setting `{key}`"


def test_every_setting_is_documented() -> None:
    docs = Path(__file__).parents[2] / "docs"
    table = (docs / "serving.md").read_text("utf-8").partition("## Settings")[2]
    table = table.partition("\n### ")[0]
    for name in Settings.model_fields:
        assert re.search(rf"[`\[]{name}[`.\]]", table), name
    pages = "".join(page.read_text("utf-8") for page in docs.glob("*.md"))
    for one in effective(load(environment={})):
        if not one.meaning.startswith("No effect"):
            assert re.search(rf"\b{one.name.rpartition('.')[2]}\b", pages), one.name


def test_an_unknown_variable_is_named() -> None:
    with pytest.raises(BadInput, match="`LAKEWARDEN_PROT` is not a setting"):
        load(environment={"LAKEWARDEN_PROT": "1"})
    others = ("SERVER", "TOKEN", "SOURCE_TOKEN", "SOURCE_PASSWORD", "TARGET_URL", "SPARK_TOKEN")
    load(environment={"PROT": "1", **{f"LAKEWARDEN_{name}": "x" for name in others}})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LAKEWARDEN_PORT", "x", "environment: `port`: "),
        ("LAKEWARDEN_PORT", "65536", "environment: `port`: "),
        ("LAKEWARDEN_WORKERS", "0", "environment: `workers`: "),
        ("LAKEWARDEN_AUTH", "none", "environment: `auth`: "),
        ("LAKEWARDEN_ADMIN", "..", "environment: `admin`: "),
        ("LAKEWARDEN_SECRET_KEYS", "short", "environment: `secret_keys.0`: "),
        ("LAKEWARDEN_TRUSTED_PROXIES", "proxy", "environment: `trusted_proxies.0`: "),
        ("LAKEWARDEN_GRAVITINO__VERSION", "new", "environment: `gravitino.version`: "),
        ("LAKEWARDEN_GRAVITINO__AUTHORIZATION__ENABLE", "maybe", "environment: `gravitino"),
        ("LAKEWARDEN_ROOT_TOKEN", "", "the root token"),
        ("LAKEWARDEN_ROOT_TOKEN", "two words", "the root token"),
        ("LAKEWARDEN_ROOT_TOKEN", "x", "the root token is too weak"),
        ("LAKEWARDEN_DATAHUB__GRAPHQL_INTROSPECTION", "on", "environment: `datahub.graphql"),
        ("LAKEWARDEN_PUBLIC_URL", "http://[x", "environment: `public_url`: "),
        ("LAKEWARDEN_AUDIT__ANCHOR_URL", "http://[::1", "`audit.anchor_url` must be"),
        ("LAKEWARDEN_TRINO", "x", "environment: LAKEWARDEN_TRINO: expected a table as JSON"),
        ("LAKEWARDEN_TLS_PRINCIPALS", "[1", "environment: LAKEWARDEN_TLS_PRINCIPALS: "),
        ("LAKEWARDEN_LIMITS__REQUEST_SECONDS", "inf", "environment: `limits.request_seconds`: "),
        ("LAKEWARDEN_RATE_LIMITS__READS", "inf", "environment: `rate_limits.reads`: "),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(name: str, value: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        load(environment={name: value})
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("allowed_hosts = [1]", "`allowed_hosts.0`: "),
        ('host = ""', "`host`: "),
        ("admin = 3", "`admin`: "),
        ("engine_loopback = 3", "`engine_loopback`: "),
        ("[oidc]\ndirectory = 3", "`oidc.directory`: "),
    ],
)
def test_a_number_where_a_text_belongs_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        load(file)
    assert str(caught.value).startswith(f"{file}: {said}")


def test_secrets_are_not_shown() -> None:
    settings = load(
        environment={
            "LAKEWARDEN_ROOT_TOKEN": "lw_hidden_5Vq8Zt2LxWk7Rn3GdYp9HcMbTs",
            "LAKEWARDEN_SECRET_KEYS": KEY,
            "LAKEWARDEN_DATABASE": "postgresql://u:hidden@h/d",
        }
    )
    assert "hidden" not in repr(settings)
    assert KEY not in repr(settings)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])  # noqa: S104 — refused
def test_simple_authentication_stays_on_this_machine_unless_somebody_says_so(host: str) -> None:
    with pytest.raises(BadInput, match="--insecure"):
        load(None, {"host": host}, {})
    assert any(
        "insecure" in said for said in load(None, {"host": host, "insecure": True}, {}).weakened
    )
    behind = {"host": host, "auth": "token", "public_url": "https://lake.test"}
    assert load(None, behind, {}).weakened == ()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_addresses_are_this_machine(host: str) -> None:
    assert load(None, {"host": host}, {}).is_loopback


def test_what_is_switched_off_is_said(tmp_path: Path) -> None:
    file = _file(tmp_path, "open_metrics = true\n[gravitino.authorization]\nenable = false\n")
    said = " ".join(load(file, {"auth": "token"}, {}).weakened)
    assert "gravitino.authorization.enable" in said
    assert "open_metrics" in said


OIDC = {"issuer": "https://idp", "audience": "us", "jwks_url": "https://idp/keys"}


def _oidc(**changed: str) -> Settings:
    return load(None, {"auth": "oidc", "oidc": {**OIDC, **changed}}, {})


@pytest.mark.parametrize("missing", ["issuer", "audience", "jwks_url"])
def test_oidc_needs_all_that_makes_a_token_ours(missing: str) -> None:
    assert _oidc().oidc.audience == "us"
    with pytest.raises(BadInput, match=missing):
        _oidc(**{missing: ""})


def test_keys_come_from_one_place_and_not_in_the_clear() -> None:
    with pytest.raises(BadInput, match="one of"):
        _oidc(jwks_file="/keys.json")
    with pytest.raises(BadInput, match="https"):
        _oidc(jwks_url="http://idp/keys")
    assert _oidc(jwks_url="http://127.0.0.1:1/keys").oidc.jwks_url


def test_only_who_could_be_the_administrator_is_named_as_one() -> None:
    issuer = _oidc().oidc.issuer
    for name in ("admin", f"{issuer}#s-1"):
        assert _oidc(admins=name).oidc.admins == (name,)
    for name in ("ana", "https://other#s-1"):
        with pytest.raises(BadInput, match=r"`oidc\.admins`"):
            _oidc(admins=name)


def test_a_file_that_is_no_toml_says_where(tmp_path: Path) -> None:
    file = _file(tmp_path, "port = = 1\n")
    with pytest.raises(BadInput, match=r"lakewarden\.toml: .*line 1"):
        load(file, environment={})


def test_the_limits_of_a_request_are_those_of_the_security_reference() -> None:
    limits = load(environment={}).limits
    sizes = (limits.body_bytes, limits.header_bytes, limits.url_bytes, limits.batch_rows)
    assert sizes == (1_048_576, 32_768, 8_192, 1_000)
    assert (limits.page_rows, limits.request_seconds, limits.stale_seconds) == (1_000, 10.0, 5.0)


_OF_REALMS = ("view", "search_access")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        (name, key)
        for name, key in DATAHUB_VARIABLES.items()
        if key != "cache_seconds" and not key.startswith("unrestricted")
    ],
)
def test_datahub_s_own_variables_set_its_switches(name: str, key: str) -> None:
    before = getattr(load(environment={}).datahub, key)
    for value in ("true", "false"):
        settings = load(environment={name: value})
        assert getattr(settings.datahub, key) is (value == "true")
        if key in _OF_REALMS:
            (chosen,) = settings.datahub.realm_settings.values()
            assert chosen in (("on", "access") if value == "true" else ("off", "oss"))
        elif key != "auth":  # the authenticator's, not the dialect's
            assert getattr(services(settings).of(DataHubSettings), key) is (value == "true")
    assert before is (None if key in _OF_REALMS else True)


@pytest.mark.parametrize(
    ("name", "key"),
    [(name, key) for name, key in DATAHUB_VARIABLES.items() if key.startswith("unrestricted")],
)
def test_datahub_s_own_variables_list_the_types_that_stay_open(name: str, key: str) -> None:
    assert load(environment={}).datahub.realm_settings == {}
    listed = load(environment={name: "tag, container"}).datahub.realm_settings
    ours = load(environment={f"LAKEWARDEN_DATAHUB__{key.upper()}": "tag"}).datahub.realm_settings
    opened, restricted = {
        "unrestricted": ("tag,container", "any"),
        "unrestricted_add": ("tag,container", ""),
        "unrestricted_remove": ("", "tag,container"),
    }[key]
    assert listed == {"view_open": opened, "view_restricted": restricted}
    assert ours == {k: v.replace(",container", "") for k, v in listed.items()}


def test_ours_win_over_datahub_s_own_variables() -> None:
    both = {"AUTH_POLICIES_ENABLED": "false", "LAKEWARDEN_DATAHUB__POLICIES": "true"}
    assert load(environment=both).datahub.policies


def test_two_spellings_that_differ_are_refused() -> None:
    both = {"REST_API_AUTHORIZATION": "true", "REST_API_AUTHORIZATION_ENABLED": "false"}
    with pytest.raises(BadInput, match="REST_API_AUTHORIZATION"):
        load(environment=both)
    alike = dict.fromkeys(both, "false")
    assert not load(environment=alike).datahub.rest


@pytest.mark.parametrize("key", ["auth", "existence", "policies", "rest", "constraints"])
def test_what_is_switched_off_for_datahub_is_told(key: str) -> None:
    assert not any("datahub" in said for said in load(environment={}).weakened)
    off = load(environment={f"LAKEWARDEN_DATAHUB__{key.upper()}": "false"})
    assert any(f"datahub.{key}" in said for said in off.weakened)


def test_domains_that_count_as_in_datahub_itself_are_told() -> None:
    for given, value in (("true", True), ("false", False), ("original", "original")):
        settings = load(environment={"MCP_VALIDATION_DOMAIN_WRITE": given})
        assert services(settings).of(DataHubSettings).domain_write == value
        told = any("datahub.domain_write" in said for said in settings.weakened)
        assert told == (given == "original")
    with pytest.raises(BadInput, match="domain_write"):
        load(environment={"LAKEWARDEN_DATAHUB__DOMAIN_WRITE": "mine"})


def test_a_patch_has_so_many_operations_as_is_said() -> None:
    more = load(environment={"LAKEWARDEN_DATAHUB__PATCH_OPERATIONS": "5000"})
    assert services(more).of(DataHubSettings).patch_operations == 5_000
    with pytest.raises(BadInput, match="patch_operations"):
        load(environment={"LAKEWARDEN_DATAHUB__PATCH_OPERATIONS": "0"})


def test_the_seconds_of_datahub_s_cache_are_taken_and_mean_nothing() -> None:
    settings = load(environment={"POLICY_CACHE_REFRESH_INTERVAL_SECONDS": "120"})
    assert settings.datahub.cache_seconds == 120
    assert [said for said in settings.without_effect if "no effect" in said]
    assert load(environment={}).without_effect == ()


def test_the_limit_of_kept_time_series_values_is_a_setting() -> None:
    assert services(load(environment={})).of(DataHubSettings).timeseries_values == 1_000
    fewer = load(environment={"LAKEWARDEN_DATAHUB__TIMESERIES_VALUES": "7"})
    assert services(fewer).of(DataHubSettings).timeseries_values == 7
    with pytest.raises(BadInput, match="timeseries_values"):
        load(environment={"LAKEWARDEN_DATAHUB__TIMESERIES_VALUES": "0"})


OIDC = {"issuer": "https://idp", "audience": "us", "jwks_url": "https://idp/jwks"}
FLOW = {"client_id": "us", "authorization_url": "https://idp/a", "token_url": "https://idp/t"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"token_url": ""}, "`oidc.token_url` must be `https://`"),
        ({"authorization_url": "http://idp/a"}, "`oidc.authorization_url` must be `https://`"),
        ({"scope": "profile"}, "`oidc.scope` must contain `openid`"),
    ],
)
def test_a_login_at_the_provider_needs_its_addresses(changes: dict[str, str], message: str) -> None:
    load(None, {"auth": "oidc", "oidc": {**OIDC, **FLOW}}, {})
    with pytest.raises(BadInput, match=message):
        load(None, {"auth": "oidc", "oidc": {**OIDC, **FLOW, **changes}}, {})


def test_secrets_are_masked_and_every_setting_has_its_origin(tmp_path: Path) -> None:
    file = _file(tmp_path, 'port = 1\n[oidc]\nclient_secret = "of the file"\n')
    settings = load(file, {"admin": "ana"}, {"LAKEWARDEN_DATABASE": "postgresql://u:pw@h/d"})
    found = {one.name: one for one in effective(settings)}
    assert (found["port"].source, found["port"].where) == ("file", str(file))
    assert (found["admin"].source, found["workers"].source) == ("option", "default")
    database, secret = found["database"], found["oidc.client_secret"]
    assert (database.value, database.where) == ("postgresql://•••", "LAKEWARDEN_DATABASE")
    assert (secret.value, secret.secret, database.secret) == ("•••", True, True)
    assert not any(one.secret for one in found.values() if one.source == "default")


def test_every_setting_has_a_meaning() -> None:
    settings = load(None, {}, {})
    assert [one.name for one in effective(settings) if not one.meaning.endswith(".")] == []


def test_a_gateway_that_passes_through_is_weakened() -> None:
    settings = load(None, {"gravitino": {"pass_through": True}}, {})
    assert any("`gravitino.pass_through` is on" in one for one in settings.weakened)
